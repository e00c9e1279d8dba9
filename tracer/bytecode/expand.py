"""Passes that rewrite CPython's instructions into canonical ones, whatever surrounds them.

Where versions differ there is one pass a variant; `versions` picks. Imports the working form only.
"""

from __future__ import annotations

from typing import Final

from .canonical import CONDITIONAL
from .nodes import Node, Nodes, each, whole
from .rejected import REJECTED


@each("NOP", "RESUME", "PRECALL", "COPY_FREE_VARS")
def drop_bookkeeping(node: Node) -> Nodes:
    """Remove what only the interpreter's own frame needs."""
    return []


@each("LOAD_FAST_LOAD_FAST", "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST")
def split_superinstructions(node: Node) -> Nodes:
    """Split fused instructions. CPython fuses within a line and keeps the first one's columns."""
    first, second = node.op[: len("LOAD_FAST")], node.op[-len("LOAD_FAST") :]
    if node.op.startswith("STORE_FAST"):
        first = "STORE_FAST"
    if node.op.endswith("STORE_FAST"):
        second = "STORE_FAST"
    line = node.span[0]
    return [
        node.like(first, node.arg >> 4),
        Node(second, node.arg & 15, (line, line, None, None), node.region),
    ]


_JUMPS: Final = {
    "JUMP_FORWARD": "JUMP",
    "JUMP_BACKWARD": "JUMP",
    "JUMP_BACKWARD_NO_INTERRUPT": "JUMP",
    "POP_JUMP_FORWARD_IF_TRUE": "POP_JUMP_IF_TRUE",
    "POP_JUMP_FORWARD_IF_FALSE": "POP_JUMP_IF_FALSE",
    "POP_JUMP_FORWARD_IF_NONE": "POP_JUMP_IF_NONE",
    "POP_JUMP_FORWARD_IF_NOT_NONE": "POP_JUMP_IF_NOT_NONE",
    "POP_JUMP_BACKWARD_IF_TRUE": "POP_JUMP_IF_TRUE",
    "POP_JUMP_BACKWARD_IF_FALSE": "POP_JUMP_IF_FALSE",
    "POP_JUMP_BACKWARD_IF_NONE": "POP_JUMP_IF_NONE",
    "POP_JUMP_BACKWARD_IF_NOT_NONE": "POP_JUMP_IF_NOT_NONE",
}


@each(*_JUMPS)
def plain_jumps(node: Node) -> Nodes:
    """Forget the direction of jumps."""
    return [node.like(_JUMPS[node.op], node.arg)]


@each("JUMP_IF_TRUE_OR_POP", "JUMP_IF_FALSE_OR_POP")
def expand_jump_or_pop(node: Node) -> Nodes:
    """Write 'and' and 'or' as Python 3.12 does."""
    jump = "POP_JUMP_IF_TRUE" if "TRUE" in node.op else "POP_JUMP_IF_FALSE"
    return [node.like("COPY", 1), node.like(jump, node.arg), node.like("POP_TOP")]


_BINARY: Final = ("+", "&", "//", "<<", "@", "*", "%", "|", "**", ">>", "-", "/", "^")
_UNARY: Final = {
    "UNARY_POSITIVE": "+",
    "UNARY_NEGATIVE": "-",
    "UNARY_INVERT": "~",
    "UNARY_NOT": "not",
}


@each("BINARY_OP", "IS_OP", "CONTAINS_OP", *_UNARY)
def name_operators(node: Node) -> Nodes:
    """Put operators in place of their numbers."""
    if node.op == "BINARY_OP":
        inplace, number = divmod(node.arg, len(_BINARY))
        return [node.like("INPLACE_OP" if inplace else "BINARY_OP", _BINARY[number])]
    if node.op in _UNARY:
        return [node.like("UNARY_OP", _UNARY[node.op])]
    return [node.like(node.op, bool(node.arg))]


_COMPARE: Final = ("<", "<=", "==", "!=", ">", ">=")


@each("COMPARE_OP")
def name_comparisons_311(node: Node) -> Nodes:
    """The argument is the comparison's number."""
    return [node.like("COMPARE_OP", _COMPARE[node.arg])]


@each("COMPARE_OP")
def name_comparisons_312(node: Node) -> Nodes:
    """Four low bits are a mask for the specialising interpreter."""
    return [node.like("COMPARE_OP", _COMPARE[node.arg >> 4])]


@each("COMPARE_OP")
def name_comparisons_313(node: Node) -> Nodes:
    """As in 3.12, and the next bit is a TO_BOOL that was merged into the comparison."""
    compare = node.like("COMPARE_OP", _COMPARE[node.arg >> 5])
    return [compare, node.like("TO_BOOL")] if node.arg & 16 else [compare]


@whole("TO_BOOL", *CONDITIONAL)
def join_bool_and_test(nodes: Nodes) -> Nodes:
    """Remove TO_BOOL where the next instruction tests truth itself.

    Python 3.13's conditional jumps cannot fail, and it leaves some out of the exception table; a
    canonical one can, so it gets the handler of the instruction that made its condition.
    """
    out: Nodes = []
    for node in nodes:
        if node.op in CONDITIONAL or (node.op, node.arg) == ("UNARY_OP", "not"):
            if out and out[-1].op != "LABEL":
                node.region = out[-1].region
            if out and out[-1].op == "TO_BOOL":
                out.pop()
        out.append(node)
    return out


@each("LOAD_GLOBAL")
def null_before_global(node: Node) -> Nodes:
    """Make the NULL of a call explicit; it lies below the callable."""
    pushes_null, name = node.arg
    load = node.like("LOAD_GLOBAL", name)
    return [node.like("PUSH_NULL"), load] if pushes_null else [load]


@each("LOAD_GLOBAL")
def null_after_global(node: Node) -> Nodes:
    """Make the NULL of a call explicit; it lies above the callable."""
    pushes_null, name = node.arg
    load = node.like("LOAD_GLOBAL", name)
    return [load, node.like("PUSH_NULL")] if pushes_null else [load]


@each("LOAD_ATTR", "LOAD_SUPER_ATTR")
def split_method_loads(node: Node) -> Nodes:
    """Tell attributes that are called from others."""
    flags, name = node.arg
    if node.op == "LOAD_ATTR":
        return [node.like("LOAD_METHOD" if flags else "LOAD_ATTR", name)]
    op = "LOAD_SUPER_METHOD" if flags & 1 else "LOAD_SUPER_ATTR"
    return [node.like(op, (name, bool(flags & 2)))]


@whole("KW_NAMES")
def push_keyword_names(nodes: Nodes) -> Nodes:
    """Pass keyword names on the stack. CPython puts KW_NAMES right before its CALL."""
    out: Nodes = []
    names: Node | None = None
    for node in nodes:
        if node.op == "KW_NAMES":
            names = node
        elif names is None:
            out.append(node)
        else:
            assert node.op == "CALL", f"KW_NAMES before {node.op}"
            out += [node.like("LOAD_CONST", names.arg), node.like("CALL_KW", node.arg)]
            names = None
    return out


@each("CALL_FUNCTION_EX")
def name_star_calls(node: Node) -> Nodes:
    """CALL_EX says whether a mapping of keywords is there."""
    return [node.like("CALL_EX", bool(node.arg & 1))]


@each("RETURN_CONST")
def expand_return_const(node: Node) -> Nodes:
    """Split into load and return."""
    return [node.like("LOAD_CONST", node.arg), node.like("RETURN_VALUE")]


@each("BINARY_SLICE", "STORE_SLICE")
def expand_slices(node: Node) -> Nodes:
    """Build the slice object; container and value lie below as the subscript wants them."""
    subscript = "BINARY_SUBSCR" if node.op == "BINARY_SLICE" else "STORE_SUBSCR"
    return [node.like("BUILD_SLICE", 2), node.like(subscript)]


_CONVERSION: Final = (None, "s", "r", "a")


@each("FORMAT_VALUE")
def name_formats(node: Node) -> Nodes:
    """Decode conversion and spec (until Python 3.12)."""
    return [node.like("FORMAT", (_CONVERSION[node.arg & 3], bool(node.arg & 4)))]


@whole("CONVERT_VALUE", "FORMAT_SIMPLE", "FORMAT_WITH_SPEC")
def join_formats(nodes: Nodes) -> Nodes:
    """Merge a conversion into the format right behind it (from Python 3.13)."""
    out: Nodes = []
    for node in nodes:
        if node.op == "CONVERT_VALUE":
            out.append(node.like("CONVERT", _CONVERSION[node.arg]))
        elif node.op == "FORMAT_WITH_SPEC":
            out.append(node.like("FORMAT", (None, True)))
        elif node.op == "FORMAT_SIMPLE":
            conversion = out.pop().arg if out and out[-1].op == "CONVERT" else None
            out.append(node.like("FORMAT", (conversion, False)))
        else:
            out.append(node)
    return out


_INTRINSIC_1: Final = {
    1: "PRINT",
    2: "IMPORT_STAR",
    3: "STOPITERATION_ERROR",
    4: "ASYNC_GEN_WRAP",
    5: "UNARY_POSITIVE",
    6: "LIST_TO_TUPLE",
    7: "TYPEVAR",
    8: "PARAMSPEC",
    9: "TYPEVARTUPLE",
    10: "SUBSCRIPT_GENERIC",
    11: "TYPEALIAS",
}
_INTRINSIC_2: Final = {
    1: "PREP_RERAISE_STAR",
    2: "TYPEVAR_WITH_BOUND",
    3: "TYPEVAR_WITH_CONSTRAINTS",
    4: "SET_FUNCTION_TYPE_PARAMS",
    5: "SET_TYPEPARAM_DEFAULT",
}


@each("CALL_INTRINSIC_1", "CALL_INTRINSIC_2")
def name_intrinsics(node: Node) -> Nodes:
    """Give back to intrinsics the opcodes they had in Python 3.11; name the others."""
    unary = node.op == "CALL_INTRINSIC_1"
    name = (_INTRINSIC_1 if unary else _INTRINSIC_2)[node.arg]
    if name in ("PRINT", "IMPORT_STAR"):
        # The opcode pushes nothing, the intrinsic a None that is popped next.
        op = "PRINT_EXPR" if name == "PRINT" else name
        return [node.like(op), node.like("LOAD_CONST", None)]
    if name == "UNARY_POSITIVE":
        return [node.like("UNARY_OP", "+")]
    if name in ("STOPITERATION_ERROR", "LIST_TO_TUPLE") or name in REJECTED:
        return [node.like(name)]
    return [node.like("INTRINSIC", (name, 1 if unary else 2))]


@each("LOAD_FAST_CHECK", "STORE_FAST_MAYBE_NULL")
def plain_locals(node: Node) -> Nodes:
    """Canonical loads always check, canonical stores take NULL."""
    return [node.like("LOAD_FAST" if node.op.startswith("LOAD") else "STORE_FAST", node.arg)]


@each("LOAD_CLASSDEREF")
def expand_class_cells(node: Node) -> Nodes:
    """Name the mapping that is looked at first, as Python 3.12 does."""
    return [node.like("LOAD_LOCALS"), node.like("LOAD_FROM_DICT_OR_DEREF", node.arg)]


@each("UNPACK_EX", "YIELD_VALUE", "MAKE_FUNCTION")
def plain_arguments(node: Node) -> Nodes:
    """Split the two counts of UNPACK_EX, drop hints for the interpreter, fill in no flags."""
    if node.op == "UNPACK_EX":
        return [node.like("UNPACK_EX", (node.arg & 0xFF, node.arg >> 8))]
    return [node.like(node.op, None if node.op == "YIELD_VALUE" else node.arg or 0)]


@each("END_FOR", "END_SEND")
def drop_loop_ends(node: Node) -> Nodes:
    """Land behind END_FOR and END_SEND.

    The interpreter skips END_FOR when FOR_ITER is exhausted. END_SEND removes a receiver, which
    the canonical SEND and CLEANUP_THROW have popped. Nothing else leads to either.
    """
    return []


@whole("END_FOR")
def drop_pop_after_end_for(nodes: Nodes) -> Nodes:
    """Remove the POP_TOP that is skipped with END_FOR (from Python 3.13)."""
    out: Nodes = []
    before = ""
    for node in nodes:
        assert before != "END_FOR" or node.op == "POP_TOP", f"END_FOR before {node.op}"
        if before != "END_FOR":
            out.append(node)
        before = node.op
    return out


@each(*REJECTED)
def reject(node: Node) -> Nodes:
    """Mark what kernels cannot do; it becomes an error only if it is reached."""
    return [node.like("REJECTED", (node.op, *REJECTED[node.op]))]
