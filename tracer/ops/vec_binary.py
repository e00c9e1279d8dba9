"""Rows of the two-operand vector functions: `add`, `sub`, `mul`, ...

Each comes in three forms: count (the first `count` elements), mask + repeat (`mask` elements of
each repeat) and bit mask (two 64-bit words choose the elements of a repeat).

What the documentation leaves open: a product that is added to is rounded to the dtype of `dst`
first, also where the name says "fused"; a product that is converted is rounded to its own dtype
first and then, ties to even, to the integer, which saturates.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..language.dtypes import (
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
    uint64,
)
from ._numeric import ONE_ULP, relu, to_integers, truncated
from ._vector import (
    ARITH,
    BITS,
    HALF_FLOAT,
    NO_SET_MASK,
    WIDE,
    Signature,
    everywhere,
    forms,
    mixed_row,
    vector_row,
)
from .spec import Form, Param

_SOURCES = (Param("src0", "local", "in"), Param("src1", "local", "in"))
FORMS = forms((Param("dst", "local", "out"), *_SOURCES), "binary_repeat", (NO_SET_MASK,))
_ADDS_TO = forms((Param("dst", "local", "inout"), *_SOURCES), "binary_repeat", (NO_SET_MASK,))


def _row(
    name: str, cpp: str, doc: str, semantics: Any, dtypes: dict[str, Any], accumulates: bool = True
) -> Any:
    """A row; `accumulates`: src1 may be what earlier repeats wrote (`rules.accumulates`)."""
    return vector_row(
        "vec_binary", name, cpp, doc, FORMS, dtypes, semantics, accumulates=accumulates
    )


def _relu(op: Any) -> Callable[[Any, Any], Any]:
    return lambda a, b: relu(op(a, b))


_MUL_WIDE = tuple(t for t in WIDE if t.bits > 8)
_MINMAX = {
    **everywhere(*ARITH, wide=WIDE),
    "1001": (float16, int32, float32),
}
_RELU: dict[str, Any] = {
    "2201": (int16, float16, float32),
    "3002": HALF_FLOAT,
    "2002": (int16, float16, float32),
    "3510": (int16, float16, float32, int64, uint64),
}
_BITWISE = {
    **everywhere(*BITS, wide=tuple(t for t in WIDE if t.is_int())),
    "1001": BITS,
}

ADD = _row(
    "add", "Add", "dst = src0 + src1", np.add,
    {**everywhere(*ARITH, wide=WIDE), "1001": (float16, int32, float32)},
)  # fmt: skip
SUB = _row("sub", "Sub", "dst = src0 - src1", np.subtract, dict(ADD.dtypes))
MUL = _row(
    "mul", "Mul", "dst = src0 * src1", np.multiply,
    {**everywhere(*ARITH, wide=_MUL_WIDE), "1001": (float16, int32, float32)},
)  # fmt: skip


def _divide(form: Form, args: tuple[Any, ...]) -> Callable[[Any, Any], Any]:
    return np.divide if args[0].type.dtype.is_float() else truncated


def _pairs(*dtypes: Any) -> tuple[Signature, ...]:
    return tuple((dtype,) * 3 for dtype in dtypes)


_DIVIDED = (int16, uint16, float16, int32, uint32, float32, int64, uint64)
DIV = mixed_row(
    "vec_binary", "div", "Div",
    "dst = src0 / src1, integers (3510 only) towards 0; of a division by 0 they give all bits 1",
    FORMS,
    {
        **dict.fromkeys(("2201", "3002", "2002", "1001"), _pairs(*HALF_FLOAT)),
        "3510": _pairs(*_DIVIDED),
    },
    _divide,
    types=(0,),
    count_only={"3510": frozenset(_pairs(int64, uint64))},
    error="3510: 1 ulp", approximate={"3510": ONE_ULP},
)  # fmt: skip
MAX = _row("max", "Max", "dst = the larger of src0 and src1", np.maximum, _MINMAX)
MIN = _row("min", "Min", "dst = the smaller of src0 and src1", np.minimum, _MINMAX)
BITWISE_AND = _row("bitwise_and", "And", "dst = src0 & src1", np.bitwise_and, _BITWISE, False)
BITWISE_OR = _row("bitwise_or", "Or", "dst = src0 | src1", np.bitwise_or, _BITWISE, False)
ADD_RELU = _row("add_relu", "AddRelu", "dst = max(src0 + src1, 0)", _relu(np.add), _RELU)
SUB_RELU = _row("sub_relu", "SubRelu", "dst = max(src0 - src1, 0)", _relu(np.subtract), _RELU)

# -- what also reads the destination, and what converts -------------------------------------------

_FUSED = everywhere(*HALF_FLOAT, wide=(float16, float32, int64, uint64))


FUSED_MUL_ADD = vector_row(
    "vec_binary", "fused_mul_add", "FusedMulAdd", "dst = src0 * dst + src1", _ADDS_TO,
    {**_FUSED, "3510": (float16, bfloat16, float32, int64, uint64)},
    lambda dst, src0, src1: src0 * dst + src1,
)  # fmt: skip
FUSED_MUL_ADD_RELU = vector_row(
    "vec_binary", "fused_mul_add_relu", "FusedMulAddRelu", "dst = max(src0 * dst + src1, 0)",
    _ADDS_TO, _FUSED, lambda dst, src0, src1: relu(src0 * dst + src1),
)  # fmt: skip


def _same(*dtypes: Any) -> tuple[Signature, ...]:
    return tuple((dtype,) * 3 for dtype in dtypes)


def _mul_add_dst(form: Form, args: tuple[Any, ...]) -> Callable[[Any, Any, Any], Any]:
    dtype = args[0].type.dtype.np
    return lambda dst, src0, src1: src0.astype(dtype) * src1.astype(dtype) + dst


_TO_FLOAT = (float32, float16, float16)
MUL_ADD_DST = mixed_row(
    "vec_binary", "mul_add_dst", "MulAddDst", "dst = src0 * src1 + dst", _ADDS_TO,
    {
        "2201": (*_same(*HALF_FLOAT), _TO_FLOAT),
        "3510": (*_same(*HALF_FLOAT, int64, uint64), _TO_FLOAT),
        "3002": _same(*HALF_FLOAT, int16, uint16, int32, uint32),
        "2002": (*_same(*HALF_FLOAT), _TO_FLOAT),
    },
    _mul_add_dst,
    count_only={"3510": frozenset(_same(int64, uint64))},
)  # fmt: skip


def _mul_cast(form: Form, args: tuple[Any, ...]) -> Callable[[Any, Any], Any]:
    dtype = args[0].type.dtype
    return lambda src0, src1: to_integers(src0 * src1, dtype, np.rint)


_NARROWED = ((int8, float16, float16), (uint8, float16, float16))
MUL_CAST = mixed_row(
    "vec_binary", "mul_cast", "MulCast", "dst = the integer nearest to src0 * src1, saturated",
    FORMS, dict.fromkeys(("2201", "3510", "3002", "2002"), _NARROWED), _mul_cast,
)  # fmt: skip
