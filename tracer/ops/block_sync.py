"""Rows of synchronisation between blocks, and of scalar memory accesses.

The calls have `extra['meets']`: whether they may hold a block until others have come somewhere. The
simulator runs the blocks of a kernel that has such calls side by side.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from ..diagnostics import error
from ..language.dtypes import int32
from ..language.enums import MEMORY, PipeID
from ..trace import Recorder, Value, describe
from . import rules
from ._chips import on_chips
from .spec import Form, OpSpec, Param, register

#: Counters of `cross_core_set_flag`, those that the hardware form of `sync_all` uses, and how far
#: each counts.
FLAGS = 16
SYNC_ALL_FLAGS = range(11, 15)
FLAG_LIMIT = 15

#: Modes that only kernels of cube and vector cores have, and between whom they are.
BETWEEN = {
    1: "the vector cores of one cube core",
    2: "a cube core and its vector cores",
    4: "a cube core and one of its vector cores",
}

_VECTOR = ("2201", "3510")
_SOFT = ("2201", "3510", "2002", "1001")
_WORKSPACES = (
    Param("gm_workspace", "global", "inout"),
    Param("ub_workspace", "local", "inout"),
)


def check_workspaces(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """Workspaces are of int32, in global memory and UB, and begin at whole blocks."""
    if not form.params or form.params[0].kind != "global":
        return
    site = recorder.site()
    for tensor in args[:2]:
        if tensor.type.dtype is not int32:
            raise error("AT0102", f"{spec.name} with {describe(tensor)}", site,
                        hint="workspaces are of int32")  # fmt: skip
    local = args[1]
    if MEMORY[local.type.position] != "UB":
        raise error(
            "AT0116",
            f"{spec.name} does not reach {describe(local)}",
            site,
            hint="the local workspace lives at VECIN, VECCALC or VECOUT",
        )
    if fault := rules.bad_start(spec, local, site):
        raise fault


def _check_flag(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The flag, the mode and the pipe are ones that the chip has."""
    flag, mode, pipe = args
    chip, site = recorder.trace.chip, recorder.site()
    if not isinstance(flag, Value) and (fault := bad_flag(spec, flag, site)):
        raise fault
    modes = (0, 1, 2, 4) if chip.arch == "3510" else (0, 1, 2)
    if mode not in modes:
        raise error(
            "AT0108",
            f"{spec.name} in mode {mode}",
            site,
            hint=f"{chip.name} has the modes {', '.join(map(str, modes))}",
        )
    # C++ gives the wait PIPE_S by default.
    refused = {PipeID.PIPE_ALL} if spec is CROSS_CORE_WAIT_FLAG or mode == 4 else _UNORDERED
    if pipe in refused or pipe not in _PIPES:
        raise error(
            "AT0108",
            f"{spec.name} on {pipe.name}",
            site,
            hint="the pipe is PIPE_V, PIPE_M, PIPE_MTE1, PIPE_MTE2, PIPE_MTE3 or PIPE_FIX",
        )


_UNORDERED = {PipeID.PIPE_ALL, PipeID.PIPE_S}
_PIPES = {
    PipeID.PIPE_S, PipeID.PIPE_V, PipeID.PIPE_M, PipeID.PIPE_MTE1, PipeID.PIPE_MTE2,
    PipeID.PIPE_MTE3, PipeID.PIPE_FIX,
}  # fmt: skip


def bad_flag(spec: OpSpec, flag: int, site: Any) -> Any:
    """The error of a flag that does not exist."""
    if 0 <= flag < FLAGS:
        return None
    return error(
        "AT0108",
        f"{spec.name} of flag {flag}",
        site,
        hint=f"a core has the flags 0 to {FLAGS - 1}; sync_all uses {SYNC_ALL_FLAGS.start} to "
        f"{SYNC_ALL_FLAGS.stop - 1}",
    )


def _check_indices(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The block and the event count from 0 up."""
    for name, value in zip(("block_idx", "event_id"), args[2:4], strict=True):
        if not isinstance(value, Value) and value < 0:
            raise error("AT0108", f"{spec.name} with {name} = {value}", recorder.site(),
                        hint="count from 0 up")  # fmt: skip


def _extra(arches: tuple[str, ...], **more: Any) -> MappingProxyType[str, Any]:
    return MappingProxyType({"arches": arches, "meets": True} | more)


DATA_SYNC_BARRIER = register(
    OpSpec(
        "data_sync_barrier",
        "DataSyncBarrier",
        "block_sync",
        "Hold the scalar unit until its accesses to memory before are over "
        "(`DataSyncBarrier<MemDsbT>()`). It orders nothing between pipes.",
        (Form("barrier", (Param("arg0", "mem_dsb", "template"),)),),
        checks=(on_chips,),
        extra=MappingProxyType({"arches": ("2201", "3002", "3510")}),
    )
)
IB_SET = register(
    OpSpec(
        "ib_set",
        "IBSet",
        "block_sync",
        "Tell `ib_wait` with the same arguments that this block has come here "
        "(`IBSet<isAIVOnly>`). Everything before it is over then. `gm_workspace` is int32, all "
        "zero at first, with 32 bytes for each pair of event and block: (blocks * event_id + "
        "block_idx + 1) * 32 bytes at least; without `is_aiv_only` twice as many blocks. "
        "`ub_workspace` has 32 bytes. Waits while the event is set from before.",
        (
            Form(
                "set",
                (
                    *_WORKSPACES,
                    Param("block_idx", "int", cpp="int32_t"),
                    Param("event_id", "int", cpp="int32_t"),
                    Param("is_aiv_only", "const_bool", "template", True),
                ),
            ),
        ),
        checks=(on_chips, check_workspaces, _check_indices),
        extra=_extra(_SOFT),
    )
)
IB_WAIT = register(
    OpSpec(
        "ib_wait",
        "IBWait",
        "block_sync",
        "Wait until a block has called `ib_set` with the same arguments, and clear the event "
        "(`IBWait<isAIVOnly>`). Workspaces as for `ib_set`.",
        IB_SET.forms,
        checks=IB_SET.checks,
        extra=_extra(_SOFT),
    )
)
SYNC_ALL = register(
    OpSpec(
        "sync_all",
        "SyncAll",
        "block_sync",
        "Wait until every block has come here, with everything before it over "
        "(`SyncAll<isAIVOnly>`). A kernel that calls it has at most as many blocks as the chip has "
        "vector cores. With workspaces only the first `used_cores` blocks take part (0: all): "
        "`gm_workspace` is int32 and all zero at first, both have 32 bytes for each block. Without "
        "`is_aiv_only` the cube cores take part too.",
        (
            Form("hardware", (Param("is_aiv_only", "const_bool", "template", True),)),
            Form(
                "software",
                (
                    *_WORKSPACES,
                    Param("used_cores", "int", "value", 0, cpp="int32_t"),
                    Param("is_aiv_only", "const_bool", "template", True),
                ),
            ),
        ),
        checks=(on_chips, check_workspaces),
        extra=_extra(_SOFT, form_arches={"hardware": _VECTOR}),
    )
)
_FLAG_PARAMS = (Param("flag_id", "int", cpp="uint16_t"), Param("mode_id", "const_int", "template"))
CROSS_CORE_SET_FLAG = register(
    OpSpec(
        "cross_core_set_flag",
        "CrossCoreSetFlag",
        "block_sync",
        "Report that a pipe has come this far (`CrossCoreSetFlag<modeId, pipe>(flagId)`). Mode 0: "
        "once all blocks have, `cross_core_wait_flag` of the same flag goes on in each. Mode 1 is "
        "between the vector cores of a core, mode 2 (and 4 on 3510) between them and the cube "
        "core. Flags are 0 to 15 and count up to 15; `sync_all` uses 11 to 14.",
        (Form("set", (*_FLAG_PARAMS, Param("pipe", "pipe_id", "template"))),),
        checks=(on_chips, _check_flag),
        extra=_extra(_VECTOR, meets=False),
    )
)
CROSS_CORE_WAIT_FLAG = register(
    OpSpec(
        "cross_core_wait_flag",
        "CrossCoreWaitFlag",
        "block_sync",
        "Wait until all blocks have set the flag, and count it down "
        "(`CrossCoreWaitFlag<modeId, pipe>(flagId)`). On 2201 everything issued later waits, "
        "whatever the pipe; on 3510 the pipe does, or with PIPE_S everything.",
        (
            Form(
                "wait",
                (
                    _FLAG_PARAMS[0],
                    _FLAG_PARAMS[1]._replace(default=0),
                    Param("pipe", "pipe_id", "template", PipeID.PIPE_S),
                ),
            ),
        ),
        checks=(on_chips, _check_flag),
        extra=_extra(_VECTOR),
    )
)
_TURN_DOC = (
    "`gm_workspace` and `ub_workspace` are int32, with 32 bytes for each block, and 32 more in UB."
)
INIT_DETERMINE_COMPUTE_WORKSPACE = register(
    OpSpec(
        "init_determine_compute_workspace",
        "InitDetermineComputeWorkspace",
        "block_sync",
        "Prepare the workspaces of `wait_pre_block` and `notify_next_block`, first thing in every "
        f"block (`InitDetermineComputeWorkspace`). {_TURN_DOC}",
        (Form("init", _WORKSPACES),),
        checks=(on_chips, check_workspaces),
        extra=_extra(_SOFT, variables=(0, 1), meets=False),
    )
)
WAIT_PRE_BLOCK = register(
    OpSpec(
        "wait_pre_block",
        "WaitPreBlock",
        "block_sync",
        "Wait until all blocks before this one have called `notify_next_block` as often as this "
        "one is about to, so that blocks take turns in the order of their indices "
        f"(`WaitPreBlock`). {_TURN_DOC}",
        (Form("wait", _WORKSPACES),),
        checks=(on_chips, check_workspaces),
        extra=_extra(_SOFT, variables=(0, 1)),
    )
)
NOTIFY_NEXT_BLOCK = register(
    OpSpec(
        "notify_next_block",
        "NotifyNextBlock",
        "block_sync",
        "Let the next block go on behind its `wait_pre_block`, with everything before over "
        f"(`NotifyNextBlock`). {_TURN_DOC}",
        (Form("notify", _WORKSPACES),),
        checks=(on_chips, check_workspaces),
        extra=_extra(_SOFT, variables=(0, 1), meets=False),
    )
)
