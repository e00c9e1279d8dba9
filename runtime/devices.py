"""The devices kernels run on: `sim` is the simulator, `npu` compiles by CANN, launches by ACL.

May import `tracer`, `lowering`, and what makes the devices when they are first used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

from ..tracer.trace import Trace
from . import knobs

if TYPE_CHECKING:
    from .compiler import Binary
    from .jit import JitOptions
    from .launcher import NpuProgram
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

    def product(self, program: Any) -> Any:
        """What `kernel.compile` shows of a program."""

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

        if knobs.OVERRIDE_DIR.raw() is not None:
            from .stages import warn_unused

            warn_unused(trace)
        return compile_trace(trace)

    def compile_all(
        self, traces: Sequence[Trace], options: JitOptions, workers: int | None
    ) -> list[Any]:
        """The same for several."""
        return [self.compile(trace, options) for trace in traces]

    def product(self, program: Any) -> Any:
        """The program itself."""
        return program

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
    """The NPU; AT0305 names where CANN was looked for, when there is none.

    A launch returns at once when all arrays live on the device; with host arrays that the kernel
    writes it waits for the results.
    """

    name = "npu"

    def compile(self, trace: Trace, options: JitOptions) -> NpuProgram:
        """The binary of a trace, from the cache or from the compiler, ready to launch."""
        return self.compile_all([trace], options, 1)[0]

    def compile_all(
        self, traces: Sequence[Trace], options: JitOptions, workers: int | None
    ) -> list[NpuProgram]:
        """Programs of several traces, `workers` compilers at a time."""
        from ..lowering.text import TextOptions
        from .compiler.traces import compile_traces
        from .launcher import NpuProgram

        text = options.text or TextOptions()
        compiling, fresh = options.compiling(), options.always_compile
        binaries = compile_traces(traces, text, compiling, fresh, workers)
        return [
            NpuProgram(trace, binary, options.device_id)
            for trace, binary in zip(traces, binaries, strict=True)
        ]

    def product(self, program: NpuProgram) -> Binary:
        """The compiler's binary."""
        return program.binary

    @cached_property
    def launch(self) -> Callable[[NpuProgram, tuple[Any, ...], int, Any, Any], LaunchInfo]:
        """Run a program on a stream, the current one by default."""
        from .launcher import launch

        return launch


_DEVICES: dict[str, Device] = {"sim": SimDevice(), "npu": NpuDevice()}


@contextmanager
def in_place_of_all(other: Device) -> Iterator[None]:
    """Let one device stand for every backend: tools that watch the launches of a program."""
    before = dict(_DEVICES)
    _DEVICES.update(dict.fromkeys(before, other))
    try:
        yield
    finally:
        _DEVICES.update(before)


def device(name: str) -> Device:
    """The device of a backend name, 'sim' or 'npu'."""
    return _DEVICES[name]
