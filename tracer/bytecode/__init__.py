"""CPython bytecode, decoded into one small set of instructions that no version changes.

`decode` gives the instructions of a code object. All knowledge of Python versions is in this
package: `read` decodes, `versions` lists the passes (`expand`, `flow`, `loops`) of each version.
Imports nothing else of the project.
"""

from .canonical import CANONICAL, Code, Handler, Instr, Span, Unsupported
from .decode import decode
from .effects import stack_effect
from .rejected import REJECTED
from .versions import UnsupportedPython

__all__ = [
    "CANONICAL",
    "REJECTED",
    "Code",
    "Handler",
    "Instr",
    "Span",
    "Unsupported",
    "UnsupportedPython",
    "decode",
    "stack_effect",
]
