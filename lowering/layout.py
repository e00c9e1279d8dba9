"""Where each argument of a kernel lies in its argument block: `argument_layout`.

The one table behind the parameter list of the text, what the runtime packs and what a host program
unpacks. An argument starts at a multiple of its alignment, at least 4, as the bisheng compiler has
it; the block's size is a multiple of 8. May import `tracer`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..tracer.language.dtypes import DataType
from ..tracer.language.struct import alignment, layout
from ..tracer.language.types import GlobalPointerType, StructType
from ..tracer.trace import Param, Trace
from .names import SYNC_ADDRESS

#: An argument takes at least so many bytes, whatever its type.
MIN_ALIGNMENT = 4
#: The size of the block is a multiple of this.
BLOCK_ALIGNMENT = 8
POINTER_BYTES = 8


@dataclass(frozen=True, slots=True)
class Slot:
    """One argument: its C++ type, offset and size in bytes.

    `type` is that of the parameter, None for the hidden synchronisation address; `code` is the
    `struct` format.
    """

    name: str
    cpp: str
    type: Any
    offset: int
    size: int
    code: str


@dataclass(frozen=True, slots=True)
class Layout:
    """The argument block of a kernel: its slots in order, and its size in bytes."""

    slots: tuple[Slot, ...]
    size: int

    def format(self) -> str:
        """The block as a `struct` format, with its padding."""
        text, at = "<", 0
        for slot in self.slots:
            text += "x" * (slot.offset - at) + slot.code
            at = slot.offset + slot.size
        return text + "x" * (self.size - at)


_CODES = {"i": "bhiq", "u": "BHIQ"}


def _code(type: Any, size: int) -> str:
    if isinstance(type, StructType):
        return f"{size}s"
    if not isinstance(type, DataType):
        return "Q"
    if type.kind == "b":
        return "?"
    if type.kind == "f":
        # A bfloat16 goes by its bits.
        return {"float32": "f", "float16": "e", "bfloat16": "H"}[type.name]
    return _CODES[type.kind][type.sizeof().bit_length() - 1]


def _size(type: Any) -> tuple[int, int]:
    """Size and alignment of a parameter's type."""
    if isinstance(type, GlobalPointerType):
        return POINTER_BYTES, POINTER_BYTES
    if isinstance(type, StructType):
        return layout(type).itemsize, alignment(type, type.pack)
    return type.sizeof(), type.sizeof()


def argument_layout(trace: Trace, sync_address: bool = False) -> Layout:
    """The argument block of a kernel.

    sync_address: the address that cores synchronise through goes in front, as a hidden argument.
    """
    params = [(p.name, p.type.cpp, p.type) for p in trace.params]
    if sync_address:
        params.insert(0, (SYNC_ADDRESS, "__gm__ uint8_t*", None))
    slots, at = [], 0
    for name, cpp, type in params:
        size, step = (POINTER_BYTES, POINTER_BYTES) if type is None else _size(type)
        at = _up(at, max(step, MIN_ALIGNMENT))
        slots.append(Slot(name, cpp, type, at, size, _code(type, size)))
        at += size
    return Layout(tuple(slots), _up(at, BLOCK_ALIGNMENT))


def _up(value: int, step: int) -> int:
    return -(-value // step) * step


def size_checks(params: list[Param]) -> str:
    """C++ that refuses to compile unless the structs have the sizes that the block goes by."""
    structs = {p.type.cpp: _size(p.type)[0] for p in params if isinstance(p.type, StructType)}
    lines = [f"static_assert(sizeof({cpp}) == {size});\n" for cpp, size in structs.items()]
    return "".join([*lines, "\n"]) if lines else ""
