"""One call, three ways: the simulator, the text run on the host, the `npu` path on stand-ins.

All have to leave the same bytes: every sample, a kernel for each family of operations, and random
control flow. `pytest --npu` does the same behind all simulations of a run.
"""

from __future__ import annotations

import contextlib
import io
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import asctrace as asc
from asctrace import npu
from asctrace.runtime import devices
from asctrace.runtime.compiler import KernelType, traces
from asctrace.tracer.chip import Chip, chip
from asctrace.tracer.diagnostics import KernelError
from asctrace.tracer.ops.functions import load_all
from asctrace.tracer.ops.spec import TABLE
from asctrace.tracer.trace import Op
from tests.differential import run_examples
from tests.test_list_tensor import SIZE, each, packed
from tests.three_ways_kernels import BLOCKS, BODIES, Body, arguments, through
from tests.twin import compare
from tests.twin import npu as npu_path
from tests.twin.build import run_trace
from tests.twin.device import HostCann, standins

SAMPLES = Path(__file__).resolve().parent.parent / "samples"
#: Modules that samples share.
NO_SAMPLES = frozenset({"row_tiles", "sample_main", "vector_add"})
NAMES = sorted({path.stem for path in SAMPLES.glob("*.py")} - NO_SAMPLES)


# -- samples --------------------------------------------------------------------------------------


class Launches:
    """The launches of a program: kernel, blocks, and the bytes that its arrays have then."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, int, list[bytes]]] = []
        self.chips: list[Chip] = []

    def watch(self, patch: pytest.MonkeyPatch, backend: str) -> None:
        """Note the launches of a device from now on."""
        target = devices.device(backend)
        launch = target.launch

        def noting(program: Any, args: Any, blocks: int, *rest: Any) -> Any:
            info = launch(program, args, blocks, *rest)
            left = [arg.tobytes() for arg in args if isinstance(arg, np.ndarray)]
            self.seen.append((program.trace.name, blocks, left))
            self.chips.append(program.trace.chip)
            return info

        patch.setitem(target.__dict__, "launch", noting)


@pytest.fixture
def sample(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Runs a sample as a program."""
    monkeypatch.syspath_prepend(str(SAMPLES))
    # Their kernels are made anew for each run, those of shared modules too.
    kept = set(sys.modules)

    def run(name: str, backend: str) -> Launches:
        for module in set(sys.modules) - kept:
            if module in NO_SAMPLES:
                del sys.modules[module]
        ran = Launches()
        with pytest.MonkeyPatch.context() as patch:
            ran.watch(patch, backend)
            patch.setenv("ASCTRACE_BACKEND", backend)
            patch.setattr(sys, "argv", [f"{name}.py"])
            with contextlib.redirect_stdout(io.StringIO()), pytest.raises(SystemExit) as ended:
                runpy.run_path(str(SAMPLES / f"{name}.py"), run_name="__main__")
        # A sample compares its result with NumPy's.
        assert not ended.value.code
        return ran

    return run


@pytest.mark.parametrize("name", NAMES)
def test_samples(name: str, sample: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    before = compare.COUNTS["compared"]
    monkeypatch.setattr(compare.simulator, "simulate", compare.simulate)
    monkeypatch.setattr(compare, "_pending", None)
    simulated = sample(name, "sim")
    assert compare.COUNTS["compared"] == before + len(simulated.seen)
    with standins(simulated.chips[0]) as (standin, host):
        launched = sample(name, "npu")
        assert host.launches == len(launched.seen) > 0
        assert standin.calls("aclrtLaunchKernelWithHostArgs") == host.launches
    assert launched.seen == simulated.seen


# -- families of operations -----------------------------------------------------------------------


#: Families that no body is of, and why.
ELSEWHERE = {
    **dict.fromkeys(("construct", "framework", "copies", "sync"), "every body has them around it"),
    "struct": "test_arguments_of_every_kind",
    "inline": "the simulator does not run C++ text",
    "list_tensor": "test_lists_of_tensors",
}


def test_every_family_is_named() -> None:
    load_all()
    families = {spec.family for spec in TABLE.values()}
    assert {body.family for body in BODIES} == families - ELSEWHERE.keys()


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.family)
def test_families(body: Body, monkeypatch: pytest.MonkeyPatch) -> None:
    """By way of the front door: `kernel[blocks](...)` with another backend."""
    monkeypatch.setattr(compare.simulator, "simulate", compare.simulate)
    monkeypatch.setattr(compare, "_pending", None)
    kernel = through.on(soc=body.soc)
    simulated, launched = arguments(), arguments()
    kernel.on(backend="sim")[BLOCKS](*simulated, body.function)
    trace = kernel.trace(*simulated, body.function).trace
    assert body.family in {node.spec.family for node in trace.walk() if isinstance(node, Op)}
    assert npu_path.left_out(trace) is None
    with standins(trace.chip):
        kernel.on(backend="npu")[BLOCKS](*launched, body.function)
    compare.same(trace, simulated, launched, "the npu path")
    untouched = arguments()
    assert any(a.tobytes() != b.tobytes() for a, b in zip(simulated, untouched, strict=True))


def test_lists_of_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Addresses that arrays hold are those on the device, for the launch there."""
    monkeypatch.setattr(npu_path.simulator, "simulate", npu_path.simulate)
    before = npu_path.COUNTS["compared"]
    x, y = np.arange(SIZE, dtype=np.float32), np.ones(SIZE, np.float32)
    data = packed([y, x], [()])
    asc.jit(each)[1](data, x, y, False)
    assert y.tolist() == [2] * SIZE
    assert npu_path.COUNTS["compared"] == before + 1


def test_random_control_flow() -> None:
    assert run_examples("npu", 5, 20261129) == 5


# -- the way through the compiler, the launch, the device -----------------------------------------

ADD = next(body.function for body in BODIES if body.family == "vec_binary")


def simulated() -> list[Any]:
    left = arguments()
    through.on(backend="sim")[BLOCKS](*left, ADD)
    return left


def same(left: list[Any], right: list[Any]) -> bool:
    return all(a.tobytes() == b.tobytes() for a, b in zip(left, right, strict=True))


def words(cann: HostCann, tool: str) -> list[str]:
    return [" ".join(argv) for argv in cann.calls(tool)]


def test_the_compiler_runs_once(tmp_path: Path) -> None:
    """Once for a text: the second time the cache on disk has it."""
    cann = HostCann(tmp_path / "cann")
    for _ in range(2):
        kernel, left = asc.jit(through, backend="npu", soc="Ascend910B1"), arguments()
        with standins(chip("Ascend910B1"), cann.home) as (standin, host):
            for _ in range(2):
                kernel[BLOCKS](*left, ADD)
            assert standin.calls("aclrtBinaryLoadFromFile") == 1
            assert host.launches == 2
        assert same(left[:3], simulated()[:3])
    (compiled,), (linked,) = words(cann, "bisheng"), words(cann, "ld.lld")
    assert compiled.startswith(
        "-c -x cce -O3 kernel.cpp --cce-aicore-arch=dav-c220-vec --cce-aicore-only -o vector.o -I "
    )
    assert linked == "-m aicorelinux -Ttext=0 vector.o -static -o kernel.o"


@pytest.mark.parametrize(
    ("soc", "kind", "objects"),
    [
        ("Ascend910B1", KernelType.MIX_AIV_1_0, ["vector.o"]),
        ("Ascend910B1", KernelType.MIX_AIC_1_2, ["cube.o", "vector.o"]),
        ("Ascend310P3", KernelType.AIV_ONLY, ["core.o"]),
        ("Ascend950PR_958b", KernelType.AIV_ONLY, ["device.o"]),
        ("Ascend950PR_958b", KernelType.MIX_AIC_1_1, ["device.o"]),
    ],
)
def test_each_route_and_kind(
    tmp_path: Path, soc: str, kind: KernelType, objects: list[str]
) -> None:
    """Objects of each kind of core, texts that name the cores, the hidden address in front."""
    cann, left = HostCann(tmp_path / "cann"), arguments()
    with standins(chip(soc), cann.home) as (standin, _):
        kernel = through.on(backend="npu", soc=soc, kernel_type=kind)
        kernel[BLOCKS](*left, ADD)
        assert standin.last_schedule() == kind.hard_sync
        hidden = soc == "Ascend910B1" and kind.hard_sync
        assert standin.calls("aclrtGetHardwareSyncAddr") == hidden
        made = kernel.compile(*left, ADD).program
    assert made.sync_address == hidden
    assert same(left, simulated())
    outputs = [argv[argv.index("-o") + 1] for argv in cann.calls("bisheng")]
    assert outputs == objects


def test_a_fault_of_lowering_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    emitted = traces.emit
    monkeypatch.setattr(
        traces, "emit", lambda *args: emitted(*args).replace("AscendC::Mul(", "AscendC::Add(")
    )
    monkeypatch.setattr(npu_path.simulator, "simulate", npu_path.simulate)
    with pytest.raises(KernelError, match="the npu path and the simulator differ in `z`"):
        simulated()


def test_a_text_that_the_compiler_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    emitted = traces.emit
    monkeypatch.setattr(
        traces, "emit", lambda *args: emitted(*args).replace("AscendC::Mul(", "AscendC::Mull(")
    )
    with standins(chip("Ascend910B1")), pytest.raises(KernelError, match="Mull") as caught:
        through.on(backend="npu")[BLOCKS](*arguments(), ADD)
    assert caught.value.code == "AT0501"
    assert caught.value.findings[0].spans[0].file.endswith("three_ways_kernels.py")


class Shape(asc.Struct):
    low = asc.Field(asc.int16)
    scale = asc.Field(asc.float32)


@asc.jit
def tell(x: asc.GlobalAddress, flag, small, part, wide, number, shape, z: asc.GlobalAddress):
    """What the arguments are, one word each."""
    x_gm, z_gm = asc.GlobalTensor(), asc.GlobalTensor()
    x_gm.set_global_buffer(x)
    z_gm.set_global_buffer(z)
    z_gm.set_value(0, x_gm.get_value(0))
    z_gm.set_value(1, 1 if flag else 0)
    z_gm.set_value(2, small)
    z_gm.set_value(3, part * 2.0)
    z_gm.set_value(4, wide >> 20)
    z_gm.set_value(5, number)
    z_gm.set_value(6, shape.low)
    z_gm.set_value(7, shape.scale)


def text_of_tell(*given: Any) -> None:
    run_trace(tell.trace(*given).trace, given, 1)


def test_arguments_of_every_kind() -> None:
    """The parameters of the emitted text, as a C++ compiler has them, find what was packed."""
    x, z = np.array([7], np.float32), np.zeros(8, np.float32)
    shape = Shape(low=-3, scale=0.5)
    given = x, True, np.int8(-113), np.float16(42.0), np.int64(2**40), 1.5, shape, z
    with standins(chip("Ascend910B1")):
        tell.on(backend="npu")[1](*given)
        assert z.tolist() == [7, 1, -113, 84, 2**20, 1.5, -3, 0.5]
        # The same on arrays of the device, twice: the second launch takes the fast way.
        there = npu.to_device(np.zeros(8, np.float32))
        for number in (1.5, -2.25):
            tell.on(backend="npu")[1](npu.to_device(x), *given[1:5], number, shape, there)
        assert there.to_host().tolist() == [7, 1, -113, 84, 2**20, -2.25, -3, 0.5]
    for run in (tell.on(backend="sim")[1], text_of_tell):
        z[:] = 0
        run(*given)
        assert z.tolist() == [7, 1, -113, 84, 2**20, 1.5, -3, 0.5]


def test_a_call_that_is_refused_is_a_fault_of_the_device() -> None:
    @asc.jit(backend="npu")
    def wild(z: asc.GlobalAddress, n: int):
        z_gm = asc.GlobalTensor()
        z_gm.set_global_buffer(z)
        z_gm.set_value(n, 1)

    with standins(chip("Ascend910B1")) as (_, host):
        with pytest.raises(npu.AclError, match="507035") as caught:
            wild[1](np.zeros(4, np.int32), 4)
        assert isinstance(host.error, KernelError)
        assert host.error.code == "AT0201"
        assert "the device says: " in str(caught.value)
        with pytest.raises(KernelError, match="takes no more work"):
            wild[1](np.zeros(4, np.int32), 0)
