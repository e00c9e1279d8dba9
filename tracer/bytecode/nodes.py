"""The working form between the reader and the canonical instructions.

A list of `Node`; a label is a node too, and jumps refer to it directly, so that passes can insert
and remove nodes freely. Imports nothing but the vocabulary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from .canonical import BRANCHES, CONDITIONAL, FINAL, JUMPS, Span


@dataclass(slots=True, eq=False)
class Node:
    """An instruction on its way. A jump's `arg` is a node whose `op` is LABEL."""

    op: str
    arg: Any
    span: Span
    region: Region | None = None

    def like(self, op: str, arg: Any = None) -> Node:
        """Return another instruction at the same place."""
        return Node(op, arg, self.span, self.region)


@dataclass(frozen=True, slots=True, eq=False)
class Region:
    """An exception handler, shared by the instructions it guards."""

    target: Node
    depth: int
    lasti: bool


Nodes: TypeAlias = "list[Node]"

NO_SPAN: Span = (None, None, None, None)

INVERSE = {
    "POP_JUMP_IF_TRUE": "POP_JUMP_IF_FALSE",
    "POP_JUMP_IF_FALSE": "POP_JUMP_IF_TRUE",
    "POP_JUMP_IF_NONE": "POP_JUMP_IF_NOT_NONE",
    "POP_JUMP_IF_NOT_NONE": "POP_JUMP_IF_NONE",
}


def label() -> Node:
    """Return a new label."""
    return Node("LABEL", None, NO_SPAN)


@dataclass(frozen=True, slots=True)
class Pass:
    """A named rewriting step.

    `consumes` are the raw opcodes it rewrites; it need not run on a list that has none of them.
    A pass that consumes nothing always runs.
    """

    name: str
    consumes: frozenset[str]
    run: Callable[[Nodes], Nodes]

    def __call__(self, nodes: Nodes) -> Nodes:
        """Return the rewritten list."""
        if self.consumes and self.consumes.isdisjoint({node.op for node in nodes}):
            return nodes
        return self.run(nodes)


def each(*ops: str) -> Callable[[Callable[[Node], Iterable[Node]]], Pass]:
    """Make a pass of a function that rewrites one instruction with one of these opcodes."""
    consumes = frozenset(ops)

    def decorate(rewrite: Callable[[Node], Iterable[Node]]) -> Pass:
        def run(nodes: Nodes) -> Nodes:
            out: Nodes = []
            for node in nodes:
                if node.op in consumes:
                    out.extend(rewrite(node))
                else:
                    out.append(node)
            return out

        return Pass(rewrite.__name__, consumes, run)

    return decorate


def whole(*ops: str) -> Callable[[Callable[[Nodes], Nodes]], Pass]:
    """Make a pass of a function that rewrites the list as a whole."""

    def decorate(rewrite: Callable[[Nodes], Nodes]) -> Pass:
        return Pass(rewrite.__name__, frozenset(ops), rewrite)

    return decorate


class Flow:
    """Control flow over a list of nodes with canonical jumps. A snapshot: edit, then remake."""

    __slots__ = ("nodes", "where")

    def __init__(self, nodes: Nodes) -> None:
        self.nodes = nodes
        self.where = {node: i for i, node in enumerate(nodes) if node.op == "LABEL"}

    def successors(self, index: int) -> tuple[int, ...]:
        """Return where control goes from here, exceptions aside; the fall-through comes first."""
        node = self.nodes[index]
        if node.op in BRANCHES:
            return (index + 1, self.where[node.arg])
        if node.op in JUMPS:
            return (self.where[node.arg],)
        return () if node.op in FINAL else (index + 1,)

    def senses(self, index: int) -> tuple[int, int]:
        """Return where a conditional jump goes when (true or None, false or not None)."""
        node = self.nodes[index]
        assert node.op in CONDITIONAL
        taken, passed = self.settle(self.where[node.arg]), self.settle(index + 1)
        if node.op in ("POP_JUMP_IF_TRUE", "POP_JUMP_IF_NONE"):
            return (taken, passed)
        return (passed, taken)

    def settle(self, index: int) -> int:
        """Follow labels and plain jumps to the instruction that runs next."""
        seen = set()
        while (node := self.nodes[index]).op in ("LABEL", "JUMP") and index not in seen:
            seen.add(index)
            index = self.where[node.arg] if node.op == "JUMP" else index + 1
        return index
