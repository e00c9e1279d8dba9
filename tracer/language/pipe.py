"""`TPipe` and `TQue`: who owns on-chip memory and who hands it on."""

from __future__ import annotations

from ..diagnostics import error
from ..ops import framework as rows
from ..ops.spec import OpFunction
from ..trace import Value, current, describe
from .enums import MEMORY, TPosition
from .types import BufferInfo, PipeType, QueueType


class TPipe(Value):
    """Manager of on-chip memory and events (`AscendC::TPipe`); one a kernel."""

    __slots__ = ()

    def __init__(self) -> None:
        recorder = current("TPipe")
        super().__init__(PipeType(), recorder.block)
        recorder.record(rows.TPIPE, rows.TPIPE.forms[0], (), self)

    init_buffer = OpFunction(rows.INIT_BUFFER)

    def __repr__(self) -> str:
        return f"<TPipe {self.name}>"


class TQue(Value):
    """A queue of tensors between two pipes (`AscendC::TQue<position, depth>`).

    `pos` is the position its tensors live at, `depth` how many may be enqueued in a row; both are
    template arguments, so constants.
    """

    __slots__ = ("buffer",)

    def __init__(self, pos: TPosition = TPosition.VECIN, depth: int = 1) -> None:
        recorder = current("TQue")
        for what, value, kind in (("position", pos, TPosition), ("depth", depth, int)):
            if not isinstance(value, kind):
                raise error(
                    "AT0107",
                    f"the {what} of a TQue is a C++ template argument, not {describe(value)}",
                    recorder.site(),
                    hint="give a constant: a Python number or enum, or an asc.ConstExpr argument",
                )
        if depth < 0 or pos not in MEMORY:
            raise error(
                "AT0108",
                f"TQue({pos!r}, {depth}) is no queue",
                recorder.site(),
                hint="TQue(asc.TPosition.VECIN, 2): a position on the chip, a depth from 0 up",
            )
        super().__init__(QueueType(pos, int(depth)), recorder.block)
        self.buffer: BufferInfo | None = None
        recorder.record(rows.TQUE, rows.TQUE.forms[0], (pos, depth), self)

    alloc_tensor = OpFunction(rows.ALLOC_TENSOR)
    enque = OpFunction(rows.ENQUE)
    deque = OpFunction(rows.DEQUE)
    free_tensor = OpFunction(rows.FREE_TENSOR)

    def __repr__(self) -> str:
        return f"<TQue {self.name} in {self.type.position.name}>"
