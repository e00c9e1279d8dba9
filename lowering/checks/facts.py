"""What several passes ask of a trace, found out once."""

from __future__ import annotations

from ...tracer.language.types import BufferInfo
from ...tracer.trace import Trace
from ..report import buffers


class Facts:
    """A trace and the rows of its buffer table."""

    __slots__ = ("buffers", "trace")

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.buffers: list[BufferInfo] = buffers(trace)
