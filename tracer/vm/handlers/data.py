"""Attributes, items and operators; containers, text and patterns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...trace import Value
from .. import protocols
from ..frame import NULL, Frame
from ..objects import binary, get_attr, get_item, inplace, lookup_method, set_attr, set_item, unary
from ..text import format_value, join_text
from ._table import handles
from .jumps import usable

if TYPE_CHECKING:
    from ..machine import Machine


# -- attributes, items, operators -----------------------------------------------------------------


@handles("LOAD_ATTR")
def load_attr(vm: Machine, frame: Frame, name: str) -> None:
    frame.stack[-1] = get_attr(vm, frame.stack[-1], name)


@handles("LOAD_METHOD")
def load_method(vm: Machine, frame: Frame, name: str) -> None:
    function, instance = lookup_method(vm, frame.stack[-1], name)
    frame.stack[-1] = function
    frame.stack.append(instance)


@handles("STORE_ATTR")
def store_attr(vm: Machine, frame: Frame, name: str) -> None:
    obj = frame.stack.pop()
    value = frame.stack.pop()
    if isinstance(value, Value) and not value.name:
        value.name = name
    set_attr(vm, obj, name, value)


@handles("DELETE_ATTR")
def delete_attr(vm: Machine, frame: Frame, name: str) -> None:
    obj = frame.stack.pop()
    vm.touch(obj)
    delattr(obj, name)


@handles("LOAD_SUPER_ATTR")
def load_super_attr(vm: Machine, frame: Frame, arg: tuple[str, bool]) -> None:
    instance, cls, _ = frame.stack.pop(), frame.stack.pop(), frame.stack.pop()
    frame.stack.append(getattr(super(cls, instance), arg[0]))


@handles("LOAD_SUPER_METHOD")
def load_super_method(vm: Machine, frame: Frame, arg: tuple[str, bool]) -> None:
    load_super_attr(vm, frame, arg)
    frame.stack.append(NULL)


@handles("BINARY_OP")
def binary_op(vm: Machine, frame: Frame, op: str) -> None:
    stack = frame.stack
    right = stack.pop()
    stack[-1] = binary(vm, op, stack[-1], right)


@handles("INPLACE_OP")
def inplace_op(vm: Machine, frame: Frame, op: str) -> None:
    stack = frame.stack
    right = stack.pop()
    stack[-1] = inplace(vm, op, stack[-1], right)


@handles("UNARY_OP")
def unary_op(vm: Machine, frame: Frame, op: str) -> None:
    frame.stack[-1] = unary(vm, op, frame.stack[-1])


@handles("COMPARE_OP")
def compare_op(vm: Machine, frame: Frame, op: str) -> None:
    stack = frame.stack
    right = stack.pop()
    stack[-1] = binary(vm, op, stack[-1], right)


@handles("IS_OP")
def is_op(vm: Machine, frame: Frame, invert: bool) -> None:
    right, left = usable(frame, frame.stack.pop()), usable(frame, frame.stack[-1])
    frame.stack[-1] = (left is right) != invert


@handles("CONTAINS_OP")
def contains_op(vm: Machine, frame: Frame, invert: bool) -> None:
    container = frame.stack.pop()
    found = protocols.contains(vm, frame.stack[-1], container)
    frame.stack[-1] = unary(vm, "not", found) if invert else found


@handles("BINARY_SUBSCR")
def binary_subscr(vm: Machine, frame: Frame, arg: Any) -> None:
    index = frame.stack.pop()
    frame.stack[-1] = get_item(vm, frame.stack[-1], index)


@handles("STORE_SUBSCR")
def store_subscr(vm: Machine, frame: Frame, arg: Any) -> None:
    index, container, value = frame.stack.pop(), frame.stack.pop(), frame.stack.pop()
    set_item(vm, container, index, value)


@handles("DELETE_SUBSCR")
def delete_subscr(vm: Machine, frame: Frame, arg: Any) -> None:
    index, container = frame.stack.pop(), frame.stack.pop()
    vm.touch(container)
    protocols.delete_item(vm, container, index)


# -- containers and text --------------------------------------------------------------------------


def take(frame: Frame, n: int) -> list[Any]:
    if not n:
        return []
    items = frame.stack[-n:]
    del frame.stack[-n:]
    return items


@handles("BUILD_TUPLE")
def build_tuple(vm: Machine, frame: Frame, n: int) -> None:
    frame.stack.append(tuple(take(frame, n)))


def _born(vm: Machine, frame: Frame, obj: Any) -> None:
    if vm.journaling:
        vm.note_birth(obj)
    frame.stack.append(obj)


@handles("BUILD_LIST")
def build_list(vm: Machine, frame: Frame, n: int) -> None:
    _born(vm, frame, take(frame, n))


@handles("BUILD_SET")
def build_set(vm: Machine, frame: Frame, n: int) -> None:
    _born(vm, frame, set(take(frame, n)))


@handles("BUILD_MAP")
def build_map(vm: Machine, frame: Frame, n: int) -> None:
    items = take(frame, 2 * n)
    _born(vm, frame, dict(zip(items[::2], items[1::2], strict=True)))


@handles("BUILD_CONST_KEY_MAP")
def build_const_key_map(vm: Machine, frame: Frame, n: int) -> None:
    keys = frame.stack.pop()
    _born(vm, frame, dict(zip(keys, take(frame, n), strict=True)))


@handles("BUILD_SLICE")
def build_slice(vm: Machine, frame: Frame, n: int) -> None:
    frame.stack.append(slice(*take(frame, n)))


@handles("BUILD_STRING")
def build_string(vm: Machine, frame: Frame, n: int) -> None:
    frame.stack.append(join_text(take(frame, n)))


@handles("FORMAT")
def format_(vm: Machine, frame: Frame, arg: tuple[str | None, bool]) -> None:
    conversion, has_spec = arg
    spec = frame.stack.pop() if has_spec else ""
    frame.stack[-1] = format_value(vm, frame.stack[-1], conversion, spec)


@handles("CONVERT")
def convert_(vm: Machine, frame: Frame, conversion: str) -> None:
    frame.stack[-1] = format_value(vm, frame.stack[-1], conversion, "")


@handles("LIST_APPEND")
def list_append(vm: Machine, frame: Frame, i: int) -> None:
    value = frame.stack.pop()
    target = frame.stack[-i]
    vm.touch(target)
    target.append(value)


@handles("SET_ADD")
def set_add(vm: Machine, frame: Frame, i: int) -> None:
    value = frame.stack.pop()
    vm.touch(frame.stack[-i])
    frame.stack[-i].add(value)


@handles("MAP_ADD")
def map_add(vm: Machine, frame: Frame, i: int) -> None:
    value, key = frame.stack.pop(), frame.stack.pop()
    vm.touch(frame.stack[-i])
    frame.stack[-i][key] = value


@handles("LIST_EXTEND")
def list_extend(vm: Machine, frame: Frame, i: int) -> None:
    items = frame.stack.pop()
    if not protocols.is_iterable(items):
        kind = type(items).__name__
        raise TypeError(f"Value after * must be an iterable, not {kind}")
    vm.touch(frame.stack[-i])
    frame.stack[-i].extend(protocols.items_of(vm, items))


@handles("SET_UPDATE")
def set_update(vm: Machine, frame: Frame, i: int) -> None:
    items = frame.stack.pop()
    vm.touch(frame.stack[-i])
    frame.stack[-i].update(protocols.items_of(vm, items))


@handles("DICT_UPDATE")
def dict_update(vm: Machine, frame: Frame, i: int) -> None:
    items = frame.stack.pop()
    if not hasattr(items, "keys"):
        raise TypeError(f"'{type(items).__name__}' object is not a mapping")
    vm.touch(frame.stack[-i])
    frame.stack[-i].update(items)


def callee(first: Any, second: Any) -> str:
    """A function about to be called as CPython's messages name it."""
    function = second if first is NULL else first
    name = getattr(function, "__qualname__", None)
    if name is None:
        return str(function)
    module = getattr(function, "__module__", None)
    return f"{name}()" if module in (None, "builtins") else f"{module}.{name}()"


@handles("DICT_MERGE")
def dict_merge(vm: Machine, frame: Frame, i: int) -> None:
    items = frame.stack.pop()
    target = frame.stack[-i]
    if not hasattr(type(items), "keys"):
        called = callee(frame.stack[-i - 3], frame.stack[-i - 2])
        kind = type(items).__name__
        raise TypeError(f"{called} argument after ** must be a mapping, not {kind}")
    for key in items:
        if key in target:
            called = callee(frame.stack[-i - 3], frame.stack[-i - 2])
            raise TypeError(f"{called} got multiple values for keyword argument '{key}'")
        if not isinstance(key, str):
            raise TypeError("keywords must be strings")
    vm.touch(target)
    target.update(items)


@handles("LIST_TO_TUPLE")
def list_to_tuple(vm: Machine, frame: Frame, arg: Any) -> None:
    frame.stack[-1] = tuple(frame.stack[-1])


def _unpacked(vm: Machine, value: Any, limit: int | None = None) -> Any:
    """The elements of what is unpacked, with CPython's message for what has none."""
    if isinstance(value, Value):
        iter(value)  # type: ignore[call-overload]
    try:
        return protocols.items_of(vm, value, limit)
    except TypeError:
        if hasattr(type(value), "__iter__"):
            raise
        raise TypeError(f"cannot unpack non-iterable {type(value).__name__} object") from None


@handles("UNPACK_SEQUENCE")
def unpack_sequence(vm: Machine, frame: Frame, n: int) -> None:
    value = frame.stack.pop()
    if type(value) is not tuple and type(value) is not list:
        value = _unpacked(vm, value, n + 1)
        if len(value) > n:
            raise ValueError(f"too many values to unpack (expected {n})")
    elif len(value) > n:
        raise ValueError(f"too many values to unpack (expected {n})")
    if len(value) < n:
        raise ValueError(f"not enough values to unpack (expected {n}, got {len(value)})")
    frame.stack.extend(reversed(value))


@handles("UNPACK_EX")
def unpack_ex(vm: Machine, frame: Frame, arg: tuple[int, int]) -> None:
    before, after = arg
    value = list(_unpacked(vm, frame.stack.pop()))
    if len(value) < before + after:
        raise ValueError(
            f"not enough values to unpack (expected at least {before + after}, got {len(value)})"
        )
    rest = value[before : len(value) - after]
    tail = value[len(value) - after :] if after else []
    frame.stack.extend(reversed(tail))
    _born(vm, frame, rest)
    frame.stack.extend(reversed(value[:before]))


# -- pattern matching -----------------------------------------------------------------------------


@handles("GET_LEN")
def get_len(vm: Machine, frame: Frame, arg: Any) -> None:
    frame.stack.append(len(frame.stack[-1]))


@handles("MATCH_SEQUENCE")
def match_sequence(vm: Machine, frame: Frame, arg: Any) -> None:
    frame.stack.append(protocols.is_sequence(frame.stack[-1]))


@handles("MATCH_MAPPING")
def match_mapping(vm: Machine, frame: Frame, arg: Any) -> None:
    frame.stack.append(protocols.is_mapping(frame.stack[-1]))


@handles("MATCH_KEYS")
def match_keys(vm: Machine, frame: Frame, arg: Any) -> None:
    frame.stack.append(protocols.match_keys(frame.stack[-2], frame.stack[-1]))


@handles("MATCH_CLASS")
def match_class(vm: Machine, frame: Frame, n: int) -> None:
    names, cls, subject = frame.stack.pop(), frame.stack.pop(), frame.stack.pop()
    frame.stack.append(protocols.match_class(vm, subject, cls, n, names))
