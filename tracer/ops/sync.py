"""Rows of synchronisation inside a core and of the block's place in the grid."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from ..diagnostics import error
from ..language.dtypes import int32
from ..trace import Recorder, Value
from .spec import Form, OpSpec, Param, register


def _check_event(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The event id is one that the chip has."""
    event_id = args[1]
    limit = recorder.trace.chip.event_ids
    if not isinstance(event_id, Value) and not 0 <= event_id < limit:
        raise error(
            "AT0108",
            f"event id {event_id} does not exist",
            recorder.site(),
            hint=f"{recorder.trace.chip.name} has the event ids 0 to {limit - 1}",
        )


def _block_result(recorder: Recorder, form: Form, args: tuple[Any, ...]) -> Value:
    return int32.proxy(int32, recorder.block)  # type: ignore[no-any-return]


_EVENT = (Param("event", "event", "template"), Param("event_id", "int", "value", 0))

SET_FLAG = register(
    OpSpec(
        "set_flag",
        "SetFlag",
        "sync",
        "Set an event when the first pipe of the pair has come this far "
        "(`SetFlag<HardEvent>(id)`).",
        (Form("event", _EVENT),),
        checks=(_check_event,),
    )
)
WAIT_FLAG = register(
    OpSpec(
        "wait_flag",
        "WaitFlag",
        "sync",
        "Hold the second pipe of the pair until the event is set, and clear it "
        "(`WaitFlag<HardEvent>(id)`).",
        (Form("event", _EVENT),),
        checks=(_check_event,),
    )
)
PIPE_BARRIER = register(
    OpSpec(
        "pipe_barrier",
        "PipeBarrier",
        "sync",
        "Hold a pipe until everything before has finished there (`PipeBarrier<pipe>()`).",
        (Form("barrier", (Param("pipe", "pipe_id", "template"),)),),
    )
)
GET_BLOCK_IDX = register(
    OpSpec(
        "get_block_idx",
        "static_cast<int32_t>(AscendC::GetBlockIdx())",
        "sys_var",
        "Index of this block in the grid, from 0 (`GetBlockIdx`); int32.",
        (Form("get", ()),),
        pure=True,
        result=_block_result,
        extra=MappingProxyType({"prec": 2, "sign": "always"}),
    )
)
GET_BLOCK_NUM = register(
    OpSpec(
        "get_block_num",
        "static_cast<int32_t>(AscendC::GetBlockNum())",
        "sys_var",
        "Number of blocks in the grid (`GetBlockNum`); int32.",
        (Form("get", ()),),
        pure=True,
        result=_block_result,
        extra=MappingProxyType({"prec": 2, "sign": "always"}),
    )
)
