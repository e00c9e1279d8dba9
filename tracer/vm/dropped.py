"""Generators that the kernel drops while they stand in a `try` or `with`.

CPython closes a generator when its last reference goes, so its `finally` runs there and then. The
VM has references of its own (the journal, states of other arms), so it looks: from the first
generator that is suspended where closing it would run code, the programs of the active functions
are `watch`ed, and behind each of their instructions such generators must be reachable from what
the kernel still has. Kernels without such generators pay nothing.
"""

from __future__ import annotations

import gc
import itertools
import sys
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

from ..diagnostics import error
from ..trace import Block, Recorder, Trace, Value
from .control import Snapshot
from .frame import RETURN, YIELD, Frame, Path
from .heap import Advanced

if TYPE_CHECKING:
    from .generators import VMGenerator
    from .machine import Machine

#: What never leads to a generator of the kernel: the tracer's own objects, and outer ones.
_CLOSED = (type, ModuleType, CodeType, Recorder, Trace, Block, Value, Frame, Snapshot, Path)


class Watched:
    """A suspended generator and, as a quick proof, the chain of objects that held it last."""

    __slots__ = ("chain", "generator")

    def __init__(self, generator: VMGenerator) -> None:
        self.generator = generator
        self.chain: list[Any] = []

    def is_pending(self) -> bool:
        """Whether closing the generator now would run code of the kernel."""
        frame, state = self.generator.frame, self.generator.state
        if state.__class__ is Advanced:
            # On some of the ways that met: it was watched for that.
            return True
        if state != "suspended":
            return False
        handler = frame.code.handlers[frame.pc]
        if handler is None:
            return False
        instrs, pc = frame.code.instrs, handler.target
        while instrs[pc].op == "LABEL":
            pc += 1
        # Since CPython 3.12 the whole body stands in a handler that only renames StopIteration.
        return str(instrs[pc].op) != "STOPITERATION_ERROR"

    def is_held(self, vm: Machine) -> bool:
        """Whether the kernel can still reach the generator."""
        chain = self.chain
        if (
            chain
            and any(chain[0] is v for v in _held_by_frames(vm))
            and all(any(b is v for v in _parts(a)) for a, b in itertools.pairwise(chain))
        ):
            return True
        self.chain = _search(self.generator, [*_held_by_frames(vm), *_held_elsewhere(vm)])
        return bool(self.chain)


def watch(vm: Machine, generator: VMGenerator) -> None:
    """A generator was suspended: if closing it would run code, look after it."""
    watched = Watched(generator)
    if not watched.is_pending() or any(w.generator is generator for w in vm.watched):
        return
    vm.watched.append(watched)
    frame = vm.frame
    while frame is not None:
        frame.program.watch(step)
        frame = frame.parent_frame


def step(vm: Machine, frame: Frame, op: tuple[Any, Any]) -> Any:
    """An instruction of a watched program."""
    handler, arg = op
    result = handler(vm, frame, arg)
    if vm.watched and result is not RETURN and result is not YIELD:
        close_dropped(vm)
    return result


def close_dropped(vm: Machine) -> None:
    """Close the generators that nothing holds any more, as CPython did when they were dropped."""
    again = True
    while again:
        again = False
        lost = [w for w in vm.watched if w.is_pending() and not w.is_held(vm)]
        for watched in lost:
            # One that another lost one holds is closed with that, or behind it.
            others = [w.generator for w in lost if w is not watched]
            if not _search(watched.generator, others):
                _close(vm, watched.generator)
                again = True
    if not vm.journaling:
        vm.watched = [w for w in vm.watched if w.is_pending()]


def _close(vm: Machine, generator: VMGenerator) -> None:
    state = generator.state
    if state.__class__ is Advanced:
        raise error(
            "AT0303",
            "a generator is dropped here that was advanced under a runtime condition and may stand "
            "in a `try` or `with`: its end would run on some of the ways only",
            vm.site(),
            notes=[("it was advanced here", state.site)],
            hint="take the values out before the condition, as in list(...)",
        )
    generator.close()


def _held_by_frames(vm: Machine) -> Iterator[Any]:
    frame = vm.frame
    while frame is not None:
        yield from frame.stack
        yield from frame.slots
        frame = frame.parent_frame


def _held_elsewhere(vm: Machine) -> Iterator[Any]:
    """The exception being handled, globals that the kernel wrote, arguments of native calls."""
    yield vm.handled
    frame = vm.frame
    while frame is not None:
        yield from (frame.names or {}).values()
        if not vm.cacheable:
            yield from frame.globals.values()
        frame = frame.parent_frame
    # Between two run loops stands what the outer one's instruction calls. An interpreted function
    # has taken over its arguments; a native one still holds them.
    calls: list[Any] = []
    python: Any = sys._getframe()
    entered = False
    while python is not None:
        name, module = python.f_code.co_name, python.f_globals.get("__name__")
        if module == _MACHINE and name == "run":
            yield from () if entered else calls
            calls, entered = [], False
        elif module == _MACHINE and name == "enter":
            entered = True
        elif module != __name__:
            calls += python.f_locals.values()
        python = python.f_back


_MACHINE = __name__.rpartition(".")[0] + ".machine"


def _search(generator: VMGenerator, roots: Iterable[Any]) -> list[Any]:
    """The chain of objects from a root to the generator; empty if there is none."""
    origin: dict[int, Any] = {}
    # Keeps what is found alive, so that an id means one object.
    todo: list[Any] = []
    for root in roots:
        if id(root) not in origin:
            origin[id(root)] = None
            todo.append(root)
    for obj in todo:
        if obj is generator:
            chain = [obj]
            while (obj := origin[id(obj)]) is not None:
                chain.append(obj)
            return chain[::-1]
        for part in _parts(obj):
            if id(part) not in origin and gc.is_tracked(part):
                origin[id(part)] = obj
                todo.append(part)
    return []


def _parts(obj: Any) -> Iterable[Any]:
    """What an object refers to, as far as the kernel can get at it."""
    from .generators import VMGenerator

    if isinstance(obj, VMGenerator):
        return [*obj.frame.slots, *obj.frame.stack] if obj.state != "closed" else ()
    if isinstance(obj, FunctionType):
        return [obj.__closure__, obj.__defaults__, obj.__kwdefaults__, obj.__dict__]
    if isinstance(obj, TracebackType):
        frame = obj.tb_frame.f_locals.get("frame")
        return [obj.tb_next, *(frame.slots if isinstance(frame, Frame) else ())]
    if isinstance(obj, _CLOSED):
        return ()
    return gc.get_referents(obj)
