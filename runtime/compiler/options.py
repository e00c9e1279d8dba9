"""Options of the compiler, and the chips' names and flags for it. May import `binary`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from .binary import KernelType

_LEVELS = (0, 1, 2, 3)


@dataclass(frozen=True, slots=True)
class CompileOptions:
    """How a kernel is compiled; the fields are options of `asc.jit`, named as in pyasc.

    kernel_type: the cores it runs on; None infers it from the kernel. opt_level: 0 to 3.
    auto_sync: the compiler inserts synchronisation inside a core that it finds missing.
    auto_sync_log: a file for what it inserted. debug: symbols, and lines of Python in them.
    bisheng_options: further arguments of the compiler.
    """

    kernel_type: KernelType | None = None
    opt_level: int = 3
    auto_sync: bool = True
    auto_sync_log: str = ""
    debug: bool = False
    bisheng_options: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.kernel_type is not None and not isinstance(self.kernel_type, KernelType):
            raise TypeError(f"kernel_type is {self.kernel_type!r}, no KernelType")
        if type(self.opt_level) is not int or self.opt_level not in _LEVELS:
            raise ValueError(f"opt_level {self.opt_level!r} is none of 0, 1, 2, 3")
        given = self.bisheng_options
        if isinstance(given, str) or not all(isinstance(text, str) for text in given):
            raise TypeError(f"bisheng_options are {given!r}, no sequence of texts")
        object.__setattr__(self, "bisheng_options", tuple(given))


class Arch(NamedTuple):
    """An NPU architecture: `npu` for `--npu-arch`; `vector` and `cube` for `--cce-aicore-arch`.

    The two are one name where a core has both units. `flags` belong to each object.
    """

    npu: str
    vector: str
    cube: str
    flags: tuple[str, ...]

    @property
    def split(self) -> bool:
        """Whether vector and cube units are cores of their own."""
        return self.vector != self.cube


def _llvm(*flags: str) -> tuple[str, ...]:
    return tuple(part for flag in flags for part in ("-mllvm", flag))


_STACK = ("-cce-aicore-stack-size=0x8000", "-cce-aicore-function-stack-size=0x8000")
_SCALAR = "-cce-aicore-dcci-insert-for-scalar=false"
_OLD_STACK = "-cce-aicore-function-stack-size=16000"

#: By the number of the architecture; flags are those of the vendor's own builds.
ARCHES: dict[str, Arch] = {
    "2201": Arch(
        "dav-2201",
        "dav-c220-vec",
        "dav-c220-cube",
        ("--cce-disable-kernel-global-attr-check", *_llvm(*_STACK, _SCALAR)),
    ),
    "3510": Arch(
        "dav-3510",
        "dav-c310-vec",
        "dav-c310-cube",
        (
            "--cce-disable-kernel-global-attr-check",
            "-D__DAV_C310__",
            "--cce-mask-opt",
            *_llvm(*_STACK, _SCALAR, "-cce-aicore-jump-expand=true"),
        ),
    ),
    "3002": Arch("dav-3002", "dav-m300", "dav-m300", ("--cce-mask-opt", *_llvm(_OLD_STACK))),
    "2002": Arch(
        "dav-2002",
        "dav-m200",
        "dav-m200",
        ("--cce-mask-opt", *_llvm("-cce-aicore-fp-ceiling=2", "-cce-aicore-mask-opt=false")),
    ),
    "1001": Arch(
        "dav-1001",
        "dav-c100",
        "dav-c100",
        ("--cce-mask-opt", *_llvm(_OLD_STACK, "-cce-aicore-mask-opt=false")),
    ),
}
