"""The error codes of the ACL runtime: name, meaning, likely cause, what to do.

Imports nothing from the project.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Status(NamedTuple):
    """One code. After a `fault` the device takes no more work from the process."""

    code: int
    symbol: str
    meaning: str
    cause: str = ""
    hint: str = ""
    fault: bool = False


_REPORT = "this is the driver's or the chip's own: see the device log, report it to the vendor"
_SIMULATE = "run the same launch in the simulator, which names the line"
_HANG = (
    "the kernel waits for what never comes: a flag that is not set, a queue without a free buffer, "
    "a barrier with more blocks than cores"
)
_ADDRESS = (
    "the kernel reads or writes outside the memory it was given: a wrong length or offset, the "
    "last tile, a buffer that is too small"
)


def _fault(code: int, symbol: str, meaning: str, cause: str, hint: str = _SIMULATE) -> Status:
    return Status(code, symbol, meaning, cause, hint, True)


CODES: dict[int, Status] = {
    row.code: row
    for row in (
        # -- of the interface
        Status(100000, "ACL_ERROR_INVALID_PARAM", "invalid argument"),
        Status(
            100001,
            "ACL_ERROR_UNINITIALIZE",
            "the runtime is not started",
            "another library stopped it with aclFinalize",
            "keep the process's other users of ACL from stopping it while kernels run",
        ),
        Status(100002, "ACL_ERROR_REPEAT_INITIALIZE", "the runtime was started before"),
        Status(
            100003,
            "ACL_ERROR_INVALID_FILE",
            "invalid file",
            "the kernel binary was removed or is damaged",
            "`python -m asctrace cache clear`, then try again",
        ),
        Status(
            100029,
            "ACL_ERROR_KERNEL_NOT_FOUND",
            "kernel not found",
            "the binary has no such symbol",
            "compile afresh with always_compile=True",
        ),
        Status(100037, "ACL_ERROR_REPEAT_FINALIZE", "the runtime was stopped before"),
        Status(
            100039,
            "ACL_ERROR_COMPILING_STUB_MODE",
            "a library for linking was loaded, not the runtime",
            "LD_LIBRARY_PATH has devlib or a stub folder in front of the runtime's lib64",
            "source set_env.sh of CANN, or put its lib64 first in LD_LIBRARY_PATH",
        ),
        Status(200000, "ACL_ERROR_BAD_ALLOC", "out of memory", "", "free memory, or pass less"),
        Status(200001, "ACL_ERROR_API_NOT_SUPPORT", "function not supported"),
        Status(200002, "ACL_ERROR_INVALID_DEVICE", "invalid device", "", "see `npu-smi info`"),
        Status(200003, "ACL_ERROR_MEMORY_ADDRESS_UNALIGNED", "unaligned address"),
        Status(200005, "ACL_ERROR_INVALID_RESOURCE_HANDLE", "invalid handle"),
        Status(200006, "ACL_ERROR_FEATURE_UNSUPPORTED", "feature not supported"),
        Status(300000, "ACL_ERROR_STORAGE_OVER_LIMIT", "too much memory"),
        Status(500000, "ACL_ERROR_INTERNAL_ERROR", "internal error", "", _REPORT),
        Status(500001, "ACL_ERROR_FAILURE", "failure", "", _REPORT),
        Status(500003, "ACL_ERROR_RT_FAILURE", "failure of the runtime", "", _REPORT),
        Status(500004, "ACL_ERROR_DRV_FAILURE", "failure of the driver", "", _REPORT),
        # -- arguments
        Status(
            107000,
            "ACL_ERROR_RT_PARAM_INVALID",
            "invalid argument",
            "a pointer of the wrong side: device memory where host memory is wanted, or the other "
            "way round",
        ),
        Status(
            107001,
            "ACL_ERROR_RT_INVALID_DEVICEID",
            "no such device",
            "the machine, or ASCEND_RT_VISIBLE_DEVICES, has fewer devices",
            "see `npu-smi info`; asc.set_platform(device_id=...) chooses",
        ),
        Status(
            107002,
            "ACL_ERROR_RT_CONTEXT_NULL",
            "this thread has no context",
            "another library reset the device",
        ),
        Status(
            107003,
            "ACL_ERROR_RT_STREAM_CONTEXT",
            "the stream belongs to another context",
            "the stream was made on another device",
            "pass a stream of the device that has the arrays",
        ),
        Status(107006, "ACL_ERROR_RT_EVENT_TIMESTAMP_INVALID", "the event was not recorded yet"),
        Status(
            107007, "ACL_ERROR_RT_EVENT_TIMESTAMP_REVERSAL", "the events are the wrong way round"
        ),
        Status(107008, "ACL_ERROR_RT_ADDR_UNALIGNED", "unaligned address"),
        Status(
            107009,
            "ACL_ERROR_RT_FILE_OPEN",
            "cannot open the file",
            "the kernel binary was removed",
            "`python -m asctrace cache clear`, then try again",
        ),
        Status(107016, "ACL_ERROR_RT_INVALID_MEMORY_TYPE", "invalid kind of memory"),
        Status(
            107017,
            "ACL_ERROR_RT_INVALID_HANDLE",
            "invalid handle",
            "it was destroyed or unloaded before",
        ),
        Status(107019, "ACL_ERROR_RT_WAIT_TIMEOUT", "waited too long", _HANG),
        Status(107020, "ACL_ERROR_RT_TASK_TIMEOUT", "took too long", _HANG),
        Status(107022, "ACL_ERROR_RT_DEVICE_TASK_ABORT", "the device's work was aborted"),
        Status(107023, "ACL_ERROR_RT_STREAM_ABORT", "the stream was aborted"),
        Status(107042, "ACL_ERROR_RT_SYMBOL_NOT_FOUND", "symbol not found"),
        Status(107043, "ACL_ERROR_RT_INVALID_SYMBOL", "invalid symbol"),
        Status(
            107044,
            "ACL_ERROR_RT_INVALID_DEVICE_FUNCTION",
            "invalid function",
            "the binary was made for another chip or device",
        ),
        # -- resources
        Status(
            207000,
            "ACL_ERROR_RT_FEATURE_NOT_SUPPORT",
            "feature not supported",
            "the driver or the chip is older than this use of the toolkit",
        ),
        Status(
            207001,
            "ACL_ERROR_RT_MEMORY_ALLOCATION",
            "out of device memory",
            "",
            "free arrays that are no longer used, or pass less at a time",
        ),
        Status(207002, "ACL_ERROR_RT_MEMORY_FREE", "cannot free the memory"),
        Status(207003, "ACL_ERROR_RT_AICORE_OVER_FLOW", "numeric overflow", "overflow detection"),
        Status(207004, "ACL_ERROR_RT_NO_DEVICE", "no device", "", "see `npu-smi info`"),
        Status(207005, "ACL_ERROR_RT_RESOURCE_ALLOC_FAIL", "out of resources"),
        Status(
            207006,
            "ACL_ERROR_RT_NO_PERMISSION",
            "no permission",
            "the user is not in the group of the driver's devices",
        ),
        Status(
            207007,
            "ACL_ERROR_RT_NO_EVENT_RESOURCE",
            "out of events",
            "events are made and not destroyed",
        ),
        Status(
            207008,
            "ACL_ERROR_RT_NO_STREAM_RESOURCE",
            "out of streams",
            "streams are made and not destroyed",
        ),
        Status(207016, "ACL_ERROR_RT_AIVEC_OVER_FLOW", "numeric overflow", "overflow detection"),
        Status(207017, "ACL_ERROR_RT_OVER_FLOW", "numeric overflow", "overflow detection"),
        Status(
            207018,
            "ACL_ERROR_RT_DEVICE_OOM",
            "out of device memory",
            "",
            "free arrays that are no longer used, or pass less at a time",
        ),
        # -- the device
        Status(507000, "ACL_ERROR_RT_INTERNAL_ERROR", "internal error", "", _REPORT),
        Status(
            507008,
            "ACL_ERROR_RT_SOC_VERSION",
            "wrong chip",
            "driver and toolkit do not belong together, or the kernel was made for another chip",
        ),
        _fault(507010, "ACL_ERROR_RT_LOST_HEARTBEAT", "the device does not answer", "", _REPORT),
        _fault(507011, "ACL_ERROR_RT_MODEL_EXECUTE", "the work of a stream failed", _ADDRESS),
        _fault(507012, "ACL_ERROR_RT_REPORT_TIMEOUT", "the device does not report", _HANG),
        _fault(507014, "ACL_ERROR_RT_AICORE_TIMEOUT", "a core took too long", _HANG),
        _fault(507015, "ACL_ERROR_RT_AICORE_EXCEPTION", "a core met a fault", _ADDRESS),
        _fault(
            507016,
            "ACL_ERROR_RT_AICORE_TRAP_EXCEPTION",
            "a core met a trap",
            "an assert or raise of the kernel",
        ),
        _fault(507018, "ACL_ERROR_RT_AICPU_EXCEPTION", "the device's CPU met a fault", "", _REPORT),
        Status(
            507027,
            "ACL_ERROR_RT_KERNEL_LOOKUP",
            "kernel not found",
            "the binary has no such symbol",
            "compile afresh with always_compile=True",
        ),
        _fault(507034, "ACL_ERROR_RT_VECTOR_CORE_TIMEOUT", "a vector core took too long", _HANG),
        _fault(507035, "ACL_ERROR_RT_VECTOR_CORE_EXCEPTION", "a vector core met a fault", _ADDRESS),
        _fault(
            507036,
            "ACL_ERROR_RT_VECTOR_CORE_TRAP_EXCEPTION",
            "a vector core met a trap",
            "an assert or raise of the kernel",
        ),
        _fault(507042, "ACL_ERROR_RT_AICORE_TRAP_READ_OVERFLOW", "a read outside memory", _ADDRESS),
        _fault(
            507043, "ACL_ERROR_RT_AICORE_TRAP_WRITE_OVERFLOW", "a write outside memory", _ADDRESS
        ),
        _fault(
            507044,
            "ACL_ERROR_RT_VECTOR_CORE_TRAP_READ_OVERFLOW",
            "a read outside memory",
            _ADDRESS,
        ),
        _fault(
            507045,
            "ACL_ERROR_RT_VECTOR_CORE_TRAP_WRITE_OVERFLOW",
            "a write outside memory",
            _ADDRESS,
        ),
        _fault(507046, "ACL_ERROR_RT_STREAM_SYNC_TIMEOUT", "the stream took too long", _HANG),
        _fault(507047, "ACL_ERROR_RT_EVENT_SYNC_TIMEOUT", "the event took too long", _HANG),
        _fault(507048, "ACL_ERROR_RT_FFTS_PLUS_TIMEOUT", "a kernel took too long", _HANG),
        _fault(507049, "ACL_ERROR_RT_FFTS_PLUS_EXCEPTION", "a kernel met a fault", _ADDRESS),
        _fault(
            507050,
            "ACL_ERROR_RT_FFTS_PLUS_TRAP_EXCEPTION",
            "a kernel met a trap",
            "an assert or raise of the kernel",
        ),
        _fault(507053, "ACL_ERROR_RT_DEVICE_MEM_ERROR", "the device's memory failed", "", _REPORT),
        _fault(
            507054,
            "ACL_ERROR_RT_HBM_MULTI_BIT_ECC_ERROR",
            "the device's memory failed",
            "",
            _REPORT,
        ),
        _fault(507899, "ACL_ERROR_RT_DRV_INTERNAL_ERROR", "failure of the driver", "", _REPORT),
    )
}


def status(code: int) -> Status:
    """The row of a code; a made-up one for a code that is not in the table."""
    return CODES.get(code) or Status(code, "unknown code", "not in asctrace's table", "", _REPORT)


# -- what the device says of a fault ------------------------------------------------------------

#: The sentence in the runtime's message, and the kernel it names.
_FAULT = re.compile(r"errorStr: *([^\n]*?)(?:\. |\.?$|\n)", re.MULTILINE)
_KERNEL = re.compile(r"fault kernel_name=([\w.]+)")

#: Words of that sentence -> likely cause; the first that fits.
_CAUSES = (
    (
        r"DDR address|read(?:ing)? .*\bGM\b|illegal when the AI ?core",
        (
            "an address in global memory that is not of an array: offset or length of a copy, a "
            "last tile that is shorter, a null workspace"
        ),
    ),
    (
        r"not aligned|align",
        "an address or a length that is no multiple of 32 bytes (or of the element's size)",
    ),
    (
        r"\b(?:UB|L1|L0A|L0B|L0C|buffer)\b.*out of (?:bounds|range)|on-chip buffer",
        "an offset, count or repeat that leaves a local buffer",
    ),
    (r"instruction configuration|illegal", "a parameter of a call outside its limits"),
)


def decode_fault(message: str) -> tuple[str, str, str]:
    """What a fault message tells: the device's sentence, the kernel it names, the likely cause.

    Each is empty when the message does not have it.
    """
    found = _FAULT.search(message)
    sentence = found[1].strip() if found else ""
    kernel = _KERNEL.search(message)
    cause = next((text for words, text in _CAUSES if sentence and re.search(words, sentence)), "")
    return sentence, kernel[1] if kernel else "", cause
