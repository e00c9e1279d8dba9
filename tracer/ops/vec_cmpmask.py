"""Rows of the register of 128 bits that `compare` without `dst` writes and `select` reads.

The documentation asks for 128 bytes where `get_cmp_mask` writes 128 bits: what is behind the bits
is undefined afterwards.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Any, Final

from ..language.dtypes import ALL
from ..trace import Recorder
from . import rules
from ._vector import check_dtypes
from .spec import Form, OpSpec, Param, register

#: Bytes of the register, and what `get_cmp_mask` may write.
NBYTES: Final = 16
ROOM: Final = 128


def check_tensor(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The tensor begins at 16 bytes and has room."""
    tensor, site = args[0], recorder.site()
    need = ROOM if spec is GET_CMP_MASK else NBYTES
    fault = rules.bad_start(spec, tensor, site, NBYTES)
    fault = fault or rules.too_short(spec, tensor, need // tensor.type.dtype.sizeof(), site)
    if fault is not None:
        raise fault


def _row(name: str, cpp: str, doc: str, role: str, bits: tuple[int, ...]) -> OpSpec:
    dtypes = tuple(t for t in ALL if t.bits in bits and t.kind != "b")
    param = Param("dst" if role == "out" else "src", "local", role)
    return register(
        OpSpec(
            name,
            cpp,
            "vec_cmpmask",
            doc,
            (Form("call", (param,)),),
            pipe="V",
            dtypes=MappingProxyType(dict.fromkeys(("2201", "3510", "2002"), dtypes)),
            checks=(check_dtypes, check_tensor),
            semantics=lambda *values: values,
        )
    )


GET_CMP_MASK = _row(
    "get_cmp_mask", "GetCmpMask",
    "The first 16 bytes of dst = the bits of the register that `compare` without dst writes "
    f"(`AscendC::GetCmpMask`). dst has {ROOM} bytes; those behind the bits are undefined "
    "afterwards.",
    "out", (8, 16, 32),
)  # fmt: skip
SET_CMP_MASK = _row(
    "set_cmp_mask", "SetCmpMask",
    "The register that `select` without a mask reads = the first 16 bytes of src "
    "(`AscendC::SetCmpMask`): bits, or a number of the dtype of the elements.",
    "in", (8, 16, 32, 64),
)  # fmt: skip
