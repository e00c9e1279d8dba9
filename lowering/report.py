"""Tables for people: what the buffers of a kernel take."""

from __future__ import annotations

from typing import Any

from ..tracer.diagnostics import span_of
from ..tracer.language.enums import MEMORY
from ..tracer.language.types import BufferInfo
from ..tracer.trace import Trace, Value

_UNKNOWN = "?"


def known(value: Any) -> int | None:
    """A number, or None for a value that only the device knows."""
    return None if isinstance(value, Value) else int(value)


def buffer_bytes(row: BufferInfo) -> int | None:
    """What all buffers of a row take, if known."""
    num, each = known(row.num), row.bytes_each()
    return None if num is None or each is None else num * each


def addresses(rows: list[BufferInfo]) -> list[int | None]:
    """Where the rows begin: as given, or behind the queue buffers before in the same memory."""
    behind: dict[str, int | None] = {}
    out: list[int | None] = []
    for row in rows:
        if row.address is not None:
            out.append(known(row.address))
            continue
        memory = MEMORY[row.position]
        start = behind.get(memory, 0)
        out.append(start)
        size = buffer_bytes(row)
        behind[memory] = None if start is None or size is None else start + size
    return out


def buffer_table(trace: Trace, memory: str | None = None) -> str:
    """A table of the kernel's buffers (of one physical memory): sizes, addresses, Python lines.

    Queue buffers are placed in the order of `init_buffer`, each rounded up to 32 bytes. What only
    the device knows is shown as `?`. "" when there is no buffer.
    """
    rows = []
    for row, start in zip(trace.buffers, addresses(trace.buffers), strict=True):
        if memory is not None and MEMORY[row.position] != memory:
            continue
        num, each, total = known(row.num), row.bytes_each(), buffer_bytes(row)
        span = span_of(row.site)
        rows.append(
            (
                row.owner.name or "(unnamed)",
                row.position.name,
                MEMORY[row.position],
                f"{_text(num)} x {_text(each)}",
                _text(total),
                _text(start),
                f"{span.file}:{span.line}" if span is not None else "",
            )
        )
    if not rows:
        return ""
    from tabulate import tabulate  # type: ignore[import-untyped, unused-ignore]

    return str(
        tabulate(
            rows,
            headers=("buffer", "position", "memory", "num x bytes", "bytes", "address", "line"),
            colalign=("left", "left", "left", "right", "right", "right", "left"),
            disable_numparse=True,
        )
    )


def _text(value: int | None) -> str:
    return _UNKNOWN if value is None else str(value)
