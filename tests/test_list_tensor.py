"""Lists of tensors: what is read from their words, the arrays they name, wrong lists, the text."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import asctrace as asc
from asctrace import HardEvent, TPosition
from tests.race_kit import SCHEDULES, marked, outcome, sync, tensor

SIZE = 32


def packed(arrays: list[Any], shapes: list[tuple[int, ...]], counted: bool = False) -> Any:
    """The words of a list, as a framework lays them out."""
    words = []
    for k, shape in enumerate(shapes):
        upper = len(shapes) if counted and k == 0 else k
        words += [len(shape) | upper << 32, *(shape or (0xFFFFFFFF,))]
        if not shape:
            words[-2] = len(arrays) << 32
            break
    distance = 8 * (1 + len(words))
    return np.array([distance, *words, *(a.ctypes.data for a in arrays)], np.uint64)


def describe(
    data: asc.GlobalAddress, a: asc.GlobalAddress, b: asc.GlobalAddress, out: asc.GlobalAddress
):
    tensors = asc.ListTensorDesc(data)
    shape = asc.array(asc.uint64, 4)
    desc = asc.TensorDesc(asc.int32)
    desc.set_shape_addr(shape)
    o = tensor(out)
    size = tensors.get_size()
    o.set_value(0, size)
    for i in range(size):
        tensors.get_desc(desc, i)
        o.set_value(8 * i + 1, desc.get_dim())
        o.set_value(8 * i + 2, desc.get_index())
        for k in range(desc.get_dim()):
            o.set_value(8 * i + 3 + k, desc.get_shape(k))
        o.set_value(8 * i + 6, tensor(desc.get_data_ptr()).get_value(1))
        o.set_value(8 * i + 7, desc.get_data_obj().get_value(2))
    o.set_value(40, shape[1])


@pytest.mark.parametrize("counted", [False, True])
def test_descriptions(counted: bool) -> None:
    a, b = np.arange(SIZE, dtype=np.int32), np.arange(100, 100 + SIZE, dtype=np.int32)
    data = packed([a, b[4:]], [(1, 2, 3), (4, 5, 6)], counted)
    out = np.zeros(48, np.int64)
    asc.jit(describe)[1](data, a, b, out)
    assert out[:17].tolist() == [2, 3, 0, 1, 2, 3, 1, 2, 0, 3, 1, 4, 5, 6, 105, 106, 0]
    assert out[40] == 5


def each(data: asc.GlobalAddress, x: asc.GlobalAddress, y: asc.GlobalAddress, safe: bool):
    """Doubles every tensor of a list, in place."""
    tensors = asc.ListTensorDesc()
    tensors.init(data)
    local = asc.LocalTensor(asc.float32, TPosition.VECIN, 0, SIZE)
    for i in range(tensors.get_size()):
        gm = tensor(tensors.get_data_ptr(i, asc.float32))
        asc.data_copy(local, gm, SIZE)  # reads
        sync(HardEvent.MTE2_V)
        asc.add(local, local, local, SIZE)
        sync(HardEvent.V_MTE3)
        asc.data_copy(gm, local, SIZE)  # writes
        sync(HardEvent.MTE3_MTE2)
    if safe:
        asc.sync_all()


def test_arrays_of_a_list_are_written() -> None:
    for schedule, seed in SCHEDULES:
        x, y = np.arange(SIZE, dtype=np.float32), np.ones(SIZE, np.float32)
        data = packed([y, x], [()])
        kernel = asc.jit(each, sim=asc.SimParams(schedule=schedule, seed=seed))
        kernel[1](data, x, y, False)
        assert x.tolist() == [2 * k for k in range(SIZE)]
        assert y.tolist() == [2] * SIZE


def test_races_in_the_arrays_of_a_list_are_found() -> None:
    x, y = np.arange(SIZE, dtype=np.float32), np.ones(SIZE, np.float32)
    data = packed([y, x], [()])
    kernel = asc.jit(each)
    with pytest.raises(asc.KernelError) as caught:
        kernel[2](data, x, y, True)
    lines = {s.line for f in caught.value.findings if f.code == "AT0209" for s in f.spans}
    assert lines == {marked(each, "reads"), marked(each, "writes")}
    assert y.tolist() == [1] * SIZE


def pointer(data: asc.GlobalAddress, index: int, length: int, size: int):
    tensors = asc.ListTensorDesc(data, length, size)
    tensor(tensors.get_data_ptr(index, asc.float32)).set_value(0, 1.0)  # gets


@pytest.mark.parametrize(("change", "args", "text"), [
    (None, (0, 56, 2), "is in no array of the launch"),
    (None, (2, 56, 2), "tensor 2 of a list that has 2"),
    (None, (-1, 56, 2), "tensor -1 of a list that has 2"),
    (None, (0, 56, 3), "2 tensors in 56 bytes, not 3 in 56"),
    (None, (0, 48, 2), "2 tensors in 56 bytes, not 2 in 48"),
    ((0, 48), (0, 56, 2), "the words do not fit together"),
    ((0, 4000), (0, 56, 2), "its words lead out of the array"),
    ((1, 3), (0, 56, 2), "holds no list of tensors"),
])  # fmt: skip
def test_wrong_lists(change: Any, args: Any, text: str) -> None:
    hidden = np.zeros(SIZE, np.float32)
    data = packed([hidden, hidden], [(2,), (3,)])
    assert data.nbytes == 56
    if change is not None:
        data[change[0]] = change[1]
    (found,) = outcome(pointer, (data, *args), "program", 0)[0]
    assert found.code == "AT0201"
    assert text in found.message


def unset(data: asc.GlobalAddress):
    desc = asc.TensorDesc(asc.int32)
    asc.ListTensorDesc(data).get_desc(desc, 0)


def wrong_array(data: asc.GlobalAddress):
    asc.TensorDesc().set_shape_addr(asc.array(asc.int32, 3))


def not_a_desc(data: asc.GlobalAddress):
    asc.ListTensorDesc(data).get_desc(3, 0)


def not_an_address(data: asc.GlobalAddress):
    asc.ListTensorDesc(3)


@pytest.mark.parametrize(("fn", "code"), [
    (unset, "AT0106"), (wrong_array, "AT0102"), (not_a_desc, "AT0106"), (not_an_address, "AT0106"),
])  # fmt: skip
def test_what_is_known_while_tracing(fn: Any, code: str) -> None:
    with pytest.raises(asc.KernelError) as caught:
        asc.jit(fn).trace(np.zeros(8, np.uint64))
    assert caught.value.code == code


def small(data: asc.GlobalAddress, room: asc.ConstExpr[int], at: int):
    desc = asc.TensorDesc(asc.int32)
    desc.set_shape_addr(asc.array(asc.uint64, room))
    asc.ListTensorDesc(data).get_desc(desc, 1)
    tensor(data).set_value(0, desc.get_shape(at))


@pytest.mark.parametrize(("room", "at", "text"), [
    (3, 0, "3 dimensions into an array of 2"), (3, 3, "dimension 3 of a tensor that has 3"),
])  # fmt: skip
def test_room_for_the_shape(room: int, at: int, text: str) -> None:
    a = np.zeros(8, np.int32)
    data = packed([a, a], [(1, 2, 3), (4, 5, 6)])
    room -= text.endswith("2")
    (found,) = outcome(small, (data, room, at), "program", 0)[0]
    assert found.code == "AT0201"
    assert text in found.message
    assert outcome(small, (data, 3, 2), "program", 0)[0] == []


def test_no_shapes() -> None:
    a = np.zeros(8, np.int32)
    (found,) = outcome(small, (packed([a, a], [()]), 3, 0), "program", 0)[0]
    assert "get_data_ptr(index, dtype)" in found.hint


def test_text() -> None:
    a = np.zeros(8, np.int32)
    source = asc.jit(describe).lower(np.zeros(8, np.uint64), a, a, np.zeros(8, np.int64)).source
    for line in (
        "AscendC::ListTensorDesc tensors(reinterpret_cast<__gm__ void*>(data));",
        "uint64_t shape[4] = {};",
        "AscendC::TensorDesc<int32_t> desc;",
        "desc.SetShapeAddr(shape);",
        "const int32_t size = tensors.GetSize();",
        "tensors.GetDesc(desc, i);",
        "= desc.GetDim();",
        "= desc.GetIndex();",
        "= desc.GetShape(k);",
        "__gm__ int32_t* address = desc.GetDataPtr();",
        "AscendC::GlobalTensor<int32_t> global_tensor = desc.GetDataObj();",
    ):
        assert line in source, line
    source = asc.jit(each).lower(np.zeros(8, np.uint64), a, a, True).source
    for line in (
        "AscendC::ListTensorDesc tensors;",
        "tensors.Init(reinterpret_cast<__gm__ void*>(data));",
        "__gm__ float* address = tensors.GetDataPtr<float>(i);",
    ):
        assert line in source, line
    source = asc.jit(pointer).lower(np.zeros(8, np.uint64), 1, 2, 3).source
    assert "tensors(reinterpret_cast<__gm__ void*>(data), length, size);" in source
