"""What the buffers of each physical memory and of each pool take against what there is."""

from __future__ import annotations

from typing import Any

from ...tracer.chip import BLOCK_BYTES
from ...tracer.diagnostics import Finding, finding
from ...tracer.language.enums import MEMORY
from ...tracer.language.types import BufferInfo, LocalTensorType, PoolType
from ...tracer.trace import Op, Trace, describe
from ..report import Placement, buffer_bytes, buffer_table, known, placements
from .facts import Facts


def memory_budget(facts: Facts) -> list[Finding]:
    """What the buffers of each physical memory take against what the chip has."""
    out = []
    trace, found = facts.trace, facts.buffers
    places = placements(found)
    for memory in dict.fromkeys(MEMORY[row.position] for row in found):
        size = trace.chip.memory.get(memory)
        if size is None:
            continue
        rows = [
            (row, at)
            for row, at in zip(found, places, strict=True)
            if MEMORY[row.position] == memory
        ]
        taken = max(at.least + _known_bytes(row) for row, at in rows)
        if taken > size:
            out.append(_over_budget(trace, memory, size, taken, rows))
        elif (kept := trace.chip.reserved.get(memory)) and taken > size - kept.nbytes:
            largest = max((row for row, _ in rows), key=_known_bytes)
            out.append(
                finding(
                    "AT0104",
                    f"the buffers in {memory} take {taken} of {size} bytes; the last "
                    f"{kept.nbytes} are used by {kept.owner}",
                    largest.site,
                    severity="warning",
                    table=buffer_table(trace, memory),
                    hint=f"stay within {size - kept.nbytes} bytes",
                )
            )
    return out


def _known_bytes(row: BufferInfo) -> int:
    return buffer_bytes(row) or 0


def _placed(row: BufferInfo) -> bool:
    return row.address is not None


def _over_budget(
    trace: Trace, memory: str, size: int, taken: int, rows: list[tuple[BufferInfo, Placement]]
) -> Finding:
    last = max(rows, key=lambda pair: pair[1].least + _known_bytes(pair[0]))[0]
    if _placed(last):
        # At given addresses it is the tensor that reaches furthest.
        largest = last
        what = f"{describe(largest.owner)} ends at {_end(largest)}"
    else:
        rivals = [
            row
            for row, _ in rows
            if not _placed(row) and row.parent is last.parent and row.epoch == last.epoch
        ]
        largest = max(rivals, key=_known_bytes)
        what = f"{describe(largest.owner)} is the largest, {largest.num} x {largest.bytes_each()}"
    return finding(
        "AT0104",
        f"the buffers in {memory} take {taken} bytes, {trace.chip.name} has {size}: {what}",
        largest.site,
        table=buffer_table(trace, memory),
        hint=_hint(trace, size, [row for row, _ in rows]),
    )


def pool_budget(facts: Facts) -> list[Finding]:
    """What a pool hands out against its bytes and its number of buffers, from reset to reset."""
    out = []
    taken: dict[tuple[int, int], tuple[int, int]] = {}
    for row in facts.buffers:
        parent: Any = row.parent
        if parent is None or type(parent.type) is not PoolType:
            continue
        key = (id(parent), row.epoch)
        nbytes, number = taken.get(key, (0, 0))
        nbytes, number = nbytes + _known_bytes(row), number + (known(row.num) or 0)
        taken[key] = nbytes, number
        pool = row.within
        have = None if pool is None else pool.bytes_each()
        if pool is not None and have is not None and nbytes > have:
            out.append(
                finding(
                    "AT0104",
                    f"{describe(row.owner)} brings what {describe(parent)} hands out to {nbytes} "
                    f"bytes, it has {have}",
                    row.site,
                    notes=[("the pool gets its memory here", pool.site)],
                    hint="a longer pool, smaller buffers, or reset() between stages",
                )
            )
        if type(row.owner.type) is not PoolType and number > parent.type.buffers:
            out.append(
                finding(
                    "AT0108",
                    f"{describe(parent)} hands out {number} buffers, and has {parent.type.buffers}",
                    row.site,
                    hint="TBufPool(position, buf_id_size): up to 16 buffers",
                )
            )
    return out


def _end(row: BufferInfo) -> int:
    return (known(row.address) or 0) + _known_bytes(row)


def _hint(trace: Trace, size: int, rows: list[BufferInfo]) -> str:
    """The largest tile that fits, where one length is common to all buffers."""
    lengths = {row.bytes_each() for row in rows}
    numbers = [known(row.num) for row in rows]
    count = sum(n for n in numbers if n is not None)
    nested = any(row.parent is not None or row.shares for row in rows)
    if nested or any(map(_placed, rows)) or None in numbers or len(lengths) > 1:
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
