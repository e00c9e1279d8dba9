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
from fractions import Fraction
from typing import Any

import numpy as np

from asctrace.tracer.language.dtypes import DataType, float16, float32
from asctrace.tracer.language.enums import RoundMode


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


def _divided(a: Any, b: Any, call: Call) -> Any:
    if call.dst.kind == "f":
        return _divide(a, b)
    quotient = abs(a) // abs(b) if b else 1
    return quotient if b and (a < 0) == (b < 0) else -quotient


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


def _exp(a: float) -> float:
    return math.inf if 710 < a < math.inf else math.exp(a)


def _ln(a: float) -> float:
    return math.log(a) if a > 0 else -math.inf if a == 0 else math.nan


def _sqrt(a: float) -> float:
    return math.sqrt(a) if a >= 0 else math.nan


def _rsqrt(a: float) -> float:
    return _divide(1.0, _sqrt(a))


#: What the calls that multiply by the scale of the core find there; a float16.
SCALE = 0.3701171875
RINT = Call((float16, float32), (RoundMode.CAST_RINT,))


def _relu_cast(op: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def reference(a: Any, b: Any, call: Call) -> Any:
        dst, src = call.dtypes[:2]
        result = _largest(then(op(a, b), src), 0)
        return _cast(result, Call((dst, src), (RoundMode.CAST_RINT,)))

    return reference


#: Significant bits, smallest exponent of a unit in the last place, largest number.
_FORMAT = {
    "float16": (11, -24, 65504),
    "bfloat16": (8, -133, 2**128 - 2**120),
    "float32": (24, -149, 2**128 - 2**104),
}


def _rounded(value: Fraction, mode: str) -> int:
    """A fraction as a whole number."""
    down = math.floor(value)
    if value == down:
        return down
    ties = {"CAST_ROUND": down + (value > 0), "CAST_ODD": down}.get(mode, down + down % 2)
    half = value - down - Fraction(1, 2)
    return {
        "CAST_FLOOR": down,
        "CAST_CEIL": down + 1,
        "CAST_TRUNC": down + (value < 0),
        "CAST_ODD": down + 1 - down % 2,
    }.get(mode, ties if half == 0 else down + (half > 0))


def _cast(value: Any, call: Call) -> Any:
    """By fractions: a whole number of units in the last place of the result."""
    dst, src = call.dtypes
    mode = call.options[0].name
    if (dst.name, src.name) == ("float16", "int32"):
        return _cast(then(then(value, float32) * SCALE, float32), RINT)
    if isinstance(value, float) and not math.isfinite(value):
        if dst.kind == "f" or math.isnan(value):
            return value if dst.kind == "f" else 0
        return dst.hi if value > 0 else dst.lo
    exact = Fraction(value)
    if dst.kind != "f":
        return max(dst.lo, min(dst.hi, _rounded(exact, mode)))
    # A fraction has no sign when it is zero.
    sign = float(value)
    if dst is src:
        return math.copysign(_rounded(exact, mode), sign)
    bits, least, largest = _FORMAT[dst.name]
    exponent = max(_exponent(exact) - bits + 1, least)
    whole = _rounded(exact / Fraction(2) ** exponent, mode) * Fraction(2) ** exponent
    return math.copysign(max(-largest, min(largest, whole)), sign)


def _exponent(value: Fraction) -> int:
    """The power of two below the absolute value."""
    value = abs(value)
    if not value:
        return -1000
    guess = value.numerator.bit_length() - value.denominator.bit_length()
    return guess if Fraction(2) ** guess <= value else guess - 1


REFERENCE: dict[str, Callable[..., Any]] = {
    # vec_binary
    "Add": plain(operator.add),
    "Sub": plain(operator.sub),
    "Mul": plain(_times),
    "Div": _divided,
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
    # vec_binary_scalar and vec_ternary_scalar
    "Adds": plain(operator.add),
    "Muls": plain(_times),
    "Maxs": plain(_largest),
    "Mins": plain(_smallest),
    "LeakyRelu": lambda a, s, call: a * s if a < 0 else a,
    "ShiftLeft": plain(operator.lshift),
    "ShiftRight": plain(operator.rshift),
    "Axpy": lambda dst, a, s, call: then(_times(a, s), call.dst) + dst,
    # vec_unary
    "Abs": plain(abs),
    "Exp": plain(_exp),
    "Ln": plain(_ln),
    "Relu": lambda a, call: _largest(a, 0),
    "Reciprocal": lambda a, call: _divide(1.0, a),
    "Rsqrt": plain(_rsqrt),
    "Sqrt": plain(_sqrt),
    "Not": plain(operator.invert),
    # vec_duplicate
    "Duplicate": lambda s, call: s,
    # vec_copy
    "Copy": lambda a, call: a,
    # vec_vconv
    "Cast": _cast,
    "AddReluCast": _relu_cast(operator.add),
    "SubReluCast": _relu_cast(operator.sub),
}
