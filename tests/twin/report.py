"""What checks of simulations did in a test run, its workers included."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest


class Report:
    """A pytest plugin that prints counts by outcome, one line each, below a title."""

    def __init__(self, title: str, counts: Counter[str]) -> None:
        self.title = title
        self.counts = counts

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """A worker hands its counts to who started it."""
        output = getattr(session.config, "workeroutput", None)
        if output is not None:
            output[self.title] = dict(self.counts)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Add the counts of a worker that has ended."""
        self.counts.update(getattr(node, "workeroutput", {}).get(self.title, {}))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """One line an outcome."""
        terminalreporter.section(self.title)
        for outcome, count in self.counts.most_common():
            terminalreporter.line(f"{count:6} {outcome}")
