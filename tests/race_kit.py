"""Kernels under every schedule, for tests of races."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import asctrace as asc

SCHEDULES = [("program", 0), ("late", 0), *(("random", seed) for seed in range(20))]
TILE = 64
SAMPLES = Path(__file__).resolve().parent.parent / "samples"


def outcome(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    schedule: str,
    seed: int,
    blocks: int = 1,
    **options: Any,
) -> tuple[list[Any], list[Any]]:
    """Findings of a launch and copies of the arrays after it; `options` are those of `asc.jit`."""
    kernel = asc.jit(fn, sim=asc.SimParams(schedule=schedule, seed=seed), **options)
    copies = [np.copy(a) if isinstance(a, np.ndarray) else a for a in args]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            kernel[blocks](*copies)
        except asc.KernelError as problem:
            return problem.findings, copies
    return [w.message.finding for w in caught if isinstance(w.message, asc.KernelWarning)], copies


def marked(fn: Callable[..., Any], mark: str) -> int:
    """The line of a function that ends in the comment `# mark`."""
    lines, start = inspect.getsourcelines(fn)
    (line,) = (k for k, text in enumerate(lines, start) if text.rstrip().endswith(f"# {mark}"))
    return line


def check_racy(
    fn: Callable[..., Any], args: tuple[Any, ...], order: str, event: str, size: int = TILE * 4
) -> None:
    """One finding, between the lines marked `first` and `second`, under every schedule."""
    for schedule, seed in SCHEDULES:
        findings, _ = outcome(fn, args, schedule, seed)
        races = [f for f in findings if f.code == "AT0208"]
        assert len(races) == 1, [str(f) for f in findings]
        (race,) = races
        assert race.severity == "error"
        lines = marked(fn, "first"), marked(fn, "second")
        assert tuple(span.line for span in reversed(race.spans)) == lines
        assert race.message.startswith(f"{order} without order: ")
        assert f"HardEvent.{event} is missing" in race.message
        assert f"asc.HardEvent.{event}" in race.hint
        assert f"line {lines[1]}" in race.hint
        start, stop = _bytes(race.message)
        assert stop - start == size


def _bytes(message: str) -> tuple[int, int]:
    words = message.split("bytes ")[1].split()
    return int(words[0]), int(words[2]) + 1


def check_clean(
    fn: Callable[..., Any], args: tuple[Any, ...], expected: Any, blocks: int = 1
) -> None:
    """Silence, and `expected` in the last array, under every schedule."""
    for schedule, seed in SCHEDULES:
        findings, arrays = outcome(fn, args, schedule, seed, blocks)
        assert findings == [], [str(f) for f in findings]
        np.testing.assert_array_equal(
            next(a for a in reversed(arrays) if isinstance(a, np.ndarray)), expected
        )


def tensor(address: Any, offset: Any = 0) -> Any:
    result = asc.GlobalTensor()
    result.set_global_buffer(address + offset)
    return result


def sync(event: Any, wanted: Any = True) -> None:
    if wanted:
        asc.set_flag(event, 0)
        asc.wait_flag(event, 0)


def vectors(tiles: int = 1) -> tuple[Any, Any]:
    x = np.arange(1, tiles * TILE + 1, dtype=np.float32)
    return x, np.zeros_like(x)
