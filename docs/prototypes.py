"""Ascend C prototypes as the rows of the op table emit them."""

from __future__ import annotations

from enum import Enum
from typing import Any

import asctrace as asc
from asctrace.lowering.calls import HOOKS
from asctrace.lowering.plans import Plan
from asctrace.tracer.language.dtypes import DataType, float32
from asctrace.tracer.language.types import GlobalPointerType, GlobalTensorType, LocalTensorType
from asctrace.tracer.ops._signatures import annotation
from asctrace.tracer.ops.spec import Form, OpSpec, Param
from tests.op_examples import tensors_of

_LETTERS = "TUVW"
#: C++ types of the kinds that are neither tensors nor structs nor enums.
_TYPES = {
    "int": "int32_t", "opt_int": "int32_t", "number": "float", "const_int": "int32_t",
    "flag": "bool", "const_bool": "bool", "str": "const char*",
}  # fmt: skip


def _spelled(form: Form, plan: Plan) -> list[str]:
    """The tensors whose element types come before other template arguments."""
    types = plan.typed or (plan.types if plan.set_mask is not None else ())
    return [form.params[k].name for k in types if k < len(form.params)]


def _columns(spec: OpSpec, form: Form, plan: Plan) -> dict[str, str]:
    """The element type of each tensor of an overload: a letter, or the only dtype there is."""
    names = [p.name for p in form.params if p.kind in ("local", "global")]
    rows = [row for rows in spec.signatures.values() for row in rows]
    if not rows:
        return dict.fromkeys(names, "T")
    # An overload may lack some of the tensors that the signatures are of.
    columns = dict(zip(tensors_of(spec, form), zip(*rows, strict=True), strict=False))
    letters: dict[tuple[DataType, ...], str] = {}
    found = {}
    first = _spelled(form, plan)
    for name in (*first, *(name for name in columns if name not in first)):
        column = columns[name]
        if column not in letters and len(set(column)) == 1 and letters and name not in first:
            found[name] = column[0].cpp
        else:
            found[name] = letters.setdefault(column, _LETTERS[len(letters)])
    return {name: found.get(name, "T") for name in names}


#: Enums whose values Ascend C has under another name.
_CPP = {"PipeID": "pipe_t", "SelMode": "SELMODE"}


def _enum(value: Any) -> str:
    name = type(value).__name__
    return value.name if name == "PipeID" else f"{_CPP.get(name, name)}::{value.name}"


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
        dtype = columns.get(tensor.name, "T")
        if param.kind != "number":
            return f"const {annotation(param.kind)}<{dtype}>& {param.name}"
        return f"{dtype} {param.name}{_default(param)}"
    cpp = param.cpp or _TYPES.get(param.kind)
    if cpp is None:
        known = annotation(param.kind).removesuffix(" | None")
        if known.startswith("list["):
            return f"const {known[5:-1]} {param.name}[]"
        cpp = (
            "auto"
            if known == "Any"
            else _CPP.get(known, known)
            if _is_enum(known)
            else f"const {known}&"
        )
    return f"{cpp} {param.name}{_default(param)}"


def _is_enum(name: str) -> bool:
    return issubclass(getattr(asc, name), Enum)


def _templates(form: Form, plan: Plan, columns: dict[str, str]) -> list[str]:
    """The parameters in angle brackets; types that arguments tell come behind the others."""
    first = [columns[name] for name in _spelled(form, plan)]
    found = [f"typename {letter}" for letter in dict.fromkeys(first)]
    if plan.set_mask is not None:
        found.append("bool isSetMask = true")
    for k in plan.templates:
        param = form.params[k]
        if param.kind in ("dtype", "opt_dtype"):
            found.append("typename T")
        else:
            known = annotation(param.kind).removesuffix(" | None")
            cpp = _TYPES.get(param.kind) or _CPP.get(known, known)
            found.append(f"{cpp} {param.name}{_default(param)}")
    told = dict.fromkeys(columns.values()) if not plan.spec.method else ()
    return found + [f"typename {t}" for t in told if t in _LETTERS and t not in first]


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
    plan = Plan(spec, form)
    columns = _columns(spec, form, plan)
    arguments = [_argument(spec, form, form.params[k], columns) for k, _ in plan.values]
    templates = _templates(form, plan, columns)
    head = f"template <{', '.join(templates)}> " if templates else ""
    owner = f"{spec.name.rpartition('.')[0]}::" if spec.method else ""
    return f"{head}{_result(spec, result)} {owner}{spec.cpp}({', '.join(arguments)})"
