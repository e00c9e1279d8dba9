"""`TBuf`, `TBufPool`, `LocalMemAllocator`: on-chip memory that no queue hands on."""

from __future__ import annotations

from typing import Any

from ..diagnostics import error
from ..ops import buffers as rows
from ..ops.spec import OpFunction
from ..trace import Value, current
from .enums import HARDWARE, MEMORY, Hardware, TPosition
from .pipe import is_on_chip, require_constant
from .positions import require_memory
from .types import (
    DEFAULT_POOL_BUFFERS,
    AllocatorType,
    BufferInfo,
    BufType,
    HandleType,
    PoolType,
)

#: Buffers that one pool can have.
MAX_POOL_BUFFERS = 16


class TBuf(Value):
    """Memory for temporaries (`AscendC::TBuf<position>`).

    `pipe.init_buffer(buf, len)` gives it `len` bytes; `get` and `get_with_offset` make tensors of
    them, which are neither enqueued nor freed.
    """

    __slots__ = ("buffer",)

    def __init__(self, pos: TPosition) -> None:
        recorder = current("TBuf")
        require_constant("TBuf", "position", pos, TPosition)
        if not is_on_chip(pos):
            raise error(
                "AT0116",
                f"a TBuf at {pos.name}",
                recorder.site(),
                hint="asc.TPosition.VECCALC for temporaries of vector operations",
            )
        require_memory("TBuf", pos, MEMORY[pos])
        super().__init__(BufType(pos), recorder.block)
        self.buffer: BufferInfo | None = None
        recorder.record(rows.TBUF, rows.TBUF.forms[0], (pos,), self)

    get = OpFunction(rows.TBUF_GET)
    get_with_offset = OpFunction(rows.TBUF_GET_WITH_OFFSET)

    def __repr__(self) -> str:
        return f"<TBuf {self.name} in {self.type.position.name}>"


class TBufPool(Value):
    """A part of on-chip memory that hands out buffers itself (`AscendC::TBufPool`).

    Several pools may have the same memory (`init_buf_pool(pool, len, share_buf)`), one stage of a
    kernel after another. `buf_id_size` is how many buffers it may hand out, at most 16.

    `epoch` counts how often it was reset or given memory, `above` is what gave it that.
    """

    __slots__ = ("above", "buffer", "epoch")

    def __init__(self, pos: TPosition, buf_id_size: int = DEFAULT_POOL_BUFFERS) -> None:
        recorder = current("TBufPool")
        require_constant("TBufPool", "position", pos, TPosition)
        require_constant("TBufPool", "number of buffers", buf_id_size, int)
        if MEMORY.get(pos) not in ("UB", "L1"):
            raise error(
                "AT0116",
                f"a TBufPool at {pos.name}",
                recorder.site(),
                hint="pools are in UB (VECIN, VECCALC, VECOUT) or L1 (A1, B1, C1)",
            )
        if not 1 <= buf_id_size <= MAX_POOL_BUFFERS:
            raise error(
                "AT0108",
                f"a TBufPool of {buf_id_size} buffers",
                recorder.site(),
                hint=f"1 to {MAX_POOL_BUFFERS} buffers a pool",
            )
        super().__init__(PoolType(pos, int(buf_id_size)), recorder.block)
        self.buffer: BufferInfo | None = None
        self.epoch = 0
        self.above: Any = None
        spec = rows.TBUF_POOL
        recorder.record(spec, spec.forms[0], (pos, buf_id_size), self)

    init_buffer = OpFunction(rows.POOL_INIT_BUFFER)
    init_buf_pool = OpFunction(rows.POOL_INIT_BUF_POOL)
    reset = OpFunction(rows.POOL_RESET)

    def __repr__(self) -> str:
        return f"<TBufPool {self.name} in {self.type.position.name}>"


class TBufHandle(Value):
    """What pools that are written in C++ name a buffer by (`AscendC::TBufHandle`).

    Such a pool (`EXTERN_IMPL_BUFPOOL`) hands it out by `GetBufHandle`; Python has no such pool, so
    a kernel cannot make one: AT0306.
    """

    __slots__ = ()

    def __init__(
        self, type: HandleType | None = None, block: Any = None, node: Any = None, name: str = ""
    ) -> None:
        if not isinstance(type, HandleType):
            raise error(
                "AT0306",
                "a TBufHandle comes from a pool that is written in C++",
                current("TBufHandle").site(),
                hint="TBufPool.init_buffer gives queues and TBufs memory of a pool",
            )
        super().__init__(type, block, node, name)


class LocalMemAllocator(Value):
    """Hands out one on-chip memory front to back (`AscendC::LocalMemAllocator<hardware>`).

    For kernels without a TPipe, which set and wait for their events themselves.
    """

    __slots__ = ()

    def __init__(self, hard: Hardware = Hardware.UB) -> None:
        recorder = current("LocalMemAllocator")
        require_constant("LocalMemAllocator", "memory", hard, Hardware)
        if hard not in HARDWARE or hard is Hardware.GM:
            raise error(
                "AT0116",
                f"a LocalMemAllocator of {hard.name}",
                recorder.site(),
                hint="an on-chip memory, such as asc.Hardware.UB",
            )
        require_memory("LocalMemAllocator", hard, HARDWARE[hard])
        super().__init__(AllocatorType(hard), recorder.block)
        spec = rows.LOCAL_MEM_ALLOCATOR
        recorder.record(spec, spec.forms[0], (hard,), self)

    alloc = OpFunction(rows.ALLOCATOR_ALLOC)
    get_cur_addr = OpFunction(rows.ALLOCATOR_GET_CUR_ADDR)

    def __repr__(self) -> str:
        return f"<LocalMemAllocator {self.name}>"


HandleType.proxy = TBufHandle
