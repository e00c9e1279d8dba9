"""C++ types of the values that are no scalars, and the rows of the buffer table.

A type knows its C++ spelling (`cpp`) and, once `language` is loaded, the proxy class that stands
for its values (`proxy`), so that `ops` can make results without importing the proxies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ..chip import BLOCK_BYTES
from ..diagnostics import Site
from ..trace import Value
from .dtypes import DataType
from .enums import TPosition


@dataclass(frozen=True, slots=True)
class GlobalPointerType:
    """`__gm__ T*`."""

    dtype: DataType

    proxy: ClassVar[Any] = None

    @property
    def cpp(self) -> str:
        """C++ spelling."""
        return f"__gm__ {self.dtype.cpp}*"

    def __str__(self) -> str:
        return f"address of {self.dtype}"


@dataclass(frozen=True, slots=True)
class GlobalTensorType:
    """`AscendC::GlobalTensor<T>`; the dtype is None until a buffer is set."""

    dtype: DataType | None

    proxy: ClassVar[Any] = None

    @property
    def cpp(self) -> str:
        """C++ spelling."""
        return f"AscendC::GlobalTensor<{self.dtype.cpp if self.dtype else 'uint8_t'}>"

    def __str__(self) -> str:
        return f"GlobalTensor of {self.dtype}"


@dataclass(frozen=True, slots=True)
class LocalTensorType:
    """`AscendC::LocalTensor<T>` at a logical position."""

    dtype: DataType
    position: TPosition

    proxy: ClassVar[Any] = None

    @property
    def cpp(self) -> str:
        """C++ spelling."""
        return f"AscendC::LocalTensor<{self.dtype.cpp}>"

    def __str__(self) -> str:
        return f"LocalTensor of {self.dtype} in {self.position.name}"


@dataclass(frozen=True, slots=True)
class PipeType:
    """`AscendC::TPipe`."""

    cpp: ClassVar[str] = "AscendC::TPipe"

    def __str__(self) -> str:
        return "TPipe"


@dataclass(frozen=True, slots=True)
class QueueType:
    """`AscendC::TQue<position, depth>`."""

    position: TPosition
    depth: int

    @property
    def cpp(self) -> str:
        """C++ spelling."""
        return f"AscendC::TQue<AscendC::TPosition::{self.position.name}, {self.depth}>"

    def __str__(self) -> str:
        return f"TQue in {self.position.name}"


@dataclass(slots=True)
class BufferInfo:
    """A row of the buffer table.

    `owner` is the queue or tensor, `num` buffers of `length` bytes (a constant or a runtime
    scalar) each; `address` in bytes for tensors made at an address, None for queue buffers.
    """

    owner: Value
    position: TPosition
    num: Any
    length: Any
    site: Site
    address: Any = None

    def bytes_each(self) -> int | None:
        """Bytes a buffer takes, rounded up to 32, or None if known only on the device."""
        if isinstance(self.length, Value):
            return None
        return (int(self.length) + BLOCK_BYTES - 1) // BLOCK_BYTES * BLOCK_BYTES
