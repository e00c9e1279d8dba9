"""The samples, run as a user runs them; most in this process, which takes less time."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests import samples
from tests.samples import RUNS, SAMPLES

NAMES = ("add.py", "add_framework.py")


def run(name: str, *arguments: str, seed: str = "0") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, SAMPLES / name, *arguments],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": ":".join(p for p in sys.path if p), "PYTHONHASHSEED": seed},
    )


def source_of(output: str) -> str:
    """The kernel's text in what a sample prints."""
    start, end = output.index("// vadd_kernel"), output.index("\n}\n")
    return output[start : end + 3]


@pytest.mark.parametrize("name", NAMES)
def test_default_run(name: str) -> None:
    ended = run(name)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.endswith("\nmatches NumPy\n")
    assert "simulated 8 blocks, " in ended.stdout
    assert 'extern "C" __global__ __aicore__ void vadd_kernel(' in ended.stdout
    assert "vadd_kernel for Ascend910B1 (architecture 2201)" in ended.stdout
    source = source_of(ended.stdout)
    assert source.count("for (") == 1
    assert "x_local" in source


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int16", "int32"])
def test_dtypes_match_exactly(name: str, dtype: str) -> None:
    ended = samples.run(name, f"--dtype {dtype} --size 8192 --blocks 4")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.endswith("\nmatches NumPy\n")
    chip = "Ascend950PR_958b" if dtype == "bfloat16" else "Ascend910B1"
    assert f"vadd_kernel for {chip}" in ended.out


@pytest.mark.parametrize("name", NAMES)
def test_int64_is_refused_with_the_dtype_table(name: str) -> None:
    ended = run(name, "--dtype", "int64")
    assert ended.returncode == 1
    assert "error AT0102: add on int64 is not executed by Ascend910B1" in ended.stderr
    assert "2201: int16, int32, float16, float32\n" in ended.stderr


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("size", "dtype", "rule"),
    [("1000", "float32", "8 x 16 x 8 = 1024"), ("1024", "float16", "8 x 16 x 16 = 2048")],
)
def test_uneven_size_is_refused(name: str, size: str, dtype: str, rule: str) -> None:
    ended = run(name, "--size", size, "--dtype", dtype)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert f"size {size} does not divide into 8 blocks x 16 tiles" in ended.stderr
    assert f"it must be a multiple of {rule}" in ended.stderr


@pytest.mark.parametrize("arguments", [("--size", "0"), ("--blocks", "0"), ("--size", "-1024")])
def test_impossible_sizes_are_refused(arguments: tuple[str, str]) -> None:
    ended = run("add.py", *arguments)
    assert ended.returncode == 2
    assert "are at least 1" in ended.stderr


def test_text_is_stable_across_hash_seeds() -> None:
    first, second = run("add_framework.py", seed="1"), run("add_framework.py", seed="2")
    assert first.stdout == second.stdout
    assert "in_queue_x" in source_of(first.stdout)


MORE = (
    "buf_pool.py",
    "double_buffer.py",
    "local_mem_allocator.py",
    "local_tensor_auto.py",
    "struct_args.py",
)


@pytest.mark.parametrize("name", MORE)
@pytest.mark.parametrize("dtype", ["float32", "int16"])
def test_samples_of_the_framework(name: str, dtype: str) -> None:
    ended = samples.run(name, f"--dtype {dtype} --size 8192 --blocks 4")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.endswith("\nmatches NumPy\n")
    assert "simulated 4 blocks, " in ended.out


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("buf_pool.py", "    pipe.InitBufPool(second_pool, 6144, first_pool);\n"),
        ("double_buffer.py", "    AscendC::TQue<AscendC::TPosition::VECIN, 2> in_queue_x;\n"),
        ("local_mem_allocator.py", "allocator.Alloc<AscendC::TPosition::VECOUT, float, 256>();\n"),
        (
            "local_tensor_auto.py",
            "        AscendC::LocalTensor<float> x_local = x_local_buf.Get<float>(128);\n",
        ),
        ("struct_args.py", "struct Tiling {\n    Shape shape;\n    int32_t tiles;\n};\n"),
        (
            "bind_queue.py",
            "AscendC::TQueBind<AscendC::TPosition::VECIN, AscendC::TPosition::VECOUT, 2> queue;\n",
        ),
    ],
)
def test_text_of_the_samples(name: str, line: str) -> None:
    ended = samples.run(name)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.endswith("\nmatches NumPy\n")
    assert line in ended.out


@pytest.mark.parametrize("options", ["", *RUNS["top_k.py"]])
def test_top_k(options: str) -> None:
    ended = samples.run("top_k.py", options)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.endswith("\nmatches NumPy\n")
    assert "AscendC::Sort32(pairs, row_local, columns_local, " in ended.out


@pytest.mark.parametrize("options", ["", *RUNS["transpose.py"]])
def test_transpose(options: str) -> None:
    ended = samples.run("transpose.py", options)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.endswith("\nmatches NumPy\n")
    assert "(dst_list, src_list, AscendC::TransDataTo5HDParams(false, false, 1, " in ended.out


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("top_k.py", ("--k", "1001")),
        ("top_k.py", ("--k", "0")),
        ("top_k.py", ("--rows", "0")),
        ("transpose.py", ("--columns", "0")),
        ("histogram.py", ("--bins", "1001")),
    ],
)
def test_sizes_that_make_no_sense(name: str, arguments: tuple[str, ...]) -> None:
    ended = run(name, *arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert name in ended.stderr


#: A line of each kernel.
LINES = {
    "softmax.py": "AscendC::WholeReduceSum(parts[i * 16], y_local[i * 1000], 64, 15, 1, 1, 8);",
    "layer_norm.py": "AscendC::Sqrt(numbers, numbers, count);",
    "reduce_sum.py": "AscendC::ReduceSum(part, x_local, work, count);",
    "gelu.py": "AscendC::Div(y_local, x_local, y_local, count);",
    "quantize.py": "AscendC::SetDeqScale(static_cast<half>(1.0f));",
    "histogram.py": "AscendC::SetAtomicAdd<int32_t>();",
}


@pytest.mark.parametrize(
    ("name", "sizes"), [(name, sizes) for name in LINES for sizes in RUNS[name]]
)
def test_samples_on_arrays(name: str, sizes: str) -> None:
    ended = samples.run(name, sizes)
    assert (ended.code, ended.err) == (0, "")
    last = ended.out.splitlines()[-1]
    assert last.startswith("matches NumPy, largest difference ")
    assert "simulated " in ended.out


@pytest.mark.parametrize("name", LINES)
def test_defaults_of_the_samples_on_arrays(name: str) -> None:
    ended = run(name)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.splitlines()[-1].startswith("matches NumPy, largest difference ")
    assert f"{LINES[name]}\n" in ended.stdout


@pytest.mark.parametrize("name", ["softmax.py", "gelu.py"])
def test_sizes_below_one_are_refused(name: str) -> None:
    option = "--rows" if name == "softmax.py" else "--size"
    ended = run(name, option, "0")
    assert ended.returncode == 2
    assert f"{option} 0: sizes and numbers of blocks are at least 1" in ended.stderr


def test_rows_that_are_too_long() -> None:
    ended = run("softmax.py", "--cols", "4097")
    assert ended.returncode != 0
    assert "rows have 1 to 4096 elements here, not 4097" in ended.stderr


def test_every_sample_has_its_runs() -> None:
    assert sorted(RUNS) == samples.NAMES
    assert len(samples.NAMES) >= 16


def test_a_line_for_each_sample(capsys: pytest.CaptureFixture[str]) -> None:
    assert samples.main(["bind_queue.py", "reduce_sum.py"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == "bind_queue.py            1 run, matches NumPy, largest difference 0.0e+00"
    assert second.startswith("reduce_sum.py            4 runs, matches NumPy, largest difference ")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("print('differs from NumPy'); sys.exit(1)", "exit code 1: differs from NumPy\n"),
        ("print('differs from NumPy'); sys.exit(0)", "exit code 0: differs from NumPy\n"),
        ("sys.exit('no way')", "exit code no way: \n"),
        ("print('matches NumPy')", "exit code None: matches NumPy\n"),
    ],
)
def test_a_sample_that_fails(
    text: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "bad.py").write_text(f"import sys\n{text}\n")
    monkeypatch.setattr(samples, "SAMPLES", tmp_path)
    monkeypatch.setitem(RUNS, "bad.py", ())
    assert samples.main(["bad.py"]) == 1
    assert said in capsys.readouterr().out
