"""The command line."""

import re

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
