"""Executors of synchronisation between blocks. Those that may wait are generators (`meeting.py`).

What the device does in software, by words in global memory, happens by the same words here: a
workspace that is not zero, or that two calls share, has its effect. The accesses of these calls to
their workspaces are no part of the search for races; each is between two barriers of all pipes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...tracer.chip import BLOCK_BYTES
from ...tracer.diagnostics import KernelError, error
from ...tracer.ops import block_sync as rows
from ...tracer.trace import Op, describe
from .clocks import PIPE_INDEX, SCALAR
from .meeting import Grid, Wait, Waiting, list_blocks
from .memory import GlobalView, LocalView, global_fault, local_fault, unwritten_fault
from .registry import Executor, nothing, simulates

if TYPE_CHECKING:
    from .core import Core

_WORD = 4


def _grid(core: Core) -> Grid:
    assert core.grid is not None
    return core.grid


class _Workspaces:
    """The workspaces of one call: words in global memory, one block of 32 bytes each, and in UB."""

    def __init__(self, op: Op, core: Core, gm: GlobalView, ub: LocalView) -> None:
        self._op = op
        self._core = core
        self._gm = gm
        self._ub = ub
        self.memory = core.memory_of(op.args[1])

    def need(self, slots: int, local_slots: int) -> None:
        """Both have room for so many blocks of 32 bytes."""
        memory, start, end = self._gm
        stop = start + slots * BLOCK_BYTES
        if start < 0 or stop > end or not memory.name:
            raise global_fault(self._op, 0, self._gm, start, stop)
        if fault := local_fault(self._op, 1, self._ub, local_slots * BLOCK_BYTES):
            raise fault

    def key(self, *more: Any, slot: int = 0) -> tuple[Any, ...]:
        """What names a place in global memory among all workspaces."""
        memory, start, _ = self._gm
        return (memory.base + start + slot * BLOCK_BYTES, *more)

    def load(self, slot: int) -> int:
        """The word of a slot in global memory."""
        memory, start, _ = self._gm
        at = start + slot * BLOCK_BYTES
        return int.from_bytes(memory.bytes[at : at + _WORD], "little", signed=True)

    def store(self, slot: int, value: int) -> None:
        """Write the word of a slot in global memory."""
        memory, start, _ = self._gm
        at = start + slot * BLOCK_BYTES
        memory.bytes[at : at + _WORD] = value.to_bytes(_WORD, "little", signed=True)

    def store_slot(self, slot: int, value: int) -> None:
        """Write all eight words of a slot, in global memory and UB."""
        memory, start, _ = self._gm
        data = value.to_bytes(_WORD, "little", signed=True) * (BLOCK_BYTES // _WORD)
        at = start + slot * BLOCK_BYTES
        memory.bytes[at : at + BLOCK_BYTES] = data
        self._local(slot * BLOCK_BYTES, data)

    def fetch(self, slots: int, first: int = 0, to: int = 0) -> None:
        """Copy slots from global memory to UB, as the device does to look at them."""
        memory, start, _ = self._gm
        at = start + first * BLOCK_BYTES
        self._local(to * BLOCK_BYTES, bytes(memory.bytes[at : at + slots * BLOCK_BYTES]))

    def local(self, slot: int) -> int:
        """The word of a slot in UB, which has to be written."""
        at = self._ub[0] + slot * BLOCK_BYTES
        if self.memory.first_unwritten(at, at + _WORD) is not None:
            raise unwritten_fault(self._op, 1, at, self._ub[0])
        return int.from_bytes(self.memory.bytes[at : at + _WORD], "little", signed=True)

    def set_local(self, slot: int, value: int) -> None:
        """Write the word of a slot in UB."""
        self._local(slot * BLOCK_BYTES, value.to_bytes(_WORD, "little", signed=True))

    def _local(self, offset: int, data: bytes) -> None:
        at = self._ub[0] + offset
        self.memory.bytes[at : at + len(data)] = data
        self.memory.mark(at, at + len(data))


def _wait(
    op: Op, core: Core, left: int, ready: Callable[[], bool], held: Callable[[], str]
) -> Waiting:
    _grid(core).enter(op)
    left = yield left, Wait(op, ready, held)
    return left


@simulates(rows.DATA_SYNC_BARRIER)
def _nothing(op: Op, core: Core) -> Executor:
    """The scalar unit's accesses are in order here as it is."""
    return nothing


# -- flags of the hardware ------------------------------------------------------------------------


@simulates(rows.CROSS_CORE_SET_FLAG)
def _set_flag(op: Op, core: Core) -> Executor:
    constant, mode, pipe = op.args
    number = PIPE_INDEX[pipe.name.removeprefix("PIPE_")]

    def run(flag: int = constant) -> None:
        grid = _grid(core)
        grid.enter(op)
        _check_flag(op, core, flag, mode)
        if len(grid.counters.get((flag, core.block), ())) >= rows.FLAG_LIMIT:
            raise error(
                "AT0212",
                f"{op.spec.name} counts flag {flag} past {rows.FLAG_LIMIT}",
                op.site,
                hint="wait for the flag as often as it is set",
            )
        grid.arrive(flag, core.block, op, core.engine.tell(number))

    return run


@simulates(rows.CROSS_CORE_WAIT_FLAG)
def _wait_flag(op: Op, core: Core) -> Executor:
    constant, mode, pipe = op.args
    # On 2201 the call holds everything that is issued later.
    number = PIPE_INDEX[pipe.name.removeprefix("PIPE_")] if core.chip.arch == "3510" else SCALAR

    def run(left: int, flag: int = constant) -> Waiting:
        _check_flag(op, core, flag, mode)
        left = yield from _wait_for_flag(op, core, left, flag, number)
        return left

    return run


def _wait_for_flag(op: Op, core: Core, left: int, flag: int, pipe: int) -> Waiting:
    grid, key = _grid(core), (flag, core.block)

    def held() -> str:
        missing = grid.missing(flag)
        verb = "has" if len(missing) == 1 else "have"
        name = op.spec.name if op.spec is rows.SYNC_ALL else f"the set of flag {flag}"
        return f"{list_blocks(missing)} {verb} not come to {name}"

    left = yield from _wait(op, core, left, lambda: bool(grid.counters.get(key)), held)
    _, told = grid.counters[key].popleft()
    core.engine.hear(pipe, told)
    return left


def _check_flag(op: Op, core: Core, flag: int, mode: int) -> None:
    if fault := rows.bad_flag(op.spec, flag, op.site):
        raise fault
    if mode != 0:
        raise error(
            "AT0307",
            f"{op.spec.name} in mode {mode}, which is between {rows.BETWEEN[mode]}",
            op.site,
            hint="the simulator runs kernels of vector cores alone, one a block: mode 0 is between "
            "all blocks, ib_set and ib_wait between two",
        )
    if flag in rows.SYNC_ALL_FLAGS:
        _claim(op, core, flag)


def _claim(op: Op, core: Core, flag: int) -> None:
    """A flag belongs to `sync_all` or to the kernel."""
    other = _grid(core).users.setdefault(flag, op)
    if (other.spec is rows.SYNC_ALL) != (op.spec is rows.SYNC_ALL):
        raise error(
            "AT0212",
            f"{op.spec.name} uses flag {flag}, and so does {other.spec.name}",
            op.site,
            notes=[("used here", other.site)],
            hint=f"sync_all() uses the flags {rows.SYNC_ALL_FLAGS.start} to "
            f"{rows.SYNC_ALL_FLAGS.stop - 1}",
        )


# -- sync_all -------------------------------------------------------------------------------------


@simulates(rows.SYNC_ALL)
def _sync_all(op: Op, core: Core) -> Executor:
    if not op.args[-1]:

        def refuse(left: int, *values: Any) -> Waiting:
            _grid(core).enter(op)
            raise error(
                "AT0212",
                f"{op.spec.name}(is_aiv_only=False) waits for ever: it waits for cube cores, and "
                "the kernel has none",
                op.site,
                hint="leave is_aiv_only true in a kernel of vector cores",
            )
            yield

        return refuse
    return _sync_soft(op, core) if op.form.name == "software" else _sync_hard(op, core)


def _sync_hard(op: Op, core: Core) -> Executor:
    flag = rows.SYNC_ALL_FLAGS[-1]

    def run(left: int) -> Waiting:
        grid = _grid(core)
        grid.enter(op)
        _claim(op, core, flag)
        core.engine.barrier()
        grid.arrive(flag, core.block, op, core.engine.tell(SCALAR))
        left = yield from _wait_for_flag(op, core, left, flag, SCALAR)
        return left

    return run


def _sync_soft(op: Op, core: Core) -> Executor:
    constant = op.args[2]

    def run(left: int, gm: GlobalView, ub: LocalView, used: int = constant) -> Waiting:
        grid, block = _grid(core), core.block
        grid.enter(op)
        total = used or grid.blocks
        if not 0 < total <= grid.blocks or block >= total:
            raise _not_used(op, used, block, grid.blocks)
        space = _Workspaces(op, core, gm, ub)
        space.need(grid.blocks, grid.blocks)
        core.engine.barrier()
        count = space.load(block) + 1
        first = count == 1
        if not first and ("sync", space.key()) not in core.notes:
            raise _not_zero(op, block, count - 1)
        core.notes["sync", space.key()] = True
        space.store(block, count)
        told = grid.told
        told[space.key(count, block)] = core.engine.tell(SCALAR)

        def ready() -> bool:
            if first:
                space.store(block, 1)  # who clears the whole workspace later clears this word too
            return sum(map(space.load, range(total))) >= total * count

        def held() -> str:
            missing = [k for k in range(total) if space.load(k) < count]
            return (
                f"{list_blocks(missing)} of {total} {'is' if len(missing) == 1 else 'are'} missing"
            )

        left = yield from _wait(op, core, left, ready, held)
        space.fetch(total)
        for other in range(total):
            heard = told.get(space.key(count, other))
            if other != block and heard is not None:
                core.engine.hear(SCALAR, heard)
        return left

    return run


def _not_used(op: Op, used: int, block: int, blocks: int) -> KernelError:
    if not 0 < (used or blocks) <= blocks:
        return error(
            "AT0108",
            f"{op.spec.name} of {used} blocks in a kernel of {blocks}",
            op.site,
            hint="used_cores is 1 to the number of blocks, or 0 for all",
        )
    return error(
        "AT0212",
        f"{op.spec.name} of the first {used} blocks is called by block {block}",
        op.site,
        hint="blocks from used_cores on leave the call out",
    )


def _not_zero(op: Op, block: int, value: int) -> KernelError:
    return error(
        "AT0212",
        f"{op.spec.name} finds {value} in the word of block {block} of {describe(op.args[0])}",
        op.site,
        hint="the workspace is all zero when the kernel starts",
    )


# -- events between two blocks --------------------------------------------------------------------


def _event(op: Op, core: Core, wanted: int) -> Executor:
    """Wait until the word of an event is `wanted`, then turn it round."""
    fixed = op.args[2:4]
    twice = 1 if op.args[4] else 2

    def run(left: int, gm: GlobalView, ub: LocalView, *values: int) -> Waiting:
        grid = _grid(core)
        grid.enter(op)
        rest = iter(values)
        index, event = (v if isinstance(v, int) else next(rest) for v in fixed)
        if not 0 <= index < grid.blocks * twice or event < 0:
            raise error(
                "AT0108",
                f"{op.spec.name} of block {index}, event {event}, in a kernel of {grid.blocks} "
                "blocks",
                op.site,
                hint=f"block_idx is 0 to {grid.blocks - 1}, event_id counts from 0 up",
            )
        slot = grid.blocks * twice * event + index
        space = _Workspaces(op, core, gm, ub)
        space.need(slot + 1, 1)
        core.engine.barrier()

        def held() -> str:
            return f"the word of block {index}, event {event} is {space.load(slot)}, not {wanted}"

        left = yield from _wait(op, core, left, lambda: space.load(slot) == wanted, held)
        space.store(slot, 1 - wanted)
        space.fetch(1, slot)
        key = space.key("event", slot=slot)
        told = grid.told.get(key)
        if told is not None:
            core.engine.hear(SCALAR, told)
        core.engine.barrier()
        grid.told[key] = core.engine.tell(SCALAR)
        return left

    return run


@simulates(rows.IB_SET)
def _ib_set(op: Op, core: Core) -> Executor:
    return _event(op, core, 0)


@simulates(rows.IB_WAIT)
def _ib_wait(op: Op, core: Core) -> Executor:
    return _event(op, core, 1)


# -- taking turns ---------------------------------------------------------------------------------


@simulates(rows.INIT_DETERMINE_COMPUTE_WORKSPACE)
def _init_turns(op: Op, core: Core) -> Executor:
    def run(gm: GlobalView, ub: LocalView) -> None:
        grid = _grid(core)
        grid.enter(op)
        space = _Workspaces(op, core, gm, ub)
        space.need(grid.blocks, grid.blocks + 1)
        core.engine.barrier()
        if core.block == 0:
            for slot in range(grid.blocks):
                space.store_slot(slot, 0)
        space.set_local(grid.blocks, 1)

    return run


@simulates(rows.WAIT_PRE_BLOCK)
def _wait_turn(op: Op, core: Core) -> Executor:
    def run(left: int, gm: GlobalView, ub: LocalView) -> Waiting:
        grid, block = _grid(core), core.block
        space = _Workspaces(op, core, gm, ub)
        space.need(grid.blocks, grid.blocks + 1)
        core.engine.barrier()
        turn = space.local(grid.blocks)

        def ready() -> bool:
            wanted = [turn] * block + [0] * (grid.blocks - block)
            return [space.load(k) for k in range(grid.blocks)] == wanted

        def held() -> str:
            others = [space.load(k) for k in range(grid.blocks)]
            missing = [k for k in range(block) if others[k] != turn]
            if missing:
                return f"{list_blocks(missing)} did not pass on turn {turn}"
            return f"turn {turn} waits for the end of the turn before: the words are {others}"

        left = yield from _wait(op, core, left, ready, held)
        space.fetch(grid.blocks)
        told = grid.told.get(space.key("turn", (block - 1) % grid.blocks))
        if told is not None:
            core.engine.hear(SCALAR, told)
        return left

    return run


@simulates(rows.NOTIFY_NEXT_BLOCK)
def _pass_turn(op: Op, core: Core) -> Executor:
    def run(gm: GlobalView, ub: LocalView) -> None:
        grid, block = _grid(core), core.block
        grid.enter(op)
        space = _Workspaces(op, core, gm, ub)
        space.need(grid.blocks, grid.blocks + 1)
        core.engine.barrier()
        turn = space.local(grid.blocks)
        if block + 1 == grid.blocks:
            for slot in range(grid.blocks):
                space.store_slot(slot, 0)
        else:
            space.store_slot(block, turn)
        space.set_local(grid.blocks, turn + 1)
        grid.told[space.key("turn", block)] = core.engine.tell(SCALAR)

    return run
