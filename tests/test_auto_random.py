"""Random kernels on automatic tensors: no race, no flag set twice, in any order the same."""

from __future__ import annotations

import re

import numpy as np
import pytest

from asctrace.tracer.diagnostics import Finding
from tests.auto_kit import Built

_INPUTS = [(0, 0), (1, 3), (4, 2)]
_SEEDS = range(25)


def _of_tensors(found: list[Finding]) -> list[Finding]:
    """Without copies that write the same part of an array, which these kernels may do."""
    return [f for f in found if not f.message.startswith("two copies on MTE3 write the same ")]


@pytest.mark.parametrize("crowded", [False, True])
def test_every_order_gives_the_same(crowded: bool) -> None:
    """A failure names the seed: `Built(seed, crowded)` is the kernel."""
    flags = shared = 0
    for seed in _SEEDS:
        built = Built(seed, crowded)
        text = built.text()
        flags += text.count("SetFlag")
        shared += text.count(".Get<") - text.count("TBuf<")
        if built.checked():
            # Too many large tensors at once: nothing to run.
            assert {f.code for f in built.checked()} == {"AT0104"}, seed
            continue
        for numbers in _INPUTS:
            found, expected = built.run(numbers, "program", 0)
            found = _of_tensors(found)
            assert found == [], (seed, numbers, [str(f) for f in found])
            for schedule, number in (("late", 0), ("random", seed), ("random", seed + 1)):
                found, arrays = built.run(numbers, schedule, number)
                assert _of_tensors(found) == [], (seed, numbers, schedule)
                np.testing.assert_array_equal(arrays, expected, f"{seed} {numbers} {schedule}")
    assert flags > 60
    assert (shared > 0) is crowded


def test_every_set_has_its_wait() -> None:
    """A set and its wait stand behind one another, whatever jumps there are."""
    pairs = re.compile(r"SetFlag<(\S+)>\((\w+)\);\s+AscendC::WaitFlag<\1>\(\2\);")
    for seed in _SEEDS:
        text = Built(seed).text()
        count = text.count("SetFlag")
        assert count == text.count("WaitFlag") == len(pairs.findall(text)), seed


def test_sharing_changes_nothing() -> None:
    """Where memory is short, a tensor keeps what is needed of it, as where there is enough."""
    compared = shared = 0
    for seed in range(90):
        short, ample = Built(seed, True), Built(seed, True, 1 << 23)
        if short.checked():
            continue
        assert ample.text().count("TBuf<") == ample.text().count(".Get<")
        less = short.text().count("TBuf<") < ample.text().count("TBuf<")
        for numbers in _INPUTS:
            found, expected = ample.run(numbers, check_uninitialised=True)
            if found:
                continue
            found, arrays = short.run(numbers, check_uninitialised=True)
            assert found == [], (seed, numbers, [str(f) for f in found])
            np.testing.assert_array_equal(arrays, expected, f"{seed} {numbers}")
            compared += 1
            shared += less
    assert compared > 30
    assert shared > 5
