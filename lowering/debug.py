"""Text of device-side printing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..tracer.language.dtypes import DataType, bool_, float32, int32
from ..tracer.ops import debug
from ..tracer.trace import Op, Value, describe
from .calls import lowers, spell
from .literals import string
from .scalars import Expression, converted

if TYPE_CHECKING:
    from .plans import Plan
    from .variables import Writer


def _conversion(dtype: DataType) -> str:
    if dtype.kind == "f":
        return "%f"
    wide = "l" if dtype.bits == 64 else ""
    return f"%{wide}{'u' if dtype.kind == 'u' else 'd'}"


def says(node: Any, message: str) -> bool:
    """Whether a statement prints a trap's message (names in braces stand for the values)."""
    if not isinstance(node, Op) or node.spec is not debug.PRINTF or node.form.name == "format":
        return False
    pieces = node.args[0]
    text = "".join(p if isinstance(p, str) else f"{{{p.name or p.type}}}" for p in pieces)
    return text == f"{message}\n"


def _value(p: Writer, value: Any) -> str:
    """A value as printf takes it: bools as 0 and 1, short floats as float."""
    if not isinstance(value, Value):
        return spell(p, int(value) if isinstance(value, bool | np.bool_) else value)
    text = p.text[id(value)]
    if value.type is bool_:
        return converted(text, bool_, int32)
    if isinstance(value.type, DataType) and value.type.kind == "f" and value.type is not float32:
        return converted(text, value.type, float32)
    return text


@lowers(debug.PRINTF)
def _printf(p: Writer, op: Op, plan: Plan) -> Expression:
    """`AscendC::printf("a = %d\\n", a)`."""
    if op.form.name == "format":
        desc, params = op.args
        return f"AscendC::printf({', '.join([string(desc), *(_value(p, v) for v in params)])})", 2
    text, values = "", []
    for piece in op.args[0]:
        if not isinstance(piece, Value):
            text += str(piece).replace("%", "%%")
        elif not isinstance(piece.type, DataType):
            text += describe(piece).replace("%", "%%")
        else:
            text += _conversion(piece.type)
            values.append(_value(p, piece))
    return f"AscendC::printf({', '.join([string(text), *values])})", 2
