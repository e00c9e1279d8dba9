"""Which chips have a call, and for which dtypes: checks of rows."""

from __future__ import annotations

from typing import Any

from ..diagnostics import error
from ..trace import Recorder
from . import rules
from .spec import Form, OpSpec


def on_chips(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The chip is of one of the architectures in `extra['arches']`; an overload may have fewer."""
    chip = recorder.trace.chip
    arches = spec.extra.get("form_arches", {}).get(form.name, spec.extra["arches"])
    what = "" if arches is spec.extra["arches"] else "of this form"
    if fault := rules.not_on_chip(spec, arches, chip, recorder.site(), what):
        raise fault


def of_dtypes(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The first operand is a dtype that the row's table has for the chip."""
    chip, dtypes = recorder.trace.chip, spec.dtypes
    if fault := rules.not_on_chip(spec, dtypes, chip, recorder.site()):
        raise fault
    if args[0] not in dtypes[chip.arch]:
        rows = (f"{arch}: {', '.join(t.name for t in row)}" for arch, row in dtypes.items())
        raise error(
            "AT0102",
            f"{spec.name} of {args[0]} is not executed by {chip.name} (architecture {chip.arch})",
            recorder.site(),
            table=f"{spec.name} takes, by architecture:\n" + "\n".join(rows),
            hint="choose a dtype of the table",
        )
