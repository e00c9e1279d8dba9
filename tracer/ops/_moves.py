"""What rows share whose calls move elements by address: gather, scatter, transposes, sorting.

`semantics(call)` of such a row gives a `Move` once the numbers of a call are known, or None when
there is nothing to do: which bytes of which operands it touches, and what it computes. Checks and
simulator go by it. Where the contents of an operand decide what else is touched (offsets, mask
bits), `Move.data` says so when the contents are there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from ..chip import BLOCK_BYTES
from ..diagnostics import KernelError, Site, error
from ..language.dtypes import DataType
from ..language.structs import MrgSort4Info, StructArg
from ..language.types import LocalTensorType
from ..trace import Recorder, Value, describe
from . import rules
from ._chips import executes
from ._vector import check_tensors
from .spec import STRUCTS, Form, OpSpec, Param, register

#: An operand: its position, or that and the position in a list or struct.
Where: TypeAlias = "int | tuple[int, int]"
Offsets: TypeAlias = "npt.NDArray[np.int64]"
Array: TypeAlias = "npt.NDArray[Any]"

#: The operand that is the whole of UB, for calls that name places by address.
MEMORY: Final = -1

READ: Final = "read"
WRITE: Final = "write"
#: Used by the call for itself; holds garbage behind it.
SCRATCH: Final = "scratch"


class Part(NamedTuple):
    """Elements of one operand that a call touches, in the order in which the work sees them.

    `offsets` are bytes from the start of the operand, one row a repeat; `dtype` is what the work
    sees there. `start` is the alignment of the operand's start. Elements that are read have to
    have been written, unless `any_content`.
    """

    where: Where
    offsets: Offsets
    dtype: np.dtype[Any]
    kind: str
    start: int = BLOCK_BYTES
    any_content: bool = False

    def stop(self) -> int:
        """The end of the last element, in bytes."""
        return int(self.offsets.max()) + self.dtype.itemsize if self.offsets.size else 0

    def bytes(self, base: int = 0) -> Offsets:
        """Every byte, one row a repeat."""
        each = (self.offsets + base)[..., None] + np.arange(self.dtype.itemsize)
        return each.reshape(len(self.offsets), -1)


class Contents(Protocol):
    """What a call sees of its operands when it is issued."""

    def read(
        self, where: Where, offsets: Offsets, dtype: np.dtype[Any], scalar: bool = False
    ) -> Array:
        """Elements of an operand; AT0203 where they were never written.

        `scalar` says that the scalar unit reads them, in order with its own stores.
        """
        ...

    def room(self, where: Where) -> int:
        """Bytes from the start of an operand to its end."""
        ...

    def written(self, where: Where, offsets: Offsets) -> bool:
        """Whether the first bytes of the elements at these offsets were all written."""
        ...

    def address(self, where: Where) -> int:
        """Where an operand begins."""
        ...

    def note(self, key: str, value: Any) -> None:
        """Remember something for a later call of the block."""
        ...

    def recall(self, key: str) -> Any:
        """What was remembered last, or None."""
        ...


#: Maps the arrays of the parts that are read, in order, to those of the parts that are written.
Work: TypeAlias = Callable[..., Sequence[Any]]


class Data(NamedTuple):
    """What the contents of the operands add to a `Move`: more parts, the work, a result.

    `unset` are elements of an operand that hold garbage behind the call.
    """

    parts: tuple[Part, ...]
    work: Work
    result: Any = None
    unset: tuple[tuple[Where, Offsets, np.dtype[Any]], ...] = ()


class Move(NamedTuple):
    """What a call with known numbers does; without `data` its parts and its work are all there is.

    `overlap` says which operands may share bytes: none ("apart"); what a repeat reads and writes,
    if it is the very same ("repeat"); or a source that begins where the destination does
    ("start"). What a repeat writes, no later one may read in any case.
    """

    parts: tuple[Part, ...]
    work: Work | None = None
    data: Callable[[Contents], Data] | None = None
    overlap: str = "apart"


class Call:
    """A call whose numbers are known: tensors are still the proxies, runtime numbers filled in."""

    __slots__ = ("arch", "args", "form", "site", "spec")

    def __init__(
        self, spec: OpSpec, form: Form, args: tuple[Any, ...], arch: str, site: Site
    ) -> None:
        self.spec = spec
        self.form = form
        self.args = args
        self.arch = arch
        self.site = site

    def __getitem__(self, name: str) -> Any:
        """The argument for a parameter."""
        return self.args[self.at(name)]

    def at(self, name: str) -> int:
        """The position of a parameter."""
        return next(k for k, p in enumerate(self.form.params) if p.name == name)

    def dtype(self, where: int = 0) -> DataType:
        """The element type of a tensor."""
        return self.args[where].type.dtype  # type: ignore[no-any-return]

    def error(self, code: str, message: str, hint: str) -> KernelError:
        """An error of this call; the message goes on behind the name of the function."""
        return error(code, f"{self.spec.name} {message}", self.site, hint=hint)


# -- operands -------------------------------------------------------------------------------------


def is_tensor(value: Any) -> bool:
    """Whether an operand is a tensor in on-chip memory."""
    return isinstance(value, Value) and type(value.type) is LocalTensorType


def tensors_of(args: Sequence[Any]) -> Iterator[tuple[Where, Any]]:
    """All local tensors of a call with where they are, those in lists and structs included."""
    for k, arg in enumerate(args):
        if is_tensor(arg):
            yield k, arg
        elif isinstance(arg, StructArg | tuple):
            for j, part in enumerate(arg.values if isinstance(arg, StructArg) else arg):
                if is_tensor(part):
                    yield (k, j), part


def operand(args: Sequence[Any], where: Where) -> Any:
    """The operand at a place."""
    if isinstance(where, int):
        return args[where]
    outer = args[where[0]]
    return (outer.values if isinstance(outer, StructArg) else outer)[where[1]]


def numbers_of(form: Form, args: Sequence[Any]) -> Iterator[tuple[str, str, Any]]:
    """The numbers of a call, with their names and C++ types; fields of structs by name."""
    for param, arg in zip(form.params, args, strict=True):
        values = arg.values if isinstance(arg, StructArg) else arg
        if param.kind == "merge_info" or param.kind in STRUCTS:
            struct = MrgSort4Info if param.kind == "merge_info" else STRUCTS[param.kind]
            for name, cpp, value in zip(_names(struct), struct.ctypes, values, strict=False):
                yield f"{param.name}.{name}", cpp, value
        elif param.kind in ("int", "const_int"):
            yield param.name, param.cpp, arg


def _names(struct: Any) -> tuple[str, ...]:
    """The fields of a struct, those of a list in it one by one."""
    return getattr(struct, "names", None) or tuple(struct.__slots__)


_LARGEST: Final = {"uint8_t": 2**8 - 1, "uint16_t": 2**16 - 1, "uint32_t": 2**32 - 1}


def bad_number(spec: OpSpec, form: Form, args: Sequence[Any], site: Site) -> KernelError | None:
    """A number, as far as known, is in its range: the row's own, or that of its C++ type."""
    limits = spec.extra.get("limits", {})
    for name, cpp, value in numbers_of(form, args):
        low, high = limits.get(name, (0, _LARGEST.get(cpp)))
        if isinstance(value, Value) or is_tensor(value) or high is None:
            continue
        if not low <= value <= high:
            return error(
                "AT0108",
                f"{spec.name} with {name} = {value}",
                site,
                hint=f"{name} is {low} to {high}",
            )
    return None


# -- bytes ----------------------------------------------------------------------------------------


def dense(count: int, size: int, rows: int = 1) -> Offsets:
    """`count` elements one behind the other, in `rows` repeats."""
    return (np.arange(count) * size).reshape(rows, -1)


def strided(lanes: Array, repeat: int, block: int, step: int, size: int) -> Offsets:
    """The selected lanes of each repeat; strides in blocks, between blocks and between repeats."""
    per_block = BLOCK_BYTES // size
    within = lanes // per_block * (block * BLOCK_BYTES) + lanes % per_block * size
    found: Offsets = np.arange(repeat)[:, None] * (step * BLOCK_BYTES) + within
    return found


def plain(dtype: DataType) -> np.dtype[Any]:
    """Elements of a dtype as numbers that are only moved."""
    return np.dtype(f"u{dtype.sizeof()}")


Placed: TypeAlias = "tuple[Part, int]"


def shared(move: Move, placed: Sequence[Placed]) -> tuple[Part, Part, int] | None:
    """Two parts of one memory that share bytes as they must not, and how many bytes.

    `placed` are parts with the address of their operand.
    """
    spans = [
        (part, base, base + int(part.offsets.min()), base + part.stop())
        for part, base in placed
        if part.offsets.size
    ]
    reads = [span for span in spans if span[0].kind == READ]
    writes = [span for span in spans if span[0].kind != READ]
    pairs = [(w, r) for w in writes for r in reads]
    pairs += [(w, v) for w in writes for v in writes if w[0].kind == SCRATCH and v is not w]
    pairs = [(a, b) for a, b in pairs if a[2] < b[3] and b[2] < a[3]]
    if not pairs:
        return None
    if move.overlap == "repeat":
        to, source = (np.concatenate([p.bytes(base) for p, base, _, _ in side], axis=1)
                      for side in (writes, reads))  # fmt: skip
        count = _clash(to, source, same=True)
        return (pairs[0][0][0], pairs[0][1][0], count) if count else None
    for (write, at, _, _), (other, base, _, _) in pairs:
        to, source = write.bytes(at), other.bytes(base)
        apart = move.overlap == "apart" or SCRATCH in (write.kind, other.kind) or at != base
        count = np.intersect1d(to, source).size if apart else _clash(to, source, same=False)
        if count:
            return write, other, int(count)
    return None


def _clash(writes: Offsets, reads: Offsets, same: bool) -> int:
    """How many bytes a repeat reads that an earlier one writes; the rows are the repeats.

    With `same`, what one repeat reads and writes is the very same or apart.
    """
    low, rows = int(writes.min()), len(writes)
    first = np.full(int(writes.max()) - low + 1, rows, np.int64)
    np.minimum.at(first, writes - low, np.arange(rows)[:, None])
    inside = (reads >= low) & (reads < low + first.size)
    at = np.broadcast_to(np.arange(len(reads))[:, None], reads.shape)[inside]
    writer = first[reads[inside] - low]
    if not same:
        return int((writer < at).sum())
    for row in np.unique(at[writer == at]):
        both = np.intersect1d(writes[row], reads[row]).size
        if both != np.unique(writes[row]).size or both != np.unique(reads[row]).size:
            return int(both)
    return int((writer < at).sum())


# -- checks while tracing -------------------------------------------------------------------------


def check_operands(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """All tensors in UB and of dtypes that the chip executes together."""
    given = [tensor for _, tensor in tensors_of(args)]
    if spec.extra.get("one_dtype"):
        for tensor in given[1:]:
            if tensor.type.dtype is not given[0].type.dtype:
                raise error(
                    "AT0102",
                    f"{spec.name} on {describe(given[0])} and {describe(tensor)}: the dtypes "
                    "differ",
                    recorder.site(),
                    hint="all operands have one dtype",
                )
    check_tensors(spec, form, tuple(given), recorder)


def check_move(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """Numbers are in range; operands begin where the call can take them from, hold what it reaches
    and are apart where they have to be.
    """
    site, chip = recorder.site(), recorder.trace.chip
    if fault := bad_number(spec, form, args, site):
        raise fault
    if any(isinstance(v, Value) and not is_tensor(v) for v in _flat(args)):
        return
    call = Call(spec, form, tuple(map(_values, args)), chip.arch, site)
    move = spec.semantics(call) if spec.semantics is not None else None
    if move is None:
        return
    parts = [part for part in move.parts if part.where != MEMORY]
    for part in parts:
        tensor = operand(args, part.where)
        size = tensor.dtype.sizeof()
        if fault := (
            bad_start(spec, tensor, part.start, site)
            or rules.too_short(spec, tensor, -(-part.stop() // size), site)
        ):
            raise fault
    by_base: dict[int, list[Placed]] = {}
    for part in parts:
        tensor = operand(args, part.where)
        if tensor.offset is not None:
            by_base.setdefault(id(tensor.base), []).append((part, tensor.offset))
    for placed in by_base.values():
        if clash := shared(move, placed):
            raise overlap_fault(spec, args, *clash, site)


def overlap_fault(
    spec: OpSpec, args: Sequence[Any], write: Part, other: Part, nbytes: int, site: Site
) -> KernelError:
    """The error of two parts that share bytes."""
    dst, src = operand(args, write.where), operand(args, other.where)
    verb = "reads" if other.kind == READ else "writes"
    return error(
        "AT0117",
        f"{spec.name} writes {describe(dst)} and {verb} {describe(src)}: they share {nbytes} bytes",
        site,
        hint="keep the two apart",
    )


def bad_start(spec: OpSpec, tensor: Any, align: int, site: Site) -> KernelError | None:
    """An operand begins where the call takes it from."""
    rest = (tensor.offset or 0) % align
    if not rest:
        return None
    return error(
        "AT0103",
        f"{spec.name} on {describe(tensor)}, which begins {rest} bytes past a multiple of {align}",
        site,
        hint=f"begin at a multiple of {align // tensor.dtype.sizeof()} elements of {tensor.dtype}",
    )


def _values(arg: Any) -> Any:
    return arg.values if isinstance(arg, StructArg) else arg


def _flat(args: Sequence[Any]) -> Iterator[Any]:
    for arg in args:
        values = _values(arg)
        yield from values if isinstance(values, tuple) else (values,)


# -- rows -----------------------------------------------------------------------------------------


def move_row(
    family: str,
    name: str,
    cpp: str,
    doc: str,
    forms: tuple[Form, ...],
    signatures: Mapping[str, tuple[tuple[DataType, ...], ...]],
    semantics: Callable[[Call], Move | None],
    *,
    checks: tuple[Callable[[OpSpec, Form, tuple[Any, ...], Recorder], None], ...] = (),
    result: Callable[[Recorder, Form, tuple[Any, ...]], Value] | None = None,
    **extra: Any,
) -> OpSpec:
    """Add a row; `signatures` are the dtypes of the tensors in order, by architecture.

    Where all have one dtype (`one_dtype`), a signature has that alone.
    """
    dtypes = {arch: tuple(dict.fromkeys(s[0] for s in rows)) for arch, rows in signatures.items()}
    return register(
        OpSpec(
            name,
            cpp,
            family,
            doc,
            forms,
            pipe="V",
            dtypes=MappingProxyType(dtypes),
            signatures=MappingProxyType({} if extra.get("one_dtype") else dict(signatures)),
            checks=(check_operands, *checks, check_move),
            semantics=semantics,
            result=result,
            extra=MappingProxyType(extra),
        )
    )


def tensor(name: str, role: str = "in") -> Param:
    """A parameter that is a local tensor."""
    return Param(name, "local", role)


def counts_row(
    family: str,
    name: str,
    cpp: str,
    doc: str,
    key: str,
    before: str,
    lacks: dict[str, str],
    result: Callable[[Recorder, Form, tuple[Any, ...]], Value],
    outputs: int = 0,
) -> OpSpec:
    """Add a row that reads what an earlier call left behind in a register (`Contents.note`)."""

    def semantics(call: Call) -> Move:
        def data(contents: Contents) -> Data:
            found = contents.recall(key)
            if found is None:
                raise call.error("AT0203", f"reads what no {before} left there", f"call {before}")
            return Data((), lambda: (), found)

        return Move((), data=data)

    return register(
        OpSpec(
            name, cpp, family, doc, (Form("get", ()),), pipe="V", checks=(executes,),
            semantics=semantics, result=result,
            extra=MappingProxyType({"outputs": outputs, "lacks": lacks}),
        )
    )  # fmt: skip
