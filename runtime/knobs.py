"""The settings of asctrace: environment variables, typed, documented, in this one place.

A knob is read where it is used, so that a change of the environment counts at the next launch.
`affects_code` marks the knobs that change what is traced or emitted; they are part of every cache
key. May import `tracer`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from ..tracer.chip import DEFAULT
from ..tracer.diagnostics import error
from ..tracer.vm.options import TraceOptions

T = TypeVar("T")

PREFIX = "ASCTRACE_"

#: The mapping behind `os.environ`. A lookup there takes 30 ns, in `os.environ` itself 1500 ns, and
#: every launch asks.
_environment: Any = getattr(os.environ, "_data", None)
#: Reads what a knob's `key` names, as the environment has it, or None.
read: Callable[[Any], Any] = (os.environ if _environment is None else _environment).get


class Knob(Generic[T]):
    """One setting: the environment variable `ASCTRACE_<name>`."""

    __slots__ = ("_parse", "affects_code", "default", "doc", "key", "name", "values")

    def __init__(
        self,
        name: str,
        default: T,
        parse: Callable[[str], T],
        values: str,
        doc: str,
        affects_code: bool = False,
    ) -> None:
        self.name = PREFIX + name
        self.default = default
        self.values = values
        self.doc = doc
        self.affects_code = affects_code
        self._parse = parse
        self.key: Any = os.environ.encodekey(self.name) if _environment is not None else self.name

    def raw(self) -> Any:
        """The variable as the environment has it, or None: equal as long as the setting is."""
        return read(self.key)

    def get(self) -> T:
        """The setting now; AT0401 when the variable holds no possible value."""
        if self.raw() is None:
            return self.default
        text = os.environ[self.name]
        try:
            return self._parse(text)
        except ValueError:
            raise error(
                "AT0401",
                f"{self.name}={text!r} is no setting",
                hint=f"{self.name}: {self.doc} Values: {self.values}",
            ) from None


def _flag(text: str) -> bool:
    if text.lower() in ("1", "on", "true"):
        return True
    if text.lower() in ("0", "off", "false", ""):
        return False
    raise ValueError(text)


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise ValueError(text)
    return number


BACKENDS = ("auto", "sim", "npu")
#: Ways from text to a binary; what they are is in `docs/device.md`.
ROUTES = ("auto", "objects", "asc", "rtc")
#: Those of them that are command lines, which a build file can have.
COMMAND_ROUTES = ("objects", "asc")


def _one_of(names: tuple[str, ...]) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in names:
            raise ValueError(text)
        return text

    return parse


VERBOSE = Knob(
    "VERBOSE", False, _flag, "0, 1", "Show the internal frames of asctrace in tracebacks."
)
BACKEND = Knob(
    "BACKEND",
    "auto",
    _one_of(BACKENDS),
    ", ".join(BACKENDS),
    "Where kernels run; auto takes the NPU where there is one, else the simulator.",
    True,  # the chip is that of the device, if nothing else chooses one
)
SOC = Knob("SOC", DEFAULT, str, "a SoC name", "The chip that kernels are made for.", True)
UNROLL_LIMIT = Knob(
    "UNROLL_LIMIT",
    TraceOptions().unroll_limit,
    _count,
    "0, 1, ...",
    "A loop over a constant range unrolls up to this number of recorded operations.",
    True,
)

DEVICE = Knob("DEVICE", 0, _count, "0, 1, ...", "The number of the NPU that kernels run on.")
COMPILER = Knob(
    "COMPILER", "", str, "a path", "The bisheng compiler; empty: that of the CANN found."
)
ROUTE = Knob(
    "ROUTE",
    "auto",
    _one_of(ROUTES),
    ", ".join(ROUTES),
    "How text is compiled: an object for each kind of core, bisheng -x asc, or in the process.",
)
COMPILE_TIMEOUT = Knob(
    "COMPILE_TIMEOUT", 600, _count, "seconds", "A compiler that takes longer is stopped; 0: never."
)
CACHE_DIR = Knob(
    "CACHE_DIR",
    "",
    str,
    "a folder",
    "Where binaries are kept; empty: the user's cache.",
)
CACHE_LIMIT = Knob(
    "CACHE_LIMIT",
    1024,
    _count,
    "MiB",
    "Binaries beyond this size go, those not used for longest first; 0: keep none.",
)

ACL_LIBRARY = Knob(
    "ACL_LIBRARY", "", str, "a path", "The ACL runtime library; empty: that of the CANN found."
)
LAUNCH_BLOCKING = Knob(
    "LAUNCH_BLOCKING",
    False,
    _flag,
    "0, 1",
    "Wait after each launch on the NPU, so that an error names the launch it comes from.",
)
SYNC_TIMEOUT = Knob(
    "SYNC_TIMEOUT", 0, _count, "seconds", "Waiting longer for the NPU is an error; 0: never."
)

DUMP_DIR = Knob(
    "DUMP_DIR", "", str, "a folder", "Where the stages of each kernel are written; empty: nowhere."
)
OVERRIDE_DIR = Knob(
    "OVERRIDE_DIR",
    "",
    str,
    "a folder",
    "Where edited texts of kernels are taken from when they are compiled; empty: nowhere.",
)

ALL: tuple[Knob[Any], ...] = (
    VERBOSE, BACKEND, SOC, UNROLL_LIMIT, DEVICE, COMPILER, ROUTE, COMPILE_TIMEOUT, CACHE_DIR,
    CACHE_LIMIT, ACL_LIBRARY, LAUNCH_BLOCKING, SYNC_TIMEOUT, DUMP_DIR, OVERRIDE_DIR,
)  # fmt: skip


#: The knobs that affect code.
AFFECT_CODE = tuple(knob for knob in ALL if knob.affects_code)
_KEYS = tuple(knob.key for knob in AFFECT_CODE)


def code_state() -> tuple[Any, ...]:
    """The raw values of the knobs that affect code: part of every cache key."""
    return tuple(map(read, _KEYS))
