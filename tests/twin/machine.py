"""The Python side of the twin: runs the calls that the compiled text makes.

A call names an overload and brings operands. The operation is made as the tracer makes it
(`record`), compiled as the simulator compiles it (`Writer`), once for each kind of operands, and
run on a `Core`. What the kernel keeps of the results are numbers of entries in `objects`.
"""

from __future__ import annotations

import ctypes
import functools
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import asctrace as asc
from asctrace.runtime.simulator.arguments import arguments
from asctrace.runtime.simulator.codegen import Writer
from asctrace.runtime.simulator.core import Core
from asctrace.runtime.simulator.engine import ProgramOrder
from asctrace.runtime.simulator.masks import MaskRegister
from asctrace.runtime.simulator.memory import GlobalMemory
from asctrace.runtime.simulator.params import SimParams
from asctrace.runtime.simulator.registry import factory_of, operands
from asctrace.tracer.language import enums
from asctrace.tracer.language.dtypes import DataType, int32
from asctrace.tracer.language.enums import MEMORY
from asctrace.tracer.language.scalar import Scalar
from asctrace.tracer.language.structs import StructArg
from asctrace.tracer.language.tensor import LocalTensor
from asctrace.tracer.language.types import (
    GlobalPointerType,
    StructType,
)
from asctrace.tracer.ops.spec import STRUCTS, TABLE, Form, OpSpec, Param, record
from asctrace.tracer.trace import Op, Recorder, Trace, swap_current

from .header import DTYPES, ENUMS, forms

ABSENT, INTEGER, FLOATING, OBJECT, POINTER, TYPE, GROUP, TEXT = range(8)

#: Objects whose calls are few and take constants.
_MANAGERS = frozenset({"tpipe", "queue", "buf", "pool", "allocator"})


class Operand(ctypes.Structure):
    """`twin::Operand`."""

    class _Content(ctypes.Union):
        _fields_ = [("whole", ctypes.c_int64), ("real", ctypes.c_double)]

    _anonymous_ = ("content",)
    _fields_ = [("kind", ctypes.c_int32), ("type", ctypes.c_int32), ("content", _Content)]


Entry = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_int32,
    ctypes.c_int32,
    ctypes.POINTER(Operand),
    ctypes.POINTER(Operand),
)


class _Recorder(Recorder):
    """Records operations of which nothing is known but their operands."""

    __slots__ = ()

    def site(self) -> Any:
        return None

    def need_nonneg(self, value: Any) -> bool | None:
        return None


class _Made:
    """An operation ready to run, and the value that stands for its result."""

    __slots__ = ("op", "run", "static")

    def __init__(self, op: Op, run: Callable[..., Any], static: Any) -> None:
        self.op = op
        self.run = run
        self.static = static


class Machine:
    """Runs a compiled kernel. `trace` gives the parameters' types only."""

    def __init__(self, trace: Trace, args: Sequence[Any]) -> None:
        params = SimParams()
        self.engine = ProgramOrder()
        memories = sorted({m for m in MEMORY.values() if m in trace.chip.memory})
        self.recorder = _Recorder(Trace("twin", trace.chip))
        self.core = Core(self.recorder.trace, memories, params, self.engine)
        # Whether anything depends on it is not known beforehand.
        self.core.masks = MaskRegister()
        self.error: BaseException | None = None
        self.block = (0, 1)
        #: Run-time value and the value that stands for it, by handle.
        self.objects: list[tuple[Any, Any]] = []
        self._made: dict[Any, _Made] = {}
        self._tensors: dict[Any, Any] = {}
        self._managers: dict[Any, Any] = {}
        self._ordinals: dict[int, int] = {}
        self._fresh: list[Any] = []
        self._forms = forms()
        self._arrays = self._place(trace, args)
        self._cell = memoryview(bytearray(4)).cast("f")
        self.entry = Entry(self._enter)

    def _place(self, trace: Trace, args: Sequence[Any]) -> list[tuple[int, int, GlobalMemory]]:
        """Host addresses of the arrays, in order."""
        every = range(len(args))
        found = []
        for arg, value in zip(args, arguments(trace, every, args), strict=True):
            if isinstance(arg, np.ndarray):
                found.append((arg.ctypes.data, arg.nbytes, value[0]))
        return sorted(found, key=lambda row: row[:2])

    def run(self, kernel: Callable[[bytes], int], block: bytes, blocks: int) -> None:
        """Run the kernel's blocks one after another; raises what a call raised."""
        core = self.core
        core.begin_run()
        with np.errstate(all="ignore"):
            for index in range(blocks):
                self.block = (index, blocks)
                self.objects.clear()
                self._ordinals.clear()
                core.begin_block(index)
                status = kernel(block)
                if status == 1:
                    assert self.error is not None
                    raise self.error
                if status == 2:
                    raise AssertionError("the kernel's own check stopped it")
                core.end_block()

    # -- calls --------------------------------------------------------------------------------

    def _enter(self, number: int, count: int, given: Any, result: Any) -> int:
        before = swap_current(self.recorder)
        try:
            spec, form = self._forms[number]
            self._call(number, spec, form, given, result[0])
        except BaseException as exc:
            self.error = exc
            return 1
        finally:
            swap_current(before)
        return 0

    def _call(self, number: int, spec: OpSpec, form: Form, given: Any, result: Any) -> None:
        if spec.family == "construct" and spec.name not in ("LocalTensor",):
            self._construct(number, spec, form, given, result)
            return
        at = 0
        args: list[Any] = []
        key: list[Any] = [number]
        values: list[Any] = []
        constant = spec.family == "construct" or (
            bool(form.params) and form.params[0].kind in _MANAGERS
        )
        for param in form.params:
            at = self._operand(param, given, at, constant, args, key, values)
        made = self._made.get(tuple(key))
        if made is None:
            made = self._made[tuple(key)] = self._make(spec, form, tuple(args))
        self._give(made, made.run(*self.block, *values), result)

    def _operand(
        self,
        param: Param,
        given: Any,
        at: int,
        constant: bool,
        args: list[Any],
        key: list[Any],
        values: list[Any],
    ) -> int:
        """Read one operand: what stands for it, what the operation is kept by, its value."""
        operand = given[at]
        kind = operand.kind
        at += 1
        if kind == ABSENT:
            arg = param.default if not param.required else None
            key.append(arg)
        elif kind == OBJECT:
            value, arg = self._object(operand, param)
            if any(arg is other for other in args):
                # Two tensors of one kind: each operand stands for its own.
                arg = self._kept(("again", id(arg), len(args)), functools.partial(_twin, arg))
            values.append(value)
            key.append(id(arg))
        elif kind == POINTER:
            dtype = DTYPES[operand.type]
            arg = self._kept(("pointer", dtype), lambda: _pointer(dtype, self.recorder))
            values.append(self._address(operand.whole))
            key.append(dtype)
        elif kind == TYPE:
            arg = DTYPES[operand.whole]
            key.append(arg)
        elif kind == TEXT:
            arg = ctypes.string_at(operand.whole).decode()
            key.append(arg)
        elif kind == GROUP:
            at -= 1
            parts, at = _group(given, at)
            key.append(parts)
            if param.kind in STRUCTS:
                arg = _struct(STRUCTS[param.kind], parts)
            elif param.kind == "slices":
                arg = tuple(_struct(STRUCTS["slice"], part) for part in parts)
            else:
                arg = parts
        else:
            name = param.kind.removeprefix("opt_")
            number = _number(operand)
            if name in ENUMS:
                arg = ENUMS[name](number)
                key.append(arg)
            elif param.kind == "const_bool" or param.role == "set_mask":
                arg = bool(number)
                key.append(arg)
            elif constant or param.role == "template":
                arg = number
                key.append(number)
            else:
                dtype = DTYPES[operand.type] if operand.type >= 0 else int32
                arg = self._kept(
                    ("scalar", dtype, len(args)), lambda: Scalar(dtype, self.recorder.block)
                )
                values.append(bool(number) if dtype.kind == "b" else number)
                key.append(dtype)
        args.append(arg)
        return at

    def _kept(self, key: Any, make: Callable[[], Any]) -> Any:
        found = self._tensors.get(key)
        if found is None:
            found = self._tensors[key] = make()
        return found

    def _object(self, operand: Any, param: Param) -> tuple[Any, Any]:
        if operand.whole >= 0:
            return self.objects[operand.whole]
        if operand.type < 0:
            raise AssertionError("an object that was never made")
        # A tensor that names nothing yet.
        dtype = DTYPES[operand.type]
        local = param.kind == "local"
        spec = TABLE["LocalTensor" if local else "GlobalTensor"]
        made = self._new(spec, (dtype,) if local else ())
        self._fresh.append(made)  # the id of its value is a key from now on
        return made.run(*self.block), made.static

    def _address(self, pointer: int) -> tuple[GlobalMemory, int]:
        k = bisect_right(self._arrays, pointer, key=lambda row: row[0]) - 1
        start, _, memory = self._arrays[max(k, 0)]
        return memory, pointer - start

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
            static = self._kept(
                ("local", result.type, id(result.owner), id(result.base)), lambda: result
            )
        elif result is None:
            static = next(
                (a for a, p in zip(args, form.params, strict=True) if p.role == "rebind"), None
            )
            if spec.name == "GlobalTensor.set_global_buffer":
                static = args[0]
        return _Made(op, self._compile(op), static)

    def _compile(self, op: Op) -> Callable[..., Any]:
        writer = Writer(self.recorder.trace)
        names = [writer.define(value) for value in operands(op)]
        start = len(writer._lines)
        writer._op(op)
        target = op.result
        if target is None:
            target = next(
                (a for a, p in zip(op.args, op.form.params, strict=True) if p.role == "rebind"),
                None,
            )
        if op.spec.name == "GlobalTensor.set_global_buffer":
            target = op.args[0]
        # A tensor that is read and rebound is one name.
        unique = list(dict.fromkeys(names))
        lines = [f"def call(block_idx, block_num, {', '.join(unique)}):", *writer._lines[start:]]
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

    def _construct(self, number: int, spec: OpSpec, form: Form, given: Any, result: Any) -> None:
        """The n-th object that a block makes is the same in every block."""
        at = 0
        args: list[Any] = []
        for param in form.params:
            at = self._operand(param, given, at, True, args, [], [])
        ordinal = self._ordinals[number] = self._ordinals.get(number, 0) + 1
        key = (number, ordinal, *args)
        made = self._managers.get(key)
        if made is None:
            made = self._managers[key] = self._new(spec, tuple(args))
        self._give(made, made.run(*self.block), result)

    def _new(self, spec: OpSpec, args: tuple[Any, ...]) -> _Made:
        """What a constructor makes: its proxy records the operation itself."""
        value = getattr(asc, spec.name)(*args)
        op = self.recorder.block.nodes.pop()
        assert isinstance(op, Op)
        return _Made(op, self._compile(op), value)

    def _give(self, made: _Made, value: Any, result: Any) -> None:
        static = made.static
        result.type = -1
        if static is None:
            result.kind = ABSENT
        elif isinstance(static.type, DataType):
            if static.type.kind == "f":
                result.kind, result.real = FLOATING, value
            else:
                result.kind, result.whole = INTEGER, int(value) - (value >= 2**63) * 2**64
        elif isinstance(static.type, GlobalPointerType):
            memory, offset = value
            start = next(row[0] for row in self._arrays if row[2] is memory)
            result.kind, result.whole = POINTER, start + offset
        else:
            result.kind, result.whole = OBJECT, len(self.objects)
            self.objects.append((value, static))


def _pointer(dtype: DataType, recorder: Recorder) -> Any:
    type = GlobalPointerType(dtype)
    return GlobalPointerType.proxy(type, recorder.block)


def _twin(tensor: Any) -> Any:
    """Another value of the same type."""
    if isinstance(tensor, LocalTensor):
        return LocalTensor.view(tensor.type, tensor.block, None, None, tensor.base, tensor.owner)
    return type(tensor).view(tensor.type.dtype, tensor.block, None)


def _group(given: Any, at: int) -> tuple[tuple[Any, ...], int]:
    """The operands of a group, and where the next operand is."""
    count = given[at].whole
    parts: list[Any] = []
    at += 1
    for _ in range(count):
        if given[at].kind == GROUP:
            part, at = _group(given, at)
        else:
            part, at = _number(given[at]), at + 1
        parts.append(part)
    return tuple(parts), at


def _struct(cls: Any, parts: tuple[Any, ...]) -> StructArg:
    """A struct of constants; its enums are members again."""
    members = [
        getattr(enums, cpp)(part) if isinstance(getattr(enums, cpp, None), type) else part
        for cpp, part in zip(cls.ctypes, parts, strict=True)
    ]
    return StructArg(cls, tuple(members))


def _number(operand: Any) -> Any:
    return operand.real if operand.kind == FLOATING else operand.whole


# -- arguments ------------------------------------------------------------------------------------


def pack(trace: Trace, args: Sequence[Any]) -> bytes:
    """The argument block: natural alignment, at least 4."""
    out = bytearray()
    for param, arg in zip(trace.params, args, strict=True):
        type = param.type
        if isinstance(type, GlobalPointerType):
            data, align = arg.ctypes.data.to_bytes(8, "little"), 8
        elif isinstance(type, StructType):
            data, align = arg.pack(), min(type.pack, 8)
        else:
            assert isinstance(type, DataType)
            data = np.array(arg).astype(type.np).tobytes()
            align = len(data)
        out += bytes(-len(out) % max(align, 4)) + data
    return bytes(out)
