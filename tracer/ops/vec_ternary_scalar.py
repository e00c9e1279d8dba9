"""The row of `axpy`: a tensor times a number is added to the destination."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..language.dtypes import DataType, bfloat16, float16, float32, int64, uint64
from ._vector import HALF_FLOAT, Signature, forms, mixed_row
from .spec import Form, Param

_FORMS = forms(
    (
        Param("dst", "local", "inout"),
        Param("src", "local", "in"),
        Param("scalar", "number", cpp="{dtype1}"),
    ),
    "unary_repeat",
)


def _axpy(form: Form, args: tuple[Any, ...]) -> Callable[[Any, Any, Any], Any]:
    dtype = args[0].type.dtype.np
    return lambda dst, src, scalar: src.astype(dtype) * scalar.astype(dtype) + dst


def _same(*dtypes: DataType) -> tuple[Signature, ...]:
    return tuple((dtype, dtype) for dtype in dtypes)


_SUMS = (*_same(*HALF_FLOAT), (float32, float16))
AXPY = mixed_row(
    "vec_ternary_scalar", "axpy", "Axpy", "dst = src * scalar + dst, the product rounded first",
    _FORMS,
    dict.fromkeys(("2201", "3002", "2002", "1001"), _SUMS)
    | {"3510": (*_SUMS, *_same(bfloat16, int64, uint64))},
    _axpy,
    count_only={"3510": frozenset(_same(int64, uint64))},
)  # fmt: skip
