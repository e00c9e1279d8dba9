"""Texts of calls about the core and its modes that rows alone do not give; hooks only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tracer.ops import set_atomic
from ..tracer.trace import Op
from .calls import lowers
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
