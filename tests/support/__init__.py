"""The corpus of what kernels may be written in, by chapter of the page that shows it.

`ACCEPTED` are Python's constructs, `REFUSED` those that no kernel can have, `ERRORS` mistakes of
every other kind, so that each code has a program.
"""

from . import control, errors, functions, objects, refusals, scalars

ACCEPTED = {
    "Functions and names": functions.ROWS,
    "Control flow": control.ROWS,
    "Objects, containers, text": objects.ROWS,
    "Numbers": scalars.ROWS,
}
REFUSED = refusals.ROWS
ERRORS = errors.ROWS
