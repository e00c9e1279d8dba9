"""An example call of each overload of each row: the corpus of tests and of the pages in `docs/api`.

It is run as it is written, in a kernel made by hand; `shown` gives the lines of Ascend C that came
of it. What the calls are given is in `op_operands`.
"""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any, NamedTuple

import asctrace as asc
from asctrace.lowering.text import emit, python_lines
from asctrace.tracer.auto import expand
from asctrace.tracer.chip import Chip
from asctrace.tracer.language.dtypes import DataType, bool_, float32, int32
from asctrace.tracer.language.scalar import Scalar
from asctrace.tracer.language.types import (
    GlobalPointerType,
    GlobalTensorType,
    LocalTensorType,
    ShapeInfoType,
    StructType,
)
from asctrace.tracer.ops.spec import Form, OpFunction, OpSpec, Param
from asctrace.tracer.trace import Value
from tests.chips import chip_of
from tests.lowering_kit import Kernel, body, local, named
from tests.op_operands import BY_NAME, EXAMPLES, MADE, RELATED, Written, of


def example(k: Kernel, spec: OpSpec, form: Form, param: Param) -> Written:
    """An operand; tensors are of a dtype that the row takes, and called as the parameter is."""
    if param.kind == "local" and spec.signatures:
        index = tensors_of(spec, form).index(param.name)
        dtype = spec.signatures[k.trace.chip.arch][0][index]
        return of(local(param.name, 8192 * index, dtype=dtype))
    if param.kind == "local" and spec.dtypes:
        at = 8192 if param.role == "in" else 0
        return of(local(param.name, at, dtype=spec.dtypes[k.trace.chip.arch][0]))
    if param.name in BY_NAME and param.kind not in ("local", "global"):
        return Written(BY_NAME[param.name])
    known = EXAMPLES[param.kind]
    if isinstance(known, str):
        return Written(known)
    written = known(k)
    if param.kind in ("local", "global"):
        (value,) = written.names.values()
        return of(named(value, param.name))
    return written


def tensors_of(spec: OpSpec, form: Form) -> list[str]:
    """The tensors that the signatures are in the order of: a form may lack some of them."""
    own, *others = ([p.name for p in f.params if p.kind == "local"] for f in (form, *spec.forms))
    return max((names for names in others if set(own) <= set(names)), key=len)


def chip_for(spec: OpSpec) -> Chip:
    """A chip that executes a row."""
    return chip_of("2201" if "2201" in spec.dtypes or not spec.dtypes else next(iter(spec.dtypes)))


def site(line: int) -> Any:
    """A place in a Python file that is not there."""
    code = SimpleNamespace(co_qualname="kernel", co_filename="kernel.py", co_firstlineno=1)
    instr = SimpleNamespace(span=(line, line, 0, 1))
    return (SimpleNamespace(code=code, instrs=[instr]), 0, None)


#: The lines of what an example needs, of the example, and of what uses its result.
BEFORE, CALL, BEHIND = 1, 2, 3

#: How methods that are operators are written.
_OPERATORS = {
    "__getitem__": "{0}[{1}:]",
    "__add__": "{0} + {1}",
    "__getattr__": "{0}[{1}]",
    "__setattr__": "{0}[{1}] = {2}",
}


def _written(spec: OpSpec, form: Form, args: list[Written]) -> str:
    """The call as one writes it; defaults at its end are left out."""
    texts = [arg.text for arg in args]
    defaults = [p for p in form.params if not p.required]
    while defaults and texts and texts[-1] == repr(defaults[-1].default):
        texts.pop()
        defaults.pop()
    cls, _, method = spec.name.rpartition(".")
    if method in _OPERATORS:
        return _OPERATORS[method].format(*texts)
    if cls:
        return f"{texts[0]}.{method}({', '.join(texts[1:])})"
    return f"asc.{spec.name}({', '.join(texts)})"


class Called(NamedTuple):
    """An example as Python: the call, and a use of its result; what it gave."""

    python: str
    use: str = ""
    result: Any = None


class _Front:
    """The public names, with a row's own function for its name."""

    def __init__(self, spec: OpSpec) -> None:
        if spec.family != "construct" and "." not in spec.name:
            setattr(self, spec.name, spec.extra.get("function", OpFunction)(spec))

    def __getattr__(self, name: str) -> Any:
        return getattr(asc, name)


def call(k: Kernel, spec: OpSpec, form: Form, **given: str) -> Called:
    """Record an example of one overload; `given` are arguments that differ, as text."""
    k.recorder.where = site(BEFORE)
    if spec.family == "arith":
        return _arith(k, spec, form)
    make = MADE.get(spec.name) or MADE.get(f"{spec.name}-{form.name}")
    if make is not None:
        text, names = make(k)
    else:
        related = RELATED[spec.name](k, spec, form) if spec.name in RELATED else {}
        related |= {name: Written(argument) for name, argument in given.items()}
        args = [related.get(p.name) or example(k, spec, form, p) for p in form.params]
        text = _written(spec, form, args)
        names = {name: value for arg in args for name, value in arg.names.items()}
    scope: dict[str, Any] = {"asc": _Front(spec), **names}
    k.recorder.where = site(CALL)
    exec(text if " = " in text else f"result = {text}", scope)
    result = scope.get("result")
    if result is None:
        return Called(text)
    use = ""
    if isinstance(result, Value):
        if not result.name or result.name in names:
            result.name = "result"
        use = _use(k, result)
    if k.trace.automatic:
        expand(k.trace)
    return Called(f"result = {text}", use, result)


def _arith(k: Kernel, spec: OpSpec, form: Form) -> Called:
    """Expressions, which Python's operators record."""
    args = [k.scalar(p.name, _operand_type(spec, i)) for i, p in enumerate(form.params)]
    result = named(Scalar(_result_type(spec), k.trace.body), "result")
    k.recorder.where = site(CALL)
    k.recorder.record(spec, form, tuple(args), result)
    return Called("", _use(k, result), result)


_OF_FLOATS, _OF_BOOLS = {"scalar.div"}, {"scalar.land", "scalar.lor", "scalar.not"}


def _operand_type(spec: OpSpec, index: int) -> DataType:
    if spec.name in _OF_BOOLS or (spec.name == "scalar.select" and index == 0):
        return bool_
    return float32 if spec.name in _OF_FLOATS else int32


def _result_type(spec: OpSpec) -> DataType:
    if spec.extra["sign"] == "always" and spec.name != "scalar.abs":
        return bool_
    return float32 if spec.name in {*_OF_FLOATS, "scalar.cast"} else int32


def _use(k: Kernel, result: Any) -> str:
    """Something with an effect, so that the text keeps the result; that as Python."""
    kind = type(result.type)
    sinks = {DataType: "sink", ShapeInfoType: "sink", StructType: "sink"}
    if kind in sinks:
        k.recorder.where = site(BEFORE)
        sink = local("sink", dtype=int32)
        parts = {ShapeInfoType: ".shape(0)", StructType: ".second"}
        text = f"sink.set_value(0, {result.name}{parts.get(kind, '')})"
    elif kind is GlobalPointerType:
        k.recorder.where = site(BEFORE)
        sink = named(asc.GlobalTensor(), "sink")
        text = f"sink.set_global_buffer({result.name})"
    elif kind in (LocalTensorType, GlobalTensorType) and result.bound:
        sink = None
        text = f"{result.name}.set_value(0, 1.0)"
    else:
        return ""
    k.recorder.where = site(BEHIND)
    exec(text, {"sink": sink, result.name: result})
    return text


def api_names(spec: OpSpec) -> list[str]:
    """The functions of the interface that a row's C++ names; operators name none."""
    if spec.cpp.isidentifier():
        return [spec.cpp]
    return re.findall(r"AscendC::(\w+)", spec.cpp)


class Example(NamedTuple):
    """An example: Python, the Ascend C that came of it, the statements of its kernel, the chip, and
    what the call gave."""

    python: str
    lines: tuple[str, ...]
    body: str
    chip: Chip
    result: Any


def shown(spec: OpSpec, form: Form, **given: str) -> Example:
    """The example of an overload, with a use where its result is written in that only."""
    with Kernel(soc=chip_for(spec)) as k:
        python, use, result = call(k, spec, form, **given)
    text = emit(k.trace)
    placed = list(zip(text.splitlines(), python_lines(k.trace), strict=True))

    def lines(number: int) -> tuple[str, ...]:
        found = [line.strip() for line, at in placed if at is not None and at[1] == number]
        return tuple(line for line in found if line not in ("", "}"))

    if not lines(CALL):
        python = f"{python}\n{use}"
    return Example(python, lines(CALL) or lines(BEHIND), body(text), k.trace.chip, result)
