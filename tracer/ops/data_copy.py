"""Rows of data movement between global and on-chip memory."""

from __future__ import annotations

from typing import Any

from ..diagnostics import error
from ..language.enums import MEMORY
from ..language.types import LocalTensorType
from ..trace import Recorder, Value, describe
from . import rules
from .spec import Form, OpSpec, Param, register


def _check_count(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    dst, src, count = args
    site = recorder.site()
    if dst.dtype is not src.dtype:
        raise error(
            "AT0102",
            f"{spec.name} from {describe(src)} to {describe(dst)}: the dtypes differ",
            site,
            hint="copy between tensors of one dtype",
        )
    on_chip = [t for t in (dst, src) if type(t.type) is LocalTensorType]
    for tensor in on_chip:
        if MEMORY[tensor.type.position] not in ("UB", "L1"):
            raise error(
                "AT0116",
                f"{spec.name} does not reach {describe(tensor)}",
                site,
                hint="it moves data between global memory, UB and L1",
            )
        if fault := rules.bad_start(spec, tensor, site):
            raise fault
    if len(on_chip) == 2 and any(MEMORY[t.type.position] != "UB" for t in on_chip):
        raise error(
            "AT0306",
            f"{spec.name} from {describe(src)} to {describe(dst)}",
            site,
            hint="on the chip it copies from UB to UB; L1 is reached from global memory",
        )
    if isinstance(count, Value):
        return
    fault = (
        rules.bad_copy(spec, count, dst.dtype, site)
        or rules.too_short(spec, dst, count, site)
        or rules.too_short(spec, src, count, site)
    )
    if fault is None and len(on_chip) == 2:
        fault = rules.overlap(spec, dst, src, count, site)
    if fault is not None:
        raise fault


def _form(name: str, dst: str, src: str, pipe: str) -> Form:
    params = (
        Param("dst", dst, "out"),
        Param("src", src, "in"),
        Param("count", "int", cpp="uint32_t"),
    )
    return Form(name, params, pipe)


DATA_COPY = register(
    OpSpec(
        "data_copy",
        "DataCopy",
        "data_copy",
        "Copy `count` elements (`DataCopy`). The bytes and the local addresses are multiples of "
        "32; GM to UB or L1 runs on MTE2, UB or L1 to GM on MTE3, UB to UB on V.",
        (
            _form("gm_to_ub", "local", "global", "MTE2"),
            _form("ub_to_ub", "local", "local", "V"),
            _form("ub_to_gm", "global", "local", "MTE3"),
        ),
        pipe="MTE2",
        checks=(_check_count,),
    )
)
