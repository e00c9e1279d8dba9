"""Meaning: a small machine runs canonical code and must agree with CPython."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Generator, Mapping, Sequence
from types import CellType, FunctionType
from typing import Any

import pytest

from asctrace.tracer.bytecode import Code, Instr, decode

NULL: Any = object()

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<<": operator.lshift,
    ">>": operator.rshift,
    "&": operator.and_,
    "|": operator.or_,
    "^": operator.xor,
}
INPLACE: dict[str, Callable[[Any, Any], Any]] = {
    **BINARY,
    "+": operator.iadd,
    "-": operator.isub,
    "|": operator.ior,
}
UNARY: dict[str, Callable[[Any], Any]] = {
    "-": operator.neg,
    "+": operator.pos,
    "~": operator.invert,
    "not": operator.not_,
}
COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
}
CONVERT: dict[str | None, Callable[[Any], Any]] = {
    "s": str,
    "r": repr,
    "a": ascii,
    None: lambda value: value,
}
JUMP_IF: dict[str, Callable[[Any], bool]] = {
    "POP_JUMP_IF_TRUE": bool,
    "POP_JUMP_IF_FALSE": lambda value: not value,
    "POP_JUMP_IF_NONE": lambda value: value is None,
    "POP_JUMP_IF_NOT_NONE": lambda value: value is not None,
}


class Machine:
    """Interprets one call. Written for the tests only: slow, short, no symbolic values."""

    def __init__(self, function: FunctionType, slots: list[Any]) -> None:
        self.code: Code = decode(function.__code__)
        self.globals = function.__globals__
        self.slots = slots
        self.stack: list[Any] = []
        self.handled: list[Any] = [None]
        self.at = 0

    def pop(self, n: int) -> list[Any]:
        """Pop n items, the deepest first."""
        items = self.stack[len(self.stack) - n :]
        del self.stack[len(self.stack) - n :]
        return items

    def run(self) -> Generator[Any, Any, Any]:
        """Run to the return; yields are those of the code (a plain function yields never)."""
        while True:
            here = self.at
            instr = self.code.instrs[here]
            self.at += 1
            try:
                if instr.op == "RETURN_VALUE":
                    return self.stack.pop()
                if instr.op == "RETURN_GENERATOR":
                    self.stack.append(None)
                elif instr.op == "YIELD_VALUE":
                    value = self.stack.pop()
                    self.stack.append(None)  # what an exception thrown in finds
                    self.stack[-1] = yield value
                elif instr.op == "SEND":
                    self.send(instr.arg)
                else:
                    self.step(instr)
            except BaseException as error:
                handler = self.code.handlers[here]
                if handler is None:
                    raise
                del self.stack[handler.depth :]
                self.stack += [here, error] if handler.lasti else [error]
                self.at = handler.target

    def send(self, target: int) -> None:
        """Pass a value into the generator below it."""
        receiver, value = self.pop(2)
        try:
            got = next(receiver) if value is None else receiver.send(value)
            self.stack += [receiver, got]
        except StopIteration as stop:
            self.stack.append(stop.value)
            self.at = target

    def step(self, instr: Instr) -> None:
        """Execute a plain instruction."""
        getattr(self, f"op_{instr.op}", self.simple)(instr)

    def simple(self, instr: Instr) -> None:
        """Execute what is a jump or a function of its operands."""
        op, arg, stack = instr.op, instr.arg, self.stack
        if op in JUMP_IF:
            if JUMP_IF[op](stack.pop()):
                self.at = arg
        elif op == "JUMP":
            self.at = arg
        elif op in PURE:
            count, compute = PURE[op]
            n = count(arg) if callable(count) else count
            stack.append(compute(arg, *self.pop(n)))
        elif op != "LABEL":
            raise NotImplementedError(op)

    # Stack and variables

    def op_POP_TOP(self, _: Instr) -> None:
        self.stack.pop()

    def op_COPY(self, instr: Instr) -> None:
        self.stack.append(self.stack[-instr.arg])

    def op_SWAP(self, instr: Instr) -> None:
        stack, n = self.stack, instr.arg
        stack[-1], stack[-n] = stack[-n], stack[-1]

    def op_LOAD_FAST(self, instr: Instr) -> None:
        value = self.slots[instr.arg]
        if value is NULL:
            raise UnboundLocalError(self.code.slot_names[instr.arg])
        self.stack.append(value)

    op_LOAD_CLOSURE = op_LOAD_FAST

    def op_LOAD_FAST_AND_CLEAR(self, instr: Instr) -> None:
        self.stack.append(self.slots[instr.arg])
        self.slots[instr.arg] = NULL

    def op_STORE_FAST(self, instr: Instr) -> None:
        self.slots[instr.arg] = self.stack.pop()

    def op_DELETE_FAST(self, instr: Instr) -> None:
        if self.slots[instr.arg] is NULL:
            raise UnboundLocalError(self.code.slot_names[instr.arg])
        self.slots[instr.arg] = NULL

    def op_MAKE_CELL(self, instr: Instr) -> None:
        value = self.slots[instr.arg]
        self.slots[instr.arg] = CellType() if value is NULL else CellType(value)

    def op_LOAD_DEREF(self, instr: Instr) -> None:
        try:
            self.stack.append(self.slots[instr.arg].cell_contents)
        except ValueError:
            raise NameError(self.code.slot_names[instr.arg]) from None

    def op_STORE_DEREF(self, instr: Instr) -> None:
        self.slots[instr.arg].cell_contents = self.stack.pop()

    def op_LOAD_GLOBAL(self, instr: Instr) -> None:
        name = instr.arg
        scope = self.globals if name in self.globals else vars(builtins)
        if name not in scope:
            raise NameError(name)
        self.stack.append(scope[name])

    def op_LOAD_METHOD(self, instr: Instr) -> None:
        self.stack += [getattr(self.stack.pop(), instr.arg), NULL]

    def op_LOAD_SUPER_METHOD(self, instr: Instr) -> None:
        _, cls, self_ = self.pop(3)
        self.stack += [getattr(super(cls, self_), instr.arg[0]), NULL]

    def op_STORE_ATTR(self, instr: Instr) -> None:
        value, owner = self.pop(2)
        setattr(owner, instr.arg, value)

    def op_STORE_SUBSCR(self, _: Instr) -> None:
        value, owner, index = self.pop(3)
        owner[index] = value

    def op_DELETE_SUBSCR(self, _: Instr) -> None:
        owner, index = self.pop(2)
        del owner[index]

    # Containers

    def update(self, instr: Instr, method: str, count: int = 1) -> None:
        """Call a method of a container that lies deeper."""
        items = self.pop(count)
        getattr(self.stack[-instr.arg], method)(*items)

    def op_LIST_APPEND(self, instr: Instr) -> None:
        self.update(instr, "append")

    def op_SET_ADD(self, instr: Instr) -> None:
        self.update(instr, "add")

    def op_MAP_ADD(self, instr: Instr) -> None:
        self.update(instr, "__setitem__", 2)

    def op_LIST_EXTEND(self, instr: Instr) -> None:
        self.update(instr, "extend")

    def op_SET_UPDATE(self, instr: Instr) -> None:
        self.update(instr, "update")

    op_DICT_UPDATE = op_DICT_MERGE = op_SET_UPDATE

    def op_UNPACK_SEQUENCE(self, instr: Instr) -> None:
        items = list(self.stack.pop())
        if len(items) != instr.arg:
            raise ValueError("wrong number of values")
        self.stack += reversed(items)

    def op_UNPACK_EX(self, instr: Instr) -> None:
        before, after = instr.arg
        items = list(self.stack.pop())
        last = len(items) - after
        spread = [*items[:before], items[before:last], *items[last:]]
        self.stack += reversed(spread)

    # Patterns

    def op_GET_LEN(self, _: Instr) -> None:
        self.stack.append(len(self.stack[-1]))

    def op_MATCH_SEQUENCE(self, _: Instr) -> None:
        top = self.stack[-1]
        self.stack.append(isinstance(top, Sequence) and not isinstance(top, str | bytes))

    def op_MATCH_MAPPING(self, _: Instr) -> None:
        self.stack.append(isinstance(self.stack[-1], Mapping))

    def op_MATCH_KEYS(self, _: Instr) -> None:
        subject, keys = self.stack[-2:]
        found = all(key in subject for key in keys)
        self.stack.append(tuple(subject[key] for key in keys) if found else None)

    # Calls

    def op_CALL(self, instr: Instr, names: tuple[str, ...] = ()) -> None:
        first, second, *arguments = self.pop(instr.arg + 2)
        self.stack.append(self.invoke(first, second, arguments, names))

    def op_CALL_KW(self, instr: Instr) -> None:
        self.op_CALL(instr, self.stack.pop())

    def op_CALL_EX(self, instr: Instr) -> None:
        keywords = self.stack.pop() if instr.arg else {}
        first, second, arguments = self.pop(3)
        values = [*arguments, *keywords.values()]
        self.stack.append(self.invoke(first, second, values, tuple(keywords)))

    @staticmethod
    def invoke(first: Any, second: Any, arguments: list[Any], names: tuple[str, ...]) -> Any:
        """Call in any of the three layouts."""
        last = len(arguments) - len(names)
        keywords = dict(zip(names, arguments[last:], strict=True))
        target = second if first is NULL else first
        own = [] if first is NULL or second is NULL else [second]
        return target(*own, *arguments[:last], **keywords)

    def op_MAKE_FUNCTION(self, instr: Instr) -> None:
        code = self.stack.pop()
        closure = self.stack.pop() if instr.arg & 8 else None
        empty = tuple(CellType() for _ in code.co_freevars)
        made = FunctionType(code, self.globals, closure=closure or empty)
        for flag, name in ((4, "annotations"), (2, "kwdefaults"), (1, "defaults")):
            if instr.arg & flag:
                self.attribute(made, name, self.stack.pop())
        self.stack.append(made)

    def op_SET_FUNCTION_ATTRIBUTE(self, instr: Instr) -> None:
        value, made = self.pop(2)
        if instr.arg == 8:
            old = made
            made = FunctionType(old.__code__, self.globals, None, old.__defaults__, value)
            made.__kwdefaults__ = old.__kwdefaults__
        else:
            name = {1: "defaults", 2: "kwdefaults", 4: "annotations"}[instr.arg]
            self.attribute(made, name, value)
        self.stack.append(made)

    @staticmethod
    def attribute(made: FunctionType, name: str, value: Any) -> None:
        """Set a function's attribute; annotations come as a flat tuple."""
        if name == "annotations" and isinstance(value, tuple):
            value = dict(zip(value[::2], value[1::2], strict=True))
        setattr(made, f"__{name}__", value)

    # Loops, generators

    def op_FOR_ITER(self, instr: Instr) -> None:
        item = next(self.stack[-1], NULL)
        if item is NULL:
            self.stack.pop()
            self.at = instr.arg
        else:
            self.stack.append(item)

    def op_CLEANUP_THROW(self, _: Instr) -> None:
        error = self.pop(3)[-1]
        if not isinstance(error, StopIteration):
            raise error
        self.stack.append(error.value)

    # Exceptions

    def op_PUSH_EXC_INFO(self, _: Instr) -> None:
        error = self.stack.pop()
        self.stack += [self.handled[-1], error]
        self.handled.append(error)

    def op_POP_EXCEPT(self, _: Instr) -> None:
        self.stack.pop()
        self.handled.pop()

    def op_CHECK_EXC_MATCH(self, _: Instr) -> None:
        kind = self.stack.pop()
        self.stack.append(isinstance(self.stack[-1], kind))

    def op_RERAISE(self, _: Instr) -> None:
        raise self.stack.pop()

    def op_RAISE_VARARGS(self, instr: Instr) -> None:
        error, *cause = self.pop(instr.arg) or [self.handled[-1]]
        made = error() if isinstance(error, type) else error
        if cause:
            raise made from cause[0]
        raise made

    def op_STOPITERATION_ERROR(self, _: Instr) -> None:
        error = self.stack[-1]
        if isinstance(error, StopIteration):
            self.stack[-1] = RuntimeError("generator raised StopIteration")

    def op_BEFORE_WITH(self, _: Instr) -> None:
        manager = self.stack.pop()
        self.stack += [manager.__exit__, manager.__enter__()]

    def op_WITH_EXCEPT_START(self, _: Instr) -> None:
        error = self.stack[-1]
        self.stack.append(self.stack[-4](type(error), error, None))


PURE: dict[str, tuple[Any, Callable[..., Any]]] = {
    "PUSH_NULL": (0, lambda _: NULL),
    "LOAD_CONST": (0, lambda value: value),
    "LOAD_ASSERTION_ERROR": (0, lambda _: AssertionError),
    "LOAD_BUILD_CLASS": (0, lambda _: builtins.__build_class__),
    "LOAD_ATTR": (1, lambda name, owner: getattr(owner, name)),
    "LOAD_SUPER_ATTR": (3, lambda arg, _, cls, owner: getattr(super(cls, owner), arg[0])),
    "BINARY_OP": (2, lambda op, a, b: BINARY[op](a, b)),
    "INPLACE_OP": (2, lambda op, a, b: INPLACE[op](a, b)),
    "UNARY_OP": (1, lambda op, a: UNARY[op](a)),
    "COMPARE_OP": (2, lambda op, a, b: COMPARE[op](a, b)),
    "IS_OP": (2, lambda invert, a, b: (a is b) != invert),
    "CONTAINS_OP": (2, lambda invert, a, b: (a in b) != invert),
    "TO_BOOL": (1, lambda _, a: bool(a)),
    "BINARY_SUBSCR": (2, lambda _, a, b: a[b]),
    "BUILD_SLICE": (int, lambda _, *items: slice(*items)),
    "BUILD_TUPLE": (int, lambda _, *items: items),
    "BUILD_LIST": (int, lambda _, *items: list(items)),
    "BUILD_SET": (int, lambda _, *items: set(items)),
    "BUILD_STRING": (int, lambda _, *items: "".join(items)),
    "BUILD_MAP": (
        lambda n: 2 * n,
        lambda _, *items: dict(zip(items[::2], items[1::2], strict=True)),
    ),
    "BUILD_CONST_KEY_MAP": (
        lambda n: n + 1,
        lambda _, *items: dict(zip(items[-1], items[:-1], strict=True)),
    ),
    "LIST_TO_TUPLE": (1, lambda _, items: tuple(items)),
    "FORMAT": (
        lambda arg: 1 + arg[1],
        lambda arg, value, spec="": format(CONVERT[arg[0]](value), spec),
    ),
    "CONVERT": (1, lambda conversion, value: CONVERT[conversion](value)),
    "GET_ITER": (1, lambda _, value: iter(value)),
    "GET_YIELD_FROM_ITER": (1, lambda _, value: iter(value)),
    "MATCH_CLASS": (
        3,
        lambda n, subject, cls, names: (
            tuple(getattr(subject, name) for name in (*cls.__match_args__[:n], *names))
            if isinstance(subject, cls)
            else None
        ),
    ),
}


def start(function: FunctionType, arguments: Sequence[Any]) -> Generator[Any, Any, Any]:
    """Return the machine's run of a call with positional arguments."""
    names = decode(function.__code__).slot_names
    closure = list(function.__closure__ or ())
    unbound = [NULL] * (len(names) - len(arguments) - len(closure))
    return Machine(function, [*arguments, *unbound, *closure]).run()


def outcome(call: Callable[[], Any]) -> tuple[str, Any]:
    """Return a result, or the name of the exception."""
    try:
        return ("returned", call())
    except Exception as error:
        return ("raised", type(error).__name__)


def drive(generator: Generator[Any, Any, Any]) -> Any:
    """Run a generator to its end, sending back what it yields; list all."""
    seen: list[Any] = []
    try:
        got = next(generator)
        while len(seen) < 100:
            seen.append(got)
            got = generator.send(got)
    except StopIteration as stop:
        return (seen, stop.value)
    return seen


def result(run: Generator[Any, Any, Any]) -> Any:
    """Return what a run of a plain function returns."""
    try:
        next(run)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("a plain function yielded")


def compare(function: FunctionType, arguments: Sequence[Any]) -> tuple[str, Any]:
    """Call under CPython and in the machine; both must do the same, which is returned."""
    if function.__code__.co_flags & 0x20:
        want = outcome(lambda: drive(function(*arguments)))
        got = outcome(lambda: drive(start(function, arguments)))
    else:
        want = outcome(lambda: function(*arguments))
        got = outcome(lambda: result(start(function, arguments)))
    assert got == want
    return want


def test_throw_into_yield_from() -> None:
    scope: dict[str, Any] = {}
    exec("def f(g):\n    return 'end', (yield from g)\n", scope)
    function: FunctionType = scope["f"]
    if not any(i.op == "CLEANUP_THROW" for i in decode(function.__code__).instrs):
        pytest.skip("until 3.11 the interpreter does this without instructions")
    run = start(function, [iter([1, 2])])
    assert next(run) == 1
    with pytest.raises(StopIteration) as stop:
        # What the delegating `throw` of a generator leaves behind when the inner one is done.
        run.throw(StopIteration(5))
    assert stop.value.value == ("end", 5)
