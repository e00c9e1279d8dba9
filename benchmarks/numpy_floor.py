"""The simulated work in plain NumPy: what no simulator in Python can beat."""

import numpy as np

from .timing import median_seconds


def vadd() -> float:
    """Seconds for 1 Mi float32."""
    x = np.ones(1 << 20, np.float32)
    z = np.empty_like(x)
    return median_seconds(lambda: np.add(x, x, out=z))


def softmax() -> float:
    """Seconds for 1024 x 1024 float32, along the rows."""
    x = np.linspace(-4, 4, 1 << 20, dtype=np.float32).reshape(1024, 1024)

    def run() -> None:
        e = np.exp(x - x.max(axis=1, keepdims=True))
        e /= e.sum(axis=1, keepdims=True)

    return median_seconds(run)
