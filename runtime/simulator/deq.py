"""The scale of a core: what sets it, and the layout of what goes by it.

Like the vector mask, the register is written by the scalar unit and taken along when an instruction
is issued. Sixteen scales lie in UB: the instruction reads them when it runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt

from ...tracer.diagnostics import error
from ...tracer.language.conversion import converter
from ...tracer.language.dtypes import DataType, float16, float32, int32
from ...tracer.ops import vec_deq
from ...tracer.trace import Op, Value
from .memory import LocalView, local_fault
from .registry import Access, Executor, Timed, Work, fill, simulates

if TYPE_CHECKING:
    from .core import Core


class DeqScale(NamedTuple):
    """What `set_deq_scale` set: the call, its scale and offset, its sign, where the sixteen lie."""

    op: Op
    scale: float = 0.0
    offset: int = 0
    sign: bool = False
    address: int = 0


#: The fields of the words that the chip reads: scale, offset, sign.
_OFFSET_BIT, _SIGN_BIT = 37, 46
#: The chip looks at ten bits of the mantissa of a scale for 8 bits.
_MANTISSA = 0xFFFFE000
_NBYTES = 8 * vec_deq.GROUP


def _short(scale: float) -> float:
    """A float32 without the bits that the chip drops."""
    bits = np.float32(scale).view(np.uint32) & np.uint32(_MANTISSA)
    return float(bits.view(np.float32))


def _converted(value: Any, given: Any, dtype: DataType) -> Any:
    source = given.type if isinstance(given, Value) else None
    value = value.item() if isinstance(value, np.generic) else value
    return converter(source, dtype)(value)


@simulates(vec_deq.SET_DEQ_SCALE)
def _set(op: Op, core: Core) -> Executor:
    if op.form.name == "vector":
        return _set_vector(op, core)

    def run(*values: Any) -> None:
        rest = iter(values)
        args = [fill(arg, rest) for arg in op.args]
        if op.form.name == "scale":
            core.deq = DeqScale(op, _converted(args[0], op.args[0], float16))
            return
        offset = int(_converted(args[1], op.args[1], int32))
        if fault := vec_deq.bad_offset(op.spec, offset, op.site):
            raise fault
        scale = _converted(args[0], op.args[0], float32)
        core.deq = DeqScale(op, _short(scale), offset, bool(args[2]))

    return run


def _set_vector(op: Op, core: Core) -> Executor:
    memory = core.memory_of(op.args[0])

    def stage(tensor: LocalView, *values: Any) -> tuple[Work, tuple[Access, ...]]:
        if fault := local_fault(op, 0, tensor, _NBYTES):
            raise fault
        address, rest = tensor[0], iter(values)
        parts = fill(op.args[1], rest)
        words = np.zeros(vec_deq.GROUP, np.uint64)
        for k, (scale, offset, sign) in enumerate(zip(*parts, strict=True)):
            given = [part[k] for part in op.args[1].values]
            number = int(_converted(offset, given[1], int32))
            if fault := vec_deq.bad_offset(op.spec, number, op.site):
                raise fault
            bits = int(np.float32(_converted(scale, given[0], float32)).view(np.uint32))
            words[k] = bits | (number & 0x1FF) << _OFFSET_BIT | int(bool(sign)) << _SIGN_BIT
        core.deq = DeqScale(op, address=address)
        memory.mark(address, address + _NBYTES)
        view = memory.array[address : address + _NBYTES]
        raw = words.view(np.uint8)

        def work() -> None:
            view[:] = raw

        return work, ((memory.shadow, address, address + _NBYTES, True, 0),)

    return Timed(lambda *values: stage(*values)[0](), stage)


# -- calls ----------------------------------------------------------------------------------------


def holder(op: Op, core: Core) -> npt.NDArray[Any] | None:
    """Where the scale of a call lies, None for one that needs no scale."""
    kind = vec_deq.scale_of(op, core.chip.arch)
    if kind is None:
        return None
    return np.zeros(()) if kind == "scale" else np.zeros((2, vec_deq.GROUP))


def scaled(op: Op, core: Core, cell: npt.NDArray[Any], timed: Timed) -> Timed:
    """The executor with the scale that is set when the call is issued."""
    kind = vec_deq.scale_of(op, core.chip.arch)
    memory = core.memory_of(op.args[0])

    def stage(*values: Any) -> tuple[Work, tuple[Access, ...]]:
        register: DeqScale | None = core.deq
        if register is None or register.op.form.name != kind:
            _refuse(op, register, kind)
        work, accesses = timed.stage(*values)
        if kind != "vector":
            _check_sign(op, register, register.sign, kind)

            def with_number() -> object:
                cell[...] = register.scale
                if kind == "number":
                    cell[1] = register.offset
                return work()

            return with_number, accesses
        address = register.address
        words = memory.array[address : address + _NBYTES].view(np.uint64)

        def with_vector() -> object:
            load(words, cell, lambda sign: _check_sign(op, register, sign, kind))
            return work()

        read = (memory.shadow, address, address + _NBYTES, False, 1)
        return with_vector, (*accesses, read)

    return Timed(lambda *values: stage(*values)[0](), stage)


def load(words: npt.NDArray[Any], cell: npt.NDArray[Any], check: Callable[[bool], None]) -> None:
    """Scales and offsets out of the words that the chip reads."""
    for k, word in enumerate(words.tolist()):
        check(bool(word >> _SIGN_BIT & 1))
        scale = np.uint32(word & _MANTISSA).view(np.float32)
        offset = word >> _OFFSET_BIT & 0x1FF
        cell[:, k] = float(scale), offset - 512 * (offset > 255)


_FORMS = {
    "scale": "set_deq_scale(scale)",
    "number": "set_deq_scale(scale, offset, sign_mode)",
    "vector": "set_deq_scale(vdeq, vdeq_info)",
}


def _refuse(op: Op, register: DeqScale | None, kind: str | None) -> NoReturn:
    assert kind is not None
    if register is None:
        text, notes = "no scale is set", []
    else:
        text = f"{_FORMS[register.op.form.name]} is for another conversion"
        notes = [("set here", register.op.site)]
    raise error(
        "AT0211", f"{op.spec.name}: {text}", op.site, notes=notes,
        hint=f"call {_FORMS[kind]} before it",
    )  # fmt: skip


def _check_sign(op: Op, register: DeqScale, sign: bool, kind: str | None) -> None:
    dtype = op.args[0].type.dtype
    if kind == "scale" or sign is (dtype.kind == "i"):
        return
    raise error(
        "AT0211",
        f"{op.spec.name} to {dtype} with a scale whose sign_mode is {sign}",
        op.site,
        notes=[("set here", register.op.site)],
        hint="sign_mode is True for int8 and False for uint8",
    )


def as_bytes(dtype: DataType, lanes: npt.NDArray[Any]) -> Callable[[Any, Any], Any]:
    """int16 elements of these lanes as 8 bits, rounded once and saturated."""
    group = lanes % vec_deq.GROUP

    def compute(values: Any, numbers: Any) -> Any:
        exact = np.rint(values * numbers[0][group] + numbers[1][group])
        # NaN and infinities come from scales that are none.
        return np.clip(np.nan_to_num(exact), dtype.lo, dtype.hi).astype(dtype.np)

    return compute
