"""What a kernel can have only so many of: buffers, pipes, lines."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from operator import attrgetter, itemgetter

from ...tracer.chip import MAX_BUFFERS
from ...tracer.diagnostics import Finding, finding
from ...tracer.language.enums import Hardware
from ...tracer.ops.buffers import LOCAL_MEM_ALLOCATOR
from ...tracer.ops.framework import DESTROY, TPIPE
from ...tracer.ops.sync import SET_FLAG
from ...tracer.trace import Op, describe
from ..report import buffer_table, known
from .facts import Facts

#: Where an operation comes from; of that the place in its code, and the instruction alone.
_SITE, _PLACE, _INSTRUCTION = attrgetter("site"), itemgetter(0, 1), itemgetter(1)

#: Calls in a text that is longer than one would write, and longer to compile.
MANY_CALLS = 2000


def buffer_count(facts: Facts) -> list[Finding]:
    """At most `MAX_BUFFERS` buffers of queues."""
    totals: dict[int, int] = {}
    site = None
    for row in facts.buffers:
        if row.address is not None or not row.rounded:
            continue
        before = totals.get(row.epoch, 0)
        totals[row.epoch] = before + (known(row.num) or 0)
        if before <= MAX_BUFFERS < totals[row.epoch]:
            site = row.site
    total = max(totals.values(), default=0)
    if total <= MAX_BUFFERS:
        return []
    return [
        finding(
            "AT0108",
            f"the kernel has {total} buffers, {MAX_BUFFERS} is the limit",
            site,
            table=buffer_table(facts.trace),
            hint="use fewer queues, or fewer buffers a queue",
        )
    ]


def one_pipe(facts: Facts) -> list[Finding]:
    """A kernel has one TPipe."""
    pipes = facts.of(TPIPE)
    # Whether the first one ends before the second is made, the simulator decides.
    destroyed = {id(op.args[0]) for op in facts.of(DESTROY)}
    return [
        finding(
            "AT0108",
            f"{describe(node.result)} is another TPipe; a kernel has one",
            node.site,
            notes=[("the first one", pipes[0].site)],
            hint="pass the first TPipe to what needs it, or destroy() it before",
        )
        for before, node in pairwise(pipes)
        if id(before.result) not in destroyed
    ]


def one_allocator(facts: Facts) -> list[Finding]:
    """A memory has one LocalMemAllocator: each begins at its front."""
    first: dict[Hardware, Op] = {}
    found = []
    for op in facts.of(LOCAL_MEM_ALLOCATOR):
        before = first.setdefault(op.args[0], op)
        if before is not op:
            found.append(
                finding(
                    "AT0108",
                    f"{describe(op.result)} is another LocalMemAllocator of {op.args[0].name}; a "
                    "kernel has one a memory",
                    op.site,
                    notes=[("the first one", before.site)],
                    hint="use the first one: both would hand out the memory from its start",
                )
            )
    return found


def own_ids(facts: Facts) -> list[Finding]:
    """A warning for each event with an id, chosen by hand, that the system may use."""
    chip = facts.trace.chip
    found: dict[tuple[int, int], Op] = {}
    for op in facts.of(SET_FLAG):
        event, event_id = op.args
        if type(event_id) is int and chip.own_ids <= event_id < chip.event_ids:
            found.setdefault((event, event_id), op)
    return [
        finding(
            "AT0204",
            f"set_flag({op.args[0].name}, {op.args[1]}): the system may use the event ids from "
            f"{chip.own_ids} on",
            op.site,
            severity="warning",
            hint=f"an id from 0 to {chip.own_ids - 1}, or one of pipe.alloc_event_id(event)",
        )
        for op in found.values()
    ]


def long_text(facts: Facts) -> list[Finding]:
    """A warning where a loop is unrolled into thousands of calls, at the call there is most of."""
    total = sum(map(len, facts.calls()))
    if total < MANY_CALLS:
        return []
    # One place has calls of one row: the row with the most calls need not have the place with most.
    rows = sorted(facts.calls(), key=len, reverse=True)
    times, op = 1, rows[0][0]
    for ops in rows:
        if len(ops) <= times:
            break
        sites = list(filter(None, map(_SITE, ops)))
        # Instructions are counted faster than places, and no place comes more often than its.
        if max(Counter(map(_INSTRUCTION, sites)).values(), default=0) <= times:
            continue
        most, count = Counter(map(_PLACE, sites)).most_common(1)[0]
        if count > times:
            times, op = count, next(op for op in ops if op.site and _PLACE(op.site) == most)
    if times == 1:
        return []
    return [
        finding(
            "AT0114",
            f"the text has {total} calls, this one is in it {times} times: a loop around it "
            "is unrolled",
            op.site,
            severity="warning",
            hint="asc.range(n) makes a C++ loop; the compiler may fail on such a text with `out of "
            "jump imm range`",
        )
    ]
