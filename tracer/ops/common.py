"""Rows of the core's state and of addresses that a framework hands to kernels."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from ..diagnostics import error
from ..language.dtypes import uint8
from ..language.types import GlobalPointerType
from ..trace import Recorder, Value
from ._chips import on_chips
from .spec import Form, OpSpec, Param, register

_BYTES = GlobalPointerType(uint8)


def _address(recorder: Recorder, form: Form, args: tuple[Any, ...]) -> Value:
    return _BYTES.proxy(_BYTES, recorder.block)  # type: ignore[no-any-return]


def _check_index(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The group is 0 or 1."""
    if args[0] not in (0, 1):
        raise error("AT0108", f"{spec.name} of index {args[0]}", recorder.site(),
                    hint="there are two groups, 0 and 1")  # fmt: skip


def _row(
    name: str, cpp: str, doc: str, arches: tuple[str, ...], *params: Param, **more: Any
) -> OpSpec:
    """A row; one with a result gives an address that some array of the launch may have."""
    extra = {"arches": arches, **({"any_array": True} if "result" in more else {})}
    checks = (on_chips, *more.pop("checks", ()))
    return register(
        OpSpec(name, cpp, "common", doc, (Form("call", params),), checks=checks,
               extra=MappingProxyType(extra), **more)
    )  # fmt: skip


_INDEX = Param("index", "const_int", "template")
GET_HCCL_CONTEXT = _row(
    "get_hccl_context", "GetHcclContext",
    "Address of the message area of a communication group (`GetHcclContext<index>`), a "
    "GlobalAddress of uint8. In the simulator what `set_hccl_context` was given.",
    ("2201", "2002"), _INDEX, result=_address, checks=(_check_index,),
)  # fmt: skip
SET_HCCL_CONTEXT = _row(
    "set_hccl_context", "SetHcclContext",
    "Set the message area of a communication group, 0 or 1 (`SetHcclContext<index>`).",
    ("2201", "2002"), _INDEX, Param("context", "address"), checks=(_check_index,),
)  # fmt: skip
GET_SYS_WORKSPACE = _row(
    "get_sys_workspace", "GetSysWorkSpacePtr",
    "Address of the system workspace (`GetSysWorkSpacePtr`), a GlobalAddress of uint8. In the "
    "simulator what `set_sys_workspace` was given.",
    ("2201", "3510", "2002", "1001"), result=_address,
)  # fmt: skip
SET_SYS_WORKSPACE = _row(
    "set_sys_workspace", "SetSysWorkspace",
    "Set the system workspace, which some functions of the library need (`SetSysWorkspace`).",
    ("2201", "3510", "2002", "1001"), Param("workspace", "address"),
)  # fmt: skip
INIT_SOC_STATE = _row(
    "init_soc_state", "InitSocState",
    "Bring the modes of the core to where they begin (`InitSocState`): copies are not atomic, all "
    "elements are selected. A `TPipe` does so by itself.",
    ("2201", "3510", "2002"),
)  # fmt: skip
CHECK_LOCAL_MEMORY_IA = _row(
    "check_local_memory_ia", "CheckLocalMemoryIA",
    "Watch a part of UB and stop when something touches it (`CheckLocalMemoryIA`). The part begins "
    "behind block `start_addr` and ends with block `end_addr`, of 32 bytes each. The simulator "
    "watches while it looks for races.",
    ("2201", "3002", "2002"), Param("check_params", "check_params"),
)  # fmt: skip


def _cube_mode(name: str, cpp: str, param: str, doc: str) -> OpSpec:
    return _row(
        name, cpp,
        f"{doc} (`{cpp}`). A mode of the matrix multiplication, which no call of a vector core "
        "depends on.",
        ("2201", "3510", "3002"), Param(param, "flag", cpp="bool"),
    )  # fmt: skip


SET_HF32_MODE = _cube_mode(
    "set_hf32_mode", "SetHF32Mode", "hf32_mode",
    "Round float32 operands to HF32 in front of the multiplication, or not",
)  # fmt: skip
SET_HF32_TRANS_MODE = _cube_mode(
    "set_hf32_trans_mode", "SetHF32TransMode", "trans_mode",
    "How HF32 rounds: to the nearest, ties towards zero (True) or to even (False)",
)  # fmt: skip
SET_MM_LAYOUT_TRANSFORM = _cube_mode(
    "set_mm_layout_transform", "SetMMLayoutTransform", "mm_layout_mode",
    "Make results along N first (True), or along M first (False)",
)  # fmt: skip
#: Modes that nothing simulated so far looks at.
CUBE_MODES = (SET_HF32_MODE, SET_HF32_TRANS_MODE, SET_MM_LAYOUT_TRANSFORM)
