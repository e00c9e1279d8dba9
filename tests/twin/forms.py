"""The overloads that the host header has, each with a number, and how C++ sees them.

Every row of the op table is here but those that are C++ by themselves (`native`). `HANDS` are
those whose C++ is in `hands.h`; that of all others is made from the row, also where a hook writes
the text: it has to be what the row says.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import asctrace.lowering.text  # noqa: F401 (what the rows are told by the texts)
from asctrace.lowering.plans import Plan
from asctrace.tracer.language import dtypes, enums
from asctrace.tracer.ops.spec import KINDS, TABLE, Form, OpSpec, Param

T = TypeVar("T")

#: Element types by number.
DTYPES = tuple(dict.fromkeys(v for v in vars(dtypes).values() if isinstance(v, dtypes.DataType)))

#: C++ written by hand; `@row@` and `@row:form@` stand for the number of a row's overload.
HANDS = Path(__file__).with_name("hands.h")
_NUMBER = re.compile(r"@([\w.]+)(?::(\w+))?@")

#: Rows whose text is C++ by itself.
_NATIVE = frozenset({"inline", "trap", "GlobalAddress.__add__"})
#: Families that are C++, or classes in `hands.h`.
_NATIVE_FAMILIES = frozenset({"arith", "struct", "construct"})


class Overload(NamedTuple):
    """A row's overload as C++ has it: `shown` are the parameters in parentheses."""

    spec: OpSpec
    form: Form
    plan: Plan
    shown: tuple[Param, ...]


def _enum_kinds() -> dict[str, type[IntEnum]]:
    """Kinds of parameters that take the members of an enumeration."""
    found = {}
    for cls in vars(enums).values():
        if isinstance(cls, type) and issubclass(cls, IntEnum) and cls is not IntEnum:
            member = next(iter(cls))
            for kind, (_, test) in KINDS.items():
                if test(member) and not test(3) and not kind.startswith("opt_"):
                    found[kind] = cls
    return found


ENUMS = _enum_kinds()


def native(spec: OpSpec) -> bool:
    """Whether the text of a row is C++ by itself, or of a class in the header."""
    return (
        spec.name in _NATIVE
        or spec.family in _NATIVE_FAMILIES
        or "{0}" in spec.cpp
        or any(p.kind in ("shape_info", "shape_value") for f in spec.forms for p in f.params)
        or spec.name.endswith("get_shape_info")
    )


def outputs(spec: OpSpec) -> int:
    """How many numbers C++ writes by reference."""
    return int(spec.extra.get("outputs", 0))


def per_table(make: Callable[[], T]) -> Callable[[], T]:
    """Decorator: keep what is made of the op table until that has other rows."""
    made = functools.cache(lambda rows: make())
    return functools.wraps(make)(lambda: made(tuple(TABLE.values())))


@functools.cache
def _by_hand() -> tuple[tuple[str, str], ...]:
    """Rows and forms that `hands.h` names, once each."""
    return tuple(dict.fromkeys((m[1], m[2] or "") for m in _NUMBER.finditer(HANDS.read_text())))


def hands() -> str:
    """The C++ by hand, with numbers."""
    numbers = {name: k for k, name in enumerate(_by_hand())}
    return _NUMBER.sub(lambda m: str(numbers[m[1], m[2] or ""]), HANDS.read_text())


def hand_forms() -> list[tuple[OpSpec, Form]]:
    """The overloads that are written by hand."""
    return [
        (TABLE[row], next(f for f in TABLE[row].forms if name in ("", f.name)))
        for row, name in _by_hand()
    ]


@per_table
def overloads() -> tuple[Overload, ...]:
    """The overloads whose C++ is made from their rows, in the order of the table."""
    hand = {(spec, form if name else None) for (spec, form), (_, name) in
            zip(hand_forms(), _by_hand(), strict=True)}  # fmt: skip
    found = []
    for spec in TABLE.values():
        if native(spec) or (spec, None) in hand:
            continue
        for form in spec.forms:
            if (spec, form) not in hand:
                hidden = ("template", "host", "set_mask")
                shown = tuple(p for p in form.params if p.role not in hidden)
                found.append(Overload(spec, form, Plan(spec, form), shown))
    return tuple(found)


@per_table
def forms() -> tuple[tuple[OpSpec, Form], ...]:
    """Row and overload by number."""
    return (*hand_forms(), *((o.spec, o.form) for o in overloads()))


def first() -> int:
    """The number of the first of `overloads`."""
    return len(_by_hand())


def element_of(overload: Overload, k: int) -> Any:
    """What says the element type of operand `k`: a dtype, or the operand that has it."""
    return overload.plan.elements.get(k, 0)
