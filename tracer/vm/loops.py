"""Runtime loops: counted ones over ranges, and `while` loops that leave by a condition.

A pass traces the body once under assumptions: which locations are variables of the loop and of
which type. When the state at the end of the body does not fit, the pass is undone and repeated
with weaker assumptions (constant, then variable, then poison), so the number of passes is small
and bounded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..diagnostics import KernelError, error
from ..language.dtypes import DataType, int32, int64, promote
from ..language.scalar import Scalar, convert, nonneg
from ..trace import Block, Declare, Jump, Loop, Value, count_ops
from .control import EVERYWHERE, Snapshot, land, resolve, run_region
from .flow import NaturalLoop
from .frame import RETURNS, UNBOUND, Frame, NeedsUnroll, Path, Poison, Signal
from .heap import Entry, kind_of
from .merge import Merger, adopt, merged, same_constant, shape_error, variable, variable_type
from .ranges import RangeState

if TYPE_CHECKING:
    from .machine import Machine

_VARIES: Any = object()


class _Assumptions:
    """What the passes over one loop have learned: location -> type, or None for poison."""

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
        for _ in range(200):
            paths = self._pass()
            back = [p for p in paths if p.dest == self.loop.header]
            if self._fits(back):
                return self._finish(back, [p for p in paths if p.dest != self.loop.header])
            self.entry.restore(self.vm, self.frame, truncate=True)
        raise error("AT0901", "the types of a loop's variables do not settle", self.site)

    def _pass(self) -> list[Path]:
        vm, frame = self.vm, self.frame
        body = Block(vm.block)
        self.node = Loop(body, self.site)
        self.vars = {}
        for slot, type_ in self.assumed.slots.items():
            name = frame.code.slot_names[slot]
            frame.slots[slot] = self._start(slot, name, type_, frame.slots[slot])
        for (key, location), type_ in self.assumed.heap.items():
            entry = self.assumed.entries[key]
            vm.heap.touch(entry.obj, entry.site)
            kind = kind_of(entry.obj)
            state = kind.read(entry.obj)
            name = location if isinstance(location, str) else "element"
            state[location] = self._start((key, location), name, type_, state[location])
            kind.write(entry.obj, state)
        start = self.loop.header + 1
        if self.counted is not None:
            self._count(self.node, self.counted)
            start += 1
        self.header_slots = list(frame.slots)
        self.header_heap = vm.heap.capture(self.entry.heap)
        stops = self.entry_stops() | {self.loop.header} | self.own
        index = self.node.index
        if self.counted is not None:
            frame.stack[-1:] = [frame.stack[-1], index]
        return run_region(vm, frame, body, start, stops, EVERYWHERE)

    def entry_stops(self) -> frozenset[int]:
        """The stops of the run around the loop."""
        return self.frame.stops

    def _start(self, location: Any, name: str, type_: Any, value: Any) -> Any:
        """The value of a location at the head of an iteration."""
        if type_ is None:
            if self.trial:
                raise NeedsUnroll(f"`{name}` differs from iteration to iteration", self.site)
            notes = (("the loop is here", self.site),)
            return Poison(name, "has no single type over the iterations of a loop", notes)
        if type_ is _VARIES:
            return value
        var = variable(type_, self.vm.block, name)
        self.vars[location] = var
        if value is UNBOUND:
            # Only the value of the last iteration is read, after the loop.
            self.vm.block.nodes.append(Declare(var, None, self.site))
            return UNBOUND
        init = convert(value, type_) if isinstance(type_, DataType) else value
        self.vm.block.nodes.append(Declare(var, init, self.site))
        return var

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
        ok = True
        for slot in range(len(self.header_slots)):
            if not self.live >> slot & 1:
                continue
            head = self.header_slots[slot]
            for path in back:
                value = path.slots[slot]
                if value is not head and not self._slot_fits(slot, head, value):
                    ok = False
        for path in back:
            for key, (entry, state) in path.heap.items():
                if not self._object_fits(key, entry, state):
                    ok = False
        return ok

    def _slot_fits(self, slot: int, head: Any, value: Any) -> bool:
        entry = self.entry.slots[slot]
        if slot in self.assumed.slots:
            type_ = self.assumed.slots[slot]
            if type_ is None:
                return True
            new = self._weaken(type_, entry, value, slot in self.vars)
        elif same_constant(head, value):
            return True
        else:
            new = self._weaken(_VARIES, entry, value, False)
            type_ = _VARIES
        if new is type_ or new == type_:
            return True
        self.assumed.slots[slot] = new
        return False

    def _weaken(self, type_: Any, entry: Any, value: Any, known: bool) -> Any:
        """The type of a location that starts as `entry` and ends an iteration as `value`."""
        if entry is UNBOUND:
            if not self._runs_once():
                return None
            found = variable_type([value])
        else:
            found = variable_type([entry, value])
        if found is None:
            return None
        if known and isinstance(type_, DataType) and isinstance(found, DataType):
            if type_ is found:
                return type_
            wide = variable_type([Scalar(type_, self.vm.block), Scalar(found, self.vm.block)])
            return wide
        return found

    def _runs_once(self) -> bool:
        return self.counted is not None and self.counted.runs_once()

    def _object_fits(self, key: int, entry: Entry, state: dict[Any, Any]) -> bool:
        if key in self.header_heap:
            head = self.header_heap[key][1]
        else:
            first = next((e for e in self.vm_log() if id(e.obj) == key), None)
            if first is None:
                return True
            head = first.before
        if list(head) != list(state):
            if self.trial:
                raise NeedsUnroll(f"a {type(entry.obj).__name__} changes its shape", entry.site)
            if not self._existed(entry):
                return True
            raise shape_error(entry, [head, state])
        ok = True
        for location, value in state.items():
            before = head[location]
            if before is value or same_constant(before, value):
                continue
            if not self._existed(entry):
                continue
            if self.trial:
                raise NeedsUnroll(f"a {type(entry.obj).__name__} changes", entry.site)
            slot = (key, location)
            type_ = self.assumed.heap.get(slot, _VARIES)
            if type_ is None:
                continue
            new = self._weaken(type_, self._entry_value(entry, location), value, slot in self.vars)
            if not (new is type_ or new == type_):
                self.assumed.heap[slot] = new
                self.assumed.entries[key] = entry
                ok = False
        return ok
