"""Rows of conversions: `cast` for every documented pair of dtypes and rounding mode, and more.

What does not fit saturates. What the documentation leaves open: infinities stay what they are among
floats; NaN becomes 0 as an integer; `CAST_NONE` rounds to nearest, ties to even.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from ..diagnostics import error
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
)
from ..language.enums import RoundMode
from ..trace import Recorder
from ._numeric import between_integers, dequantised, narrowed, relu, to_integers
from ._vector import Signature, forms, mixed_row
from .spec import Form, OpSpec, Param

NONE: Final = (RoundMode.CAST_NONE,)
_DIRECTED: Final = (
    RoundMode.CAST_FLOOR, RoundMode.CAST_CEIL, RoundMode.CAST_ROUND, RoundMode.CAST_TRUNC,
)  # fmt: skip
_FIVE: Final = (RoundMode.CAST_RINT, *_DIRECTED)
_SIX: Final = (*_FIVE, RoundMode.CAST_NONE)
_SEVEN: Final = (*_FIVE, RoundMode.CAST_ODD, RoundMode.CAST_NONE)

#: Any mode: none has an effect.
_ANY: Final = tuple(RoundMode)
#: Architecture -> (destination, source) -> modes. Where any mode goes from int32 to float16, the
#: number is multiplied by the scale that `set_deq_scale` set before.
_OLD: dict[Signature, tuple[RoundMode, ...]] = {
    (float16, int8): NONE,
    (float16, uint8): NONE,
    (float16, int16): NONE,
    (int8, float16): (*_DIRECTED, RoundMode.CAST_NONE),
    (uint8, float16): (*_DIRECTED, RoundMode.CAST_NONE),
    (int32, float16): _FIVE,
    (float32, float16): NONE,
    (float32, int32): NONE,
    (float16, float32): (RoundMode.CAST_ODD, RoundMode.CAST_NONE),
    (int64, float32): _FIVE,
}
_A2: dict[Signature, tuple[RoundMode, ...]] = {
    (float16, int8): NONE,
    (float16, uint8): NONE,
    (float16, int16): _SIX,
    (float32, int16): NONE,
    (int8, float16): _SIX,
    (uint8, float16): _SIX,
    (int16, float16): _FIVE,
    (int32, float16): _FIVE,
    (float32, float16): NONE,
    (int32, bfloat16): _FIVE,
    (float32, bfloat16): NONE,
    (int16, int32): NONE,
    (float32, int32): _SIX,
    (int64, int32): NONE,
    (int16, float32): _FIVE,
    (float16, float32): _SEVEN,
    (bfloat16, float32): _FIVE,
    (int32, float32): _FIVE,
    (float32, float32): _FIVE,
    (int64, float32): _FIVE,
    (int32, int64): NONE,
    (float32, int64): _FIVE,
}
_950: dict[Signature, tuple[RoundMode, ...]] = {
    **_A2,
    (float16, int16): _FIVE,
    (int8, float16): _FIVE,
    (uint8, float16): _FIVE,
    (float32, int32): _FIVE,
    (int16, int8): NONE,
    (int32, int8): NONE,
    (uint16, uint8): NONE,
    (uint32, uint8): NONE,
    (uint8, int16): NONE,
    (int32, int16): NONE,
    (uint32, int16): NONE,
    (uint8, uint16): NONE,
    (uint32, uint16): NONE,
    (bfloat16, float16): _FIVE,
    (float16, bfloat16): _FIVE,
    (uint8, int32): NONE,
    (uint16, int32): NONE,
    (uint8, uint32): NONE,
    (int16, uint32): NONE,
    (uint16, uint32): NONE,
}
_SCALED: Final[dict[Signature, tuple[RoundMode, ...]]] = {(float16, int32): _ANY}
MODES: Final = {
    "2201": _A2 | _SCALED,
    "3510": _950 | _SCALED,
    "3002": {**_A2, (float16, int32): NONE},
    "2002": {**_OLD, (int16, float16): (RoundMode.CAST_RINT,), (int16, int32): NONE, **_SCALED},
    "1001": _OLD,
}


def check_mode(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The rounding mode is one that the chip has for these dtypes."""
    dst, src, mode = args[:3]
    chip = recorder.trace.chip
    modes = MODES[chip.arch][dst.type.dtype, src.type.dtype]
    if mode not in modes:
        raise error(
            "AT0102",
            f"{spec.name} from {src.type.dtype} to {dst.type.dtype} with {mode.name} is not "
            f"executed by {chip.name} (architecture {chip.arch})",
            recorder.site(),
            hint=f"choose {' or '.join(m.name for m in modes)}",
        )


def scaled(arch: str, dtypes: Signature) -> bool:
    """Whether a conversion multiplies by the scale that is set."""
    return MODES[arch].get(dtypes) == _ANY


def _cast(form: Form, args: tuple[Any, ...]) -> Callable[..., Any]:
    dst, src, mode = args[0].type.dtype, args[1].type.dtype, args[2]
    if (dst, src) == (float16, int32):
        return lambda values, scale=None: (
            narrowed(values, dst, mode) if scale is None else dequantised(values, scale)
        )
    if dst is src:
        return _WHOLE[mode]
    if dst.is_float():
        return lambda values: narrowed(values, dst, mode)
    if src.is_float():
        return lambda values: to_integers(values, dst, _WHOLE[mode])
    return lambda values: between_integers(values, dst)


def _away(values: Any) -> Any:
    """The nearest whole number, ties away from zero."""
    whole = np.trunc(values)
    return whole + np.where(np.abs(values - whole) >= 0.5, np.sign(values), 0).astype(whole.dtype)


#: A mode -> what makes floats whole numbers.
_WHOLE: Final[dict[RoundMode, Callable[[Any], Any]]] = {
    RoundMode.CAST_NONE: np.rint,
    RoundMode.CAST_RINT: np.rint,
    RoundMode.CAST_FLOOR: np.floor,
    RoundMode.CAST_CEIL: np.ceil,
    RoundMode.CAST_ROUND: _away,
    RoundMode.CAST_TRUNC: np.trunc,
}


CAST = mixed_row(
    "vec_vconv", "cast", "Cast", "dst = src in the dtype of dst, rounded as round_mode says",
    forms(
        (
            Param("dst", "local", "out"),
            Param("src", "local", "in"),
            Param("round_mode", "round_mode"),
        ),
        "unary_repeat",
    ),
    {arch: tuple(pairs) for arch, pairs in MODES.items()},
    _cast,
    checks=(check_mode,),
    options=("round_mode",),
    narrows_in_place=True,
)  # fmt: skip


# -- of a sum or a difference ---------------------------------------------------------------------

_CONVERTED: Final = ((int8, float16, float16), (int8, int16, int16), (float16, float32, float32))
_RELU_CASTS: Final[dict[str, tuple[Signature, ...]]] = {
    "2201": _CONVERTED,
    "2002": _CONVERTED,
    "3002": tuple(s for s in _CONVERTED if s[1] is not int16),
    "3510": (*_CONVERTED, (float32, int64, int64), (int32, int64, int64)),
}
_SUM_FORMS: Final = forms(
    (Param("dst", "local", "out"), Param("src0", "local", "in"), Param("src1", "local", "in")),
    "binary_repeat",
)


def _of_relu(op: Any) -> Callable[[Form, tuple[Any, ...]], Callable[[Any, Any], Any]]:
    """The result of `op`, rounded to its dtype, no less than 0, as an element of `dst`."""

    def semantics(form: Form, args: tuple[Any, ...]) -> Callable[[Any, Any], Any]:
        dst, src = args[0].type.dtype, args[1].type.dtype
        if dst.is_float():
            return lambda a, b: narrowed(relu(op(a, b)), dst, RoundMode.CAST_NONE)
        if src.is_float():
            return lambda a, b: to_integers(relu(op(a, b)), dst, np.rint)
        return lambda a, b: between_integers(relu(op(a, b)), dst)

    return semantics


def _relu_cast(name: str, cpp: str, doc: str, op: Any) -> OpSpec:
    return mixed_row(
        "vec_vconv", name, cpp, f"{doc} in the dtype of dst, ties to even, saturated", _SUM_FORMS,
        _RELU_CASTS, _of_relu(op),
        count_only=MappingProxyType({"3510": frozenset({(int32, int64, int64)})}),
    )  # fmt: skip


ADD_RELU_CAST = _relu_cast("add_relu_cast", "AddReluCast", "dst = max(src0 + src1, 0)", np.add)
SUB_RELU_CAST = _relu_cast("sub_relu_cast", "SubReluCast", "dst = max(src0 - src1, 0)", np.subtract)
