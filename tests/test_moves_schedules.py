"""Calls that move elements by address under every schedule, clean and with an event missing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import asctrace as asc
from asctrace import HardEvent, TPosition
from tests.race_kit import SCHEDULES, check_clean, check_racy, outcome, sync, tensor

N = 64
X = np.arange(N, dtype=np.float32)
INDEX = np.random.default_rng(5).permutation(N).astype(np.uint32) * 4


def gathered(
    x: asc.GlobalAddress, i: asc.GlobalAddress, z: asc.GlobalAddress, missing: asc.ConstExpr[str]
):
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, N)
    o = asc.LocalTensor(asc.uint32, TPosition.VECIN, 1024, N)
    b = asc.LocalTensor(asc.float32, TPosition.VECOUT, 2048, N)
    asc.data_copy(a, tensor(x), N)
    asc.data_copy(o, tensor(i), N)
    sync(HardEvent.MTE2_V, missing != "MTE2_V")
    asc.gather(b, a, o, 0, N)
    sync(HardEvent.V_MTE3, missing != "V_MTE3")
    asc.data_copy(tensor(z), b, N)


def offsets_too_early(x: asc.GlobalAddress, i: asc.GlobalAddress, z: asc.GlobalAddress):
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, N)
    o = asc.LocalTensor(asc.uint32, TPosition.VECIN, 1024, N)
    b = asc.LocalTensor(asc.float32, TPosition.VECOUT, 2048, N)
    asc.data_copy(a, tensor(x), N)
    sync(HardEvent.MTE2_V)
    asc.data_copy(o, tensor(i), N)  # first
    asc.gather(b, a, o, 0, N)  # second
    sync(HardEvent.V_MTE3)
    asc.data_copy(tensor(z), b, N)


def result_too_early(x: asc.GlobalAddress, i: asc.GlobalAddress, z: asc.GlobalAddress):
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, N)
    o = asc.LocalTensor(asc.uint32, TPosition.VECIN, 1024, N)
    b = asc.LocalTensor(asc.float32, TPosition.VECOUT, 2048, N)
    asc.data_copy(a, tensor(x), N)
    asc.data_copy(o, tensor(i), N)
    sync(HardEvent.MTE2_V)
    asc.gather(b, a, o, 0, N)  # first
    asc.data_copy(tensor(z), b, N)  # second


def test_gather() -> None:
    z = np.zeros_like(X)
    check_clean(gathered, (X, INDEX, z, ""), X[INDEX // 4])
    check_racy(offsets_too_early, (X, INDEX, z), "read after write", "MTE2_V")
    check_racy(result_too_early, (X, INDEX, z), "read after write", "V_MTE3")


def halves(x: asc.GlobalAddress, i: asc.GlobalAddress, z: asc.GlobalAddress):
    """The next half of the table is copied while the first is gathered from."""
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, 2 * N)
    o = asc.LocalTensor(asc.uint32, TPosition.VECIN, 1024, N)
    b = asc.LocalTensor(asc.float32, TPosition.VECOUT, 2048, N)
    asc.data_copy(a, tensor(x), N)
    asc.data_copy(o, tensor(i), N)
    sync(HardEvent.MTE2_V)
    asc.data_copy(a[N:], tensor(x), N)
    asc.gather(b, a[0:], o, 0, N)
    sync(HardEvent.V_MTE3)
    asc.data_copy(tensor(z), b, N)


def test_a_gather_reads_what_its_offsets_name_and_no_more() -> None:
    check_clean(halves, (X, INDEX, np.zeros_like(X)), X[INDEX // 4])


def counted(x: asc.GlobalAddress, m: asc.GlobalAddress, z: asc.GlobalAddress):
    """The number of chosen elements decides what is added; the program waits for it."""
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, N)
    bits = asc.LocalTensor(asc.uint32, TPosition.VECIN, 1024, 8)
    b = asc.LocalTensor(asc.float32, TPosition.VECOUT, 2048, N)
    asc.data_copy(a, tensor(x), N)
    asc.data_copy(bits, tensor(m), 8)
    sync(HardEvent.MTE2_V)
    asc.duplicate(b, 0.0, N)
    count = asc.gather_mask(b, a, bits, False, 0, asc.GatherMaskParams(1, 1, 8, 0))
    asc.adds(b, b, asc.get_gather_mask_remain_count(), count)
    sync(HardEvent.V_MTE3)
    asc.data_copy(tensor(z), b, N)


def test_a_count_is_there_when_the_program_asks() -> None:
    words = np.zeros(8, np.uint32)
    words[:2] = 0x80000001, 0xF0
    chosen = [0, 31, 36, 37, 38, 39]
    want = np.zeros_like(X)
    want[: len(chosen)] = X[chosen] + len(chosen)
    check_clean(counted, (X, words, np.zeros_like(X)), want)


def merged(x: asc.GlobalAddress, i: asc.GlobalAddress, z: asc.GlobalAddress):
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, N)
    o = asc.LocalTensor(asc.uint32, TPosition.VECIN, 1024, N)
    b = asc.LocalTensor(asc.float32, TPosition.VECCALC, 2048, 2 * N)
    c = asc.LocalTensor(asc.float32, TPosition.VECOUT, 4096, 2 * N)
    asc.data_copy(a, tensor(x), N)
    asc.data_copy(o, tensor(i), N)
    sync(HardEvent.MTE2_V)
    asc.duplicate(c, 0.0, 2 * N)
    asc.sort32(b, a, o, 2)
    done = asc.array(asc.uint32, 4)
    lists = asc.MrgSortSrcList(asc.float32, b, b[N:])
    asc.mrg_sort(c, lists, [32, 32, 0, 0], done, 3, 1, True)
    first, second, _, _ = asc.get_mrg_sort_result()
    d = asc.LocalTensor(asc.uint32, TPosition.VECOUT, 8192, 8)
    asc.duplicate(d, first + 100 * second, 8)
    asc.adds(d.reinterpret_cast(asc.int32), d.reinterpret_cast(asc.int32), 10000, 8)
    asc.duplicate(d, done[0], 1)
    sync(HardEvent.V_MTE3)
    asc.data_copy(tensor(z), c, 2 * N)
    asc.data_copy(tensor(z, 2 * N), d.reinterpret_cast(asc.float32), 8)


def test_a_merge_that_stops() -> None:
    values = np.concatenate([np.arange(32) * 2 + 90, np.arange(32) + 100]).astype(np.float32)
    order = sorted(enumerate(values), key=lambda entry: (-entry[1], entry[0]))
    counts, taken = [0, 0], []
    for k, value in order:
        counts[k // 32] += 1
        taken.append((value, k))
        if 32 in counts:
            break
    assert counts == [27, 32]
    for schedule, seed in SCHEDULES:
        z = np.zeros(2 * N + 8, np.float32)
        findings, arrays = outcome(merged, (values, INDEX, z), schedule, seed)
        assert findings == []
        got = arrays[2]
        assert got[: 2 * len(taken) : 2].tolist() == [value for value, _ in taken]
        index = got.view(np.uint32)
        assert index[1 : 2 * len(taken) : 2].tolist() == [INDEX[k] for _, k in taken]
        assert index[2 * N :].tolist() == [27, *[10000 + 27 + 3200] * 7]


def list_too_early(x: asc.GlobalAddress, z: asc.GlobalAddress):
    a = asc.LocalTensor(asc.float16, TPosition.VECIN, 0, 256)
    b = asc.LocalTensor(asc.float16, TPosition.VECOUT, 1024, 256)
    asc.data_copy(a, tensor(x), 256)  # first
    asc.trans_data_to_5hd(  # second
        [b[16 * k :] for k in range(16)],
        [a[16 * k :] for k in range(16)],
        asc.TransDataTo5HDParams(),
    )
    sync(HardEvent.V_MTE3)
    asc.data_copy(tensor(z), b, 256)


def test_a_race_on_a_tensor_of_a_list_names_it() -> None:
    x = np.arange(256).astype(np.float16)
    for schedule, seed in SCHEDULES[:4]:
        findings, _ = outcome(list_too_early, (x, np.zeros_like(x)), schedule, seed)
        (race,) = findings
        assert race.code == "AT0208"
        assert "trans_data_to_5hd on V reads bytes" in race.message
        assert "`a` (LocalTensor of float16 in VECIN)" in race.message


def by_address(x: asc.GlobalAddress, z: asc.GlobalAddress):
    a = asc.LocalTensor(asc.float16, TPosition.VECIN, 0, 256)
    b = asc.LocalTensor(asc.float16, TPosition.VECOUT, 1024, 256)
    asc.data_copy(a, tensor(x), 256)
    asc.trans_data_to_5hd(
        [b.get_phy_addr(16 * k) for k in range(16)],
        [a.get_phy_addr(16 * k) for k in range(16)],
        asc.TransDataTo5HDParams(),
    )
    sync(HardEvent.V_MTE3)
    asc.data_copy(tensor(z), b, 256)


def test_a_race_by_address_is_found() -> None:
    x = np.arange(256).astype(np.float16)
    findings, _ = outcome(by_address, (x, np.zeros_like(x)), "program", 0)
    (race,) = findings
    assert race.code == "AT0208"
    assert "of UB, UB by address, which data_copy on MTE2" in race.message


def freed_list(x: asc.GlobalAddress, z: asc.GlobalAddress):
    pipe = asc.TPipe()
    que = asc.TQue(TPosition.VECIN, 1)
    pipe.init_buffer(que, 1, 1024)
    a = que.alloc_tensor(asc.float32)
    b = asc.LocalTensor(asc.float32, TPosition.VECOUT, 16384, 256)
    asc.data_copy(a, tensor(x), 64)
    que.enque(a)
    a = que.deque(asc.float32)
    que.free_tensor(a)
    asc.mrg_sort(
        b, asc.MrgSortSrcList(asc.float32, a, a[32:]), asc.MrgSort4Info([16, 16, 0], False, 3)
    )
    asc.data_copy(tensor(z), b, 64)


def test_a_list_that_was_freed_is_found() -> None:
    with pytest.raises(asc.KernelError) as caught:
        asc.jit(freed_list)[1](X, np.zeros_like(X))
    (finding,) = caught.value.findings
    assert "AT0202: mrg_sort reads `a`" in str(finding)
    with pytest.raises(asc.KernelError, match="AT0202: mrg_sort reads `a`"):
        asc.jit(freed_list).lower(X, np.zeros_like(X))


def scattered(x: asc.GlobalAddress, i: asc.GlobalAddress, z: asc.GlobalAddress):
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, N)
    o = asc.LocalTensor(asc.uint32, TPosition.VECIN, 1024, N)
    b = asc.LocalTensor(asc.float32, TPosition.VECOUT, 2048, N)
    asc.data_copy(a, tensor(x), N)
    asc.data_copy(o, tensor(i), N)
    sync(HardEvent.MTE2_V)
    asc.scatter(b, a, o, 0, N)
    sync(HardEvent.V_MTE3)
    asc.data_copy(tensor(z), b, N)


def test_scatter_under_every_schedule() -> None:
    want = np.zeros_like(X)
    want[INDEX // 4] = X
    for schedule, seed in SCHEDULES:
        params = asc.SimParams(schedule=schedule, seed=seed)
        kernel: Any = asc.jit(scattered, sim=params, soc="Ascend950PR_958b")
        z = np.zeros_like(X)
        kernel[1](X, INDEX, z)
        np.testing.assert_array_equal(z, want)


def automatic(x: asc.GlobalAddress, i: asc.GlobalAddress, z: asc.GlobalAddress):
    for k in range(3 * asc.get_block_num()):
        scores = asc.LocalTensorAuto(asc.float32, N)
        indices = asc.LocalTensorAuto(asc.uint32, N)
        pairs = asc.LocalTensorAuto(asc.float32, 2 * N)
        merged = asc.LocalTensorAuto(asc.float32, 2 * N)
        result = asc.LocalTensorAuto(asc.float32, N)
        asc.data_copy(scores, tensor(x, k * N), N)
        asc.data_copy(indices, tensor(i), N)
        asc.sort32(pairs, scores, indices, 2)
        lists = asc.MrgSortSrcList(asc.float32, pairs, pairs[N:])
        asc.mrg_sort(merged, lists, asc.MrgSort4Info([32, 32], False, 3))
        asc.gather_mask(result, merged, 1, False, 0, asc.GatherMaskParams(1, 2, 8, 0))
        asc.data_copy(tensor(z, k * N), result, N)


def test_automatic_tensors_are_synchronised() -> None:
    x = np.random.default_rng(6).random((3, N), np.float32)
    expected = -np.sort(-x, axis=1).reshape(-1)
    check_clean(automatic, (x.reshape(-1), INDEX, np.zeros(3 * N, np.float32)), expected)
