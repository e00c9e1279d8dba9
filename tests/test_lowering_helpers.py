"""The helper functions of the text, run on the host against Python and NumPy."""

from __future__ import annotations

import ctypes
import itertools
import math
import shutil
import subprocess
from typing import Any

import numpy as np
import pytest

from asctrace.lowering.helpers import helper_text

INTS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
BINARY = {"FloorDiv": "//", "FloorMod": "%", "Min": "min", "Max": "max"}
FLOATS = [
    0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, -2.5, 3.0, -3.0, 7.0, -7.0, 0.1, -0.1, 1e-3, 123456.7,
    8388607.5, -8388607.5, 16777216.0, 1e10, -1e10, 3e38, -3e38, 1e-38, 1e-45, -1e-45, 2e-40,
    math.pi, -math.e, math.inf, -math.inf, math.nan,
]  # fmt: skip


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Any:
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    folder = tmp_path_factory.mktemp("helpers")
    text = "#include <cstdint>\n#define __aicore__\n"
    text += helper_text({"FloorDiv", "FloorMod", "Abs", "Min", "Max"}, floats=True)
    for name in (*INTS, "float"):
        cpp = name if name == "float" else f"{name}_t"
        for function in BINARY:
            text += (
                f'extern "C" {cpp} {function}_{name}({cpp} a, {cpp} b) '
                f"{{ return {function}<{cpp}>(a, b); }}\n"
            )
        text += f'extern "C" {cpp} Abs_{name}({cpp} a) {{ return Abs<{cpp}>(a); }}\n'
    source = folder / "helpers.cpp"
    source.write_text(text)
    # Warnings are errors, but for `a < 0` on unsigned types in the templates.
    flags = ["-std=c++17", "-O1", "-fwrapv", "-ffp-contract=off", "-shared", "-fPIC", "-Wall"]
    done = subprocess.run(
        ["g++", *flags, "-Werror", str(source), "-o", str(folder / "helpers.so")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[:3000]
    return ctypes.CDLL(str(folder / "helpers.so"))


def function(library: Any, name: str, dtype: str, count: int = 2) -> Any:
    cls = ctypes.c_float if dtype == "float" else getattr(ctypes, f"c_{dtype}")
    found = getattr(library, f"{name}_{dtype}")
    found.restype, found.argtypes = cls, [cls] * count
    return found


def ints(dtype: str) -> list[int]:
    info = np.iinfo(dtype)
    few = [0, 1, 2, 3, 4, 7, 8, 100, int(info.max) - 1, int(info.max)]
    if info.min < 0:
        few += [-1, -2, -3, -4, -7, -8, -100, int(info.min) + 1, int(info.min)]
    return few


def wrapped(value: int, dtype: str) -> int:
    bits = np.iinfo(dtype).bits
    value %= 1 << bits
    return value - (1 << bits) if value > np.iinfo(dtype).max else value


@pytest.mark.parametrize("dtype", INTS)
@pytest.mark.parametrize("name", BINARY)
def test_ints(library: Any, name: str, dtype: str) -> None:
    python = {
        "FloorDiv": lambda a, b: a // b,
        "FloorMod": lambda a, b: a % b,
        "Min": min,
        "Max": max,
    }[name]
    cpp = function(library, name, dtype)
    for a, b in itertools.product(ints(dtype), repeat=2):
        if b == 0 and name.startswith("Floor"):
            continue
        assert cpp(a, b) == wrapped(python(a, b), dtype), (a, b)


@pytest.mark.parametrize("dtype", INTS)
def test_abs_of_ints(library: Any, dtype: str) -> None:
    cpp = function(library, "Abs", dtype, 1)
    assert [cpp(a) for a in ints(dtype)] == [wrapped(abs(a), dtype) for a in ints(dtype)]


def same(a: float, b: float) -> bool:
    """Equal to the sign of zero; all NaN are one."""
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return a == b and math.copysign(1, a) == math.copysign(1, b)


@pytest.mark.parametrize(
    ("name", "numpy"), [("FloorDiv", np.floor_divide), ("FloorMod", np.remainder)]
)
def test_floats_like_numpy(library: Any, name: str, numpy: Any) -> None:
    cpp = function(library, name, "float")
    rng = np.random.default_rng(1)
    spread = (rng.standard_normal(80) * 10.0 ** rng.integers(-8, 9, 80)).astype(np.float32)
    bits = rng.integers(0, 2**32, 80, dtype=np.uint32).view(np.float32)
    values = np.array([*FLOATS, *spread, *bits], np.float32)
    with np.errstate(all="ignore"):
        for a, b in itertools.product(values, repeat=2):
            expected = float(numpy(a, b))
            assert same(cpp(float(a), float(b)), expected), (a, b)


@pytest.mark.parametrize(
    ("a", "b"), [(-7.0, 2.0), (7.0, -2.0), (-7.0, 3.0), (7.0, -3.0), (0.0, -3.0), (6.0, -3.0)]
)
def test_floats_like_python(library: Any, a: float, b: float) -> None:
    assert same(function(library, "FloorDiv", "float")(a, b), a // b)
    assert same(function(library, "FloorMod", "float")(a, b), a % b)


def test_min_max_abs_of_floats(library: Any) -> None:
    minimum, maximum = function(library, "Min", "float"), function(library, "Max", "float")
    for a, b in itertools.product([float(np.float32(v)) for v in FLOATS], repeat=2):
        assert same(minimum(a, b), min(a, b)), (a, b)
        assert same(maximum(a, b), max(a, b)), (a, b)
        assert same(function(library, "Abs", "float", 1)(a), abs(a))


def test_only_what_is_used() -> None:
    assert helper_text(set(), floats=True) == ""
    text = helper_text({"FloorDiv"}, floats=False)
    assert "FloorDiv" in text
    assert "FloorMod" not in text
    assert "Remainder" not in text
    assert "Remainder" in helper_text({"FloorMod"}, floats=True)
    assert "Remainder" not in helper_text({"Min"}, floats=True)
