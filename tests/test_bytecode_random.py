"""Meaning: canonical code of random nested loops does what CPython does."""

from __future__ import annotations

import random
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

import pytest

from asctrace.tracer.bytecode import decode
from tests.test_bytecode_machine import outcome, result, start


class Writer:
    """Writes random functions with nested loops that always end."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def atom(self) -> str:
        r = self.random
        name = r.choice("abc")
        return r.choice([name, f"{name} > {r.randrange(4)}", f"{name} % 3 == 1", f"not {name}"])

    def test(self, depth: int = 2) -> str:
        r = self.random
        kind = r.randrange(6 if depth else 1)
        if kind < 2:
            return self.atom()
        if kind == 2:
            return f"{r.choice('abc')} < {r.choice('abc')} < {r.randrange(3, 6)}"
        if kind == 3:
            parts = [self.test(depth - 1) for _ in range(r.randrange(2, 4))]
            return "(" + r.choice([" and ", " or "]).join(parts) + ")"
        if kind == 4:
            return f"not ({self.test(depth - 1)})"
        return f"({self.test(depth - 1)} if {self.atom()} else {self.test(depth - 1)})"

    def block(self, depth: int, loop: bool) -> list[str]:
        r = self.random
        lines: list[str] = []
        for _ in range(r.randrange(1, 4)):
            lines += self.statement(depth, loop)
        return lines

    def statement(self, depth: int, loop: bool) -> list[str]:
        r = self.random
        kind = r.randrange(8)
        if depth == 0 or kind < 2:
            name = r.choice("abc")
            plain = [f"{name} = ({name} + {r.randrange(1, 4)}) % 7", f"trace.append({name})"]
            return [r.choice([*plain, "return trace", "continue", "break"][: 5 if loop else 2])]
        inside = [" " + line for line in self.block(depth - 1, loop)]
        if kind < 4:
            rest = [" " + line for line in self.block(depth - 1, loop)]
            return [f"if {self.test()}:", *inside, *(["else:", *rest] if kind == 3 else [])]
        inside = [" " + line for line in self.block(depth - 1, True)]
        rest = [" " + line for line in self.block(depth - 1, loop)]
        other = ["else:", *rest] if r.randrange(3) == 0 else []
        if kind == 4:
            return [f"for {r.choice('abc')} in range({r.randrange(4)}):", *inside, *other]
        if kind == 5:
            return (
                ["try:", *inside, "except IndexError:", *rest] if loop else self.statement(0, loop)
            )
        # `tick` raises after some calls, so that every loop ends.
        return [f"while {self.test()}:", " tick()", *inside, *other]

    def function(self) -> str:
        lines = ["trace = []", *self.block(4, False), *self.block(4, False), "return trace"]
        return "def f(a, b, c, tick):\n" + "".join(f"    {line}\n" for line in lines)


def ticker(limit: int) -> Callable[[], None]:
    """Return a function that fails after some calls."""
    left = [limit]

    def tick() -> None:
        left[0] -= 1
        if left[0] < 0:
            raise TimeoutError

    return tick


def traced(function: FunctionType, run: Callable[..., Any], start_at: tuple[int, ...]) -> Any:
    """Run and return the outcome; the trace of a run that is cut off counts too."""
    return outcome(lambda: run(function, [*start_at, ticker(60)]))


@pytest.mark.parametrize("chunk", range(5))
def test_random_loops(chunk: int) -> None:
    loops = 0
    for seed in range(chunk * 40, chunk * 40 + 40):
        source = Writer(seed).function()
        scope: dict[str, Any] = {}
        exec(source, scope)
        function: FunctionType = scope["f"]
        loops += source.count("while")
        for values in ((0, 0, 0), (1, 2, 3), (4, 1, 2)):
            want = traced(function, lambda f, a: f(*a), values)
            got = traced(function, lambda f, a: result(start(f, a)), values)
            assert got == want, source
    assert loops > 40


def headers(code: CodeType) -> int:
    """Count the labels that are jumped back to."""
    instrs = decode(code).instrs
    return len({i.arg for k, i in enumerate(instrs) if i.op == "JUMP" and i.arg < k})


def test_random_tests_are_turned_back() -> None:
    for seed in range(200):
        test = Writer(seed).test(3)
        scope: dict[str, Any] = {}
        exec(f"def f(a, b, c):\n    a()\n    while {test}:\n        a()\n    return b\n", scope)
        code: CodeType = scope["f"].__code__
        instrs = decode(code).instrs
        conditional = [k for k, i in enumerate(instrs) if i.op.startswith("POP_JUMP")]
        assert all(instrs[k].arg > k for k in conditional), test
        assert headers(code) == 1, test
