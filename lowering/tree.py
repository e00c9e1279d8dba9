"""The trace as nested C++ scopes.

A trace block becomes a `Body`; `If` and `Loop` become `Branch` and `Repeat`. Here, before anything
is counted or printed, it is decided how jumps look:

- an arm that ends in a jump is a guard: what the other arm and the nodes behind hold follows on
  the guard's own level;
- a `continue` or `return` at the place where control gets there anyway is dropped;
- an arm with work in it that ends in `continue` in the last part of a loop body is the one side of
  an `if`/`else` whose other side is the rest (CPython compiles both to the same bytecode).
"""

from __future__ import annotations

from typing import Any, TypeAlias

from ..tracer.trace import Assign, Block, Declare, If, Jump, Loop, Node, Op, Trace, Value

#: Deeper chains of `if (...) {...} else {...}` made from `continue` are left as guards.
_MAX_ELSE = 8

_PLAIN = {Op, Declare, Assign}


class Body:
    """The statements between two braces.

    `owner` is the statement it belongs to, `loop` whether it repeats, `depth` its nesting,
    `declares` (of the outermost) whether there is any variable. `uses` fills in `steps` (what to
    print, and how), `kept` (how many of them are statements) and `end` (the position behind a
    loop).
    """

    __slots__ = ("declares", "depth", "end", "kept", "loop", "nodes", "owner", "parent", "steps")

    def __init__(self, parent: Body | None, owner: Branch | Repeat | None, loop: bool) -> None:
        self.nodes: list[Statement] = []
        self.parent = parent
        self.owner = owner
        self.loop = loop
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.declares = False
        self.steps: list[tuple[int, Any, Any]] = []
        self.kept = 0
        self.end = 0


class Branch:
    """`if (cond) {then} else {orelse}`, on the condition's opposite when `negate`."""

    __slots__ = ("hoists", "negate", "node", "orelse", "then")

    def __init__(self, node: If, parent: Body) -> None:
        self.node = node
        self.negate = False
        self.then = Body(parent, self, False)
        self.orelse = Body(parent, self, False)
        self.hoists: list[Value] = []


class Repeat:
    """A loop. `frozen` are bounds that the body assigns, so that they need a copy."""

    __slots__ = ("body", "copied", "frozen", "hoists", "node")

    def __init__(self, node: Loop, parent: Body) -> None:
        self.node = node
        self.body = Body(parent, self, True)
        self.hoists: list[Value] = []
        self.frozen: list[Value] = []
        self.copied = False


Statement: TypeAlias = Op | Declare | Assign | Jump | Branch | Repeat


def build(trace: Trace) -> Body:
    """The scopes of a kernel."""
    root = Body(None, None, False)
    _Builder(root).fill(root, trace.body.nodes, "return", 0)
    return root


class _Builder:
    def __init__(self, root: Body) -> None:
        self._root = root

    def fill(self, body: Body, nodes: list[Node], tail: str, level: int) -> None:
        """Append `nodes` to a body; `tail` is the jump that falling off their end amounts to."""
        out: list[Any] = body.nodes
        kinds = set(map(type, nodes))
        if Declare in kinds:
            self._root.declares = True
        if kinds <= _PLAIN:
            out += nodes
            return
        for k, node in enumerate(nodes):
            if isinstance(node, If):
                branch = Branch(node, body)
                out.append(branch)
                last = k == len(nodes) - 1
                if self._plain(branch, node, tail if last else "", level):
                    continue
                if self._guard(body, branch, nodes, k, tail, level):
                    return
            elif isinstance(node, Loop):
                repeat = Repeat(node, body)
                self.fill(repeat.body, node.body.nodes, "continue", 0)
                out.append(repeat)
            elif not isinstance(node, Jump) or node.kind != tail:
                out.append(node)

    def _plain(self, branch: Branch, node: If, tail: str, level: int) -> bool:
        """Fill a plain if/else: no arm jumps, but perhaps to where control gets anyway."""
        for arm in (node.then, node.orelse):
            if _jump(arm) not in ("", tail):
                return False
        self.fill(branch.then, node.then.nodes, tail, level)
        self.fill(branch.orelse, node.orelse.nodes, tail, level)
        return True

    def _guard(
        self, body: Body, branch: Branch, nodes: list[Node], k: int, tail: str, level: int
    ) -> bool:
        """Fill a branch with a jumping arm; returns whether nothing is left to follow."""
        node: Any = nodes[k]
        jumping, other = _guard_first(node)
        branch.negate = jumping is node.orelse
        follows = k < len(nodes) - 1 and not _jump(other)
        if _is_side(jumping, tail, level):
            rest = nodes[k + 1 :] if follows else []
            self.fill(branch.then, jumping.nodes, "continue", level)
            self.fill(branch.orelse, other.nodes + rest, tail, level + 1)
            return True
        self.fill(branch.then, jumping.nodes, "", level)
        self.fill(body, other.nodes, "" if follows else tail, level)
        return not follows


def _jump(block: Block) -> str:
    last = block.nodes[-1] if block.nodes else None
    return last.kind if isinstance(last, Jump) else ""


def _works(block: Block) -> bool:
    """Whether an arm does more than set variables and jump."""
    return any(
        isinstance(n, If | Loop) or (isinstance(n, Op) and not n.spec.pure) for n in block.nodes
    )


def _guard_first(node: If) -> tuple[Block, Block]:
    """The arm to print as the guard, and the other one."""
    then, orelse = node.then, node.orelse
    if not _jump(then):
        return orelse, then
    if _jump(orelse) and _works(then) and not _works(orelse):
        return orelse, then
    return then, orelse


def _is_side(arm: Block, tail: str, level: int) -> bool:
    return tail == "continue" == _jump(arm) and level < _MAX_ELSE and _works(arm)
