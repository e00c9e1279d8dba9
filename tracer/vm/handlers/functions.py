"""Calls, iteration, generators; imports, classes and the rest."""

from __future__ import annotations

import builtins
from types import CellType, CodeType, FunctionType
from typing import TYPE_CHECKING, Any

from ...diagnostics import error
from ...ops.spec import OpFunction
from .. import protocols
from ..calls import call as call_any
from ..frame import NULL, RETURN, YIELD, Frame, Poison
from ..generators import VMGenerator, advance
from ..loops import for_range
from ..ranges import RangeState
from ._table import handles
from .data import callee, take

if TYPE_CHECKING:
    from ..machine import Machine


# -- calls ----------------------------------------------------------------------------------------


def _invoke(vm: Machine, frame: Frame, args: list[Any], kwargs: dict[str, Any]) -> Any:
    second, first = frame.stack.pop(), frame.stack.pop()
    if first is NULL:
        function = second
    elif second is NULL:
        function = first
    else:
        function = first
        args.insert(0, second)
    return vm.call(function, tuple(args), kwargs)


_NO_KEYWORDS: dict[str, Any] = {}


@handles("CALL")
def call(vm: Machine, frame: Frame, n: int) -> None:
    stack = frame.stack
    function, instance, *given = stack[-n - 2 :]
    del stack[-n - 2 :]
    if function is NULL:
        function, args = instance, tuple(given)
    elif instance is NULL:
        args = tuple(given)
    else:
        args = (instance, *given)
    if function.__class__ is OpFunction and Poison not in map(type, args):
        stack.append(function.apply(vm, args))
    else:
        stack.append(call_any(vm, function, args, _NO_KEYWORDS))


@handles("CALL_KW")
def call_kw(vm: Machine, frame: Frame, n: int) -> None:
    names = frame.stack.pop()
    args = take(frame, n)
    split = n - len(names)
    kwargs = dict(zip(names, args[split:], strict=True))
    frame.stack.append(_invoke(vm, frame, args[:split], kwargs))


@handles("CALL_EX")
def call_ex(vm: Machine, frame: Frame, has_kwargs: bool) -> None:
    kwargs = dict(frame.stack.pop()) if has_kwargs else {}
    items = frame.stack.pop()
    if not protocols.is_iterable(items):
        called, kind = callee(frame.stack[-2], frame.stack[-1]), type(items).__name__
        raise TypeError(f"{called} argument after * must be an iterable, not {kind}")
    frame.stack.append(_invoke(vm, frame, list(protocols.items_of(vm, items)), kwargs))


@handles("RETURN_VALUE")
def return_value(vm: Machine, frame: Frame, arg: Any) -> Any:
    frame.retval = frame.stack.pop()
    return RETURN


@handles("MAKE_FUNCTION")
def make_function(vm: Machine, frame: Frame, flags: int | None) -> None:
    code: CodeType = frame.stack.pop()
    flags = flags or 0
    closure = frame.stack.pop() if flags & 8 else None
    annotations = frame.stack.pop() if flags & 4 else None
    kwdefaults = frame.stack.pop() if flags & 2 else None
    defaults = frame.stack.pop() if flags & 1 else None
    if len(code.co_freevars) and closure is None:
        # Completed by SET_FUNCTION_ATTRIBUTE.
        closure = tuple(CellType() for _ in code.co_freevars)
    function = FunctionType(code, frame.globals, code.co_name, defaults, closure)
    _finish_function(function, annotations, kwdefaults)
    vm.note_function(function)
    frame.stack.append(function)


def _finish_function(function: FunctionType, annotations: Any, kwdefaults: Any) -> None:
    function.__qualname__ = function.__code__.co_qualname
    if annotations is not None:
        if isinstance(annotations, tuple):
            annotations = dict(zip(annotations[::2], annotations[1::2], strict=True))
        function.__annotations__ = annotations
    if kwdefaults is not None:
        function.__kwdefaults__ = kwdefaults


@handles("SET_FUNCTION_ATTRIBUTE")
def set_function_attribute(vm: Machine, frame: Frame, flag: int) -> None:
    function = frame.stack.pop()
    value = frame.stack.pop()
    if flag == 8:
        old = function
        function = FunctionType(
            old.__code__, old.__globals__, old.__name__, old.__defaults__, value
        )
        _finish_function(function, old.__annotations__, old.__kwdefaults__)
    elif flag == 4:
        _finish_function(function, value, None)
    elif flag == 2:
        function.__kwdefaults__ = value
    else:
        function.__defaults__ = value
    vm.note_function(function)
    frame.stack.append(function)


# -- iteration and generators ---------------------------------------------------------------------


@handles("GET_ITER")
def get_iter(vm: Machine, frame: Frame, arg: Any) -> None:
    frame.stack[-1] = protocols.replayable(vm, protocols.iterator(vm, frame.stack[-1]))


@handles("FOR_ITER")
def for_iter(vm: Machine, frame: Frame, target: int) -> Any:
    iterator = frame.stack[-1]
    frame.program.warm(frame.pc - 1)
    if frame.stops:
        frame.stops = frame.program.flow.next_round(frame.pc - 1, frame.stops)
    if iterator.__class__ is RangeState:
        return for_range(vm, frame, iterator, target)
    vm.count_step("a loop over a Python iterator")
    try:
        value = advance(vm, iterator)
    except StopIteration:
        frame.stack.pop()
        return target
    frame.stack.append(value)
    return None


@handles("RETURN_GENERATOR")
def return_generator(vm: Machine, frame: Frame, arg: Any) -> Any:
    frame.pc += 1
    if frame.code.slot_names[:1] == (".0",):
        frame.slots[0] = protocols.replayable(vm, frame.slots[0])
    frame.retval = VMGenerator(vm, frame)
    return RETURN


@handles("YIELD_VALUE")
def yield_value(vm: Machine, frame: Frame, arg: Any) -> Any:
    frame.retval = frame.stack.pop()
    return YIELD


@handles("GET_YIELD_FROM_ITER")
def get_yield_from_iter(vm: Machine, frame: Frame, arg: Any) -> None:
    if not isinstance(frame.stack[-1], VMGenerator):
        frame.stack[-1] = protocols.iterator(vm, frame.stack[-1])


@handles("SEND")
def send(vm: Machine, frame: Frame, target: int) -> Any:
    value = frame.stack.pop()
    receiver = frame.stack[-1]
    try:
        result = advance(vm, receiver) if value is None else receiver.send(value)
    except StopIteration as stop:
        frame.stack[-1] = stop.value
        return target
    frame.stack.append(result)
    return None


# -- imports, classes, the rest -------------------------------------------------------------------


@handles("IMPORT_NAME")
def import_name(vm: Machine, frame: Frame, name: str) -> None:
    names, level = frame.stack.pop(), frame.stack.pop()
    frame.stack.append(__import__(name, frame.globals, None, names, level))


@handles("IMPORT_FROM")
def import_from(vm: Machine, frame: Frame, name: str) -> None:
    frame.stack.append(protocols.import_from(vm, frame.stack[-1], name))


@handles("LOAD_BUILD_CLASS")
def load_build_class(vm: Machine, frame: Frame, arg: Any) -> None:
    frame.stack.append(builtins.__build_class__)


@handles("IMPORT_STAR")
def import_star(vm: Machine, frame: Frame, arg: Any) -> Any:
    raise SyntaxError("import * only allowed at module level")


@handles("SETUP_ANNOTATIONS")
def setup_annotations(vm: Machine, frame: Frame, arg: Any) -> None:
    if frame.names is not None:
        frame.names.setdefault("__annotations__", {})


@handles("INTRINSIC", "PRINT_EXPR")
def intrinsic(vm: Machine, frame: Frame, arg: Any) -> Any:
    raise error(
        "AT0301",
        "type parameters of functions and classes are not supported in a kernel",
        frame.site(),
        hint="define generic functions and classes outside the kernel",
    )


@handles("REJECTED")
def rejected(vm: Machine, frame: Frame, arg: tuple[str, str, str]) -> Any:
    _, reason, hint = arg
    raise error("AT0301", reason, frame.site(), hint=hint)
