"""Queues and their tensors, straight on: each rule broken, and a twin that keeps it."""

from __future__ import annotations

import warnings

import pytest

from asctrace.tracer.diagnostics import KernelError, KernelWarning
from tests.checks_kit import OUT, QUE, X, clean, findings, lines, make, only, said

# -- queues, straight on --------------------------------------------------------------------------


def test_a_life() -> None:
    clean("""
        t = que.alloc_tensor(f32)
        asc.data_copy(t, gm, 64)
        que.enque(t)
        t = que.deque(f32)
        r = out.alloc_tensor(f32)
        asc.add(r, t, t, 64)
        out.enque(r)
        que.free_tensor(t)
        r = out.deque(f32)
        asc.data_copy(gm, r, 64)
        out.free_tensor(r)
    """)


def test_never_freed() -> None:
    found = only("""
        t = que.alloc_tensor(f32)
        asc.data_copy(t, gm, 64)
    """)
    assert said(found) == ("AT0202", "warning", f"a tensor of {QUE} is never freed", [1])
    assert found.hint == "call free_tensor, or enque it for its consumer"


def test_never_freed_after_deque_names_the_deque() -> None:
    found = only("""
        que.enque(que.alloc_tensor(f32))
        t = que.deque(f32)
    """)
    assert said(found) == ("AT0202", "warning", f"a tensor of {QUE} is never freed", [2])


def test_never_freed_names_the_places_on_both_paths() -> None:
    found = only("""
        if n > 0:
            t = que.alloc_tensor(f32)
        else:
            t = que.alloc_tensor(f32)
    """)
    assert said(found) == ("AT0202", "warning", f"a tensor of {QUE} is never freed", [2, 4])
    assert found.notes[0][0] == "on another path this one"


def test_never_taken() -> None:
    found = only("""
        t = que.alloc_tensor(f32)
        que.enque(t)
    """)
    assert said(found) == (
        "AT0202", "warning", f"a tensor enqueued to {QUE} is never taken", [2]
    )  # fmt: skip


def test_free_without_alloc() -> None:
    found = only("""
        t = asc.LocalTensor(f32, VECIN, 1024, 64)
        que.free_tensor(t)
    """)
    assert said(found) == (
        "AT0202",
        "error",
        (
            "free_tensor gives `t` (LocalTensor of float32 in VECIN) from kernel.py:12:9 to "
            f"{QUE}, but it was allocated by no queue"
        ),
        [2],
    )


def test_double_free() -> None:
    found = only("""
        t = que.alloc_tensor(f32)
        que.free_tensor(t)
        que.free_tensor(t)
    """)
    assert str(found) == (
        "kernel.py:14:5: error AT0202: free_tensor of `t` (LocalTensor of float32 in VECIN) from "
        "kernel.py:12:9, which has been freed\n"
        "  note: freed here (kernel.py:13:5)\n"
        "  hint: a queue's tensors go alloc_tensor, enque, deque, free_tensor, in this order"
    )


def test_use_after_free() -> None:
    found = only("""
        t = que.alloc_tensor(f32)
        asc.data_copy(t, gm, 64)
        que.free_tensor(t)
        asc.data_copy(gm, t, 64)
    """)
    assert said(found) == (
        "AT0202",
        "error",
        (
            "data_copy reads `t` (LocalTensor of float32 in VECIN) from kernel.py:12:9, "
            "which has been freed"
        ),
        [4, 3],
    )
    assert found.hint == (
        "a tensor is the owner's from alloc_tensor or deque to enque or free_tensor"
    )


@pytest.mark.parametrize(
    ("use", "verb"),
    [
        ("asc.add(t, t, t, 64)", "add writes"),
        ("asc.data_copy(t[8:], gm, 8)", "data_copy writes"),
        ("t.set_value(0, 1.0)", "LocalTensor.set_value writes"),
        ("t.get_value(0)", "LocalTensor.get_value reads"),
    ],
)
def test_use_between_enque_and_deque(use: str, verb: str) -> None:
    found = only(f"""
        t = que.alloc_tensor(f32)
        que.enque(t)
        {use}
        que.free_tensor(que.deque(f32))
    """)
    assert (found.code, lines(found)) == ("AT0202", [3, 2])
    assert found.message.startswith(verb)
    assert found.message.endswith("which is enqueued")


def test_use_after_deque_by_the_old_name() -> None:
    clean("""
        t = que.alloc_tensor(f32)
        asc.data_copy(t, gm, 64)
        que.enque(t)
        u = que.deque(f32)
        asc.add(t, u, t, 64)
        que.free_tensor(t)
    """)


def test_free_and_enque_while_enqueued() -> None:
    for name in ("free_tensor", "enque"):
        found = only(f"""
            t = que.alloc_tensor(f32)
            que.enque(t)
            que.{name}(t)
            que.free_tensor(que.deque(f32))
        """)
        assert said(found) == (
            "AT0202",
            "error",
            (
                f"{name} of `t` (LocalTensor of float32 in VECIN) from kernel.py:12:9, "
                "which is enqueued"
            ),
            [3, 2],
        )


def test_deque_without_enque() -> None:
    found = only("""
        t = que.alloc_tensor(f32)
        u = que.deque(f32)
        que.free_tensor(u)
    """)
    assert said(found) == (
        "AT0202", "error", f"deque waits for ever: nothing is enqueued to {QUE}", [2, 1]
    )  # fmt: skip
    assert found.hint == "the producer calls enque before the consumer calls deque"


def test_tensor_of_another_queue() -> None:
    found = only("""
        t = que.alloc_tensor(f32)
        out.enque(t)
    """)
    assert said(found) == (
        "AT0202",
        "error",
        (
            "enque gives `t` (LocalTensor of float32 in VECIN) from kernel.py:12:9 to "
            f"{OUT}, but it was allocated by {QUE}"
        ),
        [2],
    )


def test_more_tensors_than_buffers() -> None:
    found = only("""
        a = que.alloc_tensor(f32)
        que.enque(que.alloc_tensor(f32))
        c = que.alloc_tensor(f32)
    """)
    assert said(found) == (
        "AT0202",
        "error",
        f"alloc_tensor waits for ever: all 2 buffers of {QUE} are in use",
        [3, 1, 2],
    )
    assert [text for text, _ in found.notes] == ["not freed since", "enqueued here, never taken"]
    clean("""
        a = que.alloc_tensor(f32)
        b = que.alloc_tensor(f32)
        que.free_tensor(a)
        c = que.alloc_tensor(f32)
        que.free_tensor(b)
        que.free_tensor(c)
    """)


def test_enques_against_depth() -> None:
    more = """
        deep = asc.TQue(VECIN, {depth})
        pipe.init_buffer(deep, 3, 256)
        for _ in asc.static_range(3):
            deep.enque(deep.alloc_tensor(f32))
        for _ in asc.static_range(3):
            deep.free_tensor(deep.deque(f32))
    """
    found = only(more.format(depth=2))
    assert said(found) == (
        "AT0202",
        "error",
        (
            "`deep` (TQue in VECIN) from kernel.py:12:12 is full: 2 tensors are enqueued and its "
            "depth is 2"
        ),
        [4, 4],
    )
    clean(more.format(depth=3))


def test_tensors_at_one_position() -> None:
    many = """
        tensors = []
        for j in asc.static_range({count}):
            q = asc.TQue(VECIN, 1)
            pipe.init_buffer(q, 1, 32)
            tensors.append((q, q.alloc_tensor(f32)))
        a = out.alloc_tensor(f32)
        out.free_tensor(a)
        for q, t in tensors:
            q.free_tensor(t)
    """
    found = only(many.format(count=9))
    assert said(found) == (
        "AT0108", "error", "9 tensors are allocated at VECIN at once, 8 is the limit", [5, 5]
    )  # fmt: skip
    assert found.notes[0][0] == "not freed since (8 times)"
    clean(many.format(count=8))


# -- alignment ------------------------------------------------------------------------------------


def test_starts_that_are_not_aligned() -> None:
    """What is constant is refused while tracing."""
    copies = """
        t = asc.LocalTensor(f32, VECIN, {}, 64)
        asc.data_copy(t[{}:], gm, 8)
    """
    with pytest.raises(KernelError, match="AT0103: a LocalTensor begins at byte 1040, 16 past"):
        findings(copies.format(1040, 0))
    with pytest.raises(KernelError, match="which begins 12 bytes past a multiple of 32"):
        findings(copies.format(1056, 3))
    clean(copies.format(1056, 8))


# -- what must not be reported --------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        # Queue depth and number of buffers differ.
        """
        deep = asc.TQue(VECIN, 4)
        pipe.init_buffer(deep, 2, 256)
        deep.enque(deep.alloc_tensor(f32))
        deep.free_tensor(deep.deque(f32))
        """,
        """
        flat = asc.TQue(VECIN, 1)
        pipe.init_buffer(flat, 2, 256)
        a = flat.alloc_tensor(f32)
        b = flat.alloc_tensor(f32)
        flat.free_tensor(a)
        flat.free_tensor(b)
        """,
        # Exact in-place element-wise operations.
        """
        t = que.alloc_tensor(f32)
        asc.data_copy(t, gm, 64)
        que.enque(t)
        t = que.deque(f32)
        asc.add(t, t, t, 64)
        que.free_tensor(t)
        """,
        # Counts and repeats of 0.
        """
        t = que.alloc_tensor(f32)
        asc.add(t, t, t, 0)
        asc.data_copy(t, gm, 0)
        asc.add(t, t, t, 64, 0, asc.BinaryRepeatParams(1, 1, 1, 8, 8, 8))
        que.free_tensor(t)
        """,
    ],
)
def test_what_must_not_be_reported(text: str) -> None:
    clean(text)


def test_more_blocks_than_cores_without_a_barrier() -> None:
    kernel = make("""
        t = que.alloc_tensor(f32)
        que.free_tensor(t)
    """)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel[200](X.copy(), 1, 1)


def test_warnings_reach_the_launch() -> None:
    with pytest.warns(KernelWarning, match="is never freed"):
        make("t = que.alloc_tensor(f32)")[1](X.copy(), 1, 1)
