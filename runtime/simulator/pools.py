"""Executors of `TBufPool`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...tracer.diagnostics import error
from ...tracer.ops import buffers as rows
from ...tracer.trace import Op, Value, describe
from .buffers import init_buffer, need_memory, release, rounded
from .core import Queue
from .memory import Memory
from .registry import Executor, simulates

if TYPE_CHECKING:
    from .core import Core


class Pool:
    """A pool at run time: the bytes `start` to `size` of its memory; `next` is the first free one.

    `owners` are the queues, TBufs and pools it has given memory to, `taken` how many buffers.
    """

    __slots__ = ("memory", "next", "owners", "size", "start", "taken", "value")

    def __init__(self, value: Value, memory: Memory) -> None:
        self.value = value
        self.memory = memory
        self.start = self.next = self.size = 0
        self.owners: list[Any] = []
        self.taken = 0

    @property
    def name(self) -> str:
        """For messages."""
        return describe(self.value)

    def note(self, op: Op, owner: Any, num: int) -> None:
        """The pool has given memory to a queue or pool; AT0108 for more buffers than it has."""
        self.taken += num
        limit = self.value.type.buffers
        if self.taken > limit:
            raise error(
                "AT0108",
                f"{self.name} gives out {self.taken} buffers, and has {limit}",
                op.site,
                hint="TBufPool(position, buf_id_size): up to 16 buffers",
            )
        self.owners.append(owner)

    def clear(self, op: Op) -> None:
        """Take everything back."""
        for owner in self.owners:
            if isinstance(owner, Queue):
                release(owner, op)
            else:
                owner.release(op)
        self.owners.clear()
        self.next, self.taken = self.start, 0

    def release(self, op: Op) -> None:
        """The memory is taken back, and with it what the pool has given out."""
        self.clear(op)
        self.start = self.next = self.size = 0


@simulates(rows.TBUF_POOL)
def _pool(op: Op, core: Core) -> Executor:
    value: Any = op.result
    memory = core.memory_of(value)

    def run() -> Pool:
        pool = Pool(value, memory)
        core.holders.append(pool)
        return pool

    return run


@simulates(rows.INIT_BUF_POOL, rows.POOL_INIT_BUF_POOL)
def _init_pool(op: Op, core: Core) -> Executor:
    _, pool_value, constant, shared_value = op.args
    memory = core.memory_of(pool_value)
    nested = op.spec is rows.POOL_INIT_BUF_POOL
    dynamic = isinstance(constant, Value)

    def run(manager: Any, pool: Pool, *values: Any) -> None:
        length = rounded(values[0] if dynamic else constant)
        shared = values[-1] if shared_value is not None else None
        region = manager if nested else memory
        if shared is None:
            need_memory(op, region)
            start, end = region.next, region.size
        else:
            need_memory(op, shared)
            start, end = shared.start, shared.size
        if length <= 0 or start + length > end:
            raise error(
                "AT0104",
                f"{pool.name} takes {length} bytes, and there are {max(end - start, 0)} left in "
                f"{region.name if shared is None else shared.name}",
                op.site,
                hint="a shorter pool, or one that shares the memory of another",
            )
        pool.start = pool.next = start
        pool.size = start + length
        pool.owners.clear()
        pool.taken = 0
        if shared is None:
            region.next = pool.size
        if nested:
            manager.owners.append(pool)
        memory.use(start, pool.size)

    return run


@simulates(rows.POOL_INIT_BUFFER)
def _init_buffer(op: Op, core: Core) -> Executor:
    return init_buffer(op)


@simulates(rows.POOL_RESET)
def _reset(op: Op, core: Core) -> Executor:
    barrier = core.engine.barrier

    def run(pool: Pool) -> None:
        barrier()
        pool.clear(op)

    return run
