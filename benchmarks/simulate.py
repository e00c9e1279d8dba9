"""Kernels run in the simulator, warm, launch included."""

import asctrace as asc

from .samples import sample, vadd_arguments
from .timing import NotAvailable, median_seconds


def _vadd(detect_races: bool) -> float:
    kernel = asc.jit(
        sample("add_framework", "vadd_kernel"), sim=asc.SimParams(detect_races=detect_races)
    )
    blocks = 32
    x, y, z, *lengths = vadd_arguments(blocks, tile=2048)
    seconds = median_seconds(lambda: kernel[blocks](x, y, z, *lengths), seconds=2)
    if not (z == x + y).all():
        raise NotAvailable("the result is wrong, so the time means nothing")
    return seconds


def vadd() -> float:
    """Seconds for 1 Mi float32: 32 blocks of 16 tiles of 2048 elements; races not looked for."""
    return _vadd(detect_races=False)


def vadd_races() -> float:
    """The same with the search for races, as a launch does by default."""
    return _vadd(detect_races=True)


def softmax() -> float:
    """Seconds for 1024 x 1024 float32, a row at a time."""
    raise NotAvailable("needs later ops")
