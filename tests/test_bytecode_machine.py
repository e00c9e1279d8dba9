"""Meaning: a small machine runs canonical code and must agree with CPython."""

from __future__ import annotations

import builtins
import operator
import random
from collections.abc import Callable, Generator, Mapping, Sequence
from types import CellType, CodeType, FunctionType
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


class Point:
    """For patterns and managers."""

    __match_args__ = ("x",)

    def __init__(self, x: int) -> None:
        self.x = x

    def __enter__(self) -> int:
        return self.x

    def __exit__(self, *_: object) -> bool:
        return self.x > 1

    def __add__(self, other: Any) -> Any:
        return self.x + int(other)


PROGRAMS = {
    "arithmetic": """
return (n + 3) * n - n // 2 + n ** 2 % 7 + (n << 2) - (n & 3 | 8 ^ n), -n, ~n, +n
""",
    "comparisons": """
return n < 2, n <= 2, n == 2, n != 2, n > 2, n >= 2, 0 < n < 3, n is None, n in (1, 2)
""",
    "logic": """
return (n and 5, n or 7, not n, n and 3 or 4, (n or 0) and n)
""",
    "slices": """
a = list(range(9))
a[1:n] = 'xy'
del a[0]
return a[n:], a[:n], a[::2], a[1:n]
""",
    "containers": """
return [n, *range(n)], {n, *range(n)}, {'a': n, **{'b': 1}}, (n, *'ab'), {1: n, n: 2}
""",
    "unpacking": """
a, *b, c = range(n + 2)
(d, e), g = (1, 2), 3
return a, b, c, d, e, g
""",
    "strings": """
return f'{n}{n!r:>4}{n:03}{n!s}|{str(n)!a}{n:{n}}'
""",
    "calls": """
def g(a, b=2, *c, d=4, **e): return a, b, c, d, e
return g(n), g(n, 3), g(1, 2, n, d=5, z=n), g(*[1, 2, 3], **{'q': n}), g(b=n, a=1)
""",
    "methods": """
return 'a-b'.split('-', maxsplit=n), [3, 1].index(1), 'x'.join(map(str, range(n)))
""",
    "closures": """
k = n
def g(x: int = 2):
 nonlocal k
 k += x
 return lambda: k + n
return g()(), k
""",
    "class": """
class A:
 y = n
 def m(self): return self.y
class B(A):
 def m(self): return super().m() + n
return B().m()
""",
    "comprehensions": """
x = 5
a = [x for x in range(n)], {x: [y + n for y in range(x)] for x in range(n)}, x
return a, sum(x for x in range(n)), [(lambda: x + n)() for x in range(n) if x]
""",
    "unbound": """
if n > 1: x = 1
return x
""",
    "unbound after del": """
x = n
del x
return x
""",
    "comprehension leaves unbound": """
[x for x in range(n)]
return x
""",
    "for": """
s = 0
for i in range(n):
 if i == 2: continue
 if i == 4: break
 s += i
else:
 s += 100
return s
""",
    "try": """
try:
 return 1 // n
except ZeroDivisionError as e:
 return str(e)
finally:
 n = 5
""",
    "finally in loop": """
s = []
for i in range(4):
 try:
  if i == n: continue
  if i > n: break
 finally:
  s.append(i)
return s
""",
    "nested handlers": """
s = []
try:
 try:
  [][n]
 except KeyError:
  s.append(1)
 finally:
  s.append(2)
except IndexError:
 s.append(3)
else:
 s.append(4)
return s
""",
    "raise from": """
try:
 raise KeyError(n) from ValueError(1)
except KeyError as e:
 return repr(e.__cause__)
""",
    "reraise": """
try:
 1 // n
except ZeroDivisionError:
 raise
""",
    "assert": """
assert n > 1, n
return n
""",
    "with": """
with Point(n) as a, Point(3) as b:
 if n == 1: return a
 raise ValueError
return a + b
""",
    "with fails": """
with Point(n):
 raise ValueError
return 3
""",
    "match": """
r = []
for s in (n, [1, n], [n, 2, 3], {'k': n, 'j': 1}, Point(n), 'ab', None):
 match s:
  case 1: r.append('one')
  case [1, x]: r.append(x)
  case [y, *z]: r.append((y, z))
  case {'k': 1, **w}: r.append(w)
  case {'k': x}: r.append(x)
  case Point(2): r.append('p2')
  case Point(x=x) if x: r.append(x)
  case 'ab' | 'cd': r.append('s')
  case _: r.append(None)
return r
""",
    "walrus": """
return [y for x in range(n) if (y := x * 2) > 1], (z := n), z
""",
    "conditional": """
return 1 if n > 2 else 2 if n else 3
""",
    "global": """
return len(str(n)), abs(-n)
""",
    "many names": """
a = b = c = n
a, b = b, c
a, b, c = c, a, b
return a, b, c
""",
    "augmented": """
a = [1]
b = a
a += [n]
c = {}
c[n] = 1
c[n] += 2
return a is b, a, c
""",
    "delete": """
a = {1: 2, n: 3}
del a[n]
return a
""",
    "generator": """
x = yield n
y = yield x + 1
for i in range(n):
 yield i
return x + y
""",
    "yield from": """
def g(m):
 t = yield m
 u = yield t + 1
 return u
x = yield from g(n)
y = yield from range(0)
return x, y, (yield from (i for i in 'ab'))
""",
    "generator raises": """
yield n
raise StopIteration
""",
    "generator try": """
try:
 yield n
 1 // n
except ZeroDivisionError:
 yield 'z'
finally:
 yield 'f'
""",
    "while": """
s = []
while n < 9 and (n % 5 or s == []):
 n += 1
 s.append(n)
 if n == 7: break
else:
 s.append('e')
return s
""",
    "while nested": """
s = 0
i = 0
while i < n:
 j = 0
 while j < i or s > 90 and j < 4:
  s += j
  j += 1
  if s == 4: break
 else:
  s += 50
 i += 1
return s
""",
    "while true": """
while True:
 n += 1
 if n > 5: return n
 if n == 3: continue
 n += 1
""",
    "while guarded": """
s = []
try:
 while 6 // (3 - n) > 0:
  n += 1
  s.append(n)
except ZeroDivisionError:
 s.append('z')
return s
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    lines = "".join(f"    {line}\n" for line in PROGRAMS[name].strip().split("\n"))
    scope: dict[str, Any] = {"Point": Point}
    exec(f"def f(n):\n{lines}", scope)
    seen = [compare(scope["f"], [n]) for n in range(5)]
    assert any(kind == "returned" for kind, _ in seen) or "rais" in name or "unbound" in name


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


# Random loops


class Writer:
    """Writes random functions with nested loops that always end."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def atom(self) -> str:
        r = self.random
        name = r.choice("abc")
        return r.choice([name, f"{name} > {r.randrange(4)}", f"{name} % 3 == 1", f"not {name}"])

    def test(self, depth: int = 2) -> str:
        r = self.random
        kind = r.randrange(6 if depth else 1)
        if kind < 2:
            return self.atom()
        if kind == 2:
            return f"{r.choice('abc')} < {r.choice('abc')} < {r.randrange(3, 6)}"
        if kind == 3:
            parts = [self.test(depth - 1) for _ in range(r.randrange(2, 4))]
            return "(" + r.choice([" and ", " or "]).join(parts) + ")"
        if kind == 4:
            return f"not ({self.test(depth - 1)})"
        return f"({self.test(depth - 1)} if {self.atom()} else {self.test(depth - 1)})"

    def block(self, depth: int, loop: bool) -> list[str]:
        r = self.random
        lines: list[str] = []
        for _ in range(r.randrange(1, 4)):
            lines += self.statement(depth, loop)
        return lines

    def statement(self, depth: int, loop: bool) -> list[str]:
        r = self.random
        kind = r.randrange(8)
        if depth == 0 or kind < 2:
            name = r.choice("abc")
            plain = [f"{name} = ({name} + {r.randrange(1, 4)}) % 7", f"trace.append({name})"]
            return [r.choice([*plain, "return trace", "continue", "break"][: 5 if loop else 2])]
        inside = [" " + line for line in self.block(depth - 1, loop)]
        if kind < 4:
            rest = [" " + line for line in self.block(depth - 1, loop)]
            return [f"if {self.test()}:", *inside, *(["else:", *rest] if kind == 3 else [])]
        inside = [" " + line for line in self.block(depth - 1, True)]
        rest = [" " + line for line in self.block(depth - 1, loop)]
        other = ["else:", *rest] if r.randrange(3) == 0 else []
        if kind == 4:
            return [f"for {r.choice('abc')} in range({r.randrange(4)}):", *inside, *other]
        if kind == 5:
            return (
                ["try:", *inside, "except IndexError:", *rest] if loop else self.statement(0, loop)
            )
        # `tick` raises after some calls, so that every loop ends.
        return [f"while {self.test()}:", " tick()", *inside, *other]

    def function(self) -> str:
        lines = ["trace = []", *self.block(4, False), *self.block(4, False), "return trace"]
        return "def f(a, b, c, tick):\n" + "".join(f"    {line}\n" for line in lines)


def ticker(limit: int) -> Callable[[], None]:
    """Return a function that fails after some calls."""
    left = [limit]

    def tick() -> None:
        left[0] -= 1
        if left[0] < 0:
            raise TimeoutError

    return tick


def traced(function: FunctionType, run: Callable[..., Any], start_at: tuple[int, ...]) -> Any:
    """Run and return the outcome; the trace of a run that is cut off counts too."""
    return outcome(lambda: run(function, [*start_at, ticker(60)]))


@pytest.mark.parametrize("chunk", range(5))
def test_random_loops(chunk: int) -> None:
    loops = 0
    for seed in range(chunk * 40, chunk * 40 + 40):
        source = Writer(seed).function()
        scope: dict[str, Any] = {}
        exec(source, scope)
        function: FunctionType = scope["f"]
        loops += source.count("while")
        for values in ((0, 0, 0), (1, 2, 3), (4, 1, 2)):
            want = traced(function, lambda f, a: f(*a), values)
            got = traced(function, lambda f, a: result(start(f, a)), values)
            assert got == want, source
    assert loops > 40


def headers(code: CodeType) -> int:
    """Count the labels that are jumped back to."""
    instrs = decode(code).instrs
    return len({i.arg for k, i in enumerate(instrs) if i.op == "JUMP" and i.arg < k})


def test_random_tests_are_turned_back() -> None:
    for seed in range(200):
        test = Writer(seed).test(3)
        scope: dict[str, Any] = {}
        exec(f"def f(a, b, c):\n    a()\n    while {test}:\n        a()\n    return b\n", scope)
        code: CodeType = scope["f"].__code__
        instrs = decode(code).instrs
        conditional = [k for k, i in enumerate(instrs) if i.op.startswith("POP_JUMP")]
        assert all(instrs[k].arg > k for k in conditional), test
        assert headers(code) == 1, test
