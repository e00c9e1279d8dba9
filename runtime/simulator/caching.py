"""Executors of the calls about caches; what the data cache holds is in `cache.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...tracer.language.enums import CacheLine
from ...tracer.ops import cache as rows
from ...tracer.trace import Op, Value
from .memory import GlobalView, global_fault
from .registry import Executor, nothing, simulates

if TYPE_CHECKING:
    from .core import Core


@simulates(rows.CLEAN_AND_INVALID)
def _clean(op: Op, core: Core) -> Executor:
    cache = core.cache
    which = len(op.args) - 1
    if op.args[0] is CacheLine.ENTIRE_DATA_CACHE:
        return lambda tensor: cache.clean(core.block)

    def run(tensor: GlobalView) -> None:
        memory, start, end = tensor
        size = op.args[which].type.dtype.sizeof()
        if start < 0 or start + size > end:
            raise global_fault(op, which, tensor, start, start + size)
        cache.clean_line(core.block, memory.base + start)

    return run


@simulates(rows.DATA_PRELOAD)
def _preload(op: Op, core: Core) -> Executor:
    fixed = None if isinstance(op.args[1], Value) else op.args[1]

    def run(tensor: GlobalView, offset: int = fixed or 0) -> None:
        if fault := rows.bad_offset(op.spec, offset, op.site):
            raise fault
        _, start, end = tensor
        if start + offset >= end:
            raise global_fault(op, 0, tensor, start + offset, start + offset + 8)

    return run


@simulates(rows.ICACHE_PRELOAD)
def _instructions(op: Op, core: Core) -> Executor:
    if not isinstance(op.args[0], Value):
        return nothing

    def run(length: int) -> None:
        if fault := rows.bad_length(op.spec, length, op.site):
            raise fault

    return run


@simulates(rows.ICACHE_STATUS)
def _status(op: Op, core: Core) -> Executor:
    return lambda: 0
