"""Copies and caches: the emitted lines, and what is refused while tracing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import asctrace as asc
from asctrace.lowering.text import emit
from asctrace.tracer.language.dtypes import ALL, DataType, float16, float32, int64, uint64
from asctrace.tracer.ops.spec import Form, OpFunction, OpSpec
from tests.copy_kit import CHIPS, POSITIONS, ROWS, Case, arguments
from tests.lowering_kit import Kernel, body, global_tensor, named

Params, Ext = asc.DataCopyParams, asc.DataCopyExtParams
Pad, ExtPad = asc.DataCopyPadParams, asc.DataCopyPadExtParams
VECIN, A1 = asc.TPosition.VECIN, asc.TPosition.A1


class Tensors:
    """Operands of one dtype: `g` in global memory, `t` and `u` apart in UB, `l` in L1."""

    def __init__(self, k: Kernel, dtype: DataType = float32) -> None:
        self.k = k
        self.g = global_tensor("g", k.pointer("x", dtype))
        self.t = named(asc.LocalTensor(dtype, VECIN, 0, 1024), "t")
        self.u = named(asc.LocalTensor(dtype, VECIN, 65536, 1024), "u")
        self.l = named(asc.LocalTensor(dtype, A1, 0, 1024), "l")
        self.n = k.scalar("n")


Make = Callable[[Tensors], Any]


def line(make: Make, dtype: DataType = float32, soc: str = "Ascend910B1") -> str:
    """The last line of the text of a call."""
    with Kernel(soc=soc) as k:
        make(Tensors(k, dtype))
    return body(emit(k.trace)).splitlines()[-1]


def said(make: Make, dtype: DataType = float32, soc: str = "Ascend910B1") -> str:
    """The error of a call."""
    with Kernel(soc=soc) as k:
        tensors = Tensors(k, dtype)
        with pytest.raises(asc.KernelError) as caught:
            make(tensors)
    return str(caught.value)


# -- text -----------------------------------------------------------------------------------------

LINES: list[tuple[Make, str]] = [
    (lambda v: asc.data_copy(v.t, v.g, 64), "DataCopy(t, g, 64)"),
    (
        lambda v: asc.data_copy(v.t, v.g, Params(2, 3, 1, 0)),
        "DataCopy(t, g, AscendC::DataCopyParams(2, 3, 1, 0))",
    ),
    (
        lambda v: asc.data_copy(v.g, v.t, Params(block_len=v.n)),
        "DataCopy(g, t, AscendC::DataCopyParams(1, static_cast<uint16_t>(n), 0, 0))",
    ),
    (
        lambda v: asc.data_copy(v.u, v.t, Params(2, 3), asc.DataCopyEnhancedParams()),
        (
            "DataCopy(u, t, AscendC::DataCopyParams(2, 3, 0, 0), AscendC::DataCopyEnhancedParams("
            "AscendC::BlockMode::BLOCK_MODE_NORMAL, AscendC::DeqScale::DEQ_NONE, 0, 0, false, "
            "pad_t::PAD_NONE, 0))"
        ),
    ),
    (
        lambda v: asc.data_copy(v.l, v.g, asc.Nd2NzParams(1, 8, 56, 0, 56, 16, 1, 0)),
        "DataCopy(l, g, AscendC::Nd2NzParams(1, 8, 56, 0, 56, 16, 1, 0))",
    ),
    (
        lambda v: asc.data_copy(v.g, v.t, asc.Nz2NdParamsFull(1, 32, 32, 1, 32, 32, 1)),
        "DataCopy(g, t, AscendC::Nz2NdParamsFull(1, 32, 32, 1, 32, 32, 1))",
    ),
    (lambda v: asc.data_copy(v.g, v.l, 64), "DataCopy(g, l, 64)"),
    (
        lambda v: asc.data_copy_pad(v.t, v.g, Ext(1, 20), ExtPad(float32, True, 0, 3, 0.5)),
        (
            "DataCopyPad(t, g, AscendC::DataCopyExtParams(1, 20, 0, 0, 0), "
            "AscendC::DataCopyPadExtParams<float>(true, 0, 3, 0.5f))"
        ),
    ),
    (
        lambda v: asc.data_copy_pad(v.t, v.g, Params(1, 20), Pad()),
        (
            "DataCopyPad(t, g, AscendC::DataCopyParams(1, 20, 0, 0), "
            "AscendC::DataCopyPadParams(false, 0, 0, 0))"
        ),
    ),
    (
        lambda v: asc.data_copy_pad(v.g, v.t, Ext(v.n, v.n, dst_stride=v.n)),
        (
            "DataCopyPad(g, t, AscendC::DataCopyExtParams(static_cast<uint16_t>(n), "
            "static_cast<uint32_t>(n), 0, static_cast<uint32_t>(n), 0))"
        ),
    ),
    (
        lambda v: asc.data_copy_pad(v.g, v.t, Params(2, 20)),
        "DataCopyPad(g, t, AscendC::DataCopyParams(2, 20, 0, 0))",
    ),
    (lambda v: asc.set_pad_value(1.5), "SetPadValue<float>(1.5f)"),
    (lambda v: asc.set_pad_value(np.float16(2)), "SetPadValue<half>(static_cast<half>(2.0f))"),
    (
        lambda v: asc.set_pad_value(v.n, asc.TPosition.VECOUT),
        "SetPadValue<int32_t, AscendC::TPosition::VECOUT>(n)",
    ),
    (
        lambda v: asc.init_const_value(v.l, asc.InitConstValueParams(2, 3, 1, v.n)),
        "InitConstValue(l, AscendC::InitConstValueParams<float>(2, 3, 1, static_cast<float>(n)))",
    ),
    (
        lambda v: asc.data_cache_clean_and_invalid(
            asc.CacheLine.SINGLE_CACHE_LINE, asc.DcciDst.CACHELINE_OUT, v.g
        ),
        (
            "DataCacheCleanAndInvalid<float, AscendC::CacheLine::SINGLE_CACHE_LINE, "
            "AscendC::DcciDst::CACHELINE_OUT>(g)"
        ),
    ),
    (
        lambda v: asc.data_cache_clean_and_invalid(asc.CacheLine.ENTIRE_DATA_CACHE, v.g),
        "DataCacheCleanAndInvalid<float, AscendC::CacheLine::ENTIRE_DATA_CACHE>(g)",
    ),
    (
        lambda v: asc.data_cache_preload(global_tensor("w", v.k.pointer("y", uint64)), v.n),
        "DataCachePreload(w, static_cast<int64_t>(n))",
    ),
    (lambda v: asc.icache_preload(2), "ICachePreLoad(2)"),
    (
        lambda v: v.t.set_value(0, asc.get_icache_preload_status()),
        "t.SetValue(0, static_cast<float>(value))",
    ),
]


@pytest.mark.parametrize(("make", "text"), LINES, ids=[text[:40] for _, text in LINES])
def test_lines(make: Make, text: str) -> None:
    prefix = "" if text.startswith("t.") else "AscendC::"
    assert line(make) == f"{prefix}{text};"


def test_slices_are_arrays_and_equal_ones_share_one() -> None:
    one = [asc.SliceInfo(0, 15, 0, 1, 16), asc.SliceInfo(0, 1, 0, 1, 2)]
    with Kernel() as k:
        v = Tensors(k)
        other = [asc.SliceInfo(16, 70, 7, 3, 87), asc.SliceInfo(0, v.n, 1, 1, 3)]
        asc.data_copy(v.t, v.g, one, one, 2)
        asc.data_copy(v.t, v.g, one, other, 2)
        asc.data_copy(v.t, v.g, one, other, 2)
    lines = body(emit(k.trace)).splitlines()
    first = (
        "AscendC::SliceInfo slices[2] = {AscendC::SliceInfo(0, 15, 0, 1, 16), "
        "AscendC::SliceInfo(0, 1, 0, 1, 2)};"
    )
    changing = (
        "AscendC::SliceInfo(16, 70, 7, 3, 87), "
        "AscendC::SliceInfo(0, static_cast<uint32_t>(n), 1, 1, 3)};"
    )
    assert lines[-6:] == [
        first,
        "AscendC::DataCopy(t, g, slices, slices, 2);",
        "AscendC::SliceInfo slices_1[2] = {" + changing,
        "AscendC::DataCopy(t, g, slices, slices_1, 2);",
        "AscendC::SliceInfo slices_2[2] = {" + changing,
        "AscendC::DataCopy(t, g, slices, slices_2, 2);",
    ]


def test_wide_fields_of_3510() -> None:
    text = line(
        lambda v: asc.data_copy_pad(v.t, v.g, Ext(2, 20, v.n, v.n), ExtPad(float32)),
        soc=CHIPS["3510"],
    )
    assert "DataCopyExtParams(2, 20, static_cast<int64_t>(n), static_cast<int64_t>(n), 0)" in text


# -- dtypes and routes ----------------------------------------------------------------------------

#: Numbers that fit every dtype.
FITTING = {
    "count": (32,), "blocks": ((2, 3, 1, 0),), "enhanced": ((2, 3, 1, 0), None),
    "slices": (((0, 31, 0, 1, 32),), ((0, 31, 0, 1, 32),), 1),
    "nd2nz": ((1, 4, 32, 0, 32, 4, 1, 0),), "nz2nd": ((1, 4, 32, 1, 4, 32, 1),),
    "ext": ((1, 32, 0, 0, 0), (True, 0, 0, 0)), "pad": ((1, 32, 0, 0), (True, 0, 0, 0)),
    "l1": ((1, 2, 0, 0),),
}  # fmt: skip
KEYS = {
    "in": "count", "out": "count", "local": "count", "ext_in": "ext", "ext_out": "ext",
}  # fmt: skip


def _numbers(spec: OpSpec, form: Form) -> Any:
    key = KEYS.get(form.name) or form.name.partition("_")[0]
    if spec.name == "data_copy_pad":
        key = "ext" if form.name.startswith("ext") else "pad"
    numbers = FITTING[key]
    tensors = spec.extra["ways"][form.name].tensors
    return numbers[: len(form.params) - tensors]


REFUSED = [
    pytest.param(case, id=str(case))
    for arch in CHIPS
    for spec in ROWS
    for form in spec.forms
    for (src, dst) in spec.extra["ways"][form.name].routes
    for dtype in ALL
    for case in (Case(arch, spec, form, src, dst, dtype),)
    if dtype not in spec.extra["ways"][form.name].dtypes[arch]
    or arch not in spec.extra["ways"][form.name].routes[src, dst]
]  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_chip_has_not(case: Case) -> None:
    arch, spec, form, src, dst, dtype = vars(case).values()
    way = spec.extra["ways"][form.name]
    with Kernel(soc=CHIPS[arch]) as k:
        tensors = [
            global_tensor("g", k.pointer("x", dtype))
            if memory == "GM"
            else asc.LocalTensor(dtype, POSITIONS[memory], 16384 * place, 1024)
            for place, memory in enumerate((dst, src))
            if memory
        ]
        given = arguments(
            Case(arch, spec, form, src, dst, dtype), _numbers(spec, form), lambda v: v
        )
        with pytest.raises(asc.KernelError) as caught:
            OpFunction(spec)(*tensors, *given)
    known = arch in way.routes[src, dst]
    assert f"error {'AT0102' if known else 'AT0304'}: " in str(caught.value)
    assert spec.name in str(caught.value)


@pytest.mark.parametrize(
    ("make", "message", "hint"),
    [
        (
            lambda v: asc.data_copy(v.l, v.u, Params(1, 1)),
            "AT0306: data_copy from `u` (LocalTensor of float32 in VECIN) to `l`",
            "through the workspace of a Matmul object",
        ),
        (
            lambda v: asc.data_copy(v.l, v.u, asc.Nd2NzParams(1, 4, 8, 0, 8, 4, 1, 0)),
            "AT0306: data_copy with dst, src, intri_params",
            "through the workspace of a Matmul object",
        ),
        (
            lambda v: asc.data_copy_pad(
                v.l, v.u, Ext(1, 32), asc.Nd2NzParams(1, 4, 8, 0, 8, 4, 1, 0)
            ),
            "AT0306: data_copy_pad with dst, src, data_copy_params, nd2nz_params",
            "through the workspace of a Matmul object",
        ),
        (
            lambda v: asc.data_copy(v.u, v.l, 64),
            "AT0306: data_copy from `l` (LocalTensor of float32 in A1) to `u`",
            "go through global memory",
        ),
        (
            lambda v: asc.data_copy_pad(v.l, v.g, Ext(1, 32), ExtPad(float32)),
            "AT0304: Ascend910B1 (architecture 2201) has no data_copy_pad from `g`",
            "it is known of the architectures 3510",
        ),
        (
            lambda v: asc.data_copy_pad(v.g, v.l, Ext(1, 32)),
            "AT0116: data_copy_pad does not reach `l` (LocalTensor of float32 in A1)",
            "this form works from UB to GM",
        ),
        (
            lambda v: asc.init_const_value(v.t, asc.InitConstValueParams(1, 1, 0, 0)),
            "AT0116: init_const_value does not reach `t` (LocalTensor of float32 in VECIN)",
            "this form works in L1",
        ),
        (
            lambda v: asc.init_const_value(
                asc.LocalTensor(float32, asc.TPosition.A2, 0, 64), asc.InitConstValueParams(1, 1)
            ),
            "AT0306: init_const_value on (LocalTensor of float32 in A2)",
            "it comes with the matrix functions",
        ),
        (
            lambda v: asc.data_copy_pad(v.t, v.g, Ext(1, 32), ExtPad(float16)),
            "AT0102: data_copy_pad of float32 with DataCopyPadExtParams of float16",
            "make it DataCopyPadExtParams(float32, ...)",
        ),
        (
            lambda v: asc.data_copy(
                v.t, v.g, Params(1, 1), asc.DataCopyEnhancedParams(is_relu_in=True)
            ),
            "AT0306: data_copy with DataCopyEnhancedParams that sets is_relu_in",
            "the data moves as it is",
        ),
        (
            lambda v: asc.data_cache_clean_and_invalid(
                asc.CacheLine.SINGLE_CACHE_LINE, asc.DcciDst.CACHELINE_ATOMIC, v.g
            ),
            "AT0304: Ascend910B1 (architecture 2201) has no CACHELINE_ATOMIC",
            "use CACHELINE_OUT",
        ),
        (
            lambda v: asc.data_cache_clean_and_invalid(
                asc.CacheLine.SINGLE_CACHE_LINE, asc.DcciDst.CACHELINE_UB, v.g
            ),
            "AT0116: data_cache_clean_and_invalid with CACHELINE_UB on `g`",
            "a GlobalTensor is in global memory",
        ),
        (
            lambda v: asc.data_cache_preload(v.g, 0),
            "AT0102: data_cache_preload of `g` (GlobalTensor of float32)",
            "it takes a GlobalTensor of uint64",
        ),
        (
            lambda v: asc.set_pad_value(0, asc.TPosition.VECCALC),
            "AT0116: set_pad_value for tensors in VECCALC",
            "the padding is for copies to VECIN and VECOUT",
        ),
    ],
)
def test_refused(make: Make, message: str, hint: str) -> None:
    text = said(make)
    assert f"error {message}" in text
    assert hint in text


# -- numbers --------------------------------------------------------------------------------------

NZ = asc.Nz2NdParamsFull


def nd(**changed: Any) -> Any:
    """A conversion in one matrix of 8 x 16."""
    given = asc.Nd2NzParams(1, 8, 16, 0, 16, 8, 1, 0)
    for name, value in changed.items():
        setattr(given, name, value)
    return given


def slices(first: Any, second: Any, dims: int = 0) -> Make:
    """A copy of slices to UB."""
    lists = [[asc.SliceInfo(*info) for info in infos] for infos in (first, second)]
    return lambda v: asc.data_copy(v.t, v.g, *lists, dims or len(lists[0]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda v: asc.data_copy(v.t, v.g, Params(4096, 1)),
            "AT0108: data_copy with block_count = 4096",
        ),
        (
            lambda v: asc.data_copy(v.t, v.g, Params(-1, v.n)),
            "AT0108: data_copy with block_count = -1",
        ),
        (
            lambda v: asc.data_copy(v.t, v.g, Params(1, 65536)),
            "AT0108: data_copy with block_len = 65536",
        ),
        (
            lambda v: asc.data_copy(v.t, v.g, Params(1, 1, 65536)),
            "AT0108: data_copy with src_stride = 65536",
        ),
        (
            lambda v: asc.data_copy(v.g, v.t, Params(1, 1, 0, -1)),
            "AT0108: data_copy with dst_stride = -1",
        ),
        (lambda v: asc.data_copy(v.t, v.g, Params(3, 40, 0, 5)), "AT0201: data_copy reaches 1040"),
        (lambda v: asc.data_copy(v.t[8:], v.t, Params(2, 2, 0, 0)), "AT0117: data_copy writes"),
        (lambda v: asc.data_copy(v.t[1:], v.g, Params(1, 1)), "AT0103: data_copy on"),
        (
            lambda v: asc.data_copy_pad(v.t, v.g, Ext(1, 2097152), ExtPad(float32)),
            "AT0108: data_copy_pad with block_len = 2097152",
        ),
        (
            lambda v: asc.data_copy_pad(v.t, v.g, Ext(1, 21), ExtPad(float32)),
            "AT0103: data_copy_pad with block_len = 21, not a multiple of 4",
        ),
        (
            lambda v: asc.data_copy_pad(v.t, v.g, Ext(1, 20, -1), ExtPad(float32)),
            "AT0108: data_copy_pad with src_stride = -1",
        ),
        (
            lambda v: asc.data_copy_pad(v.t, v.g, Ext(1, 20), ExtPad(float32, True, 9, 0, 0)),
            "AT0108: data_copy_pad with left_padding = 9",
        ),
        (
            lambda v: asc.data_copy_pad(v.t, v.g, Ext(1, 20), ExtPad(float32, False, 0, 9, 0)),
            "AT0108: data_copy_pad with right_padding = 9",
        ),
        (
            lambda v: asc.data_copy_pad(v.t, v.g, Params(1, 20), Pad(True, 0, 1, 2**32)),
            "AT0108: data_copy_pad with padding_value = 4294967296",
        ),
        (
            lambda v: asc.data_copy_pad(v.t, v.g, Ext(65, 60, 0, 0), ExtPad(float32)),
            "AT0201: data_copy_pad reaches 1040",
        ),
        (
            lambda v: asc.data_copy_pad(v.g, v.t, Ext(17, 252, 0, 0)),
            "AT0201: data_copy_pad reaches 1087",
        ),
        (
            lambda v: asc.data_copy(v.l, v.g, nd(n_value=16385)),
            "AT0108: data_copy with n_value = 16385",
        ),
        (
            lambda v: asc.data_copy(v.l, v.g, nd(src_d_value=0)),
            "AT0108: data_copy with src_d_value = 0",
        ),
        (
            lambda v: asc.data_copy(v.l, v.g, nd(nd_num=2, dst_nz_matrix_stride=12)),
            "AT0103: data_copy with dst_nz_matrix_stride = 12, not a multiple of 8",
        ),
        (
            lambda v: asc.data_copy(v.l, v.g, nd(dst_nz_c0_stride=7)),
            "AT0117: data_copy writes 32 bytes",
        ),
        (lambda v: asc.data_copy(v.l, v.g, nd(nd_num=2)), "AT0117: data_copy writes 512 bytes"),
        (
            lambda v: asc.data_copy(v.g, v.t, NZ(1, 4, 24, 1, 4, 24, 1)),
            "AT0103: data_copy with d_value = 24, not a multiple of 16",
        ),
        (
            lambda v: asc.data_copy(v.g, v.t, NZ(1, 4, 32, 513, 4, 32, 1)),
            "AT0108: data_copy with src_nd_matrix_stride = 513",
        ),
        (
            lambda v: asc.data_copy(v.g, v.t, NZ(1, 4, 32, 1, 4, 16, 1)),
            "AT0117: data_copy writes 192 bytes",
        ),
        (
            slices([(0, 15, 0, 2, 16)], [(0, 15, 0, 2, 16)], 2),
            "AT0108: data_copy of slices with 1 and 1 SliceInfo",
        ),
        (
            slices([(8, 8, 0, 1, 16)], [(0, 7, 0, 1, 16)]),
            "AT0108: data_copy of slices from 8 to 8 of 16",
        ),
        (
            slices([(0, 7, 0, 1, 7)], [(0, 7, 0, 1, 16)]),
            "AT0108: data_copy of slices from 0 to 7 of 7",
        ),
        (
            slices([(0, 9, 0, 1, 16)], [(0, 9, 0, 1, 16)]),
            "AT0108: data_copy of slices from 0 to 9 in dimension 0 of the destination",
        ),
        (
            slices([(0, 7, 0, 1, 16)], [(0, 15, 0, 1, 16)]),
            "AT0108: data_copy of slices with 1 pieces of 1",
        ),
        (
            slices([(0, 16, 1, 1, 32)], [(0, 16, 1, 1, 32)]),
            "AT0103: data_copy of slices whose pieces in UB begin",
        ),
        (
            slices([(0, 7, 0, 1, 8), (0, 1, 0, 2, 2)], [(0, 7, 0, 1, 8), (0, 1, 0, 1, 2)]),
            "AT0108: data_copy of slices with burst_len = 2 in dimension 1",
        ),
        (
            slices([(0, 7, 0, 1), (0, 1, 0, 1, 2)], [(0, 7, 0, 1, 8), (0, 1, 0, 1, 2)]),
            "AT0108: data_copy of slices without shape_value in dimension 0",
        ),
        (
            lambda v: asc.init_const_value(v.l, asc.InitConstValueParams(32768)),
            "AT0108: init_const_value with repeat_times = 32768",
        ),
        (
            lambda v: asc.init_const_value(v.l, asc.InitConstValueParams(2, 64, 1, 0)),
            "AT0201: init_const_value reaches 1032 elements of `l`",
        ),
        (lambda v: asc.icache_preload(16), "AT0108: icache_preload of 16 blocks of 2 KB"),
        (
            lambda v: asc.data_cache_preload(global_tensor("w", v.k.pointer("y", uint64)), -64),
            "AT0108: data_cache_preload with cache_offset = -64",
        ),
        (lambda v: asc.set_pad_value(np.int64(3)), "AT0108: set_pad_value with the padding 3"),
    ],
)
def test_limits(make: Make, message: str) -> None:
    assert f"error {message}" in said(make)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda v: asc.data_copy(v.t, v.g, Params(1, 64 / 8)), "data_copy with block_len = 8.0"),
        (lambda v: asc.data_copy(v.t, v.g, Params(v.n / 2, 1)), "data_copy with block_count = (f"),
        (
            lambda v: asc.data_copy_pad(v.g, v.t, Ext(1, 4.0)),
            "data_copy_pad with block_len = 4.0",
        ),
        (slices([(0, 7.0, 0, 1, 8)], [(0, 7, 0, 1, 8)]), "data_copy with end_index = 7.0"),
    ],
)
def test_numbers_are_integers(make: Make, message: str) -> None:
    text = said(make)
    assert f"error AT0106: {message}" in text
    assert "Python's / gives a float, // an integer" in text


def test_structs_in_the_dump() -> None:
    with Kernel() as k:
        slices([(0, 7, 0, 1, 8)], [(8, 15, 0, 1, 16)])(Tensors(k))
    assert "SliceInfo(8, 15, 0, 1, 16)" in k.trace.dump()


def test_elements_of_eight_bytes_are_padded_with_zero_only() -> None:
    text = said(
        lambda v: asc.data_copy_pad(v.t, v.g, Ext(1, 24), ExtPad(int64, True, 0, 1, 5)), int64
    )
    assert "error AT0108: data_copy_pad with the padding 5 in elements of 8 bytes" in text
    with Kernel() as k:
        v = Tensors(k, int64)
        asc.data_copy_pad(v.t, v.g, Ext(1, 24), ExtPad(int64, True, 0, 1, 0))


@pytest.mark.parametrize("value", [0.5, float("nan"), 40000])
def test_padding_fits_the_elements(value: Any) -> None:
    def call(v: Tensors) -> None:
        asc.data_copy_pad(v.t, v.g, Ext(1, 24), ExtPad(asc.int16, True, 0, 1, value))

    code = "AT0108" if value == 40000 else "AT0102"
    assert f"error {code}: data_copy_pad" in said(call, asc.int16)


EMULATED: list[tuple[dict[str, int], str]] = [
    ({"nd_num": 2, "dst_nz_matrix_stride": 256}, "several matrices, matrix strides other than 0"),
    ({"dst_nz_n_stride": 2, "dst_nz_c0_stride": 16}, "dst_nz_n_stride other than 1"),
    ({"d_value": 17, "src_d_value": 17}, "rows that end inside a block"),
    ({"n_value": 256, "src_d_value": 17, "dst_nz_c0_stride": 256}, "more than 255 rows with gaps"),
]


@pytest.mark.parametrize(("changed", "what"), EMULATED)
def test_where_documentation_and_headers_differ(changed: dict[str, int], what: str) -> None:
    """From ND to NZ in UB software does it, and not always what is documented."""
    text = said(lambda v: asc.data_copy(v.t, v.g, nd(**changed)), float16)
    assert f"AT0306: data_copy from ND to NZ in UB with {what}\n" in text
    with Kernel() as k:
        v = Tensors(k, float16)
        asc.data_copy(v.t, v.g, nd())
        asc.data_copy(v.t, v.g, nd(n_value=v.n))


def test_what_does_nothing_is_fine() -> None:
    with Kernel() as k:
        v = Tensors(k)
        asc.data_copy(v.t, v.g, Params(0, 5000))
        asc.data_copy(v.t, v.g, Params(4095, 0))
        asc.data_copy_pad(v.g, v.t, Ext(0, 5000))
        asc.data_copy_pad(v.t, v.g, Ext(4095, 0), ExtPad(float32, True, 1, 1, 0))
        asc.data_copy(v.l, v.g, nd(nd_num=0))
        asc.data_copy(v.g, v.t, NZ(0, 4, 32, 1, 4, 32, 1))
        asc.init_const_value(v.l, asc.InitConstValueParams())
    assert k.trace.count_ops() == 12
