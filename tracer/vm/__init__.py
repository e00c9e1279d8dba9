"""The VM: interprets a kernel's decoded bytecode once and records its trace.

`trace_function` is loaded when first used: it brings the decoder, and the import has a budget.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .machine import trace_function

__all__ = ["trace_function"]


def __getattr__(name: str) -> Any:
    if name == "trace_function":
        from .machine import trace_function

        return trace_function
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
