"""The acceptance of the first milestone, vector add from end to end. Which test covers which line:

- the text of `add_framework`: here; the same in processes of different hash seeds:
  test_samples.py::test_text_is_stable_across_hash_seeds
- built by lambda, `exec` and closure: here
- `TILE_NUM` changed or not: here; guards in general: test_runtime_jit.py
- exact results for each dtype: test_samples.py::test_dtypes_match_exactly and ::test_default_run;
  int64 refused with the table: test_samples.py::test_int64_is_refused_with_the_dtype_table
- size 1000 refused by the sample: test_samples.py::test_uneven_size_is_refused; that nothing is
  written: here
- a buffer of 200 KB: test_runtime_jit.py::test_buffer_over_budget_fails_before_running; what the
  message shows: here
- the make targets: continuous integration runs them
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import asctrace as asc
from asctrace.lowering.text import TextOptions

SAMPLES = Path(__file__).resolve().parent.parent / "samples"
BLOCKS, SIZE, TILES = 8, 16384, 16
BLOCK_LENGTH = SIZE // BLOCKS
TILE_LENGTH = BLOCK_LENGTH // TILES


@pytest.fixture
def sample(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """samples/add_framework.py, imported afresh."""
    monkeypatch.syspath_prepend(SAMPLES)
    for name in ("BACKEND", "SOC", "UNROLL_LIMIT"):
        monkeypatch.delenv(f"ASCTRACE_{name}", raising=False)
    import add_framework  # type: ignore[import-not-found, unused-ignore]

    yield add_framework
    for name in ("add_framework", "vector_add"):
        sys.modules.pop(name, None)


def arrays(dtype: Any = np.float32, size: int = SIZE) -> tuple[Any, Any, Any]:
    x = np.arange(size).astype(dtype)
    return x, x[::-1].copy(), np.zeros_like(x)


def text_of(kernel: asc.Kernel, *constants: int) -> str:
    return kernel.lower(*arrays(), BLOCK_LENGTH, *constants).source


def calls(source: str) -> dict[str, int]:
    """How often each function of the interface is called."""
    names = re.findall(r"(?:AscendC::|\.)(\w+)(?:<\w+>)?\(", source)
    return {name: names.count(name) for name in sorted(set(names))}


ONE_TILE = {"Add": 1, "AllocTensor": 3, "DataCopy": 3, "DeQue": 3, "EnQue": 3, "FreeTensor": 3}
ONCE = {"GetBlockIdx": 1, "InitBuffer": 3, "SetGlobalBuffer": 3}


# -- the text of add_framework --------------------------------------------------------------------


def test_text_has_one_loop_of_16_iterations(sample: ModuleType) -> None:
    source = text_of(sample.vadd_kernel, TILE_LENGTH)
    assert re.findall(r"\b(?:for|while|if) .*", source) == ["for (int32_t i = 0; i < 16; ++i) {"]
    assert calls(source) == ONE_TILE | ONCE


def test_text_is_unrolled_within_the_limit(sample: ModuleType) -> None:
    source = text_of(asc.jit(sample.vadd_kernel, unroll_limit=1000), TILE_LENGTH)
    assert re.findall(r"\b(?:for|while|if)\b", source) == []
    assert calls(source) == {name: 16 * count for name, count in ONE_TILE.items()} | ONCE
    offsets = re.findall(r"x_gm\[(\d+)\]", source)
    assert offsets == [str(tile * TILE_LENGTH) for tile in range(1, 16)]


@pytest.mark.parametrize("options", [{}, {"unroll_limit": 1000}])
def test_names_are_those_of_the_python_source(sample: ModuleType, options: Any) -> None:
    source = text_of(asc.jit(sample.vadd_kernel, **options), TILE_LENGTH)
    body = source[source.index("{\n") :]
    declared = re.findall(r"^ *(?:const )?[\w:<>, ]+ (\w+)(?: = .*)?;$", body, re.M)
    queues = ["in_queue_x", "in_queue_y", "out_queue_z"]
    tensors = ["x_gm", "x_local", "y_gm", "y_local", "z_gm", "z_local"]
    assert sorted(set(declared)) == sorted(["offset", "pipe", *queues, *tensors])


# -- built without source text --------------------------------------------------------------------

#: No name of a helper above its operations: the builds below differ in them.
TEXT = TextOptions(comments=False)


def anonymous(source: str) -> str:
    """A text without its header and the kernel's name."""
    return re.sub(r"__aicore__ void \w+\(", "__aicore__ void kernel(", source.partition("\n")[2])


def by_lambda(sample: ModuleType) -> asc.Kernel:
    body = sample.vadd_kernel.fn
    return asc.jit(lambda x, y, z, block_length: body(x, y, z, block_length, 128), text=TEXT)


def by_exec(sample: ModuleType) -> asc.Kernel:
    path = SAMPLES / "add_framework.py"
    text = path.read_text(encoding="utf-8").replace("vadd_kernel", "made")
    namespace: dict[str, Any] = {"__name__": "made"}
    exec(compile(text, "<made>", "exec"), namespace)
    return asc.jit(namespace["made"], text=TEXT)


def by_closure(sample: ModuleType) -> asc.Kernel:
    def make(tile_length: int) -> asc.Kernel:
        body = sample.vadd_kernel.fn

        @asc.jit(text=TEXT)
        def inner(x: Any, y: Any, z: Any, block_length: Any) -> None:
            body(x, y, z, block_length, tile_length)

        return inner

    return make(128)


@pytest.mark.parametrize(
    ("build", "constants"), [(by_lambda, ()), (by_exec, (128,)), (by_closure, ())]
)
def test_same_text_without_source(sample: ModuleType, build: Any, constants: tuple[int]) -> None:
    expected = text_of(asc.jit(sample.vadd_kernel, text=TEXT), 128)
    assert anonymous(text_of(build(sample), *constants)) == anonymous(expected)
    x, y, z = arrays()
    build(sample)[BLOCKS](x, y, z, BLOCK_LENGTH, *constants)
    np.testing.assert_array_equal(z, x + y)


# -- globals --------------------------------------------------------------------------------------


def test_changing_tile_num_traces_again(
    sample: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = asc.jit(sample.vadd_kernel)
    x, y, z = arrays()
    for tile_num, traces in ((8, 1), (8, 1), (4, 2), (4, 2), (8, 2)):
        monkeypatch.setattr(sample, "TILE_NUM", tile_num)
        tile_length = BLOCK_LENGTH // (2 * 8)
        z[:] = 0
        kernel[BLOCKS](x, y, z, BLOCK_LENGTH, tile_length)
        assert kernel.trace_count == traces
        done = z.reshape(BLOCKS, -1)[:, : 2 * tile_num * tile_length]
        np.testing.assert_array_equal(done, (x + y).reshape(BLOCKS, -1)[:, : done.shape[1]])
        assert np.count_nonzero(z) == np.count_nonzero(done)


# -- refusals -------------------------------------------------------------------------------------


def test_uneven_size_writes_nothing(
    sample: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import vector_add  # type: ignore[import-not-found, unused-ignore]

    made: list[Any] = []
    monkeypatch.setattr(vector_add, "inputs", lambda *a: made.append(a))
    monkeypatch.setattr(sys, "argv", ["add_framework.py", "--size", "1000"])
    kernel = asc.jit(sample.vadd_kernel)
    assert vector_add.main("doc", kernel, sample.lengths, TILES) == 2
    assert "must be a multiple of 8 x 16 x 8 = 1024, such as 1024" in capsys.readouterr().err
    assert (made, kernel.trace_count) == ([], 0)


def test_uneven_tile_is_refused_by_the_kernel_too(sample: ModuleType) -> None:
    x, y, z = arrays(size=1000)
    with pytest.raises(asc.KernelError) as caught:
        sample.vadd_kernel[BLOCKS](x, y, z, *sample.lengths(1000 // BLOCKS))
    assert caught.value.code == "AT0103"
    assert "data_copy of 7 elements of float32 is 28 bytes, not a multiple of 32" in str(
        caught.value
    )
    assert np.count_nonzero(z) == 0


def test_int64_is_refused_by_the_kernel_and_nothing_is_written(sample: ModuleType) -> None:
    x, y, z = arrays(np.int64)
    with pytest.raises(asc.KernelError) as caught:
        sample.vadd_kernel[BLOCKS](x, y, z, BLOCK_LENGTH, TILE_LENGTH)
    (finding,) = caught.value.findings
    assert finding.code == "AT0102"
    assert "2201: int16, int32, float16, float32\n" in finding.table
    assert np.count_nonzero(z) == 0


def test_buffer_over_budget_shows_the_table_and_the_line(sample: ModuleType) -> None:
    x, y, z = arrays()
    with pytest.raises(asc.KernelError) as caught:
        sample.vadd_kernel[BLOCKS](x, y, z, BLOCK_LENGTH, 100 * 256)
    (finding,) = caught.value.findings
    source = (SAMPLES / "add_framework.py").read_text(encoding="utf-8").splitlines()
    lines = {
        name: next(n for n, text in enumerate(source, 1) if f"init_buffer({name}," in text)
        for name in ("in_queue_x", "in_queue_y", "out_queue_z")
    }
    assert finding.code == "AT0104"
    assert "the buffers in UB take 614400 bytes, Ascend910B1 has 196608" in finding.message
    rows = finding.table.splitlines()[2:]
    assert [row.split()[0] for row in rows] == list(lines)
    for row, line in zip(rows, lines.values(), strict=True):
        assert "2 x 102400   204800" in row
        assert row.endswith(f"add_framework.py:{line}")
    assert finding.spans[0].line == lines["in_queue_x"]
    assert np.count_nonzero(z) == 0
