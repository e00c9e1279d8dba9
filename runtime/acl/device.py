"""The process's use of the ACL runtime: who started it, devices, threads, what is to be freed.

Others in the process (torch_npu) may use the same runtime: what they started is never stopped here.
May import `library`, `errors`, `prototypes`.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any

from ...tracer.diagnostics import KernelError, error
from .. import platform
from . import library
from .errors import AclError, failure, refused
from .prototypes import HBM, HUGE_FIRST, MAX_BLOCKS_ATTRIBUTE, SUCCESS

if TYPE_CHECKING:
    from .stream import Stream

#: Codes that are no failure: started before, stopped before, no context in this thread, and what
#: an older driver does not know.
REPEATED_INIT, REPEATED_FINALIZE, NO_CONTEXT, NOT_SUPPORTED = 100002, 100037, 107002, 207000
OUT_OF_MEMORY = (200000, 207001, 207018)

#: In which order what is left is destroyed.
_ORDER = ("aclrtDestroyEvent", "aclrtDestroyStream", "aclrtFree", "aclrtBinaryUnLoad")


class _Thread(threading.local):
    """What a thread uses: the device it was set to, and the stream of `with npu.stream(...)`."""

    device: Device | None = None
    stream: Stream | None = None


THREAD = _Thread()


class Session:
    """The started runtime and the devices used. One a process, from `session()`."""

    def __init__(self) -> None:
        self.acl = library.load()
        status = self.acl.aclInit(None)
        if status not in (SUCCESS, REPEATED_INIT):
            raise failure(self.acl, "aclInit", status)
        #: Whether stopping the runtime is up to us.
        self.owned = status == SUCCESS
        self.devices: dict[int, Device] = {}
        self._lock = threading.Lock()

    def device(self, device_id: int | None = None) -> Device:
        """A device; None for the one that `set_platform` or the environment chooses."""
        if device_id is None:
            device_id = platform.device_number(None)
        found = self.devices.get(device_id)
        if found is None:
            with self._lock:
                found = self.devices.setdefault(device_id, Device(self, device_id))
        return found

    def close(self) -> None:
        """Free everything, give back the devices, stop the runtime if it was started here.

        Goes on after errors and raises the first of them.
        """
        errors: list[AclError] = []
        for device in self.devices.values():
            device.close(errors)
        if self.owned:
            self.owned = False
            if self.acl.has("aclFinalizeReference"):
                _attempt(self.acl, errors, "aclFinalizeReference", None)
            else:
                _attempt(self.acl, errors, "aclFinalize")
        if errors:
            raise errors[0]


def _attempt(acl: library.Acl, errors: list[AclError], name: str, *args: Any) -> bool:
    """Call a function, once more when it fails; notes errors, says whether it worked at last."""
    stopped = name in ("aclFinalize", "aclFinalizeReference")
    for _ in range(2):
        status = getattr(acl, name)(*args)
        if status == SUCCESS or (stopped and status == REPEATED_FINALIZE):
            return True
        errors.append(failure(acl, name, status))
    return False


class Device:
    """One NPU: calls that concern it, its memory, what it has loaded."""

    def __init__(self, session: Session, device_id: int) -> None:
        self.id = device_id
        self.acl = session.acl
        #: Launches are frequent. Its numbers and addresses are objects of ctypes, but the blocks.
        self.launch = session.acl.unconverted("aclrtLaunchKernelWithHostArgs")
        #: The first error after which the device takes no more work.
        self.fault: AclError | None = None
        #: Handles that are ours to destroy, and by which function.
        self.owned: dict[int, str] = {}
        #: Handles whose owner is gone. Finalizers only append: they run in any thread.
        self.garbage: deque[int] = deque()
        #: Wrapped streams of other libraries by handle, and our own as long as somebody has them.
        self.streams: dict[int, Stream] = {}
        self.own_streams: weakref.WeakSet[Stream] = weakref.WeakSet()
        #: Programs that are never unloaded.
        self.kept: set[Any] = set()
        self.lock = threading.RLock()
        self.closed = False
        #: Largest grid, once asked for.
        self.limit = 0
        self._sets = 0
        self.default: Stream | None = None
        self._sync_address: int | None = None

    # -- calls

    def call(self, name: str, *args: Any, doing: str = "") -> None:
        """Call a function in this device's context; notes a fault, raises `AclError`."""
        try:
            self.acl.call(name, *args, doing=doing)
        except AclError as problem:
            raise self.noted(problem) from None

    def result(self, name: str, *args: Any, last: bool = False, doing: str = "") -> Any:
        """The same, for a function that gives a result through a pointer."""
        try:
            return self.acl.result(name, *args, last=last, doing=doing)
        except AclError as problem:
            raise self.noted(problem) from None

    def noted(self, problem: AclError) -> KernelError:
        """Remember the first fault; what follows from it is told as that."""
        if not problem.fault:
            return problem
        if self.fault is not None:
            return refused(self.fault, self.id)
        self.fault = problem
        return problem

    def check(self) -> None:
        """AT0603 when the device has met a fault, AT0602 when it was given back."""
        if self.fault is not None:
            raise refused(self.fault, self.id)
        if self.closed:
            raise error(
                "AT0602",
                f"this belongs to device {self.id} as it was before npu.shutdown()",
                hint="make arrays and streams afresh after npu.shutdown()",
            )

    def use(self) -> None:
        """Make this the current device of the thread, unless it is already."""
        status, context = self._context()
        if status not in (SUCCESS, NO_CONTEXT):
            raise self.noted(failure(self.acl, "aclrtGetCurrentContext", status))
        if status or not context or self.result("aclrtGetDevice") != self.id:
            self.call("aclrtSetDevice", self.id)
            self._sets += 1
        THREAD.device = self

    def _context(self) -> tuple[int, int]:
        context = ctypes.c_void_p()
        status: int = self.acl.aclrtGetCurrentContext(ctypes.byref(context))
        return status, context.value or 0

    # -- memory

    def malloc(self, size: int) -> int:
        """Allocate device memory; an error tells how much there is."""
        self.drain()
        try:
            address: int = self.result("aclrtMalloc", max(size, 1), HUGE_FIRST)
        except AclError as problem:
            if problem.status in OUT_OF_MEMORY:
                raise self._out_of_memory(problem, size) from None
            raise
        self.owned[address] = "aclrtFree"
        return address

    def _out_of_memory(self, problem: AclError, size: int) -> AclError:
        try:
            free, total = self.memory_info()
        except KernelError:
            return problem
        problem.tell(note=f"{size} bytes were asked for; {free} of the device's {total} are free")
        return problem

    def memory_info(self) -> tuple[int, int]:
        """Free and total bytes of the device's memory."""
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self.call("aclrtGetMemInfo", HBM, ctypes.byref(free), ctypes.byref(total))
        return free.value, total.value

    def release(self, handle: int) -> None:
        """Destroy a handle now; one that cannot be is tried again at the end."""
        function = self.owned.pop(handle, None)
        if function is None:
            return
        try:
            self.call(function, handle)
        except KernelError:
            self.owned[handle] = function
            raise

    def drain(self) -> None:
        """Destroy what finalizers have left. After a fault that waits for the end."""
        if not self.garbage or self.fault is not None:
            return
        self.use()
        while self.garbage:
            handle = self.garbage.popleft()
            if self.owned.get(handle) == "aclrtDestroyStream":
                # Memory that its work uses is behind it in the queue.
                self.call("aclrtSynchronizeStream", handle)
            self.release(handle)

    def synchronize(self) -> None:
        """Wait for all work of the device, that of other libraries too."""
        self.use()
        with self.lock:
            streams = [*self.streams.values(), *self.own_streams]
        counts = [len(stream.pending) for stream in streams]
        try:
            self.call("aclrtSynchronizeDevice", doing="waiting for the device")
        except AclError as problem:
            named = problem.named
            busy = [stream for stream in streams if stream.pending]
            for stream in sorted(busy, key=lambda one: not one.launched(named))[:1]:
                stream.tell(problem)
            raise
        for stream, count in zip(streams, counts, strict=True):
            stream.forget(count)

    # -- what launches need to know

    def default_stream(self) -> Stream:
        """The stream of launches that name none."""
        if self.default is None:
            from .stream import Stream

            with self.lock:
                if self.default is None:
                    self.default = Stream(self.id)
        return self.default

    def external_stream(self, handle: int) -> Stream:
        """A stream that somebody else made."""
        found = self.streams.get(handle)
        if found is None:
            from .stream import Stream

            found = Stream(self.id, handle)
        return found

    @property
    def sync_address(self) -> int:
        """The address that cores synchronise through."""
        if self._sync_address is None:
            self._sync_address = self.result("aclrtGetHardwareSyncAddr")
        return self._sync_address

    def max_blocks(self, most: int) -> int:
        """The largest grid, at most `most`."""
        if not self.limit:
            told = 0
            if self.acl.has("aclrtGetDeviceInfo"):
                try:
                    told = self.result(
                        "aclrtGetDeviceInfo", self.id, MAX_BLOCKS_ATTRIBUTE, last=True
                    )
                except AclError as problem:
                    if problem.status != NOT_SUPPORTED:
                        raise
            self.limit = told if 0 < told < most else most
        return self.limit

    # -- the end

    def close(self, errors: list[AclError]) -> None:
        """Destroy all handles and give the device back; appends errors."""
        self.closed = True
        if not self._sets and not self.owned:
            return
        found: list[AclError] = []
        # Whatever device is current: handles belong to this one.
        self._sets += _attempt(self.acl, found, "aclrtSetDevice", self.id)
        for function in _ORDER:
            for handle in [h for h, f in self.owned.items() if f == function]:
                if function == "aclrtDestroyStream" and self.fault is None:
                    _attempt(self.acl, found, "aclrtSynchronizeStream", handle)
                _attempt(self.acl, found, function, handle)
        self.owned.clear()
        self.garbage.clear()
        self.streams.clear()
        self.kept.clear()
        for _ in range(self._sets):
            _attempt(self.acl, found, "aclrtResetDevice", self.id)
        # What follows from a fault that was told is not told again.
        errors += [one for one in found if not (one.fault and self.fault)]
        self._sets = 0
        self.default = None
        THREAD.device = THREAD.stream = None


_lock = threading.RLock()
_session: Session | None = None
_forked = False


def session() -> Session:
    """The started runtime.

    Raises `KernelError`: AT0305 without a library, AT0604 in a process forked from one that used
    it, `AclError` when it does not start.
    """
    global _session
    found = _session
    if found is None:
        with _lock:
            if _forked:
                raise error(
                    "AT0604",
                    "this process was forked from one that uses the NPU, and cannot use it itself",
                    hint="start it anew instead: multiprocessing.set_start_method('spawn')",
                )
            if _session is None:
                _session = Session()
            found = _session
    return found


def shutdown() -> None:
    """Free all device memory, streams and kernels, and stop using the NPU.

    Raises the first `AclError`, after everything was tried. Done by itself at exit, silently, since
    other libraries may have stopped the runtime by then. A later launch starts it again.
    """
    global _session
    with _lock:
        found, _session = _session, None
        if found is not None:
            found.close()


def memory_info(device_id: int | None = None) -> tuple[int, int]:
    """Free and total bytes of a device's memory."""
    device = session().device(device_id)
    device.check()
    device.use()
    return device.memory_info()


def device_count() -> int:
    """How many NPUs this process may use; 0 without an ACL runtime."""
    try:
        library.load()
    except KernelError:
        return 0
    return int(session().acl.result("aclrtGetDeviceCount"))


@atexit.register
def _at_exit() -> None:
    try:
        shutdown()
    except Exception:
        # Nobody is left to tell, and the process gives everything back.
        return


def _after_fork() -> None:
    global _session, _forked
    _forked = _forked or _session is not None
    _session = None


os.register_at_fork(after_in_child=_after_fork)
