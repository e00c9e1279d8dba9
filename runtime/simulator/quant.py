"""Layouts of dequantisation; `vector` executes them with the scale that `deq` keeps."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...tracer.chip import BLOCK_BYTES
from ...tracer.ops import rules, vec_deq
from ...tracer.ops._vector import Slots, slots_of
from ...tracer.trace import Op
from .deq import as_bytes
from .lanes import Lanes, Layout, dense_lanes, lanes_at
from .masks import Part
from .registry import Executor, simulates
from .vector import LAYOUTS, LayoutOf, execute, part_of

if TYPE_CHECKING:
    from .core import Core


@simulates(family="vec_deq")
def _deq(op: Op, core: Core) -> Executor:
    if vec_deq.narrow(op.args):
        return execute(op, core, _narrow, op.args[1].type.dtype)
    plain = LAYOUTS[slots_of(op.form).kind]
    spoils = op.spec is vec_deq.ADD_DEQ_RELU and core.chip.arch == "2201"
    return execute(op, core, partial(_spoiling, plain) if spoils else plain)


def _spoiling(plain: LayoutOf, *args: Any, part: Part | None = None) -> Layout | None:
    """The sources are the workspace."""
    layout = plain(*args, part=part)
    if layout is not None:
        layout.spoils = (1, 2)
    return layout


def _narrow(op: Op, slots: Slots, args: tuple[Any, ...], part: Part | None = None) -> Layout | None:
    """16 elements of each block of the source, as half a block."""
    src = op.args[1].type.dtype
    behind = BLOCK_BYTES // 2 if op.args[-1] else 0
    if slots.kind == "count" and part is None:
        count = args[slots.amount]
        if fault := rules.bad_count(op.spec, count, op.site):
            raise fault
        if not count:
            return None
        lanes = np.arange(count)
        source, offsets = dense_lanes(count, src.sizeof()), np.zeros((1, 1), np.int64)
        step = 1
    else:
        strides = slots.strides_of(args)
        fault = rules.bad_strides(op.spec, zip(strides, slots.limits, strict=True), op.site)
        if fault:
            raise fault
        lanes, repeat, first = part or part_of(op, slots, args, src)
        if not repeat or not lanes.size:
            return None
        step, block, to, rep = strides
        source = Lanes(lanes, repeat, block, rep, src.sizeof(), first)
        offsets = np.arange(first, first + repeat)[:, None] * (to * BLOCK_BYTES)
    within = lanes // vec_deq.GROUP * (step * BLOCK_BYTES) + lanes % vec_deq.GROUP
    layout = Layout([lanes_at(offsets + within + behind, 1), source])
    if layout.kind == "dense":
        layout.kind = "even"
    layout.semantics = as_bytes(op.args[0].type.dtype, lanes)
    return layout
