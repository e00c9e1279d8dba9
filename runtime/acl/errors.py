"""Errors of the ACL runtime as `KernelError`s: what failed, in which launch, why, what to do.

May import `tracer`, `codes`.
"""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from ...tracer.diagnostics import Finding, KernelError
from .codes import Status, decode_fault, status

if TYPE_CHECKING:
    from .library import Acl

#: Lines of the runtime's own message that are shown.
_LINES = 12


class AclError(KernelError):
    """A call of the ACL runtime that failed.

    `function` is the C function, `status` its return code, `symbol` the name of the code, and
    `fault` whether the device takes no more work from this process.
    """

    def __init__(
        self, findings: list[Finding], function: str, row: Status, named: str = ""
    ) -> None:
        super().__init__(findings)
        self.function = function
        self.status = row.code
        self.symbol = row.symbol
        self.fault = row.fault
        #: The kernel that the runtime names, if it does.
        self.named = named

    def tell(self, doing: str = "", table: str = "", note: str = "") -> None:
        """Add what was going on, its table of arguments, and a note."""
        first = self.findings[0]
        notes = first.notes
        if doing:
            notes = ((f"while {doing}", None), *notes[1:])
        if note:
            notes = (*notes, (note, None))
        whole = "\n".join(filter(None, [table, first.table]))
        self.findings = [replace(first, notes=notes, table=whole)]


# Where users find it, so what a traceback calls it.
AclError.__module__ = f"{__name__.partition('.')[0]}.npu"


def failure(acl: Acl, function: str, code: int, doing: str = "") -> AclError:
    """The error for a return code that is not success; doing: what was going on, say a launch.

    To be made before anything else is called: it fetches the runtime's words for this thread.
    """
    row = status(code)
    text = acl.recent_message()
    sentence, named, cause = decode_fault(text) if row.fault else ("", "", "")
    notes = [f"while {doing or acl.meaning(function)}"]
    if sentence:
        notes.append(f"the device says: {sentence}")
    if cause or row.cause:
        notes.append(f"likely cause: {cause or row.cause}")
    said = [f"ACL: {line}" for line in text.splitlines() if line.strip()][:_LINES]
    return AclError(
        [
            Finding(
                "AT0601" if row.fault else "AT0602",
                f"{function} gave {code} ({row.symbol}): {row.meaning}",
                hint=_hint(row, function),
                notes=tuple((note, None) for note in notes),
                table="\n".join(said),
            )
        ],
        function,
        row,
        named,
    )


def _hint(row: Status, function: str) -> str:
    if row.fault and row.hint.startswith("run the same launch"):
        return f"{row.hint}: {replay_command()} (where the program itself names no backend)"
    return row.hint or f"{function}: check what was passed; `python -m asctrace doctor` tells more"


def replay_command() -> str:
    """The command line that runs this program's launches in the simulator."""
    argv = list(sys.orig_argv)
    if len(argv) < 2 or argv[0] == "" or not sys.argv or not sys.argv[0]:
        return 'asc.set_platform(backend="sim"), then launch again'
    argv[0] = argv[0].rpartition("/")[2]
    return f"ASCTRACE_BACKEND=sim {shlex.join(argv)}"


def refused(first: KernelError, device_id: int) -> KernelError:
    """AT0603: a launch on a device that met a fault before."""
    finding = first.findings[0]
    notes = [(f"the first error was {finding.code}: {finding.message}", None), *finding.notes]
    return KernelError(
        [
            Finding(
                "AT0603",
                f"device {device_id} met a fault in this process and takes no more work from it",
                hint=f"mend the kernel, then start the process again; {finding.hint}",
                notes=tuple(notes),
                table=finding.table,
            )
        ]
    )
