"""Specialisations of a kernel and the cache that finds them.

A kernel has a `Context` for each chip and set of options it was launched with; a context maps the
key of the arguments to specialisations, each with the guards that its trace depends on. May import
`tracer`, `lowering`, `arguments`.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from ..tracer.chip import Chip
from ..tracer.diagnostics import Finding, KernelError, KernelWarning, error
from ..tracer.vm.options import Argument, TraceOptions, TraceResult
from . import knobs
from .arguments import ArrayKey, Default, ScalarKey, StructKey

if TYPE_CHECKING:
    from .results import Lowered

#: Specialisations kept for one key: traces of the same arguments under different guards.
PER_KEY = 64
#: Called with each kernel and specialisation that is made: tools that watch a program.
OBSERVERS: list[Callable[[Any, Specialisation], None]] = []
#: Keys kept for one context.
KEYS = 1024


class Specialisation:
    """One trace of a kernel, with its guards and what was made of it.

    `pick` takes the runtime arguments out of the bound values; `program` maps a device's name to
    what it compiled; `unchecked` is False once the checks passed.
    """

    __slots__ = (
        "_findings", "guard", "lowered", "pick", "program", "signs", "trace", "unchecked",
    )  # fmt: skip

    def __init__(self, result: TraceResult, names: tuple[str, ...]) -> None:
        self.trace = result.trace
        self.guard = result.check
        self.signs = tuple((names.index(n), sign) for n, sign in result.signs.items())
        self.pick = _picker([names.index(p.name) for p in result.trace.params])
        self.program: dict[str, Any] = {}
        self.lowered: Lowered | None = None
        self.unchecked = True
        self._findings: list[Finding] | None = None

    def holds(self, values: tuple[Any, ...]) -> bool:
        """Whether the trace is still what tracing again with these values would give."""
        for index, sign in self.signs:
            if (values[index] >= 0) != sign:
                return False
        return self.guard()

    def check(self, fn: Any) -> tuple[Finding, ...]:
        """Run the checks once: raises `KernelError` when there are errors, else gives warnings out.

        The error has all findings, errors first. Returns the warnings' findings.
        """
        findings = self._findings
        first = findings is None
        if findings is None:
            _, check = _tracing()
            findings = check(self.trace)
            findings.sort(key=lambda found: found.severity != "error")
            self._findings = findings
        if findings and findings[0].severity == "error":
            raise KernelError(list(findings))
        if first:
            for finding in findings:
                warn(finding, fn)
        self.unchecked = False
        return tuple(findings)


@functools.cache
def _tracing() -> tuple[Any, Any]:
    """What traces and what checks a trace, loaded for the first one."""
    from ..lowering.checks import check
    from ..tracer.vm import trace_function

    return trace_function, check


def _picker(indices: list[int]) -> Callable[[tuple[Any, ...]], tuple[Any, ...]]:
    if not indices:
        return lambda values: ()
    if len(indices) == 1:
        index = indices[0]
        return lambda values: (values[index],)
    return itemgetter(*indices)


def warn(finding: Finding, fn: Any) -> None:
    """Issue a `KernelWarning` at the kernel's line, so that Python's filters apply to it."""
    if finding.spans:
        file, line = finding.spans[0].file, finding.spans[0].line
    else:
        file, line = fn.__code__.co_filename, fn.__code__.co_firstlineno
    registry = fn.__globals__.setdefault("__warningregistry__", {})
    # Without a module (code run by `exec`) Python would drop the warning.
    module = fn.__module__ or "<unknown>"
    warnings.warn_explicit(KernelWarning(finding), KernelWarning, file, line, module, registry)


class Context:
    """The specialisations of one kernel for one chip and one set of options."""

    __slots__ = ("cache", "chip", "options")

    def __init__(self, chip: Chip, options: TraceOptions) -> None:
        self.chip = chip
        self.options = options
        self.cache: dict[Any, list[Specialisation]] = {}

    def add(self, key: Any, found: Specialisation) -> None:
        """Keep a specialisation; the oldest goes when there are too many."""
        entries = self.cache.setdefault(key, [])
        entries.insert(0, found)
        del entries[PER_KEY:]
        if len(self.cache) > KEYS:
            del self.cache[next(iter(self.cache))]


def specialise(
    kernel: Any,
    context: Context,
    names: tuple[str, ...],
    keys: tuple[Any, ...],
    values: tuple[Any, ...],
) -> tuple[Specialisation, bool]:
    """Trace a kernel for classified arguments; also says whether the trace may be kept."""
    arguments = [
        _argument(kernel, name, key, value)
        for name, key, value in zip(names, keys, values, strict=True)
    ]
    trace_function, _ = _tracing()
    result = trace_function(kernel.fn, arguments, context.chip, context.options, kernel.name)
    found = Specialisation(result, names)
    if knobs.DUMP_DIR.raw() is not None:
        from .stages import dump_trace

        dump_trace(result.trace)
    for see in OBSERVERS:
        see(kernel, found)
    return found, result.cacheable


def _argument(kernel: Any, name: str, key: Any, value: Any) -> Argument:
    if isinstance(key, ArrayKey | ScalarKey | StructKey):
        if not isinstance(key, ArrayKey) and name in kernel.signature.addresses:
            raise _no_address(kernel, name, value)
        return Argument(name, key.type, value)
    if isinstance(value, Default):
        value = value.value
    if value is not None and name in kernel.signature.addresses:
        raise _no_address(kernel, name, value)
    return Argument(name, None, value)


def _no_address(kernel: Any, name: str, value: Any) -> KernelError:
    return error(
        "AT0113",
        f"argument `{name}` of {kernel.name} is a GlobalAddress, so not the "
        f"{type(value).__name__} {value!r}",
        hint="pass a NumPy array or a CPU tensor",
    )
