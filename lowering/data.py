"""Texts of arrays, structs and C++ as it is; definitions of structs. Imported for its hooks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ..tracer.diagnostics import error
from ..tracer.language.dtypes import DataType
from ..tracer.language.types import ArrayType, StructType, member_type
from ..tracer.ops import data as rows
from ..tracer.trace import Op, Trace, Value
from .calls import lowers, spell
from .literals import literal
from .names import identifier
from .report import blocks
from .scalars import Expression, converted

if TYPE_CHECKING:
    from .plans import Plan
    from .variables import Writer

_ARGUMENT = re.compile(r"\$(\d+)")


def _number(p: Writer, value: Any, dtype: DataType) -> str:
    if not isinstance(value, Value):
        return literal(value, dtype)[0]
    text = p.text[id(value)]
    return text if value.type is dtype else converted(text, value.type, dtype)


@lowers(rows.ARRAY)
def _array(p: Writer, op: Op, plan: Plan) -> Expression:
    """`T name[n] = {...}`, or assignments where the array is declared elsewhere."""
    result: Any = op.result
    dtype = result.type.element
    values = [_number(p, value, dtype) for value in op.args[0]]
    known = p.text.get(id(result))
    if known is None:
        name = p.text[id(result)] = p.declare_name(identifier(result.name) or "values")
        p.line(f"{result.type.declare(name)} = {{{', '.join(values)}}};")
        return "", 0
    values += [literal(0, dtype)[0]] * (result.type.length - len(values))
    for k, value in enumerate(values):
        p.line(f"{known}[{k}] = {value};")
    return "", 0


@lowers(rows.STRUCT)
def _struct(p: Writer, op: Op, plan: Plan) -> Expression:
    return f"{op.result.type.cpp}{{}}", 2  # type: ignore[union-attr]


@lowers(rows.STRUCT_COPY)
def _copy(p: Writer, op: Op, plan: Plan) -> Expression:
    return p.text[id(op.args[0])], 0


def _part(p: Writer, root: Any, path: tuple[Any, ...]) -> tuple[str, str]:
    """The text of a part, and the C++ enumeration it is, if it is one."""
    text, enum, type = p.text[id(root)], "", root.type
    for step in path:
        if isinstance(type, StructType):
            _, name, inner = type.fields[type.index(step)]
            enum = type.cls.struct_fields[step].enum or ""
            text, type = f"{text}.{name}", inner
        else:
            text, type = f"{text}[{spell(p, step)}]", type.element
    return text, enum


@lowers(rows.PART_GET)
def _get(p: Writer, op: Op, plan: Plan) -> Expression:
    text, enum = _part(p, *op.args)
    if enum:
        text = f"static_cast<{op.result.type.cpp}>({text})"  # type: ignore[union-attr]
    return text, 2


@lowers(rows.PART_SET)
def _set(p: Writer, op: Op, plan: Plan) -> Expression:
    root, path, value = op.args
    text, enum = _part(p, root, path)
    number = _number(p, value, member_type(root.type, path))
    return f"{text} = {f'static_cast<{enum}>({number})' if enum else number}", 15


@lowers(rows.INLINE)
def _inline(p: Writer, op: Op, plan: Plan) -> Expression:
    code, args, before = op.args
    values = args or ()

    def replace(match: re.Match[str]) -> str:
        k = int(match[1])
        if k >= len(values):
            raise error(
                "AT0106",
                f"inline text names ${k}, but there are {len(values)} args",
                op.site,
                hint="$0 is the first of args",
            )
        return spell(p, values[k])

    text = _ARGUMENT.sub(replace, code)
    if before:
        p.preamble.append(text.rstrip("\n") + "\n")
    else:
        for line in text.strip("\n").split("\n"):
            p.line(line)
    return "", 0


# -- definitions --------------------------------------------------------------------------------


def struct_definitions(trace: Trace, host: bool = False) -> str:
    """The C++ definitions of the structs that a kernel names, each behind those it contains.

    host: those of its parameters only, for a program that knows no enumeration of Ascend C.
    """
    found: dict[StructType, str] = {}
    for param in trace.params:
        _define(param.type, found, host)
    for nodes in blocks(trace) if trace.structs and not host else ():
        for node in nodes:
            if node.__class__ is Op:
                result = node.result
                if result is not None and result.type.__class__ in _DEFINED:
                    _define(result.type, found, host)
    names = [type.cpp for type in found]
    for type in found:
        if names.count(type.cpp) > 1:
            raise error(
                "AT0106",
                f"two structs are called {type.cpp}",
                hint="C++ has one struct of a name: rename one of the classes",
            )
    return "".join(found.values())


_DEFINED = (StructType, ArrayType)


def _define(type: Any, found: dict[StructType, str], host: bool) -> None:
    while isinstance(type, ArrayType):
        type = type.element
    if not isinstance(type, StructType) or type in found:
        return
    lines = [f"struct {type.cpp} {{"]
    for name, cpp, inner in type.fields:
        _define(inner, found, host)
        enum = None if host else type.cls.struct_fields[name].enum
        text = inner.declare(cpp) if isinstance(inner, ArrayType) else f"{enum or inner.cpp} {cpp}"
        lines.append(f"    {text};")
    text = "\n".join([*lines, "};\n"])
    if type.pack < 8:
        text = f"#pragma pack(push, {type.pack})\n{text}#pragma pack(pop)\n"
    found[type] = text + "\n"
