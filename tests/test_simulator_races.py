"""Races between the pipes of a core: each kernel comes clean and with a synchronisation missing.

A clean kernel is silent and gives the same result under every schedule; the racy one is reported
with the two lines, the bytes and the missing event, and what is reported does not depend on the
schedule.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import asctrace as asc
from asctrace import HardEvent, TPosition
from tests.race_kit import (
    SCHEDULES,
    TILE,
    check_clean,
    check_racy,
    marked,
    outcome,
    sync,
    tensor,
    vectors,
)

# -- one tile: each kind of event -----------------------------------------------------------------


def one_tile(x: asc.GlobalAddress, z: asc.GlobalAddress, missing: asc.ConstExpr[str]):
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, TILE)
    b = asc.LocalTensor(asc.float32, TPosition.VECOUT, 1024, TILE)
    asc.data_copy(a, tensor(x), TILE)
    sync(HardEvent.MTE2_V, missing != "MTE2_V")
    asc.add(b, a, a, TILE)
    sync(HardEvent.V_MTE3, missing != "V_MTE3")
    asc.data_copy(tensor(z), b, TILE)


def copy_to_vector(x: asc.GlobalAddress, z: asc.GlobalAddress):
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, TILE)
    b = asc.LocalTensor(asc.float32, TPosition.VECOUT, 1024, TILE)
    asc.data_copy(a, tensor(x), TILE)  # first
    asc.add(b, a, a, TILE)  # second
    sync(HardEvent.V_MTE3)
    asc.data_copy(tensor(z), b, TILE)


def vector_to_copy(x: asc.GlobalAddress, z: asc.GlobalAddress):
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, TILE)
    b = asc.LocalTensor(asc.float32, TPosition.VECOUT, 1024, TILE)
    asc.data_copy(a, tensor(x), TILE)
    sync(HardEvent.MTE2_V)
    asc.add(b, a, a, TILE)  # first
    asc.data_copy(tensor(z), b, TILE)  # second


def test_one_tile() -> None:
    x, z = vectors()
    check_clean(one_tile, (x, z, ""), 2 * x)
    check_racy(copy_to_vector, (x, z), "read after write", "MTE2_V")
    check_racy(vector_to_copy, (x, z), "read after write", "V_MTE3")


def test_late_and_random_schedules_show_the_race_in_the_result() -> None:
    """Without the search for races, missing synchronisation gives wrong results."""
    x, z = vectors()
    for missing in ("MTE2_V", "V_MTE3"):
        params = asc.SimParams(schedule="late", detect_races=False, check_uninitialised=False)
        out = z.copy()
        asc.jit(one_tile, sim=params)[1](x, out, missing)
        assert (out != 2 * x).all()
    wrong = 0
    for seed in range(20):
        params = asc.SimParams(schedule="random", seed=seed, detect_races=False)
        out = z.copy()
        asc.jit(one_tile, sim=params)[1](x, out, "MTE2_V")
        wrong += bool((out != 2 * x).any())
    assert 0 < wrong < 20


# -- buffers used again: write after read, across iterations --------------------------------------


def tiles_by_flags(
    x: asc.GlobalAddress,
    z: asc.GlobalAddress,
    tiles: int,
    to_vector: asc.ConstExpr[bool],
    to_copy: asc.ConstExpr[bool],
):
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, 2 * TILE)
    b = asc.LocalTensor(asc.float32, TPosition.VECOUT, 1024, 2 * TILE)
    x_gm, z_gm = tensor(x), tensor(z)
    for half in range(2):
        if to_copy:
            asc.set_flag(HardEvent.V_MTE2, half)
        if to_vector:
            asc.set_flag(HardEvent.MTE3_V, half)
    for i in range(tiles):
        half = i % 2
        at = half * TILE
        if to_copy:
            asc.wait_flag(HardEvent.V_MTE2, half)
        asc.data_copy(a[at:], x_gm[i * TILE :], TILE)  # load
        asc.set_flag(HardEvent.MTE2_V, half)
        asc.wait_flag(HardEvent.MTE2_V, half)
        if to_vector:
            asc.wait_flag(HardEvent.MTE3_V, half)
        asc.add(b[at:], a[at:], a[at:], TILE)  # compute
        asc.set_flag(HardEvent.V_MTE3, half)
        if to_copy:
            asc.set_flag(HardEvent.V_MTE2, half)
        asc.wait_flag(HardEvent.V_MTE3, half)
        asc.data_copy(z_gm[i * TILE :], b[at:], TILE)  # store
        if to_vector:
            asc.set_flag(HardEvent.MTE3_V, half)
    for half in range(2):
        if to_copy:
            asc.wait_flag(HardEvent.V_MTE2, half)
        if to_vector:
            asc.wait_flag(HardEvent.MTE3_V, half)


@pytest.mark.parametrize(
    ("to_vector", "to_copy", "event", "first", "second"),
    [(True, False, "V_MTE2", "compute", "load"), (False, True, "MTE3_V", "store", "compute")],
)
def test_double_buffers(
    to_vector: bool, to_copy: bool, event: str, first: str, second: str
) -> None:
    x, z = vectors(5)
    check_clean(tiles_by_flags, (x, z, 5, True, True), 2 * x)
    check_clean(tiles_by_flags, (x[: 2 * TILE], z[: 2 * TILE], 2, to_vector, to_copy),
                2 * x[: 2 * TILE])  # fmt: skip
    for schedule, seed in SCHEDULES:
        findings, _ = outcome(tiles_by_flags, (x, z, 5, to_vector, to_copy), schedule, seed)
        (race,) = findings
        assert [s.line for s in race.spans] == [
            marked(tiles_by_flags, second), marked(tiles_by_flags, first)
        ]  # fmt: skip
        assert race.message.startswith("write after read without order: ")
        assert "(iteration i = 2)" in race.message
        assert "(iteration i = 0)" in race.message
        assert race.message.endswith(f"HardEvent.{event} is missing")
        assert "in a later iteration" in race.hint


def one_buffer(x: asc.GlobalAddress, z: asc.GlobalAddress, tiles: int):
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, TILE)
    x_gm, z_gm = tensor(x), tensor(z)
    for i in range(tiles):
        asc.data_copy(a, x_gm[i * TILE :], TILE)  # second
        sync(HardEvent.MTE2_MTE3)
        asc.data_copy(z_gm[i * TILE :], a, TILE)  # first


def one_buffer_clean(x: asc.GlobalAddress, z: asc.GlobalAddress, tiles: int):
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, TILE)
    x_gm, z_gm = tensor(x), tensor(z)
    for i in range(tiles):
        asc.data_copy(a, x_gm[i * TILE :], TILE)
        sync(HardEvent.MTE2_MTE3)
        asc.data_copy(z_gm[i * TILE :], a, TILE)
        sync(HardEvent.MTE3_MTE2)


def test_store_to_load() -> None:
    x, z = vectors(4)
    check_clean(one_buffer_clean, (x, z, 4), x)
    check_clean(one_buffer, (x[:TILE], z[:TILE], 1), x[:TILE])
    check_racy(one_buffer, (x, z, 4), "write after read", "MTE3_MTE2")


# -- the scalar unit ------------------------------------------------------------------------------


def scalar_write(z: asc.GlobalAddress, safe: asc.ConstExpr[bool]):
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, 8)
    b = asc.LocalTensor(asc.float32, TPosition.VECOUT, 1024, 8)
    for k in range(8):
        a.set_value(k, 1.0 + k)  # first
    sync(HardEvent.S_V, safe)
    asc.add(b, a, a, 8)  # second
    sync(HardEvent.V_MTE3)
    asc.data_copy(tensor(z), b, 8)


def scalar_read(x: asc.GlobalAddress, z: asc.GlobalAddress, safe: asc.ConstExpr[bool]):
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, 8)
    asc.data_copy(a, tensor(x), 8)  # first
    sync(HardEvent.MTE2_S, safe)
    value = a.get_value(3)  # second
    tensor(z).set_value(0, value)


def scalar_read_then_vector(x: asc.GlobalAddress, z: asc.GlobalAddress, safe: asc.ConstExpr[bool]):
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, 8)
    asc.data_copy(a, tensor(x), 8)
    asc.pipe_barrier(asc.PipeID.PIPE_ALL)
    value = a.get_value(3)  # first
    sync(HardEvent.S_V, safe)
    asc.add(a, a, a, 8)  # second
    tensor(z).set_value(0, value)


def scalar_to_copy(z: asc.GlobalAddress, safe: asc.ConstExpr[bool]):
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, 8)
    for k in range(8):
        a.set_value(k, 2.0)  # first
    sync(HardEvent.S_MTE3, safe)
    asc.data_copy(tensor(z), a, 8)  # second


def test_scalar_unit() -> None:
    x, z = vectors()
    x, z = x[:8], z[:8]
    check_clean(scalar_write, (z, True), 2 * x)
    check_racy(scalar_write, (z, False), "read after write", "S_V", 4)
    check_clean(scalar_read, (x, z, True), [4, 0, 0, 0, 0, 0, 0, 0])
    check_racy(scalar_read, (x, z, False), "read after write", "MTE2_S", 4)
    check_clean(scalar_read_then_vector, (x, z, True), [4, 0, 0, 0, 0, 0, 0, 0])
    check_racy(scalar_read_then_vector, (x, z, False), "write after read", "S_V", 4)
    check_clean(scalar_to_copy, (z, True), np.full(8, 2))
    check_racy(scalar_to_copy, (z, False), "read after write", "S_MTE3", 4)


def loop_through_the_scalar_unit(x: asc.GlobalAddress, z: asc.GlobalAddress, tiles: int):
    """What the scalar unit has waited for is over for all that it issues later."""
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, TILE)
    x_gm, z_gm = tensor(x), tensor(z)
    for i in range(tiles):
        asc.data_copy(a, x_gm[i * TILE :], TILE)
        sync(HardEvent.MTE2_S)
        asc.data_copy(z_gm[i * TILE :], a, TILE)
        sync(HardEvent.MTE3_S)


def test_waits_of_the_scalar_unit_hold_all_pipes() -> None:
    x, z = vectors(4)
    check_clean(loop_through_the_scalar_unit, (x, z, 4), x)


# -- barriers -------------------------------------------------------------------------------------


def barrier(x: asc.GlobalAddress, z: asc.GlobalAddress, tiles: int, pipe: asc.ConstExpr[Any]):
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, TILE)
    x_gm, z_gm = tensor(x), tensor(z)
    for i in range(tiles):
        asc.data_copy(a, x_gm[i * TILE :], TILE)  # first
        asc.pipe_barrier(pipe)
        asc.add(a, a, a, TILE)  # second
        asc.pipe_barrier(asc.PipeID.PIPE_V)
        asc.add(a, a, a, TILE)
        asc.pipe_barrier(asc.PipeID.PIPE_ALL)
        asc.data_copy(z_gm[i * TILE :], a, TILE)
        asc.pipe_barrier(asc.PipeID.PIPE_ALL)


def test_barriers() -> None:
    x, z = vectors(3)
    check_clean(barrier, (x, z, 3, asc.PipeID.PIPE_ALL), 4 * x)
    check_racy(barrier, (x, z, 3, asc.PipeID.PIPE_V), "read after write", "MTE2_V")
    check_racy(barrier, (x, z, 3, asc.PipeID.PIPE_MTE2), "read after write", "MTE2_V")


# -- copies of one pipe ---------------------------------------------------------------------------


def two_loads(x: asc.GlobalAddress, z: asc.GlobalAddress, fence: asc.ConstExpr[Any], by: int):
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, 2 * TILE)
    x_gm, z_gm = tensor(x), tensor(z)
    asc.data_copy(a, x_gm, TILE)  # first
    if fence is not None:
        asc.pipe_barrier(fence)
    asc.data_copy(a[by:], x_gm[TILE:], TILE)  # second
    sync(HardEvent.MTE2_MTE3)
    asc.data_copy(z_gm, a, TILE)


def two_stores(x: asc.GlobalAddress, z: asc.GlobalAddress, fence: asc.ConstExpr[Any], atomic: bool):
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, TILE)
    x_gm, z_gm = tensor(x), tensor(z)
    asc.data_copy(a, x_gm, TILE)
    sync(HardEvent.MTE2_MTE3)
    if atomic:
        asc.set_atomic_add(asc.float32)
    asc.data_copy(z_gm, a, TILE)  # first
    if fence is not None:
        asc.pipe_barrier(fence)
    asc.data_copy(z_gm, a, TILE)  # second
    asc.set_atomic_none()


@pytest.mark.parametrize(("kernel", "pipe", "meet", "apart"), [
    (two_loads, "MTE2", 8, TILE), (two_stores, "MTE3", False, True),
])  # fmt: skip
def test_two_copies_of_one_pipe_that_write_the_same(
    kernel: Any, pipe: str, meet: Any, apart: Any
) -> None:
    x, z = vectors(2)
    own, other = (asc.PipeID[f"PIPE_{name}"] for name in (pipe, "V"))
    for schedule, seed in SCHEDULES:
        for fence, how in ((own, meet), (asc.PipeID.PIPE_ALL, meet), (None, apart)):
            assert outcome(kernel, (x, z, fence, how), schedule, seed)[0] == []
        for fence in (None, other):
            (found,) = outcome(kernel, (x, z, fence, meet), schedule, seed)[0]
            assert (found.code, found.severity) == ("AT0208", "warning")
            assert found.message.startswith(f"two copies on {pipe} write the same ")
            assert found.hint.startswith(f"asc.pipe_barrier(asc.PipeID.PIPE_{pipe}) between the ")
            assert [s.line for s in found.spans] == [
                marked(kernel, "second"), marked(kernel, "first")
            ]  # fmt: skip


# -- queues ---------------------------------------------------------------------------------------


def by_queues(x: asc.GlobalAddress, z: asc.GlobalAddress, tiles: int, num: asc.ConstExpr[int]):
    pipe = asc.TPipe()
    into, out = asc.TQue(TPosition.VECIN, 2), asc.TQue(TPosition.VECOUT, 2)
    pipe.init_buffer(into, num, TILE * 4)
    pipe.init_buffer(out, num, TILE * 4)
    x_gm, z_gm = tensor(x), tensor(z)
    for i in range(tiles):
        a = into.alloc_tensor(asc.float32)
        asc.data_copy(a, x_gm[i * TILE :], TILE)
        into.enque(a)
        a = into.deque(asc.float32)
        b = out.alloc_tensor(asc.float32)
        asc.add(b, a, a, TILE)
        into.free_tensor(a)
        out.enque(b)
        b = out.deque(asc.float32)
        asc.data_copy(z_gm[i * TILE :], b, TILE)
        out.free_tensor(b)


@pytest.mark.parametrize("num", [1, 2, 3])
def test_queues_carry_the_events(num: int) -> None:
    x, z = vectors(5)
    check_clean(by_queues, (x, z, 5, num), 2 * x)


def through_one_queue(
    x: asc.GlobalAddress, z: asc.GlobalAddress, queue: asc.ConstExpr[str], safe: asc.ConstExpr[bool]
):
    pipe = asc.TPipe()
    if queue == "bound":
        que = asc.TQueBind(TPosition.VECIN, TPosition.VECOUT, 1)
    else:
        que = asc.TQue(TPosition.VECIN, 1)
    pipe.init_buffer(que, 1, TILE * 4)
    a = que.alloc_tensor(asc.float32)
    asc.data_copy(a, tensor(x), TILE)  # first
    que.enque(a)
    a = que.deque(asc.float32)
    sync(HardEvent.MTE2_MTE3, safe)
    asc.data_copy(tensor(z), a, TILE)  # second
    que.free_tensor(a)


def test_the_event_of_a_queue_is_between_its_own_pipes() -> None:
    x, z = vectors()
    check_racy(through_one_queue, (x, z, "", False), "read after write", "MTE2_MTE3")
    check_clean(through_one_queue, (x, z, "", True), x)
    check_clean(through_one_queue, (x, z, "bound", False), x)


def used_before_the_deque(x: asc.GlobalAddress, z: asc.GlobalAddress, taken: asc.ConstExpr[bool]):
    pipe = asc.TPipe()
    queue, out = asc.TQue(TPosition.VECIN, 1), asc.TQue(TPosition.VECOUT, 1)
    pipe.init_buffer(queue, 1, TILE * 4)
    pipe.init_buffer(out, 1, TILE * 4)
    a, b = queue.alloc_tensor(asc.float32), out.alloc_tensor(asc.float32)
    asc.data_copy(a, tensor(x), TILE)  # first
    if taken:
        queue.enque(a)
        a = queue.deque(asc.float32)
    asc.add(b, a, a, TILE)  # second
    queue.free_tensor(a)
    out.enque(b)
    b = out.deque(asc.float32)
    asc.data_copy(tensor(z), b, TILE)
    out.free_tensor(b)


def test_a_queue_that_is_not_used_orders_nothing() -> None:
    x, z = vectors()
    check_racy(used_before_the_deque, (x, z, False), "read after write", "MTE2_V")
    check_clean(used_before_the_deque, (x, z, True), 2 * x)


def old_data(x: asc.GlobalAddress, second: asc.ConstExpr[int]):
    pipe = asc.TPipe()
    into = asc.TQue(TPosition.VECIN, 1)
    pipe.init_buffer(into, 1, TILE * 4)
    for count in (TILE, second):
        a = into.alloc_tensor(asc.float32)
        asc.data_copy(a, tensor(x), count)
        into.enque(a)
        a = into.deque(asc.float32)
        asc.add(a, a, a, TILE)
        into.free_tensor(a)


def test_an_allocated_tensor_holds_garbage_though_the_buffer_was_written() -> None:
    x, _ = vectors()
    check_clean(old_data, (x, TILE), x)
    for schedule, seed in SCHEDULES:
        findings, _ = outcome(old_data, (x, TILE // 2), schedule, seed)
        assert [f.code for f in findings] == ["AT0203"]
        assert f"reads element {TILE // 2} of" in findings[0].message
