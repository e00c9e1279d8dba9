"""From a Python function to Ascend C text, past every cache."""

import importlib
import warnings
from typing import Any

import numpy as np

from asctrace import KernelWarning

from .samples import sample, vadd_arguments
from .timing import median_seconds

ITERATIONS = (64, 256, 1024, 4096)


def add_framework() -> float:
    """Seconds for the double-buffered vector add of samples/."""
    kernel = sample("add_framework", "vadd_kernel")
    arguments = vadd_arguments()
    return median_seconds(lambda: kernel.lower(*arguments, always_compile=True))


def unrolled(iterations: int = 1024) -> float:
    """Seconds for a loop of that many unrolled iterations."""
    module: Any = importlib.import_module(f"{__package__}.unrolled_kernel")
    x = np.zeros(iterations * module.TILE, np.float32)
    arguments = (x, np.zeros_like(x), iterations, module.TILE)
    with warnings.catch_warnings():
        # That the text is long is the point.
        warnings.simplefilter("ignore", KernelWarning)
        return median_seconds(lambda: module.double_tiles.lower(*arguments, always_compile=True))


def linearity() -> list[tuple[int, float, float]]:
    """Iterations, seconds, and seconds an op: the last column stays level if it is linear."""
    module: Any = importlib.import_module(f"{__package__}.unrolled_kernel")
    times = [(n, unrolled(n)) for n in ITERATIONS]
    return [(n, seconds, seconds / (n * module.OPS)) for n, seconds in times]
