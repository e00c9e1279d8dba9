"""The corpus of Python constructs: its rows, and how one is run.

A row is a whole program, run from text without a file, which defines `kernel`. `docs/generate.py`
prints the same rows, so that a construct on the page is a construct that was run.
"""

from __future__ import annotations

import linecache
import sys
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

FILE = "example.py"
HEADER = "import asctrace as asc\n\n\n"


@dataclass(frozen=True, slots=True)
class Run:
    """One launch: the arguments after `out`, and what `out` holds then (its first elements)."""

    args: tuple[Any, ...]
    out: list[Any]


@dataclass(frozen=True, slots=True)
class Accepted:
    """A construct that kernels may use.

    `same` is False where CPython's own result differs, because device numbers have a width.
    `prints` is what the kernel prints in its runs.
    """

    name: str
    source: str
    runs: tuple[Run, ...]
    dtype: Any = np.int32
    same: bool = True
    prints: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """A program that ends with the error `code`; the golden file `name` has the whole message.

    `args` are the arguments of the launch after `out`, on `blocks` blocks.
    """

    name: str
    code: str
    title: str
    source: str
    args: tuple[Any, ...] = ()
    dtype: Any = np.int32
    blocks: int = 1


def accepted(name: str, source: str, *runs: tuple[Any, ...], **options: Any) -> Accepted:
    """A row; a run is written as (argument, ..., list of results)."""
    text = HEADER + textwrap.dedent(source).lstrip("\n")
    return Accepted(name, text, tuple(Run(tuple(r[:-1]), r[-1]) for r in runs), **options)


def refused(code: str, name: str, title: str, source: str, *args: Any, **options: Any) -> Refused:
    """A row; the name of its golden file is `code-name`."""
    text = HEADER + textwrap.dedent(source).lstrip("\n")
    return Refused(f"{code}-{name}", code, title, text, args, **options)


def load(source: str, modules: dict[str, Any] | None = None) -> dict[str, Any]:
    """Run a program's text as if it stood in `example.py`; its globals."""
    linecache.cache[FILE] = (len(source), None, source.splitlines(keepends=True), FILE)
    module = ModuleType("example")
    # Dataclasses look their module up.
    sys.modules["example"] = module
    vars(module).update(modules or {})
    exec(compile(source, FILE, "exec"), vars(module))
    return vars(module)


def launch(
    source: str, args: Iterable[Any], dtype: Any = np.int32, size: int = 16, blocks: int = 1
) -> Any:
    """Launch a program's `kernel`; the array `out`."""
    out = np.zeros(size, dtype)
    load(source)["kernel"][blocks](out, *args)
    return out


# -- the same program in CPython ------------------------------------------------------------------


class HostTensor:
    """A `GlobalTensor` for a kernel that CPython runs."""

    def set_global_buffer(self, address: Any, size: int | None = None) -> None:
        self.data = address

    def get_value(self, index: int) -> Any:
        return self.data[index].item()

    def set_value(self, index: int, value: Any) -> None:
        self.data[index] = value


class HostModule(ModuleType):
    """The names of asctrace that the rows use, for CPython."""

    def __init__(self, real: Any) -> None:
        super().__init__("asctrace")
        self.jit: Callable[[Any], Any] = lambda fn: fn
        self.GlobalTensor = HostTensor
        self.range = self.static_range = range
        for name in ("GlobalAddress", "ConstExpr", "ceildiv", "int32", "float32"):
            setattr(self, name, getattr(real, name))


def by_cpython(row: Accepted, args: Iterable[Any], size: int = 16) -> Any:
    """What CPython leaves in `out`."""
    import asctrace

    text = row.source.replace("import asctrace as asc\n", "", 1)
    out = np.zeros(size, row.dtype)
    namespace = load(text, {"asc": HostModule(asctrace)})
    namespace["kernel"](out, *args)
    return out
