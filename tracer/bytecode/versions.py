"""Which passes each Python version needs. The only place that asks for the version.

Supporting a new version: add a row here; the test that walks `dis.opmap` lists what is missing.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from . import expand, flow, loops
from .nodes import Pass

_COMMON: Final[tuple[Pass, ...]] = (
    expand.drop_bookkeeping,
    expand.plain_jumps,
    expand.name_operators,
    expand.name_star_calls,
    expand.plain_arguments,
)

_FLOW: Final[tuple[Pass, ...]] = (
    flow.drop_unreachable,
    flow.rejoin_backward_branches,
    loops.uninvert_while,
    flow.drop_redundant_jumps,
    flow.drop_unreachable,  # a jump may have been all that a handler guarded
)

PASSES: Final[dict[tuple[int, int], tuple[Pass, ...]]] = {
    (3, 11): (
        *_COMMON,
        expand.name_comparisons_311,
        expand.expand_jump_or_pop,
        expand.null_before_global,
        expand.push_keyword_names,
        expand.name_formats,
        expand.expand_class_cells,
        expand.reject,
        *_FLOW,
    ),
    (3, 12): (
        *_COMMON,
        expand.name_comparisons_312,
        expand.null_before_global,
        expand.split_method_loads,
        expand.push_keyword_names,
        expand.name_formats,
        expand.expand_return_const,
        expand.expand_slices,
        expand.plain_locals,
        expand.name_intrinsics,
        expand.drop_loop_ends,
        expand.reject,
        *_FLOW,
    ),
    (3, 13): (
        *_COMMON,
        expand.split_superinstructions,
        expand.name_comparisons_313,
        expand.join_bool_and_test,
        expand.null_after_global,
        expand.split_method_loads,
        expand.join_formats,
        expand.expand_return_const,
        expand.expand_slices,
        expand.plain_locals,
        expand.name_intrinsics,
        expand.drop_pop_after_end_for,
        expand.drop_loop_ends,
        expand.reject,
        *_FLOW,
    ),
}
"""The steps from raw to canonical instructions, in order."""

_NAME_FLAGS: Final[dict[tuple[int, int], dict[str, int]]] = {
    (3, 11): {"LOAD_GLOBAL": 1},
    (3, 12): {"LOAD_GLOBAL": 1, "LOAD_ATTR": 1, "LOAD_SUPER_ATTR": 2},
    (3, 13): {"LOAD_GLOBAL": 1, "LOAD_ATTR": 1, "LOAD_SUPER_ATTR": 2},
}


class UnsupportedPython(RuntimeError):
    """This Python's bytecode is not known here."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How to read the bytecode of one version: flags below name indices, then the passes."""

    name_flags: Mapping[str, int]
    passes: tuple[Pass, ...]


def rules_for(version: tuple[int, int]) -> Rules:
    """Return the rules of a version; UnsupportedPython if there are none."""
    if version not in PASSES:
        known = ", ".join(f"{major}.{minor}" for major, minor in PASSES)
        raise UnsupportedPython(
            f"asctrace cannot trace on Python {version[0]}.{version[1]}: kernels are traced from "
            f"CPython bytecode, which changes with each version. Use Python {known}."
        )
    return Rules(_NAME_FLAGS[version], PASSES[version])


def current_rules() -> Rules:
    """Return the rules of the running Python."""
    if sys.implementation.name != "cpython":
        raise UnsupportedPython(
            f"asctrace traces CPython bytecode and cannot run on {sys.implementation.name}."
        )
    return rules_for(sys.version_info[:2])
