"""pyasc's figures. It needs no device here: the toolchain is left out and launches are dry."""

from __future__ import annotations

import os
import sys
import tempfile
from functools import cache
from importlib import import_module
from importlib.metadata import version as installed_version
from typing import Any

import numpy as np

from . import startup
from .samples import BLOCKS, sample, vadd_arguments
from .timing import median_seconds, median_seconds_each


def version() -> str:
    """Name and version."""
    return f"pyasc {installed_version('pyasc')}"


@cache
def prepare() -> tempfile.TemporaryDirectory[str]:
    """Import pyasc under the name asctrace, so that it is handed the very same kernels."""
    os.environ["DRY_RUN"] = "1"
    os.environ["PYASC_COMPILER"] = os.environ["PYASC_LINKER"] = sys.executable
    # Kept by the cache of this function, removed when the process ends.
    disk_cache = tempfile.TemporaryDirectory(prefix="reference-")
    os.environ["PYASC_CACHE_DIR"] = disk_cache.name
    asc: Any = import_module("asc")
    compiler = import_module("asc.runtime.compiler")
    core_type = import_module("asc.lib.runtime").CoreType.VectorCore

    class TextOnly(compiler.Compiler):
        """Stops where the toolchain would be called."""

        def run_compilation(self, source: str, kernel_args: Any = None) -> Any:
            return compiler.CompiledKernel(source.encode(), core_type, False, kernel_args)

    import_module("asc.runtime.jit").JITFunction.compiler = TextOnly
    sys.modules["asctrace"] = asc
    return disk_cache


def trace_lower() -> float:
    """As trace_lower.add_framework."""
    prepare()
    kernel = sample("add_framework", "vadd_kernel")
    arguments = vadd_arguments()
    return median_seconds(lambda: kernel[BLOCKS](*arguments, always_compile=True))


def unrolled() -> float:
    """As trace_lower.unrolled."""
    prepare()
    module: Any = import_module(f"{__package__}.unrolled_kernel")
    x = np.zeros(1024 * module.TILE, np.float32)
    arguments = (x, np.zeros_like(x), 1024, module.TILE)
    return median_seconds(lambda: module.double_tiles[1](*arguments, always_compile=True))


def dispatch() -> float:
    """As dispatch.cached_launch."""
    prepare()
    kernel = sample("add_framework", "vadd_kernel")
    arguments = vadd_arguments()
    return median_seconds_each(lambda: kernel[BLOCKS](*arguments))


def import_ratio() -> float:
    """As startup.ratio."""
    return startup.ratio("asc")


ROWS = {
    "trace_lower": trace_lower,
    "unrolled": unrolled,
    "dispatch": dispatch,
    "startup": import_ratio,
}
