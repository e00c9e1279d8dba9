"""Numbers in kernels."""

from __future__ import annotations

import numpy as np

from .rows import Accepted, accepted

ROWS: list[Accepted] = [
    accepted(
        "integer arithmetic and bit operations",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, a: int, b: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, a + b)
            gm.set_value(1, a - b)
            gm.set_value(2, a * b)
            gm.set_value(3, -a)
            gm.set_value(4, a & b)
            gm.set_value(5, a | b)
            gm.set_value(6, a ^ b)
            gm.set_value(7, a << 3)
            gm.set_value(8, a >> 1)
        """,
        (13, 6, [19, 7, 78, -13, 4, 15, 11, 104, 6]),
        (-13, 6, [-7, -19, -78, 13, 2, -9, -11, -104, -7]),
    ),
    accepted(
        "~ and unary +",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, a: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, ~a)
            gm.set_value(1, +a)
        """,
        (13, [-14, 13]),
        (-1, [0, -1]),
    ),
    accepted(
        "floor division and remainder of negative numbers",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, a: int, b: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, a // b)
            gm.set_value(1, a % b)
        """,
        (7, 2, [3, 1]),
        (-7, 2, [-4, 1]),
        (7, -2, [-4, -1]),
        (-7, -2, [3, -1]),
    ),
    accepted(
        "divmod",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, a: int, b: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            quotient, rest = divmod(a, b)
            gm.set_value(0, quotient)
            gm.set_value(1, rest)
        """,
        (7, 2, [3, 1]),
        (-7, 2, [-4, 1]),
    ),
    accepted(
        "true division",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, a: int, b: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, a / b)
            gm.set_value(1, a / 2 + b)
        """,
        (7, 2, [3.5, 5.5]),
        (-7, 2, [-3.5, -1.5]),
        dtype=np.float32,
    ),
    accepted(
        "float floor division and remainder",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, a: float, b: float):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, a // b)
            gm.set_value(1, a % b)
            gm.set_value(2, -a // b)
        """,
        (7.5, 2.0, [3.0, 1.5, -4.0]),
        (-7.5, 2.0, [-4.0, 0.5, 3.0]),
        dtype=np.float32,
    ),
    accepted(
        "comparison",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, a: int, b: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            if a < b:
                gm.set_value(0, 1)
            if a <= b:
                gm.set_value(1, 1)
            if a == b:
                gm.set_value(2, 1)
            if a != b:
                gm.set_value(3, 1)
        """,
        (1, 2, [1, 1, 0, 1]),
        (2, 2, [0, 1, 1, 0]),
        (-3, -4, [0, 0, 0, 1]),
    ),
    accepted(
        "comparison of unsigned numbers",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, a: int, b: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            if a > 0 and a >= b:
                gm.set_value(0, 1)
            if a - 1 < b:
                gm.set_value(1, 1)
        """,
        (np.uint64(2**64 - 1), np.uint64(2**63), [1, 0]),
        (np.uint64(0), np.uint64(7), [0, 0]),
        (np.uint32(2**32 - 1), np.uint32(2**31), [1, 0]),
        same=False,
    ),
    accepted(
        "comparison with a constant out of range",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            if n < 1 << 40:
                gm.set_value(0, 1)
            if n == -1:
                gm.set_value(1, 1)
        """,
        (np.uint32(2**32 - 1), [1, 0]),
        (-1, [1, 1]),
    ),
    accepted(
        "min, max",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, a: int, b: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, min(a, b))
            gm.set_value(1, max(a, b))
        """,
        (-7, 9, [-7, 9]),
        (8, 6, [6, 8]),
    ),
    accepted(
        "min, max of several, abs, sum",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, a: int, b: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, min(a, b, 5))
            gm.set_value(1, max([a, b, 0]))
            gm.set_value(2, abs(a))
            gm.set_value(3, sum([a, b, 1]))
        """,
        (-7, 9, [-7, 9, 7, 3]),
        (8, 6, [5, 8, 8, 15]),
    ),
    accepted(
        "power with a constant exponent",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, a: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, a**3)
            gm.set_value(1, pow(a, 2))
            gm.set_value(2, pow(a, 2, 7))
            gm.set_value(3, 2**10 + a**0)
        """,
        (5, [125, 25, 4, 1025]),
        (-3, [-27, 9, 2, 1025]),
    ),
    accepted(
        "int(), float(), bool()",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, x: float, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, int(x))
            gm.set_value(1, int(float(n) / 2.0))
            gm.set_value(2, 1 if bool(n) else 0)
            gm.set_value(3, int(bool(x)) + int("10", 2))
        """,
        (2.75, 7, [2, 3, 1, 3]),
        (-2.75, 0, [-2, 0, 0, 3]),
    ),
    accepted(
        "bool as a number",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, flag: bool, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, flag + 1)
            gm.set_value(1, (n > 2) + (n > 4))
            gm.set_value(2, 1 if flag & (n > 2) else 0)
            gm.set_value(3, 1 if flag ^ (n > 2) else 0)
            gm.set_value(4, 1 if not flag | (n > 2) else 0)
        """,
        (True, 3, [2, 1, 1, 0, 0]),
        (False, 5, [1, 2, 0, 1, 0]),
        (False, 1, [1, 0, 0, 0, 1]),
    ),
    accepted(
        "float arithmetic",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, x: float, y: float):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, x * y - 1)
            gm.set_value(1, x / y)
            gm.set_value(2, -x)
        """,
        (1.5, 0.5, [-0.25, 3.0, -1.5]),
        dtype=np.float32,
    ),
    accepted(
        "NumPy scalars and Python numbers mixed",
        """
        import numpy as np

        BIAS = np.int32(100)
        WIDE = np.int64(1) << np.int64(40)


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int, scale: asc.ConstExpr):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, n + BIAS + 1)
            gm.set_value(1, n * scale)
            gm.set_value(2, n + WIDE)
        """,
        (5, np.int16(3), [106, 15, 2**40 + 5]),
        dtype=np.int64,
    ),
    accepted(
        "integers wrap at their width",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, n + 1)
            gm.set_value(1, n * n)
            gm.set_value(2, -n - 2)
        """,
        (2**31 - 1, [-(2**31), 1, 2**31 - 1]),
        same=False,
    ),
]
