"""Rows of the vector functions of a tensor and a number: `adds`, `muls`, ...

The number is converted to the element type first. `leaky_relu` multiplies what is negative and
leaves NaN as it is; the product is rounded to the element type.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..language.dtypes import DataType, int16, int32, uint16, uint32
from ._vector import ARITH, HALF_FLOAT, SET_MASK, WIDE, everywhere, forms, vector_row
from .spec import OpSpec, Param

_SCALAR = (
    Param("dst", "local", "out"),
    Param("src", "local", "in"),
    Param("scalar", "number", cpp="{dtype}"),
)
FORMS = forms(_SCALAR, "unary_repeat", (SET_MASK,))


def _row(name: str, cpp: str, doc: str, semantics: Any, dtypes: Any, **more: Any) -> OpSpec:
    return vector_row("vec_binary_scalar", name, cpp, doc, FORMS, dtypes, semantics, **more)


_SIGNED = tuple(t for t in WIDE if t not in (uint16, uint32))
_ADD = {**everywhere(*ARITH, wide=_SIGNED), "1001": HALF_FLOAT}
_MUL = {**_ADD, "3510": tuple(t for t in _SIGNED if t.bits > 8)}
_LIMIT = everywhere(*ARITH, wide=_SIGNED)

ADDS = _row("adds", "Adds", "dst = src + scalar", np.add, _ADD)
MULS = _row("muls", "Muls", "dst = src * scalar", np.multiply, _MUL)
MAXS = _row("maxs", "Maxs", "dst = the larger of src and scalar", np.maximum, _LIMIT)
MINS = _row("mins", "Mins", "dst = the smaller of src and scalar", np.minimum, _LIMIT)
LEAKY_RELU = _row(
    "leaky_relu", "LeakyRelu", "dst = src where that is not negative, else src * scalar",
    lambda src, scalar: np.where(src < 0, src * scalar, src),
    everywhere(*HALF_FLOAT, wide=HALF_FLOAT),
)  # fmt: skip

# -- shifts ---------------------------------------------------------------------------------------

_SHIFTED: dict[str, tuple[DataType, ...]] = {
    "2201": (int16, uint16, int32, uint32),
    "3002": (int16, uint16, int32, uint32),
    "3510": tuple(t for t in WIDE if t.is_int()),
}


def _shift(name: str, cpp: str, doc: str, semantics: Any) -> OpSpec:
    return _row(name, cpp, doc, semantics, _SHIFTED, number_range=lambda dtype: (0, dtype.bits))


SHIFT_LEFT = _shift("shift_left", "ShiftLeft", "dst = src << scalar", np.left_shift)
SHIFT_RIGHT = _shift(
    "shift_right", "ShiftRight", "dst = src >> scalar, with copies of the sign", np.right_shift
)
