"""Branches on runtime conditions and runtime loops: how arms are traced and paths meet.

A *run* interprets a frame until it stops: at a label of `frame.stops`, at a return, or with a list
of paths. A branch runs its arms from the same state; `Flow` says at which labels they join. Paths
with one destination are merged (`merge.py`); with several, the merged state carries a C++ variable
that says where to go on, and an `if` dispatches on it. So early returns and breaks out of nested
loops need no mechanism of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..diagnostics import KernelError, Site, error
from ..language.dtypes import bool_, int32
from ..language.scalar import Scalar, compare, emit, logical_not, truth
from ..ops import arith
from ..trace import Assign, Block, Declare, If, Jump, Op
from .frame import RETURNS, STOP, YIELD, DeadEnd, Frame, NeedsUnroll, Path, Restart, Signal
from .merge import Mark, adopt, merge, merged
from .raising import refuse_if_caught
from .text import RuntimeText, record_text

if TYPE_CHECKING:
    from .loops import LoopTracer
    from .machine import Machine


class Snapshot:
    """State of a frame and of the journal to come back to."""

    __slots__ = (
        "births",
        "block",
        "controls",
        "depth",
        "handled",
        "heap",
        "length",
        "lineage",
        "pending",
        "set_at",
        "slots",
        "stack",
    )

    def __init__(self, vm: Machine, frame: Frame) -> None:
        self.slots = list(frame.slots)
        self.stack = list(frame.stack)
        self.set_at = dict(frame.set_at)
        self.handled = vm.handled
        self.pending = len(frame.pending)
        self.depth = frame.depth
        self.heap = vm.heap.mark()
        self.block = vm.block
        self.length = len(vm.block.nodes)
        self.births = len(vm.born)
        self.controls = len(vm.controls)
        self.lineage = vm.lineage

    def mark(self) -> Mark:
        """Where declarations for what began here go."""
        return Mark(self.block, self.length)

    def restore(self, vm: Machine, frame: Frame, truncate: bool = False) -> None:
        """Bring the frame and the journal back; with `truncate` the recorded nodes too."""
        frame.slots = list(self.slots)
        frame.stack = list(self.stack)
        frame.set_at = dict(self.set_at)
        vm.handled = self.handled
        vm.heap.rollback(self.heap)
        del vm.controls[self.controls :]
        vm.lineage = self.lineage
        if truncate:
            del self.block.nodes[self.length :]
            del frame.pending[self.pending :]
            vm.block = self.block


def run_region(
    vm: Machine,
    frame: Frame,
    block: Block,
    pc: int,
    stops: frozenset[int],
    jumps: frozenset[int],
    before: Snapshot,
    trap: bool = True,
) -> list[Path]:
    """Run from `pc` into `block` until a stop; the paths that leave, with what changed.

    The outermost region keeps the changes since `before`, inner ones belong to it.
    An exception that the kernel raises here is a trap on the device; without `trap` (the loop may
    still be unrolled and the exception then be certain) it asks for that.
    """
    outer = (vm.block, vm.base)
    saved = (frame.stops, frame.jumps, frame.pending, frame.pc, frame.snapshots)
    controls = len(vm.controls)
    if not controls:
        vm.base = before.heap
    control = frame.site()
    vm.controls.append(control)
    vm.journaling = True
    frame.depth += 1
    frame.pending = []
    vm.block, frame.stops, frame.jumps, frame.pc = block, stops, jumps, pc
    try:
        return end_of_run(vm, frame, run_guarded(vm, frame, controls, trap), control)
    finally:
        vm.block, vm.base = outer
        frame.stops, frame.jumps, frame.pending, frame.pc, frame.snapshots = saved
        frame.depth -= 1


def run_guarded(vm: Machine, frame: Frame, controls: int, trap: bool = True) -> Any:
    """Run a frame; what the kernel raises under runtime control is a trap on the device.

    `controls` is the number of runtime conditions around the run itself.
    """
    try:
        return vm.run(frame)
    except DeadEnd:
        return []
    except (KernelError, Signal):
        raise
    except GeneratorExit:
        if len(vm.controls) == controls:
            raise
        raise error(
            "AT0303",
            "what a generator does when it is closed depends on a runtime condition",
            frame.site(),
            notes=[("the generator is closed here", frame.parent)],
            hint="use it up, or end its `finally` or `with` by statements without runtime `if`",
        ) from None
    except Exception as exc:
        if len(vm.controls) == controls:
            raise
        if not trap:
            raise NeedsUnroll("its body raises", vm.site_of(exc)) from exc
        if not vm.is_raised(exc):
            raise
        _trap(vm, frame, exc)
        return []
    finally:
        del vm.controls[controls:]


def _trap(vm: Machine, frame: Frame, exc: Exception) -> None:
    """An exception left an arm: on the device that is a trap."""
    place = vm.site_of(exc)
    refuse_if_caught(frame, exc, place)
    text = type(exc).__name__
    if exc.args and isinstance(message := exc.args[0], RuntimeText):
        record_text(vm, (f"{text}: ", *message.pieces, "\n"))
        text += f": {message.static()}"
    elif exc.args:
        text += f": {exc}"
    vm.block.nodes.append(Jump("trap", place, text))


def branch(vm: Machine, frame: Frame, cond: Scalar, a: int, b: int) -> Any:
    """Trace both arms of `if cond: goto a else: goto b`; returns how the run goes on."""
    flow = frame.program.flow
    stops = frame.stops
    site = frame.site()
    cond, a, b = fold(vm, frame, cond, a, b)
    _restart_loops(frame, flow, a, b)
    joins = flow.joins(frame.pc, (a, b), stops)
    before = Snapshot(vm, frame)
    then, orelse = Block(vm.block), Block(vm.block)
    arms = [(a, then), (b, orelse)]
    inside = stops | joins
    if _rank(frame, flow, b, inside) < _rank(frame, flow, a, inside):
        arms.reverse()
    (first_pc, first_block), (second_pc, second_block) = arms
    first = run_region(vm, frame, first_block, first_pc, inside, frame.jumps, before)
    before.restore(vm, frame)
    node = If(cond, then, orelse, site)
    if all(p.dest in frame.jumps and p.dest not in joins for p in first):
        vm.block.nodes.append(node)
        frame.pending += first
        vm.controls.append(site)
        return second_pc
    second = run_region(vm, frame, second_block, second_pc, inside, frame.jumps, before)
    before.restore(vm, frame)
    vm.block.nodes.append(node)
    return resolve(vm, frame, first + second, joins, before.mark())


def _rank(frame: Frame, flow: Any, arm: int, stops: frozenset[int]) -> int:
    """Which arm of a branch is nested while the other goes on behind: the lower."""
    if flow.only_raises(arm, stops):
        return 0
    loop = next((p for p in flow.loops_at(frame.pc) if p.header in frame.loops), None)
    if loop is not None and not flow.reaches(arm, loop.header, loop.nodes):
        return 1
    return 2 if flow.is_trivial(arm, stops) else 3


def _restart_loops(frame: Frame, flow: Any, a: int, b: int) -> None:
    """A runtime condition that leaves a `while` run so far on constants makes it a C++ loop."""
    leaves = None
    for loop in flow.loops_at(frame.pc):
        if loop.header in frame.loops:
            break
        if loop.is_for:
            continue
        # An assertion in the body is no way out of the loop, unless there is no other.
        trapping = all(flow.only_raises(e, frame.stops) for e in loop.exits)
        for arm in (a, b):
            if not flow.reaches(arm, loop.header, loop.nodes) and (
                trapping or not flow.only_raises(arm, frame.stops)
            ):
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
    groups: dict[int, list[Path]] = {}
    gone = len(frame.pending)
    for path in paths:
        if path.dest not in own and path.dest in frame.jumps:
            frame.pending.append(path)
        else:
            groups.setdefault(path.dest, []).append(path)
    mine = [d for d in groups if d in own]
    if not mine:
        return [path for group in groups.values() for path in group]
    if len(frame.pending) > gone:
        # What follows here does not run on the ways that have left.
        vm.controls.append(frame.site())
    if len(groups) == 1:
        merge(vm, frame, groups[mine[0]], mark)
        return mine[0]
    first = frame.program.flow.first_of(mine, frame.stops, frame.pc)
    order = [first, *(d for d in groups if d != first)]
    states, chain = land(vm, frame, [groups[d] for d in order], mark)
    return run_first(vm, frame, states, own, chain)


def run_first(
    vm: Machine, frame: Frame, states: list[Path], own: frozenset[int], chain: Mark
) -> int | list[Path]:
    """Of states in the tail blocks of an `if` chain, run the first and bring all together."""
    state = states[0]
    if state.dest not in own:
        return states
    assert state.block is not None
    others = tuple(s.dest for s in states[1:] if s.dest != RETURNS)
    # Where no state waits any more, a run must not stop: it may be the next round of a loop.
    own = own.intersection(others) | frame.program.flow.joins(
        frame.pc, (state.dest, *others), frame.stops
    )
    before = Snapshot(vm, frame)
    adopt(vm, frame, state)
    stops = frame.stops | (own - {state.dest})
    ran = run_region(vm, frame, state.block, state.dest, stops, frame.jumps, before)
    before.restore(vm, frame)
    return resolve(vm, frame, ran + states[1:], own, chain)


def land(
    vm: Machine,
    frame: Frame,
    groups: list[list[Path]],
    mark: Mark,
    loop: LoopTracer | None = None,
) -> tuple[list[Path], Mark]:
    """Bring groups of paths into tail blocks of an `if` chain in the current block.

    Every group's paths set a variable to the group's number and merge their states. Returns the
    groups' states and the place of the chain.
    """
    site = frame.site()
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
        states.append(merged(vm, frame, group, mark, loop)[0])
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


def fold(vm: Machine, frame: Frame, cond: Scalar, a: int, b: int) -> tuple[Scalar, int, int]:
    """Take `x and y`, `x or y` on pure operands as one condition.

    Where the block behind one outcome only computes a second condition that shares the other
    outcome, and computing it early can do no harm, the two become `&&` or `||`.
    """
    while True:
        for target, other, when_true in ((a, b, True), (b, a, False)):
            kept = frame.stack[-1] if frame.stack else None
            found = _second_condition(vm, frame, target, other, cond, not when_true)
            if found is not None:
                second, goes_on, shared, same_when = found
                if same_when == when_true:
                    second = logical_not(second)
                first = cond
                cond = emit(arith.LAND if when_true else arith.LOR, (cond, second), bool_)
                if kept is first and frame.stack[-1] is not kept:
                    # The value of `x and y` itself.
                    frame.stack[-1] = cond
                a, b = (goes_on, shared) if when_true else (shared, goes_on)
                break
        else:
            return cond, a, b


def _second_condition(
    vm: Machine, frame: Frame, target: int, other: int, first: Scalar, first_when: bool
) -> tuple[Scalar, int, int, bool] | None:
    """A pure condition computed at `target` with one outcome that lands where `other` does.

    Returns it, where its outcomes go (the shared one second), and which truth value is the shared
    one's. The state is then the one behind the second condition.
    """
    if target in frame.stops:
        return None
    instrs, flow = frame.code.instrs, frame.program.flow
    if flow.leader(frame.pc) in flow.loops and instrs[target].span[0] != instrs[frame.pc].span[0]:
        # The test of a loop stays apart from an `if ...: break` that begins its body.
        return None
    end = target + 1
    while instrs[end].op in _PURE:
        end += 1
    jump = instrs[end]
    if jump.op not in ("POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE"):
        return None
    outcomes = {jump.op == "POP_JUMP_IF_TRUE": jump.arg, jump.op != "POP_JUMP_IF_TRUE": end + 1}
    landing = flow.landing(other)
    same = next((t for t, place in outcomes.items() if flow.landing(place) == landing), None)
    if same is None:
        return None
    before = Snapshot(vm, frame)
    second = _evaluate(vm, frame, target + 1, end, before)
    if second is None:
        return None
    here = before.stack[: len(before.stack) - flow.pops(other)]
    there = frame.stack[: len(frame.stack) - flow.pops(outcomes[same])]
    if not _alike(here, there, (first, second) if first_when == same else None):
        before.restore(vm, frame, truncate=True)
        return None
    return second, outcomes[not same], outcomes[same], same


def _alike(here: list[Any], there: list[Any], values: tuple[Scalar, Scalar] | None) -> bool:
    """Whether two ways arrive with the same stack; the conditions' own values may be on top."""
    if len(here) != len(there):
        return False
    differ = [k for k, value in enumerate(here) if value is not there[k]]
    if not differ:
        return True
    top = len(here) - 1
    return (
        differ == [top]
        and values is not None
        and here[top] is values[0]
        and there[top] is values[1]
    )


def _evaluate(vm: Machine, frame: Frame, start: int, end: int, before: Snapshot) -> Scalar | None:
    """The runtime bool that instructions leave on the stack, if all they record is harmless."""
    pc = frame.pc
    block = vm.block
    vm.block = Block(block.parent)
    depth = len(frame.stack)
    try:
        for frame.pc in range(start, end):
            handler, arg = frame.program.singles[frame.pc]
            handler(vm, frame, arg)
        value = frame.stack.pop()
        second: Scalar | None = truth(value) if isinstance(value, Scalar) else None
        nodes = vm.block.nodes
        if second is None or len(frame.stack) > depth or not all(map(_is_harmless, nodes)):
            second = None
    except Exception:
        second = None
    finally:
        vm.block = block
        frame.pc = pc
    if second is None:
        before.restore(vm, frame)
        return None
    block.nodes += nodes
    for node in nodes:
        assert isinstance(node, Op)
        assert node.result is not None
        node.result.block = block
    return second


def _is_harmless(node: Any) -> bool:
    return isinstance(node, Op) and node.spec.pure and not node.spec.extra.get("partial")


_PURE = {
    "LOAD_FAST", "LOAD_CONST", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_ATTR", "COMPARE_OP",
    "BINARY_OP", "UNARY_OP", "COPY", "SWAP", "POP_TOP", "TO_BOOL", "IS_OP",
}  # fmt: skip


def end_of_run(vm: Machine, frame: Frame, result: Any, control: Site = None) -> list[Path]:
    """The paths a run ended with, the pending ones included; `control` is what it stood under."""
    if type(result) is list:
        return frame.pending + result
    if result is YIELD:
        raise error(
            "AT0303",
            "`yield` under a runtime condition or in a runtime loop",
            frame.site(),
            notes=[("the condition or loop is here", control)],
            hint="a generator runs while tracing: let it yield on constant conditions only",
        )
    dest = frame.pc if result is STOP else RETURNS
    path = Path(frame, dest, vm.block, vm.heap.capture(vm.base), vm.lineage, vm.handled)
    return [*frame.pending, path]
