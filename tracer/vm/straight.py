"""Straight code of programs that run often, as Python functions.

A statement such as `asc.add(z, x, y, n)` is a dozen instructions, and most of the time of a trace
goes into handing values from one handler to the next. In a program that has become warm the
statements of each stretch of simple instructions are one function. The run loop takes it for the
step of each of these statements: from there on it does what follows, too.

Such a function does what is usual only: locals that are bound, globals, attributes of runtime
values and of native modules, arithmetic of numbers, operations with arguments of types that they
had before, new runtime values. All else it leaves to the handlers: it puts on the stack what it
holds and says where they go on. So its conditions have to be sufficient, not exact, and no frame of
the kernel is entered while it holds what the stack does not show.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from keyword import iskeyword
from typing import TYPE_CHECKING, Any

from ..ops.spec import OpFunction, record
from ..trace import Value
from .frame import NULL, UNBOUND, Frame, Poison
from .handlers.names import load_from_globals
from .objects import FAST, OPERATIONS, UNGUARDED

if TYPE_CHECKING:
    from .machine import Machine


def begin(vm: Machine, frame: Frame, place: int) -> int:
    """The handlers do a statement from its beginning: there the step is the function itself."""
    frame.pc = place
    handler, arg = frame.program.singles[place]
    handler(vm, frame, arg)
    return place + 1


def forget_held(exc: BaseException) -> None:
    """What a function held when an exception left it is as gone as what the stack loses."""
    trace = exc.__traceback__
    if trace is not None and trace.tb_next is not None:
        frame = trace.tb_next.tb_frame
        if frame.f_globals.get("__name__") == __name__:
            frame.clear()


_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)

#: A function for fewer instructions is not worth it.
_SHORTEST = 3

#: What the functions read, besides constants.
_NAMES: dict[str, Any] = {
    "__name__": __name__,
    "FAST": FAST,
    "NULL": NULL,
    "OPERATIONS": OPERATIONS,
    "OpFunction": OpFunction,
    "Poison": Poison,
    "UNBOUND": UNBOUND,
    "UNGUARDED": UNGUARDED,
    "Value": Value,
    "begin": begin,
    "load_from_globals": load_from_globals,
    "record": record,
}


def straighten(code: Any, start: int, end: int) -> list[tuple[int, Callable[..., Any], int]]:
    """The steps for straight code of a decoded code object: place, function, number in it.

    start, end: the instructions to look at.
    """
    stretches: list[list[_Statement]] = []
    names, place = dict(_NAMES), start
    while place < end:
        statement = _Statement(code, place, names)
        statement.write()
        if statement.pc - place < _SHORTEST:
            place = max(statement.pc, place + 1)
            continue
        if not stretches or stretches[-1][-1].pc != place:
            stretches.append([])
        stretches[-1].append(statement)
        place = statement.pc
    exec("\n".join(line for stretch in stretches for line in _function(stretch)), names)
    return [
        (statement.start, names[_name(stretch)], k)
        for stretch in stretches
        for k, statement in enumerate(stretch)
    ]


def _name(stretch: list[_Statement]) -> str:
    return f"straight_{stretch[0].start}"


def _function(stretch: list[_Statement]) -> list[str]:
    """The function for a stretch; `first` is the number of the statement it begins with."""
    lines = [
        f"def {_name(stretch)}(vm, frame, first):",
        "    slots = frame.slots",
        "    set_at = frame.set_at",
        "    space, read = frame.globals, vm.guards.items",
        "    if space.__class__ is not dict:",
        "        space = {}",
    ]
    for k, statement in enumerate(stretch):
        lines.append(f"    if first <= {k}:")
        lines += [f"        {line}" for line in statement.lines]
    lines.append(f"    return {stretch[-1].pc}")
    return lines


class _Statement:
    """Writes what the instructions from `start` up to `pc` do.

    `held` are the expressions of what they have on top of the stack, `loose` the loads among them
    that nothing has looked at so far, as (place, depth).
    """

    __slots__ = ("code", "held", "lines", "loose", "names", "operations", "pc", "reached", "start")

    def __init__(self, code: Any, start: int, names: dict[str, Any]) -> None:
        self.code = code
        self.start = self.pc = start
        self.names = names
        self.held: list[str] = []
        self.loose: list[tuple[int, int]] = []
        #: Expressions that are globals or were reached from one, and those that are operations.
        self.reached: set[str] = set()
        self.operations: set[str] = set()
        self.lines: list[str] = []

    def write(self) -> None:
        """Write as far as it goes, at most to the end of a statement."""
        instrs, handlers = self.code.instrs, self.code.handlers
        while handlers[self.pc] == handlers[self.start]:
            instr = instrs[self.pc]
            write = _WRITERS.get(instr.op)
            if write is None or not write(self, instr.arg):
                break
            self.pc += 1
            if not self.held or self.pc == len(instrs):
                break
        self._settle()
        if self.held:
            self.lines.append(self._leave())

    # -- helpers ------------------------------------------------------------------------------

    def _leave(self) -> str:
        """Go on with the handlers, at the first load that nothing has looked at, or here."""
        place, depth = self.loose[0] if self.loose else (self.pc, len(self.held))
        if place == self.start:
            return f"return begin(vm, frame, {place})"
        push = f"frame.stack += ({', '.join(self.held[:depth])},); " if depth else ""
        return f"{push}return {place}"

    def _leave_if(self, condition: str) -> None:
        self.lines += (f"if {condition}:", f"    {self._leave()}")

    @contextlib.contextmanager
    def _under(self, header: str) -> Iterator[None]:
        """What is written inside stands under a header; loads looked at there are so only there."""
        self.lines.append(header)
        before, loose = len(self.lines), self.loose
        yield
        self.lines[before:] = [f"    {line}" for line in self.lines[before:]]
        self.loose = loose

    def _settle(self, below: int | None = None) -> None:
        """Look at the loads (below a depth) now: what comes next must not be done twice."""
        found = [row for row in self.loose if below is None or row[1] < below]
        if found:
            held = [self.held[depth] for _, depth in found]
            self._leave_if(" or ".join(f"{v} is UNBOUND or {v}.__class__ is Poison" for v in held))
            self.loose = self.loose[len(found) :]

    def _take(self, count: int) -> list[str]:
        """Pop expressions that have been looked at."""
        depth = len(self.held) - count
        taken = self.held[depth:]
        del self.held[depth:]
        self.loose = [row for row in self.loose if row[1] < depth]
        return taken

    def _push(self, expression: str) -> str:
        """Push a new local with the value of an expression; returns its name."""
        name = f"v{self.pc}"
        self.lines.append(f"{name} = {expression}")
        self.held.append(name)
        return name

    def _at(self) -> None:
        """What follows may raise, or record: the frame says where."""
        self.lines.append(f"frame.pc = {self.pc}")

    # -- instructions: each says whether it can be written ------------------------------------

    def load_fast(self, slot: int) -> bool:
        self._push(f"slots[{slot}]")
        self.loose.append((self.pc, len(self.held) - 1))
        return True

    def load_const(self, value: Any) -> bool:
        name = f"c{self.pc}"
        self.names[name] = value
        self.held.append(name)
        return True

    def push_null(self, arg: Any) -> bool:
        self.held.append("NULL")
        return True

    def load_global(self, name: str) -> bool:
        value = f"v{self.pc}"
        self.lines.append(f"{value} = space.get({name!r})")
        unread = f"(id(space), {name!r}) not in read"
        with self._under(f"if {value} is None or {value}.__class__ is Poison or {unread}:"):
            self._settle()
            self._at()
            self.lines.append(f"{value} = load_from_globals(vm, frame, {name!r})")
        self.held.append(value)
        self.reached.add(value)
        return True

    def load_attr(self, name: str) -> bool:
        # Code that was no text before may have any name.
        if not self.held or not _NAME.fullmatch(name) or iskeyword(name):
            return False
        self._settle(below=len(self.held) - 1)
        obj = self.held[-1]
        reached = obj in self.reached
        if reached:
            self._leave_if(f"UNGUARDED.get(id({obj})) is not {obj}")
        else:
            self._leave_if(f"not isinstance({obj}, Value)")
        self._take(1)
        self._at()
        value = self._push(f"{obj}.{name}")
        if reached:
            self.reached.add(value)
        return True

    def load_method(self, name: str) -> bool:
        if not self.held:
            return False
        obj = self.held[-1]
        function = f"v{self.pc}"
        self._at()
        found = f"OPERATIONS.get(({obj}.__class__, {name!r}))"
        self.lines.append(f"{function} = {found} if isinstance({obj}, Value) else None")
        self._leave_if(f"{function} is None")
        self._take(1)
        self.held += (function, obj)
        self.operations.add(function)
        return True

    def binary_op(self, op: str) -> bool:
        if len(self.held) < 2:
            return False
        self._settle(below=len(self.held) - 2)
        left, right = self.held[-2:]
        self._at()
        self._leave_if(f"type({left}) not in FAST or type({right}) not in FAST")
        self._take(2)
        self._push(f"{left} {op} {right}")
        return True

    def build_slice(self, n: int) -> bool:
        if len(self.held) < n:
            return False
        self._settle()
        self._push(f"slice({', '.join(self._take(n))})")
        return True

    def binary_subscr(self, arg: Any) -> bool:
        if len(self.held) < 2:
            return False
        self._leave_if(f"not isinstance({self.held[-2]}, Value)")
        self._settle()
        container, index = self._take(2)
        self._at()
        self._push(f"{container}[{index}]")
        return True

    def call(self, n: int) -> bool:
        base = len(self.held) - n - 2
        if base < 0:
            return False
        function, instance, *args = self.held[base:]
        if function == "NULL":
            function = instance
        elif function in self.operations:
            args.insert(0, instance)
        elif instance != "NULL":
            return False
        self._settle(below=base)
        if function in self.operations:
            self._record(function, args)
        else:
            with self._under(f"if {function}.__class__ is OpFunction:"):
                self._record(function, args)
            with self._under("else:"):
                self._settle()
                self._leave_if(
                    f"{function}.__class__ is not type or not issubclass({function}, Value)"
                )
                self._at()
                self.lines.append(f"v{self.pc} = {function}({', '.join(args)})")
        self._take(n + 2)
        self.held.append(f"v{self.pc}")
        return True

    def _record(self, function: str, args: list[str]) -> None:
        """A call of an operation whose overload is known from the types of the arguments."""
        types = "".join(f"{arg}.__class__, " for arg in args)
        self._at()
        self.lines.append(f"known = {function}.known.get(({types}))")
        with self._under("if known is None:"):
            self._settle()
            self.lines.append(self._leave())
        given = f"({''.join(f'{arg}, ' for arg in args)}) + known[1]"
        self.lines.append(f"v{self.pc} = record({function}.spec, known[0], {given}, vm)")

    def pop_top(self, arg: Any) -> bool:
        if not self.held:
            return False
        self._settle()
        self._take(1)
        return True

    def store_fast(self, slot: int) -> bool:
        if not self.held:
            return False
        self._settle()
        (value,) = self._take(1)
        self.lines += (
            f"set_at[{slot}] = {self.pc}",
            f"if isinstance({value}, Value) and not {value}.name:",
            f"    {value}.name = {self.code.slot_names[slot]!r}",
            f"slots[{slot}] = {value}",
        )
        return True


_WRITERS: dict[str, Callable[[_Statement, Any], bool]] = {
    "BINARY_OP": _Statement.binary_op,
    "BINARY_SUBSCR": _Statement.binary_subscr,
    "BUILD_SLICE": _Statement.build_slice,
    "CALL": _Statement.call,
    "COMPARE_OP": _Statement.binary_op,
    "LOAD_ATTR": _Statement.load_attr,
    "LOAD_CONST": _Statement.load_const,
    "LOAD_FAST": _Statement.load_fast,
    "LOAD_GLOBAL": _Statement.load_global,
    "LOAD_METHOD": _Statement.load_method,
    "POP_TOP": _Statement.pop_top,
    "PUSH_NULL": _Statement.push_null,
    "STORE_FAST": _Statement.store_fast,
}
