"""Random protocols: what the checks say of a kernel never contradicts its runs."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st

from asctrace.lowering.checks import check
from asctrace.tracer.diagnostics import Finding
from tests.protocol_kit import Built, plans

_INPUTS = [(a, b) for a in (0, 1, 2, 5) for b in (0, 1, 3)]
_CODES = ("AT0202", "AT0204", "AT0108", "AT0103")


def key(finding: Finding) -> tuple[str, str, Any]:
    return finding.code, finding.message, finding.spans[0].line


@settings(
    max_examples=400,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3)), min_size=2, max_size=2), plans)
def test_checks_and_runs_agree(shapes: list[tuple[int, int]], plan: list[Any]) -> None:
    built = Built(shapes, plan)
    note(built.kernel.trace.dump())
    found = check(built.kernel.trace)
    errors = [key(f) for f in found if f.severity == "error"]
    left = [key(f) for f in found if f.severity == "warning" and len(f.spans) == 1 and not f.notes]
    for numbers in _INPUTS:
        failed, warnings = built.run(*numbers)
        note(f"{numbers}: {failed or 'clean'}")
        if errors:
            # An error happens in every run, whatever its input.
            assert failed is not None, (numbers, errors)
        elif failed is None:
            # What is left at the end on every path is left in each run that is clean.
            for warning in left:
                assert warning in {key(f) for f in warnings}, (numbers, warning)
