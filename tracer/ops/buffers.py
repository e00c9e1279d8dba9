"""Rows of `TBuf`, `TBufPool` and `LocalMemAllocator`."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from ..diagnostics import error
from ..language.enums import HARDWARE, MEMORY
from ..language.types import BufferInfo, LocalTensorType
from ..trace import Recorder, Value, describe
from .framework import INIT_FORMS, POOL_FORMS, check_init, check_positive, forms, int_result
from .framework import note_buffer as _note
from .spec import Form, OpSpec, Param, register

BLOCK_BYTES = 32

_BUF = Param("buf", "buf", "object")
_POOL = Param("pool", "pool", "object")
_POSITION = Param("pos", "position", "template")
_DTYPE = Param("dtype", "dtype", "template")


def product(shape: Any) -> Any:
    """Number of elements of a shape, recorded where it is a runtime value."""
    size: Any = 1
    for dim in shape:
        size = size * dim
    return size


# -- TBuf ---------------------------------------------------------------------------------------


def _request(form: Form, args: tuple[Any, ...]) -> tuple[Any, Any, Any, Any]:
    """What a `get` asks for: buf, dtype, elements (None: all), offset in bytes."""
    buf = args[0]
    if form.name == "offset":
        return buf, args[3], args[1], args[2]
    if form.name == "automatic":
        return buf, args[1], args[2], 0
    length = args[2] if form.name == "get" else None
    shape = args[-1]
    return buf, args[1], product(shape) if length is None and shape else length, 0


def _check_get(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The TBuf has memory; the tensor lies in it and begins at a multiple of 32 bytes."""
    buf, dtype, size, offset = _request(form, args)
    site = recorder.site()
    if buf.buffer is None:
        raise error(
            "AT0202",
            f"{describe(buf)} has no memory yet",
            site,
            hint="call pipe.init_buffer(buf, len) first",
        )
    if not isinstance(offset, Value) and (offset < 0 or offset % BLOCK_BYTES):
        raise error(
            "AT0103",
            f"a tensor {offset} bytes into {describe(buf)}",
            site,
            hint=f"buf_offset is in bytes, a multiple of {BLOCK_BYTES}",
        )
    have = buf.buffer.bytes_each()
    if have is None or isinstance(size, Value) or isinstance(offset, Value):
        return
    size = 0 if size is None else size
    if size < 0 or size * dtype.sizeof() + offset > have:
        raise error(
            "AT0201",
            f"{size} elements of {dtype} from byte {offset} on, but {describe(buf)} has {have} "
            "bytes",
            site,
            notes=[("it got them here", buf.buffer.site)],
            hint="ask for less, or give the TBuf more in init_buffer",
        )


def _get_result(recorder: Recorder, form: Form, args: tuple[Any, ...]) -> Value:
    buf, dtype, size, offset = _request(form, args)
    if size is None:
        have = buf.buffer.bytes_each()
        size = None if have is None else have // dtype.sizeof()
    return LocalTensorType.proxy.view(  # type: ignore[no-any-return]
        LocalTensorType(dtype, buf.type.position),
        recorder.block,
        size,
        None if isinstance(offset, Value) else offset,
        buf,
        buf,
    )


TBUF = register(
    OpSpec(
        "TBuf",
        "AscendC::TBuf",
        "construct",
        "Memory for temporaries (`AscendC::TBuf<position>`): no queue, no events.",
        (Form("make", (_POSITION,)),),
    )
)
_SHAPE = Param("shape", "shape", "host", None)
TBUF_GET = register(
    OpSpec(
        "TBuf.get",
        "Get",
        "framework",
        "The buffer as a tensor of `len` elements, all by default (`Get<T>(len)`). A `shape` says "
        "how many when there is no `len`.",
        (
            Form("shape", (_BUF, _DTYPE, _SHAPE)),
            Form(
                "get", (_BUF, _DTYPE, Param("len", "opt_int", default=None, cpp="uint32_t"), _SHAPE)
            ),
        ),
        method=True,
        result=_get_result,
        checks=(_check_get,),
    )
)
TBUF_GET_WITH_OFFSET = register(
    OpSpec(
        "TBuf.get_with_offset",
        "GetWithOffset",
        "framework",
        "A tensor of `size` elements that begins `buf_offset` bytes (a multiple of 32) into the "
        "buffer (`GetWithOffset<T>(size, bufOffset)`).",
        (
            Form(
                "offset",
                (
                    _BUF,
                    Param("size", "int", cpp="uint32_t"),
                    Param("buf_offset", "int", cpp="uint32_t"),
                    _DTYPE,
                ),
            ),
        ),
        method=True,
        result=_get_result,
        checks=(_check_get,),
    )
)

AUTO_TENSOR = register(
    OpSpec(
        "LocalTensorAuto.__init__",
        "Get",
        "framework",
        "A tensor of `size` elements whose buffer asctrace places (`Get<T>(len)`); what it holds "
        "is undefined.",
        (Form("automatic", (_BUF, _DTYPE, Param("size", "int", cpp="uint32_t"))),),
        method=True,
        result=_get_result,
    )
)


# -- TBufPool -----------------------------------------------------------------------------------


def _check_pool(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The length is positive; a pool that shares memory takes no more than the other one has."""
    manager, pool, length, shared = args
    site = recorder.site()
    check_positive(recorder, pool, 1, length)
    shares = None
    if shared is not None:
        shares = shared.buffer
        if shares is None:
            raise error(
                "AT0202",
                f"{describe(pool)} shares the memory of {describe(shared)}, which has none yet",
                site,
                hint="call init_buf_pool for the shared pool first",
            )
        if MEMORY[pool.type.position] != MEMORY[shared.type.position]:
            raise error(
                "AT0116",
                f"{describe(pool)} and {describe(shared)} share no memory",
                site,
                hint="pools that share are in one physical memory",
            )
        if not isinstance(length, Value) and not isinstance(shares.length, Value):
            have = shares.bytes_each() or 0
            if length > have:
                raise error(
                    "AT0104",
                    f"{describe(pool)} takes {length} bytes of {describe(shared)}, which has "
                    f"{have}",
                    site,
                    notes=[("it got them here", shares.site)],
                    hint="the length is at most that of the pool that is used again",
                )
    parent = None if form.params[0].kind == "tpipe" else manager
    info = BufferInfo(
        pool, pool.type.position, 1, length, site, None, parent, shares, manager.epoch
    )
    _note(recorder, manager, pool, info)
    # What it gave out before is over: it begins at its start again.
    pool.epoch += pool.above is not None
    pool.above = manager


def _check_nested(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """A pool hands out memory of its own kind, once it has some."""
    pool, owner = args[:2]
    if pool.buffer is None:
        raise error(
            "AT0202",
            f"{describe(pool)} has no memory yet",
            recorder.site(),
            hint="call pipe.init_buf_pool(pool, len) first",
        )
    if MEMORY[owner.type.position] != MEMORY[pool.type.position]:
        raise error(
            "AT0116",
            f"{describe(owner)} gets memory of {describe(pool)}",
            recorder.site(),
            hint=f"the pool is in {MEMORY[pool.type.position]}: choose a position there",
        )


def _reset(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """What the pool gave out before is not used behind it."""
    args[0].epoch += 1


TBUF_POOL = register(
    OpSpec(
        "TBufPool",
        "AscendC::TBufPool",
        "construct",
        "A part of on-chip memory that hands out buffers itself "
        "(`AscendC::TBufPool<position, bufIDSize>`).",
        (Form("make", (_POSITION, Param("buf_id_size", "const_int", "template"))),),
    )
)
INIT_BUF_POOL = register(
    OpSpec(
        "TPipe.init_buf_pool",
        "InitBufPool",
        "framework",
        "Give a pool `len` bytes, rounded up to 32, or those of the pool `share_buf` "
        "(`InitBufPool`).",
        forms(Param("pipe", "tpipe", "object"), POOL_FORMS),
        method=True,
        checks=(_check_pool,),
    )
)
POOL_INIT_BUF_POOL = register(
    OpSpec(
        "TBufPool.init_buf_pool",
        "InitBufPool",
        "framework",
        "Give a pool `len` bytes of this pool, or those of the pool `share_buf` (`InitBufPool`).",
        forms(_POOL, POOL_FORMS),
        method=True,
        checks=(_check_nested, _check_pool),
    )
)
POOL_INIT_BUFFER = register(
    OpSpec(
        "TBufPool.init_buffer",
        "InitBuffer",
        "framework",
        "Give a queue or a TBuf buffers of the pool (`InitBuffer`).",
        forms(_POOL, INIT_FORMS),
        method=True,
        checks=(_check_nested, check_init),
    )
)
POOL_RESET = register(
    OpSpec(
        "TBufPool.reset",
        "Reset",
        "framework",
        "Take all buffers of the pool back: their events end, their contents may be overwritten "
        "(`Reset`).",
        forms(_POOL, (("call", ()),)),
        method=True,
        checks=(_reset,),
    )
)


# -- LocalMemAllocator --------------------------------------------------------------------------

_ALLOCATOR = Param("allocator", "allocator", "rebind")


def _check_alloc(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The position is in the allocator's memory; at least one element."""
    allocator, position, _, size = args
    hardware = allocator.type.hardware
    site = recorder.site()
    if MEMORY[position] != HARDWARE[hardware]:
        raise error(
            "AT0116",
            f"{position.name} is not in {hardware.name}, which {describe(allocator)} manages",
            site,
            hint="the position belongs to the allocator's memory",
        )
    if not isinstance(size, Value) and size <= 0:
        raise error(
            "AT0108", f"a tensor of {size} elements", site, hint="tile_size is at least 1"
        )  # fmt: skip


def _alloc_result(recorder: Recorder, form: Form, args: tuple[Any, ...]) -> Value:
    allocator, position, dtype, size = args
    type = LocalTensorType(dtype, position)
    tensor: Value = LocalTensorType.proxy.view(type, recorder.block, size, None)
    # The sizes before may be no multiples of 32: what the head is, is known when all are constants.
    info = BufferInfo(tensor, position, 1, size * dtype.sizeof(), recorder.site(), parent=allocator)
    recorder.trace.buffers.append(info)
    return tensor


LOCAL_MEM_ALLOCATOR = register(
    OpSpec(
        "LocalMemAllocator",
        "AscendC::LocalMemAllocator",
        "construct",
        "Hands out on-chip memory front to back, without a TPipe "
        "(`AscendC::LocalMemAllocator<hardware>`).",
        (Form("make", (Param("hard", "hardware", "template"),)),),
    )
)
ALLOCATOR_ALLOC = register(
    OpSpec(
        "LocalMemAllocator.alloc",
        "Alloc",
        "framework",
        "The next `tile_size` elements of the memory as a tensor (`Alloc<pos, T, tileSize>()`, or "
        "`Alloc<pos, T>(tileSize)` for a size known on the device only).",
        (
            Form(
                "constant",
                (
                    _ALLOCATOR,
                    _POSITION,
                    Param("data_type", "dtype", "template"),
                    Param("tile_size", "const_int", "template"),
                ),
            ),
            Form(
                "runtime",
                (
                    _ALLOCATOR,
                    _POSITION,
                    Param("data_type", "dtype", "template"),
                    Param("tile_size", "int", cpp="uint32_t"),
                ),
            ),
        ),
        method=True,
        result=_alloc_result,
        checks=(_check_alloc,),
    )
)
ALLOCATOR_GET_CUR_ADDR = register(
    OpSpec(
        "LocalMemAllocator.get_cur_addr",
        "GetCurAddr",
        "framework",
        "Where the next tensor will begin, in bytes (`GetCurAddr`); int32.",
        (Form("get", (Param("allocator", "allocator", "object"),)),),
        method=True,
        pure=True,
        result=int_result,
        extra=MappingProxyType({"sign": "always"}),
    )
)
