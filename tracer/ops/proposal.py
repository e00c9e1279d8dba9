"""Rows that sort and merge: `sort32`, `mrg_sort`, `sort` and the region proposals before them.

What is sorted is a score with what belongs to it. Architectures 2201, 3510 and 3002 keep *pairs* of
8 bytes: the score (half or float) in front, the index (uint32) in the last four bytes; between a
half and its index lie two bytes that hold garbage. Architectures 2002 and 1001 keep *region
proposals* of eight elements: x1, y1, x2, y2, score, label and two that mean nothing.

Scores go from high to low; equal ones keep their order, those of an earlier list come first.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final

import numpy as np

from ..diagnostics import error
from ..language.dtypes import DataType, float16, float32, uint16, uint32
from ..language.types import ArrayType
from ..trace import Recorder, Value, describe
from ._moves import (
    READ,
    SCRATCH,
    WRITE,
    Array,
    Call,
    Contents,
    Data,
    Move,
    Part,
    counts_row,
    dense,
    move_row,
    plain,
    tensor,
)
from ._sorting import (
    ELEMENTS,
    GARBAGE,
    GROUP,
    LABEL,
    LANES,
    MERGED,
    PROPOSAL_ARCHES,
    Y1,
    descending,
    has_proposals,
    merge,
    pair,
    proposal,
    score_parts,
    unit,
    unset_fields,
)
from .spec import Form, OpSpec, Param, register

_U32: Final = np.dtype(np.uint32)

# -- single groups --------------------------------------------------------------------------------


def _pairs(scores: Array, index: Array, dtype: DataType) -> Array:
    order = descending(scores)
    found = np.empty(scores.shape, pair(dtype))
    found["score"] = np.take_along_axis(scores, order, -1)
    found["index"] = np.take_along_axis(index, order, -1)
    if dtype is float16:
        found["rest"] = GARBAGE
    return found


def _sort32(call: Call) -> Move | None:
    return _in_pairs(call, 1, 2, call["repeat_time"], False)


def _in_pairs(call: Call, scores: int, index: int, repeat: int, whole: bool) -> Move | None:
    """Scores and indices to sorted pairs, in groups of 32 or all together."""
    dtype, count = call.dtype(), LANES * repeat
    if not repeat:
        return None
    rows = 1 if whole else repeat
    parts = [
        Part(0, dense(count, 8, rows), pair(dtype), WRITE),
        Part(scores, dense(count, dtype.sizeof(), rows), dtype.np, READ),
        Part(index, dense(count, 4, rows), _U32, READ),
    ]
    if whole:
        parts.append(Part(call.at("tmp"), dense(count * 8, 1), np.dtype(np.uint8), SCRATCH))
    return Move(tuple(parts), lambda s, i: (_pairs(s, i, dtype),))


def _fields(call: Call) -> Move | None:
    element, count = plain(call.dtype()), GROUP * call["repeat_time"]
    if not count:
        return None
    size, joins = element.itemsize, call.spec is PROPOSAL_CONCAT
    fields = (np.arange(count) * ELEMENTS + call["mode_number"])[None, :] * size
    to, source = (fields, dense(count, size)) if joins else (dense(count, size), fields)
    parts = Part(0, to, element, WRITE), Part(1, source, element, READ)
    return Move(parts, lambda values: (values,))


def _rp_sort16(call: Call) -> Move | None:
    dtype, repeat = call.dtype(), call["repeat_time"]
    if not repeat:
        return None
    offsets = dense(GROUP * repeat, proposal(dtype).itemsize, repeat)
    parts = (Part(0, offsets, proposal(dtype), WRITE), *score_parts(1, offsets, dtype))

    def work(groups: Array, scores: Array) -> tuple[Array]:
        return (np.take_along_axis(groups, descending(scores), -1),)

    def data(contents: Contents) -> Data:
        return Data((), work, unset=unset_fields(contents, [(1, offsets)], offsets, dtype))

    return Move(parts, data=data, overlap="repeat")


def _sort(call: Call) -> Move | None:
    repeat, whole = call["repeat_time"], call["is_full_sort"]
    if not has_proposals(call.arch):
        return _in_pairs(call, 1, 2, repeat, whole)
    return _sort_proposals(call, repeat, whole) if repeat else None


def _sort_proposals(call: Call, repeat: int, whole: bool) -> Move:
    """The index goes into each proposal first: a float's label, or y1 and label of a half."""
    dtype, count = call.dtype(), GROUP * repeat
    size, nbytes = dtype.sizeof(), proposal(call.dtype()).itemsize
    offsets = dense(count, nbytes, 1 if whole else repeat)
    halves = (Y1, LABEL) if dtype is float16 else (LABEL,)
    word = np.dtype(f"<u{size}")
    parts = [
        Part(0, offsets, proposal(dtype), WRITE),
        *(Part(1, offsets + field * size, word, WRITE) for field in halves),
        *score_parts(1, offsets, dtype),
        Part(2, dense(count, 4, len(offsets)), _U32, READ),
    ]
    if whole:
        parts.append(Part(call.at("tmp"), dense(count * nbytes, 1), np.dtype(np.uint8), SCRATCH))

    def work(groups: Array, scores: Array, index: Array) -> list[Array]:
        words = index.astype("<u4")[..., None].view(word)
        groups = groups.copy()
        fields = groups.view(word).reshape(*groups.shape, ELEMENTS)
        for k, field in enumerate(halves):
            fields[..., field] = words[..., k]
        sorted_ = np.take_along_axis(groups, descending(scores), -1)
        return [sorted_, *(words[..., k] for k in range(len(halves)))]

    def data(contents: Contents) -> Data:
        unset = unset_fields(contents, [(1, offsets)], offsets, dtype)
        own = {int(offsets[0, 0]) + field * size for field in halves}
        return Data((), work, unset=tuple(u for u in unset if int(u[1][0, 0]) not in own))

    return Move(tuple(parts), data=data, overlap="start")


def check_lists(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The overload is one of the chip; the lists have the dtype that was said, counts have room."""
    chip, site = recorder.trace.chip, recorder.site()
    if chip.arch not in spec.extra["arches"][form.name]:
        raise error(
            "AT0304",
            f"{chip.name} (architecture {chip.arch}) does not execute {spec.name} of this form",
            site,
            hint="mrg_sort with counts works on 2201, 3510 and 2002, with asc.MrgSort4Info on "
            "2201, 3510 and 3002; mrg_sort4 is for 2002 and 1001",
        )
    if form.name == "array" and (args[3].type.element is not uint32 or not args[-1]):
        raise error(
            "AT0106",
            f"{spec.name} with {describe(args[3])} for the numbers of merged elements",
            site,
            hint="asc.array(asc.uint32, 4), and is_exhausted_suspension=True, without which they "
            "are not written; a list of integers fills the place",
        )


_SORTED: Final = (float16, float32)
_ONE: Final = {arch: tuple((t,) for t in _SORTED) for arch in ("2201", "3510", "3002", "2002")}
_LISTS: Final = (tensor("dst", "out"), Param("sort_list", "merge_lists", "in"))
_COUNTS: Final = (
    *_LISTS,
    Param("element_count_list", "counts"),
    Param("sorted_num", "counts"),
    Param("valid_bit", "int", cpp="uint16_t"),
    Param("repeat_time", "int", cpp="uint16_t"),
    Param("is_exhausted_suspension", "const_bool", "host", False),
)
_FILLED: Final = tuple(
    Param("sorted_num", "four", "rebind") if p.name == "sorted_num" else p for p in _COUNTS
)
_REPEATS: Final = {"repeat_time": (0, 255), "params.repeat_times": (0, 255)}
_TEXT: Final = (
    "dst = up to four sorted lists merged into one, from high scores to low ({}). Lengths count "
    "pairs of 8 bytes, or region proposals where the chip has those; `valid_bit` is 3, 7 or 15 "
    "for two, three or four lists. A merge may stop when a list is used up: `get_mrg_sort_result` "
    "then has how many of each it took"
)
MRG_SORT = move_row(
    "proposal",
    "mrg_sort",
    "MrgSort",
    _TEXT.format("`AscendC::MrgSort`")
    + ", as an array given for `sorted_num` has; a list there stays as it is.",
    (
        Form("list", _COUNTS),
        Form("array", _FILLED),
        Form("info", (*_LISTS, Param("params", "merge_info"))),
    ),
    _ONE,
    merge,
    checks=(check_lists,),
    one_dtype=True,
    limits=_REPEATS,
    arches={
        **dict.fromkeys(("list", "array"), ("2201", "3510", "2002")),
        "info": ("2201", "3510", "3002"),
    },
)

_NO_PROPOSALS: Final = dict.fromkeys(
    ("2201", "3510", "3002"),
    "region proposals are for architectures 2002 and 1001: use sort32 and mrg_sort, which keep "
    "pairs of score and index",
)
_PROPOSED: Final = {"2002": ((float16,), (float32,)), "1001": ((float16,),)}
_DST: Final = tensor("dst", "out")
_TIMES: Final = Param("repeat_time", "int", cpp="int32_t")
MRG_SORT4 = move_row(
    "proposal",
    "mrg_sort4",
    "MrgSort4",
    _TEXT.format("`AscendC::MrgSort4`") + ".",
    (Form("info", (_DST, Param("src", "merge_lists", "in"), Param("params", "merge_info"))),),
    _PROPOSED,
    merge,
    checks=(check_lists,),
    one_dtype=True,
    limits={"params.repeat_times": (1, 255)},
    lacks=_NO_PROPOSALS,
    arches={"info": ("2002", "1001")},
)

# -- the rest -------------------------------------------------------------------------------------

_MODE: Final = Param("mode_number", "int", cpp="int32_t")
_FIELDS: Final = {"repeat_time": (0, 255), "mode_number": (0, 5)}
_NAMES: Final = "`mode_number` is 0 to 5 for x1, y1, x2, y2, score and label."
PROPOSAL_CONCAT = move_row(
    "proposal",
    "proposal_concat",
    "ProposalConcat",
    "One element of each region proposal of dst = an element of src, 16 in each repeat "
    f"(`AscendC::ProposalConcat`). {_NAMES}",
    (Form("concat", (_DST, tensor("src"), _TIMES, _MODE)),),
    _PROPOSED,
    _fields,
    one_dtype=True,
    limits=_FIELDS,
    lacks=_NO_PROPOSALS,
)
PROPOSAL_EXTRACT = move_row(
    "proposal",
    "proposal_extract",
    "ProposalExtract",
    "dst = one element of each region proposal of src, 16 in each repeat "
    f"(`AscendC::ProposalExtract`). {_NAMES}",
    (Form("extract", (_DST, tensor("src"), _TIMES, _MODE)),),
    _PROPOSED,
    _fields,
    one_dtype=True,
    limits=_FIELDS,
    lacks=_NO_PROPOSALS,
)
RP_SORT16 = move_row(
    "proposal",
    "rp_sort16",
    "RpSort16",
    "dst = the region proposals of src by score, from high to low, in groups of 16, one in each "
    "repeat (`AscendC::RpSort16`). Works in place.",
    (Form("sort", (_DST, tensor("src"), _TIMES)),),
    _PROPOSED,
    _rp_sort16,
    one_dtype=True,
    limits={"repeat_time": (0, 255)},
    lacks=_NO_PROPOSALS,
)
_PROPOSE: Final = "sort region proposals: proposal_concat, rp_sort16, mrg_sort4"
_INDEXED: Final = tuple((t, t, uint32) for t in _SORTED)
SORT32 = move_row(
    "proposal",
    "sort32",
    "Sort32",
    "dst = pairs of score (src0) and index (src1, uint32) by score, from high to low, in groups of "
    "32, one in each repeat (`AscendC::Sort32`). Pairs have 8 bytes.",
    (Form("sort", (_DST, tensor("src0"), tensor("src1"), _TIMES)),),
    dict.fromkeys(("2201", "3510", "3002"), _INDEXED),
    _sort32,
    limits={"repeat_time": (0, 255)},
    lacks=dict.fromkeys(PROPOSAL_ARCHES, _PROPOSE),
)
_SORTABLE: Final = tuple((t, t, uint32, t) for t in _SORTED)
SORT = move_row(
    "proposal",
    "sort",
    "Sort",
    "dst = scores (concat) with their index (uint32) by score, from high to low: in groups of one "
    "repeat, or all of them with `is_full_sort` (`AscendC::Sort`). A repeat has 32 scores and "
    "gives pairs of 8 bytes; on architecture 2002 it has 16 region proposals, into which the index "
    "goes. `tmp` is as large as dst and holds garbage after a full sort.",
    (
        Form(
            "sort",
            (
                _DST,
                tensor("concat"),
                tensor("index"),
                tensor("tmp", "lvalue"),
                _TIMES,
                Param("is_full_sort", "const_bool", "template", False),
            ),
        ),
    ),
    dict.fromkeys(("2201", "3510", "2002"), _SORTABLE),
    _sort,
    limits={"repeat_time": (0, 255)},
    typed={"sort": (0,)},
)


def _four(recorder: Recorder, form: Form, args: tuple[Any, ...]) -> Value:
    return ArrayType.proxy.result(ArrayType(uint16, 4), recorder.block)  # type: ignore[no-any-return]


MRG_SORT_RESULT = counts_row(
    "proposal",
    "get_mrg_sort_result",
    "GetMrgSortResult",
    "How many elements of each of the four lists the last `mrg_sort` took that stopped when a list "
    "was used up (`GetMrgSortResult`): four numbers, uint16.",
    MERGED,
    "mrg_sort that stops when a list is used up",
    {"1001": "architecture 1001 has no such register"},
    _four,
    outputs=4,
)


def _length(recorder: Recorder, form: Form, args: tuple[Any, ...]) -> Value:
    return uint32.proxy(uint32, recorder.block)  # type: ignore[no-any-return]


def _check_sorted(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """Scores are float16 or float32."""
    if args[1] not in _SORTED:
        raise error(
            "AT0102",
            f"{spec.name} of {args[1]}",
            recorder.site(),
            hint="scores are float16 or float32",
        )


def elements_of(dtype: DataType, arch: str) -> int:
    """Elements of `dtype` that one sorted element takes."""
    return unit(arch, dtype).itemsize // dtype.sizeof()


def _length_row(name: str, cpp: str, param: str, doc: str) -> OpSpec:
    return register(
        OpSpec(
            name,
            cpp,
            "sort_length",
            f"{doc} (`AscendC::{cpp}<T>`): 4 for each half or 2 for each float on 2201, 3510 and "
            "3002, else 8; uint32. The documentation says bytes, the headers count elements.",
            (
                Form(
                    "get",
                    (
                        Param(param, "int", cpp="uint32_t"),
                        Param("dtype", "dtype", "template", float32),
                    ),
                ),
            ),
            pure=True,
            checks=(_check_sorted,),
            result=_length,
            extra=MappingProxyType({"sign": "always"}),
        )
    )


GET_SORT_LEN = _length_row(
    "get_sort_len", "GetSortLen", "elem_count",
    "Elements of a sorted list, for that many scores",
)  # fmt: skip
GET_SORT_OFFSET = _length_row(
    "get_sort_offset", "GetSortOffset", "elem_offset",
    "Elements of a sorted list in front of its element number `elem_offset`",
)  # fmt: skip
