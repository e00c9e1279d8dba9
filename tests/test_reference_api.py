"""The calls of the reference front end exist, with its parameters and defaults.

That each row is lowered and compiled for the simulator is tested for all rows in `test_op_table`;
here is that the rows are there and fit the prototypes of `tests/reference.py`.
"""

from __future__ import annotations

import inspect
import re
from enum import IntEnum
from typing import Any

import pytest

import asctrace as asc
from asctrace.lowering.plans import Plan
from asctrace.runtime.simulator import simulated
from asctrace.runtime.simulator.registry import factory_of
from asctrace.tracer.language.types import HandleType
from asctrace.tracer.ops.spec import KINDS, TABLE, Form, OpFunction
from asctrace.tracer.trace import Op
from tests.reference import (
    MISSING,
    NOT_SIMULATED,
    OWN_TEXT,
    PLAIN,
    POSITIONAL,
    REFERENCE,
    UNFIT,
    resolve,
    row_of,
)
from tests.simulator_kit import Kernel

OVERLOADS = [
    pytest.param(entry["name"], overload, entry["ascend_c"], id=f"{entry['name']}-{k}")
    for entry in REFERENCE
    for k, overload in enumerate(entry["overloads"])
]


def default_text(value: Any) -> str:
    if isinstance(value, IntEnum):
        return f"{type(value).__name__}.{value.name}"
    return repr(value)


#: A parameter: its name, its default, what it takes.
Shown = tuple[str, str | None, str]


def of_form(form: Form, method: bool) -> list[Shown]:
    """Parameters behind the object itself."""
    return [
        (p.name, None if p.required else default_text(p.default), KINDS[p.kind][0])
        for p in form.params[method:]
    ]


def of_signature(function: Any) -> list[Shown]:
    parameters = list(inspect.signature(function).parameters.values())[1:]
    empty = inspect.Parameter.empty
    return [
        (p.name, None if p.default is empty else default_text(p.default), "") for p in parameters
    ]


def fits(wanted: list[list[Any]], have: list[Shown]) -> bool:
    """Whether a call by the reference's overload is one here: names in order, the same defaults.

    Further parameters here have defaults; what has none there may have one here. A parameter that
    has a type there takes it here.
    """
    if len(have) < len(wanted) or any(d is None for _, d, _ in have[len(wanted) :]):
        return False
    return all(
        name == other
        and (default is None or default == mine)
        and (not types or takes.removeprefix("an asc.").removeprefix("a ") == types[0])
        for (name, default, *types), (other, mine, takes) in zip(wanted, have, strict=False)
    )


def prototypes(texts: list[str]) -> list[tuple[str, int, int]]:
    """Name, number of required and of all parameters of each C++ prototype."""
    found = []
    for text in texts:
        for name, params in re.findall(r"(?<!_)\b(?!__)(\w+)\s*\(([^()]*)\)", text):
            parts = [part for part in params.split(",") if part.strip() not in ("", "void")]
            found.append((name, sum("=" not in part for part in parts), len(parts)))
    return found


@pytest.mark.parametrize(("name", "overload", "ascend_c"), OVERLOADS)
def test_overload(name: str, overload: dict[str, Any], ascend_c: list[str]) -> None:
    wanted = [
        [POSITIONAL.get(n, n) if "__" in name else n, *rest] for n, *rest in overload["params"]
    ]
    if name in MISSING:
        assert not hasattr(asc, name.partition(".")[0])
        return
    if (name, tuple(n for n, *_ in wanted)) in UNFIT:
        return
    kinds = tuple(types[0] for _, _, *types in wanted if types)
    if kinds and (name, kinds) in UNFIT:
        spec = row_of(resolve(name)[1])
        assert spec is not None
        assert not any(fits(wanted, of_form(form, spec.method)) for form in spec.forms)
        return
    _, attribute = resolve(name)
    spec = row_of(attribute)
    if spec is None:
        have = [of_signature(attribute)]
        if name == "LocalTensor.__init__" and wanted[-1][0] == "addr":
            wanted[-1] = ["pos", None]  # LocalTensor(dtype, addr), by position
    elif name in OWN_TEXT and not spec.method:
        assert isinstance(attribute, OpFunction)
        have = [of_signature(type(attribute).__call__)]
        wanted = [[n.removeprefix("*"), *rest] for n, *rest in wanted]
    elif wanted and wanted[0][0] == "*args":
        have, wanted = [of_form(form, True) for form in spec.forms], []
        assert [len(params) for params in have] == [1, 3]
        have.append([])
    else:
        have = [of_form(form, spec.method or "." in name) for form in spec.forms]
    assert any(fits(wanted, params) for params in have), (wanted, have)


ROWS = [
    pytest.param(entry, id=entry["name"])
    for entry in REFERENCE
    if entry["name"] not in (*MISSING, *PLAIN) and "__" not in entry["name"]
]


@pytest.mark.parametrize("entry", ROWS)
def test_row_fits_the_prototypes(entry: dict[str, Any]) -> None:
    """The row is simulated, and each of its overloads has a prototype of its arguments."""
    spec = row_of(resolve(entry["name"])[1]) or TABLE[entry["name"]]
    assert simulated(spec)
    gives_value = any(overload["value"] for overload in entry["overloads"])
    if gives_value and entry["name"] not in ("TQueBind.enque", *OWN_TEXT):
        assert spec.result is not None
    known = prototypes(entry["ascend_c"])
    if not known or entry["name"] in OWN_TEXT:
        return
    named = re.findall(r"AscendC::(\w+)", spec.cpp) or [spec.cpp]
    assert {name for name, _, _ in known} == set(named)
    for form in spec.forms:
        shown = Plan(spec, form).values
        filled = spec.extra.get("outputs", 0)
        least = sum(form.params[k].default is not None for k, _ in shown) + filled
        assert any(
            required <= n <= total
            for n in (least, len(shown) + filled)
            for _, required, total in known
        ), (form.name, known)


def test_missing_calls_say_why() -> None:
    names = {entry["name"] for entry in REFERENCE}
    assert MISSING.keys() <= names
    assert NOT_SIMULATED.keys() <= names
    assert {name for name, _ in UNFIT} <= names
    assert all(
        len(reason) > 20 for reason in (*MISSING.values(), *UNFIT.values(), *NOT_SIMULATED.values())
    )


@pytest.mark.parametrize("name", NOT_SIMULATED)
def test_calls_that_are_not_simulated_say_so(name: str) -> None:
    """Even with a handle, which a kernel cannot make."""
    spec = row_of(resolve(name)[1])
    assert spec is not None
    with Kernel() as k:
        pipe = asc.TPipe()
        queue, pool = asc.TQue(asc.TPosition.VECIN, 1), asc.TBufPool(asc.TPosition.VECIN)
        pipe.init_buf_pool(pool, 1024)
        handle = asc.TBufHandle(HandleType(), k.trace.body)
        numbers = {"index": 0, "num": 1, "cur_pool_addr": 0, "len": 256}
        operands = [numbers.get(p.name, handle) for p in spec.forms[0].params[1:]]
        if "buf_pool" in [p.name for p in spec.forms[0].params]:
            operands[0] = pool
        getattr(queue, name.partition(".")[2])(*operands)
        with pytest.raises(asc.KernelError) as caught:
            asc.TBufHandle()
    assert caught.value.code == "AT0306"
    op = k.trace.body.nodes[-1]
    assert isinstance(op, Op)
    assert op.spec is spec
    run: Any = factory_of(op)(op, None)  # type: ignore[arg-type]
    with pytest.raises(asc.KernelError) as caught:
        run()
    (found,) = caught.value.findings
    assert found.code == "AT0307"
    method = name.partition(".")[2]
    assert found.message == (
        f"{method} serves pools written in C++, which the simulator does not have"
    )
    assert found.hint == "TBufPool.init_buffer places the buffers of a queue"
