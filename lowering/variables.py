"""Names and variables of the text.

Names are unique among those visible; a name whose value is no longer needed is assigned again
instead of declaring `x_1`.
"""

from __future__ import annotations

from typing import Any

from ..tracer.language.dtypes import DataType
from ..tracer.language.structs import WIDE_STRUCTS
from ..tracer.language.types import (
    AllocatorType,
    ArrayType,
    BufType,
    GlobalPointerType,
    GlobalTensorType,
    HandleType,
    ListTensorDescType,
    LocalTensorType,
    PipeType,
    PoolType,
    QueueType,
    ShapeInfoType,
    StructType,
    TensorDescType,
)
from ..tracer.trace import Trace, Value
from .comments import Commenter
from .names import identifier
from .scalars import update
from .tree import Body, Branch, Repeat
from .uses import AT, LAST, Uses

#: Names tried for reuse before a new one is taken.
_REUSE = 7

_DEFAULT_NAMES = {
    GlobalPointerType: "address",
    GlobalTensorType: "global_tensor",
    LocalTensorType: "tensor",
    PipeType: "pipe",
    QueueType: "queue",
    BufType: "buffer",
    PoolType: "pool",
    AllocatorType: "allocator",
    ArrayType: "values",
    StructType: "data",
    ShapeInfoType: "shape_info",
    HandleType: "handle",
    ListTensorDescType: "list",
    TensorDescType: "desc",
}


class _Variable:
    """A declared C++ variable that may be assigned again once its value is dead."""

    __slots__ = ("body", "const", "cpp", "line", "name", "value")

    def __init__(
        self, name: str, value: int, body: Body, cpp: str, line: int, const: bool = False
    ) -> None:
        self.name = name
        self.value = value
        self.body = body
        self.cpp = cpp
        self.line = line
        self.const = const


class Writer:
    """The text so far, `lines`, and the names visible in it.

    `text` has the C++ text of each value by id, `prec` the precedence where it is no primary
    expression, `inlined` the ids whose text is an expression; `helpers` collects the names of the
    helper functions that the text calls, `preamble` texts that go in front of the kernel. `arrays`
    names the visible arrays of constants by their elements, `wide` says whether the chip's
    parameter structs have the wide fields.
    """

    def __init__(self, trace: Trace, uses: Uses, commenter: Commenter) -> None:
        self.uses = uses
        self.lines: list[str] = []
        self.text: dict[int, str] = {}
        self.prec: dict[int, int] = {}
        self.inlined: set[int] = set()
        self.arrays: dict[tuple[str, ...], str] = {}
        self.wide = trace.chip.arch == WIDE_STRUCTS
        self.helpers: set[str] = set()
        self.preamble: list[str] = []
        self.float_helpers = False
        self._pad = ""
        self._bases: dict[str, str] = {}
        self._visible: dict[str, _Variable | None] = {}
        self._declared: list[str] = []
        self._suffix: dict[str, int] = {}
        self._body = uses.root
        self._commenter = commenter
        self._marks = commenter.active
        for param in trace.params:
            self.text[id(param.value)] = self.declare_name(identifier(param.name) or "arg")
        self.params = [self.text[id(param.value)] for param in trace.params]

    def line(self, text: str) -> None:
        """Write one statement."""
        self.lines.append(self._pad + text)

    def mark(self, site: Any) -> None:
        """Comments in front of a statement that comes from `site`."""
        if self._marks and site is not None:
            for text in self._commenter.mark(site):
                self.lines.append(text if text[0] == "#" else self._pad + text)

    def _enter(self, body: Body) -> tuple[Body, list[str]]:
        outer = self._body, self._declared
        self._body = body
        self._declared = []
        self._pad += "    "
        return outer

    def _leave(self, outer: tuple[Body, list[str]]) -> None:
        for name in self._declared:
            del self._visible[name]
        if self.arrays:
            self.arrays = {k: name for k, name in self.arrays.items() if name in self._visible}
        self._body, self._declared = outer
        self._pad = self._pad[4:]

    def declare_name(self, base: str) -> str:
        """A name for a new variable of the current scope."""
        name = base
        if name in self._visible:
            k = self._suffix.get(base, 1)
            while f"{base}_{k}" in self._visible:
                k += 1
            self._suffix[base] = k
            name = f"{base}_{k}"
        self._visible[name] = None
        self._declared.append(name)
        return name

    def _base(self, value: Value) -> str:
        name = identifier(value.name) if value.name else ""
        if name:
            self._bases[value.name] = name
            return name
        kind = value.type.__class__
        if kind is DataType:
            return "cond" if value.type.kind == "b" else "value"
        return _DEFAULT_NAMES.get(kind, "value")

    def _reusable(self, base: str, cpp: str, at: int) -> _Variable | None:
        """A variable called `base` (or so with a suffix) of this scope whose value is dead."""
        name = base
        info, body, visible = self.uses.info, self._body, self._visible
        k = 0
        while name in visible and k < _REUSE:
            variable = visible[name]
            if (
                variable is not None
                and info[variable.value][LAST] <= at
                and variable.cpp == cpp
                and variable.body is body
            ):
                return variable
            k += 1
            name = f"{base}_{k}"
        return None

    def _bind(self, value: Value, text: str) -> None:
        """Store an expression in the variable of `value`: declare it, or assign it if it is."""
        key = id(value)
        uses = self.uses
        if key in uses.hoisted:
            self.lines.append(f"{self._pad}{self.text[key]} = {text};")
            return
        if key in uses.merged:
            var = uses.merged[key]
            name = self.text[key] = self.text[id(var)]
            changed = update(self, var, value) if value.node.spec.pure else None
            self.line(f"{changed or f'{name} = {text}'};")
            return
        kind = value.type
        cpp = kind.cpp
        base = self._bases.get(value.name) or self._base(value)
        variable = self._reusable(base, cpp, uses.info[key][AT])
        if variable is not None:
            name = self.text[key] = variable.name
            variable.value = key
            if variable.const:
                variable.const = False
                self.lines[variable.line] = self.lines[variable.line].replace("const ", "", 1)
            self.lines.append(f"{self._pad}{name} = {text};")
            return
        name = self.text[key] = self.declare_name(base)
        const = kind.__class__ is DataType
        self._visible[name] = _Variable(name, key, self._body, cpp, len(self.lines), const)
        self.lines.append(f"{self._pad}{'const ' if const else ''}{cpp} {name} = {text};")

    def _hoist(self, node: Branch | Repeat) -> None:
        """Declare what is defined inside a statement and used behind it."""
        for value in reversed(node.hoists):
            name = self.text[id(value)] = self.declare_name(self._base(value))
            self.line(f"{_declaration(value.type, name)};")

    def _construct(self, result: Value, text: str) -> None:
        """`text` is `Type(arguments)`; it becomes a declaration or an assignment."""
        key = id(result)
        uses = self.uses
        cpp = result.type.cpp
        arguments = text.removeprefix(cpp)
        if key in uses.merged:
            self._bind(result, text)
            return
        if key in uses.hoisted:
            if arguments != "()":
                self._bind(result, text)
            return
        use = uses.info.get(key)
        base = self._base(result)
        if use is not None and arguments != "()" and self._reusable(base, cpp, use[AT]):
            self._bind(result, text)
            return
        name = self.text[key] = self.declare_name(base)
        if use is not None:
            self._visible[name] = _Variable(name, key, self._body, cpp, len(self.lines))
        self.line(f"{cpp} {name}{'' if arguments == '()' else arguments};")


def _declaration(type: Any, name: str) -> str:
    """`T name`, or what an array's type makes of it."""
    declare = getattr(type, "declare", None)
    return f"{type.cpp} {name}" if declare is None else str(declare(name))
