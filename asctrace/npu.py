"""NPUs by hand: arrays on a device, streams, events.

    from asctrace import npu

    x = npu.to_device(host)                  # stays there between launches
    with npu.Stream() as stream:
        kernel[8, stream](x, y, n)           # returns at once
    result = y.to_host()                     # waits

Kernels that get host arrays need none of this. Untested on hardware.
"""

from .runtime.acl.array import DeviceArray, empty, to_device
from .runtime.acl.device import device_count, memory_info, shutdown
from .runtime.acl.errors import AclError
from .runtime.acl.stream import Event, Stream, current_stream, stream, synchronize

__all__ = [
    "AclError",
    "DeviceArray",
    "Event",
    "Stream",
    "current_stream",
    "device_count",
    "empty",
    "memory_info",
    "shutdown",
    "stream",
    "synchronize",
    "to_device",
]
