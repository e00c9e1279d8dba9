"""What both program generators share: cheap structured choices and indented lines.

A program is built from many small draws, so that Hypothesis can delete and lower them one by one
when it shrinks a failure: choice 0 is always the simplest.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType
from typing import Any, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Source:
    """A module in two parts: one that many programs share, and the rest."""

    prelude: str
    text: str

    def __str__(self) -> str:
        return self.prelude + self.text

    def run(self, **names: Any) -> dict[str, Any]:
        """Execute it as a module with some names given; returns its namespace."""
        namespace: dict[str, Any] = {"__name__": "generated", **names}
        exec(_compiled(self.prelude), namespace)
        exec(_compiled(self.text, self.prelude.count("\n")), namespace)
        return namespace


@functools.lru_cache(maxsize=8)
def _compiled(text: str, lines_before: int = 0) -> CodeType:
    return compile("\n" * lines_before + text, "<generated>", "exec")


_BELOW = [st.integers(0, max(n - 1, 0)) for n in range(128)]


class Writer:
    """Draws choices and writes lines; the base of the generators."""

    def __init__(self, draw: Any) -> None:
        self._draw = draw
        #: Statements that may still be generated.
        self.size = 0
        self.lines: list[str] = []
        self.indent = 0
        self._names = 0

    def below(self, n: int) -> int:
        """An integer from 0 to n - 1."""
        return int(self._draw(_BELOW[n])) if n > 1 else 0

    def chance(self, n: int) -> bool:
        """True once in n; shrinks to False."""
        return self.below(n) == n - 1

    def one_of(self, options: Sequence[T]) -> T:
        """One of the options; shrinks to the first."""
        return options[self.below(len(options))]

    def name(self, prefix: str = "v") -> str:
        """A name not used before in this program."""
        self._names += 1
        return f"{prefix}{self._names}"

    def line(self, text: str) -> None:
        """Write one line at the current depth."""
        self.lines.append("    " * self.indent + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """A compound statement: what is written inside is its body (`pass` if nothing is)."""
        self.line(head)
        self.indent += 1
        start = len(self.lines)
        yield
        if len(self.lines) == start:
            self.line("pass")
        self.indent -= 1

    def text(self) -> str:
        """The program so far."""
        return "\n".join(self.lines) + "\n"
