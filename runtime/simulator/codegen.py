"""Trace -> Python source of the scalar program of a block.

The program is one function, `block(left, block_idx, block_num, *parameters)`. Scalar expressions
are inline; every other operation is a call of its executor, bound by name. It returns the number of
operations with an effect and what is left of the budget. `turn[0]` says where it is: the indices of
the loops around the present place, outermost first, for those that call executors. A loop without
an index counts its rounds.

A program with operations that wait for other blocks is a generator, which hands `left` in and out
where it may wait (`meeting.py`).

CPython allows 20 statically nested loops and 100 levels of indentation in a function. Deeper
nodes move into local functions (`part0`, ...) which share the variables of `block` and return how
they ended: 0 fell through, 1 break, 2 continue, 3 return.
"""

from __future__ import annotations

import itertools
import math
import sys
from copy import deepcopy
from typing import Any

from ...tracer.diagnostics import error
from ...tracer.language import conversion
from ...tracer.language.dtypes import DataType
from ...tracer.language.scalar import Scalar
from ...tracer.language.types import StructType
from ...tracer.trace import Assign, Block, Declare, If, Jump, Loop, Node, Op, Trace, Value, walk
from . import scalars
from .registry import emitter_of, operands, rebound

MAX_LOOPS = 15
MAX_INDENT = 60
_ENDED = {"break": 1, "continue": 2, "return": 3}


def escapes(block: Block, in_loop: bool = False) -> bool:
    """Whether control may leave a block other than at its end (traps do not count)."""
    return any(_leaves(node, in_loop) for node in block.nodes)


def _leaves(node: Node, in_loop: bool = False) -> bool:
    """Whether a node may leave its block; `in_loop`: breaks are those of a loop inside it."""
    if isinstance(node, Jump):
        return node.kind == "return" or (node.kind != "trap" and not in_loop)
    if isinstance(node, If):
        return escapes(node.then, in_loop) or escapes(node.orelse, in_loop)
    return isinstance(node, Loop) and escapes(node.body, True)


def trips(loop: range) -> int:
    """Length of a range of any size."""
    try:
        return len(loop)
    except OverflowError:
        return sys.maxsize


class Writer:
    """Writes the program of one trace. `executed` pairs the names of executors with their ops."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.bound: dict[str, Any] = {
            "inf": math.inf,
            "nan": math.nan,
            "trips": trips,
            **{
                f.__name__: f
                for f in (
                    scalars.divide_by_zero, scalars.floor_divide, scalars.floor_modulo,
                    scalars.trunc_divide, scalars.trunc_modulo, conversion.int_to_float,
                    conversion.float_to_int, conversion.round_float16, conversion.round_bfloat16,
                )
            },
        }  # fmt: skip
        self.executed: list[tuple[str, Op]] = []
        #: Whether an operation may wait for other blocks: the program is a generator then.
        self.meets = False
        self.ranges: dict[int, tuple[int, int]] = {}
        self._numbers = itertools.count()
        self._names: dict[int, str] = {}
        self._lines: list[str] = []
        self._indent = 1
        self._loops = 0
        self._parts: list[list[str]] = []
        self._shared: set[str] = set()
        self._in_part = False
        #: What counts in the loops around the present place.
        self._turn: list[str] = []

    # -- names and operands ---------------------------------------------------------------------

    def line(self, text: str) -> None:
        """One line of the program at the current depth."""
        self._lines.append("    " * self._indent + text)

    def bind(self, thing: Any, letter: str) -> str:
        """A global name for an object that the program uses."""
        name = f"{letter}{next(self._numbers)}"
        self.bound[name] = thing
        return name

    def define(self, value: Value) -> str:
        """The variable of a value that is assigned here."""
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = f"v{len(self._names)}"
        if self._in_part:
            self._shared.add(name)
        return name

    def value(self, arg: Any) -> str:
        """An operand as an expression: a variable or a literal."""
        if not isinstance(arg, Value):
            return self._literal(arg)
        name = self._names.get(id(arg))
        if name is None:
            raise error("AT0901", f"{arg!r} is used before the trace defines it")
        return name

    def number(self, arg: Any, dtype: DataType) -> str:
        """A scalar operand; a constant becomes the number that the dtype holds."""
        if isinstance(arg, Value):
            return self.value(arg)
        return self._literal(conversion.constant(arg, dtype))

    def _literal(self, constant: Any) -> str:
        text = repr(constant)
        return f"({text})" if text.startswith("-") else text

    def _assigned(self, arg: Any, var: Value) -> str:
        """An operand as the new value of a variable."""
        return self.number(arg, var.type) if isinstance(var.type, DataType) else self.value(arg)

    def range_of(self, arg: Any, dtype: DataType) -> tuple[int, int]:
        """What is known of an integer operand's range."""
        if isinstance(arg, Scalar):
            if arg.type.kind == "f":
                return (0, 0)
            return self.ranges.get(id(arg), (arg.type.lo, arg.type.hi))
        if not isinstance(arg, int):
            return (0, 0)
        number = int(conversion.constant(arg, dtype))
        return (number, number)

    # -- the program ----------------------------------------------------------------------------

    def program(self) -> str:
        """The source of `block`."""
        names = [self.define(param.value) for param in self.trace.params]
        for name, param in zip(names, self.trace.params, strict=True):
            if isinstance(param.type, StructType):
                self.line(f"{name} = {self.bind(deepcopy, 'c')}({name})")  # passed by value
        self._block(self.trace.body)
        self.line("return n, left")
        head = [f"def block({', '.join(['left', 'block_idx', 'block_num', *names])}):"]
        head += ["    n = 0", "    turn[0] = ()"]
        if self.meets:
            head.append("    if False: yield")  # a generator in any case
        fresh = sorted(self._shared - set(names))
        if fresh:
            head.append("    " + " = ".join(fresh) + " = None")
        for part in self._parts:
            head += part
        return "\n".join(head + self._lines) + "\n"

    def _block(self, block: Block, charged: bool = False) -> None:
        """The nodes of a block. Operations are counted ahead of each way out of the block."""
        start = len(self._lines)
        since = start
        count = 0
        for node in block.nodes:
            if isinstance(node, Op):
                count += not node.spec.pure
                self._op(node)
                continue
            leaves = _leaves(node)
            if leaves:
                self._charge(since, 0 if charged else count)
                count = 0
            _NODES[type(node)](self, node)
            since = len(self._lines) if leaves else since
        self._charge(since, 0 if charged else count)
        if len(self._lines) == start:
            self.line("pass")

    def _charge(self, at: int, count: int) -> None:
        if count:
            self._lines.insert(at, "    " * self._indent + f"n += {count}")

    def _op(self, op: Op) -> None:
        emitter = emitter_of(op.spec)
        if emitter is not None:
            emitter(op, self)
            return
        name = f"x{next(self._numbers)}"
        self.executed.append((name, op))
        target = op.result if op.result is not None else rebound(op)
        values = [self.value(arg) for arg in operands(op) if arg is not target]
        call = f"{name}({', '.join(values)})"
        if "meets" in op.spec.extra:
            self.meets = True
            if op.spec.extra["meets"]:
                call = f"left = yield from {name}({', '.join(['left', *values])})"
        self.line(call if target is None else f"{self.define(target)} = {call}")

    def _declare(self, node: Declare) -> None:
        name = self.define(node.var)
        if node.init is not None:
            self.line(f"{name} = {self._assigned(node.init, node.var)}")

    def _assign(self, node: Assign) -> None:
        values = [self._assigned(a, v) for v, a in zip(node.vars, node.values, strict=True)]
        targets = [self.define(var) for var in node.vars]
        if targets:
            self.line(f"{', '.join(targets)} = {', '.join(values)}")

    def _if(self, node: If) -> None:
        self.line(f"if {self.value(node.cond)}:")
        self._arm(node.then)
        if node.orelse.nodes:
            self.line("else:")
            self._arm(node.orelse)

    def _arm(self, block: Block) -> None:
        self._indent += 1
        if self._indent > MAX_INDENT:
            self._outline(lambda: self._block(block))
        else:
            self._block(block)
        self._indent -= 1

    def _loop(self, node: Loop) -> None:
        if self._loops >= MAX_LOOPS or self._indent > MAX_INDENT:
            self._outline(lambda: self._loop(node))
            return
        ops = sum(isinstance(n, Op) and not n.spec.pure for n in node.body.nodes)
        hoisted = node.index is not None and not escapes(node.body)
        calls = any(isinstance(n, Op) and not emitter_of(n.spec) for n in walk(node.body))
        if node.index is not None:
            self._for(node, ops, hoisted)
            count = self.define(node.index)
        else:
            count = self._round() if calls else ""
            self.line("while True:")
        self._indent += 1
        self._loops += 1
        if calls:
            if node.index is None:
                self.line(f"{count} += 1")
            self._turn.append(count)
            self._tell_turn()
        if not hoisted:
            self._spend(node, f"{ops + 1}")
        self._block(node.body, charged=hoisted)
        self._indent -= 1
        self._loops -= 1
        if calls:
            self._turn.pop()
            self._tell_turn()

    def _round(self) -> str:
        """A counter for a loop without an index."""
        count = f"c{next(self._numbers)}"
        if self._in_part:
            self._shared.add(count)
        self.line(f"{count} = -1")
        return count

    def _tell_turn(self) -> None:
        self.line(f"turn[0] = ({''.join(f'{count}, ' for count in self._turn)})")

    def _for(self, node: Loop, ops: int, hoisted: bool) -> None:
        """The head of a counted loop; without a way out it is charged as a whole."""
        index: Any = node.index
        start, stop, step = (self.number(a, index.type) for a in (node.start, node.stop, node.step))
        loop = f"r{next(self._numbers)}"
        self.line(f"{loop} = range({start}, {stop}, {step})")
        if self._in_part:
            self._shared.add(loop)
        if hoisted:
            if ops:
                self.line(f"n += trips({loop}) * {ops}")
            self._spend(node, f"trips({loop}) * {ops + 1}")
        first = self.range_of(node.start, index.type)
        last = self.range_of(node.stop, index.type)
        if isinstance(node.step, int) and node.step < 0:
            self.ranges[id(index)] = (min(first[1], last[0] + 1), first[1])
        else:
            self.ranges[id(index)] = (first[0], max(first[0], last[1] - 1))
        self.line(f"for {self.define(index)} in {loop}:")

    def _spend(self, node: Loop, amount: str) -> None:
        self.line(f"left -= {amount}")
        self.line(f"if left < 0: {self.bind(_runaway(node), 'e')}()")

    def _jump(self, node: Jump) -> None:
        if node.kind == "trap":
            self.line(f"{self.bind(_trap(node), 'e')}()")
        else:
            self._leave(node.kind)

    def _leave(self, kind: str) -> None:
        """Break, continue or return, from inside a part too."""
        if kind != "return" and self._loops:
            self.line(kind)
        elif self._in_part:
            self.line(f"return {_ENDED[kind]}")
        else:
            self.line("return n, left")

    # -- nesting too deep for one function ------------------------------------------------------

    def _outline(self, write: Any) -> None:
        """Write a node into a function of its own and call it here."""
        name = f"part{next(self._numbers)}"
        outside = (self._lines, self._indent, self._loops, self._in_part, self._shared)
        self._lines, self._indent, self._loops, self._in_part = [], 2, 0, True
        self._shared = set()
        write()
        body, shared = self._lines, self._shared
        self._lines, self._indent, self._loops, self._in_part, self._shared = outside
        self._shared |= shared
        names = ", ".join(["n", "left", *sorted(shared)])
        self._parts.append(
            [f"    def {name}():", f"        nonlocal {names}", *body, "        return 0"]
        )
        ended = f"j{next(self._numbers)}"
        if self._in_part:
            self._shared.add(ended)
        waits = any(" yield from " in line for line in body)
        self.line(f"{ended} = {'yield from ' if waits else ''}{name}()")
        for kind, code in _ENDED.items():
            if any(line.strip() == f"return {code}" for line in body):
                self.line(f"if {ended} == {code}:")
                self._indent += 1
                self._leave(kind)
                self._indent -= 1


def _runaway(node: Loop) -> Any:
    def fault() -> None:
        raise error(
            "AT0206",
            "the loop goes past the operation budget of the simulator",
            node.site,
            hint="check the loop's condition, or raise SimParams.op_budget",
        )

    return fault


def _trap(node: Jump) -> Any:
    def fault() -> None:
        raise error(
            "AT0205",
            node.message or "an assertion failed",
            node.site,
            hint="the kernel's own check; on the device it stops the kernel here",
        )

    return fault


_NODES: dict[type, Any] = {
    Declare: Writer._declare,
    Assign: Writer._assign,
    If: Writer._if,
    Loop: Writer._loop,
    Jump: Writer._jump,
}
