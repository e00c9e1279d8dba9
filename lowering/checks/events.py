"""Event ids: set twice, waited for without a set, set and never waited for, never released."""

from __future__ import annotations

from ...tracer.diagnostics import Finding, finding
from ...tracer.ops import framework as rows
from ...tracer.ops import sync
from ...tracer.ops._events import never_released, unset_event
from ...tracer.trace import Op, Value
from .facts import Facts
from .state import State
from .walk import Plan, Walker, handles

_IDS = 1 << 8


def _key(op: Op) -> int | None:
    """The event and its id as one number, or None when the device decides which."""
    event_id = op.args[1]
    if isinstance(event_id, Value):
        return None
    return int(op.args[0]) * _IDS + int(event_id)


def _unknown(state: State, op: Op) -> None:
    """Some id of the event is set or cleared: nothing is known of any of them from here on."""
    event = int(op.args[0])
    state.maybe |= {_whole(event)}
    state.flags = {key: at for key, at in state.flags.items() if key // _IDS != event}


def _whole(event: int) -> int:
    return -1 - event


@handles(sync.SET_FLAG)
def _set(walker: Walker, state: State, op: Op, plan: Plan) -> None:
    key = _key(op)
    if key is None:
        _unknown(state, op)
        return
    if state.maybe:
        if _whole(key // _IDS) in state.maybe:
            return
        # Were it set, the kernel would have gone wrong here.
        state.maybe -= {key}
    before = state.flags.get(key)
    if before is not None:
        walker.report(
            state,
            op,
            "AT0204",
            f"set_flag({op.args[0].name}, {op.args[1]}) is set already",
            notes=[("set here, not waited for since", before.site)],
            hint="an event is a single bit: wait for it before it is set again",
        )
    state.flags[key] = op


@handles(sync.WAIT_FLAG)
def _wait(walker: Walker, state: State, op: Op, plan: Plan) -> None:
    key = _key(op)
    if key is None:
        _unknown(state, op)
        return
    before = state.waits.get(key)
    state.waits[key] = op
    if state.flags.pop(key, None) is not None:
        return
    if state.maybe:
        if _whole(key // _IDS) in state.maybe:
            return
        if key in state.maybe:
            state.maybe -= {key}
            return
    message, notes, hint = unset_event(
        op,
        int(op.args[1]),
        walker.set_flags.after(op, int(op.args[1])),
        before,
        [(int(other.args[1]), other) for other in state.flags.values()],
    )
    walker.report(state, op, "AT0204", message, notes=notes, hint=hint)


def kept_ids(facts: Facts) -> list[Finding]:
    """Ids of `alloc_event_id` in a kernel that releases none of the event, nor all by a reset."""
    if facts.of(rows.RESET, rows.INIT, rows.DESTROY):
        return []
    released = {op.args[2] for op in facts.of(rows.RELEASE_EVENT_ID)}
    return [
        never_released(op) for op in facts.of(rows.ALLOC_EVENT_ID) if op.args[1] not in released
    ]


def left_set(walker: Walker, state: State) -> list[Finding]:
    """Events that are set at the end of the kernel on every path."""
    return [
        finding(
            "AT0204",
            f"set_flag({op.args[0].name}, {op.args[1]}) is never waited for",
            op.site,
            severity="warning",
            hint="a set that nothing consumes disturbs the next user of the event id",
        )
        for op in state.flags.values()
        if id(op) not in walker.found
    ]
