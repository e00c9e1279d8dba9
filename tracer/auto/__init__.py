"""Automatic tensors: `expand` gives them buffers and puts synchronisation between their users.

Runs once, when a kernel with a `LocalTensorAuto` has been traced, and rewrites the trace into
plain operations, so that checks, text and simulator know nothing of it: `place` chooses the
buffers, `order` the events, over the places in memory that `memory` finds behind each operand.
"""

from __future__ import annotations

from ..trace import Trace
from .memory import Memory
from .order import Order
from .place import place
from .setup import Setup

__all__ = ["expand"]


def expand(trace: Trace) -> None:
    """Place and synchronise the automatic tensors of a finished trace; AT0308 where it cannot."""
    memory = Memory(trace)
    if not memory.tensors:
        return
    setup = Setup(trace, memory)
    place(trace, memory, setup)
    Order(trace, memory, setup).run()
    setup.insert()
