"""What a kernel asks of its core: numbers, modes, addresses, the counter, watched memory."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...tracer.chip import BLOCK_BYTES
from ...tracer.diagnostics import Finding, error, finding
from ...tracer.language.conversion import converter, float_to_int
from ...tracer.language.dtypes import DataType, float16, float32, int32
from ...tracer.language.enums import RoundMode
from ...tracer.ops import common, scalar, sys_var
from ...tracer.ops._numeric import narrowed
from ...tracer.trace import Op
from .clocks import PIPES
from .races import named
from .registry import Access, Executor, emits, fill, nothing, simulates

if TYPE_CHECKING:
    from .codegen import Writer
    from .core import Core

# -- numbers --------------------------------------------------------------------------------------

_ROUND: dict[RoundMode, Callable[[float], float]] = {
    RoundMode.CAST_RINT: round,
    RoundMode.CAST_FLOOR: math.floor,
    RoundMode.CAST_CEIL: math.ceil,
    RoundMode.CAST_ROUND: lambda x: math.copysign(math.floor(abs(x) + 0.5), x),
}


def _to_int(mode: RoundMode) -> Callable[[float], int]:
    rounded = _ROUND[mode]

    def cast(value: float) -> int:
        # What is not finite has no whole number, but saturates like the largest ones.
        return float_to_int(rounded(value) + 0.0 if math.isfinite(value) else value, int32)

    return cast


def _to_half(mode: RoundMode) -> Callable[[float], float]:
    return lambda value: float(narrowed(np.array([value], np.float32), float16, mode)[0])


_CASTS: dict[DataType, Callable[[RoundMode], Callable[[float], Any]]] = {
    int32: _to_int,
    float16: _to_half,
}


@emits(scalar.SCALAR_CAST)
def _cast(op: Op, writer: Writer) -> None:
    assert op.result is not None
    value, dtype, mode = op.args
    source = value.type if hasattr(value, "type") else None
    convert, cast = converter(source, float32), _CASTS[dtype](mode)
    name = writer.bind(lambda number: cast(convert(number)), "c")
    writer.line(f"{writer.define(op.result)} = {name}({writer.value(value)})")


@emits(family="scalar_functions")
def _bits(op: Op, writer: Writer) -> None:
    assert op.result is not None
    semantics: Any = op.spec.semantics
    number = f"int({writer.value(op.args[0])}) & {2**64 - 1}"
    rest = ", ".join([number, *map(str, op.args[1:])])
    writer.line(f"{writer.define(op.result)} = {writer.bind(semantics, 'c')}({rest})")


# -- the core -------------------------------------------------------------------------------------


@emits(
    sys_var.GET_DATA_BLOCK_SIZE_IN_BYTES,
    sys_var.GET_SUB_BLOCK_IDX,
    sys_var.GET_SUB_BLOCK_NUM,
    sys_var.GET_TASK_RATIO,
)
def _constant(op: Op, writer: Writer) -> None:
    assert op.result is not None
    number = op.spec.extra["number"]
    writer.ranges[id(op.result)] = (number, number)
    writer.line(f"{writer.define(op.result)} = {number}")


def ticks(core: Core) -> int:
    """The system counter: it counts how often it was read in the block."""
    count: int = core.notes.get("ticks", 0) + 1
    core.notes["ticks"] = count
    return count


@simulates(sys_var.GET_SYSTEM_CYCLE)
def _cycle(op: Op, core: Core) -> Executor:
    return lambda: ticks(core)


@simulates(sys_var.GET_PROGRAM_COUNTER, sys_var.GET_ARCH_VERSION)
def _refused(op: Op, core: Core) -> Executor:
    what = {
        sys_var.GET_PROGRAM_COUNTER: "there is no machine code here",
        sys_var.GET_ARCH_VERSION: "its values are not documented; asc.jit(soc=...) names the chip",
    }[op.spec]

    def run(*values: Any) -> None:
        raise error("AT0307", f"{op.spec.name} has no value in the simulator", op.site, hint=what)

    return run


@simulates(sys_var.TRAP)
def _trap(op: Op, core: Core) -> Executor:
    def run() -> None:
        raise error(
            "AT0205",
            "the kernel stops itself",
            op.site,
            hint="on the device trap() stops the core here",
        )

    return run


# -- modes and addresses --------------------------------------------------------------------------


@simulates(common.INIT_SOC_STATE)
def _init(op: Op, core: Core) -> Executor:
    return core.reset_modes


@simulates(*common.CUBE_MODES)
def _cube_mode(op: Op, core: Core) -> Executor:
    return nothing


@simulates(common.SET_HCCL_CONTEXT, common.SET_SYS_WORKSPACE)
def _set_address(op: Op, core: Core) -> Executor:
    key = _SET[op.spec], *op.args[:-1]

    def run(address: Any) -> None:
        core.notes[key] = address

    return run


#: What gives back the addresses that each of these calls sets.
_SET = {
    common.SET_HCCL_CONTEXT: common.GET_HCCL_CONTEXT,
    common.SET_SYS_WORKSPACE: common.GET_SYS_WORKSPACE,
}


@simulates(common.GET_HCCL_CONTEXT, common.GET_SYS_WORKSPACE)
def _get_address(op: Op, core: Core) -> Executor:
    key = op.spec, *op.args
    setter = next(row for row, getter in _SET.items() if getter is op.spec)

    def run() -> Any:
        address = core.notes.get(key)
        if address is None:
            raise error(
                "AT0307",
                f"{op.spec.name} gives what a framework has set, and here nobody has",
                op.site,
                hint=f"{setter.name}(...) with an argument of the kernel, earlier in every block",
            )
        return address

    return run


# -- watching memory ------------------------------------------------------------------------------


@simulates(common.CHECK_LOCAL_MEMORY_IA)
def _watch(op: Op, core: Core) -> Executor:
    if not core.engine.tracked or core.engine.shadow("UB") is None:
        return nothing
    watches = core.engine.watches

    def run(*values: Any) -> None:
        fields = fill(op.args[0], iter(values))
        register, start, end, *kinds, enabled = fields
        if not 0 <= register < 4:
            raise error("AT0108", f"{op.spec.name} with register {register}", op.site,
                        hint="enable_bit is 0 to 3")  # fmt: skip
        watches.pop(register, None)
        if enabled:
            first, stop = (start + 1) * BLOCK_BYTES, (end + 1) * BLOCK_BYTES
            watches[register] = Watch(op, first, stop, tuple(map(bool, kinds)))

    return run


class Watch:
    """A part of UB; `kinds` are reads and writes of the scalar unit, of V and of MTE."""

    def __init__(self, op: Op, start: int, stop: int, kinds: tuple[bool, ...]) -> None:
        self.op = op
        self.start = start
        self.stop = stop
        self.kinds = kinds

    def touched(self, op: Op, pipe: int, accesses: tuple[Access, ...]) -> Finding | None:
        """The error of an operation that touches what is watched."""
        name = PIPES[pipe]
        which = {"S": 0, "V": 2}.get(name, 4)
        for shadow, start, stop, writes, operand in accesses:
            if shadow is None or shadow.name != "UB" or not self.kinds[which + bool(writes)]:
                continue
            if start < self.stop and self.start < stop:
                return finding(
                    "AT0205",
                    f"{op.spec.name} on {name} {'writes' if writes else 'reads'} "
                    f"{named(op, operand)} in bytes {self.start} to {self.stop - 1} of UB, "
                    "which are watched",
                    op.site,
                    notes=[("watched since here", self.op.site)],
                    hint="check_local_memory_ia stops the core at such an access",
                )
        return None
