"""What blocks for ever ends the run and says who waits for what, and who holds it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import asctrace as asc
from asctrace import HardEvent, TPosition
from tests.race_kit import marked, outcome, tensor

SCHEDULES = [("program", 0), ("late", 0), ("random", 0), ("random", 1)]


def queue_of(num: int) -> Any:
    pipe = asc.TPipe()
    queue = asc.TQue(TPosition.VECIN, 2)
    pipe.init_buffer(queue, num, 256)
    return queue


def alloc_without_a_buffer(x: asc.GlobalAddress):
    queue = queue_of(2)
    a = queue.alloc_tensor(asc.float32)  # held
    asc.data_copy(a, tensor(x), 64)
    queue.enque(queue.alloc_tensor(asc.float32))  # enqueued
    queue.alloc_tensor(asc.float32)  # waits


def deque_of_an_empty_queue(x: asc.GlobalAddress):
    queue = queue_of(2)
    a = queue.alloc_tensor(asc.float32)  # held
    asc.data_copy(a, tensor(x), 64)
    queue.deque(asc.float32)  # waits


def wait_without_a_set(x: asc.GlobalAddress):
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, 64)
    asc.data_copy(a, tensor(x), 64)
    asc.set_flag(HardEvent.MTE2_V, 1)  # other
    asc.wait_flag(HardEvent.MTE2_V, 0)  # waits


def scalar_wait_without_a_set(x: asc.GlobalAddress):
    asc.wait_flag(HardEvent.V_S, 2)  # waits


def second_wait(x: asc.GlobalAddress, n: int):
    asc.set_flag(HardEvent.V_MTE3, 0)
    for _ in range(n):
        asc.wait_flag(HardEvent.V_MTE3, 0)  # waits


def wait_before_the_set(x: asc.GlobalAddress, n: int):
    """The id is known to the simulator only."""
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, 64)
    asc.wait_flag(HardEvent.MTE2_V, n)  # waits
    asc.add(a, a, a, 64)
    asc.data_copy(a, tensor(x), 64)
    asc.set_flag(HardEvent.MTE2_V, n + 1)  # maybe
    asc.set_flag(HardEvent.MTE2_V, 0)
    asc.set_flag(HardEvent.MTE2_V, n)


def loop_without_a_first_set(x: asc.GlobalAddress, n: int):
    for i in range(n):
        asc.wait_flag(HardEvent.MTE3_MTE2, i % 2)  # waits
        asc.set_flag(HardEvent.MTE3_MTE2, i % 2)  # set


def scalar_wait_before_the_set(x: asc.GlobalAddress, n: int):
    asc.set_flag(HardEvent.V_S, n)
    asc.wait_flag(HardEvent.V_S, n)  # taken
    asc.wait_flag(HardEvent.V_S, n)  # waits
    asc.set_flag(HardEvent.V_S, n)  # set


def exhausted_event_ids(x: asc.GlobalAddress, n: int):
    pipe = asc.TPipe()
    pipe.release_event_id(pipe.alloc_event_id(HardEvent.V_S), HardEvent.V_S)
    pipe.alloc_event_id(HardEvent.V_S)  # one
    pipe.alloc_event_id(HardEvent.V_MTE2)
    for _ in range(n):
        pipe.alloc_event_id(HardEvent.V_S)  # waits


def too_many_tensors(x: asc.GlobalAddress, n: int):
    pipe = asc.TPipe()
    one, other = asc.TQue(TPosition.VECIN, 8), asc.TQue(TPosition.VECIN, 8)
    pipe.init_buffer(one, n, 32)
    pipe.init_buffer(other, n, 32)
    one.enque(one.alloc_tensor(asc.float32))  # enqueued
    for _ in range(n):
        other.alloc_tensor(asc.float32)  # waits


def full_queue(x: asc.GlobalAddress, n: int):
    pipe = asc.TPipe()
    queue = asc.TQue(TPosition.VECIN, 2)
    pipe.init_buffer(queue, n, 32)
    for _ in range(n):
        queue.enque(queue.alloc_tensor(asc.float32))  # waits


def runaway(x: asc.GlobalAddress, n: int):
    while n > 0:  # waits
        asc.pipe_barrier(asc.PipeID.PIPE_ALL)


@pytest.mark.parametrize(
    ("fn", "extra", "code", "text", "notes"),
    [
        (
            alloc_without_a_buffer, (), "AT0202",
            "alloc_tensor waits for ever: all 2 buffers of `queue` (TQue in VECIN)",
            [("not freed since", "held"), ("enqueued here, never taken", "enqueued")],
        ),
        (
            deque_of_an_empty_queue, (), "AT0202",
            "deque waits for ever: nothing is enqueued to `queue` (TQue in VECIN)",
            [("allocated here, not enqueued since", "held")],
        ),
        (
            wait_without_a_set, (), "AT0204",
            "wait_flag(MTE2_V, 0) waits for ever: nothing sets the event",
            [("set here: MTE2_V, 1", "other")],
        ),
        (
            scalar_wait_without_a_set, (), "AT0204",
            "wait_flag(V_S, 2) waits for ever: nothing sets the event", [],
        ),
        (
            second_wait, (2,), "AT0204",
            "wait_flag(V_MTE3, 0) waits for ever: nothing sets the event",
            [("the set before was waited for here", "waits")],
        ),
        (
            wait_before_the_set, (1,), "AT0204",
            "wait_flag(MTE2_V, 1) comes before its set_flag",
            [("set here, behind the wait", "maybe")],
        ),
        (
            loop_without_a_first_set, (2,), "AT0204",
            "wait_flag(MTE3_MTE2, 0) comes before its set_flag",
            [("set here, behind the wait", "set")],
        ),
        (
            scalar_wait_before_the_set, (3,), "AT0204",
            "wait_flag(V_S, 3) waits for ever: the scalar unit waits here and never comes to",
            [("the set before was waited for here", "taken"), ("set here, behind the wait", "set")],
        ),
        (
            exhausted_event_ids, (8,), "AT0204",
            "alloc_event_id: all 8 ids of V_S are taken",
            [("taken here", "one"), ("taken here (7 times)", "waits")],
        ),
        (
            too_many_tensors, (8,), "AT0108",
            "9 tensors are allocated at VECIN at once, 8 is the limit",
            [("enqueued here, never taken", "enqueued"), ("not freed since (7 times)", "waits")],
        ),
        (
            full_queue, (3,), "AT0202",
            "is full: 2 tensors are enqueued and its depth is 2",
            [("enqueued here, not taken yet (2 times)", "waits")],
        ),
        (runaway, (1,), "AT0206", "the loop goes past the operation budget", []),
    ],
)  # fmt: skip
@pytest.mark.parametrize(("schedule", "seed"), SCHEDULES)
@pytest.mark.filterwarnings("ignore::asctrace.KernelWarning")
def test_never_a_hang(
    fn: Callable[..., Any],
    extra: tuple[int, ...],
    code: str,
    text: str,
    notes: list[tuple[str, str]],
    schedule: str,
    seed: int,
) -> None:
    x = np.ones(64, np.float32)
    kernel = asc.jit(fn, sim=asc.SimParams(schedule=schedule, seed=seed, op_budget=1000))
    with pytest.raises(asc.KernelError) as caught:
        kernel[1](x, *extra)
    found = caught.value.findings[0]
    assert found.code == code
    assert text in found.message
    assert found.spans[0].line == marked(fn, "waits")
    assert [(note, span.line if span else 0) for note, span in found.notes] == [
        (note, marked(fn, mark)) for note, mark in notes
    ]
    assert (x == 1).all()


def ids_that_are_kept(x: asc.GlobalAddress):
    pipe = asc.TPipe()
    kept = pipe.alloc_event_id(HardEvent.V_S)  # kept
    given_back = pipe.alloc_event_id(HardEvent.V_S)
    asc.set_flag(HardEvent.V_S, kept)
    asc.wait_flag(HardEvent.V_S, kept)
    pipe.release_event_id(given_back, HardEvent.V_S)


def one_id_is_kept(x: asc.GlobalAddress):
    """The checks see it: the event has no release at all."""
    kept = asc.TPipe().alloc_event_id(HardEvent.V_S)  # kept
    asc.set_flag(HardEvent.V_S, kept)
    asc.wait_flag(HardEvent.V_S, kept)


def test_an_event_id_that_is_never_released_is_a_warning() -> None:
    x = np.ones(64, np.float32)
    for schedule, seed in SCHEDULES:
        for fn, times in ((ids_that_are_kept, 1), (one_id_is_kept, 2)):
            findings = outcome(fn, (x,), schedule, seed)[0]
            assert len(findings) == times  # of the run, before that of the checks
            for found in findings:
                assert (found.code, found.severity) == ("AT0204", "warning")
                assert found.message == "alloc_event_id(V_S) takes an id that is never released"
                assert found.spans[0].line == marked(fn, "kept")
    with pytest.warns(asc.KernelWarning, match="takes an id that is never released"):
        asc.jit(one_id_is_kept).lower(x)


def set_twice(x: asc.GlobalAddress):
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, 64)
    asc.data_copy(a, tensor(x), 64)
    asc.set_flag(HardEvent.MTE2_V, 0)  # first
    asc.set_flag(HardEvent.MTE2_V, 0)  # second
    asc.wait_flag(HardEvent.MTE2_V, 0)
    asc.add(a, a, a, 64)


def test_a_set_too_many_is_an_error_and_the_run_goes_on() -> None:
    for schedule, seed in SCHEDULES:
        (found,) = outcome(set_twice, (np.ones(64, np.float32),), schedule, seed)[0]
        assert (found.code, found.severity) == ("AT0204", "error")
        assert found.message == "set_flag(MTE2_V, 0) is set already"
        assert [s.line for s in found.spans] == [
            marked(set_twice, "second"), marked(set_twice, "first")
        ]  # fmt: skip
