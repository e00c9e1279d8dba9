"""Functions that the chips approximate, when the simulator is told to be off."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import asctrace as asc
from asctrace.tracer.ops.functions import load_all
from asctrace.tracer.ops.spec import TABLE, OpFunction, OpSpec
from tests.simulator_kit import Kernel
from tests.vector_kit import CHIPS

load_all()
COUNT = 4096
#: Architecture -> functions with a documented error; "1 ulp" or relative by dtype.
KNOWN = {
    "2201": {key: {"float16": 0.002, "float32": 0.0002} for key in ("reciprocal", "rsqrt")},
    "3510": dict.fromkeys(("reciprocal", "rsqrt", "exp", "ln", "sqrt", "div"), "1 ulp"),
}
CASES = [(arch, name, dtype) for arch in KNOWN for name in KNOWN[arch]
         for dtype in (asc.float16, asc.float32)]  # fmt: skip


def run(arch: str, spec: OpSpec, data: Any, dtype: Any, blocks: int = 1, **params: Any) -> Any:
    kernel = Kernel(CHIPS[arch])
    out = np.zeros(blocks * COUNT, data.dtype)
    with kernel:
        source = kernel.tensor(kernel.address("source", dtype))
        target = kernel.tensor(kernel.address("target", dtype))
        x = asc.LocalTensor(dtype, asc.TPosition.VECIN, 0, COUNT)
        y = asc.LocalTensor(dtype, asc.TPosition.VECIN, COUNT * dtype.sizeof(), COUNT)
        asc.data_copy(x, source, COUNT)
        operands = (x, x) if spec.name == "div" else (x,)
        if spec.name == "div":
            asc.duplicate(y, 3.0, COUNT)
            operands = (x, y)
        OpFunction(spec)(y, *operands, COUNT)
        asc.data_copy(target[asc.get_block_idx() * COUNT :], y, COUNT)
    kernel.run(data, out, blocks=blocks, **params)
    return out


def inputs(dtype: Any) -> Any:
    numbers = np.random.default_rng(3).uniform(0.1, 8, COUNT).astype(dtype.np)
    numbers[:4] = [0, math.inf, math.nan, 1]
    return numbers


@pytest.mark.parametrize(("arch", "name", "dtype"), CASES)
def test_within_the_documented_error(arch: str, name: str, dtype: Any) -> None:
    spec, data = TABLE[name], inputs(dtype)
    exact = run(arch, spec, data, dtype)
    off = run(arch, spec, data, dtype, approximate=True)
    fixed = ~np.isfinite(exact) | (exact == 0)
    np.testing.assert_array_equal(off[fixed], exact[fixed])
    left, right = (part[~fixed].astype(np.float64) for part in (off, exact))
    bound = KNOWN[arch][name]
    if bound == "1 ulp":
        ulp = np.abs(np.spacing(exact[~fixed])).astype(np.float64)
        assert (np.abs(left - right) <= ulp).all()
    else:
        half = np.abs(np.spacing(exact[~fixed])).astype(np.float64)
        assert (np.abs(left - right) <= bound[dtype.name] * np.abs(right) + half).all()
    assert (left != right).mean() > 0.3
    assert (left > right).any()
    assert (left < right).any()


def test_the_seed_decides_for_each_block() -> None:
    data = inputs(asc.float32)
    spec = TABLE["rsqrt"]
    runs = [
        run("2201", spec, data, asc.float32, 2, approximate=True, seed=seed) for seed in (1, 1, 2)
    ]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert (runs[0] != runs[2]).any()
    assert (runs[0][:COUNT] != runs[0][COUNT:]).any()


def test_rows_without_a_documented_error_are_exact() -> None:
    data = inputs(asc.float32)
    for name in ("exp", "ln", "sqrt", "abs"):
        exact = run("2201", TABLE[name], data, asc.float32)
        off = run("2201", TABLE[name], data, asc.float32, approximate=True)
        np.testing.assert_array_equal(off, exact)


def test_every_row_with_a_bound_says_its_error() -> None:
    bounds = {
        arch: {s.name: s.extra["approximate"][arch] for s in TABLE.values()
               if arch in s.extra.get("approximate", {})}
        for arch in KNOWN
    }  # fmt: skip
    assert bounds == KNOWN
    for names in KNOWN.values():
        assert all(TABLE[name].extra["error"] for name in names)
