"""Conversions between the dtypes of scalars, on Python numbers.

Integers are Python ints in the range of their dtype and wrap at its width; floats are Python
floats that the dtype can represent exactly; bools are bools. float16 and bfloat16 are rounded by
way of float32, as the emitted C++ does. A float that becomes an integer truncates towards zero
and saturates; NaN becomes 0.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from .dtypes import DataType

_EXACT = 1 << 53


def round_float32(x: float) -> float:
    """The nearest float32."""
    return ctypes.c_float(x).value


def round_float16(x: float) -> float:
    """The nearest float16 of the nearest float32."""
    return float(np.float16(np.float32(x)))


def round_bfloat16(x: float) -> float:
    """The nearest bfloat16 of the nearest float32, ties to even."""
    x = ctypes.c_float(x).value
    if x != x:
        return x
    bits = int.from_bytes(struct.pack("<f", x), "little")
    bits += 0x7FFF + (bits >> 16 & 1)
    return float(struct.unpack("<f", (bits & 0xFFFF0000).to_bytes(4, "little"))[0])


ROUND: dict[str, Callable[[float], float]] = {
    "float32": round_float32,
    "float16": round_float16,
    "bfloat16": round_bfloat16,
}


def wrap(value: int, dtype: DataType) -> int:
    """An integer at the width of an integer dtype."""
    value &= (1 << dtype.bits) - 1
    return value - (1 << dtype.bits) if value > dtype.hi else value


def int_to_float(value: int) -> float:
    """A float that rounds to the same float32 (float16, bfloat16) as the integer itself.

    A direct `float(value)` would round large integers twice; here the bits that a double has no
    room for are folded into its last one.
    """
    if -_EXACT <= value <= _EXACT:
        return float(value)
    magnitude = abs(value)
    drop = magnitude.bit_length() - 53
    kept = magnitude >> drop
    if magnitude & ((1 << drop) - 1):
        kept |= 1
    result = math.ldexp(kept, drop)
    return -result if value < 0 else result


def float_to_int(value: float, dtype: DataType) -> int:
    """Truncated towards zero and saturated; NaN is 0."""
    if value != value:
        return 0
    if value >= dtype.hi:
        return dtype.hi
    if value <= dtype.lo:
        return dtype.lo
    return int(value)


def converter(source: DataType | None, target: DataType) -> Callable[[Any], Any]:
    """The conversion from one dtype to another; a None source stands for any Python number."""
    if source is target:
        return lambda value: value
    if target.kind == "b":
        return bool
    if target.kind == "f":
        narrow = ROUND[target.name]
        return lambda value: narrow(value if isinstance(value, float) else int_to_float(value))
    return lambda value: (
        float_to_int(value, target) if isinstance(value, float) else wrap(int(value), target)
    )


def constant(value: Any, dtype: DataType) -> Any:
    """A constant operand as the number that the dtype holds."""
    return converter(None, dtype)(value.item() if isinstance(value, np.generic) else value)
