"""How things are timed here: medians of CPU time, after one warm-up call.

What is measured runs in one thread and waits for nothing, so the CPU time is what it takes on a
machine that does nothing else.
"""

import time
from collections.abc import Callable
from statistics import median


class NotAvailable(Exception):
    """A measurement that cannot be made yet, or here; the text says why."""


def median_seconds(call: Callable[[], object], seconds: float = 1.0, most: int = 200) -> float:
    """Median time of `call`, from 5 to `most` runs within about `seconds`."""
    call()
    times: list[float] = []
    begin = time.perf_counter()
    while len(times) < 5 or (len(times) < most and time.perf_counter() - begin < seconds):
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return median(times)


def median_seconds_each(call: Callable[[], object], batch: int = 100) -> float:
    """Median time of one `call` where it is too short to be timed alone."""

    def many() -> None:
        for _ in range(batch):
            call()

    return median_seconds(many) / batch
