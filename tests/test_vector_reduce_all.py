"""`reduce_max`, `reduce_min` and `reduce_sum` against results worked out element by element."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import asctrace as asc
from asctrace.lowering.text import emit
from asctrace.tracer.diagnostics import KernelError
from asctrace.tracer.language.dtypes import ALL, DataType
from asctrace.tracer.ops._vector import slots_of, takes
from asctrace.tracer.ops.spec import TABLE, Form, OpFunction, OpSpec
from tests import lowering_kit
from tests.lowering_kit import body, local
from tests.simulator_kit import Kernel
from tests.test_vector_reduce import by_tree, extreme, on
from tests.vector_kit import bits, values

ROWS = [spec for spec in TABLE.values() if spec.family == "vec_reduce_all"]
ARCHES = ("2201", "3510", "2002")
CASES = [
    pytest.param(arch, spec, form, dtypes[0], id=f"{arch}-{spec.name}-{dtypes[0]}-{form.name}")
    for arch in ARCHES
    for spec in ROWS
    for form in spec.forms
    for dtypes in takes(spec, form, arch)
]
DST, SRC, TMP, SIZE = 64, 1024, 32768, 40960  # bytes of UB
POISON = np.frombuffer(b"\xff\x7f", np.uint8)


def workspace(name: str, arch: str, form: Form, dtype: DataType, g: dict[str, Any]) -> int:
    """The documented number of elements, step by step."""
    per_block, per_repeat = 32 // dtype.sizeof(), 256 // dtype.sizeof()
    repeats = g["repeat_time"] if form.name != "count" else max(1, g["count"] // per_repeat)

    def up(a: int, b: int) -> int:
        return math.ceil(a / b) * b

    if name == "reduce_sum":
        if form.name == "count" and (arch == "2201" or dtype.bits == 64):
            return 0
        return up(repeats, per_block)
    if arch == "3510":
        return 0
    first = repeats * 2
    if not g["cal_index"]:
        return up(first, per_block)
    second = math.ceil(first / per_repeat) * 2
    need = up(first, per_block) + up(second, per_block)
    if second > 2:
        third = math.ceil(second / per_repeat) * 2
        need += up(third, per_block)
    return need


def run(arch: str, spec: OpSpec, dtype: DataType, memory: Any, args: list[Any], **how: Any) -> Any:
    kernel = on(Kernel(), arch)
    out = np.zeros_like(memory)
    given_: list[int] = []

    def operand(value: Any) -> Any:
        if isinstance(value, list):
            return [operand(word) for word in value]
        if not how.get("runtime") or type(value) is not int:
            return value
        given_.append(value)
        return kernel.scalar(f"n{len(given_)}", asc.uint64)

    size = dtype.sizeof()
    with kernel:
        source = kernel.tensor(kernel.address("source", asc.uint8))
        target = kernel.tensor(kernel.address("target", asc.uint8))
        whole = asc.LocalTensor(asc.uint8, asc.TPosition.VECIN, 0, memory.size)
        asc.data_copy(whole, source, memory.size)
        dst, src, tmp = (
            asc.LocalTensor(dtype, asc.TPosition.VECIN, at, (stop - at) // size)
            for at, stop in (
                (how.get("dst", DST), SRC), (SRC, TMP), (how.get("tmp", TMP), SIZE),
            )
        )  # fmt: skip
        OpFunction(spec)(dst, src, tmp, *map(operand, args))
        asc.duplicate(tmp.reinterpret_cast(asc.uint16), 0, 1024)  # its garbage may not be read
        asc.data_copy(target, whole, memory.size)
    kernel.run(memory, out, *given_)
    return out


def total(arch: str, form: Form, dtype: DataType, rows: list[list[Any]]) -> Any:
    """The rows of all lanes of the repeats, None where nothing is selected."""
    zero = dtype.np.type(0)
    filled = [[zero if v is None else v for v in row] for row in rows]
    if form.name == "count" and arch == "2201":
        result = by_tree(filled[0])
        for row in filled[1:]:
            result = result + by_tree(row)
        return result
    if form.name == "count" and arch == "3510" and 2 <= len(rows) <= 4:
        pairs = [[a + b for a, b in zip(*filled[:2], strict=True)], *filled[2:]]
        if len(rows) == 4:
            pairs[1:] = [[a + b for a, b in zip(*filled[2:], strict=True)]]
        first = pairs[0]
        for row in pairs[1:]:
            first = [a + b for a, b in zip(first, row, strict=True)]
        return by_tree(first)
    sums = [by_tree(row) for row in filled]
    while len(sums) & (len(sums) - 1):
        sums.append(zero)
    return by_tree(sums)


@pytest.mark.parametrize(("arch", "spec", "form", "dtype"), CASES)
def test_agrees_with_single_elements(arch: str, spec: OpSpec, form: Form, dtype: DataType) -> None:
    size = dtype.sizeof()
    lanes_all, per_block = 256 // size, 32 // size

    @settings(
        max_examples=10, phases=[Phase.generate], deadline=None, database=None, print_blob=True,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(data=st.data(), seed=st.integers(0, 2**32 - 1), flags=st.tuples(*[st.booleans()] * 3))
    def check(data: Any, seed: int, flags: tuple[bool, bool, bool]) -> None:
        runtime, ties, cal_index = flags
        draw = data.draw
        g: dict[str, Any] = {
            "count": draw(st.integers(0, 7 * lanes_all)),
            "repeat_time": draw(st.integers(0, 9)),
            "src_rep_stride": draw(st.sampled_from([8, 8, 0, 1, 11])),
            "cal_index": cal_index,
        }
        lanes = list(range(lanes_all))
        if form.name == "bits":
            g["mask"] = draw(bits())
            lanes = [k for k in range(min(128, lanes_all)) if g["mask"][k // 64] >> k % 64 & 1]
        elif form.name == "mask":
            g["mask"] = draw(st.integers(1, lanes_all))
            lanes = list(range(g["mask"]))
        rng = np.random.default_rng(seed)
        memory = np.frombuffer(rng.bytes(SIZE), np.uint8).copy()
        numbers = values(rng, (TMP - SRC) // size, dtype)
        if ties:
            numbers = rng.integers(0, 3, numbers.size).astype(dtype.np)
        memory[SRC:TMP] = numbers.view(np.uint8)
        args = [g[p.name] for p in form.params[3:]]
        got = run(arch, spec, dtype, memory, args, runtime=runtime)
        rows: list[list[Any]] = []
        index: list[tuple[int, Any]] = []
        if form.name == "count":
            for at in range(0, g["count"], lanes_all):
                row = list(numbers[at : min(at + lanes_all, g["count"])])
                rows.append(row + [None] * (lanes_all - len(row)))
                index += enumerate(row, at)
        elif lanes:
            for r in range(g["repeat_time"]):
                start = r * g["src_rep_stride"] * per_block
                rows.append([numbers[start + k] if k in lanes else None for k in range(lanes_all)])
                index += [(start + k, numbers[start + k]) for k in lanes]
        want = memory.copy()
        with np.errstate(all="ignore"):
            if not rows:
                result: list[Any] = []
            elif spec.name == "reduce_sum":
                result = [np.array([total(arch, form, dtype, rows)], dtype.np)]
            else:
                at, value = extreme(index, spec.name == "reduce_max")
                result = [np.array([value])]
                if cal_index:
                    result.append(np.array([at], f"u{size}").view(dtype.np))
        raw = np.concatenate([part.view(np.uint8) for part in result]) if result else b""
        want[DST : DST + len(raw)] = np.frombuffer(bytes(raw), np.uint8)
        need = workspace(spec.name, arch, form, dtype, g) * size if rows else 0
        reached = (max(at for at, _ in index) + 1) * size if index else 0
        need = min(need, math.ceil(reached / 32) * 32)
        want[TMP : TMP + need] = np.resize(POISON, need)
        want[TMP : TMP + 2048] = 0
        left, right = (view[DST : DST + size].view(dtype.np)[0] for view in (got, want))
        if (dtype.kind == "f" and left == right) or (left != left and right != right):
            got[DST : DST + size] = want[DST : DST + size]
        np.testing.assert_array_equal(got, want)

    check()


@pytest.mark.parametrize("count", [1, 8, 63, 64, 65, 128, 255 * 64, 255 * 64 + 1])
def test_boundaries_by_count(count: int) -> None:
    """Large counts, in the whole of the UB."""
    rng = np.random.default_rng(count)
    data = rng.normal(size=(count + 7) // 8 * 8).astype(np.float32)
    need = asc.shared_tmp_size(asc.reduce_max, asc.float32, count=count, cal_index=True)
    kernel = Kernel()
    with kernel:
        source = kernel.tensor(kernel.address("source", asc.float32))
        target = kernel.tensor(kernel.address("target", asc.float32))
        src = asc.LocalTensor(asc.float32, asc.TPosition.VECIN, 0, data.size)
        tmp = asc.LocalTensor(asc.float32, asc.TPosition.VECIN, 131072, need)
        dst = asc.LocalTensor(asc.float32, asc.TPosition.VECIN, 180000 // 32 * 32, 24)
        asc.duplicate(dst, 0, 24)
        asc.data_copy(src, source, data.size)
        asc.reduce_max(dst, src, tmp, count, True)
        asc.reduce_min(dst[8:], src, tmp, count, True)
        asc.reduce_sum(dst[16:], src, tmp, count)
        asc.data_copy(target, dst, 24)
    out = np.zeros(24, np.float32)
    kernel.run(data, out)
    part = data[:count]
    assert (out[0], out.view(np.uint32)[1]) == (part.max(), part.argmax())
    assert (out[8], out.view(np.uint32)[9]) == (part.min(), part.argmin())
    np.testing.assert_allclose(out[16], part.sum(dtype=np.float64), rtol=1e-4, atol=1e-3)


def test_a_long_sum_of_halves_stands_still() -> None:
    """Repeats follow one another by count: 2048 + 1 is 2048; as a tree nothing is lost."""
    size, dtype = 2, asc.float16
    memory = np.zeros(SIZE, np.uint8)
    numbers = memory[SRC:TMP].view(np.float16)
    numbers[0] = 2048.0
    numbers[128 : 128 * 5 : 128] = 1.0
    spec = TABLE["reduce_sum"]
    by_count = run("2201", spec, dtype, memory, [128 * 5])
    with_mask = run("2201", spec, dtype, memory, [128, 5, 8])
    assert by_count[DST:].view(np.float16)[0] == 2048
    # (2048 + 1) + (1 + 1) is 2050, and 2051 rounds to even.
    assert with_mask[DST:].view(np.float16)[0] == 2052
    assert size == dtype.sizeof()


def test_the_workspace_is_garbage_afterwards() -> None:
    kernel = Kernel()
    with kernel:
        src = asc.LocalTensor(asc.float32, asc.TPosition.VECIN, 0, 128)
        asc.duplicate(src, 1.0, 128)
        dst = asc.LocalTensor(asc.float32, asc.TPosition.VECIN, 4096, 8)
        asc.reduce_max(dst, src, src, 128)  # the source as the workspace
        asc.adds(src, src, 1.0, 8)
    with pytest.raises(KernelError, match=r"AT0203: adds reads element 0 of .* was never written"):
        kernel.run()


def test_dst_may_lie_in_the_workspace() -> None:
    memory = np.zeros(SIZE, np.uint8)
    memory[SRC:TMP].view(np.float32)[:300] = np.arange(300)
    kernel = Kernel()
    out = np.zeros(8, np.float32)
    with kernel:
        source = kernel.tensor(kernel.address("source", asc.uint8))
        target = kernel.tensor(kernel.address("target", asc.float32))
        asc.data_copy(asc.LocalTensor(asc.uint8, asc.TPosition.VECIN, 0, SIZE), source, SIZE)
        src = asc.LocalTensor(asc.float32, asc.TPosition.VECIN, SRC, 300)
        tmp = asc.LocalTensor(asc.float32, asc.TPosition.VECIN, TMP, 64)
        asc.duplicate(tmp, 0, 64)
        asc.reduce_max(tmp, src, tmp, 300)
        asc.muls(tmp, tmp, 2, 1)
        asc.duplicate(tmp[8:], 0, 8)
        asc.adds(tmp[8:], tmp, 0, 1)
        asc.data_copy(target, tmp[8:], 8)
    kernel.run(memory, out)
    assert out.tolist() == [598, 0, 0, 0, 0, 0, 0, 0]


# -- the size of the workspace --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "arguments", "elements"),
    [
        # The six examples that the documentation works out.
        (asc.float16, {"repeat_time": 65, "cal_index": True}, 176),
        (asc.float16, {"repeat_time": 255, "cal_index": True}, 544),
        (asc.float16, {"count": 65408, "cal_index": True}, 1056),
        (asc.float16, {"repeat_time": 4, "cal_index": True}, 32),
        (asc.float16, {"count": 65408}, 1024),
        (asc.float32, {"repeat_time": 130, "cal_index": True}, 288),
    ],
)
def test_workspace_of_the_documented_examples(dtype: Any, arguments: Any, elements: int) -> None:
    assert asc.shared_tmp_size(asc.reduce_max, dtype, **arguments) == elements
    assert asc.shared_tmp_size(asc.reduce_min, dtype, **arguments) == elements


def test_workspace_of_sums() -> None:
    assert asc.shared_tmp_size(asc.reduce_sum, asc.float32, repeat_time=65) == 72
    assert asc.shared_tmp_size(asc.reduce_sum, asc.float16, count=100) == 16


@pytest.mark.parametrize(
    "call",
    [
        lambda: asc.shared_tmp_size(asc.add, asc.float32, count=1),
        lambda: asc.shared_tmp_size(asc.reduce_max, asc.float32),
        lambda: asc.shared_tmp_size(asc.reduce_max, asc.float32, count=1, repeat_time=1),
        lambda: asc.shared_tmp_size(asc.reduce_max, asc.float32, count=-1),
    ],
)
def test_workspace_of_anything_else(call: Any) -> None:
    with pytest.raises(KernelError, match="AT0108: shared_tmp_size of "):
        call()


def test_workspace_of_a_runtime_count() -> None:
    with lowering_kit.Kernel() as k:
        n = k.scalar("n")
        with pytest.raises(KernelError, match=r"AT0108: shared_tmp_size .* count=`n`"):
            asc.shared_tmp_size(asc.reduce_max, asc.float32, count=n)


# -- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("spec", ROWS, ids=lambda spec: spec.name)
def test_other_dtypes_are_refused(spec: OpSpec, arch: str) -> None:
    for form in spec.forms:
        allowed = {s[0] for s in takes(spec, form, arch)}
        args = {"count": [8], "mask": [8, 1, 8], "bits": [[1, 0], 1, 8]}[slots_of(form).kind]
        for dtype in ALL:
            if dtype in allowed:
                continue
            with on(lowering_kit.Kernel(), arch):
                tensors = [local(f"t{k}", 8192 * k, 256, dtype) for k in range(3)]
                with pytest.raises(KernelError, match=f"AT0102: {spec.name} on {dtype} is "):
                    OpFunction(spec)(*tensors, *args)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d, s, t: asc.reduce_max(d, s, t, -1), "AT0108: reduce_max of -1 elements"),
        (lambda d, s, t: asc.reduce_max(d, s, t, 65, 1, 8), "AT0108: reduce_max with a mask of 65"),
        (lambda d, s, t: asc.reduce_max(d, s, t, 64, -1, 8), "AT0108: reduce_max of -1 elements"),
        (lambda d, s, t: asc.reduce_max(d, s, t, 64, 1, 65536), "AT0108: reduce_max with the str"),
        (lambda d, s, t: asc.reduce_max(d, s, t, 2049), "AT0201: reduce_max reaches 2049 element"),
        (lambda d, s, t: asc.reduce_max(d, s, t[8:], 2048, True), "AT0201: reduce_max reaches 72"),
        (lambda d, s, t: asc.reduce_sum(d, s, t[48:], 64, 32, 8), "AT0201: reduce_sum reaches 32"),
        (lambda d, s, t: asc.reduce_max(d[7:], s, t, 64, True), "AT0103: reduce_max on (LocalTen"),
        (lambda d, s, t: asc.reduce_max(d, s[1:], t, 64), "AT0103: reduce_max on (LocalTensor"),
        (lambda d, s, t: asc.reduce_max(d, s, t[1:], 64), "AT0103: reduce_max on (LocalTensor"),
        (lambda d, s, t: asc.reduce_max(s[64:], s, t, 512), "AT0117: reduce_max writes (LocalTe"),
    ],
)
def test_what_is_refused(call: Any, message: str) -> None:
    with lowering_kit.Kernel():
        tensors = [
            local(name, 8192 * k, count, asc.float32)
            for k, (name, count) in enumerate((("d", 8), ("s", 2048), ("t", 72)))
        ]
        with pytest.raises(KernelError) as caught:
            call(*tensors)
    assert f"error {message}" in str(caught.value)


def test_an_index_that_has_no_room() -> None:
    with lowering_kit.Kernel():
        dst, tmp = local("d", 0, 16, asc.float16), local("t", 160000, 2048, asc.float16)
        src = local("s", 64, 70000, asc.float16)
        asc.reduce_max(dst, src, tmp, 70000)
        asc.reduce_max(dst, src, tmp, 65536, True)
        with pytest.raises(KernelError, match="AT0108: reduce_max of float16 with indices up to "):
            asc.reduce_max(dst, src, tmp, 65537, True)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([-1], "AT0108: reduce_sum of -1 elements"),
        ([100000], "AT0201: reduce_sum reads elements 0 to 99999"),
        ([65, 1, 8], "AT0108: reduce_sum with a mask of 65"),
        ([64, 1, 70000], "AT0108: reduce_sum with the strides"),
    ],
)
def test_what_the_simulator_refuses(args: list[int], message: str) -> None:
    memory = np.zeros(SIZE, np.uint8)
    shift = [v + 2**64 if v < 0 else v for v in args]
    if shift != args:
        with pytest.raises(KernelError, match=message):
            run("2201", TABLE["reduce_sum"], asc.float32, memory, args)
        return
    with pytest.raises(KernelError, match=message):
        run("2201", TABLE["reduce_sum"], asc.float32, memory, args, runtime=True)


def test_text() -> None:
    with lowering_kit.Kernel() as k:
        d, s, t = (local(n, 8192 * i, 512, asc.float32) for i, n in enumerate("dst"))
        asc.reduce_max(d, s, t, 100)
        asc.reduce_max(d, s, t, 64, 8, 8, True)
        asc.reduce_min(d, s, t, [1, 0], 8, 8, cal_index=True)
        asc.reduce_sum(d, s, t, 100)
        asc.reduce_sum(d, s, t, 64, 8, 8)
    assert body(emit(k.trace)).splitlines()[-6:] == [
        "AscendC::ReduceMax(d, s, t, 100, false);",
        "AscendC::ReduceMax(d, s, t, 64, 8, 8, true);",
        "uint64_t mask[2] = {1, 0};",
        "AscendC::ReduceMin(d, s, t, mask, 8, 8, true);",
        "AscendC::ReduceSum(d, s, t, 100);",
        "AscendC::ReduceSum(d, s, t, 64, 8, 8);",
    ]
