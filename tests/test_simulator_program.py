"""The scalar program of the simulator: control flow, counting, memory, arguments, whole kernels."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

from asctrace.runtime.simulator import SimParams, compile_trace, simulate, simulated
from asctrace.tracer.language.dtypes import (
    bfloat16,
    bool_,
    float16,
    float32,
    int8,
    int32,
    int64,
    uint8,
    uint64,
)
from asctrace.tracer.language.enums import PipeID, TPosition
from asctrace.tracer.language.pipe import TPipe, TQue
from asctrace.tracer.language.tensor import LocalTensor
from asctrace.tracer.ops import sync, vec_binary
from asctrace.tracer.ops.data_copy import DATA_COPY
from asctrace.tracer.ops.debug import PRINTF
from asctrace.tracer.ops.functions import load_all
from asctrace.tracer.ops.spec import TABLE, OpFunction, record
from tests.simulator_kit import Kernel

data_copy = OpFunction(DATA_COPY)
add = OpFunction(vec_binary.ADD)
get_block_idx = OpFunction(sync.GET_BLOCK_IDX)
get_block_num = OpFunction(sync.GET_BLOCK_NUM)
pipe_barrier = OpFunction(sync.PIPE_BARRIER)


class Log:
    """A kernel that appends numbers to an array; `values` runs it."""

    def __init__(self) -> None:
        self.kernel = Kernel()

    def __enter__(self) -> Any:
        kernel = self.kernel.__enter__()
        self.out = kernel.tensor(kernel.address("out", int32))
        self.n = kernel.scalar("n", int32)
        self.count = kernel.var(int32, 0)
        return kernel

    def __exit__(self, *exc: object) -> None:
        self.kernel.__exit__(*exc)

    def put(self, value: Any) -> None:
        self.out.set_value(self.count, value)
        self.kernel.assign((self.count, self.count + 1))

    def values(self, n: int = 0, **options: Any) -> tuple[list[int], int]:
        """What was appended, and the operations with an effect besides the first two."""
        data = np.full(200, -99, np.int32)
        result = self.kernel.run(data, n, **options)
        return data[data != -99].tolist(), result.ops - 2


def test_every_row_is_simulated() -> None:
    load_all()
    assert [name for name, spec in TABLE.items() if not simulated(spec)] == []


def test_counted_loops() -> None:
    log = Log()
    with log as kernel:
        for start, stop, step in ((0, 3, 1), (5, 0, -2), (3, 3, 1), (log.n, 9, log.n)):
            with kernel.loop(stop, start, step) as i:
                log.put(i)
    assert log.values(4) == ([0, 1, 2, 5, 3, 1, 4, 8], 8)


def test_break_continue_and_counting_of_operations() -> None:
    log = Log()
    with log as kernel, kernel.loop(10) as i:
        log.put(i)
        with kernel.when(i == 1):
            log.put(100)
            kernel.jump("continue")
        with kernel.when(i == log.n) as test:
            log.put(200)
            kernel.jump("break")
        with kernel.otherwise(test):
            log.put(300)
        log.put(400)
    assert log.values(2) == ([0, 300, 400, 1, 100, 2, 200], 7)


def test_while_and_return() -> None:
    log = Log()
    with log as kernel:
        value = kernel.var(int32, 1)
        with kernel.loop():
            with kernel.when(value > log.n):
                with kernel.when(value == 64):
                    kernel.jump("return")
                kernel.jump("break")
            log.put(value)
            kernel.assign((value, value * 2))
        log.put(-1)
    assert log.values(20) == ([1, 2, 4, 8, 16, -1], 6)
    assert log.values(40) == ([1, 2, 4, 8, 16, 32], 6)


def test_assignment_is_parallel() -> None:
    log = Log()
    with log as kernel:
        a, b = kernel.var(int32, 1), kernel.var(int32, 2)
        kernel.assign((a, b), (b, a))
        log.put(a)
        log.put(b)
    assert log.values()[0] == [2, 1]


def test_variables_hold_what_their_dtype_holds() -> None:
    kernel = Kernel()
    with kernel:
        out = kernel.tensor(kernel.address("out", float32))
        x = kernel.var(float32, 0.1)
        out.set_value(0, x)
        kernel.assign((x, 1))
        out.set_value(1, x)
    data = np.zeros(2, np.float64)
    kernel.run(data.view(np.float32))
    assert data.view(np.float32)[:2].tolist() == [np.float32(0.1), 1.0]


def test_merged_tensors_and_addresses() -> None:
    kernel = Kernel()
    with kernel:
        x, y, out = (kernel.address(name, float32) for name in ("x", "y", "out"))
        n = kernel.scalar("n", int32)
        chosen = kernel.var(x.type, x)
        local = LocalTensor(float32, TPosition.VECIN, 0, 16)
        other = kernel.var(local.type, local)
        with kernel.when(n > 0):
            kernel.assign((chosen, y + 8), (other, local[8:]))
        data_copy(local, kernel.tensor(x), 16)
        data_copy(other, kernel.tensor(chosen), 8)
        data_copy(kernel.tensor(out), local, 16)
    x, y = np.arange(16, dtype=np.float32), np.arange(100, 116, dtype=np.float32)
    out = np.zeros(16, np.float32)
    kernel.run(x, y, out, 1)
    assert out.tolist() == [*range(8), *range(108, 116)]
    assert compile_trace(kernel.trace).written == {2}


def test_a_store_through_a_merged_address_may_write_either_array() -> None:
    kernel = Kernel()
    with kernel:
        x, y = kernel.address("x", float32), kernel.address("y", float32)
        chosen = kernel.var(x.type, x)
        with kernel.when(get_block_idx() > 0):
            kernel.assign((chosen, y + 1))
        kernel.tensor(chosen)[1:].set_value(0, 7.0)
    assert compile_trace(kernel.trace).written == {0, 1}
    x, y = np.zeros(3, np.float32), np.zeros(3, np.float32)
    kernel.run(x, y, blocks=2)
    assert (x.tolist(), y.tolist()) == ([0, 7, 0], [0, 0, 7])


@pytest.mark.parametrize("depth", [30, 90, 140])
def test_deep_conditions(depth: int) -> None:
    log = Log()
    with log as kernel, ExitStack() as stack, kernel.loop(2):
        for level in range(depth):
            test = stack.enter_context(kernel.when(log.n > level))
            if level % 2:
                with kernel.otherwise(test):
                    log.put(level)
        log.put(1000)
        stack.close()
    assert log.values(depth) == ([1000, 1000], 2)
    assert log.values(21)[0] == [21, 21]
    assert log.values(22)[0] == []


@pytest.mark.parametrize("kind", ["break", "continue", "return"])
def test_jumps_out_of_deep_conditions(kind: str) -> None:
    log = Log()
    with log as kernel:
        with kernel.loop(3) as i, ExitStack() as stack:
            log.put(i)
            for level in range(80):
                stack.enter_context(kernel.when(log.n > level))
            kernel.jump(kind)
            stack.close()
            log.put(10 + i)
        log.put(99)
    assert log.values(79)[0] == [0, 10, 1, 11, 2, 12, 99]
    expected = {"break": [0, 99], "continue": [0, 1, 2, 99], "return": [0]}
    assert log.values(80)[0] == expected[kind]


def test_deep_loops() -> None:
    log = Log()
    with log as kernel, ExitStack() as stack:
        for level in range(40):
            i = stack.enter_context(kernel.loop(2 if level in (0, 20, 39) else 1))
        log.put(i)
        with kernel.when(log.count == log.n):
            kernel.jump("return")
    assert log.values(-1) == ([0, 1] * 4, 8)
    assert log.values(3) == ([0, 1, 0], 3)


# -- memory and arguments -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype", [bool_, int8, uint8, int32, int64, uint64, float16, bfloat16, float32]
)
def test_elements_go_through_memory(dtype: Any) -> None:
    kernel = Kernel()
    with kernel:
        x, out = (kernel.tensor(kernel.address(name, dtype)) for name in ("x", "out"))
        local = LocalTensor(dtype, TPosition.VECIN, 96, 40)
        with kernel.loop(4) as i:
            local.set_value(i + 1, x.get_value(i))
            out.set_value(3 - i, local.get_value(i + 1))
    x = np.array([0, 1, 100, 3]).astype(dtype.np)
    out = np.zeros(4, dtype.np)
    kernel.run(x, out)
    assert out.tolist() == x[::-1].tolist()


def test_set_value_converts() -> None:
    kernel = Kernel()
    with kernel:
        ints = kernel.tensor(kernel.address("ints", int8))
        halves = kernel.tensor(kernel.address("halves", float16))
        f, n = kernel.scalar("f", float32), kernel.scalar("n", int32)
        ints.set_value(0, f)
        ints.set_value(1, n)
        ints.set_value(2, -3.9)
        halves.set_value(0, f)
        halves.set_value(1, n)
        halves.set_value(2, np.float32(0.1))
    ints, halves = np.zeros(3, np.int8), np.zeros(3, np.float16)
    kernel.run(ints, halves, -200.7, 300)
    assert ints.tolist() == [-128, 44, -3]
    assert halves.tolist() == [float(np.float16(v)) for v in (-200.7, 300, 0.1)]


def test_aliases_are_real() -> None:
    kernel = Kernel()
    with kernel:
        x, y = kernel.address("x", int32), kernel.address("y", int32)
        source, target = kernel.tensor(x), kernel.tensor(y)
        target.set_value(0, 5)
        target.set_value(1, source.get_value(1) + 1)
    data = np.zeros(3, np.int32)
    kernel.run(data[:2], data[1:])
    assert data.tolist() == [0, 5, 6]


def test_views_of_one_tensor_alias() -> None:
    kernel = Kernel()
    with kernel:
        out = kernel.tensor(kernel.address("out", int32))
        whole = LocalTensor(int32, TPosition.VECIN, 0, 64)
        halves = LocalTensor(float16, TPosition.VECCALC, 0, 128)
        whole[8:].set_value(1, 0x3C003C00)
        out.set_value(0, whole.get_value(9))
        out.set_value(1, halves.get_value(18) + halves.get_value(19))
        out.set_value(2, whole[8:12].get_size())
    data = np.zeros(3, np.int32)
    kernel.run(data)
    assert data.tolist() == [0x3C003C00, 2, 4]


def test_any_dtype_and_shape_of_array_is_bytes() -> None:
    kernel = Kernel()
    with kernel:
        x = kernel.tensor(kernel.address("x", int32))
        x.set_value(2, x.get_value(1) + 1)
    data = np.array([[1, 0], [3, 4]], np.int64)
    kernel.run(data[:1])
    assert data.tolist() == [[1, 1], [3, 4]]


def test_memories_are_separate() -> None:
    kernel = Kernel()
    with kernel:
        x = kernel.tensor(kernel.address("x", float32))
        ub = LocalTensor(float32, TPosition.VECIN, 0, 8)
        l1 = LocalTensor(float32, TPosition.A1, 0, 8)
        far = LocalTensor(float32, TPosition.B1, 524288 - 32, 8)
        data_copy(far, x, 8)
        data_copy(l1, x[8:], 8)
        data_copy(ub, x[8:], 8)
        data_copy(x[16:], far, 8)
        data_copy(x[24:], l1, 8)
    data = np.arange(32, dtype=np.float32)
    kernel.run(data)
    assert data.tolist() == [*range(16), *range(16)]


def test_printing(capsys: pytest.CaptureFixture[str]) -> None:
    kernel = Kernel()
    with kernel:
        x, n = kernel.scalar("x", float32), kernel.scalar("n", int32)
        half = kernel.scalar("half", float16)
        local = LocalTensor(float32, TPosition.VECIN, 0, 8)
        record(PRINTF, PRINTF.forms[0], (("x = ", x, ", n = ", n, "\n"),), kernel.recorder)
        with kernel.when(n > 0):
            pieces = (half, " ", n > 1, " ", local, "\n")
            record(PRINTF, PRINTF.forms[0], (pieces,), kernel.recorder)
    kernel.run(0.1, -3, 0.0)
    kernel.run(0.1, 2, 0.1)
    assert capsys.readouterr().out.splitlines() == [
        "x = 0.1, n = -3",
        "x = 0.1, n = 2",
        "0.1 True (LocalTensor of float32 in VECIN) from kernel.py:1:1",
    ]


def test_queues_place_buffers_in_order() -> None:
    kernel = Kernel()
    with kernel:
        out = kernel.tensor(kernel.address("out", int32))
        pipe = TPipe()
        first, second = TQue(TPosition.VECIN, 1), TQue(TPosition.VECOUT, 1)
        pipe.init_buffer(first, 2, 40)
        pipe.init_buffer(second, 1, 32)
        whole = LocalTensor(int32, TPosition.VECCALC, 0, 40)
        for value, queue in ((1, first), (2, first), (3, second)):
            tensor = queue.alloc_tensor(int32)
            tensor.set_value(0, value)
            queue.free_tensor(tensor)
        for k, index in enumerate((0, 16, 32)):
            out.set_value(k, whole.get_value(index))
        pipe_barrier(PipeID.PIPE_ALL)
    data = np.zeros(3, np.int32)
    assert kernel.run(data).findings == ()
    assert data.tolist() == [1, 2, 3]


def test_block_index_number_and_order() -> None:
    kernel = Kernel()
    with kernel:
        out = kernel.tensor(kernel.address("out", int32))
        out.set_value(out.get_value(0), get_block_idx() * 10 + get_block_num())
        out.set_value(0, out.get_value(0) + 1)

    def order(seed: int | None) -> list[int]:
        data = np.ones(9, np.int32)
        kernel.run(data, blocks=8, seed=seed)
        assert set(data[1:] % 10) == {8}
        return (data[1:] // 10).tolist()

    assert order(None) == list(range(8))
    assert sorted(order(0)) == list(range(8))
    assert order(0) == order(0) != order(1)
    assert order(0) != order(None)


def vector_add(tile: int, tiles: int) -> Kernel:
    """The double-buffered vector addition."""
    kernel = Kernel()
    with kernel:
        x, y, z = (kernel.address(name, float32) for name in "xyz")
        offset = get_block_idx() * kernel.scalar("block_length", int32)
        x_gm, y_gm, z_gm = (kernel.tensor(address + offset) for address in (x, y, z))
        pipe = TPipe()
        in_x, in_y = TQue(TPosition.VECIN, 2), TQue(TPosition.VECIN, 2)
        out_z = TQue(TPosition.VECOUT, 2)
        for queue in (in_x, in_y, out_z):
            pipe.init_buffer(queue, 2, tile * 4)
        with kernel.loop(tiles) as i:
            a, b = in_x.alloc_tensor(float32), in_y.alloc_tensor(float32)
            data_copy(a, x_gm[i * tile :], tile)
            data_copy(b, y_gm[i * tile :], tile)
            in_x.enque(a)
            in_y.enque(b)
            a, b = in_x.deque(float32), in_y.deque(float32)
            c = out_z.alloc_tensor(float32)
            add(c, a, b, tile)
            out_z.enque(c)
            in_x.free_tensor(a)
            in_y.free_tensor(b)
            c = out_z.deque(float32)
            data_copy(z_gm[i * tile :], c, tile)
            out_z.free_tensor(c)
    return kernel


def test_vector_add() -> None:
    kernel = vector_add(64, 6)
    program = compile_trace(kernel.trace)
    rng = np.random.default_rng(1)
    for _ in range(2):
        x, y = rng.random((2, 4 * 6 * 64), np.float32)
        z = np.zeros_like(x)
        result = simulate(program, (x, y, z, 6 * 64), 4)
        np.testing.assert_array_equal(z, x + y)
        assert (result.blocks, result.ops, result.findings) == (4, 4 * (13 + 6 * 16), ())
    assert program.written == {2}


def test_programs_run_in_threads() -> None:
    program = compile_trace(vector_add(64, 6).trace)
    rng = np.random.default_rng(2)
    inputs = [rng.random((2, 4 * 6 * 64), np.float32) for _ in range(4)]
    outputs = [np.zeros_like(x) for x, _ in inputs]

    def work(k: int) -> None:
        for seed in range(20):
            x, y = inputs[k]
            simulate(program, (x, y, outputs[k], 6 * 64), 4, SimParams(seed=seed))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for (x, y), z in zip(inputs, outputs, strict=True):
        np.testing.assert_array_equal(z, x + y)
