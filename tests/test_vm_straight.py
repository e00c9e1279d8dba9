"""Straight code that has become functions means what the handlers mean.

Every statement is run by both, first with what is usual and then with what the function leaves to
the handlers, so that its ways out are taken, too.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import asctrace as asc
from asctrace.tracer.chip import chip
from asctrace.tracer.diagnostics import KernelError
from asctrace.tracer.language.dtypes import float32, int32
from asctrace.tracer.language.types import GlobalPointerType
from asctrace.tracer.trace import Op
from asctrace.tracer.vm import program, trace_function
from asctrace.tracer.vm.dropped import step
from asctrace.tracer.vm.options import Argument, TraceOptions
from asctrace.tracer.vm.program import WARM, program_of
from asctrace.tracer.vm.straight import straighten
from tests.straight_kit import warm_after

CHIP = chip("Ascend910B1")
NEVER = 10**9


def functions(function: Any) -> int:
    """How many statements of a function are done by functions for straight code."""
    steps = program_of(function.__code__).ops
    return sum(step[1].__module__ == straighten.__module__ for step in steps)


# -- values of Python ----------------------------------------------------------------------------


def add(a: Any, b: Any) -> Any:
    c = a + b
    return c


def nested(a: Any, b: Any) -> Any:
    c = [a, (a * 2 - b) // b, a < b]
    return c


def item(a: Any, b: Any) -> Any:
    c = (a, b)[b : a + 1]
    d = a[b]
    return c, d


def attribute(a: Any, b: Any) -> Any:
    c = a.real + b
    d = asc.int32.name
    return c, d


def method(a: Any, b: Any) -> Any:
    a.append(b)
    c = a.index(b)
    return c


def walrus(a: Any, b: Any) -> Any:
    c = a + (d := b * 2) + d
    return c, d


def moved(a: Any, b: Any) -> Any:
    c, d = b, a
    e = f = c
    return c, d, e, f


def called(a: Any, b: Any) -> Any:
    c = add(a, b) + len([a]) + min(a, b)
    return c


def unbound(a: Any, b: Any) -> Any:
    if a < b:
        c = a
    d = c + b
    return d


def missing(a: Any, b: Any) -> Any:
    if a > b:
        return no_such_name.attribute  # type: ignore[name-defined]  # noqa: F821
    return a


def unwound(a: Any, b: Any) -> Any:
    found = []
    for k in (1, 2):
        try:
            found.append([k, a + k // b])
        except ZeroDivisionError as exc:
            found.append([k, str(exc)])
        finally:
            c = k + 1
            found.append(c)
    return found


class Last:
    """Says in a log when it goes."""

    def __init__(self, log: list[int]) -> None:
        self.log = log

    def __del__(self) -> None:
        self.log.append(1)


def dropped(a: Any, b: Any) -> Any:
    log: list[int] = []
    kept: Any = Last(log)
    try:
        moved(kept, a // b)
    except (TypeError, ZeroDivisionError):
        log.append(2)
    kept = None
    return log, kept


class Alike(type):
    """Classes that are compared and so cannot be hashed."""

    def __eq__(cls, other: object) -> bool:
        return cls is other


class Strange(metaclass=Alike):
    def plus(self, k: Any) -> Any:
        return k * 2


def strange(a: Any, b: Any) -> Any:
    s = Strange()
    c = moved(s, a)
    d = s.plus(b)
    return len(c), d


class Liar:
    """Takes itself for a number."""

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return int

    def __add__(self, other: Any) -> Any:
        return [other]


def liar(a: Any, b: Any) -> Any:
    c = Liar() + a
    return c, b


nameless = ModuleType("nameless")
nameless.x = 3  # type: ignore[attr-defined]
del nameless.__name__


def of_module(a: Any, b: Any) -> Any:
    c = a
    try:
        d = nameless.x + 1
    except AttributeError:
        d = c
    return d


VALUES: list[tuple[Any, Any]] = [
    (1, 2), (7, 3), (2.5, 2), (True, 4), (3, 0), (0, 0.0), ("x", 1), ("x", "yz"), ([1, 2], [3]),
    ([4, 5], 1), ({0: 1}, 0), (None, 1), (1, None), ((1, 2, 3), 1), (b"a", 0), (1 + 2j, 1),
    (SimpleNamespace(real=3), 4), (10**30, 7), (float("nan"), 1.0),
]  # fmt: skip


@pytest.mark.parametrize(
    "function",
    [
        add,
        nested,
        item,
        attribute,
        method,
        walrus,
        moved,
        called,
        unbound,
        missing,
        unwound,
        dropped,
        strange,
        liar,
    ],
)
def test_values(function: Callable[[Any, Any], Any]) -> None:
    def outcome(call: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
        try:
            return repr(call(a, b))
        except Exception as exc:
            return type(exc).__name__, str(exc)

    def copies() -> list[tuple[Any, Any]]:
        return [(list(a) if type(a) is list else a, b) for a, b in VALUES]

    def entry() -> None:
        for a, b in pairs:
            found.append(outcome(function, a, b))

    expected = [outcome(function, a, b) for a, b in copies()]
    for times in (NEVER, 0):
        pairs, found = copies(), list[Any]()
        with warm_after(times):
            trace_function(entry, [], CHIP, TraceOptions(), "kernel")
        assert found == expected
    assert functions(function) > 0


def test_module_without_a_name() -> None:
    """A native module is known by its name: without one it fails, and where the author sees it."""

    def entry() -> None:
        found.append(of_module(1, 2))

    for times in (NEVER, 0):
        found: list[Any] = []
        with warm_after(times):
            trace_function(entry, [], CHIP, TraceOptions(), "kernel")
        assert found == [1]


def test_globals_that_are_more_than_a_dict() -> None:
    class Names(dict[str, Any]):
        def __getitem__(self, key: str) -> Any:
            value = super().__getitem__(key)
            return value + 100 if key == "number" else value

    names = Names(number=5, found=[])
    exec("def entry():\n    a = number + 0\n    b = number + 0\n    found.append((a, b))", names)
    entry = names["entry"]
    for times in (NEVER, 0):
        with warm_after(times):
            trace_function(entry, [], CHIP, TraceOptions(), "kernel")
    entry()
    assert names["found"] == [(105, 105)] * 3


@pytest.mark.parametrize("name", ["class", "\N{LATIN SMALL LIGATURE FI}x", "a b"])
def test_names_that_are_no_text(name: str) -> None:
    module = ast.parse("def entry():\n    a = kept.name\n    b = a + a\n    found.append(b)")
    (attribute,) = (node for node in ast.walk(module) if getattr(node, "attr", "") == "name")
    attribute.attr = name  # type: ignore[attr-defined]
    names: dict[str, Any] = {"kept": SimpleNamespace(**{name: 3}), "found": []}
    exec(compile(module, "<made>", "exec"), names)
    for times in (NEVER, 0):
        with warm_after(times):
            trace_function(names["entry"], [], CHIP, TraceOptions(), "kernel")
    assert names["found"] == [6, 6]
    assert functions(names["entry"]) > 0


# -- runtime values ------------------------------------------------------------------------------


def traced(kernel: Callable[..., None]) -> tuple[str, list[Any]]:
    """The trace and the places of its operations, or what is wrong with the kernel."""
    args = [Argument("out", GlobalPointerType(int32)), Argument("n", int32, 5)]
    args.append(Argument("f", float32, 0.5))
    try:
        trace = trace_function(kernel, args, CHIP, TraceOptions(), "kernel").trace
    except KernelError as exc:
        return str(exc), []
    return trace.dump(), [node.site for node in trace.walk() if isinstance(node, Op)]


def usual(out: Any, n: Any, f: Any) -> None:
    gm = asc.GlobalTensor()
    gm.set_global_buffer(out)
    pipe = asc.TPipe()
    queue = asc.TQue(asc.TPosition.VECIN, 2)
    pipe.init_buffer(queue, 2, 64 * gm.dtype.sizeof())
    for k in asc.static_range(3):
        tile = queue.alloc_tensor(gm.dtype)
        asc.data_copy(tile, gm[k * 64 :], 64)
        queue.enque(tile)
        again = queue.deque(int32)
        asc.adds(again, again, k + 1, 64)
        asc.adds(again, again, n + k, 64)
        asc.duplicate(
            again,
            (last := n * k) + last,
            16,
        )
        queue.free_tensor(again)


def by_value(out: Any, n: Any, f: Any) -> None:
    gm = asc.GlobalTensor()
    gm.set_global_buffer(out)
    for k in range(3):
        gm.set_value(k, 1)
        gm.set_value(k, n)
        gm.set_value(n, k)
        gm[n : n + 2].set_value(0, gm(k) + int(f))
        gm[n] = k
        m = n if k else 7
        p = m < 3
        gm.set_value(1, p)
        gm.set_value(0, m - k)


def objects(out: Any, n: Any, f: Any) -> None:
    gm = asc.GlobalTensor()
    gm.set_global_buffer(out)
    kept = SimpleNamespace(gm=gm, step=n)
    for k in range(3):
        kept.gm.set_value(k, kept.step)
        kept.step = kept.step + k
        kept.gm.set_value(value=k, index=n)
        add(kept.step, k)
        (kept.gm if k else gm).set_value(add(k, n), min(k, 2))


def branches(out: Any, n: Any, f: Any) -> None:
    gm = asc.GlobalTensor()
    gm.set_global_buffer(out)
    total: Any = 0
    for k in asc.range(n):
        if n > k:
            total = total + k
            gm.set_value(k, total)
        else:
            total = total - 1
    while total > 0:
        total = total - n
        gm.set_value(0, total)


def poisoned(out: Any, n: Any, f: Any) -> None:
    gm = asc.GlobalTensor()
    gm.set_global_buffer(out)
    late: Any = "x" if n > 3 else 2
    gm.set_value(
        0,
        late,
    )


def poisoned_operand(out: Any, n: Any, f: Any) -> None:
    late: Any = "x" if n > 3 else 2
    late = late + 1


def poisoned_object(out: Any, n: Any, f: Any) -> None:
    late: Any = "x" if n > 3 else 2
    late.upper()


def poisoned_name(out: Any, n: Any, f: Any) -> None:
    late: Any = "x" if n > 3 else 2
    other = late
    print(other)


def no_overload(out: Any, n: Any, f: Any) -> None:
    gm = asc.GlobalTensor()
    gm.set_global_buffer(out)
    gm.set_value(0, n)
    gm.set_value(
        f,
        "text",
    )


def not_allowed(out: Any, n: Any, f: Any) -> None:
    gm = asc.GlobalTensor()
    gm.set_global_buffer(out)
    pipe = asc.TPipe()
    queue = asc.TQue(asc.TPosition.VECIN, 1)
    pipe.init_buffer(queue, 1, 1024)
    tile = queue.alloc_tensor(int32)
    asc.adds(tile, tile, 1, 64)
    asc.adds(tile[8:], tile[0:], 1, 64)


def no_attribute(out: Any, n: Any, f: Any) -> None:
    gm = asc.GlobalTensor()
    gm.set_value(0, gm.no_such_attribute)


def no_function(out: Any, n: Any, f: Any) -> None:
    gm = asc.GlobalTensor()
    asc.no_such_function(gm, n)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "kernel",
    [usual, by_value, objects, branches, poisoned, poisoned_operand, poisoned_object,
     poisoned_name, no_overload, not_allowed, no_attribute, no_function],
)  # fmt: skip
def test_runtime_values(kernel: Callable[..., None]) -> None:
    with warm_after(NEVER):
        expected = traced(kernel)
    assert functions(kernel) == 0
    with warm_after(0):
        # Operations know the types of their arguments the second time.
        assert [traced(kernel), traced(kernel)] == [expected, expected]
    assert functions(kernel) > 0


def test_texts_of_refusals() -> None:
    with warm_after(0):
        assert "AT0101: `late` is 'x' or 2, depending on a runtime value" in traced(poisoned)[0]
        assert "AT0117: adds" in traced(not_allowed)[0]
        assert (
            "AT0106: GlobalTensor.set_value(f, 'text') fits no overload" in traced(no_overload)[0]
        )


# -- when ----------------------------------------------------------------------------------------


def test_a_program_becomes_warm_by_running() -> None:
    def helper(k: int) -> int:
        m = k + 1
        return m

    def entry() -> None:
        for k in asc.static_range(rounds):
            helper(k)

    with warm_after(WARM):
        rounds = WARM
        trace_function(entry, [], CHIP, TraceOptions(), "kernel")
        assert functions(helper) == 0
        rounds = 1
        trace_function(entry, [], CHIP, TraceOptions(), "kernel")
        assert functions(helper) == 1


def test_a_loop_becomes_warm_while_it_runs() -> None:
    def entry() -> None:
        total = 0
        k = 0
        while k < 2 * WARM:
            total = total + k * 2
            k = k + 1
        found.append(total)

    found: list[int] = []
    with warm_after(WARM):
        trace_function(entry, [], CHIP, TraceOptions(), "kernel")
    assert found == [2 * WARM * (2 * WARM - 1)]
    assert functions(entry) > 0


def test_watched_while_functions_are_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """As when one thread traces a function and another one comes to a generator in it."""

    def entry() -> None:
        k = 1
        total = k + 1
        found.append(total)

    def meanwhile(*args: Any) -> Any:
        made.append(straighten(*args))
        program_of(entry.__code__).watch(step)
        return made[-1]

    found: list[int] = []
    made: list[Any] = []
    monkeypatch.setattr(program, "straighten", meanwhile)
    with warm_after(0):
        trace_function(entry, [], CHIP, TraceOptions(), "kernel")
    assert found == [2]
    assert made[0] != []
    assert {op[1] for op in program_of(entry.__code__).ops} == {step}


def test_a_watched_program_has_single_steps() -> None:
    def guarded(log: list[int]) -> Any:
        try:
            yield 1
        finally:
            log.append(7)

    def entry() -> None:
        log: list[int] = []
        for k in range(4):
            total = k + 1
            next(guarded(log))
            seen = total + len(log) * 10
            found.append(seen)

    found: list[int] = []
    with warm_after(0):
        trace_function(entry, [], CHIP, TraceOptions(), "kernel")
    assert found == [11, 22, 33, 44]
    assert functions(entry) == 0
