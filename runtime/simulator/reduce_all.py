"""The reductions of all that is given to one result; `vector` executes their layouts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...tracer.ops import rules, vec_reduce_all
from ...tracer.ops._numeric import spread, tree_sum
from ...tracer.ops._vector import Slots, slots_of
from ...tracer.trace import Op
from .lanes import Lanes, Layout, dense_lanes, lanes_at
from .masks import normal_only
from .registry import Executor, simulates
from .vector import execute

if TYPE_CHECKING:
    from .core import Core


@simulates(family="vec_reduce_all")
def _reduce(op: Op, core: Core) -> Executor:
    layout_of = partial(_layout, core.chip.arch)
    if vec_reduce_all.sums(op.spec) and slots_of(op.form).kind == "count":
        return execute(op, core, layout_of)
    return normal_only(op, core, execute(op, core, layout_of, masked=False), keeps=False)


def _layout(
    arch: str, op: Op, slots: Slots, args: tuple[Any, ...], part: object = None
) -> Layout | None:
    """One result, all of the source, and the workspace."""
    spec, form, dtype = op.spec, op.form, op.args[1].type.dtype
    size = dtype.sizeof()
    strides = slots.strides_of(args)
    fault = vec_reduce_all.bad_numbers(spec, slots, args, dtype, op.site)
    fault = fault or rules.bad_strides(spec, zip(strides, slots.limits, strict=True), op.site)
    if fault:
        raise fault
    lanes = vec_reduce_all.lanes_of(slots, args, dtype)
    count = vec_reduce_all.reached(form, args, lanes)
    if not count:
        return None
    if fault := vec_reduce_all.bad_index(spec, form, args, count - 1, op.site):
        raise fault
    picked = np.array(lanes, np.int64)
    if slots.kind == "count":
        source = dense_lanes(count, size)
    else:
        source = Lanes(picked, args[slots.repeat], 1, strides[0], size)
    results = 2 if vec_reduce_all.with_index(form, args) else 1
    need = vec_reduce_all.scratch_of(spec, form, args, arch)
    layout = Layout(
        [
            dense_lanes(results, size),
            source,
            lanes_at(np.arange(need)[None, :] * size, size),
        ],
        aligns=(vec_reduce_all.align_of(form, args), 32, 32),
        scratch=slots.scratch,
    )
    if layout.kind == "dense":
        layout.kind = "even"  # the repeats are an axis of their own
    layout.semantics = _computed(arch, op, slots, source, picked)
    return layout


def _computed(
    arch: str, op: Op, slots: Slots, source: Lanes, lanes: npt.NDArray[Any]
) -> Callable[[Any], Any]:
    if not vec_reduce_all.sums(op.spec):
        find = np.argmax if op.spec.extra["reduces"] == "largest" else np.argmin
        index = (source.offsets // source.size).reshape(-1)
        return partial(_extreme, find, vec_reduce_all.with_index(op.form, op.args), index)
    whole = rules.lanes_of(op.args[1].type.dtype)
    if slots.kind != "count":
        return lambda values: tree_sum(tree_sum(spread(values, lanes, whole, 0)))[None]
    return partial(_sum_of_count, arch, whole)


def _extreme(find: Any, with_index: bool, index: npt.NDArray[Any], values: Any) -> Any:
    flat = values.reshape(-1)
    where = find(flat)
    if not with_index:
        return flat[where : where + 1]
    as_bits = index[where : where + 1].astype(f"u{flat.dtype.itemsize}").view(flat.dtype)
    return np.concatenate((flat[where : where + 1], as_bits))


def _sum_of_count(arch: str, whole: int, values: Any) -> Any:
    flat = values.reshape(-1)
    count = -(-flat.size // whole)
    rows = np.zeros(count * whole, flat.dtype)
    rows[: flat.size] = flat
    rows = rows.reshape(count, whole)
    if arch == "3510" and 2 <= count <= 4:
        # Vector additions first: the second to the first, the fourth to the third, both together.
        added = rows[0] + rows[1]
        if count > 2:
            added = added + (rows[2] + rows[3] if count == 4 else rows[2])
        return tree_sum(added)[None]
    sums = tree_sum(rows)
    if arch != "2201":
        return tree_sum(sums)[None]
    # accumulate keeps the dtype and the order, reduce does not.
    return np.add.accumulate(sums)[-1:]
