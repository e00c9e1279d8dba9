"""From a trace to a `Binary`: the text as the route wants it, then `build`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ...lowering.text import Entry, TextOptions, emit, python_lines
from ...tracer.trace import Trace
from .. import knobs
from ..stages import dump, taken_back
from .binary import Binary, KernelType
from .build import Job, run_all
from .commands import OBJECT, SOURCE, commands, qualifier
from .kinds import check, infer
from .options import CompileOptions
from .toolchain import Toolchain, arch_of, find_toolchain

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
    jobs = [_job(trace, text, options, fresh) for trace in traces]
    binaries = run_all(jobs, workers)
    if knobs.DUMP_DIR.raw() is not None:
        for trace, binary in zip(traces, binaries, strict=True):
            dump(trace, {OBJECT: binary.file().read_bytes()})
    return binaries


def entry_for(trace: Trace, route: str, kind: KernelType) -> Entry:
    """How the text declares a kernel for a route; raises AT0306 for what the kind does not do."""
    check(trace, kind)
    sync_address = kind.hard_sync and route == _SYNC_ROUTE and trace.chip.arch == _SYNC_ARCH
    return Entry(qualifier(route, kind), sync_address)


def kernel_text(trace: Trace, text: TextOptions, entry: Entry) -> tuple[str, bool]:
    """The text to compile, and whether it is the emitted one and not what was made of that."""
    emitted = emit(trace, text, entry)
    edited = taken_back(trace, emitted)
    return (emitted, True) if edited is None else (edited, False)


def _job(
    trace: Trace, text: TextOptions, options: CompileOptions, fresh: bool
) -> tuple[Job, Toolchain]:
    tools = find_toolchain(trace.chip)
    kind = options.kernel_type or infer(trace)
    entry = entry_for(trace, tools.route, kind)
    job = _prepared(trace, text, options, kind, entry, fresh)
    if knobs.DUMP_DIR.raw() is not None:
        arch = arch_of(trace.chip)
        steps = () if tools.route == "rtc" else commands(tools, arch, kind, options)
        script = "".join(f"{step}\n" for step in steps)
        dump(trace, {SOURCE: job.text, "command.sh": f'cd "$(dirname "$0")"\n{script}'})
    return job, tools


def _prepared(
    trace: Trace,
    text: TextOptions,
    options: CompileOptions,
    kind: KernelType,
    entry: Entry,
    fresh: bool,
) -> Job:
    if options.debug and not text.line_directives:
        text = TextOptions(text.comments, text.source_lines, True)
    source, emitted = kernel_text(trace, text, entry)
    if not emitted:
        # Its lines are its own.
        return Job(source, trace.chip, options, kind, fresh=fresh)
    lines = partial(python_lines, trace, text, entry)
    return Job(source, trace.chip, options, kind, lines, fresh)
