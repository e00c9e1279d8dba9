"""Runtime loops: counted ones over ranges, and `while` loops that leave by a condition.

A pass traces the body once under assumptions: which locations are variables of the loop and of
which type. When the state at the end of the body does not fit, the pass is undone and repeated
with weaker assumptions (constant, then variable, then poison), so the number of passes is small
and bounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..diagnostics import KernelError, Site, error
from ..language.dtypes import DataType
from ..language.scalar import Scalar, Sign, compare, convert, nonneg
from ..trace import Assign, Block, Declare, If, Jump, Loop, Op, Value, walk
from .control import Snapshot, land, resolve, run_first, run_region
from .flow import NaturalLoop
from .frame import RETURNS, UNBOUND, Frame, NeedsUnroll, Path, Poison, Widen
from .heap import Entry, kind_of, what_is
from .merge import (
    adopt,
    merged,
    name_at,
    same_constant,
    shape_error,
    spelled,
    variable,
    variable_type,
    widen,
)
from .ranges import RangeState

if TYPE_CHECKING:
    from .machine import Machine

#: A location that is the same in every iteration, so far.
_SAME: Any = object()


class _Assumptions:
    """What the passes over one loop have learned: location -> type, or None for poison.

    The type of a tuple is the tuple of its elements' types, with `_SAME` for those that stay.
    """

    def __init__(self) -> None:
        self.slots: dict[int, Any] = {}
        self.heap: dict[tuple[int, Any], Any] = {}
        self.entries: dict[int, Entry] = {}


class LoopTracer:
    """Traces one runtime loop of a frame; `counted` is the range of a `for`, or None."""

    def __init__(
        self, vm: Machine, frame: Frame, loop: NaturalLoop, counted: RangeState | None, trial: bool
    ) -> None:
        self.vm = vm
        self.frame = frame
        self.loop = loop
        self.counted = counted
        self.trial = trial
        self.site = frame.site()
        self.flow = frame.program.flow
        self.live = self.flow.live(loop.header)
        self.own = self.flow.loop_stops(loop, frame.stops)
        self.entry = Snapshot(vm, frame)
        self.assumed = _Assumptions()
        self.vars: dict[Any, Value] = {}
        #: Variables that the body may make negative.
        self.negative: set[Any] = set()
        #: Location -> its value before the loop and where it got that, the same after an iteration.
        self.changes: dict[Any, tuple[Any, Site, Any, Site]] = {}
        self.entry_heap: dict[int, dict[Any, Any]] = {}
        self.header_slots: list[Any] = []
        self.header_heap: dict[int, Any] = {}
        self.node: Loop | None = None
        self._assume_stores()

    def _assume_stores(self) -> None:
        """Scalars that the body stores and a later iteration may read start as variables."""
        for slot in self.loop.stores:
            if self.live >> slot & 1:
                value = self.entry.slots[slot]
                if isinstance(value, Scalar | bool | int | float):
                    self.assumed.slots[slot] = variable_type([value])

    # -- the passes --------------------------------------------------------------------------

    def trace(self) -> int | list[Path]:
        """Trace the loop; returns how the run goes on."""
        try:
            for _ in range(200):
                try:
                    paths = self._pass()
                    back = [p for p in paths if p.dest == self.loop.header]
                    if self._fits(back):
                        return self._finish(back, [p for p in paths if p.dest != self.loop.header])
                except Widen as widen:
                    if widen.tracer is not self:
                        raise
                    self._assume(widen.location, widen.dtype)
                self.entry.restore(self.vm, self.frame, truncate=True)
        finally:
            for var in self.vars.values():
                self.vm.provisional.pop(id(var), None)
        raise error("AT0901", "the types of a loop's variables do not settle", self.site)

    def _assume(self, location: Any, dtype: DataType) -> None:
        """Give a variable another type from the next pass on."""
        parts: list[int] = []
        while location[0] == "part":
            parts.insert(0, location[2])
            location = location[1]
        if location[0] == "slot":
            self.assumed.slots[location[1]] = _with_part(
                self.assumed.slots[location[1]], parts, dtype
            )
        else:
            key = location[1:]
            self.assumed.heap[key] = _with_part(self.assumed.heap[key], parts, dtype)

    def _pass(self) -> list[Path]:
        vm, frame = self.vm, self.frame
        body = Block(vm.block)
        self.node = Loop(body, self.site)
        for var in self.vars.values():
            vm.provisional.pop(id(var), None)
        self.vars = {}
        for slot, type_ in self.assumed.slots.items():
            name = frame.code.slot_names[slot]
            frame.slots[slot] = self._start(("slot", slot), name, type_, frame.slots[slot])
        for (key, location), type_ in self.assumed.heap.items():
            entry = self.assumed.entries[key]
            vm.heap.touch(entry.obj, entry.site)
            kind = kind_of(entry.obj)
            state = kind.read(entry.obj)
            self.entry_heap.setdefault(key, dict(state))
            name = name_at(frame, entry.obj, location)
            state[location] = self._start(("heap", key, location), name, type_, state[location])
            kind.write(entry.obj, state)
        start = self.loop.header + 1
        if self.counted is not None:
            self._count(self.node, self.counted)
            start += 1
        self.header_slots = list(frame.slots)
        # Like every path's: all changes since the outermost runtime control began.
        self.header_heap = vm.heap.capture(vm.base if vm.controls else self.entry.heap)
        head = vm.heap.mark()
        stops = frame.stops | {self.loop.header} | self.own
        if self.counted is not None:
            frame.stack.append(self.node.index)
        # `break`, with a dispatch behind the loop, reaches whatever lies outside the body.
        jumps = stops | {RETURNS}
        around, frame.loops = frame.loops, frame.loops | {self.loop.header}
        try:
            paths = run_region(vm, frame, body, start, stops, jumps, self.entry, not self.trial)
        finally:
            frame.loops = around
        vm.heap.rollback(head)
        for path in paths:
            # A path that changed nothing in the body still leaves with the loop's variables.
            path.heap = self.header_heap | path.heap
        return paths

    def _start(self, location: Any, name: str, type_: Any, value: Any) -> Any:
        """The value of a location at the head of an iteration."""
        if type_ is None:
            if self.trial:
                raise NeedsUnroll(f"`{name}` differs from iteration to iteration", self.site)
            return self._poison(location, name)
        if type_ is _SAME:
            return value
        if isinstance(type_, tuple):
            parts = enumerate(zip(type_, value, strict=True))
            return tuple(
                self._start(("part", location, k), f"{name}_{k}", t, v) for k, (t, v) in parts
            )
        var = variable(type_, self.vm.block, name)
        self.vars[location] = var
        if isinstance(value, int) and isinstance(type_, DataType) and type_.kind != "f":
            self.vm.provisional[id(var)] = (self, location, var)
        if value is UNBOUND:
            # Only the value of the last iteration is read, after the loop.
            self.vm.block.nodes.append(Declare(var, None, self.site))
            return UNBOUND
        init = convert(value, type_) if isinstance(type_, DataType) else value
        if isinstance(var, Scalar) and var.type.kind == "i" and location not in self.negative:
            var._nonneg = Sign([init])
        self.vm.block.nodes.append(Declare(var, init, self.site))
        return var

    def _poison(self, location: Any, name: str) -> Poison:
        """What a name is that no variable of one type can be."""
        parts: list[int] = []
        while location[0] == "part":
            parts.insert(0, location[2])
            location = location[1]
        before, made, after, changed = self.changes[location]
        for k in parts:
            before, after = before[k], after[k]
        if isinstance(after, Poison):
            return Poison(name, after.reason, after.notes)
        if after is UNBOUND:
            reason = "has no value on some of the ways through a loop"
            return Poison(name, reason, (("the loop is here", self.site),))
        if before is UNBOUND:
            reason = "has no value before the loop, which may run zero times"
            notes = [("the loop is here", self.site)]
        else:
            reason = f"is {spelled(before)} before a loop and {spelled(after)} after an iteration"
            notes = [(f"`{name}` is {spelled(before)} here", made)]
        notes.append((f"`{name}` is {spelled(after)} here", changed))
        return Poison(name, reason, tuple(notes))

    def _count(self, node: Loop, counted: RangeState) -> None:
        vm = self.vm
        dtype = counted.dtype()
        node.start = convert(counted.start, dtype)
        node.stop = convert(counted.stop, dtype)
        node.step = convert(counted.step, dtype)
        index = Scalar(dtype, node.body, node)
        index._nonneg = nonneg(counted.start, vm) and (
            counted.ascending or nonneg(counted.stop, vm)
        )
        node.index = index

    # -- does the end of the body fit its head ------------------------------------------------

    def _fits(self, back: list[Path]) -> bool:
        ok = self._signs_fit(back)
        for slot in range(len(self.header_slots)):
            if not self.live >> slot & 1:
                continue
            head = self.header_slots[slot]
            for path in back:
                value = path.slots[slot]
                same = value is head and not self._is_lost(value, ("slot", slot))
                if not same and not self._slot_fits(path, slot, head):
                    ok = False
        for path in back:
            for key, (entry, state) in path.heap.items():
                if not self._object_fits(key, entry, state):
                    ok = False
        return ok

    def _is_lost(self, value: Any, location: Any) -> bool:
        """Whether a variable that other ways through the loop give a value has none on this."""
        return value is UNBOUND and location in self.vars

    def _signs_fit(self, back: list[Path]) -> bool:
        """Whether the variables whose sign mattered keep it."""
        checked: set[Any] = set()
        while todo := [k for k, sign in self._signs() if sign.used and k not in checked]:
            # What holds for one variable may depend on another, which then matters as well.
            checked.update(todo)
            for location in todo:
                for value in self._ends(back, location):
                    if not nonneg(value, self.vm):
                        self.negative.add(location)
        return not self.negative & checked

    def _signs(self) -> list[tuple[Any, Sign]]:
        """Locations of the loop's variables and what their signs depend on."""
        signs = [(k, getattr(var, "_nonneg", None)) for k, var in self.vars.items()]
        return [(k, sign) for k, sign in signs if isinstance(sign, Sign)]

    def _ends(self, back: list[Path], location: Any) -> list[Any]:
        """The numbers that a variable may have at the end of an iteration."""
        values = [self._at_end(path, location, self.vars[location]) for path in back]
        return [v for v in values if isinstance(v, Scalar | int)]

    def _at_end(self, path: Path, location: Any, var: Value | None) -> Any:
        """The value of a variable's location at the end of an iteration."""
        if location[0] == "slot":
            return path.slots[location[1]]
        if location[0] == "heap":
            _, key, inner = location
            return path.heap[key][1][inner] if key in path.heap else var
        whole = self._at_end(path, location[1], None)
        return var if whole is None else whole[location[2]]

    def _slot_fits(self, path: Path, slot: int, head: Any) -> bool:
        before, value = self.entry.slots[slot], path.slots[slot]
        type_ = self.assumed.slots.get(slot, _SAME)
        new = self._weaken(type_, before, head, value)
        if new == type_:
            return True
        self.assumed.slots[slot] = new
        code, _, parent = self.site  # type: ignore[misc]
        made = (code, self.entry.set_at.get(slot, 0), parent)
        changed = (code, path.set_at.get(slot, self.loop.header), parent)
        self.changes["slot", slot] = (before, made, value, changed)
        return False

    def _weaken(self, type_: Any, entry: Any, head: Any, value: Any) -> Any:
        """The type of a location that is `entry` before the loop.

        An iteration under the type so far began with `head` and ended with `value`.
        """
        if value is UNBOUND and type_ is not _SAME:
            return None
        if type_ is None or value is head or same_constant(head, value):
            return type_
        if type(entry) is tuple and type(value) is tuple and len(entry) == len(value):
            parts = type_ if isinstance(type_, tuple) else (_SAME,) * len(entry)
            return tuple(map(self._weaken, parts, entry, head, value))
        if entry is UNBOUND:
            if not self._runs_once():
                return None
            found = variable_type([value])
        else:
            found = variable_type([entry, value])
        if found is None:
            widen(self.vm, [entry, value])
            return None
        if isinstance(type_, DataType) and isinstance(found, DataType) and type_ is not found:
            if found.kind == "f" and type_.is_int() and not isinstance(entry, Scalar):
                # The integer type came from a constant that a float holds as well.
                return found
            return variable_type([Scalar(type_, self.vm.block), Scalar(found, self.vm.block)])
        return found

    def _runs_once(self) -> bool:
        return self.counted is not None and self.counted.runs_once()

    def _object_fits(self, key: int, entry: Entry, state: dict[Any, Any]) -> bool:
        head = kind_of(entry.obj).read(entry.obj)
        if self._is_new(entry.obj):
            return True
        if list(head) != list(state):
            if self.trial:
                raise NeedsUnroll(f"{what_is(entry.obj)} changes its shape", entry.site)
            raise shape_error(entry, [head, state], self.site)
        ok = True
        for location, value in state.items():
            before = head[location]
            lost = self._is_lost(value, ("heap", key, location))
            if not lost and (before is value or same_constant(before, value)):
                continue
            if self.trial:
                raise NeedsUnroll(f"{what_is(entry.obj)} changes", entry.site)
            if kind_of(entry.obj).fixed:
                raise error(
                    "AT0303",
                    f"{what_is(entry.obj)} advances in a runtime loop",
                    entry.site,
                    notes=[("the loop is here", self.site)],
                    hint="take the values out before the loop",
                )
            type_ = self.assumed.heap.get((key, location), _SAME)
            first = self.entry_heap.get(key, head)[location]
            new = self._weaken(type_, first, before, value)
            if new != type_:
                self.assumed.heap[key, location] = new
                self.assumed.entries[key] = entry
                self.changes["heap", key, location] = (first, self.site, value, entry.site)
                ok = False
        return ok

    def _is_new(self, obj: Any) -> bool:
        """Whether an object was made in the body, so that no iteration sees the one before's."""
        _, serial = self.vm.born.get(id(obj), (None, -1))
        return serial >= self.entry.births

    # -- after the passes ---------------------------------------------------------------------

    def _finish(self, back: list[Path], exits: list[Path]) -> int | list[Path]:
        vm, frame, node = self.vm, self.frame, self.node
        assert node is not None
        for location, sign in self._signs():
            if not sign.used:
                sign.values += self._ends(back, location)
        taken = {id(p.block) for p in back + exits}
        for path in back:
            self._carry(path, node.body, taken)
        leave = [p for p in exits if p.dest != RETURNS or not frame.is_kernel]
        for path in exits:
            if path.dest == RETURNS and frame.is_kernel:
                assert path.block is not None
                path.block.nodes.append(Jump("return", path.site))
        returned = len(leave) < len(exits)
        if self.counted is not None and (back or not self._runs_once()):
            # Without a way back, only a range that may be empty is used up.
            leave.append(self._exhausted())
        self.entry.restore(vm, frame)
        vm.block.nodes.append(node)
        if returned:
            # What follows does not run on the ways on which the kernel has returned.
            vm.controls.append(self.site)
        mark = self.entry.mark()
        groups: dict[int, list[Path]] = {}
        for path in leave:
            groups.setdefault(path.dest, []).append(path)
        if not groups:
            return []
        if len(groups) == 1:
            state, poisoned = merged(vm, frame, leave, mark, self)
            if self.trial and poisoned:
                raise NeedsUnroll(f"`{poisoned[0].name}` {poisoned[0].reason}", self.site)
            states, chain = [state], mark
            state.block = vm.block
        else:
            mine = [d for d in groups if d in self.own]
            first = self.flow.first_of(mine, frame.stops, frame.pc) if mine else next(iter(groups))
            order = [first, *(d for d in groups if d != first)]
            states, chain = land(vm, frame, [groups[d] for d in order], mark, self)
        for path in leave:
            if path.block is not None:
                path.block.nodes.append(Jump("break", path.site))
        if len(states) > 1:
            return run_first(vm, frame, states, self.own, chain)
        if states[0].dest in self.own:
            adopt(vm, frame, states[0])
            return states[0].dest
        return resolve(vm, frame, states, self.own, chain)

    def _exhausted(self) -> Path:
        """The way a counted loop leaves when its range is used up."""
        frame, loop = self.frame, self.loop
        assert loop.normal_exit is not None
        entry = self.entry
        heap = dict(self.header_heap)
        path = Path(frame, loop.normal_exit, None, heap, entry.lineage, entry.handled)
        path.slots = list(self.header_slots)
        for location, var in self.vars.items():
            if location[0] == "slot" and path.slots[location[1]] is UNBOUND:
                path.slots[location[1]] = var
            elif location[0] == "heap" and (kept := heap[location[1]])[1][location[2]] is UNBOUND:
                heap[location[1]] = (kept[0], {**kept[1], location[2]: var})
        path.stack = self.entry.stack[:-1]
        path.set_at = dict(self.entry.set_at)
        path.site = self.site
        return path

    def _carry(self, path: Path, body: Block, taken: set[int]) -> None:
        """Assign the loop's variables at the end of an iteration."""
        vm = self.vm
        block = path.block
        assert block is not None
        saved, vm.block = vm.block, block
        pairs: list[tuple[Value, Any]] = []
        for location, var in self.vars.items():
            value = self._at_end(path, location, var)
            if value is var:
                continue
            if isinstance(var.type, DataType):
                value = convert(value, var.type)
            pairs.append((var, value))
        vm.block = saved
        if pairs:
            names, values = zip(*pairs, strict=True)
            block.nodes.append(Assign(names, values, path.site))
        if not is_tail(block, body, taken):
            block.nodes.append(Jump("continue", path.site))


def _with_part(type_: Any, parts: list[int], dtype: DataType) -> Any:
    """A type with the one at `parts` of its tuples exchanged."""
    if not parts:
        return dtype
    first, *rest = parts
    return (*type_[:first], _with_part(type_[first], rest, dtype), *type_[first + 1 :])


def is_tail(block: Block, body: Block, taken: set[int]) -> bool:
    """Whether the end of `block` is the end of `body`; `taken` blocks go on behind their nodes."""
    while block is not body:
        parent = block.parent
        if parent is None or not parent.nodes or id(parent) in taken:
            return False
        last = parent.nodes[-1]
        if not (isinstance(last, If) and (last.then is block or last.orelse is block)):
            return False
        block = parent
    return True


def for_range(vm: Machine, frame: Frame, state: RangeState, target: int) -> Any:
    """FOR_ITER on a range: the next index, a loop, or the end."""
    if state.mode == "unroll" or (state.trips in (0, 1) and state.mode == "auto"):
        return unroll_step(vm, frame, state, target)
    loop = frame.program.flow.loops.get(frame.pc - 1)
    if loop is None:
        # The body never comes back here, so it runs at most once.
        if state.trips is not None:
            return unroll_step(vm, frame, state, target)
        return _once(vm, frame, state, target)
    if state.mode == "loop" or state.trips is None:
        return LoopTracer(vm, frame, loop, state, trial=False).trace()
    before = Snapshot(vm, frame)
    count = vm.recorded
    reason: NeedsUnroll | KernelError
    try:
        tracer = LoopTracer(vm, frame, loop, state, trial=True)
        result = tracer.trace()
        assert tracer.node is not None
        if _unrolls_to_more(tracer.node, vm.options.unroll_limit // state.trips):
            return result
        reason = NeedsUnroll("it is short", frame.site())
    except (NeedsUnroll, KernelError) as exc:
        reason = exc
    before.restore(vm, frame, truncate=True)
    vm.recorded = count
    vm.unrolling[id(frame.code), frame.pc] = reason
    return unroll_step(vm, frame, state, target)


def _unrolls_to_more(loop: Loop, most: int) -> bool:
    """Whether an iteration has more operations than so many when it is unrolled.

    What depends on the index alone is constant then. Views of tensors are no operations, they are
    written inside the calls that use them.
    """
    constant = {id(loop.index)}
    count = 0
    for node in walk(loop.body):
        if not isinstance(node, Op):
            continue
        if node.spec.pure:
            if node.spec.family != "arith":
                continue
            if all(id(a) in constant for a in node.args if isinstance(a, Value)):
                constant.add(id(node.result))
                continue
        count += 1
        if count > most:
            return True
    return False


def unroll_step(vm: Machine, frame: Frame, state: RangeState, target: int) -> int | None:
    """One iteration of an unrolled constant range, or its end."""
    assert state.trips is not None
    if state.done >= state.trips:
        frame.stack.pop()
        return target
    if vm.recorded > vm.options.unroll_hard_limit:
        raise _too_long(vm, frame, state)
    vm.unrolls = True
    frame.stack[-1] = state.step_on(frame.pc)
    frame.stack.append(state.value())
    return None


def _too_long(vm: Machine, frame: Frame, state: RangeState) -> KernelError:
    reason = vm.unrolling.get((id(frame.code), frame.pc))
    notes = []
    if isinstance(reason, NeedsUnroll):
        notes = [(f"it cannot be one C++ loop: {reason.reason}", reason.site)]
    elif isinstance(reason, KernelError):
        finding = reason.findings[0]
        notes = [(f"it cannot be one C++ loop: {finding.code}: {finding.message}", None)]
    return error(
        "AT0114",
        f"unrolling the loop over {state.trips} indices took the kernel past "
        f"{vm.options.unroll_hard_limit} operations",
        frame.site(),
        notes=notes,
        hint="keep Python containers and attributes out of the body, or use asc.range",
    )


def _once(vm: Machine, frame: Frame, state: RangeState, target: int) -> Any:
    """A runtime range whose body always leaves in its first iteration: an `if`."""
    dtype = state.dtype()
    start, stop = convert(state.start, dtype), convert(state.stop, dtype)
    cond = compare("<" if state.ascending else ">", start, stop)
    enter = frame.pc + 1
    before = Snapshot(vm, frame)
    joins = frame.program.flow.joins(frame.pc, (enter, target), frame.stops)
    then, orelse = Block(vm.block), Block(vm.block)
    frame.stack.append(start)
    inside = frame.stops | joins
    paths = run_region(vm, frame, then, enter, inside, frozenset(), before)
    before.restore(vm, frame)
    frame.stack.pop()
    paths += run_region(vm, frame, orelse, target, inside, frozenset(), before)
    before.restore(vm, frame)
    vm.block.nodes.append(If(cond, then, orelse, frame.site()))
    return resolve(vm, frame, paths, joins, before.mark())
