"""The stand-in for the ACL runtime: building it, steering it, and kernels for it.

`tests/acl_standin/standin.h` has the contract. A kernel of the stand-in is C++ for the host; its
entry unpacks the argument block by the same layout table that the launcher packs it by, and the
compiler checks the offsets.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from asctrace.lowering.data import struct_definitions
from asctrace.lowering.layout import argument_layout
from asctrace.lowering.names import kernel_name
from asctrace.runtime import platform
from asctrace.runtime.acl import device, library
from asctrace.runtime.compiler import Binary, KernelType, traces
from asctrace.tracer.trace import Trace

FOLDER = Path(__file__).with_name("acl_standin")
SOURCES = tuple(FOLDER / name for name in ("standin.cpp", "standin.h", "acl.h"))
CXX = ("g++", "-std=c++17", "-O1", "-shared", "-fPIC", "-Wall", "-Werror", f"-I{FOLDER}")

#: What the text says and a host compiler does not know.
PRELUDE = """\
#include <cstddef>
#include <cstdint>
#include "standin.h"
#define __gm__
struct half { uint16_t bits; };
struct bfloat16_t { uint16_t bits; };
"""


def _built(name: str, sources: dict[str, str], command: tuple[str, ...]) -> Path:
    """A shared object, built once for each content of its sources; safe under xdist."""
    digest = hashlib.sha256(repr((sorted(sources.items()), command)).encode()).hexdigest()[:24]
    folder = Path(tempfile.gettempdir()) / f"asctrace-tests-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    target = folder / f"{name}-{digest}.so"
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=folder) as work:
            for file, text in sources.items():
                path = Path(work) / file
                path.parent.mkdir(exist_ok=True)
                path.write_text(text)
            first = next(iter(sources))
            made = Path(work) / "made.so"
            run = subprocess.run(
                [*command, "-o", made, first, "-ldl"], cwd=work, capture_output=True, text=True
            )
            assert run.returncode == 0, run.stderr
            os.replace(made, target)
    return target


@functools.cache
def library_path() -> Path:
    """The stand-in, built."""
    return _built("libacl_rt", {path.name: path.read_text() for path in SOURCES}, CXX)


def entry_source(trace: Trace, body: str, sync_address: bool = False) -> str:
    """C++ of a kernel for the stand-in: `body` sees the arguments as `args.NAME`, and `launch`."""
    layout = argument_layout(trace, sync_address)
    symbol = kernel_name(trace)
    fields = "".join(
        f"    alignas(alignof({slot.cpp}) > 4 ? alignof({slot.cpp}) : 4) {slot.cpp} {slot.name};\n"
        for slot in layout.slots
    )
    checks = "".join(
        f"static_assert(offsetof(Args, {slot.name}) == {slot.offset});\n" for slot in layout.slots
    )
    return (
        f"{PRELUDE}{struct_definitions(trace, host=True)}"
        f"struct Args {{\n{fields}}};\n{checks}"
        f"static_assert(sizeof(Args) <= {layout.size});\n"
        f'extern "C" {{\nuint32_t {symbol}_args_size = {layout.size};\n'
        f"int {symbol}_entry(const standin_launch* launch) {{\n"
        "    const Args& args = *static_cast<const Args*>(launch->args);\n"
        f"    (void)args;\n{body}\n    return 0;\n}}\n}}\n"
    )


class HostBinary(Binary):
    """One that no cache has."""

    __slots__ = ()

    def file(self) -> Path:
        return self.path


def host_binary(
    trace: Trace,
    body: str,
    kind: KernelType = KernelType.AIV_ONLY,
    sync_address: bool = False,
) -> Binary:
    """A `Binary` that the stand-in runs."""
    path = _built("kernel", {"kernel.cpp": entry_source(trace, body, sync_address)}, CXX)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return HostBinary(path, kind, kernel_name(trace), digest, sync_address)


class Standin:
    """Steers the loaded stand-in."""

    def __init__(self) -> None:
        self.cdll = ctypes.CDLL(str(library_path()))
        self.cdll.standin_calls.restype = ctypes.c_int64
        self.cdll.standin_report.restype = ctypes.c_size_t
        self.cdll.standin_sync_address.restype = ctypes.c_uint64

    def inject(
        self, function: str, code: int, skip: int = 0, times: int = 1, text: str = ""
    ) -> None:
        """Let a function fail."""
        self.cdll.standin_inject(function.encode(), code, skip, times, text.encode())

    def injections_left(self) -> int:
        return int(self.cdll.standin_injections_left())

    def calls(self, function: str) -> int:
        return int(self.cdll.standin_calls(function.encode()))

    def report(self) -> str:
        """What is alive; "" when nothing is."""
        size = self.cdll.standin_report(None, 0)
        text = ctypes.create_string_buffer(size + 1)
        self.cdll.standin_report(text, size + 1)
        return text.value.decode()

    def reset(self) -> None:
        self.cdll.standin_reset()

    def configure(
        self, devices: int = 0, soc: str | None = None, max_blocks: int = 0, memory: int = 0
    ) -> None:
        name = soc.encode() if soc else None
        self.cdll.standin_configure(
            devices, name, ctypes.c_int64(max_blocks), ctypes.c_size_t(memory)
        )

    def sync_address(self) -> int:
        return int(self.cdll.standin_sync_address())

    def last_schedule(self) -> int:
        return int(self.cdll.standin_last_schedule())


class Bodies(dict[str, str]):
    """Kernel name -> its C++ body for the stand-in; `kinds` where it is no plain vector kernel."""

    def __init__(self) -> None:
        super().__init__()
        self.kinds: dict[str, KernelType] = {}
        self.compiled = 0

    def compile(self, traces: Sequence[Trace], *rest: Any) -> list[Binary]:
        """In place of `compile_traces`."""
        self.compiled += len(traces)
        return [self._compile(trace) for trace in traces]

    def _compile(self, trace: Trace) -> Binary:
        kind = self.kinds.get(trace.name, KernelType.AIV_ONLY)
        return host_binary(trace, self[trace.name], kind, kind.hard_sync)


def install(patch: pytest.MonkeyPatch, bodies: Bodies | None = None) -> Standin:
    """The stand-in as the process's ACL runtime, fresh, and `bodies` in place of the compiler."""
    standin = Standin()
    standin.reset()
    patch.setenv("ASCTRACE_ACL_LIBRARY", str(library_path()))
    patch.setattr(device, "_session", None)
    patch.setattr(library, "_loaded", None)
    patch.setattr(platform.current, "automatic", None)
    patch.setattr(device.THREAD, "device", None)
    patch.setattr(device.THREAD, "stream", None)
    if bodies is not None:
        patch.setattr(traces, "compile_traces", bodies.compile)
    return standin
