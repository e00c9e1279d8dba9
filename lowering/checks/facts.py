"""What several passes ask of a trace, found out once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from operator import attrgetter

from ...tracer.language.types import BufferInfo
from ...tracer.ops.spec import OpSpec
from ...tracer.trace import Op, Trace
from ..report import blocks, buffers

_RESULT = attrgetter("result")


class Facts:
    """A trace, the rows of its buffer table, and its operations by what they are."""

    __slots__ = ("_by_row", "buffers", "trace")

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        rows: defaultdict[OpSpec, list[Op]] = defaultdict(list)
        for nodes in blocks(trace):
            for node in nodes:
                if node.__class__ is Op:
                    rows[node.spec].append(node)
        self._by_row: dict[OpSpec, list[Op]] = rows
        self.buffers: list[BufferInfo] = buffers(trace, self._owners())

    def _owners(self) -> set[int]:
        """The ids of the results that may have memory of their own."""
        kinds = {type(row.owner.type) for row in self.trace.buffers}
        found: set[int] = set()
        for ops in self._by_row.values():
            first = ops[0].result
            if first is None or type(first.type) in kinds:
                found.update(map(id, map(_RESULT, ops)))
        return found

    def of(self, *specs: OpSpec) -> list[Op]:
        """The operations of some rows, those of outer blocks first."""
        return [op for spec in specs for op in self._by_row.get(spec, ())]

    def calls(self) -> Iterator[list[Op]]:
        """The operations with an effect, by row."""
        return (ops for ops in self._by_row.values() if not ops[0].spec.pure)
