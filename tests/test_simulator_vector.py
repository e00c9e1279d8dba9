"""Vector functions in the simulator: order of repeats, limits, reads of unwritten memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from asctrace.tracer.diagnostics import KernelError
from asctrace.tracer.language.dtypes import DataType, float32, int32
from asctrace.tracer.language.enums import PipeID, TPosition
from asctrace.tracer.language.structs import BinaryRepeatParams
from asctrace.tracer.language.tensor import LocalTensor
from asctrace.tracer.ops import sync, vec_binary, vec_binary_scalar
from asctrace.tracer.ops.data_copy import DATA_COPY
from asctrace.tracer.ops.spec import OpFunction
from tests.simulator_kit import Kernel

REGION = 8192  # bytes of UB that a test can touch
data_copy = OpFunction(DATA_COPY)
add = OpFunction(vec_binary.ADD)
barrier = OpFunction(sync.PIPE_BARRIER)
adds = OpFunction(vec_binary_scalar.ADDS)
shift = OpFunction(vec_binary_scalar.SHIFT_LEFT)


def run(spec: Any, dtype: DataType, data: Any, starts: list[int], *amount: Any) -> Any:
    """Copy the region to UB, call once, copy the region out."""
    kernel = Kernel()
    out = np.zeros_like(data)
    with kernel:
        source = kernel.tensor(kernel.address("source", dtype))
        target = kernel.tensor(kernel.address("target", dtype))
        region = LocalTensor(dtype, TPosition.VECIN, 0, data.size)
        data_copy(region, source, data.size)
        OpFunction(spec)(*(region[start // dtype.sizeof() :] for start in starts), *amount)
        data_copy(target, region, data.size)
    kernel.run(data, out)
    return out


def test_repeats_run_in_order_when_one_feeds_the_next() -> None:
    data = np.zeros(REGION // 4, np.int32)
    data[:64] = 1
    strides = BinaryRepeatParams(1, 1, 1, 8, 8, 0)
    got = run(vec_binary.ADD, int32, data, [0, 2048, 0], 64, 5, strides)
    assert got[:320:64].tolist() == [1, 1, 1, 1, 1]
    data[512:832] = range(320)
    got = run(vec_binary.ADD, int32, data, [0, 2048, 0], 64, 5, strides)
    assert got[:320:64].tolist() == [1, 65, 129, 193, 257]


def test_a_destination_without_stride_accumulates() -> None:
    data = np.arange(REGION // 4, dtype=np.int32)
    strides = BinaryRepeatParams(1, 1, 1, 0, 8, 0)
    got = run(vec_binary.ADD, int32, data, [0, 256, 0], 64, 3, strides)
    assert got[:64].tolist() == [sum(range(i, i + 256, 64)) for i in range(64)]
    assert got[64:].tolist() == data[64:].tolist()


@pytest.mark.parametrize("repeat", [0, 3])
@pytest.mark.parametrize("count", [0, [0, 0]])
def test_a_mask_without_elements_does_nothing(count: Any, repeat: int) -> None:
    """As documented; the number of a tail may be 0."""
    data = np.arange(REGION // 4, dtype=np.int32)
    strides = BinaryRepeatParams()
    got = run(vec_binary.ADD, int32, data, [0, 1024, 2048], count, repeat, strides)
    assert got.tolist() == data.tolist()


def vector_error(dtype: DataType, call: Callable[[Kernel, Any], None], *args: Any) -> str:
    """The finding of a kernel that calls on a tensor of 1024 elements holding zeros."""
    kernel = Kernel()
    with kernel:
        source = kernel.tensor(kernel.address("source", dtype))
        region = LocalTensor(dtype, TPosition.VECIN, 0, 1024)
        region.name = "region"
        data_copy(region, source, 1024)
        call(kernel, region)
    with pytest.raises(KernelError) as caught:
        kernel.run(np.zeros(1024, dtype.np), *args)
    return str(caught.value)


def test_operand_shorter_than_the_count() -> None:
    text = vector_error(float32, lambda k, t: add(t, t, t, k.scalar("count", int32)), 1025)
    assert (
        "error AT0201: add writes elements 0 to 1024 of `region` (LocalTensor of float32 in "
        "VECIN) from kernel.py:3:1, which has 1024"
    ) in text


def test_operand_shorter_than_the_strides_reach() -> None:
    def call(kernel: Kernel, region: Any) -> None:
        repeat = kernel.scalar("repeat", int32)
        add(region, region, region, 64, repeat, BinaryRepeatParams(1, 1, 3, 8, 8, 64))

    assert "AT0201: add reads elements 0 to 1199 of `region`" in vector_error(float32, call, 3)


def test_misaligned_operand() -> None:
    def call(kernel: Kernel, region: Any) -> None:
        add(region, region[kernel.scalar("start", int32) :], region, 64)

    text = vector_error(float32, call, 4)
    assert "error AT0103: add reads (LocalTensor of float32 in VECIN)" in text
    assert "at address 16, 16 bytes past a multiple of 32" in text
    assert "hint: start at a multiple of 8 elements of float32" in text


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((-1, 1, 8), "AT0108: add with a mask of -1 elements"),
        ((65, 1, 8), "AT0108: add with a mask of 65 elements"),
        ((64, 256, 8), "AT0108: add with 256 repeats"),
        ((64, 1, 256), "AT0108: add with the strides (1, 1, 1, 8, 8, 256)"),
    ],
)
def test_runtime_limits(values: tuple[int, int, int], message: str) -> None:
    def call(kernel: Kernel, region: Any) -> None:
        mask, repeat, stride = (kernel.scalar(n, int32) for n in ("mask", "repeat", "stride"))
        add(region, region, region, mask, repeat, BinaryRepeatParams(1, 1, 1, 8, 8, stride))

    assert message in vector_error(float32, call, *values)


def test_negative_runtime_count() -> None:
    text = vector_error(float32, lambda k, t: add(t, t, t, k.scalar("count", int32)), -3)
    assert "AT0108: add of -3 elements" in text


def test_unwritten_source_lane() -> None:
    def call(kernel: Kernel, region: Any) -> None:
        other = LocalTensor(float32, TPosition.VECCALC, 4096, 1024)
        other.name = "other"
        add(other, region, region, 64, 1, BinaryRepeatParams())
        add(region, other, region, 65)

    text = vector_error(float32, call)
    assert "AT0203: add reads element 64 of `other`" in text


def test_masked_lanes_need_not_be_written() -> None:
    kernel = Kernel()
    with kernel:
        source = kernel.tensor(kernel.address("source", float32))
        a = LocalTensor(float32, TPosition.VECIN, 0, 64)
        b = LocalTensor(float32, TPosition.VECIN, 1024, 64)
        data_copy(a, source, 8)
        add(b, a, a, [0b10100101, 0], 1, BinaryRepeatParams())
        add(b, b, b, [0b10100101, 0], 1, BinaryRepeatParams())
        source.set_value(0, b.get_value(7))
    data = np.arange(8, dtype=np.float32)
    kernel.run(data)
    assert data[0] == 28


def test_runtime_shift_out_of_range() -> None:
    def call(kernel: Kernel, region: Any) -> None:
        shift(region, region, kernel.scalar("bits", int32), 64)

    assert "AT0108: shift_left of int32 and the number 33" in vector_error(int32, call, 33)


@pytest.mark.parametrize("schedule", ["program", "late", "random"])
def test_numbers_change_from_call_to_call(schedule: str) -> None:
    kernel = Kernel()
    with kernel:
        source = kernel.tensor(kernel.address("source", float32))
        region = LocalTensor(float32, TPosition.VECIN, 0, 64)
        data_copy(region, source, 64)
        barrier(PipeID.PIPE_ALL)
        with kernel.loop(4) as i:
            adds(region, region, i, 64)
        barrier(PipeID.PIPE_ALL)
        data_copy(source, region, 64)
    data = np.zeros(64, np.float32)
    kernel.run(data, schedule=schedule)
    assert (data == 6).all()
