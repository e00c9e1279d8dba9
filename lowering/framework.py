"""Texts of framework calls that their rows alone do not give. Imported for its hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tracer.language.types import LocalTensorType
from ..tracer.ops import framework as rows
from ..tracer.ops import tensor_info
from ..tracer.trace import Op
from .calls import lowers, spell
from .literals import string
from .scalars import Expression

if TYPE_CHECKING:
    from .plans import Plan
    from .variables import Writer


@lowers(rows.GET_BASE_ADDR)
def _base_addr(p: Writer, op: Op, plan: Plan) -> Expression:
    pipe, position = op.args
    text = f"{p.text[id(pipe)]}.GetBaseAddr(static_cast<int8_t>({spell(p, position)}))"
    return f"reinterpret_cast<uint64_t>({text})", 2


@lowers(rows.INIT_BUF_HANDLE)
def _buf_handle(p: Writer, op: Op, plan: Plan) -> Expression:
    """The pool goes by its address."""
    queue, pool, index, handle, address, length = op.args
    rest = ", ".join(spell(p, arg) for arg in (index, handle, address, length))
    return f"{p.text[id(queue)]}.InitBufHandle(&{p.text[id(pool)]}, {rest})", 2


def _debug_only(p: Writer, text: str) -> Expression:
    """A statement that only CPU debugging has."""
    p.lines.append("#if defined(ASCENDC_CPU_DEBUG) && ASCENDC_CPU_DEBUG == 1")
    p.line(f"{text};")
    p.lines.append("#endif")
    return "", 0


@lowers(tensor_info.LOCAL_PRINT)
def _print(p: Writer, op: Op, plan: Plan) -> Expression:
    tensor, length = op.args
    return _debug_only(p, f"{_primary(p, tensor)}.Print({spell(p, length)})")


@lowers(tensor_info.LOCAL_TO_FILE)
def _to_file(p: Writer, op: Op, plan: Plan) -> Expression:
    tensor, name = op.args
    return _debug_only(p, f"{_primary(p, tensor)}.ToFile({string(name)})")


def _primary(p: Writer, tensor: Any) -> str:
    assert isinstance(tensor.type, LocalTensorType)
    return p.text[id(tensor)]
