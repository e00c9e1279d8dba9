// What emitted kernels need of a C++ compiler for the host. The classes and functions of AscendC
// are generated behind this from the op table (header.py).
#pragma once
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstdio>
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

enum Kind : int32_t { ABSENT, INTEGER, FLOATING, OBJECT, POINTER, TYPE, GROUP, TEXT, MEMORY };

// One operand. `type` is the number of a dtype where there is one, `whole` a handle, an address, a
// dtype or the number of operands that a group has. Behind an array in memory comes its length.
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

// The type of a result that is what an operand is now.
constexpr int32_t REBOUND = -2;

// The most numbers that a call writes by reference.
constexpr int32_t OUTPUTS = 4;

// What a call gave; it becomes what the text says it is.
struct Result {
    Operand value;
    Operand others[OUTPUTS - 1];

    // The k-th number that is written by reference.
    template <typename T>
    void into(int32_t k, T& number) const
    {
        number = static_cast<T>((&value)[k].whole);
    }

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
        constexpr int32_t type = Code<std::conditional_t<std::is_void_v<T>, uint8_t, T>>::value;
        add(POINTER, type).whole = reinterpret_cast<int64_t>(address);
    }
    template <typename T>
    void dtype()
    {
        add(TYPE).whole = Code<T>::value;
    }
    template <typename T>
    void numbers(const T* values, int32_t count)
    {
        add(GROUP).whole = count;
        for (int32_t k = 0; k < count; ++k) {
            number(values[k]);
        }
    }
    template <typename T, int32_t count>
    void all(const T (&values)[count])
    {
        add(GROUP).whole = count;
        for (const T& value : values) {
            if constexpr (std::is_base_of_v<Object, T>) {
                object(value);
            } else if constexpr (std::is_arithmetic_v<T>) {
                number(value);
            } else {
                value.add(*this);
            }
        }
    }
    // An array that the call may write, or keep.
    template <typename T>
    void memory(T* values, int64_t count)
    {
        add(MEMORY, Code<T>::value).whole = reinterpret_cast<int64_t>(values);
        number(count);
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
    // Python says whether it gives a result or what an operand is now.
    Result run_or_into(const Object& object)
    {
        const Result result = run();
        if (result.value.type == REBOUND) {
            object.handle = result.value.whole;
        }
        return result;
    }

private:
    int32_t form_;
    int32_t count_ = 0;
    Operand operands_[160];
};

// A view of a tensor from an element on.
template <typename T, typename N>
T slice(int32_t form, const T& tensor, N start)
{
    Call call(form);
    call.object(tensor);
    call.number(start);
    call.add(ABSENT);
    T view;
    call.run_into(view);
    return view;
}

// An object that Python keeps, made with numbers and members of enumerations.
template <typename... N>
void make(int32_t form, const Object& object, N... values)
{
    Call call(form);
    (call.number(static_cast<int32_t>(values)), ...);
    call.run_into(object);
}

// A value as the device's printf takes it: numbers in 64 bits. An address is shown as the simulator
// has it.
template <typename T>
auto shown(int32_t form, T value)
{
    if constexpr (std::is_pointer_v<T> && !std::is_same_v<T, const char*>) {
        Call call(form);
        call.pointer(value);
        return reinterpret_cast<const void*>(static_cast<uint64_t>(call.run()));
    } else if constexpr (std::is_integral_v<T>) {
        return static_cast<std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>(value);
    } else if constexpr (std::is_same_v<T, half> || std::is_same_v<T, bfloat16_t>) {
        return static_cast<float>(value);
    } else {
        return value;
    }
}

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

// Where a kernel is left that does what C++ does not define.
inline thread_local sigjmp_buf undefined;

// What the processor raises for the smallest integer divided by -1.
inline void overflow(int) { siglongjmp(undefined, 3); }

// 0: done; 1: Python refused a call; 2: a trap; 3: a conversion or a quotient that no integer holds;
// 4: a division by zero.
template <typename... P>
int32_t launch(void (*kernel)(P...), const char* block)
{
    std::tuple<P...> values{unpack<P>(block)...};
    const auto before = std::signal(SIGFPE, overflow);
    int32_t status = sigsetjmp(undefined, 1);
    if (status == 0) {
        try {
            std::apply(kernel, values);
        } catch (Stop) {
            status = 1;
        } catch (Trapped) {
            status = 2;
        }
    }
    std::signal(SIGFPE, before);
    return status;
}

} // namespace twin

extern "C" inline void twin_bind(twin::Entry entry) { twin::entry = entry; }

// What g++ calls for a float that becomes an integer that cannot hold it, and for a divisor of 0.
extern "C" {
__attribute__((used, visibility("hidden"))) inline void
__ubsan_handle_float_cast_overflow(void*, void*)
{
    siglongjmp(twin::undefined, 3);
}
__attribute__((used, visibility("hidden"))) inline void
__ubsan_handle_divrem_overflow(void*, void*, void*)
{
    siglongjmp(twin::undefined, 4);
}
}
