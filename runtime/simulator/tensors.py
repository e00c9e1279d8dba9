"""What tensors tell of themselves and are told: sizes, addresses, tags, shapes, debug output."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...tracer.diagnostics import error
from ...tracer.language.enums import MEMORY
from ...tracer.ops import tensor_info as rows
from ...tracer.trace import Op, describe
from .debug import text_of
from .memory import LocalView, local_fault, unwritten_fault
from .registry import Executor, emits, fill, simulates
from .views import _scaled as scaled

if TYPE_CHECKING:
    from .codegen import Writer
    from .core import Core

#: Elements a line that `print` writes.
_LINE_BYTES = 32


def _define(op: Op, writer: Writer, text: str) -> None:
    assert op.result is not None
    writer.line(f"{writer.define(op.result)} = {text}")


@emits(rows.LOCAL_REINTERPRET_CAST)
def _cast(op: Op, writer: Writer) -> None:
    _define(op, writer, writer.value(op.args[0]))


@emits(rows.LOCAL_GET_LENGTH)
def _length(op: Op, writer: Writer) -> None:
    _define(op, writer, f"{writer.value(op.args[0])}[1]")


@emits(rows.LOCAL_GET_POSITION)
def _position(op: Op, writer: Writer) -> None:
    _define(op, writer, str(int(op.args[0].type.position)))


@emits(rows.LOCAL_GET_PHY_ADDR)
def _address(op: Op, writer: Writer) -> None:
    size = op.args[0].type.dtype.sizeof()
    _define(op, writer, f"{writer.value(op.args[0])}[0] + {scaled(writer, op.args[1], size)}")


@emits(rows.GLOBAL_GET_SIZE)
def _global_size(op: Op, writer: Writer) -> None:
    name, size = writer.value(op.args[0]), op.args[0].type.dtype.sizeof()
    _define(op, writer, f"({name}[2] - {name}[1]) // {size}")


@emits(rows.GLOBAL_GET_PHY_ADDR)
def _global_address(op: Op, writer: Writer) -> None:
    name, size = writer.value(op.args[0]), op.args[0].type.dtype.sizeof()
    _define(op, writer, f"({name}[0], {name}[1] + {scaled(writer, op.args[1], size)})")


@emits(rows.GLOBAL_SET_L2_CACHE_HINT)
def _hint(op: Op, writer: Writer) -> None:
    """Speed only."""


# -- sizes --------------------------------------------------------------------------------------


def _resized(op: Op, memory_size: int) -> Any:
    """A function that checks a new length in bytes against the tensor's buffer."""

    def resize(tensor: LocalView, nbytes: int) -> LocalView:
        address, _, hold = tensor
        owner = hold[1]
        end = memory_size if owner is None else hold[2] + owner.nbytes
        if not 0 <= nbytes <= end - address:
            raise error(
                "AT0201",
                f"{op.spec.name.rpartition('.')[2]} makes {describe(op.args[0])} {nbytes} bytes "
                f"long, its buffer has {end - address} from there on",
                op.site,
                hint="a tensor cannot outgrow its buffer",
            )
        return (address, nbytes, hold)

    return resize


def _emit_resize(op: Op, writer: Writer, nbytes: str) -> None:
    tensor = op.args[0]
    size = writer.trace.chip.memory[MEMORY[tensor.type.position]]
    name = writer.value(tensor)
    writer.line(
        f"{writer.define(tensor)} = {writer.bind(_resized(op, size), 's')}({name}, {nbytes})"
    )


@emits(rows.LOCAL_SET_SIZE)
def _set_size(op: Op, writer: Writer) -> None:
    _emit_resize(op, writer, scaled(writer, op.args[1], op.args[0].type.dtype.sizeof()))


@emits(rows.LOCAL_SET_BUFFER_LEN)
def _set_length(op: Op, writer: Writer) -> None:
    _emit_resize(op, writer, scaled(writer, op.args[1], 1))


def _moved(op: Op) -> Any:
    def move(src: LocalView, offset: int) -> LocalView:
        address, room, hold = src
        if not 0 <= offset <= room:
            raise error(
                "AT0201",
                f"set_addr_with_offset goes {offset} bytes into {describe(op.args[1])}, which has "
                f"{room}",
                op.site,
                hint="the offset counts elements of the source and lies inside it",
            )
        return (address + offset, room - offset, hold)

    return move


@emits(rows.LOCAL_SET_ADDR_WITH_OFFSET)
def _set_address(op: Op, writer: Writer) -> None:
    tensor, src, offset = op.args
    moved = writer.bind(_moved(op), "s")
    nbytes = scaled(writer, offset, src.type.dtype.sizeof())
    writer.line(f"{writer.define(tensor)} = {moved}({writer.value(src)}, {nbytes})")


# -- tags and shapes ----------------------------------------------------------------------------


def _tag_key(op: Op, tensor: LocalView) -> Any:
    hold = tensor[2]
    if hold[1] is None:
        raise error(
            "AT0106",
            f"{describe(op.args[0])} is of no queue or TBuf, so it has no tag",
            op.site,
            hint="tags belong to the buffers of queues",
        )
    return ("tag", id(hold[1]), hold[2])


@simulates(rows.LOCAL_SET_USER_TAG)
def _set_tag(op: Op, core: Core) -> Executor:
    constant = op.args[1]

    def run(tensor: LocalView, tag: int = constant) -> None:
        core.notes[_tag_key(op, tensor)] = tag

    return run


@simulates(rows.LOCAL_GET_USER_TAG)
def _get_tag(op: Op, core: Core) -> Executor:
    return lambda tensor: core.notes.get(_tag_key(op, tensor), 0)


@simulates(rows.LOCAL_SET_SHAPE_INFO, rows.GLOBAL_SET_SHAPE_INFO)
def _set_shape(op: Op, core: Core) -> Executor:
    key = ("shape", id(op.args[0]))

    def run(tensor: Any, *arrays: Any) -> None:
        core.notes[key] = fill(op.args[1], iter(arrays))

    return run


@simulates(rows.LOCAL_GET_SHAPE_INFO, rows.GLOBAL_GET_SHAPE_INFO)
def _get_shape(op: Op, core: Core) -> Executor:
    key = ("shape", id(op.args[0]))

    def run(tensor: Any) -> Any:
        found = core.notes.get(key)
        if not found:
            raise error(
                "AT0203",
                f"get_shape_info of {describe(op.args[0])}, which has no shape",
                op.site,
                hint="set_shape_info of the same tensor comes first; views have a shape of their "
                "own",
            )
        return (tuple(found[1]), tuple(found[3]))

    return run


def _dimension(op: Op, which: int) -> Any:
    def read(shape: Any, dim: int) -> int:
        dims = shape[which]
        if not 0 <= dim < len(dims):
            raise error(
                "AT0201",
                f"dimension {dim} of {describe(op.args[0])}, which has {len(dims)}",
                op.site,
                hint="dimensions count from 0",
            )
        return int(dims[dim])

    return read


def _emit_dimension(op: Op, writer: Writer, which: int) -> None:
    read = writer.bind(_dimension(op, which), "d")
    _define(op, writer, f"{read}({writer.value(op.args[0])}, {writer.value(op.args[1])})")


@emits(rows.SHAPE_INFO_SHAPE)
def _shape(op: Op, writer: Writer) -> None:
    _emit_dimension(op, writer, 0)


@emits(rows.SHAPE_INFO_ORIGINAL_SHAPE)
def _original_shape(op: Op, writer: Writer) -> None:
    _emit_dimension(op, writer, 1)


# -- debug output -------------------------------------------------------------------------------


def _bytes(op: Op, core: Core, tensor: LocalView, nbytes: int) -> bytes:
    """The first bytes of a tensor, which have been written."""
    fault = local_fault(op, 0, tensor, nbytes, align=1)
    if fault is not None:
        raise fault
    memory = core.memory_of(op.args[0])
    start = tensor[0]
    missing = memory.first_unwritten(start, start + nbytes)
    if missing is not None:
        raise unwritten_fault(op, 0, missing, start)
    return bytes(memory.bytes[start : start + nbytes])


@simulates(rows.LOCAL_PRINT)
def _print(op: Op, core: Core) -> Executor:
    tensor, constant = op.args
    dtype = tensor.type.dtype
    size = dtype.sizeof()
    per_line = _LINE_BYTES // size

    def run(view: LocalView, count: int = constant) -> None:
        values = np.frombuffer(_bytes(op, core, view, count * size), dtype.np).tolist()
        for k in range(0, count, per_line):
            row = values[k : k + per_line]
            sys.stdout.write(" ".join(text_of(value, dtype) for value in row) + "\n")

    return run


@simulates(rows.LOCAL_TO_FILE)
def _to_file(op: Op, core: Core) -> Executor:
    path = Path(op.args[1])

    def run(view: LocalView) -> None:
        path.write_bytes(_bytes(op, core, view, view[1]))

    return run
