"""The vector mask of a core: what sets it, what goes by it, what leaves it changed.

The scalar unit writes the register, and an instruction takes the mask along when it is issued, so
that the state of the program's order is the right one under every schedule. Calls with a mask of
their own leave it behind; calls by count end in normal mode with all elements selected. Only
programs in which something depends on the register keep one (`Core.masks`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from ...tracer.diagnostics import Finding, error, finding
from ...tracer.language.dtypes import DataType
from ...tracer.ops import rules, vec_cmpmask, vec_cmpsel, vec_mask
from ...tracer.ops._vector import selected, slots_of
from ...tracer.trace import Op
from .registry import (
    MAX_CACHED,
    Access,
    Executor,
    Timed,
    Work,
    fill,
    nothing,
    simulates,
    staged,
)

if TYPE_CHECKING:
    from .core import Core

_NORMAL = "call set_mask_norm and set_vector_mask with MaskMode.NORMAL before it"
_COUNTER = "call set_mask_count and set_vector_mask with MaskMode.COUNTER before it"


class Part(NamedTuple):
    """Repeats of a call that select the same lanes: how many, from repeat `first` on."""

    lanes: npt.NDArray[Any]
    repeat: int
    first: int = 0


class MaskRegister:
    """Mode and mask of a core. `counted` is what the mask was set as (None: nobody knows).

    `entered` is the call that began counter mode, `setter` the one that left the mask as it is.
    """

    __slots__ = ("counted", "counter", "entered", "setter", "words")

    def __init__(self) -> None:
        self.entered: Op | None = None
        self.reset()

    def reset(self) -> None:
        """Normal mode, all elements: how a kernel begins, and what a call by count leaves."""
        self.counter = False
        self.entered = None
        self.set((vec_mask.FULL, vec_mask.FULL), False, None)

    def set(self, words: tuple[int, int], counted: bool | None, setter: Op | None) -> None:
        """The low and the high word of a mask."""
        self.words = words
        self.counted = counted
        self.setter = setter

    def key(self) -> tuple[Any, ...]:
        """All that a call depends on."""
        return (self.counter, self.counted, self.words)

    def parts(self, op: Op, repeat: int, dtype: DataType) -> list[Part]:
        """The lanes that a call with this many repeats selects by the mask that is set."""
        if self.counted is not self.counter:
            self._refuse(op)
        if self.counter:
            return counted_parts(op, self.words[0] & 0xFFFFFFFF, repeat, dtype)
        lanes = np.array(selected(self.words, dtype), np.int64)
        return [Part(lanes, repeat)] if repeat and lanes.size else []

    def _refuse(self, op: Op) -> NoReturn:
        mode = "counter" if self.counter else "normal"
        if self.counted is None:
            text = f"which {self.setter.spec.name if self.setter else 'a call'} left undefined"
        else:
            text = f"which was set for {'counter' if self.counted else 'normal'} mode"
        raise error(
            "AT0211",
            f"{op.spec.name} in {mode} mode goes by the mask that is set, {text}",
            op.site,
            notes=[("set here", self.setter.site)] if self.setter else [],
            hint=_COUNTER if self.counter else _NORMAL,
        )

    def left(self) -> list[Finding]:
        """The warning of a kernel that ends in counter mode."""
        if not self.counter or self.entered is None:
            return []
        return [
            finding(
                "AT0211",
                "the kernel ends in counter mode",
                self.entered.site,
                severity="warning",
                hint="call set_mask_norm behind the last call that needs it",
            )
        ]


class CmpMask:
    """The bits, and how many of the bytes something was written to before."""

    __slots__ = ("bits", "defined", "setter")

    def __init__(self) -> None:
        self.bits = np.zeros(vec_cmpmask.NBYTES, np.uint8)
        self.reset()

    def reset(self) -> None:
        """Nothing is known."""
        self.bits[:] = 0xFF
        self.set(0, None)

    def set(self, defined: int, setter: Op | None) -> None:
        """A call leaves this many bytes defined."""
        self.defined = defined
        self.setter = setter

    def need(self, op: Op, nbytes: int) -> None:
        """A call reads this many bytes."""
        if nbytes <= self.defined:
            return
        raise error(
            "AT0211",
            f"{op.spec.name} reads {nbytes} bytes of the register of bits, of which "
            f"{self.defined} are defined",
            op.site,
            notes=[("set here", self.setter.site)] if self.setter else [],
            hint="compare into it (without dst), or call set_cmp_mask, before; select with a mask "
            "leaves it undefined",
        )


def counted_parts(op: Op, count: int, repeat: int, dtype: DataType) -> list[Part]:
    """Whole repeats, and what is left of one; the call's own repeats where they have an effect."""
    if op.spec.extra.get("counts_repeats"):
        return [Part(np.arange(count), repeat)] if count and repeat else []
    lanes = rules.lanes_of(dtype)
    whole, rest = divmod(count, lanes)
    parts = [Part(np.arange(lanes), whole)] if whole else []
    return [*parts, Part(np.arange(rest), 1, whole)] if rest else parts


def uses_register(op: Op) -> bool:
    """Whether an operation sets the register or goes by it."""
    if op.spec.family in ("vec_mask", "vec_cmpmask"):
        return True
    if op.spec.family == "vec_cmpsel" and vec_cmpsel.by_register(op.form):
        return True
    return any(
        p.role == "set_mask" and not arg for p, arg in zip(op.form.params, op.args, strict=True)
    )


def goes_by_mask(op: Op) -> bool:
    """Whether a call has repeats and no mask of its own, so that it goes by the one that is set."""
    return op.spec is vec_cmpsel.SELECT and vec_cmpsel.by_register(op.form)


# -- calls that set it ----------------------------------------------------------------------------


@simulates(family="vec_mask")
def _set(op: Op, core: Core) -> Executor:
    register = core.masks
    assert register is not None

    def run(*values: int) -> None:
        rest = iter(values)
        args = [fill(arg, rest) for arg in op.args]
        if op.spec is vec_mask.SET_MASK_COUNT:
            register.counter, register.entered = True, op
        elif op.spec is vec_mask.SET_MASK_NORM:
            register.counter, register.entered = False, None
        elif op.spec is vec_mask.RESET_MASK:
            register.set((vec_mask.FULL, vec_mask.FULL), False, op)
        else:
            if fault := vec_mask.bad_mask(op.spec, op.form, args, op.site):
                raise fault
            register.set(*vec_mask.words_of(op.form, args), op)

    return run


# -- vector calls ---------------------------------------------------------------------------------


def under_register(
    op: Op, core: Core, dtype: DataType, make: Callable[[Part | None], Executor]
) -> Executor:
    """A vector call of a program that keeps the register.

    `make(part)` gives an executor for these lanes and repeats, None for the call's own.
    """
    register, slots = core.masks, slots_of(op.form)
    assert register is not None
    inherits = slots.inherits(op.args) or goes_by_mask(op)
    if not inherits and slots.kind == "repeat":
        return make(None)
    own = Timed(nothing, lambda *values: (nothing, ())) if inherits else staged(make(None))
    made: dict[Any, Timed] = {}

    def by_parts(key: Any, parts: Callable[[], Iterable[Part]]) -> Timed:
        found = made.get(key)
        if found is None:
            if len(made) >= MAX_CACHED:
                made.clear()
            found = made[key] = joined([staged(make(part)) for part in parts()])
        return found

    def inherited(values: Sequence[Any]) -> Timed:
        repeat = _number(op, slots.repeat, values) if slots.repeat >= 0 else 1
        if register.counter and not op.spec.extra.get("counts_repeats"):
            repeat = 1
        if fault := rules.bad_repeat(op.spec, repeat, op.site):
            raise fault
        if register.counted is not register.counter:
            register.parts(op, repeat, dtype)  # raises
        return by_parts((*register.key(), repeat), lambda: register.parts(op, repeat, dtype))

    def counted(values: Sequence[Any]) -> Timed:
        if register.counter and register.entered is not None:
            core.note((register.entered, op), _ends_counter_mode(op, register.entered))
        register.reset()
        return own

    def masked(values: Sequence[Any]) -> Timed:
        mask = _number(op, slots.amount, values)
        if not register.counter:
            register.set(vec_mask.own_words(slots, mask, dtype), False, op)
            return own
        if slots.kind == "mask":
            raise error(
                "AT0211",
                f"{op.spec.name} with the mask {mask} in counter mode, which takes it as bits",
                op.site,
                notes=[("counter mode begins here", register.entered.site)]
                if register.entered
                else [],
                hint=f"give the number of elements as [{mask}, 0]",
            )
        count = int(mask[0]) & 0xFFFFFFFF
        register.set((count, 0), True, op)
        repeat = _number(op, slots.repeat, values)
        if fault := rules.bad_repeat(op.spec, repeat, op.site):
            raise fault
        return by_parts((count, repeat), lambda: counted_parts(op, count, repeat, dtype))

    choose = inherited if inherits else counted if slots.kind == "count" else masked
    return Timed(
        lambda *values: choose(values).run(*values), lambda *values: choose(values).stage(*values)
    )


def normal_only(op: Op, core: Core, plain: Executor, keeps: bool) -> Executor:
    """A call that works in normal mode only.

    `keeps`: whether the mask is the same behind it; it is undefined behind a call that sets masks
    of its own inside.
    """
    register = core.masks
    if register is None:
        return plain
    own = staged(plain)

    def choose() -> Timed:
        if register.counter:
            raise error(
                "AT0211",
                f"{op.spec.name} in counter mode, which it is not made for",
                op.site,
                notes=[("counter mode begins here", register.entered.site)]
                if register.entered
                else [],
                hint="call set_mask_norm before it",
            )
        if not keeps:
            register.set((0, 0), None, op)
        return own

    return Timed(lambda *values: choose().run(*values), lambda *values: choose().stage(*values))


def undefines_mask(op: Op, core: Core, plain: Timed) -> Executor:
    """A call that sets mode and mask itself, whatever they were, and ends in normal mode."""
    register = core.masks
    if register is None:
        return plain

    def stage(*values: Any) -> tuple[Work, tuple[Access, ...]]:
        register.counter, register.entered = False, None
        register.set((0, 0), None, op)
        return plain.stage(*values)

    return Timed(lambda *values: stage(*values)[0](), stage)


def _number(op: Op, which: int, values: Sequence[Any]) -> Any:
    """An argument of a call, or a mask, with its runtime parts."""
    rest = iter(values)
    for arg in op.args[:which]:
        fill(arg, rest)
    return fill(op.args[which], rest)


def _ends_counter_mode(op: Op, entered: Op) -> Finding:
    return finding(
        "AT0211",
        f"{op.spec.name} by count ends counter mode",
        op.site,
        severity="warning",
        notes=[("counter mode begins here", entered.site)],
        hint="calls by count set the mode themselves and leave normal mode behind: call them "
        "before set_mask_count or after set_mask_norm",
    )


def joined(parts: Sequence[Timed]) -> Timed:
    """Executors of one call, one after another."""
    if len(parts) == 1:
        return parts[0]

    def run(*values: Any) -> None:
        for part in parts:
            part.run(*values)

    def stage(*values: Any) -> tuple[Work, tuple[Access, ...]]:
        staged_parts = [part.stage(*values) for part in parts]
        works = [work for work, _ in staged_parts]

        def work() -> None:
            for each in works:
                each()

        return work, tuple(access for _, accesses in staged_parts for access in accesses)

    return Timed(run, stage)
