"""From a trace to a `Binary`: the text as the route wants it, then `build`."""

from __future__ import annotations

from collections.abc import Sequence

from ...lowering.text import Entry, TextOptions, emit, python_lines
from ...tracer.trace import Trace
from .binary import Binary
from .build import Job, run_all
from .commands import qualifier
from .kinds import check, infer
from .options import CompileOptions
from .toolchain import Toolchain, find_toolchain

#: Where the text itself sets the address for synchronisation between cores.
_SYNC_ARCH, _SYNC_ROUTE = "2201", "objects"


def compile_traces(
    traces: Sequence[Trace],
    text: TextOptions,
    options: CompileOptions,
    fresh: bool = False,
    workers: int | None = None,
) -> list[Binary]:
    """Compile traced kernels for their chips, `workers` at a time (default: one a processor).

    fresh: past the cache. Raises as `compile_text` does, with Python lines.
    """
    return run_all([_job(trace, text, options, fresh) for trace in traces], workers)


def _job(
    trace: Trace, text: TextOptions, options: CompileOptions, fresh: bool
) -> tuple[Job, Toolchain]:
    tools = find_toolchain(trace.chip)
    kind = options.kernel_type or infer(trace)
    check(trace, kind)
    entry = Entry(
        qualifier(tools.route, kind),
        kind.hard_sync and tools.route == _SYNC_ROUTE and trace.chip.arch == _SYNC_ARCH,
    )
    if options.debug and not text.line_directives:
        text = TextOptions(text.comments, text.source_lines, True)
    source = emit(trace, text, entry)
    job = Job(source, trace.chip, options, kind, lambda: python_lines(trace, text, entry), fresh)
    return job, tools
