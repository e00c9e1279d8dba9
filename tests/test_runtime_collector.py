"""The garbage collector while kernels are traced."""

import gc

import numpy as np
import pytest

import asctrace as asc
from asctrace.runtime.collector import paused


@pytest.fixture(autouse=True)
def collecting() -> None:
    assert gc.isenabled()


def test_paused_while_tracing_only() -> None:
    seen: list[bool] = []

    @asc.jit
    def kernel(x):
        seen.append(gc.isenabled())

    kernel.lower(np.zeros(8, np.float32))
    assert (seen, gc.isenabled()) == ([False], True)


def test_an_error_of_the_kernel_puts_it_back() -> None:
    @asc.jit
    def kernel(x):
        raise ValueError("no")

    with pytest.raises(asc.KernelError, match="ValueError: no"):
        kernel.trace(np.zeros(8, np.float32))
    assert gc.isenabled()


def test_the_outermost_puts_it_back() -> None:
    states = []
    with paused:
        with paused:
            states.append(gc.isenabled())
        states.append(gc.isenabled())
    assert [*states, gc.isenabled()] == [False, False, True]


def test_what_was_off_stays_off() -> None:
    gc.disable()
    try:
        with paused:
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
