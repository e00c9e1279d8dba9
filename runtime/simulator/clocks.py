"""What happens before what on one core: vector clocks with a slot for each pipe.

`known[p][q]` says up to which epoch of pipe q everything is over when pipe p begins its next
operation. A release (a flag that is set, a tensor that is enqueued or freed) takes a copy of the
clock of its pipe and begins a new epoch there; an acquire (a wait, a deque, an alloc) merges that
copy into the clock of its own pipe. An access made in epoch e of pipe q is over for pipe p when
`known[p][q] >= e`.

The scalar unit issues all operations, so what it has waited for is over for everything issued
later. Its own accesses are not: another pipe needs an event of the scalar unit to know of them.

`MeetingClocks` are for blocks that wait for one another: each pipe also knows how far the pipes of
other blocks are.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

from ...tracer.language.enums import HardEvent, TPosition

#: The pipes of a core; a pipe is its index here.
PIPES: Final = ("S", "V", "MTE2", "MTE3", "MTE1", "M", "FIX")
PIPE_INDEX: Final = {name: index for index, name in enumerate(PIPES)}
SCALAR: Final = 0

#: Pipes whose operations begin in order but may end in another: copies of several lengths.
COPYING: Final = frozenset({PIPE_INDEX["MTE2"], PIPE_INDEX["MTE3"]})


class Clock(list[int]):
    """What a pipe knows of all pipes.

    `done`: up to which epoch its own operations are surely over when the next one begins, because
    something waited for them.
    """

    __slots__ = ("done",)

    done: int


#: Source and destination pipe of each event.
EVENT_PIPES: Final = {
    event: (PIPE_INDEX[event.name.split("_")[0]], PIPE_INDEX[event.name.split("_")[1]])
    for event in HardEvent
}

#: The pipe that fills a tensor at a position, and the one that reads it.
_PRODUCER: Final = {
    "VECIN": "MTE2", "VECOUT": "V", "VECCALC": "V", "A1": "MTE2", "B1": "MTE2", "C1": "MTE2",
    "A2": "MTE1", "B2": "MTE1", "C2": "MTE1", "CO1": "M", "CO2": "FIX", "GM": "MTE2",
}  # fmt: skip
_CONSUMER: Final = {
    "VECIN": "V", "VECOUT": "MTE3", "VECCALC": "V", "A1": "MTE1", "B1": "MTE1", "C1": "MTE1",
    "A2": "M", "B2": "M", "C2": "M", "CO1": "FIX", "CO2": "MTE2", "GM": "MTE3",
}  # fmt: skip


def queue_pipes(position: TPosition, src: TPosition | None, dst: TPosition | None) -> list[int]:
    """Producer and consumer pipe of a queue; `src`, `dst` are set for bound queues only.

    A queue from `src` to `dst` is filled as a tensor at `src` is (from GM: as one at `dst`), and
    emptied as a tensor at `dst` is (to GM: as one at `src`).
    """
    if src is None or dst is None:
        src = dst = position
    filled = dst if src.name == "GM" else src
    emptied = src if dst.name == "GM" else dst
    return [PIPE_INDEX[_PRODUCER[filled.name]], PIPE_INDEX[_CONSUMER[emptied.name]]]


class Clocks:
    """The clocks of one core. The lists in `known` stay the same objects."""

    __slots__ = ("known",)

    def __init__(self) -> None:
        self.known = [Clock([0] * len(PIPES)) for _ in PIPES]
        self.reset()

    def reset(self) -> None:
        """A new block: nothing has happened, each pipe is in its first epoch."""
        for pipe, clock in enumerate(self.known):
            clock[:] = [0] * len(PIPES)
            clock[pipe] = 1
            clock.done = 0

    def release(self, pipe: int) -> Any:
        """What is over when `pipe` has done all that was issued to it."""
        clock = self.known[pipe]
        token = tuple(clock)
        clock[pipe] += 1
        return token

    def acquire(self, pipe: int, token: Any) -> None:
        """`pipe` waits for a release; when it is the scalar unit, all that is issued later does."""
        for own in range(len(PIPES)) if pipe == SCALAR else (pipe,):
            clock = self.known[own]
            if token[own] > clock.done:
                clock.done = token[own]
            for other, epoch in enumerate(token):
                if epoch > clock[other]:
                    clock[other] = epoch

    def barrier(self) -> None:
        """Everything issued so far is over for everything issued later."""
        everything = [max(column) for column in zip(*self.known, strict=True)]
        for pipe, clock in enumerate(self.known):
            clock[:] = everything
            clock.done = clock[pipe]
            clock[pipe] += 1

    def fence(self, pipe: int) -> None:
        """What was issued to `pipe` is over before anything issued to it later begins."""
        clock = self.known[pipe]
        clock.done = clock[pipe]
        clock[pipe] += 1


#: What a pipe knows of other blocks: the clocks of their pipes. Never changed, only replaced.
Far: TypeAlias = "dict[int, tuple[int, ...]]"


class MeetingClocks(Clocks):
    """The clocks of a core whose block waits for others; `far` has what each pipe knows of them.

    A token is a clock and what was known of other blocks then.
    """

    __slots__ = ("block", "far")

    def __init__(self) -> None:
        self.block = 0
        self.far: list[Far] = [{} for _ in PIPES]
        super().__init__()

    def reset(self) -> None:
        """A new block knows nothing of the others."""
        super().reset()
        self.far[:] = [{}] * len(PIPES)

    def release(self, pipe: int) -> Any:
        """What is over when `pipe` has done all that was issued to it, in other blocks too."""
        return super().release(pipe), self.far[pipe]

    def acquire(self, pipe: int, token: Any) -> None:
        """`pipe` waits for a release of this block."""
        clock, far = token
        super().acquire(pipe, clock)
        self._learn(pipe, far)

    def barrier(self) -> None:
        """Everything issued so far is over, and what any pipe knew all know."""
        super().barrier()
        everything = self.far[0]
        for far in self.far[1:]:
            if far is not everything:
                everything = merged(everything, far)
        self.far[:] = [everything] * len(PIPES)

    def tell(self, pipe: int) -> Far:
        """A release for other blocks: what is over when `pipe` has done all that was issued."""
        clock, far = self.release(pipe)
        return {**far, self.block: clock}

    def hear(self, pipe: int, told: Far) -> None:
        """`pipe` waits for what other blocks have told."""
        own = told.get(self.block)
        if own is not None:
            super().acquire(pipe, own)
        self._learn(pipe, told)

    def _learn(self, pipe: int, far: Far) -> None:
        fresh: dict[int, Far] = {}
        for p in range(len(PIPES)) if pipe == SCALAR else (pipe,):
            before = self.far[p]
            if before is not far:
                if id(before) not in fresh:
                    fresh[id(before)] = merged(before, far)
                self.far[p] = fresh[id(before)]


def merged(one: Far, other: Far) -> Far:
    """The later of each two clocks."""
    known = dict(one)
    for block, clock in other.items():
        before = known.get(block)
        known[block] = clock if before is None else tuple(map(max, before, clock))
    return known
