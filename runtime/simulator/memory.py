"""The memories of a core and of the host, and the run-time form of tensors and addresses.

Run-time values are tuples, for speed; the static type (dtype, position) is known from the trace:

- address of global memory: `(gm, offset)`, bytes from the start of the array;
- `GlobalTensor`: `(gm, start, end)`, bytes; `end` is the smaller of the array's and the view's end;
- `LocalTensor`: `(address, room, hold)`, bytes; `hold` is shared by all views of one allocation:
  `[state, queue, address, op, token]` with the operation that brought it into the state, and the
  engine's token for whoever takes it on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ...tracer.chip import BLOCK_BYTES as BLOCK_BYTES
from ...tracer.diagnostics import KernelError, error
from ...tracer.trace import Op, describe
from .written import Written

if TYPE_CHECKING:
    from .shadow import Shadow

#: States of a hold. Only HELD is true: the tensor may be used.
HELD: Final = 1
QUEUED: Final = 0
FREED: Final = None

Hold: TypeAlias = "list[Any]"
LocalView: TypeAlias = "tuple[int, int, Hold]"
GlobalView: TypeAlias = "tuple[GlobalMemory, int, int]"

#: The repeated 16-bit pattern of memory that was never written: NaN in every float type, and large
#: in every integer type wider than a byte.
POISON = 0x7FFF


class Memory:
    """One physical on-chip memory: bytes, and which of them the block has written.

    `written` knows what was written since its buffer was allocated (None: nobody asks). `high` is
    the end of the extent in use, so that starting a block poisons no more than that; `next` is
    where the next queue buffer goes; `shadow` notes the accesses when races are sought.
    """

    __slots__ = ("array", "bytes", "high", "name", "next", "shadow", "size", "written")

    def __init__(
        self, name: str, size: int, track_written: bool, shadow: Shadow | None = None
    ) -> None:
        self.name = name
        self.size = size
        self.array: npt.NDArray[np.uint8] = np.full(size // 2, POISON, np.uint16).view(np.uint8)
        self.bytes = self.array.data
        self.written = Written(size) if track_written else None
        self.shadow = shadow
        self.high = 0
        self.next = 0

    def reset(self) -> None:
        """Fresh memory for the next block."""
        self.array[: self.high].view(np.uint16)[:] = POISON
        if self.written is not None:
            self.written.clear(self.high)
        self.high = self.next = 0

    def use(self, start: int, stop: int) -> None:
        """Note that the bytes from `start` to `stop` may be written."""
        if stop > self.high:
            self.high = (stop + BLOCK_BYTES - 1) // BLOCK_BYTES * BLOCK_BYTES

    def first_unwritten(self, start: int, stop: int) -> int | None:
        """Address of the first byte of a range that was not written."""
        return None if self.written is None else self.written.missing(start, stop)

    def mark(self, start: int, stop: int) -> None:
        """Note that a range has been written."""
        if self.written is not None:
            self.written.add(start, stop)

    def forget(self, start: int, stop: int) -> None:
        """A range changes hands: what is there is garbage to its new owner."""
        if self.written is not None:
            self.written.discard(start, stop)


class Space:
    """Arrays that share bytes, as one stretch of global memory.

    `base` is its address on a device that exists nowhere: the same in each run.
    """

    __slots__ = ("base", "bytes", "name", "tracked")

    def __init__(self, name: str, data: memoryview, base: int, tracked: bool) -> None:
        self.name = name
        self.bytes = data
        self.base = base
        self.tracked = tracked


class GlobalMemory:
    """An array argument: its parameter's name, its bytes, and its address in its space."""

    __slots__ = ("base", "bytes", "name", "nbytes", "space")

    def __init__(
        self, name: str, data: memoryview, space: Space | None = None, at: int = 0
    ) -> None:
        self.name = name
        self.bytes = data
        self.nbytes = len(data)
        self.space = space or Space(name, data, 0, False)
        self.base = self.space.base + at


#: What a `GlobalTensor` is before `set_global_buffer`.
UNBOUND: Final = (GlobalMemory("", memoryview(b"")), 0, 0)

_STATE = {QUEUED: ("is enqueued", "enqueued here"), FREED: ("has been freed", "freed here")}


def local_fault(
    op: Op, which: int, tensor: LocalView, need: int, align: int = BLOCK_BYTES
) -> KernelError | None:
    """What is wrong with an access to the first `need` bytes of a local operand, if anything."""
    value = op.args[which]
    role = "reads" if op.form.params[which].role == "in" else "writes"
    address, room, hold = tensor
    if not hold[0]:
        return held_fault(op, value, role, hold)
    size = value.type.dtype.sizeof()
    if need > room:
        return error(
            "AT0201",
            f"{op.spec.name} {role} elements 0 to {need // size - 1} of {describe(value)}, "
            f"which has {max(room, 0) // size}",
            op.site,
            hint="make the access shorter or the buffer larger",
        )
    if address % align:
        return error(
            "AT0103",
            f"{op.spec.name} {role} {describe(value)} at address {address}, "
            f"{address % align} bytes past a multiple of {align}",
            op.site,
            hint=f"start at a multiple of {align // size} elements of {value.type.dtype}",
        )
    return None


def held_fault(op: Op, value: Any, verb: str, hold: Hold) -> KernelError:
    """The error of an access to a tensor that its owner has given away."""
    text, note = _STATE[hold[0]]
    return error(
        "AT0202",
        f"{op.spec.name} {verb} {describe(value)}, which {text}",
        op.site,
        notes=[(note, hold[3].site)],
        hint="a tensor is the owner's from alloc_tensor or deque to enque or free_tensor",
    )


def global_fault(op: Op, which: int, tensor: GlobalView, start: int, stop: int) -> KernelError:
    """The error of an access to the bytes `start` to `stop` of an array."""
    value = op.args[which]
    role = "writes" if op.form.params[which].role == "out" else "reads"
    memory, _, end = tensor
    if not memory.name:
        return error(
            "AT0201",
            f"{op.spec.name} {role} {describe(value)}, which has no buffer",
            op.site,
            hint="call set_global_buffer on every path that leads here",
        )
    size = value.type.dtype.sizeof()
    span = f"elements {start // size} to {stop // size - 1}"
    if start >= 0 and stop <= memory.nbytes:
        return error(
            "AT0201",
            f"{op.spec.name} {role} {span} of parameter `{memory.name}`, but the view "
            f"{describe(value)} ends at element {end // size}",
            op.site,
            hint="the size of the view comes from set_global_buffer or from a slice",
        )
    return error(
        "AT0201",
        f"{op.spec.name} {role} {span} of parameter `{memory.name}`, "
        f"which has {memory.nbytes // size} elements of {value.type.dtype}",
        op.site,
        hint="the last tile of the last block is the usual suspect",
    )


def unwritten_fault(op: Op, which: int, address: int, base: int) -> KernelError:
    """The error of a read of memory that the block never wrote."""
    value = op.args[which]
    element = (address - base) // value.type.dtype.sizeof()
    return error(
        "AT0203",
        f"{op.spec.name} reads element {element} of {describe(value)}, which was never written",
        op.site,
        hint="copy or compute into the tensor first; a fresh tensor holds garbage, in a used "
        "buffer too",
    )
