"""Runs the twin behind each simulation of a test run: `pytest --twin`.

Every kernel that a test simulates without an error is emitted, compiled, run on copies of the
arguments, and has to leave the same bytes and print the same.
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
from asctrace.tracer.trace import Trace

from .build import run_trace

#: Kernels compared, and those that the simulator refuses.
COUNTS: Counter[str] = Counter()
_before = simulator.simulate


def simulate(program: Any, args: Sequence[Any], blocks: int, params: Any = None) -> Any:
    """`simulator.simulate`, checked by the twin, which runs on the same arrays as they were."""
    before = copies(args)
    try:
        with _printing() as printed:
            result = _before(program, args, blocks, params)
    except BaseException:
        COUNTS["the simulator refuses the kernel"] += 1
        raise
    finally:
        sys.stdout.write(printed.getvalue())
    trace = program.trace
    ours = copies(args)
    _put(args, before)
    try:
        with _printing() as out:
            run_trace(trace, args, blocks, params)
        same(trace, ours, args, "the text")
        assert_same_print(printed.getvalue(), out.getvalue())
    finally:
        _put(args, ours)
    COUNTS["compared"] += 1
    return result


def _printing() -> contextlib.redirect_stdout[io.StringIO]:
    return contextlib.redirect_stdout(io.StringIO())


def _put(args: Sequence[Any], contents: Sequence[Any]) -> None:
    """Give arrays the contents of others; those that have them stay untouched."""
    for arg, content in zip(args, contents, strict=True):
        if isinstance(arg, np.ndarray) and arg.tobytes() != content.tobytes():
            arg[...] = content


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
