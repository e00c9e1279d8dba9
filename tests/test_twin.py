"""Emitted texts, compiled by g++ and run: they do what the simulator does with the trace."""

from __future__ import annotations

import contextlib
import io
import re
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
from tests.test_block_sync import MEETINGS, by_events, ring, ring_arguments
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
    monkeypatch.setattr(compare, "_pending", None)
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


# -- blocks that wait for one another -------------------------------------------------------------


@pytest.mark.parametrize("meet", MEETINGS)
def test_blocks_that_wait(meet: Any, compared: Any) -> None:
    args = ring_arguments(4, meet)
    asc.jit(ring)[4](*args)
    np.testing.assert_array_equal(args[3], np.roll(args[0], -args[0].size // 4))
    assert set(compared) == {"compared"}


def test_a_set_that_the_text_lacks_is_waited_for_for_ever() -> None:
    args = ring_arguments(3, by_events)
    trace = asc.jit(ring).trace(*args).trace
    text = emit(trace)
    assert text.count("IBSet<") == 2
    text = re.sub(r".*IBSet<.*\n", "", text, count=1)
    with pytest.raises(KernelError, match=r"AT0212.*waits for ever"):
        run_text(text, trace, [*args[:4], 1], 3)


# -- what the twin found --------------------------------------------------------------------------


@asc.jit
def tenths(x: asc.GlobalAddress, z: asc.GlobalAddress) -> None:
    x_gm, z_gm = asc.GlobalTensor(), asc.GlobalTensor()
    x_gm.set_global_buffer(x)
    z_gm.set_global_buffer(z)
    a = x_gm.get_value(0)
    z_gm.set_value(0, a == 0.1)
    z_gm.set_value(1, a * 0.1 == 0.00999)
    if a <= 0.1:
        z_gm.set_value(2, 1)


@pytest.mark.parametrize("dtype", [asc.float16, asc.bfloat16], ids=str)
def test_constants_beside_16_bit_floats_are_rounded_to_them(dtype: Any, compared: Any) -> None:
    x, z = np.full(4, 0.1).astype(dtype.np), np.zeros(4, np.int32)
    tenths[1](x, z)
    assert z.tolist() == [1, int(x[0] * x[0] == dtype.np.type(0.00999)), 1, 0]
    assert set(compared) == {"compared"}


def test_what_cpp_does_not_define_is_counted(compared: Any) -> None:
    @asc.jit
    def kernel(x: asc.GlobalAddress, f: float) -> None:
        tensor = asc.GlobalTensor()
        tensor.set_global_buffer(x)
        tensor.set_value(0, f)

    x = np.zeros(2, np.int32)
    kernel[1](x, 1e10)
    assert x[0] == 2**31 - 1
    (reason,) = compared
    assert reason.startswith("not defined by C++: a float too large for an integer")


# -- what is printed ------------------------------------------------------------------------------


def says(x: asc.GlobalAddress, n: int, f: float, half: bool) -> None:
    tensor = asc.GlobalTensor()
    tensor.set_global_buffer(x)
    print("n =", n, "f =", f, "100%", half)
    asc.printf("%d %ld %f %x\n", n, n, f, n)
    asc.dump_tensor(tensor, n, 4)


def test_prints_are_compared(compared: Any, capsys: pytest.CaptureFixture[str]) -> None:
    asc.jit(says)[1](np.arange(8, dtype=np.float16), -7, 0.1, True)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == ["n = -7 f = 0.1 100% True", "-7 -7 0.100000 fffffff9"]
    assert lines[2].startswith("DumpTensor: desc=4294967289, ")
    assert lines[3:] == ["[0.000000, 1.000000, 2.000000, 3.000000]"]
    assert set(compared) == {"compared"}


@pytest.mark.parametrize(
    ("before", "after"),
    [('"n = %d', '"m = %d'), ("n, n, f, n", "n, n, f + 1, n"), ("%f 100", "%.1f 1000")],
)
def test_a_fault_in_what_is_printed_is_seen(
    before: str, after: str, compared: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(trace: Trace) -> str:
        text = emit(trace)
        assert before in text
        return text.replace(before, after, 1)

    monkeypatch.setattr(compare, "emit", wrong)
    with pytest.raises(KernelError, match="the text prints"):
        asc.jit(says)[1](np.arange(8, dtype=np.float16), -7, 0.1, True)


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
