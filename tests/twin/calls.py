"""Runs the calls that compiled text makes, on one core of the simulator.

A call names an overload and brings operands. The operation is made as the tracer makes it
(`record`), compiled as the simulator compiles it (`Writer`), once for each kind of operands, and
run on a `Core`. What the kernel keeps of the results are numbers of entries in `objects`.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from bisect import bisect_right
from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np

import asctrace as asc
from asctrace.runtime.simulator.codegen import Writer
from asctrace.runtime.simulator.core import Core
from asctrace.runtime.simulator.engine import ProgramOrder
from asctrace.runtime.simulator.masks import MaskRegister
from asctrace.runtime.simulator.memory import GlobalMemory
from asctrace.runtime.simulator.params import SimParams
from asctrace.runtime.simulator.registry import factory_of, operands, rebound
from asctrace.tracer.language import enums
from asctrace.tracer.language.dtypes import DataType, int32
from asctrace.tracer.language.enums import MEMORY
from asctrace.tracer.language.scalar import Scalar
from asctrace.tracer.language.structs import (
    MrgSort4Info,
    MrgSortSrcList,
    ShapeInfo,
    StructArg,
    VdeqInfo,
)
from asctrace.tracer.language.tensor import LocalTensor
from asctrace.tracer.language.types import ArrayType, GlobalPointerType
from asctrace.tracer.ops.debug import PRINTF
from asctrace.tracer.ops.list_tensor import DESC_SET_SHAPE_ADDR
from asctrace.tracer.ops.spec import STRUCTS, TABLE, Form, OpSpec, Param, record
from asctrace.tracer.trace import Op, Recorder, Trace, swap_current

from .forms import DTYPES, ENUMS, forms, outputs

ABSENT, INTEGER, FLOATING, OBJECT, POINTER, TYPE, GROUP, TEXT, MEMORY_OF = range(9)

#: Objects whose calls are few and take constants.
_MANAGERS = frozenset({"tpipe", "queue", "buf", "pool", "allocator"})

#: Parameter structs by the kind of the parameter that takes them.
_STRUCTS: dict[str, Any] = {
    "merge_lists": MrgSortSrcList,
    "merge_info": MrgSort4Info,
    "vdeq_info": VdeqInfo,
    "opt_shape_info": ShapeInfo,
}

#: `twin::REBOUND`.
_REBOUND = -2
#: What is left of a budget that the twin does not have.
_PLENTY = 10**9


class Operand(ctypes.Structure):
    """`twin::Operand`."""

    class _Content(ctypes.Union):
        _fields_ = [("whole", ctypes.c_int64), ("real", ctypes.c_double)]

    _anonymous_ = ("content",)
    _fields_ = [("kind", ctypes.c_int32), ("type", ctypes.c_int32), ("content", _Content)]


class _Recorder(Recorder):
    """Records operations of which nothing is known but their operands."""

    __slots__ = ()

    def site(self) -> Any:
        return None

    def need_nonneg(self, value: Any) -> bool | None:
        return None


class _Made:
    """An operation ready to run, and the value that stands for its result."""

    __slots__ = ("op", "rebinds", "run", "static", "waits")

    def __init__(self, op: Op, run: Callable[..., Any], static: Any) -> None:
        self.op = op
        self.run = run
        self.static = static
        self.waits = bool(op.spec.extra.get("meets"))
        target = rebound(op)
        self.rebinds = target is not None and isinstance(target.type, ArrayType)


class Arrays:
    """The arrays of a launch: the address, the bytes and the memory of each."""

    def __init__(self, rows: Sequence[tuple[int, int, GlobalMemory]]) -> None:
        self._rows = sorted(rows, key=lambda row: row[:2])
        #: As the simulator has them as arguments.
        self.values = [(row[2], 0) for row in self._rows]

    def find(self, pointer: int) -> tuple[GlobalMemory, int]:
        """The array that a pointer leads into, or the nearest in front of it, and how far."""
        k = bisect_right(self._rows, pointer, key=lambda row: row[0]) - 1
        start, _, memory = self._rows[max(k, 0)]
        return memory, pointer - start

    def start(self, memory: GlobalMemory) -> int:
        """The address of an array."""
        return next(row[0] for row in self._rows if row[2] is memory)


class _Reading:
    """The operands of one call: what stands for each, what the operation is kept by, values."""

    def __init__(self, calls: Calls, given: Any, key: Any, constant: bool) -> None:
        self.calls = calls
        self.given = given
        self.at = 0
        self.args: list[Any] = []
        self.key: list[Any] = [key]
        self.values: list[Any] = []
        #: Arrays in the kernel's memory that the call may write: address, dtype, the list.
        self.arrays: list[tuple[int, DataType, list[Any]]] = []
        self._constant = constant
        self._used: list[Any] = []

    def read(self, param: Param) -> None:
        """The next operand."""
        operand = self.given[self.at]
        kind = operand.kind
        if kind == GROUP:
            arg = self._group(param)
        elif kind in (OBJECT, MEMORY_OF):
            arg = self._one(param)
        else:
            self.at += 1
            arg = self._simple(param, operand)
        self.args.append(arg)

    def _simple(self, param: Param, operand: Any) -> Any:
        kind = operand.kind
        if kind == ABSENT:
            arg = None if param.required else param.default
        elif kind == POINTER:
            dtype = DTYPES[operand.type]
            arg = self.calls.kept(
                ("pointer", dtype, self.at), lambda: _pointer(dtype, self.calls.recorder)
            )
            self.values.append(self.calls.arrays.find(operand.whole))
            self.key.append(dtype)
            return arg
        elif kind == TYPE:
            arg = DTYPES[operand.whole]
        elif kind == TEXT:
            arg = ctypes.string_at(operand.whole).decode()
        else:
            return self._number(param, operand)
        self.key.append(arg)
        return arg

    def _number(self, param: Param, operand: Any) -> Any:
        name = param.kind.removeprefix("opt_")
        number = _number(operand)
        if name in ENUMS:
            arg: Any = ENUMS[name](number)
        elif param.kind in ("const_bool", "flag") or param.role == "set_mask":
            arg = bool(number)
        elif self._constant or param.role == "template" or param.kind == "const_int":
            arg = number
        else:
            dtype = DTYPES[operand.type] if operand.type >= 0 else int32
            self.values.append(bool(number) if dtype.kind == "b" else number)
            self.key.append(dtype)
            return self.calls.kept(
                ("scalar", dtype, self.at), lambda: Scalar(dtype, self.calls.recorder.block)
            )
        self.key.append(arg)
        return arg

    def _one(self, param: Param) -> Any:
        """An object, or an array in the kernel's memory."""
        operand = self.given[self.at]
        self.at += 1
        if operand.kind == MEMORY_OF:
            length = self.given[self.at].whole
            self.at += 1
            value, arg = self.calls.array(operand.whole, DTYPES[operand.type], length)
            self.arrays.append((operand.whole, DTYPES[operand.type], value))
        else:
            value, arg = self.calls.object(operand, param)
        if any(arg is other for other in self._used):
            # Two tensors of one kind: each operand stands for its own.
            arg = self.calls.kept(("again", id(arg), self.at), functools.partial(_twin, arg))
        self._used.append(arg)
        self.values.append(value)
        self.key.append(id(arg))
        return arg

    def _group(self, param: Param) -> Any:
        parts = self._parts(param)
        if param.kind == "slices":
            return tuple(_struct(STRUCTS["slice"], part) for part in parts)
        for structs in (_STRUCTS, STRUCTS):
            if param.kind in structs:
                return _struct(structs[param.kind], parts)
        return parts

    def _parts(self, param: Param) -> tuple[Any, ...]:
        count = self.given[self.at].whole
        self.at += 1
        self.key.append(count)
        parts: list[Any] = []
        for _ in range(count):
            operand = self.given[self.at]
            if operand.kind == GROUP:
                parts.append(self._parts(param))
            elif operand.kind == OBJECT:
                parts.append(self._one(param))
            else:
                self.at += 1
                parts.append(_number(operand))
                self.key.append(parts[-1])
        return tuple(parts)


class Calls:
    """Makes and runs operations on one core. `wait` is what a call does that has to wait."""

    def __init__(
        self, trace: Trace, arrays: Arrays, params: SimParams, leader: Core | None = None
    ) -> None:
        self.arrays = arrays
        self.engine = ProgramOrder()
        memories = sorted({m for m in MEMORY.values() if m in trace.chip.memory})
        self.recorder = _Recorder(Trace("twin", trace.chip))
        self.core = Core(self.recorder.trace, memories, params, self.engine, leader)
        self.core.masks = MaskRegister()
        self.core.arguments = arrays.values
        self.error: BaseException | None = None
        self.block = (0, 1)
        self.wait: Callable[[Any], int] | None = None
        #: Run-time value and the value that stands for it, by handle.
        self.objects: list[tuple[Any, Any]] = []
        self._made: dict[Any, _Made] = {}
        self._kept: dict[Any, Any] = {}
        self._managers: dict[Any, Any] = {}
        self._ordinals: dict[int, int] = {}
        self._fresh: list[Any] = []
        #: Arrays in the kernel's memory that calls keep, by address.
        self._shared: dict[int, tuple[DataType, list[Any]]] = {}
        self._forms = forms()
        self._cell = memoryview(bytearray(4)).cast("f")

    def begin_objects(self, index: int, blocks: int) -> None:
        """A block begins: forget the objects of the one before."""
        self.block = (index, blocks)
        self.objects.clear()
        self._ordinals.clear()
        self._shared.clear()

    def begin_block(self, index: int, blocks: int) -> None:
        """A block begins on the core."""
        self.begin_objects(index, blocks)
        self.core.begin_block(index)

    def enter(self, number: int, given: Any, result: Any) -> int:
        """What the compiled text calls; 1 when the call is refused, with the reason in `error`."""
        before = swap_current(self.recorder)
        try:
            spec, form = self._forms[number]
            self._call(number, spec, form, given, result)
        except BaseException as exc:
            self.error = exc
            return 1
        finally:
            swap_current(before)
        return 0

    def _call(self, number: int, spec: OpSpec, form: Form, given: Any, result: Any) -> None:
        if spec is PRINTF:
            self._print(given[0], result[0])
            return
        constructs = spec.family == "construct"
        managed = bool(form.params) and form.params[0].kind in _MANAGERS
        reading = _Reading(self, given, number, constructs or managed)
        for address, (dtype, values) in self._shared.items():
            values[:] = _load(address, dtype, len(values))
        for param in form.params:
            reading.read(param)
        args = tuple(reading.args)
        if constructs and spec.name != "LocalTensor":
            made = self._construct(number, spec, args)
        else:
            key = tuple(reading.key)
            found = self._made.get(key)
            made = found or self._made.setdefault(key, self._make(spec, form, args))
        value = made.run(*self.block, *reading.values)
        if made.waits:
            value = self._wait(value)
        for address, dtype, values in reading.arrays:
            # An array that the call rebinds is what it gives.
            values[:] = value if made.rebinds else values
            _store(address, dtype, values)
            if spec is DESC_SET_SHAPE_ADDR:
                self._shared[address] = dtype, values
        for address, (dtype, values) in self._shared.items():
            _store(address, dtype, values)
        self._give(made, value, result)

    def _print(self, operand: Any, result: Any) -> None:
        """Write text, or give the place that an address has in the simulator."""
        if operand.kind == TEXT:
            sys.stdout.write(ctypes.string_at(operand.whole).decode())
        else:
            memory, offset = self.arrays.find(operand.whole)
            result.kind, result.whole = INTEGER, memory.base + offset

    def _wait(self, running: Generator[Any, int, Any]) -> Any:
        """Let other blocks run until the operation may go on."""
        assert self.wait is not None, "blocks that wait for one another have to run side by side"
        try:
            _, wait = next(running)
            while True:
                _, wait = running.send(self.wait(wait))
        except StopIteration as ended:
            return ended.value

    def kept(self, key: Any, make: Callable[[], Any]) -> Any:
        """One value for each key: operations are kept by the ids of values."""
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = make()
        return found

    def object(self, operand: Any, param: Param) -> tuple[Any, Any]:
        """The value behind a handle, and what stands for it."""
        if operand.whole >= 0:
            return self.objects[operand.whole]
        if operand.type < 0:
            raise AssertionError("an object that was never made")
        # A tensor that names nothing yet.
        dtype = DTYPES[operand.type]
        local = param.kind in ("local", "tensors")
        spec = TABLE["LocalTensor" if local else "GlobalTensor"]
        made = self._new(spec, (dtype,) if local else ())
        self._fresh.append(made)  # the id of its value is a key from now on
        return made.run(*self.block), made.static

    def array(self, address: int, dtype: DataType, length: int) -> tuple[list[Any], Any]:
        """The numbers of an array in the kernel's memory, and what stands for it."""
        type = ArrayType(dtype, length)
        static = self.kept(
            ("array", type), lambda: ArrayType.proxy.result(type, self.recorder.block)
        )
        shared = self._shared.get(address)
        return shared[1] if shared else _load(address, dtype, length), static

    # -- making operations ----------------------------------------------------------------------

    def _make(self, spec: OpSpec, form: Form, args: tuple[Any, ...]) -> _Made:
        if spec.family == "construct":
            return self._new(spec, args)
        nodes = self.recorder.block.nodes
        result = record(spec, form, args, self.recorder)
        op = nodes.pop()
        assert isinstance(op, Op)
        static = result
        if isinstance(result, LocalTensor):
            static = self.kept(
                ("local", result.type, id(result.owner), id(result.base)), lambda: result
            )
        elif result is None:
            static = rebound(op)
            if spec.name == "GlobalTensor.set_global_buffer":
                static = args[0]
        return _Made(op, self._compile(op), static)

    def _compile(self, op: Op) -> Callable[..., Any]:
        writer = Writer(self.recorder.trace)
        names = [writer.define(value) for value in operands(op)]
        start = len(writer._lines)
        writer._op(op)
        target = op.result if op.result is not None else rebound(op)
        if op.spec.name == "GlobalTensor.set_global_buffer":
            target = op.args[0]
        # A tensor that is read and rebound is one name.
        unique = list(dict.fromkeys(names))
        lines = [f"def call(block_idx, block_num, {', '.join(unique)}):"]
        lines += [f"    left = {_PLENTY}"] if writer.meets else []
        lines += writer._lines[start:]
        lines.append(f"    return {'None' if target is None else writer.define(target)}")
        bound: dict[str, Any] = dict(writer.bound)
        bound["cell"] = self._cell
        for name, executed in writer.executed:
            bound[name] = self.engine.issue(executed, factory_of(executed)(executed, self.core))
        exec("\n".join(lines), bound)
        call: Callable[..., Any] = bound["call"]
        if len(unique) == len(names):
            return call
        first = [names.index(name) for name in unique]

        def pick(block_idx: int, block_num: int, *values: Any) -> Any:
            return call(block_idx, block_num, *(values[k] for k in first))

        return pick

    def _construct(self, number: int, spec: OpSpec, args: tuple[Any, ...]) -> _Made:
        """The n-th object that a block makes is the same in every block."""
        ordinal = self._ordinals[number] = self._ordinals.get(number, 0) + 1
        key = (number, ordinal, *args)
        made = self._managers.get(key)
        if made is None:
            made = self._managers[key] = self._new(spec, args)
        return made  # type: ignore[no-any-return]

    def _new(self, spec: OpSpec, args: tuple[Any, ...]) -> _Made:
        """What a constructor makes: its proxy records the operation itself."""
        value = getattr(asc, spec.name)(*args)
        op = self.recorder.block.nodes.pop()
        assert isinstance(op, Op)
        return _Made(op, self._compile(op), value)

    # -- results --------------------------------------------------------------------------------

    def _give(self, made: _Made, value: Any, results: Any) -> None:
        """What the text gets: one result, or the numbers that a call writes by reference."""
        static = made.static
        if count := outputs(made.op.spec):
            parts = value if isinstance(value, list) else [value]
            for k in range(count):
                results[k].type = -1
                _give_number(results[k], parts[k], False)
            return
        result = results[0]
        result.type = -1
        if static is None or isinstance(static.type, ArrayType):
            result.kind = ABSENT
        elif isinstance(static.type, DataType):
            _give_number(result, value, static.type.kind == "f")
        elif isinstance(static.type, GlobalPointerType):
            memory, offset = value
            result.kind, result.whole = POINTER, self.arrays.start(memory) + offset
        else:
            result.kind, result.whole = OBJECT, len(self.objects)
            result.type = _REBOUND if made.op.result is None else -1
            self.objects.append((value, static))


def _give_number(result: Any, value: Any, real: bool) -> None:
    if real:
        result.kind, result.real = FLOATING, value
    else:
        result.kind, result.whole = INTEGER, int(value) - (value >= 2**63) * 2**64


def _load(address: int, dtype: DataType, length: int) -> list[Any]:
    size = length * dtype.sizeof()
    numbers: list[Any] = np.frombuffer(ctypes.string_at(address, size), dtype.np).tolist()
    return numbers


def _store(address: int, dtype: DataType, values: list[Any]) -> None:
    data = np.array(values, dtype.np).tobytes()
    ctypes.memmove(address, data, len(data))


def _pointer(dtype: DataType, recorder: Recorder) -> Any:
    type = GlobalPointerType(dtype)
    return GlobalPointerType.proxy(type, recorder.block)


def _twin(tensor: Any) -> Any:
    """Another value of the same type."""
    if isinstance(tensor, LocalTensor):
        return LocalTensor.view(tensor.type, tensor.block, None, None, tensor.base, tensor.owner)
    return type(tensor).view(tensor.type.dtype, tensor.block, None)


def _struct(cls: Any, parts: tuple[Any, ...]) -> StructArg:
    """A struct of constants; its enums are members again."""
    return StructArg(
        cls,
        tuple(
            getattr(enums, cpp)(part) if isinstance(getattr(enums, cpp, None), type) else part
            for cpp, part in zip(cls.ctypes, parts, strict=False)
        ),
    )


def _number(operand: Any) -> Any:
    if operand.kind == FLOATING:
        return operand.real
    wraps = operand.whole < 0 and operand.type >= 0 and DTYPES[operand.type].kind == "u"
    return operand.whole + 2**64 if wraps else operand.whole
