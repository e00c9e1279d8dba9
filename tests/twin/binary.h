// What makes a "kernel binary" of the ACL stand-in (standin.h) of an emitted text: it is compiled
// in front of TWIN_BINARY(name, meets), which exports the entry that runs the text's kernel; meets
// says whether blocks may wait for one another.
#pragma once
#include "kernel_operator.h"
#include "standin.h"

// What newer compilers have the text say of the cores, and what a mixed kernel begins with.
#define __vector__
#define __cube__
#define __mix__(cube, vector)
inline void set_ffts_base_addr(uint64_t) {}

namespace twin {

// One block of a kernel, its calls going to `entry`.
typedef int32_t (*Block)(Entry entry, const void* args);

// What the stand-in's user pointer points to: runs all blocks of a launch, in Python.
struct Host {
    int (*run)(const standin_launch* launch, Block block, int32_t meets);
};

// The bytes of the argument block of a kernel, by its own parameters.
template <typename... P>
constexpr uint32_t block_size(void (*)(P...))
{
    uintptr_t at = 0;
    ((at = (at + alignment<P> - 1) / alignment<P> * alignment<P> + sizeof(P)), ...);
    return static_cast<uint32_t>((at + 7) / 8 * 8);
}

} // namespace twin

#define TWIN_BINARY(name, meets)                                                           \
    static int32_t twin_block(twin::Entry entry, const void* args)                  \
    {                                                                               \
        twin::entry = entry;                                                        \
        return twin::launch(&name, static_cast<const char*>(args));                 \
    }                                                                               \
    extern "C" uint32_t name##_args_size = twin::block_size(&name);                 \
    extern "C" int name##_grid(const standin_launch* launch)                        \
    {                                                                               \
        if (launch->abi != STANDIN_ABI || !launch->user) return 507000;             \
        return static_cast<const twin::Host*>(launch->user)->run(launch, twin_block, meets); \
    }
