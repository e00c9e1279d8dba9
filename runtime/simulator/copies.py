"""Copies that are not one run of bytes: rows with gaps, slices, fractals, padding and fills.

Everything that depends on the numbers of a call alone is worked out once: which bytes of each
operand it touches (`Footprint`), and the shape of the NumPy views that do the work.
"""

from __future__ import annotations

from functools import partial
from operator import setitem
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ...tracer.diagnostics import error
from ...tracer.language.conversion import constant, converter
from ...tracer.language.dtypes import DataType, of_constant
from ...tracer.language.structs import ELEMENT, StructArg
from ...tracer.ops._copies import (
    DST,
    REGISTER,
    SRC,
    Call,
    Number,
    Runs,
    bad_overlap,
    ranges,
)
from ...tracer.ops.data_pad import SET_PAD_VALUE, wide_padding
from ...tracer.trace import Op, Value
from .atomics import store_rows, writing
from .memory import (
    POISON,
    GlobalView,
    LocalView,
    Memory,
    global_fault,
    local_fault,
    unwritten_fault,
)
from .registry import Access, Executor, Timed, Work, simulates, staged
from .scalars import accessors
from .written import SHIFT

if TYPE_CHECKING:
    from .core import Core

Bytes: TypeAlias = npt.NDArray[np.uint8]
Array: TypeAlias = npt.NDArray[Any]
#: Where a core remembers the number of `set_pad_value`.
PADDING: Final = "padding"
_BLOCK: Final = 1 << SHIFT


class Footprint:
    """The bytes that a copy touches in one operand, as offsets from its start.

    `whole` are the blocks that it fills, `touched` those that it touches, by number; where they
    follow one another, `filled` and `span` are the same as ranges. `bytes` are what it writes of
    other blocks.
    """

    __slots__ = ("bytes", "extent", "filled", "ranges", "span", "touched", "whole")

    def __init__(self, runs: Runs, side: int) -> None:
        starts, stops = ranges(runs, side)
        self.extent = int(stops[-1])
        self.ranges = list(zip(starts.tolist(), stops.tolist(), strict=True))
        # Local operands begin at whole blocks: the blocks do not depend on where they are.
        change = np.zeros(-(-self.extent // _BLOCK) * _BLOCK + 1, np.int32)
        change[starts] += 1
        change[stops] -= 1
        covered = change.cumsum()[:-1].reshape(-1, _BLOCK) > 0
        whole = covered.all(axis=1)
        self.whole = np.flatnonzero(whole)
        self.touched = np.flatnonzero(covered.any(axis=1))
        covered[whole] = False
        self.bytes = np.flatnonzero(covered)
        self.span = _range(self.touched)
        self.filled = None if self.bytes.size else _range(self.whole)

    def mark(self, memory: Memory, address: int) -> None:
        """The bytes are written."""
        written = memory.written
        if written is None:
            return
        if self.filled is not None:
            written.add(address + self.filled[0] * _BLOCK, address + self.filled[1] * _BLOCK)
        else:
            written.add_parts(self.whole + (address >> SHIFT), self.bytes + address)

    def missing(self, memory: Memory, address: int) -> int | None:
        """Address of the first byte that was never written."""
        written = memory.written
        if written is None:
            return None
        first = address >> SHIFT
        if self.span is not None:
            if written.holes.find(1, first + self.span[0], first + self.span[1]) < 0:
                return None
        elif written.complete(self.touched + first):
            return None
        for start, stop in self.ranges:
            found = written.missing(address + start, address + stop)
            if found is not None:
                return found
        return None


def _range(numbers: npt.NDArray[Any]) -> tuple[int, int] | None:
    """Sorted numbers as a range, if they follow one another."""
    if not numbers.size or numbers[-1] - numbers[0] + 1 != numbers.size:
        return None
    return int(numbers[0]), int(numbers[-1]) + 1


class Shape:
    """How the runs of a copy lie in one operand: views of any memory from an address on.

    An element of a view is all the bytes in a row.
    """

    __slots__ = ("_parts",)

    def __init__(self, runs: Runs, side: int) -> None:
        self._parts = [
            (
                tuple(axis[0] for axis in run.axes),
                np.dtype((np.void, run.nbytes)),
                run.src if side else run.dst,
                tuple(axis[1 + side] for axis in run.axes),
            )
            for run in runs
        ]

    def views(self, data: memoryview, base: int) -> list[Array]:
        """The bytes of each run."""
        return [
            np.ndarray(shape, dtype, data, base + start, steps)
            for shape, dtype, start, steps in self._parts
        ]


class _Local:
    """An operand in on-chip memory."""

    def __init__(self, op: Op, which: int, core: Core, runs: Runs) -> None:
        self.op, self.which = op, which
        self.memory = core.memory_of(op.args[which])
        self.shape = Shape(runs, which)
        self.footprint = Footprint(runs, which)
        self._views: dict[int, list[Array]] = {}

    def views(self, tensor: LocalView) -> list[Array]:
        """The views of the runs, after what can be wrong."""
        address, room, hold = tensor
        footprint, memory = self.footprint, self.memory
        found = self._views.get(address)
        if found is None or room < footprint.extent or not hold[0]:
            fault = local_fault(self.op, self.which, tensor, footprint.extent)
            if fault is not None:
                raise fault
            found = self._views[address] = self.shape.views(memory.bytes, address)
        if self.which == SRC:
            missing = footprint.missing(memory, address)
            if missing is not None:
                raise unwritten_fault(self.op, self.which, missing, address)
        return found

    def mark(self, tensor: LocalView) -> None:
        """The copy writes here."""
        self.footprint.mark(self.memory, tensor[0])

    def accesses(self, tensor: LocalView) -> list[Access]:
        """The ranges for the search for races."""
        address, shadow, writes = tensor[0], self.memory.shadow, self.which == DST
        return [
            (shadow, address + start, address + stop, writes, self.which)
            for start, stop in self.footprint.ranges
        ]


class _Global:
    """An operand in global memory."""

    def __init__(self, op: Op, which: int, core: Core, runs: Runs) -> None:
        self.op, self.which = op, which
        self.core = core
        self.shadow = core.global_shadow
        self.shape = Shape(runs, which)
        starts, stops = ranges(runs, which)
        self.first, self.extent = int(starts[0]), int(stops[-1])
        self.ranges = list(zip(starts.tolist(), stops.tolist(), strict=True))

    def views(self, tensor: GlobalView) -> list[Array]:
        """The views of the runs, after what can be wrong."""
        memory, start, end = tensor
        first, stop = start + self.first, start + self.extent
        if first < 0 or stop > end:
            raise global_fault(self.op, self.which, tensor, first, stop)
        return self.shape.views(memory.bytes, start)

    def mark(self, tensor: GlobalView) -> None:
        """Nobody asks what of global memory was written."""

    def accesses(self, tensor: GlobalView) -> list[Access]:
        """The ranges for the search for races."""
        memory, at, _ = tensor
        if not memory.space.tracked:
            return []
        base, writes = memory.base + at, self.which == DST and writing(self.core)
        return [
            (self.shadow, base + start, base + stop, writes, self.which)
            for start, stop in self.ranges
        ]


def scattered(op: Op, core: Core, call: Call, runs: Runs) -> Executor:
    """The executor of a copy with these runs."""
    copied = tuple(run for run in runs if run.fill is None)
    filled = tuple(run for run in runs if run.fill is not None)
    target: Any = (_Global if call.dst == "GM" else _Local)(op, DST, core, (*copied, *filled))
    source: Any = None
    if copied:
        source = (_Global if call.src == "GM" else _Local)(op, SRC, core, copied)
    patterns = _patterns(op, call.dtype, filled)
    register = any(run.fill == REGISTER for run in filled)
    overlaps = call.src == call.dst

    def prepare(tensors: tuple[Any, ...]) -> Work:
        dst = tensors[0]
        written = target.views(dst)
        parts = patterns
        if register:
            parts = _from_register(op, core, call, filled, patterns)
        if source is not None:
            parts = [*source.views(tensors[1]), *parts]
            if overlaps:
                at = dst[0], tensors[1][0]
                if fault := bad_overlap(op.spec, op.args[0], op.args[1], at, runs, op.site):
                    raise fault
        target.mark(dst)
        if call.dst == "GM" and core.atomic is not None:
            return store_rows(core.atomic, op, SRC, written, parts)
        if len(written) == 1:
            return partial(setitem, written[0], ..., parts[0])

        def work() -> None:
            for to, part in zip(written, parts, strict=True):
                to[...] = part

        return work

    def run(*tensors: Any) -> None:
        prepare(tensors)()

    def stage(*tensors: Any) -> tuple[Work, tuple[Access, ...]]:
        work = prepare(tensors)
        accesses = [] if source is None else source.accesses(tensors[1])
        return work, (*accesses, *target.accesses(tensors[0]))

    return Timed(run, stage)


# -- what fills -----------------------------------------------------------------------------------

_POISON: Final = np.array([POISON], np.uint16).view(np.uint8)


def _element(value: Any, dtype: DataType) -> Bytes:
    """The bytes of a number that the dtype has."""
    data = bytearray(dtype.sizeof())
    accessors(dtype)[1](memoryview(data), 0, value)
    return np.frombuffer(data, np.uint8)


def _number_type(op: Op) -> DataType | None:
    """The dtype of the runtime number that a struct of a call holds."""
    for arg in op.args:
        if isinstance(arg, StructArg) and ELEMENT in arg.cls.ctypes:
            part = arg.values[arg.cls.ctypes.index(ELEMENT)]
            return part.type if isinstance(part, Value) else None
    return None


def _patterns(op: Op, dtype: DataType, filled: Runs) -> list[Array]:
    """What the runs are filled with; nobody knows what is not defined."""
    source = _number_type(op)
    convert = partial(constant, dtype=dtype) if source is None else converter(source, dtype)
    found = []
    for run in filled:
        part = _POISON
        if isinstance(run.fill, Number):
            part = _element(convert(run.fill.value), dtype)
        elif isinstance(run.fill, bytes):
            part = np.frombuffer(run.fill, np.uint8)
        found.append(_repeated(part, run.nbytes))
    return found


def _repeated(part: Bytes, nbytes: int) -> Array:
    """A pattern over and over, as one element."""
    return np.resize(part, nbytes).view(np.dtype((np.void, nbytes)))


def _from_register(
    op: Op, core: Core, call: Call, filled: Runs, patterns: list[Array]
) -> list[Array]:
    """The same with the number that `set_pad_value` has set."""
    known = core.notes.get(PADDING)
    if known is None:
        return patterns
    value, dtype, setter = known
    part = _element(value, dtype)
    if not part.any():
        part = np.zeros(1, np.uint8)
    elif dtype is not call.dtype:
        raise error(
            "AT0102",
            f"{op.spec.name} of {call.dtype} pads with the {dtype} number of set_pad_value",
            op.site,
            notes=[("set here", setter.site)],
            hint=f"give it as {call.dtype}, for example as a NumPy scalar of that dtype",
        )
    return [_repeated(part, run.nbytes) for run in filled]


def padding(op: Op, core: Core, values: tuple[Any, ...], found: Executor) -> Executor:
    """A call that pads with a number of its own ends the effect of `set_pad_value`."""
    if len(values) < 2 or not values[1][0]:
        return found
    timed = staged(found)

    def stage(*tensors: Any) -> tuple[Work, tuple[Access, ...]]:
        core.notes.pop(PADDING, None)
        return timed.stage(*tensors)

    def run(*tensors: Any) -> None:
        core.notes.pop(PADDING, None)
        timed.run(*tensors)

    return Timed(run, stage)


@simulates(SET_PAD_VALUE)
def _set_pad_value(op: Op, core: Core) -> Executor:
    value = op.args[0]
    dtype: Any = value.type if isinstance(value, Value) else of_constant(value)
    fixed = None if isinstance(value, Value) else constant(value, dtype)

    def run(number: Any = fixed) -> None:
        if dtype.bits == 64 and number:
            raise wide_padding(op.spec, number, op.site)
        core.notes[PADDING] = (number, dtype, op)

    return run
