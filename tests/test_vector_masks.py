"""The vector mask of a core: programs of calls, some of which go by the mask that is set.

A register worked out by hand, written apart from the simulator's, says what each call selects.
"""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import asctrace as asc
from asctrace.lowering.text import emit
from asctrace.tracer.diagnostics import KernelError
from tests import lowering_kit
from tests.lowering_kit import body, local
from tests.simulator_kit import Kernel

FULL = 2**64 - 1
COUNT = 2048  # elements of the tensor that all calls work on


class Model:
    """What the documentation says of the register."""

    def __init__(self, size: int) -> None:
        self.lanes = 256 // size
        self.per_block = 32 // size
        self.counter, self.low, self.high = False, FULL, FULL
        self.counts: Any = False

    def set(self, count: int) -> None:
        self.counts = self.counter
        bits = count if self.counter else (1 << count) - 1
        self.low, self.high = bits & FULL, bits >> 64

    def selected(self, repeat: int, block: int, rep: int) -> list[list[int]]:
        """The elements of each repeat, for a call that goes by the mask."""
        assert self.counts == self.counter
        found = []
        done, r = 0, 0
        while (done < self.low) if self.counter else (r < repeat):
            row = []
            for lane in range(self.lanes):
                if self.counter:
                    take = done + lane < self.low
                else:
                    take = bool((self.low | self.high << 64) >> lane & 1)
                if take:
                    at = r * rep * self.per_block + lane // self.per_block * block * self.per_block
                    row.append(at + lane % self.per_block)
            found.append(row)
            done += self.lanes
            r += 1
        return found


@st.composite
def steps(draw: Any, lanes: int) -> list[tuple[Any, ...]]:
    """Calls in an order that is defined: a mask is set behind each change of the mode."""
    found: list[tuple[Any, ...]] = []
    counter, ready = False, True
    for _ in range(draw(st.integers(3, 12))):
        kind = draw(
            st.sampled_from(["mode", "set", "bits", "inherit", "inherit", "by_count", "own"])
        )
        if kind == "mode":
            counter = draw(st.booleans())
            found.append(("mode", counter))
            ready = False
        if kind in ("mode", "set"):
            most = 500 if counter else lanes
            found.append(("set", counter, draw(st.integers(0, most))))
            ready = True
        elif kind == "bits" and not counter:
            found.append(("bits", draw(st.integers(1, FULL)), draw(st.integers(1, FULL))))
            ready = True
        elif kind == "inherit" and ready:
            place = (draw(st.integers(0, 3)), draw(st.integers(1, 2)), draw(st.integers(0, 20)))
            found.append(("inherit", draw(st.booleans()), *place))
        elif kind == "by_count" and not counter:
            found.append(("by_count", draw(st.integers(0, 300))))
            ready = True
        elif kind == "own":
            amount = draw(st.integers(1, 400 if counter else lanes))
            found.append(("own", counter, amount, draw(st.integers(0, 3))))
            ready = True
    if counter:
        found.append(("mode", False))
    return found


def record(tensor: Any, dtype: Any, step: tuple[Any, ...], number: Any) -> None:
    """The calls of a step."""
    kind, *rest = step
    if kind == "mode":
        (asc.set_mask_count if rest[0] else asc.set_mask_norm)()
    elif kind == "set":
        mode = asc.MaskMode.COUNTER if rest[0] else asc.MaskMode.NORMAL
        asc.set_vector_mask(number(rest[1]), dtype=dtype, mode=mode)
    elif kind == "bits":
        high = rest[0] if dtype.sizeof() == 2 else 0
        asc.set_vector_mask(number(high), number(rest[1]), dtype=dtype)
    elif kind == "inherit":
        by_count, repeat, block, rep = rest
        if by_count:
            asc.adds(tensor, tensor, 1, 1, False)
        else:
            params = asc.UnaryRepeatParams(block, block, rep, rep)
            asc.adds(tensor, tensor, 1, 0, number(repeat), params, False)
    elif kind == "by_count":
        asc.adds(tensor, tensor, 1, number(rest[0]))
    else:
        counter, amount, repeat = rest
        mask = [number(amount), 0] if counter else number(amount)
        asc.adds(tensor, tensor, 1, mask, number(repeat), asc.UnaryRepeatParams())


def follow(model: Model, step: tuple[Any, ...]) -> list[list[int]]:
    """What the step selects, by hand."""
    kind, *rest = step
    if kind == "mode":
        model.counter = rest[0]
    elif kind == "set":
        model.set(rest[1])
    elif kind == "bits":
        model.counts = False
        model.low, model.high = rest[1], rest[0] if model.lanes == 128 else 0
    elif kind == "inherit":
        return model.selected(1, 1, 8) if rest[0] else model.selected(*rest[1:])
    elif kind == "by_count":
        model.__init__(256 // model.lanes)  # type: ignore[misc]
        return [list(range(rest[0]))]
    else:
        model.set(rest[1])
        return model.selected(rest[2], 1, 8)
    return []


def kernel_of(dtype: Any, calls: Any, runtime: bool = False) -> tuple[Kernel, list[int]]:
    kernel = Kernel()
    given_: list[int] = []

    def number(value: int) -> Any:
        if not runtime:
            return value
        given_.append(value)
        return kernel.scalar(f"n{len(given_)}", asc.uint64)

    with kernel:
        target = kernel.tensor(kernel.address("target", dtype))
        tensor = asc.LocalTensor(dtype, asc.TPosition.VECIN, 0, COUNT)
        asc.data_copy(tensor, target, COUNT)
        calls(tensor, number, kernel)
        asc.data_copy(target, tensor, COUNT)
    return kernel, given_


def run(dtype: Any, calls: Any, runtime: bool = False, **params: Any) -> Any:
    kernel, given_ = kernel_of(dtype, calls, runtime)
    data = np.zeros(COUNT, dtype.np)
    kernel.run(data, *given_, **params)
    return data


@pytest.mark.parametrize("dtype", [asc.float32, asc.int16], ids=str)
def test_random_programs(dtype: Any) -> None:
    @settings(
        max_examples=120, phases=[Phase.generate], deadline=None, database=None, print_blob=True,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(program=steps(256 // dtype.sizeof()), runtime=st.booleans())
    def check(program: list[tuple[Any, ...]], runtime: bool) -> None:
        want = np.zeros(COUNT, dtype.np)
        model = Model(dtype.sizeof())
        feeds = False
        for step in program:
            rows = follow(model, step)
            # A repeat reads what an earlier one wrote.
            feeds = feeds or len(set(chain(*rows))) < sum(map(len, rows))
            want[list(chain(*rows))] += 1

        def calls(tensor: Any, number: Any, kernel: Any) -> None:
            for step in program:
                record(tensor, dtype, step, number)

        if feeds:
            with pytest.raises(KernelError, match=r"AT0117: adds writes .* in later repeats"):
                run(dtype, calls, runtime)
            return
        np.testing.assert_array_equal(run(dtype, calls, runtime), want)

    check()


@pytest.mark.parametrize("inherits", [False, True])
def test_copy_counts_each_repeat_in_counter_mode(inherits: bool) -> None:
    """A repeat may have more than eight blocks then."""

    def calls(tensor: Any, number: Any, kernel: Any) -> None:
        params = asc.CopyRepeatParams(1, 8, 16, 8)
        asc.set_mask_count()
        if inherits:
            asc.set_vector_mask(number(144), dtype=asc.int16, mode=asc.MaskMode.COUNTER)
        mask = 0 if inherits else [number(144), 0]
        asc.copy(tensor[1280:], tensor, mask, number(2), params, not inherits)
        asc.set_mask_norm()
        asc.reset_mask()

    kernel, given_ = kernel_of(asc.int16, calls, True)
    data = np.arange(COUNT, dtype=np.int16)
    want = data.copy()
    for repeat in range(2):
        for k in range(144):
            block, within = divmod(k, 16)
            want[1280 + repeat * 256 + k] = repeat * 128 + block * 128 + within
    kernel.run(data, *given_)
    np.testing.assert_array_equal(data, want)


def test_the_register_is_state_of_the_run() -> None:
    """Set under a runtime condition and in a loop, used behind them."""

    def calls(tensor: Any, number: Any, kernel: Any) -> None:
        asc.set_vector_mask(3, dtype=asc.float32)
        with kernel.loop(number(4)) as i:
            asc.adds(tensor, tensor, 1, 0, 1, asc.UnaryRepeatParams(), False)
            with kernel.when(i % 2 == 0):
                asc.set_vector_mask(i + 5, dtype=asc.float32)
        asc.adds(tensor, tensor, 1, 0, 1, asc.UnaryRepeatParams(), False)

    # The masks of the five calls: 3, 5, 5, 7, 7.
    want = np.array([5, 5, 5, 4, 4, 2, 2, 0])
    for schedule in ("program", "late", "random"):
        for detect in (True, False):
            got = run(asc.float32, _synchronised(calls), True, schedule=schedule,
                      detect_races=detect)  # fmt: skip
            np.testing.assert_array_equal(got[:8], want)


def _synchronised(calls: Any) -> Any:
    def wrapped(tensor: Any, number: Any, kernel: Any) -> None:
        asc.pipe_barrier(asc.PipeID.PIPE_ALL)
        calls(tensor, number, kernel)
        asc.pipe_barrier(asc.PipeID.PIPE_ALL)

    return wrapped


def test_each_block_begins_in_normal_mode() -> None:
    kernel = Kernel()
    with kernel:
        target = kernel.tensor(kernel.address("target", asc.float32))
        tensor = asc.LocalTensor(asc.float32, asc.TPosition.VECIN, 0, 64)
        block = asc.get_block_idx()
        asc.data_copy(tensor, target[block * 64 :], 64)
        asc.adds(tensor, tensor, 1, 0, 1, asc.UnaryRepeatParams(), False)
        asc.set_vector_mask(1, dtype=asc.float32)
        asc.data_copy(target[block * 64 :], tensor, 64)
    data = np.zeros(192, np.float32)
    kernel.run(data, blocks=3)
    assert (data == 1).all()


def test_reductions_in_counter_mode() -> None:
    def calls(tensor: Any, number: Any, kernel: Any) -> None:
        asc.duplicate(tensor, 1, COUNT)
        asc.set_mask_count()
        asc.set_vector_mask(150, dtype=asc.float32, mode=asc.MaskMode.COUNTER)
        asc.whole_reduce_sum(tensor[1024:], tensor, 0, 1, 1, 1, 8, False)
        asc.set_mask_norm()

    got = run(asc.float32, calls)
    assert got[1024:1028].tolist() == [64, 64, 22, 1]


# -- findings -------------------------------------------------------------------------------------


def _wrong_mode(tensor: Any, number: Any, kernel: Any) -> None:
    asc.set_mask_count()
    asc.set_vector_mask(8, dtype=asc.float32)
    asc.adds(tensor, tensor, 1, 0, 1, asc.UnaryRepeatParams(), False)


def _never_set_in_counter_mode(tensor: Any, number: Any, kernel: Any) -> None:
    asc.set_mask_count()
    asc.adds(tensor, tensor, 1, 0, 1, asc.UnaryRepeatParams(), False)


def _number_in_counter_mode(tensor: Any, number: Any, kernel: Any) -> None:
    asc.set_mask_count()
    asc.adds(tensor, tensor, 1, 8, 1, asc.UnaryRepeatParams())


def _select_in_counter_mode(tensor: Any, number: Any, kernel: Any) -> None:
    asc.set_mask_count()
    bits = tensor[1024:].reinterpret_cast(asc.uint8)
    asc.select(tensor, bits, tensor, 7.0, asc.SelMode.VSEL_TENSOR_SCALAR_MODE, 64)


def _undefined_behind_select(tensor: Any, number: Any, kernel: Any) -> None:
    bits = tensor[1024:].reinterpret_cast(asc.uint8)
    asc.select(tensor, bits, tensor, 7.0, asc.SelMode.VSEL_TENSOR_SCALAR_MODE, 64)
    asc.adds(tensor, tensor, 1, 0, 1, asc.UnaryRepeatParams(), False)


def _gather_in_counter_mode(tensor: Any, number: Any, kernel: Any) -> None:
    asc.set_mask_count()
    offsets = tensor[1024:].reinterpret_cast(asc.uint32)
    asc.gather(tensor, tensor[512:], offsets, 0, 64)


def _undefined_behind_gather(tensor: Any, number: Any, kernel: Any) -> None:
    offsets = tensor[1024:].reinterpret_cast(asc.uint32)
    asc.duplicate(offsets, 0, 64)
    asc.gather(tensor, tensor[512:], offsets, 0, 64)
    asc.adds(tensor, tensor, 1, 0, 1, asc.UnaryRepeatParams(), False)


def _undefined_behind_gather_mask(tensor: Any, number: Any, kernel: Any) -> None:
    asc.set_mask_count()
    asc.gather_mask(tensor, tensor[512:], 7, False, 0, asc.GatherMaskParams(1, 1, 8, 0))
    asc.adds(tensor, tensor, 1, 0, 1, asc.UnaryRepeatParams(), False)


def _bad_mask(tensor: Any, number: Any, kernel: Any) -> None:
    asc.set_vector_mask(number(65), dtype=asc.float32)
    asc.adds(tensor, tensor, 1, 0, 1, asc.UnaryRepeatParams(), False)


def _out_of_the_tensor(tensor: Any, number: Any, kernel: Any) -> None:
    asc.set_mask_count()
    asc.set_vector_mask(COUNT + 1, dtype=asc.float32, mode=asc.MaskMode.COUNTER)
    asc.adds(tensor, tensor, 1, 0, 1, asc.UnaryRepeatParams(), False)


@pytest.mark.parametrize(
    ("calls", "message"),
    [
        (_wrong_mode, ("AT0211: adds in counter mode goes by the mask that is set, which was set "
                      "for normal mode")),
        (_never_set_in_counter_mode, "AT0211: adds in counter mode goes by the mask"),
        (_number_in_counter_mode, r"AT0211: adds with the mask 8 in counter mode"),
        (_select_in_counter_mode, "AT0211: select in counter mode, which it is not made for"),
        (_undefined_behind_select, ("AT0211: adds in normal mode goes by the mask that is set, "
                                   "which select left undefined")),
        (_gather_in_counter_mode, "AT0211: gather in counter mode, which it is not made for"),
        (_undefined_behind_gather, ("AT0211: adds in normal mode goes by the mask that is set, "
                                    "which gather left undefined")),
        (_undefined_behind_gather_mask, ("AT0211: adds in normal mode goes by the mask that is "
                                         "set, which gather_mask left undefined")),
        (_bad_mask, "AT0108: set_vector_mask of 65 elements"),
        (_out_of_the_tensor, "AT0201: adds reads elements|AT0201: adds writes elements"),
    ],
)  # fmt: skip
def test_what_is_refused(calls: Any, message: str) -> None:
    with pytest.raises(KernelError, match=message):
        run(asc.float32, calls, True)


def test_sorting_and_transposes_leave_the_mask() -> None:
    def calls(tensor: Any, number: Any, kernel: Any) -> None:
        asc.set_vector_mask(3, dtype=asc.float32)
        indices = tensor[1024:].reinterpret_cast(asc.uint32)
        asc.sort32(tensor[512:], tensor, indices, 1)
        asc.adds(tensor, tensor, 1, 0, 1, asc.UnaryRepeatParams(), False)

    got = run(asc.float32, lambda t, n, k: (asc.duplicate(t, 0, COUNT), calls(t, n, k)))
    assert got[:5].tolist() == [1, 1, 1, 0, 0]


def test_counter_mode_is_left_on() -> None:
    def calls(tensor: Any, number: Any, kernel: Any) -> None:
        asc.set_mask_count()

    kernel, _ = kernel_of(asc.float32, calls)
    (found,) = kernel.run(np.zeros(COUNT, np.float32)).findings
    assert (found.code, found.severity) == ("AT0211", "warning")
    assert found.message == "the kernel ends in counter mode"


def test_a_call_by_count_ends_counter_mode() -> None:
    def calls(tensor: Any, number: Any, kernel: Any) -> None:
        asc.set_mask_count()
        asc.adds(tensor, tensor, 1, 10)
        # Normal mode, all elements.
        asc.adds(tensor, tensor, 1, 0, 2, asc.UnaryRepeatParams(), False)

    kernel, _ = kernel_of(asc.float32, calls)
    data = np.zeros(COUNT, np.float32)
    (found,) = kernel.run(data).findings
    assert (found.code, found.severity) == ("AT0211", "warning")
    assert found.message == "adds by count ends counter mode"
    assert data[:129].tolist() == [2] * 10 + [1] * 118 + [0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: asc.set_vector_mask(65, dtype=asc.float32), "of 65 elements"),
        (lambda: asc.set_vector_mask(-1, dtype=asc.float32), "of -1 elements"),
        (lambda: asc.set_vector_mask(1, 1, dtype=asc.int32), "with the high word 1 for int32"),
        (lambda: asc.set_vector_mask(8, dtype=asc.int8), "in normal mode for int8"),
        (
            lambda: asc.set_vector_mask(1, 8, dtype=asc.half, mode=asc.MaskMode.COUNTER),
            "with the high word 1 in counter mode",
        ),
    ],
)
def test_masks_are_checked_while_tracing(call: Any, message: str) -> None:
    with lowering_kit.Kernel(), pytest.raises(KernelError, match=f"AT0108: set_.*{message}"):
        call()


def test_text() -> None:
    with lowering_kit.Kernel() as k:
        tensor = local("tensor", 0, 512, asc.float16)
        asc.set_mask_norm()
        asc.set_vector_mask(100, dtype=asc.float16)
        asc.adds(tensor, tensor, 1, 0, 1, asc.UnaryRepeatParams(), False)
        asc.set_vector_mask(5, 1 << 63, dtype=asc.half, mode=asc.MaskMode.NORMAL)
        asc.set_mask_count()
        asc.set_vector_mask(k.scalar("n"), dtype=asc.float16, mode=asc.MaskMode.COUNTER)
        asc.adds(tensor, tensor, 1, 1, False)
        asc.set_mask_norm()
        asc.reset_mask()
    one = "static_cast<half>(1.0f)"
    assert body(emit(k.trace)).splitlines()[-9:] == [
        "AscendC::SetMaskNorm();",
        "AscendC::SetVectorMask<half, AscendC::MaskMode::NORMAL>(100);",
        (
            f"AscendC::Adds<half, false>(tensor, tensor, {one}, 0, 1, "
            "AscendC::UnaryRepeatParams(1, 1, 8, 8));"
        ),
        "AscendC::SetVectorMask<half, AscendC::MaskMode::NORMAL>(5, 9223372036854775808ULL);",
        "AscendC::SetMaskCount();",
        "AscendC::SetVectorMask<half, AscendC::MaskMode::COUNTER>(n);",
        f"AscendC::Adds<half, false>(tensor, tensor, {one}, 1);",
        "AscendC::SetMaskNorm();",
        "AscendC::ResetMask();",
    ]
