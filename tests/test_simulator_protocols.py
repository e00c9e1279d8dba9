"""Random protocols: the search for races against brute force, and all schedules against each other.

A protocol is a tree of copies, vector and scalar operations, flags, barriers and a queue, in loops
and branches. It is built as a kernel, and unrolled into a graph of what must come before what:
reachability in that graph says whether two accesses are ordered. The simulator reports a race
exactly when the graph has one; without one, every schedule gives the result of program order, and
the simulator warns exactly when two copies of one pipe write the same with no wait for the first.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from asctrace.runtime.simulator import SimParams, compile_trace, simulate
from asctrace.tracer.diagnostics import Finding, KernelError
from asctrace.tracer.language.dtypes import int32
from asctrace.tracer.language.enums import HardEvent, PipeID, TPosition
from asctrace.tracer.language.pipe import TPipe, TQue
from asctrace.tracer.language.tensor import LocalTensor
from asctrace.tracer.ops import sync, vec_binary
from asctrace.tracer.ops.data_copy import DATA_COPY
from asctrace.tracer.ops.spec import OpFunction
from tests.simulator_kit import Kernel

data_copy = OpFunction(DATA_COPY)
add = OpFunction(vec_binary.ADD)
set_flag = OpFunction(sync.SET_FLAG)
wait_flag = OpFunction(sync.WAIT_FLAG)
pipe_barrier = OpFunction(sync.PIPE_BARRIER)

COUNT = 8  # elements of a slot: 32 bytes
SLOTS = 4
#: Where the tensors made at addresses lie: (first slot, slots); the last one overlaps two others.
PLACES = [(0, 1), (1, 1), (2, 1), (3, 1), (1, 2)]
QUEUE_AT = 0  # the queue is placed first, at address 0
BASE = 1024  # of the slots
GLOBAL = 1 << 20  # where the graph has what is copied to
BUFFERS = 2
EVENTS = [
    event for event in HardEvent
    if set(event.name.split("_")) <= {"S", "V", "MTE2", "MTE3"} and event is not HardEvent.V_V
]  # fmt: skip

Node = tuple[Any, ...]


class Generator:
    """Draws a protocol; flags and queue tensors are taken in the scope that gives them."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.tidy = self.random.choice([0.1, 0.5, 0.8, 0.95])
        self.flags = self.pending = 0
        self.outputs = 0

    def body(self, depth: int, length: int) -> list[Node]:
        nodes: list[Node] = []
        while len(nodes) < length:
            nodes += self.step(depth)
        return nodes

    def protocol(self) -> list[Node]:
        """A protocol; at its end all slots are copied out, so that no difference is lost."""
        nodes = self.body(2, 10)
        numbers = range(self.outputs + 1, self.outputs + 1 + len(PLACES))
        self.outputs = numbers[-1]
        ends = [("store", place, number) for place, number in enumerate(numbers)]
        return [*nodes, ("barrier",), *ends]

    def step(self, depth: int) -> list[Node]:
        kind = self.random.random()
        if depth and kind < 0.1:
            return [("loop", self.random.randint(2, 4), self.body(depth - 1, 4))]
        if depth and kind < 0.15:
            return [("if", self.body(depth - 1, 2), self.body(depth - 1, 2))]
        if kind < 0.25 and self.pending < BUFFERS:
            self.pending += 1
            between = self.body(0, self.random.randint(0, 2))
            self.pending -= 1
            return [("produce",), *between, ("consume", self.place()), *self.order("V")]
        node = self.access()
        pipe = PIPE_OF[node[0]]
        fence: list[Node] = []
        if pipe.startswith("MTE") and self.random.random() < 0.3:
            fence = [("fence", pipe)]
        return [node, *fence, *self.order(pipe)]

    def place(self) -> int:
        return self.random.randrange(len(PLACES))

    def access(self) -> Node:
        kind = self.random.choice(["load", "store", "add", "add", "set", "get"])
        self.outputs += 1
        if kind == "add":
            return ("add", *(self.random.randrange(SLOTS) for _ in range(3)))
        return (kind, self.place(), self.outputs)

    def order(self, pipe: str) -> list[Node]:
        """What orders an operation before later ones: mostly enough, sometimes nothing."""
        if self.random.random() > self.tidy:
            return []
        if self.random.random() < 0.5:
            return [("barrier",)]
        flags: list[Node] = []
        # What the scalar unit waits for holds up the other pipes too.
        target = "S" if pipe != "S" and self.random.random() < 0.15 else ""
        for event in EVENTS:
            wanted = event.name.startswith(f"{pipe}_{target}")
            if wanted and self.random.random() < max(self.tidy, 0.7):
                self.flags += 1
                flags.append(("flag", event, self.flags % 8))
        between = [self.access()] if self.random.random() < 0.3 else []
        return [*flags, *between, *(("wait", *rest) for _, *rest in flags)]


PIPE_OF = {"load": "MTE2", "store": "MTE3", "add": "V", "set": "S", "get": "S"}


def build(nodes: list[Node]) -> Kernel:
    """The protocol as a kernel over x (read), z (copied to) and w (scalar results)."""
    kernel = Kernel()
    with kernel:
        x, z, w = (kernel.tensor(kernel.address(name, int32)) for name in "xzw")
        pipe = TPipe()
        queue = TQue(TPosition.VECIN, BUFFERS)
        pipe.init_buffer(queue, BUFFERS, COUNT * 4)
        locals_ = [
            LocalTensor(int32, TPosition.VECCALC, BASE + first * 32, COUNT * many)
            for first, many in PLACES
        ]
        _emit(kernel, nodes, (x, z, w, queue, locals_), None)
    return kernel


def _emit(kernel: Kernel, nodes: list[Node], things: Any, index: Any) -> None:
    x, _, _, queue, locals_ = things
    for node in nodes:
        kind, *rest = node
        if kind == "loop":
            with kernel.loop(rest[0]) as i:
                _emit(kernel, rest[1], things, i)
        elif kind == "if":
            even = (index if index is not None else kernel.var(int32, 0)) % 2 == 0
            with kernel.when(even) as test:
                _emit(kernel, rest[0], things, index)
            with kernel.otherwise(test):
                _emit(kernel, rest[1], things, index)
        elif kind == "flag":
            set_flag(*rest)
        elif kind == "wait":
            wait_flag(*rest)
        elif kind == "barrier":
            pipe_barrier(PipeID.PIPE_ALL)
        elif kind == "fence":
            pipe_barrier(PipeID[f"PIPE_{rest[0]}"])
        elif kind == "produce":
            tensor = queue.alloc_tensor(int32)
            data_copy(tensor, x, COUNT)
            queue.enque(tensor)
        elif kind == "consume":
            tensor = queue.deque(int32)
            first, _ = PLACES[rest[0]]
            add(locals_[first], tensor, tensor, COUNT)
            queue.free_tensor(tensor)
        elif kind == "add":
            add(*(locals_[slot] for slot in rest), COUNT)
        else:
            _emit_access(kind, rest, things)


def _emit_access(kind: str, rest: list[Any], things: Any) -> None:
    x, z, w, _, locals_ = things
    place, number = rest
    count = COUNT * PLACES[place][1]
    if kind == "load":
        data_copy(locals_[place], x[number * 2 * COUNT :], count)
    elif kind == "store":
        data_copy(z[number * 2 * COUNT :], locals_[place], count)
    elif kind == "set":
        locals_[place].set_value(number % count, number)
    else:
        w.set_value(number, locals_[place].get_value(number % count))


# -- brute force ----------------------------------------------------------------------------------


@dataclass
class Graph:
    """Operations in program order with the set of those that must come before each."""

    before: list[int] = field(default_factory=list)  # bit sets
    accesses: list[tuple[str, int, int, bool]] = field(default_factory=list)
    last: dict[str, int] = field(default_factory=dict)  # closure of each pipe's operations
    held: int = 0  # what the scalar unit has waited for
    waited: dict[str, int] = field(default_factory=dict)  # what each pipe has waited for
    sure: list[int] = field(default_factory=list)  # what is over though on the same pipe
    flags: dict[Any, int] = field(default_factory=dict)
    free: deque[tuple[int, int]] = field(
        default_factory=lambda: deque((k, 0) for k in range(BUFFERS))
    )
    waiting: deque[tuple[int, int]] = field(default_factory=deque)

    def done(self, pipe: str) -> int:
        """What is over once the pipe has done all that was issued."""
        return self.last.get(pipe, 0) | self.held

    def wait(self, pipe: str, over: int) -> None:
        """The pipe waits; the scalar unit holds up all that is issued later."""
        self.last[pipe] = self.last.get(pipe, 0) | over
        self.waited[pipe] = self.waited.get(pipe, 0) | over
        if pipe == "S":
            self.held |= over

    def run(self, pipe: str, *accesses: tuple[int, int, bool]) -> None:
        """An operation that touches byte ranges."""
        before = self.done(pipe)
        for start, stop, write in accesses:
            number = len(self.before)
            self.before.append(before)
            self.sure.append(self.waited.get(pipe, 0) | self.held)
            self.accesses.append((pipe, start, stop, write))
            self.last[pipe] = self.last.get(pipe, 0) | before | 1 << number

    def races(self) -> bool:
        """Whether two accesses, one of which writes, are in no order."""
        for later, (pipe, start, stop, write) in enumerate(self.accesses):
            for earlier in range(later):
                other, first, end, wrote = self.accesses[earlier]
                if (
                    other != pipe and (write or wrote) and first < stop and start < end
                    and not self.before[later] >> earlier & 1
                ):  # fmt: skip
                    return True
        return False

    def copies_meet(self) -> bool:
        """Whether two copies of one pipe write the same, with nothing that waits for the first."""
        for later, (pipe, start, stop, write) in enumerate(self.accesses):
            for earlier in range(later):
                other, first, end, wrote = self.accesses[earlier]
                if (
                    other == pipe and pipe.startswith("MTE") and write and wrote
                    and first < stop and start < end and not self.sure[later] >> earlier & 1
                ):  # fmt: skip
                    return True
        return False


def unroll(graph: Graph, nodes: list[Node], index: int | None) -> None:
    for node in nodes:
        kind, *rest = node
        if kind == "loop":
            for i in range(rest[0]):
                unroll(graph, rest[1], i)
        elif kind == "if":
            unroll(graph, rest[(index or 0) % 2], index)
        elif kind == "flag":
            graph.flags[tuple(rest)] = graph.done(rest[0].name.split("_")[0])
        elif kind == "wait":
            graph.wait(rest[0].name.split("_")[1], graph.flags.pop(tuple(rest)))
        elif kind == "fence":
            graph.waited[rest[0]] = graph.waited.get(rest[0], 0) | graph.last.get(rest[0], 0)
        elif kind == "barrier":
            over = 0
            for pipe in ("S", "V", "MTE2", "MTE3"):
                over |= graph.done(pipe)
            graph.wait("S", over)
        else:
            _unroll_access(graph, kind, rest)


def _range(place: int) -> tuple[int, int]:
    first, many = PLACES[place]
    return BASE + first * 32, BASE + (first + many) * 32


def _unroll_access(graph: Graph, kind: str, rest: list[Any]) -> None:
    if kind == "produce":
        buffer, over = graph.free.popleft()
        graph.wait("MTE2", over)
        graph.run("MTE2", (QUEUE_AT + buffer * 32, QUEUE_AT + buffer * 32 + 32, True))
        graph.waiting.append((buffer, graph.done("MTE2")))
    elif kind == "consume":
        buffer, over = graph.waiting.popleft()
        graph.wait("V", over)
        start = BASE + PLACES[rest[0]][0] * 32
        source = QUEUE_AT + buffer * 32
        graph.run("V", (source, source + 32, False), (start, start + 32, True))
        graph.free.append((buffer, graph.done("V")))
    elif kind == "add":
        to, *sources = (BASE + slot * 32 for slot in rest)
        graph.run("V", *((at, at + 32, False) for at in sources), (to, to + 32, True))
    elif kind in ("load", "store"):
        start, stop = _range(rest[0])
        at = GLOBAL + rest[1] * 2 * COUNT * 4
        to = [(at, at + stop - start, True)] if kind == "store" else []
        graph.run(PIPE_OF[kind], (start, stop, kind == "load"), *to)
    else:
        start, stop = _range(rest[0])
        at = start + rest[1] % ((stop - start) // 4) * 4
        graph.run("S", (at, at + 4, kind == "set"))


# -- the comparison -------------------------------------------------------------------------------


def run(program: Any, outputs: int, **params: Any) -> tuple[list[bytes], list[str]]:
    x = np.arange(2 * COUNT * (outputs + 2), dtype=np.int32) * 7 + 1
    z, w = np.zeros_like(x), np.zeros_like(x)
    params = {"check_uninitialised": False, **params}
    try:
        result = simulate(program, (x, z, w), 1, SimParams(**params))
    except KernelError as problem:
        return [], [_told(f) for f in problem.findings]
    return [z.tobytes(), w.tobytes()], [_told(f) for f in result.findings]


def _told(found: Finding) -> str:
    """A code; two copies of one pipe that meet are a warning."""
    return "meet" if found.code == "AT0208" and found.severity == "warning" else found.code


def check(seed: int) -> bool:
    """Compare one protocol; whether it was free of races."""
    generator = Generator(seed)
    nodes = generator.protocol()
    program = compile_trace(build(nodes).trace)
    graph = Graph()
    unroll(graph, nodes, None)
    outputs = generator.outputs
    expected, codes = run(program, outputs)
    assert ("AT0208" in codes) == graph.races(), seed
    assert set(codes) <= {"AT0208", "AT0204", "meet"}, (seed, codes)
    if "AT0208" not in codes:
        assert ("meet" in codes) == graph.copies_meet(), seed
    schedules: list[dict[str, Any]] = [
        {"schedule": "late"}, *({"schedule": "random", "seed": k} for k in range(4))
    ]  # fmt: skip
    for schedule in schedules:
        assert run(program, outputs, **schedule)[1] == codes
        got, _ = run(program, outputs, detect_races=False, **schedule)
        if "AT0208" not in codes:
            assert got == expected, (seed, schedule)
    return "AT0208" not in codes


@pytest.mark.parametrize("chunk", range(4))
def test_protocols(chunk: int) -> None:
    clean = sum(check(seed) for seed in range(chunk * 25, chunk * 25 + 25))
    assert 3 <= clean <= 22
