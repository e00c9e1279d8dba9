"""Rows of the scalar unit's functions on numbers."""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from ..diagnostics import error
from ..language.dtypes import DataType, float16, int32, int64
from ..language.enums import RoundMode
from ..trace import Recorder, Value
from ._chips import on_chips
from .spec import Form, OpSpec, Param, register

_ARCHES = MappingProxyType({"arches": ("2201", "3510", "2002")})

#: The conversions of `scalar_cast`: from float32 to a dtype, by these modes.
CASTS: dict[DataType, tuple[RoundMode, ...]] = {
    float16: (RoundMode.CAST_ODD,),
    int32: (
        RoundMode.CAST_ROUND, RoundMode.CAST_CEIL, RoundMode.CAST_FLOOR, RoundMode.CAST_RINT,
    ),
}  # fmt: skip


def _cast_result(recorder: Recorder, form: Form, args: tuple[Any, ...]) -> Value:
    return args[1].proxy(args[1], recorder.block)  # type: ignore[no-any-return]


def _int64_result(recorder: Recorder, form: Form, args: tuple[Any, ...]) -> Value:
    return int64.proxy(int64, recorder.block)  # type: ignore[no-any-return]


def _check_cast(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The rounding mode is one that the dtype is converted with."""
    _, dtype, mode = args
    if mode not in CASTS.get(dtype, ()):
        rows = (f"{to}: {', '.join(m.name for m in modes)}" for to, modes in CASTS.items())
        raise error(
            "AT0102",
            f"{spec.name} to {dtype} with {mode.name}",
            recorder.site(),
            table="from float32 to\n" + "\n".join(rows),
            hint="dtype(value) converts as Python does",
        )


def _check_bit(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The bit is 0 or 1."""
    if args[1] not in (0, 1):
        raise error("AT0108", f"{spec.name} of the bit {args[1]}", recorder.site(),
                    hint="the bit is 0 or 1")  # fmt: skip


SCALAR_CAST = register(
    OpSpec(
        "scalar_cast",
        "ScalarCast",
        "scalar_functions",
        "A float32 in another dtype (`ScalarCast<float, U, roundMode>`): float16 with CAST_ODD, "
        "int32 with CAST_ROUND, CAST_CEIL, CAST_FLOOR or CAST_RINT; integers saturate, NaN is 0.",
        (
            Form(
                "cast",
                (
                    Param("value_in", "number", cpp="float"),
                    Param("dtype", "dtype", "template"),
                    Param("round_mode", "round_mode", "template"),
                ),
            ),
        ),
        pure=True,
        result=_cast_result,
        checks=(on_chips, _check_cast),
        extra=_ARCHES,
    )
)


def _bits(name: str, cpp: str, doc: str, semantics: Callable[..., int], bit: bool) -> OpSpec:
    """A row on the 64 bits of an integer; negative ones count in two's complement."""
    bit_param = (Param("count_value", "const_int", "template"),) if bit else ()
    form = Form("bits", (Param("value_in", "int", cpp="uint64_t"), *bit_param))
    return register(
        OpSpec(
            name,
            cpp,
            "scalar_functions",
            f"{doc}; int64. Negative numbers count as their 64 bits.",
            (form,),
            pure=True,
            result=_int64_result,
            checks=(on_chips, _check_bit) if bit else (on_chips,),
            semantics=semantics,
            extra=_ARCHES,
        )
    )


def _first(value: int, bit: int) -> int:
    wanted = value if bit else ~value & _ALL
    return (wanted & -wanted).bit_length() - 1


def _same_as_sign(value: int) -> int:
    rest = value if value >> 63 == 0 else ~value & _ALL
    return 63 - rest.bit_length() if rest else -1


_ALL = 2**64 - 1

SCALAR_GET_SFF_VALUE = _bits(
    "scalar_get_sff_value", "ScalarGetSFFValue",
    "Place of the lowest bit that is `count_value`, -1 for none (`ScalarGetSFFValue<countValue>`)",
    _first, True,
)  # fmt: skip
SCALAR_GET_COUNT_OF_VALUE = _bits(
    "scalar_get_count_of_value", "ScalarGetCountOfValue",
    "Number of bits that are `count_value` (`ScalarGetCountOfValue<countValue>`)",
    lambda value, bit: value.bit_count() if bit else 64 - value.bit_count(), True,
)  # fmt: skip
SCALAR_COUNT_LEADING_ZERO = _bits(
    "scalar_count_leading_zero", "ScalarCountLeadingZero",
    "Number of zeros above the highest bit that is set, 64 for 0 (`ScalarCountLeadingZero`)",
    lambda value: 64 - value.bit_length(), False,
)  # fmt: skip
COUNT_BITS_CNT_SAME_AS_SIGN_BIT = _bits(
    "count_bits_cnt_same_as_sign_bit", "CountBitsCntSameAsSignBit",
    "Number of bits right below the sign bit that are equal to it, -1 for 0 and -1 "
    "(`CountBitsCntSameAsSignBit`)",
    _same_as_sign, False,
)  # fmt: skip
