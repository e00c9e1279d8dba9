"""The simulated kernels as Triton has them."""

import triton
import triton.language as tl


@triton.jit
def vadd(x, y, z, TILE: tl.constexpr):
    """z = x + y, one tile a program."""
    index = tl.program_id(0) * TILE + tl.arange(0, TILE)
    tl.store(z + index, tl.load(x + index) + tl.load(y + index))


@triton.jit
def softmax(x, z, COLUMNS: tl.constexpr):
    """One row a program."""
    index = tl.program_id(0) * COLUMNS + tl.arange(0, COLUMNS)
    row = tl.load(x + index)
    e = tl.exp(row - tl.max(row, axis=0))
    tl.store(z + index, e / tl.sum(e, axis=0))
