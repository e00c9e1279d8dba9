"""The text of calls that move elements by address, line by line, and against the prototypes."""

from __future__ import annotations

from typing import Any

import pytest

import asctrace as asc
from asctrace.lowering.text import emit
from tests.chips import chip_of
from tests.lowering_kit import Kernel, body, local
from tests.prototypes import call_of, misfit
from tests.reference import PROTOTYPES

EVERY = [made for found in PROTOTYPES.values() for made in found]


def fits(line: str) -> bool:
    """Whether some prototype takes the call in a line."""
    return any(not misfit(call_of(line), made) for made in EVERY)


def half(name: str, at: int) -> Any:
    return local(name, at, 1024, asc.float16)


def lines(arch: str, call: Any) -> list[str]:
    """The statements behind the tensors."""
    with Kernel(soc=chip_of(arch)) as k:
        call(k)
    given = tuple(f"AscendC::LocalTensor<{t}(" for t in ("half> a", "half> b", "uint32_t> o"))
    return [line for line in body(emit(k.trace)).splitlines() if not line.startswith(given)]


def operands() -> tuple[Any, Any, Any]:
    return half("a", 0), half("b", 8192), local("o", 16384, 1024, asc.uint32)


def _gather(k: Any) -> None:
    a, b, o = operands()
    asc.gather(a, b, o, 2, 100)
    asc.gather(a, b, o, 0, 128, 2, 8)
    asc.gather(a, b, o, 0, [3, 0], 2, 8)
    asc.gather(a, b, o, 0, k.scalar("n"))


def _scatter(k: Any) -> None:
    a, b, o = operands()
    asc.scatter(a, b, o, 0, 100)
    asc.scatter(a, b, o, 0, 64, 1, 8)


def _gather_mask(k: Any) -> None:
    a, b, o = operands()
    params = asc.GatherMaskParams(1, 2, 8, 0)
    count = asc.gather_mask(a, b, 1, True, 70, params)
    count.name = "kept"
    bits = o.reinterpret_cast(asc.uint16)
    asc.gather_mask(a, b, bits, False, 0, params)
    left = asc.get_gather_mask_remain_count()
    o.set_value(0, count + left)


def _transpose(k: Any) -> None:
    a, b, _ = operands()
    asc.transpose(a, b)
    kind = asc.TransposeType.TRANSPOSE_NHWC2NCHW
    params = asc.TransposeParamsExt(1, k.scalar("c"), 4, 4, kind)
    asc.transpose(a, b, local("t", 65536, 65536, asc.uint8), params)


def _five(k: Any) -> None:
    a, b, _ = operands()
    lists = [[t[16 * i :] for i in range(16)] for t in (a, b)]
    asc.trans_data_to_5hd(*lists, asc.TransDataTo5HDParams())
    addresses = [[t.get_phy_addr(16 * i) for i in range(16)] for t in (a, b)]
    asc.trans_data_to_5hd(*addresses, asc.TransDataTo5HDParams(repeat_times=2, dst_rep_stride=16))


def _merge(k: Any) -> None:
    a, b, _ = operands()

    def three() -> Any:
        return asc.MrgSortSrcList(asc.float16, b, b[128:], b[256:])

    info = asc.MrgSort4Info([32, 32, k.scalar("n")], valid_bit=7)
    asc.mrg_sort(a, three(), info)
    asc.mrg_sort(a, three(), [32, 32, 32, 0], [0, 0, 0, 0], 7, 1)
    done = asc.array(asc.uint32, 4)
    done.name = "done"
    asc.mrg_sort(a, three(), [32, 32, 32, 0], done, 7, 1, True)
    first, *_ = asc.get_mrg_sort_result()
    local("o", 16384, 64, asc.uint32).set_value(0, first + done[1])


def _sort(k: Any) -> None:
    a, b, o = operands()
    asc.sort32(a, b, o, 4)
    asc.sort(a, b, o, half("t", 32768), 4, True)
    at = asc.get_sort_offset(k.scalar("n"), asc.float16)
    asc.sort32(a[at:], b, o, asc.get_sort_len(0, asc.float16))


def _proposals(k: Any) -> None:
    a, b, _ = operands()
    asc.proposal_concat(a, b, 2, 4)
    asc.rp_sort16(a, a, 2)
    asc.mrg_sort4(
        b, asc.MrgSortSrcList(asc.float16, a, a[128:]), asc.MrgSort4Info([16, 16], False, 3)
    )
    asc.proposal_extract(b, a, 2, 5)


def _bilinear(k: Any) -> None:
    a, b, o = operands()
    w, t = half("w", 32768), local("t", 65536, 65536, asc.uint8)
    asc.bilinear_interpolation(a, b, o, w, 128, 2, True, 1, 128, 2, t)
    asc.gatherb(b.reinterpret_cast(asc.uint16), w.reinterpret_cast(asc.uint16), o, 2,
                asc.GatherRepeatParams(1, 8))  # fmt: skip


LISTS = [", ".join([f"{t}", *(f"{t}[{16 * k}]" for k in range(1, 16))]) for t in ("a", "b")]
NUMBERS = [
    ", ".join(f"static_cast<uint64_t>({t}.GetPhyAddr({16 * k}))" for k in range(16))
    for t in ("a", "b")
]
GOLDEN = [
    ("2201", _gather, [
        "AscendC::Gather(a, b, o, 2, 100);",
        "AscendC::Gather(a, b, o, 0, 128, 2, 8);",
        "uint64_t mask[2] = {3, 0};",
        "AscendC::Gather(a, b, o, 0, mask, 2, 8);",
        "AscendC::Gather(a, b, o, 0, n);",
    ]),
    ("2002", _scatter, [
        "AscendC::Scatter(a, b, o, 0, 100);",
        "AscendC::Scatter(a, b, o, 0, 64, 1, 8);",
    ]),
    ("2201", _gather_mask, [
        "uint64_t kept = 0;",
        "AscendC::GatherMask(a, b, 1, true, 70, AscendC::GatherMaskParams(1, 2, 8, 0), kept);",
        "uint64_t count = 0;",
        ("AscendC::GatherMask(a, b, o.ReinterpretCast<uint16_t>(), false, 0, "
        "AscendC::GatherMaskParams(1, 2, 8, 0), count);"),
    ]),
    ("2201", _transpose, [
        "AscendC::Transpose(a, b);",
        "AscendC::LocalTensor<uint8_t> t(AscendC::TPosition::VECIN, 65536, 65536);",
        ("AscendC::Transpose(a, b, t, AscendC::TransposeParamsExt(1, static_cast<uint16_t>(c), 4, "
        "4, AscendC::TransposeType::TRANSPOSE_NHWC2NCHW));"),
    ]),
    ("2201", _five, [
        f"AscendC::LocalTensor<half> dst_list[16] = {{{LISTS[0]}}};",
        f"AscendC::LocalTensor<half> src_list[16] = {{{LISTS[1]}}};",
        ("AscendC::TransDataTo5HD<half>(dst_list, src_list, "
        "AscendC::TransDataTo5HDParams(false, false, 1, 0, 0));"),
        f"uint64_t dst_list_1[16] = {{{NUMBERS[0]}}};",
        f"uint64_t src_list_1[16] = {{{NUMBERS[1]}}};",
        ("AscendC::TransDataTo5HD<half>(dst_list_1, src_list_1, "
        "AscendC::TransDataTo5HDParams(false, false, 2, 16, 0));"),
    ]),
    ("2201", _merge, [
        "uint16_t element_lengths[4] = {32, 32, static_cast<uint16_t>(n), 0};",
        ("AscendC::MrgSort(a, AscendC::MrgSortSrcList<half>(b, b[128], b[256], b[256]), "
        "AscendC::MrgSort4Info(element_lengths, false, 7, 1));"),
        "uint16_t element_counts[4] = {32, 32, 32, 0};",
        "uint32_t sorted_num[4] = {0, 0, 0, 0};",
        ("AscendC::MrgSort<half, false>(a, AscendC::MrgSortSrcList<half>(b, b[128], b[256], "
        "b[256]), element_counts, sorted_num, 7, 1);"),
        "uint32_t done[4] = {};",
        ("AscendC::MrgSort<half, true>(a, AscendC::MrgSortSrcList<half>(b, b[128], b[256], "
        "b[256]), element_counts, done, 7, 1);"),
        "uint16_t counts[4];",
        "AscendC::GetMrgSortResult(counts[0], counts[1], counts[2], counts[3]);",
    ]),
    ("2201", _sort, [
        "AscendC::Sort32(a, b, o, 4);",
        "AscendC::LocalTensor<half> t(AscendC::TPosition::VECIN, 32768, 1024);",
        "AscendC::Sort<half, true>(a, b, o, t, 4);",
        "AscendC::Sort32(a[AscendC::GetSortOffset<half>(n)], b, o, AscendC::GetSortLen<half>(0));",
    ]),
    ("2002", _proposals, [
        "AscendC::ProposalConcat(a, b, 2, 4);",
        "AscendC::RpSort16(a, a, 2);",
        "uint16_t element_lengths[4] = {16, 16, 0, 0};",
        ("AscendC::MrgSort4(b, AscendC::MrgSortSrcList<half>(a, a[128], a[128], a[128]), "
        "AscendC::MrgSort4Info(element_lengths, false, 3, 1));"),
        "AscendC::ProposalExtract(b, a, 2, 5);",
    ]),
    ("2201", _bilinear, [
        "AscendC::LocalTensor<half> w(AscendC::TPosition::VECIN, 32768, 1024);",
        "AscendC::LocalTensor<uint8_t> t(AscendC::TPosition::VECIN, 65536, 65536);",
        "AscendC::BilinearInterpolation(a, b, o, w, 128, 2, true, 1, 128, 2, t);",
        ("AscendC::Gatherb(b.ReinterpretCast<uint16_t>(), w.ReinterpretCast<uint16_t>(), o, 2, "
        "AscendC::GatherRepeatParams(1, 8));"),
    ]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("arch", "call", "wanted"), GOLDEN, ids=[call.__name__.strip("_") for _, call, _ in GOLDEN]
)
def test_text(arch: str, call: Any, wanted: list[str]) -> None:
    found = lines(arch, call)
    assert found[: len(wanted)] == wanted
    calls = [line for line in found if line.startswith("AscendC::") and "LocalTensor<" not in line]
    assert calls
    assert [line for line in calls if not fits(line)] == []


def test_prototypes_are_told_apart() -> None:
    assert call_of("AscendC::Sort<half, true>(a, b[1, 2], f(3, 4));") == (
        "Sort", ("half", "true"), ("a", "b[1, 2]", "f(3, 4)"),
    )  # fmt: skip
    assert not fits("AscendC::Gather(a, b, o, 0, 64, 1);")
    assert not fits("AscendC::Sort32<half, true>(a, b, o, 4);")
    assert not fits("AscendC::Other(a);")


def test_a_result_in_a_branch_is_declared_outside() -> None:
    with Kernel() as k:
        a, b, o = operands()
        kept = k.var("kept", 0, asc.uint64)
        with k.if_(k.scalar("n") > 3):
            count = asc.gather_mask(a, b, 1, False, 0, asc.GatherMaskParams())
            k.assign((kept, count))
        o.set_value(0, kept)
    text = body(emit(k.trace))
    assert "uint64_t kept = 0;\n" in text
    call = "AscendC::GatherMask(a, b, 1, false, 0, AscendC::GatherMaskParams(1, 1, 0, 0), kept);"
    assert f"    {call}\n}}" in text
