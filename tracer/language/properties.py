"""`asc.property`: constants of the chip by their Ascend C names."""

from __future__ import annotations

from dataclasses import dataclass

from ..chip import Chip
from ..trace import current
from .dtypes import DataType, int16, int32


@dataclass(frozen=True, slots=True)
class Property:
    """A constant of the Ascend C headers: its name, its type, the memory it is the size of.

    `value` is the number itself where it does not depend on the chip; `usable`: without what is
    reserved.
    """

    name: str
    dtype: DataType
    value: int = 0
    memory: str = ""
    usable: bool = False

    def of(self, chip: Chip) -> int:
        """The number for a chip."""
        if not self.memory:
            return self.value
        kept = chip.reserved.get(self.memory) if self.usable else None
        return chip.memory[self.memory] - (0 if kept is None else kept.nbytes)


DEFAULT_C0_SIZE = Property("AscendC::DEFAULT_C0_SIZE", int32, 32)
ONE_BLK_SIZE = Property("AscendC::ONE_BLK_SIZE", int16, 32)
TOTAL_L1_SIZE = Property("AscendC::TOTAL_L1_SIZE", int32, memory="L1", usable=True)
TOTAL_L0C_SIZE = Property("AscendC::TOTAL_L0C_SIZE", int32, memory="L0C")


def property(prop: Property) -> int:
    """The value of a constant on the chip that the kernel is traced for."""
    return prop.of(current("property").trace.chip)
