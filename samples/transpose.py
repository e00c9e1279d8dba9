"""The transpose of a matrix of any size, in tiles.

A tile of 16 x 16 elements of two bytes, or of 16 x 8 of four, goes through
`trans_data_to_5hd`: 16 rows become the columns of a tile. Where the matrix ends inside a tile,
only the part that is there is copied in (the rest of the tile is zero) and out.

    python samples/transpose.py [--rows N] [--columns N] [--dtype D] [--blocks B]
"""

import argparse
import sys

import numpy as np

import asctrace as asc

SIDE = 16
BLOCK_BYTES = 32
EVENT = 0
ZEROED = 1
DTYPES = ("float16", "int16", "uint16", "float32", "int32", "uint32")


@asc.jit
def transpose_kernel(x: asc.GlobalAddress, z: asc.GlobalAddress, rows: int, columns: int):
    dtype = x.dtype
    size = dtype.sizeof()
    width = BLOCK_BYTES // size  # columns of a tile, as many as a block holds
    gaps = SIDE // width  # blocks that a row of the transposed tile has
    x_gm, z_gm = asc.GlobalTensor(), asc.GlobalTensor()
    x_gm.set_global_buffer(x)
    z_gm.set_global_buffer(z)

    allocator = asc.LocalMemAllocator()
    tile = allocator.alloc(asc.TPosition.VECIN, dtype, SIDE * width)
    turned = allocator.alloc(asc.TPosition.VECOUT, dtype, SIDE * width)
    # The same sixteen places for every tile: a block each.
    sources = [tile[width * k :] for k in range(SIDE)]
    targets = [turned[width * k :] for k in range(SIDE)]

    down, across = asc.ceildiv(rows, SIDE), asc.ceildiv(columns, width)
    asc.set_flag(asc.HardEvent.MTE3_V, EVENT)
    for index in range(asc.get_block_idx(), down * across, asc.get_block_num()):
        top, left = index // across * SIDE, index % across * width
        height, breadth = min(SIDE, rows - top), min(width, columns - left)
        asc.duplicate(tile, 0, SIDE * width)
        asc.set_flag(asc.HardEvent.V_MTE2, ZEROED)
        asc.wait_flag(asc.HardEvent.V_MTE2, ZEROED)
        into = asc.DataCopyExtParams(height, breadth * size, (columns - breadth) * size, 0, 0)
        asc.data_copy_pad(tile, x_gm[top * columns + left :], into, asc.DataCopyPadExtParams(dtype))
        asc.set_flag(asc.HardEvent.MTE2_V, EVENT)

        asc.wait_flag(asc.HardEvent.MTE2_V, EVENT)
        asc.wait_flag(asc.HardEvent.MTE3_V, EVENT)
        asc.trans_data_to_5hd(targets, sources, asc.TransDataTo5HDParams())
        asc.set_flag(asc.HardEvent.V_MTE3, EVENT)

        asc.wait_flag(asc.HardEvent.V_MTE3, EVENT)
        # A row of the result has `height` elements; the next one begins SIDE elements later.
        skipped = gaps - asc.ceildiv(height * size, BLOCK_BYTES)
        out = asc.DataCopyExtParams(breadth, height * size, skipped, (rows - height) * size, 0)
        asc.data_copy_pad(z_gm[left * rows + top :], turned, out)
        asc.set_flag(asc.HardEvent.MTE3_V, EVENT)
    asc.wait_flag(asc.HardEvent.MTE3_V, EVENT)


def main():
    """Run the sample: 0 if the result is NumPy's, 1 if not, 2 for sizes that make no sense."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=77, help="default: %(default)s")
    parser.add_argument("--columns", type=int, default=45, help="default: %(default)s")
    parser.add_argument("--dtype", choices=DTYPES, default="float32")
    parser.add_argument("--blocks", type=int, default=8, help="default: %(default)s")
    options = parser.parse_args()
    if min(options.rows, options.columns, options.blocks) < 1:
        print(f"{parser.prog}: rows, columns and blocks count from 1 up", file=sys.stderr)
        return 2
    rng = np.random.default_rng(2024)
    x = rng.integers(0, 1000, (options.rows, options.columns)).astype(options.dtype)
    z = np.zeros((options.columns, options.rows), options.dtype)
    try:
        print(transpose_kernel.lower(x, z, *x.shape).source)
        run = transpose_kernel[options.blocks](x, z, *x.shape)
    except asc.KernelError as problem:
        print(problem, file=sys.stderr)
        return 1
    print(f"simulated {run.blocks} blocks, {run.ops} operations")
    same = np.array_equal(z, x.T)
    print("matches NumPy" if same else "differs from NumPy")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
