"""Enumerations of the Ascend C API. A member's value is the API's own number."""

from __future__ import annotations

from enum import IntEnum


class HardEvent(IntEnum):
    """A pair of pipes: the first sets the event, the second waits for it (`HardEvent`)."""

    MTE2_MTE1 = 0
    MTE1_MTE2 = 1
    MTE1_M = 2
    M_MTE1 = 3
    MTE2_V = 4
    V_MTE2 = 5
    MTE3_V = 6
    V_MTE3 = 7
    M_V = 8
    V_M = 9
    V_V = 10
    MTE3_MTE1 = 11
    MTE1_MTE3 = 12
    MTE1_V = 13
    MTE2_M = 14
    M_MTE2 = 15
    V_MTE1 = 16
    M_FIX = 17
    FIX_M = 18
    MTE3_MTE2 = 19
    MTE2_MTE3 = 20
    S_V = 21
    V_S = 22
    S_MTE2 = 23
    MTE2_S = 24
    S_MTE3 = 25
    MTE3_S = 26
    MTE2_FIX = 27
    FIX_MTE2 = 28
    FIX_S = 29
    M_S = 30
    FIX_MTE3 = 31
    MTE1_FIX = 32
    FIX_MTE1 = 33
    FIX_FIX = 34


class TPosition(IntEnum):
    """Logical position of a tensor or queue (`TPosition`)."""

    GM = 0
    A1 = 1
    A2 = 2
    B1 = 3
    B2 = 4
    C1 = 5
    C2 = 6
    CO1 = 7
    CO2 = 8
    VECIN = 9
    VECOUT = 10
    VECCALC = 11
    MAX = 12


class PipeID(IntEnum):
    """An instruction pipe of a core (`pipe_t`)."""

    PIPE_S = 0
    PIPE_V = 1
    PIPE_M = 2
    PIPE_MTE1 = 3
    PIPE_MTE2 = 4
    PIPE_MTE3 = 5
    PIPE_ALL = 6
    PIPE_MTE4 = 7
    PIPE_MTE5 = 8
    PIPE_V2 = 9
    PIPE_FIX = 10


class CMPMODE(IntEnum):
    """A comparison (`CMPMODE`)."""

    LT = 0
    GT = 1
    EQ = 2
    LE = 3
    GE = 4
    NE = 5


class SelMode(IntEnum):
    """What `select` chooses between and which bits it uses (`SELMODE`)."""

    VSEL_CMPMASK_SPR = 0
    VSEL_TENSOR_SCALAR_MODE = 1
    VSEL_TENSOR_TENSOR_MODE = 2


class RoundMode(IntEnum):
    """How a conversion rounds (`RoundMode`).

    To nearest with ties to even (`CAST_RINT`) or away from zero (`CAST_ROUND`), down, up, towards
    zero, to odd; `CAST_NONE` where nothing is lost.
    """

    CAST_NONE = 0
    CAST_RINT = 1
    CAST_FLOOR = 2
    CAST_CEIL = 3
    CAST_ROUND = 4
    CAST_TRUNC = 5
    CAST_ODD = 6


class GatherMaskMode(IntEnum):
    """How `gather_mask` works (`GatherMaskMode`): the chip's own way."""

    DEFAULT = 0


class TransposeType(IntEnum):
    """What an extended `transpose` rearranges (`TransposeType`)."""

    TRANSPOSE_TYPE_NONE = 0
    TRANSPOSE_NZ2ND_0213 = 1
    TRANSPOSE_NZ2NZ_0213 = 2
    TRANSPOSE_NZ2NZ_012_WITH_N = 3
    TRANSPOSE_NZ2ND_012_WITH_N = 4
    TRANSPOSE_NZ2ND_012_WITHOUT_N = 5
    TRANSPOSE_NZ2NZ_012_WITHOUT_N = 6
    TRANSPOSE_ND2ND_ONLY = 7
    TRANSPOSE_ND_UB_GM = 8
    TRANSPOSE_GRAD_ND_UB_GM = 9
    TRANSPOSE_ND2ND_B16 = 10
    TRANSPOSE_NCHW2NHWC = 11
    TRANSPOSE_NHWC2NCHW = 12


class MaskMode(IntEnum):
    """What the vector mask means (`MaskMode`): elements of each repeat, or how many in all."""

    NORMAL = 0
    COUNTER = 1


class ReduceOrder(IntEnum):
    """What a maximum or minimum gives for each repeat, and in which order (`ReduceOrder`)."""

    ORDER_VALUE_INDEX = 0
    ORDER_INDEX_VALUE = 1
    ORDER_ONLY_VALUE = 2
    ORDER_ONLY_INDEX = 3


class Hardware(IntEnum):
    """A physical memory (`Hardware`)."""

    GM = 0
    UB = 1
    L1 = 2
    L0A = 3
    L0B = 4
    L0C = 5
    BIAS = 6
    FIXBUF = 7
    MAX = 8


class CacheMode(IntEnum):
    """How the L2 cache treats a tensor's data (`CacheMode`)."""

    CACHE_MODE_NORMAL = 0
    CACHE_MODE_DISABLE = 1
    CACHE_MODE_LAST = 2
    CACHE_MODE_PERSISTENT = 4


class CacheRwMode(IntEnum):
    """Which accesses a cache hint is about (`CacheRwMode`)."""

    READ = 1
    WRITE = 2
    RW = 3


class AtomicDtype(IntEnum):
    """Dtype of atomic writes, or that there are none (`AtomicDtype`)."""

    ATOMIC_NONE = 0
    ATOMIC_F32 = 1
    ATOMIC_F16 = 2
    ATOMIC_S16 = 3
    ATOMIC_S32 = 4
    ATOMIC_S8 = 5
    ATOMIC_BF16 = 6


class AtomicOp(IntEnum):
    """What atomic writes do (`AtomicOp`)."""

    ATOMIC_SUM = 0


class MemDsbT(IntEnum):
    """Whose accesses `data_sync_barrier` waits for: all, global memory, UB (`MemDsbT`)."""

    ALL = 0
    DDR = 1
    UB = 2
    SEQ = 3


class DataFormat(IntEnum):
    """Layout of a tensor's data (`DataFormat`)."""

    ND = 0
    NZ = 1
    NCHW = 2
    NC1HWC0 = 3
    NHWC = 4


class CacheLine(IntEnum):
    """How much of the data cache an operation is about (`CacheLine`)."""

    SINGLE_CACHE_LINE = 0
    ENTIRE_DATA_CACHE = 1


class DcciDst(IntEnum):
    """With which memory the data cache is to agree (`DcciDst`)."""

    CACHELINE_ALL = 0
    CACHELINE_UB = 1
    CACHELINE_OUT = 2
    CACHELINE_ATOMIC = 3


class BlockMode(IntEnum):
    """The unit in which a copy of the cube's results moves (`BlockMode`)."""

    BLOCK_MODE_NORMAL = 0
    BLOCK_MODE_MATRIX = 1
    BLOCK_MODE_VECTOR = 2
    BLOCK_MODE_SMALL_CHANNEL = 3
    BLOCK_MODE_DEPTHWISE = 4


class DeqScale(IntEnum):
    """How a copy of the cube's results scales them (`DeqScale`)."""

    DEQ_NONE = 0
    DEQ = 1
    VDEQ = 2
    DEQ8 = 3
    VDEQ8 = 4
    DEQ16 = 5
    VDEQ16 = 6


class pad_t(IntEnum):
    """How a copy of the cube's results pads them (`pad_t`)."""

    PAD_NONE = 0
    PAD_MODE1 = 1
    PAD_MODE2 = 2
    PAD_MODE3 = 3
    PAD_MODE4 = 4
    PAD_MODE5 = 5
    PAD_MODE6 = 6
    PAD_MODE7 = 7
    PAD_MODE8 = 8


#: Physical memory behind each position, and the memories a vector kernel reaches.
MEMORY: dict[TPosition, str] = {
    TPosition.GM: "GM",
    TPosition.A1: "L1",
    TPosition.B1: "L1",
    TPosition.C1: "L1",
    TPosition.A2: "L0A",
    TPosition.B2: "L0B",
    TPosition.C2: "BT",
    TPosition.CO1: "L0C",
    TPosition.CO2: "GM",
    TPosition.VECIN: "UB",
    TPosition.VECCALC: "UB",
    TPosition.VECOUT: "UB",
}

#: The same memories by the name of `Hardware`.
HARDWARE: dict[Hardware, str] = {
    Hardware.GM: "GM",
    Hardware.UB: "UB",
    Hardware.L1: "L1",
    Hardware.L0A: "L0A",
    Hardware.L0B: "L0B",
    Hardware.L0C: "L0C",
    Hardware.BIAS: "BT",
    Hardware.FIXBUF: "FB",
}
