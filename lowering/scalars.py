"""Expressions: rows whose `cpp` is a template over their operands.

Integers wrap at their width: 8- and 16-bit results are cast back, since C++ computes them as
`int`; 32- and 64-bit sums are written plainly, and the text is meant to be built with wrapping
arithmetic (`-fwrapv`). 16-bit floats are computed in float32 and rounded after each operation.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..tracer.language.dtypes import DataType, bool_, float32, int32
from ..tracer.ops import arith
from ..tracer.ops.spec import OpSpec
from ..tracer.trace import Op, Value
from .literals import literal, single

if TYPE_CHECKING:
    from .variables import Writer

#: An expression and its C++ precedence (0: primary, lower binds tighter).
Expression: TypeAlias = tuple[str, int]

_PREC_POSTFIX, _PREC_UNARY, _ANY = 2, 3, 99

# By precedence of a binary operator: the loosest operand that stands without parentheses, left
# and right. Where people misread C++ (shifts, bit operations, && in ||), stricter than the grammar.
_LIMITS: dict[int, tuple[int, int]] = {
    5: (5, 4),
    6: (6, 5),
    7: (3, 3),
    9: (6, 6),
    10: (6, 6),
    11: (3, 3),
    12: (3, 3),
    13: (3, 3),
    14: (10, 10),
    15: (10, 10),
    16: (10, 10),
}
_CHAINS = frozenset({11, 12, 13, 14, 15})
_PROMOTES = frozenset({3, 5, 6, 7, 11, 12, 13})

#: A template in pieces: text, or the operand's index and the loosest precedence it may have.
_Pieces: TypeAlias = tuple[str | tuple[int, int], ...]
_PIECES: dict[OpSpec, tuple[_Pieces, int]] = {}


def _pieces(spec: OpSpec) -> tuple[_Pieces, int]:
    """A row's template and its precedence."""
    prec: int = spec.extra.get("prec", 0)
    out: list[str | tuple[int, int]] = []
    texts = re.split(r"\{(\d)\}", spec.cpp)
    for k, text in enumerate(texts):
        if k % 2 == 0:
            if text:
                out.append(text)
            continue
        index = int(text)
        before, behind = texts[k - 1], texts[k + 1]
        if prec == _PREC_POSTFIX:
            limit = _PREC_POSTFIX if not before and behind[:1] == "[" else _ANY
        elif prec == _PREC_UNARY:
            limit = _PREC_UNARY
        else:
            limit = _LIMITS[prec][min(index, 1)]
        out.append((index, limit))
    _PIECES[spec] = tuple(out), prec
    return _PIECES[spec]


def paren(text: str, prec: int, limit: int) -> str:
    """The expression, in parentheses if it binds looser than `limit`."""
    return text if prec <= limit else f"({text})"


def static_cast(text: str, dtype: DataType) -> Expression:
    """`static_cast<T>(text)`."""
    return f"static_cast<{dtype.cpp}>({text})", _PREC_POSTFIX


def _is_16(dtype: DataType) -> bool:
    return dtype.kind == "f" and dtype.bits == 16


def converted(text: str, source: DataType, dtype: DataType) -> str:
    """A conversion between scalar types; to and from 16-bit floats it goes through float32."""
    if (_is_16(source) and dtype is not float32) or (_is_16(dtype) and source is not float32):
        text = static_cast(text, float32)[0]
    return static_cast(text, dtype)[0]


def _operand(p: Writer, arg: Any, dtype: DataType) -> Expression:
    """An operand that has the type `dtype`."""
    if isinstance(arg, Value):
        return p.text[id(arg)], p.prec.get(id(arg), 0)
    return literal(arg, dtype)


def _float_operand(p: Writer, arg: Any, dtype: DataType) -> Expression:
    """An operand of a 16-bit float type, as float32."""
    if isinstance(arg, Value):
        return static_cast(p.text[id(arg)], float32)
    with np.errstate(over="ignore"):
        return single(float(dtype.np.type(float(arg))))


def _operand_type(op: Op) -> DataType:
    """The common type of the operands: the result's, but for comparisons."""
    result: Value = op.result  # type: ignore[assignment]
    if result.type is bool_:
        for arg in op.args:
            if isinstance(arg, Value):
                return arg.type  # type: ignore[no-any-return]
    return result.type  # type: ignore[no-any-return]


def render(p: Writer, spec: OpSpec, operands: list[Expression]) -> Expression:
    """A template with its operands filled in."""
    pieces, prec = _PIECES.get(spec) or _pieces(spec)
    out: list[str] = []
    for piece in pieces:
        if isinstance(piece, str):
            out.append(piece)
            continue
        index, limit = piece
        text, inner = operands[index]
        loose = inner > limit and not (inner == prec and index == 0 and prec in _CHAINS)
        if loose or (text[0] == "-" and prec == _PREC_UNARY and out[-1] == "-"):
            text = f"({text})"
        out.append(text)
    return "".join(out), prec


def template(p: Writer, op: Op) -> Expression:
    """A row such as `{0}[{1}]` whose operands are values and integers."""
    pieces, prec = _PIECES.get(op.spec) or _pieces(op.spec)
    args, texts, precs = op.args, p.text, p.prec
    out = []
    for piece in pieces:
        if isinstance(piece, str):
            out.append(piece)
            continue
        index, limit = piece
        arg = args[index]
        if isinstance(arg, Value):
            key = id(arg)
            text = texts[key]
            out.append(f"({text})" if key in precs and precs[key] > limit else text)
        elif arg.__class__ is int and 0 <= arg < 2**31:
            out.append(str(arg))
        else:
            out.append(paren(*literal(arg, int32), limit))
    return "".join(out), prec


def arith_row(p: Writer, op: Op) -> Expression:
    """A scalar expression."""
    special = _SPECIAL.get(op.spec)
    return _plain(p, op) if special is None else special(p, op)


def _plain(p: Writer, op: Op, spec: OpSpec | None = None, args: tuple[Any, ...] = ()) -> Expression:
    spec = spec or op.spec
    args = args or op.args
    dtype: DataType = op.result.type  # type: ignore[union-attr]
    of = _operand_type(op)
    if _is_16(of):
        text, prec = render(p, spec, [_float_operand(p, arg, of) for arg in args])
        return static_cast(text, dtype) if dtype is of else (text, prec)
    text, prec = render(p, spec, [_operand(p, arg, of) for arg in args])
    if dtype.bits < 32 and dtype is not bool_ and prec in _PROMOTES:
        return static_cast(text, dtype)
    return text, prec


def _helper(p: Writer, op: Op) -> Expression:
    """A function of `helpers`, with its type spelled where the arguments could deduce another."""
    dtype: DataType = op.result.type  # type: ignore[union-attr]
    name = op.spec.cpp.partition("(")[0]
    p.helpers.add(name)
    text, prec = _plain(p, op)
    if dtype.kind == "f":
        p.float_helpers = True
    elif dtype is not int32:
        text = text.replace(name, f"{name}<{dtype.cpp}>", 1)
    return text, prec


def _sum(p: Writer, op: Op) -> Expression:
    """`a + -5` is written `a - 5`, and the other way round."""
    a, b = op.args
    if type(b) in (int, float) and b < 0 and b > -(2**31):
        spec = arith.SUB if op.spec is arith.ADD else arith.ADD
        return _plain(p, op, spec, (a, -b))
    return _plain(p, op)


_OF_BOOLS = {arith.AND: arith.LAND, arith.OR: arith.LOR, arith.XOR: arith.NE}


def _bitwise(p: Writer, op: Op) -> Expression:
    """On bools the bit operations are the logical ones: pure operands need no short circuit."""
    of_bools = op.result.type is bool_  # type: ignore[union-attr]
    return _plain(p, op, _OF_BOOLS[op.spec] if of_bools else op.spec)


def _strict(value: Any, dtype: DataType) -> Expression:
    """A constant whose C++ type is exactly `dtype`."""
    text, prec = literal(value, dtype)
    return (text, prec) if dtype is int32 or dtype.kind in "bf" else static_cast(text, dtype)


def _shift(p: Writer, op: Op) -> Expression:
    """Shifting a negative number left is undefined in C++: go through the unsigned type."""
    a, b = op.args
    dtype: DataType = op.result.type  # type: ignore[union-attr]
    left = _operand(p, a, dtype) if isinstance(a, Value) else _strict(a, dtype)
    count = _operand(p, b, int32)
    safe = a >= 0 if not isinstance(a, Value) else getattr(a, "_nonneg", None) is True
    if op.spec is arith.SHL and dtype.kind == "i" and not safe:
        left = f"static_cast<u{dtype.cpp}>({left[0]})", _PREC_POSTFIX
        return static_cast(render(p, op.spec, [left, count])[0], dtype)
    text, prec = render(p, op.spec, [left, count])
    return static_cast(text, dtype) if dtype.bits < 32 else (text, prec)


def _select(p: Writer, op: Op) -> Expression:
    """`c ? a : b`; constants get the exact type where the other side does not decide it."""
    c, a, b = op.args
    dtype: DataType = op.result.type  # type: ignore[union-attr]
    loose = dtype.bits >= 32 and (isinstance(a, Value) or isinstance(b, Value))
    sides = [
        _operand(p, x, dtype) if loose or isinstance(x, Value) else _strict(x, dtype)
        for x in (a, b)
    ]
    return render(p, op.spec, [_operand(p, c, bool_), *sides])


def _cast(p: Writer, op: Op) -> Expression:
    arg = op.args[0]
    return converted(p.text[id(arg)], arg.type, op.result.type), _PREC_POSTFIX  # type: ignore[union-attr]


def _not(p: Writer, op: Op) -> Expression:
    return negated(p, op.args[0])


#: The opposite of each comparison; on floats only those of (in)equality are opposites (NaN).
_OPPOSITE = {
    arith.LT: arith.GE,
    arith.LE: arith.GT,
    arith.GT: arith.LE,
    arith.GE: arith.LT,
    arith.EQ: arith.NE,
    arith.NE: arith.EQ,
}


def negated(p: Writer, cond: Any) -> Expression:
    """The opposite of a condition."""
    if not isinstance(cond, Value):
        return literal(not cond, bool_)
    op = cond.node
    if id(cond) in p.inlined:
        if op.spec is arith.NOT:
            return _operand(p, op.args[0], bool_)
        opposite = _OPPOSITE.get(op.spec)
        exact = _operand_type(op).kind != "f" or op.spec in (arith.EQ, arith.NE)
        if opposite is not None and exact:
            return _plain(p, op, opposite)
    return "!" + paren(p.text[id(cond)], p.prec.get(id(cond), 0), _PREC_UNARY), _PREC_UNARY


_SPECIAL: dict[OpSpec, Callable[[Writer, Op], Expression]] = {
    arith.ADD: _sum,
    arith.SUB: _sum,
    arith.AND: _bitwise,
    arith.OR: _bitwise,
    arith.XOR: _bitwise,
    arith.SHL: _shift,
    arith.SHR: _shift,
    arith.SELECT: _select,
    arith.CAST: _cast,
    arith.NOT: _not,
    arith.FLOORDIV: _helper,
    arith.FLOORMOD: _helper,
    arith.ABS: _helper,
    arith.MIN: _helper,
    arith.MAX: _helper,
}

_ASSIGNS = {
    arith.ADD: "+=",
    arith.SUB: "-=",
    arith.MUL: "*=",
    arith.DIV: "/=",
    arith.TRUNCDIV: "/=",
    arith.TRUNCMOD: "%=",
    arith.AND: "&=",
    arith.OR: "|=",
    arith.XOR: "^=",
    arith.SHR: ">>=",
}


def update(p: Writer, var: Value, value: Any) -> str | None:
    """`var += x` and the like, when `value` is such an operation on `var` itself."""
    op = value.node if isinstance(value, Value) else None
    if not isinstance(op, Op) or op.spec not in _ASSIGNS or op.args[0] is not var:
        return None
    dtype: DataType = var.type
    if value.type is not dtype or _is_16(dtype) or dtype is bool_:
        return None
    sign, other = _ASSIGNS[op.spec], op.args[1]
    if not isinstance(other, Value) and sign in ("+=", "-=") and -(2**31) < other < 0:
        sign, other = ("-=" if sign == "+=" else "+="), -other
    name = p.text[id(var)]
    if type(other) is int and other == 1 and dtype.kind != "f" and sign in ("+=", "-="):
        return f"{sign[0] * 2}{name}"
    return f"{name} {sign} {_operand(p, other, dtype)[0]}"
