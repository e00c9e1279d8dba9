"""The pass that turns CPython's inverted 'while' loops back.

CPython 3.11 to 3.13 compile ``while test: body`` as ``if test: do: body; while test``, with the
test's code twice. The pass makes the lower copy a jump to the upper one, so that the upper test is
the header of the loop. It changes nothing unless both copies are proven to do the same.
"""

from __future__ import annotations

from typing import Final

from .canonical import CONDITIONAL, FINAL
from .effects import stack_effect
from .flow import drop_unreachable
from .nodes import INVERSE, Flow, Node, Nodes, label, whole

_LIMIT: Final = 1000  # pairs of instructions compared before giving up

_PLACELESS: Final = frozenset({"LOAD_CONST", "POP_TOP", "RETURN_VALUE"})
"""They cannot fail, and the copies that CPython makes of a short exit differ in position."""


def _same_place(a: Node, b: Node) -> bool:
    """Tell whether two positions agree; absent columns agree with any."""
    if a.span[0] != b.span[0]:
        return False
    if a.span == b.span:
        return True
    return a.span[2] is None or b.span[2] is None


def _same_action(a: Node, b: Node) -> bool:
    """Tell whether two instructions do the same, targets aside."""
    if a.op in CONDITIONAL or a.op in ("JUMP", "FOR_ITER", "SEND"):
        return a.op == b.op or INVERSE.get(a.op) == b.op
    if a.op != b.op:
        return False
    # A constant occurs once in a code object, and equality would confuse 1 with True.
    return a.arg is b.arg if a.op == "LOAD_CONST" else a.arg == b.arg


class _Comparison:
    """Lockstep walk over two copies of a test: do they do the same for ever after?"""

    def __init__(self, flow: Flow, body: int) -> None:
        self.flow = flow
        self.body = body
        self.seen: set[tuple[int, int]] = set()
        self.todo: list[tuple[int, int, int]] = []

    def equal(self, lower: int, upper: int) -> bool:
        """Compare from two instructions on; the stack is as deep at the body as it was there."""
        self.todo.append((lower, upper, 0))
        while self.todo:
            p, q, depth = self.todo.pop()
            p, q = self.flow.settle(p), self.flow.settle(q)
            if p == q:
                if p == self.body and depth != 0:
                    return False  # the walk began in the middle of an expression
                continue
            if (p, q) in self.seen:
                continue
            self.seen.add((p, q))
            if len(self.seen) > _LIMIT or not self._step(p, q, depth):
                return False
        return True

    def _step(self, p: int, q: int, depth: int) -> bool:
        """Compare one pair, queue what follows it."""
        a, b = self.flow.nodes[p], self.flow.nodes[q]
        if not _same_action(a, b):
            return False
        if a.op not in _PLACELESS and not _same_place(a, b):
            return False
        if a.region is not b.region:
            x, y = a.region, b.region
            if x is None or y is None or (x.depth, x.lasti) != (y.depth, y.lasti):
                return False
            # A handler begins at its own depth: no count from the body can be right there.
            self.todo.append((self.flow.where[x.target], self.flow.where[y.target], 0))
        if a.op in CONDITIONAL:
            pairs = zip(self.flow.senses(p), self.flow.senses(q), strict=True)
        else:
            pairs = zip(self.flow.successors(p), self.flow.successors(q), strict=True)
        for k, (x_next, y_next) in enumerate(pairs):
            jumps = a.op not in CONDITIONAL and k == 1
            self.todo.append((x_next, y_next, depth + stack_effect(a.op, a.arg, jumps=jumps)))
        return True


def _run_back(nodes: Nodes, upper: int, lower: int, body: int) -> tuple[int, int]:
    """Walk backwards over equal code from two jumps; return where both begin."""
    start = (upper, lower)
    while True:
        upper, lower = upper - 1, lower - 1
        while upper >= 0 and nodes[upper].op == "LABEL":
            upper -= 1
        while lower > body and nodes[lower].op == "LABEL":
            lower -= 1
        if upper < 0 or lower < body:
            return start
        a, b = nodes[upper], nodes[lower]
        if a.op == b.op == "JUMP":
            continue  # out of one arm of a conditional expression; never the begin
        if a.op in FINAL or not _same_action(a, b) or not _same_place(a, b):
            return start
        start = (upper, lower)


def _candidates(flow: Flow) -> list[tuple[int, int, int]]:
    """Return (upper begin, lower begin, body) for what may be the two tests of a loop.

    Both tests have a conditional jump to the body, of the same position and sense.
    """
    into: dict[tuple[int, bool], list[int]] = {}
    found: set[tuple[int, int, int]] = set()
    for i, node in enumerate(flow.nodes):
        if node.op not in CONDITIONAL:
            continue
        for sense, body in enumerate(flow.senses(i)):
            others = into.setdefault((body, bool(sense)), [])
            if body <= i:
                for upper in others:
                    if upper < body and _same_place(flow.nodes[upper], node):
                        found.add((*_run_back(flow.nodes, upper, i, body), body))
            others.append(i)
    return sorted(found)


def _rewrite_one(nodes: Nodes, tried: set[tuple[Node, Node]]) -> Nodes | None:
    """Turn one loop back; None if there is none (left)."""
    flow = Flow(nodes)
    done: set[int] = set()
    for upper, lower, body in _candidates(flow):
        key = (nodes[upper], nodes[lower])
        # Of several begins for one loop only the first is the test's; the others lie within it.
        if body in done or key in tried:
            continue
        done.add(body)
        tried.add(key)
        if _Comparison(flow, body).equal(lower, upper):
            header = label()
            jump = Node("JUMP", header, nodes[upper].span, nodes[lower].region)
            return drop_unreachable(
                [*nodes[:upper], header, *nodes[upper:lower], jump, *nodes[lower:]]
            )
    return None


@whole()
def uninvert_while(nodes: Nodes) -> Nodes:
    """Make the test at the bottom of each 'while' loop a jump to the one at the top."""
    tried: set[tuple[Node, Node]] = set()
    while (rewritten := _rewrite_one(nodes, tried)) is not None:
        nodes = rewritten
    return nodes
