"""Vector add without a pipe: a `LocalMemAllocator` places the tensors, the kernel sets the events.

The allocator hands out the unified buffer front to back, so no address is written by hand. Each
tile goes through the same three tensors; an event says when each may be used again.

    python samples/local_mem_allocator.py [--size N] [--dtype D] [--blocks B]
"""

import sys

import vector_add

import asctrace as asc

TILE_NUM = 8
EVENT = 0


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

    allocator = asc.LocalMemAllocator()
    x_local = allocator.alloc(asc.TPosition.VECIN, x.dtype, tile_length)
    y_local = allocator.alloc(asc.TPosition.VECIN, y.dtype, tile_length)
    z_local = allocator.alloc(asc.TPosition.VECOUT, z.dtype, tile_length)

    # The inputs are free for the first copy, the result for the first addition.
    asc.set_flag(asc.HardEvent.V_MTE2, EVENT)
    asc.set_flag(asc.HardEvent.MTE3_V, EVENT)
    for i in range(TILE_NUM):
        tile = i * tile_length
        asc.wait_flag(asc.HardEvent.V_MTE2, EVENT)
        asc.data_copy(x_local, x_gm[tile:], tile_length)
        asc.data_copy(y_local, y_gm[tile:], tile_length)
        asc.set_flag(asc.HardEvent.MTE2_V, EVENT)

        asc.wait_flag(asc.HardEvent.MTE2_V, EVENT)
        asc.wait_flag(asc.HardEvent.MTE3_V, EVENT)
        asc.add(z_local, x_local, y_local, tile_length)
        asc.set_flag(asc.HardEvent.V_MTE2, EVENT)
        asc.set_flag(asc.HardEvent.V_MTE3, EVENT)

        asc.wait_flag(asc.HardEvent.V_MTE3, EVENT)
        asc.data_copy(z_gm[tile:], z_local, tile_length)
        asc.set_flag(asc.HardEvent.MTE3_V, EVENT)

    # Leave no event set behind.
    asc.wait_flag(asc.HardEvent.V_MTE2, EVENT)
    asc.wait_flag(asc.HardEvent.MTE3_V, EVENT)


def lengths(block_length):
    """The kernel's arguments after the arrays."""
    return (block_length, block_length // TILE_NUM)


if __name__ == "__main__":
    sys.exit(vector_add.main(__doc__, vadd_kernel, lengths, TILE_NUM))
