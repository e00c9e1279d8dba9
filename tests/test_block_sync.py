"""Blocks that wait for one another: what that orders, who waits for ever, and the text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import asctrace as asc
from asctrace import HardEvent, PipeID, TPosition
from tests.race_kit import SCHEDULES, marked, outcome, sync, tensor

COUNT = 64
CHIPS = ("Ascend910B1", "Ascend950PR_958b")


# -- ways to meet, each between the writes of all blocks and the reads of all ---------------------


def workspaces(gm: Any, address: int = 8192, count: int = 512) -> tuple[Any, Any]:
    return tensor(gm), asc.LocalTensor(asc.int32, TPosition.VECCALC, address, count)


def not_at_all(gm: Any) -> None:
    sync(HardEvent.MTE3_MTE2)


def by_hardware(gm: Any) -> None:
    asc.sync_all()


def by_software(gm: Any) -> None:
    asc.sync_all(*workspaces(gm))


def by_flags(gm: Any) -> None:
    asc.cross_core_set_flag(3, 0, PipeID.PIPE_MTE3)
    asc.cross_core_wait_flag(3)


def by_events(gm: Any) -> None:
    """Block 0 waits for all, then all wait for block 0."""
    words, local = workspaces(gm)
    block, blocks = asc.get_block_idx(), asc.get_block_num()
    if block == 0:
        for other in range(1, blocks):
            asc.ib_wait(words, local, other, 0)
        for other in range(1, blocks):
            asc.ib_set(words, local, other, 1)
    else:
        asc.ib_set(words, local, block, 0)
        asc.ib_wait(words, local, block, 1)


def by_turns(gm: Any) -> None:
    """In the second turn each block's first turn is over."""
    words, local = workspaces(gm)
    asc.init_determine_compute_workspace(words, local)
    asc.wait_pre_block(words, local)
    asc.notify_next_block(words, local)
    asc.wait_pre_block(words, local)
    asc.notify_next_block(words, local)


MEETINGS = [by_hardware, by_software, by_flags, by_events, by_turns]


def ring(
    x: asc.GlobalAddress,
    w: asc.GlobalAddress,
    gm: asc.GlobalAddress,
    z: asc.GlobalAddress,
    meet: asc.ConstExpr[Any],
    rounds: int,
):
    """Every block hands its part to the one before it, some times."""
    block, blocks = asc.get_block_idx(), asc.get_block_num()
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, COUNT)
    asc.data_copy(a, tensor(x, block * COUNT), COUNT)
    for k in range(rounds):
        part = tensor(w, k * blocks * COUNT)
        sync(HardEvent.MTE2_MTE3)
        asc.data_copy(part[block * COUNT :], a, COUNT)  # writes
        meet(gm)
        asc.data_copy(a, part[(block + 1) % blocks * COUNT :], COUNT)  # reads
    sync(HardEvent.MTE2_MTE3)
    asc.data_copy(tensor(z, block * COUNT), a, COUNT)


def ring_arguments(blocks: int, meet: Any, rounds: int = 1) -> tuple[Any, ...]:
    x = np.arange(blocks * COUNT, dtype=np.float32)
    # `wait_pre_block` does without a workspace of zeros.
    gm = np.full(256, 5 if meet is by_turns else 0, np.int32)
    return x, np.zeros(rounds * x.size, np.float32), gm, np.zeros_like(x), meet, rounds


@pytest.mark.parametrize("meet", MEETINGS)
@pytest.mark.parametrize("blocks", [2, 5])
def test_what_was_written_before_is_read_after(meet: Any, blocks: int) -> None:
    args = ring_arguments(blocks, meet, rounds=3)
    expected = np.roll(args[0].reshape(blocks, COUNT), -3, axis=0).ravel()
    for schedule, seed in SCHEDULES:
        if meet is by_turns:
            args = ring_arguments(blocks, meet, rounds=1)
            expected = np.roll(args[0].reshape(blocks, COUNT), -1, axis=0).ravel()
        findings, arrays = outcome(ring, args, schedule, seed, blocks)
        assert findings == [], [str(f) for f in findings]
        np.testing.assert_array_equal(arrays[3], expected)


def test_the_twin_without_a_meeting() -> None:
    for schedule, seed in SCHEDULES:
        findings, arrays = outcome(ring, ring_arguments(4, not_at_all), schedule, seed, 4)
        assert findings
        assert {(f.code, f.severity) for f in findings} == {("AT0209", "error")}
        lines = {marked(ring, "writes"), marked(ring, "reads")}
        assert {s.line for f in findings for s in f.spans} == lines
        assert not arrays[3].any()


@pytest.mark.parametrize("meet", MEETINGS)
def test_without_the_search_for_races(meet: Any) -> None:
    for schedule in ("program", "late", "random"):
        for seed in (None, 0, 1):
            x, w, gm, z, *_ = ring_arguments(4, meet)
            params = asc.SimParams(schedule=schedule, seed=seed, detect_races=False)
            asc.jit(ring, sim=params)[4](x, w, gm, z, meet, 1)
            np.testing.assert_array_equal(z, np.roll(x, -COUNT))


def test_missing_meetings_show_as_wrong_results() -> None:
    """The search for races is off: late work of a block is not seen by the others."""
    x, w, gm, z, *_ = ring_arguments(8, not_at_all)
    asc.jit(ring, sim=asc.SimParams(schedule="late", detect_races=False))[8](
        x, w, gm, z, not_at_all, 1
    )
    assert not np.array_equal(z, np.roll(x, -COUNT))


def flags_behind(gm: Any) -> None:
    """The flag says that V has come this far, which has nothing to do with the copy."""
    sync(HardEvent.MTE3_MTE2)
    asc.cross_core_set_flag(3, 0, PipeID.PIPE_V)
    asc.cross_core_wait_flag(3, 0, PipeID.PIPE_MTE2)


def test_a_flag_on_another_pipe_orders_nothing() -> None:
    for schedule, seed in SCHEDULES:
        findings, _ = outcome(ring, ring_arguments(4, flags_behind), schedule, seed, 4)
        assert {(f.code, f.severity) for f in findings} == {("AT0209", "error")}


def wait_of(pipe: PipeID) -> Callable[[Any], None]:
    def meet(gm: Any) -> None:
        sync(HardEvent.MTE3_MTE2)
        asc.cross_core_set_flag(3, 0, PipeID.PIPE_MTE3)
        asc.cross_core_wait_flag(3, 0, pipe)

    return meet


@pytest.mark.parametrize(("soc", "pipe", "ordered"), [
    (CHIPS[0], PipeID.PIPE_V, True),  # holds everything there
    (CHIPS[1], PipeID.PIPE_V, False),
    (CHIPS[1], PipeID.PIPE_MTE2, True),
    (CHIPS[1], PipeID.PIPE_S, True),
])  # fmt: skip
def test_the_pipe_of_a_wait(soc: str, pipe: PipeID, ordered: bool) -> None:
    meet = wait_of(pipe)
    for schedule, seed in SCHEDULES[:6]:
        x, w, gm, z, *_ = ring_arguments(3, meet)
        kernel = asc.jit(ring, soc=soc, sim=asc.SimParams(schedule=schedule, seed=seed))
        if ordered:
            kernel[3](x, w, gm, z, meet, 1)
            np.testing.assert_array_equal(z, np.roll(x, -COUNT))
        else:
            with pytest.raises(asc.KernelError) as caught:
                kernel[3](x, w, gm, z, meet, 1)
            assert {f.code for f in caught.value.findings} == {"AT0209"}


# -- orders that go through several blocks --------------------------------------------------------


def relay(x: asc.GlobalAddress, w: asc.GlobalAddress, gm: asc.GlobalAddress, hops: int):
    """Block 0 writes; the last of some blocks reads, though block 0 knows only of the next one."""
    words, local = workspaces(gm)
    block = asc.get_block_idx()
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, COUNT)
    if block == 0:
        asc.data_copy(a, tensor(x), COUNT)
        sync(HardEvent.MTE2_MTE3)
        asc.data_copy(tensor(w), a, COUNT)
        asc.ib_set(words, local, 0, 0)
    elif block < hops:
        asc.ib_wait(words, local, block - 1, 0)
        asc.ib_set(words, local, block, 0)
    elif block == hops:
        asc.ib_wait(words, local, block - 1, 0)
        asc.data_copy(a, tensor(w), COUNT)
        sync(HardEvent.MTE2_MTE3)
        asc.data_copy(tensor(w, COUNT), a, COUNT)


def test_order_is_passed_on() -> None:
    x = np.arange(COUNT, dtype=np.float32)
    for schedule, seed in SCHEDULES:
        args = (x, np.zeros(2 * COUNT, np.float32), np.zeros(64, np.int32), 3)
        findings, arrays = outcome(relay, args, schedule, seed, 4)
        assert findings == []
        np.testing.assert_array_equal(arrays[1][COUNT:], x)
        assert not arrays[2].any()  # each event was waited for


def in_order(x: asc.GlobalAddress, gm: asc.GlobalAddress, z: asc.GlobalAddress, tiles: int):
    words, local = workspaces(gm)
    asc.init_determine_compute_workspace(words, local)
    a = asc.LocalTensor(asc.float16, TPosition.VECIN, 0, COUNT)
    for k in range(tiles):
        asc.data_copy(a, tensor(x, asc.get_block_idx() * COUNT), COUNT)
        sync(HardEvent.MTE2_MTE3)
        asc.wait_pre_block(words, local)
        asc.set_atomic_add(asc.float16)
        asc.data_copy(tensor(z, k * COUNT), a, COUNT)
        asc.set_atomic_none()
        asc.notify_next_block(words, local)


def test_turns_make_sums_deterministic() -> None:
    rng = np.random.default_rng(3)
    x = (rng.standard_normal((6, COUNT)) * 8).astype(np.float16)
    expected = np.zeros(COUNT, np.float16)
    for row in x:
        expected += row
    assert any(
        not np.array_equal(sum(x[rng.permutation(6)], np.zeros(COUNT, np.float16)), expected)
        for _ in range(20)
    )
    for schedule, seed in SCHEDULES:
        z, gm = np.zeros(3 * COUNT, np.float16), np.full(64, 9, np.int32)
        findings, arrays = outcome(in_order, (x, gm, z, 3), schedule, seed, 6)
        assert findings == []
        np.testing.assert_array_equal(arrays[2], np.tile(expected, 3))


def some(x: asc.GlobalAddress, w: asc.GlobalAddress, gm: asc.GlobalAddress, used: int, read: int):
    """The first blocks write and meet; block `read` reads all."""
    block = asc.get_block_idx()
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, 4 * COUNT)
    words, local = workspaces(gm)
    if block < used:
        asc.data_copy(a, tensor(x, block * COUNT), COUNT)
        sync(HardEvent.MTE2_MTE3)
        asc.data_copy(tensor(w, block * COUNT), a, COUNT)
        asc.sync_all(words, local, used)
    if block == read:
        asc.data_copy(a, tensor(w), 3 * COUNT)
        sync(HardEvent.MTE2_MTE3)
        asc.data_copy(tensor(w, 3 * COUNT), a, 3 * COUNT)


def test_some_of_the_blocks_meet() -> None:
    x = np.arange(3 * COUNT, dtype=np.float32)
    for schedule, seed in SCHEDULES:
        args = (x, np.zeros(6 * COUNT, np.float32), np.zeros(64, np.int32), 3)
        findings, arrays = outcome(some, (*args, 1), schedule, seed, 4)
        assert findings == []
        np.testing.assert_array_equal(arrays[1][3 * COUNT :], x)
        findings, _ = outcome(some, (*args, 3), schedule, seed, 4)
        assert {(f.code, f.severity) for f in findings} == {("AT0209", "error")}


# -- scalar stores --------------------------------------------------------------------------------


def stored(w: asc.GlobalAddress, z: asc.GlobalAddress, how: asc.ConstExpr[str]):
    block = asc.get_block_idx()
    a = asc.LocalTensor(asc.int32, TPosition.VECIN, 0, 16)
    w_gm = tensor(w)
    if block == 0:
        w_gm.set_value(0, 7)  # stores
        if how == "cleaned":
            asc.data_cache_clean_and_invalid(
                asc.CacheLine.ENTIRE_DATA_CACHE, asc.DcciDst.CACHELINE_OUT, w_gm
            )
    asc.sync_all()
    if block == 1:
        if how != "scalar":
            asc.data_copy(a, w_gm, 16)  # reads
            sync(HardEvent.MTE2_MTE3)
            asc.data_copy(tensor(z), a, 16)
        else:
            tensor(z).set_value(0, w_gm.get_value(0))  # gets


@pytest.mark.parametrize(("how", "mark"), [("copy", "reads"), ("scalar", "gets")])
def test_a_meeting_writes_no_cache_back(how: str, mark: str) -> None:
    for schedule, seed in SCHEDULES[:6]:
        args = (np.zeros(16, np.int32), np.zeros(16, np.int32), how)
        (found,) = outcome(stored, args, schedule, seed, 2)[0]
        assert (found.code, found.severity) == ("AT0210", "error")
        assert "still in the data cache of block 0" in found.message
        assert [s.line for s in found.spans] == [marked(stored, mark), marked(stored, "stores")]


def test_a_cache_that_is_cleaned_before_the_meeting() -> None:
    for schedule, seed in SCHEDULES[:6]:
        args = (np.zeros(16, np.int32), np.zeros(16, np.int32), "cleaned")
        findings, arrays = outcome(stored, args, schedule, seed, 2)
        assert findings == [], [str(f) for f in findings]
        assert arrays[1].tolist() == [7, *[0] * 15]


# -- who waits for ever ---------------------------------------------------------------------------


def in_a_branch(gm: asc.GlobalAddress):
    if asc.get_block_idx() > 1:
        asc.sync_all()  # waits


def early_return(gm: asc.GlobalAddress):
    if asc.get_block_idx() == 2:
        return
    asc.sync_all()  # waits


def two_places(gm: asc.GlobalAddress):
    if asc.get_block_idx() % 2 == 0:
        asc.sync_all()  # waits
    else:
        asc.cross_core_wait_flag(1)  # also


def lone_event(gm: asc.GlobalAddress):
    words, local = workspaces(gm)
    if asc.get_block_idx() == 1:
        asc.ib_wait(words, local, 0, 2)  # waits


def set_twice(gm: asc.GlobalAddress):
    words, local = workspaces(gm)
    if asc.get_block_idx() == 0:
        asc.ib_set(words, local, 0, 0)
        asc.ib_set(words, local, 0, 0)  # waits


def no_turn(gm: asc.GlobalAddress):
    words, local = workspaces(gm)
    asc.init_determine_compute_workspace(words, local)
    if asc.get_block_idx() > 1:
        asc.wait_pre_block(words, local)  # waits


def fewer_rounds(gm: asc.GlobalAddress):
    words, local = workspaces(gm)
    for _ in range(1 + asc.get_block_idx()):
        asc.sync_all(words, local)  # waits


NOT_COME = "have not come to sync_all"
STUCK: list[tuple[Any, str, str, list[str]]] = [
    (in_a_branch, "sync_all in blocks 2 and 3", f"blocks 0 and 1 {NOT_COME}",
     ["blocks 0 and 1 have ended"]),
    (early_return, "sync_all in blocks 0, 1 and 3", "block 2 has not come to sync_all",
     ["block 2 has ended"]),
    (two_places, "sync_all in blocks 0 and 2", f"blocks 1 and 3 {NOT_COME}",
     ["blocks 1 and 3 wait here: blocks 0 to 3 have not come to the set of flag 1"]),
    (lone_event, "ib_wait in block 1", "the word of block 0, event 2 is 0, not 1",
     ["blocks 0, 2 and 3 have ended"]),
    (set_twice, "ib_set in block 0", "the word of block 0, event 0 is 1, not 0",
     ["blocks 1 to 3 have ended"]),
    (no_turn, "wait_pre_block in blocks 2 and 3", "blocks 0 and 1 did not pass on turn 1",
     ["blocks 0 and 1 have ended"]),
    (fewer_rounds, "sync_all in blocks 1 to 3", "block 0 of 4 is missing",
     ["block 0 has ended"]),
]  # fmt: skip


@pytest.mark.parametrize(("fn", "who", "why", "notes"), STUCK)
def test_who_waits_for_ever(fn: Any, who: str, why: str, notes: list[str]) -> None:
    for schedule, seed in SCHEDULES:
        (found,) = outcome(fn, (np.zeros(256, np.int32),), schedule, seed, 4)[0]
        assert (found.code, found.severity) == ("AT0212", "error")
        assert found.message == f"{who} waits for ever: {why}"
        assert [note for note, _ in found.notes] == notes
        assert found.spans[0].line == marked(fn, "waits")
        if fn is two_places:
            assert found.spans[1].line == marked(fn, "also")


def test_more_blocks_than_cores() -> None:
    def kernel(gm: asc.GlobalAddress, meet: asc.ConstExpr[bool]):
        if meet:
            asc.sync_all()

    asc.jit(kernel)[100](np.zeros(8, np.int32), False)
    asc.jit(kernel)[48](np.zeros(8, np.int32), True)
    with pytest.raises(asc.KernelError) as caught:
        asc.jit(kernel)[49](np.zeros(8, np.int32), True)
    assert caught.value.code == "AT0212"
    assert "a kernel of 49 blocks, on a chip with 48 vector cores" in str(caught.value)


def test_a_fault_of_one_block_is_told_though_others_wait() -> None:
    def kernel(gm: asc.GlobalAddress, n: int):
        if asc.get_block_idx() == 2:
            tensor(gm).set_value(n, 1)
        asc.sync_all()

    for schedule, seed in SCHEDULES[:6]:
        (found,) = outcome(kernel, (np.zeros(8, np.int32), 8), schedule, seed, 4)[0]
        assert found.code == "AT0201"
        assert ("in block 2 of 4", None) in found.notes
        assert outcome(kernel, (np.zeros(8, np.int32), 7), schedule, seed, 4)[0] == []


def test_a_runaway_loop_that_meets() -> None:
    def kernel(gm: asc.GlobalAddress, n: int):
        while n > 0:
            asc.sync_all()

    with pytest.raises(asc.KernelError) as caught:
        asc.jit(kernel, sim=asc.SimParams(op_budget=3000))[3](np.zeros(8, np.int32), 1)
    assert caught.value.code == "AT0206"


def test_the_budget_is_that_of_all_blocks() -> None:
    def kernel(gm: asc.GlobalAddress, n: int):
        for _ in range(n):
            asc.sync_all()
            asc.pipe_barrier(PipeID.PIPE_ALL)

    for budget, enough in ((400, True), (300, False)):
        run = asc.jit(kernel, sim=asc.SimParams(op_budget=budget))[4]
        if enough:
            assert run(np.zeros(8, np.int32), 32) is not None
        else:
            with pytest.raises(asc.KernelError, match="AT0206"):
                run(np.zeros(8, np.int32), 32)


def test_meetings_deep_in_a_program() -> None:
    """Nodes too deep for one Python function move into others, which wait too."""

    def kernel(x: asc.GlobalAddress, n: int):
        total = 0
        for a in asc.range(n):
            for b in asc.range(n):
                for c in asc.range(n):
                    for d in asc.range(n):
                        for e in asc.range(n):
                            for f in asc.range(n):
                                for g in asc.range(n):
                                    for h in asc.range(n):
                                        for i in asc.range(n):
                                            total += deep(n, a + b + c + d + e + f + g + h + i)
        tensor(x, 16 * asc.get_block_idx()).set_value(0, total)

    def deep(n: Any, total: Any) -> Any:
        for a in asc.range(n):
            for b in asc.range(n):
                for c in asc.range(n):
                    for d in asc.range(n):
                        for e in asc.range(n):
                            for f in asc.range(n):
                                for g in asc.range(n):
                                    for h in asc.range(n):
                                        asc.sync_all()
                                        total += 1 + a + b + c + d + e + f + g + h
        return total

    x = np.zeros(64, np.int32)
    asc.jit(kernel)[4](x, 1)
    assert x[::16].tolist() == [1] * 4
    source = asc.jit(kernel).lower(x, 1).source
    assert source.count("for (int32_t") == 17


# -- workspaces and flags that are wrong ----------------------------------------------------------


def soft(gm: asc.GlobalAddress, room: int, used: int, size: asc.ConstExpr[int]):
    words, local = workspaces(gm, count=size)
    asc.sync_all(words[:room], local, used)


def event(gm: asc.GlobalAddress, room: int, number: int, size: asc.ConstExpr[int]):
    words, local = workspaces(gm, count=size)
    asc.ib_set(words[:room], local, asc.get_block_idx(), number)


def turns(gm: asc.GlobalAddress, room: int, number: int, size: asc.ConstExpr[int]):
    words, local = workspaces(gm, count=size)
    asc.init_determine_compute_workspace(words, local)
    asc.wait_pre_block(words[:room], local)
    asc.notify_next_block(words, local)


@pytest.mark.parametrize(("fn", "args", "code"), [
    (soft, (32, 0, 32), ""),
    (soft, (32, 4, 32), ""),
    (soft, (31, 0, 32), "AT0201"),
    (soft, (32, 0, 24), "AT0201"),
    (soft, (32, 5, 32), "AT0108"),
    (soft, (32, -1, 32), "AT0108"),
    (soft, (32, 2, 32), "AT0212"),
    (event, (64, 1, 8), ""),
    (event, (63, 1, 8), "AT0201"),
    (event, (64, 0, 0), "AT0201"),
    (event, (64, -1, 8), "AT0108"),
    (turns, (32, 0, 40), ""),
    (turns, (31, 0, 40), "AT0201"),
    (turns, (32, 0, 32), "AT0201"),
])  # fmt: skip
def test_room_in_workspaces(fn: Any, args: Any, code: str) -> None:
    findings, _ = outcome(fn, (np.zeros(64, np.int32), *args), "program", 0, 4)
    assert [f.code for f in findings] == [code] * bool(code)


def test_a_workspace_that_is_not_zero() -> None:
    (found,) = outcome(soft, (np.full(64, 3, np.int32), 64, 0, 64), "program", 0, 2)[0]
    assert found.code == "AT0212"
    assert "finds 3 in the word of block" in found.message


def test_a_workspace_cleared_by_every_block() -> None:
    """As the documentation allows: later blocks clear what earlier ones have written."""

    def kernel(gm: asc.GlobalAddress, z: asc.GlobalAddress):
        words, local = workspaces(gm, count=32)
        asc.duplicate(local, 0, 32)
        sync(HardEvent.V_MTE3)
        asc.data_copy(words, local, 32)
        asc.sync_all(words, local)
        asc.sync_all(words, local)

    for schedule, seed in SCHEDULES:
        findings, _ = outcome(
            kernel, (np.full(32, 9, np.int32), np.zeros(8, np.int32)), schedule, seed, 4
        )
        assert [f.severity for f in findings if f.severity == "error"] == []


def test_the_workspace_of_turns_needs_its_start() -> None:
    def kernel(gm: asc.GlobalAddress):
        words, local = workspaces(gm)
        asc.wait_pre_block(words, local)

    (found,) = outcome(kernel, (np.zeros(64, np.int32),), "program", 0, 1)[0]
    assert found.code == "AT0203"


def flags(gm: asc.GlobalAddress, sets: int, waits: int, flag: int, all: asc.ConstExpr[bool]):
    for _ in range(sets):
        asc.cross_core_set_flag(flag, 0, PipeID.PIPE_MTE3)  # sets
    for _ in range(waits):
        asc.cross_core_wait_flag(flag)
    if all:
        asc.sync_all()


@pytest.mark.parametrize(("args", "text"), [
    ((15, 15, 0, True), ""),
    ((16, 16, 0, False), "counts flag 0 past 15"),
    ((2, 1, 5, False), "cross_core_set_flag of flag 5 is never waited for"),
    ((1, 1, 14, False), ""),
    ((1, 1, 14, True), "sync_all uses flag 14, and so does cross_core_set_flag"),
    ((1, 1, 16, False), "cross_core_set_flag of flag 16"),
])  # fmt: skip
def test_flags(args: Any, text: str) -> None:
    findings, _ = outcome(flags, (np.zeros(8, np.int32), *args), "program", 0, 1)
    assert len(findings) == bool(text)
    assert not text or text in findings[0].message


@pytest.mark.parametrize(("call", "soc", "code"), [
    (lambda gm: asc.cross_core_set_flag(0, 3, PipeID.PIPE_V), CHIPS[0], "AT0108"),
    (lambda gm: asc.cross_core_set_flag(0, 4, PipeID.PIPE_V), CHIPS[0], "AT0108"),
    (lambda gm: asc.cross_core_set_flag(0, 4, PipeID.PIPE_S), CHIPS[1], ""),
    (lambda gm: asc.cross_core_set_flag(0, 0, PipeID.PIPE_S), CHIPS[1], "AT0108"),
    (lambda gm: asc.cross_core_set_flag(0, 0, PipeID.PIPE_ALL), CHIPS[0], "AT0108"),
    (lambda gm: asc.cross_core_wait_flag(0, 0, PipeID.PIPE_ALL), CHIPS[0], "AT0108"),
    (lambda gm: asc.cross_core_wait_flag(17), CHIPS[0], "AT0108"),
    (lambda gm: asc.ib_set(tensor(gm), asc.LocalTensor(asc.int32, TPosition.A1, 0, 8), 0, 0),
     CHIPS[0], "AT0116"),
    (lambda gm: asc.ib_set(tensor(gm), asc.LocalTensor(asc.float32, TPosition.VECIN, 0, 8), 0, 0),
     CHIPS[0], "AT0102"),
    (lambda gm: asc.sync_all(tensor(gm), asc.LocalTensor(asc.int32, TPosition.VECIN, 4, 8)),
     CHIPS[0], "AT0103"),
    (lambda gm: asc.ib_wait(*workspaces(gm), -1, 0), CHIPS[0], "AT0108"),
])  # fmt: skip
def test_what_is_known_while_tracing(call: Any, soc: str, code: str) -> None:
    def kernel(gm: asc.GlobalAddress):
        call(gm)

    if not code:
        asc.jit(kernel, soc=soc).trace(np.zeros(8, np.int32))
        return
    with pytest.raises(asc.KernelError) as caught:
        asc.jit(kernel, soc=soc).trace(np.zeros(8, np.int32))
    assert caught.value.code == code


@pytest.mark.parametrize(("call", "soc", "code", "text"), [
    (lambda: asc.cross_core_set_flag(0, 1, PipeID.PIPE_MTE3), CHIPS[0], "AT0307",
     "cross_core_set_flag in mode 1, which is between the vector cores of one cube core"),
    (lambda: asc.cross_core_wait_flag(0, 2, PipeID.PIPE_MTE3), CHIPS[0], "AT0307",
     "cross_core_wait_flag in mode 2, which is between a cube core and its vector cores"),
    (lambda: asc.cross_core_set_flag(0, 4, PipeID.PIPE_S), CHIPS[1], "AT0307",
     "cross_core_set_flag in mode 4, which is between a cube core and one of its vector cores"),
    (lambda: asc.sync_all(False), CHIPS[0], "AT0212",
     "sync_all(is_aiv_only=False) waits for ever"),
])  # fmt: skip
def test_what_needs_cube_cores(call: Any, soc: str, code: str, text: str) -> None:
    def kernel(gm: asc.GlobalAddress):
        call()

    (found,) = outcome(kernel, (np.zeros(8, np.int32),), "program", 0, 2, soc=soc)[0]
    assert found.code == code
    assert found.message.startswith(text)


# -- the text -------------------------------------------------------------------------------------


def every_call(gm: asc.GlobalAddress, n: int):
    words, local = workspaces(gm)
    asc.data_sync_barrier(asc.MemDsbT.DDR)
    asc.ib_set(words, local, n, 3)
    asc.ib_wait(words, local, n, 3, False)
    asc.sync_all()
    asc.sync_all(is_aiv_only=False)
    asc.sync_all(words, local)
    asc.sync_all(words[8:], local[8:], n)
    asc.cross_core_set_flag(n, 2, PipeID.PIPE_FIX)
    asc.cross_core_wait_flag(3, 2, PipeID.PIPE_MTE2)
    asc.cross_core_wait_flag(4)
    asc.init_determine_compute_workspace(words, local)
    asc.wait_pre_block(words[64:], local[16:])
    asc.notify_next_block(words, local)


def test_text() -> None:
    source = asc.jit(every_call).lower(np.zeros(256, np.int32), 2).source
    lines = [line.strip().replace("result", "words") for line in source.splitlines()]
    assert lines[lines.index("AscendC::DataSyncBarrier<AscendC::MemDsbT::DDR>();") :] == [
        "AscendC::DataSyncBarrier<AscendC::MemDsbT::DDR>();",
        "AscendC::IBSet<true>(words, local, n, 3);",
        "AscendC::IBWait<false>(words, local, n, 3);",
        "AscendC::SyncAll<true>();",
        "AscendC::SyncAll<false>();",
        "AscendC::SyncAll<true>(words, local, 0);",
        "AscendC::SyncAll<true>(words[8], local[8], n);",
        "AscendC::CrossCoreSetFlag<2, PIPE_FIX>(n);",
        "AscendC::CrossCoreWaitFlag<2, PIPE_MTE2>(3);",
        "AscendC::CrossCoreWaitFlag<0, PIPE_S>(4);",
        "AscendC::InitDetermineComputeWorkspace(words, local);",
        "AscendC::GlobalTensor<int32_t> global_tensor = words[64];",
        "AscendC::LocalTensor<int32_t> tensor = local[16];",
        "AscendC::WaitPreBlock(global_tensor, tensor);",
        "AscendC::NotifyNextBlock(words, local);",
        "}",
    ]
