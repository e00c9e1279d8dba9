"""Compiling: routes, command lines, kinds of kernels, failures; with stand-ins for the tools."""

from __future__ import annotations

import ctypes
import dataclasses
import random
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import asctrace as asc
from asctrace.lowering.text import Entry, TextOptions, emit, python_lines
from asctrace.runtime import knobs
from asctrace.runtime.compiler import Binary, CompileOptions, KernelType
from asctrace.runtime.compiler.build import compile_text
from asctrace.runtime.compiler.commands import commands, qualifier
from asctrace.runtime.compiler.kinds import infer
from asctrace.runtime.compiler.messages import explain
from asctrace.runtime.compiler.options import ARCHES
from asctrace.runtime.compiler.toolchain import find_toolchain
from asctrace.tracer.chip import CHIPS, chip
from asctrace.tracer.ops.spec import Form, Param
from tests.cann_kit import Cann, origin
from tests.support import ACCEPTED
from tests.support.rows import load

B1 = chip("Ascend910B1")
A950 = chip("Ascend950PR_958b")
TEXT = 'extern "C" __global__ __aicore__ void scale(__gm__ float* x)\n{\n}\n'


@pytest.fixture(autouse=True)
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cann]:
    for name in (*(knob.name for knob in knobs.ALL), "ASCEND_TOOLKIT_HOME"):
        monkeypatch.delenv(name, raising=False)
    made = Cann(tmp_path / "cann")
    monkeypatch.setenv("ASCEND_HOME_PATH", str(made.home))
    monkeypatch.setenv("ASCTRACE_CACHE_DIR", str(tmp_path / "cache"))
    asc.set_platform()
    yield made
    asc.set_platform()


def words(text: str) -> list[str]:
    return text.split()


def objects_of(made: Cann) -> list[str]:
    """The kinds of cores that were compiled for."""
    return [
        word.partition("=")[2]
        for argv in made.calls("bisheng")
        for word in argv
        if "aicore-arch=" in word
    ]


# -- command lines ------------------------------------------------------------------------------


def test_object_of_a_vector_kernel(made: Cann) -> None:
    binary = compile_text(TEXT, B1)
    assert (binary.kind, binary.symbol, binary.sync_address) == (
        KernelType.AIV_ONLY,
        "scale",
        False,
    )
    compile_, link = made.calls()
    include = [
        str(made.home / "compiler/tikcpp/tikcfw" / part) for part in ("", "impl", "interface")
    ]
    assert compile_ == [
        *[
            "-c",
            "-x",
            "cce",
            "-O3",
            "kernel.cpp",
            "--cce-aicore-arch=dav-c220-vec",
            "--cce-aicore-only",
        ],
        *words("-o vector.o"),
        *(word for path in include for word in ("-I", path)),
        *words("-std=c++17 --cce-disable-kernel-global-attr-check"),
        *words("-mllvm -cce-aicore-stack-size=0x8000"),
        *words("-mllvm -cce-aicore-function-stack-size=0x8000"),
        *words("-mllvm -cce-aicore-dcci-insert-for-scalar=false"),
        *words("-DASCENDC_DUMP=0 --cce-auto-sync -mllvm -api-deps-filter"),
        *words("-D__NPU_TILING__ -DTILING_KEY_VAR=0"),
    ]
    assert link == words("-m aicorelinux -Ttext=0 vector.o -static -o kernel.o")
    assert binary.path.is_absolute()
    told = origin(binary.file().read_bytes())
    assert (told["tool"], told["argv"]) == ("ld.lld", link)


@pytest.mark.parametrize(
    ("kind", "objects", "mixed", "one_to_one"),
    [
        (KernelType.AIV_ONLY, ["dav-c220-vec"], False, False),
        (KernelType.AIC_ONLY, ["dav-c220-cube"], False, False),
        (KernelType.MIX_AIV_HARD_SYNC, ["dav-c220-vec"], False, False),
        (KernelType.MIX_AIV_1_0, ["dav-c220-vec"], False, False),
        (KernelType.MIX_AIC_HARD_SYNC, ["dav-c220-cube"], False, False),
        (KernelType.MIX_AIC_1_0, ["dav-c220-cube"], False, False),
        (KernelType.MIX_AIC_1_1, ["dav-c220-cube", "dav-c220-vec"], True, True),
        (KernelType.MIX_AIC_1_2, ["dav-c220-cube", "dav-c220-vec"], True, False),
    ],
)
def test_objects_of_each_kind(
    made: Cann, kind: KernelType, objects: list[str], mixed: bool, one_to_one: bool
) -> None:
    binary = compile_text(TEXT, B1, CompileOptions(kernel_type=kind))
    assert binary.kind is kind
    assert objects_of(made) == objects
    for argv in made.calls("bisheng"):
        assert ("-cce-enable-mix" in argv) is mixed
        assert ("-D__MIX_CORE_MACRO__=1" in argv) is mixed
        assert ("-D__MIX_CORE_AIC_RATION__=1" in argv) is one_to_one
    (link,) = made.calls("ld.lld")
    assert [word for word in link if word.endswith(".o")][:-1] == [
        "cube.o" if "cube" in unit else "vector.o" for unit in objects
    ]


@pytest.mark.parametrize("arch", ["3002", "2002", "1001"])
def test_cores_that_have_both_units_get_one_object(made: Cann, arch: str) -> None:
    tools = find_toolchain(B1)
    steps = commands(tools, ARCHES[arch], KernelType.MIX_AIC_1_2, CompileOptions())
    units = [word for step in steps for word in step.argv if "aicore-arch=" in word]
    assert units == [f"--cce-aicore-arch={ARCHES[arch].vector}"]
    assert not any("mix" in word.lower() for step in steps for word in step.argv)


def test_every_chip_has_a_target() -> None:
    for row in CHIPS.values():
        assert ARCHES[row.arch].npu == f"dav-{row.arch}"


def test_options_of_a_kernel(made: Cann) -> None:
    log = "/somewhere/sync.log"
    options = CompileOptions(
        opt_level=1, auto_sync_log=log, debug=True, bisheng_options=("-DX=1", "-mllvm", "-y")
    )
    compile_text(TEXT, B1, options)
    compile_text(TEXT, B1, CompileOptions(opt_level=0, auto_sync=False, auto_sync_log=log))
    first, second = made.calls("bisheng")
    assert "-O1" in first
    assert "-g" in first
    assert f"--cce-auto-sync-log={log}" in first
    assert first[-3:] == ["-DX=1", "-mllvm", "-y"]
    assert "-O0" in second
    assert "-g" not in second
    assert not any("sync" in word or "deps" in word for word in second)


def test_a_log_of_synchronisation_is_always_written(made: Cann) -> None:
    for _ in range(2):
        compile_text(TEXT, B1, CompileOptions(auto_sync_log="sync.log"))
    assert len(made.calls("bisheng")) == 2


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"kernel_type": "AIV_ONLY"}, TypeError),
        ({"opt_level": 4}, ValueError),
        ({"opt_level": True}, ValueError),
        ({"bisheng_options": "-g"}, TypeError),
        ({"bisheng_options": (1,)}, TypeError),
    ],
)
def test_impossible_options(given: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        CompileOptions(**given)
    with pytest.raises(error):
        asc.jit(lambda out: None, **given)


# -- routes -------------------------------------------------------------------------------------


def test_one_command_for_newer_compilers(made: Cann, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCTRACE_ROUTE", "asc")
    binary = compile_text(TEXT, B1, CompileOptions(debug=True))
    compile_, link = made.calls()
    assert compile_ == words(
        "-c -x asc -O3 kernel.cpp --npu-arch=dav-2201 -std=c++17 -DASCENDC_DUMP=0 -g "
        "--cce-auto-sync --aicore-only -o device.o"
    )
    assert link == words("-m aicorelinux -Ttext=0 device.o -static -o kernel.o")
    assert origin(binary.file().read_bytes())["inputs"]


def test_route_that_fits(made: Cann, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_toolchain(B1).route == "objects"
    assert find_toolchain(A950).route == "asc"
    bare = Cann(tmp_path / "new", headers=False)
    monkeypatch.setenv("ASCEND_HOME_PATH", str(bare.home))
    assert find_toolchain(B1).route == "asc"
    library = Cann(tmp_path / "rtc", compiler=False)
    (library.home / "lib64" / "libacl_rtc.so").touch()
    monkeypatch.setenv("ASCEND_HOME_PATH", str(library.home))
    assert find_toolchain(B1).route == "rtc"
    monkeypatch.setenv("ASCTRACE_ROUTE", "objects")
    with pytest.raises(asc.KernelError, match="the compiler bisheng is missing"):
        find_toolchain(B1)


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (KernelType.AIV_ONLY, "__vector__"),
        (KernelType.AIC_ONLY, "__cube__"),
        (KernelType.MIX_AIV_1_0, "__mix__(0, 1)"),
        (KernelType.MIX_AIC_1_0, "__mix__(1, 0)"),
        (KernelType.MIX_AIC_1_1, "__mix__(1, 1)"),
        (KernelType.MIX_AIC_1_2, "__mix__(1, 2)"),
    ],
)
def test_newer_compilers_want_the_cores_in_the_text(kind: KernelType, text: str) -> None:
    assert qualifier("asc", kind) == qualifier("rtc", kind) == text
    assert qualifier("objects", kind) == ""


def test_compiler_by_its_path(made: Cann, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Cann(tmp_path / "other")
    monkeypatch.setenv("ASCTRACE_COMPILER", str(other.home / "bin" / "bisheng"))
    compile_text(TEXT, B1)
    assert made.calls() == []
    # The linker next to that compiler, the headers of the installation.
    assert len(other.calls()) == 2
    assert str(made.home / "compiler/tikcpp/tikcfw/impl") in other.calls("bisheng")[0]


def test_compiler_on_path(tmp_path: Path, made: Cann, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASCEND_HOME_PATH")
    monkeypatch.setenv("PATH", str(made.home / "bin"), prepend=":")
    assert find_toolchain(B1).includes[0] == made.home / "compiler/tikcpp/tikcfw"
    assert find_toolchain(B1).version == "8.5.0"


def test_part_of_a_cann(made: Cann) -> None:
    (made.home / "bin" / "bisheng").chmod(0o644)
    with pytest.raises(asc.KernelError, match="a compiler that may be run") as caught:
        compile_text(TEXT, B1)
    assert caught.value.code == "AT0503"
    assert "chmod +x" in caught.value.findings[0].hint
    assert "doctor" in caught.value.findings[0].hint


# -- the compiler as a library ------------------------------------------------------------------


@pytest.fixture(scope="module")
def rtc_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rtc") / "libacl_rtc.so"
    source = Path(__file__).with_name("rtc_standin.cpp")
    subprocess.run(["g++", "-shared", "-fPIC", "-o", path, source], check=True)
    return path


@pytest.fixture
def rtc(made: Cann, rtc_library: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    path = made.home / "lib64" / "libacl_rtc.so"
    shutil.copyfile(rtc_library, path)
    monkeypatch.setenv("ASCTRACE_ROUTE", "rtc")
    library = ctypes.CDLL(str(path))
    yield library
    assert library.standin_live() == 0


@pytest.mark.usefixtures("rtc")
def test_compiling_in_the_process(made: Cann) -> None:
    binary = compile_text(TEXT, B1, CompileOptions(bisheng_options=("-DX",)))
    options, _, text = binary.file().read_bytes().partition(b"\0")
    assert options.decode().split() == [
        "--npu-arch=dav-2201", "-std=c++17", "-DASCENDC_DUMP=0", "--cce-auto-sync", "-DX",
    ]  # fmt: skip
    assert text.decode() == TEXT
    assert made.calls() == []
    assert compile_text(TEXT, B1, CompileOptions(bisheng_options=("-DX",))) == binary


@pytest.mark.usefixtures("rtc")
def test_errors_of_the_library_have_lines() -> None:
    places = ("kernel.py", 5), None, ("kernel.py", 7), ("kernel.py", 9)
    with pytest.raises(asc.KernelError, match="refuses the text: refused") as caught:
        compile_text(f"{TEXT}#error", B1, lines=lambda: places)
    assert [(s.file, s.line) for s in caught.value.findings[0].spans] == [("kernel.py", 9)]


@pytest.mark.usefixtures("rtc")
@pytest.mark.parametrize(
    ("status", "words"),
    [(176002, "invalid option"), (276001, "out of memory"), (42, "unknown status")],
)
def test_status_without_a_log(status: int, words: str) -> None:
    with pytest.raises(asc.KernelError, match=rf"aclrtcCompileProg returned {status} \({words}\)"):
        compile_text(f"{TEXT}#status {status}", B1)


def test_library_that_is_none(made: Cann, monkeypatch: pytest.MonkeyPatch) -> None:
    (made.home / "lib64" / "libacl_rtc.so").write_text("no library")
    monkeypatch.setenv("ASCTRACE_ROUTE", "rtc")
    with pytest.raises(asc.KernelError, match=r"libacl_rtc.so cannot be used"):
        compile_text(TEXT, B1)
    with pytest.raises(asc.KernelError, match="does not compile for") as caught:
        find_toolchain(B1._replace(name="Ascend310P3", arch="2002"))
    assert caught.value.code == "AT0504"


# -- kinds --------------------------------------------------------------------------------------


def traced(kernel: Any, *args: Any) -> Any:
    return asc.jit(kernel).trace(*args).trace


def test_kind_of_a_kernel() -> None:
    def scalar(out):
        gm = asc.GlobalTensor()
        gm.set_global_buffer(out)
        gm.set_value(0, 1)

    def vector(out):
        local = asc.LocalTensor(asc.float32, asc.TPosition.VECIN, 0, 64)
        asc.add(local, local, local, 64)

    def cube(out):
        gm = asc.GlobalTensor()
        gm.set_global_buffer(out)
        asc.data_copy(asc.LocalTensor(out.dtype, asc.TPosition.A1, 0, 64), gm, 64)

    def both(out):
        vector(out)
        cube(out)

    out = np.zeros(64, np.float32)
    kinds = [infer(traced(kernel, out)) for kernel in (scalar, vector, cube, both)]
    assert kinds == [
        KernelType.AIV_ONLY,
        KernelType.AIV_ONLY,
        KernelType.AIC_ONLY,
        KernelType.MIX_AIC_1_2,
    ]


@pytest.mark.parametrize(
    ("position", "workspace", "kind"),
    [
        (asc.TPosition.VECIN, False, KernelType.MIX_AIV_1_0),
        (asc.TPosition.A1, False, KernelType.MIX_AIC_1_0),
        (asc.TPosition.VECIN, True, KernelType.AIV_ONLY),
    ],
)
def test_kind_of_a_kernel_whose_blocks_meet(
    position: asc.TPosition, workspace: bool, kind: KernelType
) -> None:
    def kernel(out):
        gm = asc.GlobalTensor()
        gm.set_global_buffer(out)
        asc.data_copy(asc.LocalTensor(out.dtype, position, 0, 64), gm, 64)
        asc.pipe_barrier(asc.PipeID.PIPE_ALL)

    trace = traced(kernel, np.zeros(64, np.float32))
    barrier = trace.body.nodes[-1]
    barrier.spec = dataclasses.replace(barrier.spec, extra=MappingProxyType({"meets": True}))
    if workspace:
        barrier.form = Form("software", (Param("gm_workspace", "global", "inout"),))
    assert infer(trace) is kind


def test_kind_of_a_kernel_with_a_barrier() -> None:
    def hardware(out):
        asc.sync_all()

    def software(out):
        gm = asc.GlobalTensor()
        gm.set_global_buffer(out)
        asc.sync_all(gm, asc.LocalTensor(out.dtype, asc.TPosition.VECIN, 0, 512))

    def flag(out):
        asc.cross_core_set_flag(0, 0, asc.PipeID.PIPE_MTE3)

    out = np.zeros(64, np.int32)
    kinds = [infer(traced(kernel, out)) for kernel in (hardware, software, flag)]
    assert kinds == [KernelType.MIX_AIV_1_0, KernelType.AIV_ONLY, KernelType.MIX_AIV_1_0]


def test_flags_between_two_kinds_of_cores_need_both(made: Cann) -> None:
    def kernel(out):
        asc.cross_core_set_flag(0, 1, asc.PipeID.PIPE_MTE3)

    out = np.zeros(64, np.int32)
    with pytest.raises(asc.KernelError) as caught:
        asc.jit(kernel, backend="npu").compile(out)
    (found,) = caught.value.findings
    assert found.code == "AT0306"
    assert found.message == (
        "cross_core_set_flag in mode 1, which is between the vector cores of one cube core, in a "
        "kernel of kind MIX_AIV_1_0"
    )
    mixed = asc.jit(kernel, backend="npu", kernel_type=KernelType.MIX_AIC_1_2).compile(out)
    assert mixed.program.kind is KernelType.MIX_AIC_1_2


def test_kind_is_an_option(made: Cann) -> None:
    def kernel(out):
        pass

    out = np.zeros(4, np.int32)
    compiled = asc.jit(kernel, backend="npu", kernel_type=KernelType.MIX_AIC_1_1).compile(out)
    program: Binary = compiled.program
    assert (program.kind, program.sync_address) == (KernelType.MIX_AIC_1_1, True)
    compiled = asc.jit(kernel, backend="npu", matmul_cube_only=True).compile(out)
    assert compiled.program.kind is KernelType.AIC_ONLY
    assert compiled.program.sync_address is False


@pytest.mark.parametrize("route", ["objects", "asc"])
def test_text_that_the_compiler_gets(
    made: Cann, route: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kernel(out, ffts_addr):
        ffts_addr = ffts_addr + 1
        gm = asc.GlobalTensor()
        gm.set_global_buffer(out)
        gm.set_value(0, ffts_addr)

    monkeypatch.setenv("ASCTRACE_ROUTE", route)
    made.order(exit=1)
    mixed = asc.jit(kernel, backend="npu", kernel_type=KernelType.MIX_AIV_1_0)
    with pytest.raises(asc.KernelError, match="failed without an error message") as caught:
        mixed.compile(np.zeros(4, np.int32), 1)
    folder = Path(caught.value.findings[0].notes[0][0].rpartition(" ")[2])
    text = (folder / "kernel.cpp").read_text()
    head = 'extern "C" __global__ '
    if route == "objects":
        head += "__aicore__ void kernel(__gm__ uint8_t* ffts_addr, "
        first = "    set_ffts_base_addr(reinterpret_cast<uint64_t>(ffts_addr));\n"
    else:
        head += "__mix__(0, 1) __aicore__ void kernel("
        first = ""
    assert f"{head}__gm__ int32_t* out, int32_t ffts_addr_)\n{{\n{first}    " in text


# -- failures -----------------------------------------------------------------------------------


def test_what_a_failure_leaves(made: Cann, tmp_path: Path) -> None:
    made.order(say="kernel.cpp:1:1: error: no\n1 error generated.", exit=1, tool="bisheng")
    with pytest.raises(asc.KernelError, match="refuses the text: no"):
        compile_text(TEXT, B1)
    (folder,) = (tmp_path / "cache" / "failed").iterdir()
    assert folder.name.startswith("scale-")
    assert (folder / "kernel.cpp").read_text() == TEXT
    assert "error: no" in (folder / "log.txt").read_text()
    made.work()
    # The command works where the folder is.
    run = subprocess.run(["sh", folder / "command.sh"], check=True, capture_output=True)
    assert run.stderr == b""
    assert (folder / "vector.o").is_file()
    # Failing again keeps one folder; a success leaves none behind in `work`.
    made.order(exit=1)
    with pytest.raises(asc.KernelError):
        compile_text(TEXT, B1)
    assert [path.name for path in (tmp_path / "cache" / "failed").iterdir()] == [folder.name]
    assert list((tmp_path / "cache" / "work").iterdir()) == []


def test_linker_that_fails(made: Cann) -> None:
    made.order(say="ld.lld: error: undefined symbol: missing()", exit=1, tool="ld.lld")
    with pytest.raises(asc.KernelError, match=r"undefined symbol: missing\(\)") as caught:
        compile_text(TEXT, B1)
    assert caught.value.code == "AT0501"
    assert len(made.calls("ld.lld")) == 1


def test_compiler_that_makes_nothing(made: Cann) -> None:
    made.order(exit=0)
    with pytest.raises(asc.KernelError, match="failed without an error message"):
        compile_text(TEXT, B1)


def test_compiler_of_another_machine(made: Cann) -> None:
    path = made.home / "bin" / "bisheng"
    path.write_bytes(b"\x7fELF\x02\x01\x01" + bytes(57))
    with pytest.raises(asc.KernelError, match="bisheng cannot be run") as caught:
        compile_text(TEXT, B1)
    assert caught.value.code == "AT0505"


@pytest.mark.parametrize(
    ("name", "words"), [("SIGKILL", "out of memory"), ("SIGABRT", "a lower opt_level")]
)
def test_compiler_that_is_ended(made: Cann, name: str, words: str) -> None:
    made.order(signal=name)
    with pytest.raises(asc.KernelError, match=f"bisheng was ended by {name}") as caught:
        compile_text(TEXT, B1)
    assert words in caught.value.findings[0].hint


def test_slow_compiler_leaves_no_process(made: Cann, monkeypatch: pytest.MonkeyPatch) -> None:
    made.order(sleep=30)
    monkeypatch.setenv("ASCTRACE_COMPILE_TIMEOUT", "1")
    with pytest.raises(asc.KernelError, match="took longer than 1 s"):
        compile_text(TEXT, B1)
    running = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # processes of others come and go
            running.append(path.read_bytes())
    assert running
    assert not any(str(made.home).encode() in command for command in running)


def findings(log: str, lines: Any = ()) -> list[Any]:
    return explain(log, "kernel.cpp", lines, "kernel", "folder")


def test_errors_of_a_log() -> None:
    lines = [None, ("a.py", 3), ("b.py", 8)]
    log = (
        "kernel.cpp:2:5: warning: unused\n"
        "kernel.cpp:1:5: note: declared here\n"
        "kernel.cpp:3:1: error: expected ';'\n"
        "    x\n    ^\n"
        "/inc/h.h:7:1: error: static assertion failed\n"
        "/inc/g.h:9:1: note: in instantiation\n"
        "kernel.cpp:2:1: note: required here\n"
        "kernel.cpp:1:1: error: in a helper\n"
        "kernel.cpp:3:1: error: expected ';'\n"
        "4 errors generated.\n"
    )
    found = findings(log, lines)
    assert [(f.message.partition(": ")[2], [(s.file, s.line) for s in f.spans]) for f in found] == [
        ("expected ';'", [("b.py", 8)]),
        ("static assertion failed", [("a.py", 3)]),
        ("in a helper", []),
    ]
    assert all(f.notes == (("text, command and log are in folder", None),) for f in found)


def test_line_directives_in_the_text() -> None:
    found = findings("/src/k.py:12:3: error: no\n", [None, ("/src/k.py", 4), ("/src/k.py", 12)])
    assert [(s.file, s.line) for s in found[0].spans] == [("/src/k.py", 12)]


def test_what_is_known_comes_first() -> None:
    log = "kernel.cpp:1:1: error: odd\nld.lld: error: out of jump/jumpc imm range\n"
    assert [f.code for f in findings(log)] == ["AT0502", "AT0501"]


@pytest.mark.parametrize(
    ("log", "code", "words"),
    [
        ("[ERROR] [ascend] Power_88a error: out of jump/jumpc imm range", "AT0502", "unroll_limit"),
        ("error: out of jump imm range", "AT0502", "jump-expand"),
        ("kernel.cpp:2:10: fatal error: 'kernel_operator.h' file not found", "AT0503", "doctor"),
        ("clang: error: unknown target CPU 'dav-c310-vec'", "AT0504", "older than the chip"),
        ("error: unsupported argument 'dav-3510' to option '--npu-arch='", "AT0504", "older"),
        ("bisheng: error: unknown argument: '-cce-enable-mix'", "AT0504", "ASCTRACE_ROUTE"),
        ("PLEASE submit a bug report to\nStack dump:\n0. Program", "AT0505", "opt_level"),
        ("LLVM ERROR: Cannot select: t1", "AT0505", "opt_level"),
        ("something odd", "AT0501", "report it"),
    ],
)
def test_known_failures(log: str, code: str, words: str) -> None:
    (found,) = findings(log)
    assert found.code == code
    assert words in found.hint


def test_random_logs_are_always_explained() -> None:
    seed = 20
    print(f"seed {seed}")
    rng = random.Random(seed)
    parts = ["kernel.cpp", ":", "3", "1", " error: ", " note: ", "fatal error: ", "\n", "x", "'",
             "file not found", " warning: ", "/a b/c.h", "\x00", "\u2028", "%", "{0}"]  # fmt: skip
    for _ in range(500):
        log = "".join(rng.choices(parts, k=rng.randrange(30)))
        found = findings(log, [("k.py", 1)] * 3)
        assert found
        assert all(f.code in ("AT0501", "AT0503") and f.hint for f in found)


# -- lines of Python ----------------------------------------------------------------------------


PROGRAMS = [row for rows in ACCEPTED.values() for row in rows]


@pytest.mark.parametrize("row", PROGRAMS, ids=lambda row: row.name)
def test_text_has_the_lines_that_directives_say(row: Any) -> None:
    """Without the directives the text is the same, so that one counts lines for the other."""
    kernel = load(row.source)["kernel"]
    trace = kernel.trace(np.zeros(16, row.dtype), *row.runs[0].args).trace
    for entry in (Entry(), Entry("__mix__(1, 2)", True)):
        text, lines = emit(trace, TextOptions(), entry), python_lines(trace, TextOptions(), entry)
        assert len(text.splitlines()) == len(lines)
        directed = emit(trace, TextOptions(line_directives=True), entry)
        assert re.sub(r"#line .*\n", "", directed) == text
        last = len(row.source.splitlines())
        assert all(place is None or 0 < place[1] <= last for place in lines)
        assert any(lines) or text.endswith("{\n}\n")


# -- several at once ----------------------------------------------------------------------------


def kernel_of(tile: int) -> Any:
    def kernel(out):
        gm = asc.GlobalTensor()
        gm.set_global_buffer(out)
        gm.set_value(0, tile)

    return kernel


def test_several_specialisations_at_once(made: Cann) -> None:
    @asc.jit(backend="npu")
    def kernel(out, tile: asc.ConstExpr[int]):
        gm = asc.GlobalTensor()
        gm.set_global_buffer(out)
        gm.set_value(0, tile)

    out = np.zeros(4, np.int32)
    done = kernel.compile_all([(out, tile) for tile in range(6)], workers=3)
    assert [f"gm.SetValue(0, {tile});" in one.lowered.source for tile, one in enumerate(done)] == (
        [True] * 6
    )
    assert len({one.program.digest for one in done}) == 6
    assert len(made.calls("bisheng")) == 6
    for tile, one in enumerate(done):
        assert kernel.compile(out, tile).program == one.program
    assert len(made.calls("bisheng")) == 6


def test_compiling_past_every_cache(made: Cann) -> None:
    kernel = asc.jit(kernel_of(3), backend="npu")
    out = np.zeros(4, np.int32)
    first = kernel.compile(out).program
    assert kernel.compile(out).program == first
    assert len(made.calls("bisheng")) == 1
    assert kernel.compile(out, always_compile=True).program == first
    assert len(made.calls("bisheng")) == 2
    assert kernel.on(always_compile=True).compile(out).program == first
    assert len(made.calls("bisheng")) == 3


def test_failures_of_several_are_told_together(made: Cann) -> None:
    @asc.jit(backend="npu")
    def kernel(out, tile: asc.ConstExpr[int]):
        gm = asc.GlobalTensor()
        gm.set_global_buffer(out)
        gm.set_value(tile, 1)

    out = np.zeros(4, np.int32)
    made.order(say="kernel.cpp:8:1: error: refused", exit=1, when=r"SetValue\([13], ")
    with pytest.raises(asc.KernelError) as caught:
        kernel.compile_all([(out, tile) for tile in range(4)])
    assert [f.code for f in caught.value.findings] == ["AT0501", "AT0501"]
    made.work()
    kernel.compile_all([(out, 0), (out, 2)])
    assert len(made.calls("ld.lld")) == 2


def test_several_in_the_simulator() -> None:
    @asc.jit(backend="sim")
    def kernel(out, tile: asc.ConstExpr[int]):
        pass

    done = kernel.compile_all([(np.zeros(4, np.int32), tile) for tile in range(3)])
    assert [one.backend for one in done] == ["sim"] * 3
