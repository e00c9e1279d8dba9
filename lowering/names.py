"""Names of the text: Python identifiers as C++ identifiers."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from ..tracer.trace import Trace

#: The parameter that a kernel takes in front of its own when cores synchronise by hardware.
SYNC_ADDRESS = "ffts_addr"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_KEYWORDS = _words(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t
    char32_t class compl concept const consteval constexpr constinit const_cast continue co_await
    co_return co_yield decltype default delete do double dynamic_cast else enum explicit export
    extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq
    nullptr operator or or_eq private protected public register reinterpret_cast requires return
    short signed sizeof static static_assert static_cast struct switch template this thread_local
    throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while
    xor xor_eq
    """
)
# What the text itself spells unqualified, and lower-case macros of common headers.
_TAKEN = _words(
    """
    half bfloat16_t int4b_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t
    size_t AscendC FloorDiv FloorMod Abs Min Max assert errno linux unix major minor stdin stdout
    stderr offsetof typeof restrict main
    """
) | {SYNC_ADDRESS}
# C library functions: a kernel is `extern "C"`, so such a name would redeclare them.
_LIBRARY = _words(
    """
    abort abs acos acosh asin asinh atan atan2 atanh atexit bsearch calloc cbrt ceil clock close
    connect copysign cos cosh div erf erfc exit exp exp2 expm1 fabs fdim floor fma fmax fmin fmod
    free frexp gamma hypot ilogb index j0 j1 jn labs ldexp ldiv lgamma link listen log log10 log1p
    log2 logb lrint lround malloc memchr memcmp memcpy memmove memset modf nan nearbyint nextafter
    open pipe pow printf puts qsort raise rand read realloc remainder remove rename rint round
    scalbn scanf select send signal sin sinh sleep sqrt srand strcat strchr strcmp strcpy strlen
    system tan tanh tgamma time trunc wait write y0 y1 yn
    """
)


def _ascii(name: str) -> str:
    """ASCII letters, digits and underscores; accents are dropped, other letters spelled `u3b1`."""
    plain = unicodedata.normalize("NFKD", name)
    out = []
    for char in plain:
        if char.isascii():
            out.append(char if char.isalnum() else "_")
        elif not unicodedata.combining(char):
            out.append(f"u{ord(char):x}")
    return "".join(out)


@cache
def identifier(name: str) -> str:
    """A C++ identifier for a Python name, or "" when nothing of it is left.

    Attribute paths give their last part. Names in capitals become lower-case, since headers define
    macros so; keywords and what the text uses itself get an underscore behind.
    """
    text = name.rpartition(".")[2]
    if not text.isascii() or not text.isidentifier():
        text = _ascii(text)
    text = re.sub("__+", "_", text).strip("_" if text.startswith("_") else "")
    if len(text) > 1 and text.isupper():
        text = text.lower()
    if text[:1].isdigit():
        text = f"v{text}"
    if text in _KEYWORDS or text in _TAKEN:
        text += "_"
    return text


def kernel_name(trace: Trace) -> str:
    """The C symbol of a kernel: what the text defines and the runtime looks up."""
    return _symbol(trace.name)


@cache
def _symbol(name: str) -> str:
    name = re.sub("__+", "_", _ascii(name)).strip("_")
    if not name:
        return "kernel"
    if name[0].isdigit():
        name = f"k{name}"
    taken = name in _KEYWORDS or name in _TAKEN or name in _LIBRARY
    return f"{name}_kernel" if taken else name
