"""Executors of the vector families.

A call is specialised twice: on its constants and runtime numbers (how many elements, which lanes,
which strides: a `Layout`), then on the addresses of its operands (the views to compute on). Both
are cached, so that a call in a loop costs a look-up and the NumPy work. A number that is an operand
(`adds`, `duplicate`) is not part of either: it lies in a cell that the work reads.

Calls go by their own masks here; where a program sets the mask by itself, `masks` decides which
lanes and repeats a call has (a `Part`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ...tracer.diagnostics import KernelError
from ...tracer.language.conversion import converter
from ...tracer.language.dtypes import DataType
from ...tracer.ops import rules
from ...tracer.ops._numeric import perturbed
from ...tracer.ops._vector import Slots, selected, slots_of, widest
from ...tracer.ops.vec_brcb import BLOCKS
from ...tracer.trace import Op, Value
from .deq import holder, scaled
from .lanes import Lanes, Layout, dense_lanes, lanes_at
from .masks import Part, under_register
from .memory import POISON, LocalView, Memory, local_fault, unwritten_fault
from .registry import Access, Executor, Timed, Work, nothing, simulates, specialise

if TYPE_CHECKING:
    from .core import Core

#: The lanes of all operands for known numbers, or None when nothing is selected. With a fourth
#: argument, a `Part`, those that it says.
LayoutOf: TypeAlias = "Callable[..., Layout | None]"


@simulates(family="vec_binary")
@simulates(family="vec_binary_scalar")
@simulates(family="vec_unary")
@simulates(family="vec_ternary_scalar")
@simulates(family="vec_duplicate")
@simulates(family="vec_vconv")
@simulates(family="vec_copy")
@simulates(family="vec_brcb")
def _vector(op: Op, core: Core) -> Executor:
    return execute(op, core, LAYOUTS[slots_of(op.form).kind])


def execute(
    op: Op,
    core: Core,
    layout_of: LayoutOf,
    lanes_of: DataType | None = None,
    masked: bool = True,
) -> Executor:
    """The executor of a call; `layout_of(op, slots, args)` says what known numbers select.

    `lanes_of` is the dtype that decides how many elements a repeat has, by default the widest;
    `masked` says whether the call has to do with the mask of the core.
    """
    if core.masks is None or not masked:
        return _executor(op, core, layout_of)

    def make(part: Part | None) -> Executor:
        return _executor(op, core, partial(layout_of, part=part))

    dtype = lanes_of or widest(_dtypes(op, slots_of(op.form)))
    return under_register(op, core, dtype, make)


def _executor(op: Op, core: Core, layout_of: LayoutOf) -> Executor:
    slots = slots_of(op.form)
    cell = holder(op, core) if slots.scalar is None else _cell(op, slots)

    def make(args: tuple[Any, ...]) -> Executor:
        layout = layout_of(op, slots, (*op.args[: slots.passed], *args))
        return _specialised(op, core, slots, layout, cell)

    return specialise(op, slots.passed, make)


def _cell(op: Op, slots: Slots) -> npt.NDArray[Any]:
    """Where the number of a call lies, in the dtype of the elements."""
    assert slots.scalar is not None
    dtype = op.args[slots.like].type.dtype
    cell = np.zeros((), dtype.np)
    value = op.args[slots.scalar]
    if not isinstance(value, Value):
        number = value.item() if isinstance(value, np.generic) else value
        cell[()] = converter(None, dtype)(number)
    return cell


def _specialised(
    op: Op, core: Core, slots: Slots, layout: Layout | None, cell: npt.NDArray[Any] | None
) -> Executor:
    """The executor for one layout; None is a call that selects nothing."""
    if layout is None:
        return nothing
    if core.random is not None and layout.semantics is None:
        layout.semantics = _approximate(op, core)
    memory = core.memory_of(op.args[0])
    needs = [lanes.extent for lanes in layout.lanes]
    known: dict[tuple[int, ...], tuple[Work, tuple[Access, ...]]] = {}
    touch = _toucher(op, memory, slots, layout)

    def stage(*tensors: LocalView) -> tuple[Work, tuple[Access, ...]]:
        for tensor, need in zip(tensors, needs, strict=True):
            if tensor[1] < need or not tensor[2][0]:
                raise _fault(op, layout, tensors)
        key = tuple([tensor[0] for tensor in tensors])
        found = known.get(key)
        if found is None:
            work = _prepared(op, memory, slots, layout, tensors, cell)
            found = known[key] = (work, _accesses(memory, slots, layout, key))
        touch(key)
        return found

    def run(*tensors: LocalView) -> None:
        stage(*tensors)[0]()

    timed = Timed(run, stage)
    if cell is None:
        return timed
    if slots.scalar is None:
        return scaled(op, core, cell, timed)
    return _numbered(op, slots, cell, timed)


def _approximate(op: Op, core: Core) -> Callable[..., Any] | None:
    """What computes with the documented error, None where there is none."""
    bound = op.spec.extra.get("approximate", {}).get(core.chip.arch)
    exact: Any = op.spec.semantics
    if op.spec.signatures:
        exact = exact(op.form, op.args)
    if bound is None or not op.args[0].type.dtype.is_float():
        return None
    return lambda *values: perturbed(exact(*values), bound, core.random)


def _numbered(op: Op, slots: Slots, cell: npt.NDArray[Any], timed: Timed) -> Executor:
    """The executor of a call that has a number behind its tensors."""
    assert slots.scalar is not None
    value = op.args[slots.scalar]
    if not isinstance(value, Value):
        return timed
    dtype = op.args[slots.like].type.dtype
    convert = converter(value.type, dtype)
    ranged = "number_range" in op.spec.extra

    def stage(*values: Any) -> tuple[Work, tuple[Access, ...]]:
        number = convert(values[-1])
        if ranged and (fault := rules.bad_number(op.spec, number, dtype, op.site)):
            raise fault
        work, accesses = timed.stage(*values[:-1])

        def numbered() -> object:
            # The work may wait while the program goes on to the next call.
            cell[()] = number
            return work()

        return numbered, accesses

    return Timed(lambda *values: stage(*values)[0](), stage)


def _prepared(
    op: Op,
    memory: Memory,
    slots: Slots,
    layout: Layout,
    tensors: Sequence[LocalView],
    cell: npt.NDArray[Any] | None,
) -> Work:
    """The work of a call at new addresses, after what can be wrong with them."""
    key = tuple([tensor[0] for tensor in tensors])
    if any(address % align for address, align in zip(key, layout.aligns, strict=True)):
        raise _fault(op, layout, tensors)
    in_place = partial(rules.in_place, op.spec)
    if shared := layout.shared(key, in_place):
        which, nbytes = shared
        raise rules.partial_overlap(op.spec, op.args[0], op.args[which], nbytes, op.site)
    for which in slots.inputs:
        steps = layout.lanes[0].repeat_stride, layout.lanes[which].repeat_stride
        if rules.accumulates(op.spec, which, op.args[0].type.dtype, steps):
            continue
        if fed := layout.fed(which, key):
            raise rules.feeds(op.spec, op.args[0], op.args[which], fed, op.site)
    return _work(op, memory, slots, layout, key, cell)


def _accesses(
    memory: Memory, slots: Slots, layout: Layout, addresses: Sequence[int]
) -> tuple[Access, ...]:
    """What a call reads, then what it writes."""
    found: list[Access] = []
    outputs = (*layout.spoils, 0)
    for which, writes in (*((k, False) for k in slots.inputs), *((k, True) for k in outputs)):
        base = addresses[which]
        for start, stop in layout.lanes[which].runs():
            found.append((memory.shadow, base + start, base + stop, writes, which))
    return tuple(found)


def _fault(op: Op, layout: Layout, tensors: Sequence[LocalView]) -> KernelError:
    for which, (tensor, lanes) in enumerate(zip(tensors, layout.lanes, strict=True)):
        fault = local_fault(op, which, tensor, lanes.extent, layout.aligns[which])
        if fault is not None:
            return fault
    raise AssertionError("the access is fine")


def _toucher(
    op: Op, memory: Memory, slots: Slots, layout: Layout
) -> Callable[[Sequence[int]], None]:
    """What checks that the inputs were written, and notes that the destination is from now on."""
    written = memory.written
    if written is None:
        return lambda addresses: None

    def touch(addresses: Sequence[int]) -> None:
        for which in slots.inputs:
            missing = layout.first_unwritten(which, memory, addresses[which])
            if missing is not None:
                raise unwritten_fault(op, which, missing, addresses[which])
        for which in layout.spoils:
            memory.forget(addresses[which], addresses[which] + layout.lanes[which].extent)
        layout.mark(0, memory, addresses[0])

    if layout.kind != "dense" or layout.spoils:
        return touch
    need = layout.lanes[0].extent
    inputs = [(k, layout.lanes[k].extent + 31) for k in slots.inputs]
    find = written.holes.find

    def touch_dense(addresses: Sequence[int]) -> None:
        for k, extent in inputs:
            if find(1, addresses[k] >> 5, (addresses[k] + extent) >> 5) >= 0:
                touch(addresses)
                return
        written.add(addresses[0], addresses[0] + need)

    return touch_dense


# -- what is selected -----------------------------------------------------------------------------


def _dtypes(op: Op, slots: Slots) -> list[DataType]:
    return [tensor.type.dtype for tensor in op.args[: slots.tensors]]


def _by_count(
    op: Op, slots: Slots, args: tuple[Any, ...], part: Part | None = None
) -> Layout | None:
    if part is not None:
        dtypes = _dtypes(op, slots)
        most = widest(dtypes).sizeof()
        dense = (*[1] * slots.tensors, *(8 * dtype.sizeof() // most for dtype in dtypes))
        return _repeated(op, slots, part, dense)
    count = args[slots.amount]
    if fault := rules.bad_count(op.spec, count, op.site):
        raise fault
    if not count:
        return None
    return Layout([dense_lanes(count, dtype.sizeof()) for dtype in _dtypes(op, slots)])


def part_of(op: Op, slots: Slots, args: tuple[Any, ...], dtype: DataType) -> Part:
    """What a call's own mask and repeats select, of elements of `dtype`."""
    mask, repeat = args[slots.amount], args[slots.repeat]
    if slots.kind == "bits":
        lanes = np.array(selected(mask, dtype), np.int64)
    elif fault := rules.bad_mask(op.spec, mask, dtype, op.site, 0):
        raise fault
    else:
        lanes = np.arange(mask)
    if fault := rules.bad_repeat(op.spec, repeat, op.site):
        raise fault
    return Part(lanes, repeat)


def _by_mask(
    op: Op, slots: Slots, args: tuple[Any, ...], part: Part | None = None
) -> Layout | None:
    part = part or part_of(op, slots, args, widest(_dtypes(op, slots)))
    strides = slots.strides_of(args)
    fault = rules.bad_strides(op.spec, zip(strides, slots.limits, strict=True), op.site)
    dtype = op.args[0].type.dtype
    if part.repeat and part.lanes.size:
        fault = fault or rules.bad_step(op.spec, strides[0], part.lanes, dtype, op.site)
    if fault:
        raise fault
    return _repeated(op, slots, part, strides)


def _spread(op: Op, slots: Slots, args: tuple[Any, ...], part: Part | None = None) -> Layout | None:
    """Whole repeats of blocks, each filled with one element of a dense source."""
    repeat, strides = args[slots.repeat], slots.strides_of(args)
    fault = rules.bad_repeat(op.spec, repeat, op.site)
    fault = fault or rules.bad_strides(op.spec, zip(strides, slots.limits, strict=True), op.site)
    dtype = op.args[0].type.dtype
    size, count = dtype.sizeof(), rules.lanes_of(dtype)
    lanes = np.arange(count)
    fault = fault or rules.bad_step(op.spec, strides[0], lanes, dtype, op.site)
    if fault:
        raise fault
    if not repeat:
        return None
    source = np.arange(repeat)[:, None] * BLOCKS + lanes // (count // BLOCKS)
    block, rep = strides
    return Layout([Lanes(lanes, repeat, block, rep, size), lanes_at(source * size, size)])


LAYOUTS = {"count": _by_count, "mask": _by_mask, "bits": _by_mask, "repeat": _spread}


def _repeated(op: Op, slots: Slots, part: Part, strides: Sequence[int]) -> Layout | None:
    lanes, repeat, first = part
    if not repeat or not lanes.size:
        return None
    n, dtypes = slots.tensors, _dtypes(op, slots)
    layout = Layout(
        [
            Lanes(lanes, repeat, block, rep, dtype.sizeof(), first)
            for dtype, block, rep in zip(dtypes, strides[:n], strides[n:], strict=True)
        ]
    )
    if first:
        whole = np.arange(rules.lanes_of(widest(dtypes)))
        layout.before = Lanes(whole, first, strides[0], strides[n], dtypes[0].sizeof())
    return layout


# -- the work -------------------------------------------------------------------------------------


def _work(
    op: Op,
    memory: Memory,
    slots: Slots,
    layout: Layout,
    addresses: Sequence[int],
    cell: npt.NDArray[Any] | None,
) -> Work:
    """What computes the call at these addresses."""
    # Bits in elements of any size are looked at as bytes.
    dtypes = [
        dtype.np if dtype.sizeof() == lanes.size else np.dtype(np.uint8)
        for dtype, lanes in zip(_dtypes(op, slots), layout.lanes, strict=True)
    ]
    semantics = layout.semantics or op.spec.semantics
    assert semantics is not None
    if op.spec.signatures and layout.semantics is None:
        semantics = semantics(op.form, op.args)
    ordered = layout.in_order(addresses)
    numbers = () if cell is None else (cell,)
    if layout.spoils:
        semantics = _spoiling(semantics, layout, memory, addresses)
    if layout.kind == "index":
        views = [
            np.ndarray(lanes.extent // dtype.itemsize, dtype, memory.bytes, address)
            for lanes, address, dtype in zip(layout.lanes, addresses, dtypes, strict=True)
        ]
        return _indexed(semantics, layout, slots, views, numbers, ordered)
    views = [
        np.zeros(0) if k == layout.scratch else layout.view(k, memory, addresses[k], dtype)
        for k, dtype in enumerate(dtypes)
    ]
    if ordered:
        rows = [[view[r] for view in views] for r in range(len(views[0]))]
    elif layout.kind == "dense":
        rows = [[view.reshape(-1) for view in views]]
    else:
        rows = [views]
    steps = [_step(semantics, row[0], [row[k] for k in slots.inputs], numbers) for row in rows]
    return steps[0] if len(steps) == 1 else _sequence(steps)


def _spoiling(
    semantics: Callable[..., Any], layout: Layout, memory: Memory, addresses: Sequence[int]
) -> Callable[..., Any]:
    """What computes and leaves garbage in the workspace, before the result is written."""
    pattern = np.frombuffer(POISON.to_bytes(2, "little"), np.uint8)
    spoilt = []
    for which in layout.spoils:
        garbage = memory.array[addresses[which] :][: layout.lanes[which].extent]
        spoilt.append((garbage, np.resize(pattern, garbage.size)))

    def compute(*values: Any) -> Any:
        result = np.array(semantics(*values))
        for garbage, poison in spoilt:
            garbage[:] = poison
        return result

    return compute


def _step(
    semantics: Callable[..., Any], dst: Any, inputs: Sequence[Any], numbers: tuple[Any, ...]
) -> Work:
    if isinstance(semantics, np.ufunc):
        return partial(semantics, *inputs, *numbers, out=dst)

    def work() -> object:
        dst[...] = semantics(*inputs, *numbers)
        return None

    return work


def _sequence(steps: Sequence[Work]) -> Work:
    def work() -> None:
        for step in steps:
            step()

    return work


def _indexed(
    semantics: Callable[..., Any],
    layout: Layout,
    slots: Slots,
    views: Sequence[Any],
    numbers: tuple[Any, ...],
    ordered: bool,
) -> Work:
    """Gather, compute, scatter; an element that is written twice keeps the last value."""
    index = [layout.index(k) for k in range(slots.tensors)]
    repeats = [slice(r, r + 1) for r in range(len(index[0]))] if ordered else [slice(None)]
    dst, to = views[0], index[0]

    def work() -> None:
        for part in repeats:
            inputs = [views[k][index[k][part]] for k in slots.inputs]
            dst[to[part]] = semantics(*inputs, *numbers)

    return work
