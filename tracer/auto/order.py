"""Where pipes wait for one another: events before operations that need one.

Follows the kernel with a set for each pipe of what is *open* for it: accesses of other pipes that
need not be over when it does what comes next. An operation that touches a place with an open
access, of which one writes, first waits for that access's pipe: a set and a wait, one behind the
other, so that branches, jumps and loops cannot part them. Where paths meet, what is open on one is
open; a loop is followed until what is open at its head, from before and from the iteration before,
stays the same. This is what the simulator's clocks say, for all runs at once.

Copies of one pipe that write the same need its barrier, or what waited for the first: such a write
is open for its own pipe as well, in tensors; copies to an array are the kernel's own affair.

An event id is used again only when its last wait is over for the pipe that sets it: a wait is
therefore an access, too. Half of the ids of an event are left to queues; where there is no id, or
the kernel uses the event with numbers of its own, all pipes wait.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from ..language.enums import HardEvent, PipeID
from ..ops import framework as rows
from ..ops import sync
from ..trace import Block, If, Jump, Loop, Node, Op, Trace, Value
from .memory import Access, Memory
from .setup import Setup

_PIPES = ("S", "V", "MTE1", "MTE2", "MTE3", "M", "FIX")
_SCALAR = "S"
#: Pipes whose copies may end in another order than they begin.
_COPYING = frozenset({"MTE2", "MTE3"})
#: A place or an event id, the pipe, and what it does there: "r", "w", or "f" for a wait.
_Item: TypeAlias = tuple[Any, str, str]
#: What is open for each pipe.
_Open: TypeAlias = dict[str, set[_Item]]


def _copy(state: _Open) -> _Open:
    return {pipe: set(items) for pipe, items in state.items()}


def _add(state: _Open, other: _Open) -> None:
    for pipe, items in other.items():
        state[pipe] |= items


class _Ways:
    """States that leave the loop that is being followed."""

    __slots__ = ("breaks", "continues")

    def __init__(self) -> None:
        self.breaks: list[_Open] = []
        self.continues: list[_Open] = []


class Order:
    """One walk over a trace that puts events in."""

    def __init__(self, trace: Trace, memory: Memory, setup: Setup) -> None:
        self._trace = trace
        self._memory = memory
        self._setup = setup
        self._ids = trace.chip.event_ids // 2
        self._foreign = self._by_number()
        self._arrays = {0, *(id(p.value) for p in trace.params)}
        self._ways = _Ways()
        #: Whether nodes are put in: loops are first only followed.
        self._write = True

    def run(self) -> None:
        """Put all events in."""
        self._block(self._trace.body, {pipe: set() for pipe in _PIPES})

    def _by_number(self) -> set[HardEvent]:
        """Events whose ids the kernel chooses itself."""
        taken = (rows.ALLOC_EVENT_ID, rows.FETCH_EVENT_ID)
        found = set()
        for op, _ in self._memory.ops:
            if op.spec in (sync.SET_FLAG, sync.WAIT_FLAG):
                node = getattr(op.args[1], "node", None)
                if not isinstance(node, Op) or node.spec not in taken:
                    found.add(op.args[0])
        return found

    # -- nodes --------------------------------------------------------------------------------

    def _block(self, block: Block, state: _Open) -> _Open | None:
        """Follow a block from `state`, which changes; None when control never gets to its end."""
        nodes: list[Node] = []
        after: _Open | None = state
        for node in block.nodes:
            if after is None:
                # Control does not get here.
                nodes.append(node)
                continue
            if isinstance(node, Op):
                self._op(node, after, nodes)
            elif isinstance(node, If):
                taken = self._block(node.then, _copy(after))
                after = _join([taken, self._block(node.orelse, after)])
            elif isinstance(node, Loop):
                after = self._loop(node, after)
            elif isinstance(node, Jump):
                if node.kind == "break":
                    self._ways.breaks.append(after)
                elif node.kind == "continue":
                    self._ways.continues.append(after)
                after = None
            nodes.append(node)
        if self._write:
            block.nodes = nodes
        return after

    def _loop(self, node: Loop, head: _Open) -> _Open | None:
        outer, self._ways = self._ways, _Ways()
        write, self._write = self._write, False
        while True:
            before = {pipe: len(items) for pipe, items in head.items()}
            _add(head, self._iteration(node, head))
            if all(len(items) == before[pipe] for pipe, items in head.items()):
                break
        self._write = write
        # Once more as it is in the end, so that what follows is the same whenever it is followed.
        breaks = self._ways.breaks
        breaks.clear()
        self._iteration(node, head)
        self._ways = outer
        return _join([*([] if node.index is None else [head]), *breaks])

    def _iteration(self, node: Loop, head: _Open) -> _Open:
        """What is open where the next iteration begins."""
        self._ways.continues.clear()
        end = self._block(node.body, _copy(head))
        return _join([end, *self._ways.continues]) or {}

    # -- operations ---------------------------------------------------------------------------

    def _op(self, op: Op, state: _Open, nodes: list[Node]) -> None:
        if op.spec is sync.PIPE_BARRIER:
            if op.args[0] is PipeID.PIPE_ALL:
                _close(state)
            else:
                _close_own(state, op.args[0].name.removeprefix("PIPE_"))
            return
        accesses = self._memory.accesses(op)
        if not accesses:
            return
        pipe = op.form.pipe or op.spec.pipe
        for other in _PIPES:
            if other != pipe and _conflicts(state, pipe, other, accesses):
                self._wait(op, other, pipe, state, nodes)
        copied = [(place, pipe, "w") for place, write in accesses if write]
        copied = [i for i in copied if pipe in _COPYING and i[0] not in self._arrays]
        if not state[pipe].isdisjoint(copied):
            _close_own(state, pipe)
            self._barrier(op, PipeID[f"PIPE_{pipe}"], nodes)
        for place, write in accesses:
            _note(state, pipe, (place, pipe, "w" if write else "r"))
        state[pipe].update(copied)

    def _barrier(self, op: Op, which: PipeID, nodes: list[Node]) -> None:
        if self._write:
            form = sync.PIPE_BARRIER.forms[0]
            nodes.append(Op(sync.PIPE_BARRIER, form, (which,), op.site, None))

    def _wait(self, op: Op, source: str, pipe: str, state: _Open, nodes: list[Node]) -> None:
        """`pipe` waits for all that `source` has been given."""
        event = HardEvent.__members__.get(f"{source}_{pipe}")
        number = None if event is None else self._free_id(event, source, pipe, state)
        if event is None or number is None:
            _close(state)
            self._barrier(op, PipeID.PIPE_ALL, nodes)
            return
        known = {item for item in state[source] if item[1] != source}
        for waiting in _PIPES if pipe == _SCALAR else (pipe,):
            if waiting != source:
                state[waiting] &= known
        if pipe == _SCALAR:
            _close_own(state, source)
        else:
            _note(state, pipe, ((event, number), pipe, "f"))
        if self._write:
            value: Value = self._setup.event_id(event, number)
            nodes += [
                Op(spec, spec.forms[0], (event, value), op.site, None)
                for spec in (sync.SET_FLAG, sync.WAIT_FLAG)
            ]

    def _free_id(self, event: HardEvent, source: str, pipe: str, state: _Open) -> int | None:
        """An id of the event that surely is not set when `source` comes here."""
        if event in self._foreign:
            return None
        for number in range(self._ids):
            if ((event, number), pipe, "f") not in state[source]:
                return number
        return None


def _conflicts(state: _Open, pipe: str, other: str, accesses: tuple[Access, ...]) -> bool:
    items = state[pipe]
    return any(
        (place, other, "w") in items or (write and (place, other, "r") in items)
        for place, write in accesses
    )


def _note(state: _Open, pipe: str, item: _Item) -> None:
    """What a pipe does is open for all others."""
    for other, items in state.items():
        if other != pipe:
            items.add(item)


def _close_own(state: _Open, pipe: str) -> None:
    """What a pipe did is over for itself."""
    state[pipe] = {item for item in state[pipe] if item[1] != pipe}


def _close(state: _Open) -> None:
    for items in state.values():
        items.clear()


def _join(states: list[_Open | None]) -> _Open | None:
    """What is open on one of the paths that come together."""
    out: _Open | None = None
    for state in states:
        if state is None:
            continue
        if out is None:
            out = _copy(state)
        else:
            _add(out, state)
    return out
