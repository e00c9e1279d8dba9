"""Executors of data movement and of scalar access to memory."""

from __future__ import annotations

from functools import partial
from operator import setitem
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ...tracer.diagnostics import KernelError, error
from ...tracer.language.conversion import constant, converter
from ...tracer.ops import rules, tensor
from ...tracer.ops._copies import Way, call_of, plain
from ...tracer.ops.data_pad import DATA_COPY_PAD
from ...tracer.trace import Op, Value, describe
from .atomics import store, writing
from .copies import padding, scattered
from .memory import (
    HELD,
    GlobalMemory,
    GlobalView,
    LocalView,
    Memory,
    global_fault,
    local_fault,
    unwritten_fault,
)
from .registry import Access, Executor, Timed, Work, nothing, simulates, specialise
from .scalars import accessors

if TYPE_CHECKING:
    from .core import Core

Staged: TypeAlias = "tuple[Work, tuple[Access, ...]]"
WHOLE: Final = slice(None)


@simulates(family="copies")
def _data_copy(op: Op, core: Core) -> Executor:
    way: Way = op.spec.extra["ways"][op.form.name]
    return specialise(op, way.tensors, lambda args: _copy(op, core, way, plain(args)))


def _copy(op: Op, core: Core, way: Way, values: tuple[Any, ...]) -> Executor:
    """The executor for known numbers."""
    call = call_of(op.args, way, core.chip.arch)
    if fault := way.check(op.spec, call, values, op.site):
        raise fault
    runs = way.runs(call, values)
    if len(runs) == 1 and not runs[0].axes and runs[0].fill is None:
        return _DENSE[call.dst == "GM", call.src == "GM"](op, core, runs[0].nbytes)
    found = scattered(op, core, call, runs) if runs else nothing
    return found if op.spec is not DATA_COPY_PAD else padding(op, core, values, found)


def _gm_to_local(op: Op, core: Core, nbytes: int) -> Executor:
    memory = core.memory_of(op.args[0])
    shadow, global_shadow = memory.shadow, core.global_shadow
    parts: dict[int, tuple[memoryview, Access]] = {}

    def prepare(dst: LocalView, src: GlobalView) -> tuple[memoryview, Access]:
        address, room, hold = dst
        _, start, end = src
        known = parts.get(address)
        if known is None:
            _check_local(op, 0, dst, nbytes)
            stop = address + nbytes
            known = memory.bytes[address:stop], (shadow, address, stop, True, 0)
            parts[address] = known
        if not (0 <= start <= end - nbytes and room >= nbytes and hold[0]):
            _check_local(op, 0, dst, nbytes)
            raise global_fault(op, 1, src, start, start + nbytes)
        memory.mark(address, address + nbytes)
        return known

    def run(dst: LocalView, src: GlobalView) -> None:
        prepare(dst, src)[0][:] = src[0].bytes[src[1] : src[1] + nbytes]

    def stage(dst: LocalView, src: GlobalView) -> Staged:
        part, access = prepare(dst, src)
        gm, start, _ = src
        work = partial(setitem, part, WHOLE, gm.bytes[start : start + nbytes])
        if not gm.space.tracked:
            return work, (access,)
        at = gm.base + start
        return work, (access, (global_shadow, at, at + nbytes, False, 1))

    return Timed(run, stage)


def _local_to_gm(op: Op, core: Core, nbytes: int) -> Executor:
    memory = core.memory_of(op.args[1])
    shadow, global_shadow = memory.shadow, core.global_shadow
    parts: dict[int, tuple[memoryview, Access]] = {}

    def prepare(dst: GlobalView, src: LocalView) -> tuple[memoryview, Access]:
        _, start, end = dst
        address, room, hold = src
        known = parts.get(address)
        if known is None:
            _check_local(op, 1, src, nbytes)
            stop = address + nbytes
            known = memory.bytes[address:stop], (shadow, address, stop, False, 1)
            parts[address] = known
        if not (0 <= start <= end - nbytes and room >= nbytes and hold[0]):
            _check_local(op, 1, src, nbytes)
            raise global_fault(op, 0, dst, start, start + nbytes)
        _need_written(op, 1, memory, address, address + nbytes)
        return known

    def run(dst: GlobalView, src: LocalView) -> None:
        part = prepare(dst, src)[0]
        if core.atomic is None:
            dst[0].bytes[dst[1] : dst[1] + nbytes] = part
        else:
            store(core, op, 1, dst[0], dst[1], part)()

    def stage(dst: GlobalView, src: LocalView) -> Staged:
        part, access = prepare(dst, src)
        gm, start, _ = dst
        work: Work = (
            partial(setitem, gm.bytes, slice(start, start + nbytes), part)
            if core.atomic is None
            else store(core, op, 1, gm, start, part)
        )
        if not gm.space.tracked:
            return work, (access,)
        at = gm.base + start
        return work, (access, (global_shadow, at, at + nbytes, writing(core), 0))

    return Timed(run, stage)


def _local_to_local(op: Op, core: Core, nbytes: int) -> Executor:
    target, source = core.memory_of(op.args[0]), core.memory_of(op.args[1])

    def stage(dst: LocalView, src: LocalView) -> Staged:
        _check_local(op, 0, dst, nbytes)
        _check_local(op, 1, src, nbytes)
        to, at = dst[0], src[0]
        if target is source and 0 < abs(to - at) < nbytes:
            shared = nbytes - abs(to - at)
            raise rules.partial_overlap(op.spec, op.args[0], op.args[1], shared, op.site)
        _need_written(op, 1, source, at, at + nbytes)
        target.mark(to, to + nbytes)
        part = source.bytes[at : at + nbytes]
        return partial(setitem, target.bytes, slice(to, to + nbytes), part), (
            (source.shadow, at, at + nbytes, False, 1),
            (target.shadow, to, to + nbytes, True, 0),
        )

    return Timed(lambda dst, src: stage(dst, src)[0](), stage)


#: Copies of one run of bytes: whether they write global memory, and whether they read it.
_DENSE = {
    (False, True): _gm_to_local, (True, False): _local_to_gm, (False, False): _local_to_local,
}  # fmt: skip


def _check_local(op: Op, which: int, tensor: LocalView, nbytes: int) -> None:
    fault = local_fault(op, which, tensor, nbytes)
    if fault is not None:
        raise fault


def _need_written(op: Op, which: int, memory: Memory, start: int, stop: int) -> None:
    missing = memory.first_unwritten(start, stop)
    if missing is not None:
        raise unwritten_fault(op, which, missing, start)


# -- single elements --------------------------------------------------------------------------


@simulates(tensor.LOCAL_TENSOR)
def _local_tensor(op: Op, core: Core) -> Executor:
    if op.form.name == "empty":
        nowhere = (0, 0, [HELD, None, 0, op, None])
        return lambda: nowhere
    dtype, _, address, length = op.args
    assert op.result is not None
    memory = core.memory_of(op.result)
    size = dtype.sizeof()
    dynamic_address, dynamic_length = isinstance(address, Value), isinstance(length, Value)
    hold = [HELD, None, 0, op, None]

    def run(*values: int) -> LocalView:
        rest = iter(values)
        start = next(rest) if dynamic_address else address
        nbytes = (next(rest) if dynamic_length else length) * size
        if start < 0 or nbytes < 0 or start + nbytes > memory.size:
            raise error(
                "AT0104",
                f"{describe(op.result)} takes the bytes {start} to {start + nbytes - 1} of "
                f"{memory.name}, which has {memory.size}",
                op.site,
                hint="LocalTensor(dtype, pos, addr, tile_size): addr in bytes, tile_size in "
                "elements",
            )
        memory.use(start, start + nbytes)
        return (start, nbytes, hold)

    return run


def _index(op: Op) -> int | None:
    """The constant index of an element access, or None."""
    index = op.args[1]
    return None if isinstance(index, Value) else index


def _element_fault(op: Op, view: LocalView, index: int) -> KernelError:
    value = op.args[0]
    size = value.type.dtype.sizeof()
    fault = local_fault(op, 0, view, min(0, view[1]), align=1)
    return fault or error(
        "AT0201",
        f"element {index} of {describe(value)}, which has {max(view[1], 0) // size} elements",
        op.site,
        hint="indices count from 0; Python's negative indices have no meaning here",
    )


@simulates(tensor.LOCAL_GET_VALUE)
def _local_get(op: Op, core: Core) -> Executor:
    memory = core.memory_of(op.args[0])
    dtype = op.args[0].type.dtype
    data = memory.bytes
    size: int = dtype.sizeof()
    fixed = _index(op)
    load, _ = accessors(dtype)

    def check(view: LocalView, index: int) -> int:
        address, room, hold = view
        if not 0 <= index * size < room - size + 1 or not hold[0]:
            raise _element_fault(op, view, index)
        at = address + index * size
        if memory.first_unwritten(at, at + size) is not None:
            raise unwritten_fault(op, 0, at, address)
        return at

    def run(view: LocalView, index: int = fixed or 0) -> Any:
        return load(data, check(view, index))

    def stage(view: LocalView, index: int = fixed or 0) -> Staged:
        at = check(view, index)
        return partial(load, data, at), ((memory.shadow, at, at + size, False, 0),)

    return Timed(run, stage)


@simulates(tensor.LOCAL_SET_VALUE)
def _local_set(op: Op, core: Core) -> Executor:
    memory = core.memory_of(op.args[0])
    dtype = op.args[0].type.dtype
    data = memory.bytes
    size: int = dtype.sizeof()
    _, store = accessors(dtype)
    arrange = _set_arguments(op)

    def check(view: LocalView, index: int) -> int:
        address, room, hold = view
        if not 0 <= index * size < room - size + 1 or not hold[0]:
            raise _element_fault(op, view, index)
        at = address + index * size
        memory.mark(at, at + size)
        return at

    def run(view: LocalView, *values: Any) -> None:
        index, value = arrange(values)
        store(data, check(view, index), value)

    def stage(view: LocalView, *values: Any) -> Staged:
        index, value = arrange(values)
        at = check(view, index)
        return partial(store, data, at, value), ((memory.shadow, at, at + size, True, 0),)

    return Timed(run, stage)


def _set_arguments(op: Op) -> Any:
    """How index and value of a `set_value` follow from its runtime operands."""
    index, value = op.args[1:]
    dtype = op.args[0].type.dtype
    if isinstance(value, Value):
        convert = converter(value.type, dtype)
        if isinstance(index, Value):
            return lambda values: (values[0], convert(values[1]))
        return lambda values: (index, convert(values[0]))
    value = constant(value, dtype)
    if isinstance(index, Value):
        return lambda values: (values[0], value)
    return lambda values: (index, value)


@simulates(tensor.GLOBAL_GET_VALUE)
def _global_get(op: Op, core: Core) -> Executor:
    dtype = op.args[0].type.dtype
    size: int = dtype.sizeof()
    fixed = _index(op)
    load, _ = accessors(dtype)
    cache = core.cache

    def check(view: GlobalView, index: int) -> int:
        _, start, end = view
        at = start + index * size
        if at < 0 or at + size > end:
            raise global_fault(op, 0, view, at, at + size)
        return at

    def read(gm: GlobalMemory, at: int) -> Any:
        if cache.lines:
            return load(memoryview(cache.load(gm, at, size)), 0)
        return load(gm.bytes, at)

    def run(view: GlobalView, index: int = fixed or 0) -> Any:
        return read(view[0], check(view, index))

    def stage(view: GlobalView, index: int = fixed or 0) -> Staged:
        at = check(view, index)
        return partial(read, view[0], at), _global_access(core, view[0], at, size, False)

    return Timed(run, stage)


@simulates(tensor.GLOBAL_SET_VALUE)
def _global_set(op: Op, core: Core) -> Executor:
    dtype = op.args[0].type.dtype
    size: int = dtype.sizeof()
    _, store = accessors(dtype)
    arrange = _set_arguments(op)
    cache = core.cache

    def write(gm: GlobalMemory, at: int, value: Any) -> None:
        data = bytearray(size)
        store(memoryview(data), 0, value)
        cache.store(gm, at, data, op)

    def check(view: GlobalView, index: int) -> int:
        _, start, end = view
        at = start + index * size
        if at < 0 or at + size > end:
            raise global_fault(op, 0, view, at, at + size)
        return at

    def run(view: GlobalView, *values: Any) -> None:
        index, value = arrange(values)
        write(view[0], check(view, index), value)

    def stage(view: GlobalView, *values: Any) -> Staged:
        index, value = arrange(values)
        at = check(view, index)
        # The store enters the cache when it is issued: only the scalar unit looks there.
        write(view[0], at, value)
        return nothing, _global_access(core, view[0], at, size, True)

    return Timed(run, stage)


def _global_access(
    core: Core, gm: GlobalMemory, at: int, size: int, write: bool
) -> tuple[Access, ...]:
    if not gm.space.tracked:
        return ()
    at += gm.base
    return ((core.global_shadow, at, at + size, write, 0),)
