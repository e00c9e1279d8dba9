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
from .clocks import COPYING, Clock, Far


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

#: [end, last write, reads since by pipe, older writes that still count]; reads of an earlier block
#: are kept under other keys.
Cell: TypeAlias = "list[Any]"


class Shadow:
    """The accesses to the memory `name`. The cells are disjoint and sorted.

    `far` has, for each block whose core waits for others, what each of its pipes knows of them; no
    other block is in order with any.
    """

    __slots__ = ("cells", "conflicts", "far", "name", "starts")

    def __init__(self, name: str, conflicts: list[Conflict]) -> None:
        self.name = name
        self.conflicts = conflicts
        self.far: dict[int, list[Far]] = {}
        self.starts: list[int] = []
        self.cells: list[Cell] = []

    def clear(self) -> None:
        """Forget all accesses."""
        self.starts.clear()
        self.cells.clear()
        self.far.clear()

    def read(self, start: int, stop: int, stamp: RawStamp, clock: Clock) -> None:
        """Note a read by an operation whose pipe knows of `clock`."""
        index = bisect_right(self.starts, start) - 1
        if index >= 0 and self.starts[index] == start and self.cells[index][0] == stop:
            self._read(start, self.cells[index], stamp, clock)
            return
        for index in range(*self._cut(start, stop)):
            self._read(self.starts[index], self.cells[index], stamp, clock)

    def _read(self, start: int, cell: Cell, stamp: RawStamp, clock: Clock) -> None:
        stop, last, reads, older = cell
        pipe, _, block, _, _, _ = stamp
        if last is not None and (
            self._apart(last, stamp)
            if last[2] != block
            else last[0] != pipe and clock[last[0]] < last[1]
        ):
            self.conflicts.append((self, Stamp(*last), Stamp(*stamp), start, stop, True, False))
        if older:
            self._check_older(start, cell, stamp, clock, False)
        before = reads.get(pipe)
        if before is not None and before[2] != block:
            reads[(before[2], pipe) if self.far else -1] = before
        reads[pipe] = stamp

    def _apart(self, first: RawStamp, second: RawStamp) -> bool:
        """Whether nothing orders accesses of two blocks."""
        far = self.far.get(second[2])
        known = None if far is None else far[second[0]].get(first[2])
        return known is None or known[first[0]] < first[1]

    def _unordered(self, first: RawStamp, second: RawStamp, clock: Clock) -> bool:
        """Whether nothing orders two accesses; `clock` is that of the second one's pipe."""
        if first[2] != second[2]:
            return self._apart(first, second)
        return first[0] != second[0] and clock[first[0]] < first[1]

    def write(self, start: int, stop: int, stamp: RawStamp, clock: Clock) -> None:
        """Note a write; the cells that it covers become one, unless older writes still count."""
        index = bisect_right(self.starts, start) - 1
        if index >= 0 and self.starts[index] == start and self.cells[index][0] == stop:
            first, end = index, index + 1
        else:
            first, end = self._cut(start, stop)
        for index in range(first, end):
            self._check_write(self.starts[index], self.cells[index], stamp, clock)
        if stamp[5] is not None:
            for cell in self.cells[first:end]:
                self._add(cell, stamp)
        elif end - first == 1:
            cell = self.cells[first]
            cell[1], cell[3] = stamp, None
            cell[2].clear()
        else:
            self.starts[first:end] = [start]
            self.cells[first:end] = [[stop, stamp, {}, None]]

    def _add(self, cell: Cell, stamp: RawStamp) -> None:
        """An atomic write: what came before still counts for those that follow."""
        last = cell[1]
        if last is not None:
            if cell[3] is None:
                cell[3] = {}
            cell[3][last[2], last[0], last[5]] = last
        cell[1] = stamp

    def _check_write(self, start: int, cell: Cell, stamp: RawStamp, clock: Clock) -> None:
        stop, last, reads, older = cell
        pipe, _, block, _, _, atomic = stamp
        if (
            last is not None
            and (
                self._apart(last, stamp)
                if last[2] != block
                else last[0] != pipe and clock[last[0]] < last[1]
            )
            and (atomic is None or atomic != last[5])
        ):
            self.conflicts.append((self, Stamp(*last), Stamp(*stamp), start, stop, True, True))
        if older:
            self._check_older(start, cell, stamp, clock, True)
        for before in reads.values():
            if self._unordered(before, stamp, clock):
                self.conflicts.append(
                    (self, Stamp(*before), Stamp(*stamp), start, stop, False, True)
                )
        # What orders the copy with the reads in between orders it with the copy before as well.
        if (
            pipe in COPYING
            and last is not None
            and last[0] == pipe
            and last[2] == block
            and clock.done < last[1]
            and (atomic is None or atomic != last[5])
            and not self.conflicts
        ):
            self.conflicts.append((self, Stamp(*last), Stamp(*stamp), start, stop, True, True))

    def _check_older(
        self, start: int, cell: Cell, stamp: RawStamp, clock: Clock, writes: bool
    ) -> None:
        for before in cell[3].values():
            if writes and stamp[5] is not None and stamp[5] == before[5]:
                continue
            if self._unordered(before, stamp, clock):
                self.conflicts.append(
                    (self, Stamp(*before), Stamp(*stamp), start, cell[0], True, writes)
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
                cells.insert(index, [end, None, {}, None])
            elif cells[index][0] > stop:
                self._split(index, stop)
            at = cells[index][0]
            index += 1
        return first, index

    def _split(self, index: int, at: int) -> None:
        end, last, reads, older = self.cells[index]
        self.cells[index][0] = at
        self.starts.insert(index + 1, at)
        self.cells.insert(index + 1, [end, last, dict(reads), dict(older) if older else None])
