"""Building and running saved projects without CANN: the ACL stand-in, g++, CMake."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from asctrace.runtime.compiler import KernelType
from asctrace.tracer.trace import Trace
from tests.acl_kit import _built, host_binary, library_path

STANDIN = Path(__file__).with_name("acl_standin")
WARNINGS = ("-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror")

#: A compiler and a linker: their last `-o` becomes what `KERNEL_BINARY` names.
TOOL = """\
#!/bin/sh
calls=$(dirname "$0")/calls.txt
for word in "$(basename "$0")" "$@"; do printf '%s\\037' "$word" >> "$calls"; done
echo >> "$calls"
while [ $# -gt 1 ]; do
    if [ "$1" = -o ]; then out=$2; fi
    shift
done
cp "$KERNEL_BINARY" "$out"
"""


def headers(folder: Path) -> Path:
    """A folder with `acl/acl.h`: the prototypes of the stand-in."""
    (folder / "acl").mkdir(parents=True, exist_ok=True)
    shutil.copyfile(STANDIN / "acl.h", folder / "acl" / "acl.h")
    return folder


def host_program(project: Path) -> Path:
    """`main.cpp`, compiled with warnings as errors and linked to the stand-in."""
    sources = {
        "main.cpp": (project / "main.cpp").read_text(),
        "acl/acl.h": (STANDIN / "acl.h").read_text(),
    }
    command = ("g++", "-std=c++17", "-O0", *WARNINGS, "-I.", "-Wl,--no-as-needed")
    return _built("run", sources, (*command, str(library_path())))


def loaded_program(project: Path) -> Callable[..., int]:
    """The same as a function of this process, whose stand-in it uses: gives the exit code."""
    text = (
        '#define main program\n#include "main.cpp"\n#undef main\n'
        'extern "C" int start(int argc, char** argv) { return program(argc, argv); }\n'
    )
    sources = {
        "start.cpp": text,
        "main.cpp": (project / "main.cpp").read_text(),
        "acl/acl.h": (STANDIN / "acl.h").read_text(),
    }
    command = ("g++", "-std=c++17", "-O0", "-shared", "-fPIC", "-I.", "-Wl,--no-as-needed")
    loaded = ctypes.CDLL(str(_built("program", sources, (*command, str(library_path())))))

    def start(*words: Any) -> int:
        argv = [b"run", *(str(word).encode() for word in words)]
        status: int = loaded.start(len(argv), (ctypes.c_char_p * (len(argv) + 1))(*argv))
        return status

    return start


def kernel_binary(
    trace: Trace, body: str, kind: KernelType = KernelType.AIV_ONLY, sync_address: bool = False
) -> Path:
    """What the stand-in runs as the kernel: `body` sees the arguments as `args.NAME`."""
    return host_binary(trace, body, kind, sync_address).path


def run(
    project: Path, kernel: Path, *options: str, fault: str = "", report: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a project's host program with a binary."""
    environment = dict(os.environ)
    environment |= {"ACL_STANDIN_FAULT": fault} if fault else {}
    environment |= {"ACL_STANDIN_REPORT": str(report)} if report else {}
    command = [host_program(project), "--kernel", kernel, "--data", project, *options]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def cmake() -> str:
    """CMake of the environment (the extra `test` installs it), else that on PATH."""
    own = Path(sys.executable).with_name("cmake")
    found = str(own) if own.is_file() else shutil.which("cmake")
    assert found is not None, "no cmake: pip install -e .[test]"
    return found


def with_runtime(home: Path) -> None:
    """Give a made-up CANN what a host program is built with."""
    shutil.copyfile(library_path(), home / "lib64" / "libacl_rt.so")
    headers(home / "include")


def made_cann(home: Path, tikcpp: bool = True) -> Path:
    """A CANN with what a project looks for; its tools put `KERNEL_BINARY` in place."""
    (home / "bin").mkdir(parents=True)
    (home / "lib64").mkdir()
    with_runtime(home)
    for folder in ("tikcfw/impl", "tikcfw/interface") if tikcpp else ():
        (home / "compiler" / "tikcpp" / folder).mkdir(parents=True)
    version = home / "include" / "version" / "cann_version.h"
    version.parent.mkdir()
    version.touch()
    for name in ("bisheng", "ld.lld"):
        tool = home / "bin" / name
        tool.write_text(TOOL)
        tool.chmod(0o755)
    return home


def calls(home: Path) -> list[list[str]]:
    """The command lines of the tools so far."""
    lines = (home / "bin" / "calls.txt").read_text().rstrip("\n").split("\n")
    return [line.split("\037")[:-1] for line in lines]
