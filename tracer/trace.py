"""The trace: the one data structure between the stages.

A `Trace` has parameters and a body `Block`; a block is a list of nodes:

- `Op`: one recorded operation (a scalar expression or an Ascend C call) with its `OpSpec`;
- `Declare`: C++ variables that merges assign (`Var`), with their first values;
- `Assign`: a parallel assignment to such variables (all values are read before any is written);
- `If`, `Loop`: structured control flow with nested blocks;
- `Jump`: `break`/`continue` of an enclosing loop, `return` of the kernel, or a trap; always the
  last node of its block.

Every result is a `Value`, assigned once, except `Var`s. A value may be used in its own block after
its node, in blocks nested there, and, where control flow guarantees that its node ran, after the
block it stands in (lowering then hoists the declaration). Imports `diagnostics` only.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from .diagnostics import Finding, KernelError, Site, caller, span_of

if TYPE_CHECKING:
    from .ops.spec import Form, OpSpec


class Value:
    """Something that exists on the device: a scalar, a tensor, a pipe, a queue.

    `type` spells its C++ type (`type.cpp`), `name` is the Python name it was first bound to (or
    ""), `node` the `Op` or `Loop` that made it (None for parameters and variables), `block` the
    block it was made in.
    """

    __slots__ = ("__weakref__", "block", "name", "node", "type")

    def __init__(self, type: Any, block: Block, node: Any = None, name: str = "") -> None:
        self.type = type
        self.block = block
        self.node = node
        self.name = name

    def __copy__(self) -> Value:
        return self

    def __deepcopy__(self, memo: Any) -> Value:
        return self


class Op:
    """One recorded operation. `args` are operands in the order of `form.params`.

    `turns` says in which iteration of unrolled loops it was recorded: for each, outermost first,
    the site of the loop and its index.
    """

    __slots__ = ("args", "form", "result", "site", "spec", "turns")

    def __init__(
        self, spec: OpSpec, form: Form, args: tuple[Any, ...], site: Site, result: Value | None
    ) -> None:
        self.turns: tuple[tuple[Site, int], ...] = ()
        self.spec = spec
        self.form = form
        self.args = args
        self.site = site
        self.result = result


class Declare:
    """Declares `var`; `init` is its first value, or None when every path assigns it."""

    __slots__ = ("init", "site", "var")

    def __init__(self, var: Value, init: Any, site: Site) -> None:
        self.var = var
        self.init = init
        self.site = site


class Assign:
    """Parallel assignment: `vars[k] = values[k]`, every value read before the first write."""

    __slots__ = ("site", "values", "vars")

    def __init__(self, vars: tuple[Value, ...], values: tuple[Any, ...], site: Site) -> None:
        self.vars = vars
        self.values = values
        self.site = site


class If:
    """`if (cond) then else orelse`; the arms may end in a `Jump`."""

    __slots__ = ("cond", "orelse", "site", "then")

    def __init__(self, cond: Any, then: Block, orelse: Block, site: Site) -> None:
        self.cond = cond
        self.then = then
        self.orelse = orelse
        self.site = site


class Loop:
    """A C++ loop. `index` is None for `while (true)` loops, which end by a `break` only.

    With an index it is `for (index = start; index < stop; index += step)` (`>` for a negative
    step); `step` is a constant other than 0, or a runtime value known to be positive.
    """

    __slots__ = ("body", "index", "site", "start", "step", "stop")

    def __init__(self, body: Block, site: Site) -> None:
        self.body = body
        self.site = site
        self.index: Value | None = None
        self.start: Any = 0
        self.stop: Any = None
        self.step: Any = 1


class Jump:
    """`kind` is 'break' or 'continue' (of the innermost loop), 'return' or 'trap'."""

    __slots__ = ("kind", "message", "site")

    def __init__(self, kind: str, site: Site, message: str = "") -> None:
        self.kind = kind
        self.site = site
        self.message = message


Node: TypeAlias = Op | Declare | Assign | If | Loop | Jump


class Block:
    """A list of nodes; `parent` is the block around it (None for the kernel's body)."""

    __slots__ = ("nodes", "parent")

    def __init__(self, parent: Block | None = None) -> None:
        self.nodes: list[Node] = []
        self.parent = parent

    def ended(self) -> bool:
        """Whether the block ends in a jump, so that nothing may follow."""
        return bool(self.nodes) and isinstance(self.nodes[-1], Jump)


class Param:
    """A kernel parameter: Python name, C++ type, the value that stands for it."""

    __slots__ = ("name", "type", "value")

    def __init__(self, name: str, type: Any, value: Value) -> None:
        self.name = name
        self.type = type
        self.value = value


class Trace:
    """A traced kernel. `constants` are the ConstExpr arguments by name, for the header comment.

    `buffers` lists what `TPipe.init_buffer` and address-made tensors take, in order, as
    `language.pipe.BufferInfo` rows. `automatic`: there may be tensors that are placed and
    synchronised when tracing ends (`auto`); `structs`: there may be local structs and arrays.
    """

    __slots__ = (
        "automatic", "body", "buffers", "chip", "code", "constants", "name", "params", "structs",
    )  # fmt: skip

    def __init__(self, name: str, chip: Any, code: Any = None) -> None:
        self.name = name
        self.chip = chip
        self.code = code
        self.params: list[Param] = []
        self.constants: dict[str, Any] = {}
        self.body = Block()
        self.buffers: list[Any] = []
        self.automatic = False
        self.structs = False

    def walk(self) -> Iterator[Node]:
        """All nodes, depth first, in program order."""
        yield from walk(self.body)

    def count_ops(self) -> int:
        """Recorded operations that do something (scalar expressions do not count)."""
        return count_ops(self.body)

    def dump(self) -> str:
        """The trace as text, one node a line, for people and tests."""
        from ._dump import dump

        return dump(self)


def walk(block: Block) -> Iterator[Node]:
    """All nodes of a block and of the blocks in it, in program order."""
    for node in block.nodes:
        yield node
        if isinstance(node, If):
            yield from walk(node.then)
            yield from walk(node.orelse)
        elif isinstance(node, Loop):
            yield from walk(node.body)


def count_ops(block: Block) -> int:
    """Operations with an effect in a block, nested ones included, as written (not as run)."""
    return sum(1 for node in walk(block) if isinstance(node, Op) and not node.spec.pure)


class Recorder:
    """What operations need of the tracer in charge: where to record and where we are.

    The VM owns one for each trace and keeps `block` and `site` current; `ops` and `language` see
    only this class.
    """

    __slots__ = ("block", "trace")

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.block = trace.body

    def site(self) -> Site:
        """The place of the call being executed."""
        raise NotImplementedError

    def need_nonneg(self, value: Any) -> bool | None:
        """Sign of an integer parameter in this launch, noted as a guard; None if unknown."""
        raise NotImplementedError

    def record(self, spec: OpSpec, form: Form, args: tuple[Any, ...], result: Value | None) -> Op:
        """Append an operation to the current block."""
        op = Op(spec, form, args, self.site(), result)
        if result is not None:
            result.node = op
        self.block.nodes.append(op)
        return op


class _Current(threading.local):
    recorder: Recorder | None = None


_current = _Current()


def current(what: str = "this operation") -> Recorder:
    """The recorder of the trace in progress on this thread; AT0105 when there is none."""
    recorder = _current.recorder
    if recorder is None:
        place = caller(__name__.partition(".")[0])
        raise KernelError(
            [
                Finding(
                    "AT0105",
                    f"{what} was called outside a kernel",
                    (place,),
                    "call it from a function that is launched or traced through asc.jit",
                    stack=(place,),
                )
            ]
        )
    return recorder


def in_trace() -> bool:
    """Whether a trace is in progress on this thread."""
    return _current.recorder is not None


def swap_current(recorder: Recorder | None) -> Recorder | None:
    """Make `recorder` the current one of this thread; returns the one before."""
    before = _current.recorder
    _current.recorder = recorder
    return before


def describe(value: Any) -> str:
    """A short text for a value in messages: its Python name if known, its type, its place."""
    if not issubclass(type(value), Value):
        return repr(value)
    name = f"`{value.name}` " if value.name else ""
    span = span_of(value.node.site) if value.node is not None else None
    return f"{name}({value.type})" + (f" from {span}" if span else "")
