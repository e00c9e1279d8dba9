"""Numbers of the scalar unit as Python numbers.

Integers are Python ints in the range of their dtype; floats are Python floats that the dtype can
represent exactly; bools are bools. float16 and bfloat16 results are computed in float32 and then
rounded, as the emitted C++ does. A float that becomes an integer truncates towards zero and
saturates; NaN becomes 0.
"""

from __future__ import annotations

import ctypes
import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

from ...tracer.language.dtypes import DataType

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


# -- division -----------------------------------------------------------------------------------


def divide_by_zero(a: float, b: float) -> float:
    """IEEE division of a float by a zero (positive or negative)."""
    if a != a or a == 0:
        return math.nan
    return math.copysign(math.inf, a) * math.copysign(1.0, b)


def floor_divide(a: float, b: float) -> float:
    """`a // b` of floats; a zero divisor gives what `/` gives."""
    return a // b if b else divide_by_zero(a, b)


def floor_modulo(a: float, b: float) -> float:
    """`a % b` of floats; NaN for a zero divisor."""
    return a % b if b else math.nan


def trunc_divide(a: int, b: int) -> int:
    """C's integer division."""
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def trunc_modulo(a: int, b: int) -> int:
    """C's integer remainder."""
    return a - b * trunc_divide(a, b)


# -- memory -------------------------------------------------------------------------------------

_FORMATS = {
    "bool": "?", "int8": "b", "int16": "h", "int32": "i", "int64": "q",
    "uint8": "B", "uint16": "H", "uint32": "I", "uint64": "Q", "float16": "e", "float32": "f",
}  # fmt: skip

Load = Callable[[memoryview, int], Any]
Store = Callable[[memoryview, int, Any], None]


def accessors(dtype: DataType) -> tuple[Load, Store]:
    """How an element is read from and written to bytes at an offset."""
    if dtype.name == "bfloat16":
        return _load_bfloat16, _store_bfloat16
    layout = struct.Struct("<" + _FORMATS[dtype.name])
    unpack = layout.unpack_from

    def load(data: memoryview, offset: int) -> Any:
        return unpack(data, offset)[0]

    return load, layout.pack_into


def _load_bfloat16(data: memoryview, offset: int) -> float:
    return float(struct.unpack("<f", b"\0\0" + data[offset : offset + 2].tobytes())[0])


def _store_bfloat16(data: memoryview, offset: int, value: float) -> None:
    data[offset : offset + 2] = struct.pack("<f", value)[2:]
