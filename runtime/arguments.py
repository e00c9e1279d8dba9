"""Kernel arguments: what a launch may pass, and the keys that specialisations are found by.

A key is an `ArrayKey` or `ScalarKey` for what exists at run time (equal keys are one object), and a
value from `const_key` for constants. The tables map the exact type of an argument to its
classifier; a `KeyError` from either sends the launch to `adapt`, which knows all the rest and
explains what it refuses. May import `tracer`.
"""

from __future__ import annotations

import enum
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ..tracer.diagnostics import KernelError, error
from ..tracer.language import dtypes
from ..tracer.language.dtypes import DataType
from ..tracer.language.struct import Struct
from ..tracer.language.types import GlobalPointerType, StructType

#: The largest grid of any device.
MAX_BLOCKS = 65535


def check_blocks(kernel: str, blocks: Any) -> None:
    """Raises `KernelError` for what is no grid: AT0113 for no number, AT0108 out of range."""
    hint = f"{kernel}[blocks](...) with blocks from 1 to {MAX_BLOCKS}"
    if isinstance(blocks, bool) or not hasattr(type(blocks), "__index__"):
        raise error("AT0113", f"the grid of {kernel} is {blocks!r}, no number", hint=hint)
    if not 0 < int(blocks) <= MAX_BLOCKS:
        raise error("AT0108", f"a grid of {blocks} blocks does not exist", hint=hint)


class ArrayKey:
    """A C-contiguous array of one dtype."""

    __slots__ = ("type",)

    def __init__(self, type: GlobalPointerType) -> None:
        self.type = type


class ScalarKey:
    """A runtime scalar of one dtype."""

    __slots__ = ("type",)

    def __init__(self, type: DataType) -> None:
        self.type = type


class StructKey:
    """A struct passed by value."""

    __slots__ = ("type",)

    def __init__(self, type: StructType) -> None:
        self.type = type


class Default:
    """A parameter the call left out: its default is a constant of the trace."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class _ById:
    """The key of an object that is no dict key itself: the very same object."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return type(other) is _ById and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def const_key(value: Any) -> Any:
    """A key for a constant: equal keys give equal traces.

    Numbers are told apart by type and sign of zero, containers by their elements, the rest by
    equality if they have a hash, else by identity.
    """
    kind = type(value)
    if kind is int or kind is str:
        return value
    if kind is float:
        return float, value.hex()
    if kind is tuple or kind is list:
        return kind, tuple(map(const_key, value))
    if kind is dict:
        return dict, tuple((const_key(k), const_key(v)) for k, v in value.items())
    if kind is set or kind is frozenset:
        return kind, frozenset(map(const_key, value))
    if isinstance(value, np.generic):
        return kind, value.tobytes()
    if isinstance(value, np.ndarray):
        return kind, value.dtype, value.shape, value.tobytes()
    if kind is complex:
        return complex, repr(value)
    if kind is Default:
        return Default, const_key(value.value)
    try:
        hash(value)
    except TypeError:
        return _ById(value)
    except KernelError:
        raise error(
            "AT0115",
            "a runtime value of another trace is passed to a kernel",
            hint="call the function directly from kernel code instead of launching it",
        ) from None
    return kind, value


# -- the classifiers of the fast path -------------------------------------------------------

SCALARS: dict[DataType, ScalarKey] = {dtype: ScalarKey(dtype) for dtype in dtypes.ALL}
ADDRESSES: dict[DataType, ArrayKey] = {
    dtype: ArrayKey(GlobalPointerType(dtype)) for dtype in dtypes.ALL
}

#: NumPy dtype -> key. bfloat16 is added when it is first seen, ml_dtypes loads then.
_ARRAYS: dict[Any, ArrayKey] = {
    dtype.np: ADDRESSES[dtype] for dtype in dtypes.ALL if dtype is not dtypes.bfloat16
}

_INT = SCALARS[dtypes.int32]
_FLOAT = SCALARS[dtypes.float32]
_BOOL = SCALARS[dtypes.bool_]
_FLOAT_MAX = float(np.finfo(np.float32).max)


def _array(value: Any) -> ArrayKey:
    if value.flags.c_contiguous:
        return _ARRAYS[value.dtype]
    raise KeyError


def _int(value: int) -> ScalarKey:
    if -0x80000000 <= value <= 0x7FFFFFFF:
        return _INT
    raise KeyError


def _float(value: float) -> ScalarKey:
    if -_FLOAT_MAX <= value <= _FLOAT_MAX or not math.isfinite(value):
        return _FLOAT
    raise KeyError


def _bool(value: bool) -> ScalarKey:
    return _BOOL


def _scalar_of(dtype: DataType) -> Callable[[Any], ScalarKey]:
    key = SCALARS[dtype]
    return lambda value: key


#: Exact type -> classifier, for parameters that are no ConstExpr.
RUNTIME: dict[type, Callable[[Any], Any]] = {
    np.ndarray: _array,
    int: _int,
    float: _float,
    bool: _bool,
    Default: const_key,
    str: const_key,
    type(None): const_key,
    tuple: const_key,
    list: const_key,
    dict: const_key,
    type: const_key,
    type(const_key): const_key,
    DataType: const_key,
}
RUNTIME.update(
    (dtype.np.type, _scalar_of(dtype)) for dtype in dtypes.ALL if dtype is not dtypes.bfloat16
)


class _Constants(dict[type, Callable[[Any], Any]]):
    def __missing__(self, kind: type) -> Callable[[Any], Any]:
        return const_key


#: The same for ConstExpr parameters: everything is a constant.
CONSTANT: dict[type, Callable[[Any], Any]] = _Constants()


#: DLPack device types whose memory the host can read: CPU, and CPU memory pinned for CUDA.
_HOST_DEVICES = (1, 3)


# -- everything else ------------------------------------------------------------------------


def refuse(kernel: str, name: str, what: str, hint: str) -> KernelError:
    """AT0113 for one argument."""
    return error("AT0113", f"argument `{name}` of {kernel}: {what}", hint=hint)


def adapt(kernel: str, name: str, value: Any) -> tuple[Any, Any]:
    """The key of any argument and the value to pass on: foreign arrays become NumPy views.

    Raises `KernelError` AT0113, with the argument's name, for what no kernel can take.
    """
    kind = type(value)
    if isinstance(value, np.ndarray):
        return _adapt_array(kernel, name, value), value
    if isinstance(value, enum.Enum):
        return (kind, value), value
    if isinstance(value, np.generic):
        return _adapt_scalar(kernel, name, value), value
    if isinstance(value, bool | int | float):
        return _adapt_number(kernel, name, value), value
    view = None if on_device(value) else foreign_array(kernel, name, value)
    if view is not None:
        return _adapt_array(kernel, name, view), view
    if on_device(value) is not None:
        return _adapt_device_tensor(kernel, name, value), value
    if isinstance(value, Struct):
        key = StructKey(kind.struct_type)
        RUNTIME.setdefault(kind, lambda value: key)
        return RUNTIME[kind](value), value
    classify = RUNTIME.get(kind, const_key)
    return classify(value), value


def _adapt_array(kernel: str, name: str, value: Any) -> ArrayKey:
    dtype = dtypes.from_numpy(value.dtype) if value.dtype.isnative else None
    if dtype is None:
        known = ", ".join(t.name for t in dtypes.ALL)
        order = "" if value.dtype.isnative else " in foreign byte order"
        raise refuse(
            kernel,
            name,
            f"an array of {value.dtype.name}{order} has no Ascend C type",
            f"convert it, for instance x.astype(np.float32); known dtypes: {known}",
        )
    if not value.flags.c_contiguous:
        raise refuse(
            kernel,
            name,
            f"the array of shape {value.shape} and strides {value.strides} is not C-contiguous",
            "pass np.ascontiguousarray(x), and copy a result back",
        )
    return _ARRAYS.setdefault(value.dtype, ADDRESSES[dtype])


def _adapt_scalar(kernel: str, name: str, value: np.generic) -> ScalarKey:
    dtype = dtypes.from_numpy(value.dtype)
    if dtype is None:
        raise refuse(
            kernel,
            name,
            f"a NumPy {value.dtype.name} has no Ascend C type",
            "pass a Python float (float32) or np.float32(x)"
            if value.dtype.kind == "f"
            else "pass a Python number or a NumPy scalar of a known dtype",
        )
    RUNTIME.setdefault(type(value), _scalar_of(dtype))
    return SCALARS[dtype]


def _adapt_number(kernel: str, name: str, value: float) -> ScalarKey:
    """Numbers out of range, and instances of subclasses of the number types."""
    if isinstance(value, bool):
        return _BOOL
    try:
        return _int(value) if isinstance(value, int) else _float(value)
    except KeyError:
        pass
    if isinstance(value, int):
        raise refuse(
            kernel,
            name,
            f"{int(value)} does not fit int32, the type of Python integers in a kernel",
            "pass a NumPy integer such as np.int64(n), or annotate the parameter "
            "asc.ConstExpr[int]",
        )
    raise refuse(
        kernel,
        name,
        f"{value!r} does not fit float32, the type of Python floats in a kernel",
        "scale the value, or annotate the parameter asc.ConstExpr[float]",
    )


def foreign_array(kernel: str, name: str, value: Any) -> Any:
    """A NumPy view of a CPU tensor of another library, or None for what is no array."""
    kind = type(value)
    if isinstance(value, type):
        return None
    if is_torch(value):
        return _torch_view(kernel, name, value)
    if hasattr(value, "__array_interface__"):
        return np.asarray(value)
    if not hasattr(kind, "__dlpack__"):
        return None
    try:
        device, number = value.__dlpack_device__()
        if device not in _HOST_DEVICES:
            raise BufferError(f"it lives on device {number} of DLPack type {int(device)}")
        return np.from_dlpack(value)
    except (BufferError, RuntimeError, TypeError, ValueError) as problem:
        raise refuse(
            kernel,
            name,
            f"the {kind.__qualname__} gives no view of host memory: {problem}",
            "copy it to the host first",
        ) from None


# -- memory of the device -----------------------------------------------------------------------

#: dtypes of torch, as they are met.
_TORCH: dict[Any, ArrayKey] = {}


def device_array_key(dtype: Any) -> ArrayKey:
    """The key of device arrays of a NumPy dtype; `TypeError` if C++ has no such type."""
    key = _ARRAYS.get(dtype)
    if key is None:
        known = dtypes.from_numpy(dtype) if dtype.isnative else None
        if known is None:
            raise TypeError(f"{dtype} has no Ascend C type")
        key = _ARRAYS[dtype] = ADDRESSES[known]
    return key


def is_torch(value: Any) -> bool:
    """Whether a value is a tensor of torch, without importing it."""
    return type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "data_ptr")


def on_device(value: Any) -> str | None:
    """The device whose memory an array or tensor is in, such as 'npu:0'; None for host memory."""
    if is_torch(value):
        return str(value.device) if value.device.type == "npu" else None
    if getattr(type(value), "is_device_array", False):
        return f"npu:{value.device_id}"
    return None


def _adapt_device_tensor(kernel: str, name: str, value: Any) -> ArrayKey:
    if not is_torch(value):
        return device_array_key(value.dtype)
    _check_contiguous(kernel, name, value)
    dtype = dtypes.BY_NAME.get(str(value.dtype).removeprefix("torch."))
    if dtype is None:
        raise refuse(kernel, name, f"{value.dtype} has no Ascend C type", "convert it with x.to()")
    _TORCH[value.dtype] = ADDRESSES[dtype]
    RUNTIME.setdefault(type(value), _device_tensor)
    return ADDRESSES[dtype]


def _device_tensor(value: Any) -> ArrayKey:
    if value.device.type == "npu" and value.is_contiguous():
        return _TORCH[value.dtype]
    raise KeyError


def _check_contiguous(kernel: str, name: str, value: Any) -> None:
    if not value.is_contiguous():
        raise refuse(
            kernel,
            name,
            "the tensor is not contiguous",
            "pass x.contiguous(), and copy a result back",
        )


def _torch_view(kernel: str, name: str, value: Any) -> Any:
    """The memory of a CPU tensor; NumPy has no bfloat16, so that goes by its bits."""
    if value.device.type != "cpu":
        raise refuse(
            kernel,
            name,
            f"the tensor lives on {value.device}, kernels read host memory and NPUs",
            "pass x.cpu(), and copy a result back",
        )
    _check_contiguous(kernel, name, value)
    value = value.detach()
    if str(value.dtype) == "torch.bfloat16":
        bits = value.view(sys.modules["torch"].int16).numpy()
        return bits.view(dtypes.bfloat16.np)
    try:
        return value.numpy()
    except TypeError as problem:
        raise refuse(
            kernel,
            name,
            f"{value.dtype} has no Ascend C type ({problem})",
            "convert it with x.to()",
        ) from None
