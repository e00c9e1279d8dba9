"""Kernels of a few lines, and what the checks and the simulator say of them."""

from __future__ import annotations

import linecache
import textwrap
import warnings
from typing import Any

import numpy as np
import pytest

import asctrace as asc
from asctrace.lowering.checks import check
from asctrace.tracer.diagnostics import Finding, KernelError

#: What each kernel begins with, on lines 1 to 11; its own lines come from 12 on.
HEAD = """\
def kernel(x: asc.GlobalAddress, n: int, m: int):
    gm = asc.GlobalTensor()
    gm.set_global_buffer(x)
    pipe = asc.TPipe()
    que = asc.TQue(VECIN, 2)
    pipe.init_buffer(que, 2, 256)
    out = asc.TQue(VECOUT, 1)
    pipe.init_buffer(out, 1, 256)
    E = asc.HardEvent.MTE2_V
    F = asc.HardEvent.V_MTE3
    G = asc.HardEvent.MTE2_S
"""
FIRST = 12
QUE = "`que` (TQue in VECIN) from kernel.py:5:11"
OUT = "`out` (TQue in VECOUT) from kernel.py:7:11"


def make(text: str, head: str = HEAD) -> Any:
    """The kernel whose own lines are `text`."""
    source = head + textwrap.indent(textwrap.dedent(text).strip("\n"), "    ") + "\n"
    linecache.cache.pop("kernel.py", None)
    names: dict[str, Any] = {
        "asc": asc, "VECIN": asc.TPosition.VECIN, "VECOUT": asc.TPosition.VECOUT,
        "f32": asc.float32,
    }  # fmt: skip
    exec(compile(source, "kernel.py", "exec"), names)
    return asc.jit(names["kernel"])


X = np.ones(64, np.float32)


def findings(text: str, **options: Any) -> list[Finding]:
    kernel = make(text)
    return check(kernel.trace(X, 1, 1, **options).trace)


def lines(found: Finding) -> list[int]:
    return [span.line - FIRST + 1 for span in found.spans]


def only(text: str) -> Finding:
    """The one finding, which the simulator shares when it is an error."""
    (found,) = findings(text)
    if found.severity == "error":
        with pytest.raises(KernelError) as caught:
            make(text)[1](X.copy(), 1, 1)
        (ran,) = caught.value.findings
        assert (ran.code, ran.message, ran.spans[0]) == (found.code, found.message, found.spans[0])
    return found


def said(found: Finding) -> tuple[str, str, str, list[int]]:
    return found.code, found.severity, found.message, lines(found)


def clean(text: str, *inputs: tuple[int, int]) -> None:
    """No finding, and none when it runs."""
    assert findings(text) == []
    kernel = make(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n, m in inputs or ((0, 0), (3, 1), (5, 7)):
            kernel[1](X.copy(), n, m)
