"""Ascend C prototypes as the rows of the op table emit them."""

from __future__ import annotations

from enum import Enum
from typing import Any

import asctrace as asc
from asctrace.lowering.calls import HOOKS
from asctrace.lowering.plans import Plan
from asctrace.tracer.language.dtypes import DataType, float32
from asctrace.tracer.language.types import GlobalPointerType, GlobalTensorType, LocalTensorType
from asctrace.tracer.ops.signatures import annotation
from asctrace.tracer.ops.spec import Form, OpSpec, Param
from tests.op_examples import tensors_of

_LETTERS = "TUVW"
#: C++ types of the kinds that are neither tensors nor structs nor enums.
_TYPES = {
    "int": "int32_t", "opt_int": "int32_t", "number": "float", "const_int": "int32_t",
    "flag": "bool", "const_bool": "bool", "str": "const char*",
}  # fmt: skip


def _columns(spec: OpSpec, form: Form) -> dict[str, str]:
    """The element type of each tensor of an overload: a letter, or the only dtype there is."""
    names = [p.name for p in form.params if p.kind in ("local", "global")]
    rows = [row for rows in spec.signatures.values() for row in rows]
    if not rows:
        return dict.fromkeys(names, "T")
    order = tensors_of(spec, form)
    found: dict[str, str] = {}
    letters: dict[tuple[DataType, ...], str] = {}
    for k, column in enumerate(zip(*rows, strict=True)):
        if len(set(column)) == 1 and k:
            text = column[0].cpp
        else:
            text = letters.setdefault(column, _LETTERS[len(letters)])
        if k < len(order):
            found[order[k]] = text
    return {name: found.get(name, "T") for name in names}


def _enum(value: Any) -> str:
    return f"{type(value).__name__}::{value.name}"


def _default(param: Param) -> str:
    """What C++ takes where the argument is left out, as far as it can be written."""
    value = param.default
    if param.required or value is None:
        return ""
    if isinstance(value, bool):
        return f" = {str(value).lower()}"
    return f" = {value}" if isinstance(value, int) and type(value) is int else f" = {_enum(value)}"


def _argument(spec: OpSpec, form: Form, param: Param, columns: dict[str, str]) -> str:
    """A parameter in parentheses."""
    if param.kind in ("local", "global"):
        name = "LocalTensor" if param.kind == "local" else "GlobalTensor"
        const = "" if param.role in ("rebind", "lvalue") else "const "
        return f"{const}{name}<{columns[param.name]}>& {param.name}"
    if param.kind == "mask":
        return f"const uint64_t {param.name}[]"
    if param.kind == "address":
        return f"__gm__ T* {param.name}"
    if param.cpp.startswith("{dtype"):
        tensor = form.params[int(param.cpp[len("{dtype") : -1] or 0)]
        return f"{columns.get(tensor.name, 'T')} {param.name}{_default(param)}"
    cpp = param.cpp or _TYPES.get(param.kind)
    if cpp is None:
        known = annotation(param.kind).removesuffix(" | None")
        if known.startswith("list["):
            return f"const {known[5:-1]} {param.name}[]"
        cpp = "auto" if known == "Any" else known if _is_enum(known) else f"const {known}&"
    return f"{cpp} {param.name}{_default(param)}"


def _is_enum(name: str) -> bool:
    return issubclass(getattr(asc, name), Enum)


def _templates(spec: OpSpec, form: Form, plan: Plan, columns: dict[str, str]) -> list[str]:
    """The parameters in angle brackets."""
    letters = [text for text in dict.fromkeys(columns.values()) if text in _LETTERS]
    found = [] if spec.method else [f"typename {letter}" for letter in letters]
    if plan.set_mask is not None:
        found.append("bool isSetMask = true")
    for k in plan.templates:
        param = form.params[k]
        if param.kind in ("dtype", "opt_dtype"):
            found.append("typename T")
        else:
            cpp = _TYPES.get(param.kind) or annotation(param.kind).removesuffix(" | None")
            found.append(f"{cpp} {param.name}{_default(param)}")
    return found


def _result(spec: OpSpec, result: Any) -> str:
    """What is returned, by an example."""
    kind = getattr(result, "type", None)
    names: dict[type, str] = {
        LocalTensorType: "LocalTensor<T>",
        GlobalTensorType: "GlobalTensor<T>",
    }
    if type(kind) in names:
        return names[type(kind)]
    if type(kind) is GlobalPointerType:
        return "__gm__ T*"
    if spec.method and kind is float32:
        return "T"  # an element of the example
    return "void" if kind is None else kind.cpp.removeprefix("AscendC::")


def prototype(spec: OpSpec, form: Form, result: Any) -> str:
    """The prototype of an overload; empty where a template or a hook of its own writes the text."""
    if spec in HOOKS or "{" in spec.cpp or spec.family in ("construct", "struct", "inline"):
        return ""
    plan, columns = Plan(spec, form), _columns(spec, form)
    arguments = [_argument(spec, form, form.params[k], columns) for k, _ in plan.values]
    templates = _templates(spec, form, plan, columns)
    head = f"template <{', '.join(templates)}> " if templates else ""
    owner = f"{spec.name.rpartition('.')[0]}::" if spec.method else ""
    return f"{head}{_result(spec, result)} {owner}{spec.cpp}({', '.join(arguments)})"
