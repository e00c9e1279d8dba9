"""Which compiler is used, which way, and what identifies it. May import `cann`, `knobs`."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from ...tracer.chip import Chip
from ...tracer.diagnostics import KernelError, error
from .. import cann, knobs
from .options import ARCHES, Arch

#: Architectures that `libacl_rtc.so` compiles for.
_RTC = ("2201", "3510")


@dataclass(frozen=True, slots=True)
class Toolchain:
    """A compiler and how to use it.

    route: 'objects', 'asc' or 'rtc'. compiler: bisheng, or the library of the route 'rtc'. linker:
    None for 'rtc'. includes, version_header: headers for 'objects'. identity: changes when the
    installation does.
    """

    route: str
    compiler: Path
    linker: Path | None
    includes: tuple[Path, ...]
    version_header: Path | None
    version: str
    identity: str


def arch_of(chip: Chip) -> Arch:
    """The compiler's names for a chip; AT0504 when it has none."""
    found = ARCHES.get(chip.arch)
    if found is None:
        known = ", ".join(f"{number} ({arch.npu})" for number, arch in ARCHES.items())
        raise error(
            "AT0504",
            f"the architecture {chip.arch} of {chip.name} has no compiler target here",
            hint=f"architectures with one: {known}",
        )
    return found


def find_toolchain(chip: Chip) -> Toolchain:
    """The toolchain for a chip.

    AT0305 when there is no CANN, AT0503 when a part of it is missing that the route needs.
    """
    found, _ = cann.find()
    library = found.library(cann.RTC_LIBRARY)
    if found.compiler is None and library is None:
        raise cann.refuse("compiling for the NPU")
    route = knobs.ROUTE.get()
    if route == "auto":
        route = _choose(found, chip, library)
    if route == "rtc":
        if library is None:
            raise _missing(cann.RTC_LIBRARY, found, "the route 'rtc' is for newer CANN")
        if chip.arch not in _RTC:
            raise error(
                "AT0504",
                f"{cann.RTC_LIBRARY} does not compile for {chip.name} (architecture {chip.arch})",
                hint="choose another route with ASCTRACE_ROUTE",
            )
        return _toolchain("rtc", library, None, found)
    compiler = found.compiler
    if compiler is None or not compiler.is_file():
        raise _missing(f"the compiler {compiler or 'bisheng'}", found, "install CANN's toolkit")
    if not os.access(compiler, os.X_OK):
        raise _missing(f"a compiler that may be run ({compiler})", found, "chmod +x it")
    if found.linker is None:
        raise _missing("the linker ld.lld", found, "it belongs next to bisheng")
    if route == "objects" and not found.includes():
        raise _missing(f"the folder {cann.INCLUDES[0]}", found, "or choose ASCTRACE_ROUTE=asc")
    return _toolchain(route, compiler, found.linker, found)


def _choose(found: cann.Cann, chip: Chip, library: Path | None) -> str:
    """The route that fits an installation; the order is that of how much of it was seen to work."""
    if found.compiler is None:
        return "rtc"
    if chip.arch == "3510" or not found.includes():
        return "asc"
    return "objects"


def _toolchain(route: str, compiler: Path, linker: Path | None, found: cann.Cann) -> Toolchain:
    header = found.below(cann.VERSION_HEADERS) if route == "objects" else None
    includes = found.includes() if route == "objects" else ()
    parts = [found.version, *map(_stamp, (compiler, linker, header, *includes))]
    return Toolchain(route, compiler, linker, includes, header, found.version, "|".join(parts))


def _stamp(path: Path | None) -> str:
    """What changes when a file is replaced: reading a compiler of 100 MB would take too long."""
    if path is None:
        return ""
    real = path.resolve()
    stat = real.stat()
    return f"{real}:{stat.st_size}:{stat.st_mtime_ns}"


def _missing(what: str, found: cann.Cann, hint: str) -> KernelError:
    where = found.home or found.compiler or "this machine"
    return error(
        "AT0503",
        f"{what} is missing in the CANN at {where}",
        hint=f"{hint}; `{Path(sys.executable).name} -m asctrace doctor` lists what was found",
    )
