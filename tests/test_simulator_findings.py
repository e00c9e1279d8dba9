"""What the simulator refuses, with its messages: bounds, alignment, queues, events, traps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from asctrace.tracer.diagnostics import Finding, KernelError
from asctrace.tracer.language.dtypes import float32, int16, int32
from asctrace.tracer.language.enums import HardEvent, TPosition
from asctrace.tracer.language.pipe import TPipe, TQue
from asctrace.tracer.language.tensor import GlobalTensor, LocalTensor
from asctrace.tracer.ops import sync, vec_binary
from asctrace.tracer.ops.data_copy import DATA_COPY
from asctrace.tracer.ops.spec import OpFunction
from tests.simulator_kit import Kernel

data_copy = OpFunction(DATA_COPY)
add = OpFunction(vec_binary.ADD)
set_flag = OpFunction(sync.SET_FLAG)
wait_flag = OpFunction(sync.WAIT_FLAG)
get_block_idx = OpFunction(sync.GET_BLOCK_IDX)

VECIN, VECOUT, VECCALC = TPosition.VECIN, TPosition.VECOUT, TPosition.VECCALC


def failure(kernel: Kernel, *args: Any, **options: Any) -> Finding:
    """The error that a run ends with; arrays must be as before."""
    before = [np.copy(a) for a in args]
    with pytest.raises(KernelError) as caught:
        kernel.run(*args, **options)
    for array, copy in zip(args, before, strict=True):
        np.testing.assert_array_equal(array, copy)
    return caught.value.findings[0]


def where(finding: Finding) -> list[int]:
    return [span.line for span in finding.spans]


def said(finding: Finding) -> str:
    return f"{finding.code}: {finding.message}"


class Setting:
    """A kernel with an address `x`, a number `n` and a queue of two 256-byte buffers."""

    def __init__(self, build: Callable[[Any], None], depth: int = 2, num: int = 2) -> None:
        self.kernel = Kernel()
        with self.kernel as kernel:
            self.x = kernel.address("x", float32)
            self.n = kernel.scalar("n", int32)
            self.gm = kernel.tensor(self.x, name="x_gm")
            pipe = TPipe()
            self.queue = TQue(VECIN, depth)
            self.queue.name = "queue"
            pipe.init_buffer(self.queue, num, 256)
            self.start = kernel.recorder.number
            build(self)

    def fail(self, n: int = 0, size: int = 64, **options: Any) -> Finding:
        return failure(self.kernel, np.zeros(size, np.float32), n, **options)

    def lines(self, finding: Finding) -> list[int]:
        """Lines of the spans, counted from the first operation of `build`."""
        return [line - self.start for line in where(finding)]


# -- bounds and alignment -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "span"), [(8, "8 to 71"), (64, "64 to 127"), (-1, "-1 to 62"), (-100, "-100 to -37")]
)
def test_copy_out_of_the_array(n: int, span: str) -> None:
    def build(s: Any) -> None:
        data_copy(s.queue.alloc_tensor(float32), s.gm[s.n :], 64)

    setting = Setting(build)
    found = setting.fail(n)
    assert said(found) == (
        f"AT0201: data_copy reads elements {span} of parameter `x`, "
        "which has 64 elements of float32"
    )
    assert setting.lines(found) == [3]


def test_copy_out_of_the_size_given_to_the_tensor() -> None:
    kernel = Kernel()
    with kernel:
        x, n = kernel.address("x", float32), kernel.scalar("n", int32)
        gm = kernel.tensor(x + 8, 16, name="gm")
        local = LocalTensor(float32, VECIN, 0, 64)
        data_copy(local, gm, n)
    found = failure(kernel, np.zeros(64, np.float32), 24)
    assert said(found) == (
        "AT0201: data_copy reads elements 8 to 31 of parameter `x`, but the view "
        "`gm` (GlobalTensor of float32) from kernel.py:2:1 ends at element 24"
    )
    kernel.run(np.zeros(64, np.float32), 16)


def test_copy_out_of_a_slice() -> None:
    def build(s: Any) -> None:
        data_copy(s.queue.alloc_tensor(float32), s.gm[8:16][s.n :], 8)

    found = Setting(build).fail(1)
    assert said(found).startswith("AT0201: data_copy reads elements 9 to 16 of parameter `x`, but")
    assert found.message.endswith("ends at element 16")


def test_write_out_of_the_array_names_the_block() -> None:
    def build(s: Any) -> None:
        local = s.queue.alloc_tensor(float32)
        data_copy(local, s.gm, 64)
        data_copy(s.gm[get_block_idx() * 32 :], local, 64)

    found = Setting(build).fail(blocks=2)
    assert said(found).startswith("AT0201: data_copy writes elements 32 to 95 of parameter `x`")
    assert found.notes == (("in block 1 of 2", None),)


def test_unbound_tensor_on_one_path() -> None:
    kernel = Kernel()
    with kernel:
        x, n = kernel.address("x", float32), kernel.scalar("n", int32)
        gm = GlobalTensor()
        gm.name = "gm"
        with kernel.when(n > 0):
            gm.set_global_buffer(x)
        gm.get_value(0)
    kernel.run(np.zeros(4, np.float32), 1)
    found = failure(kernel, np.zeros(4, np.float32), 0)
    assert said(found).startswith("AT0201: GlobalTensor.get_value reads `gm`")
    assert "which has no buffer" in found.message


def test_local_tensor_too_short() -> None:
    def build(s: Any) -> None:
        data_copy(s.queue.alloc_tensor(float32), s.gm, s.n)

    found = Setting(build).fail(72, size=128)
    assert said(found) == (
        "AT0201: data_copy writes elements 0 to 71 of (LocalTensor of float32 in VECIN) "
        "from kernel.py:6:1, which has 64"
    )


def test_negative_local_view() -> None:
    def build(s: Any) -> None:
        s.queue.alloc_tensor(float32)[s.n :]

    found = Setting(build).fail(-2)
    assert said(found).startswith("AT0201: a view starts at element -2 of (LocalTensor of float32")


@pytest.mark.parametrize("index", [-1, 64])
def test_element_out_of_a_local_tensor(index: int) -> None:
    for build in (
        lambda s: s.queue.alloc_tensor(float32).get_value(s.n),
        lambda s: s.queue.alloc_tensor(float32).set_value(s.n, 1.0),
    ):
        found = Setting(build).fail(index)
        assert said(found).startswith(f"AT0201: element {index} of (LocalTensor of float32")
        assert found.message.endswith("which has 64 elements")


@pytest.mark.parametrize("index", [-1, 64])
def test_element_out_of_an_array(index: int) -> None:
    for verb, build in (
        ("get_value reads", lambda s: s.gm.get_value(s.n)),
        ("set_value writes", lambda s: s.gm.set_value(s.n, 1.0)),
    ):
        found = Setting(build).fail(index)
        assert said(found) == (
            f"AT0201: GlobalTensor.{verb} elements {index} to {index} of parameter `x`, "
            "which has 64 elements of float32"
        )


def test_misaligned_start_and_length_at_run_time() -> None:
    def start(s: Any) -> None:
        data_copy(s.queue.alloc_tensor(float32)[s.n :], s.gm, 8)

    found = Setting(start).fail(3)
    assert said(found).startswith("AT0103: data_copy writes (LocalTensor of float32 in VECIN)")
    assert found.message.endswith("at address 12, 12 bytes past a multiple of 32")

    def length(s: Any) -> None:
        data_copy(s.queue.alloc_tensor(float32), s.gm, s.n)

    found = Setting(length).fail(9)
    assert said(found) == (
        "AT0103: data_copy of 9 elements of float32 is 36 bytes, not a multiple of 32"
    )
    assert found.hint == "copy a multiple of 8 elements"
    assert said(Setting(length).fail(-8)) == "AT0108: data_copy of -8 elements"
    Setting(length).kernel.run(np.zeros(0, np.float32), 0)


def test_buffers_beyond_the_memory() -> None:
    kernel = Kernel()
    with kernel:
        n = kernel.scalar("n", int32)
        pipe = TPipe()
        first, second = TQue(VECIN, 2), TQue(VECOUT, 2)
        second.name = "second"
        pipe.init_buffer(first, 2, n)
        pipe.init_buffer(second, 2, n)
    kernel.run(49152)
    found = failure(kernel, 49153)
    assert said(found) == (
        "AT0104: 2 buffers of 49184 bytes for `second` (TQue in VECOUT) from kernel.py:3:1 end at "
        "byte 196736 of UB, which has 196608"
    )
    assert where(found) == [5]
    found = failure(kernel, 0)
    assert said(found).startswith("AT0108: (TQue in VECIN)")
    assert found.message.endswith("gets 2 buffers of 0 bytes")


def test_tensor_at_an_address_beyond_the_memory() -> None:
    kernel = Kernel()
    with kernel:
        n = kernel.scalar("n", int32)
        LocalTensor(float32, VECIN, n, 64)
    kernel.run(196608 - 256)
    found = failure(kernel, 196608 - 224)
    assert said(found) == (
        "AT0104: (LocalTensor of float32 in VECIN) from kernel.py:1:1 takes the bytes 196384 to "
        "196639 of UB, which has 196608"
    )


# -- memory that was never written ----------------------------------------------------------------


def unwritten_copy(s: Any) -> None:
    local = s.queue.alloc_tensor(float32)
    data_copy(local, s.gm, 8)
    data_copy(s.gm, local, 16)


def test_read_of_unwritten_memory() -> None:
    setting = Setting(unwritten_copy)
    found = setting.fail()
    assert said(found) == (
        "AT0203: data_copy reads element 8 of (LocalTensor of float32 in VECIN) "
        "from kernel.py:6:1, which was never written"
    )
    assert setting.lines(found) == [3]


def test_unwritten_element_and_local_copy() -> None:
    found = Setting(lambda s: s.queue.alloc_tensor(float32).get_value(2)).fail()
    assert said(found).startswith("AT0203: LocalTensor.get_value reads element 2 of")

    def build(s: Any) -> None:
        local = s.queue.alloc_tensor(float32)
        data_copy(local, local[32:], 8)

    assert said(Setting(build).fail()).startswith("AT0203: data_copy reads element 0 of")


def test_poison_without_the_check() -> None:
    data = np.zeros(64, np.float32)
    Setting(unwritten_copy).kernel.run(data, 0, check_uninitialised=False)
    assert (data[:8] == 0).all()
    assert np.isnan(data[8:16]).all()


def test_poison_is_large_for_integers_and_fresh_for_each_block() -> None:
    kernel = Kernel()
    with kernel:
        out = kernel.tensor(kernel.address("out", int16))
        local = LocalTensor(int16, VECCALC, 64, 16)
        out.set_value(get_block_idx(), local.get_value(3))
        local.set_value(3, 5)
    data = np.zeros(3, np.int16)
    kernel.run(data, blocks=3, check_uninitialised=False)
    assert data.tolist() == [0x7FFF] * 3
    assert failure(kernel, data, blocks=3).code == "AT0203"


# -- queues ---------------------------------------------------------------------------------------


def test_alloc_without_a_free_buffer() -> None:
    def build(s: Any) -> None:
        s.queue.enque(s.queue.alloc_tensor(float32))
        s.queue.alloc_tensor(float32)
        s.queue.alloc_tensor(float32)

    setting = Setting(build)
    found = setting.fail()
    assert said(found) == (
        "AT0202: alloc_tensor waits for ever: all 2 buffers of `queue` (TQue in VECIN) "
        "from kernel.py:4:1 are in use"
    )
    assert [text for text, _ in found.notes] == ["enqueued here, never taken", "not freed since"]
    assert setting.lines(found) == [4, 2, 3]


def test_queue_without_buffers_on_one_path() -> None:
    kernel = Kernel()
    with kernel:
        n = kernel.scalar("n", int32)
        pipe, queue = TPipe(), TQue(VECIN, 1)
        queue.name = "queue"
        with kernel.when(n > 0):
            pipe.init_buffer(queue, 1, 32)
        queue.free_tensor(queue.alloc_tensor(float32))
    kernel.run(1)
    assert said(failure(kernel, 0)) == (
        "AT0202: `queue` (TQue in VECIN) from kernel.py:2:1 has no buffers yet"
    )


def test_deque_of_an_empty_queue() -> None:
    found = Setting(lambda s: s.queue.deque(float32)).fail()
    assert said(found) == (
        "AT0202: deque waits for ever: nothing is enqueued to `queue` (TQue in VECIN) "
        "from kernel.py:4:1"
    )


def test_enque_beyond_the_depth() -> None:
    def build(s: Any) -> None:
        for _ in range(2):
            s.queue.enque(s.queue.alloc_tensor(float32))

    setting = Setting(build, depth=1)
    found = setting.fail()
    assert said(found).endswith("is full: 1 tensors are enqueued and its depth is 1")
    assert setting.lines(found) == [4, 2]
    Setting(build, depth=0).kernel.run(np.zeros(1, np.float32), 0)


def test_free_twice_and_free_while_enqueued() -> None:
    def twice(s: Any) -> None:
        local = s.queue.alloc_tensor(float32)
        s.queue.free_tensor(local)
        s.queue.free_tensor(local)

    setting = Setting(twice)
    found = setting.fail()
    assert said(found) == (
        "AT0202: free_tensor of (LocalTensor of float32 in VECIN) from kernel.py:6:1, "
        "which has been freed"
    )
    assert setting.lines(found) == [3, 2]

    def enqueued(s: Any) -> None:
        local = s.queue.alloc_tensor(float32)
        s.queue.enque(local)
        s.queue.free_tensor(local)

    assert Setting(enqueued).fail().message.endswith("which is enqueued")


def test_tensor_of_another_queue() -> None:
    def build(s: Any) -> None:
        other = TQue(VECOUT, 1)
        other.name = "other"
        pipe = TPipe()
        pipe.init_buffer(other, 1, 256)
        other.enque(s.queue.alloc_tensor(float32))

    found = Setting(build).fail()
    assert said(found) == (
        "AT0202: enque gives (LocalTensor of float32 in VECIN) from kernel.py:9:1 to `other` "
        "(TQue in VECOUT) from kernel.py:6:1, but it was allocated by `queue` (TQue in VECIN) "
        "from kernel.py:4:1"
    )


def test_free_of_a_tensor_at_an_address() -> None:
    found = Setting(lambda s: s.queue.free_tensor(LocalTensor(float32, VECIN, 0, 8))).fail()
    assert found.message.endswith("but it was allocated by no queue")


def test_use_after_free_even_when_the_buffer_is_taken_again() -> None:
    def build(s: Any) -> None:
        old = s.queue.alloc_tensor(float32)
        s.queue.free_tensor(old)
        new = s.queue.alloc_tensor(float32)
        data_copy(new, s.gm, 64)
        add(new, old, new, 64)

    setting = Setting(build, num=1)
    found = setting.fail()
    assert said(found) == (
        "AT0202: add reads (LocalTensor of float32 in VECIN) from kernel.py:6:1, "
        "which has been freed"
    )
    assert setting.lines(found) == [5, 2]


@pytest.mark.parametrize(
    "use",
    [
        lambda s, t: data_copy(t, s.gm, 64),
        lambda s, t: data_copy(s.gm, t, 64),
        lambda s, t: data_copy(t, t, 64),
        lambda s, t: t.get_value(0),
        lambda s, t: t.set_value(0, 1.0),
        lambda s, t: t[8:].set_value(0, 1.0),
    ],
)
def test_use_between_enque_and_deque(use: Callable[[Any, Any], None]) -> None:
    def build(s: Any) -> None:
        local = s.queue.alloc_tensor(float32)
        s.queue.enque(local)
        use(s, local)

    found = Setting(build).fail()
    assert found.code == "AT0202"
    assert found.message.endswith("which is enqueued")
    assert found.notes[0][0] == "enqueued here"


def test_use_after_deque_is_fine_through_either_name() -> None:
    def build(s: Any) -> None:
        local = s.queue.alloc_tensor(float32)
        data_copy(local, s.gm, 64)
        s.queue.enque(local)
        again = s.queue.deque(float32)
        add(again, local, again, 64)
        data_copy(s.gm, local, 64)
        s.queue.free_tensor(again)

    data = np.ones(64, np.float32)
    result = Setting(build).kernel.run(data, 0)
    assert result.findings == ()
    assert (data == 2).all()


def test_leftovers_are_warnings_and_named_once() -> None:
    def build(s: Any) -> None:
        s.queue.alloc_tensor(float32)
        s.queue.enque(s.queue.alloc_tensor(float32))

    setting = Setting(build)
    result = setting.kernel.run(np.zeros(1, np.float32), 0, blocks=4)
    queue = "`queue` (TQue in VECIN) from kernel.py:4:1"
    assert [(f.severity, said(f), setting.lines(f)) for f in result.findings] == [
        ("warning", f"AT0202: a tensor of {queue} is never freed", [1]),
        ("warning", f"AT0202: a tensor enqueued to {queue} is never taken", [3]),
    ]


# -- events ---------------------------------------------------------------------------------------


def test_events() -> None:
    event = HardEvent.MTE2_V

    def twice(s: Any) -> None:
        set_flag(event, 1)
        set_flag(event, 0)
        set_flag(event, s.n)

    setting = Setting(twice)
    found = setting.fail(1)
    assert said(found) == "AT0204: set_flag(MTE2_V, 1) is set already"
    assert setting.lines(found) == [3, 1]
    assert said(setting.fail(8)) == "AT0108: event id 8 does not exist"

    def never(s: Any) -> None:
        set_flag(event, 0)
        wait_flag(event, s.n)

    found = Setting(never).fail(3)
    assert said(found) == ("AT0204: wait_flag(MTE2_V, 3) waits for ever: nothing sets the event")
    assert said(Setting(never).fail(-1)) == "AT0108: event id -1 does not exist"
    assert Setting(never).kernel.run(np.zeros(1, np.float32), 0).findings == ()


def test_event_never_consumed() -> None:
    setting = Setting(lambda s: set_flag(HardEvent.V_MTE3, 2))
    (found,) = setting.kernel.run(np.zeros(1, np.float32), 0, blocks=2).findings
    assert (found.severity, said(found)) == (
        "warning", "AT0204: set_flag(V_MTE3, 2) is never waited for"
    )  # fmt: skip


# -- traps, runaway loops, arguments --------------------------------------------------------------


def test_trap_under_a_condition() -> None:
    def build(s: Any) -> None:
        with s.kernel.when(s.n > 3):
            s.kernel.jump("trap", "n is too large")

    setting = Setting(build)
    setting.kernel.run(np.zeros(1, np.float32), 3)
    found = setting.fail(4)
    assert said(found) == "AT0205: n is too large"
    assert setting.lines(found) == [3]


def test_warnings_of_earlier_blocks_come_with_an_error() -> None:
    def build(s: Any) -> None:
        s.queue.alloc_tensor(float32)
        with s.kernel.when(get_block_idx() > 0):
            s.kernel.jump("trap", "no")

    with pytest.raises(KernelError) as caught:
        Setting(build).kernel.run(np.zeros(1, np.float32), 0, blocks=2, seed=None)
    assert [(f.code, f.severity) for f in caught.value.findings] == [
        ("AT0205", "error"),
        ("AT0202", "warning"),
    ]


def test_runaway_loops() -> None:
    kernel = Kernel()
    with kernel:
        n = kernel.scalar("n", int32)
        with kernel.loop(n):
            pass
        with kernel.loop(), kernel.when(n > 5):
            kernel.jump("break")
    assert kernel.run(20, op_budget=100).ops == 0
    found = failure(kernel, 101, op_budget=100)
    assert said(found) == "AT0206: the loop goes past the operation budget of the simulator"
    assert where(found) == [1]
    found = failure(kernel, 5, op_budget=100)
    assert (found.code, where(found)) == ("AT0206", [2])


def test_budget_holds_for_all_blocks_together() -> None:
    kernel = Kernel()
    with kernel, kernel.loop(10):
        pass
    assert kernel.run(blocks=10, op_budget=100).blocks == 10
    assert failure(kernel, blocks=11, op_budget=100).code == "AT0206"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((np.zeros(4),), "kernel takes 2 arguments, not 1"),
        (([1.0], 1), "the argument for `x` is no C-contiguous NumPy array"),
        ((np.zeros((4, 4))[:, 0], 1), "the argument for `x` is no C-contiguous NumPy array"),
        (
            (np.zeros(4), 1 << 31),
            "the argument for `n` is 2147483648, which int32 cannot hold",
        ),
        (
            (np.broadcast_to(np.float32(0), (1,)), 1),
            "the kernel writes to `x`, but the array is read-only",
        ),
    ],
)
def test_arguments(args: tuple[Any, ...], message: str) -> None:
    setting = Setting(lambda s: s.gm.set_value(0, 1.0))
    with pytest.raises(KernelError) as caught:
        setting.kernel.run(*args)
    assert said(caught.value.findings[0]) == f"AT0113: {message}"


@pytest.mark.parametrize("blocks", [0, 65536])
def test_grid(blocks: int) -> None:
    kernel = Kernel()
    assert said(failure(kernel, blocks=blocks)) == f"AT0113: a grid of {blocks} blocks"
