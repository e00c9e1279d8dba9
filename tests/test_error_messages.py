"""Every code of the table: the whole message, and where the traceback ends.

Columns differ between versions of Python, so they count only in the version that wrote the files.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import asctrace as asc
from asctrace.runtime import cann, knobs
from asctrace.tracer.diagnostics import CODES, Kind
from asctrace.tracer.vm import machine
from tests.acl_kit import Bodies, install
from tests.cann_kit import Cann
from tests.support import ERRORS, REFUSED
from tests.support.rows import FILE, Refused, launch

#: What the stand-in compiler does for a program.
ORDERS: dict[str, dict[str, Any]] = {
    "AT0501-place": {
        "say": "kernel.cpp:8:8: error: no member named 'NoSuchCall' in "
        "'AscendC::GlobalTensor<int>'\n    gm.NoSuchCall();\n    ~~ ^\n1 error generated.",
        "exit": 1,
    },
    "AT0501-header": {
        "say": "In file included from kernel.cpp:2:\n"
        "/cann/interface/kernel_operator_vec.h:99:5: error: static assertion failed: type\n"
        "kernel.cpp:7:5: note: in instantiation of function template specialization "
        "'AscendC::Add<float>' requested here\n1 error generated.",
        "exit": 1,
    },
    "AT0501-silent": {"exit": 1},
    "AT0502-jump": {"say": "ld.lld: error: out of jump/jumpc imm range", "exit": 1},
    "AT0503-header": {
        "say": "kernel.cpp:2:10: fatal error: 'kernel_operator.h' file not found",
        "exit": 1,
    },
    "AT0504-target": {"say": "bisheng: error: unsupported NPU arch 'dav-3510'", "exit": 1},
    "AT0504-option": {"say": "bisheng: error: unknown argument: '--magic'", "exit": 1},
    "AT0505-crash": {"signal": "SIGSEGV"},
    "AT0505-slow": {"sleep": 60},
}

#: For n = 16 this is behind what the kernel was given.
STORE = "    args.out[args.n] = 1;"


def on_standin(patch: pytest.MonkeyPatch, body: str = STORE, fail: tuple[Any, ...] = ()) -> None:
    """An NPU where there is none."""
    bodies = Bodies()
    bodies["kernel"] = body
    standin = install(patch, bodies)
    patch.setattr(sys, "orig_argv", ["/usr/bin/python3", "example.py"])
    if fail:
        standin.inject(*fail)


ROWS = [pytest.param(row, id=row.name) for row in REFUSED + ERRORS]
GOLDEN = Path(__file__).parent / "golden" / "errors"
#: Raised by a call from ordinary Python, through frames that cannot be hidden.
DIRECT = ("AT0105",)

#: What has to be broken for a program to fail.
ARRANGED: dict[str, Callable[[pytest.MonkeyPatch], None]] = {
    # The program sets it itself; this restores it afterwards.
    "AT0401-environment": lambda patch: patch.setenv("ASCTRACE_UNROLL_LIMIT", "64"),
    "AT0305-no-cann": lambda patch: patch.setattr(
        cann, "find", lambda: (cann.Cann(None, None), ["ASCEND_HOME_PATH is not set"])
    ),
    "AT0601-out-of-bounds": on_standin,
    "AT0602-out-of-memory": lambda patch: on_standin(patch, fail=("aclrtMalloc", 207001)),
    "AT0603-again": on_standin,
    "AT0604-for-linking": lambda patch: (
        on_standin(patch, ""),
        patch.setenv("ASCTRACE_ACL_LIBRARY", "/usr/local/Ascend/devlib/libacl_rt.so"),
    )[0],
    "AT0901-internal": lambda patch: patch.setattr(machine, "Mark", None),
}


@pytest.fixture(autouse=True)
def default_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    for knob in knobs.ALL:
        monkeypatch.delenv(knob.name, raising=False)


@pytest.fixture
def toolchain(request: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A made-up CANN for the programs that are about one."""
    name = request.node.callspec.params["row"].name
    if not name.startswith("AT05"):
        return
    made = Cann(tmp_path / "cann")
    monkeypatch.setenv("ASCEND_HOME_PATH", str(made.home))
    monkeypatch.setenv("ASCTRACE_CACHE_DIR", str(tmp_path / "cache"))
    if name == "AT0505-slow":
        monkeypatch.setenv("ASCTRACE_COMPILE_TIMEOUT", "1")
    if name in ORDERS:
        made.order(**ORDERS[name])
    else:
        (made.home / "bin" / "ld.lld").unlink()


def without_folders(text: str) -> str:
    """A message without what differs from run to run: where things are, and the cache's key."""
    text = re.sub(r"[^\s(]*/cann\b", "/usr/local/Ascend/cann", text)
    return re.sub(r"\S*/cache/(failed/\w+)-\w+", r"~/.cache/asctrace/\1-3f9c2b7a41de", text)


@dataclass(frozen=True, slots=True)
class Failure:
    """The error a program ends with, its text, and the frames of its traceback."""

    error: asc.KernelError
    text: str
    frames: traceback.StackSummary


_failures: dict[str, Failure] = {}


def failure(row: Refused, monkeypatch: pytest.MonkeyPatch) -> Failure:
    """Run a program once; source text is looked up while it is there."""
    if row.name not in _failures:
        ARRANGED.get(row.name, lambda patch: None)(monkeypatch)
        with pytest.raises(asc.KernelError) as caught:
            launch(row.source, row.args, row.dtype, blocks=row.blocks)
        frames = traceback.extract_tb(caught.value.__traceback__)
        _failures[row.name] = Failure(caught.value, without_folders(str(caught.value)), frames)
    return _failures[row.name]


def without_columns(text: str) -> str:
    """A message as every version of Python words it."""
    text = re.sub(rf"({re.escape(FILE)}:\d+):\d+", r"\1", text)
    return re.sub(r"^ +\^+\n", "", text, flags=re.MULTILINE)


@pytest.mark.usefixtures("toolchain")
@pytest.mark.parametrize("row", ROWS)
def test_message(row: Refused, monkeypatch: pytest.MonkeyPatch, golden: Any) -> None:
    found = failure(row, monkeypatch)
    assert found.error.code == row.code
    form = str if sys.version_info[:2] == (3, 11) else without_columns
    golden(f"errors/{row.name}.txt", f"{found.text}\n", form)


@pytest.mark.usefixtures("toolchain")
@pytest.mark.parametrize("row", ROWS)
def test_message_speaks_of_the_kernel(row: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    found = failure(row, monkeypatch)
    folder = str(Path(machine.__file__).parent.parent.parent)
    assert folder not in found.text
    for word in ("VMGenerator", "ReplayIterator", "RangeState", "RuntimeText", "Scalar", "DeadEnd"):
        assert word not in found.text
    for finding in found.error.findings:
        assert finding.hint
        assert not finding.message.endswith(".")
        assert all(span.file == FILE for span in finding.spans)


@pytest.mark.usefixtures("toolchain")
@pytest.mark.parametrize("row", [p for p in ROWS if p.values[0].code not in DIRECT])
def test_traceback_ends_in_the_program(row: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    found = failure(row, monkeypatch)
    files = [frame.filename for frame in found.frames]
    # Nothing of ours between the launch and the end.
    first = files.index(FILE)
    assert set(files[first:]) == {FILE}
    assert "tests" in files[first - 1]
    last = found.frames[-1]
    spans = found.error.findings[0].spans
    if spans:
        assert last.lineno == spans[0].line
    else:
        assert "def kernel" in (last.line or "")


@pytest.mark.usefixtures("toolchain")
@pytest.mark.parametrize("row", ROWS)
def test_spans_are_in_the_source(row: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = row.source.splitlines()
    for finding in failure(row, monkeypatch).error.findings:
        for span in finding.spans:
            assert 0 < span.line <= len(lines)
            assert (span.col or 0) < len(lines[span.line - 1])


def test_every_code_has_a_program() -> None:
    assert sorted({row.code for row in REFUSED + ERRORS}) == sorted(CODES)


def test_every_golden_file_is_used() -> None:
    names = [f"{row.name}.txt" for row in REFUSED + ERRORS]
    assert sorted(set(names)) == sorted(names)
    assert sorted(p.name for p in GOLDEN.iterdir()) == sorted(names)


def test_kinds_follow_the_numbers() -> None:
    kinds = {
        "3": Kind.UNSUPPORTED,
        "4": Kind.SETUP,
        "5": Kind.SETUP,
        "6": Kind.DEVICE,
        "9": Kind.INTERNAL,
    }
    for code, row in CODES.items():
        assert row.kind is kinds.get(code[3], Kind.KERNEL)
        assert re.fullmatch(r"AT0\d{3}", code)
        assert row.explanation.endswith(".")
        assert not row.title.endswith(".")
