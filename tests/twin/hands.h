// The rest of the header, behind prelude.h. A line that begins with a colon is replaced by what is
// made from the op table (header.py), the name of a row between at signs, perhaps with a colon and
// that of one of its forms, by the number of an overload.

namespace twin {
//:codes
} // namespace twin

//:global enums
namespace AscendC {
//:enums

struct ShapeInfo {
    uint8_t shapeDim = 0;
    uint8_t originalShapeDim = 0;
    uint32_t shape[8] = {};
    uint32_t originalShape[8] = {};
    DataFormat dataFormat = DataFormat::ND;

    ShapeInfo() = default;
    ShapeInfo(
        uint8_t count, const uint32_t* dims, uint8_t before, const uint32_t* original,
        DataFormat format)
        : shapeDim(count), originalShapeDim(before), dataFormat(format)
    {
        std::memcpy(shape, dims, count * sizeof(uint32_t));
        std::memcpy(originalShape, original, before * sizeof(uint32_t));
    }
    void add(twin::Call& call) const
    {
        call.add(twin::GROUP).whole = shapeDim == 0 ? 0 : 5;
        if (shapeDim != 0) {
            call.number(shapeDim);
            call.numbers(shape, shapeDim);
            call.number(originalShapeDim);
            call.numbers(originalShape, originalShapeDim);
            call.number(static_cast<int32_t>(dataFormat));
        }
    }
};

//:structs

// -- objects --------------------------------------------------------------------------------------

//:objects

template <typename T>
struct GlobalTensor;

template <typename T>
struct LocalTensor : twin::Object {
    ShapeInfo shapeInfo;

    LocalTensor() { type = twin::Code<T>::value; }
    LocalTensor(TPosition position, uint32_t address, uint32_t size)
    {
        type = twin::Code<T>::value;
        twin::Call call(@LocalTensor:make@);
        call.dtype<T>();
        call.number(static_cast<int32_t>(position));
        call.number(address);
        call.number(size);
        call.run_into(*this);
    }
    template <typename N>
    LocalTensor operator[](N start) const
    {
        return twin::slice(@LocalTensor.__getitem__@, *this, start);
    }
    void SetShapeInfo(const ShapeInfo& info) { shapeInfo = info; }
    ShapeInfo GetShapeInfo() const { return shapeInfo; }
    //:methods LocalTensor
};

template <typename T>
struct GlobalTensor : twin::Object {
    ShapeInfo shapeInfo;

    GlobalTensor() { type = twin::Code<T>::value; }
    template <typename N>
    GlobalTensor operator[](N start) const
    {
        return twin::slice(@GlobalTensor.__getitem__@, *this, start);
    }
    void SetShapeInfo(const ShapeInfo& info) { shapeInfo = info; }
    ShapeInfo GetShapeInfo() const { return shapeInfo; }
    //:methods GlobalTensor
};

struct TBufHandle : TBufHandleObject {
    //:methods TBufHandle
};

struct Queue : QueueObject {
    template <typename Pool, typename N>
    void InitBufHandle(
        const Pool* pool, uint32_t index, const TBufHandleObject& handle, N address, uint32_t length)
    {
        twin::Call call(@TQue.init_buf_handle@);
        call.object(*this);
        call.object(*pool);
        call.number(index);
        call.object(handle);
        call.number(address);
        call.number(length);
        call.run();
    }
    //:methods Queue
};

struct Buf : BufObject {
    //:methods Buf
};

struct Pool : PoolObject {
    //:methods Pool
};

struct Allocator : AllocatorObject {
    //:methods Allocator
};

struct TPipe : TPipeObject {
    TPipe() { twin::make(@TPipe@, *this); }
    char* GetBaseAddr(int8_t position) const
    {
        twin::Call call(@TPipe.get_base_addr@);
        call.object(*this);
        call.number(position);
        return reinterpret_cast<char*>(static_cast<uint64_t>(call.run()));
    }
    //:methods TPipe
};

template <TPosition position, int32_t depth, int32_t mask = 0>
struct TQue : Queue {
    TQue() { twin::make(@TQue@, *this, position, depth); }
};

template <TPosition source, TPosition destination, int32_t depth, int32_t mask = 0>
struct TQueBind : Queue {
    TQueBind() { twin::make(@TQueBind@, *this, source, destination, depth, mask); }
};

template <TPosition position>
struct TBuf : Buf {
    TBuf() { twin::make(@TBuf@, *this, position); }
};

template <TPosition position, uint32_t buffers = 4>
struct TBufPool : Pool {
    TBufPool() { twin::make(@TBufPool@, *this, position, buffers); }
};

template <Hardware hardware = Hardware::UB>
struct LocalMemAllocator : Allocator {
    LocalMemAllocator() { twin::make(@LocalMemAllocator@, *this, hardware); }
};

template <typename T>
struct TensorDesc : TensorDescObject {
    uint64_t* dims = nullptr;
    uint32_t room = 0;

    TensorDesc()
    {
        twin::Call call(@TensorDesc@);
        call.dtype<T>();
        call.run_into(*this);
    }
    template <uint32_t length>
    void SetShapeAddr(uint64_t (&shape)[length])
    {
        dims = shape;
        room = length;
        twin::Call call(@TensorDesc.set_shape_addr@);
        call.object(*this);
        call.memory(dims, room);
        call.run();
    }
    //:methods TensorDesc
};

struct ListTensorDesc : ListTensorDescObject {
    ListTensorDesc() { twin::make(@ListTensorDesc@, *this); }
    ListTensorDesc(void* data, uint32_t length = 0xffffffff, uint32_t count = 0xffffffff)
        : ListTensorDesc()
    {
        Init(data, length, count);
    }
    void Init(void* data, uint32_t length = 0xffffffff, uint32_t count = 0xffffffff)
    {
        twin::Call call(@ListTensorDesc.init@);
        call.object(*this);
        call.pointer(static_cast<uint8_t*>(data));
        call.number(length);
        call.number(count);
        call.run();
    }
    template <typename T>
    void GetDesc(TensorDesc<T>& desc, uint32_t index) const
    {
        twin::Call call(@ListTensorDesc.get_desc@);
        call.object(*this);
        call.object(desc);
        call.number(index);
        call.memory(desc.dims, desc.room);
        call.run();
    }
    //:methods ListTensorDesc
};

// -- structs of tensors and arrays ----------------------------------------------------------------

template <typename T>
struct MrgSortSrcList {
    LocalTensor<T> lists[4];

    MrgSortSrcList(
        const LocalTensor<T>& first, const LocalTensor<T>& second, const LocalTensor<T>& third,
        const LocalTensor<T>& fourth)
        : lists{first, second, third, fourth}
    {
    }
    // Lists that are not merged are those that `valid` leaves out.
    void add(twin::Call& call, uint16_t valid) const
    {
        const int32_t count = valid == 3 ? 2 : valid == 7 ? 3 : 4;
        call.add(twin::GROUP).whole = count;
        for (int32_t k = 0; k < count; ++k) {
            call.object(lists[k]);
        }
    }
};

struct MrgSort4Info {
    uint16_t lengths[4];
    bool suspends;
    uint16_t valid;
    uint16_t repeats;

    MrgSort4Info(const uint16_t (&counts)[4], bool suspend, uint16_t bits, uint16_t times)
        : suspends(suspend), valid(bits), repeats(times)
    {
        std::memcpy(lengths, counts, sizeof(lengths));
    }
    void add(twin::Call& call) const
    {
        call.add(twin::GROUP).whole = 7;
        for (uint16_t length : lengths) {
            call.number(length);
        }
        call.number(suspends);
        call.number(valid);
        call.number(repeats);
    }
};

struct VdeqInfo {
    float scales[16];
    int16_t offsets[16];
    bool signs[16];

    VdeqInfo(const float (&scale)[16], const int16_t (&offset)[16], const bool (&sign)[16])
    {
        std::memcpy(scales, scale, sizeof(scales));
        std::memcpy(offsets, offset, sizeof(offsets));
        std::memcpy(signs, sign, sizeof(signs));
    }
    void add(twin::Call& call) const
    {
        call.add(twin::GROUP).whole = 3;
        call.numbers(scales, 16);
        call.numbers(offsets, 16);
        call.numbers(signs, 16);
    }
};

// -- functions ------------------------------------------------------------------------------------

template <typename... P>
void printf(const char* format, P... values)
{
    static char out[65536];
    std::snprintf(out, sizeof(out), format, twin::shown(@printf:format@, values)...);
    twin::Call call(@printf:pieces@);
    call.text(out);
    call.run();
}

inline void Trap() { throw twin::Trapped(); }

template <typename T, TPosition position = TPosition::MAX>
void SetPadValue(T value)
{
    twin::Call call(@set_pad_value@);
    call.number(value);
    call.number(static_cast<int32_t>(position));
    call.run();
}

template <typename T>
void DataCachePreload(const GlobalTensor<T>& src, int64_t offset)
{
    twin::Call call(@data_cache_preload@);
    call.object(src);
    call.number(offset);
    call.run();
}

template <typename F, typename T, RoundMode mode>
T ScalarCast(F value)
{
    twin::Call call(@scalar_cast@);
    call.number(value);
    call.dtype<T>();
    call.number(static_cast<int32_t>(mode));
    return call.run();
}

template <typename T, bool suspends>
void MrgSort(
    const LocalTensor<T>& dst, const MrgSortSrcList<T>& lists, const uint16_t (&counts)[4],
    uint32_t (&sorted)[4], uint16_t valid, uint16_t repeats)
{
    // Without a suspension the numbers are not written.
    twin::Call call(suspends ? @mrg_sort:array@ : @mrg_sort:list@);
    call.object(dst);
    lists.add(call, valid);
    call.numbers(counts, 4);
    if (suspends) {
        call.memory(sorted, 4);
    } else {
        call.numbers(sorted, 4);
    }
    call.number(valid);
    call.number(repeats);
    call.number(suspends);
    call.run();
}

template <typename T>
void MrgSort(
    const LocalTensor<T>& dst, const MrgSortSrcList<T>& lists, const MrgSort4Info& info)
{
    twin::Call call(@mrg_sort:info@);
    call.object(dst);
    lists.add(call, info.valid);
    info.add(call);
    call.run();
}

template <typename T>
void MrgSort4(
    const LocalTensor<T>& dst, const MrgSortSrcList<T>& lists, const MrgSort4Info& info)
{
    twin::Call call(@mrg_sort4@);
    call.object(dst);
    lists.add(call, info.valid);
    info.add(call);
    call.run();
}

//:functions

} // namespace AscendC
