"""The state of one simulated core: memories, queues, flags; fresh for each block."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol
from weakref import ref

import numpy as np

from ...tracer.diagnostics import Finding, finding
from ...tracer.language.enums import MEMORY, HardEvent
from ...tracer.language.types import QueueType
from ...tracer.ops._events import never_released
from ...tracer.trace import Op, Trace, Value, describe
from .atomics import Mode, left_on
from .cache import DataCache
from .clocks import queue_pipes
from .deq import DeqScale
from .engine import Engine
from .masks import CmpMask, MaskRegister
from .memory import HELD, Hold, Memory
from .params import SimParams

if TYPE_CHECKING:
    from .meeting import Grid


class Queue:
    """A `TQue` at run time. `free` holds addresses of free buffers, `waiting` enqueued tensors.

    `holds` has the latest allocation of each buffer by address. `producer` and `consumer` are the
    pipes that its events are between.
    """

    __slots__ = (
        "consumer", "depth", "free", "holds", "memory", "nbytes", "num", "producer", "value",
        "waiting",
    )  # fmt: skip

    def __init__(self, value: Value, memory: Memory) -> None:
        self.value = value
        self.memory = memory
        self.depth: int = value.type.depth
        self.num = 0
        self.nbytes = 0
        self.free: deque[int] = deque()
        self.waiting: deque[Hold] = deque()
        self.holds: dict[int, Hold] = {}
        kind = value.type
        self.producer, self.consumer = queue_pipes(
            kind.position, getattr(kind, "src", None), getattr(kind, "dst", None)
        )


class Holder(Protocol):
    """What has memory of the pipe and is no queue."""

    def release(self, op: Op) -> None:
        """`op` takes the memory back: what still names it is stale."""
        ...


class _Cache(dict[Any, Any]):
    """A dict that can be referred to weakly."""


class Core:
    """One core, reused for block after block. `per_block` registers caches to empty in between.

    `leader` is another core of the same launch, when blocks run side by side.
    """

    def __init__(
        self,
        trace: Trace,
        memories: Iterable[str],
        params: SimParams,
        engine: Engine,
        leader: Core | None = None,
    ) -> None:
        self.trace = trace
        self.chip = chip = trace.chip
        self.params = params
        self.engine = engine
        self.memories = {
            name: Memory(name, chip.memory[name], params.check_uninitialised, engine.shadow(name))
            for name in memories
        }
        self.global_shadow = engine.shadow("GM")
        self.cache: DataCache = DataCache(leader.cache if leader else None)
        self.block = 0
        #: The arguments of the launch, as the scalar program takes them.
        self.arguments: Sequence[Any] = ()
        #: What the blocks of the launch share, when they run side by side.
        self.grid: Grid | None = None
        #: The mode of copies to global memory, when they do not simply replace.
        self.atomic: Mode | None = None
        self.queues: list[Queue] = []
        #: TBufs and pools, which a reset of the pipe takes the memory of.
        self.holders: list[Holder] = []
        #: Flags that are set: who set them, and the engine's token.
        self.flags: dict[tuple[HardEvent, int], Op] = {}
        self.tokens: dict[tuple[HardEvent, int], Any] = {}
        #: The latest wait for each event: the operation, and its epoch.
        self.waits: dict[tuple[HardEvent, int], tuple[Op, int]] = {}
        #: The vector mask, in programs where something depends on it.
        self.masks: MaskRegister | None = None
        #: What `set_deq_scale` set.
        self.deq: DeqScale | None = None
        #: The bits that `compare` without `dst` and `set_cmp_mask` leave.
        self.cmp = CmpMask()
        #: How far off approximations are.
        self.random = self._seeded(0) if params.approximate else None
        self._noted: dict[tuple[Op, Op], Finding] = {}
        self._caches: list[ref[_Cache]] = []
        #: Event ids that are taken, with who took each.
        self.event_ids: dict[HardEvent, dict[int, Op]] = self.per_block()
        #: What else a block remembers: tags of buffers, shapes of tensors.
        self.notes: dict[Any, Any] = self.per_block()

    def per_block(self) -> Any:
        """A dict that is emptied when a block begins; it lives as long as its user."""
        cache = _Cache()
        self._caches.append(ref(cache))
        return cache

    def memory_of(self, value: Value) -> Memory:
        """The memory a local tensor or queue lives in."""
        return self.memories[MEMORY[value.type.position]]

    def _seeded(self, block: int) -> np.random.Generator:
        """Random numbers of a block, the same in each run with one seed."""
        return np.random.default_rng((self.params.seed or 0, block))

    def begin_run(self) -> None:
        """Forget everything of the launch before."""
        self._noted.clear()
        self.cache.begin_run()
        self.engine.begin_run(self)

    def begin_block(self, block: int = 0) -> None:
        """Forget everything of the block before."""
        self.block = self.cache.block = block
        for memory in self.memories.values():
            memory.reset()
        self._caches = [link for link in self._caches if link() is not None]
        for link in self._caches:
            cache = link()
            if cache is not None:
                cache.clear()
        self.queues.clear()
        self.holders.clear()
        self.flags.clear()
        self.tokens.clear()
        self.waits.clear()
        self.deq = None
        self.cmp.reset()
        if self.random is not None:
            self.random = self._seeded(block)
        self.cache.lines.clear()
        self.reset_modes()
        self.engine.begin_block(block)

    def reset_modes(self) -> None:
        """The modes of the core as a kernel finds them."""
        self.atomic = None
        if self.masks is not None:
            self.masks.reset()

    def end_block(self) -> list[Finding]:
        """What the block left behind: warnings about buffers and events."""
        self.engine.end_block()
        if self.grid is None:
            self.cache.clean(self.block)
        found: list[Finding] = [] if self.atomic is None else [left_on(self.atomic)]
        found += [] if self.masks is None else self.masks.left()
        for queue in self.queues:
            for hold in queue.holds.values():
                if hold[0] is not None:
                    found.append(_left_behind(queue, hold))
        for taken in self.event_ids.values():
            found += map(never_released, dict.fromkeys(taken.values()))
        for (event, event_id), op in self.flags.items():
            found.append(
                finding(
                    "AT0204",
                    f"set_flag({event.name}, {event_id}) is never waited for",
                    op.site,
                    severity="warning",
                    hint="a set that nothing consumes disturbs the next user of the event id",
                )
            )
        return found

    def findings(self) -> list[Finding]:
        """What was found across the blocks of the launch: races, lines of several blocks, events.

        Doubts about events are left out when there are races, which explain them.
        """
        races = self.engine.findings()
        noted = list(self._noted.values())
        if races:
            noted = [f for f in noted if f.severity == "error"]
        return races + self.cache.findings() + noted

    def note(self, pair: tuple[Op, Op], found: Finding) -> None:
        """Keep a finding about two operations, once a launch; the run goes on."""
        self._noted.setdefault(pair, found)

    def queue(self, value: Value) -> Queue:
        """A new queue for a `TQue` value."""
        assert isinstance(value.type, QueueType)
        queue = Queue(value, self.memory_of(value))
        self.queues.append(queue)
        return queue


def _left_behind(queue: Queue, hold: Hold) -> Finding:
    if hold[0] == HELD:
        text = f"a tensor of {describe(queue.value)} is never freed"
        hint = "call free_tensor, or enque it for its consumer"
    else:
        text = f"a tensor enqueued to {describe(queue.value)} is never taken"
        hint = "the consumer calls deque and free_tensor once for each enque"
    return finding("AT0202", text, hold[3].site, severity="warning", hint=hint)
