"""Texts of calls with lists, arrays and results by reference. Imported for its hooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..tracer.language.dtypes import DataType, uint16, uint32, uint64
from ..tracer.language.structs import StructArg
from ..tracer.language.types import ArrayType
from ..tracer.ops import proposal
from ..tracer.ops.vec_gather_mask import GATHER_MASK
from ..tracer.ops.vec_transpose import TRANS_DATA_TO_5HD
from ..tracer.trace import Op, Value
from .calls import arguments, array, lowers, spell
from .scalars import Expression

if TYPE_CHECKING:
    from .plans import Plan
    from .variables import Writer


def _result(p: Writer, op: Op, name: str) -> str:
    """The variable that a call fills by reference, declared in front of it where it is new."""
    result = op.result
    assert result is not None
    p.mark(op.site)
    key = id(result)
    if key in p.uses.merged:
        p.text[key] = p.text[id(p.uses.merged[key])]
    elif key not in p.uses.hoisted:
        made = p.text[key] = p.declare_name(result.name or name)
        type = result.type
        text = type.declare(made) if isinstance(type, ArrayType) else f"{type.cpp} {made} = 0"
        p.line(f"{text};")
    return p.text[key]


def _numbers(
    p: Writer, dtype: DataType, name: str, values: Sequence[Any], written: bool = False
) -> str:
    """The name of an array of integers; those that no call writes may be shared."""
    texts = tuple(_cast(p, dtype, value) for value in values)
    constant = not written and not any(isinstance(value, Value) for value in values)
    return array(p, dtype.cpp, name, texts, constant)


@lowers(GATHER_MASK)
def _gather_mask(p: Writer, op: Op, plan: Plan) -> Expression:
    count = _result(p, op, "count")
    p.line(f"{plan.name}({arguments(p, op, plan)}, {count});")
    return "", 0


@lowers(proposal.MRG_SORT_RESULT)
def _mrg_sort_result(p: Writer, op: Op, plan: Plan) -> Expression:
    name = _result(p, op, "counts")
    p.line(f"{plan.name}({', '.join(f'{name}[{k}]' for k in range(plan.spec.extra['outputs']))});")
    return "", 0


@lowers(TRANS_DATA_TO_5HD)
def _trans_data_to_5hd(p: Writer, op: Op, plan: Plan) -> Expression:
    dst, src, params = op.args[:3]
    dtype = dst[0].type.dtype if op.form.name == "tensors" else op.args[3]
    p.mark(op.site)
    names = [spell(p, side) for side in (dst, src)] if op.form.name == "stored" else [
        _numbers(p, uint64, name, side) if op.form.name == "addresses"
        else array(p, side[0].type.cpp, name, tuple(spell(p, t) for t in side), False)
        for name, side in (("dst_list", dst), ("src_list", src))
    ]  # fmt: skip
    return f"{plan.name}<{dtype.cpp}>({', '.join(names)}, {spell(p, params)})", 0


def _lists(p: Writer, lists: StructArg, dtype: DataType) -> str:
    """Four lists; a missing one is the last that is there, which `valid_bit` leaves out."""
    texts = [spell(p, value) for value in lists.values]
    texts += texts[-1:] * (4 - len(texts))
    return f"{lists.cls.cpp}<{dtype.cpp}>({', '.join(texts)})"


@lowers(proposal.MRG_SORT)
@lowers(proposal.MRG_SORT4)
def _mrg_sort(p: Writer, op: Op, plan: Plan) -> Expression:
    dst, lists, *rest = op.args
    dtype = dst.type.dtype
    p.mark(op.site)
    first = f"{spell(p, dst)}, {_lists(p, lists, dtype)}"
    if op.form.name == "info":
        *lengths, suspend, valid, repeat = rest[0].values
        names = [_numbers(p, uint16, "element_lengths", lengths)]
        names += [_cast(p, uint16, value) for value in (suspend, valid, repeat)]
        return f"{plan.name}({first}, {rest[0].cls.cpp}({', '.join(names)}))", 0
    counts, done, valid, repeat, suspend = rest
    names = [_numbers(p, uint16, "element_counts", counts)]
    fills = op.form.name == "list"
    names.append(_numbers(p, uint32, "sorted_num", done, True) if fills else spell(p, done))
    names += [spell(p, valid), spell(p, repeat)]
    head = f"{plan.name}<{dtype.cpp}, {spell(p, suspend)}>"
    return f"{head}({first}, {', '.join(names)})", 0


def _cast(p: Writer, dtype: DataType, value: Any) -> str:
    """An argument of a constructor."""
    text = spell(p, value)
    plain = not isinstance(value, Value) or value.type.kind == "b" or value.type is dtype
    return text if plain else f"static_cast<{dtype.cpp}>({text})"
