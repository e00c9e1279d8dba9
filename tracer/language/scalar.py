"""Runtime scalars: values computed on the device, with Python's operators and meaning.

Owns `Scalar`, the arithmetic that records expressions, and the sign inference that decides
between C's and Python's division.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from ..diagnostics import error
from ..ops import arith
from ..ops.spec import OpSpec, depends_on_value
from ..trace import Recorder, Value, current, describe
from .dtypes import DataType, bool_, float32, int32, int64, of_constant, promote

_NUMBER = (int, float, np.generic)


@depends_on_value
class Scalar(Value):
    """A runtime scalar; `type` is its `DataType`.

    Python operators record C++ expressions with Python's meaning (`//` and `%` floor, `/` is true
    division); integers wrap at their width. `_nonneg` caches what is known of the sign.
    """

    __slots__ = ("_nonneg",)

    type: DataType

    def __init__(self, type: DataType, block: Any, node: Any = None, name: str = "") -> None:
        self.type = type
        self.block = block
        self.node = node
        self.name = name
        self._nonneg: bool | Sign | None = True if type.kind in "ub" else None

    @property
    def dtype(self) -> DataType:
        """The element type."""
        return self.type

    def _refuse(self, what: str, hint: str) -> NoReturn:
        raise error(
            "AT0107",
            f"{what} of the runtime value {describe(self)} is not known while tracing",
            current(what).site(),
            hint=hint,
        )

    def __bool__(self) -> bool:
        self._refuse(
            "the truth value",
            "branches in kernel code work on runtime values; this one is taken inside a library "
            "function that runs natively: move the decision into the kernel",
        )

    def __index__(self) -> int:
        self._refuse(
            "the integer value",
            "pass it as asc.ConstExpr[int], or index a tensor instead of a list",
        )

    __int__ = __index__

    def __float__(self) -> float:
        self._refuse(
            "the float value",
            "pass it as asc.ConstExpr[float]: functions of libraries see constants only",
        )

    def __hash__(self) -> int:
        self._refuse("the hash", "a dict key or set element must be a constant")

    def __iter__(self) -> Any:
        self._refuse("iteration", "iterate over range(n), which becomes a loop on the device")

    def __len__(self) -> int:
        self._refuse("the length", "a scalar has no length")

    def __format__(self, spec: str) -> str:
        self._refuse("the text", "print(f'{x}') prints on the device; other text needs a constant")

    def __repr__(self) -> str:
        return f"<{self.type} {self.name or 'value'}>"

    def __add__(self, other: Any) -> Any:
        return binary("+", self, other)

    def __radd__(self, other: Any) -> Any:
        return binary("+", other, self)

    def __sub__(self, other: Any) -> Any:
        return binary("-", self, other)

    def __rsub__(self, other: Any) -> Any:
        return binary("-", other, self)

    def __mul__(self, other: Any) -> Any:
        return binary("*", self, other)

    def __rmul__(self, other: Any) -> Any:
        return binary("*", other, self)

    def __truediv__(self, other: Any) -> Any:
        return true_divide(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return true_divide(other, self)

    def __floordiv__(self, other: Any) -> Any:
        return floor_divide(self, other, arith.TRUNCDIV, arith.FLOORDIV)

    def __rfloordiv__(self, other: Any) -> Any:
        return floor_divide(other, self, arith.TRUNCDIV, arith.FLOORDIV)

    def __mod__(self, other: Any) -> Any:
        return floor_divide(self, other, arith.TRUNCMOD, arith.FLOORMOD)

    def __rmod__(self, other: Any) -> Any:
        return floor_divide(other, self, arith.TRUNCMOD, arith.FLOORMOD)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __pow__(self, other: Any) -> Any:
        return power(self, other)

    def __rpow__(self, other: Any) -> Any:
        return power(other, self)

    def __lshift__(self, other: Any) -> Any:
        return shift(arith.SHL, self, other)

    def __rlshift__(self, other: Any) -> Any:
        return shift(arith.SHL, other, self)

    def __rshift__(self, other: Any) -> Any:
        return shift(arith.SHR, self, other)

    def __rrshift__(self, other: Any) -> Any:
        return shift(arith.SHR, other, self)

    def __and__(self, other: Any) -> Any:
        return binary("&", self, other)

    def __rand__(self, other: Any) -> Any:
        return binary("&", other, self)

    def __or__(self, other: Any) -> Any:
        return binary("|", self, other)

    def __ror__(self, other: Any) -> Any:
        return binary("|", other, self)

    def __xor__(self, other: Any) -> Any:
        return binary("^", self, other)

    def __rxor__(self, other: Any) -> Any:
        return binary("^", other, self)

    def __lt__(self, other: Any) -> Any:
        return compare("<", self, other)

    def __le__(self, other: Any) -> Any:
        return compare("<=", self, other)

    def __gt__(self, other: Any) -> Any:
        return compare(">", self, other)

    def __ge__(self, other: Any) -> Any:
        return compare(">=", self, other)

    def __eq__(self, other: object) -> Any:
        return compare("==", self, other)

    def __ne__(self, other: object) -> Any:
        return compare("!=", self, other)

    def __neg__(self) -> Any:
        return unary(arith.NEG, self)

    def __pos__(self) -> Any:
        return convert(self, int32) if self.type.kind == "b" else self

    def __invert__(self) -> Any:
        if self.type.kind == "f":
            raise _unsupported("~", self)
        return unary(arith.INV, self)

    def __abs__(self) -> Any:
        if nonneg(self, current("abs")):
            return +self
        return unary(arith.ABS, self)

    def __trunc__(self) -> Any:
        return to_int(self)


# Python's own messages name the type: 'runtime scalar' object is not callable.
Scalar.__name__ = "runtime scalar"


def _emit(recorder: Recorder, spec: OpSpec, args: tuple[Any, ...], dtype: DataType) -> Scalar:
    result = Scalar(dtype, recorder.block)
    recorder.record(spec, spec.forms[0], args, result)
    return result


def emit(spec: OpSpec, args: tuple[Any, ...], dtype: DataType) -> Scalar:
    """Record a scalar expression over operands that already have the right types."""
    return _emit(current(spec.name), spec, args, dtype)


def _unsupported(op: str, *operands: Any, hint: str = "") -> Exception:
    texts = " and ".join(describe(o) for o in operands)
    return error(
        "AT0302",
        f"`{op}` is not defined for {texts}",
        current(op).site(),
        hint=hint
        or "operands of a runtime operation are runtime scalars and Python or NumPy numbers",
    )


def common_type(op: str, a: Any, b: Any) -> DataType | None:
    """The dtype two operands meet in, or None when one is no number; constants adapt."""
    if isinstance(a, Scalar):
        if isinstance(b, Scalar):
            common = promote(a.type, b.type)
            if common is None:
                raise _unsupported(op, a, b)
            return common
        return _adapt(op, a.type, b)
    return _adapt(op, b.type, a)


def _adapt(op: str, dtype: DataType, constant: Any) -> DataType | None:
    if isinstance(constant, np.generic):
        other = of_constant(constant)
        common = None if other is None else promote(dtype, other)
        if common is None:
            raise _unsupported(op, constant, hint=f"a Python number adapts: {constant.item()!r}")
        return common
    if isinstance(constant, bool | int):
        if dtype.kind == "f":
            return dtype
        if dtype.kind == "b":
            dtype = int32
        if dtype.fits(constant):
            return dtype
        wide = promote(dtype, of_constant(constant) or int64)
        if wide is None or not wide.fits(constant):
            raise error(
                "AT0108",
                f"the constant {constant} does not fit the operands of `{op}`, which are {dtype}",
                current(op).site(),
                hint="use a constant in the range of the dtype",
            )
        return wide
    if isinstance(constant, float):
        return dtype if dtype.kind == "f" else float32
    return None


def convert(value: Any, dtype: DataType) -> Any:
    """A number as a scalar operand of `dtype`; constants stay Python numbers."""
    if isinstance(value, Scalar):
        if value.type is dtype:
            return value
        return _emit(current("conversion"), arith.CAST, (value,), dtype)
    return constant_as(value, dtype)


def constant_as(value: Any, dtype: DataType) -> Any:
    """A constant as the Python number it is once stored in `dtype`."""
    if isinstance(value, np.generic):
        value = value.item()
    if dtype.kind == "f":
        return float(value)
    if dtype.kind == "b":
        return bool(value)
    return int(value)


_BINARY = {
    "+": arith.ADD, "-": arith.SUB, "*": arith.MUL,
    "&": arith.AND, "|": arith.OR, "^": arith.XOR,
}  # fmt: skip
_NEUTRAL = {"+": 0, "-": 0, "*": 1, "|": 0, "^": 0}
_NEUTRAL_LEFT = {"+": 0, "*": 1, "|": 0, "^": 0}


def binary(op: str, a: Any, b: Any) -> Any:
    """`a op b` for `+ - * & | ^`."""
    dtype = common_type(op, a, b) if isinstance(a, _OPERAND) and isinstance(b, _OPERAND) else None
    if dtype is None:
        return NotImplemented
    if op in "&|^":
        if dtype.kind == "f":
            raise _unsupported(op, a, b)
        if _is_bool(a) and _is_bool(b):
            dtype = bool_
    if dtype.kind != "f":
        if type(b) is int and b == _NEUTRAL.get(op):
            return convert(a, dtype)
        if type(a) is int and a == _NEUTRAL_LEFT.get(op):
            return convert(b, dtype)
    return emit(_BINARY[op], (convert(a, dtype), convert(b, dtype)), dtype)


def _is_bool(value: Any) -> bool:
    if isinstance(value, Scalar):
        return value.type.kind == "b"
    return isinstance(value, bool | np.bool_)


def unary(spec: OpSpec, a: Scalar) -> Scalar:
    """`-a`, `~a`, `abs(a)`; a bool counts as an integer."""
    dtype = int32 if a.type.kind == "b" else a.type
    return emit(spec, (convert(a, dtype),), dtype)


def true_divide(a: Any, b: Any) -> Any:
    """`a / b`: always a float, float32 unless an operand is a narrower float."""
    if not (isinstance(a, _OPERAND) and isinstance(b, _OPERAND)):
        return NotImplemented
    dtype = common_type("/", a, b)
    if dtype is None:
        return NotImplemented
    if dtype.kind != "f":
        dtype = float32
    _refuse_zero("/", b)
    return emit(arith.DIV, (convert(a, dtype), convert(b, dtype)), dtype)


def floor_divide(a: Any, b: Any, plain: OpSpec, floor: OpSpec) -> Any:
    """`a // b` or `a % b`: C's operator where both are known non-negative, else a helper."""
    if not (isinstance(a, _OPERAND) and isinstance(b, _OPERAND)):
        return NotImplemented
    op = "//" if plain is arith.TRUNCDIV else "%"
    dtype = common_type(op, a, b)
    if dtype is None:
        return NotImplemented
    _refuse_zero(op, b)
    if dtype.kind != "f":
        if type(b) is int and b == 1:
            return convert(a, dtype) if plain is arith.TRUNCDIV else 0
        recorder = current(op)
        if nonneg(a, recorder) and nonneg(b, recorder):
            floor = plain
    return emit(floor, (convert(a, dtype), convert(b, dtype)), dtype)


def _refuse_zero(op: str, b: Any) -> None:
    if not isinstance(b, Scalar) and b == 0:
        raise ZeroDivisionError(f"`{op}` by the constant zero")


def shift(spec: OpSpec, a: Any, b: Any) -> Any:
    """`a << b`, `a >> b` on integers; the result has the type of `a`."""
    op = "<<" if spec is arith.SHL else ">>"
    if not (isinstance(a, _OPERAND) and isinstance(b, _OPERAND)):
        return NotImplemented
    if _is_float(a) or _is_float(b):
        raise _unsupported(op, a, b)
    dtype: DataType | None = a.type if isinstance(a, Scalar) else of_constant(a)
    if dtype is None:
        raise _unsupported(op, a, b)
    if dtype.kind == "b":
        dtype = int32
    if not isinstance(b, Scalar):
        b = int(b)  # type: ignore[call-overload]
        if b < 0:
            raise ValueError("negative shift count")
        if b == 0:
            return convert(a, dtype)
        if b >= dtype.bits:
            raise error(
                "AT0108",
                f"a shift by {b} leaves nothing of {describe(a)}",
                current(op).site(),
                hint=f"shift {dtype} by 0 to {dtype.bits - 1}",
            )
    return emit(spec, (convert(a, dtype), b), dtype)


def _is_float(value: Any) -> bool:
    if isinstance(value, Scalar):
        return value.type.kind == "f"
    known = of_constant(value)
    return isinstance(value, float) or (known is not None and known.kind == "f")


_COMPARE = {
    "<": arith.LT, "<=": arith.LE, ">": arith.GT, ">=": arith.GE, "==": arith.EQ, "!=": arith.NE,
}  # fmt: skip
_SWAPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}


def compare(op: str, a: Any, b: Any) -> Any:
    """`a op b`; a constant outside the range of an integer decides it while tracing."""
    if not isinstance(b, _OPERAND):
        return NotImplemented
    if not isinstance(a, Scalar):
        a, b, op = b, a, _SWAPPED[op]
    if isinstance(b, int | np.integer) and a.type.kind in "iu" and not a.type.fits(int(b)):
        return _decided(op, below=int(b) > a.type.hi)
    dtype = common_type(op, a, b)
    if dtype is None:
        return NotImplemented
    return emit(_COMPARE[op], (convert(a, dtype), convert(b, dtype)), bool_)


def _decided(op: str, below: bool) -> bool:
    """The comparison of a value that lies wholly below (or above) a constant."""
    if op == "==":
        return False
    if op == "!=":
        return True
    return below == (op in "<=")


def power(a: Any, b: Any) -> Any:
    """`a ** b` for a constant exponent 0, 1, 2, ..., by repeated multiplication."""
    if isinstance(b, Scalar) or not isinstance(b, int | np.integer) or not 0 <= b <= 64:
        if not isinstance(a, _OPERAND) or not isinstance(b, _OPERAND):
            return NotImplemented
        raise error(
            "AT0303",
            f"`**` on runtime values needs a constant exponent from 0 to 64, not {describe(b)}",
            current("**").site(),
            hint="write the loop (2**n is 1 << n), or use the vector functions for roots",
        )
    result: Any = 1.0 if _is_float(a) else 1
    square, n = a, int(b)
    first = True
    while n:
        if n & 1:
            result = square if first else result * square
            first = False
        n >>= 1
        if n:
            square = square * square
    return +result if isinstance(result, Scalar) else result


def truth(value: Any) -> Any:
    """`bool(value)` of a runtime scalar: a runtime bool."""
    if value.type.kind == "b":
        return value
    node = value.node
    if getattr(node, "spec", None) is arith.CAST and node.args[0].type.kind == "b":
        return node.args[0]
    return compare("!=", value, 0.0 if value.type.kind == "f" else 0)


def logical_not(value: Scalar) -> Scalar:
    """`not value`."""
    condition = truth(value)
    node = condition.node
    if node is not None and getattr(node, "spec", None) is arith.NOT:
        inner: Scalar = node.args[0]
        return inner
    return emit(arith.NOT, (condition,), bool_)


def to_int(value: Scalar) -> Any:
    """`int(value)`: truncates floats to int32; integers keep their type."""
    if value.type.kind in "iu":
        return value
    return convert(value, int32)


def to_float(value: Scalar) -> Any:
    """`float(value)`: float32."""
    return convert(value, float32)


def extremum(spec: OpSpec, a: Any, b: Any) -> Any:
    """`min(a, b)` or `max(a, b)` of numbers, at least one a runtime scalar."""
    dtype = common_type(spec.name, a, b)
    if dtype is None:
        raise _unsupported(spec.name.removeprefix("scalar."), a, b)
    return emit(spec, (convert(a, dtype), convert(b, dtype)), dtype)


_OPERAND: tuple[type, ...] = (Scalar, *_NUMBER)


class Sign:
    """What a C++ variable's sign depends on: it is non-negative if all its `values` are.

    A loop's variable starts from its first value and is assumed to keep the sign; `used` tells the
    loop that the assumption mattered and has to hold at the end of the body. Among the values may
    be other signs.
    """

    __slots__ = ("known", "used", "values")

    def __init__(self, values: list[Any]) -> None:
        self.values = values
        self.known: bool | None = None
        self.used = False

    def consult(self, recorder: Recorder) -> bool:
        """Whether the variable is known to be at least zero."""
        if self.known is None:
            _settle(self, recorder)
        self.used = self.used or bool(self.known)
        return bool(self.known)


def _settle(sign: Sign, recorder: Recorder) -> None:
    """Decide a sign and those it depends on: non-negative unless a value contradicts."""
    assumed = {sign: True}
    before = None
    while assumed != before:
        before = dict(assumed)
        seen: dict[int, bool] = {}
        for other in before:
            if assumed[other]:
                assumed[other] = all(_holds(v, recorder, assumed, seen) for v in other.values)
    for other, known in assumed.items():
        other.known = known
        other.used = other.used or known


def _holds(
    value: Any, recorder: Recorder, assumed: dict[Sign, bool], seen: dict[int, bool]
) -> bool:
    """Whether a value is at least zero if the assumed signs are right."""
    known: bool | Sign | None = value if isinstance(value, Sign) else None
    if known is None:
        if not isinstance(value, Scalar):
            return bool(value >= 0)
        known = value._nonneg
    if isinstance(known, Sign):
        if known.known is None:
            return assumed.setdefault(known, True)
        return known.consult(recorder)
    if known is not None:
        return known
    if value.node is None:
        return nonneg(value, recorder)
    if id(value) not in seen:
        seen[id(value)] = _derive(value, lambda v: _holds(v, recorder, assumed, seen))
    return seen[id(value)]


def nonneg(value: Any, recorder: Recorder) -> bool:
    """Whether an integer is known to be at least zero (consults a parameter's actual sign)."""
    if not isinstance(value, Scalar):
        return bool(value >= 0)
    known = value._nonneg
    if isinstance(known, Sign):
        return known.consult(recorder)
    if known is None:
        if value.node is None:
            known = bool(recorder.need_nonneg(value))
        else:
            known = _derive(value, lambda v: nonneg(v, recorder))
        value._nonneg = known
    return known


def _derive(value: Scalar, holds: Callable[[Any], bool]) -> bool:
    """Whether an expression is at least zero by what `holds` says of its operands."""
    node = value.node
    spec: OpSpec | None = getattr(node, "spec", None)
    if spec is None:
        return False
    rule = spec.extra.get("sign", "never")
    if rule == "always":
        return True
    if rule == "never" or value.type.kind == "f":
        return False
    args = [a for a in node.args if not isinstance(a, Scalar) or a.type.kind != "f"]
    if len(args) != len(node.args):
        return False
    if rule == "left":
        return holds(args[0])
    if rule == "right":
        return holds(args[1])
    if rule == "widening":
        return value.type.fits(args[0].type.hi) and holds(args[0])
    test = any if rule == "any" else all
    return test(holds(a) for a in args)


DataType.proxy = Scalar
