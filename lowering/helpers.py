"""Scalar functions that a kernel's text carries along when it uses them.

They give Python's meaning where C++ has another: `//` and `%` round down, `min` and `max` return
the first of equal operands. The device has no math library for scalars, so the float remainder is
done on the bits. The float results are those of NumPy in float32. 16-bit floats are computed in
float32 by the caller.
"""

from __future__ import annotations

_ABS = """\
template <typename T>
__aicore__ inline T Abs(T a)
{
    return a <= static_cast<T>(0) ? static_cast<T>(0 - a) : a;
}
"""

_MIN = """\
template <typename T>
__aicore__ inline T Min(T a, T b)
{
    return b < a ? b : a;
}
"""

_MAX = """\
template <typename T>
__aicore__ inline T Max(T a, T b)
{
    return b > a ? b : a;
}
"""

_FLOAT = """\
union FloatBits {
    float value;
    uint32_t bits;
};

__aicore__ inline float CopySign(float magnitude, float sign)
{
    FloatBits to = {magnitude};
    FloatBits from = {sign};
    to.bits = (to.bits & 0x7fffffffu) | (from.bits & 0x80000000u);
    return to.value;
}

// Exact remainder with the sign of a: mantissas are subtracted bit by bit.
__aicore__ inline float Remainder(float a, float b)
{
    FloatBits x = {a};
    FloatBits y = {b};
    const uint32_t sign = x.bits & 0x80000000u;
    uint32_t rest = x.bits & 0x7fffffffu;
    uint32_t divisor = y.bits & 0x7fffffffu;
    if (divisor == 0 || divisor > 0x7f800000u || rest >= 0x7f800000u) {
        x.bits = 0x7fc00000u;
        return x.value;
    }
    if (rest < divisor) {
        return a;
    }
    int32_t restExp = static_cast<int32_t>(rest >> 23);
    int32_t exp = static_cast<int32_t>(divisor >> 23);
    rest = restExp == 0 ? rest : (rest & 0x7fffffu) | 0x800000u;
    divisor = exp == 0 ? divisor : (divisor & 0x7fffffu) | 0x800000u;
    restExp = restExp == 0 ? 1 : restExp;
    exp = exp == 0 ? 1 : exp;
    for (; rest < 0x800000u; rest <<= 1) {
        --restExp;
    }
    for (; divisor < 0x800000u; divisor <<= 1) {
        --exp;
    }
    for (; restExp > exp; --restExp) {
        rest = (rest >= divisor ? rest - divisor : rest) << 1;
    }
    rest = rest >= divisor ? rest - divisor : rest;
    if (rest == 0) {
        x.bits = sign;
        return x.value;
    }
    for (; rest < 0x800000u; rest <<= 1) {
        --exp;
    }
    rest = exp < 1 ? rest >> (1 - exp) : (rest & 0x7fffffu) | (static_cast<uint32_t>(exp) << 23);
    x.bits = sign | rest;
    return x.value;
}
"""

_FLOORDIV = """\
// Python's a // b: rounds down.
template <typename T>
__aicore__ inline T FloorDiv(T a, T b)
{
    if (static_cast<T>(-1) < static_cast<T>(0) && b == static_cast<T>(-1)) {
        return static_cast<T>(0 - static_cast<uint64_t>(a));
    }
    const T quotient = static_cast<T>(a / b);
    const bool down = a % b != 0 && (a < 0) != (b < 0);
    return static_cast<T>(down ? quotient - 1 : quotient);
}

template <>
__aicore__ inline float FloorDiv<float>(float a, float b)
{
    if (b == 0.0f) {
        return a / b;
    }
    const float rest = Remainder(a, b);
    float quotient = (a - rest) / b;
    if (rest != 0.0f && (b < 0.0f) != (rest < 0.0f)) {
        quotient -= 1.0f;
    }
    if (quotient == 0.0f) {
        return CopySign(0.0f, a / b);
    }
    if (!(quotient > -8388608.0f && quotient < 8388608.0f)) {
        return quotient;
    }
    float whole = static_cast<float>(static_cast<int32_t>(quotient));
    whole = whole > quotient ? whole - 1.0f : whole;
    return quotient - whole > 0.5f ? whole + 1.0f : whole;
}
"""

_FLOORMOD = """\
// Python's a % b: has the sign of b.
template <typename T>
__aicore__ inline T FloorMod(T a, T b)
{
    if (static_cast<T>(-1) < static_cast<T>(0) && b == static_cast<T>(-1)) {
        return 0;
    }
    const T rest = static_cast<T>(a % b);
    return static_cast<T>(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
}

template <>
__aicore__ inline float FloorMod<float>(float a, float b)
{
    const float rest = Remainder(a, b);
    if (rest == 0.0f) {
        return CopySign(0.0f, b);
    }
    return (b < 0.0f) != (rest < 0.0f) ? rest + b : rest;
}
"""

#: Each helper by the function that it defines, in the order of the text; "" is what those on
#: floats need.
_TEXTS = {
    "Abs": _ABS,
    "Min": _MIN,
    "Max": _MAX,
    "": _FLOAT,
    "FloorDiv": _FLOORDIV,
    "FloorMod": _FLOORMOD,
}
_FLOAT_USERS = frozenset({"FloorDiv", "FloorMod"})


def helper_text(names: set[str], floats: bool) -> str:
    """The definitions of the named helpers; `floats`: whether `//` or `%` is used on floats."""
    if not names:
        return ""
    floats = floats and bool(names & _FLOAT_USERS)
    parts = []
    for name, text in _TEXTS.items():
        if not name:
            if floats:
                parts.append(text)
        elif name in names:
            general, _, special = text.partition("\ntemplate <>\n")
            parts.append(text if floats and special else general)
    return "namespace {\n" + "\n".join(p.strip("\n") + "\n" for p in parts) + "} // namespace\n\n"
