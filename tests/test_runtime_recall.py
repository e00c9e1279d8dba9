"""Launches recognised as those before: whatever changes, the result is that of a search."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import asctrace as asc
from asctrace.runtime import recall
from asctrace.runtime.recall import PATIENCE

#: What kernels read from outside.
FACTOR = 3
TABLE = [1, 2]


@pytest.fixture(autouse=True)
def outside(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("ASCTRACE_UNROLL_LIMIT", raising=False)
    before, table = FACTOR, list(TABLE)
    yield
    globals()["FACTOR"] = before
    TABLE[:] = table
    asc.set_platform()


def helper(value: Any, more: int = 0) -> Any:
    return value * FACTOR + more


def make(**options: Any) -> asc.Kernel:
    @asc.jit(**{"backend": "sim"} | options)
    def kernel(z: asc.GlobalAddress, n, size: asc.ConstExpr = 4):
        z_gm = asc.GlobalTensor()
        z_gm.set_global_buffer(z)
        z_gm.set_value(0, helper(n) + TABLE[0])
        z_gm.set_value(1, n // 4)
        if isinstance(size, float):
            z_gm.set_value(2, 1 if str(size) == "-0.0" else 2)
        elif size is True:
            z_gm.set_value(2, 9)
        else:
            z_gm.set_value(2, size)

    return kernel


def ran(kernel: asc.Kernel, n: Any, size: Any, dtype: Any = np.int32) -> list[int]:
    z = np.zeros(3, dtype)
    kernel[1](z, n, size)
    return [int(v) for v in z]


def warm(kernel: asc.Kernel, n: Any = 5, size: Any = 4) -> None:
    """Launch until it is recalled."""
    for _ in range(PATIENCE):
        assert kernel._recall is None
        assert ran(kernel, n, size)[1] == n // 4
    assert kernel._recall is not None


def recalls(kernel: asc.Kernel, n: Any, size: Any, dtype: Any = np.int32) -> bool:
    assert kernel._recall is not None
    return kernel._recall.matches((np.zeros(3, dtype), n, size))


def test_the_same_again() -> None:
    kernel = make()
    warm(kernel)
    assert recalls(kernel, 6, 4)
    assert ran(kernel, 6, 4) == [19, 1, 4]
    assert kernel.trace_count == 1
    found, values = kernel.dispatch(1, np.zeros(3, np.int32), 7, 4)
    assert kernel._recall is not None
    assert found is kernel._recall.found
    assert values[1] == 7
    assert not recalls(kernel, 6, "4")
    assert not kernel._recall.matches((np.zeros(3, np.int32), 6))
    assert not kernel._recall.matches(())


@pytest.mark.parametrize(
    ("n", "size", "dtype", "expected"),
    [
        (-5, 4, np.int32, [-14, -2, 4]),  # another sign
        (np.int64(2**33), 4, np.int64, [3 * 2**33 + 1, 2**31, 4]),  # a wider number
        (np.int64(5), 4, np.int32, [16, 1, 4]),
        (np.int8(5), 4, np.int32, [16, 1, 4]),
        (True, 4, np.int32, [4, 0, 4]),
        (5, 5, np.int32, [16, 1, 5]),  # other constants
        (5, True, np.int32, [16, 1, 9]),
        (5, 4.0, np.int32, [16, 1, 2]),
        (5, 4, np.int16, [16, 1, 4]),  # another array
    ],
)
def test_other_arguments(n: Any, size: Any, dtype: Any, expected: list[int]) -> None:
    kernel = make()
    warm(kernel)
    assert not recalls(kernel, n, size, dtype)
    assert ran(kernel, n, size, dtype) == expected
    assert ran(kernel, 5, 4) == [16, 1, 4]


def test_a_number_that_is_too_wide() -> None:
    kernel = make()
    warm(kernel)
    with pytest.raises(asc.KernelError, match="does not fit int32"):
        ran(kernel, 2**33, 4)


def test_constants_by_type_and_sign() -> None:
    kernel = make()
    warm(kernel, size=0.0)
    assert recalls(kernel, 5, 0.0)
    assert not recalls(kernel, 5, -0.0)
    assert not recalls(kernel, 5, 0)
    assert ran(kernel, 5, -0.0) == [16, 1, 1]
    assert ran(kernel, 5, 0.0) == [16, 1, 2]
    kernel = make()
    warm(kernel, size=1)
    assert not recalls(kernel, 5, True)
    assert ran(kernel, 5, True) == [16, 1, 9]


def _global() -> None:
    globals()["FACTOR"] = 10


def _mutable() -> None:
    TABLE[0] = 35


def _default() -> None:
    helper.__defaults__ = (34,)


def _code() -> None:
    helper.__code__ = (lambda value, more=0: value * 3 + 34).__code__


@pytest.mark.parametrize("change", [_global, _mutable, _default, _code])
def test_what_is_outside_changes(change: Callable[[], None]) -> None:
    kernel, before = make(), (helper.__code__, helper.__defaults__)
    warm(kernel)
    try:
        change()
        assert not recalls(kernel, 5, 4)
        assert ran(kernel, 5, 4)[0] == (51 if change is _global else 50)
    finally:
        helper.__code__, helper.__defaults__ = before


def test_closures() -> None:
    step = 1

    @asc.jit(backend="sim")
    def kernel(z: asc.GlobalAddress):
        z_gm = asc.GlobalTensor()
        z_gm.set_global_buffer(z)
        z_gm.set_value(0, step)

    z = np.zeros(1, np.int32)
    for _ in range(PATIENCE + 1):
        kernel[1](z)
    assert kernel._recall is not None
    step = 2
    assert not kernel._recall.matches((z,))
    kernel[1](z)
    assert z[0] == 2
    (cell,) = kernel.fn.__closure__
    del cell.cell_contents
    assert not kernel._recall.matches((z,))
    with pytest.raises(asc.KernelError, match="step"):
        kernel[1](z)


def test_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = make()
    warm(kernel)
    monkeypatch.setenv("ASCTRACE_UNROLL_LIMIT", "1")
    assert not recalls(kernel, 5, 4)
    ran(kernel, 5, 4)
    assert kernel.trace_count == 2
    monkeypatch.delenv("ASCTRACE_UNROLL_LIMIT")
    assert recalls(kernel, 5, 4)
    asc.set_platform(soc="Ascend910B3")
    assert not recalls(kernel, 5, 4)
    asc.set_platform(backend="sim")
    assert not recalls(kernel, 5, 4)
    monkeypatch.setenv("ASCTRACE_BACKEND", "gpu")
    assert not recalls(kernel, 5, 4)


def test_the_backend_that_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCTRACE_BACKEND", "auto")
    monkeypatch.setattr(recall.platform.current, "automatic", "sim")
    kernel = make(backend=None)
    warm(kernel)
    assert recalls(kernel, 5, 4)
    monkeypatch.setattr(recall.platform.current, "automatic", "npu")
    assert not recalls(kernel, 5, 4)


@pytest.mark.parametrize("grid", [True, 0, 65536, 1.0, "1", (1, 2, 3), (0, None)])
def test_grids_are_checked(grid: Any) -> None:
    kernel = make()
    warm(kernel)
    with pytest.raises(asc.KernelError, match="grid of"):
        kernel[grid](np.zeros(3, np.int32), 5, 4)
    with pytest.raises(asc.KernelError, match="grid of"):
        kernel.dispatch(0, np.zeros(3, np.int32), 5, 4)
    kernel[np.int64(1), None](np.zeros(3, np.int32), 5, 4)


def test_calls_with_names_and_defaults_are_searched_for() -> None:
    kernel, z = make(), np.zeros(3, np.int32)
    for _ in range(2 * PATIENCE):
        kernel[1](z, n=5)
        kernel[1](z, 5)
    assert kernel._recall is None
    warm(make())
    kernel[1](z, n=6, size=4)
    assert z.tolist() == [19, 1, 4]


def test_arrays_that_need_adapting() -> None:
    kernel = make()
    warm(kernel)
    assert kernel._recall is not None
    wide = np.zeros(6, np.int32)
    assert not kernel._recall.matches((wide[::2], 5, 4))
    with pytest.raises(asc.KernelError, match="C-contiguous"):
        kernel[1](wide[::2], 5, 4)


def test_kernels_that_are_traced_each_time() -> None:
    fresh, seen = make(always_compile=True), []
    for _ in range(2 * PATIENCE):
        ran(fresh, 5, 4)
    assert fresh._recall is None
    assert fresh.trace_count == 2 * PATIENCE

    @asc.jit(backend="sim")
    def writes(z: asc.GlobalAddress):
        seen.append(1)

    for _ in range(2 * PATIENCE):
        writes[1](np.zeros(3, np.int32))
    assert len(seen) == 2 * PATIENCE
    assert writes._recall is None


def test_objects_as_constants() -> None:
    """Those that are themselves their key are compared by identity; others are searched for."""

    class Loud:
        def __init__(self, value: int) -> None:
            self.value = value

        def __eq__(self, other: object) -> bool:
            raise AssertionError("compared")

        def __hash__(self) -> int:
            return id(self)

    @asc.jit(backend="sim")
    def kernel(z: asc.GlobalAddress, what: asc.ConstExpr):
        z_gm = asc.GlobalTensor()
        z_gm.set_global_buffer(z)
        z_gm.set_value(0, what(1) if callable(what) else what.value)

    z = np.zeros(1, np.int32)
    loud = Loud(7)
    for _ in range(2 * PATIENCE):
        kernel[1](z, loud)
    assert z[0] == 7
    assert kernel._recall is None
    kernel = asc.jit(kernel)
    first, second = (lambda v: v + 10), (lambda v: v + 20)
    for _ in range(PATIENCE + 1):
        kernel[1](z, first)
    assert kernel._recall is not None
    assert kernel._recall.matches((z, first))
    assert not kernel._recall.matches((z, second))
    assert not kernel._recall.matches((z, loud))
    kernel[1](z, second)
    assert z[0] == 21


def test_a_kernel_that_alternates() -> None:
    """Compiling a recall takes twice the patience each time."""
    kernel = make()
    streaks = []
    for round_ in range(4):
        size, count = round_ % 2, 0
        before = kernel._recall
        while kernel._recall is before:
            assert ran(kernel, 5, size) == [16, 1, size]
            count += 1
        streaks.append(count)
    assert streaks == [PATIENCE, 2 * PATIENCE, 4 * PATIENCE, 8 * PATIENCE]


def test_a_kernel_without_parameters() -> None:
    told: list[int] = []

    @asc.jit(backend="sim")
    def nothing():
        pass

    for _ in range(PATIENCE + 1):
        told.append(nothing[2]().blocks)
    assert nothing._recall is not None
    assert nothing._recall.matches(())
    assert not nothing._recall.matches((1,))
    assert set(told) == {2}


def test_a_dropped_kernel_is_gone_at_once() -> None:
    kernel = make()
    warm(kernel)
    count = sys.getrefcount(kernel)
    assert kernel[1] is not None
    assert sys.getrefcount(kernel) == count
