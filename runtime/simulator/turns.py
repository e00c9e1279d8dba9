"""Where in the loops of a kernel an operation was issued, in words.

A stamp has the indices of the C++ loops around its operation; an operation that was recorded in
unrolled loops has theirs. Nothing here runs before there is something to report.
"""

from __future__ import annotations

from typing import NamedTuple

from ...tracer.diagnostics import Site, span_of
from ...tracer.trace import Block, If, Loop, Op, Trace
from ...tracer.vm.ranges import index_name
from .shadow import Stamp


class _Step(NamedTuple):
    """One loop around an operation: which, where, and the index (or round) it was in."""

    loop: object
    site: Site
    name: str
    at: int


class Turns:
    """The loops of a trace."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self._around: dict[int, tuple[Loop, ...]] = {}

    def text(self, stamp: Stamp) -> str:
        """` (iteration i = 3, j = 0)`, outermost loop first, or "" outside loops."""
        steps = self._steps(stamp)
        return f" (iteration {', '.join(map(_words, steps))})" if steps else ""

    def later(self, first: Stamp, second: Stamp) -> bool:
        """Whether two operations belong to different iterations of a loop around both."""
        before = {step.loop: step.at for step in self._steps(first)}
        return any(before.get(s.loop, s.at) != s.at for s in self._steps(second))

    def _steps(self, stamp: Stamp) -> list[_Step]:
        if not self._around:
            self._visit(self._trace.body, ())
        loops = self._around[id(stamp.op)]
        steps = [
            _Step(id(loop), loop.site, "" if loop.index is None else loop.index.name, index)
            for loop, index in zip(loops, stamp.turn, strict=True)
        ]
        for site, index in stamp.op.turns:
            assert site is not None
            steps.append(_Step((id(site[0]), site[1]), site, index_name(site), index))
        return sorted(steps, key=_nesting)

    def _visit(self, block: Block, around: tuple[Loop, ...]) -> None:
        for node in block.nodes:
            if isinstance(node, Op):
                self._around[id(node)] = around
            elif isinstance(node, If):
                self._visit(node.then, around)
                self._visit(node.orelse, around)
            elif isinstance(node, Loop):
                self._visit(node.body, (*around, node))


def _nesting(step: _Step) -> tuple[int, int]:
    """Loops of callers come before those of the functions they call, heads before bodies."""
    depth, site = 0, step.site
    pc = 0 if site is None else site[1]
    while site is not None:
        depth, site = depth + 1, site[2]
    return depth, pc


def _words(step: _Step) -> str:
    if step.name:
        return f"{step.name} = {step.at}"
    span = span_of(step.site)
    return f"{step.at} of line {span.line}" if span else str(step.at)
