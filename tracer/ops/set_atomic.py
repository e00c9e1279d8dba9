"""Rows of atomic writes: a mode of the core that copies to global memory work in."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from ..language.dtypes import DataType, bfloat16, float16, float32, int8, int16, int32, uint16
from ..language.enums import AtomicDtype
from ..language.types import ArrayType
from ..trace import Recorder, Value, current
from ._chips import of_dtypes, on_chips
from .spec import Form, OpFunction, OpSpec, Param, record, register

_ALL = (float32, float16, int16, int32, int8, bfloat16)
_ADDED = MappingProxyType(
    {
        "2201": _ALL,
        "3510": _ALL,
        "3002": (float32, float16, int16, int32),
        "2002": (float32, float16, int16),
        "1001": (float32,),
    }
)
_TYPED = MappingProxyType({arch: dtypes for arch, dtypes in _ADDED.items() if arch != "1001"})
_COMPARED = MappingProxyType({"2201": _ALL, "3510": _ALL})

#: What `set_store_atomic_config` calls the dtypes.
CONFIG_DTYPES: dict[AtomicDtype, DataType | None] = {
    AtomicDtype.ATOMIC_NONE: None,
    AtomicDtype.ATOMIC_F32: float32,
    AtomicDtype.ATOMIC_F16: float16,
    AtomicDtype.ATOMIC_S16: int16,
    AtomicDtype.ATOMIC_S32: int32,
    AtomicDtype.ATOMIC_S8: int8,
    AtomicDtype.ATOMIC_BF16: bfloat16,
}
_CONFIGURED = MappingProxyType({"arches": ("2201", "3510", "3002")})


def _row(name: str, cpp: str, what: str, dtypes: Any) -> OpSpec:
    doc = (
        f"{what} (`{cpp}<T>`): what a copy to global memory finds there and what it brings are "
        "combined in the tensor's dtype, which has to be this one. Holds for the copies issued "
        "behind it, until `set_atomic_none`; no event is needed in between."
    )
    form = Form("mode", (Param("dtype", "dtype", "template"),))
    return register(
        OpSpec(name, cpp, "set_atomic", doc, (form,), dtypes=dtypes, checks=(of_dtypes,))
    )


SET_ATOMIC_ADD = _row("set_atomic_add", "SetAtomicAdd", "Add", _ADDED)
SET_ATOMIC_MAX = _row("set_atomic_max", "SetAtomicMax", "Keep the larger", _COMPARED)
SET_ATOMIC_MIN = _row("set_atomic_min", "SetAtomicMin", "Keep the smaller", _COMPARED)
SET_ATOMIC_TYPE = register(
    OpSpec(
        "set_atomic_type",
        "SetAtomicType",
        "set_atomic",
        "Change the dtype of atomic writes (`SetAtomicType<T>`); `set_atomic_add` and its like do "
        "so by themselves. What it does while no such mode is on is not documented: refused.",
        (Form("mode", (Param("dtype", "dtype", "template"),)),),
        dtypes=_TYPED,
        checks=(of_dtypes,),
    )
)
SET_ATOMIC_NONE = register(
    OpSpec(
        "set_atomic_none",
        "SetAtomicNone",
        "set_atomic",
        "Copies to global memory replace what is there again (`SetAtomicNone`).",
        (Form("off", ()),),
    )
)
SET_STORE_ATOMIC_CONFIG = register(
    OpSpec(
        "set_store_atomic_config",
        "SetStoreAtomicConfig",
        "set_atomic",
        "Atomic addition in a dtype, or none (`SetStoreAtomicConfig<AtomicDtype, AtomicOp>`): the "
        "same mode as that of `set_atomic_add`.",
        (
            Form(
                "mode",
                (
                    Param("atomic_type", "atomic_dtype", "template"),
                    Param("atomic_op", "atomic_op", "template"),
                ),
            ),
        ),
        checks=(on_chips,),
        extra=_CONFIGURED,
    )
)


class _Config(OpFunction):
    """`get_store_atomic_config`: the two numbers that C++ writes through references."""

    def __call__(self) -> tuple[Any, Any]:
        """Record the call; the two numbers as runtime scalars."""
        config = record(self.spec, self.spec.forms[0], (), current(self.spec.name))
        return config[0], config[1]


def _pair(recorder: Recorder, form: Form, args: tuple[Any, ...]) -> Value:
    return ArrayType.proxy.result(ArrayType(uint16, 2), recorder.block)  # type: ignore[no-any-return]


GET_STORE_ATOMIC_CONFIG = register(
    OpSpec(
        "get_store_atomic_config",
        "GetStoreAtomicConfig",
        "set_atomic",
        "The atomic mode of the core, two uint16 (`GetStoreAtomicConfig`): the number of the dtype "
        "in `AtomicDtype`, 0 when the mode is off, and that of the operation in `AtomicOp`. The "
        "maximum and the minimum have no documented number.",
        (Form("get", ()),),
        result=_pair,
        checks=(on_chips,),
        extra=MappingProxyType(
            {**_CONFIGURED, "function": _Config, "declares": True, "outputs": 2}
        ),
    )
)
