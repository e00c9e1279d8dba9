"""Generators of interpreted functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..diagnostics import error
from ..trace import current
from .dropped import watch
from .frame import RETURN, UNBOUND, YIELD, Frame
from .heap import KINDS, Advanced, Kind
from .merge import Mark
from .objects import get_attr
from .ranges import forget_turns

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
        delegate = self._delegate()
        if isinstance(exc, GeneratorExit):
            exc = _closed(self.vm, delegate) or exc
        elif delegate is not None and hasattr(delegate, "throw"):
            try:
                return self.vm.call(get_attr(self.vm, delegate, "throw"), (exc,))
            except StopIteration as stop:
                return self._leave_delegate(stop.value)
            except Exception as other:
                exc = other
        return self.resume(None, exc)

    def close(self) -> None:
        """Raise GeneratorExit at the `yield`."""
        if self.state == "suspended":
            try:
                self.resume(None, _closed(self.vm, self._delegate()) or GeneratorExit())
            except (GeneratorExit, StopIteration):
                return
            raise RuntimeError("generator ignored GeneratorExit")
        if self.state == "created":
            if self.vm.journaling:
                self.vm.touch(self)
            self._end()

    def _delegate(self) -> Any:
        """The iterator in whose `yield from` the generator stands."""
        send = self._send()
        return None if send is None else self.frame.stack[-1]

    def _send(self) -> Any:
        """The SEND of the `yield from` in which the generator stands."""
        instrs, pc = self.frame.code.instrs, self.frame.pc
        if self.state != "suspended" or instrs[pc].op != "JUMP":
            return None
        send = instrs[instrs[pc].arg + 1]
        return send if send.op == "SEND" else None

    def _leave_delegate(self, value: Any) -> Any:
        """Go on behind a `yield from` whose iterator ended with `value`."""
        if self.vm.journaling:
            self.vm.touch(self)
        self.frame.pc = self._send().arg
        self.frame.stack.pop()
        return self.resume(value, None)

    def _end(self) -> None:
        """The function has ended: its frame is empty, whatever way it went."""
        self.state = "closed"
        self.frame.slots = [UNBOUND] * len(self.frame.slots)
        self.frame.stack = []
        self.frame.pc = 0

    def resume(self, value: Any, exc: BaseException | None) -> Any:
        """Run on to the next `yield`; StopIteration carries the return value."""
        vm, frame = self.vm, self.frame
        if self.state.__class__ is Advanced:
            raise self.state.fail(vm.site())
        if self.state == "running":
            raise ValueError("generator already executing")
        if self.state == "created" and exc is not None:
            self.close()
        if self.state == "closed":
            raise StopIteration if exc is None else exc
        if current("a generator") is not vm:
            raise error(
                "AT0115", "a generator of another trace", None, hint="make it in this kernel"
            )
        if vm.journaling:
            vm.touch(self)
        frame.called_from(vm.site(), vm.frame)
        forget_turns(frame)
        # The handlers around a `yield` count the value it gives, also when it raises instead.
        frame.stack.append(value)
        self.state = "running"
        mark = Mark(vm.block, len(vm.block.nodes))
        try:
            result = vm.run(frame, exc)
        except BaseException:
            self._end()
            raise
        if result is YIELD:
            frame.pc += 1
            self.state = "suspended"
            watch(vm, self)
            return frame.retval
        if result is not RETURN:
            vm.rejoin(frame, result, mark)
        self._end()
        raise StopIteration(frame.retval)


def _closed(vm: Machine, iterator: Any) -> BaseException | None:
    """Close the iterator of a `yield from`; what that raised."""
    if iterator is not None and hasattr(iterator, "close"):
        try:
            vm.call(get_attr(vm, iterator, "close"), ())
        except Exception as exc:
            return exc
    return None


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
