"""What the language itself asks of objects: truth, containment, iteration, patterns, imports.

Methods of the kernel's own classes are interpreted, runtime values are computed with.
"""

from __future__ import annotations

import collections.abc
import importlib
from typing import TYPE_CHECKING, Any

from ..diagnostics import error
from ..language import scalar
from ..language.dtypes import bool_
from ..language.ranges import range as asc_range
from ..language.ranges import static_range
from ..language.scalar import Scalar
from ..ops import arith
from ..trace import Value, describe
from . import pybuiltins
from .generators import VMGenerator, advance
from .heap import ReplayIterator
from .objects import binary, get_attr
from .ranges import RangeState, RuntimeRange
from .sequences import holds_runtime
from .text import RuntimeText

if TYPE_CHECKING:
    from .machine import Machine

# -- truth, containment, iteration ----------------------------------------------------------------


def truth_of(vm: Machine, value: Any) -> Any:
    """`bool(value)` of a Python object: `__bool__`/`__len__` of kernel classes are interpreted."""
    if isinstance(value, RuntimeText):
        return True
    cls = type(value)
    for name in ("__bool__", "__len__"):
        method = vm.lookup(cls, name)
        if method is not None:
            if not vm.is_interpreted(method):
                break
            result = vm.call(method, (value,))
            return scalar.truth(result) if isinstance(result, Scalar) else bool(result)
    return bool(value)


def contains(vm: Machine, item: Any, container: Any) -> Any:
    """`item in container`: with runtime values a chain of comparisons."""
    method = vm.lookup(type(container), "__contains__")
    if vm.is_interpreted(method):
        result = vm.call(method, (container, item))
        return result if isinstance(result, Scalar) else truth_of(vm, result)
    if isinstance(container, RuntimeRange):
        return _in_range(vm, item, container)
    if isinstance(item, Scalar) and isinstance(container, range):
        state = RuntimeRange(container.start, container.stop, container.step)
        return _in_range(vm, item, state)
    if isinstance(container, list | tuple | set | frozenset | dict) and (
        _compares_specially(vm, item) or any(_compares_specially(vm, c) for c in container)
    ):
        found: Any = False
        for element in container:
            if element is item:
                return True
            equal = binary(vm, "==", element, item)
            found = either(vm, found, equal if isinstance(equal, Scalar) else truth_of(vm, equal))
            if found is True:
                return True
        return found
    return item in container


def _compares_specially(vm: Machine, value: Any) -> bool:
    """Whether `==` of a value is more than CPython can do by itself."""
    return holds_runtime(value) or vm.is_interpreted(vm.lookup(type(value), "__eq__"))


def _in_range(vm: Machine, item: Any, r: RuntimeRange) -> Any:
    if isinstance(r.step, Scalar):
        raise error(
            "AT0303",
            "`in` a range with a runtime step is not supported",
            vm.site(),
            hint="compare with the bounds",
        )
    low, high = (r.start, r.stop) if r.step > 0 else (r.stop, r.start)
    ops = ("<=", "<") if r.step > 0 else ("<", "<=")
    inside = both(vm, binary(vm, ops[0], low, item), binary(vm, ops[1], item, high))
    if r.step in (1, -1):
        return inside
    offset = binary(vm, "%", binary(vm, "-", item, r.start), r.step)
    return both(vm, inside, binary(vm, "==", offset, 0))


def either(vm: Machine, a: Any, b: Any) -> Any:
    """`a or b` of bools, at run time or not, both computed."""
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        return scalar.emit(arith.LOR, (scalar.truth(a), scalar.truth(b)), bool_)
    if isinstance(a, Scalar):
        return True if b else a
    return True if a else b


def both(vm: Machine, a: Any, b: Any) -> Any:
    """`a and b` of bools, at run time or not, both computed."""
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        return scalar.emit(arith.LAND, (scalar.truth(a), scalar.truth(b)), bool_)
    if isinstance(a, Scalar):
        return a if b else False
    return b if a else False


def iterator(vm: Machine, value: Any) -> Any:
    """`iter(value)`."""
    cls = type(value)
    if cls is range:
        return RangeState(value.start, value.stop, value.step, "auto", value)
    if cls is RuntimeRange:
        return RangeState(value.start, value.stop, value.step, "loop", value)
    if cls is asc_range:
        return RangeState(value.start, value.stop, value.step, "loop", value)
    if cls is static_range:
        for bound in (value.start, value.stop, value.step):
            if isinstance(bound, Scalar):
                raise error(
                    "AT0107",
                    f"asc.static_range with the runtime bound {describe(bound)}",
                    vm.site(),
                    hint="only a constant range can be unrolled: use range or asc.range",
                )
        return RangeState(value.start, value.stop, value.step, "unroll", value)
    if cls is RangeState:
        return value
    method = vm.lookup(cls, "__iter__")
    if vm.is_interpreted(method):
        return vm.call(method, (value,))
    if method is None and isinstance(value, Scalar):
        iter(value)
    if method is None:
        getter = vm.lookup(cls, "__getitem__")
        if vm.is_interpreted(getter):
            return vm.call(pybuiltins.sequence_iterator, (value,))
    return iter(value)


def is_iterable(value: Any) -> bool:
    """Whether CPython takes it for an iterable; a runtime value refuses in its own words."""
    kind = type(value)
    return isinstance(value, Value) or hasattr(kind, "__iter__") or hasattr(kind, "__getitem__")


def replayable(vm: Machine, found: Any) -> Any:
    """An iterator whose consumption can be undone: native ones are wrapped."""
    if isinstance(found, VMGenerator | ReplayIterator | RangeState):
        return found
    if vm.is_interpreted(vm.lookup(type(found), "__next__")):
        return found
    return ReplayIterator(found, vm)


def items_of(vm: Machine, value: Any, limit: int | None = None) -> Any:
    """The elements of an iterable as a list (at most `limit`)."""
    if type(value) in (list, tuple) and limit is None:
        return value
    source = iterator(vm, value)
    if source.__class__ is RangeState:
        return list(value if isinstance(value, range) else iter(source.source))
    items: list[Any] = []
    while limit is None or len(items) < limit:
        try:
            items.append(advance(vm, source))
        except StopIteration:
            break
    return items


def delete_item(vm: Machine, container: Any, index: Any) -> None:
    """`del container[index]`."""
    method = vm.lookup(type(container), "__delitem__")
    if vm.is_interpreted(method):
        vm.call(method, (container, index))
    else:
        del container[index]


# -- pattern matching -----------------------------------------------------------------------------


def is_instance(value: Any, classes: Any) -> bool:
    """`isinstance(value, classes)`; a runtime scalar is the Python number that it stands for."""
    if isinstance(value, Scalar):
        stand_in: Any = {"f": 0.5, "b": True}.get(value.type.kind, 2)
        return isinstance(stand_in, classes) or isinstance(value, classes)
    return isinstance(value, classes)


def is_sequence(value: Any) -> bool:
    """Whether `case [...]` may match."""
    return isinstance(value, collections.abc.Sequence) and not isinstance(
        value, str | bytes | bytearray
    )


def is_mapping(value: Any) -> bool:
    """Whether `case {...}` may match."""
    return isinstance(value, collections.abc.Mapping)


def match_keys(subject: Any, keys: tuple[Any, ...]) -> Any:
    """Values of the keys as a tuple, or None."""
    if not all(k in subject for k in keys):
        return None
    return tuple(subject[k] for k in keys)


def match_class(
    vm: Machine, subject: Any, cls: Any, count: int, names: tuple[str, ...]
) -> tuple[Any, ...] | None:
    """Attributes for `case Class(...)`, or None."""
    if not is_instance(subject, cls):
        return None
    found: list[Any] = []
    if count:
        match_args = getattr(cls, "__match_args__", None)
        if match_args is None and count == 1:
            found.append(subject)
        elif match_args is None or len(match_args) < count:
            allowed = 0 if match_args is None else len(match_args)
            raise TypeError(
                f"{cls.__name__}() accepts {allowed} positional sub-patterns ({count} given)"
            )
        else:
            names = (*match_args[:count], *names)
    try:
        found += [get_attr(vm, subject, name) for name in names]
    except AttributeError:
        return None
    return tuple(found)


def import_from(vm: Machine, module: Any, name: str) -> Any:
    """`from module import name`."""
    try:
        return get_attr(vm, module, name)
    except AttributeError:
        try:
            return importlib.import_module(f"{module.__name__}.{name}")
        except ImportError:
            raise ImportError(f"cannot import name {name!r} from {module.__name__!r}") from None
