"""Launches: what is traced when, what a kernel may be made of, what comes back."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import asctrace as asc

TILES = 2


@pytest.fixture(autouse=True)
def default_platform(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("BACKEND", "SOC", "UNROLL_LIMIT", "VERBOSE"):
        monkeypatch.delenv(f"ASCTRACE_{name}", raising=False)
    asc.set_platform()
    yield
    asc.set_platform()


def copy_tiles(x, z, tile, tiles):
    """z = x for `tiles` tiles of `tile` elements."""
    x_gm = asc.GlobalTensor()
    x_gm.set_global_buffer(x)
    z_gm = asc.GlobalTensor()
    z_gm.set_global_buffer(z)
    pipe = asc.TPipe()
    queue = asc.TQue(asc.TPosition.VECIN, 1)
    pipe.init_buffer(queue, 1, tile * x.dtype.sizeof())
    for i in range(tiles):
        local = queue.alloc_tensor(x.dtype)
        asc.data_copy(local, x_gm[i * tile :], tile)
        queue.enque(local)
        local = queue.deque(x.dtype)
        # The queue's events are between MTE2 and V, the copies run on MTE2 and MTE3.
        asc.pipe_barrier(asc.PipeID.PIPE_ALL)
        asc.data_copy(z_gm[i * tile :], local, tile)
        asc.pipe_barrier(asc.PipeID.PIPE_ALL)
        queue.free_tensor(local)


@asc.jit
def copy(x: asc.GlobalAddress, z: asc.GlobalAddress, tile: asc.ConstExpr[int]):
    copy_tiles(x, z, tile, TILES)


def fresh_copy(**options: Any) -> asc.Kernel:
    """A kernel with empty caches."""
    return asc.jit(copy.fn, **options)


def arrays(dtype: Any = np.float32, size: int = 64) -> tuple[Any, Any]:
    x = np.arange(size).astype(dtype)
    return x, np.zeros_like(x)


# -- what is traced when ----------------------------------------------------------------------


def test_launch_computes_and_reports() -> None:
    kernel = fresh_copy()
    x, z = arrays()
    info = kernel[1](x, z, 32)
    np.testing.assert_array_equal(z, x)
    assert (info.backend, info.blocks) == ("sim", 1)
    assert info.ops > 0
    assert kernel.last_run is info


def test_second_launch_does_not_trace() -> None:
    kernel = fresh_copy()
    x, z = arrays()
    kernel[1](x, z, 32)
    kernel[1](np.ones_like(x), z, 32)
    assert kernel.trace_count == 1
    assert (z == 1).all()


def test_dtype_and_constexpr_specialise() -> None:
    kernel = fresh_copy()
    for dtype, tile in ((np.float32, 32), (np.float16, 32), (np.float32, 16), (np.float16, 32)):
        x, z = arrays(dtype)
        kernel[1](x, z, tile)
        np.testing.assert_array_equal(z[: 2 * tile], x[: 2 * tile])
    assert kernel.trace_count == 3


def test_global_that_is_read_traces_again(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = fresh_copy()
    x, z = arrays()
    kernel[1](x, z, 16)
    assert z[32:].sum() == 0
    monkeypatch.setitem(globals(), "TILES", 4)
    kernel[1](x, z, 16)
    np.testing.assert_array_equal(z, x)
    assert kernel.trace_count == 2


def test_old_trace_is_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = fresh_copy()
    x, z = arrays()
    for tiles in (2, 4, 2, 4):
        monkeypatch.setitem(globals(), "TILES", tiles)
        kernel[1](x, z, 16)
    assert kernel.trace_count == 2


def test_unrelated_global_does_not_trace_again(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = fresh_copy()
    x, z = arrays()
    kernel[1](x, z, 16)
    monkeypatch.setitem(globals(), "UNRELATED", 4)
    kernel[1](x, z, 16)
    assert kernel.trace_count == 1


def test_closure_cell_that_is_read_traces_again() -> None:
    tiles = 2

    @asc.jit
    def kernel(x, z):
        copy_tiles(x, z, 16, tiles)

    x, z = arrays()
    kernel[1](x, z)
    kernel[1](x, z)
    tiles = 4
    kernel[1](x, z)
    np.testing.assert_array_equal(z, x)
    assert kernel.trace_count == 2


@asc.jit
def fill_quotient(z: asc.GlobalAddress, n: int):
    z_gm = asc.GlobalTensor()
    z_gm.set_global_buffer(z)
    z_gm.set_value(0, n // 3)


def test_sign_of_an_integer_is_a_guard() -> None:
    kernel = asc.jit(fill_quotient)
    z = np.zeros(8, np.int32)
    for n in (7, 8, -7, -8, 9):
        kernel[1](z, n)
        assert z[0] == n // 3
    assert kernel.trace_count == 2


def test_sign_that_does_not_matter_is_no_guard() -> None:
    @asc.jit
    def kernel(z, n):
        z_gm = asc.GlobalTensor()
        z_gm.set_global_buffer(z)
        z_gm.set_value(0, n + 1)

    z = np.zeros(8, np.int32)
    for n in (7, -7):
        kernel[1](z, n)
        assert z[0] == n + 1
    assert kernel.trace_count == 1


def test_scalars_keep_python_types() -> None:
    types = []

    @asc.jit
    def kernel(i, f, b, n):
        types.append([str(v.dtype) for v in (i, f, b, n)])

    kernel.trace(1, 1.0, True, np.int64(1))
    assert types == [["int32", "float32", "bool", "int64"]]


def test_number_of_specialisations_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = fresh_copy()
    x, z = arrays()
    for tiles in range(70):
        monkeypatch.setitem(globals(), "TILES", tiles)
        kernel.trace(x, z, 8)
    (context,) = kernel._contexts.values()
    (entries,) = context.cache.values()
    assert len(entries) == 64
    kernel.trace(x, z, 8)
    assert kernel.trace_count == 70


def test_always_compile_goes_past_the_cache() -> None:
    kernel = fresh_copy()
    x, z = arrays()
    first = kernel.trace(x, z, 32)
    assert kernel.trace(x, z, 32).trace is first.trace
    assert kernel.trace(x, z, 32, always_compile=True).trace is not first.trace
    assert kernel.lower(x, z, 32, always_compile=True).trace is not first.trace
    assert kernel.trace(x, z, 32).trace is first.trace
    again = fresh_copy(always_compile=True)
    assert again.trace(x, z, 32).trace is not again.trace(x, z, 32).trace


# -- what a kernel may be ---------------------------------------------------------------------


def test_lambda() -> None:
    x, z = arrays()
    asc.jit(lambda x, z: copy_tiles(x, z, 32, 2))[1](x, z)
    np.testing.assert_array_equal(z, x)


def test_exec() -> None:
    namespace = {"copy_tiles": copy_tiles}
    exec("def made(x, z, tile):\n    copy_tiles(x, z, 32, 2)\n", namespace)
    x, z = arrays()
    asc.jit(namespace["made"])[1](x, z, 32)
    np.testing.assert_array_equal(z, x)


class Copier:
    def __init__(self, tiles: int) -> None:
        self.tiles = tiles

    @asc.jit
    def run(self, x, z, tile: asc.ConstExpr[int]):
        copy_tiles(x, z, tile, self.tiles)

    @asc.jit
    @staticmethod
    def inner_static(x, z):
        copy_tiles(x, z, 32, 2)

    @staticmethod
    @asc.jit
    def outer_static(x, z):
        copy_tiles(x, z, 32, 2)

    def plain(self, x, z):
        copy_tiles(x, z, 16, self.tiles)


def test_method_is_specialised_on_the_instance() -> None:
    two, four = Copier(2), Copier(4)
    x, z = arrays()
    two.run[1](x, z, 16)
    assert z[32:].sum() == 0
    four.run[1](x, z, 16)
    np.testing.assert_array_equal(z, x)
    two.run[1](x, z, 16)
    assert two.run is two.run
    assert two.run.trace_count == 1


def test_attribute_that_is_read_traces_again() -> None:
    copier = Copier(2)
    x, z = arrays()
    copier.run[1](x, z, 16)
    copier.tiles = 4
    copier.run[1](x, z, 16)
    np.testing.assert_array_equal(z, x)


@pytest.mark.parametrize("name", ["inner_static", "outer_static"])
def test_static_method(name: str) -> None:
    for owner in (Copier, Copier(1)):
        x, z = arrays()
        getattr(owner, name)[1](x, z)
        np.testing.assert_array_equal(z, x)


def test_bound_method() -> None:
    x, z = arrays()
    asc.jit(Copier(4).plain)[1](x, z)
    np.testing.assert_array_equal(z, x)


def test_kernel_as_helper() -> None:
    @asc.jit
    def outer(x, z):
        copy(x, z, 32)

    x, z = arrays()
    outer[1](x, z)
    np.testing.assert_array_equal(z, x)


@pytest.mark.parametrize("thing", [len, 3, Copier])
def test_no_python_code(thing: Any) -> None:
    with pytest.raises(TypeError, match="functions, lambdas and methods"):
        asc.jit(thing)


# -- binding ----------------------------------------------------------------------------------


@asc.jit
def with_defaults(x, z, tile: asc.ConstExpr[int] = 16, *, tiles: asc.ConstExpr[int] = 2):
    copy_tiles(x, z, tile, tiles)


@pytest.mark.parametrize(
    ("kwargs", "copied"), [({}, 32), ({"tile": 32}, 64), ({"tiles": 4}, 64), ({"tiles": 1}, 16)]
)
def test_keywords_and_defaults(kwargs: dict[str, int], copied: int) -> None:
    x, z = arrays()
    with_defaults[1](x, z=z, **kwargs)
    np.testing.assert_array_equal(z[:copied], x[:copied])
    assert z[copied:].sum() == 0


def test_default_is_a_constant() -> None:
    @asc.jit
    def kernel(x, z, tiles=2):
        copy_tiles(x, z, 16, tiles)

    x, z = arrays()
    kernel[1](x, z)
    np.testing.assert_array_equal(z[:32], x[:32])
    assert "tiles" not in [p.name for p in kernel.trace(x, z).trace.params]
    assert "tiles" in [p.name for p in kernel.trace(x, z, 2).trace.params]


def test_star_arguments() -> None:
    @asc.jit
    def kernel(tile: asc.ConstExpr[int], *gm):
        copy_tiles(gm[0], gm[1], tile, 2)

    x, z = arrays()
    kernel[1](32, x, z)
    np.testing.assert_array_equal(z, x)


def test_text_annotations() -> None:
    source = (
        "from __future__ import annotations\n"
        "import asctrace as other\n"
        "C = other.ConstExpr\n"
        "def made(x: other.GlobalAddress, z: missing, tile: other.ConstExpr[int], tiles: C[int]):\n"
        "    copy_tiles(x, z, tile, tiles)\n"
    )
    namespace = {"copy_tiles": copy_tiles}
    exec(source, namespace)
    kernel = asc.jit(namespace["made"])
    x, z = arrays()
    kernel[1](x, z, 16, 4)
    np.testing.assert_array_equal(z, x)
    assert [p.name for p in kernel.trace(x, z, 16, 4).trace.params] == ["x", "z"]


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((1,), {}, "copy: missing a required argument: 'z'"),
        ((1, 2, 3, 4), {}, "copy: too many positional arguments"),
        ((1, 2, 3), {"depth": 4}, "copy: got an unexpected keyword argument 'depth'"),
        ((1, 2, 3), {}, "argument `x` of copy is a GlobalAddress, so not the int 1"),
        ((), {"x": "text", "z": 2, "tile": 3}, "is a GlobalAddress, so not the str 'text'"),
    ],
)
def test_wrong_arguments(args: tuple[Any, ...], kwargs: dict[str, Any], message: str) -> None:
    with pytest.raises(asc.KernelError) as caught:
        copy[1](*args, **kwargs)
    assert caught.value.code == "AT0113"
    assert message in caught.value.findings[0].message


@pytest.mark.parametrize(
    ("blocks", "code"),
    [(0, "AT0108"), (-1, "AT0108"), (65536, "AT0108"), ("8", "AT0113"), (True, "AT0113"),
     (1.0, "AT0113"), ((1, 2, 3), "AT0113")],
)  # fmt: skip
def test_wrong_grid(blocks: Any, code: str) -> None:
    with pytest.raises(asc.KernelError) as caught:
        copy[blocks](*arrays(), 32)
    assert caught.value.code == code
    assert "with blocks from 1 to 65535" in caught.value.findings[0].hint


def test_numpy_grid_and_stream() -> None:
    x, z = arrays()
    kernel = fresh_copy(sim=asc.SimParams(detect_races=False))  # both blocks write the same
    assert kernel[np.int64(2), None](x, z, 32).blocks == 2


def test_plain_call_is_refused() -> None:
    with pytest.raises(asc.KernelError) as caught:
        copy(*arrays(), 32)
    assert caught.value.code == "AT0113"
    assert "launch it as copy[blocks](...)" in caught.value.findings[0].hint


# -- options ----------------------------------------------------------------------------------


def test_unknown_option() -> None:
    with pytest.raises(TypeError, match="no option unroll; it has backend, soc, unroll_limit"):
        asc.jit(unroll=3)(copy.fn)


@pytest.mark.parametrize("options", [{"backend": "gpu"}, {"unroll_limit": -1}])
def test_wrong_option(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"backend 'gpu' is none of|unroll_limit is -1"):
        asc.jit(copy.fn, **options)


def chip_of(kernel: asc.Kernel) -> str:
    name = kernel.trace(*arrays(), 32).trace.chip.name
    assert isinstance(name, str)
    return name


def test_chip_precedence(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = fresh_copy()
    assert chip_of(kernel) == "Ascend910B1"
    monkeypatch.setenv("ASCTRACE_SOC", "Ascend910B2")
    assert chip_of(kernel) == "Ascend910B2"
    asc.set_platform(soc="Ascend910B3")
    assert chip_of(kernel) == "Ascend910B3"
    assert chip_of(asc.jit(kernel, soc="Ascend950PR_958b")) == "Ascend950PR_958b"
    asc.set_platform()
    monkeypatch.delenv("ASCTRACE_SOC")
    assert chip_of(kernel) == "Ascend910B1"
    assert kernel.trace_count == 3


def test_unroll_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = fresh_copy()
    args = (*arrays(), 32)
    assert "for (" not in kernel.lower(*args).source
    assert "for (" in asc.jit(kernel, unroll_limit=0).lower(*args).source
    monkeypatch.setenv("ASCTRACE_UNROLL_LIMIT", "0")
    assert "for (" in kernel.lower(*args).source


def test_name() -> None:
    kernel = asc.jit(lambda x, z: copy_tiles(x, z, 32, 2), name="copy_32")
    assert "void copy_32(" in kernel.lower(*arrays()).source


def test_unknown_platform() -> None:
    with pytest.raises(ValueError, match="backend 'gpu' is none of auto, sim, npu"):
        asc.set_platform(backend="gpu")
    with pytest.raises(asc.KernelError, match="unknown chip 'Ascend1'") as caught:
        asc.set_platform(soc="Ascend1")
    assert caught.value.code == "AT0304"


# -- results ----------------------------------------------------------------------------------


def test_lowered(tmp_path: Path) -> None:
    x, z = arrays()
    lowered = copy.lower(x, z, 32)
    assert "void copy(__gm__ float* x, __gm__ float* z)" in lowered.source
    report = lowered.report()
    assert report.startswith("copy for Ascend910B1 (architecture 2201)\n")
    for text in ("__gm__ float*", "constant 32", "queue", "VECIN"):
        assert text in report
    folder = lowered.save(tmp_path / "deep" / "er")
    assert (folder / "kernel.cpp").read_text() == lowered.source


def test_dispatch_gives_the_runtime_arguments() -> None:
    @asc.jit
    def kernel(n: int, tile: asc.ConstExpr[int], x, scale: float):
        pass

    x = np.zeros(8, np.int16)
    specialisation, packed = kernel.dispatch(4, 5, 16, x, 1.5)
    assert [p.name for p in specialisation.trace.params] == ["n", "x", "scale"]
    assert packed[0] == 5
    assert packed[1] is x
    assert packed[2] == 1.5
    assert kernel.dispatch(4, 6, 16, x, 1.5)[0] is specialisation


def test_compile_for_sim() -> None:
    compiled = copy.compile(*arrays(), 32)
    assert compiled.backend == "sim"
    assert "DataCopy" in compiled.lowered.source


@pytest.mark.parametrize("entry", ["compile", "launch"])
def test_npu_without_cann(entry: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ASCEND_HOME_PATH", str(tmp_path))
    monkeypatch.delenv("ASCEND_TOOLKIT_HOME", raising=False)
    monkeypatch.setenv("PATH", "")
    kernel = fresh_copy(backend="npu")
    x, z = arrays()
    with pytest.raises(asc.KernelError) as caught:
        kernel.compile(x, z, 32) if entry == "compile" else kernel[1](x, z, 32)
    finding = caught.value.findings[0]
    assert finding.code == "AT0305"
    assert "no CANN found" in finding.message
    assert f"ASCEND_HOME_PATH={tmp_path} has no bin/bisheng" in finding.table
    assert "ASCEND_TOOLKIT_HOME is not set" in finding.table
    assert "backend='sim'" in finding.hint
    assert z.sum() == 0


def test_backend_precedence(monkeypatch: pytest.MonkeyPatch) -> None:
    args = (*arrays(), 32)
    monkeypatch.setenv("ASCTRACE_BACKEND", "npu")
    with pytest.raises(asc.KernelError) as caught:
        copy[1](*args)
    assert caught.value.code == "AT0305"
    asc.set_platform(backend="sim")
    assert copy[1](*args).backend == "sim"
    asc.set_platform(backend="npu")
    assert fresh_copy(backend="sim")[1](*args).backend == "sim"


# -- errors -----------------------------------------------------------------------------------


def test_buffer_over_budget_fails_before_running() -> None:
    @asc.jit
    def kernel(x, z):
        pipe = asc.TPipe()
        small = asc.TQue(asc.TPosition.VECIN, 1)
        large = asc.TQue(asc.TPosition.VECOUT, 1)
        pipe.init_buffer(small, 1, 1024)
        pipe.init_buffer(large, 1, 200 * 1024)
        copy_tiles(x, z, 32, 2)

    x, z = arrays()
    with pytest.raises(asc.KernelError) as caught:
        kernel[1](x, z)
    finding = next(f for f in caught.value.findings if f.code == "AT0104")
    assert "large" in finding.table
    assert finding.spans[0].line == kernel.fn.__code__.co_firstlineno + 6
    assert z.sum() == 0


def test_arrays_are_unchanged_after_an_error() -> None:
    @asc.jit
    def kernel(z, n):
        z_gm = asc.GlobalTensor()
        z_gm.set_global_buffer(z)
        for i in range(n):
            z_gm.set_value(i, 1)

    z = np.zeros(8, np.int32)
    with pytest.raises(asc.KernelError) as caught:
        kernel[1](z, 9)
    assert caught.value.code == "AT0201"
    assert z.sum() == 0
    kernel[1](z, 8)
    assert z.sum() == 8


def test_read_only_array_that_is_written() -> None:
    x, z = arrays()
    x.flags.writeable = False
    fresh_copy()[1](x, z, 32)
    np.testing.assert_array_equal(z, x)
    z.flags.writeable = False
    with pytest.raises(
        asc.KernelError, match=r"writes to `z`, but the array is read-only"
    ) as caught:
        copy[1](x, z, 32)
    assert caught.value.code == "AT0113"


def test_defect_of_asctrace_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = fresh_copy()
    monkeypatch.setattr(kernel, "_find", lambda args, kwargs: [][0])
    with pytest.raises(asc.KernelError) as caught:
        kernel.trace()
    assert caught.value.code == "AT0901"
    assert "IndexError: list index out of range" in caught.value.findings[0].message
