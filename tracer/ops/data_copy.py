"""Rows of data movement between global and on-chip memory."""

from __future__ import annotations

from typing import Any

from ..diagnostics import error
from ..language.enums import MEMORY
from ..language.types import LocalTensorType
from ..trace import Recorder, Value, describe
from .spec import Form, OpSpec, Param, register

BLOCK_BYTES = 32


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
    size = dst.dtype.sizeof()
    for tensor in (dst, src):
        if type(tensor.type) is not LocalTensorType:
            continue
        if MEMORY[tensor.type.position] not in ("UB", "L1"):
            raise error(
                "AT0116",
                f"{spec.name} does not reach {describe(tensor)}",
                site,
                hint="it moves data between global memory, UB and L1",
            )
        if tensor.offset is not None and tensor.offset % BLOCK_BYTES:
            raise error(
                "AT0103",
                f"{spec.name} starts {tensor.offset} bytes into {describe(tensor)}",
                site,
                hint=f"a local address is a multiple of {BLOCK_BYTES} bytes: "
                f"{BLOCK_BYTES // size} elements of {dst.dtype}",
            )
    if isinstance(count, Value):
        return
    if count < 0:
        raise error("AT0108", f"{spec.name} of {count} elements", site, hint="count from 0 up")
    if count * size % BLOCK_BYTES:
        raise error(
            "AT0103",
            f"{spec.name} of {count} elements of {dst.dtype} is {count * size} bytes, "
            f"not a multiple of {BLOCK_BYTES}",
            site,
            hint=f"copy a multiple of {BLOCK_BYTES // size} elements",
        )
    for tensor in (dst, src):
        if type(tensor.size) is int and count > tensor.size:
            raise error(
                "AT0201",
                f"{spec.name} of {count} elements, but {describe(tensor)} has {tensor.size}",
                site,
                hint="make the tile smaller or the buffer larger",
            )


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
        "32; GM to UB runs on MTE2, UB to GM on MTE3, UB to UB on V.",
        (
            _form("gm_to_ub", "local", "global", "MTE2"),
            _form("ub_to_ub", "local", "local", "V"),
            _form("ub_to_gm", "global", "local", "MTE3"),
        ),
        pipe="MTE2",
        checks=(_check_count,),
    )
)
