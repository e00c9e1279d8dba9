"""Texts of data movement that the rows alone do not give. Imported for its hooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..tracer.language.dtypes import of_constant
from ..tracer.language.enums import TPosition
from ..tracer.ops import cache, data_pad
from ..tracer.trace import Op, Value
from .calls import lowers, spell
from .literals import literal
from .scalars import Expression

if TYPE_CHECKING:
    from .plans import Plan
    from .variables import Writer


@lowers(data_pad.SET_PAD_VALUE)
def _set_pad_value(p: Writer, op: Op, plan: Plan) -> Expression:
    """The dtype is written out: a literal alone has that of C++."""
    value, position = op.args
    dtype: Any = value.type if isinstance(value, Value) else of_constant(value)
    text = spell(p, value) if isinstance(value, Value) else literal(value, dtype)[0]
    where = "" if position is TPosition.MAX else f", {spell(p, position)}"
    return f"AscendC::SetPadValue<{dtype.cpp}{where}>({text})", 2


@lowers(cache.DATA_PRELOAD)
def _data_cache_preload(p: Writer, op: Op, plan: Plan) -> Expression:
    """The offset is an int16_t or an int64_t, nothing else."""
    src, offset = op.args
    return (
        f"AscendC::DataCachePreload({spell(p, src)}, static_cast<int64_t>({spell(p, offset)}))",
        2,
    )
