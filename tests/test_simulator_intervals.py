"""The interval map of accesses and the set of written bytes, against a byte a byte."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from asctrace.runtime.simulator.clocks import PIPES, Clocks, MeetingClocks
from asctrace.runtime.simulator.shadow import Shadow
from asctrace.runtime.simulator.written import Written

SIZE = 256


@pytest.mark.parametrize("seed", range(40))
def test_shadow(seed: int) -> None:
    """Conflicts are those of each byte's last write and reads since, over the same bytes."""
    rng = random.Random(seed)
    clocks = Clocks()
    found: list[Any] = []
    shadow = Shadow("UB", found)
    writes: dict[int, Any] = {}
    reads: dict[int, dict[int, Any]] = {}
    for number in range(120):
        if rng.random() < 0.3:
            clocks.acquire(rng.randrange(1, 4), clocks.release(rng.randrange(1, 4)))
        pipe, write = rng.randrange(1, 4), rng.random() < 0.4
        start = rng.randrange(SIZE)
        stop = rng.randrange(start + 1, min(SIZE, start + 80) + 1)
        clock = clocks.known[pipe]
        stamp: Any = (pipe, clock[pipe], 0, number, (), None)
        expected: set[tuple[int, int, bool]] = set()
        for byte in range(start, stop):
            earlier = [(writes[byte], True)] if byte in writes else []
            if write:
                earlier += [(read, False) for read in reads.get(byte, {}).values()]
            for other, wrote in earlier:
                if other[0] != pipe and clock[other[0]] < other[1]:
                    expected.add((byte, other[3], wrote))
            if write:
                writes[byte] = stamp
                reads[byte] = {}
            else:
                reads.setdefault(byte, {})[pipe] = stamp
        (shadow.write if write else shadow.read)(start, stop, stamp, clock)
        got = {
            (byte, first.op, wrote)
            for _, first, second, low, high, wrote, _ in found
            if first.pipe != second.pipe  # copies of one pipe: test_simulator_protocols
            for byte in range(low, high)
        }
        assert got == expected
        found.clear()
    ends = [cell[0] for cell in shadow.cells]
    assert all(end <= start for end, start in zip(ends, shadow.starts[1:], strict=False))


@pytest.mark.parametrize("seed", range(60))
def test_shadow_of_several_blocks(seed: int) -> None:
    """With atomic writes: what is told is a race, and the first race of each history is told.

    The reference keeps every access, with all accesses that come before it by the definition.
    """
    rng = random.Random(seed)
    found: list[Any] = []
    shadow = Shadow("GM", found)
    blocks = [MeetingClocks() for _ in range(3)]
    # Accesses that are over for each pipe of each block, as numbers.
    over: list[list[set[int]]] = [[set() for _ in PIPES] for _ in blocks]
    done: list[list[set[int]]] = [[set() for _ in PIPES] for _ in blocks]
    for number, clocks in enumerate(blocks):
        clocks.block = number
        shadow.far[number] = clocks.far
    history: list[tuple[int, int, int, int, Any, bool]] = []
    told = raced = False
    for number in range(80):
        block, pipe = rng.randrange(3), rng.randrange(1, 4)
        if rng.random() < 0.5:
            other = rng.randrange(3)
            source, target = rng.randrange(1, 4), rng.choice([0, *range(1, 4)])
            known = over[other][source] | done[other][source]
            if other == block:
                blocks[block].acquire(target, blocks[block].release(source))
            else:
                blocks[block].hear(target, blocks[other].tell(source))
            for p in range(len(PIPES)) if target == 0 else [target]:
                over[block][p] |= known
        write, kind = rng.random() < 0.6, rng.choice([None, None, "add", "max"])
        kind = kind if write else None
        start = rng.randrange(SIZE)
        stop = rng.randrange(start + 1, min(SIZE, start + 80) + 1)
        clock = blocks[block].known[pipe]
        stamp: Any = (pipe, clock[pipe], block, number, 0, kind)
        before = over[block][pipe] | done[block][pipe]
        racy = set()
        for earlier, b, first, last, other_kind, wrote in history:
            same_kind = wrote and write and kind is not None and kind == other_kind
            overlaps = first < stop and start < last
            if overlaps and (wrote or write) and not same_kind and earlier not in before:
                racy.add((earlier, b))
        (shadow.write if write else shadow.read)(start, stop, stamp, clock)
        got = {
            (first.op, first.block)
            for _, first, second, *_ in found
            if (first.pipe, first.block) != (second.pipe, second.block)
        }
        assert got <= racy
        raced = raced or bool(racy)
        told = told or bool(got)
        assert told == raced
        found.clear()
        history.append((number, block, start, stop, kind, write))
        done[block][pipe].add(number)
    assert raced


@pytest.mark.parametrize("seed", range(40))
def test_written(seed: int) -> None:
    rng = random.Random(seed)
    written, model = Written(SIZE), np.zeros(SIZE, bool)
    for _ in range(200):
        step = rng.choice([1, 4, 32])
        start = rng.randrange(0, SIZE, step)
        stop = min(SIZE, start + step * rng.randrange(1, 9))
        kind = rng.choice(["add", "add", "discard", "add_all", "clear"])
        if kind == "add":
            written.add(start, stop)
            model[start:stop] = True
        elif kind == "discard":
            written.discard(start, stop)
            model[start:stop] = False
        elif kind == "add_all":
            starts = np.array(rng.sample(range(0, SIZE, 4), 5))
            written.add_all(starts, 4)
            model[(starts[:, None] + np.arange(4)).reshape(-1)] = True
        elif rng.random() < 0.1:
            written.clear(SIZE)
            model[:] = False
        absent = np.flatnonzero(~model[start:stop])
        expected = start + int(absent[0]) if absent.size else None
        assert written.missing(start, stop) == expected
        starts = np.array(rng.sample(range(SIZE), 7))
        gone = starts[~model[starts]]
        assert written.missing_of(starts) == (int(gone[0]) if gone.size else None)
