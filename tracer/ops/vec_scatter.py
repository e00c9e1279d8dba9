"""The row of `scatter`: elements go anywhere in a tensor.

Two elements for one place have no defined result; the simulator refuses them.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from ..language.dtypes import float16, float32, int8, int16, int32, uint8, uint16, uint32
from ._moves import READ, WRITE, Call, Contents, Data, Move, Part, move_row, plain, tensor
from ._vector import WIDE
from .spec import Param
from .vec_gather import address_forms, check_base, counted_only, indexed, lanes_of, places

_U32: Final = np.dtype(np.uint32)


def _scatter(call: Call) -> Move | None:
    check_base(call, "dst_base")
    lanes = lanes_of(call, "src_rep_stride")
    if lanes is None:
        return None
    source, index = lanes
    element = plain(call.dtype())

    def data(contents: Contents) -> Data:
        found = places(
            call, contents, 0, contents.read(2, index, _U32), element.itemsize, "dst_base"
        )
        order = np.sort(found, axis=None)
        twice = order[1:][order[1:] == order[:-1]]
        if twice.size:
            at = int(twice[0]) // element.itemsize
            raise call.error(
                "AT0117",
                f"writes element {at} of `dst` twice: two offsets are equal",
                "which of the two wins is not defined: make the offsets differ",
            )
        return Data((Part(0, found, element, WRITE),), lambda values, _: (values,))

    return Move((Part(1, source, element, READ), Part(2, index, _U32, READ)), data=data)


_SCATTERED: Final = {
    "2002": (uint16, float16, uint32, float32),
    "3510": WIDE,
    "3002": (int8, uint8, int16, uint16, float16, int32, uint32, float32),
}
SCATTER = move_row(
    "vec_scatter",
    "scatter",
    "Scatter",
    "The element of dst that lies `dst_base + dst_offset[i]` bytes behind its start = src[i] "
    "(`AscendC::Scatter`). Offsets are uint32, all different; architecture 2201 has no such "
    "instruction.",
    address_forms(
        (tensor("dst", "out"), tensor("src"), tensor("dst_offset")),
        "dst_base",
        Param("src_rep_stride", "int", cpp="uint8_t"),
    ),
    indexed(_SCATTERED),
    _scatter,
    count_only=counted_only(_SCATTERED),
    lacks={
        "2201": "write single elements with set_value, or gather from the other side: "
        "gather(dst, src, offsets, ...) with the inverse permutation"
    },
)
