"""Random traces: what the emitted C++ does on the host is what the trace says."""

from __future__ import annotations

import ctypes
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from asctrace.lowering.text import emit
from asctrace.tracer import trace as tr
from asctrace.tracer.language.dtypes import int8, int32, int64, uint16
from asctrace.tracer.language.scalar import convert, extremum
from asctrace.tracer.ops import arith, tensor
from tests.lowering_kit import Kernel, local, named

NAMES = ("a", "b", "c", "total", "x", "i", "int", "half", "")
ARGUMENTS = (-7, 0, 2, 5)


class _Generator:
    """Grows one kernel; `values` are the scalars that surely have been computed here."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.kernel = Kernel(f"k{seed}")
        self.budget = 50

    def build(self) -> tr.Trace:
        with self.kernel as k:
            n = k.scalar("n")
            tensor_ = local("t", 0, 256, int32)
            vars_ = [k.var(self.random.choice(NAMES), j) for j in range(2)]
            self.block([n, *vars_], [tensor_], vars_, 0, False)
            tensor_.set_value(0, convert(vars_[0] + n, int32))
        return k.trace

    def number(self, values: list[Any]) -> Any:
        return self.random.choice(values) if self.random.random() < 0.8 else self.constant()

    def constant(self) -> int:
        return self.random.choice((0, 1, 2, 3, -1, -5, 7, 100))

    def expression(self, values: list[Any]) -> Any:
        pick = self.random
        a, b = pick.choice(values), self.number(values)
        kind = pick.randrange(12)
        if kind < 3:
            result = a + b
        elif kind == 3:
            result = a - b
        elif kind == 4:
            result = a * b
        elif kind == 5:
            result = a // pick.choice((3, -2, 7))
        elif kind == 6:
            result = a % pick.choice((4, -3, 5))
        elif kind == 7:
            result = extremum(pick.choice((arith.MIN, arith.MAX)), a, b)
        elif kind == 8:
            result = (a & b) if pick.random() < 0.5 else (a ^ b)
        elif kind == 9:
            result = a << pick.randrange(1, 8) if pick.random() < 0.5 else a >> 2
        elif kind == 10:
            result = abs(-a)
        else:
            other = pick.choice((int8, uint16, int64))
            result = convert(convert(a, other) + convert(1, other), int32)
        result = convert(result, int32)
        if isinstance(result, tr.Value) and not result.name and result.node is not None:
            result.name = pick.choice(NAMES)
        return result if isinstance(result, tr.Value) else a + 1

    def condition(self, values: list[Any]) -> Any:
        a, b = self.random.choice(values), self.constant()
        test = self.random.choice((a < b, a >= b, a == b, a != b, a + a > b))
        if self.random.random() < 0.3:
            other = self.random.choice(values) > self.constant()
            test = test & other if self.random.random() < 0.5 else test | other
        return test

    def block(
        self, values: list[Any], tensors: list[Any], vars_: list[Any], depth: int, loop: bool
    ) -> bool:
        """Statements until the block has enough; returns whether it ended in a jump."""
        pick = self.random
        for _ in range(pick.randrange(1, 7) if depth else 20):
            if self.budget <= 0:
                break
            self.budget -= 1
            kind = pick.randrange(17)
            if kind == 16:
                self.update(values, tensors, vars_, loop)
            elif kind < 5:
                values.append(self.expression(values))
            elif kind < 7:
                tensors_index = pick.choice(values) & 63
                values.append(named(pick.choice(tensors).get_value(tensors_index), "v"))
            elif kind < 10:
                pick.choice(tensors).set_value(pick.choice(values) & 63, pick.choice(values))
            elif kind == 10:
                tensors.append(named(pick.choice(tensors)[pick.choice(values) & 31 :], "t"))
            elif kind == 11:
                self.assign(values, vars_)
            elif depth < 4:
                ended = self.structure(kind, values, tensors, vars_, depth, loop)
                if ended:
                    return True
        if loop and pick.random() < 0.15:
            self.kernel.jump(pick.choice(("break", "continue")))
            return True
        if depth and pick.random() < 0.05:
            self.kernel.jump("return")
            return True
        return False

    def update(
        self, values: list[Any], tensors: list[Any], vars_: list[Any], loop: bool
    ) -> None:  # fmt: skip
        """A variable's next value, computed before the variable changes and used in between."""
        pick = self.random
        var = pick.choice(vars_)
        earlier = var + pick.randrange(1, 4)
        value = self.expression([*values, var, var])
        used = [value, earlier, earlier, var, *values]
        for _ in range(pick.randrange(3)):
            pick.choice(tensors).set_value(pick.choice(values) & 63, pick.choice(used[:4]))
        if loop and pick.random() < 0.5:
            with self.kernel.if_(self.condition(used)):
                self.kernel.jump(pick.choice(("break", "break", "return")))
        if pick.random() < 0.3:
            pick.choice(tensors).set_value(1, pick.choice(used[:2]))
        self.kernel.assign((var, value))
        if pick.random() < 0.3:
            values.append(value)

    def assign(self, values: list[Any], vars_: list[Any]) -> None:
        count = self.random.randrange(1, len(vars_) + 1)
        targets = self.random.sample(vars_, count)
        self.kernel.assign(*((v, self.number(values)) for v in targets))

    def structure(
        self, kind: int, values: list[Any], tensors: list[Any], vars_: list[Any], depth: int,
        loop: bool,
    ) -> bool:  # fmt: skip
        k, pick = self.kernel, self.random
        if kind < 14:
            mine = vars_
            if pick.random() < 0.5:
                mine = [*vars_, k.var(pick.choice(NAMES))]
            then, orelse = (list(values), list(tensors)), (list(values), list(tensors))
            ends = []
            fresh = mine[len(vars_) :]
            with k.if_(self.condition(values)):
                ends.append(self.block(*then, list(vars_), depth + 1, loop))
                if not ends[0] and fresh:
                    k.assign((fresh[0], self.number(then[0])))
            node = k._last_if
            if pick.random() < 0.6 or fresh:
                k._last_if = node
                with k.else_():
                    ends.append(self.block(*orelse, list(vars_), depth + 1, loop))
                    if not ends[1] and fresh:
                        k.assign((fresh[0], self.number(orelse[0])))
            else:
                ends.append(False)
            if ends[0] != ends[1]:
                values[:], tensors[:] = orelse if ends[0] else then
            if not all(ends):
                vars_ += fresh
                values += fresh
            return all(ends)
        if kind == 14:
            inner = (list(values), list(tensors))
            bound = k.var("stop", pick.randrange(4))
            stop = pick.choice((pick.choice(values) & 3, 2, bound))
            step = pick.choice((1, 1, 2))
            with k.for_("i", stop, step=step) as index:
                inner[0].append(index)
                self.block(*inner, [*vars_, bound], depth + 1, True)
            return False
        count = k.var("n", 0)
        with k.while_():
            if pick.random() < 0.5:
                values.append(self.expression([*values, count]))
            with k.if_(count >= pick.randrange(0, 4)):
                k.jump("break")
            k.assign((count, named(count + 1, "n")))
            self.block([*values, count], list(tensors), list(vars_), depth + 1, True)
        values.append(count)
        return False


class _Jump(Exception):
    pass


class _Interpreter:
    """Runs a trace node by node, the way it is defined."""

    def __init__(self, trace: tr.Trace, argument: int) -> None:
        self.values: dict[int, Any] = {id(trace.params[0].value): argument}
        self.memory = [(7 * k) % 23 - 11 for k in range(256)]
        self.log: list[int] = []
        try:
            self.block(trace.body)
        except _Jump as jump:
            if str(jump) != "return":
                raise

    def get(self, value: Any) -> Any:
        return self.values[id(value)] if isinstance(value, tr.Value) else value

    def block(self, block: tr.Block) -> None:
        for node in block.nodes:
            self.node(node)

    def node(self, node: Any) -> None:
        if isinstance(node, tr.Op):
            result = self.op(node)
            if node.result is not None:
                self.values[id(node.result)] = result
        elif isinstance(node, tr.Declare):
            self.values[id(node.var)] = self.get(node.init)
        elif isinstance(node, tr.Assign):
            new = [self.get(v) for v in node.values]
            self.values.update(zip(map(id, node.vars), new, strict=True))
        elif isinstance(node, tr.If):
            self.block(node.then if self.get(node.cond) else node.orelse)
        elif isinstance(node, tr.Jump):
            raise _Jump(node.kind)
        elif node.index is None:
            while self.round(node):
                pass
        else:
            for index in range(self.get(node.start), self.get(node.stop), self.get(node.step)):
                self.values[id(node.index)] = index
                if not self.round(node):
                    break

    def round(self, node: Any) -> bool:
        try:
            self.block(node.body)
        except _Jump as jump:
            if str(jump) == "return":
                raise
            return str(jump) == "continue"
        return True

    def op(self, op: Any) -> Any:
        args = [self.get(a) for a in op.args]
        if op.spec is tensor.LOCAL_TENSOR:
            return 0
        if op.spec is tensor.LOCAL_SLICE:
            return args[0] + args[1]
        if op.spec is tensor.LOCAL_GET_VALUE:
            return self.memory[(args[0] + args[1]) % 256]
        if op.spec is tensor.LOCAL_SET_VALUE:
            at = (args[0] + args[1]) % 256
            self.memory[at] = args[2]
            self.log += (at, args[2])
            return None
        result = op.spec.semantics(*args)
        dtype = op.result.type
        if dtype.kind == "b":
            return bool(result)
        result &= 2**dtype.bits - 1
        return result - 2**dtype.bits if result > dtype.hi else result


def _compile(traces: list[tr.Trace], folder: Path) -> Any:
    host = Path(__file__).with_name("lowering_host.h")
    texts = [f'#include "{host}"\n']
    for trace in traces:
        text = emit(trace).replace('#include "kernel_operator.h"', "")
        texts.append(f"namespace of_{trace.name} {{\n{text}}}\n")
    texts.append(
        'extern "C" int32_t* memory() { return g_memory; }\n'
        'extern "C" int32_t* log_begin() { g_logged = 0; return g_log; }\n'
        'extern "C" int32_t logged() { return g_logged; }\n'
    )
    source = folder / "kernels.cpp"
    source.write_text("".join(texts))
    flags = ["-std=c++17", "-O0", "-fwrapv", "-shared", "-fPIC", "-Wall", "-Werror"]
    flags += ["-Wno-unused", "-Wno-maybe-uninitialized", "-Wno-tautological-compare"]
    done = subprocess.run(
        ["g++", *flags, str(source), "-o", str(folder / "kernels.so")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[:3000]
    library = ctypes.CDLL(str(folder / "kernels.so"))
    library.memory.restype = library.log_begin.restype = ctypes.POINTER(ctypes.c_int32)
    return library


def run_seeds(seeds: range, folder: Path) -> None:
    """Build, emit, compile and compare the kernels of some seeds."""
    traces = [_Generator(seed).build() for seed in seeds]
    library = _compile(traces, folder)
    memory = library.memory()
    for trace in traces:
        for argument in ARGUMENTS:
            expected = _Interpreter(trace, argument)
            for k in range(256):
                memory[k] = (7 * k) % 23 - 11
            log = library.log_begin()
            getattr(library, trace.name)(argument)
            got = log[0 : library.logged()]
            assert got == expected.log, f"{trace.name}({argument})\n{emit(trace)}"


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.parametrize("start", [0, 100])
def test_text_does_what_the_trace_says(start: int, tmp_path: Path) -> None:
    run_seeds(range(start, start + 60), tmp_path)
