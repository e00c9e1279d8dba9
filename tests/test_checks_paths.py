"""Queues and events through branches and loops, resets and pools."""

from __future__ import annotations

import pytest

from asctrace.tracer.diagnostics import KernelError
from tests.checks_kit import QUE, clean, findings, lines, only, said

# -- queues in branches and loops -----------------------------------------------------------------


def test_wrong_in_one_arm_is_a_warning() -> None:
    found = only("""
        t = que.alloc_tensor(f32)
        asc.data_copy(t, gm, 64)
        que.free_tensor(t)
        if n > 3:
            asc.data_copy(gm, t, 64)
    """)
    assert (found.code, found.severity, lines(found)) == ("AT0202", "warning", [5, 3, 4])
    assert [text for text, _ in found.notes] == ["freed here", "only when this condition holds"]


def test_wrong_in_the_other_arm_or_behind_a_way_out() -> None:
    found = only("""
        if n > 3:
            que.free_tensor(que.alloc_tensor(f32))
        else:
            que.deque(f32)
    """)
    assert (found.severity, lines(found)) == ("warning", [4, 1])
    assert found.notes[-1][0] == "only when this condition does not hold"
    found = only("""
        if n > 3:
            return
        que.deque(f32)
    """)
    assert (found.severity, lines(found)) == ("warning", [3, 1])
    assert found.notes[-1][0] == "only when this condition does not hold"
    found = only("""
        for i in asc.range(4):
            if n > 3:
                if m > 3:
                    break
                gm.set_value(i, 1.0)
            que.deque(f32)
    """)
    assert found.notes[-1][0] == "unless control goes elsewhere here"


def test_wrong_behind_a_branch_is_an_error() -> None:
    found = only("""
        t = que.alloc_tensor(f32)
        if n > 3:
            que.enque(t)
            t = que.deque(f32)
        que.free_tensor(t)
        que.deque(f32)
    """)
    assert (found.code, found.severity, lines(found)) == ("AT0202", "error", [6])


def test_arms_that_do_the_same() -> None:
    clean("""
        if n > 3:
            t = que.alloc_tensor(f32)
            asc.data_copy(t, gm, 64)
        else:
            t = que.alloc_tensor(f32)
            asc.data_copy(t, gm, 32)
        que.enque(t)
        t = que.deque(f32)
        que.free_tensor(t)
    """)
    found = only("""
        if n > 3:
            t = que.alloc_tensor(f32)
            asc.data_copy(t, gm, 64)
        else:
            t = que.alloc_tensor(f32)
        que.free_tensor(t)
        que.free_tensor(t)
    """)
    assert (found.severity, lines(found)) == ("error", [7, 6])


def test_silent_where_the_state_is_unknown() -> None:
    clean("""
        t = que.alloc_tensor(f32)
        if n > 3:
            que.enque(t)
        if n > 3:
            t = que.deque(f32)
        que.free_tensor(t)
    """)
    clean("""
        t = que.alloc_tensor(f32)
        u = que.alloc_tensor(f32)
        first = n > 3
        t, u = (u, t) if first else (t, u)
        que.free_tensor(t)
        que.free_tensor(u)
    """)


def test_one_of_two_queues() -> None:
    for text in ("que.free_tensor(t)", "out.free_tensor(r)"):
        found = findings(f"""
            t = que.alloc_tensor(f32)
            r = out.alloc_tensor(f32)
            {text}
        """)
        assert len(found) == 1
        assert found[0].severity == "warning"


def test_loops_that_are_neutral() -> None:
    clean("""
        for i in asc.range(n):
            t = que.alloc_tensor(f32)
            asc.data_copy(t, gm, 64)
            que.enque(t)
            t = que.deque(f32)
            if i == m:
                que.free_tensor(t)
                continue
            asc.add(t, t, t, 64)
            que.free_tensor(t)
    """)


def test_a_loop_that_prefetches() -> None:
    clean("""
        t = que.alloc_tensor(f32)
        asc.data_copy(t, gm, 64)
        que.enque(t)
        for i in asc.range(n):
            t = que.alloc_tensor(f32)
            asc.data_copy(t, gm, 64)
            que.enque(t)
            u = que.deque(f32)
            asc.add(u, u, u, 64)
            que.free_tensor(u)
        que.free_tensor(que.deque(f32))
    """)


def test_a_tensor_carried_through_a_loop() -> None:
    clean("""
        t = que.alloc_tensor(f32)
        for i in asc.range(n):
            u = que.alloc_tensor(f32)
            que.free_tensor(t)
            t = u
        que.free_tensor(t)
    """)
    found = only("""
        t = que.alloc_tensor(f32)
        for i in asc.range(n):
            u = que.alloc_tensor(f32)
            que.free_tensor(t)
            t = u
        que.free_tensor(t)
        que.free_tensor(t)
    """)
    assert (found.severity, lines(found)) == ("error", [7, 6])


def test_leak_in_each_iteration() -> None:
    leak = """
        for i in asc.range({trips}):
            t = que.alloc_tensor(f32)
            asc.data_copy(t, gm, 64)
    """
    found = only(leak.format(trips=3))
    assert said(found) == (
        "AT0202",
        "error",
        f"alloc_tensor waits for ever: all 2 buffers of {QUE} are in use",
        [2, 2],
    )
    found = only(leak.format(trips="n"))
    assert (found.code, found.severity, lines(found)) == ("AT0202", "warning", [2, 2, 1])
    assert found.notes[-1][0] == "only if this loop runs 3 times"
    assert [f.severity for f in findings(leak.format(trips=2))] == ["warning", "warning"]


def test_while_loops() -> None:
    clean("""
        i = n
        while i > 0:
            que.free_tensor(que.alloc_tensor(f32))
            i -= 1
    """)
    found = only("""
        i = n
        while True:
            que.deque(f32)
            i -= 1
            if i <= 0:
                break
    """)
    assert (found.severity, lines(found)) == ("error", [3])
    found = only("""
        i = n
        while True:
            que.alloc_tensor(f32)
            i -= 1
            if i <= 0:
                break
    """)
    assert (found.severity, found.notes[-1][0]) == ("warning", "only if this loop runs 3 times")


def test_a_loop_that_is_left_early() -> None:
    clean("""
        t = que.alloc_tensor(f32)
        for i in asc.range(4):
            if i == n:
                break
            que.enque(t)
            t = que.deque(f32)
        que.free_tensor(t)
    """)
    found = only("""
        for i in asc.range(4):
            if i == n:
                return
        que.deque(f32)
    """)
    assert (found.severity, found.notes[-1][0]) == (
        "warning", "unless the kernel returns in this loop"
    )  # fmt: skip


def test_amounts_of_zero() -> None:
    freed = "t = que.alloc_tensor(f32)\n{} = que.free_tensor(t)\nasc.add(t, t, t, {})"
    assert findings(freed.format("_", 0)) == []
    (found,) = findings(freed.format("_", "n"))
    assert (found.severity, found.notes[-1]) == ("warning", ("only if the amount is not 0", None))


def test_all_findings_in_one_report() -> None:
    found = findings("""
        t = que.alloc_tensor(f32)
        que.free_tensor(t)
        que.free_tensor(t)
        asc.add(t, t, t, 64)
        out.deque(f32)
        asc.wait_flag(E, 0)
        asc.set_flag(F, 1)
    """)
    assert [(f.code, f.severity, lines(f)[0]) for f in found] == [
        ("AT0202", "error", 3),
        ("AT0202", "error", 4),
        ("AT0202", "error", 5),
        ("AT0204", "error", 6),
        ("AT0204", "warning", 7),
    ]


# -- events ---------------------------------------------------------------------------------------


def test_events_in_order() -> None:
    clean("""
        asc.set_flag(E, 0)
        asc.set_flag(F, 0)
        asc.set_flag(E, 1)
        asc.wait_flag(E, 1)
        asc.wait_flag(E, 0)
        asc.wait_flag(F, 0)
    """)


def test_set_twice() -> None:
    found = only("""
        asc.set_flag(E, 1)
        asc.set_flag(E, 1)
        asc.wait_flag(E, 1)
    """)
    assert said(found) == ("AT0204", "error", "set_flag(MTE2_V, 1) is set already", [2, 1])
    assert found.hint == "an event is a single bit: wait for it before it is set again"


def test_wait_without_a_set() -> None:
    found = only("""
        asc.set_flag(E, 1)
        asc.wait_flag(E, 1)
        asc.wait_flag(E, 1)
    """)
    assert said(found) == (
        "AT0204", "error", "wait_flag(MTE2_V, 1) waits for ever: nothing sets the event", [3, 2]
    )  # fmt: skip
    assert found.notes[0][0] == "the set before was waited for here"


def test_wait_before_its_set() -> None:
    found, left = findings("""
        asc.wait_flag(E, 1)
        asc.set_flag(E, 0)
        asc.set_flag(E, 1)
        asc.wait_flag(E, 0)
    """)
    assert (left.severity, left.message) == ("warning", "set_flag(MTE2_V, 1) is never waited for")
    assert said(found) == (
        "AT0204",
        "error",
        "wait_flag(MTE2_V, 1) comes before its set_flag",
        [1, 3],
    )
    assert found.notes[0][0] == "set here, behind the wait"
    assert found.hint.startswith("put the set_flag first: once the queue of a waiting pipe is full")
    found = only("""
        asc.wait_flag(G, 1)
        if n > 3:
            asc.set_flag(G, m)
    """)
    assert lines(found) == [1, 3]
    assert found.message == (
        "wait_flag(MTE2_S, 1) waits for ever: the scalar unit waits here and never comes to the "
        "set_flag"
    )


def test_set_never_consumed() -> None:
    found = only("asc.set_flag(F, 2)")
    assert said(found) == ("AT0204", "warning", "set_flag(V_MTE3, 2) is never waited for", [1])


def test_event_id_out_of_range() -> None:
    with pytest.raises(KernelError, match="AT0108: event id 8 does not exist"):
        findings("asc.set_flag(E, 8)")


def test_set_in_one_iteration_and_waited_for_in_the_next() -> None:
    primed = """
        {}  # before
        for i in asc.range(n):
            asc.wait_flag(G, 0)
            asc.set_flag(G, 0)
        {}  # behind
    """
    clean(primed.format("asc.set_flag(G, 0)", "asc.wait_flag(G, 0)"))
    found = only(primed.format("", ""))
    assert (found.severity, lines(found)) == ("warning", [3, 4, 2])
    assert [note for note, _ in found.notes] == [
        "set here, behind the wait", "only if this loop runs"
    ]  # fmt: skip
    found = only("""
        for i in asc.range(4):
            asc.set_flag(G, 0)
    """)
    assert said(found) == ("AT0204", "error", "set_flag(MTE2_S, 0) is set already", [2, 2])


def test_event_ids_that_the_device_computes() -> None:
    clean("""
        for i in asc.range(n):
            asc.set_flag(G, i % 2)
            asc.wait_flag(G, i % 2)
        asc.set_flag(G, m - m)
        asc.wait_flag(G, 0)
    """)


def test_events_under_one_condition() -> None:
    clean("""
        if n > 3:
            asc.set_flag(E, 0)
        if n > 3:
            asc.wait_flag(E, 0)
    """)
    found = only("""
        if n > 3:
            asc.set_flag(E, 0)
        else:
            asc.set_flag(E, 0)
        asc.set_flag(E, 0)
    """)
    assert (found.severity, lines(found)[0]) == ("error", 5)


# -- resets, pools, TBufs, in-place tensors, bound queues -----------------------------------------


def test_reset_before_init() -> None:
    clean("""
        for stage in asc.static_range(2):
            t = que.alloc_tensor(f32)
            que.enque(t)
            que.free_tensor(que.deque(f32))
            pipe.reset()
            pipe.init_buffer(que, 2, 512)
            pipe.init_buffer(out, 1, 256)
    """)
    found = only("""
        pipe.reset()
        t = que.alloc_tensor(f32)
    """)
    assert said(found) == ("AT0202", "error", f"{QUE} has no buffers yet", [2])
    with pytest.raises(KernelError, match="gets buffers a second time"):
        findings("pipe.init_buffer(que, 2, 512)")


def test_tensors_end_with_a_reset() -> None:
    found = only("""
        t = que.alloc_tensor(f32)
        pipe.reset()
        asc.data_copy(t, gm, 64)
    """)
    assert (found.code, found.severity, lines(found)) == ("AT0202", "error", [3, 2])
    assert found.message.endswith("which has been freed")


_BUFFER = """
    buf = asc.TBuf(asc.TPosition.VECCALC)
    pipe.init_buffer(buf, 256)
    t = buf.get(f32)
    u = t[8:]
    {}
    pipe.reset()
    {}
"""


@pytest.mark.parametrize(
    ("use", "line"),
    [
        ("asc.data_copy(t, gm, 64)", 7),
        ("asc.data_copy(u, gm, 8)", 7),
        ("t.set_value(0, 1.0)", 7),
        ("pipe.init_buffer(buf, 256)\n    asc.data_copy(t, gm, 64)", 8),
    ],
)
def test_tensors_of_a_tbuf_end_with_a_reset(use: str, line: int) -> None:
    found = only(_BUFFER.format("", use))
    assert (found.code, found.severity, lines(found)) == ("AT0202", "error", [line, 6])
    assert found.message.endswith("which has been freed")
    clean(_BUFFER.format(use.replace("pipe.init_buffer(buf, 256)", "m = 0"), ""))
    again = "pipe.init_buffer(buf, 512)\n    t = buf.get_with_offset(64, 32, f32)\n    u = t[8:]"
    clean(
        _BUFFER.format("", f"{again}\n    {use.removeprefix('pipe.init_buffer(buf, 256)').strip()}")
    )


def test_a_tbuf_without_memory() -> None:
    found = only(_BUFFER.format("", "t = buf.get(f32)"))
    assert said(found) == (
        "AT0202", "error", "`buf` (TBuf in VECCALC) from kernel.py:12:11 has no memory yet", [7],
    )  # fmt: skip
    assert found.hint == "call pipe.init_buffer(buf, len) first, on every path"
    (found,) = findings("""
        buf = asc.TBuf(asc.TPosition.VECCALC)
        pipe.init_buffer(buf, 256)
        if n:
            pipe.reset()
        else:
            pipe.reset()
        t = buf.get(f32)
    """)
    assert (found.severity, lines(found)) == ("error", [7])


def test_resets_on_some_paths() -> None:
    """What is known of a TBuf at a place is what all paths there agree on."""
    for trips in ("n", "3"):
        clean(f"""
            buf = asc.TBuf(asc.TPosition.VECCALC)
            for i in asc.range({trips}):
                pipe.init_buffer(buf, 256)
                t = buf.get(f32)
                t.set_value(0, 1.0)
                pipe.reset()
        """)
    found = only("""
        buf = asc.TBuf(asc.TPosition.VECCALC)
        pipe.init_buffer(buf, 256)
        t = buf.get(f32)
        for i in asc.range(3):
            t.set_value(0, 1.0)
            pipe.reset()
    """)
    assert (found.code, found.severity, lines(found)[:2]) == ("AT0202", "error", [5, 6])
    clean(
        """
        buf = asc.TBuf(asc.TPosition.VECCALC)
        pipe.init_buffer(buf, 256)
        t = buf.get(f32)
        if n:
            pipe.reset()
            pipe.init_buffer(buf, 256)
        t = buf.get(f32)
        t.set_value(0, 1.0)
    """,
        (0, 0),
        (1, 0),
    )


_POOL = """
    pool = asc.TBufPool(VECIN)
    inner = asc.TBufPool(VECIN)
    buf = asc.TBuf(VECIN)
    a = asc.TQue(VECIN, 1)
    pipe.init_buf_pool(pool, 2048)
    pool.init_buf_pool(inner, 1024)
    pool.init_buffer(buf, 256)
    inner.init_buffer(a, 1, 256)
    t = buf.get(f32)
    v = a.alloc_tensor(f32)
    {}
    {}
    {}
"""


@pytest.mark.parametrize("reset", ["pool.reset()", "pipe.reset()", "pipe.destroy()"])
@pytest.mark.parametrize("use", ["asc.data_copy(t, gm, 64)", "asc.data_copy(v, gm, 64)"])
def test_tensors_of_pools_end_with_a_reset(reset: str, use: str) -> None:
    """That of a pool takes back what its inner pools gave, too."""
    found = only(_POOL.format("", reset, use))
    assert (found.code, found.severity, lines(found)) == ("AT0202", "error", [13, 12])
    assert found.message.endswith("which has been freed")
    clean(_POOL.format(use, "a.free_tensor(v)", reset))


def test_a_reset_of_the_inner_pool_leaves_the_rest() -> None:
    clean(_POOL.format("a.free_tensor(v)", "inner.reset()", "asc.data_copy(t, gm, 64)"))
    found = only(_POOL.format("", "inner.reset()", "asc.data_copy(v, gm, 64)"))
    assert (found.code, lines(found)) == ("AT0202", [13, 12])


@pytest.mark.parametrize(
    ("reset", "again", "pool"),
    [
        ("pipe.reset()", "pool.init_buffer(buf, 256)", "pool"),
        ("pipe.reset()", "pool.init_buf_pool(inner, 512)", "pool"),
        ("pool.reset()", "inner.init_buffer(a, 1, 256)", "inner"),
    ],
)
def test_pools_without_memory(reset: str, again: str, pool: str) -> None:
    found = only(_POOL.format("a.free_tensor(v)", reset, again))
    assert (found.code, found.severity, lines(found)) == ("AT0202", "error", [13])
    assert found.message.startswith(f"`{pool}` (TBufPool in VECIN) from kernel.py:")
    assert found.message.endswith(" has no memory yet")
    given = "pipe.init_buf_pool" if pool == "pool" else "pool.init_buf_pool"
    clean(_POOL.format("a.free_tensor(v)", reset, f"{given}({pool}, 1024)\n    {again}"))


def test_pools() -> None:
    stages = """
        pool = asc.TBufPool(VECIN)
        pipe.init_buf_pool(pool, 1024)
        a = asc.TQue(VECIN, 1)
        pool.init_buffer(a, 1, 256)
        t = a.alloc_tensor(f32)
        {}
        pool.reset()
        pool.init_buffer(a, 2, 256)
        t = a.alloc_tensor(f32)
        u = a.alloc_tensor(f32)
        a.free_tensor(t)
        {}
    """
    clean(stages.format("a.free_tensor(t)", "a.free_tensor(u)"))
    clean(stages.format("a.enque(t)", "a.free_tensor(u)"))
    found = only(stages.format("a.free_tensor(t)", "a.free_tensor(t)"))
    assert (found.code, found.severity, lines(found)) == ("AT0202", "error", [12, 11])
    found = only(stages.format("a.free_tensor(a.alloc_tensor(f32))", "a.free_tensor(u)"))
    assert (found.code, found.severity, lines(found)) == ("AT0202", "error", [6, 5])


def test_tbuf_tensors_stay_with_it() -> None:
    for name in ("enque", "free_tensor"):
        with pytest.raises(KernelError, match=f"AT0202: {name} of `t` .* belongs to `buf`"):
            findings(f"""
                buf = asc.TBuf(VECIN)
                pipe.init_buffer(buf, 256)
                t = buf.get(f32)
                que.{name}(t)
            """)
    clean("""
        buf = asc.TBuf(asc.TPosition.VECCALC)
        pipe.init_buffer(buf, 256)
        t = buf.get(f32)
        t.set_value(0, 1.0)
    """)


def test_in_place_tensors() -> None:
    life = """
        flat = asc.TQue(VECIN, 0)
        pipe.init_buffer(flat, 2, 256)
        t = asc.LocalTensor(f32, VECIN, 0, 64)
        for i in asc.range(n):
            flat.alloc_tensor(t)
            flat.enque(t)
            flat.deque(t)
            flat.free_tensor(t)
        {}
    """
    clean(life.format(""))
    found = only("""
        flat = asc.TQue(VECIN, 0)
        pipe.init_buffer(flat, 2, 256)
        t = asc.LocalTensor(f32, VECIN, 0, 64)
        flat.alloc_tensor(t)
        flat.free_tensor(t)
        flat.free_tensor(t)
    """)
    assert (found.code, found.severity, lines(found)) == ("AT0202", "error", [6, 5])


def test_bound_queues() -> None:
    life = """
        through = asc.TQueBind(VECIN, VECOUT, 1)
        pipe.init_buffer(through, 2, 256)
        for i in asc.range(n):
            t = through.alloc_tensor(f32)
            through.enque(t)
            {} = through.deque(f32)
            through.free_tensor(t)
    """
    clean(life.format("t"))
    found = only(life.format("u").replace("through.free_tensor(t)", "asc.add(u, u, u, 64)"))
    assert (found.severity, found.notes[-1][0]) == ("warning", "only if this loop runs 3 times")


def test_status_of_a_queue() -> None:
    clean("""
        t = que.alloc_tensor(f32)
        if que.has_idle_buffer():
            que.enque(t)
            t = que.deque(f32)
        que.free_tensor(t)
        que.free_all_event()
    """)
