"""From text to a `Binary`: look in the cache, else run the compiler, keep what a failure leaves."""

from __future__ import annotations

import errno
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from ...tracer.chip import Chip
from ...tracer.diagnostics import Finding, KernelError, error
from .. import cache, knobs
from .binary import Binary, KernelType
from .commands import OBJECT, SOURCE, Command, commands, npu_flags
from .messages import Lines, explain
from .options import Arch, CompileOptions
from .toolchain import Toolchain, arch_of, find_toolchain

_SYMBOL = re.compile(r"__global__\b[^{;]*?\bvoid\s+(\w+)\s*\(")
_NO_LINES: Lines = ()
#: What may bring files into a text that its key does not know, and which may change.
_OUTSIDE_FILE = re.compile(r'^\s*#\s*include\s*["<]/', re.MULTILINE)
_OUTSIDE_OPTION = re.compile(r"-[IiLlBF]|-idirafter|--(include|sysroot|config)|@")
#: Variables by which compilers take headers from elsewhere.
_SEARCH_VARIABLES = ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH")


@dataclass(frozen=True, slots=True)
class Job:
    """A text to compile.

    lines: gives the Python line of each line of the text, asked for when the compiler complains.
    fresh: compile even if the cache has it.
    """

    text: str
    chip: Chip
    options: CompileOptions
    kind: KernelType
    lines: Callable[[], Lines] = lambda: _NO_LINES
    fresh: bool = False

    def must_run(self) -> bool:
        """Whether the compiler has to run even if the cache has the binary.

        The log of inserted synchronisation is written by the compiler alone, and files that are
        no part of CANN may have changed.
        """
        options = self.options
        outside = any(map(_OUTSIDE_OPTION.match, options.bisheng_options))
        log = bool(options.auto_sync_log)
        return self.fresh or log or outside or bool(_OUTSIDE_FILE.search(self.text))


def compile_text(
    text: str,
    chip: Chip,
    options: CompileOptions | None = None,
    *,
    lines: Callable[[], Lines] = lambda: _NO_LINES,
    fresh: bool = False,
) -> Binary:
    """Compile Ascend C text for a chip, or find what an earlier process compiled.

    The kernel type is that of the options, AIV_ONLY if they say nothing. Raises `KernelError`:
    AT0305 and AT0503 to AT0505 for the toolchain, AT0501 and AT0502 for the text.
    """
    options = options or CompileOptions()
    kind = options.kernel_type or KernelType.AIV_ONLY
    return run(Job(text, chip, options, kind, lines, fresh), find_toolchain(chip))


def run(job: Job, tools: Toolchain) -> Binary:
    """Do one job with a toolchain."""
    arch = arch_of(job.chip)
    match = _SYMBOL.search(job.text)
    symbol = match[1] if match else "kernel"
    steps = () if tools.route == "rtc" else commands(tools, arch, job.kind, job.options)
    flags = [str(step) for step in steps] or npu_flags(arch, job.options)
    key = cache.key_of(
        _version(), tools.identity, job.chip.name, job.kind.name, job.text, tools.route, *flags
    )
    place = cache.current()
    entry = None if job.must_run() else place.find(key)
    if entry is None:
        task = _Task(job, tools, arch, steps, symbol, key)
        try:
            entry = place.publish(key, task.compile(place))
        except OSError as problem:
            entry = _elsewhere(task, cache.fall_back(place.folder, problem))
    sync_address = "set_ffts_base_addr(" in job.text
    return Binary(entry.path, job.kind, symbol, entry.digest, sync_address, entry.data)


def _elsewhere(task: _Task, place: cache.Cache) -> cache.Entry:
    """The same without the cache; what this process has compiled so before, it has."""
    try:
        found = None if task.job.must_run() else place.find(task.key)
        return found or place.publish(task.key, task.compile(place))
    except OSError as problem:
        raise error(
            "AT0505",
            f"there is no room to compile in {place.folder} either: {problem.strerror or problem}",
            hint="make room where TMPDIR and ASCTRACE_CACHE_DIR point",
        ) from None


def run_all(jobs: Sequence[tuple[Job, Toolchain]], workers: int | None = None) -> list[Binary]:
    """Do jobs in parallel, each compiler in its own process; results in the order of the jobs.

    When some fail the others are finished; then one `KernelError` has the findings of all.
    """
    if len(jobs) == 1:
        return [run(*jobs[0])]
    errors: list[Finding] = []
    results: list[Binary] = []
    with ThreadPoolExecutor(workers or min(len(jobs), os.cpu_count() or 1) or 1) as pool:
        for future in [pool.submit(run, job, tools) for job, tools in jobs]:
            try:
                results.append(future.result())
            except KernelError as problem:
                errors += problem.findings
    if errors:
        raise KernelError(errors)
    return results


def _version() -> str:
    # The front door lies above this package, but it is always loaded.
    version: str = sys.modules[__name__.partition(".")[0]].__version__
    return version


@dataclass(frozen=True, slots=True)
class _Task:
    """A job that the cache does not have."""

    job: Job
    tools: Toolchain
    arch: Arch
    steps: tuple[Command, ...]
    symbol: str
    key: str

    def compile(self, place: cache.Cache) -> bytes:
        """Run the compiler; `OSError` when the disk of the cache is the problem."""
        with place.work() as folder:
            (folder / SOURCE).write_text(self.job.text, encoding="utf-8")
            if self.tools.route == "rtc":
                return self._in_process(place, folder)
            for step in self.steps:
                status, log = _run(step, folder)
                if status or not (folder / step.output).is_file():
                    if "No space left on device" in log:
                        raise OSError(errno.ENOSPC, "the compiler found the disk full")
                    self._fail(place, folder, str(step), log, status)
            return (folder / OBJECT).read_bytes()

    def _in_process(self, place: cache.Cache, folder: Path) -> bytes:
        from .rtc import compile_in_process

        options = npu_flags(self.arch, self.job.options)
        data, log = compile_in_process(self.tools.compiler, self.job.text, self.symbol, options)
        if data is None:
            # The same text and options for a person: there is no command to repeat.
            command = f"bisheng -x asc {shlex.join(options)} {SOURCE}"
            self._fail(place, folder, command, log.replace(f"{self.symbol}.asc", SOURCE), 1)
        return data

    def _fail(
        self, place: cache.Cache, work: Path, command: str, log: str, status: int | str
    ) -> NoReturn:
        """Keep what there is and raise the findings of a log."""
        (work / "command.sh").write_text(f'cd "$(dirname "$0")"\n{command}\n')
        (work / "log.txt").write_text(log)
        folder = place.keep_failure(work, self.symbol, self.key)
        if died := _died(status, Path(command.partition(" ")[0]).name):
            message, hint = died
            notes = ((f"text, command and log are in {folder}", None),)
            raise KernelError([Finding("AT0505", message, (), hint, notes=notes)])
        lines = self.job.lines()
        raise KernelError(explain(log, SOURCE, lines, self.symbol, str(folder)))


def _run(step: Command, folder: Path) -> tuple[int | str, str]:
    """Run a tool in a folder: its exit status, or a word for why there is none, and its output."""
    environment = os.environ | {"TMPDIR": str(folder), "LC_ALL": "C"}
    for name in _SEARCH_VARIABLES:
        environment.pop(name, None)
    limit = knobs.COMPILE_TIMEOUT.get() or None
    try:
        process = subprocess.Popen(
            step.argv,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as problem:
        return "unusable", f"{step.argv[0]}: {problem.strerror}"
    try:
        output, _ = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        _stop(process)
        return "slow", f"no result after {limit} s"
    except BaseException:
        _stop(process)
        raise
    return process.returncode, output.decode(errors="replace")


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End a compiler and the processes that it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.communicate()


def _died(status: int | str, name: str) -> tuple[str, str] | None:
    """What to say of a tool that came to no end of its own."""
    if status == "slow":
        return (
            f"{name} took longer than {knobs.COMPILE_TIMEOUT.get()} s and was stopped",
            "keep loops as loops (asc.range, a lower unroll_limit) or set ASCTRACE_COMPILE_TIMEOUT",
        )
    if status == "unusable":
        return (
            f"{name} cannot be run",
            "is it for this machine's architecture, and executable? The log has the system's words",
        )
    # A shell in front of the compiler adds 128.
    if isinstance(status, int) and (status < 0 or status > 128):
        number = -status if status < 0 else status - 128
        try:
            what = signal.Signals(number).name
        except ValueError:
            return None
        if number == signal.SIGKILL:
            hint = "most often the machine was out of memory: make the kernel shorter or free some"
        else:
            hint = (
                "a lower opt_level, or bisheng_options=('-mllvm', '-disable-machine-licm'), may "
                "get past it; the folder has what a report to the compiler's makers needs"
            )
        return f"{name} was ended by {what}", hint
    return None
