"""What the VM keeps of a running function: frames, paths, and the markers on its stack."""

from __future__ import annotations

from typing import Any

from ..diagnostics import Site, error
from ..trace import Block, current


class _Marker:
    """A unique object with a name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<{self.name}>"


#: The stack entry that CPython calls NULL.
NULL: Any = _Marker("NULL")
#: Content of a slot without a value.
UNBOUND: Any = _Marker("unbound")
#: What a run ends with, besides a list of paths.
STOP: Any = _Marker("STOP")
RETURN: Any = _Marker("RETURN")
YIELD: Any = _Marker("YIELD")
#: Destination of a path that returns from its function.
RETURNS = -1


class Signal(BaseException):
    """Control flow of the tracer itself; no handler in a kernel sees it."""


class Restart(Signal):
    """The loop at `header` of `frame` is controlled by a runtime value: trace it as a loop."""

    def __init__(self, frame: Frame, header: int) -> None:
        super().__init__()
        self.frame = frame
        self.header = header


class DeadEnd(Signal):
    """A call from which no path returns: the code after it is unreachable."""


class NeedsUnroll(Signal):
    """A constant-range loop cannot be one C++ loop; `reason` says why."""

    def __init__(self, reason: str, site: Site) -> None:
        super().__init__(reason)
        self.reason = reason
        self.site = site


class Widen(Signal):
    """A loop's variable has to be of a wider type than it was taken for: trace the loop again."""

    def __init__(self, tracer: Any, location: Any, dtype: Any) -> None:
        super().__init__()
        self.tracer = tracer
        self.location = location
        self.dtype = dtype


class Poison:
    """A name whose values on the paths that met here cannot be one C++ variable.

    Any use is an error that names the variable and both assignments.
    """

    __slots__ = ("name", "notes", "reason")

    def __init__(self, name: str, reason: str, notes: tuple[tuple[str, Site], ...]) -> None:
        self.name = name
        self.reason = reason
        self.notes = notes

    def renamed(self, name: str) -> Poison:
        """The same under the name it was bound to, if it had none."""
        if self.name:
            return self
        notes = ((text.replace("it is", f"`{name}` is", 1), site) for text, site in self.notes)
        return Poison(name, self.reason, tuple(notes))

    def fail(self, site: Site) -> Exception:
        """The error to raise at a use."""
        name = f"`{self.name}`" if self.name else "the value"
        return error(
            "AT0101",
            f"{name} {self.reason}",
            site,
            notes=self.notes,
            hint=f"give {name} a number or a tensor of one type, or the same object, on every path "
            "before it is used here",
        )

    def _use(self, *args: Any) -> Any:
        raise self.fail(current("this value").site())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self._use()

    # What native code may do with a value that was never bound to a name.
    __bool__ = __len__ = __iter__ = __next__ = __call__ = __hash__ = __str__ = __format__ = _use
    __index__ = __int__ = __float__ = __neg__ = __pos__ = __invert__ = __abs__ = _use
    __contains__ = __getitem__ = __setitem__ = __delitem__ = _use
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _use
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __mod__ = __rmod__ = _use
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __pow__ = __rpow__ = _use
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _use
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _use


class Frame:
    """A function being interpreted.

    `slots` are CPython's fast locals (arguments, locals, cells), `stops` the labels at which the
    present run ends, `jumps` the destinations that a C++ jump can reach from here, `pending` the
    paths that have left the present run, `loops` the headers of the C++ loops around the present
    place, `depth` how many arms and loop bodies of this frame are being traced, `set_at` where
    each slot was last stored, `sites` the sites of operations by place, which share them.
    """

    __slots__ = (
        "code",
        "depth",
        "function",
        "globals",
        "is_kernel",
        "jumps",
        "loops",
        "names",
        "ops",
        "parent",
        "parent_frame",
        "pc",
        "pending",
        "program",
        "retval",
        "set_at",
        "sites",
        "slots",
        "snapshots",
        "stack",
        "stops",
    )

    def __init__(self, program: Any, function: Any, parent: Site, parent_frame: Any) -> None:
        self.program = program
        self.code = program.code
        self.ops = program.ops
        self.function = function
        self.globals: dict[str, Any] = function.__globals__
        self.slots: list[Any] = [UNBOUND] * program.slot_count
        self.stack: list[Any] = []
        self.pc = 0
        self.called_from(parent, parent_frame)
        self.stops: frozenset[int] = frozenset()
        self.jumps: frozenset[int] = frozenset()
        self.pending: list[Path] = []
        self.loops: frozenset[int] = frozenset()
        self.depth = 0
        self.retval: Any = None
        self.names: dict[str, Any] | None = None
        self.set_at: dict[int, int] = {}
        self.snapshots: dict[int, Any] = {}
        self.is_kernel = False

    def called_from(self, parent: Site, parent_frame: Any) -> None:
        """Where it runs on, which is another place each time for a generator."""
        self.parent = parent
        self.parent_frame = parent_frame
        self.sites: dict[int, Site] = {}

    def site(self) -> Site:
        """The place being executed."""
        return (self.code, self.pc, self.parent)


class Path:
    """A way control left a run: where to (`dest`), in which block, with what state.

    `block` is None for the way a counted loop leaves by exhaustion: nothing can be put there.
    `lineage` says which of the objects made by the kernel were made on this way, `handled` is the
    exception whose handler it is in.
    """

    __slots__ = (
        "block", "dest", "handled", "heap", "lineage", "retval", "set_at", "site", "slots", "stack",
    )  # fmt: skip

    def __init__(
        self,
        frame: Frame,
        dest: int,
        block: Block | None,
        heap: dict[int, Any],
        lineage: Any,
        handled: Any,
    ) -> None:
        self.dest = dest
        self.lineage = lineage
        self.block = block
        self.slots = list(frame.slots)
        self.stack = list(frame.stack)
        self.retval = frame.retval
        self.handled = handled
        self.heap = heap
        self.site = frame.site()
        self.set_at = dict(frame.set_at)

    def copy(self) -> Path:
        """The same state, to be changed independently."""
        other = Path.__new__(Path)
        for name in Path.__slots__:
            setattr(other, name, getattr(self, name))
        other.slots = list(self.slots)
        other.stack = list(self.stack)
        return other
