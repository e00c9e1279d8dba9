"""Arrays and structs of the scalar unit: nested lists of numbers."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from ...tracer.diagnostics import error
from ...tracer.language.types import ArrayType, StructType, member_type
from ...tracer.ops import data as rows
from ...tracer.trace import Op, Value, describe
from .registry import Executor, emits, simulates

if TYPE_CHECKING:
    from .codegen import Writer
    from .core import Core


def zero(type: Any) -> Any:
    """A value of all zeros."""
    if isinstance(type, StructType):
        return [zero(inner) for _, _, inner in type.fields]
    if isinstance(type, ArrayType):
        return [zero(type.element) for _ in range(type.length)]
    return 0.0 if type.kind == "f" else False if type.kind == "b" else 0


@emits(rows.ARRAY)
def _array(op: Op, writer: Writer) -> None:
    result: Any = op.result
    element = result.type.element
    values = [writer.number(value, element) for value in op.args[0]]
    values += [repr(zero(element))] * (result.type.length - len(values))
    writer.line(f"{writer.define(result)} = [{', '.join(values)}]")


@emits(rows.STRUCT)
def _struct(op: Op, writer: Writer) -> None:
    result: Any = op.result
    writer.line(f"{writer.define(result)} = {zero(result.type)!r}")


@emits(rows.STRUCT_COPY)
def _copy(op: Op, writer: Writer) -> None:
    assert op.result is not None
    copy = writer.bind(deepcopy, "c")
    writer.line(f"{writer.define(op.result)} = {copy}({writer.value(op.args[0])})")


def _out_of_range(op: Op, length: int) -> Any:
    def fault(index: int) -> None:
        raise error(
            "AT0201",
            f"element {index} of {describe(op.args[0])}, which has {length}",
            op.site,
            hint="indices count from 0; Python's negative indices have no meaning here",
        )

    return fault


def _part(op: Op, writer: Writer) -> str:
    root, path = op.args[:2]
    text, type = writer.value(root), root.type
    for step in path:
        if isinstance(type, StructType):
            text += f"[{type.index(step)}]"
        elif isinstance(step, Value):
            name = writer.value(step)
            fault = writer.bind(_out_of_range(op, type.length), "e")
            writer.line(f"if not 0 <= {name} < {type.length}: {fault}({name})")
            text += f"[{name}]"
        else:
            text += f"[{step}]"
        type = member_type(type, (step,))
    return text


@emits(rows.PART_GET)
def _get(op: Op, writer: Writer) -> None:
    assert op.result is not None
    text = _part(op, writer)
    writer.line(f"{writer.define(op.result)} = {text}")


@emits(rows.PART_SET)
def _set(op: Op, writer: Writer) -> None:
    root, path, value = op.args
    text = _part(op, writer)
    writer.line(f"{text} = {writer.number(value, member_type(root.type, path))}")


@simulates(rows.INLINE)
def _inline(op: Op, core: Core) -> Executor:
    def run(*values: Any) -> None:
        raise error(
            "AT0307",
            "the simulator cannot run C++ text",
            op.site,
            hint="a kernel with asc.inline is lowered and compiled for the device",
        )

    return run
