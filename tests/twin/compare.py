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
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
import pytest

from asctrace.lowering.text import emit, kernel_name
from asctrace.runtime import simulator
from asctrace.tracer.trace import Trace

from .build import compile_texts, run
from .machine import Undefined
from .report import Report

#: Kernels compared, and those that the simulator refuses.
COUNTS: Counter[str] = Counter()
_before = simulator.simulate


class Simulated(NamedTuple):
    """A simulation: its arguments, what the arrays held before and behind it, what it printed."""

    trace: Trace
    args: tuple[Any, ...]
    blocks: int
    params: Any
    before: list[Any]
    behind: list[Any]
    printed: str


#: What is printed, and stand-ins, are of the process: threads go one after another.
ONE_AT_A_TIME = threading.RLock()
#: Simulations that are not checked yet; None: each is checked at once.
_pending: list[Simulated] | None = None


def simulate(program: Any, args: Sequence[Any], blocks: int, params: Any = None) -> Any:
    """`simulator.simulate`, checked by the twin."""
    with ONE_AT_A_TIME:
        result, done = watched(_before, COUNTS, program, args, blocks, params)
        if _pending is None:
            check([done])
        else:
            _pending.append(done)
    return result


def watched(
    simulate: Any,
    counts: Counter[str],
    program: Any,
    args: Sequence[Any],
    blocks: int,
    params: Any,
) -> tuple[Any, Simulated]:
    """Simulate, and keep what it takes to do the same another way."""
    before = copies(args)
    try:
        with _printing() as printed:
            result = simulate(program, args, blocks, params)
    except BaseException:
        counts["the simulator refuses the kernel"] += 1
        raise
    finally:
        sys.stdout.write(printed.getvalue())
    behind = copies(args)
    if params is not None and params.schedule != "program" and not params.detect_races:
        # With races, which nobody looks for, the order decides; the text's is that of the program.
        _put(args, before)
        with _printing() as printed:
            simulate(program, args, blocks, replace(params, schedule="program"))
        late, behind = behind, copies(args)
        _put(args, late)
    text = printed.getvalue()
    return result, Simulated(program.trace, tuple(args), blocks, params, before, behind, text)


def check(simulations: Sequence[Simulated]) -> None:
    """Compile the texts as one library and run them; fails where one does something else."""
    texts = {emit(done.trace): kernel_name(done.trace) for done in simulations}
    launchers = dict(zip(texts, compile_texts(list(texts.items())), strict=True))
    for done in simulations:
        launcher = launchers[emit(done.trace)]
        again = partial(run, launcher, done.trace, done.args, done.blocks, done.params)
        repeat(done, "the text", COUNTS, again)


def repeat(done: Simulated, who: str, counts: Counter[str], again: Callable[[], Any]) -> None:
    """Run something on the same arrays as they were, which have what they have again behind it.

    Fails unless it leaves the same bytes and prints the same.
    """
    now = copies(done.args)
    # Some have been made read-only since.
    changed = [
        (arg, arg.flags.writeable)
        for arg, before, behind in zip(done.args, done.before, done.behind, strict=True)
        if isinstance(arg, np.ndarray) and before.tobytes() != behind.tobytes()
    ]
    for arg, _ in changed:
        arg.flags.writeable = True
    _put(done.args, done.before)
    try:
        with _printing() as out:
            again()
        same(done.trace, done.behind, done.args, who)
        assert_same_print(done.printed, out.getvalue())
        counts["compared"] += 1
    except Undefined as problem:
        counts[f"not defined by C++: {problem}"] += 1
    finally:
        _put(done.args, now)
        for arg, writeable in changed:
            arg.flags.writeable = writeable


class Plugin(Report):
    """Checks what a test has simulated when it has been called, all at once."""

    def __init__(self) -> None:
        super().__init__("texts run by the twin", COUNTS)
        self.seen: list[Simulated] = []

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        """In front of the test's fixtures, of which one may want each checked at once."""
        global _pending
        _pending = self.seen = []
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        """Part of the test, so that it fails."""
        result = yield
        check(self.seen)
        return result


def _printing() -> contextlib.redirect_stdout[io.StringIO]:
    return contextlib.redirect_stdout(io.StringIO())


def _put(args: Sequence[Any], contents: Sequence[Any]) -> None:
    """Give arrays the contents of others; those that have them stay untouched."""
    for arg, content in zip(args, contents, strict=True):
        if isinstance(arg, np.ndarray) and arg.tobytes() != content.tobytes():
            arg[...] = content


def same(trace: Trace, args: Sequence[Any], theirs: Sequence[Any], who: str) -> None:
    """Fail unless the arrays have the same bytes; nobody defines which NaN comes of something."""
    for param, arg, other in zip(trace.params, args, theirs, strict=True):
        if isinstance(arg, np.ndarray) and not _equal(arg, other):
            raise AssertionError(
                f"{who} and the simulator differ in `{param.name}`:\n{other}\n{arg}"
            )


def _equal(ours: np.ndarray[Any, Any], theirs: np.ndarray[Any, Any]) -> bool:
    if ours.tobytes() == theirs.tobytes():
        return True
    with np.errstate(invalid="ignore"):
        missing = ours != ours
        agree = np.array_equal(missing, theirs != theirs)
    return agree and ours[~missing].tobytes() == theirs[~missing].tobytes()


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
