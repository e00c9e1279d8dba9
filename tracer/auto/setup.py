"""What automatic tensors need in front of the kernel: the pipe, buffers, event ids."""

from __future__ import annotations

from typing import Any

from ..diagnostics import KernelError, Site, error
from ..language.dtypes import int32
from ..language.enums import HardEvent
from ..language.pipe import TPipe
from ..language.types import BufferInfo, PipeType
from ..ops import buffers
from ..ops import framework as rows
from ..ops.spec import Form, OpSpec
from ..trace import Jump, Node, Op, Trace, Value, walk
from .memory import Automatic, Memory

_EVENT_FORMS = (rows.ALLOC_EVENT_ID, rows.RELEASE_EVENT_ID)


class Setup:
    """Collects what goes in front of statements of the kernel's body, then puts it there."""

    def __init__(self, trace: Trace, memory: Memory) -> None:
        self._trace = trace
        self._memory = memory
        self._site = _outermost(next(iter(memory.tensors.values())).op.site)
        self._first: list[Node] = []
        #: Nodes in front of a statement of the body, by the id of the statement.
        self._before: dict[int, list[Node]] = {}
        self._events: dict[tuple[HardEvent, int], Value] = {}
        self._pipe_op = self._find_pipe()
        self._made_pipe = self._pipe_op is None
        self.pipe: Any = self._make_pipe() if self._pipe_op is None else self._pipe_op.result

    def _find_pipe(self) -> Op | None:
        """The kernel's TPipe; AT0308 where it does not last from one end to the other."""
        found = [(op, path) for op, path in self._memory.ops if op.spec is rows.TPIPE]
        ends = [op for op, _ in self._memory.ops
                if op.spec in (rows.RESET, rows.DESTROY, rows.INIT)]  # fmt: skip
        if ends:
            raise self.refuse(
                "the kernel takes all buffers of its pipe back",
                ends[0].site,
                "without reset(), destroy() and init(), or with queues and TBufs alone",
            )
        if not found:
            return None
        op, path = found[-1]
        if len(found) > 1 or len(path) > 1:
            raise self.refuse(
                "the TPipe is made on some paths only" if len(path) > 1 else "there are two TPipes",
                op.site,
                "make one TPipe at the beginning of the kernel, or none",
            )
        return op

    def _make_pipe(self) -> Value:
        pipe = TPipe.__new__(TPipe)
        Value.__init__(pipe, PipeType(), self._trace.body, None, "pipe")
        pipe.epoch = 0
        self._pipe_op = Op(rows.TPIPE, rows.TPIPE.forms[0], (), self._site, pipe)
        pipe.node = self._pipe_op
        return pipe

    def refuse(self, why: str, site: Site, hint: str) -> KernelError:
        """AT0308 for something at `site`, with the first automatic tensor as a note."""
        first = next(iter(self._memory.tensors.values())).op
        name = f"`{first.result.name}`" if first.result and first.result.name else "a tensor"
        return error(
            "AT0308",
            f"{why}, and {name} is automatic",
            site,
            notes=[("made here", first.site)],
            hint=hint,
        )

    def buffer(self, tensor: Automatic, length: Any, nodes: list[Node]) -> None:
        """Give the TBuf of a tensor `length` bytes.

        A runtime length: in front of the tensor's statement, behind `nodes`, which compute it.
        """
        buf, site = tensor.buf, _outermost(tensor.op.site)
        name = tensor.op.result.name if tensor.op.result is not None else ""
        buf.name = f"{name or 'auto'}_buf"
        make = Op(buffers.TBUF, buffers.TBUF.forms[0], (buf.type.position,), site, buf)
        buf.node, buf.block = make, self._trace.body
        init = _op(rows.INIT_BUFFER, "buf_len", (self.pipe, buf, length), site)
        info: BufferInfo = buf.buffer
        info.length = length
        block, index = tensor.path[0]
        if isinstance(length, Value):
            self._before.setdefault(id(block.nodes[index]), []).extend([*nodes, make, init])
            self._trace.buffers.insert(self._row(index), info)
        else:
            self._first += [make, init]
            self._trace.buffers.insert(len(self._first) // 2 - 1, info)

    def _row(self, index: int) -> int:
        """The place in the buffer table of a buffer that is made in front of a statement."""
        at = {
            id(op.args[1]): path[0][1]
            for op, path in reversed(self._memory.ops)
            if op.spec in (rows.INIT_BUFFER, buffers.INIT_BUF_POOL)
        }
        table = self._trace.buffers
        for k in range(len(table), 0, -1):
            if at.get(id(table[k - 1].owner), -1) < index:
                return k
        return 0

    def event_id(self, event: HardEvent, number: int) -> Value:
        """The variable with the event id that is the `number`-th for its event."""
        found = self._events.get((event, number))
        if found is None:
            found = int32.proxy(int32, self._trace.body)
            found.name = event.name.lower()
            self._events[event, number] = found
        return found

    def insert(self) -> None:
        """Put everything into the kernel's body."""
        body = self._trace.body
        pipe = self._pipe_op
        assert pipe is not None
        first: list[Node] = [pipe, *self._first]
        last: list[Node] = []
        for (event, _), number in self._events.items():
            make = Op(
                rows.ALLOC_EVENT_ID, rows.ALLOC_EVENT_ID.forms[0], (self.pipe, event), self._site,
                number,
            )  # fmt: skip
            number.node = make
            first.append(make)
        for node in body.nodes:
            last += self._before.get(id(node), ())
            if node is not pipe:
                last.append(node)
        body.nodes = first + last
        self._release()

    def _release(self) -> None:
        """Event ids are given back wherever the kernel ends."""
        if not self._events:
            return
        todo = [self._trace.body]
        for node in walk(self._trace.body):
            todo += [block for name in ("then", "orelse", "body")
                     if (block := getattr(node, name, None)) is not None]  # fmt: skip
        for block in todo:
            last = block.nodes[-1] if block.nodes else None
            returns = isinstance(last, Jump) and last.kind == "return"
            if returns or (block is self._trace.body and not isinstance(last, Jump)):
                nodes = [
                    _op(rows.RELEASE_EVENT_ID, "event", (self.pipe, number, event), self._site)
                    for (event, _), number in self._events.items()
                ]
                at = len(block.nodes) - returns
                block.nodes[at:at] = nodes


def _op(spec: OpSpec, form: str, args: tuple[Any, ...], site: Site) -> Op:
    found: Form = next(f for f in spec.forms if f.name == form)
    return Op(spec, found, args, site, None)


def _outermost(site: Site) -> Site:
    """The place in the kernel itself that a site was called from."""
    while site is not None and site[2] is not None:
        site = site[2]
    return site
