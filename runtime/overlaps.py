"""Arrays that share memory stay together wherever they go: `overlapping`. Imports nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Extent(NamedTuple):
    """Where an array lies: its address, its bytes, and its number among the parameters."""

    address: int
    nbytes: int
    param: int


def overlapping(extents: Iterable[Extent]) -> Iterator[tuple[int, int, list[Extent]]]:
    """Groups of arrays that overlap, each with its first address and the one behind its last.

    An array without elements overlaps with nothing.
    """
    rest = sorted(extents, key=lambda extent: (extent.address, extent.param))
    for empty in (extent for extent in rest if not extent.nbytes):
        yield empty.address, empty.address, [empty]
    rest = [extent for extent in rest if extent.nbytes]
    while rest:
        start = rest[0].address
        stop, count = start + rest[0].nbytes, 1
        while count < len(rest) and rest[count].address < stop:
            stop = max(stop, rest[count].address + rest[count].nbytes)
            count += 1
        yield start, stop, rest[:count]
        rest = rest[count:]
