"""Finding, loading and calling the ACL runtime library.

`load()` gives the process's `Acl`; its `call` checks every return code. May import `prototypes`,
`errors`, `cann`, `knobs`.
"""

from __future__ import annotations

import ctypes
import os
import threading
from pathlib import Path
from typing import Any

from ...tracer.diagnostics import KernelError, error
from .. import cann, knobs
from .errors import failure
from .prototypes import FUNCTIONS, RESULTS, SUCCESS, TYPES

#: Newest name first; the second is on its way out.
NAMES = ("libacl_rt.so", "libascendcl.so")
#: Folders that hold copies of the library for linking only.
STUB_FOLDERS = ("devlib", "stub", "stubs")

_lock = threading.Lock()
_loaded: Acl | None = None


class Acl:
    """The library: `acl.aclrtMalloc` and so on are the bare functions, `call` a checked one."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._cdll = ctypes.CDLL(path)
        missing = [f.name for f in FUNCTIONS.values() if not (f.optional or self.has(f.name))]
        if missing:
            raise OSError(f"it has no {', '.join(missing)}")

    def has(self, name: str) -> bool:
        """Whether this version of the library has a function."""
        return hasattr(self._cdll, name)

    def __getattr__(self, name: str) -> Any:
        row = FUNCTIONS.get(name)
        if row is None:
            raise AttributeError(f"{name} is not in the table of prototypes")
        function = self._cdll[name]
        function.restype = TYPES[row.result]
        function.argtypes = [TYPES[type] for type, _ in row.parameters]
        setattr(self, name, function)
        return function

    def unconverted(self, name: str) -> Any:
        """A function whose arguments are not converted, which takes most of the time of a call.

        Every argument has to be an object of ctypes of the parameter's size, bytes, None, or an
        integer for a parameter of 32 bits.
        """
        function = self._cdll[name]
        function.restype = TYPES[FUNCTIONS[name].result]
        return function

    def meaning(self, name: str) -> str:
        """What a function was called for."""
        return f"trying to {FUNCTIONS[name].meaning}"

    def call(self, name: str, *args: Any, doing: str = "") -> None:
        """Call a function; raises `AclError` unless it gives success."""
        status = getattr(self, name)(*args)
        if status != SUCCESS:
            raise failure(self, name, status, doing)

    def result(self, name: str, *args: Any, last: bool = False, doing: str = "") -> Any:
        """Call a function whose first (or last) parameter takes its result, and return that.

        Addresses that are null come as 0.
        """
        row = FUNCTIONS[name]
        value = RESULTS[row.parameters[-1 if last else 0][0]]()
        pointer = ctypes.byref(value)
        self.call(name, *((*args, pointer) if last else (pointer, *args)), doing=doing)
        return value.value or 0

    def text(self, name: str) -> str:
        """Call a function that returns a string; "" for none."""
        found: bytes | None = getattr(self, name)()
        return (found or b"").decode("utf-8", "replace")

    def recent_message(self) -> str:
        """The runtime's own words about the last error of this thread; asking clears them."""
        return self.text("aclGetRecentErrMsg").strip()


def load() -> Acl:
    """The library, loaded at the first call.

    Raises `KernelError`: AT0305 when there is none, AT0604 for one that cannot be used.
    """
    global _loaded
    with _lock:
        if _loaded is None:
            _loaded = _load()
        return _loaded


def forget() -> None:
    """Load afresh at the next call; for tests."""
    global _loaded
    with _lock:
        _loaded = None


def _load() -> Acl:
    looked: list[str] = []
    for path in _candidates(looked):
        if is_stub(path):
            raise unusable(path, "it is a library for linking, not the runtime")
        try:
            return Acl(path)
        except OSError as problem:
            if os.path.sep in path:
                raise unusable(path, str(problem)) from None
            looked.append(f"{path}: {problem}")
    raise error(
        "AT0305",
        "no ACL runtime found: launching on the NPU needs libacl_rt.so",
        table="\n".join(looked),
        hint="install CANN and source its set_env.sh, or run in the simulator: backend='sim'",
    )


def _candidates(looked: list[str]) -> list[str]:
    """Where the library may be, best first: what is named, what is loaded, CANN's, the linker's."""
    named = knobs.ACL_LIBRARY.get()
    if named:
        return [named]
    for name in NAMES:
        if _is_loaded(name):
            return [name]
    found, places = cann.find()
    looked += places
    paths = [str(path) for name in NAMES if (path := found.library(name)) is not None]
    return paths[:1] or list(NAMES)


def _is_loaded(name: str) -> bool:
    """Whether the process has a library already, for instance through torch_npu."""
    try:
        ctypes.CDLL(name, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError:
        return False
    return True


def is_stub(path: str) -> bool:
    """Whether a library lies in a folder of copies for linking."""
    return any(part in STUB_FOLDERS for part in Path(os.path.realpath(path)).parts[:-1])


def unusable(path: str, why: str) -> KernelError:
    """AT0604 for a library."""
    return error(
        "AT0604",
        f"the ACL library {path} cannot be used: {why}",
        hint=f"the runtime is {NAMES[0]} in CANN's lib64: source set_env.sh, and keep devlib and "
        "stub folders out of LD_LIBRARY_PATH",
    )
