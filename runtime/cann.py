"""Where a CANN installation is, and what was looked for. May import `tracer`, `knobs`."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..tracer.diagnostics import KernelError, error
from . import knobs

#: Environment variables that name an installation, in the order they are tried.
HOME_VARIABLES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
#: Where installers put it, when no variable says.
USUAL = (
    "/usr/local/Ascend/ascend-toolkit/latest",
    "/usr/local/Ascend/cann",
    "~/Ascend/ascend-toolkit/latest",
    "~/Ascend/cann",
)
TOOL_FOLDERS = ("bin", "compiler/ccec_compiler/bin", "tools/bisheng_compiler/bin")
COMPILERS = tuple(f"{folder}/bisheng" for folder in TOOL_FOLDERS)
LINKERS = tuple(f"{folder}/ld.lld" for folder in TOOL_FOLDERS)
#: Folders of headers, of which those that exist are searched, and a header that has the version.
INCLUDES = (
    "compiler/tikcpp/tikcfw",
    "compiler/tikcpp/tikcfw/impl",
    "compiler/tikcpp/tikcfw/interface",
)
VERSION_HEADERS = ("include/version/cann_version.h", "include/version/asc_devkit_version.h")
_VERSION_FILES = ("version.cfg", "version.info", "compiler/version.info", "opp/version.info")
LIBRARY_FOLDERS = ("lib64", "runtime/lib64", "acllib/lib64")
#: The compiler as a library, and the run time (the first one preferred).
RTC_LIBRARY = "libacl_rtc.so"
RUNTIME_LIBRARIES = ("libacl_rt.so", "libascendcl.so")
LIBRARIES = (RTC_LIBRARY, *RUNTIME_LIBRARIES)


@dataclass(frozen=True, slots=True)
class Cann:
    """An installation: `home` is its root, None when only a compiler was found."""

    home: Path | None
    compiler: Path | None

    @property
    def linker(self) -> Path | None:
        """`ld.lld`, next to the compiler or below the root."""
        near = [] if self.compiler is None else [self.compiler.with_name("ld.lld")]
        return _first(near) or self.below(LINKERS)

    @property
    def version(self) -> str:
        """The version that the installation's own files tell, or "" if none does."""
        for name in _VERSION_FILES:
            path = self.below((name,))
            text = "" if path is None else _read(path)
            # `..._running_version=[7.6.0.1:8.3.RC1]` or `Version=8.5.0`.
            found = re.search(r"(?im)^\w*version\s*=\s*\[?(?:[^\]\n:]*:)?([\w.]+)\]?\s*$", text)
            if found:
                return found[1]
        return ""

    def below(self, names: Iterable[str]) -> Path | None:
        """The first of these paths below the root that exists."""
        home = self.home
        return None if home is None else _first(home / name for name in names)

    def library(self, name: str) -> Path | None:
        """A shared library of the run time."""
        return self.below(f"{folder}/{name}" for folder in LIBRARY_FOLDERS)

    def includes(self) -> tuple[Path, ...]:
        """The folders of headers that exist."""
        if self.home is None:
            return ()
        return tuple(self.home / name for name in INCLUDES if (self.home / name).is_dir())


def find() -> tuple[Cann, list[str]]:
    """The installation that counts, and a line for each place looked at in vain.

    `ASCTRACE_COMPILER` names the compiler itself; else the variables of CANN's `set_env.sh`, the
    usual places and PATH are tried. A root counts when it has a compiler or a library.
    """
    looked: list[str] = []
    named = knobs.COMPILER.get()
    for variable in HOME_VARIABLES:
        home = os.environ.get(variable)
        if not home:
            looked.append(f"{variable} is not set")
        elif found := _at(Path(home)):
            return _with_compiler(found, named), looked
        else:
            looked.append(f"{variable}={home} has no {' or '.join(COMPILERS)}")
    for place in USUAL:
        if found := _at(Path(place).expanduser()):
            return _with_compiler(found, named), looked
        looked.append(f"{place} has none either")
    on_path = named or _on_path(os.environ.get("PATH"))
    if on_path:
        compiler = Path(on_path)
        return Cann(_home_of(compiler), compiler), looked
    looked.append("bisheng is not on PATH")
    return Cann(None, None), looked


def find_compiler() -> tuple[Path | None, list[str]]:
    """The `bisheng` compiler, if there is one, and a line for each place looked at."""
    found, looked = find()
    return found.compiler, looked


@cache
def _on_path(path: str | None) -> str | None:
    """PATH is searched once: every kernel asks."""
    return shutil.which("bisheng", path=path)


def _at(home: Path) -> Cann | None:
    if not home.is_dir():
        return None
    found = Cann(home, _first(home / name for name in COMPILERS))
    return found if found.compiler or any(map(found.library, LIBRARIES)) else None


def _with_compiler(found: Cann, named: str) -> Cann:
    return Cann(found.home, Path(named)) if named else found


def _home_of(compiler: Path) -> Path | None:
    """The root of an installation that a compiler lies in."""
    for parent in compiler.resolve().parents:
        if (parent / INCLUDES[0]).is_dir() or (parent / "version.cfg").is_file():
            return parent
    return None


def _first(paths: Iterable[Path]) -> Path | None:
    return next((path for path in paths if path.is_file()), None)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def refuse(what: str) -> KernelError:
    """AT0305 for something that needs CANN: names the places looked at."""
    _, looked = find()
    return error(
        "AT0305",
        f"no CANN found: {what} needs the bisheng compiler",
        table="\n".join(looked),
        hint="install CANN and source its set_env.sh, or run in the simulator: backend='sim'",
    )
