"""C++ types of the values that are no scalars, and the rows of the buffer table.

A type knows its C++ spelling (`cpp`) and, once `language` is loaded, the proxy class that stands
for its values (`proxy`), so that `ops` can make results without importing the proxies.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..chip import BLOCK_BYTES
from ..diagnostics import Site
from ..trace import Value
from .dtypes import DataType
from .enums import Hardware, TPosition


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


def _position(pos: TPosition) -> str:
    return f"AscendC::TPosition::{pos.name}"


class QueueType(metaclass=_Interned):
    """`AscendC::TQue<position, depth>`, or `AscendC::TQueBind<src, dst, depth>` when `src` is set.

    `position` is where the tensors live.
    """

    __slots__ = ("cpp", "depth", "dst", "mask", "position", "src")

    def __init__(
        self,
        position: TPosition,
        depth: int,
        src: TPosition | None = None,
        dst: TPosition | None = None,
        mask: int = 0,
    ) -> None:
        self.position, self.depth, self.src, self.dst, self.mask = position, depth, src, dst, mask
        rest = f"{depth}, {mask}" if mask else str(depth)
        if src is None or dst is None:
            self.cpp = f"AscendC::TQue<{_position(position)}, {rest}>"
        else:
            self.cpp = f"AscendC::TQueBind<{_position(src)}, {_position(dst)}, {rest}>"

    def __repr__(self) -> str:
        if self.src is None or self.dst is None:
            return f"TQue in {self.position.name}"
        return f"TQueBind from {self.src.name} to {self.dst.name}"


class BufType(metaclass=_Interned):
    """`AscendC::TBuf<position>`."""

    __slots__ = ("cpp", "position")

    depth: ClassVar[int] = 0

    def __init__(self, position: TPosition) -> None:
        self.position = position
        self.cpp = f"AscendC::TBuf<{_position(position)}>"

    def __repr__(self) -> str:
        return f"TBuf in {self.position.name}"


#: Buffers of a `TBufPool` whose declaration does not say.
DEFAULT_POOL_BUFFERS = 4


class PoolType(metaclass=_Interned):
    """`AscendC::TBufPool<position, buffers>`."""

    __slots__ = ("buffers", "cpp", "position")

    def __init__(self, position: TPosition, buffers: int) -> None:
        self.position = position
        self.buffers = buffers
        size = f", {buffers}" if buffers != DEFAULT_POOL_BUFFERS else ""
        self.cpp = f"AscendC::TBufPool<{_position(position)}{size}>"

    def __repr__(self) -> str:
        return f"TBufPool in {self.position.name}"


class HandleType(metaclass=_Interned):
    """`AscendC::TBufHandle`, by which custom pools name a buffer."""

    __slots__ = ()

    cpp: ClassVar[str] = "AscendC::TBufHandle"
    proxy: ClassVar[Any] = None

    def __repr__(self) -> str:
        return "TBufHandle"


class AllocatorType(metaclass=_Interned):
    """`AscendC::LocalMemAllocator<hardware>`."""

    __slots__ = ("cpp", "hardware")

    def __init__(self, hardware: Hardware) -> None:
        self.hardware = hardware
        name = "" if hardware is Hardware.UB else f"AscendC::Hardware::{hardware.name}"
        self.cpp = f"AscendC::LocalMemAllocator<{name}>"

    def __repr__(self) -> str:
        return f"LocalMemAllocator of {self.hardware.name}"


class ShapeInfoType(metaclass=_Interned):
    """`AscendC::ShapeInfo`."""

    __slots__ = ()

    cpp: ClassVar[str] = "AscendC::ShapeInfo"
    proxy: ClassVar[Any] = None

    def __repr__(self) -> str:
        return "ShapeInfo"


class ListTensorDescType(metaclass=_Interned):
    """`AscendC::ListTensorDesc`."""

    __slots__ = ()

    cpp: ClassVar[str] = "AscendC::ListTensorDesc"

    def __repr__(self) -> str:
        return "ListTensorDesc"


class TensorDescType(metaclass=_Interned):
    """`AscendC::TensorDesc<T>`."""

    __slots__ = ("cpp", "dtype")

    def __init__(self, dtype: DataType) -> None:
        self.dtype = dtype
        self.cpp = f"AscendC::TensorDesc<{dtype.cpp}>"

    def __repr__(self) -> str:
        return f"TensorDesc of {self.dtype}"


class ArrayType(metaclass=_Interned):
    """`T name[length]`, an array of the scalar unit; `element` is a dtype or a struct's type.

    `cpp` spells the element type.
    """

    __slots__ = ("cpp", "element", "length")

    proxy: ClassVar[Any] = None

    def __init__(self, element: Any, length: int) -> None:
        self.element = element
        self.length = length
        self.cpp = str(element.cpp)

    def declare(self, name: str) -> str:
        """A declaration, without the semicolon."""
        return f"{self.cpp} {name}[{self.length}]"

    def __repr__(self) -> str:
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
    epochs is the same memory. `resets` has the epochs of the pool and of all above it, `within` is
    the row that the pool has its memory by. `tensors` has the type and the elements of a tensor in
    one of the buffers, by dtype, once there was one.
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
    resets: tuple[int, ...] = ()
    within: BufferInfo | None = None
    tensors: dict[DataType, tuple[Any, int | None]] = field(default_factory=dict, repr=False)

    @property
    def rounded(self) -> bool:
        """Whether buffers begin at multiples of 32: an allocator packs its tensors."""
        return self.parent is None or not isinstance(self.parent.type, AllocatorType)

    def bytes_each(self) -> int | None:
        """Bytes a buffer takes, rounded up to 32, or None if known only on the device."""
        if isinstance(self.length, Value):
            return None
        if not self.rounded:
            return int(self.length)
        return (int(self.length) + BLOCK_BYTES - 1) // BLOCK_BYTES * BLOCK_BYTES
