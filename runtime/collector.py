"""`paused`: Python's cyclic garbage collector held still while a kernel is traced and lowered.

Nothing that is recorded becomes garbage before the end, so each collection would only look at
everything again, and a longer trace would cost more for each operation. Imports nothing from the
project.
"""

from __future__ import annotations

import gc
import threading


class _Paused:
    """A context manager; the outermost one of all threads puts the collector back."""

    __slots__ = ("_depth", "_enabled", "_lock")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depth = 0
        self._enabled = False

    def __enter__(self) -> None:
        with self._lock:
            if self._depth == 0:
                self._enabled = gc.isenabled()
                gc.disable()
            self._depth += 1

    def __exit__(self, *exc: object) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0 and self._enabled:
                gc.enable()


paused = _Paused()
