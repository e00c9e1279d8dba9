"""Rows that compare into bits, and that select by bits: `compare`, `compare_scalar`, `select`.

Bit k of the result, counted from the lowest bit of the first byte, belongs to element k. Results of
repeats follow one another without a gap. Where the mask of a `compare` has no effect (2201, 2002,
1001) whole repeats are compared; where it has one, only the count is taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, Final

from ..chip import REPEAT_BYTES
from ..diagnostics import KernelError, Site, error
from ..language.dtypes import (
    DataType,
    float16,
    float32,
    int8,
    int16,
    int32,
    uint8,
    uint16,
    uint32,
    uint64,
)
from ..language.enums import CMPMODE, SelMode
from ..trace import Recorder, Value
from . import rules
from ._vector import (
    HALF_FLOAT,
    SET_MASK,
    WIDE,
    Signature,
    Slots,
    check_dtypes,
    check_scalar,
    known_strides,
    slots_of,
)
from .spec import Form, OpSpec, Param, register

# -- what a call touches --------------------------------------------------------------------------


def bad_groups(spec: OpSpec, count: int, dtype: DataType, site: Site) -> KernelError | None:
    """A count that is compared fills whole repeats."""
    nbytes = count * dtype.sizeof()
    if nbytes % REPEAT_BYTES == 0:
        return rules.bad_count(spec, count, site)
    return error(
        "AT0103",
        f"{spec.name} of {count} elements of {dtype} is {nbytes} bytes, not a multiple of "
        f"{REPEAT_BYTES}",
        site,
        hint=f"compare a multiple of {rules.lanes_of(dtype)} elements; the buffers have room for "
        "them",
    )


def selects(spec: OpSpec) -> bool:
    """Whether a row reads bits; the others write them."""
    return spec.forms[0].params[1].name == "sel_mask"


def bit_bytes(spec: OpSpec, slots: Slots, args: Sequence[Any]) -> int:
    """How many bytes of bits a call reads or writes, when its numbers are known."""
    lanes = rules.lanes_of(args[0 if selects(spec) else 1].type.dtype)
    if slots.kind == "count":
        count: int = args[slots.amount]
        return (min(count, lanes) if one_group(spec, args) else count) // 8 + (count % 8 > 0)
    groups = 1 if one_group(spec, args) else args[slots.repeat]
    return int(groups * lanes // 8)


def by_register(form: Form) -> bool:
    """Whether an overload writes or reads the register of the core."""
    return form.name.startswith("register")


def one_group(spec: OpSpec, args: Sequence[Any]) -> bool:
    """Whether all repeats use the bits of the first."""
    return selects(spec) and args[4] is SelMode.VSEL_CMPMASK_SPR


def steps(slots: Slots, args: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Strides between blocks and between repeats, of all that the struct names."""
    strides = slots.strides_of(args)
    half = len(strides) // 2
    return list(zip(strides[:half], strides[half:], strict=True))


def check_amount(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """Operands begin at multiples of 32 bytes, hold what the call reaches and are apart or the
    same; counts are of whole 256 bytes where the chip wants that; at most 255 repeats; strides
    that fit their type.
    """
    site = recorder.site()
    slots = slots_of(form)
    if by_register(form):
        check_register(spec, form, args, site)
        return
    for tensor in args[: slots.tensors]:
        if tensor.offset and (fault := rules.bad_start(spec, tensor, site)):
            raise fault
    fault = _by_count(spec, slots, args, site) if slots.kind == "count" else None
    fault = fault or (_by_repeats(spec, slots, args, site) if slots.kind != "count" else None)
    if fault is not None:
        raise fault


def check_register(spec: OpSpec, form: Form, args: tuple[Any, ...], site: Site) -> None:
    """Starts, mask, repeats and strides; what is selected, only the simulator knows."""
    slots = slots_of(form)
    fault = rules.bad_strides(spec, known_strides(slots, args), site)
    for tensor in args[: slots.tensors]:
        fault = fault or rules.bad_start(spec, tensor, site)
    if slots.kind == "mask" and not isinstance(args[slots.amount], Value) and not fault:
        inherits = slots.inherits(args)
        fault = None if inherits else rules.bad_mask(spec, args[slots.amount], args[0].dtype, site)
    if slots.repeat >= 0 and not isinstance(args[slots.repeat], Value):
        fault = fault or rules.bad_repeat(spec, args[slots.repeat], site)
    if fault is not None:
        raise fault


def _bits_of(spec: OpSpec, args: tuple[Any, ...]) -> Any:
    return args[1] if selects(spec) else args[0]


def _elements(spec: OpSpec, slots: Slots, args: tuple[Any, ...]) -> list[Any]:
    """The tensors of elements, those of bits left out."""
    return [t for t in args[: slots.tensors] if t is not _bits_of(spec, args)]


def _too_few_bits(
    spec: OpSpec, slots: Slots, args: tuple[Any, ...], site: Site
) -> KernelError | None:
    bits = _bits_of(spec, args)
    size = bits.dtype.sizeof()
    return rules.too_short(spec, bits, -(-bit_bytes(spec, slots, args) // size), site)


def _by_count(spec: OpSpec, slots: Slots, args: tuple[Any, ...], site: Site) -> KernelError | None:
    count = args[slots.amount]
    if isinstance(count, Value):
        return None
    tensors = _elements(spec, slots, args)
    check = rules.bad_count if selects(spec) else None
    fault = check(spec, count, site) if check else bad_groups(spec, count, tensors[0].dtype, site)
    for tensor in tensors:
        fault = fault or rules.too_short(spec, tensor, count, site)
    if selects(spec):
        for tensor in tensors[1:]:
            fault = fault or rules.overlap(spec, tensors[0], tensor, count, site)
    return fault or _too_few_bits(spec, slots, args, site)


def _by_repeats(
    spec: OpSpec, slots: Slots, args: tuple[Any, ...], site: Site
) -> KernelError | None:
    pairs = zip(slots.strides_of(args), slots.limits, strict=True)
    known = [pair for pair in pairs if not isinstance(pair[0], Value)]
    repeat, mask = args[slots.repeat], args[slots.amount]
    tensors = _elements(spec, slots, args)
    fault = rules.bad_strides(spec, known, site)
    if slots.kind == "mask" and not isinstance(mask, Value):
        fault = fault or rules.bad_mask(spec, mask, tensors[0].dtype, site)
    if fault or isinstance(repeat, Value) or len(known) < len(slots.limits):
        return fault
    fault = rules.bad_repeat(spec, repeat, site)
    if fault or not repeat:
        return fault
    pairs_of = steps(slots, args)
    if not selects(spec):
        lanes = range(rules.lanes_of(tensors[0].dtype))
        for tensor, step in zip(tensors, pairs_of[1:], strict=False):
            reached = rules.reach(lanes, repeat, *step, tensor.dtype)
            fault = fault or rules.too_short(spec, tensor, reached, site)
    return fault or _too_few_bits(spec, slots, args, site)


def check_switch(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """These functions go by a mask of their own in any case; the switch is there for later."""
    if slots_of(form).inherits(args) and not by_register(form):
        raise error(
            "AT0108",
            f"{spec.name} with is_set_mask=False, which has no effect on it",
            recorder.site(),
            hint="give the mask, or call select without one behind set_vector_mask and "
            "set_cmp_mask",
        )


# -- compare --------------------------------------------------------------------------------------

_ALL_MODES: Final = tuple(CMPMODE)


def _forms(operands: tuple[Param, ...], option: Param, repeat: str) -> tuple[Form, ...]:
    behind = (
        Param("repeat_times", "int", cpp="uint8_t"), Param("repeat_params", repeat), SET_MASK,
    )  # fmt: skip
    return (
        Form("count", (*operands, option, Param("count", "int", cpp="uint32_t"))),
        Form("mask", (*operands, option, Param("mask", "int", cpp="uint64_t"), *behind)),
        Form("bits", (*operands, option, Param("mask", "mask"), *behind)),
    )


_MODE = Param("cmp_mode", "cmp_mode")


def modes(arch: str, dtypes: Signature) -> tuple[CMPMODE, ...]:
    """The comparisons that a chip has for these dtypes."""
    return (CMPMODE.EQ,) if arch == "2201" and dtypes[1] is int32 else _ALL_MODES


def check_mode(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The comparison is one that the chip has."""
    mode = args[slots_of(form).amount - 1]
    dtypes = tuple(t.type.dtype for t in args[:2])
    if by_register(form):
        return
    allowed = modes(recorder.trace.chip.arch, dtypes)
    if mode not in allowed:
        raise error(
            "AT0102",
            f"{spec.name} of {dtypes[1]} with {mode.name} is not executed by "
            f"{recorder.trace.chip.name}",
            recorder.site(),
            hint=f"choose {' or '.join(m.name for m in allowed)}, or cast to float32",
        )


def _compared(
    results: Sequence[DataType], tensors: int, **sources: Sequence[DataType]
) -> dict[str, tuple[Signature, ...]]:
    return {
        arch.removeprefix("dav"): tuple((to, *(t,) * tensors) for to in results for t in dtypes)
        for arch, dtypes in sources.items()
    }


def _whole(signatures: dict[str, tuple[Signature, ...]]) -> dict[str, frozenset[Signature]]:
    """Chips where the mask of a comparison has an effect: by count only."""
    return {arch: frozenset(signatures[arch]) for arch in ("3510", "3002")}


def _row(
    name: str,
    cpp: str,
    doc: str,
    forms: tuple[Form, ...],
    signatures: dict[str, tuple[Signature, ...]],
    checks: tuple[Any, ...],
    types: tuple[int, int],
    count_only: dict[str, frozenset[Signature]],
    **more: Any,
) -> OpSpec:
    return register(
        OpSpec(
            name,
            cpp,
            "vec_cmpsel",
            doc,
            forms,
            pipe="V",
            dtypes=MappingProxyType(
                {
                    arch: tuple(dict.fromkeys(s[0] for s in rows))
                    for arch, rows in signatures.items()
                }
            ),
            signatures=MappingProxyType(signatures),
            checks=(check_dtypes, check_scalar, check_switch, *checks, check_amount),
            semantics=lambda *values: values,
            extra=MappingProxyType({"types": types, "count_only": count_only} | more),
        )
    )


_DST = Param("dst", "local", "out")
_COMPARED = _compared(
    (uint8, int8), 2, dav2201=(*HALF_FLOAT, int32), dav3510=WIDE, dav3002=HALF_FLOAT,
    dav2002=HALF_FLOAT, dav1001=HALF_FLOAT,
)  # fmt: skip
_COMPARED_SCALAR = _compared(
    (uint8,), 1, dav2201=(*HALF_FLOAT, int32), dav3510=WIDE,
    dav3002=(int16, uint16, float16, int32, uint32, float32), dav2002=HALF_FLOAT,
)  # fmt: skip
#: Into the register, and by it: float16 and float32 everywhere.
_REGISTER_ARCHES: Final = ("2201", "3510", "2002")


def _halves(tensors: int) -> dict[str, tuple[Signature, ...]]:
    return dict.fromkeys(_REGISTER_ARCHES, tuple((t,) * tensors for t in HALF_FLOAT))


def _into_register(option: Param) -> tuple[Form, ...]:
    """One repeat, with a mask."""
    sources = (Param("src0", "local", "in"), Param("src1", "local", "in"), option)
    behind = (Param("repeat_params", "binary_repeat"), SET_MASK)
    return (
        Form("register_mask", (*sources, Param("mask", "int", cpp="uint64_t"), *behind)),
        Form("register_bits", (*sources, Param("mask", "mask"), *behind)),
    )


COMPARE = _row(
    "compare", "Compare",
    "Bits of dst = whether src0 compares to src1 as cmp_mode says (`AscendC::Compare`). By count, "
    "whole repeats of 256 bytes are compared; with a mask, all elements of each repeat are. "
    "Without dst, the selected elements of one repeat are compared into the 128 bits of the "
    "register that `get_cmp_mask` and `select` read; the other bits stay.",
    (
        *_forms((_DST, Param("src0", "local", "in"), Param("src1", "local", "in")), _MODE,
                "binary_repeat"),
        *_into_register(_MODE),
    ),
    _COMPARED,
    (check_mode,),
    (1, 0),
    _whole(_COMPARED),
    of_form=dict.fromkeys(("register_mask", "register_bits"), _halves(2)),
    types_of=dict.fromkeys(("register_mask", "register_bits"), (0,)),
)  # fmt: skip
COMPARE_SCALAR = _row(
    "compare_scalar", "CompareScalar",
    "Bits of dst = whether src0 compares to the number as cmp_mode says "
    "(`AscendC::CompareScalar`). By count, whole repeats of 256 bytes are compared; with a mask, "
    "all elements of each repeat are.",
    _forms((_DST, Param("src0", "local", "in"),
            Param("src1_scalar", "number", cpp="{dtype1}")), _MODE, "unary_repeat"),
    _COMPARED_SCALAR,
    (check_mode,),
    (1, 0),
    _whole(_COMPARED_SCALAR),
)  # fmt: skip

# -- select ---------------------------------------------------------------------------------------


def check_select(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The mode goes with what src1 is."""
    if form.name == "register":
        check_register_mode(spec, args[5], recorder)
    if by_register(form):
        return
    mode = args[4]
    chip = recorder.trace.chip
    if chip.arch == "1001" and mode is not SelMode.VSEL_CMPMASK_SPR:
        raise error(
            "AT0102",
            f"{spec.name} with {mode.name} is not executed by {chip.name} (architecture "
            f"{chip.arch})",
            recorder.site(),
            hint="choose VSEL_CMPMASK_SPR",
        )
    scalar = slots_of(form).scalar is not None
    if scalar is not (mode is SelMode.VSEL_TENSOR_SCALAR_MODE):
        raise error(
            "AT0108",
            f"{spec.name} with {mode.name} and a {'number' if scalar else 'tensor'} as src1",
            recorder.site(),
            hint="VSEL_TENSOR_SCALAR_MODE goes with a number, the others with a tensor",
        )


def check_register_mode(spec: OpSpec, mode: SelMode, recorder: Recorder) -> None:
    """The register holds bits or the address of bits; a number goes with `sel_mask`."""
    if mode is not SelMode.VSEL_TENSOR_SCALAR_MODE:
        return
    raise error(
        "AT0108",
        f"{spec.name} with {mode.name} and two tensors by the register",
        recorder.site(),
        hint="VSEL_TENSOR_SCALAR_MODE goes with sel_mask and src0, the number is in the register",
    )


_SELECT = (_DST, Param("sel_mask", "local", "in"), Param("src0", "local", "in"))
_SEL_MODE = Param("sel_mode", "sel_mode")
_BY_TENSOR = _forms((*_SELECT, Param("src1", "local", "in")), _SEL_MODE, "binary_repeat")
_BY_NUMBER = tuple(
    Form(f"number_{form.name}", form.params)
    for form in _forms(
        (*_SELECT, Param("src1", "number", cpp="{dtype}")), _SEL_MODE, "binary_repeat"
    )
)
_REPEATED: Final = (
    Param("repeat_times", "int", cpp="uint8_t"), Param("repeat_params", "binary_repeat"),
)  # fmt: skip
#: A selection by the address in the register, as it is once the address has been read.
BY_ADDRESS: Final = Form("register_address", (*_SELECT, Param("src1", "local", "in"), *_REPEATED))
_MASKS: Final = (uint8, uint16, uint32, uint64)
_SELECTED: dict[str, tuple[Signature, ...]] = {
    arch: tuple((t, m, t, t) for t in dtypes for m in _MASKS)
    for arch, dtypes in {
        "2201": HALF_FLOAT, "3510": WIDE, "3002": HALF_FLOAT, "2002": HALF_FLOAT,
        "1001": HALF_FLOAT,
    }.items()
}  # fmt: skip
SELECT = _row(
    "select", "Select",
    "dst = src0 where the bit of sel_mask is 1, else src1 (`AscendC::Select`). "
    "`VSEL_CMPMASK_SPR` uses the bits of the first repeat in all repeats, the other modes go on "
    "reading. The modes with a mask that goes on need 8 KB of UB for themselves on 2201 and 2002. "
    "Without a mask, the elements are those of `set_vector_mask`: two sources and the bits of the "
    "register (`compare`, `set_cmp_mask`), or sel_mask and the number in the register. With "
    "`VSEL_TENSOR_TENSOR_MODE` the register holds the address of the bits (`get_phy_addr`): the "
    "first four bytes of it count, on 3510 eight.",
    (
        *_BY_TENSOR, *_BY_NUMBER,
        Form("register_number", (*_SELECT, *_REPEATED)),
        Form(
            "register",
            (
                _DST, Param("src0", "local", "in"), Param("src1", "local", "in"), *_REPEATED,
                Param("sel_mode", "sel_mode", "template"),
            ),
        ),
    ),
    _SELECTED,
    (check_select,),
    (0, 1),
    {"3510": frozenset(s for s in _SELECTED["3510"] if s[0].bits in (8, 64))},
    of_form={
        "register": _halves(3),
        "register_number": dict.fromkeys(
            _REGISTER_ARCHES, tuple((t, m, t) for t in HALF_FLOAT for m in _MASKS)
        ),
    },
    types_of={"register": (0,)},
    typed={"register": (0,)},
)  # fmt: skip
