"""Random kernels on runtime scalars, written so that Python and the device compute the same.

Every integer variable stays within `INT` and every float within `FLOAT` as a multiple of 0.25
(wider values are reduced before they are stored), so nothing wraps or rounds. The generator keeps
off what asctrace refuses on purpose: a name is used only where every path has bound it, containers
keep their shape, lists are indexed by constants, types of variables do not change.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from tests.differential_draw import Source, Writer

INT = 1000
WIDE = 1 << 29
FLOAT = 64.0
#: Mantissa bits of float32: value bound times granularity must stay below.
EXACT = 1 << 23
INTS = 8
FLOATS = 4

PRELUDE = """\
def emit(io, v):
    p = io[2].get_value(0)
    io[2].set_value(1 + p % 63, v)
    io[2].set_value(0, p + 1)


def emit_float(io, v):
    p = io[2].get_value(0)
    io[3].set_value(p % 32, v)
    io[2].set_value(0, p + 1)


class Scoped:
    def __init__(self, io, value):
        self.io = io
        self.value = value

    def __enter__(self):
        emit(self.io, self.value)
        return self.value

    def __exit__(self, *exc):
        emit(self.io, self.value - 1)
        return False


def items(a, b, c):
    yield a
    if K0 > 1:
        yield b
    yield c
"""

CONSTANTS = """

K0 = {k0}
K1 = {k1}
KF = {kf}
ON = {on}
"""

#: Integers and floats the arrays are filled with, by pattern.
INT_ROWS = (
    (0, 1, 2, 3, 4, 5, 6, 7),
    (-3, 5, 0, -8, 2, 9, -1, 4),
    (7, 7, -7, 0, 1, -20, 20, 3),
    (-1, -2, -3, -4, -5, -6, -7, -8),
)
FLOAT_ROWS = (
    (0.0, 1.0, 0.5, 2.25),
    (-1.5, 3.75, 0.0, -4.0),
    (8.5, -0.25, 7.0, 1.75),
    (-2.0, -6.5, -0.75, -3.25),
)


@dataclass(frozen=True, slots=True)
class Inputs:
    """Arguments of one launch."""

    n: int
    m: int
    f: float
    flag: bool
    row: int


@dataclass(frozen=True, slots=True)
class PathProgram:
    """A kernel as source, what it is launched with, and the options of its trace."""

    source: Source
    inputs: tuple[Inputs, ...]
    unroll_limit: int
    wide: bool

    def __str__(self) -> str:
        launches = "\n".join(f"# {launch}" for launch in self.inputs)
        m = "int64" if self.wide else "int32"
        return f"{self.source}\n# unroll_limit={self.unroll_limit}, m: {m}\n{launches}\n"


@dataclass(slots=True)
class Function:
    """Something a kernel can call. Kinds: i, f, b; t is an (int, float) tuple; O an object."""

    name: str
    params: list[str]
    ret: str | None
    cost: int
    asserts: bool
    io: bool = True


@dataclass(slots=True)
class Scope:
    """What a place in the program may use."""

    vars: dict[str, str] = field(default_factory=dict)
    #: Readable, but kept by the loop or the closure they belong to.
    fixed: set[str] = field(default_factory=set)
    #: Name of a list of ints -> length.
    lists: dict[str, int] = field(default_factory=dict)
    #: Name of an object -> its class.
    objects: dict[str, str] = field(default_factory=dict)
    functions: list[Function] = field(default_factory=list)
    #: Loop indices that are Python constants.
    indices: list[str] = field(default_factory=list)
    #: Locals of the function around a closure.
    loop: bool = False
    ret: str | None = None
    #: An exception raised here could be caught, so nothing may trap.
    caught: bool = False
    returns: bool = True
    depth: int = 0
    io: bool = True

    def inner(self) -> Scope:
        """The scope of a block: what it binds is not seen after it."""
        other = copy.copy(self)
        other.vars = dict(self.vars)
        other.fixed = set(self.fixed)
        other.lists = dict(self.lists)
        other.objects = dict(self.objects)
        other.functions = list(self.functions)
        other.indices = list(self.indices)
        other.depth = self.depth + 1
        return other

    def readable(self, kind: str) -> list[str]:
        return [n for n, k in self.vars.items() if k == kind]

    def writable(self, kind: str) -> list[str]:
        return [n for n, k in self.vars.items() if k == kind and n not in self.fixed]

    def bind(self, name: str, kind: str) -> None:
        self.vars[name] = kind


class PathWriter(Writer):
    """Writes one kernel."""

    def __init__(self, draw: Any) -> None:
        super().__init__(draw)
        self.size = 4 + self.below(24)
        self.functions: list[Function] = []
        #: Class -> attribute suffix -> kind.
        self.classes: dict[str, dict[str, str]] = {}
        self.methods: dict[str, list[Function]] = {}
        #: Statements traced, loops that unroll multiplied out.
        self.cost = 0
        self.weight = 1
        self.asserts = False

    # -- the program ----------------------------------------------------------------------------

    def program(self) -> PathProgram:
        head = CONSTANTS.format(
            k0=self.below(4), k1=self.below(9) - 4, kf=(self.below(9) - 4) * 0.5, on=self.chance(2)
        )
        for _ in range(self.below(3)):
            self.class_()
        for _ in range(self.below(3)):
            self.helper()
        self.kernel()
        inputs = tuple(self.launch() for _ in range(1 + self.below(3)))
        limit = self.one_of((64, 8, 1000, 0))
        return PathProgram(Source(PRELUDE, head + self.text()), inputs, limit, self.chance(4))

    def launch(self) -> Inputs:
        n, m = self.one_of(_SMALL), self.one_of(_SMALL)
        return Inputs(n, m, self.one_of(_FLOATS), self.chance(2), self.below(len(INT_ROWS)))

    def kernel(self) -> None:
        scope = Scope(functions=self.functions, ret="kernel")
        scope.vars = {"n": "i", "m": "i", "f": "f", "flag": "b"}
        self._constants(scope)
        self.line("")
        self.line("")
        with self.block("def kernel(x, y, out, fout, n, m, f, flag):"):
            for name, param in (("xg", "x"), ("yg", "y"), ("og", "out"), ("fg", "fout")):
                self.line(f"{name} = asc.GlobalTensor()")
                self.line(f"{name}.set_global_buffer({param})")
            self.line("io = (xg, yg, og, fg)")
            for _ in range(self.below(3)):
                self.bind_local(scope)
            self.statements(scope)
            for name in list(scope.vars):
                if name.isidentifier() and name not in ("K0", "K1", "KF", "ON"):
                    self.show(scope.vars[name], name)
            for name, size in scope.lists.items():
                self.show("i", f"{name}[{size - 1}]")
            for name, cls in scope.objects.items():
                for suffix, kind in self.classes[cls].items():
                    self.show(kind, name + suffix)

    def _constants(self, scope: Scope) -> None:
        scope.vars |= {"K0": "i", "K1": "i", "KF": "f", "ON": "b"}
        scope.fixed |= {"K0", "K1", "KF", "ON"}

    def show(self, kind: str, text: str) -> None:
        self.line(f"emit_float(io, {text})" if kind == "f" else f"emit(io, {text})")

    def function(self, head: str, name: str, kinds: list[str], ret: str | None, scope: Scope,
                 params: list[str], io: bool = True) -> Function:  # fmt: skip
        """Write a function; its body may use `scope`."""
        cost, asserts, weight, size = self.cost, self.asserts, self.weight, self.size
        self.cost, self.asserts, self.weight = 0, False, 1
        self.size = min(size, 1 + self.below(7))
        given = self.size
        scope.ret, scope.loop, scope.io = ret, False, io
        with self.block(head):
            self._before_body(params, kinds, scope)
            self.statements(scope)
            self.return_(scope)
        made = Function(name, kinds, ret, self.cost + 1, self.asserts, io)
        self.size = size - (given - self.size)
        self.cost, self.asserts, self.weight = cost, asserts or self.asserts, weight
        return made

    def _before_body(self, params: list[str], kinds: list[str], scope: Scope) -> None:
        for name, kind in zip(params, kinds, strict=True):
            if kind in self.classes:
                self.add_object(scope, name, kind)
            else:
                scope.bind(name, kind)

    def helper(self) -> None:
        """A function of the module."""
        name = self.name("h")
        kinds = [self.one_of(("i", "f", "b", *self.classes)) for _ in range(self.below(4))]
        params = [self.name("p") for _ in kinds]
        ret = self.one_of(("i", "f", "b", "t", None))
        scope = Scope(functions=list(self.functions))
        self._constants(scope)
        self.line("")
        self.line("")
        head = f"def {name}({', '.join(['io', *params])}):"
        self.functions.append(self.function(head, name, kinds, ret, scope, params))

    def class_(self) -> None:
        """A class with attributes and methods that change them."""
        cls = self.name("C")
        attrs = {".a": "i", ".b": self.one_of(("i", "f", "b")), ".l[0]": "i", ".l[1]": "i"}
        self.classes[cls] = attrs
        self.methods[cls] = []
        self.line("")
        self.line("")
        with self.block(f"class {cls}:"):
            with self.block("def __init__(self, a, b, c):"):
                self.line("self.a = a")
                self.line("self.b = b")
                self.line("self.l = [a, c]")
            for _ in range(self.below(3)):
                self.line("")
                name = self.name("m")
                kinds = [self.one_of(("i", "f")) for _ in range(self.below(3))]
                params = [self.name("p") for _ in kinds]
                scope = Scope(functions=list(self.functions))
                self._constants(scope)
                self.add_object(scope, "self", cls)
                ret = self.one_of(("i", "f", None))
                head = f"def {name}({', '.join(['self', 'io', *params])}):"
                made = self.function(head, name, kinds, ret, scope, params)
                self.methods[cls].append(made)
            self.line("")
            self.line("@property")
            with self.block("def total(self):"):
                self.line("return (self.a + self.l[1]) % 100")

    def add_object(self, scope: Scope, name: str, cls: str) -> None:
        scope.objects[name] = cls
        for suffix, kind in self.classes[cls].items():
            scope.bind(name + suffix, kind)
        for made in self.methods[cls]:
            scope.functions.append(
                Function(f"{name}.{made.name}", made.params, made.ret, made.cost, made.asserts)
            )

    # -- statements -----------------------------------------------------------------------------

    def statements(self, scope: Scope) -> None:
        """Some statements of a block."""
        limit = 8 if scope.depth == 0 else 4
        for _ in range(limit):
            if self.size <= 0 or self.below(limit) == 0:
                break
            self.size -= 1
            self.cost += self.weight
            if not self.statement(scope):
                break

    def statement(self, scope: Scope) -> bool:
        """One statement; False when what follows in the block cannot run."""
        table = _SIMPLE if scope.depth >= 4 or self.cost > 400 else _STATEMENTS
        return self.one_of(table)(self, scope) is not False

    def body(self, scope: Scope, head: str) -> None:
        """A nested block."""
        with self.block(head):
            self.statements(scope)

    def assign(self, scope: Scope) -> None:
        kind = self.one_of(("i", "i", "f", "b"))
        names = scope.writable(kind)
        if not names:
            return self.bind_local(scope)
        self.line(f"{self.one_of(names)} = {self.stored(kind, scope)}")
        return None

    def bind_local(self, scope: Scope) -> None:
        kind = self.one_of(("i", "i", "f", "b"))
        name = self.name()
        self.line(f"{name} = {self.stored(kind, scope)}")
        scope.bind(name, kind)

    def augmented(self, scope: Scope) -> None:
        names = scope.writable("i")
        if not names:
            return self.assign(scope)
        name = self.one_of(names)
        op = self.one_of(("+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>"))
        if op in "//%":
            self.line(f"{name} {op}= {self.divisor(scope)}")
        elif op in "<<>>":
            self.line(f"{name} {op}= {self.count(scope)}")
        else:
            self.line(f"{name} {op}= {self.stored('i', scope)}")
        if op in "+-*&|^<<":
            self.line(f"{name} %= {self.one_of((97, 10, 1000))}")
        return None

    def augmented_float(self, scope: Scope) -> None:
        names = scope.writable("f")
        if not names:
            return self.assign(scope)
        name = self.one_of(names)
        op = self.one_of(("+", "-", "*"))
        self.line(f"{name} {op}= {self.stored('f', scope)}")
        self.line(f"{name} = int({name} * 4.0) % 64 * 0.25")
        return None

    def swap(self, scope: Scope) -> None:
        kind = self.one_of(("i", "f"))
        names = scope.writable(kind)
        if len(names) < 2:
            return self.assign(scope)
        first = self.one_of(names)
        second = self.one_of([n for n in names if n != first])
        if self.chance(3):
            third = self.stored(kind, scope)
            self.line(f"{first}, {second} = {second}, {third}")
        else:
            self.line(f"{first}, {second} = {second}, {first}")
        return None

    def emit(self, scope: Scope) -> None:
        if not scope.io:
            return self.assign(scope)
        choice = self.below(4)
        if choice == 0:
            self.line(f"emit(io, {self.stored('i', scope)})")
        elif choice == 1:
            self.line(f"emit_float(io, {self.stored('f', scope)})")
        elif choice == 2:
            self.line(f"emit(io, {self.cond(scope, 1, value=True)})")
        else:
            index = f"64 + ({self.stored('i', scope)}) % 16"
            self.line(f"io[2].set_value({index}, {self.stored('i', scope)})")
        return None

    def if_(self, scope: Scope) -> None:
        if self.chance(8):
            name = self.name("w")
            head = f"if ({name} := {self.stored('i', scope)}) {self.one_of(_COMPARE)} "
            self.line(head + f"{self.int(scope, 1)[0]}:")
            scope.bind(name, "i")
        else:
            self.line(f"if {self.cond(scope, 2)}:")
        self.arm(scope)
        while self.chance(4):
            self.line(f"elif {self.cond(scope, 2)}:")
            self.arm(scope)
        if self.chance(2):
            self.line("else:")
            self.arm(scope)

    def arm(self, scope: Scope, jump: bool = True) -> None:
        """The body of an arm, which may end in a jump."""
        inner = scope.inner()
        self.indent += 1
        start = len(self.lines)
        self.statements(inner)
        if jump and self.chance(3):
            if inner.loop and not (inner.returns and self.chance(4)):
                self.line(self.one_of(("break", "continue")))
            elif inner.returns:
                self.return_(inner)
        if len(self.lines) == start:
            self.line("pass")
        self.indent -= 1

    def bound_in_arms(self, scope: Scope) -> None:
        """Names first bound in the arms of a branch and used behind it."""
        shape = self.one_of(("i", "f", "b", "list", "tuple"))
        name = self.name()
        texts = []
        for _ in range(2 + self.below(2)):
            if shape == "list":
                texts.append(f"[{self.stored('i', scope)}, {self.stored('i', scope)}]")
            elif shape == "tuple":
                texts.append(f"({self.stored('i', scope)}, {self.stored('f', scope)})")
            else:
                texts.append(self.stored(shape, scope))
        for k, text in enumerate(texts):
            last = k == len(texts) - 1
            head = "else:" if last else f"{'elif' if k else 'if'} {self.cond(scope, 1)}:"
            with self.block(head):
                before = scope.inner()
                if self.chance(3):
                    self.statements(before)
                self.line(f"{name} = {text}")
        if shape == "list":
            scope.lists[name] = 2
            scope.vars |= {f"{name}[0]": "i", f"{name}[1]": "i"}
        elif shape == "tuple":
            scope.vars |= {f"{name}[0]": "i", f"{name}[1]": "f"}
            scope.fixed |= {f"{name}[0]", f"{name}[1]"}
        else:
            scope.bind(name, shape)

    def match(self, scope: Scope) -> None:
        self.line(f"match {self.int(scope, 1)[0]} % 4:")
        self.indent += 1
        for k in range(1 + self.below(3)):
            pattern = self.one_of((str(k), f"{k} | 3", f"{k}"))
            if self.chance(3):
                pattern += f" if {self.cond(scope, 1)}"
            self.line(f"case {pattern}:")
            self.arm(scope)
        if self.chance(2):
            name = self.name()
            self.line(f"case {name}:")
            inner = scope.inner()
            inner.bind(name, "i")
            self.arm(inner)
        self.indent -= 1

    # -- loops ----------------------------------------------------------------------------------

    def looped(self, scope: Scope, trips: int) -> Scope:
        inner = scope.inner()
        inner.loop = True
        self.weight *= trips
        return inner

    def else_(self, scope: Scope) -> None:
        if self.chance(4):
            self.line("else:")
            self.arm(scope)

    def while_(self, scope: Scope) -> None:
        """A `while` that its fuel ends."""
        fuel = self.name("fuel")
        runtime = self.chance(2)
        start = f"{self.int(scope, 1)[0]} % 5" if runtime else str(1 + self.below(6))
        self.line(f"{fuel} = {start}")
        form = self.below(5)
        weight = self.weight
        inner = self.looped(scope, 2)
        for place in (scope, inner):
            place.bind(fuel, "i")
            place.fixed.add(fuel)
        if form == 0:
            head = f"while {fuel} > 0 and {self.cond(scope, 2)}:"
        elif form == 1:
            head = f"while {self.cond(scope, 2)} and {fuel}:"
        elif form == 2:
            head = f"while ({fuel} := {fuel} - 1) >= 0:"
        elif form == 3:
            head = "while True:"
        else:
            head = f"while {fuel} > 0:"
        with self.block(head):
            if form != 2:
                self.line(f"{fuel} -= 1")
            if form == 3:
                with self.block(f"if {fuel} < 0:"):
                    if self.chance(3):
                        leaving = scope.inner()
                        # Here `continue` would go round for ever.
                        leaving.loop = False
                        self.statements(leaving)
                    self.line("break")
            self.statements(inner)
        self.weight = weight
        self.else_(scope)

    def for_range(self, scope: Scope) -> None:
        index = self.name("i")
        kept = self.chance(3)
        if kept:
            self.line(f"{index} = {self.below(3) - 1}")
        form = self.below(8)
        trips, constant = 2, False
        a = self.int(scope, 1)[0]
        if form == 0:
            head = f"range({a} % 5)"
        elif form == 1:
            trips = self.below(5)
            head, constant = f"range({trips})", True
        elif form == 2:
            head = f"range({a} % 4, {self.one_of(('6', 'K0', self.int(scope, 1)[0] + ' % 7'))})"
        elif form == 3:
            head = f"range({a} % 7, {self.below(3)}, -{1 + self.below(2)})"
        elif form == 4:
            trips = 12 + self.below(20) if self.weight == 1 else 3
            head, constant = f"range({trips})", True
        elif form == 5:
            head = f"asc.range({self.one_of((a + ' % 4', '3', '12'))})"
        elif form == 6:
            trips = self.below(4)
            head, constant = f"asc.static_range({trips})", True
        else:
            start, step = self.below(4), self.one_of((1, 2, -1, 3))
            stop = start + step * self.below(4)
            head, constant = f"range({start}, {stop}, {step})", True
            trips = 3
        weight = self.weight
        inner = self.looped(scope, max(trips, 1))
        inner.bind(index, "i")
        if constant or self.chance(2):
            inner.fixed.add(index)
        if constant:
            inner.indices.append(index)
        last = None
        with self.block(f"for {index} in {head}:"):
            if constant and trips > 0 and form != 7 and self.chance(3):
                # Surely bound behind the loop: the body runs.
                last = self.name()
                self.line(f"{last} = {self.stored('i', inner)}")
                inner.bind(last, "i")
            self.statements(inner)
        self.weight = weight
        self.else_(scope)
        if last is not None:
            scope.bind(last, "i")
            scope.bind(index, "i")
        elif kept:
            scope.bind(index, "i")

    def for_items(self, scope: Scope) -> None:
        name = self.name("e")
        texts = [self.stored("i", scope) for _ in range(self.below(4))]
        row = f"[{', '.join(texts)}]"
        form = self.below(7)
        weight = self.weight
        inner = self.looped(scope, 3)
        head = name
        if form == 0:
            source = row
        elif form == 1 and scope.lists:
            source = self.one_of(list(scope.lists))
        elif form == 2:
            index = self.name("i")
            head, source = f"{index}, {name}", f"enumerate({row})"
            inner.bind(index, "i")
            inner.fixed.add(index)
            inner.indices.append(index)
        elif form == 3:
            other = self.name("e")
            head, source = f"{name}, {other}", f"zip({row}, (1.0, 2.5, 3.0))"
            inner.bind(other, "f")
        elif form == 4:
            args = ", ".join(self.stored("i", scope) for _ in range(3))
            source = f"items({args})"
        elif form == 5:
            source = f"reversed({row})"
        else:
            source = f"({row[1:-1]}{',' if texts else ''})"
        inner.bind(name, "i")
        with self.block(f"for {head} in {source}:"):
            self.statements(inner)
        self.weight = weight
        self.else_(scope)

    # -- containers, objects, functions -----------------------------------------------------------

    def make_list(self, scope: Scope) -> None:
        name = self.name("l")
        form = self.below(4)
        size = 1 + self.below(3)
        if form == 0:
            texts = [self.stored("i", scope) for _ in range(size)]
            self.line(f"{name} = [{', '.join(texts)}]")
        elif form == 1:
            inner = scope.inner()
            k = self.name("k")
            inner.bind(k, "i")
            inner.indices.append(k)
            source = self.one_of((f"range({size})", f"(2, -3, 4)[:{size}]"))
            if "range" not in source:
                inner.indices.pop()
            self.line(f"{name} = [{self.stored('i', inner)} for {k} in {source}]")
        elif form == 2:
            self.line(f"{name} = []")
            k = self.name("k")
            with self.block(f"for {k} in range({size}):"):
                inner = scope.inner()
                inner.bind(k, "i")
                self.line(f"{name}.append({self.stored('i', inner)})")
        else:
            a, b = self.stored("i", scope), self.stored("f", scope)
            self.line(f"{name} = {{'a': {a}, 'b': {b}}}")
            scope.vars |= {f"{name}['a']": "i", f"{name}['b']": "f"}
            return
        scope.lists[name] = size
        for k in range(size):
            scope.bind(f"{name}[{k}]", "i")
        if scope.indices and size > 1:
            scope.bind(f"{name}[{self.one_of(scope.indices)} % {size}]", "i")

    def make_object(self, scope: Scope) -> None:
        if not self.classes:
            return self.make_list(scope)
        cls = self.one_of(list(self.classes))
        kind = self.classes[cls][".b"]
        name = self.name("o")
        args = ", ".join(self.stored(k, scope) for k in ("i", kind, "i"))
        self.line(f"{name} = {cls}({args})")
        self.add_object(scope, name, cls)
        return None

    def alias(self, scope: Scope) -> None:
        if not scope.objects:
            return self.assign(scope)
        name = self.name("o")
        source = self.one_of(list(scope.objects))
        self.line(f"{name} = {source}")
        self.add_object(scope, name, scope.objects[source])
        return None

    def closure(self, scope: Scope) -> None:
        """A nested function, which may change variables around it."""
        name = self.name("g")
        kinds = [self.one_of(("i", "f")) for _ in range(self.below(3))]
        params = [self.name("p") for _ in kinds]
        inner = scope.inner()
        inner.depth = max(1, scope.depth)
        inner.returns, inner.caught = True, False
        inner.indices = []
        names = [n for n in scope.vars if n.isidentifier() and n not in scope.fixed]
        shared = [n for n in names if self.chance(3)][:3]
        inner.fixed |= {n for n in names if n not in shared}
        inner.lists = dict(scope.lists)
        ret = self.one_of(("i", "f", "b", "t", None))
        if self.chance(3) and not shared and scope.depth < 4:
            kind = self.one_of(("i", "f"))
            for p, k in zip(params, kinds, strict=True):
                inner.bind(p, k)
            inner.io = False
            text = self.stored(kind, inner, 2)
            self.line(f"{name} = lambda {', '.join(params)}: {text}")
            scope.functions.append(Function(name, kinds, kind, 1, False, io=False))
            return
        head = f"def {name}({', '.join(params)}):"
        if shared:
            self.line(f"{head}")
            self.indent += 1
            self.line(f"nonlocal {', '.join(shared)}")
            self.indent -= 1
            lines = len(self.lines)
            made = self.function("if True:", name, kinds, ret, inner, params, scope.io)
            # The body stands right below the declaration.
            del self.lines[lines]
        else:
            made = self.function(head, name, kinds, ret, inner, params, scope.io)
        made.io = False
        scope.functions.append(made)

    def recursion(self, scope: Scope) -> None:
        """A closure that calls itself a constant number of times."""
        name = self.name("r")
        k, v = self.name("k"), self.name("p")
        inner = scope.inner()
        inner.bind(k, "i")
        inner.bind(v, "i")
        with self.block(f"def {name}({k}, {v}):"):
            with self.block(f"if {k} <= 0:"):
                self.line(f"return {v}")
            if self.chance(2):
                with self.block(f"if {self.cond(inner, 1)}:"):
                    self.line(f"return {self.stored('i', inner)}")
            self.line(f"return {name}({k} - {1 + self.below(2)}, {self.stored('i', inner)})")
        target = self.name()
        self.line(f"{target} = {name}({self.below(4)}, {self.stored('i', scope)})")
        scope.bind(target, "i")

    def call(self, scope: Scope) -> None:
        usable = self.callable(scope)
        if not usable:
            return self.emit(scope)
        made = self.one_of(usable)
        text = self.called(made, scope)
        if made.ret in ("i", "f", "b"):
            names = scope.writable(made.ret)
            if names and self.chance(2):
                self.line(f"{self.one_of(names)} = {text}")
            else:
                name = self.name()
                self.line(f"{name} = {text}")
                scope.bind(name, made.ret)
        elif made.ret == "t":
            ints, floats = scope.writable("i"), scope.writable("f")
            if ints and floats:
                self.line(f"{self.one_of(ints)}, {self.one_of(floats)} = {text}")
            else:
                a, b = self.name(), self.name()
                self.line(f"{a}, {b} = {text}")
                scope.bind(a, "i")
                scope.bind(b, "f")
        else:
            self.line(text)
        return None

    def callable(self, scope: Scope) -> list[Function]:
        return [
            f
            for f in scope.functions
            if self.cost + f.cost * self.weight < 600
            and not (f.asserts and scope.caught)
            and (scope.io or not f.io)
            and all(k in "ifb" or k in scope.objects.values() for k in f.params)
        ]

    def called(self, made: Function, scope: Scope) -> str:
        self.cost += made.cost * self.weight
        self.asserts = self.asserts or made.asserts
        args = ["io"] if made.io else []
        for kind in made.params:
            if kind in ("i", "f", "b"):
                args.append(self.stored(kind, scope))
            else:
                args.append(self.one_of([n for n, c in scope.objects.items() if c == kind]))
        return f"{made.name}({', '.join(args)})"

    # -- leaving --------------------------------------------------------------------------------

    def return_(self, scope: Scope) -> bool:
        ret = scope.ret
        if ret == "kernel" or ret is None:
            self.line("return")
        elif ret == "t":
            self.line(f"return {self.stored('i', scope)}, {self.stored('f', scope)}")
        else:
            self.line(f"return {self.stored(ret, scope)}")
        return False

    def assert_(self, scope: Scope) -> None:
        names = scope.readable("i")
        if scope.caught or not names:
            return self.assign(scope)
        self.asserts = True
        name = self.one_of(names)
        shown = f", f'bad {{{name}}}'" if name.isidentifier() else ""
        message = self.one_of(("", ", 'out of range'", shown))
        self.line(f"assert -{INT} <= {name} <= {INT}{message}")
        return None

    def try_finally(self, scope: Scope) -> None:
        self.line("try:")
        self.arm(scope)
        self.line("finally:")
        inner = scope.inner()
        inner.loop, inner.returns = False, False
        self.arm(inner, jump=False)

    def try_except(self, scope: Scope) -> None:
        """An exception raised and caught while tracing."""
        inner = scope.inner()
        inner.loop, inner.returns, inner.caught = False, False, True
        with self.block("try:"):
            self.statements(inner)
            if self.chance(2):
                self.line(self.one_of(("raise ValueError('no')", "[][1]", "{}['k']")))
        self.line(self.one_of(("except Exception:", "except (ValueError, LookupError):")))
        self.arm(scope)
        self.else_(scope)

    def with_(self, scope: Scope) -> None:
        if not scope.io:
            return self.assign(scope)
        name = self.name()
        self.line(f"with Scoped(io, {self.stored('i', scope)}) as {name}:")
        inner = scope.inner()
        inner.bind(name, "i")
        inner.caught = True
        self.arm(inner)
        return None

    # -- expressions ------------------------------------------------------------------------------

    def stored(self, kind: str, scope: Scope, depth: int = 2) -> str:
        """An expression whose value a variable of that kind may hold."""
        if kind == "b":
            return self.cond(scope, depth, value=True)
        if kind == "f":
            return self.small_float(scope, depth)
        text, bound = self.int(scope, depth)
        if bound > INT:
            text = self.one_of((f"{text} % 97", f"{text} % 201 - 100"))
        return text

    def small_float(self, scope: Scope, depth: int) -> str:
        text, bound, grain = self.float(scope, depth)
        if bound > FLOAT or grain > 4:
            return f"int({text} * 4.0) % 64 * 0.25"
        return text

    def int(self, scope: Scope, depth: int) -> tuple[str, int]:
        """An integer expression and a bound of its size."""
        form = self.below(len(_INTS) * 3 // 2) if depth > 0 else 0
        spare = len(_INTS) // 2
        if form < spare or depth <= 0:
            return self.int_leaf(scope)
        return _INTS[form - spare](self, scope, depth - 1)

    def int_leaf(self, scope: Scope) -> tuple[str, int]:
        names = scope.readable("i")
        return self.one_of((*names, *names, *_LITERALS)), INT

    def int_pair(self, scope: Scope, depth: int) -> tuple[str, int]:
        (a, p), (b, q) = self.int(scope, depth), self.int(scope, depth)
        op = self.one_of(("+", "-", "*", "&", "|", "^"))
        if op in "+-":
            return f"({a} {op} {b})", p + q
        if op == "*":
            if p * q > WIDE:
                b, q = f"({b} % 50)", 50
            if p * q > WIDE:
                a, p = f"({a} % 50)", 50
            return f"({a} * {b})", p * q
        return f"({a} {op} {b})", 2 * max(p, q) + 1

    def divisor(self, scope: Scope) -> str:
        form = self.below(4)
        if form == 0:
            return str(self.one_of((2, 3, 5, 7, 1)))
        if form == 1:
            return str(self.one_of((-2, -3, -1)))
        text, _ = self.int(scope, 1)
        return f"({text} | 1)" if form == 2 else f"(abs({text}) + 1)"

    def count(self, scope: Scope) -> str:
        if self.chance(2):
            return f"({self.int(scope, 1)[0]} & 3)"
        return str(self.below(4))

    def int_divide(self, scope: Scope, depth: int) -> tuple[str, int]:
        a, p = self.int(scope, depth)
        op = self.one_of(("//", "%"))
        if self.chance(3):
            names = scope.readable("i")
            if names:
                b = self.one_of(names)
                other, q = self.int(scope, depth)
                guard = self.one_of((f"{b} != 0", b, f"not {b} == 0"))
                return f"({a} {op} {b} if {guard} else {other})", max(p, q, INT) + 1
        if self.chance(6):
            index = self.below(2)
            return f"divmod({a}, {self.divisor(scope)})[{index}]", max(p, 2 * INT) + 1
        return f"({a} {op} {self.divisor(scope)})", max(p, 4 * INT) + 1

    def int_shift(self, scope: Scope, depth: int) -> tuple[str, int]:
        a, p = self.int(scope, depth)
        if p * 8 > WIDE:
            a, p = f"({a} % 1000)", 1000
        op = self.one_of(("<<", ">>"))
        return f"({a} {op} {self.count(scope)})", p * 8

    def int_unary(self, scope: Scope, depth: int) -> tuple[str, int]:
        a, p = self.int(scope, depth)
        return self.one_of((f"-{a}", f"~{a}", f"abs({a})", f"(+{a})", f"int({a})")), p + 1

    def int_extreme(self, scope: Scope, depth: int) -> tuple[str, int]:
        pairs = [self.int(scope, depth) for _ in range(2 + self.below(2))]
        name = self.one_of(("min", "max"))
        return f"{name}({', '.join(t for t, _ in pairs)})", max(p for _, p in pairs)

    def int_chosen(self, scope: Scope, depth: int) -> tuple[str, int]:
        (a, p), (b, q) = self.int(scope, depth), self.int(scope, depth)
        form = self.below(3)
        if form == 0:
            return f"({a} if {self.cond(scope, depth)} else {b})", max(p, q)
        return f"({a} {'and' if form == 1 else 'or'} {b})", max(p, q)

    def int_of(self, scope: Scope, depth: int) -> tuple[str, int]:
        if self.chance(2):
            text, bound, _ = self.float(scope, depth)
            return f"int({text})", int(bound) + 1
        text = self.cond(scope, depth, value=True)
        return self.one_of((f"({text} + 0)", f"int({text})", f"(-{_bare(text)})")), 1

    def int_power(self, scope: Scope, depth: int) -> tuple[str, int]:
        a, _ = self.int(scope, depth)
        return f"({a} % 9) ** {self.below(4)}", 9**3

    def int_read(self, scope: Scope, depth: int) -> tuple[str, int]:
        if not scope.io:
            return self.int_leaf(scope)
        if self.chance(2):
            return f"io[0].get_value({self.int(scope, depth)[0]} % {INTS})", 20
        return f"io[0].get_value({self.below(INTS)})", 20

    def int_call(self, scope: Scope, depth: int) -> tuple[str, int]:
        usable = [f for f in self.callable(scope) if f.ret == "i" and (scope.io or not f.io)]
        if scope.objects and self.chance(4):
            return f"{self.one_of(list(scope.objects))}.total", 100
        if not usable:
            return self.int_leaf(scope)
        return self.called(self.one_of(usable), scope), INT

    def int_list(self, scope: Scope, depth: int) -> tuple[str, int]:
        if not scope.lists:
            return self.int_leaf(scope)
        name = self.one_of(list(scope.lists))
        if scope.indices and self.chance(2):
            return f"{name}[{self.one_of(scope.indices)} % {scope.lists[name]}]", INT
        k = self.name("k")
        form = self.one_of(
            (f"sum({name})", f"max({name})", f"sum({k} * 2 for {k} in {name})", f"len({name})")
        )
        return form, 8 * INT

    def float(self, scope: Scope, depth: int) -> tuple[str, float, int]:
        """A float expression, a bound of its size, and what it is a multiple of (1/n)."""
        form = self.below(len(_FLOAT_FORMS) * 3 // 2) if depth > 0 else 0
        spare = len(_FLOAT_FORMS) // 2
        if form < spare or depth <= 0:
            return self.float_leaf(scope)
        return _FLOAT_FORMS[form - spare](self, scope, depth - 1)

    def float_leaf(self, scope: Scope) -> tuple[str, float, int]:
        names = scope.readable("f")
        return self.one_of((*names, *names, *_FLOAT_LITERALS)), FLOAT, 4

    def exact(self, text: str, bound: float, grain: int) -> tuple[str, float, int]:
        if bound * grain > EXACT:
            raise AssertionError("the generator lets a float grow too far")
        return text, bound, grain

    def tamed(self, scope: Scope, depth: int) -> tuple[str, float, int]:
        """A float expression small enough to multiply."""
        text, bound, grain = self.float(scope, depth)
        if bound * grain > FLOAT * 4:
            return f"(int({text} * 4.0) % 64 * 0.25)", 16.0, 4
        return text, bound, grain

    def float_pair(self, scope: Scope, depth: int) -> tuple[str, float, int]:
        a, p, g = self.tamed(scope, depth)
        op = self.one_of(("+", "-", "*"))
        if self.chance(3):
            b, q = self.int(scope, depth)
            if q > 100:
                b, q = f"({b} % 100)", 100
            h = 1
            if self.chance(2):
                a, p, g, b, q, h = b, q, h, a, p, g
        else:
            b, q, h = self.tamed(scope, depth)  # type: ignore[assignment]
        if op == "*":
            return self.exact(f"({a} * {b})", p * q, g * h)
        return self.exact(f"({a} {op} {b})", p + q, max(g, h))

    def float_divide(self, scope: Scope, depth: int) -> tuple[str, float, int]:
        if self.chance(2):
            a, p = self.int(scope, depth)
            if p > 1000:
                a, p = f"({a} % 1000)", 1000
            return f"({a} / {self.one_of((2, 4))})", float(p), 4
        text, bound, grain = self.tamed(scope, depth)
        divisor = self.one_of(("2.0", "0.5", "4", "-1.0"))
        return f"({text} / {divisor})", bound * 2, grain * 4

    def float_floor(self, scope: Scope, depth: int) -> tuple[str, float, int]:
        a, p, g = self.tamed(scope, depth)
        op = self.one_of(("//", "%"))
        divisor = self.one_of(("2.0", "0.75", "3", "-1.5", "(abs(f) + 0.25)"))
        if divisor.startswith("(") and "f" not in scope.vars:
            divisor = "1.25"
        return f"({a} {op} {divisor})", p * 4 + FLOAT, max(g, 4)

    def float_unary(self, scope: Scope, depth: int) -> tuple[str, float, int]:
        text, bound, grain = self.float(scope, depth)
        return self.one_of((f"-{text}", f"abs({text})", f"float({text})")), bound, grain

    def float_chosen(self, scope: Scope, depth: int) -> tuple[str, float, int]:
        (a, p, g), (b, q, h) = self.float(scope, depth), self.float(scope, depth)
        form = self.below(4)
        size, grain = max(p, q), max(g, h)
        if size * grain > EXACT:
            return a, p, g
        if form == 0:
            return f"({a} if {self.cond(scope, depth)} else {b})", size, grain
        if form == 1:
            return f"({a} {self.one_of(('and', 'or'))} {b})", size, grain
        return f"{self.one_of(('min', 'max'))}({a}, {b})", size, grain

    def float_of(self, scope: Scope, depth: int) -> tuple[str, float, int]:
        a, p = self.int(scope, depth)
        if p > INT:
            a, p = f"({a} % 1000)", INT
        return f"float({a})", float(p), 1

    def float_read(self, scope: Scope, depth: int) -> tuple[str, float, int]:
        if not scope.io:
            return self.float_leaf(scope)
        if self.chance(2):
            return f"io[1].get_value({self.int(scope, depth)[0]} % {FLOATS})", 10.0, 4
        return f"io[1].get_value({self.below(FLOATS)})", 10.0, 4

    def float_call(self, scope: Scope, depth: int) -> tuple[str, float, int]:
        usable = [f for f in self.callable(scope) if f.ret == "f" and (scope.io or not f.io)]
        if not usable:
            return self.float_leaf(scope)
        return self.called(self.one_of(usable), scope), FLOAT, 4

    def cond(self, scope: Scope, depth: int, value: bool = False) -> str:
        """A condition; with `value` it is a bool, so that it may be stored or chosen."""
        form = self.below(10) if depth > 0 else self.below(4)
        if form <= 1:
            return self.comparison(scope, max(depth - 1, 0))
        if form == 2:
            names = scope.readable("b")
            if names:
                return self.one_of(names)
            return self.comparison(scope, 0)
        if form == 3:
            if value:
                return self.one_of(("True", "False", "ON"))
            kind = self.one_of(("i", "f"))
            names = scope.readable(kind)
            return self.one_of(names) if names else "ON"
        if form == 4:
            a, b = self.cond(scope, depth - 1, value), self.cond(scope, depth - 1, value)
            return f"({a} {self.one_of(('and', 'or'))} {b})"
        if form == 5:
            return f"(not {self.cond(scope, depth - 1, value=True)})"
        if form == 6:
            texts = [self.comparable(scope, depth - 1) for _ in range(3)]
            first, second = self.one_of(_COMPARE), self.one_of(_COMPARE)
            return f"({texts[0]} {first} {texts[1]} {second} {texts[2]})"
        if form == 7:
            ints = scope.readable("i")
            if ints and not scope.loop:
                b = self.one_of(ints)
                a = self.int(scope, depth - 1)[0]
                return f"({b} != 0 and {a} {self.one_of(('//', '%'))} {b} > {self.below(4)})"
            return self.comparison(scope, depth - 1)
        if form == 8:
            a = self.int(scope, depth - 1)[0]
            row = self.one_of(("(1, 2, 5)", "(0, n)" if "n" in scope.vars else "(0, K1)", "[3]"))
            return f"({a} {self.one_of(('in', 'not in'))} {row})"
        a, b = self.cond(scope, depth - 1, True), self.cond(scope, depth - 1, True)
        if self.chance(2):
            return f"{self.one_of(('any', 'all'))}([{a}, {b}])" if value else f"bool({a})"
        return f"({a} if {self.cond(scope, depth - 1)} else {b})"

    def comparable(self, scope: Scope, depth: int) -> str:
        if self.chance(4):
            text, bound, grain = self.float(scope, depth)
            return text if bound * grain <= EXACT else "0.5"
        text, bound = self.int(scope, depth)
        return text if bound < EXACT else f"({text} % 1000)"

    def comparison(self, scope: Scope, depth: int) -> str:
        a, b = self.comparable(scope, depth), self.comparable(scope, depth)
        return f"({a} {self.one_of(_COMPARE)} {b})"


def _bare(text: str) -> str:
    return text if text.startswith("(") or text.isidentifier() else f"({text})"


_LITERALS = ("0", "1", "2", "3", "5", "8", "(-1)", "(-3)")
_FLOAT_LITERALS = ("0.0", "1.0", "0.5", "2.25", "(-1.5)", "(-0.25)")
_COMPARE = ("<", ">", "<=", ">=", "==", "!=")
_SMALL = (0, 1, 2, 3, 5, 9, -1, -2, -3, -7)
_FLOATS = (0.0, 1.0, 0.25, 2.5, 7.75, -0.5, -1.25, -6.0)
_W = PathWriter
_Statement = Callable[[PathWriter, Scope], Any]
_SIMPLE: tuple[_Statement, ...] = (
    _W.emit, _W.assign, _W.bind_local, _W.augmented, _W.swap, _W.augmented_float, _W.call,
)  # fmt: skip
_STATEMENTS: tuple[_Statement, ...] = (
    _W.emit, _W.assign, _W.if_, _W.if_, _W.if_, _W.while_, _W.for_range, _W.for_range,
    _W.while_, _W.for_items, _W.bound_in_arms, _W.augmented, _W.augmented_float, _W.swap,
    _W.call, _W.call, _W.make_list, _W.make_object, _W.closure, _W.closure, _W.alias, _W.assert_,
    _W.try_finally, _W.try_except, _W.with_, _W.match, _W.recursion, _W.emit, _W.assign,
)  # fmt: skip
_INTS: tuple[Callable[[PathWriter, Scope, int], tuple[str, int]], ...] = (
    _W.int_pair, _W.int_pair, _W.int_divide, _W.int_read, _W.int_chosen, _W.int_extreme,
    _W.int_unary, _W.int_shift, _W.int_of, _W.int_call, _W.int_list, _W.int_power, _W.int_divide,
)  # fmt: skip
_FLOAT_FORMS: tuple[Callable[[PathWriter, Scope, int], tuple[str, float, int]], ...] = (
    _W.float_pair, _W.float_read, _W.float_chosen, _W.float_divide, _W.float_unary, _W.float_of,
    _W.float_floor, _W.float_call, _W.float_pair,
)  # fmt: skip


@st.composite
def path_programs(draw: Any) -> PathProgram:
    """Kernels on runtime scalars with what to launch them with."""
    return PathWriter(draw).program()
