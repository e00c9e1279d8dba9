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
from asctrace.tracer.ops.spec import TABLE
from docs import coverage, operations
from docs.generate import DIFFERS, PAGES, REFERENCE
from tests import op_examples, reference
from tests.support import ACCEPTED, REFUSED

DOCS = Path(__file__).parent.parent / "docs"
NAMES = [row.name for rows in ACCEPTED.values() for row in rows]


@pytest.mark.parametrize("page", PAGES)
def test_page_is_current(page: str) -> None:
    assert (DOCS / page).read_text() == PAGES[page](), "run python -m docs.generate"


def test_no_page_is_left_over() -> None:
    assert {f"api/{path.name}" for path in (DOCS / "api").iterdir()} <= PAGES.keys()


def test_every_row_is_on_one_page() -> None:
    shown = [spec.name for page in operations.PAGES for spec in operations.rows_of(page)]
    assert sorted(shown) == sorted(TABLE)


@pytest.mark.parametrize("page", [p for p in operations.PAGES if p.name != "expressions"])
def test_a_page_has_what_its_rows_say(page: operations.Page) -> None:
    text = (DOCS / "api" / f"{page.name}.md").read_text()
    sections = dict(part.split("\n\n", 1) for part in text.split("\n## ")[1:])
    for spec in operations.rows_of(page):
        section = sections[operations.title_of(spec)]
        assert section.startswith(f"{spec.doc}\n")
        for form in spec.forms:
            example = op_examples.shown(spec, form)
            assert f"\n{example.python}\n" in section
            assert all(f"\n{line}\n" in section for line in example.lines)
        for arch, dtypes in spec.dtypes.items():
            line = next(line for line in section.splitlines() if re.match(rf"\|.*\b{arch}\b", line))
            assert all(re.search(rf"\b{dtype.name}\b", line) for dtype in dtypes)
        for check in spec.checks:
            assert f"\n- {' '.join((check.__doc__ or '').split(chr(10) * 2)[0].split())}" in section


def test_the_count_of_functions(capsys: pytest.CaptureFixture[str]) -> None:
    text = coverage.counts(list(reference.coverage()))
    assert f"\n{text}" in (DOCS / "api_coverage.md").read_text()
    scope = r"(\d+) of \1 functions of the basic files in scope: traced, lowered, simulated"
    assert re.match(rf"{scope}\. The {len(reference.MISSING)} others", text)
    with capsys.disabled():
        print(f"\n{text}", end="")


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
