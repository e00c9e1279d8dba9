"""Labels, jumps and truth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...language.scalar import Scalar, truth
from ...trace import Value
from .. import protocols
from ..control import Snapshot, branch
from ..frame import STOP, Frame, Poison
from ._table import handles

if TYPE_CHECKING:
    from ..machine import Machine


@handles("LABEL")
def label(vm: Machine, frame: Frame, arg: Any) -> Any:
    if frame.pc in frame.stops:
        return STOP
    return None


def loop_header(vm: Machine, frame: Frame, arg: Any) -> Any:
    """The label of a `while` loop: remember the state, the loop may turn out a runtime one."""
    if frame.pc in frame.stops:
        return STOP
    if frame.stops:
        frame.stops = frame.program.flow.next_round(frame.pc, frame.stops)
    frame.program.warm(frame.pc)
    vm.count_step("a loop decided while tracing")
    vm.journaling = True
    # A new dict: that of the code around an arm stays as it is.
    frame.snapshots = {**frame.snapshots, frame.pc: Snapshot(vm, frame)}
    return None


@handles("JUMP")
def jump(vm: Machine, frame: Frame, target: int) -> int:
    return target


def decide(vm: Machine, frame: Frame, value: Any) -> Any:
    """The truth of a value: a Python bool, or a runtime bool."""
    if value is True or value is False or value is None:
        return bool(value)
    if isinstance(value, Scalar):
        return truth(value)
    if isinstance(value, Value):
        return True
    return protocols.truth_of(vm, value)


@handles("POP_JUMP_IF_TRUE")
def pop_jump_if_true(vm: Machine, frame: Frame, target: int) -> Any:
    value = frame.stack.pop()
    if value is not True and value is not False:
        value = decide(vm, frame, value)
        if value.__class__ is Scalar:
            return branch(vm, frame, value, target, frame.pc + 1)
    return target if value else None


@handles("POP_JUMP_IF_FALSE")
def pop_jump_if_false(vm: Machine, frame: Frame, target: int) -> Any:
    value = frame.stack.pop()
    if value is not True and value is not False:
        value = decide(vm, frame, value)
        if value.__class__ is Scalar:
            return branch(vm, frame, value, frame.pc + 1, target)
    return None if value else target


def usable(frame: Frame, value: Any) -> Any:
    """A value whose identity is asked for."""
    if value.__class__ is Poison:
        raise value.fail(frame.site())
    return value


@handles("POP_JUMP_IF_NONE")
def pop_jump_if_none(vm: Machine, frame: Frame, target: int) -> Any:
    return target if usable(frame, frame.stack.pop()) is None else None


@handles("POP_JUMP_IF_NOT_NONE")
def pop_jump_if_not_none(vm: Machine, frame: Frame, target: int) -> Any:
    return None if usable(frame, frame.stack.pop()) is None else target


@handles("TO_BOOL")
def to_bool(vm: Machine, frame: Frame, arg: Any) -> None:
    frame.stack[-1] = decide(vm, frame, frame.stack[-1])
