"""The table of handlers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..frame import Frame

if TYPE_CHECKING:
    from ..machine import Machine

Handler = Callable[["Machine", Frame, Any], Any]
HANDLERS: dict[str, Handler] = {}


def handles(*names: str) -> Callable[[Handler], Handler]:
    """Register a handler for canonical instructions."""

    def add(function: Handler) -> Handler:
        for name in names:
            HANDLERS[name] = function
        return function

    return add
