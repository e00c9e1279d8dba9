"""The samples and what they are run with: `make samples`, and the tests of the samples.

    samples.py [NAME ...]      run samples, all of them or these, and print a line for each

A sample compares its result with NumPy itself and says by its exit code whether it agrees within
the tolerance that it states. The sizes here divide into nothing, are the smallest, are whole, or
give more blocks than there is work; samples that refuse odd sizes are run with several dtypes.
"""

from __future__ import annotations

import contextlib
import io
import re
import runpy
import sys
from pathlib import Path
from typing import NamedTuple
from unittest import mock

SAMPLES = Path(__file__).resolve().parent.parent / "samples"
#: Every file that is a sample, not a module that samples share.
NAMES = sorted(path.name for path in SAMPLES.glob("*.py") if "__main__" in path.read_text("utf-8"))

_OF_ROWS = ("--rows 1 --cols 1", "--rows 3 --cols 65 --blocks 40", "--rows 7 --cols 4096")
_OF_VECTORS = ("--size 1", "--size 4096", "--size 98309 --blocks 5")
_DTYPES = tuple(f"--dtype {t} --size 8192 --blocks 4" for t in ("float16", "int16", "int32"))
_WHOLE = ("add.py", "add_framework.py", "buf_pool.py", "double_buffer.py", "local_tensor_auto.py",
          "local_mem_allocator.py", "struct_args.py")  # fmt: skip
#: What each sample is run with, besides its defaults.
RUNS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("softmax.py", "layer_norm.py"), _OF_ROWS),
    **dict.fromkeys(("reduce_sum.py", "gelu.py", "quantize.py"), _OF_VECTORS),
    "histogram.py": ("--size 1 --bins 1", "--size 4096 --blocks 3", "--size 98309 --bins 100"),
    "top_k.py": (
        "--rows 3 --columns 37 --k 37 --dtype float16",
        "--rows 1 --columns 1 --k 1",
        "--rows 2 --columns 3000 --k 77 --blocks 3",
    ),
    "transpose.py": (
        "--rows 16 --columns 8",
        "--rows 1 --columns 100 --dtype int16 --blocks 3",
        "--rows 50 --columns 3 --dtype uint32 --blocks 1",
    ),
    **dict.fromkeys(_WHOLE, _DTYPES),
    "bind_queue.py": (),
}


class Ended(NamedTuple):
    """How a run ended: the exit code, what was printed, what went to standard error."""

    code: object
    out: str
    err: str

    @property
    def verdict(self) -> str:
        """The last line that was printed."""
        return (self.out.splitlines() or [""])[-1]

    @property
    def agrees(self) -> bool:
        """Whether the sample says that its result is NumPy's."""
        return self.code == 0 and self.verdict.startswith("matches NumPy")


def run(name: str, options: str = "") -> Ended:
    """Run a sample as a user does, in this process."""
    out, err, code = io.StringIO(), io.StringIO(), None
    with (
        mock.patch.object(sys, "argv", [name, *options.split()]),
        mock.patch.object(sys, "path", [str(SAMPLES), *sys.path]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            runpy.run_path(str(SAMPLES / name), run_name="__main__")
        except SystemExit as ended:
            code = ended.code
    return Ended(code, out.getvalue(), err.getvalue())


def line(name: str, ended: list[Ended]) -> str:
    """What is said of a sample's runs."""
    differences = [m[1] for e in ended if (m := re.search(r"difference (\S+)", e.verdict))]
    worst = max(map(float, differences), default=0.0)
    runs = f"{len(ended)} run{'s' if len(ended) > 1 else ''}"
    return f"{name:24} {runs}, matches NumPy, largest difference {worst:.1e}"


def main(names: list[str]) -> int:
    """Run samples; 1 when one differs or fails, which is shown whole."""
    failed = 0
    for name in names or NAMES:
        ended = [(options, run(name, options)) for options in ("", *RUNS[name])]
        wrong = [(options, e) for options, e in ended if not e.agrees]
        failed += bool(wrong)
        if not wrong:
            print(line(name, [e for _, e in ended]), flush=True)
        for options, e in wrong:
            print(f"{name:24} {options}: exit code {e.code}: {e.verdict}\n{e.err}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
