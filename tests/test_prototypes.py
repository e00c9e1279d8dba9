"""The emitted call of every row and overload is one of a prototype of the interface.

Name, number and kind of template arguments, number, kind and order of arguments. The order shows in
names: an argument stands where a parameter of the same name is, and operands of the examples are
called as the parameters are.
"""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from asctrace.lowering.calls import HOOKS
from asctrace.lowering.plans import Plan
from asctrace.tracer.ops.spec import TABLE, Form, OpSpec, Param
from docs.prototypes import prototype
from tests.op_examples import api_names, shown
from tests.prototypes import Call, Prototype, call_of, misfit, parse
from tests.reference import MORE, PROTOTYPES

_CONSTRUCTOR = (
    "a declaration with a constructor; `test_framework_use` and `test_list_tensor` have it"
)
_OPERATOR = "an operator or a field of C++, not a call"
#: Rows whose text is no call of the interface, and what it is.
NO_CALL = {
    **{name: _CONSTRUCTOR for name, spec in TABLE.items() if spec.family == "construct"},
    **{name: "an expression of C++" for name, spec in TABLE.items() if spec.family == "arith"},
    **{name: "a struct of the kernel's own" for name, s in TABLE.items() if s.family == "struct"},
    "inline": "text as it is given",
    "LocalTensorAuto.__init__": "becomes a TBuf and its `Get`, which are rows",
    "GlobalAddress.__add__": _OPERATOR,
    "GlobalTensor.__getitem__": _OPERATOR,
    "LocalTensor.__getitem__": _OPERATOR,
    "ShapeInfo.shape": _OPERATOR,
    "ShapeInfo.original_shape": _OPERATOR,
}
#: Parameters that pyasc calls otherwise than C++ does, without underscores.
SAME = {
    "scalar": "scalarvalue",
    "srcbase": "srcbaseaddr",
    "dstbase": "dstbaseaddr",
    "repeat": "repeattime",
    "slicelist1": "dstsliceinfo",
    "slicelist2": "srcsliceinfo",
    "length": "len",
    "params": "transposeparams",
    "transmode": "hf32transmode",
}
#: Calls whose parameters mean something else than their names say, and why.
OTHER_NAMES = {
    ("TPipe.init_buffer", "buf"): "`num` is the length, as in pyasc",
    ("TBufPool.init_buffer", "buf"): "`num` is the length, as in pyasc",
    **dict.fromkeys(
        (("whole_reduce_sum", "mask"), ("whole_reduce_sum", "bits")),
        "the list has the repeats before the mask; the headers' own calls have the mask first",
    ),
}
#: What stands in the type of a parameter of a kind.
KINDS = {"mask": "[", "local": "LocalTensor", "global": "GlobalTensor"}
ROWS = [spec for name, spec in TABLE.items() if name not in NO_CALL]
FORMS = [
    pytest.param(spec, form, {}, id=f"{spec.name}-{form.name}")
    for spec in ROWS
    for form in spec.forms
]
#: Rows whose switch stays as it is, since the calls go by a mask of their own.
_FIXED = ("compare", "compare_scalar", "select")
#: The same by the mask that is set, which C++ has template arguments for.
FORMS += [
    pytest.param(spec, form, {param.name: "False"}, id=f"{spec.name}-{form.name}-{param.name}")
    for spec in ROWS
    for form in spec.forms
    for param in form.params
    if param.role == "set_mask" and (spec.name not in _FIXED or form.name.startswith("register"))
]


def plain(name: str) -> str:
    """A parameter's name without what differs by habit only."""
    text = name.replace("_", "").lower()
    for habit, instead in ((r"(local|tensor|global)$", ""), (r"^cal", ""), (r"times$", "time")):
        text = re.sub(habit, instead, text)
    return SAME.get(text, text)


def emitted(spec: OpSpec, form: Form, **given: str) -> str:
    """The line of an example that has the call."""
    names, lines = rf"\b({'|'.join(api_names(spec))})[<(]", shown(spec, form, **given).lines
    return next(line for line in reversed(lines) if re.search(names, line))


def misplaced(spec: OpSpec, form: Form, call: Call, prototype: Prototype) -> list[tuple[str, str]]:
    """Arguments that stand where a prototype has something else.

    Where a hook writes the text, or names differ, tensors alone say where they stand.
    """
    given: list[Param | None] = [form.params[k] for k, _ in Plan(spec, form).values]
    if spec in HOOKS or (spec.name, form.name) in OTHER_NAMES:
        known = {p.name: p for p in form.params if p.kind in ("local", "global")}
        given = [known.get(text) for text in call.arguments]
    pairs = [(p, q) for p, q in zip(given, prototype.params, strict=False) if p is not None]
    return [
        (p.name, q.name)
        for p, q in pairs
        if plain(p.name) != plain(q.name) or KINDS.get(p.kind, "") not in q.type
    ]


@pytest.mark.parametrize(("spec", "form", "given"), FORMS)
def test_the_call_is_one_of_a_prototype(spec: OpSpec, form: Form, given: dict[str, str]) -> None:
    line = emitted(spec, form, **given)
    call = call_of(line, "|".join(api_names(spec)))
    faults = [misfit(call, prototype) for prototype in PROTOTYPES[spec]]
    fitting = [p for p, fault in zip(PROTOTYPES[spec], faults, strict=True) if not fault]
    assert fitting, (line, faults)
    found = [misplaced(spec, form, call, prototype) for prototype in fitting]
    assert [] in found, (line, found)


@pytest.mark.parametrize(("spec", "form", "given"), FORMS)
def test_the_page_has_a_prototype_of_the_call(
    spec: OpSpec, form: Form, given: dict[str, str]
) -> None:
    """What `docs/api` shows is made from the row and takes what is emitted."""
    text = prototype(spec, form, None)
    if text:
        (made,) = parse(text)
        call = call_of(emitted(spec, form, **given), "|".join(api_names(spec)))
        assert misfit(call, made) == ""
        assert [p.name for p in made.params] == [
            form.params[k].name for k, _ in Plan(spec, form).values
        ]
    else:
        assert spec in HOOKS or "{" in spec.cpp


def test_nothing_is_left_out() -> None:
    assert NO_CALL.keys() <= TABLE.keys()
    assert PROTOTYPES.keys() >= {spec for name, spec in TABLE.items() if name not in NO_CALL}
    assert all(PROTOTYPES[spec] for name, spec in TABLE.items() if name not in NO_CALL)
    known = {(spec.name, form.name) for spec in TABLE.values() for form in spec.forms}
    assert OTHER_NAMES.keys() <= known


def test_further_prototypes_are_needed() -> None:
    """A prototype that the list lacks is one that a call is of."""
    assert len({made.name for made in MORE}) > 10
    for made in MORE:
        calls = [
            call_of(emitted(spec, form), made.name)
            for spec in TABLE.values()
            if made.name in api_names(spec)
            for form in spec.forms
        ]
        assert any(not misfit(call, made) for call in calls), made


_COUNT = (
    "template <typename T> void Add(const LocalTensor<T>& dst, const LocalTensor<T>& src0, "
    "const LocalTensor<T>& src1, const int32_t& count)"
)
_BITS = (
    "template <typename T, bool isSetMask = true> void Add(const LocalTensor<T>& dst, const "
    "LocalTensor<T>& src0, const LocalTensor<T>& src1, uint64_t mask[], const uint8_t repeatTime, "
    "const BinaryRepeatParams& repeatParams)"
)
ADD = [_COUNT, _BITS]
_MASKED = "dst, src0, src1, mask, 2, AscendC::BinaryRepeatParams(1, 1, 1, 8, 8, 8)"


@pytest.mark.parametrize(
    ("line", "faults"),
    [
        ("AscendC::Add(dst, src0, src1, 32);", ["", "it takes 6 arguments, not 4"]),
        (f"AscendC::Add<half, false>({_MASKED});",
         ["it takes 4 arguments, not 6", ""]),
        ("AscendC::Add<half, 3>(dst, src0, src1, mask, 2, AscendC::BinaryRepeatParams(1));",
         ["it takes 4 arguments, not 6", "3 is no bool isSetMask"]),
        ("AscendC::Add<false>(dst, src0, src1, 32);", ["false is no typename T",
                                                       "it takes 6 arguments, not 4"]),
        ("AscendC::Add(dst, src0, src1, mask, 2, AscendC::UnaryRepeatParams(1, 1, 8, 8));",
         ["it takes 4 arguments, not 6",
          "AscendC::UnaryRepeatParams(1, 1, 8, 8) is no const BinaryRepeatParams& repeatParams"]),
        ("AscendC::Sub(dst, src0, src1, 32);", ["it is called Add", "it is called Add"]),
    ],
)  # fmt: skip
def test_prototypes_are_told_apart(line: str, faults: list[str]) -> None:
    found = [made for text in ADD for made in parse(text)]
    assert [misfit(call_of(line), made) for made in found] == faults


def test_a_template_argument_that_nothing_tells_is_wanted() -> None:
    (made,) = parse("template <HardEvent event> void SetFlag(int32_t eventID)")
    assert misfit(call_of("AscendC::SetFlag(3);"), made) == "HardEvent event is not given"
    assert misfit(call_of("AscendC::SetFlag<AscendC::HardEvent::MTE2_V>(3);"), made) == ""
    pipe = "AscendC::SetFlag<PIPE_V>(3);"
    assert misfit(call_of(pipe), made) == "PIPE_V is no HardEvent event"


def test_swapped_operands_are_found() -> None:
    (made,) = parse(ADD[0])
    spec = TABLE["add"]
    call = call_of("AscendC::Add(src0, dst, src1, 32);")
    assert misplaced(spec, spec.forms[0], call, made) == []
    swapped = replace(
        spec.forms[0],
        params=(spec.forms[0].params[1], spec.forms[0].params[0], *spec.forms[0].params[2:]),
    )
    assert misplaced(spec, swapped, call, made) == [("src0", "dst"), ("dst", "src0")]


def test_one_text_may_hold_several_prototypes() -> None:
    text = (
        "void SetDeqScale(half scale) void SetDeqScale(float scale, int16_t offset, bool signMode) "
        "template <typename T> void SetDeqScale(const LocalTensor<T>& vdeq, const VdeqInfo& info)"
    )
    assert [len(made.params) for made in parse(text)] == [1, 3, 2]
    assert [len(made.templates) for made in parse(text)] == [0, 0, 1]
