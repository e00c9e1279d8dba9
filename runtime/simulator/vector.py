"""Executors of the vector families.

A call is specialised twice: on its constants and runtime scalars (how many elements, which lanes,
which strides: a `Layout`), then on the addresses of its operands (the views to compute on). Both
are cached, so that a call in a loop costs a look-up and the NumPy work.

The mask of a call is always its own: `is_set_mask=False`, which leaves an earlier mask in force on
the device, has no effect here as long as no operation sets the mask by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ...tracer.diagnostics import KernelError
from ...tracer.ops import rules
from ...tracer.ops.vec_binary import selected
from ...tracer.trace import Op
from .lanes import Lanes, Layout, dense_lanes
from .memory import LocalView, Memory, local_fault, unwritten_fault
from .registry import Executor, nothing, simulates, specialise

if TYPE_CHECKING:
    from .core import Core

#: What does the work of a call once its operands' addresses are known.
Work = Callable[[], object]


@simulates(family="vec_binary")
def _vec_binary(op: Op, core: Core) -> Executor:
    return specialise(op, 3, lambda args: _specialised(op, core, _layout(op, args)))


def _specialised(op: Op, core: Core, layout: Layout | None) -> Executor:
    """The executor for one layout; None is a call that selects nothing."""
    if layout is None:
        return nothing
    memory = core.memory_of(op.args[0])
    need, need0, need1 = (lanes.extent for lanes in layout.lanes)
    known: dict[tuple[int, int, int], Work] = {}
    ready: dict[tuple[int, int, int], Work] = core.per_block()

    def run(dst: LocalView, src0: LocalView, src1: LocalView) -> None:
        to, room, hold = dst
        at0, room0, hold0 = src0
        at1, room1, hold1 = src1
        if (
            room < need or room0 < need0 or room1 < need1
            or not (hold[0] and hold0[0] and hold1[0])
        ):  # fmt: skip
            raise _fault(op, layout, (dst, src0, src1))
        key = (to, at0, at1)
        work = ready.get(key)
        if work is None:
            work = known.get(key)
            if work is None:
                if (to | at0 | at1) & 31:
                    raise _fault(op, layout, (dst, src0, src1))
                if shared := layout.shared(key):
                    which, nbytes = shared
                    raise rules.partial_overlap(
                        op.spec, op.args[0], op.args[which], nbytes, op.site
                    )
                work = known[key] = _work(op, memory, layout, key)
            _touch(op, memory, layout, key)
            ready[key] = work
        work()

    return run


def _fault(op: Op, layout: Layout, tensors: Sequence[LocalView]) -> KernelError:
    for which, (tensor, lanes) in enumerate(zip(tensors, layout.lanes, strict=True)):
        fault = local_fault(op, which, tensor, lanes.extent)
        if fault is not None:
            return fault
    raise AssertionError("the access is fine")


def _touch(op: Op, memory: Memory, layout: Layout, addresses: Sequence[int]) -> None:
    """Check that the sources were written; the destination is from now on.

    Once in a block is enough for each set of addresses: what is written stays so.
    """
    for which in range(1, len(addresses)):
        missing = layout.first_unwritten(which, memory, addresses[which])
        if missing is not None:
            raise unwritten_fault(op, which, missing, addresses[which])
    layout.mark(0, memory, addresses[0])


# -- what is selected -----------------------------------------------------------------------------


def _layout(op: Op, args: tuple[Any, ...]) -> Layout | None:
    """The lanes of all operands for known scalar arguments, or None when nothing is selected."""
    size: int = op.args[0].type.dtype.sizeof()
    return _LAYOUTS[op.form.name](op, args, size)


def _by_count(op: Op, args: tuple[Any, ...], size: int) -> Layout | None:
    count = args[0]
    if fault := rules.bad_count(op.spec, count, op.site):
        raise fault
    return Layout([dense_lanes(count, size)] * 3) if count else None


def _by_mask(op: Op, args: tuple[Any, ...], size: int) -> Layout | None:
    mask, repeat, strides, _ = args
    if fault := rules.bad_mask(op.spec, mask, op.args[0].type.dtype, op.site):
        raise fault
    return _repeated(op, np.arange(mask), repeat, strides, size)


def _by_bits(op: Op, args: tuple[Any, ...], size: int) -> Layout | None:
    mask, repeat, strides, _ = args
    lanes = selected(mask, op.args[0].type.dtype)
    return _repeated(op, np.array(lanes, np.int64), repeat, strides, size)


_LAYOUTS = {"count": _by_count, "mask": _by_mask, "bits": _by_bits}


def _repeated(
    op: Op, lanes: npt.NDArray[Any], repeat: int, strides: Any, size: int
) -> Layout | None:
    strides = _values(strides)
    fault = rules.bad_repeat(op.spec, repeat, op.site)
    fault = fault or rules.bad_strides(op.spec, strides, op.site)
    if fault:
        raise fault
    if not repeat or not lanes.size:
        return None
    block, rep = strides[:3], strides[3:]
    return Layout([Lanes(lanes, repeat, block[k], rep[k], size) for k in range(3)])


def _values(strides: Any) -> tuple[int, ...]:
    """The fields of the repeat parameters (a struct of constants, or a tuple once filled)."""
    return tuple(getattr(strides, "values", strides))


# -- the work -------------------------------------------------------------------------------------


def _work(op: Op, memory: Memory, layout: Layout, addresses: Sequence[int]) -> Work:
    """What computes the call at these addresses."""
    dtype = op.args[0].type.dtype.np
    semantics = op.spec.semantics
    assert semantics is not None
    ordered = layout.in_order(addresses)
    if layout.kind == "index":
        return _indexed(semantics, memory, layout, addresses, dtype, ordered)
    views = [layout.view(k, memory, addresses[k], dtype) for k in range(len(addresses))]
    if ordered:
        rows = [tuple(view[r] for view in views) for r in range(len(views[0]))]
    elif layout.kind == "dense":
        rows = [tuple(view.reshape(-1) for view in views)]
    else:
        rows = [tuple(views)]
    steps = [_step(semantics, *row) for row in rows]
    return steps[0] if len(steps) == 1 else _sequence(steps)


def _step(semantics: Callable[..., Any], dst: Any, src0: Any, src1: Any) -> Work:
    if isinstance(semantics, np.ufunc):

        def work() -> object:
            return semantics(src0, src1, out=dst)

    else:

        def work() -> object:
            dst[...] = semantics(src0, src1)
            return None

    return work


def _sequence(steps: Sequence[Work]) -> Work:
    def work() -> None:
        for step in steps:
            step()

    return work


def _indexed(
    semantics: Callable[..., Any],
    memory: Memory,
    layout: Layout,
    addresses: Sequence[int],
    dtype: Any,
    ordered: bool,
) -> Work:
    """Gather, compute, scatter; an element that is written twice keeps the last value."""
    dst, src0, src1 = (
        np.ndarray(lanes.extent // dtype.itemsize, dtype, memory.bytes, address)
        for lanes, address in zip(layout.lanes, addresses, strict=True)
    )
    to, at0, at1 = (layout.index(k) for k in range(3))
    repeats = [slice(r, r + 1) for r in range(len(to))] if ordered else [slice(None)]

    def work() -> None:
        for part in repeats:
            dst[to[part]] = semantics(src0[at0[part]], src1[at1[part]])

    return work
