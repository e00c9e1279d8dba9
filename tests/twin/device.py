"""The `npu` path on this machine: stand-ins for CANN's compiler and for the ACL runtime.

A launch goes the way that it goes on an NPU: text, the compiler's real command lines, the cache on
disk, loading, packing, streams, copies. The stand-in for `bisheng` makes host code of the text
(`tests/cann_standin.py`), the stand-in for ACL runs it, and the calls come back to the rows, on
memory that is the stand-in's device memory.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from asctrace.runtime import devices, knobs, platform
from asctrace.runtime.acl import device
from asctrace.runtime.acl.array import DeviceArray
from asctrace.runtime.acl.errors import AclError
from asctrace.runtime.acl.stream import synchronize
from asctrace.runtime.cann import HOME_VARIABLES, INCLUDES
from asctrace.runtime.jit import JitOptions
from asctrace.runtime.simulator.memory import GlobalMemory, Space
from asctrace.runtime.simulator.params import SimParams
from asctrace.tracer.chip import Chip
from asctrace.tracer.trace import Op, Trace
from tests import cann_standin
from tests.acl_kit import FOLDER as ACL_FOLDER
from tests.acl_kit import Standin, install
from tests.cann_kit import Cann

from . import build
from .machine import Entry, Machine

BINARY = Path(__file__).with_name("binary.h")
#: What a launch gives whose call was refused: a vector core met a fault.
FAULT = 507035

#: The device itself, whatever stands in its place for a program that is watched.
_NPU = devices.device("npu")


# -- the compiler ---------------------------------------------------------------------------------


class HostCann(Cann):
    """A made-up CANN whose compiler makes binaries for the stand-in for ACL."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        headers, place = build.include(), home / INCLUDES[0]
        for path in (
            *(headers / name for name in ("kernel_operator.h", "kernel_operator.h.gch")),
            BINARY,
            ACL_FOLDER / "standin.h",
        ):
            (place / path.name).symlink_to(path)
        twin = {
            "compiler": ["g++", *build.FLAGS],
            "first": ["kernel_operator.h", BINARY.name],
            "asc_include": INCLUDES[0],
            "libraries": build.LIBRARIES,
            "meets": build.meeting_calls(),
        }
        (home / "twin.json").write_text(json.dumps(twin))


def shared() -> Path:
    """The root of one for all runs of this user with the same sources, and the same interpreter."""
    return _shared(build.folder())


@functools.cache
def _shared(folder: Path) -> Path:
    sources = (BINARY, ACL_FOLDER / "standin.h", Path(cann_standin.__file__))
    parts = [sys.executable, *(path.read_text() for path in sources)]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    home = folder / f"cann-{digest}"
    if not home.is_dir():
        with tempfile.TemporaryDirectory(dir=folder) as work:
            made = HostCann(Path(work) / "cann").home
            with suppress(OSError):  # another process was faster
                made.rename(home)
    return home


# -- the device -----------------------------------------------------------------------------------


class _Range(ctypes.Structure):
    """`standin_range`."""

    _fields_ = (("address", ctypes.c_uint64), ("size", ctypes.c_uint64))


class _Launch(ctypes.Structure):
    """`standin_launch`."""

    _fields_ = (
        ("abi", ctypes.c_uint32),
        ("block", ctypes.c_uint32),
        ("blocks", ctypes.c_uint32),
        ("args_size", ctypes.c_uint32),
        ("args", ctypes.c_void_p),
        ("say", ctypes.CFUNCTYPE(None, ctypes.c_char_p)),
        ("user", ctypes.c_void_p),
        ("memory", ctypes.POINTER(_Range)),
        ("memory_count", ctypes.c_uint64),
    )


_Block = ctypes.CFUNCTYPE(ctypes.c_int32, Entry, ctypes.c_void_p)
_Run = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(_Launch), _Block, ctypes.c_int32)


class _OnDevice(Machine):
    """Runs a text's calls on device memory, of which it knows the allocations alone."""

    def _place(self, trace: Trace, args: Sequence[Any]) -> list[tuple[int, int, GlobalMemory]]:
        found = []
        for k, (start, size) in enumerate(args, 1):
            data = memoryview((ctypes.c_ubyte * size).from_address(start)).cast("B")
            name = f"the memory at {start:#x}"
            found.append((start, size, GlobalMemory(name, data, Space(name, data, k << 48, True))))
        return found


class Host:
    """Runs the launches of the stand-in for ACL, as a chip; `error` is what the last fault was.

    `params` choose the order of blocks, as for the simulator.
    """

    def __init__(self, chip: Chip, params: SimParams | None = None) -> None:
        self.chip = chip
        self.params = params
        self.launches = 0
        self.error: BaseException | None = None
        self._run = _Run(self._launch)
        #: `twin::Host`.
        self._table = (ctypes.c_void_p * 1)(ctypes.cast(self._run, ctypes.c_void_p))

    def serve(self, standin: Standin) -> None:
        """Be whom the stand-in's launches turn to."""
        standin.cdll.standin_set_user(self._table)

    def _launch(self, pointer: Any, block: Any, meets: int) -> int:
        launch = pointer[0]
        self.launches += 1
        memory = [(r.address, r.size) for r in launch.memory[: launch.memory_count]]
        try:
            machine = _OnDevice(Trace("device", self.chip), memory, self.params)
            machine.run(
                lambda _: block(machine.entry, launch.args), b"", launch.blocks, bool(meets)
            )
        except BaseException as problem:
            self.error = problem
            launch.say(f"errorStr: {str(problem).partition(chr(10))[0]}.".encode())
            return FAULT
        return 0


# -- launches -------------------------------------------------------------------------------------


@contextmanager
def standins(
    chip: Chip, home: Path | None = None, params: SimParams | None = None
) -> Iterator[tuple[Standin, Host]]:
    """Both stand-ins in place of what this process has: the device is such a chip.

    `home` is the made-up CANN, the shared one by default. In the end everything is given back.
    """
    with pytest.MonkeyPatch.context() as patch:
        for name in (*(knob.name for knob in knobs.ALL), *HOME_VARIABLES):
            patch.delenv(name, raising=False)
        patch.setattr(platform.current, "device_id", None)
        patch.setenv(HOME_VARIABLES[0], str(home or shared()))
        patch.setenv(knobs.CACHE_DIR.name, str((home or shared()) / "cache"))
        standin, host = install(patch), Host(chip, params)
        standin.configure(soc=chip.name)
        host.serve(standin)
        try:
            yield standin, host
        finally:
            device.shutdown()
        left = standin.report()
        assert left == "", f"left on the device:\n{left}"


def run_on_device(
    trace: Trace, args: Sequence[Any], blocks: int, params: SimParams | None = None
) -> None:
    """Compile a trace, launch it on arrays of the host, wait; raises what a call raised."""
    with standins(trace.chip, params=params) as (_, host):
        program = _NPU.compile(trace, JitOptions())
        there = _There(args) if finds_addresses(trace) else None
        try:
            _NPU.launch(program, there.args if there else tuple(args), blocks, None, None)
            synchronize()
        except AclError:
            if host.error is not None:
                raise host.error from None
            raise
        assert host.launches == 1
        if there:
            there.fetch()


def finds_addresses(trace: Trace) -> bool:
    """Whether a kernel finds addresses of arrays in memory."""
    return any(isinstance(node, Op) and "any_array" in node.spec.extra for node in trace.walk())


class _There:
    """Copies of arrays on the device; addresses of arrays that they hold are of the copies."""

    def __init__(self, args: Sequence[Any]) -> None:
        self._pairs = {
            (a.ctypes.data, a.nbytes): (a, DeviceArray(a.shape, a.dtype))
            for a in args
            if isinstance(a, np.ndarray)
        }
        for here, there in self._pairs.values():
            there.copy_from(self._moved(here, 1))
        self.args = tuple(
            self._pairs[a.ctypes.data, a.nbytes][1] if isinstance(a, np.ndarray) else a
            for a in args
        )

    def _moved(self, array: Any, way: int) -> Any:
        """An array whose addresses are those on the device (1) or of the host (-1)."""
        moved = np.array(array)
        words = moved.reshape(-1).view(np.uint8)[: moved.nbytes // 8 * 8].view(np.uint64)
        for (start, size), (_, there) in self._pairs.items():
            assert there.pointer is not None
            first, target = (start, there.pointer)[::way]
            inside = (words >= first) & (words < first + size)
            words[inside] = words[inside] - np.uint64(first) + np.uint64(target)
        return moved

    def fetch(self) -> None:
        """Bring back what the kernel left."""
        for here, there in self._pairs.values():
            left = self._moved(there.to_host(), -1)
            if left.tobytes() != here.tobytes():
                here[...] = left
