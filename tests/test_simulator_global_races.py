"""Races in global memory, scalar stores to it, and events."""

from __future__ import annotations

import numpy as np
import pytest

import asctrace as asc
from asctrace import HardEvent, TPosition
from tests.race_kit import (
    SCHEDULES,
    TILE,
    check_clean,
    marked,
    outcome,
    sync,
    tensor,
    vectors,
)

# -- global memory --------------------------------------------------------------------------------


def written_and_read_back(x: asc.GlobalAddress, z: asc.GlobalAddress, safe: asc.ConstExpr[bool]):
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, TILE)
    b = asc.LocalTensor(asc.float32, TPosition.VECIN, 1024, TILE)
    asc.data_copy(a, tensor(x), TILE)
    sync(HardEvent.MTE2_MTE3)
    asc.data_copy(tensor(z), a, TILE)  # first
    sync(HardEvent.MTE3_MTE2, safe)
    asc.data_copy(b, tensor(z), TILE)  # second


def test_global_memory_between_the_pipes_of_a_core() -> None:
    x, z = vectors()
    check_clean(written_and_read_back, (x, z, True), x)
    for schedule, seed in SCHEDULES:
        (race,) = outcome(written_and_read_back, (x, z, False), schedule, seed)[0]
        assert "HardEvent.MTE3_MTE2 is missing" in race.message
        assert [s.line for s in race.spans] == [
            marked(written_and_read_back, "second"), marked(written_and_read_back, "first")
        ]  # fmt: skip


def blocks_copy(x: asc.GlobalAddress, z: asc.GlobalAddress, step: int, read_at: int, write_at: int):
    block = asc.get_block_idx()
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, TILE)
    asc.data_copy(a, tensor(x, block * step + read_at), TILE)  # read
    sync(HardEvent.MTE2_MTE3)
    asc.data_copy(tensor(z, block * step + write_at), a, TILE)  # write


def test_blocks_with_parts_of_their_own() -> None:
    x, z = vectors(4)
    check_clean(blocks_copy, (x, z, TILE, 0, 0), x, blocks=4)


def test_blocks_that_write_the_same_bytes_are_a_warning() -> None:
    x, z = vectors(4)
    for schedule, seed in SCHEDULES:
        (found,) = outcome(blocks_copy, (x, z, TILE // 2, 0, 0), schedule, seed, blocks=4)[0]
        assert (found.code, found.severity) == ("AT0209", "warning")
        assert found.message.startswith("write after write between blocks: data_copy in block ")
        assert {s.line for s in found.spans} == {marked(blocks_copy, "write")}


def test_a_block_that_reads_what_another_writes_is_an_error() -> None:
    x, _ = vectors(4)
    for schedule, seed in SCHEDULES:
        # In place, but each block reads the neighbour's part.
        kernel = asc.jit(blocks_copy, sim=asc.SimParams(schedule=schedule, seed=seed))
        data = x.copy()
        with pytest.raises(asc.KernelError) as caught:
            kernel[3](data, data, TILE, TILE, 0)
        codes = {f.code for f in caught.value.findings}
        assert codes == {"AT0209"}
        lines = {s.line for f in caught.value.findings for s in f.spans}
        assert lines == {marked(blocks_copy, "read"), marked(blocks_copy, "write")}
        np.testing.assert_array_equal(data, x)


# -- scalar stores to global memory ---------------------------------------------------------------


def scalar_stores(z: asc.GlobalAddress, step: int):
    z_gm = tensor(z, asc.get_block_idx() * step)
    for k in range(8):
        z_gm.set_value(k, 1.0 * k)  # store
    z_gm.set_value(0, z_gm.get_value(7) + z_gm.get_value(1))


def test_scalar_stores_are_read_back_and_visible_at_the_end() -> None:
    expected = np.tile(np.array([8, 1, 2, 3, 4, 5, 6, 7, *[0] * 8], np.float32), 4)
    check_clean(scalar_stores, (np.zeros(64, np.float32), 16), expected, blocks=4)


def test_blocks_that_share_a_line_are_a_warning() -> None:
    for schedule, seed in SCHEDULES:
        data = np.zeros(32, np.float32)
        findings, (z, _) = outcome(scalar_stores, (data, 8), schedule, seed, blocks=4)
        assert findings
        assert {(f.code, f.severity) for f in findings} == {("AT0209", "warning")}
        assert "store to the same 64-byte line of `z`" in findings[0].message
        assert z[8:16].tolist() == [8, 1, 2, 3, 4, 5, 6, 7]


def cached(z: asc.GlobalAddress, safe: asc.ConstExpr[bool]):
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, 16)
    z_gm = tensor(z)
    z_gm.set_value(16 if safe else 3, 5.0)  # first
    sync(HardEvent.S_MTE2)
    asc.data_copy(a, z_gm, 16)  # second
    sync(HardEvent.MTE2_MTE3)
    asc.data_copy(z_gm[32:], a, 16)


def test_a_copy_does_not_see_scalar_stores() -> None:
    z = np.arange(48, dtype=np.float32)
    expected = np.concatenate([z[:32], z[:16]])
    expected[16] = 5
    check_clean(cached, (z, True), expected)
    for schedule, seed in SCHEDULES:
        (found,) = outcome(cached, (z, False), schedule, seed)[0]
        assert found.code == "AT0210"
        assert [s.line for s in found.spans] == [marked(cached, "second"), marked(cached, "first")]
        kernel = asc.jit(
            cached, sim=asc.SimParams(schedule=schedule, seed=seed, detect_races=False)
        )
        data = z.copy()
        kernel[1](data, False)
        assert (data[3], data[35]) == (5, 3)


# -- events ---------------------------------------------------------------------------------------


def overrun(x: asc.GlobalAddress, tiles: int, safe: asc.ConstExpr[bool]):
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, 4 * TILE)
    for i in range(tiles):
        asc.data_copy(a[i * TILE :], tensor(x, i * TILE), TILE)
        asc.set_flag(HardEvent.MTE2_V, 0)  # first
        asc.wait_flag(HardEvent.MTE2_V, 0)  # second
        asc.add(a[i * TILE :], a[i * TILE :], a[i * TILE :], TILE)
        sync(HardEvent.V_MTE2, safe)


def test_a_set_that_may_meet_the_event_still_set_is_a_warning() -> None:
    x, _ = vectors(4)
    check_clean(overrun, (x, 4, True), x)
    check_clean(overrun, (x, 1, False), x)
    for schedule, seed in SCHEDULES:
        (found,) = outcome(overrun, (x, 4, False), schedule, seed)[0]
        assert (found.code, found.severity) == ("AT0204", "warning")
        assert found.message.startswith("set_flag(MTE2_V, 0) can come while the event is still set")
        lines = [span.line for span in found.spans]
        assert lines == [marked(overrun, "first"), marked(overrun, "second")]


def test_schedule_is_checked() -> None:
    with pytest.raises(asc.KernelError, match=r"AT0401: SimParams\(schedule='early'\)"):
        asc.SimParams(schedule="early")  # type: ignore[arg-type]
