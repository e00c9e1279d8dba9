"""Rows of device-side printing."""

from __future__ import annotations

from .spec import Form, OpSpec, Param, register

PRINTF = register(
    OpSpec(
        "printf",
        "printf",
        "debug",
        "What `print(...)` in a kernel records: text and runtime scalars in order "
        "(`AscendC::printf`).",
        (Form("pieces", (Param("pieces", "pieces"),)),),
    )
)
