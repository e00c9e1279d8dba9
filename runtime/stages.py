"""The stages of kernels as files, and edited texts taken back.

`ASCTRACE_DUMP_DIR` names a folder that gets one for each kernel, called by its name and a digest of
its text: `bytecode.txt`, `trace.txt`, `report.txt`, `kernel.cpp`, and for the NPU `command.sh` and
`kernel.o`. A folder of the same name below `ASCTRACE_OVERRIDE_DIR` may have a `kernel.cpp`, which
is compiled instead. May import `tracer`, `lowering`, `knobs`.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from pathlib import Path
from types import CodeType

from ..lowering.names import kernel_name
from ..lowering.text import emit
from ..tracer.bytecode import decode
from ..tracer.diagnostics import KernelError, KernelWarning, error, finding
from ..tracer.trace import Trace
from . import knobs
from .files import write_whole

TEXT = "kernel.cpp"
_ENTRY = re.compile(r'extern "C" __global__\b[^{;]*')


def folder_name(trace: Trace) -> str:
    """What the folders of a kernel are called: the same as long as its text is."""
    try:
        # Without the first line, which has the version of asctrace.
        content = emit(trace).partition("\n")[2]
    except KernelError:
        content = trace.dump()
    digest = hashlib.sha256(f"{trace.chip.name}\n{content}".encode()).hexdigest()
    return f"{kernel_name(trace)}-{digest[:12]}"


def dump(trace: Trace, files: dict[str, str | bytes]) -> None:
    """Write stages of a kernel, where a folder for them is named."""
    chosen = knobs.DUMP_DIR.get()
    if not chosen:
        return
    folder = Path(chosen) / folder_name(trace)
    try:
        for name, content in files.items():
            data = content if isinstance(content, bytes) else content.encode()
            write_whole(folder / name, data)
    except OSError as problem:
        raise error(
            "AT0401",
            f"{knobs.DUMP_DIR.name}={chosen!r}: {folder} cannot be written: "
            f"{problem.strerror or problem}",
            hint="name another folder, or unset it",
        ) from None


def dump_trace(trace: Trace) -> None:
    """Write the stages up to the text; a trace that has none yet, or never will, goes as far."""
    from .results import Lowered

    files: dict[str, str | bytes] = {"trace.txt": trace.dump()}
    if trace.code is not None:
        files["bytecode.txt"] = _listing(trace.code)
    try:
        files[TEXT] = emit(trace)
        files["report.txt"] = Lowered("", trace).report()
    except KernelError:
        pass
    dump(trace, files)


def _listing(code: CodeType) -> str:
    """The canonical instructions of a function."""
    lines = [f"{code.co_qualname}, {Path(code.co_filename).name}"]
    for k, instr in enumerate(decode(code).instrs):
        arg = instr.arg.co_qualname if isinstance(instr.arg, CodeType) else instr.arg
        shown = "" if arg is None else repr(arg)
        lines.append(f"{k:5} {instr.span[0] or '':>5}  {instr.op:<22} {shown}".rstrip())
    return "\n".join([*lines, ""])


# -- edited texts ---------------------------------------------------------------------------------


def edited_text(trace: Trace) -> tuple[str, Path] | None:
    """The text that somebody has edited, and its file.

    AT0401 when there is a file that cannot be read.
    """
    chosen = knobs.OVERRIDE_DIR.get()
    if not chosen:
        return None
    path = Path(chosen) / folder_name(trace) / TEXT
    try:
        return path.read_text(encoding="utf-8"), path
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as problem:
        raise error(
            "AT0401",
            f"{knobs.OVERRIDE_DIR.name}: {path} cannot be read: {problem}",
            hint="make it a text in UTF-8 that this user may read, or remove it",
        ) from None


def taken_back(trace: Trace, text: str) -> str | None:
    """The edited text in place of `text`; AT0401 when it takes other arguments."""
    found = edited_text(trace)
    if found is None:
        return None
    edited, path = found
    wanted, given = _entry(text), _entry(edited)
    if given != wanted:
        raise error(
            "AT0401",
            f"{path} does not declare the kernel as the launch needs it: it has `{given}`, not "
            f"`{wanted}`",
            hint="edit what is between the braces; what comes in front of the name depends on "
            f"{knobs.ROUTE.name}, which has to be as it was when the text was written",
        )
    return edited


def warn_unused(trace: Trace) -> None:
    """Say that the simulator does not run an edited text."""
    found = edited_text(trace)
    if found is None:
        return
    warnings.warn(
        KernelWarning(
            finding(
                "AT0401",
                f"{found[1]} is not used: the simulator runs the trace of {trace.name}, not a text",
                severity="warning",
                hint="edited texts are for the NPU, backend='npu'",
            )
        ),
        stacklevel=2,
    )


def _entry(text: str) -> str:
    """The declaration of the kernel, with single blanks."""
    match = _ENTRY.search(text)
    return " ".join(match[0].split()) if match else ""
