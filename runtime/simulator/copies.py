"""Copies that are not one run of bytes: rows with gaps, slices, fractals, padding and fills.

Everything that depends on the numbers of a call alone is worked out once: which bytes of each
operand it touches (`Footprint`), and the shape of the NumPy views that do the work.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ...tracer.diagnostics import error
from ...tracer.language.dtypes import DataType, of_constant
from ...tracer.language.structs import ELEMENT, StructArg
from ...tracer.ops._copies import (
    DST,
    REGISTER,
    SRC,
    Call,
    Number,
    Run,
    Runs,
    bad_overlap,
    ranges,
)
from ...tracer.ops.data_pad import SET_PAD_VALUE, wide_padding
from ...tracer.trace import Op, Value
from .memory import POISON, GlobalView, LocalView, Memory, global_fault, local_fault
from .memory import unwritten_fault as unwritten
from .registry import Access, Executor, Timed, Work, simulates, staged
from .scalars import accessors, constant, converter
from .written import SHIFT

if TYPE_CHECKING:
    from .core import Core

Bytes: TypeAlias = npt.NDArray[np.uint8]
#: Where a core remembers the number of `set_pad_value`.
PADDING: Final = "padding"
_BLOCK: Final = 1 << SHIFT


class Footprint:
    """The bytes that a copy touches in one operand, as offsets from its start."""

    __slots__ = ("bytes", "extent", "first", "ranges", "touched", "whole")

    def __init__(self, runs: Runs, side: int) -> None:
        starts, stops = ranges(runs, side)
        self.first, self.extent = int(starts[0]), int(stops[-1])
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

    def mark(self, memory: Memory, address: int) -> None:
        """The bytes are written."""
        if memory.written is not None:
            memory.written.add_parts(self.whole + (address >> SHIFT), self.bytes + address)

    def missing(self, memory: Memory, address: int) -> int | None:
        """Address of the first byte that was never written."""
        written = memory.written
        if written is None or written.complete(self.touched + (address >> SHIFT)):
            return None
        for start, stop in self.ranges:
            found = written.missing(address + start, address + stop)
            if found is not None:
                return found
        return None


def _view(run: Run, side: int, data: memoryview, base: int) -> Bytes:
    """The bytes of a run, one axis for each of the grid and one for the bytes in a row."""
    shape = [axis[0] for axis in run.axes]
    steps = [axis[1 + side] for axis in run.axes]
    start = base + (run.src if side else run.dst)
    return np.ndarray((*shape, run.nbytes), np.uint8, data, start, (*steps, 1))


class _Local:
    """An operand in on-chip memory."""

    def __init__(self, op: Op, which: int, core: Core, runs: Runs, side: int) -> None:
        self.op, self.which, self.side = op, which, side
        self.memory = core.memory_of(op.args[which])
        self.runs = runs
        self.footprint = Footprint(runs, side)
        self._views: dict[int, list[Bytes]] = {}

    def views(self, tensor: LocalView) -> list[Bytes]:
        """The views of the runs, after what can be wrong."""
        address, room, hold = tensor
        footprint, memory = self.footprint, self.memory
        found = self._views.get(address)
        if found is None or room < footprint.extent or not hold[0]:
            fault = local_fault(self.op, self.which, tensor, footprint.extent)
            if fault is not None:
                raise fault
            found = [_view(run, self.side, memory.bytes, address) for run in self.runs]
            self._views[address] = found
        if self.side == SRC:
            missing = footprint.missing(memory, address)
            if missing is not None:
                raise unwritten(self.op, self.which, missing, address)
        return found

    def mark(self, tensor: LocalView) -> None:
        """The copy writes here."""
        self.footprint.mark(self.memory, tensor[0])

    def accesses(self, tensor: LocalView) -> list[Access]:
        """The ranges for the search for races."""
        address, shadow, writes = tensor[0], self.memory.shadow, self.side == DST
        return [
            (shadow, address + start, address + stop, writes, self.which)
            for start, stop in self.footprint.ranges
        ]


class _Global:
    """An operand in global memory."""

    def __init__(self, op: Op, which: int, core: Core, runs: Runs, side: int) -> None:
        self.op, self.which, self.side = op, which, side
        self.shadow = core.global_shadow
        self.runs = runs
        starts, stops = ranges(runs, side)
        self.first, self.extent = int(starts[0]), int(stops[-1])
        self.ranges = list(zip(starts.tolist(), stops.tolist(), strict=True))

    def views(self, tensor: GlobalView) -> list[Bytes]:
        """The views of the runs, after what can be wrong."""
        memory, start, end = tensor
        if start + self.first < 0 or start + self.extent > end:
            raise global_fault(self.op, self.which, tensor, start + self.first, start + self.extent)
        return [_view(run, self.side, memory.bytes, start) for run in self.runs]

    def mark(self, tensor: GlobalView) -> None:
        """Nobody asks what of global memory was written."""

    def accesses(self, tensor: GlobalView) -> list[Access]:
        """The ranges for the search for races."""
        memory, at, _ = tensor
        if not memory.space.tracked:
            return []
        base, writes = memory.base + at, self.side == DST
        return [
            (self.shadow, base + start, base + stop, writes, self.which)
            for start, stop in self.ranges
        ]


def _operand(op: Op, which: int, core: Core, runs: Runs, memory: str) -> _Local | _Global:
    kind = _Global if memory == "GM" else _Local
    return kind(op, which, core, runs, which)


def scattered(op: Op, core: Core, call: Call, runs: Runs) -> Executor:
    """The executor of a copy with these runs."""
    copied = tuple(run for run in runs if run.fill is None)
    filled = tuple(run for run in runs if run.fill is not None)
    target: Any = _operand(op, 0, core, (*copied, *filled), call.dst)
    source: Any = _operand(op, 1, core, copied, call.src) if copied else None
    patterns = _patterns(op, call.dtype, filled)
    register = any(run.fill == REGISTER for run in filled)
    count = len(copied)
    overlaps = call.src == call.dst

    def stage(*tensors: Any) -> tuple[Work, tuple[Access, ...]]:
        dst = tensors[0]
        written, read = target.views(dst), []
        accesses: list[Access] = []
        if source is not None:
            src = tensors[1]
            read = source.views(src)
            if overlaps:
                at = dst[0], src[0]
                if fault := bad_overlap(op.spec, op.args[0], op.args[1], at, runs, op.site):
                    raise fault
            accesses += source.accesses(src)
        target.mark(dst)
        accesses += target.accesses(dst)
        fills = _from_register(op, core, call, filled, patterns) if register else patterns

        def work() -> None:
            for to, part in zip(written, read, strict=False):
                to[...] = part
            for to, part in zip(written[count:], fills, strict=True):
                to[...] = part

        return work, tuple(accesses)

    return Timed(lambda *tensors: stage(*tensors)[0](), stage)


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


def _patterns(op: Op, dtype: DataType, filled: Runs) -> list[Bytes]:
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
        found.append(np.resize(part, run.nbytes))
    return found


def _from_register(
    op: Op, core: Core, call: Call, filled: Runs, patterns: list[Bytes]
) -> list[Bytes]:
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
    return [np.resize(part, run.nbytes) for run in filled]


def padding(op: Op, core: Core, values: tuple[Any, ...], found: Executor) -> Executor:
    """A call that pads with a number of its own ends the effect of `set_pad_value`."""
    if len(values) < 2 or not values[1][0]:
        return found
    timed = staged(found)

    def stage(*tensors: Any) -> tuple[Work, tuple[Access, ...]]:
        core.notes.pop(PADDING, None)
        return timed.stage(*tensors)

    return Timed(lambda *tensors: stage(*tensors)[0](), stage)


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
