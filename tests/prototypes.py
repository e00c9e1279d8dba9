"""Whether a call in emitted text is one of a C++ prototype: name, template and other arguments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_OPEN, _CLOSE = "(<[{", ")>]}"
#: Words in front of a parameter list that are no function.
_WORDS = frozenset({"__inout_pipe__", "__aicore__", "__attribute__"})
#: What templates of the interface call an enum, and how its values begin.
_ENUMS = {"pipe_t": "PIPE_", "PipeID": "PIPE_", "SELMODE": "AscendC::SELMODE::", "pad_t": "pad_t::"}
_INTEGERS = re.compile(r"\b(u?int\d*(_t)?|T?EventID|TTagType|unsigned|size_t)\b")
#: A value of an enum, or a struct made in place.
_MADE = re.compile(r"AscendC::(\w+(?=::)|\w*(?:Params?|Info|List|Full|Ext)(?=[<(]))")


class Parameter(NamedTuple):
    """A parameter of a prototype: its type, its name, whether it may be left out."""

    type: str
    name: str
    optional: bool


class Prototype(NamedTuple):
    """A function: its name, its template parameters, its parameters."""

    name: str
    templates: tuple[Parameter, ...]
    params: tuple[Parameter, ...]


class Call(NamedTuple):
    """A call in emitted text."""

    name: str
    templates: tuple[str, ...]
    arguments: tuple[str, ...]


def split(text: str) -> list[str]:
    """The parts between commas that are not inside brackets."""
    parts, depth, last = [], 0, 0
    for k, letter in enumerate(text):
        depth += (letter in _OPEN) - (letter in _CLOSE)
        if letter == "," and not depth:
            parts.append(text[last:k])
            last = k + 1
    return [part.strip() for part in (*parts, text[last:]) if part.strip()]


def _closed(text: str, start: int) -> int:
    """Behind the bracket that closes the one at `start`."""
    depth = 0
    for k in range(start, len(text)):
        depth += (text[k] in _OPEN) - (text[k] in _CLOSE)
        if not depth:
            return k + 1
    raise ValueError(text)


def call_of(line: str, name: str = r"\w+") -> Call:
    """The call of a function or method in a statement: the first, or the first of that name."""
    for match in re.finditer(rf"(?:AscendC::|\.|^)({name})(?=[<(])", line):
        at, templates = match.end(), ""
        if line[at] == "<":
            end = _closed(line, at)
            templates, at = line[at + 1 : end - 1], end
        if line[at : at + 1] == "(":
            arguments = line[at + 1 : _closed(line, at) - 1]
            return Call(match[1], tuple(split(templates)), tuple(split(arguments)))
    raise AssertionError(line)


def _parameter(text: str) -> Parameter:
    """`const T& name = default`; the type keeps what is behind the name, `[]`."""
    declared, _, default = text.partition("=")
    match = re.fullmatch(r"(.*?)(?:\b(\w+))?\s*((?:\[\w*\])*)", declared.strip())
    assert match is not None, text
    kind, name, array = match[1].strip(), match[2] or "", match[3]
    if not kind:
        kind, name = name, ""
    return Parameter(kind + array, name, bool(default))


def parse(text: str) -> Iterator[Prototype]:
    """The prototypes in a text: one or several, one behind the other."""
    start = 0
    for match in re.finditer(r"\b(\w+)\s*\(", text):
        if match.start() < start or match[1] in _WORDS:
            continue
        end = _closed(text, match.end() - 1)
        head, templates = text[start : match.start()], ""
        if (at := head.find("<", head.find("template"))) >= 0 and "template" in head:
            templates = head[at + 1 : _closed(head, at) - 1]
        inside = [] if (params := text[match.end() : end - 1]).strip() == "void" else split(params)
        yield Prototype(
            match[1], tuple(map(_parameter, split(templates))), tuple(map(_parameter, inside))
        )
        start = end


def _is_type(text: str) -> bool:
    return re.fullmatch(r"half|float|double|bool|bfloat16_t|u?int\d+_t", text) is not None


def _template_fits(given: str, param: Parameter) -> bool:
    """Types for types, values for values of the same type."""
    if param.type in ("typename", "class"):
        return _is_type(given)
    return not _is_type(given) and value_fits(given, param.type)


def value_fits(given: str, kind: str) -> bool:
    """Whether a constant, or a value made in place, is one of a type."""
    if given in ("true", "false"):
        return re.search(r"\bbool\b", kind) is not None
    if re.fullmatch(r"-?\d+", given):
        return (
            _INTEGERS.search(kind) is not None or re.search(r"\bT\b|\bPrimType\b", kind) is not None
        )
    if enums := [enum for enum, start in _ENUMS.items() if given.startswith(start)]:
        return any(re.search(rf"\b{enum}\b", kind) for enum in enums)
    if made := _MADE.match(given):
        return re.search(rf"\b{made[1]}\b", kind) is not None
    return True


def misfit(call: Call, prototype: Prototype) -> str:
    """Why a prototype does not take a call; empty where it does."""
    templates, params = prototype.templates, prototype.params
    if call.name != prototype.name:
        return f"it is called {prototype.name}"
    if not sum(not p.optional for p in params) <= len(call.arguments) <= len(params):
        return f"it takes {len(params)} arguments, not {len(call.arguments)}"
    if len(call.templates) > len(templates):
        return f"it takes {len(templates)} template arguments, not {len(call.templates)}"
    for given, param in zip(call.templates, templates, strict=False):
        if not _template_fits(given, param):
            return f"{given} is no {param.type} {param.name}"
    for param in templates[len(call.templates) :]:
        deduced = any(re.search(rf"\b{param.name}\b", p.type) for p in params)
        if not param.optional and not deduced:
            return f"{param.type} {param.name} is not given"
    for given, param in zip(call.arguments, params, strict=False):
        if not value_fits(given, param.type):
            return f"{given} is no {param.type} {param.name}"
    return ""
