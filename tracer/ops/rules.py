"""Rules of calls that families share: how much, from where, into what.

Each function returns the error of a broken rule, or None when it holds or when only the device
knows; checks of rows raise what they find while tracing, the simulator once it knows the numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from ..chip import BLOCK_BYTES, REPEAT_BYTES
from ..diagnostics import KernelError, Site, error
from ..language.dtypes import DataType
from ..trace import describe
from .spec import OpSpec

MAX_REPEAT: Final = 255
#: Elements that the two words of a bit mask can name.
MASK_BITS: Final = 128


def lanes_of(dtype: DataType) -> int:
    """Elements in one repeat."""
    return REPEAT_BYTES // dtype.sizeof()


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


def bad_mask(spec: OpSpec, mask: int, dtype: DataType, site: Site) -> KernelError | None:
    """A mask selects at least one element, and no more than a repeat holds."""
    if 1 <= mask <= lanes_of(dtype):
        return None
    return error(
        "AT0108",
        f"{spec.name} with a mask of {mask} elements",
        site,
        hint=f"one repeat holds 1 to {lanes_of(dtype)} elements of {dtype}",
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
        [
            tensor.offset + lane // per_block * block * BLOCK_BYTES + lane % per_block * size
            for lane in lanes
        ]
        for tensor, (block, _) in zip((dst, src), strides, strict=True)
        for size in (tensor.dtype.sizeof(),)
        for per_block in (BLOCK_BYTES // size,)
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
