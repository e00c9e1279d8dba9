"""What the samples on vectors share: the command line, the check of the sizes, the run."""

import argparse
import sys

import numpy as np

import asctrace as asc

#: Data moves in blocks of this many bytes.
BLOCK_BYTES = 32

#: `add` takes bfloat16 on this chip and not on the default one.
BFLOAT16_SOC = "Ascend950PR_958b"

DTYPES = ("float16", "bfloat16", "float32", "int8", "int16", "int32", "int64", "uint8")


def check_size(size, blocks, tiles, dtype):
    """Raise `ValueError` unless every tile of every block is whole 32-byte blocks."""
    if size < 1 or blocks < 1:
        raise ValueError(f"the size ({size}) and the number of blocks ({blocks}) are at least 1")
    unit = BLOCK_BYTES // dtype.sizeof()
    step = blocks * tiles * unit
    if size % step:
        below = size // step * step
        nearest = f"{below} or {below + step}" if below else f"{step}"
        raise ValueError(
            f"size {size} does not divide into {blocks} blocks x {tiles} tiles of whole "
            f"{BLOCK_BYTES}-byte blocks ({unit} elements of {dtype}): it must be a multiple of "
            f"{blocks} x {tiles} x {unit} = {step}, such as {nearest}"
        )


def inputs(size, dtype):
    """Two vectors of random numbers; integers over their whole range, so that sums wrap."""
    rng = np.random.default_rng(2024)
    if dtype.is_int():
        return (rng.integers(dtype.lo, dtype.hi, size, dtype.np, endpoint=True) for _ in "xy")
    return (rng.standard_normal(size, np.float32).astype(dtype.np) for _ in "xy")


def add(x, y):
    """What most of the samples compute."""
    return x + y


def main(doc, kernel, lengths, tiles, expected=add):
    """Run a sample: 0 if the result is NumPy's, 1 if not, 2 for sizes that do not divide."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--size", type=int, default=16384, help="elements (default: %(default)s)")
    parser.add_argument("--dtype", choices=DTYPES, default="float32")
    parser.add_argument("--blocks", type=int, default=8, help="default: %(default)s")
    options = parser.parse_args()
    dtype = getattr(asc, options.dtype)
    try:
        check_size(options.size, options.blocks, tiles, dtype)
    except ValueError as problem:
        print(f"{parser.prog}: {problem}", file=sys.stderr)
        return 2
    if dtype is asc.bfloat16:
        print(f"bfloat16: made for {BFLOAT16_SOC}, the default chip does not add it\n")
        kernel = asc.jit(kernel, soc=BFLOAT16_SOC)
    x, y = inputs(options.size, dtype)
    z = np.zeros_like(x)
    arguments = (x, y, z, *lengths(options.size // options.blocks))
    try:
        lowered = kernel.lower(*arguments)
        print(lowered.source)
        print(lowered.report())
        run = kernel[options.blocks](*arguments)
    except asc.KernelError as problem:
        print(problem, file=sys.stderr)
        return 1
    print(f"simulated {run.blocks} blocks, {run.ops} operations")
    same = np.array_equal(z, expected(x, y))
    print("matches NumPy" if same else "differs from NumPy")
    return 0 if same else 1
