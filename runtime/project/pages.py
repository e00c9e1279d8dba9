"""`arguments.json` and `README.md` of a project."""

from __future__ import annotations

import inspect
import json
import math
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np

from ...lowering.text import constant_text
from ...tracer.language.struct import layout
from ...tracer.language.types import ArrayType, GlobalPointerType, StructType
from .host import block_bytes, golden_file, input_file, offsets, tolerance
from .launch import Launch

FORMAT = "asctrace project 1"


def version() -> str:
    """The version of asctrace: the front door lies above this package, but is always loaded."""
    found: str = sys.modules[__name__.partition(".")[0]].__version__
    return found


# -- the manifest ---------------------------------------------------------------------------------


def manifest_text(launch: Launch) -> str:
    """What the kernel takes and where it is, for programs."""
    trace = launch.trace
    block = block_bytes(launch)
    index = {slot: k for k, slot in launch.slots.items()}
    rows = []
    for number, (slot, name) in enumerate(zip(launch.layout.slots, launch.fields, strict=True)):
        row: dict[str, Any] = {"name": name, "offset": slot.offset, "size": slot.size}
        if name != slot.name:
            row["python_name"] = slot.name
        if slot.type is None:
            row |= {"kind": "sync_address"}
        elif isinstance(slot.type, GlobalPointerType):
            row |= _array(launch, index[number])
        else:
            struct = isinstance(slot.type, StructType)
            row |= {"kind": "struct" if struct else "scalar"}
            row |= {"type": slot.cpp} if struct else {"dtype": slot.type.name}
            data = block[slot.offset : slot.offset + slot.size]
            row |= {"value": _plain(slot.type, data, 0), "bytes": data.hex()}
            if struct:
                row["fields"] = _fields(slot.type)
        rows.append(row)
    manifest = {
        "format": FORMAT,
        "kernel": launch.symbol,
        "asctrace": version(),
        "chip": trace.chip.name,
        "architecture": trace.chip.arch,
        "kernel_type": launch.kind.name,
        "route": launch.route,
        "blocks": launch.blocks,
        "constants": {name: constant_text(value) for name, value in trace.constants.items()},
        "block_size": launch.layout.size,
        "arguments": rows,
        "memories": [
            {
                "name": memory.name,
                "bytes": len(memory.data),
                "input": input_file(launch, k),
                "golden": golden_file(launch, k),
            }
            for k, memory in enumerate(launch.before)
        ],
    }
    return json.dumps(manifest, indent=2, allow_nan=False) + "\n"


def _array(launch: Launch, k: int) -> dict[str, Any]:
    place = launch.places[k]
    row = {
        "kind": "address",
        "dtype": launch.dtype(k).name,
        "shape": list(place.shape),
        "memory": launch.before[place.memory].name,
        "memory_offset": place.offset,
        "written": k in launch.written,
    }
    if k in launch.written:
        relative, absolute = tolerance(launch.dtype(k))
        row["tolerance"] = {"relative": relative, "absolute": absolute}
    return row


def _fields(type: StructType) -> list[dict[str, Any]]:
    """The fields of a struct, flat: those of inner structs by their path."""
    rows: list[dict[str, Any]] = []
    starts = offsets(type)
    for name, cpp, inner in type.fields:
        at, length = starts[name], None
        if isinstance(inner, ArrayType):
            inner, length = inner.element, inner.length
        row: dict[str, Any] = {"name": cpp, "offset": at, "size": layout(inner).itemsize}
        if length is not None:
            row["length"] = length
        if isinstance(inner, StructType):
            row |= {"type": inner.cpp, "fields": _fields(inner)}
        else:
            row["dtype"] = inner.name
        rows.append(row)
    return rows


def _plain(type: Any, data: bytes, at: int) -> Any:
    """The value that lies in the bytes, as JSON has it; what is no number there is a string."""
    if isinstance(type, StructType):
        starts = offsets(type)
        return {cpp: _plain(inner, data, at + starts[n]) for n, cpp, inner in type.fields}
    if isinstance(type, ArrayType):
        size = layout(type.element).itemsize
        return [_plain(type.element, data, at + k * size) for k in range(type.length)]
    number = np.frombuffer(data, type.np, 1, at)[0]
    if type.kind == "f":
        if not math.isfinite(number):
            return str(number)
        # The shortest digits that give the number back.
        return float(str(number))
    return bool(number) if type.kind == "b" else int(number)


# -- the page -------------------------------------------------------------------------------------

_README = """\
# @KERNEL@

An Ascend C kernel for @CHIP@, with a host program that
runs it once and checks the results. Written by asctrace @VERSION@
@ORIGIN@.

Nothing here has been run on an NPU by its author: asctrace writes for CANN from public
documentation, and the golden results are those of its simulator.

| file | |
|---|---|
| `kernel.cpp` | the kernel |
| `main.cpp` | the host program: copies in, launches, copies out, compares |
| `CMakeLists.txt` | builds both; the kernel by CANN's compiler, the way asctrace does |
| `arguments.json` | for programs: each argument's type, place in the argument block, file |
| `data/` | contents of the memories, without any header, in row-major order, little endian |
| `SHA256SUMS` | of the files above: `sha256sum -c SHA256SUMS` |

## Build and run

    source <CANN>/set_env.sh
    cmake -B build
    cmake --build build
    ./build/run

`run` prints what it compared and PASS or FAIL, and returns 0 or 1. `--device N` chooses the NPU,
`--kernel FILE` another binary, `--data DIR` another folder with `data/`, `--results DIR` is where
to write what the kernel wrote. `ctest --test-dir build` runs it as a test.
@MISSING@
## The launch

@LAUNCH@

@ARGUMENTS@
@NOTES@
Memories, in bytes; those without an input start as zeros:

@MEMORIES@
@PYTHON@"""


def readme_text(launch: Launch) -> str:
    """What it is, how to build and run it, what it came from."""
    trace = launch.trace
    kind = launch.kind
    code = trace.code
    origin = ""
    if code is not None:
        origin = f"from the Python function `{code.co_qualname}`"
        file = Path(code.co_filename).name
        if not file.startswith("<"):
            origin += f" in `{file}`"
    lines = [f"{launch.blocks} block{'s' * (launch.blocks != 1)}, kernel type {kind.name}."]
    if trace.constants:
        values = (f"`{name} = {constant_text(v)}`" for name, v in trace.constants.items())
        lines.append(f"Fixed while it was traced: {', '.join(values)}.")
    parts = {
        "KERNEL": launch.symbol,
        "CHIP": f"{trace.chip.name} (architecture {trace.chip.arch})",
        "VERSION": version(),
        "ORIGIN": origin or "from a Python function",
        "MISSING": _missing(launch),
        "LAUNCH": " ".join(lines),
        "ARGUMENTS": _arguments(launch),
        "NOTES": _notes(launch),
        "MEMORIES": _memories(launch),
        "PYTHON": _python(code),
    }
    text = _README
    for name, value in parts.items():
        text = text.replace(f"@{name}@", value)
    return text


def _missing(launch: Launch) -> str:
    if launch.after is not None:
        return ""
    return (
        "\nThis project was saved without golden results, so `run` compares nothing; keep what\n"
        "`--results` writes once it is known to be right.\n"
    )


def _arguments(launch: Launch) -> str:
    slots = launch.layout.slots
    if not slots:
        return "It takes no arguments."
    block = block_bytes(launch)
    index = {slot: k for k, slot in launch.slots.items()}
    rows = ["| argument | type | offset | |", "|---|---|---|---|"]
    for number, (slot, name) in enumerate(zip(slots, launch.fields, strict=True)):
        if slot.type is None:
            what = "where cores synchronise (`aclrtGetHardwareSyncAddr`)"
        elif isinstance(slot.type, GlobalPointerType):
            place = launch.places[index[number]]
            shape = " x ".join(map(str, place.shape)) or "one element"
            writes = ", written" if index[number] in launch.written else ""
            what = f"{slot.type.dtype.name}, {shape}{writes}"
        else:
            data = block[slot.offset : slot.offset + slot.size]
            what = f"`{json.dumps(_plain(slot.type, data, 0))}`"
        rows.append(f"| {name} | `{slot.cpp}` | {slot.offset} | {what} |")
    return "\n".join(rows)


def _notes(launch: Launch) -> str:
    notes = []
    if launch.kind.hard_sync:
        notes.append("Blocks wait for one another, so they are started together.")
    if any(any(tolerance(launch.dtype(k))) for k in launch.written) and launch.after is not None:
        notes.append(
            "Floating-point results may be off by the tolerance in the table `kResults` of "
            "`main.cpp`: the simulator rounds correctly, the device approximates some functions."
        )
    return "".join(f"\n{note}\n" for note in notes)


def _memories(launch: Launch) -> str:
    if not launch.before:
        return "none."
    rows = ["| memory | bytes | input | golden result |", "|---|---|---|---|"]
    for k, memory in enumerate(launch.before):
        files = [input_file(launch, k), golden_file(launch, k)]
        shown = [f"`{name}`" if name else "" for name in files]
        rows.append(f"| {memory.name} | {len(memory.data)} | {shown[0]} | {shown[1]} |")
    return "\n".join(rows)


def _python(code: Any) -> str:
    """The function's own source, where there is one."""
    if code is None:
        return ""
    try:
        source = inspect.getsource(code)
    except (OSError, TypeError, IndexError):
        return ""
    text = textwrap.dedent(source).rstrip("\n")
    fence = "`" * (3 + text.count("```"))
    return f"\n## The Python it came from\n\n{fence}python\n{text}\n{fence}\n"
