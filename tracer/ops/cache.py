"""Rows of the caches: data stored by the scalar unit, and instructions."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final

from ..diagnostics import error
from ..language.dtypes import int64, uint64
from ..language.enums import DcciDst
from ..trace import Recorder, Value, describe
from ._chips import on_chips
from .spec import Form, OpSpec, Param, register

#: Bytes of a line of the data cache.
LINE: Final = 64
#: Where the calls are documented.
_DATA: Final = ("2201", "3510", "3002", "2002")
_PRELOAD: Final = ("2201", "3510", "2002")
_STATUS: Final = ("2201", "3510")
#: 2 KB blocks in the instruction cache of a cube core; a vector core has half.
_INSTRUCTIONS: Final = 16


def _check_clean(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The line goes to global memory, by a `dcci_dst` that the chip has."""
    if form.name == "global":
        return
    target, chip = args[1], recorder.trace.chip
    if target is DcciDst.CACHELINE_UB:
        raise error(
            "AT0116",
            f"{spec.name} with CACHELINE_UB on {describe(args[2])}",
            recorder.site(),
            hint="a GlobalTensor is in global memory: CACHELINE_OUT",
        )
    if target is DcciDst.CACHELINE_ATOMIC and chip.arch != "3510":
        raise error(
            "AT0304",
            f"{chip.name} (architecture {chip.arch}) has no CACHELINE_ATOMIC",
            recorder.site(),
            hint="use CACHELINE_OUT",
        )
    if chip.arch == "2002":
        raise error(
            "AT0304",
            f"{chip.name} (architecture {chip.arch}) takes no dcci_dst",
            recorder.site(),
            hint="leave it out",
        )


_LINES = Param("entire_type", "cache_line", "template")
_WHERE = Param("dcci_dst", "dcci_dst", "template")
_TENSOR = Param("dst", "global", "object")

CLEAN_AND_INVALID = register(
    OpSpec(
        "data_cache_clean_and_invalid",
        "DataCacheCleanAndInvalid",
        "data_cache",
        "Write what the scalar unit has stored from its data cache to global memory, and read anew "
        "from there (`DataCacheCleanAndInvalid`): `SINGLE_CACHE_LINE` from the start of `dst` to "
        "the end of its 64-byte line, `ENTIRE_DATA_CACHE` everything, whatever `dst` is.",
        (Form("to", (_LINES, _WHERE, _TENSOR)), Form("global", (_LINES, _TENSOR))),
        checks=(on_chips, _check_clean),
        extra=MappingProxyType({"arches": _DATA, "typed": {"to": (2,), "global": (1,)}}),
    )
)


def _check_preload(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """A tensor of uint64 in global memory, and an offset in range."""
    src, offset = args
    site = recorder.site()
    if src.dtype is not uint64:
        raise error(
            "AT0102",
            f"{spec.name} of {describe(src)}",
            site,
            hint="it takes a GlobalTensor of uint64",
        )
    if not isinstance(offset, Value) and (fault := bad_offset(spec, offset, site)):
        raise fault


def bad_offset(spec: OpSpec, offset: int, site: Any) -> Any:
    """The error of a line in front of the tensor."""
    if offset >= 0:
        return None
    return error(
        "AT0108", f"{spec.name} with cache_offset = {offset}", site, hint="bytes from 0 up"
    )


DATA_PRELOAD = register(
    OpSpec(
        "data_cache_preload",
        "DataCachePreload",
        "data_cache",
        "Load the 64-byte line at `cache_offset` bytes from the start of a uint64 tensor into the "
        "data cache (`DataCachePreload`). It changes no value.",
        (Form("line", (Param("src", "global", "in"), Param("cache_offset", "int"))),),
        checks=(on_chips, _check_preload),
        extra=MappingProxyType({"arches": _DATA}),
    )
)


def _check_instructions(
    spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder
) -> None:
    """The length is in range."""
    length = args[0]
    if not isinstance(length, Value) and (fault := bad_length(spec, length, recorder.site())):
        raise fault


def bad_length(spec: OpSpec, length: int, site: Any) -> Any:
    """The error of more than an instruction cache holds."""
    if 0 <= length < _INSTRUCTIONS:
        return None
    return error(
        "AT0108",
        f"{spec.name} of {length} blocks of 2 KB",
        site,
        hint="less than the cache holds: 16 on a cube core, 8 on a vector core",
    )


ICACHE_PRELOAD = register(
    OpSpec(
        "icache_preload",
        "ICachePreLoad",
        "instruction_cache",
        "Load the instructions from here on into the instruction cache, `pre_fetch_len` blocks of "
        "2 KB (`ICachePreLoad`): less than the 16 of a cube core or the 8 of a vector core.",
        (Form("from_here", (Param("pre_fetch_len", "int"),)),),
        checks=(on_chips, _check_instructions),
        extra=MappingProxyType({"arches": _PRELOAD}),
    )
)


def _status_result(recorder: Recorder, form: Form, args: tuple[Any, ...]) -> Value:
    return int64.proxy(int64, recorder.block)  # type: ignore[no-any-return]


ICACHE_STATUS = register(
    OpSpec(
        "get_icache_preload_status",
        "GetICachePreloadStatus",
        "instruction_cache",
        "Whether `icache_preload` is still at work (`GetICachePreloadStatus`): int64, 1 while it "
        "is, 0 after; in the simulator always 0.",
        (Form("get", ()),),
        result=_status_result,
        checks=(on_chips,),
        extra=MappingProxyType({"arches": _STATUS}),
    )
)
