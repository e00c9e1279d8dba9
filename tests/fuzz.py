"""Fuzz asctrace against CPython.

    python tests/fuzz.py --examples 1000 [--seed S] [--kind vm|path|twin|npu]

Runs the first two kinds unless one is named; the third compiles every text with g++, the fourth
launches it on the stand-in for a device, too. A failure is shrunk and printed as a whole program
with the command that repeats it; the exit code is then 1. Not a test module.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import warnings
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent))

from tests.differential import KINDS, Difference, run_examples

#: Examples in one Hypothesis run, which bounds what it remembers.
CHUNK = 500


def fuzz(kind: str, examples: int, seed: int) -> bool:
    """Run examples of one kind in chunks; print progress and the first failure."""
    start = time.perf_counter()
    done = 0
    while done < examples:
        count = min(CHUNK, examples - done)
        try:
            run_examples(kind, count, seed)
        except Difference as difference:
            print(f"{kind}: FAILED\n\n{difference}")
            print(f"repeat: python tests/fuzz.py --kind {kind} --seed {seed} --examples {count}")
            return False
        done += count
        seed += 1
        took = time.perf_counter() - start
        print(f"{kind}: {done} of {examples}, {done / took:.0f} a second", flush=True)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description="Differential fuzzing, CPython against asctrace.")
    parser.add_argument("--examples", type=int, default=200, help="examples of each kind")
    parser.add_argument("--seed", type=int, help="seed of the first chunk of 500")
    parser.add_argument("--kind", choices=sorted(KINDS), help="one kind only")
    options = parser.parse_args()
    warnings.simplefilter("ignore", SyntaxWarning)
    seed = random.randrange(10**9) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    start = time.perf_counter()
    kinds = [options.kind] if options.kind else ["path", "vm"]
    good = [kind for kind in kinds if fuzz(kind, options.examples, seed)]
    failed = [kind for kind in kinds if kind not in good]
    took = time.perf_counter() - start
    verdict = f"FAILED: {', '.join(failed)}" if failed else "clean"
    print(f"{' and '.join(kinds)}, {options.examples} examples each, {took:.0f} s, {verdict}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
