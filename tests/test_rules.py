"""Every rule of the chip that needs no vector function: a test that breaks it, a twin that keeps it.

The table names the test of each rule, which has both sides. Where they are apart elsewhere, or there
was no test, it is one of this module: `grep` finds the others. `test_the_table_is_true` looks whether
they are there.

Chips, memories
    an unknown chip; names with suffixes         test_names
    sizes of the memories                        test_sizes
    a memory that the chip does not have         test_memories_that_a_chip_does_not_have
    start alignment of each memory               test_starts
    starts of copies in UB                       test_starts_that_are_not_aligned
    budget of UB, and its reserve                test_budget
    budget of each memory; reserve of L1         test_budgets
    the report names the buffers                 test_over_budget_names_the_largest
    positions: where queues, TBufs, pools are    test_positions
Pipes, events
    event ids of the chip                        test_event_ids
    ids that the system may use                  test_ids_of_the_system
    ids that a pipe gives out                    test_ids_that_a_pipe_gives
    release of an id that is not taken           test_pairs[release of an id that is not taken]
    set twice                                    test_pairs[set twice]
    wait without a set; another event or id      test_pairs[wait without a set]
    set that is never consumed                   test_pairs[set that is never consumed]
    a set that may meet the event still set      test_a_set_that_may_meet_the_event_still_set_is_a_warning
    RAW, WAR, WAW between two pipes              test_one_tile
    the same from iteration to iteration         test_double_buffers
    UB to GM and back                            test_store_to_load
    scalar reads and writes are accesses         test_scalar_unit
    what a barrier orders                        test_barriers
    the events of a queue, and of no other pipe  test_the_event_of_a_queue_is_between_its_own_pipes
    alloc waits for the last user                test_queues_carry_the_events
    grid of at most 65535 blocks                 test_grid
    blocks: write and read of the same bytes     test_a_block_that_reads_what_another_writes_is_an_error
    blocks: both write (a warning)               test_blocks_that_write_the_same_bytes_are_a_warning
    scalar stores: blocks that share a line      test_blocks_that_share_a_line_are_a_warning
    scalar stores: a copy does not see them      test_a_copy_does_not_see_scalar_stores
Queues, buffers
    numbers and lengths are positive             test_numbers_of_buffers
    lengths are rounded up to 32                 test_lengths_are_rounded_up
    64 buffers                                   test_64_buffers
    one TPipe; another after destroy             test_a_second_pipe_needs_the_first_destroyed
    reset before buffers are given again         test_pairs[buffers given twice]
    no buffers, or none any more                 test_reset_before_init
    tensors of a queue end with a reset          test_tensors_end_with_a_reset
    tensors of a TBuf end with a reset           test_tensors_of_a_tbuf_end_with_a_reset
    tensors of pools end with a reset            test_tensors_of_pools_end_with_a_reset
    pools and TBufs without memory               test_pools_without_memory
    tensors at one position: 8, or 4             test_tensors_on_a_position
    more tensors than buffers                    test_more_tensors_than_buffers
    alloc without free                           test_pairs[alloc without free]
    free without alloc                           test_pairs[free without alloc]
    double free                                  test_pairs[double free]
    use after free                               test_pairs[use after free]
    use between enque and deque                  test_pairs[use between enque and deque]
    enque or free while enqueued                 test_pairs[free while enqueued]
    enqueued and never taken                     test_pairs[enqueued and never taken]
    deque of an empty queue                      test_pairs[deque of an empty queue]
    a tensor of another queue                    test_pairs[a tensor of another queue]
    enques in a row against the depth            test_enques_against_depth
    forms of depth 0 and of others               test_pairs[in place with a depth]
    TBuf.get within the buffer                   test_get_of_a_tbuf
    get_with_offset in steps of 32               test_offset_of_a_tbuf_is_a_multiple_of_32
    TBuf tensors are not enqueued or freed       test_tbuf_tensors_stay_with_it
    pools: bytes, and 4 or up to 16 buffers      test_pools
    template arguments are constants             test_pairs[a runtime depth]
Accesses
    outside the array                            test_pairs[outside the array]
    outside the size given to a GlobalTensor     test_pairs[outside the size given]
    outside a LocalTensor                        test_pairs[outside a LocalTensor]
    an element outside                           test_elements
    lengths of copies                            test_pairs[length of a copy]
    memory that was never written                test_pairs[never written]
    a fresh tensor holds garbage                 test_an_allocated_tensor_holds_garbage_though_the_buffer_was_written
    counts, masks, repeats, strides              test_pairs[255 repeats]
    partial overlap                              test_pairs[partial overlap]
    a text of thousands of calls                 test_long_texts
    a loop without an end                        test_runaway_loops
Must not be reported
    queue depth unlike the number of buffers     test_depth_of_a_queue_unlike_its_number_of_buffers
    a start in GM that is not aligned            test_start_in_global_memory_that_is_not_aligned
    more blocks than cores without a barrier     test_more_blocks_than_cores_without_a_barrier
    exactly in place                             test_element_wise_operations_exactly_in_place
    repeat 0, count 0                            test_repeat_0_and_count_0
    a vector kernel that never uses L1           test_a_kernel_of_the_vector_core_that_never_uses_l1
    the same, by the checks alone                test_what_must_not_be_reported
"""  # noqa: E501 (names of tests)

from __future__ import annotations

import ast
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import asctrace as asc
from asctrace.lowering.checks import check
from asctrace.tracer.diagnostics import KernelError
from tests.checks_kit import clean, findings, lines, make, said

TESTS = Path(__file__).resolve().parent
P = asc.TPosition


def test_the_table_is_true() -> None:
    rows = [line.strip() for line in (__doc__ or "").split("\n") if line.startswith("    ")]
    # Two spaces or more are between a rule and its test.
    names = [row.rpartition("  ")[2] for row in rows]
    assert len(names) == len(set(names)) > 60
    found = {
        node.name
        for path in TESTS.glob("test_*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }
    for name in names:
        function, _, pair = name.partition("[")
        assert function in found
        assert not pair or pair.removesuffix("]") in PAIRS


# -- rules that are a few lines each --------------------------------------------------------------

_ALLOC = "t = que.alloc_tensor(f32)"
_LOAD = f"{_ALLOC}\nasc.data_copy(t, gm, 64)"

#: What breaks the rule, code and severity, lines of the finding, what keeps it.
PAIRS: dict[str, tuple[str, str, str, list[int], str]] = {
    "set twice": (
        "asc.set_flag(E, 1)\nasc.set_flag(E, 1)\nasc.wait_flag(E, 1)",
        "AT0204", "error", [2, 1],
        "asc.set_flag(E, 1)\nasc.set_flag(E, 2)\nasc.wait_flag(E, 1)\nasc.wait_flag(E, 2)",
    ),
    "wait without a set": (
        "asc.set_flag(E, 1)\nasc.wait_flag(E, 2)",
        "AT0204", "error", [2, 1],
        "asc.set_flag(E, 2)\nasc.wait_flag(E, 2)",
    ),
    "wait for another event": (
        "asc.set_flag(E, 1)\nasc.wait_flag(F, 1)",
        "AT0204", "error", [2, 1],
        "asc.set_flag(F, 1)\nasc.wait_flag(F, 1)",
    ),
    "set that is never consumed": (
        "asc.set_flag(F, 2)", "AT0204", "warning", [1],
        "asc.set_flag(F, 2)\nasc.wait_flag(F, 2)",
    ),
    "release of an id that is not taken": (
        "i = pipe.alloc_event_id(E)\npipe.release_event_id(i, E)\npipe.release_event_id(i, E)",
        "AT0204", "error", [3],
        "i = pipe.alloc_event_id(E)\npipe.release_event_id(i, E)",
    ),
    "buffers given twice": (
        "pipe.init_buffer(que, 2, 256)", "AT0202", "error", [1, -5],
        "pipe.reset()\npipe.init_buffer(que, 2, 256)",
    ),
    "alloc without free": (_ALLOC, "AT0202", "warning", [1], f"{_ALLOC}\nque.free_tensor(t)"),
    "free without alloc": (
        "t = asc.LocalTensor(f32, VECIN, 1024, 64)\nque.free_tensor(t)",
        "AT0202", "error", [2],
        "t = asc.LocalTensor(f32, VECIN, 1024, 64)\nt.set_value(0, 1.0)",
    ),
    "double free": (
        f"{_ALLOC}\nque.free_tensor(t)\nque.free_tensor(t)", "AT0202", "error", [3, 2],
        f"{_ALLOC}\nque.free_tensor(t)\n{_ALLOC}\nque.free_tensor(t)",
    ),
    "use after free": (
        f"{_ALLOC}\nque.free_tensor(t)\nasc.data_copy(t, gm, 64)", "AT0202", "error", [3, 2],
        f"{_LOAD}\nque.free_tensor(t)",
    ),
    "use between enque and deque": (
        f"{_LOAD}\nque.enque(t)\nasc.add(t, t, t, 64)\nque.free_tensor(que.deque(f32))",
        "AT0202", "error", [4, 3],
        f"{_LOAD}\nque.enque(t)\nt = que.deque(f32)\nasc.add(t, t, t, 64)\nque.free_tensor(t)",
    ),
    "free while enqueued": (
        f"{_LOAD}\nque.enque(t)\nque.free_tensor(t)", "AT0202", "error", [4, 3],
        f"{_LOAD}\nque.enque(t)\nque.free_tensor(que.deque(f32))",
    ),
    "enqueued and never taken": (
        f"{_LOAD}\nque.enque(t)", "AT0202", "warning", [3],
        f"{_LOAD}\nque.enque(t)\nque.free_tensor(que.deque(f32))",
    ),
    "deque of an empty queue": (
        f"{_LOAD}\nt = que.deque(f32)", "AT0202", "error", [3, 1],
        f"{_LOAD}\nque.enque(t)\nque.free_tensor(que.deque(f32))",
    ),
    "a tensor of another queue": (
        f"{_LOAD}\nout.enque(t)", "AT0202", "error", [3],
        f"{_LOAD}\nque.enque(t)\nque.free_tensor(que.deque(f32))",
    ),
    "in place with a depth": (
        "t = asc.LocalTensor(f32)\nque.alloc_tensor(t)", "AT0108", "error", [2],
        ("que = asc.TQue(VECIN, 0)\npipe.init_buffer(que, 1, 64)\nt = asc.LocalTensor(f32)\n"
        "que.alloc_tensor(t)\nque.free_tensor(t)"),
    ),
    "the state of a queue of depth 0": (
        "flat = asc.TQue(VECIN, 0)\npipe.init_buffer(flat, 1, 64)\nflat.has_idle_buffer()",
        "AT0108", "error", [3],
        "que.has_idle_buffer()",
    ),
    "a runtime depth": (
        "asc.TQue(VECIN, n)", "AT0107", "error", [1], "asc.TQue(VECIN, 3)",
    ),
    "outside the array": (
        f"{_ALLOC}\nasc.data_copy(t, gm[8 * n:], 64)\nque.free_tensor(t)",
        "AT0201", "error", [2],
        f"{_ALLOC}\nasc.data_copy(t, gm[8 * n:], 56)\nque.free_tensor(t)",
    ),
    "outside the size given": (
        (f"gm.set_global_buffer(x, 32)\n{_ALLOC}\nasc.data_copy(t, gm[8 * n:], 32)\n"
        "que.free_tensor(t)"),
        "AT0201", "error", [3],
        (f"gm.set_global_buffer(x, 32)\n{_ALLOC}\nasc.data_copy(t, gm[8 * n:], 24)\n"
        "que.free_tensor(t)"),
    ),
    "outside a LocalTensor": (
        f"{_ALLOC}\nasc.data_copy(t[8 * n:], gm, 64)\nque.free_tensor(t)",
        "AT0201", "error", [2],
        f"{_ALLOC}\nasc.data_copy(t[8 * n:], gm, 56)\nque.free_tensor(t)",
    ),
    "length of a copy": (
        f"{_ALLOC}\nasc.data_copy(t, gm, 12)\nque.free_tensor(t)", "AT0103", "error", [2],
        f"{_ALLOC}\nasc.data_copy(t, gm, 16)\nque.free_tensor(t)",
    ),
    "length of a copy at run time": (
        f"{_ALLOC}\nasc.data_copy(t, gm, 12 * n)\nque.free_tensor(t)", "AT0103", "error", [2],
        f"{_ALLOC}\nasc.data_copy(t, gm, 16 * n)\nque.free_tensor(t)",
    ),
    "never written": (
        (f"{_ALLOC}\nasc.data_copy(t, gm, 56)\nque.enque(t)\nt = que.deque(f32)\n"
        "asc.add(t, t, t, 64)\nque.free_tensor(t)"),
        "AT0203", "error", [5],
        f"{_LOAD}\nque.enque(t)\nt = que.deque(f32)\nasc.add(t, t, t, 64)\nque.free_tensor(t)",
    ),
    "255 repeats": (
        (f"{_LOAD}\nque.enque(t)\nt = que.deque(f32)\n"
        "asc.add(t[8:], t, t, 8, 256, asc.BinaryRepeatParams(1, 1, 1, 0, 0, 0))\n"
        "que.free_tensor(t)"),
        "AT0108", "error", [5],
        (f"{_LOAD}\nque.enque(t)\nt = que.deque(f32)\n"
        "asc.add(t[8:], t, t, 8, 255, asc.BinaryRepeatParams(1, 1, 1, 0, 0, 0))\n"
        "que.free_tensor(t)"),
    ),
    "partial overlap": (
        f"{_LOAD}\nque.enque(t)\nt = que.deque(f32)\nasc.add(t[8:], t, t, 32)\nque.free_tensor(t)",
        "AT0117", "error", [5],
        (f"{_LOAD}\nque.enque(t)\nt = que.deque(f32)\nasc.add(t[32:], t, t, 32)\n"
        "que.free_tensor(t)"),
    ),
}  # fmt: skip


def told(text: str) -> list[Any]:
    """What tracing, the checks or a run (with n and m 1) say of a kernel, whichever comes first."""
    kernel = make(text)
    x = np.ones(64, np.float32)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            kernel[1](x, 1, 1)
        except KernelError as problem:
            return problem.findings
    return [warning.message.finding for warning in caught]  # type: ignore[union-attr]


@pytest.mark.parametrize("rule", PAIRS)
def test_pairs(rule: str) -> None:
    broken, code, severity, places, kept = PAIRS[rule]
    found = told(broken)
    assert [(f.code, f.severity, lines(f)) for f in found[:1]] == [(code, severity, places)]
    assert {f.code for f in found} == {code}
    assert told(kept) == []


@pytest.mark.parametrize("blocks", [0, -1, 65536])
def test_grid(blocks: int) -> None:
    def kernel(x: asc.GlobalAddress):
        pass

    x = np.ones(8, np.float32)
    with pytest.raises(KernelError) as caught:
        asc.jit(kernel)[blocks](x)
    (found,) = caught.value.findings
    assert (found.code, found.message) == ("AT0108", f"a grid of {blocks} blocks does not exist")
    for good in (1, 65535):
        assert asc.jit(kernel)[good](x).blocks == good


# -- memories -------------------------------------------------------------------------------------

_STARTS = [
    ("VECIN", "UB", 32), ("VECCALC", "UB", 32), ("VECOUT", "UB", 32), ("A1", "L1", 32),
    ("B1", "L1", 32), ("C1", "L1", 32), ("A2", "L0A", 512), ("B2", "L0B", 512),
    ("CO1", "L0C", 64), ("C2", "BT", 64),
]  # fmt: skip


@pytest.mark.parametrize(("position", "memory", "unit"), _STARTS)
def test_starts(position: str, memory: str, unit: int) -> None:
    def at(address: int) -> Any:
        def kernel(x: asc.GlobalAddress):
            asc.LocalTensor(asc.float32, P[position], address, 8)

        return asc.jit(kernel).trace(np.zeros(8, np.float32)).trace

    assert check(at(3 * unit)) == []
    for address in (unit // 2, unit + 16, 4):
        with pytest.raises(KernelError) as caught:
            at(address)
        (found,) = caught.value.findings
        past = address % unit
        assert found.code == "AT0103"
        assert found.message == (
            f"a LocalTensor begins at byte {address}, {past} past a multiple of {unit}"
        )
        assert found.hint == f"addresses in {memory} are multiples of {unit} bytes"


@pytest.mark.parametrize(
    ("position", "size", "reserve"),
    [("A1", 524288, 256), ("A2", 65536, 0), ("B2", 65536, 0), ("CO1", 131072, 0), ("C2", 1024, 0)],
)
def test_budgets(position: str, size: int, reserve: int) -> None:
    def found(length: int) -> list[tuple[str, str]]:
        text = f"""
            buf = asc.TBuf(asc.TPosition.{position})
            pipe.init_buffer(buf, {length})
        """
        return [(f.code, f.severity) for f in findings(text) if lines(f) == [2]]

    assert found(size - reserve) == []
    assert found(size) == ([("AT0104", "warning")] if reserve else [])
    assert found(size + 32) == [("AT0104", "error")]


@pytest.mark.parametrize(
    ("kept", "broken", "code"),
    [
        ("asc.TQue(VECIN, 1)", "asc.TQue(asc.TPosition.GM, 1)", "AT0108"),
        ("asc.TQue(asc.TPosition.CO1, 1)", "asc.TQue(asc.TPosition.VECCALC, 1)", "AT0108"),
        ("asc.TQueBind(asc.TPosition.GM, VECIN, 1)",
         "asc.TQueBind(asc.TPosition.GM, asc.TPosition.CO2, 1)", "AT0108"),
        ("asc.TBuf(asc.TPosition.A1)", "asc.TBuf(asc.TPosition.GM)", "AT0116"),
        ("asc.TBufPool(asc.TPosition.A1)", "asc.TBufPool(asc.TPosition.A2)", "AT0116"),
        ("asc.LocalTensor(f32, asc.TPosition.CO1, 0, 8)",
         "asc.LocalTensor(f32, asc.TPosition.CO2, 0, 8)", "AT0116"),
        ("asc.LocalMemAllocator(asc.Hardware.L1).alloc(asc.TPosition.A1, f32, 8)",
         "asc.LocalMemAllocator(asc.Hardware.L1).alloc(VECIN, f32, 8)", "AT0116"),
    ],
)  # fmt: skip
def test_positions(kept: str, broken: str, code: str) -> None:
    assert findings(kept) == []
    with pytest.raises(KernelError) as caught:
        findings(broken)
    (found,) = caught.value.findings
    assert (found.code, lines(found)) == (code, [1])


# -- buffers --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("num", "length"), [(0, 64), (-1, 64), (1, 0), (2, -32)])
def test_numbers_of_buffers(num: int, length: int) -> None:
    more = "more = asc.TQue(VECIN, 1)\npipe.init_buffer(more, {}, {})"
    clean(more.format(1, 64))
    with pytest.raises(KernelError) as caught:
        findings(more.format(num, length))
    (found,) = caught.value.findings
    assert (found.code, lines(found)) == ("AT0108", [2])
    what, value = ("number of buffers", num) if num <= 0 else ("length", length)
    assert found.message == (
        f"the {what} of `more` (TQue in VECIN) from kernel.py:12:12 is {value}"
    )
    # What the device decides, the run finds.
    run = make(more.format("n", "m"))
    run[1](np.ones(64, np.float32), 1, 64)
    with pytest.raises(KernelError) as caught:
        run[1](np.ones(64, np.float32), num, length)
    (found,) = caught.value.findings
    assert (found.code, lines(found)) == ("AT0108", [2])


def test_lengths_are_rounded_up() -> None:
    """A queue of 33 bytes has tensors of 64, and its buffers begin at multiples of 32."""
    text = """
        odd = asc.TQue(VECIN, 1)
        pipe.init_buffer(odd, 2, 33)
        behind = asc.TQue(VECIN, 1)
        pipe.init_buffer(behind, 1, 32)
        t = odd.alloc_tensor(f32)
        asc.data_copy(t, gm, {})
        odd.free_tensor(t)
    """
    clean(text.format(16))
    with pytest.raises(KernelError, match="AT0201: data_copy reaches 24 elements of `t`"):
        findings(text.format(24))
    report = make(text.format(16)).lower(np.ones(64, np.float32), 1, 1).report()
    rows = [line.split() for line in report.split("\n") if line.startswith(("odd ", "behind "))]
    assert [(row[0], *row[3:8]) for row in rows[:2]] == [
        ("odd", "2", "x", "64", "128", "768"),
        ("behind", "1", "x", "32", "32", "896"),
    ]


@pytest.mark.parametrize(
    ("get", "need"), [("get(f32, {})", 65), ("get_with_offset({}, 32, f32)", 57)]
)
def test_get_of_a_tbuf(get: str, need: int) -> None:
    text = """
        buf = asc.TBuf(asc.TPosition.VECCALC)
        pipe.init_buffer(buf, 256)
        t = buf.{}
        t.set_value(0, 1.0)
    """
    clean(text.format(get.format(need - 1)))
    with pytest.raises(KernelError) as caught:
        findings(text.format(get.format(need)))
    (found,) = caught.value.findings
    assert (found.code, lines(found)[0]) == ("AT0201", 3)
    run = make(text.format(get.format("n")))
    run[1](np.ones(64, np.float32), need - 1, 1)
    with pytest.raises(KernelError) as caught:
        run[1](np.ones(64, np.float32), need, 1)
    (found,) = caught.value.findings
    assert (found.code, lines(found)[0]) == ("AT0201", 3)


@pytest.mark.parametrize(("declared", "limit"), [("", 4), (", 2", 2), (", 16", 16)])
def test_pools(declared: str, limit: int) -> None:
    text = f"""
        pool = asc.TBufPool(VECIN{declared})
        pipe.init_buf_pool(pool, {{size}})
        for _ in asc.static_range({{count}}):
            pool.init_buffer(asc.TBuf(VECIN), 32)
    """
    clean(text.format(count=limit, size=32 * limit))
    found = findings(text.format(count=limit + 1, size=1024))
    assert [(f.code, f.severity, lines(f)) for f in found] == [("AT0108", "error", [4])]
    found = findings(text.format(count=limit, size=32 * limit - 32))
    assert [(f.code, f.severity, lines(f)) for f in found] == [("AT0104", "error", [4, 2])]
    with pytest.raises(KernelError, match="AT0108: a TBufPool of 17 buffers"):
        findings("asc.TBufPool(VECIN, 17)")


# -- accesses -------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", ["64", "-1"])
def test_elements(index: str) -> None:
    text = """
        t = que.alloc_tensor(f32)
        t.set_value({index}, 1.0)
        gm.set_value(0, t.get_value({index}))
        que.free_tensor(t)
    """
    clean(text.format(index="63"))
    with pytest.raises(KernelError) as caught:
        findings(text.format(index=index))
    (found,) = caught.value.findings
    assert (found.code, lines(found)) == ("AT0201", [2])
    run = make(text.format(index="n"))
    run[1](np.ones(64, np.float32), 63, 1)
    with pytest.raises(KernelError) as caught:
        run[1](np.ones(64, np.float32), int(index), 1)
    (found,) = caught.value.findings
    assert (found.code, lines(found)) == ("AT0201", [2])


def test_long_texts() -> None:
    """A warning at the call that a loop repeats most; a C++ loop is silent."""
    text = """
        t = que.alloc_tensor(f32)
        asc.data_copy(t, gm, 64)
        for i in asc.{}({}):
            asc.data_copy(t, gm, 64)
        que.free_tensor(t)
    """
    (found,) = findings(text.format("static_range", 2400))
    code, severity, message, places = said(found)
    assert (code, severity, places) == ("AT0114", "warning", [4])
    assert message == (
        "the text has 2410 calls, this one is in it 2400 times: a loop around it is unrolled"
    )
    assert "asc.range" in found.hint
    assert findings(text.format("static_range", 1900)) == []
    assert findings(text.format("range", 2400)) == []
