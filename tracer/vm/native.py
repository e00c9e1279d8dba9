"""Which modules' code runs natively and is not guarded: the project's, and libraries'."""

from __future__ import annotations

from typing import Any

ROOT = __name__.partition(".")[0]

#: Packages whose functions run natively: ours, and libraries that never hold kernel code.
_NATIVE = frozenset(
    {ROOT, "numpy", "ml_dtypes", "torch", "enum", "re", "typing", "inspect"}
    | {"logging", "warnings", "importlib", "copyreg", "abc", "_collections_abc", "collections"}
    | {"dataclasses", "copy", "builtins", "types", "functools", "operator", "math", "tabulate"}
    # pytest rewrites the `assert` statements of test modules into calls of its own.
    | {"_pytest", "pytest", "pluggy"}
)
#: Names of modules that were asked about, and the answers.
_known: dict[str, bool] = {}


def is_native(module: Any) -> bool:
    """Whether the code of a module of that name runs natively and is not guarded."""
    if not isinstance(module, str):
        return False
    found = _known.get(module)
    if found is None:
        found = _known[module] = module.partition(".")[0] in _NATIVE
    return found
