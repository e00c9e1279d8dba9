"""`ListTensorDesc` and `TensorDesc`: tensors whose shapes and addresses lie in global memory."""

from __future__ import annotations

from typing import Any

from ..diagnostics import error
from ..ops import list_tensor as rows
from ..ops.spec import KINDS, OpFunction
from ..trace import Value, current, describe
from .dtypes import DataType, float32
from .pipe import require_constant
from .types import ListTensorDescType, TensorDescType


class TensorDesc(Value):
    """One tensor of a list (`AscendC::TensorDesc<T>`).

    `set_shape_addr(array)` says where its shape goes, then `list.get_desc(desc, index)` fills it.
    """

    __slots__ = ("shape",)

    def __init__(self, dtype: DataType = float32) -> None:
        recorder = current("TensorDesc")
        require_constant("TensorDesc", "dtype", dtype, DataType)
        super().__init__(TensorDescType(dtype), recorder.block)
        self.shape: Any = None
        record_made(rows.TENSOR_DESC, 0, (dtype,), self)

    def set_shape_addr(self, shape_ptr: Any) -> None:
        """Where `get_desc` writes the shape: an array of uint64 (`SetShapeAddr`)."""
        _set_shape_addr(self, shape_ptr)
        self.shape = shape_ptr

    get_dim = OpFunction(rows.DESC_GET_DIM)
    get_index = OpFunction(rows.DESC_GET_INDEX)
    get_shape = OpFunction(rows.DESC_GET_SHAPE)
    get_data_ptr = OpFunction(rows.DESC_GET_DATA_PTR)
    get_data_obj = OpFunction(rows.DESC_GET_DATA_OBJ)

    def __repr__(self) -> str:
        return f"<TensorDesc {self.name} of {self.type.dtype}>"


class ListTensorDesc(Value):
    """A list of tensors in global memory (`AscendC::ListTensorDesc`).

    `ListTensorDesc(data)` reads the list that begins at the address `data`, as `init` does.
    """

    __slots__ = ()

    def __init__(
        self, data: Any = None, length: Any = rows.UNKNOWN, shape_size: Any = rows.UNKNOWN
    ) -> None:
        recorder = current("ListTensorDesc")
        super().__init__(ListTensorDescType(), recorder.block)
        if data is None:
            record_made(rows.LIST_TENSOR_DESC, 0, (), self)
            return
        args = (data, length, shape_size)
        for param, arg in zip(rows.LIST_TENSOR_DESC.forms[1].params, args, strict=True):
            words, accepts = KINDS[param.kind]
            if not accepts(arg):
                raise error(
                    "AT0106",
                    f"ListTensorDesc of {describe(arg)}",
                    recorder.site(),
                    hint=f"`{param.name}` takes {words}",
                )
        record_made(rows.LIST_TENSOR_DESC, 1, args, self)

    def get_desc(self, desc: TensorDesc, index: Any) -> None:
        """Fill the description of tensor `index` (`GetDesc`), the array of its shape included.

        Raises AT0106 when the description has no array for the shape.
        """
        site = current("get_desc").site()
        if not isinstance(desc, TensorDesc):
            raise error("AT0106", f"get_desc into {describe(desc)}", site,
                        hint="desc = asc.TensorDesc(dtype)")  # fmt: skip
        if desc.shape is None:
            raise error(
                "AT0106",
                f"get_desc into {describe(desc)}, which has no array for the shape",
                site,
                hint="desc.set_shape_addr(asc.array(asc.uint64, dimensions)) comes first",
            )
        _get_desc(self, desc, index, desc.shape)

    init = OpFunction(rows.LIST_INIT)
    get_data_ptr = OpFunction(rows.LIST_GET_DATA_PTR)
    get_size = OpFunction(rows.LIST_GET_SIZE)

    def __repr__(self) -> str:
        return f"<ListTensorDesc {self.name}>"


_set_shape_addr = OpFunction(rows.DESC_SET_SHAPE_ADDR)
_get_desc = OpFunction(rows.LIST_GET_DESC)


def record_made(spec: Any, form: int, args: tuple[Any, ...], made: Value) -> None:
    """Check and record the constructor of `made`."""
    recorder = current(spec.name)
    for check in spec.checks:
        check(spec, spec.forms[form], args, recorder)
    recorder.record(spec, spec.forms[form], args, made)
