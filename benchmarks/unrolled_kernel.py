"""A body that unrolls: 11 queue and vector operations an iteration."""

import asctrace as asc

TILE = 64
OPS = 11


@asc.jit
def double_tiles(
    x: asc.GlobalAddress, z: asc.GlobalAddress, tiles: asc.ConstExpr[int], tile: asc.ConstExpr[int]
):
    """z = x + x, one tile an iteration."""
    x_gm = asc.GlobalTensor()
    z_gm = asc.GlobalTensor()
    x_gm.set_global_buffer(x)
    z_gm.set_global_buffer(z)
    pipe = asc.TPipe()
    in_queue = asc.TQue(asc.TPosition.VECIN, 2)
    out_queue = asc.TQue(asc.TPosition.VECOUT, 2)
    pipe.init_buffer(in_queue, 2, tile * x.dtype.sizeof())
    pipe.init_buffer(out_queue, 2, tile * x.dtype.sizeof())
    for i in asc.static_range(tiles):
        x_local = in_queue.alloc_tensor(x.dtype)
        asc.data_copy(x_local, x_gm[i * tile :], tile)
        in_queue.enque(x_local)
        x_in = in_queue.deque(x.dtype)
        z_local = out_queue.alloc_tensor(x.dtype)
        asc.add(z_local, x_in, x_in, tile)
        out_queue.enque(z_local)
        in_queue.free_tensor(x_in)
        z_out = out_queue.deque(x.dtype)
        asc.data_copy(z_gm[i * tile :], z_out, tile)
        out_queue.free_tensor(z_out)
