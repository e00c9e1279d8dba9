"""One handler a canonical instruction; `HANDLERS` maps names to them.

A handler gets (vm, frame, arg) and returns None to go on, an instruction index to jump to, or what
ends the run. Most are one-liners over `operator` and the stack.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from types import CellType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from ..diagnostics import error
from ..language.scalar import Scalar, truth
from ..ops.spec import OpFunction
from ..trace import Value
from . import special
from .calls import call as call_any
from .control import Snapshot, branch
from .frame import NULL, RETURN, STOP, UNBOUND, YIELD, Frame, Poison
from .generators import VMGenerator, advance
from .heap import write_cell
from .loops import for_range
from .objects import binary, get_attr, get_item, inplace, lookup_method, set_attr, set_item, unary
from .ranges import RangeState
from .text import format_value, join_text

if TYPE_CHECKING:
    from .machine import Machine

Handler = Callable[["Machine", Frame, Any], Any]
HANDLERS: dict[str, Handler] = {}


def handles(*names: str) -> Callable[[Handler], Handler]:
    """Register a handler for canonical instructions."""

    def add(function: Handler) -> Handler:
        for name in names:
            HANDLERS[name] = function
        return function

    return add


# -- labels, jumps, truth -------------------------------------------------------------------------


@handles("LABEL")
def label(vm: Machine, frame: Frame, arg: Any) -> Any:
    if frame.pc in frame.stops:
        return STOP
    return None


def loop_header(vm: Machine, frame: Frame, arg: Any) -> Any:
    """The label of a `while` loop: remember the state, the loop may turn out a runtime one."""
    if frame.pc in frame.stops:
        return STOP
    vm.count_step("a loop decided while tracing")
    vm.journaling = True
    frame.snapshots[frame.pc] = Snapshot(vm, frame)
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
    return special.truth_of(vm, value)


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


# -- the stack, constants, locals -----------------------------------------------------------------


@handles("POP_TOP")
def pop_top(vm: Machine, frame: Frame, arg: Any) -> None:
    frame.stack.pop()


@handles("COPY")
def copy(vm: Machine, frame: Frame, n: int) -> None:
    frame.stack.append(frame.stack[-n])


@handles("SWAP")
def swap(vm: Machine, frame: Frame, n: int) -> None:
    stack = frame.stack
    stack[-1], stack[-n] = stack[-n], stack[-1]


@handles("PUSH_NULL")
def push_null(vm: Machine, frame: Frame, arg: Any) -> None:
    frame.stack.append(NULL)


@handles("LOAD_CONST")
def load_const(vm: Machine, frame: Frame, value: Any) -> None:
    frame.stack.append(value)


def _unbound_local(frame: Frame, slot: int) -> UnboundLocalError:
    name = frame.code.slot_names[slot]
    return UnboundLocalError(
        f"cannot access local variable '{name}' where it is not associated with a value"
    )


@handles("LOAD_FAST")
def load_fast(vm: Machine, frame: Frame, slot: int) -> None:
    value = frame.slots[slot]
    if value is UNBOUND:
        raise _unbound_local(frame, slot)
    if value.__class__ is Poison:
        raise value.fail(frame.site())
    frame.stack.append(value)


def load_several(vm: Machine, frame: Frame, arg: tuple[tuple[int, ...], int]) -> int:
    """Several LOAD_FASTs in a row; `arg` has their slots and what follows them."""
    slots, end = arg
    values, stack = frame.slots, frame.stack
    for slot in slots:
        value = values[slot]
        if value is UNBOUND or value.__class__ is Poison:
            frame.pc += slots.index(slot)
            load_fast(vm, frame, slot)
        stack.append(value)
    return end


@handles("LOAD_CLOSURE")
def load_closure(vm: Machine, frame: Frame, slot: int) -> None:
    frame.stack.append(frame.slots[slot])


@handles("LOAD_FAST_AND_CLEAR")
def load_fast_and_clear(vm: Machine, frame: Frame, slot: int) -> None:
    frame.stack.append(frame.slots[slot])
    frame.slots[slot] = UNBOUND


@handles("STORE_FAST")
def store_fast(vm: Machine, frame: Frame, slot: int) -> None:
    value = frame.stack.pop()
    frame.set_at[slot] = frame.pc
    if isinstance(value, Value):
        if not value.name:
            value.name = frame.code.slot_names[slot]
    elif value.__class__ is Poison:
        value = value.renamed(frame.code.slot_names[slot])
    frame.slots[slot] = value


@handles("DELETE_FAST")
def delete_fast(vm: Machine, frame: Frame, slot: int) -> None:
    if frame.slots[slot] is UNBOUND:
        raise _unbound_local(frame, slot)
    frame.slots[slot] = UNBOUND


@handles("MAKE_CELL")
def make_cell(vm: Machine, frame: Frame, slot: int) -> None:
    value = frame.slots[slot]
    cell = CellType() if value is UNBOUND else CellType(value)
    vm.local_cells[id(cell)] = cell
    if vm.journaling:
        vm.note_birth(cell)
    frame.slots[slot] = cell


def read_cell(vm: Machine, frame: Frame, slot: int) -> Any:
    cell = frame.slots[slot]
    try:
        value = cell.cell_contents
    except ValueError:
        name = frame.code.slot_names[slot]
        if not frame.program.is_free(slot):
            raise _unbound_local(frame, slot) from None
        raise NameError(
            f"cannot access free variable '{name}' where it is not associated with a value in "
            "enclosing scope"
        ) from None
    if value.__class__ is Poison:
        raise value.fail(frame.site())
    if frame.program.is_free(slot) and id(cell) not in vm.local_cells:
        vm.guards.cell(cell, value)
    return value


@handles("LOAD_DEREF")
def load_deref(vm: Machine, frame: Frame, slot: int) -> None:
    frame.stack.append(read_cell(vm, frame, slot))


@handles("STORE_DEREF")
def store_deref(vm: Machine, frame: Frame, slot: int) -> None:
    value = frame.stack.pop()
    set_cell(vm, frame, slot, value)
    if isinstance(value, Value) and not value.name:
        value.name = frame.code.slot_names[slot]


def set_cell(vm: Machine, frame: Frame, slot: int, value: Any) -> None:
    cell = frame.slots[slot]
    if frame.program.is_free(slot) and id(cell) not in vm.local_cells:
        vm.write_outer(f"the variable `{frame.code.slot_names[slot]}`")
    vm.touch(cell)
    write_cell(cell, {0: value})


@handles("DELETE_DEREF")
def delete_deref(vm: Machine, frame: Frame, slot: int) -> None:
    read_cell(vm, frame, slot)
    set_cell(vm, frame, slot, UNBOUND)


# -- globals and names ----------------------------------------------------------------------------


def load_from_globals(vm: Machine, frame: Frame, name: str) -> Any:
    namespace = frame.globals
    try:
        value = namespace[name]
    except KeyError:
        scope = namespace.get("__builtins__", builtins)
        scope = scope.__dict__ if isinstance(scope, ModuleType) else scope
        if name not in scope:
            raise NameError(f"name '{name}' is not defined") from None
        vm.guards.missing(namespace, name)
        return scope[name]
    vm.guards.item(namespace, name, value)
    if value.__class__ is Poison:
        raise value.fail(frame.site()) from None
    return value


@handles("LOAD_GLOBAL")
def load_global(vm: Machine, frame: Frame, name: str) -> None:
    frame.stack.append(load_from_globals(vm, frame, name))


@handles("STORE_GLOBAL")
def store_global(vm: Machine, frame: Frame, name: str) -> None:
    vm.write_outer(f"the global `{name}`")
    vm.journal(frame.globals)
    frame.globals[name] = frame.stack.pop()


@handles("DELETE_GLOBAL")
def delete_global(vm: Machine, frame: Frame, name: str) -> None:
    vm.write_outer(f"the global `{name}`")
    vm.journal(frame.globals)
    del frame.globals[name]


@handles("LOAD_NAME")
def load_name(vm: Machine, frame: Frame, name: str) -> None:
    if frame.names is not None and name in frame.names:
        frame.stack.append(frame.names[name])
    else:
        frame.stack.append(load_from_globals(vm, frame, name))


@handles("STORE_NAME")
def store_name(vm: Machine, frame: Frame, name: str) -> None:
    assert frame.names is not None
    frame.names[name] = frame.stack.pop()


@handles("DELETE_NAME")
def delete_name(vm: Machine, frame: Frame, name: str) -> None:
    assert frame.names is not None
    del frame.names[name]


@handles("LOAD_LOCALS")
def load_locals(vm: Machine, frame: Frame, arg: Any) -> None:
    frame.stack.append(frame.names)


@handles("LOAD_FROM_DICT_OR_GLOBALS")
def load_from_dict_or_globals(vm: Machine, frame: Frame, name: str) -> None:
    mapping = frame.stack.pop()
    found = mapping[name] if name in mapping else load_from_globals(vm, frame, name)
    frame.stack.append(found)


@handles("LOAD_FROM_DICT_OR_DEREF")
def load_from_dict_or_deref(vm: Machine, frame: Frame, slot: int) -> None:
    mapping = frame.stack.pop()
    name = frame.code.slot_names[slot]
    frame.stack.append(mapping[name] if name in mapping else read_cell(vm, frame, slot))


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
    found = special.contains(vm, frame.stack[-1], container)
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
    special.delete_item(vm, container, index)


# -- containers and text --------------------------------------------------------------------------


def _take(frame: Frame, n: int) -> list[Any]:
    if not n:
        return []
    items = frame.stack[-n:]
    del frame.stack[-n:]
    return items


@handles("BUILD_TUPLE")
def build_tuple(vm: Machine, frame: Frame, n: int) -> None:
    frame.stack.append(tuple(_take(frame, n)))


def _born(vm: Machine, frame: Frame, obj: Any) -> None:
    if vm.journaling:
        vm.note_birth(obj)
    frame.stack.append(obj)


@handles("BUILD_LIST")
def build_list(vm: Machine, frame: Frame, n: int) -> None:
    _born(vm, frame, _take(frame, n))


@handles("BUILD_SET")
def build_set(vm: Machine, frame: Frame, n: int) -> None:
    _born(vm, frame, set(_take(frame, n)))


@handles("BUILD_MAP")
def build_map(vm: Machine, frame: Frame, n: int) -> None:
    items = _take(frame, 2 * n)
    _born(vm, frame, dict(zip(items[::2], items[1::2], strict=True)))


@handles("BUILD_CONST_KEY_MAP")
def build_const_key_map(vm: Machine, frame: Frame, n: int) -> None:
    keys = frame.stack.pop()
    _born(vm, frame, dict(zip(keys, _take(frame, n), strict=True)))


@handles("BUILD_SLICE")
def build_slice(vm: Machine, frame: Frame, n: int) -> None:
    frame.stack.append(slice(*_take(frame, n)))


@handles("BUILD_STRING")
def build_string(vm: Machine, frame: Frame, n: int) -> None:
    frame.stack.append(join_text(_take(frame, n)))


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
    if not _is_iterable(items):
        kind = type(items).__name__
        raise TypeError(f"Value after * must be an iterable, not {kind}")
    vm.touch(frame.stack[-i])
    frame.stack[-i].extend(special.items_of(vm, items))


def _is_iterable(value: Any) -> bool:
    """Whether CPython takes it for an iterable; a runtime value refuses in its own words."""
    kind = type(value)
    return isinstance(value, Value) or hasattr(kind, "__iter__") or hasattr(kind, "__getitem__")


@handles("SET_UPDATE")
def set_update(vm: Machine, frame: Frame, i: int) -> None:
    items = frame.stack.pop()
    vm.touch(frame.stack[-i])
    frame.stack[-i].update(special.items_of(vm, items))


@handles("DICT_UPDATE")
def dict_update(vm: Machine, frame: Frame, i: int) -> None:
    items = frame.stack.pop()
    vm.touch(frame.stack[-i])
    frame.stack[-i].update(items)


def _called(first: Any, second: Any) -> str:
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
        called = _called(frame.stack[-i - 3], frame.stack[-i - 2])
        kind = type(items).__name__
        raise TypeError(f"{called} argument after ** must be a mapping, not {kind}")
    for key in items:
        if key in target:
            called = _called(frame.stack[-i - 3], frame.stack[-i - 2])
            raise TypeError(f"{called} got multiple values for keyword argument '{key}'")
        if not isinstance(key, str):
            raise TypeError("keywords must be strings")
    vm.touch(target)
    target.update(items)


@handles("LIST_TO_TUPLE")
def list_to_tuple(vm: Machine, frame: Frame, arg: Any) -> None:
    frame.stack[-1] = tuple(frame.stack[-1])


@handles("UNPACK_SEQUENCE")
def unpack_sequence(vm: Machine, frame: Frame, n: int) -> None:
    value = frame.stack.pop()
    if type(value) is not tuple and type(value) is not list:
        if isinstance(value, Value):
            iter(value)  # type: ignore[call-overload]
        try:
            value = special.items_of(vm, value, n + 1)
        except TypeError:
            if hasattr(type(value), "__iter__"):
                raise
            raise TypeError(f"cannot unpack non-iterable {type(value).__name__} object") from None
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
    value = list(special.items_of(vm, frame.stack.pop()))
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
    frame.stack.append(special.is_sequence(frame.stack[-1]))


@handles("MATCH_MAPPING")
def match_mapping(vm: Machine, frame: Frame, arg: Any) -> None:
    frame.stack.append(special.is_mapping(frame.stack[-1]))


@handles("MATCH_KEYS")
def match_keys(vm: Machine, frame: Frame, arg: Any) -> None:
    frame.stack.append(special.match_keys(frame.stack[-2], frame.stack[-1]))


@handles("MATCH_CLASS")
def match_class(vm: Machine, frame: Frame, n: int) -> None:
    names, cls, subject = frame.stack.pop(), frame.stack.pop(), frame.stack.pop()
    frame.stack.append(special.match_class(vm, subject, cls, n, names))


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
    args = tuple(stack[-n:]) if n else ()
    function, instance = stack[-n - 2], stack[-n - 1]
    del stack[-n - 2 :]
    if function is NULL:
        function = instance
    elif instance is not NULL:
        args = (instance, *args)
    if type(function) is OpFunction:
        stack.append(function.apply(vm, args))
    else:
        stack.append(call_any(vm, function, args, _NO_KEYWORDS))


@handles("CALL_KW")
def call_kw(vm: Machine, frame: Frame, n: int) -> None:
    names = frame.stack.pop()
    args = _take(frame, n)
    split = n - len(names)
    kwargs = dict(zip(names, args[split:], strict=True))
    frame.stack.append(_invoke(vm, frame, args[:split], kwargs))


@handles("CALL_EX")
def call_ex(vm: Machine, frame: Frame, has_kwargs: bool) -> None:
    kwargs = dict(frame.stack.pop()) if has_kwargs else {}
    items = frame.stack.pop()
    if not _is_iterable(items):
        called, kind = _called(frame.stack[-2], frame.stack[-1]), type(items).__name__
        raise TypeError(f"{called} argument after * must be an iterable, not {kind}")
    frame.stack.append(_invoke(vm, frame, list(special.items_of(vm, items)), kwargs))


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
    found = special.iterator(vm, frame.stack[-1])
    frame.stack[-1] = special.replayable(vm, found) if frame.is_generator else found


@handles("FOR_ITER")
def for_iter(vm: Machine, frame: Frame, target: int) -> Any:
    iterator = frame.stack[-1]
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
    frame.is_generator = True
    if frame.code.slot_names[:1] == (".0",):
        frame.slots[0] = special.replayable(vm, frame.slots[0])
    frame.retval = VMGenerator(vm, frame)
    return RETURN


@handles("YIELD_VALUE")
def yield_value(vm: Machine, frame: Frame, arg: Any) -> Any:
    frame.retval = frame.stack.pop()
    return YIELD


@handles("GET_YIELD_FROM_ITER")
def get_yield_from_iter(vm: Machine, frame: Frame, arg: Any) -> None:
    if not isinstance(frame.stack[-1], VMGenerator):
        frame.stack[-1] = special.iterator(vm, frame.stack[-1])


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


# -- exceptions -----------------------------------------------------------------------------------


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
    if exc.__context__ is None and vm.handled is not exc:
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


# -- imports, classes, the rest -------------------------------------------------------------------


@handles("IMPORT_NAME")
def import_name(vm: Machine, frame: Frame, name: str) -> None:
    names, level = frame.stack.pop(), frame.stack.pop()
    frame.stack.append(__import__(name, frame.globals, None, names, level))


@handles("IMPORT_FROM")
def import_from(vm: Machine, frame: Frame, name: str) -> None:
    frame.stack.append(special.import_from(vm, frame.stack[-1], name))


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
