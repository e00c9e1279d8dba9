"""The operations a kernel calls as functions, made from the table: no list of names is kept.

Importing this module loads every module of operations. Imports `spec` and its siblings.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

from .spec import TABLE, OpFunction


def load_all() -> None:
    """Import every module of operations, so that `TABLE` is complete."""
    package = __name__.rpartition(".")[0]
    for module in iter_modules(import_module(package).__path__):
        if not module.name.startswith("_"):
            import_module(f"{package}.{module.name}")


def functions() -> dict[str, OpFunction]:
    """Name -> callable of each row that is neither a method, a class nor a scalar expression.

    A row that is not called as it is recorded names its own subclass of `OpFunction`, as
    `extra["function"]`.
    """
    load_all()
    return {
        name: spec.extra.get("function", OpFunction)(spec)
        for name, spec in TABLE.items()
        if "." not in name and spec.family != "construct"
    }
