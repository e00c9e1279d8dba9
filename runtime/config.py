"""pyasc's module of the same name, so that its programs move over by their import lines.

`import asc.runtime.config as config` becomes `import asctrace.runtime.config as config`; the names
in here do what `asc.set_platform` and the options of `asc.jit` do.
"""

from __future__ import annotations

from enum import Enum

from . import platform, soc
from .compiler import KernelType

__all__ = ["Backend", "KernelType", "Platform", "set_platform"]


class Backend(Enum):
    """Where kernels run: in pyasc's Model they are simulated, here by the simulator."""

    Model = "Model"
    NPU = "NPU"


_BACKENDS = {Backend.Model: "sim", Backend.NPU: "npu"}


class Platform(Enum):
    """The chips that pyasc names; `asc.set_platform` knows more."""

    Ascend910B1 = "Ascend910B1"
    Ascend910B2 = "Ascend910B2"
    Ascend910B2C = "Ascend910B2C"
    Ascend910B3 = "Ascend910B3"
    Ascend910B4 = "Ascend910B4"
    Ascend910B4_1 = "Ascend910B4-1"
    Ascend910_9362 = "Ascend910_9362"
    Ascend910_9372 = "Ascend910_9372"
    Ascend910_9381 = "Ascend910_9381"
    Ascend910_9382 = "Ascend910_9382"
    Ascend910_9391 = "Ascend910_9391"
    Ascend910_9392 = "Ascend910_9392"


def set_platform(
    backend: Backend | str,
    soc_version: Platform | str | None = None,
    device_id: int | None = None,
    check: bool = True,
) -> None:
    """Choose where the kernels of this process run.

    backend: Model or NPU. soc_version: the chip, by default the one that the settings choose.
    check: for the NPU, raise `KernelError` AT0305 now when there is no CANN. Raises `ValueError`
    for an unknown backend and AT0304 for an unknown chip.
    """
    chosen = _BACKENDS[Backend(backend)]
    name = soc_version.value if isinstance(soc_version, Platform) else soc_version
    if check and chosen == "npu":
        from .compiler.toolchain import find_toolchain

        find_toolchain(soc.profile(platform.soc_name(name)))
    platform.set_platform(chosen, name, device_id)
