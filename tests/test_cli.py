"""The command line."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import asctrace
from asctrace.cli import main
from asctrace.runtime import cann, knobs, platform
from asctrace.runtime.acl import device, library
from asctrace.runtime.devices import device as device_of
from tests.acl_kit import library_path
from tests.cann_kit import Cann


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """No CANN, no settings but a cache of the test's own."""
    for name in (*(knob.name for knob in knobs.ALL), "ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ASCTRACE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cann, "USUAL", (str(tmp_path / "nowhere"),))
    monkeypatch.setattr(device, "_session", None)
    monkeypatch.setattr(library, "_loaded", None)
    monkeypatch.setattr(platform.current, "automatic", None)
    asctrace.set_platform()
    yield
    device.shutdown()


def examined(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main(["doctor", "--json"]) == 0
    state: dict[str, Any] = json.loads(capsys.readouterr().out)
    return state


@pytest.mark.usefixtures("plain")
def test_doctor_without_cann(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("There is no CANN on this machine, or none was found. Kernels are ")
    assert "`source <install path>/set_env.sh`" in text
    assert re.search(rf"^asctrace +{asctrace.__version__}$", text, re.MULTILINE)
    assert re.search(r"^backend +sim \(no NPU was found\)$", text, re.MULTILINE)
    assert re.search(r"^compiler +not found$", text, re.MULTILINE)
    for knob in knobs.ALL:
        assert knob.name in text
    assert f"ASCEND_HOME_PATH is not set\n  ASCEND_TOOLKIT_HOME is not set\n  {tmp_path}" in text
    assert "Ascend910B1, " in text
    # Looking changes nothing.
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("plain")
def test_doctor_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    state = examined(capsys)
    assert state["cann"]["home"] is None
    assert state["backend"] == {"wanted": "auto", "used": "sim", "why": "no NPU was found"}
    assert state["compiling"]["route"] is None
    assert [row["what"] for row in state["missing"]] == ["CANN"]
    assert [row["name"] for row in state["settings"]] == [knob.name for knob in knobs.ALL]
    assert state["chip"]["memory"]["UB"] == 196608


@pytest.mark.usefixtures("plain")
def test_doctor_in_a_process_of_its_own() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "asctrace", "doctor", "--json"], capture_output=True, check=True
    )
    assert json.loads(ended.stdout)["versions"]["asctrace"] == asctrace.__version__
    assert ended.stderr == b""


@pytest.mark.usefixtures("plain")
def test_doctor_with_cann(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = Cann(tmp_path / "cann")
    shutil.copyfile(library_path(), made.home / "lib64" / "libascendcl.so")
    ini = made.platform("Ascend910B1", "[SoCInfo]\nvector_core_cnt=40\n")
    monkeypatch.setenv("ASCEND_HOME_PATH", str(made.home))
    state = examined(capsys)
    assert state["missing"] == []
    assert state["summary"].endswith("has what is needed to compile kernels.")
    assert state["devices"]["count"] > 0
    assert state["backend"]["why"] == "a device was found"
    assert state["cann"]["version"] == "8.5.0"
    assert state["cann"]["runtime_library"] == str(made.home / "lib64" / "libascendcl.so")
    assert state["compiling"] == {
        "route": "objects",
        "with": str(made.home / "bin" / "bisheng"),
        "version": "8.5.0",
    }
    assert (state["chip"]["vector_cores"], state["chip"]["from"]) == (40, str(ini))
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    assert re.search(rf"^CANN +{made.home} \(version 8.5.0\)$", text, re.MULTILINE)
    assert re.search(rf"^compiling +objects, with {made.home}/bin/bisheng$", text, re.MULTILINE)
    assert made.calls() == []


@pytest.mark.usefixtures("plain")
@pytest.mark.parametrize(
    ("lost", "words"),
    [
        (["bin/ld.lld"], ["libacl_rt.so or libascendcl.so", "the linker ld.lld is missing"]),
        (["bin/bisheng"], ["libacl_rt.so or libascendcl.so", "bisheng"]),
        (["bin/bisheng", "bin/ld.lld"], ["CANN"]),
    ],
)
def test_doctor_with_a_part_of_cann(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    lost: list[str],
    words: list[str],
) -> None:
    made = Cann(tmp_path / "cann")
    if len(lost) == 1:
        (made.home / "lib64" / "libacl_rtc.so").touch()
    for name in lost:
        (made.home / name).unlink()
    monkeypatch.setenv("ASCEND_HOME_PATH", str(made.home))
    monkeypatch.setenv("ASCTRACE_ROUTE", "objects")
    state = examined(capsys)
    assert len(state["missing"]) == len(words)
    for row, start in zip(state["missing"], words, strict=True):
        assert row["what"].startswith(start)
        assert row["how"]
        assert row["what"] in state["summary"] or start == "CANN"


@pytest.mark.usefixtures("plain")
def test_doctor_tells_of_wrong_settings(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    for name, value in (
        ("BACKEND", "gpu"), ("SOC", "Ascend777"), ("CACHE_DIR", str(tmp_path / "file" / "c")),
        ("ROUTE", "magic"),
    ):  # fmt: skip
        monkeypatch.setenv(f"ASCTRACE_{name}", value)
    state = examined(capsys)
    problems = {row["name"]: row["problem"] for row in state["settings"] if row["problem"]}
    assert problems == {
        "ASCTRACE_BACKEND": "ASCTRACE_BACKEND='gpu' is no setting",
        "ASCTRACE_ROUTE": "ASCTRACE_ROUTE='magic' is no setting",
    }
    assert [row["what"] for row in state["missing"]] == [
        "CANN",
        "unknown chip 'Ascend777'",
        f"the cache {tmp_path}/file/c: {tmp_path}/file is no folder",
    ]
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    assert "ASCTRACE_BACKEND='gpu' is no setting" in text
    assert "unknown chip 'Ascend777'" in text


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"asctrace {asctrace.__version__}\n"


SAMPLES = Path(__file__).resolve().parent.parent / "samples"


def test_report_of_a_script(capsys: pytest.CaptureFixture[str]) -> None:
    before = list(sys.argv), list(sys.path)
    assert main(["report", str(SAMPLES / "add_framework.py"), "--size", "8192"]) == 0
    assert (sys.argv, sys.path) == before
    text = capsys.readouterr().out
    assert text.startswith("vadd_kernel for Ascend910B1 (architecture 2201)\n")
    assert re.search(r"^in_queue_x +VECIN +UB +2 x 256 +512 +0 +", text, re.MULTILINE)
    assert "UB  [#.......................................] 1536 of 196608 bytes, 0 %" in text
    assert re.search(r"^out_queue_z +VECOUT +2 +1 +1 +1 +1 +1$", text, re.MULTILINE)
    assert "matches NumPy" not in text


def test_report_names_the_events(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(SAMPLES / "local_mem_allocator.py")]) == 0
    text = capsys.readouterr().out
    assert re.search(r"^V_MTE2 +0 +\d+, \d+ +\d+, \d+$", text, re.MULTILINE)


def test_report_of_a_script_without_kernels(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    script = tmp_path / "empty.py"
    script.write_text("import sys\nsys.exit(3)\n")
    assert main(["report", str(script)]) == 3
    assert capsys.readouterr().out == f"{script} traces no kernel\n"


# -- emit -----------------------------------------------------------------------------------------

SCRIPT = """\
import sys

import numpy as np

import asctrace as asc


@asc.jit(backend="npu")
def fill(z: asc.GlobalAddress, n: int, value: asc.ConstExpr[int]):
    z_gm = asc.GlobalTensor()
    z_gm.set_global_buffer(z)
    for k in range(n):
        z_gm.set_value(asc.get_block_idx() * 16 + k, value + k)


print("arguments:", sys.argv[1:])
for size, blocks, value in ((64, 4, 7), (64, 4, 7), (64, 4, 8), (64, 2, 7), (32, 2, 7)):
    z = np.zeros(size, np.int32)
    fill[blocks](z, 16, value)
    assert z[16:18].tolist() == [value, value + 1]
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    return path


@pytest.mark.usefixtures("plain")
def test_emit(capsys: pytest.CaptureFixture[str], script: Path, tmp_path: Path) -> None:
    """One project for each trace, grid and shape; kernels for the NPU run in the simulator."""
    out = tmp_path / "out"
    before = list(sys.argv), list(sys.path)
    assert main(["emit", str(script), "--out", str(out)]) == 0
    assert (sys.argv, sys.path) == before
    assert capsys.readouterr().out == (
        "arguments: []\n"
        f"{out}/fill: 4 blocks, Ascend910B1, launched 2 times\n"
        f"{out}/fill_2: 4 blocks, Ascend910B1\n"
        f"{out}/fill_3: 2 blocks, Ascend910B1\n"
        f"{out}/fill_4: 2 blocks, Ascend910B1\n"
    )
    for name, size, blocks, value in (
        ("fill", 64, 4, 7),
        ("fill_2", 64, 4, 8),
        ("fill_4", 32, 2, 7),
    ):
        manifest = json.loads((out / name / "arguments.json").read_text())
        assert (manifest["kernel"], manifest["blocks"]) == ("fill", blocks)
        assert manifest["constants"] == {"value": str(value)}
        assert manifest["arguments"][0]["shape"] == [size]
        wanted = np.tile(np.arange(value, value + 16, dtype=np.int32), size // 16)
        wanted[blocks * 16 :] = 0
        assert (out / name / "data" / "z.golden.bin").read_bytes() == wanted.tobytes()
        # As it was before the launch.
        assert not (out / name / "data" / "z.bin").exists()
    # The kernel is what `lower` and `save` write.
    assert (
        'extern "C" __global__ __aicore__ void fill(' in (out / "fill" / "kernel.cpp").read_text()
    )
    assert "`fill` in `script.py`" in (out / "fill" / "README.md").read_text()
    # Again is fine, until somebody changes a file.
    assert main(["emit", str(script), "--out", str(out)]) == 0
    (out / "fill_2" / "main.cpp").write_text("mine")
    capsys.readouterr()
    assert main(["emit", str(script), "--out", str(out)]) == 1
    captured = capsys.readouterr()
    assert "these were changed since: main.cpp" in captured.err
    assert captured.err.startswith("fill is not saved: ")
    assert f"{out}/fill_3: " in captured.out
    assert (out / "fill_2" / "main.cpp").read_text() == "mine"
    assert main(["emit", str(script), "--out", str(out), "--force"]) == 0
    assert (out / "fill_2" / "main.cpp").read_text() != "mine"


@pytest.mark.usefixtures("plain")
def test_emit_passes_arguments_on(
    capsys: pytest.CaptureFixture[str], script: Path, tmp_path: Path
) -> None:
    given = ["emit", str(script), "--size", "9", "--out", str(tmp_path / "o"), "more"]
    assert main([*given, "--", "--out", "theirs", "--force"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(
        "arguments: ['--size', '9', 'more', '--out', 'theirs', '--force']\n"
    )  # fmt: skip
    assert not (tmp_path / "theirs").exists()


@pytest.mark.usefixtures("plain")
def test_emit_for_another_chip_and_route(script: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    given = ["emit", str(script), "--out", str(out), "--soc", "Ascend950PR_958b"]
    assert main(given) == 0
    manifest = json.loads((out / "fill" / "arguments.json").read_text())
    assert (manifest["chip"], manifest["route"]) == ("Ascend950PR_958b", "asc")
    assert knobs.SOC.raw() is None
    assert main(["emit", str(script), "--out", str(tmp_path / "asc"), "--route", "asc"]) == 0
    text = (tmp_path / "asc" / "fill" / "kernel.cpp").read_text()
    assert "__global__ __vector__ __aicore__" in text
    # Launches go where they went before.
    assert [device_of(name).name for name in ("sim", "npu")] == ["sim", "npu"]


@pytest.mark.usefixtures("plain")
def test_emit_of_a_script_that_fails(
    capsys: pytest.CaptureFixture[str], script: Path, tmp_path: Path
) -> None:
    """What was launched before is saved; the failure is the script's own."""
    script.write_text(SCRIPT.replace("(64, 4, 8)", "(16, 4, 8)"))
    with pytest.raises(asctrace.KernelError) as caught:
        main(["emit", str(script), "--out", str(tmp_path / "out")])
    assert caught.value.code == "AT0201"
    assert f"{tmp_path}/out/fill: 4 blocks" in capsys.readouterr().out
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["fill"]
    assert [device_of(name).name for name in ("sim", "npu")] == ["sim", "npu"]


@pytest.mark.usefixtures("plain")
def test_emit_of_a_script_without_kernels(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    script = tmp_path / "empty.py"
    script.write_text("import sys\nsys.exit(3)\n")
    assert main(["emit", str(script), "--out", str(tmp_path / "out")]) == 3
    assert capsys.readouterr().out == f"{script} launches no kernel\n"
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("plain")
def test_emit_of_samples(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A kernel that is launched on two grids, and one that takes a struct."""
    for name in ("reduce_sum", "struct_args"):
        assert main(["emit", str(SAMPLES / f"{name}.py"), "--out", str(tmp_path)]) == 0
    assert {path.name for path in tmp_path.iterdir() if path.name != "cache"} == {
        "sum_kernel", "sum_kernel_2", "vadd_kernel"
    }  # fmt: skip
    first, second = (
        json.loads((tmp_path / name / "arguments.json").read_text())
        for name in ("sum_kernel", "sum_kernel_2")
    )
    assert (first["blocks"], second["blocks"]) == (8, 1)
    # What the first launch wrote is what the second one reads.
    after = (tmp_path / "sum_kernel" / first["memories"][1]["golden"]).read_bytes()
    assert (tmp_path / "sum_kernel_2" / second["memories"][0]["input"]).read_bytes() == after


def test_other_commands_take_no_further_options(capsys: pytest.CaptureFixture[str]) -> None:
    for given in (["doctor", "--out", "x"], ["cache", "info", "more"], ["emit", "x.py"]):
        with pytest.raises(SystemExit) as ended:
            main(given)
        assert ended.value.code == 2
    assert "unrecognized arguments: --out x" in capsys.readouterr().err
