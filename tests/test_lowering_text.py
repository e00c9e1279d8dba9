"""Golden texts: what a C++ colleague gets to read."""

from __future__ import annotations

import linecache
import os
import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from asctrace.lowering.calls import HOOKS, lowers, spell
from asctrace.lowering.names import identifier, kernel_name
from asctrace.lowering.text import TextOptions, emit
from asctrace.tracer import trace as tr
from asctrace.tracer.language.dtypes import float16, float32, int32, uint64
from asctrace.tracer.language.enums import HardEvent, PipeID
from asctrace.tracer.language.pipe import TPipe
from asctrace.tracer.language.scalar import convert, logical_not
from asctrace.tracer.language.scalar import emit as record
from asctrace.tracer.language.structs import BinaryRepeatParams
from asctrace.tracer.ops import arith, debug
from asctrace.tracer.ops.spec import Form, OpSpec, Param
from tests.lowering_kit import (
    Kernel,
    add,
    body,
    data_copy_,
    get_block_idx,
    global_tensor,
    local,
    named,
    pipe_barrier,
    queue,
    set_flag,
    wait_flag,
)

VADD = """\
// vadd_kernel: asctrace 0.1.0, Ascend910B1. x, y, z: float32; tile_length = 128
#include "kernel_operator.h"

extern "C" __global__ __aicore__ void vadd_kernel(__gm__ float* x, __gm__ float* y, __gm__ float* z, int32_t block_length)
{
    const int32_t offset = static_cast<int32_t>(AscendC::GetBlockIdx()) * block_length;
    AscendC::GlobalTensor<float> x_gm;
    x_gm.SetGlobalBuffer(x + offset);
    AscendC::GlobalTensor<float> y_gm;
    y_gm.SetGlobalBuffer(y + offset);
    AscendC::GlobalTensor<float> z_gm;
    z_gm.SetGlobalBuffer(z + offset, block_length);
    AscendC::TPipe pipe;
    AscendC::TQue<AscendC::TPosition::VECIN, 2> in_queue_x;
    pipe.InitBuffer(in_queue_x, 2, 512);
    AscendC::TQue<AscendC::TPosition::VECIN, 2> in_queue_y;
    pipe.InitBuffer(in_queue_y, 2, 512);
    AscendC::TQue<AscendC::TPosition::VECOUT, 2> out_queue_z;
    pipe.InitBuffer(out_queue_z, 2, 512);
    for (int32_t i = 0; i < 16; ++i) {
        // copy_in
        AscendC::LocalTensor<float> x_local = in_queue_x.AllocTensor<float>();
        AscendC::DataCopy(x_local, x_gm[i * 128], 128);
        in_queue_x.EnQue(x_local);
        AscendC::LocalTensor<float> y_local = in_queue_y.AllocTensor<float>();
        AscendC::DataCopy(y_local, y_gm[i * 128], 128);
        in_queue_y.EnQue(y_local);
        // compute
        x_local = in_queue_x.DeQue<float>();
        y_local = in_queue_y.DeQue<float>();
        AscendC::LocalTensor<float> z_local = out_queue_z.AllocTensor<float>();
        AscendC::Add(z_local, x_local, y_local, 128);
        out_queue_z.EnQue(z_local);
        in_queue_x.FreeTensor(x_local);
        in_queue_y.FreeTensor(y_local);
        // copy_out
        z_local = out_queue_z.DeQue<float>();
        AscendC::DataCopy(z_gm[i * 128], z_local, 128);
        out_queue_z.FreeTensor(z_local);
    }
}
"""  # noqa: E501


def code(name: str, line: int = 1) -> Any:
    """Enough of a decoded code object for a site."""
    source = SimpleNamespace(
        co_name=name, co_qualname=name, co_filename=__file__, co_firstlineno=line
    )
    return SimpleNamespace(
        code=source, instrs=[SimpleNamespace(span=(line + j, line + j, 0, 1)) for j in range(4)]
    )


def vadd(unrolled: int = 0) -> tr.Trace:
    """The double-buffered vector add with helper functions; its loop perhaps unrolled."""
    outer = (code("vadd_kernel"), 0, None)
    helpers = {name: code(name) for name in ("copy_in", "compute", "copy_out")}
    with Kernel("vadd_kernel") as k:
        k.recorder.where = outer
        x, y, z = (k.pointer(name) for name in "xyz")
        block_length = k.scalar("block_length")
        k.trace.constants["tile_length"] = 128
        offset = named(get_block_idx() * block_length, "offset")
        x_gm = global_tensor("x_gm", x + offset)
        y_gm = global_tensor("y_gm", y + offset)
        z_gm = named(type(x_gm)(), "z_gm")
        z_gm.set_global_buffer(z + offset, block_length)
        pipe = named(TPipe(), "pipe")
        in_x = queue(pipe, "in_queue_x", "VECIN")
        in_y = queue(pipe, "in_queue_y", "VECIN")
        out_z = queue(pipe, "out_queue_z", "VECOUT")

        def step(i: Any) -> None:
            k.recorder.where = (helpers["copy_in"], 0, outer)
            for que, name, gm in ((in_x, "x_local", x_gm), (in_y, "y_local", y_gm)):
                tile = named(que.alloc_tensor(float32), name)
                data_copy_(tile, gm[i * 128 :], 128)
                que.enque(tile)
            k.recorder.where = (helpers["compute"], 0, outer)
            x_local = named(in_x.deque(float32), "x_local")
            y_local = named(in_y.deque(float32), "y_local")
            z_local = named(out_z.alloc_tensor(float32), "z_local")
            add(z_local, x_local, y_local, 128)
            out_z.enque(z_local)
            in_x.free_tensor(x_local)
            in_y.free_tensor(y_local)
            k.recorder.where = (helpers["copy_out"], 0, outer)
            z_local = named(out_z.deque(float32), "z_local")
            data_copy_(z_gm[i * 128 :], z_local, 128)
            out_z.free_tensor(z_local)
            k.recorder.where = outer

        if unrolled:
            for j in range(unrolled):
                step(j)
        else:
            with k.for_("i", 16) as i:
                step(i)
    return k.trace


def test_vector_add() -> None:
    assert emit(vadd()) == VADD


def test_without_comments() -> None:
    plain = "".join(line for line in VADD.splitlines(True) if not line.startswith("        //"))
    assert emit(vadd(), TextOptions(comments=False)) == plain


def test_unrolled_names_are_reused() -> None:
    text = body(emit(vadd(3)))
    assert text.count("AscendC::LocalTensor<float> x_local = ") == 1
    assert text.count("\nx_local = ") == 5
    assert "x_local_1" not in text
    assert "AscendC::DataCopy(x_local, x_gm[256], 128);" in text
    assert text.count("// copy_in") == 3


def test_source_lines_and_directives() -> None:
    here = code("kernel", 4)
    with Kernel() as k:
        k.recorder.where = (here, 0, None)
        x = local("x")
        x.set_value(0, 1)
        k.recorder.where = (here, 2, None)
        x.set_value(1, 1)
    text = body(emit(k.trace, TextOptions(source_lines=True)))
    assert text == (
        "// line 4\n"
        "AscendC::LocalTensor<float> x(AscendC::TPosition::VECIN, 0, 1024);\n"
        "x.SetValue(0, 1.0f);\n"
        f"// 6: {linecache.getline(__file__, 6).strip()}\n"
        "x.SetValue(1, 1.0f);"
    )
    text = emit(k.trace, TextOptions(line_directives=True))
    assert f'\n#line 4 "{__file__}"\n    x.SetValue(0, 1.0f);\n' in text


def test_class_methods_are_named_with_their_class() -> None:
    init = code("__init__")
    init.code.co_qualname = "vadd_kernel.<locals>.KernelAdd.__init__"
    lambda_ = code("<lambda>")
    outer = (code("kernel"), 0, None)
    with Kernel() as k:
        k.recorder.where = (init, 0, outer)
        x = local("x")
        k.recorder.where = (lambda_, 0, (init, 1, outer))
        x.set_value(0, 1)
        k.recorder.where = outer
        x.set_value(1, 1)
        k.recorder.where = (init, 0, outer)
        x.set_value(2, 1)
    assert body(emit(k.trace)).splitlines() == [
        "// KernelAdd.__init__",
        "AscendC::LocalTensor<float> x(AscendC::TPosition::VECIN, 0, 1024);",
        "x.SetValue(0, 1.0f);",
        "x.SetValue(1, 1.0f);",
        "// KernelAdd.__init__",
        "x.SetValue(2, 1.0f);",
    ]


# -- kernels and their bodies -------------------------------------------------------------------

Build = Callable[[Kernel], None]
GOLDEN: list[tuple[Build, str]] = []


def golden(expected: str) -> Callable[[Build], Build]:
    def register(build: Build) -> Build:
        GOLDEN.append((build, expected.strip("\n")))
        return build

    return register


@golden("""
AscendC::GlobalTensor<float> x_gm;
x_gm.SetGlobalBuffer(x);
AscendC::LocalTensor<float> x_local(AscendC::TPosition::VECIN, 0, 256);
AscendC::LocalTensor<float> z_local(AscendC::TPosition::VECIN, n, 256);
AscendC::DataCopy(x_local, x_gm, 256);
AscendC::SetFlag<AscendC::HardEvent::MTE2_V>(0);
AscendC::WaitFlag<AscendC::HardEvent::MTE2_V>(0);
AscendC::Add(z_local, x_local, x_local[8], n);
AscendC::PipeBarrier<PIPE_V>();
AscendC::SetFlag<AscendC::HardEvent::V_MTE3>(n & 7);
AscendC::WaitFlag<AscendC::HardEvent::V_MTE3>(n & 7);
AscendC::DataCopy(x_gm[n], z_local, 256);
""")
def manual_flags(k: Kernel) -> None:
    x, n = k.pointer("x"), k.scalar("n")
    x_gm = global_tensor("x_gm", x)
    x_local, z_local = local("x_local", 0, 256), local("z_local", n, 256)
    data_copy_(x_local, x_gm, 256)
    set_flag(HardEvent.MTE2_V, 0)
    wait_flag(HardEvent.MTE2_V)
    add(z_local, x_local, x_local[8:], n)
    pipe_barrier(PipeID.PIPE_V)
    set_flag(HardEvent.V_MTE3, n & 7)
    wait_flag(HardEvent.V_MTE3, event_id=n & 7)
    data_copy_(x_gm[n:], z_local, 256)


@golden(
    """
AscendC::LocalTensor<half> x(AscendC::TPosition::VECIN, 0, 1024);
AscendC::Add(x, x, x, 128);
AscendC::Add(x, x, x, 128);
AscendC::Add(x, x, x, 64, 4, AscendC::BinaryRepeatParams(1, 1, 1, 8, 8, 8));
AscendC::Add<half, false>(x, x, x, n, n, STRIDES);
uint64_t mask[2] = {0xffffffffffffffffULL, 0};
AscendC::Add(x, x, x, mask, 4, AscendC::BinaryRepeatParams(1, 1, 1, 8, 8, 8));
AscendC::Add<half, false>(x, x, x, mask, 4, AscendC::BinaryRepeatParams(1, 1, 1, 8, 8, 8));
if (n > 0) {
    uint64_t mask_1[2] = {0xffULL, 3};
    AscendC::Add(x, x, x, mask_1, 1, AscendC::BinaryRepeatParams(1, 1, 1, 8, 8, 8));
    AscendC::Add(x, x, x, mask, 1, AscendC::BinaryRepeatParams(1, 1, 1, 8, 8, 8));
}
uint64_t mask_1[2] = {0xffULL, 3};
AscendC::Add(x, x, x, mask_1, 1, AscendC::BinaryRepeatParams(1, 1, 1, 8, 8, 8));
uint64_t mask_2[2] = {static_cast<uint64_t>(n), 0};
AscendC::Add(x, x, x, mask_2, 1, AscendC::BinaryRepeatParams(1, 1, 1, 8, 8, 8));
""".replace("STRIDES", "AscendC::BinaryRepeatParams(1, 1, 1, static_cast<uint8_t>(n), 8, 8)")
)
def vector_forms(k: Kernel) -> None:
    n = k.scalar("n")
    x = local("x", dtype=float16)
    params = BinaryRepeatParams()
    add(x, x, x, 128)
    add(x, x, x, 128, is_set_mask=False)
    add(x, x, x, 64, 4, params)
    add(x, x, x, n, n, BinaryRepeatParams(dst_rep_stride=n), False)
    add(x, x, x, [-1], 4, params)
    add(x, x, x, [2**64 - 1, 0], 4, params, False)
    with k.if_(n > 0):
        add(x, x, x, [255, 3], 1, params)
        add(x, x, x, [-1, 0], 1, params)
    add(x, x, x, [255, 3], 1, params)
    add(x, x, x, [n, 0], 1, params)


@golden("""
AscendC::LocalTensor<float> x(AscendC::TPosition::VECIN, 0, 1024);
int32_t y;
AscendC::LocalTensor<float> t;
if (n > 3) {
    y = n * 2;
    t = x[64];
} else {
    t = AscendC::LocalTensor<float>(AscendC::TPosition::VECIN, 4096, 1024);
    y = -5;
}
t.SetValue(y, 1.0f);
""")
def merges(k: Kernel) -> None:
    n, x = k.scalar("n"), local("x")
    y, t = k.var("y"), k.var("t", None, x.type)
    with k.if_(n > 3):
        k.assign((y, named(n * 2, "y")), (t, named(x[64:], "t")))
    with k.else_():
        u = local("u", 4096)
        k.assign((y, -5), (t, u))
    t.set_value(y, 1)


@golden("""
AscendC::LocalTensor<float> x(AscendC::TPosition::VECIN, 0, 1024);
float v;
while (true) {
    v = x.GetValue(n);
    if (v > 0.5f) {
        break;
    }
}
int32_t i;
float w;
for (int32_t i_1 = 0; i_1 < n; ++i_1) {
    i = i_1;
    w = x.GetValue(i);
}
x.SetValue(i, v + w);
""")
def hoisted(k: Kernel) -> None:
    n, x = k.scalar("n"), local("x")
    with k.while_():
        v = named(x.get_value(n), "v")
        with k.if_(v > 0.5):
            k.jump("break")
    with k.for_("i", n) as i:
        w = named(x.get_value(i), "w")
    x.set_value(i, v + w)


@golden("""
AscendC::LocalTensor<int32_t> x(AscendC::TPosition::VECIN, 0, 1024);
int32_t a = 0;
int32_t b = 1;
for (int32_t i = 0; i < n; ++i) {
    const int32_t next_a = b;
    b = a + b;
    a = next_a;
}
const int32_t next_a = b;
b = a;
a = next_a;
int32_t c = 0;
c = b;
b = a;
a = 5;
x.SetValue(a, b + c);
""")
def parallel_assignments(k: Kernel) -> None:
    n, x = k.scalar("n"), local("x", dtype=int32)
    a, b = k.var("a", 0), k.var("b", 1)
    with k.for_("i", n):
        k.assign((a, b), (b, a + b))
    k.assign((a, b), (b, a))
    c = k.var("c", 0)
    k.assign((a, 5), (b, a), (c, b))
    x.set_value(a, b + c)


@golden("""
AscendC::LocalTensor<int32_t> x(AscendC::TPosition::VECIN, 0, 1024);
int32_t total = 0;
int32_t k = 8;
float sum = 0.0f;
bool found = false;
for (int32_t i = 0; i < n; ++i) {
    total += i;
    x.SetValue(0, total);
    x.SetValue(1, total);
    const int32_t value = x.GetValue(i);
    --k;
    sum *= 0.5f;
    found = value > 3;
}
x.SetValue(k, total + static_cast<int32_t>(sum));
if (found) {
    x.SetValue(2, 0);
}
""")
def accumulators(k: Kernel) -> None:
    n, x = k.scalar("n"), local("x", dtype=int32)
    total, count = k.var("total", 0), k.var("k", 8)
    sum_, found = k.var("sum", 0.0, float32), k.var("found", False, (n > 0).type)
    unused = k.var("unused", 0)
    with k.for_("i", n) as i:
        new = named(total + i, "total")
        x.set_value(0, new)
        x.set_value(1, new)
        k.assign((total, new), (count, count + -1), (sum_, sum_ * 0.5),
                 (found, x.get_value(i) > 3), (unused, unused + 1))  # fmt: skip
    x.set_value(count, total + convert(sum_, int32))
    with k.if_(found):
        x.set_value(2, 0)


@golden("""
AscendC::LocalTensor<int32_t> x(AscendC::TPosition::VECIN, 0, 1024);
int32_t a = 1;
const int32_t old = a + n;
while (a < n) {
    a *= 2;
}
x.SetValue(a, old);
const int32_t twice = a * 2;
if (n == 1) {
    a = 7;
}
x.SetValue(a, twice);
x.SetValue(a, a * 3);
""")
def reads_stay_before_writes(k: Kernel) -> None:
    n, x = k.scalar("n"), local("x", dtype=int32)
    a = k.var("a", 1)
    old = named(a + n, "old")
    with k.while_():
        with k.if_(a >= n):
            k.jump("break")
        k.assign((a, a * 2))
    x.set_value(a, old)
    twice, triple = named(a * 2, "twice"), None
    with k.if_(n == 1):
        k.assign((a, 7))
    triple = named(a * 3, "triple")
    x.set_value(a, twice)
    x.set_value(a, triple)


@golden("""
AscendC::LocalTensor<int32_t> x(AscendC::TPosition::VECIN, 0, 1024);
int32_t n = 10;
const int32_t stop = n;
for (int32_t i = 0; i < stop; ++i) {
    n = i;
}
const int32_t value = n * 2;
for (int32_t i = 0; i < value; ++i) {
    n = i;
}
for (int32_t i = n * 2 + 1; i > -1; i -= 2) {
    for (int32_t i_1 = 0; i_1 < (n & 3); i_1 += 4) {
        x.SetValue(i, i_1);
    }
    for (uint64_t i_1 = 4294967296ULL; i_1 > 3; --i_1) {
        x.SetValue(i, n);
    }
    for (int32_t i_1 = 0; i_1 < 8; i_1 += n) {
        break;
    }
}
""")
def for_loops(k: Kernel) -> None:
    x = local("x", dtype=int32)
    n = k.var("n", 10)
    with k.for_("i", n) as i:
        k.assign((n, i))
    with k.for_("i", n * 2) as i:
        k.assign((n, i))
    with k.for_("i", -1, n * 2 + 1, -2) as i:
        with k.for_("i", n & 3, step=4) as j:
            x.set_value(i, j)
        with k.for_("i", 3, 2**32, -1, uint64):
            x.set_value(i, n)
        with k.for_("i", 8, step=n):
            k.jump("break")
    with k.for_("empty", n):
        pass


@golden("""
AscendC::LocalTensor<int32_t> x(AscendC::TPosition::VECIN, 0, 1024);
int32_t i = 0;
while (i < n) {
    const int32_t i_1 = i + 1;
    if (i_1 % 3 == 0) {
        i = i_1;
        continue;
    }
    x.SetValue(i_1, i);
    i = i_1;
}
while (!(f < 0.5f)) {
    x.SetValue(0, 1);
}
while (n < 3 || n >= 10) {
    x.SetValue(0, 1);
}
while (true) {
    const int32_t value = x.GetValue(0);
    if (value > n) {
        break;
    }
    x.SetValue(1, value);
}
while (true) {
    x.SetValue(1, 1);
    const int32_t value = x.GetValue(1);
    if (value == 0) {
        break;
    }
}
while (true) {
    if (n == 4) {
        x.SetValue(1, 4);
        break;
    }
    x.SetValue(2, 1);
}
""")
def while_loops(k: Kernel) -> None:
    n, f, x = k.scalar("n"), k.scalar("f", float32), local("x", dtype=int32)
    n._nonneg = True
    i = k.var("i", 0)
    with k.while_():
        with k.if_(i < n):
            pass
        with k.else_():
            k.jump("break")
        i_next = named(i + 1, "i")
        i_next._nonneg = True
        with k.if_(i_next % 3 == 0):
            k.assign((i, i_next))
            k.jump("continue")
        x.set_value(i_next, i)
        k.assign((i, i_next))
    with k.while_():
        with k.if_(f < 0.5):
            k.jump("break")
        x.set_value(0, 1)
        k.jump("continue")
    with k.while_():
        with k.if_((n < 3) | (n >= 10)):
            x.set_value(0, 1)
        with k.else_():
            k.jump("break")
    with k.while_():
        value = x.get_value(0)
        with k.if_(value > n):
            k.jump("break")
        x.set_value(1, value)
    with k.while_():
        x.set_value(1, 1)
        with k.if_(x.get_value(1) == 0):
            k.jump("break")
    with k.while_():
        with k.if_(n == 4):
            x.set_value(1, 4)
            k.jump("break")
        x.set_value(2, 1)


@golden("""
AscendC::LocalTensor<int32_t> x(AscendC::TPosition::VECIN, 0, 1024);
for (int32_t i = 0; i < n; ++i) {
    if (i == 3) {
        x.SetValue(0, i);
    } else if (i == 4) {
        x.SetValue(1, i);
    } else {
        if (i == 5) {
            continue;
        }
        x.SetValue(2, i);
    }
}
int32_t last = 0;
for (int32_t i = 0; i < n; ++i) {
    if (i == 3) {
        last = i;
        continue;
    }
    x.SetValue(2, i);
    if (i > 4) {
        x.SetValue(3, last);
    }
}
""")
def continues(k: Kernel) -> None:
    n, x = k.scalar("n"), local("x", dtype=int32)
    with k.for_("i", n) as i:
        with k.if_(i == 3):
            x.set_value(0, i)
            k.jump("continue")
        with k.if_(i == 4):
            x.set_value(1, i)
            k.jump("continue")
        with k.if_(i == 5):
            k.jump("continue")
        x.set_value(2, i)
        k.jump("continue")
    last = k.var("last", 0)
    with k.for_("i", n) as i:
        with k.if_(i == 3):
            k.assign((last, i))
            k.jump("continue")
        x.set_value(2, i)
        with k.if_(i > 4):
            x.set_value(3, last)
            k.jump("continue")
        with k.else_():
            k.jump("continue")


@golden(r"""
AscendC::LocalTensor<float> x(AscendC::TPosition::VECIN, 0, 1024);
if (n == 0) {
    x.SetValue(0, 1.0f);
} else if (n == 1) {
    x.SetValue(0, 2.0f);
} else if (n * n <= 9) {
    x.SetValue(0, 4.0f);
}
if (!(f < 0.5f)) {
    x.SetValue(0, 5.0f);
}
if (f != 0.5f) {
    x.SetValue(0, 6.0f);
}
if (n >= 2) {
    AscendC::printf("assert n < 2: 100%% \"sure\"?\n");
    AscendC::Trap();
}
if (n == 1) {
    x.SetValue(0, 2.0f);
    return;
}
const float v = x.GetValue(1);
if (v > 3.0f) {
    return;
}
x.SetValue(1, v);
""")
def branches(k: Kernel) -> None:
    n, f, x = k.scalar("n"), k.scalar("f", float32), local("x")
    dead = k.var("dead", 0)
    with k.if_(n == 0):
        x.set_value(0, 1)
    with k.else_(), k.if_(n == 1):
        x.set_value(0, 2)
    arm = k._last_if
    k.recorder.block = arm.orelse
    with k.if_(n * n > 9):
        k.assign((dead, dead + 1))
    with k.else_():
        x.set_value(0, 4)
    k.recorder.block = k.trace.body
    with k.if_(f < 0.5):
        pass
    with k.else_():
        x.set_value(0, 5)
    with k.if_(logical_not(f == 0.5)):
        x.set_value(0, 6)
    with k.if_(n < 2):
        pass
    with k.else_():
        k.jump("trap", 'assert n < 2: 100% "sure"?')
    with k.if_(n == 1):
        x.set_value(0, 2)
        k.jump("return")
    with k.else_():
        v = named(x.get_value(1), "v")
    with k.if_(v > 3.0):
        k.jump("return")
    x.set_value(1, v)
    k.jump("return")


@golden("""
AscendC::LocalTensor<float> x(AscendC::TPosition::VECIN, 0, 1024);
AscendC::LocalTensor<float> y(AscendC::TPosition::VECIN, 4096, 1024);
AscendC::LocalTensor<float> t = n > 3 ? x : y;
int32_t k = (n == 1 || n > 7) ? n * 2 : -1;
float far = f < 0.5f ? 1.0f : f;
int32_t after;
if (n < 0) {
    after = n;
} else {
    t.SetValue(0, 1.0f);
    after = 5;
}
t.SetValue(k, far + static_cast<float>(after));
""")
def choices(k: Kernel) -> None:
    n, f = k.scalar("n"), k.scalar("f", float32)
    x, y = local("x"), local("y", 4096)
    t = k.var("t", None, x.type)
    with k.if_(n > 3):
        k.assign((t, x))
    with k.else_():
        k.assign((t, y))
    near = k.var("k")
    with k.if_((n == 1) | (n > 7)):
        k.assign((near, named(n * 2, "double")))
    with k.else_():
        k.assign((near, -1))
    far = k.var("far", None, float32)
    with k.if_(logical_not(f < 0.5)):
        k.assign((far, f))
    with k.else_():
        k.assign((far, 1.0))
    after = k.var("after")
    with k.if_(n < 0):
        k.assign((after, n))
    with k.else_():
        t.set_value(0, 1)
        k.assign((after, 5))
    t.set_value(near, far + convert(after, float32))


@golden("""
AscendC::GlobalTensor<float> x_gm;
x_gm.SetGlobalBuffer(x);
AscendC::GlobalTensor<float> before = x_gm[n];
x_gm.SetGlobalBuffer(x + n);
AscendC::LocalTensor<float> t(AscendC::TPosition::VECIN, 0, 64);
AscendC::DataCopy(t, before, 64);
AscendC::DataCopy(t, x_gm[64], 64);
AscendC::GlobalTensor<float> twice = x_gm[n * 2];
AscendC::DataCopy(t, twice, 64);
AscendC::DataCopy(twice, t, 64);
__gm__ float* p = x + 8;
AscendC::GlobalTensor<float> y_gm;
y_gm.SetGlobalBuffer(p);
AscendC::GlobalTensor<float> y_gm_1;
y_gm_1.SetGlobalBuffer(p, 64);
t.GetValue(3);
""")
def views(k: Kernel) -> None:
    x, n = k.pointer("x"), k.scalar("n")
    x_gm = global_tensor("x_gm", x)
    before = named(x_gm[n:], "before")
    x_gm.set_global_buffer(x + n)
    t = local("t", 0, 64)
    data_copy_(t, before, 64)
    data_copy_(t, x_gm[64:], 64)
    twice = named(x_gm[n * 2 : n * 3], "twice")
    data_copy_(t, twice, 64)
    data_copy_(twice, t, 64)
    p = named(x + 8, "p")
    global_tensor("y_gm", p)
    named(type(x_gm)(), "y_gm").set_global_buffer(p, 64)
    t.get_value(3)
    named(t[n:], "unused")


@golden("""
AscendC::LocalTensor<int32_t> half_(AscendC::TPosition::VECIN, 0, 1024);
int32_t v = half_.GetValue(0);
half_.SetValue(v, v);
v = half_.GetValue(1);
const int32_t v_1 = half_.GetValue(2);
half_.SetValue(v, v_1);
v = half_.GetValue(3);
const float int_ = static_cast<float>(v) + 0.5f;
half_.SetValue(0, static_cast<int32_t>(int_));
half_.SetValue(1, static_cast<int32_t>(int_));
if (n_1 > 0) {
    const int32_t v_2 = half_.GetValue(4);
    half_.SetValue(v_2, v_2);
    half_.SetValue(v, v);
}
if (n_1 > 1) {
    const int32_t e = half_.GetValue(5);
    half_.SetValue(e, e);
}
AscendC::LocalTensor<int32_t> tile(AscendC::TPosition::VECIN, 32, 8);
const int32_t value = tile.GetValue(0);
const bool cond = value > n;
half_.SetValue(value, cond ? value : static_cast<int32_t>(cond));
""")
def names(k: Kernel) -> None:
    n_, n = k.scalar("n"), k.scalar("n")
    x = local("half", dtype=int32)
    v = named(x.get_value(0), "v")
    x.set_value(v, v)
    v = named(x.get_value(1), "v")
    w = named(x.get_value(2), "v")
    x.set_value(v, w)
    v = named(x.get_value(3), "v")
    r = named(convert(v, float32) + 0.5, "int")
    x.set_value(0, convert(r, int32))
    x.set_value(1, convert(r, int32))
    with k.if_(n > 0):
        u = named(x.get_value(4), "v")
        x.set_value(u, u)
        x.set_value(v, v)
    with k.if_(n > 1):
        u = named(x.get_value(5), "é")
        x.set_value(u, u)
    t = local("TILE", 32, 8, int32)
    value = t.get_value(0)
    cond = value > n_
    x.set_value(value, record(arith.SELECT, (cond, value, convert(cond, int32)), int32))


@pytest.mark.parametrize(("build", "expected"), GOLDEN, ids=[b.__name__ for b, _ in GOLDEN])
def test_body(build: Build, expected: str) -> None:
    with Kernel(build.__name__) as k:
        build(k)
    assert body(emit(k.trace)) == expected


def test_helpers_stand_before_the_kernel() -> None:
    with Kernel("k") as k:
        n = k.scalar("n")
        local("x", dtype=int32).set_value(n % 3, abs(n))
    text = emit(k.trace)
    assert "namespace {\ntemplate <typename T>\n__aicore__ inline T Abs(T a)" in text
    assert "__aicore__ inline T FloorMod(T a, T b)" in text
    assert "FloorDiv" not in text
    assert "Remainder" not in text
    assert text.index("} // namespace") < text.index('extern "C"')
    assert "x.SetValue(FloorMod(n, 3), Abs(n));" in text


def test_a_hook_writes_a_row() -> None:
    spec = OpSpec(
        "test.note", "Note", "test", "", (Form("f", (Param("text", "any"), Param("a", "number"))),)
    )

    @lowers(spec)
    def note(printer: Any, op: tr.Op, plan: Any) -> tuple[str, int]:
        printer.line("// a note")
        return f"note({', '.join(spell(printer, arg) for arg in op.args)})", 2

    try:
        with Kernel() as k:
            n = k.scalar("n")
            k.recorder.record(spec, spec.forms[0], ("a\n", n + 1), None)
        assert body(emit(k.trace)) == '// a note\nnote("a\\n", n + 1);'
    finally:
        del HOOKS[spec]


def test_print() -> None:
    with Kernel() as k:
        n, h, u = k.scalar("n"), k.scalar("h", float16), k.scalar("u", uint64)
        pieces = ("100% n = ", n + 1, ", ", h, " ", u, " ", n > 0, " ", local("x"), "\n")
        k.recorder.record(debug.PRINTF, debug.PRINTF.forms[0], (pieces,), None)
    assert body(emit(k.trace)).splitlines()[1] == (
        'AscendC::printf("100%% n = %d, %f %lu %d `x` (LocalTensor of float32 in VECIN)\\n", '
        "n + 1, static_cast<float>(h), u, static_cast<int32_t>(n > 0));"
    )


def test_a_message_is_printed_once() -> None:
    with Kernel() as k:
        n = k.scalar("n")
        with k.if_(n < 0):
            pieces = ("ValueError: ", n, "\n")
            k.recorder.record(debug.PRINTF, debug.PRINTF.forms[0], (pieces,), None)
            k.jump("trap", "ValueError: {n}")
    assert body(emit(k.trace)).splitlines()[1:3] == [
        '    AscendC::printf("ValueError: %d\\n", n);',
        "    AscendC::Trap();",
    ]


@pytest.mark.parametrize(
    ("python", "cpp"),
    [
        ("x_local", "x_local"),
        ("self.in_queue_x", "in_queue_x"),
        ("int", "int_"),
        ("half", "half_"),
        ("and_eq", "and_eq_"),
        ("TILE", "tile"),
        ("N", "N"),
        ("__x__y", "x_y"),
        ("_", ""),
        ("größe", "groudfe"),
        ("名", "u540d"),
        ("1x", "v1x"),
        ("FloorDiv", "FloorDiv_"),
        ("linux", "linux_"),
    ],
)
def test_identifier(python: str, cpp: str) -> None:
    assert identifier(python) == cpp


@pytest.mark.parametrize(
    ("python", "cpp"),
    [
        ("add", "add"),
        ("<lambda>", "lambda"),
        ("exp", "exp_kernel"),
        ("double", "double_kernel"),
        ("?", "kernel"),
        ("KernelAdd.run", "KernelAdd_run"),
    ],
)
def test_kernel_name(python: str, cpp: str) -> None:
    trace = Kernel(python).trace
    assert kernel_name(trace) == cpp
    assert f" void {cpp}()\n" in emit(trace)


def test_header_comment() -> None:
    with Kernel("k") as k:
        k.pointer("x")
        k.pointer("y", float16)
        k.pointer("z")
        k.trace.constants |= {
            "dtype": float16, "f": max, "o": object(), "text": "a\nb\\", "a": np.float32(0.5)
        }  # fmt: skip
    assert emit(k.trace).splitlines()[0] == (
        "// k: asctrace 0.1.0, Ascend910B1. x, z: float32, y: float16; dtype = float16, f = max, "
        "o = object, text = 'a\\nb\\\\', a = np.float32(0.5)"
    )


def test_empty_kernel() -> None:
    with Kernel("nothing") as k:
        n = k.scalar("n")
        named(n + 1, "unused")
    assert emit(k.trace).endswith("void nothing(int32_t n)\n{\n}\n")


SCRIPT = """
import sys
sys.path[:0] = {path!r}
from tests.test_lowering_text import GOLDEN, Kernel, emit, vadd
print(emit(vadd()))
for build, _ in GOLDEN:
    with Kernel(build.__name__) as k:
        build(k)
    print(emit(k.trace))
"""


def test_the_same_in_every_process() -> None:
    texts = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT.format(path=sys.path)],
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(texts) == 1
    assert "vadd_kernel" in texts.pop()


def test_emitting_twice_gives_the_same_text() -> None:
    trace = vadd(4)
    assert emit(trace) == emit(trace)
