"""Decoding: the tables are complete, and each construct has one canonical form on every Python."""

from __future__ import annotations

import dis
import sys
from itertools import pairwise
from types import CodeType, FunctionType
from typing import Any

import pytest

from asctrace.tracer.bytecode import (
    CANONICAL,
    REJECTED,
    Handler,
    Instr,
    Unsupported,
    UnsupportedPython,
    decode,
    stack_effect,
)
from asctrace.tracer.bytecode.read import READ_AWAY
from asctrace.tracer.bytecode.versions import PASSES, rules_for

VERSION = sys.version_info[:2]


def function(source: str, name: str = "f") -> CodeType:
    """Compile a function and return its code."""
    scope: dict[str, Any] = {}
    exec(source, scope)
    found = scope[name]
    assert isinstance(found, FunctionType)
    return found.__code__


def inner(code: CodeType, name: str) -> CodeType:
    """Return a nested code object."""
    return next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)


def text(code: CodeType) -> list[str]:
    """Return the instructions as 'OP arg', labels as 'L0:', slots by name."""
    decoded = decode(code)
    labels = [i for i, instr in enumerate(decoded.instrs) if instr.op == "LABEL"]
    lines = []
    for i, instr in enumerate(decoded.instrs):
        if instr.op == "LABEL":
            lines.append(f"L{labels.index(i)}:")
        elif instr.op in ("JUMP", "FOR_ITER", "SEND") or instr.op.startswith("POP_JUMP"):
            lines.append(f"{instr.op} L{labels.index(instr.arg)}")
        elif (
            "_FAST" in instr.op or "DEREF" in instr.op or instr.op in ("LOAD_CLOSURE", "MAKE_CELL")
        ):
            lines.append(f"{instr.op} {decoded.slot_names[instr.arg]}")
        elif instr.arg is None and instr.op != "LOAD_CONST":
            lines.append(instr.op)
        else:
            lines.append(f"{instr.op} {instr.arg}")
    return lines


def body(code: CodeType) -> str:
    """Return `text` in one line, without the first label."""
    return "; ".join(text(code)[1:])


# Tables


def test_every_opcode_has_a_rule() -> None:
    consumed = set().union(*(step.consumes for step in PASSES[VERSION]))
    assert set(dis.opmap) - set(CANONICAL) - set(REJECTED) - consumed - READ_AWAY == set()


def test_tables_are_told_apart() -> None:
    assert not set(CANONICAL) & set(REJECTED)
    assert not READ_AWAY & (set(CANONICAL) | set(REJECTED))


@pytest.mark.parametrize("opcode", sorted(REJECTED))
def test_rejections_speak_to_the_author(opcode: str) -> None:
    for text in REJECTED[opcode]:
        assert text[0].islower() or text.startswith("`")
        assert not text.endswith(".")
        assert opcode not in text


def test_every_canonical_name_has_a_stack_effect() -> None:
    arguments: dict[str, Any] = {
        "FORMAT": (None, False),
        "UNPACK_EX": (1, 2),
        "INTRINSIC": ("TYPEVAR", 1),
        "CALL_EX": False,
    }
    for op in CANONICAL:
        assert isinstance(stack_effect(op, arguments.get(op, 1)), int), op
    with pytest.raises(KeyError):
        stack_effect("LOAD_FAST_LOAD_FAST", 0)


@pytest.mark.parametrize("version", [(3, 10), (3, 14), (4, 0)])
def test_unknown_version_is_an_error_that_names_the_known(version: tuple[int, int]) -> None:
    with pytest.raises(UnsupportedPython) as caught:
        rules_for(version)
    assert f"cannot trace on Python {version[0]}.{version[1]}" in str(caught.value)
    assert str(caught.value).endswith("Use Python 3.11, 3.12, 3.13.")


# The result as a whole


def test_decoded_once_by_identity() -> None:
    code = function("def f(x):\n    return x\n")
    twin = function("def f(x):\n    return x\n")
    assert code == twin
    assert decode(code) is decode(code)
    assert decode(code) is not decode(twin)
    assert decode(twin).code is twin


def test_shape() -> None:
    decoded = decode(function("def f(x):\n    return x\n"))
    assert decoded.instrs == [
        Instr("LABEL", None, (2, 2, 11, 12)),
        Instr("LOAD_FAST", 0, (2, 2, 11, 12)),
        Instr("RETURN_VALUE", None, (2, 2, 4, 12)),
    ]
    assert decoded.handlers == [None, None, None]
    assert decoded.slot_names == ("x",)


def test_spans_are_those_of_co_positions() -> None:
    code = function("def f(é, y):\n    return (é +\n            y(1))\n")
    spans = {instr.op: instr.span for instr in decode(code).instrs}
    assert spans["BINARY_OP"] == (2, 3, 12, 16)
    assert spans["CALL"] == (3, 3, 12, 16)
    assert spans["LOAD_CONST"] == (3, 3, 14, 15)


def test_second_half_of_a_fused_instruction_has_a_line_only() -> None:
    decoded = decode(function("def f(x, y):\n    return x + y\n"))
    assert [(i.op, i.arg) for i in decoded.instrs[1:3]] == [("LOAD_FAST", 0), ("LOAD_FAST", 1)]
    assert decoded.instrs[1].span == (2, 2, 11, 12)
    second = (2, 2, None, None) if VERSION >= (3, 13) else (2, 2, 15, 16)
    assert decoded.instrs[2].span == second


def test_wide_arguments_and_far_jumps() -> None:
    names = [f"v{i}" for i in range(300)]
    lines = [f"        {name} = {i} + y" for i, name in enumerate(names)]
    source = "def f(x, y):\n    if x:\n" + "\n".join(lines) + "\n    return v299\n"
    decoded = decode(function(source))
    stores = [decoded.slot_names[i.arg] for i in decoded.instrs if i.op == "STORE_FAST"]
    assert stores == names
    jump = next(i for i in decoded.instrs if i.op == "POP_JUMP_IF_FALSE")
    after = decoded.instrs[jump.arg : jump.arg + 2]
    assert [i.op for i in after] == ["LABEL", "LOAD_FAST"]
    assert decoded.slot_names[after[1].arg] == "v299"


def test_one_label_a_leader() -> None:
    code = function("def f(a, b):\n    for i in a:\n        if b:\n            i()\n    return a\n")
    instrs = decode(code).instrs
    assert instrs[0].op == "LABEL"
    for before, after in pairwise(instrs):
        assert (before.op, after.op) != ("LABEL", "LABEL")
        if after.op == "LABEL":
            assert after.span == instrs[instrs.index(after) + 1].span


# Constructs; the same canonical text on every version


def call(name: str, arguments: str) -> str:
    """Return how this version's call of a global looks."""
    pair = [f"LOAD_GLOBAL {name}", "PUSH_NULL"]
    if VERSION < (3, 13):
        pair.reverse()
    return "; ".join([*pair, arguments])


EXPRESSIONS = {
    "x + y": "LOAD_FAST x; LOAD_FAST y; BINARY_OP +",
    "x - y * x / y": "LOAD_FAST x; LOAD_FAST y; LOAD_FAST x; BINARY_OP *; LOAD_FAST y; "
    "BINARY_OP /; BINARY_OP -",
    "x // y": "LOAD_FAST x; LOAD_FAST y; BINARY_OP //",
    "x % y": "LOAD_FAST x; LOAD_FAST y; BINARY_OP %",
    "x @ y": "LOAD_FAST x; LOAD_FAST y; BINARY_OP @",
    "x ** y": "LOAD_FAST x; LOAD_FAST y; BINARY_OP **",
    "x << y": "LOAD_FAST x; LOAD_FAST y; BINARY_OP <<",
    "x >> y": "LOAD_FAST x; LOAD_FAST y; BINARY_OP >>",
    "x & y": "LOAD_FAST x; LOAD_FAST y; BINARY_OP &",
    "x | y": "LOAD_FAST x; LOAD_FAST y; BINARY_OP |",
    "x ^ y": "LOAD_FAST x; LOAD_FAST y; BINARY_OP ^",
    "-x": "LOAD_FAST x; UNARY_OP -",
    "+x": "LOAD_FAST x; UNARY_OP +",
    "~x": "LOAD_FAST x; UNARY_OP ~",
    "not x": "LOAD_FAST x; UNARY_OP not",
    "x < y": "LOAD_FAST x; LOAD_FAST y; COMPARE_OP <",
    "x <= y": "LOAD_FAST x; LOAD_FAST y; COMPARE_OP <=",
    "x == y": "LOAD_FAST x; LOAD_FAST y; COMPARE_OP ==",
    "x != y": "LOAD_FAST x; LOAD_FAST y; COMPARE_OP !=",
    "x > y": "LOAD_FAST x; LOAD_FAST y; COMPARE_OP >",
    "x >= y": "LOAD_FAST x; LOAD_FAST y; COMPARE_OP >=",
    "not x < y": "LOAD_FAST x; LOAD_FAST y; COMPARE_OP <; UNARY_OP not",
    "x is y": "LOAD_FAST x; LOAD_FAST y; IS_OP False",
    "x is not y": "LOAD_FAST x; LOAD_FAST y; IS_OP True",
    "x in y": "LOAD_FAST x; LOAD_FAST y; CONTAINS_OP False",
    "x not in y": "LOAD_FAST x; LOAD_FAST y; CONTAINS_OP True",
    "x[y]": "LOAD_FAST x; LOAD_FAST y; BINARY_SUBSCR",
    "x[1:y]": "LOAD_FAST x; LOAD_CONST 1; LOAD_FAST y; BUILD_SLICE 2; BINARY_SUBSCR",
    "x[::y]": "LOAD_FAST x; LOAD_CONST None; LOAD_CONST None; LOAD_FAST y; BUILD_SLICE 3; "
    "BINARY_SUBSCR",
    "x.a": "LOAD_FAST x; LOAD_ATTR a",
    "x.a(y)": "LOAD_FAST x; LOAD_METHOD a; LOAD_FAST y; CALL 1",
    "g(x)": call("g", "LOAD_FAST x; CALL 1"),
    "g(x, k=y)": call("g", "LOAD_FAST x; LOAD_FAST y; LOAD_CONST ('k',); CALL_KW 2"),
    "x.a(k=y)": "LOAD_FAST x; LOAD_METHOD a; LOAD_FAST y; LOAD_CONST ('k',); CALL_KW 1",
    "g(*x)": call("g", "LOAD_FAST x; CALL_EX False"),
    "g(*x, **y)": call("g", "LOAD_FAST x; BUILD_MAP 0; LOAD_FAST y; DICT_MERGE 1; CALL_EX True"),
    "g(1, *x)": call(
        "g",
        "LOAD_CONST 1; BUILD_LIST 1; LOAD_FAST x; LIST_EXTEND 1; LIST_TO_TUPLE; CALL_EX False",
    ),
    "g": "LOAD_GLOBAL g",
    "(x, y)": "LOAD_FAST x; LOAD_FAST y; BUILD_TUPLE 2",
    "[x, *y]": "LOAD_FAST x; BUILD_LIST 1; LOAD_FAST y; LIST_EXTEND 1",
    "{x, *y}": "LOAD_FAST x; BUILD_SET 1; LOAD_FAST y; SET_UPDATE 1",
    "{x: 1, **y}": "LOAD_FAST x; LOAD_CONST 1; BUILD_MAP 1; LOAD_FAST y; DICT_UPDATE 1",
    "{'a': x, 'b': y}": "LOAD_FAST x; LOAD_FAST y; LOAD_CONST ('a', 'b'); BUILD_CONST_KEY_MAP 2",
    "f'{x}'": "LOAD_FAST x; FORMAT (None, False)",
    "f'{x!r}{y!s}{x!a}'": "LOAD_FAST x; FORMAT ('r', False); LOAD_FAST y; FORMAT ('s', False); "
    "LOAD_FAST x; FORMAT ('a', False); BUILD_STRING 3",
    "f'{x:4}'": "LOAD_FAST x; LOAD_CONST 4; FORMAT (None, True)",
    "x and y": "LOAD_FAST x; COPY 1; POP_JUMP_IF_FALSE L2; L1:; POP_TOP; LOAD_FAST y; L2:",
    "x or y": "LOAD_FAST x; COPY 1; POP_JUMP_IF_TRUE L2; L1:; POP_TOP; LOAD_FAST y; L2:",
}


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expression(expression: str) -> None:
    code = function(f"def f(x, y):\n    return {expression}\n")
    assert body(code) == EXPRESSIONS[expression] + "; RETURN_VALUE"


def test_chained_comparison() -> None:
    made = body(function("def f(x, y):\n    return x < y < 3\n"))
    joined = "; JUMP L3; L2:; SWAP 2; POP_TOP; L3:; RETURN_VALUE"
    doubled = "; RETURN_VALUE; L2:; SWAP 2; POP_TOP; RETURN_VALUE"
    assert made == (
        "LOAD_FAST x; LOAD_FAST y; SWAP 2; COPY 2; COMPARE_OP <; COPY 1; POP_JUMP_IF_FALSE L2; "
        "L1:; POP_TOP; LOAD_CONST 3; COMPARE_OP <" + (joined if VERSION == (3, 11) else doubled)
    )


def test_conversion_and_spec() -> None:
    code = function("def f(x):\n    return f'{x!r:>4}'\n")
    expected = "LOAD_FAST x; LOAD_CONST >4; FORMAT ('r', True); RETURN_VALUE"
    if VERSION >= (3, 13):
        expected = "LOAD_FAST x; CONVERT r; LOAD_CONST >4; FORMAT (None, True); RETURN_VALUE"
    assert body(code) == expected


END = "; LOAD_CONST None; RETURN_VALUE"

STATEMENTS = {
    "x += y": "LOAD_FAST x; LOAD_FAST y; INPLACE_OP +; STORE_FAST x",
    "x **= y": "LOAD_FAST x; LOAD_FAST y; INPLACE_OP **; STORE_FAST x",
    "x[1] = y": "LOAD_FAST y; LOAD_FAST x; LOAD_CONST 1; STORE_SUBSCR",
    "x[1:2] = y": "LOAD_FAST y; LOAD_FAST x; LOAD_CONST 1; LOAD_CONST 2; BUILD_SLICE 2; "
    "STORE_SUBSCR",
    "del x[y]": "LOAD_FAST x; LOAD_FAST y; DELETE_SUBSCR",
    "x.a = y": "LOAD_FAST y; LOAD_FAST x; STORE_ATTR a",
    "del x.a": "LOAD_FAST x; DELETE_ATTR a",
    "del x": "DELETE_FAST x",
    "a, *b, c = x": "LOAD_FAST x; UNPACK_EX (1, 1); STORE_FAST a; STORE_FAST b; STORE_FAST c",
    "a, b = x": "LOAD_FAST x; UNPACK_SEQUENCE 2; STORE_FAST a; STORE_FAST b",
    "global g; g = x": "LOAD_FAST x; STORE_GLOBAL g",
    "global g; del g": "DELETE_GLOBAL g",
    "import m": "LOAD_CONST 0; LOAD_CONST None; IMPORT_NAME m; STORE_FAST m",
    "from m import n": "LOAD_CONST 0; LOAD_CONST ('n',); IMPORT_NAME m; IMPORT_FROM n; "
    "STORE_FAST n; POP_TOP",
}


@pytest.mark.parametrize("statement", STATEMENTS)
def test_statement(statement: str) -> None:
    assert body(function(f"def f(x, y):\n    {statement}\n")) == STATEMENTS[statement] + END


def test_raise() -> None:
    code = function("def f(x, y):\n    raise x from y\n")
    assert body(code) == "LOAD_FAST x; LOAD_FAST y; RAISE_VARARGS 2"


def test_assert() -> None:
    expected = "LOAD_FAST x; POP_JUMP_IF_TRUE L2; L1:; LOAD_ASSERTION_ERROR; RAISE_VARARGS 1; L2:"
    assert body(function("def f(x):\n    assert x\n")) == expected + END


def test_none_tests() -> None:
    code = function("def f(x):\n    if x is None:\n        return 1\n    return 2\n")
    expected = "LOAD_FAST x; POP_JUMP_IF_NOT_NONE L2; L1:; LOAD_CONST 1; RETURN_VALUE"
    assert body(code) == expected + "; L2:; LOAD_CONST 2; RETURN_VALUE"


def test_for_leaves_behind_its_end() -> None:
    code = function("def f(x):\n    for i in x:\n        i()\n    return 1\n")
    pair = ["LOAD_FAST i", "PUSH_NULL"]
    if VERSION < (3, 13):
        pair.reverse()
    assert text(code) == [
        *["L0:", "LOAD_FAST x", "GET_ITER", "L1:", "FOR_ITER L3"],
        *["L2:", "STORE_FAST i", *pair, "CALL 0", "POP_TOP", "JUMP L1"],
        *["L3:", "LOAD_CONST 1", "RETURN_VALUE"],
    ]


def test_closures() -> None:
    code = function(
        "def f(x):\n    y = 1\n    def g(a=2):\n        nonlocal y\n        y = x\n    return g\n"
    )
    made = text(code)
    assert made[1:3] in (["MAKE_CELL x", "MAKE_CELL y"], ["MAKE_CELL y", "MAKE_CELL x"])
    assert "STORE_DEREF y" in made
    assert [line for line in made if line.startswith("LOAD_CLOSURE")] == [
        "LOAD_CLOSURE x",
        "LOAD_CLOSURE y",
    ]
    flags = [line for line in made if "FUNCTION" in line]
    if VERSION >= (3, 13):
        assert flags == [
            "MAKE_FUNCTION 0",
            "SET_FUNCTION_ATTRIBUTE 8",
            "SET_FUNCTION_ATTRIBUTE 1",
        ]
    else:
        assert flags == ["MAKE_FUNCTION 9"]
    assert body(inner(code, "g")) == "LOAD_DEREF x; STORE_DEREF y; LOAD_CONST None; RETURN_VALUE"


def test_slots_of_a_name_that_is_local_and_free() -> None:
    # Inlined comprehensions give such a name two slots.
    source = (
        "def h(x, z):\n    def f(a):\n        b = [x for x in a if (lambda: z)]\n"
        "        return b, x, z\n    return f\n"
    )
    code = inner(function(source, "h"), "f")
    decoded = decode(code)
    assert decoded.slot_names == code.co_varnames + code.co_freevars
    closures = [i.arg for i in decoded.instrs if i.op == "LOAD_CLOSURE"]
    # Before 3.12 the comprehension is a function that closes over z itself.
    assert [decoded.slot_names[slot] for slot in closures] == ["z"]
    free = [i.arg for i in decoded.instrs if i.op == "LOAD_DEREF"]
    assert [decoded.slot_names[slot] for slot in free] == ["x", "z"]
    assert min(free) >= len(code.co_varnames)


def test_class_body_cells() -> None:
    code = function("def f(x):\n    class C:\n        y = x\n    return C\n")
    made = text(inner(code, "C"))
    at = made.index("LOAD_FROM_DICT_OR_DEREF x")
    assert made[at - 1] == "LOAD_LOCALS"
    assert made[at + 1] == "STORE_NAME y"


def test_super() -> None:
    source = "class C:\n    def f(self):\n        return super().f(), super().a\n"
    scope: dict[str, Any] = {}
    exec(source, scope)
    decoded = decode(scope["C"].f.__code__)
    found = [(i.op, i.arg) for i in decoded.instrs if "SUPER" in i.op]
    if VERSION >= (3, 12):
        assert found == [("LOAD_SUPER_METHOD", ("f", False)), ("LOAD_SUPER_ATTR", ("a", False))]
    else:
        assert found == []


def test_generator() -> None:
    made = text(function("def f(x):\n    y = yield x\n    return y\n"))
    assert made[:8] == [
        *["L0:", "RETURN_GENERATOR", "POP_TOP", "LOAD_FAST x", "YIELD_VALUE", "STORE_FAST y"],
        *["LOAD_FAST y", "RETURN_VALUE"],
    ]
    rest = [] if VERSION == (3, 11) else ["L1:", "STOPITERATION_ERROR", "RERAISE 1"]
    assert made[8:] == rest


def test_yield_from() -> None:
    made = text(function("def f(x):\n    return (yield from x)\n"))
    assert made[:8] == [
        *["L0:", "RETURN_GENERATOR", "POP_TOP", "LOAD_FAST x", "GET_YIELD_FROM_ITER"],
        *["LOAD_CONST None", "L1:", made[7]],
    ]
    end = int(made[7].removeprefix("SEND L"))
    assert made[8:11] == ["L2:", "YIELD_VALUE", "JUMP L1"]
    assert made[made.index(f"L{end}:") + 1] == "RETURN_VALUE"
    if VERSION >= (3, 12):
        assert made[made.index("CLEANUP_THROW") + 1] in (f"JUMP L{end}", "RETURN_VALUE")


def test_handlers() -> None:
    code = function(
        "def f(x):\n    try:\n        x()\n    except ValueError:\n        return 1\n    return 2\n"
    )
    decoded = decode(code)
    guarded = {h for i, h in zip(decoded.instrs, decoded.handlers, strict=True) if i.op == "CALL"}
    assert len(guarded) == 1
    handler = guarded.pop()
    assert handler is not None
    assert handler == Handler(decoded.instrs.index(decoded.instrs[handler.target]), 0, False)
    ops = [i.op for i in decoded.instrs[handler.target : handler.target + 5]]
    assert ops == ["LABEL", "PUSH_EXC_INFO", "LOAD_GLOBAL", "CHECK_EXC_MATCH", "POP_JUMP_IF_FALSE"]
    inside = decoded.handlers[handler.target + 2]
    assert inside is not None
    assert (inside.depth, inside.lasti) == (1, True)


def test_test_of_truth_is_guarded() -> None:
    # Python 3.13 leaves some conditional jumps out of the exception table.
    source = (
        "def f(a, b):\n    for i in a:\n        while a or b:\n            yield i\n    return 1\n"
    )
    decoded = decode(function(source))
    jumps = [k for k, i in enumerate(decoded.instrs) if i.op.startswith("POP_JUMP")]
    assert len(jumps) == 2
    assert all((decoded.handlers[k] is not None) == (VERSION >= (3, 12)) for k in jumps)


def test_match() -> None:
    source = (
        "def f(x):\n    match x:\n        case [a, *_]:\n            return a\n"
        "        case {'k': b}:\n            return b\n        case int(real=c):\n"
        "            return c\n"
    )
    ops = {i.op for i in decode(function(source)).instrs}
    assert {"MATCH_SEQUENCE", "GET_LEN", "MATCH_MAPPING", "MATCH_KEYS", "MATCH_CLASS"} <= ops


def test_module_level_code() -> None:
    code = compile("from os import *\nx: int = 1\n", "m", "exec")
    assert "IMPORT_STAR" in text(code)
    assert "SETUP_ANNOTATIONS" in text(code)
    shown = text(compile("x", "m", "single"))
    assert shown[1:3] == ["LOAD_NAME x", "PRINT_EXPR"]


@pytest.mark.skipif(VERSION < (3, 12), reason="syntax of Python 3.12")
def test_type_parameters() -> None:
    code = compile("def f[T](x: T) -> T: return x\ntype A = int\n", "m", "exec")
    names = {
        i.arg
        for c in code.co_consts
        if isinstance(c, CodeType)
        for i in decode(c).instrs
        if i.op == "INTRINSIC"
    }
    assert ("TYPEVAR", 1) in names
    assert ("SET_FUNCTION_TYPE_PARAMS", 2) in names


@pytest.mark.skipif(VERSION < (3, 13), reason="syntax of Python 3.13")
def test_type_parameter_defaults() -> None:
    code = compile("class C[T = int]: pass\n", "m", "exec")
    names = [
        i.arg
        for c in code.co_consts
        if isinstance(c, CodeType)
        for i in decode(c).instrs
        if i.op == "INTRINSIC"
    ]
    assert ("SET_TYPEPARAM_DEFAULT", 2) in names


# Rejected


@pytest.mark.parametrize(
    ("source", "opcode"),
    [
        ("async def f(x):\n    await x\n", "GET_AWAITABLE"),
        ("async def f(x):\n    async for i in x: pass\n", "GET_AITER"),
        ("async def f(x):\n    async with x: pass\n", "BEFORE_ASYNC_WITH"),
        ("async def f(x):\n    yield x\n", "ASYNC_GEN_WRAP"),
        ("def f(x):\n    try: x()\n    except* ValueError: pass\n", "CHECK_EG_MATCH"),
    ],
)
def test_rejected_only_when_reached(source: str, opcode: str) -> None:
    instrs = decode(function(source)).instrs
    found = [i for i in instrs if i.op == "REJECTED" and i.arg[0] == opcode]
    assert found
    assert found[0].arg == (opcode, *REJECTED[opcode])
    assert found[0].span[0] is not None
    name, reason, hint = found[0].arg
    error = Unsupported(name, reason, hint, found[0].span)
    assert (error.opcode, error.reason, error.hint) == found[0].arg
    assert error.span == found[0].span
    assert str(error) == REJECTED[opcode][0]


def test_nothing_follows_a_rejected_instruction() -> None:
    made = text(function("async def f(x):\n    await x\n    return x + 1\n"))
    assert "BINARY_OP +" not in made


# Dead code


@pytest.mark.parametrize(
    "source",
    [
        "def f(x):\n    while True:\n        x()\n",
        "def f(x):\n    if 0:\n        dead()\n    return x\n",
        "def f(x):\n    return x\n    dead()\n",
    ],
)
def test_unreachable_code_is_gone(source: str) -> None:
    instrs = decode(function(source)).instrs
    assert "dead" not in [i.arg for i in instrs]
    for before, after in pairwise(instrs):
        assert before.op not in ("JUMP", "RETURN_VALUE") or after.op == "LABEL"
