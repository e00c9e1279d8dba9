"""Stages written to a folder, and edited texts taken back."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import asctrace as asc
from asctrace.runtime import knobs, stages
from asctrace.runtime.compiler import build
from asctrace.runtime.compiler.toolchain import Toolchain
from tests.cann_kit import Cann
from tests.twin.device import standins


@pytest.fixture
def dumps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for knob in knobs.ALL:
        monkeypatch.delenv(knob.name, raising=False)
    monkeypatch.setenv("ASCTRACE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("ASCTRACE_DUMP_DIR", str(tmp_path / "dumps"))
    asc.set_platform()
    return tmp_path / "dumps"


def make_fill(**options: Any) -> asc.Kernel:
    @asc.jit(**options)
    def fill(z: asc.GlobalAddress, n: int, value: asc.ConstExpr[int]):
        z_gm = asc.GlobalTensor()
        z_gm.set_global_buffer(z)
        z_gm.set_value(0, n + value)

    return fill


def filled(kernel: asc.Kernel, value: int = 7) -> int:
    z = np.zeros(16, np.int32)
    kernel[1](z, 3, value)
    return int(z[0])


def only(folder: Path) -> Path:
    (found,) = folder.iterdir()
    return found


def test_nothing_is_written_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for value in (None, ""):
        if value is not None:
            monkeypatch.setenv("ASCTRACE_DUMP_DIR", value)
        assert filled(make_fill()) == 10
    assert list(tmp_path.iterdir()) == []


def test_stages_of_the_simulator(dumps: Path) -> None:
    kernel = make_fill()
    assert filled(kernel) == 10
    lowered = kernel.lower(np.zeros(16, np.int32), 3, 7)
    folder = only(dumps)
    assert folder.name == stages.folder_name(lowered.trace)
    assert folder.name.startswith("fill-")
    assert {path.name: path.read_text() for path in folder.iterdir() if path.suffix != ".x"} == {
        "trace.txt": lowered.dump(),
        "kernel.cpp": lowered.source,
        "report.txt": lowered.report(),
        "bytecode.txt": (folder / "bytecode.txt").read_text(),
    }
    listing = (folder / "bytecode.txt").read_text().splitlines()
    assert listing[0] == "make_fill.<locals>.fill, test_stages.py"
    assert any(line.endswith(" 'set_value'") for line in listing[1:]), listing
    # Another kernel has a folder of its own, the same one the same.
    filled(make_fill(), 8)
    filled(make_fill(), 7)
    assert len(list(dumps.iterdir())) == 2


def test_a_kernel_with_errors_is_dumped_too(dumps: Path) -> None:
    @asc.jit
    def too_large(z: asc.GlobalAddress):
        pipe = asc.TPipe()
        queue = asc.TQue(asc.TPosition.VECIN, 1)
        pipe.init_buffer(queue, 1, 1 << 20)

    with pytest.raises(asc.KernelError):
        too_large[1](np.zeros(8, np.int32))
    names = {path.name for path in only(dumps).iterdir()}
    assert names == {"trace.txt", "kernel.cpp", "report.txt", "bytecode.txt"}


def test_names_are_the_same_in_every_process(dumps: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np, asctrace as asc\n"
        "@asc.jit\n"
        "def k(z: asc.GlobalAddress, c: asc.ConstExpr):\n"
        "    z_gm = asc.GlobalTensor()\n"
        "    z_gm.set_global_buffer(z)\n"
        "    z_gm.set_value(0, len(c))\n"
        "k[1](np.zeros(8, np.int32), frozenset('abc'))\n"
    )
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, script], check=True, env=environment)
    assert only(dumps).name.startswith("k-")


def test_a_folder_that_cannot_be_written(
    dumps: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("ASCTRACE_DUMP_DIR", str(tmp_path / "file"))
    with pytest.raises(asc.KernelError, match=r"ASCTRACE_DUMP_DIR=.*cannot be written") as caught:
        filled(make_fill())
    assert caught.value.code == "AT0401"


# -- for the NPU ----------------------------------------------------------------------------------


@pytest.fixture
def made(dumps: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cann:
    made = Cann(tmp_path / "cann")
    monkeypatch.setenv("ASCEND_HOME_PATH", str(made.home))
    return made


def compiled(**options: Any) -> Any:
    return make_fill(backend="npu", **options).compile(np.zeros(16, np.int32), 3, 7)


def test_stages_of_the_npu(made: Cann, dumps: Path) -> None:
    program = compiled().program
    folder = only(dumps)
    assert (folder / "kernel.o").read_bytes() == program.data
    script = (folder / "command.sh").read_text().splitlines()
    assert script[0] == 'cd "$(dirname "$0")"'
    assert [line.split()[0] for line in script[1:]] == [
        str(made.home / "bin" / "bisheng"), str(made.home / "bin" / "ld.lld")
    ]  # fmt: skip
    before = (folder / "kernel.o").read_bytes()
    (folder / "kernel.o").unlink()
    subprocess.run(["sh", folder / "command.sh"], check=True, cwd="/")
    assert (folder / "kernel.o").read_bytes() == before


def test_the_text_is_that_of_the_route(
    made: Cann, dumps: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCTRACE_ROUTE", "asc")
    compiled()
    assert "__global__ __vector__ __aicore__" in (only(dumps) / "kernel.cpp").read_text()


def edit(dumps: Path, tmp_path: Path, old: str, new: str) -> Path:
    """Copy what was dumped, with a change; returns the folder for the setting."""
    source = only(dumps)
    text = (source / "kernel.cpp").read_text()
    assert old in text
    target = tmp_path / "edited" / source.name
    target.mkdir(parents=True, exist_ok=True)
    (target / "kernel.cpp").write_text(text.replace(old, new))
    return target.parent


def test_an_edited_text_is_compiled(
    made: Cann, dumps: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = compiled()
    edited = edit(dumps, tmp_path, "n + 7", "n + 70")
    monkeypatch.setenv("ASCTRACE_OVERRIDE_DIR", str(edited))
    texts = []
    real = build.run

    def run(job: build.Job, tools: Toolchain) -> Any:
        texts.append(job.text)
        # Lines of Python belong to what was emitted.
        assert (job.lines() == ()) is ("n + 70" in job.text)
        return real(job, tools)

    monkeypatch.setattr(build, "run", run)
    second = compiled()
    assert [("n + 70" in text) for text in texts] == [True]
    # The cache keeps both apart.
    assert first.program.digest != second.program.digest
    # `source` is what was emitted, and another kernel is not concerned.
    assert "n + 70" not in second.lowered.source
    make_fill(backend="npu").compile(np.zeros(16, np.int32), 3, 8)
    assert "n + 8" in texts[-1]
    monkeypatch.delenv("ASCTRACE_OVERRIDE_DIR")
    assert compiled().program.digest == first.program.digest


def test_messages_about_an_edited_text_have_its_lines(
    made: Cann, dumps: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled()
    edited = edit(dumps, tmp_path, "n + 7", "n + nothing")
    monkeypatch.setenv("ASCTRACE_OVERRIDE_DIR", str(edited))
    made.order(say="kernel.cpp:8:25: error: use of undeclared identifier 'nothing'", exit=1)
    with pytest.raises(asc.KernelError, match="use of undeclared identifier 'nothing'") as caught:
        compiled()
    assert caught.value.findings[0].spans == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [("int32_t n", "int64_t n"), (", int32_t n)", ")"), ("void fill(", "void full(")],
)
def test_an_edited_text_with_other_arguments_is_refused(
    made: Cann, dumps: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str
) -> None:
    compiled()
    monkeypatch.setenv("ASCTRACE_OVERRIDE_DIR", str(edit(dumps, tmp_path, old, new)))
    with pytest.raises(asc.KernelError, match="does not declare the kernel as") as caught:
        compiled()
    assert caught.value.code == "AT0401"
    assert new.strip(", ") in caught.value.findings[0].message


def test_an_edited_text_of_another_route_is_refused(
    made: Cann, dumps: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled()
    monkeypatch.setenv("ASCTRACE_OVERRIDE_DIR", str(edit(dumps, tmp_path, "n + 7", "n + 9")))
    monkeypatch.setenv("ASCTRACE_ROUTE", "asc")
    with pytest.raises(asc.KernelError, match="ASCTRACE_ROUTE"):
        compiled()


def test_an_edited_text_that_cannot_be_read(
    made: Cann, dumps: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled()
    edited = edit(dumps, tmp_path, "n + 7", "n + 9")
    (only(edited) / "kernel.cpp").write_bytes(b"\xff\xfe")
    monkeypatch.setenv("ASCTRACE_OVERRIDE_DIR", str(edited))
    with pytest.raises(asc.KernelError, match="cannot be read") as caught:
        compiled()
    assert caught.value.code == "AT0401"


def test_the_simulator_says_that_it_runs_no_text(
    dumps: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(make_fill())
    monkeypatch.setenv("ASCTRACE_OVERRIDE_DIR", str(edit(dumps, tmp_path, "n + 7", "n + 9")))
    with pytest.warns(asc.KernelWarning, match="is not used: the simulator runs the trace"):
        assert filled(make_fill()) == 10
    assert filled(make_fill(), 8) == 11


def test_a_saved_project_has_the_edited_text(
    dumps: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lowered = make_fill().lower(np.zeros(16, np.int32), 3, 7)
    monkeypatch.setenv("ASCTRACE_OVERRIDE_DIR", str(edit(dumps, tmp_path, "n + 7", "7 + n")))
    with pytest.warns(asc.KernelWarning, match="is not used"):
        project = lowered.save(tmp_path / "p")
    assert "7 + n" in (project / "kernel.cpp").read_text()


def test_an_edited_text_runs(dumps: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the stand-ins for compiler and device: the result is that of the edit."""
    kernel = make_fill(backend="npu")
    chip = make_fill().lower(np.zeros(16, np.int32), 3, 7).trace.chip
    edited = edit(dumps, tmp_path, "n + 7", "n + 70")
    with standins(chip) as (_, host):
        assert filled(kernel) == 10
        monkeypatch.setenv("ASCTRACE_OVERRIDE_DIR", str(edited))
        assert filled(make_fill(backend="npu")) == 73
        assert host.launches == 2
