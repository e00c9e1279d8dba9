"""A chip of each architecture, for tests of rows that the chips of the table do not execute."""

from __future__ import annotations

from asctrace.tracer.chip import CHIPS, DEFAULT, Chip, chip


def chip_of(arch: str) -> Chip:
    """A chip of the table, or one like the default chip that says it is of this architecture."""
    known = (c for c in CHIPS.values() if c.arch == arch)
    return next(known, chip(DEFAULT)._replace(name=f"Chip{arch}", arch=arch))


def profile(soc: str | Chip) -> Chip:
    """A chip by its name, or itself."""
    return soc if isinstance(soc, Chip) else chip(soc)
