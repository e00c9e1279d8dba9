"""Parameter structs of the Ascend C API, as plain mutable dataclasses.

Fields may hold runtime scalars; an operation takes a snapshot (`StructArg`) when it is recorded.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

from .dtypes import int32, uint32
from .enums import DataFormat
from .types import ArrayType


class ParamStruct:
    """Base of the parameter structs: `cpp` names the Ascend C struct, `ctypes` its field types."""

    cpp: ClassVar[str]
    ctypes: ClassVar[tuple[str, ...]]
    #: The largest values of the fields, where they are smaller than the types allow.
    most: ClassVar[tuple[int, ...]] = ()

    def snapshot(self) -> StructArg:
        """The struct as it is now, as an operand of an operation."""
        values = tuple(getattr(self, f.name) for f in fields(self))  # type: ignore[arg-type]
        return StructArg(type(self), values)


class StructArg:
    """A struct operand: its class and the operands in the order of the C++ fields."""

    __slots__ = ("cls", "values")

    def __init__(self, cls: type[ParamStruct], values: tuple[Any, ...]) -> None:
        self.cls = cls
        self.values = values


@dataclass(slots=True)
class BinaryRepeatParams(ParamStruct):
    """Strides of a two-operand vector call, in 32-byte blocks (`AscendC::BinaryRepeatParams`).

    `*_blk_stride` lies between the blocks of one repeat, `*_rep_stride` between repeats.
    """

    dst_blk_stride: Any = 1
    src0_blk_stride: Any = 1
    src1_blk_stride: Any = 1
    dst_rep_stride: Any = 8
    src0_rep_stride: Any = 8
    src1_rep_stride: Any = 8

    cpp: ClassVar[str] = "AscendC::BinaryRepeatParams"
    ctypes: ClassVar[tuple[str, ...]] = ("uint8_t",) * 6


@dataclass(slots=True)
class UnaryRepeatParams(ParamStruct):
    """Strides of a one-operand vector call, in 32-byte blocks (`AscendC::UnaryRepeatParams`).

    `*_blk_stride` lies between the blocks of one repeat, `*_rep_stride` between repeats.
    """

    dst_blk_stride: Any = 1
    src_blk_stride: Any = 1
    dst_rep_stride: Any = 8
    src_rep_stride: Any = 8

    cpp: ClassVar[str] = "AscendC::UnaryRepeatParams"
    ctypes: ClassVar[tuple[str, ...]] = ("uint16_t", "uint16_t", "uint8_t", "uint8_t")


class ShapeInfo(ParamStruct):
    """Shape of a tensor (`AscendC::ShapeInfo`): its dimensions, those before padding, the layout.

    Shapes are arrays (`asc.array`) or sequences of integers.
    """

    cpp: ClassVar[str] = "AscendC::ShapeInfo"
    #: The parameters of the constructor; arrays are passed as they are.
    ctypes: ClassVar[tuple[str, ...]] = ("uint8_t", "", "uint8_t", "", "AscendC::DataFormat")

    def __init__(
        self,
        shape: Any = None,
        original_shape: Any = None,
        data_format: DataFormat | None = None,
    ) -> None:
        self._shape = _dimensions(shape)
        self._original = _dimensions(original_shape)
        self.data_format = DataFormat.ND if data_format is None else data_format

    def shape(self, dim: Any) -> Any:
        """A dimension."""
        return self._shape[dim]

    def original_shape(self, dim: Any) -> Any:
        """A dimension before padding."""
        return self._shape[dim] if self._original is None else self._original[dim]

    def snapshot(self) -> StructArg:
        """The constructor's arguments; nothing for an empty shape."""
        if self._shape is None:
            return StructArg(type(self), ())
        original = self._shape if self._original is None else self._original
        return StructArg(
            type(self),
            (len(self._shape), self._shape, len(original), original, self.data_format),
        )


def _dimensions(shape: Any) -> Any:
    """An array of uint32, which is what C++ takes dimensions as."""
    if isinstance(shape, list | tuple):
        return ArrayType.proxy.make(ArrayType(uint32, len(shape)), tuple(shape))
    if shape is not None and shape.type.element is int32:
        shape.type = ArrayType(uint32, shape.type.length)
    return shape


class MrgSortSrcList(ParamStruct):
    """Two to four sorted lists of one dtype (`AscendC::MrgSortSrcList<T>`)."""

    cpp: ClassVar[str] = "AscendC::MrgSortSrcList"
    ctypes: ClassVar[tuple[str, ...]] = ("", "", "", "")

    def __init__(
        self, dtype: Any, src1: Any, src2: Any, src3: Any = None, src4: Any = None
    ) -> None:
        self.dtype = dtype
        self.lists = tuple(src for src in (src1, src2, src3, src4) if src is not None)

    def snapshot(self) -> StructArg:
        """The lists."""
        return StructArg(type(self), self.lists)


@dataclass(slots=True)
class CopyRepeatParams(ParamStruct):
    """Strides of `copy`, in 32-byte blocks (`AscendC::CopyRepeatParams`).

    `*_stride` lies between the blocks of one repeat, `*_repeat_size` between repeats.
    """

    dst_stride: Any = 0
    src_stride: Any = 0
    dst_repeat_size: Any = 0
    src_repeat_size: Any = 0

    cpp: ClassVar[str] = "AscendC::CopyRepeatParams"
    ctypes: ClassVar[tuple[str, ...]] = ("uint16_t",) * 4
    most: ClassVar[tuple[int, ...]] = (65535, 65535, 4095, 4095)


class VdeqInfo(ParamStruct):
    """Sixteen scales, offsets and signs for `set_deq_scale` (`AscendC::VdeqInfo`).

    `scale` are numbers, `offset` integers from -256 to 255, `sign_mode` whether a result has a
    sign; what is left out is 0.
    """

    cpp: ClassVar[str] = "AscendC::VdeqInfo"
    #: Arrays, which the constructor takes by name.
    ctypes: ClassVar[tuple[str, ...]] = ("float[]", "int16_t[]", "bool[]")
    LENGTH: ClassVar[int] = 16

    def __init__(self, scale: Any = None, offset: Any = None, sign_mode: Any = None) -> None:
        self.scale = [0.0] * self.LENGTH if scale is None else scale
        self.offset = [0] * self.LENGTH if offset is None else offset
        self.sign_mode = [False] * self.LENGTH if sign_mode is None else sign_mode

    def snapshot(self) -> StructArg:
        """The three arrays."""
        parts = (self.scale, self.offset, self.sign_mode)
        return StructArg(type(self), tuple(map(tuple, parts)))


@dataclass(slots=True)
class BrcbRepeatParams(ParamStruct):
    """Strides of the destination of `brcb`, in 32-byte blocks (`AscendC::BrcbRepeatParams`).

    `dst_blk_stride` lies between the blocks of one repeat, `dst_rep_stride` between repeats.
    """

    dst_blk_stride: Any = 1
    dst_rep_stride: Any = 8

    cpp: ClassVar[str] = "AscendC::BrcbRepeatParams"
    ctypes: ClassVar[tuple[str, ...]] = ("uint16_t", "uint16_t")
