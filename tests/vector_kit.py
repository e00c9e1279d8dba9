"""Calls of element-wise vector functions, drawn, run in the simulator and worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

from asctrace.tracer.chip import chip
from asctrace.tracer.language.dtypes import DataType, uint8, uint64
from asctrace.tracer.language.enums import TPosition
from asctrace.tracer.language.tensor import LocalTensor
from asctrace.tracer.ops import vec_vconv
from asctrace.tracer.ops._vector import Signature, slots_of, takes
from asctrace.tracer.ops.data_copy import DATA_COPY
from asctrace.tracer.ops.functions import load_all
from asctrace.tracer.ops.spec import STRUCTS, TABLE, Form, OpFunction, OpSpec
from asctrace.tracer.ops.vec_deq import SET_DEQ_SCALE
from tests.simulator_kit import Kernel
from tests.vector_reference import REFERENCE, SCALE, Call, number, stored

load_all()
#: Families whose rows map lanes to lanes.
FAMILIES = (
    "vec_binary", "vec_binary_scalar", "vec_unary", "vec_ternary_scalar", "vec_duplicate",
    "vec_vconv", "vec_copy",
)  # fmt: skip
ROWS = [spec for spec in TABLE.values() if spec.family in FAMILIES]
CHIPS = {"2201": "Ascend910B1", "3510": "Ascend950PR_958b"}
REGION = 8192  # bytes of UB that a random call can touch
data_copy = OpFunction(DATA_COPY)
set_deq_scale = OpFunction(SET_DEQ_SCALE)


def cases(*arches: str) -> Iterator[tuple[str, OpSpec, Form, Signature]]:
    """Chip, row, overload and dtypes of all that the table says is executed."""
    for arch in arches:
        for spec in ROWS:
            for form in spec.forms:
                for signature in takes(spec, form, arch):
                    yield arch, spec, form, signature


def name_of(case: tuple[str, OpSpec, Form, Signature]) -> str:
    arch, spec, form, signature = case
    dtypes = dict.fromkeys(dtype.name for dtype in signature)
    return f"{arch}-{spec.name}-{'-'.join(dtypes)}-{form.name}"


@dataclass(repr=False)
class Drawn:
    """One call: how much of what, and where its tensors begin, in bytes."""

    spec: OpSpec
    form: Form
    dtypes: Signature
    amount: Any
    repeat: int = 1
    strides: tuple[int, ...] = ()
    scalar: Any = None
    options: dict[int, Any] = field(default_factory=dict)
    starts: tuple[int, ...] = ()

    def __repr__(self) -> str:
        return (
            f"{self.spec.name}.{self.form.name} {self.dtypes} amount={self.amount} x {self.repeat} "
            f"strides={self.strides} at={self.starts} scalar={self.scalar} {self.options}"
        )

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))

    def lanes(self) -> list[int]:
        """The elements of a repeat, or of the call by count."""
        kind = slots_of(self.form).kind
        if kind != "bits":
            return list(range(self.amount))
        return [i for i in range(min(128, self.per_repeat())) if self.amount[i // 64] >> i % 64 & 1]

    def per_repeat(self) -> int:
        return int(256 // max(dtype.sizeof() for dtype in self.dtypes))

    def offsets(self, which: int) -> list[list[int]]:
        """Byte offsets of the elements of a tensor, by repeat."""
        size = self.dtypes[which].sizeof()
        if slots_of(self.form).kind == "count":
            return [[i * size for i in self.lanes()]]
        n = len(self.dtypes)
        block, rep, per_block = self.strides[which], self.strides[n + which], 32 // size
        return [
            [
                r * rep * 32 + i // per_block * block * 32 + i % per_block * size
                for i in self.lanes()
            ]
            for r in range(self.repeat)
        ]

    def extent(self, which: int) -> int:
        ends = [at for row in self.offsets(which) for at in row]
        return max(ends, default=0) + self.dtypes[which].sizeof()

    def shares(self) -> bool:
        """Whether a repeat reads a part of what it writes, and not the very same elements."""
        for which in range(1, len(self.dtypes)):
            for write, read in zip(self.offsets(0), self.offsets(which), strict=True):
                at, to = (
                    [self.starts[k] + o for o in row] for k, row in ((which, read), (0, write))
                )
                sizes = self.dtypes[0].sizeof(), self.dtypes[which].sizeof()
                both = {t + b for t in to for b in range(sizes[0])} & {
                    a + b for a in at for b in range(sizes[1])
                }
                same = at == to if sizes[0] == sizes[1] else at[:1] == to[:1]
                narrows = sizes[0] < sizes[1] and self.spec.extra.get("narrows_in_place")
                if both and not (same and (sizes[0] == sizes[1] or narrows)):
                    return True
        return False

    def feeds(self) -> bool:
        """Whether a repeat reads what an earlier one wrote, where the documentation forbids it."""
        written: set[int] = set()
        n, sizes = len(self.dtypes), [dtype.sizeof() for dtype in self.dtypes]
        at = [[[self.starts[k] + o for o in row] for row in self.offsets(k)] for k in range(n)]
        for r, row in enumerate(at[0]):
            for which in slots_of(self.form).inputs:
                read = {a + b for a in at[which][r] for b in range(sizes[which])}
                if written & read and not self._adds_up(which):
                    return True
            written |= {a + b for a in row for b in range(sizes[0])}
        return False

    def _adds_up(self, which: int) -> bool:
        n = len(self.dtypes)
        still = 0 in (self.strides[n], self.strides[n + which])
        adds = self.spec.cpp in ("Add", "Sub", "Mul", "Max", "Min", "AddRelu", "SubRelu")
        dtypes = ("float16", "int32", "float32")
        return adds and which == 2 and still and self.dtypes[0].name in dtypes


#: Kinds of constant options of a call -> what they may be for these dtypes on a chip.
OPTIONS: dict[str, Any] = {"round_mode": lambda arch, dtypes: vec_vconv.MODES[arch].get(dtypes)}


def choices(arch: str, kind: str, dtypes: Signature) -> Sequence[Any]:
    """What an option may be; any will do where the dtypes are refused."""
    return OPTIONS[kind](arch, dtypes) or vec_vconv.NONE


# -- drawing --------------------------------------------------------------------------------------


@st.composite
def bits(draw: Any) -> list[int]:
    """Two mask words: any, few bits, a run of lanes, none."""
    word = st.integers(0, 2**64 - 1)
    full = 2**64 - 1
    return list(
        draw(
            st.one_of(
                st.tuples(word, word),
                st.builds(lambda n: (full, (1 << n) - 1), st.integers(0, 64)),
                st.builds(
                    lambda n, k: (1 << n | 1 << k, 0), st.integers(0, 63), st.integers(0, 63)
                ),
                st.just((0, 0)),
            )
        )
    )


@st.composite
def calls(draw: Any, case: tuple[str, OpSpec, Form, Signature]) -> Drawn:
    """A call of the case that stays inside the region."""
    _, spec, form, dtypes = case
    slots, n = slots_of(form), len(dtypes)
    per_repeat = 256 // max(dtype.sizeof() for dtype in dtypes)
    drawn = Drawn(spec, form, dtypes, None, scalar=draw(scalars(spec, form, dtypes)))
    drawn.options = {
        k: draw(st.sampled_from(choices(case[0], p.kind, dtypes)))
        for k, p in enumerate(form.params)
        if p.kind in OPTIONS
    }
    if slots.kind == "count":
        drawn.amount = draw(st.integers(0, 3 * per_repeat + 40))
    else:
        drawn.amount = draw(st.integers(0, per_repeat) if slots.kind == "mask" else bits())
        drawn.repeat = draw(st.integers(0, 4))
        dense = tuple(8 * d.sizeof() // max(t.sizeof() for t in dtypes) for d in dtypes)
        drawn.strides = draw(
            st.one_of(
                st.just((1,) * n + dense),
                st.tuples(
                    st.integers(1, 3), *[st.integers(0, 3)] * (n - 1), *[st.integers(0, 10)] * n
                ),
            )
        )
    room = [(REGION - drawn.extent(k)) // 32 for k in range(n)]
    starts = [draw(st.integers(0, most)) * 32 for most in room]
    if draw(st.booleans()):
        # In place, or surely apart.
        for k in range(1, n):
            starts[k] = min(starts[0], room[k] * 32) if draw(st.booleans()) else starts[k]
    drawn.starts = tuple(starts)
    return drawn


def scalars(spec: OpSpec, form: Form, dtypes: Signature) -> st.SearchStrategy[Any]:
    """The number of a call, None where there is none."""
    slots = slots_of(form)
    if slots.scalar is None:
        return st.none()
    dtype = dtypes[slots.like]
    if "number_range" in spec.extra:
        return st.integers(*spec.extra["number_range"](dtype))
    if dtype.kind == "f":
        return st.one_of(
            st.floats(-100, 100), st.sampled_from([0.0, -0.0, math.inf, -math.inf, math.nan])
        )
    return st.integers(dtype.lo, dtype.hi)


def values(rng: np.random.Generator, count: int, dtype: DataType) -> Any:
    """Elements with the values that matter among them."""
    if dtype.kind != "f":
        return np.frombuffer(rng.bytes(count * dtype.sizeof()), dtype.np).copy()
    found = rng.normal(0, 100, count).astype(dtype.np)
    special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        2.5,
        -3.5,
        2049.0,
        -2051.0,
        1e-7,
        1e6,
        -1e6,
        3e38,
        65504.0,
    ]
    special += [math.inf, -math.inf, math.nan, 0.49999997, -127.5, 128.0]
    where = rng.integers(0, count, count // 8)
    with np.errstate(all="ignore"):
        found[where] = np.array(rng.choice(special, where.size)).astype(dtype.np)
    return found


def memory_of(drawn: Drawn, seed: int, size: int = REGION) -> Any:
    """The bytes of the region before the call, with suitable numbers where a tensor is read."""
    rng = np.random.default_rng(seed)
    memory = np.frombuffer(rng.bytes(size), np.uint8).copy()
    for start, dtype, which in zip(drawn.starts, drawn.dtypes, range(9), strict=False):
        count = drawn.extent(which) // dtype.sizeof()
        part = values(rng, count, dtype).view(np.uint8)
        memory[start : start + part.size] = part
    return memory


# -- running --------------------------------------------------------------------------------------


def run(arch: str, drawn: Drawn, memory: Any, runtime: bool = False) -> Any:
    """Copy the memory to UB, call once, copy it out; numbers as constants or as parameters."""
    kernel = Kernel(CHIPS[arch])
    out = np.zeros_like(memory)
    given: list[Any] = []

    def operand(value: Any, dtype: DataType = uint64) -> Any:
        """The constant itself, or a scalar parameter that brings it."""
        if not runtime:
            return value
        given.append(value)
        return kernel.scalar(f"n{len(given)}", dtype)

    with kernel:
        source = kernel.tensor(kernel.address("source", uint8))
        target = kernel.tensor(kernel.address("target", uint8))
        whole = LocalTensor(uint8, TPosition.VECIN, 0, memory.size)
        data_copy(whole, source, memory.size)
        regions: dict[DataType, Any] = {}
        tensors = []
        for start, dtype in zip(drawn.starts, drawn.dtypes, strict=True):
            size = dtype.sizeof()
            if dtype not in regions:
                regions[dtype] = LocalTensor(dtype, TPosition.VECIN, 0, memory.size // size)
            tensors.append(regions[dtype][start // size :])
        if drawn.spec is vec_vconv.CAST and vec_vconv.scaled(arch, drawn.dtypes):
            set_deq_scale(SCALE)
        OpFunction(drawn.spec)(*tensors, *_arguments(drawn, operand))
        data_copy(target, whole, memory.size)
    kernel.run(memory, out, *given)
    return out


def _arguments(drawn: Drawn, operand: Any) -> list[Any]:
    """The arguments behind the tensors."""
    slots, form = slots_of(drawn.form), drawn.form
    strides = iter(drawn.strides)
    found: list[Any] = []
    for k, param in enumerate(form.params[slots.tensors :], slots.tensors):
        if k == slots.scalar:
            found.append(operand(drawn.scalar, drawn.dtypes[slots.like]))
        elif k in drawn.options:
            found.append(drawn.options[k])
        elif k == slots.amount and slots.kind == "bits":
            found.append([operand(word) for word in drawn.amount])
        elif k == slots.amount:
            found.append(operand(drawn.amount))
        elif k == slots.repeat:
            found.append(operand(drawn.repeat))
        elif param.kind in STRUCTS:
            found.append(STRUCTS[param.kind](*map(operand, strides)))
        elif k in slots.strides:
            found.append(operand(next(strides)))
    return found


# -- by hand --------------------------------------------------------------------------------------


def expected(drawn: Drawn, memory: Any) -> Any:
    """One element after another: the reads of a repeat, then its writes."""
    out = memory.copy()
    views = [out.view(dtype.np) for dtype in drawn.dtypes]
    reference = REFERENCE[drawn.spec.cpp]
    call = Call(drawn.dtypes, tuple(drawn.options.values()))
    slots = slots_of(drawn.form)
    extra = ()
    if slots.scalar is not None:
        dtype = drawn.dtypes[slots.like]
        extra = (number(stored(drawn.scalar, dtype), dtype),)
    # Byte addresses as positions of elements, by tensor and repeat.
    at = [
        [[(start + o) // dtype.sizeof() for o in row] for row in drawn.offsets(which)]
        for which, (start, dtype) in enumerate(zip(drawn.starts, drawn.dtypes, strict=True))
    ]
    for r, places in enumerate(at[0]):
        results = []
        for lane in range(len(places)):
            read = [number(views[k][at[k][r][lane]], drawn.dtypes[k]) for k in slots.inputs]
            results.append(stored(reference(*read, *extra, call=call), drawn.dtypes[0]))
        for place, result in zip(places, results, strict=True):
            views[0][place] = result
    return out


def assert_same(got: Any, want: Any, drawn: Drawn) -> None:
    """All bytes of the region agree; NaNs and zeros of the destination may differ in their sign."""
    dtype = drawn.dtypes[0]
    if np.array_equal(got, want):
        return
    left, right = got.view(dtype.np), want.view(dtype.np)
    differ = got.reshape(-1, dtype.sizeof()) != want.reshape(-1, dtype.sizeof())
    places = np.flatnonzero(differ.any(axis=1))
    if dtype.kind == "f":
        a, b = (view[places].astype(np.float64) for view in (left, right))
        places = places[~((a == b) | (np.isnan(a) & np.isnan(b)))]
    found = [(int(p) * dtype.sizeof(), left[p], right[p]) for p in places[:8]]
    assert not found, f"(byte, got, wanted): {found} in {drawn}"


def arch_name(arch: str) -> str:
    return chip(CHIPS[arch]).name
