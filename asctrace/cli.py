"""The command line: `python -m asctrace doctor` prints what a bug report needs."""

from __future__ import annotations

import argparse
import platform
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from tabulate import tabulate

from . import __version__
from .runtime import cann, knobs
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


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m asctrace", description=__doc__)
    parser.add_argument("--version", action="version", version=f"asctrace {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("doctor", help="print versions, settings and the state of CANN")
    parser.parse_args(arguments)
    print(doctor())
    return 0
