"""Kernels without a source file: standard input, exec, a notebook cell, a zip file.

Each runs in its own process. Values are right; errors have file and line even where the text is
nowhere to be found.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from asctrace.tracer.vm import machine

FOLDER = str(Path(machine.__file__).parent.parent.parent)

KERNEL = """\
import numpy as np
import asctrace as asc

@asc.jit
def kernel(out: asc.GlobalAddress, n: int):
    gm = asc.GlobalTensor()
    gm.set_global_buffer(out)
    square = lambda x: x * x
    for i in range(n):
        if i == 2:
            continue
        gm.set_value(i, square(i) + 1)

def helper(n):
    return [1, 2][n]

@asc.jit
def wrong(out: asc.GlobalAddress, n: int):
    helper(n)

"""
LAUNCH = """\
out = np.zeros(4, np.int32)
_ = kernel[1](out, 4)
print(out.tolist())
"""
VALUES = "[1, 2, 0, 10]\n"
MESSAGE = "error AT0107: the integer value of the runtime value `n` (int32) is not known"


def run(*arguments: str, stdin: str = "", folder: Path) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder with this installation."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ASCTRACE_")}
    environment["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
    return subprocess.run(
        [sys.executable, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        env=environment,
        cwd=folder,
    )


def error_of(stderr: str) -> str:
    """The message of the error that standard error ends with."""
    assert FOLDER not in stderr
    found = re.search(r"^asctrace\.KernelError: (.*?)(?=^>>>|\Z)", stderr, re.M | re.S)
    assert found is not None, stderr
    return found[1]


def frames(stderr: str) -> list[tuple[str, str]]:
    """(line, function) of every frame shown."""
    return re.findall(r'^  File ".*", line (\d+), in (.*)$', stderr, re.M)


def test_interactive(tmp_path: Path) -> None:
    ended = run("-i", stdin=KERNEL + LAUNCH, folder=tmp_path)
    assert ended.returncode == 0
    assert ended.stdout == VALUES
    assert "Traceback" not in ended.stderr


def test_interactive_error_and_on(tmp_path: Path) -> None:
    session = f"{KERNEL}out = np.zeros(4, np.int32)\n_ = wrong[1](out, 1)\n{LAUNCH}"
    ended = run("-i", stdin=session, folder=tmp_path)
    assert ended.stdout == VALUES
    message = error_of(ended.stderr)
    assert message.startswith(f"<stdin>:2:12: {MESSAGE}")
    assert "\n  called from <stdin>:3:5 in wrong\n" in message
    shown = frames(ended.stderr)
    # Without text, the line of the decorator stands for that of `def`.
    assert shown.pop(1) in [("1", "wrong"), ("2", "wrong")]
    assert shown == [("1", "<module>"), ("3", "wrong"), ("2", "helper")]


def test_interactive_redefinition_is_seen(tmp_path: Path) -> None:
    session = """\
import numpy as np
import asctrace as asc
def factor():
    return 2

@asc.jit
def kernel(out, n):
    gm = asc.GlobalTensor()
    gm.set_global_buffer(out)
    gm.set_value(0, factor() * n)

out = np.zeros(1, np.int32)
_ = kernel[1](out, 5); print(out[0])
def factor():
    return 3

_ = kernel[1](out, 5); print(out[0])
"""
    ended = run("-i", stdin=session, folder=tmp_path)
    assert ended.stdout == "10\n15\n"


def test_command_line(tmp_path: Path) -> None:
    ended = run("-c", KERNEL + LAUNCH, folder=tmp_path)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, VALUES, "")
    ended = run("-c", KERNEL + "wrong[1](np.zeros(4, np.int32), 1)\n", folder=tmp_path)
    assert ended.returncode == 1
    line = KERNEL.splitlines().index("    return [1, 2][n]") + 1
    assert error_of(ended.stderr).startswith(f"<string>:{line}:12: {MESSAGE}")


@pytest.mark.parametrize("file", ["<string>", "<cell>", "cell 1", "/nowhere/at/all.py"])
def test_compiled_text(file: str, tmp_path: Path) -> None:
    program = f"""\
code = {KERNEL!r}
names = {{"__name__": "notebook"}}
exec(compile(code, {file!r}, "exec"), names)
exec(compile({LAUNCH!r}, {file!r}, "exec"), names)
names["wrong"][1](names["out"], 1)
"""
    path = tmp_path / "program.py"
    path.write_text(program)
    ended = run(str(path), folder=tmp_path)
    assert ended.stdout == VALUES
    assert ended.returncode == 1
    line = KERNEL.splitlines().index("    return [1, 2][n]") + 1
    message = error_of(ended.stderr)
    assert message.splitlines() == [
        f"{file}:{line}:12: {MESSAGE} while tracing",
        f"  called from {file}:{line + 4}:5 in wrong",
        "  hint: pass it as asc.ConstExpr[int], or index a tensor instead of a list",
    ]
    assert [name for _, name in frames(ended.stderr)] == ["<module>", "wrong", "wrong", "helper"]


def test_notebook_cell_shows_its_text(tmp_path: Path) -> None:
    """Notebooks put their cells where tracebacks look for text."""
    program = f"""\
import linecache
code = {KERNEL!r}
lines = code.splitlines(keepends=True)
linecache.cache["<cell 1>"] = (len(code), None, lines, "<cell 1>")
names = {{"__name__": "notebook"}}
exec(compile(code, "<cell 1>", "exec"), names)
try:
    names["wrong"][1](names["np"].zeros(4, names["np"].int32), 1)
except Exception:
    import traceback
    traceback.print_exc()
"""
    path = tmp_path / "program.py"
    path.write_text(program)
    ended = run(str(path), folder=tmp_path)
    message = error_of(ended.stderr)
    assert "\n    return [1, 2][n]\n           ^^^^^^^^^\n" in message
    assert ended.stderr.count("    return [1, 2][n]\n") == 2
    assert ("18", "wrong") in frames(ended.stderr)


def test_zip_file(tmp_path: Path) -> None:
    archive = tmp_path / "kernels.zip"
    with zipfile.ZipFile(archive, "w") as out:
        out.writestr("zipped.py", KERNEL)
    program = f"""\
import sys
sys.path.insert(0, {str(archive)!r})
from zipped import *
{LAUNCH}
wrong[1](out, 1)
"""
    path = tmp_path / "program.py"
    path.write_text(program)
    ended = run(str(path), folder=tmp_path)
    assert ended.stdout == VALUES
    assert ended.returncode == 1
    line = KERNEL.splitlines().index("    return [1, 2][n]") + 1
    message = error_of(ended.stderr)
    assert message.startswith(f"{archive}/zipped.py:{line}:12: {MESSAGE} while tracing\n")
    assert f"  called from {archive}/zipped.py:{line + 4}:5 in wrong\n" in message
    assert "\n    return [1, 2][n]\n           ^^^^^^^^^\n" in message


def test_code_without_positions(tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(KERNEL + LAUNCH + "wrong[1](out, 1)\n")
    ended = run("-X", "no_debug_ranges", str(path), folder=tmp_path)
    assert ended.stdout == VALUES
    line = KERNEL.splitlines().index("    return [1, 2][n]") + 1
    message = error_of(ended.stderr)
    assert message.startswith(f"{path}:{line}: {MESSAGE} while tracing\n    return [1, 2][n]\n")


@pytest.mark.parametrize("flag", ["-O", "-OO"])
def test_optimised(flag: str, tmp_path: Path) -> None:
    path = tmp_path / "program.py"
    path.write_text(KERNEL + LAUNCH)
    ended = run(flag, str(path), folder=tmp_path)
    assert (ended.stdout, ended.stderr) == (VALUES, "")
