"""Parameter structs of the Ascend C API, as plain mutable dataclasses.

Fields may hold runtime scalars; an operation takes a snapshot (`StructArg`) when it is recorded.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar


class ParamStruct:
    """Base of the parameter structs: `cpp` names the Ascend C struct, `ctypes` its field types."""

    cpp: ClassVar[str]
    ctypes: ClassVar[tuple[str, ...]]

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
