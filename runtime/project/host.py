"""`main.cpp`: the host program of a project, by the same layout as the kernel's parameter list.

The text in front of and behind the kernel's own part is the same for all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...lowering.data import struct_definitions
from ...lowering.layout import MIN_ALIGNMENT, size_checks
from ...lowering.literals import integer, single, string
from ...tracer.language.dtypes import DataType
from ...tracer.language.struct import alignment, layout
from ...tracer.language.types import ArrayType, GlobalPointerType, StructType
from ..packing import pack_block
from . import host_text
from .launch import Launch

#: Relative and absolute tolerance by dtype: the device's functions are approximations.
TOLERANCE = {"float16": (1e-3, 1e-3), "bfloat16": (8e-3, 8e-3), "float32": (1e-4, 1e-5)}


def main_text(launch: Launch) -> str:
    """The whole program."""
    return "".join(
        (
            host_text.head(launch.symbol, launch.trace.chip.name, launch.blocks),
            _definitions(launch),
            _memories(launch),
            _results(launch),
            _pack(launch),
            host_text.LAUNCH_TOGETHER if launch.kind.hard_sync else host_text.LAUNCH,
            host_text.BODY,
        )
    )


def block_bytes(launch: Launch) -> bytes:
    """The argument block with addresses that are zero."""
    zeros = dict.fromkeys(launch.places, 0)
    return pack_block(launch.trace.name, launch.layout, launch.values, zeros)


def offsets(type: StructType) -> dict[str, int]:
    """Where the fields of a struct start, by their Python names."""
    return {name: place[1] for name, place in (layout(type).fields or {}).items()}


def tolerance(dtype: DataType) -> tuple[float, float]:
    """Relative and absolute tolerance; integers have none."""
    return TOLERANCE.get(dtype.name, (0.0, 0.0))


# -- the kernel's own part ------------------------------------------------------------------------


def _definitions(launch: Launch) -> str:
    slots = launch.layout.slots
    if not slots:
        return host_text.NO_ARGUMENTS
    rows = list(zip(slots, launch.fields, strict=True))
    fields = "".join(f"    {_declared(slot.type)} {name};\n" for slot, name in rows)
    checks = "".join(
        f"static_assert(offsetof(Arguments, {name}) == {slot.offset});\n" for slot, name in rows
    )
    structs = struct_definitions(launch.trace, host=True)
    text = host_text.BLOCK.replace("@FIELDS@", fields).replace("@CHECKS@", checks)
    text = text.replace("@SIZE@", str(launch.layout.size))
    if not structs:
        return text
    sizes = size_checks(launch.trace.params)
    return host_text.STRUCTS.replace("@STRUCTS@", structs + sizes) + text


def _declared(type: Any) -> str:
    """The type of a field of the block, where each starts at a multiple of 4 bytes at least."""
    if type is None or isinstance(type, GlobalPointerType):
        return "void*"
    if isinstance(type, StructType):
        name, size = f"kernel::{type.cpp}", alignment(type, type.pack)
    else:
        own = type.kind == "f" and type.bits == 16
        name, size = f"kernel::{type.cpp}" if own else type.cpp, type.sizeof()
    return f"alignas({MIN_ALIGNMENT}) {name}" if size < MIN_ALIGNMENT else name


def _memories(launch: Launch) -> str:
    rows = []
    for k, memory in enumerate(launch.before):
        given = input_file(launch, k)
        wanted = golden_file(launch, k)
        rows.append(
            f"    {{{string(memory.name)}, {len(memory.data)}, "
            f"{string(given) if given else 'nullptr'}, {string(wanted) if wanted else 'nullptr'}}},"
        )
    return _table("const std::vector<Memory> kMemories", rows)


def _results(launch: Launch) -> str:
    rows = []
    for k in sorted(launch.written):
        place = launch.places[k]
        dtype = launch.dtype(k)
        relative, absolute = tolerance(dtype)
        rows.append(
            f"    {{{string(launch.fields[launch.slots[k]])}, {place.memory}, {place.offset}, "
            f'{place.nbytes // dtype.sizeof()}, "{dtype.name}", &compare<{_element(dtype)}>, '
            f"{relative}, {absolute}}},"
        )
    return _table("const std::vector<Result> kResults", rows)


def _element(dtype: DataType) -> str:
    """What elements are compared as; a bool may hold any byte."""
    if dtype.kind == "b":
        return "uint8_t"
    return f"kernel::{dtype.cpp}" if dtype.kind == "f" and dtype.bits == 16 else dtype.cpp


def _table(declaration: str, rows: list[str]) -> str:
    body = "\n".join(["{", *rows, "}"]) if rows else "{}"
    return f"{declaration} = {body};\n\n"


def _pack(launch: Launch) -> str:
    block = block_bytes(launch)
    lines = []
    index = {slot: k for k, slot in launch.slots.items()}
    for number, (slot, name) in enumerate(zip(launch.layout.slots, launch.fields, strict=True)):
        if slot.type is None:
            lines.append(
                f"    ACL(aclrtGetHardwareSyncAddr(&arguments.{name}));  // where cores synchronise"
            )
        elif isinstance(slot.type, GlobalPointerType):
            place = launch.places[index[number]]
            shape = ", ".join(map(str, place.shape))
            lines.append(
                f"    arguments.{name} = at(memories, {place.memory}, {place.offset});"
                f"  // {slot.type.dtype.name}[{shape}]"
            )
        else:
            lines.append(f"    arguments.{name} = {_value(slot.type, block, slot.offset)};")
    unused = "" if launch.places else "    (void)memories;\n"
    body = "\n".join([*lines, ""]) if lines else ""
    return (
        "// The arguments of the launch that was saved.\n"
        "Arguments pack(const std::vector<void*>& memories)\n{\n"
        f"{unused}    Arguments arguments{{}};\n{body}    return arguments;\n}}\n\n"
    )


def _value(type: Any, block: bytes, at: int) -> str:
    """C++ of the value that lies in the block."""
    if isinstance(type, StructType):
        starts = offsets(type)
        parts = [_value(inner, block, at + starts[name]) for name, _, inner in type.fields]
        return f"kernel::{type.cpp}{{{', '.join(parts)}}}"
    if isinstance(type, ArrayType):
        size = layout(type.element).itemsize
        parts = [_value(type.element, block, at + k * size) for k in range(type.length)]
        return f"{{{', '.join(parts)}}}"
    data = block[at : at + type.sizeof()]
    if type.kind == "f" and type.bits == 16:
        return f"kernel::{type.cpp}{{0x{int.from_bytes(data, 'little'):04x}}}"
    if type.kind == "f":
        number = np.frombuffer(data, np.float32)[0]
        bits = int.from_bytes(data, "little")
        return single(float(number))[0] if np.isfinite(number) else f"from_bits(0x{bits:08x}u)"
    if type.kind == "b":
        return "true" if data[0] else "false"
    return integer(int.from_bytes(data, "little", signed=type.kind == "i"), type)[0]


# -- files ----------------------------------------------------------------------------------------


def input_file(launch: Launch, number: int) -> str | None:
    """The file with a memory's contents before the launch, None for zeros."""
    memory = launch.before[number]
    return f"data/{memory.name}.bin" if any(memory.data) else None


def golden_file(launch: Launch, number: int) -> str | None:
    """The file with a memory's contents behind the launch, None where nothing is known or new."""
    memory = launch.before[number]
    return f"data/{memory.name}.golden.bin" if memory.written and launch.after else None
