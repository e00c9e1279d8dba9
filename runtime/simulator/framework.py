"""Executors of `TPipe`, `TQue`, flags and barriers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...tracer.diagnostics import KernelError, error
from ...tracer.ops import framework as rows
from ...tracer.ops import sync
from ...tracer.trace import Op, describe
from .memory import FREED, HELD, QUEUED, Hold, LocalView
from .registry import Executor, nothing, simulates

if TYPE_CHECKING:
    from .core import Core, Queue


@simulates(rows.TPIPE, sync.PIPE_BARRIER)
def _nothing(op: Op, core: Core) -> Executor:
    return nothing


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

    def run(queue: Queue) -> LocalView:
        free = queue.free
        if not free:
            raise _no_buffer(op, queue)
        address = free.popleft()
        hold = queue.holds[address] = [HELD, queue, address, op]
        alive = 0
        for other in core.queues:
            if other.value.type.position is position:
                alive += other.num - len(other.free)
        if alive > limit:
            raise _crowded(op, alive, limit)
        return (address, queue.nbytes, hold)

    return run


def _crowded(op: Op, alive: int, limit: int) -> KernelError:
    position = op.args[0].type.position.name
    return error(
        "AT0108",
        f"{alive} tensors are allocated at {position} at once, {limit} is the limit",
        op.site,
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
    done = {HELD: "not freed since", QUEUED: "enqueued here, never taken"}
    return error(
        "AT0202",
        f"alloc_tensor waits for ever: all {queue.num} buffers of {what} are in use",
        op.site,
        notes=[(done[h[0]], h[3].site) for h in queue.holds.values() if h[0] is not FREED],
        hint="call free_tensor when a tensor is done, or give the queue more buffers",
    )


@simulates(rows.ENQUE)
def _enque(op: Op, core: Core) -> Executor:
    depth = op.args[0].type.depth

    def run(queue: Queue, tensor: LocalView) -> None:
        hold = tensor[2]
        if not hold[0] or hold[1] is not queue:
            raise _not_owned(op, queue, hold)
        waiting = queue.waiting
        if len(waiting) >= depth > 0:
            raise _full(op, queue)
        hold[0] = QUEUED
        hold[3] = op
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
    def run(queue: Queue) -> LocalView:
        waiting = queue.waiting
        if not waiting:
            raise error(
                "AT0202",
                f"deque waits for ever: nothing is enqueued to {describe(queue.value)}",
                op.site,
                hint="the producer calls enque before the consumer calls deque",
            )
        hold = waiting.popleft()
        hold[0] = HELD
        hold[3] = op
        return (hold[2], queue.nbytes, hold)

    return run


@simulates(rows.FREE_TENSOR)
def _free(op: Op, core: Core) -> Executor:
    def run(queue: Queue, tensor: LocalView) -> None:
        hold = tensor[2]
        if not hold[0] or hold[1] is not queue:
            raise _not_owned(op, queue, hold)
        hold[0] = FREED
        hold[3] = op
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
    flags = core.flags
    event, constant = op.args

    def run(event_id: int = constant) -> None:
        key = (event, event_id)
        if not 0 <= event_id < core.chip.event_ids:
            raise _no_event(op, core, event_id)
        if key in flags:
            raise error(
                "AT0204",
                f"set_flag({event.name}, {event_id}) is set already",
                op.site,
                notes=[("set here, not waited for since", flags[key].site)],
                hint="an event is a single bit: wait for it before it is set again",
            )
        flags[key] = op

    return run


@simulates(sync.WAIT_FLAG)
def _wait_flag(op: Op, core: Core) -> Executor:
    flags = core.flags
    event, constant = op.args

    def run(event_id: int = constant) -> None:
        if flags.pop((event, event_id), None) is None:
            if not 0 <= event_id < core.chip.event_ids:
                raise _no_event(op, core, event_id)
            raise error(
                "AT0204",
                f"wait_flag({event.name}, {event_id}) waits for ever: nothing sets the event",
                op.site,
                hint="set_flag with the same event and id comes first",
            )

    return run


def _no_event(op: Op, core: Core, event_id: int) -> KernelError:
    return error(
        "AT0108",
        f"event id {event_id} does not exist",
        op.site,
        hint=f"{core.chip.name} has the event ids 0 to {core.chip.event_ids - 1}",
    )
