"""Exceptions and `with`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..frame import Frame, Poison
from ..objects import get_attr
from ._table import handles

if TYPE_CHECKING:
    from ..machine import Machine


@handles("PUSH_EXC_INFO")
def push_exc_info(vm: Machine, frame: Frame, arg: Any) -> None:
    exc = frame.stack.pop()
    frame.stack.append(vm.handled)
    frame.stack.append(exc)
    vm.handled = exc


@handles("POP_EXCEPT")
def pop_except(vm: Machine, frame: Frame, arg: Any) -> None:
    vm.handled = frame.stack.pop()


@handles("CHECK_EXC_MATCH")
def check_exc_match(vm: Machine, frame: Frame, arg: Any) -> None:
    kind = frame.stack.pop()
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not all(isinstance(k, type) and issubclass(k, BaseException) for k in kinds):
        raise TypeError("catching classes that do not inherit from BaseException is not allowed")
    frame.stack.append(isinstance(frame.stack[-1], kind))


@handles("RERAISE")
def reraise(vm: Machine, frame: Frame, lasti: Any) -> Any:
    raise frame.stack.pop()


@handles("RAISE_VARARGS")
def raise_varargs(vm: Machine, frame: Frame, n: int) -> Any:
    cause: Any = frame.stack.pop() if n == 2 else None
    if n == 0:
        if vm.handled is None:
            raise RuntimeError("No active exception to reraise")
        if vm.handled.__class__ is Poison:
            raise vm.handled.fail(frame.site())
        raise vm.handled
    exc: Any = frame.stack.pop()
    if isinstance(exc, type) and issubclass(exc, BaseException):
        exc = vm.call(exc, (), {})
    if not isinstance(exc, BaseException):
        raise TypeError("exceptions must derive from BaseException")
    if n == 2:
        if isinstance(cause, type) and issubclass(cause, BaseException):
            cause = vm.call(cause, (), {})
        exc.__cause__ = cause
    if exc.__context__ is None and isinstance(vm.handled, BaseException) and vm.handled is not exc:
        exc.__context__ = vm.handled
    vm.raised[id(exc)] = exc
    vm.exception_sites[id(exc)] = (exc, frame.site())
    raise exc


@handles("LOAD_ASSERTION_ERROR")
def load_assertion_error(vm: Machine, frame: Frame, arg: Any) -> None:
    frame.stack.append(AssertionError)


@handles("BEFORE_WITH")
def before_with(vm: Machine, frame: Frame, arg: Any) -> None:
    manager = frame.stack.pop()
    for name in ("__enter__", "__exit__"):
        if not hasattr(type(manager), name):
            raise TypeError(
                f"'{type(manager).__name__}' object does not support the context manager protocol"
            )
    frame.stack.append(get_attr(vm, manager, "__exit__"))
    frame.stack.append(vm.call(get_attr(vm, manager, "__enter__"), (), {}))


@handles("WITH_EXCEPT_START")
def with_except_start(vm: Machine, frame: Frame, arg: Any) -> None:
    exc = frame.stack[-1]
    leave = frame.stack[-4]
    frame.stack.append(vm.call(leave, (type(exc), exc, exc.__traceback__), {}))


@handles("CLEANUP_THROW")
def cleanup_throw(vm: Machine, frame: Frame, arg: Any) -> None:
    exc = frame.stack.pop()
    if not isinstance(exc, StopIteration):
        raise exc
    frame.stack.pop()
    frame.stack.pop()
    frame.stack.append(exc.value)


@handles("STOPITERATION_ERROR")
def stopiteration_error(vm: Machine, frame: Frame, arg: Any) -> None:
    exc = frame.stack[-1]
    if isinstance(exc, StopIteration):
        new = RuntimeError("generator raised StopIteration")
        new.__cause__ = new.__context__ = exc
        frame.stack[-1] = new
