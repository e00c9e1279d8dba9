"""When operations happen. The scalar program issues each operation to an engine.

An engine decides how the executor of an operation is called. `ProgramOrder` performs each operation
where the program issues it and looks at nothing. `Pipes` keeps the clocks of the core's pipes, so
that it finds races; its subclass `QueuedPipes` also performs the work of a pipe later than it is
issued (`queued.py`). `op.form.pipe or op.spec.pipe` says which pipe an operation runs on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from ...tracer.diagnostics import Finding
from ...tracer.trace import Op
from .clocks import PIPE_INDEX, SCALAR, Clocks
from .races import Races
from .registry import Executor, Timed, Work, staged
from .shadow import Shadow, Turn

if TYPE_CHECKING:
    from .cache import DataCache
    from .core import Core


class Engine(Protocol):
    """How the operations of one core are performed.

    `tracked`: whether the executors of queues, flags and barriers have to tell of them by
    `release`, `acquire` and `barrier`. `turn[0]` is where the scalar program says it is: the
    indices of the loops around.
    """

    tracked: bool
    turn: list[Turn]

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

    def epoch(self, pipe: int) -> int:
        """A mark for `over`: what `pipe` does now."""
        ...

    def over(self, pipe: int, other: int, epoch: int) -> bool:
        """Whether what `other` did at a mark is over before `pipe` does what comes next."""
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

    def epoch(self, pipe: int) -> int:
        """No clocks here."""
        return 0

    def over(self, pipe: int, other: int, epoch: int) -> bool:
        """Everything is over at once."""
        return True

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
    """Performs each operation at once and compares its accesses with those before, by clocks."""

    tracked = True

    def __init__(self, detect_races: bool) -> None:
        self.clocks = Clocks()
        self.races = Races() if detect_races else None
        self.block = 0
        self.turn: list[Turn] = [()]
        self._shadows: dict[str, Shadow] = {}
        self._cache: DataCache | None = None

    def shadow(self, memory: str) -> Shadow | None:
        """One map a memory, when races are looked for."""
        if self.races is None:
            return None
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
        at_once = type(self) is Pipes

        def call(*values: Any) -> Any:
            work, accesses = stage(*values)
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
                races.report_cached(op, accesses)
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

    def epoch(self, pipe: int) -> int:
        """The pipe's own clock."""
        return self.clocks.known[pipe][pipe]

    def over(self, pipe: int, other: int, epoch: int) -> bool:
        """Whether the clock of `pipe` says so."""
        return self.clocks.known[pipe][other] >= epoch

    def begin_run(self, core: Core) -> None:
        """Forget the accesses and findings of the launch before."""
        self._cache = core.cache
        if self.races is not None:
            self.races.clear(core)
        for shadow in self._shadows.values():
            shadow.clear()

    def begin_block(self, block: int) -> None:
        """A fresh core: only what happened in global memory is remembered."""
        self.block = block
        self.clocks.reset()
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
