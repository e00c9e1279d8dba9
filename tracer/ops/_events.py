"""What is said of events by the checks and by the simulator: unset ones, ids that are kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..diagnostics import Finding, Site, finding
from ..trace import Op, Trace, Value
from .sync import SET_FLAG


class SetFlags:
    """The `set_flag`s of a trace in program order."""

    def __init__(self, trace: Trace) -> None:
        ops = [node for node in trace.walk() if isinstance(node, Op)]
        self._place = {id(op): k for k, op in enumerate(ops)}
        self._sets: dict[Any, list[Op]] = {}
        for op in ops:
            if op.spec is SET_FLAG:
                self._sets.setdefault(op.args[0], []).append(op)

    def after(self, wait: Op, event_id: int) -> Op | None:
        """The next one in the text that sets, or may set, what an operation waits for."""
        place = self._place
        for op in self._sets.get(wait.args[0], ()):
            if place[id(op)] > place[id(wait)] and (
                isinstance(op.args[1], Value) or op.args[1] == event_id
            ):
                return op
        return None


def unset_event(
    wait: Op, event_id: int, later: Op | None, taken: Op | None, others: Iterable[tuple[int, Op]]
) -> tuple[str, list[tuple[str, Site]], str]:
    """Message, notes and hint for a wait that nothing has set.

    `later` is a `set_flag` for it that comes only behind the wait (`SetFlags.after`), `taken` the
    wait that took the set before, `others` the events that are set, with their ids.

    A pipe could wait for a set that is issued later. It is refused nevertheless: the queue of a
    pipe has room for few instructions (2201: 32 on MTE1 and M), and when it is full the scalar unit
    stops in front of it, and never comes to the set.
    """
    event = wait.args[0]
    name = f"wait_flag({event.name}, {event_id})"
    notes = [] if taken is None else [("the set before was waited for here", taken.site)]
    if later is None:
        notes += [
            (f"set here: {op.args[0].name}, {number}", op.site)
            for number, op in others
            if op.args[0] is event or number == event_id
        ]
        text = f"{name} waits for ever: nothing sets the event"
        return text, notes, "set_flag with the same event and id comes first"
    notes.append(("set here, behind the wait", later.site))
    if event.name.endswith("_S"):
        text = f"{name} waits for ever: the scalar unit waits here and never comes to the set_flag"
    else:
        text = f"{name} comes before its set_flag"
    return text, notes, (
        "put the set_flag first: once the queue of a waiting pipe is full, nothing behind the wait "
        "is issued; in a loop, set the event once before it and wait for it once after it"
    )  # fmt: skip


def never_released(alloc: Op) -> Finding:
    """The warning about an id of `alloc_event_id` that the kernel keeps."""
    return finding(
        "AT0204",
        f"alloc_event_id({alloc.args[1].name}) takes an id that is never released",
        alloc.site,
        severity="warning",
        hint="release_event_id(id, event) when the last wait for it is issued",
    )
