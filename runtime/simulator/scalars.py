"""Numbers of the scalar unit as Python numbers: division, and elements in memory.

How they are converted is `language.conversion`; float16 and bfloat16 results are computed in
float32 and then rounded, as the emitted C++ does.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

from ...tracer.language.dtypes import DataType

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
