"""`Trace.dump()`: a trace as text, one node a line."""

from __future__ import annotations

from typing import Any

from .language.structs import StructArg
from .trace import Assign, Block, Declare, If, Jump, Loop, Op, Trace, Value


class _Names:
    """Stable names: the Python name, or a number in order of appearance."""

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.used: dict[str, int] = {}

    def of(self, value: Value) -> str:
        found = self.names.get(id(value))
        if found is None:
            base = value.name or "v"
            count = self.used.get(base, 0)
            self.used[base] = count + 1
            found = f"%{base}" if count == 0 and value.name else f"%{base}{count}"
            self.names[id(value)] = found
        return found

    def operand(self, value: Any) -> str:
        if isinstance(value, Value):
            return self.of(value)
        if isinstance(value, tuple):
            return "[" + ", ".join(map(self.operand, value)) + "]"
        if isinstance(value, StructArg):
            return f"{value.cls.__name__}({', '.join(map(self.operand, value.values))})"
        return repr(value)


def dump(trace: Trace) -> str:
    """The trace as text."""
    names = _Names()
    params = ", ".join(f"{names.of(p.value)}: {p.type}" for p in trace.params)
    lines = [f"kernel {trace.name}({params})"]
    _block(trace.body, names, lines, "  ")
    return "\n".join(lines) + "\n"


def _block(block: Block, names: _Names, lines: list[str], indent: str) -> None:
    for node in block.nodes:
        if isinstance(node, Op):
            args = ", ".join(map(names.operand, node.args))
            result = (
                "" if node.result is None else f"{names.of(node.result)}: {node.result.type} = "
            )
            lines.append(f"{indent}{result}{node.spec.name}({args})")
        elif isinstance(node, Declare):
            init = "" if node.init is None else f" = {names.operand(node.init)}"
            lines.append(f"{indent}var {names.of(node.var)}: {node.var.type}{init}")
        elif isinstance(node, Assign):
            left = ", ".join(map(names.of, node.vars))
            lines.append(f"{indent}{left} := {', '.join(map(names.operand, node.values))}")
        elif isinstance(node, If):
            lines.append(f"{indent}if {names.operand(node.cond)}")
            _block(node.then, names, lines, indent + "  ")
            if node.orelse.nodes:
                lines.append(f"{indent}else")
                _block(node.orelse, names, lines, indent + "  ")
        elif isinstance(node, Loop):
            if node.index is None:
                lines.append(f"{indent}loop")
            else:
                bounds = ", ".join(map(names.operand, (node.start, node.stop, node.step)))
                lines.append(f"{indent}for {names.of(node.index)} in range({bounds})")
            _block(node.body, names, lines, indent + "  ")
        elif isinstance(node, Jump):
            message = f" {node.message!r}" if node.message else ""
            lines.append(f"{indent}{node.kind}{message}")
