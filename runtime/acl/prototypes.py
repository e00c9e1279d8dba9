"""Every function of the ACL runtime that asctrace calls: its prototype and what it does.

The one table of the bindings: `library` makes ctypes functions of it, the tests check that the
stand-in has the same prototypes and that each is exercised. Imports nothing from the project.
"""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass
from typing import Any

SUCCESS = 0

# Kinds of copies, and where memory is taken from.
HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE = 1, 2, 3
HUGE_FIRST = 0
#: Memory that `aclrtGetMemInfo` tells about: the device's own.
HBM = 1
# Flags of events, results of queries, modes of streams.
EVENT_SYNC, EVENT_TIME_LINE = 0x1, 0x8
EVENT_COMPLETE = 1
STREAM_COMPLETE = 0
STOP_ON_FAILURE = 1
#: Device attribute: the largest grid.
MAX_BLOCKS_ATTRIBUTE = 208
#: Launch attribute: how blocks are scheduled, and its value "all of them at once".
SCHEDULE_MODE, SCHEDULE_TOGETHER = 1, 1


class LaunchAttribute(ctypes.Structure):
    """`aclrtLaunchKernelAttr`; the value is a union of 16 bytes."""

    _fields_ = (("id", ctypes.c_int32), ("value", ctypes.c_uint32 * 4))


class LaunchConfig(ctypes.Structure):
    """`aclrtLaunchKernelCfg`."""

    _fields_ = (("attrs", ctypes.POINTER(LaunchAttribute)), ("numAttrs", ctypes.c_size_t))


#: C type -> ctypes type. Handles are addresses, enumerations are int.
TYPES: dict[str, Any] = {
    "aclError": ctypes.c_int,
    "int32_t": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "const char*": ctypes.c_char_p,
    "void*": ctypes.c_void_p,
    "const void*": ctypes.c_void_p,
    "aclrtMemMallocPolicy": ctypes.c_int,
    "aclrtMemcpyKind": ctypes.c_int,
    "aclrtMemAttr": ctypes.c_int,
    "aclrtDevAttr": ctypes.c_int,
    "aclrtStream": ctypes.c_void_p,
    "aclrtEvent": ctypes.c_void_p,
    "aclrtBinHandle": ctypes.c_void_p,
    "const aclrtBinHandle": ctypes.c_void_p,
    "aclrtFuncHandle": ctypes.c_void_p,
    # Structs that are never filled in, or by address.
    "aclrtBinaryLoadOptions*": ctypes.c_void_p,
    "aclrtLaunchKernelCfg*": ctypes.c_void_p,
    "aclrtPlaceHolderInfo*": ctypes.c_void_p,
}
#: What a pointer to a result points to.
RESULTS: dict[str, Any] = {
    "void**": ctypes.c_void_p,
    "int32_t*": ctypes.c_int32,
    "uint32_t*": ctypes.c_uint32,
    "int64_t*": ctypes.c_int64,
    "uint64_t*": ctypes.c_uint64,
    "size_t*": ctypes.c_size_t,
    "float*": ctypes.c_float,
    "aclrtStream*": ctypes.c_void_p,
    "aclrtEvent*": ctypes.c_void_p,
    "aclrtContext*": ctypes.c_void_p,
    "aclrtBinHandle*": ctypes.c_void_p,
    "aclrtFuncHandle*": ctypes.c_void_p,
    "aclrtStreamStatus*": ctypes.c_int,
    "aclrtEventRecordedStatus*": ctypes.c_int,
}
TYPES |= {pointer: ctypes.POINTER(what) for pointer, what in RESULTS.items()}

_PROTOTYPE = re.compile(r"(?P<result>.+?) ?(?P<name>\w+)\((?P<parameters>.*)\)")


@dataclass(frozen=True, slots=True)
class Function:
    """A C function: its prototype, what it does, and whether an older CANN may lack it."""

    name: str
    result: str
    parameters: tuple[tuple[str, str], ...]
    meaning: str
    optional: bool = False


def _function(prototype: str, meaning: str, optional: bool = False) -> Function:
    found = _PROTOTYPE.fullmatch(prototype)
    assert found is not None, prototype
    parameters = []
    for text in filter(None, found["parameters"].split(", ")):
        type, _, name = text.rpartition(" ")
        parameters.append((type, name))
    for type in (found["result"], *(type for type, _ in parameters)):
        assert type in TYPES, (prototype, type)
    return Function(found["name"], found["result"], tuple(parameters), meaning, optional)


FUNCTIONS: dict[str, Function] = {
    row.name: row
    for row in (
        # -- the process
        _function("aclError aclInit(const char* configPath)", "start the runtime"),
        _function("aclError aclFinalize()", "stop the runtime for everyone in the process"),
        _function(
            "aclError aclFinalizeReference(uint64_t* refCount)",
            "give back one start of the runtime",
            optional=True,
        ),
        _function("const char* aclGetRecentErrMsg()", "fetch the text of the last error"),
        # -- devices
        _function("aclError aclrtGetDeviceCount(uint32_t* count)", "count the devices"),
        _function("aclError aclrtSetDevice(int32_t deviceId)", "use a device in this thread"),
        _function("aclError aclrtGetDevice(int32_t* deviceId)", "ask for this thread's device"),
        _function("aclError aclrtResetDevice(int32_t deviceId)", "stop using a device"),
        _function(
            "aclError aclrtGetCurrentContext(aclrtContext* context)",
            "ask for this thread's context",
        ),
        _function("aclError aclrtSynchronizeDevice()", "wait for all work of a device"),
        _function("const char* aclrtGetSocName()", "ask for the chip"),
        _function(
            "aclError aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr, int64_t* value)",
            "ask for a property of a device",
            optional=True,
        ),
        # -- streams
        _function("aclError aclrtCreateStream(aclrtStream* stream)", "make a stream"),
        _function(
            "aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode)",
            "make a stream stop at the first failure",
            optional=True,
        ),
        _function("aclError aclrtSynchronizeStream(aclrtStream stream)", "wait for a stream"),
        _function(
            "aclError aclrtSynchronizeStreamWithTimeout(aclrtStream stream, int32_t timeout)",
            "wait for a stream, but not for ever",
        ),
        _function(
            "aclError aclrtStreamQuery(aclrtStream stream, aclrtStreamStatus* status)",
            "ask whether a stream has finished",
        ),
        _function(
            "aclError aclrtStreamWaitEvent(aclrtStream stream, aclrtEvent event)",
            "make a stream wait for an event",
        ),
        _function("aclError aclrtDestroyStream(aclrtStream stream)", "destroy a stream"),
        # -- events
        _function(
            "aclError aclrtCreateEventWithFlag(aclrtEvent* event, uint32_t flag)", "make an event"
        ),
        _function(
            "aclError aclrtRecordEvent(aclrtEvent event, aclrtStream stream)",
            "record an event in a stream",
        ),
        _function("aclError aclrtSynchronizeEvent(aclrtEvent event)", "wait for an event"),
        _function(
            "aclError aclrtQueryEventStatus(aclrtEvent event, aclrtEventRecordedStatus* status)",
            "ask whether an event has happened",
        ),
        _function(
            "aclError aclrtEventElapsedTime(float* ms, aclrtEvent startEvent, aclrtEvent endEvent)",
            "tell the time between two events",
        ),
        _function("aclError aclrtDestroyEvent(aclrtEvent event)", "destroy an event"),
        # -- memory
        _function(
            "aclError aclrtMalloc(void** devPtr, size_t size, aclrtMemMallocPolicy policy)",
            "allocate device memory",
        ),
        _function("aclError aclrtFree(void* devPtr)", "free device memory"),
        _function(
            "aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total)",
            "ask how much device memory is free",
        ),
        _function(
            "aclError aclrtMemcpy(void* dst, size_t destMax, const void* src, size_t count, "
            "aclrtMemcpyKind kind)",
            "copy between host and device",
        ),
        # -- kernels
        _function(
            "aclError aclrtBinaryLoadFromFile(const char* binPath, "
            "aclrtBinaryLoadOptions* options, aclrtBinHandle* binHandle)",
            "load a kernel binary",
        ),
        _function(
            "aclError aclrtBinaryGetFunction(const aclrtBinHandle binHandle, "
            "const char* kernelName, aclrtFuncHandle* funcHandle)",
            "find a kernel in its binary",
        ),
        _function("aclError aclrtBinaryUnLoad(aclrtBinHandle binHandle)", "unload a kernel binary"),
        _function(
            "aclError aclrtLaunchKernelWithHostArgs(aclrtFuncHandle funcHandle, "
            "uint32_t numBlocks, aclrtStream stream, aclrtLaunchKernelCfg* cfg, void* hostArgs, "
            "size_t argsSize, aclrtPlaceHolderInfo* placeHolderArray, size_t placeHolderNum)",
            "launch a kernel",
        ),
        _function(
            "aclError aclrtGetHardwareSyncAddr(void** addr)",
            "ask for the address that cores synchronise through",
        ),
    )
}
