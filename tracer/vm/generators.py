"""Generators of interpreted functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..diagnostics import error
from ..trace import current
from .frame import RETURN, YIELD, Frame
from .heap import KINDS, Advanced, Kind
from .merge import Mark

if TYPE_CHECKING:
    from .machine import Machine


class VMGenerator:
    """A suspended frame with Python's generator protocol; usable by native code too."""

    __slots__ = ("frame", "state", "vm")

    def __init__(self, vm: Machine, frame: Frame) -> None:
        self.vm = vm
        self.frame = frame
        self.state: Any = "created"
        if vm.journaling:
            vm.note_birth(self)

    def __iter__(self) -> VMGenerator:
        return self

    def __next__(self) -> Any:
        return self.resume(None, None)

    def send(self, value: Any) -> Any:
        """Resume with a value for the `yield` expression."""
        if self.state == "created" and value is not None:
            raise TypeError("can't send non-None value to a just-started generator")
        return self.resume(value, None)

    def throw(self, exc: Any, value: Any = None, tb: Any = None) -> Any:
        """Raise an exception at the `yield`."""
        if isinstance(exc, type):
            exc = exc() if value is None else value if isinstance(value, exc) else exc(value)
        return self.resume(None, exc)

    def close(self) -> None:
        """Raise GeneratorExit at the `yield`."""
        if self.state == "suspended":
            try:
                self.resume(None, GeneratorExit())
            except (GeneratorExit, StopIteration):
                return
            raise RuntimeError("generator ignored GeneratorExit")
        self.state = "closed"

    def resume(self, value: Any, exc: BaseException | None) -> Any:
        """Run on to the next `yield`; StopIteration carries the return value."""
        vm, frame = self.vm, self.frame
        if self.state.__class__ is Advanced:
            raise self.state.fail(vm.site())
        if self.state == "running":
            raise ValueError("generator already executing")
        if self.state == "closed" or (exc is not None and self.state == "created"):
            self.state = "closed"
            raise StopIteration if exc is None else exc
        if current("a generator") is not vm:
            raise error(
                "AT0115", "a generator of another trace", None, hint="make it in this kernel"
            )
        if vm.journaling:
            vm.touch(self)
        frame.parent, frame.parent_frame = vm.site(), vm.frame
        # The handlers around a `yield` count the value it gives, also when it raises instead.
        frame.stack.append(value)
        self.state = "running"
        mark = Mark(vm.block, len(vm.block.nodes))
        try:
            result = vm.run(frame, exc)
        except BaseException:
            self.state = "closed"
            raise
        if result is YIELD:
            frame.pc += 1
            self.state = "suspended"
            return frame.retval
        self.state = "closed"
        if result is RETURN:
            raise StopIteration(frame.retval)
        vm.rejoin(frame, result, mark)
        raise StopIteration(frame.retval)


def advance(vm: Machine, iterator: Any) -> Any:
    """The next value of an iterator."""
    if iterator.__class__ is VMGenerator:
        return iterator.resume(None, None)
    step = type(iterator).__next__
    if vm.is_interpreted(step):
        return vm.call(step, (iterator,))
    return next(iterator)


def _read(gen: VMGenerator) -> dict[Any, Any]:
    frame = gen.frame
    state: dict[Any, Any] = {"pc": frame.pc, "state": gen.state, "size": len(frame.stack)}
    state |= {("slot", k): v for k, v in enumerate(frame.slots)}
    state |= {("stack", k): v for k, v in enumerate(frame.stack)}
    return state


def _write(gen: VMGenerator, state: dict[Any, Any]) -> None:
    frame = gen.frame
    frame.pc, gen.state = state["pc"], state["state"]
    frame.slots = [state["slot", k] for k in range(len(frame.slots))]
    frame.stack = [state["stack", k] for k in range(state["size"])]


KINDS[VMGenerator] = Kind(_read, _write, fixed=True, position="state")
