"""Histogram of a float32 vector of any length, its bins given by their edges.

Blocks count their shares on their own and add the counts up in global memory with atomic writes, so
that no block waits for another. `compare_scalar` finds the elements that reach an edge, and
`gather_mask` says how many there are; a bin has those that reach its lower edge and not its upper
one. The last tile is filled up with -inf, which reaches no edge.

    python samples/histogram.py [--size N] [--bins N] [--blocks B]
"""

import sys

import numpy as np
import sample_main

import asctrace as asc

#: Elements of a tile; comparisons work on whole 256 bytes, which are 64.
TILE = 4096
MAX_BINS = 1000
EVENT = 0


@asc.jit
def histogram_kernel(
    x: asc.GlobalAddress,
    edges: asc.GlobalAddress,
    counts: asc.GlobalAddress,
    size: int,
    bins: int,
):
    """Add to `counts[b]` how many elements are at least `edges[b]` and below `edges[b + 1]`."""
    share = asc.ceildiv(size, asc.get_block_num())
    first = min(asc.get_block_idx() * share, size)
    last = min(first + share, size)
    x_gm, edges_gm, counts_gm = asc.GlobalTensor(), asc.GlobalTensor(), asc.GlobalTensor()
    x_gm.set_global_buffer(x, size)
    edges_gm.set_global_buffer(edges, bins + 1)
    counts_gm.set_global_buffer(counts, bins)

    allocator = asc.LocalMemAllocator()
    x_local = allocator.alloc(asc.TPosition.VECIN, asc.float32, TILE)
    bits = allocator.alloc(asc.TPosition.VECCALC, asc.uint32, TILE // 32)
    taken = allocator.alloc(asc.TPosition.VECCALC, asc.float32, TILE)
    found = bits.reinterpret_cast(asc.uint8)
    sums = allocator.alloc(asc.TPosition.VECOUT, asc.int32, asc.ceildiv(MAX_BINS, 8) * 8)
    reached = allocator.alloc(asc.TPosition.VECCALC, asc.uint64, asc.ceildiv(MAX_BINS + 1, 4) * 4)

    # The scalar unit alone works on these, which needs no events.
    for b in range(bins + 1):
        reached.set_value(b, 0)
    for start in range(first, last, TILE):
        count = min(TILE, last - start)
        asc.duplicate(x_local, float("-inf"), TILE)
        order(asc.HardEvent.V_MTE2)
        length = asc.DataCopyExtParams(1, count * 4, 0, 0, 0)
        nothing = asc.DataCopyPadExtParams(asc.float32, True, 0, -count % 8, float("-inf"))
        asc.data_copy_pad(x_local, x_gm[start:], length, nothing)
        order(asc.HardEvent.MTE2_V)
        for b in range(bins + 1):
            edge = edges_gm.get_value(b)
            asc.compare_scalar(found, x_local, edge, asc.CMPMODE.GE, TILE)
            whole = asc.GatherMaskParams(1, 1, 0, 0)
            more = asc.gather_mask(taken, x_local, bits, True, TILE, whole)
            reached.set_value(b, reached.get_value(b) + more)

    for b in range(bins):
        sums.set_value(b, reached.get_value(b) - reached.get_value(b + 1))
    order(asc.HardEvent.S_MTE3)
    asc.set_atomic_add(asc.int32)
    asc.data_copy_pad(counts_gm, sums, asc.DataCopyExtParams(1, bins * 4, 0, 0, 0))
    asc.set_atomic_none()


def order(event):
    """What the first unit of the event did is over before the second goes on."""
    asc.set_flag(event, EVENT)
    asc.wait_flag(event, EVENT)


def main():
    options = sample_main.parse(__doc__, size=100_003, bins=7, blocks=8)
    if options.bins > MAX_BINS:
        print(f"histogram.py: --bins {options.bins}: at most {MAX_BINS}", file=sys.stderr)
        return 2
    x = np.random.default_rng(2024).normal(1, 3, options.size).astype(np.float32)
    edges = np.linspace(-4, 5, options.bins + 1, dtype=np.float32)
    counts = np.zeros(options.bins, np.int32)
    launches = [(histogram_kernel, options.blocks, (x, edges, counts, options.size, options.bins))]
    expected = -np.diff([np.count_nonzero(x >= edge) for edge in edges])
    return sample_main.run(launches, lambda: counts, expected, 0)


if __name__ == "__main__":
    sys.exit(main())
