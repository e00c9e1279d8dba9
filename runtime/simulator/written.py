"""Which bytes of a memory have been written, at two levels for speed.

Almost all accesses are whole 32-byte blocks, so a byte a block says whether the block is known to
be written throughout. For the others a byte a byte does, and the stretch where that map is in use
is remembered.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

SHIFT: Final = 5
BLOCK: Final = 1 << SHIFT


class Written:
    """A set of addresses from 0 up to `size`."""

    __slots__ = ("_bytes", "_bytes_at", "_high", "_holes_at", "_low", "_ones", "_zeros", "holes")

    def __init__(self, size: int) -> None:
        blocks = (size + BLOCK - 1) // BLOCK
        #: 1 for each block that is not known to be written throughout.
        self.holes = bytearray(b"\1") * blocks
        self._holes_at: npt.NDArray[np.uint8] = np.frombuffer(self.holes, np.uint8)
        self._bytes = bytearray(blocks * BLOCK)
        self._bytes_at: npt.NDArray[np.uint8] = np.frombuffer(self._bytes, np.uint8)
        self._zeros = bytearray(blocks)
        self._ones = bytearray(b"\1") * blocks
        # Where `_bytes` may hold a 1.
        self._low = len(self._bytes)
        self._high = 0

    def add(self, start: int, stop: int) -> None:
        """The range is written."""
        if (start | stop) & (BLOCK - 1):
            self._add_ragged(start, stop)
        else:
            start >>= SHIFT
            stop >>= SHIFT
            self.holes[start:stop] = self._zeros[: stop - start]

    def _add_ragged(self, start: int, stop: int) -> None:
        first, last = (start + BLOCK - 1) & -BLOCK, stop & -BLOCK
        if first < last:
            self.add(first, last)
            parts = [(start, first), (last, stop)]
        else:
            parts = [(start, stop)]
        for begin, end in parts:
            self._bytes_at[begin:end] = 1
        self._use(start, stop)

    def _use(self, start: int, stop: int) -> None:
        self._low = min(self._low, start)
        self._high = max(self._high, stop)

    def discard(self, start: int, stop: int) -> None:
        """The range is not written."""
        if (start | stop) & (BLOCK - 1):
            for number in {start >> SHIFT, (stop - 1) >> SHIFT}:
                self._spell_out(number)
        first, last = start >> SHIFT, (stop + BLOCK - 1) >> SHIFT
        self.holes[first:last] = self._ones[: last - first]
        if self._low < stop and start < self._high:
            self._bytes_at[max(start, self._low) : min(stop, self._high)] = 0

    def _spell_out(self, number: int) -> None:
        """Say byte by byte what is written of a block."""
        if not self.holes[number]:
            start = number << SHIFT
            self._bytes_at[start : start + BLOCK] = 1
            self._use(start, start + BLOCK)

    def clear(self, stop: int) -> None:
        """Nothing up to `stop` is written."""
        self.discard(0, (stop + BLOCK - 1) & -BLOCK)
        if self._high <= stop:
            self._low, self._high = len(self._bytes), 0

    def missing(self, start: int, stop: int) -> int | None:
        """The first address of a range that is not written."""
        last = (stop + BLOCK - 1) >> SHIFT
        number = self.holes.find(1, start >> SHIFT, last)
        while number >= 0:
            base = number << SHIFT
            found = self._bytes.find(0, max(start, base), min(stop, base + BLOCK))
            if found >= 0:
                return found
            if self._bytes.find(0, base, base + BLOCK) < 0:
                self.holes[number] = 0
            number = self.holes.find(1, number + 1, last)
        return None

    def add_parts(self, blocks: npt.NDArray[Any], places: npt.NDArray[Any]) -> None:
        """Whole blocks by their numbers, and single bytes by their addresses, are written."""
        self._holes_at[blocks] = 0
        if places.size:
            self._bytes_at[places] = 1
            self._use(int(places[0]), int(places[-1]) + 1)

    def complete(self, blocks: npt.NDArray[Any]) -> bool:
        """Whether blocks are known to be written throughout."""
        return bytes(self._holes_at[blocks]).find(1) < 0

    def add_all(self, starts: npt.NDArray[Any], size: int) -> None:
        """The elements of `size` bytes at these addresses are written."""
        for byte in range(size):
            self._bytes_at[starts + byte] = 1
        self._use(int(starts.min()), int(starts.max()) + size)

    def missing_of(self, starts: npt.NDArray[Any]) -> int | None:
        """The first of the elements at these addresses whose first byte is not written."""
        absent = starts[(self._holes_at[starts >> SHIFT] & ~self._bytes_at[starts] & 1) == 1]
        return int(absent[0]) if absent.size else None
