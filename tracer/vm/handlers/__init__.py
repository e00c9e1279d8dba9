"""One handler a canonical instruction; `HANDLERS` maps names to them.

A handler gets (vm, frame, arg) and returns None to go on, an instruction index to jump to, or what
ends the run. Most are one-liners over `operator` and the stack.
"""

from . import data, exceptions, functions, jumps, names  # noqa: F401 (they fill the table)
from ._table import HANDLERS
from .functions import call_dropped
from .jumps import decide, loop_header
from .names import load_operation, load_several

__all__ = [
    "HANDLERS",
    "call_dropped",
    "decide",
    "load_operation",
    "load_several",
    "loop_header",
]
