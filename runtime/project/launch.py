"""What a project is made of: a traced kernel, the arguments of one launch, its results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...lowering.layout import Layout, argument_layout
from ...lowering.names import identifier, kernel_name
from ...lowering.text import TextOptions
from ...tracer.diagnostics import error
from ...tracer.language.dtypes import DataType
from ...tracer.language.types import GlobalPointerType
from ...tracer.trace import Trace
from .. import knobs
from ..arguments import foreign_array, is_torch, on_device
from ..compiler.kinds import infer
from ..compiler.traces import entry_for, kernel_text
from ..devices import SimDevice
from ..overlaps import Extent, overlapping
from ..writes import written_params

if TYPE_CHECKING:
    from ...lowering.text import Entry
    from ..compiler import CompileOptions, KernelType
    from ..jit import JitOptions


@dataclass(frozen=True, slots=True)
class Memory:
    """A piece of global memory: arrays that overlap are one. `data` is its contents."""

    name: str
    data: bytes
    written: bool


@dataclass(frozen=True, slots=True)
class Place:
    """Where the array of an address parameter lies: number of its memory, offset in bytes."""

    memory: int
    offset: int
    nbytes: int
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Launch:
    """One launch of a kernel: `values` are its runtime arguments, `route` how it is compiled."""

    trace: Trace
    values: tuple[Any, ...]
    blocks: int
    options: JitOptions
    route: str
    #: Contents of the memories before and, where it was run, after.
    before: tuple[Memory, ...] = ()
    after: tuple[Memory, ...] | None = None
    places: dict[int, Place] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        trace: Trace,
        values: tuple[Any, ...],
        blocks: int,
        options: JitOptions,
        route: str | None = None,
    ) -> Launch:
        """Note a launch that has not run: the memories are copied now."""
        memories, places = _memories(trace, values)
        route = _route(trace, route)
        return cls(trace, values, blocks, options, route, memories, None, places)

    def with_results(self, values: Sequence[Any]) -> Launch:
        """The same with the memories as they are now, after the run."""
        after, _ = _memories(self.trace, tuple(values))
        return replace(self, after=after)

    def simulated(self) -> Launch:
        """The same with the results of the simulator; `KernelError` when the run has errors."""
        sim, params = SimDevice(), self.options.sim
        if params is not None:
            # Golden results are the exact ones.
            params = replace(params, approximate=False)
        values = self.copies()
        program = sim.compile(self.trace, self.options)
        sim.launch(program, values, self.blocks, None, params)
        return self.with_results(values)

    def copies(self) -> tuple[Any, ...]:
        """The arguments with copies of the arrays, which overlap as the arrays do."""
        held = [np.array(np.frombuffer(memory.data, np.uint8)) for memory in self.before]
        values = list(self.values)
        for k, place in self.places.items():
            part = held[place.memory][place.offset : place.offset + place.nbytes]
            values[k] = part.view(self.dtype(k).np).reshape(place.shape)
        return tuple(values)

    # -- what it is compiled with

    @cached_property
    def compiling(self) -> CompileOptions:
        """Options of the compiler."""
        return self.options.compiling()

    @cached_property
    def kind(self) -> KernelType:
        """The cores that it runs on."""
        return self.compiling.kernel_type or infer(self.trace)

    @cached_property
    def entry(self) -> Entry:
        """How the text declares the kernel."""
        return entry_for(self.trace, self.route, self.kind)

    @cached_property
    def text(self) -> str:
        """The text, without `#line`: the Python files stay behind."""
        given = self.options.text or TextOptions()
        plain = TextOptions(given.comments, given.source_lines, False)
        return kernel_text(self.trace, plain, self.entry)[0]

    @cached_property
    def layout(self) -> Layout:
        """The argument block."""
        return argument_layout(self.trace, self.entry.sync_address)

    @property
    def symbol(self) -> str:
        """The name of the kernel in its binary."""
        return kernel_name(self.trace)

    @cached_property
    def fields(self) -> tuple[str, ...]:
        """The C++ name of each slot of the argument block."""
        slots = self.layout.slots
        return unique(s.name if s.type is None else _cpp(s.name) for s in slots)

    @cached_property
    def written(self) -> frozenset[int]:
        """Indices of the parameters that the kernel may write through."""
        return written_params(self.trace)

    def dtype(self, k: int) -> DataType:
        """The elements of an address parameter."""
        pointer = self.trace.params[k].type
        assert isinstance(pointer, GlobalPointerType)
        return pointer.dtype

    @property
    def slots(self) -> dict[int, int]:
        """The slot of each parameter, by its index."""
        given = [k for k, slot in enumerate(self.layout.slots) if slot.type is not None]
        return dict(enumerate(given))


def _cpp(name: str) -> str:
    return identifier(name) or "argument"


def unique(names: Any) -> tuple[str, ...]:
    """Names made different, also for file systems that take capitals for small letters."""
    found: list[str] = []
    taken: set[str] = set()
    for name in names:
        own, k = name, 1
        while own.casefold() in taken:
            k += 1
            own = f"{name}_{k}"
        taken.add(own.casefold())
        found.append(own)
    return tuple(found)


def _route(trace: Trace, given: str | None) -> str:
    """The route that was asked for, else the one for the chip; what is installed plays no part."""
    route = given or knobs.ROUTE.get()
    if route == "auto":
        return "asc" if trace.chip.arch == "3510" else "objects"
    if route not in knobs.COMMAND_ROUTES:
        raise error(
            "AT0401",
            f"a project cannot be built by the route {route!r}",
            hint=f"routes with a command line: {', '.join(knobs.COMMAND_ROUTES)}",
        )
    return route


def _memories(trace: Trace, values: tuple[Any, ...]) -> tuple[tuple[Memory, ...], dict[int, Place]]:
    """Copies of the memories that a launch uses, and where in them each array is."""
    written = written_params(trace)
    by_place: dict[str, list[Extent]] = {}
    shapes: dict[int, tuple[int, ...]] = {}
    contents: dict[int, bytes] = {}
    for k, (param, value) in enumerate(zip(trace.params, values, strict=True)):
        if not isinstance(param.type, GlobalPointerType):
            continue
        host = _on_host(trace.name, param.name, value)
        address = _address(value, host)
        shapes[k], contents[k] = tuple(host.shape), host.tobytes()
        by_place.setdefault(on_device(value) or "", []).append(Extent(address, host.nbytes, k))
    groups = [group for extents in by_place.values() for group in overlapping(extents)]
    groups.sort(key=lambda group: min(extent.param for extent in group[2]))
    memories: list[tuple[str, bytes, bool]] = []
    places: dict[int, Place] = {}
    for number, (start, stop, group) in enumerate(groups):
        data = bytearray(stop - start)
        inside = sorted(extent.param for extent in group)
        for address, nbytes, k in group:
            at = address - start
            data[at : at + nbytes] = contents[k]
            places[k] = Place(number, at, nbytes, shapes[k])
        name = "_".join(_cpp(trace.params[k].name) for k in inside)
        memories.append((name, bytes(data), any(k in written for k in inside)))
    names = unique(name for name, _, _ in memories)
    made = (Memory(n, data, w) for n, (_, data, w) in zip(names, memories, strict=True))
    return tuple(made), dict(sorted(places.items()))


def _on_host(kernel: str, name: str, value: Any) -> Any:
    """An array as a NumPy array, copied from the device if it lives there."""
    if on_device(value) is None:
        return value
    return foreign_array(kernel, name, value.cpu()) if is_torch(value) else value.to_host()


def _address(value: Any, host: Any) -> int:
    if on_device(value) is None:
        return int(host.ctypes.data)
    return int(value.data_ptr() if is_torch(value) else value.pointer)
