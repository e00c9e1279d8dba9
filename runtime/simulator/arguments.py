"""The arguments of a launch as the scalar program takes them."""

from __future__ import annotations

import ctypes
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...tracer.diagnostics import error
from ...tracer.language.conversion import constant
from ...tracer.language.dtypes import DataType
from ...tracer.language.struct import plain
from ...tracer.language.types import GlobalPointerType, StructType
from ...tracer.trace import Trace
from ..arguments import on_device
from ..overlaps import Extent, overlapping
from .memory import GlobalMemory, Space

#: Distance of the addresses of unrelated arrays; more than any array has bytes.
APART = 1 << 48


def arguments(trace: Trace, written: Collection[int], args: Sequence[Any]) -> list[Any]:
    """One value a parameter; `written` has the indices of the arrays that the kernel can write.

    Raises `KernelError` AT0113 for what does not fit the parameter.
    """
    params = trace.params
    if len(args) != len(params):
        raise error(
            "AT0113",
            f"{trace.name} takes {len(params)} arguments, not {len(args)}",
            hint="one entry a parameter: " + ", ".join(p.name for p in params),
        )
    values: list[Any] = [None] * len(args)
    arrays: list[tuple[int, str, npt.NDArray[np.uint8]]] = []
    for k, (param, arg) in enumerate(zip(params, args, strict=True)):
        if isinstance(param.type, GlobalPointerType):
            arrays.append((k, param.name, _bytes(param.name, arg, k in written)))
        elif isinstance(param.type, StructType):
            values[k] = _struct(param.name, arg, param.type)
        else:
            values[k] = _scalar(param.name, arg, param.type)
    for k, memory in _placed(arrays, written):
        values[k] = (memory, 0)
    return values


def _bytes(name: str, array: Any, written: bool) -> npt.NDArray[np.uint8]:
    place = on_device(array)
    if place is not None:
        raise error(
            "AT0113",
            f"the argument for `{name}`: the tensor lives on {place}, the simulator reads host "
            "memory",
            hint="pass a copy in host memory, and copy a result back",
        )
    if not isinstance(array, np.ndarray) or not array.flags.c_contiguous:
        raise error(
            "AT0113",
            f"the argument for `{name}` is no C-contiguous NumPy array",
            hint="np.ascontiguousarray makes one",
        )
    if written and not array.flags.writeable:
        raise error(
            "AT0113",
            f"the kernel writes to `{name}`, but the array is read-only",
            hint="pass a writable array, such as a copy",
        )
    return array.reshape(-1).view(np.uint8)


def _placed(
    arrays: Sequence[tuple[int, str, npt.NDArray[np.uint8]]], written: Collection[int]
) -> list[tuple[int, GlobalMemory]]:
    """Addresses in global memory; arrays that overlap on the host overlap there too."""
    named = {k: (name, array) for k, name, array in arrays}
    found: list[tuple[int, GlobalMemory]] = []
    extents = (Extent(array.ctypes.data, array.size, k) for k, _, array in arrays)
    for start, stop, group in overlapping(extents):
        tracked = any(extent.param in written for extent in group)
        data = named[group[0].param][1].data
        if len(group) > 1 and tracked:
            data = memoryview((ctypes.c_ubyte * (stop - start)).from_address(start)).cast("B")
        first = sorted(extent.param for extent in group)
        label = " and ".join(f"`{named[k][0]}`" for k in first)
        space = Space(label, data, (first[0] + 1) * APART, tracked)
        for extent in group:
            name, array = named[extent.param]
            data = array.data if extent.param in written else array.data.toreadonly()
            found.append((extent.param, GlobalMemory(name, data, space, extent.address - start)))
    return found


def _struct(name: str, value: Any, type: StructType) -> Any:
    if not isinstance(value, type.cls):
        raise error(
            "AT0113",
            f"the argument for `{name}` is {value!r}, no {type.cpp}",
            hint="pass an instance of the struct's class",
        )
    return plain(value._data, type)


def _scalar(name: str, value: Any, dtype: DataType) -> Any:
    if dtype.is_int() and not dtype.fits(int(value)):
        raise error(
            "AT0113",
            f"the argument for `{name}` is {value}, which {dtype} cannot hold",
            hint="pass a NumPy integer of a wider dtype",
        )
    return constant(value, dtype)
