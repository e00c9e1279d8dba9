"""Which memory each operand of an operation may name, and where the operations stand.

A *place* is the buffer of an automatic tensor or the global memory behind a parameter. A view, a
tensor that is filled in and a variable may name all places that what they are made of names.
Memory that a queue or the kernel itself manages is no place: its owner orders its users.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from ..language.structs import StructArg
from ..language.types import GlobalPointerType, GlobalTensorType, LocalTensorType
from ..ops import buffers
from ..ops.tensor import SET_GLOBAL_BUFFER
from ..trace import Assign, Block, Declare, If, Loop, Node, Op, Trace, Value

#: What an operand names: the tensors, and the parameters, by the ids of their values.
Names: TypeAlias = frozenset[int]
#: A place, by the id of a buffer or parameter, and whether it is written.
Access: TypeAlias = tuple[int, bool]

_GLOBALS = (GlobalPointerType, GlobalTensorType)
_TENSORS = (LocalTensorType, *_GLOBALS)
_NOTHING: Names = frozenset()
#: Global memory behind an address that is no parameter's.
_ANY = 0


class Automatic:
    """An automatic tensor: its operation, and the statements it stands in, outermost first.

    `path` has the block and the index of each. `buf` is the TBuf that it gets.
    """

    __slots__ = ("buf", "op", "path")

    def __init__(self, op: Op, path: tuple[tuple[Block, int], ...]) -> None:
        self.op = op
        self.path = path
        self.buf: Any = op.args[0]

    @property
    def nbytes(self) -> int | None:
        """Bytes of its buffer, rounded up to 32, or None for a runtime size."""
        info: Any = self.op.args[0].buffer
        return info.bytes_each()  # type: ignore[no-any-return]


class Memory:
    """What is known of the operands of a trace.

    `tensors` are the automatic tensors by the id of their value, in order; `ops` all operations
    with their paths.
    """

    def __init__(self, trace: Trace) -> None:
        self.tensors: dict[int, Automatic] = {}
        self.ops: list[tuple[Op, tuple[tuple[Block, int], ...]]] = []
        #: Values that variables hold, or that other tensors are filled in with.
        self._stored: set[int] = set()
        self._sources: dict[int, set[int]] = {}
        self._names: dict[int, Names] = {
            id(p.value): frozenset({id(p.value)}) for p in trace.params if _is_tensor(p.value)
        }
        self._accesses: dict[int, tuple[Access, ...]] = {}
        for node, path in _walk(trace.body, ()):
            if isinstance(node, Op):
                self.ops.append((node, path))
                self._op(node, path)
            elif isinstance(node, Declare):
                self._store(node.var, node.init)
            elif isinstance(node, Assign):
                for var, value in zip(node.vars, node.values, strict=True):
                    self._store(var, value)
        self._spread()
        #: Whether all global memory is one place, because an address is no parameter's.
        self._one = any(
            _is_global(a) and not self.names(a) for op, _ in self.ops for a in tensors(op.args)
        )

    def _op(self, op: Op, path: tuple[tuple[Block, int], ...]) -> None:
        result = op.result
        if op.spec is buffers.AUTO_TENSOR:
            self.tensors[id(result)] = Automatic(op, path)
            self._names[id(result)] = frozenset({id(result)})
            return
        if result is not None and _is_tensor(result):
            self._feed(result, tensors(op.args))
        if op.spec is SET_GLOBAL_BUFFER:
            self._feed(op.args[0], op.args[1:])
        for arg, param in zip(op.args, op.form.params, strict=True):
            if param.role == "rebind" and _is_tensor(arg):
                others = [other for other in op.args if other is not arg]
                self._feed(arg, others)
                self._stored.update(map(id, others))

    def _store(self, var: Value, value: Any) -> None:
        if _is_tensor(var):
            self._feed(var, (value,))
            self._stored.add(id(value))

    def _feed(self, target: Value, values: Any) -> None:
        sources = self._sources.setdefault(id(target), set())
        sources.update(id(value) for value in values if _is_tensor(value))

    def _spread(self) -> None:
        """Names go from values to what is made of them, until nothing changes."""
        names, changed = self._names, True
        while changed:
            changed = False
            for target, sources in self._sources.items():
                before = names.get(target, _NOTHING)
                after = before.union(*(names.get(source, _NOTHING) for source in sources))
                if after != before:
                    names[target] = after
                    changed = True

    def held(self) -> Names:
        """The automatic tensors that a variable, or a tensor that is filled in, may name."""
        return _NOTHING.union(*(self._names.get(value, _NOTHING) for value in self._stored))

    def names(self, value: Any) -> Names:
        """The automatic tensors and parameters that a value may name."""
        return self._names.get(id(value), _NOTHING)

    def accesses(self, op: Op) -> tuple[Access, ...]:
        """What an operation reads and writes; where a buffer is shared, by the buffer."""
        found = self._accesses.get(id(op))
        if found is None:
            found = self._accesses[id(op)] = tuple(dict.fromkeys(self._accessed(op)))
        return found

    def _accessed(self, op: Op) -> Iterator[Access]:
        if op.spec is SET_GLOBAL_BUFFER or op.spec.pure:
            return
        for arg, param in zip(op.args, op.form.params, strict=True):
            if isinstance(arg, tuple | StructArg):
                # Tensors inside an operand: how they are used is not told.
                for value in tensors(arg):
                    for place in self._places(value):
                        yield place, True
            elif param.role in ("in", "out", "inout"):
                for place in self._places(arg):
                    yield place, param.role != "in"

    def _places(self, value: Any) -> Iterator[int]:
        if _is_global(value) and self._one:
            yield _ANY
            return
        for name in self.names(value):
            tensor = self.tensors.get(name)
            yield name if tensor is None else id(tensor.buf)


def _walk(
    block: Block, around: tuple[tuple[Block, int], ...]
) -> Iterator[tuple[Node, tuple[tuple[Block, int], ...]]]:
    for index, node in enumerate(block.nodes):
        path = (*around, (block, index))
        yield node, path
        if isinstance(node, If):
            yield from _walk(node.then, path)
            yield from _walk(node.orelse, path)
        elif isinstance(node, Loop):
            yield from _walk(node.body, path)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Value) and isinstance(value.type, _TENSORS)


def _is_global(value: Any) -> bool:
    return isinstance(value, Value) and isinstance(value.type, _GLOBALS)


def tensors(args: Any) -> Iterator[Value]:
    """The tensors and addresses among operands, those inside structs and tuples included."""
    for part in args.values if isinstance(args, StructArg) else args:
        if isinstance(part, tuple | StructArg):
            yield from tensors(part)
        elif _is_tensor(part):
            yield part
