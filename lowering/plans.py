"""What can be said of an operation before seeing its operands, from its row and overload."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..tracer.language.dtypes import DataType, float16, float32
from ..tracer.ops.spec import Form, OpSpec
from ..tracer.ops.tensor import SET_GLOBAL_BUFFER
from ..tracer.trace import Op

#: Operations that make their first operand name something else.
REBINDS = frozenset({SET_GLOBAL_BUFFER})

#: Kinds of operands that are objects, never None; and of those that are constants.
_OBJECTS = frozenset(
    {"address", "allocator", "buf", "data", "four", "global", "handle", "list_desc", "local"}
    | {"pool", "queue", "shape_value", "tensor_desc", "tpipe"}
)
_CONSTANTS = frozenset(
    {"cache_mode", "cache_rw_mode", "const_bool", "const_int", "dtype", "event", "hardware"}
    | {"opt_position", "pipe_id", "position", "round_mode", "str"}
    | {"atomic_dtype", "atomic_op", "cache_line", "cmp_mode", "dcci_dst", "mask_mode", "mem_dsb"}
    | {"reduce_order", "sel_mode"}
)


#: C++ types of numbers that no tensor decides.
_NUMBERS = {"half": float16, "float": float32}


class Plan:
    """A row and one of its overloads, digested.

    `objects` and `others` are the operands that the text names: values in any case, and numbers,
    structs and masks that may be or hold values. `values` are those in parentheses with whether
    they are objects, `leading` the objects that they begin with, `rest` the others; `elements` are
    those that become a dtype of their own, or that of another operand; `templates` those in angle
    brackets; `rebinds` is the operand that names or holds something else behind the call (or -1),
    `variables` are those that have to be C++ variables (`changes`: there is one of these);
    `set_mask` the operand behind `isSetMask`, `types` the operands whose dtypes come before it,
    `typed` those whose dtypes come before all template arguments in any case. `text(printer, op,
    plan)`, filled in by `calls`, writes the call or, for a pure operation, an expression with its
    precedence; `heads` caches the part up to the parenthesis.
    """

    __slots__ = (
        "changes",
        "construct",
        "elements",
        "form",
        "heads",
        "leading",
        "name",
        "objects",
        "others",
        "pure",
        "rebinds",
        "rest",
        "set_mask",
        "spec",
        "templates",
        "text",
        "typed",
        "types",
        "values",
        "variables",
    )

    def __init__(self, spec: OpSpec, form: Form) -> None:
        self.spec = spec
        self.form = form
        self.pure = spec.pure
        self.construct = spec.family == "construct" or "declares" in spec.extra
        self.name = spec.cpp if "::" in spec.cpp or spec.method else f"AscendC::{spec.cpp}"
        params = list(enumerate(form.params))
        self.rebinds = next((k for k, p in params if p.role == "rebind"), -1)
        if spec in REBINDS:
            self.rebinds = 0
        self.variables = [k for k, p in params if p.role in ("lvalue", "rebind")]
        self.variables += spec.extra.get("variables", ())
        self.changes = self.rebinds >= 0 or bool(self.variables)
        self.templates = [k for k, p in params if p.role == "template"]
        # In Python a dtype may come first; Ascend C has positions in front.
        self.templates.sort(key=lambda k: form.params[k].kind != "position")
        self.set_mask = next((k for k, p in params if p.role == "set_mask"), None)
        shown = [(k, p) for k, p in params if p.role not in ("template", "host", "set_mask")]
        self.objects = [k for k, p in shown if p.kind in _OBJECTS]
        self.others = [k for k, p in shown if p.kind not in _OBJECTS | _CONSTANTS]
        self.elements: dict[int, int | DataType] = {
            k: int(p.cpp[len("{dtype") : -1] or 0) if p.cpp.startswith("{") else _NUMBERS[p.cpp]
            for k, p in shown
            if p.cpp.startswith("{dtype") or (p.kind == "number" and p.cpp in _NUMBERS)
        }
        types = spec.extra.get("types", (0,))
        self.types = spec.extra.get("types_of", {}).get(form.name, types)
        self.typed = spec.extra.get("typed", {}).get(form.name, ())
        self.values = [(k, p.kind in _OBJECTS) for k, p in shown if k > 0 or not spec.method]
        first = end = self.values[0][0] if self.values else 0
        while (end, True) in self.values:
            end += 1
        self.leading = slice(first, end)
        self.rest = self.values[end - first :]
        self.heads: dict[Any, str] = {}
        self.text: Callable[[Any, Op, Plan], Any] | None = None


def plan_of(op: Op) -> Plan:
    """The plan of an operation, made once for its row and overload."""
    form = op.form
    if form.written is None:
        form.written = Plan(op.spec, form)
    return form.written  # type: ignore[no-any-return]
