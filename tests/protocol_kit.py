"""Random kernels that allocate, hand on and free tensors and set and wait for events.

A *plan* is a nested list that hypothesis can draw and shrink; `Built` makes a trace of it. Branches
and loop counts depend on parameters, so that one trace can be run with many inputs.

The first queue is filled by copies from global memory and read by the vector unit, the second one
filled by the vector unit and copied out, the third one copied in and out. What is read goes into a
running sum, what is filled comes from it, and each copy out has a place of its own, so that the
order of operations shows in global memory.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from hypothesis import strategies as st

from asctrace.runtime.simulator import SimParams, compile_trace, simulate
from asctrace.tracer.diagnostics import Finding, KernelError
from asctrace.tracer.language.buffers import TBuf
from asctrace.tracer.language.dtypes import float32, int32
from asctrace.tracer.language.enums import HardEvent, PipeID, TPosition
from asctrace.tracer.language.pipe import TPipe, TQue, TQueBind
from asctrace.tracer.language.tensor import LocalTensor
from asctrace.tracer.ops import sync, vec_binary
from asctrace.tracer.ops.data_copy import DATA_COPY
from asctrace.tracer.ops.spec import OpFunction
from asctrace.tracer.trace import Declare
from tests.simulator_kit import Kernel

data_copy = OpFunction(DATA_COPY)
add = OpFunction(vec_binary.ADD)
set_flag = OpFunction(sync.SET_FLAG)
wait_flag = OpFunction(sync.WAIT_FLAG)
pipe_barrier = OpFunction(sync.PIPE_BARRIER)

QUEUES = 3
NUMBERS = 2
ELEMENTS = 8
#: Places of copies out; after as many they are used again.
PLACES = 32
EVENTS = (
    HardEvent.MTE2_V, HardEvent.V_MTE3, HardEvent.MTE2_MTE3, HardEvent.MTE3_V, HardEvent.V_MTE2,
    HardEvent.V_S,
)  # fmt: skip

_queues = st.integers(0, QUEUES - 1)
_slots = st.integers(0, 1)
_numbers = st.integers(0, NUMBERS - 1)
_flag = st.tuples(st.sampled_from(EVENTS), st.integers(0, 1))

#: What a kernel does to one tensor that it takes through its life, most of the time.
_whole = st.builds(
    lambda queue, slot, parts: [part for part in parts if part[0]] and [(p[1], queue, slot) for p
                                                                       in parts if p[0]],
    _queues,
    _slots,
    st.tuples(*[
        st.tuples(st.sampled_from([True] * 9 + [False]), st.just(kind))
        for kind in ("alloc", "load", "enque", "deque", "use", "free")
    ]),
)  # fmt: skip
_event_pair = st.builds(lambda f: [("set", *f), ("wait", *f)], _flag)
_single = st.one_of(
    st.tuples(
        st.sampled_from(["alloc", "enque", "deque", "free", "use", "load", "swap", "view", "peek"]),
        _queues,
        _slots,
    ),
    st.tuples(st.sampled_from(["set", "wait"]), st.sampled_from(EVENTS), st.integers(0, 1)),
    st.tuples(st.sampled_from(["set_any", "wait_any"]), st.sampled_from(EVENTS), _numbers),
    st.tuples(st.just("foreign"), _queues, _queues, _slots),
    st.tuples(st.sampled_from(["take", "touch", "touch", "renew", "reset"])),
    st.tuples(st.just("barrier")),
    st.tuples(st.sampled_from(["break", "continue", "return"]), _numbers),
)
_step = st.one_of(_whole, _event_pair, _single.map(lambda step: [step]))


def _nest(inner: Any) -> Any:
    return st.one_of(
        st.tuples(st.just("if"), _numbers, inner, inner),
        st.tuples(st.just("for"), st.integers(0, 6), inner),
        st.tuples(st.just("range"), _numbers, inner),
        st.tuples(st.just("while"), _numbers, inner),
    ).map(lambda step: [step])


def _flat(parts: list[Any]) -> list[Any]:
    return [step for part in parts for step in part]


plans = st.recursive(
    st.lists(_step, max_size=4).map(_flat),
    lambda inner: st.lists(st.one_of(_step, _nest(inner)), min_size=1, max_size=4).map(_flat),
    max_leaves=6,
)


def _new_queue(number: int, depth: int) -> Any:
    if number == 2:
        return TQueBind(TPosition.VECIN, TPosition.VECOUT, depth)
    return TQue((TPosition.VECIN, TPosition.VECOUT)[number], depth)


class Built:
    """The kernel of a plan: depth and number of buffers of each queue, then the steps."""

    def __init__(self, shapes: list[tuple[int, int]], plan: list[Any]) -> None:
        self.kernel = Kernel()
        with self.kernel as k:
            self.gm = k.tensor(k.address("x", float32), name="x_gm")
            self.out = k.tensor(k.address("z", float32), name="z_gm")
            self.peeked = k.tensor(k.address("w", float32), name="w_gm")
            self.numbers = [k.scalar(f"n{j}", int32) for j in range(NUMBERS)]
            self.pipe = pipe = TPipe()
            self.buf = TBuf(TPosition.VECCALC)
            self.buf.name = "buf"
            pipe.init_buffer(self.buf, ELEMENTS * 4)
            self.taken = self._variable(self.buf.get(float32))
            self.shapes = shapes
            self.queues = []
            for j, (depth, num) in enumerate(shapes):
                queue = _new_queue(j, depth)
                queue.name = f"q{j}"
                pipe.init_buffer(queue, num, ELEMENTS * 4)
                self.queues.append(queue)
            self.sum = LocalTensor(float32, TPosition.VECCALC, 4096, ELEMENTS)
            data_copy(self.sum, self.gm, ELEMENTS)
            pipe_barrier(PipeID.PIPE_ALL)
            self.stores = k.var(int32, 0)
            self._loads = 0
            # The slots are variables as merges make them; each begins as a tensor of its queue.
            self.slots = {}
            for j, queue in enumerate(self.queues):
                first = queue.alloc_tensor(float32)
                self._fill(j, first)
                self.slots[j, 0] = self._variable(first)
                self.slots[j, 1] = self._variable(first)
                queue.free_tensor(first)
            self.direct: dict[int, Any] = {}
            self._loops = 0
            self.steps(plan)
            pipe_barrier(PipeID.PIPE_ALL)
            self._store(self.sum)
        self.program: Any = None

    def _variable(self, first: Any) -> Any:
        """A variable that begins as a tensor."""
        block = self.kernel.recorder.block
        value = LocalTensor.view(first.type, block, None, None)
        block.nodes.append(Declare(value, first, self.kernel.recorder.step()))
        return value

    def steps(self, plan: list[Any]) -> None:
        """Record the steps of a block; nothing may follow a jump."""
        outside = dict(self.direct)
        for step in plan:
            if step[0] in ("break", "continue") and not self._loops:
                continue
            getattr(self, "_" + step[0])(*step[1:])
        self.direct = outside

    def _set_slot(self, queue: int, slot: int, tensor: Any) -> None:
        self.kernel.assign((self.slots[queue, slot], tensor))

    def _alloc(self, queue: int, slot: int) -> None:
        tensor = self.queues[queue].alloc_tensor(float32)
        self.direct[queue] = tensor
        self._set_slot(queue, slot, tensor)

    def _deque(self, queue: int, slot: int) -> None:
        self._set_slot(queue, slot, self.queues[queue].deque(float32))

    def _enque(self, queue: int, slot: int) -> None:
        self.queues[queue].enque(self.slots[queue, slot])

    def _free(self, queue: int, slot: int) -> None:
        self.queues[queue].free_tensor(self.slots[queue, slot])

    def _load(self, queue: int, slot: int) -> None:
        self._fill(queue, self.slots[queue, slot])

    def _fill(self, queue: int, tensor: Any) -> None:
        """What the producer of a queue does."""
        if queue == 1:
            add(tensor, self.sum, self.sum, ELEMENTS)
            return
        self._loads += 1
        data_copy(tensor, self.gm[self._loads % PLACES * ELEMENTS :], ELEMENTS)

    def _use(self, queue: int, slot: int) -> None:
        """What the consumer of a queue does."""
        tensor = self.direct.get(queue) if slot else None
        tensor = self.slots[queue, slot] if tensor is None else tensor
        if queue == 0:
            add(self.sum, self.sum, tensor, ELEMENTS)
        else:
            self._store(tensor)

    def _store(self, tensor: Any) -> None:
        data_copy(self.out[self.stores % PLACES * ELEMENTS :], tensor, ELEMENTS)
        self.kernel.assign((self.stores, self.stores + 1))

    def _peek(self, queue: int, slot: int) -> None:
        """The scalar unit reads the sum."""
        self.peeked.set_value(self.stores % PLACES, self.sum.get_value(queue + slot))

    def _barrier(self) -> None:
        pipe_barrier(PipeID.PIPE_ALL)

    def _view(self, queue: int, slot: int) -> None:
        tensor = self.slots[queue, slot][0:ELEMENTS:][self.numbers[0] * 0 :]
        add(tensor, tensor, tensor, ELEMENTS)

    def _swap(self, queue: int, slot: int) -> None:
        a, b = self.slots[queue, 0], self.slots[queue, 1]
        self.kernel.assign((a, b), (b, a))

    def _take(self) -> None:
        self.kernel.assign((self.taken, self.buf.get(float32)))

    def _touch(self) -> None:
        data_copy(self.taken, self.gm, ELEMENTS)

    def _reset(self) -> None:
        self.pipe.reset()

    def _renew(self) -> None:
        """All memory is taken back and given again."""
        self.pipe.reset()
        self.pipe.init_buffer(self.buf, ELEMENTS * 4)
        for queue, (_, num) in zip(self.queues, self.shapes, strict=True):
            self.pipe.init_buffer(queue, num, ELEMENTS * 4)

    def _foreign(self, queue: int, other: int, slot: int) -> None:
        self.queues[queue].enque(self.slots[other, slot])

    def _set(self, event: HardEvent, event_id: int) -> None:
        set_flag(event, event_id)

    def _wait(self, event: HardEvent, event_id: int) -> None:
        wait_flag(event, event_id)

    def _set_any(self, event: HardEvent, number: int) -> None:
        set_flag(event, self.numbers[number])

    def _wait_any(self, event: HardEvent, number: int) -> None:
        wait_flag(event, self.numbers[number])

    def _jump(self, kind: str, number: int) -> None:
        with self.kernel.when(self.numbers[number] > 1):
            self.kernel.jump(kind)

    def _break(self, number: int) -> None:
        self._jump("break", number)

    def _continue(self, number: int) -> None:
        self._jump("continue", number)

    def _return(self, number: int) -> None:
        self._jump("return", number)

    def _if(self, number: int, then: list[Any], orelse: list[Any]) -> None:
        with self.kernel.when(self.numbers[number] > 0) as node:
            self.steps(then)
        with self.kernel.otherwise(node):
            self.steps(orelse)

    def _for(self, count: int, body: list[Any]) -> None:
        self._loops += 1
        with self.kernel.loop(count):
            self.steps(body)
        self._loops -= 1

    def _range(self, number: int, body: list[Any]) -> None:
        self._loops += 1
        with self.kernel.loop(self.numbers[number]):
            self.steps(body)
        self._loops -= 1

    def _while(self, number: int, body: list[Any]) -> None:
        """`while i < number`, with a counter of its own."""
        count = self.kernel.var(int32, 0)
        self._loops += 1
        with self.kernel.loop():
            with self.kernel.when(count >= self.numbers[number]):
                self.kernel.jump("break")
            self.kernel.assign((count, count + 1))
            self.steps(body)
        self._loops -= 1

    def run(
        self, *numbers: int, **params: Any
    ) -> tuple[Finding | None, tuple[Finding, ...], list[bytes]]:
        """The error that ends a run, if any, its other findings and the arrays after it."""
        if self.program is None:
            self.program = compile_trace(self.kernel.trace)
        x = np.arange(PLACES * ELEMENTS, dtype=np.float32) ** 2 % 251
        arrays = x, np.zeros_like(x), np.zeros_like(x)
        params = {"detect_races": False, **params}
        try:
            result = simulate(
                self.program, (*arrays, *numbers), 1,
                SimParams(op_budget=5000, check_uninitialised=False, **params),
            )  # fmt: skip
        except KernelError as caught:
            return caught.findings[0], tuple(caught.findings[1:]), []
        return None, result.findings, [array.tobytes() for array in arrays]


# -- larger plans, from a seed --------------------------------------------------------------------


class Planner:
    """Plans that are right more often than chance would have it, from a random generator."""

    def __init__(self, rng: random.Random, branches: bool) -> None:
        self.rng = rng
        self.branches = branches
        self.left = rng.randrange(3, 25)

    def block(self, depth: int, loops: int) -> list[Any]:
        """The steps of a block."""
        out: list[Any] = []
        for _ in range(self.rng.randrange(1, 5)):
            if self.left <= 0:
                break
            self.left -= 1
            out += self.step(depth, loops)
        return out

    def step(self, depth: int, loops: int) -> list[Any]:
        """One step, or a few that belong together, now and then with one missing or repeated."""
        rng = self.rng
        what = rng.random()
        if what < 0.4:
            return self.spoil(self.life(depth, loops))
        if what < 0.5:
            flag = (rng.choice(EVENTS), rng.randrange(2))
            return self.spoil([("set", *flag), *self.inner(depth, loops), ("wait", *flag)])
        if what < 0.6:
            return [self.single(loops)]
        if what < 0.68:
            return self.spoil([("renew",), ("take",), *self.inner(depth, loops), ("touch",)])
        if depth == 0:
            return []
        number, kind = rng.randrange(NUMBERS), rng.randrange(4)
        if kind == 0:
            return [("if", number, self.block(depth - 1, loops), self.block(depth - 1, loops))]
        if kind == 1:
            return [("for", rng.choice((0, 1, 2, 3, 7)), self.block(depth - 1, loops + 1))]
        return [(("range", "while")[kind - 2], number, self.block(depth - 1, loops + 1))]

    def life(self, depth: int, loops: int) -> list[Any]:
        """A tensor from alloc to free; in some the middle is in a loop that prefetches."""
        rng = self.rng
        queue, slot = rng.randrange(QUEUES), rng.randrange(2)
        first = [("alloc", queue, slot), ("load", queue, slot), ("enque", queue, slot)]
        last = [("deque", queue, slot), ("use", queue, rng.randrange(2)), ("free", queue, slot)]
        shape = rng.randrange(4)
        if shape == 0 and depth:
            order = [last + first, [last[0], *first, *last[1:]]][rng.randrange(2)]
            kind = (
                ("range", rng.randrange(NUMBERS))
                if rng.random() < 0.5
                else ("for", rng.randrange(5))
            )
            return [*first, (*kind, self.spoil(order)), *last]
        if shape == 1:
            return [first[0], first[1], *self.inner(depth, loops), ("free", queue, slot)]
        return [*first, *self.inner(depth, loops), *last]

    def inner(self, depth: int, loops: int) -> list[Any]:
        """Something in between, rarely."""
        return self.step(depth - 1, loops) if depth and self.rng.random() < 0.2 else []

    def spoil(self, steps: list[Any]) -> list[Any]:
        """A sequence with one step removed, doubled or moved, one time in five."""
        rng = self.rng
        if rng.random() < 0.8:
            return steps
        steps = list(steps)
        at = rng.randrange(len(steps))
        step = steps.pop(at) if rng.random() < 0.6 else steps[at]
        if rng.random() < 0.6:
            steps.insert(rng.randrange(len(steps) + 1), step)
        return steps

    def single(self, loops: int) -> tuple[Any, ...]:
        """A step for itself."""
        rng = self.rng
        queue, slot = rng.randrange(QUEUES), rng.randrange(2)
        kind = rng.randrange(15)
        if kind >= 12:
            return (("take",), ("touch",), ("renew",) if rng.random() < 0.8 else ("reset",))[
                kind - 12
            ]
        if kind < 2:
            return (("set", "wait")[kind], rng.choice(EVENTS), rng.randrange(2))
        if kind < 4:
            kinds = ("set_any", "wait_any") if self.branches else ("set", "wait")
            return (kinds[kind - 2], rng.choice(EVENTS), rng.randrange(NUMBERS))
        if kind == 4:
            return ("foreign", queue, rng.randrange(QUEUES), slot)
        if kind < 8 and self.branches:
            jumps = ("break", "continue", "return") if loops else ("return",)
            return (rng.choice(jumps), rng.randrange(NUMBERS))
        if kind == 8:
            return ("barrier",)
        return (
            rng.choice(("alloc", "enque", "deque", "free", "use", "swap", "view", "peek")),
            queue,
            slot,
        )


def large_plan(seed: int, nesting: int = 3) -> tuple[list[tuple[int, int]], list[Any]]:
    """Shapes of the queues and a plan; without `nesting` one without branches or runtime ids."""
    rng = random.Random(seed)
    shapes = [(rng.randrange(3), rng.randrange(1, 4)) for _ in range(QUEUES)]
    return shapes, Planner(rng, nesting > 0).block(nesting, 0)
