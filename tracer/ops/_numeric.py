"""Arithmetic on NumPy arrays that rows share: rounding after each step, saturation, NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np

from ..language.dtypes import DataType, float16
from ..language.enums import RoundMode


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


def between_integers(values: Any, dtype: DataType) -> Any:
    """Integers in another dtype, saturated."""
    info = np.iinfo(values.dtype)
    return np.clip(values, max(dtype.lo, info.min), min(dtype.hi, info.max)).astype(dtype.np)


def narrowed(values: Any, dtype: DataType, mode: RoundMode) -> Any:
    """Numbers as floats of `dtype`, rounded as the mode says; finite ones saturate."""
    nearest = values.astype(dtype.np)
    largest = dtype.np.type(_largest(dtype))
    exact = values.astype(np.longdouble)
    nearest = np.where(np.isfinite(exact) & (exact > 0) & ~np.isfinite(nearest), largest, nearest)
    nearest = np.where(np.isfinite(exact) & (exact < 0) & ~np.isfinite(nearest), -largest, nearest)
    choose = _CHOICE.get(mode)
    if choose is None:
        return nearest
    got = nearest.astype(np.longdouble)
    inexact = np.isfinite(exact) & (got != exact) & (np.abs(exact) <= float(largest))
    lower = np.where(got > exact, np.nextafter(nearest, -largest), nearest)
    upper = np.where(got < exact, np.nextafter(nearest, largest), nearest)
    return np.where(inexact, choose(exact, lower, upper), nearest)


def _largest(dtype: DataType) -> float:
    return {"float16": 65504.0, "bfloat16": 2.0**128 - 2.0**120, "float32": 2.0**128 - 2.0**104}[
        dtype.name
    ]


def _odd(exact: Any, lower: Any, upper: Any) -> Any:
    bits = lower.view(np.uint16 if lower.dtype.itemsize == 2 else np.uint32)
    return np.where(bits & 1, lower, upper)


def _nearest_away(exact: Any, lower: Any, upper: Any) -> Any:
    below, above = exact - lower.astype(np.longdouble), upper.astype(np.longdouble) - exact
    up = (above < below) | ((above == below) & (exact > 0))
    return np.where(up, upper, lower)


#: A mode -> which of the two neighbours an inexact number becomes; others take the nearest, ties to
#: even.
_CHOICE: dict[RoundMode, Callable[[Any, Any, Any], Any]] = {
    RoundMode.CAST_FLOOR: lambda exact, lower, upper: lower,
    RoundMode.CAST_CEIL: lambda exact, lower, upper: upper,
    RoundMode.CAST_TRUNC: lambda exact, lower, upper: np.where(exact > 0, lower, upper),
    RoundMode.CAST_ROUND: _nearest_away,
    RoundMode.CAST_ODD: _odd,
}


def dequantised(values: Any, scale: Any) -> Any:
    """int32 times a scale, rounded to float32 at each step, as float16 that saturates."""
    product = values.astype(np.float32) * np.float32(scale)
    return narrowed(product, float16, RoundMode.CAST_RINT)


def truncated(dividend: Any, divisor: Any) -> Any:
    """The quotient of integers, towards 0; all bits are 1 where the divisor is 0."""
    safe = np.where(divisor == 0, divisor.dtype.type(1), divisor)
    quotient = (dividend - np.fmod(dividend, safe)) // safe
    return np.where(divisor == 0, ~np.zeros_like(quotient), quotient)


# -- approximations -------------------------------------------------------------------------------

#: A bound on the error of a result: the next number up or down. Others are relative, by dtype.
ONE_ULP: Final = "1 ulp"
Bound: TypeAlias = "str | dict[str, float]"


def perturbed(values: Any, bound: Bound, rng: Any) -> Any:
    """Results moved at random within the bound; zeros, infinities and NaN stay."""
    fixed = ~np.isfinite(values) | (values == 0)
    if bound == ONE_ULP:
        steps = rng.integers(-1, 2, values.shape)
        up, down = (np.nextafter(values, values.dtype.type(x)) for x in (np.inf, -np.inf))
        moved = np.where(steps > 0, up, np.where(steps < 0, down, values))
        fixed |= ~np.isfinite(moved)
    else:
        assert not isinstance(bound, str)
        factor = 1 + bound[values.dtype.name] * rng.uniform(-1, 1, values.shape)
        moved = (values.astype(np.float64) * factor).astype(values.dtype)
    return np.where(fixed, values, moved)


# -- reductions -----------------------------------------------------------------------------------


def spread(values: Any, lanes: Any, width: int, fill: Any) -> Any:
    """Values of the last axis at the lanes they belong to, `fill` at all others."""
    if len(lanes) == width:
        return values
    found = np.full((*values.shape[:-1], width), fill, values.dtype)
    found[..., lanes] = values
    return found


def tree_sum(values: Any) -> Any:
    """The sum along the last axis: of neighbours, then of neighbouring sums, each rounded."""
    while values.shape[-1] > 1:
        if values.shape[-1] % 2:
            rest = values[..., -1:]
            values = values[..., 0:-1:2] + values[..., 1::2]
            values = np.concatenate((values, rest), axis=-1)
        else:
            values = values[..., 0::2] + values[..., 1::2]
    return values[..., 0]
