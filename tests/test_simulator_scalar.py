"""Scalar expressions in the simulator: width, rounding, division, conversion."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from asctrace.runtime.simulator import arith as templates
from asctrace.runtime.simulator import compile_trace, simulate
from asctrace.tracer.diagnostics import KernelError
from asctrace.tracer.language import dtypes
from asctrace.tracer.language.dtypes import DataType, bool_, float32, int32, int64
from asctrace.tracer.language.scalar import emit
from asctrace.tracer.ops import arith
from asctrace.tracer.ops.spec import TABLE, OpSpec
from tests.simulator_kit import Kernel

INTS = [t for t in dtypes.ALL if t.is_int()]
FLOATS = [t for t in dtypes.ALL if t.is_float()]
ROWS = [spec for spec in TABLE.values() if spec.family == "arith"]
COMPARISONS = {arith.LT, arith.LE, arith.GT, arith.GE, arith.EQ, arith.NE}
DIVISIONS = {arith.FLOORDIV, arith.FLOORMOD, arith.TRUNCDIV, arith.TRUNCMOD}
SHIFTS = {arith.SHL, arith.SHR}
LOGIC = {arith.LAND, arith.LOR, arith.NOT}
OTHER = {arith.CAST, arith.SELECT, arith.DIV}
UNARY = {arith.NEG, arith.INV, arith.ABS}
BITWISE = {arith.AND, arith.OR, arith.XOR, arith.INV}


class Scalars:
    """A kernel that stores scalar results; each in an array of its own dtype."""

    def __init__(self) -> None:
        self.kernel = Kernel()
        self.params: list[DataType] = []
        self.results: list[DataType] = []

    def param(self, dtype: DataType) -> Any:
        self.params.append(dtype)
        return self.kernel.scalar(f"p{len(self.params)}", dtype)

    def store(self, value: Any) -> None:
        dtype = value.type
        if dtype is bool_:
            value = emit(arith.SELECT, (value, 1, 0), int32)
            dtype = int32
        address = self.kernel.address(f"out{len(self.results)}", dtype)
        self.kernel.tensor(address).set_value(0, value)
        self.results.append(dtype)

    def __enter__(self) -> Scalars:
        self.kernel.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self.kernel.__exit__(*exc)
        self.program = compile_trace(self.kernel.trace)

    def __call__(self, *values: Any) -> list[Any]:
        """Run; results as Python numbers (bools as 0 and 1)."""
        given = iter(values)
        outs = []
        args: list[Any] = []
        for param in self.kernel.trace.params:
            if isinstance(param.type, DataType):
                args.append(next(given))
            else:
                outs.append(np.zeros(1, param.type.dtype.np))
                args.append(outs[-1])
        simulate(self.program, args, 1)
        return [out[0].item() for out in outs]


def wrapped(value: int, dtype: DataType) -> int:
    """Independent of the simulator: through bytes."""
    raw = (value % (1 << dtype.bits)).to_bytes(dtype.sizeof(), "little")
    return int.from_bytes(raw, "little", signed=dtype.is_signed())


def edges(dtype: DataType) -> list[int]:
    values = {dtype.lo, dtype.lo + 1, -7, -3, -1, 0, 1, 2, 5, dtype.hi // 3, dtype.hi - 1, dtype.hi}
    return sorted(v for v in values if dtype.fits(v))


def rational(spec: OpSpec, a: int, b: int) -> int:
    """Integer division over the rationals."""
    q = Fraction(a, b)
    whole = math.floor(q) if spec in (arith.FLOORDIV, arith.FLOORMOD) else math.trunc(q)
    return whole if spec in (arith.FLOORDIV, arith.TRUNCDIV) else a - b * whole


def close(got: Any, want: Any) -> bool:
    """Equal, NaN with NaN, and the same sign of zero."""
    if want != want:
        return bool(got != got)
    return bool(got == want) and math.copysign(1, got) == math.copysign(1, want)


INT_ROWS = [s for s in ROWS if s not in DIVISIONS | SHIFTS | LOGIC | OTHER]
FLOAT_ROWS = [
    s for s in ROWS
    if s not in SHIFTS | LOGIC | BITWISE | {arith.TRUNCDIV, arith.TRUNCMOD} | (OTHER - {arith.DIV})
]  # fmt: skip


def operands_of(spec: OpSpec, a: Any, b: Any) -> tuple[Any, ...]:
    return (a,) if spec in UNARY else (a, b)


@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_integers_wrap(dtype: DataType) -> None:
    with Scalars() as run:
        a, b = run.param(dtype), run.param(dtype)
        for spec in INT_ROWS:
            run.store(emit(spec, operands_of(spec, a, b), bool_ if spec in COMPARISONS else dtype))
    for x, y in itertools.product(edges(dtype), repeat=2):
        want = []
        for spec in INT_ROWS:
            assert spec.semantics is not None
            value = spec.semantics(*operands_of(spec, x, y))
            want.append(int(value) if spec in COMPARISONS else wrapped(value, dtype))
        assert run(x, y) == want, (x, y)


@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_constant_operands(dtype: DataType) -> None:
    specs = [arith.ADD, arith.SUB, arith.MUL]
    with Scalars() as run:
        a = run.param(dtype)
        for spec, constant in itertools.product(specs, edges(dtype)):
            run.store(emit(spec, (a, constant), dtype))
            run.store(emit(spec, (constant, a), dtype))
    for x in edges(dtype):
        want = []
        for spec, constant in itertools.product(specs, edges(dtype)):
            assert spec.semantics is not None
            want.append(wrapped(spec.semantics(x, constant), dtype))
            want.append(wrapped(spec.semantics(constant, x), dtype))
        assert run(x) == want, x


@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_integer_division(dtype: DataType) -> None:
    specs = sorted(DIVISIONS, key=lambda s: s.name)
    with Scalars() as run:
        a, b = run.param(dtype), run.param(dtype)
        for spec in specs:
            run.store(emit(spec, (a, b), dtype))
    for x, y in itertools.product(edges(dtype), edges(dtype)):
        if y:
            assert run(x, y) == [wrapped(rational(s, x, y), dtype) for s in specs], (x, y)


@pytest.mark.parametrize("dtype", INTS, ids=str)
def test_shifts(dtype: DataType) -> None:
    with Scalars() as run:
        a, n = run.param(dtype), run.param(int32)
        run.store(emit(arith.SHL, (a, n), dtype))
        run.store(emit(arith.SHR, (a, n), dtype))
        run.store(emit(arith.SHL, (a, 3), dtype))
    for x, count in itertools.product(edges(dtype), (0, 1, 5, dtype.bits - 1)):
        want = [
            wrapped(x * 2**count, dtype),
            math.floor(Fraction(x, 2**count)),
            wrapped(x * 8, dtype),
        ]
        assert run(x, count) == want, (x, count)


def test_ranges_that_are_known_are_not_wrapped() -> None:
    kernel = Kernel()
    with kernel:
        n = kernel.scalar("n", int32)
        with kernel.loop(64) as i:
            kernel.var(int32, i * 2048 + 100)
            kernel.var(int32, i * n)
    wraps = [
        line for line in compile_trace(kernel.trace).source.splitlines() if "2147483648" in line
    ]
    assert len(wraps) == 1


def test_loop_indices_have_a_range() -> None:
    """Divisions of indices that cannot be negative are plain, whichever way the loop runs."""
    kernel = Kernel()
    with kernel:
        n = kernel.scalar("n", int32)
        out = kernel.tensor(kernel.address("out", int32))
        for start, stop, step in ((0, n, 1), (63, -1, -1), (n, 0, -3), (-5, 5, 2)):
            with kernel.loop(stop, start, step) as i:
                quotient = emit(arith.TRUNCDIV, (i, 3), int32)
                out.set_value(i + 5, quotient + emit(arith.TRUNCMOD, (i, 3), int32))
    source = compile_trace(kernel.trace).source
    assert source.count("trunc_divide(") == source.count("trunc_modulo(") == 1
    data = np.zeros(80, np.int32)
    kernel.run(70, data)
    assert data[5:69].tolist() == [i // 3 + i % 3 for i in range(64)]
    assert data[:5:2].tolist() == [-3, -1, -1]


# -- floats ---------------------------------------------------------------------------------------

REAL = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    0.1,
    3.25,
    7.0,
    -1e-3,
    65504.0,
    1e-40,
    3e38,
    math.inf,
    -math.inf,
    math.nan,
]


def rounded(value: float, dtype: DataType) -> Any:
    return np.float32(value).astype(dtype.np)


def float_reference(spec: OpSpec, a: Any, b: Any, dtype: DataType) -> Any:
    """In NumPy: float32 arithmetic, then rounded to the dtype."""
    x, y = np.float32(a), np.float32(b)
    table = {
        arith.ADD: lambda: x + y,
        arith.SUB: lambda: x - y,
        arith.MUL: lambda: x * y,
        arith.DIV: lambda: x / y,
        arith.NEG: lambda: -x,
        arith.ABS: lambda: np.abs(x),
        arith.MIN: lambda: y if y < x else x,
        arith.MAX: lambda: y if y > x else x,
    }
    if spec in table:
        return float(np.float32(table[spec]()).astype(dtype.np))
    assert spec.semantics is not None
    if spec in COMPARISONS:
        return int(spec.semantics(float(x), float(y)))
    if float(y) == 0:
        return float(x / y) if spec is arith.FLOORDIV else math.nan
    return float(rounded(spec.semantics(float(x), float(y)), dtype))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_floats_round_at_every_operation(dtype: DataType) -> None:
    with Scalars() as run:
        a, b = run.param(dtype), run.param(dtype)
        for spec in FLOAT_ROWS:
            run.store(emit(spec, operands_of(spec, a, b), bool_ if spec in COMPARISONS else dtype))
    with np.errstate(all="ignore"):
        values = [float(rounded(v, dtype)) for v in REAL]
        for x, y in itertools.product(values, repeat=2):
            for spec, got in zip(FLOAT_ROWS, run(x, y), strict=True):
                want = float_reference(spec, x, y, dtype)
                assert close(got, want), (spec.name, x, y, got, want)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_float_constants_are_rounded_first(dtype: DataType) -> None:
    with Scalars() as run:
        a = run.param(dtype)
        run.store(emit(arith.MUL, (a, 0.1), dtype))
        run.store(emit(arith.EQ, (a, 0.1), bool_))
    tenth = float(rounded(0.1, dtype))
    assert run(0.1) == [float(rounded(tenth * tenth, dtype)), 1]


def test_logic_and_select() -> None:
    with Scalars() as run:
        a, b, c = run.param(bool_), run.param(bool_), run.param(int32)
        run.store(emit(arith.LAND, (a, b), bool_))
        run.store(emit(arith.LOR, (a, b), bool_))
        run.store(emit(arith.NOT, (a,), bool_))
        run.store(emit(arith.SELECT, (a, c, 9), int32))
    assert run(True, False, 4) == [0, 1, 0, 4]
    assert run(False, False, 4) == [0, 0, 1, 9]


@pytest.mark.parametrize("source", INTS, ids=str)
def test_casts_of_integers(source: DataType) -> None:
    with Scalars() as run:
        a = run.param(source)
        for target in dtypes.ALL:
            run.store(emit(arith.CAST, (a,), target))
    tricky = [2**53 + 1, -(2**53) - 1, 2**62 + 2**38 + 1, 2**24 + 1, 2**60 + 2**36, 65519, 65520]
    with np.errstate(all="ignore"):
        for x in edges(source) + [v for v in tricky if source.fits(v)]:
            for target, got in zip(dtypes.ALL, run(x), strict=True):
                if target is bool_:
                    want: Any = int(x != 0)
                elif target.is_int():
                    want = wrapped(x, target)
                else:
                    want = float(np.array([x], source.np).astype(np.float32).astype(target.np)[0])
                assert got == want, (x, target, got, want)


@pytest.mark.parametrize("source", FLOATS, ids=str)
def test_casts_of_floats_truncate_and_saturate(source: DataType) -> None:
    targets = [t for t in dtypes.ALL if t is not source]
    with Scalars() as run:
        a = run.param(source)
        for target in targets:
            run.store(emit(arith.CAST, (a,), target))
    with np.errstate(all="ignore"):
        for value in [*REAL, 0.5, -0.99, 127.9, 128.0, -129.0, 2.0**31, -(2.0**31), 2.0**63, 1e30]:
            x = float(rounded(value, source))
            for target, got in zip(targets, run(x), strict=True):
                if target is bool_:
                    want: Any = int(x != 0)
                elif target.is_float():
                    want = float(rounded(x, target))
                elif x != x:
                    want = 0
                else:
                    want = (
                        int(min(max(x, target.lo), target.hi)) if math.isinf(x) else math.trunc(x)
                    )
                    want = min(max(want, target.lo), target.hi)
                assert close(got, want), (x, target, got, want)


def test_bfloat16_rounding_agrees_with_ml_dtypes() -> None:
    with Scalars() as run:
        a = run.param(float32)
        run.store(emit(arith.CAST, (a,), dtypes.bfloat16))
    rng = np.random.default_rng(5)
    for bits in rng.integers(0, 1 << 32, 400, dtype=np.uint32):
        x = bits.view(np.float32)
        want = float(x.astype(ml_dtypes.bfloat16))
        assert close(run(float(x))[0], want), (hex(bits), want)


def test_templates_agree_with_the_semantics() -> None:
    """Each inline spelling means what its row says, before wrapping."""
    helpers = {"trunc_divide": arith._trunc_div, "trunc_modulo": arith._trunc_mod}
    for spec, template in templates.TEMPLATES.items():
        names = ("p", "q", "r")[: len(spec.forms[0].params)]
        code = compile(template.format(*names), spec.name, "eval")
        for values in itertools.product((-7, -2, 0, 1, 3, 9), repeat=len(names)):
            if (spec in DIVISIONS and values[1] == 0) or (spec in SHIFTS and values[1] < 0):
                continue
            got = eval(code, helpers | dict(zip(names, values, strict=True)))
            assert spec.semantics is not None
            assert got == spec.semantics(*values), (spec.name, values)


def test_every_row_but_the_cast_and_float_division_has_a_template() -> None:
    assert set(ROWS) == set(templates.TEMPLATES) | set(templates.FLOAT_TEMPLATES) | {arith.CAST}


# -- findings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("spec", "sign"),
    [
        (arith.FLOORDIV, "//"),
        (arith.TRUNCDIV, "//"),
        (arith.FLOORMOD, "%"),
        (arith.TRUNCMOD, "%"),
    ],
    ids=lambda v: getattr(v, "name", ""),
)
def test_integer_division_by_zero(spec: OpSpec, sign: str) -> None:
    with Scalars() as run:
        a, b = run.param(int64), run.param(int64)
        run.store(emit(spec, (a, b), int64))
    with pytest.raises(KernelError) as caught:
        run(-5, 0)
    found = caught.value.findings[0]
    assert found.code == "AT0207"
    assert found.message == (f"integer division by zero: -5 {sign} 0, the divisor is `p2` (int64)")
    assert found.spans[0].line == 1


@pytest.mark.parametrize("count", [-1, 16, 100])
def test_shift_out_of_range(count: int) -> None:
    with Scalars() as run:
        a, n = run.param(dtypes.int16), run.param(int32)
        run.store(emit(arith.SHL, (a, n), dtypes.int16))
    with pytest.raises(KernelError) as caught:
        run(1, count)
    found = caught.value.findings[0]
    assert (found.code, found.message) == (
        "AT0207", f"shift by {count}, the count is `p2` (int32)"
    )  # fmt: skip
    assert found.hint == "shift int16 by 0 to 15"
