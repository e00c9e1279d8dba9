"""Rows of what a tensor tells of itself and is told: sizes, addresses, tags, shapes, hints."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from ..diagnostics import error
from ..language.dtypes import DataType, int32, uint64
from ..language.enums import CacheMode, CacheRwMode
from ..language.types import GlobalPointerType, LocalTensorType, ShapeInfoType
from ..trace import Recorder, Value, describe
from .framework import int_result
from .spec import Form, OpSpec, Param, register

_LOCAL = Param("tensor", "local", "object")
_LOCAL_SELF = Param("tensor", "local", "rebind")
_GLOBAL = Param("tensor", "global", "object")
#: A tensor that the call changes without making it name other memory.
_LOCAL_VARIABLE = Param("tensor", "local", "lvalue")
_GLOBAL_VARIABLE = Param("tensor", "global", "lvalue")
_OFFSET = Param("offset", "int", default=0)
_POSITIVE: MappingProxyType[str, Any] = MappingProxyType({"sign": "always"})


def _method(
    cls: str, name: str, cpp: str, doc: str, params: tuple[Param, ...], pure: bool = False,
    **more: Any,
) -> OpSpec:  # fmt: skip
    form = Form("call", params)
    return register(
        OpSpec(f"{cls}.{name}", cpp, "tensor", doc, (form,), method=True, pure=pure, **more)
    )


def _local(name: str, cpp: str, doc: str, *params: Param, **more: Any) -> OpSpec:
    return _method("LocalTensor", name, cpp, doc, params, **more)


def _global(name: str, cpp: str, doc: str, *params: Param, **more: Any) -> OpSpec:
    return _method("GlobalTensor", name, cpp, doc, params, **more)


def _uint64_result(recorder: Recorder, form: Form, args: tuple[Any, ...]) -> Value:
    return uint64.proxy(uint64, recorder.block)  # type: ignore[no-any-return]


def _pointer_result(recorder: Recorder, form: Form, args: tuple[Any, ...]) -> Value:
    return GlobalPointerType.proxy(  # type: ignore[no-any-return]
        GlobalPointerType(args[0].dtype), recorder.block
    )


def _shape_result(recorder: Recorder, form: Form, args: tuple[Any, ...]) -> Value:
    return ShapeInfoType.proxy(ShapeInfoType(), recorder.block)  # type: ignore[no-any-return]


def _cast_result(recorder: Recorder, form: Form, args: tuple[Any, ...]) -> Value:
    tensor, dtype = args
    size = tensor.size
    size = size * tensor.dtype.sizeof() // dtype.sizeof() if type(size) is int else None
    return LocalTensorType.proxy.view(  # type: ignore[no-any-return]
        LocalTensorType(dtype, tensor.type.position),
        recorder.block,
        size,
        tensor.offset,
        tensor.base,
        tensor.owner,
    )


def _check_cast(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The dtype is an integer or floating-point type."""
    dtype: DataType = args[1]
    if not dtype.is_numeric():
        raise error(
            "AT0102",
            f"{describe(args[0])} is no tensor of {dtype}",
            recorder.site(),
            hint="reinterpret_cast takes an integer or floating-point type",
        )


def _resize(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """`set_size` in elements, `set_buffer_len` in bytes."""
    tensor, amount = args
    if not isinstance(amount, Value) and amount < 0:
        raise error(
            "AT0108", f"{spec.name} to {amount}", recorder.site(), hint="from 0 up"
        )  # fmt: skip
    tensor.rebind(tensor.type, None, tensor.offset, tensor.owner)


def _move(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The offset is 0 or more."""
    tensor, src, offset = args
    if not isinstance(offset, Value) and offset < 0:
        raise error(
            "AT0108", f"{spec.name} by {offset}", recorder.site(), hint="from 0 up"
        )  # fmt: skip
    start = src.offset
    if start is not None:
        fixed = not isinstance(offset, Value)
        start = start + offset * src.dtype.sizeof() if fixed else None
    tensor.rebind(
        LocalTensorType(tensor.dtype, src.type.position), None, start, src.owner, src.base
    )  # fmt: skip


LOCAL_GET_LENGTH = _local(
    "get_length", "GetLength", "Number of bytes (`GetLength`); int32.", _LOCAL,
    pure=True, result=int_result, extra=_POSITIVE,
)  # fmt: skip
LOCAL_GET_PHY_ADDR = _local(
    "get_phy_addr", "GetPhyAddr",
    "Address of element `offset` in its memory, in bytes (`GetPhyAddr`); uint64.", _LOCAL, _OFFSET,
    pure=True, result=_uint64_result,
)  # fmt: skip
LOCAL_GET_POSITION = _local(
    "get_position", "GetPosition", "The number of the logical position (`GetPosition`); int32.",
    _LOCAL, pure=True, result=int_result, extra=_POSITIVE,
)  # fmt: skip
LOCAL_REINTERPRET_CAST = _local(
    "reinterpret_cast", "ReinterpretCast",
    "The same bytes as elements of another dtype (`ReinterpretCast<T>()`).",
    _LOCAL, Param("dtype", "dtype", "template"),
    pure=True, result=_cast_result, checks=(_check_cast,),
)  # fmt: skip
LOCAL_SET_ADDR_WITH_OFFSET = _local(
    "set_addr_with_offset", "SetAddrWithOffset",
    "Make the tensor begin at element `offset` of `src`, counted in elements of `src` "
    "(`SetAddrWithOffset`).",
    _LOCAL_SELF, Param("src", "local", "lvalue"), Param("offset", "int", cpp="uint32_t"),
    checks=(_move,),
)  # fmt: skip
LOCAL_SET_SIZE = _local(
    "set_size", "SetSize", "Set the number of elements (`SetSize`).",
    _LOCAL_SELF, Param("size", "int", default=0, cpp="uint32_t"), checks=(_resize,),
)  # fmt: skip
LOCAL_SET_BUFFER_LEN = _local(
    "set_buffer_len", "SetBufferLen", "Set the length in bytes (`SetBufferLen`).",
    _LOCAL_SELF, Param("data_len", "int", cpp="uint32_t"), checks=(_resize,),
)  # fmt: skip
LOCAL_SET_USER_TAG = _local(
    "set_user_tag", "SetUserTag",
    "Put a number on the tensor's buffer; it goes through the queue with it (`SetUserTag`).",
    _LOCAL, Param("tag", "int", default=0, cpp="int32_t"),
)  # fmt: skip
LOCAL_GET_USER_TAG = _local(
    "get_user_tag", "GetUserTag", "The number on the tensor's buffer (`GetUserTag`); int32.",
    _LOCAL, result=int_result,
)  # fmt: skip
LOCAL_SET_SHAPE_INFO = _local(
    "set_shape_info", "SetShapeInfo", "Note a shape with the tensor (`SetShapeInfo`).",
    _LOCAL_VARIABLE, Param("shape_info", "shape_info"),
)  # fmt: skip
LOCAL_GET_SHAPE_INFO = _local(
    "get_shape_info", "GetShapeInfo", "The shape noted with the tensor (`GetShapeInfo`).", _LOCAL,
    result=_shape_result,
)  # fmt: skip
LOCAL_PRINT = _local(
    "print", "Print",
    "Print `data_len` elements, 32 bytes a line (`Print`). CPU debugging and the simulator only: "
    "the device does nothing.",
    Param("tensor", "local", "in"), Param("data_len", "int", cpp="uint32_t"),
)  # fmt: skip
LOCAL_TO_FILE = _local(
    "to_file", "ToFile",
    "Write the tensor's bytes to a file (`ToFile`). CPU debugging and the simulator only: the "
    "device does nothing.",
    Param("tensor", "local", "in"), Param("file_name", "str"),
)  # fmt: skip

GLOBAL_GET_SIZE = _global(
    "get_size", "GetSize", "Number of elements given to `set_global_buffer` (`GetSize`); int32.",
    _GLOBAL, pure=True, result=int_result, extra=_POSITIVE,
)  # fmt: skip
GLOBAL_GET_PHY_ADDR = _global(
    "get_phy_addr", "GetPhyAddr", "Address of element `offset` (`GetPhyAddr`).", _GLOBAL, _OFFSET,
    pure=True, result=_pointer_result,
)  # fmt: skip
GLOBAL_SET_SHAPE_INFO = _global(
    "set_shape_info", "SetShapeInfo", "Note a shape with the tensor (`SetShapeInfo`).",
    _GLOBAL_VARIABLE, Param("shape_info", "shape_info"),
)  # fmt: skip
GLOBAL_GET_SHAPE_INFO = _global(
    "get_shape_info", "GetShapeInfo", "The shape noted with the tensor (`GetShapeInfo`).",
    _GLOBAL, result=_shape_result,
)  # fmt: skip
GLOBAL_SET_L2_CACHE_HINT = _global(
    "set_l2_cache_hint", "SetL2CacheHint",
    "How the L2 cache treats accesses through this tensor (`SetL2CacheHint<rwMode>(mode)`); "
    "speed only.",
    _GLOBAL_VARIABLE, Param("mode", "cache_mode", default=CacheMode.CACHE_MODE_NORMAL),
    Param("rw_mode", "cache_rw_mode", "template", CacheRwMode.RW),
)  # fmt: skip


def _dim_result(recorder: Recorder, form: Form, args: tuple[Any, ...]) -> Value:
    return int32.proxy(int32, recorder.block)  # type: ignore[no-any-return]


def _dim(name: str, doc: str) -> OpSpec:
    cpp = "original_shape" if name == "original_shape" else "shape"
    field = "originalShape" if cpp == "original_shape" else "shape"
    return register(
        OpSpec(
            f"ShapeInfo.{name}",
            f"static_cast<int32_t>({{0}}.{field}[{{1}}])",
            "tensor",
            doc,
            (Form("dim", (Param("shape_info", "shape_value", "object"), Param("dim", "int"))),),
            pure=True,
            result=_dim_result,
            extra=MappingProxyType({"prec": 2, "sign": "always"}),
        )
    )


SHAPE_INFO_SHAPE = _dim("shape", "A dimension of a shape (`shape[dim]`); int32.")
SHAPE_INFO_ORIGINAL_SHAPE = _dim(
    "original_shape", "A dimension of the shape before padding (`originalShape[dim]`); int32."
)
