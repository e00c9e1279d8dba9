"""Literals and scalar expressions."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from asctrace.lowering.literals import literal, string
from asctrace.lowering.text import emit
from asctrace.tracer.language.dtypes import (
    ALL,
    DataType,
    bfloat16,
    bool_,
    float16,
    float32,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from asctrace.tracer.language.scalar import convert, extremum, logical_not
from asctrace.tracer.language.scalar import emit as record
from asctrace.tracer.ops import arith
from tests.lowering_kit import Kernel, body, local

LITERALS = [
    (True, bool_, "true"),
    (False, bool_, "false"),
    (0, int32, "0"),
    (-5, int32, "-5"),
    (2**31 - 1, int32, "2147483647"),
    (-(2**31), int32, "-2147483647 - 1"),
    (-128, int8, "-128"),
    (7, int64, "7"),
    (2**31, int64, "2147483648LL"),
    (-(2**31) - 1, int64, "-2147483649LL"),
    (-(2**63), int64, "-9223372036854775807LL - 1"),
    (2**63 - 1, int64, "9223372036854775807LL"),
    (2**31, uint32, "2147483648u"),
    (2**32 - 1, uint32, "4294967295u"),
    (2**32, uint64, "4294967296ULL"),
    (2**64 - 1, uint64, "18446744073709551615ULL"),
    (0.5, float32, "0.5f"),
    (1.0, float32, "1.0f"),
    (-2.0, float32, "-2.0f"),
    (-0.0, float32, "-0.0f"),
    (0.1, float32, "0.1f"),
    (1e20, float32, "1e+20f"),
    (1e-7, float32, "1e-07f"),
    (16777217.0, float32, "16777216.0f"),
    (3.4028235e38, float32, "3.4028235e+38f"),
    (1e300, float32, "__builtin_inff()"),
    (math.inf, float32, "__builtin_inff()"),
    (-math.inf, float32, "-__builtin_inff()"),
    (math.nan, float32, '__builtin_nanf("")'),
    (3, float32, "3.0f"),
    (0.5, float16, "static_cast<half>(0.5f)"),
    (0.1, float16, "static_cast<half>(0.1f)"),
    (1e6, float16, "static_cast<half>(__builtin_inff())"),
    (-1.5, bfloat16, "static_cast<bfloat16_t>(-1.5f)"),
    (np.float32(0.25), float32, "0.25f"),
    (np.int64(-3), int64, "-3"),
]


@pytest.mark.parametrize(("value", "dtype", "text"), LITERALS)
def test_literal(value: Any, dtype: DataType, text: str) -> None:
    assert literal(value, dtype)[0] == text


@pytest.mark.parametrize(
    ("value", "text"), [(True, "true"), (3, "3"), (2**40, "1099511627776LL"), (1.5, "1.5f")]
)
def test_literal_without_a_type(value: Any, text: str) -> None:
    assert literal(value)[0] == text


def test_float_literals_read_back() -> None:
    bits = np.random.default_rng(3).integers(0, 2**32, 2000, dtype=np.uint32)
    for value in bits.view(np.float32):
        if np.isfinite(value):
            text = literal(float(value), float32)[0]
            assert re.fullmatch(r"-?\d+(\.\d+)?(e[+-]\d+)?f", text)
            assert "." in text or "e" in text
            assert np.float32(text[:-1]) == value


@pytest.mark.parametrize("dtype", [float16, bfloat16])
def test_16_bit_literals_read_back(dtype: DataType) -> None:
    values = np.arange(2**16, dtype=np.uint16).view(dtype.np)
    for value in values[::7]:
        if np.isfinite(float(value)):
            text = literal(float(value), dtype)[0]
            inner = re.fullmatch(r"static_cast<\w+>\((.*)f\)", text)
            assert inner is not None, text
            assert dtype.np.type(np.float32(inner[1])) == value


def test_string() -> None:
    assert string('a "b"\\\n%d??=é') == '"a \\"b\\"\\\\\\n%d?\\?=\\303\\251"'


# -- expressions --------------------------------------------------------------------------------

Make = Callable[..., Any]


def text_of(make: Make, *dtypes: DataType) -> str:
    """The text of an expression over the parameters a, b, ... of these types."""
    with Kernel() as k:
        args = [k.scalar("abcd"[j], dtype) for j, dtype in enumerate(dtypes)]
        value = make(*args)
        local("t", dtype=value.type).set_value(0, value)
    line = body(emit(k.trace)).splitlines()[-1]
    return line.removeprefix("t.SetValue(0, ").removesuffix(");")


EXPRESSIONS: list[tuple[str, Make, tuple[DataType, ...]]] = [
    # precedence: as few parentheses as C++ needs, a few more where people misread it
    ("(a + b) * 2", lambda a, b: (a + b) * 2, (int32, int32)),
    ("a + b * 2", lambda a, b: a + b * 2, (int32, int32)),
    ("a - (b - 1)", lambda a, b: a - (b - 1), (int32, int32)),
    ("a - b - 1", lambda a, b: a - b - 1, (int32, int32)),
    ("a * (b * 3)", lambda a, b: a * (b * 3), (int32, int32)),
    ("a + b < 3", lambda a, b: a + b < 3, (int32, int32)),
    ("(a & b) == 0", lambda a, b: (a & b) == 0, (int32, int32)),
    ("a & b & 3", lambda a, b: a & b & 3, (int32, int32)),
    ("a & (b + 1)", lambda a, b: a & (b + 1), (int32, int32)),
    ("a | (b & 1)", lambda a, b: a | (b & 1), (int32, int32)),
    ("a < 1 && b < 2", lambda a, b: (a < 1) & (b < 2), (int32, int32)),
    ("(a < 1 && b < 2) || b > 5", lambda a, b: ((a < 1) & (b < 2)) | (b > 5), (int32, int32)),
    ("a != b", lambda a, b: a ^ b, (bool_, bool_)),
    ("-(-a)", lambda a: operator.neg(-a), (int32,)),
    ("-(a + 1)", lambda a: -(a + 1), (int32,)),
    ("~a", lambda a: ~a, (int32,)),
    ("a - 5", lambda a: a + -5, (int32,)),
    ("a + 5", lambda a: a - -5, (int32,)),
    ("a + (-2147483647 - 1)", lambda a: a + -(2**31), (int32,)),
    ("a * -5", lambda a: a * -5, (int32,)),
    ("5 - a", lambda a: 5 - a, (int32,)),
    # widths
    ("static_cast<int16_t>(a + b)", lambda a, b: a + b, (int16, int16)),
    ("static_cast<uint8_t>(~a)", lambda a: ~a, (uint8,)),
    ("a * 3000000000u", lambda a: a * 3000000000, (uint32,)),
    ("a + 4294967296LL", lambda a: a + 2**32, (int64,)),
    ("static_cast<int64_t>(a) + b", lambda a, b: a + b, (int32, int64)),
    ("a < 100", lambda a: a < 100, (int8,)),
    ("a < 4000000000LL", lambda a: a < 4000000000, (int64,)),
    # shifts
    (
        "static_cast<int32_t>(static_cast<uint32_t>(a) << 3)",
        lambda a: a << 3,
        (int32,),
    ),
    ("a << 3", lambda a: a << 3, (uint32,)),
    ("(a + 1) << 3", lambda a: (a + 1) << 3, (uint64,)),
    ("1 << a", lambda a: 1 << a, (int32,)),
    ("static_cast<int64_t>(1) << a", lambda a: record(arith.SHL, (1, a), int64), (int32,)),
    ("a >> 2", lambda a: a >> 2, (int32,)),
    ("static_cast<uint16_t>(a << 1)", lambda a: a << 1, (uint16,)),
    # Python's division
    ("FloorDiv(a, 3)", lambda a: a // 3, (int32,)),
    ("FloorMod(a, b)", lambda a, b: a % b, (int32, int32)),
    ("FloorDiv<int64_t>(a, 3)", lambda a: a // 3, (int64,)),
    ("FloorMod<int8_t>(a, -3)", lambda a: a % -3, (int8,)),
    ("a / 3", lambda a: a // 3, (uint32,)),
    ("a % b", lambda a, b: a % b, (uint64, uint64)),
    ("FloorDiv(a, 0.5f)", lambda a: a // 0.5, (float32,)),
    ("static_cast<float>(a) / static_cast<float>(b)", lambda a, b: a / b, (int32, int32)),
    ("a / 3.0f", lambda a: a / 3, (float32,)),
    # functions
    ("Min(a, 3)", lambda a: extremum(arith.MIN, a, 3), (int32,)),
    ("Max(a, 0.5f)", lambda a: extremum(arith.MAX, a, 0.5), (float32,)),
    ("Abs<int16_t>(a)", lambda a: abs(a), (int16,)),
    # 16-bit floats
    (
        "static_cast<half>(static_cast<float>(a) + static_cast<float>(b))",
        lambda a, b: a + b,
        (float16, float16),
    ),
    (
        "static_cast<bfloat16_t>(static_cast<float>(a) * 0.100097656f)",
        lambda a: a * 0.1,
        (bfloat16,),
    ),
    ("static_cast<float>(a) < 0.5f", lambda a: a < 0.5, (float16,)),
    ("static_cast<half>(-static_cast<float>(a))", lambda a: -a, (float16,)),
    (
        "static_cast<half>(Min(static_cast<float>(a), static_cast<float>(b)))",
        lambda a, b: extremum(arith.MIN, a, b),
        (float16, float16),
    ),
    ("static_cast<half>(a)", lambda a: convert(a, float16), (float32,)),
    ("static_cast<half>(static_cast<float>(a))", lambda a: convert(a, float16), (int32,)),
    ("static_cast<int32_t>(static_cast<float>(a))", lambda a: convert(a, int32), (bfloat16,)),
    (
        "static_cast<bfloat16_t>(static_cast<float>(a))",
        lambda a: convert(a, bfloat16),
        (float16,),
    ),
    # floats
    ("a + 0.5f", lambda a: a + 0.5, (float32,)),
    ("a - 0.5f", lambda a: a + -0.5, (float32,)),
    ("a * __builtin_inff()", lambda a: a * math.inf, (float32,)),
    ("a + -__builtin_inff()", lambda a: a + -math.inf, (float32,)),
    ("a + 1.0f", lambda a: a + 1, (float32,)),
    # conditions
    ("a >= b", lambda a, b: logical_not(a < b), (int32, int32)),
    ("!(a < b)", lambda a, b: logical_not(a < b), (float32, float32)),
    ("a == b", lambda a, b: logical_not(a != b), (float32, float32)),
    ("!a", lambda a: logical_not(a), (bool_,)),
    ("!(a < 1 && b < 2)", lambda a, b: logical_not((a < 1) & (b < 2)), (int32, int32)),
    # selections
    ("a ? b : 5", lambda a, b: record(arith.SELECT, (a, b, 5), int32), (bool_, int32)),
    (
        "a ? b : static_cast<int8_t>(5)",
        lambda a, b: record(arith.SELECT, (a, b, 5), int8),
        (bool_, int8),
    ),
    (
        "a ? static_cast<int64_t>(4) : static_cast<int64_t>(5)",
        lambda a: record(arith.SELECT, (a, 4, 5), int64),
        (bool_,),
    ),
    ("(a < b ? a : b) + 1", lambda a, b: record(arith.SELECT, (a < b, a, b), int32) + 1,
     (int32, int32)),
]  # fmt: skip


@pytest.mark.parametrize(("expected", "make", "dtypes"), EXPRESSIONS)
def test_expression(expected: str, make: Make, dtypes: tuple[DataType, ...]) -> None:
    assert text_of(make, *dtypes) == expected


@pytest.mark.parametrize("dtype", [t for t in ALL if t.is_int()])
def test_smallest_and_largest_are_written_back(dtype: DataType) -> None:
    for value in (dtype.lo, dtype.hi):
        text = literal(value, dtype)[0]
        plain = re.sub(r"(LL|ULL|u)\b", "", text)
        assert eval(plain) == value


def test_a_loop_index_shifts_plainly() -> None:
    with Kernel() as k:
        x = local("x", dtype=int32)
        with k.for_("i", 8) as i:
            i._nonneg = True
            x.set_value(i << 2, i)
    assert "x.SetValue(i << 2, i);" in emit(k.trace)


def test_a_stored_value_takes_the_tensors_type() -> None:
    with Kernel() as k:
        n, h = k.scalar("n"), k.scalar("h", float16)
        x, y = local("x"), local("y", 4096, dtype=float16)
        x.set_value(n, n)
        x.set_value(0, 1)
        y.set_value(0, n)
        y.set_value(1, h)
        y.set_value(2, 0.5)
    assert body(emit(k.trace)).splitlines()[2:] == [
        "x.SetValue(n, static_cast<float>(n));",
        "x.SetValue(0, 1.0f);",
        "y.SetValue(0, static_cast<half>(static_cast<float>(n)));",
        "y.SetValue(1, h);",
        "y.SetValue(2, static_cast<half>(0.5f));",
    ]


def test_long_expressions_get_a_variable() -> None:
    with Kernel() as k:
        a = k.scalar("a")
        value = a
        for _ in range(400):
            value = value + a
        local("x", dtype=int32).set_value(0, value)
    lines = emit(k.trace).splitlines()
    assert max(map(len, lines)) < 300
    assert "".join(lines).count("+ a") == 400
