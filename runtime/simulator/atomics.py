"""Atomic writes: the mode of a core in which copies to global memory combine instead of replacing.

`store` is what every executor writes global memory with from on-chip memory: it takes the mode as
it is when the copy is issued, and reads, combines and writes when the copy is performed.
"""

from __future__ import annotations

from functools import partial
from operator import setitem
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from ...tracer.diagnostics import Finding, error, finding
from ...tracer.language.dtypes import DataType
from ...tracer.language.enums import AtomicDtype, AtomicOp
from ...tracer.ops import set_atomic as rows
from ...tracer.ops.spec import OpSpec
from ...tracer.trace import Op, describe
from .registry import Atomic, Executor, Work, simulates

if TYPE_CHECKING:
    from .core import Core
    from .memory import GlobalMemory

#: How what is there (first) and what comes are combined; floats round once, NaN stays.
COMBINE: Final[dict[OpSpec, Any]] = {
    rows.SET_ATOMIC_ADD: np.add,
    rows.SET_ATOMIC_MAX: np.maximum,
    rows.SET_ATOMIC_MIN: np.minimum,
}
_NUMBERS: Final = {dtype: number for number, dtype in rows.CONFIG_DTYPES.items()}


class Mode(NamedTuple):
    """What combines, in which dtype, and the call that switched it on."""

    combine: Any
    dtype: DataType
    op: Op

    @property
    def kind(self) -> Atomic:
        """What the search for races calls it."""
        return self.combine.__name__, self.dtype


def store(core: Core, op: Op, which: int, gm: GlobalMemory, start: int, part: memoryview) -> Work:
    """The work that writes the bytes `part` of operand `which` to `start` of an array."""
    mode = core.atomic
    if mode is None:
        return partial(setitem, gm.bytes, slice(start, start + len(part)), part)
    _check(mode, op, which)
    target, source = gm.bytes[start : start + len(part)], np.frombuffer(part, np.uint8)
    return partial(_combine, mode, np.frombuffer(target, np.uint8), source)


def store_rows(mode: Mode, op: Op, which: int, targets: list[Any], parts: list[Any]) -> Work:
    """The same in that mode for views whose elements are rows of bytes."""
    _check(mode, op, which)

    def work() -> None:
        for target, part in zip(targets, parts, strict=True):
            _combine(mode, target, np.broadcast_to(part, target.shape))

    return work


def _check(mode: Mode, op: Op, which: int) -> None:
    """A copy brings elements of the mode's dtype."""
    value = op.args[which]
    if value.type.dtype is not mode.dtype:
        raise error(
            "AT0213",
            f"{op.spec.name} of {describe(value)} while atomic writes are of {mode.dtype}",
            op.site,
            notes=[("switched on here", mode.op.site)],
            hint="the dtype of the mode is that of the tensors: set_atomic_add(tensor.dtype), or "
            "set_atomic_none() before other copies",
        )


def _combine(mode: Mode, target: Any, source: Any) -> None:
    """Elements may begin anywhere in the host's memory, so they are copied out and back."""
    dtype = mode.dtype.np
    there, comes = (np.array(a).reshape(-1).view(np.uint8).view(dtype) for a in (target, source))
    target[...] = mode.combine(there, comes).view(target.dtype).reshape(target.shape)


def writing(core: Core) -> bool | Atomic:
    """How a copy to global memory that is issued now writes, for its `Access`."""
    return True if core.atomic is None else core.atomic.kind


def _switch(core: Core, atomic: Mode | None) -> None:
    core.atomic = atomic


@simulates(rows.SET_ATOMIC_ADD, rows.SET_ATOMIC_MAX, rows.SET_ATOMIC_MIN)
def _set(op: Op, core: Core) -> Executor:
    return partial(_switch, core, Mode(COMBINE[op.spec], op.args[0], op))


@simulates(rows.SET_ATOMIC_NONE)
def _none(op: Op, core: Core) -> Executor:
    return partial(_switch, core, None)


@simulates(rows.SET_ATOMIC_TYPE)
def _type(op: Op, core: Core) -> Executor:
    def run() -> None:
        if core.atomic is None:
            raise error(
                "AT0307",
                f"{op.spec.name} while copies are not atomic",
                op.site,
                hint="what it does then is not documented: set_atomic_add(dtype) and its like "
                "choose the operation and the dtype",
            )
        _switch(core, core.atomic._replace(dtype=op.args[0]))

    return run


@simulates(rows.SET_STORE_ATOMIC_CONFIG)
def _configure(op: Op, core: Core) -> Executor:
    dtype = rows.CONFIG_DTYPES[op.args[0]]
    return partial(_switch, core, None if dtype is None else Mode(np.add, dtype, op))


@simulates(rows.GET_STORE_ATOMIC_CONFIG)
def _configuration(op: Op, core: Core) -> Executor:
    def run() -> list[int]:
        atomic = core.atomic
        if atomic is None:
            return [int(AtomicDtype.ATOMIC_NONE), int(AtomicOp.ATOMIC_SUM)]
        if atomic.combine is not np.add:
            raise error(
                "AT0307",
                f"{op.spec.name} while {atomic.op.spec.name} is on",
                op.site,
                notes=[("switched on here", atomic.op.site)],
                hint="only the addition has a documented number",
            )
        return [int(_NUMBERS[atomic.dtype]), int(AtomicOp.ATOMIC_SUM)]

    return run


def left_on(atomic: Mode) -> Finding:
    """The warning about a block that ends with the mode on."""
    return finding(
        "AT0213",
        f"{atomic.op.spec.name}({atomic.dtype}) is still on when the kernel ends",
        atomic.op.site,
        severity="warning",
        hint="set_atomic_none() behind the copies that are meant",
    )
