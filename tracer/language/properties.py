"""`asc.property`: constants of the chip by their Ascend C names."""

from __future__ import annotations

from dataclasses import dataclass

from ..chip import Chip
from ..trace import current
from .dtypes import DataType, int16, int32


@dataclass(frozen=True, slots=True)
class Property:
    """A constant of the Ascend C headers: its name, its type, the memory it is the size of.

    `value` is the number itself where it does not depend on the chip; `reserved` is what the system
    keeps of the memory, by architecture.
    """

    name: str
    dtype: DataType
    value: int = 0
    memory: str = ""
    reserved: tuple[tuple[str, int], ...] = ()

    def of(self, chip: Chip) -> int:
        """The number for a chip."""
        if not self.memory:
            return self.value
        return chip.memory[self.memory] - dict(self.reserved).get(chip.arch, 0)


DEFAULT_C0_SIZE = Property("AscendC::DEFAULT_C0_SIZE", int32, 32)
ONE_BLK_SIZE = Property("AscendC::ONE_BLK_SIZE", int16, 32)
TOTAL_L1_SIZE = Property("AscendC::TOTAL_L1_SIZE", int32, memory="L1", reserved=(("2201", 256),))
TOTAL_L0C_SIZE = Property("AscendC::TOTAL_L0C_SIZE", int32, memory="L0C")


def property(prop: Property) -> int:
    """The value of a constant on the chip that the kernel is traced for."""
    return prop.of(current("property").trace.chip)
