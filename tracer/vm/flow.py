"""Control flow of a decoded code object: successors, loops, joins, liveness.

Computed once per code object and only for code that meets a runtime condition. Nodes are
instruction indices of LABELs (basic-block leaders). Bit sets are Python integers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

_CONDITIONAL = {
    "POP_JUMP_IF_TRUE",
    "POP_JUMP_IF_FALSE",
    "POP_JUMP_IF_NONE",
    "POP_JUMP_IF_NOT_NONE",
    "FOR_ITER",
    "SEND",
}
_TERMINAL = {"RETURN_VALUE", "RAISE_VARARGS", "RERAISE", "REJECTED"}
_NOWHERE: frozenset[int] = frozenset()
_READS = {"LOAD_FAST", "LOAD_CLOSURE", "LOAD_DEREF", "LOAD_FAST_AND_CLEAR", "STORE_DEREF"}
_READS |= {"LOAD_FROM_DICT_OR_DEREF", "DELETE_DEREF"}
_WRITES = {"STORE_FAST", "DELETE_FAST", "MAKE_CELL", "LOAD_FAST_AND_CLEAR"}


@dataclass(slots=True, eq=False)
class NaturalLoop:
    """A loop: its header label, its leaders as a bit set, and the targets of its exit edges.

    `normal_exit` is where the header's own test leaves to, if it does; `is_for` tells a FOR_ITER
    header.
    """

    header: int
    nodes: int
    exits: tuple[int, ...]
    normal_exit: int | None
    is_for: bool
    stores: frozenset[int]


class Flow:
    """The analysis of one code object."""

    __slots__ = (
        "_catching",
        "_handlers",
        "_joins",
        "_leader",
        "_live",
        "_loop_stops",
        "_onward",
        "_raises",
        "_rounds",
        "_ways",
        "instrs",
        "leaders",
        "loop_of",
        "loops",
        "succ",
    )

    def __init__(self, code: Any) -> None:
        self.instrs = code.instrs
        self._handlers = code.handlers
        self.leaders = [k for k, i in enumerate(self.instrs) if i.op == "LABEL"]
        self._leader: list[int] = []
        lead = 0
        for k, instr in enumerate(self.instrs):
            if instr.op == "LABEL":
                lead = k
            self._leader.append(lead)
        self.succ: dict[int, tuple[int, ...]] = {}
        handlers: dict[int, set[int]] = {}
        for n, start in enumerate(self.leaders):
            end = self.leaders[n + 1] if n + 1 < len(self.leaders) else len(self.instrs)
            self.succ[start] = self._successors(start, end)
            handlers[start] = {
                code.handlers[k].target for k in range(start, end) if code.handlers[k] is not None
            }
        full = {n: tuple(set(s) | handlers[n]) for n, s in self.succ.items()}
        #: Where control goes from a block, with a `raise` to its handler.
        self._onward = {n: s or self._handler_of_raise(n) for n, s in self.succ.items()}
        self._catching = {target for targets in handlers.values() for target in targets}
        self.loops = self._find_loops(full)
        self.loop_of = self._innermost()
        self._live = self._liveness(handlers)
        self._joins: dict[Any, frozenset[int]] = {}
        self._raises: dict[Any, bool] = {}
        self._loop_stops: dict[Any, frozenset[int]] = {}
        self._ways: dict[Any, tuple[int, ...]] = {}
        self._rounds: dict[Any, frozenset[int]] = {}

    def leader(self, pc: int) -> int:
        """The label of the block an instruction stands in."""
        return self._leader[pc]

    def _successors(self, start: int, end: int) -> tuple[int, ...]:
        last = self.instrs[end - 1]
        if last.op == "JUMP":
            return (last.arg,)
        if last.op in _CONDITIONAL:
            return (end, last.arg) if end < len(self.instrs) else (last.arg,)
        if last.op in _TERMINAL or end >= len(self.instrs):
            return ()
        return (end,)

    def _handler_of_raise(self, leader: int) -> tuple[int, ...]:
        last = self._last(leader)
        handler = self._handlers[last]
        if handler is None or self.instrs[last].op not in ("RAISE_VARARGS", "RERAISE"):
            return ()
        return (handler.target,)

    # -- loops -------------------------------------------------------------------------------

    def _find_loops(self, full: dict[int, tuple[int, ...]]) -> dict[int, NaturalLoop]:
        order, dom = _dominators(self.leaders[0], full)
        preds: dict[int, list[int]] = {n: [] for n in self.leaders}
        for n, targets in full.items():
            for t in targets:
                preds[t].append(n)
        bodies: dict[int, int] = {}
        for n in order:
            for header in full[n]:
                if dom.get(n, 0) >> header & 1:
                    body = bodies.get(header, 1 << header)
                    todo = [n]
                    while todo:
                        m = todo.pop()
                        if not body >> m & 1:
                            body |= 1 << m
                            todo += preds[m]
                    bodies[header] = body
        return {h: self._loop(h, body) for h, body in bodies.items()}

    def _loop(self, header: int, body: int) -> NaturalLoop:
        exits: list[int] = []
        stores: set[int] = set()
        for n in self.leaders:
            if not body >> n & 1:
                continue
            leaving = [self.forward(t) for t in self.succ[n] if not body >> t & 1]
            exits += [t for t in leaving if t not in exits]
            k = n + 1
            while k < len(self.instrs) and self.instrs[k].op != "LABEL":
                if self.instrs[k].op in _WRITES:
                    stores.add(self.instrs[k].arg)
                k += 1
        last = self._last(header)
        normal = next((self.forward(t) for t in self.succ[header] if not body >> t & 1), None)
        is_for = self.instrs[last].op == "FOR_ITER" and last == header + 1
        return NaturalLoop(header, body, tuple(exits), normal, is_for, frozenset(stores))

    def _last(self, leader: int) -> int:
        k = leader
        while k + 1 < len(self.instrs) and self.instrs[k + 1].op != "LABEL":
            k += 1
        return k

    def _innermost(self) -> dict[int, list[NaturalLoop]]:
        """Leader -> loops around it, innermost first."""
        around: dict[int, list[NaturalLoop]] = {n: [] for n in self.leaders}
        for loop in sorted(self.loops.values(), key=lambda p: p.nodes.bit_count()):
            for n in self.leaders:
                if loop.nodes >> n & 1:
                    around[n].append(loop)
        return around

    def loops_at(self, pc: int) -> list[NaturalLoop]:
        """The loops around an instruction, innermost first."""
        return self.loop_of[self._leader[pc]]

    # -- reachability, joins -----------------------------------------------------------------

    def _reach(self, start: int, cut: frozenset[int], around: Iterable[NaturalLoop]) -> int:
        """Leaders reachable from `start`, not going on from `cut`.

        From the header of a loop in `around` only what follows the loop is: another iteration, and
        how it leaves, is not part of this one's shape.
        """
        headers = {loop.header: self._ways_out(loop, cut) for loop in around}
        seen = 0
        todo = [start]
        while todo:
            n = todo.pop()
            if seen >> n & 1 or n in cut:
                continue
            seen |= 1 << n
            todo += headers.get(n, self._onward[n])
        return seen

    def _ways_out(self, loop: NaturalLoop, stops: frozenset[int]) -> tuple[int, ...]:
        """Where a loop goes on: nothing is shared with a later iteration's exception."""
        key = (loop.header, stops)
        found = self._ways.get(key)
        if found is None:
            ends = sorted(self.loop_stops(loop, stops))
            found = self._ways[key] = tuple(n for n in ends if not self._fails(n))
        return found

    def _fails(self, label: int) -> bool:
        return self.only_raises(label, _NOWHERE)

    def _outside(self, loop: NaturalLoop, stops: frozenset[int]) -> list[NaturalLoop]:
        """The loops around a loop; of loops that overlap, the larger one is outside."""
        size = loop.nodes.bit_count()
        return [
            p
            for p in self.loop_of[loop.header]
            if p.header not in stops and p.nodes.bit_count() > size
        ]

    def reaches(self, start: int, goal: int, within: int) -> bool:
        """Whether `goal` is reachable from `start` through the leaders in `within`."""
        seen = 0
        todo = [start]
        while todo:
            n = todo.pop()
            if n == goal:
                return True
            if seen >> n & 1 or not within >> n & 1:
                continue
            seen |= 1 << n
            todo += self.succ[n]
        return False

    def _entries(
        self,
        starts: tuple[int, ...],
        reach: list[int],
        around: list[NaturalLoop],
        stops: frozenset[int],
    ) -> frozenset[int]:
        """Where code shared by two or more of the starts is entered."""
        headers = {loop.header: self._ways_out(loop, stops) for loop in around}
        shared = everything = 0
        for r in reach:
            shared |= everything & r
            everything |= r
        entries = {s for s in starts if shared >> s & 1}
        for n in self.leaders:
            if everything >> n & 1 and not shared >> n & 1:
                targets = headers.get(n, self._onward[n])
                entries |= {t for t in targets if shared >> t & 1}
        # Exceptions do not meet: each way has its own.
        return frozenset(entries - self._catching)

    def joins(self, pc: int, starts: tuple[int, ...], stops: frozenset[int]) -> frozenset[int]:
        """Where control flows from several labels, at a construct at `pc`, come together."""
        key = (pc, starts, stops)
        found = self._joins.get(key)
        if found is None:
            around = [p for p in self.loops_at(pc) if p.header not in stops]
            reach = [self._reach(n, stops, around) for n in starts]
            found = self._joins[key] = self._entries(starts, reach, around, stops)
        return found

    def only_raises(self, label: int, stops: frozenset[int]) -> bool:
        """Whether every way on from a label raises out of the function.

        A `raise` that a handler of the function takes goes on there.
        """
        key = (-1, (label,), stops)
        found = self._raises.get(key)
        if found is None:
            found = self._raises[key] = self._ends_raising(label, stops)
        return found

    def _ends_raising(self, label: int, stops: frozenset[int]) -> bool:
        seen = {label}
        todo = [label]
        while todo:
            n = todo.pop()
            if n in stops:
                return False
            last = self._last(n)
            op = self.instrs[last].op
            if op in ("RETURN_VALUE", "REJECTED"):
                return False
            targets = set(self._onward[n])
            todo += targets - seen
            seen |= targets
        return True

    def is_trivial(self, label: int, stops: frozenset[int]) -> bool:
        """Whether nothing but jumps lies between a label and a stop."""
        pc = label
        for _ in range(8):
            if pc in stops:
                return True
            op = self.instrs[pc].op
            if op == "JUMP":
                pc = self.instrs[pc].arg
            elif op in ("LABEL", "POP_TOP"):
                pc += 1
            else:
                return False
        return False

    def forward(self, label: int) -> int:
        """The label that a label is only a jump to."""
        for _ in range(8):
            target = self.instrs[label + 1]
            if target.op == "LABEL":
                label += 1
            elif target.op == "JUMP":
                label = target.arg
            else:
                break
        return label

    def landing(self, label: int) -> int:
        """The label that a label leads to when nothing but jumps and pops lies between."""
        pc = last = label
        for _ in range(8):
            op = self.instrs[pc].op
            if op == "LABEL":
                last = pc
                pc += 1
            elif op == "JUMP":
                pc = self.instrs[pc].arg
            elif op == "POP_TOP":
                pc += 1
            else:
                break
        return last

    def pops(self, label: int) -> int:
        """How many values are popped between a label and its landing."""
        pc, count = label, 0
        for _ in range(8):
            op = self.instrs[pc].op
            if op == "LABEL":
                pc += 1
            elif op == "JUMP":
                pc = self.instrs[pc].arg
            elif op == "POP_TOP":
                count += 1
                pc += 1
            else:
                break
        return count

    def loop_stops(self, loop: NaturalLoop, stops: frozenset[int]) -> frozenset[int]:
        """Where the exits of a loop come together again, or go round in an outer loop.

        Its normal exit is one in any case, or the only one that is no exception.
        """
        key = (loop.header, stops)
        found = self._loop_stops.get(key)
        if found is None:
            around = self._outside(loop, stops)
            reach = [self._reach(n, stops, around) for n in loop.exits]
            entries = set(self._entries(loop.exits, reach, around, stops))
            going = [n for n in loop.exits if not self._fails(n)] or loop.exits
            if loop.normal_exit is not None:
                entries.add(loop.normal_exit)
            elif len(going) == 1:
                entries.add(going[0])
            seen = 0
            for n in loop.exits:
                seen |= self._reach(n, stops | entries, around)
            entries |= {p.header for p in around if seen >> p.header & 1}
            found = frozenset(entries - stops)
            self._loop_stops[key] = found
        return found

    def next_round(self, header: int, stops: frozenset[int]) -> frozenset[int]:
        """The stops of a run that begins a round of an unrolled loop: only those behind it stay.

        Where ways of one round come together, in the body or on a way out, is another place in the
        next.
        """
        loop = self.loops.get(header)
        if loop is None:
            return stops
        key = (header, stops)
        found = self._rounds.get(key)
        if found is None:
            heads = {header, *(p.header for p in self._outside(loop, _NOWHERE))}
            ends = [n for n in self.succ[header] if not loop.nodes >> n & 1]
            # What lies in front of the end belongs to the body, also if it never goes on in it.
            met = self.loop_stops(loop, _NOWHERE)
            after = [n for n in met if n in heads or all(n > end for end in ends)]
            behind = self._walk([*ends, *after], 0, heads)
            inside = self._walk([n for n in self.succ[header] if n not in ends], behind, heads)
            kept = frozenset(n for n in stops if n == header or not inside >> n & 1)
            found = self._rounds[key] = kept
        return found

    def _walk(self, starts: list[int], seen: int, heads: set[int]) -> int:
        """Leaders reached besides those `seen`; nothing is followed from `heads`."""
        found = 0
        todo = list(starts)
        while todo:
            n = todo.pop()
            if not (seen | found) >> n & 1:
                found |= 1 << n
                todo += () if n in heads else self._onward[n]
        return found

    def first_of(self, dests: Iterable[int], stops: frozenset[int], pc: int) -> int:
        """The destination that no other one leads to (ties and cycles: the lowest)."""
        ordered = sorted(dests)
        around = [p for p in self.loops_at(pc) if p.header not in stops]
        for d in ordered:
            others = [o for o in ordered if o != d]
            if not any(self._reach(o, stops, around) >> d & 1 for o in others):
                return d
        return ordered[0]

    # -- liveness ----------------------------------------------------------------------------

    def _liveness(self, handlers: dict[int, set[int]]) -> dict[int, int]:
        use: dict[int, int] = {}
        define: dict[int, int] = {}
        for n in self.leaders:
            u = d = 0
            k = n + 1
            while k < len(self.instrs) and self.instrs[k].op != "LABEL":
                instr = self.instrs[k]
                if instr.op in _READS and not d >> instr.arg & 1:
                    u |= 1 << instr.arg
                if instr.op in _WRITES:
                    d |= 1 << instr.arg
                k += 1
            use[n], define[n] = u, d
        live = dict.fromkeys(self.leaders, 0)
        changed = True
        while changed:
            changed = False
            for n in reversed(self.leaders):
                out = 0
                for t in self.succ[n]:
                    out |= live[t]
                new = use[n] | (out & ~define[n])
                for t in handlers[n]:
                    new |= live[t]
                if new != live[n]:
                    live[n] = new
                    changed = True
        return live

    def live(self, label: int) -> int:
        """Slots that may be read from `label` on, as a bit set."""
        return self._live[label]


def _dominators(entry: int, succ: dict[int, tuple[int, ...]]) -> tuple[list[int], dict[int, int]]:
    """Reverse post-order of the reachable leaders and their dominators as bit sets."""
    order: list[int] = []
    seen = {entry}
    stack = [(entry, iter(succ[entry]))]
    while stack:
        node, it = stack[-1]
        for t in it:
            if t not in seen:
                seen.add(t)
                stack.append((t, iter(succ[t])))
                break
        else:
            stack.pop()
            order.append(node)
    order.reverse()
    preds: dict[int, list[int]] = {n: [] for n in order}
    for n in order:
        for t in succ[n]:
            preds[t].append(n)
    everything = sum(1 << n for n in order)
    dom = dict.fromkeys(order, everything)
    dom[entry] = 1 << entry
    changed = True
    while changed:
        changed = False
        for n in order[1:]:
            new = everything
            for p in preds[n]:
                new &= dom[p]
            new |= 1 << n
            if new != dom[n]:
                dom[n] = new
                changed = True
    return order, dom
