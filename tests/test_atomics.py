"""Atomic writes: what copies to global memory combine to, what needs no order, what is left on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import asctrace as asc
from asctrace import HardEvent, TPosition
from asctrace.tracer.language.dtypes import DataType
from asctrace.tracer.ops.spec import TABLE
from tests.race_kit import SCHEDULES, marked, outcome, sync, tensor

COUNT = 64
BLOCKS = 4


def each_block(
    x: asc.GlobalAddress, z: asc.GlobalAddress, begin: asc.ConstExpr[Any], dtype: asc.ConstExpr[Any]
):
    """Every block combines its part of x into all of z."""
    a = asc.LocalTensor(dtype, TPosition.VECIN, 0, COUNT)
    asc.data_copy(a, tensor(x, asc.get_block_idx() * COUNT), COUNT)
    sync(HardEvent.MTE2_MTE3)
    begin(dtype)
    asc.data_copy(tensor(z), a, COUNT)
    asc.set_atomic_none()


def bits(dtype: DataType) -> Any:
    """Numbers over the range of a dtype that sum without rounding, and so in any order."""
    rng = np.random.default_rng(5)
    if dtype.is_float():
        return rng.integers(-30, 30, (BLOCKS + 1, COUNT)).astype(dtype.np)
    return rng.integers(dtype.lo, dtype.hi, (BLOCKS + 1, COUNT), endpoint=True).astype(dtype.np)


def wrapped(numbers: list[int], dtype: DataType) -> int:
    total = sum(numbers) % 2**dtype.bits
    return total - 2**dtype.bits if total > dtype.hi else total


REFERENCE: dict[str, Callable[[list[Any], DataType], Any]] = {
    "set_atomic_add": lambda column, dtype: sum(map(float, column)) if dtype.is_float()
    else wrapped([int(v) for v in column], dtype),
    "set_atomic_max": lambda column, dtype: max(float(v) for v in column),
    "set_atomic_min": lambda column, dtype: min(float(v) for v in column),
}  # fmt: skip
CASES = [
    pytest.param(name, dtype, id=f"{name}-{dtype}")
    for name in REFERENCE
    for dtype in TABLE[name].dtypes["2201"]
]


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_blocks_combine(name: str, dtype: DataType) -> None:
    data = bits(dtype)
    expected = np.array([REFERENCE[name](list(c), dtype) for c in data.T]).astype(dtype.np)
    for schedule, seed in [*SCHEDULES[:6], ("plain", 0)]:
        z = data[0].copy()
        params = (
            asc.SimParams(detect_races=False)
            if schedule == "plain"
            else asc.SimParams(schedule=schedule, seed=seed)
        )
        kernel = asc.jit(each_block, sim=params)
        kernel[BLOCKS](data[1:].copy(), z, getattr(asc, name), dtype)
        np.testing.assert_array_equal(z, expected)


def test_half_sums_round_at_each_write() -> None:
    x = np.full((3, COUNT), 1, np.float16)
    z = np.full(COUNT, 2048, np.float16)  # 2048 + 1 is 2048 in half
    asc.jit(each_block)[3](x, z, asc.set_atomic_add, asc.float16)
    np.testing.assert_array_equal(z, np.full(COUNT, 2048, np.float16))
    small = np.full(COUNT, 256, ml_dtypes.bfloat16)
    asc.jit(each_block)[3](np.ones((3, COUNT), ml_dtypes.bfloat16), small, asc.set_atomic_add,
                           asc.bfloat16)  # fmt: skip
    np.testing.assert_array_equal(small, np.full(COUNT, 256, ml_dtypes.bfloat16))


def test_nan_stays() -> None:
    x = np.full((1, COUNT), np.nan, np.float32)
    z = np.ones(COUNT, np.float32)
    asc.jit(each_block)[1](x, z, asc.set_atomic_max, asc.float32)
    assert np.isnan(z).all()


def rows(
    x: asc.GlobalAddress, z: asc.GlobalAddress, length: asc.ConstExpr[int], gap: asc.ConstExpr[int]
):
    """Rows of x with gaps between them in z, `gap` blocks or bytes."""
    a = asc.LocalTensor(asc.float16, TPosition.VECIN, 0, 4 * COUNT)
    asc.data_copy(a, tensor(x, asc.get_block_idx() * COUNT), COUNT)
    sync(HardEvent.MTE2_MTE3)
    asc.set_atomic_add(asc.float16)
    if length % 32:
        asc.data_copy_pad(tensor(z), a, asc.DataCopyExtParams(2, length, 0, gap, 0))
    else:
        asc.data_copy(tensor(z), a, asc.DataCopyParams(2, length // 32, 0, gap))
    asc.set_atomic_none()


@pytest.mark.parametrize(("length", "gap", "second"), [(32, 2, 48), (32, 0, 16), (22, 6, 14)])
def test_rows_are_written_atomically(length: int, gap: int, second: int) -> None:
    """`second` is the element where the second row begins in global memory."""
    x = np.arange(3 * COUNT, dtype=np.float16).reshape(3, COUNT)
    expected = np.full(2 * COUNT, 3, np.float16)
    for row in x:
        expected[: length // 2] += row[: length // 2]
        expected[second : second + length // 2] += row[16 : 16 + length // 2]
    for schedule, seed in SCHEDULES[:6]:
        args = (x, np.full(2 * COUNT, 3, np.float16), length, gap)
        findings, arrays = outcome(rows, args, schedule, seed, 3)
        assert findings == []
        np.testing.assert_array_equal(arrays[1], expected)


# -- the mode is that of the moment of issue ------------------------------------------------------


def in_turn(x: asc.GlobalAddress, z: asc.GlobalAddress, out: asc.GlobalAddress):
    a = asc.LocalTensor(asc.int32, TPosition.VECIN, 0, COUNT)
    asc.data_copy(a, tensor(x), COUNT)
    sync(HardEvent.MTE2_MTE3)
    asc.data_copy(tensor(z), a, COUNT)
    asc.pipe_barrier(asc.PipeID.PIPE_MTE3)
    asc.set_atomic_add(asc.int32)
    asc.data_copy(tensor(z), a, COUNT)
    asc.data_copy(tensor(z), a, COUNT)
    asc.set_atomic_max(asc.int16)
    asc.set_atomic_type(asc.int32)
    asc.data_copy(tensor(z, COUNT), a, COUNT)
    asc.pipe_barrier(asc.PipeID.PIPE_MTE3)
    asc.set_store_atomic_config(asc.AtomicDtype.ATOMIC_S32, asc.AtomicOp.ATOMIC_SUM)
    asc.data_copy(tensor(z, COUNT), a, COUNT)
    dtype, op = asc.get_store_atomic_config()
    asc.set_atomic_none()
    off, _ = asc.get_store_atomic_config()
    asc.data_copy(tensor(z, 2 * COUNT), a, COUNT)
    out_gm = tensor(out)
    out_gm.set_value(0, dtype)
    out_gm.set_value(1, op)
    out_gm.set_value(2, off)


def test_modes_in_turn_under_every_schedule() -> None:
    x = np.arange(COUNT, dtype=np.int32) - 20
    for schedule, seed in SCHEDULES:
        z, out = np.full(3 * COUNT, 7, np.int32), np.full(3, 99, np.uint16)
        kernel = asc.jit(in_turn, sim=asc.SimParams(schedule=schedule, seed=seed))
        kernel[1](x, z, out)
        np.testing.assert_array_equal(z, np.concatenate([3 * x, np.where(x > 7, x, 7) + x, x]))
        assert out.tolist() == [4, 0, 0]


# -- what needs an order --------------------------------------------------------------------------


def first_block_differs(x: asc.GlobalAddress, z: asc.GlobalAddress, how: asc.ConstExpr[Any]):
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, COUNT)
    asc.data_copy(a, tensor(x), COUNT)
    sync(HardEvent.MTE2_MTE3)
    if asc.get_block_idx() == 0:
        how(a, z)
    else:
        asc.set_atomic_add(asc.float32)
        asc.data_copy(tensor(z), a, COUNT)  # adds
    asc.set_atomic_none()


def plainly(a: Any, z: Any) -> None:
    asc.data_copy(tensor(z), a, COUNT)


def larger(a: Any, z: Any) -> None:
    asc.set_atomic_max(asc.float32)
    asc.data_copy(tensor(z), a, COUNT)


def reading(a: Any, z: Any) -> None:
    asc.pipe_barrier(asc.PipeID.PIPE_MTE2)
    asc.data_copy(a, tensor(z), COUNT)


def initialised(a: Any, z: Any) -> None:
    """Its own addition hides the plain write from nobody."""
    asc.data_copy(tensor(z), a, COUNT)
    asc.pipe_barrier(asc.PipeID.PIPE_MTE3)
    asc.set_atomic_add(asc.float32)
    asc.data_copy(tensor(z), a, COUNT)
    asc.data_copy(tensor(z), a, COUNT)


def added_and_read(a: Any, z: Any) -> None:
    """Its own addition hides those of others from nobody."""
    asc.set_atomic_add(asc.float32)
    asc.data_copy(tensor(z), a, COUNT)
    sync(HardEvent.MTE3_MTE2)
    asc.data_copy(a, tensor(z), COUNT)


@pytest.mark.parametrize("how", [plainly, larger, reading, initialised, added_and_read])
def test_other_accesses_need_an_order(how: Any) -> None:
    x, z = np.ones(COUNT, np.float32), np.zeros(COUNT, np.float32)
    for schedule, seed in SCHEDULES:
        findings, (_, after, _) = outcome(first_block_differs, (x, z, how), schedule, seed, BLOCKS)
        assert findings, (schedule, seed)
        assert {(f.code, f.severity) for f in findings} == {("AT0209", "error")}
        assert any("atomically writes" in f.message for f in findings)
        assert marked(first_block_differs, "adds") in {s.line for f in findings for s in f.spans}
        np.testing.assert_array_equal(after, z)


def test_additions_of_all_blocks_need_none() -> None:
    x, z = np.ones((BLOCKS, COUNT), np.float32), np.zeros(COUNT, np.float32)
    for schedule, seed in SCHEDULES:
        args = (x, z, asc.set_atomic_add, asc.float32)
        findings, arrays = outcome(each_block, args, schedule, seed, BLOCKS)
        assert findings == []
        np.testing.assert_array_equal(arrays[1], np.full(COUNT, BLOCKS, np.float32))


# -- findings about the mode ----------------------------------------------------------------------


def left_on(z: asc.GlobalAddress, off: asc.ConstExpr[bool]):
    a = asc.LocalTensor(asc.int32, TPosition.VECIN, 0, COUNT)
    asc.duplicate(a, 1, COUNT)
    sync(HardEvent.V_MTE3)
    asc.set_atomic_add(asc.int32)  # on
    asc.data_copy(tensor(z), a, COUNT)
    if off:
        asc.set_atomic_none()


def test_left_on() -> None:
    z = np.zeros(COUNT, np.int32)
    for schedule, seed in SCHEDULES[:4]:
        assert outcome(left_on, (z, True), schedule, seed)[0] == []
        (found,) = outcome(left_on, (z, False), schedule, seed, 3)[0]
        assert (found.code, found.severity) == ("AT0213", "warning")
        assert found.message == "set_atomic_add(int32) is still on when the kernel ends"
        assert [s.line for s in found.spans] == [marked(left_on, "on")]


def wrong_dtype(x: asc.GlobalAddress, z: asc.GlobalAddress):
    a = asc.LocalTensor(asc.int32, TPosition.VECIN, 0, COUNT)
    asc.data_copy(a, tensor(x), COUNT)
    sync(HardEvent.MTE2_MTE3)
    asc.set_atomic_add(asc.float32)  # on
    asc.data_copy(tensor(z), a, COUNT)  # copies
    asc.set_atomic_none()


def test_copies_of_another_dtype() -> None:
    for schedule, seed in SCHEDULES[:4]:
        x = np.ones(COUNT, np.int32)
        (found,) = outcome(wrong_dtype, (x, np.zeros_like(x)), schedule, seed)[0]
        assert (found.code, found.severity) == ("AT0213", "error")
        assert "while atomic writes are of float32" in found.message
        assert [s.line for s in found.spans] == [
            marked(wrong_dtype, "copies"), marked(wrong_dtype, "on")
        ]  # fmt: skip


@pytest.mark.parametrize("calls", [
    lambda: asc.set_atomic_type(asc.float32),
    lambda: (asc.set_atomic_max(asc.float32), asc.get_store_atomic_config()),
])  # fmt: skip
def test_what_is_not_documented_is_refused(calls: Any) -> None:
    def kernel(z: asc.GlobalAddress):
        calls()

    with pytest.raises(asc.KernelError) as caught:
        asc.jit(kernel)[1](np.zeros(8, np.float32))
    assert caught.value.code == "AT0307"


@pytest.mark.parametrize(("name", "dtype", "soc", "code"), [
    ("set_atomic_add", asc.int64, "Ascend910B1", "AT0102"),
    ("set_atomic_max", asc.uint8, "Ascend910B1", "AT0102"),
    ("set_atomic_type", asc.uint32, "Ascend950PR_958b", "AT0102"),
])  # fmt: skip
def test_refused_dtypes(name: str, dtype: DataType, soc: str, code: str) -> None:
    def kernel(z: asc.GlobalAddress):
        getattr(asc, name)(dtype)

    with pytest.raises(asc.KernelError) as caught:
        asc.jit(kernel, soc=soc).trace(np.zeros(8, np.float32))
    assert caught.value.code == code
    assert "1001: float32" in str(caught.value) or "2201: float32" in str(caught.value)


def test_text() -> None:
    z = np.zeros(8, np.uint16)
    source = asc.jit(in_turn).lower(np.zeros(8, np.int32), np.zeros(8, np.int32), z).source
    lines = [
        line.strip().removeprefix("result_7.")
        for line in source.splitlines()
        if "tomic" in line or "config" in line
    ]
    config = "AscendC::AtomicDtype::ATOMIC_S32", "AscendC::AtomicOp::ATOMIC_SUM"
    assert lines == [
        "AscendC::SetAtomicAdd<int32_t>();",
        "AscendC::SetAtomicMax<int16_t>();",
        "AscendC::SetAtomicType<int32_t>();",
        f"AscendC::SetStoreAtomicConfig<{', '.join(config)}>();",
        "uint16_t config[2];",
        "AscendC::GetStoreAtomicConfig(config[0], config[1]);",
        "AscendC::SetAtomicNone();",
        "uint16_t config_1[2];",
        "AscendC::GetStoreAtomicConfig(config_1[0], config_1[1]);",
        "SetValue(0, config[0]);",
        "SetValue(1, config[1]);",
        "SetValue(2, config_1[0]);",
    ]
