"""What a kernel can have only so many of: buffers, pipes."""

from __future__ import annotations

from ...tracer.diagnostics import Finding, finding
from ...tracer.language.types import PipeType
from ...tracer.trace import If, Loop, Op, Trace, describe
from ..report import buffer_table, known

#: Buffers that one kernel can have.
MAX_BUFFERS = 64


def buffer_count(trace: Trace) -> list[Finding]:
    """At most `MAX_BUFFERS` buffers of queues."""
    total, site = 0, None
    for row in trace.buffers:
        if row.address is not None:
            continue
        before, total = total, total + (known(row.num) or 0)
        if before <= MAX_BUFFERS < total:
            site = row.site
    if total <= MAX_BUFFERS:
        return []
    return [
        finding(
            "AT0108",
            f"the kernel has {total} buffers, {MAX_BUFFERS} is the limit",
            site,
            table=buffer_table(trace),
            hint="use fewer queues, or fewer buffers a queue",
        )
    ]


def one_pipe(trace: Trace) -> list[Finding]:
    """A kernel has one TPipe."""
    pipes = _made(trace, PipeType)
    return [
        finding(
            "AT0108",
            f"{describe(node.result)} is another TPipe; a kernel has one",
            node.site,
            notes=[("the first one", pipes[0].site)],
            hint="pass the first TPipe to what needs it",
        )
        for node in pipes[1:]
    ]


def _made(trace: Trace, kind: type) -> list[Op]:
    """Operations whose result is of a type; not by `Trace.walk`, which costs more than the rest."""
    out = []
    blocks = [trace.body]
    while blocks:
        for node in blocks.pop().nodes:
            if type(node) is Op:
                if node.result is not None and type(node.result.type) is kind:
                    out.append(node)
            elif isinstance(node, If):
                blocks += (node.orelse, node.then)
            elif isinstance(node, Loop):
                blocks.append(node.body)
    return out
