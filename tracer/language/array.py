"""`asc.array`: arrays of numbers in the scalar unit's own memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..diagnostics import error
from ..ops import data as rows
from ..ops.spec import KINDS, record
from ..trace import Value, current, describe
from .dtypes import DataType
from .scalar import convert
from .types import ArrayType, StructType, member_type

_is_number = KINDS["number"][1]
_is_int = KINDS["int"][1]


def part(root: Any, path: tuple[Any, ...]) -> Any:
    """A part of a struct or array: a number is read, a struct or array is named."""
    type = member_type(root.type, path)
    if isinstance(type, DataType):
        return record(rows.PART_GET, rows.PART_GET.forms[0], (root, path), current("field"))
    return type.proxy.part(type, root, path)


def set_part(root: Any, path: tuple[Any, ...], value: Any) -> None:
    """Write a part: a number, or a struct or array field by field."""
    recorder = current("field")
    type = member_type(root.type, path)
    if isinstance(type, DataType):
        if not _is_number(value):
            raise error(
                "AT0106",
                f"a field of {type} gets {describe(value)}",
                recorder.site(),
                hint="fields and elements hold numbers",
            )
        form = rows.PART_SET.forms[0]
        record(rows.PART_SET, form, (root, path, convert(value, type)), recorder)
    elif isinstance(type, StructType):
        for name, _, _ in type.fields:
            set_part(root, (*path, name), getattr(value, name))
    else:
        if len(value) != type.length:
            raise error(
                "AT0106",
                f"an array of {type.length} elements gets {len(value)} values",
                recorder.site(),
                hint="give as many values as there are elements",
            )
        for k in range(type.length):
            set_part(root, (*path, k), value[k])


class Array(Value):
    """A fixed number of elements of one dtype: `a[i]` reads, `a[i] = v` writes, `len(a)`."""

    __slots__ = ("_path", "_root")

    _root: Any
    _path: tuple[Any, ...]

    @classmethod
    def make(cls, type: ArrayType, values: tuple[Any, ...]) -> Array:
        """A new array with its first values (none: zero)."""
        return cls.filled(type, rows.ARRAY, (values,))

    @classmethod
    def filled(cls, type: ArrayType, spec: Any, args: tuple[Any, ...]) -> Array:
        """A new array that the operation of a row fills."""
        self = cls(type, current(spec.name).block)
        self._root, self._path = self, ()
        record_new(spec, args, self)
        return self

    @classmethod
    def part(cls, type: ArrayType, root: Any, path: tuple[Any, ...]) -> Array:
        """The array that is a part of a struct."""
        self = cls(type, root.block)
        self._root, self._path = root, path
        return self

    @classmethod
    def result(cls, type: ArrayType, block: Any) -> Array:
        """The array that an operation gives."""
        self = cls(type, block)
        self._root, self._path = self, ()
        return self

    @property
    def dtype(self) -> Any:
        """The element type."""
        return self.type.element

    def __len__(self) -> int:
        return int(self.type.length)

    def __getitem__(self, index: Any) -> Any:
        return part(self._root, (*self._path, self._index(index)))

    def __setitem__(self, index: Any, value: Any) -> None:
        set_part(self._root, (*self._path, self._index(index)), value)

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(self.type.length))

    def _index(self, index: Any) -> Any:
        if not _is_int(index):
            raise error(
                "AT0106",
                f"an array is indexed by an integer, not {describe(index)}",
                current("index").site(),
                hint="arrays have no slices",
            )
        return index if isinstance(index, Value) else int(index)

    def __repr__(self) -> str:
        return f"<{self.type} {self.name}>"


def record_new(spec: Any, args: tuple[Any, ...], result: Value) -> None:
    """Record a constructor that made `result`."""
    recorder = current(spec.name)
    recorder.trace.structs = True
    recorder.record(spec, spec.forms[0], args, result)


def array(
    dtype: DataType,
    length_or_values: int | Sequence[Any],
    /,
    fill_value: Any = None,
) -> Array:
    """An array: `array(dtype, length[, fill_value])` or `array(dtype, values)`.

    The length is a constant. Without a fill value the elements are zero. Raises AT0106 for a length
    below 1 and for a fill value next to values.
    """
    site = current("array").site()
    if not isinstance(dtype, DataType) or not dtype.is_numeric():
        raise error(
            "AT0106", f"an array of {describe(dtype)}", site, hint="array(asc.int32, 4)"
        )  # fmt: skip
    if isinstance(length_or_values, Value):
        raise error(
            "AT0107",
            f"the length of an array is {describe(length_or_values)}",
            site,
            hint="the length is part of the C++ type: a Python number or an asc.ConstExpr argument",
        )
    if isinstance(length_or_values, int):
        length = length_or_values
        values = () if fill_value is None else (fill_value,) * length
    elif fill_value is not None:
        raise error(
            "AT0106",
            "an array gets values and a fill value",
            site,
            hint="array(dtype, length, fill_value) or array(dtype, values)",
        )
    else:
        values = tuple(length_or_values)
        length = len(values)
    if length < 1:
        raise error("AT0106", f"an array of {length} elements", site, hint="at least one")
    return Array.make(ArrayType(dtype, length), tuple(convert(v, dtype) for v in values))


ArrayType.proxy = Array
