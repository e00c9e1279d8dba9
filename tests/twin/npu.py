"""Runs the `npu` path behind each simulation of a test run: `pytest --npu`.

Every kernel that a test simulates without an error is compiled by the stand-in for `bisheng`,
launched through the stand-in for ACL on copies of the arguments, and has to leave the same bytes
and nothing on the device. What cannot go that way is counted with its reason.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import Any

from asctrace.runtime import simulator
from asctrace.runtime.acl import device
from asctrace.runtime.compiler.options import ARCHES
from asctrace.tracer.trace import Op, Trace

from . import compare
from .device import run_on_device
from .machine import Undefined

#: Launches compared, and those left out by reason.
COUNTS: Counter[str] = Counter()
_before = simulator.simulate


def left_out(trace: Trace) -> str | None:
    """Why a launch does not go the way of the NPU, if it does not."""
    if device._session is not None:
        return "the test has a device of its own"
    if trace.chip.arch not in ARCHES:
        return f"no compiler target for architecture {trace.chip.arch}"
    for node in trace.walk():
        if isinstance(node, Op) and "any_array" in node.spec.extra:
            return "addresses of the host in memory"
    return None


def simulate(program: Any, args: Sequence[Any], blocks: int, params: Any = None) -> Any:
    """`simulator.simulate`, checked by a launch."""
    theirs = compare.copies(args)
    result = _before(program, args, blocks, params)
    trace = program.trace
    reason = left_out(trace)
    if reason is None:
        try:
            with redirect_stdout(io.StringIO()):  # the kernel's prints, once more
                run_on_device(trace, theirs, blocks)
            compare.same(trace, args, theirs, "the npu path")
        except Undefined as problem:
            reason = f"not defined by C++: {problem}"
    COUNTS[reason or "compared"] += 1
    return result


def install() -> None:
    """Check every simulation from now on."""
    global _before
    _before, simulator.simulate = simulator.simulate, simulate
