"""What is known of queues, tensors and events at one place of a kernel.

A `State` describes every run that gets to its place. It says exactly what it knows and nothing
about the rest: a queue is either known (its buffers, which tensors are held, which are enqueued,
in order) or unknown (None); an event id is surely set, surely not set, or *maybe*.

A `Hold` names one tensor between alloc and free. Where paths meet (`join`), two tensors with the
same part in both become one new name; what referred to the old ones directly is *lost*. Two
states are `same` when they differ in names only.
"""

from __future__ import annotations

from typing import TypeAlias

from ...tracer.diagnostics import Site
from ...tracer.trace import Op, Value


class Hold:
    """A tensor from alloc to free.

    `queue` owns it (None: it was made at an address). `lost`: what it refers to depends on the
    path. `freed` is the operation that freed it, `also` one that brought it where it is on another
    path, for notes.
    """

    __slots__ = ("also", "freed", "lost", "op", "queue")

    def __init__(self, queue: Value | None, op: Op | None, lost: bool = False) -> None:
        self.queue = queue
        self.op = op
        self.lost = lost
        self.freed: Op | None = None
        self.also: Op | None = None


#: A tensor of which nothing is known.
UNKNOWN = Hold(None, None, lost=True)

#: Tensors in order, each with the operation that brought it there. Never changed, but replaced.
Tensors: TypeAlias = "dict[Hold, Op]"

#: A known queue: number of buffers (None when the device decides), held and enqueued tensors.
Known: TypeAlias = "tuple[int | None, Tensors, Tensors]"

#: What a finding depends on: a text and a place. None when it always happens.
Why: TypeAlias = "tuple[str, Site] | None"


class State:
    """What is known at one place; `why` says on what it depends that control gets there.

    `queues` by the id of the `TQue` value, and TBufs and pools by theirs: with memory they hold one
    tensor, which stands for all of theirs. `tensors` the holds of variables and of tensors that
    are filled in place (all others are in `Walker.holds`); `flags` the events that are set, with
    the operation; `maybe` the event ids and whole events of which it is not known. `waits` has the
    latest wait for an event id on the way here, for notes only.
    """

    __slots__ = ("flags", "maybe", "queues", "tensors", "waits", "why")

    def __init__(self) -> None:
        self.queues: dict[int, Known | None] = {}
        self.tensors: dict[int, Hold] = {}
        self.flags: dict[int, Op] = {}
        self.waits: dict[int, Op] = {}
        self.maybe: frozenset[int] = frozenset()
        self.why: Why = None

    def fork(self, why: Why) -> State:
        """A copy that can go its own way."""
        other = State.__new__(State)
        other.queues = self.queues.copy()
        other.tensors = self.tensors.copy()
        other.flags = self.flags.copy()
        other.waits = self.waits.copy()
        other.maybe = self.maybe
        other.why = why
        return other

    def forget(self) -> None:
        """Know nothing of any queue any more."""
        self.queues = dict.fromkeys(self.queues)

    def live(self) -> set[Hold]:
        """The tensors held or enqueued in known queues."""
        return {
            hold
            for known in self.queues.values()
            if known is not None
            for hold in (*known[1], *known[2])
        }


_Pairs: TypeAlias = "dict[Hold, Hold]"


def join(a: State, b: State, holds: dict[int, Hold]) -> State:
    """What holds in both states; `why` is that of `a`."""
    out = a.fork(a.why)
    renamed: dict[tuple[Hold, Hold], Hold] = {}
    for key in list(a.queues):
        mine, other = a.queues[key], b.queues.get(key)
        if mine is not other:
            out.queues[key] = _join_queue(mine, other, renamed)
    for key in a.tensors.keys() | b.tensors.keys():
        one = a.tensors.get(key) or holds.get(key, UNKNOWN)
        two = b.tensors.get(key) or holds.get(key, UNKNOWN)
        out.tensors[key] = one if one is two else renamed.get((one, two)) or _either(one, two)
    if a.flags.keys() != b.flags.keys() or a.maybe != b.maybe:
        out.flags = {key: op for key, op in a.flags.items() if key in b.flags}
        out.maybe = a.maybe | b.maybe | (a.flags.keys() ^ b.flags.keys())
    if a.waits != b.waits:
        out.waits = {key: op for key, op in a.waits.items() if b.waits.get(key) is op}
    return out


def _join_queue(
    a: Known | None, b: Known | None, renamed: dict[tuple[Hold, Hold], Hold]
) -> Known | None:
    if a is None or b is None or a[0] != b[0]:
        return None
    if len(a[1]) != len(b[1]) or len(a[2]) != len(b[2]):
        return None
    # Held tensors have no order of their own: those that are the same are matched first.
    both = [hold for hold in a[1] if hold in b[1]]
    mine, other = ({hold: known[hold] for hold in both} | known for known in (a[1], b[1]))
    return (a[0], _rename(mine, other, renamed), _rename(a[2], b[2], renamed))


def _rename(a: Tensors, b: Tensors, renamed: dict[tuple[Hold, Hold], Hold]) -> Tensors:
    out = {}
    for (one, op), (two, other) in zip(a.items(), b.items(), strict=True):
        hold = one
        if one is not two:
            hold = renamed[one, two] = Hold(one.queue, one.op)
            one.lost = two.lost = True
        if other is not op:
            hold.also = other
        out[hold] = op
    return out


def _either(one: Hold, two: Hold) -> Hold:
    """A tensor that is one of two: at most its queue is known."""
    if one.queue is two.queue and one.queue is not None:
        return Hold(one.queue, None, lost=True)
    return UNKNOWN


def same(a: State, b: State, fixed: set[Hold]) -> bool:
    """Whether two states differ in the names of tensors only, those in `fixed` not at all."""
    if a.flags.keys() != b.flags.keys() or a.maybe != b.maybe:
        return False
    if a.queues.keys() != b.queues.keys():
        return False
    pairs: _Pairs = {}
    for key, one in a.queues.items():
        two = b.queues[key]
        if one is two:
            if one is not None:
                pairs.update((hold, hold) for hold in (*one[1], *one[2]))
        elif one is None or two is None or not _same_queue(one, two, pairs):
            return False
    if any(one is not two and (one in fixed or two in fixed) for one, two in pairs.items()):
        return False
    if a.tensors.keys() != b.tensors.keys():
        return False
    live = set(pairs.values())
    return all(_same_tensor(hold, b.tensors[key], pairs, live) for key, hold in a.tensors.items())


def _same_queue(one: Known, two: Known, pairs: _Pairs) -> bool:
    if one[0] != two[0] or len(one[1]) != len(two[1]) or len(one[2]) != len(two[2]):
        return False
    pairs.update(zip(one[1], two[1], strict=True))
    pairs.update(zip(one[2], two[2], strict=True))
    return True


def _same_tensor(one: Hold, two: Hold, pairs: _Pairs, live: set[Hold]) -> bool:
    if one is two:
        # One name: it is alive in both, or in neither.
        return pairs.get(one) is two or (one not in pairs and two not in live)
    if one.lost or two.lost:
        return one.lost and two.lost and one.queue is two.queue
    if one in pairs:
        return pairs[one] is two
    return two not in live and one.queue is two.queue
