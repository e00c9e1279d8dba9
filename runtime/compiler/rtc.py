"""The compiler as a library, `libacl_rtc.so`, through ctypes."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_void_p
from functools import cache
from pathlib import Path
from typing import Any

#: Argument types of the functions used; each returns an `aclError`, a C int.
_PROTOTYPES: dict[str, tuple[Any, ...]] = {
    "aclrtcCreateProg": (
        POINTER(c_void_p), c_char_p, c_char_p, c_int, POINTER(c_char_p), POINTER(c_char_p),
    ),
    "aclrtcCompileProg": (c_void_p, c_int, POINTER(c_char_p)),
    "aclrtcGetCompileLogSize": (c_void_p, POINTER(c_size_t)),
    "aclrtcGetCompileLog": (c_void_p, c_char_p),
    "aclrtcGetBinDataSize": (c_void_p, POINTER(c_size_t)),
    "aclrtcGetBinData": (c_void_p, c_char_p),
    "aclrtcDestroyProg": (POINTER(c_void_p),),
}  # fmt: skip

#: What a status means when there is no log.
_STATUS = {
    176000: "invalid program handle",
    176001: "invalid input",
    176002: "invalid option",
    176003: "compilation failed",
    176004: "linking failed",
    276000: "the program could not be created",
    276001: "out of memory",
    576000: "internal failure",
}


@cache
def _load(path: Path) -> Any:
    library = ctypes.CDLL(str(path))
    for name, arguments in _PROTOTYPES.items():
        function = getattr(library, name)
        function.argtypes = arguments
        function.restype = c_int
    return library


def compile_in_process(
    path: Path, text: str, name: str, options: list[str]
) -> tuple[bytes | None, str]:
    """The binary, or None, and the log."""
    try:
        library = _load(path)
    except (OSError, AttributeError) as problem:
        return None, f"error: {path.name} cannot be used: {problem}"
    program = c_void_p()
    status = library.aclrtcCreateProg(
        byref(program), text.encode(), f"{name}.asc".encode(), 0, None, None
    )
    if status:
        return None, _failed("aclrtcCreateProg", status)
    try:
        given = (c_char_p * len(options))(*(option.encode() for option in options))
        status = library.aclrtcCompileProg(program, len(options), given)
        log = _log(library, program)
        if status:
            return None, log or _failed("aclrtcCompileProg", status)
        size = c_size_t()
        status = library.aclrtcGetBinDataSize(program, byref(size))
        if status:
            return None, _failed("aclrtcGetBinDataSize", status)
        data = ctypes.create_string_buffer(size.value)
        status = library.aclrtcGetBinData(program, data)
        if status:
            return None, _failed("aclrtcGetBinData", status)
        return data.raw, log
    finally:
        library.aclrtcDestroyProg(byref(program))


def _log(library: Any, program: c_void_p) -> str:
    size = c_size_t()
    if library.aclrtcGetCompileLogSize(program, byref(size)) or not size.value:
        return ""
    # One byte more, whether or not the size counts the zero at the end.
    buffer = ctypes.create_string_buffer(size.value + 1)
    if library.aclrtcGetCompileLog(program, buffer):
        return ""
    return buffer.value.decode(errors="replace")


def _failed(function: str, status: int) -> str:
    return f"error: {function} returned {status} ({_STATUS.get(status, 'unknown status')})"
