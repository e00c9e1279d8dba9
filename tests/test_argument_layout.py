"""The argument block: exact bytes, agreement with a C++ compiler, numbers that do not fit."""

from __future__ import annotations

import math
import random
import struct
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import asctrace as asc
from asctrace.lowering.layout import argument_layout
from asctrace.runtime.compiler import KernelType
from asctrace.runtime.launcher import NpuProgram
from asctrace.runtime.packing import pack_block
from asctrace.tracer.language.dtypes import ALL
from asctrace.tracer.trace import Trace
from tests.acl_kit import entry_source, host_binary, library_path


class Pair(asc.Struct):
    first = asc.Field(asc.int32)
    second = asc.Field(asc.int64)


class Tight(asc.Struct, pack=1):
    flag = asc.Field(asc.bool_)
    wide = asc.Field(asc.int64)
    pair = asc.StructField(Pair, default=Pair(first=1, second=2))
    rest = asc.ArrayField(asc.int16, 3)


def program(*args: Any, **binary: Any) -> NpuProgram:
    """A program for arguments of these types, with a binary that does not exist."""

    @asc.jit
    def take(*args):
        pass

    trace = take.trace(*args).trace
    given = {"symbol": "take", "kind": KernelType.AIV_ONLY, "sync_address": False} | binary
    return NpuProgram(trace, SimpleNamespace(**given))  # type: ignore[arg-type]


def packed(made: NpuProgram, values: Any, addresses: dict[int, int], sync: int = 0) -> bytes:
    return pack_block("take", made.layout, values, addresses, sync)


ARRAY = np.zeros(4, np.float32)


def test_exact_bytes() -> None:
    values = (
        ARRAY, True, np.int8(-113), np.float16(42.0), np.int64(2**40), 1.5,
        Pair(first=-2, second=3), ARRAY,
    )  # fmt: skip
    made = program(*values)
    block = packed(made, values, {0: 0x1122334455667788, 7: 0x99})
    # Arrays of a device, packed by the function compiled for the layout.
    device = SimpleNamespace()
    first, last = (SimpleNamespace(device=device, pointer=p) for p in (0x1122334455667788, 0x99))
    assert made.quick is not None
    assert made.quick((first, *values[1:-1], last), device) == block  # type: ignore[arg-type]
    assert block == bytes.fromhex(
        "8877665544332211"  # the address
        "01000000"  # bool, in four bytes
        "8f000000"  # -113
        "4051"  # 42.0 as half
        "000000000000"  # up to a multiple of 8
        "0000000000010000"  # 2**40
        "0000c03f"  # 1.5
        "00000000"
        "feffffff000000000300000000000000"  # the struct, with its own padding
        "9900000000000000"
    )  # fmt: skip


def test_sync_address_goes_in_front() -> None:
    values = (np.int16(5), ARRAY)
    made = program(*values, sync_address=True, kind=KernelType.MIX_AIC_1_2)
    block = packed(made, values, {1: 7}, sync=0xABC)
    assert block == struct.pack("<QhxxxxxxQ", 0xABC, 5, 7)
    assert [slot.name for slot in made.layout.slots] == ["ffts_addr", "args_0", "args_1"]


def test_a_block_is_a_multiple_of_eight() -> None:
    assert argument_layout(program(ARRAY, 1).trace).size == 16
    assert packed(program(ARRAY, 1), (ARRAY, 1), {0: 1}) == struct.pack("<Qixxxx", 1, 1)
    assert argument_layout(Trace("empty", program(1).trace.chip)).size == 0


@pytest.mark.parametrize("dtype", ALL, ids=str)
def test_every_dtype_keeps_its_bits(dtype: Any) -> None:
    ends = {"b": [0, 1], "f": [-2.5, math.inf]}.get(dtype.kind, [dtype.lo, dtype.hi])
    for end in ends:
        value = dtype.np.type(end)
        block = packed(program(ARRAY, value), (ARRAY, value), {0: 0})
        assert block[8 : 8 + dtype.sizeof()] == value.tobytes()
        assert not any(block[8 + dtype.sizeof() :])


@pytest.mark.parametrize(
    ("like", "value"),
    [
        (np.int8(0), 128),
        (np.int8(0), -129),
        (np.uint8(0), -1),
        (np.uint16(0), 65536),
        (1, 2**31),
        (np.int64(0), 2**63),
        (np.uint64(0), 2**64),
        (np.float16(0), 65520.0),
        (1.0, 1e39),
        (np.int32(0), 1.5),
        (np.int32(0), "1"),
        (Pair(first=0, second=0), Tight(flag=True, wide=1)),
    ],
)
def test_what_does_not_fit_is_refused(like: Any, value: Any) -> None:
    with pytest.raises(asc.KernelError, match=r"argument `args_1` of take: .* does not fit") as e:
        packed(program(ARRAY, like), (ARRAY, value), {0: 0})
    assert e.value.code == "AT0113"


def test_bfloat16_rounds_to_nearest() -> None:
    values = (ARRAY, ml_dtypes.bfloat16(1.0))
    given = (ARRAY, 1.0 + 2**-8)  # half way between two: the even one
    assert packed(program(*values), given, {0: 0})[8:10] == b"\x80\x3f"


SCALARS = [dtype.np.type(1) for dtype in ALL if dtype.name != "bfloat16"]
SAMPLES = [
    *SCALARS,
    ml_dtypes.bfloat16(1),
    ARRAY,
    Pair(first=1, second=2),
    Tight(flag=True, wide=3),
]


@pytest.mark.parametrize("seed", range(6))
def test_a_compiler_has_the_same_offsets(seed: int) -> None:
    print("seed", seed)
    draw = random.Random(seed)
    values = [draw.choice(SAMPLES) for _ in range(draw.randrange(1, 12))]
    trace = program(*values).trace
    assert "static_assert(offsetof(Args, args_0) == 0);" in entry_source(trace, "")
    # It compiles only if every offset is right.
    assert host_binary(trace, "", sync_address=bool(seed % 2)).path.is_file()


def test_the_text_checks_the_sizes_of_structs() -> None:
    @asc.jit
    def take(x: asc.GlobalAddress, tight, pair):
        pass

    pair = Pair(first=1, second=2)
    text = take.lower(ARRAY, Tight(flag=True, wide=1), pair).source
    assert "static_assert(sizeof(Tight) == 31);\nstatic_assert(sizeof(Pair) == 16);\n" in text
    assert Tight(flag=True, wide=1).pack().__len__() == 31


def test_the_kit_builds_once() -> None:
    assert library_path() is library_path()
