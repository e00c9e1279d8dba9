"""Which arrays a kernel can write: the simulator and the launcher copy or guard only those.

May import `tracer`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..tracer.language.types import GlobalPointerType, GlobalTensorType
from ..tracer.ops.data import INLINE
from ..tracer.ops.tensor import SET_GLOBAL_BUFFER
from ..tracer.trace import Assign, Declare, Op, Trace, Value


def written_params(trace: Trace) -> frozenset[int]:
    """Indices of the address parameters that reach an operation which writes global memory.

    C++ text may write whatever it names, so with any of it they are all of them.
    """
    sources: dict[int, list[Value]] = {}
    reached: list[Value] = []
    for node in trace.walk():
        if isinstance(node, Declare):
            _feed(sources, node.var, [node.init])
        elif isinstance(node, Assign):
            for var, value in zip(node.vars, node.values, strict=True):
                _feed(sources, var, [value])
        elif isinstance(node, Op) and node.spec is SET_GLOBAL_BUFFER:
            _feed(sources, node.args[0], [node.args[1]])
        elif isinstance(node, Op) and node.spec is INLINE:
            return frozenset(k for k, p in enumerate(trace.params) if _is_global(p.value))
        elif isinstance(node, Op):
            if node.result is not None:
                anything = "any_array" in node.spec.extra
                args = [param.value for param in trace.params] if anything else node.args
                _feed(sources, node.result, args)
            reached += [
                arg
                for arg, param in zip(node.args, node.form.params, strict=True)
                if param.role in ("out", "inout") and _is_global(arg)
            ]
    seen: set[int] = set()
    while reached:
        value = reached.pop()
        if id(value) not in seen:
            seen.add(id(value))
            reached += sources.get(id(value), ())
    return frozenset(k for k, param in enumerate(trace.params) if id(param.value) in seen)


def _feed(sources: dict[int, list[Value]], target: Value, values: Sequence[Any]) -> None:
    if _is_global(target):
        sources.setdefault(id(target), []).extend(v for v in values if _is_global(v))


def _is_global(value: Any) -> bool:
    return isinstance(value, Value) and isinstance(value.type, GlobalPointerType | GlobalTensorType)
