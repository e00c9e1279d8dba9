"""What a run is told and what it gives back. Imports `tracer.diagnostics` only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...tracer.diagnostics import Finding, error

SCHEDULES = ("program", "late", "random")


@dataclass(frozen=True, slots=True)
class SimParams:
    """How the simulator runs a trace.

    seed: the order of the blocks is shuffled by this seed, so that a kernel whose blocks depend on
    one another shows it; None runs them from 0 up. Among blocks that wait for one another it
    chooses which goes on. The random schedule takes its choices from it too.
    op_budget: operations with an effect plus loop iterations, over all blocks, after which the run
    is given up as a runaway loop (AT0206).
    check_uninitialised: report reads of on-chip memory that the block never wrote, or not since the
    buffer was allocated (AT0203). Without it such reads see the poison pattern or old data.
    detect_races: report accesses of two pipes, or of two blocks, that nothing orders (AT0208,
    AT0209), and copies that meet a scalar store in the data cache (AT0210). What is found depends
    on the kernel's synchronisation alone, not on `schedule`.
    schedule: when an operation takes effect.
    'program': where the program issues it. The default, because the search for races needs no
    other: it sees in this order, the fastest one, every pair that could go wrong in any order.
    'late': only when a wait, a barrier, the scalar unit or the end of the block needs it, so that
    missing synchronisation shows as wrong results, with `detect_races` on or off.
    'random': at random moments in between, in an order that the hardware could take.
    approximate: functions that the chip only approximates (`reciprocal`, `rsqrt`, `exp`, ...) are
    off by up to their documented error, at random by `seed`, where it is documented. Without it
    they give the correctly rounded value.
    """

    seed: int | None = 0
    op_budget: int = 50_000_000
    check_uninitialised: bool = True
    detect_races: bool = True
    schedule: Literal["program", "late", "random"] = "program"
    approximate: bool = False

    def __post_init__(self) -> None:
        if self.schedule not in SCHEDULES:
            raise error(
                "AT0401",
                f"SimParams(schedule={self.schedule!r})",
                hint="the schedules are " + ", ".join(map(repr, SCHEDULES)),
            )


@dataclass(frozen=True, slots=True)
class SimResult:
    """A finished run: number of blocks, operations executed in all of them, and the warnings."""

    blocks: int
    ops: int
    findings: tuple[Finding, ...] = ()
