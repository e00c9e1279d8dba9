"""How overloads look as Python signatures: for `inspect`, the pages of the interface, the stubs."""

from __future__ import annotations

import re
from inspect import Parameter, Signature, signature
from typing import Any

from ..language.structs import ParamStruct
from .spec import KINDS, Form, OpSpec, Param

#: Annotations that the words of a kind do not give.
_ANNOTATIONS = {
    "int": "int",
    "number": "float",
    "const_int": "int",
    "flag": "bool",
    "const_bool": "bool",
    "pieces": "Any",
    "mask": "list[int]",
    "dtype": "DataType",
    "tensors": "list[LocalTensor]",
    "addresses": "list[int]",
    "counts": "list[int]",
    "four": "Array",
    "shape_value": "Any",
    "data": "Any",
    "path": "Any",
    "values": "Any",
    "opt_values": "tuple[Any, ...] | None",
    "shape": "tuple[int, ...] | None",
    "str": "str",
    "slices": "list[SliceInfo]",
    "opt_position": "TPosition",
}


def annotation(kind: str) -> str:
    """What a parameter of a kind takes, as an annotation; classes without their module."""
    known = _ANNOTATIONS.get(kind)
    if known is not None:
        return known
    if kind.startswith("opt_"):
        return f"{annotation(kind.removeprefix('opt_'))} | None"
    match = re.fullmatch(r"an? (?:asc\.)?([A-Z]\w+)(?: or None)?", KINDS[kind][0])
    assert match is not None, kind
    return match[1]


class _Default:
    """A default that shows as one writes it in a kernel."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return written(self.value)


def written(value: Any) -> str:
    """A constant as one writes it; public names without their module."""
    if isinstance(value, ParamStruct):
        return f"{type(value).__name__}(...)"
    name = getattr(value, "name", None)
    return f"{type(value).__name__}.{name}" if isinstance(name, str) else repr(value)


def _parameter(param: Param) -> Parameter:
    default = Parameter.empty if param.required else _Default(param.default)
    kind = Parameter.POSITIONAL_OR_KEYWORD
    return Parameter(param.name, kind, default=default, annotation=_Name(annotation(param.kind)))


class _Name:
    """An annotation that shows without quotes."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def of_form(spec: OpSpec, form: Form) -> Signature:
    """The signature of an overload; that of a method without the object."""
    return Signature([_parameter(param) for param in form.params[is_method(spec) :]])


def is_method(spec: OpSpec) -> bool:
    """Whether the first operand of a row is an object that the call is a method of."""
    return "." in spec.name and bool(spec.forms[0].params)


def of_row(spec: OpSpec) -> list[Signature]:
    """The signatures of a row in order, each once; a row with a function of its own has that's."""
    function = spec.extra.get("function")
    if function is not None:
        own = list(signature(function.__call__).parameters.values())[1:]
        return [Signature([p.replace(annotation=_Name(p.annotation)) for p in own])]
    found = {str(made): made for made in (of_form(spec, form) for form in spec.forms)}
    return list(found.values())


def joined(spec: OpSpec) -> Signature:
    """One signature for all overloads: what they begin with, then anything."""
    every = of_row(spec)
    if len(every) == 1:
        return every[0]
    common = []
    for row in zip(*(one.parameters.values() for one in every), strict=False):
        if len({str(parameter) for parameter in row}) > 1:
            break
        common.append(row[0])
    rest = [Parameter("args", Parameter.VAR_POSITIONAL), Parameter("kwargs", Parameter.VAR_KEYWORD)]
    return Signature([*common, *rest])
