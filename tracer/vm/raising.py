"""Exceptions under runtime control: a trap on the device, unless a handler could catch it."""

from __future__ import annotations

from typing import Any

from ..diagnostics import Site, error
from .frame import Frame

_ENDS = {"RETURN_VALUE", "POP_EXCEPT", "CHECK_EXC_MATCH", "WITH_EXCEPT_START"}


def refuse_if_caught(frame: Frame, exc: BaseException, place: Site) -> None:
    """AT0303 if a `try` around the calls that led to `frame` could catch what has left it.

    The frame's own handlers have had their chance: they run in the arm that raises. `try ...
    finally` only cleans up and is passed; the device stops before.
    """
    while frame.parent is not None:
        pc, frame = frame.parent[1], frame.parent_frame
        handler = frame.code.handlers[pc]
        while handler is not None:
            if _may_catch(frame.code, handler.target):
                raise error(
                    "AT0303",
                    f"{type(exc).__name__} raised under a runtime condition inside a `try` or "
                    "`with` that could catch it",
                    place,
                    notes=[("the handler is here", _place(frame, handler.target))],
                    hint="the device cannot unwind: test the condition with `if` instead",
                )
            handler = frame.code.handlers[handler.target]


def _place(frame: Frame, target: int) -> Site:
    """A handler's first instruction with a place in the source."""
    instrs = frame.code.instrs
    pc = next((k for k in range(target, len(instrs)) if instrs[k].span[2] is not None), target)
    return (frame.code, pc, frame.parent)


def _may_catch(code: Any, target: int) -> bool:
    """Whether a handler can end otherwise than by raising again."""
    instrs = code.instrs
    seen: set[int] = set()
    todo = [target]
    while todo:
        pc = todo.pop()
        while pc not in seen:
            seen.add(pc)
            instr = instrs[pc]
            # `finally` restores the exception state only to raise again.
            if instr.op in _ENDS and not (
                instr.op == "POP_EXCEPT" and instrs[pc + 1].op == "RERAISE"
            ):
                return True
            if instr.op in ("RERAISE", "RAISE_VARARGS"):
                break
            if instr.op == "JUMP":
                pc = instr.arg
                continue
            if instr.op.startswith("POP_JUMP") or instr.op in ("FOR_ITER", "SEND"):
                todo.append(instr.arg)
            pc += 1
    return False
