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

#: Buffers that one kernel can have.
MAX_BUFFERS: Final = 64


class Reserve(NamedTuple):
    """Bytes at the end of a memory that somebody else may take, and who."""

    nbytes: int
    owner: str


_FUNCTIONS = Reserve(8192, "some functions (high-level API, printf)")


class Chip(NamedTuple):
    """One SoC: `arch` is the NPU architecture number as text, memory sizes are in bytes.

    `alignment` is the start alignment of each memory, `cube_cores` and `vector_cores` count one
    die; where one core has both units, both count it. A memory that the chip does not have is
    absent. `reserved` says what is better left free at the end of a memory. `event_ids` are those
    of each `HardEvent`, of which the first `own_ids` may be chosen by hand; `position_tensors` are
    the tensors that the queues at one position may have allocated.
    """

    name: str
    arch: str
    cube_cores: int
    vector_cores: int
    memory: MappingProxyType[str, int]
    alignment: MappingProxyType[str, int]
    reserved: MappingProxyType[str, Reserve]
    event_ids: int = 8
    own_ids: int = 6
    position_tensors: int = 8


def _memory(ub: int, l1: int, l0c: int, bt: int = 0, fb: int = 0) -> MappingProxyType[str, int]:
    """Sizes by name; L0A and L0B are the same everywhere."""
    sizes = {"UB": ub, "L1": l1, "L0A": 65536, "L0B": 65536, "L0C": l0c, "BT": bt, "FB": fb}
    return MappingProxyType({name: size for name, size in sizes.items() if size})


#: Sizes by architecture, after the public headers (`kernel_utils_constants.h`), the architecture
#: pages of the documentation and, for BT and FB of 3002, the vendor's checker. The UB of 3510 is
#: 256 KB, of which kernels have 248 KB; L1 of 2201 is 512 KB, the last 256 bytes are the system's.
_MEMORIES = {
    "1001": _memory(262144, 1048576, 262144),
    "2002": _memory(262144, 1048576, 262144),
    "2201": _memory(196608, 524288, 131072, 1024, 2048),
    "3002": _memory(253952, 1048576, 131072, 1024, 2048),
    "3510": _memory(253952, 524288, 262144, 4096, 4096),
}
_RESERVED: dict[str, MappingProxyType[str, Reserve]] = {
    "1001": MappingProxyType({"UB": _FUNCTIONS}),
    "2002": MappingProxyType({"UB": _FUNCTIONS}),
    "2201": MappingProxyType({"UB": _FUNCTIONS, "L1": Reserve(256, "the system")}),
    "3002": MappingProxyType({"UB": _FUNCTIONS}),
    "3510": MappingProxyType({}),
}
_ALIGNMENT = MappingProxyType(
    {"UB": 32, "L1": 32, "L0A": 512, "L0B": 512, "L0C": 64, "BT": 64, "FB": 64}
)


#: Event ids, and how many of them are nobody's: the pages of 2201, 3002 and 3510 keep two.
_IDS = {"1001": (4, 4), "2002": (8, 8), "2201": (8, 6), "3002": (8, 6), "3510": (8, 6)}


def _chip(name: str, arch: str, cube: int, vector: int) -> Chip:
    ids, own = _IDS[arch]
    return Chip(
        name, arch, cube, vector, _MEMORIES[arch], _ALIGNMENT, _RESERVED[arch], ids, own, ids
    )  # fmt: skip


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
        _chip("Ascend310B1", "3002", 1, 1),
        _chip("Ascend310B4", "3002", 1, 1),
        # Its 7 further vector cores run kernels that ask for them only.
        _chip("Ascend310P3", "2002", 8, 8),
        _chip("Ascend310P1", "2002", 10, 10),
        _chip("Ascend910A", "1001", 32, 32),
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
