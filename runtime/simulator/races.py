"""Findings of the search for races: what is unordered, which event is missing and where it goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from ...tracer.diagnostics import Finding, finding, span_of
from ...tracer.language.enums import HardEvent
from ...tracer.ops._moves import MEMORY, Where, operand
from ...tracer.ops.tensor import GLOBAL_SLICE, LOCAL_SLICE
from ...tracer.trace import Op, Value, describe
from .clocks import EVENT_PIPES, PIPES, SCALAR
from .registry import Access
from .shadow import Conflict, Stamp
from .turns import Turns

if TYPE_CHECKING:
    from .cache import DataCache
    from .core import Core

#: The name of an event that is set and not waited for, and the operation that sets it.
Unwaited: TypeAlias = tuple[str, Op]

#: Pairs of lines reported in one launch; more would hide the first ones.
MAX_FINDINGS = 50

_ORDER = {
    (True, False): "read after write",
    (False, True): "write after read",
    (True, True): "write after write",
}


class Races:
    """The races of a launch. Shadows append to `conflicts`; `report` makes findings of them."""

    def __init__(self) -> None:
        self.conflicts: list[Conflict] = []
        self._seen: set[tuple[int, int, bool]] = set()
        self._findings: dict[tuple[object, ...], Finding] = {}
        self._core: Core | None = None
        self._turns: Turns | None = None

    def clear(self, core: Core) -> None:
        """A launch starts on a core."""
        if self._core is not core:
            self._core = core
            self._turns = Turns(core.trace)
        self.conflicts.clear()
        self._seen.clear()
        self._findings.clear()

    def enter(self, core: Core) -> None:
        """Another core of the launch goes on."""
        self._core = core

    def findings(self) -> list[Finding]:
        """One finding a pair of lines, in the order found."""
        return list(self._findings.values())

    def report(self, accesses: Sequence[Access]) -> None:
        """Take the conflicts of an operation that makes these accesses."""
        assert self._turns is not None
        for conflict in self.conflicts:
            shadow, first, second, start, stop, _, writes = conflict
            pair = (id(first.op), id(second.op), first.block == second.block)
            if pair in self._seen or self._handled_by_cache(conflict):
                continue
            self._seen.add(pair)
            which = _operand(accesses, shadow, start, stop, writes)
            if first.block != second.block:
                found = _between_blocks(conflict, which, self._turns)
            elif first.pipe == second.pipe:
                found = _on_one_pipe(conflict, which, self._turns)
            else:
                unwaited = self._unwaited(first, second)
                found = _between_pipes(conflict, which, unwaited, self._turns)
            self._add(first, second, found)
        self.conflicts.clear()

    def report_cached(self, op: Op, accesses: Sequence[Access], cache: DataCache) -> None:
        """Accesses to bytes that a scalar unit's cache, maybe another core's, has not written."""
        assert self._core is not None
        block = None if cache is self._core.cache else cache.block
        for shadow, start, stop, writes, which in accesses:
            if shadow is None or shadow.name != "GM":
                continue
            store = cache.dirty(start, stop)
            pair = (id(store), id(op), block is None)
            if store is not None and pair not in self._seen:
                self._seen.add(pair)
                found = _in_cache(store, op, which, bool(writes), block)
                self._findings.setdefault(("AT0210", *_lines(store, op)), found)

    def _unwaited(self, first: Stamp, second: Stamp) -> Unwaited | None:
        """An event that is set, and whose wait on the second pipe would order the two."""
        assert self._core is not None
        found: Unwaited | None = None
        for (event, event_id), op in self._core.flags.items():
            token = self._core.tokens[event, event_id]
            clock = getattr(token, "clock", token)
            source, target = EVENT_PIPES[event]
            if target == second.pipe and clock[first.pipe] >= first.epoch:
                found = (event.name, op)
                if source == first.pipe:
                    break
        return found

    def _handled_by_cache(self, conflict: Conflict) -> bool:
        """Whether the data cache reports the pair: scalar stores to global memory."""
        shadow, first, second, start, stop, first_writes, second_writes = conflict
        if shadow.name != "GM" or first.pipe != SCALAR or not first_writes:
            return False
        if first.block != second.block:
            return second.pipe == SCALAR and second_writes
        return self._core is not None and self._core.cache.dirty(start, stop) is not None

    def _add(self, first: Stamp, second: Stamp, found: Finding) -> None:
        key = (found.code, *_lines(first.op, second.op))
        if len(self._findings) < MAX_FINDINGS:
            self._findings.setdefault(key, found)


def _lines(first: Op, second: Op) -> tuple[object, ...]:
    return tuple((span.file, span.line) if (span := span_of(op.site)) else id(op)
                 for op in (first, second))  # fmt: skip


def _line(op: Op) -> str:
    span = span_of(op.site)
    return f"line {span.line}" if span else "it"


def _operand(
    accesses: Sequence[Access], shadow: object, start: int, stop: int, writes: bool
) -> Where:
    """The operand of an operation whose access overlaps a range."""
    for where, first, last, write, which in accesses:
        if where is shadow and bool(write) == writes and first < stop and start < last:
            return which
    raise AssertionError("a conflict has an access")


def named(op: Op, which: Where) -> str:
    """The tensor that a chain of unnamed views begins with, or the first one with a name."""
    if which == MEMORY:
        return "UB by address"
    value: Value = operand(op.args, which)
    while not value.name and value.node is not None and _is_view(value.node):
        value = value.node.args[0]
    return describe(value)


def _is_view(node: object) -> bool:
    return isinstance(node, Op) and node.spec in (LOCAL_SLICE, GLOBAL_SLICE)


def _event(first: Stamp, second: Stamp) -> str:
    """The name of the event that is missing, or "" when the chip has none for the two pipes."""
    name = f"{PIPES[first.pipe]}_{PIPES[second.pipe]}"
    return name if name in HardEvent.__members__ else ""


def _verb(writes: bool) -> str:
    return "writes" if writes else "reads"


def _who(stamp: Stamp, turns: Turns) -> str:
    """An operation with its pipe and the iteration it was in."""
    return f"{stamp.op.spec.name} on {PIPES[stamp.pipe]}{turns.text(stamp)}"


def _between_pipes(
    conflict: Conflict, which: Where, unwaited: Unwaited | None, turns: Turns
) -> Finding:
    shadow, first, second, start, stop, first_writes, second_writes = conflict
    event = unwaited[0] if unwaited else _event(first, second)
    missing = f"HardEvent.{event} is missing" if event else "a barrier is missing"
    if unwaited:
        missing = f"the wait for HardEvent.{event} is missing"
    value = named(second.op, which)
    size = "" if shadow.name == "GM" else f"bytes {start} to {stop - 1} of {shadow.name}, "
    return finding(
        "AT0208",
        f"{_ORDER[first_writes, second_writes]} without order: {_who(second, turns)} "
        f"{_verb(second_writes)} {size}{value}, which {_who(first, turns)} "
        f"{_verb(first_writes)}; {missing}",
        second.op.site,
        notes=[(f"{first.op.spec.name} {_verb(first_writes)} here", first.op.site)],
        hint=_remedy(first, second, event, unwaited, turns),
    )


def _on_one_pipe(conflict: Conflict, which: Where, turns: Turns) -> Finding:
    shadow, first, second, start, stop, _, _ = conflict
    pipe, size = PIPES[second.pipe], "" if shadow.name == "GM" else f" of {shadow.name}"
    return finding(
        "AT0208",
        f"two copies on {pipe} write the same {stop - start} bytes{size}: {second.op.spec.name}"
        f"{turns.text(second)} to {named(second.op, which)}, and {first.op.spec.name}"
        f"{turns.text(first)} before; a barrier of the pipe is missing",
        second.op.site,
        notes=[("written here", first.op.site)],
        severity="warning",
        hint=f"asc.pipe_barrier(asc.PipeID.PIPE_{pipe}) between the two: copies of one pipe may "
        "end in another order than they begin",
    )


def _remedy(
    first: Stamp, second: Stamp, event: str, unwaited: Unwaited | None, turns: Turns
) -> str:
    """Where to put the event."""
    before, after = _line(first.op), _line(second.op)
    if not event:
        return f"asc.pipe_barrier(asc.PipeID.PIPE_ALL) after {before} and before {after}"
    name = f"asc.HardEvent.{event}"
    if unwaited:
        return (
            f"asc.wait_flag({name}, id) before {after}: nothing waits for the event that "
            f"{_line(unwaited[1])} sets"
        )
    text = f"asc.set_flag({name}, id) after {before}, asc.wait_flag({name}, id) before {after}"
    if _again(first, second) and turns.later(first, second):
        text += (
            " in a later iteration; set it once before the loop and wait once after it, so that "
            "each wait has its set"
        )
    if SCALAR not in (first.pipe, second.pipe):
        text += "; or hand the tensor on by a queue: enque and deque, free_tensor and alloc_tensor"
    return text


def _again(first: Stamp, second: Stamp) -> bool:
    """Whether the second access, which comes later in the run, does not in the text."""
    one, other = span_of(first.op.site), span_of(second.op.site)
    return bool(one and other and other.line <= one.line)


def _between_blocks(conflict: Conflict, which: Where, turns: Turns) -> Finding:
    _, first, second, start, stop, first_writes, second_writes = conflict
    value = named(second.op, which)
    # Plain writes of several blocks may all be of the same data.
    plain = first_writes and second_writes and first.atomic is second.atomic is None
    same = first.op is second.op
    verb = "atomically writes" if second.atomic and second_writes else _verb(second_writes)
    before = "atomically writes" if first.atomic and first_writes else _verb(first_writes)
    return finding(
        "AT0209",
        f"{_ORDER[first_writes, second_writes]} between blocks: {second.op.spec.name} in block "
        f"{second.block}{turns.text(second)} {verb} {stop - start} bytes of {value} that "
        f"{'it' if same else first.op.spec.name} in block {first.block}{turns.text(first)} "
        f"{before}",
        second.op.site,
        notes=[(f"block {first.block} {before} here", first.op.site)],
        severity="warning" if plain else "error",
        hint="give each block its own part of the array, or put sync_all() in between: blocks run "
        "at once and in any order",
    )


def _in_cache(store: Op, op: Op, which: Where, writes: bool, block: int | None) -> Finding:
    effect = "can be overwritten when the line is" if writes else "does not see it before it is"
    whose = "the data cache: the copy" if block is None else f"the data cache of block {block}: it"
    return finding(
        "AT0210",
        f"{op.spec.name} {_verb(writes)} {named(op, which)} where a scalar store "
        f"is still in {whose} {effect} written back",
        op.site,
        notes=[("stored here", store.site)],
        hint="write through data_copy, or call data_cache_clean_and_invalid after the store",
    )
