"""The host header of AscendC, generated from the op table.

`FORMS` numbers the overloads; the C++ of each packs its operands in the order of the row's
parameters and calls Python with the number. `pack` says for each parameter how (`Part`), which
`machine` reads back.
"""

from __future__ import annotations

import functools
import re
from enum import IntEnum
from pathlib import Path
from typing import Any, NamedTuple

from asctrace.lowering.calls import HOOKS
from asctrace.lowering.plans import Plan
from asctrace.tracer.language import dtypes, enums
from asctrace.tracer.language.structs import ELEMENT
from asctrace.tracer.ops.spec import KINDS, STRUCTS, TABLE, Form, OpSpec, Param

#: Element types by number.
DTYPES = tuple(dict.fromkeys(v for v in vars(dtypes).values() if isinstance(v, dtypes.DataType)))

_CLASSES = {
    "local": "LocalTensor", "global": "GlobalTensor", "tpipe": "TPipe", "queue": "Queue",
    "buf": "Buf", "pool": "Pool", "allocator": "Allocator", "handle": "TBufHandle",
    "opt_pool": "Pool",
}  # fmt: skip
_TENSORS = ("local", "global")
#: Enumerations whose members C++ spells without their class, and those with another name.
_UNSCOPED = {"PipeID": "pipe_t"}
_GLOBAL = frozenset({"pad_t"})
_RENAMED = {"SelMode": "SELMODE"}
#: Rows that are C++ by themselves, or written by hand in the prelude or below.
_NATIVE = frozenset(
    {
        "printf",
        "inline",
        "trap",
        "LocalTensor",
        "LocalTensor.__getitem__",
        "GlobalTensor.__getitem__",
    }
    | {"GlobalAddress.__add__"}
)
_NATIVE_FAMILIES = frozenset({"arith", "struct"})


class Overload(NamedTuple):
    """A row's overload as C++ has it: `shown` are the parameters in parentheses."""

    spec: OpSpec
    form: Form
    plan: Plan
    shown: tuple[Param, ...]


def _enum_kinds() -> dict[str, type[IntEnum]]:
    """Kinds of parameters that take the members of an enumeration."""
    found = {}
    for cls in vars(enums).values():
        if isinstance(cls, type) and issubclass(cls, IntEnum) and cls is not IntEnum:
            member = next(iter(cls))
            for kind, (_, test) in KINDS.items():
                if test(member) and not test(3) and not kind.startswith("opt_"):
                    found[kind] = cls
    return found


ENUMS = _enum_kinds()


#: Kinds of parameters that the header can pass on.
_PASSED = (
    frozenset({"int", "opt_int", "number", "const_int", "const_bool", "mask", "dtype", "address"})
    | frozenset({"str", "slices"})
    | _CLASSES.keys()
    | STRUCTS.names.keys()
    | ENUMS.keys()
    | {f"opt_{kind}" for kind in ENUMS}
)


def has_text(spec: OpSpec) -> bool:
    """Whether the header, or C++ itself, has what the text of a row says."""
    return (
        not _native(spec)
        or spec.name in _NATIVE
        or spec.family in (*_NATIVE_FAMILIES, "construct", "tensor")
        or any(row == spec.name for row, _ in EXTRA.values())
    )


def _native(spec: OpSpec) -> bool:
    return (
        spec in HOOKS
        or spec.name in _NATIVE
        or spec.family in _NATIVE_FAMILIES
        or "{0}" in spec.cpp
        or any(p.kind in ("shape_info", "shape_value") for f in spec.forms for p in f.params)
        or spec.name.endswith("get_shape_info")
        or any(p.kind not in _PASSED for f in spec.forms for p in f.params if p.role != "host")
    )


@functools.cache
def overloads() -> tuple[Overload, ...]:
    """All overloads that the header has, in the order of the table."""
    found = []
    for spec in TABLE.values():
        if _native(spec):
            continue
        for form in spec.forms:
            hidden = ("template", "host", "set_mask")
            shown = tuple(p for p in form.params if p.role not in hidden)
            found.append(Overload(spec, form, Plan(spec, form), shown))
    return tuple(found)


def enum_name(cls: type[IntEnum]) -> str:
    """The C++ name of an enumeration."""
    return _UNSCOPED.get(cls.__name__) or _RENAMED.get(cls.__name__) or cls.__name__


def _enums() -> str:
    out = []
    for cls in vars(enums).values():
        if not (isinstance(cls, type) and issubclass(cls, IntEnum)) or cls is IntEnum:
            continue
        members = ", ".join(f"{m.name} = {int(m)}" for m in cls)
        name = enum_name(cls)
        if cls.__name__ in _UNSCOPED or cls.__name__ in _GLOBAL:
            word = "enum" if cls.__name__ in _UNSCOPED else "enum class"
            out.append(
                f"}} // namespace AscendC\n{word} {name} {{ {members} }};\nnamespace AscendC {{"
            )
        else:
            out.append(f"enum class {name} {{ {members} }};")
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


_SHAPES = """\
struct ShapeInfo {
    uint32_t shape[8] = {};
    uint32_t originalShape[8] = {};

    ShapeInfo() = default;
    ShapeInfo(
        uint8_t count, const uint32_t* dims, uint8_t before, const uint32_t* original, DataFormat)
    {
        std::memcpy(shape, dims, count * sizeof(uint32_t));
        std::memcpy(originalShape, original, before * sizeof(uint32_t));
    }
};"""

_CLASS_HEADS = {
    "LocalTensor": """\
template <typename T>
struct LocalTensor : twin::Object {{
    ShapeInfo shapeInfo;

    LocalTensor() {{ type = twin::Code<T>::value; }}
    LocalTensor(TPosition position, uint32_t address, uint32_t size)
    {{
        type = twin::Code<T>::value;
        twin::Call call({make});
        call.dtype<T>();
        call.number(static_cast<int32_t>(position));
        call.number(address);
        call.number(size);
        call.run_into(*this);
    }}
    template <typename N>
    LocalTensor operator[](N start) const
    {{
        twin::Call call({slice});
        call.object(*this);
        call.number(start);
        call.add(twin::ABSENT);
        LocalTensor view;
        call.run_into(view);
        return view;
    }}
    void SetShapeInfo(const ShapeInfo& info) {{ shapeInfo = info; }}
    ShapeInfo GetShapeInfo() const {{ return shapeInfo; }}
""",
    "GlobalTensor": """\
template <typename T>
struct GlobalTensor : twin::Object {{
    ShapeInfo shapeInfo;

    GlobalTensor() {{ type = twin::Code<T>::value; }}
    template <typename N>
    GlobalTensor operator[](N start) const
    {{
        twin::Call call({slice});
        call.object(*this);
        call.number(start);
        call.add(twin::ABSENT);
        GlobalTensor view;
        call.run_into(view);
        return view;
    }}
    void SetShapeInfo(const ShapeInfo& info) {{ shapeInfo = info; }}
    ShapeInfo GetShapeInfo() const {{ return shapeInfo; }}
""",
}
#: Rows numbered besides the overloads: those behind the constructors and operators above.
EXTRA = {
    "local_make": ("LocalTensor", "make"),
    "local_slice": ("LocalTensor.__getitem__", None),
    "global_slice": ("GlobalTensor.__getitem__", None),
    "pad_value": ("set_pad_value", None),
    "preload": ("data_cache_preload", None),
}

#: Functions whose text is written by a hook.
_HOOKED = """\
template <typename T, TPosition position = TPosition::MAX>
void SetPadValue(T value)
{{
    twin::Call call({pad_value});
    call.number(value);
    call.number(static_cast<int32_t>(position));
    call.run();
}}

template <typename T>
void DataCachePreload(const GlobalTensor<T>& src, int64_t offset)
{{
    twin::Call call({preload});
    call.object(src);
    call.number(offset);
    call.run();
}}
"""


@functools.cache
def forms() -> tuple[tuple[OpSpec, Form], ...]:
    """Row and overload by number."""
    extra = []
    for row, name in EXTRA.values():
        spec = TABLE[row]
        form = next(f for f in spec.forms if name is None or f.name == name)
        extra.append((spec, form))
    return (*extra, *((o.spec, o.form) for o in overloads()))


# -- functions and methods ------------------------------------------------------------------------


def _name(spec: OpSpec) -> str:
    """The C++ name of a function or method; some rows are written as a cast of the call."""
    match = re.search(r"AscendC::(\w+)\(", spec.cpp)
    return match[1] if match else spec.cpp.removeprefix("AscendC::")


def _element(overload: Overload, k: int) -> str:
    """The element type that a `{dtype}` operand has."""
    like = overload.plan.elements.get(k, 0)
    if isinstance(like, dtypes.DataType):
        return like.cpp
    if like == 0 and overload.spec.method:
        return "T"
    return f"typename twin::Same<T{like}>::type"


def _signatures(overload: Overload) -> list[tuple[list[str], list[str], list[str]]]:
    """Template parameters, parameters and packing, for each number of arguments left out."""
    spec, shown = overload.spec, overload.shown
    inside = shown[1:] if spec.method else shown
    optional = 0
    while optional < len(inside) and not inside[-1 - optional].required:
        if inside[-1 - optional].default is not None:
            break
        optional += 1
    return [_signature(overload, inside[: len(inside) - k]) for k in range(optional + 1)]


def _signature(
    overload: Overload, inside: tuple[Param, ...]
) -> tuple[list[str], list[str], list[str]]:
    spec, form, plan, _ = overload
    leading = [
        f"typename E{k}" if form.params[k].kind == "dtype" else f"auto E{k}" for k in plan.templates
    ]
    leading[:0] = [f"typename Q{k}" for k in plan.typed]
    if plan.set_mask is not None:
        leading += [f"typename P{k} = void" for k in range(len(plan.types))]
        leading.append("bool M = true")
    deduced: list[str] = []
    params: list[str] = []
    packing: list[str] = []
    for k, param in enumerate(form.params):
        if spec.method and k == 0:
            packing.append("call.object(*this);")
        elif param.role == "template":
            packing.append(
                f"call.dtype<E{k}>();"
                if param.kind == "dtype"
                else f"call.number(static_cast<int32_t>(E{k}));"
            )
        elif param.role == "set_mask":
            packing.append("call.number(static_cast<int32_t>(M));")
        elif param.role == "host" or param not in inside:
            packing.append("call.add(twin::ABSENT);")
        else:
            _param(overload, k, param, deduced, params, packing)
    return leading + deduced, params, packing


def _param(
    overload: Overload,
    k: int,
    param: Param,
    deduced: list[str],
    params: list[str],
    packing: list[str],
) -> None:
    kind = param.kind
    if kind in _TENSORS:
        deduced.append(f"typename T{k}")
        params.append(f"const {_CLASSES[kind]}<T{k}>& p{k}")
        packing.append(f"call.object(p{k});")
    elif kind in _CLASSES:
        params.append(f"const {_CLASSES[kind]}Object& p{k}")
        packing.append(f"call.object(p{k});")
    elif kind == "address":
        cpp = "T" if overload.spec.method else f"T{k}"
        if cpp != "T":
            deduced.append(f"typename T{k}")
        params.append(f"{cpp}* p{k}")
        packing.append(f"call.pointer(p{k});")
    elif kind in STRUCTS:
        cls = STRUCTS[kind]
        template = f"<{_element(overload, k)}>" if ELEMENT in cls.ctypes else ""
        params.append(f"const {cls.cpp.removeprefix('AscendC::')}{template}& p{k}")
        packing.append(f"p{k}.add(call);")
    elif kind == "slices":
        params.append(f"const SliceInfo (&p{k})[S{k}]")
        deduced.append(f"int S{k}")
        packing.append(
            f"call.add(twin::GROUP).whole = S{k}; "
            f"for (const SliceInfo& s : p{k}) {{ s.add(call); }}"
        )
    elif kind in ENUMS or kind.removeprefix("opt_") in ENUMS:
        params.append(f"{enum_name(ENUMS[kind.removeprefix('opt_')])} p{k}")
        packing.append(f"call.number(static_cast<int32_t>(p{k}));")
    elif kind == "mask":
        params.append(f"const uint64_t (&p{k})[2]")
        packing.append(f"call.words(p{k});")
    elif kind == "str":
        params.append(f"const char* p{k}")
        packing.append(f"call.text(p{k});")
    else:
        cpp = param.cpp
        if cpp.startswith("{dtype"):
            cpp = _element(overload, k)
        elif not cpp:
            deduced.append(f"typename N{k}")
            cpp = f"N{k}"
        params.append(f"{cpp} p{k}")
        packing.append(f"call.number(p{k});")


def _functions(methods: dict[str, list[str]]) -> list[str]:
    """The free functions; methods are added to those of their class."""
    free: list[str] = []
    seen: set[Any] = set()
    first = len(EXTRA)
    for number, overload in enumerate(overloads(), first):
        spec, form = overload.spec, overload.form
        if spec.family == "construct":
            continue
        owner = _CLASSES[form.params[0].kind] if spec.method else ""
        for templates, params, packing in _signatures(overload):
            types = tuple(re.sub(r" ?\w+$", "", p) for p in params)
            heads = tuple(re.sub(r"(typename|auto) \w+", r"\1", t) for t in templates)
            key = (owner, _name(spec), heads, types)
            if key in seen:
                continue
            seen.add(key)
            text = _function(number, overload, templates, params, packing)
            (methods.setdefault(owner, []) if owner else free).append(text)
    return free


def _function(
    number: int, overload: Overload, templates: list[str], params: list[str], packing: list[str]
) -> str:
    spec, form, plan, _ = overload
    result, ending = "twin::Result", "return call.run();"
    dtype = next((k for k in plan.templates if form.params[k].kind == "dtype"), None)
    if spec.pure and dtype is not None and spec.method and form.params[0].kind == "local":
        # It may be written where it is used, so its type has to be known.
        result = f"LocalTensor<E{dtype}>"
    elif spec.result is None and plan.rebinds >= 0:
        target = "*this" if spec.method and plan.rebinds == 0 else f"p{plan.rebinds}"
        result, ending = "void", f"call.run_into({target});"
    head = f"template <{', '.join(templates)}>\n" if templates else ""
    const = " const" if spec.method else ""
    lines = "\n".join(f"    {line}" for line in (f"twin::Call call({number});", *packing, ending))
    inline = "" if templates or spec.method else "inline "
    return f"{head}{inline}{result} {_name(spec)}({', '.join(params)}){const}\n{{\n{lines}\n}}"


def _constructor(number: int, overload: Overload) -> str:
    """A class that a construct row makes, with its template parameters."""
    spec, form, _, _ = overload
    name = _name(spec)
    base = {"TPipe": "", "TQue": "Queue", "TQueBind": "Queue", "TBuf": "Buf", "TBufPool": "Pool",
            "LocalMemAllocator": "Allocator"}.get(name)  # fmt: skip
    if base is None:
        return ""
    defaults = {"const_int": " = 0", "hardware": " = Hardware::UB"}
    templates = [f"auto E{k}{defaults.get(p.kind, '')}" for k, p in enumerate(form.params)]
    if name == "TBufPool":
        templates[1] = "auto E1 = 4"
    packing = [f"call.number(static_cast<int32_t>(E{k}));" for k in range(len(templates))]
    lines = "\n".join(
        f"        {line}"
        for line in (f"twin::Call call({number});", *packing, "call.run_into(*this);")
    )
    if name == "TPipe":
        return f"    TPipe()\n    {{\n{lines}\n    }}\n"
    if name == "TQue":
        templates.append("auto E2 = 0")
    head = f"template <{', '.join(templates)}>\n" if templates else ""
    return f"{head}struct {name} : {base} {{\n    {name}()\n    {{\n{lines}\n    }}\n}};"


@functools.cache
def header() -> str:
    """The text of the header."""
    numbers = {name: k for k, name in enumerate(EXTRA)}
    methods: dict[str, list[str]] = {}
    free = _functions(methods)
    made = {
        _name(o.spec): text
        for k, o in enumerate(overloads(), len(EXTRA))
        if o.spec.family == "construct" and (text := _constructor(k, o))
    }
    parts = [(Path(__file__).parent / "prelude.h").read_text()]
    parts.append("namespace twin {")
    parts += [
        f"template <>\nstruct Code<{t.cpp}> {{\n    static constexpr int32_t value = {k};\n}};"
        for k, t in enumerate(DTYPES)
    ]
    parts += ["} // namespace twin", "namespace AscendC {", _enums(), _SHAPES]
    parts += [_struct(STRUCTS[kind]) for kind in STRUCTS.names]
    parts += [f"template <typename T>\nstruct {name};" for name in _CLASS_HEADS]
    order = [
        "LocalTensor",
        "GlobalTensor",
        "TBufHandle",
        "Queue",
        "Buf",
        "Pool",
        "Allocator",
        "TPipe",
    ]
    parts += [f"struct {name}Object : twin::Object {{}};" for name in order[2:]]
    for name in order:
        head = f"struct {name} : {name}Object {{\n"
        if name == "LocalTensor":
            head = _CLASS_HEADS[name].format(
                make=numbers["local_make"], slice=numbers["local_slice"]
            )
        elif name == "GlobalTensor":
            head = _CLASS_HEADS[name].format(slice=numbers["global_slice"])
        elif name == "TPipe":
            head += made.pop("TPipe")
        parts.append(head + "\n".join(methods.get(name, [])) + "\n};")
    parts += [text for name, text in made.items()]
    parts += [*free, _HOOKED.format(**numbers), "} // namespace AscendC", ""]
    return "\n\n".join(parts)
