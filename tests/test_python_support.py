"""Every construct of the corpus runs: values against expectation and CPython."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support import ACCEPTED
from tests.support.rows import Accepted, Run, by_cpython, launch

RUNS = [
    pytest.param(row, run, id=f"{row.name}-{number}")
    for rows in ACCEPTED.values()
    for row in rows
    for number, run in enumerate(row.runs)
]


@pytest.mark.parametrize(("row", "run"), RUNS)
def test_value(row: Accepted, run: Run) -> None:
    out = launch(row.source, run.args, row.dtype)
    assert out[: len(run.out)].tolist() == run.out


@pytest.mark.parametrize(("row", "run"), [p for p in RUNS if p.values[0].same])
def test_cpython_agrees(row: Accepted, run: Run) -> None:
    assert by_cpython(row, run.args)[: len(run.out)].tolist() == run.out


@pytest.mark.parametrize(
    "row", [pytest.param(r, id=r.name) for rows in ACCEPTED.values() for r in rows]
)
def test_output(row: Accepted, capsys: Any) -> None:
    for run in row.runs:
        launch(row.source, run.args, row.dtype)
    assert capsys.readouterr().out == row.prints


def test_names_are_unique() -> None:
    names = [row.name for rows in ACCEPTED.values() for row in rows]
    assert sorted(set(names)) == sorted(names)
