"""Tracebacks that show the user's code only.

A kernel's frames never exist in CPython, the tracer interprets them; the frames that do exist are
asctrace's own. So an error that leaves a public entry gets a traceback made here: one synthetic
frame for each of the user's, at the user's file, line and columns. The one real frame that cannot
be hidden, that of the entry itself, is a function compiled for each kernel so that it shows as the
kernel's `def` line (`boundary`). With `ASCTRACE_VERBOSE` nothing is hidden. May import `tracer`,
`knobs`.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Iterable
from types import CodeType, FrameType, TracebackType
from typing import Any

from ..tracer.diagnostics import KernelError, KernelWarning, Span, def_line, error
from . import knobs

_PACKAGE = __name__.partition(".")[0]

_BOUNDARY = """
def boundary(work, /, *args, **kwargs):
    try:
        return work(*args, **kwargs)
    except Exception as error:
        failure = present(error)
    try:
        raise failure
    finally:
        del failure
"""


def boundary(fn: Any) -> Callable[..., Any]:
    """A function `f(work, *args, **kwargs)` that calls `work` and shows as the `def` line of `fn`.

    What `work` raises leaves it with a traceback of user frames only.
    """
    code: CodeType = fn.__code__
    line = def_line(code)
    module = _positioned(ast.parse(_BOUNDARY), _line_span(code.co_filename, line))
    namespace = _globals_like(fn) | {"present": present}
    exec(compile(module, code.co_filename, "exec"), namespace)
    result: Any = namespace["boundary"]
    result.__code__ = result.__code__.replace(co_name=code.co_name, co_qualname=code.co_qualname)
    result.__name__ = code.co_name
    result.__qualname__ = code.co_qualname
    return result  # type: ignore[no-any-return]


def _globals_like(fn: Any) -> dict[str, Any]:
    """What a traceback wants of a frame's globals to find its source text."""
    wanted = ("__name__", "__loader__", "__spec__")
    return {name: fn.__globals__[name] for name in wanted if name in fn.__globals__}


def _line_span(file: str, line: int) -> Span:
    """A whole line: a traceback shows no carets below it."""
    text = linecache.getline(file, line).rstrip().encode()
    indent = len(text) - len(text.lstrip())
    return Span(file, "", line, indent, line, len(text))


def _positioned(tree: ast.Module, span: Span) -> ast.Module:
    """The tree with every node at a span."""
    for node in ast.walk(tree):
        if isinstance(node, ast.expr | ast.stmt | ast.excepthandler | ast.arg):
            node.lineno, node.col_offset = span.line, span.col or 0
            node.end_lineno, node.end_col_offset = span.end_line, span.end_col
    return tree


def present(failure: Exception) -> Exception:
    """The error as the user should see it: user frames only, no internal cause."""
    if _verbose():
        return failure
    cause = None
    if isinstance(failure, KernelError):
        findings = failure.findings
        if failure.findings[0].code == "AT0111":
            cause = failure.__cause__
    elif isinstance(failure, KernelWarning):
        findings = [failure.finding]
    else:
        failure = error(
            "AT0901",
            f"internal error: {type(failure).__name__}: {failure}",
            hint="ASCTRACE_VERBOSE=1 shows where; please report it with the kernel",
        )
        findings = []
    stack = findings[0].stack if findings else ()
    if cause is not None:
        _trim(cause, stack)
    failure.__context__ = None
    failure.__cause__ = cause
    failure.__suppress_context__ = cause is not None
    return failure.with_traceback(_chain(stack, None))


def _verbose() -> bool:
    try:
        return knobs.VERBOSE.get()
    except KernelError:
        return False


class _Probe(Exception):
    """Raised to get a frame."""


def _chain(stack: Iterable[Span], rest: TracebackType | None) -> TracebackType | None:
    """Synthetic frames for a call stack (innermost first), followed by `rest`."""
    for span in stack:
        made = _frame(span)
        rest = TracebackType(rest, made.tb_frame, made.tb_lasti, made.tb_lineno)
    return rest


def _frame(span: Span) -> TracebackType:
    """A traceback entry whose frame stands at a span."""
    if span.col is None or span.end_line is None or span.end_col is None:
        place = _line_span(span.file, span.line)
    else:
        place = span
    module = _positioned(ast.parse("raise probe"), place)
    code = compile(module, span.file, "exec")
    name = span.function.rpartition(".")[2]
    code = code.replace(co_name=name, co_qualname=span.function)
    try:
        exec(code, {"probe": _Probe})
    except _Probe as probe:
        entry = probe.__traceback__
    assert entry is not None
    assert entry.tb_next is not None
    return entry.tb_next


def _trim(failure: BaseException, stack: Iterable[Span]) -> None:
    """Drop internal frames from an exception of the user's code and from those it came from.

    Frames after the last internal one are library code that the kernel called: they stay, below the
    kernel's own.
    """
    frames = _entries(failure.__traceback__)
    last = max((k for k, tb in enumerate(frames) if _internal(tb.tb_frame)), default=-1)
    failure.__traceback__ = _chain(stack, _linked(frames[last + 1 :]))
    seen = {id(failure)}
    pending = [failure.__cause__, failure.__context__]
    while pending:
        earlier = pending.pop()
        if earlier is None or id(earlier) in seen:
            continue
        seen.add(id(earlier))
        kept = [tb for tb in _entries(earlier.__traceback__) if not _internal(tb.tb_frame)]
        earlier.__traceback__ = _linked(kept)
        pending += [earlier.__cause__, earlier.__context__]


def _entries(entry: TracebackType | None) -> list[TracebackType]:
    entries = []
    while entry is not None:
        entries.append(entry)
        entry = entry.tb_next
    return entries


def _linked(entries: list[TracebackType]) -> TracebackType | None:
    rest = None
    for tb in reversed(entries):
        rest = TracebackType(rest, tb.tb_frame, tb.tb_lasti, tb.tb_lineno)
    return rest


def _internal(frame: FrameType) -> bool:
    """Whether a frame runs code of asctrace itself."""
    name = frame.f_globals.get("__name__")
    return isinstance(name, str) and name.partition(".")[0] == _PACKAGE
