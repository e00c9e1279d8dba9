"""Rows of tensor lists: an array that holds the shapes and addresses of other arrays."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from ..diagnostics import error
from ..language.dtypes import DataType, int32, int64, uint64
from ..language.types import ArrayType, GlobalPointerType, GlobalTensorType
from ..trace import Recorder, Value, describe
from ._chips import on_chips
from .spec import Form, OpSpec, Param, register

#: What a length that is not given is in C++.
UNKNOWN = 0xFFFFFFFF

_LIST = Param("list", "list_desc", "object")
_DESC = Param("desc", "tensor_desc", "object")
_DATA = (
    Param("data", "address"),
    Param("length", "int", default=UNKNOWN, cpp="uint32_t"),
    Param("shape_size", "int", default=UNKNOWN, cpp="uint32_t"),
)
_LISTS = MappingProxyType({"arches": ("2201", "2002", "1001")})
_DESCS = MappingProxyType({"arches": ("2201", "2002")})


def _number(dtype: DataType) -> Any:
    def make(recorder: Recorder, form: Form, args: tuple[Any, ...]) -> Value:
        return dtype.proxy(dtype, recorder.block)  # type: ignore[no-any-return]

    return make


def _desc_address(recorder: Recorder, form: Form, args: tuple[Any, ...]) -> Value:
    type = GlobalPointerType(args[0].type.dtype)
    return type.proxy(type, recorder.block)  # type: ignore[no-any-return]


def _list_address(recorder: Recorder, form: Form, args: tuple[Any, ...]) -> Value:
    type = GlobalPointerType(args[2])
    return type.proxy(type, recorder.block)  # type: ignore[no-any-return]


def _desc_tensor(recorder: Recorder, form: Form, args: tuple[Any, ...]) -> Value:
    dtype = args[0].type.dtype
    return GlobalTensorType.proxy.view(dtype, recorder.block, None)  # type: ignore[no-any-return]


def _check_shape(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The shape goes into an array of uint64."""
    shape = args[1]
    if not isinstance(shape.type, ArrayType) or shape.type.element is not uint64:
        raise error(
            "AT0102",
            f"{spec.name} of {describe(shape)}",
            recorder.site(),
            hint="the shape goes into an array of uint64: asc.array(asc.uint64, dimensions)",
        )


LIST_TENSOR_DESC = register(
    OpSpec(
        "ListTensorDesc",
        "",
        "construct",
        "A list of tensors in global memory, empty until `init`, or as `init` makes it.",
        (Form("empty", ()), Form("data", _DATA)),
        checks=(on_chips,),
        extra=_LISTS,
    )
)
TENSOR_DESC = register(
    OpSpec(
        "TensorDesc",
        "",
        "construct",
        "The description of one tensor of a list, filled by `get_desc`.",
        (Form("make", (Param("dtype", "dtype", "host"),)),),
        checks=(on_chips,),
        extra=_DESCS,
    )
)


def _method(name: str, cpp: str, doc: str, *params: Param, **more: Any) -> OpSpec:
    extra = _LISTS if name.startswith("ListTensorDesc") else _DESCS
    extra = MappingProxyType({**extra, **more.pop("extra", {})})
    return register(
        OpSpec(name, cpp, "list_tensor", doc, (Form("call", params),), method=True,
               checks=(on_chips, *more.pop("checks", ())), extra=extra, **more)
    )  # fmt: skip


_ANY = {"any_array": True}
LIST_INIT = _method(
    "ListTensorDesc.init", "Init",
    "Read the layout of a list that begins at an address (`Init`). `length`, in bytes, and "
    "`shape_size`, the number of tensors, are compared with it when both are given. The words of "
    "the list, uint64: the distance in bytes to the addresses; for each tensor its dimensions, in "
    "one word with its index in the upper half (the first may have the number of tensors there), "
    "and the shape; the addresses. In the simulator these are the addresses of arrays on the host "
    "(`array.ctypes.data`) that the kernel gets as arguments too.",
    _LIST, *_DATA,
)  # fmt: skip
LIST_GET_DESC = _method(
    "ListTensorDesc.get_desc", "GetDesc",
    "Fill the description of tensor `index` (`GetDesc`), the array of its shape included.",
    _LIST, _DESC, Param("index", "int", cpp="uint32_t"), Param("shape", "data", "rebind"),
)  # fmt: skip
LIST_GET_DATA_PTR = _method(
    "ListTensorDesc.get_data_ptr", "GetDataPtr",
    "Address of tensor `index` (`GetDataPtr<T>`), a GlobalAddress.",
    _LIST, Param("index", "int", cpp="uint32_t"), Param("dtype", "dtype", "template"),
    result=_list_address, extra=_ANY,
)  # fmt: skip
LIST_GET_SIZE = _method(
    "ListTensorDesc.get_size", "GetSize", "Number of tensors in the list (`GetSize`); int32.",
    _LIST, result=_number(int32),
)  # fmt: skip
DESC_SET_SHAPE_ADDR = _method(
    "TensorDesc.set_shape_addr", "SetShapeAddr",
    "Where `get_desc` writes the shape: an array of uint64 (`SetShapeAddr`).",
    _DESC, Param("shape_ptr", "data", "object"), checks=(_check_shape,),
)  # fmt: skip
DESC_GET_DIM = _method(
    "TensorDesc.get_dim", "GetDim", "Number of dimensions (`GetDim`); int32.",
    _DESC, result=_number(int32),
)  # fmt: skip
DESC_GET_INDEX = _method(
    "TensorDesc.get_index", "GetIndex", "Index in the list (`GetIndex`); int32.",
    _DESC, result=_number(int32),
)  # fmt: skip
DESC_GET_SHAPE = _method(
    "TensorDesc.get_shape", "GetShape", "A dimension (`GetShape`); int64.",
    _DESC, Param("offset", "int", cpp="uint32_t"), result=_number(int64),
)  # fmt: skip
DESC_GET_DATA_PTR = _method(
    "TensorDesc.get_data_ptr", "GetDataPtr",
    "Address of the tensor (`GetDataPtr`), a GlobalAddress.",
    _DESC, result=_desc_address, extra=_ANY,
)  # fmt: skip
DESC_GET_DATA_OBJ = _method(
    "TensorDesc.get_data_obj", "GetDataObj",
    "The tensor as a GlobalTensor (`GetDataObj`). It ends where its array does.",
    _DESC, result=_desc_tensor, extra=_ANY,
)  # fmt: skip
