"""When operations happen. The scalar program issues each operation to an engine.

An engine decides how the executor of an operation is called. `ProgramOrder` performs each operation
where the program issues it. An engine that performs the work of a pipe later returns a callable
that notes the operands and the time instead; `op.form.pipe or op.spec.pipe` says which pipe it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ...tracer.diagnostics import Finding
from ...tracer.trace import Op

if TYPE_CHECKING:
    from .registry import Executor


class Engine(Protocol):
    """How the operations of one core are performed."""

    def issue(self, op: Op, run: Executor) -> Executor:
        """What the scalar program calls for `op`, whose work `run` does."""
        ...

    def begin_block(self) -> None:
        """A block starts on this core; nothing is in flight."""
        ...

    def end_block(self) -> list[Finding]:
        """Finish everything in flight; findings of the block that are no errors."""
        ...


class ProgramOrder:
    """Performs each operation at once, in program order: the scalar program calls the executor."""

    def issue(self, op: Op, run: Executor) -> Executor:
        """The executor itself, so that issuing costs nothing."""
        return run

    def begin_block(self) -> None:
        """Nothing to prepare."""

    def end_block(self) -> list[Finding]:
        """Nothing is ever in flight."""
        return []
