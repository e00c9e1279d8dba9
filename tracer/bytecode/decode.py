"""From a code object to canonical instructions, once per code object."""

from __future__ import annotations

from types import CodeType
from typing import Final

from .canonical import BRANCHES, CANONICAL, JUMPS, Code, Handler, Instr
from .nodes import Node, Nodes, Region
from .read import read
from .versions import current_rules

# Keyed by identity: equal code objects may come from different files. `Code` keeps its code object
# alive, so a key stands for one code object as long as it is there.
_DECODED: Final[dict[int, Code]] = {}
#: Code objects kept; a program that makes functions without end must not fill the memory.
_LIMIT: Final = 4096


def decode(code: CodeType) -> Code:
    """Return the canonical instructions of `code`.

    The result is cached and shared: do not change it. Raises UnsupportedPython; an opcode that no
    kernel can use becomes a REJECTED instruction.
    """
    decoded = _DECODED.get(id(code))
    if decoded is None:
        rules = current_rules()
        nodes = read(code, rules.name_flags)
        for step in rules.passes:
            nodes = step(nodes)
        if len(_DECODED) >= _LIMIT:
            _DECODED.clear()
        decoded = _DECODED[id(code)] = _resolve(nodes, code)
    return decoded


def _slot_names(code: CodeType) -> tuple[str, ...]:
    cells = tuple(name for name in code.co_cellvars if name not in code.co_varnames)
    return code.co_varnames + cells + code.co_freevars


def _leaders(nodes: Nodes) -> set[Node]:
    """Return the labels that are targets."""
    targets = {node.arg for node in nodes if node.op in JUMPS}
    targets.update(node.region.target for node in nodes if node.region is not None)
    return targets


def _resolve(nodes: Nodes, code: CodeType) -> Code:
    """Place one LABEL at each leader and put indices in place of labels."""
    slot_names = _slot_names(code)
    first_free = len(slot_names) - len(code.co_freevars)
    cells = {i for i, name in enumerate(slot_names) if i >= first_free or name in code.co_cellvars}
    targets = _leaders(nodes)
    where: dict[Node, int] = {}
    instrs: list[Instr] = []
    regions: list[Region | None] = []
    leads = True
    for node in nodes:
        if node.op == "LABEL":
            if node in targets:
                leads = True
                where[node] = len(instrs)
            continue
        assert node.op in CANONICAL, f"no rule for {node.op} (internal error)"
        if leads:
            instrs.append(Instr("LABEL", None, node.span))
            regions.append(node.region)
        # Python 3.13 has no opcode of its own for loading a cell itself.
        closure = node.op == "LOAD_FAST" and node.arg in cells
        instrs.append(Instr("LOAD_CLOSURE" if closure else node.op, node.arg, node.span))
        regions.append(node.region)
        leads = node.op in BRANCHES
    assert not leads, "control runs off the end (internal error)"
    for instr in instrs:
        if instr.op in JUMPS:
            instr.arg = where[instr.arg]
    handlers: dict[Region, Handler] = {
        region: Handler(where[region.target], region.depth, region.lasti)
        for region in regions
        if region is not None
    }
    aligned = [None if region is None else handlers[region] for region in regions]
    return Code(code, instrs, aligned, slot_names)
