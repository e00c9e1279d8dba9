"""The generated pages are what the corpus and the tables make of them now."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest

from asctrace.runtime import knobs
from asctrace.runtime.compiler import CompileOptions
from asctrace.tracer.bytecode import REJECTED
from asctrace.tracer.diagnostics import CODES, Kind
from docs.generate import DIFFERS, PAGES, REFERENCE
from tests.support import ACCEPTED, REFUSED

DOCS = Path(__file__).parent.parent / "docs"
NAMES = [row.name for rows in ACCEPTED.values() for row in rows]


@pytest.mark.parametrize("page", PAGES)
def test_page_is_current(page: str) -> None:
    assert (DOCS / page).read_text() == PAGES[page](), "run python -m docs.generate"


def test_every_construct_has_its_example_and_value() -> None:
    text = (DOCS / "python_support.md").read_text()
    for rows in ACCEPTED.values():
        for row in rows:
            section = text.split(f"\n#### {row.name}\n")[1].split("\n#### ")[0]
            assert row.source in section
            assert all(f"`{run.out}`" in section for run in row.runs) or row.prints in section
    table = text.split("|---|---|---|---|\n")[1].split("\n\n")[0]
    assert [line.split("]")[0].removeprefix("| [") for line in table.splitlines()] == NAMES


def test_every_refusal_has_its_whole_message() -> None:
    text = (DOCS / "python_support.md").read_text()
    golden = Path(__file__).parent / "golden" / "errors"
    for row in REFUSED:
        section = text.split(f"\n### {row.title}\n")[1].split("\n### ")[0]
        assert row.source in section
        assert (golden / f"{row.name}.txt").read_text() in section
    for opcode, (reason, hint) in REJECTED.items():
        line = next(line for line in text.splitlines() if f"`{opcode}`" in line)
        assert line.endswith(f" | {reason} | {hint} |")


def test_every_code_has_an_entry() -> None:
    text = (DOCS / "diagnostics.md").read_text()
    for row in CODES.values():
        section = text.split(f"\n## {row.code}: {row.title}\n")[1].split("\n## ")[0]
        assert f"*{row.kind.value}.* {row.explanation}" in section
        assert f"error {row.code}: " in section


def test_every_construct_was_measured() -> None:
    measured = json.loads(REFERENCE.read_text())
    assert sorted(measured["versions"]) == ["pyasc", "triton"]
    for tool in measured["versions"]:
        assert list(measured[tool]) == NAMES
    for tool, name in DIFFERS:
        assert measured[tool][name] == ""


def test_the_page_of_the_device_has_what_the_code_has() -> None:
    text = (DOCS / "device.md").read_text()
    for field in dataclasses.fields(CompileOptions):
        default = field.default
        shown = "" if default in ("", None) else f"`{default!r}`" if default != 3 else "3"
        shown = "inferred" if default is None else shown
        assert f"| `{field.name}` | {shown}{' ' if shown else ''}| " in text
    for route in knobs.ROUTES[1:]:
        assert f"\n| `{route}` | " in text
    for code, row in CODES.items():
        if code.startswith("AT05"):
            assert f"\n| {code} | " in text
            assert row.kind is Kind.SETUP
    for name in set(re.findall(r"ASCTRACE_\w+", text)):
        assert name in [knob.name for knob in knobs.ALL]
