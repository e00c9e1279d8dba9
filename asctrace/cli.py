"""The command line.

`python -m asctrace doctor` prints what a bug report needs; `python -m asctrace report script.py`
runs a script and prints the report of each kernel that it traces.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import platform
import runpy
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from tabulate import tabulate

from . import __version__
from .runtime import cann, knobs
from .runtime.specialise import OBSERVERS
from .tracer.chip import CHIPS
from .tracer.diagnostics import KernelError

PACKAGES = ("numpy", "ml_dtypes", "bytecode", "tabulate", "torch")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _setting(knob: knobs.Knob[object]) -> str:
    try:
        return str(knob.get())
    except KernelError as problem:
        return problem.findings[0].message


def doctor() -> str:
    """Versions, settings and the state of CANN, as text."""
    versions = [
        ("asctrace", __version__),
        ("Python", f"{platform.python_implementation()} {platform.python_version()}"),
        ("system", platform.platform()),
        *((package, _version(package)) for package in PACKAGES),
    ]
    settings = [(k.name, _setting(k), k.values, k.doc) for k in knobs.ALL]
    compiler, looked = cann.find_compiler()
    toolchain = [f"bisheng: {compiler or 'not found'}", *(f"  {line}" for line in looked)]
    return "\n\n".join(
        [
            tabulate(versions, disable_numparse=True),
            tabulate(settings, headers=("setting", "now", "values", ""), disable_numparse=True),
            "\n".join(toolchain),
            "chips: " + ", ".join(chip.name for chip in CHIPS.values()),
        ]
    )


def report(script: str, arguments: Sequence[str]) -> int:
    """Run a script and print the report of each kernel it traces; returns the script's exit code.

    What the script itself prints is not shown.
    """
    traced: list[tuple[Any, Any]] = []

    def see(kernel: Any, found: Any) -> None:
        traced.append((kernel, found))

    argv, path, code = sys.argv, list(sys.path), 0
    sys.argv = [script, *arguments]
    sys.path.insert(0, str(Path(script).resolve().parent))
    OBSERVERS.append(see)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        OBSERVERS.remove(see)
        sys.argv, sys.path[:] = argv, path
    reports = list(dict.fromkeys(_report(kernel, found) for kernel, found in traced))
    print("\n".join(reports) if reports else f"{script} traces no kernel", end="")
    if not reports:
        print()
    return code


def _report(kernel: Any, found: Any) -> str:
    """The report of a specialisation, or what is wrong with it."""
    try:
        text: str = kernel._lowered(found).report()
    except KernelError as problem:
        return f"{kernel.name}\n\n{problem}\n"
    return text


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m asctrace", description=__doc__)
    parser.add_argument("--version", action="version", version=f"asctrace {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("doctor", help="print versions, settings and the state of CANN")
    tables = commands.add_parser("report", help="run a script, print tables of its kernels")
    tables.add_argument("script", help="a Python file that launches or lowers kernels")
    tables.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script")
    options = parser.parse_args(arguments)
    if options.command == "report":
        return report(options.script, options.arguments)
    print(doctor())
    return 0
