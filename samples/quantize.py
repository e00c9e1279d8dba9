"""Quantisation of a float32 vector of any length to int8.

q = round(x / scale), ties to even, saturated. The way goes by int32, which no rounding precedes,
and float16, which holds all that int8 does: from int32 to float16 numbers are multiplied by the
scale of `set_deq_scale`, here 1.

    python samples/quantize.py [--size N] [--blocks B]
"""

import sys

import numpy as np
import sample_main

import asctrace as asc

BUFFER_NUM = 2
#: Elements of a tile.
TILE = 4096
RINT = asc.RoundMode.CAST_RINT


@asc.jit
def quantize_kernel(x: asc.GlobalAddress, q: asc.GlobalAddress, size: int, factor: float):
    """`factor` is 1 / scale."""
    # Blocks of int8 are 32 elements: the shares of the cores begin at whole ones.
    share = asc.ceildiv(asc.ceildiv(size, asc.get_block_num()), 32) * 32
    first = asc.get_block_idx() * share
    last = min(first + share, size)
    x_gm, q_gm = asc.GlobalTensor(), asc.GlobalTensor()
    x_gm.set_global_buffer(x, size)
    q_gm.set_global_buffer(q, size)

    pipe = asc.TPipe()
    in_queue = asc.TQue(asc.TPosition.VECIN, BUFFER_NUM)
    out_queue = asc.TQue(asc.TPosition.VECOUT, BUFFER_NUM)
    whole_buf, half_buf = asc.TBuf(asc.TPosition.VECCALC), asc.TBuf(asc.TPosition.VECCALC)
    pipe.init_buffer(in_queue, BUFFER_NUM, TILE * 4)
    pipe.init_buffer(out_queue, BUFFER_NUM, TILE)
    pipe.init_buffer(whole_buf, TILE * 4)
    pipe.init_buffer(half_buf, TILE * 2)
    whole, half = whole_buf.get(asc.int32), half_buf.get(asc.float16)
    asc.set_deq_scale(1.0)

    for start in range(first, last, TILE):
        count = min(TILE, last - start)
        x_local = in_queue.alloc_tensor(asc.float32)
        floats = asc.DataCopyExtParams(1, count * 4, 0, 0, 0)
        asc.data_copy_pad(x_local, x_gm[start:], floats, asc.DataCopyPadExtParams(asc.float32))
        in_queue.enque(x_local)

        x_local = in_queue.deque(asc.float32)
        q_local = out_queue.alloc_tensor(asc.int8)
        asc.muls(x_local, x_local, factor, count)
        # float16 ends at 65504.
        asc.maxs(x_local, x_local, -128.0, count)
        asc.mins(x_local, x_local, 127.0, count)
        asc.cast(whole, x_local, RINT, count)
        asc.cast(half, whole, asc.RoundMode.CAST_NONE, count)
        asc.cast(q_local, half, RINT, count)
        out_queue.enque(q_local)
        in_queue.free_tensor(x_local)

        q_local = out_queue.deque(asc.int8)
        asc.data_copy_pad(q_gm[start:], q_local, asc.DataCopyExtParams(1, count, 0, 0, 0))
        out_queue.free_tensor(q_local)


def expected(x, factor):
    """In the same float32 steps: the product is rounded before it becomes an integer."""
    return np.clip(np.rint(x * np.float32(factor)), -128, 127)


def main():
    options = sample_main.parse(__doc__, size=50_001, blocks=8)
    x = np.random.default_rng(2024).normal(0, 1, options.size).astype(np.float32)
    factor = np.float32(127 / 3)
    q = np.zeros(options.size, np.int8)
    launch = (quantize_kernel, options.blocks, (x, q, options.size, factor))
    return sample_main.run([launch], lambda: q, expected(x, factor), 0.0)


if __name__ == "__main__":
    sys.exit(main())
