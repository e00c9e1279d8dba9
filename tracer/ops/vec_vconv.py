"""The row of `cast`: every documented pair of dtypes with its rounding modes.

What does not fit saturates. What the documentation leaves open: infinities stay what they are among
floats; NaN becomes 0 as an integer; `CAST_NONE` rounds to nearest, ties to even.
"""

from __future__ import annotations

from collections.abc import Callable
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
from ._numeric import between_integers, narrowed, to_integers
from ._vector import Signature, forms, mixed_row
from .spec import Form, OpSpec, Param

NONE: Final = (RoundMode.CAST_NONE,)
_DIRECTED: Final = (
    RoundMode.CAST_FLOOR, RoundMode.CAST_CEIL, RoundMode.CAST_ROUND, RoundMode.CAST_TRUNC,
)  # fmt: skip
_FIVE: Final = (RoundMode.CAST_RINT, *_DIRECTED)
_SIX: Final = (*_FIVE, RoundMode.CAST_NONE)
_SEVEN: Final = (*_FIVE, RoundMode.CAST_ODD, RoundMode.CAST_NONE)

#: Architecture -> (destination, source) -> modes. int32 to float16 needs a scale set before.
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
MODES: Final = {
    "2201": _A2,
    "3510": _950,
    "3002": _A2,
    "2002": {**_OLD, (int16, float16): (RoundMode.CAST_RINT,), (int16, int32): NONE},
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


def _cast(form: Form, args: tuple[Any, ...]) -> Callable[[Any], Any]:
    dst, src, mode = args[0].type.dtype, args[1].type.dtype, args[2]
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
