"""What the run loop takes: a code object's instructions as handlers with their arguments."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import CodeType
from typing import Any

from ..bytecode import decode
from .flow import Flow
from .handlers import HANDLERS, call_dropped, load_operation, load_several, loop_header


class Program:
    """A code object ready to run: handlers with their arguments, and its control flow.

    `singles` has one step an instruction, `ops` what the run loop takes, each with its place.
    """

    __slots__ = ("_first_free", "_flow", "code", "name", "ops", "singles", "slot_count")

    def __init__(self, code: Any) -> None:
        self.code = code
        self.name = code.code.co_name
        self.slot_count = len(code.slot_names)
        self._first_free = self.slot_count - len(code.code.co_freevars)
        self.singles: list[tuple[Callable[..., Any], Any]] = [
            (HANDLERS[i.op], i.arg) for i in code.instrs
        ]
        self.ops: list[tuple[int, Callable[..., Any], Any]] = [
            (k, *single) for k, single in enumerate(self.singles)
        ]
        self._join_steps()
        self._flow: Flow | None = None
        if any(i.op == "JUMP" and i.arg <= k for k, i in enumerate(code.instrs)) or any(
            i.op.startswith("POP_JUMP") and i.arg <= k for k, i in enumerate(code.instrs)
        ):
            for loop in self.flow.loops.values():
                if not loop.is_for:
                    self.ops[loop.header] = (loop.header, loop_header, None)

    def _join_steps(self) -> None:
        """One step for locals that are loaded in a row, with a method of one in front of them, and
        for a call whose result is dropped.
        """
        taken = 0
        for k, (one, two) in enumerate(itertools.pairwise(self.code.instrs)):
            if one.op == "CALL" and two.op == "POP_TOP":
                self.ops[k] = (k, call_dropped, one.arg)
            elif one.op == "LOAD_FAST" and two.op == "LOAD_METHOD":
                self.ops[k] = (k, load_operation, (one.arg, two.arg, self._loads(k + 2)))
            elif one.op == two.op == "LOAD_FAST" and k >= taken:
                slots, taken = self._loads(k)
                self.ops[k] = (k, load_several, (slots, taken))

    def _loads(self, start: int) -> tuple[tuple[int, ...], int]:
        """The slots of the LOAD_FASTs in a row from an instruction on, and what follows them."""
        instrs = self.code.instrs
        end = start
        while instrs[end].op == "LOAD_FAST":
            end += 1
        return tuple(i.arg for i in instrs[start:end]), end

    def is_free(self, slot: int) -> bool:
        """Whether a slot holds a cell of the closure."""
        return slot >= self._first_free

    def watch(self, step: Callable[..., Any]) -> None:
        """From now on run each instruction by `step`, also where a run is under way."""
        if self.ops[0][1] is not step:
            self.ops[:] = [(k, step, single) for k, *single in self.ops]

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
