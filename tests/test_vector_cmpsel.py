"""`compare`, `compare_scalar` and `select` against single elements and single bits."""

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
from asctrace.tracer.language.dtypes import ALL, DataType
from asctrace.tracer.language.enums import CMPMODE, SelMode
from asctrace.tracer.ops import vec_cmpsel
from asctrace.tracer.ops._vector import slots_of, takes
from asctrace.tracer.ops.spec import TABLE, Form, OpFunction, OpSpec
from tests import lowering_kit
from tests.lowering_kit import body, local
from tests.simulator_kit import Kernel
from tests.vector_kit import CHIPS, bits, values
from tests.vector_reference import number, stored

ROWS = [spec for spec in TABLE.values() if spec.family == "vec_cmpsel"]
CASES = [
    pytest.param(
        arch, spec, form, dtypes, id="-".join(map(str, (arch, spec.name, *dtypes[:2], form.name)))
    )
    for arch in CHIPS
    for spec in ROWS
    for form in spec.forms
    if not vec_cmpsel.by_register(form)
    for dtypes in takes(spec, form, arch)
]
PLACE = 8192  # bytes of UB for each tensor
MEANING = {
    CMPMODE.LT: operator.lt, CMPMODE.GT: operator.gt, CMPMODE.EQ: operator.eq,
    CMPMODE.LE: operator.le, CMPMODE.GE: operator.ge, CMPMODE.NE: operator.ne,
}  # fmt: skip


def run(arch: str, spec: OpSpec, dtypes: Any, memory: Any, args: list[Any], runtime: bool) -> Any:
    """Call with the tensors `PLACE` bytes apart; amounts as constants or as parameters."""
    kernel = Kernel(CHIPS[arch])
    out = np.zeros_like(memory)
    given_: list[int] = []

    def operand(value: Any) -> Any:
        if not runtime or type(value) is not int:
            return value
        given_.append(value)
        return kernel.scalar(f"n{len(given_)}", asc.uint64)

    with kernel:
        source = kernel.tensor(kernel.address("source", asc.uint8))
        target = kernel.tensor(kernel.address("target", asc.uint8))
        whole = asc.LocalTensor(asc.uint8, asc.TPosition.VECIN, 0, memory.size)
        asc.data_copy(whole, source, memory.size)
        tensors = [
            asc.LocalTensor(t, asc.TPosition.VECIN, PLACE * k, PLACE // t.sizeof())
            for k, t in enumerate(dtypes)
        ]
        OpFunction(spec)(*tensors, *map(operand, args))
        asc.data_copy(target, whole, memory.size)
    kernel.run(memory, out, *given_)
    return out


def at(lane: int, repeat: int, step: tuple[int, int], size: int) -> int:
    """Byte offset of an element."""
    per_block = 32 // size
    return repeat * step[1] * 32 + lane // per_block * step[0] * 32 + lane % per_block * size


def element(memory: Any, base: int, dtype: DataType) -> Any:
    return number(memory[base : base + dtype.sizeof()].view(dtype.np)[0], dtype)


@st.composite
def amounts(draw: Any, spec: OpSpec, form: Form, arch: str, dtypes: Any) -> dict[str, Any]:
    """Mode, number, mask, repeats and strides of a call."""
    slots = slots_of(form)
    element_type = dtypes[slots.like] if slots.scalar is not None else dtypes[-1]
    lanes = 256 // element_type.sizeof()
    found: dict[str, Any] = {"lanes": lanes, "type": element_type}
    if element_type.kind == "f":
        found["scalar"] = draw(st.sampled_from([0.0, 1.0, -1.5, float("inf"), float("nan")]))
    else:
        found["scalar"] = draw(st.integers(element_type.lo, element_type.hi))
    if vec_cmpsel.selects(spec):
        scalar = slots.scalar is not None
        found["mode"] = draw(st.sampled_from([m for m in SelMode if (m == 1) is scalar]))
        found["count"] = draw(st.integers(0, 3 * lanes + 5))
    else:
        found["mode"] = draw(st.sampled_from(vec_cmpsel.modes(arch, dtypes)))
        found["count"] = draw(st.integers(0, 4)) * lanes
    found["mask"] = draw(bits()) if slots.kind == "bits" else draw(st.integers(1, lanes))
    found["repeat"] = draw(st.integers(0, 3))
    half = len(slots.limits) // 2
    found["strides"] = tuple(draw(st.integers(1, 3)) for _ in range(half)) + tuple(
        draw(st.integers(8, 10)) for _ in range(half)
    )
    return found


def arguments(form: Form, found: dict[str, Any]) -> list[Any]:
    slots = slots_of(form)
    args: list[Any] = [found["scalar"]] if slots.scalar is not None else []
    args.append(found["mode"])
    if slots.kind == "count":
        return [*args, found["count"]]
    struct = asc.BinaryRepeatParams if len(found["strides"]) == 6 else asc.UnaryRepeatParams
    return [*args, found["mask"], found["repeat"], struct(*found["strides"])]


def expected(spec: OpSpec, form: Form, dtypes: Any, memory: Any, found: dict[str, Any]) -> Any:
    """Element by element."""
    out, slots, size = memory.copy(), slots_of(form), found["type"].sizeof()
    lanes, selecting = found["lanes"], vec_cmpsel.selects(spec)
    strides = found["strides"]
    steps = list(zip(strides, strides[len(strides) // 2 :], strict=False))
    if slots.kind == "count":
        repeat, chosen, steps = -(-found["count"] // lanes), range(lanes), [(1, 8)] * 3
    else:
        repeat, chosen = found["repeat"], range(lanes)
        if selecting and slots.kind == "mask":
            chosen = range(found["mask"])
        elif selecting:
            chosen = [i for i in chosen if found["mask"][i // 64] >> i % 64 & 1]
    scalar = number(stored(found["scalar"], found["type"]), found["type"])
    for r in range(repeat):
        for lane in chosen:
            if slots.kind == "count" and r * lanes + lane >= found["count"]:
                continue
            bit = r * lanes + lane
            if selecting:
                bit = lane if found["mode"] == 0 else bit
                take = memory[PLACE + bit // 8] >> bit % 8 & 1
                to = at(lane, r, steps[0], size)
                src0 = 2 * PLACE + at(lane, r, steps[1], size)
                if take or slots.scalar is None:
                    start = src0 if take else 3 * PLACE + at(lane, r, steps[2], size)
                    out[to : to + size] = memory[start : start + size]
                else:
                    value = np.array([stored(found["scalar"], found["type"])])
                    out[to : to + size] = value.view(np.uint8)
                continue
            left = element(memory, PLACE + at(lane, r, steps[1], size), found["type"])
            right = scalar
            if slots.scalar is None:
                right = element(memory, 2 * PLACE + at(lane, r, steps[2], size), found["type"])
            true = MEANING[found["mode"]](left, right)
            out[bit // 8] = int(out[bit // 8]) & ~(1 << bit % 8) | true << bit % 8
    return out


@pytest.mark.parametrize(("arch", "spec", "form", "dtypes"), CASES)
def test_agrees_with_single_elements(arch: str, spec: OpSpec, form: Form, dtypes: Any) -> None:
    @settings(
        max_examples=4,
        deadline=None,
        database=None,
        print_blob=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(
        found=amounts(spec, form, arch, dtypes),
        seed=st.integers(0, 2**32 - 1),
        runtime=st.booleans(),
    )
    def check(found: dict[str, Any], seed: int, runtime: bool) -> None:
        rng = np.random.default_rng(seed)
        parts = [values(rng, PLACE // t.sizeof(), t).view(np.uint8) for t in dtypes]
        if not vec_cmpsel.selects(spec) and len(parts) > 2:
            parts[2][: PLACE // 2] = parts[1][: PLACE // 2]  # so that some are equal
        memory = np.concatenate(parts)
        args = arguments(form, found)
        if slots_of(form).scalar is not None and type(args[0]) is int:
            runtime = False
        got = run(arch, spec, dtypes, memory, args, runtime)
        want = expected(spec, form, dtypes, memory, found)
        np.testing.assert_array_equal(got, want)

    check()


@pytest.mark.parametrize("arch", CHIPS)
@pytest.mark.parametrize("spec", ROWS, ids=lambda spec: spec.name)
def test_other_dtypes_are_refused(spec: OpSpec, arch: str) -> None:
    for form in spec.forms:
        if vec_cmpsel.by_register(form):
            continue
        tensors = slots_of(form).tensors
        found = {"lanes": 0, "scalar": 1, "count": 0, "mask": 1, "repeat": 1,
                 "strides": (1,) * len(slots_of(form).limits)}  # fmt: skip
        found["mode"] = CMPMODE.EQ
        if vec_cmpsel.selects(spec):
            found["mode"] = SelMode(1 if slots_of(form).scalar is not None else 2)
        found["mask"] = [1, 0] if slots_of(form).kind == "bits" else 1
        for dtype in ALL:
            given_ = [asc.uint8, *[dtype] * (tensors - 1)]
            if vec_cmpsel.selects(spec):
                given_ = [dtype, asc.uint8, *[dtype] * (tensors - 2)]
            if tuple(given_) in takes(spec, form, arch):
                continue
            with lowering_kit.Kernel(soc=CHIPS[arch]):
                operands = [local(f"t{k}", PLACE * k, 512, t) for k, t in enumerate(given_)]
                with pytest.raises(KernelError, match=f"AT0102: {spec.name} on .* is "):
                    OpFunction(spec)(*operands, *arguments(form, found))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d, t: asc.compare(d, t, t, CMPMODE.LT, 65), "AT0103: compare of 65 elements of fl"),
        (lambda d, t: asc.compare(d, t, t, CMPMODE.LT, 2048), "AT0201: compare reaches 2048 elem"),
        (lambda d, t: asc.select(t, d, t, t, SelMode(1), 8), "AT0108: select with VSEL_TENSOR_SC"),
        (lambda d, t: asc.select(t, d, t, 1.0, SelMode(2), 8), "AT0108: select with VSEL_TENSOR_T"),
        (lambda d, t: asc.select(t[8:], d, t, t, SelMode(2), 64), "AT0117: select writes"),
        (
            lambda d, t: asc.select(t, d, t, t, SelMode(2), 1, 1, asc.BinaryRepeatParams(), False),
            "AT0108: select with is_set_mask=False, which has no effect on it",
        ),
        (lambda d, t: asc.select(t, d[1020:], t, t, SelMode(2), 64), "AT0103: select on"),
    ],
)
def test_what_is_refused(call: Any, message: str) -> None:
    with lowering_kit.Kernel():
        dst, tensor = local("d", 0, 1024, asc.uint8), local("t", 8192, 1024, asc.float32)
        with pytest.raises(KernelError) as caught:
            call(dst, tensor)
    assert f"error {message}" in str(caught.value)


def test_a_comparison_that_the_chip_lacks() -> None:
    with lowering_kit.Kernel():
        dst, tensor = local("d", 0, 1024, asc.uint8), local("t", 8192, 1024, asc.int32)
        asc.compare(dst, tensor, tensor, CMPMODE.EQ, 64)
        with pytest.raises(KernelError, match="AT0102: compare of int32 with LT is not executed"):
            asc.compare(dst, tensor, tensor, CMPMODE.LT, 64)


@pytest.mark.parametrize("dtype", [asc.float16, asc.float32])
def test_the_oldest_chip_selects_by_the_bits_of_one_repeat(dtype: Any) -> None:
    with lowering_kit.Kernel(soc="Ascend910A"):
        dst, tensor = local("d", 0, 1024, asc.uint8), local("t", 8192, 1024, dtype)
        asc.select(tensor, dst, tensor, tensor, SelMode.VSEL_CMPMASK_SPR, 64)
        with pytest.raises(KernelError, match="AT0102: select with VSEL_TENSOR_TENSOR_MODE is not"):
            asc.select(tensor, dst, tensor, tensor, SelMode.VSEL_TENSOR_TENSOR_MODE, 64)
        with pytest.raises(KernelError, match="AT0102: select with VSEL_TENSOR_SCALAR_MODE is not"):
            asc.select(tensor, dst, tensor, 1, SelMode.VSEL_TENSOR_SCALAR_MODE, 64)


def test_blocks_of_a_selection_lie_apart() -> None:
    kernel = Kernel()
    with kernel:
        source = kernel.tensor(kernel.address("source", asc.float32))
        tensor = asc.LocalTensor(asc.float32, asc.TPosition.VECIN, 0, 1024)
        asc.data_copy(tensor, source, 1024)
        bits_of = tensor[512:].reinterpret_cast(asc.uint8)
        strides = asc.BinaryRepeatParams(kernel.scalar("stride", asc.int32), 1, 1)
        asc.select(tensor, bits_of, tensor, tensor, SelMode.VSEL_CMPMASK_SPR, 9, 1, strides)
    with pytest.raises(KernelError, match="AT0108: select with 0 blocks between the blocks of a"):
        kernel.run(np.zeros(1024, np.float32), 0)
    kernel.run(np.zeros(1024, np.float32), 1)


def test_text() -> None:
    with lowering_kit.Kernel() as k:
        d, t = local("d", 0, 1024, asc.uint8), local("t", 8192, 1024, asc.float32)
        asc.compare(d, t, t, CMPMODE.LT, 64)
        asc.compare_scalar(d, t, 0, CMPMODE.GE, 64, 2, asc.UnaryRepeatParams())
        asc.select(t, d, t, 1, SelMode.VSEL_TENSOR_SCALAR_MODE, 64)
        asc.select(t, d, t, t, SelMode.VSEL_CMPMASK_SPR, 64, 2, asc.BinaryRepeatParams())
    unary = "AscendC::UnaryRepeatParams(1, 1, 8, 8)"
    binary = "AscendC::BinaryRepeatParams(1, 1, 1, 8, 8, 8)"
    assert body(emit(k.trace)).splitlines()[2:] == [
        "AscendC::Compare(d, t, t, AscendC::CMPMODE::LT, 64);",
        f"AscendC::CompareScalar(d, t, 0.0f, AscendC::CMPMODE::GE, 64, 2, {unary});",
        "AscendC::Select(t, d, t, 1.0f, AscendC::SELMODE::VSEL_TENSOR_SCALAR_MODE, 64);",
        f"AscendC::Select(t, d, t, t, AscendC::SELMODE::VSEL_CMPMASK_SPR, 64, 2, {binary});",
    ]
