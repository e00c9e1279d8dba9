"""Where a CANN installation would be, and what was looked for. May import `tracer`."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ..tracer.diagnostics import KernelError, error

#: Environment variables that name an installation, in the order they are tried.
HOME_VARIABLES = ("ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME")
DEFAULT_HOME = Path("/usr/local/Ascend/ascend-toolkit/latest")
COMPILERS = ("bin/bisheng", "compiler/ccec_compiler/bin/bisheng")


def find_compiler() -> tuple[Path | None, list[str]]:
    """The `bisheng` compiler, if there is one, and a line for each place looked at."""
    looked = []
    for variable in HOME_VARIABLES:
        home = os.environ.get(variable)
        if home is None:
            looked.append(f"{variable} is not set")
            continue
        if found := _below(Path(home)):
            return found, looked
        looked.append(f"{variable}={home} has no {' or '.join(COMPILERS)}")
    if found := _below(DEFAULT_HOME):
        return found, looked
    looked.append(f"{DEFAULT_HOME} has none either")
    on_path = shutil.which("bisheng")
    if on_path:
        return Path(on_path), looked
    looked.append("bisheng is not on PATH")
    return None, looked


def _below(home: Path) -> Path | None:
    return next((home / c for c in COMPILERS if (home / c).is_file()), None)


def refuse(what: str) -> KernelError:
    """AT0305 for something that needs the device: names the places looked at."""
    compiler, looked = find_compiler()
    if compiler is None:
        message = f"no CANN found: {what} needs the bisheng compiler"
        hint = "install CANN and source its set_env.sh, or run in the simulator: backend='sim'"
    else:
        message = f"{what}: CANN is here ({compiler}), but this version only has the simulator"
        hint = "choose backend='sim' or ASCTRACE_BACKEND=sim"
    return error("AT0305", message, table="\n".join(looked), hint=hint)
