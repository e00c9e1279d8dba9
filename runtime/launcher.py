"""Launching on an NPU: host arrays staged on the device, the launch itself, measuring.

`NpuProgram` is a compiled kernel; `launch` takes the fast way for arrays that live on the device,
and `_slow` every other. May import `lowering`, `packing`, `acl`.
"""

from __future__ import annotations

import ctypes
import struct
import sys
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..lowering.layout import argument_layout
from ..tracer.diagnostics import KernelError, error
from ..tracer.language.types import GlobalPointerType
from ..tracer.trace import Op, Trace
from . import knobs, platform
from .acl.array import DeviceArray, copy
from .acl.device import THREAD, Device, session
from .acl.errors import AclError, failure
from .acl.prototypes import (
    DEVICE_TO_HOST,
    HOST_TO_DEVICE,
    SCHEDULE_MODE,
    SCHEDULE_TOGETHER,
    LaunchAttribute,
    LaunchConfig,
)
from .acl.stream import REMEMBERED, Event, Stream, current_stream
from .arguments import MAX_BLOCKS, is_torch, on_device, refuse
from .overlaps import Extent, overlapping
from .packing import Block, pack_block, quick_packer
from .results import LaunchInfo, Profile
from .writes import written_params

if TYPE_CHECKING:
    from .compiler import Binary

_LAUNCH = "aclrtLaunchKernelWithHostArgs"
#: The thread has no context, or one of another device, where our handles mean nothing.
_ELSEWHERE = (107002, 107003, 107017)
#: The number of placeholders in an argument block.
_NONE = ctypes.c_size_t(0)
#: By this the environment says whether to wait after each launch.
_BLOCKING = knobs.LAUNCH_BLOCKING.key


class NpuProgram:
    """A kernel for the NPU: its binary, the layout of its arguments, its handle on each device."""

    __slots__ = (
        "_config",
        "_loaded",
        "binary",
        "config",
        "device_id",
        "handles",
        "infos",
        "layout",
        "limit",
        "pointers",
        "quick",
        "size",
        "symbol",
        "trace",
        "written",
    )  # fmt: skip

    def __init__(self, trace: Trace, binary: Binary, device_id: int | None = None) -> None:
        self.trace = trace
        self.binary = binary
        self.symbol = binary.symbol
        #: The device that `asc.jit` names, if it does.
        self.device_id = device_id
        self.layout = argument_layout(trace, binary.sync_address)
        self.size = ctypes.c_size_t(self.layout.size)
        #: Indices of the parameters that are addresses.
        self.pointers = tuple(
            k for k, p in enumerate(trace.params) if isinstance(p.type, GlobalPointerType)
        )
        self.written = written_params(trace)
        #: Device -> handle of the function, and handles of the loaded binary.
        self.handles: dict[Device, ctypes.c_void_p] = {}
        self._loaded: list[tuple[Device, int]] = []
        #: Makes the block where every array is a `DeviceArray`, else gives None.
        self.quick: Block | None = quick_packer(self.layout)
        self.infos: dict[int, LaunchInfo] = {}
        #: More blocks than this never meet at a barrier, or 0.
        self.limit = _resident(trace, binary)
        self._config: tuple[Any, ...] = ()
        self.config: Any = None
        if binary.kind.hard_sync:
            # Blocks that wait for one another have to be started together.
            attribute = LaunchAttribute(SCHEDULE_MODE, (SCHEDULE_TOGETHER, 0, 0, 0))
            config = LaunchConfig(ctypes.pointer(attribute), 1)
            self._config = (attribute, config)
            self.config = ctypes.c_void_p(ctypes.addressof(config))

    def info(self, blocks: int) -> LaunchInfo:
        """What a launch returns."""
        found = self.infos.get(blocks)
        if found is None:
            found = self.infos[blocks] = LaunchInfo("npu", blocks, 0)
        return found

    def load(self, device: Device) -> ctypes.c_void_p:
        """The handle of the function on a device; the binary is loaded once."""
        with device.lock:
            found = self.handles.get(device)
            if found is None:
                path = self.binary.file()
                doing = f"loading {self.symbol} from {path}"
                binary = device.result(
                    "aclrtBinaryLoadFromFile",
                    str(path).encode(),
                    None,
                    last=True,
                    doing=doing,
                )
                device.owned[binary] = "aclrtBinaryUnLoad"
                self._loaded.append((device, binary))
                try:
                    function = device.result(
                        "aclrtBinaryGetFunction",
                        binary,
                        self.symbol.encode(),
                        last=True,
                        doing=doing,
                    )
                except KernelError:
                    self._loaded.pop()
                    device.release(binary)
                    raise
                found = self.handles[device] = ctypes.c_void_p(function)
        return found

    def __del__(self) -> None:
        for device, binary in getattr(self, "_loaded", ()):
            device.garbage.append(binary)

    # -- for messages

    def describe(self, blocks: int) -> str:
        """A launch in words."""
        return f"{self.trace.name} on {blocks} block{'s' * (blocks != 1)}"

    def table(self, values: tuple[Any, ...]) -> str:
        """The arguments of a launch as a table."""
        from tabulate import tabulate

        rows = [
            (p.name, p.type.cpp, _shown(value))
            for p, value in zip(self.trace.params, values, strict=True)
        ]
        return tabulate(rows, headers=("argument", "type", "value"), disable_numparse=True)


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)} of the host"
    place = on_device(value)
    if place is not None:
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)} on {place}"
    return str(value.item()) if isinstance(value, np.generic) else repr(value)


def _resident(trace: Trace, binary: Binary) -> int:
    """How many blocks may wait for one another; 0 where none do."""
    meets = any(isinstance(n, Op) and n.spec.extra.get("meets") for n in trace.walk())
    if not meets:
        return 0
    return int(trace.chip.cube_cores if binary.kind.cube else trace.chip.vector_cores)


# -- launching ------------------------------------------------------------------------------------


def launch(
    program: NpuProgram, values: tuple[Any, ...], blocks: int, stream: Any, params: Any = None
) -> LaunchInfo:
    """Launch on a stream; returns at once unless host arrays wait for results.

    `params`, those of the simulator, mean nothing here.
    """
    device = THREAD.device
    quick = program.quick
    if stream is None and device is not None and quick is not None:
        queue = THREAD.stream or device.default
        handle = program.handles.get(device)
        if (
            handle is not None
            and queue is not None
            and queue.device is device
            and device.fault is None
            and blocks <= (program.limit or device.limit)
            and knobs.read(_BLOCKING) is None
        ):
            try:
                block = quick(values, device)
            except (AttributeError, struct.error, OverflowError, TypeError):
                block = None  # the slow way says what is wrong
            if block is not None:
                status = device.launch(
                    handle, blocks, queue.pointer, program.config, block, program.size, None, _NONE
                )
                if status in _ELSEWHERE:
                    # Another library has changed this thread's device: choose it again.
                    return _slow(program, values, blocks, stream)
                if status:
                    raise _not_launched(program, values, blocks, device, status)
                pending = queue.pending
                pending.append((program, blocks, values, None))
                if not len(pending) % REMEMBERED:
                    queue.trim()
                return program.infos.get(blocks) or program.info(blocks)
    return _slow(program, values, blocks, stream)


def _not_launched(
    program: NpuProgram, values: tuple[Any, ...], blocks: int, device: Device, status: int
) -> KernelError:
    problem = failure(device.acl, _LAUNCH, status, f"launching {program.describe(blocks)}")
    problem.tell(table=program.table(values))
    return device.noted(problem)


def _slow(program: NpuProgram, values: tuple[Any, ...], blocks: int, stream: Any) -> LaunchInfo:
    prepared = Prepared(program, values, blocks, stream)
    try:
        prepared.enqueue()
        if prepared.results or knobs.LAUNCH_BLOCKING.get():
            prepared.queue.synchronize()
            prepared.copy_back()
    except BaseException:
        prepared.drop(quietly=True)
        raise
    prepared.finish()
    return program.info(blocks)


class Prepared:
    """A launch with everything in place: device chosen, host arrays copied, the block packed."""

    def __init__(
        self, program: NpuProgram, values: tuple[Any, ...], blocks: int, stream: Any
    ) -> None:
        self.program = program
        self.values = values
        self.blocks = blocks
        self.device = device = _device_of(program, values, stream)
        device.check()
        device.use()
        _check_chip(program, device)
        _check_grid(program, device, blocks)
        self.handle = program.handles.get(device) or program.load(device)
        self.staged: list[DeviceArray] = []
        #: (host array, its address on the device) of what the kernel writes.
        self.results: list[tuple[Any, int]] = []
        tensors = [values[k] for k in program.pointers if is_torch(values[k])]
        self.queue, theirs = _stream_of(stream, device, tensors)
        #: Torch orders the memory of its own tensors on its own streams.
        self.remember = not (theirs and len(tensors) == len(program.pointers))
        self._done = False
        try:
            addresses = self._addresses()
            sync = device.sync_address if program.binary.sync_address else 0
            self.block = pack_block(program.trace.name, program.layout, values, addresses, sync)
        except BaseException:
            self.drop(quietly=True)
            raise

    def _addresses(self) -> dict[int, int]:
        program, found, host = self.program, {}, list[Extent]()
        for k in program.pointers:
            value, name = self.values[k], program.trace.params[k].name
            if isinstance(value, np.ndarray):
                if k in program.written and not value.flags.writeable:
                    raise refuse(
                        program.trace.name,
                        name,
                        "the kernel writes to it, but the array is read-only",
                        "pass a writable array, such as a copy",
                    )
                host.append(Extent(value.ctypes.data, value.nbytes, k))
            elif is_torch(value):
                found[k] = int(value.data_ptr())
            elif value.pointer is None:
                raise refuse(
                    program.trace.name, name, "the device array was freed", "make it again"
                )
            else:
                found[k] = value.pointer
        self._stage(host, found)
        return found

    def _stage(self, host: list[Extent], found: dict[int, int]) -> None:
        """Copy host arrays to the device; those that overlap on the host overlap there too."""
        written = self.program.written
        doing = f"launching {self.program.describe(self.blocks)}"
        for start, stop, group in overlapping(host):
            try:
                buffer = DeviceArray((stop - start,), np.uint8, self.device.id)
            except AclError as problem:
                problem.tell(doing, self.program.table(self.values))
                raise
            self.staged.append(buffer)
            base = buffer.pointer or 0
            for address, nbytes, k in group:
                found[k] = base + address - start
                if nbytes:
                    copy(self.device, found[k], address, nbytes, HOST_TO_DEVICE, doing)
                    if k in written:
                        self.results.append((self.values[k], found[k]))

    def enqueue(self) -> None:
        """Launch."""
        program, queue, block = self.program, self.queue, self.block
        config, size = program.config, program.size
        # The runtime copies the block before it returns.
        status = self.device.launch(
            self.handle, self.blocks, queue.pointer, config, block, size, None, _NONE
        )
        if status:
            raise _not_launched(program, self.values, self.blocks, self.device, status)
        if self.remember or self.staged:
            queue.pending.append((program, self.blocks, self.values, self.staged))
            if not len(queue.pending) % REMEMBERED:
                queue.trim()
        else:
            # Nobody tells when it has run, so its binary stays.
            self.device.kept.add(program)

    def copy_back(self) -> None:
        """Fetch what the kernel wrote; on an error no host array has changed."""
        doing = f"fetching the results of {self.program.trace.name}"
        # All of them come first where there are several.
        alone = len(self.results) == 1
        fetched = []
        for array, address in self.results:
            target = array if alone else np.empty_like(array)
            copy(self.device, target.ctypes.data, address, array.nbytes, DEVICE_TO_HOST, doing)
            fetched.append((array, target))
        if not alone:
            for array, target in fetched:
                array[...] = target
        self._done = True

    def finish(self) -> None:
        """Free what was staged, if it is no longer in use; else the stream keeps it."""
        if self._done:
            self.drop()

    def drop(self, quietly: bool = False) -> None:
        """Free what was staged. After an error that is left to the end where it fails too."""
        if self.device.fault is not None or (quietly and self.queue_is_busy()):
            return
        for buffer in self.staged:
            pointer, buffer.pointer = buffer.pointer, None
            if pointer is None:
                continue
            try:
                self.device.release(pointer)
            except KernelError:
                if not quietly:
                    raise
        self.staged = []

    def queue_is_busy(self) -> bool:
        """Whether the launch may still use what was staged."""
        return any(item[3] is self.staged for item in list(self.queue.pending))


def _device_of(program: NpuProgram, values: tuple[Any, ...], stream: Any) -> Device:
    """The device that has the arrays, else that of the stream, else the chosen one."""
    found: dict[int, str] = {}
    for k in program.pointers:
        place = on_device(values[k])
        if place is not None:
            found.setdefault(int(place.partition(":")[2] or 0), program.trace.params[k].name)
    number = stream.device.id if isinstance(stream, Stream) else _device_index(stream)
    if number is not None:
        found.setdefault(number, "the stream")
    if len(found) > 1:
        places = ", ".join(f"{name} on device {number}" for number, name in found.items())
        raise error(
            "AT0113",
            f"the arguments of {program.trace.name} are on several devices: {places}",
            hint="a launch uses one device: move the arrays there, and use a stream of it",
        )
    for k in program.pointers:
        value = values[k]
        if isinstance(value, DeviceArray):
            return value.device
    if isinstance(stream, Stream):
        return stream.device
    return session().device(next(iter(found), platform.device_number(program.device_id)))


def _device_index(stream: Any) -> int | None:
    """The device of a stream of torch, if it tells."""
    index = getattr(stream, "device_index", None)
    return index if type(index) is int else None


def _stream_of(stream: Any, device: Device, tensors: list[Any]) -> tuple[Stream, bool]:
    """The stream to launch on, and whether it is one of torch's."""
    if stream is None and not tensors:
        return current_stream(device.id), False
    if isinstance(stream, Stream):
        return stream, False
    if type(stream) is int:
        return device.external_stream(stream), False
    theirs = stream
    if stream is None:
        npu = getattr(sys.modules.get("torch_npu"), "npu", None)
        if npu is None or THREAD.stream is not None:
            return current_stream(device.id), False
        theirs = npu.current_stream(device.id)
    # Asked for once, at each launch: the asking makes torch hand over what it still holds back.
    handle = getattr(theirs, "npu_stream", None)
    if handle is None:
        raise error(
            "AT0113",
            f"{stream!r} is no stream",
            hint="kernel[blocks, stream]: an asctrace.npu.Stream, a stream of torch_npu, or the "
            "address of an aclrtStream",
        )
    if stream is not None:
        for tensor in tensors:
            tensor.record_stream(theirs)
    return device.external_stream(int(handle)), True


def _check_grid(program: NpuProgram, device: Device, blocks: int) -> None:
    most = device.max_blocks(MAX_BLOCKS)
    if blocks > most:
        raise error(
            "AT0108",
            f"a grid of {blocks} blocks is too large for device {device.id}",
            hint=f"it takes up to {most} blocks: let each do more",
        )
    if program.limit and blocks > program.limit:
        raise error(
            "AT0212",
            f"{program.trace.name} waits for all of its {blocks} blocks at once, but "
            f"{program.trace.chip.name} has {program.limit} cores for them",
            hint=f"launch at most {program.limit} blocks, or drop the barrier between blocks",
        )


def _check_chip(program: NpuProgram, device: Device) -> None:
    """AT0304 when the kernel was made for another architecture than the device has."""
    if device in program.handles:
        return
    from .soc import profile

    name = device.acl.text("aclrtGetSocName")
    try:
        there = profile(name)
    except KernelError:
        return  # nobody knows the chip, so nothing is known against it
    if there.arch != program.trace.chip.arch:
        raise error(
            "AT0304",
            f"{program.trace.name} is made for {program.trace.chip.name} (architecture "
            f"{program.trace.chip.arch}), device {device.id} is an {there.name} ({there.arch})",
            hint=f'asc.set_platform(soc="{there.name}"), or ASCTRACE_SOC={there.name}',
        )


# -- measuring ------------------------------------------------------------------------------------


def profile(
    program: NpuProgram,
    values: tuple[Any, ...],
    blocks: int,
    stream: Any,
    runs: int,
    warmup: int,
) -> Profile:
    """Time launches by events of the device; host arrays are not changed."""
    prepared = Prepared(program, values, blocks, stream)
    marks: list[Event] = []
    try:
        for _ in range(warmup):
            prepared.enqueue()
        marks = [Event(prepared.device.id) for _ in range(runs + 1)]
        for mark in marks[:1]:
            mark.record(prepared.queue)
        for mark in marks[1:]:
            prepared.enqueue()
            mark.record(prepared.queue)
        prepared.queue.synchronize()
        times = tuple(a.elapsed_ms(b) for a, b in pairwise(marks))
    except BaseException:
        prepared.drop(quietly=True)
        raise
    prepared.drop()
    for mark in marks:
        mark.close()
    return Profile(program.trace.name, blocks, times)
