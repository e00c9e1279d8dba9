"""The simulator: runs a trace on NumPy memories, stricter than the hardware.

`compile_trace` turns a trace into a Python program once; `simulate` runs it over a grid. May import
`tracer`; imported by the rest of `runtime`.
"""

from . import (
    arith,
    atomics,
    block_sync,
    buffers,
    caching,
    cmpmask,
    cmpsel,
    copies,
    copy,
    data,
    debug,
    deq,
    framework,
    list_tensor,
    masks,
    moves,
    pools,
    quant,
    reduce,
    reduce_all,
    system,
    tensors,
    vector,
    views,
)  # registers the handlers
from .engine import Engine
from .params import SimParams, SimResult
from .program import Program, compile_trace, simulate
from .registry import emits, simulated, simulates

__all__ = [
    "Engine",
    "Program",
    "SimParams",
    "SimResult",
    "compile_trace",
    "emits",
    "simulate",
    "simulated",
    "simulates",
]

_HANDLERS = (
    arith, atomics, block_sync, buffers, caching, cmpmask, cmpsel, copies, copy, data, debug, deq,
    framework, list_tensor, masks, moves, pools, quant, reduce, reduce_all, system, tensors, vector,
    views,
)  # fmt: skip
