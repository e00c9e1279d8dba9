// What emitted kernels need of a C++ compiler for the host. The classes and functions of AscendC
// are generated behind this from the op table (header.py).
#pragma once
#include <cstdint>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>
#define __aicore__
#define __global__
#define __gm__

typedef _Float16 half;

// Stored in 16 bits, computed with as float, rounded to nearest even.
struct bfloat16_t {
    uint16_t bits;

    bfloat16_t() = default;
    template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
    explicit bfloat16_t(T number)
    {
        const float value = static_cast<float>(number);
        uint32_t whole;
        std::memcpy(&whole, &value, 4);
        const bool nan = value != value;
        bits = nan ? 0x7fc0 : (whole + 0x7fff + ((whole >> 16) & 1)) >> 16;
    }
    operator float() const
    {
        const uint32_t whole = static_cast<uint32_t>(bits) << 16;
        float value;
        std::memcpy(&value, &whole, 4);
        return value;
    }
};

namespace twin {

enum Kind : int32_t { ABSENT, INTEGER, FLOATING, OBJECT, POINTER, TYPE, GROUP, TEXT };

// One operand. `type` is the number of a dtype where there is one, `whole` a handle, an address, a
// dtype or the number of operands that a group has.
struct Operand {
    int32_t kind;
    int32_t type;
    union {
        int64_t whole;
        double real;
    };
};

struct Stop {};
struct Trapped {};

typedef int32_t (*Entry)(int32_t form, int32_t count, const Operand* operands, Operand* result);
inline Entry entry = nullptr;

template <typename T>
struct Code {
    static constexpr int32_t value = -1;
};

template <typename T>
struct Same {
    using type = T;
};

// Whatever Python keeps for the kernel: tensors, pipes, queues, buffers.
struct Object {
    mutable int64_t handle = -1;
    mutable int32_t type = -1;
};

// What a call gave; it becomes what the text says it is.
struct Result {
    Operand value;

    template <typename T>
    operator T() const
    {
        if constexpr (std::is_base_of_v<Object, T>) {
            T object;
            object.handle = value.whole;
            return object;
        } else if constexpr (std::is_pointer_v<T>) {
            return reinterpret_cast<T>(value.whole);
        } else {
            return value.kind == FLOATING ? static_cast<T>(value.real) : static_cast<T>(value.whole);
        }
    }
};

class Call {
public:
    explicit Call(int32_t form) : form_(form) {}

    Operand& add(int32_t kind, int32_t type = -1)
    {
        Operand& operand = operands_[count_++];
        operand.kind = kind;
        operand.type = type;
        operand.whole = 0;
        return operand;
    }
    template <typename T>
    void number(T value)
    {
        if constexpr (std::is_same_v<T, bfloat16_t> || std::is_same_v<T, half> ||
                      std::is_floating_point_v<T>) {
            add(FLOATING, Code<T>::value).real = static_cast<double>(static_cast<float>(value));
        } else {
            add(INTEGER, Code<T>::value).whole = static_cast<int64_t>(value);
        }
    }
    void object(const Object& object) { add(OBJECT, object.type).whole = object.handle; }
    template <typename T>
    void pointer(T* address)
    {
        add(POINTER, Code<T>::value).whole = reinterpret_cast<int64_t>(address);
    }
    template <typename T>
    void dtype()
    {
        add(TYPE).whole = Code<T>::value;
    }
    void words(const uint64_t* mask)
    {
        add(GROUP).whole = 2;
        number(mask[0]);
        number(mask[1]);
    }
    void text(const char* chars) { add(TEXT).whole = reinterpret_cast<int64_t>(chars); }
    Result run()
    {
        Result result{};
        if (entry(form_, count_, operands_, &result.value)) {
            throw Stop();
        }
        return result;
    }
    void run_into(const Object& object) { object.handle = run().value.whole; }

private:
    int32_t form_;
    int32_t count_ = 0;
    Operand operands_[160];
};

// -- launching ------------------------------------------------------------------------------------

// Where an argument starts: at a multiple of its alignment, at least 4.
template <typename T>
constexpr uintptr_t alignment = alignof(T) > 4 ? alignof(T) : 4;

// The next argument of a block.
template <typename T>
T unpack(const char*& at)
{
    constexpr uintptr_t align = alignment<T>;
    at = reinterpret_cast<const char*>((reinterpret_cast<uintptr_t>(at) + align - 1) / align * align);
    T value;
    std::memcpy(&value, at, sizeof(T));
    at += sizeof(T);
    return value;
}

// 0: done; 1: Python refused a call; 2: a trap.
template <typename... P>
int32_t launch(void (*kernel)(P...), const char* block)
{
    std::tuple<P...> values{unpack<P>(block)...};
    try {
        std::apply(kernel, values);
    } catch (Stop) {
        return 1;
    } catch (Trapped) {
        return 2;
    }
    return 0;
}

} // namespace twin

extern "C" inline void twin_bind(twin::Entry entry) { twin::entry = entry; }

namespace AscendC {

template <typename... T>
void printf(const char*, T...)
{
}

inline void Trap() { throw twin::Trapped(); }

} // namespace AscendC
