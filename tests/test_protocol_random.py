"""Random protocols: what the checks say of a kernel never contradicts its runs.

And the order of operations does not matter to a kernel without races: late and random schedules
find what program order finds and give the same bytes.
"""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, Phase, example, given, note, settings
from hypothesis import strategies as st

from asctrace.lowering.checks import check
from asctrace.tracer.diagnostics import Finding
from asctrace.tracer.language.enums import HardEvent
from tests.protocol_kit import Built, large_plan, plans

_INPUTS = [(a, b) for a in (0, 1, 2, 5) for b in (0, 1, 3)]

#: Inputs and schedules under which the order of operations is compared.
_ORDERED = [(1, 1), (2, 0), (5, 3)]
_SCHEDULES: list[dict[str, Any]] = [
    {"schedule": "late"}, *({"schedule": "random", "seed": seed} for seed in range(3))
]  # fmt: skip


def key(finding: Finding) -> tuple[str, str, Any]:
    return finding.code, finding.message, finding.spans[0].line


def told(finding: Finding) -> tuple[Any, ...]:
    """`key`, without the line of a flag: of those that both arms set, the checks tell of one."""
    return key(finding)[: 2 if finding.code == "AT0204" else 3]


def agree(shapes: list[tuple[int, int]], plan: list[Any]) -> None:
    """Check the kernel of a plan, and run it with many inputs and under several schedules."""
    built = Built(shapes, plan)
    note(built.kernel.trace.dump())
    found = check(built.kernel.trace)
    errors = {key(f) for f in found if f.severity == "error"}
    left = {told(f) for f in found if f.severity == "warning" and not f.notes}
    for numbers in _INPUTS:
        failed, warnings, _ = built.run(*numbers)
        note(f"{numbers}: {failed or 'clean'}")
        if errors:
            # An error happens in every run, whatever its input.
            assert failed is not None, (numbers, errors)
        elif failed is None:
            # What is left at the end on every path is left in each run that is clean.
            assert left <= {told(f) for f in warnings}, (numbers, left)
    in_any_order(built)


def in_any_order(built: Built) -> None:
    """Every schedule finds the same; without errors and races it gives the same bytes."""
    plain, said = runs(built), runs(built, detect_races=True)
    for schedule in _SCHEDULES:
        again = runs(built, detect_races=True, **schedule)
        assert [run[:2] for run in again] == [run[:2] for run in said], schedule
        blind = runs(built, **schedule)
        for (errors, _, expected), (stopped, _, got), run in zip(plain, blind, said, strict=True):
            assert stopped[:1] == errors[:1], schedule
            if not run[0]:
                assert got == expected, schedule


def runs(built: Built, **params: Any) -> list[tuple[list[Any], list[Any], list[bytes]]]:
    """The keys of the errors and warnings of a run, and the arrays after it, for each input."""
    found = []
    for numbers in _ORDERED:
        failed, others, arrays = built.run(*numbers, **params)
        all_found = [*([] if failed is None else [failed]), *others]
        errors, warnings = (
            [key(f) for f in all_found if (f.severity == "error") is wanted]
            for wanted in (True, False)
        )
        found.append((errors, warnings, arrays))
    return found


@settings(max_examples=45, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@example([(0, 1)] * 3, [("if", 0, [("set", HardEvent.MTE3_V, 1)], [("set", HardEvent.MTE3_V, 1)])])
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3)), min_size=3, max_size=3), plans)
def test_small_protocols(shapes: list[tuple[int, int]], plan: list[Any]) -> None:
    agree(shapes, plan)


@settings(max_examples=50, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(st.integers(0, 2**32))
def test_large_protocols(seed: int) -> None:
    """`seed` is shown when it fails: `large_plan(seed)` is the protocol."""
    agree(*large_plan(seed))


def test_enough_protocols_are_compared() -> None:
    """A share of the runs is free of errors, so that their results were compared."""
    clean = sum(
        not errors
        for seed in range(40)
        for errors, _, _ in runs(Built(*large_plan(seed)), detect_races=True)
    )
    assert 20 < clean < 100


def test_protocols_without_branches() -> None:
    """Straight on, what the checks find first is what the run ends with."""
    wrong = 0
    for seed in range(250):
        shapes, plan = large_plan(seed, nesting=0)
        built = Built(shapes, plan)
        found = [f for f in check(built.kernel.trace) if f.severity == "error"]
        failed, _, _ = built.run(1, 1)
        assert [key(f) for f in found[:1]] == ([key(failed)] if failed else []), seed
        wrong += bool(found)
    assert 25 < wrong < 225
