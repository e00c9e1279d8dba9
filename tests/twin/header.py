"""The host header of AscendC, made from the op table.

The C++ of an overload packs its operands in the order of the row's parameters and calls Python with
the number of the overload (`forms.py`), which `calls` reads back. What is not regular is written by
hand, in `prelude.h` and `hands.h`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import IntEnum
from pathlib import Path
from typing import Any

from asctrace.tracer.language import dtypes, enums
from asctrace.tracer.language.structs import ELEMENT
from asctrace.tracer.ops.spec import STRUCTS, OpSpec, Param

from .forms import DTYPES, ENUMS, Overload, element_of, first, hands, outputs, overloads, per_table

#: C++ classes by the kind of the parameters that take their objects; templates of an element type
#: first.
_TEMPLATES = {"local": "LocalTensor", "global": "GlobalTensor", "tensor_desc": "TensorDesc"}
_OBJECTS = {
    "tpipe": "TPipe", "queue": "Queue", "buf": "Buf", "pool": "Pool", "allocator": "Allocator",
    "handle": "TBufHandle", "list_desc": "ListTensorDesc", "opt_pool": "Pool",
}  # fmt: skip
_OWNERS = {**_TEMPLATES, **_OBJECTS}
#: Kinds of parameters that are element types.
_DTYPES = ("dtype", "opt_dtype")
#: Enumerations whose members C++ spells without their class, those outside of the namespace, and
#: those with another name.
_UNSCOPED = {"PipeID": "pipe_t"}
_GLOBAL = frozenset({"pad_t"})
_RENAMED = {"SelMode": "SELMODE"}


def enum_name(cls: type[IntEnum]) -> str:
    """The C++ name of an enumeration."""
    return _UNSCOPED.get(cls.__name__) or _RENAMED.get(cls.__name__) or cls.__name__


def _enums(outside: bool) -> str:
    out = []
    for cls in vars(enums).values():
        if not (isinstance(cls, type) and issubclass(cls, IntEnum)) or cls is IntEnum:
            continue
        if (cls.__name__ in _UNSCOPED or cls.__name__ in _GLOBAL) is outside:
            word = "enum" if cls.__name__ in _UNSCOPED else "enum class"
            members = ", ".join(f"{m.name} = {int(m)}" for m in cls)
            out.append(f"{word} {enum_name(cls)} {{ {members} }};")
    return "\n".join(out)


def _struct(cls: Any) -> str:
    """A parameter struct that remembers what its constructor was given."""
    types = [cpp or "int32_t" for cpp in cls.wide or cls.ctypes]
    name = cls.cpp.removeprefix("AscendC::")
    params = ", ".join(f"{cpp} v{k}" for k, cpp in enumerate(types))
    members = "\n".join(f"    {cpp} m{k};" for k, cpp in enumerate(types))
    inits = ", ".join(f"m{k}(v{k})" for k in range(len(types)))
    adds = " ".join(
        f"call.number(static_cast<int32_t>(m{k}));"
        if isinstance(getattr(enums, cpp, None), type)
        else f"call.number(m{k});"
        for k, cpp in enumerate(types)
    )
    head = "template <typename T>\n" if ELEMENT in cls.ctypes else ""
    return (
        f"{head}struct {name} {{\n{members}\n"
        f"    {name}({params}) : {inits} {{}}\n"
        f"    void add(twin::Call& call) const\n    {{\n"
        f"        call.add(twin::GROUP).whole = {len(types)};\n        {adds}\n    }}\n}};"
    )


# -- functions and methods ------------------------------------------------------------------------


def _name(spec: OpSpec) -> str:
    """The C++ name of a function or method; some rows are written as a cast of the call."""
    match = re.search(r"AscendC::(\w+)\(", spec.cpp)
    return match[1] if match else spec.cpp.removeprefix("AscendC::")


def _element(overload: Overload, k: int) -> str:
    """The element type that a `{dtype}` operand has."""
    like = element_of(overload, k)
    if isinstance(like, dtypes.DataType):
        return str(like.cpp)
    if like == 0 and overload.spec.method:
        return "T"
    return f"typename twin::Same<T{like}>::type"


#: Template parameters that are deduced, the parameter, how it is packed.
_Written = tuple[tuple[str, ...], str, str]


def _array(element: str, k: int, *deduced: str, length: str = "16") -> _Written:
    return deduced, f"const {element} (&p{k})[{length}]", f"call.all(p{k});"


#: Kinds of parameters that are arrays in C++.
_ARRAYS: dict[str, Callable[[int], _Written]] = {
    "tensors": lambda k: _array(f"LocalTensor<T{k}>", k, f"typename T{k}"),
    "addresses": lambda k: _array("uint64_t", k),
    "mask": lambda k: _array("uint64_t", k, length="2"),
    "slices": lambda k: _array("SliceInfo", k, f"int32_t S{k}", length=f"S{k}"),
}
_STRUCTS = {"vdeq_info": "VdeqInfo", "opt_shape_info": "ShapeInfo"}


def _param(overload: Overload, k: int, param: Param) -> _Written:
    kind = param.kind
    enum = ENUMS.get(kind.removeprefix("opt_"))
    if kind in _TEMPLATES:
        return (f"typename T{k}",), f"const {_TEMPLATES[kind]}<T{k}>& p{k}", f"call.object(p{k});"
    if kind in _OBJECTS:
        return (), f"const {_OBJECTS[kind]}Object& p{k}", f"call.object(p{k});"
    if kind in _ARRAYS:
        return _ARRAYS[kind](k)
    if kind == "address":
        cpp = "T" if overload.spec.method else f"T{k}"
        return () if cpp == "T" else (f"typename {cpp}",), f"{cpp}* p{k}", f"call.pointer(p{k});"
    if kind in STRUCTS or kind in _STRUCTS:
        if kind in STRUCTS:
            cls = STRUCTS[kind]
            template = f"<{_element(overload, k)}>" if ELEMENT in cls.ctypes else ""
            cpp = cls.cpp.removeprefix("AscendC::") + template
        else:
            cpp = _STRUCTS[kind]
        return (), f"const {cpp}& p{k}", f"p{k}.add(call);"
    if enum is not None:
        return (), f"{enum_name(enum)} p{k}", f"call.number(static_cast<int32_t>(p{k}));"
    if kind == "str":
        return (), f"const char* p{k}", f"call.text(p{k});"
    if kind == "flag":
        return (), f"bool p{k}", f"call.number(p{k});"
    assert kind in ("int", "opt_int", "number", "const_int", "const_bool"), (overload.spec, kind)
    if param.cpp.startswith("{dtype"):
        return (), f"{_element(overload, k)} p{k}", f"call.number(p{k});"
    if param.cpp:
        return (), f"{param.cpp} p{k}", f"call.number(p{k});"
    return (f"typename N{k}",), f"N{k} p{k}", f"call.number(p{k});"


class _Signature:
    """One way to call an overload: template parameters, parameters, and their packing."""

    def __init__(self, overload: Overload, inside: tuple[Param, ...]) -> None:
        spec, form, plan, _ = overload
        self.templates = [
            f"typename E{k}" if form.params[k].kind in _DTYPES else f"auto E{k}"
            for k in plan.templates
        ]
        switch = [] if plan.set_mask is None else ["bool M = true"]
        if plan.typed:
            self.templates[:0] = [*(f"typename Q{k}" for k in plan.typed), *switch]
        elif switch:
            self.templates += [f"typename P{k} = void" for k in range(len(plan.types))]
            self.templates += switch
        self.params: list[str] = []
        self.packing: list[str] = []
        for k, param in enumerate(form.params):
            self._add(overload, k, param, inside)
        for k in range(outputs(spec)):
            self.templates.append(f"typename O{k}")
            self.params.append(f"O{k}& o{k}")

    def _add(self, overload: Overload, k: int, param: Param, inside: tuple[Param, ...]) -> None:
        if overload.spec.method and k == 0:
            self.packing.append("call.object(*this);")
        elif param.role == "template":
            self.packing.append(
                f"call.dtype<E{k}>();"
                if param.kind in _DTYPES
                else f"call.number(static_cast<int32_t>(E{k}));"
            )
        elif param.role == "set_mask":
            self.packing.append("call.number(static_cast<int32_t>(M));")
        elif param.role == "host" or param not in inside:
            self.packing.append("call.add(twin::ABSENT);")
        else:
            deduced, written, packing = _param(overload, k, param)
            self.templates += deduced
            self.params.append(written)
            self.packing.append(packing)

    def key(self) -> Any:
        """What tells it from others of the same name."""
        types = tuple(re.sub(r" ?\b[po]\d+\b", "", p) for p in self.params)
        heads = tuple(re.sub(r"(typename|auto|int32_t) \w+", r"\1", t) for t in self.templates)
        return heads, types


def _signatures(overload: Overload) -> list[_Signature]:
    """Those with all arguments and with some left out."""
    inside = overload.shown[1:] if overload.spec.method else overload.shown
    optional = 0
    while optional < len(inside) and not inside[-1 - optional].required:
        if inside[-1 - optional].default is not None:
            break
        optional += 1
    return [_Signature(overload, inside[: len(inside) - k]) for k in range(optional + 1)]


def _function(number: int, overload: Overload, signature: _Signature) -> str:
    spec, form, plan, _ = overload
    result, ending = "twin::Result", "return call.run();"
    dtype = next((k for k in plan.templates if form.params[k].kind in _DTYPES), None)
    if spec.pure and dtype is not None and spec.method and form.params[0].kind == "local":
        # It may be written where it is used, so its type has to be known.
        result = f"LocalTensor<E{dtype}>"
    elif outputs(spec):
        fills = " ".join(f"result.into({k}, o{k});" for k in range(outputs(spec)))
        result, ending = "void", f"const twin::Result result = call.run(); {fills}"
    elif plan.rebinds >= 0:
        # Some forms of a row give a result, others change an object.
        target = "*this" if spec.method and plan.rebinds == 0 else f"p{plan.rebinds}"
        ending = f"return call.run_or_into({target});"
    head = f"template <{', '.join(signature.templates)}>\n" if signature.templates else ""
    const = " const" if spec.method else ""
    body = (f"twin::Call call({number});", *signature.packing, ending)
    lines = "\n".join(f"    {line}" for line in body)
    inline = "" if signature.templates or spec.method else "inline "
    params = ", ".join(signature.params)
    return f"{head}{inline}{result} {_name(spec)}({params}){const}\n{{\n{lines}\n}}"


def _functions() -> dict[str, list[str]]:
    """The methods by their class, and the free functions under ""."""
    found: dict[str, list[str]] = {name: [] for name in ("", *_OWNERS.values())}
    seen: set[Any] = set()
    for number, overload in enumerate(overloads(), first()):
        spec, form = overload.spec, overload.form
        owner = _OWNERS[form.params[0].kind] if spec.method else ""
        for signature in _signatures(overload):
            key = (owner, _name(spec), signature.key())
            if key not in seen:
                seen.add(key)
                found[owner].append(_function(number, overload, signature))
    return found


@per_table
def header() -> str:
    """The text of the header."""
    functions = _functions()
    codes = [
        f"template <>\nstruct Code<{t.cpp}> {{\n    static constexpr int32_t value = {k};\n}};"
        for k, t in enumerate(DTYPES)
    ]
    objects = dict.fromkeys((*_OBJECTS.values(), "TensorDesc"))
    parts = {
        "codes": "\n".join(codes),
        "global enums": _enums(outside=True),
        "enums": _enums(outside=False),
        "structs": "\n\n".join(_struct(STRUCTS[kind]) for kind in STRUCTS.names),
        "objects": "\n".join(f"struct {name}Object : twin::Object {{}};" for name in objects),
        "functions": "\n\n".join(functions[""]),
        **{f"methods {name}": "\n".join(functions[name]) for name in _OWNERS.values()},
    }
    prelude = Path(__file__).with_name("prelude.h").read_text()
    return prelude + re.sub(r" *//:(.+)", lambda m: parts[m[1]], hands())
