"""`asc.range` and `asc.static_range`: ranges that say how their loop is emitted.

The VM recognises the two classes; outside a kernel they iterate like Python's `range`. Imports
nothing from the project.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any


class _Range:
    """`start`, `stop` and `step` as given; runtime scalars are allowed."""

    __slots__ = ("start", "step", "stop")

    def __init__(self, start: Any, stop: Any = None, step: Any = 1) -> None:
        if stop is None:
            start, stop = 0, start
        if isinstance(step, int) and step == 0:
            raise ValueError(f"{type(self).__name__}() step must not be zero")
        self.start = start
        self.stop = stop
        self.step = step

    def __iter__(self) -> Iterator[int]:
        return iter(builtins.range(self.start, self.stop, self.step))

    def __len__(self) -> int:
        return len(builtins.range(self.start, self.stop, self.step))

    def __repr__(self) -> str:
        return f"asc.{type(self).__name__}({self.start}, {self.stop}, {self.step})"


class range(_Range):
    """`range(stop)`, `range(start, stop[, step])`: a loop on the device, never unrolled."""

    __slots__ = ()


class static_range(_Range):
    """`static_range(stop)`, `static_range(start, stop[, step])`: unrolled while tracing, always."""

    __slots__ = ()
