"""Chip profiles with the facts of an installed CANN, and what host code asks of a chip.

The built-in table of `tracer/chip.py` is the default. Where CANN is installed, its
`platform_config/<SoC>.ini` is the authority. May import `tracer`, `cann`, `platform`.
"""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from types import MappingProxyType

from ..tracer.chip import CHIPS, Chip, chip, normal, unknown
from ..tracer.diagnostics import Finding, KernelWarning, finding
from ..tracer.trace import current, in_trace
from . import cann, platform
from .compiler.options import ARCHES

FOLDERS = ("data/platform_config", "compiler/data/platform_config")
#: Memories of a chip by their key in the section AICoreSpec.
_MEMORY = {
    "UB": "ub_size",
    "L1": "l1_size",
    "L0A": "l0_a_size",
    "L0B": "l0_b_size",
    "L0C": "l0_c_size",
    "BT": "bt_size",
}

#: The contents of a file: section -> key -> (value, line).
Sections = dict[str, dict[str, tuple[str, int]]]


def profile(name: str) -> Chip:
    """The profile of a SoC, in any spelling; AT0304 when neither table nor installation knows it.

    A line of the installation's file that makes no sense is a warning (AT0401) and does not count.
    """
    path = config_file(name)
    if path is None:
        return chip(name)
    return _from_file(name, path, path.stat().st_mtime_ns)


def config_file(name: str) -> Path | None:
    """The installation's file for a chip, if there is one."""
    home = cann.find()[0].home
    if home is None:
        return None
    files = {path.stem.lower(): path for folder in FOLDERS for path in home.glob(f"{folder}/*.ini")}
    exact = "".join(name.split()).lower()
    return files.get(exact) or files.get(normal(name))


@cache
def _from_file(name: str, path: Path, changed: int) -> Chip:
    sections, problems = parse(path.read_text(encoding="utf-8-sig", errors="replace"))
    base = CHIPS.get(normal(name))
    arch = _text(sections, "version", "NpuArch")
    if arch and (base is None or base.arch != arch):
        known = next((row for row in CHIPS.values() if row.arch == arch), None)
        if known is None:
            problems.append(f"NpuArch={arch} is no known architecture")
        else:
            base = known._replace(name=path.stem)
    if base is None:
        raise unknown(name)
    numbers = {
        key: value
        for key in ("cube_core_cnt", "vector_core_cnt", "ai_core_cnt")
        if (value := _number(sections, "SoCInfo", key, problems))
    }
    memory = dict(base.memory)
    for place, key in _MEMORY.items():
        if place in memory and (size := _number(sections, "AICoreSpec", key, problems)):
            memory[place] = size
    for problem in problems:
        warnings.warn(KernelWarning(_problem(path, problem)), stacklevel=4)
    both = numbers.get("ai_core_cnt", base.cube_cores)
    cube, vector = numbers.get("cube_core_cnt", both), numbers.get("vector_core_cnt")
    if not ARCHES[base.arch].split:
        # A core has both units; what the file calls vector cores is something more.
        cube = vector = both
    found = base._replace(
        cube_cores=cube,
        vector_cores=base.vector_cores if vector is None else vector,
        memory=MappingProxyType(memory),
    )
    # One object as long as nothing differs: profiles are compared and are keys.
    return base if found == base else found


def parse(text: str) -> tuple[Sections, list[str]]:
    """The sections of a file, and what is wrong with its lines."""
    sections: Sections = {}
    problems: list[str] = []
    rows: dict[str, tuple[str, int]] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()
        if not line or line[0] in "#;":
            continue
        if line[0] == "[" and line[-1] == "]":
            rows = sections.setdefault(line[1:-1].strip(), {})
            continue
        key, equals, value = line.partition("=")
        if not equals or rows is None:
            problems.append(f"line {number} is no key=value in a section: {line[:60]!r}")
            continue
        rows.setdefault(key.strip(), (value.strip(), number))
    return sections, problems


def _text(sections: Sections, section: str, key: str) -> str:
    return sections.get(section, {}).get(key, ("", 0))[0]


def _number(sections: Sections, section: str, key: str, problems: list[str]) -> int:
    """A positive number, or 0 when there is none."""
    text, line = sections.get(section, {}).get(key, ("", 0))
    if not text:
        return 0
    try:
        value = int(text, 0)
    except ValueError:
        value = 0
    if value <= 0:
        problems.append(f"line {line}: {key}={text} is no positive number")
        return 0
    return value


def _problem(path: Path, problem: str) -> Finding:
    return finding(
        "AT0401",
        f"{path}: {problem}",
        severity="warning",
        hint="the built-in table counts instead; is the CANN installation damaged?",
    )


# -- what host code asks ------------------------------------------------------------------------


def _chip(soc: str | None) -> Chip:
    """The chip asked for; inside a kernel that of the trace, else the one that settings choose."""
    if soc is not None:
        return profile(soc)
    return current().trace.chip if in_trace() else profile(platform.soc_name(None))


def current_soc() -> str:
    """The name of the chip that kernels are made for now."""
    return _chip(None).name


def core_num(kind: str = "vector", soc: str | None = None) -> int:
    """The cores of a chip: 'vector' or 'cube'; that many blocks run at once.

    soc: a chip name, by default the one that `set_platform` or the environment chooses; inside a
    kernel the chip it is traced for.
    """
    found = _chip(soc)
    counts = {"vector": found.vector_cores, "cube": found.cube_cores}
    if kind not in counts:
        raise ValueError(f"kind {kind!r} is neither 'vector' nor 'cube'")
    return counts[kind]


def ub_size(soc: str | None = None) -> int:
    """Bytes of the Unified Buffer of a vector core."""
    return _size("UB", soc)


def l1_size(soc: str | None = None) -> int:
    """Bytes of L1 of a cube core."""
    return _size("L1", soc)


def l0a_size(soc: str | None = None) -> int:
    """Bytes of L0A of a cube core."""
    return _size("L0A", soc)


def l0b_size(soc: str | None = None) -> int:
    """Bytes of L0B of a cube core."""
    return _size("L0B", soc)


def l0c_size(soc: str | None = None) -> int:
    """Bytes of L0C of a cube core."""
    return _size("L0C", soc)


def _size(memory: str, soc: str | None) -> int:
    found = _chip(soc)
    if memory not in found.memory:
        raise ValueError(f"{found.name} has no {memory} of known size")
    return found.memory[memory]
