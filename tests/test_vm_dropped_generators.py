"""A generator dropped while it stands in a `try` or `with` is closed at once, as in CPython.

Every kernel stores a trail of what ran; CPython running the same function says what is right.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from asctrace.tracer.diagnostics import KernelError
from tests.test_vm_regressions import run

Put = Callable[[Any], None]
CASES: list[Callable[[Put, Any, Any], Any]] = []
INPUTS = [(0, 0), (1, 2), (3, 1), (5, 5)]


def case(function: Callable[[Put, Any, Any], Any]) -> Callable[[Put, Any, Any], Any]:
    """A kernel to compare."""
    CASES.append(function)
    return function


def numbers(put: Put, start: int = 0) -> Iterator[int]:
    """Three numbers, and a sign when it ends."""
    try:
        for k in range(3):
            yield start + k
    finally:
        put(90 + start)


@case
def break_out(put: Put, n: Any, m: Any) -> None:
    for k in numbers(put):
        put(k)
        if k == 1:
            break
    put(7)


@case
def expression_statement(put: Put, n: Any, m: Any) -> None:
    put(next(numbers(put)))
    put(7)


@case
def rebound(put: Put, n: Any, m: Any) -> None:
    g: Any = numbers(put)
    put(next(g))
    g = 5
    put(g)


@case
def deleted(put: Put, n: Any, m: Any) -> None:
    g = numbers(put)
    h = g
    next(g)
    del g
    put(1)
    del h
    put(2)


@case
def never_started(put: Put, n: Any, m: Any) -> None:
    g: Any = numbers(put)
    g = None
    put(g is None)


@case
def local_of_a_helper(put: Put, n: Any, m: Any) -> None:
    def helper() -> int:
        g = numbers(put)
        return next(g)

    put(helper())
    put(7)


@case
def argument_of_a_helper(put: Put, n: Any, m: Any) -> None:
    def helper(g: Iterator[int]) -> None:
        put(next(g))
        del g
        put(8)

    helper(numbers(put))
    put(7)


@case
def kept_by_the_kernel_until_its_end(put: Put, n: Any, m: Any) -> None:
    g = numbers(put)
    put(next(g))
    put(7)


@case
def in_a_list(put: Put, n: Any, m: Any) -> None:
    box = [numbers(put), numbers(put, 3)]
    for g in box:
        put(next(g))
    del g
    box.pop()
    put(1)
    box.clear()
    put(2)


@case
def in_an_attribute(put: Put, n: Any, m: Any) -> None:
    class Holder:
        def __init__(self) -> None:
            self.source: Any = numbers(put)

    holder = Holder()
    put(next(holder.source))
    holder.source = None
    put(1)


@case
def in_a_closure(put: Put, n: Any, m: Any) -> None:
    def make() -> Callable[[], int]:
        g = numbers(put)
        return lambda: next(g)

    take: Any = make()
    put(take())
    put(take())
    take = None
    put(1)


@case
def held_by_zip(put: Put, n: Any, m: Any) -> None:
    put(len(list(zip(numbers(put), numbers(put, 3), strict=True))))
    for a, b in zip(numbers(put), numbers(put, 3)):  # noqa: B905
        put(a + b)
        break
    put(7)


@case
def delegated(put: Put, n: Any, m: Any) -> None:
    def outer() -> Iterator[int]:
        try:
            yield from numbers(put)
        finally:
            put(50)

    for k in outer():
        put(k)
        break
    put(7)


@case
def delegated_without_a_handler(put: Put, n: Any, m: Any) -> None:
    def outer() -> Iterator[int]:
        for k in numbers(put):
            put(k)
            yield k

    for k in outer():
        put(k)
        break
    put(7)


@case
def closed_by_hand(put: Put, n: Any, m: Any) -> None:
    g = numbers(put)
    next(g)
    g.close()  # type: ignore[attr-defined]
    put(1)
    del g
    put(2)


@case
def thrown_into_a_delegate(put: Put, n: Any, m: Any) -> None:
    def inner() -> Iterator[int]:
        try:
            yield 1
        except ValueError:
            put(60)
            yield 2

    def outer() -> Iterator[int]:
        yield from inner()
        yield 3

    g: Any = outer()
    put(next(g))
    put(g.throw(ValueError()))
    put(next(g))


@case
def an_exception_leaves_the_loop(put: Put, n: Any, m: Any) -> None:
    try:
        for k in numbers(put):
            raise ValueError(k)
    except ValueError:
        put(5)
    put(6)


@case
def an_exception_leaves_a_helper(put: Put, n: Any, m: Any) -> None:
    def helper() -> None:
        g = numbers(put)
        next(g)
        raise ValueError

    try:
        helper()
    except ValueError:
        put(5)
    put(6)


@case
def a_context_manager(put: Put, n: Any, m: Any) -> None:
    @contextlib.contextmanager
    def section(k: int) -> Iterator[int]:
        put(k)
        try:
            yield k + 1
        finally:
            put(k + 2)

    with section(10) as a, section(20) as b:
        put(a + b)
    for _ in range(2):
        with section(30):
            break


@case
def in_one_arm(put: Put, n: Any, m: Any) -> None:
    if n > 2:
        for k in numbers(put):
            put(k)
            break
    else:
        put(next(numbers(put, 3)))
    put(7)


@case
def in_a_runtime_loop(put: Put, n: Any, m: Any) -> None:
    for i in range(n):
        for k in numbers(put):
            put(k + i)
            break
    put(7)


@case
def return_under_a_runtime_condition(put: Put, n: Any, m: Any) -> None:
    def helper() -> int:
        for k in numbers(put):
            if n > k:
                return k
        return 9

    put(helper())


@case
def break_under_a_runtime_condition(put: Put, n: Any, m: Any) -> None:
    for k in numbers(put):
        put(k)
        if n > k:
            break
    put(7)


@pytest.mark.parametrize("kernel", CASES, ids=lambda k: k.__name__)
def test_closed_as_by_cpython(kernel: Callable[..., None]) -> None:
    for n, m in INPUTS:
        expected: list[int] = []
        kernel(lambda v, to=expected: to.append(int(v)), n, m)
        assert run(kernel, n, m) == expected, (n, m)


def dropped_in_one_arm(put: Put, n: Any, m: Any) -> None:
    g: Any = numbers(put)
    put(next(g))
    if n > 2:
        g = None
    put(7)


def test_dropped_on_some_ways_is_refused() -> None:
    with pytest.raises(KernelError) as info:
        run(dropped_in_one_arm, 1, 2)
    (finding,) = info.value.findings
    assert finding.code == "AT0303"
    assert finding.message.startswith("a generator is dropped here that was advanced under")
    assert len(finding.spans) == 2


def test_a_finally_under_a_runtime_condition_is_refused() -> None:
    def source(put: Put, n: Any) -> Iterator[int]:
        try:
            yield 1
        finally:
            if n > 2:
                put(n)
            else:
                put(1)

    def kernel(put: Any, n: Any, m: Any) -> None:
        put(next(source(put, n)))

    with pytest.raises(KernelError) as info:
        run(kernel, 1, 2)
    (finding,) = info.value.findings
    assert finding.code == "AT0303"
    assert finding.message == (
        "what a generator does when it is closed depends on a runtime condition"
    )
    assert len(finding.spans) == 2
