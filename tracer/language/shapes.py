"""`ShapeInfo` as a value of the kernel: what `get_shape_info` gives."""

from __future__ import annotations

from typing import Any

from ..ops import tensor_info as rows
from ..ops.spec import OpFunction
from ..trace import Value
from .types import ShapeInfoType


class ShapeInfoValue(Value):
    """The shape noted with a tensor; `shape(dim)` and `original_shape(dim)` read a dimension."""

    __slots__ = ()

    def __init__(self, type: ShapeInfoType, block: Any, node: Any = None, name: str = "") -> None:
        super().__init__(type, block, node, name)

    shape = OpFunction(rows.SHAPE_INFO_SHAPE)
    original_shape = OpFunction(rows.SHAPE_INFO_ORIGINAL_SHAPE)

    def __repr__(self) -> str:
        return f"<ShapeInfo {self.name}>"


ShapeInfoType.proxy = ShapeInfoValue
