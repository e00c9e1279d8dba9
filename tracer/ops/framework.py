"""Rows of `TPipe` and `TQue`."""

from __future__ import annotations

from typing import Any

from ..diagnostics import error
from ..language.types import BufferInfo, LocalTensorType
from ..trace import Recorder, Value, describe
from .spec import Form, OpSpec, Param, register

_QUEUE = Param("queue", "queue", "object")


def _check_init(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    _, queue, num, length = args
    site = recorder.site()
    for what, value in (("number of buffers", num), ("length", length)):
        if not isinstance(value, Value) and value <= 0:
            raise error(
                "AT0108",
                f"the {what} of {describe(queue)} is {value}",
                site,
                hint="init_buffer(queue, num, len): num buffers of len bytes each, both positive",
            )
    if queue.buffer is not None:
        raise error(
            "AT0202",
            f"{describe(queue)} gets buffers a second time",
            site,
            notes=[("the first time", queue.buffer.site)],
            hint="call init_buffer once a queue",
        )
    queue.buffer = BufferInfo(queue, queue.type.position, num, length, site)
    recorder.trace.buffers.append(queue.buffer)


def _check_ready(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    queue = args[0]
    if queue.buffer is None:
        raise error(
            "AT0202",
            f"{describe(queue)} has no buffers yet",
            recorder.site(),
            hint="call pipe.init_buffer(queue, num, len) first",
        )


def _tensor_result(recorder: Recorder, form: Form, args: tuple[Any, ...]) -> Value:
    queue, dtype = args
    length = queue.buffer.bytes_each()
    size = None if length is None else length // dtype.sizeof()
    return LocalTensorType.proxy.view(  # type: ignore[no-any-return]
        LocalTensorType(dtype, queue.type.position), recorder.block, size, 0
    )


TPIPE = register(
    OpSpec(
        "TPipe",
        "AscendC::TPipe",
        "construct",
        "Manager of on-chip memory and events (`AscendC::TPipe`).",
        (Form("make", ()),),
    )
)
TQUE = register(
    OpSpec(
        "TQue",
        "AscendC::TQue",
        "construct",
        "A queue of tensors between two pipes (`AscendC::TQue<position, depth>`).",
        (
            Form(
                "make",
                (Param("pos", "position", "template"), Param("depth", "const_int", "template")),
            ),
        ),
    )
)
INIT_BUFFER = register(
    OpSpec(
        "TPipe.init_buffer",
        "InitBuffer",
        "framework",
        "Give a queue `num` buffers of `len` bytes each, rounded up to 32 (`InitBuffer`).",
        (
            Form(
                "queue",
                (
                    Param("pipe", "tpipe", "object"),
                    Param("que", "queue", "object"),
                    Param("num", "int", cpp="uint8_t"),
                    Param("len", "int", cpp="uint32_t"),
                ),
            ),
        ),
        method=True,
        checks=(_check_init,),
    )
)
ALLOC_TENSOR = register(
    OpSpec(
        "TQue.alloc_tensor",
        "AllocTensor",
        "framework",
        "Take a free buffer of the queue as a tensor; waits for the buffer's last user "
        "(`AllocTensor<T>()`). Its contents are undefined.",
        (Form("alloc", (_QUEUE, Param("dtype", "dtype", "template"))),),
        method=True,
        result=_tensor_result,
        checks=(_check_ready,),
    )
)
ENQUE = register(
    OpSpec(
        "TQue.enque",
        "EnQue",
        "framework",
        "Hand a tensor on: sets the event its consumer waits for (`EnQue`).",
        (Form("enque", (_QUEUE, Param("tensor", "local", "object"))),),
        method=True,
        checks=(_check_ready,),
    )
)
DEQUE = register(
    OpSpec(
        "TQue.deque",
        "DeQue",
        "framework",
        "Take the oldest enqueued tensor; waits for its producer (`DeQue<T>()`).",
        (Form("deque", (_QUEUE, Param("dtype", "dtype", "template"))),),
        method=True,
        result=_tensor_result,
        checks=(_check_ready,),
    )
)
FREE_TENSOR = register(
    OpSpec(
        "TQue.free_tensor",
        "FreeTensor",
        "framework",
        "Give a tensor's buffer back to the queue (`FreeTensor`).",
        (Form("free", (_QUEUE, Param("tensor", "local", "object"))),),
        method=True,
        checks=(_check_ready,),
    )
)
