"""Rows that squeeze the elements that mask bits choose: `gather_mask` and its remaining count.

Bit k of a mask, counted from the lowest bit of the first byte, belongs to element k of a repeat.
The chosen elements of all repeats go to dst one behind the other. In counter mode a repeat has
`mask` elements, on architecture 2002 all repeats together have; in normal mode one has 256 bytes.
"""

from __future__ import annotations

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
    uint8,
    uint16,
    uint32,
    uint64,
)
from ..language.enums import GatherMaskMode
from ..trace import Recorder, Value
from . import rules
from ._moves import (
    READ,
    WRITE,
    Call,
    Contents,
    Data,
    Move,
    Part,
    counts_row,
    move_row,
    plain,
    strided,
    tensor,
)
from .spec import Form, Param

_U8: Final = np.dtype(np.uint8)
#: The built-in patterns: one element of each `step`, the first at `start`.
_PATTERNS: Final = {1: (0, 2), 2: (1, 2), 3: (0, 4), 4: (1, 4), 5: (2, 4), 6: (3, 4), 7: (0, 1)}
#: What a block remembers of the last call.
REMAIN: Final = "gather_mask"


def _lanes(call: Call) -> tuple[Any, Any]:
    """Byte offsets of the elements that a call looks at, by repeat, and which of them count."""
    dtype = call.dtype()
    block, repeat, step, _ = call["params"]
    lanes = rules.lanes_of(dtype)
    total = None
    if call["reduce_mode"]:
        lanes, total = call["mask"], None
        if lanes < 1:
            raise call.error(
                "AT0108",
                f"with a mask of {lanes} elements in counter mode",
                "mask counts the elements of a repeat, from 1 up",
            )
        if call.arch == "2002":
            lanes, total = rules.lanes_of(dtype), lanes
            repeat = -(-total // lanes)
    offsets = strided(np.arange(lanes), repeat, block, step, dtype.sizeof())
    counts = np.ones(offsets.shape, np.bool_)
    if total is not None:
        counts.reshape(-1)[total:] = False
    return offsets, counts


def _squeezed(call: Call, offsets: Any, chosen: Any) -> tuple[tuple[Part, ...], int]:
    """The parts that the chosen elements are, and how many there are."""
    element = plain(call.dtype())
    source = offsets[chosen][:, None]
    to = np.arange(len(source))[:, None] * element.itemsize
    return (Part(1, source, element, READ), Part(0, to, element, WRITE)), len(source)


def _gather_mask(call: Call) -> Move:
    builtin = call.form.name == "pattern"
    if builtin and call["src1_pattern"] == 7 and call.arch == "2002":
        raise call.error("AT0108", "with the pattern 7", "architecture 2002 has 1 to 6")
    offsets, counts = _lanes(call)
    repeat, lanes = offsets.shape
    if builtin:
        start, step = _PATTERNS[call["src1_pattern"]]
        parts, count = _squeezed(call, offsets, counts & (np.arange(lanes) % step == start))

        def known(contents: Contents) -> Data:
            contents.note(REMAIN, count)
            return Data((), lambda values: (values,), count)

        return Move(parts, data=known, overlap="start")
    stride = call["params"][3] * BLOCK_BYTES
    words = np.arange(repeat)[:, None] * stride + np.arange(-(-lanes // 8))

    def data(contents: Contents) -> Data:
        bits = np.unpackbits(contents.read(2, words, _U8), axis=1, bitorder="little")
        parts, count = _squeezed(call, offsets, counts & (bits[:, :lanes] == 1))
        contents.note(REMAIN, count)
        return Data(parts, lambda _, values: (values,), count)

    return Move((Part(2, words, _U8, READ),), data=data, overlap="start")


def _count(recorder: Recorder, form: Form, args: tuple[Any, ...]) -> Value:
    return uint64.proxy(uint64, recorder.block)  # type: ignore[no-any-return]


def _masked(*dtypes: DataType) -> tuple[tuple[DataType, ...], ...]:
    masks = {8: uint8, 16: uint16, 32: uint32}
    return tuple((t, t, masks[t.bits]) for t in dtypes)


_OPTIONS: Final = (
    Param("reduce_mode", "flag"),
    Param("mask", "int", cpp="uint32_t"),
    Param("params", "gather_mask_params"),
    Param("gather_mask_mode", "gather_mask_mode", "host", GatherMaskMode.DEFAULT),
)
_FIRST: Final = (tensor("dst", "out"), tensor("src0"))
_BASIC: Final = (int16, uint16, float16, int32, uint32, float32)
GATHER_MASK = move_row(
    "vec_gather_mask",
    "gather_mask",
    "GatherMask",
    "dst = the elements of src0 that mask bits choose, one behind the other; gives their number "
    "(`AscendC::GatherMask`). `src1_pattern` is a tensor of bits or a number: 1 and 2 choose the "
    "even and the odd elements of a repeat, 3 to 6 the first to the fourth of every four, 7 all. "
    "With `reduce_mode` a repeat has `mask` elements, else 256 bytes. dst may begin where src0 "
    "does. On 3510 the numbered patterns need 8 KB of UB for themselves.",
    (
        Form("bits", (*_FIRST, tensor("src1_pattern"), *_OPTIONS)),
        Form("pattern", (*_FIRST, Param("src1_pattern", "int", cpp="uint8_t"), *_OPTIONS)),
    ),
    {
        "2201": _masked(*_BASIC, bfloat16),
        "3510": _masked(int8, uint8, *_BASIC, bfloat16),
        "3002": _masked(*_BASIC),
        "2002": _masked(*_BASIC),
    },
    _gather_mask,
    result=_count,
    limits={"src1_pattern": (1, 7)},
    outputs=1,
)


_FROM_RESULT: Final = "use the number that gather_mask gives"
GATHER_MASK_REMAIN_COUNT = counts_row(
    "vec_gather_mask",
    "get_gather_mask_remain_count",
    "GetGatherMaskRemainCount",
    "How many elements the last `gather_mask` of the block chose (`GetGatherMaskRemainCount`); "
    "uint64.",
    REMAIN,
    "gather_mask",
    dict.fromkeys(("3510", "3002", "1001"), _FROM_RESULT),
    _count,
)
