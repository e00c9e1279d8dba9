"""`asc.range` and `asc.static_range`: ranges that say whether a loop is unrolled."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any


class _Range:
    """Bounds as for `range`; outside a kernel it iterates as `range` does."""

    __slots__ = ("start", "step", "stop")

    def __init__(self, start: Any, stop: Any = None, step: Any = 1) -> None:
        if stop is None:
            start, stop = 0, start
        if type(step) is int and step == 0:
            raise ValueError("range() arg 3 must not be zero")
        self.start = start
        self.stop = stop
        self.step = step

    def __iter__(self) -> Iterator[int]:
        return iter(builtins.range(self.start, self.stop, self.step))


class range(_Range):
    """`asc.range(start, stop, step)`: a loop over it is always a C++ loop."""

    __slots__ = ()


class static_range(_Range):
    """`asc.static_range(start, stop, step)`: a loop over it is always unrolled."""

    __slots__ = ()
