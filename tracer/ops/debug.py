"""Rows of printing on the device, and of what tools look for in a kernel."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import numpy as np

from ..diagnostics import error
from ..language.dtypes import DataType
from ..language.enums import MEMORY
from ..language.types import GlobalPointerType, LocalTensorType
from ..trace import Recorder, Value, current, describe
from ._chips import on_chips
from .spec import Form, OpFunction, OpSpec, Param, record, register

#: A conversion of `printf`, with what may stand in front of it in C.
CONVERSION = re.compile(r"%([-+ #0]*\d*(?:\.\d+)?)(hh|h|ll|l|z|j|t|L)?([a-zA-Z%])")


def _is_integer(value: Any) -> bool:
    return isinstance(value, bool | int | np.integer | np.bool_)


def _of_kind(kinds: str, plain: Callable[[Any], bool]) -> Callable[[Any], bool]:
    def test(value: Any) -> bool:
        if isinstance(value, Value):
            return isinstance(value.type, DataType) and value.type.kind in kinds
        return plain(value)

    return test


_SIGNED = ("a signed integer", _of_kind("ib", _is_integer))
_UNSIGNED = ("an unsigned integer", _of_kind("ub", lambda v: _is_integer(v) and v >= 0))
_FLOAT = ("a float", _of_kind("f", lambda v: isinstance(v, float | np.floating)))
_HEX = ("an integer", _of_kind("iub", _is_integer))

#: What each conversion of the device's printf takes.
CONVERSIONS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "d": _SIGNED, "i": _SIGNED, "u": _UNSIGNED, "x": _HEX, "f": _FLOAT, "F": _FLOAT,
    "s": ("text", lambda v: isinstance(v, str)),
    "p": ("an address", lambda v: isinstance(v, Value) and type(v.type) is GlobalPointerType),
}  # fmt: skip


class _Printf(OpFunction):
    """`printf(desc, *params)`: text in C's notation and what goes into it."""

    def __call__(self, desc: Any, *params: Any) -> None:
        recorder = current(self.spec.name)
        if not isinstance(desc, str):
            raise error(
                "AT0106",
                f"{self.spec.name} of {describe(desc)}",
                recorder.site(),
                hint='the first argument is the text: printf("n = %d\\n", n), or print(n)',
            )
        _check_conversions(desc, params, recorder)
        record(self.spec, self.spec.forms[1], (desc, params), recorder)


def _check_conversions(desc: str, params: tuple[Any, ...], recorder: Recorder) -> None:
    rest = CONVERSION.sub("", desc)
    found = [m for m in CONVERSION.finditer(desc) if m[3] != "%"]
    odd = next((m[0] for m in found if m[1] or m[3] not in CONVERSIONS), "")
    if odd or "%" in rest:
        raise error(
            "AT0306",
            f"printf with {odd or '%'} in its text",
            recorder.site(),
            hint="the device has %d %i %u %x %f %F %s %p, with l or ll in front of a letter for "
            "integers, and %%",
        )
    if len(found) != len(params):
        raise error(
            "AT0106",
            f"printf of {len(params)} values, and {len(found)} conversions in its text",
            recorder.site(),
            hint="one value for each % in the text",
        )
    for match, value in zip(found, params, strict=True):
        words, test = CONVERSIONS[match[3]]
        if not test(value):
            raise error(
                "AT0106",
                f"printf: {match[0]} takes {words}, not {describe(value)}",
                recorder.site(),
                hint="%d signed, %u unsigned, %x any integers, %f floats, %s text, %p addresses",
            )


PRINTF = register(
    OpSpec(
        "printf",
        "printf",
        "debug",
        "Print text in C's notation with values in it (`AscendC::printf`): `printf(desc, "
        "*params)`. `print(...)` in a kernel prints runtime scalars without a notation. In the "
        "simulator both write to standard output.",
        (
            Form("pieces", (Param("pieces", "pieces"),)),
            Form("format", (Param("desc", "str"), Param("params", "pieces"))),
        ),
        extra=MappingProxyType({"function": _Printf}),
    )
)

#: Bytes that one call can print; more are not printed.
MOST_BYTES = 30 * 1024
_DUMPED = ("UB", "L1", "L0C")


def _check_place(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The tensor is in global memory, UB, L1 or L0C."""
    tensor = args[0]
    if type(tensor.type) is LocalTensorType and MEMORY[tensor.type.position] not in _DUMPED:
        raise error(
            "AT0116",
            f"{spec.name} does not reach {describe(tensor)}",
            recorder.site(),
            hint="it prints tensors in global memory, UB, L1 and L0C",
        )


def _size(name: str) -> Param:
    return Param(name, "int", cpp="uint32_t")


def _dump(name: str, cpp: str, doc: str, arches: tuple[str, ...], *params: Param) -> OpSpec:
    forms = tuple(Form(k, (Param("tensor", k, "in"), *params)) for k in ("global", "local"))
    return register(
        OpSpec(
            name,
            cpp,
            "debug",
            f"{doc} At most 30 KB are printed. Waits for nothing: an element that a pipe is still "
            "writing shows anything on the device; the simulator finishes what was issued.",
            forms,
            checks=(on_chips, _check_place),
            extra=MappingProxyType({"arches": arches}),
        )
    )


DUMP_TENSOR = _dump(
    "dump_tensor", "DumpTensor",
    "Print the first `dump_size` elements of a tensor under the number `desc` (`DumpTensor`), laid "
    "out by `shape_info` if that is given.",
    ("2201", "3510", "3002", "2002"),
    _size("desc"), _size("dump_size"), Param("shape_info", "opt_shape_info", default=None),
)  # fmt: skip
DUMP_ACC_CHK_POINT = _dump(
    "dump_acc_chk_point", "DumpAccChkPoint",
    "Print `dump_size` elements of a tensor from element `count_off` on, under the number `index` "
    "(`DumpAccChkPoint`).",
    ("2201", "3510", "2002"),
    _size("index"), _size("count_off"), _size("dump_size"),
)  # fmt: skip
PRINT_TIME_STAMP = register(
    OpSpec(
        "print_time_stamp",
        "PrintTimeStamp",
        "debug",
        "Print the system counter under a number (`PrintTimeStamp`); those up to 0xffff are the "
        "library's own. On the device only with ASCENDC_TIME_STAMP_ON.",
        (Form("stamp", (_size("desc_id"),)),),
        checks=(on_chips,),
        extra=MappingProxyType({"arches": ("2201", "3510", "3002")}),
    )
)


def _mark(name: str, cpp: str, doc: str) -> OpSpec:
    return register(
        OpSpec(
            name,
            cpp,
            "debug",
            f"{doc} (`{cpp}`). The simulator does nothing.",
            (Form("mark", ()),),
            checks=(on_chips,),
            extra=MappingProxyType({"arches": ("2201", "3510")}),
        )
    )


METRICS_PROF_START = _mark(
    "metrics_prof_start", "MetricsProfStart", "Where the profiler begins to measure"
)
METRICS_PROF_STOP = _mark(
    "metrics_prof_stop", "MetricsProfStop", "Where the profiler ceases to measure"
)
