"""The binaries on disk: found, whole, shared by processes that come and go."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import asctrace as asc
from asctrace.cli import main
from asctrace.runtime import cache, knobs
from asctrace.runtime.cache import Cache, key_of
from asctrace.runtime.compiler import CompileOptions
from asctrace.runtime.compiler.build import compile_text
from asctrace.tracer.chip import chip
from tests import cache_children
from tests.cann_kit import Cann, origin

ROOT = Path(__file__).resolve().parent.parent
B1 = chip("Ascend910B1")
TEXT = cache_children.text(0)
BIG = 1 << 40
#: Of the processes that are killed.
ROUNDS = 2


@pytest.fixture(autouse=True)
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cann:
    for name in (*(knob.name for knob in knobs.ALL), "ASCEND_TOOLKIT_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    made = Cann(tmp_path / "cann")
    monkeypatch.setenv("ASCEND_HOME_PATH", str(made.home))
    monkeypatch.setenv("ASCTRACE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr(cache, "_private_cache", None)
    return made


def files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


# -- keys ---------------------------------------------------------------------------------------


def test_keys_tell_texts_apart() -> None:
    keys = {key_of(*parts) for parts in [(), ("",), ("", ""), ("ab",), ("a", "b"), ("b", "a")]}
    assert len(keys) == 6
    assert key_of("a", "b") == key_of("a", "b")
    assert all(re.fullmatch("[0-9a-f]{40}", key) for key in keys)


def test_whatever_the_binary_depends_on_is_in_the_key(
    made: Cann, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compiled() -> int:
        return len(made.calls("ld.lld"))

    compile_text(TEXT, B1)
    compile_text(TEXT, B1)
    assert compiled() == 1
    compile_text(TEXT + "\n", B1)
    assert compiled() == 2
    compile_text(TEXT, B1, CompileOptions(opt_level=2))
    assert compiled() == 3
    compile_text(TEXT, B1._replace(name="Ascend910B2"))
    assert compiled() == 4
    monkeypatch.setattr(asc, "__version__", "0.0.0")
    compile_text(TEXT, B1)
    assert compiled() == 5
    monkeypatch.setenv("ASCTRACE_ROUTE", "asc")
    compile_text(TEXT, B1)
    assert compiled() == 6
    os.utime(made.home / "bin" / "bisheng", (1, 1))  # another compiler
    compile_text(TEXT, B1)
    assert compiled() == 7
    (made.home / "version.cfg").write_text("toolkit_running_version=[7.7:8.5.1]\n")
    compile_text(TEXT, B1)
    assert compiled() == 8
    compile_text(TEXT, B1)
    assert compiled() == 8
    compile_text(TEXT, B1, fresh=True)
    assert compiled() == 9


@pytest.mark.parametrize(
    ("text", "options", "times"),
    [
        ("", ("-DX=1", "-mllvm", "-x=y", "-O2"), 1),
        ('#include "lib/matmul.h"\n', (), 1),
        ('#include "/home/me/mine.h"\n', (), 2),
        ("  # include </home/me/mine.h>\n", (), 2),
        ("", ("-I/home/me",), 2),
        ("", ("-I", "/home/me"), 2),
        ("", ("-include", "/home/me/mine.h"), 2),
        ("", ("-isystem/home/me",), 2),
        ("", ("@arguments",), 2),
    ],
)
def test_files_that_may_change_are_not_trusted(
    made: Cann, text: str, options: tuple[str, ...], times: int
) -> None:
    for _ in range(2):
        compile_text(text + TEXT, B1, CompileOptions(bisheng_options=options))
    assert len(made.calls("bisheng")) == times


def test_headers_come_from_cann_alone(made: Cann, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CPATH", "/home/me")
    made.tool("bisheng").write_text('#!/bin/sh\necho "error: CPATH is <$CPATH>"; exit 1\n')
    with pytest.raises(asc.KernelError, match="CPATH is <>"):
        compile_text(TEXT, B1)


# -- entries ------------------------------------------------------------------------------------


def test_entries_are_the_users_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        binary = compile_text(TEXT, B1)
    finally:
        os.umask(before)
    for path in [tmp_path / "cache", *(tmp_path / "cache").rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
    assert files(tmp_path / "cache") == [binary.path]


def test_nothing_in_the_cache_is_a_pickle() -> None:
    for name in ("cache", "compiler/build", "compiler/binary", "compiler/rtc"):
        text = (ROOT / "runtime" / f"{name}.py").read_text()
        assert not re.search(r"\b(pickle|marshal|shelve|eval|exec)\b", text)


@pytest.mark.parametrize("damage", ["torn", "empty", "flipped", "longer"])
def test_damaged_entry_is_compiled_again(made: Cann, damage: str) -> None:
    binary = compile_text(TEXT, B1)
    data = binary.path.read_bytes()
    bad = {
        "torn": data[: len(data) // 2],
        "empty": b"",
        "flipped": data[:99] + bytes([data[99] ^ 1]) + data[100:],
        "longer": data + b"\0",
    }[damage]
    binary.path.write_bytes(bad)
    again = compile_text(TEXT, B1)
    assert len(made.calls("ld.lld")) == 2
    assert again == binary
    assert again.file().read_bytes() == data


@pytest.mark.parametrize("loss", ["removed", "damaged", "cleared"])
def test_a_binary_in_use_outlives_its_entry(made: Cann, tmp_path: Path, loss: str) -> None:
    binary = compile_text(TEXT, B1)
    if loss == "removed":
        binary.path.unlink()
    elif loss == "damaged":
        binary.path.write_bytes(b"x")
    else:
        shutil.rmtree(tmp_path / "cache")
    assert binary.file() == binary.path
    assert binary.path.read_bytes() == binary.data
    assert compile_text(TEXT, B1) == binary
    assert len(made.calls("ld.lld")) == 1
    assert "data" not in repr(binary)


def test_a_binary_in_use_outlives_its_cache(
    made: Cann, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    binary = compile_text(TEXT, B1)
    shutil.rmtree(tmp_path / "cache")
    (tmp_path / "cache").touch()
    with pytest.warns(asc.KernelWarning, match="Not a directory"):
        path = binary.file()
    assert path != binary.path
    assert path.read_bytes() == binary.data


def test_damage_that_cannot_be_removed_is_not_used(made: Cann, tmp_path: Path) -> None:
    found = Cache(tmp_path / "c", BIG)
    entry = found.publish("ab" * 20, b"data")
    wrong = entry.path.with_name(f"{'ab' * 20}-{hashlib.sha256(b'other').hexdigest()}.o")
    wrong.mkdir()
    assert found.find("ab" * 20) == entry
    entry.path.unlink()
    assert found.find("ab" * 20) is None


def test_writers_of_one_key_do_not_disturb_one_another(tmp_path: Path) -> None:
    found = Cache(tmp_path / "c", BIG)
    first, again = found.publish("ab" * 20, b"data"), found.publish("ab" * 20, b"data")
    assert first == again
    other = found.publish("ab" * 20, b"compiled differently")
    assert found.find("ab" * 20) in (first, other)
    assert found.find("cd" * 20) is None
    assert len(files(tmp_path / "c")) == 2


# -- size ---------------------------------------------------------------------------------------


def aged(entry: cache.Entry, seconds: float) -> None:
    then = time.time() - seconds
    os.utime(entry.path, (then, then))


def test_what_was_not_used_for_longest_goes_first(tmp_path: Path) -> None:
    found = Cache(tmp_path / "c", 5000)
    entries = [found.publish(f"{n:040x}", bytes([n]) * 1000) for n in range(5)]
    for age, entry in zip((5000, 1000, 4000, 3000, 2000), entries, strict=True):
        aged(entry, age)
    assert found.find(f"{0:040x}") == entries[0]  # used now
    found.publish("f" * 40, b"n" * 2000)
    left = {entry.path for entry in entries} & set(files(tmp_path / "c"))
    assert left == {entries[n].path for n in (0, 1, 4)}
    assert found.usage().bytes == 5000


def test_what_was_just_used_stays(tmp_path: Path) -> None:
    found = Cache(tmp_path / "c", 1000)
    entries = [found.publish(f"{n:040x}", bytes(900)) for n in range(4)]
    assert all(entry.path.is_file() for entry in entries)
    aged(entries[2], 1000)
    found.evict()
    assert [entry.path.is_file() for entry in entries] == [True, True, False, True]


def test_limit_of_the_settings(made: Cann, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCTRACE_CACHE_LIMIT", "0")
    binary = compile_text(TEXT, B1)
    assert origin(binary.file().read_bytes())["tool"] == "ld.lld"
    assert not (tmp_path / "cache").exists()
    assert compile_text(TEXT, B1) == binary
    monkeypatch.setenv("ASCTRACE_CACHE_LIMIT", "3")
    assert cache.current().limit == 3 << 20


def test_what_killed_processes_left_goes(tmp_path: Path) -> None:
    found = Cache(tmp_path / "c", BIG)
    for name, age in (("run-old", 7 * 3600), ("run-new", 60)):
        path = found.folder / "work" / name
        path.mkdir(parents=True)
        (path / "kernel.cpp").touch()
        os.utime(path, (time.time() - age,) * 2)
    (found.folder / "work" / "new-file").touch()
    os.utime(found.folder / "work" / "new-file", (1, 1))
    found.evict()
    assert [path.name for path in (found.folder / "work").iterdir()] == ["run-new"]


def test_only_the_newest_failures_are_kept(tmp_path: Path) -> None:
    found = Cache(tmp_path / "c", BIG)
    for number in range(40):
        with found.work() as work:
            (work / "kernel.cpp").write_text(str(number))
            os.utime(work, (1000 + number, 1000 + number))
            found.keep_failure(work, f"k{number}", "ab" * 20)
    kept = sorted(int(p.name[1:].partition("-")[0]) for p in (tmp_path / "c" / "failed").iterdir())
    assert kept == list(range(8, 40))


# -- folders that cannot be used ----------------------------------------------------------------


def expect_warning(words: str, made: Cann, compiled: int) -> None:
    with pytest.warns(asc.KernelWarning, match=words) as caught:
        binary = compile_text(TEXT, B1)
    warning: Any = caught[0].message
    assert warning.finding.code == "AT0401"
    assert "ASCTRACE_CACHE_DIR" in warning.finding.hint
    assert origin(binary.file().read_bytes())["tool"] == "ld.lld"
    assert len(made.calls("ld.lld")) == compiled


def test_folder_that_is_a_file(made: Cann, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("ASCTRACE_CACHE_DIR", str(tmp_path / "file" / "cache"))
    expect_warning("Not a directory", made, 1)
    expect_warning("Not a directory", made, 1)  # what this process compiled, it finds


def test_read_only_file_system(made: Cann, monkeypatch: pytest.MonkeyPatch) -> None:
    # /proc takes no folders, from root either.
    monkeypatch.setenv("ASCTRACE_CACHE_DIR", "/proc/asctrace")
    expect_warning("the cache /proc/asctrace cannot be used", made, 1)


def test_read_only_folder(made: Cann, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compile_text(TEXT, B1)
    # Root may write anywhere, so the system's answer is given here.
    access = os.access
    locked = str(tmp_path / "cache")
    monkeypatch.setattr(
        os, "access", lambda path, mode: not str(path).startswith(locked) and access(path, mode)
    )
    expect_warning("it is read-only", made, 2)
    assert len(files(tmp_path / "cache")) == 1


def test_folder_that_others_may_write(made: Cann, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    expect_warning("everybody may write there", made, 1)
    # With the sticky bit, as /tmp has it, others cannot take away what is the user's.
    (tmp_path / "cache").chmod(0o1777)
    compile_text(TEXT, B1)
    assert stat.S_IMODE((tmp_path / "cache" / "objects").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o1777


def test_folder_of_another_user(
    made: Cann, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compile_text(TEXT, B1)
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    expect_warning("objects is not a folder of this user", made, 2)


def test_planted_link_is_not_followed(made: Cann, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "cache" / "objects").symlink_to(tmp_path / "elsewhere")
    expect_warning("objects is not a folder of this user", made, 1)
    assert files(tmp_path / "elsewhere") == []


def full(*_: Any) -> Any:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_disk_full_when_a_binary_is_kept(
    made: Cann, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = os.replace
    locked = str(tmp_path / "cache")
    monkeypatch.setattr(
        os, "replace", lambda a, b: full() if str(b).startswith(locked) else replace(a, b)
    )
    expect_warning("No space left on device", made, 2)
    # Nothing half-written stays.
    assert files(tmp_path / "cache") == []


def test_disk_full_when_the_compiler_runs(made: Cann, tmp_path: Path) -> None:
    # Only where the cache is: the stand-in looks at the folder it runs in.
    made.order(say="error: No space left on device", exit=1, where=str(tmp_path / "cache"))
    expect_warning("the compiler found the disk full", made, 1)


def test_disk_full_everywhere(made: Cann) -> None:
    made.order(say="error: No space left on device", exit=1)
    with (
        pytest.warns(asc.KernelWarning, match="the disk full"),
        pytest.raises(asc.KernelError, match=r"no room to compile in .* either") as caught,
    ):
        compile_text(TEXT, B1)
    assert caught.value.code == "AT0505"


def test_private_cache_goes_with_its_process(tmp_path: Path) -> None:
    code = "import os; from asctrace.runtime import cache; print(cache.current().folder)"
    environment = os.environ | {"ASCTRACE_CACHE_LIMIT": "0"}
    ended = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    folder = Path(ended.stdout.strip())
    assert folder.parent == tmp_path
    assert not folder.exists()


@pytest.mark.parametrize(
    ("given", "xdg", "folder"),
    [
        ("", "", "HOME/.cache/asctrace"),
        ("", "/xdg", "/xdg/asctrace"),
        ("", "relative", "HOME/.cache/asctrace"),
        ("/given", "/xdg", "/given"),
        ("~/mine", "", "HOME/mine"),
    ],
)
def test_default_folder(
    given: str, xdg: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("ASCTRACE_CACHE_DIR", given)
    monkeypatch.setenv("XDG_CACHE_HOME", xdg)
    assert cache.default_folder() == Path(folder.replace("HOME", str(tmp_path)))


# -- processes ----------------------------------------------------------------------------------

SCRIPT = """\
import numpy as np
import asctrace as asc

@asc.jit(backend="npu")
def kernel(x, n, tile: asc.ConstExpr[int]):
    gm = asc.GlobalTensor()
    gm.set_global_buffer(x)
    for i in range(n):
        gm.set_value(i, tile)

x = np.zeros(16, np.int32)
print(*(kernel.compile(x, 3, tile).program.digest for tile in (1, 2)))
"""


def test_a_cold_process_with_a_warm_cache_compiles_nothing(made: Cann, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    digests = []
    for shift in ("", "", "\n\n# moved down\n"):
        script.write_text(shift + SCRIPT)
        ended = subprocess.run(
            [sys.executable, script], capture_output=True, text=True, check=True, cwd=ROOT
        )
        digests.append(ended.stdout)
    assert len(made.calls("bisheng")) == len(made.calls("ld.lld")) == 2
    assert digests == [digests[0]] * 3
    assert len(set(digests[0].split())) == 2


@pytest.mark.parametrize("seed", [1])
def test_killed_processes_leave_no_wrong_binary_and_no_lock(
    made: Cann, tmp_path: Path, seed: int
) -> None:
    made.order(sleep=0.01)
    folder = tmp_path / "cache"
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.cache_children", str(seed), str(ROUNDS)],
        # Processes with threads should not fork, and NumPy's library starts some.
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    print(ended.stdout)
    assert (ended.returncode, ended.stderr) == (0, "")
    killed = [int(n) for n in re.findall(r"(\d+) killed", ended.stdout)]
    assert len(killed) == ROUNDS
    assert sum(killed) > 0  # how many are too slow depends on the machine
    # Every entry is whole, and what the next process finds is right, without a wait.
    objects = files(folder / "objects")
    assert len(objects) == cache_children.TEXTS * ROUNDS
    for path in objects:
        assert hashlib.sha256(path.read_bytes()).hexdigest() == path.stem.partition("-")[2]
    before = len(made.calls())
    for number in range(cache_children.TEXTS * ROUNDS):
        binary = compile_text(cache_children.text(number), B1)
        assert binary.path in objects
        assert origin(binary.file().read_bytes())["tool"] == "ld.lld"
    assert len(made.calls()) == before
    # What killed ones left is swept away once it is old.
    for path in (folder / "work").iterdir():
        os.utime(path, (1, 1))
    Cache(folder, BIG).evict()
    assert files(folder) == objects


# -- the command line ---------------------------------------------------------------------------


def test_info_and_clear(capsys: pytest.CaptureFixture[str], made: Cann, tmp_path: Path) -> None:
    binary = compile_text(TEXT, B1)
    made.order(exit=1)
    with pytest.raises(asc.KernelError):
        compile_text(TEXT + "\n", B1)
    assert main(["cache", "info"]) == 0
    text = capsys.readouterr().out
    size = binary.path.stat().st_size
    for row in (f"folder +{tmp_path}/cache", "binaries +1", f"bytes +{size}", "failures +1"):
        assert re.search(rf"^{row}$", text, re.MULTILINE)
    assert binary.path.is_file()
    assert main(["cache", "clear"]) == 0
    assert re.search(r"^binaries +removed 1$", capsys.readouterr().out, re.MULTILINE)
    assert files(tmp_path / "cache") == []
    made.work()
    assert compile_text(TEXT, B1) == binary


def test_info_of_no_cache(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["cache", "info"]) == 0
    assert re.search(r"^binaries +0$", capsys.readouterr().out, re.MULTILINE)
    assert not (tmp_path / "cache").exists()
    monkeypatch.setenv("ASCTRACE_CACHE_LIMIT", "much")
    assert main(["cache", "info"]) == 1
    assert "ASCTRACE_CACHE_LIMIT='much' is no setting" in capsys.readouterr().err


def test_clear_takes_nothing_else(tmp_path: Path) -> None:
    compile_text(TEXT, B1)
    (tmp_path / "cache" / "notes.txt").write_text("mine")
    main(["cache", "clear"])
    assert [path.name for path in (tmp_path / "cache").iterdir()] == ["notes.txt"]
