"""Who executes an operation: dicts from op rows and families to what runs them.

Two kinds of handlers. An *executor factory* gets an `Op` and the `Core` it will run on, once, and
returns a callable that the scalar program calls with the operation's runtime operands (`operands`)
each time; everything constant is resolved in the factory. An *emitter* gets an `Op` and the writer
of the scalar program and writes the operation inline as Python.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from ...tracer.diagnostics import error
from ...tracer.language.structs import StructArg
from ...tracer.ops._moves import Where
from ...tracer.ops.spec import OpSpec
from ...tracer.trace import Op, Value

if TYPE_CHECKING:
    from .codegen import Writer
    from .core import Core

Executor: TypeAlias = Callable[..., Any]
Factory: TypeAlias = "Callable[[Op, Core], Executor]"
Emitter: TypeAlias = "Callable[[Op, Writer], None]"

#: Does the work of a call whose operands are known and checked.
Work: TypeAlias = Callable[[], Any]
#: The kind of an atomic write: its name and the dtype, such as ("add", float32). Writes of one kind
#: give the same result in any order.
Atomic: TypeAlias = "tuple[str, Any]"
#: Shadow of the memory (None: not looked at), address range, whether it writes (True, or the kind
#: of an atomic write), the operand.
Access: TypeAlias = "tuple[Any, int, int, bool | Atomic, Where]"
Stage: TypeAlias = "Callable[..., tuple[Work, tuple[Access, ...]]]"


class Timed:
    """The executor of an operation that touches memory, in the two forms that engines need.

    `run` checks and works at once. `stage` only checks, and returns the work and its accesses; what
    it checks holds at the time of issue. A factory returns a `Timed` where a plain callable would
    hide the accesses from the search for races.
    """

    __slots__ = ("run", "stage")

    def __init__(self, run: Executor, stage: Stage) -> None:
        self.run = run
        self.stage = stage

    def __call__(self, *values: Any) -> Any:
        """Check and work at once."""
        return self.run(*values)


def staged(run: Executor) -> Timed:
    """Any executor as a `Timed` one, without accesses. Tensors keep their state of now."""
    if isinstance(run, Timed):
        return run

    def stage(*values: Any) -> tuple[Work, tuple[Access, ...]]:
        for value in values:
            if _is_local(value) and not value[2][0]:
                run(*values)  # finds the fault
        frozen = [(v[0], v[1], list(v[2])) if _is_local(v) else v for v in values]
        return partial(run, *frozen), ()

    return Timed(run, stage)


def _is_local(value: Any) -> bool:
    return type(value) is tuple and len(value) == 3 and type(value[2]) is list


EXECUTORS: dict[OpSpec, Factory] = {}
FAMILY_EXECUTORS: dict[str, Factory] = {}
EMITTERS: dict[OpSpec, Emitter] = {}
FAMILY_EMITTERS: dict[str, Emitter] = {}


def simulates(*specs: OpSpec, family: str = "") -> Callable[[Factory], Factory]:
    """Register an executor factory for rows, or for every row of a family."""

    def register(factory: Factory) -> Factory:
        for spec in specs:
            EXECUTORS[spec] = factory
        if family:
            FAMILY_EXECUTORS[family] = factory
        return factory

    return register


def emits(*specs: OpSpec, family: str = "") -> Callable[[Emitter], Emitter]:
    """Register an emitter for rows, or for every row of a family."""

    def register(emitter: Emitter) -> Emitter:
        for spec in specs:
            EMITTERS[spec] = emitter
        if family:
            FAMILY_EMITTERS[family] = emitter
        return emitter

    return register


def emitter_of(spec: OpSpec) -> Emitter | None:
    """The emitter of a row, or None when it is executed by a call."""
    return EMITTERS.get(spec) or FAMILY_EMITTERS.get(spec.family)


def factory_of(op: Op) -> Factory:
    """The executor factory of an operation; AT0901 when the simulator has none."""
    factory = EXECUTORS.get(op.spec) or FAMILY_EXECUTORS.get(op.spec.family)
    if factory is None:
        raise error("AT0901", f"the simulator cannot execute {op.spec.name}", op.site)
    return factory


def simulated(spec: OpSpec) -> bool:
    """Whether the simulator can execute a row."""
    return bool(emitter_of(spec) or EXECUTORS.get(spec) or FAMILY_EXECUTORS.get(spec.family))


def operands(op: Op) -> tuple[Value, ...]:
    """The runtime operands of an operation in order, those inside masks and structs included."""
    found: list[Value] = []
    _collect(op.args, found)
    return tuple(found)


def _collect(args: tuple[Any, ...], found: list[Value]) -> None:
    for arg in args:
        if isinstance(arg, Value):
            found.append(arg)
        elif isinstance(arg, StructArg):
            _collect(arg.values, found)
        elif isinstance(arg, tuple):
            _collect(arg, found)


def rebound(op: Op) -> Value | None:
    """The operand that the call makes name something else: its executor returns what."""
    for arg, param in zip(op.args, op.form.params, strict=True):
        if param.role == "rebind":
            return arg  # type: ignore[no-any-return]
    return None


#: Specialisations kept for one operation before they are dropped.
MAX_CACHED = 4096


def nothing(*values: Any) -> None:
    """The executor of an operation that has nothing to do."""


def specialise(op: Op, passed: int, make: Callable[[tuple[Any, ...]], Executor]) -> Executor:
    """An executor made for the values of the arguments after the first `passed` ones.

    `make` gets those and returns an executor of the runtime operands among the first ones alone.
    Constants settle it here; runtime values look it up at each call.
    """
    leading = sum(isinstance(arg, Value) for arg in op.args[:passed])
    if len(operands(op)) == leading:
        return make(op.args[passed:])
    cache: dict[tuple[Any, ...], Timed] = {}

    def find(key: tuple[Any, ...]) -> Timed:
        if len(cache) >= MAX_CACHED:
            cache.clear()
        rest = iter(key)
        made = cache[key] = staged(make(tuple(fill(arg, rest) for arg in op.args[passed:])))
        return made

    def run(*values: Any) -> None:
        key = values[leading:]
        (cache.get(key) or find(key)).run(*values[:leading])

    def stage(*values: Any) -> tuple[Work, tuple[Access, ...]]:
        key = values[leading:]
        return (cache.get(key) or find(key)).stage(*values[:leading])

    return Timed(run, stage)


def fill(arg: Any, values: Any) -> Any:
    """An operand with its runtime parts replaced by the next ones of the iterator `values`."""
    if isinstance(arg, Value):
        return next(values)
    if isinstance(arg, StructArg):
        return tuple(fill(part, values) for part in arg.values)
    if isinstance(arg, tuple):
        return tuple(fill(part, values) for part in arg)
    return arg
