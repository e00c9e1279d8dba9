"""`TPipe`, `TQue`, `TQueBind`: who owns on-chip memory and who hands it on."""

from __future__ import annotations

from typing import Any

from ..diagnostics import error
from ..ops import buffers
from ..ops import framework as rows
from ..ops.spec import OpFunction
from ..trace import Op, Value, current, describe
from .enums import MEMORY, TPosition
from .positions import require_memory
from .types import BufferInfo, PipeType, QueueType

_BOUND_TO_SOURCE = (TPosition.GM, TPosition.CO2)


class TPipe(Value):
    """Manager of on-chip memory and events (`AscendC::TPipe`); one a kernel.

    `epoch` counts the resets so far.
    """

    __slots__ = ("epoch",)

    def __init__(self) -> None:
        recorder = current("TPipe")
        super().__init__(PipeType(), recorder.block)
        self.epoch = 0
        recorder.record(rows.TPIPE, rows.TPIPE.forms[0], (), self)

    init_buffer = OpFunction(rows.INIT_BUFFER)
    init_buf_pool = OpFunction(buffers.INIT_BUF_POOL)
    reset = OpFunction(rows.RESET)
    init = OpFunction(rows.INIT)
    destroy = OpFunction(rows.DESTROY)
    alloc_event_id = OpFunction(rows.ALLOC_EVENT_ID)
    release_event_id = OpFunction(rows.RELEASE_EVENT_ID)
    fetch_event_id = OpFunction(rows.FETCH_EVENT_ID)

    get_base_addr = OpFunction(rows.GET_BASE_ADDR)

    def __repr__(self) -> str:
        return f"<TPipe {self.name}>"


def get_tpipe_ptr() -> TPipe:
    """The kernel's TPipe (`GetTPipePtr`); AT0106 when the kernel has made none yet."""
    recorder = current("get_tpipe_ptr")
    pipes = [
        node.result
        for node in recorder.trace.walk()
        if isinstance(node, Op) and node.spec is rows.TPIPE
    ]
    if not pipes:
        raise error(
            "AT0106",
            "get_tpipe_ptr() before the kernel has a TPipe",
            recorder.site(),
            hint="pipe = asc.TPipe() comes first",
        )
    return pipes[-1]  # type: ignore[return-value]


def require_constant(cls: str, what: str, value: Any, kind: Any) -> None:
    """AT0107 for a template argument that is not a constant of its kind."""
    if not isinstance(value, kind) or isinstance(value, bool):
        raise error(
            "AT0107",
            f"the {what} of a {cls} is a C++ template argument, not {describe(value)}",
            current(cls).site(),
            hint="give a constant: a Python number or enum, or an asc.ConstExpr argument",
        )


def is_on_chip(position: TPosition) -> bool:
    """Whether tensors at a position live in a core's own memory."""
    return MEMORY.get(position, "GM") != "GM"


class TQueBind(Value):
    """A queue of tensors from one position to another (`AscendC::TQueBind<src, dst, depth>`).

    For paths that TQue has no position for, such as GM to GM through the unified buffer (VECIN to
    VECOUT). `mask` chooses a conversion of formats on the way (1: ND to NZ, 2: NZ to ND).
    """

    __slots__ = ("buffer",)

    def __init__(
        self,
        src: TPosition = TPosition.VECIN,
        dst: TPosition = TPosition.VECIN,
        depth: int = 0,
        mask: int = 0,
    ) -> None:
        recorder = current("TQueBind")
        require_constant("TQueBind", "source", src, TPosition)
        require_constant("TQueBind", "destination", dst, TPosition)
        require_constant("TQueBind", "depth", depth, int)
        require_constant("TQueBind", "mask", mask, int)
        position = src if dst in _BOUND_TO_SOURCE else dst
        if depth < 0 or not is_on_chip(position) or mask not in range(4):
            raise error(
                "AT0108",
                f"TQueBind({src!r}, {dst!r}, {depth}, {mask}) is no queue",
                recorder.site(),
                hint="TQueBind(asc.TPosition.VECIN, asc.TPosition.VECOUT, 1): two positions of "
                "which one is on the chip, a depth from 0 up",
            )
        require_memory("TQueBind", position, MEMORY[position])
        super().__init__(
            QueueType(position, int(depth), src, dst, int(mask)), recorder.block
        )  # fmt: skip
        self.buffer: BufferInfo | None = None
        spec = rows.TQUE_BIND
        recorder.record(spec, spec.forms[0], (src, dst, depth, mask), self)

    alloc_tensor = OpFunction(rows.ALLOC_TENSOR)
    enque = OpFunction(rows.ENQUE)
    deque = OpFunction(rows.DEQUE)
    free_tensor = OpFunction(rows.FREE_TENSOR)
    free_all_event = OpFunction(rows.FREE_ALL_EVENT)
    has_idle_buffer = OpFunction(rows.HAS_IDLE_BUFFER)
    has_tensor_in_que = OpFunction(rows.HAS_TENSOR_IN_QUE)
    vacant_in_que = OpFunction(rows.VACANT_IN_QUE)
    get_tensor_count_in_que = OpFunction(rows.GET_TENSOR_COUNT)
    init_buf_handle = OpFunction(rows.INIT_BUF_HANDLE)
    init_start_buf_handle = OpFunction(rows.INIT_START_BUF_HANDLE)

    def __repr__(self) -> str:
        return f"<{self.type} {self.name}>"


class TQue(TQueBind):
    """A queue of tensors between two pipes (`AscendC::TQue<position, depth>`).

    `pos` is the position its tensors live at, `depth` how many may be enqueued in a row; both are
    template arguments, so constants.
    """

    __slots__ = ()

    def __init__(self, pos: TPosition = TPosition.VECIN, depth: int = 1) -> None:
        recorder = current("TQue")
        require_constant("TQue", "position", pos, TPosition)
        require_constant("TQue", "depth", depth, int)
        if depth < 0 or not is_on_chip(pos) or pos is TPosition.VECCALC:
            raise error(
                "AT0108",
                f"TQue({pos!r}, {depth}) is no queue",
                recorder.site(),
                hint="TQue(asc.TPosition.VECIN, 2): a position on the chip that data enters or "
                "leaves at (a TBuf is at VECCALC), a depth from 0 up",
            )
        require_memory("TQue", pos, MEMORY[pos])
        Value.__init__(self, QueueType(pos, int(depth)), recorder.block)
        self.buffer = None
        recorder.record(rows.TQUE, rows.TQUE.forms[0], (pos, depth), self)

    def __repr__(self) -> str:
        return f"<TQue {self.name} in {self.type.position.name}>"
