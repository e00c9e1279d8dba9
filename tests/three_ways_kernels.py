"""Kernels for each family of operations, for the ways that the same call can go.

`through` brings a part of its arrays into local memory for each block, does what its body says and
brings the result back; a body has a few calls of one family, and what they need.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import asctrace as asc

#: Float32 elements of a block, and words that the scalar unit may write for it: a cache line.
LENGTH, WORDS = 64, 16
BLOCKS = 2


class Given(NamedTuple):
    """What a body gets: `x` of the block in global memory, in `a` and `y` in `b`; `work` is 4 KiB.

    `out` is what it fills, `words` global memory that nobody else uses.
    """

    out: Any
    a: Any
    b: Any
    work: Any
    x: Any
    words: Any


@asc.jit
def through(
    x: asc.GlobalAddress,
    y: asc.GlobalAddress,
    z: asc.GlobalAddress,
    words: asc.GlobalAddress,
    body: asc.ConstExpr,
):
    block = asc.get_block_idx()
    x_gm, y_gm, z_gm, words_gm = (asc.GlobalTensor() for _ in range(4))
    for tensor, address in ((x_gm, x), (y_gm, y), (z_gm, z)):
        tensor.set_global_buffer(address + block * LENGTH, LENGTH)
    words_gm.set_global_buffer(words + block * WORDS, WORDS)
    pipe = asc.TPipe()
    arrived = asc.TQue(asc.TPosition.VECIN, 2)
    leaving = asc.TQue(asc.TPosition.VECOUT, 1)
    work = asc.TBuf(asc.TPosition.VECCALC)
    pipe.init_buffer(arrived, 2, LENGTH * 4)
    pipe.init_buffer(leaving, 1, LENGTH * 4)
    pipe.init_buffer(work, 4096)
    for tensor in (x_gm, y_gm):
        local = arrived.alloc_tensor(asc.float32)
        asc.data_copy(local, tensor, LENGTH)
        arrived.enque(local)
    a, b = arrived.deque(asc.float32), arrived.deque(asc.float32)
    out = leaving.alloc_tensor(asc.float32)
    asc.duplicate(out, 0.25, LENGTH)
    body(Given(out, a, b, work, x_gm, words_gm))
    leaving.enque(out)
    arrived.free_tensor(a)
    arrived.free_tensor(b)
    out = leaving.deque(asc.float32)
    asc.data_copy(z_gm, out, LENGTH)
    asc.set_atomic_none()
    leaving.free_tensor(out)


def arguments() -> list[Any]:
    """Arrays for `through`, but for the body."""
    random = np.random.default_rng(6)
    size = LENGTH * BLOCKS
    x, y = (random.normal(0, 3, size).astype(np.float32) for _ in range(2))
    return [x, y, np.full(size, 0.5, np.float32), np.zeros(WORDS * BLOCKS, np.int32)]


class Body(NamedTuple):
    """A body, what it is of, and the chip where the default has no such calls."""

    family: str
    function: Callable[[Given], None]
    soc: str


BODIES: list[Body] = []


def of(family: str, soc: str = "Ascend910B1") -> Callable[[Any], Any]:
    """Put a body into the table."""

    def add(function: Any) -> Any:
        BODIES.append(Body(family, function, soc))
        return function

    return add


def scalar_to_vector() -> None:
    """Let the vector unit see what the scalar unit wrote."""
    event = asc.get_tpipe_ptr().fetch_event_id(asc.HardEvent.S_V)
    asc.set_flag(asc.HardEvent.S_V, event)
    asc.wait_flag(asc.HardEvent.S_V, event)


@of("vec_binary")
def binary(g: Given) -> None:
    asc.add(g.out, g.a, g.b, LENGTH)
    asc.mul(g.out, g.out, g.b, LENGTH)
    asc.max(g.out, g.out, g.a, 32, 1, asc.BinaryRepeatParams())


@of("vec_binary_scalar")
def binary_scalar(g: Given) -> None:
    asc.muls(g.out, g.a, 2.5, LENGTH)
    asc.leaky_relu(g.out, g.out, 0.5, LENGTH)


@of("vec_unary")
def unary(g: Given) -> None:
    asc.abs(g.out, g.a, LENGTH)
    asc.sqrt(g.out, g.out, LENGTH)


@of("vec_ternary_scalar")
def ternary_scalar(g: Given) -> None:
    asc.axpy(g.out, g.a, 1.5, LENGTH)


@of("vec_duplicate")
def duplicate(g: Given) -> None:
    asc.duplicate(g.out, 3.0, [0xF0F0, 0], 1, 1, 8)


@of("vec_vconv")
def convert(g: Given) -> None:
    whole = g.work.get(asc.int32)
    asc.cast(whole, g.a, asc.RoundMode.CAST_RINT, LENGTH)
    asc.cast(g.out, whole, asc.RoundMode.CAST_NONE, LENGTH)


@of("vec_copy")
def copy(g: Given) -> None:
    asc.copy(g.out, g.a, 40, 1, asc.CopyRepeatParams(1, 1, 8, 8))


@of("vec_cmpsel")
def compare(g: Given) -> None:
    bits = g.work.get(asc.uint8)
    asc.compare(bits, g.a, g.b, asc.CMPMODE.LT, LENGTH)
    asc.select(g.out, bits, g.a, g.b, asc.SelMode.VSEL_TENSOR_TENSOR_MODE, LENGTH)


@of("vec_cmpmask")
def compare_mask(g: Given) -> None:
    bits = g.work.get(asc.uint32)
    asc.compare(g.a, g.b, asc.CMPMODE.GT, 64, asc.BinaryRepeatParams())
    asc.get_cmp_mask(bits)
    asc.set_cmp_mask(bits)
    asc.select(g.out, g.a, g.b, 1, asc.BinaryRepeatParams(), sel_mode=asc.SelMode.VSEL_CMPMASK_SPR)


@of("vec_mask")
def mask(g: Given) -> None:
    asc.set_mask_norm()
    asc.set_vector_mask(0, 0xFF00FF, asc.float32)
    asc.add(g.out, g.a, g.b, 0, 1, asc.BinaryRepeatParams(), is_set_mask=False)
    asc.reset_mask()


@of("vec_reduce")
def reduce(g: Given) -> None:
    asc.whole_reduce_sum(g.out, g.a, 64, 1, 1, 1, 8)
    asc.block_reduce_max(g.out[8:], g.b, 1, 64, 1, 1, 8)


@of("vec_reduce_all")
def reduce_all(g: Given) -> None:
    asc.reduce_max(g.out, g.a, g.work.get(asc.float32), LENGTH)


@of("vec_brcb")
def spread(g: Given) -> None:
    asc.brcb(g.out, g.a, 1, asc.BrcbRepeatParams(1, 8))


@of("vec_gather")
def gather(g: Given) -> None:
    offsets = g.work.get(asc.uint32)
    for i in asc.range(LENGTH):
        offsets.set_value(i, (LENGTH - 1 - i) * 4)
    scalar_to_vector()
    asc.gather(g.out, g.a, offsets, 0, LENGTH)


@of("vec_scatter", "Ascend950PR_958b")
def scatter(g: Given) -> None:
    offsets = g.work.get(asc.uint32)
    for i in asc.range(LENGTH):
        offsets.set_value(i, (i ^ 5) * 4)
    scalar_to_vector()
    asc.scatter(g.out, g.a, offsets, 0, LENGTH)


@of("vec_transpose")
def transpose(g: Given) -> None:
    rows, columns = g.work.get(asc.float16)[:256], g.work.get(asc.float16)[256:512]
    for k in range(4):
        asc.cast(rows[64 * k :], g.a, asc.RoundMode.CAST_NONE, 64)
        asc.adds(rows[64 * k :], rows[64 * k :], float(k), 64)
    asc.transpose(columns.reinterpret_cast(asc.uint16), rows.reinterpret_cast(asc.uint16))
    asc.cast(g.out, columns[96:], asc.RoundMode.CAST_NONE, LENGTH)


@of("proposal")
def sort(g: Given) -> None:
    pairs, index = g.work.get(asc.float32)[:128], g.work.get(asc.uint32)[128:160]
    for i in asc.range(32):
        index.set_value(i, i)
    scalar_to_vector()
    asc.sort32(pairs, g.a, index, 1)
    g.words.set_value(0, asc.get_sort_len(32, asc.float32))
    asc.adds(g.out, pairs, 0.0, LENGTH)


@of("sort_length")
def sort_length(g: Given) -> None:
    asc.duplicate(g.out, 1.0, asc.get_sort_len(asc.get_block_num() * 8, asc.float32))


@of("set_atomic")
def atomic(g: Given) -> None:
    asc.adds(g.out, g.a, 1.0, LENGTH)
    asc.set_atomic_add(asc.float32)


@of("set_pad_value")
def pad(g: Given) -> None:
    local = g.work.get(asc.float32)
    asc.set_pad_value(1.5)
    asc.data_copy_pad(
        local, g.x, asc.DataCopyExtParams(2, 20, 4, 1, 0),
        asc.DataCopyPadExtParams(asc.float32, True, 0, 2, 0.75),
    )  # fmt: skip
    event = asc.get_tpipe_ptr().fetch_event_id(asc.HardEvent.MTE2_V)
    asc.set_flag(asc.HardEvent.MTE2_V, event)
    asc.wait_flag(asc.HardEvent.MTE2_V, event)
    asc.muls(g.out, local, 2.0, 7)


@of("data_cache")
def cache(g: Given) -> None:
    g.words.set_value(0, asc.get_block_idx() + 7)
    asc.data_cache_clean_and_invalid(
        asc.CacheLine.SINGLE_CACHE_LINE, asc.DcciDst.CACHELINE_OUT, g.words
    )


@of("block_sync")
def barrier(g: Given) -> None:
    asc.data_sync_barrier(asc.MemDsbT.ALL)


@of("instruction_cache")
def preload(g: Given) -> None:
    asc.icache_preload(2)


@of("common")
def memory_check(g: Given) -> None:
    asc.check_local_memory_ia(asc.CheckLocalMemoryIAParam(1, 2, 3, is_enable=True))


@of("scalar_functions")
def scalars(g: Given) -> None:
    number = asc.get_block_idx() * 37 + 11
    g.words.set_value(0, asc.scalar_get_count_of_value(number, 1))
    g.words.set_value(1, asc.scalar_cast(number / 4, asc.int32, asc.RoundMode.CAST_ROUND))


@of("sys_var")
def system(g: Given) -> None:
    g.words.set_value(0, asc.get_block_num() * 100 + asc.get_block_idx())
    g.words.set_value(1, asc.get_data_block_size_in_bytes())


@of("arith")
def arithmetic(g: Given) -> None:
    total = asc.get_block_idx() + 1
    for i in asc.range(asc.get_block_num() * 5):
        if i % 3 == 1 or total > 40:
            total = total * 2 - i
            g.words.set_value(2, i)
        else:
            total = total + (i ^ 3)
    g.words.set_value(0, total)
    g.words.set_value(1, total // -3)


@of("tensor")
def tensors(g: Given) -> None:
    part = g.work.get(asc.float32)
    part.set_size(8)
    g.words.set_value(0, part.get_size() + g.a.get_size())
    g.words.set_value(1, g.x.get_size())


@of("debug")
def marks(g: Given) -> None:
    asc.metrics_prof_start()
    asc.print_time_stamp(1)
    asc.metrics_prof_stop()
