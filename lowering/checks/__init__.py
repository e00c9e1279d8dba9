"""Checks of a whole trace, before there is text: one module a class of findings.

Each pass looks at the trace and returns findings; `check` collects those of all passes, so that
one report has everything. Rules of a single call live in its row (`OpSpec.checks`).

`protocol` follows queues and events along the paths of the kernel (`walk`, over the states of
`state`). It is sound: an error there is an error in every run of the kernel that is not wrong
before, a warning says on what it depends, and where control flow or a value is not known it is
silent, and the simulator decides.
"""

from __future__ import annotations

from collections.abc import Callable

from ...tracer.chip import MAX_BUFFERS
from ...tracer.diagnostics import Finding
from ...tracer.trace import Trace
from .facts import Facts
from .limits import buffer_count, long_text, one_allocator, one_pipe, own_ids
from .memory import memory_budget, pool_budget
from .protocol import protocol

__all__ = ["MAX_BUFFERS", "PASSES", "check"]


def check(trace: Trace) -> list[Finding]:
    """All findings of all passes, errors and warnings, in the order of the passes."""
    facts = Facts(trace)
    return [found for run in PASSES for found in run(facts)]


#: The passes, in order.
PASSES: tuple[Callable[[Facts], list[Finding]], ...] = (
    memory_budget,
    pool_budget,
    buffer_count,
    one_pipe,
    one_allocator,
    protocol,
    own_ids,
    long_text,
)
