"""Queues, tensors and events: each rule broken, and a twin that keeps it."""

from __future__ import annotations

import linecache
import textwrap
import warnings
from typing import Any

import numpy as np
import pytest

import asctrace as asc
from asctrace.lowering.checks import check
from asctrace.tracer.diagnostics import Finding, KernelError, KernelWarning

#: What each kernel begins with, on lines 1 to 11; its own lines come from 12 on.
HEAD = """\
def kernel(x: asc.GlobalAddress, n: int, m: int):
    gm = asc.GlobalTensor()
    gm.set_global_buffer(x)
    pipe = asc.TPipe()
    que = asc.TQue(VECIN, 2)
    pipe.init_buffer(que, 2, 256)
    out = asc.TQue(VECOUT, 1)
    pipe.init_buffer(out, 1, 256)
    E = asc.HardEvent.MTE2_V
    F = asc.HardEvent.V_MTE3
    G = asc.HardEvent.MTE2_S
"""
FIRST = 12
QUE = "`que` (TQue in VECIN) from kernel.py:5:11"
OUT = "`out` (TQue in VECOUT) from kernel.py:7:11"


def make(text: str, head: str = HEAD) -> Any:
    """The kernel whose own lines are `text`."""
    source = head + textwrap.indent(textwrap.dedent(text).strip("\n"), "    ") + "\n"
    linecache.cache.pop("kernel.py", None)
    names: dict[str, Any] = {
        "asc": asc, "VECIN": asc.TPosition.VECIN, "VECOUT": asc.TPosition.VECOUT,
        "f32": asc.float32,
    }  # fmt: skip
    exec(compile(source, "kernel.py", "exec"), names)
    return asc.jit(names["kernel"])


X = np.ones(64, np.float32)


def findings(text: str, **options: Any) -> list[Finding]:
    kernel = make(text)
    return check(kernel.trace(X, 1, 1, **options).trace)


def lines(found: Finding) -> list[int]:
    return [span.line - FIRST + 1 for span in found.spans]


def only(text: str) -> Finding:
    """The one finding, which the simulator shares when it is an error."""
    (found,) = findings(text)
    if found.severity == "error":
        with pytest.raises(KernelError) as caught:
            make(text)[1](X.copy(), 1, 1)
        (ran,) = caught.value.findings
        assert (ran.code, ran.message, ran.spans[0]) == (found.code, found.message, found.spans[0])
    return found


def said(found: Finding) -> tuple[str, str, str, list[int]]:
    return found.code, found.severity, found.message, lines(found)


def clean(text: str, *inputs: tuple[int, int]) -> None:
    """No finding, and none when it runs."""
    assert findings(text) == []
    kernel = make(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n, m in inputs or ((0, 0), (3, 1), (5, 7)):
            kernel[1](X.copy(), n, m)


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
        [4, 4, 4],
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
        "AT0108", "error", "9 tensors are allocated at VECIN at once, 8 is the limit", [5]
    )  # fmt: skip
    clean(many.format(count=8))


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
        [2, 2, 2],
    )
    found = only(leak.format(trips="n"))
    assert (found.code, found.severity, lines(found)) == ("AT0202", "warning", [2, 2, 2, 1])
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
        "AT0204", "error", "wait_flag(MTE2_V, 1) waits for ever: nothing sets the event", [3]
    )  # fmt: skip


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
    assert (found.severity, lines(found)) == ("warning", [3, 2])
    assert found.notes[-1][0] == "only if this loop runs"
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
