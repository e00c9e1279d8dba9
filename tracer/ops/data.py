"""Rows of the scalar unit's own data: arrays, structs and their parts, and of C++ text as it is.

A part is named by a path from its array or struct: field names and element numbers.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from ..diagnostics import error
from ..language.types import ArrayType, member_type
from ..trace import Recorder, Value, describe
from .spec import Form, OpSpec, Param, register

_PATH = Param("path", "path")


def _part_result(recorder: Recorder, form: Form, args: tuple[Any, ...]) -> Value:
    dtype = member_type(args[0].type, args[1])
    return dtype.proxy(dtype, recorder.block)  # type: ignore[no-any-return]


def _check_path(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """Constant element numbers lie in their arrays."""
    type = args[0].type
    for k, step in enumerate(args[1]):
        length = type.length if isinstance(type, ArrayType) else None
        if length is not None and not isinstance(step, Value) and not 0 <= step < length:
            raise error(
                "AT0201",
                f"element {step} of {describe(args[0])}, which has {length}",
                recorder.site(),
                hint="indices count from 0; Python's negative indices have no meaning here",
            )
        type = member_type(type, args[1][k : k + 1])


ARRAY = register(
    OpSpec(
        "Array",
        "",
        "construct",
        "An array of numbers for the scalar unit (`T name[length]`), with its first values.",
        (Form("make", (Param("values", "values"),)),),
    )
)
STRUCT = register(
    OpSpec(
        "Struct.__init__",
        "",
        "struct",
        "A struct of the kernel's own, all fields zero but for those set in the call.",
        (Form("make", ()),),
    )
)
STRUCT_COPY = register(
    OpSpec(
        "Struct.create_local",
        "",
        "struct",
        "A copy of a struct, to change without changing the first.",
        (Form("copy", (Param("struct", "data", "object"),)),),
    )
)
PART_GET = register(
    OpSpec(
        "Struct.__getattr__",
        "",
        "struct",
        "Read a field of a struct or an element of an array.",
        (Form("get", (Param("data", "data", "object"), _PATH)),),
        pure=True,
        result=_part_result,
        checks=(_check_path,),
        extra=MappingProxyType({"prec": 2}),
    )
)
PART_SET = register(
    OpSpec(
        "Struct.__setattr__",
        "",
        "struct",
        "Write a field of a struct or an element of an array.",
        (Form("set", (Param("data", "data", "rebind"), _PATH, Param("value", "number"))),),
        checks=(_check_path,),
    )
)
INLINE = register(
    OpSpec(
        "inline",
        "",
        "inline",
        "C++ text as it is, for what asctrace has no words for; `$0`, `$1`, ... stand for the "
        "values in `args`. `before_function` puts it in front of the kernel. The simulator cannot "
        "run it.",
        (
            Form(
                "text",
                (
                    Param("code", "str", "host"),
                    Param("args", "opt_values", default=None),
                    Param("before_function", "const_bool", "host", False),
                ),
            ),
        ),
    )
)
