"""Tensors and addresses: `GlobalAddress`, `GlobalTensor`, `LocalTensor`.

Proxies of the Ascend C classes; their operations are rows of `ops/tensor.py`.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ..diagnostics import Site, error
from ..ops import tensor as rows
from ..ops import tensor_info as info
from ..ops.spec import KINDS, OpFunction, OpSpec, record
from ..trace import Value, current, describe
from .dtypes import DataType
from .enums import MEMORY, TPosition
from .positions import require_memory
from .types import BufferInfo, GlobalPointerType, GlobalTensorType, LocalTensorType

_is_int = KINDS["int"][1]
_reinterpret = OpFunction(info.LOCAL_REINTERPRET_CAST)


class GlobalAddress(Value):
    """A pointer to global memory (`__gm__ T*`): a kernel parameter, or one plus an offset.

    `dtype` is the element type; `address + n` moves by n elements.
    """

    __slots__ = ()

    @property
    def dtype(self) -> DataType:
        """The element type."""
        return self.type.dtype  # type: ignore[no-any-return]

    def __add__(self, offset: Any) -> Any:
        if not _is_int(offset):
            return NotImplemented
        if type(offset) is int and offset == 0:
            return self
        recorder = current("address + offset")
        return record(rows.ADDRESS_ADD, rows.ADDRESS_ADD.forms[0], (self, offset), recorder)

    __radd__ = __add__

    def __repr__(self) -> str:
        return f"<GlobalAddress {self.name} of {self.type.dtype}>"


def _bound(tensor: Any, part: Any) -> Any:
    """One end of a slice: a Python integer or a runtime one."""
    if not _is_int(part):
        raise error(
            "AT0106",
            f"a tensor is sliced by integers, not {describe(part)}",
            current("slice").site(),
            hint="tensor[start:] or tensor[start:stop]",
        )
    if isinstance(part, Value):
        return part
    part = int(part)
    if part < 0:
        raise error(
            "AT0201",
            f"a slice of {describe(tensor)} counts from the front, {part} is negative",
            current("slice").site(),
            hint="give the offset from the start",
        )
    if type(tensor.size) is int and part > tensor.size:
        raise error(
            "AT0201",
            f"a slice of {describe(tensor)} reaches {part}, but it has {tensor.size} elements",
            current("slice").site(),
            hint="a slice lies inside its tensor",
        )
    return part


def _view(tensor: Any, index: slice, spec: OpSpec) -> Any:
    """`tensor[start:stop]`, a view that begins `start` elements later."""
    if index.step is not None:
        raise error(
            "AT0106",
            "a tensor slice has no step",
            current("slice").site(),
            hint="tensor[start:] or tensor[start:stop]; strides go into the repeat parameters",
        )
    start = 0 if index.start is None else _bound(tensor, index.start)
    size = None
    if index.stop is not None:
        size = _bound(tensor, index.stop) - start
        if not isinstance(size, Value) and size < 0:
            raise error(
                "AT0201",
                f"a slice of {describe(tensor)} begins at {start} and ends before, at "
                f"{start + size}",
                current("slice").site(),
                hint="tensor[start:stop], with stop at least start",
            )
    elif type(start) is int and start == 0:
        return tensor
    return record(spec, spec.forms[0], (tensor, start, size), current("slice"))


def _no_iteration(tensor: Any) -> NoReturn:
    """Python would index a tensor from 0 on for ever: its length is not known to the tracer."""
    raise error(
        "AT0107",
        f"iteration over {describe(tensor)} has no end that is known while tracing",
        current("iteration").site(),
        hint="loop over range(n) and read tensor.get_value(i), or use the vector functions",
    )


class GlobalTensor(Value):
    """A view of global memory (`AscendC::GlobalTensor<T>`).

    Made empty, then bound with `set_global_buffer(address[, size])`, which also gives the dtype.
    `tensor[start:]` is the view that begins `start` elements later.
    """

    __slots__ = ("bound", "size", "unsized")

    __iter__ = _no_iteration

    def __init__(self) -> None:
        recorder = current("GlobalTensor")
        super().__init__(GlobalTensorType(None), recorder.block)
        self.size: Any = None
        self.bound = False
        self.unsized = False
        recorder.record(rows.GLOBAL_TENSOR, rows.GLOBAL_TENSOR.forms[0], (), self)

    @classmethod
    def view(cls, dtype: DataType, block: Any, size: Any) -> GlobalTensor:
        """A proxy for the result of an operation."""
        self = cls.__new__(cls)
        Value.__init__(self, GlobalTensorType(dtype), block)
        self.size = size
        self.bound = True
        self.unsized = False
        return self

    @property
    def dtype(self) -> DataType:
        """The element type; AT0106 before `set_global_buffer`."""
        if self.type.dtype is None:
            raise error(
                "AT0106",
                f"{describe(self)} has no buffer yet, so no dtype",
                current("dtype").site(),
                hint="call set_global_buffer(address) first",
            )
        return self.type.dtype  # type: ignore[no-any-return]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return _view(self, index, rows.GLOBAL_SLICE)
        if not _is_int(index):
            raise error(
                "AT0106",
                f"a GlobalTensor is indexed by an integer or a slice, not {describe(index)}",
                current("index").site(),
                hint="tensor[start:] is the view from `start`, get_value(i) reads an element",
            )
        return _view(self, slice(index, None), rows.GLOBAL_SLICE)

    def __call__(self, index: Any) -> Any:
        """Element `index`, as `get_value(index)`."""
        return self.get_value(index)

    set_global_buffer = OpFunction(rows.SET_GLOBAL_BUFFER)
    get_value = OpFunction(rows.GLOBAL_GET_VALUE)
    set_value = OpFunction(rows.GLOBAL_SET_VALUE)
    get_phy_addr = OpFunction(info.GLOBAL_GET_PHY_ADDR)
    get_shape_info = OpFunction(info.GLOBAL_GET_SHAPE_INFO)
    set_shape_info = OpFunction(info.GLOBAL_SET_SHAPE_INFO)
    set_l2_cache_hint = OpFunction(info.GLOBAL_SET_L2_CACHE_HINT)

    def get_size(self) -> Any:
        """Elements given to `set_global_buffer` (`GetSize`); AT0106 when none were."""
        if self.size is not None:
            return self.size
        recorder = current("get_size")
        if self.unsized or not self.bound:
            raise error(
                "AT0106",
                f"the size of {describe(self)} is not known",
                recorder.site(),
                hint="give set_global_buffer a buffer_size",
            )
        return record(info.GLOBAL_GET_SIZE, info.GLOBAL_GET_SIZE.forms[0], (self,), recorder)

    def __repr__(self) -> str:
        return f"<GlobalTensor {self.name} of {self.type.dtype}>"


def _check_extent(what: str, value: Any, site: Site) -> None:
    if not _is_int(value):
        raise error(
            "AT0106",
            f"the {what} of a LocalTensor is an integer, not {describe(value)}",
            site,
            hint="LocalTensor(dtype, pos, addr, tile_size): addr in bytes, tile_size in elements",
        )
    if not isinstance(value, Value) and value < 0:
        raise error(
            "AT0108",
            f"the {what} of a LocalTensor is {value}",
            site,
            hint="LocalTensor(dtype, pos, addr, tile_size): both count from 0 up",
        )


class LocalTensor(Value):
    """A tensor in on-chip memory (`AscendC::LocalTensor<T>`).

    Allocated by a queue or from a TBuf, or made at an address: `LocalTensor(dtype, pos, addr,
    tile_size)` with the address in bytes and the size in elements; `LocalTensor(dtype, addr)`
    reaches to the end of the unified buffer, `LocalTensor(dtype)` is empty until a queue of depth 0
    or `set_addr_with_offset` fills it. `tensor[start:stop]` is the view of these elements, as is
    `tensor[start]` with all that follow; `tensor(i)` reads an element, `tensor[i] = v` writes it.

    `owner` is the queue or TBuf it comes from. `base` and `offset` say where it lies: so many bytes
    (None if unknown) into a buffer, or into a memory, by its name, when the address is known.
    """

    __slots__ = ("base", "bound", "offset", "owner", "size")

    __iter__ = _no_iteration

    def __init__(
        self,
        dtype: DataType,
        pos: Any = TPosition.VECIN,
        addr: Any = 0,
        tile_size: Any = 0,
    ) -> None:
        recorder = current("LocalTensor")
        if not isinstance(dtype, DataType):
            raise error(
                "AT0106",
                f"LocalTensor needs a dtype, not {describe(dtype)}",
                recorder.site(),
                hint="LocalTensor(asc.float32, asc.TPosition.VECIN, addr, tile_size)",
            )
        if _is_int(pos) and not isinstance(pos, TPosition):
            pos, addr = TPosition.VECIN, pos
            tile_size = (recorder.trace.chip.memory["UB"] - addr) // dtype.sizeof()
        empty = type(addr) is int and type(tile_size) is int and addr == tile_size == 0
        if not isinstance(pos, TPosition) or pos not in MEMORY or MEMORY[pos] == "GM":
            raise error(
                "AT0116",
                f"{describe(pos)} is no on-chip position",
                recorder.site(),
                hint="asc.TPosition.VECIN, VECCALC or VECOUT for vector data",
            )
        for what, value in (("address", addr), ("size", tile_size)):
            _check_extent(what, value, recorder.site())
        addr, tile_size = (v if isinstance(v, Value) else int(v) for v in (addr, tile_size))
        memory = MEMORY[pos]
        require_memory("LocalTensor", pos, memory)
        unit = recorder.trace.chip.alignment[memory]
        if not isinstance(addr, Value) and addr % unit:
            raise error(
                "AT0103",
                f"a LocalTensor begins at byte {addr}, {addr % unit} past a multiple of {unit}",
                recorder.site(),
                hint=f"addresses in {memory} are multiples of {unit} bytes",
            )
        super().__init__(LocalTensorType(dtype, pos), recorder.block)
        self.size: Any = None if empty else tile_size
        self.base: Any = self if empty or isinstance(addr, Value) else memory
        self.offset: int | None = 0 if isinstance(addr, Value) else addr
        self.owner: Any = None
        self.bound = not empty
        if empty:
            recorder.record(rows.LOCAL_TENSOR, rows.LOCAL_TENSOR.forms[0], (dtype,), self)
            return
        args = (dtype, pos, addr, tile_size)
        recorder.record(rows.LOCAL_TENSOR, rows.LOCAL_TENSOR.forms[1], args, self)
        length = tile_size * dtype.sizeof()
        recorder.trace.buffers.append(BufferInfo(self, pos, 1, length, recorder.site(), addr))

    @classmethod
    def view(
        cls,
        type: LocalTensorType,
        block: Any,
        size: Any,
        offset: int | None,
        base: Any = None,
        owner: Any = None,
    ) -> LocalTensor:
        """A proxy for the result of an operation: a part of `base`, or a buffer of its own."""
        self = cls.__new__(cls)
        Value.__init__(self, type, block)
        self.size = size
        self.base = self if base is None else base
        self.offset = offset
        self.owner = owner
        self.bound = True
        return self

    def rebind(
        self, kind: LocalTensorType, size: Any, offset: int | None, owner: Any, base: Any = None
    ) -> None:
        """The tensor names other memory from here on; what differs from before is unknown."""
        if self.bound and MEMORY[kind.position] != MEMORY[self.type.position]:
            raise error(
                "AT0116",
                f"{describe(self)} gets memory in {MEMORY[kind.position]}",
                current("tensor").site(),
                hint="one tensor variable stays in one physical memory: make a second one",
            )
        if self.bound:
            size = size if type(size) is int and size == self.size else None
            offset = offset if offset == self.offset and base is None else None
            base = None
            owner = owner if owner is self.owner else None
        self.type = kind
        self.size, self.offset, self.owner = size, offset, owner
        self.base = self if base is None else base
        self.bound = True

    @property
    def dtype(self) -> DataType:
        """The element type."""
        return self.type.dtype  # type: ignore[no-any-return]

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return _view(self, index, rows.LOCAL_SLICE)
        if not _is_int(index):
            raise error(
                "AT0106",
                f"a LocalTensor is indexed by an integer or a slice, not {describe(index)}",
                current("index").site(),
                hint="tensor[start:] is the view from `start`, tensor(i) reads an element",
            )
        return _view(self, slice(index, None), rows.LOCAL_SLICE)

    def __setitem__(self, index: Any, value: Any) -> None:
        self.set_value(index, value)

    def __call__(self, index: Any) -> Any:
        """Element `index`, as `get_value(index)`."""
        return self.get_value(index)

    get_value = OpFunction(rows.LOCAL_GET_VALUE)
    set_value = OpFunction(rows.LOCAL_SET_VALUE)
    get_length = OpFunction(info.LOCAL_GET_LENGTH)
    get_phy_addr = OpFunction(info.LOCAL_GET_PHY_ADDR)
    get_position = OpFunction(info.LOCAL_GET_POSITION)
    get_shape_info = OpFunction(info.LOCAL_GET_SHAPE_INFO)
    get_user_tag = OpFunction(info.LOCAL_GET_USER_TAG)
    print = OpFunction(info.LOCAL_PRINT)
    set_addr_with_offset = OpFunction(info.LOCAL_SET_ADDR_WITH_OFFSET)
    set_buffer_len = OpFunction(info.LOCAL_SET_BUFFER_LEN)
    set_shape_info = OpFunction(info.LOCAL_SET_SHAPE_INFO)
    set_size = OpFunction(info.LOCAL_SET_SIZE)
    set_user_tag = OpFunction(info.LOCAL_SET_USER_TAG)
    to_file = OpFunction(info.LOCAL_TO_FILE)

    def reinterpret_cast(self, dtype: DataType) -> Any:
        """The same bytes as elements of `dtype` (`ReinterpretCast<T>()`)."""
        if dtype is self.dtype:
            return self
        return _reinterpret(self, dtype)

    def get_size(self) -> Any:
        """Number of elements (`GetSize`)."""
        if self.size is None:
            return record(
                rows.LOCAL_GET_SIZE, rows.LOCAL_GET_SIZE.forms[0], (self,), current("get_size")
            )
        return self.size

    def __repr__(self) -> str:
        return f"<LocalTensor {self.name} of {self.type.dtype}>"


GlobalPointerType.proxy = GlobalAddress
GlobalTensorType.proxy = GlobalTensor
LocalTensorType.proxy = LocalTensor
