"""`brcb` against blocks filled by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import asctrace as asc
from asctrace.lowering.text import emit
from asctrace.tracer.diagnostics import KernelError
from asctrace.tracer.language.dtypes import ALL, DataType
from asctrace.tracer.ops.vec_brcb import BRCB
from tests import lowering_kit
from tests.lowering_kit import body, local
from tests.simulator_kit import Kernel

CHIPS = {"2201": "Ascend910B1", "3510": "Ascend950PR_958b"}
CASES = [(arch, dtype) for arch in CHIPS for dtype in BRCB.dtypes[arch]]
SIZE = 32768  # bytes of UB: sources in the first 2048, the rest for the destination
START = 2048


def run(arch: str, memory: Any, dtype: DataType, repeat: int, block: int, rep: int) -> Any:
    kernel = Kernel(CHIPS[arch])
    out = np.zeros_like(memory)
    with kernel:
        source = kernel.tensor(kernel.address("source", asc.uint8))
        target = kernel.tensor(kernel.address("target", asc.uint8))
        whole = asc.LocalTensor(asc.uint8, asc.TPosition.VECIN, 0, memory.size)
        asc.data_copy(whole, source, memory.size)
        count = memory.size // dtype.sizeof()
        tensor = asc.LocalTensor(dtype, asc.TPosition.VECIN, 0, count)
        times = kernel.scalar("times", asc.int32)
        strides = asc.BrcbRepeatParams(block, rep)
        asc.brcb(tensor[START // dtype.sizeof() :], tensor, times, strides)
        asc.data_copy(target, whole, memory.size)
    kernel.run(memory, out, repeat)
    return out


@pytest.mark.parametrize(("arch", "dtype"), CASES, ids=str)
def test_fills_blocks(arch: str, dtype: DataType) -> None:
    @settings(max_examples=8, deadline=None, database=None, phases=[Phase.generate])
    @given(
        repeat=st.integers(0, 6),
        block=st.integers(1, 3),
        rep=st.integers(0, 24),
        seed=st.integers(0, 2**32 - 1),
    )
    def check(repeat: int, block: int, rep: int, seed: int) -> None:
        memory = np.random.default_rng(seed).integers(0, 256, SIZE, np.uint8)
        want = memory.copy()
        size = dtype.sizeof()
        for r in range(repeat):
            for j in range(8):
                element = memory[(8 * r + j) * size :][:size]
                at = START + (r * rep + j * block) * 32
                want[at : at + 32] = np.tile(element, 32 // size)
        np.testing.assert_array_equal(run(arch, memory, dtype, repeat, block, rep), want)

    check()


def test_all_repeats() -> None:
    memory = np.arange(START // 2 + 255 * 128, dtype=np.uint16).view(np.uint8)
    got = run("2201", memory, asc.uint16, 127, 1, 8).view(np.uint16)
    assert (got[START // 2 :][: 127 * 128].reshape(-1, 16) == np.arange(127 * 8)[:, None]).all()
    assert (got[START // 2 + 127 * 128 :] == memory.view(np.uint16)[START // 2 + 127 * 128 :]).all()


@pytest.mark.parametrize("arch", CHIPS)
def test_other_dtypes_are_refused(arch: str) -> None:
    refused = [dtype for dtype in ALL if dtype not in BRCB.dtypes[arch]]
    assert asc.bool_ in refused
    for dtype in refused:
        with lowering_kit.Kernel(soc=CHIPS[arch]):
            dst, src = local("dst", 0, 1024, dtype), local("src", 8192, 1024, dtype)
            with pytest.raises(KernelError, match=f"AT0102: brcb on {dtype} is not executed"):
                asc.brcb(dst, src, 1, asc.BrcbRepeatParams())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: asc.brcb(t[64:], t, 256, asc.BrcbRepeatParams()), "AT0108: brcb with 256 repe"),
        (lambda t: asc.brcb(t[64:], t, 1, asc.BrcbRepeatParams(0, 8)), "AT0108: brcb with 0 bloc"),
        (lambda t: asc.brcb(t[64:], t, 1, asc.BrcbRepeatParams(1, 65536)), "AT0108: brcb with the"),
        (lambda t: asc.brcb(t[64:], t, 16, asc.BrcbRepeatParams()), "AT0201: brcb reaches 1024 el"),
        (lambda t: asc.brcb(t, t, 1, asc.BrcbRepeatParams()), "AT0117: brcb writes `t` (LocalTens"),
        (lambda t: asc.brcb(t[64:], t[4:], 1, asc.BrcbRepeatParams()), "AT0103: brcb on (LocalTen"),
    ],
)
def test_what_is_refused(call: Any, message: str) -> None:
    with lowering_kit.Kernel():
        tensor = local("t", 0, 1024, asc.float32)
        with pytest.raises(KernelError) as caught:
            call(tensor)
    assert f"error {message}" in str(caught.value)


def test_text() -> None:
    with lowering_kit.Kernel() as k:
        asc.brcb(local("dst", 0), local("src", 8192), 2, asc.BrcbRepeatParams(1, 8))
    last = body(emit(k.trace)).splitlines()[-1]
    assert last == "AscendC::Brcb(dst, src, 2, AscendC::BrcbRepeatParams(1, 8));"
