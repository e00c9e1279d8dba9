"""One handler a canonical instruction; `HANDLERS` maps names to them.

A handler gets (vm, frame, arg) and returns None to go on, an instruction index to jump to, or what
ends the run. Most are one-liners over `operator` and the stack.
"""

from . import data, exceptions, functions, jumps, names  # noqa: F401 (they fill the table)
from ._table import HANDLERS
from .jumps import decide, loop_header

__all__ = ["HANDLERS", "decide", "loop_header"]
