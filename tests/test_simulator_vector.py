"""The two-operand vector functions in the simulator against a loop over single elements."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from asctrace.tracer.chip import chip
from asctrace.tracer.diagnostics import KernelError
from asctrace.tracer.language.dtypes import DataType, float32, int32, uint64
from asctrace.tracer.language.enums import TPosition
from asctrace.tracer.language.structs import BinaryRepeatParams
from asctrace.tracer.language.tensor import LocalTensor
from asctrace.tracer.ops import vec_binary
from asctrace.tracer.ops.data_copy import DATA_COPY
from asctrace.tracer.ops.spec import TABLE, OpFunction
from tests.simulator_kit import Kernel

REGION = 8192  # bytes of UB that a test can touch
ROWS = [spec for spec in TABLE.values() if spec.family == "vec_binary"]
CHIPS = ("Ascend910B1", "Ascend950PR_958b")
CASES = [
    pytest.param(soc, spec, dtype, form, id=f"{chip(soc).arch}-{spec.name}-{dtype}-{form}")
    for soc in CHIPS
    for spec in ROWS
    for dtype in spec.dtypes.get(chip(soc).arch, ())
    for form in ("count", "mask", "bits")
]
data_copy = OpFunction(DATA_COPY)
add = OpFunction(vec_binary.ADD)


def _divide(a: Any, b: Any) -> Any:
    if b == 0:
        if a == 0 or math.isnan(a):
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1, b)
    return a / b


def _largest(a: Any, b: Any) -> Any:
    return a + b if a != a or b != b else max(a, b)


def _smallest(a: Any, b: Any) -> Any:
    return a + b if a != a or b != b else min(a, b)


def _relu(op: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda a, b: _largest(op(a, b), 0)


#: The meaning of the rows on Python numbers; a new row adds its own.
MEANING: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mul": operator.mul,
    "Div": _divide,
    "Max": _largest,
    "Min": _smallest,
    "And": operator.and_,
    "Or": operator.or_,
}
RELU = {"AddRelu": operator.add, "SubRelu": operator.sub}


def stored(value: Any, dtype: DataType) -> Any:
    """A result as an element of `dtype`."""
    if dtype.kind == "f":
        with np.errstate(all="ignore"):
            return np.float64(value).astype(np.float32).astype(dtype.np)
    return (int(value) - dtype.lo) % (1 << dtype.bits) + dtype.lo


def meaning(cpp: str, a: Any, b: Any, dtype: DataType) -> Any:
    number = float if dtype.kind == "f" else int
    if cpp in RELU:
        first = stored(RELU[cpp](number(a), number(b)), dtype)
        return stored(_largest(number(first), 0), dtype)
    return stored(MEANING[cpp](number(a), number(b)), dtype)


def random_region(rng: np.random.Generator, dtype: DataType) -> Any:
    count = REGION // dtype.sizeof()
    if dtype.kind == "f":
        values = rng.normal(0, 100, count).astype(dtype.np)
        special = [0.0, -0.0, math.inf, -math.inf, math.nan, 65504.0]
        where = rng.integers(0, count, count // 16)
        values[where] = np.array(rng.choice(special, where.size)).astype(dtype.np)
        return values
    return np.frombuffer(rng.bytes(REGION), dtype.np).copy()


def offsets(lanes: list[int], repeat: int, blk: int, rep: int, size: int) -> list[list[int]]:
    """Byte offsets of the selected elements, by repeat."""
    per_block = 32 // size
    return [
        [r * rep * 32 + (i // per_block) * blk * 32 + (i % per_block) * size for i in lanes]
        for r in range(repeat)
    ]


def bits_of(rng: np.random.Generator) -> list[int]:
    """Two mask words: random, sparse, a run of lanes, or empty."""
    kind = rng.integers(0, 4)
    words = [int(rng.integers(0, 1 << 64, dtype=np.uint64)) for _ in range(2)]
    if kind == 1:
        words = [word & (word << 3) & (word >> 2) & (1 << 64) - 1 for word in words]
    elif kind == 2:
        words = [(1 << 64) - 1, (1 << int(rng.integers(0, 64))) - 1]
    elif kind == 3 and rng.integers(0, 2):
        words = [0, 0]
    return words


def draw(rng: np.random.Generator, form: str, dtype: DataType) -> tuple[Any, Any, list[Any]]:
    """Mask or count, repeat parameters, and the offsets of the three operands."""
    size = dtype.sizeof()
    if form == "count":
        count = int(rng.integers(0, REGION // size // 4))
        return count, None, [[[i * size for i in range(count)]]] * 3
    full = 256 // size
    repeat = int(rng.integers(0, 5))
    if rng.integers(0, 3):
        blk = [int(s) for s in rng.integers(0, 4, 3)]
        rep = [int(s) for s in rng.integers(0, 11, 3)]
    else:
        blk, rep = [1] * 3, [8] * 3
    if form == "mask":
        mask: Any = full if rng.integers(0, 2) else int(rng.integers(1, full + 1))
        lanes = list(range(mask))
    else:
        mask = bits_of(rng)
        lanes = [i for i in range(min(128, full)) if mask[i // 64] >> i % 64 & 1]
    where = [offsets(lanes, repeat, blk[k], rep[k], size) for k in range(3)]
    return mask, (repeat, BinaryRepeatParams(*blk, *rep)), where


def expected(spec: Any, data: Any, dtype: DataType, starts: list[int], where: list[Any]) -> Any:
    """One element after another: the reads of a repeat, then its writes."""
    memory = data.copy()
    size = dtype.sizeof()
    for dst, src0, src1 in zip(*where, strict=True):
        results = [
            meaning(
                spec.cpp, memory[(starts[1] + a) // size], memory[(starts[2] + b) // size], dtype
            )
            for a, b in zip(src0, src1, strict=True)
        ]
        for at, result in zip(dst, results, strict=True):
            memory[(starts[0] + at) // size] = result
    return memory


def clash(starts: list[int], where: list[Any]) -> bool:
    """Whether a repeat reads a part of what it writes, and not the very same elements."""
    placed = [
        [[start + at for at in repeat] for repeat in operand]
        for start, operand in zip(starts, where, strict=True)
    ]
    return any(
        dst != src and not set(dst).isdisjoint(src)
        for source in placed[1:]
        for dst, src in zip(placed[0], source, strict=True)
    )


def run(
    soc: str, spec: Any, dtype: DataType, data: Any, starts: list[int], amount: Any, runtime: bool
) -> Any:
    """Copy the region to UB, call once, copy the region out."""
    kernel = Kernel(soc)
    out = np.zeros_like(data)
    values: list[int] = []
    with kernel:
        source = kernel.tensor(kernel.address("source", dtype))
        target = kernel.tensor(kernel.address("target", dtype))

        def operand(value: Any) -> Any:
            """The constant itself, or a scalar parameter that brings it."""
            if not runtime:
                return value
            values.append(value)
            return kernel.scalar(f"n{len(values)}", uint64)

        region = LocalTensor(dtype, TPosition.VECIN, 0, data.size)
        data_copy(region, source, data.size)
        tensors = [region[start // dtype.sizeof() :] for start in starts]
        first, rest = amount
        if rest is None:
            OpFunction(spec)(*tensors, operand(first))
        else:
            mask = [operand(w) for w in first] if isinstance(first, list) else operand(first)
            strides = BinaryRepeatParams(*map(operand, rest[1].snapshot().values))
            OpFunction(spec)(*tensors, mask, operand(rest[0]), strides)
        data_copy(target, region, data.size)
    kernel.run(data, out, *values)
    return out


def aligned(rng: np.random.Generator, extent: int) -> int:
    return int(rng.integers(0, (REGION - extent) // 32 + 1)) * 32


@pytest.mark.parametrize(("soc", "spec", "dtype", "form"), CASES)
def test_agrees_with_single_elements(soc: str, spec: Any, dtype: DataType, form: str) -> None:
    for seed in range(6):
        rng = np.random.default_rng([seed, len(spec.name), dtype.bits])
        data = random_region(rng, dtype)
        mask, rest, where = draw(rng, form, dtype)
        extents = [max((max(r, default=0) for r in w), default=0) + dtype.sizeof() for w in where]
        starts = [aligned(rng, extent) for extent in extents]
        if form == "count" and mask:  # exact in-place or no overlap, as the chip asks
            starts = [0, REGION // 2, 0 if seed % 2 else REGION // 4]
        elif seed == 4:
            starts[1] = starts[0]
        if clash(starts, where):
            with pytest.raises(KernelError, match=f"AT0117: {spec.name} writes .* they share"):
                run(soc, spec, dtype, data, starts, (mask, rest), runtime=bool(seed % 2))
            continue
        got = run(soc, spec, dtype, data, starts, (mask, rest), runtime=bool(seed % 2))
        want = expected(spec, data, dtype, starts, where)
        if dtype.kind == "f":  # NumPy does not know the NaN of bfloat16
            got, want = got.astype(np.float32), want.astype(np.float32)
        np.testing.assert_array_equal(got, want, err_msg=f"seed {seed}: {mask} {rest} {starts}")


def test_every_row_has_a_meaning() -> None:
    assert {spec.cpp for spec in ROWS} == MEANING.keys() | RELU.keys()


def test_repeats_run_in_order_when_one_feeds_the_next() -> None:
    data = np.zeros(REGION // 4, np.int32)
    data[:64] = 1
    strides = BinaryRepeatParams(1, 1, 1, 8, 8, 0)
    got = run(
        "Ascend910B1", vec_binary.ADD, int32, data, [256, 0, 0], (64, (5, strides)), runtime=False
    )
    assert got[:384:64].tolist() == [1, 2, 3, 4, 5, 6]


def test_a_destination_without_stride_accumulates() -> None:
    data = np.arange(REGION // 4, dtype=np.int32)
    strides = BinaryRepeatParams(1, 1, 1, 0, 0, 8)
    got = run(
        "Ascend910B1", vec_binary.ADD, int32, data, [0, 0, 256], (64, (3, strides)), runtime=False
    )
    assert got[:64].tolist() == [sum(range(i, i + 256, 64)) for i in range(64)]
    assert got[64:].tolist() == data[64:].tolist()


def vector_error(dtype: DataType, call: Callable[[Kernel, Any], None], *args: Any) -> str:
    """The finding of a kernel that calls on a tensor of 1024 elements holding zeros."""
    kernel = Kernel()
    with kernel:
        source = kernel.tensor(kernel.address("source", dtype))
        region = LocalTensor(dtype, TPosition.VECIN, 0, 1024)
        region.name = "region"
        data_copy(region, source, 1024)
        call(kernel, region)
    with pytest.raises(KernelError) as caught:
        kernel.run(np.zeros(1024, dtype.np), *args)
    return str(caught.value)


def test_operand_shorter_than_the_count() -> None:
    text = vector_error(float32, lambda k, t: add(t, t, t, k.scalar("count", int32)), 1025)
    assert (
        "error AT0201: add writes elements 0 to 1024 of `region` (LocalTensor of float32 in "
        "VECIN) from kernel.py:3:1, which has 1024"
    ) in text


def test_operand_shorter_than_the_strides_reach() -> None:
    def call(kernel: Kernel, region: Any) -> None:
        repeat = kernel.scalar("repeat", int32)
        add(region, region, region, 64, repeat, BinaryRepeatParams(1, 1, 3, 8, 8, 64))

    assert "AT0201: add reads elements 0 to 1199 of `region`" in vector_error(float32, call, 3)


def test_misaligned_operand() -> None:
    def call(kernel: Kernel, region: Any) -> None:
        add(region, region[kernel.scalar("start", int32) :], region, 64)

    text = vector_error(float32, call, 4)
    assert "error AT0103: add reads (LocalTensor of float32 in VECIN)" in text
    assert "at address 16, 16 bytes past a multiple of 32" in text
    assert "hint: start at a multiple of 8 elements of float32" in text


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((-1, 1, 8), "AT0108: add with a mask of -1 elements"),
        ((65, 1, 8), "AT0108: add with a mask of 65 elements"),
        ((64, 256, 8), "AT0108: add with 256 repeats"),
        ((64, 1, 256), "AT0108: add with the strides (1, 1, 1, 8, 8, 256)"),
    ],
)
def test_runtime_limits(values: tuple[int, int, int], message: str) -> None:
    def call(kernel: Kernel, region: Any) -> None:
        mask, repeat, stride = (kernel.scalar(n, int32) for n in ("mask", "repeat", "stride"))
        add(region, region, region, mask, repeat, BinaryRepeatParams(1, 1, 1, 8, 8, stride))

    assert message in vector_error(float32, call, *values)


def test_negative_runtime_count() -> None:
    text = vector_error(float32, lambda k, t: add(t, t, t, k.scalar("count", int32)), -3)
    assert "AT0108: add of -3 elements" in text


def test_unwritten_source_lane() -> None:
    def call(kernel: Kernel, region: Any) -> None:
        other = LocalTensor(float32, TPosition.VECCALC, 4096, 1024)
        other.name = "other"
        add(other, region, region, 64, 1, BinaryRepeatParams())
        add(region, other, region, 65)

    text = vector_error(float32, call)
    assert "AT0203: add reads element 64 of `other`" in text


def test_masked_lanes_need_not_be_written() -> None:
    kernel = Kernel()
    with kernel:
        source = kernel.tensor(kernel.address("source", float32))
        a = LocalTensor(float32, TPosition.VECIN, 0, 64)
        b = LocalTensor(float32, TPosition.VECIN, 1024, 64)
        data_copy(a, source, 8)
        add(b, a, a, [0b10100101, 0], 1, BinaryRepeatParams())
        add(b, b, b, [0b10100101, 0], 1, BinaryRepeatParams())
        source.set_value(0, b.get_value(7))
    data = np.arange(8, dtype=np.float32)
    kernel.run(data)
    assert data[0] == 28
