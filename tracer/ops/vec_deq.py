"""Rows of dequantisation: the scale of a core, and what multiplies by it.

`set_deq_scale` sets a scale for int32 to float16 (`cast`, `cast_deq`, `add_deq_relu`), or a scale,
an offset and a sign for int16 to 8 bits (`cast_deq` with `is_vec_deq=False`), or sixteen of these
in UB (`is_vec_deq=True`). A call needs the form that is made for it.

What the documentation leaves open: the chip drops all but ten bits of the mantissa of a scale for 8
bits, the product and the offset are added exactly and rounded once, ties to even; half a block of
`dst` is written, the other half stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, Final

from ..chip import BLOCK_BYTES
from ..diagnostics import KernelError, Site, error
from ..language.dtypes import float16, int8, int16, int32, uint8, uint64
from ..language.enums import MEMORY
from ..language.structs import VdeqInfo
from ..trace import Recorder, Value, describe
from . import rules, vec_vconv
from ._numeric import dequantised, relu
from ._vector import (
    NO_SET_MASK,
    SET_MASK,
    Signature,
    Slots,
    check_amount,
    check_dtypes,
    forms,
    known_strides,
    mixed_row,
    selected,
    slots_of,
)
from .spec import Form, OpSpec, Param, register

#: The offset of a scale for 8 bits has 9 bits.
OFFSETS: Final = range(-256, 256)
#: Elements of a block of int16, each with a scale of its own.
GROUP: Final = VdeqInfo.LENGTH

# -- the scale ------------------------------------------------------------------------------------


def scale_of(op: Any, arch: str) -> str | None:
    """The form of `set_deq_scale` that a call needs, None for one that needs no scale."""
    if op.spec.family == "vec_deq":
        if op.args[0].type.dtype is float16:
            return "scale"
        vector = op.args[_at(op.form, "is_vec_deq")]
        return "vector" if vector else "number"
    if op.spec is vec_vconv.CAST:
        dtypes = tuple(tensor.type.dtype for tensor in op.args[:2])
        return "scale" if vec_vconv.scaled(arch, dtypes) else None
    return None


def _at(form: Form, name: str) -> int:
    return next(k for k, p in enumerate(form.params) if p.name == name)


def bad_offset(spec: OpSpec, offset: Any, site: Site) -> KernelError | None:
    """An offset has nine bits."""
    if isinstance(offset, Value) or offset in OFFSETS:
        return None
    return error(
        "AT0108",
        f"{spec.name} with the offset {offset}",
        site,
        hint=f"an offset is {OFFSETS[0]} to {OFFSETS[-1]}",
    )


def check_scale(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """Offsets in range; sixteen of everything, and room for them in UB."""
    site = recorder.site()
    fault = None
    if form.name == "number":
        fault = bad_offset(spec, args[1], site)
    if form.name == "vector":
        tensor, (scales, offsets, signs) = args[0], args[1].values
        for offset in offsets:
            fault = fault or bad_offset(spec, offset, site)
        if {len(scales), len(offsets), len(signs)} != {GROUP}:
            fault = error(
                "AT0108",
                f"{spec.name} with {len(scales)} scales, {len(offsets)} offsets and "
                f"{len(signs)} signs",
                site,
                hint=f"asc.VdeqInfo takes lists of {GROUP}",
            )
        if tensor.type.dtype is not uint64 or MEMORY[tensor.type.position] != "UB":
            fault = error(
                "AT0102",
                f"{spec.name} with {describe(tensor)}",
                site,
                hint="the scales go to a LocalTensor of uint64 at VECIN, VECCALC or VECOUT",
            )
        fault = (
            fault
            or rules.bad_start(spec, tensor, site)
            or rules.too_short(spec, tensor, GROUP, site)
        )
    if fault is not None:
        raise fault


def check_chip(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The chip has a scale."""
    chip = recorder.trace.chip
    if chip.arch not in ARCHES:
        raise error(
            "AT0304",
            f"whether {chip.name} (architecture {chip.arch}) has {spec.name} is not known",
            recorder.site(),
            hint=f"it is documented for architectures {', '.join(ARCHES)}",
        )


ARCHES: Final = ("2201", "3510", "2002")
SET_DEQ_SCALE = register(
    OpSpec(
        "set_deq_scale",
        "SetDeqScale",
        "set_deq_scale",
        "Set the scale of the calls behind it (`AscendC::SetDeqScale`): a float16 for int32 to "
        "float16; a float32 with an offset of 9 bits and whether the result has a sign, for int16 "
        "to 8 bits; or sixteen of these, which go to the 128 bytes of `vdeq`.",
        (
            Form("scale", (Param("scale", "number", cpp="half"),)),
            Form(
                "number",
                (
                    Param("scale", "number", cpp="float"), Param("offset", "int", cpp="int16_t"),
                    Param("sign_mode", "const_bool"),
                ),
            ),
            Form("vector", (Param("vdeq", "local", "out"), Param("vdeq_info", "vdeq_info"))),
        ),
        checks=(check_chip, check_scale),
    )
)  # fmt: skip

# -- what multiplies by it ------------------------------------------------------------------------


def narrow(args: Sequence[Any]) -> bool:
    """Whether a call gives 8 bits, half a block for a block of `src`."""
    return bool(args[0].type.dtype.bits == 8)


def check_cast(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """Operands begin at multiples of 32 bytes, hold what the call reaches and are apart; at most
    255 repeats; a mask of 1 element up to those of a repeat; strides that fit their type.
    """
    if not narrow(args):
        check_amount(spec, form, args, recorder)
        return
    site = recorder.site()
    slots = slots_of(form)
    fault = rules.bad_strides(spec, known_strides(slots, args), site)
    for tensor in args[:2]:
        fault = fault or rules.bad_start(spec, tensor, site)
    if not fault and not slots.inherits(args):
        fault = _narrowed_amounts(spec, slots, args, site)
    if fault is not None:
        raise fault


def reached(slots: Slots, args: Sequence[Any], lanes: Sequence[int], half: bool) -> tuple[int, int]:
    """The bytes of `dst` and the elements of `src` that a call to 8 bits reaches."""
    behind = BLOCK_BYTES // 2 if half else 0
    if slots.kind == "count":
        count = args[slots.amount]
        last = count - 1
        return last // GROUP * BLOCK_BYTES + behind + last % GROUP + 1, count
    blocks = slots.strides_of(args)
    repeat = args[slots.repeat]
    last = max(lane // GROUP * blocks[0] * BLOCK_BYTES + lane % GROUP for lane in lanes)
    written = (repeat - 1) * blocks[2] * BLOCK_BYTES + last + behind + 1
    return written, rules.reach(lanes, repeat, blocks[1], blocks[3], args[1].type.dtype)


def _narrowed_amounts(
    spec: OpSpec, slots: Slots, args: tuple[Any, ...], site: Site
) -> KernelError | None:
    dst, src = args[:2]
    amount = args[slots.amount]
    numbers = [amount, *([] if slots.kind == "count" else [args[slots.repeat]])]
    numbers += list(slots.strides_of(args)) if slots.strides else []
    flat = [n for number in numbers for n in (number if isinstance(number, tuple) else (number,))]
    if any(isinstance(number, Value) for number in flat):
        return None
    lanes: Sequence[int] = ()
    if slots.kind == "count":
        fault = rules.bad_count(spec, amount, site)
    else:
        fault = rules.bad_repeat(spec, args[slots.repeat], site)
        if slots.kind == "mask":
            fault = rules.bad_mask(spec, amount, src.type.dtype, site) or fault
        lanes = selected(amount, src.type.dtype) if slots.kind == "bits" else range(amount)
    if fault or not (amount if slots.kind == "count" else lanes and args[slots.repeat]):
        return fault
    half = args[-1]
    written, read = reached(slots, args, lanes, half)
    fault = rules.too_short(spec, dst, written, site) or rules.too_short(spec, src, read, site)
    if fault or dst.base is not src.base or dst.offset is None or src.offset is None:
        return fault
    shared = min(dst.offset + written, src.offset + 2 * read) - max(dst.offset, src.offset)
    return rules.partial_overlap(spec, dst, src, shared, site) if shared > 0 else None


_PAIRS: Final[tuple[Signature, ...]] = ((float16, int32), (int8, int16), (uint8, int16))
_SOURCE: Final = (Param("dst", "local", "out"), Param("src", "local", "in"))
_OPTIONS: Final = (
    Param("is_vec_deq", "const_bool", "template", True),
    Param("half_block", "const_bool", "template", True),
)
_REPEATS: Final = (
    Param("repeat_times", "int", cpp="uint8_t"), Param("repeat_params", "unary_repeat"), SET_MASK,
)  # fmt: skip
_CASTS: Final = {"2201": _PAIRS, "3510": _PAIRS, "2002": _PAIRS[1:]}
CAST_DEQ = register(
    OpSpec(
        "cast_deq",
        "CastDeq",
        "vec_deq",
        "dst = src times the scale that is set, plus the offset for 8 bits, ties to even and "
        "saturated (`AscendC::CastDeq`). For 8 bits, the results of a block of src fill half a "
        "block of dst: with half_block its second half, else its first; with is_vec_deq each of "
        "the 16 elements of a block has a scale of its own. Only the selected elements change.",
        (
            Form("count", (*_SOURCE, Param("count", "int", cpp="uint32_t"), *_OPTIONS)),
            Form("mask", (*_SOURCE, Param("mask", "int", cpp="int32_t"), *_REPEATS, *_OPTIONS)),
            Form("bits", (*_SOURCE, Param("mask", "mask"), *_REPEATS, *_OPTIONS)),
        ),
        pipe="V",
        dtypes=MappingProxyType(
            {arch: tuple(pair[0] for pair in pairs) for arch, pairs in _CASTS.items()}
        ),
        signatures=MappingProxyType(_CASTS),
        checks=(check_dtypes, check_cast),
        semantics=lambda form, args: dequantised,
        extra=MappingProxyType(
            {"types": (0, 1), "typed": dict.fromkeys(("count", "mask", "bits"), (0, 1))}
        ),
    )
)


def _add_deq_relu(form: Form, args: tuple[Any, ...]) -> Any:
    return lambda src0, src1, scale: relu(dequantised(src0 + src1, scale))


ADD_DEQ_RELU = mixed_row(
    "vec_deq", "add_deq_relu", "AddDeqRelu",
    "dst = max((src0 + src1) * the scale that is set, 0), ties to even, saturated; the sum wraps, "
    "and on 2201 the sources are the workspace and hold garbage afterwards",
    forms(
        (
            Param("dst", "local", "out"), Param("src0", "local", "in"),
            Param("src1", "local", "in"),
        ),
        "binary_repeat", (NO_SET_MASK,),
    ),
    dict.fromkeys(ARCHES, ((float16, int32, int32),)),
    _add_deq_relu,
)  # fmt: skip
