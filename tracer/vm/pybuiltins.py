"""Builtins that call back, in Python, so that the VM sees the control flow of what they call."""

from __future__ import annotations

from typing import Any

from .objects import order_of

_MISSING: Any = object()


def map_(function: Any, *iterables: Any) -> Any:
    """`map`."""
    for args in zip(*iterables, strict=False):
        yield function(*args)


def filter_(function: Any, iterable: Any) -> Any:
    """`filter`."""
    for item in iterable:
        if item if function is None else function(item):
            yield item


def sorted_(iterable: Any, *, key: Any = None, reverse: Any = False) -> Any:
    """`sorted`, with the key function seen by the VM; the sort itself is native."""
    items = list(iterable)
    if key is None:
        items.sort(reverse=reverse)
        return items
    return [items[k] for k in order_of([key(item) for item in items], reverse)]


def _best(args: Any, key: Any, default: Any, name: str, take_first: Any) -> Any:
    items = args if len(args) > 1 else args[0]
    best = _MISSING
    best_key = None
    for item in items:
        item_key = item if key is None else key(item)
        if best is _MISSING or take_first(item_key, best_key):
            best, best_key = item, item_key
    if best is _MISSING:
        if default is _MISSING:
            raise ValueError(f"{name}() iterable argument is empty")
        return default
    return best


def min_(*args: Any, key: Any = None, default: Any = _MISSING) -> Any:
    """`min`."""
    return _best(args, key, default, "min", lambda a, b: a < b)


def max_(*args: Any, key: Any = None, default: Any = _MISSING) -> Any:
    """`max`."""
    return _best(args, key, default, "max", lambda a, b: a > b)


def reduce_(function: Any, iterable: Any, initial: Any = _MISSING) -> Any:
    """`functools.reduce`."""
    result = initial
    for item in iterable:
        result = item if result is _MISSING else function(result, item)
    if result is _MISSING:
        raise TypeError("reduce() of empty iterable with no initial value")
    return result


def reversed_sequence(sequence: Any) -> Any:
    """`reversed(sequence)` for a class with `__len__` and `__getitem__`."""
    k = len(sequence)
    while k > 0:
        k -= 1
        yield sequence[k]


def sequence_iterator(sequence: Any) -> Any:
    """The iterator of an object that has `__getitem__` only."""
    k = 0
    while True:
        try:
            item = sequence[k]
        except IndexError:
            return
        yield item
        k += 1


def call_iterator(function: Any, sentinel: Any) -> Any:
    """`iter(function, sentinel)`."""
    while True:
        item = function()
        if item == sentinel:
            return
        yield item
