"""Runs the `npu` path behind each simulation of a test run: `pytest --npu`.

Every kernel that a test simulates without an error is compiled by the stand-in for `bisheng`,
launched through the stand-in for ACL on copies of the arguments, and has to leave the same bytes
and nothing on the device. What cannot go that way is counted with its reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any

from asctrace.runtime import simulator
from asctrace.runtime.acl import device
from asctrace.runtime.compiler.options import ARCHES
from asctrace.tracer.trace import Trace

from . import compare
from .device import run_on_device

#: Launches compared, and those left out by reason.
COUNTS: Counter[str] = Counter()
_before = simulator.simulate


def left_out(trace: Trace) -> str | None:
    """Why a launch does not go the way of the NPU, if it does not."""
    if device._session is not None:
        return "the test has a device of its own"
    if trace.chip.arch not in ARCHES:
        return f"no compiler target for architecture {trace.chip.arch}"
    return None


def simulate(program: Any, args: Sequence[Any], blocks: int, params: Any = None) -> Any:
    """`simulator.simulate`, checked by a launch."""
    with compare.ONE_AT_A_TIME:
        reason = left_out(program.trace)
        if reason is not None:
            COUNTS[reason] += 1
            return _before(program, args, blocks, params)
        result, done = compare.watched(_before, COUNTS, program, args, blocks, params)
        again = partial(run_on_device, program.trace, args, blocks, params)
        compare.repeat(done, "the npu path", COUNTS, again)
    return result


def install() -> None:
    """Check every simulation from now on."""
    global _before
    _before, simulator.simulate = simulator.simulate, simulate
