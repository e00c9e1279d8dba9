"""When operations happen. The scalar program issues each operation to an engine.

An engine decides how the executor of an operation is called. `ProgramOrder` performs each operation
where the program issues it and looks at nothing. `Pipes` keeps the clocks of the core's pipes, so
that it finds races; its subclass `QueuedPipes` also performs the work of a pipe later than it is
issued (`queued.py`). `op.form.pipe or op.spec.pipe` says which pipe an operation runs on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ...tracer.diagnostics import Finding, KernelError
from ...tracer.trace import Op
from .clocks import PIPE_INDEX, SCALAR, Clocks, Far, MeetingClocks, merged
from .races import Races
from .registry import Access, Executor, Timed, Work, staged
from .shadow import Shadow, Turn

if TYPE_CHECKING:
    from .cache import DataCache
    from .core import Core
    from .system import Watch


class Told(NamedTuple):
    """What blocks have told others: what is over, and the tokens of engines that wait to do it."""

    known: Far
    tokens: tuple[tuple[Engine, Any], ...]

    def also(self, other: Told) -> Told:
        """Both."""
        return Told(merged(self.known, other.known), self.tokens + other.tokens)


class Engine(Protocol):
    """How the operations of one core are performed.

    `tracked`: whether the executors of queues, flags and barriers have to tell of them by
    `release`, `acquire` and `barrier`. `turn[0]` is where the scalar program says it is: the
    indices of the loops around. `others`: the data caches of cores that run side by side.
    `watches`: parts of UB that nothing may touch.
    """

    tracked: bool
    turn: list[Turn]
    others: list[DataCache]
    watches: dict[int, Watch]

    def shadow(self, memory: str) -> Shadow | None:
        """The interval map for the accesses to an on-chip memory, or to "GM"."""
        ...

    def issue(self, op: Op, run: Executor) -> Executor:
        """What the scalar program calls for `op`, whose work `run` does."""
        ...

    def release(self, pipe: int) -> Any:
        """`pipe` tells, when it has come this far, whoever acquires the token that this gives."""
        ...

    def acquire(self, pipe: int, token: Any) -> None:
        """`pipe` waits here for a token."""
        ...

    def barrier(self) -> None:
        """Everything issued so far is over before anything issued later begins."""
        ...

    def fence(self, pipe: int) -> None:
        """What was issued to `pipe` so far is over before it begins anything issued later."""
        ...

    def settle_pipe(self, pipe: int) -> None:
        """Perform what was issued to `pipe` so far: somebody has to see what it leaves."""
        ...

    def suspect(self, op: Op, accesses: tuple[Access, ...]) -> None:
        """`op` ends the run for what it read: a race may be why that is wrong."""
        ...

    def tell(self, pipe: int) -> Told | None:
        """As `release`, for other blocks to `hear`."""
        ...

    def hear(self, pipe: int, told: Told | None) -> None:
        """`pipe` waits here for what other blocks have told."""
        ...

    def force(self, token: Any) -> None:
        """Perform what a token waits for."""
        ...

    def epoch(self, pipe: int) -> int:
        """A mark for `over`: what `pipe` does now."""
        ...

    def over(self, pipe: int, other: int, epoch: int) -> bool:
        """Whether what `other` did at a mark is over before `pipe` does what comes next."""
        ...

    def settle(self) -> None:
        """Perform what was issued; nothing is said of its order."""
        ...

    def enter(self, core: Core) -> None:
        """The block on this core goes on, with those on others standing still."""
        ...

    def begin_run(self, core: Core) -> None:
        """A launch starts."""
        ...

    def begin_block(self, block: int) -> None:
        """A block starts on this core; nothing is in flight."""
        ...

    def end_block(self) -> None:
        """Finish everything in flight."""
        ...

    def findings(self) -> list[Finding]:
        """What has been found since the launch started."""
        ...


class ProgramOrder:
    """Performs each operation at once, in program order: the scalar program calls the executor."""

    tracked = False

    def __init__(self) -> None:
        self.turn: list[Turn] = [()]
        self.others: list[DataCache] = []
        self.watches: dict[int, Watch] = {}

    def shadow(self, memory: str) -> Shadow | None:
        """No accesses are noted."""
        return None

    def issue(self, op: Op, run: Executor) -> Executor:
        """The executor itself, so that issuing costs nothing."""
        return run.run if isinstance(run, Timed) else run

    def release(self, pipe: int) -> Any:
        """Everything is over at once."""

    def acquire(self, pipe: int, token: Any) -> None:
        """Nothing to wait for."""

    def barrier(self) -> None:
        """Nothing to wait for."""

    def fence(self, pipe: int) -> None:
        """Nothing to wait for."""

    def settle_pipe(self, pipe: int) -> None:
        """Everything is performed at once."""

    def suspect(self, op: Op, accesses: tuple[Access, ...]) -> None:
        """Nothing is looked for."""

    def tell(self, pipe: int) -> Told | None:
        """Everything is over at once."""
        return None

    def hear(self, pipe: int, told: Told | None) -> None:
        """Nothing to wait for."""

    def force(self, token: Any) -> None:
        """Nothing is ever in flight."""

    def epoch(self, pipe: int) -> int:
        """No clocks here."""
        return 0

    def over(self, pipe: int, other: int, epoch: int) -> bool:
        """Everything is over at once."""
        return True

    def settle(self) -> None:
        """Nothing is ever in flight."""

    def enter(self, core: Core) -> None:
        """Nothing to prepare."""

    def begin_run(self, core: Core) -> None:
        """Nothing to prepare."""

    def begin_block(self, block: int) -> None:
        """Nothing to prepare."""

    def end_block(self) -> None:
        """Nothing is ever in flight."""

    def findings(self) -> list[Finding]:
        """Nothing is ever looked for."""
        return []


class Pipes:
    """Performs each operation at once and compares its accesses with those before, by clocks.

    `meets`: the block waits for other blocks. Their engines share the races and what happened in
    global memory; one is the `leader`.
    """

    tracked = True

    def __init__(
        self, detect_races: bool, meets: bool = False, leader: Pipes | None = None
    ) -> None:
        self.clocks = MeetingClocks() if meets else Clocks()
        self.leader = leader or self
        self.races: Races | None = (
            self.leader.races if leader else Races() if detect_races else None
        )
        self.block = 0
        self.turn: list[Turn] = [()]
        self.others: list[DataCache] = []
        self.watches: dict[int, Watch] = {}
        self._shadows: dict[str, Shadow] = {}
        self._cache: DataCache | None = None

    def shadow(self, memory: str) -> Shadow | None:
        """One map a memory, when races are looked for."""
        if self.races is None:
            return None
        if memory == "GM" and self.leader is not self:
            return self.leader.shadow(memory)
        if memory not in self._shadows:
            self._shadows[memory] = Shadow(memory, self.races.conflicts)
        return self._shadows[memory]

    def issue(self, op: Op, run: Executor) -> Executor:
        """The executor with the accesses noted; as it is when it touches no memory."""
        name = op.form.pipe or op.spec.pipe
        if not isinstance(run, Timed):
            if name == "S" or op.result is not None:
                return run
            run = staged(run)
        pipe = PIPE_INDEX[name]
        if self.races is None:
            return self._untracked(op, pipe, run)
        return self._compared(op, pipe, run, self.races)

    def _untracked(self, op: Op, pipe: int, run: Timed) -> Executor:
        stage, perform = run.stage, self._performer(op, pipe)

        def call(*values: Any) -> Any:
            return perform(stage(*values)[0])

        return call

    def _compared(self, op: Op, pipe: int, run: Timed, races: Races) -> Executor:
        stage, perform = run.stage, self._performer(op, pipe)
        clock, conflicts, turn = self.clocks.known[pipe], races.conflicts, self.turn
        at_once, watches = type(self) is Pipes, self.watches

        def call(*values: Any) -> Any:
            work, accesses = stage(*values)
            for watch in watches.values():
                if found := watch.touched(op, pipe, accesses):
                    raise KernelError([found])
            stamp = (pipe, clock[pipe], self.block, op, turn[0], None)
            for shadow, start, stop, write, _ in accesses:
                if write is True:
                    shadow.write(start, stop, stamp, clock)
                elif write:
                    shadow.write(start, stop, (*stamp[:5], write), clock)
                else:
                    shadow.read(start, stop, stamp, clock)
            cache = self._cache
            if cache is not None and cache.lines and pipe != SCALAR:
                races.report_cached(op, accesses, cache)
            for other in self.others:
                if other.lines:
                    races.report_cached(op, accesses, other)
            if conflicts:
                races.report(accesses)
            return work() if at_once else perform(work)

        return call

    def _performer(self, op: Op, pipe: int) -> Any:
        """What is called with the work of each call of `op`."""
        return _perform

    def release(self, pipe: int) -> Any:
        """The clock of the pipe."""
        return self.clocks.release(pipe)

    def acquire(self, pipe: int, token: Any) -> None:
        """Merge the clock of another pipe into that of this one."""
        self.clocks.acquire(pipe, token)

    def barrier(self) -> None:
        """Merge all clocks."""
        self.clocks.barrier()

    def fence(self, pipe: int) -> None:
        """A new epoch of the pipe."""
        self.clocks.fence(pipe)

    def settle_pipe(self, pipe: int) -> None:
        """Everything is performed at once."""

    def suspect(self, op: Op, accesses: tuple[Access, ...]) -> None:
        """Compare the reads with what was there before."""
        if self.races is None:
            return
        pipe = PIPE_INDEX[op.form.pipe or op.spec.pipe]
        clock = self.clocks.known[pipe]
        stamp = (pipe, clock[pipe], self.block, op, self.turn[0], None)
        for shadow, start, stop, write, _ in accesses:
            if not write:
                shadow.read(start, stop, stamp, clock)
        if self.races.conflicts:
            self.races.report(accesses)

    def tell(self, pipe: int) -> Told | None:
        """What the pipe's clock says of this block and others."""
        assert isinstance(self.clocks, MeetingClocks)
        return Told(self.clocks.tell(pipe), ())

    def hear(self, pipe: int, told: Told | None) -> None:
        """Merge what others know, and let them do it."""
        assert isinstance(self.clocks, MeetingClocks)
        assert told is not None
        self.clocks.hear(pipe, told.known)
        for engine, token in told.tokens:
            engine.force(token)

    def force(self, token: Any) -> None:
        """Nothing is in flight."""

    def epoch(self, pipe: int) -> int:
        """The pipe's own clock."""
        return self.clocks.known[pipe][pipe]

    def over(self, pipe: int, other: int, epoch: int) -> bool:
        """Whether the clock of `pipe` says so."""
        return self.clocks.known[pipe][other] >= epoch

    def settle(self) -> None:
        """Nothing is in flight."""

    def enter(self, core: Core) -> None:
        """Races are from now on found by this core."""
        if self.races is not None:
            self.races.enter(core)

    def begin_run(self, core: Core) -> None:
        """Forget the accesses and findings of the launch before."""
        self._cache = core.cache
        if self.races is not None and self.leader is self:
            self.races.clear(core)
        for shadow in self._shadows.values():
            shadow.clear()

    def begin_block(self, block: int) -> None:
        """A fresh core: only what happened in global memory is remembered."""
        self.block = block
        self.watches.clear()
        self.clocks.reset()
        if isinstance(self.clocks, MeetingClocks):
            self.clocks.block = block
            shadow = self.shadow("GM")
            if shadow is not None:
                shadow.far[block] = self.clocks.far
        for name, shadow in self._shadows.items():
            if name != "GM":
                shadow.clear()

    def end_block(self) -> None:
        """Nothing is in flight."""

    def findings(self) -> list[Finding]:
        """The races, in the order in which they were found."""
        return [] if self.races is None else self.races.findings()


def _perform(work: Work) -> Any:
    return work()
