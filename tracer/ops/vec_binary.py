"""Rows of the two-operand vector functions: `add`, `sub`, `mul`, ...

Each comes in three forms: count (the first `count` elements), mask + repeat (`mask` elements of
each 256-byte repeat) and bit mask (two 64-bit words choose the elements of a repeat).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from ..diagnostics import KernelError, Site, error
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
from . import rules
from .spec import Form, OpSpec, Param, register

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
    """Starts, counts, masks, repeats and strides, operands long enough, no partial overlap."""
    site = recorder.site()
    dst, src0, src1 = args[:3]
    for tensor in (dst, src0, src1):
        if tensor.offset and (fault := rules.bad_start(spec, tensor, site)):
            raise fault
    fault = _COUNTED[form.name](spec, args, site)
    if fault is not None:
        raise fault


def _by_count(spec: OpSpec, args: tuple[Any, ...], site: Site) -> KernelError | None:
    dst, src0, src1, count = args[:4]
    if isinstance(count, Value):
        return None
    nbytes = count * dst.dtype.sizeof()
    return (
        rules.bad_count(spec, count, site)
        or rules.too_short(spec, dst, count, site)
        or rules.too_short(spec, src0, count, site)
        or rules.too_short(spec, src1, count, site)
        or rules.overlap(spec, dst, src0, nbytes, site)
        or rules.overlap(spec, dst, src1, nbytes, site)
    )


def _by_mask(spec: OpSpec, args: tuple[Any, ...], site: Site) -> KernelError | None:
    mask = args[3]
    if isinstance(mask, Value):
        return _repeats(spec, args, None, site)
    fault = rules.bad_mask(spec, mask, args[0].dtype, site)
    return fault or _repeats(spec, args, range(mask), site)


def _by_bits(spec: OpSpec, args: tuple[Any, ...], site: Site) -> KernelError | None:
    words = args[3]
    if any(isinstance(word, Value) for word in words):
        return _repeats(spec, args, None, site)
    return _repeats(spec, args, selected(words, args[0].dtype), site)


def selected(words: Sequence[int], dtype: DataType) -> list[int]:
    """The elements of a repeat that the words of a bit mask select."""
    bits = sum((int(word) % 2**64) << 64 * k for k, word in enumerate(words))
    return [k for k in range(min(rules.MASK_BITS, rules.lanes_of(dtype))) if bits >> k & 1]


def _repeats(
    spec: OpSpec, args: tuple[Any, ...], lanes: Sequence[int] | None, site: Site
) -> KernelError | None:
    """What is wrong with repeats and strides; `lanes` are the elements of a repeat, if known."""
    repeat, strides = args[4], args[5].values
    known = [stride for stride in strides if not isinstance(stride, Value)]
    fault = rules.bad_strides(spec, known, site)
    if isinstance(repeat, Value):
        return fault
    fault = fault or rules.bad_repeat(spec, repeat, site)
    if fault or not repeat or not lanes or len(known) < len(strides):
        return fault
    dst, dtype = args[0], args[0].dtype
    pairs = list(zip(strides[:3], strides[3:], strict=True))
    for tensor, (block, rep) in zip(args[:3], pairs, strict=True):
        count = rules.reach(lanes, repeat, block, rep, dtype)
        if fault := rules.too_short(spec, tensor, count, site):
            return fault
    for src, pair in zip(args[1:3], pairs[1:], strict=True):
        if fault := rules.repeat_overlap(spec, dst, src, lanes, repeat, (pairs[0], pair), site):
            return fault
    return None


_COUNTED = {"count": _by_count, "mask": _by_mask, "bits": _by_bits}


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
