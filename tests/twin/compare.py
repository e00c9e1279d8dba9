"""Runs the twin behind each simulation of a test run: `pytest --twin`.

Every kernel that a test simulates without an error is emitted, compiled, run on copies of the
arguments, and has to leave the same bytes and print the same. What the twin cannot do is counted
with its reason.
"""

from __future__ import annotations

import contextlib
import io
import math
import re
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from asctrace.runtime import simulator
from asctrace.tracer.ops import data
from asctrace.tracer.trace import Op, Trace

from .build import run_trace

#: Kernels compared, and those left out by reason.
COUNTS: Counter[str] = Counter()
#: Why the twin does not run a kernel, by a row that it has.
LEFT_OUT = {
    data.INLINE: "C++ text of the kernel's own, which the simulator does not run",
}
_before = simulator.simulate


def left_out(trace: Trace) -> str | None:
    """Why the twin does not run a trace, if it does not."""
    rows = (node.spec for node in trace.walk() if isinstance(node, Op))
    return next((LEFT_OUT[spec] for spec in rows if spec in LEFT_OUT), None)


def simulate(program: Any, args: Sequence[Any], blocks: int, params: Any = None) -> Any:
    """`simulator.simulate`, checked by the twin."""
    theirs = copies(args)
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            result = _before(program, args, blocks, params)
    except BaseException:
        COUNTS["the simulator refuses the kernel"] += 1
        raise
    finally:
        sys.stdout.write(printed.getvalue())
    trace = program.trace
    reason = left_out(trace)
    COUNTS[reason or "compared"] += 1
    if reason is None:
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            run_trace(trace, theirs, blocks, params)
        same(trace, args, theirs, "the text")
        assert_same_print(printed.getvalue(), out.getvalue())
    return result


def same(trace: Trace, args: Sequence[Any], theirs: Sequence[Any], who: str) -> None:
    """Fail unless the arrays have the same bytes."""
    for param, arg, other in zip(trace.params, args, theirs, strict=True):
        if isinstance(arg, np.ndarray) and arg.tobytes() != other.tobytes():
            raise AssertionError(
                f"{who} and the simulator differ in `{param.name}`:\n{other}\n{arg}"
            )


_TOKEN = re.compile(r"(-?\b\d+(?:\.\d*)?(?:e[+-]?\d+)?\b|\bTrue\b|\bFalse\b|-?\binf\b|-?\bnan\b)")


def assert_same_print(expected: str, text: str) -> None:
    """Fail unless both say the same: C has other digits for floats, and numbers for bools."""
    for ours, theirs in zip_longest(_TOKEN.split(expected), _TOKEN.split(text), fillvalue=""):
        if ours != theirs and not _same_number(ours, theirs):
            raise AssertionError(f"the text prints {text!r}, the simulator {expected!r}")


def _same_number(ours: str, theirs: str) -> bool:
    named = {"True": "1", "False": "0"}
    try:
        first, second = float(named.get(ours, ours)), float(theirs)
    except ValueError:
        return False
    if ours in named or not set(ours) & set(".en"):
        return first == second
    # The shortest digits of a bfloat16 on one side, six behind the point on the other.
    return math.isclose(first, second, rel_tol=2**-8, abs_tol=1e-6) or first != first != second


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
