"""Numbers of the scalar unit, what a kernel asks of its core, printing, watched memory."""

from __future__ import annotations

import math
import struct
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import asctrace as asc
from asctrace import HardEvent, RoundMode, TPosition
from tests.race_kit import SCHEDULES, marked, outcome, sync, tensor

OLD = "Ascend910B1"


def run(kernel: Any, *args: Any, blocks: int = 1, **params: Any) -> None:
    asc.jit(kernel, sim=asc.SimParams(**params))[blocks](*args)


# -- bits -----------------------------------------------------------------------------------------


def bits(x: asc.GlobalAddress, out: asc.GlobalAddress, n: int):
    x_gm, out_gm = tensor(x), tensor(out)
    for i in range(n):
        value = x_gm.get_value(i)
        out_gm.set_value(6 * i, asc.scalar_get_sff_value(value, 0))
        out_gm.set_value(6 * i + 1, asc.scalar_get_sff_value(value, 1))
        out_gm.set_value(6 * i + 2, asc.scalar_get_count_of_value(value, 0))
        out_gm.set_value(6 * i + 3, asc.scalar_get_count_of_value(value, 1))
        out_gm.set_value(6 * i + 4, asc.scalar_count_leading_zero(value))
        out_gm.set_value(6 * i + 5, asc.count_bits_cnt_same_as_sign_bit(value))


def bits_by_text(value: int) -> list[int]:
    """The same from the 64 binary digits."""
    digits = format(value % 2**64, "064b")
    up = digits[::-1]
    leading = len(digits) - len(digits.lstrip("0"))
    same = len(digits) - len(digits.lstrip(digits[0]))
    return [
        up.find("0"), up.find("1"), digits.count("0"), digits.count("1"), leading,
        same - 1 if same < 64 else -1,
    ]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint32, np.int64, np.uint64])
def test_bits(dtype: Any) -> None:
    rng = np.random.default_rng(11)
    info = np.iinfo(dtype)
    values = [0, 1, 2, info.max, info.min, info.max - 1, 0x40, *(
        int(v) >> int(rng.integers(0, info.bits))
        for v in rng.integers(info.min, info.max, 60, dtype, endpoint=True)
    )]  # fmt: skip
    if info.min < 0:
        values += [-1, -2, -64]
    out = np.zeros(6 * len(values), np.int64)
    run(bits, np.array(values, dtype), out, len(values))
    assert out.reshape(-1, 6).tolist() == [bits_by_text(v) for v in values]


def test_documented_bits() -> None:
    def kernel(out: asc.GlobalAddress):
        o = tensor(out)
        o.set_value(0, asc.scalar_get_sff_value(0x1000000000000100, 1))
        o.set_value(1, asc.scalar_count_leading_zero(0x0100000000000020))
        o.set_value(2, asc.count_bits_cnt_same_as_sign_bit(0x0100000000000020))
        o.set_value(3, asc.count_bits_cnt_same_as_sign_bit(-(2**63)))
        o.set_value(4, asc.scalar_get_sff_value(2**64 - 1, 0))

    out = np.zeros(5, np.int64)
    run(kernel, out)
    assert out.tolist() == [8, 7, 6, 0, -1]
    assert "AscendC::CountBitsCntSameAsSignBit(-9223372036854775807LL - 1)" in (
        asc.jit(kernel).lower(out).source
    )


# -- scalar_cast ----------------------------------------------------------------------------------


def casts(x: asc.GlobalAddress, out: asc.GlobalAddress, halves: asc.GlobalAddress, n: int):
    x_gm, out_gm, half_gm = tensor(x), tensor(out), tensor(halves)
    for i in range(n):
        value = x_gm.get_value(i)
        out_gm.set_value(4 * i, asc.scalar_cast(value, asc.int32, RoundMode.CAST_ROUND))
        out_gm.set_value(4 * i + 1, asc.scalar_cast(value, asc.int32, RoundMode.CAST_CEIL))
        out_gm.set_value(4 * i + 2, asc.scalar_cast(value, asc.int32, RoundMode.CAST_FLOOR))
        out_gm.set_value(4 * i + 3, asc.scalar_cast(value, asc.int32, RoundMode.CAST_RINT))
        half_gm.set_value(i, asc.scalar_cast(value, asc.float16, RoundMode.CAST_ODD))


def whole(value: float) -> list[int]:
    """Four roundings of the exact number, saturated."""
    if math.isnan(value):
        return [0] * 4
    if math.isinf(value):
        return [2**31 - 1 if value > 0 else -(2**31)] * 4
    exact = Fraction(value)
    away = math.floor(abs(exact) + Fraction(1, 2)) * (1 if exact >= 0 else -1)
    found = [away, math.ceil(exact), math.floor(exact), round(exact)]
    return [min(max(v, -(2**31)), 2**31 - 1) for v in found]


def odd_half(value: float) -> float:
    """Rounded to the neighbour with an odd last bit, by a search among all halves."""
    halves = [struct.unpack("<e", k.to_bytes(2, "little"))[0] for k in range(0x7C00)]
    if abs(value) in halves or math.isinf(value) or math.isnan(value):
        return value
    above = next((k for k, h in enumerate(halves) if h > abs(value)), None)
    if above is None:
        return math.copysign(halves[-1], value)
    return math.copysign(halves[above if above % 2 else above - 1], value)


def test_scalar_cast() -> None:
    rng = np.random.default_rng(12)
    values = [
        0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 3.14159, 0.49999997, 8388609.0, 2147483520.0, 3e9,
        -3e9, 1e-9, 70000.0, -70000.0, 65519.0, 5.9e-8, math.inf, -math.inf, math.nan,
        *(rng.standard_normal(80) * 10.0 ** rng.integers(-6, 10, 80)),
    ]  # fmt: skip
    x = np.array(values, np.float32)
    out, halves = np.zeros(4 * x.size, np.int32), np.zeros(x.size, np.float16)
    run(casts, x, out, halves, x.size)
    assert out.reshape(-1, 4).tolist() == [whole(float(v)) for v in x]
    expected = np.array([odd_half(float(v)) for v in x], np.float16)
    np.testing.assert_array_equal(halves.view(np.uint16), expected.view(np.uint16))


@pytest.mark.parametrize(("dtype", "mode"), [
    (asc.int32, RoundMode.CAST_TRUNC), (asc.float16, RoundMode.CAST_RINT),
    (asc.int8, RoundMode.CAST_RINT),
])  # fmt: skip
def test_other_casts_are_refused(dtype: Any, mode: RoundMode) -> None:
    def kernel(out: asc.GlobalAddress, x: float):
        tensor(out).set_value(0, asc.scalar_cast(x, dtype, mode))

    with pytest.raises(asc.KernelError) as caught:
        asc.jit(kernel).trace(np.zeros(8, np.float32), 1.0)
    assert caught.value.code == "AT0102"
    assert "float16: CAST_ODD" in str(caught.value)


# -- the core -------------------------------------------------------------------------------------


def core(out: asc.GlobalAddress):
    o = tensor(out, 16 * asc.get_block_idx())
    o.set_value(0, asc.get_data_block_size_in_bytes())
    o.set_value(1, asc.get_sub_block_idx())
    o.set_value(2, asc.get_sub_block_num())
    o.set_value(3, asc.get_task_ratio())
    before = asc.get_system_cycle()
    after = asc.get_system_cycle()
    o.set_value(4, after > before)
    o.set_value(5, asc.ascend_is_aiv())
    o.set_value(6, asc.ascend_is_aic())
    if asc.ascend_is_aic():
        raise AssertionError("known while tracing")


def test_the_core_of_a_vector_kernel() -> None:
    out = np.full(48, 9, np.int32)
    run(core, out, blocks=3)
    assert out.reshape(3, 16)[:, :7].tolist() == [[32, 0, 1, 1, 1, 1, 0]] * 3
    source = asc.jit(core).lower(out).source
    for call in ("GetDataBlockSizeInBytes", "GetSubBlockIdx", "GetSubBlockNum", "GetTaskRatio"):
        assert f"static_cast<int32_t>(AscendC::{call}())" in source
    assert "const int64_t before = AscendC::GetSystemCycle();" in source
    assert "const int64_t after = AscendC::GetSystemCycle();" in source
    assert "AIC" not in source


def counter(out: asc.GlobalAddress):
    tensor(out).set_value(0, asc.get_program_counter())


def version(out: asc.GlobalAddress):
    core_version = asc.get_arch_version(0)
    tensor(out).set_value(0, core_version)


@pytest.mark.parametrize(("fn", "lines"), [
    (counter, ["const int64_t value = AscendC::GetProgramCounter();",
               "SetValue(0, value);"]),
    (version, ["uint32_t core_version;", "AscendC::GetArchVersion(core_version);",
               "SetValue(0, static_cast<int64_t>(core_version));"]),
])  # fmt: skip
def test_what_has_no_value_in_the_simulator(fn: Any, lines: list[str]) -> None:
    out = np.zeros(8, np.int64)
    with pytest.raises(asc.KernelError) as caught:
        run(fn, out)
    assert caught.value.code == "AT0307"
    text = [
        line.strip().removeprefix("result.") for line in asc.jit(fn).lower(out).source.splitlines()
    ]
    assert [line for line in text if line in lines] == lines


def stops(x: asc.GlobalAddress, n: int):
    if n > 3:
        asc.trap()  # here
    tensor(x).set_value(0, n)


def test_trap() -> None:
    x = np.zeros(8, np.int32)
    run(stops, x, 3)
    assert x[0] == 3
    (found,) = outcome(stops, (x, 4), "program", 0, 2)[0]
    assert found.code == "AT0205"
    assert found.spans[0].line == marked(stops, "here")
    assert "    if (n > 3) {\n        AscendC::Trap();\n    }" in asc.jit(stops).lower(x, 3).source


# -- addresses that a framework sets --------------------------------------------------------------


def contexts(a: asc.GlobalAddress, b: asc.GlobalAddress, set: asc.ConstExpr[bool]):
    if set:
        asc.set_hccl_context(0, a + 8)
        asc.set_hccl_context(1, b)
        asc.set_sys_workspace(b + 2)
    first = tensor(asc.get_hccl_context(0))
    second = tensor(asc.get_hccl_context(1))
    work = tensor(asc.get_sys_workspace())
    work.set_value(0, first.get_value(0) + second.get_value(1))


def test_contexts() -> None:
    a, b = np.arange(16, dtype=np.uint8), np.arange(100, 116, dtype=np.uint8)
    run(contexts, a, b, True)
    assert b.tolist() == [100, 101, 109, *range(103, 116)]
    (found,) = outcome(contexts, (a, b, False), "program", 0)[0]
    assert found.code == "AT0307"
    assert "set_hccl_context(...)" in found.hint
    source = asc.jit(contexts).lower(a, b.view(np.int32), True).source
    for line in (
        "AscendC::SetHcclContext<0>(a + 8);",
        "AscendC::SetHcclContext<1>(reinterpret_cast<__gm__ uint8_t*>(b));",
        "AscendC::SetSysWorkspace(reinterpret_cast<__gm__ uint8_t*>(b + 2));",
        "__gm__ uint8_t* address = AscendC::GetHcclContext<0>();",
        "= AscendC::GetSysWorkSpacePtr();",
    ):
        assert line in source


def test_the_context_of_an_index() -> None:
    def kernel(a: asc.GlobalAddress):
        asc.set_hccl_context(2, a)

    with pytest.raises(asc.KernelError, match="AT0108"):
        asc.jit(kernel).trace(np.zeros(8, np.uint8))


def initial(z: asc.GlobalAddress):
    asc.set_atomic_add(asc.int32)
    asc.init_soc_state()
    a = asc.LocalTensor(asc.int32, TPosition.VECIN, 0, 16)
    asc.duplicate(a, 1, 16)
    sync(HardEvent.V_MTE3)
    asc.data_copy(tensor(z), a, 16)


def cube_modes(out: asc.GlobalAddress, n: int):
    asc.set_hf32_mode(True)
    asc.set_hf32_trans_mode(n > 2)
    asc.set_mm_layout_transform(mm_layout_mode=False)
    tensor(out).set_value(0, n)


def test_modes_of_the_cube() -> None:
    out = np.zeros(8, np.int32)
    asc.jit(cube_modes)[1](out, 3)
    assert out[0] == 3
    source = asc.jit(cube_modes).lower(out, 3).source
    assert [
        line.strip() for line in source.splitlines() if "AscendC::SetHF" in line or "MM" in line
    ] == [
        "AscendC::SetHF32Mode(true);",
        "AscendC::SetHF32TransMode(n > 2);",
        "AscendC::SetMMLayoutTransform(false);",
    ]
    with pytest.raises(asc.KernelError, match="has no set_hf32_mode"):
        asc.jit(cube_modes, soc="Ascend310P3").trace(out, 3)


def test_init_soc_state_ends_atomic_writes() -> None:
    for schedule, seed in SCHEDULES[:4]:
        findings, (z,) = outcome(initial, (np.full(16, 5, np.int32),), schedule, seed)
        assert findings == []
        assert z.tolist() == [1] * 16
    assert "AscendC::InitSocState();" in asc.jit(initial).lower(z).source


# -- watched memory -------------------------------------------------------------------------------


def watched(x: asc.GlobalAddress, start: int, kinds: asc.ConstExpr[Any], end: asc.ConstExpr[bool]):
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, 64)
    b = asc.LocalTensor(asc.float32, TPosition.VECCALC, 1024, 64)
    params = asc.CheckLocalMemoryIAParam(1, start, start + 8, is_enable=True, **kinds)
    asc.check_local_memory_ia(params)  # watches
    if end:
        params.is_enable = False
        asc.check_local_memory_ia(params)
    asc.data_copy(a, tensor(x), 64)  # is_mte_write
    sync(HardEvent.MTE2_V)
    asc.add(b, a, a, 64)  # is_vector_read
    sync(HardEvent.V_S)
    a.set_value(0, 1.0)  # is_scalar_write


@pytest.mark.parametrize("kind", ["is_mte_write", "is_vector_read", "is_scalar_write"])
def test_watched_memory(kind: str) -> None:
    x = np.zeros(64, np.float32)
    for schedule, seed in SCHEDULES[:4]:
        # The part begins behind its first block.
        (found,) = outcome(watched, (x, -1, {kind: True}, False), schedule, seed)[0]
        assert (found.code, found.severity) == ("AT0205", "error")
        assert "bytes 0 to 255 of UB, which are watched" in found.message
        lines = [marked(watched, kind), marked(watched, "watches")]
        assert [s.line for s in found.spans] == lines
        for start, end in ((7, False), (-1, True)):
            assert outcome(watched, (x, start, {kind: True}, end), schedule, seed)[0] == []
        other = {"is_mte_read": True, "is_vector_write": True, "is_scalar_read": True}
        assert outcome(watched, (x, -1, other, False), schedule, seed)[0] == []
    source = asc.jit(watched).lower(x, 3, {"is_mte_read": True}, True).source
    head = "AscendC::CheckLocalMemoryIA(AscendC::CheckLocalMemoryIAParam(1, "
    first, second = (line for line in source.splitlines() if head in line)
    assert first.endswith("false, false, false, false, true, false, true));")
    assert second.endswith("false, false, false, false, true, false, false));")


# -- printing -------------------------------------------------------------------------------------


def test_printf(capsys: Any) -> None:
    def kernel(x: asc.GlobalAddress, n: int, f: float):
        asc.printf("plain 100%%\n")
        asc.printf("%d %i|%u|%x %x\n", n, n - 9, 7, 255, n - 9)
        asc.printf("%f %F %f %s\n", f, f * 2, 0.5, "text")
        asc.printf("%ld %lld %d\n", np.int64(2**40), -3, n > 3)
        asc.printf("%p\n", x)

    x = np.zeros(8, np.float32)
    run(kernel, x, 5, 1.25)
    first, rest = capsys.readouterr().out.split("\n", 1)
    assert first == "plain 100%"
    numbers, floats, wide, pointer, end = rest.split("\n")
    assert numbers == "5 -4|7|ff fffffffc"
    assert floats == "1.250000 2.500000 0.500000 text"
    assert wide == f"{2**40} -3 1"
    assert pointer.startswith("0x")
    assert end == ""
    source = asc.jit(kernel).lower(x, 5, 1.25).source
    lines = [line.strip() for line in source.splitlines() if "printf" in line]
    assert lines == [
        'AscendC::printf("plain 100%%\\n");',
        'AscendC::printf("%d %i|%u|%x %x\\n", n, n - 9, 7, 255, n - 9);',
        'AscendC::printf("%f %F %f %s\\n", f, f * 2.0f, 0.5f, "text");',
        'AscendC::printf("%ld %lld %d\\n", 1099511627776LL, -3, static_cast<int32_t>(n > 3));',
        'AscendC::printf("%p\\n", x);',
    ]


@pytest.mark.parametrize(("args", "code"), [
    (("%d\n",), "AT0106"), (("%d\n", 1, 2), "AT0106"), (("%d\n", 1.5), "AT0106"),
    (("%f\n", 1), "AT0106"), (("%s\n", 1), "AT0106"), (("%u\n", -1), "AT0106"),
    (("%p\n", 1), "AT0106"), ((5,), "AT0106"), (("%5d\n", 1), "AT0306"),
    (("%.2f\n", 1.0), "AT0306"), (("%c\n", 1), "AT0306"), (("50 %\n",), "AT0306"),
])  # fmt: skip
def test_what_printf_takes(args: Any, code: str) -> None:
    def kernel(x: asc.GlobalAddress):
        asc.printf(*args)

    with pytest.raises(asc.KernelError) as caught:
        asc.jit(kernel).trace(np.zeros(8, np.float32))
    assert caught.value.code == code


def dumps(x: asc.GlobalAddress, n: int):
    a = asc.LocalTensor(asc.float32, TPosition.VECIN, 64, 16)
    asc.data_copy(a, tensor(x), 8)
    asc.dump_tensor(a, 5, n)
    asc.dump_tensor(tensor(x, 1), 6, 3)
    asc.dump_tensor(a, 7, 6, asc.ShapeInfo((2, 4)))
    asc.dump_acc_chk_point(a, 8, 8, 2)
    asc.dump_acc_chk_point(tensor(x), n, 2, 2)


def test_dumps(capsys: Any) -> None:
    x = np.array([0.5, -1, 2, 3, 4, 5, 6, 7, 8], np.float32)
    expected = """\
DumpTensor: desc=5, addr=40, data_type=float32, position=UB, dump_size=4
[0.500000, -1.000000, 2.000000, 3.000000]
DumpTensor: desc=6, addr=4, data_type=float32, position=GM, dump_size=3
[-1.000000, 2.000000, 3.000000]
DumpTensor: desc=7, addr=40, data_type=float32, position=UB, dump_size=6
[[0.500000, -1.000000, 2.000000, 3.000000],
[4.000000, 5.000000, -, -]]
DumpTensor: desc=8, addr=60, data_type=float32, position=UB, dump_size=2
[?, ?]
DumpTensor: desc=4, addr=8, data_type=float32, position=GM, dump_size=2
[2.000000, 3.000000]
"""
    for schedule, seed in SCHEDULES[:4]:
        run(dumps, x, 4, schedule=schedule, seed=seed)
        assert capsys.readouterr().out == expected
    source = asc.jit(dumps).lower(x, 4).source
    lines = [line.strip() for line in source.splitlines() if "Dump" in line]
    assert lines[0] == "AscendC::DumpTensor(a, 5, n);"
    assert lines[1].endswith(", 6, 3);")
    assert lines[2].startswith("AscendC::DumpTensor(a, 7, 6, AscendC::ShapeInfo(2, ")
    assert lines[3] == "AscendC::DumpAccChkPoint(a, 8, 8, 2);"
    assert lines[4].endswith(", n, 2, 2);")


def test_dumps_that_are_wrong() -> None:
    def outside(x: asc.GlobalAddress, n: int):
        asc.dump_tensor(tensor(x), 0, n)

    def local(x: asc.GlobalAddress, n: int):
        a = asc.LocalTensor(asc.int32, TPosition.VECIN, 0, 8)
        asc.dump_acc_chk_point(a, 0, n, 1)

    def large(x: asc.GlobalAddress, n: int):
        asc.dump_tensor(tensor(x), 0, n)

    x = np.zeros(8192, np.int32)
    assert [f.code for f in outcome(outside, (x, 8193), "program", 0)[0]] == ["AT0201"]
    assert [f.code for f in outcome(local, (x, 8), "program", 0)[0]] == ["AT0201"]
    assert [f.code for f in outcome(local, (x, 3), "program", 0)[0]] == ["AT0103"]
    (found,) = outcome(large, (x, 8192), "program", 0)[0]
    assert (found.code, found.severity) == ("AT0108", "warning")
    with pytest.raises(asc.KernelError, match="AT0116"):
        asc.jit(lambda x: asc.dump_tensor(asc.LocalTensor(asc.float16, TPosition.A2, 0, 16), 0, 1)
                ).trace(x)  # fmt: skip


def test_stamps(capsys: Any) -> None:
    def kernel(x: asc.GlobalAddress, n: int):
        asc.metrics_prof_start()
        asc.print_time_stamp(65577)
        asc.print_time_stamp(n)
        asc.metrics_prof_stop()

    x = np.zeros(8, np.int32)
    run(kernel, x, 70000)
    assert capsys.readouterr().out == (
        "descId is 65577, rsv is 0, timeStamp is 1.\ndescId is 70000, rsv is 0, timeStamp is 2.\n"
    )
    source = asc.jit(kernel).lower(x, 1).source
    text = [line.strip() for line in source.splitlines()]
    assert text[text.index("{") + 1 :] == [
        "AscendC::MetricsProfStart();",
        "AscendC::PrintTimeStamp(65577);",
        "AscendC::PrintTimeStamp(n);",
        "AscendC::MetricsProfStop();",
        "}",
    ]


@pytest.mark.parametrize(("call", "soc"), [
    (lambda x: asc.check_local_memory_ia(asc.CheckLocalMemoryIAParam()), "Ascend950PR_958b"),
    (lambda x: asc.set_hccl_context(0, x), "Ascend950PR_958b"),
])  # fmt: skip
def test_chips_without_a_call(call: Any, soc: str) -> None:
    def kernel(x: asc.GlobalAddress):
        call(x)

    x = np.zeros(8, np.uint8)
    with pytest.raises(asc.KernelError) as caught:
        asc.jit(kernel, soc=soc).trace(x)
    assert caught.value.code == "AT0304"
    asc.jit(kernel, soc=OLD).trace(x)
