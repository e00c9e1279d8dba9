"""Findings about a whole kernel, and the buffer table."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from asctrace.lowering.checks import check
from asctrace.lowering.report import buffer_table
from asctrace.tracer.diagnostics import Finding
from asctrace.tracer.language.dtypes import float16, float32
from asctrace.tracer.language.pipe import TPipe
from tests.lowering_kit import Kernel, local, named, queue


def at(line: int) -> Any:
    """A site in a file that does not exist."""
    source = SimpleNamespace(
        co_name="kernel", co_qualname="kernel", co_filename="kernel.py", co_firstlineno=1
    )
    return SimpleNamespace(code=source, instrs=[SimpleNamespace(span=(line, line, 4, 9))]), 0, None


def queues(*lengths: int, num: int = 2, alloc: Any = None) -> tuple[Kernel, list[Finding]]:
    with Kernel() as k:
        pipe = named(TPipe(), "pipe")
        for j, length in enumerate(lengths):
            k.recorder.where = at(10 + j)
            que = queue(pipe, f"q{j}", "VECIN", length, num)
            if alloc is not None:
                que.free_tensor(que.alloc_tensor(alloc))
    return k, check(k.trace)


def test_fitting_buffers_give_nothing() -> None:
    assert queues(32768, 32768)[1] == []
    assert queues()[1] == []


def test_over_budget_names_the_largest() -> None:
    (found,) = queues(1000, 99000)[1]
    assert found.code == "AT0104"
    assert found.severity == "error"
    assert found.message == (
        "the buffers in UB take 200064 bytes, Ascend910B1 has 196608: "
        "`q1` (TQue in VECIN) from kernel.py:11:5 is the largest, 2 x 99008"
    )
    assert found.hint == "make the tiles smaller, or use fewer buffers a queue"
    assert str(found.spans[0]) == "kernel.py:11:5"
    assert found.table.splitlines()[2:] == [
        "q0        VECIN       UB             2 x 1024     2048          0  kernel.py:10",
        "q1        VECIN       UB            2 x 99008   198016       2048  kernel.py:11",
    ]


@pytest.mark.parametrize(
    ("alloc", "hint"),
    [
        (None, "buffers of 32768 bytes fit"),
        (float32, "tiles of 8192 float32 (32768 bytes) fit"),
        (float16, "tiles of 16384 float16 (32768 bytes) fit"),
    ],
)
def test_over_budget_hints_at_the_largest_tile(alloc: Any, hint: str) -> None:
    (found,) = queues(40000, 40000, 40000, alloc=alloc)[1]
    assert found.hint == hint


def test_each_memory_has_its_budget() -> None:
    with Kernel() as k:
        pipe = TPipe()
        queue(pipe, "a1", "A1", 262144)
        queue(pipe, "a2", "A2", 32768)
        queue(pipe, "vec", "VECOUT", 65536)
    (warning,) = check(k.trace)
    assert warning.severity == "warning"
    assert warning.message.startswith("the buffers in L1 take 524288 of 524288 bytes; the last 256")
    with Kernel() as k:
        pipe = TPipe()
        queue(pipe, "a1", "A1", 262144)
        queue(pipe, "a2", "A2", 32800)
    assert [f.message.split(" take")[0] for f in check(k.trace)] == [
        "the buffers in L1",
        "the buffers in L0A",
    ]


def test_the_reserve_of_ub_warns() -> None:
    assert queues(188416 // 2)[1] == []
    (warning,) = queues(196608 // 2)[1]
    assert (warning.code, warning.severity) == ("AT0104", "warning")
    assert warning.hint == "stay within 188416 bytes"


def test_tensors_at_addresses_may_overlap() -> None:
    with Kernel() as k:
        for j in range(8):
            local(f"t{j}", 0, 40000)
        local("runtime", k.scalar("n"), 40000)
    assert check(k.trace) == []
    with Kernel() as k:
        local("low", 0, 40000)
        k.recorder.where = at(7)
        local("high", 160000, 10000)
    (found,) = check(k.trace)
    assert found.message.endswith("`high` (LocalTensor of float32 in VECIN) from kernel.py:7:5 "
                                  "ends at 200000")  # fmt: skip
    assert str(found.spans[0]) == "kernel.py:7:5"


def test_runtime_sizes_do_not_count() -> None:
    with Kernel() as k:
        n = k.scalar("n")
        pipe = TPipe()
        queue(pipe, "known", "VECIN", 1024)
        queue(pipe, "unknown", "VECIN", n)
        queue(pipe, "behind", "VECIN", 1024)
    assert check(k.trace) == []
    assert buffer_table(k.trace).splitlines() == [
        "buffer    position    memory      num x bytes    bytes    address  line",
        "--------  ----------  --------  -------------  -------  ---------  ------",
        "known     VECIN       UB             2 x 1024     2048          0",
        "unknown   VECIN       UB                2 x ?        ?       2048",
        "behind    VECIN       UB             2 x 1024     2048          ?",
    ]


def test_buffer_table_of_nothing() -> None:
    assert buffer_table(Kernel().trace) == ""


def test_64_buffers() -> None:
    assert queues(*[32] * 32)[1] == []
    (found,) = queues(*[32] * 33)[1]
    assert found.code == "AT0108"
    assert found.message == "the kernel has 66 buffers, 64 is the limit"
    assert str(found.spans[0]) == "kernel.py:42:5"
    assert len(found.table.splitlines()) == 35


def test_one_pipe() -> None:
    with Kernel() as k:
        k.recorder.where = at(3)
        named(TPipe(), "pipe")
        k.recorder.where = at(4)
        named(TPipe(), "other")
    (found,) = check(k.trace)
    assert found.code == "AT0108"
    assert found.message == "`other` (TPipe) from kernel.py:4:5 is another TPipe; a kernel has one"
    assert [str(span) for span in found.spans] == ["kernel.py:4:5", "kernel.py:3:5"]


def test_all_findings_come_in_one_report() -> None:
    with Kernel() as k:
        for _ in range(2):
            pipe = TPipe()
            queue(pipe, "q", "VECIN", 4096, 40)
    assert [f.code for f in check(k.trace)] == ["AT0104", "AT0108", "AT0108"]
