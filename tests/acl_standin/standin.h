/* The contract between the stand-in for the ACL runtime and what it runs as kernels.
 *
 * A "kernel binary" is a shared object for the host. For each kernel `k` that the launcher may look
 * up it exports
 *
 *     extern "C" { uint32_t k_args_size; }                    the bytes of its argument block
 *     extern "C" int k_entry(const standin_launch* launch);   runs one block
 *     extern "C" int k_grid(const standin_launch* launch);    in its place: runs all blocks
 *
 * `k_entry` is called once a block, block 0 first, `k_grid` once with block 0, when the stream comes
 * to the launch: inside the call that waits for it, in that caller's thread, so that a Python
 * callback works. Device memory is
 * mapped at the addresses that the block has only while kernels and copies run; a fault of the host
 * (a wild pointer) is not caught. After each launch the surroundings of all allocations are
 * checked, and a write there is the fault of that launch.
 *
 * They return 0, or the code that waiting for the stream gives, for instance 507015; `say` then has
 * the words of the error message.
 */
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

#define STANDIN_ABI 2

/* One allocation. */
typedef struct standin_range {
    uint64_t address;
    uint64_t size;
} standin_range;


typedef struct standin_launch {
    uint32_t abi;          /* STANDIN_ABI */
    uint32_t block;        /* 0 ... blocks - 1 */
    uint32_t blocks;
    uint32_t args_size;
    const void* args;      /* the argument block as it was at the launch, aligned to 16 */
    void (*say)(const char* text);
    void* user;            /* whatever standin_set_user was given */
    const standin_range* memory;   /* what is allocated on the device, by address */
    uint64_t memory_count;
} standin_launch;

typedef int (*standin_entry)(const standin_launch* launch);

/* -- control, for tests */

/* The next call of `function`, after `skip` more, gives `code` and does nothing; `text` becomes the
 * recent message. `times` such calls in a row; -1: all from then on. */
void standin_inject(const char* function, int code, int skip, int times, const char* text);
/* Injected failures that have not happened. */
int standin_injections_left();
/* Calls of a function since the last reset; of all functions for a null name. */
int64_t standin_calls(const char* function);
/* What is alive, one line each: "memory 0x... 64 bytes", "stream 0x...", "event", "binary",
 * "device 0: set 1", "init 1". Returns the length; "" means that nothing leaks. */
size_t standin_report(char* text, size_t size);
/* Forget everything: handles, memory, faults, injections, counts. */
void standin_reset();
/* `devices` devices of a chip with a largest grid and bytes of memory each; 0, null: leave. */
void standin_configure(int devices, const char* soc, int64_t max_blocks, size_t memory);
void standin_set_user(void* user);
/* The address aclrtGetHardwareSyncAddr gives. */
uint64_t standin_sync_address();
/* The schedule mode of the last launch: 0 without a config. */
int standin_last_schedule();
}
