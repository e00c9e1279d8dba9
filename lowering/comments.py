"""Comments and `#line` directives that tie the text to Python."""

from __future__ import annotations

import linecache
from dataclasses import dataclass
from typing import Any

from ..tracer.diagnostics import Site, span_of


@dataclass(frozen=True, slots=True)
class TextOptions:
    """Options of the text.

    comments: a comment with its name where the operations of a helper function begin.
    source_lines: the Python line as a comment in front of what it became.
    line_directives: `#line`, so that compiler errors point at Python.
    """

    comments: bool = True
    source_lines: bool = False
    line_directives: bool = False


class Commenter:
    """Says which lines go in front of a statement; remembers what was said last."""

    def __init__(self, options: TextOptions) -> None:
        self._options = options
        self.active = options.comments or options.source_lines or options.line_directives
        #: Whether there is something to say of each line, else of each function only.
        self.each = options.source_lines or options.line_directives
        #: The code of the last statement.
        self.code: Any = None
        self._helper = ""
        self._place: tuple[str, int] = ("", 0)

    def mark(self, site: Site) -> list[str]:
        """The lines in front of a statement from `site`."""
        assert site is not None
        out: list[str] = []
        code = site[0]
        if code is not self.code:
            self.code = code
            helper = _helper_name(site)
            if helper != self._helper:
                self._helper = helper
                if helper and self._options.comments:
                    out.append(f"// {helper}")
        if self.each:
            self._mark_line(site, out)
        return out

    def _mark_line(self, site: Site, out: list[str]) -> None:
        span = span_of(site)
        if span is None:
            return
        if self._options.source_lines and (span.file, span.line) != self._place:
            source = linecache.getline(span.file, span.line).strip().rstrip("\\")
            out.append(f"// {span.line}: {source}" if source else f"// line {span.line}")
        self._place = (span.file, span.line)
        if self._options.line_directives:
            file = span.file.replace("\\", "\\\\").replace('"', '\\"')
            out.append(f'#line {span.line} "{file}"')


def _helper_name(site: Site) -> str:
    """The function a site lies in, "" for the kernel itself; lambdas count to their callers."""
    while site is not None and site[2] is not None:
        code = site[0].code
        name: str = code.co_name
        if not name.startswith("<"):
            if not name.startswith("__"):
                return name
            return ".".join(code.co_qualname.rpartition("<locals>.")[2].split(".")[-2:])
        site = site[2]
    return ""
