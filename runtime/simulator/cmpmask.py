"""The register of 128 bits of a core: compared into, set, read and selected by.

The vector pipe writes and reads it, so that its bits are those of the time when a call runs, in the
order of the pipe; what is known of it (`CmpMask.defined`) is kept when calls are issued.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...tracer.chip import BLOCK_BYTES
from ...tracer.diagnostics import error
from ...tracer.language.dtypes import uint8
from ...tracer.language.enums import SelMode
from ...tracer.language.tensor import LocalTensor
from ...tracer.language.types import LocalTensorType
from ...tracer.ops import rules, vec_cmpmask, vec_cmpsel
from ...tracer.ops._moves import MEMORY, Where
from ...tracer.ops._vector import Slots, selected, slots_of
from ...tracer.trace import Op
from .clocks import PIPE_INDEX
from .lanes import Lanes, Layout, lanes_at
from .masks import Part, normal_only, under_register
from .memory import LocalView, local_fault, unwritten_fault
from .registry import Access, Executor, Timed, Work, simulates, specialise
from .vector import execute

if TYPE_CHECKING:
    from .core import Core

_NBYTES, _ROOM = vec_cmpmask.NBYTES, vec_cmpmask.ROOM


@simulates(vec_cmpmask.SET_CMP_MASK)
def _set(op: Op, core: Core) -> Executor:
    memory, register = core.memory_of(op.args[0]), core.cmp

    def stage(tensor: LocalView) -> tuple[Work, tuple[Access, ...]]:
        if fault := local_fault(op, 0, tensor, _NBYTES, _NBYTES):
            raise fault
        address = tensor[0]
        missing = memory.first_unwritten(address, address + _NBYTES)
        if missing == address:
            raise unwritten_fault(op, 0, missing, address)
        register.set(_NBYTES if missing is None else missing - address, op)
        view, bits = memory.array[address : address + _NBYTES], register.bits

        def work() -> None:
            bits[:] = view

        return work, ((memory.shadow, address, address + _NBYTES, False, 0),)

    return Timed(lambda *values: stage(*values)[0](), stage)


@simulates(vec_cmpmask.GET_CMP_MASK)
def _get(op: Op, core: Core) -> Executor:
    memory, register = core.memory_of(op.args[0]), core.cmp

    def stage(tensor: LocalView) -> tuple[Work, tuple[Access, ...]]:
        if fault := local_fault(op, 0, tensor, _ROOM, _NBYTES):
            raise fault
        register.need(op, 1)
        address = tensor[0]
        memory.forget(address, address + _ROOM)
        memory.mark(address, address + _NBYTES)
        view, bits = memory.array[address : address + _ROOM], register.bits

        def work() -> None:
            view[_NBYTES:] = 0xFF
            view[:_NBYTES] = bits

        return work, ((memory.shadow, address, address + _ROOM, True, 0),)

    return Timed(lambda *values: stage(*values)[0](), stage)


# -- compare --------------------------------------------------------------------------------------


def compare(op: Op, core: Core, comparison: Any) -> Executor:
    """One repeat of two sources into the register."""
    dtype, slots = op.args[0].type.dtype, slots_of(op.form)

    def make(part: Part | None) -> Executor:
        def of(args: tuple[Any, ...]) -> Executor:
            full = (*op.args[: slots.passed], *args)
            return _compared(op, core, slots, full, part, comparison)

        return specialise(op, slots.passed, of)

    if core.masks is None:
        return make(None)
    return normal_only(op, core, under_register(op, core, dtype, make), keeps=True)


def _compared(
    op: Op, core: Core, slots: Slots, args: tuple[Any, ...], part: Part | None, comparison: Any
) -> Executor:
    dtype, memory, register = op.args[0].type.dtype, core.memory_of(op.args[0]), core.cmp
    strides = slots.strides_of(args)
    fault = rules.bad_strides(op.spec, zip(strides, slots.limits, strict=True), op.site)
    if part is None:
        mask = args[slots.amount]
        if slots.kind == "mask":
            fault = fault or rules.bad_mask(op.spec, mask, dtype, op.site)
        picked = selected(mask, dtype) if slots.kind == "bits" else range(max(mask, 0))
        lanes = np.array(picked, np.int64)
    else:
        lanes = part.lanes
    if fault:
        raise fault
    if not lanes.size:
        return Timed(lambda *values: None, lambda *values: ((lambda: None), ()))
    sources = [Lanes(lanes, 1, strides[k], 8, dtype.sizeof()) for k in (1, 2)]
    offsets = [part.offsets.reshape(-1) for part in sources]

    def stage(*tensors: LocalView) -> tuple[Work, tuple[Access, ...]]:
        accesses: list[Access] = []
        views = []
        for which, (tensor, source) in enumerate(zip(tensors, sources, strict=True)):
            if fault := local_fault(op, which, tensor, source.extent):
                raise fault
            address = tensor[0]
            if memory.written is not None:
                missing = memory.written.missing_of(offsets[which] + address)
                if missing is not None:
                    raise unwritten_fault(op, which, missing, address)
            accesses += [
                (memory.shadow, address + start, address + stop, False, which)
                for start, stop in source.runs()
            ]
            count = source.extent // dtype.sizeof()
            views.append(np.ndarray(count, dtype.np, memory.bytes, address))
        register.set(_NBYTES, op)
        index = [offset // dtype.sizeof() for offset in offsets]

        def work() -> None:
            bits = np.unpackbits(register.bits, bitorder="little")
            bits[lanes] = comparison(views[0][index[0]], views[1][index[1]])
            register.bits[:] = np.packbits(bits, bitorder="little")

        return work, tuple(accesses)

    return Timed(lambda *values: stage(*values)[0](), stage)


# -- select ---------------------------------------------------------------------------------------


def select(op: Op, core: Core) -> Executor:
    """By the bits of the register, with the number in it, or by bits at the address in it."""
    if op.form.name == "register" and op.args[5] is SelMode.VSEL_TENSOR_TENSOR_MODE:
        return _by_address(op, core)
    dtype = op.args[0].type.dtype
    number = op.form.name == "register_number"
    layout_of = partial(_by_number if number else _by_bits, core)
    inner = execute(op, core, layout_of, dtype)
    assert isinstance(inner, Timed)
    need = dtype.sizeof() if number else rules.lanes_of(dtype) // 8

    def stage(*values: Any) -> tuple[Work, tuple[Access, ...]]:
        core.cmp.need(op, need)
        return inner.stage(*values)

    return Timed(lambda *values: stage(*values)[0](), stage)


def _elements(op: Op, slots: Slots, args: tuple[Any, ...], part: Part | None) -> list[Lanes]:
    """Destination, then the sources that the strides are for."""
    assert part is not None
    strides = slots.strides_of(args)
    fault = rules.bad_strides(op.spec, zip(strides, slots.limits, strict=True), op.site)
    if fault:
        raise fault
    size = op.args[0].type.dtype.sizeof()
    return [
        Lanes(part.lanes, part.repeat, block, rep, size, part.first)
        for block, rep in vec_cmpsel.steps(slots, args)
    ]


def _by_bits(
    core: Core, op: Op, slots: Slots, args: tuple[Any, ...], part: Part | None = None
) -> Layout | None:
    layout = Layout(_elements(op, slots, args, part))
    assert part is not None
    lanes, bits = part.lanes, core.cmp.bits
    if layout.kind == "dense":
        layout.kind = "even"
    elif layout.kind == "blocks":
        layout.kind = "index"  # the lanes of a repeat in one axis

    def choose(src0: Any, src1: Any) -> Any:
        taken = np.unpackbits(bits, bitorder="little")[lanes]
        return np.where(taken, src0, src1)

    layout.semantics = choose
    return layout


def _by_address(op: Op, core: Core) -> Executor:
    """As with the bits for a source; what the register holds is looked at when it is issued."""
    dst, src0, src1, repeat, params, _ = op.args
    memory, register = core.memory_of(dst), core.cmp
    bits = LocalTensor.view(LocalTensorType(uint8, dst.type.position), dst.block, None, None)
    bits.name = "the bits"
    called = Op(
        op.spec, vec_cmpsel.BY_ADDRESS, (dst, bits, src0, src1, repeat, params), op.site, None
    )
    inner = execute(called, core, partial(_by_number, core), dst.type.dtype)
    assert isinstance(inner, Timed)
    nbytes = 8 if core.chip.arch == "3510" else 4

    def stage(dst: LocalView, *values: Any) -> tuple[Work, tuple[Access, ...]]:
        register.need(op, nbytes)
        core.engine.settle_pipe(PIPE_INDEX["V"])
        address = int.from_bytes(register.bits[:nbytes].tobytes(), "little")
        if address % BLOCK_BYTES or address >= memory.size:
            raise error(
                "AT0201",
                f"{op.spec.name} by bits at the address {address} of UB, which has {memory.size} "
                "bytes",
                op.site,
                hint=f"put an address of get_phy_addr, a multiple of {BLOCK_BYTES}, into the "
                "tensor of set_cmp_mask",
            )
        view = address, memory.size - address, [True]
        work, accesses = inner.stage(dst, view, *values)
        return work, tuple((*access[:4], _OPERANDS[access[4]]) for access in accesses)

    return Timed(lambda *values: stage(*values)[0](), stage)


#: What the operands of a selection with the bits for a source are to the call.
_OPERANDS: dict[Any, Where] = {0: 0, 1: MEMORY, 2: 1, 3: 2}


def _by_number(
    core: Core, op: Op, slots: Slots, args: tuple[Any, ...], part: Part | None = None
) -> Layout | None:
    """By bits that go on from repeat to repeat: two sources, or one and the number."""
    elements = _elements(op, slots, args, part)[: slots.tensors - 1]
    assert part is not None
    dtype = op.args[0].type.dtype
    each = rules.lanes_of(dtype) // 8
    repeats = np.arange(part.first, part.first + part.repeat)
    groups = lanes_at(repeats[:, None] * each + np.arange(each), 1)
    layout = Layout([elements[0], groups, *elements[1:]])
    if layout.kind == "dense":
        layout.kind = "even"
    elif layout.kind == "blocks":
        layout.kind = "index"
    lanes, number = part.lanes, core.cmp.bits[: dtype.sizeof()].view(dtype.np)

    def choose(bits: Any, src0: Any, *src1: Any) -> Any:
        taken = np.unpackbits(bits, axis=-1, bitorder="little")[..., lanes]
        return np.where(taken, src0, *(src1 or number[:1]))

    layout.semantics = choose
    return layout
