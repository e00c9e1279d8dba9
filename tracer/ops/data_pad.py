"""Rows of `data_copy_pad` and `set_pad_value`: copies of any length, in bytes.

In UB each block begins a slot of whole 32-byte blocks. Documented, and kept here: with a padding
on either side all of the slot but the data holds the padding value (without `is_pad` that of
`set_pad_value`, or what nobody knows); with none, what is behind the data is not defined. A call
with `is_pad` may change the register that `set_pad_value` sets, so what it holds then is not
defined either.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final

from ..chip import BLOCK_BYTES
from ..diagnostics import KernelError, Site, error
from ..language.dtypes import bool_, of_constant
from ..language.enums import TPosition
from ..trace import Recorder, Value
from ._chips import on_chips
from ._copies import (
    ANY,
    BITS8,
    BITS16,
    BITS32,
    MAX_BLOCKS,
    REGISTER,
    THROUGH_MATMUL,
    UNDEFINED,
    Bound,
    Call,
    Number,
    Run,
    Runs,
    Way,
    bad_element,
    check,
    outside,
    slot_of,
)
from .spec import Form, OpSpec, Param, register

_MOST_BYTES: Final = 2097151
_UINT32: Final = 2**32 - 1
#: The largest gap in global memory and in UB where the fields have 64 bits.
_WIDE_GAPS: Final = (2**40 - 1, 65535)


def _check_blocks(
    spec: OpSpec, call: Call, blocks: tuple[Any, ...], site: Site, wide: bool
) -> KernelError | None:
    """The numbers of blocks and gaps; `wide` are those of DataCopyExtParams."""
    count, length, src_gap, dst_gap = blocks[:4]
    least = 0
    gaps = (_UINT32, _UINT32) if wide else (65535, 65535)
    if wide and call.arch == "3510":
        gaps = _WIDE_GAPS
        # There a block may be read again and again.
        least = -_MOST_BYTES if isinstance(length, Value) else -length
    from_global = call.src == "GM"
    bounds: tuple[Bound, ...] = (
        ("block_count", count, 0, MAX_BLOCKS, 1),
        ("block_len", length, 0, _MOST_BYTES if wide else 65535, call.size),
        ("src_stride", src_gap, least if from_global else 0, gaps[not from_global], 1),
        ("dst_stride", dst_gap, 0, gaps[from_global], 1),
    )
    return outside(spec, bounds, site)


def _check_pad(spec: OpSpec, call: Call, pad: tuple[Any, ...], site: Site, bits: bool) -> Any:
    """The padding; `bits`: its number is given as bits, as in DataCopyPadParams."""
    is_pad, left, right, value = pad
    most = BLOCK_BYTES // call.size
    bounds: list[Bound] = [
        ("left_padding", left, 0, most, 1),
        ("right_padding", right, 0, most, 1),
    ]
    if isinstance(value, Value) or isinstance(is_pad, Value) or not is_pad:
        return outside(spec, bounds, site)
    if call.size == 8 and value:
        return wide_padding(spec, value, site)
    if bits:
        bounds.append(("padding_value", value, 0, 2 ** (8 * call.size) - 1, 1))
    elif fault := bad_element(spec, "padding_value", value, call.dtype, site):
        return fault
    return outside(spec, bounds, site)


def wide_padding(spec: OpSpec, value: Any, site: Site) -> KernelError:
    """The error of a number in elements of eight bytes."""
    return error(
        "AT0108",
        f"{spec.name} with the padding {value} in elements of 8 bytes",
        site,
        hint="elements of 8 bytes can be padded with 0 only",
    )


def _pad_runs(call: Call, values: tuple[Any, ...]) -> Runs:
    """Blocks into slots of UB."""
    (count, length, src_gap, dst_gap), (is_pad, left, right, value) = values[0][:4], values[1]
    if not count or not length:
        return ()
    before = left * call.size
    slot = slot_of(before + length + right * call.size)
    axes = ((count, slot + dst_gap * BLOCK_BYTES, length + src_gap),)
    runs = [Run(axes, length, before)]
    fill: Any = UNDEFINED
    if left or right:
        fill = Number(value) if is_pad else REGISTER
    if before:
        runs.append(Run(axes, before, fill=fill))
    if rest := slot - before - length:
        runs.append(Run(axes, rest, before + length, fill=fill))
    return tuple(runs)


def _bit_runs(call: Call, values: tuple[Any, ...]) -> Runs:
    """The same with the number as bits."""
    bits = values[1][3] % 2 ** (8 * call.size)
    fill = int(bits).to_bytes(call.size, "little")
    runs = _pad_runs(call, values)
    for run in runs:
        if isinstance(run.fill, Number):
            run.fill = fill
    return runs


def _dense_runs(call: Call, values: tuple[Any, ...]) -> Runs:
    """Blocks out of slots of UB."""
    count, length, src_gap, dst_gap = values[0][:4]
    if not count or not length:
        return ()
    return (Run(((count, length + dst_gap, slot_of(length) + src_gap * BLOCK_BYTES),), length),)


def _check_in(spec: OpSpec, call: Call, values: tuple[Any, ...], site: Site) -> Any:
    fault = _check_blocks(spec, call, values[0], site, False)
    return fault or _check_pad(spec, call, values[1], site, True)


def _check_ext_in(spec: OpSpec, call: Call, values: tuple[Any, ...], site: Site) -> Any:
    fault = _check_blocks(spec, call, values[0], site, True)
    return fault or _check_pad(spec, call, values[1], site, False)


def _check_out(spec: OpSpec, call: Call, values: tuple[Any, ...], site: Site) -> Any:
    return _check_blocks(spec, call, values[0], site, False)


def _check_ext_out(spec: OpSpec, call: Call, values: tuple[Any, ...], site: Site) -> Any:
    return _check_blocks(spec, call, values[0], site, True)


_DTYPES: Final = {"2201": ANY, "3510": (bool_, *ANY), "3002": (*BITS8, *BITS16, *BITS32)}
_INTO: Final = {("GM", "UB"): ("2201", "3510", "3002"), ("GM", "L1"): ("3510",)}
_OUT_OF: Final = {("UB", "GM"): ("2201", "3510", "3002")}
_INWARD: Final = (Param("dst", "local", "out"), Param("src", "global", "in"))
_OUTWARD: Final = (Param("dst", "global", "out"), Param("src", "local", "in"))

DATA_COPY_PAD = register(
    OpSpec(
        "data_copy_pad",
        "DataCopyPad",
        "copies",
        "Copy blocks of any length in bytes (`DataCopyPad`). Global memory needs no alignment; in "
        "UB each block lies in a slot of whole 32-byte blocks. Gaps are in bytes in global memory "
        "and in 32-byte blocks in UB. Into UB, `left_padding` and `right_padding` elements are "
        "put around each block; they and the rest of the slot hold the padding value if `is_pad` "
        "says so, that of `set_pad_value` if not. Without padding what is behind a block in its "
        "slot is not defined. Runs on MTE2 into UB (on architecture 3510 L1 too), on MTE3 out of "
        "it.",
        (
            Form(
                "ext_in",
                (
                    *_INWARD,
                    Param("data_copy_params", "ext_blocks"),
                    Param("pad_params", "ext_pad"),
                ),
                "MTE2",
            ),
            Form("ext_out", (*_OUTWARD, Param("data_copy_params", "ext_blocks")), "MTE3"),
            Form(
                "in",
                (*_INWARD, Param("data_copy_params", "blocks"), Param("pad_params", "pad")),
                "MTE2",
            ),
            Form("out", (*_OUTWARD, Param("data_copy_params", "blocks")), "MTE3"),
        ),
        pipe="MTE2",
        checks=(check,),
        extra=MappingProxyType(
            {
                "ways": {
                    "ext_in": Way(_check_ext_in, _pad_runs, _INTO, _DTYPES),
                    "ext_out": Way(_check_ext_out, _dense_runs, _OUT_OF, _DTYPES),
                    "in": Way(_check_in, _bit_runs, _INTO, _DTYPES),
                    "out": Way(_check_out, _dense_runs, _OUT_OF, _DTYPES),
                },
                "refused": tuple(
                    (
                        Form(
                            f"{kind}_to_l1",
                            (
                                Param("dst", "local", "out"),
                                Param("src", "local", "in"),
                                Param("data_copy_params", kind),
                                Param("nd2nz_params", "nd2nz"),
                            ),
                        ),
                        THROUGH_MATMUL,
                    )
                    for kind in ("ext_blocks", "blocks")
                ),
            }
        ),
    )
)


# -- the padding register -------------------------------------------------------------------------

_PADS: Final = (TPosition.MAX, TPosition.VECIN, TPosition.VECOUT)


def _check_register(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The position is one that copies pad, the number one of 32 bits, or 0."""
    value, position = args
    site = recorder.site()
    if position not in _PADS:
        raise error(
            "AT0116",
            f"{spec.name} for tensors in {position.name}",
            site,
            hint="the padding is for copies to VECIN and VECOUT",
        )
    dtype = value.type if isinstance(value, Value) else of_constant(value)
    if dtype is None:
        raise error("AT0108", f"{spec.name} with {value}", site, hint="give a number of 32 bits")
    if dtype.bits == 64 and not isinstance(value, Value) and value:
        raise wide_padding(spec, value, site)


SET_PAD_VALUE = register(
    OpSpec(
        "set_pad_value",
        "SetPadValue",
        "set_pad_value",
        "Set the number that later calls of `data_copy_pad` without `is_pad` pad with "
        "(`SetPadValue`). It has the dtype of their tensors: NumPy scalars and runtime scalars "
        "have their own, a Python integer is int32 and a Python float float32; 0 fits all. A call "
        "with `is_pad` ends its effect.",
        (
            Form(
                "set",
                (
                    Param("padding_value", "number"),
                    Param("pos", "opt_position", "template", TPosition.MAX),
                ),
            ),
        ),
        checks=(on_chips, _check_register),
        # NumPy integers keep their dtype.
        extra=MappingProxyType({"arches": ("2201", "3510"), "freeze": lambda value: value}),
    )
)
