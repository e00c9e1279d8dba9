"""Pipes that run apart: in-order queues of work, performed as late as synchronisation allows.

A queue holds entries (number, kind, payload) in the order of issue: the work of an operation, a
token that is set when the queue has come this far, or a token that it waits for. Nothing runs until
somebody needs it: a wait of the scalar unit, a barrier, the end of the block. The random schedule
also performs entries now and then. Tokens are released before they are acquired in program order,
so no cycle of waits can arise.
"""

from __future__ import annotations

import random
from collections import deque
from typing import TYPE_CHECKING, Any, Final

from ...tracer.trace import Op
from .clocks import PIPES, SCALAR, MeetingClocks
from .engine import Pipes, Told
from .registry import Work, rebound

if TYPE_CHECKING:
    from .core import Core

WORK: Final = 0
SET: Final = 1
WAIT: Final = 2

#: The random schedule goes on performing entries with this probability after each operation.
EAGERNESS: Final = 0.6


class Token:
    """An event: `done` once everything before it on `pipe` is. `clock` is what is over then."""

    __slots__ = ("clock", "done", "pipe")

    def __init__(self, pipe: int, clock: Any, done: bool) -> None:
        self.pipe = pipe
        self.clock = clock
        self.done = done


class QueuedPipes(Pipes):
    """The late schedule, or with a seed the random one."""

    def __init__(
        self,
        detect_races: bool,
        seed: int | None,
        meets: bool = False,
        leader: Pipes | None = None,
    ) -> None:
        super().__init__(detect_races, meets, leader)
        self._seed = seed
        self._random = random.Random(seed)
        self._queues: list[deque[tuple[int, int, Any]]] = [deque() for _ in PIPES]
        self._number = 0

    def _performer(self, op: Op, pipe: int) -> Any:
        if op.result is not None or rebound(op) is not None:
            return self._reader(pipe)
        queue = self._queues[pipe]
        wander = self._seed is not None

        def perform(work: Work) -> None:
            self._number += 1
            queue.append((self._number, WORK, work))
            if wander:
                self._wander()

        return perform

    def _reader(self, pipe: int) -> Any:
        """The program needs what the operation gives: what its pipe did before comes first."""

        def read(work: Work) -> Any:
            self.settle_pipe(pipe)
            return work()

        return read

    def settle_pipe(self, pipe: int) -> None:
        """Perform the queue of a pipe, and what it waits for."""
        queue = self._queues[pipe]
        while queue:
            self._step(queue)

    def release(self, pipe: int) -> Token:
        """A token that is set when the pipe has come this far."""
        return self._token(pipe, self.clocks.release(pipe))

    def _token(self, pipe: int, clock: Any) -> Token:
        queue = self._queues[pipe]
        token = Token(pipe, clock, not queue)
        if queue:
            self._number += 1
            queue.append((self._number, SET, token))
        return token

    def acquire(self, pipe: int, token: Token) -> None:
        """The scalar unit waits now, another pipe when it comes this far."""
        self.clocks.acquire(pipe, token.clock)
        if pipe == SCALAR:
            self._force(token)
        elif not token.done:
            self._number += 1
            self._queues[pipe].append((self._number, WAIT, token))

    def barrier(self) -> None:
        """Everything issued so far is performed."""
        self.clocks.barrier()
        self._drain()

    def settle(self) -> None:
        """Perform everything issued so far."""
        self._drain()

    def tell(self, pipe: int) -> Told | None:
        """What is over when the pipe comes this far, and the token that says when it has."""
        assert isinstance(self.clocks, MeetingClocks)
        known = self.clocks.tell(pipe)
        return Told(known, ((self, self._token(pipe, known)),))

    def force(self, token: Token) -> None:
        """Another block needs what is before the token."""
        self._force(token)

    def begin_run(self, core: Core) -> None:
        """The choices of the random schedule depend on the seed alone."""
        super().begin_run(core)
        self._random.seed(self._seed)

    def begin_block(self, block: int) -> None:
        """Nothing is in flight, also after a block that ended with an error."""
        super().begin_block(block)
        for queue in self._queues:
            queue.clear()

    def end_block(self) -> None:
        """Perform what is left."""
        self._drain()

    # -- performing -----------------------------------------------------------------------------

    def _step(self, queue: deque[tuple[int, int, Any]]) -> None:
        """Perform the first entry of a queue, and what it waits for."""
        _, kind, payload = queue[0]
        if kind == WAIT:
            self._force(payload)
        queue.popleft()
        if kind == WORK:
            payload()
        elif kind == SET:
            payload.done = True

    def _force(self, token: Token) -> None:
        """Perform until a token is set: its own pipe only, or any at random."""
        if self._seed is not None:
            while not token.done:
                self._step(self._random.choice(self._ready()))
            return
        queue = self._queues[token.pipe]
        while not token.done:
            self._step(queue)

    def _ready(self) -> list[deque[tuple[int, int, Any]]]:
        """The queues whose first entry waits for nothing."""
        return [q for q in self._queues if q and (q[0][1] != WAIT or q[0][2].done)]

    def _wander(self) -> None:
        while self._random.random() < EAGERNESS:
            ready = self._ready()
            if not ready:
                return
            self._step(self._random.choice(ready))

    def _drain(self) -> None:
        """Perform everything; of what is ready, the entry issued last comes first."""
        while ready := self._ready():
            if self._seed is not None:
                self._step(self._random.choice(ready))
            else:
                self._step(max(ready, key=lambda queue: queue[0][0]))
