"""The row of `copy`: selected elements from one place of UB to another."""

from __future__ import annotations

from ..language.dtypes import bfloat16, float16, float32, int16, int32, uint16, uint32
from ._vector import SET_MASK, WIDE, vector_row
from .spec import Form, Param

_OPERANDS = (Param("dst", "local", "out"), Param("src", "local", "in"))
_REPEAT = (
    Param("repeat_time", "int", cpp="uint8_t"),
    Param("repeat_params", "copy_repeat"),
    SET_MASK,
)
_DTYPES = (int16, uint16, float16, bfloat16, int32, uint32, float32)

COPY = vector_row(
    "vec_copy", "copy", "Copy",
    "dst = src; in counter mode the mask is the number of elements of each repeat, which then may "
    "have more than eight blocks",
    (
        Form("mask", (*_OPERANDS, Param("mask", "int", cpp="uint64_t"), *_REPEAT)),
        Form("bits", (*_OPERANDS, Param("mask", "mask"), *_REPEAT)),
    ),
    {"2201": _DTYPES, "3002": _DTYPES, "3510": WIDE},
    lambda src: src,
    count_only={},
    counts_repeats=True,
)  # fmt: skip
