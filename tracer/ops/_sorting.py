"""What sorting works on: pairs and region proposals, their order, and merges of sorted lists.

Equal scores keep their order, those of an earlier list come first. Where the documentation is
silent: NaN comes behind all numbers, and lists that are not in order are merged by their heads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from ..language.dtypes import DataType, float16
from ._moves import READ, WRITE, Array, Call, Contents, Data, Move, Offsets, Part, Where, plain

PROPOSAL_ARCHES: Final = ("2002", "1001")
SCORE, LABEL, Y1 = 4, 5, 1
#: Elements of a region proposal, and proposals that a repeat handles.
ELEMENTS: Final = 8
GROUP: Final = 16
#: Scores that a repeat of `sort32` sorts.
LANES: Final = 32
#: What is in the bytes of a pair that nobody defines: NaN as a half.
GARBAGE: Final = 0x7FFF
#: What a block remembers of the last merge that stops early.
MERGED: Final = "mrg_sort"


def pair(dtype: DataType) -> np.dtype[Any]:
    """A score and its index."""
    middle = [("rest", "<u2")] if dtype is float16 else []
    return np.dtype([("score", dtype.np), *middle, ("index", "<u4")])


def proposal(dtype: DataType) -> np.dtype[Any]:
    """A region proposal."""
    return np.dtype([("box", dtype.np, 4), ("score", dtype.np), ("rest", dtype.np, 3)])


def has_proposals(arch: str) -> bool:
    """Whether an architecture sorts region proposals, not pairs."""
    return arch in PROPOSAL_ARCHES


def unit(arch: str, dtype: DataType) -> np.dtype[Any]:
    """What an architecture sorts."""
    return proposal(dtype) if has_proposals(arch) else pair(dtype)


def descending(scores: Array) -> Array:
    """The order of the last axis, from high to low; stable."""
    with np.errstate(invalid="ignore"):
        return np.lexsort((-scores, np.isnan(scores)), axis=-1)


def score_parts(
    where: Where, offsets: Offsets, dtype: DataType, start: int = 32
) -> tuple[Part, Part]:
    """The parts that proposals are: all of them, of which only the scores need to be set."""
    size = dtype.sizeof()
    return (
        Part(where, offsets, proposal(dtype), READ, start, any_content=True),
        Part(where, offsets + SCORE * size, dtype.np, READ, start),
    )


def unset_fields(
    contents: Contents, sources: Sequence[tuple[Where, Offsets]], to: Offsets, dtype: DataType
) -> Any:
    """The elements of the proposals at `to` that come from what was never written."""
    size, found = dtype.sizeof(), []
    for field in range(ELEMENTS):
        places = [(where, offsets + field * size) for where, offsets in sources]
        if field != SCORE and not all(contents.written(w, o) for w, o in places):
            found.append((0, to + field * size, plain(dtype)))
    return tuple(found)


# -- merging --------------------------------------------------------------------------------------

#: Lists that a merge takes part in, by `valid_bit`.
_VALID: Final = {3: 2, 7: 3, 15: 4}
_LONGEST: Final = 4095


def merged(lists: Sequence[Array], suspend: bool) -> tuple[Array, list[int]]:
    """The order in which elements of the lists, numbered through, come; how many of each do."""
    scores = np.concatenate(lists)
    owner = np.repeat(np.arange(len(lists)), [len(part) for part in lists])
    if all((descending(part) == np.arange(len(part))).all() for part in lists):
        order = descending(scores)
    else:
        order = _by_heads(lists)
    if suspend:
        last = np.cumsum([len(part) for part in lists]) - 1
        order = order[: int(np.flatnonzero(np.isin(order, last))[0]) + 1]
    return order, np.bincount(owner[order], minlength=4).tolist()


def _by_heads(lists: Sequence[Array]) -> Array:
    """Take the highest head again and again; of equal ones that of the first list."""
    starts = np.cumsum([0, *(len(part) for part in lists)])
    at, order = [0] * len(lists), []
    for _ in range(int(starts[-1])):
        heads = [k for k, part in enumerate(lists) if at[k] < len(part)]
        best = heads[int(descending(np.array([lists[k][at[k]] for k in heads]))[0])]
        order.append(int(starts[best]) + at[best])
        at[best] += 1
    return np.array(order, np.int64)


def _amounts(call: Call) -> tuple[tuple[int, ...], bool, int, int]:
    """Lengths of the lists, whether to stop early, valid bits, repeats."""
    if call.form.name == "info":
        *lengths, suspend, valid, repeat = call["params"]
        return tuple(lengths), suspend, valid, repeat
    lengths = call["element_count_list"]
    return lengths, call["is_exhausted_suspension"], call["valid_bit"], call["repeat_time"]


def merge(call: Call) -> Move | None:
    lengths, suspend, valid, repeat = _amounts(call)
    lists = call.args[1]
    count = _VALID.get(valid)
    if count is None:
        raise call.error(
            "AT0108", f"with the valid bits {valid}", "3, 7 or 15: two, three or four lists"
        )
    if count > len(lists):
        raise call.error(
            "AT0108",
            f"of {count} lists, but {len(lists)} were given",
            "valid_bit is 3, 7 or 15 for two, three or four lists",
        )
    lengths = lengths[:count]
    if max(lengths) > _LONGEST or min(lengths) < 0:
        raise call.error(
            "AT0108", f"of lists of {lengths} elements", f"a list has 0 to {_LONGEST} elements"
        )
    if suspend and not min(lengths):
        raise call.error(
            "AT0108",
            "that stops when a list is used up, with an empty list",
            "leave the list out: valid_bit says how many there are",
        )
    if repeat > 1 and (suspend or count < 4 or len(set(lengths)) > 1):
        raise call.error(
            "AT0108",
            f"with {repeat} repeats",
            "repeats need four lists of one length that lie one behind the other, and no stop "
            "when a list is used up",
        )
    if not repeat or not sum(lengths):
        return None
    return _Merge(call, lengths, suspend, repeat).move()


class _Merge:
    """A merge of known lengths."""

    def __init__(self, call: Call, lengths: tuple[int, ...], suspend: bool, repeat: int) -> None:
        self.call, self.lengths, self.suspend, self.repeat = call, lengths, suspend, repeat
        self.dtype = call.dtype()
        self.unit = unit(call.arch, self.dtype)
        self.proposals = has_proposals(call.arch)
        self.total = sum(lengths)
        # A proposal starts at a proposal, a pair at a pair.
        self.start = self.unit.itemsize
        self.offsets = [self._list(k) for k in range(len(lengths))]

    def _list(self, k: int) -> Offsets:
        rows = np.arange(self.repeat)[:, None] * (self.total * self.unit.itemsize)
        return rows + np.arange(self.lengths[k]) * self.unit.itemsize

    def _sources(self) -> list[Part]:
        parts: list[Part] = []
        for k, offsets in enumerate(self.offsets):
            if self.proposals:
                parts += score_parts((1, k), offsets, self.dtype, self.start)
            else:
                parts.append(Part((1, k), offsets, self.unit, READ, self.start))
        return parts

    def _target(self, count: int) -> Part:
        start = self.start if self.proposals else 32
        rows = np.arange(self.repeat)[:, None] * (self.total * self.unit.itemsize)
        return Part(0, rows + np.arange(count) * self.unit.itemsize, self.unit, WRITE, start)

    def move(self) -> Move:
        """All that is known from the numbers; a merge that stops early depends on the scores."""
        parts = (*self._sources(), *(() if self.suspend else (self._target(self.total),)))
        return Move(parts, data=self._data)

    def _data(self, contents: Contents) -> Data:
        if self.repeat > 1:
            self._check_places(contents)
        sources = [((1, k), offsets) for k, offsets in enumerate(self.offsets)]
        target = self._target(self.total)
        added: tuple[Part, ...] = ()
        counts: Any = None
        if self.suspend:
            lists = [
                contents.read((1, k), offsets + self._score(), self.dtype.np)[0]
                for k, offsets in enumerate(self.offsets)
            ]
            order, counts = merged(lists, True)
            target = self._target(len(order))
            added = (target,)
            contents.note(MERGED, counts)
        unset = ()
        if self.proposals:
            unset = unset_fields(contents, sources, target.offsets, self.dtype)
        return Data(added, self._work, counts, unset)

    def _score(self) -> int:
        return int(self.unit.fields["score"][1])  # type: ignore[index]

    def _check_places(self, contents: Contents) -> None:
        step = self.lengths[0] * self.unit.itemsize
        places = [contents.address((1, k)) for k in range(4)]
        if any(at != places[0] + k * step for k, at in enumerate(places)):
            raise self.call.error(
                "AT0108",
                f"with {self.repeat} repeats of lists that do not follow one another",
                f"list k begins k * {self.lengths[0]} elements behind the first",
            )

    def _work(self, *given: Array) -> tuple[Array]:
        lists = given[::2] if self.proposals else given
        rows = []
        for r in range(self.repeat):
            everything = np.concatenate([part[r] for part in lists])
            order, _ = merged([part[r]["score"] for part in lists], self.suspend)
            rows.append(everything[order])
        return (np.stack(rows),)
