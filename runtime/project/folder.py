"""Writing a project to a folder: what may be replaced there, and how.

`SHA256SUMS` has the digest of each file that was written; a file that still has it is ours to
replace.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from ...tracer.diagnostics import KernelError, error
from ..files import write_whole
from .cmake import cmake_text
from .host import golden_file, input_file, main_text
from .launch import Launch
from .pages import manifest_text, readme_text

SUMS = "SHA256SUMS"
_LINE = re.compile(r"([0-9a-f]{64})  ([^\n]+)")


def project_files(launch: Launch) -> dict[str, bytes]:
    """Relative path -> contents."""
    texts = {
        "kernel.cpp": launch.text,
        "main.cpp": main_text(launch),
        "CMakeLists.txt": cmake_text(launch),
        "arguments.json": manifest_text(launch),
        "README.md": readme_text(launch),
    }
    files = {name: text.encode() for name, text in texts.items()}
    for k, memory in enumerate(launch.before):
        given, wanted = input_file(launch, k), golden_file(launch, k)
        if given is not None:
            files[given] = memory.data
        if wanted is not None and launch.after is not None:
            files[wanted] = launch.after[k].data
    return files


def save_project(launch: Launch, folder: str | Path, overwrite: bool = False) -> Path:
    """Write the project of a launch; returns the folder.

    Files of an earlier project are replaced as long as nobody has changed them, all others only
    with `overwrite`; AT0401 names them, and then nothing is written.
    """
    path = Path(folder)
    files = project_files(launch)
    try:
        ours = _ours(path)
        if not overwrite:
            _check(path, files, ours)
        for name, data in files.items():
            write_whole(path / name, data)
        for name in ours - files.keys():
            if _digest(path / name) == _sums(path).get(name):
                (path / name).unlink()
        sums = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
        write_whole(path / SUMS, "".join(f"{sums[n]}  {n}\n" for n in sorted(sums)).encode())
    except OSError as problem:
        raise error(
            "AT0401",
            f"the project cannot be written to {path}: {problem.strerror or problem}",
            hint="choose another folder",
        ) from None
    return path


def _check(path: Path, files: dict[str, bytes], ours: set[str]) -> None:
    """Refuse to replace what is not ours."""
    if not path.exists():
        return
    if not path.is_dir():
        raise _refused(path, "it is no folder", "choose another one")
    again = "choose another folder, or replace them with overwrite=True (--force)"
    if not (path / SUMS).is_file():
        others = sorted(entry.name for entry in path.iterdir())
        if others:
            raise _refused(path, f"it has other files: {_listed(others)}", again)
    changed = [name for name in files if os.path.lexists(path / name) and name not in ours]
    if changed:
        raise _refused(path, f"these were changed since: {_listed(sorted(changed))}", again)


def _refused(path: Path, why: str, hint: str) -> KernelError:
    return error("AT0401", f"the project is not written to {path}: {why}", hint=hint)


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more


def _sums(path: Path) -> dict[str, str]:
    """Digests by name, as an earlier project has them; only names that a project could have."""
    try:
        text = (path / SUMS).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    found = {name: digest for digest, name in _LINE.findall(text)}
    return {n: d for n, d in found.items() if re.fullmatch(r"(data/)?[\w.]+", n)}


def _ours(path: Path) -> set[str]:
    """Files that are as an earlier project wrote them."""
    return {name for name, digest in _sums(path).items() if _digest(path / name) == digest}


def _digest(path: Path) -> str:
    """SHA-256 of a regular file, "" for anything else."""
    if path.is_symlink() or not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
