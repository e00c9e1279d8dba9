"""Differential testing: CPython against asctrace.

`check_path` runs a kernel on runtime scalars natively on stand-ins for the tensors, and its trace
in the simulator, and compares what was stored. `check_text` compares the simulator with the text,
compiled for the host, alone or launched on a stand-in for a device. `check_vm` runs plain Python
natively and through the VM on concrete values. All raise `Difference`, whose text is the whole
program.
"""

from __future__ import annotations

import math
import struct
import time
import traceback
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Flaky

import asctrace as asc
from asctrace.runtime.simulator import Program, compile_trace, simulate
from asctrace.tracer.chip import chip
from asctrace.tracer.language.dtypes import bool_, float32, int32, int64
from asctrace.tracer.language.types import GlobalPointerType
from asctrace.tracer.vm import trace_function
from asctrace.tracer.vm.options import Argument, TraceOptions, TraceResult
from tests.differential_path import FLOAT_ROWS, INT_ROWS, Inputs, PathProgram, path_programs
from tests.differential_vm import VMProgram, vm_programs
from tests.straight_kit import choice, warm_after
from tests.twin.build import run_trace
from tests.twin.device import run_on_device

CHIP = chip("Ascend910B1")
OUTS = 96
FLOAT_OUTS = 32
UNSET = -77


class Difference(AssertionError):
    """CPython and asctrace disagree about a program."""

    def __init__(self, program: Any, what: str) -> None:
        super().__init__(f"{what}\n\n{program}")


def _told(exc: BaseException) -> str:
    return "".join(traceback.format_exception(exc)).rstrip()


# -- the whole path ------------------------------------------------------------------------------


class _Tensor:
    """What a `GlobalTensor` is to a kernel that CPython runs."""

    def __init__(self) -> None:
        self.data: list[Any] = []

    def set_global_buffer(self, data: list[Any]) -> None:
        self.data = data

    def get_value(self, index: int) -> Any:
        return self.data[index]

    def set_value(self, index: int, value: Any) -> None:
        self.data[index] = value


_NATIVE = SimpleNamespace(GlobalTensor=_Tensor, range=range, static_range=range)


def _natively(kernel: Callable[..., Any], given: Inputs) -> tuple[list[int], list[float]]:
    out: list[Any] = [0] + [UNSET] * (OUTS - 1)
    fout: list[Any] = [float(UNSET)] * FLOAT_OUTS
    rows = list(INT_ROWS[given.row]), list(FLOAT_ROWS[given.row])
    kernel(*rows, out, fout, given.n, given.m, given.f, given.flag)
    return [int(v) for v in out], [float(v) for v in fout]


class _Traced:
    """A kernel's traces, by the signs they assume."""

    def __init__(self, program: PathProgram) -> None:
        self.program = program
        self.kernel = program.source.run(asc=asc)["kernel"]
        self.made: list[tuple[TraceResult, Program]] = []
        self.types = (int32, int64 if program.wide else int32, float32, bool_)

    def trace(self, given: Inputs) -> Program:
        values = dict(zip("nmf", (given.n, given.m, given.f), strict=True)) | {"flag": given.flag}
        for result, compiled in self.made:
            if all((values[name] >= 0) == sign for name, sign in result.signs.items()):
                return compiled
        pointers = [GlobalPointerType(t) for t in (int32, float32, int32, float32)]
        args = [Argument(n, t) for n, t in zip(("x", "y", "out", "fout"), pointers, strict=True)]
        args += [Argument(n, t, values[n]) for n, t in zip(values, self.types, strict=True)]
        options = TraceOptions(unroll_limit=self.program.unroll_limit)
        result = trace_function(self.kernel, args, CHIP, options, "kernel")
        compiled = compile_trace(result.trace)
        self.made.append((result, compiled))
        return compiled

    def run(self, given: Inputs, how: Any = simulate) -> tuple[list[int], list[float]]:
        out = np.full(OUTS, UNSET, np.int32)
        out[0] = 0
        fout = np.full(FLOAT_OUTS, UNSET, np.float32)
        x, y = np.array(INT_ROWS[given.row], np.int32), np.array(FLOAT_ROWS[given.row], np.float32)
        args = (x, y, out, fout, given.n, given.m, given.f, given.flag)
        how(self.trace(given), args, 1)
        return out.tolist(), fout.tolist()


def check_text(program: PathProgram, run: Callable[..., None]) -> None:
    """Compare the simulator and the text of one kernel, which `run` compiles and runs."""
    traced = _Traced(program)
    for launch in program.inputs:
        expected = traced.run(launch)
        try:
            found = traced.run(launch, lambda compiled, *rest: run(compiled.trace, *rest))
        except Exception as exc:
            raise Difference(program, f"the text fails for {launch}: {_told(exc)}") from exc
        if list(map(_bits, expected[1])) != list(map(_bits, found[1])) or expected[0] != found[0]:
            raise Difference(
                program,
                f"for {launch}\n  simulator: {_short(expected)}\n  text:      {_short(found)}",
            )


def check_path(program: PathProgram) -> None:
    """Compare CPython and the simulator on one kernel."""
    native = program.source.run(asc=_NATIVE)["kernel"]
    traced = _Traced(program)
    for launch in program.inputs:
        try:
            expected = _natively(native, launch)
        except Exception as exc:
            raise Difference(program, f"the generated program is wrong: {_told(exc)}") from exc
        try:
            found = traced.run(launch)
        except Exception as exc:
            raise Difference(program, f"asctrace fails for {launch}: {_told(exc)}") from exc
        if list(map(_bits, expected[1])) != list(map(_bits, found[1])) or expected[0] != found[0]:
            raise Difference(
                program,
                f"for {launch}\n  Python:   {_short(expected)}\n  asctrace: {_short(found)}",
            )


def _bits(value: float) -> Any:
    return "nan" if math.isnan(value) else struct.pack("d", value)


def _short(found: tuple[list[int], list[float]]) -> str:
    ints, floats = ({k: v for k, v in enumerate(row) if v != UNSET} for row in found)
    return f"{ints} {floats}"


# -- the VM alone --------------------------------------------------------------------------------


def check_vm(program: VMProgram) -> None:
    """Compare what CPython and the VM leave in `box`."""
    expected: list[Any] = []
    program.source.run(box=expected)["kernel"]()
    found: list[Any] = []
    kernel = program.source.run(box=found)["kernel"]
    try:
        trace_function(kernel, [], CHIP, TraceOptions(), "kernel")
    except Exception as exc:
        raise Difference(program, f"the VM fails: {_told(exc)}") from exc
    for mine, theirs in zip(map(_plain, expected), map(_plain, found), strict=True):
        if mine != theirs:
            raise Difference(program, f"  Python:   {mine}\n  asctrace: {theirs}")


def _plain(value: Any, depth: int = 0) -> str:
    """A result as text: types, order and the sign of zero count, identity does not."""
    if depth > 6:
        return "..."
    if isinstance(value, list | tuple):
        inside = ", ".join(_plain(v, depth + 1) for v in value)
        return f"{type(value).__name__}({inside})"
    if isinstance(value, dict):
        pairs = (f"{_plain(k, depth + 1)}: {_plain(v, depth + 1)}" for k, v in value.items())
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, int | float | str | bytes | set | frozenset | type(None)):
        return repr(value)
    if hasattr(value, "__dict__") and not callable(getattr(value, "__code__", None)):
        return f"{type(value).__name__}{_plain(vars(value), depth + 1)}"
    return type(value).__name__


# -- running many --------------------------------------------------------------------------------

#: Kind of program -> how to make one and how to check it.
KINDS: dict[str, tuple[Any, Callable[[Any], None]]] = {
    "path": (path_programs, check_path),
    "twin": (path_programs, lambda program: check_text(program, run_trace)),
    "npu": (path_programs, lambda program: check_text(program, run_on_device)),
    "vm": (vm_programs, check_vm),
}


#: Seconds to spend on making a failing program smaller.
SHRINK_SECONDS = 60.0


def run_examples(kind: str, count: int, seed_number: int, seconds: float = math.inf) -> int:
    """Check `count` random programs, or those that fit in a time; returns how many ran.

    Raises the `Difference` of a shrunk program.
    """
    programs, check = KINDS[kind]
    end = time.monotonic() + seconds
    ran = 0
    smallest: Difference | None = None

    def example(program: Any) -> None:
        nonlocal ran, end, smallest
        if time.monotonic() > end:
            return
        ran += 1
        try:
            with warm_after(choice(program.source.text)):
                check(program)
        except Difference as difference:
            if smallest is None:
                end = time.monotonic() + SHRINK_SECONDS
            if smallest is None or len(str(difference)) <= len(str(smallest)):
                smallest = difference
            raise

    run = given(programs())(example)
    run = settings(
        max_examples=count,
        database=None,
        deadline=None,
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )(run)
    try:
        seed(seed_number)(run)()
    except (Difference, Flaky):
        # Flaky: the time for making it smaller was over.
        assert smallest is not None
        raise smallest from None
    return ran
