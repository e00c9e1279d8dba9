"""`bilinear_interpolation` worked out element by element."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import asctrace as asc
from asctrace.tracer.diagnostics import KernelError
from asctrace.tracer.language.dtypes import ALL
from tests import lowering_kit
from tests.chips import chip_of
from tests.lowering_kit import local
from tests.move_kit import PLACE, few, noise, put, run, take, tensor
from tests.vector_kit import bits

half = asc.float16
TMP = 98304


@st.composite
def calls(draw: Any) -> dict[str, Any]:
    masked = draw(st.booleans())
    return {
        "mask": draw(bits()) if masked else draw(st.integers(1, 128)),
        "h": draw(st.integers(1, 4)),
        "v": draw(st.integers(1, 3)),
        "mode": draw(st.booleans()),
        "block": draw(st.integers(1, 2)),
        "offset": draw(st.integers(16, 24)) * 16,
    }


def expected(found: dict[str, Any], memory: Any) -> Any:
    out = memory.copy()
    mask = found["mask"]
    lanes = range(mask) if type(mask) is int else [
        k for k in range(128) if mask[k // 64] >> k % 64 & 1
    ]  # fmt: skip
    offsets, weights = take(memory, 2 * PLACE, np.uint32, 128), take(memory, 49152, np.float16, 128)
    with np.errstate(all="ignore"):
        for i in range(found["v"]):
            for lane in lanes:
                total = None
                for j in range(found["h"]):
                    group = i * found["h"] + j
                    at = PLACE + int(offsets[8 * group + lane // 16]) + lane % 16 * 2
                    weight = weights[8 * group + lane // 16 if found["mode"] else group]
                    product = np.float16(take(memory, at, np.float16, 1)[0] * weight)
                    total = product if total is None else np.float16(product + total)
                to = (i * found["offset"] + lane // 16 * 16 * found["block"] + lane % 16) * 2
                put(out, to, np.array([total + np.float16(0)], np.float16))
    return out


@pytest.mark.parametrize("arch", ["2201", "3510"])
def test_agrees_with_single_elements(arch: str) -> None:
    @few
    @given(found=calls(), seed=st.integers(0, 2**32 - 1), runtime=st.booleans())
    def check(found: dict[str, Any], seed: int, runtime: bool) -> None:
        rng = np.random.default_rng(seed)
        memory = noise(seed)
        put(memory, PLACE, rng.normal(0, 10, 2048).astype(np.float16))
        put(memory, 2 * PLACE, rng.integers(0, 32, 128).astype(np.uint32) * 32)
        put(memory, 49152, rng.normal(0, 2, 128).astype(np.float16))

        def call(number: Any) -> None:
            mask = found["mask"]
            given_ = number(mask) if type(mask) is int else [number(word) for word in mask]
            scratch = asc.LocalTensor(asc.uint8, asc.TPosition.VECCALC, TMP, 32 * 640)
            asc.bilinear_interpolation(
                tensor(half, 0, PLACE // 2), tensor(half, PLACE, 512),
                tensor(asc.uint32, 2 * PLACE, 128), tensor(half, 49152, 128), given_,
                number(found["h"]), found["mode"], number(found["block"]), number(found["offset"]),
                number(found["v"]), scratch,
            )  # fmt: skip

        got, want = run(arch, memory, call, runtime), expected(found, memory)
        a, b = got.view(np.float16), want.view(np.float16)
        same = (got.reshape(-1, 2) == want.reshape(-1, 2)).all(axis=1) | (np.isnan(a) & np.isnan(b))
        assert same.all(), (found, np.flatnonzero(~same)[:8])

    check()


def _call(**changed: Any) -> Any:
    def call(number: Any = lambda n: n) -> None:
        sizes = {"src0": 512, "src1": 16, "tmp": 32 * 528, "h": 2, "v": 2, "mask": 128,
                 "block": 1, "offset": 128, "mode": False, **changed}  # fmt: skip
        asc.bilinear_interpolation(
            local("d", 0, 8192, half), local("a", 16384, sizes["src0"], half),
            local("o", 32768, 4096, asc.uint32), local("w", 49152, sizes["src1"], half),
            sizes["mask"], sizes["h"], sizes["mode"], sizes["block"], sizes["offset"], sizes["v"],
            local("t", TMP, sizes["tmp"], asc.uint8),
        )  # fmt: skip

    return call


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (_call(h=0), "AT0108: bilinear_interpolation with h_repeat = 0"),
        (_call(v=256), "AT0108: bilinear_interpolation with v_repeat = 256"),
        (_call(h=128, v=2), "AT0108: bilinear_interpolation with 128 x 2 repeats"),
        (_call(offset=127), "AT0108: bilinear_interpolation with v_r_offset = 127"),
        (_call(offset=136), "AT0103: bilinear_interpolation with v_r_offset = 136"),
        (_call(block=2), "AT0117: bilinear_interpolation writes elements of dst twice"),
        (_call(block=0), "AT0117: bilinear_interpolation writes elements of dst twice"),
        (_call(mask=129), "AT0108: bilinear_interpolation with a mask of 129 elements"),
        (_call(src1=3), "AT0201: bilinear_interpolation reaches 4 elements of `w`"),
    ],
)
def test_what_is_refused_while_tracing(call: Any, message: str) -> None:
    with lowering_kit.Kernel(), pytest.raises(KernelError) as caught:
        call()
    assert f"error {message}" in str(caught.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            _call(tmp=32 * 527),
            "AT0201: bilinear_interpolation with a shared_tmp_buffer of 16864 by",
        ),
        (_call(src1=7, h=7, v=1), "AT0201: bilinear_interpolation of 7 weights in a src1 of 7 ele"),
        (
            _call(src1=2048, tmp=90112),
            "AT0201: bilinear_interpolation of 4 weights in a src1 of 20",
        ),
    ],
)
def test_what_is_refused_when_run(call: Any, message: str) -> None:
    memory = noise(0)
    put(memory, 32768, np.zeros(4096, np.uint32))
    with pytest.raises(KernelError) as caught:
        run("2201", memory, call)
    assert f"error {message}" in str(caught.value)


def test_offsets_are_whole_blocks_inside_the_source() -> None:
    for offset, text in ((16, "AT0103: bilinear_interpolation with 16 as offset number 0"),
                         (1024, "AT0201: bilinear_interpolation with 1024 as offset")):  # fmt: skip
        memory = noise(0)
        put(memory, 32768, np.full(64, offset, np.uint32))
        with pytest.raises(KernelError, match=text):
            run("2201", memory, _call())


@pytest.mark.parametrize("arch", ["2201", "3510"])
def test_other_dtypes_are_refused(arch: str) -> None:
    for dtype in ALL:
        if dtype is half:
            continue
        with lowering_kit.Kernel(soc=chip_of(arch)):
            a, t = local("a", 0, 512, dtype), local("t", TMP, 4096, asc.uint8)
            o = local("o", 32768, 64, asc.uint32)
            with pytest.raises(KernelError, match=r"AT0102: bilinear_interpolation on .* is not"):
                asc.bilinear_interpolation(a, a, o, a, 128, 1, False, 1, 128, 1, t)
