"""Uses of tensors: after free, between enque and deque."""

from __future__ import annotations

from typing import Any

from ...tracer.ops import buffers
from ...tracer.ops import tensor as tensor_rows
from ...tracer.trace import Op, Value, describe
from .state import UNKNOWN, Hold, State, Why
from .walk import Plan, Walker, handles

_MAYBE_NOTHING: Why = ("only if the amount is not 0", None)


@handles(tensor_rows.LOCAL_TENSOR, buffers.ALLOCATOR_ALLOC)
def _placed(walker: Walker, state: State, op: Op, plan: Plan) -> None:
    """A tensor of no queue."""
    walker.bind(state, op, None, Hold(None, op))


@handles(buffers.TBUF_GET, buffers.TBUF_GET_WITH_OFFSET, buffers.AUTO_TENSOR)
def _of_buffer(walker: Walker, state: State, op: Op, plan: Plan) -> None:
    """A tensor of a TBuf, which no queue takes; it lasts until its memory is taken back."""
    buf = op.args[0]
    known = state.queues.get(id(buf))
    if known is not None and not known[0]:
        walker.report(
            state,
            op,
            "AT0202",
            f"{describe(buf)} has no memory yet",
            hint="call pipe.init_buffer(buf, len) first, on every path",
        )
        known = state.queues[id(buf)] = None
    hold = Hold(buf, op, lost=True) if known is None else next(iter(known[1]))
    walker.bind(state, op, None, hold)


def use(walker: Walker, state: State, op: Op, plan: Plan) -> None:
    """An operation that has no handler of its own."""
    args = op.args
    for k, role in plan.used:
        _touch(walker, state, op, plan, args[k], role)
    for k, role in plan.lists:
        for tensor in getattr(args[k], "values", args[k]):
            _touch(walker, state, op, plan, tensor, role)
    if plan.upsets:
        if plan.pipes:
            state.forget()
        for k in plan.queues:
            if id(args[k]) in state.queues:
                state.queues[id(args[k])] = None
            else:
                state.forget()
        for k in plan.rebinds:
            state.tensors[id(args[k])] = UNKNOWN


def _touch(walker: Walker, state: State, op: Op, plan: Plan, tensor: Value, role: str) -> None:
    """A tensor is read or written: its queue has not been given it back."""
    hold = walker.lookup(state, tensor)
    owner = hold.queue
    if owner is None or hold.lost:
        return
    known = state.queues.get(id(owner))
    if known is None or hold in known[1]:
        return
    if hold in known[2]:
        text, note, at = "is enqueued", "enqueued here", known[2][hold]
    elif hold.freed is not None:
        text, note, at = "has been freed", "freed here", hold.freed
    else:
        return
    happens, why = _amount(plan, op.args)
    if happens:
        walker.report(
            state,
            op,
            "AT0202",
            f"{op.spec.name} {_verb(role)} {describe(tensor)}, which {text}",
            notes=[(note, at.site)],
            hint="a tensor is the owner's from alloc_tensor or deque to enque or free_tensor",
            why=why,
        )


def _verb(role: str) -> str:
    return "writes" if role == "out" else "reads"


def _amount(plan: Plan, args: tuple[Any, ...]) -> tuple[bool, Why]:
    """Whether an operation does anything, and on what that depends."""
    why: Why = None
    for k in plan.amounts:
        parts = args[k] if isinstance(args[k], tuple) else (args[k],)
        if not any(isinstance(part, Value) for part in parts):
            if not any(parts):
                return False, None
        elif not any(part for part in parts if not isinstance(part, Value)):
            why = _MAYBE_NOTHING
    return True, why
