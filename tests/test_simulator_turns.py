"""A report of a race names the iteration of each loop around the two accesses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import asctrace as asc
from asctrace import HardEvent, TPosition
from asctrace.tracer.language.dtypes import float32
from asctrace.tracer.language.enums import TPosition as Position
from asctrace.tracer.language.tensor import LocalTensor
from tests.race_kit import marked, outcome, sync, tensor
from tests.simulator_kit import Kernel
from tests.test_simulator_protocols import add, data_copy


def local(at: Any, size: int = 8) -> Any:
    return asc.LocalTensor(asc.float32, TPosition.VECIN, at, size)


def nested(x: asc.GlobalAddress, rows: int, columns: int):
    for i in range(rows):
        for j in range(columns):
            a = local(((i * columns) + j) % 5 * 32)
            asc.data_copy(a, tensor(x), 8)
            sync(HardEvent.MTE2_V)
            asc.add(a, a, a, 8)


def only_sometimes(x: asc.GlobalAddress, n: int, m: int):
    """The count of the copies is not the index."""
    a = local(0)
    for i in range(n):
        if i % 3 == 2:
            asc.data_copy(a, tensor(x), 8)
            sync(HardEvent.MTE2_V)
        if i == m:
            asc.add(a, a, a, 8)


def unrolled(x: asc.GlobalAddress, n: int):
    for i in asc.static_range(3, 9, 2):
        for _j in range(n):
            for k in asc.static_range(2):
                a = local((i + k) * 32)
                asc.data_copy(a, tensor(x), 8)
                sync(HardEvent.MTE2_V)
                if k == 1 and i == 5:
                    asc.add(a, a, a, 8)


def rounds(x: asc.GlobalAddress, n: int):
    a = local(0)
    left = n
    while left > 0:  # loop
        asc.data_copy(a, tensor(x), 8)
        sync(HardEvent.MTE2_V)
        if left == 2:
            asc.add(a, a, a, 8)
        left -= 1


def use(a: Any, count: asc.ConstExpr[int]):
    for _step in asc.static_range(count):
        asc.add(a, a, a, 8)


def in_helpers(x: asc.GlobalAddress, n: int):
    a = local(0)
    for _tile in range(n):
        asc.data_copy(a, tensor(x), 8)
        sync(HardEvent.MTE2_V)
        use(a, 2)


def straight(x: asc.GlobalAddress):
    a = local(0)
    asc.data_copy(a, tensor(x), 8)
    asc.add(a, a, a, 8)


def behind(x: asc.GlobalAddress, n: int):
    a = local(0)
    for _i in range(n):
        asc.data_copy(a, tensor(x), 8)
    asc.add(a, a, a, 8)


def step_and_name(x: asc.GlobalAddress, n: int):
    a = local(0)
    for row in range(10, n, -3):
        sync(HardEvent.V_MTE2, row != 4)
        asc.data_copy(a, tensor(x), 8)
        sync(HardEvent.MTE2_V)
        asc.add(a, a, a, 8)


@pytest.mark.parametrize(
    ("fn", "extra", "second", "first"),
    [
        (nested, (2, 4), "data_copy on MTE2 (iteration i = 1, j = 1)",
         "add on V (iteration i = 0, j = 0)"),
        (only_sometimes, (9, 5), "data_copy on MTE2 (iteration i = 8)",
         "add on V (iteration i = 5)"),
        (unrolled, (3,), "data_copy on MTE2 (iteration i = 5, _j = 1, k = 1)",
         "add on V (iteration i = 5, _j = 0, k = 1)"),
        (rounds, (5,), "data_copy on MTE2 (iteration 4 of line {loop})",
         "add on V (iteration 3 of line {loop})"),
        (in_helpers, (4,), "data_copy on MTE2 (iteration _tile = 1)",
         "add on V (iteration _tile = 0, _step = 1)"),
        (straight, (), "add on V reads", "data_copy on MTE2 writes"),
        (behind, (3,), "add on V reads", "data_copy on MTE2 (iteration _i = 2) writes"),
        (step_and_name, (1,), "data_copy on MTE2 (iteration row = 4)",
         "add on V (iteration row = 7)"),
    ],
)  # fmt: skip
@pytest.mark.parametrize(("schedule", "seed"), [("program", 0), ("late", 0), ("random", 3)])
@pytest.mark.filterwarnings("ignore::asctrace.KernelWarning")
def test_iterations(
    fn: Callable[..., Any],
    extra: tuple[int, ...],
    second: str,
    first: str,
    schedule: str,
    seed: int,
) -> None:
    x = np.ones(64, np.float32)
    race = next(f for f in outcome(fn, (x, *extra), schedule, seed)[0] if f.code == "AT0208")
    loop = marked(fn, "loop") if "{loop}" in second else 0
    assert f"without order: {second.format(loop=loop)} " in f"{race.message} "
    assert f", which {first.format(loop=loop)} " in race.message.replace(";", " ")


def blocks(x: asc.GlobalAddress, n: int):
    a = local(0)
    for i in range(n):
        asc.data_copy(a, tensor(x, asc.get_block_idx() * 8), 8)
        sync(HardEvent.MTE2_MTE3)
        if i == 1:
            asc.data_copy(tensor(x, 8 - asc.get_block_idx() * 8), a, 8)
        sync(HardEvent.MTE3_MTE2)


def test_iterations_in_two_blocks() -> None:
    findings, _ = outcome(blocks, (np.ones(16, np.float32), 3), "program", 0, blocks=2)
    texts = [f.message for f in findings if f.code == "AT0209"]
    assert any("(iteration i = 1) writes" in text for text in texts)
    assert all("in block 0 (iteration i = " in text for text in texts)
    assert all("in block 1 (iteration i = " in text for text in texts)


def test_loops_too_deep_for_one_function() -> None:
    """The program of deep loops is in several functions; indices are known in all of them."""
    kernel = Kernel()
    with kernel:
        x = kernel.tensor(kernel.address("x", float32))
        a = LocalTensor(float32, Position.VECIN, 0, 8)

        def level(k: int) -> None:
            if k == 22:
                data_copy(a, x, 8)
                add(a, a, a, 8)
                return
            with kernel.loop(2 if k in (3, 20) else 1) as index:
                index.name = f"i{k}"
                level(k + 1)

        level(0)
        data_copy(a, x, 8)
    with pytest.raises(asc.KernelError) as caught:
        kernel.run(np.ones(8, np.float32), detect_races=True)
    first, again, last = caught.value.findings
    outer = ", ".join(f"i{k} = 0" for k in range(22))
    assert f"add on V (iteration {outer}) reads" in first.message
    inner = outer.replace("i20 = 0", "i20 = 1")
    assert f"data_copy on MTE2 (iteration {inner}) writes" in again.message
    late = inner.replace("i3 = 0", "i3 = 1")
    assert last.message.startswith("write after write without order: data_copy on MTE2 writes")
    assert f"add on V (iteration {late}) " in last.message


def test_the_hint_speaks_of_a_later_iteration_only_when_it_is_one() -> None:
    for fn, extra, later in (
        (nested, (2, 4), True), (rounds, (5,), True), (straight, (), False), (behind, (3,), False),
        (step_and_name, (1,), True),
    ):  # fmt: skip
        args = (np.ones(64, np.float32), *extra)
        race = next(f for f in outcome(fn, args, "program", 0)[0] if f.code == "AT0208")
        assert ("in a later iteration" in race.hint) is later, fn.__name__
