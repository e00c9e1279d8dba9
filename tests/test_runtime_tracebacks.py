"""What the user sees when a kernel fails: a whole process, and its standard error."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import asctrace

PREAMBLE = """\
import numpy as np
import asctrace as asc

x = np.zeros(64, np.float32)

"""
HELPER = """\
def helper(tensor, gm):
    asc.data_copy(tensor, gm,
                  7)

@asc.jit
def kernel(x: asc.GlobalAddress,
           n: int):
    gm = asc.GlobalTensor()
    gm.set_global_buffer(x)
    local = asc.LocalTensor(x.dtype, asc.TPosition.VECIN, 0, 64)
    helper(local, gm)

def main():
    kernel[1](x, 3)

main()
"""


def run(path: Path, source: str, verbose: bool = False) -> str:
    """Standard error of a failing program at `path`."""
    path.write_text(PREAMBLE + source)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ASCTRACE_")}
    environment["PYTHONPATH"] = os.pathsep.join(p for p in sys.path if p)
    if verbose:
        environment["ASCTRACE_VERBOSE"] = "1"
    ended = subprocess.run(
        [sys.executable, path], capture_output=True, text=True, env=environment, cwd=path.parent
    )
    assert ended.returncode == 1
    assert ended.stdout == ""
    return ended.stderr


def frames(stderr: str) -> list[tuple[str, int, str]]:
    """(file name, line, function) of every frame shown."""
    found = re.findall(r'^  File "(.*)", line (\d+), in (.*)$', stderr, re.MULTILINE)
    return [(file.rpartition("/")[2], int(line), name) for file, line, name in found]


def lines_of(source: str, *texts: str) -> list[int]:
    """The line of each text in a program with this source."""
    lines = (PREAMBLE + source).splitlines()
    return [next(k for k, line in enumerate(lines, 1) if text in line) for text in texts]


def internal(stderr: str) -> list[str]:
    """The lines that show a file of asctrace."""
    package = Path(asctrace.__file__).parent.parent
    folders = [
        f"{package / name}{os.sep}" for name in ("asctrace", "tracer", "lowering", "runtime")
    ]
    folders += ["/asctrace/", "/tracer/", "/lowering/", "/runtime/"]
    return [line for line in stderr.splitlines() if any(folder in line for folder in folders)]


def test_error_in_a_helper(tmp_path: Path) -> None:
    stderr = run(tmp_path / "user.py", HELPER)
    assert internal(stderr) == []
    call, launch, define, inner, copy = lines_of(
        HELPER, "main()\n".strip() + "", "kernel[1]", "def kernel", "helper(local", "asc.data_copy"
    )
    call = len((PREAMBLE + HELPER).splitlines())
    assert frames(stderr) == [
        ("user.py", call, "<module>"),
        ("user.py", launch, "main"),
        ("user.py", define, "kernel"),
        ("user.py", inner, "kernel"),
        ("user.py", copy, "helper"),
    ]
    message = stderr[stderr.index("asctrace.KernelError: ") :].splitlines()
    assert message[0].endswith(
        f"user.py:{copy}:5: error AT0103: data_copy of 7 elements of float32 is 28 bytes, "
        "not a multiple of 32"
    )
    assert message[-1] == "  hint: copy a multiple of 8 elements"
    assert "    def kernel(x: asc.GlobalAddress,\n" in stderr


def test_verbose_shows_everything(tmp_path: Path) -> None:
    stderr = run(tmp_path / "user.py", HELPER, verbose=True)
    assert len(internal(stderr)) > 3
    assert "error AT0103" in stderr


@pytest.mark.parametrize(
    "entry", ["trace(x, 3)", "lower(x, 3)", "compile(x, 3)", "dispatch(1, x, 3)"]
)
def test_every_entry(entry: str, tmp_path: Path) -> None:
    source = HELPER.replace("kernel[1](x, 3)", f"kernel.{entry}")
    stderr = run(tmp_path / "user.py", source)
    assert internal(stderr) == []
    assert [name for _, _, name in frames(stderr)] == [
        "<module>", "main", "kernel", "kernel", "helper",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "code"),
    [
        ("kernel(x, 3)", "AT0113"),
        ("kernel[0](x, 3)", "AT0108"),
        ("kernel[1](x)", "AT0113"),
        ("kernel[1](x, 1 << 40)", "AT0113"),
    ],
)
def test_wrong_launch_ends_at_the_definition(call: str, code: str, tmp_path: Path) -> None:
    stderr = run(tmp_path / "user.py", HELPER.replace("kernel[1](x, 3)", call))
    assert internal(stderr) == []
    assert frames(stderr)[-1] == ("user.py", *lines_of(HELPER, "def kernel"), "kernel")
    assert f"asctrace.KernelError: error {code}: " in stderr


def test_exception_of_the_kernel_is_the_cause(tmp_path: Path) -> None:
    source = """\
def look_up(key):
    table = {}
    try:
        return table[key]
    except KeyError as missing:
        raise ValueError("no such tile") from missing

kernel = asc.jit(lambda x: look_up(3))
kernel[1](x)
"""
    stderr = run(tmp_path / "user.py", source)
    assert internal(stderr) == []
    made, raised = lines_of(source, "lambda x", "raise ValueError")
    first, second, third = re.split(r"\n\nThe above exception was .*:\n\n", stderr)
    assert first.endswith("KeyError: 3")
    assert second.endswith("ValueError: no such tile")
    assert frames(second) == [("user.py", made, "<lambda>"), ("user.py", raised, "look_up")]
    assert frames(third)[-1] == ("user.py", raised, "look_up")
    assert "error AT0111: ValueError: no such tile" in third


def test_library_frames_below_the_kernel_stay(tmp_path: Path) -> None:
    source = """\
import json

@asc.jit
def kernel(x):
    json.loads("{")

kernel[1](x)
"""
    stderr = run(tmp_path / "user.py", source)
    assert internal(stderr) == []
    cause, _ = re.split(r"\n\nThe above exception was .*:\n\n", stderr)
    names = [(file, name) for file, _, name in frames(cause)]
    assert names[0] == ("user.py", "kernel")
    assert names[-1][0] == "decoder.py"


def test_without_source_text(tmp_path: Path) -> None:
    source = """\
exec('''
def kernel(x):
    gm = asc.GlobalTensor()
    gm.set_global_buffer(x)
    local = asc.LocalTensor(x.dtype, asc.TPosition.VECIN, 0, 64)
    asc.data_copy(local, gm, 7)
''')
asc.jit(kernel)[1](x)
"""
    stderr = run(tmp_path / "user.py", source)
    assert internal(stderr) == []
    assert frames(stderr)[-2:] == [("<string>", 2, "kernel"), ("<string>", 6, "kernel")]


def test_error_of_the_run(tmp_path: Path) -> None:
    source = """\
@asc.jit
def kernel(x, n):
    gm = asc.GlobalTensor()
    gm.set_global_buffer(x)
    store(gm, n)

def store(gm, n):
    gm.set_value(n, 1.0)

kernel[1](x, 64)
"""
    stderr = run(tmp_path / "user.py", source)
    assert internal(stderr) == []
    define, inner, store = lines_of(source, "def kernel", "store(gm, n)", "gm.set_value")
    assert [line for _, line, _ in frames(stderr)][1:] == [define, inner, store]
    assert "error AT0201" in stderr


def test_exception_being_handled_stays_the_context(tmp_path: Path) -> None:
    source = """\
kernel = asc.jit(lambda x: None)
try:
    1 / 0
except ZeroDivisionError:
    kernel(x)
"""
    stderr = run(tmp_path / "user.py", source)
    assert internal(stderr) == []
    assert "ZeroDivisionError: division by zero\n\nDuring handling of the above" in stderr
    assert stderr.count("Traceback") == 2
