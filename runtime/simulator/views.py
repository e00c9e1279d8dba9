"""Emitters of what only computes addresses: pointers, views, sizes, the block's place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...tracer.diagnostics import error
from ...tracer.language.dtypes import int32
from ...tracer.ops import sync, tensor
from ...tracer.trace import Op, describe
from .memory import UNBOUND
from .registry import emits

if TYPE_CHECKING:
    from .codegen import Writer

#: The grid has at most this many blocks.
MAX_BLOCKS = 65535


def _scaled(writer: Writer, count: Any, size: int) -> str:
    """A number of elements in bytes."""
    if isinstance(count, int):
        return str(count * size)
    name = writer.value(count)
    return name if size == 1 else f"{name} * {size}"


@emits(tensor.ADDRESS_ADD)
def _address_add(op: Op, writer: Writer) -> None:
    assert op.result is not None
    base = writer.value(op.args[0])
    offset = _scaled(writer, op.args[1], op.args[0].type.dtype.sizeof())
    writer.line(f"{writer.define(op.result)} = ({base}[0], {base}[1] + {offset})")


@emits(tensor.GLOBAL_TENSOR)
def _global_tensor(op: Op, writer: Writer) -> None:
    assert op.result is not None
    writer.line(f"{writer.define(op.result)} = {writer.bind(UNBOUND, 'u')}")


@emits(tensor.SET_GLOBAL_BUFFER)
def _set_global_buffer(op: Op, writer: Writer) -> None:
    target, address, size = op.args
    base = writer.value(address)
    end = f"{base}[0].nbytes"
    if size is not None:
        nbytes = _scaled(writer, size, address.type.dtype.sizeof())
        end = f"min({end}, {base}[1] + {nbytes})"
    writer.line(f"{writer.define(target)} = ({base}[0], {base}[1], {end})")


@emits(tensor.GLOBAL_SLICE)
def _global_slice(op: Op, writer: Writer) -> None:
    assert op.result is not None
    source, start, size = op.args
    base, nbytes = writer.value(source), source.type.dtype.sizeof()
    first = f"{base}[1] + {_scaled(writer, start, nbytes)}"
    end = f"{base}[2]"
    result = writer.define(op.result)
    if size is not None:
        end = f"min({end}, {first} + {_scaled(writer, size, nbytes)})"
    writer.line(f"{result} = ({base}[0], {first}, {end})")


@emits(tensor.LOCAL_SLICE)
def _local_slice(op: Op, writer: Writer) -> None:
    assert op.result is not None
    source, start, size = op.args
    base, nbytes = writer.value(source), source.type.dtype.sizeof()
    if writer.range_of(start, int32)[0] < 0:
        name = writer.value(start)
        writer.line(f"if {name} < 0: {writer.bind(_negative(op), 'e')}({name})")
    offset = _scaled(writer, start, nbytes)
    room = f"{base}[1] - {offset}"
    if size is not None:
        room = f"min({room}, {_scaled(writer, size, nbytes)})"
    result = writer.define(op.result)
    writer.line(f"{result} = ({base}[0] + {offset}, {room}, {base}[2])")


def _negative(op: Op) -> Any:
    def fault(start: int) -> None:
        raise error(
            "AT0201",
            f"a view starts at element {start} of {describe(op.args[0])}",
            op.site,
            hint="a view begins inside its tensor: count from 0 up",
        )

    return fault


@emits(tensor.LOCAL_GET_SIZE)
def _get_size(op: Op, writer: Writer) -> None:
    assert op.result is not None
    size = op.args[0].type.dtype.sizeof()
    writer.line(f"{writer.define(op.result)} = {writer.value(op.args[0])}[1] // {size}")


@emits(sync.GET_BLOCK_IDX)
def _block_idx(op: Op, writer: Writer) -> None:
    assert op.result is not None
    writer.ranges[id(op.result)] = (0, MAX_BLOCKS - 1)
    writer.line(f"{writer.define(op.result)} = block_idx")


@emits(sync.GET_BLOCK_NUM)
def _block_num(op: Op, writer: Writer) -> None:
    assert op.result is not None
    writer.ranges[id(op.result)] = (1, MAX_BLOCKS)
    writer.line(f"{writer.define(op.result)} = block_num")
