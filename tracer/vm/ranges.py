"""Ranges with runtime bounds, and what a `for` over a range keeps on the stack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..diagnostics import Site, error
from ..language.dtypes import DataType, int32, int64, promote
from ..language.scalar import Scalar
from ..trace import current, describe

if TYPE_CHECKING:
    from .frame import Frame


class RuntimeRange:
    """`range(...)` with a bound known only on the device."""

    __slots__ = ("start", "step", "stop")

    def __init__(self, start: Any, stop: Any, step: Any) -> None:
        self.start = start
        self.stop = stop
        self.step = step

    def _refuse(self, what: str) -> Any:
        raise error(
            "AT0107",
            f"{what} a range that ends at {describe(self.stop)} needs a loop on the device",
            current(what).site(),
            hint="write `for i in range(n):` itself; enumerate, zip, list and friends need a "
            "constant range",
        )

    def unit_step(self) -> bool:
        """Whether it goes up or down by one."""
        return type(self.step) is int and self.step in (1, -1)

    def __iter__(self) -> Any:
        return self._refuse("iteration over")

    def __len__(self) -> int:
        return self._refuse("the length of")  # type: ignore[no-any-return]

    def __getitem__(self, index: Any) -> Any:
        return self._refuse("indexing")

    def __reversed__(self) -> Any:
        return self._refuse("reversing")


def index_name(site: Site) -> str:
    """The name that the `for` loop at a site gives its index, or ""."""
    if site is None:
        return ""
    code, pc, _ = site
    store = next(instr for instr in code.instrs[pc + 1 :] if instr.op != "LABEL")
    return code.slot_names[store.arg] if store.op == "STORE_FAST" else ""


class RangeState:
    """The iterator of a `for` over a range; immutable, replaced at each step.

    `mode` is 'auto' (a loop or unrolled, as the budget says), 'loop' (never unrolled) or 'unroll'.
    `pc` is the place of the loop once it is unrolled, before that -1.
    """

    __slots__ = ("done", "mode", "pc", "source", "start", "step", "stop", "trips", "turns")

    def __init__(self, start: Any, stop: Any, step: Any, mode: str, source: Any = None) -> None:
        self.start = start
        self.stop = stop
        self.step = step
        self.mode = mode
        self.source = source
        self.done = 0
        self.pc = -1
        #: What `turns` says inside it, once asked.
        self.turns: Turns = ()
        runtime = any(isinstance(v, Scalar) for v in (start, stop, step))
        self.trips: int | None = None if runtime else len(range(start, stop, step))

    @property
    def ascending(self) -> bool:
        """Whether the step is positive."""
        return isinstance(self.step, Scalar) or self.step > 0

    def runs_once(self) -> bool:
        """Whether the body is known to run at least once."""
        return bool(self.trips)

    def value(self) -> int:
        """The next index of a constant range."""
        return self.start + self.done * self.step  # type: ignore[no-any-return]

    def step_on(self, pc: int) -> RangeState:
        """The state after the next index, unrolled from here on by the loop at `pc`."""
        other = RangeState.__new__(RangeState)
        other.start, other.stop, other.step = self.start, self.stop, self.step
        other.mode, other.source = "unroll", self.source
        other.done, other.trips, other.pc = self.done + 1, self.trips, pc
        other.turns = ()
        return other

    def dtype(self) -> DataType:
        """The C++ type of the index: int32 unless a bound needs more."""
        dtype = int32
        for bound in (self.start, self.stop, self.step):
            if isinstance(bound, Scalar):
                wide = promote(dtype, bound.type)
                if wide is None or not wide.is_int():
                    raise error(
                        "AT0106",
                        f"range() with the bound {describe(bound)}",
                        current("range").site(),
                        hint="bounds are integers of up to 64 bits with sign",
                    )
                dtype = wide
            elif not int32.fits(bound):
                dtype = int64
        return dtype

    def __iter__(self) -> RangeState:
        return self

    def __next__(self) -> Any:
        raise error(
            "AT0303",
            "next() on the iterator of a range with a runtime bound",
            current("next").site(),
            hint="write the `for` loop",
        )


Turns = tuple[tuple[Site, int], ...]


def turns(frame: Frame | None) -> Turns:
    """The unrolled loops around the place where a frame is, with their indices, outermost first."""
    while frame is not None:
        for state in reversed(frame.stack):
            if state.__class__ is RangeState and state.pc >= 0:
                return state.turns or _find_turns(frame)
        frame = frame.parent_frame
    return ()


def _find_turns(frame: Frame) -> Turns:
    """The same where the frame has a loop that was not asked about before."""
    found = turns(frame.parent_frame)
    for state in frame.stack:
        if state.__class__ is RangeState and state.pc >= 0:
            index = state.start + (state.done - 1) * state.step
            found = state.turns = (*found, ((frame.code, state.pc, frame.parent), index))
    return found


def forget_turns(frame: Frame) -> None:
    """What a generator does next it may do in another round of the loops around."""
    for state in frame.stack:
        if state.__class__ is RangeState:
            state.turns = ()
