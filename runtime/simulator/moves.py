"""Executors of calls that move elements by address: gather, scatter, transposes, sorting.

What a call does its row says (`tracer.ops._moves`): parts of operands, and the work. A call is
specialised on its numbers, then on the addresses of its operands. Where contents decide what is
touched, they are looked at when the call is issued: its own pipe, which is in order with itself,
is brought up to there first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from ...tracer.diagnostics import KernelError, error
from ...tracer.language.structs import StructArg
from ...tracer.language.types import ArrayType
from ...tracer.ops import proposal, vec_gather_mask
from ...tracer.ops._moves import (
    MEMORY,
    READ,
    SCRATCH,
    WRITE,
    Call,
    Data,
    Move,
    Part,
    Where,
    bad_number,
    is_tensor,
    operand,
    overlap_fault,
    shared,
    tensors_of,
)
from ...tracer.trace import Op, Value, describe
from .clocks import PIPE_INDEX, SCALAR
from .masks import normal_only, undefines_mask
from .memory import BLOCK_BYTES, LocalView, Memory, held_fault
from .registry import MAX_CACHED, Access, Executor, Timed, Work, emits, operands, rebound, simulates

if TYPE_CHECKING:
    from .codegen import Writer
    from .core import Core

Staged = tuple[Work, tuple[Access, ...]]
_VECTOR = PIPE_INDEX["V"]
#: Families that work under a mask of their own.
_MASKED = ("vec_gather", "vec_scatter", "vec_bilinear")


@simulates(family="vec_gather")
@simulates(family="vec_scatter")
@simulates(family="vec_gather_mask")
@simulates(family="vec_transpose")
@simulates(family="vec_bilinear")
@simulates(family="proposal")
@simulates(vec_gather_mask.GATHER_MASK_REMAIN_COUNT, proposal.MRG_SORT_RESULT)
def _moves(op: Op, core: Core) -> Executor:
    """One executor for each set of numbers."""
    target = rebound(op)
    values = [value for value in operands(op) if value is not target]
    tensor_at = [k for k, value in enumerate(values) if is_tensor(value)]
    number_at = [k for k, value in enumerate(values) if not is_tensor(value)]
    cache: dict[tuple[Any, ...], _Fixed] = {}

    def find(given: Sequence[Any]) -> _Fixed:
        key = tuple([given[k] for k in number_at])
        found = cache.get(key)
        if found is None:
            if len(cache) >= MAX_CACHED:
                cache.clear()
            found = cache[key] = _Fixed(op, core, key)
        return found

    def stage(*given: Any) -> Staged:
        return find(given).stage([given[k] for k in tensor_at])

    plain = Timed(lambda *given: stage(*given)[0](), stage)
    if op.spec is vec_gather_mask.GATHER_MASK:
        return undefines_mask(op, core, plain)
    return normal_only(op, core, plain, keeps=False) if op.spec.family in _MASKED else plain


def _filled(arg: Any, numbers: Any) -> Any:
    """An operand with its runtime numbers; tensors stay, structs become tuples."""
    if is_tensor(arg) or (isinstance(arg, Value) and isinstance(arg.type, ArrayType)):
        return arg
    if isinstance(arg, Value):
        return next(numbers)
    if isinstance(arg, StructArg | tuple):
        values = arg.values if isinstance(arg, StructArg) else arg
        return tuple(_filled(part, numbers) for part in values)
    return arg


@emits(family="sort_length")
def _sort_length(op: Op, writer: Writer) -> None:
    assert op.result is not None
    factor = proposal.elements_of(op.args[1], writer.trace.chip.arch)
    count = writer.value(op.args[0])
    writer.line(f"{writer.define(op.result)} = {count} * {factor} & 0xffffffff")


class _Fixed:
    """A call whose numbers are known."""

    def __init__(self, op: Op, core: Core, numbers: tuple[Any, ...]) -> None:
        self.op, self.core = op, core
        self.memory = core.memories.get("UB") or Memory("UB", 0, False)
        rest = iter(numbers)
        args = tuple(_filled(arg, rest) for arg in op.args)
        call = Call(op.spec, op.form, args, core.chip.arch, op.site)
        if fault := bad_number(op.spec, op.form, args, op.site):
            raise fault
        assert op.spec.semantics is not None
        self.move: Move | None = op.spec.semantics(call)
        self.places: list[Where] = [where for where, _ in tensors_of(op.args)]
        parts = self.move.parts if self.move is not None else ()
        self.needs = self._needs(parts)
        self._known: dict[tuple[int, ...], tuple[_Placed, ...]] = {}

    def _needs(self, parts: Sequence[Part]) -> dict[Where, int]:
        """How many bytes of each operand a call takes."""
        needs: dict[Where, int] = dict.fromkeys(self.places, 0)
        for part in parts:
            if part.where != MEMORY:
                needs[part.where] = max(needs[part.where], part.stop())
        return needs

    def stage(self, tensors: Sequence[LocalView]) -> Staged:
        """Check the call at these operands and give its work."""
        move = self.move
        if move is None:
            return _nothing, ()
        views = dict(zip(self.places, tensors, strict=True))
        self._check(views, move.parts, self.needs)
        key = tuple([view[0] for view in tensors])
        placed = self._known.get(key)
        if placed is None:
            if len(self._known) >= MAX_CACHED:
                self._known.clear()
            placed = self._known[key] = self._place(move, move.parts, views)
        if move.data is None:
            assert move.work is not None
            return self._finish(placed, Data((), move.work))
        self.core.engine.settle_pipe(_VECTOR)
        try:
            data = move.data(_Seen(self, views))
            self._check(views, data.parts, self._needs(data.parts))
            placed = (*placed, *self._place(move, data.parts, views, placed))
        except KernelError:
            # Wrong contents may be those of a race.
            self.core.engine.suspect(self.op, _accesses(placed))
            raise
        staged = self._finish(placed, data)
        for where, offsets, dtype in data.unset:
            for at in (offsets + self.address(views, where)).reshape(-1).tolist():
                self.memory.forget(at, at + dtype.itemsize)
        return staged

    def address(self, views: dict[Where, LocalView], where: Where) -> int:
        """Where an operand begins."""
        return 0 if where == MEMORY else views[where][0]

    def _check(
        self, views: dict[Where, LocalView], parts: Sequence[Part], needs: dict[Where, int]
    ) -> None:
        for where, (_, room, hold) in views.items():
            need = needs[where]
            if hold[0] and need <= room:
                continue
            writes = any(part.where == where and part.kind != READ for part in parts)
            verb = "writes" if writes else "reads"
            if not hold[0]:
                raise held_fault(self.op, operand(self.op.args, where), verb, hold)
            raise self._short(where, verb, need, room)

    def _short(self, where: Where, verb: str, need: int, room: int) -> KernelError:
        value = operand(self.op.args, where)
        size = value.type.dtype.sizeof()
        return error(
            "AT0201",
            f"{self.op.spec.name} {verb} elements 0 to {-(-need // size) - 1} of "
            f"{describe(value)}, which has {max(room, 0) // size}",
            self.op.site,
            hint="make the access shorter or the buffer larger",
        )

    def _place(
        self,
        move: Move,
        parts: Sequence[Part],
        views: dict[Where, LocalView],
        before: Sequence[_Placed] = (),
    ) -> tuple[_Placed, ...]:
        """The parts at these addresses, after what can be wrong with them."""
        for part in parts:
            if fault := self._misplaced(part, self.address(views, part.where)):
                raise fault
        placed = tuple(
            _Placed(part, self.address(views, part.where), self.memory) for part in parts
        )
        everything = [(p.part, p.base) for p in (*before, *placed)]
        if clash := shared(move, everything):
            raise self._overlap(*clash)
        return placed

    def _misplaced(self, part: Part, base: int) -> KernelError | None:
        if part.where == MEMORY:
            return self._bad_address(part)
        rest = base % part.start
        if not rest:
            return None
        value = operand(self.op.args, part.where)
        size = value.type.dtype.sizeof()
        return error(
            "AT0103",
            f"{self.op.spec.name} {'reads' if part.kind == READ else 'writes'} {describe(value)} "
            f"at address {base}, {rest} bytes past a multiple of {part.start}",
            self.op.site,
            hint=f"start at a multiple of {part.start // size} elements of {value.type.dtype}",
        )

    def _bad_address(self, part: Part) -> KernelError | None:
        first, stop = int(part.offsets.min()), part.stop()
        rest = first % min(BLOCK_BYTES, 16 if part.dtype.itemsize == 1 else BLOCK_BYTES)
        if first >= 0 and stop <= self.memory.size and not rest:
            return None
        code = "AT0103" if rest else "AT0201"
        return error(
            code,
            f"{self.op.spec.name} at the address {first} of UB, which has {self.memory.size} bytes",
            self.op.site,
            hint=f"addresses come from get_phy_addr and are multiples of {BLOCK_BYTES}",
        )

    def _overlap(self, write: Part, other: Part, nbytes: int) -> KernelError:
        if MEMORY not in (write.where, other.where):
            return overlap_fault(self.op.spec, self.op.args, write, other, nbytes, self.op.site)
        return error(
            "AT0117",
            f"{self.op.spec.name} writes and reads by address: they share {nbytes} bytes",
            self.op.site,
            hint="keep the two apart",
        )

    def _finish(self, placed: Sequence[_Placed], data: Data) -> Staged:
        """Note what is read and written; the work and its accesses."""
        reads = [p for p in placed if p.part.kind == READ]
        writes = [p for p in placed if p.part.kind == WRITE]
        for one in reads:
            if not one.part.any_content and (missing := one.missing()) is not None:
                raise self.unwritten(one.part, missing, one.base)
        for one in writes:
            one.mark()
        for one in placed:
            if one.part.kind == SCRATCH:
                one.forget()

        rows = _rows_in_order(writes)

        def work() -> Any:
            found = data.work(*[one.load() for one in reads])
            for row in rows:
                for one, values in zip(writes, found, strict=True):
                    one.store(values[row], row)
            return data.result

        return work, _accesses(placed)

    def unwritten(self, part: Part, address: int, base: int) -> KernelError:
        """The error of a read of what was never written."""
        if part.where == MEMORY:
            what = f"byte {address} of UB"
        else:
            value = operand(self.op.args, part.where)
            what = f"element {(address - base) // value.type.dtype.sizeof()} of {describe(value)}"
        return error(
            "AT0203",
            f"{self.op.spec.name} reads {what}, which was never written",
            self.op.site,
            hint="copy or compute into the tensor first; a fresh tensor holds garbage, in a used "
            "buffer too",
        )


def _accesses(placed: Sequence[_Placed]) -> tuple[Access, ...]:
    return tuple([access for one in placed for access in one.accesses()])


def _rows_in_order(writes: Sequence[_Placed]) -> Sequence[slice]:
    """The repeats that are written together: each alone where parts of several meet."""
    rows = max((len(one.part.offsets) for one in writes), default=1)
    if len(writes) > 1 and rows > 1:
        touched = np.concatenate([one.part.bytes(one.base).reshape(-1) for one in writes])
        if np.unique(touched).size != touched.size:
            return [slice(r, r + 1) for r in range(rows)]
    return [slice(None)]


class _Placed:
    """A part at an address."""

    __slots__ = ("_accesses", "_dense", "_index", "_view", "base", "memory", "part")

    def __init__(self, part: Part, base: int, memory: Memory) -> None:
        self.part, self.base, self.memory = part, base, memory
        size = part.dtype.itemsize
        at = part.offsets + base
        first = int(at.reshape(-1)[0]) if at.size else 0
        steps = np.diff(at.reshape(-1))
        self._dense = bool((steps == size).all()) and first % size == 0
        self._index = at // size
        self._view: npt.NDArray[Any] = memory.array.view(part.dtype)
        if not (at % size == 0).all():  # elements of a list that begins between them
            self._index, self._view = part.bytes(base).reshape(*at.shape, size), memory.array
        if self._dense:
            start = first // size
            self._view = self._view[start : start + at.size].reshape(at.shape)
        self._accesses: tuple[Access, ...] | None = None

    def load(self) -> npt.NDArray[Any]:
        """The elements."""
        if self._dense:
            return self._view
        found = self._view[self._index]
        if found.ndim > self.part.offsets.ndim:
            return found.view(self.part.dtype)[..., 0]
        return found

    def store(self, values: npt.NDArray[Any], rows: slice) -> None:
        """Write the elements of some repeats."""
        if self._dense:
            self._view[rows] = values
        elif self._index.ndim > self.part.offsets.ndim:
            flat = np.ascontiguousarray(values, self.part.dtype)
            self._view[self._index[rows]] = flat[..., None].view(np.uint8)
        else:
            self._view[self._index[rows]] = values

    def _starts(self) -> npt.NDArray[np.int64]:
        return (self.part.offsets + self.base).reshape(-1)

    def missing(self) -> int | None:
        """The first address that was never written."""
        written = self.memory.written
        if written is None or not self.part.offsets.size:
            return None
        starts = self._starts()
        low, high = int(starts.min()), int(starts.max()) + self.part.dtype.itemsize
        if written.holes.find(1, low >> 5, (high + 31) >> 5) < 0:
            return None
        if self._dense:
            return written.missing(low, high)
        for byte in range(self.part.dtype.itemsize):
            found = written.missing_of(starts + byte)
            if found is not None:
                return found
        return None

    def mark(self) -> None:
        """The elements are written."""
        if self.memory.written is None or not self.part.offsets.size:
            return
        starts, size = self._starts(), self.part.dtype.itemsize
        if self._dense:
            self.memory.mark(int(starts[0]), int(starts[-1]) + size)
        else:
            self.memory.written.add_all(starts, size)

    def forget(self) -> None:
        """The elements hold garbage."""
        starts = self._starts()
        self.memory.forget(int(starts.min()), int(starts.max()) + self.part.dtype.itemsize)

    def accesses(self) -> tuple[Access, ...]:
        """The bytes as ranges; many single elements that are read count as whole blocks."""
        if self._accesses is None:
            size, starts = self.part.dtype.itemsize, self._starts()
            if not starts.size:
                return ()
            if self._dense:
                runs = [(int(starts[0]), int(starts[-1]) + size)]
            elif self.part.kind == READ and starts.size > _MANY:
                runs = _blocks(starts, size)
            else:
                starts = np.sort(starts)
                cuts = np.flatnonzero(np.diff(starts) > size) + 1
                runs = [(int(run[0]), int(run[-1]) + size) for run in np.split(starts, cuts)]
            writes, shadow = self.part.kind != READ, self.memory.shadow
            self._accesses = tuple(
                [(shadow, start, stop, writes, self.part.where) for start, stop in runs]
            )
        return self._accesses


#: Elements that are still looked at one by one when races are sought.
_MANY: Final = 64


def _blocks(starts: npt.NDArray[np.int64], size: int) -> list[tuple[int, int]]:
    """The ranges of whole blocks in which elements lie."""
    first = int(starts.min()) // BLOCK_BYTES
    touched = np.zeros((int(starts.max()) + size - 1) // BLOCK_BYTES - first + 3, np.int8)
    touched[starts // BLOCK_BYTES - first + 1] = 1
    touched[(starts + size - 1) // BLOCK_BYTES - first + 1] = 1
    edges = np.flatnonzero(np.diff(touched)) + first
    return [(int(a) * BLOCK_BYTES, int(b) * BLOCK_BYTES)
            for a, b in zip(edges[::2], edges[1::2], strict=True)]  # fmt: skip


class _Seen:
    """What a call sees of its operands when it is issued."""

    def __init__(self, fixed: _Fixed, views: dict[Where, LocalView]) -> None:
        self._fixed, self._views = fixed, views

    def read(
        self, where: Where, offsets: Any, dtype: np.dtype[Any], scalar: bool = False
    ) -> npt.NDArray[Any]:
        """Elements of an operand."""
        fixed, part = self._fixed, Part(where, offsets, dtype, READ)
        if scalar:
            fixed.core.engine.settle_pipe(SCALAR)
        room = self._views[where][1]
        if part.stop() > room:
            raise fixed._short(where, "reads", part.stop(), room)
        placed = _Placed(part, self._views[where][0], fixed.memory)
        if (missing := placed.missing()) is not None:
            raise fixed.unwritten(part, missing, placed.base)
        return placed.load().copy()

    def room(self, where: Where) -> int:
        """Bytes from the start of an operand to its end."""
        return self._views[where][1]

    def address(self, where: Where) -> int:
        """Where an operand begins."""
        return self._views[where][0]

    def written(self, where: Where, offsets: Any) -> bool:
        """Whether the first bytes of the elements at these offsets were all written."""
        known = self._fixed.memory.written
        at = (offsets + self.address(where)).reshape(-1)
        return known is None or known.missing_of(at) is None

    def note(self, key: str, value: Any) -> None:
        """Remember something for a later call of the block."""
        self._fixed.core.notes[key] = value

    def recall(self, key: str) -> Any:
        """What was remembered last, or None."""
        return self._fixed.core.notes.get(key)


def _nothing() -> None:
    """The work of a call that does nothing."""
