"""C++ types of the values that are no scalars, and the rows of the buffer table.

A type knows its C++ spelling (`cpp`) and, once `language` is loaded, the proxy class that stands
for its values (`proxy`), so that `ops` can make results without importing the proxies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ..diagnostics import Site
from ..trace import Value
from .dtypes import DataType
from .enums import Hardware, TPosition


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


def _position(pos: TPosition) -> str:
    return f"AscendC::TPosition::{pos.name}"


@dataclass(frozen=True, slots=True)
class QueueType:
    """`AscendC::TQue<position, depth>`, or `AscendC::TQueBind<src, dst, depth>` when `src` is set.

    `position` is where the tensors live.
    """

    position: TPosition
    depth: int
    src: TPosition | None = None
    dst: TPosition | None = None
    mask: int = 0

    @property
    def cpp(self) -> str:
        """C++ spelling."""
        mask = f", {self.mask}" if self.mask else ""
        if self.src is None or self.dst is None:
            return f"AscendC::TQue<{_position(self.position)}, {self.depth}{mask}>"
        ends = f"{_position(self.src)}, {_position(self.dst)}"
        return f"AscendC::TQueBind<{ends}, {self.depth}{mask}>"

    def __str__(self) -> str:
        if self.src is None or self.dst is None:
            return f"TQue in {self.position.name}"
        return f"TQueBind from {self.src.name} to {self.dst.name}"


@dataclass(frozen=True, slots=True)
class BufType:
    """`AscendC::TBuf<position>`."""

    position: TPosition

    depth: ClassVar[int] = 0

    @property
    def cpp(self) -> str:
        """C++ spelling."""
        return f"AscendC::TBuf<{_position(self.position)}>"

    def __str__(self) -> str:
        return f"TBuf in {self.position.name}"


@dataclass(frozen=True, slots=True)
class PoolType:
    """`AscendC::TBufPool<position, buffers>`."""

    position: TPosition
    buffers: int

    @property
    def cpp(self) -> str:
        """C++ spelling."""
        size = f", {self.buffers}" if self.buffers != DEFAULT_POOL_BUFFERS else ""
        return f"AscendC::TBufPool<{_position(self.position)}{size}>"

    def __str__(self) -> str:
        return f"TBufPool in {self.position.name}"


#: Buffers of a `TBufPool` whose declaration does not say.
DEFAULT_POOL_BUFFERS = 4


@dataclass(frozen=True, slots=True)
class HandleType:
    """`AscendC::TBufHandle`, by which custom pools name a buffer."""

    cpp: ClassVar[str] = "AscendC::TBufHandle"

    def __str__(self) -> str:
        return "TBufHandle"


@dataclass(frozen=True, slots=True)
class AllocatorType:
    """`AscendC::LocalMemAllocator<hardware>`."""

    hardware: Hardware

    @property
    def cpp(self) -> str:
        """C++ spelling."""
        if self.hardware is Hardware.UB:
            return "AscendC::LocalMemAllocator<>"
        return f"AscendC::LocalMemAllocator<AscendC::Hardware::{self.hardware.name}>"

    def __str__(self) -> str:
        return f"LocalMemAllocator of {self.hardware.name}"


@dataclass(frozen=True, slots=True)
class ShapeInfoType:
    """`AscendC::ShapeInfo`."""

    cpp: ClassVar[str] = "AscendC::ShapeInfo"
    proxy: ClassVar[Any] = None

    def __str__(self) -> str:
        return "ShapeInfo"


@dataclass(frozen=True, slots=True)
class ArrayType:
    """`T name[length]`, an array of the scalar unit; `element` is a dtype or a struct's type."""

    element: Any
    length: int

    proxy: ClassVar[Any] = None

    @property
    def cpp(self) -> str:
        """C++ spelling of the element type."""
        return str(self.element.cpp)

    def declare(self, name: str) -> str:
        """A declaration, without the semicolon."""
        return f"{self.element.cpp} {name}[{self.length}]"

    def __str__(self) -> str:
        return f"array of {self.length} {self.element}"


@dataclass(frozen=True, slots=True, eq=False)
class StructType:
    """A C++ struct of the kernel's own, made from an `asc.Struct` class.

    `fields` are (Python name, C++ name, type) in order; `pack` is the largest alignment of a field.
    """

    cpp: str
    fields: tuple[tuple[str, str, Any], ...]
    pack: int
    cls: Any

    proxy: ClassVar[Any] = None

    def index(self, name: str) -> int:
        """Position of a field by its Python name."""
        return next(k for k, field in enumerate(self.fields) if field[0] == name)

    def __str__(self) -> str:
        return f"struct {self.cpp}"


def member_type(type: Any, path: tuple[Any, ...]) -> Any:
    """The type of a part of a struct or array: field names and element numbers lead to it."""
    for step in path:
        is_struct = isinstance(type, StructType)
        type = type.fields[type.index(step)][2] if is_struct else type.element
    return type


@dataclass(slots=True, eq=False)
class BufferInfo:
    """A row of the buffer table.

    `owner` is the queue, buffer, pool or tensor, `num` buffers of `length` bytes (a constant or a
    runtime scalar) each. `address` in bytes for tensors made at an address, None for what a pipe,
    pool or allocator places: `parent` is then the pool or allocator (None: the pipe), `shares` the
    pool whose memory a pool uses again. `epoch` counts the resets before: memory of different
    epochs is the same memory.
    """

    owner: Value
    position: TPosition
    num: Any
    length: Any
    site: Site
    address: Any = None
    parent: Value | None = None
    shares: BufferInfo | None = None
    epoch: int = 0

    @property
    def rounded(self) -> bool:
        """Whether buffers begin at multiples of 32: an allocator packs its tensors."""
        return self.parent is None or not isinstance(self.parent.type, AllocatorType)

    def bytes_each(self) -> int | None:
        """Bytes a buffer takes, rounded up to 32, or None if known only on the device."""
        if isinstance(self.length, Value):
            return None
        return (int(self.length) + 31) // 32 * 32 if self.rounded else int(self.length)
