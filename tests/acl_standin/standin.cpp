/* A stand-in for the ACL runtime: the same functions, without a device.
 *
 * Stricter than a device where that finds mistakes. Work of streams runs as late as possible, when
 * something waits for it. Device memory lies in a region of its own that nobody can read or write
 * from outside; it starts as 0xA5 and has guard bytes around each allocation. Handles, contexts and
 * the side of each pointer are checked. What is left at exit is told (ACL_STANDIN_REPORT names a
 * file). ACL_STANDIN_FAULT="function:code[:skip]" injects a failure from the start.
 */
#include "acl.h"
#include "standin.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace {

constexpr int UNINITIALIZED = 100001, REPEAT_INITIALIZE = 100002, INVALID_FILE = 100003, REPEAT_FINALIZE = 100037;
constexpr int INVALID = 107000, INVALID_DEVICE = 107001, NO_CONTEXT = 107002, WRONG_CONTEXT = 107003;
constexpr int NOT_RECORDED = 107006, REVERSED = 107007, FILE_OPEN = 107009, INVALID_HANDLE = 107017;
constexpr int OUT_OF_MEMORY = 207001, NOT_SUPPORTED = 207000, LOOKUP = 507027, CORE_FAULT = 507015;
constexpr int FOLLOW_ON = 507899;

constexpr size_t REGION = size_t(1) << 32;
constexpr size_t GUARD = 64;
constexpr unsigned char POISON = 0xA5, GUARD_BYTE = 0xC3;

struct Stream;
struct Device;

struct Event {
    int device;
    bool recorded = false;   // record was called
    bool happened = false;   // and the stream came there
    double at = 0;
    Stream* stream = nullptr;
};

struct Task {
    std::function<int()> run;
    Event* records = nullptr;
    Event* waits = nullptr;
};

struct Stream {
    int device;
    bool stop = false;
    bool running = false;
    std::deque<Task> tasks;
};

struct Binary {
    int device;
    void* object;
    std::string path;
};

struct Function {
    Binary* binary;
    standin_entry entry;
    bool whole;   // the entry runs all blocks
    uint32_t args_size;
    std::string name;
};

struct Device {
    int sets = 0;
    int fault = 0;
    Stream* standard = nullptr;
    size_t used = 0;
};

struct Injection {
    int code, skip, times;
    std::string text;
};

std::recursive_mutex lock;
std::map<uintptr_t, std::pair<size_t, int>> memory;   // address -> size, device
std::map<void*, Stream*> streams;
std::map<void*, Event*> events;
std::map<void*, Binary*> binaries;
std::map<void*, Function*> functions;
std::map<int, Device> devices;
std::map<std::string, std::vector<Injection>> injections;
std::map<std::string, int64_t> calls;
unsigned char* region = nullptr;
size_t top = 0;
int init_count = 0;
int device_count = 2;
int open_count = 0;
int last_schedule = 0;
int64_t max_blocks = 0;
size_t device_memory = size_t(1) << 30;
std::string soc = "Ascend910B1";
void* user = nullptr;
std::string spoken;
thread_local int current = -1;
thread_local std::string message, fetched;

std::string words(const char* format, ...) __attribute__((format(printf, 1, 2)));
std::string words(const char* format, ...) {
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return text;
}

int fail(int code, const std::string& text) {
    message = text;
    return code;
}

/* What every function does first: counts, injected failures. */
int entered(const char* name, int64_t& count) {
    ++count;
    static bool first = true;
    if (!first && injections.empty()) return 0;
    if (first) {
        first = false;
        if (const char* text = getenv("ACL_STANDIN_FAULT")) {
            char function[128];
            int code = 0, skip = 0;
            if (sscanf(text, "%127[^:]:%d:%d", function, &code, &skip) >= 2) {
                injections[function].push_back({code, skip, 1, "injected by the environment"});
            }
        }
    }
    auto found = injections.find(name);
    if (found == injections.end() || found->second.empty()) {
        return 0;
    }
    Injection& one = found->second.front();
    if (one.skip > 0) {
        --one.skip;
        return 0;
    }
    message = one.text;
    int code = one.code;
    if (one.times > 0 && --one.times == 0) {
        found->second.erase(found->second.begin());
        if (found->second.empty()) injections.erase(found);
    }
    return code;
}

#define LOCKED()                                       \
    std::lock_guard<std::recursive_mutex> guard(lock); \
    static int64_t& count_ = calls[__func__]

#define ENTER() \
    LOCKED();   \
    if (int code = entered(__func__, count_)) return code

#define NEED_INIT() \
    if (!init_count) return fail(UNINITIALIZED, words("%s before aclInit", __func__))

#define NEED_CONTEXT()                                                                      \
    ENTER();                                                                                \
    NEED_INIT();                                                                            \
    if (current < 0 || !devices[current].sets) return fail(NO_CONTEXT, words("%s without a context", __func__))

#define NEED(condition, code, ...) \
    if (!(condition)) return fail(code, words(__VA_ARGS__))

void open_memory() {
    if (!open_count++) {
        mprotect(region, REGION, PROT_READ | PROT_WRITE);
    }
}

void close_memory() {
    if (!--open_count) {
        mprotect(region, REGION, PROT_NONE);
    }
}

struct Opened {
    Opened() { open_memory(); }
    ~Opened() { close_memory(); }
};

bool make_region() {
    if (!region) {
        void* wanted = reinterpret_cast<void*>(uintptr_t(0x120000000000));
        void* got = mmap(wanted, REGION, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        region = got == MAP_FAILED ? nullptr : static_cast<unsigned char*>(got);
    }
    return region != nullptr;
}

bool in_region(const void* address) {
    auto at = static_cast<const unsigned char*>(address);
    return region && at >= region && at < region + REGION;
}

/* The allocation that has all of a range. */
bool on_device(const void* address, size_t size, int device) {
    auto at = reinterpret_cast<uintptr_t>(address);
    auto next = memory.upper_bound(at);
    if (next == memory.begin()) return false;
    auto& [start, extent] = *--next;
    return at + size <= start + extent.first && extent.second == device;
}

bool guards_hold(uintptr_t address, size_t size) {
    auto* at = reinterpret_cast<unsigned char*>(address);
    for (size_t k = 0; k < GUARD; ++k) {
        if (at[-1 - static_cast<long>(k)] != GUARD_BYTE || at[size + k] != GUARD_BYTE) return false;
    }
    return true;
}

void fill_guards(uintptr_t address, size_t size) {
    auto* at = reinterpret_cast<unsigned char*>(address);
    memset(at - GUARD, GUARD_BYTE, GUARD);
    memset(at + size, GUARD_BYTE, GUARD);
}

double now_ms() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e3 + time.tv_nsec * 1e-6;
}

int run_stream(Stream* stream, Event* until = nullptr);

int run_task(Stream* stream, Task& task) {
    if (task.waits && !task.waits->happened && task.waits->stream) {
        if (int code = run_stream(task.waits->stream, task.waits)) return code;
    }
    int code = task.run ? task.run() : 0;
    if (task.records) {
        task.records->happened = true;
        task.records->at = now_ms();
    }
    (void)stream;
    return code;
}

/* Run what a stream has, or up to where an event is recorded. */
int run_stream(Stream* stream, Event* until) {
    Device& device = devices[stream->device];
    if (device.fault) return fail(FOLLOW_ON, "the device had a fault before");
    if (stream->running) return 0;
    stream->running = true;
    int code = 0;
    while (!stream->tasks.empty() && !code) {
        Task task = std::move(stream->tasks.front());
        stream->tasks.pop_front();
        code = run_task(stream, task);
        if (until && until->happened) break;
    }
    stream->running = false;
    if (code) {
        device.fault = code;
        stream->tasks.clear();
    }
    return code;
}

int run_device(int number) {
    for (auto& [handle, stream] : streams) {
        if (stream->device == number) {
            if (int code = run_stream(stream)) return code;
        }
    }
    return 0;
}

void say(const char* text) { spoken = text; }

int run_kernel(Function* function, uint32_t blocks, const std::vector<uint64_t>& args, uint32_t size) {
    spoken.clear();
    Opened opened;
    std::vector<standin_range> ranges;
    for (auto& [address, extent] : memory) {
        if (extent.second == function->binary->device) ranges.push_back({address, extent.first});
    }
    standin_launch launch{STANDIN_ABI, 0, blocks, size, nullptr, say, user, ranges.data(), ranges.size()};
    std::vector<unsigned char> room(args.size() * 8 + 32);
    auto aligned = (reinterpret_cast<uintptr_t>(room.data()) + 15) / 16 * 16;
    launch.args = reinterpret_cast<void*>(aligned);
    int code = 0;
    for (; launch.block < (function->whole ? 1 : blocks) && !code; ++launch.block) {
        memcpy(const_cast<void*>(launch.args), args.data(), size);
        code = function->entry(&launch);
    }
    for (auto& [address, extent] : memory) {
        if (!guards_hold(address, extent.first)) {
            fill_guards(address, extent.first);
            if (!code) {
                code = CORE_FAULT;
                spoken = "errorStr: The DDR address of the MTE instruction is out of range.";
            }
        }
    }
    if (code) {
        fail(code, words("core %u stopped, fault kernel_name=%s\n%s", launch.block ? launch.block - 1 : 0,
                         function->name.c_str(), spoken.c_str()));
    }
    return code;
}

Stream* stream_of(aclrtStream handle) {
    if (!handle) {
        Stream*& standard = devices[current].standard;
        if (!standard) standard = new Stream{current};
        return standard;
    }
    auto found = streams.find(handle);
    return found == streams.end() ? nullptr : found->second;
}

#define STREAM(name, handle)                                                                     \
    Stream* name = stream_of(handle);                                                            \
    NEED(name, INVALID_HANDLE, "%s: no such stream", __func__);                                  \
    NEED(name->device == current, WRONG_CONTEXT, "%s: the stream is of another device", __func__)

#define EVENT(name, handle)                                          \
    NEED(events.count(handle), INVALID_HANDLE, "%s: no such event", __func__); \
    Event* name = events[handle]

std::string report() {
    std::string text;
    for (auto& [address, extent] : memory) text += words("memory %#zx %zu bytes\n", size_t(address), extent.first);
    for (auto& one : streams) text += words("stream %p\n", one.first);
    for (auto& one : events) text += words("event %p\n", one.first);
    for (auto& [handle, binary] : binaries) text += words("binary %p %s\n", handle, binary->path.c_str());
    for (auto& [number, device] : devices) {
        if (device.sets) text += words("device %d: set %d\n", number, device.sets);
    }
    if (init_count) text += words("init %d\n", init_count);
    return text;
}

struct AtExit {
    ~AtExit() {
        const char* path = getenv("ACL_STANDIN_REPORT");
        if (!path) return;
        if (FILE* file = fopen(path, "w")) {
            std::string text = report();
            fputs(text.empty() ? "nothing left\n" : text.c_str(), file);
            fclose(file);
        }
    }
} at_exit;

}  // namespace

/* -- the process */

aclError aclInit(const char*) {
    ENTER();
    NEED(make_region(), OUT_OF_MEMORY, "no address space for device memory");
    return init_count++ ? fail(REPEAT_INITIALIZE, "aclInit was called before") : 0;
}

static aclError finalize(bool all) {
    if (!init_count) return fail(REPEAT_FINALIZE, "not initialised");
    init_count = all ? 0 : init_count - 1;
    return 0;
}

aclError aclFinalize() {
    ENTER();
    return finalize(true);
}

aclError aclFinalizeReference(uint64_t* count) {
    ENTER();
    int code = finalize(false);
    if (count) *count = init_count;
    return code;
}

const char* aclGetRecentErrMsg() {
    LOCKED();
    entered(__func__, count_);
    fetched.swap(message);
    message.clear();
    return fetched.empty() ? nullptr : fetched.c_str();
}

/* -- devices */

aclError aclrtGetDeviceCount(uint32_t* count) {
    ENTER();
    NEED_INIT();
    *count = device_count;
    return 0;
}

aclError aclrtSetDevice(int32_t number) {
    ENTER();
    NEED_INIT();
    NEED(number >= 0 && number < device_count, INVALID_DEVICE, "device %d of %d", number, device_count);
    ++devices[number].sets;
    current = number;
    return 0;
}

aclError aclrtGetDevice(int32_t* number) {
    NEED_CONTEXT();
    *number = current;
    return 0;
}

aclError aclrtResetDevice(int32_t number) {
    ENTER();
    NEED_INIT();
    NEED(devices.count(number) && devices[number].sets, INVALID_DEVICE, "device %d is not set", number);
    Device& device = devices[number];
    if (!--device.sets) {
        delete device.standard;
        device = Device{};
        if (current == number) current = -1;
    }
    return 0;
}

aclError aclrtGetCurrentContext(aclrtContext* context) {
    ENTER();
    if (current < 0 || !devices[current].sets) return fail(NO_CONTEXT, "no context in this thread");
    *context = &devices[current];
    return 0;
}

aclError aclrtSynchronizeDevice() {
    NEED_CONTEXT();
    if (devices[current].fault) return fail(FOLLOW_ON, "the device had a fault before");
    if (Stream* standard = devices[current].standard) {
        if (int code = run_stream(standard)) return code;
    }
    return run_device(current);
}

const char* aclrtGetSocName() {
    LOCKED();
    return entered(__func__, count_) ? nullptr : soc.c_str();
}

aclError aclrtGetDeviceInfo(uint32_t number, aclrtDevAttr attr, int64_t* value) {
    NEED_CONTEXT();
    NEED(int(number) < device_count, INVALID_DEVICE, "device %u", number);
    NEED(attr == ACL_DEV_ATTR_MAX_BLOCK_PER_GRID && max_blocks, NOT_SUPPORTED, "attribute %d", int(attr));
    *value = max_blocks;
    return 0;
}

/* -- streams */

aclError aclrtCreateStream(aclrtStream* handle) {
    NEED_CONTEXT();
    auto* stream = new Stream{current};
    streams[stream] = stream;
    *handle = stream;
    return 0;
}

aclError aclrtSetStreamFailureMode(aclrtStream handle, uint64_t mode) {
    NEED_CONTEXT();
    NEED(handle && mode <= 1, INVALID, "mode %zu of a stream", size_t(mode));
    STREAM(stream, handle);
    stream->stop = mode == 1;
    return 0;
}

aclError aclrtSynchronizeStream(aclrtStream handle) {
    NEED_CONTEXT();
    STREAM(stream, handle);
    return run_stream(stream);
}

aclError aclrtSynchronizeStreamWithTimeout(aclrtStream handle, int32_t timeout) {
    NEED_CONTEXT();
    NEED(timeout >= -1, INVALID, "a timeout of %d ms", timeout);
    STREAM(stream, handle);
    return run_stream(stream);
}

aclError aclrtStreamQuery(aclrtStream handle, aclrtStreamStatus* status) {
    NEED_CONTEXT();
    STREAM(stream, handle);
    *status = stream->tasks.empty() ? ACL_STREAM_STATUS_COMPLETE : ACL_STREAM_STATUS_NOT_READY;
    if (!stream->tasks.empty()) {
        /* Who asks again and again gets there. */
        Task task = std::move(stream->tasks.front());
        stream->tasks.pop_front();
        if (int code = run_task(stream, task)) return devices[current].fault = code;
    }
    return 0;
}

aclError aclrtStreamWaitEvent(aclrtStream handle, aclrtEvent which) {
    NEED_CONTEXT();
    STREAM(stream, handle);
    EVENT(event, which);
    stream->tasks.push_back({nullptr, nullptr, event->recorded ? event : nullptr});
    return 0;
}

aclError aclrtDestroyStream(aclrtStream handle) {
    NEED_CONTEXT();
    NEED(handle, INVALID, "the default stream cannot be destroyed");
    STREAM(stream, handle);
    int code = devices[current].fault ? 0 : run_stream(stream);
    streams.erase(handle);
    for (auto& one : events) {
        if (one.second->stream == stream) one.second->stream = nullptr;
    }
    delete stream;
    return code;
}

/* -- events */

aclError aclrtCreateEventWithFlag(aclrtEvent* handle, uint32_t flag) {
    NEED_CONTEXT();
    NEED(!(flag & ~0xBu), INVALID, "an event with flag %#x", flag);
    auto* event = new Event{current};
    events[event] = event;
    *handle = event;
    return 0;
}

aclError aclrtRecordEvent(aclrtEvent which, aclrtStream handle) {
    NEED_CONTEXT();
    STREAM(stream, handle);
    EVENT(event, which);
    event->recorded = true;
    event->happened = false;
    event->stream = stream;
    stream->tasks.push_back({nullptr, event, nullptr});
    return 0;
}

aclError aclrtSynchronizeEvent(aclrtEvent which) {
    NEED_CONTEXT();
    EVENT(event, which);
    if (!event->recorded || event->happened || !event->stream) return 0;
    return run_stream(event->stream, event);
}

aclError aclrtQueryEventStatus(aclrtEvent which, aclrtEventRecordedStatus* status) {
    NEED_CONTEXT();
    EVENT(event, which);
    *status = event->happened ? ACL_EVENT_RECORDED_STATUS_COMPLETE : ACL_EVENT_RECORDED_STATUS_NOT_READY;
    return 0;
}

aclError aclrtEventElapsedTime(float* ms, aclrtEvent first, aclrtEvent second) {
    NEED_CONTEXT();
    EVENT(start, first);
    EVENT(end, second);
    NEED(start->happened && end->happened, NOT_RECORDED, "an event has not happened yet");
    NEED(start->at <= end->at, REVERSED, "the events are the wrong way round");
    *ms = static_cast<float>(end->at - start->at);
    return 0;
}

aclError aclrtDestroyEvent(aclrtEvent which) {
    NEED_CONTEXT();
    EVENT(event, which);
    events.erase(which);
    for (auto& one : streams) {
        for (Task& task : one.second->tasks) {
            if (task.records == event) task.records = nullptr;
            if (task.waits == event) task.waits = nullptr;
        }
    }
    delete event;
    return 0;
}

/* -- memory */

aclError aclrtMalloc(void** address, size_t size, aclrtMemMallocPolicy) {
    NEED_CONTEXT();
    NEED(size, INVALID, "aclrtMalloc of 0 bytes");
    size_t room = (size + 31) / 32 * 32 + 2 * GUARD;
    Device& device = devices[current];
    NEED(device.used + size <= device_memory && top + room <= REGION, OUT_OF_MEMORY, "no %zu bytes left", size);
    auto at = reinterpret_cast<uintptr_t>(region) + top + GUARD;
    top += room;
    Opened opened;
    memset(reinterpret_cast<void*>(at), POISON, size);
    fill_guards(at, size);
    memory[at] = {size, current};
    device.used += size;
    *address = reinterpret_cast<void*>(at);
    return 0;
}

aclError aclrtFree(void* address) {
    NEED_CONTEXT();
    auto found = memory.find(reinterpret_cast<uintptr_t>(address));
    NEED(found != memory.end(), INVALID, "aclrtFree of %p, which was not allocated", address);
    Opened opened;
    memset(address, POISON, found->second.first);
    devices[found->second.second].used -= found->second.first;
    memory.erase(found);
    if (memory.empty()) top = 0;
    return 0;
}

aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t* free, size_t* total) {
    NEED_CONTEXT();
    NEED(attr == ACL_HBM_MEM, INVALID, "kind of memory %d", int(attr));
    *free = device_memory - devices[current].used;
    *total = device_memory;
    return 0;
}

aclError aclrtMemcpy(void* target, size_t most, const void* source, size_t count, aclrtMemcpyKind kind) {
    NEED_CONTEXT();
    if (devices[current].fault) return fail(FOLLOW_ON, "the device had a fault before");
    NEED(target && source && count && count <= most, INVALID, "a copy of %zu bytes into %zu", count, most);
    NEED(kind >= ACL_MEMCPY_HOST_TO_DEVICE && kind <= ACL_MEMCPY_DEVICE_TO_DEVICE, INVALID, "kind %d", int(kind));
    bool from = kind != ACL_MEMCPY_HOST_TO_DEVICE, to = kind != ACL_MEMCPY_DEVICE_TO_HOST;
    NEED(from ? on_device(source, count, current) : !in_region(source), INVALID,
         "the source %p is not memory of the %s", source, from ? "device" : "host");
    NEED(to ? on_device(target, count, current) : !in_region(target), INVALID,
         "the destination %p is not memory of the %s", target, to ? "device" : "host");
    Opened opened;
    memmove(target, source, count);
    return 0;
}

/* -- kernels */

aclError aclrtBinaryLoadFromFile(const char* path, aclrtBinaryLoadOptions*, aclrtBinHandle* handle) {
    NEED_CONTEXT();
    NEED(path && path[0] == '/', FILE_OPEN, "the path %s is not absolute", path ? path : "(null)");
    struct stat status;
    NEED(!stat(path, &status), FILE_OPEN, "%s does not exist", path);
    void* object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    NEED(object, INVALID_FILE, "%s", dlerror());
    auto* binary = new Binary{current, object, path};
    binaries[binary] = binary;
    *handle = binary;
    return 0;
}

aclError aclrtBinaryGetFunction(const aclrtBinHandle handle, const char* name, aclrtFuncHandle* result) {
    NEED_CONTEXT();
    NEED(binaries.count(handle), INVALID_HANDLE, "no such binary");
    Binary* binary = binaries[handle];
    std::string symbol(name);
    void* grid = dlsym(binary->object, (symbol + "_grid").c_str());
    void* entry = grid ? grid : dlsym(binary->object, (symbol + "_entry").c_str());
    void* size = dlsym(binary->object, (symbol + "_args_size").c_str());
    NEED(entry && size, LOOKUP, "%s has no kernel %s", binary->path.c_str(), name);
    auto* function = new Function{binary, reinterpret_cast<standin_entry>(entry), grid != nullptr,
                                  *static_cast<uint32_t*>(size), name};
    functions[function] = function;
    *result = function;
    return 0;
}

aclError aclrtBinaryUnLoad(aclrtBinHandle handle) {
    NEED_CONTEXT();
    NEED(binaries.count(handle), INVALID_HANDLE, "no such binary");
    Binary* binary = binaries[handle];
    for (auto at = functions.begin(); at != functions.end();) {
        if (at->second->binary == binary) {
            delete at->second;
            at = functions.erase(at);
        } else {
            ++at;
        }
    }
    dlclose(binary->object);
    binaries.erase(handle);
    delete binary;
    return 0;
}

aclError aclrtLaunchKernelWithHostArgs(aclrtFuncHandle handle, uint32_t blocks, aclrtStream queue,
    aclrtLaunchKernelCfg* config, void* args, size_t size, aclrtPlaceHolderInfo* holders, size_t holder_count) {
    NEED_CONTEXT();
    auto found = functions.find(handle);
    NEED(found != functions.end(), INVALID_HANDLE, "no such function");
    Function* function = found->second;
    NEED(function->binary->device == current, INVALID_HANDLE, "the function is of another device");
    STREAM(stream, queue);
    if (devices[current].fault) return fail(FOLLOW_ON, "the device had a fault before");
    NEED(blocks && blocks <= 65535, INVALID, "%u blocks", blocks);
    NEED(!holders && !holder_count, NOT_SUPPORTED, "placeholders");
    NEED(args || !size, INVALID, "no arguments");
    NEED(!in_region(args), INVALID, "the argument block lies in device memory");
    NEED(size == function->args_size, INVALID, "%s takes %u bytes of arguments, not %zu", function->name.c_str(),
         function->args_size, size);
    last_schedule = 0;
    for (size_t k = 0; config && k < config->numAttrs; ++k) {
        NEED(config->attrs[k].id == ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE, NOT_SUPPORTED, "launch attribute %d",
             int(config->attrs[k].id));
        last_schedule = config->attrs[k].value.schemMode;
    }
    std::vector<uint64_t> copy((size + 7) / 8);
    memcpy(copy.data(), args, size);
    auto run = [function, blocks, size, copy = std::move(copy)] { return run_kernel(function, blocks, copy, size); };
    stream->tasks.push_back({std::move(run), nullptr, nullptr});
    return 0;
}

aclError aclrtGetHardwareSyncAddr(void** address) {
    NEED_CONTEXT();
    *address = reinterpret_cast<void*>(standin_sync_address());
    return 0;
}

/* -- control */

void standin_inject(const char* function, int code, int skip, int times, const char* text) {
    std::lock_guard<std::recursive_mutex> guard(lock);
    injections[function].push_back({code, skip, times, text ? text : ""});
}

int standin_injections_left() {
    std::lock_guard<std::recursive_mutex> guard(lock);
    int left = 0;
    for (auto& one : injections) left += one.second.size();
    return left;
}

int64_t standin_calls(const char* function) {
    std::lock_guard<std::recursive_mutex> guard(lock);
    if (function) return calls[function];
    int64_t sum = 0;
    for (auto& one : calls) sum += one.second;
    return sum;
}

size_t standin_report(char* text, size_t size) {
    std::lock_guard<std::recursive_mutex> guard(lock);
    std::string all = report();
    if (size) {
        strncpy(text, all.c_str(), size - 1);
        text[size - 1] = 0;
    }
    return all.size();
}

void standin_reset() {
    std::lock_guard<std::recursive_mutex> guard(lock);
    for (auto& one : streams) delete one.second;
    for (auto& one : events) delete one.second;
    for (auto& one : functions) delete one.second;
    for (auto& one : binaries) {
        dlclose(one.second->object);
        delete one.second;
    }
    for (auto& one : devices) delete one.second.standard;
    streams.clear(), events.clear(), functions.clear(), binaries.clear(), devices.clear();
    memory.clear(), injections.clear();
    for (auto& one : calls) one.second = 0;
    top = 0, init_count = 0, current = -1, last_schedule = 0;
    device_count = 2, max_blocks = 0, device_memory = size_t(1) << 30, soc = "Ascend910B1", user = nullptr;
    message.clear();
}

void standin_configure(int count, const char* name, int64_t blocks, size_t bytes) {
    std::lock_guard<std::recursive_mutex> guard(lock);
    if (count) device_count = count;
    if (name) soc = name;
    if (blocks) max_blocks = blocks;
    if (bytes) device_memory = bytes;
}

void standin_set_user(void* value) { user = value; }

uint64_t standin_sync_address() { return 0x12345678000ull; }

int standin_last_schedule() { return last_schedule; }
