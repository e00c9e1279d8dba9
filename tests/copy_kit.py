"""Copies, drawn, run in the simulator and worked out by hand: byte by byte, apart from the rows.

A *plan* says for each byte that a call writes, as an offset from the start of the destination,
where it comes from: an offset in the source, `Fill(byte)`, or `ANY` where nothing is defined.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

import asctrace as asc
from asctrace.tracer.language.dtypes import DataType, int64, uint8
from asctrace.tracer.language.enums import TPosition
from asctrace.tracer.language.tensor import LocalTensor
from asctrace.tracer.ops.data_copy import DATA_COPY
from asctrace.tracer.ops.data_pad import DATA_COPY_PAD
from asctrace.tracer.ops.functions import load_all
from asctrace.tracer.ops.init_const import INIT_CONST_VALUE
from asctrace.tracer.ops.spec import Form, OpFunction, OpSpec
from tests.simulator_kit import Kernel

load_all()
ROWS = (DATA_COPY, DATA_COPY_PAD, INIT_CONST_VALUE)
CHIPS = {"2201": "Ascend910B1", "3510": "Ascend950PR_958b"}
POSITIONS = {"UB": TPosition.VECIN, "L1": TPosition.A1}
REGION = 16384  # bytes of a local memory that a random call can touch
GLOBAL = 32768  # bytes of the array it copies from or to
data_copy = OpFunction(DATA_COPY)


class Fill(NamedTuple):
    """A byte that is put there."""

    byte: int


ANY = None
#: (offset in the destination, where the byte comes from).
Plan = list[tuple[int, "int | Fill | None"]]


@dataclass(frozen=True)
class Case:
    """An overload on a chip, its memories and its dtype."""

    arch: str
    spec: OpSpec
    form: Form
    src: str
    dst: str
    dtype: DataType

    @property
    def size(self) -> int:
        return int(self.dtype.sizeof())

    def __str__(self) -> str:
        where = f"{self.src}-{self.dst}"
        return f"{self.arch}-{self.spec.name}-{self.form.name}-{where}-{self.dtype.name}"


def cases() -> Iterator[Case]:
    """All that is executed on the two chips: float32 into fractals in UB is refused."""
    for spec in ROWS:
        for form in spec.forms:
            way = spec.extra["ways"][form.name]
            for (src, dst), arches in way.routes.items():
                for arch in arches:
                    if arch in CHIPS:
                        for dtype in way.dtypes[arch]:
                            if (form.name, dst, dtype.name) != ("nd2nz_in", "UB", "float32"):
                                yield Case(arch, spec, form, src, dst, dtype)


# -- by hand --------------------------------------------------------------------------------------


def _rows(count: int, length: int, to: int, start: int) -> Plan:
    return [(b * to + i, b * start + i) for b in range(count) for i in range(length)]


def _count(case: Case, count: int) -> Plan:
    return [(i, i) for i in range(count * case.size)]


def _blocks(case: Case, values: Sequence[int], *enhanced: Any) -> Plan:
    count, length, src_gap, dst_gap = values
    return _rows(count, length * 32, (length + dst_gap) * 32, (length + src_gap) * 32)


def _slice(case: Case, slices: Sequence[Sequence[int]]) -> list[int]:
    """The bytes of a slice in order."""
    places: list[list[int]] = []
    for dim, (start, end, stride, burst, _) in enumerate(slices):
        piece = burst * 32 // case.size if dim == 0 else 1
        found, at = [], start
        while at <= end:
            found += range(at, at + piece)
            at += piece + stride
        places.append(found)
    flat = []
    for index in itertools.product(*reversed(places)):
        element, pitch = 0, 1
        for place, info in zip(reversed(index), slices, strict=True):
            element += place * pitch
            pitch *= info[4]
        flat += range(element * case.size, (element + 1) * case.size)
    return flat


def _slices(case: Case, dst: Any, src: Any, dims: int) -> Plan:
    return list(zip(_slice(case, dst), _slice(case, src), strict=True))


def _nd2nz(case: Case, values: Sequence[int]) -> Plan:
    nd, n, d, src_nd, src_d, c0_stride, n_stride, nz = values
    size, plan = case.size, []
    c0 = 32 // size
    for matrix, row, column in itertools.product(range(nd), range(n), range(-(-d // c0) * c0)):
        to = matrix * nz * size + column // c0 * c0_stride * 32 + row * n_stride * 32
        to += column % c0 * size
        start = (matrix * src_nd + row * src_d + column) * size
        plan += [(to + i, start + i if column < d else Fill(0)) for i in range(size)]
    return plan if n and d else []


def _nz2nd(case: Case, values: Sequence[int]) -> Plan:
    nd, n, d, src_nd, src_n, dst_d, dst_nd = values
    size, plan = case.size, []
    for matrix, row, column in itertools.product(range(nd), range(n), range(d)):
        to = (matrix * dst_nd + row * dst_d + column) * size
        start = matrix * src_nd * 256 + column // 16 * src_n * 16 + row * 16 + column % 16
        plan += [(to + i, start * size + i) for i in range(size)]
    return plan


def _pad_in(case: Case, blocks: Sequence[int], pad: Sequence[Any], bits: bool = False) -> Plan:
    count, length, src_gap, dst_gap = blocks[:4]
    is_pad, left, right, value = pad
    before, after = left * case.size, right * case.size
    slot = -(-(before + length + after) // 32) * 32
    if bits:
        element = list((value % 2 ** (8 * case.size)).to_bytes(case.size, "little"))
    else:
        element = list(np.array([value]).astype(case.dtype.np).tobytes())
    plan: Plan = []
    for block in range(count if length else 0):
        to, start = block * (slot + dst_gap * 32), block * (length + src_gap)
        for i in range(slot):
            if before <= i < before + length:
                plan.append((to + i, start + i - before))
            elif is_pad and (left or right):
                plan.append((to + i, Fill(element[i % case.size])))
            else:
                plan.append((to + i, ANY))
    return plan


def _pad_out(case: Case, blocks: Sequence[int]) -> Plan:
    count, length, src_gap, dst_gap = blocks[:4]
    slot = -(-length // 32) * 32 + src_gap * 32
    return _rows(count, length, length + dst_gap, slot)


def _fill(case: Case, values: Sequence[Any]) -> Plan:
    repeat, blocks, gap, value = values
    element = np.array([value]).astype(case.dtype.np).tobytes()
    return [
        (r * (blocks + gap) * 32 + i, Fill(element[i % case.size]))
        for r in range(repeat)
        for i in range(blocks * 32)
    ]


PLANS: dict[tuple[str, str], Callable[..., Plan]] = {
    **dict.fromkeys((("data_copy", form) for form in ("in", "local", "out")), _count),
    **dict.fromkeys(
        (("data_copy", f"{kind}_{form}") for kind in ("blocks", "enhanced")
         for form in ("in", "local", "out")), _blocks,
    ),
    ("data_copy", "slices_in"): _slices,
    ("data_copy", "slices_out"): _slices,
    ("data_copy", "nd2nz_in"): _nd2nz,
    ("data_copy", "nz2nd_out"): _nz2nd,
    ("data_copy_pad", "ext_in"): _pad_in,
    ("data_copy_pad", "in"): lambda case, *values: _pad_in(case, *values, bits=True),
    ("data_copy_pad", "ext_out"): _pad_out,
    ("data_copy_pad", "out"): _pad_out,
    ("init_const_value", "l1"): _fill,
}  # fmt: skip


def plan_of(case: Case, values: Sequence[Any]) -> Plan:
    """Where each written byte comes from."""
    return PLANS[case.spec.name, case.form.name](case, *values)


# -- drawing --------------------------------------------------------------------------------------


def _numbers(*most: int) -> Any:
    return st.tuples(*(st.integers(0, n) for n in most))


@st.composite
def _drawn_slices(draw: Any, case: Case) -> Any:
    dims = draw(st.integers(1, 3))
    both: tuple[list[Any], list[Any]] = ([], [])
    burst = draw(st.integers(1, 3))
    per_block = 32 // case.size
    local = 0 if case.dst == "UB" else 1
    for dim in range(dims):
        pieces = draw(st.integers(1 if dim == 0 else 2, 3))
        one = burst * per_block if dim == 0 else 1
        for k, slices in enumerate(both):
            # In UB pieces begin at blocks.
            step = per_block if k == local and dim == 0 else 1
            start, stride = draw(st.integers(0, 2)) * step, draw(st.integers(0, 2)) * step
            end = start + pieces * one + (pieces - 1) * stride - 1
            rest = draw(st.integers(0, 2)) * step
            shape = end + 1 + rest
            if k == local and dim == 0:
                shape = -(-shape // per_block) * per_block
            slices.append((start, end, stride, burst if dim == 0 else 1, shape))
    return (tuple(both[0]), tuple(both[1]), dims)


@st.composite
def _drawn_nd2nz(draw: Any, case: Case) -> Any:
    c0 = 32 // case.size
    if case.dst == "UB":  # what the emulation does as documented
        n, d = draw(st.integers(0, 12)), draw(st.integers(0, 4)) * c0
        return (
            (draw(st.integers(0, 1)), n, d, 0, max(d, 1) + draw(st.integers(0, 3)), n + 1, 1, 0),
        )
    n, d = draw(st.integers(0, 6)), draw(st.integers(0, 40))
    n_stride = draw(st.integers(1, 2))
    columns = max(-(-d // c0), 1)
    c0_stride = max(n, 1) * n_stride + draw(st.integers(0, 2))
    nz = (columns * c0_stride + draw(st.integers(0, 2))) * c0
    src_d = max(d, 1) + draw(st.integers(0, 5))
    return (
        (draw(st.integers(0, 3)), n, d, draw(st.integers(0, 200)), src_d, c0_stride, n_stride, nz),
    )


@st.composite
def _drawn_nz2nd(draw: Any, case: Case) -> Any:
    n, columns = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    d = columns * 16
    dst_d = d + draw(st.integers(0, 7))
    return (
        (draw(st.integers(0, 2)), n, d, draw(st.integers(1, 2)), draw(st.integers(0, 6)), dst_d,
         n * dst_d + draw(st.integers(0, 5))),
    )  # fmt: skip


@st.composite
def _drawn_blocks(draw: Any, case: Case, gaps: tuple[int, int]) -> Any:
    """Count, length in bytes and gaps (in global memory, in UB)."""
    in_bytes = case.size
    length = draw(st.integers(0, 80 // in_bytes)) * in_bytes
    global_gap, local_gap = draw(st.integers(0, gaps[0])), draw(st.integers(0, gaps[1]))
    if case.arch == "3510" and case.src == "GM" and case.form.name == "ext_in":
        global_gap = draw(st.integers(-length, gaps[0]))
    both = (global_gap, local_gap) if case.src == "GM" else (local_gap, global_gap)
    return (draw(st.integers(0, 6)), length, *both)


@st.composite
def _drawn_pad(draw: Any, case: Case) -> Any:
    most = 32 // case.size
    value: Any = 0
    if case.size < 8:
        value = draw(st.integers(0, 2 ** (8 * case.size) - 1))
        if case.form.name == "ext_in":
            number = case.dtype
            value = (
                draw(st.sampled_from([0.0, 1.5, -2.25, float("inf")]))
                if number.is_float()
                else draw(st.integers(number.lo, number.hi))
            )
    left, right = draw(st.integers(0, most)), draw(st.integers(0, most))
    return (draw(st.booleans()), left, right, value)


def values(case: Case) -> Any:
    """The numbers of a call that stays inside the memories."""
    name = case.form.name
    if case.spec is INIT_CONST_VALUE:
        number = st.floats(-4, 4, width=16) if case.dtype.is_float() else st.integers(0, 100)
        return st.tuples(st.tuples(_numbers(5, 4, 3), number).map(lambda v: (*v[0], v[1])))
    if case.spec is DATA_COPY_PAD:
        blocks = _drawn_blocks(case, (70, 3))
        if name.startswith("ext"):
            blocks = blocks.map(lambda v: (*v, 0))
        return st.tuples(blocks, _drawn_pad(case)) if "in" in name else st.tuples(blocks)
    if name.startswith("slices"):
        return _drawn_slices(case)
    if name.startswith("nd2nz"):
        return _drawn_nd2nz(case)
    if name.startswith("nz2nd"):
        return _drawn_nz2nd(case)
    if name.startswith("blocks"):
        return st.tuples(_numbers(6, 5, 4, 4))
    if name.startswith("enhanced"):
        return st.tuples(_numbers(6, 5, 4, 4), st.none())
    return st.tuples(st.integers(0, 40).map(lambda n: n * 32 // case.size))


# -- running --------------------------------------------------------------------------------------

_STRUCTS = {
    "blocks": "DataCopyParams", "ext_blocks": "DataCopyExtParams", "pad": "DataCopyPadParams",
    "nd2nz": "Nd2NzParams", "nz2nd": "Nz2NdParamsFull", "init_const": "InitConstValueParams",
}  # fmt: skip


def arguments(case: Case, numbers: Sequence[Any], operand: Callable[[Any], Any]) -> list[Any]:
    """The arguments behind the tensors."""
    tensors = case.spec.extra["ways"][case.form.name].tensors
    found: list[Any] = []
    for param, value in zip(case.form.params[tensors:], numbers, strict=True):
        if param.kind == "slices":
            found.append([asc.SliceInfo(*map(operand, info)) for info in value])
        elif param.kind == "enhanced":
            found.append(asc.DataCopyEnhancedParams())
        elif param.kind == "ext_pad":
            found.append(asc.DataCopyPadExtParams(case.dtype, value[0], *map(operand, value[1:])))
        elif param.kind == "pad":
            found.append(asc.DataCopyPadParams(value[0], *map(operand, value[1:])))
        elif param.kind in _STRUCTS:
            found.append(getattr(asc, _STRUCTS[param.kind])(*map(operand, value)))
        else:
            found.append(operand(value))
    return found


def run(
    case: Case, numbers: Sequence[Any], memories: dict[str, Any], starts: tuple[int, int],
    runtime: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """The memories after one call; it begins at the bytes `starts` of destination and source.

    `memories` are the array "GM" and a part of the local memory, by its name. A copy inside UB has
    both operands there. With `runtime` the numbers come as parameters.
    """
    kernel = Kernel(CHIPS[case.arch])
    given: list[Any] = []
    local = case.dst if case.dst != "GM" else case.src
    array = memories["GM"].copy()
    out = np.zeros_like(memories[local])

    def operand(value: Any) -> Any:
        """The constant itself, or a parameter that brings it."""
        if not runtime or not isinstance(value, int) or isinstance(value, bool):
            return value
        given.append(value)
        return kernel.scalar(f"n{len(given)}", int64)

    def tensor(memory: str, start: int) -> Any:
        if memory == "GM":
            return bound[start // case.size :]
        size = memories[local].size // case.size
        return LocalTensor(case.dtype, POSITIONS[local], 0, size)[start // case.size :]

    with kernel:
        before = kernel.tensor(kernel.address("before", uint8))
        after = kernel.tensor(kernel.address("after", uint8))
        bound = kernel.tensor(kernel.address("array", case.dtype))
        whole = LocalTensor(uint8, POSITIONS[local], 0, out.size)
        data_copy(whole, before, out.size)
        sides = [tensor(case.dst, starts[0])]
        if case.src:
            sides.append(tensor(case.src, starts[1]))
        OpFunction(case.spec)(*sides, *arguments(case, numbers, operand))
        if (local, case.arch) == ("L1", "3510"):
            return {"GM": array}  # nothing gets out of L1 there; that it compiles is tested
        data_copy(after, whole, out.size)
    kernel.run(memories[local].copy(), out, array.view(case.dtype.np), *given)
    return {"GM": array, local: out}


def expected(
    case: Case, plan: Plan, memories: dict[str, Any], starts: tuple[int, int]
) -> tuple[dict[str, Any], Any]:
    """The memories after the call, and which bytes of the destination are not defined."""
    result = {name: data.copy() for name, data in memories.items()}
    target, unknown = result[case.dst], np.zeros(memories[case.dst].size, np.bool_)
    for to, start in plan:
        at = starts[0] + to
        unknown[at] = start is ANY
        if isinstance(start, Fill):
            target[at] = start.byte
        elif start is not ANY:
            target[at] = memories[case.src][starts[1] + start]
    return result, unknown
