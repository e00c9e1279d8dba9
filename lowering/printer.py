"""Statements: the printer walks the scopes forwards and writes lines.

What becomes of each value was decided in `uses`; here values get their text (an expression or a
name).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tracer.language.dtypes import DataType
from ..tracer.trace import Assign, Declare, Jump, Op, Trace, Value
from .calls import spell, writer
from .comments import Commenter
from .debug import says
from .literals import literal, string
from .names import identifier
from .scalars import Expression, negated, paren, update
from .tree import Body, Branch, Repeat
from .uses import BIND, INLINE, STATEMENT, Uses
from .variables import Writer

#: An inlined expression that grows longer gets a variable after all: with a Python name, without.
_LONG_NAMED, _LONG = 72, 160
#: Lines as long may be made shorter by other forms.
_LINE = 100


class Printer(Writer):
    """Writes one kernel's body."""

    def __init__(self, trace: Trace, uses: Uses, commenter: Commenter) -> None:
        super().__init__(trace, uses, commenter)
        self._force = False
        self._copies: list[Value] = []  # kept, since texts go by id

    def kernel(self) -> None:
        """Write the kernel's body."""
        self._scope(self.uses.root)

    # -- statements -----------------------------------------------------------------------------

    def _scope(self, body: Body, first: int = 0) -> None:
        """The statements of a body from step `first` on, in a C++ scope of its own."""
        outer = self._enter(body)
        self._steps(body.steps[first:] if first else body.steps)
        self._leave(outer)

    def _steps(self, steps: list[tuple[int, Any, Any]]) -> None:
        lines, pad, marks, commenter = self.lines, self._pad, self._marks, self._commenter
        each = commenter.each
        for fate, node, plan in steps:
            if fate >= INLINE:
                if fate == INLINE:
                    self._inline(node, *(plan.text or writer(plan))(self, node, plan))
                else:
                    _PRINT[node.__class__](self, node)
                continue
            # In front of the text: some calls write their lines themselves.
            site = node.site
            if marks and site is not None and (each or site[0] is not commenter.code):
                self.mark(site)
            text = (plan.text or writer(plan))(self, node, plan)
            if not text:
                continue  # the call has written its lines, or set its variable, itself
            if fate == STATEMENT:
                lines.append(f"{pad}{text};")
            elif fate == BIND:
                self._bind(node.result, text[0] if plan.pure else text)
            else:
                self._construct(node.result, text)

    def _inline(self, op: Op, text: str, prec: int) -> None:
        """Keep an expression for its use, unless it has become hard to read."""
        result: Value = op.result  # type: ignore[assignment]
        key, size = id(result), len(text)
        if size < _LONG_NAMED or self._force or (size < _LONG and not result.name):
            self.text[key] = text
            self.inlined.add(key)
            if prec:
                self.prec[key] = prec
        else:
            self.inlined.discard(key)
            self.prec.pop(key, None)
            self.mark(op.site)
            self._bind(result, text)

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
            before = [step[1] for step in self._body.steps[-2:-1]]
            if node.message and not (before and says(before[0], node.message)):
                text = node.message.replace("%", "%%")
                self.line(f"AscendC::printf({string(text + chr(10))});")
            self.line("AscendC::Trap();")
        else:
            self.line(f"{node.kind};")

    # -- control flow ---------------------------------------------------------------------------

    def _test(self, cond: Any, negate: bool) -> Expression:
        """A condition or its opposite."""
        if negate:
            return negated(self, cond)
        if isinstance(cond, Value):
            return self.text[id(cond)], self.prec.get(id(cond), 0)
        return literal(cond)

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

    def _choice(self, node: Branch, first: int) -> bool:
        """`T name; if (c) {name = a;} else {name = b;}` as `T name = c ? a : b;`, if short.

        The branch's marks begin at line `first`.
        """
        arms = [_sole_assign(node.then), _sole_assign(node.orelse)]
        pairs = [self.uses.pairs(arm) if arm is not None else [] for arm in arms]
        if [len(p) for p in pairs] != [1, 1] or pairs[0][0][0] is not pairs[1][0][0]:
            return False
        var = pairs[0][0][0]
        declaration = f"{self._pad}{var.type.cpp} {self.text[id(var)]}"
        if self.lines[first - 1] != f"{declaration};":
            return False
        for arm in (node.then, node.orelse):
            self._inline_all(arm.steps[:-1])
        cond = self._test(node.node.cond, node.negate)
        values = [self._constant(p[0][1], var) for p in pairs]
        precs = [self.prec.get(id(p[0][1]), 0) for p in pairs]
        a, b = (paren(value, prec, 10) for value, prec in zip(values, precs, strict=True))
        if cond[0][0] == "!":
            cond, a, b = self._test(node.node.cond, not node.negate), b, a
        line = f"{declaration} = {paren(*cond, 10)} ? {a} : {b};"
        if len(line) > _LINE:
            return False
        del self.lines[first - 1]
        self.lines.append(line)
        return True

    def _branch(self, node: Branch) -> None:
        self._hoist(node)
        first = len(self.lines)
        self.mark(node.node.site)
        if self._choice(node, first):
            return
        word = "if"
        while True:
            then, orelse, negate = self._arms(node)
            self.line(f"{word} ({self._test(node.node.cond, negate)[0]}) {{")
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
            cond = self._test(branch.node.cond, not branch.negate)[0]
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


def _sole_assign(body: Body) -> Assign | None:
    """The assignment that a body consists of, besides expressions."""
    if body.kept != 1 or not body.steps or not isinstance(body.steps[-1][1], Assign):
        return None
    return body.steps[-1][1]


def _only_breaks(branch: Branch) -> bool:
    """Whether a branch is `if (cond) break;`."""
    arm = branch.then.nodes
    return (
        branch.orelse.kept == 0
        and len(arm) == 1
        and isinstance(arm[0], Jump)
        and arm[0].kind == "break"
    )


_PRINT: dict[type, Callable[[Printer, Any], None]] = {
    Declare: Printer._declare,
    Assign: Printer._assign,
    Branch: Printer._branch,
    Repeat: Printer._repeat,
    Jump: Printer._jump,
}
