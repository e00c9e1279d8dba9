"""Packing the arguments of a launch into the block that the kernel takes.

`lowering.layout` says where each lies. May import `lowering`, `arguments`, `acl.device`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..lowering.layout import Layout, Slot
from ..tracer.language.dtypes import bfloat16
from ..tracer.language.types import GlobalPointerType, StructType
from .arguments import refuse

if TYPE_CHECKING:
    from .acl.device import Device

#: Makes a block of the arguments for a device, or gives None where it cannot.
Block = Callable[[tuple[Any, ...], "Device"], "bytes | None"]


def packer(layout: Layout) -> Callable[..., bytes]:
    """A function of the values of all slots, addresses as numbers."""
    return struct.Struct(layout.format()).pack


def quick_packer(layout: Layout) -> Block | None:
    """Packs where every array is a `DeviceArray` of the device: a function compiled for the layout.

    None for a kernel without arrays. The function raises when something does not fit, whatever
    comes; `pack_block` then says what.
    """
    names, parts, elsewhere = [], [], []
    for k, slot in enumerate(layout.slots):
        name = f"a{k}"
        if slot.type is None:
            parts.append("device.sync_address")
            continue
        names.append(name)
        if isinstance(slot.type, GlobalPointerType):
            elsewhere.append(f"{name}.device is not device")
            parts.append(f"{name}.pointer")
        elif isinstance(slot.type, StructType):
            parts.append(f"{name}.pack()")
        else:
            parts.append(f"bits({name})" if slot.type is bfloat16 else name)
    if not elsewhere:
        return None
    text = (
        "def block(values, device):\n"
        f"    {', '.join(names)}, = values\n"
        f"    if {' or '.join(elsewhere)}:\n"
        "        return None\n"
        f"    return pack({', '.join(parts)})\n"
    )
    namespace: dict[str, Any] = {"pack": packer(layout), "bits": _bits}
    exec(text, namespace)
    found: Block = namespace["block"]
    return found


def _bits(value: Any) -> int:
    """A bfloat16 as its bits."""
    import ml_dtypes

    return int(np.asarray(value, ml_dtypes.bfloat16).view(np.uint16))


def pack_block(
    kernel: str,
    layout: Layout,
    values: tuple[Any, ...],
    addresses: dict[int, int],
    sync_address: int = 0,
) -> bytes:
    """The argument block; `addresses` has those of the address parameters, by index.

    Raises `KernelError` AT0113, with the argument's name, for a number that does not fit its type.
    """
    parts: list[Any] = []
    given = iter(enumerate(values))
    for slot in layout.slots:
        if slot.type is None:
            parts.append(sync_address)
            continue
        k, value = next(given)
        if isinstance(slot.type, GlobalPointerType):
            parts.append(addresses[k])
        else:
            parts.append(_part(kernel, slot, value))
    block = packer(layout)(*parts)
    assert len(block) == layout.size
    return block


def _part(kernel: str, slot: Slot, value: Any) -> Any:
    """What `struct` packs for an argument that is no address."""
    try:
        if isinstance(slot.type, StructType):
            if not isinstance(value, slot.type.cls):
                raise TypeError
            data: bytes = value.pack()
            assert len(data) == slot.size, (slot, len(data))
            return data
        part = _bits(value) if slot.type is bfloat16 else value
        struct.pack(f"<{slot.code}", part)
    except (struct.error, OverflowError, TypeError):
        raise refuse(
            kernel,
            slot.name,
            f"{value!r} does not fit {slot.type}",
            "pass a NumPy number of a wider dtype, or a value in range",
        ) from None
    return part
