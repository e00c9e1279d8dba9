"""What a bug report needs: versions, settings, what was found of CANN and what would be used.

May import everything below `asctrace`; loaded by the command line only.
"""

from __future__ import annotations

import platform as host
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ..tracer.chip import CHIPS
from ..tracer.diagnostics import KernelError
from . import cache, cann, knobs, platform, soc
from .compiler.toolchain import find_toolchain

PACKAGES = ("numpy", "ml_dtypes", "bytecode", "tabulate", "torch", "torch_npu")
_GET_CANN = (
    "install the CANN toolkit for your NPU and `source <install path>/set_env.sh`, which sets "
    "ASCEND_HOME_PATH"
)


def examine() -> dict[str, Any]:
    """The state of this installation, as plain data; problems are in it, not raised."""
    found, looked = cann.find()
    missing: list[dict[str, str]] = []
    state = {
        "versions": _versions(),
        "settings": [_setting(knob) for knob in knobs.ALL],
        "cann": _cann(found, looked, missing),
        "chip": _chip(missing),
        "chips": [row.name for row in CHIPS.values()],
        "compiling": _compiling(found, missing),
        "cache": _cache(missing),
        "backend": _backend(),
        "devices": _devices(found, missing),
    }
    return {**state, "missing": missing, "summary": _summary(found, missing)}


def _versions() -> dict[str, str]:
    own = sys.modules[__name__.partition(".")[0]].__version__
    return {
        "asctrace": own,
        "Python": f"{host.python_implementation()} {host.python_version()}",
        "system": host.platform(),
        **{package: _package(package) for package in PACKAGES},
    }


def _package(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _setting(knob: knobs.Knob[Any]) -> dict[str, Any]:
    try:
        now, problem = knob.get(), ""
    except KernelError as wrong:
        now, problem = None, wrong.findings[0].message
    return {
        "name": knob.name,
        "now": now,
        "problem": problem,
        "set": knob.raw() is not None,
        "values": knob.values,
        "doc": knob.doc,
    }


def _cann(found: cann.Cann, looked: list[str], missing: list[dict[str, str]]) -> dict[str, Any]:
    runtime = next((lib for name in cann.RUNTIME_LIBRARIES if (lib := found.library(name))), None)
    if found.home is None and found.compiler is None:
        missing.append({"what": "CANN", "how": _GET_CANN})
    else:
        if runtime is None:
            how = "source CANN's set_env.sh, or install its run time"
            missing.append({"what": " or ".join(cann.RUNTIME_LIBRARIES), "how": how})
        if found.compiler is None:
            how = "install the toolkit; the run time alone does not compile"
            missing.append({"what": "bisheng", "how": how})
    return {
        "home": _path(found.home),
        "version": found.version,
        "compiler": _path(found.compiler),
        "linker": _path(found.linker),
        "headers": [str(path) for path in found.includes()],
        "compiler_library": _path(found.library(cann.RTC_LIBRARY)),
        "runtime_library": _path(runtime),
        "looked": looked,
    }


def _devices(found: cann.Cann, missing: list[dict[str, str]]) -> dict[str, Any]:
    """What the ACL runtime says, where there is a sign of one."""
    if not (knobs.ACL_LIBRARY.get() or any(map(found.library, cann.RUNTIME_LIBRARIES))):
        return {"count": 0, "chip": "", "problem": "no ACL runtime was found"}
    from .acl.device import device_count, session

    try:
        count, chip = device_count(), session().acl.text("aclrtGetSocName")
    except KernelError as wrong:
        finding = wrong.findings[0]
        missing.append({"what": finding.message, "how": finding.hint})
        return {"count": 0, "chip": "", "problem": finding.message}
    return {"count": count, "chip": chip, "problem": "" if count else "the runtime has no device"}


def _chip(missing: list[dict[str, str]]) -> dict[str, Any]:
    try:
        name = platform.soc_name(None)
        chip, path = soc.profile(name), soc.config_file(name)
    except KernelError as wrong:
        finding = wrong.findings[0]
        missing.append({"what": finding.message, "how": finding.hint})
        return {}
    return {
        "name": chip.name,
        "architecture": chip.arch,
        "cube_cores": chip.cube_cores,
        "vector_cores": chip.vector_cores,
        "memory": dict(chip.memory),
        "from": str(path) if path else "the built-in table",
    }


def _compiling(found: cann.Cann, missing: list[dict[str, str]]) -> dict[str, Any]:
    """The toolchain that would be used, or why there is none."""
    try:
        tools = find_toolchain(soc.profile(platform.soc_name(None)))
    except KernelError as wrong:
        finding = wrong.findings[0]
        if finding.code == "AT0503" and found.compiler is not None:
            missing.append({"what": finding.message, "how": finding.hint})
        return {"route": None, "why_not": finding.message}
    return {"route": tools.route, "with": str(tools.compiler), "version": tools.version}


def _cache(missing: list[dict[str, str]]) -> dict[str, Any]:
    try:
        folder, limit = cache.default_folder(), knobs.CACHE_LIMIT.get() << 20
    except KernelError as wrong:
        return {"folder": None, "problem": wrong.findings[0].message}
    problem = cache.usable(folder)
    if problem:
        how = "choose another folder with ASCTRACE_CACHE_DIR; until then nothing is kept"
        missing.append({"what": f"the cache {folder}: {problem}", "how": how})
    usage = cache.Cache(folder, limit).usage()
    return {
        "folder": str(folder),
        "problem": problem,
        "binaries": usage.entries,
        "bytes": usage.bytes,
        "limit": limit,
        "failures": usage.failures,
    }


def _backend() -> dict[str, str]:
    """Where kernels would run now, and why."""
    try:
        wanted = platform.current.backend or knobs.BACKEND.get()
        used = platform.backend_name(None)
    except KernelError as wrong:
        return {"wanted": "", "used": "", "why": wrong.findings[0].message}
    if wanted != "auto":
        why = "it was chosen"
    elif used == "npu":
        why = "a device was found"
    else:
        why = "no NPU was found"
    return {"wanted": wanted, "used": used, "why": why}


def _summary(found: cann.Cann, missing: list[dict[str, str]]) -> str:
    """The state in plain words."""
    if found.home is None and found.compiler is None:
        return (
            "There is no CANN on this machine, or none was found. Kernels are traced, checked, "
            "written as Ascend C and run in the simulator; that needs nothing more. To compile "
            f"and run them on an NPU, {_GET_CANN}."
        )
    if missing:
        names = "; ".join(row["what"] for row in missing)
        return f"CANN is at {found.home or found.compiler}, but something is missing: {names}."
    return f"CANN is at {found.home or found.compiler} and has what is needed to compile kernels."


def _path(path: Path | None) -> str | None:
    return None if path is None else str(path)
