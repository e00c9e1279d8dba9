"""Tables for people: what the buffers of a kernel take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..tracer.diagnostics import span_of
from ..tracer.language.enums import MEMORY
from ..tracer.language.types import BufferInfo
from ..tracer.trace import If, Loop, Node, Op, Trace, Value

_UNKNOWN = "?"
_NESTING = frozenset({If, Loop})


def known(value: Any) -> int | None:
    """A number, or None for a value that only the device knows."""
    return None if isinstance(value, Value) else int(value)


def buffer_bytes(row: BufferInfo) -> int | None:
    """What all buffers of a row take, if known."""
    num, each = known(row.num), row.bytes_each()
    return None if num is None or each is None else num * each


def buffers(trace: Trace, results: set[int] | None = None) -> list[BufferInfo]:
    """The rows of the buffer table that the finished trace has.

    Code that is traced more than once (a loop's body) leaves a row each time: the last one counts,
    and only if its owner is still there. `results`: the ids of the results that may be owners.
    """
    alive = {id(row.owner) for row in trace.buffers}
    missing = alive - (_results(trace) if results is None else results)
    if missing:
        alive -= missing - {
            id(arg) for node in trace.walk() if isinstance(node, Op) for arg in node.args
        }
    found = {(id(row.owner), _place(row)): row for row in trace.buffers}
    return [row for row in trace.buffers if found[id(row.owner), _place(row)] is row
            and id(row.owner) in alive]  # fmt: skip


def _results(trace: Trace) -> set[int]:
    """The ids of all results in the trace."""
    return {id(op.result) for nodes in blocks(trace) for op in nodes if type(op) is Op}


def blocks(trace: Trace) -> Iterator[list[Node]]:
    """The nodes of each block, outer ones first: faster than `Trace.walk`, without its order."""
    todo = [trace.body]
    while todo:
        nodes = todo.pop().nodes
        yield nodes
        if _NESTING.isdisjoint(map(type, nodes)):
            continue
        for node in nodes:
            if isinstance(node, If):
                todo += (node.orelse, node.then)
            elif isinstance(node, Loop):
                todo.append(node.body)


def _place(row: BufferInfo) -> Any:
    """Where in the program a row comes from, calls included."""
    path: list[tuple[int, int]] = []
    site = row.site
    while site is not None:
        code, pc, site = site
        path.append((id(code), pc))
    return tuple(path) or id(row)


class Placement:
    """Where buffers lie: `start` in bytes, or None; `least` is what it is at least."""

    __slots__ = ("least", "start")

    def __init__(self, start: int | None, least: int) -> None:
        self.start = start
        self.least = least


def placements(rows: list[BufferInfo]) -> list[Placement]:
    """Where the rows begin: as given, or behind those before in the same memory or pool.

    A pool that shares begins with the one it shares with; a reset begins anew.
    """
    behind: dict[Any, Placement] = {}
    of_owner: dict[int, Placement] = {}
    out: list[Placement] = []
    for row in rows:
        if row.address is not None:
            start = known(row.address)
            out.append(Placement(start, start or 0))
            continue
        if row.shares is not None:
            at = of_owner.get(id(row.shares.owner), Placement(None, 0))
            out.append(at)
            of_owner[id(row.owner)] = at
            continue
        parent = row.parent
        key = (MEMORY[row.position], row.epoch) if parent is None else (id(parent), row.epoch)
        first = Placement(0, 0)
        if parent is not None and row.rounded:
            first = of_owner.get(id(parent), Placement(None, 0))
        at = behind.get(key, first)
        out.append(at)
        of_owner[id(row.owner)] = at
        size = buffer_bytes(row)
        exact = None if at.start is None or size is None else at.start + size
        behind[key] = Placement(exact, at.least + (size or 0))
    return out


def addresses(rows: list[BufferInfo]) -> list[int | None]:
    """Where the rows begin, in bytes, if known."""
    return [at.start for at in placements(rows)]


def buffer_table(trace: Trace, memory: str | None = None) -> str:
    """A table of the kernel's buffers (of one physical memory): sizes, addresses, Python lines.

    Queue buffers are placed in the order of `init_buffer`, each rounded up to 32 bytes. What only
    the device knows is shown as `?`. "" when there is no buffer.
    """
    rows = []
    found = buffers(trace)
    for row, start in zip(found, addresses(found), strict=True):
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
