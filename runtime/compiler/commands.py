"""The command lines of the three ways from text to a binary.

`objects` compiles the text once for each kind of core and links the objects, `asc` lets
`bisheng -x asc` do both, `rtc` gives the text to `libacl_rtc.so` in this process.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from .binary import KernelType
from .options import Arch, CompileOptions
from .toolchain import Toolchain

SOURCE = "kernel.cpp"
OBJECT = "kernel.o"


@dataclass(frozen=True, slots=True)
class Command:
    """One run of a tool: `argv`, and the file it makes."""

    argv: tuple[str, ...]
    output: str

    def __str__(self) -> str:
        return shlex.join(self.argv)


def qualifier(route: str, kind: KernelType) -> str:
    """What the text says in front of `__aicore__` for the route."""
    if route == "objects":
        return ""
    if kind.hard_sync:
        return f"__mix__({kind.cube}, {kind.vector})"
    return "__cube__" if kind.cube else "__vector__"


def commands(
    tools: Toolchain, arch: Arch, kind: KernelType, options: CompileOptions
) -> tuple[Command, ...]:
    """The runs that make `kernel.o` of `kernel.cpp`, for the folder that has it.

    Paths of the text are relative, so that the same text gives the same commands anywhere.
    """
    compiler = str(tools.compiler)
    if tools.route == "asc":
        argv = [compiler, "-c", "-x", "asc", *_level(options), SOURCE, *npu_flags(arch, options)]
        compile_ = Command((*argv, "--aicore-only", "-o", "device.o"), "device.o")
        return compile_, _link(tools, (compile_,))
    units = [(arch.cube, "cube.o")] * bool(kind.cube) + [(arch.vector, "vector.o")] * bool(
        kind.vector
    )
    if not arch.split:
        units = [(arch.vector, "core.o")]
    steps = tuple(
        Command(
            (
                compiler,
                "-c",
                "-x",
                "cce",
                *_level(options),
                SOURCE,
                f"--cce-aicore-arch={unit}",
                "--cce-aicore-only",
                "-o",
                name,
                *_object_flags(tools, arch, kind, options),
            ),
            name,
        )
        for unit, name in units
    )
    return *steps, _link(tools, steps)


def npu_flags(arch: Arch, options: CompileOptions) -> list[str]:
    """The flags that `bisheng -x asc` and `libacl_rtc.so` share."""
    return [
        f"--npu-arch={arch.npu}",
        "-std=c++17",
        "-DASCENDC_DUMP=0",
        *(["-g"] if options.debug else []),
        *_auto_sync(options),
        *options.bisheng_options,
    ]


def _object_flags(
    tools: Toolchain, arch: Arch, kind: KernelType, options: CompileOptions
) -> list[str]:
    flags = [part for folder in tools.includes for part in ("-I", str(folder))]
    if tools.version_header is not None:
        flags = ["-include", str(tools.version_header), *flags]
    flags += ["-std=c++17", *arch.flags, "-DASCENDC_DUMP=0"]
    if options.debug:
        flags += ["-g", "-mllvm", "--cce-aicore-jump-expand=true"]
    flags += _auto_sync(options)
    if options.auto_sync:
        flags += ["-mllvm", "-api-deps-filter"]
    if kind.mixed and arch.split:
        flags += ["-cce-enable-mix", "-D__MIX_CORE_MACRO__=1"]
        if kind.vector == 1:
            flags.append("-D__MIX_CORE_AIC_RATION__=1")
    return [*flags, "-D__NPU_TILING__", "-DTILING_KEY_VAR=0", *options.bisheng_options]


def _level(options: CompileOptions) -> list[str]:
    return [f"-O{options.opt_level}"]


def _auto_sync(options: CompileOptions) -> list[str]:
    if not options.auto_sync:
        return []
    log = [f"--cce-auto-sync-log={options.auto_sync_log}"] if options.auto_sync_log else []
    return ["--cce-auto-sync", *log]


def _link(tools: Toolchain, steps: tuple[Command, ...]) -> Command:
    objects = [step.output for step in steps]
    argv = (str(tools.linker), "-m", "aicorelinux", "-Ttext=0", *objects, "-static", "-o", OBJECT)
    return Command(argv, OBJECT)
