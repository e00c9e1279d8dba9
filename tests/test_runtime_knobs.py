"""Settings: values, defaults, precedence over nothing."""

import os

import pytest

import asctrace as asc
from asctrace.runtime import knobs


@pytest.mark.parametrize("knob", knobs.ALL, ids=lambda knob: knob.name)
def test_every_knob_is_documented(
    knob: knobs.Knob[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert knob.name.startswith("ASCTRACE_")
    assert knob.doc.endswith(".")
    assert knob.values
    monkeypatch.delenv(knob.name, raising=False)
    assert knob.get() == knob.default


def test_all_lists_every_knob() -> None:
    found = [value for value in vars(knobs).values() if isinstance(value, knobs.Knob)]
    assert found == list(knobs.ALL)


@pytest.mark.parametrize(
    ("knob", "text", "value"),
    [
        (knobs.VERBOSE, "1", True),
        (knobs.VERBOSE, "TRUE", True),
        (knobs.VERBOSE, "0", False),
        (knobs.VERBOSE, "", False),
        (knobs.BACKEND, "sim", "sim"),
        (knobs.SOC, "Ascend910B3", "Ascend910B3"),
        (knobs.UNROLL_LIMIT, "17", 17),
    ],
)
def test_values(
    knob: knobs.Knob[object], text: str, value: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(knob.name, text)
    assert knob.get() == value


@pytest.mark.parametrize(
    ("knob", "text"),
    [(knobs.VERBOSE, "maybe"), (knobs.BACKEND, "gpu"), (knobs.UNROLL_LIMIT, "-1"),
     (knobs.UNROLL_LIMIT, "many")],
)  # fmt: skip
def test_impossible_value(
    knob: knobs.Knob[object], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(knob.name, text)
    with pytest.raises(asc.KernelError) as caught:
        knob.get()
    assert caught.value.code == "AT0401"
    assert f"{knob.name}={text!r}" in caught.value.findings[0].message
    assert knob.values in caught.value.findings[0].hint


def test_raw_follows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASCTRACE_SOC", raising=False)
    before = knobs.code_state()
    assert knobs.SOC.raw() is None
    monkeypatch.setenv("ASCTRACE_SOC", "a")
    assert os.fsdecode(knobs.SOC.raw()) == "a"
    assert knobs.code_state() != before
    monkeypatch.delenv("ASCTRACE_SOC")
    assert knobs.code_state() == before


def test_code_state_has_every_knob_that_affects_code() -> None:
    assert len(knobs.code_state()) == sum(knob.affects_code for knob in knobs.ALL)
