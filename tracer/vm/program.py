"""What the run loop takes: a code object's instructions as handlers with their arguments."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import CodeType
from typing import Any

from ..bytecode import decode
from .flow import Flow
from .handlers import HANDLERS, loop_header
from .straight import straighten

#: How often a function is entered, or a loop goes round, before its straight code becomes
#: functions: about as often as it takes until they would have saved what making them costs.
WARM = 64
#: What `Program.warm` calls the whole program.
WHOLE = -1
#: The heat of what has become functions.
_DONE = -sys.maxsize


class Program:
    """A code object ready to run: handlers with their arguments, and its control flow.

    `singles` has one step an instruction, `ops` what the run loop takes, each with its place.
    Threads that trace the same function have one program.
    """

    __slots__ = (
        "_first_free", "_flow", "_lock", "_watched", "code", "heat", "name", "ops", "singles",
        "slot_count",
    )  # fmt: skip

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
        #: How often it was entered and its loops went round, by header; None: no matter any more.
        self.heat: dict[int, int] | None = {}
        self._lock = threading.Lock()
        self._watched = False

    def warm(self, header: int) -> None:
        """The loop with this header goes round once more, or the `WHOLE` is entered."""
        heat = self.heat
        if heat is None:
            return
        times = heat[header] = heat.get(header, 0) + 1
        if times <= WARM:
            return
        if header == WHOLE:
            self.heat = None
            first, last = 0, len(self.ops) - 1
        else:
            heat[header] = _DONE
            first = last = header
            for k, instr in enumerate(self.code.instrs):
                if "JUMP" in instr.op and instr.arg == header:
                    last = max(last, k)
        steps = straighten(self.code, first, last + 1)
        with self._lock:
            for step in () if self._watched else steps:
                self.ops[step[0]] = step

    def is_free(self, slot: int) -> bool:
        """Whether a slot holds a cell of the closure."""
        return slot >= self._first_free

    def watch(self, step: Callable[..., Any]) -> None:
        """From now on run each instruction by `step`, also where a run is under way."""
        with self._lock:
            if not self._watched:
                self._watched, self.heat = True, None
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
