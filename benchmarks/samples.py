"""The kernels that are measured: those of samples/, and arguments for them."""

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np

from .timing import NotAvailable

ROOT = Path(__file__).resolve().parent.parent
BLOCKS = 8


def sample(module: str, name: str) -> Any:
    """An object of a module in samples/."""
    folder = str(ROOT / "samples")
    if folder not in sys.path:
        sys.path.append(folder)
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as missing:
        raise NotAvailable(f"no module {missing.name}") from None


def vadd_arguments(blocks: int = BLOCKS, tile: int = 128) -> tuple[Any, ...]:
    """x, y, z, block_length, tile_length: the sample's loop is 16 tiles a block."""
    block_length = 16 * tile
    x = np.linspace(0, 1, blocks * block_length, dtype=np.float32)
    return x, x[::-1].copy(), np.zeros_like(x), block_length, tile
