"""Every function of the ACL runtime failing once, faults of the device, and what comes after."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import asctrace as asc
from asctrace import npu
from asctrace.runtime import knobs, launcher
from asctrace.runtime.acl.codes import CODES
from asctrace.runtime.acl.library import Acl
from asctrace.runtime.acl.prototypes import FUNCTIONS
from asctrace.runtime.compiler import KernelType
from tests.acl_kit import Bodies, Standin, install

X = np.arange(8, dtype=np.float32)

#: y = 2 x, and a fault where the first element is negative.
DOUBLED = """
    if (args.x[0] < 0) {
        launch->say("errorStr: The UB address accessed by the VEC instruction is not aligned.");
        return 507035;
    }
    for (int k = 0; k < args.n; ++k) args.y[k] = 2 * args.x[k];
"""


def _kernel(name: str) -> asc.Kernel:
    @asc.jit(backend="npu", name=name)
    def kernel(x: asc.GlobalAddress, y: asc.GlobalAddress, n: int):
        x_gm, y_gm = asc.GlobalTensor(), asc.GlobalTensor()
        x_gm.set_global_buffer(x)
        y_gm.set_global_buffer(y)
        y_gm.set_value(0, x_gm.get_value(n))

    return kernel


@pytest.fixture
def standin(monkeypatch: pytest.MonkeyPatch) -> Standin:
    for knob in knobs.ALL:
        monkeypatch.delenv(knob.name, raising=False)
    bodies = Bodies()
    bodies["plain"] = bodies["mixed"] = bodies["other"] = DOUBLED
    bodies.kinds["mixed"] = KernelType.MIX_AIC_1_2
    return install(monkeypatch, bodies)


@pytest.fixture
def plain(standin: Standin) -> asc.Kernel:
    return _kernel("plain")


def everything(plain: asc.Kernel, patch: pytest.MonkeyPatch, results: list[Any]) -> None:
    """Uses every function of the table."""
    assert npu.device_count() == 2
    assert npu.memory_info()[0] > 0
    plain[2](X, results[0], 8)
    _kernel("mixed")[2](X, results[1], 8)
    x, y = npu.to_device(X), npu.empty(8, np.float32)
    plain[2](x, y, 8)
    own, other = npu.Stream(), npu.Stream()
    start = own.record()
    plain[2, own](x, y, 8)
    end = own.record()
    other.wait(end)
    end.synchronize()
    assert end.query()
    assert start.elapsed_ms(end) >= 0
    assert own.query()
    patch.setenv("ASCTRACE_SYNC_TIMEOUT", "2")
    own.synchronize()
    start.close()
    end.close()
    own.close()
    other.close()
    npu.synchronize()
    assert np.array_equal(y.to_host(), 2 * X)
    y.free()
    npu.shutdown()


#: Called where the usual function is missing, or giving a text that may be missing.
APART = ("aclFinalize", "aclGetRecentErrMsg", "aclrtGetSocName")
CHECKED = [name for name in FUNCTIONS if name not in APART]


def test_everything_uses_every_function(
    plain: asc.Kernel, standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = [np.zeros_like(X), np.zeros_like(X)]
    everything(plain, monkeypatch, results)
    assert [name for name in CHECKED if not standin.calls(name)] == []
    assert all(np.array_equal(y, 2 * X) for y in results)
    assert standin.report() == ""


#: Codes that are no failure of a function. Of `aclInit` it says that others have started the
#: runtime, which `test_a_runtime_that_others_started_is_left_running` is about.
HARMLESS = {
    "aclInit": (100002,),
    "aclFinalizeReference": (100037,),
    "aclrtGetCurrentContext": (107002,),
    "aclrtGetDeviceInfo": (207000,),
}


@pytest.mark.parametrize("name", CHECKED)
def test_each_function_fails_with_each_code(
    name: str, plain: asc.Kernel, standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What comes: an error with the right name, nothing left, a device that works or refuses."""
    for code in CODES:
        if code not in HARMLESS.get(name, ()):
            monkeypatch.delenv("ASCTRACE_SYNC_TIMEOUT", raising=False)
            fails(name, code, plain, standin, monkeypatch)
            standin.reset()


def fails(
    name: str, code: int, plain: asc.Kernel, standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = CODES[code]
    results = [np.zeros_like(X), np.zeros_like(X)]
    standin.inject(name, code, text="broken by the test")
    with pytest.raises(npu.AclError) as caught:
        everything(plain, monkeypatch, results)
    assert standin.injections_left() == 0
    error, (finding,) = caught.value, caught.value.findings
    assert (error.function, error.status, error.symbol) == (name, code, row.symbol)
    assert finding.message == f"{name} gave {code} ({row.symbol}): {row.meaning}"
    assert finding.code == ("AT0601" if row.fault else "AT0602")
    assert "ACL: broken by the test" in str(error)
    assert finding.hint
    # A host array has all of the result or nothing of it.
    assert all(np.array_equal(y, 2 * X) or not y.any() for y in results)

    y = np.zeros_like(X)
    before = ("aclInit", "aclrtGetDeviceCount")
    behind = ("aclrtResetDevice", "aclFinalizeReference")
    if row.fault and name not in before + behind:
        with pytest.raises(asc.KernelError) as refused:
            plain[2](X, y, 8)
        assert refused.value.code == "AT0603"
        assert f"the first error was AT0601: {finding.message}" in str(refused.value)
        assert not y.any()
    else:
        plain[2](X, y, 8)
        assert np.array_equal(y, 2 * X)
    npu.shutdown()
    assert standin.report() == ""


@pytest.mark.parametrize("name", ["aclFinalizeReference", "aclrtGetCurrentContext",
                                  "aclrtGetDeviceInfo"])  # fmt: skip
def test_codes_that_are_no_failure(
    name: str, plain: asc.Kernel, standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    (code,) = HARMLESS[name]
    results = [np.zeros_like(X), np.zeros_like(X)]
    standin.inject(name, code)
    everything(plain, monkeypatch, results)
    assert standin.injections_left() == 0
    assert all(np.array_equal(y, 2 * X) for y in results)


@pytest.mark.parametrize("code", [107000, 507015])
@pytest.mark.parametrize("name", CHECKED)
def test_each_call_of_each_function_fails(
    name: str, code: int, plain: asc.Kernel, standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not the first call of the function: each of them in turn."""
    everything(plain, monkeypatch, [np.zeros_like(X), np.zeros_like(X)])
    for skip in range(1, standin.calls(name)):
        monkeypatch.delenv("ASCTRACE_SYNC_TIMEOUT", raising=False)
        standin.reset()
        standin.inject(name, code, skip=skip)
        with pytest.raises(asc.KernelError) as caught:
            everything(plain, monkeypatch, [np.zeros_like(X), np.zeros_like(X)])
        assert f"{name} gave {code}" in str(caught.value), skip
        assert standin.injections_left() == 0
        with suppress(asc.KernelError):
            npu.shutdown()
        assert standin.report() == "", skip
        y = np.zeros_like(X)
        plain[2](X, y, 8)
        assert np.array_equal(y, 2 * X)
        npu.shutdown()


@pytest.mark.parametrize("skip", [1, 2, 3])
@pytest.mark.parametrize("name", ["aclrtMalloc", "aclrtMemcpy"])
def test_host_arrays_do_not_change_by_halves(name: str, skip: int, standin: Standin) -> None:
    """A kernel that writes two host arrays: both come back, or none."""

    @asc.jit(backend="npu", name="other")
    def other(x: asc.GlobalAddress, y: asc.GlobalAddress, n: int):
        for address in (x, y):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(address)
            gm.set_value(n, 1)

    x, y = X.copy(), np.zeros_like(X)
    standin.inject(name, 507899 if skip == 3 else 107000, skip=skip)
    if name == "aclrtMalloc" and skip > 1:
        other[1](x, y, 8)  # it allocates twice
        assert np.array_equal(y, 2 * X)
        return
    with pytest.raises(npu.AclError, match=f"{name} gave"):
        other[1](x, y, 8)
    assert np.array_equal(x, X)
    assert not y.any()
    npu.shutdown()
    assert standin.report() == ""


def test_texts_may_be_missing(plain: asc.Kernel, standin: Standin) -> None:
    standin.inject("aclrtGetSocName", 1)
    standin.inject("aclGetRecentErrMsg", 0)
    y = np.zeros_like(X)
    plain[2](X, y, 8)
    assert np.array_equal(y, 2 * X)
    standin.inject("aclrtMalloc", 207001, text="")
    with pytest.raises(npu.AclError) as caught:
        npu.empty(8, np.float32)
    assert "ACL:" not in str(caught.value)


def test_an_older_runtime(
    plain: asc.Kernel, standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the functions that an older CANN lacks."""
    has = Acl.has
    monkeypatch.setattr(Acl, "has", lambda self, n: not FUNCTIONS[n].optional and has(self, n))
    results = [np.zeros_like(X), np.zeros_like(X)]
    everything(plain, monkeypatch, results)
    optional = [name for name, row in FUNCTIONS.items() if row.optional]
    assert len(optional) == 3
    assert [standin.calls(name) for name in optional] == [0, 0, 0]
    assert standin.calls("aclFinalize") == 1
    assert standin.report() == ""
    for code in CODES:
        y = np.zeros_like(X)
        plain[2](X, y, 8)
        assert np.array_equal(y, 2 * X)
        standin.inject("aclFinalize", code)
        if code == 100037:  # others have stopped it
            npu.shutdown()
        else:
            with pytest.raises(npu.AclError, match=f"aclFinalize gave {code}"):
                npu.shutdown()
            assert standin.report() == ""
        standin.reset()


def test_out_of_memory_tells_how_much_there_is(standin: Standin) -> None:
    standin.configure(memory=1000)
    kept = npu.empty(600, np.int8)
    with pytest.raises(npu.AclError, match="out of device memory") as caught:
        npu.empty(600, np.int8)
    assert "600 bytes were asked for; 400 of the device's 1000 are free" in str(caught.value)
    del kept
    assert npu.empty(600, np.int8).size == 600  # what nobody has is freed first
    standin.inject("aclrtMalloc", 207001)
    standin.inject("aclrtGetMemInfo", 107000)
    with pytest.raises(npu.AclError, match="aclrtMalloc gave 207001"):
        npu.empty(1, np.int8)


# -- faults of kernels ----------------------------------------------------------------------------


def test_the_first_fault_is_told_and_repeated(plain: asc.Kernel, standin: Standin) -> None:
    x, y = -1 - X, np.zeros_like(X)
    with pytest.raises(npu.AclError) as caught:
        plain[3](x, y, 8)
    text = str(caught.value)
    assert text.startswith("error AT0601: aclrtSynchronizeStream gave 507035 (ACL_ERROR_RT_VECTOR_")
    for part in (
        "while waiting for plain on 3 blocks",
        "the device says: The UB address accessed by the VEC instruction is not aligned\n",
        "likely cause: an address or a length that is no multiple of 32 bytes",
        "x           __gm__ float*  float32[8] of the host",
        "n           int32_t        8",
        "ACL: core 0 stopped, fault kernel_name=plain",
        "ASCTRACE_BACKEND=sim ",
    ):
        assert part in text
    assert not y.any()
    for again in range(2):
        with pytest.raises(asc.KernelError) as refused:
            plain[3](X, y, 8)
        assert refused.value.code == "AT0603", again
        assert "the first error was AT0601: aclrtSynchronizeStream gave 507035" in str(
            refused.value
        )
    for use in (npu.synchronize, lambda: npu.to_device(X), npu.memory_info):
        with pytest.raises(asc.KernelError, match="takes no more work"):
            use()
    # Another device is not concerned.
    there = npu.to_device(X, device_id=1)
    plain[1](there, there, 8)
    assert np.array_equal(there.to_host(), 2 * X)
    npu.shutdown()
    assert standin.report() == ""
    plain[1](X, y, 8)
    assert np.array_equal(y, 2 * X)


def test_a_late_fault_names_the_launch_it_comes_from(plain: asc.Kernel, standin: Standin) -> None:
    good, bad, y = npu.to_device(X), npu.to_device(-1 - X), npu.empty(8, np.float32)
    other = _kernel("other")
    plain[1](good, y, 8)
    other[2](bad, y, 8)
    plain[1](good, y, 7)
    with pytest.raises(npu.AclError) as caught:
        npu.current_stream().synchronize()
    text = str(caught.value)
    assert "while waiting for other on 2 blocks, or another of 3 launches" in text
    assert "ASCTRACE_LAUNCH_BLOCKING=1" in text
    assert "float32[8] on npu:0" in text
    # The fast way refuses too.
    with pytest.raises(asc.KernelError, match="takes no more work"):
        plain[1](good, y, 8)


def test_a_fault_that_another_call_finds(plain: asc.Kernel, standin: Standin) -> None:
    bad = npu.to_device(-1 - X)
    plain[1](bad, bad, 8)
    with pytest.raises(npu.AclError, match="aclrtSynchronizeDevice gave 507035") as caught:
        bad.to_host()
    assert caught.value.fault
    assert "while waiting for plain on 1 block\n" in str(caught.value)
    with pytest.raises(asc.KernelError, match=r"the first error was .*aclrtSynchronizeDevice"):
        bad.to_host()


def test_a_fault_while_a_full_stream_is_waited_for(
    plain: asc.Kernel, standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "REMEMBERED", 4)
    good, bad = npu.to_device(X), npu.to_device(-1 - X)
    plain[3](bad, bad, 8)
    for _ in range(6):
        plain[1](good, good, 8)
    with pytest.raises(npu.AclError, match="aclrtSynchronizeEvent gave 507035") as caught:
        plain[1](good, good, 8)
    assert "or another of 8 launches" in str(caught.value)


def test_blocking_launches_find_the_fault_at_once(
    plain: asc.Kernel, standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCTRACE_LAUNCH_BLOCKING", "1")
    good, bad = npu.to_device(X), npu.to_device(-1 - X)
    plain[1](good, good, 8)
    with pytest.raises(npu.AclError, match="while waiting for plain on 1 block\n"):
        plain[1](bad, good, 8)


def test_a_kernel_that_hangs(
    plain: asc.Kernel, standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCTRACE_SYNC_TIMEOUT", "1")
    standin.inject("aclrtSynchronizeStreamWithTimeout", 507046)
    x, y = X.copy(), np.zeros_like(X)
    with pytest.raises(npu.AclError, match="the stream took too long") as caught:
        plain[1](x, y, 8)
    assert "the kernel waits for what never comes" in str(caught.value)
    # The kernel may still be writing there.
    assert standin.calls("aclrtFree") == 0
    npu.shutdown()
    assert standin.report() == ""


def test_writes_behind_an_array_are_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    bodies = Bodies()
    bodies["plain"] = "    args.y[args.n] = 1;"
    install(monkeypatch, bodies)
    y = np.zeros_like(X)
    with pytest.raises(npu.AclError, match="The DDR address of the MTE instruction is out of"):
        _kernel("plain")[1](X, y, 8)


def test_profile_of_a_kernel_that_fails(plain: asc.Kernel, standin: Standin) -> None:
    standin.inject("aclrtRecordEvent", 107000, skip=2)
    y = np.zeros_like(X)
    with pytest.raises(npu.AclError, match="aclrtRecordEvent"):
        plain.profile(2, X, y, 8, runs=4)
    npu.synchronize()
    plain[2](X, y, 8)
    assert np.array_equal(y, 2 * X)
    npu.shutdown()
    assert standin.report() == ""
