"""The parts of `main.cpp` that are the same for all kernels. Imports nothing."""

from __future__ import annotations

_HEAD = """\
// Host program of the kernel @KERNEL@: copies the inputs to the device, launches the kernel on
// @BLOCKS@ of an @CHIP@, copies the results back and compares them with the golden files.
// Returns 0 when they fit, 1 when they do not or something failed, 2 for wrong options.
#include <acl/acl.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

// The build file knows where these are.
#ifndef PROJECT_DIR
#define PROJECT_DIR "."
#endif
#ifndef KERNEL_FILE
#define KERNEL_FILE "kernel.o"
#endif

namespace {

const char* const kKernel = "@KERNEL@";
const char* const kChip = "@CHIP@";
constexpr uint32_t kBlocks = @NUMBER@;
// A kernel that runs longer than this is taken to hang.
constexpr int32_t kTimeoutMs = 600000;
constexpr aclError kTimedOut = 507046;

class Failure : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

std::string describe(const char* call, aclError status)
{
    std::string text = std::string(call) + " returned " + std::to_string(status);
    const char* said = aclGetRecentErrMsg();
    return said != nullptr && *said != '\\0' ? text + ": " + said : text;
}

void check(const char* call, aclError status)
{
    if (status != 0) {
        throw Failure(describe(call, status));
    }
}

#define ACL(call) check(#call, call)

// A piece of device memory. Without an input file it starts as zeros.
struct Memory {
    const char* name;
    size_t bytes;
    const char* input;
    const char* golden;
};

// An array that the kernel writes: elements of a memory, and how far they may be off.
struct Result {
    const char* argument;
    size_t memory;
    size_t offset;
    size_t count;
    const char* dtype;
    bool (*compare)(const Result& result, const char* got, const char* wanted);
    double relative;
    double absolute;
};

// 16-bit floating-point numbers go by their bits.
namespace kernel {
struct half {
    uint16_t bits;
};
struct bfloat16_t {
    uint16_t bits;
};
}  // namespace kernel

[[maybe_unused]] float from_bits(uint32_t bits)
{
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
}

template <typename T>
long double number(T value)
{
    return static_cast<long double>(value);
}

[[maybe_unused]] long double number(kernel::bfloat16_t value)
{
    return from_bits(static_cast<uint32_t>(value.bits) << 16);
}

[[maybe_unused]] long double number(kernel::half value)
{
    const int exponent = value.bits >> 10 & 0x1f;
    const int fraction = value.bits & 0x3ff;
    long double size = std::ldexp(static_cast<long double>(fraction | 0x400), exponent - 25);
    if (exponent == 0) {
        size = std::ldexp(static_cast<long double>(fraction), -24);
    } else if (exponent == 0x1f) {
        size = fraction != 0 ? std::nanl("") : static_cast<long double>(HUGE_VAL);
    }
    return (value.bits & 0x8000) != 0 ? -size : size;
}

template <typename T>
bool compare(const Result& result, const char* got, const char* wanted)
{
    size_t close = 0;
    size_t wrong = 0;
    size_t first = 0;
    long double most = 0;
    const auto element = [](const char* data, size_t k) {
        T value;
        std::memcpy(&value, data + k * sizeof(T), sizeof(T));
        return value;
    };
    for (size_t k = 0; k < result.count; ++k) {
        if (std::memcmp(got + k * sizeof(T), wanted + k * sizeof(T), sizeof(T)) == 0) {
            continue;
        }
        const long double a = number(element(got, k));
        const long double b = number(element(wanted, k));
        const long double error = std::abs(a - b);
        if (std::isfinite(error) && error <= result.absolute + result.relative * std::abs(b)) {
            ++close;
            most = std::max(most, error);
        } else if (!(std::isnan(a) && std::isnan(b)) && wrong++ == 0) {
            first = k;
        }
    }
    std::printf("%s: %zu x %s, ", result.argument, result.count, result.dtype);
    if (wrong != 0) {
        std::printf("%zu wrong, the first is [%zu] = %.9Lg, expected %.9Lg\\n", wrong, first,
            number(element(got, first)), number(element(wanted, first)));
    } else if (close != 0) {
        std::printf("%zu off within the tolerance, by at most %.3Lg\\n", close, most);
    } else {
        std::printf("as expected\\n");
    }
    return wrong == 0;
}

[[maybe_unused]] void* at(const std::vector<void*>& memories, size_t memory, size_t offset)
{
    return static_cast<char*>(memories[memory]) + offset;
}

// -- the kernel's own part ------------------------------------------------------------------------

"""

NO_ARGUMENTS = """\
// The kernel takes no arguments.
struct Arguments {};
constexpr size_t kArgumentBytes = 0;

"""

STRUCTS = """\
// Structs that the kernel takes by value.
namespace kernel {
@STRUCTS@}  // namespace kernel

"""

BLOCK = """\
// The argument block: the kernel's parameters in order, at the places where the kernel looks.
struct alignas(8) Arguments {
@FIELDS@};
constexpr size_t kArgumentBytes = @SIZE@;
static_assert(sizeof(Arguments) == kArgumentBytes);
@CHECKS@
"""

_CALL = """\
    // The runtime copies the block before it returns.
    ACL(aclrtLaunchKernelWithHostArgs(
        function, kBlocks, stream, @CONFIG@, &arguments, kArgumentBytes, nullptr, 0));
}

"""
_START = """\
void launch(aclrtFuncHandle function, aclrtStream stream, Arguments arguments)
{
"""
LAUNCH = _START + _CALL.replace("@CONFIG@", "nullptr")
#: For blocks that wait for one another.
LAUNCH_TOGETHER = (
    _START
    + """\
    // Blocks wait for one another, so all of them have to be started together.
    aclrtLaunchKernelAttr together{};
    together.id = ACL_RT_LAUNCH_KERNEL_ATTR_SCHEM_MODE;
    together.value.schemMode = 1;
    aclrtLaunchKernelCfg config{};
    config.attrs = &together;
    config.numAttrs = 1;
"""
    + _CALL.replace("@CONFIG@", "&config")
)

BODY = """\
// -- the same for all kernels ---------------------------------------------------------------------

struct Options {
    int32_t device = 0;
    std::string kernel = KERNEL_FILE;
    std::string data = PROJECT_DIR;
    std::string results;
};

// What was made is undone in the opposite order, also behind a failure.
class Undo {
public:
    void add(const char* call, std::function<aclError()> step)
    {
        steps_.emplace_back(call, std::move(step));
    }
    void drop() { steps_.clear(); }
    bool run()
    {
        bool good = true;
        while (!steps_.empty()) {
            const auto [call, step] = steps_.back();
            steps_.pop_back();
            const aclError status = step();
            if (status != 0) {
                std::fprintf(stderr, "%s\\n", describe(call, status).c_str());
                good = false;
            }
        }
        return good;
    }

private:
    std::vector<std::pair<const char*, std::function<aclError()>>> steps_;
};

std::vector<char> read(const std::string& folder, const char* name, size_t bytes)
{
    const std::filesystem::path path = std::filesystem::path(folder) / name;
    std::ifstream file(path, std::ios::binary);
    std::vector<char> content(bytes);
    file.read(content.data(), static_cast<std::streamsize>(bytes));
    if (!file || file.peek() != std::ifstream::traits_type::eof()) {
        throw Failure(
            path.string() + " cannot be read or has not " + std::to_string(bytes) + " bytes");
    }
    return content;
}

void write(const std::string& folder, const Memory& memory, const std::vector<char>& content)
{
    std::filesystem::create_directories(folder);
    const std::string name = std::string(memory.name) + ".bin";
    const std::filesystem::path path = std::filesystem::path(folder) / name;
    std::ofstream file(path, std::ios::binary);
    file.write(content.data(), static_cast<std::streamsize>(content.size()));
    file.close();
    if (!file) {
        throw Failure(path.string() + " cannot be written");
    }
}

// Compares what is known; gives how many arrays were compared, and how many of them are right.
std::pair<size_t, size_t> compare_all(
    const Options& options, const std::vector<std::vector<char>>& results)
{
    size_t compared = 0;
    size_t right = 0;
    std::vector<std::vector<char>> golden(kMemories.size());
    for (const Result& result : kResults) {
        const Memory& memory = kMemories[result.memory];
        if (memory.golden == nullptr) {
            std::printf("%s: saved without golden results\\n", result.argument);
            continue;
        }
        if (golden[result.memory].empty()) {
            golden[result.memory] = read(options.data, memory.golden, memory.bytes);
        }
        const char* got = results[result.memory].data() + result.offset;
        const char* wanted = golden[result.memory].data() + result.offset;
        ++compared;
        right += result.compare(result, got, wanted) ? 1 : 0;
    }
    return {compared, right};
}

const char* run(const Options& options, Undo& undo)
{
    ACL(aclInit(nullptr));
    undo.add("aclFinalize", [] { return aclFinalize(); });
    ACL(aclrtSetDevice(options.device));
    undo.add("aclrtResetDevice", [&options] { return aclrtResetDevice(options.device); });
    const char* chip = aclrtGetSocName();
    std::printf("%s, made for %s: %u blocks on device %d, %s\\n", kKernel, kChip, kBlocks,
        options.device, chip != nullptr ? chip : "of an unknown chip");

    std::vector<void*> memories;
    for (const Memory& memory : kMemories) {
        const std::vector<char> content = memory.input != nullptr
            ? read(options.data, memory.input, memory.bytes)
            : std::vector<char>(memory.bytes);
        void* address = nullptr;
        ACL(aclrtMalloc(&address, std::max<size_t>(memory.bytes, 1), ACL_MEM_MALLOC_HUGE_FIRST));
        undo.add("aclrtFree", [address] { return aclrtFree(address); });
        memories.push_back(address);
        if (memory.bytes != 0) {
            ACL(aclrtMemcpy(
                address, memory.bytes, content.data(), memory.bytes, ACL_MEMCPY_HOST_TO_DEVICE));
        }
    }

    // The runtime wants an absolute path.
    const std::string path = std::filesystem::absolute(options.kernel).string();
    aclrtBinHandle binary = nullptr;
    ACL(aclrtBinaryLoadFromFile(path.c_str(), nullptr, &binary));
    undo.add("aclrtBinaryUnLoad", [binary] { return aclrtBinaryUnLoad(binary); });
    aclrtFuncHandle function = nullptr;
    ACL(aclrtBinaryGetFunction(binary, kKernel, &function));

    // Made last, so that it is gone before what its work may use.
    aclrtStream stream = nullptr;
    ACL(aclrtCreateStream(&stream));
    undo.add("aclrtDestroyStream", [stream] { return aclrtDestroyStream(stream); });
    launch(function, stream, pack(memories));
    // A fault of the kernel comes out here.
    const aclError status = aclrtSynchronizeStreamWithTimeout(stream, kTimeoutMs);
    if (status == kTimedOut) {
        // The kernel runs on, and undoing would wait for it: the end of the process has to do.
        undo.drop();
    }
    check("aclrtSynchronizeStreamWithTimeout", status);

    std::vector<std::vector<char>> results(kMemories.size());
    for (const Result& result : kResults) {
        const Memory& memory = kMemories[result.memory];
        std::vector<char>& content = results[result.memory];
        if (content.empty() && memory.bytes != 0) {
            content.resize(memory.bytes);
            ACL(aclrtMemcpy(content.data(), memory.bytes, memories[result.memory], memory.bytes,
                ACL_MEMCPY_DEVICE_TO_HOST));
            if (!options.results.empty()) {
                write(options.results, memory, content);
            }
        }
    }
    const auto [compared, right] = compare_all(options, results);
    if (compared != right) {
        return "FAIL";
    }
    return compared != 0 ? "PASS" : "DONE, nothing was compared";
}

bool parse(int argc, char** argv, Options& options)
{
    for (int k = 1; k < argc; k += 2) {
        const std::string name = argv[k];
        if (k + 1 == argc) {
            return false;
        }
        if (name == "--device") {
            char* end = nullptr;
            options.device = static_cast<int32_t>(std::strtol(argv[k + 1], &end, 10));
            if (end == argv[k + 1] || *end != '\\0') {
                return false;
            }
        } else if (name == "--kernel") {
            options.kernel = argv[k + 1];
        } else if (name == "--data") {
            options.data = argv[k + 1];
        } else if (name == "--results") {
            options.results = argv[k + 1];
        } else {
            return false;
        }
    }
    return true;
}

}  // namespace

int main(int argc, char** argv)
{
    Options options;
    if (!parse(argc, argv, options)) {
        std::fprintf(stderr,
            "usage: %s [--device N] [--kernel FILE] [--data DIR] [--results DIR]\\n"
            "--kernel   the binary, by default " KERNEL_FILE "\\n"
            "--data     the folder that has data/, by default " PROJECT_DIR "\\n"
            "--results  a folder to write the results to\\n",
            argv[0]);
        return 2;
    }
    Undo undo;
    std::string verdict = "FAIL";
    try {
        verdict = run(options, undo);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "%s\\n", failure.what());
    }
    if (!undo.run()) {
        verdict = "FAIL";
    }
    std::printf("%s\\n", verdict.c_str());
    return verdict == "FAIL" ? 1 : 0;
}
"""


def head(kernel: str, chip: str, blocks: int) -> str:
    """What comes in front of the kernel's own part."""
    words = f"{blocks} block{'s' * (blocks != 1)}"
    text = _HEAD.replace("@KERNEL@", kernel).replace("@CHIP@", chip)
    return text.replace("@BLOCKS@", words).replace("@NUMBER@", str(blocks))
