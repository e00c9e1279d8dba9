"""Every row of the op table is complete, and its text is what the table promises."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

import asctrace as asc
from asctrace.lowering.text import emit
from asctrace.runtime.simulator import compile_trace
from asctrace.runtime.simulator.registry import EMITTERS, EXECUTORS, simulated
from asctrace.tracer.chip import Chip
from asctrace.tracer.language.dtypes import DataType, bool_, float16, float32, int32, uint64
from asctrace.tracer.language.scalar import Scalar
from asctrace.tracer.language.types import (
    GlobalPointerType,
    HandleType,
    LocalTensorType,
    StructType,
)
from asctrace.tracer.ops import debug
from asctrace.tracer.ops.functions import load_all
from asctrace.tracer.ops.spec import (
    KINDS,
    PIPES,
    ROLES,
    TABLE,
    Form,
    OpFunction,
    OpSpec,
    Param,
    record,
)
from asctrace.tracer.trace import Declare, Value
from tests.chips import chip_of
from tests.lowering_kit import Kernel, body, global_tensor, local, named, queue

ROOT = Path(__file__).resolve().parent.parent

load_all()
ROWS = list(TABLE.values())
FORMS = [
    pytest.param(spec, form, id=f"{spec.name}-{form.name}") for spec in ROWS for form in spec.forms
]


# -- an example of each kind of operand -----------------------------------------------------------


def _queue(k: Kernel) -> Any:
    return queue(asc.TPipe(), "que", "VECIN")


def _buf(k: Kernel) -> Any:
    buf = named(asc.TBuf(asc.TPosition.VECCALC), "buf")
    asc.TPipe().init_buffer(buf, 1024)
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


#: What a parameter of each kind is given. A new kind needs a line here.
EXAMPLES: dict[str, Callable[[Kernel], Any]] = {
    "int": lambda k: 32,
    "opt_int": lambda k: 16,
    "number": lambda k: k.scalar("number", int32),
    "const_int": lambda k: 2,
    "const_bool": lambda k: True,
    "pieces": lambda k: ("n = ", k.scalar("n"), "\n"),
    "mask": lambda k: [0xFF, 0],
    "dtype": lambda k: float32,
    "address": lambda k: k.pointer("address"),
    "global": lambda k: global_tensor("tensor", k.pointer("source")),
    "local": lambda k: local("local"),
    "tpipe": lambda k: named(asc.TPipe(), "pipe"),
    "queue": _queue,
    "position": lambda k: asc.TPosition.VECIN,
    "event": lambda k: asc.HardEvent.MTE2_V,
    "pipe_id": lambda k: asc.PipeID.PIPE_V,
    "atomic_dtype": lambda k: asc.AtomicDtype.ATOMIC_F32,
    "atomic_op": lambda k: asc.AtomicOp.ATOMIC_SUM,
    "mem_dsb": lambda k: asc.MemDsbT.ALL,
    "cmp_mode": lambda k: asc.CMPMODE.EQ,
    "sel_mode": lambda k: asc.SelMode.VSEL_TENSOR_TENSOR_MODE,
    "round_mode": lambda k: asc.RoundMode.CAST_NONE,
    "vdeq_info": lambda k: asc.VdeqInfo(),
    "mask_mode": lambda k: asc.MaskMode.NORMAL,
    "reduce_order": lambda k: asc.ReduceOrder.ORDER_VALUE_INDEX,
    "binary_repeat": lambda k: asc.BinaryRepeatParams(),
    "unary_repeat": lambda k: asc.UnaryRepeatParams(),
    "copy_repeat": lambda k: asc.CopyRepeatParams(1, 1, 8, 8),
    "brcb_repeat": lambda k: asc.BrcbRepeatParams(),
    "check_params": lambda k: asc.CheckLocalMemoryIAParam(1, 2, 3, is_enable=True),
    "opt_shape_info": lambda k: asc.ShapeInfo((2, 4)),
    "blocks": lambda k: asc.DataCopyParams(2, 4, 1, 0),
    "enhanced": lambda k: asc.DataCopyEnhancedParams(),
    "ext_blocks": lambda k: asc.DataCopyExtParams(2, 12, 4, 1, 0),
    "pad": lambda k: asc.DataCopyPadParams(True, 0, 1, 0),
    "ext_pad": lambda k: asc.DataCopyPadExtParams(float32, True, 0, 1, 0.5),
    "slices": lambda k: [asc.SliceInfo(0, 15, 0, 1, 16), asc.SliceInfo(0, 1, 0, 1, 2)],
    "slice": lambda k: asc.SliceInfo(0, 15, 0, 1, 16),
    "nd2nz": lambda k: asc.Nd2NzParams(1, 4, 20, 0, 20, 4, 1, 0),
    "nz2nd": lambda k: asc.Nz2NdParamsFull(1, 4, 32, 1, 4, 32, 1),
    "init_const": lambda k: asc.InitConstValueParams(2, 4, 1, 0.5),
    "cache_line": lambda k: asc.CacheLine.SINGLE_CACHE_LINE,
    "dcci_dst": lambda k: asc.DcciDst.CACHELINE_OUT,
    "gather_repeat": lambda k: asc.GatherRepeatParams(),
    "gather_mask_params": lambda k: asc.GatherMaskParams(),
    "gather_mask_mode": lambda k: asc.GatherMaskMode.DEFAULT,
    "flag": lambda k: False,
    "transpose_params": lambda k: asc.TransposeParamsExt(
        1, 2, 16, 16, asc.TransposeType.TRANSPOSE_NCHW2NHWC
    ),
    "five_params": lambda k: asc.TransDataTo5HDParams(),
    "tensors": lambda k: [
        local("place", 64 * (k.trace.count_ops() + 1), 16, asc.float16) for _ in range(16)
    ],
    "addresses": lambda k: [local("place", 512 * i, 16).get_phy_addr() for i in range(16)],
    "counts": lambda k: [32, 32, 0, 0],
    "four": lambda k: named(asc.array(asc.uint32, 4), "four"),
    "merge_lists": lambda k: asc.MrgSortSrcList(
        float16, local("a", 8192, 512, float16), local("b", 9216, 512, float16)
    ),
    "merge_info": lambda k: asc.MrgSort4Info([16, 16], valid_bit=3),
    "opt_dtype": lambda k: None,
    "buf": _buf,
    "pool": _pool,
    "opt_pool": lambda k: None,
    "handle": _handle,
    "list_desc": lambda k: named(asc.ListTensorDesc(), "tensors"),
    "tensor_desc": lambda k: named(asc.TensorDesc(float32), "desc"),
    "allocator": lambda k: named(asc.LocalMemAllocator(), "allocator"),
    "hardware": lambda k: asc.Hardware.UB,
    "opt_position": lambda k: asc.TPosition.VECIN,
    "cache_mode": lambda k: asc.CacheMode.CACHE_MODE_DISABLE,
    "cache_rw_mode": lambda k: asc.CacheRwMode.READ,
    "shape_info": lambda k: asc.ShapeInfo((2, 4)),
    "shape_value": lambda k: _shape(k),
    "shape": lambda k: (4, 4),
    "str": lambda k: "file.bin",
    "data": lambda k: named(asc.array(int32, 4), "data"),
    "path": lambda k: (1,),
    "values": lambda k: (1, 2),
    "opt_values": lambda k: (k.scalar("value"),),
}


def _shape(k: Kernel) -> Any:
    tensor = local("shaped")
    tensor.set_shape_info(asc.ShapeInfo((2, 4)))
    return tensor.get_shape_info()


def _fresh(k: Kernel, spec: OpSpec, form: Form, args: list[Any]) -> None:
    """Objects that have no memory yet, for the calls that give them some."""
    made = {
        "queue": lambda: asc.TQue(asc.TPosition.VECIN, 2),
        "buf": lambda: asc.TBuf(asc.TPosition.VECCALC),
        "pool": lambda: asc.TBufPool(asc.TPosition.VECIN),
    }
    args[1] = named(made[form.params[1].kind](), "fresh")


def _in_place(k: Kernel, spec: OpSpec, form: Form, args: list[Any]) -> None:
    """A tensor to fill, and a queue that fills tensors."""
    if form.name == "in_place":
        args[0] = named(asc.TQue(asc.TPosition.VECIN, 0), "que")
        asc.get_tpipe_ptr().init_buffer(args[0], 1, 512)
        args[1] = named(asc.LocalTensor(float32), "tensor")


def _own(k: Kernel, spec: OpSpec, form: Form, args: list[Any]) -> None:
    """A tensor of the queue."""
    args[1] = args[0].alloc_tensor(float32)


def _whole(k: Kernel, spec: OpSpec, form: Form, args: list[Any]) -> None:
    """A count of whole repeats; into the register, sources of one dtype."""
    if form.name.startswith("register"):
        args[:2] = [local(name, 8192, dtype=asc.float16) for name in ("left", "right")]
    if form.name == "count":
        args[4] = 256


def _scales(k: Kernel, spec: OpSpec, form: Form, args: list[Any]) -> None:
    """Words for the scales."""
    if form.name == "vector":
        args[0] = local("vdeq", dtype=asc.uint64)


def _select(k: Kernel, spec: OpSpec, form: Form, args: list[Any]) -> None:
    """A number goes with a mode of its own, the register with bits."""
    if form.name == "register":
        args[2] = local("source", 8192, dtype=args[0].type.dtype)
        args[5] = asc.SelMode.VSEL_CMPMASK_SPR
    if form.params[3].kind == "number":
        args[4] = asc.SelMode.VSEL_TENSOR_SCALAR_MODE


def _workspaces(k: Kernel, spec: OpSpec, form: Form, args: list[Any]) -> None:
    """Workspaces of int32."""
    if form.params and form.params[0].kind == "global":
        args[0] = global_tensor("words", k.pointer("words_address", int32))
        args[1] = local("local", dtype=int32)


def _shape_array(k: Kernel, spec: OpSpec, form: Form, args: list[Any]) -> None:
    """An array of uint64 for the shape."""
    args[-1] = named(asc.array(asc.uint64, 4), "shape")


def _cast(k: Kernel, spec: OpSpec, form: Form, args: list[Any]) -> None:
    """A dtype and a mode that goes with it."""
    args[1:] = int32, asc.RoundMode.CAST_RINT


def _blocks(k: Kernel, spec: OpSpec, form: Form, args: list[Any]) -> None:
    """Operands apart, matrices in L1, as many slices as dimensions."""
    if spec.name == "init_const_value" or form.name.startswith("nd2nz"):
        args[0] = named(asc.LocalTensor(float32, asc.TPosition.A1, 0, 1024), "local")
    elif "local" in form.name:
        args[1] = local("source", 8192)
    elif form.name.startswith("slices"):
        args[4] = 2


def _preload(k: Kernel, spec: OpSpec, form: Form, args: list[Any]) -> None:
    """A tensor of the one dtype that there is."""
    args[0] = global_tensor("tensor", k.pointer("lines", uint64))


def _image(k: Kernel, spec: OpSpec, form: Form, args: list[Any]) -> None:
    """Elements of two bytes, and room for what the call needs."""
    places = [local("local", 8192 * i, 2048, asc.uint16) for i in range(2)]
    args[: len(places)] = places
    if form.name == "extended":
        args[2] = local("scratch", 65536, 8192, asc.uint8)


def _addresses(k: Kernel, spec: OpSpec, form: Form, args: list[Any]) -> None:
    """Tensors of addresses say nothing of the elements."""
    if form.name == "stored":
        args[:2] = [local("places", 4096 * i, 16, asc.uint64) for i in range(2)]
        args[3] = asc.float16


def _merge(k: Kernel, spec: OpSpec, form: Form, args: list[Any]) -> None:
    """Two lists, and an array only for a merge that fills it."""
    if form.name == "array":
        args[6] = True
    if form.name != "info":
        args[2], args[4], args[5] = [32, 32, 0, 0], 3, 1


#: What operands of a row have to do with one another.
RELATED: dict[str, Callable[[Kernel, OpSpec, Form, list[Any]], None]] = {
    **dict.fromkeys(
        ("TPipe.init_buffer", "TBufPool.init_buffer", "TPipe.init_buf_pool",
         "TBufPool.init_buf_pool"), _fresh,
    ),
    **dict.fromkeys(("TQue.alloc_tensor", "TQue.deque"), _in_place),
    **dict.fromkeys(("TQue.enque", "TQue.free_tensor"), _own),
    **dict.fromkeys(("compare", "compare_scalar"), _whole),
    "select": _select,
    "set_deq_scale": _scales,
    "scalar_cast": _cast,
    **dict.fromkeys(("ListTensorDesc.get_desc", "TensorDesc.set_shape_addr"), _shape_array),
    **dict.fromkeys([spec.name for spec in ROWS if spec.family == "block_sync"], _workspaces),
    **dict.fromkeys(("data_copy", "init_const_value"), _blocks),
    "data_cache_preload": _preload,
    "transpose": _image,
    "trans_data_to_5hd": _addresses,
    "mrg_sort": _merge,
}  # fmt: skip

#: Values whose class is no row's name.
MADE: dict[str, Callable[[Kernel], Any]] = {
    "Array": lambda k: asc.array(int32, (1, 2)),
    "Struct.__init__": lambda k: Pair(first=1),
    "Struct.create_local": lambda k: Pair(first=1).create_local(),
    "inline": lambda k: asc.inline("// $0", (k.scalar("value"),)),
    "LocalTensor-empty": lambda k: asc.LocalTensor(float32),
    "printf-pieces": lambda k: record(
        debug.PRINTF, debug.PRINTF.forms[0], (("n = ", k.scalar("n")),), k.recorder
    ),
    "printf-format": lambda k: asc.printf("n = %d\n", k.scalar("n")),
}


class Pair(asc.Struct):
    first = asc.Field(int32)
    second = asc.Field(int32, default=2)


#: The same for names whose range is narrower.
BY_NAME: dict[str, Any] = {
    "event_id": 3, "flag_id": 3, "index": 1, "count_value": 1, "pre_fetch_len": 2,
    "repeat_times": 2, "repeat_time": 2, "dim": 1,
    "dst_block_stride": 1, "dst_repeat_stride": 8,
    "size": 16, "buf_offset": 64, "src_base": 0, "dst_base": 0, "src1_pattern": 1,
    "mode_number": 4, "v_r_offset": 128, "h_repeat": 2, "v_repeat": 2, "dst_blk_stride": 1,
    "mask_high": 0, "repeat": 2, "dst_rep_stride": 1, "src_blk_stride": 1, "src_rep_stride": 8,
}  # fmt: skip


def example(k: Kernel, spec: OpSpec, form: Form, param: Param) -> Any:
    """An operand; tensors are of a dtype that the row takes."""
    if param.kind == "local" and spec.signatures:
        index = _tensors_of(spec, form).index(param.name)
        return local("local", 8192 * index, dtype=spec.signatures[k.trace.chip.arch][0][index])
    if param.kind == "local" and spec.dtypes and param.role == "in":
        return local("source", 8192, dtype=spec.dtypes[k.trace.chip.arch][0])
    if param.kind == "local" and spec.dtypes:
        return local("local", dtype=spec.dtypes[k.trace.chip.arch][0])
    return BY_NAME[param.name] if param.name in BY_NAME else EXAMPLES[param.kind](k)


def _tensors_of(spec: OpSpec, form: Form) -> list[str]:
    """The tensors that the signatures are in the order of: a form may lack some of them."""
    own, *others = ([p.name for p in f.params if p.kind == "local"] for f in (form, *spec.forms))
    return max((names for names in others if set(own) <= set(names)), key=len)


def chip_for(spec: OpSpec) -> Chip:
    """A chip that executes a row."""
    return chip_of("2201" if "2201" in spec.dtypes or not spec.dtypes else next(iter(spec.dtypes)))


def call(k: Kernel, spec: OpSpec, form: Form) -> None:
    """Record an example of one overload, and use what it returns."""
    make = MADE.get(spec.name) or MADE.get(f"{spec.name}-{form.name}")
    if make is not None:
        made = make(k)
        if made is not None:
            _use(k, made)
        return
    args = [example(k, spec, form, p) for p in form.params]
    if spec.name in RELATED:
        RELATED[spec.name](k, spec, form, args)
    if spec.family == "construct":
        result = getattr(asc, spec.name)(*args)
    elif spec.family == "arith":
        result = Scalar(_result_type(spec), k.trace.body)
        args = [k.scalar(f"operand{i}", _operand_type(spec, i)) for i in range(len(args))]
        k.recorder.record(spec, form, tuple(args), result)
    elif spec.pure:
        result = record(spec, form, tuple(args), k.recorder)
    else:
        result = spec.extra.get("function", OpFunction)(spec)(*args)
    if isinstance(result, Value):
        _use(k, result)


_OF_FLOATS, _OF_BOOLS = {"scalar.div"}, {"scalar.land", "scalar.lor", "scalar.not"}


def _operand_type(spec: OpSpec, index: int) -> DataType:
    if spec.name in _OF_BOOLS or (spec.name == "scalar.select" and index == 0):
        return bool_
    return float32 if spec.name in _OF_FLOATS else int32


def _result_type(spec: OpSpec) -> DataType:
    if spec.extra["sign"] == "always" and spec.name != "scalar.abs":
        return bool_
    return float32 if spec.name in {*_OF_FLOATS, "scalar.cast"} else int32


def _use(k: Kernel, result: Value) -> None:
    """Something with an effect, so that the text keeps the result."""
    if isinstance(result.type, DataType):
        local("sink", dtype=int32).set_value(0, result)
    elif isinstance(result.type, GlobalPointerType):
        asc.GlobalTensor().set_global_buffer(result)
    elif isinstance(result.type, LocalTensorType):
        result.set_value(0, 1.0)  # type: ignore[attr-defined]
    elif isinstance(result.type, StructType):
        _use(k, result.second)  # type: ignore[attr-defined]


# -- what a row must have -------------------------------------------------------------------------


def api_names(spec: OpSpec) -> list[str]:
    """The functions of the interface that a row's C++ names; operators name none."""
    if spec.cpp.isidentifier():
        return [spec.cpp]
    return re.findall(r"AscendC::(\w+)", spec.cpp)


def problems(spec: OpSpec) -> list[str]:
    """What a row lacks; empty for a complete one."""
    found = []
    first = spec.doc.partition(". ")[0]
    if not first or not spec.doc.endswith("."):
        found.append("doc: no sentence")
    named_there = re.findall(r"\w+", first)
    found += [f"doc: does not name {name}" for name in api_names(spec) if name not in named_there]
    found += [f"pipe: {pipe!r}" for pipe in (spec.pipe, *(f.pipe for f in spec.forms if f.pipe))
              if pipe not in PIPES]  # fmt: skip
    if not spec.forms:
        found.append("forms: none")
    if len({form.name for form in spec.forms}) != len(spec.forms):
        found.append("forms: a name twice")
    for form in spec.forms:
        found += [f"{form.name}: {text}" for text in form_problems(form)]
    if not simulated(spec):
        found.append("simulator: no executor and no emitter")
    by_family = spec not in EXECUTORS and spec not in EMITTERS
    computes = spec.pipe == "V" and by_family
    if (computes or spec.family == "arith") and spec.semantics is None:
        found.append("semantics: none, and the family computes with them")
    if computes and not spec.dtypes:
        found.append("dtypes: none, but it computes on tensors")
    found += [f"dtypes: none on {arch}" for arch, dtypes in spec.dtypes.items() if not dtypes]
    if not found:
        found += text_problems(spec)
    return found


#: Kinds that are tensors, or lists of them.
TENSORS = ("global", "local", "tensors", "merge_lists")


def form_problems(form: Form) -> Iterator[str]:
    names = [p.name for p in form.params]
    if len(set(names)) != len(names):
        yield "a parameter twice"
    optional = False
    for p in form.params:
        if p.kind not in KINDS:
            yield f"{p.name}: unknown kind {p.kind!r}"
        if p.role not in ROLES:
            yield f"{p.name}: unknown role {p.role!r}"
        if p.role in ("in", "out", "inout") and p.kind not in TENSORS:
            yield f"{p.name}: {p.kind} is no tensor, so not {p.role!r}"
        if p.required and optional:
            yield f"{p.name}: required, but behind an optional one"
        optional = not p.required


def text_problems(spec: OpSpec) -> Iterator[str]:
    for form in spec.forms:
        try:
            with Kernel(soc=chip_for(spec)) as k:
                call(k, spec, form)
            text = body(emit(k.trace))
        except Exception as problem:
            yield f"{form.name}: no text: {type(problem).__name__}: {problem}"
            continue
        missing = [name for name in api_names(spec) if not re.search(rf"\b{name}\b", text)]
        if missing or not text:
            yield f"{form.name}: the text lacks {', '.join(missing)}: {text}"
        if re.search(r"\bNone\b|<asctrace|object at 0x", text):
            yield f"{form.name}: Python in the text: {text}"


@pytest.mark.parametrize("spec", ROWS, ids=lambda spec: spec.name)
def test_row_is_complete(spec: OpSpec) -> None:
    assert problems(spec) == []


@pytest.mark.parametrize(("spec", "form"), FORMS)
def test_every_overload_compiles_for_the_simulator(spec: OpSpec, form: Form) -> None:
    with Kernel(soc=chip_for(spec)) as k:
        call(k, spec, form)
    assert "def block(" in compile_trace(k.trace).source


def test_every_kind_has_an_example() -> None:
    assert EXAMPLES.keys() == KINDS.keys()


def test_every_public_function_is_a_row() -> None:
    functions = {name for name in asc.__all__ if isinstance(getattr(asc, name), OpFunction)}
    assert functions == {spec.name for spec in ROWS
                         if spec.family != "construct" and "." not in spec.name}  # fmt: skip
    assert all(getattr(asc, name).__doc__ == TABLE[name].doc for name in functions)


# -- the check itself -----------------------------------------------------------------------------

ADD = TABLE["add"]


def _with_param(role: str = "in", kind: str = "local") -> OpSpec:
    return replace(ADD, forms=(Form("count", (Param("dst", kind, role),)),))


@pytest.mark.parametrize(
    ("row", "found"),
    [
        (replace(ADD, doc=""), ["doc: no sentence", "doc: does not name Add"]),
        (replace(ADD, doc="Adds (`Sub`)."), ["doc: does not name Add"]),
        (replace(ADD, pipe=""), ["pipe: ''"]),
        (replace(ADD, pipe="MTE9"), ["pipe: 'MTE9'"]),
        (replace(ADD, forms=()), ["forms: none"]),
        (_with_param(kind="tensor"), [
            "count: dst: unknown kind 'tensor'",
            "count: dst: tensor is no tensor, so not 'in'",
        ]),
        (_with_param(role="input"), ["count: dst: unknown role 'input'"]),
        (replace(ADD, forms=(ADD.forms[0], ADD.forms[0])), ["forms: a name twice"]),
        (replace(ADD, family="vec_new"), ["simulator: no executor and no emitter"]),
        (replace(ADD, semantics=None), ["semantics: none, and the family computes with them"]),
        (replace(ADD, dtypes=MappingProxyType({})), [
            "dtypes: none, but it computes on tensors",
        ]),
        (replace(ADD, dtypes=MappingProxyType({"2201": ()})), ["dtypes: none on 2201"]),
        (replace(TABLE["scalar.add"], semantics=None), [
            "semantics: none, and the family computes with them",
        ]),
    ],
)  # fmt: skip
def test_an_incomplete_row_is_found(row: OpSpec, found: list[str]) -> None:
    assert problems(row) == found


def test_a_row_without_text_is_found() -> None:
    (found,) = problems(replace(TABLE["scalar.add"], cpp="{0} + {2}"))
    assert found.startswith("binary: no text: IndexError")


# -- names ----------------------------------------------------------------------------------------

#: String literals that are called like an operation and mean something else.
OTHER_MEANINGS = {
    "tracer/vm/calls.py": "methods of Python's lists",
    "tracer/vm/machine.py": "modules of Python",
    "tracer/vm/objects.py": "operators of Python, from the module `operator`",
    "tracer/vm/pybuiltins.py": "builtins of Python",
}


#: Names of operations that mean something else wherever they stand.
WORDS = {"trap": "a kind of `Jump`"}


def name_uses(path: str, text: str) -> list[str]:
    """Places where a string literal is the name of an operation."""
    tree = ast.parse(text)
    return [
        f"{path}:{node.lineno}: {node.value!r}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.value in TABLE and node.value not in WORDS
    ]


def test_names_of_operations_occur_in_the_table_only() -> None:
    found = [
        use
        for folder in ("lowering", "runtime", "tracer/vm")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if (name := path.relative_to(ROOT).as_posix()) not in OTHER_MEANINGS
        for use in name_uses(name, path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_a_name_in_a_condition_is_found() -> None:
    text = (
        'def f(op):\n    """About add."""\n    if op.spec.name in ("add", "Add"):\n        pass\n'
    )
    assert name_uses("lowering/a.py", text) == ["lowering/a.py:3: 'add'"]


@pytest.mark.parametrize("path", OTHER_MEANINGS)
def test_exemptions_do_not_look_at_rows(path: str) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    assert name_uses(path, text) != []
    assert ".spec.name" not in text
