"""What the buffers of each physical memory take against what the chip has."""

from __future__ import annotations

from typing import Any

from ...tracer.chip import BLOCK_BYTES
from ...tracer.diagnostics import Finding, finding
from ...tracer.language.enums import MEMORY
from ...tracer.language.types import BufferInfo, LocalTensorType
from ...tracer.trace import Op, Trace, describe
from ..report import addresses, buffer_bytes, buffer_table, known

#: Bytes at the end of a memory that the system or some functions take, and who.
_RESERVED = {
    "UB": (8192, "some functions (high-level API, printf)"),
    "L1": (256, "the system"),
}


def memory_budget(trace: Trace) -> list[Finding]:
    """What the buffers of each physical memory take against what the chip has."""
    out = []
    starts = addresses(trace.buffers)
    for memory in dict.fromkeys(MEMORY[row.position] for row in trace.buffers):
        size = trace.chip.memory.get(memory)
        if size is None:
            continue
        rows = [
            (row, start)
            for row, start in zip(trace.buffers, starts, strict=True)
            if MEMORY[row.position] == memory
        ]
        taken = _taken(rows)
        if taken > size:
            out.append(_over_budget(trace, memory, size, taken, [row for row, _ in rows]))
        elif memory in _RESERVED and taken > size - _RESERVED[memory][0]:
            reserve, owner = _RESERVED[memory]
            largest = max((row for row, _ in rows), key=_known_bytes)
            out.append(
                finding(
                    "AT0104",
                    f"the buffers in {memory} take {taken} of {size} bytes; the last {reserve} "
                    f"are used by {owner}",
                    largest.site,
                    severity="warning",
                    table=buffer_table(trace, memory),
                    hint=f"stay within {size - reserve} bytes",
                )
            )
    return out


def _known_bytes(row: BufferInfo) -> int:
    return buffer_bytes(row) or 0


def _taken(rows: list[tuple[BufferInfo, int | None]]) -> int:
    """Bytes in use: queue buffers add up, tensors at addresses reach as far as they reach."""
    queues = sum(_known_bytes(row) for row, _ in rows if row.address is None)
    ends = [start + _known_bytes(row) for row, start in rows if _placed(row) and start is not None]
    return max([queues, *ends])


def _placed(row: BufferInfo) -> bool:
    return row.address is not None


def _over_budget(
    trace: Trace, memory: str, size: int, taken: int, rows: list[BufferInfo]
) -> Finding:
    queues = [row for row in rows if not _placed(row)]
    if sum(map(_known_bytes, queues)) > size:
        largest = max(queues, key=_known_bytes)
        what = f"{describe(largest.owner)} is the largest, {largest.num} x {largest.bytes_each()}"
    else:
        # At given addresses it is the tensor that reaches furthest.
        largest = max(filter(_placed, rows), key=_end)
        what = f"{describe(largest.owner)} ends at {_end(largest)}"
    return finding(
        "AT0104",
        f"the buffers in {memory} take {taken} bytes, {trace.chip.name} has {size}: {what}",
        largest.site,
        table=buffer_table(trace, memory),
        hint=_hint(trace, size, rows),
    )


def _end(row: BufferInfo) -> int:
    return (known(row.address) or 0) + _known_bytes(row)


def _hint(trace: Trace, size: int, rows: list[BufferInfo]) -> str:
    """The largest tile that fits, where one length is common to all buffers."""
    lengths = {row.bytes_each() for row in rows}
    numbers = [known(row.num) for row in rows]
    count = sum(n for n in numbers if n is not None)
    if any(map(_placed, rows)) or None in numbers or len(lengths) > 1:
        return "make the tiles smaller, or use fewer buffers a queue"
    fits = size // count // BLOCK_BYTES * BLOCK_BYTES
    if fits == 0:
        return "use fewer buffers"
    dtypes = _dtypes(trace, rows)
    if len(dtypes) == 1:
        (dtype,) = dtypes
        return f"tiles of {fits // dtype.sizeof()} {dtype} ({fits} bytes) fit"
    return f"buffers of {fits} bytes fit"


def _dtypes(trace: Trace, rows: list[BufferInfo]) -> set[Any]:
    """The element types of the tensors that the queues of `rows` hand out."""
    owners = {id(row.owner) for row in rows}
    return {
        node.result.type.dtype
        for node in trace.walk()
        if isinstance(node, Op)
        and node.result is not None
        and type(node.result.type) is LocalTensorType
        and node.args
        and id(node.args[0]) in owners
    }
