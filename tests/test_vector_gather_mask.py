"""`gather_mask` against single elements and single bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import asctrace as asc
from asctrace.tracer.diagnostics import KernelError
from asctrace.tracer.language.dtypes import ALL, DataType
from asctrace.tracer.ops.spec import TABLE
from tests import lowering_kit
from tests.chips import chip_of
from tests.lowering_kit import local
from tests.move_kit import PLACE, SIZE, few, noise, put, run, take, tensor

GATHER_MASK = TABLE["gather_mask"]
ARCHES = ("2201", "3510", "3002", "2002")
CASES = [
    pytest.param(arch, dtypes, id=f"{arch}-{dtypes[0]}")
    for arch in ARCHES
    for dtypes in GATHER_MASK.signatures[arch]
]
#: Which elements the patterns choose, as the documentation draws them: from the highest bit down.
DRAWN = {
    1: "01010101", 2: "10101010", 3: "00010001", 4: "00100010", 5: "01000100", 6: "10001000",
    7: "11111111",
}  # fmt: skip


@st.composite
def calls(draw: Any, arch: str, dtype: DataType) -> dict[str, Any]:
    lanes = 256 // dtype.sizeof()
    counter = draw(st.booleans())
    return {
        "pattern": draw(st.sampled_from([0, 0, 0, *range(1, 7 if arch == "2002" else 8)])),
        "counter": counter,
        "mask": draw(st.integers(1, 3 * lanes)) if counter else 0,
        "block": draw(st.integers(1, 2)),
        "repeat": draw(st.integers(0, 4)),
        "step": draw(st.integers(0, 20)),
        "bits": draw(st.integers(0, 20)),
    }


def chosen(arch: str, dtype: DataType, found: dict[str, Any], memory: Any) -> list[int]:
    """Byte offsets of the chosen elements in the source, in order."""
    size, lanes = dtype.sizeof(), 256 // dtype.sizeof()
    repeat, per_repeat, total = found["repeat"], lanes, None
    if found["counter"]:
        per_repeat = found["mask"]
        if arch == "2002":
            per_repeat, total = lanes, found["mask"]
            repeat = -(-total // lanes)
    result = []
    for r in range(repeat):
        for k in range(per_repeat):
            if total is not None and r * lanes + k >= total:
                continue
            if found["pattern"]:
                take_it = DRAWN[found["pattern"]][::-1][k % 8] == "1"
            else:
                byte = 2 * PLACE + r * found["bits"] * 32 + k // 8
                take_it = bool(memory[byte] >> k % 8 & 1)
            if take_it:
                blocks = k * size // 32 * found["block"] + r * found["step"]
                result.append(blocks * 32 + k * size % 32)
    return result


@pytest.mark.parametrize(("arch", "dtypes"), CASES)
def test_agrees_with_single_elements(arch: str, dtypes: Any) -> None:
    dtype, _, bits = dtypes
    size = dtype.sizeof()

    @few
    @given(found=calls(arch, dtype), seed=st.integers(0, 2**32 - 1), runtime=st.booleans())
    def check(found: dict[str, Any], seed: int, runtime: bool) -> None:
        memory = noise(seed)
        want = memory.copy()
        places = chosen(arch, dtype, found, memory)
        for k, at in enumerate(places):
            want[k * size : (k + 1) * size] = memory[PLACE + at : PLACE + at + size]

        def call(number: Any) -> Any:
            strides = (found[name] for name in ("block", "repeat", "step", "bits"))
            params = asc.GatherMaskParams(*map(number, strides))
            pattern: Any = tensor(bits, 2 * PLACE)
            if found["pattern"]:
                pattern = number(found["pattern"])
            dst, src = tensor(dtype, 0, PLACE // size), tensor(dtype, PLACE, PLACE // size)
            count = asc.gather_mask(
                dst, src, pattern, found["counter"], number(found["mask"]), params
            )
            return [count, asc.get_gather_mask_remain_count() if arch in ("2201", "2002") else 7]

        got = run(arch, memory, call, runtime)
        again = len(places) if arch in ("2201", "2002") else 7
        assert take(got, SIZE - 64, np.int64, 2).tolist() == [len(places), again]
        want[SIZE - 64 :] = got[SIZE - 64 :]
        np.testing.assert_array_equal(got, want)

    check()


def test_works_in_place() -> None:
    memory = noise(1)
    want = memory.copy()
    odd = take(memory, 0, np.float32, 256)[1::2]
    put(want, 0, odd)
    params = asc.GatherMaskParams(1, 4, 8, 0)

    def call(number: Any) -> None:
        asc.gather_mask(tensor(asc.float32, 0), tensor(asc.float32, 0), 2, False, 0, params)

    got = run("2201", memory, call)
    np.testing.assert_array_equal(got, want)


def test_a_repeat_that_reads_what_one_before_wrote_is_refused() -> None:
    params = asc.GatherMaskParams(1, 2, 0, 0)
    with lowering_kit.Kernel():
        t = local("t")
        with pytest.raises(KernelError, match="AT0117: gather_mask writes `t`"):
            asc.gather_mask(t, t, 2, False, 0, params)
        with pytest.raises(KernelError, match="AT0117: gather_mask writes"):
            asc.gather_mask(t[8:], t, 7, False, 0, asc.GatherMaskParams(1, 1, 8, 0))


@pytest.mark.parametrize("arch", ARCHES)
def test_other_dtypes_are_refused(arch: str) -> None:
    taken = {signature[0] for signature in GATHER_MASK.signatures[arch]}
    for dtype in ALL:
        if dtype in taken:
            continue
        with lowering_kit.Kernel(soc=chip_of(arch)):
            a, b = local("a", 0, 512, dtype), local("b", 8192, 512, dtype)
            with pytest.raises(KernelError, match=r"AT0102: gather_mask on .* is not executed"):
                asc.gather_mask(a, b, 1, False, 0, asc.GatherMaskParams())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d, s, m, p: asc.gather_mask(d, s, 8, False, 0, p), "AT0108: gather_mask with src1"),
        (lambda d, s, m, p: asc.gather_mask(d, s, 0, False, 0, p), "AT0108: gather_mask with src1"),
        (
            lambda d, s, m, p: asc.gather_mask(d, s, 1, True, 0, p),
            "AT0108: gather_mask with a mask",
        ),
        (
            lambda d, s, m, p: asc.gather_mask(d, s, s, False, 0, p),
            "AT0102: gather_mask on float32",
        ),
        (lambda d, s, m, p: asc.gather_mask(d, s, 7, True, 2048, p), "AT0201: gather_mask reaches"),
        (
            lambda d, s, m, p: asc.gather_mask(d, s, 1, False, 0, asc.GatherMaskParams(256)),
            "AT0108: gather_mask with params.src0_block_stride = 256",
        ),
    ],
)
def test_what_is_refused(call: Any, message: str) -> None:
    with lowering_kit.Kernel():
        d, s, m = local("d"), local("s", 8192), local("m", 16384, 64, asc.uint32)
        with pytest.raises(KernelError) as caught:
            call(d, s, m, asc.GatherMaskParams())
    assert f"error {message}" in str(caught.value)


def test_too_many_chosen_elements_are_refused() -> None:
    """How many a mask in a tensor chooses, only the run knows."""
    memory = noise(0)
    memory[2 * PLACE : 2 * PLACE + 8] = 0xFF
    with pytest.raises(KernelError, match=r"AT0201: gather_mask writes elements 0 to 63 of .* 32"):
        run("2201", memory, lambda n: [asc.gather_mask(
            tensor(asc.float32, 0, 32), tensor(asc.float32, PLACE), tensor(asc.uint32, 2 * PLACE),
            False, 0, asc.GatherMaskParams(),
        )])  # fmt: skip


def test_pattern_7_is_not_on_2002() -> None:
    refused = pytest.raises(KernelError, match="AT0108: gather_mask with the pattern 7")
    with lowering_kit.Kernel(soc=chip_of("2002")), refused:
        asc.gather_mask(local("a"), local("b", 8192), 7, False, 0, asc.GatherMaskParams())


def test_the_remaining_count_needs_a_call_before_it() -> None:
    memory = noise(0)
    with pytest.raises(KernelError, match="AT0203: get_gather_mask_remain_count reads what no"):
        run("2201", memory, lambda n: [asc.get_gather_mask_remain_count()])
    with (
        lowering_kit.Kernel(soc=chip_of("3510")),
        pytest.raises(KernelError, match=r"AT0304: Ascend950PR_958b .* does not execute get_g"),
    ):
        asc.get_gather_mask_remain_count()
