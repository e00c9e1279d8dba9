"""The row of `duplicate`: one number into all selected elements."""

from __future__ import annotations

from ..language.dtypes import bfloat16, float16, float32, int16, int32, uint16, uint32
from ._vector import WIDE, everywhere, forms, vector_row
from .spec import Param

_DTYPES = (int16, uint16, float16, bfloat16, int32, uint32, float32)

DUPLICATE = vector_row(
    "vec_duplicate", "duplicate", "Duplicate", "dst = scalar",
    forms(
        (Param("dst", "local", "out"), Param("scalar", "number", cpp="{dtype}")),
        (
            Param("dst_block_stride", "int", cpp="uint16_t"),
            Param("dst_repeat_stride", "int", cpp="uint8_t"),
        ),
    ),
    {**everywhere(*_DTYPES, wide=WIDE), "1001": _DTYPES},
    lambda scalar: scalar,
)  # fmt: skip
