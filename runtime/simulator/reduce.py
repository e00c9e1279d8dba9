"""Layouts of the reductions of repeats, blocks and pairs; `vector` executes them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...tracer.chip import REPEAT_BYTES
from ...tracer.language.dtypes import DataType
from ...tracer.language.enums import ReduceOrder
from ...tracer.ops import rules, vec_reduce
from ...tracer.ops._numeric import spread, tree_sum
from ...tracer.ops._vector import Slots
from ...tracer.trace import Op
from .lanes import Lanes, Layout, lanes_at
from .masks import Part
from .registry import Executor, simulates
from .vector import execute, part_of

if TYPE_CHECKING:
    from .core import Core


@simulates(family="vec_reduce")
def _reduce(op: Op, core: Core) -> Executor:
    layout_of = partial(_layout, core.chip.arch)
    return execute(op, core, layout_of, op.args[1].type.dtype)


def _layout(
    arch: str, op: Op, slots: Slots, args: tuple[Any, ...], part: Part | None = None
) -> Layout | None:
    """The results of the repeats, and the elements that are selected of each."""
    spec, form = op.spec, op.form
    dst, src = (tensor.type.dtype for tensor in op.args[:2])
    if fault := rules.bad_strides(
        spec, zip(slots.strides_of(args), slots.limits, strict=True), op.site
    ):
        raise fault
    lanes, repeat, first = part or part_of(op, slots, args, src)
    if not repeat or not lanes.size:
        return None
    step, block, rep = (args[vec_reduce.at(form, p)] for p in _STRIDES)
    result = vec_reduce.result_of(spec, form, op.args, arch, [int(lane) for lane in lanes])
    size = dst.sizeof()
    starts = np.arange(first, first + repeat)[:, None] * (step * result.unit * size)
    layout = Layout(
        [
            lanes_at(starts + np.asarray(result.places) * size, size),
            Lanes(lanes, repeat, block, rep, src.sizeof(), first),
        ],
        aligns=(result.align(dst), 32),
    )
    if layout.kind == "dense":
        layout.kind = "even"  # the repeats are an axis of their own
    layout.semantics = _GIVES[spec.extra["gives"]](op, arch, lanes, dst, src)
    return layout


_STRIDES = ("dst_rep_stride", "src_blk_stride", "src_rep_stride")


# -- what is computed -----------------------------------------------------------------------------


def _least(reduces: str, dtype: DataType) -> Any:
    """What takes no part in a reduction."""
    if reduces == "sum":
        return dtype.np.type(0)
    if dtype.kind == "f":
        return dtype.np.type(-np.inf if reduces == "largest" else np.inf)
    return dtype.np.type(dtype.lo if reduces == "largest" else dtype.hi)


_ALONG: dict[str, Callable[[Any], Any]] = {
    "sum": tree_sum,
    "largest": lambda values: values.max(axis=-1),
    "smallest": lambda values: values.min(axis=-1),
}


def _of_repeat(
    op: Op, arch: str, lanes: npt.NDArray[Any], dst: DataType, src: DataType
) -> Callable[[Any], Any]:
    if op.spec.extra["reduces"] == "sum":
        width = REPEAT_BYTES // src.sizeof()
        zero = dst.np.type(0)
        return lambda values: tree_sum(
            spread(values.astype(dst.np, copy=False), lanes, width, zero)
        )[..., None]
    order = vec_reduce.order_of(op.form, op.args)
    largest = op.spec.extra["reduces"] == "largest"
    if order is ReduceOrder.ORDER_ONLY_VALUE:
        return partial(np.max if largest else np.min, axis=-1, keepdims=True)
    find = np.argmax if largest else np.argmin
    return partial(_found, find, order, lanes)


def _found(
    find: Callable[..., Any], order: ReduceOrder, lanes: npt.NDArray[Any], values: Any
) -> Any:
    """Value and index, or the index alone, as elements of the dtype of the values."""
    where = find(values, axis=-1)[..., None]
    value = np.take_along_axis(values, where, axis=-1)
    index = lanes[where]
    if order is ReduceOrder.ORDER_ONLY_INDEX:
        return index.astype(np.uint32).view(values.dtype)
    index = index.astype(f"u{values.dtype.itemsize}").view(values.dtype)
    pair = (value, index) if order is ReduceOrder.ORDER_VALUE_INDEX else (index, value)
    return np.concatenate(pair, axis=-1)


def _of_parts(
    op: Op, arch: str, lanes: npt.NDArray[Any], dst: DataType, src: DataType
) -> Callable[[Any], Any]:
    """Of each block, or of each pair."""
    width = REPEAT_BYTES // src.sizeof()
    each = 2 if op.spec.extra["gives"] == "pair" else width // 8
    reduces = op.spec.extra["reduces"]
    least, along = _least(reduces, src), _ALONG[reduces]
    places = vec_reduce.result_of(
        op.spec, op.form, op.args, arch, [int(lane) for lane in lanes]
    ).places
    empty = sorted(set(places) - {int(lane) // each for lane in lanes})
    # 3002 has no infinity in float16 here.
    finite = arch == "3002" and src.sizeof() == 2 and reduces != "sum"
    default = np.copysign(src.np.type(65504), least) if finite else least

    def reduce(values: Any) -> Any:
        wide = spread(values, lanes, width, least)
        found = along(wide.reshape(*wide.shape[:-1], width // each, each))
        if empty:
            found[..., empty] = default
        return found if len(places) == width // each else found[..., places]

    return reduce


_GIVES = {"repeat": _of_repeat, "block": _of_parts, "pair": _of_parts}
