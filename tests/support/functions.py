"""Functions, calls and names in kernels."""

from __future__ import annotations

from .rows import Accepted, accepted

ROWS: list[Accepted] = [
    accepted(
        "nested function",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)

            def double(x):
                return 2 * x

            gm.set_value(0, double(n) + double(3))
        """,
        (5, [16]),
    ),
    accepted(
        "closure over a local",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            offset = n * 10

            def put(i, value):
                gm.set_value(i, value + offset)

            put(0, 1)
            offset = -1
            put(1, n)
        """,
        (4, [41, 3]),
    ),
    accepted(
        "closure over a variable outside",
        """
        def make(scale):
            @asc.jit
            def kernel(out: asc.GlobalAddress, n: int):
                gm = asc.GlobalTensor()
                gm.set_global_buffer(out)
                gm.set_value(0, n * scale)

            return kernel


        kernel = make(7)
        """,
        (6, [42]),
    ),
    accepted(
        "lambda",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            square = lambda x: x * x
            gm.set_value(0, square(n) + (lambda a, b=2: a - b)(n))
        """,
        (5, [28]),
    ),
    accepted(
        "lambda as the kernel",
        """
        def put(out, value):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, value)


        kernel = asc.jit(lambda out, n: put(out, n + 1 if n > 0 else -n))
        """,
        (4, [5]),
        (-4, [4]),
    ),
    accepted(
        "global read",
        """
        TILE = 32
        TABLE = {"scale": 3}


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, n * TILE + TABLE["scale"])
        """,
        (2, [67]),
    ),
    accepted(
        "global statement",
        """
        TILE = 32


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            global TILE
            gm.set_value(0, n * TILE)
        """,
        (2, [64]),
    ),
    accepted(
        "nonlocal read and write",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            count = 0

            def step(by):
                nonlocal count
                count += by

            for i in range(n):
                step(i)
            gm.set_value(0, count)
        """,
        (5, [10]),
        (0, [0]),
    ),
    accepted(
        "return inside if",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            if n < 0:
                return
            gm.set_value(0, n + 1)
        """,
        (3, [4]),
        (-3, [0]),
    ),
    accepted(
        "return inside for",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            for i in range(8):
                if i == n:
                    return
                gm.set_value(i, 1)
        """,
        (3, [1, 1, 1, 0]),
        (9, [1] * 8 + [0]),
    ),
    accepted(
        "return inside while",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            i = 0
            while True:
                if i * i >= n:
                    gm.set_value(0, i)
                    return
                i += 1
        """,
        (10, [4]),
        (0, [0]),
    ),
    accepted(
        "return from a helper inside its loop",
        """
        def find(gm, count, value):
            for i in range(count):
                if gm.get_value(i) == value:
                    return i
            return -1


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            for i in range(n):
                gm.set_value(i, i * i)
            gm.set_value(8, find(gm, n, 16))
            gm.set_value(9, find(gm, n, 5))
        """,
        (6, [0, 1, 4, 9, 16, 25, 0, 0, 4, -1]),
    ),
    accepted(
        "return of several values",
        """
        def limits(a, b):
            if a < b:
                return a, b
            return b, a


        @asc.jit
        def kernel(out: asc.GlobalAddress, a: int, b: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            low, high = limits(a, b)
            gm.set_value(0, low)
            gm.set_value(1, high)
        """,
        (3, 5, [3, 5]),
        (5, 3, [3, 5]),
    ),
    accepted(
        "default arguments",
        """
        def scale(x, factor=3, offset=1):
            return x * factor + offset


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, scale(n))
            gm.set_value(1, scale(n, offset=4))
        """,
        (2, [7, 10]),
    ),
    accepted(
        "default arguments of the kernel",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int, extra: int = 4):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, n + extra)
        """,
        (2, [6]),
        (2, 5, [7]),
    ),
    accepted(
        "keyword arguments, keyword-only arguments",
        """
        def scale(x, *, factor, offset=0):
            return x * factor + offset


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, scale(n, factor=2))
            gm.set_value(1, scale(offset=1, x=n, factor=3))
        """,
        (5, [10, 16]),
    ),
    accepted(
        "positional-only arguments",
        """
        def scale(x, factor, /):
            return x * factor


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, scale(n, 2))
        """,
        (5, [10]),
    ),
    accepted(
        "star-arguments",
        """
        def weigh(first, *rest):
            return first + rest[0] * len(rest)


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            pair = (1, 2)
            gm.set_value(0, weigh(n, 3, *pair))
        """,
        (5, [14]),
    ),
    accepted(
        "double-star arguments",
        """
        def total(**named):
            result = 0
            for name, x in named.items():
                result += len(name) * x
            return result


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, total(ab=n, **{"abc": 100}))
        """,
        (5, [310]),
    ),
    accepted(
        "star-arguments of the kernel",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, *numbers):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, numbers[0] + len(numbers))
        """,
        (5, 6, [7]),
        (5, [6]),
    ),
    accepted(
        "decorator that wraps a kernel",
        """
        import functools


        def twice(fn):
            @functools.wraps(fn)
            def wrapper(out, n):
                fn(out, n)
                fn(out, n + 1)

            return wrapper


        @asc.jit
        @twice
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(n, n)
        """,
        (2, [0, 0, 2, 3, 0]),
    ),
    accepted(
        "recursion on constants",
        """
        def power(x, n):
            if n == 0:
                return 1
            half = power(x, n // 2)
            return half * half * x if n % 2 else half * half


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int, exponent: asc.ConstExpr[int]):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, power(n, exponent))
        """,
        (3, 5, [243]),
        (2, 0, [1]),
    ),
    accepted(
        "kernel that calls a kernel",
        """
        @asc.jit
        def put(out, i, value):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(i, value)


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            put(out, 0, n)
            put(out, 1, n + 1)
        """,
        (7, [7, 8]),
    ),
    accepted(
        "method as the kernel",
        """
        class Scale:
            def __init__(self, factor):
                self.factor = factor

            @asc.jit
            def run(self, out: asc.GlobalAddress, n: int):
                gm = asc.GlobalTensor()
                gm.set_global_buffer(out)
                gm.set_value(0, self.apply(n))

            def apply(self, x):
                return x * self.factor


        kernel = Scale(6).run
        """,
        (7, [42]),
    ),
    accepted(
        "static method and class method",
        """
        class Maths:
            BASE = 100

            @staticmethod
            def add(a, b):
                return a + b

            @classmethod
            def based(cls, a):
                return cls.add(a, cls.BASE)


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, Maths.add(n, 1))
            gm.set_value(1, Maths.based(n))
        """,
        (5, [6, 105]),
    ),
    accepted(
        "function passed as an argument",
        """
        def increment(x):
            return x + 1


        def twice(function, x):
            return function(function(x))


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, twice(increment, n))
        """,
        (5, [7]),
    ),
    accepted(
        "functions in a dict, partial, reduce",
        """
        from functools import partial, reduce


        def add(a, b):
            return a + b


        OPS = {"add": add, "mul": lambda a, b: a * b}


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int, op: asc.ConstExpr[str]):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, OPS[op](n, 3))
            gm.set_value(1, partial(add, 10)(n))
            gm.set_value(2, reduce(add, [n, 1, 2]))
        """,
        (5, "mul", [15, 15, 8]),
        (5, "add", [8, 15, 8]),
    ),
    accepted(
        "import inside a kernel",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            import math
            from operator import add as plus

            gm.set_value(0, plus(n, math.gcd(12, 18)))
        """,
        (4, [10]),
    ),
]
