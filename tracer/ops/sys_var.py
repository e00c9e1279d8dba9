"""Rows of what a kernel can ask of the core it runs on, and of stopping there."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from ..language.dtypes import DataType, int32, int64, uint32
from ..trace import Recorder, Value, current
from ._chips import on_chips
from .spec import Form, OpFunction, OpSpec, Param, record, register

_SPLIT = ("2201", "3510")
_MOST = ("2201", "3510", "2002")


def _result(dtype: DataType) -> Any:
    def make(recorder: Recorder, form: Form, args: tuple[Any, ...]) -> Value:
        return dtype.proxy(dtype, recorder.block)  # type: ignore[no-any-return]

    return make


def _constant(name: str, cpp: str, doc: str, arches: tuple[str, ...], value: int) -> OpSpec:
    """A number that does not change while a kernel runs; `value` is that of a vector kernel."""
    return register(
        OpSpec(
            name,
            f"static_cast<int32_t>(AscendC::{cpp}())",
            "sys_var",
            f"{doc} (`{cpp}`); int32.",
            (Form("get", ()),),
            pure=True,
            result=_result(int32),
            checks=(on_chips,),
            extra=MappingProxyType(
                {"arches": arches, "prec": 2, "sign": "always", "number": value}
            ),
        )
    )


GET_DATA_BLOCK_SIZE_IN_BYTES = _constant(
    "get_data_block_size_in_bytes", "GetDataBlockSizeInBytes",
    "Bytes of a data block, 32", (*_MOST, "1001"), 32,
)  # fmt: skip
GET_SUB_BLOCK_IDX = _constant(
    "get_sub_block_idx", "GetSubBlockIdx",
    "Which of the vector cores of its core a block runs on: 0 in a kernel of vector cores alone",
    _SPLIT, 0,
)  # fmt: skip
GET_SUB_BLOCK_NUM = _constant(
    "get_sub_block_num", "GetSubBlockNum",
    "Vector cores of one core: 1 in a kernel of vector cores alone", _SPLIT, 1,
)  # fmt: skip
GET_TASK_RATIO = _constant(
    "get_task_ratio", "GetTaskRatio",
    "Vector cores for each block of the grid: 1 in a kernel of vector cores alone", _MOST, 1,
)  # fmt: skip
GET_SYSTEM_CYCLE = register(
    OpSpec(
        "get_system_cycle",
        "GetSystemCycle",
        "sys_var",
        "The system counter of the chip (`GetSystemCycle`); int64, 50 a microsecond on 2201, 1000 "
        "on 3510. In the simulator it counts the calls: later ones give more, and the difference "
        "says nothing about time.",
        (Form("get", ()),),
        result=_result(int64),
        checks=(on_chips,),
        extra=MappingProxyType({"arches": _SPLIT}),
    )
)
GET_PROGRAM_COUNTER = register(
    OpSpec(
        "get_program_counter",
        "GetProgramCounter",
        "sys_var",
        "The program counter (`GetProgramCounter`); int64. The simulator has no machine code and "
        "refuses.",
        (Form("get", ()),),
        result=_result(int64),
        checks=(on_chips,),
        extra=MappingProxyType({"arches": _MOST}),
    )
)


class _ArchVersion(OpFunction):
    """`get_arch_version(core_version)`: C++ writes its argument, here the result is returned."""

    def __call__(self, core_version: Any = 0) -> Any:
        recorder = current(self.spec.name)
        return record(self.spec, self.spec.forms[0], (core_version,), recorder)


GET_ARCH_VERSION = register(
    OpSpec(
        "get_arch_version",
        "GetArchVersion",
        "sys_var",
        "The version of the core's architecture, to be read in hexadecimal "
        "(`GetArchVersion(coreVersion)`); uint32. C++ writes it to its argument; Python numbers do "
        "not change, so it is returned. The values are not documented: the simulator refuses.",
        (Form("get", (Param("core_version", "int", "host", 0),)),),
        result=_result(uint32),
        checks=(on_chips,),
        extra=MappingProxyType(
            {"arches": _MOST, "function": _ArchVersion, "declares": True, "outputs": 1}
        ),
    )
)
TRAP = register(
    OpSpec(
        "trap",
        "Trap",
        "sys_var",
        "Stop the core here (`Trap`). The run ends with AT0205 in the simulator.",
        (Form("trap", ()),),
        checks=(on_chips,),
        extra=MappingProxyType({"arches": _MOST}),
    )
)
