"""Rows of the reductions of all that is given to one result: `reduce_max`, `reduce_min`, ...

They work repeat by repeat, in a workspace, `shared_tmp_buffer`, whose size `shared_tmp_size` tells;
what is in it afterwards is garbage. It may be `src` itself, or hold `dst`.

A sum by count adds the trees of the repeats one after another on 2201; in the other cases, and on
the other chips, the sums of the repeats are added as a tree too. On 3510 up to four repeats by
count are first added element by element, the third to the fourth where there are four.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, Final

from ..chip import BLOCK_BYTES
from ..diagnostics import KernelError, Site, error
from ..language.dtypes import DataType, int32, int64, uint32, uint64
from ..trace import Recorder, Value, current, describe
from . import rules
from ._vector import Slots, check_dtypes, known_strides, selected, slots_of
from .spec import Form, OpFunction, OpSpec, Param, register
from .vec_reduce import EXTREMES, FLOATS

_TENSORS: Final = (
    Param("dst", "local", "out"), Param("src", "local", "in"),
    Param("shared_tmp_buffer", "local", "out"),
)  # fmt: skip
_INDEX: Final = Param("cal_index", "const_bool", default=False)
#: The largest index that half the bits of a word hold.
MOST_16: Final = 2**16 - 1


def sums(spec: OpSpec) -> bool:
    """Whether a row adds; the others look for the largest or the smallest."""
    return bool(spec.extra["reduces"] == "sum")


def with_index(form: Form, args: Sequence[Any]) -> bool:
    """Whether a call gives the index too."""
    return bool(form.params[-1].name == "cal_index" and args[-1])


def repeats_of(form: Form, args: Sequence[Any], dtype: DataType) -> int:
    """How many repeats a call has, as its workspace counts them."""
    slots = slots_of(form)
    if slots.kind != "count":
        return int(args[slots.repeat])
    return max(1, int(args[slots.amount]) // rules.lanes_of(dtype))


def scratch_of(spec: OpSpec, form: Form, args: Sequence[Any], arch: str) -> int:
    """The elements that a call needs in its workspace on a chip, when its numbers are known.

    Never more than `src` has, which may be the workspace by documentation.
    """
    dtype = args[1].type.dtype
    if sums(spec):
        unused = slots_of(form).kind == "count" and (arch == "2201" or dtype.bits == 64)
    else:
        unused = arch == "3510"
    if unused:
        return 0
    size = _workspace(spec, dtype, repeats_of(form, args, dtype), with_index(form, args))
    slots = slots_of(form)
    count = reached(form, args, lanes_of(slots, args, dtype))
    return min(size, _blocks(count, dtype))


def _blocks(elements: int, dtype: DataType) -> int:
    """Rounded up to whole blocks."""
    block = BLOCK_BYTES // dtype.sizeof()
    return -(-elements // block) * block


def _workspace(spec: OpSpec, dtype: DataType, repeats: int, index: bool) -> int:
    """The documented size, in elements."""
    whole = rules.lanes_of(dtype)
    if sums(spec):
        return _blocks(repeats, dtype)
    # Each round leaves value and index of each repeat; only an index needs all of them.
    left = 2 * repeats
    size = _blocks(left, dtype)
    if index:
        left = 2 * -(-left // whole)
        size += _blocks(left, dtype)
        if left > 2:
            size += _blocks(2 * -(-left // whole), dtype)
    return size


def shared_tmp_size(
    function: OpFunction,
    dtype: DataType,
    *,
    count: int | None = None,
    repeat_time: int | None = None,
    cal_index: bool = False,
) -> int:
    """The elements of `dtype` that a `shared_tmp_buffer` needs, on any chip.

    `function` is `asc.reduce_max`, `asc.reduce_min` or `asc.reduce_sum`; give the `count` of the
    call or its `repeat_time`, as constants. Raises `KernelError` AT0108 for anything else.
    """
    given = repeat_time if count is None else count
    known = isinstance(given, int) and given >= 0 and None in (count, repeat_time)
    spec = getattr(function, "spec", None)
    if spec not in (REDUCE_MAX, REDUCE_MIN, REDUCE_SUM) or not known:
        raise error(
            "AT0108",
            f"shared_tmp_size of {function!r} with count={_shown(count)} and "
            f"repeat_time={_shown(repeat_time)}",
            current("shared_tmp_size").site() if _tracing() else None,
            hint="give asc.reduce_max, asc.reduce_min or asc.reduce_sum, a dtype, and one of "
            "count and repeat_time as a constant from 0 up",
        )
    assert isinstance(given, int)
    repeats = given if count is None else max(1, given // rules.lanes_of(dtype))
    return max(_workspace(spec, dtype, repeats, cal_index), BLOCK_BYTES // dtype.sizeof())


def _shown(value: Any) -> str:
    return describe(value) if isinstance(value, Value) else repr(value)


def _tracing() -> bool:
    try:
        current("shared_tmp_size")
    except KernelError:
        return False
    return True


# -- checks ---------------------------------------------------------------------------------------


def bad_index(
    spec: OpSpec, form: Form, args: Sequence[Any], last: int, site: Site
) -> KernelError | None:
    """All indices up to `last` fit the elements that they are stored in."""
    dtype = args[1].type.dtype
    if not with_index(form, args) or dtype.sizeof() != 2 or last <= MOST_16:
        return None
    return error(
        "AT0108",
        f"{spec.name} of {dtype} with indices up to {last}",
        site,
        hint=f"an index that is stored as {dtype} goes up to {MOST_16}: split the call",
    )


def reached(form: Form, args: Sequence[Any], lanes: Sequence[int]) -> int:
    """How many elements of `src` a call reaches."""
    slots = slots_of(form)
    if slots.kind == "count":
        return int(args[slots.amount])
    repeat, (step,) = args[slots.repeat], slots.strides_of(args)
    return rules.reach(lanes, repeat, 1, step, args[1].type.dtype) if repeat and lanes else 0


def align_of(form: Form, args: Sequence[Any]) -> int:
    """What the address of `dst` is a multiple of, in bytes."""
    size: int = args[0].type.dtype.sizeof()
    return min(32, size * (2 if with_index(form, args) else 1))


def check_amount(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """Operands begin where the call can take them from and hold what it reaches; the workspace is
    as large as `shared_tmp_size` says; repeats, mask and stride are in range.
    """
    site, arch = recorder.site(), recorder.trace.chip.arch
    slots = slots_of(form)
    dst, src, scratch = args[:3]
    fault = (
        rules.bad_start(spec, dst, site, align_of(form, args))
        or rules.bad_start(spec, src, site)
        or rules.bad_start(spec, scratch, site)
        or rules.bad_strides(spec, known_strides(slots, args), site)
        or _amounts(spec, form, args, arch, site)
    )
    if fault is not None:
        raise fault


def bad_numbers(
    spec: OpSpec, slots: Slots, args: Sequence[Any], dtype: DataType, site: Site
) -> KernelError | None:
    """What is wrong with a count, or with a mask and the repeats."""
    amount = args[slots.amount]
    if slots.kind == "count":
        return rules.bad_count(spec, amount, site)
    fault = rules.bad_mask(spec, amount, dtype, site) if slots.kind == "mask" else None
    return fault or rules.bad_count(spec, args[slots.repeat], site)


def lanes_of(slots: Slots, args: Sequence[Any], dtype: DataType) -> Sequence[int]:
    """The lanes of a repeat that a mask selects."""
    if slots.kind == "count":
        return range(rules.lanes_of(dtype))
    mask = args[slots.amount]
    return selected(mask, dtype) if slots.kind == "bits" else range(mask)


def _amounts(
    spec: OpSpec, form: Form, args: tuple[Any, ...], arch: str, site: Site
) -> KernelError | None:
    slots = slots_of(form)
    dst, src, scratch = args[:3]
    dtype = src.type.dtype
    numbers = [args[k] for k in (slots.amount, slots.repeat, *slots.strides) if k >= 0]
    flat = [n for number in numbers for n in (number if isinstance(number, tuple) else (number,))]
    if any(isinstance(number, Value) for number in flat):
        return None
    if fault := bad_numbers(spec, slots, args, dtype, site):
        return fault
    count = reached(form, args, lanes_of(slots, args, dtype))
    if not count:
        return None
    fault = (
        rules.too_short(spec, src, count, site)
        or rules.too_short(spec, dst, 2 if with_index(form, args) else 1, site)
        or bad_index(spec, form, args, count - 1, site)
        or _apart(spec, dst, src, count, site)
    )
    return fault or rules.too_short(spec, scratch, scratch_of(spec, form, args, arch), site)


def _apart(spec: OpSpec, dst: Any, src: Any, count: int, site: Site) -> KernelError | None:
    """The result is not written into what is read."""
    if dst.base is not src.base or dst.offset is None or src.offset is None:
        return None
    size = dst.dtype.sizeof()
    stop = src.offset + count * size
    shared = min(dst.offset + size, stop) - max(dst.offset, src.offset)
    return rules.partial_overlap(spec, dst, src, shared, site) if shared > 0 else None


# -- rows -----------------------------------------------------------------------------------------


def _forms(*behind: Param) -> tuple[Form, ...]:
    repeat = Param("repeat_time", "int", cpp="int32_t")
    step = Param("src_rep_stride", "int", cpp="int32_t")
    return (
        Form("count", (*_TENSORS, Param("count", "int", cpp="int32_t"), *behind)),
        Form("mask", (*_TENSORS, Param("mask", "int", cpp="int32_t"), repeat, step, *behind)),
        Form("bits", (*_TENSORS, Param("mask", "mask"), repeat, step, *behind)),
    )


def _row(
    name: str, cpp: str, doc: str, forms: tuple[Form, ...], dtypes: dict[str, Any], reduces: str
) -> OpSpec:
    only = frozenset((t,) * 3 for t in dtypes["3510"] if t.bits == 64)
    return register(
        OpSpec(
            name,
            cpp,
            "vec_reduce_all",
            doc,
            forms,
            pipe="V",
            dtypes=MappingProxyType(dtypes),
            checks=(check_dtypes, check_amount),
            semantics=lambda *values: values,
            extra=MappingProxyType({"reduces": reduces, "count_only": {"3510": only}}),
        )
    )


_EXTREME_DOC: Final = (
    "dst[0] = the {0} of src, and with cal_index dst[1] = the index of the first element that has "
    "it (`AscendC::{1}`). The index counts from the start of src and has the bits of an unsigned "
    "integer as wide as an element. shared_tmp_size tells how large shared_tmp_buffer is."
)
_EXTREMES_ALL: Final = EXTREMES | {"3510": (*EXTREMES["3510"], int64, uint64)}
REDUCE_MAX = _row(
    "reduce_max", "ReduceMax", _EXTREME_DOC.format("maximum", "ReduceMax"), _forms(_INDEX),
    _EXTREMES_ALL, "largest",
)  # fmt: skip
REDUCE_MIN = _row(
    "reduce_min", "ReduceMin", _EXTREME_DOC.format("minimum", "ReduceMin"), _forms(_INDEX),
    _EXTREMES_ALL, "smallest",
)  # fmt: skip
REDUCE_SUM = _row(
    "reduce_sum", "ReduceSum",
    "dst[0] = the sum of src, rounded to the dtype after each addition (`AscendC::ReduceSum`). "
    "Each repeat is added as a tree; on 2201 the repeats follow one another by count and are a "
    "tree with a mask. shared_tmp_size tells how large shared_tmp_buffer is.",
    _forms(), FLOATS | {"3510": (*FLOATS["3510"], int32, uint32, int64, uint64)}, "sum",
)  # fmt: skip
