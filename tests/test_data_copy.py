"""Every overload of the copies against bytes worked out by hand; boundaries, bounds, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from asctrace.tracer.diagnostics import KernelError
from tests.copy_kit import (
    ANY,
    GLOBAL,
    PLANS,
    REGION,
    ROWS,
    Case,
    cases,
    expected,
    plan_of,
    run,
    values,
)

CASES = [pytest.param(case, id=str(case)) for case in cases()]


def test_every_overload_has_a_reference() -> None:
    assert PLANS.keys() == {(spec.name, form.name) for spec in ROWS for form in spec.forms}
    assert len(CASES) > 200


def memories(case: Case, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    local = case.dst if case.dst != "GM" else case.src
    return {
        "GM": np.frombuffer(rng.bytes(GLOBAL), np.uint8).copy(),
        local: np.frombuffer(rng.bytes(REGION), np.uint8).copy(),
    }


def agrees(case: Case, numbers: Any, starts: tuple[int, int], seed: int, runtime: bool) -> None:
    before = memories(case, seed)
    plan = plan_of(case, numbers)
    want, unknown = expected(case, plan, before, starts)
    got = run(case, numbers, before, starts, runtime)
    for name, data in got.items():
        differ = data != want[name]
        if name == case.dst:
            differ &= ~unknown
        places = np.flatnonzero(differ)
        found = [(int(p), int(data[p]), int(want[name][p])) for p in places[:8]]
        assert not found, f"(byte of {name}, got, wanted): {found} for {numbers} at {starts}"


@pytest.mark.parametrize("case", CASES)
def test_agrees_with_single_bytes(case: Case) -> None:
    """Random numbers and places; a seed for the data; runtime numbers half of the time.

    All bytes of both memories are compared, so that what is beside the copy must not change.
    """

    @settings(
        max_examples=4,
        phases=[Phase.generate],
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(numbers=values(case), data=st.data(), seed=st.integers(0, 2**32 - 1))
    def check(numbers: Any, data: st.DataObject, seed: int) -> None:
        plan = plan_of(case, numbers)
        reach = [
            max((row[0] for row in plan), default=0),
            max((row[1] for row in plan if isinstance(row[1], int)), default=0),
        ]
        starts = []
        for side, memory in enumerate((case.dst, case.src)):
            step = case.size if memory == "GM" else 32
            room = (GLOBAL if memory == "GM" else REGION) - reach[side] - 1
            assume(room > 0)
            starts.append(data.draw(st.integers(0, room // step)) * step)
        if case.src == case.dst and plan:
            written = {starts[0] + to for to, _ in plan}
            read = {starts[1] + at for _, at in plan if isinstance(at, int)}
            same = all(starts[0] + to == starts[1] + at for to, at in plan if isinstance(at, int))
            if written & read and not same:
                with pytest.raises(KernelError, match=f"AT0117: {case.spec.name} writes .* share"):
                    agrees(case, numbers, (starts[0], starts[1]), seed, False)
                return
        agrees(case, numbers, (starts[0], starts[1]), seed, data.draw(st.booleans()))

    check()


def test_undefined_bytes_are_in_the_plans() -> None:
    """The kit knows what is not defined: the end of a slot without padding."""
    (case,) = (c.values[0] for c in CASES if c.id == "2201-data_copy_pad-ext_in-GM-UB-float32")
    assert isinstance(case, Case)
    plan = plan_of(case, ((1, 12, 0, 0, 0), (True, 0, 0, 1.0)))
    assert [start for _, start in plan] == [*range(12), *[ANY] * 20]
