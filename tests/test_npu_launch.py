"""Launching through the ACL stand-in: trace, pack, load, launch, copy back; streams; lifetime."""

from __future__ import annotations

import sys
import threading
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import asctrace as asc
from asctrace import npu
from asctrace.runtime import knobs
from asctrace.runtime.acl import device, stream
from asctrace.runtime.compiler import KernelType
from tests.acl_kit import Bodies, Standin, install

#: z = x + scale * n, for each block its part.
SCALED = """
    for (int k = 0; k < args.length; ++k) {
        int64_t at = int64_t(launch->block) * args.length + k;
        args.z[at] = args.x[at] + args.scale * args.length;
    }
"""


class Shape(asc.Struct):
    length = asc.Field(asc.int32)
    scale = asc.Field(asc.float32, default=2.0)


def make_scaled() -> asc.Kernel:
    @asc.jit(backend="npu")
    def scaled(x: asc.GlobalAddress, z: asc.GlobalAddress, length: int, scale: float):
        x_gm, z_gm = asc.GlobalTensor(), asc.GlobalTensor()
        x_gm.set_global_buffer(x)
        z_gm.set_global_buffer(z)
        z_gm.set_value(0, x_gm.get_value(0) + scale * length)

    return scaled


@pytest.fixture
def bodies() -> Bodies:
    made = Bodies()
    made["scaled"] = SCALED
    return made


@pytest.fixture
def standin(monkeypatch: pytest.MonkeyPatch, bodies: Bodies) -> Any:
    for knob in knobs.ALL:
        monkeypatch.delenv(knob.name, raising=False)
    made = install(monkeypatch, bodies)
    yield made
    # Every test gives everything back.
    npu.shutdown()
    assert made.report() == ""
    assert made.injections_left() == 0


@pytest.fixture
def scaled(standin: Standin) -> asc.Kernel:
    return make_scaled()


X = np.arange(32, dtype=np.float32)
WANTED = X + np.float32(1.5 * 8)


# -- host arrays ----------------------------------------------------------------------------------


def test_host_arrays_go_and_come_back(scaled: asc.Kernel, standin: Standin) -> None:
    z = np.zeros_like(X)
    info = scaled[4](X, z, 8, 1.5)
    assert np.array_equal(z, WANTED)
    assert (info.backend, info.blocks, info.findings) == ("npu", 4, ())
    assert scaled.last_run is info
    # x and z go there, z alone comes back; nothing stays.
    assert standin.calls("aclrtMemcpy") == 3
    assert "memory" not in standin.report()


def test_what_is_only_read_need_not_be_writable(scaled: asc.Kernel) -> None:
    x, z = X.copy(), np.zeros_like(X)
    x.flags.writeable = False
    scaled[4](x, z, 8, 1.5)
    assert np.array_equal(z, WANTED)
    with pytest.raises(asc.KernelError, match="`z` of scaled: the kernel writes to it") as caught:
        scaled[4](z, x, 8, 1.5)
    assert caught.value.code == "AT0113"


def test_a_binary_is_loaded_once(scaled: asc.Kernel, standin: Standin, bodies: Bodies) -> None:
    z = np.zeros_like(X)
    for length in (8, 4, 2):
        scaled[4](X, z, length, 1.5)
    assert standin.calls("aclrtBinaryLoadFromFile") == 1
    assert standin.calls("aclrtBinaryGetFunction") == 1
    assert standin.calls("aclrtLaunchKernelWithHostArgs") == 3
    assert standin.calls("aclrtSetDevice") == 1
    assert bodies.compiled == 1


@pytest.mark.parametrize("shift", [0, 4])
def test_arrays_that_overlap_on_the_host_overlap_there(scaled: asc.Kernel, shift: int) -> None:
    memory = np.arange(40, dtype=np.float32)
    x, z = memory[:32], memory[shift : shift + 32]
    wanted = memory.copy()
    for k in range(32):
        wanted[shift + k] = wanted[k] + np.float32(12)
    scaled[4](x, z, 8, 1.5)
    assert np.array_equal(memory, wanted)


def test_empty_and_zero_dimensional_arrays(standin: Standin, bodies: Bodies) -> None:
    @asc.jit(backend="npu")
    def first(x: asc.GlobalAddress, z: asc.GlobalAddress):
        z_gm = asc.GlobalTensor()
        z_gm.set_global_buffer(z)
        z_gm.set_value(0, 7)

    bodies["first"] = "    args.z[0] = args.x ? 7 : 0;"
    z = np.array(0, np.int32)
    first[1](np.zeros((0, 3), np.int32), z)
    assert z == 7
    back = npu.to_device(z)
    assert back.shape == ()
    assert back.to_host() == 7


def test_a_kernel_without_arrays(standin: Standin, bodies: Bodies) -> None:
    @asc.jit(backend="npu")
    def count(n: int):
        pass

    bodies["count"] = '    if (args.n != 3) { launch->say("no 3"); return 507015; }'
    count[2](3)
    npu.synchronize()
    count[2](4)
    with pytest.raises(npu.AclError, match="507015"):
        npu.synchronize()


def test_structs_go_by_value(standin: Standin, bodies: Bodies) -> None:
    @asc.jit(backend="npu")
    def shaped(z: asc.GlobalAddress, flag: bool, shape: Shape, low: int):
        z_gm = asc.GlobalTensor()
        z_gm.set_global_buffer(z)
        z_gm.set_value(0, shape.scale)

    bodies["shaped"] = (
        "    args.z[0] = args.flag ? args.shape.scale * args.shape.length : 0;\n"
        "    args.z[1] = args.low;"
    )
    z, there = np.zeros(2, np.float32), npu.to_device(np.zeros(2, np.float32))
    shaped[1](z, True, Shape(length=5), np.int8(-113))
    assert z.tolist() == [10, -113]
    for _ in range(2):  # the first launch sets up what the fast one needs
        shaped[1](there, True, Shape(length=7), np.int8(-113))
    assert there.to_host().tolist() == [14, -113]


def test_half_and_bfloat16_scalars_on_the_fast_way(standin: Standin, bodies: Bodies) -> None:
    import ml_dtypes

    @asc.jit(backend="npu")
    def bits(z: asc.GlobalAddress, a, b):
        z_gm = asc.GlobalTensor()
        z_gm.set_global_buffer(z)
        z_gm.set_value(0, 1)

    bodies["bits"] = "    args.z[0] = args.a.bits; args.z[1] = args.b.bits;"
    z = npu.to_device(np.zeros(2, np.uint16))
    a, b = np.float16(42), ml_dtypes.bfloat16(-2.5)
    for _ in range(2):
        bits[1](z, a, b)
    assert z.to_host().tolist() == [a.view(np.uint16), np.asarray(b).view(np.uint16)]


def test_c_text_may_write_everything(standin: Standin, bodies: Bodies) -> None:
    @asc.jit(backend="npu")
    def textual(x: asc.GlobalAddress, z: asc.GlobalAddress):
        asc.inline("z[0] = x[0];")

    bodies["textual"] = "    args.z[0] = args.x[0];"
    x, z = np.array([3], np.int32), np.zeros(1, np.int32)
    textual[1](x, z)
    assert z[0] == 3
    assert standin.calls("aclrtMemcpy") == 4


# -- arrays on the device, streams ----------------------------------------------------------------


def test_device_arrays_stay_there(scaled: asc.Kernel, standin: Standin) -> None:
    x, z = npu.to_device(X), npu.empty(32, np.float32)
    copies = standin.calls("aclrtMemcpy")
    for _ in range(3):
        scaled[4](x, z, 8, 1.5)
    assert standin.calls("aclrtMemcpy") == copies
    assert standin.calls("aclrtSynchronizeStream") == 0
    assert repr(z) == "<float32[32] on device 0>"
    assert np.array_equal(z.to_host(), WANTED)
    out = np.zeros(32, np.float32)
    assert z.to_host(out) is out
    with pytest.raises(ValueError, match="out is no C-contiguous"):
        z.to_host(np.zeros(16, np.float32))
    with pytest.raises(ValueError, match=r"float64\[32\] does not fit float32\[32\]"):
        z.copy_from(np.zeros(32))


def test_launches_are_asynchronous(scaled: asc.Kernel, standin: Standin) -> None:
    """The stand-in runs work as late as it may: what is not waited for has not happened."""
    x, z = npu.to_device(X), npu.to_device(np.zeros(32, np.float32))
    scaled[4](x, z, 8, 1.5)
    stale = np.zeros(32, np.float32)
    acl = device.session().acl
    acl.call("aclrtMemcpy", stale.ctypes.data, 128, z.pointer, 128, 2)
    assert not stale.any()
    npu.current_stream().synchronize()
    acl.call("aclrtMemcpy", stale.ctypes.data, 128, z.pointer, 128, 2)
    assert np.array_equal(stale, WANTED)


def test_fast_and_slow_way_pack_the_same(scaled: asc.Kernel, standin: Standin) -> None:
    x, z = npu.to_device(X), npu.empty(32, np.float32)
    scaled[4](x, z, 8, 1.5)
    found, values = scaled.dispatch(4, x, z, 8, 1.5)
    program = found.program["npu"]
    quick = program.quick(values, x.device)
    assert quick == stream_block(program, values)
    assert program.quick((X, z, 8, 1.5), x.device) is None


def stream_block(program: Any, values: Any) -> bytes:
    from asctrace.runtime.packing import pack_block

    addresses = {k: values[k].pointer for k in (0, 1)}
    return pack_block(program.symbol, program.layout, values, addresses)


def test_streams(scaled: asc.Kernel, standin: Standin) -> None:
    x, z = npu.to_device(X), npu.to_device(np.zeros(32, np.float32))
    with npu.Stream() as own:
        assert own.query()
        scaled[4, own](x, z, 8, 1.5)
        assert len(own.pending) == 1
        assert not own.query()
        own.synchronize()
        assert own.query()
        assert not own.pending
        with npu.stream(own):
            assert npu.current_stream() is own
            scaled[4](x, z, 8, 2.5)
        assert len(own.pending) == 1
        assert npu.current_stream() is not own
    assert np.array_equal(z.to_host(), X + 20)


def test_a_foreign_stream_by_its_address(scaled: asc.Kernel, standin: Standin) -> None:
    acl = device.session().acl
    npu.empty(1, np.int8)
    theirs = acl.result("aclrtCreateStream")
    z = np.zeros_like(X)
    scaled[4, theirs](X, z, 8, 1.5)
    assert np.array_equal(z, WANTED)
    wrapped = device.session().device(0).external_stream(theirs)
    wrapped.close()
    acl.call("aclrtDestroyStream", theirs)


def test_events_order_streams_and_take_time(scaled: asc.Kernel, standin: Standin) -> None:
    x, y, z = npu.to_device(X), npu.to_device(X), npu.to_device(X)
    first, second = npu.Stream(), npu.Stream()
    start = first.record()
    scaled[4, first](x, y, 8, 1.5)
    done = first.record()
    assert not done.query()
    second.wait(done)
    scaled[4, second](y, z, 8, 1.5)
    second.synchronize()  # runs the first stream up to the event, and no further
    assert np.array_equal(z.to_host(), WANTED + 12)
    assert done.query()
    assert start.elapsed_ms(done) > 0
    with pytest.raises(npu.AclError, match="wrong way round"):
        done.elapsed_ms(start)
    late = npu.Event()
    late.record(second)
    with pytest.raises(npu.AclError, match="was not recorded yet"):
        start.elapsed_ms(late)
    late.synchronize()
    for one in (start, done, late):
        one.close()


def test_no_stream_at_all(scaled: asc.Kernel) -> None:
    with pytest.raises(asc.KernelError, match="'fast' is no stream") as caught:
        scaled[4, "fast"](X, X.copy(), 8, 1.5)
    assert caught.value.code == "AT0113"


def test_inputs_live_until_they_were_used(scaled: asc.Kernel, standin: Standin) -> None:
    """Memory of dropped arrays is not given away while a launch waits for it."""
    z = npu.to_device(np.zeros(32, np.float32))
    scaled[4](npu.to_device(X), z, 8, 1.5)
    other = npu.to_device(np.full(32, 99, np.float32))  # would get the memory
    assert np.array_equal(z.to_host(), WANTED)
    assert standin.calls("aclrtFree") == 0
    del other
    npu.empty(1, np.int8)
    assert standin.calls("aclrtFree") == 2


def test_host_arrays_that_are_only_read_need_no_waiting(
    scaled: asc.Kernel, standin: Standin
) -> None:
    x, z = X.copy(), npu.to_device(np.zeros(32, np.float32))
    scaled[4](x, z, 8, 1.5)
    assert standin.calls("aclrtSynchronizeStream") == 0
    x[:] = 0  # it was copied
    assert np.array_equal(z.to_host(), WANTED)
    npu.empty(1, np.int8)
    assert standin.calls("aclrtFree") == 1


def test_a_stream_remembers_a_bounded_number(
    scaled: asc.Kernel, standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    from asctrace.runtime import launcher

    monkeypatch.setattr(launcher, "REMEMBERED", 8)
    x, z = npu.to_device(X), npu.to_device(X)
    most = 0
    for _ in range(60):
        scaled[1](x, z, 1, 1.5)
        most = max(most, len(npu.current_stream().pending))
    assert most == 15
    npu.synchronize()
    assert not npu.current_stream().pending
    assert standin.calls("aclrtLaunchKernelWithHostArgs") == 60


def test_dropped_streams_are_destroyed(scaled: asc.Kernel, standin: Standin) -> None:
    z = npu.to_device(X)
    own = npu.Stream()
    scaled[4, own](npu.to_device(X), z, 8, 1.5)
    del own
    npu.empty(1, np.int8)
    assert standin.calls("aclrtDestroyStream") == 1
    assert np.array_equal(z.to_host(), WANTED)


def test_freed_arrays(scaled: asc.Kernel, standin: Standin) -> None:
    x, z = npu.to_device(X), npu.to_device(X)
    scaled[4](x, z, 8, 1.5)
    x.free()
    x.free()
    with pytest.raises(asc.KernelError, match="`x` of scaled: the device array was freed"):
        scaled[4](x, z, 8, 1.5)
    with pytest.raises(ValueError, match="was freed"):
        x.to_host()
    assert "freed" in repr(x)


def test_after_shutdown_everything_starts_again(scaled: asc.Kernel, standin: Standin) -> None:
    old = npu.to_device(X)
    scaled[4](old, old, 8, 1.5)
    npu.shutdown()
    assert standin.report() == ""
    with pytest.raises(asc.KernelError, match=r"as it was before npu\.shutdown"):
        scaled[4](old, old, 8, 1.5)
    z = np.zeros_like(X)
    scaled[4](X, z, 8, 1.5)
    assert np.array_equal(z, WANTED)
    assert standin.calls("aclrtBinaryLoadFromFile") == 2


# -- devices, threads, processes ------------------------------------------------------------------


def test_a_device_is_chosen(scaled: asc.Kernel, standin: Standin) -> None:
    x = npu.to_device(X, device_id=1)
    z = npu.to_device(np.zeros(32, np.float32), device_id=1)
    scaled[4](x, z, 8, 1.5)  # where the arrays are
    assert np.array_equal(z.to_host(), WANTED)
    here = npu.to_device(X)
    with pytest.raises(asc.KernelError, match="x on device 0, z on device 1") as caught:
        scaled[4](here, z, 8, 1.5)
    assert caught.value.code == "AT0113"
    with pytest.raises(asc.KernelError, match="x on device 0, the stream on device 1"):
        scaled[4, npu.Stream(1)](here, here, 8, 1.5)


def test_the_platform_chooses(
    scaled: asc.Kernel, standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCTRACE_DEVICE", "1")
    assert npu.empty(1, np.int8).device_id == 1
    z = np.zeros_like(X)
    scaled[4](X, z, 8, 1.5)
    assert np.array_equal(z, WANTED)
    assert standin.report().count("device 1: set 1\n") == 1
    assert "device 0" not in standin.report()
    asc.set_platform(device_id=7)
    try:
        with pytest.raises(npu.AclError, match="no such device") as caught:
            scaled[4](X, z, 8, 1.5)
    finally:
        asc.set_platform()
    assert caught.value.function == "aclrtSetDevice"
    assert "fewer devices" in str(caught.value)


def test_a_kernel_names_its_device(scaled: asc.Kernel, standin: Standin) -> None:
    z = np.zeros_like(X)
    scaled.on(device_id=1)[4](X, z, 8, 1.5)
    assert np.array_equal(z, WANTED)
    assert "device 0" not in standin.report()
    assert "device 1: set 1" in standin.report()


def test_threads_have_contexts_of_their_own(scaled: asc.Kernel, standin: Standin) -> None:
    results, x = [np.zeros_like(X) for _ in range(4)], npu.to_device(X)
    there = [npu.to_device(np.zeros(32, np.float32)) for _ in range(4)]

    def work(k: int) -> None:
        for _ in range(5):
            scaled[4](X, results[k], 8, 1.5)
            scaled[4](x, there[k], 8, 1.5)
        npu.current_stream().synchronize()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(np.array_equal(z, WANTED) for z in results)
    assert all(np.array_equal(z.to_host(), WANTED) for z in there)
    assert standin.calls("aclrtBinaryLoadFromFile") == 1
    assert standin.calls("aclrtSetDevice") == 5


def test_a_runtime_that_others_started_is_left_running(standin: Standin) -> None:
    standin.cdll.aclInit(None)
    standin.cdll.aclrtSetDevice(0)
    scaled, z = make_scaled(), np.zeros_like(X)
    scaled[4](X, z, 8, 1.5)
    assert np.array_equal(z, WANTED)
    npu.shutdown()
    # Their context was used as it is; both are still theirs.
    assert standin.report() == "device 0: set 1\ninit 2\n"
    standin.cdll.aclrtResetDevice(0)
    standin.cdll.aclFinalize()


def test_another_library_changes_the_device(scaled: asc.Kernel, standin: Standin) -> None:
    x = npu.to_device(X)
    scaled[4](x, x, 8, 1.5)
    standin.cdll.aclrtSetDevice(1)
    scaled[4](x, x, 8, 1.5)
    standin.cdll.aclrtResetDevice(1)
    scaled[4](x, x, 8, 1.5)
    assert np.array_equal(x.to_host(), X + 36)


def test_binaries_that_nobody_has_are_unloaded(standin: Standin, bodies: Bodies) -> None:
    scaled = make_scaled().on(always_compile=True)
    x = npu.to_device(X)
    for _ in range(3):
        scaled[4](x, x, 8, 1.5)
    assert standin.calls("aclrtBinaryUnLoad") == 0  # they have not run
    npu.synchronize()
    npu.empty(1, np.int8)
    assert standin.calls("aclrtBinaryLoadFromFile") == 3
    assert standin.calls("aclrtBinaryUnLoad") >= 2
    assert bodies.compiled == 3
    assert np.array_equal(x.to_host(), X + 36)


def test_a_forked_process_is_told(standin: Standin, monkeypatch: pytest.MonkeyPatch) -> None:
    npu.empty(1, np.int8)
    before = device._session
    monkeypatch.setattr(device, "_forked", False)
    device._after_fork()
    with pytest.raises(asc.KernelError, match="was forked from one that uses the NPU") as caught:
        npu.empty(1, np.int8)
    assert caught.value.code == "AT0604"
    monkeypatch.setattr(device, "_forked", False)
    device._session = before


# -- torch_npu ------------------------------------------------------------------------------------


class Tensor:
    """As much of a torch tensor on an NPU as a launch needs."""

    def __init__(self, array: npu.DeviceArray, contiguous: bool = True) -> None:
        self.array = array
        self.dtype = f"torch.{array.dtype}"
        self.shape = array.shape
        self.device = SimpleNamespace(type="npu", index=array.device_id)
        self.contiguous = contiguous
        self.recorded: list[Any] = []

    def data_ptr(self) -> int:
        return self.array._address()

    def is_contiguous(self) -> bool:
        return self.contiguous

    def record_stream(self, stream: Any) -> None:
        self.recorded.append(stream)


class Place(SimpleNamespace):
    def __str__(self) -> str:
        return f"{self.type}:{self.index}"


Tensor.__module__ = "torch"


class TorchStream:
    """A stream of torch: asking for its handle is what makes torch hand its queue over."""

    def __init__(self, handle: int) -> None:
        self.handle = handle
        self.asked = 0

    @property
    def npu_stream(self) -> int:
        self.asked += 1
        return self.handle


@pytest.fixture
def torch(standin: Standin, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A `torch_npu` whose current stream is one of its own."""
    npu.empty(1, np.int8)
    acl = device.session().acl
    handle = acl.result("aclrtCreateStream")
    module = ModuleType("torch_npu")
    stream = TorchStream(handle)
    module.npu = SimpleNamespace(current_stream=lambda index: stream, stream=stream)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch_npu", module)
    yield stream
    device.session().device(0).external_stream(handle).close()
    acl.call("aclrtDestroyStream", handle)


def tensor(array: Any) -> Tensor:
    made = Tensor(npu.to_device(array))
    made.device = Place(type="npu", index=made.array.device_id)
    return made


def test_torch_tensors_on_torchs_stream(
    scaled: asc.Kernel, standin: Standin, torch: TorchStream
) -> None:
    x, z = tensor(X), tensor(np.zeros(32, np.float32))
    for count in (1, 2, 3):
        scaled[4](x, z, 8, 1.5)
        assert torch.asked == count  # anew at each launch
    # Torch keeps its own memory in order.
    assert not device.session().device(0).streams[torch.handle].pending
    assert not x.recorded
    assert np.array_equal(z.array.to_host(), WANTED)
    assert standin.calls("aclrtSynchronizeStream") == 0
    # The same trace as for host arrays.
    z = np.zeros_like(X)
    scaled[4](X, z, 8, 1.5)
    assert scaled.trace_count == 1


def test_torch_tensors_on_a_chosen_stream(
    scaled: asc.Kernel, standin: Standin, torch: TorchStream
) -> None:
    acl = device.session().acl
    other = TorchStream(acl.result("aclrtCreateStream"))
    x, z = tensor(X), tensor(np.zeros(32, np.float32))
    scaled[4, other](x, z, 8, 1.5)
    assert (torch.asked, other.asked) == (0, 1)
    assert x.recorded == z.recorded == [other]
    assert np.array_equal(z.array.to_host(), WANTED)
    device.session().device(0).external_stream(other.handle).close()
    acl.call("aclrtDestroyStream", other.handle)


def test_a_stream_of_torch_chooses_the_device(
    scaled: asc.Kernel, standin: Standin, torch: TorchStream
) -> None:
    torch.device_index = 1  # type: ignore[attr-defined]
    with pytest.raises(asc.KernelError, match="x on device 0, the stream on device 1"):
        scaled[4, torch](tensor(X), tensor(X), 8, 1.5)
    z = np.zeros_like(X)
    with pytest.raises(npu.AclError, match="the stream belongs to another context"):
        scaled[4, torch](X, z, 8, 1.5)  # the stand-in's stream is of device 0
    torch.device_index = 0  # type: ignore[attr-defined]
    scaled[4, torch](X, z, 8, 1.5)
    assert np.array_equal(z, WANTED)
    # For the fixture's end.
    device.session().device(0).use()


def test_torch_and_host_arrays_together(
    scaled: asc.Kernel, standin: Standin, torch: TorchStream
) -> None:
    z = np.zeros_like(X)
    scaled[4](tensor(X), z, 8, 1.5)
    assert np.array_equal(z, WANTED)
    assert torch.asked == 1


def test_torch_tensors_that_are_refused(scaled: asc.Kernel, torch: TorchStream) -> None:
    x = tensor(X)
    x.contiguous = False
    with pytest.raises(asc.KernelError, match="the tensor is not contiguous"):
        scaled[4](x, x, 8, 1.5)
    x = tensor(X)
    x.dtype = "torch.complex64"
    with pytest.raises(asc.KernelError, match=r"torch\.complex64 has no Ascend C type"):
        scaled[4](x, x, 8, 1.5)


def test_the_simulator_cannot_read_a_device(standin: Standin) -> None:
    on_sim = asc.jit(make_scaled(), backend="sim")
    x = npu.to_device(X)
    with pytest.raises(asc.KernelError, match="`x`: the tensor lives on npu:0, the simulator"):
        on_sim[1](x, x, 8, 1.5)


# -- grids, kinds, chips --------------------------------------------------------------------------


def test_grid_limits(scaled: asc.Kernel, standin: Standin) -> None:
    standin.configure(max_blocks=40)
    x = npu.to_device(np.zeros(41, np.float32))
    scaled[40](x, x, 1, 1.5)
    for args in ((x, x), (np.zeros(41, np.float32),) * 2):
        with pytest.raises(asc.KernelError, match="a grid of 41 blocks is too large") as caught:
            scaled[41](*args, 1, 1.5)
        assert caught.value.code == "AT0108"
        assert "up to 40 blocks" in str(caught.value)
    with pytest.raises(asc.KernelError, match="a grid of 65536 blocks does not exist"):
        scaled[65536](x, x, 1, 1.5)


def test_blocks_that_wait_for_one_another_fit_on_the_chip(standin: Standin, bodies: Bodies) -> None:
    @asc.jit(backend="npu")
    def together(x: asc.GlobalAddress):
        asc.sync_all()

    bodies["together"] = ""
    bodies.kinds["together"] = KernelType.MIX_AIV_1_0
    for x in (X, npu.to_device(X)):
        together[48](x)
        with pytest.raises(asc.KernelError, match="waits for all of its 49 blocks") as caught:
            together[49](x)
        assert caught.value.code == "AT0212"
        assert "Ascend910B1 has 48 cores for them" in str(caught.value)
    assert standin.last_schedule() == 1


def test_mixed_kernels_get_the_sync_address(standin: Standin, bodies: Bodies) -> None:
    @asc.jit(backend="npu")
    def mixed(z: asc.GlobalAddress, n: int):
        z_gm = asc.GlobalTensor()
        z_gm.set_global_buffer(z)
        z_gm.set_value(0, n)

    bodies["mixed"] = "    args.z[0] = reinterpret_cast<int64_t>(args.ffts_addr) + args.n;"
    bodies.kinds["mixed"] = KernelType.MIX_AIC_1_2
    z, there = np.zeros(1, np.int64), npu.to_device(np.zeros(1, np.int64))
    mixed[1](z, 5)
    assert z[0] == standin.sync_address() + 5
    assert standin.last_schedule() == 1  # all blocks at once
    for _ in range(2):
        mixed[1](there, 6)
    assert there.to_host()[0] == standin.sync_address() + 6
    assert standin.calls("aclrtGetHardwareSyncAddr") == 1


def test_plain_kernels_have_no_config(scaled: asc.Kernel, standin: Standin) -> None:
    scaled[4](X, X.copy(), 8, 1.5)
    assert standin.last_schedule() == 0
    assert standin.calls("aclrtGetHardwareSyncAddr") == 0


@pytest.mark.parametrize(
    ("soc", "fits"),
    [("Ascend910B4-1", True), ("Ascend950PR_958b", False), ("AscendNext", True)],
)
def test_a_kernel_for_another_chip(
    scaled: asc.Kernel, standin: Standin, soc: str, fits: bool
) -> None:
    standin.configure(soc=soc)
    z = np.zeros_like(X)
    # Without a choice the kernel would be made for the chip that is there.
    scaled = scaled.on(soc="Ascend910B1")
    if fits:
        scaled[4](X, z, 8, 1.5)
        assert np.array_equal(z, WANTED)
        return
    with pytest.raises(asc.KernelError, match=r"made for Ascend910B1 .* Ascend950PR_958b") as e:
        scaled[4](X, z, 8, 1.5)
    assert e.value.code == "AT0304"


# -- profiling, settings --------------------------------------------------------------------------


def test_profile(scaled: asc.Kernel, standin: Standin) -> None:
    z = np.zeros_like(X)
    times = scaled.profile(4, X, z, 8, 1.5, runs=5, warmup=2)
    assert len(times.times_ms) == 5
    assert 0 < times.best_ms <= times.median_ms
    assert str(times).startswith("scaled on 4 blocks: median ")
    assert standin.calls("aclrtLaunchKernelWithHostArgs") == 7
    assert not z.any()  # nothing comes back
    assert "event" not in standin.report()
    assert "memory" not in standin.report()
    own = npu.Stream()
    assert len(scaled.profile((4, own), X, z, 8, 1.5, runs=1, warmup=0).times_ms) == 1
    with pytest.raises(asc.KernelError, match="runs=0 and warmup=1"):
        scaled.profile(4, X, z, 8, 1.5, runs=0)


def test_the_simulator_has_no_clock(standin: Standin) -> None:
    on_sim = asc.jit(make_scaled(), backend="sim")
    with pytest.raises(asc.KernelError, match="there is no device whose time to take") as caught:
        on_sim.profile(1, X, X.copy(), 8, 1.5)
    assert caught.value.code == "AT0305"


def test_launch_blocking(
    scaled: asc.Kernel, standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCTRACE_LAUNCH_BLOCKING", "1")
    x = npu.to_device(X)
    for count in (1, 2):
        scaled[4](x, x, 8, 1.5)
        assert standin.calls("aclrtSynchronizeStream") == count


def test_waiting_may_be_bounded(
    scaled: asc.Kernel, standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASCTRACE_SYNC_TIMEOUT", "3")
    z = np.zeros_like(X)
    scaled[4](X, z, 8, 1.5)
    assert np.array_equal(z, WANTED)
    assert standin.calls("aclrtSynchronizeStreamWithTimeout") == 1
    assert standin.calls("aclrtSynchronizeStream") == 0


def test_compile_gives_the_binary(scaled: asc.Kernel, bodies: Bodies) -> None:
    made = scaled.compile(X, X, 8, 1.5)
    assert made.backend == "npu"
    assert made.program.symbol == "scaled"
    assert made.program.path.is_file()


def test_memory_info(standin: Standin) -> None:
    standin.configure(memory=1 << 20)
    kept = npu.empty(1000, np.int8)
    assert npu.memory_info() == ((1 << 20) - 1000, 1 << 20)
    assert kept.size == 1000
    assert npu.device_count() == 2


def test_default_streams_are_made_once(scaled: asc.Kernel, standin: Standin) -> None:
    assert npu.current_stream() is npu.current_stream()
    assert isinstance(npu.current_stream(), stream.Stream)
    assert standin.calls("aclrtCreateStream") == 1
    assert standin.calls("aclrtSetStreamFailureMode") == 1
