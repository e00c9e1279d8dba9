"""What a run is told and what it gives back. Imports `tracer.diagnostics` only."""

from __future__ import annotations

from dataclasses import dataclass

from ...tracer.diagnostics import Finding


@dataclass(frozen=True, slots=True)
class SimParams:
    """How the simulator runs a trace.

    seed: the order of the blocks is shuffled by this seed, so that a kernel whose blocks depend on
    one another shows it; None runs them from 0 up.
    op_budget: operations with an effect plus loop iterations, over all blocks, after which the run
    is given up as a runaway loop (AT0206).
    check_uninitialised: report reads of on-chip memory that the block never wrote (AT0203). Without
    it such reads see the poison pattern.
    """

    seed: int | None = 0
    op_budget: int = 50_000_000
    check_uninitialised: bool = True


@dataclass(frozen=True, slots=True)
class SimResult:
    """A finished run: number of blocks, operations executed in all of them, and the warnings."""

    blocks: int
    ops: int
    findings: tuple[Finding, ...] = ()
