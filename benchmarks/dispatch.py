"""What a launch costs before any device sees it, and up to the device's queue."""

import shutil

import pytest

from .samples import BLOCKS, sample, vadd_arguments
from .timing import NotAvailable, median_seconds_each


def cached_launch() -> float:
    """Seconds to find the specialisation, check its guards and pack the arguments."""
    kernel = sample("add_framework", "vadd_kernel")
    if not hasattr(kernel, "dispatch"):
        raise NotAvailable("kernels have no dispatch method")
    arguments = vadd_arguments()
    return median_seconds_each(lambda: kernel.dispatch(BLOCKS, *arguments))


def npu_launch() -> float:
    """Seconds of a launch on device arrays, until it is in the queue of the ACL stand-in."""
    if shutil.which("g++") is None:
        raise NotAvailable("the ACL stand-in is built with g++")
    from asctrace import npu
    from tests.acl_kit import Bodies, install

    kernel = sample("add_framework", "vadd_kernel").on(backend="npu")
    bodies = Bodies()
    bodies["vadd_kernel"] = ""
    with pytest.MonkeyPatch.context() as patch:
        install(patch, bodies)
        *arrays, length, tile = vadd_arguments()
        there = [npu.to_device(array) for array in arrays]
        kernel[BLOCKS](*there, length, tile)
        # The stand-in runs what it was given when it is waited for: now and then, and briefly.
        taken = median_seconds_each(lambda: kernel[BLOCKS](*there, length, tile))
        npu.shutdown()
    return taken
