"""`python -m benchmarks`: measure, and print one table next to the budgets."""

import argparse
import os
from platform import python_version

from tabulate import tabulate

from . import reference, trace_lower
from .budgets import BUDGETS, Budget
from .timing import NotAvailable

HEADERS = ("what", "measured", "budget", "aim", "reference", "to reference", "NumPy", "")


def figure(value: float, unit: str) -> str:
    """`0.0012` seconds -> `1.2 ms`."""
    if unit == "x":
        return f"{value:.2f} x"
    units = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
    scale, name = next((u for u in units if value >= u[0]), units[-1])
    return f"{value / scale:.3g} {name}"


def row(budget: Budget, live: dict[str, tuple[float | None, str]]) -> list[str]:
    """Measure one row. A part that is missing or breaks is told, and the rest goes on."""
    known, tool = live.get(budget.key, (None, ""))
    ours = f"{budget.tool}: " if known is None else f"{tool}: "
    kind = "stored" if known is None else "live"
    base = budget.reference if known is None else known
    try:
        measured = budget.measure()
    except Exception as problem:
        reason = str(problem) or type(problem).__name__
        if not isinstance(problem, NotAvailable):
            reason = f"{type(problem).__name__}: {reason}"
        got, factor, verdict = "-", "", f"not available: {reason.splitlines()[0]}"
    else:
        got = figure(measured, budget.unit)
        factor = f"{measured / base:.2g}"
        verdict = "ok" if measured <= budget.budget else "over"
    return [
        budget.what,
        got,
        figure(budget.budget, budget.unit),
        figure(budget.aim, budget.unit),
        f"{ours}{figure(base, budget.unit)} ({kind})",
        factor,
        figure(budget.floor(), "s") if budget.floor else "",
        verdict,
    ]


def print_linearity() -> None:
    """The unrolled body at growing length, per operation."""
    try:
        lines = [
            (n, figure(seconds, "s"), figure(each, "s"))
            for n, seconds, each in trace_lower.linearity()
        ]
    except Exception as problem:
        print(f"linearity: not available: {problem}")
        return
    print(tabulate(lines, headers=("unrolled iterations", "trace + lower", "an op")))


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "--reference-python",
        metavar="PATH",
        help="an interpreter with pyasc or Triton, whose figures are then measured live",
    )
    parser.add_argument("--only", metavar="ROW", choices=[b.key for b in BUDGETS], nargs="+")
    options = parser.parse_args()
    os.environ.setdefault("ASCTRACE_BACKEND", "sim")
    print(
        f"CPython {python_version()}; medians of CPU time, of wall time for imports; "
        "a stored figure is from another machine"
    )
    chosen = [b for b in BUDGETS if not options.only or b.key in options.only]
    python = options.reference_python
    live = reference.figures(python, [b.key for b in chosen]) if python else {}
    print(tabulate([row(b, live) for b in chosen], headers=HEADERS, disable_numparse=True))
    for key, (value, reason) in live.items():
        if value is None:
            print(f"no live reference for {key}: {reason}")
    print()
    if not options.only or "unrolled" in options.only:
        print_linearity()


if __name__ == "__main__":
    main()
