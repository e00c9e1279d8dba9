"""Vector add by hand: tensors at fixed addresses, events set and waited for explicitly.

Each block adds its own part of the vectors in 16 tiles, alternating between two halves of each
buffer, so that the copies of one tile overlap the addition of another. An event id is the number of
the half it guards.

    python samples/add.py [--size N] [--dtype D] [--blocks B]
"""

import sys

import vector_add

import asctrace as asc

TILE_NUM = 8
BUFFER_NUM = 2


@asc.jit
def vadd_kernel(
    x: asc.GlobalAddress, y: asc.GlobalAddress, z: asc.GlobalAddress, block_length: int
):
    offset = asc.get_block_idx() * block_length
    x_gm = asc.GlobalTensor()
    x_gm.set_global_buffer(x + offset, block_length)
    y_gm = asc.GlobalTensor()
    y_gm.set_global_buffer(y + offset, block_length)
    z_gm = asc.GlobalTensor()
    z_gm.set_global_buffer(z + offset, block_length)

    tile_length = block_length // TILE_NUM // BUFFER_NUM
    buffer_length = tile_length * BUFFER_NUM
    buffer_bytes = buffer_length * x.dtype.sizeof()
    x_local = asc.LocalTensor(x.dtype, asc.TPosition.VECIN, 0, buffer_length)
    y_local = asc.LocalTensor(y.dtype, asc.TPosition.VECIN, buffer_bytes, buffer_length)
    z_local = asc.LocalTensor(z.dtype, asc.TPosition.VECOUT, 2 * buffer_bytes, buffer_length)

    # All halves are free at the start.
    for buf_id in range(BUFFER_NUM):
        asc.set_flag(asc.HardEvent.MTE3_MTE2, buf_id)

    for i in range(TILE_NUM * BUFFER_NUM):
        buf_id = i % BUFFER_NUM
        tile = i * tile_length
        half = buf_id * tile_length

        asc.wait_flag(asc.HardEvent.MTE3_MTE2, buf_id)
        asc.data_copy(x_local[half:], x_gm[tile:], tile_length)
        asc.data_copy(y_local[half:], y_gm[tile:], tile_length)
        asc.set_flag(asc.HardEvent.MTE2_V, buf_id)

        asc.wait_flag(asc.HardEvent.MTE2_V, buf_id)
        asc.add(z_local[half:], x_local[half:], y_local[half:], tile_length)
        asc.set_flag(asc.HardEvent.V_MTE3, buf_id)

        asc.wait_flag(asc.HardEvent.V_MTE3, buf_id)
        asc.data_copy(z_gm[tile:], z_local[half:], tile_length)
        asc.set_flag(asc.HardEvent.MTE3_MTE2, buf_id)

    # Leave no event set behind.
    for buf_id in range(BUFFER_NUM):
        asc.wait_flag(asc.HardEvent.MTE3_MTE2, buf_id)


def lengths(block_length):
    """The kernel's arguments after the arrays."""
    return (block_length,)


if __name__ == "__main__":
    sys.exit(vector_add.main(__doc__, vadd_kernel, lengths, TILE_NUM * BUFFER_NUM))
