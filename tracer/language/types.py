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


class _Interned(type):
    """Calls with equal arguments give the same object, so that types compare by identity."""

    _made: dict[tuple[Any, ...], Any]

    def __init__(cls, *args: Any) -> None:
        super().__init__(*args)
        cls._made = {}

    def __call__(cls, *fields: Any) -> Any:
        try:
            return cls._made[fields]
        except KeyError:
            return cls._made.setdefault(fields, super().__call__(*fields))


class GlobalPointerType(metaclass=_Interned):
    """`__gm__ T*`; `cpp` is the C++ spelling."""

    __slots__ = ("cpp", "dtype")

    proxy: ClassVar[Any] = None

    def __init__(self, dtype: DataType) -> None:
        self.dtype = dtype
        self.cpp = f"__gm__ {dtype.cpp}*"

    def __repr__(self) -> str:
        return f"address of {self.dtype}"


class GlobalTensorType(metaclass=_Interned):
    """`AscendC::GlobalTensor<T>`; the dtype is None until a buffer is set."""

    __slots__ = ("cpp", "dtype")

    proxy: ClassVar[Any] = None

    def __init__(self, dtype: DataType | None) -> None:
        self.dtype = dtype
        self.cpp = f"AscendC::GlobalTensor<{dtype.cpp if dtype else 'uint8_t'}>"

    def __repr__(self) -> str:
        return f"GlobalTensor of {self.dtype}" if self.dtype else "GlobalTensor without a buffer"


class LocalTensorType(metaclass=_Interned):
    """`AscendC::LocalTensor<T>` at a logical position."""

    __slots__ = ("cpp", "dtype", "position")

    proxy: ClassVar[Any] = None

    def __init__(self, dtype: DataType, position: TPosition) -> None:
        self.dtype = dtype
        self.position = position
        self.cpp = f"AscendC::LocalTensor<{dtype.cpp}>"

    def __repr__(self) -> str:
        return f"LocalTensor of {self.dtype} in {self.position.name}"


class PipeType(metaclass=_Interned):
    """`AscendC::TPipe`."""

    __slots__ = ()

    cpp: ClassVar[str] = "AscendC::TPipe"

    def __repr__(self) -> str:
        return "TPipe"


class QueueType(metaclass=_Interned):
    """`AscendC::TQue<position, depth>`."""

    __slots__ = ("cpp", "depth", "position")

    def __init__(self, position: TPosition, depth: int) -> None:
        self.position = position
        self.depth = depth
        self.cpp = f"AscendC::TQue<AscendC::TPosition::{position.name}, {depth}>"

    def __repr__(self) -> str:
        return f"TQue in {self.position.name}"


@dataclass(slots=True, eq=False)
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
