"""What the vector functions compute, on single Python numbers: written apart from the op table.

`REFERENCE` maps the Ascend C name to a function of the numbers that a lane reads (an `inout`
destination first, a scalar last) and the call; it gives the number to store. A new row adds its
own.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from asctrace.tracer.language.dtypes import DataType


@dataclass(frozen=True)
class Call:
    """Dtypes of the tensors of a call, the destination first, and its other arguments."""

    dtypes: tuple[DataType, ...]
    options: tuple[Any, ...] = ()

    @property
    def dst(self) -> DataType:
        return self.dtypes[0]


def stored(value: Any, dtype: DataType) -> Any:
    """A result as an element of `dtype`: rounded once, or wrapped."""
    if dtype.kind == "f":
        with np.errstate(all="ignore"):
            if dtype.name == "bfloat16":
                return np.float64(value).astype(np.float32).astype(dtype.np)
            return np.float64(value).astype(dtype.np)
    return dtype.np.type((int(value) - dtype.lo) % (1 << dtype.bits) + dtype.lo)


def number(element: Any, dtype: DataType) -> Any:
    """An element as a Python number."""
    return float(element) if dtype.kind == "f" else int(element)


def then(value: Any, dtype: DataType) -> Any:
    """An intermediate result, rounded or wrapped to `dtype`."""
    return number(stored(value, dtype), dtype)


def _divide(a: Any, b: Any) -> Any:
    if b == 0:
        if a == 0 or math.isnan(a):
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1, b)
    return a / b


def _largest(a: Any, b: Any) -> Any:
    return a + b if a != a or b != b else max(a, b)


def _smallest(a: Any, b: Any) -> Any:
    return a + b if a != a or b != b else min(a, b)


def _times(a: Any, b: Any) -> Any:
    # A float of Python has no NaN from inf * 0 as an exception, so plain is fine.
    return a * b


def _to_integer(value: float, dtype: DataType) -> int:
    """Ties to even, saturated; NaN is 0."""
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return dtype.hi if value > 0 else dtype.lo
    return max(dtype.lo, min(dtype.hi, round(value)))


def plain(op: Callable[..., Any]) -> Callable[..., Any]:
    """A reference that needs nothing of the call."""
    return lambda *values, call: op(*values)


def _add_relu(op: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return lambda a, b, call: _largest(then(op(a, b), call.dst), 0)


def _fused(dst: Any, src0: Any, src1: Any, call: Call) -> Any:
    return then(_times(src0, dst), call.dst) + src1


def _fused_relu(dst: Any, src0: Any, src1: Any, call: Call) -> Any:
    return _largest(then(_fused(dst, src0, src1, call), call.dst), 0)


REFERENCE: dict[str, Callable[..., Any]] = {
    # vec_binary
    "Add": plain(operator.add),
    "Sub": plain(operator.sub),
    "Mul": plain(_times),
    "Div": plain(_divide),
    "Max": plain(_largest),
    "Min": plain(_smallest),
    "And": plain(operator.and_),
    "Or": plain(operator.or_),
    "AddRelu": _add_relu(operator.add),
    "SubRelu": _add_relu(operator.sub),
    "FusedMulAdd": _fused,
    "FusedMulAddRelu": _fused_relu,
    "MulAddDst": lambda dst, a, b, call: then(_times(a, b), call.dst) + dst,
    "MulCast": lambda a, b, call: _to_integer(then(_times(a, b), call.dtypes[1]), call.dst),
}
