"""Python that kernels may not be written in, one program a refusal."""

from __future__ import annotations

from .rows import Refused, refused

ROWS: list[Refused] = [
    # -- values that no C++ variable can hold
    refused(
        "AT0101",
        "one-arm",
        "A variable that only one arm of a runtime `if` assigns",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            if n > 0:
                step = n // 2
            gm.set_value(0, step)
        """,
        4,
    ),
    refused(
        "AT0101",
        "two-kinds",
        "A variable with values of two kinds",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            sizes = None
            if n > 0:
                sizes = 1
            else:
                sizes = [1, 2]
            gm.set_value(0, sizes + 2)
        """,
        4,
    ),
    refused(
        "AT0101",
        "int-or-float",
        "A variable that is an integer or a float",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            scale = 0.5 if n > 0 else n
            gm.set_value(0, int(scale * 2))
        """,
        4,
    ),
    refused(
        "AT0101",
        "two-functions",
        "A function chosen by a runtime condition",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            step = (lambda x: x + 1) if n > 0 else (lambda x: x - 1)
            gm.set_value(0, step(n))
        """,
        4,
    ),
    refused(
        "AT0101",
        "loop-changes-kind",
        "A variable that a loop turns into another kind",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            previous = None
            for i in range(n):
                if previous is not None:
                    gm.set_value(i, previous)
                previous = i
        """,
        4,
    ),
    refused(
        "AT0101",
        "after-empty-loop",
        "A variable that a loop assigns, read after it may have run zero times",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            for i in range(n):
                last = i
            gm.set_value(0, last)
        """,
        4,
    ),
    # -- constants
    refused(
        "AT0107",
        "list-index",
        "Indexing a list by a runtime value",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            table = [10, 20, 30]
            gm.set_value(0, table[n])
        """,
        1,
    ),
    refused(
        "AT0107",
        "queue-depth",
        "A runtime value as the depth of a queue",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            queue = asc.TQue(asc.TPosition.VECIN, n)
        """,
        2,
    ),
    refused(
        "AT0107",
        "template-argument",
        "A runtime value as a template argument",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            local = asc.LocalTensor(out.dtype, asc.TPosition.VECIN, 0, 8)
            asc.add(local, local, local, 8, is_set_mask=n > 1)
        """,
        2,
    ),
    refused(
        "AT0107",
        "static-range",
        "A runtime bound of a loop that must unroll",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            for i in asc.static_range(n):
                gm.set_value(i, i)
        """,
        4,
    ),
    refused(
        "AT0107",
        "native-truth",
        "A native function of a library that decides on a runtime value",
        """
        import bisect


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, bisect.bisect([1, 2, 4], n))
        """,
        3,
    ),
    refused(
        "AT0107",
        "sort",
        "Sorting runtime values",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            low, high = sorted([n, 10])
            gm.set_value(0, low)
        """,
        3,
    ),
    refused(
        "AT0107",
        "iteration",
        "Iteration over a runtime value",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            for i in n:
                gm.set_value(i, i)
        """,
        3,
    ),
    refused(
        "AT0107",
        "tensor-iteration",
        "Iteration over a tensor",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            for value in gm:
                gm.set_value(n, value)
        """,
        3,
    ),
    refused(
        "AT0107",
        "array-index",
        "Indexing an array of constants by a runtime value",
        """
        import numpy as np

        TABLE = np.arange(4)


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, int(TABLE[n]))
        """,
        3,
    ),
    refused(
        "AT0107",
        "list-of-runtime-range",
        "A list as long as a runtime value says",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            for i in list(range(n)):
                gm.set_value(i, i)
        """,
        3,
    ),
    refused(
        "AT0107",
        "hash",
        "Hashing a runtime value",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            table = {n: 1}
            gm.set_value(0, table[n])
        """,
        3,
    ),
    refused(
        "AT0107",
        "text",
        "The text of a runtime value, other than in print",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            table = {"n3": 1}
            gm.set_value(0, table[f"n{n}"])
        """,
        3,
    ),
    refused(
        "AT0107",
        "float-in-a-library",
        "A native function of a library that wants a number",
        """
        import math


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, int(math.sqrt(n)))
        """,
        3,
    ),
    # -- objects outside
    refused(
        "AT0109",
        "global",
        "A global written under a runtime condition",
        """
        count = 0


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            global count
            if n > 0:
                count += 1
        """,
        3,
    ),
    refused(
        "AT0109",
        "captured-list",
        "A captured list changed in a runtime loop",
        """
        seen = [0]


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            for i in range(n):
                seen[0] = i
        """,
        3,
    ),
    refused(
        "AT0109",
        "nonlocal",
        "A variable of an enclosing function written in a runtime loop",
        """
        def make():
            count = 0

            @asc.jit
            def kernel(out: asc.GlobalAddress, n: int):
                gm = asc.GlobalTensor()
                gm.set_global_buffer(out)
                nonlocal count
                while n > 0:
                    n -= 1
                    count += 1

            return kernel


        kernel = make()
        """,
        3,
    ),
    refused(
        "AT0109",
        "attribute",
        "An attribute of an outer object written under a runtime condition",
        """
        class Settings:
            def __init__(self):
                self.tile = 1


        settings = Settings()


        def choose(n):
            if n > 3:
                settings.tile = 4


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            choose(n)
            gm.set_value(0, settings.tile)
        """,
        3,
    ),
    refused(
        "AT0109",
        "class-attribute",
        "A class attribute written in a runtime loop",
        """
        class Writer:
            count = 0


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            for i in range(n):
                Writer.count += 1
        """,
        3,
    ),
    # -- shape
    refused(
        "AT0110",
        "append-in-arm",
        "append in one arm of a runtime if",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            tiles = [1]
            if n > 0:
                tiles.append(n)
            gm.set_value(0, len(tiles))
        """,
        3,
    ),
    refused(
        "AT0110",
        "append-in-loop",
        "append in a runtime loop",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            tiles = []
            for i in range(n):
                tiles.append(i)
            gm.set_value(0, len(tiles))
        """,
        3,
    ),
    refused(
        "AT0110",
        "new-key",
        "A new key in one arm",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            table = {"a": 1}
            if n > 0:
                table["b"] = 2
            gm.set_value(0, len(table))
        """,
        3,
    ),
    refused(
        "AT0110",
        "new-attribute",
        "A new attribute in one arm",
        """
        class State:
            pass


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            state = State()
            if n > 0:
                state.size = n
            gm.set_value(0, 1)
        """,
        3,
    ),
    refused(
        "AT0110",
        "set-in-loop",
        "An element removed in a runtime loop",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            tiles = [1, 2, 3]
            while n > 0:
                n -= tiles.pop()
        """,
        3,
    ),
    # -- exceptions
    refused(
        "AT0111",
        "own-exception",
        "An exception that the kernel's own code raises",
        """
        def look_up(table, key):
            return table[key]


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, look_up({"a": 1}, "b"))
        """,
        3,
    ),
    refused(
        "AT0111",
        "raise",
        "raise and assert on constants",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, tile: asc.ConstExpr[int]):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            assert tile % 8 == 0, f"tile is {tile}"
        """,
        12,
    ),
    refused(
        "AT0111",
        "range-step-zero",
        "A range with the step zero",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            for i in range(0, n, 0):
                gm.set_value(i, i)
        """,
        12,
    ),
    refused(
        "AT0112",
        "runtime-recursion",
        "Recursion on a runtime value",
        """
        def factorial(n):
            return 1 if n < 2 else n * factorial(n - 1)


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, factorial(n))
        """,
        5,
    ),
    refused(
        "AT0114",
        "endless-while",
        "A loop that never ends and depends on constants only",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            i = 0
            while True:
                i += 1
                gm.set_value(0, n)
        """,
        5,
    ),
    refused(
        "AT0114",
        "must-unroll",
        "A long loop that must unroll",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            tiles = []
            for i in range(100_000):
                tiles.append(i)
                gm.set_value(0, n)
        """,
        5,
    ),
    refused(
        "AT0205",
        "assert",
        "assert that fails at run time",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            assert n < 10, f"n is {n}"
            gm.set_value(0, n)
        """,
        12,
    ),
    refused(
        "AT0205",
        "raise",
        "raise that is reached at run time",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            for i in range(n):
                if i > 3:
                    raise ValueError("too many tiles")
        """,
        12,
    ),
    refused(
        "AT0206",
        "endless",
        "A loop that does not end at run time",
        """
        @asc.jit(sim=asc.SimParams(op_budget=1000))
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            i = 0
            while i < n:
                i = gm.get_value(0)
        """,
        12,
    ),
    refused(
        "AT0207",
        "division",
        "Division by a runtime zero",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, 100 // n)
        """,
        0,
    ),
    # -- constructs
    refused(
        "AT0301",
        "async-kernel",
        "async def as a kernel",
        """
        @asc.jit
        async def kernel(out: asc.GlobalAddress, n: int):
            pass
        """,
        0,
    ),
    refused(
        "AT0301",
        "async-helper",
        "async def called from a kernel",
        """
        async def helper(n):
            return n


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, helper(n))
        """,
        0,
    ),
    refused(
        "AT0301",
        "async-for",
        "async for",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            values = (x async for x in [n])
        """,
        0,
    ),
    refused(
        "AT0301",
        "generator-kernel",
        "A generator as a kernel",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            yield n
        """,
        0,
    ),
    refused(
        "AT0301",
        "except-star",
        "except* with exception groups",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            try:
                raise ExceptionGroup("two", [ValueError(), KeyError()])
            except* ValueError:
                gm.set_value(0, n)
        """,
        0,
    ),
    refused(
        "AT0302",
        "no-number",
        "Arithmetic with what is no number",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, n + "1")
        """,
        0,
    ),
    refused(
        "AT0302",
        "complex",
        "Complex numbers",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, n * 1j)
        """,
        0,
    ),
    refused(
        "AT0302",
        "float64",
        "A dtype that no chip has",
        """
        import numpy as np

        SCALE = np.float64(0.5)


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, int(n * SCALE))
        """,
        3,
    ),
    refused(
        "AT0303",
        "yield",
        "yield under a runtime condition",
        """
        def some(n):
            if n > 0:
                yield 1
            yield 2


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            for i in some(n):
                gm.set_value(i, n)
        """,
        1,
    ),
    refused(
        "AT0303",
        "yield-in-runtime-loop",
        "yield in a runtime loop",
        """
        def indices(n):
            for i in range(n):
                yield i


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            for i in indices(n):
                gm.set_value(i, n)
        """,
        1,
    ),
    refused(
        "AT0303",
        "raise-in-try",
        "raise under a runtime condition in a called function, inside a try that could catch it",
        """
        def check(n):
            if n > 3:
                raise ValueError("too large")


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            try:
                check(n)
            except ValueError:
                gm.set_value(0, 1)
        """,
        1,
    ),
    refused(
        "AT0303",
        "raise-in-with",
        "raise under a runtime condition in a with that could catch it",
        """
        from contextlib import suppress


        def check(n):
            assert n < 10


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            with suppress(AssertionError):
                check(n)
        """,
        1,
    ),
    refused(
        "AT0303",
        "iterator-in-arm",
        "An iterator advanced in one arm",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            sizes = iter([1, 2, 3])
            if n > 0:
                gm.set_value(0, next(sizes))
            gm.set_value(1, next(sizes))
        """,
        1,
    ),
    refused(
        "AT0303",
        "iterator-in-loop",
        "An iterator advanced in a runtime loop",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            sizes = iter([1, 2, 3])
            for i in range(n):
                gm.set_value(i, next(sizes))
        """,
        1,
    ),
    refused(
        "AT0303",
        "runtime-step",
        "A range with a runtime step that may be negative",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            for i in range(0, 10, gm.get_value(0)):
                gm.set_value(i, n)
        """,
        1,
    ),
    refused(
        "AT0303",
        "power",
        "Power with a runtime exponent",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, 2**n)
        """,
        1,
    ),
    refused(
        "AT0303",
        "round",
        "round() of a runtime value",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, x: float):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, round(x))
        """,
        1.5,
    ),
    refused(
        "AT0303",
        "format",
        "A format of a runtime value",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            print(f"{n:04d}")
        """,
        1,
    ),
    refused(
        "AT0303",
        "print-to-file",
        "print with a file",
        """
        import sys


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            print(n, file=sys.stderr)
        """,
        1,
    ),
    refused(
        "AT0303",
        "eval",
        "eval and exec in a kernel",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, eval("n + 1"))
        """,
        1,
    ),
]
