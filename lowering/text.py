"""Ascend C text of a trace: `emit`.

The text is stable: the same trace gives the same text in every process.
"""

from __future__ import annotations

import re
import sys
from typing import Any

from ..tracer.language.types import GlobalPointerType
from ..tracer.trace import Trace
from . import copies as _copies  # noqa: F401 (the same)
from . import debug as _debug  # noqa: F401 (registers texts of rows)
from . import framework as _framework  # noqa: F401 (the same)
from . import moves as _moves  # noqa: F401 (the same)
from . import system as _system  # noqa: F401 (the same)
from .comments import Commenter, TextOptions
from .data import struct_definitions
from .helpers import helper_text
from .names import kernel_name
from .printer import Printer
from .uses import Uses

__all__ = ["TextOptions", "emit", "kernel_name"]

_DEFAULTS = TextOptions()


def emit(trace: Trace, options: TextOptions = _DEFAULTS) -> str:
    """The Ascend C text of a kernel; its symbol is `kernel_name(trace)`."""
    printer = Printer(trace, Uses(trace), Commenter(options))
    printer.kernel()
    params = ", ".join(
        f"{param.type.cpp} {name}" for param, name in zip(trace.params, printer.params, strict=True)
    )
    return (
        f"{_header(trace)}\n"
        '#include "kernel_operator.h"\n\n'
        f"{struct_definitions(trace)}"
        f"{helper_text(printer.helpers, printer.float_helpers)}"
        f"{''.join(text + chr(10) for text in printer.preamble)}"
        f'extern "C" __global__ __aicore__ void {kernel_name(trace)}({params})\n'
        "{\n" + "\n".join([*printer.lines, "}\n"])
    )


def _header(trace: Trace) -> str:
    """The first comment: who wrote the text, for which chip, dtypes and constants."""
    # The front door lies above this package, but it is always loaded.
    version = sys.modules[__name__.partition(".")[0]].__version__
    by_dtype: dict[str, list[str]] = {}
    for param in trace.params:
        if isinstance(param.type, GlobalPointerType):
            by_dtype.setdefault(param.type.dtype.name, []).append(param.name)
    pointers = [f"{', '.join(names)}: {dtype}" for dtype, names in by_dtype.items()]
    constants = [f"{name} = {_constant(value)}" for name, value in trace.constants.items()]
    parts = [", ".join(part) for part in (pointers, constants) if part]
    text = f"// {trace.name}: asctrace {version}, {trace.chip.name}."
    if parts:
        text += " " + "; ".join(parts)
    return text.replace("\n", " ").rstrip("\\")


def _constant(value: Any) -> str:
    """A ConstExpr value in a comment: short, one line, without addresses."""
    text = getattr(value, "__qualname__", None) or repr(value)
    if re.search(r"0x[0-9a-fA-F]{6,}", text):
        text = type(value).__name__
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "..."
