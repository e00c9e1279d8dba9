"""The stack, constants, locals, globals and names."""

from __future__ import annotations

import builtins
from types import CellType, ModuleType
from typing import TYPE_CHECKING, Any

from ...trace import Value
from ..frame import NULL, UNBOUND, Frame, Poison
from ..heap import write_cell
from ._table import handles

if TYPE_CHECKING:
    from ..machine import Machine


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
