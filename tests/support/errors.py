"""Kernels that break a rule of the chip, of the launch or of the library: the other codes."""

from __future__ import annotations

from .rows import Refused, refused

ROWS: list[Refused] = [
    refused(
        "AT0102",
        "chip-has-no-such-dtype",
        "A dtype that the chip does not execute",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress):
            local = asc.LocalTensor(asc.int8, asc.TPosition.VECCALC, 0, 64)
            asc.add(local, local, local, 64)
        """,
    ),
    refused(
        "AT0102",
        "dtypes-differ",
        "Operands of two dtypes",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            local = asc.LocalTensor(asc.float16, asc.TPosition.VECIN, 0, 64)
            asc.data_copy(local, gm, 16)
        """,
    ),
    refused(
        "AT0103",
        "length",
        "A copy that is no multiple of 32 bytes",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            local = asc.LocalTensor(out.dtype, asc.TPosition.VECIN, 0, 64)
            asc.data_copy(local, gm, 7)
        """,
    ),
    refused(
        "AT0103",
        "runtime-length",
        "The same, known at run time",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            local = asc.LocalTensor(out.dtype, asc.TPosition.VECIN, 0, 64)
            asc.data_copy(local, gm, n)
        """,
        9,
    ),
    refused(
        "AT0104",
        "buffers",
        "Buffers beyond the memory",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress):
            pipe = asc.TPipe()
            queue_in = asc.TQue(asc.TPosition.VECIN, 2)
            queue_out = asc.TQue(asc.TPosition.VECOUT, 2)
            pipe.init_buffer(queue_in, 2, 65536)
            pipe.init_buffer(queue_out, 2, 65536)
        """,
    ),
    refused(
        "AT0105",
        "outside",
        "An operation called outside a kernel",
        """
        block = asc.get_block_idx()
        """,
    ),
    refused(
        "AT0106",
        "no-overload",
        "Arguments that fit no overload",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            local = asc.LocalTensor(out.dtype, asc.TPosition.VECIN, 0, 64)
            asc.data_copy(local, gm, "all")
        """,
    ),
    refused(
        "AT0106",
        "slice-step",
        "A slice of a tensor with a step",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm[0:8:2].set_value(0, 1)
        """,
    ),
    refused(
        "AT0108",
        "repeats",
        "More repeats than an instruction has",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress):
            local = asc.LocalTensor(asc.float32, asc.TPosition.VECCALC, 0, 8192)
            params = asc.BinaryRepeatParams(1, 1, 1, 8, 8, 8)
            asc.add(local, local, local, 64, 256, params)
        """,
    ),
    refused(
        "AT0108",
        "constant",
        "A constant that its operand cannot hold",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, n + (1 << 80))
        """,
        1,
    ),
    refused(
        "AT0113",
        "argument",
        "A launch argument of the wrong kind",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, n)
        """,
        1 << 40,
    ),
    refused(
        "AT0113",
        "too-few",
        "A launch with too few arguments",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, n)
        """,
    ),
    refused(
        "AT0115",
        "leaked",
        "A runtime value used after its trace",
        """
        kept = []


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            if kept:
                gm.set_value(0, kept[0])
            kept.append(n)


        import numpy as np

        kernel.trace(np.zeros(1, np.int32), 1)
        """,
        1,
    ),
    refused(
        "AT0116",
        "position",
        "A tensor in a memory that the operation does not reach",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            local = asc.LocalTensor(out.dtype, asc.TPosition.CO1, 0, 64)
            asc.data_copy(local, gm, 16)
        """,
    ),
    refused(
        "AT0117",
        "overlap",
        "A source and a destination that share a part",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress):
            local = asc.LocalTensor(asc.float32, asc.TPosition.VECCALC, 0, 128)
            asc.add(local[8:], local, local, 64)
        """,
    ),
    refused(
        "AT0201",
        "array",
        "An access beyond an array",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(n, 1)
        """,
        16,
    ),
    refused(
        "AT0202",
        "enqueued-twice",
        "A tensor used between enque and deque",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            pipe = asc.TPipe()
            queue = asc.TQue(asc.TPosition.VECIN, 1)
            pipe.init_buffer(queue, 1, 64)
            local = queue.alloc_tensor(out.dtype)
            asc.data_copy(local, gm, 16)
            queue.enque(local)
            asc.data_copy(gm, local, 16)
            queue.free_tensor(queue.deque(out.dtype))
        """,
    ),
    refused(
        "AT0203",
        "never-written",
        "A read of memory that was never written",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            local = asc.LocalTensor(out.dtype, asc.TPosition.VECIN, 0, 16)
            asc.data_copy(gm, local, 16)
        """,
    ),
    refused(
        "AT0204",
        "never-set",
        "A wait for an event that nothing sets",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress):
            asc.wait_flag(asc.HardEvent.MTE2_V, 0)
        """,
    ),
    refused(
        "AT0208",
        "no-event",
        "A vector function that does not wait for the copy before it",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            local = asc.LocalTensor(out.dtype, asc.TPosition.VECIN, 0, 16)
            asc.data_copy(local, gm, 16)
            asc.add(local, local, local, 16)
        """,
    ),
    refused(
        "AT0209",
        "neighbour",
        "A block that reads what another block writes",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            local = asc.LocalTensor(out.dtype, asc.TPosition.VECIN, 0, 8)
            asc.data_copy(local, gm, 8)
            asc.set_flag(asc.HardEvent.MTE2_MTE3, 0)
            asc.wait_flag(asc.HardEvent.MTE2_MTE3, 0)
            asc.data_copy(gm[8 * asc.get_block_idx() :], local, 8)
        """,
        blocks=2,
    ),
    refused(
        "AT0210",
        "cached",
        "A copy of what the scalar unit has just stored",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, 1)
            asc.set_flag(asc.HardEvent.S_MTE2, 0)
            asc.wait_flag(asc.HardEvent.S_MTE2, 0)
            local = asc.LocalTensor(out.dtype, asc.TPosition.VECIN, 0, 16)
            asc.data_copy(local, gm, 16)
        """,
    ),
    refused(
        "AT0211",
        "mask-of-the-other-mode",
        "A mask set for normal mode in counter mode",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress):
            local = asc.LocalTensor(asc.float32, asc.TPosition.VECCALC, 0, 64)
            asc.duplicate(local, 1.0, 64)
            asc.set_mask_count()
            asc.set_vector_mask(8, dtype=asc.float32)
            asc.adds(local, local, 1.0, 0, 1, asc.UnaryRepeatParams(), is_set_mask=False)
        """,
    ),
    refused(
        "AT0213",
        "atomic-dtype",
        "A copy of integers while atomic writes are of floats",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            local = asc.LocalTensor(out.dtype, asc.TPosition.VECOUT, 0, 16)
            asc.duplicate(local, 1, 16)
            asc.set_flag(asc.HardEvent.V_MTE3, 0)
            asc.wait_flag(asc.HardEvent.V_MTE3, 0)
            asc.set_atomic_add(asc.float32)
            asc.data_copy(gm, local, 16)
        """,
    ),
    refused(
        "AT0212",
        "in-a-branch",
        "A barrier of all blocks that only some come to",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress):
            if asc.get_block_idx() == 0:
                asc.sync_all()
        """,
        blocks=3,
    ),
    refused(
        "AT0304",
        "chip",
        "A chip that is not in the table",
        """
        @asc.jit(soc="Ascend610")
        def kernel(out: asc.GlobalAddress):
            local = asc.LocalTensor(asc.float32, asc.TPosition.VECCALC, 0, 64)
            asc.add(local, local, local, 64)
        """,
    ),
    refused(
        "AT0304",
        "operation",
        "An operation whose support by the chip is not known",
        """
        @asc.jit(soc="Ascend910A")
        def kernel(out: asc.GlobalAddress):
            local = asc.LocalTensor(asc.float32, asc.TPosition.VECCALC, 0, 64)
            asc.fused_mul_add(local, local, local, 64)
        """,
    ),
    refused(
        "AT0304",
        "memory",
        "A position whose memory the chip does not have",
        """
        @asc.jit(soc="Ascend910A")
        def kernel(out: asc.GlobalAddress):
            asc.TBuf(asc.TPosition.C2)
        """,
    ),
    refused(
        "AT0305",
        "no-cann",
        "The device without CANN",
        """
        @asc.jit(backend="npu")
        def kernel(out: asc.GlobalAddress):
            pass
        """,
    ),
    refused(
        "AT0306",
        "copy-between-ub-and-l1",
        "A copy that has no row yet",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress):
            source = asc.LocalTensor(out.dtype, asc.TPosition.VECIN, 0, 64)
            asc.data_copy(asc.LocalTensor(out.dtype, asc.TPosition.A1, 0, 64), source, 64)
        """,
    ),
    refused(
        "AT0307",
        "inline",
        "C++ text in the simulator",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress):
            asc.inline("AscendC::PipeBarrier<PIPE_ALL>();")
        """,
    ),
    refused(
        "AT0308",
        "automatic-and-placed",
        "An automatic tensor beside one at an address",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            local = asc.LocalTensorAuto(out.dtype, 64)
            other = asc.LocalTensor(out.dtype, asc.TPosition.VECIN, 0, 64)
            asc.data_copy(local, gm, 64)
            asc.add(other, local, local, 64)
        """,
    ),
    refused(
        "AT0308",
        "automatic-size",
        "An automatic tensor whose size changes from iteration to iteration",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            for i in asc.range(n):
                local = asc.LocalTensorAuto(out.dtype, (i + 1) * 8)
                asc.data_copy(local, gm, 8)
        """,
        2,
    ),
    refused(
        "AT0401",
        "environment",
        "A setting that cannot be",
        """
        import os

        os.environ["ASCTRACE_UNROLL_LIMIT"] = "many"


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, n)
        """,
        1,
    ),
    refused(
        "AT0501",
        "place",
        "A text that the compiler refuses, at a place that comes from a line",
        """
        @asc.jit(backend="npu")
        def kernel(out: asc.GlobalAddress):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            asc.inline("gm.NoSuchCall();")
        """,
    ),
    refused(
        "AT0501",
        "header",
        "The same inside a header, called from a line",
        """
        @asc.jit(backend="npu")
        def kernel(out: asc.GlobalAddress):
            local = asc.LocalTensor(asc.float32, asc.TPosition.VECCALC, 0, 64)
            asc.add(local, local, local, 64)
        """,
    ),
    refused(
        "AT0501",
        "silent",
        "A compiler that fails and does not say why",
        """
        @asc.jit(backend="npu")
        def kernel(out: asc.GlobalAddress):
            pass
        """,
    ),
    refused(
        "AT0502",
        "jump",
        "A kernel too long for its jumps",
        """
        @asc.jit(backend="npu")
        def kernel(out: asc.GlobalAddress):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            for i in asc.static_range(16):
                gm.set_value(i, i)
        """,
    ),
    refused(
        "AT0503",
        "header",
        "A CANN without the headers",
        """
        @asc.jit(backend="npu")
        def kernel(out: asc.GlobalAddress):
            pass
        """,
    ),
    refused(
        "AT0503",
        "linker",
        "A CANN without the linker",
        """
        @asc.jit(backend="npu")
        def kernel(out: asc.GlobalAddress):
            pass
        """,
    ),
    refused(
        "AT0504",
        "target",
        "A compiler that is older than the chip",
        """
        @asc.jit(backend="npu", soc="Ascend950PR_958b")
        def kernel(out: asc.GlobalAddress):
            pass
        """,
    ),
    refused(
        "AT0504",
        "option",
        "A compiler that does not know an option",
        """
        @asc.jit(backend="npu", bisheng_options=["--magic"])
        def kernel(out: asc.GlobalAddress):
            pass
        """,
    ),
    refused(
        "AT0505",
        "crash",
        "A compiler that crashes",
        """
        @asc.jit(backend="npu")
        def kernel(out: asc.GlobalAddress):
            pass
        """,
    ),
    refused(
        "AT0505",
        "slow",
        "A compiler that takes too long",
        """
        @asc.jit(backend="npu")
        def kernel(out: asc.GlobalAddress):
            pass
        """,
    ),
    refused(
        "AT0601",
        "out-of-bounds",
        "A store behind the end of an array",
        """
        @asc.jit(backend="npu")
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(n, 1)
        """,
        16,
    ),
    refused(
        "AT0602",
        "out-of-memory",
        "No memory left on the device",
        """
        @asc.jit(backend="npu")
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(n, 1)
        """,
        0,
    ),
    refused(
        "AT0603",
        "again",
        "A launch on a device that met a fault",
        """
        import numpy as np


        @asc.jit(backend="npu")
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(n, 1)


        try:
            kernel[1](np.zeros(16, np.int32), 16)
        except asc.KernelError:
            pass
        """,
        0,
    ),
    refused(
        "AT0604",
        "for-linking",
        "A library for linking in place of the runtime",
        """
        @asc.jit(backend="npu")
        def kernel(out: asc.GlobalAddress):
            pass
        """,
    ),
    refused(
        "AT0901",
        "internal",
        "A defect, provoked by taking a part of the tracer away",
        """
        def double(n):
            return 2 * n


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, double(n))
        """,
        1,
    ),
]
