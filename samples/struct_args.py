"""Vector add whose sizes come in a struct, as host code hands tiling data to a kernel.

`asc.Struct` has the layout of the C++ struct that the text defines. One trace serves all values.

    python samples/struct_args.py [--size N] [--dtype D] [--blocks B]
"""

import sys

import vector_add

import asctrace as asc

TILE_NUM = 8


class Shape(asc.Struct):
    block_length = asc.Field(asc.int32)
    tile_length = asc.Field(asc.int32)


class Tiling(asc.Struct):
    shape = asc.StructField(Shape, default=Shape(block_length=0, tile_length=0))
    tiles = asc.Field(asc.int32, default=TILE_NUM)


@asc.jit
def vadd_kernel(x: asc.GlobalAddress, y: asc.GlobalAddress, z: asc.GlobalAddress, tiling: Tiling):
    tile_length = tiling.shape.tile_length
    offset = asc.get_block_idx() * tiling.shape.block_length
    x_gm, y_gm, z_gm = asc.GlobalTensor(), asc.GlobalTensor(), asc.GlobalTensor()
    x_gm.set_global_buffer(x + offset)
    y_gm.set_global_buffer(y + offset)
    z_gm.set_global_buffer(z + offset)

    pipe = asc.TPipe()
    in_queue_x = asc.TQue(asc.TPosition.VECIN, 2)
    in_queue_y = asc.TQue(asc.TPosition.VECIN, 2)
    out_queue_z = asc.TQue(asc.TPosition.VECOUT, 2)
    for queue in (in_queue_x, in_queue_y, out_queue_z):
        pipe.init_buffer(queue, 2, tile_length * x.dtype.sizeof())

    for i in range(tiling.tiles):
        tile = i * tile_length
        x_local = in_queue_x.alloc_tensor(x.dtype)
        y_local = in_queue_y.alloc_tensor(y.dtype)
        asc.data_copy(x_local, x_gm[tile:], tile_length)
        asc.data_copy(y_local, y_gm[tile:], tile_length)
        in_queue_x.enque(x_local)
        in_queue_y.enque(y_local)
        x_local = in_queue_x.deque(x.dtype)
        y_local = in_queue_y.deque(y.dtype)
        z_local = out_queue_z.alloc_tensor(z.dtype)
        asc.add(z_local, x_local, y_local, tile_length)
        out_queue_z.enque(z_local)
        in_queue_x.free_tensor(x_local)
        in_queue_y.free_tensor(y_local)
        z_local = out_queue_z.deque(z.dtype)
        asc.data_copy(z_gm[tile:], z_local, tile_length)
        out_queue_z.free_tensor(z_local)


def lengths(block_length):
    """The kernel's arguments after the arrays."""
    shape = Shape(block_length=block_length, tile_length=block_length // TILE_NUM)
    return (Tiling(shape=shape),)


if __name__ == "__main__":
    sys.exit(vector_add.main(__doc__, vadd_kernel, lengths, TILE_NUM))
