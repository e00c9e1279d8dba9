"""Executors of tensor lists.

An address in a list is one of the host, of an array that is an argument of the launch; it becomes a
place in that array here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...tracer.diagnostics import KernelError, error
from ...tracer.ops import list_tensor as rows
from ...tracer.trace import Op, Value, describe
from .memory import GlobalMemory
from .registry import Executor, simulates

if TYPE_CHECKING:
    from .core import Core

_WORD = 8


class _List:
    """A list that has been read: where its words begin, and what they say."""

    def __init__(self, memory: GlobalMemory, start: int, core: Core) -> None:
        self.memory = memory
        self.start = start
        self._core = core
        self.pointers = self.word(0) // _WORD
        self.dim = self.word(1) & 0xFFFFFFFF
        self.stride = 1 + self.dim if self.dim else 2
        count = self.word(1) >> 32
        self.count = count or (self.word(self.pointers - self.stride) >> 32) + 1
        fits = self.pointers == 1 + self.count * self.stride if self.dim else self.pointers == 3
        self.valid = fits and self.word(0) % _WORD == 0

    def word(self, index: int) -> int:
        """A word of the list, as the scalar unit reads it."""
        at = self.start + index * _WORD
        if not 0 <= at <= self.memory.nbytes - _WORD:
            raise IndexError(index)
        return int.from_bytes(self._core.cache.load(self.memory, at, _WORD), "little")


class _Desc:
    """What `get_desc` fills."""

    def __init__(self) -> None:
        self.dim = 0
        self.index = 0
        self.shape: list[int] | None = None
        self.pointer = 0


def _read(op: Op, core: Core, data: Any, length: int, size: int) -> _List:
    memory, start = data
    try:
        found = _List(memory, start, core)
    except IndexError:
        raise _no_list(op, "its words lead out of the array") from None
    if not found.valid:
        raise _no_list(op, "the words do not fit together")
    if rows.UNKNOWN not in (length, size):
        nbytes = (found.pointers + found.count) * _WORD
        if (length, size) != (nbytes, found.count):
            raise _no_list(
                op,
                f"{found.count} tensors in {nbytes} bytes, not {size} in {length}",
            )
    return found


def _no_list(op: Op, why: str) -> KernelError:
    data = next(arg for arg, p in zip(op.args, op.form.params, strict=True) if p.name == "data")
    return error(
        "AT0201",
        f"{describe(data)} holds no list of tensors: {why}",
        op.site,
        hint="words of uint64: distance to the addresses, dimensions and shape of each tensor, the "
        "addresses",
    )


def _lengths(op: Op, values: Any) -> tuple[int, int]:
    """Length and number of tensors, constants or the next runtime values."""
    rest = iter(values)
    first, second = (next(rest) if isinstance(v, Value) else v for v in op.args[-2:])
    return first, second


@simulates(rows.LIST_TENSOR_DESC)
def _make(op: Op, core: Core) -> Executor:
    def run(*values: Any) -> list[_List | None]:
        if op.form.name == "empty":
            return [None]
        return [_read(op, core, values[0], *_lengths(op, values[1:]))]

    return run


@simulates(rows.LIST_INIT)
def _init(op: Op, core: Core) -> Executor:
    def run(tensors: list[_List | None], data: Any, *values: int) -> None:
        tensors[0] = _read(op, core, data, *_lengths(op, values))

    return run


@simulates(rows.TENSOR_DESC)
def _desc(op: Op, core: Core) -> Executor:
    return _Desc


@simulates(rows.DESC_SET_SHAPE_ADDR)
def _set_shape(op: Op, core: Core) -> Executor:
    def run(desc: _Desc, shape: list[int]) -> None:
        desc.shape = shape

    return run


def _tensor(op: Op, tensors: list[_List | None], index: int) -> _List:
    found = tensors[0]
    if found is None:
        raise error("AT0201", f"{op.spec.name} of a list without data", op.site,
                    hint="init(data) comes first")  # fmt: skip
    if not 0 <= index < found.count:
        raise error(
            "AT0201",
            f"{op.spec.name} of tensor {index} of a list that has {found.count}",
            op.site,
            hint="get_size() is the number of tensors",
        )
    return found


@simulates(rows.LIST_GET_DESC)
def _get_desc(op: Op, core: Core) -> Executor:
    fixed = op.args[2]
    room = op.args[3].type.length

    def run(tensors: list[_List | None], desc: _Desc, index: int = fixed) -> list[int]:
        found = _tensor(op, tensors, index)
        shape = desc.shape  # the array that the call rebinds, which is no operand
        assert shape is not None
        if not 0 < found.dim <= room:
            raise error(
                "AT0201",
                f"{op.spec.name} of a tensor with {found.dim} dimensions into an array of {room}",
                op.site,
                hint="the array of set_shape_addr has room for every dimension"
                if found.dim
                else "the list has no shapes: get_data_ptr(index, dtype)",
            )
        at = 1 + index * found.stride
        shape[: found.dim] = [found.word(at + 1 + k) for k in range(found.dim)]
        desc.dim, desc.index = found.dim, index
        desc.pointer = found.word(found.pointers + index)
        return shape

    return run


@simulates(rows.LIST_GET_SIZE)
def _size(op: Op, core: Core) -> Executor:
    return lambda tensors: 0 if tensors[0] is None else tensors[0].count


@simulates(rows.LIST_GET_DATA_PTR)
def _list_pointer(op: Op, core: Core) -> Executor:
    fixed = op.args[1]

    def run(tensors: list[_List | None], index: int = fixed) -> tuple[GlobalMemory, int]:
        found = _tensor(op, tensors, index)
        return _place(op, core, found.word(found.pointers + index))

    return run


@simulates(rows.DESC_GET_DIM)
def _dim(op: Op, core: Core) -> Executor:
    return lambda desc: desc.dim


@simulates(rows.DESC_GET_INDEX)
def _index(op: Op, core: Core) -> Executor:
    return lambda desc: desc.index


@simulates(rows.DESC_GET_SHAPE)
def _shape(op: Op, core: Core) -> Executor:
    fixed = op.args[1]

    def run(desc: _Desc, offset: int = fixed) -> int:
        if not 0 <= offset < desc.dim:
            raise error(
                "AT0201",
                f"{op.spec.name} of dimension {offset} of a tensor that has {desc.dim}",
                op.site,
                hint="get_dim() is the number of dimensions, 0 before get_desc",
            )
        assert desc.shape is not None
        return desc.shape[offset]

    return run


@simulates(rows.DESC_GET_DATA_PTR)
def _desc_pointer(op: Op, core: Core) -> Executor:
    return lambda desc: _place(op, core, desc.pointer)


@simulates(rows.DESC_GET_DATA_OBJ)
def _desc_tensor(op: Op, core: Core) -> Executor:
    def run(desc: _Desc) -> tuple[GlobalMemory, int, int]:
        memory, start = _place(op, core, desc.pointer)
        return memory, start, memory.nbytes

    return run


def _place(op: Op, core: Core, pointer: int) -> tuple[GlobalMemory, int]:
    """The array that has a byte at an address of the host, and where."""
    for argument in core.arguments:
        memory = argument[0] if isinstance(argument, tuple) else None
        if isinstance(memory, GlobalMemory) and memory.nbytes:
            offset = pointer - np.frombuffer(memory.bytes, np.uint8).ctypes.data
            if 0 <= offset < memory.nbytes:
                return memory, offset
    raise error(
        "AT0201",
        f"{op.spec.name}: the address {pointer:#x} is in no array of the launch",
        op.site,
        hint="in the simulator it is array.ctypes.data of an array that the kernel gets as an "
        "argument too",
    )
