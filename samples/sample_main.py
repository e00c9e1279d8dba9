"""What the samples on NumPy arrays share: the command line, the run, the comparison."""

import argparse
import sys

import numpy as np

import asctrace as asc


def parse(doc, **defaults):
    """The options `--name value` of a sample, each with a default of the same type."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    for name, default in defaults.items():
        kind = type(default)
        parser.add_argument(f"--{name}", type=kind, default=default, help="default: %(default)s")
    options = parser.parse_args()
    wrong = [f"--{name} {value}" for name, value in vars(options).items() if value < 1]
    if wrong:
        parser.error(f"{wrong[0]}: sizes and numbers of blocks are at least 1")
    return options


def run(launches, result, expected, tolerance):
    """Print the text of the first kernel, launch all, compare; the exit code of the sample.

    `launches` are (kernel, blocks, arguments); `result()` gives what the last one left, as an
    array, `expected` is what NumPy says and `tolerance` the largest difference relative to the
    largest element.
    """
    try:
        for k, (kernel, blocks, arguments) in enumerate(launches):
            if k == 0:
                lowered = kernel.lower(*arguments)
                print(lowered.source)
                print(lowered.report())
            ended = kernel[blocks](*arguments)
            print(f"simulated {ended.blocks} blocks, {ended.ops} operations")
    except asc.KernelError as problem:
        print(problem, file=sys.stderr)
        return 1
    got = np.asarray(result(), np.float64)
    scale = max(np.abs(expected).max(), 1e-30)
    worst = np.abs(got - expected).max() / scale
    fits = bool(worst <= tolerance)
    verdict = "matches NumPy" if fits else "differs from NumPy"
    print(f"{verdict}, largest difference {worst:.1e} of the largest element")
    return 0 if fits else 1
