// What the scalar part of emitted kernels needs, for g++ on the host.
#pragma once
#include <cstdarg>
#include <cstdint>
#define __aicore__
#define __global__
#define __gm__
static int32_t g_memory[256];
static int32_t g_log[1 << 16];
static int32_t g_logged;
namespace AscendC {
enum class TPosition { GM, VECIN, VECOUT, VECCALC };
static int64_t GetBlockIdx() { return 3; }
template <typename T>
class LocalTensor {
public:
    LocalTensor() : at_(0) {}
    LocalTensor(TPosition, uint32_t at, uint32_t) : at_(at / sizeof(T)) {}
    T GetValue(uint32_t k) const { return g_memory[(at_ + k) % 256]; }
    template <typename S>
    void SetValue(uint32_t k, const S value) const
    {
        g_memory[(at_ + k) % 256] = value;
        if (g_logged + 2 < (1 << 16)) {
            g_log[g_logged++] = (at_ + k) % 256;
            g_log[g_logged++] = value;
        }
    }
    LocalTensor operator[](uint32_t k) const
    {
        LocalTensor view;
        view.at_ = at_ + k;
        return view;
    }

private:
    uint32_t at_;
};
} // namespace AscendC
