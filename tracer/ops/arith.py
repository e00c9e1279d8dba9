"""Scalar expressions: what Python operators on runtime scalars record.

Rows are pure. `cpp` is a template over the operands, `extra['prec']` its C++ precedence (lower
binds tighter), `semantics` its meaning on NumPy scalars or Python numbers before wrapping.
`extra['sign']` says how a sign is known: 'all' operands non-negative, 'any' of them, 'always',
'left', 'right', 'widening' (the operand, where its dtype's range fits), 'never';
`extra['partial']` marks what has no result for some operands. Operands have been converted to one
dtype; the result's dtype is the value's type.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

from .spec import Form, OpSpec, Param, register

_UNARY = Form("unary", (Param("a", "number"),))
_BINARY = Form("binary", (Param("a", "number"), Param("b", "number")))
_TERNARY = Form("ternary", (Param("c", "number"), Param("a", "number"), Param("b", "number")))


def _row(
    name: str,
    cpp: str,
    prec: int,
    doc: str,
    semantics: Callable[..., Any],
    sign: str = "never",
    form: Form = _BINARY,
    partial: bool = False,
) -> OpSpec:
    extra = {"prec": prec, "sign": sign, "partial": partial}
    return register(
        OpSpec(
            f"scalar.{name}",
            cpp,
            "arith",
            doc,
            (form,),
            pure=True,
            semantics=semantics,
            extra=MappingProxyType(extra),
        )
    )


def _trunc_div(a: Any, b: Any) -> Any:
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def _trunc_mod(a: Any, b: Any) -> Any:
    return a - b * _trunc_div(a, b)


ADD = _row("add", "{0} + {1}", 6, "Sum of two scalars.", operator.add, "all")
SUB = _row("sub", "{0} - {1}", 6, "Difference of two scalars.", operator.sub)
MUL = _row("mul", "{0} * {1}", 5, "Product of two scalars.", operator.mul, "all")
DIV = _row("div", "{0} / {1}", 5, "True division of two floats.", operator.truediv)
FLOORDIV = _row(
    "floordiv", "FloorDiv({0}, {1})", 2, "Division rounding down.", operator.floordiv,
    "all", partial=True,
)  # fmt: skip
FLOORMOD = _row(
    "floormod", "FloorMod({0}, {1})", 2, "Remainder with the sign of the divisor.",
    operator.mod, "right", partial=True,
)  # fmt: skip
TRUNCDIV = _row(
    "truncdiv",
    "{0} / {1}",
    5,
    "Division of non-negative integers.",
    _trunc_div,
    "all",
    partial=True,
)
TRUNCMOD = _row(
    "truncmod",
    "{0} % {1}",
    5,
    "Remainder of non-negative integers.",
    _trunc_mod,
    "left",
    partial=True,
)
SHL = _row("shl", "{0} << {1}", 7, "Left shift.", operator.lshift, "left", partial=True)
SHR = _row("shr", "{0} >> {1}", 7, "Arithmetic right shift.", operator.rshift, "left", partial=True)
AND = _row("and", "{0} & {1}", 11, "Bitwise and.", operator.and_, "any")
OR = _row("or", "{0} | {1}", 13, "Bitwise or.", operator.or_, "all")
XOR = _row("xor", "{0} ^ {1}", 12, "Bitwise exclusive or.", operator.xor, "all")
LT = _row("lt", "{0} < {1}", 9, "Less than.", operator.lt, "always")
LE = _row("le", "{0} <= {1}", 9, "Less than or equal.", operator.le, "always")
GT = _row("gt", "{0} > {1}", 9, "Greater than.", operator.gt, "always")
GE = _row("ge", "{0} >= {1}", 9, "Greater than or equal.", operator.ge, "always")
EQ = _row("eq", "{0} == {1}", 10, "Equal.", operator.eq, "always")
NE = _row("ne", "{0} != {1}", 10, "Not equal.", operator.ne, "always")
LAND = _row(
    "land", "{0} && {1}", 14, "Logical and of bools, short-circuit.",
    lambda a, b: a and b, "always",
)  # fmt: skip
LOR = _row(
    "lor", "{0} || {1}", 15, "Logical or of bools, short-circuit.",
    lambda a, b: a or b, "always",
)  # fmt: skip
NOT = _row("not", "!{0}", 3, "Logical not.", operator.not_, "always", _UNARY)
NEG = _row("neg", "-{0}", 3, "Negation.", operator.neg, form=_UNARY)
INV = _row("inv", "~{0}", 3, "Bitwise complement.", operator.invert, form=_UNARY)
ABS = _row(
    "abs", "Abs({0})", 2, "Absolute value.", abs, "always", _UNARY,
)  # fmt: skip
MIN = _row(
    "min", "Min({0}, {1})", 2, "The smaller; the first when equal.",
    min, "all",
)  # fmt: skip
MAX = _row(
    "max", "Max({0}, {1})", 2, "The larger; the first when equal.",
    max, "any",
)  # fmt: skip
SELECT = _row(
    "select", "{0} ? {1} : {2}", 16, "`a` if the condition holds, else `b`.",
    lambda c, a, b: a if c else b, form=_TERNARY,
)  # fmt: skip
CAST = _row(
    "cast", "static_cast<{type}>({0})", 2, "Conversion; floats truncate towards zero.",
    lambda a: math.trunc(a) if isinstance(a, float) else a, "widening", _UNARY,
)  # fmt: skip
