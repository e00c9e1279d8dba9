"""Layer normalisation along the rows of a float32 matrix of any size.

y = (x - mean) / sqrt(variance + epsilon) * gamma + beta, with the mean and the variance of each
row. Each block takes a share of the rows and works on tiles of whole rows.

    python samples/layer_norm.py [--rows N] [--cols N] [--blocks B]
"""

import sys

import numpy as np
import row_tiles
import sample_main

import asctrace as asc

BUFFER_NUM = 2
EPSILON = 1e-5


@asc.jit
def layer_norm_kernel(
    x: asc.GlobalAddress,
    gamma: asc.GlobalAddress,
    beta: asc.GlobalAddress,
    y: asc.GlobalAddress,
    rows: int,
    cols: asc.ConstExpr[int],
):
    tile = row_tiles.RowTile(cols, buffers=5, more=2)
    share = asc.ceildiv(rows, asc.get_block_num())
    first = asc.get_block_idx() * share
    last = min(first + share, rows)
    x_gm, gamma_gm, beta_gm, y_gm = (asc.GlobalTensor() for _ in range(4))
    x_gm.set_global_buffer(x, rows * cols)
    gamma_gm.set_global_buffer(gamma, cols)
    beta_gm.set_global_buffer(beta, cols)
    y_gm.set_global_buffer(y, rows * cols)

    pipe = asc.TPipe()
    in_queue = asc.TQue(asc.TPosition.VECIN, BUFFER_NUM)
    out_queue = asc.TQue(asc.TPosition.VECOUT, BUFFER_NUM)
    weight_queue = asc.TQue(asc.TPosition.VECIN, 1)
    for queue in (in_queue, out_queue):
        pipe.init_buffer(queue, BUFFER_NUM, tile.rows * tile.length * 4)
    pipe.init_buffer(weight_queue, 1, 2 * tile.length * 4)
    squares = row_tiles.buffer(pipe, tile.rows * tile.length)
    parts = row_tiles.buffer(pipe, tile.rows * tile.pitch)
    numbers = row_tiles.buffer(pipe, tile.numbers)
    blocks = row_tiles.buffer(pipe, tile.numbers * row_tiles.BLOCK)
    # Blocks are filled eight at a time, also for rows that the last tile does not have.
    asc.duplicate(numbers, 0.0, tile.numbers)

    weights = weight_queue.alloc_tensor(asc.float32)
    row_tiles.copy_rows_in(weights, gamma_gm, 0, 1, tile)
    row_tiles.copy_rows_in(weights[tile.length :], beta_gm, 0, 1, tile)
    weight_queue.enque(weights)
    weights = weight_queue.deque(asc.float32)

    for row in range(first, last, tile.rows):
        count = min(tile.rows, last - row)
        x_local = in_queue.alloc_tensor(asc.float32)
        row_tiles.copy_rows_in(x_local, x_gm, row, count, tile)
        in_queue.enque(x_local)

        x_local = in_queue.deque(asc.float32)
        y_local = out_queue.alloc_tensor(asc.float32)
        row_tiles.reduce_rows(asc.whole_reduce_sum, numbers, x_local, parts, count, tile)
        asc.muls(numbers, numbers, 1 / cols, count)
        row_tiles.fill_blocks(blocks, numbers, count)
        row_tiles.with_numbers(asc.sub, x_local, x_local, blocks, count, tile)
        asc.mul(squares, x_local, x_local, count * tile.length)
        row_tiles.reduce_rows(asc.whole_reduce_sum, numbers, squares, parts, count, tile)
        asc.muls(numbers, numbers, 1 / cols, count)
        asc.adds(numbers, numbers, EPSILON, count)
        asc.sqrt(numbers, numbers, count)
        row_tiles.fill_blocks(blocks, numbers, count)
        row_tiles.with_numbers(asc.div, x_local, x_local, blocks, count, tile)
        for i in range(count):
            at = i * tile.length
            asc.mul(y_local[at:], x_local[at:], weights, cols)
            asc.add(y_local[at:], y_local[at:], weights[tile.length :], cols)
        out_queue.enque(y_local)
        in_queue.free_tensor(x_local)

        y_local = out_queue.deque(asc.float32)
        row_tiles.copy_rows_out(y_gm, y_local, row, count, tile)
        out_queue.free_tensor(y_local)
    weight_queue.free_tensor(weights)


def expected(x, gamma, beta):
    """Layer normalisation in float64."""
    wide = x.astype(np.float64)
    centred = wide - wide.mean(axis=1, keepdims=True)
    variance = (centred**2).mean(axis=1, keepdims=True)
    return centred / np.sqrt(variance + EPSILON) * gamma + beta


def main():
    options = sample_main.parse(__doc__, rows=50, cols=770, blocks=8)
    rng = np.random.default_rng(2024)
    x = rng.normal(1, 2, (options.rows, options.cols)).astype(np.float32)
    gamma, beta = rng.normal(1, 0.1, (2, options.cols)).astype(np.float32)
    y = np.zeros_like(x)
    arguments = (x, gamma, beta, y, options.rows, options.cols)
    launch = (layer_norm_kernel, options.blocks, arguments)
    return sample_main.run([launch], lambda: y, expected(x, gamma, beta), 5e-6)


if __name__ == "__main__":
    sys.exit(main())
