"""Who uses what where: which expressions are inlined, bound, hoisted, merged or dropped.

One walk over the statements *backwards*: at a definition all its uses have been seen, so its fate
is known, and with it the place where its own operands are really read. Positions are numbers that
fall on the way.

Rules, for the definition of a value at position d in body D:

- *dropped*: a pure operation without uses, a variable that no kept statement reads.
- *inlined*: a pure operation with a single use at position u inside D, unless something that its
  operands name changes in between: an assigned variable, or a global tensor that gets another
  buffer, at a position in (d, end). `end` is u or, when a loop inside D surrounds u, the end of the
  outermost such loop, because the expression is evaluated again on each round. The bounds of a
  `for` count as uses in its body.
- *hoisted*: some use lies outside D. The declaration goes in front of the statement that contains
  D, in the innermost body around D and all uses.
- *merged*: the value is assigned to a variable w at position a in D. It is stored in w at once if
  nothing can tell: no use of the value behind a, in (d, a] no read of w and no assignment but this
  one, and no `break` or `continue`, behind which the old w would be seen.
- *bound* otherwise: a C++ variable, once, where it is defined.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from ..tracer.language.structs import StructArg
from ..tracer.trace import Assign, Declare, If, Jump, Loop, Op, Trace, Value, walk
from .plans import Plan, plan_of
from .tree import Body, Branch, Repeat, build

#: What becomes of a statement: it is written as it stands, gives a variable its value, is a
#: constructor, is inlined, or is no operation. The rest is dropped.
STATEMENT: Final = 0
BIND: Final = 1
CONSTRUCT: Final = 2
INLINE: Final = 3
OTHER: Final = 4

#: The uses of a value, a list for speed: whether there are several, position of the last, the body
#: around all of them, position of the definition.
AGAIN: Final = 0
LAST: Final = 1
BODY: Final = 2
AT: Final = 3

_NEVER = 1


def _parts(arg: Any) -> Any:
    """What a struct, a mask or a list of structs consists of."""
    if arg.__class__ is StructArg:
        return arg.values
    if arg and arg[0].__class__ is StructArg:
        return [part for item in arg for part in item.values]
    return arg


def operands(op: Op) -> list[Any]:
    """The operands that C++ sees, with structs and masks taken apart."""
    plan = op.form.written or plan_of(op)
    out: list[Any] = [op.args[k] for k in plan.objects]
    for k in plan.others:
        arg = op.args[k]
        if arg.__class__ is StructArg or arg.__class__ is tuple:
            out.extend(_parts(arg))
        else:
            out.append(arg)
    return out


def common(a: Body, b: Body) -> Body:
    """The innermost body around both."""
    while a is not b:
        if a.depth >= b.depth:
            a = a.parent  # type: ignore[assignment]
        else:
            b = b.parent  # type: ignore[assignment]
    return a


def _live(trace: Trace) -> set[int]:
    """The variables (by id) whose value can matter, if the trace has any."""
    sources: dict[int, list[Any]] = {}
    todo: list[Any] = []
    for node in walk(trace.body):
        if isinstance(node, Op):
            if not node.spec.pure:
                todo.extend(operands(node))
        elif isinstance(node, Declare):
            sources.setdefault(id(node.var), []).append(node.init)
        elif isinstance(node, Assign):
            for var, value in zip(node.vars, node.values, strict=True):
                sources.setdefault(id(var), []).append(value)
        elif isinstance(node, If):
            todo.append(node.cond)
        elif isinstance(node, Loop):
            todo += (node.start, node.stop, node.step)
    seen: set[int] = set()
    while todo:
        value = todo.pop()
        if not isinstance(value, Value) or id(value) in seen:
            continue
        seen.add(id(value))
        made = value.node
        if made is None:
            todo.extend(sources.get(id(value), ()))
        elif isinstance(made, Op) and made.spec.pure:
            todo.extend(operands(made))
    return seen & sources.keys()


class Uses:
    """The fate of every value of a trace; keys are `id(value)`.

    `info` has the uses of each, `merged` the variables that values are stored in at once, `hoisted`
    the values declared elsewhere, `live` the kept variables.
    """

    def __init__(self, trace: Trace) -> None:
        self.root = build(trace)
        self.info: dict[int, list[Any]] = {}
        self.merged: dict[int, Value] = {}
        self.hoisted: set[int] = set()
        self.live: set[int] = _live(trace) if self.root.declares else set()
        self._seq = 0
        self._mutated: dict[int, int] = {}  # nearest change of a variable or tensor behind here
        self._reads: dict[int, int] = {}  # nearest read of a variable behind here
        self._jump = _NEVER
        self._pending: dict[int, tuple[Value, int, Body]] = {}
        self._scan(self.root)

    def _use(self, value: Any, pos: int, body: Body) -> None:
        if not isinstance(value, Value):
            return
        key = id(value)
        use = self.info.get(key)
        if use is None:
            self.info[key] = [False, pos, body, 0]
        else:
            use[AGAIN] = True
            use[LAST] = max(use[LAST], pos)
            if use[BODY] is not body:
                use[BODY] = common(use[BODY], body)
        if value.node is None and pos < self._reads.get(key, _NEVER):
            self._reads[key] = pos

    def _touch(self, var: Value, body: Body) -> None:
        """An assignment: it has to lie in the scope of the declaration, too."""
        use = self.info.get(id(var))
        if use is None:
            self.info[id(var)] = [False, self._seq, body, 0]
        else:
            use[BODY] = common(use[BODY], body)

    def _scan(self, body: Body) -> None:
        """All statements of a body, last first; leaves those to print in `body.steps`."""
        info, reads = self.info, self._reads
        seq = self._seq
        steps: list[tuple[int, Any, Plan | None]] = []
        inlined = 0
        op: Any
        for op in reversed(body.nodes):
            seq -= 1
            if op.__class__ is not Op:
                self._seq = seq
                if _VISIT[op.__class__](self, op, body):
                    steps.append((OTHER, op, None))
                seq = self._seq
                continue
            plan = op.form.written or plan_of(op)
            result = op.result
            if result is None or (use := info.get(id(result))) is None:
                if plan.pure:
                    continue
                steps.append((CONSTRUCT if plan.construct else STATEMENT, op, plan))
            else:
                use[AT] = seq
                if plan.pure and not use[AGAIN] and self._inlines(op, use, body):
                    steps.append((INLINE, op, plan))
                    inlined += 1
                    for arg in operands(op):
                        self._use(arg, use[LAST], use[BODY])
                    continue
                steps.append((CONSTRUCT if plan.construct else BIND, op, plan))
                if use[BODY] is not body or id(result) in self._pending:
                    self._settle(op, use, body, seq)
            args = op.args
            # As `_use` does, but without a call, and no use was seen that lies in front of here.
            for k in plan.objects:
                arg = args[k]
                key = id(arg)
                use = info.get(key)
                if use is None:
                    info[key] = [False, seq, body, 0]
                else:
                    use[AGAIN] = True
                    if use[BODY] is not body:
                        use[BODY] = common(use[BODY], body)
                if arg.node is None:
                    reads[key] = seq
            for k in plan.others:
                arg = args[k]
                kind = arg.__class__
                if kind is int:
                    continue
                if kind is StructArg or kind is tuple:
                    for part in _parts(arg):
                        self._use(part, seq, body)
                else:
                    self._use(arg, seq, body)
            if plan.changes:
                if plan.rebinds >= 0:
                    self._mutated[id(args[plan.rebinds])] = seq
                for k in plan.variables:
                    # Not written in place, whatever it is: the call changes it, or wants its
                    # address.
                    info[id(args[k])][AGAIN] = True
        steps.reverse()
        body.steps = steps
        body.kept += len(steps) - inlined
        self._seq = seq

    def _inlines(self, op: Op, use: list[Any], body: Body) -> bool:
        """Whether a pure operation with one use is printed there."""
        end, scope = use[LAST], use[BODY]
        while scope.depth > body.depth:
            if scope.loop:
                end = scope.end
            scope = scope.parent
        if scope is not body:
            return False
        mutated = self._mutated
        if mutated:
            for arg in op.args:
                if isinstance(arg, Value) and mutated.get(id(arg), _NEVER) < end:
                    return False
        return True

    def _settle(self, op: Op, use: list[Any], body: Body, seq: int) -> None:
        """Hoist or merge a value that gets a C++ variable; else it is bound where it is made."""
        result = op.result
        assert result is not None
        if common(use[BODY], body) is not body:
            self._hoist(result, use, body)
        elif id(result) in self._pending:
            var, at, where = self._pending[id(result)]
            if (
                where is body
                and use[LAST] <= at
                and self._mutated.get(id(var)) == at
                and self._reads.get(id(var), _NEVER) > at
                and self._jump > at
                and (not plan_of(op).construct or op.args)
            ):
                self.merged[id(result)] = var
                self._mutated[id(var)] = seq

    def _hoist(self, value: Value, use: list[Any], body: Body) -> None:
        target = common(use[BODY], body)
        while body.parent is not target:
            body = body.parent  # type: ignore[assignment]
        assert body.owner is not None
        body.owner.hoists.append(value)
        self.hoisted.add(id(value))

    def _declare(self, node: Declare, body: Body) -> bool:
        var = node.var
        use = self.info.get(id(var))
        if use is None or id(var) not in self.live:
            return False
        if common(use[BODY], body) is not body:
            self._hoist(var, use, body)
        self._mutated[id(var)] = self._seq
        self._use(node.init, self._seq, body)
        return True

    def pairs(self, node: Assign) -> list[tuple[Value, Any]]:
        """The variables and values of an assignment that are still to be assigned by it."""
        return [
            (var, value)
            for var, value in zip(node.vars, node.values, strict=True)
            if id(var) in self.live and var is not value and self.merged.get(id(value)) is not var
        ]

    def _assign(self, node: Assign, body: Body) -> bool:
        pairs = self.pairs(node)
        if not pairs:
            return False
        for var, value in pairs:
            self._use(value, self._seq, body)
            made = isinstance(value, Value) and isinstance(value.node, Op)
            if made and value.type.cpp == var.type.cpp:
                self._pending.setdefault(id(value), (var, self._seq, body))
        for var, _ in pairs:
            self._touch(var, body)
            self._mutated[id(var)] = self._seq
        return True

    def _branch(self, node: Branch, body: Body) -> bool:
        self._scan(node.orelse)
        self._scan(node.then)
        if not node.then.kept and not node.orelse.kept:
            return False
        self._seq -= 1
        self._use(node.node.cond, self._seq, body)
        return True

    def _repeat(self, node: Repeat, body: Body) -> bool:
        loop, inner = node.node, node.body
        inner.end = self._seq
        jump = self._jump
        self._scan(inner)
        self._jump = jump
        self._seq -= 1
        index = loop.index
        if index is not None:
            use = self.info.get(id(index))
            if use is not None and common(use[BODY], inner) is not inner:
                node.copied = True
                self._hoist(index, use, inner)
            elif not inner.kept:
                return False
            for bound in (loop.stop, loop.step):
                self._use(bound, self._seq, inner)
                if isinstance(bound, Value) and self._mutated.get(id(bound), _NEVER) < inner.end:
                    node.frozen.append(bound)
            self._seq -= 1
            self._use(loop.start, self._seq, body)
        return True

    def _jumps(self, node: Jump, body: Body) -> bool:
        if node.kind in ("break", "continue"):
            self._jump = self._seq
        return True


_VISIT: dict[type, Callable[[Uses, Any, Body], bool]] = {
    Declare: Uses._declare,
    Assign: Uses._assign,
    Branch: Uses._branch,
    Repeat: Uses._repeat,
    Jump: Uses._jumps,
}
