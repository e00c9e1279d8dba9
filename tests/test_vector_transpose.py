"""`transpose` and `trans_data_to_5hd` against single elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import asctrace as asc
from asctrace.tracer.diagnostics import KernelError
from asctrace.tracer.language.dtypes import ALL, DataType
from asctrace.tracer.language.enums import TransposeType
from asctrace.tracer.ops.spec import TABLE
from asctrace.tracer.ops.vec_transpose import _TYPES
from tests import lowering_kit
from tests.chips import chip_of
from tests.lowering_kit import local
from tests.move_kit import PLACE, few, noise, put, run, take, tensor

FIVE = TABLE["trans_data_to_5hd"]
TO_NHWC, TO_NCHW = TransposeType.TRANSPOSE_NCHW2NHWC, TransposeType.TRANSPOSE_NHWC2NCHW
SQUARE = TransposeType.TRANSPOSE_ND2ND_B16


def word(dtype: DataType) -> Any:
    return np.dtype(f"u{dtype.sizeof()}")


@pytest.mark.parametrize("arch", ["2201", "3510", "3002", "2002", "1001"])
@pytest.mark.parametrize("dtype", [asc.float16, asc.int16, asc.uint16], ids=str)
@pytest.mark.parametrize("place", [0, PLACE])
def test_square(arch: str, dtype: DataType, place: int) -> None:
    """Also in place."""
    memory = noise(place)
    want = memory.copy()
    put(want, 0, take(memory, place, np.uint16, 256).reshape(16, 16).T)
    got = run(arch, memory, lambda n: asc.transpose(tensor(dtype, 0), tensor(dtype, place)))
    np.testing.assert_array_equal(got, want)


IMAGES = [
    pytest.param(arch, kind, dtype, id=f"{arch}-{kind.name}-{dtype}")
    for kind in (TO_NHWC, TO_NCHW)
    for arch, dtypes in _TYPES[kind].items()
    for dtype in dtypes
]


@pytest.mark.parametrize(("arch", "kind", "dtype"), IMAGES)
def test_images(arch: str, kind: TransposeType, dtype: DataType) -> None:
    size = dtype.sizeof()

    @few
    @given(
        n=st.integers(0, 3),
        c=st.integers(0, 5),
        blocks=st.integers(0, 3),
        seed=st.integers(0, 2**32 - 1),
        runtime=st.booleans(),
    )
    def check(n: int, c: int, blocks: int, seed: int, runtime: bool) -> None:
        h, w = 4, blocks * 32 // size // 4 or blocks * 2
        if h * w * size % 32:
            h = 32 // size
        memory = noise(seed)
        want = memory.copy()
        plane = h * w
        source = take(memory, PLACE, word(dtype), n * c * plane)
        target = take(want, 0, word(dtype), n * c * plane)
        for image in range(n):
            for channel in range(c):
                for at in range(plane):
                    first = image * c * plane + channel * plane + at
                    last = image * c * plane + at * c + channel
                    if kind is TO_NHWC:
                        target[last] = source[first]
                    else:
                        target[first] = source[last]
        height = 32 if size == 1 else 16
        factor = c + 2 if kind is TO_NHWC else 2 * c + 1
        need = height * 32 * factor

        def call(number: Any) -> None:
            params = asc.TransposeParamsExt(*map(number, (n, c, h, w)), kind)
            scratch = asc.LocalTensor(asc.uint8, asc.TPosition.VECCALC, 98304, need)
            asc.transpose(
                tensor(dtype, 0, PLACE // size),
                tensor(dtype, PLACE, PLACE // size),
                scratch,
                params,
            )

        np.testing.assert_array_equal(run(arch, memory, call, runtime), want)

    check()


def test_extended_square_and_nothing() -> None:
    memory = noise(5)
    want = memory.copy()
    put(want, 0, take(memory, PLACE, np.uint16, 256).reshape(16, 16).T)

    def call(number: Any) -> None:
        a, b = tensor(asc.uint16, 0), tensor(asc.uint16, PLACE)
        scratch = tensor(asc.uint8, 2 * PLACE, 32)
        asc.transpose(a, b, scratch, asc.TransposeParamsExt(0, 0, 16, 16))
        none = TransposeType.TRANSPOSE_TYPE_NONE
        asc.transpose(b, a, scratch, asc.TransposeParamsExt(1, 2, 16, 16, none))

    np.testing.assert_array_equal(run("2201", memory, call), want)


def test_the_scratch_holds_garbage_afterwards() -> None:
    def call(number: Any) -> None:
        a, b = tensor(asc.float32, 0), tensor(asc.float32, PLACE)
        scratch = tensor(asc.uint8, 2 * PLACE, 2048)
        asc.transpose(a, b, scratch, asc.TransposeParamsExt(1, 2, 2, 4, TO_NHWC))
        asc.adds(a, scratch.reinterpret_cast(asc.float32), 1.0, 8)

    with pytest.raises(KernelError, match="AT0203: adds reads element 0 of"):
        run("2201", noise(0), call)


def _ext(d: Any, s: Any, t: Any, *sizes: Any) -> None:
    asc.transpose(d, s, t, asc.TransposeParamsExt(*sizes))


@pytest.mark.parametrize(
    ("dtype", "call", "message"),
    [
        (asc.float32, lambda d, s, t: asc.transpose(d, s), "AT0102: transpose on float32 is not"),
        (asc.float16, lambda d, s, t: _ext(d, s, t, 0, 0, 16, 16), "AT0102: transpose with TRANSP"),
        (asc.uint16, lambda d, s, t: _ext(d, s, t, 0, 0, 16, 32), "AT0108: transpose of 16 x 32 e"),
        (asc.uint16, lambda d, s, t: _ext(d, s, t, 1, 2, 16, 16, TransposeType(7)), "AT0306: tran"),
        (asc.float32, lambda d, s, t: _ext(d, s, t, 1, 2, 3, 3, TO_NHWC), "AT0103: transpose of 3"),
        (
            asc.float32,
            lambda d, s, t: _ext(d, s, t, 1, 4096, 2, 4, TO_NHWC),
            "AT0108: transpose wi",
        ),
        (
            asc.float32,
            lambda d, s, t: _ext(d, s, t, 1, 2, 64, 64, TO_NHWC),
            "AT0108: transpose wit",
        ),
        (
            asc.float32,
            lambda d, s, t: _ext(d, s, t, 1, 3, 2, 4, TO_NHWC),
            "AT0201: transpose reach",
        ),
        (
            asc.float32,
            lambda d, s, t: _ext(d, s, t, 65536, 1, 2, 4, TO_NHWC),
            "AT0108: transpose wi",
        ),
        (
            asc.float32,
            lambda d, s, t: _ext(d, d, t, 1, 2, 2, 4, TO_NHWC),
            "AT0117: transpose write",
        ),
        (asc.int16, lambda d, s, t: asc.transpose(d, d[16:]), "AT0117: transpose writes `d`"),
    ],
)
def test_what_is_refused(dtype: DataType, call: Any, message: str) -> None:
    with lowering_kit.Kernel():
        d, s = local("d", 0, 2048, dtype), local("s", 16384, 2048, dtype)
        with pytest.raises(KernelError) as caught:
            call(d, s, local("t", 65536, 2048, asc.uint8))
    assert f"error {message}" in str(caught.value)


# -- trans_data_to_5hd ----------------------------------------------------------------------------

FIVES = [
    pytest.param(arch, dtype, form, id=f"{arch}-{dtype}-{form}")
    for arch, dtypes in FIVE.dtypes.items()
    for dtype in dtypes
    for form in (("tensors", "addresses", "stored") if arch == "2201" else ("tensors",))
]


@st.composite
def exchanges(draw: Any, dtype: DataType) -> dict[str, Any]:
    byte = dtype.bits == 8
    return {
        "high": [draw(st.booleans()) if byte else False for _ in range(2)],
        "repeat": draw(st.integers(0, 4)),
        "steps": [draw(st.integers(0, 20)), draw(st.integers(0, 20))],
        "gaps": [draw(st.integers(1, 3)), draw(st.integers(1, 3))],
    }


def exchanged(dtype: DataType, found: dict[str, Any], memory: Any) -> Any:
    """One element after another, the reads of a repeat in front of its writes."""
    size, out = dtype.sizeof(), memory.copy()
    repeats = range(found["repeat"]) if found["repeat"] != 1 else [1]

    def at(side: int, place: int, element: int, r: int) -> int:
        start = (0, PLACE)[side] + place * found["gaps"][side] * 32
        high = 16 if found["high"][side] else 0
        return int(start + r * found["steps"][side] * 32 + high + element * size)

    for r in repeats:
        moves = []
        for place in range(16):
            for element in range(16 if size < 4 else 8):
                to = at(0, element, place, r)
                if size == 4:
                    to = at(0, 2 * element + place // 8, place % 8, r)
                source = at(1, place, element, r)
                moves.append((to, out[source : source + size].copy()))
        for to, value in moves:
            out[to : to + size] = value
    return out


@pytest.mark.parametrize(("arch", "dtype", "form"), FIVES)
def test_five_agrees_with_single_elements(arch: str, dtype: DataType, form: str) -> None:
    size = dtype.sizeof()

    @few
    @given(found=exchanges(dtype), seed=st.integers(0, 2**32 - 1), runtime=st.booleans())
    def check(found: dict[str, Any], seed: int, runtime: bool) -> None:
        memory = noise(seed)

        def call(number: Any) -> None:
            lists = [
                [tensor(dtype, start + k * gap * 32, PLACE // 2 // size) for k in range(16)]
                for start, gap in zip((0, PLACE), found["gaps"], strict=True)
            ]
            params = asc.TransDataTo5HDParams(
                *found["high"], number(found["repeat"]), *map(number, found["steps"])
            )
            if form == "tensors":
                asc.trans_data_to_5hd(*lists, params)
                return
            addresses = [[place.get_phy_addr() for place in side] for side in lists]
            if form == "addresses":
                asc.trans_data_to_5hd(*addresses, params)
                return
            stored = [asc.LocalTensor(asc.uint64, asc.TPosition.VECCALC, 98304 + 128 * k, 16)
                      for k in range(2)]  # fmt: skip
            for side, values in zip(stored, addresses, strict=True):
                for k, value in enumerate(values):
                    side.set_value(k, value)
            asc.trans_data_to_5hd(*stored, params)

        want = exchanged(dtype, found, memory)
        np.testing.assert_array_equal(run(arch, memory, call, runtime), want)

    check()


@pytest.mark.parametrize("dtype", [asc.int32, asc.float16, asc.uint8], ids=str)
def test_five_in_place(dtype: DataType) -> None:
    """The same sixteen blocks in both lists."""
    found = {"high": [False, False], "repeat": 1, "steps": [0, 0], "gaps": [1, 1]}
    memory = noise(9)
    memory[PLACE : PLACE + 512] = memory[:512]

    def call(number: Any) -> None:
        places = [tensor(dtype, 32 * k, 32 // dtype.sizeof()) for k in range(16)]
        asc.trans_data_to_5hd(places, places, asc.TransDataTo5HDParams())

    np.testing.assert_array_equal(run("2201", memory, call), exchanged(dtype, found, memory))


def test_the_addresses_in_a_tensor_are_spoilt() -> None:
    def call(number: Any) -> None:
        stored = [tensor(asc.uint64, 2 * PLACE + 128 * k, 16) for k in range(2)]
        for k in range(16):
            for side, start in zip(stored, (0, PLACE), strict=True):
                side.set_value(k, tensor(asc.float16, start + 32 * k, 16).get_phy_addr())
        asc.trans_data_to_5hd(*stored, asc.TransDataTo5HDParams())
        tensor(asc.float16, 0).set_value(0, stored[0].get_value(3))

    with pytest.raises(KernelError, match=r"AT0203: LocalTensor.get_value reads element 3 of"):
        run("2201", noise(0), call)


def test_addresses_without_a_dtype() -> None:
    with lowering_kit.Kernel() as k:
        numbers = [k.scalar(f"a{i}", asc.uint64) for i in range(16)]
        params = asc.TransDataTo5HDParams()
        asc.trans_data_to_5hd(numbers, numbers, params, asc.float16)
        stored = local("p", 0, 16, asc.uint64), local("q", 128, 16, asc.uint64)
        for call in (
            lambda: asc.trans_data_to_5hd(numbers, numbers, params),
            lambda: asc.trans_data_to_5hd(*stored, params),
        ):
            with pytest.raises(KernelError, match="AT0106: trans_data_to_5hd by addresses: the dt"):
                call()
        with pytest.raises(KernelError, match="AT0102: trans_data_to_5hd by the addresses in `r`"):
            asc.trans_data_to_5hd(local("r"), stored[1], params, asc.float16)


def places(start: int, dtype: DataType = asc.float16, count: int = 16) -> list[Any]:
    return [local("p", start + 32 * k, count, dtype) for k in range(16)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p: asc.trans_data_to_5hd(places(0, asc.bfloat16), places(512, asc.bfloat16), p),
         "AT0102: trans_data_to_5hd on bfloat16 is not executed by Ascend910B1"),
        (lambda p: asc.trans_data_to_5hd(places(0), places(512, asc.int16), p), "AT0102: trans_da"),
        (lambda p: asc.trans_data_to_5hd(places(0), places(512)[:15], p), "AT0106: trans_data_to_"),
        (lambda p: asc.trans_data_to_5hd(places(0), places(32), p), "AT0117: trans_data_to_5hd wr"),
        (lambda p: asc.trans_data_to_5hd(places(0, count=8), places(512), p), "AT0201: trans_data"),
        (lambda p: asc.trans_data_to_5hd(
            places(0), places(512), asc.TransDataTo5HDParams(True)), "AT0108: trans_data_to_5hd o"),
        (lambda p: asc.trans_data_to_5hd(
            places(0), places(512), asc.TransDataTo5HDParams(repeat_times=256)), "AT0108: trans_d"),
    ],
)  # fmt: skip
def test_what_five_refuses(call: Any, message: str) -> None:
    with lowering_kit.Kernel(), pytest.raises(KernelError) as caught:
        call(asc.TransDataTo5HDParams())
    assert f"error {message}" in str(caught.value)


@pytest.mark.parametrize("arch", FIVE.dtypes)
def test_other_dtypes_are_refused(arch: str) -> None:
    for dtype in ALL:
        if dtype in FIVE.dtypes[arch] or dtype is asc.bool_:
            continue
        refused = pytest.raises(KernelError, match=f"AT0102: trans_data_to_5hd on {dtype}")
        with lowering_kit.Kernel(soc=chip_of(arch)), refused:
            asc.trans_data_to_5hd(places(0, dtype), places(512, dtype), asc.TransDataTo5HDParams())


def test_an_address_outside_of_the_memory() -> None:
    def call(number: Any) -> None:
        far = [number(1 << 20) + k * 32 for k in range(16)]
        here = [tensor(asc.float16, 32 * k, 16).get_phy_addr() for k in range(16)]
        asc.trans_data_to_5hd(here, far, asc.TransDataTo5HDParams())

    with pytest.raises(KernelError, match="AT0201: trans_data_to_5hd at the address 1048576 of UB"):
        run("2201", noise(0), call, True)
