"""What must not be reported: false alarms known from other checkers, under every schedule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import asctrace as asc
from asctrace import TPosition
from tests.race_kit import TILE, check_clean, tensor, vectors


def through_queues(
    x: asc.GlobalAddress,
    z: asc.GlobalAddress,
    tiles: asc.ConstExpr[int],
    depth: asc.ConstExpr[int],
    buffers: asc.ConstExpr[int],
    offset: asc.ConstExpr[int],
):
    """Each block doubles its tiles of x, which begins `offset` elements late."""
    pipe = asc.TPipe()
    into, out = asc.TQue(TPosition.VECIN, depth), asc.TQue(TPosition.VECOUT, depth)
    pipe.init_buffer(into, buffers, TILE * 4)
    pipe.init_buffer(out, buffers, TILE * 4)
    first = asc.get_block_idx() * tiles
    for i in range(tiles):
        a = into.alloc_tensor(asc.float32)
        asc.data_copy(a, tensor(x, offset + (first + i) * TILE), TILE)
        into.enque(a)
        a = into.deque(asc.float32)
        b = out.alloc_tensor(asc.float32)
        asc.add(b, a, a, TILE)
        into.free_tensor(a)
        out.enque(b)
        b = out.deque(asc.float32)
        asc.data_copy(tensor(z, (first + i) * TILE), b, TILE)
        out.free_tensor(b)


@pytest.mark.parametrize(("depth", "buffers"), [(1, 2), (2, 1), (4, 2), (1, 4), (8, 3)])
def test_depth_of_a_queue_unlike_its_number_of_buffers(depth: int, buffers: int) -> None:
    x, z = vectors(5)
    check_clean(through_queues, (x, z, 5, depth, buffers, 0), 2 * x)


@pytest.mark.parametrize("offset", [1, 3, 7])
def test_start_in_global_memory_that_is_not_aligned(offset: int) -> None:
    x, z = vectors(3)
    late = np.concatenate([np.zeros(offset, np.float32), x])
    check_clean(through_queues, (late, z, 3, 1, 2, offset), 2 * x)


def padded(x: asc.GlobalAddress, z: asc.GlobalAddress, offset: int, rows: asc.ConstExpr[int]):
    """Rows of 5 elements that begin anywhere, each in 32 bytes of its own on the chip."""
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, rows * 8)
    params = asc.DataCopyExtParams(rows, 20, 4, 0, 0)
    asc.data_copy_pad(
        a, tensor(x, offset), params, asc.DataCopyPadExtParams(asc.float32, True, 0, 3, 0.0)
    )
    asc.set_flag(asc.HardEvent.MTE2_V, 0)
    asc.wait_flag(asc.HardEvent.MTE2_V, 0)
    asc.add(a, a, a, rows * 8)
    asc.set_flag(asc.HardEvent.V_MTE3, 0)
    asc.wait_flag(asc.HardEvent.V_MTE3, 0)
    asc.data_copy_pad(tensor(z, offset), a, asc.DataCopyExtParams(rows, 20, 0, 4, 0))


@pytest.mark.parametrize("offset", [0, 1, 3])
def test_pad_copies_that_are_not_aligned_in_global_memory(offset: int) -> None:
    x = np.arange(1, 4 * 6 + 4, dtype=np.float32)
    expected = np.zeros_like(x)
    for row in range(4):
        part = slice(offset + row * 6, offset + row * 6 + 5)
        expected[part] = 2 * x[part]
    check_clean(padded, (x, np.zeros_like(x), offset, 4), expected)


def test_more_blocks_than_cores_without_a_barrier() -> None:
    blocks = 60
    x, z = vectors(blocks)
    check_clean(through_queues, (x, z, 1, 1, 2, 0), 2 * x, blocks=blocks)


def one_input(x: asc.GlobalAddress, z: asc.GlobalAddress):
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, TILE)
    asc.data_copy(a, tensor(x), TILE)
    asc.set_flag(asc.HardEvent.MTE2_MTE3, 0)
    asc.wait_flag(asc.HardEvent.MTE2_MTE3, 0)
    asc.data_copy(tensor(z, asc.get_block_idx() * TILE), a, TILE)


def test_blocks_that_read_one_input() -> None:
    x, _ = vectors()
    check_clean(one_input, (x, np.zeros(4 * TILE, np.float32)), np.tile(x, 4), blocks=4)


def in_place(x: asc.GlobalAddress, z: asc.GlobalAddress):
    pipe = asc.TPipe()
    queue = asc.TQueBind(TPosition.VECIN, TPosition.VECOUT, 1)
    pipe.init_buffer(queue, 1, TILE * 4)
    a = queue.alloc_tensor(asc.float32)
    asc.data_copy(a, tensor(x), TILE)
    asc.pipe_barrier(asc.PipeID.PIPE_ALL)
    asc.add(a, a, a, TILE)
    asc.muls(a, a, 3.0, TILE)
    asc.relu(a, a, TILE)
    asc.sub(a, a, a[0:], TILE // 2)
    asc.adds(a, a, 1.0, TILE, 1, asc.UnaryRepeatParams())
    asc.pipe_barrier(asc.PipeID.PIPE_ALL)
    asc.data_copy(tensor(z), a, TILE)
    queue.free_tensor(a)


def test_element_wise_operations_exactly_in_place() -> None:
    x, z = vectors()
    expected = 6 * x
    expected[: TILE // 2] = 0
    check_clean(in_place, (x, z), expected + 1)


def nothing_to_do(x: asc.GlobalAddress, z: asc.GlobalAddress, zero: Any):
    """Calls with an amount of 0 touch nothing: `never` is written by none and read by all."""
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, TILE)
    never = asc.LocalTensor(asc.float32, TPosition.VECCALC, 1024, TILE)
    asc.data_copy(a, tensor(x), TILE)
    asc.add(a, never, never, zero)
    asc.add(a, never, never, TILE, zero, asc.BinaryRepeatParams())
    asc.muls(a, never, 2.0, zero)
    asc.duplicate(a, 1.0, zero)
    asc.data_copy(a, never, zero)
    asc.data_copy(never, a, zero)
    asc.data_copy(tensor(z), never, zero)
    asc.data_copy(a, tensor(z), zero)
    asc.set_flag(asc.HardEvent.MTE2_MTE3, 0)
    asc.wait_flag(asc.HardEvent.MTE2_MTE3, 0)
    asc.data_copy(tensor(z), a, TILE)


def nothing_constant(x: asc.GlobalAddress, z: asc.GlobalAddress):
    nothing_to_do(x, z, 0)


def nothing_runtime(x: asc.GlobalAddress, z: asc.GlobalAddress, zero: int):
    nothing_to_do(x, z, zero)


def test_repeat_0_and_count_0() -> None:
    x, z = vectors()
    check_clean(nothing_constant, (x, z), x)
    check_clean(nothing_runtime, (x, z, 0), x)


def test_a_kernel_of_the_vector_core_that_never_uses_l1() -> None:
    x, z = vectors(2)
    check_clean(through_queues, (x, z, 2, 1, 2, 0), 2 * x)
    report = str(asc.jit(through_queues).lower(x, z, 2, 1, 2, 0).report())
    assert "UB" in report
    assert "L1" not in report
