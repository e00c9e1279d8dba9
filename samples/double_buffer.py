"""Vector add written as a class, with as many buffers a queue as you like.

With one buffer the copy of a tile waits until the addition of the tile before has let go of it;
with two, copies and additions alternate between the buffers and overlap. The text differs in two
numbers only.

    python samples/double_buffer.py [--size N] [--dtype D] [--blocks B]
"""

import sys

import vector_add

import asctrace as asc

TILE_NUM = 16


class VectorAdd:
    def __init__(self, x, y, z, block_length, buffers):
        self.tile = block_length // TILE_NUM
        offset = asc.get_block_idx() * block_length
        self.x_gm, self.y_gm, self.z_gm = (self.part(a, offset, block_length) for a in (x, y, z))
        self.pipe = asc.TPipe()
        self.in_queue_x = asc.TQue(asc.TPosition.VECIN, buffers)
        self.in_queue_y = asc.TQue(asc.TPosition.VECIN, buffers)
        self.out_queue_z = asc.TQue(asc.TPosition.VECOUT, buffers)
        for queue in (self.in_queue_x, self.in_queue_y, self.out_queue_z):
            self.pipe.init_buffer(queue, buffers, self.tile * x.dtype.sizeof())

    def part(self, address, offset, length):
        tensor = asc.GlobalTensor()
        tensor.set_global_buffer(address + offset, length)
        return tensor

    def process(self):
        for i in range(TILE_NUM):
            self.copy_in(i * self.tile)
            self.compute()
            self.copy_out(i * self.tile)

    def copy_in(self, start):
        for gm, queue in ((self.x_gm, self.in_queue_x), (self.y_gm, self.in_queue_y)):
            local = queue.alloc_tensor(gm.dtype)
            asc.data_copy(local, gm[start:], self.tile)
            queue.enque(local)

    def compute(self):
        dtype = self.z_gm.dtype
        x_local = self.in_queue_x.deque(dtype)
        y_local = self.in_queue_y.deque(dtype)
        z_local = self.out_queue_z.alloc_tensor(dtype)
        asc.add(z_local, x_local, y_local, self.tile)
        self.out_queue_z.enque(z_local)
        self.in_queue_x.free_tensor(x_local)
        self.in_queue_y.free_tensor(y_local)

    def copy_out(self, start):
        z_local = self.out_queue_z.deque(self.z_gm.dtype)
        asc.data_copy(self.z_gm[start:], z_local, self.tile)
        self.out_queue_z.free_tensor(z_local)


@asc.jit
def vadd_kernel(
    x: asc.GlobalAddress,
    y: asc.GlobalAddress,
    z: asc.GlobalAddress,
    block_length: int,
    buffers: asc.ConstExpr[int],
):
    VectorAdd(x, y, z, block_length, buffers).process()


def lengths(block_length):
    """The kernel's arguments after the arrays."""
    return (block_length, 2)


if __name__ == "__main__":
    sys.exit(vector_add.main(__doc__, vadd_kernel, lengths, TILE_NUM))
