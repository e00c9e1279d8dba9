"""Ascend C text of a trace: `emit`.

The text is stable: the same trace gives the same text in every process.
"""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from typing import Any, NamedTuple

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
from .layout import argument_layout, size_checks
from .names import SYNC_ADDRESS, kernel_name
from .printer import Printer
from .uses import Uses

__all__ = ["Entry", "TextOptions", "emit", "kernel_name", "python_lines"]


class Entry(NamedTuple):
    """How a kernel is declared for the way it is compiled.

    qualifier: the cores, as `bisheng -x asc` wants them named. sync_address: the kernel takes the
    address for synchronisation between cores in front of its parameters, and sets it.
    """

    qualifier: str = ""
    sync_address: bool = False


_DEFAULTS = TextOptions()
_PLAIN = Entry()


def emit(trace: Trace, options: TextOptions = _DEFAULTS, entry: Entry = _PLAIN) -> str:
    """The Ascend C text of a kernel; its symbol is `kernel_name(trace)`."""
    printer = Printer(trace, Uses(trace), Commenter(options))
    printer.kernel()
    names, first = list(printer.params), list[str]()
    if entry.sync_address:
        names.insert(0, SYNC_ADDRESS)
        first = [f"    set_ffts_base_addr(reinterpret_cast<uint64_t>({SYNC_ADDRESS}));"]
    slots = argument_layout(trace, entry.sync_address).slots
    params = [f"{slot.cpp} {name}" for slot, name in zip(slots, names, strict=True)]
    qualifier = f"{entry.qualifier} " if entry.qualifier else ""
    return (
        f"{_header(trace)}\n"
        '#include "kernel_operator.h"\n\n'
        f"{struct_definitions(trace)}{size_checks(trace.params)}"
        f"{helper_text(printer.helpers, printer.float_helpers)}"
        f"{''.join(text + chr(10) for text in printer.preamble)}"
        f'extern "C" __global__ {qualifier}__aicore__ void {kernel_name(trace)}'
        f"({', '.join(params)})\n"
        "{\n" + "\n".join([*first, *printer.lines, "}\n"])
    )


def python_lines(
    trace: Trace, options: TextOptions = _DEFAULTS, entry: Entry = _PLAIN
) -> list[tuple[str, int] | None]:
    """The Python file and line of each line of the text, None where there is none.

    They are what `#line` directives would say, so the text itself need not have any.
    """
    out: list[tuple[str, int] | None] = []
    place: tuple[str, int] | None = None
    for line in emit(trace, replace(options, line_directives=True), entry).splitlines():
        if match := _DIRECTIVE.fullmatch(line):
            place = re.sub(r"\\(.)", r"\1", match[2]), int(match[1])
        else:
            out.append(place)
    return out


_DIRECTIVE = re.compile(r'#line (\d+) "(.*)"')


def _header(trace: Trace) -> str:
    """The first comment: who wrote the text, for which chip, dtypes and constants."""
    # The front door lies above this package, but it is always loaded.
    version = sys.modules[__name__.partition(".")[0]].__version__
    by_dtype: dict[str, list[str]] = {}
    for param in trace.params:
        if isinstance(param.type, GlobalPointerType):
            by_dtype.setdefault(param.type.dtype.name, []).append(param.name)
    pointers = [f"{', '.join(names)}: {dtype}" for dtype, names in by_dtype.items()]
    constants = [f"{name} = {constant_text(value)}" for name, value in trace.constants.items()]
    parts = [", ".join(part) for part in (pointers, constants) if part]
    text = f"// {trace.name}: asctrace {version}, {trace.chip.name}."
    if parts:
        text += " " + "; ".join(parts)
    return text.replace("\n", " ").rstrip("\\")


def constant_text(value: Any) -> str:
    """A ConstExpr value in a comment: short, one line, without addresses."""
    text = getattr(value, "__qualname__", None) or repr(value)
    if re.search(r"0x[0-9a-fA-F]{6,}", text):
        text = type(value).__name__
    text = " ".join(text.split())
    return text if len(text) <= 60 else text[:57] + "..."
