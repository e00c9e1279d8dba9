"""The table of chips, and the rules whose limits depend on the chip."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import asctrace as asc
from asctrace.lowering.checks import check
from asctrace.tracer.chip import CHIPS, Chip, chip

POSITION = asc.TPosition
#: A chip of each architecture, and the bytes of UB, L1, L0C, bias table and fixpipe buffer.
KB = 1024
SIZES = {
    "Ascend910A": (256 * KB, 1024 * KB, 256 * KB, 0, 0),
    "Ascend310P3": (256 * KB, 1024 * KB, 256 * KB, 0, 0),
    "Ascend910B1": (192 * KB, 512 * KB, 128 * KB, 1 * KB, 2 * KB),
    "Ascend310B1": (248 * KB, 1024 * KB, 128 * KB, 1 * KB, 2 * KB),
    "Ascend950PR_958b": (248 * KB, 512 * KB, 256 * KB, 4 * KB, 4 * KB),
}
ARCHS = {"Ascend910A": "1001", "Ascend310P3": "2002", "Ascend910B1": "2201",
         "Ascend310B1": "3002", "Ascend950PR_958b": "3510"}  # fmt: skip


def test_sizes() -> None:
    for name, sizes in SIZES.items():
        memory = chip(name).memory
        assert tuple(memory.get(m, 0) for m in ("UB", "L1", "L0C", "BT", "FB")) == sizes
        assert memory["L0A"] == memory["L0B"] == 64 * KB
        assert chip(name).arch == ARCHS[name]
        assert 0 not in memory.values()
    assert {c.arch for c in CHIPS.values()} == set(ARCHS.values())


def test_names() -> None:
    assert chip("Ascend910B4-1") is chip("ascend910b4") is chip(" Ascend910B4 ")
    with pytest.raises(asc.KernelError, match="unknown chip 'Ascend1'") as caught:
        chip("Ascend1")
    (found,) = caught.value.findings
    assert found.code == "AT0304"
    assert all(c.name in found.hint for c in CHIPS.values())


def vadd(x: asc.GlobalAddress, z: asc.GlobalAddress):
    x_gm, z_gm = asc.GlobalTensor(), asc.GlobalTensor()
    x_gm.set_global_buffer(x)
    z_gm.set_global_buffer(z)
    for i in asc.range(4):
        t = asc.LocalTensorAuto(x.dtype, 64)
        asc.data_copy(t, x_gm[i * 64 :], 64)
        asc.add(t, t, t, 64)
        asc.data_copy(z_gm[i * 64 :], t, 64)


@pytest.mark.parametrize("name", [c.name for c in CHIPS.values()])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int32])
def test_a_kernel_on_each_chip(name: str, dtype: Any) -> None:
    x = np.arange(256).astype(dtype)
    z = np.zeros_like(x)
    kernel = asc.jit(vadd, soc=name)
    kernel[1](x, z)
    np.testing.assert_array_equal(z, x + x)
    assert f", {name}." in kernel.lower(x, z).source.split("\n")[0]


# -- limits ---------------------------------------------------------------------------------------


def tensors(count: int) -> Any:
    def kernel(x: asc.GlobalAddress):
        pipe = asc.TPipe()
        held = []
        for _ in range(count):
            queue = asc.TQue(POSITION.VECIN, 1)
            pipe.init_buffer(queue, 1, 64)
            held.append((queue, queue.alloc_tensor(x.dtype)))
        other = asc.TQue(POSITION.VECOUT, 1)
        pipe.init_buffer(other, 1, 64)
        other.free_tensor(other.alloc_tensor(x.dtype))
        for queue, tensor in held:
            queue.free_tensor(tensor)

    return kernel


X = np.zeros(64, np.float32)


def both(kernel: Any) -> tuple[list[Any], list[Any]]:
    """What the checks find, and what a run without them ends with."""
    trace = kernel.trace(X).trace
    found = check(trace)
    ran: list[Any] = []
    from asctrace.runtime.simulator import compile_trace, simulate

    try:
        simulate(compile_trace(trace), (X.copy(),), 1)
    except asc.KernelError as problem:
        ran = problem.findings
    return found, ran


@pytest.mark.parametrize(("name", "limit"), [("Ascend910A", 4), ("Ascend910B1", 8),
                                             ("Ascend310P3", 8), ("Ascend310B1", 8)])  # fmt: skip
def test_tensors_on_a_position(name: str, limit: int) -> None:
    assert both(asc.jit(tensors(limit), soc=name)) == ([], [])
    found, ran = both(asc.jit(tensors(limit + 1), soc=name))
    assert [f.code for f in found] == ["AT0108"]
    assert [(f.code, f.message, f.spans) for f in ran] == [
        (f.code, f.message, f.spans) for f in found
    ]
    assert found[0].message == (
        f"{limit + 1} tensors are allocated at VECIN at once, {limit} is the limit"
    )


@pytest.mark.parametrize(("name", "limit"), [("Ascend910A", 4), ("Ascend910B1", 8)])
def test_event_ids(name: str, limit: int) -> None:
    def kernel(x: asc.GlobalAddress, event_id: asc.ConstExpr[int]):
        asc.set_flag(asc.HardEvent.MTE2_V, event_id)
        asc.wait_flag(asc.HardEvent.MTE2_V, event_id)

    def at_run_time(x: asc.GlobalAddress, event_id: int):
        asc.set_flag(asc.HardEvent.MTE2_V, event_id)
        asc.wait_flag(asc.HardEvent.MTE2_V, event_id)

    for fn in (kernel, at_run_time):
        launch = asc.jit(fn, soc=name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", asc.KernelWarning)  # the next test
            launch[1](X.copy(), limit - 1)
        with pytest.raises(asc.KernelError, match=f"event id {limit} does not exist") as caught:
            launch[1](X.copy(), limit)
        assert caught.value.code == "AT0108"
        assert caught.value.findings[0].hint == f"{name} has the event ids 0 to {limit - 1}"


@pytest.mark.parametrize(
    ("name", "own"),
    [("Ascend910A", 4), ("Ascend310P3", 8), ("Ascend910B1", 6), ("Ascend310B1", 6),
     ("Ascend950PR_958b", 6)],
)  # fmt: skip
def test_ids_of_the_system(name: str, own: int) -> None:
    """The last ids of an event are better left alone, unless a pipe gives them."""

    def kernel(x: asc.GlobalAddress, event_id: asc.ConstExpr[int]):
        for _ in asc.static_range(2):
            asc.set_flag(asc.HardEvent.MTE2_V, event_id)
            asc.wait_flag(asc.HardEvent.MTE2_V, event_id)

    launch = asc.jit(kernel, soc=name)
    assert check(launch.trace(X, own - 1).trace) == []
    if own < chip(name).event_ids:
        (found,) = check(launch.trace(X, own).trace)
        assert (found.code, found.severity) == ("AT0204", "warning")
        assert found.message == (
            f"set_flag(MTE2_V, {own}): the system may use the event ids from {own} on"
        )
        assert found.hint == f"an id from 0 to {own - 1}, or one of pipe.alloc_event_id(event)"
        first = kernel.__code__.co_firstlineno
        assert [span.line - first for span in found.spans] == [2]


def test_ids_that_a_pipe_gives() -> None:
    def kernel(x: asc.GlobalAddress, count: asc.ConstExpr[int]):
        pipe = asc.TPipe()
        ids = [pipe.alloc_event_id(asc.HardEvent.V_S) for _ in range(count)]
        for event_id in ids:
            pipe.release_event_id(event_id, asc.HardEvent.V_S)

    launch = asc.jit(kernel, soc="Ascend910A")
    launch[1](X.copy(), 4)
    with pytest.raises(asc.KernelError, match="all 4 ids of V_S are taken") as caught:
        launch[1](X.copy(), 5)
    assert caught.value.code == "AT0204"


def buffer(length: int) -> Any:
    def kernel(x: asc.GlobalAddress):
        buf = asc.TBuf(POSITION.VECCALC)
        asc.TPipe().init_buffer(buf, length)
        buf.get(x.dtype).set_value(0, 1.0)

    return kernel


@pytest.mark.parametrize("name", SIZES)
def test_budget(name: str) -> None:
    """All of UB may be taken, with a warning where functions need the end of it; no more."""
    size = SIZES[name][0]
    found, ran = both(asc.jit(buffer(size), soc=name))
    assert ran == []
    if name == "Ascend950PR_958b":
        assert found == []
    else:
        assert [(f.code, f.severity, f.hint) for f in found] == [
            ("AT0104", "warning", f"stay within {size - 8 * KB} bytes"),
        ]
        assert both(asc.jit(buffer(size - 8 * KB), soc=name)) == ([], [])
    found, ran = both(asc.jit(buffer(size + 32), soc=name))
    assert [(f.code, f.severity) for f in found] == [("AT0104", "error")]
    assert f"take {size + 32} bytes, {name} has {size}" in found[0].message
    assert [f.code for f in ran] == ["AT0104"]


_MAKERS = {
    "TBuf": lambda: asc.TBuf(POSITION.C2),
    "TQue": lambda: asc.TQue(POSITION.C2, 1),
    "TQueBind": lambda: asc.TQueBind(POSITION.C1, POSITION.C2, 1),
    "LocalTensor": lambda: asc.LocalTensor(asc.float32, POSITION.C2, 0, 64),
    "LocalMemAllocator": lambda: asc.LocalMemAllocator(asc.Hardware.BIAS),
}


@pytest.mark.parametrize("what", _MAKERS)
def test_memories_that_a_chip_does_not_have(what: str) -> None:
    make = _MAKERS[what]

    def kernel(x: asc.GlobalAddress):
        make()

    asc.jit(kernel).trace(X)
    with pytest.raises(asc.KernelError) as caught:
        asc.jit(kernel, soc="Ascend310P3").trace(X)
    (found,) = caught.value.findings
    assert found.code == "AT0304"
    assert found.message.startswith(f"a {what} at ")
    assert found.message.endswith(": Ascend310P3 has no bias table")
    assert found.hint == "Ascend310P3 has UB, L1, L0A, L0B, L0C"


def test_usable_l1() -> None:
    def kernel(x: asc.GlobalAddress):
        gm = asc.GlobalTensor()
        gm.set_global_buffer(x)
        gm.set_value(0, asc.property(asc.TOTAL_L1_SIZE))
        gm.set_value(1, asc.property(asc.TOTAL_L0C_SIZE))

    def of(found: Chip) -> list[float]:
        x = np.zeros(64, np.float32)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            asc.jit(kernel, soc=found.name)[1](x)
        return x[:2].tolist()

    assert of(chip("Ascend910B1")) == [512 * KB - 256, 128 * KB]
    assert of(chip("Ascend910A")) == [1024 * KB, 256 * KB]
    assert of(chip("Ascend950PR_958b")) == [512 * KB, 256 * KB]


def test_events_of_automatic_tensors() -> None:
    """Half of the ids of each event, on a chip with few."""

    def kernel(x: asc.GlobalAddress, z: asc.GlobalAddress):
        x_gm, z_gm = asc.GlobalTensor(), asc.GlobalTensor()
        x_gm.set_global_buffer(x)
        z_gm.set_global_buffer(z)
        for i in asc.static_range(6):
            t = asc.LocalTensorAuto(x.dtype, 32)
            asc.data_copy(t, x_gm[i * 32 :], 32)
            asc.add(t, t, t, 32)
            asc.data_copy(z_gm[i * 32 :], t, 32)

    x = np.arange(6 * 32, dtype=np.float32)
    z = np.zeros_like(x)
    launch = asc.jit(kernel, soc="Ascend910A")
    assert launch.lower(x, z).source.count("AllocEventID<AscendC::HardEvent::MTE2_V>") == 2
    launch[1](x, z)
    np.testing.assert_array_equal(z, 2 * x)
