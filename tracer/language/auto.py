"""`LocalTensorAuto`: a tensor that asctrace places, frees and synchronises (package `auto`)."""

from __future__ import annotations

from typing import Any

from ..diagnostics import error
from ..ops import buffers as rows
from ..ops.spec import KINDS
from ..trace import Value, current, describe
from .buffers import TBuf
from .dtypes import DataType
from .enums import TPosition
from .tensor import LocalTensor
from .types import BufferInfo, BufType, LocalTensorType

_is_int = KINDS["int"][1]
_POSITION = TPosition.VECCALC


class LocalTensorAuto(LocalTensor):
    """A tensor in the unified buffer that needs no queue or address: `(dtype, shape)`.

    `shape` is a number of elements or a tuple or list of dimensions, constants or runtime integers;
    a runtime size is known before the outermost loop or branch that the tensor is made in. What it
    holds is undefined each time it is made. asctrace gives it a TBuf of the kernel's TPipe, lets
    tensors that are never needed at once share one when memory is short, and puts events between
    the pipes that use it. Elsewhere it is a `LocalTensor` at VECCALC.

    Raises `KernelError` AT0106 or AT0108 for what is no shape, AT0202 where a queue or
    `set_addr_with_offset` would give it other memory, AT0308 when the kernel has no place for it.
    """

    __slots__ = ()

    def __init__(self, dtype: DataType, shape: Any) -> None:
        recorder = current("LocalTensorAuto")
        site = recorder.site()
        if not isinstance(dtype, DataType):
            raise error(
                "AT0106",
                f"LocalTensorAuto needs a dtype, not {describe(dtype)}",
                site,
                hint="LocalTensorAuto(asc.float32, 256), or a shape such as (4, 64)",
            )
        dims = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
        if not dims or not all(map(_is_int, dims)):
            raise error(
                "AT0106",
                f"the shape of a LocalTensorAuto is an integer or a tuple of them, not "
                f"{describe(shape)}",
                site,
                hint="LocalTensorAuto(dtype, 256) or LocalTensorAuto(dtype, (4, 64))",
            )
        dims = tuple(dim if isinstance(dim, Value) else int(dim) for dim in dims)
        if any(not isinstance(dim, Value) and dim <= 0 for dim in dims):
            raise error(
                "AT0108",
                f"a LocalTensorAuto of shape {', '.join(map(describe, dims))}",
                site,
                hint="each dimension is at least 1",
            )
        size = rows.product(dims)
        Value.__init__(self, LocalTensorType(dtype, _POSITION), recorder.block)
        self.size = size
        self.base = self
        self.offset = 0
        self.bound = True
        # The buffer is recorded when tracing ends, unless the tensor shares another's.
        buf = TBuf.__new__(TBuf)
        Value.__init__(buf, BufType(_POSITION), recorder.block)
        length = size if isinstance(size, Value) else size * dtype.sizeof()
        buf.buffer = BufferInfo(buf, _POSITION, 1, length, site)
        self.owner = buf
        recorder.trace.automatic = True
        recorder.record(rows.AUTO_TENSOR, rows.AUTO_TENSOR.forms[0], (buf, dtype, size), self)

    def rebind(
        self, kind: LocalTensorType, size: Any, offset: int | None, owner: Any, base: Any = None
    ) -> None:
        """The size may change; the memory is not the kernel's to choose."""
        if owner is not self.owner or base is not None:
            raise error(
                "AT0202",
                f"{describe(self)} is automatic and gets other memory",
                current("tensor").site(),
                hint="asctrace places it; make an asc.LocalTensor(dtype) to be filled in",
            )
        super().rebind(kind, size, offset, owner)
