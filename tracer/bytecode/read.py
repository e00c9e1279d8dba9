"""From a code object to nodes with resolved arguments, opcodes still as CPython has them.

`bytecode.ConcreteBytecode` decodes (opcodes, wide arguments, positions, exception table). Its
higher form `Bytecode` names variables, which loses the slot where a local and a free variable
share a name (inlined comprehensions; in 0.19 a wrong one is named on Python 3.13), and it raises
for `class C[T = int]`. Slots are numbers here.
"""

from __future__ import annotations

import dis
from collections.abc import Mapping
from types import CodeType
from typing import Any, Final

from bytecode import ConcreteBytecode, ConcreteInstr
from bytecode.concrete import ExceptionTableEntry

from .canonical import Span
from .nodes import NO_SPAN, Node, Nodes, Region, label

READ_AWAY: Final = frozenset({"CACHE", "EXTENDED_ARG"})
"""Code units that are no instructions of their own."""

_CONST: Final = frozenset(dis.hasconst)
_NAME: Final = frozenset(dis.hasname)


def _span(instr: ConcreteInstr) -> Span:
    at = instr.location
    if at is None:
        return NO_SPAN
    return (at.lineno, at.end_lineno, at.col_offset, at.end_col_offset)


def _argument(instr: ConcreteInstr, code: CodeType, name_flags: Mapping[str, int]) -> Any:
    if not instr.require_arg():
        return None
    arg = instr.arg
    if instr.opcode in _CONST:
        return code.co_consts[arg]
    if instr.opcode in _NAME:
        bits = name_flags.get(instr.name)
        if bits is None:
            return code.co_names[arg]
        return (arg & ((1 << bits) - 1), code.co_names[arg >> bits])
    return arg


def _guards(table: list[ExceptionTableEntry], labels: dict[int, Node]) -> dict[int, Region]:
    """Return the handler of each guarded code unit. Entries never overlap in CPython's table."""
    guards: dict[int, Region] = {}
    shared: dict[tuple[int, int, bool], Region] = {}
    for entry in table:
        key = (entry.target, entry.stack_depth, bool(entry.push_lasti))
        if key not in shared:
            target = labels.setdefault(entry.target, label())
            shared[key] = Region(target, key[1], key[2])
        region = shared[key]
        guards.update((unit, region) for unit in range(entry.start_offset, entry.stop_offset + 1))
    return guards


def read(code: CodeType, name_flags: Mapping[str, int]) -> Nodes:
    """Return the instructions of `code`.

    `name_flags` tells how many low bits of an opcode's name index are flags; such an argument
    becomes ``(flags, name)``. Constants and names are resolved, jumps refer to labels.
    """
    concrete = ConcreteBytecode.from_code(code)
    placed: list[tuple[int, Node]] = []
    labels: dict[int, Node] = {}
    guards = _guards(concrete.exception_table, labels)
    unit = 0
    for instr in concrete:
        start = unit
        unit += instr.size // 2
        if instr.name in READ_AWAY:
            continue
        target = instr.get_jump_target(start) if instr.has_jump() else None
        if target is None:
            arg = _argument(instr, code, name_flags)
        else:
            arg = labels.setdefault(target, label())
        # The last unit is the instruction itself, those before are wide-argument prefixes.
        placed.append((start, Node(instr.name, arg, _span(instr), guards.get(unit - 1))))
    nodes: Nodes = []
    for start, node in placed:
        if start in labels:
            nodes.append(labels[start])
        nodes.append(node)
    return nodes
