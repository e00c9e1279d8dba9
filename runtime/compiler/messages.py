"""What a compiler says, as findings: known failures with a hint, the rest as it is.

A place in the text is mapped to the Python line that it came from, by the `#line` directives that
the text would have.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ...tracer.diagnostics import Finding, Span

#: The place of each line of the text in Python: (file, line), or None.
Lines = Sequence[tuple[str, int] | None]

#: Errors of one log that become findings.
MOST = 10


class Known(NamedTuple):
    """A failure that is recognised: in the message `pattern`, then this code, message and hint.

    The texts may use the groups of the pattern as `{0}`.
    """

    pattern: re.Pattern[str]
    code: str
    message: str
    hint: str


def _known(pattern: str, code: str, message: str, hint: str) -> Known:
    return Known(re.compile(pattern, re.IGNORECASE), code, message, hint)


KNOWN = (
    _known(
        r"out of (?:jump|jumpc)\b.*\bimm range",
        "AT0502",
        "the kernel is so long that its jumps do not reach their ends",
        "keep loops as loops (asc.range, a lower unroll_limit), or let the compiler jump further: "
        "asc.jit(bisheng_options=('-mllvm', '-cce-aicore-jump-expand=true'))",
    ),
    _known(
        r"'?([^\s']+)'? file not found",
        "AT0503",
        "the header {0} is missing",
        "the CANN found is incomplete or its layout is unknown; try ASCTRACE_ROUTE=asc, and see "
        "`python -m asctrace doctor` for where headers were looked for",
    ),
    _known(
        r"(?:unknown|unsupported|invalid|unrecognized|not a (?:valid|supported)|does not support)"
        r".*?((?:dav-|ascend)[\w-]+)",
        "AT0504",
        "the compiler has no target {0}",
        "this CANN is older than the chip, or was installed for another one: install the version "
        "for this chip, or choose the chip with soc= or ASCTRACE_SOC",
    ),
    _known(
        r"(?:unknown argument|unrecognized (?:command[- ]line )?option|unknown command line "
        r"argument)s?:?\s*'?([^\s']+)",
        "AT0504",
        "the compiler does not know the option {0}",
        "this CANN is of another generation than the route expects; choose one with "
        "ASCTRACE_ROUTE (objects, asc or rtc)",
    ),
    _known(
        r"PLEASE submit a bug report|Stack dump:|Assertion .* failed|LLVM ERROR",
        "AT0505",
        "the compiler crashed",
        "a lower opt_level, or bisheng_options=('-mllvm', '-disable-machine-licm'), may get past "
        "it; the folder has what a report to the compiler's makers needs",
    ),
    _known(
        r"No space left on device",
        "AT0505",
        "the compiler found the disk full",
        "make room where TMPDIR and ASCTRACE_CACHE_DIR point",
    ),
)

_MESSAGE = re.compile(
    r"^(?:(?P<file>[^\s:][^:\n]*):(?P<line>\d+)(?::\d+)?: |(?P<tool>[\w.+-]+): )?"
    r"(?P<kind>fatal error|error|warning|note): (?P<text>.*)$",
    re.MULTILINE,
)
_UNEXPLAINED = (
    "read the log in the folder; if the kernel has no asc.inline text of its own, this is a defect "
    "of asctrace: please report it with that folder"
)


class _Message(NamedTuple):
    """An error of a log: its words and the places it names, itself and its notes, in order."""

    text: str
    places: tuple[tuple[str, int], ...]


def explain(log: str, source: str, lines: Lines, name: str, folder: str) -> list[Finding]:
    """The findings of a log.

    source: the name that the text has in the log. lines: where each of its lines comes from. name:
    the kernel. folder: where command, log and text were kept.
    """
    kept = f"text, command and log are in {folder}"
    found: dict[tuple[str, str, tuple[Span, ...]], Finding] = {}
    for message in _errors(log):
        code, text, hint = _classify(message.text)
        spans = _spans(message, source, lines, name)
        finding = Finding(code, text, spans, hint, stack=spans, notes=((kept, None),))
        found.setdefault((code, text, spans), finding)
    if not found:
        code, text, hint = _classify(log)
        if code == "AT0501":
            text = "the compiler failed without an error message"
        return [Finding(code, text, (), hint, notes=((kept, None),))]
    # What is known tells more than what follows from it.
    ordered = sorted(found.values(), key=lambda finding: finding.code == "AT0501")
    return ordered[:MOST]


def _classify(text: str) -> tuple[str, str, str]:
    for known in KNOWN:
        if match := known.pattern.search(text):
            return known.code, known.message.format(*match.groups()), known.hint
    return "AT0501", f"the compiler refuses the text: {text.strip().rstrip('.')}", _UNEXPLAINED


def _errors(log: str) -> list[_Message]:
    """The errors with the places of their notes; warnings are left out."""
    out: list[_Message] = []
    text = ""
    places: list[tuple[str, int]] = []
    for match in [*_MESSAGE.finditer(log), None]:
        kind = match["kind"] if match else "error"
        if kind != "note":
            if text:
                out.append(_Message(text, tuple(places)))
            text, places = "", []
            if match and kind != "warning":
                text = match["text"]
        if match and match["file"]:
            places.append((match["file"], int(match["line"])))
    return out


def _spans(message: _Message, source: str, lines: Lines, name: str) -> tuple[Span, ...]:
    """The first place of a message that is a line of Python."""
    for file, line in message.places:
        if file.rpartition("/")[2] == source:
            if 0 < line <= len(lines) and (place := lines[line - 1]):
                return (Span(place[0], name, place[1]),)
        elif any(place is not None and place[0] == file for place in lines):
            # The text had `#line` directives.
            return (Span(file, name, line),)
    return ()
