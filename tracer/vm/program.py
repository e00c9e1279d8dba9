"""What the run loop takes: a code object's instructions as handlers with their arguments."""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType
from typing import Any

from ..bytecode import decode
from .flow import Flow
from .handlers import HANDLERS, loop_header
from .straight import straighten

#: How often a program runs, or a loop of it goes round, before its straight code is made functions:
#: about as often as it takes until they have saved what making them costs.
WARM = 24


class Program:
    """A code object ready to run: handlers with their arguments, and its control flow.

    `singles` has one step an instruction, `ops` what the run loop takes, each with its place.
    """

    __slots__ = ("_first_free", "_flow", "code", "heat", "name", "ops", "singles", "slot_count")

    def __init__(self, code: Any) -> None:
        self.code = code
        self.name = code.code.co_name
        self.slot_count = len(code.slot_names)
        self._first_free = self.slot_count - len(code.code.co_freevars)
        self.singles: list[tuple[Callable[..., Any], Any]] = [
            (HANDLERS[i.op], i.arg) for i in code.instrs
        ]
        self._flow: Flow | None = None
        if any(i.op == "JUMP" and i.arg <= k for k, i in enumerate(code.instrs)) or any(
            i.op.startswith("POP_JUMP") and i.arg <= k for k, i in enumerate(code.instrs)
        ):
            for loop in self.flow.loops.values():
                if not loop.is_for:
                    self.singles[loop.header] = (loop_header, None)
        self.ops: list[tuple[int, Callable[..., Any], Any]] = [
            (k, *single) for k, single in enumerate(self.singles)
        ]
        #: How often it has run; None when that does not matter any more.
        self.heat: int | None = 0

    def warm(self) -> None:
        """It runs, or one of its loops goes round, once more."""
        if self.heat is not None:
            self.heat += 1
            if self.heat > WARM:
                self.heat = None
                for step in straighten(self.code):
                    self.ops[step[0]] = step

    def is_free(self, slot: int) -> bool:
        """Whether a slot holds a cell of the closure."""
        return slot >= self._first_free

    def watch(self, step: Callable[..., Any]) -> None:
        """From now on run each instruction by `step`, also where a run is under way."""
        if self.ops[0][1] is not step:
            self.heat = None
            self.ops[:] = [(k, step, single) for k, single in enumerate(self.singles)]

    @property
    def flow(self) -> Flow:
        """The control-flow analysis, made when first needed."""
        if self._flow is None:
            self._flow = Flow(self.code)
        return self._flow


def program_of(code: CodeType) -> Program:
    """The program of a code object, decoded once."""
    decoded = decode(code)
    if decoded.program is None:
        decoded.program = Program(decoded)
    return decoded.program  # type: ignore[no-any-return]
