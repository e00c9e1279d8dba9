"""Follows a kernel along its paths and keeps what is known (`state.State`).

Branches run both arms from one state and join what comes out. A loop runs its body again and again
while that changes what is known, each time exactly as iteration 1, 2, ... of the device, so that a
loop which leaves one tensor behind each time is found to run out of buffers. When this does not
settle, what differs between iterations is forgotten until it does.

What one operation does stands in the handlers (`HANDLERS`): the modules of the classes of findings
fill it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ...tracer.diagnostics import Finding, Site, finding
from ...tracer.language.enums import TPosition
from ...tracer.language.types import LocalTensorType, QueueType
from ...tracer.ops._events import SetFlags
from ...tracer.ops.spec import OpSpec
from ...tracer.trace import Assign, Block, Declare, If, Jump, Loop, Op, Trace, Value
from .state import UNKNOWN, Hold, State, Why, join, same

Handler: TypeAlias = "Callable[[Walker, State, Op, Plan], None]"

#: What an operation does to the state, by its row. Other rows: `Walker(use)`.
HANDLERS: dict[OpSpec, Handler] = {}

#: Iterations that are followed exactly: more than a position holds tensors or a kernel buffers.
_MAX_EXACT = 70

#: Nodes run in iterations after the first, after which loops are no longer followed exactly, and
#: after which the walk is given up.
_PATIENT_STEPS = 20_000
_MOST_STEPS = 100_000

#: Names of parameters that say how much an operation does.
_AMOUNTS = frozenset({"count", "repeat", "repeat_time", "repeat_times"})


def handles(*specs: OpSpec) -> Callable[[Handler], Handler]:
    """Register the handler of rows."""

    def register(handler: Handler) -> Handler:
        for spec in specs:
            HANDLERS[spec] = handler
        return handler

    return register


#: On what it depends that control comes behind a branch, by whether each arm has been left.
_REST = {
    (False, True): "only when this condition holds",
    (True, False): "only when this condition does not hold",
    (False, False): "unless control goes elsewhere here",
}


class _GiveUp(Exception):
    """The kernel takes too long to follow."""


class Plan:
    """What to look at in an operation of a form.

    `used`: indices and roles of local tensors that are read or written, `lists` of lists of such;
    `queues` of queues;
    `pipes`: whether it may act on all queues; `amounts`: indices of numbers of which 0 means that
    nothing happens; `rebinds` of tensors that are filled in; `upsets`: whether it may act on queues
    or fill in tensors. `handler`: what it does to the state, if anything. `makes`: whether it has
    no handler of its own and the result is a queue or a local tensor, `source` the index of the
    tensor it is a view of. `tensor`: the index of the first local tensor.
    """

    __slots__ = (
        "amounts", "handler", "lists", "makes", "pipes", "queues", "rebinds", "source", "tensor",
        "upsets", "used",
    )  # fmt: skip

    def __init__(self, op: Op, use: Handler) -> None:
        spec, form = op.spec, op.form
        params = list(enumerate(form.params))
        touched = [(k, p) for k, p in params if p.role in ("in", "out", "inout")]
        self.used = [(k, p.role) for k, p in touched if p.kind == "local"]
        self.lists = [(k, p.role) for k, p in touched if p.kind in ("tensors", "merge_lists")]
        self.queues = [k for k, p in params if p.kind == "queue" and not spec.pure]
        self.pipes = not spec.pure and any(p.kind in ("tpipe", "pool") for _, p in params)
        self.rebinds = [k for k, p in params if p.role == "rebind"]
        self.amounts = [k for k, p in params if p.name in _AMOUNTS or p.kind == "mask"]
        self.upsets = bool(self.queues or self.pipes or self.rebinds)
        acts = self.used or self.lists or self.upsets
        own = HANDLERS.get(spec)
        self.handler = own or (use if acts else None)
        kind = None if op.result is None else type(op.result.type)
        self.makes = own is None and kind in (LocalTensorType, QueueType)
        tensors = [k for k, p in params if p.kind == "local"]
        self.source = tensors[0] if len(tensors) == 1 else None
        self.tensor = tensors[0] if tensors else None


class _Frame:
    """Ways out of the loop being followed."""

    __slots__ = ("breaks", "continues")

    def __init__(self) -> None:
        self.breaks: list[State] = []
        self.continues: list[State] = []


class Walker:
    """One walk over a trace.

    `holds` has the tensors of values, `found` the findings by operation, in order of appearance,
    `queues` the queues by id, `parents` the ids of the pools that give each memory (None: the
    pipe), `suspect` the ids of those that have findings. `muted`: what would be found has been
    found before. `use` handles what has no handler.
    """

    def __init__(self, trace: Trace, use: Handler) -> None:
        self.trace = trace
        self.chip = trace.chip
        self.holds: dict[int, Hold] = {}
        self.found: dict[int, Finding] = {}
        self.queues: dict[int, Value] = {}
        self.parents: dict[int, set[int | None]] = {}
        self.suspect: set[int] = set()
        self.muted = False
        self._use = use
        self._frame = _Frame()
        self._returns: list[State] = []
        self._again = 0
        self._steps = 0
        self._crowded: frozenset[TPosition] = frozenset()
        self._set_flags: SetFlags | None = None

    def run(self) -> State | None:
        """What is known at the end of the kernel, on all its ends; None when it has none."""
        self._crowded = self._count_buffers()
        for row in self.trace.buffers:
            parent = None if row.parent is None else id(row.parent)
            self.parents.setdefault(id(row.owner), set()).add(parent)
        try:
            end = self._block(self.trace.body, State())
        except _GiveUp:
            return None
        return self._join([*self._returns, *([] if end is None else [end])])

    def _count_buffers(self) -> frozenset[TPosition]:
        """Positions whose queues have more buffers than tensors may be allocated there."""
        counts: dict[TPosition, int] = {}
        limit = self.chip.position_tensors
        for row in self.trace.buffers:
            if row.address is None:
                more = limit + 1 if isinstance(row.num, Value) else int(row.num)
                counts[row.position] = counts.get(row.position, 0) + more
        return frozenset(position for position, count in counts.items() if count > limit)

    # -- what handlers use ------------------------------------------------------------------------

    def lookup(self, state: State, value: Value) -> Hold:
        """The hold of a tensor."""
        if state.tensors:
            found = state.tensors.get(id(value))
            if found is not None:
                return found
        return self.holds.get(id(value), UNKNOWN)

    def bind(self, state: State, op: Op, target: Any, hold: Hold) -> None:
        """The result of an operation, or the tensor that it fills in, is `hold`."""
        if op.result is not None:
            self.holds[id(op.result)] = hold
        elif isinstance(target, Value):
            state.tensors[id(target)] = hold

    @property
    def set_flags(self) -> SetFlags:
        """The `set_flag`s of the trace, found when first needed."""
        if self._set_flags is None:
            self._set_flags = SetFlags(self.trace)
        return self._set_flags

    def crowded(self, position: TPosition) -> bool:
        """Whether the queues at a position have more buffers than it may have tensors."""
        return position in self._crowded

    def report(
        self,
        state: State,
        op: Op,
        code: str,
        message: str,
        *,
        hint: str,
        notes: Sequence[tuple[str, Site]] = (),
        why: Why = None,
    ) -> None:
        """A finding: an error when it always happens, a warning when it depends on something."""
        if self.muted:
            return
        if op.args and id(op.args[0]) in self.queues:
            self.suspect.add(id(op.args[0]))
        why = why or state.why
        before = self.found.get(id(op))
        if before is not None and (before.severity == "error" or why is not None):
            return
        self.found[id(op)] = finding(
            code,
            message,
            op.site,
            hint=hint,
            notes=[*notes, *([] if why is None else [why])],
            severity="error" if why is None else "warning",
        )

    # -- nodes ------------------------------------------------------------------------------------

    def _block(self, block: Block, state: State) -> State | None:
        """Run a block; the state at its end, or None when control never gets there."""
        for node in block.nodes:
            if node.__class__ is Op:
                plan = node.form.followed or self._plan(node)
                if plan.handler is not None:
                    plan.handler(self, state, node, plan)
                if plan.makes:
                    self._result(state, node, plan)
            elif isinstance(node, If):
                after = self._if(node, state)
                if after is None:
                    return None
                state = after
            elif isinstance(node, Loop):
                after = self._loop(node, state)
                if after is None:
                    return None
                state = after
            elif isinstance(node, Jump):
                self._jump(node, state)
                return None
            elif isinstance(node, Declare):
                if isinstance(node.var.type, LocalTensorType):
                    state.tensors[id(node.var)] = self._value(state, node.init)
            elif isinstance(node, Assign):
                self._assign(node, state)
        if self._again:
            self._steps += len(block.nodes) + 1
            if self._steps > _MOST_STEPS:
                raise _GiveUp
        return state

    def _plan(self, op: Op) -> Plan:
        """The plan of an operation, made once for its row and overload."""
        plan = op.form.followed = Plan(op, self._use)
        return plan

    def _result(self, state: State, op: Op, plan: Plan) -> None:
        """A new queue, or a view: of the operation's one local operand, else of no one knows."""
        result: Any = op.result
        if type(result.type) is LocalTensorType:
            source = plan.source
            hold = UNKNOWN if source is None else self.lookup(state, op.args[source])
            self.holds[id(result)] = hold
        else:
            old = state.queues.get(id(result))
            for hold in () if old is None else (*old[1], *old[2]):
                hold.lost = True
            state.queues[id(result)] = (0, {}, {})
            self.queues[id(result)] = result

    def _value(self, state: State, value: Any) -> Hold:
        return self.lookup(state, value) if isinstance(value, Value) else UNKNOWN

    def _assign(self, node: Assign, state: State) -> None:
        if any(isinstance(var.type, LocalTensorType) for var in node.vars):
            pairs = list(zip(node.vars, node.values, strict=True))
            state.tensors |= {
                id(var): self._value(state, value)
                for var, value in pairs
                if isinstance(var.type, LocalTensorType)
            }

    def _jump(self, node: Jump, state: State) -> None:
        if node.kind == "break":
            self._frame.breaks.append(state)
        elif node.kind == "continue":
            self._frame.continues.append(state)
        elif node.kind == "return":
            self._returns.append(state)

    def _left(self) -> int:
        """How many ways out have been taken so far."""
        frame = self._frame
        return len(frame.breaks) + len(frame.continues) + len(self._returns)

    def _join(self, states: list[State]) -> State | None:
        if not states:
            return None
        out = states[0]
        for state in states[1:]:
            out = join(out, state, self.holds)
        return out

    def _if(self, node: If, state: State) -> State | None:
        left = self._left()
        why = state.why
        taken = self._block(node.then, state.fork((_REST[False, True], node.site)))
        state.why = (_REST[True, False], node.site)
        other = self._block(node.orelse, state)
        after = self._join([s for s in (taken, other) if s is not None])
        if after is not None:
            after.why = why
            if why is None and self._left() != left:
                after.why = (_REST[taken is None, other is None], node.site)
        return after

    # -- loops ------------------------------------------------------------------------------------

    def _loop(self, node: Loop, state: State) -> State | None:
        trips = _trips(node)
        if trips == 0:
            return state
        why, returns, outer = state.why, len(self._returns), self._frame
        self._frame = frame = _Frame()
        heads, settled = self._iterate(node, state, trips, returns)
        if not settled:
            frame.breaks.clear()
            heads = [self._widen(node, heads)]
        self._frame = outer
        if node.index is None:
            heads = []
        elif trips is not None:
            heads = heads[-1:]
        after = self._join([*heads, *frame.breaks])
        if after is None:
            return None
        after = after.fork(why)
        if why is None and len(self._returns) != returns:
            after.why = ("unless the kernel returns in this loop", node.site)
        return after

    def _iterate(
        self, node: Loop, state: State, trips: int | None, returns: int
    ) -> tuple[list[State], bool]:
        """Run the body exactly while that changes something.

        Returns the states at the head of the loop before each iteration and behind the last one
        (when control gets there), and whether they are all there are.
        """
        frame, why = self._frame, state.why
        fixed = state.live()
        heads = [state]
        for k in range(1, _MAX_EXACT + 1):
            inside = why
            sure = node.index is None or trips is not None
            if not sure or (k > 1 and (frame.breaks or len(self._returns) != returns)):
                times = "" if k == 1 else f" {k} times"
                inside = (f"only if this loop runs{times}", node.site)
            self._again += k > 1
            after = self._body(node, heads[-1].fork(inside))
            self._again -= k > 1
            if after is None:
                # A counted loop that is always left in its body ends nowhere else.
                return (heads if trips is None else []), True
            heads.append(after)
            if k == trips or same(heads[-2], after, fixed):
                return heads, True
            if self._steps > _PATIENT_STEPS:
                break
        return heads, False

    def _body(self, node: Loop, state: State) -> State | None:
        """One iteration; what is known where the next one begins."""
        start = len(self._frame.continues)
        end = self._block(node.body, state)
        states = [*self._frame.continues[start:], *([] if end is None else [end])]
        return self._join(states)

    def _widen(self, node: Loop, heads: list[State]) -> State:
        """What is known at the head of a loop in whichever iteration."""
        muted, self.muted = self.muted, True
        self._again += 1
        head = self._join(heads)
        assert head is not None
        for _ in range(_MAX_EXACT):
            self._frame.breaks.clear()
            after = self._body(node, head.fork(head.why))
            wider = head if after is None else join(head, after, self.holds)
            if same(head, wider, set()):
                break
            head = wider
        else:
            raise _GiveUp
        self.muted = muted
        self._again -= 1
        return head


def _trips(node: Loop) -> int | None:
    """How often a counted loop runs, if known."""
    bounds: tuple[Any, ...] = (node.start, node.stop, node.step)
    if node.index is None or any(isinstance(bound, Value) for bound in bounds):
        return None
    start, stop, step = map(int, bounds)
    return len(range(start, stop, step)) if step else None
