"""Findings and the one exception that carries them.

Owns `KernelError`, `Finding`, the table of codes and the text form of a message. A place in a
program is a *site*: the tuple `(code, pc, parent)` of a decoded code object, an instruction index
and the site of the caller; it costs nothing to record and becomes a `Span` only when a message is
written. Imports nothing from the project.
"""

from __future__ import annotations

import linecache
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

Site: TypeAlias = "tuple[Any, int, Any] | None"

#: CPython 3.13 numbers what it reads from standard input; tracebacks hide that too.
_STDIN = re.compile(r"^<stdin>-\d+$")
_OWN = os.path.join(os.path.dirname(__file__), "")


class Kind(Enum):
    """Whose fault it is; the three are always told apart."""

    KERNEL = "your kernel is wrong"
    UNSUPPORTED = "not supported"
    SETUP = "the toolchain or a setting"
    DEVICE = "the device or its runtime"
    INTERNAL = "a defect of asctrace"


class Code(NamedTuple):
    """A row of the table of codes: what a finding with this code means."""

    code: str
    kind: Kind
    title: str
    explanation: str


CODES: dict[str, Code] = {}


def _rows(kind: Kind, rows: Iterable[tuple[str, str, str]]) -> None:
    for code, title, explanation in rows:
        CODES[code] = Code(code, kind, title, explanation)


_rows(
    Kind.KERNEL,
    [
        (
            "AT0101",
            "value without a meaning on this path",
            (
                "The name was given different, unmergeable values (or no value at all) on the "
                "paths that meet here, so no single C++ variable can stand for it."
            ),
        ),
        (
            "AT0102",
            "wrong dtype",
            "The chip executes this operation only for the dtypes in the table.",
        ),
        (
            "AT0103",
            "misaligned access",
            (
                "Data moves between memories in 32-byte blocks: lengths and local addresses are "
                "multiples of 32 bytes."
            ),
        ),
        (
            "AT0104",
            "memory over budget",
            "The buffers of one physical memory take more bytes than the chip has.",
        ),
        (
            "AT0105",
            "called outside a kernel",
            "An asctrace operation records into the kernel being traced; outside there is none.",
        ),
        (
            "AT0106",
            "wrong argument",
            "The call matches none of the operation's overloads.",
        ),
        (
            "AT0107",
            "runtime value where Python needs a constant",
            "The value exists only on the device; while tracing there is nothing to look at.",
        ),
        (
            "AT0108",
            "limit of the chip or the call exceeded",
            "Repeat counts, strides, counts and queue shapes are bounded by the hardware.",
        ),
        (
            "AT0109",
            "outer object written under runtime control",
            (
                "Whether or how often the write happens is known only on the device, but the "
                "object lives in the Python process."
            ),
        ),
        (
            "AT0110",
            "change of shape under runtime control",
            (
                "A container or instance that changes its length, keys or attributes on one path "
                "only has no fixed layout on the device."
            ),
        ),
        (
            "AT0111",
            "exception while tracing",
            "The kernel's own Python code raised.",
        ),
        (
            "AT0112",
            "recursion on a runtime value",
            (
                "The depth of the recursion is known only on the device, which has no call stack "
                "for it."
            ),
        ),
        (
            "AT0113",
            "wrong kernel argument",
            "The launch does not fit the kernel's parameters.",
        ),
        (
            "AT0114",
            "loop too long to unroll",
            "The loop has to be unrolled, and the text would have too many operations.",
        ),
        (
            "AT0115",
            "runtime value used outside its kernel",
            "The value belongs to a trace that has ended or to another kernel.",
        ),
        (
            "AT0116",
            "wrong position",
            "The operation reads and writes only tensors in certain memories.",
        ),
        (
            "AT0117",
            "operands overlap in part",
            (
                "An element-wise operation may work in place, on the very same elements; where a "
                "source and the destination share only a part, later elements read what earlier "
                "ones wrote, or not, as the pipe happens to run. A repeat may not read what an "
                "earlier one wrote, but for sums that Ascend C allows; nor may one copy write a "
                "byte twice."
            ),
        ),
        (
            "AT0201",
            "access out of bounds",
            "The access leaves the tensor, its buffer or the array it views.",
        ),
        (
            "AT0202",
            "queue protocol broken",
            "A queue's tensors go alloc, enque, deque, free, in this order.",
        ),
        (
            "AT0203",
            "read of memory that was never written",
            "On the device the bytes hold whatever an earlier kernel left there.",
        ),
        (
            "AT0204",
            "event protocol broken",
            "Each wait consumes one set of the same (event, id) pair.",
        ),
        (
            "AT0205",
            "assertion failed on the device",
            "An `assert` or `raise` under a runtime condition was reached.",
        ),
        (
            "AT0206",
            "runaway loop",
            "The run executed more operations than the budget allows.",
        ),
        (
            "AT0207",
            "arithmetic without a result",
            "The scalar unit was asked for a division by zero or a shift out of range.",
        ),
        (
            "AT0208",
            "unordered access of two pipes",
            (
                "The pipes of a core run against one another. Two accesses to the same bytes, of "
                "which one writes, need an event between their pipes, a queue that hands the "
                "tensor on, or a barrier; otherwise either may come first. Two copies of one pipe "
                "that write the same bytes need a barrier of the pipe, or a wait for the first: "
                "a warning."
            ),
        ),
        (
            "AT0209",
            "unordered access of two blocks",
            (
                "Blocks run on several cores at once and in any order. What one writes, another "
                "may neither read nor write, unless the writes are atomic. A scalar store writes "
                "back a whole 64-byte line, so two blocks must not store to one line either."
            ),
        ),
        (
            "AT0210",
            "scalar store still in the data cache",
            (
                "What the scalar unit stores to global memory stays in 64-byte lines of its "
                "cache. Copies and other cores see it only once the lines are cleaned or the "
                "kernel has ended."
            ),
        ),
        (
            "AT0211",
            "register not as the call needs it",
            (
                "Calls with `is_set_mask=False` go by the mask that is set and by its mode: in "
                "normal mode it selects elements of each repeat, in counter mode it is the number "
                "of elements. A call by count ends counter mode, others leave a mask behind. "
                "Dequantisation goes by the scale that is set, of the form made for it; selection "
                "without a mask by the bits that are set."
            ),
        ),
        (
            "AT0212",
            "blocks do not meet",
            (
                "A call that waits for other blocks goes on only when they have come to the calls "
                "that it waits for; on the device the kernel hangs otherwise."
            ),
        ),
        (
            "AT0213",
            "atomic mode used wrongly",
            (
                "Atomic writes are a mode of the core: every copy to global memory combines in the "
                "mode's dtype, until it is switched off, in the kernels that follow too."
            ),
        ),
    ],
)
_rows(
    Kind.UNSUPPORTED,
    [
        ("AT0301", "unknown opcode", "The bytecode has an instruction that the tracer rejects."),
        (
            "AT0302",
            "unsupported Python object in a runtime operation",
            (
                "The operands of an operation on runtime values are scalars, tensors and constants "
                "that C++ can spell."
            ),
        ),
        (
            "AT0303",
            "unsupported under runtime control",
            "This construct needs a decision while tracing that only the device can make.",
        ),
        (
            "AT0304",
            "not available on this chip",
            "The chip, or what the operation does on it, is not in the tables.",
        ),
        (
            "AT0305",
            "no CANN found",
            "Compiling for the device needs the CANN toolchain.",
        ),
        (
            "AT0306",
            "form of a call not supported yet",
            "Ascend C has this form of the call; this version of asctrace does not.",
        ),
        (
            "AT0307",
            "not simulated",
            "The device runs this, the simulator cannot: it is C++ that the trace does not know.",
        ),
        (
            "AT0308",
            "automatic tensor without a place",
            (
                "asctrace places a LocalTensorAuto in memory of the kernel's one TPipe before the "
                "statement that makes it runs, and orders all that touches it; with memory that is "
                "divided by other means, or a size that is not known by then, it cannot."
            ),
        ),
    ],
)
_rows(
    Kind.SETUP,
    [
        (
            "AT0401",
            "wrong setting",
            (
                "An option, an environment variable or a file that they name has a content that "
                "it cannot have."
            ),
        ),
        (
            "AT0501",
            "the compiler refuses the text",
            (
                "The text went through the checks and the compiler does not take it. Where the "
                "compiler names a place, the finding has the Python line that it came from."
            ),
        ),
        (
            "AT0502",
            "kernel too long for its jumps",
            "A jump of the device reaches so far; unrolled loops make kernels long.",
        ),
        (
            "AT0503",
            "part of CANN missing",
            "The compiler, the linker, a library or a header is not where it should be.",
        ),
        (
            "AT0504",
            "compiler and chip do not fit",
            "The compiler does not know the chip's architecture, or an option that it needs.",
        ),
        (
            "AT0505",
            "compiler without a result",
            "The compiler crashed, was ended, took too long or found no room.",
        ),
    ],
)
_rows(
    Kind.DEVICE,
    [
        (
            "AT0601",
            "fault of the device",
            (
                "The device stopped: a kernel went out of its memory, waited for ever, or trapped, "
                "or the device itself failed. It takes no more work from this process then. The "
                "error comes from the first call that waits, so it names the launches that had not "
                "been waited for."
            ),
        ),
        (
            "AT0602",
            "call of the ACL runtime failed",
            "A function of the ACL runtime returned an error; the device goes on.",
        ),
        (
            "AT0603",
            "launch after a fault",
            (
                "What a device does after a fault means nothing, so nothing more is launched on "
                "it; the message repeats the first error."
            ),
        ),
        (
            "AT0604",
            "ACL runtime cannot be used",
            "The library is one for linking, is incomplete, or belongs to another process.",
        ),
    ],
)
_rows(
    Kind.INTERNAL,
    [
        (
            "AT0901",
            "internal error",
            "This should not happen. Please report it with the kernel that shows it.",
        ),
    ],
)


class Span(NamedTuple):
    """A range of source text: file, function, lines (1-based), columns (0-based bytes or None)."""

    file: str
    function: str
    line: int
    col: int | None = None
    end_line: int | None = None
    end_col: int | None = None

    def __str__(self) -> str:
        col = "" if self.col is None else f":{self.col + 1}"
        return f"{_STDIN.sub('<stdin>', self.file)}:{self.line}{col}"


def span_of(site: Site) -> Span | None:
    """The source span of a site, or None for a site that has no line.

    A site in the tracer's own Python (`sorted` and others that call back) counts as its caller's.
    """
    site = _users(site)
    if site is None:
        return None
    code, pc, _ = site
    line, end_line, col, end_col = code.instrs[pc].span
    function = code.code
    name = function.co_qualname.rsplit(".<locals>.", 1)[-1]
    if line is None or (col is None and line == function.co_firstlineno):
        line = def_line(function)
    return Span(function.co_filename, name, line, col, end_line, end_col)


def stack_of(site: Site) -> tuple[Span, ...]:
    """The user's call stack of a site, innermost first, the site itself included."""
    spans: list[Span] = []
    site = _users(site)
    while site is not None:
        span = span_of(site)
        assert span is not None
        spans.append(span)
        site = _users(site[2])
    return tuple(spans)


def _users(site: Site) -> Site:
    """The innermost site in the user's code."""
    while site is not None and site[0].code.co_filename.startswith(_OWN):
        site = site[2]
    return site


def def_line(code: Any) -> int:
    """The line of `def`: a code object starts at its first decorator."""
    first: int = code.co_firstlineno
    lines = linecache.getlines(code.co_filename)
    if not lines[first - 1 : first] or not lines[first - 1].lstrip().startswith("@"):
        return first
    for number, text in enumerate(lines[first:], first + 1):
        if text.lstrip().startswith(("def ", "async def ")):
            return number
    return first


def _source_line(file: str, number: int) -> str:
    """A line of source text; a module's loader (a zip file) may have what the disk has not."""
    text = linecache.getline(file, number)
    if not text:
        for module in list(sys.modules.values()):
            if getattr(module, "__file__", None) == file:
                linecache.lazycache(file, vars(module))
                return linecache.getline(file, number)
    return text


def excerpt(span: Span) -> str | None:
    """The source line of a span with a caret line below, or None without source text."""
    text = _source_line(span.file, span.line).rstrip("\n")
    if not text.strip():
        return None
    if span.col is None:
        return f"    {text.strip()}"
    raw = text.encode()
    start = len(raw[: span.col].decode(errors="replace"))
    if span.end_line == span.line and span.end_col is not None:
        end = len(raw[: span.end_col].decode(errors="replace"))
    else:
        end = len(text)
    indent = len(text) - len(text.lstrip())
    carets = " " * (start - indent) + "^" * max(1, end - start)
    return f"    {text.strip()}\n    {carets}"


def caller(package: str) -> Span:
    """The place in CPython's own frames that called into a package."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        name = frame.f_globals.get("__name__", "")
        if name != package and not name.startswith(package + "."):
            break
        frame = frame.f_back
    code = frame.f_code
    positions = list(code.co_positions())[frame.f_lasti // 2]
    line, end_line, col, end_col = positions
    return Span(code.co_filename, code.co_qualname, line or frame.f_lineno, col, end_line, end_col)


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: `.code`, `.severity`, `.message`, `.hint` and `.spans`.

    `spans` holds the place, and a second one where two places matter; `stack` the callers of the
    first, innermost first; `notes` further lines, one (text, span or None) each; `table` a
    preformatted table to show below.
    """

    code: str
    message: str
    spans: tuple[Span, ...] = ()
    hint: str = ""
    severity: str = "error"
    stack: tuple[Span, ...] = ()
    notes: tuple[tuple[str, Span | None], ...] = ()
    table: str = ""

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> list[str]:
        where = f"{self.spans[0]}: " if self.spans else ""
        lines = [f"{where}{self.severity} {self.code}: {self.message}"]
        if self.spans and (text := excerpt(self.spans[0])):
            lines.append(text)
        for note, span in self.notes:
            lines.append(f"  note: {note}" + (f" ({span})" if span else ""))
            if span and (text := excerpt(span)):
                lines.append(text)
        lines += _callers(self.stack[1:])
        if self.table:
            lines += ["  " + row for row in self.table.splitlines()]
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return lines


def _callers(stack: Sequence[Span]) -> list[str]:
    """One line a caller; a run of the same place is told once, with its length."""
    lines: list[str] = []
    for span, group in groupby(stack):
        times = sum(1 for _ in group)
        again = f" ({times} times)" if times > 1 else ""
        lines.append(f"  called from {span} in {span.function}{again}")
    return lines


class KernelError(Exception):
    """A kernel with errors. `.findings` lists all of them; the text shows each in full."""

    def __init__(self, findings: list[Finding]) -> None:
        super().__init__(findings)
        self.findings = findings

    def __str__(self) -> str:
        return "\n".join(str(f) for f in self.findings)

    @property
    def code(self) -> str:
        """The code of the first finding."""
        return self.findings[0].code


class KernelWarning(UserWarning):
    """A suspicious thing in a kernel; `.finding` has the details."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(str(finding))
        self.finding = finding


def finding(
    code: str,
    message: str,
    site: Site = None,
    *,
    hint: str = "",
    notes: Sequence[tuple[str, Site]] = (),
    severity: str = "error",
    table: str = "",
) -> Finding:
    """Build a finding from sites; the code must stand in the table. Equal notes become one."""
    assert code in CODES, code
    stack = stack_of(site)
    counts = Counter((text, span_of(place)) for text, place in notes)
    resolved = tuple(
        (f"{text} ({count} times)" if count > 1 else text, span)
        for (text, span), count in counts.items()
    )
    spans = stack[:1] + tuple(span for _, span in resolved if span is not None)
    return Finding(code, message, spans, hint, severity, stack, resolved, table)


def error(code: str, message: str, site: Site = None, **kwargs: Any) -> KernelError:
    """A `KernelError` with one finding; arguments as for `finding`."""
    return KernelError([finding(code, message, site, **kwargs)])
