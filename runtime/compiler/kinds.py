"""Which cores a kernel needs, from what its trace uses."""

from __future__ import annotations

from ...tracer.diagnostics import error
from ...tracer.language.enums import MEMORY
from ...tracer.language.types import LocalTensorType
from ...tracer.ops import block_sync
from ...tracer.trace import Op, Trace, Value
from .binary import KernelType


def infer(trace: Trace) -> KernelType:
    """Vector cores for tensors in UB, cube cores for those in L1, L0 and the tables, or both.

    A kernel with neither runs on vector cores. Rows that hold a block until others have come
    (`meets`) use the hardware for it unless they take a workspace.
    """
    vector = cube = hard = False
    for node in trace.walk():
        if not isinstance(node, Op):
            continue
        if "meets" in node.spec.extra and all(p.kind != "global" for p in node.form.params):
            hard = True
        for value in (node.result, *node.args):
            if isinstance(value, Value) and type(value.type) is LocalTensorType:
                memory = MEMORY[value.type.position]
                vector = vector or memory == "UB"
                cube = cube or memory not in ("UB", "GM")
    if vector and cube:
        return KernelType.MIX_AIC_1_2
    if cube:
        return KernelType.MIX_AIC_1_0 if hard else KernelType.AIC_ONLY
    return KernelType.MIX_AIV_1_0 if hard else KernelType.AIV_ONLY


def check(trace: Trace, kind: KernelType) -> None:
    """A kernel of one kind of cores has no flags that belong to both; raises AT0306."""
    for node in trace.walk():
        if not isinstance(node, Op) or node.spec not in _FLAGS or kind.mixed:
            continue
        if between := block_sync.BETWEEN.get(node.args[1]):
            raise error(
                "AT0306",
                f"{node.spec.name} in mode {node.args[1]}, which is between {between}, in a kernel "
                f"of kind {kind.name}",
                node.site,
                hint="asc.jit(kernel_type=asc.KernelType.MIX_AIC_1_2) makes a kernel of both; the "
                "cube core runs the same text",
            )


_FLAGS = (block_sync.CROSS_CORE_SET_FLAG, block_sync.CROSS_CORE_WAIT_FLAG)
