"""Random plain Python functions for the VM on concrete values.

Expressions are mostly well typed, so that programs go deep, with a dose of wrong types, missing
keys, zero divisors and unbound names: exceptions and their messages are part of the result. A
budget (`tick`) ends loops and recursion; sizes are cut down wherever they could grow.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from tests.differential_draw import Source, Writer

PRELUDE = """\
import functools

LEFT = [0]
STATE = {"count": 0, "names": ["p", "q"]}
total = 3


class Exhausted(Exception):
    pass


class Custom(ValueError):
    def __init__(self, value, note="none"):
        super().__init__(f"custom {value}")
        self.value = value
        self.note = note


def tick():
    LEFT[0] -= 1
    if LEFT[0] < 0:
        raise Exhausted("budget")


class Vec:
    __match_args__ = ("x", "y")

    def __init__(self, x, y=1):
        self.x = x
        self.y = y

    def __add__(self, other):
        if isinstance(other, Vec):
            return Vec(self.x + other.x, self.y + other.y)
        if isinstance(other, int):
            return Vec(self.x + other, self.y)
        return NotImplemented

    def __radd__(self, other):
        return Vec(other - self.x, self.y)

    def __iadd__(self, other):
        self.x += other
        return self

    def __mul__(self, k):
        return Vec(self.x * k % 1009, self.y * k % 1009)

    def __neg__(self):
        return Vec(-self.x, -self.y)

    def __eq__(self, other):
        return isinstance(other, Vec) and (self.x, self.y) == (other.x, other.y)

    def __lt__(self, other):
        return self.x < other.x

    def __le__(self, other):
        return not other < self

    def __bool__(self):
        return self.x != 0

    def __len__(self):
        return 2

    def __getitem__(self, k):
        return (self.x, self.y)[k]

    def __setitem__(self, k, value):
        if k == 0:
            self.x = value
        elif k == 1:
            self.y = value
        else:
            raise IndexError(k)

    def __delitem__(self, k):
        self[k] = 0

    def __contains__(self, value):
        return value == self.x or value == self.y

    def __iter__(self):
        yield self.x
        yield self.y

    def __call__(self, k=2, *rest, scale=1):
        return self.x * k + self.y * scale + len(rest)

    def __abs__(self):
        return abs(self.x) + abs(self.y)

    def __repr__(self):
        return f"Vec({self.x!r}, {self.y})"

    @property
    def size(self):
        return self.x + self.y

    @size.setter
    def size(self, value):
        self.x = value - self.y

    @classmethod
    def make(cls, k):
        return cls(k, k + 1)

    @staticmethod
    def double(k):
        return k * 2


class Sub(Vec):
    kind = "sub"

    def __init__(self, x, *ys):
        super().__init__(x, *ys)
        self.extra = len(ys)

    def __add__(self, other):
        result = super().__add__(other)
        return result if result is NotImplemented else Sub(result.x, result.y)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return name + "!"


class Guard:
    def __init__(self, log, swallow=False):
        self.log = log
        self.swallow = swallow

    def __enter__(self):
        self.log.append(1)
        return self

    def __exit__(self, kind, value, tb):
        self.log.append(2 if kind is None else 3)
        return self.swallow and kind is not Exhausted


class Count:
    __slots__ = ("k", "stop")

    def __init__(self, stop):
        self.k, self.stop = 0, stop

    def __iter__(self):
        return self

    def __next__(self):
        tick()
        if self.k >= self.stop:
            raise StopIteration
        self.k += 1
        return self.k


def gen(n, log=None):
    try:
        for k in range(n):
            got = yield k * 2
            if got is not None:
                yield got + 100
    finally:
        if log is not None:
            log.append(n)
    return n


def chain(*parts):
    for part in parts:
        result = yield from part
        if result:
            yield result


def spread(a, b=2, *rest, c=3, **named):
    return (a, b, rest, c, sorted(named.items()))


def exact(a, /, b=1, *, c, d=4):
    return a + b * 2 + c * 3 + d


def twice(function):
    @functools.wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs), function(*args, **kwargs)

    return inner


def counter(start):
    def step(by=1):
        nonlocal start
        start += by
        return start

    return step


def fact(n):
    tick()
    return 1 if n <= 1 else n * fact(n - 1) % 1009
"""

DRIVER = """\


def kernel():
    for args in {inputs}:
        LEFT[0] = 150
        try:
            box.append(("value", main(*args)))
        except Exception as exc:
            box.append((type(exc).__name__, str(exc), type(exc.__cause__).__name__))
    box.append((STATE, total))
"""

KINDS = "ifsbLTDV"


@dataclass(frozen=True, slots=True)
class VMProgram:
    """Source with a `kernel()` that leaves its results in the list `box`."""

    source: Source

    def __str__(self) -> str:
        return str(self.source)


@dataclass(slots=True)
class Scope:
    """Names a place may use. Kinds: int, float, str, bool, List, Tuple, Dict, Vec."""

    vars: dict[str, str] = field(default_factory=dict)
    #: Bound on some paths only.
    loose: dict[str, str] = field(default_factory=dict)
    fixed: set[str] = field(default_factory=set)
    #: Callables: name -> (kinds of parameters, kind of result).
    functions: dict[str, tuple[str, str]] = field(default_factory=dict)
    loop: bool = False
    ret: str = "i"
    depth: int = 0
    handling: bool = False
    generator: bool = False

    def inner(self) -> Scope:
        other = copy.copy(self)
        other.vars, other.loose = dict(self.vars), self.loose
        other.functions = dict(self.functions)
        other.depth += 1
        return other

    def names(self, kind: str) -> list[str]:
        return [n for n, k in self.vars.items() if k == kind]


class VMWriter(Writer):
    """Writes one program."""

    def program(self) -> VMProgram:
        self.size = 4 + self.below(30)
        functions: dict[str, tuple[str, str]] = {}
        for _ in range(self.below(4)):
            self.helper(functions)
        scope = Scope(functions=dict(functions), ret=self.kind())
        scope.vars = {"a": "i", "b": "i", "s": "s", "row": "L", "f": "f"}
        self.lines += ["", ""]
        with self.block("def main(a, b, s, row, f):"):
            if self.chance(4):
                self.line("global total")
                scope.vars["total"] = "i"
            self.statements(scope)
            names = [n for n in scope.vars if n.isidentifier()]
            self.line(f"return {self.expr(scope.ret, scope)}, {', '.join(names)}")
        inputs = [self.arguments() for _ in range(1 + self.below(3))]
        driver = DRIVER.format(inputs=f"[{', '.join(inputs)}]")
        return VMProgram(Source(PRELUDE, self.text() + driver))

    def arguments(self) -> str:
        row = [self.below(9) - 2 for _ in range(self.below(4))]
        s = self.one_of(("", "a", "xyz", "ab c", "Na\\n"))
        return f"({self.below(9) - 3}, {self.below(6) - 2}, {s!r}, {row}, {self.one_of(_FLOATS)})"

    def kind(self) -> str:
        return self.one_of("iiifsbLTDV")

    def helper(self, functions: dict[str, tuple[str, str]]) -> None:
        name = self.name("h")
        self.lines += ["", ""]
        if self.chance(5):
            self.line("@twice")
            result = "T"
        else:
            result = self.kind()
        kinds = "".join(self.kind() for _ in range(self.below(4)))
        self.function(name, kinds, result, Scope(functions=dict(functions)))
        functions[name] = (kinds, result)

    def function(self, name: str, kinds: str, result: str, scope: Scope, first: str = "") -> None:
        params = [self.name("p") for _ in kinds]
        shown = list(params)
        for k in range(len(shown) - 1, -1, -1):
            if not self.chance(3):
                break
            shown[k] += f"={self.leaf(kinds[k], Scope())}"
        scope.ret, scope.loop, scope.handling = result, False, False
        scope.loose = {}
        size = self.size
        self.size = min(size, 1 + self.below(8))
        given = self.size
        with self.block(f"def {name}({', '.join(shown)}):"):
            if first:
                self.line(first)
            self.line("tick()")
            scope.vars |= dict(zip(params, kinds, strict=True))
            self.statements(scope)
            self.line(f"return {self.expr(result, scope)}")
        self.size = size - (given - self.size)

    # -- statements -----------------------------------------------------------------------------

    def statements(self, scope: Scope) -> None:
        limit = 8 if scope.depth == 0 else 4
        for _ in range(limit):
            if self.size <= 0 or self.below(limit) == 0:
                break
            self.size -= 1
            table = _SIMPLE if scope.depth >= 4 else _STATEMENTS
            if self.one_of(table)(self, scope) is False:
                break

    def body(self, head: str, scope: Scope, first: str = "", **changes: Any) -> None:
        """A nested block; names that it binds are loose behind it."""
        inner = scope.inner()
        for name, value in changes.items():
            setattr(inner, name, value)
        with self.block(head):
            if first:
                self.line(first)
            self.statements(inner)
        for name, kind in inner.vars.items():
            if name not in scope.vars:
                scope.loose[name] = kind

    def target(self, kind: str, scope: Scope) -> str:
        names = [n for n in scope.names(kind) if n not in scope.fixed]
        if names and self.chance(2):
            return self.one_of(names)
        name = self.name()
        return name

    def assign(self, scope: Scope) -> None:
        kind = self.kind()
        value = self.expr(kind, scope)
        name = self.target(kind, scope)
        self.line(f"{name} = {value}")
        scope.vars[name] = kind

    def augmented(self, scope: Scope) -> None:
        choice = self.below(7)
        if choice == 0 and scope.names("L"):
            name = self.one_of(scope.names("L"))
            self.line(f"{name} += {self.expr('L', scope)}")
            self.line(f"del {name}[6:]")
        elif choice == 1 and scope.names("L"):
            op = self.one_of(("+", "-", "//", "%", "|"))
            name = self.one_of(scope.names("L"))
            self.line(f"{name}[{self.index(scope)}] {op}= {self.int(scope)}")
        elif choice == 2 and scope.names("D"):
            self.line(f"{self.one_of(scope.names('D'))}[{self.key(scope)}] += {self.int(scope)}")
        elif choice == 3 and scope.names("V"):
            part = self.one_of((".x", ".y", ".size", "[0]", "[1]", ""))
            name = self.one_of(scope.names("V"))
            if part or name not in scope.fixed:
                self.line(f"{name}{part} += {self.int(scope)}")
        elif choice == 4 and scope.names("s"):
            name = self.one_of(scope.names("s"))
            self.line(f"{name} += {self.expr('s', scope)}")
            self.line(f"{name} = {name}[-8:]")
        else:
            names = [n for n in scope.names("i") if n not in scope.fixed]
            if not names:
                return self.assign(scope)
            name = self.one_of(names)
            op = self.one_of(("+", "-", "//", "%", "&", "|", "^", ">>", "*"))
            self.line(f"{name} {op}= {self.int(scope)}")
            if op == "*":
                self.line(f"{name} %= 1009")
        return None

    def store(self, scope: Scope) -> None:
        choice = self.below(6)
        if choice == 0 and scope.names("L"):
            name, value = self.one_of(scope.names("L")), self.int(scope)
            self.line(f"{name}[{self.index(scope)}] = {value}")
        elif choice == 1 and scope.names("L"):
            name = self.one_of(scope.names("L"))
            self.line(f"{name}[{self.below(3)}:{self.below(4)}] = {self.expr('L', scope)}[:2]")
        elif choice == 2 and scope.names("D"):
            name = self.one_of(scope.names("D"))
            self.line(f"{name}[{self.key(scope)}] = {self.int(scope)}")
        elif choice == 3 and scope.names("V"):
            part = self.one_of((".x", ".y", ".size", "[0]", "[2]", ".new"))
            self.line(f"{self.one_of(scope.names('V'))}{part} = {self.int(scope)}")
        elif choice == 4 and scope.names("L"):
            method = self.one_of(
                ("append({})", "insert(0, {})", "extend([{}])", "remove({})", "pop()", "reverse()",
                 "sort()", "sort(key=lambda k: -k)", "clear()", "pop({})")
            )  # fmt: skip
            name = self.one_of(scope.names("L"))
            self.line(f"{name}.{method.format(self.int(scope))}")
            self.line(f"del {name}[6:]")
        else:
            self.line(f"STATE['count'] += {self.int(scope)} % 7")

    def unpack(self, scope: Scope) -> None:
        choice = self.below(6)
        a, b = self.target("i", scope), self.target("i", scope)
        if choice == 0:
            text = f"{a}, {b} = {self.int(scope)}, {self.int(scope)}"
        elif choice == 1:
            text = f"{a}, {b} = {self.expr(self.one_of('TLV'), scope)}"
        elif choice == 2:
            rest = self.name()
            text = f"{a}, *{rest} = {self.expr('L', scope)}"
            self.line(text)
            scope.vars |= {a: "i", rest: "L"}
            return
        elif choice == 3:
            rest = self.name()
            self.line(f"*{rest}, {a} = {self.expr(self.one_of('TL'), scope)}")
            scope.vars |= {a: "i", rest: "L"}
            return
        elif choice == 4:
            text = f"{a} = {b} = {self.int(scope)}"
        else:
            text = f"({a}, {b}), {self.name()} = {self.expr('T', scope)}, {self.int(scope)}"
        self.line(text)
        scope.vars |= {a: "i", b: "i"}

    def delete(self, scope: Scope) -> None:
        choice = self.below(5)
        if choice == 0 and scope.names("L"):
            self.line(f"del {self.one_of(scope.names('L'))}[{self.index(scope)}]")
        elif choice == 1 and scope.names("D"):
            self.line(f"del {self.one_of(scope.names('D'))}[{self.key(scope)}]")
        elif choice == 2 and scope.names("V"):
            self.line(f"del {self.one_of(scope.names('V'))}{self.one_of(('[0]', '.y', '.no'))}")
        else:
            name = self.name()
            self.line(f"{name} = {self.int(scope)}")
            self.line(f"del {name}")
            scope.loose[name] = "i"

    def if_(self, scope: Scope) -> None:
        if self.chance(5):
            name = self.name("w")
            self.body(f"if ({name} := {self.int(scope)}) > {self.below(4)}:", scope)
            scope.vars[name] = "i"
        else:
            self.body(f"if {self.cond(scope)}:", scope)
        while self.chance(4):
            self.body(f"elif {self.cond(scope)}:", scope)
        if self.chance(2):
            self.body("else:", scope)

    def else_(self, scope: Scope) -> None:
        if self.chance(3):
            self.body("else:", scope)

    def while_(self, scope: Scope) -> None:
        k = self.name("k")
        self.line(f"{k} = {self.below(5)}")
        scope.vars[k] = "i"
        scope.fixed = scope.fixed | {k}
        head = self.one_of(
            (f"while {k} > 0:", f"while {k} and {self.cond(scope)}:",
             f"while ({k} := {k} - 1) >= 0:", "while True:")
        )  # fmt: skip
        first = f"tick(); {k} -= 1" if ":=" not in head else "tick()"
        if head == "while True:":
            first += f"\n{'    ' * (self.indent + 1)}if {k} < 0: break"
        self.body(head, scope, first, loop=True)
        self.else_(scope)

    def for_(self, scope: Scope) -> None:
        name = self.name("e")
        choice = self.below(10)
        vars: dict[str, str] = {name: "i"}
        head = name
        if choice == 0:
            source = f"range({self.one_of(('3', '-1, 4', '5, 0, -2', self.int(scope) + ' % 5'))})"
        elif choice == 1:
            source = self.expr("L", scope)
        elif choice == 2:
            source, vars[name] = self.expr("s", scope), "s"
        elif choice == 3:
            other, start = self.name("e"), self.below(3)
            head, source = f"{name}, {other}", f"enumerate({self.expr('L', scope)}, {start})"
            vars[other] = "i"
        elif choice == 4:
            other, text = self.name("e"), self.expr("s", scope)
            head, source = f"{name}, {other}", f"zip({self.expr('T', scope)}, {text})"
            vars[other] = "s"
        elif choice == 5:
            log = self.one_of(("None", "row" if "row" in scope.vars else "[]"))
            source = f"gen({self.int(scope)} % 4, {log})"
        elif choice == 6:
            source = f"{self.one_of(('reversed', 'sorted'))}({self.expr('L', scope)})"
        elif choice == 7:
            other = self.name("e")
            head, source = f"{other}, {name}", f"{self.expr('D', scope)}.items()"
            vars[other] = "s"
        elif choice == 8:
            source = self.one_of((f"Count({self.int(scope)} % 4)", self.expr("V", scope)))
        else:
            source = f"chain(gen(2), [{self.int(scope)}], gen({self.int(scope)} % 3))"
        inner = scope.inner()
        inner.vars |= vars
        self.body(f"for {head} in {source}:", inner, "tick()", loop=True)
        scope.loose |= vars
        self.else_(scope)

    def leave(self, scope: Scope) -> bool | None:
        """`break`, `continue`, `return`, `raise`, perhaps under a condition."""
        choice = self.below(5)
        if choice < 2 and scope.loop:
            text = ("break", "continue")[choice]
        elif choice < 4:
            text = f"return {self.expr(scope.ret, scope)}"
        elif scope.handling and self.chance(2):
            text = "raise"
        else:
            text = self.raised(scope)
        if self.chance(3):
            self.line(text)
            return False
        self.line(f"if {self.cond(scope)}: {text}")
        return None

    def raised(self, scope: Scope) -> str:
        cause = self.one_of(("", "", " from None", " from KeyError('k')"))
        if scope.handling and self.chance(2):
            cause = " from exc"
        kind = self.one_of(
            ("ValueError('v')", "KeyError", f"Custom({self.int(scope)})",
             f"IndexError({self.int(scope)}, 2)", f"Custom({self.int(scope)}, note='n')", "3")
        )  # fmt: skip
        return f"raise {kind}{cause}"

    def try_(self, scope: Scope) -> None:
        self.body("try:", scope)
        handlers = self.below(3)
        for _ in range(handlers):
            kind = self.one_of(
                ("Exception", "ValueError", "(KeyError, IndexError)", "ZeroDivisionError", "Custom",
                 "ArithmeticError", "LookupError", "TypeError")
            )  # fmt: skip
            first = self.one_of(("", f"{self.log(scope)}.append(len(exc.args))", "s_ = str(exc)"))
            self.body(f"except {kind} as exc:", scope, first, handling=True)
        if handlers:
            self.else_(scope)
        if not handlers or self.chance(3):
            inner = scope.inner()
            inner.loop = False
            self.line("finally:")
            self.indent += 1
            start = len(self.lines)
            if self.chance(2):
                self.line(f"{self.log(scope)}.append({self.below(9)})")
            for _ in range(self.below(3)):
                self.one_of(_SIMPLE)(self, inner)
            if self.chance(6):
                self.line(f"return {self.expr(scope.ret, inner)}")
            if len(self.lines) == start:
                self.line("pass")
            self.indent -= 1

    def log(self, scope: Scope) -> str:
        names = scope.names("L")
        return self.one_of(names) if names else "STATE['names']"

    def with_(self, scope: Scope) -> None:
        swallow = self.one_of(("False", "True"))
        name = self.name("g")
        head = f"with Guard({self.log(scope)}, {swallow}) as {name}"
        if self.chance(3):
            head += f", Guard({self.log(scope)})"
        self.body(f"{head}:", scope)

    def match(self, scope: Scope) -> None:
        kind = self.one_of("iLTDVs")
        self.line(f"match {self.expr(kind, scope)}:")
        self.indent += 1
        v, w = self.name(), self.name()
        patterns: dict[str, dict[str, str]] = {
            "0": {}, "1 | 2 | -1": {}, "'a' | 'xyz'": {}, f"int({v})": {v: "i"},
            "[]": {}, f"[{v}]": {v: "i"}, f"[{v}, *{w}]": {v: "i", w: "L"},
            f"({v}, {w})": {v: "i", w: "i"}, f"[*_, 1 as {v}]": {v: "i"},
            f"{{'a': {v}}}": {v: "i"}, f"{{'b': {v}, **{w}}}": {v: "i", w: "D"},
            f"Vec({v}, {w})": {v: "i", w: "i"}, f"Sub(x=0, extra={v})": {v: "i"},
            f"Vec(y=1) as {v}": {v: "V"}, f"str() as {v}": {v: "s"}, "None | True": {},
        }  # fmt: skip
        for _ in range(1 + self.below(3)):
            pattern = self.one_of(list(patterns))
            inner = scope.inner()
            inner.vars |= patterns[pattern]
            guard = f" if {self.cond(inner)}" if self.chance(3) else ""
            self.body(f"case {pattern}{guard}:", inner)
        if self.chance(2):
            self.body("case _:", scope)
        self.indent -= 1

    def closure(self, scope: Scope) -> None:
        name = self.name("g")
        kinds = "".join(self.kind() for _ in range(self.below(3)))
        result = self.kind()
        names = [n for n in scope.vars if n not in scope.fixed and n != "total"]
        shared = [n for n in names if self.chance(4)][:2]
        inner = scope.inner()
        inner.depth = max(scope.depth, 2)
        # Other names are read only if the function does not bind them.
        inner.fixed = scope.fixed | {n for n in names if n not in shared}
        inner.vars.pop("total", None)
        first = f"nonlocal {', '.join(shared)}" if shared else ""
        self.function(name, kinds, result, inner, first)
        scope.functions[name] = (kinds, result)

    def local_class(self, scope: Scope) -> None:
        name = self.name("C")
        with self.block(f"class {name}({self.one_of(('Vec', 'Sub'))}):"):
            self.line(f"base = {self.int(scope)}")
            self.line("both = [base, base]")
            with self.block("def __lt__(self, other):"):
                self.line("return self.x > other.x + self.base")
            with self.block("def __add__(self, other):"):
                self.line("return super().__add__(other)")
        target = self.target("V", scope)
        self.line(f"{target} = {name}({self.int(scope)})")
        scope.vars[target] = "V"

    def generator(self, scope: Scope) -> None:
        """A local generator driven by hand."""
        g, name = self.name("g"), self.name()
        n = self.below(4)
        with self.block(f"def {g}(n):"):
            with self.block("for k in range(n):"):
                text = self.one_of(
                    ("got = yield k", "yield k", f"yield {self.int(scope)}", "yield from gen(k)")
                )
                self.line(text)
                if text.startswith("got") and self.chance(2):
                    self.line("if got: return got")
            self.line(f"return {self.below(5)}")
        form = self.below(4)
        if form == 0:
            self.line(f"{name} = list({g}({n}))")
        elif form == 1:
            it = self.name()
            self.line(f"{it} = {g}({n})")
            self.line(f"{name} = [next({it}, 7), next({it}, 8)]")
        elif form == 2:
            it = self.name()
            self.line(f"{it} = {g}({n})")
            self.line(f"{name} = [next({it}), {it}.send({self.int(scope)})]")
            if self.chance(2):
                self.line(f"{it}.close()")
        else:
            self.line(f"{name} = [*{g}({n}), *chain({g}({n}))]")
        scope.vars[name] = "L"

    def assert_(self, scope: Scope) -> None:
        self.line(f"assert {self.cond(scope)}, {self.expr('s', scope)}")

    def expression(self, scope: Scope) -> None:
        self.line(self.expr(self.kind(), scope))

    # -- expressions ------------------------------------------------------------------------------

    def index(self, scope: Scope) -> str:
        return self.one_of(("0", "-1", "1", self.int(scope, 1)))

    def key(self, scope: Scope) -> str:
        return self.one_of(("'a'", "'b'", self.expr("s", scope, 0)))

    def int(self, scope: Scope, depth: int = 2) -> str:
        return self.expr("i", scope, depth)

    def expr(self, kind: str, scope: Scope, depth: int = 2) -> str:
        if depth <= 0 or self.chance(3):
            return self.leaf(kind, scope)
        if self.chance(60):
            # In parentheses: an attribute behind a number is no Python.
            return f"({self.expr(self.one_of(KINDS), scope, depth - 1)})"
        if self.chance(8):
            usable = [n for n, (_, result) in scope.functions.items() if result == kind]
            if usable:
                return self.call(self.one_of(usable), scope, depth - 1)
        if self.chance(12):
            a, b = self.expr(kind, scope, depth - 1), self.expr(kind, scope, depth - 1)
            form = self.below(3)
            if form == 0:
                return f"({a} if {self.cond(scope, depth - 1)} else {b})"
            return f"({a} {self.one_of(('and', 'or'))} {b})"
        return self.one_of(_FORMS[kind])(self, scope, depth - 1)

    def call(self, name: str, scope: Scope, depth: int) -> str:
        kinds, _ = scope.functions[name]
        args = [self.expr(k, scope, depth) for k in kinds]
        if self.chance(20):
            args.append(self.one_of(("1", "*row" if "row" in scope.vars else "*()", "k=1")))
        return f"{name}({', '.join(args)})"

    def leaf(self, kind: str, scope: Scope) -> str:
        if self.chance(40) and scope.loose:
            return self.one_of(list(scope.loose))
        names = scope.names(kind)
        return self.one_of((*names, *names, *_LEAVES[kind]))

    def i_binary(self, scope: Scope, depth: int) -> str:
        a, b = self.int(scope, depth), self.int(scope, depth)
        op = self.one_of(("+", "-", "*", "//", "%", "&", "|", "^", ">>", "<<", "**"))
        if op == "*":
            return f"({a} * {b} % 1009)"
        if op == "<<":
            return f"(({a} << ({b} & 7)) % 1009)"
        if op == "**":
            return f"(({a} % 20) ** ({b} % 5))"
        return f"({a} {op} {b})"

    def i_unary(self, scope: Scope, depth: int) -> str:
        a = self.int(scope, depth)
        return self.one_of((f"-{a}", f"~{a}", f"abs({a})", f"int({a})", f"(+{a})", f"hash({a})"))

    def i_of(self, scope: Scope, depth: int) -> str:
        kind = self.one_of("LTDsVbf")
        text = self.expr(kind, scope, depth)
        if kind in "LTV" and self.chance(2):
            return f"{text}[{self.index(scope)}]"
        if kind == "D":
            key = self.key(scope)
            return self.one_of((f"{text}['a']", f"{text}.get({key}, 0)", f"len({text})"))
        if kind == "V":
            return self.one_of(
                (f"{text}.x", f"{text}.size", f"abs({text})", f"{text}()", f"len({text})",
                 f"{text}(3, scale={self.below(3)})", f"sum({text})", "Vec.double(3)",
                 f"{text}.double({self.below(4)})")
            )  # fmt: skip
        if kind == "f":
            return self.one_of((f"int({text})", f"round({text})"))
        if kind == "b":
            return self.one_of((f"int({text})", f"({text} + 0)"))
        if kind == "s":
            return self.one_of(
                (f"len({text})", f"ord({text}[0])", f"int({text})", f"{text}.find('a')")
            )
        return self.one_of(
            (f"len({text})", f"sum({text})", f"max({text})", f"min({text}, default=0)",
             f"{text}.index({self.below(4)})", f"max({text}, key=lambda k: -k, default=5)")
        )  # fmt: skip

    def i_other(self, scope: Scope, depth: int) -> str:
        a = self.int(scope, depth)
        name = self.name("w")
        form = self.below(9)
        if form == 0:
            return f"fact({a} % 6)"
        if form == 8:
            options = ("c=1", "b=2", "5", "d=3", "a=1", "*(1, 2)", "**{'c': 2}", "e=1")
            given = list(dict.fromkeys(self.one_of(options) for _ in range(self.below(4))))
            if "c=1" in given:
                # CPython 3.11 calls it a KeyError while another exception is handled.
                given = [text for text in given if text != "**{'c': 2}"]
            given.sort(key=lambda text: ("=" in text or "**" in text, "**" in text))
            return f"exact({', '.join([a, *given])})"
        if form == 1:
            return f"(lambda k, m=2: k * m)({a})"
        if form == 2:
            return f"sum(k * k for k in {self.expr('L', scope, depth)} if k > {self.below(3)})"
        if form == 3:
            return f"next(iter({self.expr('L', scope, depth)}), {a})"
        if form == 4:
            return f"divmod({a}, {self.int(scope, depth)})[{self.below(2)}]"
        if form == 5:
            row = self.expr("L", scope, depth)
            return f"functools.reduce(lambda k, m: (k * 3 + m) % 1009, {row}, {a})"
        if form == 6:
            return f"counter({a})({self.int(scope, depth)})"
        scope.loose[name] = "i"
        return f"({name} := {a})"

    def f_binary(self, scope: Scope, depth: int) -> str:
        a, b = self.expr("f", scope, depth), self.expr(self.one_of("fi"), scope, depth)
        op = self.one_of(("+", "-", "*", "/", "//", "%"))
        return f"({a} {op} {b})"

    def f_of(self, scope: Scope, depth: int) -> str:
        a = self.int(scope, depth)
        return self.one_of((f"float({a})", f"({a} / 4)", f"round({a} / 3, 2)", f"abs({a} * 0.5)"))

    def s_of(self, scope: Scope, depth: int) -> str:
        kind = self.one_of("ifbLTDV")
        text = self.expr(kind, scope, depth)
        form = self.below(5)
        if form == 0:
            return f"str({text})"
        if form == 1:
            return f"f'<{{{self.fielded(text)}}}>'"
        if form == 2:
            return f"repr({text})"
        if form == 3:
            return f"f'{{{self.fielded(self.int(scope, depth))}:>{self.below(5)}}}|'"
        return f"f'{{{self.fielded(self.int(scope, depth))}!r}}'"

    def fielded(self, text: str) -> str:
        """An expression that an f-string of any version can hold."""
        simple = "'" not in text and '"' not in text and "\\" not in text and "{" not in text
        return f"({text})" if simple and "lambda" not in text and ":=" not in text else "total"

    def s_join(self, scope: Scope, depth: int) -> str:
        a, b = self.expr("s", scope, depth), self.expr("s", scope, depth)
        row = self.expr("L", scope, depth)
        form = self.below(8)
        return (
            f"({a} + {b})[-8:]", f"{a}.upper()", f"({a} * ({self.int(scope, depth)} % 3))",
            f"{a}.replace('a', {b})[-8:]", f"','.join(str(k) for k in {row})",
            f"{a}[{self.below(3)}:{self.one_of(('', '2', '-1'))}]", f"{a}[::-1]", f"{a}.strip()",
        )[form]  # fmt: skip

    def b_of(self, scope: Scope, depth: int) -> str:
        return self.cond(scope, depth)

    def l_literal(self, scope: Scope, depth: int) -> str:
        items = [self.int(scope, depth) for _ in range(self.below(4))]
        if self.chance(4):
            items.append(f"*{self.expr(self.one_of('LTV'), scope, depth)}")
        return f"[{', '.join(items)}]"

    def l_comprehension(self, scope: Scope, depth: int) -> str:
        k = self.name("k")
        inner = scope.inner()
        inner.vars[k] = "i"
        source = self.one_of(
            (f"range({self.below(4)})", self.expr("L", scope, depth), self.expr("T", scope, depth))
        )
        value = self.int(inner, depth)
        if ":=" in source + value:
            source, value = "range(2)", k
        form = self.below(4)
        if form == 0:
            return f"[{value} for {k} in {source}]"
        if form == 1:
            return f"[{value} for {k} in {source} if {k} != {self.below(3)}]"
        if form == 2:
            other = self.name("k")
            return f"[{k} * {other} for {k} in {source} for {other} in range({k} % 3)][:5]"
        return f"sorted({{{value} for {k} in {source}}})"

    def l_of(self, scope: Scope, depth: int) -> str:
        a = self.expr("L", scope, depth)
        form = self.below(9)
        return (
            f"({a} + {self.expr('L', scope, depth)})[:6]", f"sorted({a})", f"{a}[::-1]", f"{a}[1:]",
            f"list(map(lambda k: k + 1, {a}))", f"list(filter(None, {a}))", f"list({a})",
            f"list(gen({self.int(scope, depth)} % 4))",
            f"[k for k, m in zip({a}, {self.expr('T', scope, depth)})]",
        )[form]  # fmt: skip

    def t_of(self, scope: Scope, depth: int) -> str:
        items = [self.int(scope, depth) for _ in range(1 + self.below(3))]
        more = self.one_of(("c=1", "d=2", "*(1, 2)", "**{}", "a=3"))
        form = self.below(5)
        return (
            f"({', '.join(items)},)", f"tuple({self.expr('L', scope, depth)})",
            f"({self.expr('T', scope, depth)} + ({items[0]},))[:5]",
            f"spread({', '.join(items)}, {more})[:2]",
            f"divmod({items[0]}, {self.int(scope, depth)})",
        )[form]  # fmt: skip

    def d_of(self, scope: Scope, depth: int) -> str:
        form = self.below(4)
        a = self.int(scope, depth)
        if form == 0:
            return f"{{'a': {a}, 'b': {self.int(scope, depth)}}}"
        if form == 1:
            return f"{{'a': {a}, **{self.expr('D', scope, depth)}}}"
        if form == 2:
            return f"{{str(k): k for k in {self.expr('L', scope, depth)}}}"
        return f"dict(b={a}, c=2)"

    def v_of(self, scope: Scope, depth: int) -> str:
        a = self.int(scope, depth)
        v = self.expr("V", scope, depth)
        form = self.below(9)
        return (
            f"Vec({a})", f"Vec({a}, y={self.int(scope, depth)})", f"({v} + {a})", f"({a} + {v})",
            f"-{v}", f"({v} + {self.expr('V', scope, depth)})", f"Sub({a}, 2)", f"Vec.make({a})",
            f"({v} * {a})",
        )[form]  # fmt: skip

    def cond(self, scope: Scope, depth: int = 2) -> str:
        if depth <= 0 or self.chance(4):
            return self.leaf("b", scope)
        depth -= 1
        form = self.below(8)
        a, b = self.int(scope, depth), self.int(scope, depth)
        op = self.one_of(("<", ">", "<=", ">=", "==", "!="))
        if form <= 1:
            return f"({a} {op} {b})"
        if form == 2:
            return f"({a} {op} {b} < {self.int(scope, depth)})"
        if form == 3:
            return f"(not {self.expr(self.one_of('ibsLDV'), scope, depth)})"
        if form == 4:
            c = self.cond(scope, depth)
            return f"({c} {self.one_of(('and', 'or'))} {self.cond(scope, depth)})"
        if form == 5:
            kind = self.one_of("LTVD")
            needle = "'a'" if kind == "D" else a
            return f"({needle} {self.one_of(('in', 'not in'))} {self.expr(kind, scope, depth)})"
        if form == 6:
            kind = self.one_of("LTsVDf")
            x, y = self.expr(kind, scope, depth), self.expr(kind, scope, depth)
            return f"({x} {self.one_of(('==', '!=', '<', 'is not'))} {y})"
        return self.one_of(
            (f"any(k > 1 for k in {self.expr('L', scope, depth)})", f"isinstance({a}, int)",
             f"all({self.expr('T', scope, depth)})", f"bool({self.expr('V', scope, depth)})",
             f"hasattr({self.expr('V', scope, depth)}, 'y')", f"callable({a})")
        )  # fmt: skip


_FLOATS = ("0.0", "1.5", "-2.25", "0.1", "3.0")
_LEAVES = {
    "i": ("0", "1", "2", "3", "5", "7", "(-1)", "(-2)"),
    "f": ("0.5", "1.0", "(-2.5)", "0.0", "1e3"),
    "s": ("''", "'a'", "'b'", "'xyz'", "'7'"),
    "b": ("True", "False"),
    "L": ("[]", "[1]", "[3, 1, 2]", "[0, 0]"),
    "T": ("()", "(1,)", "(1, 2)", "(3, 1, 2)"),
    "D": ("{}", "{'a': 1}", "{'b': 2, 'a': 0}"),
    "V": ("Vec(1)", "Vec(0, 2)", "Sub(2, 3)"),
}
_V = VMWriter
_Form = Callable[[VMWriter, Scope, int], str]
_FORMS: dict[str, tuple[_Form, ...]] = {
    "i": (_V.i_binary, _V.i_binary, _V.i_of, _V.i_unary, _V.i_other),
    "f": (_V.f_binary, _V.f_of),
    "s": (_V.s_of, _V.s_join),
    "b": (_V.b_of,),
    "L": (_V.l_literal, _V.l_comprehension, _V.l_of),
    "T": (_V.t_of,),
    "D": (_V.d_of,),
    "V": (_V.v_of,),
}
_Statement = Callable[[VMWriter, Scope], Any]
_SIMPLE: tuple[_Statement, ...] = (
    _V.assign, _V.augmented, _V.store, _V.unpack, _V.expression,
)  # fmt: skip
_STATEMENTS: tuple[_Statement, ...] = (
    _V.assign, _V.if_, _V.for_, _V.while_, _V.augmented, _V.leave, _V.try_, _V.store, _V.unpack,
    _V.with_, _V.match, _V.closure, _V.generator, _V.delete, _V.local_class, _V.assert_, _V.assign,
    _V.if_, _V.for_, _V.try_, _V.leave, _V.expression,
)  # fmt: skip


@st.composite
def vm_programs(draw: Any) -> VMProgram:
    """Plain Python programs for the VM."""
    return VMWriter(draw).program()
