"""Every row of the op table is complete, and its text is what the table promises."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest

import asctrace as asc
from asctrace.runtime.simulator import compile_trace
from asctrace.runtime.simulator.registry import EMITTERS, EXECUTORS, simulated
from asctrace.tracer.ops.spec import KINDS, PIPES, ROLES, TABLE, Form, OpFunction, OpSpec, Param
from tests.lowering_kit import Kernel
from tests.op_examples import api_names, call, chip_for, shown
from tests.op_operands import EXAMPLES

ROOT = Path(__file__).resolve().parent.parent

ROWS = list(TABLE.values())
FORMS = [
    pytest.param(spec, form, id=f"{spec.name}-{form.name}") for spec in ROWS for form in spec.forms
]


# -- what a row must have -------------------------------------------------------------------------


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
    found += [f"checks: {check.__qualname__} does not say its rule" for check in spec.checks
              if not (check.__doc__ or "").partition("\n\n")[0].strip().endswith(".")]  # fmt: skip
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
            text = shown(spec, form).body
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


def _silent(*args: Any) -> None:
    return


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
        (replace(ADD, checks=(_silent,)), ["checks: _silent does not say its rule"]),
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
    "tracer/vm/native.py": "modules of Python",
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
