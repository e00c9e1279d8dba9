"""Traces by hand, for tests of what comes behind the tracer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

from asctrace.tracer import trace as tr
from asctrace.tracer.chip import Chip
from asctrace.tracer.language.dtypes import DataType, float32, int32
from asctrace.tracer.language.enums import TPosition
from asctrace.tracer.language.pipe import TPipe, TQue
from asctrace.tracer.language.scalar import Scalar
from asctrace.tracer.language.tensor import GlobalTensor, LocalTensor
from asctrace.tracer.language.types import GlobalPointerType
from asctrace.tracer.ops import data_copy, sync, vec_binary
from asctrace.tracer.ops.spec import OpFunction
from tests.chips import profile

add = OpFunction(vec_binary.ADD)
data_copy_ = OpFunction(data_copy.DATA_COPY)
get_block_idx = OpFunction(sync.GET_BLOCK_IDX)
set_flag = OpFunction(sync.SET_FLAG)
wait_flag = OpFunction(sync.WAIT_FLAG)
pipe_barrier = OpFunction(sync.PIPE_BARRIER)


class _Recorder(tr.Recorder):
    """Records at the place `where`."""

    __slots__ = ("where",)

    def site(self) -> Any:
        return getattr(self, "where", None)

    def need_nonneg(self, value: Any) -> bool | None:
        return False


class Kernel:
    """A trace under construction; the names below stand for what a kernel's Python would do."""

    def __init__(self, name: str = "kernel", soc: str | Chip = "Ascend910B1") -> None:
        self.trace = tr.Trace(name, profile(soc))
        self.recorder = _Recorder(self.trace)
        self._last_if: tr.If | None = None

    def __enter__(self) -> Self:
        self._before = tr.swap_current(self.recorder)
        return self

    def __exit__(self, *exc: object) -> None:
        tr.swap_current(self._before)

    @property
    def _block(self) -> tr.Block:
        return self.recorder.block

    def _param(self, name: str, type: Any) -> Any:
        value = type.proxy(type, self.trace.body, None, name)
        self.trace.params.append(tr.Param(name, type, value))
        return value

    def pointer(self, name: str, dtype: DataType = float32) -> Any:
        """A parameter `__gm__ T* name`."""
        return self._param(name, GlobalPointerType(dtype))

    def scalar(self, name: str, dtype: DataType = int32) -> Any:
        """A scalar parameter."""
        return self._param(name, dtype)

    def var(self, name: str, init: Any = None, type: Any = int32) -> Any:
        """A variable that merges assign."""
        if isinstance(type, DataType):
            value = Scalar(type, self._block, None, name)
        else:
            value = named(LocalTensor.view(type, self._block, None, None), name)
        self._block.nodes.append(tr.Declare(value, init, self.recorder.site()))
        return value

    def assign(self, *pairs: tuple[Any, Any]) -> None:
        """A parallel assignment."""
        names, values = zip(*pairs, strict=True)
        self._block.nodes.append(tr.Assign(names, values, self.recorder.site()))

    def jump(self, kind: str, message: str = "") -> None:
        """`break`, `continue`, `return` or a trap."""
        self._block.nodes.append(tr.Jump(kind, self.recorder.site(), message))

    @contextmanager
    def _inside(self, block: tr.Block) -> Iterator[None]:
        outer = self.recorder.block
        self.recorder.block = block
        yield
        self.recorder.block = outer

    @contextmanager
    def if_(self, cond: Any) -> Iterator[None]:
        """The first arm."""
        node = tr.If(cond, tr.Block(self._block), tr.Block(self._block), self.recorder.site())
        self._block.nodes.append(node)
        with self._inside(node.then):
            yield
        self._last_if = node

    @contextmanager
    def else_(self) -> Iterator[None]:
        """The other arm of the `if_` that was closed last."""
        assert self._last_if is not None
        with self._inside(self._last_if.orelse):
            yield

    @contextmanager
    def for_(
        self, name: str, stop: Any, start: Any = 0, step: Any = 1, dtype: DataType = int32
    ) -> Iterator[Any]:
        """A loop with an index."""
        node = tr.Loop(tr.Block(self._block), self.recorder.site())
        node.start, node.stop, node.step = start, stop, step
        node.index = Scalar(dtype, node.body, node, name)
        self._block.nodes.append(node)
        with self._inside(node.body):
            yield node.index

    @contextmanager
    def while_(self) -> Iterator[None]:
        """A loop that ends by `break` only."""
        node = tr.Loop(tr.Block(self._block), self.recorder.site())
        self._block.nodes.append(node)
        with self._inside(node.body):
            yield


def named(value: Any, name: str) -> Any:
    """The value as if bound to a Python local."""
    value.name = name
    return value


def local(name: str, address: Any = 0, size: Any = 1024, dtype: DataType = float32) -> Any:
    """A LocalTensor at an address."""
    return named(LocalTensor(dtype, TPosition.VECIN, address, size), name)


def global_tensor(name: str, address: Any) -> Any:
    """A GlobalTensor bound to an address."""
    tensor = named(GlobalTensor(), name)
    tensor.set_global_buffer(address)
    return tensor


def queue(pipe: TPipe, name: str, position: str, length: Any = 512, num: Any = 2) -> Any:
    """A queue of depth 2 with buffers."""
    que = named(TQue(TPosition[position], 2), name)
    pipe.init_buffer(que, num, length)
    return que


def body(text: str) -> str:
    """The statements of a kernel's text, dedented."""
    start = text.index("{\n", text.index('extern "C"')) + 2
    lines = text[start : text.rindex("}\n")].split("\n")
    return "\n".join(line.removeprefix("    ") for line in lines).rstrip("\n")
