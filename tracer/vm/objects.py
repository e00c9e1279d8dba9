"""Attributes, items and operators, so that code of the kernel's own classes is interpreted.

Python's data model in the part that can run kernel code: properties, methods and operator methods
written in Python are called through the VM; everything else is left to CPython.
"""

from __future__ import annotations

import operator
from types import FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any

from ..diagnostics import error
from ..language import scalar
from ..language.scalar import Scalar
from ..ops.spec import OpFunction
from ..trace import Value, describe
from .frame import NULL, Poison
from .guards import type_lookup
from .native import is_native

if TYPE_CHECKING:
    from .machine import Machine

_OPERATORS: dict[str, Any] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "@": operator.matmul, "**": operator.pow,
    "<<": operator.lshift, ">>": operator.rshift, "&": operator.and_, "|": operator.or_,
    "^": operator.xor, "<": operator.lt, "<=": operator.le, "==": operator.eq,
    "!=": operator.ne, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_INPLACE: dict[str, Any] = {
    "+": operator.iadd, "-": operator.isub, "*": operator.imul, "/": operator.itruediv,
    "//": operator.ifloordiv, "%": operator.imod, "@": operator.imatmul, "**": operator.ipow,
    "<<": operator.ilshift, ">>": operator.irshift, "&": operator.iand, "|": operator.ior,
    "^": operator.ixor,
}  # fmt: skip
_UNARY: dict[str, Any] = {"-": operator.neg, "+": operator.pos, "~": operator.invert}
_NAMES = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod",
    "@": "matmul", "**": "pow", "<<": "lshift", ">>": "rshift", "&": "and", "|": "or", "^": "xor",
}  # fmt: skip
_COMPARISONS = {
    "<": ("__lt__", "__gt__"), "<=": ("__le__", "__ge__"), "==": ("__eq__", "__eq__"),
    "!=": ("__ne__", "__ne__"), ">": ("__gt__", "__lt__"), ">=": ("__ge__", "__le__"),
}  # fmt: skip
_METHODS = {op: (f"__{n}__", f"__r{n}__") for op, n in _NAMES.items()} | _COMPARISONS
_UNARY_NAMES = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}

#: Flag of the types of classes that Python code made, among others.
HEAP_TYPE = 1 << 9
#: Types whose operators never run kernel code.
PLAIN = {int, float, bool, str, bytes, complex, type(None), slice, Scalar}
#: Types whose operators CPython's own functions apply.
FAST = {int, float, bool, Scalar}


def order_of(keys: list[Any], reverse: Any) -> list[int]:
    """The indices of keys in the order of the keys; runs natively."""
    return sorted(range(len(keys)), key=keys.__getitem__, reverse=reverse)


def _own(vm: Machine, obj: Any, name: str) -> FunctionType | None:
    """An operator method of the kernel's own classes, or None."""
    cls = type(obj)
    if cls in PLAIN or not cls.__flags__ & HEAP_TYPE:
        return None
    found = vm.lookup(cls, name)
    return found if vm.is_interpreted(found) else None


def _are_alike(a: Any, b: Any) -> bool:
    """Whether two objects are containers that CPython compares element by element."""
    return any(isinstance(a, kind) and isinstance(b, kind) for kind in (tuple, list, dict))


def binary(vm: Machine, op: str, a: Any, b: Any, shown: str = "") -> Any:
    """`a op b`, comparisons included; `shown` is the operator that messages name."""
    native = _INPLACE[op] if shown else _OPERATORS[op]
    if type(a) in FAST and type(b) in FAST:
        return native(a, b)
    left, right = _METHODS[op]
    mine, theirs = _own(vm, a, left), _own(vm, b, right)
    if mine is None and theirs is None and not (op == "!=" and _by_eq(vm, a, b)):
        if isinstance(a, Value) or isinstance(b, Value):
            return _runtime_operation(vm, op, a, b)
        if op in _COMPARISONS and _are_alike(a, b):
            from .sequences import compare, holds_runtime

            if holds_runtime(a) or holds_runtime(b):
                return compare(vm, op, a, b)
        return _checked(vm, native(a, b))
    for method, x, y, name in _tries(op, (mine, a, b, left), (theirs, b, a, right)):
        if method is None:
            found = type_lookup(type(x), name)
            equal = _own(vm, x, "__eq__") if found is object.__ne__ else None
            if equal is not None:
                result = vm.call(equal, (x, y))
                result = result if result is NotImplemented else unary(vm, "not", result)
            else:
                result = NotImplemented if found is None else found(x, y)
        else:
            result = vm.call(method, (x, y))
        if result is not NotImplemented:
            return result
    if op in ("==", "!="):
        return (a is b) == (op == "==")
    kind = (
        f"'{op}' not supported between instances of"
        if op in _COMPARISONS
        else (f"unsupported operand type(s) for {shown or op}:")
    )
    raise TypeError(f"{kind} '{type(a).__name__}' and '{type(b).__name__}'")


def _by_eq(vm: Machine, a: Any, b: Any) -> bool:
    """Whether `!=` is the negation of a kernel class's `==`."""
    return _own(vm, a, "__eq__") is not None or _own(vm, b, "__eq__") is not None


_Try = tuple[Any, Any, Any, str]


def _tries(op: str, forward: _Try, reflected: _Try) -> list[_Try]:
    """The methods of an operator's two sides in the order in which Python asks them."""
    (mine, a, b, _), (theirs, *_) = forward, reflected
    derived = type(b) is not type(a) and issubclass(type(b), type(a)) and theirs is not None
    if op in _COMPARISONS:
        return [reflected, forward] if derived else [forward, reflected]
    if type(a) is type(b):
        return [forward]
    if mine is None and op in "+*" and isinstance(a, _SEQUENCES):
        # Joining and repeating come after the arithmetic of the other side.
        return [reflected, forward]
    overridden = type_lookup(type(a), reflected[3]) is not type_lookup(type(b), reflected[3])
    return [reflected, forward] if derived and overridden else [forward, reflected]


_SEQUENCES = (list, tuple, str, bytes, bytearray)


def _runtime_operation(vm: Machine, op: str, a: Any, b: Any) -> Any:
    """An operator with a runtime operand and something that may be no number."""
    if op == "%" and isinstance(a, str):
        raise error(
            "AT0107",
            f"the text of {describe(b)} is not known while tracing",
            vm.site(),
            hint="print(f'{x}') prints on the device; other text needs a constant",
        )
    try:
        return _OPERATORS[op](a, b)
    except TypeError as exc:
        raise error(
            "AT0302",
            f"`{op}` is not defined for {describe(a)} and {describe(b)}",
            vm.site(),
            hint="operands of a runtime operation are runtime scalars and numbers; a tensor is "
            "computed on by the vector functions",
        ) from exc


def inplace(vm: Machine, op: str, a: Any, b: Any) -> Any:
    """`a op= b`."""
    if type(a) in PLAIN:
        return binary(vm, op, a, b, f"{op}=")
    name = f"__i{_NAMES[op]}__"
    method = _own(vm, a, name)
    if method is not None:
        result = vm.call(method, (a, b))
        return binary(vm, op, a, b, f"{op}=") if result is NotImplemented else result
    if hasattr(type(a), name):
        if not isinstance(a, Value):
            vm.touch(a)
        return _INPLACE[op](a, b)
    return binary(vm, op, a, b, f"{op}=")


def unary(vm: Machine, op: str, a: Any) -> Any:
    """`-a`, `+a`, `~a`, `not a`."""
    if op == "not":
        if isinstance(a, Scalar):
            return scalar.logical_not(a)
        from .handlers import decide

        found = decide(vm, None, a)  # type: ignore[arg-type]
        return scalar.logical_not(found) if isinstance(found, Scalar) else not found
    method = _own(vm, a, _UNARY_NAMES[op])
    return _UNARY[op](a) if method is None else vm.call(method, (a,))


def get_item(vm: Machine, container: Any, index: Any) -> Any:
    """`container[index]`."""
    kind = type(container)
    if kind is tuple or kind is list or kind is dict:
        value = container[index]
        return _checked(vm, value) if value.__class__ is Poison else value
    if isinstance(container, Value):
        if index.__class__ is slice:
            for part in (index.start, index.stop, index.step):
                _checked(vm, part)
        return container[_checked(vm, index)]  # type: ignore[index]
    method = _own(vm, container, "__getitem__")
    if method is not None:
        return vm.call(method, (container, index))
    if isinstance(container, type):
        return container[index]  # type: ignore[index]
    if isinstance(index, Scalar):
        operator.index(index)
    return _checked(vm, container[index])


def set_item(vm: Machine, container: Any, index: Any, value: Any) -> None:
    """`container[index] = value`."""
    method = _own(vm, container, "__setitem__")
    if method is not None:
        vm.call(method, (container, index, value))
        return
    if isinstance(container, Value):
        _checked(vm, value)
    else:
        vm.touch(container)
    container[index] = value


def _checked(vm: Machine, value: Any) -> Any:
    if value.__class__ is Poison:
        raise value.fail(vm.site())
    return value


def get_attr(vm: Machine, obj: Any, name: str) -> Any:
    """`obj.name`: properties and `__getattr__` of the kernel's own classes are interpreted."""
    cls = type(obj)
    if isinstance(obj, Value):
        return getattr(obj, name)
    if cls is ModuleType:
        value = getattr(obj, name)
        if is_native(obj.__name__):
            UNGUARDED[id(obj)] = obj
        else:
            vm.guards.attribute(obj, name, value)
        return value
    if not cls.__flags__ & HEAP_TYPE and not isinstance(obj, type):
        return getattr(obj, name)
    if isinstance(obj, type):
        value = getattr(obj, name)
        if is_native(obj.__module__):
            UNGUARDED[id(obj)] = obj
        elif id(obj) not in vm.local_classes:
            if type(value) is MethodType:
                # Bound anew each time.
                vm.lookup(obj, name)
            else:
                vm.guards.attribute(obj, name, value)
        return value
    return _instance_attr(vm, obj, cls, name)


def _instance_attr(vm: Machine, obj: Any, cls: type, name: str) -> Any:
    found = type_lookup(cls, name)
    if found is not None:
        vm.guard_lookup(cls, name, found)
    if type(found) is property and vm.is_interpreted(found.fget):
        return vm.call(found.fget, (obj,))
    getter = vm.lookup(cls, "__getattribute__")
    if vm.is_interpreted(getter):
        return vm.call(getter, (obj, name))
    try:
        value = (
            getattr(obj, name) if not _has_fallback(vm, cls) else object.__getattribute__(obj, name)
        )
    except AttributeError:
        fallback = vm.lookup(cls, "__getattr__")
        if vm.is_interpreted(fallback):
            return vm.call(fallback, (obj, name))
        raise
    if value.__class__ is Poison:
        raise value.fail(vm.site())
    if id(obj) in vm.guards.outer and not isinstance(value, MethodType):
        vm.guards.attribute(obj, name, value)
    return value


def _has_fallback(vm: Machine, cls: type) -> bool:
    return vm.is_interpreted(vm.lookup(cls, "__getattr__"))


#: Native modules and classes whose attributes were asked for, by id.
UNGUARDED: dict[int, Any] = {}
#: Operations that are methods of native proxies, by class and name, as they were looked up.
OPERATIONS: dict[tuple[type, str], OpFunction] = {}


def lookup_method(vm: Machine, obj: Any, name: str) -> tuple[Any, Any]:
    """What a call of `obj.name` calls: (function, self), or (callable, NULL)."""
    cls = type(obj)
    if isinstance(obj, Value):
        found = OPERATIONS.get((cls, name))
        if found is None:
            found = vm.lookup(cls, name)
            if type(found) is not OpFunction:
                return getattr(obj, name), NULL
            if is_native(cls.__module__):
                OPERATIONS[cls, name] = found
        return found, obj
    if cls.__flags__ & HEAP_TYPE and not isinstance(obj, type):
        found = type_lookup(cls, name)
        if type(found) is FunctionType and name not in getattr(obj, "__dict__", ()):
            vm.guard_lookup(cls, name, found)
            return found, obj
    return get_attr(vm, obj, name), NULL


def set_attr(vm: Machine, obj: Any, name: str, value: Any) -> None:
    """`obj.name = value`."""
    cls = type(obj)
    found = vm.lookup(cls, name)
    if type(found) is property and vm.is_interpreted(found.fset):
        vm.call(found.fset, (obj, value))
        return
    setter = vm.lookup(cls, "__setattr__")
    if vm.is_interpreted(setter):
        vm.call(setter, (obj, name, value))
        return
    if isinstance(obj, type | ModuleType):
        if id(obj) not in vm.local_classes:
            vm.write_outer(f"the attribute `{name}` of `{obj.__name__}`")
    elif isinstance(obj, Value):
        _checked(vm, value)
    else:
        vm.touch(obj)
    setattr(obj, name, value)
