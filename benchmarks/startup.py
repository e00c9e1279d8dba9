"""How much `import asctrace` adds to what `import numpy` costs anyway."""

import subprocess
import sys
import tempfile
import time
from statistics import median


def ratio(module: str = "asctrace", pairs: int = 11) -> float:
    """Wall time of a process that imports `module` over one that imports NumPy.

    The two alternate, so that a slow phase of the machine meets both.
    """
    times: dict[str, list[float]] = {"numpy": [], module: []}
    with tempfile.TemporaryDirectory() as empty:
        for _ in range(pairs + 1):
            for name, seconds in times.items():
                start = time.perf_counter()
                subprocess.run([sys.executable, "-c", f"import {name}"], cwd=empty, check=True)
                seconds.append(time.perf_counter() - start)
    # The first pair warms the disk and the bytecode cache.
    return median(times[module][1:]) / median(times["numpy"][1:])
