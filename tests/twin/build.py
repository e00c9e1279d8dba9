"""Compiles emitted text with g++ and runs it."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from asctrace.lowering.text import emit, kernel_name
from asctrace.runtime.simulator.params import SimParams
from asctrace.tracer.ops.spec import TABLE
from asctrace.tracer.trace import Trace

from .header import header
from .machine import Machine, pack

#: How g++ compiles a text. Each library has variables of its own, and can be unloaded. What C++
#: does not define is told of in `prelude.h`, without libubsan. Tensors print themselves only where
#: CANN debugs on a CPU.
FLAGS = (
    "-std=c++17", "-O0", "-w", "-fPIC", "-fwrapv", "-ffp-contract=off", "-fno-gnu-unique",
    "-fsanitize=float-cast-overflow,integer-divide-by-zero", "-DASCENDC_CPU_DEBUG=1",
)  # fmt: skip
#: Behind the source of a library.
LIBRARIES = ("-nodefaultlibs", "-lstdc++", "-lm", "-lgcc_s", "-lgcc", "-lc")


class Launcher(NamedTuple):
    """A compiled text: runs one block; whether its blocks may wait for one another."""

    launch: Callable[[bytes, Any], int]
    meets: bool


def folder() -> Path:
    """Where compiled texts are kept for one user and one header."""
    digest = hashlib.sha256(" ".join((*FLAGS, *LIBRARIES, header())).encode()).hexdigest()[:16]
    path = Path(tempfile.gettempdir()) / f"asctrace-twin-{os.getuid()}" / digest
    if not path.is_dir():
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        _forget(path)
    return path


def _forget(new: Path) -> None:
    """Remove what other headers left that nobody has added to for a day."""
    for other in new.parent.iterdir():
        with contextlib.suppress(OSError):
            if other != new and time.time() - other.stat().st_mtime > 24 * 3600:
                shutil.rmtree(other)


def _compiler(*arguments: Any) -> None:
    done = subprocess.run(["g++", *FLAGS, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"g++ refuses the text:\n{done.stderr}")


def include() -> Path:
    """The folder with the header, compiled beforehand."""
    path = folder()
    precompiled = path / "kernel_operator.h.gch"
    if not precompiled.exists():
        own = f"{os.getpid()}"
        (path / f"{own}.h").write_text(header())
        _compiler("-x", "c++-header", path / f"{own}.h", "-o", path / f"{own}.gch")
        os.replace(path / f"{own}.h", path / "kernel_operator.h")
        os.replace(path / f"{own}.gch", precompiled)
    return path


def compile_texts(texts: Sequence[tuple[str, str]]) -> list[Launcher]:
    """Compile (text, symbol) pairs as one library; returns their launchers.

    Each text gets names of its own, so that the same kernel may occur twice.
    """
    parts = ['#include "kernel_operator.h"']
    for k, (text, symbol) in enumerate(texts):
        own = f"twin{k}_{symbol}"
        text = re.sub(rf"\b{re.escape(symbol)}\(", f"{own}(", text)
        text = text.replace('#include "kernel_operator.h"', "")
        parts.append(
            f"namespace n{k} {{\n{text}\n}}\n"
            f'extern "C" int32_t run{k}(const char* block) '
            f"{{ return twin::launch(&n{k}::{own}, block); }}"
        )
    parts.append('extern "C" void bind(twin::Entry entry) { twin::entry = entry; }')
    source = "\n".join(parts)
    path = include()
    digest = hashlib.sha256(source.encode()).hexdigest()[:24]
    library = path / f"{digest}.so"
    if not library.exists():
        own = path / f"{digest}.{os.getpid()}"
        own.with_suffix(".cpp").write_text(source)
        _compiler("-shared", "-I", path, own.with_suffix(".cpp"), "-o", own, *LIBRARIES)
        os.replace(own, library)
        own.with_suffix(".cpp").unlink()
    loaded = ctypes.CDLL(str(library))
    meets = [re.search(meeting_calls(), text) is not None for text, _ in texts]
    return [_launcher(loaded, f"run{k}", meets[k]) for k in range(len(texts))]


def meeting_calls() -> str:
    """What matches a text whose blocks may wait for one another."""
    names = (spec.cpp for spec in TABLE.values() if "meets" in spec.extra)
    return rf"\bAscendC::({'|'.join(names)})\b"


def _launcher(loaded: ctypes.CDLL, name: str, meets: bool) -> Launcher:
    function = loaded[name]
    function.argtypes = [ctypes.c_char_p]
    function.restype = ctypes.c_int32

    def launch(block: bytes, entry: Any) -> int:
        loaded.bind(entry)
        status: int = function(block)
        return status

    return Launcher(launch, meets)


def run_text(
    text: str, trace: Trace, args: Sequence[Any], blocks: int, params: SimParams | None = None
) -> None:
    """Compile one text and run it on arrays and numbers."""
    (launcher,) = compile_texts([(text, kernel_name(trace))])
    run(launcher, trace, args, blocks, params)


def run(
    launcher: Launcher,
    trace: Trace,
    args: Sequence[Any],
    blocks: int,
    params: SimParams | None = None,
) -> Machine:
    """Run a compiled text; `trace` is asked for the chip and the types of its parameters only."""
    machine = Machine(trace, args, params)
    machine.run(
        lambda block: launcher.launch(block, machine.entry),
        pack(trace, args),
        blocks,
        launcher.meets,
    )
    return machine


def run_trace(
    trace: Trace, args: Sequence[Any], blocks: int, params: SimParams | None = None
) -> None:
    """Emit, compile and run."""
    run_text(emit(trace), trace, args, blocks, params)
