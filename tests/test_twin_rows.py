"""Each overload of the op table as text: its example is compiled by g++ and does what the row does.

What a call leaves in the memories of the core is compared, and where the simulator refuses an
example, the twin has to refuse it for the same reason.
"""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from asctrace.lowering.text import emit, kernel_name
from asctrace.runtime.simulator import SimParams, compile_trace, memory
from asctrace.runtime.simulator.program import simulate
from asctrace.tracer.diagnostics import KernelError
from asctrace.tracer.language.dtypes import DataType
from asctrace.tracer.language.types import GlobalPointerType
from asctrace.tracer.ops.spec import TABLE, Form, OpSpec
from asctrace.tracer.trace import Declare, Trace
from tests.lowering_kit import Kernel
from tests.op_examples import call, chip_for
from tests.twin import forms
from tests.twin.build import compile_texts, run

FAMILIES = sorted({spec.family for spec in TABLE.values()})
PARAMS = SimParams(check_uninitialised=False, detect_races=False)


class Outcome(NamedTuple):
    """What a run came to: codes of what was refused, bytes of arrays and memories, what is said."""

    codes: tuple[str, ...]
    arrays: tuple[bytes, ...] = ()
    memories: tuple[tuple[str, bytes], ...] = ()
    printed: str = ""


def argument(type: Any) -> Any:
    if isinstance(type, GlobalPointerType):
        return (np.arange(8192) % 100).astype(type.dtype.np)
    assert isinstance(type, DataType), type
    return type.np.type(3).item()


def outcome(trace: Trace, args: list[Any], work: Any) -> Outcome:
    """Of `work`, which gives the core that it ran on."""
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out):
            core = work()
    except KernelError as problem:
        return Outcome(tuple(f.code for f in problem.findings if f.severity == "error"))
    arrays = tuple(arg.tobytes() for arg in args if isinstance(arg, np.ndarray))
    return Outcome((), arrays, core, out.getvalue())


def memories(core: Any) -> tuple[tuple[str, bytes], ...]:
    """What has been written; the rest has not been touched."""
    found = ((name, m.array[: m.high].tobytes()) for name, m in sorted(core.memories.items()))
    return tuple((name, data) for name, data in found if data)


def simulated(trace: Trace, args: list[Any]) -> Outcome:
    def work() -> Any:
        program = compile_trace(trace)
        simulate(program, args, 1, PARAMS)
        (machine,) = program._idle
        return memories(machine._seats[0].core if program._meets else machine.core)

    return outcome(trace, args, work)


def as_text(launcher: Any, trace: Trace, args: list[Any]) -> Outcome:
    return outcome(trace, args, lambda: memories(run(launcher, trace, args, 1, PARAMS).calls.core))


def examples(family: str) -> list[tuple[OpSpec, Form, Trace]]:
    made = []
    for spec in TABLE.values():
        for form in spec.forms if spec.family == family else ():
            with Kernel(soc=chip_for(spec)) as k:
                call(k, spec, form)
            made.append((spec, form, k.trace))
    return made


@pytest.fixture(autouse=True)
def memory_holds_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody wrote is no NaN, of which C++ does not say what integer it becomes."""
    monkeypatch.setattr(memory, "POISON", 0x3C3C)


@pytest.fixture(autouse=True)
def files_go_elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The example of `to_file` writes one."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("family", FAMILIES)
def test_examples_do_what_the_simulator_does(family: str) -> None:
    made = examples(family)
    launchers = compile_texts([(emit(trace), kernel_name(trace)) for _, _, trace in made])
    differ = []
    for (spec, form, trace), launcher in zip(made, launchers, strict=True):
        if any(isinstance(node, Declare) and node.init is None for node in trace.walk()):
            continue  # a variable that nothing fills: the text is compiled, but not run
        ours, theirs = [[argument(p.type) for p in trace.params] for _ in range(2)]
        expected, found = simulated(trace, ours), as_text(launcher, trace, theirs)
        # A class of the header does not look at what it is given.
        if found != expected and not (forms.native(spec) and expected.codes):
            differ.append((spec.name, form.name, expected.codes, found.codes))
    assert differ == []  # row, overload, codes of simulator and twin


def test_every_row_has_cpp() -> None:
    known = {spec for spec, _ in forms.forms()}
    lacking = [s.name for s in TABLE.values() if s not in known and not forms.native(s)]
    assert lacking == []
