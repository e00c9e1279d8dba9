"""What may be passed to a kernel, and what a launch is keyed by."""

import sys
from enum import Enum
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import asctrace as asc
from asctrace.runtime import arguments
from asctrace.runtime.arguments import ArrayKey, adapt, const_key


class Colour(Enum):
    RED = 1


class Plain:
    pass


class Subclass(np.ndarray):
    pass


class Unhashable:
    __hash__ = None


SOME = Plain()
LIST = Unhashable()

CONSTANTS = [
    1, True, 1.0, 0.0, -0.0, float("nan"), np.float32(1), np.int64(1), "1", b"1", None, (1,),
    (True,), [1], (1.0,), {1: 2}, {1: True}, {1}, frozenset({1}), 1j, asc.float32, asc.int8,
    Colour.RED, Plain, SOME, LIST, Unhashable(), len, np.zeros(2), np.zeros(2, np.int64),
    np.zeros((2, 1)),
]  # fmt: skip


@pytest.mark.parametrize("index", range(len(CONSTANTS)))
def test_constants_have_keys_of_their_own(index: int) -> None:
    key = const_key(CONSTANTS[index])
    hash(key)
    assert [k for k, c in enumerate(CONSTANTS) if const_key(c) == key] == [index]


def test_equal_constants_have_equal_keys() -> None:
    assert const_key([1, (2.0, "a")]) == const_key([1, (2.0, "a")])
    assert const_key(np.arange(3)) == const_key(np.arange(3))


@pytest.fixture
def kernel() -> asc.Kernel:
    @asc.jit
    def take(x, n: asc.ConstExpr[int] = 0):
        pass

    return take


def dtype_of(kernel: asc.Kernel, value: Any) -> str:
    """The dtype of the parameter an argument becomes."""
    (param,) = kernel.trace(value).trace.params
    return str(getattr(param.type, "dtype", param.type))


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (np.zeros(4, np.float32), "float32"),
        (np.zeros(4, np.float16), "float16"),
        (np.zeros(4, ml_dtypes.bfloat16), "bfloat16"),
        (np.zeros(4, bool), "bool"),
        (np.zeros(4, np.uint64), "uint64"),
        (np.zeros((), np.int8), "int8"),
        (np.zeros(0, np.int8), "int8"),
        (np.zeros((2, 3), np.int16).T.copy(), "int16"),
        (np.zeros(9, np.int8)[1:].view(np.float32), "float32"),
        (np.zeros(4, np.int32).view(Subclass), "int32"),
        (2**31 - 1, "int32"),
        (-(2**31), "int32"),
        (1.5, "float32"),
        (float("inf"), "float32"),
        (True, "bool"),
        (np.bool_(True), "bool"),
        (np.int64(2**40), "int64"),
        (np.uint8(3), "uint8"),
        (np.float16(3), "float16"),
        (ml_dtypes.bfloat16(3), "bfloat16"),
    ],
)
def test_accepted(kernel: asc.Kernel, value: Any, dtype: str) -> None:
    assert dtype_of(kernel, value) == dtype
    kernel.trace(value)
    assert kernel.trace_count == 1


@pytest.mark.parametrize(
    ("value", "message", "hint"),
    [
        (np.zeros(4), "an array of float64 has no Ascend C type", "astype"),
        (np.zeros(4, "U3"), "an array of str96 has no Ascend C type", "astype"),
        (np.zeros(4, ">f4"), "float32 in foreign byte order has no", "astype"),
        (np.zeros((4, 4), np.int8)[:, :2], "is not C-contiguous", "np.ascontiguousarray"),
        (np.zeros((4, 2), np.int8).T, "is not C-contiguous", "np.ascontiguousarray"),
        (2**31, "2147483648 does not fit int32", "np.int64"),
        (-(2**31) - 1, "-2147483649 does not fit int32", "np.int64"),
        (1e39, "1e+39 does not fit float32", "ConstExpr[float]"),
        (np.float64(1), "a NumPy float64 has no Ascend C type", "np.float32"),
        (np.complex64(1), "a NumPy complex64 has no Ascend C type", "known dtype"),
    ],
)
def test_refused(kernel: asc.Kernel, value: Any, message: str, hint: str) -> None:
    with pytest.raises(asc.KernelError) as caught:
        kernel[1](value)
    finding = caught.value.findings[0]
    assert finding.code == "AT0113"
    assert finding.message.startswith("argument `x` of take: ")
    assert message in finding.message
    assert hint in finding.hint


@pytest.mark.parametrize(
    "value", [None, "text", (1, 2), [1], asc.int8, len, Colour.RED, SOME, LIST]
)
def test_other_objects_are_constants(value: Any) -> None:
    seen = []

    @asc.jit
    def keep(x):
        seen.append(x)

    assert keep.trace(value).trace.params == []
    assert seen[0] is value


def test_constexpr_keeps_the_object() -> None:
    seen = []

    @asc.jit
    def keep(x: asc.ConstExpr):
        seen.append(type(x))

    for value in (1, 2**40, np.float64(1), [1]):
        assert keep.trace(value).trace.params == []
    assert seen == [int, int, np.float64, list]


class Interface:
    """Memory with the array interface."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.__array_interface__ = array.__array_interface__


class Dlpack:
    """Memory with DLPack; a device of 2 is CUDA."""

    def __init__(self, array: Any, device: int = 1) -> None:
        self.array = array
        self.device = device

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.device, 0)

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.array.__dlpack__()


@pytest.mark.parametrize("wrap", [Interface, Dlpack])
def test_foreign_memory_is_shared(wrap: Any) -> None:
    array = np.zeros(4, np.int32)
    key, view = adapt("k", "x", wrap(array))
    assert isinstance(key, ArrayKey)
    assert np.shares_memory(view, array)
    assert str(key.type.dtype) == "int32"


def test_foreign_device_memory_is_refused(kernel: asc.Kernel) -> None:
    with pytest.raises(asc.KernelError, match="the Dlpack gives no view of host memory"):
        kernel[1](Dlpack(np.zeros(4, np.int32), device=2))


class Tensor:
    """The part of torch.Tensor that is used."""

    def __init__(
        self, array: Any, dtype: str, device: str = "cpu", contiguous: bool = True
    ) -> None:
        self.array = array
        self.dtype = dtype
        self.device = type("device", (), {"type": device, "__str__": lambda self: device})()
        self.contiguous = contiguous

    def data_ptr(self) -> int:
        return int(self.array.ctypes.data)

    def is_contiguous(self) -> bool:
        return self.contiguous

    def detach(self) -> "Tensor":
        return self

    def view(self, dtype: Any) -> "Tensor":
        return Tensor(self.array.view(dtype), "torch.int16")

    def numpy(self) -> Any:
        if self.dtype in ("torch.bfloat16", "torch.float8_e5m2"):
            raise TypeError("Got unsupported ScalarType")
        return self.array


Tensor.__module__ = "torch"


@pytest.fixture
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("torch")
    module.int16 = np.int16  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", module)


@pytest.mark.usefixtures("torch")
def test_torch_tensors_share_memory() -> None:
    array = np.zeros(4, np.float32)
    key, view = adapt("k", "x", Tensor(array, "torch.float32"))
    assert view is array
    assert str(key.type.dtype) == "float32"
    bits = np.zeros(4, np.uint16)
    key, view = adapt("k", "x", Tensor(bits, "torch.bfloat16"))
    assert np.shares_memory(view, bits)
    assert view.dtype == ml_dtypes.bfloat16
    assert str(key.type.dtype) == "bfloat16"


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize(
    ("tensor", "message"),
    [
        (Tensor(np.zeros(1), "torch.int8", device="npu:0"), "the tensor lives on npu:0"),
        (Tensor(np.zeros(1), "torch.int8", contiguous=False), "the tensor is not contiguous"),
        (Tensor(np.zeros(1), "torch.float8_e5m2"), "torch.float8_e5m2 has no Ascend C type"),
    ],
)
def test_torch_tensors_refused(kernel: asc.Kernel, tensor: Tensor, message: str) -> None:
    with pytest.raises(asc.KernelError, match=message) as caught:
        kernel[1](tensor)
    assert caught.value.code == "AT0113"


def test_bfloat16_array_takes_the_fast_path_once_known() -> None:
    x = np.zeros(4, ml_dtypes.bfloat16)
    key, _ = adapt("k", "x", x)
    assert arguments.RUNTIME[np.ndarray](x) is key
