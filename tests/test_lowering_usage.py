"""The tables of queues, events and memories in a report."""

from __future__ import annotations

import re

import numpy as np

import asctrace as asc
from asctrace.lowering.usage import event_table, memory_bars, queue_table

P = asc.TPosition
X = np.zeros(64, np.int32)


def test_peak_over_branches_and_loops() -> None:
    @asc.jit
    def kernel(n: int):
        pipe = asc.TPipe()
        que, unclear = asc.TQue(P.VECIN, 2), asc.TQue(P.VECOUT, 2)
        pipe.init_buffer(que, 2, 64)
        pipe.init_buffer(unclear, 2, 64)
        for _ in asc.range(n):
            a = que.alloc_tensor(asc.int32)
            if n > 2:
                b = que.alloc_tensor(asc.int32)
                que.free_tensor(b)
            que.free_tensor(a)
        if n > 3:
            unclear.alloc_tensor(asc.int32)

    table = queue_table(kernel.trace(1).trace)
    assert re.search(r"^que +VECIN +2 +2 +0 +0 +2 +2$", table, re.MULTILINE)
    assert re.search(r"^unclear +VECOUT +2 +1 +0 +0 +0 +\?$", table, re.MULTILINE)


def test_nothing_to_show() -> None:
    @asc.jit
    def kernel(n: int):
        print(n)

    trace = kernel.trace(1).trace
    assert (queue_table(trace), event_table(trace), memory_bars(trace)) == ("", "", "")


def test_bar_of_a_memory() -> None:
    @asc.jit
    def kernel(n: int):
        pipe = asc.TPipe()
        half, more = asc.TBuf(P.VECCALC), asc.TBuf(P.A1)
        pipe.init_buffer(half, 96 * 1024)
        pipe.init_buffer(more, n)

    lines = memory_bars(kernel.trace(64).trace).splitlines()
    assert lines == [
        f"UB  [{'#' * 20}{'.' * 20}] 98304 of 196608 bytes, 50 %",
        f"L1  [{'.' * 40}] 0 of 524288 bytes, 0 %, more on the device",
    ]


def test_events_by_name_and_number() -> None:
    @asc.jit
    def kernel(event: int):
        asc.set_flag(asc.HardEvent.MTE2_V, event)
        asc.wait_flag(asc.HardEvent.MTE2_V, event)

    assert re.search(r"^MTE2_V +event +\d+ +\d+$", event_table(kernel.trace(1).trace), re.MULTILINE)
