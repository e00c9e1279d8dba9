"""What `kernel.trace`, `.lower`, `.compile` and a launch return.

May import `tracer` and `lowering`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..tracer.diagnostics import Finding
from ..tracer.trace import Trace
from .arguments import check_blocks

if TYPE_CHECKING:
    from .jit import JitOptions


@dataclass(frozen=True, slots=True)
class Traced:
    """A traced kernel: `.trace` holds the recorded operations, `.dump()` prints them."""

    trace: Trace

    def dump(self) -> str:
        """The trace as text, one node a line."""
        return self.trace.dump()


@dataclass(frozen=True, slots=True)
class Lowered:
    """A lowered kernel.

    `source` is the Ascend C text, `trace` what it was made from, `findings` the warnings of the
    checks (errors are raised). It keeps the arguments, so that `save` can write them.
    """

    source: str
    trace: Trace
    findings: tuple[Finding, ...] = ()
    #: The runtime arguments and the options of the kernel, for `save`.
    call: tuple[tuple[Any, ...], JitOptions] | None = field(default=None, repr=False, compare=False)

    def dump(self) -> str:
        """The trace as text, one node a line."""
        return self.trace.dump()

    def report(self) -> str:
        """The kernel in tables: chip, parameters, constants, buffers, queues, events, findings.

        A bar for each memory shows how much of it the buffers take.
        """
        from tabulate import tabulate

        from ..lowering.report import buffer_table
        from ..lowering.usage import event_table, memory_bars, queue_table

        trace = self.trace
        chip = trace.chip
        lines = [f"{trace.name} for {chip.name} (architecture {chip.arch})"]
        rows = [(p.name, p.type.cpp) for p in trace.params]
        rows += [(name, f"constant {value!r}") for name, value in trace.constants.items()]
        if rows:
            lines.append(tabulate(rows, headers=("parameter", "type"), disable_numparse=True))
        parts = (buffer_table, memory_bars, queue_table, event_table)
        lines += [text for part in parts if (text := part(trace))]
        lines += [str(finding) for finding in self.findings]
        return "\n\n".join(lines) + "\n"

    def save(
        self,
        folder: str | Path,
        blocks: int = 1,
        *,
        route: str | None = None,
        golden: bool = True,
        overwrite: bool = False,
    ) -> Path:
        """Write a project of its own, for those who go on in C++; returns the folder.

        `kernel.cpp`, a host program (`main.cpp`) that launches it on `blocks` blocks with the
        arguments that `lower` got, its build (`CMakeLists.txt`), `arguments.json`, `README.md`, and
        `data/` with what the arrays hold now and, by the simulator, behind the launch. Nothing of
        it has been run on an NPU (`docs/device.md`).

        route: 'objects' or 'asc', by default the one for the chip. golden=False saves no results,
        for kernels that the simulator does not run. overwrite: replace files that others made or
        changed, else AT0401. Raises what a launch in the simulator raises.
        """
        from .project import Launch, save_project

        if self.call is None:
            raise ValueError("only what kernel.lower(...) returned knows the arguments to save")
        values, options = self.call
        check_blocks(self.trace.name, blocks)
        launch = Launch.of(self.trace, values, int(blocks), options, route)
        return save_project(launch.simulated() if golden else launch, folder, overwrite)


@dataclass(frozen=True, slots=True)
class Compiled:
    """A kernel made ready for a device: `backend` names it, `lowered` has the text."""

    backend: str
    lowered: Lowered
    program: Any


@dataclass(frozen=True, slots=True)
class LaunchInfo:
    """What a finished launch tells: blocks run, operations executed, warnings of the run."""

    backend: str
    blocks: int
    ops: int
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Profile:
    """Times of a kernel on the device, one a run, in milliseconds."""

    kernel: str
    blocks: int
    times_ms: tuple[float, ...]

    @property
    def best_ms(self) -> float:
        """The shortest run."""
        return min(self.times_ms)

    @property
    def median_ms(self) -> float:
        """The median run."""
        from statistics import median

        return median(self.times_ms)

    def __str__(self) -> str:
        return (
            f"{self.kernel} on {self.blocks} blocks: median {self.median_ms:.4g} ms, best "
            f"{self.best_ms:.4g} ms of {len(self.times_ms)} runs"
        )
