"""Ascend C calls: functions, methods and constructors, from the rows and the roles of parameters.

`lowers(spec)` registers a function for a row whose text no family gives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from ..tracer.language.dtypes import DataType, float32
from ..tracer.language.enums import (
    CMPMODE,
    AtomicDtype,
    AtomicOp,
    BlockMode,
    CacheLine,
    CacheMode,
    CacheRwMode,
    DataFormat,
    DcciDst,
    DeqScale,
    HardEvent,
    Hardware,
    MaskMode,
    MemDsbT,
    PipeID,
    ReduceOrder,
    RoundMode,
    SelMode,
    TPosition,
    TransposeType,
    pad_t,
)
from ..tracer.language.structs import ELEMENT, StructArg
from ..tracer.ops.spec import OpSpec
from ..tracer.trace import Op, Value
from .literals import integer, literal, string
from .plans import Plan
from .scalars import Expression, arith_row, converted, paren, static_cast, template

if TYPE_CHECKING:
    from .variables import Writer

#: Writes the expression (or the call, without the semicolon) of an operation.
Lowering: TypeAlias = "Callable[[Writer, Op, Plan], Expression]"

HOOKS: dict[OpSpec, Lowering] = {}


def lowers(spec: OpSpec) -> Callable[[Lowering], Lowering]:
    """Register the text of one row: `function(printer, op, plan) -> (expression,
    precedence)`.

    `spell(printer, value)` gives the text of an operand; `printer.line(text)` puts a statement in
    front.
    """

    def register(function: Lowering) -> Lowering:
        HOOKS[spec] = function
        for form in spec.forms:
            form.written = None
        return function

    return register


# -- operands -----------------------------------------------------------------------------------


def _number(p: Writer, value: Any) -> str:
    return literal(value)[0]


def _small(p: Writer, value: int) -> str:
    return integer(value)[0]


def _struct(p: Writer, value: StructArg, dtype: DataType | None = None) -> str:
    """A parameter struct; its fields do not narrow by themselves."""
    cls = value.cls
    dtype = value.dtype or dtype
    parts = []
    for part, cpp in zip(value.values, cls.wide if p.wide and cls.wide else cls.ctypes,
                         strict=False):  # fmt: skip
        if cpp == ELEMENT:
            assert dtype is not None
            text = _element(p, part, dtype)
        else:
            text = _numbers(p, part, cpp[:-2]) if cpp.endswith("[]") else spell(p, part)
            if cpp and isinstance(part, Value) and part.type.cpp != cpp:
                text = f"static_cast<{cpp}>({text})"
        parts.append(text)
    template = f"<{dtype.cpp}>" if dtype is not None and ELEMENT in cls.ctypes else ""
    return f"{cls.cpp}{template}({', '.join(parts)})"


def _numbers(p: Writer, values: tuple[Any, ...], cpp: str) -> str:
    """The name of a C++ array of these numbers."""
    name = p.declare_name("values")
    parts = [
        literal(v, float32)[0]
        if cpp == "float" and not isinstance(v, Value)
        else f"static_cast<{cpp}>({spell(p, v)})"
        if isinstance(v, Value) and v.type.cpp != cpp
        else spell(p, v)
        for v in values
    ]
    p.line(f"const {cpp} {name}[{len(values)}] = {{{', '.join(parts)}}};")
    return name


def _mask_word(p: Writer, word: Any) -> str:
    if isinstance(word, Value):
        return static_cast(p.text[id(word)], _UINT64)[0]
    word = int(word) % 2**64
    return f"0x{word:x}ULL" if word > 9 else str(word)


def array(p: Writer, cpp: str, base: str, parts: tuple[str, ...], constant: bool) -> str:
    """The name of an array with these elements; equal constant ones share one."""
    name = p.arrays.get((cpp, *parts))
    if name is None:
        name = p.declare_name(base)
        p.line(f"{cpp} {name}[{len(parts)}] = {{{', '.join(parts)}}};")
        if constant:
            p.arrays[(cpp, *parts)] = name
    return name


def _sequence(p: Writer, value: tuple[Any, ...]) -> str:
    """The two words of a mask, or structs."""
    if value[0].__class__ is StructArg:
        parts = tuple(_struct(p, item) for item in value)
        known = not any(isinstance(part, Value) for item in value for part in item.values)
        return array(p, value[0].cls.cpp, "slices", parts, known)
    words = tuple(_mask_word(p, word) for word in (*value, 0)[:2])
    return array(p, "uint64_t", "mask", words, not any(isinstance(w, Value) for w in value))


def _enum(p: Writer, value: Any) -> str:
    return f"AscendC::{type(value).__name__}::{value.name}"


_UINT64 = DataType("uint64", "uint64_t", "u", 64)

#: How constants are spelled, by class.
_SPELL: dict[type, Callable[[Any, Any], str]] = {
    int: _small,
    bool: lambda p, v: "true" if v else "false",
    float: _number,
    np.float16: _number,
    np.float32: _number,
    np.float64: _number,
    str: lambda p, v: string(v),
    DataType: lambda p, v: str(v.cpp),
    TPosition: lambda p, v: f"AscendC::TPosition::{v.name}",
    HardEvent: lambda p, v: f"AscendC::HardEvent::{v.name}",
    PipeID: lambda p, v: str(v.name),
    **dict.fromkeys(
        (AtomicDtype, AtomicOp, BlockMode, CMPMODE, CacheLine, CacheMode, CacheRwMode, DataFormat,
         DcciDst, DeqScale, Hardware, MaskMode, MemDsbT, ReduceOrder, RoundMode, TransposeType),
        _enum,
    ),
    pad_t: lambda p, v: f"pad_t::{v.name}",
    SelMode: lambda p, v: f"AscendC::SELMODE::{v.name}",
    StructArg: _struct,
    tuple: _sequence,
}  # fmt: skip


def spell(p: Writer, value: Any) -> str:
    """An operand as a function argument."""
    text = p.text.get(id(value))
    if text is None:
        known = _SPELL.get(value.__class__)
        text = known(p, value) if known is not None else literal(value)[0]
    return text


def _element(p: Writer, value: Any, dtype: DataType) -> str:
    """A number, or a struct with one, that is stored in a tensor of `dtype`."""
    if value.__class__ is StructArg:
        return _struct(p, value, dtype)
    if not isinstance(value, Value):
        return literal(value, dtype)[0]
    text = p.text[id(value)]
    return text if value.type is dtype else converted(text, value.type, dtype)


# -- calls --------------------------------------------------------------------------------------

_SMALL = 2**31


def arguments(p: Writer, op: Op, plan: Plan) -> str:
    """`a, b, c`; operands that are None are left out."""
    text, args, elements = p.text, op.args, plan.elements
    out = list(map(text.__getitem__, map(id, args[plan.leading])))
    for k, is_object in plan.rest:
        arg = args[k]
        if is_object:
            out.append(text[id(arg)])
        elif k in elements:
            like = elements[k]
            dtype = args[like].type.dtype if isinstance(like, int) else like
            out.append(_element(p, arg, dtype))
        elif arg.__class__ is int and -_SMALL < arg < _SMALL:
            out.append(str(arg))
        elif arg is not None:
            out.append(spell(p, arg))
    return ", ".join(out)


def _head(p: Writer, op: Op, plan: Plan) -> str:
    """The name with its template arguments, for these operands."""
    parts = [spell(p, op.args[k]) for k in plan.templates]
    if plan.typed:
        switch = [] if plan.set_mask is None else [spell(p, op.args[plan.set_mask])]
        parts[:0] = [*(op.args[k].type.dtype.cpp for k in plan.typed), *switch]
    elif plan.set_mask is not None and not op.args[plan.set_mask]:
        parts += [*(op.args[k].type.dtype.cpp for k in plan.types), "false"]
    return f"{plan.name}<{', '.join(parts)}>" if parts else plan.name


def _function(p: Writer, op: Op, plan: Plan) -> str:
    head = plan.name
    if plan.templates or plan.typed or plan.set_mask is not None:
        head = _head(p, op, plan)
    return f"{head}({arguments(p, op, plan)})"


def _method(p: Writer, op: Op, plan: Plan) -> str:
    this = id(op.args[0])
    base = p.text[this]
    if this in p.prec:
        base = paren(base, p.prec[this], 2)
    head = plan.name
    if plan.templates:
        # Template arguments of methods are constants: dtypes and the like.
        key = op.args[plan.templates[0]] if len(plan.templates) == 1 else None
        head = plan.heads.get(key, "")
        if not head:
            head = _head(p, op, plan)
            if key is not None:
                plan.heads[key] = head
    if not plan.values:
        return f"{base}.{head}()"
    return f"{base}.{head}({arguments(p, op, plan)})"


def _method_of_one(p: Writer, op: Op, plan: Plan) -> str:
    """`a.F(b)`."""
    this, other = op.args
    base = p.text[id(this)]
    if id(this) in p.prec:
        base = paren(base, p.prec[id(this)], 2)
    return f"{base}.{plan.name}({p.text[id(other)]})"


def _pure_method(p: Writer, op: Op, plan: Plan) -> Expression:
    """A method without an effect; sizes and the like are unsigned in C++."""
    text = _method(p, op, plan)
    kind = op.result.type  # type: ignore[union-attr]
    return static_cast(text, kind) if isinstance(kind, DataType) else (text, 2)


def _construct(p: Writer, op: Op, plan: Plan) -> str:
    return f"{op.result.type.cpp}({arguments(p, op, plan)})"  # type: ignore[union-attr]


_Writer: TypeAlias = "Callable[[Writer, Op, Plan], Any]"

#: How the rows of a family are written; other rows are functions, methods or templates.
_FAMILIES: dict[str, _Writer] = {
    "arith": lambda p, op, plan: arith_row(p, op),
    "construct": _construct,
}


def writer(plan: Plan) -> _Writer:
    """What writes the operations of a plan; kept in `plan.text`."""
    spec = plan.spec
    hook = HOOKS.get(spec)
    if hook is not None:
        plan.text = hook if spec.pure else lambda p, op, plan: hook(p, op, plan)[0]
    elif spec.family in _FAMILIES:
        plan.text = _FAMILIES[spec.family]
    elif spec.method:
        simple = len(plan.form.params) == 2 and plan.leading == slice(1, 2) and not plan.templates
        plan.text = _pure_method if spec.pure else _method_of_one if simple else _method
    elif spec.pure and "(" not in spec.cpp and "{" not in spec.cpp:
        plan.text = lambda p, op, plan: (_function(p, op, plan), 2)
    elif spec.pure:
        plan.text = lambda p, op, plan: template(p, op)
    else:
        plan.text = _function
    return plan.text
