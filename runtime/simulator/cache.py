"""The data cache of the scalar unit: stores to global memory stay in 64-byte lines.

A line holds the bytes that the core has stored and not written back. The core's own scalar reads
see them; DMA and other cores do not, until the line is cleaned or the block ends. Two cores that
store to one line lose updates on the device: each writes back its whole line. Here only the stored
bytes go back, and a warning names both stores.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from ...tracer.diagnostics import Finding, finding
from ...tracer.trace import Op
from .memory import GlobalMemory, Space

LINE: Final = 64


class Line:
    """Stored bytes by their place in the line; `op` is the latest store."""

    __slots__ = ("op", "space", "stored")

    def __init__(self, space: Space) -> None:
        self.space = space
        self.stored: dict[int, int] = {}
        self.op: Op | None = None


class DataCache:
    """The cache of one core, which `block` runs on. `lines` holds the dirty lines by address / 64.

    The caches of cores that run side by side know from their `leader` who wrote which line.
    """

    def __init__(self, leader: DataCache | None = None) -> None:
        self.block = 0
        self.lines: dict[int, Line] = {}
        self._leader = leader or self
        self._owners: dict[int, tuple[int, Op]] = leader._owners if leader else {}
        self._shared: dict[tuple[Op, Op], Finding] = leader._shared if leader else {}

    def detach(self) -> DataCache:
        """A cache with the lines of this one, which is empty then."""
        other = DataCache(self._leader)
        other.block = self.block
        other.lines.update(self.lines)
        self.lines.clear()
        return other

    def begin_run(self) -> None:
        """A launch starts with a clean cache."""
        self.lines.clear()
        if self._leader is self:
            self._owners.clear()
            self._shared.clear()

    def store(self, memory: GlobalMemory, offset: int, data: Iterable[int], op: Op) -> None:
        """The scalar unit stores bytes."""
        for address, byte in enumerate(data, memory.base + offset):
            line = self.lines.get(address // LINE)
            if line is None:
                line = self.lines[address // LINE] = Line(memory.space)
            line.stored[address % LINE] = byte
            line.op = op

    def load(self, memory: GlobalMemory, offset: int, size: int) -> bytearray:
        """What the scalar unit reads: memory with the core's own stores over it."""
        data = bytearray(memory.bytes[offset : offset + size])
        for k, address in enumerate(range(memory.base + offset, memory.base + offset + size)):
            line = self.lines.get(address // LINE)
            if line is not None:
                data[k] = line.stored.get(address % LINE, data[k])
        return data

    def dirty(self, start: int, stop: int) -> Op | None:
        """A store to the addresses from `start` to `stop` that is not written back."""
        for number in self._numbers(start, stop):
            line = self.lines.get(number)
            if line is not None and any(
                start <= number * LINE + place < stop for place in line.stored
            ):
                return line.op
        return None

    def _numbers(self, start: int, stop: int) -> Iterable[int]:
        first, last = start // LINE, (stop - 1) // LINE
        if last - first < len(self.lines):
            return range(first, last + 1)
        return sorted(number for number in self.lines if first <= number <= last)

    def clean(self, block: int, start: int | None = None, stop: int | None = None) -> None:
        """Write back the lines that touch a range of addresses, or all."""
        chosen = list(self.lines) if start is None or stop is None else self._numbers(start, stop)
        for number in chosen:
            line = self.lines.pop(number, None)
            if line is not None:
                self._write_back(number, line, block)

    def clean_line(self, block: int, address: int) -> None:
        """Write back what is stored from an address to the end of its line."""
        number, first = divmod(address, LINE)
        line = self.lines.get(number)
        if line is None:
            return
        kept = {place: byte for place, byte in line.stored.items() if place < first}
        for place in kept:
            del line.stored[place]
        if line.stored:
            self._write_back(number, line, block)
        line.stored = kept
        if not kept:
            del self.lines[number]

    def _write_back(self, number: int, line: Line, block: int) -> None:
        first = number * LINE - line.space.base
        for place, byte in line.stored.items():
            line.space.bytes[first + place] = byte
        assert line.op is not None
        owner, op = self._owners.setdefault(number, (block, line.op))
        if owner != block and (op, line.op) not in self._shared:
            self._shared[op, line.op] = _lost(op, line.op, line.space, first, owner, block)

    def findings(self) -> list[Finding]:
        """Lines that several blocks have written."""
        return list(self._shared.values())


def _lost(first: Op, second: Op, space: Space, offset: int, one: int, other: int) -> Finding:
    return finding(
        "AT0209",
        f"blocks {one} and {other} store to the same {LINE}-byte line of {space.name} "
        f"(from byte {max(offset, 0)}): on the device one of the stores can be lost",
        second.site,
        notes=[(f"block {one} stores here", first.site)] if first is not second else [],
        severity="warning",
        hint=f"give each block its own {LINE} bytes, or write through data_copy",
    )
