"""The row of `brcb`: each of eight elements fills a block, in every repeat."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from ..chip import BLOCK_BYTES
from ..diagnostics import KernelError, Site
from ..language.dtypes import bfloat16, float16, float32, int16, int32, uint16, uint32
from ..trace import Recorder, Value
from . import rules
from ._vector import WIDE, check_dtypes, slots_of
from .spec import Form, OpSpec, Param, register

#: Blocks of a repeat, each filled with one element.
BLOCKS = 8


def check_amount(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """Operands begin at multiples of 32 bytes, hold what the call reaches and are apart; at most
    255 repeats; strides that fit their type.
    """
    site = recorder.site()
    slots = slots_of(form)
    dst, src, repeat = args[0], args[1], args[slots.repeat]
    strides = slots.strides_of(args)
    known = [
        pair for pair in zip(strides, slots.limits, strict=True) if not isinstance(pair[0], Value)
    ]
    fault = (
        rules.bad_start(spec, dst, site)
        or rules.bad_start(spec, src, site)
        or rules.bad_strides(spec, known, site)
        or rules.bad_step(spec, strides[0], range(rules.lanes_of(dst.dtype)), dst.dtype, site)
    )
    if fault is None and not isinstance(repeat, Value):
        fault = rules.bad_repeat(spec, repeat, site)
        if fault is None and repeat and len(known) == len(strides):
            lanes = range(rules.lanes_of(dst.dtype))
            block, rep = strides
            reached = rules.reach(lanes, repeat, block, rep, dst.dtype)
            fault = (
                rules.too_short(spec, dst, reached, site)
                or rules.too_short(spec, src, BLOCKS * repeat, site)
                or _touching(spec, dst, src, reached, BLOCKS * repeat, site)
            )
    if fault is not None:
        raise fault


def _touching(
    spec: OpSpec, dst: Any, src: Any, written: int, read: int, site: Site
) -> KernelError | None:
    if dst.base is not src.base or dst.offset is None or src.offset is None:
        return None
    size = dst.dtype.sizeof()
    start = max(dst.offset, src.offset)
    stop = min(dst.offset + written * size, src.offset + read * size)
    return rules.partial_overlap(spec, dst, src, stop - start, site) if start < stop else None


_DTYPES = (int16, uint16, float16, bfloat16, int32, uint32, float32)

BRCB = register(
    OpSpec(
        "brcb",
        "Brcb",
        "vec_brcb",
        "In each repeat, fill eight blocks of dst with one element of src each (`AscendC::Brcb`). "
        f"The elements of src follow one another; a block has {BLOCK_BYTES} bytes.",
        (
            Form(
                "repeat",
                (
                    Param("dst", "local", "out"),
                    Param("src0", "local", "in"),
                    Param("repeat_times", "int", cpp="uint8_t"),
                    Param("repeat_params", "brcb_repeat"),
                ),
            ),
        ),
        pipe="V",
        dtypes=MappingProxyType(
            {
                "2201": _DTYPES,
                "3510": WIDE,
                "2002": tuple(t for t in _DTYPES if t is not bfloat16),
            }
        ),
        checks=(check_dtypes, check_amount),
        semantics=lambda src: src,
    )
)
