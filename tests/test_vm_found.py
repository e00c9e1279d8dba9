"""Programs that once were traced wrongly, as small as they get."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

import asctrace as asc


def launch(kernel: Any, *args: Any) -> list[int]:
    """The first four elements that a kernel leaves in its output."""
    out = np.zeros(16, np.int32)
    asc.jit(kernel)[1](out, *args)
    found: list[int] = out[:4].tolist()
    return found


def test_container_changed_in_a_while_loop() -> None:
    def kernel(out, n):
        gm = asc.GlobalTensor()
        gm.set_global_buffer(out)
        total = [0]
        while n > 0:
            total[0] += n
            n -= 2
        gm.set_value(0, total[0])

    assert launch(kernel, 6)[0] == 12
    assert launch(kernel, 0)[0] == 0


def test_container_changed_in_a_loop_with_break() -> None:
    def kernel(out, n):
        gm = asc.GlobalTensor()
        gm.set_global_buffer(out)
        total = [0]
        for i in asc.range(100):
            if i == n:
                break
            total[0] += i
        gm.set_value(0, total[0])

    assert launch(kernel, 5)[0] == 10
    assert launch(kernel, 500)[0] == 4950


def test_generator_and_iterator_made_in_a_runtime_loop() -> None:
    def pairs():
        yield 1
        yield 2

    def kernel(out, n):
        gm = asc.GlobalTensor()
        gm.set_global_buffer(out)
        for i in range(n):
            for j in pairs():
                gm.set_value(j, i)
            if i > 2:
                gm.set_value(3, next(iter([7])))

    assert launch(kernel, 3) == [0, 2, 2, 0]
    assert launch(kernel, 4) == [0, 3, 3, 7]


def test_sorted_with_a_key() -> None:
    def kernel(out):
        gm = asc.GlobalTensor()
        gm.set_global_buffer(out)
        table = [(3, "c"), (1, "a"), (2, "b")]
        table.sort(key=lambda row: row[1], reverse=True)
        for i, (number, _) in enumerate(table):
            gm.set_value(i, number)

    assert launch(kernel) == [3, 2, 1, 0]


def test_builtins_written_in_python_do_not_show() -> None:
    def kernel(out, n):
        return sorted([n, 1], key=lambda v: -v)

    with pytest.raises(asc.KernelError) as caught:
        launch(kernel, 2)
    text = str(caught.value)
    assert len(re.findall(r"test_vm_found\.py:\d+:\d+", text)) == 2
    assert "pybuiltins" not in text
    assert "error AT0107: the truth value of the runtime value (bool)" in text


def test_iteration_over_a_tensor_ends() -> None:
    def kernel(out, n):
        gm = asc.GlobalTensor()
        gm.set_global_buffer(out)
        for value in gm:
            gm.set_value(n, value)

    with pytest.raises(asc.KernelError, match="AT0107: iteration over `gm`"):
        launch(kernel, 2)


def test_type_of_runtime_values() -> None:
    def kernel(out, n):
        gm = asc.GlobalTensor()
        gm.set_global_buffer(out)
        gm.set_value(0, 1 if type(n) is int else 2)
        gm.set_value(1, 1 if type(n / 2) is float else 2)
        gm.set_value(2, 1 if type(n > 2) is bool else 2)
        gm.set_value(3, type(n)(n / 2))

    assert launch(kernel, 5) == [1, 1, 1, 2]


def test_named_tuples_and_dataclasses_compare() -> None:
    class Pair(NamedTuple):
        x: Any
        y: Any

    @dataclass(order=True)
    class Size:
        rows: Any
        cols: Any = 2

    def kernel(out, n):
        gm = asc.GlobalTensor()
        gm.set_global_buffer(out)
        gm.set_value(0, 1 if Pair(n, 1) == Pair(3, 1) else 0)
        gm.set_value(1, 1 if Size(n) < Size(3, 1) else 0)
        gm.set_value(2, 1 if Size(n) in [Size(3), Size(2)] else 0)
        gm.set_value(3, 1 if (n, "a") == (3, "b") else 0)

    assert launch(kernel, 3) == [1, 0, 1, 0]
    assert launch(kernel, 2) == [0, 1, 1, 0]


def test_value_of_another_trace_in_a_container() -> None:
    kept: list[Any] = []

    def kernel(out, n):
        if kept:
            kept[0] + 1
        kept.append(n)

    launch(kernel, 1)
    with pytest.raises(asc.KernelError, match="AT0115: the runtime value `n`"):
        launch(kernel, 1)
