"""The command line."""

import re
import sys
from pathlib import Path

import pytest

import asctrace
from asctrace.cli import main
from asctrace.runtime import knobs


def test_doctor(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCTRACE_BACKEND", "gpu")
    monkeypatch.delenv("ASCEND_HOME_PATH", raising=False)
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    assert re.search(rf"^asctrace +{asctrace.__version__}$", text, re.MULTILINE)
    for knob in knobs.ALL:
        assert knob.name in text
    assert "ASCTRACE_BACKEND='gpu' is no setting" in text
    assert "ASCEND_HOME_PATH is not set" in text
    assert "Ascend910B1, " in text


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
