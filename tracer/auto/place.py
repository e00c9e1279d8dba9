"""Which buffer an automatic tensor gets, and before which statement.

Each tensor has a TBuf of its own while they fit. Else tensors of constant size that are never
needed at once share one: a tensor is needed from where it is made to its last use in the same
block, or for good when a variable holds it or it is used outside that block.
"""

from __future__ import annotations

from typing import Any

from ..chip import MAX_BUFFERS
from ..diagnostics import error
from ..language.enums import HARDWARE, MEMORY, Hardware
from ..language.types import AllocatorType
from ..ops import buffers, tensor
from ..ops import framework as rows
from ..trace import Block, Node, Op, Recorder, Trace, Value, describe, swap_current
from .memory import Automatic, Memory, tensors
from .setup import Setup

_MEMORY = "UB"


def place(trace: Trace, memory: Memory, setup: Setup) -> None:
    """Choose the buffers of all automatic tensors."""
    _alone(memory, setup)
    every = list(memory.tensors.values())
    fixed = [t for t in every if t.nbytes is not None]
    taken, number = _others(trace, memory)
    kept = trace.chip.reserved.get(_MEMORY)
    room = trace.chip.memory[_MEMORY] - taken - (kept.nbytes if kept is not None else 0)
    if sum(t.nbytes or 0 for t in fixed) > room or number + len(every) > MAX_BUFFERS:
        _share(memory, fixed)
    for t in every:
        if t.nbytes is None:
            length, nodes = _Hoist(trace, t).length()
            setup.buffer(t, length, nodes)
        elif t.buf is t.op.args[0]:
            setup.buffer(t, _longest(fixed, t), [])
        else:
            t.op.args = (t.buf, *t.op.args[1:])


def _longest(fixed: list[Automatic], tensor: Automatic) -> int:
    """The length of a buffer: what the longest of its tensors asks for."""
    return max(int(t.op.args[0].buffer.length) for t in fixed if t.buf is tensor.buf)


def _alone(memory: Memory, setup: Setup) -> None:
    """Nothing else than the pipe divides the unified buffer."""
    for op, _ in memory.ops:
        result: Any = op.result
        if op.spec is tensor.LOCAL_TENSOR and op.form.name == "make":
            other = MEMORY[result.type.position]
        elif result is not None and isinstance(result.type, AllocatorType):
            other = HARDWARE[result.type.hardware]
        else:
            continue
        if other == HARDWARE[Hardware.UB]:
            raise setup.refuse(
                f"{describe(result)} is placed by the kernel",
                op.site,
                "automatic tensors go with queues, TBufs and pools: their memory is the pipe's",
            )


def _others(trace: Trace, memory: Memory) -> tuple[int, int]:
    """Bytes of the unified buffer that are known to be taken by others, and their buffers."""
    given = {
        id(op.args[1])
        for op, _ in memory.ops
        if op.spec in (rows.INIT_BUFFER, buffers.INIT_BUF_POOL)
    }
    taken: dict[int, int] = {}
    number: dict[int, int] = {}
    for row in trace.buffers:
        num, each = row.num, row.bytes_each()
        key = id(row.owner)
        if key not in given or row.parent is not None or row.shares is not None:
            continue
        number[key] = 1 if isinstance(num, Value) else int(num)
        if MEMORY[row.position] == _MEMORY and each is not None:
            taken[key] = number[key] * each
    return sum(taken.values()), sum(number.values())


# -- sharing ------------------------------------------------------------------------------------


def _share(memory: Memory, fixed: list[Automatic]) -> None:
    """Put tensors that are never needed at once into one buffer, the first that is free."""
    until = _last_uses(memory)
    groups: list[list[Automatic]] = []
    for t in fixed:
        for group in groups:
            if not any(_meet(t, other, until) for other in group):
                t.buf = group[0].buf
                group.append(t)
                break
        else:
            groups.append([t])


#: Where a tensor is needed last, as an index in its block; None: for good.
_Until = dict[int, int | None]


def _last_uses(memory: Memory) -> _Until:
    held = memory.held()
    until: _Until = {
        key: None if key in held else t.path[-1][1] for key, t in memory.tensors.items()
    }
    for op, path in memory.ops:
        for key in {name for arg in tensors(op.args) for name in memory.names(arg)} & until.keys():
            last, tensor = until[key], memory.tensors[key]
            if last is None:
                continue
            depth = len(tensor.path) - 1
            inside = len(path) > depth and path[depth][0] is tensor.path[-1][0]
            until[key] = max(last, path[depth][1]) if inside else None
    return until


def _meet(a: Automatic, b: Automatic, until: _Until) -> bool:
    """Whether two tensors may be needed at the same time."""
    depth = 0
    while a.path[depth][0] is b.path[depth][0]:
        one, two = _span(a, depth, until), _span(b, depth, until)
        if one is None or two is None:
            return True
        if one[1] < two[0] or two[1] < one[0]:
            return False
        depth += 1
        if depth == min(len(a.path), len(b.path)):
            break
    return True


def _span(t: Automatic, depth: int, until: _Until) -> tuple[int, int] | None:
    """The statements of the block at `depth` from the first to the last that need a tensor."""
    last = until[id(t.op.result)]
    if last is None:
        return None
    index = t.path[depth][1]
    return (index, last) if depth == len(t.path) - 1 else (index, index)


# -- sizes known at run time --------------------------------------------------------------------


class _Hoist(Recorder):
    """Computes the length of a runtime size in front of the outermost statement around a tensor."""

    __slots__ = ("_index", "_made", "_tensor")

    def __init__(self, trace: Trace, tensor: Automatic) -> None:
        super().__init__(trace)
        self.block = Block(trace.body)
        self._tensor = tensor
        self._index = tensor.path[0][1]
        self._made: dict[int, Value] = {}

    def site(self) -> Any:
        """That of the tensor."""
        return self._tensor.op.site

    def need_nonneg(self, value: Any) -> bool | None:
        """Not asked for in a product."""
        return None

    def length(self) -> tuple[Any, list[Node]]:
        """The bytes, and the nodes that compute them."""
        before = swap_current(self)
        try:
            size = self._value(self._tensor.op.args[2])
            dtype = self._tensor.op.args[1]
            length = size * dtype.sizeof()
        finally:
            swap_current(before)
        return length, self.block.nodes

    def _value(self, value: Any) -> Any:
        """A number in front of the statement: itself, or computed again from what is known."""
        if not isinstance(value, Value) or self._known(value):
            return value
        found = self._made.get(id(value))
        if found is None:
            op = value.node
            # Only arithmetic is the same there: what else is read may change in between.
            if not isinstance(op, Op) or op.spec.family != "arith":
                raise self._unknown(value)
            args = tuple(self._value(arg) for arg in op.args)
            found = self._made[id(value)] = value.type.proxy(value.type, self.trace.body)
            found.name = value.name
            self.record(op.spec, op.form, args, found)
        return found

    def _known(self, value: Value) -> bool:
        """Whether a value is a parameter, or made by an earlier statement of the body.

        So is any that a statement of the body itself uses.
        """
        if len(self._tensor.path) == 1 or any(value is p.value for p in self.trace.params):
            return True
        nodes = self.trace.body.nodes[: self._index]
        return isinstance(value.node, Op) and any(value.node is node for node in nodes)

    def _unknown(self, value: Value) -> Exception:
        return error(
            "AT0308",
            f"the size of {describe(self._tensor.op.result)} depends on {describe(value)}, which "
            "is not known before the statement that it is made in",
            self._tensor.op.site,
            hint="give the largest size, and use a slice: tensor[0:n]",
        )
