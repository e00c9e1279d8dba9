"""Programs that once came out wrong, most of them found by tests/fuzz.py.

Each kernel stores what it computes; the expected values are what Python says.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable
from typing import Any, ClassVar
from unittest.mock import Mock

import numpy as np
import pytest

import asctrace as asc
from asctrace.runtime.simulator import compile_trace, simulate
from asctrace.tracer.chip import chip
from asctrace.tracer.diagnostics import KernelError, span_of
from asctrace.tracer.language import tensor
from asctrace.tracer.language.dtypes import int32
from asctrace.tracer.language.types import GlobalPointerType
from asctrace.tracer.trace import Op
from asctrace.tracer.vm import trace_function
from asctrace.tracer.vm.options import Argument, TraceOptions

OUT = GlobalPointerType(int32)


def run(kernel: Callable[..., None], n: int = 0, m: int = 0) -> list[int]:
    """What a kernel stores through `put(value)`, its first parameter, in order."""

    def entry(out: Any, n: Any, m: Any) -> None:
        gm = asc.GlobalTensor()
        gm.set_global_buffer(out)

        def put(value: Any) -> None:
            place = gm.get_value(0)
            gm.set_value(1 + place, value)
            gm.set_value(0, place + 1)

        kernel(put, n, m)

    args = [Argument("out", OUT), Argument("n", int32, n), Argument("m", int32, m)]
    result = trace_function(entry, args, chip("Ascend910B1"), TraceOptions(), "kernel")
    out = np.zeros(64, np.int32)
    simulate(compile_trace(result.trace), [out, n, m], 1)
    return [int(v) for v in out[1 : 1 + out[0]]]


def in_python(kernel: Callable[..., None], n: int, m: int) -> list[int]:
    """The same where the kernel runs as Python."""
    found: list[int] = []
    kernel(found.append, n, m)
    return found


def concrete(function: Callable[[], Any]) -> Any:
    """What a function returns in the VM."""
    box: list[Any] = []

    def entry() -> None:
        box.append(function())

    trace_function(entry, [], chip("Ascend910B1"), TraceOptions(), "kernel")
    return box[0]


# -- conditions ----------------------------------------------------------------------------------


def test_chained_comparison_in_a_conditional_expression() -> None:
    def kernel(put: Any, n: Any, m: Any) -> None:
        put(n if (n < m < 7) else 20)

    assert [run(kernel, n, m) for n, m in ((1, 2), (2, 1), (1, 9))] == [[1], [20], [20]]


def test_while_with_a_folded_condition_inside_try() -> None:
    def kernel(put: Any, n: Any, m: Any) -> None:
        fuel = n
        try:
            while (m < 0 or n > 3) and fuel:
                fuel -= 1
        finally:
            put(fuel)

    assert [run(kernel, n, m) for n, m in ((5, 1), (2, -1), (2, 1))] == [[0], [0], [2]]


def test_values_of_and_and_or() -> None:
    def kernel(put: Any, n: Any, m: Any) -> None:
        put(n or m or 5)
        put(n and m and 5)
        put((n > 1) or ((m > 1) and (n < m)))
        put((n > 1) and ((m > 1) or (n < m)))
        put((not n < 1) or (m > 1 and n > m) or m < -5)

    for n, m in ((0, 0), (3, 0), (0, 4), (2, 3), (1, 9), (-1, -7)):
        assert run(kernel, n, m) == [
            n or m or 5, n and m and 5, (n > 1) or ((m > 1) and (n < m)),
            (n > 1) and ((m > 1) or (n < m)), (not n < 1) or (m > 1 and n > m) or m < -5,
        ]  # fmt: skip


def test_loop_index_as_condition() -> None:
    def kernel(put: Any, n: Any, m: Any) -> None:
        for i in asc.range(n):
            if i:
                put(i)

    assert run(kernel, 3) == [1, 2]


def test_chained_assertion_in_an_unrolled_loop() -> None:
    def kernel(put: Any, n: Any, m: Any) -> None:
        for e in [3]:
            # What an assertion is; pytest rewrites those of test modules.
            if not -9 <= n <= 9:
                raise AssertionError(f"bad {n}")
            put(e)

    assert run(kernel, 2) == [3]
    with pytest.raises(KernelError, match="bad"):
        run(kernel, 10)


def test_assertion_passes_a_finally_with_a_try_of_its_own() -> None:
    def kernel(put: Any, n: Any, m: Any) -> None:
        try:
            if not -1000 <= n <= 1000:
                raise AssertionError("far")
        finally:
            try:
                if n < m < 9:
                    put(1)
            except Exception:
                put(2)
        put(n)

    assert [run(kernel, n, m) for n, m in ((3, 5), (7, 5), (3, 10))] == [[1, 3], [7], [3]]
    with pytest.raises(KernelError, match="far"):
        run(kernel, 1001)


# -- objects under runtime control ---------------------------------------------------------------


def test_object_made_before_an_early_return() -> None:
    class Box:
        def __init__(self, value: Any) -> None:
            self.value = value

    def helper(n: Any, m: Any) -> Any:
        if n > 0:
            box = Box(m)
            if m > 0:
                return box.value + 1
            box.value = 5
            return box.value
        return 7

    def kernel(put: Any, n: Any, m: Any) -> None:
        put(helper(n, m))

    assert [run(kernel, n, m) for n, m in ((1, 3), (1, -3), (-1, 0))] == [[4], [5], [7]]


def test_object_made_in_an_arm_and_changed_on_one_of_its_ways() -> None:
    class Box:
        def __init__(self, a: Any, b: Any) -> None:
            self.parts = [a, b]

    def kernel(put: Any, n: Any, m: Any) -> None:
        for _ in range(1):
            if n < m:
                box = Box(n + n, n)
                if n < 0:
                    put(box.parts[1])
                    break
                box.parts[1] = (n + m) % 97
                put(box.parts[1])
            else:
                put(n)
                put(m)

    assert [run(kernel, n, m) for n, m in ((3, 5), (-1, 5), (5, 3))] == [[8], [-1], [5, 3]]


def test_list_made_in_a_match_arm_that_returns() -> None:
    def kernel(put: Any, n: Any, m: Any) -> None:
        match n:
            case 0:
                return
            case 1 | 3:
                rows = [k * m for k in (2, 3)]
                put(rows[1])
        put(9)

    assert [run(kernel, n, 4) for n in (0, 1, 2)] == [[], [12, 9], [9]]


def test_lists_made_in_nested_arms_meet() -> None:
    def kernel(put: Any, n: Any, m: Any) -> None:
        if (n < 3) if m > 0 else (m < -5):  # noqa: SIM108
            row = [-n, n]
        else:
            row = [n, m]
        put(row[0])
        put(row[1])

    assert [run(kernel, n, m) for n, m in ((1, 2), (4, 2), (1, -9), (1, -1))] == [
        [-1, 1], [4, 2], [-1, 1], [1, -1],
    ]  # fmt: skip


def test_lists_shared_on_one_path_only_are_not_merged_apart() -> None:
    def kernel(put: Any, n: Any, m: Any) -> None:
        if n > 0:
            a = b = [1]
        else:
            a = [2]
            b = [3]
        a[0] = m
        put(b[0])

    with pytest.raises(KernelError, match="`b` is"):
        run(kernel, 1, 5)


def test_break_out_of_a_generator() -> None:
    def numbers(n: Any) -> Any:
        for k in [1, 2, 3]:
            yield k * n

    def kernel(put: Any, n: Any, m: Any) -> None:
        for v in numbers(n):
            if v > m:
                break
            put(v)
        for k, v in enumerate([n, m, 3]):
            if v > 2:
                break
            put(k)

    assert run(kernel, 2, 4) == [2, 4, 0]
    assert run(kernel, 2, 9) == [2, 4, 6, 0]


def test_going_on_with_an_iterator_that_differs() -> None:
    def kernel(put: Any, n: Any, m: Any) -> None:
        numbers = (k for k in [1, 2, 3])
        if n > 0:
            next(numbers)
        put(next(numbers))

    with pytest.raises(KernelError, match="advanced under a runtime condition"):
        run(kernel)


def test_generator_over_a_list_in_a_loop_that_unrolls() -> None:
    def kernel(put: Any, n: Any, m: Any) -> None:
        numbers = (k for k in [1, 2, 3])
        for _ in range(3):
            put(next(numbers) + n)

    assert run(kernel, 10) == [11, 12, 13]


def test_closure_variable_after_a_while_loop() -> None:
    def kernel(put: Any, n: Any, m: Any) -> None:
        fuel = 2
        while fuel > 0 and n != 5:
            fuel -= 1

        def read() -> Any:
            return fuel

        put(read())

    assert [run(kernel, n) for n in (1, 5)] == [[0], [2]]


# -- signs ---------------------------------------------------------------------------------------


def test_modulo_of_a_list_element_that_a_loop_made_negative() -> None:
    def kernel(put: Any, n: Any, m: Any) -> None:
        row = [1]
        for _ in range(n):
            row[0] = -1
        put(row[0] % 7)

    assert [run(kernel, n) for n in (0, 2)] == [[1], [6]]


def test_signs_of_loop_variables_that_depend_on_each_other() -> None:
    def kernel(put: Any, n: Any, m: Any) -> None:
        a = b = c = 1
        for _ in range(n):
            put(a % 5)
            a, b, c = b, c, -3

    assert run(kernel, 4) == [1, 1, 1, 2]


# -- plain Python --------------------------------------------------------------------------------


def test_super_in_a_class_with_getattr() -> None:
    class Base:
        def __init__(self, x: int) -> None:
            self.x = x

    class Derived(Base):
        def __init__(self) -> None:
            super().__init__(4)

        def __getattr__(self, name: str) -> str:
            return name

    def function() -> int:
        return Derived().x

    assert concrete(function) == 4


def test_operators_of_a_subclass_that_does_not_override_the_reflected_one() -> None:
    class Base:
        def __add__(self, other: Any) -> str:
            return "add"

        def __radd__(self, other: Any) -> str:
            return "radd"

    class Derived(Base):
        pass

    def function() -> list[str]:
        one: Any = [1]
        return [Base() + Derived(), Derived() + Base(), one + Base()]

    assert concrete(function) == ["add", "add", "radd"]


def test_not_equal_by_eq() -> None:
    class Box:
        def __init__(self, value: Any) -> None:
            self.value = value

        def __eq__(self, other: object) -> Any:
            return self.value == other.value  # type: ignore[attr-defined]

    def kernel(put: Any, n: Any, m: Any) -> None:
        put(Box(n) != Box(m))

    assert [run(kernel, n, 2) for n in (1, 2)] == [[1], [0]]


def test_augmented_assignment_of_wrong_types() -> None:
    def function() -> str:
        x: Any = 1
        try:
            x += "a"
        except TypeError as exc:
            return str(exc)
        return "nothing"

    assert concrete(function) == function()


def _message(call: Callable[[], Any]) -> str:
    try:
        call()
    except (TypeError, NameError) as exc:
        return str(exc)
    return "nothing"


def test_message_of_a_starred_number() -> None:
    def function() -> str:
        try:
            return str([1, *2.5])  # type: ignore[misc]
        except TypeError as exc:
            return str(exc)

    assert concrete(function) == "Value after * must be an iterable, not float" == function()


def test_messages_of_wrong_calls() -> None:
    def exact(a: Any, /, b: Any = 1, *, c: Any) -> Any:
        return a, b, c

    twice = {"c": 2}
    wrong: list[Any] = [
        lambda: exact(1, 2, 3, c=1),  # type: ignore[misc]
        lambda: exact(1, 2, 3),  # type: ignore[misc, call-arg]
        lambda: exact(a=1, c=2),  # type: ignore[call-arg]
        lambda: exact(1, c=1, **twice),
        lambda: exact(*3),  # type: ignore[misc]
        lambda: exact(**3),  # type: ignore[arg-type]
    ]

    def function() -> list[str]:
        return [_message(call) for call in wrong]

    assert concrete(function) == function()


def test_unbound_variable_that_a_closure_shares() -> None:
    def late() -> Any:
        if _message is None:
            x = 1
        (lambda: x)  # noqa: B018
        return x

    def function() -> str:
        return _message(late)

    assert concrete(function) == function()


def test_value_without_a_name_that_is_of_two_types() -> None:
    # CPython 3.12 writes what is last in a function twice, once for each choice: so it is not last.
    def truth(put: Any, n: Any, m: Any) -> None:
        put(bool(n if m > 0 else 0.5))
        put(1)

    def identity(put: Any, n: Any, m: Any) -> None:
        put((None if n > 0 else 3) is None)
        put(1)

    def kind(put: Any, n: Any, m: Any) -> None:
        put(isinstance((1.5 if n > 0 else "a"), float))
        put(1)

    for kernel in (truth, identity, kind):
        with pytest.raises(KernelError, match="depending on a runtime value"):
            run(kernel)


def test_raise_behind_a_loop_that_its_handler_takes() -> None:
    def kernel(put: Any, n: Any, m: Any) -> None:
        left = n % 5
        while left > 0:
            left -= 1
        put(left)
        try:
            raise ValueError("taken below")
        except ValueError:
            put(7)
            return

    assert [run(kernel, n) for n in (0, 3)] == [[0, 7], [0, 7]]


def test_assertion_in_a_loop_is_no_way_out() -> None:
    def counted(put: Any, n: Any, m: Any) -> None:
        k = 0
        while k < 3:
            if n <= -50:
                raise AssertionError("pytest rewrites `assert` statements of its modules")
            k += 1
            put(k)

    def endless(put: Any, n: Any, m: Any) -> None:
        k = n
        while True:
            if n >= 100:
                raise AssertionError
            if k < 0:
                break
            k -= 1
        put(k)

    assert run(counted, 1) == [1, 2, 3]
    assert run(endless, 4) == [-1]


def test_assertion_that_pytest_rewrites() -> None:
    def kernel(put: Any, n: Any, m: Any) -> None:
        assert n > -50
        assert m in (0, 5), "neither"
        put(n)

    assert run(kernel, 1, 5) == [1]
    with pytest.raises(KernelError, match="AT0205: AssertionError: neither"):
        run(kernel, 1, 6)


def test_change_before_an_inner_loop_reaches_the_next_iteration() -> None:
    class State:
        def __init__(self) -> None:
            self.total = 0

    def kernel(put: Any, n: Any, m: Any) -> None:
        state = State()
        for i in range(n):
            state.total += 1
            for j in range(i):
                if j == m:
                    put(-state.total)
                    return
        put(state.total)

    assert run(kernel, 4, 9) == [4]
    assert run(kernel, 4, 1) == [-3]


def test_break_before_a_member_changes() -> None:
    class State:
        def __init__(self) -> None:
            self.total = 0

    def kernel(put: Any, n: Any, m: Any) -> None:
        state = State()
        for i in range(n):
            if i == m:
                break
            state.total += 2
        put(state.total)

    assert run(kernel, 5, 3) == [6]
    assert run(kernel, 5, 9) == [10]


def test_break_deep_in_an_arm_of_a_loop_run_on_constants() -> None:
    def kernel(put: Any, n: Any, m: Any) -> None:
        fuel = 3
        while fuel > 0:
            fuel -= 1
            put(fuel)
            if n == 1:
                put(10)
            elif n == fuel:
                continue
            else:
                if m > 2:
                    put(20)
                else:
                    with contextlib.suppress(KeyError):
                        put(30)
                        break
                put(40)
        put(50)

    for n, m in ((1, 1), (0, 9), (0, 1), (2, 1), (5, 5)):
        stored: list[int] = []
        kernel(stored.append, n, m)
        assert run(kernel, n, m) == stored


def test_constant_that_a_loop_makes_a_float() -> None:
    def kernel(put: Any, n: Any, m: Any) -> None:
        total = 1
        for i in range(n):
            total += i * 0.5
        put(int(total * 4))

    assert [run(kernel, n) for n in (0, 1, 4)] == [[4], [4], [16]]


def test_an_assertion_behind_a_loop_that_may_return() -> None:
    def kernel(out: Any, n: Any, m: Any) -> None:
        gm = asc.GlobalTensor()
        gm.set_global_buffer(out)
        fuel = 1
        while (m > 0 if n else (n != 0 and n // n > 0)) and fuel:
            assert -9 <= n <= 9
            if n > 5:
                gm.set_value(1, n)
                return
            n += 1

    args = [Argument("out", OUT), Argument("n", int32, 3), Argument("m", int32, 1)]
    result = trace_function(kernel, args, chip("Ascend910B1"), TraceOptions(), "kernel")
    program = compile_trace(result.trace)
    for n, m, expected in ((0, 0, 0), (3, 0, 0), (3, 1, 6)):
        out = np.zeros(4, np.int32)
        simulate(program, [out, n, m], 1)
        assert out[1] == expected
    with pytest.raises(KernelError, match="AT0205"):
        simulate(program, [np.zeros(4, np.int32), 10, 1], 1)


def test_what_follows_a_loop_that_may_return_is_conditional() -> None:
    seen: list[int] = []

    def kernel(n: Any) -> None:
        for i in range(n):
            if i == 3:
                return
        seen.append(1)

    with pytest.raises(KernelError, match="AT0109"):
        trace_function(
            kernel, [Argument("n", int32, 5)], chip("Ascend910B1"), TraceOptions(), "kernel"
        )
    assert not seen


def test_function_made_in_each_iteration_and_used_on_the_way_out() -> None:
    def kernel(put: Any, n: Any, m: Any) -> None:
        for base in [n + 1, n]:

            def shown(value: Any, base: Any = base) -> None:
                put(value + base)

            for k in [m, m + 1]:
                if k != n:
                    shown(k)
                    return
        put(5)

    for n, m in ((0, 0), (1, 2), (5, 4), (5, 5)):
        stored: list[int] = []
        kernel(stored.append, n, m)
        assert run(kernel, n, m) == stored


def test_exception_caught_in_an_arm_of_an_unrolled_loop() -> None:
    def kernel(put: Any, n: Any, m: Any) -> None:
        for k in [0, 1, 2]:
            if n > k:
                pass
            else:
                try:
                    put(k)
                    raise ValueError(k)
                except ValueError as exc:
                    put(exc.args[0] + 10)
        put(7)

    for n in (0, 2, 5):
        stored: list[int] = []
        kernel(stored.append, n, 0)
        assert run(kernel, n) == stored


def test_iterations_that_follow_in_both_arms() -> None:
    def failing(k: int) -> int:
        if k == 1:
            raise KeyError(k)
        return k

    def kernel(put: Any, n: Any, m: Any) -> None:
        for k in [0, 1, 2]:
            if n > 3:
                put(k)
                continue
            try:
                put(failing(k))
            except KeyError:
                continue
            if m:
                return
        put(7)

    for n, m in ((0, 0), (0, 1), (5, 0), (5, 1)):
        stored: list[int] = []
        kernel(stored.append, n, m)
        assert run(kernel, n, m) == stored


def test_messages_of_what_cannot_be_unpacked() -> None:
    def one(value: Any) -> str:
        try:
            _, _ = value
        except TypeError as exc:
            return str(exc)
        return ""

    def some(value: Any) -> str:
        try:
            _, *_ = value
        except TypeError as exc:
            return str(exc)
        return ""

    expected = "cannot unpack non-iterable float object"
    assert concrete(lambda: one(1.5)) == one(1.5) == expected
    assert concrete(lambda: some(1.5)) == some(1.5) == expected


def test_loop_variables_that_begin_with_an_integral_constant() -> None:
    def swapped(put: Any, n: Any, m: Any) -> None:
        a: Any = n * 0.5
        for b in (1, 2.5, 3):
            left = m
            while (left := left - 1) >= 0:
                a, b = b, a
            put(int(a * 4))

    def in_an_arm(put: Any, n: Any, m: Any) -> None:
        for value in (1, 2.5, 3):
            left = m
            while (left := left - 1) >= 0:
                if n > left:
                    put(int(value * 4))
                    value = n * 0.5
                pair = (value, 1)
                put(int(pair[0] * 4))
            put(int(value * 8))

    for kernel in (swapped, in_an_arm):
        for n, m in ((3, 0), (3, 1), (5, 2), (0, 3)):
            stored: list[int] = []
            kernel(stored.append, n, m)
            assert run(kernel, n, m) == stored


def test_break_of_an_unrolled_loop_to_the_next_round_of_another() -> None:
    def kernel(out: Any, n: Any, m: Any) -> None:
        gm = asc.GlobalTensor()
        gm.set_global_buffer(out)
        for i in range(3):
            for _ in range(1):
                if n:
                    gm.set_value(i, 1)
                elif n and m:
                    break
                elif m < 0:
                    gm.set_value(i, 2)
            else:
                return

    args = [Argument("out", OUT), Argument("n", int32, 3), Argument("m", int32, 1)]
    result = trace_function(kernel, args, chip("Ascend910B1"), TraceOptions(), "kernel")
    program = compile_trace(result.trace)
    for n, m, expected in ((0, 0, [0, 0, 0]), (3, 1, [1, 0, 0]), (0, -1, [2, 0, 0])):
        out = np.zeros(3, np.int32)
        simulate(program, [out, n, m], 1)
        assert out.tolist() == expected


def test_loop_whose_first_iteration_always_returns() -> None:
    def kernel(put: Any, n: Any, m: Any) -> None:
        for i in range(12):
            value = n * 2
            with contextlib.nullcontext():
                put(value + i)
                return
        put(value)

    def longer(put: Any, n: Any, m: Any) -> None:
        for i in asc.range(12):
            value = n * 2
            with contextlib.nullcontext():
                put(value + i)
                return
        put(value)

    for tried in (kernel, longer):
        assert run(tried, 3) == [6]


def test_variables_of_a_loop_that_change_places_on_the_way_out() -> None:
    def swapped(put: Any, n: Any, m: Any) -> None:
        a = 96
        for i in range(6):
            if a < n + i:
                a, m = m, a
                put(a)
                if m > n:
                    break
                put(m)
        put(a)
        put(m)

    def aliased(put: Any, n: Any, m: Any) -> None:
        a = b = 0
        left = n
        while left > 0:
            left -= 1
            b = a
            if left == m:
                a = 50
                break
            if left + m == 4:
                break
            a += left
        put(a)
        put(b)

    def both_from_one(put: Any, n: Any, m: Any) -> None:
        a, b = n, m
        for i in range(4):
            if i == n:
                a = b
                break
            if i == m:
                b = a
                break
            a += 1
            b += 2
        put(a)
        put(b)

    for kernel in (swapped, aliased, both_from_one):
        for n, m in ((0, 0), (100, 3), (95, 200), (3, 1), (6, 2), (9, 9), (2, 3), (5, 0)):
            stored: list[int] = []
            kernel(stored.append, n, m)
            assert run(kernel, n, m) == stored


def test_with_in_a_loop_in_a_loop_over_a_generator() -> None:
    def pair(a: Any, b: Any) -> Any:
        yield a
        yield b

    class Scoped:
        def __init__(self, put: Any, value: Any) -> None:
            self.put, self.value = put, value

        def __enter__(self) -> None:
            self.put(self.value)

        def __exit__(self, *exc: object) -> None:
            self.put(self.value - 1)

    def kernel(put: Any, n: Any, m: Any) -> None:
        for value in pair(n, m):
            fuel = 2
            while ((n if m else value) in (1, 2, 5)) and fuel:
                fuel -= 1
                with Scoped(put, value):
                    if value > m:
                        break

    for n, m in ((0, 0), (1, 0), (1, 1), (5, 2)):
        stored: list[int] = []
        kernel(stored.append, n, m)
        assert run(kernel, n, m) == stored


def test_labels_of_one_round_are_not_those_of_the_next() -> None:
    def kernel(put: Any, n: Any, m: Any) -> None:
        last = {"a": n, "b": 1}

        def helper() -> None:
            for _ in range(12):
                match (n + m) % 4:
                    case 0 if m < n < 9:
                        last["a"] = m
                    case 2 if m > 5:
                        break

        helper()
        put(last["a"])

    for n, m in ((0, 0), (5, 3), (2, 6), (7, 9)):
        stored: list[int] = []
        kernel(stored.append, n, m)
        assert run(kernel, n, m) == stored


def test_way_out_that_a_constant_closes_in_one_arm() -> None:
    on = True

    class Scoped:
        def __init__(self, put: Any, value: Any) -> None:
            self.put, self.value = put, value

        def __enter__(self) -> None:
            self.put(self.value)

        def __exit__(self, *exc: object) -> None:
            self.put(self.value - 1)

    def kernel(put: Any, n: Any, m: Any) -> None:
        for value in [n, m, n + 1]:
            with Scoped(put, value):
                match value % 4:
                    case 0 if on:
                        pass
                    case _:
                        break
        put(m)

    for n, m in ((0, 0), (4, 8), (1, 1), (4, 3)):
        stored: list[int] = []
        kernel(stored.append, n, m)
        assert run(kernel, n, m) == stored


def test_loop_in_an_arm_of_a_loop_run_on_constants() -> None:
    def kernel(put: Any, n: Any, m: Any) -> None:
        fuel = 4
        while True:
            fuel -= 1
            if fuel < 0:
                break
            if m or n:
                put(fuel)
                for k in range(1 % 5):
                    put(k)
            elif n < m < 9:
                put(n)
                break
        put(fuel)

    for n, m in ((0, 0), (1, 0), (0, 3), (-1, 0)):
        stored: list[int] = []
        kernel(stored.append, n, m)
        assert run(kernel, n, m) == stored


def test_reversed_of_the_kernels_own_classes() -> None:
    class Pair:
        def __init__(self, a: int, b: int) -> None:
            self.parts = (a, b)

        def __len__(self) -> int:
            return 2

        def __getitem__(self, k: int) -> int:
            return self.parts[k]

        def __iter__(self) -> Any:
            yield from self.parts

    class Other(Pair):
        def __reversed__(self) -> Any:
            yield 7

    def shown() -> Any:
        return [list(reversed(Pair(1, 2))), list(reversed(Other(1, 2))), list(reversed([3, 4]))]

    assert concrete(shown) == shown() == [[2, 1], [7], [4, 3]]


def test_message_of_a_division_by_zero_in_a_loop() -> None:
    def shown() -> str:
        try:
            return str([k // 0 for k in range(2)])
        except ZeroDivisionError as exc:
            return str(exc)

    assert concrete(shown) == shown()


_OPERATORS = ["+", "-", "*", "/", "//", "%", "@", "**", "<<", ">>", "&", "|", "^"]


@pytest.mark.parametrize("other", [2.5, "x", None])
@pytest.mark.parametrize("op", [*_OPERATORS, *(f"{op}=" for op in _OPERATORS)])
def test_message_of_an_operator(op: str, other: Any) -> None:
    names: dict[str, Any] = {"other": other}
    statement = f"a {op} other" if op.endswith("=") else f"a = a {op} other"
    lines = ("def shown():", " a = 3", " try:", f"  {statement}", "  return a")
    exec("\n".join([*lines, " except TypeError as exc:", "  return str(exc)"]), names)
    assert concrete(names["shown"]) == names["shown"]()


_REFUSED_CALLS = """
min() | max() | min(3) | min(1, 2, default=3) | max([1], [2], default=1) | max(default=1)
min([], foo=1) | max(3, key=abs) | min("a", 3) | min([1, "a"], key=lambda v: v) | min([])
map() | map(abs) | map(abs, 3) | map(abs, [1], key=3) | list(map(3, [1]))
filter(abs) | filter(None, 3) | filter(None, [], 1) | list(filter(3, [1]))
sorted() | sorted(3) | sorted([], foo=1) | sorted([], abs) | sorted([1, "a"], key=lambda v: v)
functools.reduce(abs) | functools.reduce(max, 3) | functools.reduce(max, [])
getattr(3) | getattr(3, 4) | hasattr(3) | hasattr(3, 4) | setattr(3, "a") | delattr(3)
len() | len(3) | len(5, 6) | abs() | abs("x") | divmod(1) | divmod("a", 2) | pow(2) | pow("a", 2)
sum() | sum(3) | sum(["a"], "") | sum([1], b"") | sum([[1], [2]]) | sum([1], start=[])
round() | round("x") | any() | any(3) | all() | all(3) | hash() | hash([])
zip(3) | zip([1], [2], strict=2) and 3 | list(zip([1], [1, 2], strict=True))
enumerate() | enumerate(3) | enumerate([1], "x") | reversed() | reversed(3) | reversed({1})
iter() | iter(3) | iter(3, 4) | next() | next(3) | next([]) | next(iter([]), 1, 2)
isinstance(3) | isinstance(3, 4) | isinstance([], (int, 3)) | type() | type(1, 2)
globals(1) | locals(1) | vars(3) | dir(1, 2) | super(3) | str(1, 2) | bool(1, 2)
int("x") | int([]) | float("x") | float(1, 2) | list(3) | list(1, 2) | tuple(3) | set([[]])
range() | range("x") | range(1, 2, 0) | range(1.5)
"""


@pytest.mark.parametrize("call", re.split(r" \| |\n", _REFUSED_CALLS.strip()))
def test_refusal_of_a_builtin(call: str) -> None:
    names: dict[str, Any] = {"functools": functools}
    lines = ("def shown():", " try:", f"  return repr({call})", " except Exception as exc:")
    exec("\n".join([*lines, "  return type(exc), str(exc)"]), names)
    assert concrete(names["shown"]) == names["shown"]()


def test_map_and_filter_ask_for_iterators_at_once() -> None:
    class Log:
        def __init__(self) -> None:
            self.asked = 0

        def __iter__(self) -> Any:
            self.asked += 1
            return iter([1, 2])

    def shown() -> Any:
        one, two = Log(), Log()
        mapped, kept = map(abs, one), filter(None, two)
        asked = one.asked, two.asked
        return asked, list(mapped), list(kept), one.asked, two.asked

    assert concrete(shown) == shown() == ((1, 1), [1, 2], [1, 2], 1, 1)


def test_message_of_a_keyword_given_twice() -> None:
    def exact(a: int, /, b: int = 1, *, c: int) -> int:
        return a + b + c

    def shown() -> str:
        try:
            return str(exact(1, c=1, **{"c": 2}))  # noqa: PIE804
        except TypeError as exc:
            return str(exc)

    assert concrete(shown) == shown()
    assert shown().endswith("exact() got multiple values for keyword argument 'c'")


def test_message_of_what_is_no_mapping() -> None:
    def shown() -> str:
        try:
            return str({"a": 1, **(3 + 4)})  # type: ignore[dict-item]
        except TypeError as exc:
            return str(exc)

    assert concrete(shown) == shown() == "'int' object is not a mapping"


def test_exception_being_handled_belongs_to_its_way() -> None:
    def kernel(put: Any, n: Any, m: Any) -> None:
        def helper() -> int:
            try:
                raise ValueError(5)
            except ValueError:
                if n > 2:
                    return 1
                put(3)
                try:
                    raise
                except ValueError:
                    put(4)
            return 2

        put(helper())
        for _ in [0, 1]:
            try:
                raise KeyError(5)
            except KeyError:
                if n > 2:
                    continue
                if m > 2:
                    break
                try:
                    raise
                except KeyError:
                    put(6)
        try:
            raise
        except RuntimeError:
            put(7)

    for n, m in ((0, 0), (5, 4), (1, 4), (5, 0)):
        stored: list[int] = []
        kernel(stored.append, n, m)
        assert run(kernel, n, m) == stored


def test_loop_that_an_arm_has_gone_round_is_traced_again() -> None:
    def kernel(put: Any, n: Any, m: Any) -> None:
        fuel = 2
        while (fuel := fuel - 1) >= 0:
            for _ in range(0, 2, 1):
                assert -1000 <= n <= 1000
        put(n + fuel)

    assert run(kernel, 5) == [4]


def test_variable_of_a_loop_that_is_wider_on_the_way_out() -> None:
    def kernel(put: Any, n: Any, m: Any) -> None:
        wide = asc.int64(m)
        for k in asc.range(3):
            if n % 4 == k:
                try:
                    n = wide
                    [][1]
                except LookupError:
                    break
        put(n)

    assert run(kernel, 1, 70) == [70]
    assert run(kernel, 7, 70) == [7]


def test_way_out_of_a_body_is_another_in_each_round() -> None:
    def kernel(put: Any, n: Any, m: Any) -> None:
        for k in range(4):

            def add(value: Any, k: int = k) -> Any:
                return value + n + k

            if add(m) > n > divmod(1, 5)[1]:
                pass
            else:
                for _ in asc.static_range(2):
                    m = add(m)
                else:
                    put(m)
                    return
        put(n)

    assert run(kernel, 3, 0) == [6]
    assert run(kernel, 3, 1) == [3]
    assert run(kernel, 0, 1) == [1]


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("[v for v in 5]", "TypeError: 'int' object is not iterable"),
        ("3 in 5", "TypeError: argument of type 'int' is not iterable"),
        ("[*5]", "TypeError: Value after * must be an iterable, not int"),
        ("asc.int32('x')", "TypeError: int32() takes a number, not 'str'"),
        ("asc.range(1, 2, 0)", "ValueError: range() step must not be zero"),
        ("asc.DataCopyParams(foo=1)", "TypeError: DataCopyParams has no field 'foo'"),
        ("1 << -1", "ValueError: negative shift count"),
        ("n << -1", "ValueError: negative shift count"),
        ("n.foo", "AttributeError: 'runtime scalar' object has no attribute 'foo'"),
        ("n()", "TypeError: 'runtime scalar' object is not callable"),
    ],
)
def test_mistake_of_the_kernel_is_told_from_a_defect(expression: str, message: str) -> None:
    names: dict[str, Any] = {"asc": asc}
    exec(f"def kernel(put, n, m):\n {expression}", names)
    with pytest.raises(KernelError) as caught:
        run(names["kernel"], 1)
    (found,) = caught.value.findings
    assert (found.code, found.message) == ("AT0111", message)


def test_variable_of_a_closure_that_a_loop_gives_its_first_value() -> None:
    def kernel(put: Any, n: Any, m: Any) -> None:
        for k in asc.range(3):
            if n > k:
                bound = n % 5

                def add() -> Any:
                    return bound + m  # noqa: B023

                n = add()
            else:
                pass
        put(n)
        for _ in asc.range(2):
            last = n + 1

            def again() -> Any:
                return last  # noqa: B023

            n = again()
        put(last)

    for n, m in ((7, 1), (1, 9), (-4, 2)):
        assert run(kernel, n, m) == in_python(kernel, n, m)


def test_variable_that_some_ways_through_a_loop_leave_without_a_value() -> None:
    def kernel(put: Any, n: Any, m: Any) -> None:
        for k in asc.range(3):
            if n > k:
                last = n
                continue
            if m > 5:
                continue
        put(last)

    with pytest.raises(KernelError, match="`last` has no value on some of the ways through a loop"):
        run(kernel, 1)


def test_loop_found_to_be_one_while_the_loop_in_it_is_traced_again() -> None:
    def kernel(put: Any, n: Any, m: Any) -> None:
        rounds = 4
        while True:
            rounds -= 1
            if rounds < 0:
                break
            left = n % 5
            while (left := left - 1) >= 0:
                if n < left:
                    put(left)
                elif m < n:
                    break
                else:
                    put(n)
                    return
        put(rounds)

    for n, m in ((7, 1), (1, 9), (-1, -4), (0, 0)):
        assert run(kernel, n, m) == in_python(kernel, n, m)


@pytest.mark.parametrize("defect", ["assert not args", "[][0]"])
def test_defect_of_the_tracer_is_no_mistake_of_the_kernel(
    defect: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names: dict[str, Any] = {"__name__": tensor.__name__}
    exec(f"def broken(*args):\n {defect}", names)
    monkeypatch.setattr(tensor, "_view", names["broken"])

    def entry(out: Any) -> None:
        gm = asc.GlobalTensor()
        gm.set_global_buffer(out)
        gm[4:]

    with pytest.raises(KernelError) as caught:
        trace_function(entry, [Argument("out", OUT)], chip("Ascend910B1"), TraceOptions(), "kernel")
    assert caught.value.findings[0].code == "AT0901"


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        (lambda k, m: "x", "is 0 before a loop and 'x' after an iteration"),
        (lambda k, m: k if k > m else "", "is a runtime int32 or '', depending on a runtime value"),
    ],
)
def test_captured_variables_have_their_names(last: Any, reason: str) -> None:
    def kernel(put: Any, n: Any, m: Any) -> None:
        kept: Any = 0

        def keep(k: Any) -> None:
            nonlocal kept
            kept = last(k, m)

        for k in asc.range(n):
            keep(k)
        put(kept)

    with pytest.raises(KernelError) as caught:
        run(kernel, 3, 1)
    assert [f.message for f in caught.value.findings] == [f"`kept` {reason}"]


def test_place_of_an_argument_behind_a_method() -> None:
    def entry(out: Any, n: Any) -> None:
        gm = asc.GlobalTensor()
        gm.set_global_buffer(out)
        place = 0
        late: Any = "x" if n > 3 else 2
        gm.set_value(
            place,
            late,
        )

    args = [Argument("out", OUT), Argument("n", int32, 4)]
    with pytest.raises(KernelError) as caught:
        trace_function(entry, args, chip("Ascend910B1"), TraceOptions(), "kernel")
    (found,) = caught.value.findings
    assert found.message == "`late` is 'x' or 2, depending on a runtime value"
    assert found.spans[0].line == entry.__code__.co_firstlineno + 7


def test_generators_run_on_from_where_they_are_asked() -> None:
    def numbers(gm: Any) -> Any:
        k = 0
        while True:
            gm.set_value(k, k)
            k = k + 1
            yield k

    def entry(out: Any) -> None:
        gm = asc.GlobalTensor()
        gm.set_global_buffer(out)
        each = numbers(gm)
        next(each)
        next(each)

    result = trace_function(
        entry, [Argument("out", OUT)], chip("Ascend910B1"), TraceOptions(), "kernel"
    )
    sites = [op.site for op in result.trace.walk() if isinstance(op, Op) and len(op.args) == 3]
    lines = [span_of(site[2]).line for site in sites[-2:]]  # type: ignore[union-attr, index]
    assert lines == [entry.__code__.co_firstlineno + 4, entry.__code__.co_firstlineno + 5]


class Patched(asc.GlobalTensor):
    """A tensor of a kernel's own."""


def test_methods_of_tensors_of_the_kernels_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def entry(out: Any) -> None:
        gm = Patched()
        gm.set_global_buffer(out)
        gm.set_value(0, 5)

    def one_more(self: Any, index: Any, value: Any) -> None:
        asc.GlobalTensor.set_value(self, index, value + 1)

    args = [Argument("out", OUT)]
    first = trace_function(entry, args, chip("Ascend910B1"), TraceOptions(), "kernel")
    assert first.check()
    monkeypatch.setattr(Patched, "set_value", one_more, raising=False)
    second = trace_function(entry, args, chip("Ascend910B1"), TraceOptions(), "kernel")
    assert "GlobalTensor.set_value(%gm, 0, 5)" in first.trace.dump()
    assert "GlobalTensor.set_value(%gm, 0, 6)" in second.trace.dump()
    assert not first.check()


class Base:
    """What a kernel asks of a class; `Derived` has it by inheritance."""

    def __init__(self) -> None:
        self.made = 1

    def method(self) -> int:
        return 1

    @property
    def value(self) -> int:
        return 1

    @classmethod
    def of_class(cls) -> int:
        return 1

    @staticmethod
    def alone() -> int:
        return 1

    def __getattr__(self, name: str) -> int:
        return 1

    def __add__(self, other: Any) -> int:
        return 1

    def __getitem__(self, key: Any) -> int:
        return 1

    def __call__(self) -> int:
        return 1

    def __len__(self) -> int:
        return 1

    def __contains__(self, item: Any) -> bool:
        return True

    def __lt__(self, other: Any) -> bool:
        return True


class Derived(Base):
    """Gets methods of its own later."""


GUARDED: dict[str, Callable[[Any], Any]] = {
    "__init__": lambda d: Derived().made,
    "method": lambda d: d.method(),
    "value": lambda d: d.value,
    "of_class": lambda d: d.of_class() + Derived.of_class(),
    "alone": lambda d: d.alone(),
    "__getattr__": lambda d: d.anything,
    "__add__": lambda d: d + 1,
    "__getitem__": lambda d: d[0],
    "__call__": lambda d: d(),
    "__len__": lambda d: len(d) if d else 0,
    "__contains__": lambda d: 1 in d,
    "__lt__": lambda d: d < 1,
}


@pytest.mark.parametrize("where", [Base, Derived])
@pytest.mark.parametrize("name", GUARDED)
def test_classes_that_change_later(name: str, where: type, monkeypatch: pytest.MonkeyPatch) -> None:
    use, derived = GUARDED[name], Derived()

    def entry(out: Any) -> None:
        gm = asc.GlobalTensor()
        gm.set_global_buffer(out)
        gm.set_value(0, int(use(derived)))

    args = [Argument("out", OUT)]
    first = trace_function(entry, args, chip("Ascend910B1"), TraceOptions(), "kernel")
    names: dict[str, Any] = {}
    condition = " and ".join(first.check.condition(lambda obj: _named(names, obj)))
    assert first.check()
    assert eval(condition, names)
    monkeypatch.setattr(where, name, lambda self, *rest: 2, raising=False)
    assert not first.check()
    assert not eval(condition, names)


def _named(names: dict[str, Any], obj: Any) -> str:
    names[f"v{len(names)}"] = obj
    return f"v{len(names) - 1}"


class Limits:
    """Has a list that all of its objects share."""

    sizes: ClassVar[list[int]] = [1, 2]


def test_what_objects_have_of_an_outer_class(monkeypatch: pytest.MonkeyPatch) -> None:
    def reads(out: Any) -> None:
        gm = asc.GlobalTensor()
        gm.set_global_buffer(out)
        gm.set_value(0, len(Limits().sizes))

    def writes(out: Any) -> None:
        Limits().sizes.append(3)

    args = [Argument("out", OUT)]
    monkeypatch.setattr(Limits, "sizes", [1, 2])
    first = trace_function(reads, args, chip("Ascend910B1"), TraceOptions(), "kernel")
    assert first.check()
    assert first.cacheable
    assert not trace_function(writes, args, chip("Ascend910B1"), TraceOptions(), "kernel").cacheable
    assert Limits.sizes == [1, 2, 3]
    assert not first.check()


class Pair(asc.Struct):
    first = asc.Field(asc.int32)


def test_poison_without_a_name_is_no_operand() -> None:
    # Behind a conditional expression at the end CPython 3.12 writes the rest for each case.
    def operand(put: Any, n: Any, m: Any) -> None:
        asc.GlobalTensor().set_value(0, "x" if n > 3 else 2)
        put(n + m)

    def keyword(put: Any, n: Any, m: Any) -> None:
        asc.GlobalTensor().set_value(0, value="x" if n > 3 else 2)
        put(n + m)

    def bound(put: Any, n: Any, m: Any) -> None:
        asc.GlobalTensor()["x" if n > 3 else 2 : 5]
        put(n + m)

    def index(put: Any, n: Any, m: Any) -> None:
        asc.GlobalTensor()["x" if n > 3 else 2]
        put(n + m)

    def element(put: Any, n: Any, m: Any) -> None:
        asc.array(asc.int32, 4)[1] = "x" if n > 3 else 2
        put(n + m)

    def field(put: Any, n: Any, m: Any) -> None:
        pair = Pair(first=1)
        pair.first = "x" if n > 3 else 2
        put(n + m)

    for kernel in (operand, keyword, bound, index, element, field):
        with pytest.raises(KernelError) as caught:
            run(kernel, 1, 2)
        (found,) = caught.value.findings
        assert found.code == "AT0101"
        assert found.message == "the value is 'x' or 2, depending on a runtime value"


class Bits(list[int]):
    """A list of a class of its own."""


def test_overloads_go_by_the_value_of_lists_of_any_class() -> None:
    def kernel(put: Any, n: Any, m: Any) -> None:
        pipe = asc.TPipe()
        queue = asc.TQue(asc.TPosition.VECIN, 1)
        pipe.init_buffer(queue, 1, 1024)
        tile = queue.alloc_tensor(asc.int32)
        asc.duplicate(tile, 1, Bits([1, 0]), 1, 1, 8)
        asc.duplicate(tile, 1, Bits([1, 0, 5]), 1, 1, 8)

    with pytest.raises(KernelError, match=r"AT0106: duplicate.*fits no overload"):
        run(kernel)


def test_what_only_says_to_be_a_tensor() -> None:
    pretended = Mock(spec=asc.GlobalTensor)

    def kernel(put: Any, n: Any, m: Any) -> None:
        put(pretended)

    with pytest.raises(KernelError, match=r"AT0106: .* fits no overload"):
        run(kernel)
