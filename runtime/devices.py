"""The devices a kernel runs on. `sim` is the simulator; `npu` refuses until there is a driver.

May import `tracer`, `lowering` and `runtime.simulator` (when first used).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from ..tracer.trace import Trace

if TYPE_CHECKING:
    from .results import LaunchInfo
    from .simulator import SimParams


class Device(Protocol):
    """Where kernels run: makes a program of a trace, and launches it."""

    name: str

    def compile(self, trace: Trace) -> Any:
        """A program for this device; kept as long as the specialisation."""

    def launch(
        self, program: Any, args: tuple[Any, ...], blocks: int, stream: Any, params: Any
    ) -> LaunchInfo:
        """Run a program on `blocks` blocks; `args` are the runtime arguments in order."""


class SimDevice:
    """The NumPy simulator. A stream means nothing to it: a launch has finished when it returns."""

    name = "sim"

    def compile(self, trace: Trace) -> Any:
        """The trace as the simulator wants it."""
        from .simulator import compile_trace

        return compile_trace(trace)

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
    """The NPU: refuses with AT0305, which names where CANN was looked for."""

    name = "npu"

    def compile(self, trace: Trace) -> Any:
        """Refused."""
        from . import cann

        raise cann.refuse("compiling for the NPU")

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
