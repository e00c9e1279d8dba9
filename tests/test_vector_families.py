"""Every element-wise vector function of the table against single elements worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from asctrace.lowering.text import emit
from asctrace.tracer.diagnostics import KernelError
from asctrace.tracer.language.dtypes import ALL
from asctrace.tracer.ops._vector import Signature, slots_of, takes
from asctrace.tracer.ops.spec import STRUCTS, Form, OpFunction, OpSpec
from tests import lowering_kit
from tests.lowering_kit import body, local
from tests.vector_kit import (
    CHIPS,
    FAMILIES,
    OPTIONS,
    ROWS,
    Drawn,
    arch_name,
    assert_same,
    calls,
    cases,
    choices,
    expected,
    memory_of,
    name_of,
    run,
)
from tests.vector_reference import REFERENCE

CASES = [pytest.param(case, id=name_of(case)) for case in cases(*CHIPS)]
FORMS = [
    pytest.param(spec, form, id=f"{spec.name}-{form.name}") for spec in ROWS for form in spec.forms
]


def test_every_row_has_a_reference() -> None:
    assert {spec.cpp for spec in ROWS} == REFERENCE.keys()
    assert {spec.family for spec in ROWS} == set(FAMILIES)


@pytest.mark.parametrize("case", CASES)
def test_agrees_with_single_elements(case: Any) -> None:
    """Random masks, strides and places; a seed for the data; runtime numbers half of the time."""

    @settings(
        max_examples=3,
        phases=[Phase.generate],
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(drawn=calls(case), seed=st.integers(0, 2**32 - 1), runtime=st.booleans())
    def check(drawn: Drawn, seed: int, runtime: bool) -> None:
        memory = memory_of(drawn, seed)
        if drawn.shares() or drawn.feeds():
            with pytest.raises(KernelError, match=f"AT0117: {case[1].name} writes .* share"):
                run(case[0], drawn, memory, runtime)
            return
        assert_same(run(case[0], drawn, memory, runtime), expected(drawn, memory), drawn)

    check()


# -- boundaries -----------------------------------------------------------------------------------


def boundary(spec: OpSpec, form: Form, repeats: int, lanes: int) -> Drawn:
    """A dense call with the tensors one behind the other, a block between them."""
    dtypes = takes(spec, form, "2201")[0]
    slots, widest = slots_of(form), max(dtype.sizeof() for dtype in dtypes)
    per_repeat = 256 // widest
    drawn = Drawn(spec, form, dtypes, lanes or per_repeat, repeats)
    if slots.kind == "count":
        drawn.amount, drawn.repeat = repeats * per_repeat if not lanes else lanes * repeats, 1
    elif slots.kind == "bits":
        word = (1 << drawn.amount) - 1
        drawn.amount = [word & (1 << 64) - 1, word >> 64]
    drawn.strides = (1,) * len(dtypes) + tuple(8 * d.sizeof() // widest for d in dtypes)
    drawn.scalar = None if slots.scalar is None else 3
    drawn.options = {
        k: choices("2201", p.kind, dtypes)[0]
        for k, p in enumerate(form.params)
        if p.kind in OPTIONS
    }
    starts = [0]
    for k in range(len(dtypes) - 1):
        starts.append((starts[-1] + drawn.extent(k) + 63) // 32 * 32)
    drawn.starts = tuple(starts)
    return drawn


#: Repeats and lanes (0: all) of a call; by count their product.
BOUNDARIES = [(0, 0), (1, 1), (1, 8), (1, 0), (255, 1)]


def check_boundary(spec: OpSpec, form: Form, repeats: int, lanes: int) -> None:
    drawn = boundary(spec, form, repeats, lanes)
    end = drawn.starts[-1] + drawn.extent(len(drawn.starts) - 1)
    memory = memory_of(drawn, repeats + lanes, (end + 127) // 64 * 64)
    assert_same(run("2201", drawn, memory), expected(drawn, memory), drawn)


@pytest.mark.parametrize(("spec", "form"), FORMS)
def test_boundaries(spec: OpSpec, form: Form) -> None:
    for repeats, lanes in BOUNDARIES:
        check_boundary(spec, form, repeats, lanes)


@pytest.mark.parametrize("family", FAMILIES)
def test_as_much_as_a_call_can_do(family: str) -> None:
    """One row of each family: elements worked out one by one take their time."""
    spec = next(spec for spec in ROWS if spec.family == family)
    for form in spec.forms:
        check_boundary(spec, form, 255, 0)


# -- what is refused ------------------------------------------------------------------------------


def _arguments(form: Form) -> list[Any]:
    """Arguments behind the tensors of a call that works for any dtype."""
    given = {"count": 8, "mask": 8, "repeat_times": 1, "repeat_time": 1}
    slots = slots_of(form)
    found: list[Any] = []
    for k, param in enumerate(form.params[slots.tensors :], slots.tensors):
        if param.kind in STRUCTS:
            dense = (1, 1, 8, 8) if param.kind == "copy_repeat" else ()
            found.append(STRUCTS[param.kind](*dense))
        elif param.kind == "mask":
            found.append([3, 0])
        elif k == slots.scalar:
            found.append(2)
        elif param.name in given:
            found.append(given[param.name])
        elif k in slots.strides:
            found.append(1)
    return found


@pytest.mark.parametrize("arch", CHIPS)
@pytest.mark.parametrize(("spec", "form"), FORMS)
def test_other_dtypes_are_refused(spec: OpSpec, form: Form, arch: str) -> None:
    tensors = slots_of(form).tensors
    allowed = takes(spec, form, arch)
    for dtype in ALL:
        if (dtype,) * tensors in allowed:
            continue
        with lowering_kit.Kernel(soc=CHIPS[arch]):
            operands = [local(f"t{k}", 4096 * k, 512, dtype) for k in range(tensors)]
            with pytest.raises(KernelError) as caught:
                OpFunction(spec)(*operands, *_options(arch, form), *_arguments(form))
        known = arch in spec.dtypes
        assert f"error {'AT0102' if known else 'AT0304'}: " in str(caught.value)
        assert spec.name in str(caught.value)


def _options(arch: str, form: Form, dtypes: Signature = ()) -> list[Any]:
    """The constant options of a call, the first there are."""
    return [choices(arch, p.kind, dtypes)[0] for p in form.params if p.kind in OPTIONS]


# -- text -----------------------------------------------------------------------------------------

STRIDES = {
    "binary_repeat": "AscendC::BinaryRepeatParams(1, 1, 1, 8, 8, 8)",
    "unary_repeat": "AscendC::UnaryRepeatParams(1, 1, 8, 8)",
    "copy_repeat": "AscendC::CopyRepeatParams(1, 1, 8, 8)",
}
TWO = {
    "float32": "2.0f",
    "float16": "static_cast<half>(2.0f)",
    "bfloat16": "static_cast<bfloat16_t>(2.0f)",
}


def written(arch: str, spec: OpSpec, form: Form, dtypes: Signature, mask: bool) -> str:
    """The line that a call with `_arguments` becomes; `mask` says whether it sets the mask."""
    slots = slots_of(form)
    template = ""
    if not mask and any(p.role == "set_mask" for p in form.params):
        names = [dtypes[k].cpp for k in spec.extra.get("types", (0,))]
        template = f"<{', '.join([*names, 'false'])}>"
    parts = []
    for k, param in enumerate(form.params):
        if param.kind == "local":
            parts.append(param.name)
        elif k == slots.scalar:
            parts.append(TWO.get(dtypes[slots.like].name, "2"))
        elif param.kind in STRUCTS:
            parts.append(STRIDES[param.kind])
        elif param.kind in OPTIONS:
            option = choices(arch, param.kind, dtypes)[0]
            parts.append(f"AscendC::{type(option).__name__}::{option.name}")
        elif param.kind == "mask":
            parts.append("mask")
        elif param.name in ("count", "mask"):
            parts.append("8")
        elif k == slots.repeat or k in slots.strides:
            parts.append("1")
    return f"AscendC::{spec.cpp}{template}({', '.join(parts)});"


@pytest.mark.parametrize("case", CASES)
def test_text(case: Any) -> None:
    arch, spec, form, dtypes = case
    for mask in (True, False):
        with lowering_kit.Kernel(soc=CHIPS[arch]) as k:
            tensors = [
                local(p.name, 4096 * n, 512, dtypes[n])
                for n, p in enumerate(form.params)
                if p.kind == "local"
            ]
            switch = {} if mask else {"is_set_mask": False}
            names = [p.name for p in form.params]
            if switch and "is_set_mask" not in names:
                continue
            given = dict(
                zip(
                    names,
                    [*tensors, *_options(arch, form, dtypes), *_arguments(form)],
                    strict=False,
                )
            )
            OpFunction(spec)(**given, **switch)
        assert body(emit(k.trace)).splitlines()[-1] == written(arch, spec, form, dtypes, mask)


def test_the_chips_of_the_table_are_known() -> None:
    assert {arch_name(arch) for arch in CHIPS} == set(CHIPS.values())
