"""Make virtual environments and run the suite, or the fuzzer, on each CPython found.

Standard library only. Not a test module: the Makefile calls it.

    run_all.py venv .venv [--extras test] [--strict]   make or refresh one environment
    run_all.py test [pytest arguments]                 the suite on every interpreter
    run_all.py fuzz [fuzz.py arguments]                the fuzzer on every interpreter

The interpreter that runs this script serves its own version with the environment it lives in.
"""

import argparse
import hashlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = ("3.11", "3.12", "3.13")
PACKAGE_ROOTS = ("asctrace", "tracer", "lowering", "runtime")


def candidates(version: str) -> Iterator[Path]:
    """Executables that may be CPython `version`: on PATH first, then under pyenv."""
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        if folder:
            yield Path(folder) / f"python{version}"
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    found = (pyenv / "versions").glob(f"{version}.*/bin/python")
    yield from sorted(found, key=lambda p: [int(n) for n in re.findall(r"\d+", p.parts[-3])])[::-1]


def works(python: Path, version: str) -> bool:
    """Whether `python` starts, is CPython `version` and can make environments.

    A pyenv shim exists for every installed version but fails unless that version is selected.
    """
    if not os.access(python, os.X_OK):
        return False
    code = "import sys, venv, ensurepip; print(sys.implementation.name, *sys.version_info[:2])"
    run = subprocess.run(
        [python, "-c", code], capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    return run.stdout.split() == ["cpython", *version.split(".")]


def find(version: str) -> Path | None:
    """The first interpreter of that version that works."""
    return next((p for p in candidates(version) if works(p, version)), None)


def fingerprint(extras: str, strict: bool) -> str:
    """What an installation depends on: when it changes, the project is installed afresh.

    A plain editable install sees new files by itself; a strict one is a tree of links, so the
    list of files counts as well.
    """
    digest = hashlib.sha256(f"{ROOT} {extras} {strict}".encode())
    for name in ("pyproject.toml", "setup.py"):
        digest.update((ROOT / name).read_bytes())
    if strict:
        sources = sorted(
            str(p)
            for root in PACKAGE_ROOTS
            for kind in ("*.py", "*.pyi")
            for p in (ROOT / root).rglob(kind)
        )
        digest.update("\n".join(sources).encode())
    return digest.hexdigest()


def make_venv(python: Path, folder: Path, extras: str = "test", strict: bool = False) -> Path:
    """Make or refresh the environment at `folder`; return its interpreter."""
    inside = folder / "bin" / "python"
    stamp = folder / ".installed"
    base, _, installed = stamp.read_text().partition("\n") if stamp.is_file() else ("", "", "")
    wanted = fingerprint(extras, strict)
    usable = base == str(python) and inside.exists()
    if usable and installed == wanted:
        return inside
    print(f"preparing {folder.name}", flush=True)
    if not usable:
        subprocess.run([python, "-m", "venv", "--clear", folder], check=True)
    stamp.unlink(missing_ok=True)
    mode = ["--config-settings", "editable_mode=strict"] if strict else []
    pip = [inside, "-m", "pip", "--disable-pip-version-check", "install", "-q", *mode]
    subprocess.run([*pip, "-e", f"{ROOT}[{extras}]"], check=True, stdin=subprocess.DEVNULL)
    stamp.write_text(f"{python}\n{wanted}")
    return inside


def environments() -> dict[str, Path]:
    """Version -> interpreter with the project installed, for each CPython found."""
    in_venv = sys.prefix != sys.base_prefix
    own = "{}.{}".format(*sys.version_info) if in_venv else None
    made = {}
    for version in VERSIONS:
        if version == own:
            made[version] = Path(sys.executable)
        elif python := find(version):
            made[version] = make_venv(python, ROOT / f".venv-{version}")
    return made


def run(command: list[str | Path]) -> tuple[int, str]:
    """Run from the root, passing the output through; return the exit code and the last line."""
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    last = ""
    assert process.stdout is not None
    for line in process.stdout:
        print(line, end="", flush=True)
        last = line.strip(" =\n") or last
    return process.wait(), last


def run_suite(python: Path, arguments: list[str]) -> tuple[bool, str]:
    """Run pytest; a run in which no test passed is a failure, whatever its exit code."""
    workers = min(os.cpu_count() or 1, 8)
    code, last = run([python, "-m", "pytest", "-q", "-n", str(workers), *arguments])
    return code == 0 and "passed" in last, last


def run_fuzzer(python: Path, arguments: list[str]) -> tuple[bool, str]:
    """Run tests/fuzz.py."""
    code, last = run([python, ROOT / "tests" / "fuzz.py", *arguments])
    return code == 0, last


def run_everywhere(what: str, arguments: list[str]) -> bool:
    """Run on each interpreter, then say which ran and how each ended."""
    runner = {"test": run_suite, "fuzz": run_fuzzer}[what]
    report = []
    good = True
    made = environments()
    for version, python in made.items():
        print(f"== {what} on CPython {version}", flush=True)
        passed, last = runner(python, arguments)
        good = good and passed
        report.append(f"CPython {version}: {'ok' if passed else 'FAILED'} ({last})")
    report += [
        f"CPython {version}: not found, not run" for version in VERSIONS if version not in made
    ]
    print("== summary", *report, sep="\n", flush=True)
    if not made:
        print(f"no CPython of {', '.join(VERSIONS)} was found", file=sys.stderr)
    return good and bool(made)


def main() -> int:
    parser = argparse.ArgumentParser(description="Environments and runs on each CPython found.")
    commands = parser.add_subparsers(dest="command", required=True)
    venv = commands.add_parser("venv", help="make or refresh one environment")
    venv.add_argument("folder", type=Path)
    venv.add_argument("--extras", default="test")
    venv.add_argument("--strict", action="store_true", help="strict editable install")
    for name in ("test", "fuzz"):
        commands.add_parser(
            name, help=f"{name} on every interpreter; further arguments pass through"
        )
    known, rest = parser.parse_known_args()
    if known.command != "venv":
        return 0 if run_everywhere(known.command, rest) else 1
    if rest:
        parser.error(f"unknown arguments: {' '.join(rest)}")
    make_venv(Path(sys.executable), known.folder.resolve(), known.extras, known.strict)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as failure:
        sys.exit(f"failed with exit code {failure.returncode}: {failure.cmd}")
