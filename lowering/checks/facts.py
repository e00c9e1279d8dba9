"""What several passes ask of a trace, found out once."""

from __future__ import annotations

from collections.abc import Iterator

from ...tracer.language.types import BufferInfo
from ...tracer.ops.spec import OpSpec
from ...tracer.trace import Op, Trace
from ..report import blocks, buffers


class Facts:
    """A trace, the rows of its buffer table, and its operations by what they are."""

    __slots__ = ("_by_row", "buffers", "trace")

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.buffers: list[BufferInfo] = buffers(trace)
        self._by_row: dict[int, list[Op]] = {}
        by_row = self._by_row
        for nodes in blocks(trace):
            for node in nodes:
                if type(node) is Op:
                    key = id(node.spec)
                    if key in by_row:
                        by_row[key].append(node)
                    else:
                        by_row[key] = [node]

    def of(self, *specs: OpSpec) -> list[Op]:
        """The operations of some rows, those of outer blocks first."""
        return [op for spec in specs for op in self._by_row.get(id(spec), ())]

    def calls(self) -> Iterator[list[Op]]:
        """The operations with an effect, by row."""
        return (ops for ops in self._by_row.values() if not ops[0].spec.pure)
