"""What is refused while tracing because one call cannot work: starts, sizes, limits, overlap."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import asctrace as asc
from asctrace.tracer.language.dtypes import float16, float32
from asctrace.tracer.ops.rules import lanes_of, reach
from tests.lowering_kit import Kernel, add, data_copy_, global_tensor, local

STRIDES = asc.BinaryRepeatParams
VECIN = asc.TPosition.VECIN


def said(call: Callable[[Kernel, Any], Any], dtype: Any = float32) -> str:
    """The error of a call on `t`, a tensor of 1024 elements at address 0."""
    with Kernel() as k:
        tensor = local("t", 0, 1024, dtype)
        with pytest.raises(asc.KernelError) as caught:
            call(k, tensor)
    return str(caught.value)


# -- starts and sizes -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message", "hint"),
    [
        (
            lambda k, t: add(t[512:], t[4:], t[512:], 8),
            "AT0103: add on (LocalTensor of float32 in VECIN), which begins 16 bytes past",
            "hint: begin at a multiple of 8 elements of float32",
        ),
        (
            lambda k, t: add(t[12:], t, t, k.scalar("n")),
            "AT0103: add on (LocalTensor of float32 in VECIN), which begins 16 bytes past",
            "hint: begin at a multiple of 8 elements of float32",
        ),
        (
            lambda k, t: data_copy_(t[1:], global_tensor("g", k.pointer("x")), 8),
            "AT0103: data_copy on (LocalTensor of float32 in VECIN), which begins 4 bytes past",
            "hint: begin at a multiple of 8 elements of float32",
        ),
        (
            lambda k, t: asc.LocalTensor(float32, VECIN, 100, 8),
            "AT0103: a LocalTensor begins at byte 100, 4 past a multiple of 32",
            "hint: addresses in UB are multiples of 32 bytes",
        ),
        (
            lambda k, t: asc.LocalTensor(float16, asc.TPosition.A2, 32, 8),
            "AT0103: a LocalTensor begins at byte 32, 32 past a multiple of 512",
            "hint: addresses in L0A are multiples of 512 bytes",
        ),
        (
            lambda k, t: asc.LocalTensor(float32, VECIN, -32, 8),
            "AT0108: the address of a LocalTensor is -32",
            "both count from 0 up",
        ),
        (
            lambda k, t: asc.LocalTensor(float32, VECIN, 0, -1),
            "AT0108: the size of a LocalTensor is -1",
            "both count from 0 up",
        ),
        (
            lambda k, t: asc.LocalTensor(float32, VECIN, 0, 2.0),
            "AT0106: the size of a LocalTensor is an integer, not 2.0",
            "addr in bytes, tile_size in elements",
        ),
    ],
)
def test_starts(call: Any, message: str, hint: str) -> None:
    text = said(call)
    assert f"error {message}" in text
    assert hint in text


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (slice(1025, None), "a slice of `t` (LocalTensor of float32 in VECIN) reaches 1025, but"),
        (slice(0, 2000), "reaches 2000, but it has 1024 elements"),
        (slice(16, 8), "begins at 16 and ends before, at 8"),
        (slice(-8, None), "counts from the front, -8 is negative"),
        (slice(None, -1), "counts from the front, -1 is negative"),
    ],
)
def test_slices_lie_inside(index: slice, message: str) -> None:
    text = said(lambda k, t: t[index])
    assert "error AT0201: a slice of" in text
    assert message in text


def test_slices_of_global_tensors_lie_inside_too() -> None:
    with Kernel() as k:
        tensor = asc.GlobalTensor()
        tensor.set_global_buffer(k.pointer("x"), 64)
        assert tensor[64:].size == 0
        with pytest.raises(asc.KernelError, match="reaches 65, but it has 64 elements"):
            tensor[65:]


def test_numpy_integers_are_constants() -> None:
    with Kernel():
        tensor = asc.LocalTensor(float32, VECIN, np.int64(0), np.int32(64))
        part = tensor[np.int64(8) : np.int64(32)]
        assert (type(tensor.size), tensor.size, type(part.size), part.size) == (int, 64, int, 24)
        assert (part.offset, part.base) == (32, "UB")
        with pytest.raises(asc.KernelError, match="reaches 25 elements of"):
            add(part, part, part, 25)


# -- limits and lengths ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda k, t: add(t, t, t, -1), "AT0108: add of -1 elements"),
        (lambda k, t: add(t, t, t, 1025), "AT0201: add reaches 1025 elements of `t` "),
        (lambda k, t: add(t, t, t, -1, 1, STRIDES()), "AT0108: add with a mask of -1 elements"),
        (lambda k, t: add(t, t, t, 65, 1, STRIDES()), "AT0108: add with a mask of 65 elements"),
        (lambda k, t: add(t, t, t, 64, 256, STRIDES()), "AT0108: add with 256 repeats"),
        (
            lambda k, t: add(t, t, t, 64, 1, STRIDES(1, 1, 256)),
            "AT0108: add with the strides (1, 1, 256, 8, 8, 8)",
        ),
        (
            lambda k, t: add(t, t, t, 64, k.scalar("n"), STRIDES(-1)),
            "AT0108: add with the strides (-1, 1, 1, 8, 8, 8)",
        ),
        (lambda k, t: add(t, t, t, 64, 17, STRIDES()), "AT0201: add reaches 1088 elements of `t` "),
        (
            lambda k, t: add(t, t, t, [1 << 63, 0], 17, STRIDES()),
            "AT0201: add reaches 1088 elements of `t` ",
        ),
        (
            lambda k, t: add(t, t, t, 64, 3, STRIDES(1, 1, 3, 8, 8, 64)),
            "AT0201: add reaches 1200 elements of `t` ",
        ),
    ],
)
def test_limits(call: Any, message: str) -> None:
    assert f"error {message}" in said(call)


@pytest.mark.parametrize(
    ("lanes", "repeat", "block", "rep", "expected"),
    [
        (range(64), 1, 1, 8, 64),
        (range(64), 16, 1, 8, 1024),
        (range(1), 16, 1, 8, 961),
        (range(64), 1, 0, 8, 8),
        (range(64), 2, 3, 0, 176),
        ([0, 9], 1, 2, 0, 18),
    ],
)
def test_reach(lanes: Any, repeat: int, block: int, rep: int, expected: int) -> None:
    assert reach(lanes, repeat, block, rep, float32) == expected
    assert lanes_of(float32) == 64


def test_what_does_nothing_is_fine() -> None:
    with Kernel() as k:
        t = local("t", 0, 64)
        add(t, t, t, 0)
        add(t, t, t, 64, 0, STRIDES(1, 1, 1, 200, 200, 200))
        add(t, t, t, [0, 0], 255, STRIDES())
        data_copy_(t, global_tensor("g", k.pointer("x")), 0)
    assert k.trace.count_ops() == 7


def test_copies_between_ub_and_l1_are_not_there_yet() -> None:
    def call(k: Kernel, t: Any) -> None:
        data_copy_(asc.LocalTensor(float32, asc.TPosition.A1, 0, 64), t, 64)

    text = said(call)
    assert "error AT0306: data_copy from `t` (LocalTensor of float32 in VECIN) to " in text
    assert "hint: the headers send it through the workspace of a Matmul object" in text


# -- overlap --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "shared"),
    [
        (lambda k, t: add(t, t[8:], t[512:], 64), 224),
        (lambda k, t: add(t[8:], t[512:], t, 64), 224),
        (lambda k, t: add(t, local("u", 32, 512), t[512:], 64), 224),
        (lambda k, t: add(t, t[8:], t[512:], 64, 1, STRIDES()), 224),
        (lambda k, t: add(t, t, t[512:], 64, 2, STRIDES(1, 1, 1, 8, 9, 8)), 224),
        (lambda k, t: add(t, t, t[512:], 64, 1, STRIDES(1, 2, 1)), 128),
        (lambda k, t: data_copy_(t[8:], t, 64), 224),
    ],
)
def test_partial_overlap_is_refused(call: Any, shared: int) -> None:
    text = said(call)
    assert "error AT0117: " in text
    assert f"they share {shared} bytes" in text
    assert "hint: read and write the very same elements, or keep the two apart" in text


_IN_PLACE = asc.UnaryRepeatParams(1, 1, 0, 0)


@pytest.mark.parametrize(
    ("call", "dtype", "shared"),
    [
        (lambda t: add(t, t, t[512:], 64, 5, STRIDES(1, 1, 1, 0, 0, 8)), asc.float32, 256),
        (lambda t: add(t[64:], t, t[512:], 64, 5, STRIDES()), asc.float32, 1024),
        (lambda t: add(t, t[512:], t, 128, 2, STRIDES(1, 1, 1, 0, 8, 0)), asc.int16, 256),
        (lambda t: asc.div(t, t[512:], t, 64, 2, STRIDES(1, 1, 1, 0, 8, 0)), asc.float32, 256),
        (lambda t: asc.adds(t, t, 1.0, 8, 2, _IN_PLACE), asc.float32, 32),
        (lambda t: asc.axpy(t, t[512:], 1.0, [3, 0], 2, _IN_PLACE), asc.float32, 8),
        (lambda t: asc.exp(t[8:], t, 8, 3, asc.UnaryRepeatParams(1, 1, 1, 1)), asc.float32, 64),
    ],
)
def test_a_repeat_reads_nothing_of_earlier_ones(call: Any, dtype: Any, shared: int) -> None:
    text = said(lambda k, t: call(t), dtype)
    assert "error AT0117: " in text
    assert f"in later repeats: they share {shared} bytes" in text
    assert "hint: only add, sub, mul, max, min, add_relu and sub_relu of float16, int32 and" in text


@pytest.mark.parametrize(
    "call",
    [
        lambda t: add(t, t[512:], t[512:], 64, 1, STRIDES(0, 1, 1)),
        lambda t: asc.duplicate(t, 1.0, 64, 1, 0, 8),
        lambda t: asc.copy(t, t[512:], 9, 1, asc.CopyRepeatParams(0, 1, 8, 8)),
    ],
)
def test_blocks_of_a_destination_lie_apart(call: Any) -> None:
    text = said(lambda k, t: call(t))
    assert "error AT0108: " in text
    assert "with 0 blocks between the blocks of a repeat of dst" in text


@pytest.mark.parametrize(
    "call",
    [
        lambda k, t: add(t, t, t, 64),
        lambda k, t: add(t, t[64:], t[128:], 64),
        lambda k, t: add(t, t[8:], t[512:], 8),
        lambda k, t: add(t, t[8:], t[16:], 8, 2, STRIDES(1, 1, 1, 3, 3, 3)),
        lambda k, t: add(t, t[512:], t, 64, 5, STRIDES(1, 1, 1, 0, 8, 0)),
        lambda k, t: add(t, t[512:], t, 64, 5, STRIDES(1, 1, 1, 8, 8, 0)),
        lambda k, t: add(t, t[64:], t[512:], 64, 5, STRIDES()),
        lambda k, t: asc.copy(t, t[512:], 8, 2, asc.CopyRepeatParams(0, 0, 1, 1)),
        lambda k, t: asc.adds(t, t[512:], 1.0, 64, 5, asc.UnaryRepeatParams(1, 1, 0, 8)),
        lambda k, t: add(t, t[8:], t[512:], [0xFF, 0], 1, STRIDES()),
        lambda k, t: add(t, t[8:], t[512:], [0xFF00, 0], 1, STRIDES(1, 0, 1)),
        lambda k, t: add(t, t[k.scalar("n") :], t, 64),
        lambda k, t: add(local("a", k.scalar("n")), local("b", 32), local("c", 64), 8),
        lambda k, t: add(t, t[8:], t, k.scalar("n")),
    ],
)
def test_what_may_share_memory(call: Any) -> None:
    with Kernel() as k:
        before = k.trace.count_ops()
        call(k, local("t", 0, 1024))
    assert k.trace.count_ops() > before


def test_overlap_that_only_the_run_shows() -> None:
    @asc.jit
    def kernel(x, start):
        x_gm = asc.GlobalTensor()
        x_gm.set_global_buffer(x)
        t = asc.LocalTensor(x.dtype, VECIN, 0, 128)
        asc.data_copy(t, x_gm, 128)
        asc.pipe_barrier(asc.PipeID.PIPE_ALL)
        asc.add(t, t[start:], t, 64)
        asc.pipe_barrier(asc.PipeID.PIPE_ALL)
        asc.data_copy(x_gm, t, 128)

    x = np.arange(128, dtype=np.int32)
    with pytest.raises(asc.KernelError, match=r"AT0117: add writes `t` .*they share 224 bytes"):
        kernel[1](x, 8)
    assert x.tolist() == list(range(128))
    kernel[1](x, 64)
    assert x[:64].tolist() == [2 * i + 64 for i in range(64)]


@pytest.mark.parametrize(("which", "right"), [(1, False), (2, True)])
def test_sums_over_repeats_that_only_the_run_shows(which: int, right: bool) -> None:
    @asc.jit
    def kernel(x, repeat):
        x_gm = asc.GlobalTensor()
        x_gm.set_global_buffer(x)
        t = asc.LocalTensor(x.dtype, VECIN, 0, 256)
        asc.data_copy(t, x_gm, 256)
        asc.pipe_barrier(asc.PipeID.PIPE_ALL)
        if which == 2:
            asc.add(t, t[64:], t, 64, repeat, STRIDES(1, 1, 1, 0, 8, 0))
        else:
            asc.add(t, t, t[64:], 64, repeat, STRIDES(1, 1, 1, 0, 0, 8))
        asc.pipe_barrier(asc.PipeID.PIPE_ALL)
        asc.data_copy(x_gm, t, 256)

    x = np.arange(256, dtype=np.float32)
    sums = np.arange(256).reshape(4, 64).sum(axis=0)
    if right:
        kernel[1](x, 3)
        assert x[:64].tolist() == sums.tolist()
        return
    with pytest.raises(asc.KernelError, match=r"AT0117: add .* in later repeats: they share 256"):
        kernel[1](x, 3)
    kernel[1](x, 1)
    assert x[:64].tolist() == [2 * i + 64 for i in range(64)]


# -- overloads ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message", "hint"),
    [
        (
            lambda k, t: add(t, t, t, 3.5),
            "add(t, t, t, 3.5) fits no overload",
            "`count` takes an integer, not 3.5",
        ),
        (
            lambda k, t: add(t, t, 8),
            "add(t, t, 8) fits no overload",
            "compare the number and the names of the arguments with the overloads above",
        ),
        (
            lambda k, t: add(t, global_tensor("g", k.pointer("x")), t, count="8"),
            "add(t, g, t, count='8') fits no overload",
            (
                "`src0` takes a LocalTensor, not `g` (GlobalTensor of float32); "
                "`count` takes an integer, not '8'"
            ),
        ),
        (
            lambda k, t: data_copy_(t, asc.GlobalTensor(), t),
            "data_copy(t, GlobalTensor without a buffer, t) fits no overload",
            "`count` takes an integer, not `t` (LocalTensor of float32 in VECIN)",
        ),
        (
            lambda k, t: t.get_value(0.0),
            "LocalTensor.get_value(0.0) fits no overload\n  LocalTensor.get_value(index:",
            "`index` takes an integer, not 0.0",
        ),
    ],
)
def test_arguments_that_fit_no_overload(call: Any, message: str, hint: str) -> None:
    text = said(call)
    assert f"error AT0106: {message}" in text
    assert text.endswith(f"  hint: {hint}")


def test_overloads_are_shown() -> None:
    text = said(lambda k, t: add(t))
    operands = "add(dst: a LocalTensor, src0: a LocalTensor, src1: a LocalTensor, "
    assert text.count(operands) == 3
    assert f"\n  {operands}count: an integer, is_set_mask=True: a constant bool)\n" in text


# -- numbers that are operands --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "dtype", "message"),
    [
        (lambda t: asc.adds(t, t, 1.5, 8), asc.int32, "AT0102: adds of int32 tensors and the num"),
        (lambda t: asc.muls(t, t, 2**15, 8), asc.int16, "AT0108: muls of int16 tensors and the"),
        (lambda t: asc.shift_left(t, t, 17, 8), asc.int16, "AT0108: shift_left of int16 and the"),
        (lambda t: asc.shift_right(t, t, -1, 8), asc.int32, "AT0108: shift_right of int32 and the"),
    ],
)
def test_numbers(call: Any, dtype: Any, message: str) -> None:
    assert f"error {message}" in said(lambda k, t: call(t), dtype)
