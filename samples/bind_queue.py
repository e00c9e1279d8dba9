"""Copy a vector through the unified buffer with one queue: a `TQueBind` from VECIN to VECOUT.

Nothing is computed on the way, so no vector instruction stands between the copy in and the copy
out: the bound queue carries the event between the two copies itself.

    python samples/bind_queue.py
"""

import sys

import numpy as np

import asctrace as asc

BLOCKS = 8
TILE_NUM = 8
TILE_LENGTH = 256


@asc.jit
def copy_kernel(source: asc.GlobalAddress, target: asc.GlobalAddress):
    offset = asc.get_block_idx() * (TILE_NUM * TILE_LENGTH)
    source_gm, target_gm = asc.GlobalTensor(), asc.GlobalTensor()
    source_gm.set_global_buffer(source + offset)
    target_gm.set_global_buffer(target + offset)

    pipe = asc.TPipe()
    queue = asc.TQueBind(asc.TPosition.VECIN, asc.TPosition.VECOUT, 2)
    pipe.init_buffer(queue, 2, TILE_LENGTH * source.dtype.sizeof())
    for i in range(TILE_NUM):
        tensor = queue.alloc_tensor(source.dtype)
        asc.data_copy(tensor, source_gm[i * TILE_LENGTH :], TILE_LENGTH)
        queue.enque(tensor)
        tensor = queue.deque(source.dtype)
        asc.data_copy(target_gm[i * TILE_LENGTH :], tensor, TILE_LENGTH)
        queue.free_tensor(tensor)
    queue.free_all_event()


def main():
    """Run the sample: 0 if the copy is equal."""
    source = np.random.default_rng(2024).standard_normal(
        BLOCKS * TILE_NUM * TILE_LENGTH, np.float32
    )
    target = np.zeros_like(source)
    lowered = copy_kernel.lower(source, target)
    print(lowered.source)
    print(lowered.report())
    run = copy_kernel[BLOCKS](source, target)
    print(f"simulated {run.blocks} blocks, {run.ops} operations")
    same = np.array_equal(source, target)
    print("matches NumPy" if same else "differs from NumPy")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
