"""What `tests/test_cache.py` runs beside it: processes that compile the same kernels at once.

`python cache_children.py SEED ROUNDS` uses the CANN and the cache of the environment. It forks
children that compile the same new texts in random order, kills most of them at random moments, and
checks every binary that one got. Prints one line for each round; ends with 1 at the first fault.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
import traceback

from asctrace.runtime.compiler.build import compile_text
from asctrace.tracer.chip import chip
from tests.cann_kit import origin

PROCESSES = 16
TEXTS = 3


def text(number: int) -> str:
    return f'extern "C" __global__ __aicore__ void k{number}()\n{{ /* {number} */ }}\n'


def child(seed: int, numbers: list[int], expected: dict[int, str]) -> None:
    """Compile texts; a binary whose bytes are not those of its text ends the child with 3."""
    random.Random(seed).shuffle(numbers)
    try:
        for number in numbers:
            binary = compile_text(text(number), chip("Ascend910B1"))
            data = binary.file().read_bytes()
            origin(data)
            if (binary.symbol, binary.digest) != (f"k{number}", expected[number]):
                os._exit(3)
    except BaseException:
        traceback.print_exc()
        os._exit(4)
    os._exit(0)


def main(seed: int, rounds: int) -> int:
    rng = random.Random(seed)
    # What is right: compiled alone, into a cache of its own.
    shared = os.environ["ASCTRACE_CACHE_DIR"]
    os.environ["ASCTRACE_CACHE_DIR"] = shared + "-alone"
    expected = {n: compile_text(text(n), chip("Ascend910B1")).digest for n in range(TEXTS * rounds)}
    os.environ["ASCTRACE_CACHE_DIR"] = shared
    for number in range(rounds):
        numbers = list(range(TEXTS * number, TEXTS * (number + 1)))
        children = []
        for _ in range(PROCESSES):
            start = rng.randrange(1 << 30)
            pid = os.fork()
            if not pid:
                child(start, numbers, expected)
            children.append(pid)
        doomed = rng.sample(children, PROCESSES - 2)
        for pid in doomed:
            time.sleep(rng.random() * 0.03)
            # Not waited for yet, so the number is still its own.
            os.kill(pid, signal.SIGKILL)
        ends = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children]
        killed = ends.count(-signal.SIGKILL)
        print(f"seed {seed} round {number}: {killed} killed, {ends.count(0)} done")
        if set(ends) - {0, -signal.SIGKILL}:
            print(f"children ended with {ends}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))
