"""Recognising a launch like those before it: one compiled condition in place of the search.

A kernel that finds the same specialisation again and again gets a `Recall` of it. Its condition is
all that the search looks at (the settings, the types of the arguments, constants, signs, guards),
compared by identity; where it does not hold, the search decides. May import `specialise`, `knobs`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from ..tracer.language.dtypes import DataType
from . import knobs, platform
from .arguments import ArrayKey, ScalarKey, StructKey
from .specialise import Specialisation

if TYPE_CHECKING:
    from .devices import Device
    from .signature import Signature

#: Launches in a row with one specialisation before it gets a recall, twice as many each time.
PATIENCE = 8
#: Constants that are compared by value: their comparison calls nobody's code.
_VALUES = (int, str, float, bool, type(None))
#: Constants whose key is their identity.
_OBJECTS = (FunctionType, type, DataType, enum.Enum)


class Recall(NamedTuple):
    """What a launch came to when `matches(arguments)`; the device that it goes to."""

    matches: Callable[[tuple[Any, ...]], bool]
    found: Specialisation
    target: Device


class Streak:
    """Counts launches that find the same; says when that makes a recall worth its price."""

    __slots__ = ("count", "found", "needed")

    def __init__(self) -> None:
        self.found: Specialisation | None = None
        self.count = 0
        self.needed = PATIENCE

    def grows(self, found: Specialisation) -> bool:
        """Count one more; whether they are enough."""
        if found is not self.found:
            self.found, self.count = found, 0
        self.count += 1
        if self.count < self.needed:
            return False
        self.found, self.needed = None, 2 * self.needed
        return True


def recall(
    signature: Signature, args: tuple[Any, ...], found: Specialisation, target: Device
) -> Recall | None:
    """A recall of a launch with these positional arguments, if it can have one."""
    try:
        return _recall(signature, args, found, target)
    except KeyError:
        return None


def _recall(
    signature: Signature, args: tuple[Any, ...], found: Specialisation, target: Device
) -> Recall | None:
    names: dict[str, Any] = {}

    def bind(value: Any) -> str:
        name = f"v{len(names)}"
        names[name] = value
        return name

    conditions = [*_settings(bind)]
    for k, (table, arg) in enumerate(zip(signature.tables, args, strict=True)):
        condition = _argument(f"a{k}", table, arg, bind)
        if condition is None:
            return None
        conditions.append(condition)
    conditions += [f"a{k} {'>=' if sign else '<'} 0" for k, sign in found.signs]
    conditions += found.guard.condition(bind)
    given = "".join(f"a{k}, " for k in range(len(args)))
    # The names are parameters: reading those is fastest.
    text = (
        f"def matches(args, {', '.join(f'{name}={name}' for name in names)}):\n"
        "    try:\n"
        f"        {f'{given}= args' if args else '() = args'}\n"
        f"        return {' and '.join(conditions)}\n"
        "    except (KeyError, ValueError):\n"
        "        return False\n"
    )
    exec(text, names)
    return Recall(names["matches"], found, target)


def _settings(bind: Callable[[Any], str]) -> list[str]:
    """What the process chose, as it is."""
    current = platform.current
    its, read = bind(current), bind(knobs.read)
    parts = [
        f"{its}.soc is {bind(current.soc)}",
        f"{its}.backend is {bind(current.backend)}",
        f"{its}.automatic is {bind(current.automatic)}",
    ]
    return parts + [f"{read}({bind(k.key)}) == {bind(k.raw())}" for k in knobs.AFFECT_CODE]


def _argument(name: str, table: Any, arg: Any, bind: Callable[[Any], str]) -> str | None:
    """Whether an argument has the same key; None where that cannot be said in short.

    `KeyError` for an argument that the table does not know.
    """
    kind = type(arg)
    classify = table[kind]
    key = classify(arg)
    same_type = f"type({name}) is {bind(kind)}"
    if isinstance(key, ArrayKey | ScalarKey | StructKey):
        return f"{same_type} and {bind(classify)}({name}) is {bind(key)}"
    if kind in _VALUES:
        # Zeros have two signs.
        exact = f"{name}.hex() == {arg.hex()!r}" if kind is float else f"{name} == {bind(arg)}"
        return f"{same_type} and {exact}"
    if isinstance(arg, _OBJECTS):
        return f"{name} is {bind(arg)}"
    return None
