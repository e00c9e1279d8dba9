"""Python objects in kernels: state, containers, classes, text."""

from __future__ import annotations

from .rows import Accepted, accepted

ROWS: list[Accepted] = [
    accepted(
        "kernel written as a class with state",
        """
        class Writer:
            def __init__(self, out, size):
                self.gm = asc.GlobalTensor()
                self.gm.set_global_buffer(out)
                self.size = size
                self.count = 0
                self.ping = True

            def process(self):
                for i in range(self.size):
                    self.step(i)
                self.gm.set_value(15, self.count)

            def step(self, i):
                if self.ping:
                    self.gm.set_value(i, i + 1)
                    self.count += 1
                else:
                    self.gm.set_value(i, -i)
                self.ping = not self.ping


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            Writer(out, n).process()
        """,
        (4, [1, -1, 3, -3] + [0] * 11 + [2]),
        (0, [0] * 16),
    ),
    accepted(
        "member changed in a runtime branch",
        """
        class State:
            pass


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            state = State()
            state.mode = 1
            state.size = n
            if n > 4:
                state.mode = 2
                state.size -= 4
            gm.set_value(0, state.mode)
            gm.set_value(1, state.size)
        """,
        (7, [2, 3]),
        (3, [1, 3]),
    ),
    accepted(
        "list element changed in a runtime loop",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            counts = [0, 0, 0]
            for i in range(n):
                if i % 3 == 0:
                    counts[0] += 1
                counts[1], counts[2] = counts[2], counts[1] + i
            for k, count in enumerate(counts):
                gm.set_value(k, count)
        """,
        (5, [2, 4, 6]),
        (0, [0, 0, 0]),
    ),
    accepted(
        "dict value changed in a runtime loop",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            seen = {"even": 0, "odd": 0}
            while n > 0:
                seen["odd" if len(seen) > 2 else "even"] += n
                n -= 2
            gm.set_value(0, seen["even"] + seen["odd"])
        """,
        (6, [12]),
        (-1, [0]),
    ),
    accepted(
        "list built while tracing",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            powers = []
            value = 1
            for _ in range(4):
                powers.append(value)
                value = value * n
            powers[1:3] = [powers[2], powers[1]]
            for i in range(len(powers)):
                gm.set_value(i, powers[i])
        """,
        (3, [1, 9, 3, 27]),
    ),
    accepted(
        "augmented assignment on subscripts and attributes",
        """
        class Pair:
            def __init__(self, value):
                self.value = value
                self.items = [1, value]


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            pair = Pair(n)
            pair.value *= 3
            pair.items[1] -= 1
            pair.items += [n // 2]
            gm.set_value(0, pair.value)
            for i, x in enumerate(pair.items):
                gm.set_value(i + 1, x)
        """,
        (5, [15, 1, 4, 2]),
    ),
    accepted(
        "tuple assignment",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, a: int, b: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            a, b = b, a
            (x, y), z = (a, b + 1), 7
            gm.set_value(0, x)
            gm.set_value(1, y)
            gm.set_value(2, z)
        """,
        (1, 2, [2, 2, 7]),
    ),
    accepted(
        "unpacking with a star",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, a: int, b: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            first, *middle, last = [a, b, 3, 4]
            gm.set_value(0, first)
            gm.set_value(1, middle[0] + len(middle))
            gm.set_value(2, last)
        """,
        (1, 2, [1, 4, 4]),
    ),
    accepted(
        "slices of lists and tuples",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            values = [n, n + 1, n + 2, n + 3]
            for i, x in enumerate(values[::-1][1:] + list((7, 8)[:1])):
                gm.set_value(i, x)
            del values[0]
            gm.set_value(8, len(values))
        """,
        (5, [7, 6, 5, 7, 0, 0, 0, 0, 3]),
    ),
    accepted(
        "properties, operators, indexing of own classes",
        """
        class Vec:
            def __init__(self, x, y):
                self.x = x
                self.y = y

            @property
            def dot(self):
                return self.x * self.x + self.y * self.y

            def __add__(self, other):
                return Vec(self.x + other.x, self.y + other.y)

            def __getitem__(self, i):
                return (self.x, self.y)[i]

            def __eq__(self, other):
                return self.x == other.x and self.y == other.y


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            v = Vec(n, 1) + Vec(2, 3)
            gm.set_value(0, v.dot)
            gm.set_value(1, v[1])
            gm.set_value(2, 1 if v == Vec(7, 4) else 0)
        """,
        (5, [65, 4, 1]),
        (1, [25, 4, 0]),
    ),
    accepted(
        "comparison of tuples, lists, dicts",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            if (n, 1) < (3, 0) or [n] == [7]:
                gm.set_value(0, 1)
            if {"size": n} != {"size": 3} and (n, 2) in [(4, 2), (7, 2)]:
                gm.set_value(1, 1)
        """,
        (2, [1, 0]),
        (7, [1, 1]),
        (3, [0, 0]),
    ),
    accepted(
        "copies",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            from copy import deepcopy

            sizes = [[n], 1]
            other = deepcopy(sizes)
            other[0][0] += 1
            gm.set_value(0, sizes[0][0])
            gm.set_value(1, other[0][0])
        """,
        (5, [5, 6]),
    ),
    accepted(
        "inheritance and super",
        """
        class Base:
            scale = 2

            def __init__(self, n):
                self.n = n

            def value(self):
                return self.n * self.scale


        class Child(Base):
            scale = 5

            def value(self):
                return super().value() + 1


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            gm.set_value(0, Base(n).value())
            gm.set_value(1, Child(n).value())
        """,
        (3, [6, 16]),
    ),
    accepted(
        "dataclass, named tuple, enumeration",
        """
        import enum
        from dataclasses import dataclass, replace
        from typing import NamedTuple


        class Mode(enum.Enum):
            COPY = 1
            NEGATE = -1


        class Size(NamedTuple):
            rows: int
            cols: int


        @dataclass
        class Tile:
            size: Size
            mode: Mode = Mode.COPY


        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            tile = replace(Tile(Size(n, 4)), mode=Mode.NEGATE)
            gm.set_value(0, tile.size.rows * tile.size.cols * tile.mode.value)
            gm.set_value(1, 1 if tile.mode is Mode.COPY else 2)
        """,
        (3, [-12, 2]),
    ),
    accepted(
        "class defined in a kernel",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)

            class Counter:
                step = 3

                def __init__(self, start):
                    self.value = start

                def next(self):
                    self.value += self.step
                    return self.value

            counter = Counter(n)
            gm.set_value(0, counter.next() + counter.next())
        """,
        (1, [11]),
    ),
    accepted(
        "isinstance, getattr, hasattr, type",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int, factor: asc.ConstExpr):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            scale = factor if isinstance(factor, int) else len(factor)
            gm.set_value(0, n * scale)
            gm.set_value(1, 1 if isinstance(n, int) else 0)
            gm.set_value(2, getattr(factor, "real", -1))
            gm.set_value(3, 1 if hasattr(factor, "upper") else 0)
        """,
        (5, 3, [15, 1, 3, 0]),
        (5, "ab", [10, 1, -1, 1]),
    ),
    accepted(
        "f-strings and text of constants",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int, unit: asc.ConstExpr[str]):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            names = {f"{unit}{i:02d}": i for i in range(3)}
            label = "-".join([unit.upper(), str(len(names))])
            gm.set_value(0, n + names[f"{unit}02"])
            gm.set_value(1, len(label))
        """,
        (5, "mm", [7, 4]),
    ),
    accepted(
        "constants decide while tracing",
        """
        @asc.jit
        def kernel(out: asc.GlobalAddress, n: int, fast: asc.ConstExpr[bool]):
            gm = asc.GlobalTensor()
            gm.set_global_buffer(out)
            state = "first"
            for i in range(n):
                if state == "first":
                    step = 1
                if fast:
                    gm.set_value(i, step)
                else:
                    undefined_name(i)
        """,
        (3, True, [1, 1, 1, 0]),
    ),
]
