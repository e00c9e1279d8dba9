"""Tables for people: what a kernel's queues and events are asked to do, and how full memories are.

Counts are of calls as written: a call in a loop counts once.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from ..tracer.diagnostics import span_of
from ..tracer.language.enums import MEMORY
from ..tracer.language.types import QueueType
from ..tracer.ops import framework as rows
from ..tracer.ops import sync
from ..tracer.trace import Block, If, Loop, Op, Trace, Value
from .report import buffer_bytes, buffers, placements

_CALLS = (rows.ALLOC_TENSOR, rows.ENQUE, rows.DEQUE, rows.FREE_TENSOR)
_BAR = 40

#: Change over a block and the highest level inside it, both from its start.
_Level: TypeAlias = "tuple[int, int] | None"


def _ops(trace: Trace) -> list[Op]:
    return [node for node in trace.walk() if isinstance(node, Op)]


def _line(op: Op) -> str:
    span = span_of(op.site)
    return "" if span is None else str(span.line)


def _tabulate(rows: list[Any], headers: tuple[str, ...]) -> str:
    from tabulate import tabulate

    return str(tabulate(rows, headers=headers, disable_numparse=True)) if rows else ""


def peak(block: Block, queue: Value) -> int | None:
    """The most tensors of a queue that are allocated at once, if control flow does not matter."""
    level = _level(block, queue)
    return None if level is None else level[1]


def _level(block: Block, queue: Value) -> _Level:
    now = highest = 0
    for node in block.nodes:
        change: _Level = (0, 0)
        if isinstance(node, Op):
            if node.args and node.args[0] is queue:
                step = {rows.ALLOC_TENSOR: 1, rows.FREE_TENSOR: -1}.get(node.spec, 0)
                change = (step, max(step, 0))
        elif isinstance(node, If):
            change = _either(_level(node.then, queue), _level(node.orelse, queue))
        elif isinstance(node, Loop):
            change = _level(node.body, queue)
            if change is not None and change[0]:
                return None
        if change is None:
            return None
        highest = max(highest, now + change[1])
        now += change[0]
    return now, highest


def _either(a: _Level, b: _Level) -> _Level:
    if a is None or b is None or a[0] != b[0]:
        return None
    return a[0], max(a[1], b[1])


def queue_table(trace: Trace) -> str:
    """A row a queue: calls of each kind, tensors allocated at once; "" without queues."""
    ops = _ops(trace)
    found = [op.result for op in ops if op.result is not None and type(op.result.type) is QueueType]
    table = []
    for queue in found:
        counts = [sum(op.spec is spec and op.args[0] is queue for op in ops) for spec in _CALLS]
        most = peak(trace.body, queue)
        kind = queue.type
        table.append(
            (queue.name or "(unnamed)", kind.position.name, kind.depth, *counts,
             "?" if most is None else most)
        )  # fmt: skip
    return _tabulate(
        table, ("queue", "position", "depth", "allocs", "enques", "deques", "frees", "peak")
    )


def event_table(trace: Trace) -> str:
    """A row an event and id: the lines that set it and wait for it; "" without events."""
    found: dict[tuple[str, str], tuple[list[str], list[str]]] = {}
    for op in _ops(trace):
        if op.spec in (sync.SET_FLAG, sync.WAIT_FLAG):
            event, number = op.args
            text = (number.name or "?") if isinstance(number, Value) else str(number)
            entry = found.setdefault((event.name, text), ([], []))
            entry[op.spec is sync.WAIT_FLAG].append(_line(op))
    table = [
        (event, number, *(", ".join(dict.fromkeys(lines)) for lines in both))
        for (event, number), both in found.items()
    ]
    return _tabulate(table, ("event", "id", "set in lines", "waited for in lines"))


def memory_bars(trace: Trace) -> str:
    """A bar a memory that has buffers: how much of it is taken; what is unknown is not counted."""
    found = buffers(trace)
    taken: dict[str, int] = {}
    unknown: set[str] = set()
    for row, at in zip(found, placements(found), strict=True):
        memory, size = MEMORY[row.position], buffer_bytes(row)
        taken[memory] = max(taken.get(memory, 0), at.least + (size or 0))
        if size is None:
            unknown.add(memory)
    lines = []
    for memory, used in taken.items():
        size = trace.chip.memory.get(memory, 0)
        if not size:
            continue
        full = min(_BAR, -(-used * _BAR // size))
        bar = "#" * full + "." * (_BAR - full)
        more = ", more on the device" if memory in unknown else ""
        lines.append(f"{memory:4}[{bar}] {used} of {size} bytes, {used * 100 // size} %{more}")
    return "\n".join(lines)
