"""Parameter structs of the Ascend C API: mutable records, each made from one declaration.

A row of `DECLARED` gives the fields with their C++ types and defaults; the class of that name is
made when it is first asked for, so that the start pays for none. Fields may hold runtime scalars;
an operation takes a snapshot (`StructArg`) when it is recorded.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from ..diagnostics import error
from ..trace import current
from . import enums
from .dtypes import DataType, int32, uint32
from .enums import DataFormat
from .types import ArrayType

#: A field without a default.
REQUIRED: Final[Any] = object()
#: The architecture whose structs have the types `wide`.
WIDE_STRUCTS: Final = "3510"
#: The C++ type of a field that has the struct's own element type.
ELEMENT: Final = "T"


class ParamStruct:
    """Base of the parameter structs: `cpp` names the Ascend C struct, `ctypes` its field types."""

    __slots__: tuple[str, ...] = ()
    cpp: ClassVar[str]
    ctypes: ClassVar[tuple[str, ...]]
    #: The types on architecture `WIDE_STRUCTS`, where some differ there.
    wide: ClassVar[tuple[str, ...]] = ()
    #: The largest values of the fields, where they are smaller than the types allow.
    most: ClassVar[tuple[int, ...]] = ()

    def snapshot(self) -> StructArg:
        """The struct as it is now, as an operand of an operation."""
        cls = type(self)
        return StructArg(cls, tuple([getattr(self, name) for name in cls.__slots__]))


class StructArg:
    """A struct operand: its class, the operands in the order of the C++ fields, its element type.

    Without a `dtype` a struct that has an element type takes that of the tensor of its call.
    """

    __slots__ = ("cls", "dtype", "values")

    def __init__(
        self, cls: type[ParamStruct], values: tuple[Any, ...], dtype: DataType | None = None
    ) -> None:
        self.cls = cls
        self.values = values
        self.dtype = dtype


class Record(ParamStruct):
    """A struct that is its fields and nothing else; a row of `DECLARED` makes a subclass."""

    __slots__: tuple[str, ...] = ()
    defaults: ClassVar[tuple[Any, ...]] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        names = self.__slots__
        if len(args) > len(names):
            raise TypeError(
                f"{type(self).__name__} has {len(names)} fields, but {len(args)} values were given"
            )
        given = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in names:
                raise TypeError(f"{type(self).__name__} has no field {name!r}")
            if name in given:
                raise TypeError(f"{type(self).__name__} got two values for the field {name!r}")
            given[name] = value
        for name, default in zip(names, self.defaults, strict=True):
            value = given.get(name, default)
            if value is REQUIRED:
                raise TypeError(f"{type(self).__name__} needs a value for the field {name!r}")
            setattr(self, name, value)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(
            getattr(self, name) == getattr(other, name) for name in self.__slots__
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({fields})"

    def snapshot(self) -> StructArg:
        """The struct as it is now, as an operand of an operation."""
        taken = super().snapshot()
        if "dtype" in self.__slots__:
            return StructArg(taken.cls, taken.values[1:], taken.values[0])
        return taken


# -- declared -------------------------------------------------------------------------------------


class Declared:
    """A struct: what its docstring says, and (C++ type, name, default) of each field in order.

    The type `T` is the element type and "" that of a field that C++ does not see; the default of an
    enum is a member's name. `wide` has the C++ types that differ on architecture 3510, by field;
    `most` the largest values.
    """

    __slots__ = ("doc", "fields", "most", "wide")

    def __init__(
        self,
        doc: str,
        fields: tuple[tuple[str, str, Any], ...],
        wide: tuple[tuple[str, str], ...] = (),
        most: tuple[int, ...] = (),
    ) -> None:
        self.doc = doc
        self.fields = fields
        self.wide = wide
        self.most = most


_STRIDES = "`*_blk_stride` lies between the blocks of one repeat, `*_rep_stride` between repeats."

DECLARED: Final[dict[str, Declared]] = {
    "BinaryRepeatParams": Declared(
        f"Strides of a two-operand vector call, in 32-byte blocks. {_STRIDES}",
        (
            ("uint8_t", "dst_blk_stride", 1),
            ("uint8_t", "src0_blk_stride", 1),
            ("uint8_t", "src1_blk_stride", 1),
            ("uint8_t", "dst_rep_stride", 8),
            ("uint8_t", "src0_rep_stride", 8),
            ("uint8_t", "src1_rep_stride", 8),
        ),
    ),
    "UnaryRepeatParams": Declared(
        f"Strides of a one-operand vector call, in 32-byte blocks. {_STRIDES}",
        (
            ("uint16_t", "dst_blk_stride", 1),
            ("uint16_t", "src_blk_stride", 1),
            ("uint8_t", "dst_rep_stride", 8),
            ("uint8_t", "src_rep_stride", 8),
        ),
    ),
    "CopyRepeatParams": Declared(
        "Strides of `copy`, in 32-byte blocks. `*_stride` lies between the blocks of one repeat, "
        "`*_repeat_size` between repeats.",
        (
            ("uint16_t", "dst_stride", 0),
            ("uint16_t", "src_stride", 0),
            ("uint16_t", "dst_repeat_size", 0),
            ("uint16_t", "src_repeat_size", 0),
        ),
        most=(65535, 65535, 4095, 4095),
    ),
    "BrcbRepeatParams": Declared(
        f"Strides of the destination of `brcb`, in 32-byte blocks. {_STRIDES}",
        (("uint16_t", "dst_blk_stride", 1), ("uint16_t", "dst_rep_stride", 8)),
    ),
    "DataCopyParams": Declared(
        "Blocks of a copy. `data_copy` counts `block_len` and both gaps between blocks, from the "
        "end of one to the start of the next, in 32-byte blocks; `data_copy_pad` counts "
        "`block_len` and the gap in global memory in bytes.",
        (
            ("uint16_t", "block_count", 1),
            ("uint16_t", "block_len", 0),
            ("uint16_t", "src_stride", 0),
            ("uint16_t", "dst_stride", 0),
        ),
    ),
    "DataCopyEnhancedParams": Declared(
        "What a copy does to data on its way between the cube's result buffer and UB. Copies "
        "between global memory, UB and L1 take it with its defaults only.",
        (
            ("BlockMode", "block_mode", "BLOCK_MODE_NORMAL"),
            ("DeqScale", "deq_scale", "DEQ_NONE"),
            ("uint64_t", "deq_value_in", 0),
            ("uint8_t", "sid_store_mode_in", 0),
            ("bool", "is_relu_in", False),
            ("pad_t", "pad_mode_in", "PAD_NONE"),
            ("uint64_t", "pad_value_in", 0),
        ),
    ),
    "DataCopyExtParams": Declared(
        "Blocks of `data_copy_pad`: `block_len` bytes each; the gaps between blocks are in bytes "
        "in global memory and in 32-byte blocks in UB.",
        (
            ("uint16_t", "block_count", 1),
            ("uint32_t", "block_len", 0),
            ("uint32_t", "src_stride", 0),
            ("uint32_t", "dst_stride", 0),
            ("uint32_t", "rsv", 0),
        ),
        wide=(("src_stride", "int64_t"), ("dst_stride", "int64_t")),
    ),
    "DataCopyPadParams": Declared(
        "Elements in front of and behind each block of `data_copy_pad`, and the bits of the "
        "number in them.",
        (
            ("bool", "is_pad", False),
            ("uint8_t", "left_padding", 0),
            ("uint8_t", "right_padding", 0),
            ("uint64_t", "padding_value", 0),
        ),
    ),
    "DataCopyPadExtParams": Declared(
        "Elements in front of and behind each block of `data_copy_pad`, and the number in them, "
        "of the dtype of the tensors.",
        (
            ("", "dtype", REQUIRED),
            ("bool", "is_pad", False),
            ("uint8_t", "left_padding", 0),
            ("uint8_t", "right_padding", 0),
            (ELEMENT, "padding_value", 0),
        ),
    ),
    "Nd2NzParams": Declared(
        "A copy from row-major (ND) to fractal (NZ) matrices: `nd_num` matrices of `n_value` rows "
        "and `d_value` columns. Source distances are in elements; `dst_nz_c0_stride` (between the "
        "blocks of a row) and `dst_nz_n_stride` (between rows) in 32-byte blocks, "
        "`dst_nz_matrix_stride` in elements.",
        (
            ("uint16_t", "nd_num", REQUIRED),
            ("uint16_t", "n_value", REQUIRED),
            ("uint16_t", "d_value", REQUIRED),
            ("uint16_t", "src_nd_matrix_stride", REQUIRED),
            ("uint16_t", "src_d_value", REQUIRED),
            ("uint16_t", "dst_nz_c0_stride", REQUIRED),
            ("uint16_t", "dst_nz_n_stride", REQUIRED),
            ("uint16_t", "dst_nz_matrix_stride", REQUIRED),
        ),
        wide=(
            ("d_value", "uint32_t"),
            ("src_nd_matrix_stride", "uint64_t"),
            ("src_d_value", "uint64_t"),
            ("dst_nz_matrix_stride", "uint32_t"),
        ),
    ),
    "Nz2NdParamsFull": Declared(
        "A copy from fractal (NZ) to row-major (ND) matrices: `nd_num` matrices of `n_value` rows "
        "and `d_value` columns, a multiple of 16. `src_nd_matrix_stride` is in 256 elements, "
        "`src_n_stride` (between columns of 16) in 16 elements, `dst_d_stride` (between rows) and "
        "`dst_nd_matrix_stride` in elements.",
        (
            ("uint16_t", "nd_num", REQUIRED),
            ("uint16_t", "n_value", REQUIRED),
            ("uint16_t", "d_value", REQUIRED),
            ("uint16_t", "src_nd_matrix_stride", REQUIRED),
            ("uint16_t", "src_n_stride", REQUIRED),
            ("uint16_t", "dst_d_stride", REQUIRED),
            ("uint16_t", "dst_nd_matrix_stride", REQUIRED),
        ),
    ),
    "SliceInfo": Declared(
        "What a copy takes of one dimension, the innermost first: from `start_index` up to and "
        "with `end_index` of `shape_value` elements, in pieces of `burst_len` 32-byte blocks (of "
        "one row in outer dimensions) with `stride` elements (rows) between them.",
        (
            ("uint32_t", "start_index", 0),
            ("uint32_t", "end_index", 31),
            ("uint32_t", "stride", 0),
            ("uint32_t", "burst_len", 32),
            ("uint32_t", "shape_value", 0),
        ),
    ),
    "GatherRepeatParams": Declared(
        f"Strides of the destination of `gatherb`, in 32-byte blocks. {_STRIDES} A "
        "`dst_blk_stride` of 0 counts as 1.",
        (("uint8_t", "dst_blk_stride", 1), ("uint8_t", "dst_rep_stride", 8)),
    ),
    "GatherMaskParams": Declared(
        "Repeats of `gather_mask` and strides in 32-byte blocks: between the blocks of one repeat "
        "of src0, between its repeats, and between the mask bits of repeats.",
        (
            ("uint8_t", "src0_block_stride", 1),
            ("uint16_t", "repeat_times", 1),
            ("uint16_t", "src0_repeat_stride", 0),
            ("uint8_t", "src1_repeat_stride", 0),
        ),
    ),
    "TransposeParamsExt": Declared(
        "Shape and type of an extended `transpose`.",
        (
            ("uint16_t", "n_size", 0),
            ("uint16_t", "c_size", 0),
            ("uint16_t", "h_size", 0),
            ("uint16_t", "w_size", 0),
            ("TransposeType", "transpose_type", "TRANSPOSE_ND2ND_B16"),
        ),
    ),
    "TransDataTo5HDParams": Declared(
        "Halves of blocks (for dtypes of one byte), repeats, and strides between repeats in "
        "32-byte blocks of `trans_data_to_5hd`.",
        (
            ("bool", "dst_high_half", False),
            ("bool", "src_high_half", False),
            ("uint8_t", "repeat_times", 1),
            ("uint16_t", "dst_rep_stride", 0),
            ("uint16_t", "src_rep_stride", 0),
        ),
    ),
    "CheckLocalMemoryIAParam": Declared(
        "What `check_local_memory_ia` watches: `enable_bit` is one of four registers, `start_addr` "
        "and `end_addr` are in blocks of 32 bytes; the part begins behind `start_addr` and ends "
        "with `end_addr`. `is_enable` switches the register on or off.",
        (
            ("uint8_t", "enable_bit", 0),
            ("uint32_t", "start_addr", 0),
            ("uint32_t", "end_addr", 0),
            ("bool", "is_scalar_read", False),
            ("bool", "is_scalar_write", False),
            ("bool", "is_vector_read", False),
            ("bool", "is_vector_write", False),
            ("bool", "is_mte_read", False),
            ("bool", "is_mte_write", False),
            ("bool", "is_enable", False),
        ),
    ),
    "InitConstValueParams": Declared(
        "What `init_const_value` fills: `repeat_times` stretches of `block_num` blocks (32 bytes "
        "in L1) with `dst_gap` blocks between them, with `init_value`.",
        (
            ("uint16_t", "repeat_times", 0),
            ("uint16_t", "block_num", 0),
            ("uint16_t", "dst_gap", 0),
            (ELEMENT, "init_value", 0),
        ),
    ),
}


def _make(name: str, row: Declared) -> type[ParamStruct]:
    """The class of a declared struct."""
    shown = [(ctype, field) for ctype, field, _ in row.fields if ctype]
    wide = dict(row.wide)
    is_enum = {ctype: hasattr(enums, ctype) for ctype, _, _ in row.fields}
    defaults = [
        getattr(enums, ctype)[default] if is_enum[ctype] else default
        for ctype, _, default in row.fields
    ]
    members: dict[str, Any] = {
        "__slots__": tuple(field for _, field, _ in row.fields),
        "__module__": __name__,
        "__doc__": f"{row.doc} (`AscendC::{name}`)",
        "cpp": f"AscendC::{name}",
        "ctypes": tuple(ctype for ctype, _ in shown),
        "wide": tuple(wide.get(field, ctype) for ctype, field in shown) if wide else (),
        "defaults": tuple(defaults),
        "most": row.most,
    }
    return type(name, (Record,), members)


def struct(name: str) -> type[ParamStruct]:
    """A declared struct by its name."""
    found: type[ParamStruct] | None = globals().get(name)
    if found is None:
        found = globals()[name] = _make(name, DECLARED[name])
    return found


def __getattr__(name: str) -> Any:
    """The declared structs are attributes of the module."""
    if name in DECLARED:
        return struct(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# -- with constructors of their own ---------------------------------------------------------------


class ShapeInfo(ParamStruct):
    """Shape of a tensor (`AscendC::ShapeInfo`): its dimensions, those before padding, the layout.

    Shapes are arrays (`asc.array`) or sequences of integers.
    """

    cpp: ClassVar[str] = "AscendC::ShapeInfo"
    #: The parameters of the constructor; arrays are passed as they are.
    ctypes: ClassVar[tuple[str, ...]] = ("uint8_t", "", "uint8_t", "", "AscendC::DataFormat")

    def __init__(
        self,
        shape: Any = None,
        original_shape: Any = None,
        data_format: DataFormat | None = None,
    ) -> None:
        self._shape = _dimensions(shape)
        self._original = _dimensions(original_shape)
        self.data_format = DataFormat.ND if data_format is None else data_format

    def shape(self, dim: Any) -> Any:
        """A dimension."""
        return self._shape[dim]

    def original_shape(self, dim: Any) -> Any:
        """A dimension before padding."""
        return self._shape[dim] if self._original is None else self._original[dim]

    def snapshot(self) -> StructArg:
        """The constructor's arguments; nothing for an empty shape."""
        if self._shape is None:
            return StructArg(type(self), ())
        original = self._shape if self._original is None else self._original
        return StructArg(
            type(self),
            (len(self._shape), self._shape, len(original), original, self.data_format),
        )


def _dimensions(shape: Any) -> Any:
    """An array of uint32, which is what C++ takes dimensions as."""
    if isinstance(shape, list | tuple):
        return ArrayType.proxy.make(ArrayType(uint32, len(shape)), tuple(shape))
    if shape is not None and shape.type.element is int32:
        shape.type = ArrayType(uint32, shape.type.length)
    return shape


class MrgSortSrcList(ParamStruct):
    """Two to four sorted lists of one dtype (`AscendC::MrgSortSrcList<T>`)."""

    cpp: ClassVar[str] = "AscendC::MrgSortSrcList"
    ctypes: ClassVar[tuple[str, ...]] = ("", "", "", "")

    def __init__(
        self, dtype: Any, src1: Any, src2: Any, src3: Any = None, src4: Any = None
    ) -> None:
        self.dtype = dtype
        self.lists = tuple(src for src in (src1, src2, src3, src4) if src is not None)

    def snapshot(self) -> StructArg:
        """The lists."""
        return StructArg(type(self), self.lists)


class MrgSort4Info(ParamStruct):
    """What `mrg_sort` merges (`AscendC::MrgSort4Info`).

    `element_lengths`: elements of up to four lists. `if_exhausted_suspension`: stop when a list is
    used up. `valid_bit`: 3, 7 or 15 for the first two, three or four lists.
    """

    cpp: ClassVar[str] = "AscendC::MrgSort4Info"
    #: The operands: the four lengths one by one, then the others.
    names: ClassVar[tuple[str, ...]] = (
        *(f"element_lengths[{k}]" for k in range(4)),
        "if_exhausted_suspension", "valid_bit", "repeat_times",
    )  # fmt: skip
    ctypes: ClassVar[tuple[str, ...]] = (*("uint16_t",) * 4, "bool", "uint16_t", "uint16_t")

    def __init__(
        self,
        element_lengths: Any,
        if_exhausted_suspension: Any = False,
        valid_bit: Any = 15,
        repeat_times: Any = 1,
    ) -> None:
        self.element_lengths = element_lengths
        self.if_exhausted_suspension = if_exhausted_suspension
        self.valid_bit = valid_bit
        self.repeat_times = repeat_times

    def snapshot(self) -> StructArg:
        """The lengths, 0 for lists that are not there, and the rest."""
        lengths = tuple(self.element_lengths)
        if not 1 <= len(lengths) <= 4:
            raise error(
                "AT0106",
                f"MrgSort4Info with the lengths of {len(lengths)} lists",
                current("MrgSort4Info").site(),
                hint="a merge has up to four lists",
            )
        rest = (self.if_exhausted_suspension, self.valid_bit, self.repeat_times)
        return StructArg(type(self), (*lengths, *(0,) * (4 - len(lengths)), *rest))


class VdeqInfo(ParamStruct):
    """Sixteen scales, offsets and signs for `set_deq_scale` (`AscendC::VdeqInfo`).

    `scale` are numbers, `offset` integers from -256 to 255, `sign_mode` whether a result has a
    sign; what is left out is 0.
    """

    cpp: ClassVar[str] = "AscendC::VdeqInfo"
    #: Arrays, which the constructor takes by name.
    ctypes: ClassVar[tuple[str, ...]] = ("float[]", "int16_t[]", "bool[]")
    LENGTH: ClassVar[int] = 16

    def __init__(self, scale: Any = None, offset: Any = None, sign_mode: Any = None) -> None:
        self.scale = [0.0] * self.LENGTH if scale is None else scale
        self.offset = [0] * self.LENGTH if offset is None else offset
        self.sign_mode = [False] * self.LENGTH if sign_mode is None else sign_mode

    def snapshot(self) -> StructArg:
        """The three arrays."""
        parts = (self.scale, self.offset, self.sign_mode)
        return StructArg(type(self), tuple(map(tuple, parts)))
