"""Meaning: canonical code of small programs does what CPython does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.test_bytecode_machine import compare


class Point:
    """For patterns and managers."""

    __match_args__ = ("x",)

    def __init__(self, x: int) -> None:
        self.x = x

    def __enter__(self) -> int:
        return self.x

    def __exit__(self, *_: object) -> bool:
        return self.x > 1

    def __add__(self, other: Any) -> Any:
        return self.x + int(other)


PROGRAMS = {
    "arithmetic": """
return (n + 3) * n - n // 2 + n ** 2 % 7 + (n << 2) - (n & 3 | 8 ^ n), -n, ~n, +n
""",
    "comparisons": """
return n < 2, n <= 2, n == 2, n != 2, n > 2, n >= 2, 0 < n < 3, n is None, n in (1, 2)
""",
    "logic": """
return (n and 5, n or 7, not n, n and 3 or 4, (n or 0) and n)
""",
    "slices": """
a = list(range(9))
a[1:n] = 'xy'
del a[0]
return a[n:], a[:n], a[::2], a[1:n]
""",
    "containers": """
return [n, *range(n)], {n, *range(n)}, {'a': n, **{'b': 1}}, (n, *'ab'), {1: n, n: 2}
""",
    "unpacking": """
a, *b, c = range(n + 2)
(d, e), g = (1, 2), 3
return a, b, c, d, e, g
""",
    "strings": """
return f'{n}{n!r:>4}{n:03}{n!s}|{str(n)!a}{n:{n}}'
""",
    "calls": """
def g(a, b=2, *c, d=4, **e): return a, b, c, d, e
return g(n), g(n, 3), g(1, 2, n, d=5, z=n), g(*[1, 2, 3], **{'q': n}), g(b=n, a=1)
""",
    "methods": """
return 'a-b'.split('-', maxsplit=n), [3, 1].index(1), 'x'.join(map(str, range(n)))
""",
    "closures": """
k = n
def g(x: int = 2):
 nonlocal k
 k += x
 return lambda: k + n
return g()(), k
""",
    "class": """
class A:
 y = n
 def m(self): return self.y
class B(A):
 def m(self): return super().m() + n
return B().m()
""",
    "comprehensions": """
x = 5
a = [x for x in range(n)], {x: [y + n for y in range(x)] for x in range(n)}, x
return a, sum(x for x in range(n)), [(lambda: x + n)() for x in range(n) if x]
""",
    "unbound": """
if n > 1: x = 1
return x
""",
    "unbound after del": """
x = n
del x
return x
""",
    "comprehension leaves unbound": """
[x for x in range(n)]
return x
""",
    "for": """
s = 0
for i in range(n):
 if i == 2: continue
 if i == 4: break
 s += i
else:
 s += 100
return s
""",
    "try": """
try:
 return 1 // n
except ZeroDivisionError as e:
 return str(e)
finally:
 n = 5
""",
    "finally in loop": """
s = []
for i in range(4):
 try:
  if i == n: continue
  if i > n: break
 finally:
  s.append(i)
return s
""",
    "nested handlers": """
s = []
try:
 try:
  [][n]
 except KeyError:
  s.append(1)
 finally:
  s.append(2)
except IndexError:
 s.append(3)
else:
 s.append(4)
return s
""",
    "raise from": """
try:
 raise KeyError(n) from ValueError(1)
except KeyError as e:
 return repr(e.__cause__)
""",
    "reraise": """
try:
 1 // n
except ZeroDivisionError:
 raise
""",
    "assert": """
assert n > 1, n
return n
""",
    "with": """
with Point(n) as a, Point(3) as b:
 if n == 1: return a
 raise ValueError
return a + b
""",
    "with fails": """
with Point(n):
 raise ValueError
return 3
""",
    "match": """
r = []
for s in (n, [1, n], [n, 2, 3], {'k': n, 'j': 1}, Point(n), 'ab', None):
 match s:
  case 1: r.append('one')
  case [1, x]: r.append(x)
  case [y, *z]: r.append((y, z))
  case {'k': 1, **w}: r.append(w)
  case {'k': x}: r.append(x)
  case Point(2): r.append('p2')
  case Point(x=x) if x: r.append(x)
  case 'ab' | 'cd': r.append('s')
  case _: r.append(None)
return r
""",
    "walrus": """
return [y for x in range(n) if (y := x * 2) > 1], (z := n), z
""",
    "conditional": """
return 1 if n > 2 else 2 if n else 3
""",
    "global": """
return len(str(n)), abs(-n)
""",
    "many names": """
a = b = c = n
a, b = b, c
a, b, c = c, a, b
return a, b, c
""",
    "augmented": """
a = [1]
b = a
a += [n]
c = {}
c[n] = 1
c[n] += 2
return a is b, a, c
""",
    "delete": """
a = {1: 2, n: 3}
del a[n]
return a
""",
    "generator": """
x = yield n
y = yield x + 1
for i in range(n):
 yield i
return x + y
""",
    "yield from": """
def g(m):
 t = yield m
 u = yield t + 1
 return u
x = yield from g(n)
y = yield from range(0)
return x, y, (yield from (i for i in 'ab'))
""",
    "generator raises": """
yield n
raise StopIteration
""",
    "generator try": """
try:
 yield n
 1 // n
except ZeroDivisionError:
 yield 'z'
finally:
 yield 'f'
""",
    "while": """
s = []
while n < 9 and (n % 5 or s == []):
 n += 1
 s.append(n)
 if n == 7: break
else:
 s.append('e')
return s
""",
    "while nested": """
s = 0
i = 0
while i < n:
 j = 0
 while j < i or s > 90 and j < 4:
  s += j
  j += 1
  if s == 4: break
 else:
  s += 50
 i += 1
return s
""",
    "while true": """
while True:
 n += 1
 if n > 5: return n
 if n == 3: continue
 n += 1
""",
    "while guarded": """
s = []
try:
 while 6 // (3 - n) > 0:
  n += 1
  s.append(n)
except ZeroDivisionError:
 s.append('z')
return s
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    lines = "".join(f"    {line}\n" for line in PROGRAMS[name].strip().split("\n"))
    scope: dict[str, Any] = {"Point": Point}
    exec(f"def f(n):\n{lines}", scope)
    seen = [compare(scope["f"], [n]) for n in range(5)]
    assert any(kind == "returned" for kind, _ in seen) or "rais" in name or "unbound" in name
