"""What the samples on rows share: tiles of whole rows, reductions along them, a number for each.

These are plain functions that kernels call: their loops and operations become part of the kernel.
"""

import asctrace as asc

#: float32 elements of a 32-byte block and of a repeat.
BLOCK = 8
LANES = 64
#: Bytes of UB for all buffers of a tile.
BUDGET = 163840
#: The parts of a row are reduced as one repeat.
MOST_COLS = LANES * LANES


class RowTile:
    """Rows of `cols` float32 in UB: `length` elements from one to the next, whole blocks.

    A row has `whole` repeats and `tail` elements more, and as many partial results, `pitch`
    elements from those of one row to those of the next. `rows` of them fit each of the buffers,
    beside `more` rows.
    """

    def __init__(self, cols, buffers=4, more=0):
        if not 1 <= cols <= MOST_COLS:
            raise ValueError(f"rows have 1 to {MOST_COLS} elements here, not {cols}")
        self.cols = cols
        self.length = asc.ceildiv(cols, BLOCK) * BLOCK
        self.whole, self.tail = divmod(cols, LANES)
        self.parts = self.whole + (self.tail > 0)
        self.pitch = asc.ceildiv(self.parts, BLOCK) * BLOCK
        fit = (BUDGET // (4 * self.length) - more) // buffers
        self.rows = max(1, min(64, fit))
        #: One number a row, rounded up to whole blocks.
        self.numbers = asc.ceildiv(self.rows, BLOCK) * BLOCK


def buffer(pipe, length):
    """A tensor of float32 for vector operations alone."""
    buf = asc.TBuf(asc.TPosition.VECCALC)
    pipe.init_buffer(buf, length * 4)
    return buf.get(asc.float32)


def copy_rows_in(local, source, row, count, tile):
    """Bring `count` rows from row `row` on; what fills up their last blocks is 0."""
    blocks = asc.DataCopyExtParams(count, tile.cols * 4, 0, 0, 0)
    fill = asc.DataCopyPadExtParams(asc.float32, True, 0, tile.length - tile.cols, 0.0)
    asc.data_copy_pad(local, source[row * tile.cols :], blocks, fill)


def copy_rows_out(target, local, row, count, tile):
    """Take `count` rows back, without what fills them up."""
    blocks = asc.DataCopyExtParams(count, tile.cols * 4, 0, 0, 0)
    asc.data_copy_pad(target[row * tile.cols :], local, blocks)


def reduce_rows(reduce, result, x, parts, count, tile, *order):
    """`result[i]` = row i of `x` reduced by `reduce`, through its `parts`."""
    if tile.whole:
        for i in range(count):
            reduce(
                parts[i * tile.pitch :], x[i * tile.length :], LANES, tile.whole, 1, 1, 8, *order
            )
    if tile.tail:
        step = tile.length // BLOCK
        reduce(
            parts[tile.whole :], x[tile.whole * LANES :], tile.tail, count, tile.pitch, 1, step,
            *order,
        )  # fmt: skip
    reduce(result, parts, tile.parts, count, 1, 1, tile.pitch // BLOCK, *order)


def fill_blocks(blocks, numbers, count):
    """Fill a block with each number, so that a row can be combined with its number."""
    asc.brcb(blocks, numbers, asc.ceildiv(count, BLOCK), asc.BrcbRepeatParams(1, 8))


def with_numbers(op, dst, x, blocks, count, tile):
    """Row i of `dst` = `op` of row i of `x` and the number in block i."""
    for i in range(count):
        row = i * tile.length
        if tile.whole:
            params = asc.BinaryRepeatParams(1, 1, 0, 8, 8, 0)
            op(dst[row:], x[row:], blocks[i * BLOCK :], LANES, tile.whole, params)
        if tile.tail:
            rest = row + tile.whole * LANES
            params = asc.BinaryRepeatParams(1, 1, 0, 8, 8, 0)
            op(dst[rest:], x[rest:], blocks[i * BLOCK :], tile.tail, 1, params)
