"""`asc.jit` and the kernel object: `kernel[blocks](...)`, `.trace`, `.lower`, `.compile`.

Owns the life of a launch: bind and classify the arguments, find or make the specialisation, hand it
to a device. May import everything below `asctrace`; the tracer, the lowering and the devices are
loaded when first used, `import asctrace` has a budget.
"""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Callable, Iterable
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, NamedTuple, overload

from ..tracer.diagnostics import error
from ..tracer.vm.options import TraceOptions
from . import knobs, platform
from .arguments import MAX_BLOCKS, adapt, check_blocks
from .collector import paused
from .devices import Device, device
from .recall import Recall, Streak, recall
from .signature import Signature
from .specialise import Context, Specialisation, specialise, warn
from .tracebacks import boundary

if TYPE_CHECKING:
    from ..lowering.text import TextOptions
    from .compiler import CompileOptions, KernelType
    from .results import Compiled, LaunchInfo, Lowered, Profile, Traced
    from .simulator import SimParams

#: Bound kernels kept for the methods of one class.
_BOUND = 64


class JitOptions(NamedTuple):
    """The keywords of `asc.jit`; None leaves the choice to `set_platform` and the environment.

    backend: 'auto', 'sim' or 'npu'. soc: the chip, such as 'Ascend910B1'. unroll_limit: a loop over
    a constant range unrolls up to this number of recorded operations. always_compile: trace and
    lower afresh at every use. name: the C++ name of the kernel. text: options of the emitted text.
    sim: parameters of the simulator. device_id: the number of the NPU. The rest are the
    `CompileOptions` of the compiler; matmul_cube_only is AIC_ONLY where kernel_type says nothing.
    """

    backend: str | None = None
    soc: str | None = None
    unroll_limit: int | None = None
    always_compile: bool = False
    name: str | None = None
    text: TextOptions | None = None
    sim: SimParams | None = None
    device_id: int | None = None
    kernel_type: KernelType | None = None
    opt_level: int | None = None
    auto_sync: bool | None = None
    auto_sync_log: str | None = None
    debug: bool | None = None
    bisheng_options: tuple[str, ...] | None = None
    matmul_cube_only: bool = False

    def compiling(self) -> CompileOptions:
        """What of it is for the compiler; `TypeError` or `ValueError` for what cannot be."""
        from .compiler import CompileOptions, KernelType

        given = {name: getattr(self, name) for name in _COMPILING}
        if self.matmul_cube_only and self.kernel_type is None:
            given["kernel_type"] = KernelType.AIC_ONLY
        return CompileOptions(**{k: v for k, v in given.items() if v is not None})


_OPTIONS = JitOptions._fields
#: The fields of `CompileOptions`.
_COMPILING = (
    "kernel_type", "opt_level", "auto_sync", "auto_sync_log", "debug", "bisheng_options",
)  # fmt: skip


def _options(given: dict[str, Any]) -> JitOptions:
    unknown = [name for name in given if name not in _OPTIONS]
    if unknown:
        raise TypeError(f"asc.jit has no option {', '.join(unknown)}; it has {', '.join(_OPTIONS)}")
    backend = given.get("backend")
    if backend is not None and backend not in knobs.BACKENDS:
        raise ValueError(f"backend {backend!r} is none of {', '.join(knobs.BACKENDS)}")
    limit = given.get("unroll_limit")
    if limit is not None and (type(limit) is not int or limit < 0):
        raise ValueError(f"unroll_limit is {limit!r}, not a number from 0 up")
    device_id = given.get("device_id")
    if device_id is not None and (type(device_id) is not int or device_id < 0):
        raise ValueError(f"device_id is {device_id!r}, not a number from 0 up")
    options = JitOptions(**given)
    if any(given.get(name) is not None for name in _COMPILING):
        options.compiling()
    return options


class Kernel:
    """A Python function that launches as an Ascend C kernel; made by `asc.jit`.

    `kernel[blocks](...)` runs it on a grid of blocks, `kernel[blocks, stream](...)` on a stream;
    both return a `LaunchInfo`, also kept as `last_run`. A `KernelError` leaves the arrays as they
    were. `trace_count` counts how often the function was traced for launches.
    """

    __wrapped__: Callable[..., Any]

    #: The tracer goes on in `fn` when a kernel calls a kernel.
    is_asctrace_kernel = True

    def __init__(self, fn: Callable[..., Any], options: JitOptions, static: bool = False) -> None:
        functools.update_wrapper(self, fn)
        self.fn = fn
        self.options = options
        self.name = options.name or _cpp_name(getattr(fn, "__name__", "kernel"))
        self.signature = Signature(fn, self.name)
        self.trace_count = 0
        self.last_run: LaunchInfo | None = None
        self._static = static
        self._contexts: dict[Any, Context] = {}
        self._bound: dict[int, Kernel] = {}
        self._variants: dict[Any, Kernel] = {}
        self._streak = Streak()
        self._recall: Recall | None = None
        #: One thread traces and compiles, the others take what it made.
        self._lock = threading.RLock()
        function: Any = getattr(fn, "__func__", fn)
        self._function: FunctionType = function

    # -- public entries: properties, so that what they return is a boundary, whose frame shows as
    #    the kernel's own

    @functools.cached_property
    def _boundary(self) -> Callable[..., Any]:
        return boundary(self._function)

    @property
    def trace(self) -> Callable[..., Traced]:
        """`trace(*args, always_compile=False)`: the recorded operations, unchecked."""
        return MethodType(self._boundary, self._trace)

    @property
    def lower(self) -> Callable[..., Lowered]:
        """`lower(*args, always_compile=False)`: check and emit Ascend C text."""
        return MethodType(self._boundary, self._lower)

    @property
    def compile(self) -> Callable[..., Compiled]:
        """`compile(*args, always_compile=False)`: lower and make ready for the device.

        AT0305 when that is the NPU and there is no CANN.
        """
        return MethodType(self._boundary, self._compile)

    @property
    def compile_all(self) -> Callable[..., list[Compiled]]:
        """`compile_all(calls, workers=None)`: compile for several argument tuples at once.

        Kernels are traced one after the other; then up to `workers` compilers run at a time, by
        default one a processor. A `KernelError` has the findings of all that failed.
        """
        return MethodType(self._boundary, self._compile_all)

    def on(self, **options: Any) -> Kernel:
        """The same kernel with other options of `asc.jit`: `kernel.on(device_id=1)[8](...)`.

        A kernel keeps what it returned for given options, so it may be asked at each launch.
        """
        options = {k: tuple(v) if isinstance(v, list) else v for k, v in options.items()}
        key = frozenset(options.items())
        found = self._variants.get(key)
        if found is None:
            given = _options(self.options._asdict() | options)
            found = self._variants[key] = Kernel(self.fn, given, self._static)
        return found

    @property
    def dispatch(self) -> Callable[..., tuple[Specialisation, tuple[Any, ...]]]:
        """`dispatch(blocks, *args)`: all of a launch but the run.

        Returns the specialisation and the runtime arguments that a device would get.
        """
        return MethodType(self._boundary, self._dispatch)

    @property
    def profile(self) -> Callable[..., Profile]:
        """`profile(grid, *args, runs=10, warmup=1)`: time launches on the NPU by its own events.

        grid: blocks, or (blocks, stream). Host arrays are not changed; arrays on the device are, by
        each run. AT0305 where the kernel runs in the simulator, which has no clock.
        """
        return MethodType(self._boundary, self._profile)

    def __getitem__(self, grid: Any) -> Callable[..., LaunchInfo]:
        return MethodType(self._boundary, functools.partial(self._launch, grid))

    @property
    def __call__(self) -> Callable[..., Any]:
        """Calling a kernel is an error, AT0113, except from the code of a kernel."""
        return MethodType(self._boundary, self._refuse_call)

    def __get__(self, instance: Any, owner: type | None = None) -> Kernel:
        """As a class attribute a kernel is a method: `obj.kernel[blocks](...)`."""
        if instance is None or self._static:
            return self
        bound = self._bound.get(id(instance))
        if bound is None:
            if len(self._bound) >= _BOUND:
                del self._bound[next(iter(self._bound))]
            # The bound kernel keeps the instance alive, so the id stays its own.
            bound = Kernel(MethodType(self._function, instance), self.options)
            bound._boundary = self._boundary
            self._bound[id(instance)] = bound
        return bound

    def __repr__(self) -> str:
        return f"<asctrace kernel {self.signature}>"

    # -- behind the boundary

    def _refuse_call(self, *args: Any, **kwargs: Any) -> Any:
        raise error(
            "AT0113",
            f"{self.name} is a kernel, a plain call does not launch it",
            hint=f"launch it as {self.name}[blocks](...), or call it from another kernel",
        )

    def _launch(self, grid: Any, *args: Any, **kwargs: Any) -> LaunchInfo:
        blocks, stream = grid if type(grid) is tuple and len(grid) == 2 else (grid, None)
        recalled = self._recall
        if (
            recalled is not None
            and not kwargs
            and type(blocks) is int
            and 0 < blocks <= MAX_BLOCKS
            and recalled.matches(args)
        ):
            _, found, target = recalled
            values = found.pick(args)
        else:
            target = device(platform.backend_name(self.options.backend))
            found, values = self._search(blocks, args, kwargs, target)
            blocks = int(blocks)
        program = found.program.get(target.name) or self._program(found, target)
        info = target.launch(program, values, blocks, stream, self.options.sim)
        if info.findings:
            for finding in info.findings:
                warn(finding, self._function)
        self.last_run = info
        return info

    def _program(self, found: Specialisation, target: Device) -> Any:
        with self._lock:
            program = found.program.get(target.name)
            if program is None:
                program = found.program[target.name] = target.compile(found.trace, self.options)
        return program

    def _profile(
        self, grid: Any, *args: Any, runs: int = 10, warmup: int = 1, **kwargs: Any
    ) -> Profile:
        blocks, stream = grid if type(grid) is tuple and len(grid) == 2 else (grid, None)
        if type(runs) is not int or runs < 1 or type(warmup) is not int or warmup < 0:
            raise error(
                "AT0113",
                f"runs={runs!r} and warmup={warmup!r} are no numbers of launches",
                hint="runs is 1 or more, warmup 0 or more",
            )
        target = device(platform.backend_name(self.options.backend))
        if target.name != "npu":
            raise error(
                "AT0305",
                f"{self.name} runs in the simulator: there is no device whose time to take",
                hint="profile with backend='npu' where there is one",
            )
        found, values = self._search(blocks, args, kwargs, target)
        program = found.program.get(target.name) or self._program(found, target)
        from .launcher import profile

        return profile(program, values, int(blocks), stream, runs, warmup)

    def _dispatch(
        self, blocks: Any, *args: Any, **kwargs: Any
    ) -> tuple[Specialisation, tuple[Any, ...]]:
        recalled = self._recall
        if recalled is not None and not kwargs and recalled.matches(args):
            if type(blocks) is not int or not 0 < blocks <= MAX_BLOCKS:
                check_blocks(self.name, blocks)
            return recalled.found, recalled.found.pick(args)
        return self._search(blocks, args, kwargs, None)

    def _search(
        self, blocks: Any, args: tuple[Any, ...], kwargs: dict[str, Any], target: Device | None
    ) -> tuple[Specialisation, tuple[Any, ...]]:
        """The specialisation and the runtime arguments; remembered for launches like this one."""
        if type(blocks) is not int or not 0 < blocks <= MAX_BLOCKS:
            check_blocks(self.name, blocks)
        plain = not kwargs and len(args) == self.signature.count
        found, values = self._find(args, kwargs)
        if found.unchecked:
            found.check(self._function)
        if plain and self._streak.grows(found):
            target = target or device(platform.backend_name(self.options.backend))
            self._recall = recall(self.signature, args, found, target)
        return found, found.pick(values)

    def _trace(self, *args: Any, **kwargs: Any) -> Traced:
        from .results import Traced

        return Traced(self._find(args, kwargs)[0].trace)

    def _lower(self, *args: Any, **kwargs: Any) -> Lowered:
        # Around all stages: between two of them everything recorded would be looked at once more.
        with paused:
            return self._with_call(*self._find(args, kwargs))

    def _with_call(self, found: Specialisation, values: tuple[Any, ...]) -> Lowered:
        """The lowered kernel with the arguments of this call."""
        one = self._lowered(found)
        call = found.pick(values), self.options
        return type(one)(one.source, one.trace, one.findings, call)

    def _compile(self, *args: Any, **kwargs: Any) -> Compiled:
        from .results import Compiled

        target = device(platform.backend_name(self.options.backend))
        options = self.options
        if kwargs.get("always_compile") and "always_compile" not in self.signature.names:
            options = options._replace(always_compile=True)
        found, values = self._find(args, kwargs)
        lowered = self._with_call(found, values)
        program = found.program[target.name] = target.compile(found.trace, options)
        return Compiled(target.name, lowered, target.product(program))

    def _compile_all(
        self, calls: Iterable[tuple[Any, ...]], workers: int | None = None
    ) -> list[Compiled]:
        from .results import Compiled

        target = device(platform.backend_name(self.options.backend))
        pairs = [self._find(tuple(args), {}) for args in calls]
        found = [one for one, _ in pairs]
        lowered = [self._with_call(one, values) for one, values in pairs]
        programs = target.compile_all([one.trace for one in found], self.options, workers)
        for one, program in zip(found, programs, strict=True):
            one.program[target.name] = program
        return [
            Compiled(target.name, text, target.product(program))
            for text, program in zip(lowered, programs, strict=True)
        ]

    def _lowered(self, found: Specialisation) -> Lowered:
        findings = found.check(self._function)
        if found.lowered is None:
            emit, lowered, options = _lowering()
            with paused:
                source = emit(found.trace, self.options.text or options)
            found.lowered = lowered(source, found.trace, findings)
        return found.lowered

    # -- finding the specialisation

    def _find(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Specialisation, tuple[Any, ...]]:
        """The specialisation for a call and the bound values, foreign arrays as NumPy views."""
        context = self._contexts.get(_setting())
        if context is None:
            context = self._make_context()
        signature = self.signature
        names, tables, fresh = signature.names, signature.tables, self.options.always_compile
        if kwargs and "always_compile" not in signature.names:
            fresh = kwargs.pop("always_compile", fresh)
        if kwargs or len(args) != signature.count:
            names, tables, args = signature.bind(args, kwargs)
        try:
            keys = tuple([table[type(a)](a) for table, a in zip(tables, args)])  # noqa: B905
        except KeyError:
            keys, args = self._adapt(names, tables, args)
        key: Any = keys if names is signature.names else (names, keys)
        if not fresh:
            for found in context.cache.get(key, ()):
                if found.holds(args):
                    return found, args
        with self._lock:
            if not fresh:
                # Another thread may have traced meanwhile.
                for found in context.cache.get(key, ()):
                    if found.holds(args):
                        return found, args
            with paused:
                found, keep = specialise(self, context, names, keys, args)
            self.trace_count += 1
            if keep and not fresh:
                context.add(key, found)
        return found, args

    def _adapt(
        self, names: tuple[str, ...], tables: tuple[Any, ...], values: tuple[Any, ...]
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """Keys and values for arguments that the tables do not know."""
        keys: list[Any] = []
        adapted: list[Any] = []
        for name, table, value in zip(names, tables, values, strict=True):
            try:
                keys.append(table[type(value)](value))
            except KeyError:
                key, value = adapt(self.name, name, value)
                keys.append(key)
            adapted.append(value)
        return tuple(keys), tuple(adapted)

    def _make_context(self) -> Context:
        from .soc import profile

        options = self.options
        limit = options.unroll_limit
        if limit is None:
            limit = knobs.UNROLL_LIMIT.get()
        context = Context(
            profile(platform.soc_name(options.soc, options.backend)),
            TraceOptions(unroll_limit=limit),
        )
        return self._contexts.setdefault(_setting(), context)


@overload
def jit(fn: Callable[..., Any], /, **options: Any) -> Kernel: ...


@overload
def jit(fn: None = None, /, **options: Any) -> Callable[[Callable[..., Any]], Kernel]: ...


def jit(
    fn: Callable[..., Any] | None = None, /, **options: Any
) -> Kernel | Callable[[Callable[..., Any]], Kernel]:
    """Make a kernel of a function, lambda or method; also a decorator, with or without options.

    Options are the fields of `JitOptions`. Raises `TypeError` for what has no Python code and for
    an unknown option.
    """
    if fn is None:
        return functools.partial(_make, options=options)
    return _make(fn, options)


def _make(fn: Any, options: dict[str, Any]) -> Kernel:
    if isinstance(fn, Kernel):
        given = fn.options._asdict()
        return Kernel(fn.fn, _options(given | options), fn._static)
    static = isinstance(fn, staticmethod)
    target = fn.__func__ if static else fn
    if not isinstance(getattr(target, "__func__", target), FunctionType):
        raise TypeError(
            f"asc.jit makes kernels of Python functions, lambdas and methods, not of {fn!r}"
        )
    return Kernel(target, _options(options), static)


@functools.cache
def _lowering() -> tuple[Any, ...]:
    """What a text takes, loaded for the first one."""
    from ..lowering.text import TextOptions, emit
    from .results import Lowered

    return emit, Lowered, TextOptions()


def _setting() -> tuple[Any, ...]:
    """What contexts are found by."""
    current = platform.current
    return current.soc, current.backend, *knobs.code_state()


def _cpp_name(name: str) -> str:
    """A Python name as a C++ identifier; a lambda is called kernel."""
    if name == "<lambda>":
        return "kernel"
    return re.sub(r"\W", "_", name, flags=re.ASCII) or "kernel"
