"""Vector add with a pipe and queues: the framework allocates the buffers and sets the flags.

Each block adds its own part of the vectors in 16 tiles. With two buffers a queue, the copies of one
tile overlap the addition of another.

    python samples/add_framework.py [--size N] [--dtype D] [--blocks B]
"""

import sys

import vector_add

import asctrace as asc

TILE_NUM = 8
BUFFER_NUM = 2


@asc.jit
def vadd_kernel(
    x: asc.GlobalAddress,
    y: asc.GlobalAddress,
    z: asc.GlobalAddress,
    block_length: int,
    tile_length: asc.ConstExpr[int],
):
    offset = asc.get_block_idx() * block_length
    x_gm = asc.GlobalTensor()
    x_gm.set_global_buffer(x + offset)
    y_gm = asc.GlobalTensor()
    y_gm.set_global_buffer(y + offset)
    z_gm = asc.GlobalTensor()
    z_gm.set_global_buffer(z + offset)

    pipe = asc.TPipe()
    in_queue_x = asc.TQue(asc.TPosition.VECIN, BUFFER_NUM)
    in_queue_y = asc.TQue(asc.TPosition.VECIN, BUFFER_NUM)
    out_queue_z = asc.TQue(asc.TPosition.VECOUT, BUFFER_NUM)
    pipe.init_buffer(in_queue_x, BUFFER_NUM, tile_length * x.dtype.sizeof())
    pipe.init_buffer(in_queue_y, BUFFER_NUM, tile_length * y.dtype.sizeof())
    pipe.init_buffer(out_queue_z, BUFFER_NUM, tile_length * z.dtype.sizeof())

    for i in range(TILE_NUM * BUFFER_NUM):
        copy_in(i, x_gm, y_gm, in_queue_x, in_queue_y, tile_length)
        compute(z_gm.dtype, in_queue_x, in_queue_y, out_queue_z, tile_length)
        copy_out(i, z_gm, out_queue_z, tile_length)


def copy_in(i, x_gm, y_gm, in_queue_x, in_queue_y, tile_length):
    x_local = in_queue_x.alloc_tensor(x_gm.dtype)
    y_local = in_queue_y.alloc_tensor(y_gm.dtype)
    asc.data_copy(x_local, x_gm[i * tile_length :], tile_length)
    asc.data_copy(y_local, y_gm[i * tile_length :], tile_length)
    in_queue_x.enque(x_local)
    in_queue_y.enque(y_local)


def compute(dtype, in_queue_x, in_queue_y, out_queue_z, tile_length):
    x_local = in_queue_x.deque(dtype)
    y_local = in_queue_y.deque(dtype)
    z_local = out_queue_z.alloc_tensor(dtype)
    asc.add(z_local, x_local, y_local, tile_length)
    out_queue_z.enque(z_local)
    in_queue_x.free_tensor(x_local)
    in_queue_y.free_tensor(y_local)


def copy_out(i, z_gm, out_queue_z, tile_length):
    z_local = out_queue_z.deque(z_gm.dtype)
    asc.data_copy(z_gm[i * tile_length :], z_local, tile_length)
    out_queue_z.free_tensor(z_local)


def lengths(block_length):
    """The kernel's arguments after the arrays: all of a block, and of one tile."""
    return block_length, block_length // (TILE_NUM * BUFFER_NUM)


if __name__ == "__main__":
    sys.exit(vector_add.main(__doc__, vadd_kernel, lengths, TILE_NUM * BUFFER_NUM))
