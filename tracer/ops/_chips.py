"""Which chips have a call, and for which dtypes: checks of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..diagnostics import KernelError, error
from ..trace import Recorder
from . import rules
from .spec import Form, OpSpec


def on_chips(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The chip is one that has the call.

    Those are the architectures in `extra['arches']`; an overload may have fewer (`form_arches`).
    """
    chip = recorder.trace.chip
    arches = spec.extra.get("form_arches", {}).get(form.name, spec.extra["arches"])
    what = "" if arches is spec.extra["arches"] else "of this form"
    if fault := rules.not_on_chip(spec, arches, chip, recorder.site(), what):
        raise fault


def executes(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The chip executes the call: it is none of those in `extra['lacks']`."""
    if fault := lacking(spec, recorder):
        raise fault


def lacking(
    spec: OpSpec, recorder: Recorder, table: Callable[[OpSpec], str] = lambda spec: ""
) -> KernelError | None:
    """The error of a call that a chip declares and does not execute; `table` is shown with it."""
    chip = recorder.trace.chip
    hint = spec.extra.get("lacks", {}).get(chip.arch)
    if not hint:
        return None
    return error(
        "AT0304",
        f"{chip.name} (architecture {chip.arch}) does not execute {spec.name}",
        recorder.site(),
        table=table(spec),
        hint=hint,
    )


def of_dtypes(spec: OpSpec, form: Form, args: tuple[Any, ...], recorder: Recorder) -> None:
    """The dtype is one that the chip takes."""
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
