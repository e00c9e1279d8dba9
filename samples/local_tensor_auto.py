"""Vector add with automatic tensors: no pipe, no queues, no events in the Python.

asctrace gives each `LocalTensorAuto` a buffer and puts the events between the pipes that use it;
the text that is printed shows both.

    python samples/local_tensor_auto.py [--size N] [--dtype D] [--blocks B]
"""

import sys

import vector_add

import asctrace as asc

TILE_NUM = 16


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
    x_gm.set_global_buffer(x + offset, block_length)
    y_gm = asc.GlobalTensor()
    y_gm.set_global_buffer(y + offset, block_length)
    z_gm = asc.GlobalTensor()
    z_gm.set_global_buffer(z + offset, block_length)

    for i in range(TILE_NUM):
        tile = i * tile_length
        x_local = asc.LocalTensorAuto(x.dtype, tile_length)
        y_local = asc.LocalTensorAuto(y.dtype, tile_length)
        z_local = asc.LocalTensorAuto(z.dtype, tile_length)
        asc.data_copy(x_local, x_gm[tile:], tile_length)
        asc.data_copy(y_local, y_gm[tile:], tile_length)
        asc.add(z_local, x_local, y_local, tile_length)
        asc.data_copy(z_gm[tile:], z_local, tile_length)


def lengths(block_length):
    """The kernel's arguments after the arrays."""
    return (block_length, block_length // TILE_NUM)


if __name__ == "__main__":
    sys.exit(vector_add.main(__doc__, vadd_kernel, lengths, TILE_NUM))
