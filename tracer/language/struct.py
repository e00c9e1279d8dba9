"""`asc.Struct`: C++ structs of the kernel's own, as kernel arguments and local values.

On the host an instance holds its fields in the layout of the C++ struct; in a kernel the same class
makes a struct of the scalar unit. Imports numpy.
"""

from __future__ import annotations

from types import FunctionType, MethodType
from typing import Any, ClassVar

import numpy as np

from ..diagnostics import error
from ..ops import data as rows
from ..trace import Value, current, in_trace
from .array import part, record_new, set_part
from .dtypes import DataType
from .types import ArrayType, StructType

_MISSING: Any = object()
#: What every value of a kernel has; fields cannot be called so.
_TAKEN = frozenset({"block", "create_local", "name", "node", "pack", "part", "type", "unpack"})


class Field:
    """A number in a struct: its dtype, its value when none is given, its C++ name if that differs.

    `enum` names the C++ enumeration that the field's number is cast to.
    """

    def __init__(
        self,
        dtype: DataType,
        default: Any = _MISSING,
        name: str | None = None,
        enum: str | None = None,
    ) -> None:
        if not isinstance(dtype, DataType):
            raise TypeError(f"a Field has a dtype, not {dtype!r}")
        self.default = default
        self.name = name
        self.enum = enum
        self.type: Any = dtype

    def first(self) -> Any:
        """The value of a field that the constructor does not get, or None if there is none."""
        return None if self.default is _MISSING else self.default


class StructField(Field):
    """A struct in a struct; its default is the inner struct's own."""

    def __init__(
        self, struct_cls: type[Struct], default: Any = None, name: str | None = None
    ) -> None:
        self.default = default
        self.name = name
        self.enum = None
        self.type = struct_cls.struct_type

    def first(self) -> Any:
        """The default, or an instance of the inner struct."""
        return self.type.cls() if self.default is None else self.default


class ArrayField(Field):
    """`length` numbers (or structs) of one type in a struct; zero by default."""

    def __init__(
        self, dtype: Any, length: int, default: Any = None, name: str | None = None
    ) -> None:
        self.default = default
        self.name = name
        self.enum = None
        self.type = ArrayType(getattr(dtype, "struct_type", dtype), length)

    def first(self) -> Any:
        """The default, or nothing: the elements are zero."""
        return () if self.default is None else self.default


# -- host layout --------------------------------------------------------------------------------


def alignment(type: Any, pack: int) -> int:
    """The alignment in bytes of a C++ type, at most `pack`."""
    if isinstance(type, ArrayType):
        return alignment(type.element, pack)
    if isinstance(type, StructType):
        inner = min(pack, type.pack)
        return max(alignment(field[2], inner) for field in type.fields)
    return min(pack, int(type.sizeof()))


def layout(type: Any) -> np.dtype[Any]:
    """The NumPy dtype with the bytes of a C++ type."""
    if isinstance(type, ArrayType):
        return np.dtype((layout(type.element), (type.length,)))
    if not isinstance(type, StructType):
        plain_dtype: np.dtype[Any] = np.dtype(type.np)
        return plain_dtype
    offsets, at = [], 0
    formats = [layout(field[2]) for field in type.fields]
    for (_, _, inner), format in zip(type.fields, formats, strict=True):
        step = alignment(inner, type.pack)
        at = -(-at // step) * step
        offsets.append(at)
        at += format.itemsize
    step = alignment(type, type.pack)
    return np.dtype(
        {
            "names": [field[0] for field in type.fields],
            "formats": formats,
            "offsets": offsets,
            "itemsize": -(-at // step) * step,
        }
    )


class Struct:
    """Base of the structs that kernels take and make; fields are class attributes.

        class Tiling(asc.Struct):
            length = asc.Field(asc.int32)
            scale = asc.Field(asc.float32, default=1.0)

    On the host `Tiling(length=8)` holds numbers (`tiling.length = 9` writes), `pack()` gives the
    bytes of the C++ struct and `Tiling.unpack(data)` takes them. In a kernel the same call makes a
    local struct, and a `Tiling` argument is passed by value. The class keyword `pack` is the
    largest alignment of a field (8).
    """

    struct_fields: ClassVar[dict[str, Field]] = {}
    struct_type: ClassVar[StructType]
    _layout: ClassVar[np.dtype[Any]]
    _data: Any

    def __init_subclass__(cls, pack: int = 8, **more: Any) -> None:
        super().__init_subclass__(**more)
        own = {k: v for k, v in vars(cls).items() if isinstance(v, Field)}
        cls.struct_fields = {**cls.struct_fields, **own}
        if not cls.struct_fields:
            raise TypeError(f"the struct {cls.__name__} has no fields")
        for name in own:
            if name in _TAKEN or name.startswith("_"):
                raise TypeError(
                    f"a field of {cls.__name__} cannot be called {name}; Field(name=...) gives the "
                    "C++ name"
                )
        fields = tuple((k, f.name or k, f.type) for k, f in cls.struct_fields.items())
        cls.struct_type = StructType(cls.__name__, fields, pack, cls)
        cls._layout = layout(cls.struct_type)

    def __new__(cls, **fields: Any) -> Any:
        """A struct of the kernel in kernel code, a host struct elsewhere."""
        if in_trace():
            return StructValue.make(cls, fields)
        return super().__new__(cls)

    def __init__(self, **fields: Any) -> None:
        object.__setattr__(self, "_data", np.zeros((), self._layout))
        for name, value in _first_values(type(self), fields):
            setattr(self, name, value)

    def __getattribute__(self, name: str) -> Any:
        found = object.__getattribute__(self, name)
        return _host_value(self._data[name], found.type) if isinstance(found, Field) else found

    def __setattr__(self, name: str, value: Any) -> None:
        field = self.struct_fields.get(name)
        if field is None:
            raise AttributeError(f"{type(self).__name__} has no field {name}")
        _set_host(self._data, name, value, field.type)

    def pack(self) -> bytes:
        """The bytes of the C++ struct."""
        return bytes(self._data.tobytes())

    @classmethod
    def unpack(cls, data: bytes) -> Any:
        """A host struct from the bytes of the C++ struct; ValueError for a wrong length."""
        if len(data) != cls._layout.itemsize:
            raise ValueError(f"{cls.__name__} has {cls._layout.itemsize} bytes, not {len(data)}")
        self = object.__new__(cls)
        object.__setattr__(self, "_data", np.frombuffer(data, cls._layout)[0:1].copy().reshape(()))
        return self

    def create_local(self) -> Any:
        """A copy."""
        return type(self).unpack(self.pack())

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.struct_fields)
        return f"{type(self).__name__}({fields})"


def _first_values(cls: Any, given: dict[str, Any]) -> list[tuple[str, Any]]:
    """Fields and the values a constructor gives them."""
    for name in given:
        if name not in cls.struct_fields:
            raise TypeError(f"{cls.__name__} has no field {name}")
    out = []
    for name, field in cls.struct_fields.items():
        value = given[name] if name in given else field.first()
        if value is None:
            raise TypeError(f"{cls.__name__} needs a value for the field {name}")
        if name in given or not (isinstance(value, tuple) and not value):
            out.append((name, value))
    return out


def _host_value(data: Any, type: Any) -> Any:
    if isinstance(type, StructType):
        inner = object.__new__(type.cls)
        object.__setattr__(inner, "_data", data)
        return inner
    if isinstance(type, ArrayType):
        if isinstance(type.element, DataType):
            return data
        return [_host_value(item, type.element) for item in data]
    return data.item()


def _set_host(data: Any, name: Any, value: Any, type: Any) -> None:
    if isinstance(type, StructType):
        if not isinstance(value, type.cls):
            raise TypeError(f"{name} is a {type.cls.__name__}, not {value!r}")
        data[name] = value._data
    elif isinstance(type, ArrayType) and any(isinstance(item, Struct) for item in value):
        if len(value) != type.length:
            raise ValueError(f"{name} has {type.length} elements, not {len(value)}")
        for k, item in enumerate(value):
            _set_host(data[name], k, item, type.element)
    elif isinstance(type, DataType) and type.kind in "iu" and not type.fits(int(value)):
        raise OverflowError(f"{name} is {value}, which {type} cannot hold")
    else:
        data[name] = value


def plain(data: Any, type: Any) -> Any:
    """A host struct's data as nested lists of numbers, as the simulator keeps structs."""
    if isinstance(type, StructType):
        return [plain(data[name], inner) for name, _, inner in type.fields]
    if isinstance(type, ArrayType):
        return [plain(item, type.element) for item in data]
    return data.item()


# -- in kernels ---------------------------------------------------------------------------------


class StructValue(Value):
    """A struct in a kernel: attributes are its fields; the class's methods work on it."""

    __slots__ = ("_path", "_root")

    def __init__(self, type: StructType, block: Any, node: Any = None, name: str = "") -> None:
        super().__init__(type, block, node, name)
        self._root: Any = self
        self._path: tuple[Any, ...] = ()

    @classmethod
    def make(cls, struct: Any, fields: dict[str, Any]) -> StructValue:
        """A new local struct."""
        recorder = current(struct.__name__)
        try:
            values = _first_values(struct, fields)
        except TypeError as problem:
            raise error(
                "AT0106", str(problem), recorder.site(), hint="fields: "
                + ", ".join(struct.struct_fields)
            ) from None  # fmt: skip
        self = cls(struct.struct_type, recorder.block)
        record_new(rows.STRUCT, (), self)
        for name, value in values:
            set_part(self, (name,), value)
        return self

    @classmethod
    def part(cls, type: StructType, root: Any, path: tuple[Any, ...]) -> StructValue:
        """The struct that is a part of another."""
        self = cls(type, root.block)
        self._root, self._path = root, path
        return self

    def __getattr__(self, name: str) -> Any:
        struct = self.type.cls
        if name in struct.struct_fields:
            return part(self._root, (*self._path, name))
        found = getattr(struct, name)
        return MethodType(found, self) if isinstance(found, FunctionType) else found

    def __setattr__(self, name: str, value: Any) -> None:
        if name in StructValue.__slots__ or name in Value.__slots__:
            super().__setattr__(name, value)
        elif name in self.type.cls.struct_fields:
            set_part(self._root, (*self._path, name), value)
        else:
            raise error(
                "AT0106",
                f"{self.type} has no field {name}",
                current("field").site(),
                hint="fields: " + ", ".join(self.type.cls.struct_fields),
            )

    def create_local(self) -> Any:
        """A copy, to change without changing this struct."""
        copy = type(self)(self.type, current("create_local").block)
        if self._root is self:
            record_new(rows.STRUCT_COPY, (self,), copy)
        else:
            record_new(rows.STRUCT, (), copy)
            for name, _, _ in self.type.fields:
                set_part(copy, (name,), getattr(self, name))
        return copy

    def __repr__(self) -> str:
        return f"<{self.type} {self.name}>"


StructType.proxy = StructValue
