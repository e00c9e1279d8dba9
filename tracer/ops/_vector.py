"""What the rows of element-wise vector functions share: overloads, dtypes and checks.

An overload has its tensors first (the destination, then the sources), then perhaps a number, then
how much: a count, or a mask (a number or bits), repeats and strides. `slots_of` says where each of
them is; checks, simulator and tests go by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, TypeAlias

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
from ._chips import lacking
from .spec import STRUCTS, Form, OpSpec, Param, register

#: Dtypes of the tensors of a call in order, the destination first.
Signature: TypeAlias = tuple[DataType, ...]

# -- sets of dtypes that many rows take -----------------------------------------------------------

HALF_FLOAT: Final = (float16, float32)
ARITH: Final = (int16, int32, float16, float32)
BITS: Final = (int16, uint16)
WIDE: Final = (
    int8, uint8, int16, uint16, int32, uint32, int64, uint64, float16, bfloat16, float32,
)  # fmt: skip


def everywhere(*dtypes: DataType, wide: Sequence[DataType] = ()) -> dict[str, Any]:
    """The same dtypes on 2201, 3002 and 2002, and what 3510 takes."""
    table = {"2201": dtypes, "3002": dtypes, "2002": dtypes}
    return table | ({"3510": tuple(wide)} if wide else {})


# -- overloads ------------------------------------------------------------------------------------

#: `isSetMask` is a template argument of the overloads with a mask, and of some with a count.
SET_MASK: Final = Param("is_set_mask", "const_bool", "set_mask", True)
#: The same where C++ has no such argument; pyasc offers it.
NO_SET_MASK: Final = Param("is_set_mask", "const_bool", "host", True)


def forms(
    operands: tuple[Param, ...], repeat: str | tuple[Param, ...], count: tuple[Param, ...] = ()
) -> tuple[Form, ...]:
    """The three overloads: a count, a mask as a number, a mask as bits.

    `repeat` is the kind of the struct with the strides, or the parameters that hold them; `count`
    are the parameters behind the count.
    """
    strides = (Param("repeat_params", repeat),) if isinstance(repeat, str) else repeat
    behind = (Param("repeat_times", "int", cpp="uint8_t"), *strides, SET_MASK)
    return (
        Form("count", (*operands, Param("count", "int", cpp="int32_t"), *count)),
        Form("mask", (*operands, Param("mask", "int", cpp="uint64_t"), *behind)),
        Form("bits", (*operands, Param("mask", "mask"), *behind)),
    )


@dataclass(frozen=True, slots=True)
class Slots:
    """Where the operands of an overload are, as positions of its parameters.

    The first `tensors` are local tensors; `inputs` are those that are read. `scalar` is the number
    and `like` the tensor whose dtype it has. `amount` is the count or mask of kind `kind`
    ("repeat" where all of each repeat is meant), `repeat` the number of repeats and `strides` the
    struct or the numbers with the strides, none of which exceeds its part of `limits`. `switch` is
    `is_set_mask` where C++ has it, `scratch` a workspace that the call fills with what it likes.
    """

    tensors: int
    inputs: tuple[int, ...]
    scalar: int | None
    like: int
    kind: str
    amount: int
    repeat: int
    strides: tuple[int, ...]
    limits: tuple[int, ...]
    switch: int | None = None
    scratch: int | None = None

    def inherits(self, args: Sequence[Any]) -> bool:
        """Whether a call goes by the mask that is set, not by one of its own."""
        return self.switch is not None and not args[self.switch]

    @property
    def passed(self) -> int:
        """How many parameters come before those that say how much."""
        return self.amount if self.repeat < 0 else min(self.amount, self.repeat)

    def strides_of(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """All strides of a call: those between blocks, then those between repeats."""
        parts = [args[k] for k in self.strides]
        if len(parts) == 1:
            # A struct of operands, or a tuple once the simulator has filled it.
            first = getattr(parts[0], "values", parts[0])
            return first if isinstance(first, tuple) else (first,)
        return tuple(parts)


#: The largest stride by the type of its parameter; those of 32 bits go into fields of 16.
_LIMITS: Final = {"uint8_t": 2**8 - 1, "uint16_t": 2**16 - 1, "int32_t": 2**16 - 1}
_SLOTS: dict[int, tuple[Form, Slots]] = {}
_AMOUNTS = {("count", "int"): "count", ("mask", "int"): "mask", ("mask", "mask"): "bits"}
_REPEATS = ("repeat_times", "repeat_time", "repeat")
_SCRATCH = "shared_tmp_buffer"


def slots_of(form: Form) -> Slots:
    """The slots of an overload, worked out once."""
    found = _SLOTS.get(id(form))
    if found is None:
        found = _SLOTS[id(form)] = (form, _slots(form))
    return found[1]


def _slots(form: Form) -> Slots:
    params = list(enumerate(form.params))
    scalar = next((k for k, p in params if p.cpp.startswith("{dtype")), None)
    like = form.params[scalar].cpp[len("{dtype") : -1] if scalar is not None else ""
    repeat = next((k for k, p in params if p.name in _REPEATS), -1)
    amount, kind = next(
        ((k, _AMOUNTS[p.name, p.kind]) for k, p in params if (p.name, p.kind) in _AMOUNTS),
        (repeat, "repeat"),
    )
    strides = tuple(k for k, p in params if p.kind in STRUCTS or "_stride" in p.name)
    limits = [most for k in strides for most in _limits(form.params[k])]
    return Slots(
        tensors=sum(p.kind == "local" for p in form.params),
        inputs=tuple(k for k, p in params if p.kind == "local" and p.role != "out"),
        scalar=scalar,
        like=int(like or 0),
        kind=kind,
        amount=amount,
        repeat=repeat,
        strides=strides,
        limits=tuple(limits),
        switch=next((k for k, p in params if p.role == "set_mask"), None),
        scratch=next((k for k, p in params if p.name == _SCRATCH), None),
    )


def _limits(param: Param) -> tuple[int, ...]:
    """The largest strides that a parameter takes."""
    if param.kind not in STRUCTS:
        return (_LIMITS[param.cpp],)
    struct = STRUCTS[param.kind]
    return struct.most or tuple(_LIMITS[cpp] for cpp in struct.ctypes if cpp in _LIMITS)


def widest(dtypes: Iterable[DataType]) -> DataType:
    """The dtype that decides how many elements a repeat has."""
    return max(dtypes, key=DataType.sizeof)


def selected(words: Sequence[int], dtype: DataType) -> list[int]:
    """The elements of a repeat that the words of a bit mask select."""
    bits = sum((int(word) % 2**64) << 64 * k for k, word in enumerate(words))
    return [k for k in range(min(rules.MASK_BITS, rules.lanes_of(dtype))) if bits >> k & 1]


# -- dtypes ---------------------------------------------------------------------------------------


def combinations(spec: OpSpec, arch: str, tensors: int) -> tuple[Signature, ...]:
    """What the tensors of a call may be on a chip."""
    if spec.signatures:
        return tuple(dict.fromkeys(row[:tensors] for row in spec.signatures.get(arch, ())))
    return tuple((dtype,) * tensors for dtype in spec.dtypes.get(arch, ()))


def takes(spec: OpSpec, form: Form, arch: str) -> tuple[Signature, ...]:
    """The same for one overload: 3510 executes some dtypes by count only.

    Overloads whose tensors are others have their own dtypes, `of_form` in the row.
    """
    own = spec.extra.get("of_form", {}).get(form.name)
    if own is not None:
        return tuple(own.get(arch, ()))
    slots = slots_of(form)
    counted = {row[: slots.tensors] for row in spec.extra.get("count_only", {}).get(arch, ())}
    return tuple(
        signature
        for signature in combinations(spec, arch, slots.tensors)
        if slots.kind == "count" or signature not in counted
    )


def dtype_table(spec: OpSpec) -> str:
    """Which dtypes each architecture takes, as text."""
    if spec.signatures:
        rows = {
            arch: "; ".join(f"{', '.join(t.name for t in s[1:])} to {s[0]}" for s in signatures)
            for arch, signatures in spec.signatures.items()
        }
    else:
        rows = {arch: ", ".join(t.name for t in types) for arch, types in spec.dtypes.items()}
    return "\n".join(f"{arch}: {text}" for arch, text in rows.items())


def check_dtypes(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """All tensors are in UB and of dtypes that the chip executes together."""
    check_tensors(spec, form, args[: slots_of(form).tensors], recorder)


def check_tensors(spec: OpSpec, form: Form, tensors: tuple[Any, ...], recorder: Recorder) -> None:
    """The same for the tensors of a call, the destination first."""
    chip = recorder.trace.chip
    key = (spec, id(form), chip.arch, *[tensor.type for tensor in tensors])
    if key not in _accepted:
        _check_tensors(spec, form, tensors, recorder)
        _accepted.add(key)


#: Rows, overloads (kept alive by the rows), architectures and types that were found to fit.
_accepted: set[tuple[Any, ...]] = set()


def _check_tensors(spec: OpSpec, form: Form, tensors: tuple[Any, ...], recorder: Recorder) -> None:
    chip = recorder.trace.chip
    if fault := lacking(spec, recorder, dtype_table):
        raise fault
    if spec.dtypes.get(chip.arch) is None:
        raise error(
            "AT0304",
            f"whether {chip.name} (architecture {chip.arch}) has {spec.name} is not known",
            recorder.site(),
            table=dtype_table(spec),
            hint="choose a chip of the table",
        )
    dst = tensors[0]
    for tensor in tensors:
        if not spec.signatures and tensor.type.dtype is not dst.type.dtype:
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
    given = tuple(tensor.type.dtype for tensor in tensors)
    if (
        spec.signatures
        or "count_only" in spec.extra
        or dst.type.dtype not in spec.dtypes[chip.arch]
    ):
        _check_signature(spec, form, given, recorder)


def _check_signature(spec: OpSpec, form: Form, given: Signature, recorder: Recorder) -> None:
    chip = recorder.trace.chip
    if given in takes(spec, form, chip.arch):
        return
    where = f"is not executed by {chip.name} (architecture {chip.arch})"
    hint = "cast the operands to a dtype of the table"
    if given in combinations(spec, chip.arch, len(given)):
        where, hint = f"is executed by {chip.name} with a count only", "give a count"
    sources = f"{', '.join(t.name for t in given[1:])} to " if spec.signatures else ""
    raise error(
        "AT0102",
        f"{spec.name} on {sources}{given[0]} {where}",
        recorder.site(),
        table=f"{spec.name} takes, by architecture:\n{dtype_table(spec)}",
        hint=hint,
    )


def check_scalar(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """A number that is known is one that the element type has."""
    slots = slots_of(form)
    value = args[slots.scalar] if slots.scalar is not None else None
    dtype = args[slots.like].type.dtype
    if value is None or isinstance(value, Value):
        return
    if fault := rules.bad_number(spec, value, dtype, recorder.site()):
        raise fault
    if dtype.is_float():
        return
    number = value.item() if isinstance(value, np.generic) else value
    if number != number or number in (float("inf"), -float("inf")) or int(number) != number:
        raise error(
            "AT0102",
            f"{spec.name} of {dtype} tensors and the number {value}",
            recorder.site(),
            hint="give an integer",
        )
    if not dtype.fits(int(number)):
        raise error(
            "AT0108",
            f"{spec.name} of {dtype} tensors and the number {value}",
            recorder.site(),
            hint=f"{dtype} holds {dtype.lo} to {dtype.hi}",
        )


# -- how much -------------------------------------------------------------------------------------


def check_amount(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """Operands begin at multiples of 32 bytes and hold what the call reaches; at most 255 repeats;
    a mask of 1 element up to those of a repeat; strides that fit their type; a source is the
    destination itself or apart from it.

    What a call selects by the mask that is set, only the simulator knows.
    """
    site = recorder.site()
    slots = slots_of(form)
    for tensor in args[: slots.tensors]:
        if tensor.offset and (fault := rules.bad_start(spec, tensor, site)):
            raise fault
    if slots.inherits(args):
        fault = rules.bad_strides(spec, known_strides(slots, args), site)
    else:
        fault = _COUNTED[slots.kind](spec, slots, args, site)
    if fault is not None:
        raise fault


def known_strides(slots: Slots, args: tuple[Any, ...]) -> list[tuple[int, int]]:
    """The strides of a call that are known while tracing, each with the most that it may be."""
    pairs = zip(slots.strides_of(args), slots.limits, strict=True)
    return [pair for pair in pairs if not isinstance(pair[0], Value)]


def _by_count(spec: OpSpec, slots: Slots, args: tuple[Any, ...], site: Site) -> KernelError | None:
    count, tensors = args[slots.amount], args[: slots.tensors]
    if isinstance(count, Value):
        return None
    if fault := rules.bad_count(spec, count, site):
        return fault
    for tensor in tensors:
        if fault := rules.too_short(spec, tensor, count, site):
            return fault
    for tensor in tensors[1:]:
        if fault := rules.overlap(spec, tensors[0], tensor, count, site):
            return fault
    return None


def _lane_dtype(slots: Slots, args: tuple[Any, ...]) -> DataType:
    return widest(tensor.dtype for tensor in args[: slots.tensors])


def _by_mask(spec: OpSpec, slots: Slots, args: tuple[Any, ...], site: Site) -> KernelError | None:
    mask = args[slots.amount]
    if isinstance(mask, Value):
        return _repeats(spec, slots, args, None, site)
    fault = rules.bad_mask(spec, mask, _lane_dtype(slots, args), site, 0)
    return fault or _repeats(spec, slots, args, range(mask), site)


def _by_bits(spec: OpSpec, slots: Slots, args: tuple[Any, ...], site: Site) -> KernelError | None:
    words = args[slots.amount]
    if any(isinstance(word, Value) for word in words):
        return _repeats(spec, slots, args, None, site)
    return _repeats(spec, slots, args, selected(words, _lane_dtype(slots, args)), site)


def _repeats(
    spec: OpSpec, slots: Slots, args: tuple[Any, ...], lanes: Sequence[int] | None, site: Site
) -> KernelError | None:
    """What is wrong with repeats and strides; `lanes` are the elements of a repeat, if known."""
    repeat, strides = args[slots.repeat], slots.strides_of(args)
    known = known_strides(slots, args)
    fault = rules.bad_strides(spec, known, site)
    if lanes:
        fault = fault or rules.bad_step(spec, strides[0], lanes, args[0].dtype, site)
    if isinstance(repeat, Value):
        return fault
    fault = fault or rules.bad_repeat(spec, repeat, site)
    if fault or not repeat or not lanes or len(known) < len(strides):
        return fault
    tensors, n = args[: slots.tensors], slots.tensors
    steps = list(zip(strides[:n], strides[n:], strict=True))
    for tensor, (block, rep) in zip(tensors, steps, strict=True):
        count = rules.reach(lanes, repeat, block, rep, tensor.dtype)
        if fault := rules.too_short(spec, tensor, count, site):
            return fault
    for src, step in zip(tensors[1:], steps[1:], strict=True):
        both = (steps[0], step)
        if fault := rules.repeat_overlap(spec, tensors[0], src, lanes, repeat, both, site):
            return fault
    for k in slots.inputs:
        both = (steps[0], steps[k])
        if fault := rules.later_overlap(spec, k, tensors[0], tensors[k], lanes, repeat, both, site):
            return fault
    return None


_COUNTED = {"count": _by_count, "mask": _by_mask, "bits": _by_bits}


# -- rows -----------------------------------------------------------------------------------------

#: What 3510 executes with a count only, of functions whose tensors have one dtype.
_COUNT_ONLY: Final = (int8, uint8, int64, uint64)


def _counted(dtypes: dict[str, tuple[DataType, ...]], tensors: int) -> dict[str, Any]:
    only = frozenset((t,) * tensors for t in dtypes.get("3510", ()) if t in _COUNT_ONLY)
    return {"count_only": {"3510": only}} if only else {}


def _checks(overloads: tuple[Form, ...]) -> tuple[Callable[..., None], ...]:
    """The checks that these overloads need."""
    number = any(slots_of(form).scalar is not None for form in overloads)
    return (check_dtypes, *((check_scalar,) if number else ()), check_amount)


def vector_row(
    family: str,
    name: str,
    cpp: str,
    doc: str,
    overloads: tuple[Form, ...],
    dtypes: dict[str, tuple[DataType, ...]],
    semantics: Callable[..., Any],
    *,
    checks: tuple[Callable[[OpSpec, Form, tuple[Any, ...], Recorder], None], ...] = (),
    **extra: Any,
) -> OpSpec:
    """Add a row whose tensors have one dtype; `semantics` maps what is read to `dst`."""
    counted = _counted(dtypes, slots_of(overloads[0]).tensors)
    return register(
        OpSpec(
            name,
            cpp,
            family,
            f"{doc} (`AscendC::{cpp}`). Only the selected elements of `dst` change.",
            overloads,
            pipe="V",
            dtypes=MappingProxyType(dtypes),
            checks=(*_checks(overloads), *checks),
            semantics=semantics,
            extra=MappingProxyType(counted | extra),
        )
    )


def mixed_row(
    family: str,
    name: str,
    cpp: str,
    doc: str,
    overloads: tuple[Form, ...],
    signatures: dict[str, tuple[Signature, ...]],
    semantics: Callable[[Form, tuple[Any, ...]], Callable[..., Any]],
    *,
    checks: tuple[Callable[[OpSpec, Form, tuple[Any, ...], Recorder], None], ...] = (),
    **extra: Any,
) -> OpSpec:
    """Add a row whose tensors differ in dtype.

    `semantics(form, args)` gives the function that maps what is read to elements of `dst`. The
    C++ template arguments are the dtypes of the destination and of the first source.
    """
    dtypes = {
        arch: tuple(dict.fromkeys(signature[0] for signature in rows))
        for arch, rows in signatures.items()
    }
    return register(
        OpSpec(
            name,
            cpp,
            family,
            f"{doc} (`AscendC::{cpp}`). Only the selected elements of `dst` change.",
            overloads,
            pipe="V",
            dtypes=MappingProxyType(dtypes),
            signatures=MappingProxyType(signatures),
            checks=(*_checks(overloads), *checks),
            semantics=semantics,
            extra=MappingProxyType({"types": (0, 1)} | extra),
        )
    )
