"""Sorting and merging against Python's own `sorted`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import asctrace as asc
from asctrace.tracer.diagnostics import KernelError
from asctrace.tracer.language.dtypes import ALL, DataType
from asctrace.tracer.ops.spec import TABLE, OpFunction
from tests import lowering_kit
from tests.chips import chip_of
from tests.lowering_kit import local
from tests.move_kit import PLACE, SIZE, few, noise, put, run, take, tensor

PAIRED = ("2201", "3510", "3002")
SCORES = [asc.float16, asc.float32]


def key(score: Any) -> tuple[bool, float]:
    """From high to low, NaN at the end; `sorted` keeps the order of equal ones."""
    return (math.isnan(score), 0.0 if math.isnan(score) else -float(score))


def scores(rng: np.random.Generator, count: int, dtype: DataType) -> Any:
    """Few different values, so that many are equal, and the special ones."""
    found = rng.integers(-6, 6, count).astype(dtype.np)
    special = np.array([math.inf, -math.inf, math.nan, 0.0, -0.0], dtype.np)
    where = rng.integers(0, count, count // 6)
    found[where] = rng.choice(special, where.size)
    return found


def pairs(values: list[tuple[Any, int]], dtype: DataType) -> Any:
    """Pairs of score and index as bytes; a half has two bytes that nobody defines."""
    out = bytearray()
    for score, index in values:
        out += np.array([score], dtype.np).tobytes()
        out += b"\xff\x7f" if dtype is asc.float16 else b""
        out += np.array([index], np.uint32).tobytes()
    return np.frombuffer(bytes(out), np.uint8)


# -- pairs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("arch", PAIRED)
@pytest.mark.parametrize("dtype", SCORES, ids=str)
def test_sort32(arch: str, dtype: DataType) -> None:
    @few
    @given(repeat=st.integers(0, 5), seed=st.integers(0, 2**32 - 1), runtime=st.booleans())
    def check(repeat: int, seed: int, runtime: bool) -> None:
        rng = np.random.default_rng(seed)
        memory = noise(seed)
        given_ = scores(rng, 32 * 5, dtype)
        index = rng.integers(0, 2**32, 32 * 5).astype(np.uint32)
        put(memory, PLACE, given_)
        put(memory, 2 * PLACE, index)
        want = memory.copy()
        for r in range(repeat):
            group = list(zip(given_, index, strict=True))[32 * r : 32 * r + 32]
            put(want, 256 * r, pairs(sorted(group, key=lambda pair: key(pair[0])), dtype))

        def call(number: Any) -> None:
            asc.sort32(tensor(dtype, 0, PLACE // dtype.sizeof()), tensor(dtype, PLACE, 160),
                       tensor(asc.uint32, 2 * PLACE), number(repeat))  # fmt: skip

        np.testing.assert_array_equal(run(arch, memory, call, runtime), want)

    check()


def lists_of(
    rng: np.random.Generator, lengths: list[int], dtype: DataType
) -> list[list[tuple[Any, int]]]:
    """Sorted lists of pairs."""
    found, first = [], 0
    for length in lengths:
        values = list(zip(scores(rng, length, dtype), range(first, first + length), strict=True))
        found.append(sorted(values, key=lambda pair: key(pair[0])))
        first += 1000
    return found


@st.composite
def merges(draw: Any) -> dict[str, Any]:
    count = draw(st.integers(2, 4))
    suspend = draw(st.booleans())
    lengths = [draw(st.integers(1 if suspend else 0, 70)) for _ in range(count)]
    return {
        "valid": {2: 3, 3: 7, 4: 15}[count],
        "suspend": suspend,
        "lengths": lengths,
        "form": draw(st.sampled_from(["info", "list", "array"] if suspend else ["info", "list"])),
        "gap": draw(st.integers(0, 3)) * 8,
    }


@pytest.mark.parametrize("arch", ["2201", "3510"])
@pytest.mark.parametrize("dtype", SCORES, ids=str)
def test_merge(arch: str, dtype: DataType) -> None:
    @few
    @given(found=merges(), seed=st.integers(0, 2**32 - 1), runtime=st.booleans())
    def check(found: dict[str, Any], seed: int, runtime: bool) -> None:
        rng = np.random.default_rng(seed)
        memory, lengths = noise(seed), found["lengths"]
        lists = lists_of(rng, lengths, dtype)
        starts, at = [], PLACE + found["gap"]
        for values in lists:
            put(memory, at, pairs(values, dtype))
            starts.append(at)
            at += 8 * len(values) + found["gap"]
        everything = [(pair, k) for k, values in enumerate(lists) for pair in values]
        merged = sorted(everything, key=lambda entry: key(entry[0][0]))
        counts = [0] * 4
        if found["suspend"]:
            for stop, (_, k) in enumerate(merged, 1):
                counts[k] += 1
                if counts[k] == lengths[k]:
                    merged = merged[:stop]
                    break
        want = memory.copy()
        put(want, 0, pairs([pair for pair, _ in merged], dtype))

        def call(number: Any) -> Any:
            size = dtype.sizeof()
            whole = tensor(dtype, PLACE)
            views = [whole[(start - PLACE) // size :] for start in starts]
            sources = asc.MrgSortSrcList(dtype, *views)
            dst = tensor(dtype, 0, PLACE // size)
            valid, repeat = number(found["valid"]), number(1)
            sizes = (
                [*map(number, lengths), 0, 0][:4]
                if found["form"] != "info"
                else [*map(number, lengths)]
            )
            if found["form"] == "info":
                info = asc.MrgSort4Info(sizes, found["suspend"], valid, repeat)
                asc.mrg_sort(dst, sources, info)
            else:
                done: Any = [0, 0, 0, 0]
                if found["form"] == "array":
                    done = asc.array(asc.uint32, 4)
                asc.mrg_sort(dst, sources, sizes, done, valid, repeat, found["suspend"])
                if found["form"] == "array":
                    return list(done)
            return list(asc.get_mrg_sort_result()) if found["suspend"] else None

        got = run(arch, memory, call, runtime)
        if found["suspend"]:
            assert take(got, SIZE - 64, np.int64, 4).tolist() == counts
            want[SIZE - 64 :] = got[SIZE - 64 :]
        np.testing.assert_array_equal(got, want)

    check()


@pytest.mark.parametrize("dtype", SCORES, ids=str)
@pytest.mark.parametrize("repeat", [1, 3])
def test_merge_with_repeats(dtype: DataType, repeat: int) -> None:
    """Four lists of one length, one behind the other, again and again."""
    rng = np.random.default_rng(repeat)
    memory, want = noise(3), noise(3)
    for r in range(repeat):
        lists = lists_of(rng, [32] * 4, dtype)
        values = [pair for one in lists for pair in one]
        put(memory, PLACE + 1024 * r, pairs(values, dtype))
        put(want, PLACE + 1024 * r, pairs(values, dtype))
        put(want, 1024 * r, pairs(sorted(values, key=lambda pair: key(pair[0])), dtype))

    def call(number: Any) -> None:
        lists = [tensor(dtype, PLACE + 256 * k) for k in range(4)]
        info = asc.MrgSort4Info([32] * 4, False, 15, repeat)
        asc.mrg_sort(tensor(dtype, 0), asc.MrgSortSrcList(dtype, *lists), info)

    np.testing.assert_array_equal(run("2201", memory, call), want)


def test_lists_that_are_not_in_order_merge_by_their_heads() -> None:
    memory = noise(4)
    first, second = [(1.0, 0), (9.0, 1)], [(5.0, 2), (0.0, 3), (7.0, 4)]
    put(memory, PLACE, pairs(first, asc.float32))
    put(memory, PLACE + 64, pairs(second, asc.float32))
    want = memory.copy()
    put(want, 0, pairs([(5.0, 2), (1.0, 0), (9.0, 1), (0.0, 3), (7.0, 4)], asc.float32))

    def call(number: Any) -> None:
        sources = asc.MrgSortSrcList(
            asc.float32, tensor(asc.float32, PLACE), tensor(asc.float32, PLACE + 64)
        )
        asc.mrg_sort(tensor(asc.float32, 0), sources, asc.MrgSort4Info([2, 3], valid_bit=3))

    np.testing.assert_array_equal(run("2201", memory, call), want)


@pytest.mark.parametrize("arch", ["2201", "3510"])
@pytest.mark.parametrize("dtype", SCORES, ids=str)
@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("repeat", [0, 1, 5, 12])
def test_sort(arch: str, dtype: DataType, whole: bool, repeat: int) -> None:
    rng = np.random.default_rng(repeat)
    memory = noise(repeat)
    count = 32 * repeat
    given_, index = scores(rng, 384, dtype), np.arange(384, dtype=np.uint32)
    put(memory, PLACE, given_)
    put(memory, 2 * PLACE, index)
    want = memory.copy()
    everything = list(zip(given_, index, strict=True))
    width = count if whole else 32
    for start in range(0, count, width or 1):
        group = sorted(everything[start : start + width], key=lambda pair: key(pair[0]))
        put(want, 8 * start, pairs(group, dtype))

    def call(number: Any) -> None:
        size = dtype.sizeof()
        tmp = asc.LocalTensor(dtype, asc.TPosition.VECCALC, 98304, max(8 * count // size, 8))
        asc.sort(
            tensor(dtype, 0, PLACE // size), tensor(dtype, PLACE, 384),
            tensor(asc.uint32, 2 * PLACE, 384), tmp, repeat, whole,
        )  # fmt: skip

    np.testing.assert_array_equal(run(arch, memory, call), want)


# -- region proposals -----------------------------------------------------------------------------


@pytest.mark.parametrize(("arch", "dtype"), [("2002", t) for t in SCORES] + [("1001", asc.float16)])
@pytest.mark.parametrize("mode", range(6))
def test_concat_and_extract(arch: str, dtype: DataType, mode: int) -> None:
    @few
    @given(repeat=st.integers(0, 4), seed=st.integers(0, 2**32 - 1), runtime=st.booleans())
    def check(repeat: int, seed: int, runtime: bool) -> None:
        memory, count = noise(seed), 16 * repeat
        word = np.dtype(f"u{dtype.sizeof()}")
        want = memory.copy()
        source, target = take(memory, PLACE, word, count), take(want, 0, word, 8 * count)
        for k in range(count):
            target[8 * k + mode] = source[k]
        back = take(want, 2 * PLACE, word, count)
        for k in range(count):
            back[k] = target[8 * k + mode]

        def call(number: Any) -> None:
            size = dtype.sizeof()
            groups = tensor(dtype, 0, PLACE // size)
            asc.proposal_concat(groups, tensor(dtype, PLACE, 64), number(repeat), number(mode))
            asc.proposal_extract(tensor(dtype, 2 * PLACE), groups, number(repeat), number(mode))

        np.testing.assert_array_equal(run(arch, memory, call, runtime), want)

    check()


def proposals(memory: Any, at: int, count: int, dtype: DataType) -> list[Any]:
    return list(take(memory, at, dtype.np, 8 * count).reshape(count, 8).copy())


@pytest.mark.parametrize(("arch", "dtype"), [("2002", t) for t in SCORES] + [("1001", asc.float16)])
@pytest.mark.parametrize("repeat", [0, 1, 4])
@pytest.mark.parametrize("place", [0, PLACE])
def test_rp_sort16(arch: str, dtype: DataType, repeat: int, place: int) -> None:
    """Also in place."""
    rng = np.random.default_rng(repeat)
    memory = noise(repeat)
    take(memory, place, dtype.np, 8 * 64)[:] = scores(rng, 8 * 64, dtype)
    want = memory.copy()
    for r in range(repeat):
        group = proposals(memory, place + r * 128 * dtype.sizeof(), 16, dtype)
        put(want, r * 128 * dtype.sizeof(), sorted(group, key=lambda one: key(one[4])))
    size = dtype.sizeof()
    got = run(arch, memory, lambda n: asc.rp_sort16(
        tensor(dtype, 0, PLACE // size), tensor(dtype, place, PLACE // size), repeat
    ))  # fmt: skip
    np.testing.assert_array_equal(got.view(word_of(dtype)), want.view(word_of(dtype)))


def word_of(dtype: DataType) -> Any:
    return np.dtype(f"u{dtype.sizeof()}")


@pytest.mark.parametrize(("arch", "dtype"), [("2002", t) for t in SCORES] + [("1001", asc.float16)])
@pytest.mark.parametrize("lengths", [[16] * 4, [16, 32, 5], [0, 7]])
def test_mrg_sort4(arch: str, dtype: DataType, lengths: list[int]) -> None:
    rng = np.random.default_rng(len(lengths))
    memory, nbytes = noise(1), 8 * dtype.sizeof()
    starts, everything = [], []
    for k, length in enumerate(lengths):
        start = PLACE + 2048 * k
        part = take(memory, start, dtype.np, 8 * length)
        part[:] = scores(rng, 8 * length, dtype) if length else part
        ordered = sorted(proposals(memory, start, length, dtype), key=lambda one: key(one[4]))
        if length:
            put(memory, start, ordered)
        starts.append(start)
        everything += ordered
    want = memory.copy()
    put(want, 0, sorted(everything, key=lambda one: key(one[4])))
    forms = ["mrg_sort4", "mrg_sort"] if arch == "2002" else ["mrg_sort4"]
    for form in forms:

        def call(number: Any, form: str = form) -> None:
            sources = asc.MrgSortSrcList(dtype, *(tensor(dtype, start) for start in starts))
            valid = {2: 3, 3: 7, 4: 15}[len(lengths)]
            dst = tensor(dtype, 0, PLACE // dtype.sizeof())
            if form == "mrg_sort4":
                asc.mrg_sort4(dst, sources, asc.MrgSort4Info(lengths, valid_bit=valid))
            else:
                counts = [*lengths, 0, 0][:4]
                asc.mrg_sort(dst, sources, counts, [0] * 4, valid, 1)

        got = run(arch, memory, call)
        np.testing.assert_array_equal(got[: nbytes * sum(lengths)], want[: nbytes * sum(lengths)])
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", SCORES, ids=str)
@pytest.mark.parametrize("whole", [False, True])
def test_sort_puts_the_index_into_proposals(dtype: DataType, whole: bool) -> None:
    rng = np.random.default_rng(8)
    memory = noise(8)
    take(memory, PLACE, dtype.np, 8 * 64)[:] = scores(rng, 8 * 64, dtype)
    index = rng.integers(0, 2**32, 64).astype(np.uint32)
    put(memory, 2 * PLACE, index)
    want = memory.copy()
    words = take(want, PLACE, word_of(dtype), 8 * 64).reshape(64, 8)
    for k in range(64):
        if dtype is asc.float16:
            words[k, 1], words[k, 5] = index[k] & 0xFFFF, index[k] >> 16
        else:
            words[k, 5] = index[k]
    width = 64 if whole else 16
    for start in range(0, 64, width):
        group = proposals(want, PLACE, 64, dtype)[start : start + width]
        at = start * 8 * dtype.sizeof()
        put(want, at, np.array(sorted(group, key=lambda one: key(one[4]))))

    def call(number: Any) -> None:
        size = dtype.sizeof()
        tmp = asc.LocalTensor(dtype, asc.TPosition.VECCALC, 98304, 512)
        asc.sort(
            tensor(dtype, 0, PLACE // size), tensor(dtype, PLACE, 512),
            tensor(asc.uint32, 2 * PLACE), tmp, 4, whole,
        )  # fmt: skip

    np.testing.assert_array_equal(run("2002", memory, call), want)


def test_what_was_never_written_stays_so() -> None:
    """Proposals with a score alone are sorted; their labels are garbage, their scores are not."""
    from tests.simulator_kit import Kernel

    def launch(mode: int) -> Any:
        kernel = Kernel(chip_of("2002"))
        with kernel:
            out = kernel.tensor(kernel.address("out", asc.float16))
            given_ = kernel.tensor(kernel.address("given", asc.float16))
            src = asc.LocalTensor(asc.float16, asc.TPosition.VECIN, 0, 16)
            groups = asc.LocalTensor(asc.float16, asc.TPosition.VECCALC, 1024, 128)
            dst = asc.LocalTensor(asc.float16, asc.TPosition.VECOUT, 2048, 16)
            asc.data_copy(src, given_, 16)
            asc.proposal_concat(groups, src, 1, 4)
            asc.rp_sort16(groups, groups, 1)
            asc.proposal_extract(dst, groups, 1, mode)
            asc.data_copy(out, dst, 16)
        found = np.zeros(16, np.float16)
        kernel.run(found, np.arange(16, dtype=np.float16))
        return found

    assert launch(4).tolist() == list(range(15, -1, -1))
    with pytest.raises(KernelError, match="AT0203: proposal_extract reads element 5 of"):
        launch(5)


# -- sizes, and what is refused -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arch", "dtype", "each"),
    [("2201", asc.float16, 4), ("2201", asc.float32, 2), ("2002", asc.float16, 8),
     ("2002", asc.float32, 8)],
)  # fmt: skip
def test_lengths_of_sorted_lists(arch: str, dtype: DataType, each: int) -> None:
    def call(number: Any) -> list[Any]:
        return [asc.get_sort_len(number(37), dtype), asc.get_sort_offset(number(5), dtype)]

    for runtime in (False, True):
        got = run(arch, noise(0), call, runtime)
        assert take(got, SIZE - 64, np.int64, 2).tolist() == [37 * each, 5 * each]


def test_without_a_dtype_lengths_are_those_of_floats() -> None:
    got = run("2201", noise(0), lambda n: [asc.get_sort_len(64), asc.get_sort_offset(32)])
    assert take(got, SIZE - 64, np.int64, 2).tolist() == [128, 64]


@pytest.mark.parametrize(
    ("arch", "name", "count"),
    [(arch, name, count) for arch in PAIRED for name, count in
     (("rp_sort16", 1), ("proposal_concat", 2), ("proposal_extract", 2), ("mrg_sort4", 0))]
    + [(arch, "sort32", 1) for arch in ("2002", "1001")],
)  # fmt: skip
def test_what_a_chip_lacks(arch: str, name: str, count: int) -> None:
    with lowering_kit.Kernel(soc=chip_of(arch)) as k:
        a, b = local("a", 0, 1024, asc.float16), local("b", 8192, 1024, asc.float16)
        args: list[Any] = [a, b, *[1] * count]
        if name == "mrg_sort4":
            args = [a, asc.MrgSortSrcList(asc.float16, b, b[512:]), asc.MrgSort4Info([1, 1])]
        if name == "sort32":
            args.insert(2, local("i", 16384, 64, asc.uint32))
        with pytest.raises(KernelError) as caught:
            OpFunction(TABLE[name])(*args)
    assert f"AT0304: {k.trace.chip.name} (architecture {arch}) does not execute {name}" in str(
        caught.value
    )
    assert "hint: " in str(caught.value)


def _merge(lengths: list[int], *rest: Any, valid: int = 15) -> Any:
    def call(d: Any, lists: list[Any], i: Any) -> None:
        asc.mrg_sort(d, asc.MrgSortSrcList(asc.float32, *lists), asc.MrgSort4Info(lengths, *rest))

    return call


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda d, s, i: asc.sort32(d, s[0], i, 256), "AT0108: sort32 with repeat_time = 256"),
        (lambda d, s, i: asc.sort32(d, s[0], s[1], 1), "AT0102: sort32 on float32, float32 to fl"),
        (lambda d, s, i: asc.sort32(d, s[0], i, 9), "AT0201: sort32 reaches 288 elements of"),
        (lambda d, s, i: asc.sort32(s[0], s[0], i, 1), "AT0117: sort32 writes"),
        (lambda d, s, i: asc.sort(d, s[0], i, s[1][:64], 4, True), "AT0201: sort reaches 256 ele"),
        (_merge([32] * 4, False, 5), "AT0108: mrg_sort with the valid bits 5"),
        (_merge([4096, 1, 1, 1]), "AT0108: mrg_sort of lists of (4096, 1, 1, 1) elements"),
        (_merge([32, 0, 1, 1], True), "AT0108: mrg_sort that stops when a list is used up, with"),
        (_merge([32, 31, 32, 32], False, 15, 2), "AT0108: mrg_sort with 2 repeats"),
        (_merge([32, 32, 32, 33]), "AT0201: mrg_sort reaches 66 elements of"),
        (lambda d, s, i: asc.mrg_sort(
            d, asc.MrgSortSrcList(asc.float32, *s[:2]), asc.MrgSort4Info([1, 1, 1])),
         "AT0108: mrg_sort of 4 lists, but 2 were given"),
        (lambda d, s, i: asc.mrg_sort(
            d, asc.MrgSortSrcList(asc.float32, d, *s[1:]), asc.MrgSort4Info([1] * 4)),
         "AT0117: mrg_sort writes `d`"),
        (lambda d, s, i: asc.mrg_sort(
            d, asc.MrgSortSrcList(asc.float32, s[0][1:], *s[1:]), asc.MrgSort4Info([1] * 4)),
         "AT0103: mrg_sort on (LocalTensor of float32 in VECIN), which begins 4 bytes past a mult"),
        (lambda d, s, i: asc.mrg_sort(
            d, asc.MrgSortSrcList(asc.float32, s[0], i), asc.MrgSort4Info([1, 1], valid_bit=3)),
         "AT0102: mrg_sort on `d`"),
        (lambda d, s, i: asc.mrg_sort(
            d, asc.MrgSortSrcList(asc.float32, *s), [1] * 4, asc.array(asc.uint32, 4), 15, 1),
         "AT0106: mrg_sort with "),
        (lambda d, s, i: asc.MrgSort4Info([1] * 5).snapshot(), "AT0106: MrgSort4Info with the le"),
    ],
)  # fmt: skip
def test_what_is_refused(call: Any, message: str) -> None:
    with lowering_kit.Kernel():
        lists = [local(f"s{k}", 16384 + 256 * k, 64) for k in range(3)]
        lists.append(local("s3", 16384 + 768, 64))
        lists[0] = local("s0", 32768, 512)
        i = local("i", 65536, 256, asc.uint32)
        with pytest.raises(KernelError) as caught:
            call(local("d", 0, 4096), lists, i)
    assert f"error {message}" in str(caught.value)


def test_repeats_of_lists_that_lie_apart_are_refused_when_run() -> None:
    def call(number: Any) -> None:
        lists = [tensor(asc.float32, PLACE + 512 * k) for k in range(4)]
        info = asc.MrgSort4Info([32] * 4, False, 15, 2)
        asc.mrg_sort(tensor(asc.float32, 0), asc.MrgSortSrcList(asc.float32, *lists), info)

    with pytest.raises(KernelError, match="AT0108: mrg_sort with 2 repeats of lists that do not"):
        run("2201", noise(0), call)


def test_the_result_needs_a_merge_that_stops() -> None:
    with pytest.raises(KernelError, match="AT0203: get_mrg_sort_result reads what no mrg_sort th"):
        run("2201", noise(0), lambda n: list(asc.get_mrg_sort_result()))


@pytest.mark.parametrize("name", ["sort32", "sort", "mrg_sort", "rp_sort16"])
def test_other_dtypes_are_refused(name: str) -> None:
    arch = "2002" if name == "rp_sort16" else "2201"
    for dtype in ALL:
        if dtype in SCORES:
            continue
        with lowering_kit.Kernel(soc=chip_of(arch)):
            a, b = local("a", 0, 1024, dtype), local("b", 8192, 1024, dtype)
            i = local("i", 16384, 64, asc.uint32)
            args = {
                "sort32": (a, b, i, 1), "sort": (a, b, i, b, 1), "rp_sort16": (a, b, 1),
                "mrg_sort": (a, asc.MrgSortSrcList(dtype, b, b), asc.MrgSort4Info([1, 1])),
            }[name]  # fmt: skip
            with pytest.raises(KernelError, match=f"AT0102: {name} on .* is not executed"):
                OpFunction(TABLE[name])(*args)
