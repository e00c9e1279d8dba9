"""Executor of printing: the device's log is standard output here."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ...tracer.language.dtypes import DataType
from ...tracer.ops import debug
from ...tracer.trace import Op, Value, describe
from .registry import Executor, simulates

if TYPE_CHECKING:
    from .core import Core


def text_of(value: Any, dtype: DataType) -> str:
    """A scalar as Python prints it; floats with the digits that their dtype needs."""
    return str(dtype.np.type(value)) if dtype.kind == "f" else str(value)


@simulates(debug.PRINTF)
def _printf(op: Op, core: Core) -> Executor:
    pieces = op.args[0]

    def run(*values: Any) -> None:
        rest = iter(values)
        text = ""
        for piece in pieces:
            if not isinstance(piece, Value):
                text += str(piece)
                continue
            value = next(rest)
            is_scalar = isinstance(piece.type, DataType)
            text += text_of(value, piece.type) if is_scalar else describe(piece)
        sys.stdout.write(text)

    return run
