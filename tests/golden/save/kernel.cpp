// scaled: asctrace 0.1.0, Ascend910B1. x, z: float32; tile = 8
#include "kernel_operator.h"

struct Shape {
    int32_t length;
    float scale;
};

static_assert(sizeof(Shape) == 8);

extern "C" __global__ __aicore__ void scaled(__gm__ float* x, __gm__ float* z, Shape shape)
{
    const int32_t start = static_cast<int32_t>(AscendC::GetBlockIdx()) * shape.length;
    AscendC::GlobalTensor<float> x_gm;
    AscendC::GlobalTensor<float> z_gm;
    x_gm.SetGlobalBuffer(x + start);
    z_gm.SetGlobalBuffer(z + start);
    AscendC::TPipe pipe;
    AscendC::TQue<AscendC::TPosition::VECIN, 1> inputs;
    AscendC::TQue<AscendC::TPosition::VECOUT, 1> outputs;
    pipe.InitBuffer(inputs, 1, 32);
    pipe.InitBuffer(outputs, 1, 32);
    for (int32_t at = 0; at < shape.length; at += 8) {
        AscendC::LocalTensor<float> local = inputs.AllocTensor<float>();
        AscendC::DataCopy(local, x_gm[at], 8);
        inputs.EnQue(local);
        local = inputs.DeQue<float>();
        AscendC::LocalTensor<float> result = outputs.AllocTensor<float>();
        AscendC::Muls(result, local, shape.scale, 8);
        outputs.EnQue(result);
        inputs.FreeTensor(local);
        result = outputs.DeQue<float>();
        AscendC::DataCopy(z_gm[at], result, 8);
        outputs.FreeTensor(result);
    }
}
