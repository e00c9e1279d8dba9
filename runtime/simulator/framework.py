"""Executors of `TPipe`, `TQue`, flags and barriers."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ...tracer.diagnostics import Finding, KernelError, error, finding
from ...tracer.language.enums import HardEvent, PipeID
from ...tracer.ops import framework as rows
from ...tracer.ops import sync
from ...tracer.ops._events import SetFlags, unset_event
from ...tracer.trace import Op, describe
from .clocks import EVENT_PIPES, PIPE_INDEX, PIPES, SCALAR
from .memory import FREED, HELD, QUEUED, Hold, LocalView
from .registry import Executor, nothing, simulates

if TYPE_CHECKING:
    from .core import Core, Queue


@simulates(rows.TPIPE)
def _nothing(op: Op, core: Core) -> Executor:
    return nothing


@simulates(sync.PIPE_BARRIER)
def _barrier(op: Op, core: Core) -> Executor:
    """One pipe works in order by itself, but copies may end in another."""
    if op.args[0] is PipeID.PIPE_ALL:
        return core.engine.barrier
    return partial(core.engine.fence, PIPE_INDEX[op.args[0].name.removeprefix("PIPE_")])


@simulates(rows.TQUE, rows.TQUE_BIND)
def _queue(op: Op, core: Core) -> Executor:
    value = op.result
    assert value is not None

    def run() -> Queue:
        return core.queue(value)

    return run


@simulates(rows.ALLOC_TENSOR)
def _alloc(op: Op, core: Core) -> Executor:
    position = op.args[0].type.position
    limit = core.chip.position_tensors
    acquire = core.engine.acquire if core.engine.tracked else None
    memory = core.memory_of(op.args[0])

    def run(queue: Queue) -> LocalView:
        free = queue.free
        if not free:
            raise _no_buffer(op, queue)
        address = free.popleft()
        alive = 0
        for other in core.queues:
            if other.value.type.position is position:
                alive += other.num - len(other.free)
        if alive > limit:
            raise _crowded(op, core, alive, limit)
        if acquire is not None:
            before = queue.holds.get(address)
            if before is not None and before[4] is not None:
                acquire(queue.producer, before[4])
        memory.forget(address, address + queue.nbytes)
        hold = queue.holds[address] = [HELD, queue, address, op, None]
        return (address, queue.nbytes, hold)

    return run


_IN_USE = {HELD: "not freed since", QUEUED: "enqueued here, never taken"}


def _crowded(op: Op, core: Core, alive: int, limit: int) -> KernelError:
    position = op.args[0].type.position
    holds = [
        hold
        for queue in core.queues
        if queue.value.type.position is position
        for hold in queue.holds.values()
    ]
    return error(
        "AT0108",
        f"{alive} tensors are allocated at {position.name} at once, {limit} is the limit",
        op.site,
        notes=[(_IN_USE[h[0]], h[3].site) for h in holds if h[0] is not FREED],
        hint="free tensors earlier, or allocate one large tensor and take parts of it",
    )


def _no_buffer(op: Op, queue: Queue) -> KernelError:
    what = describe(queue.value)
    if not queue.num:
        return error(
            "AT0202",
            f"{what} has no buffers yet",
            op.site,
            hint="call pipe.init_buffer(queue, num, len) first, on every path",
        )
    return error(
        "AT0202",
        f"alloc_tensor waits for ever: all {queue.num} buffers of {what} are in use",
        op.site,
        notes=[(_IN_USE[h[0]], h[3].site) for h in queue.holds.values() if h[0] is not FREED],
        hint="call free_tensor when a tensor is done, or give the queue more buffers",
    )


@simulates(rows.ENQUE)
def _enque(op: Op, core: Core) -> Executor:
    depth = op.args[0].type.depth
    release = core.engine.release if core.engine.tracked else None

    def run(queue: Queue, tensor: LocalView) -> None:
        hold = tensor[2]
        if not hold[0] or hold[1] is not queue:
            raise _not_owned(op, queue, hold)
        waiting = queue.waiting
        if len(waiting) >= depth > 0:
            raise _full(op, queue)
        hold[0] = QUEUED
        hold[3] = op
        if release is not None:
            hold[4] = release(queue.producer)
        waiting.append(hold)

    return run


def _full(op: Op, queue: Queue) -> KernelError:
    return error(
        "AT0202",
        f"{describe(queue.value)} is full: {len(queue.waiting)} tensors are enqueued and its "
        f"depth is {queue.depth}",
        op.site,
        notes=[("enqueued here, not taken yet", hold[3].site) for hold in queue.waiting],
        hint="the second template argument of TQue is how many enques may come in a row",
    )


@simulates(rows.DEQUE)
def _deque(op: Op, core: Core) -> Executor:
    acquire = core.engine.acquire if core.engine.tracked else None

    def run(queue: Queue) -> LocalView:
        waiting = queue.waiting
        if not waiting:
            raise error(
                "AT0202",
                f"deque waits for ever: nothing is enqueued to {describe(queue.value)}",
                op.site,
                notes=[
                    ("allocated here, not enqueued since", hold[3].site)
                    for hold in queue.holds.values()
                    if hold[0]
                ],
                hint="the producer calls enque before the consumer calls deque",
            )
        hold = waiting.popleft()
        hold[0] = HELD
        hold[3] = op
        if acquire is not None:
            acquire(queue.consumer, hold[4])
        return (hold[2], queue.nbytes, hold)

    return run


@simulates(rows.FREE_TENSOR)
def _free(op: Op, core: Core) -> Executor:
    release = core.engine.release if core.engine.tracked else None

    def run(queue: Queue, tensor: LocalView) -> None:
        hold = tensor[2]
        if not hold[0] or hold[1] is not queue:
            raise _not_owned(op, queue, hold)
        hold[0] = FREED
        hold[3] = op
        if release is not None:
            hold[4] = release(queue.consumer)
        queue.free.append(hold[2])

    return run


def _not_owned(op: Op, queue: Queue, hold: Hold) -> KernelError:
    """Why a queue refuses a tensor in `enque` or `free_tensor`."""
    name = op.spec.name.rpartition(".")[2]
    tensor, what = describe(op.args[1]), describe(queue.value)
    notes = []
    if hold[1] is not queue:
        owner = "no queue" if hold[1] is None else describe(hold[1].value)
        text = f"{name} gives {tensor} to {what}, but it was allocated by {owner}"
    elif hold[0] is FREED:
        text = f"{name} of {tensor}, which has been freed"
        notes = [("freed here", hold[3].site)]
    else:
        text = f"{name} of {tensor}, which is enqueued"
        notes = [("enqueued here", hold[3].site)]
    return error(
        "AT0202",
        text,
        op.site,
        notes=notes,
        hint="a queue's tensors go alloc_tensor, enque, deque, free_tensor, in this order",
    )


@simulates(sync.SET_FLAG)
def _set_flag(op: Op, core: Core) -> Executor:
    flags, tokens, engine = core.flags, core.tokens, core.engine
    event, constant = op.args
    pipe = EVENT_PIPES[event][0]
    waits = core.waits if engine.tracked else None

    def run(event_id: int = constant) -> None:
        key = (event, event_id)
        if not 0 <= event_id < core.chip.event_ids:
            raise _no_event(op, core, event_id)
        if key in flags:
            core.note((op, flags[key]), _set_twice(op, flags[key], key))
        flags[key] = op
        if waits is not None and key in waits:
            _check_overrun(op, core, pipe, key)
        tokens[key] = engine.release(pipe)

    return run


@simulates(sync.WAIT_FLAG)
def _wait_flag(op: Op, core: Core) -> Executor:
    flags, tokens, engine = core.flags, core.tokens, core.engine
    event, constant = op.args
    pipe = EVENT_PIPES[event][1]
    waits = core.waits

    def run(event_id: int = constant) -> None:
        key = (event, event_id)
        if flags.pop(key, None) is None:
            if not 0 <= event_id < core.chip.event_ids:
                raise _no_event(op, core, event_id)
            raise _unset(op, core, event_id)
        engine.acquire(pipe, tokens.pop(key))
        waits[key] = (op, engine.epoch(pipe))

    return run


def _unset(op: Op, core: Core, event_id: int) -> KernelError:
    taken = core.waits.get((op.args[0], event_id))
    message, notes, hint = unset_event(
        op,
        event_id,
        SetFlags(core.trace).after(op, event_id),
        taken and taken[0],
        [(number, where) for (_, number), where in core.flags.items()],
    )
    return error("AT0204", message, op.site, notes=notes, hint=hint)


def _set_twice(op: Op, before: Op, key: tuple[HardEvent, int]) -> Finding:
    """The error of a set without a wait in between. The run goes on: it may be a missing wait."""
    return finding(
        "AT0204",
        f"set_flag({key[0].name}, {key[1]}) is set already",
        op.site,
        notes=[("set here, not waited for since", before.site)],
        hint="an event is a single bit: wait for it before it is set again",
    )


def _check_overrun(op: Op, core: Core, pipe: int, key: tuple[HardEvent, int]) -> None:
    """Warn when nothing orders a set after the wait for the set before."""
    event, event_id = key
    wait, epoch = core.waits[key]
    waiter = EVENT_PIPES[event][1]
    if waiter in (SCALAR, pipe) or core.engine.over(pipe, waiter, epoch):
        return
    core.note(
        (op, wait),
        finding(
            "AT0204",
            f"set_flag({event.name}, {event_id}) can come while the event is still set: nothing "
            f"orders it after the wait before",
            op.site,
            notes=[("the wait that may be late", wait.site)],
            severity="warning",
            hint=f"an event back, from {PIPES[waiter]} to {PIPES[pipe]}, before the next set; or "
            "alternate between more event ids",
        ),
    )


def _no_event(op: Op, core: Core, event_id: int) -> KernelError:
    return error(
        "AT0108",
        f"event id {event_id} does not exist",
        op.site,
        hint=f"{core.chip.name} has the event ids 0 to {core.chip.event_ids - 1}",
    )
