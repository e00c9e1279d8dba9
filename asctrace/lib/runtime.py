"""pyasc's module of the same name, as far as launching needs it.

`import asc.lib.runtime as rt` becomes `import asctrace.lib.runtime as rt`.
"""

from __future__ import annotations

from typing import Any

from ..runtime import platform, soc


def is_model() -> bool:
    """Whether kernels are simulated (pyasc's backend Model)."""
    return platform.backend_name(None) == "sim"


def current_stream(device_id: int | None = None) -> Any:
    """The stream that launches go to; None in the simulator, which knows none."""
    if is_model():
        return None
    from .. import npu

    return npu.current_stream(device_id)


def synchronize(stream: Any = None, timeout: int = 0) -> None:
    """Wait until everything on a stream is done, by default the current one.

    The simulator is done when a launch returns. `ASCTRACE_SYNC_TIMEOUT` bounds the time, `timeout`
    is taken for its place in the call.
    """
    if not is_model():
        (stream or current_stream()).synchronize()


def current_device() -> int:
    """The number of the NPU that launches go to."""
    return platform.device_number(None)


def set_device(device_id: int) -> None:
    """Choose the NPU that launches go to."""
    platform.set_platform(platform.current.backend, platform.current.soc, device_id)


def current_platform() -> str:
    """The name of the chip that kernels are made for."""
    return soc.current_soc()
