"""What the compiler makes and what the launcher takes: `Binary`, and the kinds of kernels."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Final


class KernelType(Enum):
    """Which cores a kernel runs on; names and numbers are pyasc's.

    AIV_ONLY and AIC_ONLY run on vector or cube cores. The MIX kinds synchronise cores by hardware
    and take its address as a hidden argument: AIV_1_0 and AIV_HARD_SYNC on vector cores alone,
    AIC_1_0 and AIC_HARD_SYNC on cube cores alone, AIC_1_1 and AIC_1_2 on each cube core with one
    or two vector cores.
    """

    AIV_ONLY = 0
    AIC_ONLY = 1
    MIX_AIV_HARD_SYNC = 2
    MIX_AIC_HARD_SYNC = 3
    MIX_AIV_1_0 = 4
    MIX_AIC_1_0 = 5
    MIX_AIC_1_1 = 6
    MIX_AIC_1_2 = 7

    @property
    def cube(self) -> int:
        """Cube cores of one block."""
        return _CORES[self][0]

    @property
    def vector(self) -> int:
        """Vector cores of one block."""
        return _CORES[self][1]

    @property
    def hard_sync(self) -> bool:
        """Whether the hardware synchronises cores, so that the kernel needs its address."""
        return self.name.startswith("MIX")

    @property
    def mixed(self) -> bool:
        """Whether both kinds of cores run it."""
        return bool(self.cube and self.vector)


_CORES: Final = {
    KernelType.AIV_ONLY: (0, 1),
    KernelType.AIC_ONLY: (1, 0),
    KernelType.MIX_AIV_HARD_SYNC: (0, 1),
    KernelType.MIX_AIC_HARD_SYNC: (1, 0),
    KernelType.MIX_AIV_1_0: (0, 1),
    KernelType.MIX_AIC_1_0: (1, 0),
    KernelType.MIX_AIC_1_1: (1, 1),
    KernelType.MIX_AIC_1_2: (1, 2),
}


@dataclass(frozen=True, slots=True)
class Binary:
    """A compiled kernel.

    path: the object in the cache, an absolute path. kind: the cores it runs on. symbol: the name to
    look up in it. digest: SHA-256 of its bytes. sync_address: whether the address of the hardware
    synchronisation (`aclrtGetHardwareSyncAddr`) goes in front of the arguments. data: its bytes.
    """

    path: Path
    kind: KernelType
    symbol: str
    digest: str
    sync_address: bool = False
    data: bytes = field(default=b"", repr=False, compare=False)

    def file(self) -> Path:
        """The object as a file, written again if the cache lost it meanwhile.

        Where the cache takes it no longer, a folder of this process has it (a warning, AT0401).
        """
        from .. import cache

        entry = cache.Entry(self.path, self.digest, self.data)
        home = cache.Cache(self.path.parents[2], 0)
        try:
            return home.keep(entry)
        except OSError as problem:
            place = cache.fall_back(home.folder, problem)
            return place.publish(self.path.stem.partition("-")[0], self.data).path
