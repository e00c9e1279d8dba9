"""What a launch costs before any device sees it."""

from .samples import BLOCKS, sample, vadd_arguments
from .timing import NotAvailable, median_seconds_each


def cached_launch() -> float:
    """Seconds to find the specialisation, check its guards and pack the arguments."""
    kernel = sample("add_framework", "vadd_kernel")
    if not hasattr(kernel, "dispatch"):
        raise NotAvailable("kernels have no dispatch method")
    arguments = vadd_arguments()
    return median_seconds_each(lambda: kernel.dispatch(BLOCKS, *arguments))
