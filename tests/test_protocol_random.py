"""Random protocols: what the checks say of a kernel never contradicts its runs."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st

from asctrace.lowering.checks import check
from asctrace.tracer.diagnostics import Finding
from tests.protocol_kit import Built, large_plan, plans

_INPUTS = [(a, b) for a in (0, 1, 2, 5) for b in (0, 1, 3)]


def key(finding: Finding) -> tuple[str, str, Any]:
    return finding.code, finding.message, finding.spans[0].line


def agree(shapes: list[tuple[int, int]], plan: list[Any]) -> None:
    """Check the kernel of a plan, and run it with many inputs."""
    built = Built(shapes, plan)
    note(built.kernel.trace.dump())
    found = check(built.kernel.trace)
    errors = {key(f) for f in found if f.severity == "error"}
    left = {key(f) for f in found if f.severity == "warning" and not f.notes}
    for numbers in _INPUTS:
        failed, warnings = built.run(*numbers)
        note(f"{numbers}: {failed or 'clean'}")
        if errors:
            # An error happens in every run, whatever its input.
            assert failed is not None, (numbers, errors)
        elif failed is None:
            # What is left at the end on every path is left in each run that is clean.
            assert left <= {key(f) for f in warnings}, (numbers, left)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3)), min_size=2, max_size=2), plans)
def test_small_protocols(shapes: list[tuple[int, int]], plan: list[Any]) -> None:
    agree(shapes, plan)


@settings(max_examples=120, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(st.integers(0, 2**32))
def test_large_protocols(seed: int) -> None:
    """`seed` is shown when it fails: `large_plan(seed)` is the protocol."""
    agree(*large_plan(seed))


def test_protocols_without_branches() -> None:
    """Straight on, what the checks find first is what the run ends with."""
    wrong = 0
    for seed in range(400):
        shapes, plan = large_plan(seed, nesting=0)
        built = Built(shapes, plan)
        found = [f for f in check(built.kernel.trace) if f.severity == "error"]
        failed, _ = built.run(1, 1)
        assert [key(f) for f in found[:1]] == ([key(failed)] if failed else []), seed
        wrong += bool(found)
    assert 40 < wrong < 360
