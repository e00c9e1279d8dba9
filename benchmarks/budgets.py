"""What is measured, what it may cost, and the stored figures of the reference tools."""

from collections.abc import Callable
from dataclasses import dataclass

from . import dispatch, numpy_floor, simulate, startup, trace_lower


@dataclass(frozen=True, slots=True)
class Budget:
    """One row: times in seconds, or factors where `unit` is "x"."""

    key: str
    """Name of the row; the reference measurements use it too."""
    what: str
    measure: Callable[[], float]
    budget: float
    aim: float
    reference: float
    """Stored figure of the reference tool, on another machine unless it is measured live."""
    tool: str
    floor: Callable[[], float] | None = None
    """The same work in plain NumPy, measured in the same run."""
    unit: str = "s"


PYASC = "pyasc 1.1.1"
TRITON = "Triton interpreter"

BUDGETS = (
    Budget(
        key="trace_lower",
        what="trace + lower add_framework, warm",
        measure=trace_lower.add_framework,
        budget=1.2e-3,
        aim=0.4e-3,
        reference=5.6e-3,
        tool=PYASC,
    ),
    Budget(
        key="unrolled",
        what="trace + lower, 1024 unrolled iterations",
        measure=trace_lower.unrolled,
        budget=170e-3,
        aim=60e-3,
        reference=756e-3,
        tool=PYASC,
    ),
    Budget(
        key="dispatch",
        what="cached launch, dispatch only",
        measure=dispatch.cached_launch,
        budget=10e-6,
        aim=4e-6,
        reference=44e-6,
        tool=PYASC,
    ),
    Budget(
        key="npu_launch",
        what="cached launch up to the device's queue",
        measure=dispatch.npu_launch,
        budget=10e-6,
        aim=4e-6,
        reference=44e-6,
        tool=PYASC,
    ),
    Budget(
        key="startup",
        what="import asctrace / import numpy",
        measure=startup.ratio,
        budget=1.5,
        aim=1.25,
        reference=1.95,
        tool=PYASC,
        unit="x",
    ),
    Budget(
        key="vadd",
        what="simulate vadd, 1 Mi float32, tiles of 2048",
        measure=simulate.vadd,
        budget=30e-3,
        aim=3e-3,
        reference=290e-3,
        tool=TRITON,
        floor=numpy_floor.vadd,
    ),
    Budget(
        key="vadd_races",
        what="the same, with the search for races",
        measure=simulate.vadd_races,
        budget=60e-3,
        aim=6e-3,
        reference=290e-3,
        tool=TRITON,
        floor=numpy_floor.vadd,
    ),
    Budget(
        key="softmax",
        what="simulate softmax, 1024 x 1024 float32",
        measure=simulate.softmax,
        budget=150e-3,
        aim=20e-3,
        reference=1390e-3,
        tool=TRITON,
        floor=numpy_floor.softmax,
    ),
    Budget(
        key="softmax_races",
        what="the same, with the search for races",
        measure=simulate.softmax_races,
        budget=300e-3,
        aim=40e-3,
        reference=1390e-3,
        tool=TRITON,
        floor=numpy_floor.softmax,
    ),
)
