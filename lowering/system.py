"""Texts of calls about the core and its modes that rows alone do not give; hooks only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tracer.language.dtypes import float32, uint8
from ..tracer.ops import common, list_tensor, scalar, set_atomic, sys_var
from ..tracer.trace import Op, Value
from .calls import lowers, spell
from .literals import literal
from .names import identifier
from .scalars import Expression

if TYPE_CHECKING:
    from .plans import Plan
    from .variables import Writer


def declared(p: Writer, value: Any, base: str) -> str:
    """The name of a variable of `value` that a call fills: declared here, unless it is already."""
    known = p.text.get(id(value))
    if known is None:
        known = p.text[id(value)] = p.declare_name(identifier(value.name) or base)
        declare = getattr(value.type, "declare", None)
        p.line(f"{declare(known) if declare else f'{value.type.cpp} {known}'};")
    return known


@lowers(set_atomic.GET_STORE_ATOMIC_CONFIG)
def _config(p: Writer, op: Op, plan: Plan) -> Expression:
    name = declared(p, op.result, "config")
    p.line(f"{plan.name}({name}[0], {name}[1]);")
    return "", 0


@lowers(sys_var.GET_ARCH_VERSION)
def _arch_version(p: Writer, op: Op, plan: Plan) -> Expression:
    name = declared(p, op.result, "core_version")
    p.line(f"{plan.name}({name});")
    return "", 0


@lowers(scalar.SCALAR_CAST)
def _scalar_cast(p: Writer, op: Op, plan: Plan) -> Expression:
    value, dtype, mode = op.args
    text = p.text[id(value)] if isinstance(value, Value) else literal(value, float32)[0]
    return f"{plan.name}<float, {dtype.cpp}, {spell(p, mode)}>({text})", 2


@lowers(common.SET_HCCL_CONTEXT)
def _set_context(p: Writer, op: Op, plan: Plan) -> Expression:
    return f"{plan.name}<{op.args[0]}>({_bytes(p, op.args[1])})", 2


@lowers(common.SET_SYS_WORKSPACE)
def _set_workspace(p: Writer, op: Op, plan: Plan) -> Expression:
    return f"{plan.name}({_bytes(p, op.args[0])})", 2


def _bytes(p: Writer, address: Any) -> str:
    """An address as one of bytes."""
    text = p.text[id(address)]
    if address.type.dtype is uint8:
        return text
    return f"reinterpret_cast<__gm__ uint8_t*>({text})"


def _list_arguments(p: Writer, args: Any) -> str:
    """The address as one of anything, and the lengths that are given."""
    data, *lengths = args
    while lengths and lengths[-1] == list_tensor.UNKNOWN:
        lengths.pop()
    texts = [f"reinterpret_cast<__gm__ void*>({p.text[id(data)]})"]
    return ", ".join(texts + [spell(p, length) for length in lengths])


@lowers(list_tensor.LIST_TENSOR_DESC)
def _list(p: Writer, op: Op, plan: Plan) -> Expression:
    arguments = _list_arguments(p, op.args) if op.args else ""
    return f"{op.result.type.cpp}({arguments})", 2  # type: ignore[union-attr]


@lowers(list_tensor.LIST_INIT)
def _list_init(p: Writer, op: Op, plan: Plan) -> Expression:
    return f"{p.text[id(op.args[0])]}.Init({_list_arguments(p, op.args[1:])})", 2


@lowers(list_tensor.LIST_GET_DESC)
def _list_desc(p: Writer, op: Op, plan: Plan) -> Expression:
    """The array of the shape goes by the description."""
    tensors, desc, index, _ = op.args
    return f"{p.text[id(tensors)]}.GetDesc({p.text[id(desc)]}, {spell(p, index)})", 2
