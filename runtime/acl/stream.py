"""Streams and events. A stream keeps what its launches use alive until they have run.

May import `device`.
"""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeAlias

from .. import knobs
from .device import THREAD, Device, session
from .errors import AclError, failure
from .prototypes import (
    EVENT_COMPLETE,
    EVENT_SYNC,
    EVENT_TIME_LINE,
    STOP_ON_FAILURE,
    STREAM_COMPLETE,
    SUCCESS,
)

if TYPE_CHECKING:
    from ..launcher import NpuProgram

#: What a launch leaves behind until it has run: the program, its blocks and arguments, and what
#: else must stay.
Launched: TypeAlias = "tuple[NpuProgram, int, tuple[Any, ...], Any]"

#: A stream remembers at most about twice so many launches; then it waits for the older half.
REMEMBERED = 512


class Stream:
    """A queue of work on a device, in order: `kernel[8, stream](...)` adds to it.

    `Stream()` makes one on the current device, `Stream(device_id, handle)` wraps one of another
    library. `handle` is the `aclrtStream`, `pointer` the same for calls.
    """

    def __init__(self, device_id: int | None = None, handle: int | None = None) -> None:
        self.device: Device = session().device(device_id)
        self.device.use()
        #: What was launched and may not have run, oldest first.
        self.pending: deque[Launched] = deque()
        self._lock = threading.Lock()
        self._mark: tuple[Event, int] | None = None
        self._owned = handle is None
        self.handle: int = self._make() if handle is None else int(handle)
        self.pointer = ctypes.c_void_p(self.handle)
        with self.device.lock:
            if self._owned:
                self.device.own_streams.add(self)
            else:
                self.device.streams[self.handle] = self

    def _make(self) -> int:
        device = self.device
        handle: int = device.result("aclrtCreateStream")
        device.owned[handle] = "aclrtDestroyStream"
        if device.acl.has("aclrtSetStreamFailureMode"):
            try:
                device.call("aclrtSetStreamFailureMode", handle, STOP_ON_FAILURE)
            except AclError:
                device.release(handle)
                raise
        return handle

    # -- waiting

    def synchronize(self) -> None:
        """Wait until everything added so far has run.

        A fault of a kernel comes out here: `AclError`. `ASCTRACE_SYNC_TIMEOUT` bounds the time.
        """
        device = self.device
        device.check()
        if THREAD.device is not device:
            device.use()
        with self._lock:
            count = len(self.pending)
            timeout = knobs.SYNC_TIMEOUT.get()
            if timeout:
                name = "aclrtSynchronizeStreamWithTimeout"
                status = device.acl.aclrtSynchronizeStreamWithTimeout(self.handle, timeout * 1000)
            else:
                name = "aclrtSynchronizeStream"
                status = device.acl.aclrtSynchronizeStream(self.handle)
            if status != SUCCESS:
                problem = failure(device.acl, name, status)
                self.tell(problem)
                raise device.noted(problem)
            self._forget(count)

    def query(self) -> bool:
        """Whether everything added so far has run."""
        self.device.use()
        return bool(
            self.device.result("aclrtStreamQuery", self.handle, last=True) == STREAM_COMPLETE
        )

    def wait(self, event: Event) -> None:
        """Let what is added from now on wait for an event of any stream."""
        self.device.use()
        self.device.call("aclrtStreamWaitEvent", self.handle, event.handle)

    def record(self, event: Event | None = None) -> Event:
        """Add an event, a new one by default, that happens when all before it has run."""
        event = event or Event(self.device.id)
        event.record(self)
        return event

    # -- what is running

    def trim(self) -> None:
        """Forget launches that have run; waits for the older half when there are too many."""
        with self._lock:
            if self._mark is not None:
                event, count = self._mark
                self._mark = None
                try:
                    event.synchronize()
                except AclError as problem:
                    self.tell(problem)
                    raise
                event.close()
                self._forget(count)
            self._mark = (self.record(), len(self.pending))

    def forget(self, count: int) -> None:
        """Drop the `count` oldest launches: they have run."""
        with self._lock:
            self._forget(count)

    def _forget(self, count: int) -> None:
        for _ in range(min(count, len(self.pending))):
            self.pending.popleft()
        if self._mark is not None:
            event, marked = self._mark
            self._mark = (event, max(0, marked - count))

    def launched(self, symbol: str) -> bool:
        """Whether a kernel is among the launches that may not have run."""
        return any(one[0].symbol == symbol for one in list(self.pending))

    def tell(self, problem: AclError) -> None:
        """Add to an error of waiting the launches that it may come from."""
        pending = list(self.pending)
        if not pending:
            return
        program, blocks, values, _ = next(
            (one for one in reversed(pending) if one[0].symbol == problem.named), pending[-1]
        )
        doing = f"waiting for {program.describe(blocks)}"
        if len(pending) > 1:
            doing += (
                f", or another of {len(pending)} launches; ASCTRACE_LAUNCH_BLOCKING=1 tells which"
            )
        problem.tell(doing, program.table(values))

    # -- the end

    def close(self) -> None:
        """Wait, then destroy the stream, unless it belongs to another library."""
        device = self.device
        if self._owned and self.handle in device.owned:
            if device.fault is None:
                self.synchronize()
            device.use()
            device.release(self.handle)
            self._owned = False
        device.streams.pop(self.handle, None)

    def __enter__(self) -> Stream:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_owned", False) and hasattr(self, "handle"):
            self.device.garbage.append(self.handle)

    def __repr__(self) -> str:
        return f"<asctrace stream {self.handle:#x} of device {self.device.id}>"


class Event:
    """A point in a stream: waited for, asked for, or timed against another."""

    def __init__(self, device_id: int | None = None) -> None:
        self._closed = False
        self.device: Device = session().device(device_id)
        self.device.use()
        self.handle: int = self.device.result(
            "aclrtCreateEventWithFlag", EVENT_SYNC | EVENT_TIME_LINE
        )
        self.device.owned[self.handle] = "aclrtDestroyEvent"

    def record(self, stream: Stream | None = None) -> None:
        """Let the event happen when everything added to a stream so far has run."""
        self.device.use()
        target = stream or current_stream(self.device.id)
        self.device.call("aclrtRecordEvent", self.handle, target.handle)

    def synchronize(self) -> None:
        """Wait for the event."""
        self.device.use()
        self.device.call("aclrtSynchronizeEvent", self.handle)

    def query(self) -> bool:
        """Whether the event has happened."""
        self.device.use()
        status = self.device.result("aclrtQueryEventStatus", self.handle, last=True)
        return bool(status == EVENT_COMPLETE)

    def elapsed_ms(self, end: Event) -> float:
        """Milliseconds from this event to a later one of the same stream; both have happened."""
        self.device.use()
        return float(self.device.result("aclrtEventElapsedTime", self.handle, end.handle))

    def close(self) -> None:
        """Destroy the event."""
        self.device.use()
        self.device.release(self.handle)
        self._closed = True

    def __del__(self) -> None:
        # A closed handle may be another's by now.
        if hasattr(self, "handle") and not self._closed:
            self.device.garbage.append(self.handle)


def current_stream(device_id: int | None = None) -> Stream:
    """The stream of launches that name none: that of `with stream(...)`, else the device's."""
    found = THREAD.stream
    device = session().device(device_id)
    if found is not None and found.device is device:
        return found
    return device.default_stream()


@contextmanager
def stream(chosen: Stream) -> Iterator[Stream]:
    """Make a stream the current one of this thread."""
    before, THREAD.stream = THREAD.stream, chosen
    try:
        yield chosen
    finally:
        THREAD.stream = before


def synchronize(device_id: int | None = None) -> None:
    """Wait for all work of a device."""
    device = session().device(device_id)
    device.check()
    device.synchronize()
