"""Calls: which callables are interpreted, which run natively, how arguments are bound."""

from __future__ import annotations

import functools
import sys
from collections import deque
from types import (
    BuiltinFunctionType,
    CellType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    WrapperDescriptorType,
)
from typing import TYPE_CHECKING, Any

from ..ops.spec import BoundOp, OpFunction
from ..trace import Value
from .frame import Frame, Poison
from .heap import KINDS
from .native import is_native
from .special import SPECIAL, call_special

if TYPE_CHECKING:
    from .machine import Machine

_VARARGS = 0x04
_VARKEYWORDS = 0x08


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Methods of builtin containers that change them.
MUTATORS: dict[type, frozenset[str]] = {
    list: _names(
        "append extend insert pop remove clear sort reverse __setitem__ __delitem__ __iadd__"
    ),
    dict: _names("update pop popitem setdefault clear __setitem__ __delitem__ __ior__"),
    set: _names(
        "add discard remove pop clear update difference_update intersection_update"
        " symmetric_difference_update"
    ),
    deque: _names(
        "append appendleft extend extendleft pop popleft insert remove clear rotate reverse"
    ),
    bytearray: _names("append extend insert pop remove clear reverse"),
}


def _mutated(owner: type, name: str) -> bool:
    return any(name in names for base, names in MUTATORS.items() if issubclass(owner, base))


def call(vm: Machine, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call any callable the way the kernel would."""
    kind = type(function)
    if kind is FunctionType:
        if vm.is_interpreted(function):
            return vm.enter(function, args, kwargs)
        return function(*args, **kwargs)
    if kind is MethodType:
        return call(vm, function.__func__, (function.__self__, *args), kwargs)
    for arg in (*args, *kwargs.values()) if kwargs else args:
        if arg.__class__ is Poison:
            raise arg.fail(vm.site())
    if kind is OpFunction or kind is BoundOp:
        return function(*args, **kwargs)
    special = SPECIAL.get(id(function))
    if special is not None:
        return call_special(vm, special, function, args, kwargs)
    if kind in _BUILTIN:
        return _call_builtin(vm, function, args, kwargs)
    if isinstance(function, type):
        return _instantiate(vm, function, args, kwargs)
    if kind is functools.partial:
        return call(vm, function.func, function.args + args, {**function.keywords, **kwargs})
    if getattr(kind, "is_asctrace_kernel", False):
        return call(vm, function.fn, args, kwargs)
    method = vm.lookup(kind, "__call__")
    if vm.is_interpreted(method):
        return vm.enter(method, (function, *args), kwargs)
    return _native(vm, function, args, kwargs)


_BUILTIN = {BuiltinFunctionType, MethodDescriptorType, MethodWrapperType, WrapperDescriptorType}


def _call_builtin(vm: Machine, function: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    owner = getattr(function, "__self__", None)
    name = function.__name__
    if owner is None and args and isinstance(function, MethodDescriptorType):
        owner = args[0]
    if owner is not None and _mutated(type(owner), name):
        vm.touch(owner)
        if name in ("extend", "update", "extendleft") and args:
            from .protocols import items_of

            if not isinstance(args[-1], dict):
                args = (*args[:-1], items_of(vm, args[-1]))
        if name == "sort" and kwargs.get("key") is not None:
            from .pybuiltins import sorted_

            owner[:] = vm.call(sorted_, (list(owner),), kwargs)
            return None
    return _native(vm, function, args, kwargs)


def _native(vm: Machine, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a library callable; containers it gets may change, what it makes is new."""
    if not vm.journaling:
        return function(*args, **kwargs)
    for arg in args:
        if type(arg) in KINDS and type(arg) is not CellType and id(arg) not in vm.guards.outer:
            vm.heap.touch(arg, vm.site())
    result = function(*args, **kwargs)
    # Two references: the local and the argument of getrefcount. More, and somebody else holds it,
    # so it is not new.
    fresh = sys.getrefcount(result) <= 2 and not isinstance(result, Value)
    if fresh and (type(result) in KINDS or hasattr(result, "__dict__")):
        vm.note_birth(result)
    return result


def _instantiate(vm: Machine, cls: type, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    init: Any = vm.lookup(cls, "__init__")
    new: Any = vm.lookup(cls, "__new__")
    if init is object.__init__ and new is object.__new__ and type(cls) is type:
        return _born(vm, cls(*args, **kwargs))
    if is_native(cls.__module__) or issubclass(cls, Value):
        return cls(*args, **kwargs)
    maker = vm.lookup(type(cls), "__call__")
    if vm.is_interpreted(maker):
        return vm.enter(maker, (cls, *args), kwargs)
    new = new.__func__ if isinstance(new, staticmethod) else new
    if not vm.is_interpreted(new) and not vm.is_interpreted(init):
        return _native(vm, cls, args, kwargs)
    if vm.is_interpreted(new):
        obj = vm.enter(new, (cls, *args), kwargs)
    elif new is object.__new__:
        obj = object.__new__(cls)
    else:
        obj = cls.__new__(cls, *args, **kwargs)
    _born(vm, obj)
    if isinstance(obj, cls):
        if vm.is_interpreted(init):
            vm.enter(init, (obj, *args), kwargs)
        elif init is not object.__init__:
            init(obj, *args, **kwargs)
    return obj


def _born(vm: Machine, obj: Any) -> Any:
    if vm.journaling:
        vm.note_birth(obj)
    return obj


# -- binding --------------------------------------------------------------------------------------


def bind(
    frame: Frame, function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Fill a new frame's slots from the arguments of a call; TypeErrors as CPython words them."""
    code = function.__code__
    slots = frame.slots
    free = len(code.co_freevars)
    if free:
        slots[-free:] = function.__closure__ or ()
    count = len(args)
    if (
        not kwargs
        and count == code.co_argcount
        and not code.co_kwonlyargcount
        and not code.co_flags & (_VARARGS | _VARKEYWORDS)
    ):
        slots[:count] = args
        return
    _bind_slowly(slots, function, args, dict(kwargs))


def _bind_slowly(
    slots: list[Any], function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    code = function.__code__
    name = function.__qualname__
    argc, kwonly = code.co_argcount, code.co_kwonlyargcount
    names = code.co_varnames
    values: dict[str, Any] = dict(zip(names[:argc], args, strict=False))
    extra = args[argc:]
    rest: dict[str, Any] = {}
    positional_only = names[: code.co_posonlyargcount]
    defaults = function.__defaults__ or ()
    for key, value in kwargs.items():
        if key in names[: argc + kwonly] and key not in positional_only:
            if key in values:
                raise TypeError(f"{name}() got multiple values for argument '{key}'")
            values[key] = value
        elif code.co_flags & _VARKEYWORDS:
            rest[key] = value
        elif wrong := [n for n in positional_only if n in kwargs]:
            raise TypeError(
                f"{name}() got some positional-only arguments passed as keyword arguments: "
                f"'{', '.join(wrong)}'"
            )
        else:
            raise TypeError(f"{name}() got an unexpected keyword argument '{key}'")
    if extra and not code.co_flags & _VARARGS:
        by_name = sum(n in values for n in names[argc : argc + kwonly])
        raise _too_many(name, argc, len(args), len(defaults), by_name)
    for key, value in zip(names[argc - len(defaults) : argc], defaults, strict=True):
        values.setdefault(key, value)
    for key, value in (function.__kwdefaults__ or {}).items():
        values.setdefault(key, value)
    _require(name, [n for n in names[:argc] if n not in values], "positional")
    _require(name, [n for n in names[argc : argc + kwonly] if n not in values], "keyword-only")
    for k, key in enumerate(names[: argc + kwonly]):
        slots[k] = values[key]
    k = argc + kwonly
    if code.co_flags & _VARARGS:
        slots[k] = extra
        k += 1
    if code.co_flags & _VARKEYWORDS:
        slots[k] = rest


def _too_many(name: str, takes: int, given: int, defaults: int, by_name: int) -> TypeError:
    """As CPython words it; `by_name` keyword-only arguments were given as well."""
    wanted = f"from {takes - defaults} to {takes}" if defaults else str(takes)
    wanted += " positional argument" + ("s" if defaults or takes != 1 else "")
    got = str(given)
    if by_name:
        got += f" positional argument{'s' if given != 1 else ''} (and {by_name} keyword-only"
        got += f" argument{'s' if by_name != 1 else ''})"
    verb = "was" if given == 1 and not by_name else "were"
    return TypeError(f"{name}() takes {wanted} but {got} {verb} given")


def _require(name: str, missing: list[str], kind: str) -> None:
    if missing:
        quoted = [f"'{m}'" for m in missing]
        text = quoted[0]
        if len(quoted) == 2:
            text = " and ".join(quoted)
        elif len(quoted) > 2:
            text = ", ".join(quoted[:-1]) + f", and {quoted[-1]}"
        plural = "" if len(missing) == 1 else "s"
        raise TypeError(f"{name}() missing {len(missing)} required {kind} argument{plural}: {text}")
