"""The samples under every schedule, and `samples/add.py` with parts of its synchronisation gone."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import asctrace as asc
from tests.race_kit import SAMPLES, SCHEDULES, outcome
from tests.samples import NAMES

#: Sizes of samples on matrices; the others take --size.
SIZES = {
    "layer_norm.py": "--rows 5 --cols 70",
    "softmax.py": "--rows 5 --cols 70",
    "top_k.py": "--rows 5 --columns 70",
    "transpose.py": "--rows 35 --columns 20",
}


@pytest.mark.parametrize("name", NAMES)
def test_samples_are_clean_under_every_schedule(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(str(SAMPLES))
    monkeypatch.setattr(
        sys, "argv", [name, *SIZES.get(name, "--size 2048").split(), "--blocks", "4"]
    )
    jit = asc.jit
    for schedule, seed in SCHEDULES:
        params = asc.SimParams(schedule=schedule, seed=seed)
        monkeypatch.setattr(asc, "jit", lambda fn, p=params, **given: jit(fn, sim=p, **given))
        with pytest.raises(SystemExit) as ended:
            runpy.run_path(str(SAMPLES / name), run_name="__main__")
        printed = capsys.readouterr()
        assert (ended.value.code, printed.err) == (0, ""), (schedule, seed)
        assert printed.out.splitlines()[-1].startswith("matches NumPy"), (schedule, seed)


# -- the synchronisation of add.py ----------------------------------------------------------------

TEXT = (SAMPLES / "add.py").read_text().splitlines()


def line_of(part: str, nth: int = 0) -> int:
    """The number of the line that has a text, or of the `nth` such line."""
    return [k for k, line in enumerate(TEXT, 1) if part in line][nth]


#: Lines of the kernel: the calls that move data and compute, and all events.
LOAD_X, LOAD_Y = line_of("data_copy(x_local"), line_of("data_copy(y_local")
ADD, STORE = line_of("asc.add("), line_of("data_copy(z_gm")
EVENTS = {
    (call, event): [
        k for k, line in enumerate(TEXT, 1) if f"asc.{call}_flag(asc.HardEvent.{event}," in line
    ]
    for call in ("set", "wait")
    for event in ("MTE2_V", "V_MTE3", "MTE3_MTE2")
}
CASES = [(call, event, line) for (call, event), found in EVENTS.items() for line in found]
FIRST_SET, LAST_SET = EVENTS["set", "MTE3_MTE2"]
WAIT, LAST_WAIT = EVENTS["wait", "MTE3_MTE2"]

#: What is found without a line: code, severity, the message's end, the lines of the places.
EXPECTED = {
    ("wait", "MTE2_V"): (
        "AT0208", "read after write", "; the wait for HardEvent.MTE2_V is missing", [ADD, LOAD_X]
    ),
    ("wait", "V_MTE3"): (
        "AT0208", "read after write", "; the wait for HardEvent.V_MTE3 is missing", [STORE, ADD]
    ),
    ("wait", WAIT): (
        "AT0208", "write after read", "; the wait for HardEvent.MTE3_MTE2 is missing", [LOAD_X, ADD]
    ),
    ("wait", LAST_WAIT): (
        "AT0204", "set_flag(MTE3_MTE2, 0)", " is never waited for", [LAST_SET]
    ),
    ("set", "MTE2_V"): (
        "AT0204", "wait_flag(MTE2_V, 0)", " waits for ever: nothing sets the event",
        EVENTS["wait", "MTE2_V"],
    ),
    ("set", "V_MTE3"): (
        "AT0204", "wait_flag(V_MTE3, 0)", " waits for ever: nothing sets the event",
        EVENTS["wait", "V_MTE3"],
    ),
    ("set", FIRST_SET): (
        "AT0204", "wait_flag(MTE3_MTE2, 0)", " comes before its set_flag", [WAIT, LAST_SET]
    ),
    ("set", LAST_SET): (
        "AT0204", "wait_flag(MTE3_MTE2, 0)", " waits for ever: nothing sets the event", [WAIT, WAIT]
    ),
}  # fmt: skip


Without = Callable[..., Any]


@pytest.fixture
def without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Without:
    """Makes the kernel of the sample without some lines."""
    monkeypatch.syspath_prepend(str(SAMPLES))

    def make(*gone: int) -> FunctionType:
        lines = [_blank(line) if k in gone else line for k, line in enumerate(TEXT, 1)]
        path = tmp_path / "add.py"
        path.write_text("\n".join(lines))
        namespace = runpy.run_path(str(path), run_name="sample")
        return namespace["vadd_kernel"].fn  # type: ignore[no-any-return]

    return make


def _blank(line: str) -> str:
    """A statement that does nothing, so that a loop around it stays."""
    return line[: len(line) - len(line.lstrip())] + "pass"


def findings_of(fn: Any, schedule: str, seed: int) -> list[Any]:
    x = np.arange(2 * 16 * 64, dtype=np.float32)
    arguments = (x, x + 1, np.zeros_like(x), 16 * 64)
    findings, arrays = outcome(fn, arguments, schedule, seed, blocks=2)
    if not any(found.severity == "error" for found in findings):
        np.testing.assert_array_equal(arrays[2], 2 * x + 1)
    return findings


@pytest.mark.parametrize(("call", "event", "line"), CASES)
def test_a_line_removed(call: str, event: str, line: int, without: Without) -> None:
    code, begin, end, places = EXPECTED.get((call, line)) or EXPECTED[call, event]
    fn = without(line)
    for schedule, seed in SCHEDULES:
        found = findings_of(fn, schedule, seed)[0]
        assert found.code == code
        assert found.message.startswith(begin)
        assert found.message.endswith(end)
        assert [span.line for span in found.spans] == places
        assert found.severity == ("error" if line != LAST_WAIT else "warning")
        if code == "AT0208":
            assert found.hint.startswith(f"asc.wait_flag(asc.HardEvent.{event}, id) before line ")


@pytest.mark.parametrize(
    ("event", "races"),
    [
        ("MTE2_V", [("read after write", "MTE2_V", [ADD, LOAD_X]),
                    ("read after write", "MTE2_V", [ADD, LOAD_Y]),
                    ("write after read", "MTE3_V", [ADD, STORE])]),
        ("V_MTE3", [("read after write", "V_MTE3", [STORE, ADD]),
                    ("write after read", "V_MTE2", [LOAD_X, ADD]),
                    ("write after read", "V_MTE2", [LOAD_Y, ADD])]),
        ("MTE3_MTE2", [("write after read", "V_MTE2", [LOAD_X, ADD]),
                       ("write after read", "V_MTE2", [LOAD_Y, ADD]),
                       ("write after read", "MTE3_V", [ADD, STORE])]),
    ],
)  # fmt: skip
def test_all_of_an_event_removed(
    event: str, races: list[tuple[str, str, list[int]]], without: Without
) -> None:
    """What an event has ordered by way of a third pipe is in no order either."""
    fn = without(*EVENTS["set", event], *EVENTS["wait", event])
    for schedule, seed in SCHEDULES:
        found = [f for f in findings_of(fn, schedule, seed) if f.code == "AT0208"]
        found = [f for f in found if f.severity == "error"]  # the loads meet as well
        assert [(f.message.split(" without order")[0], f.message.split("; ")[-1],
                 [span.line for span in f.spans]) for f in found] == [
            (order, f"HardEvent.{missing} is missing", places) for order, missing, places in races
        ]  # fmt: skip


def test_nothing_removed(without: Without) -> None:
    assert len(CASES) == 8
    for schedule, seed in SCHEDULES:
        assert findings_of(without(), schedule, seed) == []
