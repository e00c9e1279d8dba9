"""Loops: a 'while' has one test, at its top; nothing changes that is not proven equal."""

from __future__ import annotations

import subprocess
import sys
from types import CodeType

import pytest

from asctrace.tracer.bytecode import decode
from tests.test_bytecode import VERSION, function, text

COUNT = "LOAD_FAST n; LOAD_CONST 1; INPLACE_OP -; STORE_FAST n; JUMP L0; "

GOLDEN = {
    "while n > 0:\n n -= 1\nreturn n": (
        "LOAD_FAST n; LOAD_CONST 0; COMPARE_OP >; POP_JUMP_IF_FALSE L2; L1:; "
        + COUNT
        + "L2:; LOAD_FAST n; RETURN_VALUE"
    ),
    # The end of the function: CPython returns from two places.
    "while n:\n n -= 1": (
        "LOAD_FAST n; POP_JUMP_IF_FALSE L2; L1:; " + COUNT + "L2:; LOAD_CONST None; RETURN_VALUE"
    ),
    "while n and a or b:\n n -= 1\nreturn n": (
        "LOAD_FAST n; POP_JUMP_IF_FALSE L2; L1:; LOAD_FAST a; POP_JUMP_IF_TRUE L3; "
        "L2:; LOAD_FAST b; POP_JUMP_IF_FALSE L4; L3:; " + COUNT + "L4:; LOAD_FAST n; RETURN_VALUE"
    ),
    "while not (n and a):\n n -= 1\nreturn n": (
        "LOAD_FAST n; POP_JUMP_IF_FALSE L2; L1:; LOAD_FAST a; POP_JUMP_IF_TRUE L3; L2:; "
        + COUNT
        + "L3:; LOAD_FAST n; RETURN_VALUE"
    ),
    "while n is not None:\n n = n.next\nreturn n": (
        "LOAD_FAST n; POP_JUMP_IF_NONE L2; L1:; LOAD_FAST n; LOAD_ATTR next; STORE_FAST n; "
        "JUMP L0; L2:; LOAD_FAST n; RETURN_VALUE"
    ),
    "while n:\n n -= 1\n if a:\n  continue\n a += 1\nreturn a": (
        "LOAD_FAST n; POP_JUMP_IF_FALSE L4; L1:; LOAD_FAST n; LOAD_CONST 1; INPLACE_OP -; "
        "STORE_FAST n; LOAD_FAST a; POP_JUMP_IF_FALSE L3; L2:; JUMP L0; "
        "L3:; LOAD_FAST a; LOAD_CONST 1; INPLACE_OP +; STORE_FAST a; JUMP L0; "
        "L4:; LOAD_FAST a; RETURN_VALUE"
    ),
    "while n:\n if a:\n  return 5\n n -= 1": (
        "LOAD_FAST n; POP_JUMP_IF_FALSE L4; L1:; LOAD_FAST a; POP_JUMP_IF_FALSE L3; "
        "L2:; LOAD_CONST 5; RETURN_VALUE; L3:; " + COUNT + "L4:; LOAD_CONST None; RETURN_VALUE"
    ),
    # Both arms meet before the jump back.
    "while n:\n if a:\n  b = 1\n else:\n  b = 2\nreturn b": (
        "LOAD_FAST n; POP_JUMP_IF_FALSE L5; L1:; LOAD_FAST a; POP_JUMP_IF_FALSE L3; "
        "L2:; LOAD_CONST 1; STORE_FAST b; JUMP L4; L3:; LOAD_CONST 2; STORE_FAST b; L4:; JUMP L0; "
        "L5:; LOAD_FAST b; RETURN_VALUE"
    ),
    "while n:\n while a:\n  a -= 1\n n -= 1": (
        "LOAD_FAST n; POP_JUMP_IF_FALSE L4; L1:; LOAD_FAST a; POP_JUMP_IF_FALSE L3; "
        "L2:; LOAD_FAST a; LOAD_CONST 1; INPLACE_OP -; STORE_FAST a; JUMP L1; "
        "L3:; " + COUNT + "L4:; LOAD_CONST None; RETURN_VALUE"
    ),
    "while n:\n n -= 1\n while a:\n  a -= 1": (
        "LOAD_FAST n; POP_JUMP_IF_FALSE L5; L1:; LOAD_FAST n; LOAD_CONST 1; INPLACE_OP -; "
        "STORE_FAST n; L2:; LOAD_FAST a; POP_JUMP_IF_FALSE L4; "
        "L3:; LOAD_FAST a; LOAD_CONST 1; INPLACE_OP -; STORE_FAST a; JUMP L2; L4:; JUMP L0; "
        "L5:; LOAD_CONST None; RETURN_VALUE"
    ),
    "while (a := n - 1) > 0:\n n = a\nreturn a": (
        "LOAD_FAST n; LOAD_CONST 1; BINARY_OP -; COPY 1; STORE_FAST a; LOAD_CONST 0; "
        "COMPARE_OP >; POP_JUMP_IF_FALSE L2; L1:; LOAD_FAST a; STORE_FAST n; JUMP L0; "
        "L2:; LOAD_FAST a; RETURN_VALUE"
    ),
    "while (a if n else b):\n n -= 1\nreturn n": (
        "LOAD_FAST n; POP_JUMP_IF_FALSE L3; L1:; LOAD_FAST a; POP_JUMP_IF_FALSE L5; L2:; JUMP L4; "
        "L3:; LOAD_FAST b; POP_JUMP_IF_FALSE L5; L4:; " + COUNT + "L5:; LOAD_FAST n; RETURN_VALUE"
    ),
    "while 0 < n < 9 or a:\n n -= 1\nreturn n": (
        "LOAD_CONST 0; LOAD_FAST n; SWAP 2; COPY 2; COMPARE_OP <; POP_JUMP_IF_FALSE L3; "
        "L1:; LOAD_CONST 9; COMPARE_OP <; POP_JUMP_IF_TRUE L5; L2:; JUMP L4; L3:; POP_TOP; "
        "L4:; LOAD_FAST a; POP_JUMP_IF_FALSE L6; L5:; " + COUNT + "L6:; LOAD_FAST n; RETURN_VALUE"
    ),
    "while n:\n pass": (
        "LOAD_FAST n; POP_JUMP_IF_FALSE L2; L1:; JUMP L0; L2:; LOAD_CONST None; RETURN_VALUE"
    ),
    "while True:\n n -= 1": COUNT.removesuffix("; "),
}


def while_body(statements: str) -> CodeType:
    """Compile statements as the body of a function of n, a and b."""
    lines = "".join(f"    {line}\n" for line in statements.split("\n"))
    return function(f"def f(n, a, b):\n{lines}")


@pytest.mark.parametrize("statements", GOLDEN)
def test_loop(statements: str) -> None:
    assert "; ".join(text(while_body(statements))[1:]) == GOLDEN[statements]


def test_break_and_else() -> None:
    made = text(while_body("while n:\n if a:\n  break\n n -= 1\nelse:\n a = 2\nreturn a"))
    loop = [
        *["L0:", "LOAD_FAST n", "POP_JUMP_IF_FALSE L4", "L1:", "LOAD_FAST a"],
        *["POP_JUMP_IF_FALSE L3", "L2:"],
    ]
    step = ["L3:", *COUNT.removesuffix("; ").split("; "), "L4:", "LOAD_CONST 2", "STORE_FAST a"]
    leave = ["LOAD_FAST a", "RETURN_VALUE"]
    if VERSION == (3, 11):
        assert made == [*loop, "JUMP L5", *step, "L5:", *leave]
    else:
        assert made == [*loop, *leave, *step, *leave]


def test_chained_comparison_alone() -> None:
    made = text(while_body("while 0 < n < 9:\n n -= 1\nreturn n"))
    assert made.count("COMPARE_OP <") == 2
    assert made.count("JUMP L0") == 1


def test_within_a_for() -> None:
    made = text(while_body("for x in a:\n while n < x:\n  n += 1\nreturn n"))
    assert made.count("COMPARE_OP <") == 1
    assert made.count("JUMP L3") == 1
    assert made[made.index("L3:") + 1] == "LOAD_FAST n"


LOOPS = {
    "within try": "try:\n while a(n):\n  n += 1\nexcept ValueError:\n return 1\nreturn n",
    "within with": "with a:\n while b(n):\n  n -= 1",
    "try within": "while b(n):\n try:\n  n -= 1\n finally:\n  a()",
    "in a generator": "while b(n) or a:\n yield n\n n -= 1",
    "comprehension": "while b([x for x in a if x > n]):\n n += 1\nreturn n",
    "generator expression": "while any(x > b(n) for x in a):\n n += 1\nreturn n",
    "return in both": "while b(n) and a:\n if a > 2:\n  return n\n n += 1\nelse:\n return 7",
    "three deep": "while b(n):\n while a:\n  while n:\n   n -= 1",
    "last in else": "if a:\n while b(n):\n  n -= 1\nelse:\n while b(a):\n  a -= 1",
    "same test twice": "while b(n):\n n -= 1\nwhile b(n):\n n -= 1",
    "fused with the body": "while n: n -= b(n)",
    "mixed": "while b(n) and (a or not n) and not (a > 3 or n < 2):\n n -= 1\n if a: break",
}


@pytest.mark.parametrize("name", LOOPS)
def test_no_test_is_left_at_the_bottom(name: str) -> None:
    instrs = decode(while_body(LOOPS[name])).instrs
    seen = [(i.op, i.arg, i.span) for i in instrs if i.op == "LOAD_FAST" and i.span[2] is not None]
    twice = {key for key in seen if seen.count(key) > 1}
    # CPython copies short exits too; a copied test would load what it tests.
    for _, _, span in twice:
        assert "while" not in LOOPS[name].split("\n")[(span[0] or 0) - 2], span
    backward = [i.arg for k, i in enumerate(instrs) if i.op.startswith("POP_JUMP") and i.arg < k]
    assert all(instrs[target + 1].op == "FOR_ITER" for target in backward)


UNEQUAL = {
    "a different test": "if n:\n while True:\n  a()\n  if not b: break",
    "the same test by hand": "if n:\n while True:\n  a()\n  if not n: break",
}


@pytest.mark.parametrize("name", UNEQUAL)
def test_loops_with_a_test_at_the_bottom_stay(name: str) -> None:
    made = text(while_body(UNEQUAL[name]))
    tests = [line for line in made if line.startswith("POP_JUMP")]
    assert len(tests) == 2
    header = made.index("L1:")
    assert made[header + 1] in ("LOAD_FAST a", "PUSH_NULL")


def test_jump_back_has_the_place_of_the_test() -> None:
    decoded = decode(while_body("while n > 1: n -= 1"))
    jump = next(i for i in decoded.instrs if i.op == "JUMP")
    assert jump.span == (2, 2, 10, 11)


def test_without_columns() -> None:
    program = (
        "from tests.test_bytecode import text\n"
        "from tests.test_bytecode_loops import GOLDEN, while_body\n"
        "made = {s: '; '.join(text(while_body(s))[1:]) for s in GOLDEN}\n"
        "assert next(while_body('return n').co_positions())[2:] == (None, None)\n"
        "print([s for s in GOLDEN if made[s] != GOLDEN[s]])\n"
    )
    setup = f"import sys\nsys.path[:0] = {[p for p in sys.path if p]}\n"
    result = subprocess.run(
        [sys.executable, "-X", "no_debug_ranges", "-c", setup + program],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.returncode, result.stdout) == (0, "[]\n"), result.stderr
