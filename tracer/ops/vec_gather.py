"""Rows that collect elements or blocks from anywhere in a tensor: `gather`, `gatherb`.

Offsets are bytes from the start of the source and lie one behind the other, those of a repeat where
its elements would lie. Where the documentation leaves it open: a repeat of 0 blocks between the
blocks of `gatherb` counts as 1 on every chip.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from ..chip import BLOCK_BYTES
from ..language.dtypes import (
    DataType,
    bfloat16,
    float16,
    float32,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
)
from . import rules
from ._moves import (
    READ,
    WRITE,
    Call,
    Contents,
    Data,
    Move,
    Part,
    Work,
    move_row,
    plain,
    strided,
    tensor,
)
from ._vector import WIDE, selected
from .spec import Form, Param

_U32: Final = np.dtype(np.uint32)
#: Bits of an offset, by the size of the elements, where the chip keeps fewer than 32.
_NARROW: Final = {1: 16, 2: 17}
_NARROW_ARCHES: Final = ("3510", "3002")


def indexed(
    elements: Mapping[str, Sequence[DataType]],
) -> dict[str, tuple[tuple[DataType, ...], ...]]:
    """Signatures of a destination and a source of one dtype and offsets."""
    return {arch: tuple((t, t, uint32) for t in dtypes) for arch, dtypes in elements.items()}


def address_forms(operands: tuple[Param, ...], base: str, stride: Param) -> tuple[Form, ...]:
    """The overloads of `gather` and `scatter`; `stride` is that between repeats."""
    first = (*operands, Param(base, "int", cpp="uint32_t"))
    behind = (Param("repeat_times", "int", cpp="uint8_t"), stride)
    return (
        Form("mask", (*first, Param("mask", "int", cpp="uint64_t"), *behind)),
        Form("bits", (*first, Param("mask", "mask"), *behind)),
        Form("count", (*first, Param("count", "int", cpp="uint32_t"))),
    )


def counted_only(elements: Mapping[str, Sequence[DataType]]) -> dict[str, frozenset[Any]]:
    """Elements of a byte go by count only on 3510."""
    return {"3510": frozenset((t, t, uint32) for t in elements["3510"] if t.bits == 8)}


def lanes_of(call: Call, stride: str) -> tuple[Any, Any] | None:
    """Byte offsets of the dense operand and of the offsets of a call, None if nothing is selected.

    Raises what is wrong with the amounts.
    """
    dtype = call.dtype()
    size, lanes = dtype.sizeof(), rules.lanes_of(dtype)
    if call.form.name == "count":
        count = call["count"]
        if fault := rules.bad_count(call.spec, count, call.site):
            raise fault
        if count >= (rules.MAX_REPEAT + 1) * lanes and call.arch in ("2201", "2002"):
            raise call.error(
                "AT0108",
                f"of {count} elements",
                f"the chip counts {rules.MAX_REPEAT} repeats of {lanes} elements: split the call",
            )
        each = np.arange(count)[None, :]
        return (each * size, each * _U32.itemsize) if count else None
    if call.form.name == "mask":
        if fault := rules.bad_mask(call.spec, call["mask"], dtype, call.site):
            raise fault
        chosen = np.arange(call["mask"])
    else:
        chosen = np.array(selected(call["mask"], dtype), np.int64)
    repeat = call["repeat_times"]
    if fault := rules.bad_repeat(call.spec, repeat, call.site):
        raise fault
    if not repeat or not chosen.size:
        return None
    index = np.arange(repeat)[:, None] * lanes + chosen
    return strided(chosen, repeat, 1, call[stride], size), index * _U32.itemsize


def check_base(call: Call, base: str) -> None:
    """The base is at an element."""
    size = call.dtype().sizeof()
    if call[base] % size:
        raise call.error(
            "AT0103",
            f"with {base} = {call[base]}, which is no multiple of {size}",
            f"{base} counts bytes: multiply the element's number by {size}",
        )


def places(call: Call, contents: Contents, where: int, offsets: Any, size: int, base: str) -> Any:
    """Where pieces of `size` bytes of operand `where` lie; all of them inside it.

    `offsets` were read, `base` is the parameter that is added to them, if any.
    """
    found, first = offsets.astype(np.int64), call[base] if base else 0
    bits = _NARROW.get(size, 32) if call.arch in _NARROW_ARCHES else 32
    name, room = call.form.params[where].name, contents.room(where)
    for wrong, code, text, hint in (
        (found % size != 0, "AT0103", f"it is no multiple of {size}", "offsets count bytes"),
        (found >> bits != 0, "AT0108", f"it has more than {bits} bits", "bring elements closer"),
        (
            found + first + size > room,
            "AT0201",
            f"it leaves `{name}`, which has {room} bytes",
            f"offsets count bytes from the start of {name}" + (f" + {base}" if base else ""),
        ),
    ):
        if wrong.any():
            at = int(np.flatnonzero(wrong.reshape(-1))[0])
            value = int(found.reshape(-1)[at])
            raise call.error(code, f"with {value} as offset number {at}: {text}", hint)
    return found + first


def _gather(call: Call) -> Move | None:
    check_base(call, "src_base")
    lanes = lanes_of(call, "dst_rep_stride")
    if lanes is None:
        return None
    to, index = lanes
    element = plain(call.dtype())

    def data(contents: Contents) -> Data:
        found = places(
            call, contents, 1, contents.read(2, index, _U32), element.itemsize, "src_base"
        )
        return Data((Part(1, found, element, READ),), lambda _, values: (values,))

    return Move((Part(0, to, element, WRITE), Part(2, index, _U32, READ)), data=data)


_GATHERED: Final = {
    "2201": (int16, uint16, float16, bfloat16, int32, uint32, float32),
    "3510": WIDE,
    "3002": (int8, uint8, int16, uint16, float16, int32, uint32, float32),
    "2002": (int16, uint16, float16, int32, uint32, float32),
}
GATHER = move_row(
    "vec_gather",
    "gather",
    "Gather",
    "dst[i] = the element of src that lies `src_base + src_offset[i]` bytes behind its start "
    "(`AscendC::Gather`). Offsets are uint32; src and dst are apart.",
    address_forms(
        (tensor("dst", "out"), tensor("src"), tensor("src_offset")),
        "src_base",
        Param("dst_rep_stride", "int", cpp="uint16_t"),
    ),
    indexed(_GATHERED),
    _gather,
    count_only=counted_only(_GATHERED),
)

#: Blocks that a repeat of `gatherb` collects.
BLOCKS: Final = 8
BLOCK: Final = np.dtype((np.void, BLOCK_BYTES))


def _gatherb(call: Call) -> Move | None:
    repeat = call["repeat_times"]
    block, step = call["repeat_params"]
    if not repeat:
        return None
    index = (np.arange(repeat * BLOCKS) * _U32.itemsize).reshape(repeat, BLOCKS)
    blocks = np.arange(BLOCKS) * ((block or 1) * BLOCK_BYTES)
    to = np.arange(repeat)[:, None] * (step * BLOCK_BYTES) + blocks
    work: Work = lambda _, values: (values,)  # noqa: E731 (typed)

    def data(contents: Contents) -> Data:
        found = places(call, contents, 1, contents.read(2, index, _U32), BLOCK_BYTES, "")
        return Data((Part(1, found, BLOCK, READ),), work)

    return Move((Part(0, to, BLOCK, WRITE), Part(2, index, _U32, READ)), data=data)


GATHERB = move_row(
    "vec_gather",
    "gatherb",
    "Gatherb",
    "Blocks of dst = the blocks of 32 bytes of src0 that begin `offset[i]` bytes behind its start, "
    "eight in each repeat (`AscendC::Gatherb`). Offsets are uint32 and multiples of 32; src0 and "
    "dst are apart.",
    (
        Form(
            "repeat",
            (
                tensor("dst", "out"),
                tensor("src0"),
                tensor("offset"),
                Param("repeat_times", "int", cpp="uint8_t"),
                Param("repeat_params", "gather_repeat"),
            ),
        ),
    ),
    indexed(
        {
            "2201": (uint16, uint32),
            "3510": WIDE,
            "3002": (int8, uint8, int16, uint16, float16, bfloat16, int32, uint32, float32, int64),
        }
    ),
    _gatherb,
)
