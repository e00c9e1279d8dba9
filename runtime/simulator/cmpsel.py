"""Layouts of what compares into bits and of what selects by bits; `vector` executes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ...tracer.diagnostics import KernelError
from ...tracer.language.enums import CMPMODE
from ...tracer.ops import rules, vec_cmpsel
from ...tracer.ops._vector import Slots, selected, slots_of
from ...tracer.trace import Op
from . import cmpmask
from .lanes import Lanes, Layout, dense_lanes, lanes_at
from .masks import normal_only
from .registry import Executor, Timed, simulates, staged
from .vector import LayoutOf, execute

if TYPE_CHECKING:
    from .core import Core

_COMPARE: Final[dict[CMPMODE, Callable[[Any, Any], Any]]] = {
    CMPMODE.LT: np.less,
    CMPMODE.GT: np.greater,
    CMPMODE.EQ: np.equal,
    CMPMODE.LE: np.less_equal,
    CMPMODE.GE: np.greater_equal,
    CMPMODE.NE: np.not_equal,
}


@simulates(family="vec_cmpsel")
def _cmpsel(op: Op, core: Core) -> Executor:
    selects = vec_cmpsel.selects(op.spec)
    if vec_cmpsel.by_register(op.form):
        if selects:
            return cmpmask.select(op, core)
        return cmpmask.compare(op, core, _COMPARE[op.args[slots_of(op.form).amount - 1]])
    layout_of: LayoutOf = _select if selects else _compare
    plain = execute(op, core, layout_of, masked=False)
    if selects and core.masks is not None:
        plain = _clobbering(op, core, staged(plain))
    return normal_only(op, core, plain, keeps=not selects)


def _clobbering(op: Op, core: Core, plain: Timed) -> Executor:
    """A selection that puts its own bits, or a number, into the register."""
    register = core.cmp

    def stage(*values: Any) -> Any:
        register.set(0, op)
        return plain.stage(*values)

    def run(*values: Any) -> None:
        register.set(0, op)
        plain.run(*values)

    return Timed(run, stage)


def _repeats_fault(op: Op, slots: Slots, args: tuple[Any, ...], dtype: Any) -> KernelError | None:
    strides = zip(slots.strides_of(args), slots.limits, strict=True)
    fault = rules.bad_repeat(op.spec, args[slots.repeat], op.site)
    fault = fault or rules.bad_strides(op.spec, strides, op.site)
    if slots.kind == "mask":
        fault = fault or rules.bad_mask(op.spec, args[slots.amount], dtype, op.site)
    return fault


def _compare(op: Op, slots: Slots, args: tuple[Any, ...]) -> Layout | None:
    """Whole repeats of the sources, their bits one behind the other."""
    dtype = op.args[1].type.dtype
    size, lanes = dtype.sizeof(), rules.lanes_of(dtype)
    if slots.kind == "count":
        fault = vec_cmpsel.bad_groups(op.spec, args[slots.amount], dtype, op.site)
        repeat, steps = args[slots.amount] // lanes, [(1, 8)] * slots.tensors
    else:
        fault = _repeats_fault(op, slots, args, dtype)
        repeat, steps = args[slots.repeat], vec_cmpsel.steps(slots, args)
    if fault:
        raise fault
    if not repeat:
        return None
    groups = np.arange(repeat)[:, None] * (lanes // 8) + np.arange(lanes // 8)
    sources = [
        Lanes(np.arange(lanes), repeat, block, rep, size) for block, rep in steps[1 : slots.tensors]
    ]
    layout = Layout([lanes_at(groups, 1), *sources])
    compare = _COMPARE[op.args[slots.amount - 1]]
    layout.semantics = lambda a, b: np.packbits(compare(a, b), axis=-1, bitorder="little")
    return layout


def _select(op: Op, slots: Slots, args: tuple[Any, ...]) -> Layout | None:
    """The elements that the mask selects, and the bits of whole repeats."""
    dtype = op.args[0].type.dtype
    size, lanes = dtype.sizeof(), rules.lanes_of(dtype)
    one = vec_cmpsel.one_group(op.spec, args)
    if slots.kind == "count":
        count = args[slots.amount]
        if fault := rules.bad_count(op.spec, count, op.site):
            raise fault
        picked = np.arange(count) % (lanes if one else max(count, 1))
        elements = [dense_lanes(count, size)] * (slots.tensors - 1) if count else []
    else:
        if fault := _repeats_fault(op, slots, args, dtype):
            raise fault
        mask = args[slots.amount]
        picked = np.arange(mask) if slots.kind == "mask" else np.array(selected(mask, dtype), int)
        steps = vec_cmpsel.steps(slots, args)[: slots.tensors - 1]
        repeat = args[slots.repeat] if picked.size else 0
        if repeat and (fault := rules.bad_step(op.spec, steps[0][0], picked, dtype, op.site)):
            raise fault
        elements = [Lanes(picked, repeat, *step, size) for step in steps] if repeat else []
    if not elements:
        return None
    repeats, nbytes = len(elements[0].offsets), vec_cmpsel.bit_bytes(op.spec, slots, args)
    each = nbytes if one or slots.kind == "count" else nbytes // repeats
    starts = np.arange(repeats)[:, None] * (0 if one else each)
    layout = Layout([elements[0], lanes_at(starts + np.arange(each), 1), *elements[1:]])
    if layout.kind == "dense":
        layout.kind = "even"  # the bits of a repeat are an axis of their own
    layout.semantics = lambda bits, src0, src1: np.where(
        np.unpackbits(bits, axis=-1, bitorder="little")[..., picked], src0, src1
    )
    return layout
