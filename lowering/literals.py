"""Constants as C++ literals of the right type.

A literal comes with its C++ precedence (0 for a primary expression), so that the caller knows
whether it needs parentheses: `-5` is a unary expression, the smallest int32 a difference.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np

from ..tracer.language.dtypes import DataType, float32, of_constant

_INT32_MAX = 2**31 - 1
_INT64_MAX = 2**63 - 1


def integer(value: int, dtype: DataType | None = None) -> tuple[str, int]:
    """An integer; a suffix only where the value needs it."""
    if -_INT32_MAX <= value <= _INT32_MAX:
        return str(value), 3 if value < 0 else 0
    if value < 0:
        # C++ has no negative literals: the smallest value's digits alone would not fit the type.
        if value == -_INT32_MAX - 1:
            return f"-{_INT32_MAX} - 1", 6
        if value == -_INT64_MAX - 1:
            return f"-{_INT64_MAX}LL - 1", 6
        return f"{value}LL", 3
    if dtype is not None and dtype.kind == "u" and value < 2**32 and dtype.bits == 32:
        return f"{value}u", 0
    unsigned = value > _INT64_MAX or (dtype is not None and dtype.kind == "u")
    return f"{value}{'ULL' if unsigned else 'LL'}", 0


def single(value: float) -> tuple[str, int]:
    """A float32, in the fewest digits that read back to the same value."""
    value = ctypes.c_float(value).value
    if math.isnan(value):
        return '__builtin_nanf("")', 0
    if math.isinf(value):
        return ("__builtin_inff()", 0) if value > 0 else ("-__builtin_inff()", 3)
    whole = value.is_integer() and 0 < abs(value) < 1e9
    text = f"{int(value)}.0f" if whole else f"{np.float32(value)!s}f"
    return text, 3 if text[0] == "-" else 0


def rounded(value: float, dtype: DataType) -> tuple[str, int]:
    """A float32 literal with the value that `value` has in the 16-bit type `dtype`."""
    with np.errstate(over="ignore"):
        exact = dtype.np.type(value)
    if math.isfinite(float(exact)):
        # As it was written, or else the 16-bit value's short decimal, if that survives the way
        # through float32.
        for short in (value, float(str(exact))):
            if float(dtype.np.type(np.float32(short))) == float(exact):
                return single(short)
    return single(float(exact))


def literal(value: Any, dtype: DataType | None = None) -> tuple[str, int]:
    """A Python or NumPy number as a literal of `dtype` (its own type when None)."""
    if dtype is None:
        dtype = of_constant(value) or float32
    if dtype.kind == "f":
        value = float(value)
        if dtype.bits == 32:
            return single(value)
        return f"static_cast<{dtype.cpp}>({rounded(value, dtype)[0]})", 2
    if dtype.kind == "b":
        return ("true" if value else "false"), 0
    return integer(int(value), dtype)


def string(text: str) -> str:
    """A C string literal in ASCII."""
    out = []
    for byte in text.encode():
        char = chr(byte)
        if char in '"\\':
            out.append("\\" + char)
        elif char == "\n":
            out.append("\\n")
        elif not 32 <= byte < 127:
            out.append(f"\\{byte:03o}")
        else:
            out.append(char)
    return '"' + "".join(out).replace("??", "?\\?") + '"'
