"""Two stages in the same memory: z = (x + y) - x, with a `TBufPool` for each stage.

The pools of both stages begin at the same byte: the second one shares the memory of the first. What
the first stage leaves for the second goes through global memory, and a barrier stands between.

    python samples/buf_pool.py [--size N] [--dtype D] [--blocks B]
"""

import sys

import vector_add

import asctrace as asc

TILE_NUM = 4


def stage(pipe, pool, operation, a_gm, b_gm, out_gm, tile_length):
    """out = operation(a, b), tile by tile, in buffers of the pool."""
    dtype = a_gm.dtype
    nbytes = tile_length * dtype.sizeof()
    a_queue = asc.TQue(asc.TPosition.VECIN, 1)
    b_queue = asc.TQue(asc.TPosition.VECIN, 1)
    out_queue = asc.TQue(asc.TPosition.VECOUT, 1)
    for queue in (a_queue, b_queue, out_queue):
        pool.init_buffer(queue, 1, nbytes)
    for i in range(TILE_NUM):
        tile = i * tile_length
        for gm, queue in ((a_gm, a_queue), (b_gm, b_queue)):
            local = queue.alloc_tensor(dtype)
            asc.data_copy(local, gm[tile:], tile_length)
            queue.enque(local)
        a_local, b_local = a_queue.deque(dtype), b_queue.deque(dtype)
        out_local = out_queue.alloc_tensor(dtype)
        operation(out_local, a_local, b_local, tile_length)
        out_queue.enque(out_local)
        a_queue.free_tensor(a_local)
        b_queue.free_tensor(b_local)
        out_local = out_queue.deque(dtype)
        asc.data_copy(out_gm[tile:], out_local, tile_length)
        out_queue.free_tensor(out_local)


@asc.jit
def vadd_kernel(
    x: asc.GlobalAddress,
    y: asc.GlobalAddress,
    z: asc.GlobalAddress,
    block_length: int,
    tile_length: asc.ConstExpr[int],
):
    offset = asc.get_block_idx() * block_length
    x_gm, y_gm, z_gm = asc.GlobalTensor(), asc.GlobalTensor(), asc.GlobalTensor()
    x_gm.set_global_buffer(x + offset, block_length)
    y_gm.set_global_buffer(y + offset, block_length)
    z_gm.set_global_buffer(z + offset, block_length)

    pipe = asc.TPipe()
    nbytes = 3 * tile_length * x.dtype.sizeof()
    first_pool = asc.TBufPool(asc.TPosition.VECIN, 3)
    second_pool = asc.TBufPool(asc.TPosition.VECIN, 3)
    pipe.init_buf_pool(first_pool, nbytes)
    pipe.init_buf_pool(second_pool, nbytes, first_pool)

    stage(pipe, first_pool, asc.add, x_gm, y_gm, z_gm, tile_length)
    first_pool.reset()
    asc.pipe_barrier(asc.PipeID.PIPE_ALL)
    stage(pipe, second_pool, asc.sub, z_gm, x_gm, z_gm, tile_length)
    second_pool.reset()


def lengths(block_length):
    """The kernel's arguments after the arrays."""
    return (block_length, block_length // TILE_NUM)


def expected(x, y):
    """What the kernel computes, with its roundings."""
    return (x + y) - x


if __name__ == "__main__":
    sys.exit(vector_add.main(__doc__, vadd_kernel, lengths, TILE_NUM, expected))
