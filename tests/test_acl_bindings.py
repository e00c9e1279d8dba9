"""The ctypes bindings against a C++ compiler, and the stand-in's own strictness."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import asctrace as asc
from asctrace import npu
from asctrace.runtime import cann, platform
from asctrace.runtime.acl import device, errors, library
from asctrace.runtime.acl.codes import CODES, decode_fault, status
from asctrace.runtime.acl.prototypes import (
    DEVICE_TO_DEVICE,
    DEVICE_TO_HOST,
    FUNCTIONS,
    HOST_TO_DEVICE,
    LaunchAttribute,
    LaunchConfig,
)
from tests.acl_kit import FOLDER, Standin, install, library_path


@pytest.fixture
def standin(monkeypatch: pytest.MonkeyPatch) -> Standin:
    return install(monkeypatch)


# -- the table ------------------------------------------------------------------------------------


def test_prototypes_are_those_of_the_header(tmp_path: Path) -> None:
    """Each row as a function type, compared by the compiler with what `acl.h` declares."""
    lines = ["#include <type_traits>", '#include "acl.h"']
    for row in FUNCTIONS.values():
        types = ", ".join(type for type, _ in row.parameters)
        lines.append(f"static_assert(std::is_same_v<decltype({row.name}), {row.result}({types})>);")
    sizes = {"aclrtLaunchKernelAttr": LaunchAttribute, "aclrtLaunchKernelCfg": LaunchConfig}
    for name, mirror in sizes.items():
        lines.append(f"static_assert(sizeof({name}) == {ctypes.sizeof(mirror)});")
        for field, _ in mirror._fields_:
            offset = getattr(mirror, field).offset
            lines.append(f"static_assert(offsetof({name}, {field}) == {offset});")
    (tmp_path / "check.cpp").write_text("\n".join(lines))
    run = subprocess.run(
        ["g++", "-std=c++17", "-fsyntax-only", f"-I{FOLDER}", "check.cpp"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert run.stderr == ""
    assert len(lines) > 35


def test_the_header_has_nothing_else() -> None:
    text = (FOLDER / "acl.h").read_text()
    assert [name for name in FUNCTIONS if f" {name}(" not in text] == []
    assert text.count(");\n") == len(FUNCTIONS)


def test_every_function_has_a_meaning() -> None:
    for row in FUNCTIONS.values():
        assert row.meaning
        assert not row.meaning.endswith(".")


def test_a_name_outside_the_table_is_no_function(standin: Standin) -> None:
    with pytest.raises(AttributeError, match="aclrtMallocHost is not in the table"):
        _ = device.session().acl.aclrtMallocHost


# -- finding the library --------------------------------------------------------------------------


def test_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ASCTRACE_ACL_LIBRARY", raising=False)
    monkeypatch.setattr(library, "_loaded", None)
    monkeypatch.setattr(device, "_session", None)
    monkeypatch.setattr(cann, "find", lambda: (cann.Cann(None, None), ["looked at /nowhere"]))
    with pytest.raises(asc.KernelError, match="no ACL runtime found") as caught:
        npu.empty(4, np.float32)
    assert caught.value.code == "AT0305"
    assert "looked at /nowhere\n  libacl_rt.so: " in str(caught.value)
    assert npu.device_count() == 0
    monkeypatch.setattr(platform.current, "automatic", None)
    assert platform.backend_name("auto") == "sim"


def test_the_newer_name_of_an_installation_comes_first(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("ASCTRACE_ACL_LIBRARY", raising=False)
    (tmp_path / "lib64").mkdir()
    for name in library.NAMES:
        (tmp_path / "lib64" / name).symlink_to(library_path())
    monkeypatch.setattr(cann, "find", lambda: (cann.Cann(tmp_path, None), []))
    assert library._candidates([]) == [str(tmp_path / "lib64" / "libacl_rt.so")]
    (tmp_path / "lib64" / "libacl_rt.so").unlink()
    assert library._candidates([]) == [str(tmp_path / "lib64" / "libascendcl.so")]


@pytest.mark.parametrize("folder", ["devlib", "stub"])
def test_a_library_for_linking(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folder: str
) -> None:
    (tmp_path / folder).mkdir()
    path = tmp_path / folder / "libacl_rt.so"
    path.write_bytes(library_path().read_bytes())
    monkeypatch.setenv("ASCTRACE_ACL_LIBRARY", str(path))
    monkeypatch.setattr(library, "_loaded", None)
    with pytest.raises(asc.KernelError, match="library for linking, not the runtime") as caught:
        library.load()
    assert caught.value.code == "AT0604"


def test_a_library_that_says_it_is_for_linking(standin: Standin) -> None:
    standin.inject("aclInit", 100039)
    with pytest.raises(npu.AclError, match="a library for linking was loaded") as caught:
        npu.to_device(np.zeros(1))
    assert caught.value.symbol == "ACL_ERROR_COMPILING_STUB_MODE"
    assert "set_env.sh" in caught.value.findings[0].hint


def test_an_incomplete_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "empty.c").write_text("int aclInit(const char* path) { return path != 0; }\n")
    subprocess.run(
        ["gcc", "-shared", "-fPIC", "-o", "liba.so", "empty.c"], cwd=tmp_path, check=True
    )
    monkeypatch.setenv("ASCTRACE_ACL_LIBRARY", str(tmp_path / "liba.so"))
    monkeypatch.setattr(library, "_loaded", None)
    with pytest.raises(asc.KernelError, match="it has no aclFinalize, ") as caught:
        library.load()
    assert caught.value.code == "AT0604"


def test_auto_takes_the_npu_where_there_is_one(standin: Standin) -> None:
    assert platform.backend_name("auto") == "npu"
    assert platform.backend_name("sim") == "sim"
    platform.current.automatic = None
    device.shutdown()
    standin.inject("aclrtGetDeviceCount", 207004)
    assert platform.backend_name("auto") == "sim"


# -- codes ----------------------------------------------------------------------------------------


def test_codes_have_names_and_words() -> None:
    for code, row in CODES.items():
        assert row.code == code
        assert row.symbol.startswith("ACL_ERROR_")
        assert row.meaning
        assert not (row.fault and not row.hint)
    assert len({row.symbol for row in CODES.values()}) == len(CODES)


def test_unknown_code(standin: Standin) -> None:
    assert status(424242).symbol == "unknown code"
    standin.inject("aclrtMalloc", 424242, text="something new")
    with pytest.raises(npu.AclError, match="aclrtMalloc gave 424242") as caught:
        npu.empty(4, np.int8)
    assert "ACL: something new" in str(caught.value)
    assert not caught.value.fault


@pytest.mark.parametrize(
    ("sentence", "cause"),
    [
        ("The DDR address of the MTE instruction is out of range.", "global memory"),
        ("The address for the VEC instruction to read/write UB is out of bounds.", "local buffer"),
        ("The UB address accessed by the VEC instruction is not aligned.", "no multiple of 32"),
        ("The instruction configuration of VEC is illegal.", "outside its limits"),
        ("Something of another chip.", ""),
    ],
)
def test_decoded_fault(sentence: str, cause: str) -> None:
    message = (
        "there is an aivec error exception, core id is 4, error code = 95, mte error info: 0x26\n"
        f"The extend info: errcode:(95) errorStr: {sentence} subErrType: 0x4.\n"
        "Aicore kernel execute failed, stream_id=2, fault kernel_name=vadd_7, program id=3"
    )
    said, kernel, why = decode_fault(message)
    assert said == sentence.rstrip(".")
    assert kernel == "vadd_7"
    assert cause in why
    assert bool(why) == bool(cause)


def test_a_message_without_a_fault() -> None:
    assert decode_fault("") == ("", "", "")
    assert decode_fault("out of memory") == ("", "", "")


def test_replay_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["a b.py", "-n", "1"])
    monkeypatch.setattr(sys, "orig_argv", ["/usr/bin/python3", "a b.py", "-n", "1"])
    assert errors.replay_command() == "ASCTRACE_BACKEND=sim python3 'a b.py' -n 1"
    monkeypatch.setattr(sys, "orig_argv", ["python3"])
    monkeypatch.setattr(sys, "argv", [""])
    assert errors.replay_command() == 'asc.set_platform(backend="sim"), then launch again'


# -- the stand-in ---------------------------------------------------------------------------------


@pytest.fixture
def acl(standin: Standin) -> library.Acl:
    made = library.load()
    made.call("aclInit", None)
    made.call("aclrtSetDevice", 0)
    return made


def refuses(acl: library.Acl, code: int, name: str, *args: Any) -> str:
    with pytest.raises(npu.AclError) as caught:
        acl.call(name, *args)
    assert caught.value.status == code
    return str(caught.value)


def test_device_memory_is_apart(acl: library.Acl) -> None:
    host = np.arange(8, dtype=np.int64)
    address, here = acl.result("aclrtMalloc", 64, 0), host.ctypes.data
    acl.call("aclrtMemcpy", address, 64, here, 64, HOST_TO_DEVICE)
    copies = [
        (here, 64, here, 64, HOST_TO_DEVICE),
        (address, 64, address, 64, HOST_TO_DEVICE),
        (here, 64, here, 64, DEVICE_TO_HOST),
        (address, 64, address, 64, DEVICE_TO_HOST),
        (address, 64, here, 64, DEVICE_TO_DEVICE),
        (address, 64, here, 65, HOST_TO_DEVICE),
        (address, 128, here, 65, HOST_TO_DEVICE),
        (address + 8, 64, here, 64, HOST_TO_DEVICE),
        (address, 64, here, 0, HOST_TO_DEVICE),
    ]
    for copy in copies:
        refuses(acl, 107000, "aclrtMemcpy", *copy)
    back = np.zeros(8, np.int64)
    acl.call("aclrtMemcpy", back.ctypes.data, 64, address, 64, DEVICE_TO_HOST)
    assert np.array_equal(back, host)
    refuses(acl, 107000, "aclrtFree", here)
    refuses(acl, 107000, "aclrtFree", address + 8)
    acl.call("aclrtFree", address)
    refuses(acl, 107000, "aclrtFree", address)


def test_fresh_memory_holds_garbage(acl: library.Acl) -> None:
    address, back = acl.result("aclrtMalloc", 4, 0), np.zeros(4, np.uint8)
    acl.call("aclrtMemcpy", back.ctypes.data, 4, address, 4, DEVICE_TO_HOST)
    assert back.tolist() == [0xA5] * 4


def test_handles_are_checked(acl: library.Acl) -> None:
    stream, event = acl.result("aclrtCreateStream"), acl.result("aclrtCreateEventWithFlag", 8)
    acl.call("aclrtRecordEvent", event, stream)
    refuses(acl, 107017, "aclrtRecordEvent", stream, event)
    acl.call("aclrtDestroyStream", stream)
    refuses(acl, 107017, "aclrtSynchronizeStream", stream)
    refuses(acl, 107017, "aclrtBinaryUnLoad", stream)
    refuses(acl, 107017, "aclrtLaunchKernelWithHostArgs", stream, 1, None, None, b"", 0, None, 0)
    acl.call("aclrtDestroyEvent", event)
    refuses(acl, 107017, "aclrtDestroyEvent", event)


def test_streams_belong_to_a_device(acl: library.Acl) -> None:
    stream = acl.result("aclrtCreateStream")
    acl.call("aclrtSetDevice", 1)
    refuses(acl, 107003, "aclrtSynchronizeStream", stream)
    refuses(acl, 107001, "aclrtSetDevice", 2)


def test_context_is_of_the_thread(acl: library.Acl, standin: Standin) -> None:
    acl.call("aclrtResetDevice", 0)
    refuses(acl, 107002, "aclrtSynchronizeDevice")
    refuses(acl, 107001, "aclrtResetDevice", 0)
    acl.call("aclFinalize")
    refuses(acl, 100001, "aclrtSetDevice", 0)
    refuses(acl, 100037, "aclFinalize")


def test_binaries_need_an_absolute_path(acl: library.Acl, tmp_path: Path) -> None:
    relative = refuses(acl, 107009, "aclrtBinaryLoadFromFile", b"kernel.so", None, None)
    assert "is not absolute" in relative
    missing = str(tmp_path / "kernel.so").encode()
    refuses(acl, 107009, "aclrtBinaryLoadFromFile", missing, None, None)
    (tmp_path / "kernel.so").write_text("nothing")
    refuses(acl, 100003, "aclrtBinaryLoadFromFile", missing, None, None)


def test_report_at_exit(tmp_path: Path) -> None:
    """Of a process that leaves memory behind, and of one that leaves nothing."""
    code = (
        "import ctypes; a = ctypes.CDLL({path!r}); a.aclInit(None); a.aclrtSetDevice(0);"
        "p = ctypes.c_void_p(); a.aclrtMalloc(ctypes.byref(p), ctypes.c_size_t(48), 0);"
    )
    clean = "a.aclrtFree(p); a.aclrtResetDevice(0); a.aclFinalize()"
    report = tmp_path / "report"
    told = []
    for rest in ("", clean):
        subprocess.run(
            [sys.executable, "-c", code.format(path=str(library_path())) + rest],
            env={"ACL_STANDIN_REPORT": str(report)},
            check=True,
        )
        told.append(report.read_text())
    leak, nothing = told
    assert leak.startswith("memory 0x")
    assert leak.endswith(" 48 bytes\ndevice 0: set 1\ninit 1\n")
    assert nothing == "nothing left\n"


def test_failure_by_the_environment() -> None:
    code = (
        f"import ctypes; a = ctypes.CDLL({str(library_path())!r});"
        "print(a.aclInit(None), a.aclInit(None), a.aclInit(None))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={"ACL_STANDIN_FAULT": "aclInit:500000:1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == "0 500000 100002\n"
