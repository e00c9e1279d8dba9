"""Python kernels, traced from their bytecode and lowered to Ascend C.

The front door: this module holds the public names and nothing else. The operations (`add`,
`data_copy`, ...) come from the table in `tracer/ops`, so that a row there is enough.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .runtime.jit import Kernel, jit
from .runtime.platform import set_platform
from .tracer.diagnostics import Finding, KernelError, KernelWarning, Span
from .tracer.language import shapes as _shapes  # noqa: F401 (the proxy of ShapeInfo)
from .tracer.language import structs as _structs
from .tracer.language.array import Array, array
from .tracer.language.auto import LocalTensorAuto
from .tracer.language.buffers import LocalMemAllocator, TBuf, TBufHandle, TBufPool
from .tracer.language.constexpr import ConstExpr
from .tracer.language.dtypes import (
    DataType,
    bfloat16,
    bool_,
    float16,
    float32,
    float_,
    half,
    int8,
    int16,
    int32,
    int64,
    int_,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .tracer.language.enums import (
    CMPMODE,
    AtomicDtype,
    AtomicOp,
    BlockMode,
    CacheLine,
    CacheMode,
    CacheRwMode,
    DataFormat,
    DcciDst,
    DeqScale,
    GatherMaskMode,
    HardEvent,
    Hardware,
    MaskMode,
    MemDsbT,
    PipeID,
    ReduceOrder,
    RoundMode,
    SelMode,
    TPosition,
    TransposeType,
    pad_t,
)
from .tracer.language.functions import ascend_is_aic, ascend_is_aiv, ceildiv, static_assert
from .tracer.language.list_tensor import ListTensorDesc, TensorDesc
from .tracer.language.pipe import TPipe, TQue, TQueBind, get_tpipe_ptr
from .tracer.language.properties import (
    DEFAULT_C0_SIZE,
    ONE_BLK_SIZE,
    TOTAL_L0C_SIZE,
    TOTAL_L1_SIZE,
    Property,
    property,
)
from .tracer.language.ranges import range, static_range
from .tracer.language.struct import ArrayField, Field, Struct, StructField
from .tracer.language.structs import MrgSort4Info, MrgSortSrcList, ShapeInfo, VdeqInfo
from .tracer.language.tensor import GlobalAddress, GlobalTensor, LocalTensor
from .tracer.ops.functions import functions
from .tracer.ops.vec_reduce_all import shared_tmp_size

__version__ = "0.1.0"

__all__ = [
    "CMPMODE",
    "DEFAULT_C0_SIZE",
    "ONE_BLK_SIZE",
    "TOTAL_L0C_SIZE",
    "TOTAL_L1_SIZE",
    "Array",
    "ArrayField",
    "AtomicDtype",
    "AtomicOp",
    "BlockMode",
    "CacheLine",
    "CacheMode",
    "CacheRwMode",
    "Compiled",
    "ConstExpr",
    "DataFormat",
    "DataType",
    "DcciDst",
    "DeqScale",
    "Field",
    "Finding",
    "GatherMaskMode",
    "GlobalAddress",
    "GlobalTensor",
    "HardEvent",
    "Hardware",
    "Kernel",
    "KernelError",
    "KernelType",
    "KernelWarning",
    "LaunchInfo",
    "ListTensorDesc",
    "LocalMemAllocator",
    "LocalTensor",
    "LocalTensorAuto",
    "Lowered",
    "MaskMode",
    "MemDsbT",
    "MrgSort4Info",
    "MrgSortSrcList",
    "PipeID",
    "Profile",
    "Property",
    "ReduceOrder",
    "RoundMode",
    "SelMode",
    "ShapeInfo",
    "SimParams",
    "Span",
    "Struct",
    "StructField",
    "TBuf",
    "TBufHandle",
    "TBufPool",
    "TPipe",
    "TPosition",
    "TQue",
    "TQueBind",
    "TensorDesc",
    "Traced",
    "TransposeType",
    "VdeqInfo",
    "array",
    "ascend_is_aic",
    "ascend_is_aiv",
    "bfloat16",
    "bool_",
    "ceildiv",
    "core_num",
    "current_soc",
    "float16",
    "float32",
    "float_",
    "get_tpipe_ptr",
    "half",
    "int8",
    "int16",
    "int32",
    "int64",
    "int_",
    "jit",
    "l0a_size",
    "l0b_size",
    "l0c_size",
    "l1_size",
    "pad_t",
    "property",
    "range",
    "set_platform",
    "shared_tmp_size",
    "static_assert",
    "static_range",
    "ub_size",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
]

_functions = functions()
globals().update(_functions)
__all__ += sorted(_functions)
__all__ += sorted(_structs.DECLARED)

if TYPE_CHECKING:
    # The stub has what the tables make, with overloads: it is there for editors.
    from ._operations import *  # noqa: F403
    from .runtime.compiler import KernelType
    from .runtime.results import Compiled, LaunchInfo, Lowered, Profile, Traced
    from .runtime.simulator import SimParams
    from .runtime.soc import (
        core_num,
        current_soc,
        l0a_size,
        l0b_size,
        l0c_size,
        l1_size,
        ub_size,
    )

#: What is loaded when it is asked for first, and from where.
_LATER = {
    "Compiled": ".runtime.results",
    "KernelType": ".runtime.compiler",
    "LaunchInfo": ".runtime.results",
    "Lowered": ".runtime.results",
    "Profile": ".runtime.results",
    "SimParams": ".runtime.simulator",
    "Traced": ".runtime.results",
    "core_num": ".runtime.soc",
    "current_soc": ".runtime.soc",
    "l0a_size": ".runtime.soc",
    "l0b_size": ".runtime.soc",
    "l0c_size": ".runtime.soc",
    "l1_size": ".runtime.soc",
    "ub_size": ".runtime.soc",
}


def __getattr__(name: str) -> Any:
    """What the start does not need."""
    if name in _LATER:
        value = globals()[name] = getattr(import_module(_LATER[name], __name__), name)
        return value
    if name in _structs.DECLARED:
        value = globals()[name] = _structs.struct(name)
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# Where users find them, so what a traceback calls them.
KernelError.__module__ = __name__
KernelWarning.__module__ = __name__
