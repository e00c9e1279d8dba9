"""What a kernel can have only so many of: buffers, pipes."""

from __future__ import annotations

from itertools import pairwise

from ...tracer.chip import MAX_BUFFERS
from ...tracer.diagnostics import Finding, finding
from ...tracer.ops.framework import DESTROY, TPIPE
from ...tracer.trace import Op, describe
from ..report import blocks, buffer_table, known
from .facts import Facts


def buffer_count(facts: Facts) -> list[Finding]:
    """At most `MAX_BUFFERS` buffers of queues."""
    totals: dict[int, int] = {}
    site = None
    for row in facts.buffers:
        if row.address is not None or not row.rounded:
            continue
        before = totals.get(row.epoch, 0)
        totals[row.epoch] = before + (known(row.num) or 0)
        if before <= MAX_BUFFERS < totals[row.epoch]:
            site = row.site
    total = max(totals.values(), default=0)
    if total <= MAX_BUFFERS:
        return []
    return [
        finding(
            "AT0108",
            f"the kernel has {total} buffers, {MAX_BUFFERS} is the limit",
            site,
            table=buffer_table(facts.trace),
            hint="use fewer queues, or fewer buffers a queue",
        )
    ]


def one_pipe(facts: Facts) -> list[Finding]:
    """A kernel has one TPipe."""
    ops = [op for nodes in blocks(facts.trace) for op in nodes if type(op) is Op]
    pipes = [op for op in ops if op.spec is TPIPE]
    # Whether the first one ends before the second is made, the simulator decides.
    destroyed = {id(op.args[0]) for op in ops if op.spec is DESTROY}
    return [
        finding(
            "AT0108",
            f"{describe(node.result)} is another TPipe; a kernel has one",
            node.site,
            notes=[("the first one", pipes[0].site)],
            hint="pass the first TPipe to what needs it, or destroy() it before",
        )
        for before, node in pairwise(pipes)
        if id(before.result) not in destroyed
    ]
