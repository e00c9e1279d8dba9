"""Plain functions of the language that record nothing by themselves. Imports nothing."""

from __future__ import annotations

from typing import Any


def ceildiv(a: Any, b: Any) -> Any:
    """`a / b` rounded up, for integers with a positive `b`; constants and runtime scalars alike."""
    return (a + (b - 1)) // b
