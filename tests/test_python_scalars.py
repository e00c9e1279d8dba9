"""Scalars of every dtype through the whole path: memory, kernel, memory.

Expected values are Python's, wrapped to the width of the result or rounded to its precision.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import asctrace as asc
from asctrace import jit
from tests.support.rows import load

INTS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
FLOATS = [np.float16, ml_dtypes.bfloat16, np.float32]

PROGRAM = """\
import asctrace as asc

@asc.jit
def kernel(out, a, b, n):
    out_gm, a_gm, b_gm = asc.GlobalTensor(), asc.GlobalTensor(), asc.GlobalTensor()
    out_gm.set_global_buffer(out)
    a_gm.set_global_buffer(a)
    b_gm.set_global_buffer(b)
    for i in range(n):
        x, y = a_gm.get_value(i), b_gm.get_value(i)
        out_gm.set_value(i, {expression})
"""


def compute(expression: str, a: Any, b: Any, dtype: Any) -> Any:
    """The expression of `x` and `y` for each pair of elements, as a kernel computes it."""
    out = np.zeros(len(a), dtype)
    load(PROGRAM.format(expression=expression))["kernel"][1](out, a, b, len(a))
    return out


def wrapped(value: int, dtype: Any) -> int:
    """An integer as it is stored in a dtype."""
    bits = np.iinfo(dtype).bits
    value &= (1 << bits) - 1
    return value - (1 << bits) if np.iinfo(dtype).min < 0 and value >> (bits - 1) else value


def integers(dtype: Any) -> tuple[Any, Any]:
    """Pairs of numbers: the ends of the range with each other and with small ones."""
    info = np.iinfo(dtype)
    low = [info.min, info.min + 1, -7, -2, -1] if info.min else []
    values = [*low, 0, 1, 2, 3, 7, 100, info.max - 1, info.max]
    pairs = [(x, y) for x in values for y in values]
    a, b = zip(*pairs, strict=True)
    return np.array(a, dtype), np.array(b, dtype)


def without_zero(pair: tuple[Any, Any]) -> tuple[Any, Any]:
    keep = pair[1] != 0
    return pair[0][keep], pair[1][keep]


INTEGER_OPS: dict[str, Callable[[int, int], int]] = {
    "x + y": operator.add,
    "x - y": operator.sub,
    "x * y": operator.mul,
    "x & y": operator.and_,
    "x | y": operator.or_,
    "x ^ y": operator.xor,
    "-x": lambda x, y: -x,
    "+x": lambda x, y: x,
    "~x": lambda x, y: ~x,
    "abs(x)": lambda x, y: abs(x),
    "min(x, y)": min,
    "max(x, y)": max,
    "x ** 2": lambda x, y: x**2,
    "x + 1": lambda x, y: x + 1,
    "3 - x": lambda x, y: 3 - x,
    "(x + y) - y": lambda x, y: x,
    "x if y else 5": lambda x, y: x if y else 5,
    "x and y": lambda x, y: x and y,
    "x or y": lambda x, y: x or y,
    "int(x)": lambda x, y: x,
}


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("expression", INTEGER_OPS)
def test_integer(expression: str, dtype: Any) -> None:
    a, b = integers(dtype)
    expected = [
        wrapped(INTEGER_OPS[expression](x, y), dtype)
        for x, y in zip(a.tolist(), b.tolist(), strict=True)
    ]
    assert compute(expression, a, b, dtype).tolist() == expected


DIVISIONS: dict[str, Callable[[int, int], int]] = {
    "x // y": operator.floordiv,
    "x % y": operator.mod,
    "divmod(x, y)[0]": operator.floordiv,
    "divmod(x, y)[1]": operator.mod,
    "x // 3": lambda x, y: x // 3,
    "x % 3": lambda x, y: x % 3,
    "100 // y": lambda x, y: 100 // y,
    "100 % y": lambda x, y: 100 % y,
}


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("expression", DIVISIONS)
def test_integer_division(expression: str, dtype: Any) -> None:
    a, b = without_zero(integers(dtype))
    expected = [
        wrapped(DIVISIONS[expression](x, y), dtype)
        for x, y in zip(a.tolist(), b.tolist(), strict=True)
    ]
    assert compute(expression, a, b, dtype).tolist() == expected


@pytest.mark.parametrize("dtype", INTS)
def test_shift(dtype: Any) -> None:
    a, _ = integers(dtype)
    bits = np.iinfo(dtype).bits
    b = np.array([k % bits for k in range(len(a))], dtype)
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    assert compute("x << y", a, b, dtype).tolist() == [wrapped(x << y, dtype) for x, y in pairs]
    assert compute("x >> y", a, b, dtype).tolist() == [x >> y for x, y in pairs]
    assert compute("x >> 3", a, b, dtype).tolist() == [x >> 3 for x, _ in pairs]


COMPARISONS = {
    "x < y": operator.lt,
    "x <= y": operator.le,
    "x > y": operator.gt,
    "x >= y": operator.ge,
    "x == y": operator.eq,
    "x != y": operator.ne,
    "not x": lambda x, y: not x,
    "0 < x < y": lambda x, y: 0 < x < y,
    "x > -1": lambda x, y: x > -1,
    "bool(x)": lambda x, y: bool(x),
}


@pytest.mark.parametrize("dtype", INTS + FLOATS)
@pytest.mark.parametrize("expression", COMPARISONS)
def test_comparison(expression: str, dtype: Any) -> None:
    a, b = integers(dtype) if dtype in INTS else floats(dtype)
    expected = [
        int(COMPARISONS[expression](x, y)) for x, y in zip(a.tolist(), b.tolist(), strict=True)
    ]
    assert compute(f"1 if {expression} else 0", a, b, np.int32).tolist() == expected


def floats(dtype: Any) -> tuple[Any, Any]:
    """Pairs of numbers; only comparisons and arithmetic that keeps them finite."""
    values = [-1000.0, -2.5, -1.0, -0.1, 0.0, 0.1, 0.5, 1.0, 3.0, 1000.0]
    pairs = [(x, y) for x in values for y in values]
    a, b = zip(*pairs, strict=True)
    return np.array(a, dtype), np.array(b, dtype)


FLOAT_OPS: dict[str, Callable[[Any, Any], Any]] = {
    "x + y": operator.add,
    "x - y": operator.sub,
    "x * 2": lambda x, y: x * 2,
    "-x": lambda x, y: -x,
    "abs(x)": lambda x, y: abs(x),
    "min(x, y)": min,
    "max(x, y)": max,
    "x + 0.5": lambda x, y: x + 0.5,
    "x if x < y else y": lambda x, y: x if x < y else y,
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("expression", FLOAT_OPS)
def test_float(expression: str, dtype: Any) -> None:
    a, b = floats(dtype)
    # One operation in double precision and one rounding: the same as the operation in the dtype.
    with np.errstate(all="ignore"):
        expected = np.array(
            [FLOAT_OPS[expression](x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
        ).astype(dtype)
    got = compute(expression, a, b, dtype)
    assert got.astype(np.float64).tolist() == expected.astype(np.float64).tolist()


@pytest.mark.parametrize("dtype", FLOATS)
def test_float_division(dtype: Any) -> None:
    a, b = without_zero(floats(dtype))
    pairs = list(zip(a.tolist(), b.tolist(), strict=True))
    for expression, function in (
        ("x / y", operator.truediv),
        ("x // y", operator.floordiv),
        ("x % y", operator.mod),
    ):
        expected = np.array([function(x, y) for x, y in pairs]).astype(dtype)
        got = compute(expression, a, b, dtype)
        np.testing.assert_allclose(
            got.astype(np.float64),
            expected.astype(np.float64),
            rtol=float(ml_dtypes.finfo(dtype).eps),
            atol=float(ml_dtypes.finfo(dtype).eps) * 1000,
            err_msg=expression,
        )


@pytest.mark.parametrize("dtype", INTS)
def test_true_division_of_integers(dtype: Any) -> None:
    a, b = without_zero(integers(dtype))
    expected = a.astype(np.float32) / b.astype(np.float32)
    assert compute("x / y", a, b, np.float32).tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", FLOATS)
def test_conversions_of_floats(dtype: Any) -> None:
    a = np.array([-2.75, -0.5, 0.0, 0.5, 2.75, 100.5], dtype)
    assert compute("int(x)", a, a, np.int32).tolist() == [int(x) for x in a.tolist()]
    assert compute("float(x) * 0.5", a, a, np.float32).tolist() == [x * 0.5 for x in a.tolist()]
    assert compute("int(bool(x))", a, a, np.int32).tolist() == [1, 1, 0, 1, 1, 1]


@pytest.mark.parametrize("dtype", INTS)
def test_conversions_of_integers(dtype: Any) -> None:
    a, b = integers(dtype)
    assert compute("float(x)", a, b, np.float32).tolist() == a.astype(np.float32).tolist()
    assert compute("int(bool(x))", a, b, np.int32).tolist() == (a != 0).astype(int).tolist()


@pytest.mark.parametrize("target", INTS + FLOATS)
@pytest.mark.parametrize("source", INTS + FLOATS)
def test_dtypes_convert(source: Any, target: Any) -> None:
    """A runtime scalar as NumPy's `astype` has it, and a constant alike."""
    a = integers(source)[0] if source in INTS else FRACTIONS.astype(source)
    if source in FLOATS and target in INTS:
        low, high = np.iinfo(target).min, np.iinfo(target).max
        a = a[(a.astype(float) > low) & (a.astype(float) < high)]
    with np.errstate(all="ignore"):
        # 16-bit floats are made by way of float32.
        expected = a.astype(target if target in INTS else np.float32).astype(target)
    name = np.dtype(target).name
    got = compute(f"asc.{name}(x)", a, a, target)
    assert got.astype(float).tolist() == expected.astype(float).tolist()
    constants = [getattr(asc, name)(x) for x in a.tolist()]
    assert {type(x) for x in constants} == {target}
    assert [float(x) for x in constants] == expected.astype(float).tolist()


FRACTIONS = np.array([-1000.0, -128.0, -2.75, -1.0, -0.5, 0.0, 0.3, 1.5, 2.75, 255.0, 300.5, 6e4])


def test_dtypes_convert_to_bool() -> None:
    a = np.array([0, 256, -1], np.int32)
    assert compute("1 if asc.bool_(x) else 0", a, a, np.int32).tolist() == [0, 1, 1]
    assert [asc.bool_(x) for x in (0, 256, 0.0, 0.1, float("nan"))] == [False, True, False] + [
        True
    ] * 2


@pytest.mark.parametrize("dtype", [*INTS, np.float16, ml_dtypes.bfloat16, np.float32])
def test_converted_constants_are_typed(dtype: Any) -> None:
    """A constant decides the dtype of what it meets; unrolled loops wrap as others do."""
    name = np.dtype(dtype).name
    a = np.array([5, 100], np.int8 if dtype in INTS else dtype)
    wide = np.result_type(np.int8, dtype) if dtype in INTS and dtype != np.uint64 else dtype
    if dtype != np.uint64:
        expected = (a.astype(wide) * np.array(3, wide)).astype(float).tolist()
        assert compute(f"x * asc.{name}(3)", a, a, wide).astype(float).tolist() == expected
    if dtype in INTS:
        program = "sum([asc.int32(asc.{}(k + x)) for k in range(100, 350, 50)])"
        top = np.array([0, 100], np.int32)
        expected = [sum(wrapped(k + x, dtype) for k in range(100, 350, 50)) for x in top.tolist()]
        assert compute(program.format(name), top, top, np.int32).tolist() == expected


def test_a_narrower_integer_may_be_negative() -> None:
    """Division rounds down though the wide number was known to be positive."""
    a = np.array([200, 255, 7], np.uint8)
    expected = [wrapped(x, np.int8) // 3 for x in a.tolist()]
    assert compute("asc.int8(x) // 3", a, a, np.int32).tolist() == expected
    wide = np.array([2**32 - 1, 2**31, 7], np.uint32)
    expected = [wrapped(x, np.int32) % 10 for x in wide.tolist()]
    assert compute("asc.int32(x) % 10", wide, wide, np.int32).tolist() == expected
    assert compute("asc.int64(x) % 10", wide, wide, np.int32).tolist() == (wide % 10).tolist()


def test_text_of_conversions() -> None:
    program = """\
import asctrace as asc

@asc.jit
def kernel(out, n: int, x: float):
    gm = asc.GlobalTensor()
    gm.set_global_buffer(out)
    gm.set_value(0, asc.int32(asc.uint8(n)))
    gm.set_value(1, asc.int32(x) + asc.int32(n))
    gm.set_value(2, asc.int32(asc.float16(n) * asc.float16(0.1)))
    gm.set_value(3, asc.int32(asc.bool_(x)) * asc.int32(7.9))
"""
    kernel = load(program)["kernel"]
    source = kernel.lower(np.zeros(16, np.int32), 3, 0.5).source
    product = "static_cast<half>(static_cast<float>(static_cast<half>(static_cast<float>(n)))"
    product += " * 0.099975586f)"
    assert [line.strip() for line in source.splitlines() if "SetValue" in line] == [
        "gm.SetValue(0, static_cast<int32_t>(static_cast<uint8_t>(n)));",
        "gm.SetValue(1, static_cast<int32_t>(x) + n);",
        f"gm.SetValue(2, static_cast<int32_t>(static_cast<float>({product})));",
        "gm.SetValue(3, static_cast<int32_t>(x != 0.0f) * 7);",
    ]


@pytest.mark.parametrize("value", ["'3'", "None", "[1]", "1j"])
def test_dtypes_refuse_what_is_no_number(value: str) -> None:
    said = f"int32() takes a number, not '{type(eval(value)).__name__}'"
    with pytest.raises(TypeError) as caught:
        asc.int32(eval(value))
    assert str(caught.value) == said
    with pytest.raises(asc.KernelError) as refused:
        compute(f"asc.int32({value})", np.zeros(1, np.int32), np.zeros(1, np.int32), np.int32)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        (np.int8, np.int16, np.int16),
        (np.int32, np.int64, np.int64),
        (np.uint8, np.int16, np.int16),
        (np.uint16, np.int32, np.int32),
        (np.uint8, np.uint32, np.uint32),
        (np.uint32, np.int64, np.int64),
        (np.float16, np.float32, np.float32),
        (np.int32, np.float32, np.float32),
    ],
)
def test_two_dtypes(left: Any, right: Any, result: Any) -> None:
    a, b = np.array([0, 1, 100, 127], left), np.array([127, 100, 1, 3], right)
    assert compute("x * y", a, b, result).tolist() == (a.astype(result) * b.astype(result)).tolist()
    assert compute("y - x", a, b, result).tolist() == (b.astype(result) - a.astype(result)).tolist()


def test_bool_elements() -> None:
    def kernel(out: Any, flag: bool, other: bool) -> None:
        import asctrace as asc

        gm = asc.GlobalTensor()
        gm.set_global_buffer(out)
        results = (
            flag + other, flag & other, flag | other, flag ^ other, -flag, ~(flag + 0), flag * 5,
            min(flag, other), flag < other, not flag, flag == other,
        )  # fmt: skip
        for i, result in enumerate(results):
            gm.set_value(i, int(result))

    for flag in (False, True):
        for other in (False, True):
            out = np.zeros(16, np.int32)
            jit(kernel)[1](out, flag, other)
            expected = [
                flag + other, flag & other, flag | other, flag ^ other, -flag, ~(flag + 0),
                flag * 5, min(flag, other), flag < other, not flag, flag == other,
            ]  # fmt: skip
            assert out[:11].tolist() == [int(v) for v in expected]


@pytest.mark.parametrize("dtype", INTS)
def test_numpy_constants(dtype: Any) -> None:
    program = f"""\
import numpy as np
import asctrace as asc

FACTOR = np.{np.dtype(dtype).name}(3)

@asc.jit
def kernel(out, n):
    gm = asc.GlobalTensor()
    gm.set_global_buffer(out)
    gm.set_value(0, n * FACTOR)
    gm.set_value(1, FACTOR - n)
    gm.set_value(2, 1 if n == FACTOR else 0)
    gm.set_value(3, FACTOR + 4)
"""
    out = np.zeros(4, np.int64)
    load(program)["kernel"][1](out, dtype(3))
    assert out.tolist() == [9, 0, 1, 7]
