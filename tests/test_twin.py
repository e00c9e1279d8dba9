"""Emitted texts, compiled by g++ and run: they do what the simulator does with the trace."""

from __future__ import annotations

import contextlib
import io
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import asctrace as asc
from asctrace.lowering.text import emit
from asctrace.tracer.diagnostics import KernelError
from asctrace.tracer.trace import Trace
from tests.differential import run_examples
from tests.twin import compare
from tests.twin.build import run_text

SAMPLES = Path(__file__).resolve().parent.parent / "samples"

#: Modules that samples share.
NO_SAMPLES = frozenset({"row_tiles", "sample_main", "vector_add"})
NAMES = sorted({path.stem for path in SAMPLES.glob("*.py")} - NO_SAMPLES)


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The counts of kernels that the twin ran behind the simulator."""
    before = dict(compare.COUNTS)
    compare.COUNTS.clear()
    monkeypatch.setattr(compare.simulator, "simulate", compare.simulate)
    monkeypatch.syspath_prepend(str(SAMPLES))
    yield compare.COUNTS
    compare.COUNTS.clear()
    compare.COUNTS.update(before)


def run_sample(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [f"{name}.py"])
    with contextlib.redirect_stdout(io.StringIO()), pytest.raises(SystemExit) as ended:
        runpy.run_path(str(SAMPLES / f"{name}.py"), run_name="__main__")
    assert not ended.value.code


@pytest.mark.parametrize("name", NAMES)
def test_samples_run_as_text(name: str, compared: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run_sample(name, monkeypatch)
    assert set(compared) == {"compared"}


def test_random_control_flow() -> None:
    assert run_examples("twin", 12, 20261129) == 12


# -- faults of lowering ---------------------------------------------------------------------------


@asc.jit
def steps(x: asc.GlobalAddress, z: asc.GlobalAddress, n: int) -> None:
    """Branches, a variable of a loop, and a call whose operands are not alike."""
    x_gm, z_gm = asc.GlobalTensor(), asc.GlobalTensor()
    x_gm.set_global_buffer(x)
    z_gm.set_global_buffer(z)
    total = 0
    for i in range(n):
        value = x_gm.get_value(i)
        if value > 3:
            total += value
            z_gm.set_value(2, value)
        else:
            total -= 1
    z_gm.set_value(0, total)
    z_gm.set_value(1, total - x_gm.get_value(0))


def ran(trace: Trace, text: str) -> list[int]:
    x, z = np.array([5, 1, 9, 3, 7, 2, 8, 4], np.int32), np.zeros(8, np.int32)
    run_text(text, trace, [x, z, 8], 1)
    return [int(v) for v in z[:2]]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("SetValue(1, ", "SetValue(0, "),
        ("value > 3", "value <= 3"),
        ("total += value", "total = value"),
        ("total - value", "value - total"),
    ],
)
def test_a_fault_of_lowering_is_seen(before: str, after: str) -> None:
    x, z = np.zeros(8, np.int32), np.zeros(8, np.int32)
    trace = steps.trace(x, z, 8).trace
    text = emit(trace)
    expected = ran(trace, text)
    assert expected == [5 + 9 + 7 + 8 + 4 - 3, 5 + 9 + 7 + 8 + 4 - 3 - 5]
    assert before in text
    assert ran(trace, text.replace(before, after)) != expected


def test_a_refused_call_is_raised() -> None:
    x, z = np.zeros(8, np.int32), np.zeros(8, np.int32)
    trace = steps.trace(x, z, 8).trace
    with pytest.raises(KernelError, match="AT0201"):
        run_text(emit(trace).replace("SetValue(1, ", "SetValue(1000, "), trace, [x, z, 8], 1)


def test_text_that_is_no_cpp() -> None:
    x, z = np.zeros(8, np.int32), np.zeros(8, np.int32)
    trace = steps.trace(x, z, 8).trace
    with pytest.raises(AssertionError, match=r"g\+\+ refuses the text"):
        run_text(emit(trace).replace("int32_t total", "int32_t other"), trace, [x, z, 8], 1)
