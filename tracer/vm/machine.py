"""The VM: interprets decoded frames and records what runtime values do.

Owns the interpreter loop, the call of Python functions and `trace_function`, the one entry for the
stages after the tracer.
"""

from __future__ import annotations

import sys
from opcode import opname
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

from ..chip import Chip
from ..diagnostics import KernelError, Site, error
from ..language.dtypes import DataType
from ..trace import Jump, Op, Param, Recorder, Trace, Value, swap_current
from .calls import bind, call
from .control import Snapshot, end_of_run, resolve, run_guarded
from .dropped import Watched, close_dropped, step
from .frame import RETURN, RETURNS, UNBOUND, DeadEnd, Frame, Path, Restart, Signal
from .guards import Guards, type_lookup
from .heap import Heap, read_state, what_is
from .loops import LoopTracer, is_tail
from .merge import Mark
from .native import ROOT, is_native
from .objects import HEAP_TYPE
from .options import Argument, TraceOptions, TraceResult
from .program import WHOLE, program_of
from .ranges import RangeState, turns
from .straight import forget_held

_GENERATOR = 0x20
_VARARGS = 0x04
_COROUTINE = 0x80 | 0x100 | 0x200
_RECURSION = 12000
_new = Op.__new__
_PYBUILTINS = __name__.rpartition(".")[0] + ".pybuiltins"


class Machine(Recorder):
    """One trace in progress."""

    __slots__ = (
        "base",
        "born",
        "cacheable",
        "controls",
        "exception_sites",
        "frame",
        "guards",
        "handled",
        "heap",
        "journaling",
        "lineage",
        "local_cells",
        "local_classes",
        "local_functions",
        "options",
        "param_values",
        "provisional",
        "raised",
        "recorded",
        "signs",
        "steps",
        "unrolling",
        "unrolls",
        "watched",
    )

    def __init__(self, trace: Trace, options: TraceOptions) -> None:
        super().__init__(trace)
        self.options = options
        self.heap = Heap()
        self.guards = Guards(trace.body, self.site)
        self.frame: Frame | None = None
        #: Sites of the runtime conditions and loops around the present place.
        self.controls: list[Site] = []
        self.base = 0
        self.journaling = False
        #: Serials of what was made on the way here, latest first, as linked pairs.
        self.lineage: Any = None
        self.handled: Any = None
        self.local_cells: dict[int, Any] = {}
        self.local_classes: dict[int, Any] = {}
        self.local_functions: dict[int, Any] = {}
        self.born: dict[int, tuple[Any, int]] = {}
        self.recorded = 0
        self.steps = 0
        self.signs: dict[str, bool] = {}
        self.param_values: dict[int, tuple[str, Any]] = {}
        self.cacheable = True
        self.unrolling: dict[Any, Any] = {}
        #: Whether a loop has been unrolled.
        self.unrolls = False
        self.exception_sites: dict[int, tuple[BaseException, Site]] = {}
        self.raised: dict[int, BaseException] = {}
        self.watched: list[Watched] = []
        #: Variables of loops being traced that began with an integral constant: whose, and where.
        self.provisional: dict[int, tuple[LoopTracer, Any, Value]] = {}

    # -- what the recorder offers to operations -----------------------------------------------

    def site(self) -> Site:
        """The place being executed."""
        frame = self.frame
        return None if frame is None else (frame.code, frame.pc, frame.parent)

    def need_nonneg(self, value: Any) -> bool | None:
        """The sign of a parameter in this launch, noted as a guard."""
        known = self.param_values.get(id(value))
        if known is None:
            return None
        name, actual = known
        sign = bool(actual >= 0)
        self.signs[name] = sign
        return sign

    def record(self, spec: Any, form: Any, args: tuple[Any, ...], result: Any) -> Any:
        """Append an operation; effects count towards the unrolling budgets."""
        frame: Any = self.frame
        pc = frame.pc
        site = frame.sites.get(pc)
        if site is None:
            site = frame.sites[pc] = (frame.code, pc, frame.parent)
        # As `Op(...)` does, without the call: there is nothing that runs as often.
        op = _new(Op)
        op.spec = spec
        op.form = form
        op.args = args
        op.site = site
        op.result = result
        if result is not None:
            result.node = op
        op.turns = ()
        if not spec.pure:
            self.recorded += 1
            if self.unrolls:
                top = frame.stack[-1] if frame.stack else None
                known = top.turns if top.__class__ is RangeState else ()
                op.turns = known or turns(frame)
        self.block.nodes.append(op)
        return op

    # -- state of Python objects ----------------------------------------------------------------

    def count_step(self, what: str) -> None:
        """An iteration begins of a loop that is unrolled without a known end."""
        self.steps += 1
        if self.steps > self.options.step_limit or self.recorded > self.options.unroll_hard_limit:
            raise error(
                "AT0114",
                f"{what} does not end within {self.steps} iterations",
                self.site(),
                hint="its end is constant: let it depend on a runtime value to get a C++ loop",
            )

    def note_birth(self, obj: Any) -> None:
        """A mutable object was made by the kernel."""
        if id(obj) in self.born:
            return
        self.lineage = (len(self.born), self.lineage)
        self.born[id(obj)] = (obj, len(self.born))

    def touch(self, obj: Any) -> None:
        """Call before a Python object changes; outer objects must not under runtime control."""
        if id(obj) in self.guards.outer:
            self.write_outer(self._outer_words(obj))
        self.journal(obj)

    def write_outer(self, what: str) -> None:
        """Something outside the trace is written: never under runtime control, never cached."""
        if self.controls:
            raise error(
                "AT0109",
                f"{what}, which lives outside the kernel, is written under a runtime condition or "
                "in a runtime loop",
                self.site(),
                notes=[("the runtime condition or loop is here", self.controls[-1])],
                hint="keep what changes on the device in an object made in the kernel",
            )
        self.cacheable = False

    def _outer_words(self, obj: Any) -> str:
        """An outer object in a message, with its name where one is known."""
        name = self.guards.name_of(obj)
        frame = self.frame
        while name is None and frame is not None:
            for slot, value in zip(frame.code.slot_names, frame.slots, strict=True):
                if value is obj or (type(value) is CellType and read_state(value) is obj):
                    name = slot
            frame = frame.parent_frame
        return what_is(obj) if name is None else f"the {type(obj).__name__} `{name}`"

    def journal(self, obj: Any) -> None:
        """Keep an object's state in the journal, wherever it lives, before it changes."""
        if self.journaling:
            self.heap.touch(obj, self.site())

    def note_function(self, function: FunctionType) -> None:
        """A function was made by the kernel: nothing to guard."""
        self.local_functions[id(function)] = function

    def local_names(self) -> dict[str, Any]:
        """What `locals()` shows."""
        frame = self.frame
        assert frame is not None
        found = {}
        for name, value in zip(frame.code.slot_names, frame.slots, strict=True):
            if isinstance(value, CellType):
                value = read_state(value)
            if value is not UNBOUND:
                found[name] = value
        return found

    # -- whose code is it -------------------------------------------------------------------------

    def is_interpreted(self, function: Any) -> bool:
        """Whether a call of it is interpreted: a Python function outside the native modules."""
        if type(function) is not FunctionType:
            return False
        module = function.__globals__.get("__name__")
        return module == _PYBUILTINS or not is_native(module)

    def lookup(self, cls: type, name: str) -> Any:
        """What objects of a class have under a name, unbound; None if nothing.

        Guarded where the class, or what it inherits from, lives outside.
        """
        found = type_lookup(cls, name)
        self.guard_lookup(cls, name, found)
        return found

    def guard_lookup(self, cls: type, name: str, found: Any) -> None:
        """`lookup` where the answer is known; of a class of the kernel's, what it inherits."""
        if not cls.__flags__ & HEAP_TYPE:
            return
        if id(cls) not in self.local_classes:
            if not is_native(cls.__module__):
                self.guards.lookup(cls, name, found)
            return
        for base in cls.__mro__[1:]:
            if id(base) not in self.local_classes and not is_native(base.__module__):
                self.guards.lookup(base, name, type_lookup(base, name))

    # -- exceptions ------------------------------------------------------------------------------

    def site_of(self, exc: BaseException) -> Site:
        """Where an exception was raised."""
        found = self.exception_sites.get(id(exc))
        return self.site() if found is None else found[1]

    def is_raised(self, exc: BaseException) -> bool:
        """Whether the kernel raised it by `raise` or `assert` (and not by a mistake)."""
        return id(exc) in self.raised

    # -- the kernel ------------------------------------------------------------------------------

    def kernel(self, fn: FunctionType, bound: tuple[Any, ...], values: dict[str, Any]) -> None:
        """Run the kernel's own frame; `values` by parameter name, `bound` the leading ones."""
        code = fn.__code__
        self.guards.code(fn)
        program = program_of(code)
        program.warm(WHOLE)
        frame = Frame(program, fn, None, None)
        frame.is_kernel = True
        frame.jumps = frozenset([RETURNS])
        try:
            if code.co_flags & (_COROUTINE | _GENERATOR):
                asynchronous = code.co_flags & _COROUTINE
                raise error(
                    "AT0301",
                    f"the kernel `{code.co_name}` is "
                    + ("an async function" if asynchronous else "a generator"),
                    frame.site(),
                    hint="make it a plain `def` and await around the launch, on the host"
                    if asynchronous
                    else "make it a plain function; what it calls may be a generator",
                )
            positional, keywords = _spread(code, len(bound), values)
            bind(frame, fn, bound + positional, keywords)
            self.frame = frame
            result = run_guarded(self, frame, 0)
            if self.watched:
                self.frame = None
                close_dropped(self)
                self.frame = frame
            _end(self.trace, end_of_run(self, frame, result))
        except KernelError:
            raise
        except Signal as signal:
            raise error(
                "AT0901",
                f"nobody took a {type(signal).__name__}",
                self.site(),
                hint="please report this kernel",
            ) from signal
        except RecursionError as exc:
            raise error(
                "AT0112",
                "the kernel's calls nest too deeply",
                self.site_of(exc),
                hint="recursion must end on a constant within a few hundred calls",
            ) from None
        except Exception as exc:
            text = str(exc)
            text = f"{type(exc).__name__}: {text}" if text else type(exc).__name__
            if _is_ours(exc):
                raise error(
                    "AT0901", text, self.site_of(exc), hint="please report this kernel"
                ) from exc
            raise error(
                "AT0111",
                text,
                self.site_of(exc),
                hint="the kernel's own code raised this while it was traced",
            ) from exc

    # -- running ---------------------------------------------------------------------------------

    def run(self, frame: Frame, exc: BaseException | None = None) -> Any:
        """Interpret from `frame.pc` until a stop, a return, a yield or a list of paths."""
        # Setting the state of a list's iterator is a jump.
        ops: Any = iter(frame.ops)
        go_to = ops.__setstate__
        depth = frame.depth
        if self.watched:
            frame.program.watch(step)
        caller, self.frame = self.frame, frame
        again: tuple[int, Snapshot] | None = None
        go_to(frame.pc)
        try:
            while True:
                try:
                    if exc is not None:
                        raise exc
                    if again is not None:
                        (header, head), again = again, None
                        result = self._loop_again(frame, header, head)
                        if result.__class__ is not int:
                            return result
                        go_to(result)
                    for pc, handler, arg in ops:
                        frame.pc = pc
                        result = handler(self, frame, arg)
                        if result is not None:
                            if result.__class__ is not int:
                                return result
                            go_to(result)
                except Restart as restart:
                    snapshot = frame.snapshots.get(restart.header)
                    if restart.frame is not frame or snapshot is None or snapshot.depth != depth:
                        raise
                    # Inside the `try`: tracing the loop may find that one around it is one, too.
                    self.frame = frame
                    again = (restart.header, snapshot)
                except (KernelError, Signal):
                    raise
                except BaseException as caught:
                    exc = None
                    self.frame = frame
                    go_to(self._unwind(frame, caught))
        finally:
            self.frame = caller

    def _loop_again(self, frame: Frame, header: int, head: Snapshot) -> Any:
        head.restore(self, frame, truncate=True)
        frame.pc = header
        loop = frame.program.flow.loops[header]
        return LoopTracer(self, frame, loop, None, trial=False).trace()

    def _unwind(self, frame: Frame, exc: BaseException) -> int:
        """Go to the handler of the current instruction, or raise on."""
        forget_held(exc)
        if id(exc) not in self.exception_sites:
            self.exception_sites[id(exc)] = (exc, frame.site())
        handler = frame.code.handlers[frame.pc]
        if handler is None:
            raise exc
        del frame.stack[handler.depth :]
        if self.watched:
            close_dropped(self)
        if handler.lasti:
            frame.stack.append(frame.pc)
        frame.stack.append(exc)
        return handler.target  # type: ignore[no-any-return]

    # -- calls -----------------------------------------------------------------------------------

    def call(
        self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call any callable as the kernel would."""
        return call(self, function, args, kwargs or {})

    def enter(self, function: FunctionType, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Interpret a call of a Python function; the dead end `DEAD` when no path returns."""
        code = function.__code__
        if code.co_flags & _COROUTINE:
            raise error(
                "AT0301",
                f"the kernel calls `{code.co_name}`, an async function",
                self.site(),
                hint="kernels have no event loop: write a plain function",
            )
        if id(function) not in self.local_functions:
            self.guards.code(function)
        program = program_of(code)
        program.warm(WHOLE)
        caller = self.frame
        frame = Frame(program, function, self.site(), caller)
        bind(frame, function, args, kwargs)
        self._check_recursion(frame)
        mark = Mark(self.block, len(self.block.nodes))
        result = run_guarded(self, frame, len(self.controls))
        if result is RETURN:
            return frame.retval
        self.rejoin(frame, result, mark)
        return frame.retval

    def rejoin(self, frame: Frame, result: Any, mark: Mark) -> None:
        """The paths of a function that returned under runtime control meet at its end."""
        if type(result) is not list:
            raise error("AT0901", f"`{frame.program.name}` stopped in the middle", frame.site())
        if not result:
            raise DeadEnd
        dest = resolve(self, frame, result, frozenset([RETURNS]), mark)
        if dest != RETURNS:
            raise error("AT0901", f"`{frame.program.name}` has loose ends", frame.site())

    def _check_recursion(self, frame: Frame) -> None:
        """Refuse recursion whose end a runtime condition decides."""
        depth = 0
        outer = frame.parent_frame
        while outer is not None:
            if outer.program is frame.program and outer.depth:
                depth += 1
            outer = outer.parent_frame
        if depth > 40:
            raise error(
                "AT0112",
                f"`{frame.program.name}` calls itself under a runtime condition without end",
                frame.parent,
                hint="recursion must end on a constant; write a loop for a runtime depth",
            )


def trace_function(
    fn: FunctionType | MethodType,
    args: list[Argument],
    chip: Chip,
    options: TraceOptions,
    name: str,
) -> TraceResult:
    """Trace a kernel once. Raises `KernelError` (AT0111 for an exception of the kernel's own)."""
    bound: tuple[Any, ...] = ()
    if isinstance(fn, MethodType):
        bound = (fn.__self__,)
        function = fn.__func__
        assert isinstance(function, FunctionType)
    else:
        function = fn
    trace = Trace(name, chip, function.__code__)
    vm = Machine(trace, options)
    values: dict[str, Any] = {}
    for arg in args:
        if arg.type is None:
            values[arg.name] = arg.value
            trace.constants[arg.name] = arg.value
            vm.guards.note(arg.value)
            continue
        value: Value = arg.type.proxy(arg.type, trace.body)
        value.name = arg.name
        trace.params.append(Param(arg.name, arg.type, value))
        if isinstance(arg.type, DataType):
            vm.param_values[id(value)] = (arg.name, arg.value)
        values[arg.name] = value
    for obj in bound:
        vm.guards.note(obj)
    before = swap_current(vm)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _RECURSION))
    try:
        vm.kernel(function, bound, values)
    finally:
        sys.setrecursionlimit(limit)
        swap_current(before)
    if trace.automatic:
        from ..auto import expand

        expand(trace)
    return TraceResult(trace, vm.guards.checker(), vm.signs, vm.cacheable)


#: Modules that act for the kernel: what they raise is what Python would raise there.
_ACTING = {"calls", "generators", "handlers", "objects", "protocols", "pybuiltins", "scalar"}
_ACTING |= {"special", "straight", "text"}


def _is_ours(exc: BaseException) -> bool:
    """Whether an exception comes from the tracer itself and not from what the kernel does.

    What is raised by a `raise` in the tracer, and no `assert`, is meant for the kernel's author.
    """
    tb = exc.__traceback__
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    if tb is None:
        return False
    frame = tb.tb_frame
    module = frame.f_globals.get("__name__", "").split(".")
    if module[:2] != [ROOT, "tracer"] or not _ACTING.isdisjoint(module):
        return False
    raised = opname[frame.f_code.co_code[tb.tb_lasti]] == "RAISE_VARARGS"
    return not raised or isinstance(exc, AssertionError)


def _spread(
    code: CodeType, bound: int, values: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments by name as a call: elements of `*args` are named args_0, args_1, ..."""
    rest = dict(values)
    names = code.co_varnames
    positional = [rest.pop(n) for n in names[bound : code.co_argcount] if n in rest]
    if code.co_flags & _VARARGS:
        name = names[code.co_argcount + code.co_kwonlyargcount]
        while (key := f"{name}_{len(positional) + bound - code.co_argcount}") in rest:
            positional.append(rest.pop(key))
    return tuple(positional), rest


def _end(trace: Trace, paths: list[Path]) -> None:
    """Ways out of the kernel that are not its last statement return there."""
    taken = {id(p.block) for p in paths}
    for path in paths:
        block = path.block
        if block is not None and not block.ended() and not is_tail(block, trace.body, taken):
            block.nodes.append(Jump("return", path.site))
