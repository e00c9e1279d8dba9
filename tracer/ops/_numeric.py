"""Arithmetic on NumPy arrays that rows share: rounding after each step, saturation, NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..language.dtypes import DataType


def relu(values: Any) -> Any:
    """The larger of each value and 0; NaN stays."""
    return np.maximum(values, values.dtype.type(0))


def to_integers(values: Any, dtype: DataType, rounded: Callable[[Any], Any]) -> Any:
    """Floats as integers: rounded to whole numbers, then saturated; NaN becomes 0."""
    whole = rounded(np.asarray(values, np.float64))
    # The largest integers have no float64: the first one past the range decides.
    low, high = float(dtype.lo), float(dtype.hi) + (1.0 if dtype.bits < 64 else 0.0)
    inside = (whole >= low) & (whole < high)
    result = np.where(inside, whole, 0.0).astype(dtype.np)
    result[whole < low] = dtype.lo
    result[whole >= high] = dtype.hi
    return result
