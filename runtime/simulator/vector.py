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
from .registry import Access, Executor, Timed, Work, nothing, simulates, specialise

if TYPE_CHECKING:
    from .core import Core


@simulates(family="vec_binary")
def _vec_binary(op: Op, core: Core) -> Executor:
    return specialise(op, 3, lambda args: _specialised(op, core, _layout(op, args)))


def _specialised(op: Op, core: Core, layout: Layout | None) -> Executor:
    """The executor for one layout; None is a call that selects nothing."""
    if layout is None:
        return nothing
    memory = core.memory_of(op.args[0])
    need, need0, need1 = (lanes.extent for lanes in layout.lanes)
    known: dict[tuple[int, int, int], tuple[Work, tuple[Access, ...]]] = {}
    touch = _toucher(op, memory, layout)

    def stage(dst: LocalView, src0: LocalView, src1: LocalView) -> tuple[Work, tuple[Access, ...]]:
        to, room, hold = dst
        at0, room0, hold0 = src0
        at1, room1, hold1 = src1
        if (
            room < need or room0 < need0 or room1 < need1
            or not (hold[0] and hold0[0] and hold1[0])
        ):  # fmt: skip
            raise _fault(op, layout, (dst, src0, src1))
        key = (to, at0, at1)
        found = known.get(key)
        if found is None:
            if (to | at0 | at1) & 31:
                raise _fault(op, layout, (dst, src0, src1))
            if shared := layout.shared(key):
                which, nbytes = shared
                raise rules.partial_overlap(op.spec, op.args[0], op.args[which], nbytes, op.site)
            found = known[key] = (_work(op, memory, layout, key), _accesses(memory, layout, key))
        touch(key)
        return found

    def run(dst: LocalView, src0: LocalView, src1: LocalView) -> None:
        stage(dst, src0, src1)[0]()

    return Timed(run, stage)


def _accesses(memory: Memory, layout: Layout, addresses: Sequence[int]) -> tuple[Access, ...]:
    """What a call reads, then what it writes."""
    found: list[Access] = []
    for which in (*range(1, len(addresses)), 0):
        base = addresses[which]
        for start, stop in layout.lanes[which].runs():
            found.append((memory.shadow, base + start, base + stop, which == 0, which))
    return tuple(found)


def _fault(op: Op, layout: Layout, tensors: Sequence[LocalView]) -> KernelError:
    for which, (tensor, lanes) in enumerate(zip(tensors, layout.lanes, strict=True)):
        fault = local_fault(op, which, tensor, lanes.extent)
        if fault is not None:
            return fault
    raise AssertionError("the access is fine")


def _toucher(op: Op, memory: Memory, layout: Layout) -> Callable[[Sequence[int]], None]:
    """What checks that the sources were written, and notes that the destination is from now on."""
    written = memory.written
    if written is None:
        return lambda addresses: None

    def touch(addresses: Sequence[int]) -> None:
        for which in range(1, len(addresses)):
            missing = layout.first_unwritten(which, memory, addresses[which])
            if missing is not None:
                raise unwritten_fault(op, which, missing, addresses[which])
        layout.mark(0, memory, addresses[0])

    if layout.kind != "dense":
        return touch
    need, need0, need1 = (lanes.extent for lanes in layout.lanes)
    holes = written.holes

    def touch_dense(addresses: Sequence[int]) -> None:
        to, at0, at1 = addresses
        if (
            holes.find(1, at0 >> 5, (at0 + need0 + 31) >> 5) >= 0
            or holes.find(1, at1 >> 5, (at1 + need1 + 31) >> 5) >= 0
        ):
            touch(addresses)
        else:
            written.add(to, to + need)

    return touch_dense


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
