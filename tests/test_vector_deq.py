"""`set_deq_scale` and what multiplies by the scale, against single elements."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import asctrace as asc
from asctrace.lowering.text import emit
from asctrace.tracer.chip import chip
from asctrace.tracer.diagnostics import KernelError
from asctrace.tracer.language.dtypes import ALL
from tests import lowering_kit
from tests.lowering_kit import body, local
from tests.simulator_kit import Kernel
from tests.vector_kit import bits
from tests.vector_reference import RINT, _cast, then

ARCHES = ("2201", "3510", "2002")
DST, SRC, SRC1, VDEQ, SIZE = 0, 8192, 16384, 24576, 28672


def on(kernel: Any, arch: str) -> Any:
    kernel.trace.chip = chip("Ascend910B1")._replace(name=f"chip{arch}", arch=arch)
    return kernel


def run(arch: str, memory: Any, calls: Any, runtime: bool = False, **params: Any) -> Any:
    """Copy the memory to UB, make the calls, copy it out."""
    kernel = on(Kernel(), arch)
    out = np.zeros_like(memory)
    given_: list[Any] = []

    def operand(value: Any, dtype: Any = asc.int64) -> Any:
        if not runtime:
            return value
        given_.append(value)
        return kernel.scalar(f"n{len(given_)}", dtype)

    with kernel:
        source = kernel.tensor(kernel.address("source", asc.uint8))
        target = kernel.tensor(kernel.address("target", asc.uint8))
        whole = asc.LocalTensor(asc.uint8, asc.TPosition.VECIN, 0, memory.size)
        asc.data_copy(whole, source, memory.size)
        asc.pipe_barrier(asc.PipeID.PIPE_ALL)
        calls(operand)
        asc.pipe_barrier(asc.PipeID.PIPE_ALL)
        asc.data_copy(target, whole, memory.size)
    kernel.run(memory, out, *given_, **params)
    return out


def tensor(dtype: Any, at: int, nbytes: int = 8192) -> Any:
    return asc.LocalTensor(dtype, asc.TPosition.VECIN, at, nbytes // dtype.sizeof())


def ten_bits(scale: float) -> Fraction:
    """The number with ten bits of mantissa behind the leading one, the rest dropped."""
    value = Fraction(float(np.float32(scale)))
    if not value:
        return value
    power = Fraction(1)
    while abs(value) >= 2 * power:
        power *= 2
    while abs(value) < power:
        power /= 2
    steps = abs(value) / power * 1024
    return (1 if value > 0 else -1) * Fraction(steps.numerator // steps.denominator, 1024) * power


def narrowed(value: int, scale: float, offset: int, dtype: Any) -> int:
    return max(dtype.lo, min(dtype.hi, round(value * ten_bits(scale) + offset)))


SCALES = st.floats(-4, 4, width=32).filter(lambda v: v == 0 or abs(v) > 1e-6)
OFFSETS = st.integers(-256, 255)


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("dtype", [asc.int8, asc.uint8], ids=str)
@pytest.mark.parametrize("kind", ["count", "mask", "bits"])
def test_to_8_bits(arch: str, dtype: Any, kind: str) -> None:
    @settings(
        max_examples=25, phases=[Phase.generate], deadline=None, database=None, print_blob=True,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(data=st.data(), seed=st.integers(0, 2**32 - 1), flags=st.tuples(*[st.booleans()] * 4))
    def check(data: Any, seed: int, flags: tuple[bool, ...]) -> None:
        runtime, vector, half, wide = flags
        draw = data.draw
        rng = np.random.default_rng(seed)
        memory = np.frombuffer(rng.bytes(SIZE), np.uint8).copy()
        if not wide:
            memory[SRC:SRC1].view(np.int16)[:] = rng.integers(-200, 200, 4096)
        signed = dtype is asc.int8
        scales = draw(st.lists(SCALES, min_size=16, max_size=16))
        offsets = draw(st.lists(OFFSETS, min_size=16, max_size=16))
        strides = [draw(st.integers(1, 2)), draw(st.integers(0, 2)), 16, draw(st.integers(0, 9))]
        repeat = draw(st.integers(0, 3))
        if kind == "count":
            amount: Any = draw(st.integers(0, 300))
            repeat, strides, lanes = 1, [1, 1, 8, 8], list(range(amount))
        elif kind == "mask":
            amount = draw(st.integers(1, 128))
            lanes = list(range(amount))
        else:
            amount = draw(bits())
            lanes = [k for k in range(128) if amount[k // 64] >> k % 64 & 1]

        def calls(operand: Any) -> None:
            if vector:
                asc.set_deq_scale(tensor(asc.uint64, VDEQ, 128),
                                  asc.VdeqInfo(scales, offsets, [signed] * 16))  # fmt: skip
                asc.set_flag(asc.HardEvent.S_V, 0)
                asc.wait_flag(asc.HardEvent.S_V, 0)
            else:
                scale = operand(float(np.float32(scales[0])), asc.float32)
                asc.set_deq_scale(scale, operand(offsets[0]), signed)
            dst, src = tensor(dtype, DST), tensor(asc.int16, SRC)
            if kind == "count":
                asc.cast_deq(dst, src, operand(amount), vector, half)
                return
            mask = [operand(w, asc.uint64) for w in amount] if kind == "bits" else operand(amount)
            asc.cast_deq(dst, src, mask, operand(repeat), asc.UnaryRepeatParams(*strides),
                         is_vec_deq=vector, half_block=half)  # fmt: skip

        schedule = draw(st.sampled_from(["program", "late"]))
        got = run(arch, memory, calls, runtime, schedule=schedule, detect_races=True)
        want = memory.copy()
        if vector:
            words = want[VDEQ : VDEQ + 128].view(np.uint64)
            for k in range(16):
                low = int(np.float32(scales[k]).view(np.uint32))
                words[k] = low | (offsets[k] % 512) << 37 | signed << 46
        numbers = memory[SRC:SRC1].view(np.int16)
        for r in range(repeat):
            for lane in lanes:
                k = lane % 16 if vector else 0
                at = r * strides[3] * 16 + lane // 16 * strides[1] * 16 + lane % 16
                to = r * strides[2] * 32 + lane // 16 * strides[0] * 32 + lane % 16 + 16 * half
                value = narrowed(int(numbers[at]), scales[k], offsets[k], dtype)
                want[DST + to] = value % 256
        np.testing.assert_array_equal(got, want)

    check()


@pytest.mark.parametrize("arch", ["2201", "3510"])
@pytest.mark.parametrize("runtime", [False, True])
def test_to_halves(arch: str, runtime: bool) -> None:
    rng = np.random.default_rng(7)
    memory = np.frombuffer(rng.bytes(SIZE), np.uint8).copy()
    memory[SRC:SRC1].view(np.int32)[:64] = [*range(-32, 32)]
    scale = float(np.float16(0.3))

    def calls(operand: Any) -> None:
        asc.set_deq_scale(operand(0.3, asc.float32))
        asc.cast_deq(tensor(asc.float16, DST), tensor(asc.int32, SRC), operand(100))

    got = run(arch, memory, calls, runtime)
    numbers = memory[SRC:SRC1].view(np.int32)[:100]
    want = [_cast(then(then(int(v), asc.float32) * scale, asc.float32), RINT) for v in numbers]
    assert got[DST:].view(np.float16)[:100].tolist() == want
    np.testing.assert_array_equal(got[200:], memory[200:])


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("count", [0, 1, 8, 64, 255 * 8])
def test_add_deq_relu(arch: str, count: int) -> None:
    rng = np.random.default_rng(count)
    memory = np.frombuffer(rng.bytes(SIZE), np.uint8).copy()
    for at in (SRC, SRC1):
        memory[at : at + 8192].view(np.int32)[:] = rng.integers(-99999, 99999, 2048)
    scale = float(np.float16(0.1))

    def calls(operand: Any) -> None:
        asc.set_deq_scale(0.1)
        dst = tensor(asc.float16, DST)
        src0, src1 = tensor(asc.int32, SRC), tensor(asc.int32, SRC1)
        if count > 64:
            params = asc.BinaryRepeatParams(1, 1, 1, 1, 1, 1)
            asc.add_deq_relu(dst, src0, src1, 8, count // 8, params)
        else:
            asc.add_deq_relu(dst, src0, src1, count)
        # What the sources hold now may not be read on 2201.
        asc.duplicate(src0, 0, 2048)
        asc.duplicate(src1, 0, 2048)

    got = run(arch, memory, calls)
    a, b = (memory[at:].view(np.int32) for at in (SRC, SRC1))
    results = got[DST:].view(np.float16)
    for k in range(count):
        to = k // 8 * 16 + k % 8 if count > 64 else k
        total = (int(a[k]) + int(b[k]) + 2**31) % 2**32 - 2**31
        product = then(then(total, asc.float32) * scale, asc.float32)
        assert results[to] == max(_cast(product, RINT), 0), k


def test_sources_of_add_deq_relu_are_lost_on_2201() -> None:
    def calls(operand: Any) -> None:
        asc.set_deq_scale(1.0)
        src = tensor(asc.int32, SRC, 256)
        asc.add_deq_relu(tensor(asc.float16, DST, 256), src, tensor(asc.int32, SRC1, 256), 64)
        asc.adds(src, src, 1, 8)

    memory = np.zeros(SIZE, np.uint8)
    with pytest.raises(KernelError, match=r"AT0203: adds reads element 0 of .* was never written"):
        run("2201", memory, calls)
    run("3510", memory, calls)


def test_the_scale_is_taken_along_when_a_call_is_issued() -> None:
    """The next scale is set before the first call runs, and the calls are in a loop."""

    def calls(operand: Any) -> None:
        src = tensor(asc.int32, SRC)
        for k, scale in enumerate((1.0, 2.0, 4.0)):
            asc.set_deq_scale(scale)
            asc.cast(tensor(asc.float16, DST)[16 * k :], src, asc.RoundMode.CAST_NONE, 4)

    memory = np.zeros(SIZE, np.uint8)
    memory[SRC:SRC1].view(np.int32)[:4] = [1, 2, 3, -4]
    for schedule in ("program", "late", "random"):
        got = run("2201", memory, calls, schedule=schedule)[DST:].view(np.float16)
        assert got[:4].tolist() == [1, 2, 3, -4]
        assert got[16:20].tolist() == [2, 4, 6, -8]
        assert got[32:36].tolist() == [4, 8, 12, -16]


# -- what is refused ------------------------------------------------------------------------------


def _dst(dtype: Any = asc.int8) -> Any:
    return tensor(dtype, DST)


def _src() -> Any:
    return tensor(asc.int16, SRC)


def _vector(operand: Any) -> None:
    asc.set_deq_scale(tensor(asc.uint64, VDEQ), asc.VdeqInfo([1.0] * 16, None, [False] * 16))
    asc.cast_deq(_dst(), _src(), 16)


def _unsynchronised(operand: Any) -> None:
    asc.set_deq_scale(tensor(asc.uint64, VDEQ), asc.VdeqInfo([1.0] * 16, None, [True] * 16))
    asc.cast_deq(_dst(), _src(), 16)


def _offset(operand: Any) -> None:
    asc.set_deq_scale(1.0, operand(256), True)


@pytest.mark.parametrize(
    ("calls", "message"),
    [
        (lambda o: asc.cast_deq(_dst(), _src(), 16), "AT0211: cast_deq: no scale is set"),
        (
            lambda o: (asc.set_deq_scale(1.0), asc.cast_deq(_dst(), _src(), 16)),
            r"AT0211: cast_deq: set_deq_scale\(scale\) is for another conversion",
        ),
        (
            lambda o: (asc.set_deq_scale(1.0, 0, False), asc.cast_deq(_dst(), _src(), 16, False)),
            "AT0211: cast_deq to int8 with a scale whose sign_mode is False",
        ),
        (_vector, "AT0211: cast_deq to int8 with a scale whose sign_mode is False"),
        (_unsynchronised, "AT0208: "),
        (_offset, "AT0108: set_deq_scale with the offset 256"),
        (
            lambda o: asc.cast(_dst(asc.float16), tensor(asc.int32, SRC),
                               asc.RoundMode.CAST_NONE, 8),
            "AT0211: cast: no scale is set",
        ),
    ],
)  # fmt: skip
def test_what_the_simulator_refuses(calls: Any, message: str) -> None:
    with pytest.raises(KernelError, match=message):
        run("2201", np.zeros(SIZE, np.uint8), calls, True, detect_races=True)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d, s, v: asc.set_deq_scale(1.0, 256, True), "AT0108: set_deq_scale with the offs"),
        (
            lambda d, s, v: asc.set_deq_scale(v, asc.VdeqInfo([1.0] * 15)),
            "AT0108: set_deq_scale with 15 scales, 16 offsets and 16 signs",
        ),
        (lambda d, s, v: asc.set_deq_scale(v[1:], asc.VdeqInfo()), "AT0103: set_deq_scale on "),
        (lambda d, s, v: asc.set_deq_scale(v[4:], asc.VdeqInfo()), "AT0201: set_deq_scale reach"),
        (lambda d, s, v: asc.set_deq_scale(s, asc.VdeqInfo()), "AT0102: set_deq_scale with `s`"),
        (lambda d, s, v: asc.cast_deq(d, s, -1), "AT0108: cast_deq of -1 elements"),
        (lambda d, s, v: asc.cast_deq(d, s, 257), "AT0201: cast_deq reaches 529 elements of `d`"),
        (lambda d, s, v: asc.cast_deq(d[480:], s, 17), "AT0201: cast_deq reaches 49 elements of"),
        (
            lambda d, s, v: asc.cast_deq(d, s, 129, 1, asc.UnaryRepeatParams()),
            "AT0108: cast_deq with a mask of 129 elements",
        ),
        (
            lambda d, s, v: asc.cast_deq(d, s, 128, 256, asc.UnaryRepeatParams()),
            "AT0108: cast_deq with 256 repeats",
        ),
        (lambda d, s, v: asc.cast_deq(d[1:], s, 16), "AT0103: cast_deq on "),
        (
            lambda d, s, v: asc.cast_deq(s.reinterpret_cast(asc.int8), s, 16),
            "AT0117: cast_deq writes ",
        ),
        (lambda d, s, v: asc.cast_deq(s, s, 16), "AT0102: cast_deq on int16 to int16"),
    ],
)
def test_what_is_refused(call: Any, message: str) -> None:
    with lowering_kit.Kernel():
        dst, src = local("d", 0, 512, asc.int8), local("s", 8192, 256, asc.int16)
        with pytest.raises(KernelError) as caught:
            call(dst, src, local("v", 16384, 16, asc.uint64))
    assert f"error {message}" in str(caught.value)


def test_other_dtypes_are_refused() -> None:
    wide, narrow = {(asc.float16, asc.int32)}, {(asc.int8, asc.int16), (asc.uint8, asc.int16)}
    for arch, known in (("2201", wide | narrow), ("3510", wide | narrow), ("2002", narrow)):
        for dst, src in itertools.product(ALL, ALL):
            with on(lowering_kit.Kernel(), arch):
                tensors = local("d", 0, 512, dst), local("s", 8192, 256, src)
                if (dst, src) in known:
                    asc.cast_deq(*tensors, 16)
                    continue
                with pytest.raises(KernelError, match="AT0102: cast_deq on "):
                    asc.cast_deq(*tensors, 16)


def test_a_chip_without_a_scale() -> None:
    with on(lowering_kit.Kernel(), "3002"), pytest.raises(KernelError, match="AT0304: whether"):
        asc.set_deq_scale(1.0)


# -- text -----------------------------------------------------------------------------------------


def test_text() -> None:
    with lowering_kit.Kernel() as k:
        d, s = local("d", 0, 512, asc.int8), local("s", 8192, 256, asc.int16)
        h, w = local("h", 0, 256, asc.float16), local("w", 8192, 256, asc.int32)
        asc.set_deq_scale(0.5)
        asc.set_deq_scale(k.scalar("scale", asc.float32))
        asc.set_deq_scale(2, -3, True)
        asc.cast_deq(d, s, 100, False)
        asc.cast_deq(h, w, 64, 2, asc.UnaryRepeatParams(), False)
        asc.add_deq_relu(h, w, w, 64)
        asc.add_deq_relu(h, w, w, 64, 1, asc.BinaryRepeatParams(1, 1, 1, 4, 8, 8), False)
    unary = "AscendC::UnaryRepeatParams(1, 1, 8, 8)"
    binary = "AscendC::BinaryRepeatParams(1, 1, 1, 4, 8, 8)"
    assert body(emit(k.trace)).splitlines()[-7:] == [
        "AscendC::SetDeqScale(static_cast<half>(0.5f));",
        "AscendC::SetDeqScale(static_cast<half>(scale));",
        "AscendC::SetDeqScale(2.0f, -3, true);",
        "AscendC::CastDeq<int8_t, int16_t, false, true>(d, s, 100);",
        f"AscendC::CastDeq<half, int32_t, false, true, true>(h, w, 64, 2, {unary});",
        "AscendC::AddDeqRelu(h, w, w, 64);",
        f"AscendC::AddDeqRelu<half, int32_t, false>(h, w, w, 64, 1, {binary});",
    ]


def test_text_of_sixteen_scales() -> None:
    with lowering_kit.Kernel() as k:
        scales: list[Any] = [0.5] * 16
        scales[3] = k.scalar("scale", asc.float32)
        info = asc.VdeqInfo(scales, [1] * 16, [True] * 16)
        asc.set_deq_scale(local("v", 0, 16, asc.uint64), info)
    ones = ", ".join(["1"] * 16)
    halves = ", ".join(["0.5f"] * 3 + ["scale"] + ["0.5f"] * 12)
    assert body(emit(k.trace)).splitlines()[-4:] == [
        f"const float values[16] = {{{halves}}};",
        f"const int16_t values_1[16] = {{{ones}}};",
        f"const bool values_2[16] = {{{', '.join(['true'] * 16)}}};",
        "AscendC::SetDeqScale(v, AscendC::VdeqInfo(values, values_1, values_2));",
    ]
