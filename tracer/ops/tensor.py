"""Rows of the tensor classes: addresses, `GlobalTensor` and `LocalTensor` methods."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from ..diagnostics import error
from ..language.dtypes import DataType, int32
from ..language.types import GlobalPointerType, GlobalTensorType, LocalTensorType
from ..trace import Recorder, Value, describe
from .spec import Form, OpSpec, Param, register


def _address_result(recorder: Recorder, form: Form, args: tuple[Any, ...]) -> Value:
    base = args[0]
    return GlobalPointerType.proxy(base.type, recorder.block)  # type: ignore[no-any-return]


def _global_slice_result(recorder: Recorder, form: Form, args: tuple[Any, ...]) -> Value:
    tensor, start, size = args
    if size is None and tensor.size is not None:
        size = tensor.size - start
    return GlobalTensorType.proxy.view(tensor.dtype, recorder.block, size)  # type: ignore[no-any-return]


def _local_slice_result(recorder: Recorder, form: Form, args: tuple[Any, ...]) -> Value:
    tensor, start, size = args
    if size is None and type(tensor.size) is int and type(start) is int:
        size = tensor.size - start
    offset = tensor.offset
    if offset is not None:
        offset = offset + start * tensor.dtype.sizeof() if type(start) is int else None
    return LocalTensorType.proxy.view(  # type: ignore[no-any-return]
        tensor.type, recorder.block, size, offset, tensor.base, tensor.owner
    )


def _element_result(recorder: Recorder, form: Form, args: tuple[Any, ...]) -> Value:
    dtype = args[0].dtype
    return dtype.proxy(dtype, recorder.block)  # type: ignore[no-any-return]


def _index_result(recorder: Recorder, form: Form, args: tuple[Any, ...]) -> Value:
    return int32.proxy(int32, recorder.block)  # type: ignore[no-any-return]


def _check_index(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The element is one of the tensor."""
    tensor, index = args[0], args[1]
    if isinstance(index, Value):
        return
    size = tensor.size if type(tensor.size) is int else None
    if index < 0 or (size is not None and index >= size):
        raise error(
            "AT0201",
            f"element {index} of {describe(tensor)}, which has "
            f"{'an unknown number of' if size is None else size} elements",
            recorder.site(),
            hint="indices count from 0; Python's negative indices have no meaning here",
        )


def _bind_buffer(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """An address of the dtype that the tensor was bound to before, if it was."""
    tensor, address, size = args
    if address is None:
        raise error(
            "AT0106",
            f"set_global_buffer of {describe(tensor)} without an address",
            recorder.site(),
            hint="set_global_buffer(address[, size]) with a GlobalAddress",
        )
    dtype: DataType = address.type.dtype
    known = tensor.type.dtype
    if known is not None and known is not dtype:
        raise error(
            "AT0102",
            f"{describe(tensor)} is bound to an address of {dtype}",
            recorder.site(),
            hint="one GlobalTensor has one dtype: make a second one",
        )
    tensor.type = GlobalTensorType(dtype)
    tensor.unsized = size is None and (tensor.unsized or not tensor.bound)
    tensor.size = None if tensor.bound else size
    tensor.bound = True


_TENSOR = Param("tensor", "global", "inout")
_PURE_GLOBAL = Param("tensor", "global", "object")
_LOCAL = Param("tensor", "local", "object")

ADDRESS_ADD = register(
    OpSpec(
        "GlobalAddress.__add__",
        "{0} + {1}",
        "tensor",
        "The address `offset` elements later.",
        (Form("add", (Param("address", "address"), Param("offset", "int"))),),
        pure=True,
        result=_address_result,
        extra=MappingProxyType({"prec": 6}),
    )
)
GLOBAL_TENSOR = register(
    OpSpec(
        "GlobalTensor",
        "AscendC::GlobalTensor",
        "construct",
        "An unbound view of global memory (`AscendC::GlobalTensor<T>`).",
        (Form("make", ()),),
    )
)
SET_GLOBAL_BUFFER = register(
    OpSpec(
        "GlobalTensor.set_global_buffer",
        "SetGlobalBuffer",
        "tensor",
        "Bind the tensor to an address; `buffer_size` in elements, for bounds checks "
        "(`SetGlobalBuffer`).",
        (
            Form(
                "set",
                (
                    _TENSOR,
                    Param("buffer", "address", default=None),
                    Param("buffer_size", "opt_int", "value", None),
                ),
            ),
        ),
        method=True,
        checks=(_bind_buffer,),
    )
)
GLOBAL_SLICE = register(
    OpSpec(
        "GlobalTensor.__getitem__",
        "{0}[{1}]",
        "tensor",
        "The view that begins `start` elements later (`operator[]`).",
        (
            Form(
                "slice",
                (_PURE_GLOBAL, Param("start", "int"), Param("size", "opt_int", "host", None)),
            ),
        ),
        pure=True,
        result=_global_slice_result,
        extra=MappingProxyType({"prec": 2}),
    )
)
LOCAL_SLICE = register(
    OpSpec(
        "LocalTensor.__getitem__",
        "{0}[{1}]",
        "tensor",
        "The view that begins `start` elements later (`operator[]`).",
        (Form("slice", (_LOCAL, Param("start", "int"), Param("size", "opt_int", "host", None))),),
        pure=True,
        result=_local_slice_result,
        extra=MappingProxyType({"prec": 2}),
    )
)
GLOBAL_GET_VALUE = register(
    OpSpec(
        "GlobalTensor.get_value",
        "GetValue",
        "tensor",
        "Read one element with the scalar unit (`GetValue`).",
        (Form("get", (Param("tensor", "global", "in"), Param("offset", "int"))),),
        method=True,
        result=_element_result,
        checks=(_check_index,),
    )
)
GLOBAL_SET_VALUE = register(
    OpSpec(
        "GlobalTensor.set_value",
        "SetValue",
        "tensor",
        "Write one element with the scalar unit (`SetValue`). The store passes through the "
        "core's data cache.",
        (
            Form(
                "set",
                (
                    Param("tensor", "global", "out"),
                    Param("offset", "int"),
                    Param("value", "number", cpp="{dtype}"),
                ),
            ),
        ),
        method=True,
        checks=(_check_index,),
    )
)
LOCAL_TENSOR = register(
    OpSpec(
        "LocalTensor",
        "AscendC::LocalTensor",
        "construct",
        "A tensor at an address of on-chip memory (`AscendC::LocalTensor<T>(pos, addr, size)`); "
        "`addr` in bytes, `tile_size` in elements.",
        (
            Form("empty", (Param("dtype", "dtype", "host"),)),
            Form(
                "make",
                (
                    Param("dtype", "dtype", "host"),
                    Param("pos", "position", "value"),
                    Param("addr", "int"),
                    Param("tile_size", "int"),
                ),
            ),
        ),
    )
)
LOCAL_GET_VALUE = register(
    OpSpec(
        "LocalTensor.get_value",
        "GetValue",
        "tensor",
        "Read one element with the scalar unit (`GetValue`).",
        (Form("get", (Param("tensor", "local", "in"), Param("index", "int"))),),
        method=True,
        result=_element_result,
        checks=(_check_index,),
    )
)
LOCAL_SET_VALUE = register(
    OpSpec(
        "LocalTensor.set_value",
        "SetValue",
        "tensor",
        "Write one element with the scalar unit (`SetValue`).",
        (
            Form(
                "set",
                (
                    Param("tensor", "local", "out"),
                    Param("index", "int"),
                    Param("value", "number", cpp="{dtype}"),
                ),
            ),
        ),
        method=True,
        checks=(_check_index,),
    )
)
LOCAL_GET_SIZE = register(
    OpSpec(
        "LocalTensor.get_size",
        "GetSize",
        "tensor",
        "Number of elements (`GetSize`).",
        (Form("get", (_LOCAL,)),),
        method=True,
        pure=True,
        result=_index_result,
        extra=MappingProxyType({"sign": "always"}),
    )
)
