"""`asctrace/_operations.pyi`: overloads of the operations and parameter structs, for editors.

At run time both are made from tables, so that nothing else tells an editor what they take.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import EnumType
from inspect import Parameter, Signature
from typing import Any

import asctrace as asc
from asctrace.tracer.language.dtypes import DataType
from asctrace.tracer.language.structs import DECLARED
from asctrace.tracer.ops._signatures import of_row
from asctrace.tracer.ops.functions import functions
from asctrace.tracer.ops.spec import OpSpec
from asctrace.tracer.trace import Value
from tests.op_examples import shown

_HEAD = '''\
"""What kernels call, for editors and type checkers. Written by `python -m docs.generate`."""

from typing import Any, overload

'''


def _result(spec: OpSpec) -> str:
    """What a call gives, by its example."""
    result: Any = shown(spec, spec.forms[0]).result
    if result is None:
        return "None"
    if isinstance(result, tuple):
        return f"tuple[{', '.join(['int'] * len(result))}]"
    assert isinstance(result, Value)
    if isinstance(result.type, DataType):
        return {"f": "float", "b": "bool"}.get(result.type.kind, "int")
    return type(result).__name__


def _parameters(signature: Signature) -> str:
    """The parameters with `...` for defaults: what they are is told where they are declared."""
    parts = []
    for parameter in signature.parameters.values():
        star = "*" if parameter.kind is Parameter.VAR_POSITIONAL else ""
        default = "" if parameter.default is Parameter.empty else " = ..."
        parts.append(f"{star}{parameter.name}: {parameter.annotation}{default}")
    return ", ".join(parts)


def _function(spec: OpSpec) -> Iterator[str]:
    """The overloads of a function, the documentation at the first."""
    signatures, result = of_row(spec), _result(spec)
    for k, signature in enumerate(signatures):
        if len(signatures) > 1:
            yield "@overload"
        head = f"def {spec.name}({_parameters(signature)}) -> {result}:"
        yield from (f"{head} ...",) if k else (head, f"    {_docstring(spec.doc)}")


def _docstring(text: str) -> str:
    """Documentation as a literal."""
    return f'r"""{text}"""' if "\\" in text else f'"""{text}"""'


def _field(cpp: str) -> str:
    """What a field of a struct takes."""
    if isinstance(getattr(asc, cpp, None), EnumType):
        return cpp
    known = {"bool": "bool", "T": "float", "": "Any"}
    return known.get(cpp, "int" if re.fullmatch(r"u?int\d+_t", cpp) else "Any")


def _struct(name: str) -> Iterator[str]:
    """A parameter struct: its fields in order."""
    row = DECLARED[name]
    fields = [(field, _field(cpp)) for cpp, field, _ in row.fields]
    yield f"class {name}:"
    yield f"    {_docstring(row.doc)}"
    yield from (f"    {field}: {kind}" for field, kind in fields)
    given = ", ".join(f"{field}: {kind} = ..." for field, kind in fields)
    yield f"    def __init__(self, {given}) -> None: ..."


def page() -> str:
    """The text of the stub."""
    lines: list[str] = []
    for name in sorted(DECLARED):
        lines += _struct(name)
    public = functions()
    for name in sorted(public):
        lines += _function(public[name].spec)
    code = [line for line in lines if '"""' not in line]
    words = {word for line in code for word in re.findall(r"(?:: |-> |\[|\| )(\w+)", line)}
    used = {word for word in words - {"Any"} if isinstance(getattr(asc, word, None), type)}
    modules: dict[str, list[str]] = {}
    for name in sorted(used - DECLARED.keys()):
        module = getattr(asc, name).__module__.removeprefix("asctrace")
        modules.setdefault(module, []).append(name)
    imports = [f"from {module} import {', '.join(modules[module])}" for module in sorted(modules)]
    names = ", ".join(f'"{name}"' for name in sorted({*DECLARED, *public}))
    return _HEAD + "\n".join([*imports, f"\n__all__ = [{names}]\n", *lines]) + "\n"
