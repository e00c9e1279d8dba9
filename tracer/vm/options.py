"""What a launch tells the tracer, and what it gets back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..trace import Trace

if TYPE_CHECKING:
    from .guards import Check


@dataclass(frozen=True, slots=True)
class TraceOptions:
    """Options of the tracer that change what is recorded.

    unroll_limit: a loop over a constant range unrolls while its recorded operations stay within
    this number. unroll_hard_limit: operations after which a loop that must unroll is refused.
    step_limit: iterations of unrolled loops after which tracing is refused as endless.
    """

    unroll_limit: int = 64
    unroll_hard_limit: int = 65536
    step_limit: int = 1_000_000


@dataclass(slots=True)
class Argument:
    """A kernel argument as the tracer sees it.

    `type` is None for a constant (`value` is then the Python object itself), else the C++ type of
    the parameter: a `GlobalPointerType` or a `DataType`. `value` of a runtime scalar is this
    launch's number: only its sign is consulted, and consulting it is noted as a guard.
    """

    name: str
    type: Any
    value: Any = None


@dataclass(slots=True)
class TraceResult:
    """A finished trace and what it depended on.

    `check()` says whether every global, closure cell, attribute and code object that the tracer
    read is still the same; `signs` maps a parameter name to the sign the trace assumed (True: at
    least zero). `cacheable` is False when the kernel wrote objects that live outside the trace, so
    that every launch has to trace again.
    """

    trace: Trace
    check: Check
    signs: dict[str, bool] = field(default_factory=dict)
    cacheable: bool = True
