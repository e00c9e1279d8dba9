"""Rows of the reductions: of each repeat, each block, each pair, and of all that is given.

`whole_reduce_*` and `repeat_reduce_sum` give one result for a repeat, `block_reduce_*` one for each
block of 32 bytes, `pair_reduce_sum` one for two neighbours; results follow one another, and strides
of `dst` count what a repeat gives.

Sums are trees: neighbours are added, then neighbouring sums, each rounded to the dtype. An element
that is not selected counts as 0 there. What the documentation leaves open: NaN is larger than all
numbers in a maximum, smaller in a minimum, and the index is that of the first one.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from ..chip import BLOCK_BYTES, REPEAT_BYTES
from ..diagnostics import KernelError, Site, error
from ..language.dtypes import DataType, float16, float32, int16, int32, uint16, uint32
from ..language.enums import ReduceOrder
from ..trace import Recorder, Value
from . import rules
from ._vector import (
    HALF_FLOAT,
    SET_MASK,
    Signature,
    check_dtypes,
    known_strides,
    selected,
    slots_of,
)
from .spec import Form, OpSpec, Param, register

_TENSORS: Final = (Param("dst", "local", "out"), Param("src", "local", "in"))
_MASKS: Final = (
    ("mask", Param("mask", "int", cpp="int32_t")), ("bits", Param("mask", "mask")),
)  # fmt: skip
_ORDER: Final = Param("order", "reduce_order", default=ReduceOrder.ORDER_VALUE_INDEX)


def _stride(name: str) -> Param:
    return Param(name, "int", cpp="int32_t")


_STRIDES: Final = tuple(map(_stride, ("dst_rep_stride", "src_blk_stride", "src_rep_stride")))


# -- what a repeat gives --------------------------------------------------------------------------


class Result(NamedTuple):
    """The elements of `dst` that a repeat writes, from its start, and the unit of their strides."""

    places: Sequence[int]
    unit: int

    def align(self, dtype: DataType) -> int:
        """What the address of `dst` is a multiple of, in bytes."""
        return min(self.unit * dtype.sizeof(), BLOCK_BYTES)


#: Chips on which blocks and pairs without a selected element get a value too.
FILLING: Final = frozenset({"3510", "3002"})


def order_of(form: Form, args: Sequence[Any]) -> ReduceOrder:
    """The order of a call; that of sums is their value alone."""
    at = next((k for k, p in enumerate(form.params) if p.kind == "reduce_order"), None)
    if at is None:
        return ReduceOrder.ORDER_ONLY_VALUE
    return ReduceOrder.ORDER_VALUE_INDEX if args[at] is None else args[at]


def result_of(
    spec: OpSpec, form: Form, args: Sequence[Any], arch: str, lanes: Sequence[int]
) -> Result:
    """What a repeat with these lanes selected gives."""
    size = args[1].type.dtype.sizeof()
    whole = REPEAT_BYTES // size
    if spec.extra["gives"] == "block":
        per_block = BLOCK_BYTES // size
        blocks = range(8) if arch in FILLING else sorted({lane // per_block for lane in lanes})
        return Result(blocks, 8)
    if spec.extra["gives"] == "pair":
        pairs = range(whole // 2) if arch in FILLING else sorted({lane // 2 for lane in lanes})
        return Result(pairs, whole // 2)
    order = order_of(form, args)
    if order is ReduceOrder.ORDER_ONLY_VALUE:
        return Result(range(1), 1)
    # An index on its own has 32 bits, with a value it is as wide as that.
    count = 4 // size if order is ReduceOrder.ORDER_ONLY_INDEX else 2
    return Result(range(count), count)


def at(form: Form, name: str) -> int:
    """Where a parameter is."""
    return next(k for k, p in enumerate(form.params) if p.name == name)


# -- checks ---------------------------------------------------------------------------------------


def check_order(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The chip gives its results in this order."""
    chip, order = recorder.trace.chip, order_of(form, args)
    allowed = ORDERS[chip.arch]
    if order not in allowed:
        raise error(
            "AT0102",
            f"{spec.name} with {order.name} is not executed by {chip.name} "
            f"(architecture {chip.arch})",
            recorder.site(),
            hint=f"choose {' or '.join(o.name for o in allowed)}",
        )


def check_amount(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """Operands begin where the call can take them from, hold what it reaches and are apart; at most
    255 repeats; a mask of 1 element up to those of a repeat; strides that fit their type.
    """
    site, arch = recorder.site(), recorder.trace.chip.arch
    slots = slots_of(form)
    dst, src = args[:2]
    align = result_of(spec, form, args, arch, ()).align(dst.type.dtype)
    fault = (
        rules.bad_start(spec, dst, site, align)
        or rules.bad_start(spec, src, site)
        or rules.bad_strides(spec, known_strides(slots, args), site)
    )
    if fault is None and not slots.inherits(args):
        fault = _by_mask(spec, form, args, arch, site)
    if fault is not None:
        raise fault


def _by_mask(
    spec: OpSpec, form: Form, args: tuple[Any, ...], arch: str, site: Site
) -> KernelError | None:
    slots, dtype = slots_of(form), args[1].type.dtype
    mask, repeat = args[slots.amount], args[slots.repeat]
    lanes: Sequence[int] | None = None
    if slots.kind == "bits":
        if not any(isinstance(word, Value) for word in mask):
            lanes = selected(mask, dtype)
    elif not isinstance(mask, Value):
        if fault := rules.bad_mask(spec, mask, dtype, site, 0):
            return fault
        lanes = range(mask)
    if isinstance(repeat, Value):
        return None
    if fault := rules.bad_repeat(spec, repeat, site):
        return fault
    strides = [args[at(form, p.name)] for p in _STRIDES]
    if not repeat or not lanes or any(isinstance(stride, Value) for stride in strides):
        return None
    return _operands(spec, form, args, arch, lanes, repeat, strides, site)


def _operands(
    spec: OpSpec,
    form: Form,
    args: tuple[Any, ...],
    arch: str,
    lanes: Sequence[int],
    repeat: int,
    strides: Sequence[int],
    site: Site,
) -> KernelError | None:
    """What is too short, or shares a part of what a repeat writes."""
    dst, src = args[:2]
    result = result_of(spec, form, args, arch, lanes)
    written = (repeat - 1) * strides[0] * result.unit + max(result.places) + 1
    read = rules.reach(lanes, repeat, strides[1], strides[2], src.dtype)
    fault = rules.too_short(spec, dst, written, site) or rules.too_short(spec, src, read, site)
    if fault or dst.base is not src.base or dst.offset is None or src.offset is None:
        return fault
    size, per_block = src.dtype.sizeof(), BLOCK_BYTES // src.dtype.sizeof()
    step = result.unit * dst.dtype.sizeof() * strides[0]
    for r in range(repeat):
        start = dst.offset + r * step
        stop = start + (max(result.places) + 1) * dst.dtype.sizeof()
        base = src.offset + r * strides[2] * BLOCK_BYTES
        shared = 0
        for lane in lanes:
            byte = base + lane // per_block * strides[1] * BLOCK_BYTES + lane % per_block * size
            shared += max(0, min(stop, byte + size) - max(start, byte))
        if shared:
            return rules.partial_overlap(spec, dst, src, shared, site)
    return None


# -- rows -----------------------------------------------------------------------------------------

ORDERS: Final[dict[str, tuple[ReduceOrder, ...]]] = {
    "2201": tuple(ReduceOrder),
    "3510": tuple(ReduceOrder),
    "3002": (ReduceOrder.ORDER_VALUE_INDEX, ReduceOrder.ORDER_ONLY_VALUE),
    "2002": (ReduceOrder.ORDER_VALUE_INDEX, ReduceOrder.ORDER_INDEX_VALUE),
    "1001": (ReduceOrder.ORDER_VALUE_INDEX,),
}
FLOATS: Final = {
    **dict.fromkeys(("2201", "3510", "3002", "2002"), HALF_FLOAT), "1001": (float16,),
}  # fmt: skip
EXTREMES: Final = FLOATS | {"3510": (int16, uint16, float16, int32, uint32, float32)}
_SUMS: Final[dict[str, tuple[Signature, ...]]] = {
    **{arch: tuple((t, t) for t in dtypes) for arch, dtypes in FLOATS.items()},
    "3510": (
        (int32, int16), (int32, int32), (uint32, uint16), (uint32, uint32),
        (float16, float16), (float32, float32),
    ),
}  # fmt: skip


def _row(
    name: str,
    cpp: str,
    doc: str,
    forms: tuple[Form, ...],
    dtypes: dict[str, Any],
    gives: str,
    reduces: str,
    *checks: Any,
    mixed: bool = False,
    note: str = "",
) -> OpSpec:
    """Add a row; `gives` says for what there is one result, `reduces` which (max, min or sum)."""
    of_dst = {
        arch: tuple(dict.fromkeys(s[0] if mixed else s for s in rows))
        for arch, rows in dtypes.items()
    }
    return register(
        OpSpec(
            name,
            cpp,
            "vec_reduce",
            f"dst = {doc} (`AscendC::{cpp}`). {note}An element that the mask leaves out takes no "
            "part.",
            forms,
            pipe="V",
            dtypes=MappingProxyType(of_dst),
            signatures=MappingProxyType(dtypes if mixed else {}),
            checks=(check_dtypes, *checks, check_amount),
            semantics=lambda *values: values,
            # The template argument is the dtype of the source.
            extra=MappingProxyType({"gives": gives, "reduces": reduces, "types": (1,)}),
        )
    )


def _whole(*behind: Param) -> tuple[Form, ...]:
    """Mask before repeats."""
    repeat = Param("repeat_time", "int", cpp="int32_t")
    return tuple(
        Form(name, (*_TENSORS, mask, repeat, *_STRIDES, *behind, SET_MASK)) for name, mask in _MASKS
    )


def _parts(repeat: str) -> tuple[Form, ...]:
    """Repeats before mask."""
    times = Param(repeat, "int", cpp="int32_t")
    return tuple(Form(name, (*_TENSORS, times, mask, *_STRIDES, SET_MASK)) for name, mask in _MASKS)


_INDEX = (
    "The index counts within the repeat; it has the bits of an unsigned integer as wide as the "
    "value, of 32 bits on its own. "
)
WHOLE_REDUCE_MAX = _row(
    "whole_reduce_max", "WholeReduceMax",
    "the maximum of each repeat of src and the first index that has it, as order says",
    _whole(_ORDER), EXTREMES, "repeat", "largest", check_order, note=_INDEX,
)  # fmt: skip
WHOLE_REDUCE_MIN = _row(
    "whole_reduce_min", "WholeReduceMin",
    "the minimum of each repeat of src and the first index that has it, as order says",
    _whole(_ORDER), EXTREMES, "repeat", "smallest", check_order, note=_INDEX,
)  # fmt: skip
WHOLE_REDUCE_SUM = _row(
    "whole_reduce_sum", "WholeReduceSum", "the sum of each repeat of src, added as a tree",
    _whole(), _SUMS, "repeat", "sum", mixed=True,
)  # fmt: skip
REPEAT_REDUCE_SUM = _row(
    "repeat_reduce_sum", "RepeatReduceSum",
    "the sum of each repeat of src, added as a tree; dst_blk_stride has no effect",
    (
        Form(
            "mask",
            (
                *_TENSORS, Param("repeat_time", "int", cpp="int32_t"), _MASKS[0][1],
                _stride("dst_blk_stride"), _stride("src_blk_stride"), _stride("dst_rep_stride"),
                _stride("src_rep_stride"), SET_MASK,
            ),
        ),
    ),
    _SUMS, "repeat", "sum", mixed=True,
)  # fmt: skip
_UNSELECTED = (
    "Where no element of a {} is selected, dst keeps what it has; on 3510 and 3002 it becomes {}. "
)
BLOCK_REDUCE_MAX = _row(
    "block_reduce_max", "BlockReduceMax",
    "the maximum of each block of src",
    _parts("repeat"), FLOATS, "block", "largest", note=_UNSELECTED.format("block", "the least"),
)  # fmt: skip
BLOCK_REDUCE_MIN = _row(
    "block_reduce_min", "BlockReduceMin",
    "the minimum of each block of src",
    _parts("repeat"), FLOATS, "block", "smallest", note=_UNSELECTED.format("block", "the largest"),
)  # fmt: skip
BLOCK_REDUCE_SUM = _row(
    "block_reduce_sum", "BlockReduceSum",
    "the sum of each block of src, added as a tree",
    _parts("repeat"), FLOATS, "block", "sum", note=_UNSELECTED.format("block", "0"),
)  # fmt: skip
PAIR_REDUCE_SUM = _row(
    "pair_reduce_sum", "PairReduceSum",
    "the sum of each two neighbours of src",
    _parts("repeat_time"), FLOATS, "pair", "sum", note=_UNSELECTED.format("pair", "0"),
)  # fmt: skip
