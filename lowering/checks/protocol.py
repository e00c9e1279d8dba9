"""The pass that follows queues, tensors and events along the paths of a kernel."""

from __future__ import annotations

from ...tracer.diagnostics import Finding
from ...tracer.trace import Trace
from .events import left_set
from .queues import left_behind
from .tensors import use
from .walk import Walker


def protocol(trace: Trace) -> list[Finding]:
    """Findings about queues, their tensors and events; what is left at the end comes last."""
    walker = Walker(trace, use)
    end = walker.run()
    out = list(walker.found.values())
    if end is not None:
        out += left_behind(walker, end)
        out += left_set(walker, end)
    return out
