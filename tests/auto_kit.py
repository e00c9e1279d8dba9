"""Random kernels on automatic tensors, by seed: copies, sums, scalars, swaps, branches, loops."""

from __future__ import annotations

import random
from types import MappingProxyType
from typing import Any

import numpy as np

from asctrace.lowering.checks import check
from asctrace.lowering.text import emit
from asctrace.runtime.simulator import SimParams, compile_trace, simulate
from asctrace.tracer.auto import expand
from asctrace.tracer.diagnostics import Finding, KernelError
from asctrace.tracer.language.auto import LocalTensorAuto
from asctrace.tracer.language.dtypes import float32, int32
from asctrace.tracer.language.tensor import LocalTensor
from asctrace.tracer.ops import vec_binary
from asctrace.tracer.ops.data_copy import DATA_COPY
from asctrace.tracer.ops.spec import OpFunction
from asctrace.tracer.trace import Declare
from tests.simulator_kit import Kernel

data_copy = OpFunction(DATA_COPY)
add = OpFunction(vec_binary.ADD)

ELEMENTS = 8
ROWS = 6
NUMBERS = 2


class Built:
    """The kernel of a seed. `crowded`: the tensors are so large that they have to share.

    `memory`: the bytes of UB, where they are not the chip's.
    """

    def __init__(self, seed: int, crowded: bool = False, memory: int = 0) -> None:
        self.rng = random.Random(seed)
        self.size = 65536 // 4 if crowded else ELEMENTS
        self.left = self.rng.randrange(4, 30)
        self.kernel = Kernel()
        if memory:
            chip = self.kernel.trace.chip
            sizes = MappingProxyType({**chip.memory, "UB": memory})
            self.kernel.trace.chip = chip._replace(memory=sizes)
        with self.kernel as k:
            self.arrays = [
                k.tensor(k.address(name, float32), name=f"{name}_gm") for name in ("x", "y", "z")
            ]
            self.numbers = [k.scalar(f"n{j}", int32) for j in range(NUMBERS)]
            self.tensors = [self.make() for _ in range(1 if crowded else 3)]
            self.variables = [self.variable(t) for t in self.tensors[:2]]
            self.filled = LocalTensor(float32)
            self.filled.set_addr_with_offset(self.tensors[0], 0)
            self.tensors += [*self.variables, self.filled]
            self.block(3, 0)
            for j, tensor in enumerate(self.tensors[:1]):
                data_copy(self.row(2, j), tensor, ELEMENTS)
        expand(k.trace)

    def make(self) -> Any:
        tensor = LocalTensorAuto(float32, self.size)
        if self.rng.random() < 0.8:
            data_copy(tensor, self.row(0, self.rng.randrange(ROWS)), ELEMENTS)
        return tensor

    def variable(self, first: Any) -> Any:
        """A variable that begins as a tensor."""
        block = self.kernel.recorder.block
        value = LocalTensor.view(first.type, block, None, None)
        block.nodes.append(Declare(value, first, self.kernel.recorder.step()))
        return value

    def row(self, which: int, number: int) -> Any:
        return self.arrays[which][number * ELEMENTS :]

    def tensor(self) -> Any:
        return self.rng.choice(self.tensors)

    def block(self, depth: int, loops: int) -> None:
        rng, outside = self.rng, len(self.tensors)
        for _ in range(rng.randrange(1, 7)):
            if self.left <= 0:
                break
            self.left -= 1
            self.step(depth, loops)
        del self.tensors[outside:]

    def step(self, depth: int, loops: int) -> None:
        rng = self.rng
        kind = rng.randrange(14 if depth else 10)
        if kind < 2:
            data_copy(self.tensor(), self.row(rng.randrange(3), rng.randrange(ROWS)), ELEMENTS)
        elif kind < 4:
            data_copy(self.row(rng.choice((1, 2, 2)), rng.randrange(ROWS)), self.tensor(), ELEMENTS)
        elif kind < 6:
            add(self.tensor(), self.tensor(), self.tensor(), ELEMENTS)
        elif kind == 6:
            self.tensors.append(self.make())
        elif kind == 7:
            value = self.tensor().get_value(rng.randrange(ELEMENTS))
            self.tensor().set_value(rng.randrange(ELEMENTS), value)
        elif kind == 8:
            self.store()
        elif kind == 9:
            self.jump(loops)
        elif kind < 12:
            with self.kernel.when(rng.choice(self.numbers) > rng.randrange(3)) as node:
                self.block(depth - 1, loops)
            with self.kernel.otherwise(node):
                self.block(depth - 1, loops)
        else:
            stop = rng.choice((*self.numbers, 2, 3))
            with self.kernel.loop(None if kind == 12 else stop) as index:
                if index is None:
                    self.until(stop)
                self.block(depth - 1, loops + 1)

    def store(self) -> None:
        """Let variables, or the tensor that is filled in, name others: whole ones, or views."""
        values = [self.tensor(), self.tensor()]
        if self.rng.random() < 0.5:
            values = [value[0:ELEMENTS] for value in values]
        if self.rng.random() < 0.3:
            self.filled.set_addr_with_offset(values[0], 0)
        else:
            self.kernel.assign(*zip(self.variables, values, strict=False))

    def until(self, stop: Any) -> None:
        """Leave a `while True` in the end."""
        count = self.counter()
        with self.kernel.when(count >= stop):
            self.kernel.jump("break")
        self.kernel.assign((count, count + 1))

    def counter(self) -> Any:
        """A variable in front of the loop that has just been begun."""
        recorder = self.kernel.recorder
        inside, recorder.block = recorder.block, recorder.block.parent
        loop = recorder.block.nodes.pop()
        count = self.kernel.var(int32, 0)
        recorder.block.nodes.append(loop)
        recorder.block = inside
        return count

    def jump(self, loops: int) -> None:
        kind = self.rng.choice(("break", "continue", "return") if loops else ("return",))
        with self.kernel.when(self.rng.choice(self.numbers) > self.rng.randrange(1, 4)):
            self.kernel.jump(kind)

    def run(
        self, numbers: tuple[int, ...], schedule: str = "program", seed: int = 0, **more: Any
    ) -> tuple[list[Any], Any]:
        """What is found in a run, and the arrays after it."""
        rng = np.random.default_rng(0)
        arrays = [rng.integers(0, 9, ROWS * ELEMENTS).astype(np.float32) for _ in range(3)]
        more.setdefault("check_uninitialised", False)
        params = SimParams(schedule=schedule, seed=seed, op_budget=20_000, **more)
        program = compile_trace(self.kernel.trace)
        try:
            found: list[Finding] = list(simulate(program, (*arrays, *numbers), 1, params).findings)
        except KernelError as problem:
            found = problem.findings
        return found, np.concatenate(arrays)

    def text(self) -> str:
        return emit(self.kernel.trace)

    def checked(self) -> list[Finding]:
        return [f for f in check(self.kernel.trace) if f.severity == "error"]
