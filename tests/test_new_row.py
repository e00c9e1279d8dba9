"""Adding an operation takes one row: everything else reads it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import numpy as np
import pytest

import asctrace as asc
from asctrace.tracer.language.dtypes import float16, float32
from asctrace.tracer.ops._vector import vector_row
from asctrace.tracer.ops.functions import functions
from asctrace.tracer.ops.spec import TABLE, OpSpec
from asctrace.tracer.ops.vec_binary import FORMS
from docs import operations, stubs
from tests.op_examples import shown
from tests.test_op_table import problems


@pytest.fixture
def row(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpSpec]:
    """The row, and the names as they are when it is in the table before `asctrace` is imported."""
    spec = vector_row(
        "vec_binary", "mean", "Mean", "dst = half of src0 + src1", FORMS,
        {"2201": (float16, float32)}, lambda a, b: (a + b) / a.dtype.type(2),
    )  # fmt: skip
    monkeypatch.setattr(asc, "mean", functions()["mean"], raising=False)
    yield spec
    del TABLE["mean"]


def kernel(x, y, z, n: asc.ConstExpr[int]):
    pipe = asc.TPipe()
    inputs, outputs = asc.TQue(asc.TPosition.VECIN, 2), asc.TQue(asc.TPosition.VECOUT, 1)
    for queue, num in ((inputs, 2), (outputs, 1)):
        pipe.init_buffer(queue, num, n * x.dtype.sizeof())
    for address in (x, y):
        source = asc.GlobalTensor()
        source.set_global_buffer(address, n)
        local = inputs.alloc_tensor(x.dtype)
        asc.data_copy(local, source, n)
        inputs.enque(local)
    left, right = inputs.deque(x.dtype), inputs.deque(x.dtype)
    mean = outputs.alloc_tensor(x.dtype)
    asc.mean(mean, left, right, n)
    outputs.enque(mean)
    target = asc.GlobalTensor()
    target.set_global_buffer(z, n)
    asc.data_copy(target, outputs.deque(x.dtype), n)
    for tensor in (left, right):
        inputs.free_tensor(tensor)
    outputs.free_tensor(mean)


def test_the_row_is_complete(row: OpSpec) -> None:
    assert problems(row) == []


def test_it_is_a_public_function(row: OpSpec) -> None:
    assert functions()["mean"].__doc__ == row.doc
    assert str(inspect.signature(functions()["mean"])) == (
        "(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, *args, **kwargs)"
    )
    assert stubs.page().count("\ndef mean(dst: LocalTensor, src0: LocalTensor, src1: ") == 3


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_it_is_lowered_and_simulated(row: OpSpec, dtype: type) -> None:
    x, y = np.random.default_rng(5).normal(0, 10, (2, 256)).astype(dtype)
    z = np.zeros_like(x)
    made = asc.jit(kernel)
    made[1](x, y, z, 256)
    assert (z == (x + y) / dtype(2)).all()
    assert "    AscendC::Mean(mean, left, right, 256);\n" in made.lower(x, y, z, 256).source


def test_another_dtype_is_refused(row: OpSpec) -> None:
    x = np.zeros(256, np.int16)
    with pytest.raises(asc.KernelError) as caught:
        asc.jit(kernel)[1](x, x, x.copy(), 256)
    assert caught.value.code == "AT0102"
    assert "mean on int16 is not executed by Ascend910B1" in str(caught.value)
    assert "2201: float16, float32\n" in str(caught.value)


def test_what_one_call_can_know_is_checked(row: OpSpec) -> None:
    """The rules of the family, without a line for them in the row."""
    x = np.zeros(256, np.float32)

    def short(x, y, z):
        tensor = asc.LocalTensor(asc.float32, asc.TPosition.VECIN, 0, 64)
        asc.mean(tensor, tensor, tensor, 128)

    with pytest.raises(asc.KernelError, match="mean reaches 128 elements of `tensor`") as caught:
        asc.jit(short).lower(x, x, x)
    assert caught.value.code == "AT0201"


def test_it_has_a_section_on_the_page_of_its_family(row: OpSpec) -> None:
    (page,) = (page for page in operations.PAGES if "vec_binary" in page.families)
    section = operations.text_of(page).split("\n## mean\n")[1].split("\n## ")[0]
    assert section.startswith("\ndst = half of src0 + src1 (`AscendC::Mean`).")
    assert (
        "\n| 2201 | float16, float32 |\n"
        "\n- All tensors are in UB and of dtypes that the chip executes together.\n"
    ) in section
    assert "asc.mean(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, count: int" in section
    assert "template <typename T> void Mean(const LocalTensor<T>& dst, " in section
    assert "\nasc.mean(dst, src0, src1, 32)\n" in section
    assert "\nAscendC::Mean(dst, src0, src1, 32);\n" in section


def test_its_examples_use_the_mask_forms(row: OpSpec) -> None:
    assert shown(row, FORMS[2]).lines == (
        "uint64_t mask[2] = {0xffULL, 0};",
        "AscendC::Mean(dst, src0, src1, mask, 2, AscendC::BinaryRepeatParams(1, 1, 1, 8, 8, 8));",
    )
