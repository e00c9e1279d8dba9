"""Rows of the two-operand vector functions: `add`, `sub`, `mul`, ...

Each comes in three forms: count (the first `count` elements), mask + repeat (`mask` elements of
each 256-byte repeat) and bit mask (two 64-bit words choose the elements of a repeat).
"""

from __future__ import annotations

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np

from ..diagnostics import error
from ..language.dtypes import (
    DataType,
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
    uint64,
)
from ..language.enums import MEMORY
from ..trace import Recorder, Value, describe
from .spec import Form, OpSpec, Param, register

REPEAT_BYTES = 256
MAX_REPEAT = 255

_OPERANDS = (
    Param("dst", "local", "out"),
    Param("src0", "local", "in"),
    Param("src1", "local", "in"),
)
_SET_MASK = Param("is_set_mask", "const_bool", "set_mask", True)
_REPEAT = (
    Param("repeat_times", "int", cpp="uint8_t"),
    Param("repeat_params", "binary_repeat"),
    _SET_MASK,
)
FORMS = (
    Form("count", (*_OPERANDS, Param("count", "int", cpp="int32_t"), _SET_MASK)),
    Form("mask", (*_OPERANDS, Param("mask", "int", cpp="uint64_t"), *_REPEAT)),
    Form("bits", (*_OPERANDS, Param("mask", "mask"), *_REPEAT)),
)


def dtype_table(spec: OpSpec) -> str:
    """Which dtypes each architecture takes, as text."""
    return "\n".join(
        f"{arch}: {', '.join(t.name for t in types)}" for arch, types in spec.dtypes.items()
    )


def check_dtypes(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """All operands in UB and of one dtype that the chip executes."""
    dst = args[0]
    chip = recorder.trace.chip
    dtype: DataType = dst.type.dtype
    allowed = spec.dtypes.get(chip.arch)
    if allowed is None:
        raise error(
            "AT0304",
            f"whether {chip.name} (architecture {chip.arch}) has {spec.name} is not known",
            recorder.site(),
            table=dtype_table(spec),
            hint="choose a chip of the table",
        )
    for tensor in args[:3]:
        if tensor.type.dtype is not dtype:
            raise error(
                "AT0102",
                f"{spec.name} on {describe(dst)} and {describe(tensor)}: the dtypes differ",
                recorder.site(),
                hint="all operands have one dtype",
            )
        if MEMORY[tensor.type.position] != "UB":
            raise error(
                "AT0116",
                f"{spec.name} does not reach {describe(tensor)}",
                recorder.site(),
                hint="vector operands live at VECIN, VECCALC or VECOUT",
            )
    if dtype not in allowed:
        raise error(
            "AT0102",
            f"{spec.name} on {dtype} is not executed by {chip.name} (architecture {chip.arch})",
            recorder.site(),
            table=f"{spec.name} takes, by architecture:\n{dtype_table(spec)}",
            hint="cast the operands to a dtype of the table",
        )


def check_amount(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """Constant counts, masks and repeats within the limits, operands large enough."""
    if form.name == "count":
        count = args[3]
        if isinstance(count, Value):
            return
        if count < 0:
            raise error(
                "AT0108", f"{spec.name} of {count} elements", recorder.site(), hint="from 0 up"
            )
        for tensor in args[:3]:
            if type(tensor.size) is int and count > tensor.size:
                raise error(
                    "AT0201",
                    f"{spec.name} of {count} elements, but {describe(tensor)} has {tensor.size}",
                    recorder.site(),
                    hint="make the count smaller or the buffer larger",
                )
        return
    mask, repeat = args[3], args[4]
    if not isinstance(repeat, Value) and not 0 <= repeat <= MAX_REPEAT:
        raise error(
            "AT0108",
            f"{spec.name} with {repeat} repeats",
            recorder.site(),
            hint=f"repeat_times is 0 to {MAX_REPEAT}: split the call",
        )
    lanes = REPEAT_BYTES // args[0].dtype.sizeof()
    if form.name == "mask" and not isinstance(mask, Value) and not 1 <= mask <= lanes:
        raise error(
            "AT0108",
            f"{spec.name} with a mask of {mask} elements",
            recorder.site(),
            hint=f"one repeat holds 1 to {lanes} elements of {args[0].dtype}",
        )


def _row(
    name: str,
    cpp: str,
    doc: str,
    semantics: Callable[[Any, Any], Any],
    dtypes: dict[str, tuple[DataType, ...]],
) -> OpSpec:
    return register(
        OpSpec(
            name,
            cpp,
            "vec_binary",
            f"{doc} (`AscendC::{cpp}`). Only the selected elements of `dst` change.",
            FORMS,
            pipe="V",
            dtypes=MappingProxyType(dtypes),
            checks=(check_dtypes, check_amount),
            semantics=semantics,
        )
    )


_HF = (float16, float32)
_ARITH = (int16, int32, float16, float32)
_BITS = (int16, uint16)
_WIDE = (int8, uint8, int16, uint16, int32, uint32, int64, uint64, float16, bfloat16, float32)


def _everywhere(*dtypes: DataType, wide: tuple[DataType, ...] = ()) -> dict[str, Any]:
    """The same dtypes on 2201, 3002 and 2002, and what 3510 takes."""
    table = {"2201": dtypes, "3002": dtypes, "2002": dtypes}
    return table | ({"3510": wide} if wide else {})


ADD = _row(
    "add", "Add", "dst = src0 + src1", np.add,
    {**_everywhere(*_ARITH, wide=_WIDE), "1001": (float16, int32, float32)},
)  # fmt: skip


def _relu(op: Any) -> Callable[[Any, Any], Any]:
    def semantics(a: Any, b: Any) -> Any:
        result = op(a, b)
        return np.maximum(result, result.dtype.type(0))

    return semantics


_MUL_WIDE = tuple(t for t in _WIDE if t.bits > 8)
_MINMAX = {
    **_everywhere(*_ARITH, wide=_WIDE),
    "1001": (float16, int32, float32),
}
_RELU = {
    "2201": (int16, float16, float32),
    "3002": _HF,
    "2002": (int16, float16, float32),
    "3510": (int16, float16, float32, int64, uint64),
}
_BITWISE = {
    **_everywhere(*_BITS, wide=tuple(t for t in _WIDE if t.is_int())),
    "1001": _BITS,
}

SUB = _row("sub", "Sub", "dst = src0 - src1", np.subtract, dict(ADD.dtypes))
MUL = _row(
    "mul", "Mul", "dst = src0 * src1", np.multiply,
    {**_everywhere(*_ARITH, wide=_MUL_WIDE), "1001": (float16, int32, float32)},
)  # fmt: skip
DIV = _row(
    "div", "Div", "dst = src0 / src1", np.divide,
    {**_everywhere(*_HF), "1001": _HF},
)  # fmt: skip
MAX = _row("max", "Max", "dst = the larger of src0 and src1", np.maximum, _MINMAX)
MIN = _row("min", "Min", "dst = the smaller of src0 and src1", np.minimum, _MINMAX)
BITWISE_AND = _row("bitwise_and", "And", "dst = src0 & src1", np.bitwise_and, _BITWISE)
BITWISE_OR = _row("bitwise_or", "Or", "dst = src0 | src1", np.bitwise_or, _BITWISE)
ADD_RELU = _row("add_relu", "AddRelu", "dst = max(src0 + src1, 0)", _relu(np.add), _RELU)
SUB_RELU = _row("sub_relu", "SubRelu", "dst = max(src0 - src1, 0)", _relu(np.subtract), _RELU)
