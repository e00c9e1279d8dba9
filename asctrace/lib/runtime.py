"""pyasc's module of the same name, as far as launching needs it.

`import asc.lib.runtime as rt` becomes `import asctrace.lib.runtime as rt`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..runtime import platform, soc

if TYPE_CHECKING:
    from ..runtime.acl.stream import Stream


def is_model() -> bool:
    """Whether kernels are simulated (pyasc's backend Model)."""
    return platform.backend_name(None) == "sim"


def current_stream(device_id: int | None = None) -> Stream | None:
    """The stream that launches go to; None in the simulator, which knows none."""
    if is_model():
        return None
    from ..runtime.acl.stream import current_stream

    return current_stream(device_id)


def synchronize(stream: Stream | None = None) -> None:
    """Wait until everything on a stream, by default the current one, is done.

    The simulator is done when a launch returns.
    """
    stream = stream or current_stream()
    if stream is not None:
        stream.synchronize()


def device_count() -> int:
    """How many NPUs there are."""
    from ..runtime.acl.device import device_count

    return device_count()


def current_device() -> int:
    """The number of the NPU that launches go to."""
    return platform.device_number(None)


def set_device(device_id: int) -> None:
    """Choose the NPU that launches go to."""
    platform.set_platform(platform.current.backend, platform.current.soc, device_id)


def current_platform() -> str:
    """The name of the chip that kernels are made for."""
    return soc.current_soc()
