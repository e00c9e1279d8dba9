"""Softmax along the rows of a float32 matrix of any size.

Each block takes a share of the rows and works on tiles of whole rows. The maximum and the sum of a
row come out of two rounds of reductions; `brcb` spreads them over a block each, which is then
combined with the whole row.

    python samples/softmax.py [--rows N] [--cols N] [--blocks B]
"""

import sys

import numpy as np
import row_tiles
import sample_main

import asctrace as asc

BUFFER_NUM = 2
ONLY_VALUE = asc.ReduceOrder.ORDER_ONLY_VALUE


@asc.jit
def softmax_kernel(x: asc.GlobalAddress, y: asc.GlobalAddress, rows: int, cols: asc.ConstExpr[int]):
    tile = row_tiles.RowTile(cols)
    share = asc.ceildiv(rows, asc.get_block_num())
    first = asc.get_block_idx() * share
    last = min(first + share, rows)
    x_gm, y_gm = asc.GlobalTensor(), asc.GlobalTensor()
    x_gm.set_global_buffer(x, rows * cols)
    y_gm.set_global_buffer(y, rows * cols)

    pipe = asc.TPipe()
    in_queue = asc.TQue(asc.TPosition.VECIN, BUFFER_NUM)
    out_queue = asc.TQue(asc.TPosition.VECOUT, BUFFER_NUM)
    for queue in (in_queue, out_queue):
        pipe.init_buffer(queue, BUFFER_NUM, tile.rows * tile.length * 4)
    parts = row_tiles.buffer(pipe, tile.rows * tile.pitch)
    numbers = row_tiles.buffer(pipe, tile.numbers)
    blocks = row_tiles.buffer(pipe, tile.numbers * row_tiles.BLOCK)
    # Blocks are filled eight at a time, also for rows that the last tile does not have.
    asc.duplicate(numbers, 0.0, tile.numbers)

    for row in range(first, last, tile.rows):
        count = min(tile.rows, last - row)
        x_local = in_queue.alloc_tensor(asc.float32)
        row_tiles.copy_rows_in(x_local, x_gm, row, count, tile)
        in_queue.enque(x_local)

        x_local = in_queue.deque(asc.float32)
        y_local = out_queue.alloc_tensor(asc.float32)
        row_tiles.reduce_rows(
            asc.whole_reduce_max, numbers, x_local, parts, count, tile, ONLY_VALUE
        )
        row_tiles.fill_blocks(blocks, numbers, count)
        row_tiles.with_numbers(asc.sub, x_local, x_local, blocks, count, tile)
        asc.exp(y_local, x_local, count * tile.length)
        row_tiles.reduce_rows(asc.whole_reduce_sum, numbers, y_local, parts, count, tile)
        row_tiles.fill_blocks(blocks, numbers, count)
        row_tiles.with_numbers(asc.div, y_local, y_local, blocks, count, tile)
        out_queue.enque(y_local)
        in_queue.free_tensor(x_local)

        y_local = out_queue.deque(asc.float32)
        row_tiles.copy_rows_out(y_gm, y_local, row, count, tile)
        out_queue.free_tensor(y_local)


def expected(x):
    """Softmax in float64."""
    wide = x.astype(np.float64)
    powers = np.exp(wide - wide.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def main():
    options = sample_main.parse(__doc__, rows=100, cols=1000, blocks=8)
    x = np.random.default_rng(2024).normal(0, 3, (options.rows, options.cols)).astype(np.float32)
    y = np.zeros_like(x)
    launch = (softmax_kernel, options.blocks, (x, y, options.rows, options.cols))
    return sample_main.run([launch], lambda: y, expected(x), 2e-6)


if __name__ == "__main__":
    sys.exit(main())
