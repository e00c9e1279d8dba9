"""What the example calls of `op_examples` are given: an operand for each kind of parameter.

An operand is Python text and the values that its names stand for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import asctrace as asc
from asctrace.tracer.language.dtypes import float16, float32, int32, uint64
from asctrace.tracer.language.tensor import GlobalTensor
from asctrace.tracer.language.types import HandleType, LocalTensorType
from asctrace.tracer.ops import debug
from asctrace.tracer.ops.functions import load_all
from asctrace.tracer.ops.spec import TABLE, Form, OpSpec, record
from asctrace.tracer.trace import Declare, Value
from tests.lowering_kit import Kernel, global_tensor, local, named, queue

load_all()


class Written(NamedTuple):
    """An argument as Python text, and the values of the names in it."""

    text: str
    names: Mapping[str, Any] = {}


def of(value: Value) -> Written:
    """A value by its name."""
    assert value.name
    return Written(value.name, {value.name: value})


def _value(make: Callable[[Kernel], Any]) -> Callable[[Kernel], Written]:
    return lambda k: of(make(k))


# -- an example of each kind of operand -----------------------------------------------------------


def _queue(k: Kernel) -> Any:
    return queue(asc.TPipe(), "que", "VECIN")


def _buf(k: Kernel) -> Any:
    buf = named(asc.TBuf(asc.TPosition.VECCALC), "buf")
    asc.TPipe().init_buffer(buf, 4096)
    return buf


def _pool(k: Kernel) -> Any:
    pool = named(asc.TBufPool(asc.TPosition.VECIN), "pool")
    asc.TPipe().init_buf_pool(pool, 1024)
    return pool


def _handle(k: Kernel) -> Any:
    """A variable: no kernel can make one or be given one."""
    value = Value(HandleType(), k.trace.body, None, "handle")
    k.trace.body.nodes.append(Declare(value, None, None))
    return value


def _shape(k: Kernel) -> Any:
    tensor = local("shaped")
    tensor.set_shape_info(asc.ShapeInfo((2, 4)))
    return named(tensor.get_shape_info(), "shape_info")


def _lists(k: Kernel) -> Written:
    names = {
        "first": local("first", 8192, 512, float16),
        "second": local("second", 9216, 512, float16),
    }
    return Written("asc.MrgSortSrcList(asc.float16, first, second)", names)


#: What a parameter of each kind is given: text, or a function that makes the value. A new kind
#: needs a line here.
EXAMPLES: dict[str, str | Callable[[Kernel], Written]] = {
    "int": "32",
    "opt_int": "16",
    "number": _value(lambda k: k.scalar("number", int32)),
    "const_int": "2",
    "const_bool": "True",
    "pieces": _value(lambda k: k.scalar("n")),
    "mask": "[0xFF, 0]",
    "dtype": "asc.float32",
    "address": _value(lambda k: k.pointer("address")),
    "global": _value(lambda k: global_tensor("tensor", k.pointer("source"))),
    "local": _value(lambda k: local("local")),
    "tpipe": _value(lambda k: named(asc.TPipe(), "pipe")),
    "queue": _value(_queue),
    "position": "asc.TPosition.VECIN",
    "event": "asc.HardEvent.MTE2_V",
    "pipe_id": "asc.PipeID.PIPE_V",
    "atomic_dtype": "asc.AtomicDtype.ATOMIC_F32",
    "atomic_op": "asc.AtomicOp.ATOMIC_SUM",
    "mem_dsb": "asc.MemDsbT.ALL",
    "cmp_mode": "asc.CMPMODE.EQ",
    "sel_mode": "asc.SelMode.VSEL_TENSOR_TENSOR_MODE",
    "round_mode": "asc.RoundMode.CAST_NONE",
    "vdeq_info": "asc.VdeqInfo()",
    "mask_mode": "asc.MaskMode.NORMAL",
    "reduce_order": "asc.ReduceOrder.ORDER_VALUE_INDEX",
    "binary_repeat": "asc.BinaryRepeatParams()",
    "unary_repeat": "asc.UnaryRepeatParams()",
    "copy_repeat": "asc.CopyRepeatParams(1, 1, 8, 8)",
    "brcb_repeat": "asc.BrcbRepeatParams()",
    "check_params": "asc.CheckLocalMemoryIAParam(1, 2, 3, is_enable=True)",
    "opt_shape_info": "asc.ShapeInfo((2, 4))",
    "blocks": "asc.DataCopyParams(2, 4, 1, 0)",
    "enhanced": "asc.DataCopyEnhancedParams()",
    "ext_blocks": "asc.DataCopyExtParams(2, 12, 4, 1, 0)",
    "pad": "asc.DataCopyPadParams(True, 0, 1, 0)",
    "ext_pad": "asc.DataCopyPadExtParams(asc.float32, True, 0, 1, 0.5)",
    "slices": "[asc.SliceInfo(0, 15, 0, 1, 16), asc.SliceInfo(0, 1, 0, 1, 2)]",
    "slice": "asc.SliceInfo(0, 15, 0, 1, 16)",
    "nd2nz": "asc.Nd2NzParams(1, 4, 20, 0, 20, 4, 1, 0)",
    "nz2nd": "asc.Nz2NdParamsFull(1, 4, 32, 1, 4, 32, 1)",
    "init_const": "asc.InitConstValueParams(2, 4, 1, 0.5)",
    "cache_line": "asc.CacheLine.SINGLE_CACHE_LINE",
    "dcci_dst": "asc.DcciDst.CACHELINE_OUT",
    "gather_repeat": "asc.GatherRepeatParams()",
    "gather_mask_params": "asc.GatherMaskParams()",
    "gather_mask_mode": "asc.GatherMaskMode.DEFAULT",
    "flag": "False",
    "transpose_params": (
        "asc.TransposeParamsExt(1, 2, 16, 16, asc.TransposeType.TRANSPOSE_NCHW2NHWC)"
    ),
    "five_params": "asc.TransDataTo5HDParams()",
    "tensors": lambda k: Written("[tensor] * 16", {"tensor": local("tensor")}),
    "addresses": "[0] * 16",
    "counts": "[32, 32, 0, 0]",
    "four": _value(lambda k: named(asc.array(asc.uint32, 4), "four")),
    "merge_lists": _lists,
    "merge_info": "asc.MrgSort4Info([16, 16], valid_bit=3)",
    "opt_dtype": "None",
    "buf": _value(_buf),
    "pool": _value(_pool),
    "opt_pool": "None",
    "handle": _value(_handle),
    "list_desc": _value(lambda k: named(asc.ListTensorDesc(), "tensors")),
    "tensor_desc": _value(lambda k: named(asc.TensorDesc(float32), "desc")),
    "allocator": _value(lambda k: named(asc.LocalMemAllocator(), "allocator")),
    "hardware": "asc.Hardware.UB",
    "opt_position": "asc.TPosition.VECIN",
    "cache_mode": "asc.CacheMode.CACHE_MODE_DISABLE",
    "cache_rw_mode": "asc.CacheRwMode.READ",
    "shape_info": "asc.ShapeInfo((2, 4))",
    "shape_value": _value(_shape),
    "shape": "(4, 4)",
    "str": '"file.bin"',
    "data": _value(lambda k: named(asc.array(int32, 4), "data")),
    "path": "1",
    "values": "(1, 2)",
    "opt_values": lambda k: Written("(value,)", {"value": k.scalar("value")}),
}


# -- what operands of a row have to do with one another ------------------------------------------


def _fresh(k: Kernel, spec: OpSpec, form: Form) -> dict[str, Written]:
    """Objects that have no memory yet, for the calls that give them some."""
    made = {
        "queue": lambda: asc.TQue(asc.TPosition.VECIN, 2),
        "buf": lambda: asc.TBuf(asc.TPosition.VECCALC),
        "pool": lambda: asc.TBufPool(asc.TPosition.VECIN),
    }
    kind = form.params[1].kind
    name = {"queue": "que", "buf": "buf", "pool": "inner"}[kind]
    found = {form.params[1].name: of(named(made[kind](), name))}
    return {**found, "num": Written("2")} if kind == "queue" else found


def _in_place(k: Kernel, spec: OpSpec, form: Form) -> dict[str, Written]:
    """A tensor to fill, and a queue that fills tensors."""
    if form.name != "in_place":
        return {}
    que = named(asc.TQue(asc.TPosition.VECIN, 0), "que")
    asc.TPipe().init_buffer(que, 1, 512)
    return {"queue": of(que), "tensor": of(named(asc.LocalTensor(float32), "tensor"))}


def _own(k: Kernel, spec: OpSpec, form: Form) -> dict[str, Written]:
    """A tensor of the queue."""
    que = _queue(k)
    return {"queue": of(que), "tensor": of(named(que.alloc_tensor(float32), "tensor"))}


def _whole(k: Kernel, spec: OpSpec, form: Form) -> dict[str, Written]:
    """A count of whole repeats; into the register, sources of one dtype."""
    if form.name.startswith("register"):
        places = zip(form.params[:2], (8192, 16384), strict=True)
        return {
            p.name: of(local(p.name, at, dtype=float16)) for p, at in places if p.kind == "local"
        }
    return {"count": Written("256")}


def _scales(k: Kernel, spec: OpSpec, form: Form) -> dict[str, Written]:
    """Words for the scales."""
    return {form.params[0].name: of(local("vdeq", dtype=uint64))} if form.name == "vector" else {}


def _select(k: Kernel, spec: OpSpec, form: Form) -> dict[str, Written]:
    """A number goes with a mode of its own, the register with bits."""
    if form.name == "register":
        dtype = spec.signatures[k.trace.chip.arch][0][0]
        return {
            form.params[2].name: of(local(form.params[2].name, 16384, dtype=dtype)),
            form.params[5].name: Written("asc.SelMode.VSEL_CMPMASK_SPR"),
        }
    if form.params[3].kind == "number":
        return {form.params[4].name: Written("asc.SelMode.VSEL_TENSOR_SCALAR_MODE")}
    return {}


def _workspaces(k: Kernel, spec: OpSpec, form: Form) -> dict[str, Written]:
    """Workspaces of int32."""
    if not form.params or form.params[0].kind != "global":
        return {}
    first, second = (p.name for p in form.params[:2])
    return {
        first: of(global_tensor(first, k.pointer("words", int32))),
        second: of(local(second, dtype=int32)),
    }


def _shape_array(k: Kernel, spec: OpSpec, form: Form) -> dict[str, Written]:
    """An array of uint64 for the shape."""
    return {form.params[-1].name: of(named(asc.array(uint64, 4), "shape"))}


def _cast(k: Kernel, spec: OpSpec, form: Form) -> dict[str, Written]:
    """A dtype and a mode that goes with it."""
    return {"dtype": Written("asc.int32"), "round_mode": Written("asc.RoundMode.CAST_RINT")}


def _blocks(k: Kernel, spec: OpSpec, form: Form) -> dict[str, Written]:
    """Operands apart, matrices in L1, as many slices as dimensions."""
    if spec.name == "init_const_value" or form.name.startswith("nd2nz"):
        return {"dst": of(named(asc.LocalTensor(float32, asc.TPosition.A1, 0, 1024), "dst"))}
    if "local" in form.name:
        return {"src": of(local("src", 8192))}
    return {form.params[4].name: Written("2")} if form.name.startswith("slices") else {}


def _length(k: Kernel, spec: OpSpec, form: Form) -> dict[str, Written]:
    """A length that only the device knows, where that is another overload."""
    return {"tile_size": of(k.scalar("n"))} if form.name == "runtime" else {}


def _preload(k: Kernel, spec: OpSpec, form: Form) -> dict[str, Written]:
    """A tensor of the one dtype that there is."""
    return {"src": of(global_tensor("src", k.pointer("lines", uint64)))}


def _image(k: Kernel, spec: OpSpec, form: Form) -> dict[str, Written]:
    """Elements of two bytes, and room for what the call needs."""
    found = {n: of(local(n, 8192 * i, 2048, asc.uint16)) for i, n in enumerate(("dst", "src"))}
    if form.name == "extended":
        scratch = form.params[2].name
        found[scratch] = of(local(scratch, 65536, 8192, asc.uint8))
    return found


def _addresses(k: Kernel, spec: OpSpec, form: Form) -> dict[str, Written]:
    """Tensors, or their addresses; stored addresses say nothing of the elements."""
    first, second = (p.name for p in form.params[:2])
    if form.name == "stored":
        found = {n: of(local(n, 4096 * i, 16, uint64)) for i, n in enumerate((first, second))}
        return {**found, form.params[3].name: Written("asc.float16")}
    element = "{0}[16 * i :]" if form.name == "tensors" else "{0}.get_phy_addr(16 * i)"
    return {
        param: Written(
            f"[{element.format(name)} for i in range(16)]",
            {name: local(name, 8192 * i, 256, float16)},
        )
        for i, (param, name) in enumerate(((first, "dst"), (second, "src")))
    }


def _merge(k: Kernel, spec: OpSpec, form: Form) -> dict[str, Written]:
    """Two lists, and an array only for a merge that fills it."""
    if form.name == "info":
        return {}
    names = [p.name for p in form.params]
    found = {names[2]: "[32, 32, 0, 0]", names[4]: "3", names[5]: "1"}
    if form.name == "array":
        found[names[6]] = "True"
    return {name: Written(text) for name, text in found.items()}


#: What operands of a row have to do with one another: those that are not as they are elsewhere.
RELATED: dict[str, Callable[[Kernel, OpSpec, Form], dict[str, Written]]] = {
    **dict.fromkeys(
        ("TPipe.init_buffer", "TBufPool.init_buffer", "TPipe.init_buf_pool",
         "TBufPool.init_buf_pool"), _fresh,
    ),
    **dict.fromkeys(("TQue.alloc_tensor", "TQue.deque"), _in_place),
    **dict.fromkeys(("TQue.enque", "TQue.free_tensor"), _own),
    **dict.fromkeys(("compare", "compare_scalar"), _whole),
    "select": _select,
    "set_deq_scale": _scales,
    **dict.fromkeys(("scalar_cast", "LocalTensor.reinterpret_cast"), _cast),
    **dict.fromkeys(("ListTensorDesc.get_desc", "TensorDesc.set_shape_addr"), _shape_array),
    **dict.fromkeys([s.name for s in TABLE.values() if s.family == "block_sync"], _workspaces),
    **dict.fromkeys(("data_copy", "init_const_value"), _blocks),
    "data_cache_preload": _preload,
    "LocalMemAllocator.alloc": _length,
    "transpose": _image,
    "trans_data_to_5hd": _addresses,
    "mrg_sort": _merge,
}  # fmt: skip


class Pair(asc.Struct):
    """A struct of a kernel's own."""

    first = asc.Field(int32)
    second = asc.Field(int32, default=2)


def _joined(k: Kernel) -> Written:
    """A tensor whose size only the device knows, as two arms of a branch leave it."""
    tensor = named(GlobalTensor.view(float32, k.trace.body, None), "tensor")
    k.trace.body.nodes.append(Declare(tensor, None, None))
    return Written("tensor.get_size()", {"tensor": tensor})


def _described(k: Kernel) -> Written:
    """A description with an array for the shape."""
    desc = named(asc.TensorDesc(float32), "desc")
    desc.set_shape_addr(named(asc.array(uint64, 4), "shape"))
    tensors = named(asc.ListTensorDesc(), "tensors")
    return Written("tensors.get_desc(desc, 1)", {"tensors": tensors, "desc": desc})


#: Calls that are not written as the row's parameters are.
MADE: dict[str, Callable[[Kernel], Written]] = {
    "Array": lambda k: Written("asc.array(asc.int32, (1, 2))"),
    "Struct.__init__": lambda k: Written("Pair(first=1)", {"Pair": Pair}),
    "Struct.create_local": lambda k: Written(
        "pair.create_local()", {"pair": named(Pair(first=1), "pair")}
    ),
    "inline": lambda k: Written('asc.inline("// $0", (value,))', {"value": k.scalar("value")}),
    "GlobalTensor.get_size": _joined,
    "LocalTensor.get_size": lambda k: Written(
        "tensor.get_size()",
        {"tensor": k.var("tensor", type=LocalTensorType(float32, asc.TPosition.VECIN))},
    ),
    "ListTensorDesc.get_desc": _described,
    "LocalTensorAuto.__init__": lambda k: Written("asc.LocalTensorAuto(asc.float32, 256)"),
    "LocalTensor-empty": lambda k: Written("asc.LocalTensor(asc.float32)"),
    "printf-pieces": lambda k: Written(
        'print("n =", n)',
        {
            "print": lambda *values: record(
                debug.PRINTF, debug.PRINTF.forms[0], (("n = ", values[1], "\n"),), k.recorder
            ),
            "n": k.scalar("n"),
        },
    ),
    "printf-format": lambda k: Written('asc.printf("n = %d\\n", n)', {"n": k.scalar("n")}),
}

#: The same for names whose range is narrower.
BY_NAME: dict[str, str] = {
    "num": "512", "len": "512", "id": "3", "core_version": "0",
    "event_id": "3", "flag_id": "3", "index": "1", "count_value": "1", "pre_fetch_len": "2",
    "repeat_times": "2", "repeat_time": "2", "dim": "1",
    "dst_block_stride": "1", "dst_repeat_stride": "8",
    "size": "16", "buf_offset": "64", "src_base": "0", "dst_base": "0", "src1_pattern": "1",
    "mode_number": "4", "v_r_offset": "128", "h_repeat": "2", "v_repeat": "2",
    "dst_blk_stride": "1", "mask_high": "0", "repeat": "2", "dst_rep_stride": "1",
    "src_blk_stride": "1", "src_rep_stride": "8",
}  # fmt: skip
