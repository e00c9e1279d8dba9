"""Blocks that wait for one another, run side by side: who goes on, and who waits for ever.

A kernel with an operation that `meets` is compiled to a generator. It yields a `Wait` where it may
have to wait for other blocks, with what is left of the budget, and is sent the rest of the budget
when it may go on. One block runs at a time; a seed chooses which, so that every legal order of the
meetings can come up.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from ...tracer.diagnostics import Finding, KernelError, Site, error, finding
from ...tracer.trace import Op

if TYPE_CHECKING:
    from .cache import DataCache
    from .core import Core
    from .engine import Told
    from .params import SimParams


class Wait(NamedTuple):
    """What a block waits for: the call, whether it may go on, and what holds it, in words."""

    op: Op
    ready: Callable[[], bool]
    held: Callable[[], str]


#: Blocks that a message lists.
_SHOWN = 8

#: What the program of a block is, and what an executor that may wait gives.
Running: TypeAlias = "Generator[tuple[int, Wait], int, tuple[int, int]]"
Waiting: TypeAlias = "Generator[tuple[int, Wait], int, int]"


class Grid:
    """What the blocks of one launch share. `told` has releases by whatever names them.

    `arrived` has for each flag and block the sets that no group has taken yet, `counters` the
    groups that the block's core has not waited for yet.
    """

    def __init__(self, blocks: int, cores: int) -> None:
        self.blocks = blocks
        self.cores = cores
        self.told: dict[Any, Told | None] = {}
        self.arrived: dict[int, dict[int, deque[tuple[Op, Told | None]]]] = {}
        self.counters: dict[tuple[int, int], deque[tuple[Op, Told | None]]] = {}
        #: The call that used a flag first, by flag.
        self.users: dict[int, Op] = {}

    def enter(self, op: Op) -> None:
        """A block comes to an operation that meets; all blocks have to be on the chip then."""
        if self.blocks > self.cores:
            raise error(
                "AT0212",
                f"{op.spec.name} in a kernel of {self.blocks} blocks, on a chip with {self.cores} "
                "vector cores",
                op.site,
                hint=f"at most {self.cores} blocks: the others would begin when these have ended, "
                "which wait for them",
            )

    def arrive(self, flag: int, block: int, op: Op, told: Told | None) -> None:
        """A block has set a flag; when all have, it counts up on every core."""
        sets = self.arrived.setdefault(flag, {k: deque() for k in range(self.blocks)})
        sets[block].append((op, told))
        if not all(sets.values()):
            return
        group: Told | None = None
        for waiting in sets.values():
            _, one = waiting.popleft()
            group = one if group is None or one is None else group.also(one)
        for k in range(self.blocks):
            self.counters.setdefault((flag, k), deque()).append((op, group))

    def missing(self, flag: int) -> list[int]:
        """The blocks that have not set a flag."""
        sets = self.arrived.get(flag, {})
        return [k for k in range(self.blocks) if not sets.get(k)]

    def left(self) -> list[Finding]:
        """Warnings about flags that were set and not waited for."""
        ops: dict[Op, int] = {}
        for (flag, _), groups in self.counters.items():
            ops.update((op, flag) for op, _ in groups)
        for flag, sets in self.arrived.items():
            for waiting in sets.values():
                ops.update((op, flag) for op, _ in waiting)
        return [
            finding(
                "AT0212",
                f"{op.spec.name} of flag {flag} is never waited for",
                op.site,
                severity="warning",
                hint="each set has its wait, in every block",
            )
            for op, flag in ops.items()
        ]


class Seat(Protocol):
    """A core with the program of a kernel bound to it."""

    core: Core
    block: Callable[..., Any]


class Team:
    """The cores of a launch. `seat(leader)` makes one more, which shares global memory's map."""

    def __init__(self, seat: Callable[[Seat | None], Seat], cores: int, params: SimParams) -> None:
        self.params = params
        self._seat = seat
        self._cores = cores
        self._seats: list[Seat] = []
        self._left: list[DataCache] = []

    def run(self, values: Sequence[Any], blocks: int) -> tuple[int, list[Finding]]:
        """Operations executed and findings; raises what ends the run, with what was found."""
        for seat in self._seats:
            seat.core.begin_run()
        self._left.clear()
        self._join()
        grid = Grid(blocks, self._cores)
        found: dict[Finding, None] = {}
        try:
            ops = _Run(self, grid, values).all(found)
        except KernelError as fault:
            findings = self._findings() + fault.findings + list(found)
            raise KernelError(errors_first(findings)) from None
        for cache in self._left:
            cache.clean(cache.block)
        found.update(dict.fromkeys(grid.left()))
        return ops, self._findings() + list(found)

    def seat(self, free: list[Seat]) -> Seat:
        """A core that no block is on."""
        if free:
            return free.pop()
        seat = self._seat(self._seats[0] if self._seats else None)
        seat.core.begin_run()
        self._seats.append(seat)
        self._join()
        return seat

    def leave(self, seat: Seat) -> None:
        """A block has ended. What its scalar unit has stored is seen when the kernel ends."""
        if seat.core.cache.lines:
            self._left.append(seat.core.cache.detach())
            self._join()

    def _join(self) -> None:
        """Tell each engine of the caches of the others."""
        caches = [seat.core.cache for seat in self._seats] + self._left
        for seat in self._seats:
            seat.core.engine.others = [c for c in caches if c is not seat.core.cache]

    def free(self) -> list[Seat]:
        """All cores, at the start."""
        return self._seats[::-1]

    def _findings(self) -> list[Finding]:
        """What the cores found across blocks; what they share is told by the first."""
        found: dict[Finding, None] = {}
        for seat in self._seats:
            found.update(dict.fromkeys(seat.core.findings()))
        return list(found)


class _Run:
    """One launch: the blocks that have begun, wait, and have ended."""

    def __init__(self, team: Team, grid: Grid, values: Sequence[Any]) -> None:
        self._team = team
        self._grid = grid
        self._values = values
        self._left = team.params.op_budget
        seed = team.params.seed
        self._random = None if seed is None else random.Random(seed)
        self._free = team.free()
        self._running: dict[int, tuple[Seat, Running]] = {}
        self._waits: dict[int, Wait] = {}
        self._ended: list[int] = []
        self._ops = 0

    def all(self, found: dict[Finding, None]) -> int:
        """Run every block to its end; the number of operations."""
        fresh = list(range(self._grid.blocks))
        while fresh or self._waits:
            ready = [k for k, wait in self._waits.items() if wait.ready()]
            if not fresh and not ready:
                raise self._stuck()
            block = self._choose(fresh, ready)
            if block in self._waits:
                del self._waits[block]
            else:
                fresh.remove(block)
            self._go_on(block, found)
        return self._ops

    def _choose(self, fresh: list[int], ready: list[int]) -> int:
        """The next block to run: any at random, or the first that may."""
        if self._random is None:
            return min(ready + fresh[:1])
        return self._random.choice(ready + fresh)

    def _go_on(self, block: int, found: dict[Finding, None]) -> None:
        try:
            if block not in self._running:
                seat = self._team.seat(self._free)
                seat.core.grid, seat.core.arguments = self._grid, self._values
                seat.core.begin_block(block)
                program = seat.block(self._left, block, self._grid.blocks, *self._values)
                self._running[block] = seat, program
                seat.core.engine.enter(seat.core)
                self._left, self._waits[block] = next(program)
            else:
                seat, program = self._running[block]
                seat.core.engine.enter(seat.core)
                self._left, self._waits[block] = program.send(self._left)
        except StopIteration as ended:
            ops, self._left = ended.value
            self._ops += ops
            found.update(dict.fromkeys(seat.core.end_block()))
            self._team.leave(seat)
            del self._running[block]
            self._ended.append(block)
            self._free.append(seat)
        except KernelError as fault:
            raise KernelError(
                [in_block(f, block, self._grid.blocks) for f in fault.findings]
            ) from None

    def _stuck(self) -> KernelError:
        """Nobody can go on: who waits where for what, and who has ended."""
        places: dict[Op, list[int]] = {}
        for block, wait in sorted(self._waits.items()):
            places.setdefault(wait.op, []).append(block)
        (op, blocks), *others = places.items()
        notes: list[tuple[str, Site]] = [
            (
                f"{_waiting(waiting)} here: {self._waits[waiting[0]].held()}",
                at.site,
            )
            for at, waiting in others
        ]
        held = self._waits[blocks[0]].held()
        if self._ended:
            verb = "has" if len(self._ended) == 1 else "have"
            notes.append((f"{list_blocks(sorted(self._ended))} {verb} ended", None))
        return error(
            "AT0212",
            f"{op.spec.name} in {list_blocks(blocks)} waits for ever: {held}",
            op.site,
            notes=notes,
            hint="each block has to come to the calls that others wait for: not in one branch "
            "only, and not behind an early return",
        )


def _waiting(blocks: list[int]) -> str:
    return f"{list_blocks(blocks)} {'waits' if len(blocks) == 1 else 'wait'}"


def list_blocks(blocks: Sequence[int]) -> str:
    """`block 3`, `blocks 0, 2 and 5`, `blocks 0 to 47`."""
    if len(blocks) == 1:
        return f"block {blocks[0]}"
    if len(blocks) > 2 and blocks[-1] - blocks[0] == len(blocks) - 1:
        return f"blocks {blocks[0]} to {blocks[-1]}"
    if len(blocks) > _SHOWN:
        return f"blocks {', '.join(map(str, blocks[:_SHOWN]))}, ..."
    return f"blocks {', '.join(map(str, blocks[:-1]))} and {blocks[-1]}"


def in_block(finding: Finding, index: int, blocks: int) -> Finding:
    """An error of a run, with the block it happened in when there are several."""
    if blocks == 1:
        return finding
    return replace(finding, notes=(*finding.notes, (f"in block {index} of {blocks}", None)))


def errors_first(findings: list[Finding]) -> list[Finding]:
    """Errors before warnings."""
    return sorted(findings, key=lambda found: found.severity != "error")
