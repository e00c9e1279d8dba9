"""The register of bits of a core: compared into, set, read, selected by."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import asctrace as asc
from asctrace.lowering.text import emit
from asctrace.tracer.diagnostics import KernelError
from asctrace.tracer.language.dtypes import ALL
from asctrace.tracer.language.enums import CMPMODE, SelMode
from tests import lowering_kit
from tests.lowering_kit import body, local
from tests.simulator_kit import Kernel
from tests.vector_kit import bits, values

COUNT = 512  # elements of each source
MEANING = {
    CMPMODE.LT: operator.lt, CMPMODE.GT: operator.gt, CMPMODE.EQ: operator.eq,
    CMPMODE.LE: operator.le, CMPMODE.GE: operator.ge, CMPMODE.NE: operator.ne,
}  # fmt: skip


def run(dtype: Any, data: Any, calls: Any, **params: Any) -> Any:
    """Two sources, a result, and bits of 128 bytes; the calls get the four tensors."""
    kernel = Kernel()
    size = dtype.sizeof()
    out = np.zeros(COUNT, dtype.np)
    found = np.zeros(128, np.uint8)
    with kernel:
        source = kernel.tensor(kernel.address("source", dtype))
        target = kernel.tensor(kernel.address("target", dtype))
        bits_out = kernel.tensor(kernel.address("bits", asc.uint8))
        a, b, c = (
            asc.LocalTensor(dtype, asc.TPosition.VECIN, k * COUNT * size, COUNT) for k in range(3)
        )
        at = 3 * COUNT * size
        d = asc.LocalTensor(asc.uint8, asc.TPosition.VECIN, at, 128)
        asc.data_copy(a, source, COUNT)
        asc.data_copy(b, source[COUNT:], COUNT)
        asc.data_copy(c, target, COUNT)
        asc.data_copy(d, bits_out, 128)
        asc.pipe_barrier(asc.PipeID.PIPE_ALL)
        calls(a, b, c, d)
        asc.pipe_barrier(asc.PipeID.PIPE_ALL)
        asc.data_copy(target, c, COUNT)
        asc.data_copy(bits_out, d, 128)
    kernel.run(data, out, found, **params)
    return out, found


@pytest.mark.parametrize("dtype", [asc.float16, asc.float32], ids=str)
@pytest.mark.parametrize("by_bits", [False, True])
def test_compare_then_select(dtype: Any, by_bits: bool) -> None:
    lanes = 256 // dtype.sizeof()
    per_block = 32 // dtype.sizeof()

    @settings(
        max_examples=40, phases=[Phase.generate], deadline=None, database=None, print_blob=True,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(data=st.data(), seed=st.integers(0, 2**32 - 1))
    def check(data: Any, seed: int) -> None:
        draw = data.draw
        rng = np.random.default_rng(seed)
        numbers = values(rng, 2 * COUNT, dtype)
        numbers[:64] = numbers[COUNT : COUNT + 64]  # some are equal
        mode = draw(st.sampled_from(list(CMPMODE)))
        mask = draw(bits()) if by_bits else draw(st.integers(1, lanes))
        selected = draw(st.integers(0, lanes))
        repeat = draw(st.integers(0, 3))
        blk = draw(st.integers(1, 2))
        schedule = draw(st.sampled_from(["program", "late", "random"]))

        def whole(a: Any, b: Any, c: Any, d: Any) -> None:
            asc.set_cmp_mask(d)
            asc.compare(a, b, mode, mask, asc.BinaryRepeatParams(1, blk, 1, 8, 8, 8))
            asc.set_vector_mask(selected, dtype=dtype)
            asc.select(c, a, b, repeat, asc.BinaryRepeatParams(), SelMode.VSEL_CMPMASK_SPR)

        got, _ = run(dtype, numbers, whole, schedule=schedule, detect_races=True)
        chosen = (
            [k for k in range(lanes) if mask[k // 64] >> k % 64 & 1] if by_bits else range(mask)
        )
        register = [0] * 128
        for k in chosen:
            left = float(numbers[k // per_block * blk * per_block + k % per_block])
            register[k] = int(MEANING[mode](left, float(numbers[COUNT + k])))
        want = np.zeros(COUNT, dtype.np)
        for r in range(repeat):
            for k in range(selected):
                at = r * lanes + k
                want[at] = numbers[at] if register[k] else numbers[COUNT + at]
        np.testing.assert_array_equal(got.view(np.uint8), want.view(np.uint8))

    check()


def test_behind_the_bits_there_is_garbage() -> None:
    def calls(a: Any, b: Any, c: Any, d: Any) -> None:
        asc.compare(a, b, CMPMODE.EQ, 64, asc.BinaryRepeatParams())
        asc.get_cmp_mask(d)

    # The kernel copies all 128 bytes out.
    with pytest.raises(KernelError, match=r"AT0203: data_copy reads element 16 of .* was never"):
        run(asc.float32, np.zeros(2 * COUNT, np.float32), calls)


def test_the_bits_that_are_read_back() -> None:
    numbers = np.zeros(2 * COUNT, np.float32)
    numbers[:64:3] = 1.0

    def calls(a: Any, b: Any, c: Any, d: Any) -> None:
        asc.compare(a, b, CMPMODE.GT, 64, asc.BinaryRepeatParams())
        asc.get_cmp_mask(d)
        # Only the first 16 bytes are the register's; 8 of them are of this comparison.
        asc.set_cmp_mask(d)
        asc.set_vector_mask(64, dtype=asc.float32)
        asc.select(c, a, b, 1, asc.BinaryRepeatParams(), SelMode.VSEL_CMPMASK_SPR)
        for k in range(1, 4):
            asc.duplicate(d[32 * k :].reinterpret_cast(asc.uint16), 0, 16)
        asc.duplicate(d.reinterpret_cast(asc.uint16), 0, 16)

    got, _ = run(asc.float32, numbers, calls)
    assert got[:64].tolist() == numbers[:64].tolist()


def test_number_in_the_register() -> None:
    """The bits of sel_mask go on from repeat to repeat."""
    numbers = np.arange(2 * COUNT, dtype=np.float32)

    def calls(a: Any, b: Any, c: Any, d: Any) -> None:
        asc.duplicate(b, -7.5, 64)
        asc.duplicate(d.reinterpret_cast(asc.uint16), 0x0F0F, 64)
        asc.set_cmp_mask(b)
        asc.set_vector_mask(60, dtype=asc.float32)
        asc.select(c, d, a, 2, asc.BinaryRepeatParams())

    got, _ = run(asc.float32, numbers, calls)
    for r in range(2):
        for k in range(64):
            at = 64 * r + k
            want = (numbers[at] if k % 8 < 4 else -7.5) if k < 60 else 0
            assert got[at] == want, at


def _by_address(a: Any, b: Any, c: Any, d: Any) -> None:
    """The documented way: the address in all words of a block, which is then set as the mask."""
    address = b.reinterpret_cast(asc.uint32)[448:]
    asc.duplicate(address, d[32:].get_phy_addr(), 8)
    asc.set_cmp_mask(address.reinterpret_cast(asc.int64))
    asc.set_vector_mask(50, dtype=asc.float32)
    asc.select(c, a, b, 3, asc.BinaryRepeatParams(1, 1, 1, 8, 8, 0), SelMode(2))


@pytest.mark.parametrize("schedule", ["program", "late", "random"])
def test_bits_by_address(schedule: str) -> None:
    """They go on from repeat to repeat."""
    rng = np.random.default_rng(3)
    numbers = np.arange(2 * COUNT, dtype=np.float32)
    mask = rng.integers(0, 256, 128, np.uint8)

    def calls(a: Any, b: Any, c: Any, d: Any) -> None:
        for k, byte in enumerate(mask.tolist()):
            d.set_value(k, byte)
        asc.set_flag(asc.HardEvent.S_V, 0)
        asc.wait_flag(asc.HardEvent.S_V, 0)
        _by_address(a, b, c, d)

    got, _ = run(asc.float32, numbers, calls, schedule=schedule, seed=1)
    for k in range(COUNT):
        row, lane = divmod(k, 64)
        wanted = 0.0
        if row < 3 and lane < 50:
            taken = mask[32 + k // 8] >> k % 8 & 1
            wanted = numbers[k] if taken else numbers[COUNT + lane]
        assert got[k] == wanted, k


@pytest.mark.parametrize("ordered", [False, True])
def test_the_search_for_races_knows_bits_by_address(ordered: bool) -> None:
    def calls(a: Any, b: Any, c: Any, d: Any) -> None:
        d.set_value(33, 7)
        if ordered:
            asc.set_flag(asc.HardEvent.S_V, 0)
            asc.wait_flag(asc.HardEvent.S_V, 0)
        _by_address(a, b, c, d)

    numbers = np.ones(2 * COUNT, np.float32)
    if ordered:
        run(asc.float32, numbers, calls, detect_races=True)
        return
    with pytest.raises(KernelError) as caught:
        run(asc.float32, numbers, calls, detect_races=True)
    (found,) = caught.value.findings
    assert found.code == "AT0208"
    assert "of UB, UB by address, which LocalTensor.set_value on S writes" in found.message


def test_a_comparison_by_the_mask_that_is_set() -> None:
    numbers = np.ones(2 * COUNT, np.float32)

    def calls(a: Any, b: Any, c: Any, d: Any) -> None:
        asc.set_cmp_mask(d)  # zeros
        asc.set_vector_mask(0, 0b1010, dtype=asc.float32)
        asc.compare(a, b, CMPMODE.EQ, 0, asc.BinaryRepeatParams(), False)
        asc.duplicate(b, 2.0, 64)
        asc.set_vector_mask(8, dtype=asc.float32)
        asc.select(c, b, a, 1, asc.BinaryRepeatParams(), SelMode.VSEL_CMPMASK_SPR)

    got, _ = run(asc.float32, numbers, calls)
    assert got[:9].tolist() == [1, 2, 1, 2, 1, 1, 1, 1, 0]


# -- what is refused ------------------------------------------------------------------------------


def _nothing_set(a: Any, b: Any, c: Any, d: Any) -> None:
    asc.select(c, a, b, 1, asc.BinaryRepeatParams(), SelMode.VSEL_CMPMASK_SPR)


def _behind_select(a: Any, b: Any, c: Any, d: Any) -> None:
    asc.set_cmp_mask(d)
    asc.select(c, d, a, b, SelMode.VSEL_TENSOR_TENSOR_MODE, 64)
    asc.set_vector_mask(64, dtype=asc.float32)
    asc.select(c, a, b, 1, asc.BinaryRepeatParams(), SelMode.VSEL_CMPMASK_SPR)


def _no_address(a: Any, b: Any, c: Any, d: Any) -> None:
    asc.duplicate(b, -1.0, 64)
    asc.set_cmp_mask(b)
    asc.set_vector_mask(64, dtype=asc.float32)
    asc.select(c, a, b, 1, asc.BinaryRepeatParams(), SelMode.VSEL_TENSOR_TENSOR_MODE)


def _counter_mode(a: Any, b: Any, c: Any, d: Any) -> None:
    asc.set_mask_count()
    asc.compare(a, b, CMPMODE.EQ, [64, 0], asc.BinaryRepeatParams())


def _read_before(a: Any, b: Any, c: Any, d: Any) -> None:
    asc.get_cmp_mask(d)


@pytest.mark.parametrize(
    ("calls", "message"),
    [
        (_nothing_set, "AT0211: select reads 8 bytes of the register of bits, of which 0 are"),
        (_behind_select, "AT0211: select reads 8 bytes of the register of bits, of which 0 are"),
        (_no_address, "AT0201: select by bits at the address 3212836864 of UB, which has 196608"),
        (_counter_mode, "AT0211: compare in counter mode, which it is not made for"),
        (_read_before, "AT0211: get_cmp_mask reads 1 bytes of the register of bits"),
    ],
)
def test_what_the_simulator_refuses(calls: Any, message: str) -> None:
    with pytest.raises(KernelError, match=message):
        run(asc.float32, np.zeros(2 * COUNT, np.float32), calls)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t, d: asc.get_cmp_mask(d[120:]), "AT0103: get_cmp_mask on "),
        (lambda t, d: asc.get_cmp_mask(d[16:]), "AT0201: get_cmp_mask reaches 128 elements"),
        (lambda t, d: asc.set_cmp_mask(d[128:]), "AT0201: set_cmp_mask reaches 16 elements"),
        (
            lambda t, d: asc.select(t, t, t, 1, asc.BinaryRepeatParams(), SelMode(1)),
            "AT0108: select with VSEL_TENSOR_SCALAR_MODE and two tensors by the register",
        ),
        (
            lambda t, d: asc.compare(t, t, CMPMODE.EQ, 65, asc.BinaryRepeatParams()),
            "AT0108: compare with a mask of 65 elements",
        ),
        (
            lambda t, d: asc.compare(t[1:], t, CMPMODE.EQ, 64, asc.BinaryRepeatParams()),
            "AT0103: compare on ",
        ),
        (
            lambda t, d: asc.select(t, t, t, 256, asc.BinaryRepeatParams(), SelMode(0)),
            "AT0108: select with 256 repeats",
        ),
    ],
)
def test_what_is_refused(call: Any, message: str) -> None:
    with lowering_kit.Kernel(), pytest.raises(KernelError) as caught:
        call(local("t", 8192, 512, asc.float32), local("d", 0, 128, asc.uint8))
    assert f"error {message}" in str(caught.value)


def test_other_dtypes_are_refused() -> None:
    params = asc.BinaryRepeatParams()
    for dtype in ALL:
        if dtype in (asc.float16, asc.float32):
            continue
        with lowering_kit.Kernel():
            t = local("t", 8192, 512, dtype)
            with pytest.raises(KernelError, match="AT0102: compare on "):
                asc.compare(t, t, CMPMODE.EQ, 8, params)
            with pytest.raises(KernelError, match="AT0102: select on "):
                asc.select(t, t, t, 1, params, SelMode.VSEL_CMPMASK_SPR)
            with pytest.raises(KernelError, match="AT0102: select on "):
                asc.select(t, local("m", 0, 512, asc.uint8), t, 1, params)


def test_text() -> None:
    with lowering_kit.Kernel() as k:
        d, t = local("d", 0, 128, asc.uint8), local("t", 8192, 512, asc.float32)
        params = asc.BinaryRepeatParams()
        asc.compare(t, t, CMPMODE.LT, 64, params)
        asc.compare(t, t, CMPMODE.LT, [5, 0], params, False)
        asc.get_cmp_mask(d)
        asc.set_cmp_mask(d)
        asc.select(t, t, t, 2, params, SelMode.VSEL_CMPMASK_SPR)
        asc.select(t, t, t, 2, params, SelMode.VSEL_TENSOR_TENSOR_MODE)
        asc.select(t, d, t, 2, params)
    binary = "AscendC::BinaryRepeatParams(1, 1, 1, 8, 8, 8)"
    assert body(emit(k.trace)).splitlines()[-8:] == [
        f"AscendC::Compare(t, t, AscendC::CMPMODE::LT, 64, {binary});",
        "uint64_t mask[2] = {5, 0};",
        f"AscendC::Compare<float, false>(t, t, AscendC::CMPMODE::LT, mask, {binary});",
        "AscendC::GetCmpMask(d);",
        "AscendC::SetCmpMask(d);",
        f"AscendC::Select<float, AscendC::SELMODE::VSEL_CMPMASK_SPR>(t, t, t, 2, {binary});",
        f"AscendC::Select<float, AscendC::SELMODE::VSEL_TENSOR_TENSOR_MODE>(t, t, t, 2, {binary});",
        f"AscendC::Select(t, d, t, 2, {binary});",
    ]
