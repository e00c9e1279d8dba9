"""The command line.

`python -m asctrace doctor` prints what a bug report needs; `python -m asctrace report script.py`
runs a script and prints the report of each kernel that it traces; `python -m asctrace cache info`
and `cache clear` are about compiled kernels on disk; `python -m asctrace emit script.py --out DIR`
runs a script and saves each kernel that it launches as a C++ project.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tabulate import tabulate

from . import __version__
from .runtime.knobs import COMMAND_ROUTES, SOC
from .runtime.specialise import OBSERVERS
from .tracer.diagnostics import KernelError


def doctor(as_json: bool) -> str:
    """Versions, settings, the state of CANN and what would be used, as text or as JSON."""
    from .runtime.doctor import examine

    state = examine()
    if as_json:
        return json.dumps(state, indent=2)
    found, compiling, kept = state["cann"], state["compiling"], state["cache"]
    settings = [
        (row["name"], row["problem"] or row["now"], row["values"], row["doc"])
        for row in state["settings"]
    ]
    chip = state["chip"]
    rows = [
        ("CANN", _with_version(found["home"], found["version"])),
        ("compiler", found["compiler"]),
        ("linker", found["linker"]),
        ("headers", ", ".join(found["headers"])),
        ("compiler as a library", found["compiler_library"]),
        ("run time", found["runtime_library"]),
        ("compiling", compiling["route"] and f"{compiling['route']}, with {compiling['with']}"),
        ("cache", _cache_line(kept)),
        ("chip", chip and f"{chip['name']} (architecture {chip['architecture']}), {chip['from']}"),
        ("NPUs", state["devices"]["problem"] or "{count}, {chip}".format(**state["devices"])),
        ("backend", "{used} ({why})".format(**state["backend"])),
    ]
    parts = [
        state["summary"],
        _table(state["versions"].items()),
        tabulate(settings, headers=("setting", "now", "values", ""), disable_numparse=True),
        _table((name, value or "not found") for name, value in rows),
        "known chips: " + ", ".join(state["chips"]),
    ]
    if not found["compiler"]:
        parts.insert(-1, "looked for CANN:\n" + "\n".join(f"  {row}" for row in found["looked"]))
    if state["missing"]:
        lines = [f"  {row['what']}\n    {row['how']}" for row in state["missing"]]
        parts.append("missing:\n" + "\n".join(lines))
    return "\n\n".join(parts)


def _table(rows: Any) -> str:
    return tabulate(list(rows), disable_numparse=True)


def _with_version(home: str | None, version: str) -> str | None:
    return f"{home} (version {version})" if home and version else home


def _cache_line(kept: dict[str, Any]) -> str:
    if kept["problem"]:
        return f"{kept['folder'] or 'unknown'}: {kept['problem']}"
    size, limit = kept["bytes"] / 2**20, kept["limit"] >> 20
    return (
        f"{kept['folder']}: {kept['binaries']} binaries, {size:.1f} of {limit} MiB, "
        f"{kept['failures']} failures"
    )


def cache(what: str) -> str:
    """Tell of the cache, or empty it."""
    from .runtime.cache import Cache, default_folder
    from .runtime.knobs import CACHE_LIMIT

    found = Cache(default_folder(), CACHE_LIMIT.get() << 20)
    usage = found.clear() if what == "clear" else found.usage()
    said = "removed " if what == "clear" else ""
    rows = [
        ("folder", usage.folder),
        ("binaries", f"{said}{usage.entries}"),
        ("bytes", f"{said}{usage.bytes}"),
        ("limit", f"{usage.limit} bytes"),
        ("failures", f"{said}{usage.failures}"),
    ]
    return _table(rows)


def _run(script: str, arguments: Sequence[str]) -> int:
    """Run a script as Python would; returns its exit code."""
    argv, path, code = sys.argv, list(sys.path), 0
    sys.argv = [script, *arguments]
    sys.path.insert(0, str(Path(script).resolve().parent))
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.argv, sys.path[:] = argv, path
    return code


def report(script: str, arguments: Sequence[str]) -> int:
    """Run a script and print the report of each kernel it traces; returns the script's exit code.

    What the script itself prints is not shown.
    """
    traced: list[tuple[Any, Any]] = []

    def see(kernel: Any, found: Any) -> None:
        traced.append((kernel, found))

    OBSERVERS.append(see)
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            code = _run(script, arguments)
    finally:
        OBSERVERS.remove(see)
    reports = list(dict.fromkeys(_report(kernel, found) for kernel, found in traced))
    print("\n".join(reports) if reports else f"{script} traces no kernel", end="")
    if not reports:
        print()
    return code


def emit(script: str, arguments: Sequence[str], options: argparse.Namespace) -> int:
    """Run a script in the simulator and save a project for each kernel it launches.

    Returns the script's exit code, 1 when a project was not written.
    """
    from .runtime.devices import in_place_of_all
    from .runtime.project.recorder import Recorder

    recorder = Recorder(Path(options.out), options.route, options.force)
    before = os.environ.get(SOC.name)
    if options.soc:
        os.environ[SOC.name] = options.soc
    try:
        with in_place_of_all(recorder):
            code = _run(script, arguments)
    finally:
        if options.soc:
            os.environ.pop(SOC.name)
            if before is not None:
                os.environ[SOC.name] = before
        found = list(recorder.recorded.values())
        for one in found:
            print(one, file=sys.stderr if one.problem else sys.stdout)
    if not found:
        print(f"{script} launches no kernel")
    return code or int(any(one.problem for one in found))


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
    state = commands.add_parser("doctor", help="print versions, settings and the state of CANN")
    state.add_argument("--json", action="store_true", help="print it as JSON")
    binaries = commands.add_parser("cache", help="compiled kernels on disk")
    binaries.add_argument("what", choices=("info", "clear"), help="tell, or remove all")
    tables = commands.add_parser("report", help="run a script, print tables of its kernels")
    tables.add_argument("script", help="a Python file that launches or lowers kernels")
    tables.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script")
    project = commands.add_parser(
        "emit",
        allow_abbrev=False,
        help="run a script in the simulator, save a C++ project for each kernel it launches",
        description="Run a script in the simulator and save a C++ project for each kernel it "
        "launches: the kernel, a host program with the arguments of the launch, golden results. "
        "Other options, and all behind --, are the script's.",
    )
    project.add_argument("script", help="a Python file that launches kernels")
    project.add_argument("--out", required=True, help="the folder for the projects")
    project.add_argument("--soc", help="the chip, where the script does not choose one")
    project.add_argument("--route", choices=COMMAND_ROUTES, help="how the kernel is compiled")
    project.add_argument("--force", action="store_true", help="replace files that were changed")
    given = list(sys.argv[1:] if arguments is None else arguments)
    # What is behind -- in `emit` goes to the script; `report` takes all behind the script anyway.
    behind: list[str] = []
    if given[:1] == ["emit"] and "--" in given:
        at = given.index("--")
        given, behind = given[:at], given[at + 1 :]
    options, rest = parser.parse_known_args(given)
    if rest and options.command != "emit":
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    if options.command == "emit":
        return emit(options.script, [*rest, *behind], options)
    if options.command == "report":
        return report(options.script, options.arguments)
    try:
        print(cache(options.what) if options.command == "cache" else doctor(options.json))
    except KernelError as problem:  # a setting without a possible value
        print(problem, file=sys.stderr)
        return 1
    return 0
