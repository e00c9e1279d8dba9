"""When straight code becomes functions, for tests."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator

from asctrace.tracer.vm import program

#: At once, after some rounds, as usual.
_CHOICES = (0, 3, program.WARM)


@contextlib.contextmanager
def warm_after(times: int) -> Iterator[None]:
    """Programs become functions when they have run more than so many times."""
    usual, program.WARM = program.WARM, times
    try:
        yield
    finally:
        program.WARM = usual


def choice(text: str) -> int:
    """A number of times for `warm_after`, always the same for a text."""
    return _CHOICES[zlib.crc32(text.encode()) % len(_CHOICES)]
