"""Calls that move elements by address, run on UB as a stretch of bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, settings

import asctrace as asc
from asctrace.tracer.language.dtypes import DataType
from tests.chips import chip_of
from tests.simulator_kit import Kernel

#: Bytes of UB that a call works on.
SIZE = 65536
#: Where tests put the operands.
PLACE = 16384

few = settings(
    max_examples=8,
    phases=[Phase.generate],
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)


def tensor(dtype: DataType, at: int, count: int | None = None, name: str = "") -> Any:
    """A tensor at a byte of UB, up to the end of the stretch."""
    count = (SIZE - at) // dtype.sizeof() if count is None else count
    made = asc.LocalTensor(dtype, asc.TPosition.VECIN, at, count)
    made.name = name
    return made


def run(
    arch: str, memory: Any, call: Callable[[Callable[[Any], Any]], Any], runtime: bool = False
) -> Any:
    """Copy the bytes to UB, call, copy them out.

    `call(number)` makes the call; `number(n)` is n, or with `runtime` a parameter that brings it.
    Numbers that it gives are stored from byte `SIZE` - 64 on, as int64.
    """
    kernel = Kernel(chip_of(arch))
    out = np.zeros_like(memory)
    given: list[int] = []

    def number(value: Any) -> Any:
        if not runtime or type(value) is not int:
            return value
        given.append(value)
        return kernel.scalar(f"n{len(given)}", asc.uint64)

    with kernel:
        source = kernel.tensor(kernel.address("source", asc.uint8))
        target = kernel.tensor(kernel.address("target", asc.uint8))
        whole = asc.LocalTensor(asc.uint8, asc.TPosition.VECIN, 0, memory.size)
        asc.data_copy(whole, source, memory.size)
        results = call(number)
        if results is not None:
            cells = asc.LocalTensor(asc.int64, asc.TPosition.VECIN, SIZE - 64, 8)
            for k, result in enumerate(results):
                cells.set_value(k, result)
        asc.data_copy(target, whole, memory.size)
    kernel.run(memory, out, *given)
    return out


def noise(seed: int) -> Any:
    """The bytes of the stretch before a call."""
    return np.frombuffer(np.random.default_rng(seed).bytes(SIZE), np.uint8).copy()


def put(memory: Any, at: int, values: Any) -> None:
    """Write an array to the bytes from `at` on."""
    data = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    memory[at : at + data.size] = data


def take(memory: Any, at: int, dtype: Any, count: int) -> Any:
    """Elements at the bytes from `at` on."""
    return memory[at : at + np.dtype(dtype).itemsize * count].view(dtype)
