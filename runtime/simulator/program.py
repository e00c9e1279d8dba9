"""`compile_trace` and `simulate`: a trace becomes a program, a program runs over a grid."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType
from typing import Any

import numpy as np

from ...tracer.diagnostics import Finding, KernelError, error
from ...tracer.language.enums import MEMORY
from ...tracer.trace import Op, Trace
from ..writes import written_params
from .arguments import arguments
from .codegen import Writer
from .core import Core
from .engine import Engine, Pipes, ProgramOrder
from .masks import MaskRegister, uses_register
from .meeting import Team, errors_first, in_block
from .params import SimParams, SimResult
from .queued import QueuedPipes
from .registry import factory_of
from .views import MAX_BLOCKS


@dataclass(slots=True, eq=False)
class Program:
    """A trace compiled for the simulator; run it as often as you like with `simulate`.

    `source` is the scalar program, `written` the indices of the parameters whose arrays the kernel
    can write.
    """

    trace: Trace
    source: str
    written: frozenset[int]
    _code: CodeType
    _bound: dict[str, Any]
    _executed: list[tuple[str, Op]]
    _memories: tuple[str, ...]
    _masked: bool
    #: Whether blocks wait for one another, so that they have to run side by side.
    _meets: bool
    _idle: list[_Machine | Team] = field(default_factory=list)


class _Machine:
    """A core with the executors of one program bound to it; serves one run at a time."""

    def __init__(self, program: Program, params: SimParams, leader: Any = None) -> None:
        self.params = params
        engine = _engine(params, program._meets, leader and leader.core.engine)
        self.core = Core(program.trace, program._memories, params, engine, leader and leader.core)
        if program._masked:
            self.core.masks = MaskRegister()
        names: dict[str, Any] = dict(program._bound)
        names["turn"] = engine.turn
        # A float32 cell: storing to it rounds. One a machine, as machines run in parallel.
        names["cell"] = memoryview(bytearray(4)).cast("f")
        for name, op in program._executed:
            names[name] = engine.issue(op, factory_of(op)(op, self.core))
        exec(program._code, names)
        self.block = names["block"]

    def run(self, values: Sequence[Any], blocks: int) -> tuple[int, list[Finding]]:
        """Run block after block; operations executed and findings."""
        core = self.core
        core.arguments = values
        core.begin_run()
        found: dict[Finding, None] = {}
        left = self.params.op_budget
        ops = 0
        for index in block_order(blocks, self.params):
            core.begin_block(index)
            try:
                count, left = self.block(left, index, blocks, *values)
            except KernelError as fault:
                faults = [in_block(f, index, blocks) for f in fault.findings]
                raise KernelError(errors_first(core.findings() + faults + list(found))) from None
            ops += count
            found.update(dict.fromkeys(core.end_block()))
        return ops, core.findings() + list(found)


def block_order(blocks: int, params: SimParams) -> list[int]:
    """The order in which blocks that do not wait for one another run."""
    order = list(range(blocks))
    if params.seed is not None:
        random.Random(params.seed).shuffle(order)
    return order


def compile_trace(trace: Trace) -> Program:
    """Compile a trace; the program may be cached and run by several threads."""
    writer = Writer(trace)
    source = writer.program()
    code = compile(source, f"<simulator program of {trace.name}>", "exec")
    return Program(
        trace,
        source,
        written_params(trace),
        code,
        writer.bound,
        writer.executed,
        _memories(trace),
        any(uses_register(op) for _, op in writer.executed),
        writer.meets,
    )


def simulate(
    program: Program, args: Sequence[Any], blocks: int, params: SimParams | None = None
) -> SimResult:
    """Run a program on `blocks` blocks.

    `args` has one entry a parameter of the trace: a C-contiguous NumPy array for an address, a
    number for a scalar. Raises `KernelError` with the findings when the kernel does something
    wrong; the arrays are then as they were before.
    """
    params = params or SimParams()
    if not 1 <= blocks <= MAX_BLOCKS:
        raise error(
            "AT0113", f"a grid of {blocks} blocks", hint=f"a grid has 1 to {MAX_BLOCKS} blocks"
        )
    values = arguments(program.trace, program.written, args)
    machine = _machine(program, params)
    with _restored_on_error([args[k] for k in sorted(program.written)]):
        with np.errstate(all="ignore"):
            ops, findings = machine.run(values, blocks)
        if any(f.severity == "error" for f in findings):
            raise KernelError(errors_first(findings))
    program._idle.append(machine)
    return SimResult(blocks, ops, tuple(findings))


def _machine(program: Program, params: SimParams) -> _Machine | Team:
    try:
        machine = program._idle.pop()
    except IndexError:
        return _new(program, params)
    return machine if machine.params == params else _new(program, params)


def _new(program: Program, params: SimParams) -> _Machine | Team:
    if not program._meets:
        return _Machine(program, params)
    cores = program.trace.chip.vector_cores
    return Team(lambda leader: _Machine(program, params, leader), cores, params)


def _engine(params: SimParams, meets: bool, leader: Any) -> Engine:
    if params.schedule == "program":
        return Pipes(True, meets, leader) if params.detect_races else ProgramOrder()
    seed = (params.seed or 0) if params.schedule == "random" else None
    return QueuedPipes(params.detect_races, seed, meets, leader)


@contextmanager
def _restored_on_error(arrays: Sequence[Any]) -> Iterator[None]:
    """Run on the arrays themselves, so that aliases are real; put them back after an error.

    Overlapping arrays are saved before anything runs, so the order of restoring does not matter.
    """
    saved = [(array, array.copy()) for array in arrays]
    try:
        yield
    except BaseException:
        for array, before in saved:
            array[...] = before
        raise


# -- what a trace needs ---------------------------------------------------------------------------


def _memories(trace: Trace) -> tuple[str, ...]:
    """The on-chip memories that the trace's tensors and queues live in."""
    found: set[str] = set()
    for node in trace.walk():
        result = node.result if isinstance(node, Op) else None
        position = None if result is None else getattr(result.type, "position", None)
        if position is not None:
            found.add(MEMORY[position])
    return tuple(sorted(found))
