"""Runs compiled kernels over a grid: block after block, or side by side when blocks wait.

Blocks that wait for one another are those of the simulator (`meeting.Team`), which decides who goes
on. The kernel of each runs in a thread of its own, and one thread runs at a time.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np

from asctrace.lowering.layout import argument_layout
from asctrace.runtime.simulator.arguments import arguments
from asctrace.runtime.simulator.meeting import Seat, Team, Wait
from asctrace.runtime.simulator.memory import GlobalMemory
from asctrace.runtime.simulator.params import SimParams
from asctrace.runtime.simulator.program import block_order
from asctrace.tracer.diagnostics import error
from asctrace.tracer.language.dtypes import DataType
from asctrace.tracer.language.types import GlobalPointerType, StructType
from asctrace.tracer.trace import Trace

from .calls import Arrays, Calls, Operand

Entry = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_int32,
    ctypes.c_int32,
    ctypes.POINTER(Operand),
    ctypes.POINTER(Operand),
)

#: A compiled kernel: takes the argument block, gives how it ended.
Kernel = Callable[[bytes], int]


class Machine:
    """Runs a compiled kernel. `trace` gives the chip and the parameters' types only."""

    def __init__(self, trace: Trace, args: Sequence[Any], params: SimParams | None = None) -> None:
        self._trace = trace
        self._params = params or SimParams()
        self._arrays = Arrays(self._place(trace, args))
        #: The core that the kernel that runs now is on.
        self.calls = Calls(trace, self._arrays, self._params)
        self.entry = Entry(self._enter)

    def _place(self, trace: Trace, args: Sequence[Any]) -> list[tuple[int, int, GlobalMemory]]:
        """Address, bytes and memory of the arrays."""
        arrays = [k for k, arg in enumerate(args) if isinstance(arg, np.ndarray)]
        written = frozenset(k for k in arrays if args[k].flags.writeable)
        values = arguments(trace, written, args)
        return [(args[k].ctypes.data, args[k].nbytes, values[k][0]) for k in arrays]

    def _enter(self, number: int, count: int, given: Any, result: Any) -> int:
        return self.calls.enter(number, given, result)

    def run(self, kernel: Kernel, block: bytes, blocks: int, meets: bool = False) -> None:
        """Run the kernel's blocks; raises what a call raised. `meets`: blocks may wait."""
        with np.errstate(all="ignore"):
            if meets:
                self._run_side_by_side(kernel, block, blocks)
                return
            core = self.calls.core
            core.begin_run()
            for index in block_order(blocks, self._params):
                self.calls.begin_block(index, blocks)
                check(kernel(block), self.calls)
                core.end_block()

    def _run_side_by_side(self, kernel: Kernel, block: bytes, blocks: int) -> None:
        free = [self.calls]

        def seat(leader: Any) -> Seat:
            core = leader and leader.core
            calls = free.pop() if free else Calls(self._trace, self._arrays, self._params, core)
            return _Seat(self, calls, kernel, block)

        team = Team(seat, self._trace.chip.vector_cores, self._params)
        team.run(self._arrays.values, blocks)


class Undefined(Exception):
    """The text does something whose result C++ does not define."""


def check(status: int, calls: Calls) -> None:
    """Raise what ended a kernel that did not come to its end."""
    if status == 1:
        assert calls.error is not None
        raise calls.error
    if status == 3:
        raise Undefined("a float too large for an integer, or the smallest integer divided by -1")
    if status == 4:
        raise AssertionError("the text divides by zero")
    if status == 2:
        raise error("AT0205", "the kernel's own check stopped it", hint="a trap in the text")


class _Seat:
    """A core, and the kernel as a generator of what it waits for."""

    def __init__(self, machine: Machine, calls: Calls, kernel: Kernel, block: bytes) -> None:
        self._machine = machine
        self._calls = calls
        self._kernel = kernel
        self._block = block
        self.core = calls.core

    def block(
        self, left: int, index: int, blocks: int, *values: Any
    ) -> Generator[Any, int, tuple[int, int]]:
        """The program of one block, for `Team`."""
        calls = self._calls
        calls.begin_objects(index, blocks)
        thread = _Thread(lambda: self._kernel(self._block))
        calls.wait = thread.pause
        try:
            while True:
                self._machine.calls = calls
                wait = thread.go_on()
                if wait is None:
                    break
                left = yield left, wait
        finally:
            thread.stop()
        check(thread.status, calls)
        return 0, left


class _Stopped(BaseException):
    """Nobody wants the rest of a kernel."""


class _Thread:
    """A kernel that runs until it has to wait, or to its end, while whoever started it stands."""

    def __init__(self, kernel: Callable[[], int]) -> None:
        self.status = 0
        self._kernel = kernel
        self._waits: Wait | None = None
        self._stops = False
        self._go = threading.Semaphore(0)
        self._stands = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._main, daemon=True)
        self._thread.start()

    def _main(self) -> None:
        self._go.acquire()
        if not self._stops:
            with np.errstate(all="ignore"):
                self.status = self._kernel()
        self._waits = None
        self._stands.release()

    def pause(self, wait: Wait) -> int:
        """The kernel waits; the budget that it gets when it goes on."""
        self._waits = wait
        self._stands.release()
        self._go.acquire()
        if self._stops:
            raise _Stopped
        return 0

    def go_on(self) -> Wait | None:
        """Let the kernel run; what it waits for, None at its end."""
        self._go.release()
        self._stands.acquire()
        return self._waits

    def stop(self) -> None:
        """End the thread: at its end, or where it waits."""
        self._stops = True
        self._go.release()
        self._thread.join()


# -- arguments ------------------------------------------------------------------------------------


def pack(trace: Trace, args: Sequence[Any]) -> bytes:
    """The argument block, laid out as for a launch; C++ finds the arguments by itself."""
    out = bytearray()
    for slot, arg in zip(argument_layout(trace).slots, args, strict=True):
        if isinstance(slot.type, GlobalPointerType):
            data = arg.ctypes.data.to_bytes(8, "little")
        elif isinstance(slot.type, StructType):
            data = arg.pack()
        else:
            assert isinstance(slot.type, DataType)
            data = np.array(arg).astype(slot.type.np).tobytes()
        out += bytes(slot.offset - len(out)) + data
    return bytes(out)
