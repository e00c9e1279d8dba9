"""What `kernel.trace`, `.lower`, `.compile` and a launch return.

May import `tracer` and `lowering`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..tracer.diagnostics import Finding
from ..tracer.trace import Trace


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
    checks (errors are raised).
    """

    source: str
    trace: Trace
    findings: tuple[Finding, ...] = ()

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

    def save(self, folder: str | Path) -> Path:
        """Write `kernel.cpp`, `trace.txt` and `report.txt` to a folder; returns the folder."""
        path = Path(folder)
        path.mkdir(parents=True, exist_ok=True)
        (path / "kernel.cpp").write_text(self.source, encoding="utf-8")
        (path / "trace.txt").write_text(self.dump(), encoding="utf-8")
        (path / "report.txt").write_text(self.report(), encoding="utf-8")
        return path


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
