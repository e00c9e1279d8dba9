"""Whether a call in emitted text is one of a C++ prototype: name, template and other arguments."""

from __future__ import annotations

import re


def split(text: str) -> list[str]:
    """The parts between commas that are not inside brackets."""
    parts, depth, last = [], 0, 0
    for k, letter in enumerate(text):
        depth += (letter in "(<[{") - (letter in ")>]}")
        if letter == "," and not depth:
            parts.append(text[last:k])
            last = k + 1
    return [part.strip() for part in (*parts, text[last:]) if part.strip()]


def call_of(line: str) -> tuple[str, list[str], list[str]]:
    """Name, template arguments and arguments of a statement that is a call."""
    match = re.fullmatch(r"AscendC::(\w+)(?:<(.*?)>)?\((.*)\);", line)
    assert match is not None, line
    return match[1], split(match[2] or ""), split(match[3])


def fits(line: str, prototypes: list[str]) -> bool:
    """Whether some prototype (`template <...> void Name(...)`) takes the call."""
    name, templates, arguments = call_of(line)
    for prototype in prototypes:
        head, _, rest = prototype.partition(f"{name}(")
        if not rest or not head.rstrip().endswith(("void", "uint32_t", "int64_t")):
            continue
        params = split(rest.rstrip(") "))
        kinds = split(head[head.index("<") + 1 : head.rindex(">")]) if "<" in head else []
        required = sum("=" not in param for param in params)
        if required <= len(arguments) <= len(params) and len(templates) <= len(kinds):
            return True
    return False
