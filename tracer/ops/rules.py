"""Rules of calls that families share: how much, from where, into what.

Each function returns the error of a broken rule, or None when it holds or when only the device
knows; checks of rows raise what they find while tracing, the simulator once it knows the numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from ..chip import BLOCK_BYTES, REPEAT_BYTES, Chip
from ..diagnostics import KernelError, Site, error
from ..language.dtypes import DataType, float16, float32, int32
from ..trace import Value, describe
from .spec import OpSpec

Bytes: TypeAlias = "npt.NDArray[np.int64]"

MAX_REPEAT: Final = 255
#: Elements that the two words of a bit mask can name.
MASK_BITS: Final = 128


def lanes_of(dtype: DataType) -> int:
    """Elements in one repeat."""
    return REPEAT_BYTES // dtype.sizeof()


def not_on_chip(
    spec: OpSpec, arches: Iterable[str], chip: Chip, site: Site, what: str = ""
) -> KernelError | None:
    """A function, or `what` of it, is there on the chips that it is documented for."""
    if chip.arch in arches:
        return None
    return error(
        "AT0304",
        f"{chip.name} (architecture {chip.arch}) has no {' '.join([spec.name, what]).strip()}",
        site,
        hint=f"it is known of the architectures {', '.join(arches)}",
    )


# -- numbers --------------------------------------------------------------------------------------


def bad_count(spec: OpSpec, count: int, site: Site) -> KernelError | None:
    """A count is not negative; 0 does nothing."""
    if count >= 0:
        return None
    return error("AT0108", f"{spec.name} of {count} elements", site, hint="count from 0 up")


def bad_copy(spec: OpSpec, count: int, dtype: DataType, site: Site) -> KernelError | None:
    """Data moves in whole blocks of 32 bytes."""
    nbytes = count * dtype.sizeof()
    if nbytes % BLOCK_BYTES == 0:
        return bad_count(spec, count, site)
    return error(
        "AT0103",
        f"{spec.name} of {count} elements of {dtype} is {nbytes} bytes, "
        f"not a multiple of {BLOCK_BYTES}",
        site,
        hint=f"copy a multiple of {BLOCK_BYTES // dtype.sizeof()} elements",
    )


def bad_repeat(spec: OpSpec, repeat: int, site: Site) -> KernelError | None:
    """The number of repeats has 8 bits."""
    if 0 <= repeat <= MAX_REPEAT:
        return None
    return error(
        "AT0108",
        f"{spec.name} with {repeat} repeats",
        site,
        hint=f"repeat_times is 0 to {MAX_REPEAT}: split the call",
    )


def bad_mask(
    spec: OpSpec, mask: int, dtype: DataType, site: Site, least: int = 1
) -> KernelError | None:
    """A mask selects no more than a repeat holds, and `least` elements; 0 does nothing."""
    if least <= mask <= lanes_of(dtype):
        return None
    return error(
        "AT0108",
        f"{spec.name} with a mask of {mask} elements",
        site,
        hint=f"a mask selects {least} to {lanes_of(dtype)} elements of {dtype}",
    )


def bad_strides(spec: OpSpec, strides: Iterable[tuple[int, int]], site: Site) -> KernelError | None:
    """A stride fits its field; each comes with the largest value that it may have."""
    pairs = tuple(strides)
    most = next((limit for stride, limit in pairs if not 0 <= stride <= limit), None)
    if most is None:
        return None
    return error(
        "AT0108",
        f"{spec.name} with the strides {tuple(stride for stride, _ in pairs)}",
        site,
        hint=f"a stride is 0 to {most} blocks of {BLOCK_BYTES} bytes",
    )


def bad_step(
    spec: OpSpec, block: Any, lanes: Any, dtype: DataType, site: Site
) -> KernelError | None:
    """The blocks that a repeat writes lie apart; `lanes` are its elements."""
    per_block = BLOCK_BYTES // dtype.sizeof()
    if isinstance(block, Value) or block or lanes[0] // per_block == lanes[-1] // per_block:
        return None
    return error(
        "AT0108",
        f"{spec.name} with 0 blocks between the blocks of a repeat of dst",
        site,
        hint="the block stride of dst counts from 1 up, those of sources from 0",
    )


def bad_number(spec: OpSpec, number: Any, dtype: DataType, site: Site) -> KernelError | None:
    """A number that is an operand is in the range that the row names, if any."""
    limits = spec.extra.get("number_range")
    if limits is None:
        return None
    low, high = limits(dtype)
    if low <= number <= high:
        return None
    return error(
        "AT0108",
        f"{spec.name} of {dtype} and the number {number}",
        site,
        hint=f"for {dtype} it is {low} to {high}",
    )


# -- operands -------------------------------------------------------------------------------------


def bad_start(
    spec: OpSpec, tensor: Any, site: Site, nbytes: int = BLOCK_BYTES
) -> KernelError | None:
    """Operands begin at whole blocks, or where the row says."""
    rest = (tensor.offset or 0) % nbytes
    if not rest:
        return None
    dtype = tensor.dtype
    return error(
        "AT0103",
        f"{spec.name} on {describe(tensor)}, which begins {rest} bytes past a multiple of {nbytes}",
        site,
        hint=f"begin at a multiple of {nbytes // dtype.sizeof()} elements of {dtype}",
    )


def too_short(spec: OpSpec, tensor: Any, count: int, site: Site) -> KernelError | None:
    """An operand has all the elements from its start that a call reaches."""
    if type(tensor.size) is not int or count <= tensor.size:
        return None
    return error(
        "AT0201",
        f"{spec.name} reaches {count} elements of {describe(tensor)}, which has {tensor.size}",
        site,
        hint="make the call shorter or the buffer larger",
    )


def overlap(spec: OpSpec, dst: Any, src: Any, count: int, site: Site) -> KernelError | None:
    """A destination and a source of `count` elements are the same or apart.

    A row may allow narrower elements to be written to where the wider ones are read.
    """
    if dst.base is not src.base or dst.offset is None or src.offset is None:
        return None
    sizes = dst.dtype.sizeof(), src.dtype.sizeof()
    start = max(dst.offset, src.offset)
    stop = min(dst.offset + count * sizes[0], src.offset + count * sizes[1])
    if start >= stop or (dst.offset == src.offset and in_place(spec, *sizes)):
        return None
    return partial_overlap(spec, dst, src, stop - start, site)


def in_place(spec: OpSpec, written: int, read: int) -> bool:
    """Whether elements of `written` bytes may go where those of `read` bytes come from."""
    return written == read or (written < read and bool(spec.extra.get("narrows_in_place")))


def partial_overlap(spec: OpSpec, dst: Any, src: Any, nbytes: int, site: Site) -> KernelError:
    """The error for a destination that shares `nbytes` bytes with a source."""
    return error(
        "AT0117",
        f"{spec.name} writes {describe(dst)} and reads {describe(src)}: they share {nbytes} bytes",
        site,
        hint="read and write the very same elements, or keep the two apart",
    )


# -- repeats --------------------------------------------------------------------------------------


def reach(
    lanes: Sequence[int], repeat: int, block_stride: int, repeat_stride: int, dtype: DataType
) -> int:
    """How many elements from the start a call with strides reaches."""
    per_block = BLOCK_BYTES // dtype.sizeof()
    last = max(lane // per_block * block_stride * per_block + lane % per_block for lane in lanes)
    return (repeat - 1) * repeat_stride * per_block + last + 1


#: What may add up in a destination: how far apart its repeats are then does not matter.
_ACCUMULATED: Final = (float16, int32, float32)


def fed(writes: Bytes, written: int, reads: Bytes, read: int, behind: int = 0) -> int:
    """How many bytes a repeat writes and a later one reads.

    A row of the arrays is a repeat, with where its elements of so many bytes begin; the first row
    that reads is repeat `behind`.
    """
    start, rows = int(writes.min()), len(writes)
    first = np.full(int(writes.max()) + written - start, rows, np.int64)
    touched = (writes[:, :, None] - start + np.arange(written)).reshape(rows, -1)
    for row in range(rows - 1, -1, -1):
        first[touched[row]] = row
    asked = (reads[:, :, None] - start + np.arange(read)).reshape(len(reads), -1)
    inside = (asked >= 0) & (asked < first.size)
    order = behind + np.arange(len(reads))[:, None]
    repeats = np.broadcast_to(order, asked.shape)[inside]
    return int(np.unique(asked[inside][first[asked[inside]] < repeats]).size)


def apart(writes: Bytes, written: int, reads: Bytes, read: int) -> bool:
    """What is quickly seen: no byte in common, or all in place with repeats one behind another."""
    if int(reads.min()) >= int(writes.max()) + written:
        return True
    if int(writes.min()) >= int(reads.max()) + read:
        return True
    row = writes[0]
    inside = int(row.max()) + written - int(row.min()) <= int(writes[1, 0] - row[0])
    return inside and written == read and bool((writes == reads).all())


def accumulates(spec: OpSpec, which: int, dtype: DataType, strides: tuple[int, int]) -> bool:
    """Whether operand `which` may be what earlier repeats wrote.

    `strides` are the repeat strides of the destination and of the operand.
    """
    return (
        which == 2
        and dtype in _ACCUMULATED
        and 0 in strides
        and bool(spec.extra.get("accumulates"))
    )


def feeds(spec: OpSpec, dst: Any, src: Any, nbytes: int, site: Site) -> KernelError:
    """The error for a repeat that reads `nbytes` bytes of what an earlier one wrote."""
    return error(
        "AT0117",
        f"{spec.name} writes {describe(dst)} and reads {describe(src)} in later repeats: they "
        f"share {nbytes} bytes",
        site,
        hint="only add, sub, mul, max, min, add_relu and sub_relu of float16, int32 and float32 "
        "may, with src1, which or dst has a repeat stride of 0; else make one call a repeat",
    )


def repeat_overlap(
    spec: OpSpec,
    dst: Any,
    src: Any,
    lanes: Sequence[int],
    repeat: int,
    strides: tuple[tuple[int, int], tuple[int, int]],
    site: Site,
) -> KernelError | None:
    """In each repeat, a destination and a source are the same elements in one order, or apart.

    `strides` are the block and repeat strides of the two.
    """
    if dst.base is not src.base or dst.offset is None or src.offset is None:
        return None
    written, read = (
        element_starts(tensor, lanes, block)
        for tensor, (block, _) in zip((dst, src), strides, strict=True)
    )
    sizes = dst.dtype.sizeof(), src.dtype.sizeof()
    allowed = in_place(spec, *sizes)
    # From repeat to repeat the two move apart or together by this much.
    drift = (strides[1][1] - strides[0][1]) * BLOCK_BYTES
    touched = {at + byte for at in written for byte in range(sizes[0])}
    for r in range(repeat if drift else 1):
        moved = [at + r * drift for at in read]
        shared = touched.intersection(at + byte for at in moved for byte in range(sizes[1]))
        same = moved[0] == written[0] if sizes[0] != sizes[1] else moved == written
        if shared and not (allowed and same):
            return partial_overlap(spec, dst, src, len(shared), site)
    return None


def element_starts(tensor: Any, lanes: Sequence[int], block: int) -> list[int]:
    """Where the elements of the first repeat begin, in bytes from the start of the buffer."""
    size = tensor.dtype.sizeof()
    per_block = BLOCK_BYTES // size
    return [
        tensor.offset + lane // per_block * block * BLOCK_BYTES + lane % per_block * size
        for lane in lanes
    ]


def later_overlap(
    spec: OpSpec,
    which: int,
    dst: Any,
    src: Any,
    lanes: Sequence[int],
    repeat: int,
    strides: tuple[tuple[int, int], tuple[int, int]],
    site: Site,
) -> KernelError | None:
    """No repeat reads what an earlier one wrote, but for sums that the row allows.

    `src` is operand `which`, `strides` are the block and repeat strides of the two.
    """
    steps = strides[0][1], strides[1][1]
    if repeat < 2 or dst.base is not src.base or dst.offset is None or src.offset is None:
        return None
    if accumulates(spec, which, dst.dtype, steps):
        return None
    writes, reads = (
        np.array(element_starts(tensor, lanes, block))
        + np.arange(repeat)[:, None] * rep * BLOCK_BYTES
        for tensor, (block, rep) in zip((dst, src), strides, strict=True)
    )
    if apart(writes, dst.dtype.sizeof(), reads, src.dtype.sizeof()):
        return None
    shared = fed(writes, dst.dtype.sizeof(), reads, src.dtype.sizeof())
    return feeds(spec, dst, src, shared, site) if shared else None
