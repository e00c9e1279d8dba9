"""The parameters of a kernel and how a call binds to them.

The fast path of a launch needs only `count` and `tables`; everything else is for calls with
keywords, defaults or star parameters. May import `tracer` and `arguments`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ..tracer.diagnostics import error
from ..tracer.language.constexpr import constexpr_names
from .arguments import CONSTANT, RUNTIME, Default

Table = dict[type, Callable[[Any], Any]]
_KINDS = inspect.Parameter


class Signature:
    """What a kernel takes.

    `names` and `tables` (type -> classifier) are in the order of the parameters; `count` is the
    number of arguments of a call that the fast path serves, or -1 for functions with star or
    keyword-only parameters.
    """

    __slots__ = ("_constants", "_kernel", "_signature", "addresses", "count", "names", "tables")

    def __init__(self, fn: Callable[..., Any], kernel: str) -> None:
        self._kernel = kernel
        self._signature = inspect.signature(fn)
        self._constants = constexpr_names(getattr(fn, "__func__", fn))
        parameters = self._signature.parameters.values()
        plain = all(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
        self.count = len(parameters) if plain else -1
        self.names = tuple(p.name for p in parameters)
        self.tables = tuple(map(self.table, self.names))
        self.addresses = frozenset(p.name for p in parameters if _is_address(p.annotation))

    def table(self, name: str) -> Table:
        """The classifiers for arguments of a parameter."""
        return CONSTANT if name in self._constants else RUNTIME

    def __str__(self) -> str:
        bare = [p.replace(annotation=p.empty) for p in self._signature.parameters.values()]
        return f"{self._kernel}({', '.join(map(str, bare))})"

    def bind(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[str, ...], tuple[Table, ...], tuple[Any, ...]]:
        """Names, tables and values of any call, star parameters spread out.

        Elements of `*args` are called `args_0`, `args_1`, ...; entries of `**kwargs` go by their
        own names. Raises `KernelError` AT0113 when the call does not fit.
        """
        try:
            bound = self._signature.bind(*args, **kwargs).arguments
        except TypeError as problem:
            raise error(
                "AT0113", f"{self._kernel}: {problem}", hint=f"the kernel is {self}"
            ) from None
        names: list[str] = []
        tables: list[Table] = []
        values: list[Any] = []

        def add(name: str, table: Table, value: Any) -> None:
            names.append(name)
            tables.append(table)
            values.append(value)

        for p in self._signature.parameters.values():
            table = self.table(p.name)
            if p.kind is _KINDS.VAR_POSITIONAL:
                for k, value in enumerate(bound.get(p.name, ())):
                    add(f"{p.name}_{k}", table, value)
            elif p.kind is _KINDS.VAR_KEYWORD:
                for name, value in bound.get(p.name, {}).items():
                    add(name, table, value)
            else:
                add(p.name, table, bound[p.name] if p.name in bound else Default(p.default))
        return tuple(names), tuple(tables), tuple(values)


def _is_address(annotation: Any) -> bool:
    """Whether an annotation is plain `GlobalAddress`, as an object or by its spelling."""
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return text.rpartition(".")[2] == "GlobalAddress"
