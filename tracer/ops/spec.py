"""`OpSpec`: the one declaration of an operation, and the callable a kernel sees.

A row says how a call looks in Python (forms and their parameters), how it is spelled in Ascend C,
which pipe runs it, which dtypes each chip takes, what must hold before it runs and what it
computes. Proxies, checks, lowering, simulator, docs and tests read the row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from ..diagnostics import error
from ..language.dtypes import DataType, bool_
from ..language.enums import (
    CMPMODE,
    AtomicDtype,
    AtomicOp,
    CacheLine,
    CacheMode,
    CacheRwMode,
    DcciDst,
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
)
from ..language.structs import (
    MrgSort4Info,
    MrgSortSrcList,
    ParamStruct,
    ShapeInfo,
    VdeqInfo,
    struct,
)
from ..language.types import (
    AllocatorType,
    ArrayType,
    BufType,
    GlobalPointerType,
    GlobalTensorType,
    HandleType,
    ListTensorDescType,
    LocalTensorType,
    PipeType,
    PoolType,
    QueueType,
    ShapeInfoType,
    StructType,
    TensorDescType,
)
from ..trace import Recorder, Value, current, describe

if TYPE_CHECKING:
    from inspect import Signature

_NO_DEFAULT: Any = object()


#: The pipes of a core, as `PipeID` names them.
PIPES = frozenset(pipe.name.removeprefix("PIPE_") for pipe in PipeID)

#: What a parameter is to a call: a tensor that is read or written, a scalar or struct, a C++
#: template argument, an object that is neither (pipes, queues, tensors that only are named), what
#: C++ does not see, and the switch behind the template argument `isSetMask`. 'rebind' is an object
#: that the call makes name or hold something else, 'lvalue' one that C++ wants in a variable.
ROLES = frozenset(
    {"in", "out", "inout", "value", "template", "object", "host", "set_mask", "rebind", "lvalue"}
)


class Param(NamedTuple):
    """A parameter of one form.

    `kind` names what it accepts (a row of `KINDS`), `role` (one of `ROLES`) what it is to the call,
    `cpp` the C++ type of a scalar operand, '{dtype}' for the element type of the first operand,
    '{dtype1}' for that of the operand at position 1.
    """

    name: str
    kind: str
    role: str = "value"
    default: Any = _NO_DEFAULT
    cpp: str = ""

    @property
    def required(self) -> bool:
        """Whether a call must give it."""
        return self.default is _NO_DEFAULT


@dataclass(slots=True, eq=False)
class Form:
    """One overload of one row: its name in the family, parameters and, where it differs, its pipe.

    `written` and `followed` are places for what lowering and its checks make of row and overload.
    """

    name: str
    params: tuple[Param, ...]
    pipe: str = ""
    written: Any = field(default=None, init=False)
    followed: Any = field(default=None, init=False)


def _empty() -> Any:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, eq=False)
class OpSpec:
    """A row of the op table; a row equals itself only.

    name, cpp: Python name and Ascend C name (or, for expressions, a template over `{0}`, `{1}`).
    family: rows that lowering and simulator treat alike; the module that declares them is named
    after it where there is one. forms: overloads, tried in order. pipe: who executes it, one of
    `PIPES`; a form may have its own. pure: a value that depends on its operands only, may be
    inlined and dropped. method: a method of its first operand. result: how its proxy is made
    (`result(recorder, form, args) -> Value`). dtypes: architecture -> dtypes that the chip computes
    on, for rows that compute on tensors.
    checks: called with (spec, form, args, recorder) before recording; they raise `KernelError`.
    semantics: NumPy meaning of the element-wise core, for families that share an executor.
    signatures: architecture -> dtypes of the tensors in order, for rows whose tensors differ in
    dtype; `semantics(form, args)` then gives the function for one call. extra: what only some rows
    have, by name; `types` are the operands whose dtypes are the leading template arguments, `typed`
    names the one whose dtype comes before other template arguments, `refused` are overloads that
    only Ascend C has, each with the reason, `freeze` makes operands of arguments that may change,
    `completes(form, args, recorder)` gives the arguments with what a call leaves to be found out,
    `outputs` is the number of arguments behind the others that C++ fills by reference.
    """

    name: str
    cpp: str
    family: str
    doc: str
    forms: tuple[Form, ...] = ()
    pipe: str = "S"
    pure: bool = False
    method: bool = False
    result: Callable[[Recorder, Form, tuple[Any, ...]], Value] | None = None
    dtypes: MappingProxyType[str, tuple[DataType, ...]] = field(default_factory=_empty)
    checks: tuple[Callable[[OpSpec, Form, tuple[Any, ...], Recorder], None], ...] = ()
    semantics: Callable[..., Any] | None = None
    signatures: MappingProxyType[str, tuple[tuple[DataType, ...], ...]] = field(
        default_factory=_empty
    )
    extra: MappingProxyType[str, Any] = field(default_factory=_empty)

    def __post_init__(self) -> None:
        # Rows that are declared with the same overloads have their own.
        object.__setattr__(self, "forms", tuple(Form(f.name, f.params, f.pipe) for f in self.forms))


#: Every row by its key: the Python name, or "Class.method".
TABLE: dict[str, OpSpec] = {}


def register(spec: OpSpec) -> OpSpec:
    """Add a row to the table."""
    assert spec.name not in TABLE, spec.name
    TABLE[spec.name] = spec
    return spec


# -- what a parameter accepts ---------------------------------------------------------------


def _is_int(value: Any) -> bool:
    if isinstance(value, Value):
        return isinstance(value.type, DataType) and value.type.kind in "iub"
    return isinstance(value, int | np.integer)


def _is_number(value: Any) -> bool:
    if isinstance(value, Value):
        return isinstance(value.type, DataType)
    return isinstance(value, int | float | np.generic)


def _is_mask(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) in (1, 2) and all(map(_is_int, value))


def _is_shape(value: Any) -> bool:
    return value is None or (isinstance(value, list | tuple) and all(map(_is_int, value)))


def _is_data(value: Any) -> bool:
    return isinstance(value, Value) and isinstance(value.type, ArrayType | StructType)


def _is_slices(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and bool(value)
        and all(isinstance(v, STRUCTS["slice"]) for v in value)
    )


def _list_of(count: int, test: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """A list of so many things that pass a test."""
    return lambda value: (
        isinstance(value, list | tuple) and len(value) == count and all(map(test, value))
    )


def _is_flag(value: Any) -> bool:
    return type(value) is bool or (isinstance(value, Value) and value.type is bool_)


def _is_four(value: Any) -> bool:
    """Four numbers that a call writes."""
    return _is_data(value) and isinstance(value.type, ArrayType) and value.type.length == 4


def _of_type(cls: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, Value) and type(value.type) is cls


def _is_a(cls: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, cls)


class _Structs(dict[str, type[ParamStruct]]):
    """Kinds that are a parameter struct; a class is made when it is looked up first."""

    def __init__(self, **names: str) -> None:
        super().__init__()
        self.names = names

    def __missing__(self, kind: str) -> type[ParamStruct]:
        self[kind] = found = struct(self.names[kind])
        return found

    def __contains__(self, kind: object) -> bool:
        return kind in self.names

    def accepts(self, kind: str) -> Callable[[Any], bool]:
        """The test of a parameter."""
        return lambda value: isinstance(value, self[kind])


#: Kinds that are a parameter struct.
STRUCTS: Final = _Structs(
    binary_repeat="BinaryRepeatParams",
    unary_repeat="UnaryRepeatParams",
    copy_repeat="CopyRepeatParams",
    brcb_repeat="BrcbRepeatParams",
    blocks="DataCopyParams",
    enhanced="DataCopyEnhancedParams",
    ext_blocks="DataCopyExtParams",
    pad="DataCopyPadParams",
    ext_pad="DataCopyPadExtParams",
    nd2nz="Nd2NzParams",
    nz2nd="Nz2NdParamsFull",
    slice="SliceInfo",
    init_const="InitConstValueParams",
    gather_repeat="GatherRepeatParams",
    gather_mask_params="GatherMaskParams",
    transpose_params="TransposeParamsExt",
    five_params="TransDataTo5HDParams",
    check_params="CheckLocalMemoryIAParam",
)

#: What a parameter accepts: the words for messages and the test.
KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "int": ("an integer", _is_int),
    "opt_int": ("an integer or None", lambda v: v is None or _is_int(v)),
    "number": ("a number", _is_number),
    "const_int": ("a constant integer", lambda v: type(v) is int or isinstance(v, np.integer)),
    "flag": ("a bool", _is_flag),
    "const_bool": ("a constant bool", lambda v: type(v) is bool),
    "pieces": ("text and runtime scalars", _is_a(tuple)),
    "mask": ("a list of one or two integers (the mask bits)", _is_mask),
    "dtype": ("a dtype such as asc.float32", _is_a(DataType)),
    "opt_dtype": ("a dtype or None", lambda v: v is None or isinstance(v, DataType)),
    "address": ("a GlobalAddress", _of_type(GlobalPointerType)),
    "global": ("a GlobalTensor", _of_type(GlobalTensorType)),
    "local": ("a LocalTensor", _of_type(LocalTensorType)),
    "tensors": ("a list of 16 LocalTensors", _list_of(16, _of_type(LocalTensorType))),
    "addresses": ("a list of 16 addresses (integers)", _list_of(16, _is_int)),
    "counts": ("a list of four integers", _list_of(4, _is_int)),
    "four": ("an asc.array of four integers", _is_four),
    "tpipe": ("a TPipe", _of_type(PipeType)),
    "queue": ("a TQue", _of_type(QueueType)),
    "buf": ("a TBuf", _of_type(BufType)),
    "pool": ("a TBufPool", _of_type(PoolType)),
    "opt_pool": ("a TBufPool or None", lambda v: v is None or _of_type(PoolType)(v)),
    "handle": ("a TBufHandle", _of_type(HandleType)),
    "list_desc": ("a ListTensorDesc", _of_type(ListTensorDescType)),
    "tensor_desc": ("a TensorDesc", _of_type(TensorDescType)),
    "allocator": ("a LocalMemAllocator", _of_type(AllocatorType)),
    "position": ("an asc.TPosition", _is_a(TPosition)),
    "opt_position": ("an asc.TPosition", lambda v: v is None or isinstance(v, TPosition)),
    "hardware": ("an asc.Hardware", _is_a(Hardware)),
    "cache_mode": ("an asc.CacheMode", _is_a(CacheMode)),
    "cache_rw_mode": ("an asc.CacheRwMode", _is_a(CacheRwMode)),
    "shape_info": ("an asc.ShapeInfo", _is_a(ShapeInfo)),
    "opt_shape_info": ("an asc.ShapeInfo or None", lambda v: v is None or isinstance(v, ShapeInfo)),
    "shape_value": ("a shape of get_shape_info", _of_type(ShapeInfoType)),
    "data": ("a struct or array", _is_data),
    "path": ("field names and indices", _is_a(tuple)),
    "values": ("numbers", _is_a(tuple)),
    "opt_values": ("a tuple of values or None", lambda v: v is None or isinstance(v, tuple | list)),
    "shape": ("a shape (integers) or None", _is_shape),
    "str": ("text", _is_a(str)),
    "event": ("an asc.HardEvent", _is_a(HardEvent)),
    "pipe_id": ("an asc.PipeID", _is_a(PipeID)),
    "atomic_dtype": ("an asc.AtomicDtype", _is_a(AtomicDtype)),
    "atomic_op": ("an asc.AtomicOp", _is_a(AtomicOp)),
    "mem_dsb": ("an asc.MemDsbT", _is_a(MemDsbT)),
    "cmp_mode": ("an asc.CMPMODE", _is_a(CMPMODE)),
    "sel_mode": ("an asc.SelMode", _is_a(SelMode)),
    "round_mode": ("an asc.RoundMode", _is_a(RoundMode)),
    "mask_mode": ("an asc.MaskMode", _is_a(MaskMode)),
    "reduce_order": ("an asc.ReduceOrder", lambda v: v is None or isinstance(v, ReduceOrder)),
    "vdeq_info": ("an asc.VdeqInfo", _is_a(VdeqInfo)),
    "cache_line": ("an asc.CacheLine", _is_a(CacheLine)),
    "dcci_dst": ("an asc.DcciDst", _is_a(DcciDst)),
    "gather_mask_mode": ("an asc.GatherMaskMode", _is_a(GatherMaskMode)),
    "merge_lists": ("an asc.MrgSortSrcList", _is_a(MrgSortSrcList)),
    "merge_info": ("an asc.MrgSort4Info", _is_a(MrgSort4Info)),
    "slices": ("a list of asc.SliceInfo", _is_slices),
    **{kind: (f"an asc.{name}", STRUCTS.accepts(kind)) for kind, name in STRUCTS.names.items()},
}


# -- the callable ---------------------------------------------------------------------------


#: Types of arguments whose value, not only their type, decides the overload.
_by_value: tuple[type, ...] = (list, tuple)


def depends_on_value(cls: type) -> type:
    """Class decorator: values of this class differ in what they fit (runtime scalars)."""
    global _by_value
    _by_value = (*_by_value, cls)
    return cls


def _is_changed(value: Any) -> bool:
    return isinstance(value, ParamStruct | np.generic)


def _freeze(value: Any) -> Any:
    if isinstance(value, ParamStruct):
        return value.snapshot()
    if isinstance(value, list) or (type(value) is tuple and value and _is_changed(value[0])):
        return tuple(map(_freeze, value))
    if isinstance(value, np.generic):
        return value.item() if isinstance(value, np.bool_ | np.integer) else value
    return value


class OpFunction:
    """What a kernel calls: binds the arguments to an overload, checks and records.

    Raises `KernelError` AT0105 outside a kernel, AT0106 when no overload fits.
    """

    def __init__(self, spec: OpSpec) -> None:
        self.spec = spec
        self.__name__ = spec.name
        self.__doc__ = spec.doc
        self._freeze = spec.extra.get("freeze", _freeze)
        self._completes = spec.extra.get("completes")
        self._table: dict[int, list[tuple[Form, tuple[Any, ...], tuple[Any, ...]]]] | None = None
        #: Argument types -> the overload they fit and the defaults of the rest.
        self.known: dict[tuple[type, ...], tuple[Form, tuple[Any, ...]]] = {}

    @property
    def __signature__(self) -> Signature:
        """The parameters, for `inspect.signature`; of overloads those that they begin with."""
        from ._signatures import joined

        return joined(self.spec)

    def _by_count(self) -> dict[int, list[tuple[Form, tuple[Any, ...], tuple[Any, ...]]]]:
        """The overloads by number of positional arguments, made at the first call."""
        table: dict[int, list[tuple[Form, tuple[Any, ...], tuple[Any, ...]]]] = {}
        for form in self.spec.forms:
            checks = tuple(KINDS[p.kind][1] for p in form.params)
            needed = sum(p.required for p in form.params)
            for count in range(needed, len(form.params) + 1):
                rest = tuple(p.default for p in form.params[count:])
                table.setdefault(count, []).append((form, checks, rest))
        self._table = table
        return table

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Record the operation; returns its result's proxy or None."""
        return self.apply(current(self.spec.name), args, kwargs)

    def apply(
        self, recorder: Recorder, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
    ) -> Any:
        """The same where the recorder is at hand."""
        if not kwargs:
            types = tuple(map(type, args))
            found = self.known.get(types)
            if found is not None:
                return record(self.spec, found[0], args + found[1], recorder)
            form, bound = self._match(recorder, args)
            if not any(isinstance(arg, _by_value) or _is_changed(arg) for arg in args):
                self.known[types] = (form, bound[len(args) :])
        else:
            form, bound = self._bind(recorder, args, kwargs)
        bound = tuple(map(self._freeze, bound))
        if self._completes is not None:
            bound = self._completes(form, bound, recorder)
        return record(self.spec, form, bound, recorder)

    def _match(self, recorder: Recorder, args: tuple[Any, ...]) -> tuple[Form, tuple[Any, ...]]:
        for form, checks, rest in (self._table or self._by_count()).get(len(args), ()):
            for check, arg in zip(checks, args, strict=False):
                if not check(arg):
                    break
            else:
                return form, args + rest
        raise self._no_overload(recorder, args, {})

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a class attribute it is a method: the instance is the first operand."""
        if instance is None:
            return self
        return BoundOp(self, instance)

    def __repr__(self) -> str:
        return f"<asctrace op {self.spec.name}>"

    def _bind(
        self, recorder: Recorder, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Form, tuple[Any, ...]]:
        for form in self.spec.forms:
            values = dict(zip((p.name for p in form.params), args, strict=False))
            if len(args) > len(form.params) or values.keys() & kwargs.keys():
                continue
            values.update(kwargs)
            if len(values) > len(form.params) or not values.keys() <= {p.name for p in form.params}:
                continue
            bound = tuple(values.get(p.name, p.default) for p in form.params)
            if all(
                b is not _NO_DEFAULT and (p.name not in values or KINDS[p.kind][1](b))
                for p, b in zip(form.params, bound, strict=True)
            ):
                return form, bound
        raise self._no_overload(recorder, args, kwargs)

    def _no_overload(
        self, recorder: Recorder, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Exception:
        for form in self.spec.forms:
            wrong = _misfits(form, args, kwargs)
            if wrong and all(_wants_constant(p) and isinstance(v, Value) for p, v in wrong):
                param, value = wrong[0]
                return error(
                    "AT0107",
                    f"`{param.name}` of {self.spec.name} is {KINDS[param.kind][0]}, a C++ template "
                    f"argument, not {describe(value)}",
                    recorder.site(),
                    hint="give a constant: a Python number, or an asc.ConstExpr argument",
                )
        for form, why in self.spec.extra.get("refused", ()):
            if _misfits(form, args, kwargs) == []:
                return error(
                    "AT0306",
                    f"{self.spec.name} with {', '.join(p.name for p in form.params)}",
                    recorder.site(),
                    hint=why,
                )
        given = [_short(a) for a in args] + [f"{k}={_short(v)}" for k, v in kwargs.items()]
        first = 1 if self.spec.method else 0
        rows = []
        for form in self.spec.forms:
            params = [
                p.name + ("" if p.required else f"={p.default!r}") + f": {KINDS[p.kind][0]}"
                for p in form.params[first:]
            ]
            rows.append(f"{self.spec.name}({', '.join(params)})")
        return error(
            "AT0106",
            f"{self.spec.name}({', '.join(given[first:])}) fits no overload",
            recorder.site(),
            table="\n".join(rows),
            hint=self._nearest(args, kwargs),
        )

    def _nearest(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """What is wrong with the arguments for the overload that takes most of them."""
        found = [wrong for f in self.spec.forms if (wrong := _misfits(f, args, kwargs))]
        if not found:
            return "compare the number and the names of the arguments with the overloads above"
        fewest = min(map(len, found))
        texts = [
            f"`{p.name}` takes {KINDS[p.kind][0]}, not {describe(value)}"
            for p, value in next(wrong for wrong in found if len(wrong) == fewest)
        ]
        return "; ".join(texts)


def _misfits(
    form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> list[tuple[Param, Any]] | None:
    """The parameters of an overload whose arguments do not fit, None if the names do not."""
    values = dict(zip((p.name for p in form.params), args, strict=False)) | kwargs
    names = {p.name for p in form.params}
    if len(args) + len(kwargs) > len(names) or not values.keys() <= names:
        return None
    if any(p.required and p.name not in values for p in form.params):
        return None
    return [
        (p, values[p.name])
        for p in form.params
        if p.name in values and not KINDS[p.kind][1](values[p.name])
    ]


def _short(value: Any) -> str:
    """An argument in the line of a call: its name, if it has one."""
    if not issubclass(type(value), Value):
        return repr(value)
    return value.name or str(value.type)


def _wants_constant(param: Param) -> bool:
    return param.kind.startswith("const_")


class BoundOp:
    """A method of a proxy: the operation with its first operand filled in."""

    __slots__ = ("function", "instance")

    def __init__(self, function: OpFunction, instance: Any) -> None:
        self.function = function
        self.instance = instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the operation on the instance."""
        return self.function(self.instance, *args, **kwargs)

    def __repr__(self) -> str:
        return f"<asctrace op {self.function.spec.name} of {describe(self.instance)}>"


def record(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> Any:
    """Check and record a bound call; returns its result's proxy or None."""
    for check in spec.checks:
        check(spec, form, args, recorder)
    result = spec.result(recorder, form, args) if spec.result is not None else None
    recorder.record(spec, form, args, result)
    return result
