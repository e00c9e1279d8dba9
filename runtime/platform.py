"""The process-wide choice of backend, chip and device: `asc.set_platform`.

Precedence everywhere: an option of `asc.jit`, then `set_platform`, then the environment, then the
default. May import `tracer`, `knobs` and `soc`.
"""

from __future__ import annotations

import sys

from ..tracer.diagnostics import KernelError
from . import knobs


class _Platform:
    """What `set_platform` chose; None where it said nothing."""

    __slots__ = ("automatic", "backend", "device_id", "soc")

    def __init__(self) -> None:
        #: What the backend 'auto' was found to be.
        self.automatic: str | None = None
        self.backend: str | None = None
        self.soc: str | None = None
        self.device_id: int | None = None


current = _Platform()


def set_platform(
    backend: str | None = None, soc: str | None = None, device_id: int | None = None
) -> None:
    """Choose where the kernels of this process run; None leaves a choice to the environment.

    backend: 'auto', 'sim' or 'npu'. soc: a chip name such as 'Ascend910B1'. device_id: the number
    of the NPU. Raises `ValueError` for an unknown backend and `KernelError` AT0304 for
    an unknown chip.
    """
    if backend is not None and backend not in knobs.BACKENDS:
        raise ValueError(f"backend {backend!r} is none of {', '.join(knobs.BACKENDS)}")
    if soc is not None:
        from .soc import profile

        profile(soc)
    if device_id is not None and (type(device_id) is not int or device_id < 0):
        raise ValueError(f"device_id is {device_id!r}, not a number from 0 up")
    current.backend, current.soc, current.device_id = backend, soc, device_id


def backend_name(option: str | None) -> str:
    """The backend of a launch: 'sim' or 'npu'."""
    name = option or current.backend or knobs.BACKEND.get()
    return automatic() if name == "auto" else name


def automatic() -> str:
    """The backend 'auto': 'npu' where ACL finds a device, else 'sim'; looked for once."""
    if current.automatic is None:
        current.automatic = "npu" if _has_device() else "sim"
    return current.automatic


def _has_device() -> bool:
    """Without any sign of CANN the libraries are not even looked for."""
    from . import cann

    signs = ("torch_npu" in sys.modules, knobs.ACL_LIBRARY.get(), cann.find()[0].home)
    if not any(signs):
        return False
    from .acl.device import device_count

    try:
        return device_count() > 0
    except KernelError:
        return False


def soc_name(option: str | None, backend: str | None = None) -> str:
    """The chip of a launch, as somebody spelled it: chosen, else the device's, else the default.

    option, backend: what the kernel's own options say.
    """
    chosen = option or current.soc
    if chosen is None and knobs.SOC.raw() is None and backend_name(backend) == "npu":
        chosen = _device_soc()
    return chosen or knobs.SOC.get()


def _device_soc() -> str:
    """The chip that the runtime names, "" where there is none: compiling needs no device."""
    from .acl.device import session

    try:
        return session().acl.text("aclrtGetSocName")
    except KernelError:
        return ""


def device_number(option: int | None) -> int:
    """The number of the NPU of a launch."""
    for choice in (option, current.device_id):
        if choice is not None:
            return choice
    return knobs.DEVICE.get()
