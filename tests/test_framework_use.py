"""Documented use of the framework, run: text and outcome; and what is refused while tracing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import asctrace as asc

P = asc.TPosition
X = np.arange(1024, dtype=np.float32)


def body_of(kernel: Any, *args: Any) -> str:
    return str(kernel.lower(*args).source)


def refused(kernel: Any, *args: Any) -> str:
    with pytest.raises(asc.KernelError) as caught:
        kernel.trace(*args)
    return str(caught.value)


def broken(kernel: Any, *args: Any) -> str:
    """What a run reports."""
    with pytest.raises(asc.KernelError) as caught:
        kernel[1](*args)
    return str(caught.value)


def loaded(que: Any, gm: Any, start: Any, count: int) -> Any:
    """Part of a global tensor, through a VECIN queue."""
    tensor = que.alloc_tensor(gm.dtype)
    asc.data_copy(tensor, gm[start:], count)
    que.enque(tensor)
    return que.deque(gm.dtype)


def test_vecout_queue_of_two_buffers() -> None:
    @asc.jit
    def kernel(x: asc.GlobalAddress, z: asc.GlobalAddress):
        pipe = asc.TPipe()
        source, que = asc.TQue(P.VECIN, 2), asc.TQue(P.VECOUT, 2)
        pipe.init_buffer(source, 2, 128)
        pipe.init_buffer(que=que, num=2, len=128)
        x_gm, z_gm = asc.GlobalTensor(), asc.GlobalTensor()
        x_gm.set_global_buffer(x)
        z_gm.set_global_buffer(z)
        for i in range(4):
            x_local = loaded(source, x_gm, i * 32, 32)
            tensor = que.alloc_tensor(asc.float32)
            asc.add(tensor, x_local, x_local, 32)
            source.free_tensor(x_local)
            que.enque(tensor)
            tensor = que.deque(asc.float32)
            asc.data_copy(z_gm[i * 32 :], tensor, 32)
            que.free_tensor(tensor)

    z = np.zeros_like(X)
    kernel[1](X, z)
    assert (z[:128] == 2 * X[:128]).all()
    assert not z[128:].any()
    assert "pipe.InitBuffer(que, 2, 128);" in body_of(kernel, X, z)


def test_tbuf_whole_and_in_parts(capsys: pytest.CaptureFixture[str]) -> None:
    @asc.jit
    def kernel(x: asc.GlobalAddress):
        pipe = asc.TPipe()
        buf = asc.TBuf(P.VECCALC)
        pipe.init_buffer(buf=buf, num=1024)
        whole = buf.get(asc.int32)
        part = buf.get(asc.int32, 128)
        shaped = buf.get(asc.float16, shape=(4, 8))
        later = buf.get_with_offset(32, 64, asc.int32)
        whole.set_value(16, 7)
        print(whole.get_size(), part.get_size(), shaped.get_size(), later(0), part.get_length())

    kernel[1](X)
    assert capsys.readouterr().out == "256 128 32 7 512\n"
    text = body_of(kernel, X)
    assert "AscendC::TBuf<AscendC::TPosition::VECCALC> buf;" in text
    assert "pipe.InitBuffer(buf, 1024);" in text
    assert "= buf.Get<int32_t>();" in text
    assert "= buf.Get<int32_t>(128);" in text
    assert "= buf.GetWithOffset<int32_t>(32, 64);" in text


def test_offset_of_a_tbuf_is_a_multiple_of_32() -> None:
    @asc.jit
    def kernel(offset: asc.ConstExpr[int], size: asc.ConstExpr[int]):
        pipe = asc.TPipe()
        buf = asc.TBuf(P.VECCALC)
        pipe.init_buffer(buf, 1024)
        buf.get_with_offset(size, offset, asc.int32)

    assert "AT0103: a tensor 30 bytes into `buf`" in refused(kernel, 30, 8)
    assert "AT0201: 240 elements of int32 from byte 96 on" in refused(kernel, 96, 240)
    assert kernel.trace(96, 232).trace.count_ops() == 4


@pytest.mark.parametrize("unroll_limit", [0, 64])
def test_reset_in_a_loop(unroll_limit: int) -> None:
    @asc.jit(unroll_limit=unroll_limit)
    def kernel(x: asc.GlobalAddress, z: asc.GlobalAddress):
        pipe = asc.TPipe()
        que = asc.TQueBind(P.VECIN, P.VECOUT, 1)
        x_gm, z_gm = asc.GlobalTensor(), asc.GlobalTensor()
        x_gm.set_global_buffer(x)
        z_gm.set_global_buffer(z)
        for i in range(2):
            pipe.init_buffer(que, 1, 192 * 1024)
            tensor = que.alloc_tensor(asc.float32)
            asc.data_copy(tensor, x_gm[i * 512 :], 512)
            que.enque(tensor)
            tensor = que.deque(asc.float32)
            asc.data_copy(z_gm[i * 512 :], tensor, 512)
            que.free_tensor(tensor)
            pipe.reset()

    z = np.zeros_like(X)
    with pytest.warns(asc.KernelWarning, match="take 196608 of 196608 bytes"):
        kernel[1](X, z)
    assert (z == X).all()


def test_without_reset_a_queue_gets_buffers_once() -> None:
    @asc.jit
    def kernel():
        pipe = asc.TPipe()
        que = asc.TQue(P.VECIN, 1)
        pipe.init_buffer(que, 1, 64)
        pipe.init_buffer(que, 1, 64)

    assert "gets buffers a second time" in refused(kernel)


def test_bound_queue_to_global_memory() -> None:
    @asc.jit
    def kernel(x: asc.GlobalAddress, z: asc.GlobalAddress):
        pipe = asc.TPipe()
        source, que = asc.TQue(P.VECIN, 1), asc.TQueBind(P.VECOUT, P.GM, 4)
        pipe.init_buffer(source, 1, 1024)
        pipe.init_buffer(que, 4, 1024)
        x_gm, z_gm = asc.GlobalTensor(), asc.GlobalTensor()
        x_gm.set_global_buffer(x)
        z_gm.set_global_buffer(z)
        x_local = loaded(source, x_gm, 0, 256)
        tensor = que.alloc_tensor(asc.float32)
        asc.add(tensor, x_local, x_local, 256)
        source.free_tensor(x_local)
        que.enque(tensor)
        tensor = que.deque(asc.float32)
        asc.data_copy(z_gm, tensor, 256)
        que.free_tensor(tensor)
        que.free_all_event()

    z = np.zeros_like(X)
    kernel[1](X, z)
    assert (z[:256] == 2 * X[:256]).all()
    text = body_of(kernel, X, z)
    assert "AscendC::TQueBind<AscendC::TPosition::VECOUT, AscendC::TPosition::GM, 4> que;" in text
    assert "que.FreeAllEvent();" in text


def test_state_of_a_queue(capsys: pytest.CaptureFixture[str]) -> None:
    @asc.jit
    def kernel(x: asc.GlobalAddress):
        pipe = asc.TPipe()
        que = asc.TQue(P.VECIN, 2)
        asc.get_tpipe_ptr().init_buffer(que, 2, 64)
        for _ in asc.static_range(2):
            tensor = que.alloc_tensor(asc.int32)
            que.enque(tensor)
            print(que.has_tensor_in_que(), que.vacant_in_que(), que.has_idle_buffer(),
                  que.get_tensor_count_in_que())  # fmt: skip
        for _ in asc.static_range(2):
            que.free_tensor(que.deque(asc.int32))
        print(que.has_tensor_in_que(), que.get_tensor_count_in_que())
        pipe.destroy()

    kernel[1](X)
    assert capsys.readouterr().out == "True True True 1\nTrue False False 2\nFalse 0\n"
    assert "que.GetTensorCountInQue()" in body_of(kernel, X)


def test_in_place_queue(capsys: pytest.CaptureFixture[str]) -> None:
    @asc.jit
    def kernel(x: asc.GlobalAddress):
        pipe = asc.TPipe()
        que = asc.TQue(P.VECIN, 0)
        pipe.init_buffer(que, 1, 256)
        tensor = asc.LocalTensor(asc.float32)
        que.alloc_tensor(tensor)
        tensor.set_value(3, 2.5)
        que.enque(tensor)
        que.deque(tensor)
        print(tensor(3), tensor.get_size())
        que.free_tensor(tensor)

    kernel[1](X)
    assert capsys.readouterr().out == "2.5 64\n"
    text = body_of(kernel, X)
    assert "AscendC::LocalTensor<float> tensor;" in text
    for call in ("AllocTensor", "EnQue", "DeQue", "FreeTensor"):
        assert f"que.{call}(tensor);" in text


@pytest.mark.parametrize(
    ("depth", "in_place", "message"),
    [(1, True, "alloc_tensor(tensor) of `que`"), (0, False, "has_idle_buffer of `que`")],
)
def test_depth_decides_the_forms(depth: int, in_place: bool, message: str) -> None:
    @asc.jit
    def kernel(depth: asc.ConstExpr[int], in_place: asc.ConstExpr[bool]):
        pipe = asc.TPipe()
        que = asc.TQue(P.VECIN, depth)
        pipe.init_buffer(que, 1, 64)
        if in_place:
            que.alloc_tensor(asc.LocalTensor(asc.int32))
        else:
            que.has_idle_buffer()

    assert f"AT0108: {message}" in refused(kernel, depth, in_place)


def test_user_positions() -> None:
    @asc.jit
    def kernel(x: asc.GlobalAddress):
        pipe = asc.TPipe()
        que = asc.TQueBind(P.VECIN, P.VECOUT, 1)
        pipe.init_buffer(que, 1, 64)
        tensor = que.alloc_tensor(asc.float32)
        que.enque(tensor, src_user_pos=P.GM, dst_user_pos=P.VECIN)
        que.free_tensor(que.deque(asc.float32, P.GM, P.VECIN))

    text = body_of(kernel, X)
    ends = "AscendC::TPosition::GM, AscendC::TPosition::VECIN"
    assert f"que.EnQue<{ends}>(tensor);" in text
    assert f"que.DeQue<{ends}, float>()" in text
    kernel[1](X)


@pytest.mark.parametrize("call", ["enque", "free_tensor"])
def test_tensors_of_a_tbuf_stay_there(call: str) -> None:
    @asc.jit
    def kernel(call: asc.ConstExpr[str]):
        pipe = asc.TPipe()
        que, buf = asc.TQue(P.VECIN, 1), asc.TBuf(P.VECCALC)
        pipe.init_buffer(que, 1, 64)
        pipe.init_buffer(buf, 64)
        getattr(que, call)(buf.get(asc.int32)[8:])

    assert "which belongs to `buf` (TBuf in VECCALC)" in refused(kernel, call)


def test_event_ids(capsys: pytest.CaptureFixture[str]) -> None:
    @asc.jit
    def kernel(count: asc.ConstExpr[int], again: asc.ConstExpr[bool]):
        pipe = asc.TPipe()
        print(pipe.fetch_event_id(asc.HardEvent.V_S))
        ids = [pipe.alloc_event_id(asc.HardEvent.V_S) for _ in range(count)]
        asc.set_flag(asc.HardEvent.V_S, ids[-1])
        asc.wait_flag(asc.HardEvent.V_S, ids[-1])
        pipe.release_event_id(ids[0])
        print(ids[-1], pipe.fetch_event_id())
        for event_id in ids[1:]:
            pipe.release_event_id(event_id)
        if again:
            pipe.release_event_id(id=ids[0], event=asc.HardEvent.V_S)

    kernel[1](3, False)
    assert capsys.readouterr().out == "0\n2 0\n"
    assert "AT0204: alloc_event_id: all 8 ids of V_S are taken" in broken(kernel, 9, False)
    assert "AT0204: release_event_id(0, V_S), which is not taken" in broken(kernel, 1, True)
    text = body_of(kernel, 1, False)
    assert "pipe.AllocEventID<AscendC::HardEvent::V_S>()" in text
    assert "pipe.ReleaseEventID<AscendC::HardEvent::V_S>(" in text


def test_pools_share_and_nest(capsys: pytest.CaptureFixture[str]) -> None:
    @asc.jit
    def kernel():
        pipe = asc.TPipe()
        first, second = asc.TBufPool(P.VECIN), asc.TBufPool(P.VECCALC, 8)
        inner = asc.TBufPool(P.VECIN, 2)
        pipe.init_buf_pool(first, 4096)
        pipe.init_buf_pool(buf_pool=second, len=2048, share_buf=first)
        a, b, c, d = (asc.TBuf(P.VECCALC) for _ in range(4))
        first.init_buffer(a, 100)
        first.init_buf_pool(inner, 512)
        inner.init_buffer(b, 64)
        second.init_buffer(c, 64)
        print(a.get(asc.int8).get_phy_addr(), b.get(asc.int8).get_phy_addr(),
              c.get(asc.int8).get_phy_addr())  # fmt: skip
        first.reset()
        first.init_buffer(d, 64)
        print(d.get(asc.int8).get_phy_addr())

    kernel[1]()
    assert capsys.readouterr().out == "0 128 0\n0\n"
    text = body_of(kernel)
    assert "pipe.InitBufPool(second, 2048, first);" in text
    assert "AscendC::TBufPool<AscendC::TPosition::VECCALC, 8> second;" in text
    assert "first.InitBufPool(inner, 512);" in text


def test_tensors_of_a_reset_pool_are_stale() -> None:
    @asc.jit
    def kernel():
        pipe = asc.TPipe()
        pool, buf = asc.TBufPool(P.VECIN), asc.TBuf(P.VECCALC)
        pipe.init_buf_pool(pool, 1024)
        pool.init_buffer(buf, 64)
        tensor = buf.get(asc.int32)
        pool.reset()
        tensor.set_value(0, 1)

    assert "has been freed" in broken(kernel)


def test_pool_budget() -> None:
    @asc.jit
    def kernel(length: asc.ConstExpr[int], count: asc.ConstExpr[int]):
        pipe = asc.TPipe()
        pool = asc.TBufPool(P.VECIN)
        pipe.init_buf_pool(pool, 1024)
        for _ in asc.static_range(count):
            buf = asc.TBuf(P.VECCALC)
            pool.init_buffer(buf, length)

    kernel.lower(256, 4)
    with pytest.raises(asc.KernelError, match="hands out to 1280 bytes, it has 1024"):
        kernel.lower(256, 5)
    with pytest.raises(asc.KernelError, match="hands out 5 buffers, and has 4"):
        kernel.lower(32, 5)


def test_allocator(capsys: pytest.CaptureFixture[str]) -> None:
    @asc.jit
    def kernel(n: int):
        allocator = asc.LocalMemAllocator()
        first = allocator.alloc(P.VECIN, asc.float32, 64)
        second = allocator.alloc(P.VECCALC, asc.float16, tile_size=n)
        print(first.get_phy_addr(), second.get_phy_addr(), allocator.get_cur_addr())

    kernel[1](32)
    assert capsys.readouterr().out == "0 256 320\n"
    text = body_of(kernel, 32)
    assert "allocator.Alloc<AscendC::TPosition::VECIN, float, 64>()" in text
    assert "allocator.Alloc<AscendC::TPosition::VECCALC, half>(n)" in text
    assert "AT0104" in broken(kernel, 100_000)


def test_a_memory_has_one_allocator() -> None:
    @asc.jit
    def kernel(second: asc.ConstExpr[Any]):
        first = asc.LocalMemAllocator()
        other = asc.LocalMemAllocator(second)
        print(first.get_cur_addr(), other.get_cur_addr())

    kernel.lower(asc.Hardware.L1)
    with pytest.raises(asc.KernelError) as caught:
        kernel.lower(asc.Hardware.UB)
    (found,) = caught.value.findings
    assert found.code == "AT0108"
    assert "is another LocalMemAllocator of UB; a kernel has one a memory" in found.message
    assert [span.line - found.spans[1].line for span in found.spans] == [1, 0]


def test_views_sizes_and_casts(capsys: pytest.CaptureFixture[str]) -> None:
    @asc.jit
    def kernel(x: asc.GlobalAddress, n: int):
        x_gm = asc.GlobalTensor()
        x_gm.set_global_buffer(x, 1024)
        x_gm.set_l2_cache_hint(asc.CacheMode.CACHE_MODE_DISABLE, asc.CacheRwMode.READ)
        tensor = asc.LocalTensor(asc.int32, P.VECIN, 0, 64)
        for i in range(64):
            tensor[i] = i
        part = tensor[8:24]
        halves = part.reinterpret_cast(asc.int16)
        print(part.get_size(), halves.get_size(), halves(2), part[n:](0), tensor(n))
        moved = asc.LocalTensor(asc.int32)
        moved.set_addr_with_offset(tensor, 16)
        moved.set_size(8)
        print(moved(0), moved.get_size(), moved.get_length(), moved.get_position())
        moved.set_buffer_len(16)
        print(moved.get_size(), x_gm(n), x_gm[4:8].get_size(), x_gm[4:8](n))

    kernel[1](X, 3)
    assert capsys.readouterr().out == "16 32 9 11 3\n16 8 32 9\n4 3.0 4 7.0\n"
    text = body_of(kernel, X, 3)
    assert "part.ReinterpretCast<int16_t>()" in text
    hint = "<AscendC::CacheRwMode::READ>(AscendC::CacheMode::CACHE_MODE_DISABLE)"
    assert f"x_gm.SetL2CacheHint{hint};" in text


def test_a_tensor_does_not_outgrow_its_buffer() -> None:
    @asc.jit
    def kernel(size: int):
        pipe = asc.TPipe()
        buf = asc.TBuf(P.VECCALC)
        pipe.init_buffer(buf, 256)
        buf.get(asc.int32).set_size(size)

    kernel[1](64)
    assert "260 bytes long, its buffer has 256 from there on" in broken(kernel, 65)


def test_tags_go_with_the_buffer(capsys: pytest.CaptureFixture[str]) -> None:
    @asc.jit
    def kernel():
        pipe = asc.TPipe()
        que = asc.TQue(P.VECIN, 2)
        pipe.init_buffer(que, 2, 64)
        for tag in asc.static_range(2):
            tensor = que.alloc_tensor(asc.int32)
            tensor.set_user_tag(tag + 5)
            que.enque(tensor)
        for _ in asc.static_range(2):
            tensor = que.deque(asc.int32)
            print(tensor.get_user_tag())
            que.free_tensor(tensor)

    kernel[1]()
    assert capsys.readouterr().out == "5\n6\n"


def test_shapes(capsys: pytest.CaptureFixture[str]) -> None:
    @asc.jit
    def kernel(n: int):
        tensor = asc.LocalTensor(asc.float32, P.VECIN, 0, 64)
        shape = asc.ShapeInfo(asc.array(asc.int32, (2, n)), data_format=asc.DataFormat.NZ)
        tensor.set_shape_info(shape)
        print(tensor.get_shape_info().shape(1), shape.shape(0))

    kernel[1](16)
    assert capsys.readouterr().out == "16 2\n"
    text = body_of(kernel, 16)
    assert "AscendC::ShapeInfo(2, values, 2, values, AscendC::DataFormat::NZ)" in text
    assert "uint32_t values[2] = {2, " in text


def test_print_and_to_file(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    @asc.jit
    def kernel():
        tensor = asc.LocalTensor(asc.int32, P.VECIN, 0, 16)
        for i in range(16):
            tensor.set_value(i, i)
        tensor.print(12)
        tensor.to_file("tensor.bin")

    kernel[1]()
    assert capsys.readouterr().out == "0 1 2 3 4 5 6 7\n8 9 10 11\n"
    assert (np.fromfile("tensor.bin", np.int32) == np.arange(16)).all()
    assert "#if defined(ASCENDC_CPU_DEBUG)" in body_of(kernel)


def test_static_assert_and_property(capsys: pytest.CaptureFixture[str]) -> None:
    @asc.jit
    def kernel(n: asc.ConstExpr[int], m: int):
        asc.static_assert(n % 8 == 0, "n is a multiple of 8")
        print(asc.property(asc.TOTAL_L1_SIZE), asc.property(asc.DEFAULT_C0_SIZE))
        if n == 16:
            asc.static_assert(m > 0)

    kernel[1](8, 1)
    assert capsys.readouterr().out == "524032 32\n"
    assert "AT0111: n is a multiple of 8" in refused(kernel, 9, 1)
    assert "AT0107: static_assert" in refused(kernel, 16, 1)


def test_inline_text() -> None:
    @asc.jit
    def kernel(n: int):
        asc.inline("#define TWICE(x) ((x) * 2)", before_function=True)
        asc.inline("const int32_t twice = TWICE($0);", (n,))

    text = body_of(kernel, 1)
    assert text.index("#define TWICE") < text.index('extern "C"')
    assert "    const int32_t twice = TWICE(n);\n" in text
    assert "AT0307: the simulator cannot run C++ text" in broken(kernel, 1)


def test_a_second_pipe_needs_the_first_destroyed() -> None:
    @asc.jit
    def kernel(destroy: asc.ConstExpr[bool]):
        first = asc.TPipe()
        if destroy:
            first.destroy()
        asc.TPipe().init()

    kernel.lower(True)
    with pytest.raises(asc.KernelError, match="is another TPipe"):
        kernel.lower(False)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda n: asc.TQue(P.VECIN, n), "AT0107: the depth of a TQue"),
        (lambda n: asc.TBufPool(P.VECIN, n), "AT0107: the number of buffers of a TBufPool"),
        (lambda n: asc.TBuf(n), "AT0107: the position of a TBuf"),
        (lambda n: asc.TBufPool(P.VECIN, 17), "AT0108: a TBufPool of 17 buffers"),
        (lambda n: asc.TBufPool(P.CO1), "AT0116: a TBufPool at CO1"),
        (lambda n: asc.TQueBind(P.GM, P.GM, 1), "AT0108: TQueBind"),
        (lambda n: asc.TQue(P.VECCALC, 1), "AT0108: TQue"),
        (lambda n: asc.array(asc.int32, n), "AT0107: the length of an array"),
        (lambda n: asc.get_tpipe_ptr(), "AT0106: get_tpipe_ptr() before"),
        (lambda n: asc.LocalMemAllocator(asc.Hardware.GM), "AT0116: a LocalMemAllocator of GM"),
    ],
)
def test_what_is_no_object(make: Any, message: str) -> None:
    @asc.jit
    def kernel(n: int):
        make(n)

    assert message in refused(kernel, 1)
