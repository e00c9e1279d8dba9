"""Text of device-side printing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tracer.language.dtypes import DataType, bool_, float32, int32
from ..tracer.ops import debug
from ..tracer.trace import Op, Value, describe
from .calls import lowers
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
    if not isinstance(node, Op) or node.spec is not debug.PRINTF:
        return False
    pieces = node.args[0]
    text = "".join(p if isinstance(p, str) else f"{{{p.name or p.type}}}" for p in pieces)
    return text == f"{message}\n"


@lowers(debug.PRINTF)
def _printf(p: Writer, op: Op, plan: Plan) -> Expression:
    """`AscendC::printf("a = %d\\n", a)`; bools are printed as 0 and 1."""
    text, values = "", []
    for piece in op.args[0]:
        if not isinstance(piece, Value):
            text += str(piece).replace("%", "%%")
        elif not isinstance(piece.type, DataType):
            text += describe(piece).replace("%", "%%")
        else:
            text += _conversion(piece.type)
            value = p.text[id(piece)]
            if piece.type is bool_:
                value = converted(value, bool_, int32)
            elif piece.type.kind == "f" and piece.type is not float32:
                value = converted(value, piece.type, float32)
            values.append(value)
    return f"AscendC::printf({', '.join([string(text), *values])})", 2
