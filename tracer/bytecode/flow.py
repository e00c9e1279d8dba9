"""Passes over control flow: dead code and redundant jumps.

Imports the working form only; the list's jumps are canonical by now.
"""

from __future__ import annotations

from .canonical import CONDITIONAL
from .nodes import INVERSE, Flow, Nodes, whole


@whole()
def drop_unreachable(nodes: Nodes) -> Nodes:
    """Remove what control never reaches. Handlers of live instructions live."""
    flow = Flow(nodes)
    live = [False] * len(nodes)
    todo = [0]
    while todo:
        i = todo.pop()
        if live[i]:
            continue
        live[i] = True
        todo.extend(flow.successors(i))
        region = nodes[i].region
        if region is not None:
            todo.append(flow.where[region.target])
    return [node for node, alive in zip(nodes, live, strict=True) if alive]


@whole()
def drop_redundant_jumps(nodes: Nodes) -> Nodes:
    """Remove jumps to the next instruction."""
    out: Nodes = []
    labels: set[int] = set()  # the labels right behind, going backwards
    for node in reversed(nodes):
        if node.op == "LABEL":
            labels.add(id(node))
        elif node.op == "JUMP" and id(node.arg) in labels:
            continue
        else:
            labels.clear()
        out.append(node)
    out.reverse()
    return out


@whole()
def rejoin_backward_branches(nodes: Nodes) -> Nodes:
    """Undo Python 3.12's split of a backward branch.

    ``POP_JUMP_IF_FALSE next; JUMP back; next:`` becomes ``POP_JUMP_IF_TRUE back; next:``. The
    compiler's own split gives both the same position, which a 'continue' does not have.
    """
    flow = Flow(nodes)
    out: Nodes = []
    gone = -1
    for i, node in enumerate(nodes):
        if node.op in CONDITIONAL and i + 2 < len(nodes):
            jump = nodes[i + 1]
            split = jump.op == "JUMP" and jump.span == node.span and flow.where[jump.arg] < i
            if split and flow.settle(i + 2) == flow.settle(flow.where[node.arg]):
                out.append(node.like(INVERSE[node.op], jump.arg))
                gone = i + 1
                continue
        if i != gone:
            out.append(node)
    return out
