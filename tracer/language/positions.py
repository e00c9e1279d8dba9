"""Which memories there are behind positions on the chip that a kernel is traced for."""

from __future__ import annotations

from typing import Any

from ..diagnostics import error
from ..trace import current

#: What the short names of memories stand for.
_NAMES = {"BT": "bias table", "FB": "fixpipe buffer"}


def require_memory(what: str, position: Any, memory: str) -> None:
    """AT0304 for something at a position, or of a `Hardware`, that the chip does not have."""
    recorder = current(what)
    chip = recorder.trace.chip
    if memory in chip.memory:
        return
    raise error(
        "AT0304",
        f"a {what} at {position.name}: {chip.name} has no {_NAMES.get(memory, memory)}",
        recorder.site(),
        hint=f"{chip.name} has {', '.join(chip.memory)}",
    )
