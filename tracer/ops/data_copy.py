"""The row of `data_copy`: whole 32-byte blocks between global memory, UB and L1.

Where the documentation and the headers that software emulation lives in do not agree (ND to NZ into
UB), only calls on which they agree are taken.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final

from ..chip import BLOCK_BYTES
from ..diagnostics import KernelError, Site, error
from ..language.dtypes import bfloat16, bool_, float32
from ..trace import Value
from . import rules
from ._copies import (
    BITS8,
    BITS16,
    BITS32,
    BITS64,
    MAX_BLOCKS,
    PLAIN,
    THROUGH_MATMUL,
    Bound,
    Call,
    Run,
    Runs,
    Way,
    check,
    is_known,
    outside,
    unsupported,
    written_twice,
)
from .spec import STRUCTS, Form, OpSpec, Param, register

# -- where to -------------------------------------------------------------------------------------

_ALL: Final = ("2201", "3510", "3002", "2002", "1001")
_TO_LOCAL: Final = {("GM", "UB"): _ALL, ("GM", "L1"): ("2201", "3510", "2002", "1001")}
_TO_GLOBAL: Final = {("UB", "GM"): _ALL, ("L1", "GM"): ("2201",)}
_ON_CHIP: Final = {("UB", "UB"): ("2201", "3510", "2002", "1001")}
#: What software does on the vector core.
_EMULATED: Final = ("2201", "3510", "2002")

# -- a count --------------------------------------------------------------------------------------


def _check_count(spec: OpSpec, call: Call, values: tuple[Any, ...], site: Site) -> Any:
    (count,) = values
    return None if isinstance(count, Value) else rules.bad_copy(spec, count, call.dtype, site)


def _count_runs(call: Call, values: tuple[Any, ...]) -> Runs:
    nbytes = values[0] * call.size
    return (Run((), nbytes),) if nbytes else ()


# -- blocks with gaps -----------------------------------------------------------------------------


def _check_blocks(spec: OpSpec, call: Call, values: tuple[Any, ...], site: Site) -> Any:
    count, length, src_gap, dst_gap = values[0]
    bounds: tuple[Bound, ...] = (
        ("block_count", count, 0, MAX_BLOCKS, 1),
        ("block_len", length, 0, 65535, 1),
        ("src_stride", src_gap, 0, 65535, 1),
        ("dst_stride", dst_gap, 0, 65535, 1),
    )
    return outside(spec, bounds, site)


def _block_runs(call: Call, values: tuple[Any, ...]) -> Runs:
    count, length, src_gap, dst_gap = values[0]
    if not count or not length:
        return ()
    if count == 1 or src_gap == dst_gap == 0:
        return (Run((), count * length * BLOCK_BYTES),)
    steps = (length + dst_gap) * BLOCK_BYTES, (length + src_gap) * BLOCK_BYTES
    return (Run(((count, *steps),), length * BLOCK_BYTES),)


def _check_enhanced(spec: OpSpec, call: Call, values: tuple[Any, ...], site: Site) -> Any:
    cls: Any = STRUCTS["enhanced"]
    changed = [
        name
        for name, value, default in zip(cls.__slots__, values[1], cls.defaults, strict=True)
        if isinstance(value, Value) or value != default
    ]
    if changed:
        return unsupported(
            spec,
            f"with DataCopyEnhancedParams that sets {', '.join(changed)}",
            "between global memory, UB and L1 the data moves as it is; scaling and fractal units "
            "are for copies of the cube's results",
            site,
        )
    return _check_blocks(spec, call, values, site)


# -- slices ---------------------------------------------------------------------------------------

_MAX_DIMS: Final = 8
#: Rows that the emulation has room for.
_MAX_ROWS: Final = 1536


def _pieces(slice: tuple[int, ...], one: int) -> int | None:
    """How many pieces of `one` elements a slice has; None when they do not fill it."""
    start, end, stride, _, _ = slice
    whole, rest = divmod(end - start + 1 + stride, one + stride)
    return None if rest else whole


def _one(call: Call, slice: tuple[int, ...], dim: int) -> int:
    """Elements (rows in outer dimensions) of a piece."""
    return slice[3] * BLOCK_BYTES // call.size if dim == 0 else 1


def _check_slices(spec: OpSpec, call: Call, values: tuple[Any, ...], site: Site) -> Any:
    dst, src, dims = values
    fields: Any = STRUCTS["slice"].__slots__
    for info in (*dst, *src):
        bounds = ((name, value, 0, 2**32 - 1, 1) for name, value in zip(fields, info, strict=True))
        if fault := outside(spec, bounds, site):
            return fault
    if not is_known(values):
        return None

    def wrong(what: str, hint: str, code: str = "AT0108") -> KernelError:
        return error(code, f"{spec.name} of slices {what}", site, hint=hint)

    if not len(dst) == len(src) == dims <= _MAX_DIMS:
        return wrong(
            f"with {len(dst)} and {len(src)} SliceInfo and dim_value = {dims}",
            f"give as many of each as dim_value says, 1 to {_MAX_DIMS}",
        )
    rows = 1
    for dim in range(dims):
        for side, info in (("destination", dst[dim]), ("source", src[dim])):
            start, end, stride, burst, shape = info
            where = f"dimension {dim} of the {side}"
            if start >= end or (shape and end >= shape):
                return wrong(
                    f"from {start} to {end} of {shape} in {where}",
                    "start_index < end_index < shape_value, counted from 0",
                )
            if not shape and dims > 1:
                return wrong(f"without shape_value in {where}", "give the length of the dimension")
            if (dim and burst != 1) or not burst:
                return wrong(
                    f"with burst_len = {burst} in {where}",
                    "burst_len is 1 in the outer dimensions, at least 1 in the innermost",
                )
            if not _pieces(info, _one(call, info, dim)):
                return wrong(
                    f"from {start} to {end} in {where}, which pieces of "
                    f"{_one(call, info, dim)} and gaps of {stride} do not fill",
                    "end_index - start_index + 1 = (n - 1) * stride + n * length of a piece",
                )
        pieces = [_pieces(info[dim], _one(call, info[dim], dim)) for info in (dst, src)]
        if dst[dim][3] != src[dim][3] or pieces[0] != pieces[1]:
            return wrong(
                f"with {pieces[0]} pieces of {dst[dim][3]} in the destination and {pieces[1]} of "
                f"{src[dim][3]} in the source in dimension {dim}",
                "both sides have the same pieces",
            )
        rows *= 1 if dim == 0 else pieces[0] or 1
    if rows > _MAX_ROWS:
        return wrong(f"of {rows} rows", f"at most {_MAX_ROWS} rows: split the call")
    (run,) = _slice_runs(call, values)
    local = 0 if call.dst == "UB" else 1
    steps = [(run.dst, run.src)[local], *(axis[1 + local] for axis in run.axes)]
    if any(step % BLOCK_BYTES for step in steps):
        return wrong(
            "whose pieces in UB begin between blocks of 32 bytes",
            "starts, gaps and rows in UB are multiples of 32 bytes",
            "AT0103",
        )
    gap = src[0][2] * call.size
    if call.dst == "UB" and gap % BLOCK_BYTES and run.nbytes > 65535:
        return wrong(
            f"with pieces of {run.nbytes} bytes and gaps of {gap}",
            "with gaps that are no multiple of 32 bytes a piece has less than 65536",
        )
    return None


def _slice_runs(call: Call, values: tuple[Any, ...]) -> Runs:
    dst, src, dims = values
    axes, at = [], [0, 0]
    pitch = [1, 1]
    for dim in range(dims):
        one = _one(call, src[dim], dim)
        steps = []
        for k, info in enumerate((dst[dim], src[dim])):
            at[k] += info[0] * pitch[k] * call.size
            steps.append((one + info[2]) * pitch[k] * call.size)
            pitch[k] *= info[4]
        axes.append((_pieces(src[dim], one) or 0, *steps))
    return (Run(tuple(reversed(axes)), src[0][3] * BLOCK_BYTES, at[0], at[1]),)


# -- fractals -------------------------------------------------------------------------------------


def _check_nd2nz(spec: OpSpec, call: Call, values: tuple[Any, ...], site: Site) -> Any:
    nd, n, d, src_nd, src_d, c0_stride, n_stride, nz = values[0]
    bounds: tuple[Bound, ...] = (
        ("nd_num", nd, 0, MAX_BLOCKS, 1),
        ("n_value", n, 0, 16384, 1),
        ("d_value", d, 0, 65535, 1),
        ("src_nd_matrix_stride", src_nd, 0, 65535, 1),
        ("src_d_value", src_d, 1, 65535, 1),
        ("dst_nz_c0_stride", c0_stride, 1, 16384, 1),
        ("dst_nz_n_stride", n_stride, 1, 16384, 1),
        ("dst_nz_matrix_stride", nz, 0, 16384, BLOCK_BYTES // call.size),
    )
    if fault := outside(spec, bounds, site):
        return fault
    if call.dst == "UB" and (fault := _check_emulated(spec, call, values, site)):
        return fault
    if not is_known(values):
        return None
    return written_twice(spec, _nd2nz_runs(call, values), site)


def _check_emulated(spec: OpSpec, call: Call, values: tuple[Any, ...], site: Site) -> Any:
    """Into UB only what the documentation and the emulation in the headers agree on."""
    nd, n, d, src_nd, src_d, _, n_stride, nz = values[0]
    differs = {
        "float32 tensors": call.dtype is float32,
        "several matrices": not isinstance(nd, Value) and nd > 1,
        "matrix strides other than 0": any(not isinstance(s, Value) and s for s in (src_nd, nz)),
        "dst_nz_n_stride other than 1": not isinstance(n_stride, Value) and n_stride != 1,
        "rows that end inside a block": not isinstance(d, Value) and d * call.size % BLOCK_BYTES,
        "more than 255 rows with gaps": is_known((n, d, src_d)) and n > 255 and src_d != d,
    }
    found = [what for what, wrong in differs.items() if wrong]
    if not found:
        return None
    return unsupported(
        spec,
        f"from ND to NZ in UB with {', '.join(found)}",
        "software emulates it, and there its headers and the documentation differ: copy the rows "
        "with DataCopyParams",
        site,
    )


def _nd2nz_runs(call: Call, values: tuple[Any, ...]) -> Runs:
    nd, n, d, src_nd, src_d, c0_stride, n_stride, nz = values[0]
    size = call.size
    if not (nd and n and d):
        return ()
    full, tail = divmod(d * size, BLOCK_BYTES)
    rows = ((nd, nz * size, src_nd * size), (n, n_stride * BLOCK_BYTES, src_d * size))
    column = c0_stride * BLOCK_BYTES
    runs = []
    if full:
        runs.append(Run((*rows, (full, column, BLOCK_BYTES)), BLOCK_BYTES))
    if tail:
        at, rest = full * column, BLOCK_BYTES - tail
        runs.append(Run(rows, tail, at, full * BLOCK_BYTES))
        runs.append(Run(rows, rest, at + tail, fill=bytes(rest)))
    return tuple(runs)


def _check_nz2nd(spec: OpSpec, call: Call, values: tuple[Any, ...], site: Site) -> Any:
    nd, n, d, src_nd, src_n, dst_d, dst_nd = values[0]
    bounds: tuple[Bound, ...] = (
        ("nd_num", nd, 0, MAX_BLOCKS, 1),
        ("n_value", n, 1, 8192, 1),
        ("d_value", d, 1, 8192, _FRACTAL),
        ("src_nd_matrix_stride", src_nd, 1, 512, 1),
        ("src_n_stride", src_n, 0, 4096, 1),
        ("dst_d_stride", dst_d, 1, 65535, 1),
        ("dst_nd_matrix_stride", dst_nd, 1, 65535, 1),
    )
    if fault := outside(spec, bounds, site):
        return fault
    return written_twice(spec, _nz2nd_runs(call, values), site) if is_known(values) else None


_FRACTAL: Final = 16


def _nz2nd_runs(call: Call, values: tuple[Any, ...]) -> Runs:
    nd, n, d, src_nd, src_n, dst_d, dst_nd = values[0]
    size = call.size
    if not nd:
        return ()
    row = _FRACTAL * size
    axes = (
        (nd, dst_nd * size, src_nd * _FRACTAL * row),
        (d // _FRACTAL, row, src_n * row),
        (n, dst_d * size, row),
    )
    return (Run(axes, row),)


# -- the row --------------------------------------------------------------------------------------

_SMALL: Final = (*BITS8, *BITS16, *BITS32)
_NO_BFLOAT: Final = tuple(dtype for dtype in _SMALL if dtype is not bfloat16)
_SLICED: Final = {"2201": _SMALL, "3510": (bool_, *_SMALL, *BITS64), "2002": _NO_BFLOAT}
_ND2NZ: Final = {"2201": _SMALL, "3510": (bool_, *_SMALL), "2002": _NO_BFLOAT}
_NZ2ND: Final = {
    "2201": (*BITS16, *BITS32),
    # Rows of one-byte fractals are half a block: the documentation does not say where they lie.
    "3510": (*BITS16, *BITS32, *BITS64),
    "2002": tuple(dtype for dtype in (*BITS16, *BITS32) if dtype is not bfloat16),
}

_COUNT: Final = (Param("count", "int", cpp="uint32_t"),)
_BLOCKS: Final = (Param("repeat_params", "blocks"),)
_ENHANCED: Final = (Param("intri_params", "blocks"), Param("enhanced_params", "enhanced"))
_SLICES: Final = (
    Param("slice_list1", "slices"),
    Param("slice_list2", "slices"),
    Param("dim_value", "int", cpp="uint32_t"),
)
_SLICED_IN: Final = {("GM", "UB"): _EMULATED}
_SLICED_OUT: Final = {("UB", "GM"): _EMULATED}
_FRACTAL_IN: Final = {("GM", "L1"): _EMULATED, ("GM", "UB"): _EMULATED}

_IN: Final = ("local", "global", "MTE2")
_OUT: Final = ("global", "local", "MTE3")
_HERE: Final = ("local", "local", "V")

#: Overload -> destination, source and pipe; the parameters behind the tensors; where and how.
_OVERLOADS: Final[dict[str, tuple[Any, tuple[Param, ...], Way]]] = {
    "in": (_IN, _COUNT, Way(_check_count, _count_runs, _TO_LOCAL, PLAIN)),
    "local": (_HERE, _COUNT, Way(_check_count, _count_runs, _ON_CHIP, PLAIN)),
    "out": (_OUT, _COUNT, Way(_check_count, _count_runs, _TO_GLOBAL, PLAIN)),
    "blocks_in": (_IN, _BLOCKS, Way(_check_blocks, _block_runs, _TO_LOCAL, PLAIN)),
    "blocks_local": (_HERE, _BLOCKS, Way(_check_blocks, _block_runs, _ON_CHIP, PLAIN)),
    "blocks_out": (_OUT, _BLOCKS, Way(_check_blocks, _block_runs, _TO_GLOBAL, PLAIN)),
    "enhanced_in": (_IN, _ENHANCED, Way(_check_enhanced, _block_runs, _TO_LOCAL, PLAIN)),
    "enhanced_local": (_HERE, _ENHANCED, Way(_check_enhanced, _block_runs, _ON_CHIP, PLAIN)),
    "enhanced_out": (_OUT, _ENHANCED, Way(_check_enhanced, _block_runs, _TO_GLOBAL, PLAIN)),
    "slices_out": (_OUT, _SLICES, Way(_check_slices, _slice_runs, _SLICED_OUT, _SLICED)),
    "slices_in": (_IN, _SLICES, Way(_check_slices, _slice_runs, _SLICED_IN, _SLICED)),
    "nd2nz_in": (
        _IN,
        (Param("intri_params", "nd2nz"),),
        Way(_check_nd2nz, _nd2nz_runs, _FRACTAL_IN, _ND2NZ),
    ),
    "nz2nd_out": (
        _OUT,
        (Param("intri_params", "nz2nd"),),
        Way(_check_nz2nd, _nz2nd_runs, _SLICED_OUT, _NZ2ND),
    ),
}


def _form(name: str) -> Form:
    (dst, src, pipe), params, _ = _OVERLOADS[name]
    return Form(name, (Param("dst", dst, "out"), Param("src", src, "in"), *params), pipe)


DATA_COPY = register(
    OpSpec(
        "data_copy",
        "DataCopy",
        "copies",
        "Copy whole blocks of 32 bytes (`DataCopy`): `count` elements, blocks with gaps "
        "(`DataCopyParams`), slices of a tensor with up to eight dimensions, or matrices on their "
        "way from rows to fractals (`Nd2NzParams`) and back (`Nz2NdParamsFull`). Local addresses "
        "are multiples of 32 bytes. GM to UB or L1 runs on MTE2, UB or L1 to GM on MTE3, UB to UB "
        "on V. `slice_list1` is of the destination, the innermost dimension first; "
        "`DataCopyEnhancedParams` are taken with their defaults only. Where rows of ND matrices "
        "end inside a block, the rest of it becomes 0.",
        tuple(map(_form, _OVERLOADS)),
        pipe="MTE2",
        checks=(check,),
        extra=MappingProxyType(
            {
                "ways": {name: row[2] for name, row in _OVERLOADS.items()},
                "refused": (
                    (
                        Form(
                            "nd2nz_to_l1",
                            (
                                Param("dst", "local", "out"),
                                Param("src", "local", "in"),
                                Param("intri_params", "nd2nz"),
                            ),
                        ),
                        THROUGH_MATMUL,
                    ),
                ),
            }
        ),
    )
)
