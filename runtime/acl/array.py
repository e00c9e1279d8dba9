"""`DeviceArray`: an array in the memory of an NPU.

May import `device`, `stream`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import attrgetter
from typing import Any

import numpy as np

from ..arguments import RUNTIME, device_array_key
from .device import Device, session
from .prototypes import DEVICE_TO_HOST, HOST_TO_DEVICE


class DeviceArray:
    """A C-contiguous array on a device, as kernels take it without any copy.

    `to_device` and `empty` make them. The memory is freed with the object, or by `free`; a launch
    that uses it keeps it alive until it has run.
    """

    __slots__ = ("__weakref__", "device", "device_id", "dtype", "key", "nbytes", "pointer", "shape")

    is_device_array = True

    def __init__(self, shape: Sequence[int], dtype: Any, device_id: int | None = None) -> None:
        self.device: Device = session().device(device_id)
        self.device_id = self.device.id
        self.shape = tuple(int(n) for n in shape)
        self.dtype = np.dtype(dtype)
        #: What specialisations are found by.
        self.key = device_array_key(self.dtype)
        self.nbytes = prod(self.shape) * self.dtype.itemsize
        self.device.check()
        self.device.use()
        self.pointer: int | None = self.device.malloc(self.nbytes)

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)

    def copy_from(self, host: Any) -> None:
        """Fill it from a host array of the same shape and dtype; waits for what may use it."""
        source = np.asarray(host, order="C")
        if source.shape != self.shape or source.dtype != self.dtype:
            raise ValueError(
                f"{source.dtype}{list(source.shape)} does not fit {self.dtype}{list(self.shape)}"
            )
        self.device.check()
        self.device.synchronize()
        if self.nbytes:
            copy(self.device, self._address(), source.ctypes.data, self.nbytes, HOST_TO_DEVICE)

    def to_host(self, out: Any = None) -> Any:
        """The contents as a NumPy array (`out`, or a new one), after all work of the device."""
        if out is None:
            out = np.empty(self.shape, self.dtype)
        elif out.shape != self.shape or out.dtype != self.dtype or not out.flags.c_contiguous:
            raise ValueError(f"out is no C-contiguous {self.dtype}{list(self.shape)}")
        self.device.check()
        self.device.synchronize()
        if self.nbytes:
            copy(self.device, out.ctypes.data, self._address(), self.nbytes, DEVICE_TO_HOST)
        return out

    def free(self) -> None:
        """Give the memory back now, after all work of the device; twice does nothing."""
        pointer, self.pointer = self.pointer, None
        if pointer is not None and self.device.fault is None:
            self.device.synchronize()
            self.device.release(pointer)

    def _address(self) -> int:
        if self.pointer is None:
            raise ValueError("the array was freed")
        return self.pointer

    def __del__(self) -> None:
        pointer = getattr(self, "pointer", None)
        if pointer is not None:
            self.device.garbage.append(pointer)

    def __repr__(self) -> str:
        state = "" if self.pointer is not None else ", freed"
        return f"<{self.dtype}{list(self.shape)} on device {self.device_id}{state}>"


RUNTIME[DeviceArray] = attrgetter("key")


def copy(device: Device, target: int, source: int, size: int, kind: int, doing: str = "") -> None:
    """Copy bytes, now; it waits for no stream."""
    device.call("aclrtMemcpy", target, size, source, size, kind, doing=doing)


def empty(shape: int | Sequence[int], dtype: Any, device_id: int | None = None) -> DeviceArray:
    """A device array that holds anything."""
    return DeviceArray((shape,) if isinstance(shape, int) else shape, dtype, device_id)


def to_device(host: Any, device_id: int | None = None) -> DeviceArray:
    """A copy of a host array on a device."""
    source = np.asarray(host, order="C")
    made = DeviceArray(source.shape, source.dtype, device_id)
    if made.nbytes:
        # Nothing uses memory that has just been allocated: no need to wait.
        copy(made.device, made._address(), source.ctypes.data, made.nbytes, HOST_TO_DEVICE)
    return made
