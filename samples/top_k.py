"""The k largest elements of each row of a matrix, with their columns.

A row is padded with -inf to whole groups of 32, sorted group by group (`sort32`), and merged four
lists at a time (`mrg_sort`) until one is left; `gather_mask` then takes the scores and the columns
of the first k pairs apart. How many lists there are is known while tracing, so the merges are plain
Python. Rows and columns need not divide by anything.

    python samples/top_k.py [--rows N] [--columns N] [--k N] [--dtype D] [--blocks B]
"""

import argparse
import sys

import numpy as np

import asctrace as asc

GROUP = 32  # scores that sort32 sorts
PAIR_BYTES = 8  # a score and its column
EVENT = 0


def merge_all(source, target, lengths, unit):
    """Merge sorted lists that lie one behind the other; the tensor that has the only one left."""
    while len(lengths) > 1:
        merged, first = [], 0
        for k in range(0, len(lengths), 4):
            part = lengths[k : k + 4]
            at = first * unit
            if len(part) == 1:
                asc.data_copy(target[at:], source[at:], part[0] * unit)
            else:
                starts = [first + sum(part[:j]) for j in range(len(part))]
                lists = asc.MrgSortSrcList(source.dtype, *(source[s * unit :] for s in starts))
                valid_bit = 2 ** len(part) - 1
                asc.mrg_sort(target[at:], lists, asc.MrgSort4Info(part, False, valid_bit))
            merged.append(sum(part))
            first += sum(part)
        source, target, lengths = target, source, merged
    return source


@asc.jit
def top_k_kernel(
    x: asc.GlobalAddress,
    columns: asc.GlobalAddress,
    scores: asc.GlobalAddress,
    places: asc.GlobalAddress,
    rows: int,
    length: asc.ConstExpr[int],
    k: asc.ConstExpr[int],
):
    dtype = x.dtype
    groups = asc.ceildiv(length, GROUP)
    padded = groups * GROUP
    unit = PAIR_BYTES // dtype.sizeof()  # elements of a pair

    x_gm, columns_gm = asc.GlobalTensor(), asc.GlobalTensor()
    x_gm.set_global_buffer(x)
    columns_gm.set_global_buffer(columns)
    scores_gm, places_gm = asc.GlobalTensor(), asc.GlobalTensor()
    scores_gm.set_global_buffer(scores)
    places_gm.set_global_buffer(places)

    allocator = asc.LocalMemAllocator()
    row_local = allocator.alloc(asc.TPosition.VECIN, dtype, padded)
    columns_local = allocator.alloc(asc.TPosition.VECIN, asc.uint32, padded)
    pairs = allocator.alloc(asc.TPosition.VECCALC, dtype, padded * unit)
    other = allocator.alloc(asc.TPosition.VECCALC, dtype, padded * unit)
    # gather_mask looks at whole pairs, so what it leaves has room for a group more.
    scores_local = allocator.alloc(asc.TPosition.VECOUT, dtype, padded)
    places_local = allocator.alloc(asc.TPosition.VECOUT, asc.uint32, padded)

    asc.data_copy(columns_local, columns_gm, padded)
    asc.set_flag(asc.HardEvent.MTE3_V, EVENT)
    block, blocks = asc.get_block_idx(), asc.get_block_num()
    for row in range(block, rows, blocks):
        asc.duplicate(row_local, float("-inf"), padded)
        asc.set_flag(asc.HardEvent.V_MTE2, EVENT)
        asc.wait_flag(asc.HardEvent.V_MTE2, EVENT)
        copy = asc.DataCopyExtParams(1, length * dtype.sizeof(), 0, 0, 0)
        nothing = asc.DataCopyPadExtParams(dtype, True, 0, -length % (32 // dtype.sizeof()),
                                           float("-inf"))  # fmt: skip
        asc.data_copy_pad(row_local, x_gm[row * length :], copy, nothing)
        asc.set_flag(asc.HardEvent.MTE2_V, EVENT)
        asc.wait_flag(asc.HardEvent.MTE2_V, EVENT)

        asc.sort32(pairs, row_local, columns_local, groups)
        best = merge_all(pairs, other, [GROUP] * groups, unit)

        # The first of every `unit` elements is the score, every second word the column.
        asc.wait_flag(asc.HardEvent.MTE3_V, EVENT)
        first = asc.GatherMaskParams(1, 1, 0, 0)
        asc.gather_mask(scores_local, best, 1 if unit == 2 else 3, True, k * unit, first)
        asc.gather_mask(places_local, best.reinterpret_cast(asc.uint32), 2, True, k * 2, first)
        asc.set_flag(asc.HardEvent.V_MTE3, EVENT)
        asc.wait_flag(asc.HardEvent.V_MTE3, EVENT)

        asc.data_copy_pad(
            scores_gm[row * k :],
            scores_local,
            asc.DataCopyExtParams(1, k * dtype.sizeof(), 0, 0, 0),
        )
        asc.data_copy_pad(
            places_gm[row * k :], places_local, asc.DataCopyExtParams(1, k * 4, 0, 0, 0)
        )
        asc.set_flag(asc.HardEvent.MTE3_V, EVENT)
    asc.wait_flag(asc.HardEvent.MTE3_V, EVENT)


def top_k(x, k, blocks=8):
    """The k largest elements of each row of a NumPy matrix and their columns; the run."""
    rows, length = x.shape
    columns = np.arange(-(-length // GROUP) * GROUP, dtype=np.uint32)
    scores, places = np.zeros((rows, k), x.dtype), np.zeros((rows, k), np.uint32)
    run = top_k_kernel[blocks](x, columns, scores, places, rows, length, k)
    return scores, places, run


def main():
    """Run the sample: 0 if the result is NumPy's, 1 if not, 2 for sizes that make no sense."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=13, help="default: %(default)s")
    parser.add_argument("--columns", type=int, default=1000, help="default: %(default)s")
    parser.add_argument("--k", type=int, default=10, help="default: %(default)s")
    parser.add_argument("--dtype", choices=("float16", "float32"), default="float32")
    parser.add_argument("--blocks", type=int, default=8, help="default: %(default)s")
    options = parser.parse_args()
    if min(options.rows, options.blocks) < 1 or not 1 <= options.k <= options.columns <= 4096:
        print(f"{parser.prog}: 1 <= k <= columns <= 4096, rows and blocks from 1 up",
              file=sys.stderr)  # fmt: skip
        return 2
    rng = np.random.default_rng(2024)
    # Few different values, so that equal ones show that the order is kept.
    x = rng.integers(-500, 500, (options.rows, options.columns)).astype(options.dtype)
    try:
        scores, places, run = top_k(x, options.k, options.blocks)
        empty = np.zeros(1, np.uint32)
        print(top_k_kernel.lower(x, empty, x, empty, *x.shape, options.k).source)
    except asc.KernelError as problem:
        print(problem, file=sys.stderr)
        return 1
    print(f"simulated {run.blocks} blocks, {run.ops} operations")
    wanted = np.argsort(-x, axis=1, kind="stable")[:, : options.k]
    same = np.array_equal(places, wanted) and np.array_equal(
        scores, np.take_along_axis(x, wanted, axis=1)
    )
    print("matches NumPy" if same else "differs from NumPy")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
