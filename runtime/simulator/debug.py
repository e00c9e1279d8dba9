"""Executors of printing: the device's log is standard output here."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ...tracer.diagnostics import finding
from ...tracer.language.dtypes import DataType
from ...tracer.language.enums import MEMORY
from ...tracer.ops import debug
from ...tracer.trace import Op, Value, describe
from .memory import global_fault, local_fault
from .registry import Executor, fill, nothing, simulates
from .scalars import accessors
from .system import ticks

if TYPE_CHECKING:
    from .core import Core


def text_of(value: Any, dtype: DataType) -> str:
    """A scalar as Python prints it; floats with the digits that their dtype needs."""
    return str(dtype.np.type(value)) if dtype.kind == "f" else str(value)


@simulates(debug.PRINTF)
def _printf(op: Op, core: Core) -> Executor:
    if op.form.name == "format":
        return _formatted(op)
    pieces = op.args[0]

    def run(*values: Any) -> None:
        rest = iter(values)
        text = ""
        for piece in pieces:
            if not isinstance(piece, Value):
                text += str(piece)
                continue
            value = next(rest)
            is_scalar = isinstance(piece.type, DataType)
            text += text_of(value, piece.type) if is_scalar else describe(piece)
        sys.stdout.write(text)

    return run


def _formatted(op: Op) -> Executor:
    """Text with conversions, each with its operand: a constant or the next runtime value."""
    desc, params = op.args
    parts: list[Any] = []
    at, rest = 0, iter(params)
    for match in debug.CONVERSION.finditer(desc):
        parts += [desc[at : match.start()], "%" if match[3] == "%" else (match[3], next(rest))]
        at = match.end()
    parts.append(desc[at:])

    def run(*values: Any) -> None:
        rest = iter(values)
        text = ""
        for part in parts:
            if isinstance(part, str):
                text += part
                continue
            letter, param = part
            value = next(rest) if isinstance(param, Value) else param
            text += _in_c(letter, value, param)
        sys.stdout.write(text)

    return run


def _in_c(letter: str, value: Any, param: Any) -> str:
    """A value as C prints it."""
    if letter == "s":
        return str(value)
    if letter == "p":
        memory, offset = value
        return f"{memory.base + offset:#x}"
    if letter in "fF":
        return f"{float(value):.6{letter}}"
    number = int(value)
    if letter != "x":
        return str(number)
    bits = max(param.type.bits, 32) if isinstance(param, Value) else 64
    return f"{number & ((1 << (bits if number < 0 else 64)) - 1):x}"


# -- tensors --------------------------------------------------------------------------------------


@simulates(debug.DUMP_TENSOR)
def _dump_tensor(op: Op, core: Core) -> Executor:
    def run(*values: Any) -> None:
        view, desc, size, shape = _filled(op, values)
        _dump(op, core, view, desc, 0, size, shape)

    return run


@simulates(debug.DUMP_ACC_CHK_POINT)
def _dump_point(op: Op, core: Core) -> Executor:
    def run(*values: Any) -> None:
        view, index, offset, size = _filled(op, values)
        _dump(op, core, view, index, offset, size, None)

    return run


def _filled(op: Op, values: Sequence[Any]) -> list[Any]:
    """The operands of a call; numbers as the unsigned ones that C++ makes of them."""
    rest = iter(values)
    filled = [fill(arg, rest) for arg in op.args]
    return [
        _unsigned(value) if param.cpp == "uint32_t" else value
        for value, param in zip(filled, op.form.params, strict=True)
    ]


def _unsigned(number: int) -> int:
    return int(number) % 2**32


def _dump(op: Op, core: Core, view: Any, desc: int, offset: int, count: int, shape: Any) -> None:
    dtype = op.args[0].type.dtype
    size = dtype.sizeof()
    core.engine.settle()
    if op.form.name == "local":
        address = view[0] + offset * size
        moved = (address, view[1] - offset * size, view[2])
        if fault := local_fault(op, 0, moved, max(count, 0) * size):
            raise fault
        memory = core.memory_of(op.args[0])
        data, missing = memory.bytes, memory.first_unwritten
        place = MEMORY[op.args[0].type.position]
    else:
        gm, start, end = view
        address = start + offset * size
        if address < 0 or address + count * size > end:
            raise global_fault(op, 0, view, address, address + count * size)
        data, missing = gm.bytes, lambda start, stop: None
        place = "GM"
    if count * size > debug.MOST_BYTES:
        core.note((op, op), finding(
            "AT0108",
            f"{op.spec.name} of {count * size} bytes prints nothing on the device",
            op.site,
            severity="warning",
            hint=f"at most {debug.MOST_BYTES} bytes a call: print a part",
        ))  # fmt: skip
        return
    load, _ = accessors(dtype)
    elements = [
        "?" if missing(at, at + size) is not None else _element(load(data, at), dtype)
        for at in range(address, address + count * size, size)
    ]
    sys.stdout.write(
        f"DumpTensor: desc={desc}, addr={address:x}, data_type={dtype}, position={place}, "
        f"dump_size={count}\n{_laid_out(elements, shape)}\n"
    )


def _element(value: Any, dtype: DataType) -> str:
    return f"{value:f}" if dtype.kind == "f" else str(int(value))


def _laid_out(elements: list[str], shape: Any) -> str:
    """Elements in brackets; by a shape, with "-" for those that are missing."""
    if not shape:
        return f"[{', '.join(elements)}]"
    return _nested(iter(elements), list(shape[1])[: shape[0]])


def _nested(elements: Iterator[str], shape: list[int]) -> str:
    if len(shape) == 1:
        return f"[{', '.join(next(elements, '-') for _ in range(shape[0]))}]"
    rows = [_nested(elements, shape[1:]) for _ in range(shape[0])]
    return f"[{(',' + chr(10)).join(rows)}]"


@simulates(debug.PRINT_TIME_STAMP)
def _time_stamp(op: Op, core: Core) -> Executor:
    constant = op.args[0]

    def run(desc: int = constant) -> None:
        sys.stdout.write(f"descId is {_unsigned(desc)}, rsv is 0, timeStamp is {ticks(core)}.\n")

    return run


@simulates(debug.METRICS_PROF_START, debug.METRICS_PROF_STOP)
def _mark(op: Op, core: Core) -> Executor:
    return nothing
