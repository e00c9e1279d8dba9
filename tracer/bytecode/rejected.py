"""Opcodes that no kernel can use, each with a reason and a hint for the kernel's author.

Imports nothing of the project.
"""

from __future__ import annotations

from typing import Final

_AWAIT = (
    "`await` has no meaning in a kernel, which runs to its end on one core",
    "make the function a plain `def` and await around the launch, on the host",
)
_ASYNC_FOR = (
    "`async for` and asynchronous generators have no meaning in a kernel",
    "use a plain `for` loop or a plain generator",
)
_ASYNC_WITH = (
    "`async with` has no meaning in a kernel",
    "use a plain `with` statement",
)
_EXCEPT_STAR = (
    "`except*` is not supported in a kernel: exception groups are never raised there",
    "use a plain `except` clause",
)
_INTERNAL = (
    "the Python interpreter keeps this instruction for itself; no compiled function contains it",
    "the code object was made or changed by a tool: trace the function as Python compiled it",
)

REJECTED: Final[dict[str, tuple[str, str]]] = {
    "GET_AWAITABLE": _AWAIT,
    "GET_AITER": _ASYNC_FOR,
    "GET_ANEXT": _ASYNC_FOR,
    "END_ASYNC_FOR": _ASYNC_FOR,
    "ASYNC_GEN_WRAP": _ASYNC_FOR,
    "BEFORE_ASYNC_WITH": _ASYNC_WITH,
    "CHECK_EG_MATCH": _EXCEPT_STAR,
    "PREP_RERAISE_STAR": _EXCEPT_STAR,
    **dict.fromkeys(
        (
            # Frames and optimiser of the interpreter
            "RESERVED",
            "INTERPRETER_EXIT",
            "EXIT_INIT_CHECK",
            "ENTER_EXECUTOR",
            # Steps of the compiler, gone before a code object is made
            "SETUP_FINALLY",
            "SETUP_CLEANUP",
            "SETUP_WITH",
            "POP_BLOCK",
            "JUMP_NO_INTERRUPT",
            "LOAD_ZERO_SUPER_METHOD",
            "LOAD_ZERO_SUPER_ATTR",
            # Monitoring; `co_code` shows the plain instruction
            "INSTRUMENTED_CALL",
            "INSTRUMENTED_CALL_FUNCTION_EX",
            "INSTRUMENTED_CALL_KW",
            "INSTRUMENTED_END_FOR",
            "INSTRUMENTED_END_SEND",
            "INSTRUMENTED_FOR_ITER",
            "INSTRUMENTED_INSTRUCTION",
            "INSTRUMENTED_JUMP_BACKWARD",
            "INSTRUMENTED_JUMP_FORWARD",
            "INSTRUMENTED_LINE",
            "INSTRUMENTED_LOAD_SUPER_ATTR",
            "INSTRUMENTED_POP_JUMP_IF_FALSE",
            "INSTRUMENTED_POP_JUMP_IF_NONE",
            "INSTRUMENTED_POP_JUMP_IF_NOT_NONE",
            "INSTRUMENTED_POP_JUMP_IF_TRUE",
            "INSTRUMENTED_RESUME",
            "INSTRUMENTED_RETURN_CONST",
            "INSTRUMENTED_RETURN_VALUE",
            "INSTRUMENTED_YIELD_VALUE",
        ),
        _INTERNAL,
    ),
}
"""Opcode name -> (reason, hint)."""
