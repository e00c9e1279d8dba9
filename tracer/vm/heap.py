"""The journal of Python objects that a trace changes: undo, capture, compare.

Objects made while tracing are state like locals. Before one changes, `touch` keeps a shallow
snapshot, once since the last mark; the journal is rolled back to a mark between the arms of a
branch and between the passes over a loop. `KINDS` says how an object is read and restored.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from types import CellType
from typing import Any

from ..diagnostics import Site, error
from .frame import UNBOUND


class Advanced:
    """In place of the position of an iterator that advanced on some of the paths that met.

    Only going on with the iterator is an error.
    """

    __slots__ = ("kind", "site")

    def __init__(self, kind: str, site: Site) -> None:
        self.kind = kind
        self.site = site

    def fail(self, site: Site) -> Exception:
        """The error to raise at a use."""
        return error(
            "AT0303",
            f"this {self.kind} was advanced under a runtime condition",
            site,
            notes=[("it was advanced here", self.site)],
            hint="take the values out before the condition",
        )


class ReplayIterator:
    """An iterator whose consumption can be undone: consumed values are kept."""

    __slots__ = ("buffer", "position", "source", "vm")

    def __init__(self, source: Any, vm: Any) -> None:
        self.source = source
        self.buffer: list[Any] = []
        self.position: Any = 0
        self.vm = vm
        if vm.journaling:
            vm.note_birth(self)

    def __iter__(self) -> ReplayIterator:
        return self

    def __next__(self) -> Any:
        self.vm.journal(self)
        if self.position.__class__ is Advanced:
            raise self.position.fail(self.vm.site())
        if self.position == len(self.buffer):
            self.buffer.append(next(self.source))
        self.position += 1
        return self.buffer[self.position - 1]


class Kind:
    """How one kind of object is read into a dict of locations and written back.

    An object of a `fixed` kind has no parts that could become variables; `position` is the location
    that an `Advanced` takes when such an object is an iterator.
    """

    __slots__ = ("fixed", "position", "read", "write")

    def __init__(
        self,
        read: Callable[[Any], dict[Any, Any]],
        write: Callable[[Any, dict[Any, Any]], None],
        fixed: bool = False,
        position: str = "",
    ) -> None:
        self.read = read
        self.write = write
        self.fixed = fixed
        self.position = position


def _write_list(obj: Any, state: dict[Any, Any]) -> None:
    obj[:] = state.values()


def _write_dict(obj: Any, state: dict[Any, Any]) -> None:
    obj.clear()
    obj.update(state)


def _write_set(obj: Any, state: dict[Any, Any]) -> None:
    obj.clear()
    obj.update(state)


def _write_deque(obj: Any, state: dict[Any, Any]) -> None:
    obj.clear()
    obj.extend(state.values())


def _read_cell(obj: Any) -> dict[Any, Any]:
    try:
        return {0: obj.cell_contents}
    except ValueError:
        return {0: UNBOUND}


def read_state(cell: CellType) -> Any:
    """A cell's content, or UNBOUND."""
    return _read_cell(cell)[0]


def write_cell(obj: Any, state: dict[Any, Any]) -> None:
    """Set a cell's content, or empty it."""
    if state[0] is UNBOUND:
        with suppress(ValueError):
            del obj.cell_contents
    else:
        obj.cell_contents = state[0]


def slot_names(cls: type) -> list[str]:
    """Names of the `__slots__` of a class and its bases."""
    names: list[str] = []
    for base in cls.__mro__:
        slots = base.__dict__.get("__slots__", ())
        slots = (slots,) if isinstance(slots, str) else slots
        for name in slots:
            if name in ("__dict__", "__weakref__"):
                continue
            if name.startswith("__") and not name.endswith("__"):
                name = f"_{base.__name__.lstrip('_')}{name}"
            names.append(name)
    return names


def _read_instance(obj: Any) -> dict[Any, Any]:
    state = dict(getattr(obj, "__dict__", ()))
    for name in slot_names(type(obj)):
        value = getattr(obj, name, UNBOUND)
        if value is not UNBOUND:
            state[name] = value
    return state


def _write_instance(obj: Any, state: dict[Any, Any]) -> None:
    names = slot_names(type(obj))
    own = getattr(obj, "__dict__", None)
    if own is not None:
        own.clear()
        own.update({k: v for k, v in state.items() if k not in names})
    for name in names:
        if name in state:
            object.__setattr__(obj, name, state[name])
        elif hasattr(obj, name):
            object.__delattr__(obj, name)


def _write_position(obj: Any, state: dict[Any, Any]) -> None:
    obj.position = state["position"]


KINDS: dict[type, Kind] = {
    list: Kind(lambda o: dict(enumerate(o)), _write_list),
    dict: Kind(dict, _write_dict),
    set: Kind(lambda o: dict.fromkeys(o), _write_set),
    deque: Kind(lambda o: dict(enumerate(o)), _write_deque),
    bytearray: Kind(lambda o: dict(enumerate(o)), _write_list, fixed=True),
    CellType: Kind(_read_cell, write_cell),
    ReplayIterator: Kind(
        lambda o: {"position": o.position}, _write_position, fixed=True, position="position"
    ),
}
INSTANCE = Kind(_read_instance, _write_instance)


def kind_of(obj: Any) -> Kind:
    """How to read and write an object (subclasses of the containers count as those)."""
    kind = KINDS.get(type(obj))
    if kind is None:
        for base in type(obj).__mro__:
            if base in KINDS:
                kind = KINDS[base]
                break
        else:
            kind = INSTANCE
    return kind


_WORDS = {CellType: "a captured variable", ReplayIterator: "an iterator"}


def what_is(obj: Any) -> str:
    """An object in a message."""
    name = type(obj).__name__
    article = "an" if name[:1] in "AEIOUaeiou" else "a"
    return _WORDS.get(type(obj), "a generator" if name == "VMGenerator" else f"{article} {name}")


class Entry:
    """A change in the journal: the object, its state before, where, and its entry before."""

    __slots__ = ("before", "obj", "previous", "site")

    def __init__(self, obj: Any, before: dict[Any, Any], site: Site, previous: int) -> None:
        self.obj = obj
        self.before = before
        self.site = site
        self.previous = previous


#: What a path found in an object it touched: the journal entry and the state.
State = tuple[Entry, dict[Any, Any]]


class Heap:
    """The journal: a log of shallow snapshots; a mark is a position in it."""

    __slots__ = ("floor", "log", "touched")

    def __init__(self) -> None:
        self.log: list[Entry] = []
        self.touched: dict[int, int] = {}
        self.floor = 0

    def mark(self) -> int:
        """A point to roll back to: what changes from here on is kept anew."""
        self.floor = len(self.log)
        return self.floor

    def touch(self, obj: Any, site: Site) -> None:
        """Call before `obj` changes."""
        previous = self.touched.get(id(obj), -1)
        if previous < self.floor:
            self.touched[id(obj)] = len(self.log)
            self.log.append(Entry(obj, kind_of(obj).read(obj), site, previous))

    def capture(self, mark: int) -> dict[int, State]:
        """The present state of everything touched since `mark`."""
        found: dict[int, State] = {}
        for entry in self.log[mark:]:
            if id(entry.obj) not in found:
                found[id(entry.obj)] = (entry, kind_of(entry.obj).read(entry.obj))
        return found

    def rollback(self, mark: int) -> None:
        """Undo everything since `mark`."""
        while len(self.log) > mark:
            entry = self.log.pop()
            kind_of(entry.obj).write(entry.obj, entry.before)
            if entry.previous < 0:
                del self.touched[id(entry.obj)]
            else:
                self.touched[id(entry.obj)] = entry.previous
        self.floor = mark
