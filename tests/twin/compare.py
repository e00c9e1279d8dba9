"""Runs the twin behind each simulation of a test run: `pytest --twin`.

Every kernel that a test simulates without an error is emitted, compiled, run on copies of the
arguments, and has to leave the same bytes. What the twin cannot do is listed with its reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from asctrace.runtime import simulator
from asctrace.tracer.ops import data, debug
from asctrace.tracer.trace import Op, Trace

from .build import run_trace
from .header import has_text

#: Kernels compared, and those left out by reason.
COUNTS: Counter[str] = Counter()
_before = simulator.simulate


def left_out(trace: Trace) -> str | None:
    """Why the twin does not run a trace, if it does not."""
    for node in trace.walk():
        if isinstance(node, Op):
            if node.spec is data.INLINE:
                return "C++ text of the kernel's own"
            if node.spec is debug.PRINTF:
                return "printf is not looked at"
            if "meets" in node.spec.extra:
                return "blocks that wait for one another"
            if not has_text(node.spec):
                return f"the header has no {node.spec.name}"
    return None


def simulate(program: Any, args: Sequence[Any], blocks: int, params: Any = None) -> Any:
    """`simulator.simulate`, checked by the twin."""
    theirs = copies(args)
    result = _before(program, args, blocks, params)
    trace = program.trace
    reason = left_out(trace)
    if reason is not None:
        COUNTS[reason] += 1
        return result
    run_trace(trace, theirs, blocks)
    COUNTS["compared"] += 1
    same(trace, args, theirs, "the text")
    return result


def same(trace: Trace, args: Sequence[Any], theirs: Sequence[Any], who: str) -> None:
    """Fail unless the arrays have the same bytes."""
    for param, arg, other in zip(trace.params, args, theirs, strict=True):
        if isinstance(arg, np.ndarray) and arg.tobytes() != other.tobytes():
            raise AssertionError(
                f"{who} and the simulator differ in `{param.name}`:\n{other}\n{arg}"
            )


def copies(args: Sequence[Any]) -> list[Any]:
    """Copies of the arrays that overlap as the arrays do."""
    roots: dict[int, np.ndarray[Any, Any]] = {}
    out = []
    for arg in args:
        if not isinstance(arg, np.ndarray) or not arg.flags.c_contiguous:
            out.append(arg)
            continue
        root = arg
        while isinstance(root.base, np.ndarray) and root.base.flags.c_contiguous:
            root = root.base
        copy = roots.setdefault(id(root), root.copy())
        start = arg.ctypes.data - root.ctypes.data
        flat = copy.reshape(-1).view(np.uint8)[start : start + arg.nbytes]
        out.append(flat.view(arg.dtype).reshape(arg.shape))
    return out


def install() -> None:
    """Check every simulation from now on."""
    global _before
    _before, simulator.simulate = simulator.simulate, simulate
