"""`gather`, `gatherb` and `scatter` against single elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import asctrace as asc
from asctrace.tracer.diagnostics import KernelError
from asctrace.tracer.language.dtypes import ALL, DataType
from asctrace.tracer.ops._vector import takes
from asctrace.tracer.ops.spec import TABLE, Form, OpFunction, OpSpec
from tests import lowering_kit
from tests.chips import chip_of
from tests.lowering_kit import local
from tests.move_kit import PLACE, few, noise, put, run, take, tensor
from tests.vector_kit import bits

ARCHES = ("2201", "3510", "2002", "3002")
BY_ELEMENT = [TABLE["gather"], TABLE["scatter"]]
CASES = [
    pytest.param(
        arch, spec, form, signature[0], id=f"{arch}-{spec.name}-{form.name}-{signature[0]}"
    )
    for arch in ARCHES
    for spec in BY_ELEMENT
    for form in spec.forms
    for signature in takes(spec, form, arch)
]


@st.composite
def amounts(draw: Any, form: Form, dtype: DataType) -> dict[str, Any]:
    lanes = 256 // dtype.sizeof()
    found: dict[str, Any] = {"lanes": lanes, "repeat": draw(st.integers(0, 3)), "base": 0}
    found["base"] = draw(st.integers(0, 8)) * dtype.sizeof()
    found["stride"] = draw(st.sampled_from([8, 8, 9, 12]))
    if form.name == "count":
        found["amount"] = draw(st.integers(0, 3 * lanes))
        found["places"] = [(0, k, k) for k in range(found["amount"])]
        return found
    found["amount"] = draw(st.integers(1, lanes) if form.name == "mask" else bits())
    chosen = range(lanes)
    if form.name == "mask":
        chosen = range(found["amount"])
    else:
        chosen = [k for k in range(min(lanes, 128)) if found["amount"][k // 64] >> k % 64 & 1]
    found["places"] = [(r, k, r * lanes + k) for r in range(found["repeat"]) for k in chosen]
    return found


@pytest.mark.parametrize(("arch", "spec", "form", "dtype"), CASES)
def test_agrees_with_single_elements(arch: str, spec: OpSpec, form: Form, dtype: DataType) -> None:
    size = dtype.sizeof()

    @few
    @given(found=amounts(form, dtype), seed=st.integers(0, 2**32 - 1), runtime=st.booleans())
    def check(found: dict[str, Any], seed: int, runtime: bool) -> None:
        rng = np.random.default_rng(seed)
        memory = noise(seed)
        # A permutation of the elements that are there, so that no place is named twice.
        offsets = rng.permutation(3 * found["lanes"]).astype(np.uint32) * size
        put(memory, 2 * PLACE, offsets)
        want = memory.copy()
        for r, lane, index in found["places"]:
            far = PLACE + found["base"] + int(offsets[index])
            near = 0 + r * found["stride"] * 32 + lane * size
            if spec.name == "gather":
                want[near : near + size] = memory[far : far + size]
            else:
                want[far : far + size] = memory[near : near + size]

        def call(number: Any) -> None:
            near, far = tensor(dtype, 0, PLACE // size), tensor(dtype, PLACE, PLACE // size)
            first = (near, far) if spec.name == "gather" else (far, near)
            rest = (
                [found["amount"]]
                if form.name == "count"
                else [found["amount"], found["repeat"], found["stride"]]
            )
            OpFunction(spec)(
                *first, tensor(asc.uint32, 2 * PLACE), number(found["base"]),
                *([number(w) for w in part] if isinstance(part, list) else number(part)
                  for part in rest),
            )  # fmt: skip

        np.testing.assert_array_equal(run(arch, memory, call, runtime), want)

    check()


GATHERB = [
    pytest.param(arch, dtype, id=f"{arch}-{dtype}")
    for arch in ("2201", "3510", "3002")
    for dtype in TABLE["gatherb"].dtypes[arch]
]


@pytest.mark.parametrize(("arch", "dtype"), GATHERB)
def test_gatherb_agrees_with_single_blocks(arch: str, dtype: DataType) -> None:
    @few
    @given(
        repeat=st.integers(0, 4),
        block=st.integers(0, 3),
        step=st.integers(0, 30),
        seed=st.integers(0, 2**32 - 1),
        runtime=st.booleans(),
    )
    def check(repeat: int, block: int, step: int, seed: int, runtime: bool) -> None:
        rng = np.random.default_rng(seed)
        memory = noise(seed)
        offsets = rng.integers(0, PLACE // 32, 8 * repeat).astype(np.uint32) * 32
        put(memory, 2 * PLACE, offsets)
        want = memory.copy()
        for r in range(repeat):
            for k in range(8):
                to = (r * step + k * (block or 1)) * 32
                source = PLACE + int(offsets[8 * r + k])
                want[to : to + 32] = memory[source : source + 32]

        def call(number: Any) -> None:
            params = asc.GatherRepeatParams(number(block), number(step))
            size = dtype.sizeof()
            asc.gatherb(
                tensor(dtype, 0, PLACE // size), tensor(dtype, PLACE, PLACE // size),
                tensor(asc.uint32, 2 * PLACE), number(repeat), params,
            )  # fmt: skip

        np.testing.assert_array_equal(run(arch, memory, call, runtime), want)

    check()


@pytest.mark.parametrize("count", [1, 64, 255 * 64, 255 * 64 + 63])
def test_boundary_counts(count: int) -> None:
    """One element, one repeat, 255 repeats, and the most that the count form takes."""
    kernel = lowering_kit.Kernel()
    with kernel:
        asc.gather(local("d", 0, 16384), local("s", 65536, 64),
                   local("o", 131072, 16384, asc.uint32), 0, count)  # fmt: skip
        with pytest.raises(KernelError, match=r"AT0108: gather of 16384 elements"):
            asc.gather(local("d", 0, 16384), local("s", 65536, 64),
                       local("o", 131072, 16384, asc.uint32), 0, 16384)  # fmt: skip


def test_255_repeats() -> None:
    memory = np.zeros(196608, np.uint8)
    index = np.arange(255 * 64, dtype=np.uint32)[::-1] % 64 * 4
    put(memory, 65536, index)
    put(memory, 131072, np.arange(64, dtype=np.uint32))

    def call(number: Any) -> None:
        args = [asc.LocalTensor(asc.uint32, asc.TPosition.VECIN, at, n)
                for at, n in ((0, 16384), (131072, 64), (65536, 16384))]  # fmt: skip
        asc.gather(*args, 0, 64, 255, 8)

    got = take(run("2201", memory, call), 0, np.uint32, 255 * 64 + 64)
    np.testing.assert_array_equal(got, [*(index // 4), *(0,) * 64])


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("name", ["gather", "gatherb", "scatter"])
def test_other_dtypes_are_refused(name: str, arch: str) -> None:
    spec = TABLE[name]
    if arch not in spec.dtypes:
        return
    for dtype in ALL:
        if dtype in spec.dtypes[arch]:
            continue
        with lowering_kit.Kernel(soc=chip_of(arch)):
            tensors = [local("a", 0, 512, dtype), local("b", 8192, 512, dtype),
                       local("o", 16384, 512, asc.uint32)]  # fmt: skip
            rest = (1, asc.GatherRepeatParams()) if name == "gatherb" else (0, 16)
            with pytest.raises(KernelError, match=f"AT0102: {name} on .* is not executed"):
                OpFunction(spec)(*tensors, *rest)


def test_offsets_are_uint32() -> None:
    with lowering_kit.Kernel():
        a, o = local("a"), local("o", 8192, 512, asc.int32)
        with pytest.raises(KernelError, match="AT0102: gather on float32, int32 to float32 is not"):
            asc.gather(local("b", 16384), a, o, 0, 16)


def test_bytes_go_by_count_only() -> None:
    with lowering_kit.Kernel(soc=chip_of("3510")):
        a, b = local("a", 0, 512, asc.int8), local("b", 8192, 512, asc.int8)
        o = local("o", 16384, 512, asc.uint32)
        asc.gather(a, b, o, 0, 16)
        with pytest.raises(KernelError, match=r"AT0102: gather on .* with a count only"):
            asc.gather(a, b, o, 0, 16, 1, 8)


def test_scatter_is_not_on_2201() -> None:
    with lowering_kit.Kernel(), pytest.raises(KernelError) as caught:
        asc.scatter(local("a"), local("b", 8192), local("o", 16384, 64, asc.uint32), 0, 16)
    text = str(caught.value)
    assert "AT0304: Ascend910B1 (architecture 2201) does not execute scatter" in text
    assert "hint: write single elements with set_value, or gather from the other side" in text


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d, s, o: asc.gather(d, s, o, 2, 16), "AT0103: gather with src_base = 2, which is"),
        (lambda d, s, o: asc.gather(d, s, o, 0, 65, 1, 8), "AT0108: gather with a mask of 65 elem"),
        (lambda d, s, o: asc.gather(d, s, o, 0, 64, 256, 8), "AT0108: gather with repeat_times ="),
        (lambda d, s, o: asc.gather(d, s, o, 0, 64, 1, 65536), "AT0108: gather with dst_rep_stri"),
        (lambda d, s, o: asc.gather(d, s, o, 0, 2048), "AT0201: gather reaches 2048 elements of"),
        (lambda d, s, o: asc.gather(d, s, o[1000:], 0, 64), "AT0201: gather reaches 64 elements"),
        (lambda d, s, o: asc.gather(d[2:], s, o, 0, 64), "AT0103: gather on (LocalTensor of floa"),
        (lambda d, s, o: asc.gather(d, s, d.reinterpret_cast(asc.uint32), 0, 64), "AT0117: gather"),
    ],
)
def test_what_is_refused_while_tracing(call: Any, message: str) -> None:
    with lowering_kit.Kernel():
        args = local("d"), local("s", 8192), local("o", 16384, 1024, asc.uint32)
        with pytest.raises(KernelError) as caught:
            call(*args)
    assert f"error {message}" in str(caught.value)


@pytest.mark.parametrize(
    ("arch", "name", "dtype", "offsets", "message"),
    [
        ("2201", "gather", asc.float32, [0, 8, 6], "AT0103: gather with 6 as offset number 2"),
        ("2201", "gather", asc.float32, [0, 4 * 64], "AT0201: gather with 256 as offset number 1"),
        ("2201", "gather", asc.float32, [2**32 - 4], "AT0201: gather with 4294967292 as offset"),
        ("3510", "gather", asc.float16, [0, 2**17], "AT0108: gather with 131072 as offset num"),
        ("3510", "scatter", asc.float16, [0, 2, 0], "AT0117: scatter writes element 0 of `dst` t"),
        ("3510", "scatter", asc.float16, [1], "AT0103: scatter with 1 as offset number 0"),
    ],
)
def test_what_is_refused_when_run(
    arch: str, name: str, dtype: DataType, offsets: list[int], message: str
) -> None:
    memory = noise(0)
    put(memory, 2 * PLACE, np.array(offsets, np.uint32))

    def call(number: Any) -> None:
        a, b = tensor(dtype, 0, 64), tensor(dtype, PLACE, 64)
        OpFunction(TABLE[name])(a, b, tensor(asc.uint32, 2 * PLACE), 0, len(offsets))

    with pytest.raises(KernelError) as caught:
        run(arch, memory, call)
    assert f"error {message}" in str(caught.value)


def test_gathering_into_the_source_is_refused_when_run() -> None:
    memory = noise(0)
    put(memory, 2 * PLACE, np.arange(64, dtype=np.uint32) * 4 + 128)
    with pytest.raises(KernelError, match=r"AT0117: gather writes .* they share 128 bytes"):
        run("2201", memory, lambda n: asc.gather(
            tensor(asc.float32, 0), tensor(asc.float32, 0), tensor(asc.uint32, 2 * PLACE), 0, 64
        ))  # fmt: skip


def test_only_what_is_gathered_has_to_be_written() -> None:
    """Half of the table was never written; an offset into it is found."""
    from tests.simulator_kit import Kernel

    def launch(offsets: list[int]) -> Any:
        kernel = Kernel()
        with kernel:
            out = kernel.tensor(kernel.address("out", asc.float32))
            table = kernel.tensor(kernel.address("table", asc.float32))
            index = kernel.tensor(kernel.address("index", asc.uint32))
            src = asc.LocalTensor(asc.float32, asc.TPosition.VECIN, 0, 64)
            src.name = "src"
            at = asc.LocalTensor(asc.uint32, asc.TPosition.VECIN, 1024, 8)
            dst = asc.LocalTensor(asc.float32, asc.TPosition.VECOUT, 2048, 8)
            asc.data_copy(src, table, 32)
            asc.data_copy(at, index, 8)
            asc.gather(dst, src, at, 0, 8)
            asc.data_copy(out, dst, 8)
        found = np.zeros(8, np.float32)
        values = np.arange(32, dtype=np.float32)
        kernel.run(found, values, np.array(offsets, np.uint32) * 4)
        return found

    assert launch([31, 0, 5, 5, 1, 2, 3, 4]).tolist() == [31, 0, 5, 5, 1, 2, 3, 4]
    with pytest.raises(KernelError, match="AT0203: gather reads element 32 of `src`"):
        launch([31, 32, 5, 5, 1, 2, 3, 4])
