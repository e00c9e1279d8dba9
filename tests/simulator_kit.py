"""Traces made by hand, for tests of the simulator."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from asctrace.runtime.simulator import SimParams, SimResult, compile_trace, simulate
from asctrace.tracer.chip import Chip
from asctrace.tracer.language.dtypes import DataType, int32
from asctrace.tracer.language.scalar import Scalar
from asctrace.tracer.language.tensor import GlobalAddress, GlobalTensor
from asctrace.tracer.language.types import GlobalPointerType
from asctrace.tracer.trace import (
    Assign,
    Block,
    Declare,
    If,
    Jump,
    Loop,
    Param,
    Recorder,
    Trace,
    Value,
    swap_current,
)
from tests.chips import profile


class HandRecorder(Recorder):
    """Gives each recorded node a line of its own, from 1 on, in a file that does not exist."""

    __slots__ = ("number",)

    def __init__(self, trace: Trace) -> None:
        super().__init__(trace)
        self.number = 0

    def record(self, *args: Any) -> Any:
        op = super().record(*args)
        self.number += 1
        return op

    def step(self) -> Any:
        """The site of a node that a test makes itself."""
        site = self.site()
        self.number += 1
        return site

    def site(self) -> Any:
        line = self.number + 1
        code = SimpleNamespace(co_qualname="kernel", co_filename="kernel.py", co_firstlineno=1)
        instr = SimpleNamespace(span=(line, line, 0, 1))
        return (SimpleNamespace(code=code, instrs=[instr]), 0, None)

    def need_nonneg(self, value: Any) -> bool | None:
        return None


class Kernel:
    """A trace under construction; use it as a context manager, then `run` it."""

    def __init__(self, soc: str | Chip = "Ascend910B1") -> None:
        self.trace = Trace("kernel", profile(soc))
        self.recorder = HandRecorder(self.trace)
        self._before: Recorder | None = None

    def __enter__(self) -> Kernel:
        self._before = swap_current(self.recorder)
        return self

    def __exit__(self, *exc: object) -> None:
        swap_current(self._before)

    def address(self, name: str, dtype: DataType) -> Any:
        """An address parameter."""
        return self._param(name, GlobalAddress(GlobalPointerType(dtype), self.trace.body))

    def scalar(self, name: str, dtype: DataType) -> Any:
        """A scalar parameter."""
        return self._param(name, Scalar(dtype, self.trace.body))

    def _param(self, name: str, value: Any) -> Any:
        value.name = name
        self.trace.params.append(Param(name, value.type, value))
        return value

    def tensor(self, address: Any, size: Any = None, name: str = "") -> Any:
        """A `GlobalTensor` bound to an address."""
        result = GlobalTensor()
        result.name = name
        result.set_global_buffer(address, size)
        return result

    @contextmanager
    def _inside(self, block: Block) -> Iterator[None]:
        before = self.recorder.block
        self.recorder.block = block
        try:
            yield
        finally:
            self.recorder.block = before

    @contextmanager
    def loop(self, stop: Any = None, start: Any = 0, step: Any = 1) -> Iterator[Any]:
        """A counted loop over an int32 index, or `while True` without a stop."""
        block = Block(self.recorder.block)
        node = Loop(block, self.recorder.step())
        if stop is not None:
            node.index = Scalar(int32, block, node, "i")
            node.start, node.stop, node.step = start, stop, step
        self.recorder.block.nodes.append(node)
        with self._inside(block):
            yield node.index

    @contextmanager
    def when(self, cond: Any) -> Iterator[Any]:
        """An `If`; the value is what `otherwise` takes."""
        here = self.recorder.block
        node = If(cond, Block(here), Block(here), self.recorder.step())
        here.nodes.append(node)
        with self._inside(node.then):
            yield node

    @contextmanager
    def otherwise(self, node: Any) -> Iterator[None]:
        """The other arm of an `If`."""
        with self._inside(node.orelse):
            yield

    def jump(self, kind: str, message: str = "") -> None:
        """A `break`, `continue`, `return` or trap."""
        self.recorder.block.nodes.append(Jump(kind, self.recorder.step(), message))

    def var(self, type: Any, init: Any = None) -> Any:
        """A variable; scalars, and values with a proxy that can be made from a type."""
        if isinstance(type, DataType):
            value: Any = Scalar(type, self.recorder.block)
        else:
            value = init.__class__.__new__(init.__class__)
            Value.__init__(value, type, self.recorder.block)
            for name in ("size", "offset", "bound"):
                if hasattr(init, name):
                    setattr(value, name, None if name == "offset" else getattr(init, name))
        self.recorder.block.nodes.append(Declare(value, init, self.recorder.step()))
        return value

    def assign(self, *pairs: tuple[Any, Any]) -> None:
        """A parallel assignment of (variable, value) pairs."""
        variables, values = zip(*pairs, strict=True)
        self.recorder.block.nodes.append(Assign(variables, values, self.recorder.step()))

    def run(self, *args: Any, blocks: int = 1, **params: Any) -> SimResult:
        """Simulate the trace once."""
        params.setdefault("detect_races", False)  # tests of races ask for it
        return simulate(compile_trace(self.trace), args, blocks, SimParams(**params))
