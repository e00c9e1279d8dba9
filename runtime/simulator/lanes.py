"""Which bytes a vector call touches: masks, repeats and strides as NumPy views of a memory.

A call reads and writes, for each repeat, the same selected lanes of every operand. `Lanes` holds
them for one operand as byte offsets from its start; `common_shape` finds the cheapest way in which
all operands of a call can be indexed alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...tracer.chip import BLOCK_BYTES, REPEAT_BYTES
from ...tracer.ops import rules
from .memory import Memory

Shape = tuple[int, ...]


class Lanes:
    """The elements of one operand: `offsets[r, k]` is where element k of repeat r lies, in bytes.

    `extent` is the end of the last element. `whole_blocks` says that lanes are selected from 0 on
    and fill whole blocks, so that the blocks of a repeat are an axis of their own.
    """

    __slots__ = ("block_stride", "extent", "offsets", "repeat_stride", "size", "whole_blocks")

    def __init__(
        self,
        lanes: npt.NDArray[Any],
        repeat: int,
        block_stride: int,
        repeat_stride: int,
        size: int,
        first: int = 0,
    ) -> None:
        """`repeat` repeats from repeat `first` on."""
        per_block = BLOCK_BYTES // size
        within = lanes // per_block * (block_stride * BLOCK_BYTES) + lanes % per_block * size
        starts = np.arange(first, first + repeat)[:, None] * (repeat_stride * BLOCK_BYTES)
        self.offsets: npt.NDArray[np.int64] = starts + within
        self.extent = int(self.offsets.max()) + size
        self.size = size
        self.block_stride = block_stride * BLOCK_BYTES
        self.repeat_stride = repeat_stride * BLOCK_BYTES
        self.whole_blocks = len(lanes) % per_block == 0 and lanes[-1] == len(lanes) - 1

    def runs(self) -> list[tuple[int, int]]:
        """The touched bytes as ranges of offsets, in order and without overlap."""
        if not self.offsets.size:
            return []
        starts = np.unique(self.offsets)
        cuts = np.flatnonzero(np.diff(starts) != self.size) + 1
        return [(int(part[0]), int(part[-1]) + self.size) for part in np.split(starts, cuts)]

    def dense(self) -> bool:
        """Whether the elements follow one another without a gap."""
        flat = self.offsets.reshape(-1)
        return bool((flat == np.arange(flat.size) * self.size).all())

    def even(self) -> bool:
        """Whether the lanes of a repeat have one distance."""
        gaps = np.diff(self.offsets[0])
        return gaps.size == 0 or bool((gaps == gaps[0]).all())

    def repeats_overlap(self) -> bool:
        """Whether an element is touched twice."""
        return bool(np.unique(self.offsets).size != self.offsets.size)

    def lanes_overlap(self) -> bool:
        """Whether an element is touched twice in one repeat."""
        return bool(np.unique(self.offsets[0]).size != self.offsets.shape[1])


def dense_lanes(count: int, size: int) -> Lanes:
    """The first `count` elements, as one repeat of any length."""
    return lanes_at(np.arange(count)[None, :] * size, size)


def lanes_at(offsets: npt.NDArray[Any], size: int) -> Lanes:
    """Elements at any offsets (bytes), one row a repeat; there may be none."""
    lanes = Lanes.__new__(Lanes)
    lanes.offsets = offsets
    lanes.extent = int(offsets.max()) + size if offsets.size else 0
    lanes.size = size
    lanes.block_stride = BLOCK_BYTES
    lanes.repeat_stride = int(offsets[1, 0] - offsets[0, 0]) if len(offsets) > 1 else REPEAT_BYTES
    lanes.whole_blocks = False
    return lanes


class Layout:
    """How the operands of one call are indexed: strided views if possible, else index arrays.

    `aligns` is what the address of each operand is a multiple of, `scratch` an operand that no
    element is read from or written to, a workspace. It and what else is in `spoils` holds garbage
    afterwards.
    """

    __slots__ = ("aligns", "before", "dense", "kind", "lanes", "scratch", "semantics", "spoils")

    def __init__(
        self,
        lanes: Sequence[Lanes],
        aligns: Sequence[int] | None = None,
        scratch: int | None = None,
    ) -> None:
        self.lanes = tuple(lanes)
        self.aligns = tuple(aligns or [BLOCK_BYTES] * len(lanes))
        self.scratch = scratch
        self.spoils: tuple[int, ...] = () if scratch is None else (scratch,)
        #: What the destination is in whole repeats before these.
        self.before: Lanes | None = None
        #: Which operands are without a gap.
        self.dense = tuple(part.dense() for part in lanes)
        lanes = [part for k, part in enumerate(lanes) if k != scratch]
        #: What this layout computes, where the row alone does not say it.
        self.semantics: Callable[..., Any] | None = None
        if all(self.dense):
            self.kind = "dense"
        elif any(part.lanes_overlap() for part in lanes[:1]):
            self.kind = "index"
        elif all(part.even() for part in lanes):
            self.kind = "even"
        elif all(part.whole_blocks for part in lanes) and len({part.size for part in lanes}) == 1:
            self.kind = "blocks"
        else:
            self.kind = "index"

    def _shape(self, which: int) -> tuple[Shape, Shape]:
        """Shape and strides (bytes) of a strided view; its first axis is the repeats."""
        part = self.lanes[which]
        repeat, count = part.offsets.shape
        if self.kind != "blocks":
            gap = int(part.offsets[0, 1] - part.offsets[0, 0]) if count > 1 else part.size
            return (repeat, count), (part.repeat_stride, gap)
        per_block = BLOCK_BYTES // part.size
        shape = (repeat, count // per_block, per_block)
        return shape, (part.repeat_stride, part.block_stride, part.size)

    def view(self, which: int, memory: Memory, address: int, dtype: Any) -> npt.NDArray[Any]:
        """The elements of an operand as a view of the memory (kinds other than 'index')."""
        shape, strides = self._shape(which)
        first = address + int(self.lanes[which].offsets[0, 0])
        return np.ndarray(shape, dtype, memory.bytes, first, strides)

    def index(self, which: int) -> npt.NDArray[np.int64]:
        """The elements of an operand as indices from its start (kind 'index')."""
        part = self.lanes[which]
        return part.offsets // part.size

    def first_unwritten(self, which: int, memory: Memory, address: int) -> int | None:
        """Address of the first byte of an operand that was never written."""
        written = memory.written
        if written is None:
            return None
        part = self.lanes[which]
        # Almost always all blocks from the first element to the last one are written.
        if written.holes.find(1, address >> 5, (address + part.extent + 31) >> 5) < 0:
            return None
        if self.dense[which]:
            return written.missing(address, address + part.extent)
        return written.missing_of((part.offsets + address).reshape(-1))

    def mark(self, which: int, memory: Memory, address: int) -> None:
        """Note that an operand has been written."""
        part = self.lanes[which]
        written = memory.written
        if self.dense[which]:
            memory.mark(address, address + part.extent)
        elif (
            written is not None
            and written.holes.find(1, address >> 5, (address + part.extent + 31) >> 5) >= 0
        ):
            written.add_all((part.offsets + address).reshape(-1), part.size)

    def shared(
        self, addresses: Sequence[int], in_place: Callable[[int, int], bool]
    ) -> tuple[int, int] | None:
        """A source that shares a part of what a repeat writes, and how many bytes.

        Sharing all, element by element, is working in place; `in_place(written, read)` says whether
        elements of these sizes may. Operand 0 is the destination.
        """
        dst = self.lanes[0]
        for which, part in enumerate(self.lanes[1:], 1):
            address = addresses[which]
            if which == self.scratch:
                continue
            if address >= addresses[0] + dst.extent or address + part.extent <= addresses[0]:
                continue
            writes, reads = dst.offsets + addresses[0], part.offsets + address
            if reads.shape != writes.shape or not in_place(dst.size, part.size):
                differ = np.ones(len(writes), np.bool_)
            elif dst.size == part.size:
                differ = (reads != writes).any(axis=1)
            else:
                differ = reads[:, 0] != writes[:, 0]
            both = np.intersect1d(
                _bytes(writes, dst.size)[differ], _bytes(reads, part.size)[differ]
            )
            if both.size:
                return which, int(both.size)
        return None

    def fed(self, which: int, addresses: Sequence[int]) -> int:
        """How many bytes of an operand a repeat reads that an earlier one wrote."""
        dst, part = self.lanes[0], self.lanes[which]
        rows, base, address = len(dst.offsets), addresses[0], addresses[which]
        reads = part.offsets + address
        if self.before is not None:
            before = self.before.offsets + base
            return rules.fed(before, dst.size, reads, part.size, len(before))
        if rows == 1 or len(part.offsets) != rows or which == self.scratch:
            return 0
        writes = dst.offsets + base
        if rules.apart(writes, dst.size, reads, part.size):
            return 0
        return rules.fed(writes, dst.size, reads, part.size)

    def in_order(self, addresses: Sequence[int]) -> bool:
        """Whether the repeats have to run one after another.

        That is so when one writes what a later one reads, or when two write the same element.
        Operand 0 is the destination.
        """
        dst = self.lanes[0]
        if dst.offsets.shape[0] == 1:
            return False
        if dst.repeats_overlap():
            return True
        writes = dst.offsets + addresses[0]
        base, stop = addresses[0], addresses[0] + dst.extent
        writer: npt.NDArray[np.int64] | None = None
        for part, address in zip(self.lanes[1:], addresses[1:], strict=True):
            reads = part.offsets + address
            if address >= stop or address + part.extent <= base:
                continue
            if reads.shape != writes.shape:
                return True
            if bool((reads == writes).all()):
                continue
            if writer is None:
                writer = np.full(dst.extent, dst.offsets.shape[0], np.int64)
                writer[dst.offsets] = np.arange(dst.offsets.shape[0])[:, None]
            if part.size != dst.size:
                return True
            inside = (reads >= base) & (reads < stop)
            repeats = np.broadcast_to(np.arange(reads.shape[0])[:, None], reads.shape)
            if (writer[reads[inside] - base] < repeats[inside]).any():
                return True
        return False


def _bytes(starts: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    """The bytes of the elements at `starts`, each with its repeat (the row) in the upper half."""
    repeats = np.arange(len(starts))[:, None, None] << 32
    return (starts[:, :, None] + np.arange(size) + repeats).reshape(len(starts), -1)
