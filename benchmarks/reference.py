"""The reference tools, measured in an interpreter that has them.

`figures` runs this module in that interpreter; there it prints one JSON object: for each row, a
figure and the tool's version, or why there is none. It runs on what the reference tools support,
which need not be what asctrace supports.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import import_module
from pathlib import Path

TOOLS = ("reference_pyasc", "reference_triton")


def figures(python: str, keys: list[str]) -> dict[str, tuple[float | None, str]]:
    """Row of `keys` -> (figure, tool and version) or (None, why not), measured under `python`."""
    run = subprocess.run(
        [python, "-m", f"{__package__}.reference", *keys],
        cwd=Path(__file__).resolve().parent.parent,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    if run.returncode:
        raise RuntimeError(f"{python}: {run.stderr.strip().splitlines()[-1:]}")
    return {key: tuple(value) for key, value in json.loads(run.stdout.splitlines()[-1]).items()}


def measure(keys: list[str]) -> dict[str, tuple[float | None, str]]:
    """What `figures` returns, measured in this process."""
    found: dict[str, tuple[float | None, str]] = {}
    for name in TOOLS:
        tool = import_module(f"{__package__}.{name}")
        for key in tool.ROWS.keys() & keys:
            try:
                found[key] = (tool.ROWS[key](), tool.version())
            except Exception as problem:
                found[key] = (None, f"{type(problem).__name__}: {problem}")
    return found


if __name__ == "__main__":
    json.dump(measure(sys.argv[1:]), sys.stdout)
