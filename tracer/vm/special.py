"""Builtins that look at runtime values, call kernel code back, or see the calling frame.

`SPECIAL` maps the id of a builtin to what the VM does instead; everything else runs natively. A
call that the builtin would refuse goes to the builtin, which says why: `call_special` sees to wrong
numbers and names of arguments, so the functions here have the signatures of the builtins.
"""

from __future__ import annotations

import collections.abc
import functools
from collections.abc import Callable
from types import CellType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..diagnostics import error
from ..language import scalar
from ..language.scalar import Scalar
from ..ops import arith
from ..trace import Value, describe
from . import pybuiltins
from .generators import VMGenerator, advance
from .heap import ReplayIterator
from .objects import binary, get_attr, set_attr
from .protocols import both, either, is_instance, is_iterable, items_of, iterator, truth_of
from .ranges import RangeState, RuntimeRange
from .text import RuntimeText, print_

if TYPE_CHECKING:
    from .machine import Machine

Special = Callable[..., Any]
SPECIAL: dict[int, Special] = {}
_MISSING: Any = object()


def replaces(*originals: Any) -> Callable[[Special], Special]:
    """Register what the VM does for a builtin."""

    def add(function: Special) -> Special:
        for original in originals:
            SPECIAL[id(original)] = function
        return function

    return add


def call_special(
    vm: Machine, special: Special, native: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """What the VM does instead of a builtin."""
    try:
        return special(vm, *args, **kwargs)
    except TypeError as exc:
        if exc.__traceback__ is not None and exc.__traceback__.tb_next is not None:
            raise
    return native(*args, **kwargs)


# -- numbers --------------------------------------------------------------------------------------


def _runtime(*values: Any) -> bool:
    return any(isinstance(v, Scalar) for v in values)


@replaces(int)
def int_(vm: Machine, *args: Any, **kwargs: Any) -> Any:
    if len(args) == 1 and isinstance(args[0], Scalar):
        return scalar.to_int(args[0])
    if len(args) == 1 and vm.is_interpreted(method := vm.lookup(type(args[0]), "__int__")):
        return vm.call(method, args)
    return int(*args, **kwargs)


@replaces(float)
def float_(vm: Machine, *args: Any) -> Any:
    if len(args) == 1 and isinstance(args[0], Scalar):
        return scalar.to_float(args[0])
    return float(*args)


@replaces(bool)
def bool__(vm: Machine, *args: Any) -> Any:
    if len(args) == 1:
        if isinstance(args[0], Scalar):
            return scalar.truth(args[0])
        if not isinstance(args[0], Value):
            return truth_of(vm, args[0])
        return True
    return bool(*args)


@replaces(abs)
def abs_(vm: Machine, value: Any, /) -> Any:
    method = vm.lookup(type(value), "__abs__")
    return vm.call(method, (value,)) if vm.is_interpreted(method) else abs(value)


@replaces(round)
def round_(vm: Machine, number: Any, ndigits: Any = None) -> Any:
    if _runtime(number, ndigits):
        raise error(
            "AT0303",
            "round() of a runtime value is not supported",
            vm.site(),
            hint="int(x + 0.5) rounds a non-negative x; the vector cast has rounding modes",
        )
    return round(number) if ndigits is None else round(number, ndigits)


def _extremum(native: Any, spec: Any, fallback: Any) -> Special:
    def run(vm: Machine, first: Any, /, *rest: Any, **kwargs: Any) -> Any:
        args = (first, *rest)
        if not kwargs.keys() <= {"key", "default"} or (rest and "default" in kwargs):
            return native(*args, **kwargs)
        if kwargs.get("key") is not None:
            return vm.call(fallback, args, kwargs)
        items = args if rest else items_of(vm, first)
        if not _runtime(*items):
            if any(_has_kernel_order(vm, v) for v in items):
                return vm.call(fallback, args, kwargs)
            return native(items, **kwargs)
        result = items[0]
        for item in items[1:]:
            if _runtime(result, item):
                result = scalar.extremum(spec, result, item)
            else:
                result = native(result, item)
        return result

    return run


def _has_kernel_order(vm: Machine, value: Any) -> bool:
    return any(vm.is_interpreted(vm.lookup(type(value), n)) for n in ("__lt__", "__gt__"))


min_ = SPECIAL[id(min)] = _extremum(min, arith.MIN, pybuiltins.min_)
max_ = SPECIAL[id(max)] = _extremum(max, arith.MAX, pybuiltins.max_)


@replaces(sum)
def sum_(vm: Machine, iterable: Any, /, start: Any = 0) -> Any:
    if isinstance(start, str | bytes | bytearray):
        return sum((), start)
    result = start
    for item in items_of(vm, iterable):
        result = binary(vm, "+", result, item)
    return result


@replaces(divmod)
def divmod_(vm: Machine, a: Any, b: Any, /) -> Any:
    if _runtime(a, b):
        return binary(vm, "//", a, b), binary(vm, "%", a, b)
    return divmod(a, b)


@replaces(pow)
def pow_(vm: Machine, base: Any, exp: Any, mod: Any = None) -> Any:
    if _runtime(base, exp, mod):
        result = binary(vm, "**", base, exp)
        return result if mod is None else binary(vm, "%", result, mod)
    return pow(base, exp, mod)


@replaces(any)
def any_(vm: Machine, items: Any, /) -> Any:
    result: Any = False
    for item in _lazily(vm, items):
        result = either(vm, result, item if isinstance(item, Scalar) else truth_of(vm, item))
        if result is True:
            return True
    return scalar.truth(result) if isinstance(result, Scalar) else result


@replaces(all)
def all_(vm: Machine, items: Any, /) -> Any:
    result: Any = True
    for item in _lazily(vm, items):
        result = both(vm, result, item if isinstance(item, Scalar) else truth_of(vm, item))
        if result is False:
            return False
    return scalar.truth(result) if isinstance(result, Scalar) else result


def _lazily(vm: Machine, items: Any) -> Any:
    source = iterator(vm, items)
    if source.__class__ is RangeState:
        yield from items
        return
    while True:
        try:
            item = advance(vm, source)
        except StopIteration:
            return
        yield item


# -- ranges and iterators -------------------------------------------------------------------------


@replaces(range)
def range_(vm: Machine, *args: Any) -> Any:
    if not _runtime(*args):
        return range(*args)
    start, stop, step = 0, args[0], 1
    if len(args) > 1:
        start, stop = args[:2]
    if len(args) > 2:
        step = args[2]
    for bound in (start, stop, step):
        if isinstance(bound, Scalar):
            if bound.type.kind == "f":
                raise TypeError("'float' object cannot be interpreted as an integer")
        elif not isinstance(bound, int | np.integer):
            raise TypeError(f"'{type(bound).__name__}' object cannot be interpreted as an integer")
    if isinstance(step, Scalar):
        if not scalar.nonneg(step, vm):
            raise error(
                "AT0303",
                f"range() with the runtime step {describe(step)}, which may be negative",
                vm.site(),
                hint="make the step a constant, or show that it is positive: range(a, b, abs(s))",
            )
    elif step == 0:
        raise ValueError("range() arg 3 must not be zero")
    return RuntimeRange(start, stop, step if isinstance(step, Scalar) else int(step))


def _iterator_maker(native: Any) -> Special:
    def make(vm: Machine, *args: Any, **kwargs: Any) -> Any:
        sources = [_native_iterable(vm, a) for a in args]
        return ReplayIterator(native(*sources, **kwargs), vm)

    return make


def _native_iterable(vm: Machine, value: Any) -> Any:
    """Something native code may iterate over: kernel iterators through the VM."""
    if isinstance(value, RuntimeRange):
        return iter(value)
    if vm.is_interpreted(vm.lookup(type(value), "__iter__")):
        return _lazily(vm, value)
    return value


SPECIAL[id(zip)] = _iterator_maker(zip)
_reversed_iterator = _iterator_maker(reversed)


@replaces(reversed)
def reversed_(vm: Machine, value: Any, /) -> Any:
    if isinstance(value, RuntimeRange) and value.unit_step():
        last = binary(vm, "-", value.stop, value.step)
        return RuntimeRange(last, binary(vm, "-", value.start, value.step), -value.step)
    cls = type(value)
    method = vm.lookup(cls, "__reversed__")
    if vm.is_interpreted(method):
        return vm.call(method, (value,))
    if method is None and vm.is_interpreted(vm.lookup(cls, "__getitem__")):
        return vm.call(pybuiltins.reversed_sequence, (value,))
    return _reversed_iterator(vm, value)


@replaces(enumerate)
def enumerate_(vm: Machine, iterable: Any, start: int = 0) -> Any:
    return ReplayIterator(enumerate(_native_iterable(vm, iterable), start), vm)


@replaces(iter)
def iter_(vm: Machine, value: Any, sentinel: Any = _MISSING, /) -> Any:
    if sentinel is not _MISSING:
        if not callable(value):
            return iter(value, sentinel)
        return vm.call(pybuiltins.call_iterator, (value, sentinel))
    found = iterator(vm, value)
    if isinstance(found, VMGenerator | ReplayIterator):
        return found
    if found.__class__ is RangeState:
        if found.trips is None:
            raise error(
                "AT0303",
                "iter() of a range with a runtime bound",
                vm.site(),
                hint="write the `for` loop",
            )
        found = iter(found.source)
    return found if found is value else ReplayIterator(found, vm)


@replaces(next)
def next_(vm: Machine, source: Any, default: Any = _MISSING, /) -> Any:
    if not isinstance(source, collections.abc.Iterator):
        return next(source)
    if not isinstance(source, VMGenerator | ReplayIterator) and vm.controls:
        method = vm.lookup(type(source), "__next__")
        if not vm.is_interpreted(method):
            raise error(
                "AT0303",
                f"next() on a {type(source).__name__} from outside under runtime control",
                vm.site(),
                hint="take the values out before the condition or loop",
            )
    try:
        return advance(vm, source)
    except StopIteration:
        if default is _MISSING:
            raise
        return default


def _source(vm: Machine, value: Any) -> Any:
    """An iterable as `map` and others take it: what iterates is asked for at once."""
    if vm.is_interpreted(vm.lookup(type(value), "__iter__")):
        return iterator(vm, value)
    return value if is_iterable(value) else iter(value)


@replaces(map)
def map_(vm: Machine, function: Any, iterable: Any, /, *iterables: Any) -> Any:
    sources = [_source(vm, value) for value in (iterable, *iterables)]
    return vm.call(pybuiltins.map_, (function, *sources))


@replaces(filter)
def filter_(vm: Machine, function: Any, iterable: Any, /) -> Any:
    return vm.call(pybuiltins.filter_, (function, _source(vm, iterable)))


@replaces(sorted)
def sorted_(vm: Machine, iterable: Any, /, *, key: Any = None, reverse: Any = False) -> Any:
    return vm.call(pybuiltins.sorted_, (iterable,), {"key": key, "reverse": reverse})


@replaces(functools.reduce)
def reduce_(vm: Machine, function: Any, iterable: Any, initial: Any = _MISSING, /) -> Any:
    if not is_iterable(iterable):
        return functools.reduce(function, iterable)
    given = () if initial is _MISSING else (initial,)
    return vm.call(pybuiltins.reduce_, (function, iterable, *given))


def _collect(native: Any) -> Special:
    def run(vm: Machine, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs:
            result = native(items_of(vm, args[0]))
            if vm.journaling and native in (list, set):
                vm.note_birth(result)
            return result
        return native(*args, **kwargs)

    return run


for _native in (list, tuple, set, frozenset):
    SPECIAL[id(_native)] = _collect(_native)


# -- objects and introspection --------------------------------------------------------------------


@replaces(type)
def type_(vm: Machine, *args: Any, **kwargs: Any) -> Any:
    if len(args) == 1 and isinstance(args[0], Scalar):
        return {"f": float, "b": bool}.get(args[0].type.kind, int)
    return type(*args, **kwargs)


@replaces(isinstance)
def isinstance_(vm: Machine, value: Any, classes: Any, /) -> bool:
    return is_instance(value, classes)


@replaces(getattr)
def getattr_(vm: Machine, obj: Any, name: Any, default: Any = _MISSING, /) -> Any:
    try:
        return get_attr(vm, obj, name)
    except AttributeError:
        if default is _MISSING:
            raise
        return default


@replaces(hasattr)
def hasattr_(vm: Machine, obj: Any, name: Any, /) -> bool:
    try:
        get_attr(vm, obj, name)
    except AttributeError:
        return False
    return True


@replaces(setattr, object.__setattr__)
def setattr_(vm: Machine, obj: Any, name: Any, value: Any, /) -> None:
    if vm.is_interpreted(vm.lookup(type(obj), "__setattr__")):
        vm.touch(obj)
        object.__setattr__(obj, name, value)
    else:
        set_attr(vm, obj, name, value)


@replaces(delattr)
def delattr_(vm: Machine, obj: Any, name: Any, /) -> None:
    vm.touch(obj)
    delattr(obj, name)


@replaces(len)
def len_(vm: Machine, value: Any, /) -> Any:
    if isinstance(value, RuntimeRange) and value.unit_step():
        low, high = (value.start, value.stop)[:: value.step]
        return max_(vm, binary(vm, "-", high, low), 0)
    method = vm.lookup(type(value), "__len__")
    return vm.call(method, (value,)) if vm.is_interpreted(method) else len(value)


@replaces(super)
def super_(vm: Machine, *args: Any) -> Any:
    if args:
        return super(*args)
    frame = vm.frame
    assert frame is not None
    names = frame.code.slot_names
    if "__class__" not in names:
        raise RuntimeError("super(): __class__ cell not found")
    cls = frame.slots[names.index("__class__")].cell_contents
    first = frame.slots[0]
    if isinstance(first, CellType):
        first = first.cell_contents
    return super(cls, first)


@replaces(globals)
def globals_(vm: Machine) -> Any:
    assert vm.frame is not None
    return vm.frame.globals


@replaces(locals)
def locals_(vm: Machine) -> Any:
    return vm.local_names()


@replaces(vars)
def vars_(vm: Machine, *args: Any) -> Any:
    return vars(*args) if args else vm.local_names()


@replaces(dir)
def dir_(vm: Machine, *args: Any) -> Any:
    return dir(*args) if args else sorted(vm.local_names())


@replaces(eval, exec)
def eval_(vm: Machine, *args: Any, **kwargs: Any) -> Any:
    raise error(
        "AT0303",
        "eval() and exec() are not supported in a kernel",
        vm.site(),
        hint="make the function by exec outside; kernels made by exec work",
    )


@replaces(hash)
def hash_(vm: Machine, value: Any, /) -> Any:
    method = vm.lookup(type(value), "__hash__")
    return vm.call(method, (value,)) if vm.is_interpreted(method) else hash(value)


@replaces(str)
def str_(vm: Machine, *args: Any, **kwargs: Any) -> Any:
    if len(args) == 1 and isinstance(args[0], Value):
        return RuntimeText((args[0],))
    if len(args) == 1 and isinstance(args[0], RuntimeText):
        return args[0]
    return str(*args, **kwargs)


SPECIAL[id(print)] = print_
