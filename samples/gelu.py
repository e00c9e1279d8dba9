"""GELU of a float32 vector of any length, in its form with tanh.

gelu(x) = x / (1 + exp(-2 c (x + 0.044715 x^3))) with c = sqrt(2 / pi), which is the same as the
form with tanh and needs one `exp`. The last tile is shorter; `data_copy_pad` needs no whole blocks.

    python samples/gelu.py [--size N] [--blocks B]
"""

import math
import sys

import numpy as np
import sample_main

import asctrace as asc

BUFFER_NUM = 2
#: Elements of a tile.
TILE = 4096
CUBIC = 0.044715
FACTOR = -2 * math.sqrt(2 / math.pi)


@asc.jit
def gelu_kernel(x: asc.GlobalAddress, y: asc.GlobalAddress, size: int):
    share = asc.ceildiv(size, asc.get_block_num())
    first = asc.get_block_idx() * share
    last = min(first + share, size)
    x_gm, y_gm = asc.GlobalTensor(), asc.GlobalTensor()
    x_gm.set_global_buffer(x, size)
    y_gm.set_global_buffer(y, size)

    pipe = asc.TPipe()
    in_queue = asc.TQue(asc.TPosition.VECIN, BUFFER_NUM)
    out_queue = asc.TQue(asc.TPosition.VECOUT, BUFFER_NUM)
    for queue in (in_queue, out_queue):
        pipe.init_buffer(queue, BUFFER_NUM, TILE * 4)

    for start in range(first, last, TILE):
        count = min(TILE, last - start)
        blocks = asc.DataCopyExtParams(1, count * 4, 0, 0, 0)
        x_local = in_queue.alloc_tensor(asc.float32)
        asc.data_copy_pad(x_local, x_gm[start:], blocks, asc.DataCopyPadExtParams(asc.float32))
        in_queue.enque(x_local)

        x_local = in_queue.deque(asc.float32)
        y_local = out_queue.alloc_tensor(asc.float32)
        asc.mul(y_local, x_local, x_local, count)
        asc.mul(y_local, y_local, x_local, count)
        asc.muls(y_local, y_local, CUBIC, count)
        asc.add(y_local, y_local, x_local, count)
        asc.muls(y_local, y_local, FACTOR, count)
        asc.exp(y_local, y_local, count)
        asc.adds(y_local, y_local, 1.0, count)
        asc.div(y_local, x_local, y_local, count)
        out_queue.enque(y_local)
        in_queue.free_tensor(x_local)

        y_local = out_queue.deque(asc.float32)
        asc.data_copy_pad(y_gm[start:], y_local, blocks)
        out_queue.free_tensor(y_local)


def expected(x):
    """The form with tanh, in float64."""
    wide = x.astype(np.float64)
    inner = math.sqrt(2 / math.pi) * (wide + CUBIC * wide**3)
    return 0.5 * wide * (1 + np.tanh(inner))


def main():
    options = sample_main.parse(__doc__, size=50_001, blocks=8)
    x = np.random.default_rng(2024).normal(0, 4, options.size).astype(np.float32)
    y = np.zeros_like(x)
    launch = (gelu_kernel, options.blocks, (x, y, options.size))
    return sample_main.run([launch], lambda: y, expected(x), 1e-6)


if __name__ == "__main__":
    sys.exit(main())
