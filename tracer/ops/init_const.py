"""The row of `init_const_value`: one number all over a part of L1."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final

from ..chip import BLOCK_BYTES
from ..diagnostics import Site
from ._copies import (
    BITS16,
    BITS32,
    Bound,
    Call,
    Number,
    Run,
    Runs,
    Way,
    bad_element,
    check,
    outside,
)
from .spec import Form, OpSpec, Param, register

_MOST: Final = 32767


def _check(spec: OpSpec, call: Call, values: tuple[Any, ...], site: Site) -> Any:
    repeat, blocks, gap, value = values[0]
    bounds: tuple[Bound, ...] = (
        ("repeat_times", repeat, 0, _MOST, 1),
        ("block_num", blocks, 0, _MOST, 1),
        ("dst_gap", gap, 0, _MOST, 1),
    )
    fault = outside(spec, bounds, site)
    return fault or bad_element(spec, "init_value", value, call.dtype, site)


def _runs(call: Call, values: tuple[Any, ...]) -> Runs:
    repeat, blocks, gap, value = values[0]
    if not repeat or not blocks:
        return ()
    axes = ((repeat, (blocks + gap) * BLOCK_BYTES, 0),)
    return (Run(axes, blocks * BLOCK_BYTES, fill=Number(value)),)


_DTYPES: Final = (*BITS16, *BITS32)

INIT_CONST_VALUE = register(
    OpSpec(
        "init_const_value",
        "InitConstValue",
        "copies",
        "Fill blocks of L1 with one number (`InitConstValue`): `repeat_times` stretches of "
        "`block_num` blocks of 32 bytes, `dst_gap` blocks between them. Runs on MTE2.",
        (
            Form(
                "l1",
                (
                    Param("dst", "local", "out"),
                    Param("init_const_value_params", "init_const", cpp="{dtype}"),
                ),
            ),
        ),
        pipe="MTE2",
        checks=(check,),
        extra=MappingProxyType(
            {
                "ways": {
                    "l1": Way(
                        _check,
                        _runs,
                        {("", "L1"): ("2201", "3510")},
                        {"2201": _DTYPES, "3510": _DTYPES},
                        tensors=1,
                    )
                }
            }
        ),
    )
)
