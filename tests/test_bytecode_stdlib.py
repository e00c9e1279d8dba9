"""Invariants of decoded code, over a part of the standard library and odd functions."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import CodeType

import pytest

from asctrace.tracer.bytecode import CANONICAL, Code, decode, stack_effect
from asctrace.tracer.bytecode.canonical import BRANCHES, CONDITIONAL, FINAL, JUMPS

MODULES = (
    *("argparse", "ast", "asyncio.base_events", "asyncio.streams", "bdb", "cmd", "configparser"),
    *("contextlib", "copy", "csv", "dataclasses", "_pydecimal", "difflib", "enum", "fractions"),
    *("functools", "heapq", "inspect", "ipaddress", "locale", "mailbox", "pickle", "shlex"),
    *("statistics", "string", "tarfile", "textwrap", "typing", "unittest.mock", "zipfile"),
)


def codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those nested in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes(constant)


def module_codes(name: str) -> list[CodeType]:
    """Compile a module of the standard library."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return list(codes(compile(Path(spec.origin).read_bytes(), spec.origin, "exec")))


def successors(decoded: Code, index: int, depth: int) -> Iterator[tuple[int, int]]:
    """Yield (index, stack depth) of all that may follow, handlers included."""
    instr = decoded.instrs[index]
    handler = decoded.handlers[index]
    if handler is not None and instr.op != "LABEL":
        assert handler.depth <= depth, instr
        yield handler.target, handler.depth + handler.lasti + 1
    if instr.op in JUMPS:
        yield instr.arg, depth + stack_effect(instr.op, instr.arg, jumps=True)
    if instr.op not in FINAL:
        yield index + 1, depth + stack_effect(instr.op, instr.arg)


def depths(decoded: Code) -> list[int]:
    """Return the stack depth before each instruction; fail if paths disagree."""
    found = {0: 0}
    todo = [0]
    while todo:
        index = todo.pop()
        for target, depth in successors(decoded, index, found[index]):
            assert depth >= 0, decoded.instrs[index]
            if target not in found:
                found[target] = depth
                todo.append(target)
            assert found[target] == depth, (decoded.instrs[index], decoded.instrs[target])
    assert len(found) == len(decoded.instrs), "unreachable code is left"
    return [found[i] for i in range(len(found))]


def check(code: CodeType) -> None:
    """Assert all that holds for any decoded code."""
    decoded = decode(code)
    instrs = decoded.instrs
    assert len(decoded.handlers) == len(instrs)
    assert len(decoded.slot_names) >= code.co_nlocals + len(code.co_freevars)
    assert {i.op for i in instrs} <= set(CANONICAL)
    leaders = {0} | {i.arg for i in instrs if i.op in JUMPS}
    leaders |= {h.target for h in decoded.handlers if h is not None}
    leaders |= {k + 1 for k, i in enumerate(instrs) if i.op in BRANCHES}
    assert leaders == {k for k, i in enumerate(instrs) if i.op == "LABEL"}
    slots = [i.arg for i in instrs if "_FAST" in i.op or i.op.endswith("_DEREF")]
    assert all(0 <= slot < len(decoded.slot_names) for slot in slots)
    # The names of keyword arguments are not on CPython's stack before 3.13.
    assert max(depths(decoded)) <= code.co_stacksize + 1
    # No test of a 'while' is left at its bottom: it would jump back, where its twin did not.
    tests = set()
    for k, instr in enumerate(instrs):
        if instr.op in CONDITIONAL and instr.span[2] is not None:
            back = instr.arg < k and instrs[instr.arg + 1].op != "FOR_ITER"
            assert not (back and instr.span in tests), instr
            tests.add(instr.span)


@pytest.mark.parametrize("name", MODULES)
def test_standard_library(name: str) -> None:
    found = module_codes(name)
    assert len(found) > 10
    for code in found:
        check(code)


ODD = {
    "nothing to guard": "try:\n pass\nexcept ValueError:\n n()\nfinally:\n n()",
    "a loop that is only a jump": "while True:\n pass",
    "a guarded loop that is only a jump": "try:\n while n: pass\nfinally:\n n()",
    "a handler that goes on with a loop": "while n:\n try:\n  n()\n except ValueError:\n  continue",
    "return from all arms": "while n:\n with n:\n  try: return 1\n  finally: break",
    "constant tests": "while 1 and n or 0:\n while not 0:\n  if n: break\n if 0: n()",
    "asynchronous": "async def g():\n async with n as a, n: return [x async for x in a]\nreturn g",
    "groups": "try:\n n()\nexcept* ValueError:\n n()\nreturn n",
    "deep": "return [[(y, z) for y in x if y] for x in n for z in x]",
    "class": "class C:\n a = n\n b = [a for a in n]\n def f(self): return __class__\nreturn C",
}


@pytest.mark.parametrize("name", ODD)
def test_odd_function(name: str) -> None:
    lines = "".join(f"    {line}\n" for line in ODD[name].split("\n"))
    for code in codes(compile(f"def f(n):\n{lines}", "odd", "exec")):
        check(code)


def test_positions_survive() -> None:
    for code in module_codes("textwrap"):
        known = set(code.co_positions())
        lines = {position[0] for position in known}
        for instr in decode(code).instrs:
            line, _, column, _ = instr.span
            assert instr.span in known or (column is None and line in lines)
