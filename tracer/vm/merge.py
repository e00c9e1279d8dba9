"""Where paths meet: one value for each location, by C++ variables where they differ.

The rule, location by location (locals, the evaluation stack, elements of containers, attributes):
the same object or equal constants stay; scalars of a common dtype and tensors of one type become
a variable that every path assigns; tuples, and lists and dicts made on the paths, are merged
element by element; anything else is poison.
"""

from __future__ import annotations

import struct
from enum import Enum
from types import CellType, FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..diagnostics import Site, error
from ..language.dtypes import DataType, float32, int32, of_constant, promote
from ..language.scalar import Scalar, Sign, convert
from ..language.types import GlobalPointerType, GlobalTensorType, LocalTensorType
from ..trace import Assign, Block, Declare, Node, Value
from .frame import RETURNS, UNBOUND, Frame, Path, Poison, Widen
from .guards import type_lookup
from .heap import INSTANCE, Advanced, Entry, Kind, kind_of, what_is

if TYPE_CHECKING:
    from .loops import LoopTracer
    from .machine import Machine

_NUMBERS = (bool, int, float, np.generic)
_TENSORS = (LocalTensorType, GlobalTensorType, GlobalPointerType)


class Mark:
    """A position in a block before which declarations go."""

    __slots__ = ("block", "index")

    def __init__(self, block: Block, index: int) -> None:
        self.block = block
        self.index = index

    def insert(self, node: Node) -> None:
        """Put a node at the mark, after those put there before."""
        self.block.nodes.insert(self.index, node)
        self.index += 1


def same_constant(a: Any, b: Any) -> bool:
    """Whether two Python objects are one constant: same type, same value, same float bits."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return struct.pack("d", a) == struct.pack("d", b)
    if isinstance(a, int | str | bytes | np.generic):
        return bool(a == b)
    if isinstance(a, tuple):
        return len(a) == len(b) and all(map(same_constant, a, b))
    return False


def scalar_type(values: list[Any]) -> DataType | None:
    """The dtype in which scalars and numbers meet without changing a value, or None."""
    runtime = [v for v in values if isinstance(v, Scalar)]
    constants = [v for v in values if not isinstance(v, Scalar)]
    dtype: DataType | None = None
    for v in runtime:
        dtype = v.type if dtype is None else _meet(dtype, v.type)
        if dtype is None:
            return None
    if dtype is None:
        types = [of_constant(v) for v in constants]
        if None in types:
            return None
        if any(t is not None and t.kind == "f" for t in types):
            dtype = next(t for t in types if t is not None and t.kind == "f")
        else:
            dtype = types[0]
    for v in constants:
        if dtype is None:
            return None
        dtype = _fit(dtype, v)
    return dtype


def _meet(a: DataType, b: DataType) -> DataType | None:
    if a is b:
        return a
    if (a.kind == "f") != (b.kind == "f"):
        return None
    return promote(a, b)


def _fit(dtype: DataType, constant: Any) -> DataType | None:
    """The dtype widened so that a constant keeps its value in it, or None."""
    if isinstance(constant, np.generic):
        other = of_constant(constant)
        return None if other is None else _meet(dtype, other)
    if isinstance(constant, float):
        return dtype if dtype.kind == "f" else None
    if isinstance(constant, bool) and dtype.kind == "b":
        return dtype
    if dtype.kind == "f":
        return dtype if float(dtype.np.type(constant)) == constant else None
    if dtype.kind == "b":
        dtype = int32
    if dtype.fits(constant):
        return dtype
    other = of_constant(constant)
    wide = None if other is None else promote(dtype, other)
    return wide if wide is not None and wide.fits(constant) else None


def variable(type: Any, block: Block, name: str) -> Value:
    """A C++ variable of a scalar or tensor type."""
    if isinstance(type, DataType):
        return Scalar(type, block, None, name)
    if isinstance(type, LocalTensorType):
        var: Value = LocalTensorType.proxy.view(type, block, None, None)
    elif isinstance(type, GlobalTensorType):
        var = GlobalTensorType.proxy.view(type.dtype, block, None)
    else:
        var = type.proxy(type, block)
    var.name = name
    return var


def variable_type(values: list[Any]) -> Any:
    """The type of the variable that can hold all values, or None."""
    if all(isinstance(v, Scalar | bool | int | float | np.generic) for v in values):
        return scalar_type(values)
    types = {getattr(v, "type", None) if isinstance(v, Value) else None for v in values}
    if len(types) == 1 and isinstance(type_ := types.pop(), _TENSORS):
        return type_
    return None


def widen(vm: Machine, values: list[Any]) -> None:
    """Where values of no common type meet: was one an integer only because a constant was?

    The variable of a loop that begins with an integral constant is an integer until a float shows
    up; then the loop is traced again (`Widen`).
    """
    floats = [v for v in values if isinstance(v, Scalar) and v.type.kind == "f"]
    dtype = floats[0].type if floats else float32
    if floats or any(isinstance(v, float) for v in values):
        for value in values:
            found = vm.provisional.get(id(value))
            if found is not None:
                raise Widen(found[0], found[1], dtype)


class Merger:
    """Merges the values of several paths; `finish` writes the assignments.

    `loop` is the one that the paths leave: where a location is a variable of it, that is the one
    that the other paths assign. So no other location may go on with it.
    """

    def __init__(
        self, vm: Machine, paths: list[Path], mark: Mark, loop: LoopTracer | None = None
    ) -> None:
        self.vm = vm
        self.paths = paths
        self.mark = mark
        self.common = common_lineage([p.lineage for p in paths])
        self.loop = loop
        self.owns: dict[Any, Value] = {} if loop is None else loop.vars
        self.own_ids = {id(var) for var in self.owns.values()}
        self.assigns: list[list[tuple[Value, Any]]] = [[] for _ in paths]
        self.declares: list[tuple[Value, Any]] = []
        self.memo: dict[tuple[int, ...], Any] = {}
        self.containers: set[int] = set()
        self.poisoned: list[Poison] = []

    def unify(self, name: str, values: list[Any], sites: list[Site], location: Any = None) -> Any:
        """One value for a location that has `values` on the paths."""
        first = values[0]
        own = self.owns.get(location)
        same = all(v is first or same_constant(first, v) for v in values)
        if same and (first is own or not self.own_ids or not self._holds_own(first)):
            return first
        key = (*map(id, values), id(own))
        if key in self.memo:
            return self.memo[key]
        result = self._join(name, values, sites, location)
        self.memo[key] = result
        return result

    def _holds_own(self, value: Any) -> bool:
        """Whether a value is a variable that the paths may assign, or a tuple with one."""
        if type(value) is tuple:
            return any(map(self._holds_own, value))
        return id(value) in self.own_ids

    def _join(self, name: str, values: list[Any], sites: list[Site], location: Any) -> Any:
        type_ = variable_type(values)
        if type_ is not None:
            return self._assign(name, type_, values, sites, location)
        widen(self.vm, values)
        kinds = {type(v) for v in values}
        if len(kinds) == 1:
            kind = kinds.pop()
            if kind is tuple and len({len(v) for v in values}) == 1:
                return tuple(
                    self.unify(_part(name, k), list(column), sites, ("part", location, k))
                    for k, column in enumerate(zip(*values, strict=True))
                )
            if _is_copyable(kind) and all(self.is_new(v) for v in values):
                return self._container(name, kind, values, sites)
        return self._poison(name, values, sites)

    def is_new(self, obj: Any) -> bool:
        """Whether an object was made after the paths parted, so that nothing else shares it."""
        born = self.vm.born.get(id(obj))
        return born is not None and not made_on(self.common, born[1])

    def _container(self, name: str, cls: Any, values: list[Any], sites: list[Site]) -> Any:
        """Objects of one class, each made on its path: one object with merged contents."""
        kind = kind_of(values[0])
        states = [
            path.heap[id(v)][1] if id(v) in path.heap else kind.read(v)
            for path, v in zip(self.paths, values, strict=True)
        ]
        keys = list(states[0])
        if any(list(s) != keys for s in states):
            return self._poison(name, values, sites)
        if any(id(v) in self.containers for v in values):
            # On one path two names share a container, on another they do not.
            return self._poison(name, values, sites)
        self.containers.update(map(id, values))
        result: Any = cls.__new__(cls)
        self.memo[tuple(map(id, values))] = result
        self.vm.note_birth(result)
        merged = {k: self.unify(_part(name, k), [s[k] for s in states], sites) for k in keys}
        kind.write(result, merged)
        return result

    def _assign(
        self, name: str, type_: Any, values: list[Any], sites: list[Site], location: Any
    ) -> Any:
        own = self.owns.get(location)
        if own is not None and own.type == type_ and any(v is own for v in values):
            var = own
        else:
            # A loop that is used up cannot assign: the value there is that before the loop.
            init = next(
                (x for path, x in zip(self.paths, values, strict=True) if path.block is None), None
            )
            if own is not None and init is own and isinstance(type_, DataType):
                raise Widen(self.loop, location, type_)
            if id(init) in self.own_ids:
                return self._poison(name, values, sites)
            own = None
            var = variable(type_, self.mark.block, name)
            if init is not None:
                ahead = Block(self.mark.block.parent)
                init = self._converted(init, type_, ahead)
                for node in ahead.nodes:
                    self.mark.insert(node)
            self.declares.append((var, init))
        if isinstance(var, Scalar) and var.type.kind == "i":
            others = [v for v in values if v is not var]
            if var is own:
                known = var._nonneg
                others.append(known if isinstance(known, Sign) else 0 if known else -1)
            var._nonneg = Sign(others)
        for pairs, path, value in zip(self.assigns, self.paths, values, strict=True):
            if path.block is not None and value is not var:
                pairs.append((var, self._converted(value, type_, path.block)))
        return var

    def _converted(self, value: Any, type_: Any, block: Block) -> Any:
        if not isinstance(type_, DataType):
            return value
        saved, self.vm.block = self.vm.block, block
        try:
            return convert(value, type_)
        finally:
            self.vm.block = saved

    def _poison(self, name: str, values: list[Any], sites: list[Site]) -> Poison:
        for v in values:
            if isinstance(v, Poison):
                return v
        unbound = [v is UNBOUND for v in values]
        notes: list[tuple[str, Site]] = []
        seen: list[Any] = []
        for v, site in zip(values, sites, strict=True):
            if v is not UNBOUND and not any(v is s for s in seen):
                seen.append(v)
                note = (f"{_quoted(name)} is {spelled(v)} here", site)
                if note not in notes:
                    notes.append(note)
        if any(unbound):
            reason = "has no value on some of the paths that lead here"
        else:
            texts = list(dict.fromkeys(map(spelled, seen)))
            texts = texts[:2] if len(texts) > 1 else [texts[0], "another"]
            reason = f"is {' or '.join(texts)}, depending on a runtime value"
        poison = Poison(name, reason, tuple(notes[:2]))
        self.poisoned.append(poison)
        return poison

    def finish(self) -> None:
        """Write the declarations at the mark and the assignments at the ends of the paths."""
        for var, init in self.declares:
            self.mark.insert(Declare(var, init, self.paths[0].site))
        for path, pairs in zip(self.paths, self.assigns, strict=True):
            if pairs and path.block is not None:
                path.block.nodes.append(
                    Assign(tuple(v for v, _ in pairs), tuple(x for _, x in pairs), path.site)
                )


def _is_copyable(cls: type) -> bool:
    """Whether another object of a class can be made from its contents alone."""
    return cls in (list, dict) or (
        type_lookup(cls, "__new__") is object.__new__ and not issubclass(cls, BaseException | type)
    )


def _part(name: str, key: Any) -> str:
    return f"{name}_{key}" if name else ""


def _quoted(name: str) -> str:
    return f"`{name}`" if name else "it"


def spelled(value: Any) -> str:
    """A value in a message: its text, or what it is."""
    if isinstance(value, Value):
        return f"a runtime {value.type}"
    if isinstance(value, FunctionType):
        return "a lambda" if value.__name__ == "<lambda>" else f"the function {value.__name__}"
    if isinstance(value, Enum):
        return str(value)
    text = repr(value)
    # The default repr holds an address.
    return what_is(value) if len(text) > 40 or " at 0x" in text else text


def merged(
    vm: Machine,
    frame: Frame,
    paths: list[Path],
    mark: Mark,
    loop: LoopTracer | None = None,
) -> tuple[Path, list[Poison]]:
    """One state for paths with one destination; its block is the current one."""
    first = paths[0]
    if len(paths) == 1:
        return first.copy(), []
    merger = Merger(vm, paths, mark, loop)
    before, vm.lineage = vm.lineage, merger.common
    code = frame.code
    dest = first.dest
    live = frame.program.flow.live(dest) if dest != RETURNS else 0
    slots: list[Any] = []
    for k, value in enumerate(first.slots):
        if not live >> k & 1:
            slots.append(UNBOUND)
            continue
        column = [p.slots[k] for p in paths]
        if merger.own_ids or any(v is not value for v in column):
            sites: list[Site] = [(code, p.set_at.get(k, 0), frame.parent) for p in paths]
            value = merger.unify(code.slot_names[k], column, sites, ("slot", k))
        slots.append(value)
    own = [p.site for p in paths]
    stack = [
        merger.unify("", list(column), own)
        for column in zip(*(p.stack for p in paths), strict=True)
    ]
    retval = None
    if dest == RETURNS:
        retval = merger.unify("", [p.retval for p in paths], own)
    handled = merger.unify("", [p.handled for p in paths], own)
    heap = _merge_heap(vm, merger, paths, [*slots, *stack, retval, handled])
    merger.finish()
    result = Path(frame, dest, vm.block, heap, vm.lineage, handled)
    vm.lineage = before
    result.slots, result.stack, result.retval = slots, stack, retval
    result.set_at = first.set_at
    return result, merger.poisoned


def _merge_heap(
    vm: Machine, merger: Merger, paths: list[Path], values: list[Any]
) -> dict[int, Any]:
    """What the paths changed in objects that all of them have.

    No other can be reached from the merged `values`.
    """
    entries: dict[int, Entry] = {}
    for path in paths:
        for key, (entry, _) in path.heap.items():
            entries.setdefault(key, entry)
    heap: dict[int, Any] = {}
    lost: set[int] = set()
    for key, entry in entries.items():
        if key in vm.born and not made_on(merger.common, vm.born[key][1]):
            lost.add(key)
            continue
        now: dict[Any, Any] | None = None
        states = []
        for path in paths:
            if key in path.heap:
                states.append(path.heap[key][1])
            else:
                if now is None:
                    now = kind_of(entry.obj).read(entry.obj)
                states.append(now)
        heap[key] = (entry, merge_states(merger, entry, states, vm.site()))
    if lost:
        for _, state in heap.values():
            values += state.values()
        if not lost.isdisjoint(map(id, values)):
            # No assertion: a handler of the kernel could catch that.
            text = "an object is in use that some of the paths went without"
            raise error("AT0901", text, vm.site(), hint="please report this kernel")
    return heap


def made_on(lineage: Any, serial: int) -> bool:
    """Whether a path with that lineage has the object that the kernel made as its `serial`th."""
    while lineage is not None and lineage[0] > serial:
        lineage = lineage[1]
    return lineage is not None and lineage[0] == serial


def common_lineage(lineages: list[Any]) -> Any:
    """The lineage up to where the paths parted."""
    first = lineages[0]
    for other in lineages[1:]:
        while first is not other:
            if other is None or (first is not None and first[0] > other[0]):
                first = first[1]
            else:
                other = other[1]
    return first


def merge_states(
    merger: Merger, entry: Entry, states: list[dict[Any, Any]], site: Site
) -> dict[Any, Any]:
    """One state for an object that has `states` on the paths of the construct at `site`.

    AT0110 if its shape differs, AT0303 for a changed object that cannot be merged.
    """
    first = states[0]
    if all(s is first for s in states):
        return first
    keys = list(first)
    same_keys = all(list(s) == keys for s in states)
    kind = kind_of(entry.obj)
    if kind.fixed and not (same_keys and all(_identical(first, s) for s in states)):
        return _differing(entry, kind, first)
    if not same_keys:
        raise shape_error(entry, states, site)
    sites = [entry.site] * len(states)
    columns = {k: [s[k] for s in states] for k in keys}
    heap = ("heap", id(entry.obj))
    return {
        k: merger.unify(name_at(merger.vm.frame, entry.obj, k), column, sites, (*heap, k))
        for k, column in columns.items()
    }


def _identical(a: dict[Any, Any], b: dict[Any, Any]) -> bool:
    return all(same_constant(v, b[k]) for k, v in a.items())


def _differing(entry: Entry, kind: Kind, state: dict[Any, Any]) -> dict[Any, Any]:
    """The state of an object without variables whose state depends on the path."""
    name = type(entry.obj).__name__
    advanced = Advanced(_PLAIN_NAMES.get(name, name), entry.site)
    if kind.position:
        return {**state, kind.position: advanced}
    raise error(
        "AT0303",
        f"a {name} is changed under a runtime condition",
        entry.site,
        hint="change it outside the condition, or keep the values in a list",
    )


_PLAIN_NAMES = {"ReplayIterator": "iterator", "VMGenerator": "generator"}


def name_at(frame: Frame | None, obj: Any, key: Any) -> str:
    """What a location of an object is called: an attribute, a captured variable, an element."""
    if isinstance(key, str) and key.isidentifier():
        return key
    while frame is not None and type(obj) is CellType:
        for name, value in zip(frame.code.slot_names, frame.slots, strict=True):
            if value is obj:
                return str(name)
        frame = frame.parent_frame
    return "element"


def shape_error(entry: Entry, states: list[dict[Any, Any]], site: Site) -> Exception:
    """AT0110 for an object whose keys differ between paths of the construct at `site`."""
    what = what_is(entry.obj)
    keys = set().union(*states) - set(states[0]).intersection(*states)
    hint = "give it its final length before the runtime branch or loop, and change elements inside"
    if isinstance(entry.obj, dict):
        what += f" has the key {min(map(repr, keys))} or not" if keys else " has another key order"
        hint = "give it all its keys before the runtime branch or loop, and change values inside"
    elif kind_of(entry.obj) is INSTANCE:
        what += f" has the attribute `{min(map(str, keys))}` or not"
        hint = "assign the attribute before the runtime branch or loop as well"
    else:
        sizes = sorted({len(s) for s in states})
        what += f" has {' or '.join(map(str, sizes))} elements"
    return error(
        "AT0110",
        f"{what}, depending on a runtime value",
        entry.site,
        notes=[("the runtime condition or loop is here", site)],
        hint=hint,
    )


def adopt(vm: Machine, frame: Frame, path: Path) -> None:
    """Make a path's state the frame's and the heap's."""
    frame.slots = list(path.slots)
    frame.stack = list(path.stack)
    frame.retval = path.retval
    frame.set_at = dict(path.set_at)
    vm.handled = path.handled
    vm.lineage = path.lineage
    for entry, state in path.heap.values():
        kind = kind_of(entry.obj)
        now = kind.read(entry.obj)
        if len(now) != len(state) or any(k not in now or now[k] is not v for k, v in state.items()):
            vm.heap.touch(entry.obj, entry.site)
            kind.write(entry.obj, state)


def merge(vm: Machine, frame: Frame, paths: list[Path], mark: Mark) -> list[Poison]:
    """Merge paths with one destination and go on from there; returns what got poisoned."""
    state, poisoned = merged(vm, frame, paths, mark)
    adopt(vm, frame, state)
    return poisoned
