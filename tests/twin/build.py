"""Compiles emitted text with g++ and runs it."""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from asctrace.lowering.text import emit, kernel_name
from asctrace.tracer.trace import Trace

from .header import header
from .machine import Machine, pack

#: How g++ compiles a text. Each library has variables of its own, and can be unloaded.
FLAGS = (
    "-std=c++17", "-O0", "-w", "-fPIC", "-fwrapv", "-ffp-contract=off", "-fno-gnu-unique",
)  # fmt: skip


def folder() -> Path:
    """Where compiled texts are kept for one user and one header."""
    digest = hashlib.sha256(" ".join((*FLAGS, header())).encode()).hexdigest()[:16]
    path = Path(tempfile.gettempdir()) / f"asctrace-twin-{os.getuid()}" / digest
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    return path


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


def compile_texts(texts: Sequence[tuple[str, str]]) -> list[Callable[[bytes], int]]:
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
        _compiler("-shared", "-I", path, own.with_suffix(".cpp"), "-o", own)
        os.replace(own, library)
        own.with_suffix(".cpp").unlink()
    loaded = ctypes.CDLL(str(library))
    return [_launcher(loaded, f"run{k}") for k in range(len(texts))]


def _launcher(loaded: ctypes.CDLL, name: str) -> Callable[..., int]:
    function = loaded[name]
    function.argtypes = [ctypes.c_char_p]
    function.restype = ctypes.c_int32

    def launch(block: bytes, entry: Any) -> int:
        loaded.bind(entry)
        status: int = function(block)
        return status

    return launch


def run_text(text: str, trace: Trace, args: Sequence[Any], blocks: int) -> None:
    """Compile one text and run it on arrays and numbers."""
    (launch,) = compile_texts([(text, kernel_name(trace))])
    run(launch, trace, args, blocks)


def run(launch: Callable[..., int], trace: Trace, args: Sequence[Any], blocks: int) -> None:
    """Run a compiled text; `trace` is asked for the types of its parameters only."""
    machine = Machine(trace, args)
    machine.run(lambda block: launch(block, machine.entry), pack(trace, args), blocks)


def run_trace(trace: Trace, args: Sequence[Any], blocks: int) -> None:
    """Emit, compile and run."""
    run_text(emit(trace), trace, args, blocks)
