"""Rows of the vector mask: its mode, its value, and back to all elements.

Calls with `is_set_mask=False` go by the mask that is set. In normal mode it selects elements of
each repeat, in counter mode it is the number of elements of the whole call, which then takes as
many repeats as it needs. A call by count leaves normal mode with all elements selected, a call with
a mask of its own that mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ..diagnostics import KernelError, Site, error
from ..language.dtypes import DataType
from ..language.enums import MaskMode
from ..trace import Recorder, Value
from . import rules
from ._vector import Slots
from .spec import Form, OpSpec, Param, register

#: A word of the register with all elements selected.
FULL: Final = 2**64 - 1


def words_of(form: Form, args: Sequence[Any]) -> tuple[tuple[int, int], bool]:
    """The low and the high word that a call of `set_vector_mask` sets, and whether they count."""
    mode = args[-1]
    counted = mode is MaskMode.COUNTER
    if form.name == "bits":
        return (args[1] % 2**64, args[0] % 2**64), counted
    return ((args[0], 0) if counted else first_lanes(args[0], args[1])), counted


def first_lanes(count: int, dtype: DataType) -> tuple[int, int]:
    """The words that select the first elements of a repeat."""
    if count == 64:
        return FULL, 0
    if count == rules.lanes_of(dtype):
        return FULL, FULL
    bits = (1 << count) - 1
    return bits % 2**64, bits >> 64


def own_words(slots: Slots, mask: Any, dtype: DataType) -> tuple[int, int]:
    """The words that a call with a mask of its own sets."""
    if slots.kind == "mask":
        return first_lanes(mask, dtype)
    low, high = (*(int(word) % 2**64 for word in mask), 0)[:2]
    return low, high


def bad_mask(spec: OpSpec, form: Form, args: Sequence[Any], site: Site) -> KernelError | None:
    """The mask is one that elements of the dtype have in this mode."""
    *numbers, dtype, mode = args
    if any(isinstance(number, Value) for number in numbers):
        return None
    counted = mode is MaskMode.COUNTER
    lanes = rules.lanes_of(dtype)
    if not counted and dtype.sizeof() == 1:
        text, hint = f"in normal mode for {dtype}", "elements have 16, 32 or 64 bits"
    elif form.name == "length" and not 0 <= numbers[0] < (2**31 if counted else lanes + 1):
        text = f"of {numbers[0]} elements"
        hint = "count from 0 up" if counted else f"one repeat holds 0 to {lanes} of {dtype}"
    elif form.name == "bits" and counted and numbers[0]:
        text, hint = f"with the high word {numbers[0]} in counter mode", "the low word counts"
    elif form.name == "bits" and not counted and lanes < 128 and numbers[0]:
        text = f"with the high word {numbers[0]} for {dtype}"
        hint = f"one repeat holds {lanes} elements: the high word is 0"
    else:
        return None
    return error("AT0108", f"{spec.name} {text}", site, hint=hint)


def check_mask(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The mask is one that elements of the dtype have in this mode."""
    if fault := bad_mask(spec, form, args, recorder.site()):
        raise fault


def _row(name: str, cpp: str, doc: str, forms: tuple[Form, ...], *checks: Any) -> OpSpec:
    return register(OpSpec(name, cpp, "vec_mask", doc, forms, checks=checks))


_NONE: Final = (Form("call", ()),)
_KINDS: Final = (
    Param("dtype", "dtype", "template"),
    Param("mode", "mask_mode", "template", MaskMode.NORMAL),
)

SET_MASK_NORM = _row(
    "set_mask_norm", "SetMaskNorm",
    "The mask selects elements of each repeat from now on (`AscendC::SetMaskNorm`). A kernel "
    "begins like this.",
    _NONE,
)  # fmt: skip
SET_MASK_COUNT = _row(
    "set_mask_count", "SetMaskCount",
    "The mask counts the elements of a whole call from now on (`AscendC::SetMaskCount`). Calls "
    "with a mask take as many repeats as they need and ignore `repeat_times`; a mask of their own "
    "is `[count, 0]`. Go back by `set_mask_norm`.",
    _NONE,
)  # fmt: skip
SET_VECTOR_MASK = _row(
    "set_vector_mask", "SetVectorMask",
    "Set the mask that calls with `is_set_mask=False` go by (`AscendC::SetVectorMask`). In normal "
    "mode: the first `length` elements of a repeat of `dtype`, or the bits of two words; in "
    "counter mode: how many elements. The mode is set before, by `set_mask_norm` or "
    "`set_mask_count`.",
    (
        Form("length", (Param("length", "int", cpp="int32_t"), *_KINDS)),
        Form(
            "bits",
            (
                Param("mask_high", "int", cpp="uint64_t"), Param("mask_low", "int", cpp="uint64_t"),
                *_KINDS,
            ),
        ),
    ),
    check_mask,
)  # fmt: skip
RESET_MASK = _row(
    "reset_mask", "ResetMask",
    "Let the mask select all elements of a repeat (`AscendC::ResetMask`). The mode stays.",
    _NONE,
)  # fmt: skip
