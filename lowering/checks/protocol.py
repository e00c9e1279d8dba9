"""The pass that follows queues, tensors and events along the paths of a kernel."""

from __future__ import annotations

from ...tracer.diagnostics import Finding
from .events import kept_ids, left_set
from .facts import Facts
from .queues import left_behind
from .tensors import use
from .walk import Walker


def protocol(facts: Facts) -> list[Finding]:
    """Findings about queues, their tensors and events; what is left at the end comes last."""
    walker = Walker(facts.trace, use)
    end = walker.run()
    out = list(walker.found.values())
    if end is not None:
        out += left_behind(walker, end)
        out += left_set(walker, end)
    return out + kept_ids(facts)
