"""`ConstExpr`: the annotation of a parameter that stays a Python object while tracing.

`ConstExpr[int]` is `typing.Annotated[int, ...]`, so type checkers see the plain type and kernel
bodies check as usual. Imports nothing from the project.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, TypeVar, get_args

T = TypeVar("T")


class _Marker:
    """What tells a ConstExpr annotation from any other `Annotated`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ConstExpr"


_MARKER = _Marker()

if TYPE_CHECKING:
    ConstExpr: TypeAlias = Annotated[T, _MARKER]
else:

    class ConstExpr:
        """A parameter whose value the trace is specialised on: `tile: asc.ConstExpr[int]`.

        `ConstExpr(7)` is 7, for code that marks constants at their definition.
        """

        __slots__ = ()

        def __new__(cls, value: Any) -> Any:
            """The value itself."""
            return value

        def __class_getitem__(cls, item: Any) -> Any:
            return Annotated[item, _MARKER]


_WORD = re.compile(r"\bConstExpr\b")


def is_constexpr(annotation: Any) -> bool:
    """Whether an annotation is or contains a ConstExpr; text counts by its spelling."""
    if isinstance(annotation, str):
        return _WORD.search(annotation) is not None
    if annotation is ConstExpr:
        return True
    # typing caches and compares Annotated by its metadata: identity of the marker is enough.
    if any(m is _MARKER for m in getattr(annotation, "__metadata__", ())):
        return True
    return any(is_constexpr(arg) for arg in get_args(annotation))


def constexpr_names(fn: Callable[..., Any]) -> frozenset[str]:
    """Parameters annotated as ConstExpr; text annotations are resolved one by one, if they can be.

    A text that spells an alias (`C[int]` after `C = asc.ConstExpr`) is evaluated in the function's
    globals; what cannot be evaluated is no ConstExpr.
    """
    try:
        annotations = dict(fn.__annotations__)
    except Exception:
        return frozenset()
    names = set()
    for name, annotation in annotations.items():
        if isinstance(annotation, str) and not is_constexpr(annotation):
            annotation = _evaluate(annotation, fn)
        if is_constexpr(annotation):
            names.add(name)
    return frozenset(names)


def _evaluate(text: str, fn: Callable[..., Any]) -> Any:
    """The object an annotation's text names, or None."""
    try:
        return eval(text, dict(getattr(fn, "__globals__", {})))
    except Exception:
        return None
