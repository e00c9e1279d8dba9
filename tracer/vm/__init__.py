"""The VM: interprets a kernel's decoded bytecode once and records its trace."""

from .machine import trace_function

__all__ = ["trace_function"]
