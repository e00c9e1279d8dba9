"""Rows that rearrange blocks: `transpose` and `trans_data_to_5hd`.

A repeat of `trans_data_to_5hd` reads the 16 blocks at the places of the source list. Elements of
two bytes: block j of the destination has element j of each. Of four bytes: blocks 2j and 2j + 1
have. Of one byte: half of a block, low or high, to half of a block, the other half stays. With one
repeat the strides count too, as documented: the lists then begin a stride later.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from ..chip import BLOCK_BYTES
from ..diagnostics import error
from ..language.dtypes import (
    DataType,
    bfloat16,
    float16,
    float32,
    int8,
    int16,
    int32,
    uint8,
    uint16,
    uint32,
    uint64,
)
from ..language.enums import MEMORY as MEMORY_OF
from ..language.enums import TransposeType
from ..trace import Op, Recorder, Value, describe, walk
from ._moves import (
    MEMORY,
    READ,
    SCRATCH,
    WRITE,
    Call,
    Contents,
    Data,
    Move,
    Part,
    Where,
    Work,
    check_move,
    check_operands,
    dense,
    move_row,
    plain,
    tensor,
)
from .spec import Form, OpSpec, Param, register
from .tensor import LOCAL_SET_VALUE
from .tensor_info import LOCAL_GET_PHY_ADDR

#: Rows and columns of a plain transpose, and places of a list.
SIDE: Final = 16

_MOVED: Final = (int8, uint8, int16, uint16, float16, int32, uint32, float32)
_B16: Final = (int16, uint16, float16)

# -- transpose ------------------------------------------------------------------------------------


def _square(call: Call) -> Move:
    element = plain(call.dtype())
    grid = np.arange(SIDE * SIDE).reshape(SIDE, SIDE) * element.itemsize
    parts = (
        Part(0, grid.reshape(1, -1), element, WRITE),
        Part(1, grid.T.reshape(1, -1), element, READ),
    )
    return Move(parts, lambda values: (values,), overlap="repeat")


def scratch_bytes(kind: TransposeType, channels: int, dtype: DataType, arch: str) -> int:
    """Bytes that `shared_tmp_buffer` of a transpose needs."""
    if kind is TransposeType.TRANSPOSE_ND2ND_B16 or arch == "2002":
        return 0
    height = 32 if dtype.bits == 8 else 16
    factor = channels + 2 if kind is TransposeType.TRANSPOSE_NCHW2NHWC else channels * 2 + 1
    return factor * height * BLOCK_BYTES


_IMAGES: Final = {"2201": _MOVED, "3510": (*_MOVED, bfloat16), "2002": _MOVED}
#: What extended transposes take, by type and architecture.
_TYPES: Final[dict[TransposeType, dict[str, tuple[DataType, ...]]]] = {
    TransposeType.TRANSPOSE_ND2ND_B16: {
        "2201": (uint16,), "3510": _B16, "3002": (uint16,), "2002": (uint16,),
    },
    TransposeType.TRANSPOSE_NCHW2NHWC: _IMAGES,
    TransposeType.TRANSPOSE_NHWC2NCHW: _IMAGES,
}  # fmt: skip
_LARGEST: Final = 4095


def check_type(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The type is one that the chip has for these dtypes."""
    kind = args[3].values[4] if form.name == "extended" else None
    dtype, chip = args[0].type.dtype, recorder.trace.chip
    site = recorder.site()
    if kind is TransposeType.TRANSPOSE_TYPE_NONE:
        return
    if kind is not None and kind not in _TYPES:
        raise error(
            "AT0306", f"{spec.name} with {kind.name}", site,
            hint="Ascend C does not implement it: choose TRANSPOSE_ND2ND_B16, "
            "TRANSPOSE_NCHW2NHWC or TRANSPOSE_NHWC2NCHW",
        )  # fmt: skip
    taken = _B16 if kind is None else _TYPES[kind].get(chip.arch, ())
    if dtype not in taken:
        what = f" with {kind.name}" if kind is not None else ""
        names = ", ".join(t.name for t in taken) or "nothing"
        raise error(
            "AT0102",
            f"{spec.name}{what} on {dtype} is not executed by {chip.name} "
            f"(architecture {chip.arch})",
            site,
            hint=f"it takes {names}: reinterpret_cast changes the dtype, not the bytes",
        )


def _sizes(call: Call) -> tuple[int, int, int]:
    """Images, channels and elements of a plane, all of them in range."""
    n, c, h, w, kind = call["params"]
    size = call.dtype().sizeof()
    plane = h * w
    if kind is TransposeType.TRANSPOSE_ND2ND_B16:
        if (h, w) != (SIDE, SIDE):
            raise call.error(
                "AT0108", f"of {h} x {w} elements", f"{kind.name} is {SIDE} x {SIDE}"
            )  # fmt: skip
        return n, c, plane
    if c > _LARGEST or plane > _LARGEST:
        raise call.error(
            "AT0108",
            f"with {c} channels of {h} x {w} elements",
            f"c_size and h_size * w_size are at most {_LARGEST}",
        )
    if plane * size % BLOCK_BYTES:
        raise call.error(
            "AT0103",
            f"of {h} x {w} elements of {call.dtype()} is {plane * size} bytes, no multiple of "
            f"{BLOCK_BYTES}",
            "make h_size * w_size elements fill whole blocks",
        )
    return n, c, plane


def _transpose(call: Call) -> Move | None:
    if call.form.name == "square":
        return _square(call)
    kind = call["params"][4]
    if kind is TransposeType.TRANSPOSE_TYPE_NONE:
        return None
    n, c, plane = _sizes(call)
    if kind is TransposeType.TRANSPOSE_ND2ND_B16:
        return _square(call)
    if not n * c * plane:
        return None
    element = plain(call.dtype())
    shape = (n, c, plane) if kind is TransposeType.TRANSPOSE_NCHW2NHWC else (n, plane, c)
    every = dense(n * c * plane, element.itemsize)
    parts = [Part(0, every, element, WRITE), Part(1, every, element, READ)]
    nbytes = scratch_bytes(kind, c, call.dtype(), call.arch)
    if nbytes:
        parts.append(Part(2, dense(nbytes, 1), np.dtype(np.uint8), SCRATCH))
    return Move(tuple(parts), lambda values: (values.reshape(shape).swapaxes(1, 2).reshape(1, -1),))


_ALL: Final = (*_MOVED, bfloat16)
TRANSPOSE = move_row(
    "vec_transpose",
    "transpose",
    "Transpose",
    "dst = the 16 x 16 elements of src with rows and columns exchanged (`AscendC::Transpose`), in "
    "place if they begin at one address; with params [N, C, H, W] from or to [N, H, W, C]. "
    "`shared_tmp_buffer` (uint8) has (C + 2) * 512 bytes for TRANSPOSE_NCHW2NHWC and (2 * C + 1) * "
    "512 for TRANSPOSE_NHWC2NCHW, twice that for dtypes of one byte, and holds garbage afterwards.",
    (
        Form("square", (tensor("dst", "out"), tensor("src"))),
        Form(
            "extended",
            (
                tensor("dst", "out"),
                tensor("src"),
                tensor("shared_tmp_buffer", "out"),
                Param("params", "transpose_params"),
            ),
        ),
    ),
    {
        "2201": tuple((t, t, uint8) for t in _MOVED),
        "3510": tuple((t, t, uint8) for t in _ALL),
        "3002": tuple((t, t, uint8) for t in _B16),
        "2002": tuple((t, t, uint8) for t in _MOVED),
        "1001": tuple((t, t, uint8) for t in _B16),
    },
    _transpose,
    checks=(check_type,),
)

# -- trans_data_to_5hd ----------------------------------------------------------------------------


def element_type(value: Any) -> DataType | None:
    """The dtype of the tensor whose address a number is, None if that is not known."""
    made = value.node if isinstance(value, Value) else None
    if isinstance(made, Op) and made.spec is LOCAL_GET_PHY_ADDR:
        return made.args[0].type.dtype  # type: ignore[no-any-return]
    return None


def stored_type(addresses: Any, recorder: Recorder) -> DataType | None:
    """The dtype of the tensors whose addresses were stored in a tensor."""
    for node in walk(recorder.trace.body):
        if isinstance(node, Op) and node.spec is LOCAL_SET_VALUE:
            into = node.args[0]
            if into is addresses or into.base is addresses.base:
                found = element_type(node.args[2])
                if found is not None:
                    return found
    return None


def type_of(form: Form, args: tuple[Any, ...], recorder: Recorder) -> DataType | None:
    """The dtype of the elements of a call by addresses."""
    if form.name == "stored":
        return stored_type(args[0], recorder) or stored_type(args[1], recorder)
    return next((t for v in (*args[0], *args[1]) if (t := element_type(v))), None)


def completed(form: Form, args: tuple[Any, ...], recorder: Recorder) -> tuple[Any, ...]:
    """The arguments with the dtype, where the addresses tell it."""
    if form.name == "tensors" or args[3] is not None:
        return args
    return (*args[:3], type_of(form, args, recorder))


def check_list(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The places hold elements of one known dtype that the chip executes."""
    chip, site = recorder.trace.chip, recorder.site()
    if form.name == "tensors":
        check_operands(spec, form, args, recorder)
        dtype = args[0][0].type.dtype
    else:
        dtype = args[3]
        check_addresses(spec, form, args, recorder)
    if dtype not in _FIVE[chip.arch]:
        raise error(
            "AT0102",
            f"{spec.name} on {dtype} is not executed by {chip.name} (architecture {chip.arch})",
            site,
            hint="it takes " + ", ".join(t.name for t in _FIVE[chip.arch]),
        )
    high = args[2].values[:2]
    if dtype.bits != 8 and any(value is True or isinstance(value, Value) for value in high):
        raise error(
            "AT0108",
            f"{spec.name} on {dtype} with a high half",
            site,
            hint="halves of blocks are for int8 and uint8",
        )


def check_addresses(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The chip has the call, the dtype is known, and tensors of addresses are of uint64 in UB."""
    chip, site = recorder.trace.chip, recorder.site()
    if chip.arch not in _FIVE:
        raise error(
            "AT0304",
            f"whether {chip.name} (architecture {chip.arch}) has {spec.name} is not known",
            site,
            hint="choose a chip of the architectures " + ", ".join(_FIVE),
        )
    if args[3] is None:
        raise error(
            "AT0106",
            f"{spec.name} by addresses: the dtype of the elements is not known",
            site,
            hint="give the tensors, addresses from get_phy_addr, or dtype=asc.float16",
        )
    for places in args[:2] if form.name == "stored" else ():
        if places.type.dtype is not uint64 or MEMORY_OF[places.type.position] != "UB":
            raise error(
                "AT0102",
                f"{spec.name} by the addresses in {describe(places)}",
                site,
                hint="addresses are uint64, in a tensor at VECIN, VECCALC or VECOUT",
            )


def _offsets(call: Call, side: int, size: int) -> Any:
    """Of the elements at one place of a list (0: destination, 1: source), a row a repeat."""
    *high, repeat, to, source = call["params"]
    count, first = (SIDE, SIDE if high[side] else 0) if size == 1 else (BLOCK_BYTES // size, 0)
    turns = np.arange(repeat) if repeat > 1 else np.ones(1, np.int64)
    step = (to, source)[side] * BLOCK_BYTES
    return turns[:, None] * step + np.arange(count) * size + first


def _exchange(size: int) -> Work:
    """From the rows of the sources to those of the destinations."""

    def work(*sources: Any) -> list[Any]:
        rows = np.stack(sources).transpose(2, 1, 0)  # element, repeat, place
        if size < 4:
            return list(rows)
        half = SIDE // 2
        return [part for row in rows for part in (row[:, :half], row[:, half:])]

    return work


def _parts(call: Call, dtype: DataType, places: Sequence[Sequence[tuple[Where, int]]]) -> Any:
    """The parts of a call; a place is an operand and a number of bytes behind its start."""
    element = plain(dtype)
    return tuple(
        Part(where, _offsets(call, side, element.itemsize) + at, element, kind)
        for side, kind in ((0, WRITE), (1, READ))
        for where, at in places[side]
    )


def _five(call: Call) -> Move | None:
    if not call["params"][2]:
        return None
    dtype = call.args[-1]
    if call.form.name == "tensors":
        dtype = call.args[0][0].type.dtype
        places: list[list[tuple[Where, int]]] = [
            [((side, k), 0) for k in range(SIDE)] for side in (0, 1)
        ]
    elif call.form.name == "addresses":
        places = [[(MEMORY, address) for address in call.args[side]] for side in (0, 1)]
    else:
        return Move((), data=lambda contents: _stored(call, contents), overlap="repeat")
    return Move(_parts(call, dtype, places), _exchange(plain(dtype).itemsize), overlap="repeat")


_U64: Final = np.dtype(np.uint64)


def _stored(call: Call, contents: Contents) -> Data:
    """By addresses in tensors, which the call spoils: it packs them in front, four in one."""
    index = np.arange(SIDE)[None, :] * _U64.itemsize
    dtype = call.args[-1]
    places: list[list[tuple[Where, int]]] = [
        [(MEMORY, int(a)) for a in contents.read(side, index, _U64, scalar=True)[0]]
        for side in (0, 1)
    ]
    spoilt = index[:, : SIDE // 4]
    return Data(
        _parts(call, dtype, places),
        _exchange(plain(dtype).itemsize),
        unset=tuple((side, spoilt, _U64) for side in (0, 1)),
    )


_FIVE: Final = {
    "2201": _MOVED,
    "3510": _ALL,
    "3002": _MOVED,
    "2002": _MOVED,
    "1001": (int8, uint8, int16, uint16, float16),
}
_PARAMS: Final = Param("params", "five_params")
_DTYPE: Final = Param("dtype", "opt_dtype", "template", None)
TRANS_DATA_TO_5HD = register(
    OpSpec(
        "trans_data_to_5hd",
        "TransDataTo5HD",
        "vec_transpose",
        "Elements of the 16 blocks at the places of src_list go to those of dst_list with rows and "
        "columns exchanged, in each repeat (`AscendC::TransDataTo5HD`). Places are tensors, "
        "addresses in UB, or tensors of uint64 with the addresses, which the call spoils. `dtype` "
        "is that of the elements where addresses do not tell it.",
        (
            Form("tensors", (Param("dst_list", "tensors", "out"),
                             Param("src_list", "tensors", "in"), _PARAMS)),
            Form("addresses", (Param("dst_list", "addresses"), Param("src_list", "addresses"),
                               _PARAMS, _DTYPE)),
            Form("stored", (tensor("dst", "inout"), tensor("src", "inout"), _PARAMS, _DTYPE)),
        ),
        pipe="V",
        dtypes=MappingProxyType(_FIVE),
        checks=(check_list, check_move),
        semantics=_five,
        extra=MappingProxyType(
            {"one_dtype": True, "completes": completed, "typed": {"tensors": (0,)}}
        ),
    )
)  # fmt: skip
