"""Text of device-side printing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..tracer.language.dtypes import DataType, bool_, float32, int32
from ..tracer.ops import debug
from ..tracer.trace import Op, Value, describe
from .calls import lowers
from .literals import string
from .scalars import Expression, converted

if TYPE_CHECKING:
    from .plans import Plan
    from .printer import Printer


def _conversion(dtype: DataType) -> str:
    if dtype.kind == "f":
        return "%f"
    wide = "l" if dtype.bits == 64 else ""
    return f"%{wide}{'u' if dtype.kind == 'u' else 'd'}"


@lowers(debug.PRINTF)
def _printf(p: Printer, op: Op, plan: Plan) -> Expression:
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
