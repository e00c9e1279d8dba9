"""The reductions of repeats, blocks and pairs against results worked out element by element."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import asctrace as asc
from asctrace.lowering.text import emit
from asctrace.tracer.chip import chip
from asctrace.tracer.diagnostics import KernelError
from asctrace.tracer.language.dtypes import ALL, DataType
from asctrace.tracer.language.enums import ReduceOrder
from asctrace.tracer.ops._vector import slots_of, takes
from asctrace.tracer.ops.spec import TABLE, Form, OpFunction, OpSpec
from tests import lowering_kit
from tests.lowering_kit import body, local
from tests.simulator_kit import Kernel
from tests.vector_kit import bits, values

ROWS = [spec for spec in TABLE.values() if spec.family == "vec_reduce"]
ARCHES = ("2201", "3510", "3002", "2002")
CASES = [
    pytest.param(
        arch, spec, form, dtypes, id="-".join(map(str, (arch, spec.name, *dtypes, form.name)))
    )
    for arch in ARCHES
    for spec in ROWS
    for form in spec.forms
    for dtypes in takes(spec, form, arch)
]
#: What a chip gives, written apart from the table.
KNOWN_ORDERS = {
    "2201": range(4), "3510": range(4), "3002": (0, 2), "2002": (0, 1), "1001": (0,),
}  # fmt: skip
PLACE = 16384  # bytes of UB for each tensor
SIZE = 4 * PLACE


def on(kernel: Any, arch: str) -> Any:
    """The kernel for a chip of this architecture, one that no table need have."""
    kernel.trace.chip = chip("Ascend910B1")._replace(name=f"chip{arch}", arch=arch)
    return kernel


def run(arch: str, spec: OpSpec, dtypes: Any, memory: Any, args: list[Any], runtime: bool) -> Any:
    """Call on `dst` at `PLACE` and `src` at twice that; numbers as constants or parameters."""
    kernel = on(Kernel(), arch)
    out = np.zeros_like(memory)
    given_: list[int] = []

    def operand(value: Any) -> Any:
        if isinstance(value, list):
            return [operand(word) for word in value]
        if not runtime or type(value) is not int:
            return value
        given_.append(value)
        return kernel.scalar(f"n{len(given_)}", asc.uint64)

    with kernel:
        source = kernel.tensor(kernel.address("source", asc.uint8))
        target = kernel.tensor(kernel.address("target", asc.uint8))
        whole = asc.LocalTensor(asc.uint8, asc.TPosition.VECIN, 0, memory.size)
        asc.data_copy(whole, source, memory.size)
        dst, src = (
            asc.LocalTensor(t, asc.TPosition.VECIN, PLACE * k, (4 - k) * PLACE // t.sizeof())
            for k, t in enumerate(dtypes, 1)
        )
        OpFunction(spec)(dst, src, *map(operand, args))
        asc.data_copy(target, whole, memory.size)
    kernel.run(memory, out, *given_)
    return out


def arguments(form: Form, given_: dict[str, Any]) -> list[Any]:
    return [given_[p.name] for p in form.params[2:] if p.name in given_]


# -- by hand --------------------------------------------------------------------------------------


def by_tree(parts: list[Any]) -> Any:
    """Neighbours are added until one is left; the adds are those of the dtype."""
    while len(parts) > 1:
        parts = [parts[k] + parts[k + 1] for k in range(0, len(parts), 2)]
    return parts[0]


def extreme(found: list[tuple[int, Any]], largest: bool) -> tuple[int, Any]:
    """The first position of the largest or smallest; NaN beats all."""
    best = found[0]
    for at, value in found[1:]:
        if math.isnan(best[1]):
            break
        better = value > best[1] if largest else value < best[1]
        if better or math.isnan(value):
            best = (at, value)
    return best


def reduced(spec: OpSpec, dst: DataType, parts: list[Any]) -> Any:
    """One value of what is selected (None: not) of a block, a pair or a repeat."""
    zero = dst.np.type(0)
    if "sum" in spec.name:
        return by_tree([zero if part is None else dst.np.type(part) for part in parts])
    found = [(k, part) for k, part in enumerate(parts) if part is not None]
    return extreme(found, "max" in spec.name)[1]


def expected(
    arch: str, spec: OpSpec, form: Form, dtypes: Any, memory: Any, lanes: list[int], g: Any
) -> Any:
    out = memory.copy()
    dst, src = dtypes
    size = src.sizeof()
    count, per_block = 256 // size, 32 // size
    filled = arch in ("3510", "3002")
    for r in range(g["repeat"] if lanes else 0):
        read: list[Any] = [None] * count
        for lane in lanes:
            at = 2 * PLACE + 32 * (
                r * g["src_rep_stride"] + lane // per_block * g["src_blk_stride"]
            ) + lane % per_block * size  # fmt: skip
            read[lane] = memory[at : at + size].view(src.np)[0]
        if "block" in spec.name or "pair" in spec.name:
            each = per_block if "block" in spec.name else 2
            results: dict[int, Any] = {}
            for k in range(count // each):
                parts = read[k * each : (k + 1) * each]
                if any(part is not None for part in parts):
                    results[k] = reduced(spec, dst, parts)
                elif filled and "sum" in spec.name:
                    results[k] = dst.np.type(0)
                elif filled:
                    top = 65504.0 if arch == "3002" and size == 2 else math.inf
                    results[k] = dst.np.type(-top if "max" in spec.name else top)
            unit = count // each
            cells = [(k, np.array([v])) for k, v in results.items()]
        elif "sum" in spec.name:
            unit, cells = 1, [(0, np.array([reduced(spec, dst, read)]))]
        else:
            at, value = extreme(
                [(k, v) for k, v in enumerate(read) if v is not None], "max" in spec.name
            )
            order = g["order"]
            index = np.array([at], f"u{size}")
            found = {
                0: [np.array([value]), index], 1: [index, np.array([value])],
                2: [np.array([value])], 3: [np.array([at], np.uint32)],
            }[order]  # fmt: skip
            data = np.concatenate([part.view(np.uint8) for part in found])
            unit, cells = data.size // size, [(0, data)]
        for k, cell in cells:
            start = PLACE + (r * g["dst_rep_stride"] * unit + k) * dst.sizeof()
            raw = cell.view(np.uint8)
            out[start : start + raw.size] = raw
    return out


def same(got: Any, want: Any, dtype: DataType) -> None:
    """Equal bytes, but for the signs of zeros and the bits of NaNs."""
    if np.array_equal(got, want):
        return
    left, right = got.view(dtype.np), want.view(dtype.np)
    places = np.flatnonzero((got != want).reshape(-1, dtype.sizeof()).any(axis=1))
    if dtype.kind == "f":
        a, b = (view[places].astype(np.float64) for view in (left, right))
        places = places[~((a == b) | (np.isnan(a) & np.isnan(b)))]
    assert not places.size, [(int(p), left[p], right[p]) for p in places[:8]]


def memory_of(dtype: DataType, seed: int, ties: bool) -> Any:
    rng = np.random.default_rng(seed)
    memory = np.frombuffer(rng.bytes(SIZE), np.uint8).copy()
    numbers = values(rng, 2 * PLACE // dtype.sizeof(), dtype)
    if ties:
        numbers = rng.integers(0, 3, numbers.size).astype(dtype.np)
    memory[2 * PLACE :] = numbers.view(np.uint8)
    return memory


@pytest.mark.parametrize(("arch", "spec", "form", "dtypes"), CASES)
def test_agrees_with_single_elements(
    arch: str, spec: OpSpec, form: Form, dtypes: tuple[DataType, ...]
) -> None:
    dtypes = dtypes if len(dtypes) == 2 else dtypes * 2
    count = 256 // dtypes[1].sizeof()

    @settings(
        max_examples=8, phases=[Phase.generate], deadline=None, database=None, print_blob=True,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(data=st.data(), seed=st.integers(0, 2**32 - 1), flags=st.tuples(*[st.booleans()] * 3))
    def check(data: Any, seed: int, flags: tuple[bool, bool, bool]) -> None:
        runtime, ties, dense = flags
        draw = data.draw
        g: dict[str, Any] = {
            "repeat": draw(st.integers(0, 5)),
            "dst_rep_stride": 1 if dense else draw(st.integers(0, 3)),
            "src_blk_stride": 1 if dense else draw(st.integers(0, 3)),
            "src_rep_stride": 8 if dense else draw(st.integers(0, 20)),
            "dst_blk_stride": 1,
            "order": ReduceOrder(draw(st.sampled_from(list(KNOWN_ORDERS[arch])))),
        }
        g["repeat_time"] = g["repeat"]
        if slots_of(form).kind == "bits":
            g["mask"] = draw(bits())
            lanes = [k for k in range(min(128, count)) if g["mask"][k // 64] >> k % 64 & 1]
        else:
            g["mask"] = draw(st.integers(1, count))
            lanes = list(range(g["mask"]))
        memory = memory_of(dtypes[1], seed, ties)
        got = run(arch, spec, dtypes, memory, arguments(form, g), runtime)
        with np.errstate(all="ignore"):
            want = expected(arch, spec, form, dtypes, memory, lanes, g)
        same(got, want, dtypes[0])

    check()


@pytest.mark.parametrize("spec", ROWS, ids=lambda spec: spec.name)
@pytest.mark.parametrize("repeats", [0, 1, 255])
@pytest.mark.parametrize("lanes", [1, 16, 128])
def test_boundaries(spec: OpSpec, repeats: int, lanes: int) -> None:
    """All repeats lie in 32 KB when they share the blocks of their sources."""
    dtypes = (asc.float16, asc.float16)
    g = {
        "repeat": repeats, "repeat_time": repeats, "mask": lanes, "dst_rep_stride": 1,
        "src_blk_stride": 1, "src_rep_stride": 2, "dst_blk_stride": 1,
        "order": ReduceOrder.ORDER_VALUE_INDEX,
    }  # fmt: skip
    if "pair" in spec.name:
        g["dst_rep_stride"] = 0
    memory = memory_of(asc.float16, repeats + lanes, False)
    got = run("2201", spec, dtypes, memory, arguments(spec.forms[0], g), False)
    with np.errstate(all="ignore"):
        want = expected("2201", spec, spec.forms[0], dtypes, memory, list(range(lanes)), g)
    same(got, want, asc.float16)


def test_halves_are_added_as_a_tree() -> None:
    """2048 + 1 is 2048 in float16: one after the other nothing would be added."""
    memory = np.zeros(SIZE, np.uint8)
    numbers = memory[2 * PLACE :].view(np.float16)
    numbers[:128] = 1.0
    numbers[0] = 2048.0
    got = run("2201", TABLE["whole_reduce_sum"], (asc.float16,) * 2, memory,
              [128, 1, 1, 1, 8], False)  # fmt: skip
    # (2048 + 1) + (1 + 1) is 2050, and from there on all sums are exact.
    assert got[PLACE:].view(np.float16)[0] == 2048 + 2 + 124


def test_first_of_equals_and_nan() -> None:
    memory = np.zeros(SIZE, np.uint8)
    numbers = memory[2 * PLACE :].view(np.float32)
    numbers[[7, 20]] = 5.0
    for spec, where in (("whole_reduce_max", 7), ("whole_reduce_min", 0)):
        got = run("2201", TABLE[spec], (asc.float32,) * 2, memory, [64, 1, 1, 1, 8], False)
        assert got[PLACE:].view(np.uint32)[1] == where
    numbers[[30, 40]] = np.nan
    for spec in ("whole_reduce_max", "whole_reduce_min"):
        got = run("2201", TABLE[spec], (asc.float32,) * 2, memory, [64, 1, 1, 1, 8], False)
        assert np.isnan(got[PLACE:].view(np.float32)[0])
        assert got[PLACE:].view(np.uint32)[1] == 30


# -- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("spec", ROWS, ids=lambda spec: spec.name)
def test_other_dtypes_are_refused(spec: OpSpec, arch: str) -> None:
    form = spec.forms[0]
    allowed = {s if len(s) == 2 else s * 2 for s in takes(spec, form, arch)}
    pairs = [(a, b) for a in ALL for b in ALL if (a, b) not in allowed]
    for dtypes in pairs[:: 7 if arch != "2201" else 1]:
        with on(lowering_kit.Kernel(), arch):
            dst, src = (local(f"t{k}", 8192 * k, 256, t) for k, t in enumerate(dtypes))
            with pytest.raises(KernelError, match=f"AT0102: {spec.name} on "):
                OpFunction(spec)(dst, src, *[1] * sum(p.required for p in form.params[2:]))


@pytest.mark.parametrize("arch", [*ARCHES, "1001"])
def test_orders_of_the_chips(arch: str) -> None:
    for order in ReduceOrder:
        with on(lowering_kit.Kernel(), arch):
            dst, src = local("dst", 0, 64, asc.float16), local("src", 8192, 512, asc.float16)
            if order in KNOWN_ORDERS[arch]:
                asc.whole_reduce_max(dst, src, 64, 2, 1, 1, 8, order)
                continue
            with pytest.raises(KernelError, match=f"AT0102: whole_reduce_max with {order.name}"):
                asc.whole_reduce_max(dst, src, 64, 2, 1, 1, 8, order)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d, s: asc.whole_reduce_sum(d, s, 64, 256, 1, 1, 8), "AT0108: whole_reduce_sum wi"),
        (lambda d, s: asc.whole_reduce_sum(d, s, 65, 1, 1, 1, 8), "AT0108: whole_reduce_sum wit"),
        (lambda d, s: asc.whole_reduce_sum(d, s, 64, 1, -1, 1, 8), "AT0108: whole_reduce_sum wit"),
        (lambda d, s: asc.whole_reduce_sum(d, s, 64, 1, 1, 65536, 8), "AT0108: whole_reduce_sum "),
        (lambda d, s: asc.whole_reduce_sum(d, s, 64, 9, 1, 1, 8), "AT0201: whole_reduce_sum rea"),
        (lambda d, s: asc.whole_reduce_max(d, s, 64, 8, 5, 1, 8), "AT0201: whole_reduce_max rea"),
        (lambda d, s: asc.whole_reduce_max(d[1:], s, 64, 1, 1, 1, 8), "AT0103: whole_reduce_max "),
        (lambda d, s: asc.whole_reduce_sum(d, s[1:], 64, 1, 1, 1, 8), "AT0103: whole_reduce_sum "),
        (lambda d, s: asc.block_reduce_sum(d[4:], s, 1, 64, 1, 1, 8), "AT0103: block_reduce_sum "),
        (lambda d, s: asc.whole_reduce_sum(s, s, 64, 1, 1, 1, 8), "AT0117: whole_reduce_sum wri"),
        (lambda d, s: asc.block_reduce_sum(s[8:], s, 1, 64, 1, 1, 8), "AT0117: block_reduce_sum "),
    ],
)
def test_what_is_refused(call: Any, message: str) -> None:
    with lowering_kit.Kernel():
        dst, src = local("dst", 0, 64, asc.float32), local("src", 8192, 512, asc.float32)
        with pytest.raises(KernelError) as caught:
            call(dst, src)
    assert f"error {message}" in str(caught.value)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([64, 256, 1, 1, 8], "AT0108: whole_reduce_sum with 256 repeats"),
        ([65, 1, 1, 1, 8], "AT0108: whole_reduce_sum with a mask of 65"),
        ([64, 1, 1, 65536, 8], "AT0108: whole_reduce_sum with the strides"),
        ([64, 200, 1, 1, 8], "AT0201: whole_reduce_sum reads elements"),
    ],
)
def test_what_the_simulator_refuses(args: list[int], message: str) -> None:
    memory = memory_of(asc.float32, 1, False)
    with pytest.raises(KernelError, match=message):
        run("2201", TABLE["whole_reduce_sum"], (asc.float32,) * 2, memory, args, True)


def test_results_may_begin_at_their_own_size() -> None:
    with lowering_kit.Kernel():
        dst, src = local("dst", 0, 64, asc.float32), local("src", 8192, 512, asc.float32)
        asc.whole_reduce_sum(dst[1:], src, 64, 1, 1, 1, 8)
        asc.whole_reduce_max(dst[2:], src, 64, 1, 1, 1, 8)
        asc.whole_reduce_max(dst[3:], src, 64, 1, 1, 1, 8, ReduceOrder.ORDER_ONLY_VALUE)


# -- text -----------------------------------------------------------------------------------------

LINES = [
    (lambda d, s: asc.whole_reduce_max(d, s, 64, 2, 1, 1, 8),
     "WholeReduceMax(dst, src, 64, 2, 1, 1, 8, AscendC::ReduceOrder::ORDER_VALUE_INDEX)"),
    (lambda d, s: asc.whole_reduce_min(d, s, [5, 0], 2, 1, 1, 8, ReduceOrder.ORDER_ONLY_INDEX),
     "WholeReduceMin(dst, src, mask, 2, 1, 1, 8, AscendC::ReduceOrder::ORDER_ONLY_INDEX)"),
    (lambda d, s: asc.whole_reduce_max(d, s, 0, 2, 1, 1, 8, None, False),
     "WholeReduceMax<float, false>(dst, src, 0, 2, 1, 1, 8)"),
    (lambda d, s: asc.whole_reduce_sum(d, s, 64, 2, 1, 1, 8),
     "WholeReduceSum(dst, src, 64, 2, 1, 1, 8)"),
    (lambda d, s: asc.block_reduce_max(d, s, 2, 64, 1, 1, 8),
     "BlockReduceMax(dst, src, 2, 64, 1, 1, 8)"),
    (lambda d, s: asc.block_reduce_min(d, s, 2, [1, 0], 1, 1, 8),
     "BlockReduceMin(dst, src, 2, mask, 1, 1, 8)"),
    (lambda d, s: asc.block_reduce_sum(d, s, 2, 64, 1, 1, 8, is_set_mask=False),
     "BlockReduceSum<float, false>(dst, src, 2, 64, 1, 1, 8)"),
    (lambda d, s: asc.pair_reduce_sum(d, s, 2, 64, 1, 1, 8),
     "PairReduceSum(dst, src, 2, 64, 1, 1, 8)"),
    (lambda d, s: asc.repeat_reduce_sum(d, s, 2, 64, 1, 1, 1, 8),
     "RepeatReduceSum(dst, src, 2, 64, 1, 1, 1, 8)"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "line"), LINES)
def test_text(call: Any, line: str) -> None:
    with lowering_kit.Kernel() as k:
        call(local("dst", 0, 512, asc.float32), local("src", 8192, 512, asc.float32))
    assert body(emit(k.trace)).splitlines()[-1] == f"AscendC::{line};"
