"""Control flow in kernels."""

from __future__ import annotations

from .rows import Accepted, accepted

ROWS: list[Accepted] = [
    accepted(
        "if, elif, else",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            if n > 10:
                value = 1
            elif n > 5:
                value = n * 2
            else:
                value = -n
            gm.set_value(0, value)
        """,
        (11, [1]),
        (6, [12]),
        (5, [-5]),
    ),
    accepted(
        "conditional expression",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, n if n > 0 else -n)
        """,
        (4, [4]),
        (-4, [4]),
    ),
    accepted(
        "variable first assigned inside an if",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            if n > 0:
                step = 2
            else:
                step = n
            if n > 0:
                gm.set_value(0, step)
            gm.set_value(1, step)
        """,
        (4, [2, 2]),
        (-4, [0, -4]),
    ),
    accepted(
        "variable that only one arm has",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            for i in range(n):
                if i % 2 == 0:
                    half = i // 2
                    gm.set_value(half, i)
                else:
                    gm.set_value(8, i)
        """,
        (5, [0, 2, 4, 0, 0, 0, 0, 0, 3]),
    ),
    accepted(
        "and, or, not",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, a: int, b: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            if not a > 3 and (b > 2 or b < -2):
                gm.set_value(0, 1)
        """,
        (0, 3, [1]),
        (0, -3, [1]),
        (5, 3, [0]),
    ),
    accepted(
        "and, or of numbers",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, a: int, b: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, a and b)
            gm.set_value(1, a or b)
        """,
        (0, 3, [0, 3]),
        (5, 3, [3, 5]),
    ),
    accepted(
        "and, or stop at the first that decides",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            if n != 0 and 100 // n > 10:
                gm.set_value(0, 1)
            if n == 0 or 100 % n == 0:
                gm.set_value(1, 1)
        """,
        (0, [0, 1]),
        (5, [1, 1]),
        (30, [0, 0]),
    ),
    accepted(
        "chained comparison",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, 1 if 0 <= n < 10 else 0)
            gm.set_value(1, 1 if 0 < n != 5 <= 8 else 0)
        """,
        (5, [1, 0]),
        (10, [0, 1]),
        (-1, [0, 0]),
    ),
    accepted(
        "walrus",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            if (half := n // 2) > 2:
                gm.set_value(0, half)
            while (half := half - 1) > 0:
                gm.set_value(half, half)
        """,
        (8, [4, 1, 2, 3, 0]),
        (3, [0, 0]),
    ),
    accepted(
        "for over a range with runtime bounds",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, a: int, b: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            for i in range(a, b, 2):
                gm.set_value(i, i)
        """,
        (1, 6, [0, 1, 0, 3, 0, 5, 0]),
        (6, 1, [0] * 8),
    ),
    accepted(
        "for over a descending range",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            for i in range(n, 0, -1):
                gm.set_value(i, 10 // i)
        """,
        (4, [0, 10, 5, 3, 2, 0]),
        (0, [0] * 5),
    ),
    accepted(
        "reversed and len of a runtime range",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            for i in reversed(range(n)):
                gm.set_value(i, len(range(n)) - i)
        """,
        (3, [3, 2, 1, 0]),
        (0, [0]),
    ),
    accepted(
        "sum that starts from a constant",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            total = 0
            for i in range(n):
                total += i
            gm.set_value(0, total)
        """,
        (5, [10]),
        (0, [0]),
    ),
    accepted(
        "for over a tuple",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            for i in (1, 2, 5):
                gm.set_value(i, n + i)
        """,
        (2, [0, 3, 4, 0, 0, 7]),
    ),
    accepted(
        "for over a list, zip, enumerate",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            for i, (scale, offset) in enumerate(zip([1, 2, 3], [10, 20, 30])):
                gm.set_value(i, n * scale + offset)
            for i in reversed([4, 5]):
                gm.set_value(i, i)
        """,
        (2, [12, 24, 36, 0, 4, 5]),
    ),
    accepted(
        "while",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            while n > 1:
                n = n // 2
                gm.set_value(n, 1)
        """,
        (9, [0, 1, 1, 0, 1, 0]),
        (1, [0, 0]),
    ),
    accepted(
        "while with a parallel assignment",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            a, b = n, 12
            while b:
                a, b = b, a % b
            gm.set_value(0, a)
        """,
        (18, [6]),
        (7, [1]),
    ),
    accepted(
        "break",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            for i in range(10):
                if i * i > n:
                    break
                gm.set_value(i, 1)
            gm.set_value(9, i)
        """,
        (5, [1, 1, 1, 0, 0, 0, 0, 0, 0, 3]),
        (100, [1] * 9 + [9]),
    ),
    accepted(
        "continue",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            for i in range(n):
                if i % 3 == 1:
                    continue
                gm.set_value(i, i + 10)
        """,
        (5, [10, 0, 12, 13, 0, 0]),
    ),
    accepted(
        "else of a loop",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int, m: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            for i in range(2, n):
                if n % i == 0:
                    gm.set_value(0, i)
                    break
            else:
                gm.set_value(0, -1)
            while m > 0:
                m -= 3
                if m == 1:
                    break
            else:
                gm.set_value(1, 1)
        """,
        (35, 6, [5, 1]),
        (7, 4, [-1, 0]),
    ),
    accepted(
        "break and continue in nested loops",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            for i in range(n):
                for j in range(n):
                    if j > i:
                        break
                    if (i + j) % 2:
                        continue
                    gm.set_value(i * 4 + j, 1)
        """,
        (3, [1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 1, 0]),
    ),
    accepted(
        "match on values",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int, mode: asc.ConstExpr[str]):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            match n:
                case 0:
                    gm.set_value(0, 10)
                case 1 | 2:
                    gm.set_value(0, 20)
                case x if x > 100:
                    gm.set_value(0, x)
                case _:
                    gm.set_value(0, -1)
            match mode:
                case "fast":
                    gm.set_value(1, 1)
                case other:
                    gm.set_value(1, len(other))
        """,
        (0, "fast", [10, 1]),
        (2, "slow down", [20, 9]),
        (101, "fast", [101, 1]),
        (7, "fast", [-1, 1]),
    ),
    accepted(
        "match on structure",
        """
        class Tile:
            __match_args__ = ("rows", "cols")

            def __init__(self, rows, cols):
                self.rows = rows
                self.cols = cols


        def area(shape):
            match shape:
                case Tile(rows, cols):
                    return rows * cols
                case [rows, cols, *rest] if rest:
                    return rows * cols * len(rest)
                case {"side": side, **others}:
                    return side * side + len(others)
                case [side]:
                    return side


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            shapes = [Tile(n, 2), (n, 3, 1, 1), {"side": n, "unit": "mm"}, [n]]
            for i, shape in enumerate(shapes):
                gm.set_value(i, area(shape))
        """,
        (5, [10, 30, 26, 5]),
    ),
    accepted(
        "try, except, else, finally",
        """
        TABLE = {"a": 1}


        def look_up(key):
            try:
                value = TABLE[key]
            except KeyError as missing:
                value = len(missing.args)
            else:
                value += 10
            finally:
                value *= 2
            return value


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, look_up("a") + n)
            gm.set_value(1, look_up("b") + n)
        """,
        (5, [27, 7]),
    ),
    accepted(
        "finally around a runtime return",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            try:
                if n > 3:
                    gm.set_value(0, 1)
                    return
                gm.set_value(0, 2)
            finally:
                gm.set_value(1, n)
        """,
        (4, [1, 4]),
        (3, [2, 3]),
    ),
    accepted(
        "raise and except while tracing",
        """
        class TooLarge(ValueError):
            pass


        def check(tile):
            if tile > 64:
                raise TooLarge(f"{tile} elements")
            return tile


        @asc.jit
        def kernel(out: asc.GlobalAddress, tile: asc.ConstExpr[int]):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            try:
                size = check(tile)
            except TooLarge:
                size = 64
            gm.set_value(0, size)
        """,
        (32, [32]),
        (100, [64]),
    ),
    accepted(
        "raise under a runtime condition, caught in the same function",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            try:
                if n > 3:
                    raise ValueError("too large")
                gm.set_value(0, n)
            except ValueError as problem:
                gm.set_value(0, -len(problem.args))
        """,
        (3, [3]),
        (4, [-1]),
    ),
    accepted(
        "assert under a runtime condition",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            assert n < 10, "n is too large"
            gm.set_value(0, n)
        """,
        (4, [4]),
    ),
    accepted(
        "raise under a runtime condition",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            if n < 0:
                raise ValueError(f"n is {n}")
            gm.set_value(0, n)
        """,
        (4, [4]),
    ),
    accepted(
        "with a context manager of the kernel's own",
        """
        class Section:
            def __init__(self, gm, i):
                self.gm = gm
                self.i = i

            def __enter__(self):
                self.gm.set_value(self.i, 1)
                return self.i + 1

            def __exit__(self, *problem):
                self.gm.set_value(self.i, self.gm.get_value(self.i) + 10)


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            with Section(gm, 0) as after, Section(gm, 3):
                if n > 2:
                    gm.set_value(after, n)
        """,
        (5, [11, 5, 0, 11]),
        (2, [11, 0, 0, 11]),
    ),
    accepted(
        "with contextlib",
        """
        from contextlib import contextmanager


        @contextmanager
        def counted(gm, i):
            gm.set_value(i, gm.get_value(i) + 1)
            yield i + 1
            gm.set_value(i, gm.get_value(i) + 10)


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            for i in range(n):
                with counted(gm, 0) as after:
                    gm.set_value(after, i)
        """,
        (3, [33, 2]),
    ),
    accepted(
        "generator",
        """
        def tiles(count, size):
            done = 0
            while done < count:
                length = min(size, count - done)
                yield done, length
                done += length
            return done


        def all_tiles(count):
            done = yield from tiles(count, 4)
            yield done, 0


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            for start, length in all_tiles(10):
                gm.set_value(start, n + length)
        """,
        (1, [5, 0, 0, 0, 5, 0, 0, 0, 3, 0, 1]),
    ),
    accepted(
        "comprehensions and generator expressions",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            parts = [n * i for i in range(4) if i != 2]
            table = {i: part + 1 for i, part in enumerate(parts)}
            for i in {2, 0}:
                gm.set_value(i, table[i])
            gm.set_value(1, sum(part for part in parts))
        """,
        (5, [1, 20, 16]),
    ),
    accepted(
        "map, filter, sorted, any, all",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            odd = filter(lambda i: i % 2, range(6))
            for i, x in enumerate(map(lambda i: n + i, odd)):
                gm.set_value(i, x)
            order = sorted([3, 1, 2], key=lambda i: -i)
            gm.set_value(3, order[0])
            gm.set_value(4, 1 if any(n == i for i in order) else 0)
            gm.set_value(5, 1 if all(n > i for i in order) else 0)
        """,
        (3, [4, 6, 8, 3, 1, 0]),
        (9, [10, 12, 14, 3, 0, 1]),
    ),
    accepted(
        "print",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            if n > 3:
                print("n is", n)
        """,
        (5, []),
        (1, []),
        prints="n is 5\n",
        same=False,
    ),
    accepted(
        "print of an f-string",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            print(f"half of {n} is {n / 2}", end=".\\n")
        """,
        (5, []),
        prints="half of 5 is 2.5.\n",
        same=False,
    ),
    accepted(
        "loops that stay loops, loops that unroll",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            for i in asc.range(8):
                gm.set_value(i, n + i)
            for i in asc.static_range(2):
                gm.set_value(8 + i, [10, 20][i] + n)
        """,
        (1, [1, 2, 3, 4, 5, 6, 7, 8, 11, 21]),
    ),
]
