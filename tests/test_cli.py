"""The command line."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import asctrace
from asctrace.cli import main
from asctrace.runtime import cann, knobs, platform
from asctrace.runtime.acl import device, library
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
