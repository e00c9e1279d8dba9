"""Compiling the emitted text with CANN into a `Binary`.

`traces.compile_traces` takes traces, `build.compile_text` a text. `toolchain` finds the compiler
and chooses the route, `commands` has its command lines, `build` runs it through the cache,
`messages` explains its errors. May import `tracer`, `lowering`, `knobs`, `cann` and `cache`; this
module is light, `asc.jit` imports it.
"""

from .binary import Binary, KernelType
from .options import CompileOptions

__all__ = ["Binary", "CompileOptions", "KernelType"]
