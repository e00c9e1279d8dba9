"""What a trace depended on in the Python process, and the check that it is still so: `Check`."""

from __future__ import annotations

import struct
from collections.abc import Callable
from types import CellType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ..diagnostics import Site, error
from ..trace import Block, Value, describe

_MISSING: Any = object()
_CONTAINERS = (list, dict, set, tuple, bytearray)


def freeze(value: Any, depth: int = 0) -> Any:
    """The value of a mutable object as something to compare later; other objects by identity."""
    if depth > 20:
        return id(value)
    kind = type(value)
    if kind in (list, tuple):
        return (kind, tuple(freeze(v, depth + 1) for v in value))
    if kind is dict:
        return (kind, tuple((freeze(k, depth + 1), freeze(v, depth + 1)) for k, v in value.items()))
    if kind in (set, frozenset):
        return (kind, frozenset(freeze(v, depth + 1) for v in value))
    if kind is bytearray:
        return (kind, bytes(value))
    if isinstance(value, np.ndarray):
        return (kind, value.shape, value.dtype.str, value.tobytes())
    if kind is float:
        return (kind, struct.pack("d", value))
    if kind in (int, bool, str, bytes, complex, type(None)):
        return (kind, value)
    if isinstance(value, np.generic):
        return (kind, value.tobytes())
    return id(value)


def _is_mutable(value: Any) -> bool:
    return type(value) in _CONTAINERS or isinstance(value, np.ndarray)


def same(now: Any, then: Any) -> bool:
    """Whether a value read again is the value read before (identity, or equal plain constants)."""
    if now is then:
        return True
    return type(now) is type(then) and type(now) in _PLAIN and freeze(now) == freeze(then)


_PLAIN = {int, bool, float, str, bytes, complex, tuple, frozenset}


def type_lookup(cls: type, name: str) -> Any:
    """A class attribute by the method resolution order, without binding; None if absent."""
    for base in cls.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return None


class Guards:
    """Collects reads while tracing; `checker` makes the function that a launch calls."""

    __slots__ = (
        "_root", "_site", "attributes", "cells", "codes", "items", "lookups", "outer", "values",
    )  # fmt: skip

    def __init__(self, root: Block, site: Callable[[], Site]) -> None:
        self._site = site
        self._root = root
        self.items: dict[tuple[int, str], tuple[dict[str, Any], str, Any]] = {}
        self.attributes: dict[tuple[int, str], tuple[Any, str, Any]] = {}
        self.lookups: dict[tuple[int, str], tuple[type, str, Any]] = {}
        self.cells: dict[int, tuple[CellType, Any]] = {}
        self.codes: dict[int, tuple[FunctionType, Any, Any, Any]] = {}
        self.values: dict[int, tuple[Any, Any]] = {}
        #: Mutable objects that live outside the trace, by id.
        self.outer: dict[int, Any] = {}

    def item(self, namespace: dict[str, Any], name: str, value: Any) -> None:
        """A global (or builtin) was read; `_MISSING` values say that it was not there."""
        key = (id(namespace), name)
        if key not in self.items:
            self.items[key] = (namespace, name, value)
            self.note(value)

    def missing(self, namespace: dict[str, Any], name: str) -> None:
        """A global was looked up in vain (a builtin of that name was used)."""
        self.items.setdefault((id(namespace), name), (namespace, name, _MISSING))

    def attribute(self, obj: Any, name: str, value: Any) -> None:
        """An attribute of an outer object was read."""
        key = (id(obj), name)
        if key not in self.attributes:
            self.attributes[key] = (obj, name, value)
            self.note(value)

    def lookup(self, cls: type, name: str, found: Any) -> None:
        """`type_lookup` was asked for something of an outer class."""
        key = (id(cls), name)
        if key not in self.lookups:
            self.lookups[key] = (cls, name, found)
            self.note(found)

    def cell(self, cell: CellType, value: Any) -> None:
        """A closure cell was read."""
        self.cells.setdefault(id(cell), (cell, value))
        self.note(value)

    def code(self, function: FunctionType) -> None:
        """A function was entered."""
        if id(function) not in self.codes:
            defaults, kwdefaults = function.__defaults__, function.__kwdefaults__
            row = (function, function.__code__, defaults, kwdefaults)
            self.codes[id(function)] = row
            self.note(defaults)
            self.note(kwdefaults)

    def note(self, value: Any) -> None:
        """An outer object came into the trace: guard mutable ones by value, remember them.

        AT0115 for a runtime value that another trace left behind.
        """
        if issubclass(type(value), Value):
            self._refuse_foreign(value)
            return
        if _is_mutable(value):
            if id(value) in self.values:
                return
            if type(value) is not tuple:
                self.values[id(value)] = (value, freeze(value))
            self._remember(value)
        elif hasattr(value, "__dict__") and not isinstance(value, ModuleType | FunctionType | type):
            self.outer.setdefault(id(value), value)

    def _remember(self, value: Any) -> None:
        if type(value) is not tuple:
            self.outer[id(value)] = value
        inner = value.values() if isinstance(value, dict) else value
        if isinstance(value, list | tuple | dict | set):
            for item in inner:
                if issubclass(type(item), Value):
                    self._refuse_foreign(item)
                elif _is_mutable(item) and id(item) not in self.outer:
                    self._remember(item)
                elif hasattr(item, "__dict__") and not isinstance(
                    item, ModuleType | FunctionType | type
                ):
                    self.outer.setdefault(id(item), item)

    def _refuse_foreign(self, value: Value) -> None:
        block: Block | None = value.block
        while block is not None:
            if block is self._root:
                return
            block = block.parent
        raise error(
            "AT0115",
            f"the runtime value {describe(value)} is left from another trace",
            self._site(),
            hint="keep runtime values in locals or in objects made in the kernel",
        )

    def name_of(self, obj: Any) -> str | None:
        """The global or attribute that an outer object was read from, if it was."""
        for rows in (self.items, self.attributes):
            for _, name, value in rows.values():
                if value is obj:
                    return name
        return None

    def checker(self) -> Check:
        """Says whether everything read is still the same."""
        return Check(
            tuple(self.items.values()),
            tuple(self.codes.values()),
            tuple(self.cells.values()),
            tuple(self.attributes.values()),
            tuple(self.lookups.values()),
            tuple(self.values.values()),
        )


class Check:
    """Whether what a trace read is still the same: called, or as a condition to compile."""

    __slots__ = ("attributes", "cells", "codes", "items", "lookups", "values")

    def __init__(
        self,
        items: tuple[tuple[dict[str, Any], str, Any], ...] = (),
        codes: tuple[tuple[FunctionType, Any, Any, Any], ...] = (),
        cells: tuple[tuple[CellType, Any], ...] = (),
        attributes: tuple[tuple[Any, str, Any], ...] = (),
        lookups: tuple[tuple[type, str, Any], ...] = (),
        values: tuple[tuple[Any, Any], ...] = (),
    ) -> None:
        self.items = items
        self.codes = codes
        self.cells = cells
        self.attributes = attributes
        self.lookups = lookups
        self.values = values

    def __call__(self) -> bool:
        """Whether it is."""
        for namespace, name, then in self.items:
            now = namespace.get(name, _MISSING)
            if now is not then and not same(now, then):
                return False
        for function, code, defaults, kwdefaults in self.codes:
            if (
                function.__code__ is not code
                or function.__defaults__ is not defaults
                or function.__kwdefaults__ is not kwdefaults
            ):
                return False
        for cell, then in self.cells:
            try:
                now = cell.cell_contents
            except ValueError:
                return False
            if now is not then and not same(now, then):
                return False
        for obj, name, then in self.attributes:
            now = getattr(obj, name, _MISSING)
            if now is not then and not same(now, then):
                return False
        if any(type_lookup(cls, name) is not then for cls, name, then in self.lookups):
            return False
        return all(freeze(obj) == then for obj, then in self.values)

    def condition(self, bind: Callable[[Any], str]) -> list[str]:
        """Expressions that are all true only if everything is the very same.

        bind: gives a name to an object. `ValueError`, for a cell without contents, means no.
        """
        missing, parts = bind(_MISSING), []
        readers: dict[int, str] = {}
        for namespace, name, then in self.items:
            if id(namespace) not in readers:
                readers[id(namespace)] = bind(namespace.get)
            parts.append(f"{readers[id(namespace)]}({name!r}, {missing}) is {bind(then)}")
        for function, *rows in self.codes:
            its = bind(function)
            names = ("__code__", "__defaults__", "__kwdefaults__")
            parts += [f"{its}.{n} is {bind(row)}" for n, row in zip(names, rows, strict=True)]
        parts += [f"{bind(cell)}.cell_contents is {bind(then)}" for cell, then in self.cells]
        parts += [
            f"{bind(getattr)}({bind(obj)}, {name!r}, {missing}) is {bind(then)}"
            for obj, name, then in self.attributes
        ]
        parts += [
            f"{bind(type_lookup)}({bind(cls)}, {name!r}) is {bind(then)}"
            for cls, name, then in self.lookups
        ]
        parts += [f"{bind(freeze)}({bind(obj)}) == {bind(then)}" for obj, then in self.values]
        return parts
