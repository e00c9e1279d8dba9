"""The row of `bilinear_interpolation`: blocks collected by offsets, weighted and added up.

A vertical repeat collects `h_repeat` groups of eight blocks, multiplies each by its weight (one for
the group, or one a block) and adds the products in order; products and sums are rounded to half.
On architecture 2201 the headers build it from other calls, with what those can count: at most 255
groups in all, and weights in whole eights, at most 2040.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from ..chip import BLOCK_BYTES
from ..language.dtypes import float16, uint8, uint32
from . import rules
from ._moves import (
    READ,
    SCRATCH,
    WRITE,
    Call,
    Contents,
    Data,
    Move,
    Part,
    dense,
    move_row,
    strided,
    tensor,
)
from ._vector import selected
from .spec import Form, Param
from .vec_gather import BLOCK, BLOCKS, places

_U32: Final = np.dtype(np.uint32)
_LANES: Final = rules.lanes_of(float16)
_PER_BLOCK: Final = BLOCK_BYTES // float16.sizeof()
#: Weights that one call of architecture 2201 can spread.
_WEIGHTS: Final = 2040


def _bilinear(call: Call) -> Move | None:
    mask = call["mask"]
    if isinstance(mask, tuple):
        lanes = np.array(selected(mask, float16), np.int64)
    else:
        if fault := rules.bad_mask(call.spec, mask, float16, call.site):
            raise fault
        lanes = np.arange(mask)
    groups = call["h_repeat"] * call["v_repeat"]
    if groups > rules.MAX_REPEAT and call.arch == "2201":
        raise call.error(
            "AT0108",
            f"with {call['h_repeat']} x {call['v_repeat']} repeats",
            f"architecture 2201 counts at most {rules.MAX_REPEAT} in all: split the call",
        )
    if call["v_r_offset"] % _PER_BLOCK:
        raise call.error(
            "AT0103",
            f"with v_r_offset = {call['v_r_offset']}",
            f"v_r_offset is a multiple of {_PER_BLOCK} elements",
        )
    step = call["v_r_offset"] // _PER_BLOCK
    to = strided(lanes, call["v_repeat"], call["dst_blk_stride"], step, float16.sizeof())
    if np.unique(to).size != to.size:
        raise call.error(
            "AT0117",
            "writes elements of dst twice",
            "blocks of repeats lie apart: dst_blk_stride counts from 1 up, and v_r_offset leaves "
            "room for all blocks",
        )
    return _move(call, lanes, to, groups) if lanes.size else None


def _move(call: Call, lanes: Any, to: Any, groups: int) -> Move:
    each = BLOCKS if call["repeat_mode"] else 1
    index, weights = dense(groups * BLOCKS, 4), dense(groups * each, 2)
    shape = (call["v_repeat"], call["h_repeat"], BLOCKS, _PER_BLOCK)

    def work(_: Any, factors: Any, blocks: Any) -> tuple[Any]:
        values = np.ascontiguousarray(blocks).view(np.float16).reshape(shape)
        factor = factors.reshape(*shape[:2], each, 1)
        with np.errstate(all="ignore"):
            total = values[:, 0] * factor[:, 0]
            for k in range(1, shape[1]):
                total = values[:, k] * factor[:, k] + total
            total = total + np.float16(0)
        return (total.reshape(shape[0], _LANES)[:, lanes],)

    parts = [
        Part(0, to, float16.np, WRITE),
        Part(2, index, _U32, READ),
        Part(3, weights, float16.np, READ),
    ]

    def data(contents: Contents) -> Data:
        found = places(call, contents, 1, contents.read(2, index, _U32), BLOCK_BYTES, "")
        added = [Part(1, found, BLOCK, READ)]
        if call.arch == "2201":
            added.append(_scratch(call, contents, groups, groups * each))
        return Data(tuple(added), work)

    return Move(tuple(parts), data=data)


def _scratch(call: Call, contents: Contents, groups: int, weights: int) -> Part:
    """What a call of architecture 2201 uses of its buffer, which is as large as documented."""
    where = call.at("shared_tmp_buffer")
    sizes = [contents.room(k) // float16.sizeof() for k in (1, 3)]
    need = sum(sizes) * BLOCK_BYTES
    if contents.room(where) < need:
        raise call.error(
            "AT0201",
            f"with a shared_tmp_buffer of {contents.room(where)} bytes, which needs {need}",
            "it has 32 bytes for each element of src0 and of src1: slice them to what is used",
        )
    if sizes[1] // BLOCKS * BLOCKS < weights or sizes[1] > _WEIGHTS:
        raise call.error(
            "AT0201",
            f"of {weights} weights in a src1 of {sizes[1]} elements",
            f"src1 has whole eights, at least as many as weights and at most {_WEIGHTS}",
        )
    used = (groups * BLOCKS + sizes[1] // BLOCKS * BLOCKS) * BLOCK_BYTES
    return Part(where, dense(used, 1), np.dtype(np.uint8), SCRATCH)


def _form(name: str, kind: str, cpp: str) -> Form:
    return Form(
        name,
        (
            tensor("dst", "out"),
            tensor("src0"),
            tensor("src0_offset"),
            tensor("src1"),
            Param("mask", kind, cpp=cpp),
            Param("h_repeat", "int", cpp="uint8_t"),
            Param("repeat_mode", "flag"),
            Param("dst_blk_stride", "int", cpp="uint16_t"),
            Param("v_r_offset", "int", cpp="uint16_t"),
            Param("v_repeat", "int", cpp="uint8_t"),
            tensor("shared_tmp_buffer", "out"),
        ),
    )


BILINEAR_INTERPOLATION = move_row(
    "vec_bilinear",
    "bilinear_interpolation",
    "BilinearInterpolation",
    "Each of `v_repeat` groups of 128 elements of dst, `v_r_offset` elements apart = the sum over "
    "`h_repeat` groups of eight blocks of src0 times their weights in src1 "
    "(`AscendC::BilinearInterpolation`). `src0_offset` (uint32) has the place of each block in "
    "bytes; a weight is for eight blocks, or with `repeat_mode` for one. Only the selected "
    "elements change. On 2201 `shared_tmp_buffer` (uint8) has 32 bytes for each element of src0 "
    "and src1 and holds garbage afterwards.",
    (_form("mask", "int", "uint64_t"), _form("bits", "mask", "")),
    dict.fromkeys(("2201", "3510"), ((float16, float16, uint32, float16, uint8),)),
    _bilinear,
    limits={"h_repeat": (1, 255), "v_repeat": (1, 255), "v_r_offset": (128, 65534)},
)
