"""What the decoder hands out: canonical instructions, handlers, code.

Owns the vocabulary of the tracer's virtual machine. Imports nothing of the project.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import CodeType
from typing import Any, Final, TypeAlias

Span: TypeAlias = "tuple[int | None, int | None, int | None, int | None]"
"""``(line, end_line, col, end_col)`` as ``co_positions`` has it; columns are UTF-8 byte offsets."""


@dataclass(slots=True)
class Instr:
    """One canonical instruction; `CANONICAL` says what `arg` holds for each `op`."""

    op: str
    arg: Any
    span: Span


@dataclass(frozen=True, slots=True)
class Handler:
    """Where an exception goes.

    The stack is unwound to `depth` items; then an index (any object will do) is pushed if `lasti`,
    then the exception; then control goes to the LABEL at `target`.
    """

    target: int
    depth: int
    lasti: bool


@dataclass(slots=True, eq=False)
class Code:
    """A decoded code object, equal to itself only. `handlers` is aligned with `instrs`.

    `program` is a place for what an executor makes of it, kept as long as this is.
    """

    code: CodeType
    instrs: list[Instr]
    handlers: list[Handler | None]
    slot_names: tuple[str, ...]
    program: Any = None


class Unsupported(Exception):
    """A rejected opcode was reached. Raised by whoever executes a REJECTED instruction."""

    def __init__(self, opcode: str, reason: str, hint: str, span: Span) -> None:
        super().__init__(reason)
        self.opcode = opcode
        self.reason = reason
        self.hint = hint
        self.span = span


CANONICAL: Final[dict[str, str]] = {
    # Pseudo
    "LABEL": "None; the leader of a basic block, the only thing a jump or a handler may target",
    "REJECTED": "(opcode name, reason, hint); executing it is an error, control never passes it",
    # Stack
    "POP_TOP": "None",
    "COPY": "n: push the n-th item from the top (1 is the top)",
    "SWAP": "n: exchange the top with the n-th item",
    "PUSH_NULL": "None",
    # Locals, cells
    "LOAD_CONST": "the constant itself",
    "LOAD_FAST": "slot: push what the slot holds; an error if unbound",
    "LOAD_FAST_AND_CLEAR": "slot: push what the slot holds, or NULL, and unbind it",
    "LOAD_CLOSURE": "slot: push the cell that the slot holds",
    "STORE_FAST": "slot: pop into the slot; NULL unbinds it",
    "DELETE_FAST": "slot: an error if unbound",
    "MAKE_CELL": "slot: put what the slot holds (or nothing) into a new cell in that slot",
    "LOAD_DEREF": "slot: push the content of the cell; an error if empty",
    "STORE_DEREF": "slot: pop into the cell",
    "DELETE_DEREF": "slot: an error if empty",
    "LOAD_FROM_DICT_OR_DEREF": "slot: pop a mapping; push mapping[name], else the cell's content",
    # Names
    "LOAD_GLOBAL": "name",
    "STORE_GLOBAL": "name",
    "DELETE_GLOBAL": "name",
    "LOAD_NAME": "name",
    "STORE_NAME": "name",
    "DELETE_NAME": "name",
    "LOAD_LOCALS": "None: push the mapping of local names",
    "LOAD_FROM_DICT_OR_GLOBALS": "name: pop a mapping; push mapping[name], else the global",
    # Attributes
    "LOAD_ATTR": "name",
    "LOAD_METHOD": "name: pop an object, push two: a function and self, or NULL and the attribute",
    "STORE_ATTR": "name: [value, object] popped",
    "DELETE_ATTR": "name",
    "LOAD_SUPER_ATTR": "(name, has two arguments): [super, class, self] -> [attribute]",
    "LOAD_SUPER_METHOD": "(name, has two arguments): [super, class, self] -> as LOAD_METHOD",
    # Operators
    "BINARY_OP": "operator, such as '+'",
    "INPLACE_OP": "operator without '=', such as '+' for '+='",
    "UNARY_OP": "'-', '+', '~' or 'not' ('not' tests truth itself)",
    "COMPARE_OP": "'<', '<=', '==', '!=', '>' or '>='",
    "IS_OP": "invert: True for 'is not'",
    "CONTAINS_OP": "invert: True for 'not in'; [item, container] -> [bool]",
    "TO_BOOL": "None: replace the top by its truth value",
    "BINARY_SUBSCR": "None: [object, index] -> [item]",
    "STORE_SUBSCR": "None: [value, object, index] popped",
    "DELETE_SUBSCR": "None: [object, index] popped",
    "BUILD_SLICE": "n: 2 or 3 items",
    # Containers
    "BUILD_TUPLE": "n items",
    "BUILD_LIST": "n items",
    "BUILD_SET": "n items",
    "BUILD_STRING": "n strings",
    "BUILD_MAP": "n pairs, each key then value",
    "BUILD_CONST_KEY_MAP": "n values, below a tuple of n keys",
    "LIST_APPEND": "i: pop an item, append it to the list i-th from the top then",
    "SET_ADD": "i: as LIST_APPEND",
    "MAP_ADD": "i: pop [key, value], add to the dict i-th from the top then",
    "LIST_EXTEND": "i: pop an iterable, extend the list i-th from the top then",
    "SET_UPDATE": "i: as LIST_EXTEND",
    "DICT_UPDATE": "i: as LIST_EXTEND",
    "DICT_MERGE": "i: as DICT_UPDATE, but a repeated key is an error",
    "LIST_TO_TUPLE": "None",
    "UNPACK_SEQUENCE": "n: the first item ends on top",
    "UNPACK_EX": "(before, after): the first item ends on top",
    # Patterns
    "GET_LEN": "None: push the length of the top",
    "MATCH_CLASS": "n positional: [subject, class, names] -> [tuple of attributes or None]",
    "MATCH_KEYS": "None: [subject, keys] -> [subject, keys, tuple of values or None]",
    "MATCH_MAPPING": "None: push whether the top is a mapping",
    "MATCH_SEQUENCE": "None: push whether the top is a sequence",
    # Strings
    "FORMAT": "(conversion: 's', 'r', 'a' or None; has a spec): [value] or [value, spec] -> [str]",
    "CONVERT": "'s', 'r' or 'a'",
    # Calls
    "CALL": "n: [NULL, callable] or [callable, NULL] or [callable, self], then n arguments",
    "CALL_KW": "n in all: as CALL, then a tuple with the names of the last ones on top",
    "CALL_EX": "has keywords: NULL and callable as for CALL, an iterable and perhaps a mapping",
    "MAKE_FUNCTION": "flags: the code on top; below, for each flag: 1 defaults, 2 keyword "
    "defaults, 4 annotations, 8 closure (8 is nearest to the code); 0 from Python 3.13 on",
    "SET_FUNCTION_ATTRIBUTE": "flag as of MAKE_FUNCTION: [value, function] -> [function]",
    # Jumps
    "JUMP": "target",
    "POP_JUMP_IF_TRUE": "target",
    "POP_JUMP_IF_FALSE": "target",
    "POP_JUMP_IF_NONE": "target",
    "POP_JUMP_IF_NOT_NONE": "target",
    "FOR_ITER": "target: push the next item; if there is none, pop the iterator and jump",
    # Functions, generators
    "RETURN_VALUE": "None",
    "RETURN_GENERATOR": "None: return a generator; on its first resumption the value sent is "
    "pushed and control goes on",
    "YIELD_VALUE": "None: pop and yield; on resumption push the value sent, or None before an "
    "exception is thrown in (its handler counts that item)",
    "GET_YIELD_FROM_ITER": "None",
    "SEND": "target: [receiver, value]; send the value: if the receiver yields, what it yields "
    "replaces the value; if it ends, both are popped, its result is pushed, and control jumps",
    "CLEANUP_THROW": "None: [receiver, value, exception] -> [result] if the exception is a "
    "StopIteration, else the exception is raised again (Python 3.12 on: handler of 'yield from')",
    "STOPITERATION_ERROR": "None: a StopIteration on top becomes a RuntimeError",
    # Exceptions
    "PUSH_EXC_INFO": "None: [exception] -> [exception handled before, exception]",
    "CHECK_EXC_MATCH": "None: [exception, class] -> [exception, bool]",
    "POP_EXCEPT": "None: pop the exception handled before and restore it",
    "RERAISE": "n: pop the exception and raise it again; n > 0: an index lies n-th below it",
    "RAISE_VARARGS": "n: 0 raise again, 1 exception, 2 exception and cause",
    "WITH_EXCEPT_START": "None: [exit, index, previous, exception]: push exit(type, value, tb)",
    "BEFORE_WITH": "None: [manager] -> [its bound __exit__, the result of __enter__()]",
    "LOAD_ASSERTION_ERROR": "None",
    # The rest
    "GET_ITER": "None",
    "IMPORT_NAME": "name: [level, from-list] -> [module]",
    "IMPORT_FROM": "name: push module.name, the module stays below",
    "IMPORT_STAR": "None: pop the module",
    "LOAD_BUILD_CLASS": "None",
    "SETUP_ANNOTATIONS": "None",
    "PRINT_EXPR": "None: pop, call sys.displayhook",
    "INTRINSIC": "(name, number of operands): such as ('TYPEVAR', 1)",
}
"""Each canonical name, with what its argument is. Target: an index of a LABEL in `Code.instrs`."""

CONDITIONAL: Final = frozenset(
    {"POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE", "POP_JUMP_IF_NONE", "POP_JUMP_IF_NOT_NONE"}
)
"""Jumps that pop a condition."""

BRANCHES: Final = CONDITIONAL | {"FOR_ITER", "SEND"}
"""Instructions with two successors."""

JUMPS: Final = BRANCHES | {"JUMP"}
"""Instructions whose argument is a target."""

FINAL: Final = frozenset({"JUMP", "RETURN_VALUE", "RAISE_VARARGS", "RERAISE", "REJECTED"})
"""Instructions that control never passes."""
