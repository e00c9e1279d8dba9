"""Sum of a float32 vector of any length, in two launches of one kernel.

The first launch leaves one number for each of its blocks, the second, on one block, adds them up.
Each tile is one `reduce_sum`; the last one is shorter, and `data_copy_pad` needs no whole blocks.

    python samples/reduce_sum.py [--size N] [--blocks B]
"""

import sys

import numpy as np
import sample_main

import asctrace as asc

BUFFER_NUM = 2
#: Elements of a tile.
TILE = 4096
#: float32 elements of a 32-byte block.
BLOCK = 8


@asc.jit
def sum_kernel(x: asc.GlobalAddress, y: asc.GlobalAddress, size: int):
    """`y[b]` = the sum of the share of block b, so 0 for a block without one."""
    share = asc.ceildiv(size, asc.get_block_num())
    first = min(asc.get_block_idx() * share, size)
    last = min(first + share, size)
    x_gm, y_gm = asc.GlobalTensor(), asc.GlobalTensor()
    x_gm.set_global_buffer(x, size)
    y_gm.set_global_buffer(y)

    pipe = asc.TPipe()
    in_queue = asc.TQue(asc.TPosition.VECIN, BUFFER_NUM)
    out_queue = asc.TQue(asc.TPosition.VECOUT, 1)
    pipe.init_buffer(in_queue, BUFFER_NUM, TILE * 4)
    pipe.init_buffer(out_queue, 1, 32)
    work = buffer(pipe, asc.shared_tmp_size(asc.reduce_sum, asc.float32, count=TILE))
    part = buffer(pipe, BLOCK)

    total = out_queue.alloc_tensor(asc.float32)
    asc.duplicate(total, 0.0, BLOCK)
    for start in range(first, last, TILE):
        count = min(TILE, last - start)
        x_local = in_queue.alloc_tensor(asc.float32)
        copy_in(x_local, x_gm[start:], count)
        in_queue.enque(x_local)
        x_local = in_queue.deque(asc.float32)
        asc.reduce_sum(part, x_local, work, count)
        asc.add(total, total, part, 1)
        in_queue.free_tensor(x_local)
    out_queue.enque(total)

    total = out_queue.deque(asc.float32)
    asc.data_copy_pad(y_gm[asc.get_block_idx() :], total, asc.DataCopyExtParams(1, 4, 0, 0, 0))
    out_queue.free_tensor(total)


def copy_in(local, source, count):
    """Any number of elements; what fills up the last block does not matter."""
    length = asc.DataCopyExtParams(1, count * 4, 0, 0, 0)
    asc.data_copy_pad(local, source, length, asc.DataCopyPadExtParams(asc.float32))


def buffer(pipe, length):
    """A tensor for vector operations alone."""
    buf = asc.TBuf(asc.TPosition.VECCALC)
    pipe.init_buffer(buf, length * 4)
    return buf.get(asc.float32)


def main():
    options = sample_main.parse(__doc__, size=100_003, blocks=8)
    x = np.random.default_rng(2024).normal(1, 3, options.size).astype(np.float32)
    sums = np.zeros(options.blocks, np.float32)
    total = np.zeros(1, np.float32)
    launches = [
        (sum_kernel, options.blocks, (x, sums, options.size)),
        (sum_kernel, 1, (sums, total, options.blocks)),
    ]
    # A sum of numbers of both signs may be near 0: compare with the sum of their sizes.
    wide = x.astype(np.float64)
    scale = np.abs(wide).sum()
    return sample_main.run(launches, lambda: total / scale, wide.sum(keepdims=True) / scale, 1e-5)


if __name__ == "__main__":
    sys.exit(main())
