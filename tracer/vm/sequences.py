"""Comparison of tuples, lists and dicts that hold runtime values, as Python orders them.

CPython would ask each pair of elements for its truth at once; here the answers become one
condition.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from ..language.scalar import Scalar, logical_not
from .objects import binary

if TYPE_CHECKING:
    from .machine import Machine

_PLAIN: dict[str, Any] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def holds_runtime(value: Any) -> bool:
    """Whether a container has a runtime scalar in it, at any depth."""
    if isinstance(value, Scalar):
        return True
    if isinstance(value, dict):
        return any(map(holds_runtime, value.values()))
    return isinstance(value, list | tuple) and any(map(holds_runtime, value))


def compare(vm: Machine, op: str, a: Any, b: Any) -> Any:
    """`a op b` for two containers of one type; a Python bool where constants decide."""
    if isinstance(a, dict) and op not in ("==", "!="):
        return _PLAIN[op](a, b)
    if op == "==":
        return _equal(vm, a, b)
    if op == "!=":
        equal = _equal(vm, a, b)
        return logical_not(equal) if isinstance(equal, Scalar) else not equal
    return _ordered(vm, op, a, b)


def _equal(vm: Machine, a: Any, b: Any) -> Any:
    from .protocols import both

    if len(a) != len(b):
        return False
    keys = list(a) if isinstance(a, dict) else range(len(a))
    result: Any = True
    for key in keys:
        if isinstance(b, dict) and key not in b:
            return False
        x, y = a[key], b[key]
        result = both(vm, result, True if x is y else _truth(vm, binary(vm, "==", x, y)))
        if result is False:
            return False
    return result


def _ordered(vm: Machine, op: str, a: Any, b: Any) -> Any:
    """The first elements that differ decide; without any, the lengths."""
    from .protocols import both, either

    result: Any = _PLAIN[op](len(a), len(b))
    strict = op[0]
    for x, y in reversed(list(zip(a, b, strict=False))):
        if x is y:
            continue
        equal = _truth(vm, binary(vm, "==", x, y))
        decided = _truth(vm, binary(vm, strict, x, y))
        result = either(vm, decided, both(vm, equal, result))
    return result


def _truth(vm: Machine, value: Any) -> Any:
    from .protocols import truth_of

    return value if isinstance(value, Scalar | bool) else truth_of(vm, value)
