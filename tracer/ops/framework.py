"""Rows of `TPipe`, `TQue` and `TQueBind`."""

from __future__ import annotations

from typing import Any

from ..diagnostics import error
from ..language.dtypes import bool_, int32, uint64
from ..language.enums import HardEvent
from ..language.types import BufferInfo, LocalTensorType
from ..trace import Recorder, Value, describe
from .spec import Form, OpSpec, Param, register

_PIPE = Param("pipe", "tpipe", "object")
_QUEUE = Param("queue", "queue", "object")
_DTYPE = Param("dtype", "dtype", "template")
_TENSOR = Param("tensor", "local", "object")
_REBOUND = Param("tensor", "local", "rebind")
_LENGTH = Param("len", "int", default=0, cpp="uint32_t")
_ENDS = (
    Param("src_user_pos", "position", "template"),
    Param("dst_user_pos", "position", "template"),
)
_EVENT = Param("event", "event", "template", HardEvent.V_S)

#: The overloads of `init_buffer`, behind the pipe or pool. A TBuf's length goes by both names.
INIT_FORMS = (
    ("queue", (Param("que", "queue", "object"), Param("num", "int", default=0, cpp="uint8_t"),
               _LENGTH)),
    ("buf", (Param("buf", "buf", "object"), Param("num", "int", default=0, cpp="uint32_t"))),
    ("buf_len", (Param("buf", "buf", "object"), Param("len", "int", cpp="uint32_t"))),
)  # fmt: skip
POOL_FORMS = (
    ("new", (Param("buf_pool", "pool", "object"), _LENGTH,
             Param("share_buf", "opt_pool", "object", None))),
)  # fmt: skip


def forms(owner: Param, rows: Any) -> tuple[Form, ...]:
    """Overloads whose first operand is `owner`."""
    return tuple(Form(name, (owner, *params)) for name, params in rows)


# -- buffers ------------------------------------------------------------------------------------


def check_positive(recorder: Recorder, owner: Value, num: Any, length: Any) -> None:
    """Constant numbers and lengths of buffers are positive."""
    for what, value in (("number of buffers", num), ("length", length)):
        if not isinstance(value, Value) and value <= 0:
            raise error(
                "AT0108",
                f"the {what} of {describe(owner)} is {value}",
                recorder.site(),
                hint="init_buffer(queue, num, len): num buffers of len bytes each, both positive",
            )


def _resets(manager: Any) -> tuple[int, ...]:
    """The epochs of a pool and of all above it, up to the pipe."""
    out = []
    while manager is not None:
        out.append(manager.epoch)
        manager = getattr(manager, "above", None)
    return tuple(out)


def note_buffer(recorder: Recorder, manager: Any, owner: Any, info: BufferInfo) -> None:
    """Enter a queue, buffer or pool into the buffer table; AT0202 when it is there already."""
    before = owner.buffer
    info.resets = _resets(manager)
    info.within = getattr(manager, "buffer", None)
    if before is not None and before.resets == info.resets and before.parent is info.parent:
        raise error(
            "AT0202",
            f"{describe(owner)} gets buffers a second time",
            info.site,
            notes=[("the first time", before.site)],
            hint="call init_buffer once a queue, or reset() the pipe or pool in between",
        )
    owner.buffer = info
    recorder.trace.buffers.append(info)


def check_init(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """Numbers and lengths are positive; the queue or TBuf has no memory yet."""
    manager, owner, *amounts = args
    num, length = (1, *amounts) if form.name != "queue" else amounts
    check_positive(recorder, owner, num, length)
    parent = None if form.params[0].kind == "tpipe" else manager
    site = recorder.site()
    info = BufferInfo(
        owner, owner.type.position, num, length, site, parent=parent, epoch=manager.epoch
    )
    note_buffer(recorder, manager, owner, info)


def _check_ready(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The queue has its buffers."""
    queue = args[0]
    if queue.buffer is None:
        raise error(
            "AT0202",
            f"{describe(queue)} has no buffers yet",
            recorder.site(),
            hint="call pipe.init_buffer(queue, num, len) first",
        )


def _reset(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """What the pipe gave out before is not used behind it."""
    args[0].epoch += 1


# -- tensors of queues --------------------------------------------------------------------------


def elements(queue: Any, dtype: Any) -> int | None:
    """Elements of a tensor that fills a buffer of a queue, if known."""
    length = queue.buffer.bytes_each()
    return None if length is None else length // dtype.sizeof()


def _tensor_result(recorder: Recorder, form: Form, args: tuple[Any, ...]) -> Any:
    queue, operand = args[:2]
    if isinstance(operand, Value):
        return None
    known = queue.buffer.tensors.get(operand)
    if known is None:
        kind = LocalTensorType(operand, queue.type.position)
        known = queue.buffer.tensors[operand] = (kind, elements(queue, operand))
    return LocalTensorType.proxy.view(known[0], recorder.block, known[1], 0, None, queue)


def _check_in_place(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The forms that fill a given tensor are those of queues of depth 0, and only theirs."""
    queue: Any = args[0]
    operand: Any = args[1]
    if not isinstance(operand, Value):
        return
    tensor: Any = operand
    name = spec.name.rpartition(".")[2]
    if queue.type.depth:
        raise error(
            "AT0108",
            f"{name}(tensor) of {describe(queue)}, whose depth is {queue.type.depth}",
            recorder.site(),
            hint=f"the in-place form is for queues of depth 0: tensor = queue.{name}(dtype)",
        )
    tensor.rebind(
        LocalTensorType(tensor.dtype, queue.type.position),
        elements(queue, tensor.dtype),
        0,
        queue,
    )


def _check_owner(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """Tensors of a TBuf or at an address are not a queue's to hand on."""
    queue, tensor = args[:2]
    owner = tensor.owner
    if owner is None or owner.type.depth or type(owner.type) is type(queue.type):
        return
    raise error(
        "AT0202",
        f"{spec.name.rpartition('.')[2]} of {describe(tensor)}, which belongs to {describe(owner)}",
        recorder.site(),
        hint="tensors of a TBuf stay with it: they are neither enqueued nor freed",
    )


def _check_depth(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The queue is one of depth 1 or more."""
    queue = args[0]
    if queue.type.depth == 0:
        raise error(
            "AT0108",
            f"{spec.name.rpartition('.')[2]} of {describe(queue)}, whose depth is 0",
            recorder.site(),
            hint="queues of depth 0 (in-place tensors) have no state to ask for: choose depth 1",
        )


def _bool_result(recorder: Recorder, form: Form, args: tuple[Any, ...]) -> Value:
    return bool_.proxy(bool_, recorder.block)  # type: ignore[no-any-return]


def int_result(recorder: Recorder, form: Form, args: tuple[Any, ...]) -> Value:
    """An int32."""
    return int32.proxy(int32, recorder.block)  # type: ignore[no-any-return]


def _address_result(recorder: Recorder, form: Form, args: tuple[Any, ...]) -> Value:
    if args[1] is None:
        raise error(
            "AT0107",
            "get_base_addr needs a position",
            recorder.site(),
            hint="pipe.get_base_addr(asc.TPosition.VECIN)",
        )
    return uint64.proxy(uint64, recorder.block)  # type: ignore[no-any-return]


# -- rows ---------------------------------------------------------------------------------------


def _pipe_row(name: str, cpp: str, doc: str, rows: Any = (("call", ()),), **more: Any) -> OpSpec:
    return register(
        OpSpec(
            f"TPipe.{name}", cpp, "framework", doc, forms(_PIPE, rows), method=True, **more
        )
    )  # fmt: skip


def _queue_row(name: str, cpp: str, doc: str, rows: Any = (("call", ()),), **more: Any) -> OpSpec:
    return register(
        OpSpec(
            f"TQue.{name}", cpp, "framework", doc, forms(_QUEUE, rows), method=True, **more
        )
    )  # fmt: skip


TPIPE = register(
    OpSpec(
        "TPipe",
        "AscendC::TPipe",
        "construct",
        "Manager of on-chip memory and events (`AscendC::TPipe`).",
        (Form("make", ()),),
    )
)
_DEPTH = Param("depth", "const_int", "template")
TQUE = register(
    OpSpec(
        "TQue",
        "AscendC::TQue",
        "construct",
        "A queue of tensors between two pipes (`AscendC::TQue<position, depth>`).",
        (Form("make", (Param("pos", "position", "template"), _DEPTH)),),
    )
)
TQUE_BIND = register(
    OpSpec(
        "TQueBind",
        "AscendC::TQueBind",
        "construct",
        "A queue between two positions that TQue does not pair "
        "(`AscendC::TQueBind<src, dst, depth, mask>`).",
        (
            Form(
                "make",
                (
                    Param("src", "position", "template"),
                    Param("dst", "position", "template"),
                    _DEPTH,
                    Param("mask", "const_int", "template"),
                ),
            ),
        ),
    )
)
INIT_BUFFER = _pipe_row(
    "init_buffer", "InitBuffer",
    "Give a queue `num` buffers of `len` bytes each, or a TBuf its one buffer; lengths are rounded "
    "up to 32 (`InitBuffer`).",
    INIT_FORMS, checks=(check_init,),
)  # fmt: skip
RESET = _pipe_row(
    "reset", "Reset",
    "Give all memory and events of the pipe back, for another round of `init_buffer` (`Reset`).",
    checks=(_reset,),
)  # fmt: skip
INIT = _pipe_row("init", "Init", "Begin anew after `destroy` (`Init`).", checks=(_reset,))
DESTROY = _pipe_row(
    "destroy", "Destroy",
    "End the pipe: all work is waited for, memory and events are given back (`Destroy`).",
    checks=(_reset,),
)  # fmt: skip
ALLOC_EVENT_ID = _pipe_row(
    "alloc_event_id", "AllocEventID",
    "Take an event id of a pair of pipes, until `release_event_id` (`AllocEventID<event>()`).",
    (("event", (_EVENT,)),), result=int_result,
)  # fmt: skip
RELEASE_EVENT_ID = _pipe_row(
    "release_event_id", "ReleaseEventID",
    "Give back an event id of `alloc_event_id` (`ReleaseEventID<event>(id)`).",
    (("event", (Param("id", "int", cpp="int8_t"), _EVENT)),),
)  # fmt: skip
FETCH_EVENT_ID = _pipe_row(
    "fetch_event_id", "FetchEventID",
    "A free event id of a pair of pipes, for use at once: it is not taken "
    "(`FetchEventID<event>()`).",
    (("event", (_EVENT,)),), result=int_result,
)  # fmt: skip
GET_BASE_ADDR = _pipe_row(
    "get_base_addr", "GetBaseAddr",
    "Where the memory of a position begins (`GetBaseAddr`); uint64. CPU debugging and the "
    "simulator only.",
    (("position", (Param("logic_pos", "opt_position", default=None),)),), result=_address_result,
)  # fmt: skip

ALLOC_TENSOR = _queue_row(
    "alloc_tensor", "AllocTensor",
    "Take a free buffer of the queue as a tensor; waits for the buffer's last user "
    "(`AllocTensor<T>()`). Its contents are undefined. Queues of depth 0 fill a given tensor.",
    (("alloc", (_DTYPE,)), ("in_place", (_REBOUND,))),
    result=_tensor_result, checks=(_check_ready, _check_in_place),
)  # fmt: skip
ENQUE = _queue_row(
    "enque", "EnQue",
    "Hand a tensor on: sets the event its consumer waits for (`EnQue`). The user positions choose "
    "another pair of pipes than the queue's own.",
    (("enque", (_TENSOR,)), ("positions", (_TENSOR, *_ENDS))),
    checks=(_check_ready, _check_owner),
)  # fmt: skip
DEQUE = _queue_row(
    "deque", "DeQue",
    "Take the oldest enqueued tensor; waits for its producer (`DeQue<T>()`). Queues of depth 0 "
    "fill a given tensor.",
    (("deque", (_DTYPE,)), ("in_place", (_REBOUND,)), ("positions", (_DTYPE, *_ENDS))),
    result=_tensor_result, checks=(_check_ready, _check_in_place),
)  # fmt: skip
FREE_TENSOR = _queue_row(
    "free_tensor", "FreeTensor",
    "Give a tensor's buffer back to the queue (`FreeTensor`).",
    (("free", (_TENSOR,)),),
    checks=(_check_ready, _check_owner),
)  # fmt: skip
FREE_ALL_EVENT = _queue_row(
    "free_all_event", "FreeAllEvent",
    "Wait for the events of all freed buffers and give their ids back (`FreeAllEvent`).",
    checks=(_check_ready, _check_depth),
)  # fmt: skip
HAS_IDLE_BUFFER = _queue_row(
    "has_idle_buffer", "HasIdleBuffer",
    "Whether `alloc_tensor` would find a free buffer (`HasIdleBuffer`).",
    result=_bool_result, checks=(_check_ready, _check_depth),
)  # fmt: skip
HAS_TENSOR_IN_QUE = _queue_row(
    "has_tensor_in_que", "HasTensorInQue",
    "Whether a tensor is enqueued (`HasTensorInQue`).",
    result=_bool_result, checks=(_check_ready, _check_depth),
)  # fmt: skip
VACANT_IN_QUE = _queue_row(
    "vacant_in_que", "VacantInQue",
    "Whether another tensor may be enqueued (`VacantInQue`).",
    result=_bool_result, checks=(_check_ready, _check_depth),
)  # fmt: skip
GET_TENSOR_COUNT = _queue_row(
    "get_tensor_count_in_que", "GetTensorCountInQue",
    "How many tensors are enqueued (`GetTensorCountInQue`); int32.",
    result=int_result, checks=(_check_ready, _check_depth),
)  # fmt: skip
_HANDLE = Param("buf_handle", "handle", "object")
INIT_BUF_HANDLE = _queue_row(
    "init_buf_handle", "InitBufHandle",
    "Describe one buffer of the queue to a custom pool (`InitBufHandle`).",
    (("call", (Param("buf_pool", "pool", "object"), Param("index", "int", cpp="uint32_t"), _HANDLE,
               Param("cur_pool_addr", "int", cpp="uint32_t"),
               Param("len", "int", cpp="uint32_t"))),),
)  # fmt: skip
INIT_START_BUF_HANDLE = _queue_row(
    "init_start_buf_handle", "InitStartBufHandle",
    "Name the first buffer of the queue, for custom pools (`InitStartBufHandle`).",
    (("call", (Param("start_buf_handle", "handle", "object"), Param("num", "int", cpp="uint8_t"),
               Param("len", "int", cpp="uint32_t"))),),
)  # fmt: skip
