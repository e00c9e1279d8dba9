"""Element types: `asc.float32`, `asc.int8`, ... and how they promote.

Owns `DataType` and the promotion table of runtime scalars. Imports numpy and ml_dtypes (lazily).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np


class DataType:
    """An element type of Ascend C; compare with `is` or `==`, `sizeof()` is in bytes.

    Called with a number, it converts: a runtime scalar becomes a runtime scalar of the dtype
    (`static_cast`), any other number a NumPy scalar of it with the same value.
    """

    __slots__ = ("_np", "bits", "cpp", "hi", "kind", "lo", "name")

    #: The class of the runtime scalars, set by `language.scalar`.
    proxy: ClassVar[Any] = None

    def __init__(self, name: str, cpp: str, kind: str, bits: int) -> None:
        self.name = name
        self.cpp = cpp
        self.kind = kind
        self.bits = bits
        self.lo = self.hi = 0
        if kind == "i":
            self.lo, self.hi = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        elif kind in "ub":
            self.hi = (1 << bits) - 1 if kind == "u" else 1
        self._np: Any = None

    @property
    def np(self) -> Any:
        """The NumPy dtype (ml_dtypes for bfloat16)."""
        if self._np is None:
            if self.name == "bfloat16":
                import ml_dtypes

                self._np = np.dtype(ml_dtypes.bfloat16)
            else:
                self._np = np.dtype("bool" if self.kind == "b" else self.name)
        return self._np

    def __call__(self, value: Any) -> Any:
        """A number in this dtype; in a kernel, of a runtime scalar too.

        Integers wrap at the width, floats become integers by truncation, bools by being nonzero.
        A float out of the range of an integer has no defined result in C++; the simulator, and a
        constant, saturate and take NaN for 0. Raises TypeError for what is no number.
        """
        from . import conversion, scalar

        if isinstance(value, scalar.Scalar):
            return scalar.truth(value) if self.kind == "b" else scalar.convert(value, self)
        if of_constant(value) is None and not isinstance(value, int | np.floating):
            raise TypeError(f"{self.name}() takes a number, not '{type(value).__name__}'")
        with np.errstate(over="ignore"):
            return self.np.type(conversion.constant(value, self))

    def sizeof(self) -> int:
        """Bytes an element takes."""
        return self.bits // 8

    def is_int(self) -> bool:
        """Whether it is a signed or unsigned integer."""
        return self.kind in "iu"

    def is_signed(self) -> bool:
        """Whether it is a signed integer."""
        return self.kind == "i"

    def is_unsigned(self) -> bool:
        """Whether it is an unsigned integer."""
        return self.kind == "u"

    def is_float(self) -> bool:
        """Whether it is a floating-point type."""
        return self.kind == "f"

    def is_numeric(self) -> bool:
        """Whether it is an integer or floating-point type."""
        return self.kind in "iuf"

    def fits(self, value: int) -> bool:
        """Whether an integer is in range (integer and bool types)."""
        return self.lo <= value <= self.hi

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str:
        return self.name


bool_ = DataType("bool", "bool", "b", 8)
int8 = DataType("int8", "int8_t", "i", 8)
int16 = DataType("int16", "int16_t", "i", 16)
int32 = DataType("int32", "int32_t", "i", 32)
int64 = DataType("int64", "int64_t", "i", 64)
uint8 = DataType("uint8", "uint8_t", "u", 8)
uint16 = DataType("uint16", "uint16_t", "u", 16)
uint32 = DataType("uint32", "uint32_t", "u", 32)
uint64 = DataType("uint64", "uint64_t", "u", 64)
float16 = DataType("float16", "half", "f", 16)
bfloat16 = DataType("bfloat16", "bfloat16_t", "f", 16)
float32 = DataType("float32", "float", "f", 32)
half = float16
int_ = int32
float_ = float32

ALL: tuple[DataType, ...] = (
    bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, bfloat16, float32,
)  # fmt: skip
BY_NAME: dict[str, DataType] = {t.name: t for t in ALL}

_INT_BY_BITS = {("i", t.bits): t for t in ALL if t.kind == "i"} | {
    ("u", t.bits): t for t in ALL if t.kind == "u"
}


def from_numpy(dtype: Any) -> DataType | None:
    """The `DataType` of a NumPy dtype, or None when Ascend C has none."""
    return BY_NAME.get(np.dtype(dtype).name)


def promote(a: DataType, b: DataType) -> DataType | None:
    """The common type of two runtime scalars, or None (int64 with uint64).

    Integers widen until both ranges fit; an integer with a float takes the float type, at least
    float32 for integers wider than 8 bits; float16 with bfloat16 is float32; bool counts as int32
    with itself and as the other type otherwise.
    """
    if a is b:
        return int32 if a.kind == "b" else a
    if a.kind == "b" or b.kind == "b":
        return b if a.kind == "b" else a
    if a.kind == "f" and b.kind == "f":
        return float32
    if a.kind == "f" or b.kind == "f":
        real, integer = (a, b) if a.kind == "f" else (b, a)
        return real if integer.bits == 8 else float32
    if a.kind == b.kind:
        return a if a.bits > b.bits else b
    signed, unsigned = (a, b) if a.kind == "i" else (b, a)
    if signed.bits > unsigned.bits:
        return signed
    return _INT_BY_BITS.get(("i", unsigned.bits * 2))


def of_constant(value: Any) -> DataType | None:
    """The type a Python or NumPy constant takes when nothing else decides, or None."""
    if isinstance(value, bool | np.bool_):
        return bool_
    if isinstance(value, np.generic):
        return from_numpy(value.dtype)
    if isinstance(value, int):
        return int32 if int32.fits(value) else int64 if int64.fits(value) else None
    if isinstance(value, float):
        return float32
    return None
