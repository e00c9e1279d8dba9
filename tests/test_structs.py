"""`asc.Struct`, `asc.array` and parameter structs: layout, text, what kernels read and write."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import asctrace as asc
from asctrace.tracer.language.structs import DECLARED, REQUIRED


class Inner(asc.Struct):
    small = asc.Field(asc.int8, default=1)
    wide = asc.Field(asc.int64, default=2)


class Tiling(asc.Struct):
    length = asc.Field(asc.int32)
    scale = asc.Field(asc.float32, default=1.5)
    inner = asc.StructField(Inner)
    dims = asc.ArrayField(asc.int16, 3, default=(1, 2, 3))
    parts = asc.ArrayField(Inner, 2)

    def tiles(self) -> int:
        return self.length // 4


class Packed(asc.Struct, pack=1):
    flag = asc.Field(asc.uint8, default=0)
    value = asc.Field(asc.int32, default=0, name="theValue")


class CInner(ctypes.Structure):
    _fields_ = (("small", ctypes.c_int8), ("wide", ctypes.c_int64))


class CTiling(ctypes.Structure):
    _fields_ = (
        ("length", ctypes.c_int32), ("scale", ctypes.c_float), ("inner", CInner),
        ("dims", ctypes.c_int16 * 3), ("parts", CInner * 2),
    )  # fmt: skip


def test_arrays_of_structs_on_the_host() -> None:
    tiling = Tiling(length=8, parts=[Inner(small=5), Inner(wide=6)])
    assert repr(tiling.parts) == "[Inner(small=5, wide=2), Inner(small=1, wide=6)]"
    tiling.parts[1].small = 7
    c = CTiling.from_buffer_copy(tiling.pack())
    assert [(part.small, part.wide) for part in c.parts] == [(5, 2), (7, 6)]
    with pytest.raises(ValueError, match="parts has 2 elements, not 1"):
        tiling.parts = [Inner()]
    with pytest.raises(TypeError, match="1 is a Inner, not 3"):
        tiling.parts = [Inner(), 3]


def test_host_layout_is_that_of_c() -> None:
    tiling = Tiling(length=8, inner=Inner(small=5))
    data = tiling.pack()
    assert len(data) == ctypes.sizeof(CTiling)
    c = CTiling.from_buffer_copy(data)
    assert (c.length, c.scale, c.inner.small, c.inner.wide, list(c.dims)) == (
        8,
        1.5,
        5,
        2,
        [1, 2, 3],
    )
    back = Tiling.unpack(data)
    assert (back.inner.small, list(back.dims), back.tiles()) == (5, [1, 2, 3], 2)
    assert len(Packed().pack()) == 5


def test_host_fields_are_checked() -> None:
    tiling = Tiling(length=8)
    tiling.length = 9
    assert tiling.length == 9
    with pytest.raises(OverflowError, match="length is 4294967296"):
        tiling.length = 2**32
    with pytest.raises(TypeError, match="needs a value for the field length"):
        Tiling()
    with pytest.raises(TypeError, match="no field width"):
        Tiling(length=1, width=2)
    with pytest.raises(AttributeError, match="no field width"):
        tiling.width = 1
    with pytest.raises(ValueError, match="has 64 bytes, not 3"):
        Tiling.unpack(b"abc")
    with pytest.raises(TypeError, match="cannot be called type"):
        type("Bad", (asc.Struct,), {"type": asc.Field(asc.int32)})


@asc.jit
def kernel(out: asc.GlobalAddress, tiling: Tiling, i: int):
    local = Tiling(length=tiling.length + 1, inner=tiling.inner)
    copy = tiling.create_local()
    copy.dims[i] = 9
    copy.inner.wide += tiling.dims[i]
    copy.parts[i].small = -1
    for j in asc.range(tiling.length):
        copy.length += j
        local.scale *= 2
    gm = asc.GlobalTensor()
    gm.set_global_buffer(out)
    values = (
        tiling.length, tiling.scale, tiling.inner.small, tiling.dims[i], tiling.tiles(),
        copy.length, copy.dims[i], copy.inner.wide, copy.parts[i].small, local.scale,
        local.inner.small, local.length,
    )  # fmt: skip
    for k, value in enumerate(values):
        gm.set_value(k, value)
    tiling.length = 0


def test_struct_argument_and_local() -> None:
    out = np.zeros(12, np.float32)
    tiling = Tiling(length=8, inner=Inner(small=5))
    kernel[1](out, tiling, 1)
    assert out.tolist() == [8, 1.5, 5, 2, 2, 36, 9, 4, -1, 384, 5, 9]
    assert tiling.length == 8  # passed by value


def test_text_of_structs() -> None:
    text = kernel.lower(np.zeros(12, np.float32), Tiling(length=8), 1).source
    assert "struct Inner {\n    int8_t small;\n    int64_t wide;\n};" in text
    assert text.index("struct Inner") < text.index("struct Tiling {\n    int32_t length;\n")
    assert "    int16_t dims[3];\n    Inner parts[2];\n};" in text
    assert "(__gm__ float* out, Tiling tiling, int32_t i)" in text
    assert "Tiling copy = tiling;" in text
    assert "copy.parts[i].small = -1;" in text


def test_one_trace_serves_all_values() -> None:
    out = np.zeros(12, np.float32)
    before = kernel.trace_count
    kernel[1](out, Tiling(length=4), 0)
    kernel[1](out, Tiling(length=5), 1)
    assert kernel.trace_count - before <= 1
    assert out[0] == 5


def test_packed_structs_say_so() -> None:
    @asc.jit
    def packed(p: Packed):
        print(p.value)

    text = packed.lower(Packed(value=3)).source
    assert (
        "#pragma pack(push, 1)\nstruct Packed {\n    uint8_t flag;\n    int32_t theValue;\n" in text
    )
    assert "p.theValue" in text


def test_arrays(capsys: pytest.CaptureFixture[str]) -> None:
    @asc.jit
    def arrays(n: int):
        values = asc.array(asc.int32, (1, 2, n))
        zeros = asc.array(asc.float32, 4)
        ones = asc.array(asc.int16, 2, 1)
        values[n] = 7
        values[0] += 1
        zeros[1] = 0.5
        print(*values, len(values), sum(zeros), ones[n - 1])

    arrays[1](1)
    assert capsys.readouterr().out == "2 7 1 3 0.5 1\n"
    text = arrays.lower(1).source
    assert "int32_t values[3] = {1, 2, n};" in text
    assert "float zeros[4] = {};" in text
    with pytest.raises(asc.KernelError, match="element 5 of `values`"):
        arrays[1](5)


def test_constant_index_of_an_array_is_checked() -> None:
    @asc.jit
    def out_of_range():
        asc.array(asc.int32, 2)[2] = 1

    with pytest.raises(asc.KernelError, match="AT0201: element 2 of"):
        out_of_range.trace()


# -- parameter structs ----------------------------------------------------------------------------

REFERENCE = json.loads((Path(__file__).parent / "data" / "reference_structs.json").read_text())


@pytest.mark.parametrize("name", DECLARED)
def test_parameter_structs_have_the_fields_of_the_reference(name: str) -> None:
    fields = REFERENCE[name]
    row = DECLARED[name]
    assert [field for _, field, _ in row.fields] == [field for field, _ in fields]
    for (_, field, default), (_, wanted) in zip(row.fields, fields, strict=True):
        assert (default is REQUIRED) == (wanted == "required"), field
        if wanted not in ("required", None):
            assert (default, type(default)) == (wanted, type(wanted)), field


def test_parameter_structs_are_records() -> None:
    one = asc.DataCopyParams(2, block_len=3)
    assert repr(one) == "DataCopyParams(block_count=2, block_len=3, src_stride=0, dst_stride=0)"
    assert one == asc.DataCopyParams(2, 3)
    one.src_stride = 1
    assert one != asc.DataCopyParams(2, 3)
    assert one != asc.DataCopyPadParams()
    assert asc.DataCopyParams is asc.DataCopyParams
    assert asc.DataCopyEnhancedParams().block_mode is asc.BlockMode.BLOCK_MODE_NORMAL
    for call, message in (
        (lambda: asc.DataCopyParams(1, 2, 3, 4, 5), "has 4 fields, but 5 values were given"),
        (
            lambda: asc.DataCopyParams(1, block_count=2),
            "got two values for the field 'block_count'",
        ),
        (lambda: asc.DataCopyParams(length=2), "has no field 'length'"),
        (lambda: asc.Nd2NzParams(1), "needs a value for the field 'n_value'"),
    ):
        with pytest.raises(TypeError, match=message):
            call()
    with pytest.raises(AttributeError):
        one.length = 3


def test_parameter_structs_are_made_when_they_are_asked_for() -> None:
    code = (
        "import asctrace\nfrom asctrace.tracer.language import structs\n"
        "assert set(structs.DECLARED) <= set(asctrace.__all__)\n"
        "print('Nd2NzParams' in vars(structs), asctrace.Nd2NzParams is structs.Nd2NzParams)"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.stdout, ended.stderr) == ("False True\n", "")


@asc.jit
def copies(x: asc.GlobalAddress, z: asc.GlobalAddress, n: int):
    """Fields change under a condition and in a loop; each call takes them as they are."""
    source, target = asc.GlobalTensor(), asc.GlobalTensor()
    source.set_global_buffer(x)
    target.set_global_buffer(z)
    local = asc.LocalTensor(asc.int32, asc.TPosition.VECIN, 0, 64)
    blocks = asc.DataCopyParams(block_len=1)
    if n > 2:
        blocks.src_stride = 1
    for i in asc.range(n):
        blocks.block_count = i + 1
        asc.data_copy(local, source, blocks)
        asc.pipe_barrier(asc.PipeID.PIPE_ALL)
        asc.data_copy(target, local, 8 * (i + 1))
        asc.pipe_barrier(asc.PipeID.PIPE_ALL)


def test_fields_of_parameter_structs_are_state() -> None:
    x = np.arange(64, dtype=np.int32)
    rows: Any = x.reshape(8, 8)
    for n, taken in ((2, rows[:2]), (3, rows[:6:2])):
        z = np.zeros(24, np.int32)
        copies[1](x, z, n)
        assert z[: 8 * n].tolist() == taken.reshape(-1).tolist()
    text = copies.lower(x, x, 3).source
    assert "static_cast<uint16_t>(i + 1), 1, static_cast<uint16_t>(src_stride), 0)" in text
