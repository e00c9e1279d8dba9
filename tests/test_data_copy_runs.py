"""Copies in the simulator: padding, what only a run shows, races and their clean twins, caches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import asctrace as asc
from asctrace import HardEvent, TPosition
from tests.race_kit import SCHEDULES, check_clean, marked, outcome, sync, tensor

# -- padding --------------------------------------------------------------------------------------


def padded(
    x: asc.GlobalAddress, z: asc.GlobalAddress, setting: Any, pad: Any, again: Any = None
) -> Callable[..., None]:
    """A kernel that copies five elements into a slot and the whole slot out."""

    @asc.jit
    def kernel(x: asc.GlobalAddress, z: asc.GlobalAddress):
        slot = asc.LocalTensor(x.dtype, TPosition.VECIN, 0, 64)
        if setting is not None:
            asc.set_pad_value(setting)
        if again is not None:
            asc.data_copy_pad(slot[32:], tensor(x), asc.DataCopyExtParams(1, 8), again)
        asc.data_copy_pad(slot, tensor(x), asc.DataCopyExtParams(1, 5 * x.dtype.sizeof()), pad)
        sync(HardEvent.MTE2_MTE3)
        asc.data_copy(tensor(z), slot, 32 // x.dtype.sizeof())

    return kernel


def slot(dtype: Any, setting: Any, pad: Any, again: Any = None) -> list[float]:
    """What is behind the five elements."""
    x, z = np.arange(1, 17).astype(dtype), np.zeros(32 // np.dtype(dtype).itemsize, dtype)
    padded(None, None, setting, pad, again)[1](x, z)
    assert z[:5].tolist() == [1, 2, 3, 4, 5]
    return [float(v) for v in z[5:]]


def ext(dtype: Any, *rest: Any) -> Any:
    return asc.DataCopyPadExtParams(dtype, *rest)


def test_the_padding_value_fills_the_slot() -> None:
    assert slot(np.float32, None, ext(asc.float32, True, 0, 1, 2.5)) == [2.5] * 3
    assert slot(np.int16, None, ext(asc.int16, True, 0, 2, -7)) == [-7] * 11
    assert slot(ml_dtypes.bfloat16, None, ext(asc.bfloat16, True, 0, 2, 0.5)) == [0.5] * 11
    # 0x3C00 are the bits of 1 in float16: DataCopyPadParams takes bits.
    bits = asc.DataCopyPadParams(True, 0, 1, 0x3C00)

    @asc.jit
    def kernel(x: asc.GlobalAddress, z: asc.GlobalAddress):
        local = asc.LocalTensor(x.dtype, TPosition.VECIN, 0, 64)
        asc.data_copy_pad(local, tensor(x), asc.DataCopyParams(1, 10), bits)
        sync(HardEvent.MTE2_MTE3)
        asc.data_copy(tensor(z), local, 16)

    z = np.zeros(16, np.float16)
    kernel[1](np.arange(16, dtype=np.float16), z)
    assert z.tolist() == [0, 1, 2, 3, 4, *[1] * 11]


@pytest.mark.parametrize(
    ("setting", "again"),
    [
        (None, None),
        (np.float32(3), ext(asc.float32, True, 0, 0, 0)),
        (np.float32(3), ext(asc.float32, True, 0, 1, 9)),
    ],
)
def test_padding_that_nobody_set_is_not_a_number(setting: Any, again: Any) -> None:
    """Without is_pad and set_pad_value; a call with is_pad in between ends the effect."""
    assert np.isnan(slot(np.float32, setting, ext(asc.float32, False, 0, 1), again)).all()


def test_the_end_of_a_slot_without_padding_is_not_defined() -> None:
    for is_pad in (True, False):
        assert np.isnan(slot(np.float32, np.float32(3), ext(asc.float32, is_pad, 0, 0, 4))).all()


def test_set_pad_value() -> None:
    right = (False, 0, 1)
    assert slot(np.float32, 1.5, ext(asc.float32, *right)) == [1.5] * 3
    assert slot(np.float16, np.float16(1.5), ext(asc.float16, *right)) == [1.5] * 11
    assert slot(np.int32, -3, ext(asc.int32, *right)) == [-3] * 3
    assert slot(np.int16, np.int16(-3), ext(asc.int16, *right)) == [-3] * 11
    assert slot(np.float32, 1.5, ext(asc.float32, True, 0, 1, 2)) == [2] * 3
    for dtype in (np.float16, np.int8, np.float32):  # 0 is 0 in each
        assert set(slot(dtype, 0, ext(getattr(asc, np.dtype(dtype).name), *right))) == {0}
    with pytest.raises(asc.KernelError) as caught:
        slot(np.float16, 1, ext(asc.float16, *right))
    assert "AT0102: data_copy_pad of float16 pads with the int32 number of" in str(caught.value)
    assert "hint: give it as float16, for example as a NumPy scalar" in str(caught.value)


def test_set_pad_value_of_the_device() -> None:
    @asc.jit
    def kernel(x: asc.GlobalAddress, z: asc.GlobalAddress, n: int):
        local = asc.LocalTensor(x.dtype, TPosition.VECIN, 0, 64)
        for i in asc.range(n):
            asc.set_pad_value(i + 1)
            asc.data_copy_pad(
                local[8 * i :], tensor(x), asc.DataCopyExtParams(1, 4 * i + 4),
                asc.DataCopyPadExtParams(asc.int32, False, 0, 1),
            )  # fmt: skip
        sync(HardEvent.MTE2_MTE3)
        asc.data_copy(tensor(z), local, 24)

    for schedule, seed in SCHEDULES[:6]:
        z = np.zeros(24, np.int32)
        sim = asc.SimParams(schedule=schedule, seed=seed)
        asc.jit(kernel.fn, sim=sim)[1](np.arange(7, 23, dtype=np.int32), z, 3)
        assert z.reshape(3, 8).tolist() == [
            [7, 1, 1, 1, 1, 1, 1, 1], [7, 8, 2, 2, 2, 2, 2, 2], [7, 8, 9, 3, 3, 3, 3, 3]
        ]  # fmt: skip


# -- what only the run shows ----------------------------------------------------------------------


@asc.jit
def rows(x: asc.GlobalAddress, z: asc.GlobalAddress, count: int, length: int, gap: int, size: int):
    """Rows into slots of UB and from there densely out."""
    source, target = asc.GlobalTensor(), asc.GlobalTensor()
    source.set_global_buffer(x, size)
    target.set_global_buffer(z, size)
    local = asc.LocalTensor(x.dtype, TPosition.VECIN, 0, 64)
    pad = asc.DataCopyPadExtParams(x.dtype, True, 0, 0, 0)
    asc.data_copy_pad(local, source, asc.DataCopyExtParams(count, length, gap, 0), pad)
    sync(HardEvent.MTE2_MTE3)
    asc.data_copy_pad(target, local, asc.DataCopyExtParams(count, length, 0, 0))


def test_rows_of_any_length() -> None:
    x, z = np.arange(64, dtype=np.float32), np.full(64, -1, np.float32)
    rows[1](x, z, 5, 12, 8, 64)
    assert z.tolist() == [*(5 * r + c for r in range(5) for c in range(3)), *[-1] * 49]


@pytest.mark.parametrize(
    ("numbers", "message"),
    [
        ((4096, 4, 0, 64), "AT0108: data_copy_pad with block_count = 4096"),
        ((-1, 4, 0, 64), "AT0108: data_copy_pad with block_count = -1"),
        ((2, 6, 0, 64), "AT0103: data_copy_pad with block_len = 6, not a multiple of 4"),
        ((2, 4, -4, 64), "AT0108: data_copy_pad with src_stride = -4"),
        ((9, 4, 0, 64), "AT0201: data_copy_pad writes elements 0 to 71 of `local`, which has 64"),
        ((8, 20, 16, 64), "AT0201: data_copy_pad reads elements 0 to 67 of parameter `x`"),
        ((3, 20, 0, 14), "AT0201: data_copy_pad reads elements 0 to 14 of parameter `x`, but the"),
    ],
)
def test_numbers_of_the_device(numbers: tuple[int, ...], message: str) -> None:
    """The same rules as while tracing; bounds are those of the whole footprint."""
    if "`local`" in message:
        message = message.replace("`local`", "`local` (LocalTensor of float32 in VECIN)")
    x, z = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    with pytest.raises(asc.KernelError) as caught:
        rows[1](x, z, *numbers)
    assert message.split(", which has")[0].split(" (Local")[0] in str(caught.value)
    assert not z.any()


def test_rows_that_were_never_written() -> None:
    @asc.jit
    def kernel(x: asc.GlobalAddress, z: asc.GlobalAddress):
        local = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, 64)
        asc.data_copy(local, tensor(x), asc.DataCopyParams(3, 1, 0, 1))
        sync(HardEvent.MTE2_MTE3)
        asc.data_copy(tensor(z), local, asc.DataCopyParams(3, 1, 1, 0))
        asc.data_copy(tensor(z), local, asc.DataCopyParams(2, 2, 0, 0))

    x, z = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    with pytest.raises(asc.KernelError, match="AT0203: data_copy reads element 8 of `local`"):
        kernel[1](x, z)


def test_copies_in_ub_at_places_of_the_device() -> None:
    @asc.jit
    def kernel(x: asc.GlobalAddress, start: int):
        local = asc.LocalTensor(asc.int32, TPosition.VECIN, 0, 128)
        asc.data_copy(local, tensor(x), 128)
        asc.pipe_barrier(asc.PipeID.PIPE_ALL)
        asc.data_copy(local[start:], local, asc.DataCopyParams(2, 2, 1, 1))
        asc.pipe_barrier(asc.PipeID.PIPE_ALL)
        asc.data_copy(tensor(x), local, 128)

    x = np.arange(128, dtype=np.int32)
    with pytest.raises(asc.KernelError, match=r"AT0117: data_copy writes .* share 64 bytes"):
        kernel[1](x, 8)
    kernel[1](x, 0)  # in place
    assert x.tolist() == list(range(128))
    kernel[1](x, 64)
    assert x[64:104].tolist() == [*range(16), *range(80, 88), *range(24, 40)]


def test_negative_gaps_read_a_block_again() -> None:
    """Documented for architecture 3510 only."""
    x, z = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    asc.jit(rows.fn, soc="Ascend950PR_958b")[1](x, z, 3, 12, -12, 64)
    assert z[:9].tolist() == [0, 1, 2] * 3


# -- races ----------------------------------------------------------------------------------------


def interleaved(x: asc.GlobalAddress, z: asc.GlobalAddress, width: int):
    """Each block has columns of its own in every row."""
    block = asc.get_block_idx()
    local = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, 64)
    pad = asc.DataCopyPadExtParams(asc.float32)
    asc.data_copy_pad(
        local, tensor(x, 3 * block), asc.DataCopyExtParams(4, 12, 4 * (9 - 3), 0), pad
    )
    sync(HardEvent.MTE2_MTE3)
    asc.data_copy_pad(  # write
        tensor(z, 3 * block), local, asc.DataCopyExtParams(4, width, 0, 4 * 9 - width)
    )


def test_blocks_with_columns_of_their_own() -> None:
    """The gaps between rows are not written, and nothing in global memory begins at 32 bytes."""
    x, z = np.arange(36, dtype=np.float32), np.zeros(36, np.float32)
    check_clean(interleaved, (x, z, 12), x, blocks=3)
    for schedule, seed in SCHEDULES[:6]:
        z = np.zeros(40, np.float32)
        findings, _ = outcome(interleaved, (x, z, 16), schedule, seed, blocks=3)
        assert {(f.code, f.severity) for f in findings} == {("AT0209", "warning")}
        assert {s.line for f in findings for s in f.spans} == {marked(interleaved, "write")}


def strided(x: asc.GlobalAddress, z: asc.GlobalAddress, safe: asc.ConstExpr[bool]):
    """The second copy writes between the rows of the first."""
    local = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, 128)
    asc.data_copy(local, tensor(x), asc.DataCopyParams(4, 1, 0, 1))  # even
    asc.data_copy(local[8:], tensor(x, 32), asc.DataCopyParams(4, 1, 0, 1))  # odd
    sync(HardEvent.MTE2_MTE3, safe)
    asc.data_copy(tensor(z), local, asc.DataCopyParams(4, 1, 1, 0))  # out


def test_rows_between_rows() -> None:
    """Only the rows that are read need the event."""
    x, z = np.arange(64, dtype=np.float32), np.zeros(32, np.float32)
    check_clean(strided, (x, z, True), x[:32])
    for schedule, seed in SCHEDULES:
        (race,) = outcome(strided, (x, z, False), schedule, seed)[0]
        assert race.message.startswith("read after write without order: data_copy on MTE3")
        assert [s.line for s in race.spans] == [marked(strided, "out"), marked(strided, "even")]


def gaps(x: asc.GlobalAddress, z: asc.GlobalAddress, over: asc.ConstExpr[bool]):
    """The vector unit works on every other block while rows arrive in the blocks between."""
    local = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, 64)
    asc.duplicate(local, 1.0, 8, 4, 1, 2)  # first
    asc.data_copy(local[0 if over else 8 :], tensor(x), asc.DataCopyParams(4, 1, 0, 1))  # second
    sync(HardEvent.MTE2_MTE3)
    sync(HardEvent.V_MTE3)
    if not over:
        asc.data_copy(tensor(z), local, 64)


def test_gaps_are_free_for_other_pipes() -> None:
    x, z = np.arange(32, dtype=np.float32), np.zeros(64, np.float32)
    expected = np.stack([np.ones((4, 8), np.float32), x.reshape(4, 8)], 1).reshape(-1)
    check_clean(gaps, (x, z, False), expected)
    for schedule, seed in SCHEDULES:
        (race,) = outcome(gaps, (x, z, True), schedule, seed)[0]
        assert race.code == "AT0208"
        assert race.message.startswith("write after write without order: data_copy on MTE2")
        assert [s.line for s in race.spans] == [marked(gaps, "second"), marked(gaps, "first")]


def slots(x: asc.GlobalAddress, z: asc.GlobalAddress, safe: asc.ConstExpr[bool]):
    """A short row takes its whole slot: the neighbour's number at the end of the slot is lost."""
    local = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, 64)
    asc.duplicate(local, 1.0, 8)  # first
    sync(HardEvent.V_MTE2, safe)
    asc.data_copy_pad(  # second
        local, tensor(x), asc.DataCopyExtParams(1, 4), asc.DataCopyPadExtParams(asc.float32)
    )
    sync(HardEvent.MTE2_MTE3)
    asc.data_copy_pad(tensor(z), local, asc.DataCopyExtParams(1, 4))


def test_a_slot_is_written_as_a_whole() -> None:
    x, z = np.arange(5, 13, dtype=np.float32), np.zeros(1, np.float32)
    check_clean(slots, (x, z, True), x[:1])
    for schedule, seed in SCHEDULES:
        (race,) = outcome(slots, (x, z, False), schedule, seed)[0]
        assert (race.code, race.spans[0].line) == ("AT0208", marked(slots, "second"))
        assert "bytes 0 to 31 of UB" in race.message


# -- what must not be reported --------------------------------------------------------------------


def pipelined(x: asc.GlobalAddress, z: asc.GlobalAddress, total: int, tile: asc.ConstExpr[int]):
    """A queue for any length: the last tile is short, and global tiles begin anywhere."""
    pipe = asc.TPipe()
    que = asc.TQueBind(TPosition.VECIN, TPosition.VECOUT, 2)
    pipe.init_buffer(que, 2, tile * 4)
    for start in asc.range(0, total, tile):
        length = min(tile, total - start) * 4
        local = que.alloc_tensor(asc.float32)
        pad = asc.DataCopyPadExtParams(asc.float32)
        asc.data_copy_pad(local, tensor(x, start + 1), asc.DataCopyExtParams(1, length), pad)
        que.enque(local)
        local = que.deque(asc.float32)
        asc.data_copy_pad(tensor(z, start), local, asc.DataCopyExtParams(1, length))
        que.free_tensor(local)


@pytest.mark.parametrize("total", [0, 1, 7, 24, 29])
def test_tiles_that_begin_anywhere(total: int) -> None:
    x = np.arange(total + 1, dtype=np.float32)
    expected = np.append(x[1:], np.float32(-1))
    check_clean(pipelined, (x, np.full(total + 1, -1, np.float32), total, 8), expected)


def nothing(x: asc.GlobalAddress, z: asc.GlobalAddress, count: int, length: int):
    """Copies of nothing, far outside of everything and without a flag between them."""
    local = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, 8)
    pad = asc.DataCopyPadExtParams(asc.float32, True, 1, 1, 0)
    asc.data_copy(local, tensor(x), asc.DataCopyParams(count, length, 60000, 60000))
    asc.data_copy_pad(local, tensor(x), asc.DataCopyExtParams(count, length * 4), pad)
    asc.data_copy_pad(tensor(z), local, asc.DataCopyExtParams(count, length * 4, 0, 60000))


def test_copies_of_nothing() -> None:
    x, z = np.arange(8, dtype=np.float32), np.zeros(8, np.float32)
    for count, length in ((0, 0), (0, 65535), (4095, 0)):
        check_clean(nothing, (x, z, count, length), z)


# -- caches ---------------------------------------------------------------------------------------


def stored(
    z: asc.GlobalAddress, lines: asc.ConstExpr[Any], at: asc.ConstExpr[int], to: asc.ConstExpr[Any]
):
    """The scalar unit stores 16 numbers from byte 32 of a line on, then a copy reads them."""
    target = tensor(z)
    for k in asc.static_range(8, 24):
        target.set_value(k, 1.0 * k)  # first
    if lines is not None and to is None:
        asc.data_cache_clean_and_invalid(lines, target[at:])
    elif lines is not None:
        asc.data_cache_clean_and_invalid(lines, to, target[at:])
    sync(HardEvent.S_MTE2)
    local = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, 64)
    asc.data_copy(local, target[8:], 8)  # second
    asc.data_copy(local[8:], target[16:], 8)
    sync(HardEvent.MTE2_MTE3)
    asc.data_copy(target[32:], local, 16)


def test_lines_that_are_cleaned_are_seen_by_copies() -> None:
    expected = np.zeros(48, np.float32)
    expected[8:24] = expected[32:48] = np.arange(8, 24)
    z = np.zeros(48, np.float32)
    entire, out = asc.CacheLine.ENTIRE_DATA_CACHE, asc.DcciDst.CACHELINE_OUT
    check_clean(stored, (z, entire, 0, out), expected)
    check_clean(stored, (z, entire, 40, None), expected)
    single = asc.CacheLine.SINGLE_CACHE_LINE
    cases = [(None, 0, None), (single, 0, asc.DcciDst.CACHELINE_ALL), (single, 12, None)]
    for lines, at, to in cases:
        for schedule, seed in SCHEDULES[:6]:
            findings, _ = outcome(stored, (z, lines, at, to), schedule, seed)
            assert {f.code for f in findings} == {"AT0210"}
            # With the line from 0 cleaned, the second copy still reads stores of the next line.
            assert len(findings) == (1 if (lines, at) == (single, 0) else 2)


def test_a_part_of_a_line() -> None:
    """From an address inside a line the call works up to the end of the line, as documented."""

    @asc.jit(sim=asc.SimParams(detect_races=False))
    def kernel(z: asc.GlobalAddress, at: int):
        target = tensor(z)
        for k in asc.static_range(16):
            target.set_value(k, 1.0 * k)
        asc.data_cache_clean_and_invalid(asc.CacheLine.SINGLE_CACHE_LINE, target[at:])
        local = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, 16)
        asc.data_copy(local, target, 16)
        asc.data_copy(target[16:], local, 16)

    for at in (0, 1, 8, 15):
        z = np.full(32, -1, np.float32)
        kernel[1](z, at)
        assert z[:16].tolist() == list(range(16))  # written back at the end at the latest
        assert z[16:].tolist() == [*[-1] * at, *range(at, 16)]


def test_preloads_change_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    @asc.jit
    def kernel(x: asc.GlobalAddress, offset: int, length: int):
        asc.data_cache_preload(tensor(x), offset)
        asc.icache_preload(length)
        print(asc.get_icache_preload_status(), tensor(x).get_value(3))

    x = np.arange(16, dtype=np.uint64)
    kernel[1](x, 64, 2)
    assert capsys.readouterr().out == "0 3\n"
    for arguments, message in (
        ((128, 2), "AT0201: data_cache_preload reads elements 16 to 16 of parameter `x`"),
        ((-8, 2), "AT0108: data_cache_preload with cache_offset = -8"),
        ((0, 16), "AT0108: icache_preload of 16 blocks of 2 KB"),
    ):
        with pytest.raises(asc.KernelError, match=message):
            kernel[1](x, *arguments)
