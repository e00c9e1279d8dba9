"""Who touched which bytes last: the interval map behind the search for races.

A `Shadow` cuts an address space into cells, each with its last write and the reads since. An access
that finds a cell of exactly its extent costs a look-up; others split cells, and a write joins all
that it covers. Accesses are compared by their clocks; a pair that nothing orders goes to the list
`conflicts`.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, NamedTuple, TypeAlias

from ...tracer.trace import Op
from .clocks import Clock


class Stamp(NamedTuple):
    """An operation that has been issued.

    `epoch` is of its pipe, `turn` the indices of the loops around it, `atomic` what kind of atomic
    access its writes are (`registry.Atomic`), None for plain ones.
    """

    pipe: int
    epoch: int
    block: int
    op: Op
    turn: Turn
    atomic: Any


#: Indices of the loops around an operation, outermost first; rounds of those without an index.
Turn: TypeAlias = "tuple[int, ...]"

#: The fields of a `Stamp` as they are kept: making named tuples costs too much for each operation.
RawStamp: TypeAlias = "tuple[int, int, int, Op, Turn, Any]"

#: The shadow, the first and the second access, the overlap's address range, whether each writes.
Conflict: TypeAlias = "tuple[Shadow, Stamp, Stamp, int, int, bool, bool]"

#: [end, last write, reads since by pipe]; reads of an earlier block are kept under -1.
Cell: TypeAlias = "list[Any]"


class Shadow:
    """The accesses to the memory `name`. The cells are disjoint and sorted."""

    __slots__ = ("cells", "conflicts", "name", "starts")

    def __init__(self, name: str, conflicts: list[Conflict]) -> None:
        self.name = name
        self.conflicts = conflicts
        self.starts: list[int] = []
        self.cells: list[Cell] = []

    def clear(self) -> None:
        """Forget all accesses."""
        self.starts.clear()
        self.cells.clear()

    def read(self, start: int, stop: int, stamp: RawStamp, clock: Clock) -> None:
        """Note a read by an operation whose pipe knows of `clock`."""
        index = bisect_right(self.starts, start) - 1
        if index >= 0 and self.starts[index] == start and self.cells[index][0] == stop:
            self._read(start, self.cells[index], stamp, clock)
            return
        for index in range(*self._cut(start, stop)):
            self._read(self.starts[index], self.cells[index], stamp, clock)

    def _read(self, start: int, cell: Cell, stamp: RawStamp, clock: Clock) -> None:
        stop, last, reads = cell
        pipe, _, block, _, _, _ = stamp
        if last is not None and (
            last[2] != block or (last[0] != pipe and clock[last[0]] < last[1])
        ):
            self.conflicts.append((self, Stamp(*last), Stamp(*stamp), start, stop, True, False))
        before = reads.get(pipe)
        if before is not None and before[2] != block:
            reads[-1] = before
        reads[pipe] = stamp

    def write(self, start: int, stop: int, stamp: RawStamp, clock: Clock) -> None:
        """Note a write; the cells that it covers become one."""
        index = bisect_right(self.starts, start) - 1
        if index >= 0 and self.starts[index] == start and self.cells[index][0] == stop:
            cell = self.cells[index]
            self._check_write(start, cell, stamp, clock)
            cell[1] = stamp
            cell[2].clear()
            return
        first, end = self._cut(start, stop)
        for index in range(first, end):
            self._check_write(self.starts[index], self.cells[index], stamp, clock)
        self.starts[first:end] = [start]
        self.cells[first:end] = [[stop, stamp, {}]]

    def _check_write(self, start: int, cell: Cell, stamp: RawStamp, clock: Clock) -> None:
        stop, last, reads = cell
        pipe, _, block, _, _, atomic = stamp
        if (
            last is not None
            and (last[2] != block or (last[0] != pipe and clock[last[0]] < last[1]))
            and (atomic is None or atomic != last[5])
        ):
            self.conflicts.append((self, Stamp(*last), Stamp(*stamp), start, stop, True, True))
        for before in reads.values():
            if before[2] != block or (before[0] != pipe and clock[before[0]] < before[1]):
                self.conflicts.append(
                    (self, Stamp(*before), Stamp(*stamp), start, stop, False, True)
                )

    def _cut(self, start: int, stop: int) -> tuple[int, int]:
        """Make cells that cover exactly this range; their first index and the one past the last."""
        starts, cells = self.starts, self.cells
        first = bisect_right(starts, start) - 1
        if first < 0 or cells[first][0] <= start:
            first += 1
        elif starts[first] < start:
            self._split(first, start)
            first += 1
        at, index = start, first
        while at < stop:
            if index == len(starts) or starts[index] > at:
                end = min(stop, starts[index]) if index < len(starts) else stop
                starts.insert(index, at)
                cells.insert(index, [end, None, {}])
            elif cells[index][0] > stop:
                self._split(index, stop)
            at = cells[index][0]
            index += 1
        return first, index

    def _split(self, index: int, at: int) -> None:
        end, last, reads = self.cells[index]
        self.cells[index][0] = at
        self.starts.insert(index + 1, at)
        self.cells.insert(index + 1, [end, last, dict(reads)])
