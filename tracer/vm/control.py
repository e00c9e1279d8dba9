"""Branches on runtime conditions and runtime loops: how arms are traced and paths meet.

A *run* interprets a frame until it stops: at a label of `frame.stops`, at a return, or with a list
of paths. A branch runs its arms from the same state; `Flow` says at which labels they join. Paths
with one destination are merged (`merge.py`); with several, the merged state carries a C++ variable
that says where to go on, and an `if` dispatches on it. So early returns and breaks out of nested
loops need no mechanism of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..diagnostics import KernelError, Site, error
from ..language.dtypes import bool_, int32
from ..language.scalar import Scalar, compare, logical_not
from ..trace import Assign, Block, Declare, If, Jump, Value
from .frame import RETURNS, STOP, YIELD, DeadEnd, Frame, NeedsUnroll, Path, Restart, Signal
from .merge import Mark, adopt, merge, merged
from .raising import refuse_if_caught
from .text import RuntimeText, record_text

if TYPE_CHECKING:
    from .machine import Machine


class _Everything(frozenset[int]):
    """The jumps of a C++ loop body: `break` with a dispatch reaches any destination."""

    def __contains__(self, dest: object) -> bool:
        return True


EVERYWHERE = _Everything()


class Snapshot:
    """State of a frame and of the journal to come back to."""

    __slots__ = (
        "births",
        "block",
        "depth",
        "exc",
        "heap",
        "length",
        "pending",
        "set_at",
        "slots",
        "stack",
    )

    def __init__(self, vm: Machine, frame: Frame) -> None:
        self.slots = list(frame.slots)
        self.stack = list(frame.stack)
        self.set_at = dict(frame.set_at)
        self.exc = frame.exc
        self.pending = len(frame.pending)
        self.depth = frame.depth
        self.heap = vm.heap.mark()
        self.block = vm.block
        self.length = len(vm.block.nodes)
        self.births = len(vm.born)

    def mark(self) -> Mark:
        """Where declarations for what began here go."""
        return Mark(self.block, self.length, self.births)

    def restore(self, vm: Machine, frame: Frame, truncate: bool = False) -> None:
        """Bring the frame and the journal back; with `truncate` the recorded nodes too."""
        frame.slots = list(self.slots)
        frame.stack = list(self.stack)
        frame.set_at = dict(self.set_at)
        frame.exc = self.exc
        vm.heap.rollback(self.heap)
        if truncate:
            del self.block.nodes[self.length :]
            del frame.pending[self.pending :]
            vm.block = self.block


@contextmanager
def region(vm: Machine, frame: Frame, block: Block) -> Iterator[None]:
    """Runtime control: `block` is current and `frame` runs one level deeper."""
    saved = (vm.block, frame.stops, frame.jumps, frame.pending, frame.pc, vm.base)
    if not vm.controls:
        vm.base = vm.heap.floor
    vm.controls.append(frame.site())
    vm.journaling = True
    frame.depth += 1
    frame.pending = []
    vm.block = block
    try:
        yield
    finally:
        vm.block, frame.stops, frame.jumps, frame.pending, frame.pc, vm.base = saved
        vm.controls.pop()
        frame.depth -= 1


def run_region(
    vm: Machine,
    frame: Frame,
    block: Block,
    pc: int,
    stops: frozenset[int],
    jumps: frozenset[int],
    trap: bool = True,
) -> list[Path]:
    """Run from `pc` into `block` until a stop; the paths that leave, state included.

    An exception that the kernel raises here is a trap on the device; without `trap` (the loop may
    still be unrolled and the exception then be certain) it asks for that.
    """
    site = frame.site()
    with region(vm, frame, block):
        frame.stops = stops
        frame.jumps = jumps
        frame.pc = pc
        try:
            return end_of_run(vm, frame, vm.run(frame))
        except DeadEnd:
            return frame.pending
        except (KernelError, Signal):
            raise
        except Exception as exc:
            if not trap:
                raise NeedsUnroll("its body raises", vm.site_of(exc)) from exc
            return _trap(vm, frame, exc, site)


def _trap(vm: Machine, frame: Frame, exc: Exception, site: Site) -> list[Path]:
    """An exception left an arm: on the device that is a trap."""
    place = vm.site_of(exc)
    if not vm.is_raised(exc):
        raise exc
    refuse_if_caught(vm, frame, site, exc, place)
    text = type(exc).__name__
    if exc.args and isinstance(message := exc.args[0], RuntimeText):
        record_text(vm, (f"{text}: ", *message.pieces, "\n"))
        text += f": {message.static()}"
    elif exc.args:
        text += f": {exc}"
    vm.block.nodes.append(Jump("trap", place, text))
    return frame.pending


def branch(vm: Machine, frame: Frame, cond: Scalar, a: int, b: int) -> Any:
    """Trace both arms of `if cond: goto a else: goto b`; returns how the run goes on."""
    flow = frame.program.flow
    _restart_loops(frame, flow, a, b)
    stops = frame.stops
    joins, a_exits, b_exits = flow.branch(frame.pc, a, b, stops)
    site = frame.site()
    before = Snapshot(vm, frame)
    then, orelse = Block(vm.block), Block(vm.block)
    arms = [(a, then), (b, orelse)]
    if b_exits and not a_exits:
        arms.reverse()
    inside = stops | joins
    (first_pc, first_block), (second_pc, second_block) = arms
    first = run_region(vm, frame, first_block, first_pc, inside, frame.jumps)
    before.restore(vm, frame)
    node = If(cond, then, orelse, site)
    if all(p.dest in frame.jumps and p.dest not in joins for p in first):
        vm.block.nodes.append(node)
        frame.pending += first
        return second_pc
    second = run_region(vm, frame, second_block, second_pc, inside, frame.jumps)
    before.restore(vm, frame)
    vm.block.nodes.append(node)
    return resolve(vm, frame, first + second, joins, before.mark())


def _restart_loops(frame: Frame, flow: Any, a: int, b: int) -> None:
    """A runtime condition that leaves a `while` run so far on constants makes it a C++ loop."""
    leaves = None
    for loop in flow.loops_at(frame.pc):
        if loop.header in frame.stops:
            break
        if loop.is_for or loop.header in frame.program.unrolled:
            continue
        inside = [flow.reaches(n, loop.header, loop.nodes) for n in (a, b)]
        if not all(inside):
            leaves = loop
    if leaves is not None:
        raise Restart(frame, leaves.header)


def resolve(
    vm: Machine, frame: Frame, paths: list[Path], own: frozenset[int], mark: Mark
) -> int | list[Path]:
    """Go on after a construct whose paths end at its tail.

    `own` are the labels at which this construct joins. Returns the label to go on at, or the paths
    with which the run ends.
    """
    while True:
        stay = []
        for path in paths:
            if path.dest not in own and path.dest in frame.jumps:
                frame.pending.append(path)
            else:
                stay.append(path)
        dests = {path.dest for path in stay}
        if not dests & own:
            return stay
        if len(dests) == 1:
            merge(vm, frame, stay, mark)
            return dests.pop()
        paths, mark = dispatch(vm, frame, stay, own, mark)


def dispatch(
    vm: Machine, frame: Frame, paths: list[Path], own: frozenset[int], mark: Mark
) -> tuple[list[Path], Mark]:
    """Paths with several destinations: a variable says which; run the first destination."""
    groups: dict[int, list[Path]] = {}
    for path in paths:
        groups.setdefault(path.dest, []).append(path)
    mine = [d for d in groups if d in own]
    first = frame.program.flow.first_of(mine, frame.stops, frame.pc)
    order = [first, *(d for d in groups if d != first)]
    site = frame.site()
    states, chain = land(vm, frame, [groups[d] for d in order], mark, site)
    state = states[0]
    assert state.block is not None
    before = Snapshot(vm, frame)
    adopt(vm, frame, state)
    ran = run_region(vm, frame, state.block, first, frame.stops | (own - {first}), frame.jumps)
    before.restore(vm, frame)
    return ran + states[1:], chain


def land(
    vm: Machine,
    frame: Frame,
    groups: list[list[Path]],
    mark: Mark,
    site: Site,
    preferred: dict[int, Value] | None = None,
) -> tuple[list[Path], Mark]:
    """Bring groups of paths into tail blocks of an `if` chain in the current block.

    Every group's paths set a variable to the group's number and merge their states. Returns the
    groups' states and the place of the chain.
    """
    two = len(groups) == 2
    name = "returned" if two and groups[1][0].dest == RETURNS else "left" if two else "way"
    var = Scalar(bool_ if two else int32, mark.block, None, name)
    init: Any = None
    for number, group in enumerate(groups):
        value = bool(number) if two else number
        for path in group:
            if path.block is None:
                init = value
            else:
                path.block.nodes.append(Assign((var,), (value,), site))
    mark.insert(Declare(var, init, site))
    states = []
    for group in groups:
        states.append(merged(vm, frame, group, mark, preferred)[0])
    chain = Snapshot(vm, frame).mark()
    block = vm.block
    for number, state in enumerate(states):
        if number == len(states) - 1:
            state.block = vm.block
            break
        cond = logical_not(var) if two else compare("==", var, number)
        then, orelse = Block(vm.block), Block(vm.block)
        vm.block.nodes.append(If(cond, then, orelse, site))
        state.block = then
        vm.block = orelse
    vm.block = block
    return states, chain


def end_of_run(vm: Machine, frame: Frame, result: Any) -> list[Path]:
    """The paths a run ended with, the pending ones included."""
    if type(result) is list:
        return frame.pending + result
    if result is YIELD:
        raise error(
            "AT0303",
            "`yield` under a runtime condition or in a runtime loop",
            frame.site(),
            hint="a generator runs while tracing: let it yield on constant conditions only",
        )
    dest = frame.pc if result is STOP else RETURNS
    path = Path(frame, dest, vm.block, vm.heap.capture(vm.base))
    return [*frame.pending, path]
