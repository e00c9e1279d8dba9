"""Rows of the vector functions of one tensor: `abs`, `exp`, `sqrt`, ...

The simulator gives the correctly rounded value. Where the chips only approximate, `error` in the
row says what is documented; on 3510 the default algorithms flush subnormal results to zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..language.dtypes import float16, float32, int8, int16, int32, int64
from ._numeric import ONE_ULP, relu
from ._vector import BITS, HALF_FLOAT, WIDE, everywhere, forms, vector_row
from .spec import OpSpec, Param

FORMS = forms((Param("dst", "local", "out"), Param("src", "local", "in")), "unary_repeat")


def _row(name: str, cpp: str, doc: str, semantics: Any, dtypes: Any, **extra: Any) -> OpSpec:
    return vector_row("vec_unary", name, cpp, doc, FORMS, dtypes, semantics, **extra)


def _once(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of floats, computed in float64 and rounded once."""
    return lambda src: function(src.astype(np.float64)).astype(src.dtype)


_FLOATS = {**everywhere(*HALF_FLOAT, wide=HALF_FLOAT), "1001": HALF_FLOAT}
#: What is documented of the error, and what the simulator may be told to be off by.
_ULP: dict[str, Any] = {"error": "3510: 1 ulp", "approximate": {"3510": ONE_ULP}}
_COARSE: dict[str, Any] = {
    "error": "2201: more than 2 in 1000 in float16, more than 2 in 10000 in float32",
    "approximate": {"2201": {"float16": 2e-3, "float32": 2e-4}, "3510": ONE_ULP},
}

ABS = _row(
    "abs", "Abs", "dst = the absolute value of src", np.abs,
    {**_FLOATS, "3002": (int16, *HALF_FLOAT), "3510": (int8, int16, *HALF_FLOAT, int32, int64)},
)  # fmt: skip
EXP = _row("exp", "Exp", "dst = e to the power of src", _once(np.exp), _FLOATS, **_ULP)
LN = _row("ln", "Ln", "dst = the natural logarithm of src", _once(np.log), _FLOATS, **_ULP)
RELU = _row(
    "relu", "Relu", "dst = max(src, 0)", relu,
    {
        **everywhere(float16, int32, float32, wide=(float16, int32, float32, int64)),
        "1001": (float16,),
    },
)  # fmt: skip
RECIPROCAL = _row(
    "reciprocal", "Reciprocal", "dst = 1 / src, approximately",
    _once(np.reciprocal), _FLOATS, **_COARSE,
)  # fmt: skip
RSQRT = _row(
    "rsqrt", "Rsqrt", "dst = 1 / the square root of src, approximately",
    _once(lambda src: 1 / np.sqrt(src)), _FLOATS, **_COARSE,
)  # fmt: skip
SQRT = _row("sqrt", "Sqrt", "dst = the square root of src", _once(np.sqrt), _FLOATS, **_ULP)
BITWISE_NOT = _row(
    "bitwise_not", "Not", "dst = ~src", np.invert,
    {**everywhere(*BITS, wide=tuple(t for t in WIDE if t.is_int())), "1001": BITS},
)  # fmt: skip
