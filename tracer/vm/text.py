"""Text with runtime values in it: what an f-string of them is, for print and for messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..diagnostics import error
from ..ops import debug
from ..ops.spec import record
from ..trace import Value, current

if TYPE_CHECKING:
    from .machine import Machine

_CONVERSIONS: dict[str, Callable[[Any], str]] = {"s": str, "r": repr, "a": ascii}


class RuntimeText:
    """Pieces of text and runtime values; only `print` and messages take it."""

    __slots__ = ("pieces",)

    def __init__(self, pieces: tuple[Any, ...]) -> None:
        self.pieces = pieces

    def __str__(self) -> str:
        raise error(
            "AT0107",
            "the text of a runtime value is not known while tracing",
            current("str").site(),
            hint="print(...) and assert messages may hold runtime values, other text may not",
        )

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return str(self)

    def static(self) -> str:
        """The text with names in place of the values."""
        return "".join(
            p if isinstance(p, str) else "{" + (p.name or str(p.type)) + "}" for p in self.pieces
        )


def pieces_of(value: Any) -> tuple[Any, ...]:
    """A printed value as pieces."""
    if isinstance(value, RuntimeText):
        return value.pieces
    return (value,) if isinstance(value, Value) else (str(value),)


def format_value(vm: Machine, value: Any, conversion: str | None, spec: Any) -> Any:
    """`format(value, spec)` after an optional conversion."""
    if isinstance(value, Value | RuntimeText) or isinstance(spec, Value | RuntimeText):
        if spec:
            raise error(
                "AT0303",
                f"a runtime value has no format {spec!r} on the device",
                vm.site(),
                hint="print runtime values without a format",
            )
        return RuntimeText(pieces_of(value))
    if conversion is not None:
        value = _CONVERSIONS[conversion](value)
    return format(value, spec)


def join_text(parts: list[Any]) -> Any:
    """Concatenated text."""
    if all(isinstance(p, str) for p in parts):
        return "".join(parts)
    return RuntimeText(tuple(piece for p in parts for piece in pieces_of(p)))


def print_(vm: Machine, *values: Any, sep: Any = " ", end: Any = "\n", **rest: Any) -> None:
    """`print(...)`: the device's printf."""
    if rest:
        raise error(
            "AT0303",
            f"print() takes no {' and no '.join(rest)} on the device",
            vm.site(),
            hint="the device prints to its own log: drop the argument",
        )
    pieces: list[Any] = []
    for k, value in enumerate(values):
        if k:
            pieces.append(" " if sep is None else sep)
        pieces += pieces_of(value)
    pieces.append("\n" if end is None else end)
    record_text(vm, tuple(pieces))


def record_text(vm: Machine, pieces: tuple[Any, ...]) -> None:
    """Record a printf of pieces, neighbouring text joined."""
    joined: list[Any] = []
    for piece in pieces:
        if isinstance(piece, str) and joined and isinstance(joined[-1], str):
            joined[-1] += piece
        elif piece != "" if isinstance(piece, str) else True:
            joined.append(piece)
    record(debug.PRINTF, debug.PRINTF.forms[0], (tuple(joined),), vm)
