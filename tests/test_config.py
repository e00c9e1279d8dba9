"""pyasc's spellings: programs move over by their import lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import asctrace as asc
import asctrace.lib.runtime as rt
import asctrace.runtime.config as config
from asctrace import npu
from asctrace.runtime import knobs, platform
from asctrace.runtime.doctor import examine
from tests.acl_kit import Bodies, Standin, install
from tests.cann_kit import Cann


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in (*(knob.name for knob in knobs.ALL), "ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"):
        monkeypatch.delenv(name, raising=False)
    asc.set_platform()
    yield
    asc.set_platform()


@asc.jit
def add_one(x: asc.GlobalAddress, z: asc.GlobalAddress, block_length: int):
    offset = asc.get_block_idx() * block_length
    x_gm = asc.GlobalTensor()
    x_gm.set_global_buffer(x + offset)
    z_gm = asc.GlobalTensor()
    z_gm.set_global_buffer(z + offset)
    for i in range(block_length):
        z_gm.set_value(i, x_gm.get_value(i) + 1)


def launch(x, blocks=2):
    """As tutorials have it."""
    z = np.zeros_like(x)
    add_one[blocks, rt.current_stream()](x, z, x.size // blocks)
    return z


@pytest.mark.parametrize("backend", [config.Backend.Model, "Model"])
@pytest.mark.parametrize("chip", [None, config.Platform.Ascend910B4, "Ascend910B4"])
def test_a_tutorial(backend, chip) -> None:
    config.set_platform(backend, chip)
    x = np.arange(64, dtype=np.int32)
    assert (launch(x) == x + 1).all()
    assert asc.current_soc() == (knobs.SOC.default if chip is None else "Ascend910B4")
    assert rt.current_stream() is None
    assert rt.is_model()
    rt.synchronize()


def test_names_of_the_command_line() -> None:
    assert list(config.Backend.__members__) == ["Model", "NPU"]
    assert "Ascend910B4-1" in [chip.value for chip in config.Platform]
    for chip in config.Platform:
        config.set_platform("Model", chip)
        assert asc.current_soc() == chip.value.removesuffix("-1")


def test_kernel_types_are_those_of_the_compiler() -> None:
    assert config.KernelType is asc.KernelType
    assert [kind.value for kind in config.KernelType] == list(range(8))
    assert config.KernelType.MIX_AIC_1_2.value == 7


def test_npu_without_cann() -> None:
    with pytest.raises(asc.KernelError) as caught:
        config.set_platform(config.Backend.NPU)
    assert caught.value.code == "AT0305"
    assert platform.current.backend is None
    config.set_platform(config.Backend.NPU, check=False)
    assert platform.current.backend == "npu"


def test_npu_with_cann(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_HOME_PATH", str(Cann(tmp_path / "cann").home))
    config.set_platform("NPU", "Ascend910B3", 3)
    assert (platform.current.backend, platform.current.soc) == ("npu", "Ascend910B3")
    assert platform.device_number(None) == 3


@pytest.mark.parametrize("backend", ["sim", "CPU", None])
def test_unknown_backend(backend) -> None:
    with pytest.raises(ValueError, match="is not a valid Backend"):
        config.set_platform(backend)


# -- with a device ------------------------------------------------------------------------------


@pytest.fixture
def standin(monkeypatch: pytest.MonkeyPatch) -> Iterator[Standin]:
    bodies = Bodies()
    bodies["add_one"] = """
    for (int k = 0; k < args.block_length; ++k) {
        int64_t at = int64_t(launch->block) * args.block_length + k;
        args.z[at] = args.x[at] + 1;
    }
"""
    made = install(monkeypatch, bodies)
    yield made
    npu.shutdown()
    assert made.report() == ""


def test_a_tutorial_on_the_npu(standin: Standin) -> None:
    config.set_platform(config.Backend.NPU, check=False)
    x = np.arange(64, dtype=np.int32)
    assert (launch(x) == x + 1).all()
    assert not rt.is_model()
    assert rt.device_count() > 0
    assert rt.current_stream() is npu.current_stream()
    rt.set_device(1)
    assert (rt.current_device(), platform.current.backend) == (1, "npu")
    assert (launch(x) == x + 1).all()
    rt.synchronize()
    rt.synchronize(rt.current_stream(1))
    assert add_one.last_run is not None
    assert add_one.last_run.backend == "npu"


def test_kernels_are_made_for_the_chip_that_is_there(
    standin: Standin, monkeypatch: pytest.MonkeyPatch
) -> None:
    standin.configure(soc="Ascend910B4-1")
    kernel = asc.jit(add_one.fn)
    x = np.arange(4, dtype=np.int32)
    arguments = x, x, 4

    def made_for() -> str:
        return kernel.trace(*arguments).trace.chip.name

    # 'auto' finds the device.
    assert (made_for(), asc.core_num()) == ("Ascend910B4", 40)
    assert kernel.on(backend="sim").trace(*arguments).trace.chip.name == knobs.SOC.default
    asc.set_platform("sim")
    assert (made_for(), asc.core_num()) == (knobs.SOC.default, 48)
    asc.set_platform("npu")
    assert made_for() == "Ascend910B4"
    asc.set_platform("npu", "Ascend910B3")
    assert made_for() == "Ascend910B3"
    asc.set_platform("npu")
    monkeypatch.setenv("ASCTRACE_SOC", "Ascend910B2")
    assert made_for() == "Ascend910B2"
    monkeypatch.delenv("ASCTRACE_SOC")
    assert made_for() == "Ascend910B4"
    assert rt.current_platform() == "Ascend910B4"


def test_an_unknown_chip_is_no_default(standin: Standin) -> None:
    standin.configure(soc="Ascend777")
    with pytest.raises(asc.KernelError, match="unknown chip 'Ascend777'") as caught:
        asc.jit(add_one.fn, backend="npu").lower(np.zeros(4, np.int32), np.zeros(4, np.int32), 4)
    assert caught.value.code == "AT0304"


def test_doctor_with_devices(standin: Standin) -> None:
    standin.configure(devices=2, soc="Ascend910B4")
    state = examine()
    assert state["devices"] == {"count": 2, "chip": "Ascend910B4", "problem": ""}
    assert state["backend"] == {"wanted": "auto", "used": "npu", "why": "a device was found"}
    assert state["chip"]["name"] == "Ascend910B4"


def test_doctor_with_a_runtime_that_does_not_start(standin: Standin) -> None:
    standin.inject("aclInit", 107001, times=9)
    state = examine()
    assert state["devices"]["problem"] in [row["what"] for row in state["missing"]]
    assert state["backend"]["used"] == "sim"
    standin.reset()


# -- where a launch goes ------------------------------------------------------------------------


def test_number_of_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    assert platform.device_number(None) == 0
    monkeypatch.setenv("ASCTRACE_DEVICE", "2")
    assert platform.device_number(None) == 2
    asc.set_platform(device_id=1)
    assert platform.device_number(None) == 1
    assert platform.device_number(0) == 0


@pytest.mark.parametrize("number", [-1, True, "0", 1.0])
def test_impossible_device(number) -> None:
    with pytest.raises(ValueError, match=f"device_id is {number!r}, not a number from 0 up"):
        asc.set_platform(device_id=number)
    with pytest.raises(ValueError, match=f"device_id is {number!r}, not a number from 0 up"):
        asc.jit(lambda out: None, device_id=number)


def test_a_launch_with_other_options() -> None:
    kernel = asc.jit(add_one, backend="npu")
    x, z = np.arange(4, dtype=np.int32), np.zeros(4, np.int32)
    kernel.on(backend="sim")[1](x, z, 4)
    assert (z == x + 1).all()
    assert kernel.on(backend="sim") is kernel.on(backend="sim")
    assert kernel.on(backend="sim").trace_count == 1
    other = kernel.on(backend="sim", device_id=1, bisheng_options=["-g"])
    assert (other.options.device_id, other.options.bisheng_options) == (1, ("-g",))
    assert other.name == kernel.name
    with pytest.raises(TypeError, match="no option unroll"):
        kernel.on(unroll=1)


def test_a_method_with_other_options() -> None:
    class Adder:
        def __init__(self, step):
            self.step = step

        @asc.jit
        def kernel(self, x):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(x)
            gm.set_value(0, gm.get_value(0) + self.step)

        @asc.jit
        @staticmethod
        def plain(x):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(x)
            gm.set_value(0, 7)

    x = np.zeros(4, np.int32)
    Adder(5).kernel.on(backend="sim")[1](x)
    assert x[0] == 5
    Adder(5).plain.on(backend="sim")[1](x)
    assert x[0] == 7
