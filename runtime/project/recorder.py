"""Saving what a program launches: `Recorder`, a device that simulates and keeps projects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...lowering.names import kernel_name
from ...tracer.diagnostics import KernelError
from ...tracer.trace import Trace
from ..devices import SimDevice
from .folder import save_project
from .launch import Launch

if TYPE_CHECKING:
    from ..jit import JitOptions
    from ..results import LaunchInfo
    from ..simulator import SimParams


@dataclass(slots=True)
class Recorded:
    """A launch that was saved, or why it was not; `times` counts those alike."""

    trace: Trace
    folder: Path
    blocks: int
    problem: KernelError | None = None
    times: int = 1

    def __str__(self) -> str:
        if self.problem is not None:
            return f"{self.trace.name} is not saved: {self.problem}"
        again = f", launched {self.times} times" if self.times > 1 else ""
        words = f"{self.blocks} block{'s' * (self.blocks != 1)}"
        return f"{self.folder}: {words}, {self.trace.chip.name}{again}"


class Recorder:
    """A device that stands for all of them.

    The first launch of each trace, grid and shapes of arrays goes to a folder of its own below
    `folder`, called as the kernel is. A project that cannot be written does not stop the program.
    """

    name = "recorder"

    def __init__(self, folder: Path, route: str | None = None, overwrite: bool = False) -> None:
        self.recorded: dict[Any, Recorded] = {}
        self._folder = folder
        self._route = route
        self._overwrite = overwrite
        self._sim = SimDevice()
        self._names: dict[str, int] = {}

    def compile(self, trace: Trace, options: JitOptions) -> Any:
        """The program of the simulator, and the options for the project."""
        return self._sim.compile(trace, options), trace, options

    def compile_all(
        self, traces: Sequence[Trace], options: JitOptions, workers: int | None
    ) -> list[Any]:
        """The same for several."""
        return [self.compile(trace, options) for trace in traces]

    def product(self, program: Any) -> Any:
        """The program of the simulator."""
        return program[0]

    def launch(
        self,
        program: Any,
        args: tuple[Any, ...],
        blocks: int,
        stream: Any,
        params: SimParams | None,
    ) -> LaunchInfo:
        """Run in the simulator; then save, when it is the first of its kind."""
        simulated, trace, options = program
        shapes = tuple(arg.shape if isinstance(arg, np.ndarray) else None for arg in args)
        key = id(trace), blocks, shapes
        known = self.recorded.get(key)
        if known is not None:
            known.times += 1
            return self._sim.launch(simulated, args, blocks, stream, params)
        launch = Launch.of(trace, args, blocks, options, self._route)
        info = self._sim.launch(simulated, args, blocks, stream, params)
        found = self.recorded[key] = Recorded(trace, self._place(trace), blocks)
        try:
            approximate = params is not None and params.approximate
            done = launch.simulated() if approximate else launch.with_results(args)
            save_project(done, found.folder, self._overwrite)
        except KernelError as problem:
            found.problem = problem
        return info

    def _place(self, trace: Trace) -> Path:
        name = kernel_name(trace)
        count = self._names[name] = self._names.get(name, 0) + 1
        return self._folder / (name if count == 1 else f"{name}_{count}")
