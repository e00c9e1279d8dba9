"""Chip profiles: what the checks, the text and the simulator need to know of a chip.

Owns `Chip` and the built-in table (facts of the public documentation); `runtime/soc.py` overrides
rows from an installed CANN. Imports `diagnostics` only.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import Final, NamedTuple

from .diagnostics import KernelError, error

#: Data moves, and vectors are addressed, in blocks of this many bytes; one repeat is eight blocks.
BLOCK_BYTES: Final = 32
REPEAT_BYTES: Final = 256


class Chip(NamedTuple):
    """One SoC: `arch` is the NPU architecture number as text, memory sizes are in bytes.

    `alignment` is the start alignment of each memory, `cube_cores` and `vector_cores` count one
    die. A memory that the documentation does not size is absent. `event_ids` are those of each
    `HardEvent`, `position_tensors` the tensors that the queues at one position may have allocated.
    """

    name: str
    arch: str
    cube_cores: int
    vector_cores: int
    memory: MappingProxyType[str, int]
    alignment: MappingProxyType[str, int]
    event_ids: int = 8
    position_tensors: int = 8


_MEMORY_2201 = MappingProxyType(
    {
        "UB": 196608,
        "L1": 524288,
        "L0A": 65536,
        "L0B": 65536,
        "L0C": 131072,
        "BT": 1024,
        "FB": 2048,
    }
)
_ALIGNMENT = MappingProxyType(
    {"UB": 32, "L1": 32, "L0A": 512, "L0B": 512, "L0C": 64, "BT": 64, "FB": 64}
)
_MEMORY_3510 = MappingProxyType(
    {
        "UB": 253952,
        "L1": 524288,
        "L0A": 65536,
        "L0B": 65536,
        "L0C": 262144,
        "BT": 4096,
        "FB": 4096,
    }
)


def _chip(name: str, arch: str, cube: int, vector: int) -> Chip:
    memory = _MEMORY_3510 if arch == "3510" else _MEMORY_2201
    return Chip(name, arch, cube, vector, memory, _ALIGNMENT)


CHIPS: dict[str, Chip] = {
    chip.name.lower(): chip
    for chip in (
        _chip("Ascend910B1", "2201", 24, 48),
        _chip("Ascend910B2", "2201", 24, 48),
        _chip("Ascend910B2C", "2201", 24, 48),
        _chip("Ascend910B3", "2201", 20, 40),
        _chip("Ascend910B4", "2201", 20, 40),
        _chip("Ascend910_9362", "2201", 20, 40),
        _chip("Ascend910_9372", "2201", 20, 40),
        _chip("Ascend910_9381", "2201", 24, 48),
        _chip("Ascend910_9382", "2201", 24, 48),
        _chip("Ascend910_9391", "2201", 24, 48),
        _chip("Ascend910_9392", "2201", 24, 48),
        _chip("Ascend950PR_958b", "3510", 32, 64),
    )
}

#: The chip of a launch that names none.
DEFAULT = "Ascend910B1"


def normal(name: str) -> str:
    """A SoC name as the table has it.

    Case, spaces and a suffix such as `-1` do not matter, and `npu-smi` leaves the word Ascend out.
    """
    key = re.sub(r"-\d+$", "", "".join(name.split()).lower())
    return key if key.startswith("ascend") else f"ascend{key}"


def chip(name: str) -> Chip:
    """The profile of a SoC name, in any spelling that `normal` knows.

    Raises `KernelError` AT0304 with the known names for an unknown chip.
    """
    found = CHIPS.get(normal(name))
    if found is None:
        raise unknown(name)
    return found


def unknown(name: str) -> KernelError:
    """AT0304 for a name that is in no table."""
    known = ", ".join(c.name for c in CHIPS.values())
    return error("AT0304", f"unknown chip {name!r}", hint=f"known chips: {known}")
