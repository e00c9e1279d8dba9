"""The corpus of what kernels may be written in, by chapter of the page that shows it."""

from . import control, functions, objects, scalars

ACCEPTED = {
    "Functions and names": functions.ROWS,
    "Control flow": control.ROWS,
    "Objects, containers, text": objects.ROWS,
    "Numbers": scalars.ROWS,
}
