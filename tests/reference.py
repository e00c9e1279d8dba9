"""The interface of the reference front end, and what is said where it is not as it is there.

`data/reference_api.json` lists every function: overloads with parameters, defaults and (where
overloads of a function differ in them) types, whether they give a value, and the Ascend C
prototypes. The tests of the interface and the page `docs/api_coverage.md` go by it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import asctrace as asc
from asctrace.lowering.text import emit
from asctrace.runtime.simulator import compile_trace
from asctrace.tracer.ops.functions import load_all
from asctrace.tracer.ops.spec import TABLE, OpFunction, OpSpec
from tests.lowering_kit import Kernel
from tests.op_examples import api_names, call, chip_for
from tests.prototypes import Prototype, parse

load_all()
_DATA = Path(__file__).parent / "data"
EVERY = json.loads((_DATA / "reference_api.json").read_text("utf-8"))
#: Groups that are not begun, and why.
LATER = {"adv": "the library on top of the basic functions comes later"}
REFERENCE = [entry for entry in EVERY if entry["group"] not in LATER]

_IMAGE = "image functions (AIPP) are not in scope yet"
#: Calls without a counterpart, and why.
MISSING = {
    **dict.fromkeys(
        ("fixpipe", "load_data", "load_data_with_sparse", "load_data_with_transpose", "mmad",
         "mmad_with_sparse", "set_fix_pipe_pre_quant_flag", "set_load_data_boundary",
         "set_load_data_padding_value", "set_load_data_repeat"),
        "the cube's functions are not in scope yet",
    ),
    "load_image_to_local": _IMAGE,
    "set_aipp_functions": _IMAGE,
}  # fmt: skip
_HANDLES = "for pools written in C++ (EXTERN_IMPL_BUFPOOL), which alone make and keep TBufHandles"
#: Calls that are lowered but end a run with AT0307, and why.
NOT_SIMULATED = {
    "TQueBind.init_buf_handle": _HANDLES,
    "TQueBind.init_start_buf_handle": _HANDLES,
}
#: Overloads that cannot be traced, and why.
UNFIT = {
    ("LocalTensor.__init__", ()): "a C++ tensor has an element type: LocalTensor(dtype)",
    **dict.fromkeys(
        (
            ("data_copy", ("GlobalTensor", "LocalTensor", "DataCopyCO12DstParams")),
            ("data_copy", ("LocalTensor", "LocalTensor", "DataCopyCO12DstParams")),
        ),
        "copies of the cube's results come with the matrix functions",
    ),
    **dict.fromkeys(
        (
            ("data_copy", ("LocalTensor", "LocalTensor", "Nd2NzParams")),
            ("data_copy_pad", ("LocalTensor", "LocalTensor", "DataCopyExtParams", "Nd2NzParams")),
            ("data_copy_pad", ("LocalTensor", "LocalTensor", "DataCopyParams", "Nd2NzParams")),
        ),
        "from UB to L1 the headers need a Matmul object: refused with AT0306",
    ),
}
#: Functions and classes that no row records, and what they are.
PLAIN = {
    "ascend_is_aic": "known while tracing",
    "ascend_is_aiv": "known while tracing",
    "MrgSortSrcList.__init__": "written where it is an operand",
}
#: Rows whose operands are not those of the prototype one to one; tests of theirs compare the text.
OWN_TEXT = {
    "ListTensorDesc.get_desc": "the array of the shape is an operand that C++ reaches by the desc",
    "get_arch_version": "C++ writes its argument, here the value is returned",
    "get_store_atomic_config": "C++ writes its arguments, here the values are returned",
    "printf": "any number of values",
}
#: Python names of the operators' operands, which are positional.
POSITIONAL = {"slices": "index", "index": "index"}


def resolve(name: str) -> tuple[Any, Any]:
    """The class, or None for a function, and the attribute."""
    if "." not in name:
        return None, getattr(asc, name)
    cls = getattr(asc, name.partition(".")[0])
    return cls, getattr(cls, name.partition(".")[2])


def row_of(attribute: Any) -> OpSpec | None:
    return attribute.spec if isinstance(attribute, OpFunction) else None


def row_for(name: str) -> OpSpec:
    """The row that records a function, a method, an operator or a constructor."""
    cls, _, method = name.rpartition(".")
    rows = {"__init__": cls, "__call__": f"{cls}.get_value"}
    found = TABLE.get(name) or TABLE.get(rows.get(method, "")) or row_of(resolve(name)[1])
    assert found is not None, name
    return found


def _prototypes() -> dict[OpSpec, list[Prototype]]:
    """The prototypes of each row: those of the list, and those that it lacks."""
    found: dict[OpSpec, list[Prototype]] = {}
    for entry in REFERENCE:
        if entry["name"] not in (*MISSING, *PLAIN):
            made = [made for text in entry["ascend_c"] for made in parse(text)]
            found.setdefault(row_for(entry["name"]), []).extend(made)
    for spec in TABLE.values():
        more = [made for made in MORE if made.name in api_names(spec)]
        if more:
            found.setdefault(spec, []).extend(more)
    return found


#: Prototypes of the public headers that the list lacks, or has with fewer template arguments.
MORE = [
    made
    for line in (_DATA / "more_prototypes.txt").read_text("utf-8").splitlines()
    for made in parse(line)
]
#: The prototypes of each row.
PROTOTYPES = _prototypes()


class Coverage(NamedTuple):
    """What there is of a function: each of the three is what was tried, not what a table says."""

    group: str
    file: str
    name: str
    traced: bool
    lowered: bool
    simulated: bool
    note: str

    @property
    def whole(self) -> bool:
        """Whether it is traced, lowered and simulated."""
        return self.traced and self.lowered and self.simulated


def coverage() -> Iterator[Coverage]:
    """What there is of each function of the reference, in its order."""
    for entry in EVERY:
        name = entry["name"]
        where = entry["group"], entry["file"], name
        reason = LATER.get(entry["group"]) or MISSING.get(name)
        if reason:
            yield Coverage(*where, False, False, False, reason)
        elif name in PLAIN:
            resolve(name)
            yield Coverage(*where, True, True, True, PLAIN[name])
        else:
            yield Coverage(*where, *_tried(row_for(name), name), _notes(name))


def _tried(spec: OpSpec, name: str) -> tuple[bool, bool, bool]:
    """Whether the examples of all overloads are traced, lowered and compiled for the simulator."""
    lowered, compiled = [], []
    for form in spec.forms:
        with Kernel(soc=chip_for(spec)) as k:
            call(k, spec, form)
        text = emit(k.trace)
        lowered += [re.search(rf"\b{word}\b", text) is not None for word in api_names(spec)]
        compiled.append("def block(" in compile_trace(k.trace).source)
    return True, all(lowered), all(compiled) and name not in NOT_SIMULATED


def _notes(name: str) -> str:
    """What is said of a function or of some of its overloads."""
    found = [NOT_SIMULATED[name]] if name in NOT_SIMULATED else []
    overloads: dict[str, list[str]] = {}
    for (of, kinds), why in UNFIT.items():
        if of == name:
            overloads.setdefault(why, []).append(f"({', '.join(kinds)})")
    return "; ".join([*found, *(f"not {' '.join(k)}: {why}" for why, k in overloads.items())])
