"""Kernels run in the simulator, warm, launch included."""

import numpy as np

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


def _softmax(detect_races: bool) -> float:
    kernel = asc.jit(
        sample("softmax", "softmax_kernel"), sim=asc.SimParams(detect_races=detect_races)
    )
    x = np.linspace(-4, 4, 1 << 20, dtype=np.float32).reshape(1024, 1024)
    y = np.zeros_like(x)
    seconds = median_seconds(lambda: kernel[8](x, y, 1024, 1024), seconds=2)
    powers = np.exp(x.astype(np.float64) - x.max(axis=1, keepdims=True))
    if np.abs(y - powers / powers.sum(axis=1, keepdims=True)).max() > 1e-7:
        raise NotAvailable("the result is wrong, so the time means nothing")
    return seconds


def softmax() -> float:
    """Seconds for 1024 x 1024 float32: 8 blocks, tiles of 10 rows; races not looked for."""
    return _softmax(detect_races=False)


def softmax_races() -> float:
    """The same with the search for races, as a launch does by default."""
    return _softmax(detect_races=True)
