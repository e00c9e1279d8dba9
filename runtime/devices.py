"""The devices a kernel runs on. `sim` is the simulator; `npu` refuses until there is a driver.

May import `tracer`, `lowering` and `runtime.simulator` (when first used).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ..tracer.trace import Trace

if TYPE_CHECKING:
    from .compiler import Binary
    from .jit import JitOptions
    from .results import LaunchInfo
    from .simulator import SimParams


class Device(Protocol):
    """Where kernels run: makes a program of a trace, and launches it."""

    name: str

    def compile(self, trace: Trace, options: JitOptions) -> Any:
        """A program for this device; kept as long as the specialisation."""

    def compile_all(
        self, traces: Sequence[Trace], options: JitOptions, workers: int | None
    ) -> list[Any]:
        """The same for several, at once where that is faster."""

    def launch(
        self, program: Any, args: tuple[Any, ...], blocks: int, stream: Any, params: Any
    ) -> LaunchInfo:
        """Run a program on `blocks` blocks; `args` are the runtime arguments in order."""


class SimDevice:
    """The NumPy simulator. A stream means nothing to it: a launch has finished when it returns."""

    name = "sim"

    def compile(self, trace: Trace, options: JitOptions) -> Any:
        """The trace as the simulator wants it."""
        from .simulator import compile_trace

        return compile_trace(trace)

    def compile_all(
        self, traces: Sequence[Trace], options: JitOptions, workers: int | None
    ) -> list[Any]:
        """The same for several."""
        return [self.compile(trace, options) for trace in traces]

    def launch(
        self,
        program: Any,
        args: tuple[Any, ...],
        blocks: int,
        stream: Any,
        params: SimParams | None,
    ) -> LaunchInfo:
        """Run every block; the arrays change only if the run has no error."""
        from .results import LaunchInfo
        from .simulator import SimParams, simulate

        result = simulate(program, args, blocks, params if params is not None else SimParams())
        return LaunchInfo(self.name, result.blocks, result.ops, tuple(result.findings))


class NpuDevice:
    """The NPU; AT0305 names where CANN was looked for, when there is none."""

    name = "npu"

    def compile(self, trace: Trace, options: JitOptions) -> Binary:
        """The binary of a trace, from the cache or from the compiler."""
        return self.compile_all([trace], options, 1)[0]

    def compile_all(
        self, traces: Sequence[Trace], options: JitOptions, workers: int | None
    ) -> list[Binary]:
        """The binaries of several traces, `workers` compilers at a time."""
        from ..lowering.text import TextOptions
        from .compiler.traces import compile_traces

        text = options.text or TextOptions()
        return compile_traces(traces, text, options.compiling(), options.always_compile, workers)

    def launch(
        self, program: Any, args: tuple[Any, ...], blocks: int, stream: Any, params: Any
    ) -> LaunchInfo:
        """Refused."""
        from . import cann

        raise cann.refuse("launching on the NPU")


_DEVICES: dict[str, Device] = {"sim": SimDevice(), "npu": NpuDevice()}


def device(name: str) -> Device:
    """The device of a backend name, 'sim' or 'npu'."""
    return _DEVICES[name]
