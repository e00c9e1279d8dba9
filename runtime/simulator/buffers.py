"""Executors that place buffers in on-chip memory: pipes, TBufs and allocators."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...tracer.diagnostics import error
from ...tracer.language.enums import HARDWARE
from ...tracer.ops import buffers
from ...tracer.ops import framework as rows
from ...tracer.trace import Op, Value, describe
from .memory import BLOCK_BYTES, FREED, HELD, Hold, LocalView, Memory
from .registry import Executor, emits, nothing, simulates

if TYPE_CHECKING:
    from .codegen import Writer
    from .core import Core, Queue


class Buf:
    """A `TBuf` at run time: its bytes, which all tensors of it share."""

    __slots__ = ("hold", "memory", "nbytes", "num", "start", "value")

    def __init__(self, value: Value, memory: Memory, op: Op) -> None:
        self.value = value
        self.memory = memory
        self.num = self.nbytes = self.start = 0
        self.hold: Hold = [HELD, self, 0, op, None]

    def release(self, op: Op) -> None:
        """A reset takes the bytes: tensors that name them are stale."""
        self.hold[0] = FREED
        self.hold[3] = op
        self.num = 0


@simulates(buffers.TBUF)
def _buf(op: Op, core: Core) -> Executor:
    value: Any = op.result
    memory = core.memory_of(value)

    def run() -> Buf:
        buf = Buf(value, memory, op)
        core.holders.append(buf)
        return buf

    return run


# -- placing ------------------------------------------------------------------------------------


def rounded(length: int) -> int:
    """A length in bytes as it is placed."""
    return (length + BLOCK_BYTES - 1) // BLOCK_BYTES * BLOCK_BYTES


def need_memory(op: Op, region: Any) -> None:
    """AT0202 for a pool that has none, or none any more."""
    if not region.size:
        raise error(
            "AT0202",
            f"{region.name} has no memory yet",
            op.site,
            hint="call pipe.init_buf_pool(pool, len) first, on every path",
        )


def place(op: Op, region: Any, owner: Queue | Buf, num: int, length: int) -> None:
    """Give a queue or TBuf the next bytes of a memory or pool; AT0104 when they do not fit."""
    each = rounded(length)
    if num <= 0 or length <= 0:
        raise error(
            "AT0108",
            f"{describe(owner.value)} gets {num} buffers of {length} bytes",
            op.site,
            hint="init_buffer(queue, num, len): num buffers of len bytes each, both positive",
        )
    need_memory(op, region)
    start = region.next
    stop = start + num * each
    if stop > region.size:
        raise error(
            "AT0104",
            f"{num} buffers of {each} bytes for {describe(owner.value)} end at byte {stop} of "
            f"{region.name}, which has {region.size}",
            op.site,
            hint="fewer or smaller buffers: the earlier queues have taken "
            f"{start} bytes of {region.name}",
        )
    region.next = stop
    owner.num, owner.nbytes = num, each
    memory = owner.memory
    if memory.high > start:
        memory.forget(start, stop)
    memory.use(start, stop)
    if isinstance(owner, Buf):
        owner.start = start
        owner.hold = [HELD, owner, start, op, None]
    else:
        owner.free.clear()
        owner.waiting.clear()
        owner.holds.clear()
        owner.free.extend(range(start, stop, each))


def amounts(op: Op) -> tuple[Any, ...]:
    """Number and length of the buffers of an `init_buffer`."""
    return tuple(op.args[2:]) if op.form.name == "queue" else (1, op.args[2])


def init_buffer(op: Op, region: Any = None) -> Executor:
    """The executor of `init_buffer`; `region` is None for pools, which are regions themselves."""
    num, length = amounts(op)
    dynamic_num, dynamic_length = isinstance(num, Value), isinstance(length, Value)

    def run(manager: Any, owner: Any, *values: int) -> None:
        rest = iter(values)
        count = next(rest) if dynamic_num else num
        each = next(rest) if dynamic_length else length
        where = manager if region is None else region
        place(op, where, owner, count, each)
        if region is None:
            manager.note(op, owner, count)

    return run


@simulates(rows.INIT_BUFFER)
def _init_buffer(op: Op, core: Core) -> Executor:
    return init_buffer(op, core.memory_of(op.args[1]))


def release(queue: Queue, op: Op) -> None:
    """A reset takes the buffers of a queue: what still names them is stale."""
    for hold in queue.holds.values():
        hold[0] = FREED
        hold[3] = op
    queue.holds.clear()
    queue.free.clear()
    queue.waiting.clear()
    queue.num = 0


@simulates(rows.RESET, rows.DESTROY, rows.INIT)
def _reset(op: Op, core: Core) -> Executor:
    """Everything in flight is waited for, all memory is free again."""
    barrier = core.engine.barrier

    def run(pipe: None) -> None:
        barrier()
        for memory in core.memories.values():
            memory.next = 0
        for queue in core.queues:
            release(queue, op)
        for holder in core.holders:
            holder.release(op)
        core.notes.clear()
        core.event_ids.clear()

    return run


# -- tensors of a TBuf --------------------------------------------------------------------------


def _no_room(op: Op, buf: Buf, start: int, nbytes: int) -> Exception:
    what = describe(buf.value)
    if not buf.num:
        return error(
            "AT0202",
            f"{what} has no memory yet",
            op.site,
            hint="call pipe.init_buffer(buf, len) first, on every path",
        )
    if start % BLOCK_BYTES:
        return error(
            "AT0103",
            f"a tensor {start} bytes into {what}",
            op.site,
            hint=f"buf_offset is in bytes, a multiple of {BLOCK_BYTES}",
        )
    return error(
        "AT0201",
        f"{nbytes} bytes from byte {start} on, but {what} has {buf.nbytes}",
        op.site,
        hint="ask for less, or give the TBuf more in init_buffer",
    )


@simulates(buffers.TBUF_GET)
def _get(op: Op, core: Core) -> Executor:
    result: Any = op.result
    dtype = result.type.dtype.sizeof()
    length = op.args[2] if op.form.name == "get" else None

    def run(buf: Buf, size: int | None = length) -> LocalView:
        nbytes = buf.nbytes if size is None else size * dtype
        if not buf.num or not 0 <= nbytes <= buf.nbytes:
            raise _no_room(op, buf, 0, nbytes)
        return (buf.start, nbytes, buf.hold)

    return run


@simulates(buffers.TBUF_GET_WITH_OFFSET)
def _get_with_offset(op: Op, core: Core) -> Executor:
    size, offset, dtype = op.args[1], op.args[2], op.args[3].sizeof()
    dynamic_size, dynamic_offset = isinstance(size, Value), isinstance(offset, Value)

    def run(buf: Buf, *values: int) -> LocalView:
        rest = iter(values)
        nbytes = (next(rest) if dynamic_size else size) * dtype
        start = next(rest) if dynamic_offset else offset
        inside = start >= 0 and 0 <= nbytes <= buf.nbytes - start
        if not buf.num or start % BLOCK_BYTES or not inside:
            raise _no_room(op, buf, start, nbytes)
        return (buf.start + start, nbytes, buf.hold)

    return run


@simulates(buffers.AUTO_TENSOR)
def _automatic(op: Op, core: Core) -> Executor:
    """As `get`; what was there before is garbage."""
    dtype, constant = op.args[1].sizeof(), op.args[2]
    memory = core.memory_of(op.args[0])

    def run(buf: Buf, size: int = constant) -> LocalView:
        nbytes = size * dtype
        if not buf.num or not 0 <= nbytes <= buf.nbytes:
            raise _no_room(op, buf, 0, nbytes)
        memory.forget(buf.start, buf.start + buf.nbytes)
        return (buf.start, nbytes, buf.hold)

    return run


# -- allocators ---------------------------------------------------------------------------------


@simulates(buffers.LOCAL_MEM_ALLOCATOR)
def _allocator(op: Op, core: Core) -> Executor:
    return lambda: [0]


@simulates(buffers.ALLOCATOR_ALLOC)
def _alloc(op: Op, core: Core) -> Executor:
    allocator, _, dtype, constant = op.args
    memory = core.memories[HARDWARE[allocator.type.hardware]]
    size = dtype.sizeof()
    hold: Hold = [HELD, None, 0, op, None]

    def run(head: list[int], count: int = constant) -> LocalView:
        start = head[0]
        stop = start + count * size
        if count <= 0 or stop > memory.size:
            raise error(
                "AT0104",
                f"{count} elements of {dtype} from byte {start} on end at byte {stop} of "
                f"{memory.name}, which has {memory.size}",
                op.site,
                hint="allocate before the loop, or fewer elements",
            )
        head[0] = stop
        memory.use(start, stop)
        return (start, stop - start, hold)

    return run


@emits(buffers.ALLOCATOR_GET_CUR_ADDR)
def _cur_addr(op: Op, writer: Writer) -> None:
    assert op.result is not None
    writer.line(f"{writer.define(op.result)} = {writer.value(op.args[0])}[0]")


# -- events -------------------------------------------------------------------------------------


def _taken(core: Core, event: Any) -> dict[int, Op]:
    """The ids of an event that are taken, with the operation that took each."""
    return core.event_ids.setdefault(event, {})


def _free_id(op: Op, core: Core) -> int:
    event = op.args[1]
    taken = _taken(core, event)
    for event_id in range(core.chip.event_ids):
        if event_id not in taken:
            return event_id
    raise error(
        "AT0204",
        f"{op.spec.name.rpartition('.')[2]}: all {core.chip.event_ids} ids of {event.name} are "
        "taken",
        op.site,
        notes=[("taken here", by.site) for by in taken.values()],
        hint="release_event_id gives an id back",
    )


@simulates(rows.ALLOC_EVENT_ID)
def _alloc_event_id(op: Op, core: Core) -> Executor:
    def run(pipe: None) -> int:
        event_id = _free_id(op, core)
        _taken(core, op.args[1])[event_id] = op
        return event_id

    return run


@simulates(rows.FETCH_EVENT_ID)
def _fetch_event_id(op: Op, core: Core) -> Executor:
    return lambda pipe: _free_id(op, core)


@simulates(rows.RELEASE_EVENT_ID)
def _release_event_id(op: Op, core: Core) -> Executor:
    _, constant, event = op.args

    def run(pipe: None, event_id: int = constant) -> None:
        taken = _taken(core, event)
        if event_id not in taken:
            raise error(
                "AT0204",
                f"release_event_id({event_id}, {event.name}), which is not taken",
                op.site,
                hint="release each id of alloc_event_id once, with the same event",
            )
        del taken[event_id]

    return run


# -- state of queues ----------------------------------------------------------------------------


@simulates(rows.HAS_IDLE_BUFFER)
def _has_idle_buffer(op: Op, core: Core) -> Executor:
    return lambda queue: bool(queue.free)


@simulates(rows.HAS_TENSOR_IN_QUE)
def _has_tensor(op: Op, core: Core) -> Executor:
    return lambda queue: bool(queue.waiting)


@simulates(rows.VACANT_IN_QUE)
def _vacant(op: Op, core: Core) -> Executor:
    return lambda queue: len(queue.waiting) < queue.depth


@simulates(rows.GET_TENSOR_COUNT)
def _count(op: Op, core: Core) -> Executor:
    return lambda queue: len(queue.waiting)


@simulates(rows.FREE_ALL_EVENT)
def _free_all_event(op: Op, core: Core) -> Executor:
    """What was freed is waited for: the events of freed buffers are over."""
    return nothing


@emits(rows.GET_BASE_ADDR)
def _base_addr(op: Op, writer: Writer) -> None:
    assert op.result is not None
    writer.line(f"{writer.define(op.result)} = 0")


@simulates(rows.INIT_BUF_HANDLE, rows.INIT_START_BUF_HANDLE)
def _handles(op: Op, core: Core) -> Executor:
    """Custom pools are C++; there is nothing that could give a handle here."""

    def run(*values: Any) -> None:
        raise error(
            "AT0307",
            f"{op.spec.name.rpartition('.')[2]} serves pools written in C++, which the simulator "
            "does not have",
            op.site,
            hint="TBufPool.init_buffer places the buffers of a queue",
        )

    return run
