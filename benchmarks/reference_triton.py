"""Figures of Triton's interpreter, which also runs kernels in NumPy without a device."""

from __future__ import annotations

import os
from functools import cache
from importlib import import_module
from importlib.metadata import version as installed_version
from typing import Any

from .timing import median_seconds


def version() -> str:
    """Name and version."""
    return f"Triton interpreter {installed_version('triton')}"


@cache
def kernels() -> Any:
    """The kernels; the switch must be set before triton is imported."""
    os.environ["TRITON_INTERPRET"] = "1"
    return import_module(f"{__package__}.triton_kernels")


def vadd() -> float:
    """As simulate.vadd: 512 programs of 2048 elements."""
    module = kernels()
    torch = import_module("torch")
    x = torch.rand(1 << 20)
    z = torch.empty_like(x)
    seconds = median_seconds(lambda: module.vadd[(512,)](x, x, z, TILE=2048), seconds=3)
    assert torch.equal(z, x + x)
    return seconds


def softmax() -> float:
    """As simulate.softmax: a row a program."""
    module = kernels()
    torch = import_module("torch")
    x = torch.rand(1024, 1024)
    z = torch.empty_like(x)
    seconds = median_seconds(lambda: module.softmax[(1024,)](x, z, COLUMNS=1024), seconds=3)
    assert torch.allclose(z, torch.softmax(x, 1))
    return seconds


ROWS = {"vadd": vadd, "softmax": softmax}
