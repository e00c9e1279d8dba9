"""Saved projects: their files, and the host program built and run against the ACL stand-in."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import io
import json
import os
import re
import runpy
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import asctrace as asc
from asctrace import npu
from asctrace.lowering.layout import argument_layout
from asctrace.runtime import knobs
from asctrace.runtime.acl import prototypes
from asctrace.runtime.compiler import CompileOptions, KernelType
from asctrace.runtime.compiler.commands import commands
from asctrace.runtime.compiler.options import ARCHES
from asctrace.runtime.compiler.toolchain import find_toolchain
from asctrace.runtime.devices import in_place_of_all
from asctrace.runtime.project import folder, host_text
from asctrace.runtime.project.recorder import Recorder
from asctrace.tracer.language import dtypes
from tests.acl_kit import CXX, _built, install
from tests.save_kit import (
    calls,
    cmake,
    kernel_binary,
    loaded_program,
    made_cann,
    run,
    with_runtime,
)
from tests.twin.build import run_text
from tests.twin.device import HostCann, standins

SAMPLES = Path(__file__).resolve().parent.parent / "samples"
TEXTS = ("kernel.cpp", "main.cpp", "CMakeLists.txt", "arguments.json", "README.md")


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    for knob in knobs.ALL:
        monkeypatch.delenv(knob.name, raising=False)
    asc.set_platform()


class Shape(asc.Struct):
    length = asc.Field(asc.int32)
    scale = asc.Field(asc.float32, default=2.0)


@asc.jit
def scaled(x: asc.GlobalAddress, z: asc.GlobalAddress, shape: Shape, tile: asc.ConstExpr[int]):
    """z = x * scale, each block its part."""
    start = asc.get_block_idx() * shape.length
    x_gm, z_gm = asc.GlobalTensor(), asc.GlobalTensor()
    x_gm.set_global_buffer(x + start)
    z_gm.set_global_buffer(z + start)
    pipe = asc.TPipe()
    inputs = asc.TQue(asc.TPosition.VECIN, 1)
    outputs = asc.TQue(asc.TPosition.VECOUT, 1)
    pipe.init_buffer(inputs, 1, tile * x.dtype.sizeof())
    pipe.init_buffer(outputs, 1, tile * x.dtype.sizeof())
    for at in range(0, shape.length, tile):
        local = inputs.alloc_tensor(x.dtype)
        asc.data_copy(local, x_gm[at:], tile)
        inputs.enque(local)
        local = inputs.deque(x.dtype)
        result = outputs.alloc_tensor(x.dtype)
        asc.muls(result, local, shape.scale, tile)
        outputs.enque(result)
        inputs.free_tensor(local)
        result = outputs.deque(x.dtype)
        asc.data_copy(z_gm[at:], result, tile)
        outputs.free_tensor(result)


#: The same for the stand-in; `args.x` and `args.z` are addresses on its device.
SCALED = """
    const int64_t start = int64_t(launch->block) * args.shape.length;
    for (int k = 0; k < args.shape.length; ++k) {
        args.z[start + k] = args.x[start + k] * args.shape.scale;
    }
"""
X = np.arange(64, dtype=np.float32)


def lowered() -> Any:
    return scaled.lower(X, np.zeros_like(X), Shape(length=16, scale=1.5), 8)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """`scaled` on 4 blocks."""
    return lowered().save(tmp_path / "deep" / "project", 4)


@pytest.fixture
def binary() -> Path:
    return kernel_binary(lowered().trace, SCALED)


# -- the files ------------------------------------------------------------------------------------


def without_version(text: str) -> str:
    return re.sub(r"asctrace\"?:? \"?\d+\.\d+\.\d+\w*", "asctrace VERSION", text)


def test_texts(project: Path, golden: Callable[..., None]) -> None:
    for name in TEXTS:
        golden(f"save/{name}", (project / name).read_text(), without_version)


def test_files(project: Path) -> None:
    files = {path.relative_to(project).as_posix() for path in project.rglob("*") if path.is_file()}
    # z is all zeros, so it needs no input.
    assert files == {*TEXTS, "SHA256SUMS", "data/x.bin", "data/z.golden.bin"}
    assert (project / "data" / "x.bin").read_bytes() == X.tobytes()
    wanted = (X * np.float32(1.5)).tobytes()
    assert (project / "data" / "z.golden.bin").read_bytes() == wanted
    assert (project / "kernel.cpp").read_text() == lowered().source
    # Arrays that were given are as they were.
    z = np.zeros_like(X)
    scaled.lower(X, z, Shape(length=16), 8).save(project, 4)
    assert not z.any()


def test_sums_are_those_that_sha256sum_checks(project: Path) -> None:
    lines = (project / "SHA256SUMS").read_text().splitlines()
    assert [line[66:] for line in lines] == sorted([*TEXTS, "data/x.bin", "data/z.golden.bin"])
    for line in lines:
        digest = hashlib.sha256((project / line[66:]).read_bytes()).hexdigest()
        assert line[:66] == f"{digest}  "


SAVE = """
import sys
import numpy as np
sys.path[:0] = {path!r}
import struct_args
x, y = np.arange(2 * 4096, dtype=np.float32).reshape(2, 4096)
kernel = struct_args.vadd_kernel.lower(x, y, np.zeros_like(x), *struct_args.lengths(512))
kernel.save({folder!r}, 8)
"""


def test_the_same_on_every_machine(tmp_path: Path) -> None:
    """Other processes, hash seeds, folders and times write the same bytes, without any path."""
    made = []
    for seed in ("1", "2"):
        script = SAVE.format(path=[str(SAMPLES)], folder=str(tmp_path / seed))
        environment = os.environ | {"PYTHONHASHSEED": seed, "ASCEND_HOME_PATH": str(tmp_path)}
        subprocess.run([sys.executable, "-c", script], check=True, env=environment)
        paths = sorted(path for path in (tmp_path / seed).rglob("*") if path.is_file())
        made.append([(p.relative_to(tmp_path / seed), p.read_bytes()) for p in paths])
    assert made[0] == made[1]
    for path, data in made[0]:
        assert str(tmp_path).encode() not in data, path
        assert str(SAMPLES).encode() not in data, path


def test_options_of_the_text_and_of_the_compiler(tmp_path: Path) -> None:
    from asctrace.lowering.text import TextOptions

    options = {
        "text": TextOptions(comments=False, source_lines=True, line_directives=True),
        "opt_level": 2,
        "auto_sync": False,
        "debug": True,
        "bisheng_options": ("-DNAME=a b;$c\"'", "-Wno-x"),
    }
    kernel = scaled.on(**options).lower(X, np.zeros_like(X), Shape(length=16), 8)
    project = kernel.save(tmp_path / "p", 4, golden=False)
    text = (project / "kernel.cpp").read_text()
    assert "    // " in text
    assert "asc.muls(result, local, shape.scale, tile)" in text
    # Lines of Python say nothing where the files are not.
    assert "#line" not in text
    build = (project / "CMakeLists.txt").read_text()
    assert ' -O2 "${CMAKE_CURRENT_SOURCE_DIR}/kernel.cpp"' in build
    assert "--cce-auto-sync" not in build
    assert " -g " in build
    assert '''"-DNAME=a b;\\$c\\"'"''' in build


@pytest.mark.parametrize(
    ("soc", "route", "wanted"),
    [
        ("Ascend910B1", None, "objects"),
        ("Ascend950PR_958b", None, "asc"),
        ("Ascend910B1", "asc", "asc"),
        ("Ascend950PR_958b", "objects", "objects"),
    ],
)
def test_route(tmp_path: Path, soc: str, route: str | None, wanted: str) -> None:
    kernel = scaled.on(soc=soc).lower(X, np.zeros_like(X), Shape(length=16), 8)
    project = kernel.save(tmp_path / "p", 4, route=route)
    manifest = json.loads((project / "arguments.json").read_text())
    assert (manifest["route"], manifest["chip"]) == (wanted, soc)
    entry = "__global__ __vector__ __aicore__" if wanted == "asc" else "__global__ __aicore__"
    assert entry in (project / "kernel.cpp").read_text()
    build = (project / "CMakeLists.txt").read_text()
    assert (f"--npu-arch=dav-{manifest['architecture']}" in build) is (wanted == "asc")
    assert ("tikcpp" in build) is (wanted == "objects")


def test_route_of_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCTRACE_ROUTE", "asc")
    project = lowered().save(tmp_path / "p", 4)
    assert '"route": "asc"' in (project / "arguments.json").read_text()
    monkeypatch.setenv("ASCTRACE_ROUTE", "rtc")
    with pytest.raises(asc.KernelError, match="cannot be built by the route 'rtc'") as caught:
        lowered().save(tmp_path / "q", 4)
    assert caught.value.code == "AT0401"
    assert not (tmp_path / "q").exists()


def test_the_kernel_runs_as_text(project: Path) -> None:
    """kernel.cpp, compiled by g++ with the header of the twin, gives the golden results."""
    z = np.zeros_like(X)
    trace = lowered().trace
    args = (X, z, Shape(length=16, scale=1.5))
    run_text((project / "kernel.cpp").read_text(), trace, args, 4)
    assert z.tobytes() == (project / "data" / "z.golden.bin").read_bytes()


def test_only_functions_of_the_table_are_called(project: Path) -> None:
    text = (project / "main.cpp").read_text()
    called = set(re.findall(r"\b(acl\w+)\(", text)) - {"aclError"}
    assert called <= set(prototypes.FUNCTIONS)
    assert not any(prototypes.FUNCTIONS[name].optional for name in called)


def test_kernels_of_both_kinds_of_cores(tmp_path: Path) -> None:
    kernel = scaled.on(kernel_type=KernelType.MIX_AIC_1_1).lower(
        X, np.zeros_like(X), Shape(length=16), 8
    )
    project = kernel.save(tmp_path / "p", 4, golden=False)
    build = (project / "CMakeLists.txt").read_text()
    assert re.findall(r"-o (\w+\.o)", build) == ["cube.o", "vector.o", "kernel.o"]
    assert build.count("-D__MIX_CORE_AIC_RATION__=1") == 2
    assert "aclrtGetHardwareSyncAddr(&arguments.ffts_addr)" in (project / "main.cpp").read_text()
    assert "Blocks wait for one another" in (project / "README.md").read_text()


@pytest.mark.parametrize("sample", ["softmax", "struct_args", "local_tensor_auto", "reduce_sum"])
def test_a_project_is_all_that_a_launch_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sample: str
) -> None:
    """The text, run by the twin on what manifest and data say, gives the golden results."""
    monkeypatch.syspath_prepend(str(SAMPLES))
    monkeypatch.setattr(sys, "argv", [f"{sample}.py"])
    recorder = Recorder(tmp_path)
    quiet = contextlib.redirect_stdout(io.StringIO())
    with in_place_of_all(recorder), quiet, pytest.raises(SystemExit):
        runpy.run_path(str(SAMPLES / f"{sample}.py"), run_name="__main__")
    for recorded in recorder.recorded.values():
        project, trace = recorded.folder, recorded.trace
        manifest = json.loads((project / "arguments.json").read_text())
        memories = {}
        for memory in manifest["memories"]:
            data = bytearray(memory["bytes"])
            if memory["input"]:
                data[:] = (project / memory["input"]).read_bytes()
            memories[memory["name"]] = np.frombuffer(data, np.uint8)
        args: list[Any] = []
        for row, param in zip(manifest["arguments"], trace.params, strict=True):
            if row["kind"] == "address":
                at, dtype = row["memory_offset"], np.dtype(row["dtype"])
                part = memories[row["memory"]][at:]
                count = int(np.prod(row["shape"])) * dtype.itemsize
                args.append(part[:count].view(dtype).reshape(row["shape"]))
            elif row["kind"] == "struct":
                args.append(param.type.cls.unpack(bytes.fromhex(row["bytes"])))
            else:
                args.append(np.dtype(row["dtype"]).type(row["value"]))
        run_text((project / "kernel.cpp").read_text(), trace, args, manifest["blocks"])
        compared = 0
        for memory in manifest["memories"]:
            if memory["golden"]:
                golden = (project / memory["golden"]).read_bytes()
                assert memories[memory["name"]].tobytes() == golden
                compared += 1
        assert compared


# -- building and running -------------------------------------------------------------------------


def test_pass(project: Path, binary: Path, tmp_path: Path) -> None:
    ended = run(project, binary, report=tmp_path / "report")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == (
        "scaled, made for Ascend910B1: 4 blocks on device 0, Ascend910B1\n"
        "z: 64 x float32, as expected\nPASS\n"
    )
    assert (tmp_path / "report").read_text() == "nothing left\n"


def test_fail(project: Path, binary: Path, tmp_path: Path) -> None:
    path = project / "data" / "z.golden.bin"
    wanted = np.frombuffer(path.read_bytes(), np.float32).copy()
    wanted[[5, 60]] = 1.0, np.nan
    path.write_bytes(wanted.tobytes())
    ended = run(project, binary, report=tmp_path / "report")
    assert ended.returncode == 1
    assert ended.stdout.splitlines()[1:] == [
        "z: 64 x float32, 2 wrong, the first is [5] = 7.5, expected 1",
        "FAIL",
    ]
    assert (tmp_path / "report").read_text() == "nothing left\n"


def test_an_input_that_was_altered(project: Path, binary: Path) -> None:
    path = project / "data" / "x.bin"
    path.write_bytes(np.roll(X, 1).tobytes())
    ended = run(project, binary)
    assert ended.returncode == 1
    assert "64 wrong, the first is [0] = 94.5, expected 0" in ended.stdout


def test_tolerance(project: Path, binary: Path) -> None:
    path = project / "data" / "z.golden.bin"
    wanted = np.frombuffer(path.read_bytes(), np.float32).copy()
    wanted[40] = np.nextafter(wanted[40], np.float32(0))
    path.write_bytes(wanted.tobytes())
    ended = run(project, binary)
    assert ended.returncode == 0
    assert "z: 64 x float32, 1 off within the tolerance, by at most 3.81e-06\nPASS" in ended.stdout


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda path: path.unlink(), "cannot be read"),
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), "has not 256 bytes"),
        (lambda path: path.write_bytes(path.read_bytes() + b"x"), "has not 256 bytes"),
    ],
)
@pytest.mark.parametrize("name", ["x.bin", "z.golden.bin"])
def test_a_file_that_does_not_fit(
    project: Path, binary: Path, name: str, spoil: Callable[[Path], None], said: str
) -> None:
    spoil(project / "data" / name)
    ended = run(project, binary)
    assert ended.returncode == 1
    assert said in ended.stderr
    assert name in ended.stderr
    assert ended.stdout.endswith("FAIL\n")


def test_results_are_written(project: Path, binary: Path, tmp_path: Path) -> None:
    ended = run(project, binary, "--results", str(tmp_path / "new" / "results"), "--device", "1")
    assert "4 blocks on device 1, Ascend910B1" in ended.stdout
    written = tmp_path / "new" / "results" / "z.bin"
    assert written.read_bytes() == (project / "data" / "z.golden.bin").read_bytes()
    assert list(written.parent.iterdir()) == [written]


@pytest.mark.parametrize(
    "options", [["--device"], ["--device", "x"], ["--device", "1x"], ["--what", "1"], ["-h"]]
)
def test_wrong_options(project: Path, binary: Path, options: list[str]) -> None:
    ended = run(project, binary, *options)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("usage: ")


#: What main.cpp calls and checks.
CALLED = sorted(set(re.findall(r"\b(acl\w+)\(", host_text.BODY + host_text.LAUNCH)) - {
    "aclError", "aclrtGetSocName"
})  # fmt: skip
UNDONE = {"aclFinalize", "aclrtResetDevice", "aclrtDestroyStream", "aclrtFree", "aclrtBinaryUnLoad"}


@pytest.mark.parametrize("function", CALLED)
def test_every_failure_is_told_and_leaves_nothing(
    project: Path, binary: Path, tmp_path: Path, function: str
) -> None:
    for skip in (0, 1) if function in ("aclrtMalloc", "aclrtMemcpy", "aclrtFree") else (0,):
        fault = f"{function}:507899:{skip}"
        ended = run(project, binary, fault=fault, report=tmp_path / "report")
        assert ended.returncode == 1
        assert re.search(rf"^{function}\b.* returned 507899: injected", ended.stderr, re.MULTILINE)
        assert ended.stdout.endswith("FAIL\n")
        left = (tmp_path / "report").read_text()
        # Only what could not be undone is left.
        assert (left == "nothing left\n") is (function not in UNDONE), left


def test_a_fault_of_the_kernel(project: Path, tmp_path: Path) -> None:
    body = '    launch->say("the vector core stopped"); return 507035;'
    wrong = kernel_binary(lowered().trace, body)
    ended = run(project, wrong)
    assert ended.returncode == 1
    assert "aclrtSynchronizeStreamWithTimeout returned 507035" in ended.stderr
    assert "the vector core stopped" in ended.stderr


def test_a_kernel_that_hangs(project: Path, binary: Path, tmp_path: Path) -> None:
    """What it may still use is left alone."""
    fault = "aclrtSynchronizeStreamWithTimeout:507046:0"
    ended = run(project, binary, fault=fault, report=tmp_path / "report")
    assert ended.returncode == 1
    assert ended.stderr.startswith("aclrtSynchronizeStreamWithTimeout returned 507046: ")
    left = (tmp_path / "report").read_text()
    assert {line.split()[0] for line in left.splitlines()} == {
        "memory", "stream", "binary", "device", "init"
    }  # fmt: skip


def test_no_kernel_of_that_name(project: Path, tmp_path: Path) -> None:
    ended = run(project, tmp_path / "none.o", report=tmp_path / "report")
    assert ended.returncode == 1
    assert "aclrtBinaryLoadFromFile" in ended.stderr
    assert (tmp_path / "report").read_text() == "nothing left\n"


# -- arguments ------------------------------------------------------------------------------------


class Inner(asc.Struct, pack=1):
    flag = asc.Field(asc.bool_)
    wide = asc.Field(asc.int64)


class Tiling(asc.Struct):
    scale = asc.Field(asc.float16, default=1.5)
    parts = asc.ArrayField(asc.int16, 3)
    inner = asc.StructField(Inner)
    inners = asc.ArrayField(Inner, 2)
    low = asc.Field(asc.float32)
    mode = asc.Field(asc.int32, enum="AscendC::RoundMode")


def make_everything() -> asc.Kernel:
    @asc.jit
    def everything(
        out: asc.GlobalAddress, a: int, kernel: Inner, tiling: Tiling, n: asc.ConstExpr[int],
        b: bool, c, d, e, f: int, g, h, i, j, k, float_: float, nan: float, workspace, _,
    ):  # fmt: skip
        gm = asc.GlobalTensor()
        gm.set_global_buffer(out)
        gm.set_value(0, n)

    return everything


TILING = Tiling(
    parts=[1, -2, 3], inner=Inner(flag=False, wide=5), inners=[(True, 1), (True, -1)],
    low=float("-inf"), mode=2,
)  # fmt: skip
#: A NaN that is not the usual one.
ODD = np.array([0x7FC00123], np.uint32).view(np.float32)[0]
VALUES = (
    np.int8(-113), Inner(flag=True, wide=-(2**63)), TILING, 7, True, np.int16(-5), np.uint8(200),
    np.uint16(65535), -(2**31), np.uint32(2**32 - 1), np.int64(2**40), np.uint64(2**64 - 1),
    np.float16(42), ml_dtypes.bfloat16(1.25), 0.1, ODD,
)  # fmt: skip
#: The block, from the addresses on, written down by hand: value behind value, each at a multiple of
#: its size and of 4.
BLOCK = b"".join(
    (
        struct.pack("<bxxx", -113),
        struct.pack("<?q", True, -(2**63)),
        b"\0" * 3,
        struct.pack("<e3h", 1.5, 1, -2, 3),
        struct.pack("<?q?q?q", False, 5, True, 1, True, -1),
        b"\0",
        struct.pack("<fi", float("-inf"), 2),
        struct.pack("<?xxx", True),
        struct.pack("<hxx", -5),
        struct.pack("<Bxxx", 200),
        struct.pack("<Hxx", 65535),
        struct.pack("<i", -(2**31)),
        struct.pack("<I", 2**32 - 1),
        b"\0" * 4,
        struct.pack("<q", 2**40),
        struct.pack("<Q", 2**64 - 1),
        struct.pack("<exx", 42.0),
        struct.pack("<Hxx", 0x3FA0),
        struct.pack("<f", 0.1),
        struct.pack("<I", 0x7FC00123),
    )
)


def everything() -> Any:
    out = np.zeros(256, np.uint8)
    return make_everything().lower(out, *VALUES, np.zeros(16, np.uint8), np.int32(9))


def test_the_argument_block_is_exact(tmp_path: Path) -> None:
    """Scalars of every dtype and structs arrive as their bytes; the block is built by main.cpp."""
    kernel = everything()
    project = kernel.save(tmp_path / "p")
    binary = kernel_binary(
        kernel.trace,
        "    __builtin_memcpy(args.out, launch->args, launch->args_size);\n"
        "    args.workspace[3] = 77;  // an address of its own",
    )
    ended = run(project, binary, "--results", str(tmp_path))
    assert ended.stdout.endswith("FAIL\n")  # the kernel did something else than the Python
    got = (tmp_path / "out.bin").read_bytes()
    assert got[8 : 8 + len(BLOCK)] == BLOCK
    layout = argument_layout(kernel.trace)
    assert layout.slots[-2].offset == 8 + len(BLOCK)
    assert got[layout.slots[-1].offset :][:8] == struct.pack("<i", 9) + b"\0" * 4
    # What the text of main.cpp says of names that C++ has itself.
    text = (project / "main.cpp").read_text()
    assert "alignas(4) kernel::Inner kernel;" in text
    assert "arguments.float_ = 0.1f;" in text


def test_the_manifest(tmp_path: Path) -> None:
    kernel = everything()
    project = kernel.save(tmp_path / "p")
    manifest = json.loads((project / "arguments.json").read_text())
    assert manifest["constants"] == {"n": "7"}
    assert manifest["kernel_type"] == "AIV_ONLY"
    rows = manifest["arguments"]
    layout = argument_layout(kernel.trace)
    assert [(row["offset"], row["size"]) for row in rows] == [
        (slot.offset, slot.size) for slot in layout.slots
    ]
    assert manifest["block_size"] == layout.size
    values = [row for row in rows if row["kind"] != "address"]
    for row in values[:-1]:
        at = row["offset"] - 8
        assert bytes.fromhex(row["bytes"]) == BLOCK[at : at + row["size"]]
    assert [row.get("dtype") for row in values] == [
        "int8", None, None, "bool", "int16", "uint8", "uint16", "int32", "uint32", "int64",
        "uint64", "float16", "bfloat16", "float32", "float32", "int32",
    ]  # fmt: skip
    by_name = {row["name"]: row for row in rows}
    assert by_name["h"]["value"] == 2**40
    assert by_name["j"]["value"] == 42.0
    assert by_name["k"]["value"] == 1.25
    assert by_name["float_"]["value"] == 0.1
    assert by_name["nan"]["value"] == "nan"
    assert by_name["tiling"]["value"] == {
        "scale": 1.5, "parts": [1, -2, 3], "inner": {"flag": False, "wide": 5},
        "inners": [{"flag": True, "wide": 1}, {"flag": True, "wide": -1}], "low": "-inf",
        "mode": 2,
    }  # fmt: skip
    fields = {row["name"]: row for row in by_name["tiling"]["fields"]}
    assert (fields["parts"]["offset"], fields["parts"]["length"]) == (2, 3)
    assert [row["offset"] for row in fields["inners"]["fields"]] == [0, 1]
    assert manifest["memories"][1] == {
        "name": "workspace", "bytes": 16, "input": None, "golden": None
    }  # fmt: skip
    assert rows[-1]["name"] != "_"
    assert rows[-1]["python_name"] == "_"


def test_a_kernel_without_arguments(tmp_path: Path) -> None:
    @asc.jit
    def nothing():
        pass

    kernel = nothing.lower()
    project = kernel.save(tmp_path / "p", 3)
    source = (
        '#include "standin.h"\nextern "C" {\nuint32_t nothing_args_size = 0;\n'
        "int nothing_entry(const standin_launch* launch)\n"
        "{\n    return launch->blocks == 3 ? 0 : 507015;\n}\n}\n"
    )
    ended = run(project, _built("kernel", {"kernel.cpp": source}, CXX))
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.endswith("DONE, nothing was compared\n")
    assert "It takes no arguments." in (project / "README.md").read_text()


def numbers(dtype: Any) -> Any:
    found = np.array([0, 1, 2, 3, 100, 5, 6, 7], dtype.np)
    if dtype.kind == "f":
        found[:3] = np.nan, np.inf, -2.5
    else:
        found[1], found[2] = dtype.lo, dtype.hi
    return found


def test_results_of_every_dtype(tmp_path: Path) -> None:
    types = [t for t in dtypes.ALL if t.kind != "b"]

    @asc.jit
    def copy(*arrays):
        for x, z in zip(arrays[::2], arrays[1::2], strict=True):
            x_gm, z_gm = asc.GlobalTensor(), asc.GlobalTensor()
            x_gm.set_global_buffer(x)
            z_gm.set_global_buffer(z)
            for k in asc.range(8):
                z_gm.set_value(k, x_gm.get_value(k))

    @asc.jit
    def all_of_them(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v):  # noqa: E741
        copy(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v)

    arrays = [array for t in types for array in (numbers(t), np.ones(8, t.np))]
    kernel = all_of_them.lower(*arrays)
    project = kernel.save(tmp_path / "p")
    names = [p.name for p in kernel.trace.params]
    body = "".join(
        f"    __builtin_memcpy(args.{z}, args.{x}, 8 * sizeof(*args.{z}));\n"
        for x, z in zip(names[::2], names[1::2], strict=True)
    )
    binary = kernel_binary(kernel.trace, body)
    right = "".join(f"{z}: 8 x {t}, as expected\n" for z, t in zip(names[1::2], types, strict=True))
    assert run(project, binary).stdout.endswith(f"{right}PASS\n")
    for dtype, z in zip(types, names[1::2], strict=True):
        path = project / "data" / f"{z}.golden.bin"
        data = path.read_bytes()
        assert data == numbers(dtype).tobytes()
        wrong = numbers(dtype)
        wrong[4] = 90
        path.write_bytes(wrong.tobytes())
        ended = run(project, binary)
        assert ended.returncode == 1
        line = f"{z}: 8 x {dtype}, 1 wrong, the first is [4] = 100, expected 90\n"
        assert ended.stdout.endswith(
            right.replace(f"{z}: 8 x {dtype}, as expected\n", line) + "FAIL\n"
        )
        if dtype.kind == "f":
            # A NaN of other bits is a NaN; nothing is near to infinity.
            wrong[4], wrong[1] = 100, 7
            wrong.view(f"u{dtype.sizeof()}")[0] ^= 1
            path.write_bytes(wrong.tobytes())
            assert "1 wrong, the first is [1] = inf, expected 7" in run(project, binary).stdout
            wrong[1], wrong[2] = np.inf, np.inf
            path.write_bytes(wrong.tobytes())
            assert "1 wrong, the first is [2] = -2.5, expected inf" in run(project, binary).stdout
        path.write_bytes(data)


@pytest.mark.parametrize("shift", [0, 4])
def test_arrays_that_overlap(tmp_path: Path, shift: int) -> None:
    @asc.jit
    def tripled(x: asc.GlobalAddress, z: asc.GlobalAddress, n: int):
        x_gm, z_gm = asc.GlobalTensor(), asc.GlobalTensor()
        x_gm.set_global_buffer(x)
        z_gm.set_global_buffer(z)
        for k in range(n):
            z_gm.set_value(k, x_gm.get_value(k) * 3)

    memory = np.arange(1, 41, dtype=np.int32)
    kernel = tripled.lower(memory[:16], memory[shift : shift + 16], 16)
    project = kernel.save(tmp_path / "p")
    assert {path.name for path in (project / "data").iterdir()} == {
        "x_z.bin", "x_z.golden.bin"
    }  # fmt: skip
    wanted = memory[: 16 + shift].copy()
    for k in range(16):
        wanted[shift + k] = wanted[k] * 3
    assert (project / "data" / "x_z.golden.bin").read_bytes() == wanted.tobytes()
    body = "    for (int k = 0; k < args.n; ++k) args.z[k] = args.x[k] * 3;"
    ended = run(project, kernel_binary(kernel.trace, body))
    assert ended.stdout.endswith("z: 16 x int32, as expected\nPASS\n")
    assert np.array_equal(memory, np.arange(1, 41))


def test_empty_and_zero_dimensional_arrays(tmp_path: Path) -> None:
    @asc.jit
    def first(x: asc.GlobalAddress, y: asc.GlobalAddress, z: asc.GlobalAddress):
        z_gm = asc.GlobalTensor()
        z_gm.set_global_buffer(z)
        z_gm.set_value(0, 7)

    z = np.arange(8, dtype=np.int16)
    # One has nothing, one is nothing in the middle of another, one has no dimension.
    kernel = first.lower(np.zeros((0, 3), np.int32), z[3:3], z[3:4].reshape(()))
    project = kernel.save(tmp_path / "p")
    manifest = json.loads((project / "arguments.json").read_text())
    assert [row["shape"] for row in manifest["arguments"]] == [[0, 3], [0], []]
    assert (project / "data" / "z.golden.bin").read_bytes() == np.int16(7).tobytes()
    binary = kernel_binary(kernel.trace, "    args.z[0] = args.x && args.y ? 7 : 0;")
    ended = run(project, binary)
    assert (ended.returncode, ended.stderr) == (0, "")
    middle = np.frombuffer(z, np.int16)[6:]
    middle = np.lib.stride_tricks.as_strided(middle, (0,))
    kernel = first.lower(np.zeros(4, np.int32), middle, z)
    project = kernel.save(tmp_path / "q")
    z[0] = 7
    assert (project / "data" / "z.golden.bin").read_bytes() == z.tobytes()


def test_cores_that_meet(tmp_path: Path) -> None:
    """The hidden address is asked for, and blocks are started together."""

    @asc.jit
    def meeting(z: asc.GlobalAddress, n: int):
        z_gm = asc.GlobalTensor()
        z_gm.set_global_buffer(z)
        asc.sync_all()
        z_gm.set_value(asc.get_block_idx() * 16, n)

    kernel = meeting.lower(np.zeros(64, np.int32), 5)
    project = kernel.save(tmp_path / "p", 4)
    assert "__gm__ uint8_t* ffts_addr, __gm__ int32_t* z" in (project / "kernel.cpp").read_text()
    manifest = json.loads((project / "arguments.json").read_text())
    assert manifest["kernel_type"] == "MIX_AIV_1_0"
    assert manifest["arguments"][0] == {
        "name": "ffts_addr", "offset": 0, "size": 8, "kind": "sync_address"
    }  # fmt: skip
    body = (
        "    if (uint64_t(args.ffts_addr) != standin_sync_address()) return 507015;\n"
        "    if (standin_last_schedule() != 1) return 507015;\n"
        "    args.z[launch->block * 16] = args.n;"
    )
    binary = kernel_binary(kernel.trace, body, KernelType.MIX_AIV_1_0, True)
    ended = run(project, binary)
    assert (ended.returncode, ended.stderr) == (0, "")
    # By the other route the compiler does it.
    other = kernel.save(tmp_path / "q", 4, route="asc")
    assert "ffts" not in (other / "main.cpp").read_text()
    assert "__mix__(0, 1)" in (other / "kernel.cpp").read_text()


def test_arrays_on_the_device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    standin = install(monkeypatch)
    x, z = npu.to_device(X), npu.to_device(np.zeros_like(X))
    project = scaled.lower(x, z, Shape(length=16, scale=1.5), 8).save(tmp_path / "p", 4)
    assert (project / "data" / "x.bin").read_bytes() == X.tobytes()
    assert (project / "data" / "z.golden.bin").read_bytes() == (X * np.float32(1.5)).tobytes()
    assert not z.to_host().any()
    npu.shutdown()
    assert standin.report() == ""


# -- results --------------------------------------------------------------------------------------


def test_without_golden_results(tmp_path: Path) -> None:
    @asc.jit
    def inlined(z: asc.GlobalAddress):
        asc.inline("z[0] = 5;")

    kernel = inlined.lower(np.ones(8, np.int32))
    with pytest.raises(asc.KernelError, match="inline"):
        kernel.save(tmp_path / "p")
    assert not (tmp_path / "p").exists()
    project = kernel.save(tmp_path / "p", golden=False)
    assert [path.name for path in (project / "data").iterdir()] == ["z.bin"]
    assert "saved without golden results" in (project / "README.md").read_text()
    ended = run(project, kernel_binary(kernel.trace, "    args.z[0] = 5;"))
    assert ended.returncode == 0
    assert ended.stdout.endswith(
        "z: saved without golden results\nDONE, nothing was compared\n"
    )  # fmt: skip


def test_what_the_simulator_finds_is_raised(tmp_path: Path) -> None:
    @asc.jit
    def outside(z: asc.GlobalAddress, n: int):
        gm = asc.GlobalTensor()
        gm.set_global_buffer(z)
        gm.set_value(n, 1)

    kernel = outside.lower(np.zeros(8, np.int32), 8)
    with pytest.raises(asc.KernelError) as caught:
        kernel.save(tmp_path / "p")
    assert caught.value.code == "AT0201"
    assert not (tmp_path / "p").exists()


def test_golden_results_are_exact(tmp_path: Path) -> None:
    """Also where launches simulate the errors of the device."""

    @asc.jit(sim=asc.SimParams(approximate=True))
    def inverse(x: asc.GlobalAddress, z: asc.GlobalAddress):
        x_gm, z_gm = asc.GlobalTensor(), asc.GlobalTensor()
        x_gm.set_global_buffer(x)
        z_gm.set_global_buffer(z)
        pipe = asc.TPipe()
        queue, out = asc.TQue(asc.TPosition.VECIN, 1), asc.TQue(asc.TPosition.VECOUT, 1)
        pipe.init_buffer(queue, 1, 256)
        pipe.init_buffer(out, 1, 256)
        local = queue.alloc_tensor(x.dtype)
        asc.data_copy(local, x_gm, 64)
        queue.enque(local)
        local = queue.deque(x.dtype)
        result = out.alloc_tensor(x.dtype)
        asc.reciprocal(result, local, 64)
        out.enque(result)
        queue.free_tensor(local)
        result = out.deque(x.dtype)
        asc.data_copy(z_gm, result, 64)
        out.free_tensor(result)

    x, z = X + 1, np.zeros_like(X)
    project = inverse.lower(x, z).save(tmp_path / "p")
    assert (project / "data" / "z.golden.bin").read_bytes() == (np.float32(1) / x).tobytes()
    inverse[1](x, z)
    assert (z != np.float32(1) / x).any()
    before = z.copy()
    recorder = Recorder(tmp_path / "emitted")
    with in_place_of_all(recorder):
        inverse[1](x, z)
    assert np.array_equal(z, before)
    emitted = tmp_path / "emitted" / "inverse" / "data" / "z.golden.bin"
    assert emitted.read_bytes() == (np.float32(1) / x).tobytes()


def test_data_are_those_at_the_time_of_saving(tmp_path: Path) -> None:
    x = X.copy()
    kernel = scaled.lower(x, np.zeros_like(x), Shape(length=16, scale=1.5), 8)
    x += 1
    project = kernel.save(tmp_path / "p", 4)
    assert (project / "data" / "x.bin").read_bytes() == (X + 1).tobytes()


@pytest.mark.parametrize(
    ("blocks", "code"), [(0, "AT0108"), (65536, "AT0108"), (True, "AT0113"), ("8", "AT0113")]
)
def test_grid(tmp_path: Path, blocks: Any, code: str) -> None:
    with pytest.raises(asc.KernelError) as caught:
        lowered().save(tmp_path / "p", blocks)
    assert caught.value.code == code


def test_saved_from_what_was_compiled(tmp_path: Path) -> None:
    compiled = scaled.compile(X, np.zeros_like(X), Shape(length=16, scale=1.5), 8)
    project = compiled.lowered.save(tmp_path / "p", 4)
    again = lowered().save(tmp_path / "q", 4)
    for name in TEXTS:
        assert (project / name).read_bytes() == (again / name).read_bytes()


# -- the folder -----------------------------------------------------------------------------------


def refused(path: Path, **options: Any) -> str:
    before = {p: p.read_bytes() for p in path.rglob("*") if p.is_file()} if path.is_dir() else {}
    with pytest.raises(asc.KernelError) as caught:
        lowered().save(path, 4, **options)
    assert caught.value.code == "AT0401"
    if path.is_dir():
        assert {p: p.read_bytes() for p in path.rglob("*") if p.is_file()} == before
    return str(caught.value)


def test_an_empty_folder_is_fine(tmp_path: Path) -> None:
    (tmp_path / "p").mkdir()
    assert lowered().save(tmp_path / "p", 4) == tmp_path / "p"


def test_a_folder_of_others_is_refused(tmp_path: Path) -> None:
    for name in "abcdefg":
        (tmp_path / name).touch()
    text = refused(tmp_path)
    assert "it has other files: a, b, c, d, e and 2 more" in text
    assert "overwrite=True (--force)" in text
    lowered().save(tmp_path, 4, overwrite=True)
    assert {"a", "g", "kernel.cpp"} <= {path.name for path in tmp_path.iterdir()}


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "p").touch()
    assert "it is no folder" in refused(tmp_path / "p")
    assert "cannot be written" in refused(tmp_path / "p", overwrite=True)
    assert "cannot be written" in refused(tmp_path / "p" / "below")


def test_saving_again(project: Path) -> None:
    """What is unchanged is replaced, files that are no longer needed go, those of others stay."""
    (project / "build").mkdir()
    (project / "build" / "run").touch()
    (project / "notes.txt").write_text("mine")
    scaled.lower(np.zeros_like(X), X.copy(), Shape(length=16), 8).save(project, 4)
    names = {path.name for path in (project / "data").iterdir()}
    assert names == {"z.bin", "z.golden.bin"}
    assert (project / "notes.txt").read_text() == "mine"
    assert (project / "build" / "run").exists()


@pytest.mark.parametrize("name", ["kernel.cpp", "data/z.golden.bin", "SHA256SUMS"])
def test_what_somebody_changed_is_kept(project: Path, name: str) -> None:
    path = project / name
    path.write_bytes(path.read_bytes() + b"// by hand\n" if name != "SHA256SUMS" else b"")
    text = refused(project)
    assert "these were changed since: " in text
    assert name == "SHA256SUMS" or name in text
    lowered().save(project, 4, overwrite=True)
    assert b"by hand" not in path.read_bytes()


def test_a_changed_file_that_is_no_longer_needed_stays(project: Path) -> None:
    (project / "data" / "x.bin").write_bytes(b"mine")
    zeros = scaled.lower(np.zeros_like(X), np.zeros_like(X), Shape(length=16), 8)
    zeros.save(project, 4)
    assert (project / "data" / "x.bin").read_bytes() == b"mine"


def test_names_from_sums_that_lead_elsewhere(project: Path, tmp_path: Path) -> None:
    """Nothing outside is removed, whatever the sums say."""
    victim = tmp_path / "victim.txt"
    victim.write_text("mine")
    digest = hashlib.sha256(b"mine").hexdigest()
    with (project / "SHA256SUMS").open("a") as file:
        file.write(f"{digest}  ../../victim.txt\n{digest}  {victim}\n")
    lowered().save(project, 4)
    assert victim.read_text() == "mine"


def test_links_are_replaced_not_followed(project: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim.txt"
    victim.write_text("mine")
    (project / "kernel.cpp").unlink()
    (project / "kernel.cpp").symlink_to(victim)
    assert "kernel.cpp" in refused(project)
    lowered().save(project, 4, overwrite=True)
    assert victim.read_text() == "mine"
    assert not (project / "kernel.cpp").is_symlink()


@pytest.mark.parametrize("fails", range(8))
def test_files_are_whole_or_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: int
) -> None:
    """The disk fills up at one file: the others are whole, and nothing else is left."""
    wanted = folder.project_files
    whole: dict[str, bytes] = {}

    def files(launch: Any) -> dict[str, bytes]:
        whole.update(wanted(launch))
        return whole

    monkeypatch.setattr(folder, "project_files", files)
    real, count = os.replace, iter(range(100))

    def replace(source: Any, target: Any) -> None:
        if next(count) == fails:
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(asc.KernelError, match="No space left on device"):
        lowered().save(tmp_path / "p", 4)
    made = [path for path in (tmp_path / "p").rglob("*") if path.is_file()]
    assert len(made) == fails
    for path in made:
        assert path.read_bytes() == whole[path.relative_to(tmp_path / "p").as_posix()]


# -- CMake ----------------------------------------------------------------------------------------


def configure(
    project: Path, home: Path, build: Path, *options: str
) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"ASCEND_HOME_PATH": str(home)}
    command = [cmake(), "-S", project, "-B", build, "-G", "Unix Makefiles", *options]
    return subprocess.run(command, capture_output=True, text=True, env=environment)


#: Arguments of the compiler that a build file may spoil.
ODD_OPTIONS = ("-DTEXT=a b;c$d\"e'f\\g#(h)@i@${j}", "-Wno-x")


@pytest.mark.parametrize("route", ["objects", "asc"])
def test_cmake_builds_and_runs_it(
    project: Path, binary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, route: str
) -> None:
    home = made_cann(tmp_path / "cann", tikcpp=route == "objects")
    options = {"bisheng_options": ODD_OPTIONS, "opt_level": 2}
    kernel = scaled.on(**options).lower(X, np.zeros_like(X), Shape(length=16, scale=1.5), 8)
    kernel.save(project, 4, route=route)
    done = configure(project, home, project / "build")
    assert done.returncode == 0, done.stderr
    environment = os.environ | {"KERNEL_BINARY": str(binary)}
    done = subprocess.run(
        [cmake(), "--build", project / "build"], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning" not in done.stdout + done.stderr
    # The commands are those of asctrace's own compiler, but for the place of the text.
    monkeypatch.setenv("ASCEND_HOME_PATH", str(home))
    monkeypatch.setenv("ASCTRACE_ROUTE", route)
    chip = kernel.trace.chip
    steps = commands(
        find_toolchain(chip), ARCHES[chip.arch], KernelType.AIV_ONLY, CompileOptions(**options)
    )
    wanted = [[Path(step.argv[0]).name, *step.argv[1:]] for step in steps]
    source = str(project / "kernel.cpp")
    wanted = [[source if word == "kernel.cpp" else word for word in argv] for argv in wanted]
    assert calls(home) == wanted
    assert (project / "build" / "kernel.o").read_bytes() == binary.read_bytes()
    ended = subprocess.run([project / "build" / "run"], capture_output=True, text=True, cwd="/")
    assert (ended.returncode, ended.stdout[-5:]) == (0, "PASS\n")
    ctest = Path(cmake()).with_name("ctest")
    done = subprocess.run(
        [ctest, "--test-dir", project / "build"], capture_output=True, text=True
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "100% tests passed" in done.stdout
    # A project that was built may be saved again.
    kernel.save(project, 4, route=route)


@pytest.mark.parametrize("route", ["objects", "asc"])
def test_kernel_and_host_program_together(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], route: str
) -> None:
    """CMake lets the stand-in for bisheng compile the kernel, main.cpp launches what it made."""
    kernel = lowered()
    project = kernel.save(tmp_path / "p", 4, route=route)
    home = HostCann(tmp_path / "cann").home
    with_runtime(home)
    done = configure(project, home, project / "build", "-DCMAKE_CXX_COMPILER_FORCED=1")
    assert done.returncode == 0, done.stderr
    command = [cmake(), "--build", project / "build", "--target", "device_code"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    start = loaded_program(project)
    words = ("--kernel", project / "build" / "kernel.o", "--data", project)
    flush = ctypes.CDLL(None).fflush
    with standins(kernel.trace.chip) as (_, host):
        assert (start(*words), host.launches) == (0, 1)
        flush(None)
        assert capfd.readouterr().out.endswith("z: 64 x float32, as expected\nPASS\n")
        (project / "data" / "x.bin").write_bytes(np.ones_like(X).tobytes())
        assert (start(*words), host.launches) == (1, 2)
        flush(None)
        assert capfd.readouterr().out.endswith("expected 0\nFAIL\n")


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        ("bin/bisheng", "the compiler bisheng was not found below"),
        ("bin/ld.lld", "the linker ld.lld was not found below"),
        ("lib64/libacl_rt.so", "the library of the runtime was not found below"),
        ("include/acl/acl.h", "acl/acl.h was not found below"),
        ("compiler", "save the kernel with route='asc'"),
        ("", "ASCEND_HOME_PATH is no folder: source set_env.sh"),
    ],
)
def test_cmake_says_what_is_missing(project: Path, tmp_path: Path, lost: str, said: str) -> None:
    home = made_cann(tmp_path / "cann")
    path = home / lost
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    # Whether g++ works is not the question.
    done = configure(project, home, tmp_path / "build", "-DCMAKE_CXX_COMPILER_FORCED=1")
    assert done.returncode != 0
    assert said in " ".join(done.stderr.split())
