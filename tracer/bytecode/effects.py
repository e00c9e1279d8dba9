"""Stack effect of each canonical instruction.

Imports nothing of the project.
"""

from __future__ import annotations

from typing import Any, Final

_BY_EFFECT: Final[dict[int, str]] = {
    1: """COPY PUSH_NULL LOAD_CONST LOAD_FAST LOAD_FAST_AND_CLEAR LOAD_CLOSURE LOAD_DEREF
        LOAD_GLOBAL LOAD_NAME LOAD_LOCALS LOAD_METHOD GET_LEN MATCH_KEYS MATCH_MAPPING
        MATCH_SEQUENCE RETURN_GENERATOR PUSH_EXC_INFO WITH_EXCEPT_START BEFORE_WITH
        LOAD_ASSERTION_ERROR IMPORT_FROM LOAD_BUILD_CLASS""",
    0: """LABEL REJECTED SWAP MAKE_CELL DELETE_FAST DELETE_DEREF DELETE_GLOBAL DELETE_NAME
        LOAD_FROM_DICT_OR_DEREF LOAD_FROM_DICT_OR_GLOBALS LOAD_ATTR UNARY_OP TO_BOOL
        LIST_TO_TUPLE CONVERT JUMP YIELD_VALUE GET_YIELD_FROM_ITER STOPITERATION_ERROR
        CHECK_EXC_MATCH GET_ITER SETUP_ANNOTATIONS""",
    -1: """POP_TOP STORE_FAST STORE_DEREF STORE_GLOBAL STORE_NAME DELETE_ATTR LOAD_SUPER_METHOD
        BINARY_OP INPLACE_OP COMPARE_OP IS_OP CONTAINS_OP BINARY_SUBSCR LIST_APPEND SET_ADD
        LIST_EXTEND SET_UPDATE DICT_UPDATE DICT_MERGE SET_FUNCTION_ATTRIBUTE POP_JUMP_IF_TRUE
        POP_JUMP_IF_FALSE POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE RETURN_VALUE
        POP_EXCEPT RERAISE IMPORT_NAME IMPORT_STAR PRINT_EXPR""",
    -2: "STORE_ATTR LOAD_SUPER_ATTR DELETE_SUBSCR MAP_ADD MATCH_CLASS CLEANUP_THROW",
    -3: "STORE_SUBSCR",
}
_FIXED: Final = {op: effect for effect, ops in _BY_EFFECT.items() for op in ops.split()}


def stack_effect(op: str, arg: Any, *, jumps: bool = False) -> int:
    """Return by how much a canonical instruction changes the stack depth.

    `jumps` tells which successor of a FOR_ITER or SEND is meant. KeyError: not canonical.
    """
    match op:
        case "FOR_ITER":
            return -1 if jumps else 1
        case "SEND":
            return -1 if jumps else 0
        case "BUILD_SLICE" | "BUILD_TUPLE" | "BUILD_LIST" | "BUILD_SET" | "BUILD_STRING":
            return int(1 - arg)
        case "BUILD_MAP":
            return int(1 - 2 * arg)
        case "BUILD_CONST_KEY_MAP" | "RAISE_VARARGS":
            return int(-arg)
        case "UNPACK_SEQUENCE":
            return int(arg - 1)
        case "UNPACK_EX":
            return int(arg[0] + arg[1])
        case "FORMAT":
            return -1 if arg[1] else 0
        case "CALL":
            return int(-arg - 1)
        case "CALL_KW":
            return int(-arg - 2)
        case "CALL_EX":
            return -3 if arg else -2
        case "MAKE_FUNCTION":
            return -int(arg & 0xF).bit_count()
        case "INTRINSIC":
            return int(1 - arg[1])
    return _FIXED[op]
