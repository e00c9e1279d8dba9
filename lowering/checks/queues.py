"""The life of a queue's tensors: alloc, enque, deque, free, and nothing else in between."""

from __future__ import annotations

from typing import Any

from ...tracer.diagnostics import Finding, Site, finding
from ...tracer.language.types import QueueType
from ...tracer.ops import buffers
from ...tracer.ops import framework as rows
from ...tracer.trace import Op, Value, describe
from .state import Hold, Known, State, Tensors
from .walk import Plan, Walker, handles

_ORDER = "a queue's tensors go alloc_tensor, enque, deque, free_tensor, in this order"


def _queue(state: State, op: Op, which: int = 0) -> Known | None:
    """What is known of the queue an operation works on.

    A queue that is not the kernel's own (none is known now) may be any of them.
    """
    known = state.queues.get(id(op.args[which]), _STRANGE)
    if known is _STRANGE:
        state.forget()
        return None
    return known  # type: ignore[return-value]


#: What is known of a queue that is not the kernel's own.
_STRANGE = object()


def _tensor(op: Op, plan: Plan) -> Any:
    """The tensor that an operation takes or fills in, or None."""
    return None if plan.tensor is None else op.args[plan.tensor]


def _without(tensors: Tensors, hold: Hold) -> Tensors:
    if len(tensors) == 1:
        return {}
    rest = tensors.copy()
    del rest[hold]
    return rest


def _lose(known: Known | None) -> None:
    """What named tensors of a queue refers to others from here on."""
    for hold in () if known is None else (*known[1], *known[2]):
        hold.lost = True


@handles(rows.INIT_BUFFER, buffers.POOL_INIT_BUFFER)
def _init(walker: Walker, state: State, op: Op, plan: Plan) -> None:
    """The queue or TBuf begins anew, whatever was known of it."""
    owner = op.args[1]
    if op.spec is buffers.POOL_INIT_BUFFER:
        _check_pool(walker, state, op)
    if not isinstance(owner.type, QueueType):
        _give(state, op)
        return
    known = _queue(state, op, 1)
    if id(owner) in state.queues:
        _lose(known)
        num = op.args[2]
        state.queues[id(owner)] = (None if isinstance(num, Value) else int(num), {}, {})


@handles(buffers.TBUF, buffers.TBUF_POOL)
def _without_memory(walker: Walker, state: State, op: Op, plan: Plan) -> None:
    """A new TBuf or pool."""
    _lose(state.queues.get(id(op.result)))
    state.queues[id(op.result)] = (0, {}, {})


@handles(buffers.INIT_BUF_POOL, buffers.POOL_INIT_BUF_POOL)
def _init_pool(walker: Walker, state: State, op: Op, plan: Plan) -> None:
    if op.spec is buffers.POOL_INIT_BUF_POOL:
        _check_pool(walker, state, op)
    _give(state, op)


def _give(state: State, op: Op) -> None:
    """A TBuf or pool gets memory: one hold stands for all its tensors until a reset."""
    owner = op.args[1]
    if id(owner) in state.queues:
        _lose(state.queues[id(owner)])
        state.queues[id(owner)] = (1, {Hold(owner, op): op}, {})


def _check_pool(walker: Walker, state: State, op: Op) -> None:
    """A pool that gives memory has some."""
    pool = op.args[0]
    known = state.queues.get(id(pool))
    if known is not None and not known[0]:
        walker.report(
            state,
            op,
            "AT0202",
            f"{describe(pool)} has no memory yet",
            hint="call pipe.init_buf_pool(pool, len) first, on every path",
        )
        state.queues[id(pool)] = None


def _take_back(state: State, key: int, op: Op) -> None:
    """A reset takes the buffers of a queue: its tensors are over."""
    known = state.queues[key]
    if known is not None:
        for hold in (*known[1], *known[2]):
            hold.freed = op
    state.queues[key] = (0, {}, {})


@handles(rows.RESET, rows.DESTROY, rows.INIT)
def _reset(walker: Walker, state: State, op: Op, plan: Plan) -> None:
    for key in state.queues:
        _take_back(state, key, op)


@handles(buffers.POOL_RESET)
def _reset_pool(walker: Walker, state: State, op: Op, plan: Plan) -> None:
    """What has memory of this pool alone, or of a pool in it, begins anew; others may."""
    taken: list[int | None] = [id(op.args[0])]
    for pool in taken:
        for key, known in state.queues.items():
            parents = walker.parents.get(key, set())
            if parents == {pool} and known is not None:
                _take_back(state, key, op)
                taken.append(key)
            elif len(parents) > 1:
                state.queues[key] = None


@handles(
    rows.ALLOC_EVENT_ID,
    rows.RELEASE_EVENT_ID,
    rows.FETCH_EVENT_ID,
    rows.GET_BASE_ADDR,
    rows.FREE_ALL_EVENT,
    rows.HAS_IDLE_BUFFER,
    rows.HAS_TENSOR_IN_QUE,
    rows.VACANT_IN_QUE,
    rows.GET_TENSOR_COUNT,
)
def _keeps(walker: Walker, state: State, op: Op, plan: Plan) -> None:
    """Nothing that is followed here changes."""


@handles(rows.ALLOC_TENSOR)
def _alloc(walker: Walker, state: State, op: Op, plan: Plan) -> None:
    queue = op.args[0]
    known = _queue(state, op)
    hold = Hold(queue, op, lost=known is None)
    if known is not None:
        num, held, waiting = known
        if num is not None and len(held) + len(waiting) >= num:
            _no_buffer(walker, state, op, known)
            state.queues[id(queue)] = None
        else:
            state.queues[id(queue)] = (num, {**held, hold: op}, waiting)
            if walker.crowded(queue.type.position):
                _check_position(walker, state, op, hold)
    walker.bind(state, op, _tensor(op, plan), hold)


def _no_buffer(walker: Walker, state: State, op: Op, known: Known) -> None:
    num = known[0]
    what = describe(op.args[0])
    if not num:
        walker.report(
            state,
            op,
            "AT0202",
            f"{what} has no buffers yet",
            hint="call pipe.init_buffer(queue, num, len) first, on every path",
        )
        return
    walker.report(
        state,
        op,
        "AT0202",
        f"alloc_tensor waits for ever: all {num} buffers of {what} are in use",
        notes=_in_use(known),
        hint="call free_tensor when a tensor is done, or give the queue more buffers",
    )


def _in_use(known: Known, new: Hold | None = None) -> list[tuple[str, Site]]:
    """Who holds the buffers of a queue, `new` left out."""
    _, held, waiting = known
    return [
        *(("not freed since", at.site) for hold, at in held.items() if hold is not new),
        *(("enqueued here, never taken", at.site) for at in waiting.values()),
    ]


def _check_position(walker: Walker, state: State, op: Op, hold: Hold) -> None:
    """Tensors of all queues at one position, those of unknown queues left out."""
    position = op.args[0].type.position
    limit = walker.chip.position_tensors
    here = [
        known
        for key, known in state.queues.items()
        if known is not None
        and key in walker.queues
        and walker.queues[key].type.position is position
    ]
    count = sum(len(held) + len(waiting) for _, held, waiting in here)
    if count > limit:
        walker.report(
            state,
            op,
            "AT0108",
            f"{count} tensors are allocated at {position.name} at once, {limit} is the limit",
            notes=[note for known in here for note in _in_use(known, hold)],
            hint="free tensors earlier, or allocate one large tensor and take parts of it",
        )


@handles(rows.ENQUE)
def _enque(walker: Walker, state: State, op: Op, plan: Plan) -> None:
    queue = op.args[0]
    known = _queue(state, op)
    hold = _own(walker, state, op, plan, known)
    if known is None or hold is None:
        return
    num, held, waiting = known
    if len(waiting) >= queue.type.depth > 0:
        walker.report(
            state,
            op,
            "AT0202",
            f"{describe(queue)} is full: {len(waiting)} tensors are enqueued and its depth is "
            f"{queue.type.depth}",
            notes=[("enqueued here, not taken yet", at.site) for at in waiting.values()],
            hint="the second template argument of TQue is how many enques may come in a row",
        )
    state.queues[id(queue)] = (num, _without(held, hold), {**waiting, hold: op})


@handles(rows.DEQUE)
def _deque(walker: Walker, state: State, op: Op, plan: Plan) -> None:
    queue = op.args[0]
    known = _queue(state, op)
    if known is None or not known[2]:
        if known is not None:
            walker.report(
                state,
                op,
                "AT0202",
                f"deque waits for ever: nothing is enqueued to {describe(queue)}",
                notes=[("allocated here, not enqueued since", at.site) for at in known[1].values()],
                hint="the producer calls enque before the consumer calls deque",
            )
        hold = Hold(queue, op, lost=True)
    else:
        num, held, waiting = known
        hold = next(iter(waiting))
        state.queues[id(queue)] = (num, {**held, hold: op}, _without(waiting, hold))
    walker.bind(state, op, _tensor(op, plan), hold)


@handles(rows.FREE_TENSOR)
def _free(walker: Walker, state: State, op: Op, plan: Plan) -> None:
    known = _queue(state, op)
    hold = _own(walker, state, op, plan, known)
    if known is None or hold is None:
        return
    num, held, waiting = known
    hold.freed = op
    state.queues[id(op.args[0])] = (num, _without(held, hold), waiting)


def _own(walker: Walker, state: State, op: Op, plan: Plan, known: Known | None) -> Hold | None:
    """The tensor that `enque` or `free_tensor` hands over, when the queue surely holds it.

    Otherwise it is reported, or the queue is unknown from here on.
    """
    queue, tensor = op.args[0], _tensor(op, plan)
    hold = walker.lookup(state, tensor)
    if known is not None and hold in known[1] and hold.queue is queue and not hold.lost:
        return hold
    name = op.spec.name.rpartition(".")[2]
    if hold.queue is not queue and not (hold.lost and hold.queue is None):
        owner = "no queue" if hold.queue is None else describe(hold.queue)
        walker.suspect.add(id(hold.queue))
        _refuse(
            walker,
            state,
            op,
            f"{name} gives {describe(tensor)} to {describe(queue)}, "
            f"but it was allocated by {owner}",
        )
        return None
    if known is None or hold.lost:
        state.queues[id(queue)] = None
        return None
    if hold in known[2]:
        text, note, at = "is enqueued", "enqueued here", known[2][hold]
    elif hold.freed is not None:
        text, note, at = "has been freed", "freed here", hold.freed
    else:
        return None
    _refuse(walker, state, op, f"{name} of {describe(tensor)}, which {text}", (note, at))
    return None


def _refuse(
    walker: Walker, state: State, op: Op, text: str, note: tuple[str, Op] | None = None
) -> None:
    notes = [] if note is None else [(note[0], note[1].site)]
    walker.report(state, op, "AT0202", text, notes=notes, hint=_ORDER)


def _also(hold: Hold) -> list[tuple[str, Site]]:
    """Where it is left on another path."""
    return [] if hold.also is None else [("on another path this one", hold.also.site)]


#: What is said of tensors that are left held, or enqueued.
_LEFT = (
    ("a tensor of {} is never freed", "call free_tensor, or enque it for its consumer"),
    (
        "a tensor enqueued to {} is never taken",
        "the consumer calls deque and free_tensor once for each enque",
    ),
)


def left_behind(walker: Walker, state: State) -> list[Finding]:
    """Tensors that are held or enqueued at the end of the kernel on every path.

    A queue that has findings already is left out: what it holds is their consequence.
    """
    out = []
    for key, known in state.queues.items():
        if known is None or key in walker.suspect or key not in walker.queues:
            continue
        for holds, (text, hint) in zip(known[1:], _LEFT, strict=True):
            out += [
                finding(
                    "AT0202",
                    text.format(describe(walker.queues[key])),
                    op.site,
                    notes=_also(hold),
                    severity="warning",
                    hint=hint,
                )
                for hold, op in holds.items()
            ]
    return out
