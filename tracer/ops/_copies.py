"""What data movement shares: copies as runs of bytes, where they go on which chip, their checks.

An overload of a copy is a `Way`. Its `runs` say which bytes of the source go where in the
destination, and which bytes there are filled; bounds, overlap, race data and the simulator's work
follow from them. Rows check what is known while tracing, the simulator the rest by the same
functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ..chip import BLOCK_BYTES
from ..diagnostics import KernelError, Site, error
from ..language.dtypes import (
    DataType,
    bfloat16,
    bool_,
    float16,
    float32,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)
from ..language.enums import MEMORY
from ..language.structs import StructArg
from ..language.types import LocalTensorType
from ..trace import Recorder, Value, describe
from . import rules
from .spec import Form, OpSpec

# -- dtypes ---------------------------------------------------------------------------------------

BITS8: Final = (int8, uint8)
BITS16: Final = (int16, uint16, float16, bfloat16)
BITS32: Final = (int32, uint32, float32)
BITS64: Final = (int64, uint64)
ANY: Final = (*BITS8, *BITS16, *BITS32, *BITS64)
#: The chips without bfloat16.
NO_BFLOAT: Final = tuple(dtype for dtype in ANY if dtype is not bfloat16)
#: What plain copies take.
PLAIN: Final = {
    "2201": ANY, "3510": (bool_, *ANY), "3002": ANY, "2002": NO_BFLOAT, "1001": NO_BFLOAT,
}  # fmt: skip

# -- runs of bytes --------------------------------------------------------------------------------

#: Bytes that the hardware fills with what the documentation does not say.
UNDEFINED: Final = "undefined"
#: Bytes filled with the number of `set_pad_value`.
REGISTER: Final = "register"
DST: Final = 0
SRC: Final = 1


class Number:
    """Bytes filled with a number, as elements of the destination's dtype."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Run:
    """`nbytes` in a row at each point of a grid.

    `axes` are (how many, distance in the destination, distance in the source), the outermost first;
    `dst` and `src` the offsets of the first point, all in bytes. Without `fill` the bytes are
    copied, else they are filled with these bytes or what else `fill` says.
    """

    __slots__ = ("axes", "dst", "fill", "nbytes", "src")

    def __init__(
        self,
        axes: tuple[tuple[int, int, int], ...],
        nbytes: int,
        dst: int = 0,
        src: int = 0,
        fill: bytes | str | Number | None = None,
    ) -> None:
        self.axes = axes
        self.nbytes = nbytes
        self.dst = dst
        self.src = src
        self.fill = fill


Runs: TypeAlias = "tuple[Run, ...]"
#: Disjoint ranges in order: their starts and ends.
Ranges: TypeAlias = "tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]"


def _of(runs: Runs, side: int) -> list[Run]:
    return [run for run in runs if side == DST or run.fill is None]


def extent(runs: Runs, side: int) -> int:
    """How many bytes from the start of an operand a copy reaches."""
    if len(runs) == 1 and not runs[0].axes:
        run = runs[0]
        if side and run.fill is not None:
            return 0
        return (run.src if side else run.dst) + run.nbytes
    return max(
        (
            (run.src if side else run.dst)
            + sum((axis[0] - 1) * axis[1 + side] for axis in run.axes)
            + run.nbytes
            for run in _of(runs, side)
        ),
        default=0,
    )


def ranges(runs: Runs, side: int) -> Ranges:
    """The bytes of an operand that a copy touches."""
    starts, stops = [], []
    for run in _of(runs, side):
        points = np.array([run.src if side else run.dst], np.int64)
        for axis in run.axes:
            points = (points[:, None] + np.arange(axis[0]) * axis[1 + side]).reshape(-1)
        starts.append(points)
        stops.append(points + run.nbytes)
    if not starts:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    start, stop = np.concatenate(starts), np.concatenate(stops)
    order = np.argsort(start, kind="stable")
    start, stop = start[order], np.maximum.accumulate(stop[order])
    apart = start[1:] > stop[:-1]
    return start[np.r_[True, apart]], stop[np.r_[apart, True]]


def _covered(part: Ranges) -> int:
    return int((part[1] - part[0]).sum())


def written_twice(spec: OpSpec, runs: Runs, site: Site) -> KernelError | None:
    """No byte of the destination is written twice: the hardware keeps no order."""
    total = sum(run.nbytes * int(np.prod([axis[0] for axis in run.axes])) for run in runs)
    twice = total - _covered(ranges(runs, DST))
    if not twice:
        return None
    return error(
        "AT0117",
        f"{spec.name} writes {twice} bytes of its destination twice",
        site,
        hint="make the distances in the destination larger: nothing says which write comes last",
    )


def bad_overlap(
    spec: OpSpec, dst: Any, src: Any, at: tuple[int, int], runs: Runs, site: Site
) -> KernelError | None:
    """A copy in one memory, from `at[1]` to `at[0]`, writes the bytes that it reads or others."""
    if at[0] >= at[1] + extent(runs, SRC) or at[1] >= at[0] + extent(runs, DST):
        return None
    same = at[0] == at[1] and all(
        run.dst == run.src and all(axis[1] == axis[2] for axis in run.axes) for run in runs
    )
    if same:
        return None
    (to, to_stop), (start, stop) = ranges(runs, DST), ranges(runs, SRC)
    # What the two cover together, and what each covers alone.
    firsts = np.concatenate([to + at[0], start + at[1]])
    order = np.argsort(firsts, kind="stable")
    lasts = np.concatenate([to_stop + at[0], stop + at[1]])[order]
    firsts, lasts = firsts[order], np.maximum.accumulate(lasts)
    apart = firsts[1:] >= lasts[:-1]
    union = int((lasts[np.r_[apart, True]] - firsts[np.r_[True, apart]]).sum())
    shared = _covered((to, to_stop)) + _covered((start, stop)) - union
    return rules.partial_overlap(spec, dst, src, shared, site) if shared else None


# -- calls ----------------------------------------------------------------------------------------


class Call:
    """What is known of every call: the dtype, the architecture, from which memory to which."""

    __slots__ = ("arch", "dst", "dtype", "size", "src")

    def __init__(self, dtype: DataType, arch: str, src: str, dst: str) -> None:
        self.dtype = dtype
        self.size = dtype.sizeof()
        self.arch = arch
        self.src = src
        self.dst = dst


class Way:
    """One overload of a copy.

    `check(spec, call, values, site)` finds a number that cannot be; operands of `values` may still
    be runtime scalars. `runs(call, values)` needs all numbers. `routes` are (from, to) and the
    architectures that have it, `dtypes` those of each architecture, `tensors` how many operands
    come before the numbers.
    """

    __slots__ = ("check", "dtypes", "routes", "runs", "tensors")

    def __init__(
        self,
        check: Callable[[OpSpec, Call, tuple[Any, ...], Site], KernelError | None],
        runs: Callable[[Call, tuple[Any, ...]], Runs],
        routes: Mapping[tuple[str, str], tuple[str, ...]],
        dtypes: Mapping[str, tuple[DataType, ...]],
        tensors: int = 2,
    ) -> None:
        self.check = check
        self.runs = runs
        self.routes = routes
        self.dtypes = dtypes
        self.tensors = tensors


def memory_of(tensor: Any) -> str:
    """The memory that a tensor lives in."""
    kind = tensor.type
    return MEMORY[kind.position] if type(kind) is LocalTensorType else "GM"


def call_of(args: Sequence[Any], way: Way, arch: str) -> Call:
    """The facts of a call from its operands."""
    dst = args[0]
    source = memory_of(args[1]) if way.tensors > 1 else ""
    return Call(dst.type.dtype, arch, source, memory_of(dst))


def plain(arg: Any) -> Any:
    """Structs as tuples of their fields."""
    if isinstance(arg, StructArg):
        return arg.values
    return tuple(map(plain, arg)) if isinstance(arg, tuple) else arg


def is_known(value: tuple[Any, ...]) -> bool:
    """Whether no part is a runtime scalar."""
    for part in value:
        if isinstance(part, Value) or (part.__class__ is tuple and not is_known(part)):
            return False
    return True


#: A number of a call: its name, the number, the least and the largest, what it is a multiple of.
Bound: TypeAlias = tuple[str, Any, int, int, int]


def outside(spec: OpSpec, bounds: Iterable[Bound], site: Site) -> KernelError | None:
    """Each number is an integer and, where it is known, in its range."""
    for name, value, low, high, step in bounds:
        if isinstance(value, Value):
            if value.type.kind == "f":
                return _no_integer(spec, name, describe(value), site)
            continue
        if not isinstance(value, int | np.integer):
            return _no_integer(spec, name, repr(value), site)
        if not low <= value <= high:
            return error(
                "AT0108",
                f"{spec.name} with {name} = {value}",
                site,
                hint=f"{name} is {low} to {high}",
            )
        if value % step:
            return error(
                "AT0103",
                f"{spec.name} with {name} = {value}, not a multiple of {step}",
                site,
                hint=f"give a multiple of {step}",
            )
    return None


def _no_integer(spec: OpSpec, name: str, value: str, site: Site) -> KernelError:
    return error(
        "AT0106",
        f"{spec.name} with {name} = {value}",
        site,
        hint=f"{name} is an integer; Python's / gives a float, // an integer",
    )


def bad_element(
    spec: OpSpec, name: str, value: Any, dtype: DataType, site: Site
) -> KernelError | None:
    """A number that elements of integers hold is one of them."""
    if isinstance(value, Value) or dtype.is_float():
        return None
    if value != value or value in (float("inf"), -float("inf")) or int(value) != value:
        return error(
            "AT0102",
            f"{spec.name} of {dtype} with {name} = {value}",
            site,
            hint="give an integer",
        )
    return outside(spec, ((name, value, dtype.lo, dtype.hi, 1),), site)


def unsupported(spec: OpSpec, what: str, why: str, site: Site) -> KernelError:
    """The error of a call that Ascend C has and that is refused here."""
    return error("AT0306", f"{spec.name} {what}", site, hint=why)


# -- the check of a row ---------------------------------------------------------------------------

THROUGH_MATMUL: Final = (
    "the headers send it through the workspace of a Matmul object, which kernels here cannot have "
    "yet: copy to global memory and from there to L1"
)
#: Why a route does not exist here.
NO_ROUTE: Final = {
    ("UB", "L1"): THROUGH_MATMUL,
    ("L1", "UB"): "no chip copies from L1 to UB by this function: go through global memory",
    **dict.fromkeys((("L1", "BT"), ("", "L0A"), ("", "L0B")), "it comes with the matrix functions"),
}


#: Ways, architectures and types of tensors that go together, and what follows from them.
_ACCEPTED: dict[tuple[Any, ...], Call] = {}
#: The same with all numbers of a call, and its runs and how many elements they reach.
_REACHED: dict[tuple[Any, ...], tuple[Runs, tuple[int, ...]]] = {}
_MAX_REACHED: Final = 4096


def check(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The chip copies this dtype from there to there; local operands begin at multiples of 32
    bytes; numbers are in range; operands hold what the call reaches; nothing is written twice, or
    read and written at different places.
    """
    way: Way = spec.extra["ways"][form.name]
    count = way.tensors
    tensors, rest = args[:count], args[count:]
    key = (id(way), recorder.trace.chip.arch, tensors[0].type, tensors[-1].type)
    call = _ACCEPTED.get(key)
    if call is None:
        call = _ACCEPTED[key] = _accepted(spec, way, tensors, recorder)
    for tensor in tensors:
        if tensor.type.__class__ is LocalTensorType and tensor.offset:
            _start(spec, tensor, recorder)
    plain = rest[0].__class__ is int
    values = rest if plain else _numbers(spec, call, rest, recorder)
    if not is_known(values):
        if fault := way.check(spec, call, values, recorder.site()):
            raise fault
        return
    # An integer equals a float of the same value, which is refused.
    whole = (key, values) if plain else (key, values, repr(values))
    reached = _REACHED.get(whole)
    if reached is None:
        if fault := way.check(spec, call, values, recorder.site()):
            raise fault
        runs = way.runs(call, values)
        counts = tuple(-(-extent(runs, side) // call.size) for side in range(count))
        if len(_REACHED) >= _MAX_REACHED:
            _REACHED.clear()
        reached = _REACHED[whole] = runs, counts
    for tensor, need in zip(tensors, reached[1], strict=True):
        if tensor.size.__class__ is int and need > tensor.size:
            raise rules.too_short(spec, tensor, need, recorder.site())  # type: ignore[misc]
    if call.src == call.dst and reached[0]:
        _check_overlap(spec, tensors, reached[0], recorder)


def _start(spec: OpSpec, tensor: Any, recorder: Recorder) -> None:
    if fault := rules.bad_start(spec, tensor, recorder.site()):
        raise fault


def _numbers(
    spec: OpSpec, call: Call, rest: tuple[Any, ...], recorder: Recorder
) -> tuple[Any, ...]:
    """The numbers of a call; a struct with an element type has that of the tensors."""
    for arg in rest:
        if arg.__class__ is StructArg and arg.dtype not in (None, call.dtype):
            raise error(
                "AT0102",
                f"{spec.name} of {call.dtype} with {arg.cls.__name__} of {arg.dtype}",
                recorder.site(),
                hint=f"make it {arg.cls.__name__}({call.dtype}, ...)",
            )
    return tuple(map(plain, rest))


def _check_overlap(spec: OpSpec, tensors: Sequence[Any], runs: Runs, recorder: Recorder) -> None:
    """Two operands in one memory whose places are known."""
    dst, src = tensors
    if dst.base is not src.base or dst.offset is None or src.offset is None:
        return
    site = recorder.site()
    if fault := bad_overlap(spec, dst, src, (dst.offset, src.offset), runs, site):
        raise fault


def _accepted(spec: OpSpec, way: Way, tensors: Sequence[Any], recorder: Recorder) -> Call:
    """The facts of a call whose tensors go together."""
    if way.tensors > 1 and tensors[0].dtype is not tensors[1].dtype:
        raise error(
            "AT0102",
            f"{spec.name} from {describe(tensors[1])} to {describe(tensors[0])}: the dtypes differ",
            recorder.site(),
            hint="copy between tensors of one dtype",
        )
    call = call_of(tensors, way, recorder.trace.chip.arch)
    _check_route(spec, way, call, tensors, recorder)
    return call


def _check_route(
    spec: OpSpec, way: Way, call: Call, tensors: Sequence[Any], recorder: Recorder
) -> None:
    """The memories are reached, on this chip, with this dtype."""
    chip = recorder.trace.chip
    arches = way.routes.get((call.src, call.dst))
    names = [describe(tensor) for tensor in reversed(tensors)]
    what = f"from {names[0]} to {names[1]}" if len(names) > 1 else f"on {names[0]}"
    if arches is None:
        reason = NO_ROUTE.get((call.src, call.dst))
        if reason is not None:
            raise unsupported(spec, what, reason, recorder.site())
        reached = {memory for route in way.routes for memory in route if memory}
        far = next((t for t in tensors if memory_of(t) not in reached), tensors[0])
        ways = ", ".join(f"from {a} to {b}" if a else f"in {b}" for a, b in way.routes)
        raise error(
            "AT0116",
            f"{spec.name} does not reach {describe(far)}",
            recorder.site(),
            hint=f"this form works {ways}",
        )
    if fault := rules.not_on_chip(spec, arches, chip, recorder.site(), what):
        raise fault
    if call.dtype not in way.dtypes.get(chip.arch, ()):
        table = "\n".join(
            f"{arch}: {', '.join(dtype.name for dtype in dtypes)}"
            for arch, dtypes in way.dtypes.items()
        )
        raise error(
            "AT0102",
            f"{spec.name} of {call.dtype} is not executed by {chip.name} (architecture "
            f"{chip.arch})",
            recorder.site(),
            table=f"in this form it takes, by architecture:\n{table}",
            hint="reinterpret_cast the tensors to a dtype of the same size",
        )


# -- blocks ---------------------------------------------------------------------------------------

#: The most blocks of one copy.
MAX_BLOCKS: Final = 4095


def slot_of(nbytes: int) -> int:
    """Bytes rounded up to whole blocks."""
    return -(-nbytes // BLOCK_BYTES) * BLOCK_BYTES
