"""The command line.

`python -m asctrace doctor` prints what a bug report needs; `python -m asctrace report script.py`
runs a script and prints the report of each kernel that it traces; `python -m asctrace cache info`
and `cache clear` are about compiled kernels on disk.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tabulate import tabulate

from . import __version__
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
    state = commands.add_parser("doctor", help="print versions, settings and the state of CANN")
    state.add_argument("--json", action="store_true", help="print it as JSON")
    binaries = commands.add_parser("cache", help="compiled kernels on disk")
    binaries.add_argument("what", choices=("info", "clear"), help="tell, or remove all")
    tables = commands.add_parser("report", help="run a script, print tables of its kernels")
    tables.add_argument("script", help="a Python file that launches or lowers kernels")
    tables.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script")
    options = parser.parse_args(arguments)
    if options.command == "report":
        return report(options.script, options.arguments)
    try:
        print(cache(options.what) if options.command == "cache" else doctor(options.json))
    except KernelError as problem:  # a setting without a possible value
        print(problem, file=sys.stderr)
        return 1
    return 0
