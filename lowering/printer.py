"""Statements: the printer walks the scopes forwards and writes lines.

What becomes of each value was decided in `uses`; here values get their text (an expression or a
name). Names are unique among those visible; a name whose value is no longer needed is assigned
again instead of declaring `x_1`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tracer.language.dtypes import DataType
from ..tracer.language.types import (
    AllocatorType,
    ArrayType,
    BufType,
    GlobalPointerType,
    GlobalTensorType,
    HandleType,
    LocalTensorType,
    PipeType,
    PoolType,
    QueueType,
    ShapeInfoType,
    StructType,
)
from ..tracer.trace import Assign, Declare, Jump, Op, Trace, Value
from .calls import spell, writer
from .comments import Commenter
from .literals import literal, string
from .names import identifier
from .scalars import negated, paren, update
from .tree import Body, Branch, Repeat
from .uses import AT, BIND, INLINE, LAST, OTHER, STATEMENT, Uses

#: An inlined expression that grows longer gets a variable after all: with a Python name, without.
_LONG_NAMED, _LONG = 72, 160
#: Suffixes tried for reuse before a new one is taken.
_REUSE = 8

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


class Printer:
    """Writes one kernel's body, `lines`.

    `text` has the C++ text of each value by id, `prec` the precedence where it is no primary
    expression, `inlined` the ids whose text is an expression; `helpers` collects the keys of the
    helper functions that the text calls, `preamble` texts that go in front of the kernel.
    """

    def __init__(self, trace: Trace, uses: Uses, commenter: Commenter) -> None:
        self.uses = uses
        self.lines: list[str] = []
        self.text: dict[int, str] = {}
        self.prec: dict[int, int] = {}
        self.inlined: set[int] = set()
        self.masks: dict[tuple[str, ...], str] = {}
        self.helpers: set[str] = set()
        self.float_helpers = False
        self._pad = ""
        self._bases: dict[str, str] = {}
        self._visible: dict[str, _Variable | None] = {}
        self._declared: list[str] = []
        self._suffix: dict[str, int] = {}
        self._body = uses.root
        self._force = False
        self._copies: list[Value] = []  # kept, since texts go by id
        self._commenter = commenter
        self._marks = commenter.active
        self._print: dict[type, Callable[[Any], None]] = {
            Declare: self._declare,
            Assign: self._assign,
            Branch: self._branch,
            Repeat: self._repeat,
            Jump: self._jump,
        }
        for param in trace.params:
            self.text[id(param.value)] = self.declare_name(identifier(param.name) or "arg")
        self.params = [self.text[id(param.value)] for param in trace.params]
        self.preamble: list[str] = []

    def kernel(self) -> None:
        """Write the kernel's body."""
        self._scope(self.uses.root)

    def line(self, text: str) -> None:
        """Write one statement."""
        self.lines.append(self._pad + text)

    def mark(self, site: Any) -> None:
        """Comments in front of a statement that comes from `site`."""
        if self._marks and site is not None:
            for text in self._commenter.mark(site):
                self.lines.append(text if text[0] == "#" else self._pad + text)

    # -- names ----------------------------------------------------------------------------------

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
        for k in range(1, _REUSE):
            if name not in visible:
                return None
            variable = visible[name]
            if (
                variable is not None
                and variable.body is body
                and info[variable.value][LAST] <= at
                and variable.cpp == cpp
            ):
                return variable
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
            self.line(f"{declaration(value.type, name)};")

    # -- statements -----------------------------------------------------------------------------

    def _scope(self, body: Body, first: int = 0) -> None:
        """The statements of a body from step `first` on, in a C++ scope of its own."""
        outer = self._enter(body)
        self._steps(body.steps[first:] if first else body.steps)
        self._leave(outer)

    def _enter(self, body: Body) -> tuple[Body, list[str]]:
        outer = self._body, self._declared
        self._body = body
        self._declared = []
        self._pad += "    "
        return outer

    def _leave(self, outer: tuple[Body, list[str]]) -> None:
        for name in self._declared:
            del self._visible[name]
        if self.masks:
            self.masks = {k: name for k, name in self.masks.items() if name in self._visible}
        self._body, self._declared = outer
        self._pad = self._pad[4:]

    def _steps(self, steps: list[tuple[int, Any, Any]]) -> None:
        lines, pad, marks = self.lines, self._pad, self._marks
        for fate, node, plan in steps:
            if fate == OTHER:
                self._print[node.__class__](node)
                continue
            text = (plan.text or writer(plan))(self, node, plan)
            if fate == INLINE:
                self._inline(node, *text)
                continue
            if marks and node.site is not None:
                self.mark(node.site)
            if fate == STATEMENT:
                if text:  # else the call has written its lines itself
                    lines.append(f"{pad}{text};")
            elif fate == BIND:
                self._bind(node.result, text[0] if plan.pure else text)
            elif text:  # else the constructor has declared its value itself
                self._construct(node.result, text)

    def _inline(self, op: Op, text: str, prec: int) -> None:
        """Keep an expression for its use, unless it has become hard to read."""
        result: Value = op.result  # type: ignore[assignment]
        size = len(text)
        if size < _LONG_NAMED or self._force or (size < _LONG and not result.name):
            key = id(result)
            self.text[key] = text
            self.inlined.add(key)
            if prec:
                self.prec[key] = prec
        else:
            self.mark(op.site)
            self._bind(result, text)

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

    def _declare(self, node: Declare) -> None:
        var = node.var
        self.mark(node.site)
        init = None if node.init is None else self._constant(node.init, var)
        if id(var) in self.uses.hoisted:
            if init is not None:
                self.line(f"{self.text[id(var)]} = {init};")
            return
        name = self.text[id(var)] = self.declare_name(self._base(var))
        self.line(f"{var.type.cpp} {name}{'' if init is None else f' = {init}'};")

    def _constant(self, value: Any, var: Value) -> str:
        """The text of a value that is stored in a variable."""
        if isinstance(value, Value):
            return self.text[id(value)]
        return literal(value, var.type)[0] if isinstance(var.type, DataType) else spell(self, value)

    def _assign(self, node: Assign) -> None:
        """A parallel assignment as single ones; a copy is made only where they form a circle."""
        pairs = self.uses.pairs(node)
        if not pairs:
            return
        self.mark(node.site)
        if len(pairs) == 1:
            self._store(*pairs[0])
            return
        targets = {id(var) for var, _ in pairs}
        todo = [(var, value, self._reads(value, targets)) for var, value in pairs]
        while todo:
            for k, (var, value, _) in enumerate(todo):
                if not any(id(var) in reads for j, (_, _, reads) in enumerate(todo) if j != k):
                    self._store(var, value)
                    del todo[k]
                    break
            else:
                var, value, _ = todo[0]
                name = self.declare_name(f"next_{self._base(var)}")
                const = "const " if isinstance(var.type, DataType) else ""
                text = self._constant(value, var)
                self.line(f"{const}{var.type.cpp} {name} = {text};")
                copy = Value(var.type, var.block)
                self.text[id(copy)] = name
                self._copies.append(copy)
                todo[0] = (var, copy, set())

    def _store(self, var: Value, value: Any) -> None:
        changed = update(self, var, value) if id(value) in self.inlined else None
        self.line(f"{changed or f'{self.text[id(var)]} = {self._constant(value, var)}'};")

    def _reads(self, value: Any, targets: set[int]) -> set[int]:
        """Which of the variables `targets` the text of a value names."""
        found: set[int] = set()
        todo = [value]
        while todo:
            value = todo.pop()
            if not isinstance(value, Value):
                continue
            key = id(value)
            if key in self.uses.merged:
                key = id(self.uses.merged[key])
            if key in targets:
                found.add(key)
            elif key in self.inlined:
                todo.extend(value.node.args)
        return found

    def _jump(self, node: Jump) -> None:
        self.mark(node.site)
        if node.kind == "trap":
            if node.message:
                text = node.message.replace("%", "%%")
                self.line(f"AscendC::printf({string(text + chr(10))});")
            self.line("AscendC::Trap();")
        else:
            self.line(f"{node.kind};")

    # -- control flow ---------------------------------------------------------------------------

    def _condition(self, cond: Any, negate: bool) -> str:
        if negate:
            return negated(self, cond)[0]
        if isinstance(cond, Value):
            return self.text[id(cond)]
        return literal(cond)[0]

    def _leading(self, body: Body) -> tuple[int, Branch] | None:
        """The number of the body's first printed step, if that is a plain branch."""
        for k, (fate, node, _) in enumerate(body.steps):
            if fate != INLINE:
                return (k, node) if isinstance(node, Branch) and not node.hoists else None
        return None

    def _inline_all(self, steps: list[tuple[int, Any, Any]]) -> None:
        """Give the expressions in `steps` their texts, however long."""
        self._force = True
        self._steps(steps)
        self._force = False

    def _arms(self, node: Branch) -> tuple[Body, Body, bool]:
        """The arms to print, and whether on the opposite of the condition."""
        if node.then.kept:
            return node.then, node.orelse, node.negate
        return node.orelse, node.then, not node.negate

    def _branch(self, node: Branch) -> None:
        self._hoist(node)
        self.mark(node.node.site)
        word = "if"
        while True:
            then, orelse, negate = self._arms(node)
            self.line(f"{word} ({self._condition(node.node.cond, negate)}) {{")
            self._scope(then)
            if not orelse.kept:
                break
            chain = self._leading(orelse) if orelse.kept == 1 else None
            if chain is None:
                self.line("} else {")
                self._scope(orelse)
                break
            first, node = chain
            self._inline_all(orelse.steps[:first])
            word = "} else if"
        self.line("}")

    def _repeat(self, node: Repeat) -> None:
        self._hoist(node)
        if node.node.index is not None:
            self._for(node)
            return
        self.mark(node.node.site)
        body = node.body
        head = self._leading(body)
        if head is None or not _only_breaks(head[1]):
            self.line("while (true) {")
            self._scope(body)
        else:
            first, branch = head
            self._inline_all(body.steps[:first])
            cond = self._condition(branch.node.cond, not branch.negate)
            self.line(f"while ({cond}) {{")
            self._scope(body, first + 1)
        self.line("}")

    def _for(self, node: Repeat) -> None:
        loop = node.node
        index: Value = loop.index  # type: ignore[assignment]
        dtype: DataType = index.type
        bounds: dict[int, str] = {}
        for value in node.frozen:
            if id(value) not in bounds:
                name = self.declare_name("step" if value is loop.step else "stop")
                bounds[id(value)] = name
                self.line(f"const {value.type.cpp} {name} = {self.text[id(value)]};")
        self.mark(loop.site)
        name = self.declare_name(identifier(index.name) or "i")
        if not node.copied:
            self.text[id(index)] = name
        start = self._constant(loop.start, index)
        stop = bounds.get(id(loop.stop)) or self._constant(loop.stop, index)
        if isinstance(loop.stop, Value):
            stop = paren(stop, self.prec.get(id(loop.stop), 0), 6)
        down = not isinstance(loop.step, Value) and loop.step < 0
        if isinstance(loop.step, Value):
            step = f"{name} += {bounds.get(id(loop.step)) or self.text[id(loop.step)]}"
        elif loop.step in (1, -1):
            step = f"{'--' if down else '++'}{name}"
        else:
            step = f"{name} {'-' if down else '+'}= {literal(abs(loop.step), dtype)[0]}"
        compare = ">" if down else "<"
        self.line(f"for ({dtype.cpp} {name} = {start}; {name} {compare} {stop}; {step}) {{")
        if node.copied:
            self.line(f"    {self.text[id(index)]} = {name};")
        self._scope(node.body)
        self.line("}")
        del self._visible[name]
        self._declared.remove(name)


def declaration(type: Any, name: str) -> str:
    """`T name`, or what an array's type makes of it."""
    declare = getattr(type, "declare", None)
    return f"{type.cpp} {name}" if declare is None else str(declare(name))


def _only_breaks(branch: Branch) -> bool:
    """Whether a branch is `if (cond) break;`."""
    arm = branch.then.nodes
    return (
        branch.orelse.kept == 0
        and len(arm) == 1
        and isinstance(arm[0], Jump)
        and arm[0].kind == "break"
    )
