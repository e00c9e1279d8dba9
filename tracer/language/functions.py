"""Plain functions of the language that record nothing by themselves."""

from __future__ import annotations

from typing import Any

from ..diagnostics import error
from ..trace import Value, current, describe


def ceildiv(a: Any, b: Any) -> Any:
    """`a / b` rounded up, for integers with a positive `b`; constants and runtime scalars alike."""
    return (a + (b - 1)) // b


def static_assert(test: bool, message: str | None = None) -> None:
    """Stop tracing with AT0111 unless `test`, a constant, is true."""
    if isinstance(test, Value):
        raise error(
            "AT0107",
            f"static_assert of {describe(test)}",
            current("static_assert").site(),
            hint="only constants are known while tracing: assert checks runtime values, on the "
            "device",
        )
    if not test:
        raise error(
            "AT0111",
            message or "static_assert failed",
            current("static_assert").site(),
            hint="the condition is about constants: dtypes, ConstExpr arguments, Python values",
        )


def ascend_is_aic() -> bool:
    """Whether the kernel runs on a cube core (`ASCEND_IS_AIC`): False, known while tracing.

    asctrace makes kernels of vector cores. Raises AT0105 outside a kernel.
    """
    current("ascend_is_aic")
    return False


def ascend_is_aiv() -> bool:
    """Whether the kernel runs on a vector core (`ASCEND_IS_AIV`): True, known while tracing.

    asctrace makes kernels of vector cores. Raises AT0105 outside a kernel.
    """
    current("ascend_is_aiv")
    return True
