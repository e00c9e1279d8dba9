"""Scalar expressions as Python source, with the exact width of the device.

`TEMPLATES` spells each row over its operands; what a template gives is then wrapped or rounded to
the result's dtype unless the row is `EXACT` for it or the range of the operands shows that nothing
can leave the dtype. A row without a template runs its `semantics`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from ...tracer.diagnostics import error
from ...tracer.language.dtypes import DataType
from ...tracer.language.scalar import Scalar
from ...tracer.ops import arith as rows
from ...tracer.ops.spec import OpSpec
from ...tracer.trace import Op, describe
from .registry import emits

if TYPE_CHECKING:
    from .codegen import Writer

Range: TypeAlias = tuple[int, int]

TEMPLATES: dict[OpSpec, str] = {
    rows.ADD: "{0} + {1}",
    rows.SUB: "{0} - {1}",
    rows.MUL: "{0} * {1}",
    rows.FLOORDIV: "{0} // {1}",
    rows.FLOORMOD: "{0} % {1}",
    rows.TRUNCDIV: "{0} // {1} if {0} >= 0 and {1} > 0 else trunc_divide({0}, {1})",
    rows.TRUNCMOD: "{0} % {1} if {0} >= 0 and {1} > 0 else trunc_modulo({0}, {1})",
    rows.SHL: "{0} << {1}",
    rows.SHR: "{0} >> {1}",
    rows.AND: "{0} & {1}",
    rows.OR: "{0} | {1}",
    rows.XOR: "{0} ^ {1}",
    rows.LT: "{0} < {1}",
    rows.LE: "{0} <= {1}",
    rows.GT: "{0} > {1}",
    rows.GE: "{0} >= {1}",
    rows.EQ: "{0} == {1}",
    rows.NE: "{0} != {1}",
    rows.LAND: "{0} and {1}",
    rows.LOR: "{0} or {1}",
    rows.NOT: "not {0}",
    rows.NEG: "-{0}",
    rows.INV: "~{0}",
    rows.ABS: "abs({0})",
    rows.MIN: "{1} if {1} < {0} else {0}",
    rows.MAX: "{1} if {1} > {0} else {0}",
    rows.SELECT: "{1} if {0} else {2}",
}
#: The spelling for floats where it differs: their division has a result for every divisor.
FLOAT_TEMPLATES: dict[OpSpec, str] = {
    rows.DIV: "{0} / {1} if {1} else divide_by_zero({0}, {1})",
    rows.FLOORDIV: "floor_divide({0}, {1})",
    rows.FLOORMOD: "floor_modulo({0}, {1})",
}

#: C's division of what is known to be positive is Python's.
SAME_IF_POSITIVE = {rows.TRUNCDIV: rows.FLOORDIV, rows.TRUNCMOD: rows.FLOORMOD}

#: Rows whose result never leaves the dtype of its operands.
EXACT = frozenset(
    {
        rows.SHR, rows.AND, rows.OR, rows.XOR, rows.LT, rows.LE, rows.GT, rows.GE, rows.EQ,
        rows.NE, rows.LAND, rows.LOR, rows.NOT, rows.MIN, rows.MAX, rows.SELECT,
        rows.FLOORMOD, rows.TRUNCMOD,
    }
)  # fmt: skip
#: Rows that are exact for floats only (a remainder of floats is rounded).
EXACT_FLOAT = (EXACT - {rows.FLOORMOD, rows.TRUNCMOD}) | {rows.NEG, rows.ABS}

#: Integer rows that have no result for a zero divisor, and those that bound the second operand.
DIVISIONS = frozenset({rows.FLOORDIV, rows.FLOORMOD, rows.TRUNCDIV, rows.TRUNCMOD})
SHIFTS = frozenset({rows.SHL, rows.SHR})


def _corners(function: Callable[[int, int], int]) -> Callable[[Range, Range], Range]:
    def rule(a: Range, b: Range) -> Range:
        values = [function(x, y) for x in a for y in b]
        return min(values), max(values)

    return rule


def _quotient(a: Range, b: Range) -> Range | None:
    return (a[0] // b[1], a[1] // b[0]) if a[0] >= 0 and b[0] > 0 else None


def _remainder(a: Range, b: Range) -> Range | None:
    return (0, min(a[1], b[1] - 1)) if a[0] >= 0 and b[0] > 0 else None


#: The range of an integer result before wrapping, from the ranges of the operands.
RANGES: dict[OpSpec, Callable[[Range, Range], Range | None]] = {
    rows.ADD: lambda a, b: (a[0] + b[0], a[1] + b[1]),
    rows.SUB: lambda a, b: (a[0] - b[1], a[1] - b[0]),
    rows.MUL: _corners(lambda x, y: x * y),
    rows.TRUNCDIV: _quotient,
    rows.FLOORDIV: _quotient,
    rows.TRUNCMOD: _remainder,
    rows.FLOORMOD: _remainder,
    rows.MIN: lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    rows.MAX: lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
}


def _operand_type(op: Op) -> DataType:
    """The dtype the operands were converted to (of SELECT: its last two)."""
    assert op.result is not None
    chosen = op.args[1:] if op.spec is rows.SELECT else op.args[:1] + op.args[1:]
    for arg in chosen:
        if isinstance(arg, Scalar):
            return arg.type
    return op.result.type  # type: ignore[no-any-return]


@emits(family="arith")
def _arith(op: Op, writer: Writer) -> None:
    if op.spec is rows.CAST:
        _cast(op, writer)
        return
    assert op.result is not None
    dtype = _operand_type(op)
    if op.spec in SHIFTS:
        dtype = op.result.type
    names = [writer.number(arg, dtype) for arg in op.args]
    if op.spec is rows.SELECT:
        names[0] = writer.value(op.args[0])
    elif op.spec in SHIFTS and not isinstance(op.args[1], Scalar):
        names[1] = str(op.args[1])
    is_float = dtype.kind == "f"
    if not is_float:
        _guard(op, writer, names, dtype)
    ranges = [writer.range_of(arg, dtype) for arg in op.args]
    template = FLOAT_TEMPLATES.get(op.spec) if is_float else None
    if op.spec in SAME_IF_POSITIVE and ranges[0][0] >= 0 and ranges[1][0] > 0:
        template = TEMPLATES[SAME_IF_POSITIVE[op.spec]]
    template = template or TEMPLATES.get(op.spec)
    if template is None:
        text = f"{writer.bind(op.spec.semantics, 'f')}({', '.join(names)})"
    else:
        text = template.format(*names)
    _store(op, writer, text, ranges)


def _store(op: Op, writer: Writer, text: str, ranges: list[Range]) -> None:
    """Assign an expression to the result, at the result's width."""
    assert op.result is not None
    dtype: DataType = op.result.type
    target = writer.define(op.result)
    if dtype.kind == "f":
        if op.spec in EXACT_FLOAT:
            writer.line(f"{target} = {text}")
        else:
            writer.line(round_to(target, text, dtype))
        return
    rule = RANGES.get(op.spec)
    known = rule(*ranges) if rule is not None else None
    if known is not None and dtype.fits(known[0]) and dtype.fits(known[1]):
        writer.ranges[id(op.result)] = known
        writer.line(f"{target} = {text}")
        return
    writer.line(f"{target} = {text}")
    if op.spec not in EXACT and dtype.kind != "b":
        writer.line(
            f"if not {dtype.lo} <= {target} <= {dtype.hi}: {target} = {wrap_of(target, dtype)}"
        )


def wrap_of(name: str, dtype: DataType) -> str:
    """An expression that wraps an integer at the width of a dtype."""
    mask = (1 << dtype.bits) - 1
    if dtype.kind == "u":
        return f"{name} & {mask}"
    half = 1 << (dtype.bits - 1)
    return f"(({name} + {half}) & {mask}) - {half}"


def round_to(target: str, text: str, dtype: DataType) -> str:
    """A statement that rounds a float expression; storing to a float32 cell is the fastest way."""
    if dtype.name == "float32":
        return f"cell[0] = {text}; {target} = cell[0]"
    return f"{target} = round_{dtype.name}({text})"


def _guard(op: Op, writer: Writer, names: list[str], dtype: DataType) -> None:
    """Refuse what has no result: a zero divisor, a shift out of range."""
    if op.spec in DIVISIONS:
        low, high = writer.range_of(op.args[1], dtype)
        if low <= 0 <= high:
            fault = writer.bind(_no_quotient(op), "e")
            writer.line(f"if not {names[1]}: {fault}({names[0]})")
    elif op.spec in SHIFTS and isinstance(op.args[1], Scalar):
        fault = writer.bind(_no_shift(op, dtype), "e")
        writer.line(f"if not 0 <= {names[1]} < {dtype.bits}: {fault}({names[1]})")


def _no_quotient(op: Op) -> Callable[[int], None]:
    def fault(dividend: int) -> None:
        name = op.spec.name.removeprefix("scalar.")
        sign = "%" if name.endswith("mod") else "//"
        raise error(
            "AT0207",
            f"integer division by zero: {dividend} {sign} 0, the divisor is {describe(op.args[1])}",
            op.site,
            hint="guard the division, or make sure that the divisor is not zero",
        )

    return fault


def _no_shift(op: Op, dtype: DataType) -> Callable[[int], None]:
    def fault(count: int) -> None:
        raise error(
            "AT0207",
            f"shift by {count}, the count is {describe(op.args[1])}",
            op.site,
            hint=f"shift {dtype} by 0 to {dtype.bits - 1}",
        )

    return fault


def _cast(op: Op, writer: Writer) -> None:
    assert op.result is not None
    source: Any = op.args[0]
    target: DataType = op.result.type
    name = writer.value(source)
    kind = source.type.kind if isinstance(source, Scalar) else target.kind
    if target.kind == "b":
        writer.line(f"{writer.define(op.result)} = bool({name})")
    elif target.kind == "f":
        if kind != "f":
            wide = kind in "iu" and source.type.bits == 64
            name = f"int_to_float({name})" if wide else f"float({name})"
        writer.line(round_to(writer.define(op.result), name, target))
    elif kind == "f":
        dtype = writer.bind(target, "t")
        writer.line(f"{writer.define(op.result)} = float_to_int({name}, {dtype})")
    else:
        low, high = writer.range_of(source, target)
        result = writer.define(op.result)
        if target.fits(low) and target.fits(high):
            writer.ranges[id(op.result)] = (low, high)
            writer.line(f"{result} = int({name})" if kind == "b" else f"{result} = {name}")
        else:
            writer.line(f"{result} = {wrap_of(name, target)}")
