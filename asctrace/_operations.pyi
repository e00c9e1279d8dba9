"""What kernels call, for editors and type checkers. Written by `python -m docs.generate`."""

from typing import Any, overload

from .tracer.language.array import Array
from .tracer.language.dtypes import DataType
from .tracer.language.enums import AtomicDtype, AtomicOp, BlockMode, CMPMODE, CacheLine, DcciDst, DeqScale, GatherMaskMode, HardEvent, MaskMode, MemDsbT, PipeID, ReduceOrder, RoundMode, SelMode, TPosition, TransposeType, pad_t
from .tracer.language.structs import MrgSort4Info, MrgSortSrcList, ShapeInfo, VdeqInfo
from .tracer.language.tensor import GlobalAddress, GlobalTensor, LocalTensor

__all__ = ["BinaryRepeatParams", "BrcbRepeatParams", "CheckLocalMemoryIAParam", "CopyRepeatParams", "DataCopyEnhancedParams", "DataCopyExtParams", "DataCopyPadExtParams", "DataCopyPadParams", "DataCopyParams", "GatherMaskParams", "GatherRepeatParams", "InitConstValueParams", "Nd2NzParams", "Nz2NdParamsFull", "SliceInfo", "TransDataTo5HDParams", "TransposeParamsExt", "UnaryRepeatParams", "abs", "add", "add_deq_relu", "add_relu", "add_relu_cast", "adds", "axpy", "bilinear_interpolation", "bitwise_and", "bitwise_not", "bitwise_or", "block_reduce_max", "block_reduce_min", "block_reduce_sum", "brcb", "cast", "cast_deq", "check_local_memory_ia", "compare", "compare_scalar", "copy", "count_bits_cnt_same_as_sign_bit", "cross_core_set_flag", "cross_core_wait_flag", "data_cache_clean_and_invalid", "data_cache_preload", "data_copy", "data_copy_pad", "data_sync_barrier", "div", "dump_acc_chk_point", "dump_tensor", "duplicate", "exp", "fused_mul_add", "fused_mul_add_relu", "gather", "gather_mask", "gatherb", "get_arch_version", "get_block_idx", "get_block_num", "get_cmp_mask", "get_data_block_size_in_bytes", "get_gather_mask_remain_count", "get_hccl_context", "get_icache_preload_status", "get_mrg_sort_result", "get_program_counter", "get_sort_len", "get_sort_offset", "get_store_atomic_config", "get_sub_block_idx", "get_sub_block_num", "get_sys_workspace", "get_system_cycle", "get_task_ratio", "ib_set", "ib_wait", "icache_preload", "init_const_value", "init_determine_compute_workspace", "init_soc_state", "inline", "leaky_relu", "ln", "max", "maxs", "metrics_prof_start", "metrics_prof_stop", "min", "mins", "mrg_sort", "mrg_sort4", "mul", "mul_add_dst", "mul_cast", "muls", "notify_next_block", "pair_reduce_sum", "pipe_barrier", "print_time_stamp", "printf", "proposal_concat", "proposal_extract", "reciprocal", "reduce_max", "reduce_min", "reduce_sum", "relu", "repeat_reduce_sum", "reset_mask", "rp_sort16", "rsqrt", "scalar_cast", "scalar_count_leading_zero", "scalar_get_count_of_value", "scalar_get_sff_value", "scatter", "select", "set_atomic_add", "set_atomic_max", "set_atomic_min", "set_atomic_none", "set_atomic_type", "set_cmp_mask", "set_deq_scale", "set_flag", "set_hccl_context", "set_hf32_mode", "set_hf32_trans_mode", "set_mask_count", "set_mask_norm", "set_mm_layout_transform", "set_pad_value", "set_store_atomic_config", "set_sys_workspace", "set_vector_mask", "shift_left", "shift_right", "sort", "sort32", "sqrt", "sub", "sub_relu", "sub_relu_cast", "sync_all", "trans_data_to_5hd", "transpose", "trap", "wait_flag", "wait_pre_block", "whole_reduce_max", "whole_reduce_min", "whole_reduce_sum"]

class BinaryRepeatParams:
    """Strides of a two-operand vector call, in 32-byte blocks. `*_blk_stride` lies between the blocks of one repeat, `*_rep_stride` between repeats."""
    dst_blk_stride: int
    src0_blk_stride: int
    src1_blk_stride: int
    dst_rep_stride: int
    src0_rep_stride: int
    src1_rep_stride: int
    def __init__(self, dst_blk_stride: int = ..., src0_blk_stride: int = ..., src1_blk_stride: int = ..., dst_rep_stride: int = ..., src0_rep_stride: int = ..., src1_rep_stride: int = ...) -> None: ...
class BrcbRepeatParams:
    """Strides of the destination of `brcb`, in 32-byte blocks. `*_blk_stride` lies between the blocks of one repeat, `*_rep_stride` between repeats."""
    dst_blk_stride: int
    dst_rep_stride: int
    def __init__(self, dst_blk_stride: int = ..., dst_rep_stride: int = ...) -> None: ...
class CheckLocalMemoryIAParam:
    """What `check_local_memory_ia` watches: `enable_bit` is one of four registers, `start_addr` and `end_addr` are in blocks of 32 bytes; the part begins behind `start_addr` and ends with `end_addr`. `is_enable` switches the register on or off."""
    enable_bit: int
    start_addr: int
    end_addr: int
    is_scalar_read: bool
    is_scalar_write: bool
    is_vector_read: bool
    is_vector_write: bool
    is_mte_read: bool
    is_mte_write: bool
    is_enable: bool
    def __init__(self, enable_bit: int = ..., start_addr: int = ..., end_addr: int = ..., is_scalar_read: bool = ..., is_scalar_write: bool = ..., is_vector_read: bool = ..., is_vector_write: bool = ..., is_mte_read: bool = ..., is_mte_write: bool = ..., is_enable: bool = ...) -> None: ...
class CopyRepeatParams:
    """Strides of `copy`, in 32-byte blocks. `*_stride` lies between the blocks of one repeat, `*_repeat_size` between repeats."""
    dst_stride: int
    src_stride: int
    dst_repeat_size: int
    src_repeat_size: int
    def __init__(self, dst_stride: int = ..., src_stride: int = ..., dst_repeat_size: int = ..., src_repeat_size: int = ...) -> None: ...
class DataCopyEnhancedParams:
    """What a copy does to data on its way between the cube's result buffer and UB. Copies between global memory, UB and L1 take it with its defaults only."""
    block_mode: BlockMode
    deq_scale: DeqScale
    deq_value_in: int
    sid_store_mode_in: int
    is_relu_in: bool
    pad_mode_in: pad_t
    pad_value_in: int
    def __init__(self, block_mode: BlockMode = ..., deq_scale: DeqScale = ..., deq_value_in: int = ..., sid_store_mode_in: int = ..., is_relu_in: bool = ..., pad_mode_in: pad_t = ..., pad_value_in: int = ...) -> None: ...
class DataCopyExtParams:
    """Blocks of `data_copy_pad`: `block_len` bytes each; the gaps between blocks are in bytes in global memory and in 32-byte blocks in UB."""
    block_count: int
    block_len: int
    src_stride: int
    dst_stride: int
    rsv: int
    def __init__(self, block_count: int = ..., block_len: int = ..., src_stride: int = ..., dst_stride: int = ..., rsv: int = ...) -> None: ...
class DataCopyPadExtParams:
    """Elements in front of and behind each block of `data_copy_pad`, and the number in them, of the dtype of the tensors."""
    dtype: Any
    is_pad: bool
    left_padding: int
    right_padding: int
    padding_value: float
    def __init__(self, dtype: Any = ..., is_pad: bool = ..., left_padding: int = ..., right_padding: int = ..., padding_value: float = ...) -> None: ...
class DataCopyPadParams:
    """Elements in front of and behind each block of `data_copy_pad`, and the bits of the number in them."""
    is_pad: bool
    left_padding: int
    right_padding: int
    padding_value: int
    def __init__(self, is_pad: bool = ..., left_padding: int = ..., right_padding: int = ..., padding_value: int = ...) -> None: ...
class DataCopyParams:
    """Blocks of a copy. `data_copy` counts `block_len` and both gaps between blocks, from the end of one to the start of the next, in 32-byte blocks; `data_copy_pad` counts `block_len` and the gap in global memory in bytes."""
    block_count: int
    block_len: int
    src_stride: int
    dst_stride: int
    def __init__(self, block_count: int = ..., block_len: int = ..., src_stride: int = ..., dst_stride: int = ...) -> None: ...
class GatherMaskParams:
    """Repeats of `gather_mask` and strides in 32-byte blocks: between the blocks of one repeat of src0, between its repeats, and between the mask bits of repeats."""
    src0_block_stride: int
    repeat_times: int
    src0_repeat_stride: int
    src1_repeat_stride: int
    def __init__(self, src0_block_stride: int = ..., repeat_times: int = ..., src0_repeat_stride: int = ..., src1_repeat_stride: int = ...) -> None: ...
class GatherRepeatParams:
    """Strides of the destination of `gatherb`, in 32-byte blocks. `*_blk_stride` lies between the blocks of one repeat, `*_rep_stride` between repeats. A `dst_blk_stride` of 0 counts as 1."""
    dst_blk_stride: int
    dst_rep_stride: int
    def __init__(self, dst_blk_stride: int = ..., dst_rep_stride: int = ...) -> None: ...
class InitConstValueParams:
    """What `init_const_value` fills: `repeat_times` stretches of `block_num` blocks (32 bytes in L1) with `dst_gap` blocks between them, with `init_value`."""
    repeat_times: int
    block_num: int
    dst_gap: int
    init_value: float
    def __init__(self, repeat_times: int = ..., block_num: int = ..., dst_gap: int = ..., init_value: float = ...) -> None: ...
class Nd2NzParams:
    """A copy from row-major (ND) to fractal (NZ) matrices: `nd_num` matrices of `n_value` rows and `d_value` columns. Source distances are in elements; `dst_nz_c0_stride` (between the blocks of a row) and `dst_nz_n_stride` (between rows) in 32-byte blocks, `dst_nz_matrix_stride` in elements."""
    nd_num: int
    n_value: int
    d_value: int
    src_nd_matrix_stride: int
    src_d_value: int
    dst_nz_c0_stride: int
    dst_nz_n_stride: int
    dst_nz_matrix_stride: int
    def __init__(self, nd_num: int = ..., n_value: int = ..., d_value: int = ..., src_nd_matrix_stride: int = ..., src_d_value: int = ..., dst_nz_c0_stride: int = ..., dst_nz_n_stride: int = ..., dst_nz_matrix_stride: int = ...) -> None: ...
class Nz2NdParamsFull:
    """A copy from fractal (NZ) to row-major (ND) matrices: `nd_num` matrices of `n_value` rows and `d_value` columns, a multiple of 16. `src_nd_matrix_stride` is in 256 elements, `src_n_stride` (between columns of 16) in 16 elements, `dst_d_stride` (between rows) and `dst_nd_matrix_stride` in elements."""
    nd_num: int
    n_value: int
    d_value: int
    src_nd_matrix_stride: int
    src_n_stride: int
    dst_d_stride: int
    dst_nd_matrix_stride: int
    def __init__(self, nd_num: int = ..., n_value: int = ..., d_value: int = ..., src_nd_matrix_stride: int = ..., src_n_stride: int = ..., dst_d_stride: int = ..., dst_nd_matrix_stride: int = ...) -> None: ...
class SliceInfo:
    """What a copy takes of one dimension, the innermost first: from `start_index` up to and with `end_index` of `shape_value` elements, in pieces of `burst_len` 32-byte blocks (of one row in outer dimensions) with `stride` elements (rows) between them."""
    start_index: int
    end_index: int
    stride: int
    burst_len: int
    shape_value: int
    def __init__(self, start_index: int = ..., end_index: int = ..., stride: int = ..., burst_len: int = ..., shape_value: int = ...) -> None: ...
class TransDataTo5HDParams:
    """Halves of blocks (for dtypes of one byte), repeats, and strides between repeats in 32-byte blocks of `trans_data_to_5hd`."""
    dst_high_half: bool
    src_high_half: bool
    repeat_times: int
    dst_rep_stride: int
    src_rep_stride: int
    def __init__(self, dst_high_half: bool = ..., src_high_half: bool = ..., repeat_times: int = ..., dst_rep_stride: int = ..., src_rep_stride: int = ...) -> None: ...
class TransposeParamsExt:
    """Shape and type of an extended `transpose`."""
    n_size: int
    c_size: int
    h_size: int
    w_size: int
    transpose_type: TransposeType
    def __init__(self, n_size: int = ..., c_size: int = ..., h_size: int = ..., w_size: int = ..., transpose_type: TransposeType = ...) -> None: ...
class UnaryRepeatParams:
    """Strides of a one-operand vector call, in 32-byte blocks. `*_blk_stride` lies between the blocks of one repeat, `*_rep_stride` between repeats."""
    dst_blk_stride: int
    src_blk_stride: int
    dst_rep_stride: int
    src_rep_stride: int
    def __init__(self, dst_blk_stride: int = ..., src_blk_stride: int = ..., dst_rep_stride: int = ..., src_rep_stride: int = ...) -> None: ...
@overload
def abs(dst: LocalTensor, src: LocalTensor, count: int) -> None:
    """dst = the absolute value of src (`AscendC::Abs`). Only the selected elements of `dst` change."""
@overload
def abs(dst: LocalTensor, src: LocalTensor, mask: int, repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def abs(dst: LocalTensor, src: LocalTensor, mask: list[int], repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def add(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, count: int, is_set_mask: bool = ...) -> None:
    """dst = src0 + src1 (`AscendC::Add`). Only the selected elements of `dst` change."""
@overload
def add(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: int, repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def add(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: list[int], repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def add_deq_relu(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, count: int, is_set_mask: bool = ...) -> None:
    """dst = max((src0 + src1) * the scale that is set, 0), ties to even, saturated; the sum wraps, and on 2201 the sources are the workspace and hold garbage afterwards (`AscendC::AddDeqRelu`). Only the selected elements of `dst` change."""
@overload
def add_deq_relu(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: int, repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def add_deq_relu(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: list[int], repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def add_relu(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, count: int, is_set_mask: bool = ...) -> None:
    """dst = max(src0 + src1, 0) (`AscendC::AddRelu`). Only the selected elements of `dst` change."""
@overload
def add_relu(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: int, repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def add_relu(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: list[int], repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def add_relu_cast(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, count: int) -> None:
    """dst = max(src0 + src1, 0) in the dtype of dst, ties to even, saturated (`AscendC::AddReluCast`). Only the selected elements of `dst` change."""
@overload
def add_relu_cast(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: int, repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def add_relu_cast(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: list[int], repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def adds(dst: LocalTensor, src: LocalTensor, scalar: float, count: int, is_set_mask: bool = ...) -> None:
    """dst = src + scalar (`AscendC::Adds`). Only the selected elements of `dst` change."""
@overload
def adds(dst: LocalTensor, src: LocalTensor, scalar: float, mask: int, repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def adds(dst: LocalTensor, src: LocalTensor, scalar: float, mask: list[int], repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def axpy(dst: LocalTensor, src: LocalTensor, scalar: float, count: int) -> None:
    """dst = src * scalar + dst, the product rounded first (`AscendC::Axpy`). Only the selected elements of `dst` change."""
@overload
def axpy(dst: LocalTensor, src: LocalTensor, scalar: float, mask: int, repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def axpy(dst: LocalTensor, src: LocalTensor, scalar: float, mask: list[int], repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def bilinear_interpolation(dst: LocalTensor, src0: LocalTensor, src0_offset: LocalTensor, src1: LocalTensor, mask: int, h_repeat: int, repeat_mode: bool, dst_blk_stride: int, v_r_offset: int, v_repeat: int, shared_tmp_buffer: LocalTensor) -> None:
    """Each of `v_repeat` groups of 128 elements of dst, `v_r_offset` elements apart = the sum over `h_repeat` groups of eight blocks of src0 times their weights in src1 (`AscendC::BilinearInterpolation`). `src0_offset` (uint32) has the place of each block in bytes; a weight is for eight blocks, or with `repeat_mode` for one. Only the selected elements change. On 2201 `shared_tmp_buffer` (uint8) has 32 bytes for each element of src0 and src1 and holds garbage afterwards."""
@overload
def bilinear_interpolation(dst: LocalTensor, src0: LocalTensor, src0_offset: LocalTensor, src1: LocalTensor, mask: list[int], h_repeat: int, repeat_mode: bool, dst_blk_stride: int, v_r_offset: int, v_repeat: int, shared_tmp_buffer: LocalTensor) -> None: ...
@overload
def bitwise_and(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, count: int, is_set_mask: bool = ...) -> None:
    """dst = src0 & src1 (`AscendC::And`). Only the selected elements of `dst` change."""
@overload
def bitwise_and(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: int, repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def bitwise_and(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: list[int], repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def bitwise_not(dst: LocalTensor, src: LocalTensor, count: int) -> None:
    """dst = ~src (`AscendC::Not`). Only the selected elements of `dst` change."""
@overload
def bitwise_not(dst: LocalTensor, src: LocalTensor, mask: int, repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def bitwise_not(dst: LocalTensor, src: LocalTensor, mask: list[int], repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def bitwise_or(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, count: int, is_set_mask: bool = ...) -> None:
    """dst = src0 | src1 (`AscendC::Or`). Only the selected elements of `dst` change."""
@overload
def bitwise_or(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: int, repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def bitwise_or(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: list[int], repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def block_reduce_max(dst: LocalTensor, src: LocalTensor, repeat: int, mask: int, dst_rep_stride: int, src_blk_stride: int, src_rep_stride: int, is_set_mask: bool = ...) -> None:
    """dst = the maximum of each block of src (`AscendC::BlockReduceMax`). Where no element of a block is selected, dst keeps what it has; on 3510 and 3002 it becomes the least. An element that the mask leaves out takes no part."""
@overload
def block_reduce_max(dst: LocalTensor, src: LocalTensor, repeat: int, mask: list[int], dst_rep_stride: int, src_blk_stride: int, src_rep_stride: int, is_set_mask: bool = ...) -> None: ...
@overload
def block_reduce_min(dst: LocalTensor, src: LocalTensor, repeat: int, mask: int, dst_rep_stride: int, src_blk_stride: int, src_rep_stride: int, is_set_mask: bool = ...) -> None:
    """dst = the minimum of each block of src (`AscendC::BlockReduceMin`). Where no element of a block is selected, dst keeps what it has; on 3510 and 3002 it becomes the largest. An element that the mask leaves out takes no part."""
@overload
def block_reduce_min(dst: LocalTensor, src: LocalTensor, repeat: int, mask: list[int], dst_rep_stride: int, src_blk_stride: int, src_rep_stride: int, is_set_mask: bool = ...) -> None: ...
@overload
def block_reduce_sum(dst: LocalTensor, src: LocalTensor, repeat: int, mask: int, dst_rep_stride: int, src_blk_stride: int, src_rep_stride: int, is_set_mask: bool = ...) -> None:
    """dst = the sum of each block of src, added as a tree (`AscendC::BlockReduceSum`). Where no element of a block is selected, dst keeps what it has; on 3510 and 3002 it becomes 0. An element that the mask leaves out takes no part."""
@overload
def block_reduce_sum(dst: LocalTensor, src: LocalTensor, repeat: int, mask: list[int], dst_rep_stride: int, src_blk_stride: int, src_rep_stride: int, is_set_mask: bool = ...) -> None: ...
def brcb(dst: LocalTensor, src0: LocalTensor, repeat_times: int, repeat_params: BrcbRepeatParams) -> None:
    """In each repeat, fill eight blocks of dst with one element of src each (`AscendC::Brcb`). The elements of src follow one another; a block has 32 bytes."""
@overload
def cast(dst: LocalTensor, src: LocalTensor, round_mode: RoundMode, count: int) -> None:
    """dst = src in the dtype of dst, rounded as round_mode says (`AscendC::Cast`). Only the selected elements of `dst` change."""
@overload
def cast(dst: LocalTensor, src: LocalTensor, round_mode: RoundMode, mask: int, repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def cast(dst: LocalTensor, src: LocalTensor, round_mode: RoundMode, mask: list[int], repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def cast_deq(dst: LocalTensor, src: LocalTensor, count: int, is_vec_deq: bool = ..., half_block: bool = ...) -> None:
    """dst = src times the scale that is set, plus the offset for 8 bits, ties to even and saturated (`AscendC::CastDeq`). For 8 bits, the results of a block of src fill half a block of dst: with half_block its second half, else its first; with is_vec_deq each of the 16 elements of a block has a scale of its own. Only the selected elements change."""
@overload
def cast_deq(dst: LocalTensor, src: LocalTensor, mask: int, repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ..., is_vec_deq: bool = ..., half_block: bool = ...) -> None: ...
@overload
def cast_deq(dst: LocalTensor, src: LocalTensor, mask: list[int], repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ..., is_vec_deq: bool = ..., half_block: bool = ...) -> None: ...
def check_local_memory_ia(check_params: CheckLocalMemoryIAParam) -> None:
    """Watch a part of UB and stop when something touches it (`CheckLocalMemoryIA`). The part begins behind block `start_addr` and ends with block `end_addr`, of 32 bytes each. The simulator watches while it looks for races."""
@overload
def compare(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, cmp_mode: CMPMODE, count: int) -> None:
    """Bits of dst = whether src0 compares to src1 as cmp_mode says (`AscendC::Compare`). By count, whole repeats of 256 bytes are compared; with a mask, all elements of each repeat are. Without dst, the selected elements of one repeat are compared into the 128 bits of the register that `get_cmp_mask` and `select` read; the other bits stay."""
@overload
def compare(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, cmp_mode: CMPMODE, mask: int, repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def compare(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, cmp_mode: CMPMODE, mask: list[int], repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def compare(src0: LocalTensor, src1: LocalTensor, cmp_mode: CMPMODE, mask: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def compare(src0: LocalTensor, src1: LocalTensor, cmp_mode: CMPMODE, mask: list[int], repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def compare_scalar(dst: LocalTensor, src0: LocalTensor, src1_scalar: float, cmp_mode: CMPMODE, count: int) -> None:
    """Bits of dst = whether src0 compares to the number as cmp_mode says (`AscendC::CompareScalar`). By count, whole repeats of 256 bytes are compared; with a mask, all elements of each repeat are."""
@overload
def compare_scalar(dst: LocalTensor, src0: LocalTensor, src1_scalar: float, cmp_mode: CMPMODE, mask: int, repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def compare_scalar(dst: LocalTensor, src0: LocalTensor, src1_scalar: float, cmp_mode: CMPMODE, mask: list[int], repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def copy(dst: LocalTensor, src: LocalTensor, mask: int, repeat_time: int, repeat_params: CopyRepeatParams, is_set_mask: bool = ...) -> None:
    """dst = src; in counter mode the mask is the number of elements of each repeat, which then may have more than eight blocks (`AscendC::Copy`). Only the selected elements of `dst` change."""
@overload
def copy(dst: LocalTensor, src: LocalTensor, mask: list[int], repeat_time: int, repeat_params: CopyRepeatParams, is_set_mask: bool = ...) -> None: ...
def count_bits_cnt_same_as_sign_bit(value_in: int) -> int:
    """Number of bits right below the sign bit that are equal to it, -1 for 0 and -1 (`CountBitsCntSameAsSignBit`); int64. Negative numbers count as their 64 bits."""
def cross_core_set_flag(flag_id: int, mode_id: int, pipe: PipeID) -> None:
    """Report that a pipe has come this far (`CrossCoreSetFlag<modeId, pipe>(flagId)`). Mode 0: once all blocks have, `cross_core_wait_flag` of the same flag goes on in each. Mode 1 is between the vector cores of a core, mode 2 (and 4 on 3510) between them and the cube core. Flags are 0 to 15 and count up to 15; `sync_all` uses 11 to 14."""
def cross_core_wait_flag(flag_id: int, mode_id: int = ..., pipe: PipeID = ...) -> None:
    """Wait until all blocks have set the flag, and count it down (`CrossCoreWaitFlag<modeId, pipe>(flagId)`). On 2201 everything issued later waits, whatever the pipe; on 3510 the pipe does, or with PIPE_S everything."""
@overload
def data_cache_clean_and_invalid(entire_type: CacheLine, dcci_dst: DcciDst, dst: GlobalTensor) -> None:
    """Write what the scalar unit has stored from its data cache to global memory, and read anew from there (`DataCacheCleanAndInvalid`): `SINGLE_CACHE_LINE` from the start of `dst` to the end of its 64-byte line, `ENTIRE_DATA_CACHE` everything, whatever `dst` is."""
@overload
def data_cache_clean_and_invalid(entire_type: CacheLine, dst: GlobalTensor) -> None: ...
def data_cache_preload(src: GlobalTensor, cache_offset: int) -> None:
    """Load the 64-byte line at `cache_offset` bytes from the start of a uint64 tensor into the data cache (`DataCachePreload`). It changes no value."""
@overload
def data_copy(dst: LocalTensor, src: GlobalTensor, count: int) -> None:
    """Copy whole blocks of 32 bytes (`DataCopy`): `count` elements, blocks with gaps (`DataCopyParams`), slices of a tensor with up to eight dimensions, or matrices on their way from rows to fractals (`Nd2NzParams`) and back (`Nz2NdParamsFull`). Local addresses are multiples of 32 bytes. GM to UB or L1 runs on MTE2, UB or L1 to GM on MTE3, UB to UB on V. `slice_list1` is of the destination, the innermost dimension first; `DataCopyEnhancedParams` are taken with their defaults only. Where rows of ND matrices end inside a block, the rest of it becomes 0."""
@overload
def data_copy(dst: LocalTensor, src: LocalTensor, count: int) -> None: ...
@overload
def data_copy(dst: GlobalTensor, src: LocalTensor, count: int) -> None: ...
@overload
def data_copy(dst: LocalTensor, src: GlobalTensor, repeat_params: DataCopyParams) -> None: ...
@overload
def data_copy(dst: LocalTensor, src: LocalTensor, repeat_params: DataCopyParams) -> None: ...
@overload
def data_copy(dst: GlobalTensor, src: LocalTensor, repeat_params: DataCopyParams) -> None: ...
@overload
def data_copy(dst: LocalTensor, src: GlobalTensor, intri_params: DataCopyParams, enhanced_params: DataCopyEnhancedParams) -> None: ...
@overload
def data_copy(dst: LocalTensor, src: LocalTensor, intri_params: DataCopyParams, enhanced_params: DataCopyEnhancedParams) -> None: ...
@overload
def data_copy(dst: GlobalTensor, src: LocalTensor, intri_params: DataCopyParams, enhanced_params: DataCopyEnhancedParams) -> None: ...
@overload
def data_copy(dst: GlobalTensor, src: LocalTensor, slice_list1: list[SliceInfo], slice_list2: list[SliceInfo], dim_value: int) -> None: ...
@overload
def data_copy(dst: LocalTensor, src: GlobalTensor, slice_list1: list[SliceInfo], slice_list2: list[SliceInfo], dim_value: int) -> None: ...
@overload
def data_copy(dst: LocalTensor, src: GlobalTensor, intri_params: Nd2NzParams) -> None: ...
@overload
def data_copy(dst: GlobalTensor, src: LocalTensor, intri_params: Nz2NdParamsFull) -> None: ...
@overload
def data_copy_pad(dst: LocalTensor, src: GlobalTensor, data_copy_params: DataCopyExtParams, pad_params: DataCopyPadExtParams) -> None:
    """Copy blocks of any length in bytes (`DataCopyPad`). Global memory needs no alignment; in UB each block lies in a slot of whole 32-byte blocks. Gaps are in bytes in global memory and in 32-byte blocks in UB. Into UB, `left_padding` and `right_padding` elements are put around each block; they and the rest of the slot hold the padding value if `is_pad` says so, that of `set_pad_value` if not. Without padding what is behind a block in its slot is not defined. Runs on MTE2 into UB (on architecture 3510 L1 too), on MTE3 out of it."""
@overload
def data_copy_pad(dst: GlobalTensor, src: LocalTensor, data_copy_params: DataCopyExtParams) -> None: ...
@overload
def data_copy_pad(dst: LocalTensor, src: GlobalTensor, data_copy_params: DataCopyParams, pad_params: DataCopyPadParams) -> None: ...
@overload
def data_copy_pad(dst: GlobalTensor, src: LocalTensor, data_copy_params: DataCopyParams) -> None: ...
def data_sync_barrier(arg0: MemDsbT) -> None:
    """Hold the scalar unit until its accesses to memory before are over (`DataSyncBarrier<MemDsbT>()`). It orders nothing between pipes."""
@overload
def div(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, count: int, is_set_mask: bool = ...) -> None:
    """dst = src0 / src1, integers (3510 only) towards 0; of a division by 0 they give all bits 1 (`AscendC::Div`). Only the selected elements of `dst` change."""
@overload
def div(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: int, repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def div(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: list[int], repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def dump_acc_chk_point(tensor: GlobalTensor, index: int, count_off: int, dump_size: int) -> None:
    """Print `dump_size` elements of a tensor from element `count_off` on, under the number `index` (`DumpAccChkPoint`). At most 30 KB are printed. Waits for nothing: an element that a pipe is still writing shows anything on the device; the simulator finishes what was issued."""
@overload
def dump_acc_chk_point(tensor: LocalTensor, index: int, count_off: int, dump_size: int) -> None: ...
@overload
def dump_tensor(tensor: GlobalTensor, desc: int, dump_size: int, shape_info: ShapeInfo | None = ...) -> None:
    """Print the first `dump_size` elements of a tensor under the number `desc` (`DumpTensor`), laid out by `shape_info` if that is given. At most 30 KB are printed. Waits for nothing: an element that a pipe is still writing shows anything on the device; the simulator finishes what was issued."""
@overload
def dump_tensor(tensor: LocalTensor, desc: int, dump_size: int, shape_info: ShapeInfo | None = ...) -> None: ...
@overload
def duplicate(dst: LocalTensor, scalar: float, count: int) -> None:
    """dst = scalar (`AscendC::Duplicate`). Only the selected elements of `dst` change."""
@overload
def duplicate(dst: LocalTensor, scalar: float, mask: int, repeat_times: int, dst_block_stride: int, dst_repeat_stride: int, is_set_mask: bool = ...) -> None: ...
@overload
def duplicate(dst: LocalTensor, scalar: float, mask: list[int], repeat_times: int, dst_block_stride: int, dst_repeat_stride: int, is_set_mask: bool = ...) -> None: ...
@overload
def exp(dst: LocalTensor, src: LocalTensor, count: int) -> None:
    """dst = e to the power of src (`AscendC::Exp`). Only the selected elements of `dst` change."""
@overload
def exp(dst: LocalTensor, src: LocalTensor, mask: int, repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def exp(dst: LocalTensor, src: LocalTensor, mask: list[int], repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def fused_mul_add(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, count: int, is_set_mask: bool = ...) -> None:
    """dst = src0 * dst + src1 (`AscendC::FusedMulAdd`). Only the selected elements of `dst` change."""
@overload
def fused_mul_add(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: int, repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def fused_mul_add(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: list[int], repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def fused_mul_add_relu(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, count: int, is_set_mask: bool = ...) -> None:
    """dst = max(src0 * dst + src1, 0) (`AscendC::FusedMulAddRelu`). Only the selected elements of `dst` change."""
@overload
def fused_mul_add_relu(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: int, repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def fused_mul_add_relu(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: list[int], repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def gather(dst: LocalTensor, src: LocalTensor, src_offset: LocalTensor, src_base: int, mask: int, repeat_times: int, dst_rep_stride: int) -> None:
    """dst[i] = the element of src that lies `src_base + src_offset[i]` bytes behind its start (`AscendC::Gather`). Offsets are uint32; src and dst are apart."""
@overload
def gather(dst: LocalTensor, src: LocalTensor, src_offset: LocalTensor, src_base: int, mask: list[int], repeat_times: int, dst_rep_stride: int) -> None: ...
@overload
def gather(dst: LocalTensor, src: LocalTensor, src_offset: LocalTensor, src_base: int, count: int) -> None: ...
@overload
def gather_mask(dst: LocalTensor, src0: LocalTensor, src1_pattern: LocalTensor, reduce_mode: bool, mask: int, params: GatherMaskParams, gather_mask_mode: GatherMaskMode = ...) -> int:
    """dst = the elements of src0 that mask bits choose, one behind the other; gives their number (`AscendC::GatherMask`). `src1_pattern` is a tensor of bits or a number: 1 and 2 choose the even and the odd elements of a repeat, 3 to 6 the first to the fourth of every four, 7 all. With `reduce_mode` a repeat has `mask` elements, else 256 bytes. dst may begin where src0 does. On 3510 the numbered patterns need 8 KB of UB for themselves."""
@overload
def gather_mask(dst: LocalTensor, src0: LocalTensor, src1_pattern: int, reduce_mode: bool, mask: int, params: GatherMaskParams, gather_mask_mode: GatherMaskMode = ...) -> int: ...
def gatherb(dst: LocalTensor, src0: LocalTensor, offset: LocalTensor, repeat_times: int, repeat_params: GatherRepeatParams) -> None:
    """Blocks of dst = the blocks of 32 bytes of src0 that begin `offset[i]` bytes behind its start, eight in each repeat (`AscendC::Gatherb`). Offsets are uint32 and multiples of 32; src0 and dst are apart."""
def get_arch_version(core_version: Any = ...) -> int:
    """The version of the core's architecture, to be read in hexadecimal (`GetArchVersion(coreVersion)`); uint32. C++ writes it to its argument; Python numbers do not change, so it is returned. The values are not documented: the simulator refuses."""
def get_block_idx() -> int:
    """Index of this block in the grid, from 0 (`GetBlockIdx`); int32."""
def get_block_num() -> int:
    """Number of blocks in the grid (`GetBlockNum`); int32."""
def get_cmp_mask(dst: LocalTensor) -> None:
    """The first 16 bytes of dst = the bits of the register that `compare` without dst writes (`AscendC::GetCmpMask`). dst has 128 bytes; those behind the bits are undefined afterwards."""
def get_data_block_size_in_bytes() -> int:
    """Bytes of a data block, 32 (`GetDataBlockSizeInBytes`); int32."""
def get_gather_mask_remain_count() -> int:
    """How many elements the last `gather_mask` of the block chose (`GetGatherMaskRemainCount`); uint64."""
def get_hccl_context(index: int) -> GlobalAddress:
    """Address of the message area of a communication group (`GetHcclContext<index>`), a GlobalAddress of uint8. In the simulator what `set_hccl_context` was given."""
def get_icache_preload_status() -> int:
    """Whether `icache_preload` is still at work (`GetICachePreloadStatus`): int64, 1 while it is, 0 after; in the simulator always 0."""
def get_mrg_sort_result() -> Array:
    """How many elements of each of the four lists the last `mrg_sort` took that stopped when a list was used up (`GetMrgSortResult`): four numbers, uint16."""
def get_program_counter() -> int:
    """The program counter (`GetProgramCounter`); int64. The simulator has no machine code and refuses."""
def get_sort_len(elem_count: int, dtype: DataType = ...) -> int:
    """Elements of a sorted list, for that many scores (`AscendC::GetSortLen<T>`): 4 for each half or 2 for each float on 2201, 3510 and 3002, else 8; uint32. The documentation says bytes, the headers count elements."""
def get_sort_offset(elem_offset: int, dtype: DataType = ...) -> int:
    """Elements of a sorted list in front of its element number `elem_offset` (`AscendC::GetSortOffset<T>`): 4 for each half or 2 for each float on 2201, 3510 and 3002, else 8; uint32. The documentation says bytes, the headers count elements."""
def get_store_atomic_config() -> tuple[int, int]:
    """The atomic mode of the core, two uint16 (`GetStoreAtomicConfig`): the number of the dtype in `AtomicDtype`, 0 when the mode is off, and that of the operation in `AtomicOp`. The maximum and the minimum have no documented number."""
def get_sub_block_idx() -> int:
    """Which of the vector cores of its core a block runs on: 0 in a kernel of vector cores alone (`GetSubBlockIdx`); int32."""
def get_sub_block_num() -> int:
    """Vector cores of one core: 1 in a kernel of vector cores alone (`GetSubBlockNum`); int32."""
def get_sys_workspace() -> GlobalAddress:
    """Address of the system workspace (`GetSysWorkSpacePtr`), a GlobalAddress of uint8. In the simulator what `set_sys_workspace` was given."""
def get_system_cycle() -> int:
    """The system counter of the chip (`GetSystemCycle`); int64, 50 a microsecond on 2201, 1000 on 3510. In the simulator it counts the calls: later ones give more, and the difference says nothing about time."""
def get_task_ratio() -> int:
    """Vector cores for each block of the grid: 1 in a kernel of vector cores alone (`GetTaskRatio`); int32."""
def ib_set(gm_workspace: GlobalTensor, ub_workspace: LocalTensor, block_idx: int, event_id: int, is_aiv_only: bool = ...) -> None:
    """Tell `ib_wait` with the same arguments that this block has come here (`IBSet<isAIVOnly>`). Everything before it is over then. `gm_workspace` is int32, all zero at first, with 32 bytes for each pair of event and block: (blocks * event_id + block_idx + 1) * 32 bytes at least; without `is_aiv_only` twice as many blocks. `ub_workspace` has 32 bytes. Waits while the event is set from before."""
def ib_wait(gm_workspace: GlobalTensor, ub_workspace: LocalTensor, block_idx: int, event_id: int, is_aiv_only: bool = ...) -> None:
    """Wait until a block has called `ib_set` with the same arguments, and clear the event (`IBWait<isAIVOnly>`). Workspaces as for `ib_set`."""
def icache_preload(pre_fetch_len: int) -> None:
    """Load the instructions from here on into the instruction cache, `pre_fetch_len` blocks of 2 KB (`ICachePreLoad`): less than the 16 of a cube core or the 8 of a vector core."""
def init_const_value(dst: LocalTensor, init_const_value_params: InitConstValueParams) -> None:
    """Fill blocks of L1 with one number (`InitConstValue`): `repeat_times` stretches of `block_num` blocks of 32 bytes, `dst_gap` blocks between them. Runs on MTE2."""
def init_determine_compute_workspace(gm_workspace: GlobalTensor, ub_workspace: LocalTensor) -> None:
    """Prepare the workspaces of `wait_pre_block` and `notify_next_block`, first thing in every block (`InitDetermineComputeWorkspace`). `gm_workspace` and `ub_workspace` are int32, with 32 bytes for each block, and 32 more in UB."""
def init_soc_state() -> None:
    """Bring the modes of the core to where they begin (`InitSocState`): copies are not atomic, all elements are selected. A `TPipe` does so by itself."""
def inline(code: str, args: tuple[Any, ...] | None = ..., before_function: bool = ...) -> None:
    """C++ text as it is, for what asctrace has no words for; `$0`, `$1`, ... stand for the values in `args`. `before_function` puts it in front of the kernel. The simulator cannot run it."""
@overload
def leaky_relu(dst: LocalTensor, src: LocalTensor, scalar: float, count: int, is_set_mask: bool = ...) -> None:
    """dst = src where that is not negative, else src * scalar (`AscendC::LeakyRelu`). Only the selected elements of `dst` change."""
@overload
def leaky_relu(dst: LocalTensor, src: LocalTensor, scalar: float, mask: int, repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def leaky_relu(dst: LocalTensor, src: LocalTensor, scalar: float, mask: list[int], repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def ln(dst: LocalTensor, src: LocalTensor, count: int) -> None:
    """dst = the natural logarithm of src (`AscendC::Ln`). Only the selected elements of `dst` change."""
@overload
def ln(dst: LocalTensor, src: LocalTensor, mask: int, repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def ln(dst: LocalTensor, src: LocalTensor, mask: list[int], repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def max(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, count: int, is_set_mask: bool = ...) -> None:
    """dst = the larger of src0 and src1 (`AscendC::Max`). Only the selected elements of `dst` change."""
@overload
def max(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: int, repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def max(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: list[int], repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def maxs(dst: LocalTensor, src: LocalTensor, scalar: float, count: int, is_set_mask: bool = ...) -> None:
    """dst = the larger of src and scalar (`AscendC::Maxs`). Only the selected elements of `dst` change."""
@overload
def maxs(dst: LocalTensor, src: LocalTensor, scalar: float, mask: int, repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def maxs(dst: LocalTensor, src: LocalTensor, scalar: float, mask: list[int], repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
def metrics_prof_start() -> None:
    """Where the profiler begins to measure (`MetricsProfStart`). The simulator does nothing."""
def metrics_prof_stop() -> None:
    """Where the profiler ceases to measure (`MetricsProfStop`). The simulator does nothing."""
@overload
def min(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, count: int, is_set_mask: bool = ...) -> None:
    """dst = the smaller of src0 and src1 (`AscendC::Min`). Only the selected elements of `dst` change."""
@overload
def min(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: int, repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def min(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: list[int], repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def mins(dst: LocalTensor, src: LocalTensor, scalar: float, count: int, is_set_mask: bool = ...) -> None:
    """dst = the smaller of src and scalar (`AscendC::Mins`). Only the selected elements of `dst` change."""
@overload
def mins(dst: LocalTensor, src: LocalTensor, scalar: float, mask: int, repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def mins(dst: LocalTensor, src: LocalTensor, scalar: float, mask: list[int], repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def mrg_sort(dst: LocalTensor, sort_list: MrgSortSrcList, element_count_list: list[int], sorted_num: list[int], valid_bit: int, repeat_time: int, is_exhausted_suspension: bool = ...) -> None:
    """dst = up to four sorted lists merged into one, from high scores to low (`AscendC::MrgSort`). Lengths count pairs of 8 bytes, or region proposals where the chip has those; `valid_bit` is 3, 7 or 15 for two, three or four lists. A merge may stop when a list is used up: `get_mrg_sort_result` then has how many of each it took, as an array given for `sorted_num` has; a list there stays as it is."""
@overload
def mrg_sort(dst: LocalTensor, sort_list: MrgSortSrcList, element_count_list: list[int], sorted_num: Array, valid_bit: int, repeat_time: int, is_exhausted_suspension: bool = ...) -> None: ...
@overload
def mrg_sort(dst: LocalTensor, sort_list: MrgSortSrcList, params: MrgSort4Info) -> None: ...
def mrg_sort4(dst: LocalTensor, src: MrgSortSrcList, params: MrgSort4Info) -> None:
    """dst = up to four sorted lists merged into one, from high scores to low (`AscendC::MrgSort4`). Lengths count pairs of 8 bytes, or region proposals where the chip has those; `valid_bit` is 3, 7 or 15 for two, three or four lists. A merge may stop when a list is used up: `get_mrg_sort_result` then has how many of each it took."""
@overload
def mul(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, count: int, is_set_mask: bool = ...) -> None:
    """dst = src0 * src1 (`AscendC::Mul`). Only the selected elements of `dst` change."""
@overload
def mul(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: int, repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def mul(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: list[int], repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def mul_add_dst(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, count: int, is_set_mask: bool = ...) -> None:
    """dst = src0 * src1 + dst (`AscendC::MulAddDst`). Only the selected elements of `dst` change."""
@overload
def mul_add_dst(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: int, repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def mul_add_dst(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: list[int], repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def mul_cast(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, count: int, is_set_mask: bool = ...) -> None:
    """dst = the integer nearest to src0 * src1, saturated (`AscendC::MulCast`). Only the selected elements of `dst` change."""
@overload
def mul_cast(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: int, repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def mul_cast(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: list[int], repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def muls(dst: LocalTensor, src: LocalTensor, scalar: float, count: int, is_set_mask: bool = ...) -> None:
    """dst = src * scalar (`AscendC::Muls`). Only the selected elements of `dst` change."""
@overload
def muls(dst: LocalTensor, src: LocalTensor, scalar: float, mask: int, repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def muls(dst: LocalTensor, src: LocalTensor, scalar: float, mask: list[int], repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
def notify_next_block(gm_workspace: GlobalTensor, ub_workspace: LocalTensor) -> None:
    """Let the next block go on behind its `wait_pre_block`, with everything before over (`NotifyNextBlock`). `gm_workspace` and `ub_workspace` are int32, with 32 bytes for each block, and 32 more in UB."""
@overload
def pair_reduce_sum(dst: LocalTensor, src: LocalTensor, repeat_time: int, mask: int, dst_rep_stride: int, src_blk_stride: int, src_rep_stride: int, is_set_mask: bool = ...) -> None:
    """dst = the sum of each two neighbours of src (`AscendC::PairReduceSum`). Where no element of a pair is selected, dst keeps what it has; on 3510 and 3002 it becomes 0. An element that the mask leaves out takes no part."""
@overload
def pair_reduce_sum(dst: LocalTensor, src: LocalTensor, repeat_time: int, mask: list[int], dst_rep_stride: int, src_blk_stride: int, src_rep_stride: int, is_set_mask: bool = ...) -> None: ...
def pipe_barrier(pipe: PipeID) -> None:
    """Hold a pipe until everything before has finished there (`PipeBarrier<pipe>()`)."""
def print_time_stamp(desc_id: int) -> None:
    """Print the system counter under a number (`PrintTimeStamp`); those up to 0xffff are the library's own. On the device only with ASCENDC_TIME_STAMP_ON."""
def printf(desc: Any, *params: Any) -> None:
    """Print text in C's notation with values in it (`AscendC::printf`): `printf(desc, *params)`. `print(...)` in a kernel prints runtime scalars without a notation. In the simulator both write to standard output."""
def proposal_concat(dst: LocalTensor, src: LocalTensor, repeat_time: int, mode_number: int) -> None:
    """One element of each region proposal of dst = an element of src, 16 in each repeat (`AscendC::ProposalConcat`). `mode_number` is 0 to 5 for x1, y1, x2, y2, score and label."""
def proposal_extract(dst: LocalTensor, src: LocalTensor, repeat_time: int, mode_number: int) -> None:
    """dst = one element of each region proposal of src, 16 in each repeat (`AscendC::ProposalExtract`). `mode_number` is 0 to 5 for x1, y1, x2, y2, score and label."""
@overload
def reciprocal(dst: LocalTensor, src: LocalTensor, count: int) -> None:
    """dst = 1 / src, approximately (`AscendC::Reciprocal`). Only the selected elements of `dst` change."""
@overload
def reciprocal(dst: LocalTensor, src: LocalTensor, mask: int, repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def reciprocal(dst: LocalTensor, src: LocalTensor, mask: list[int], repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def reduce_max(dst: LocalTensor, src: LocalTensor, shared_tmp_buffer: LocalTensor, count: int, cal_index: bool = ...) -> None:
    """dst[0] = the maximum of src, and with cal_index dst[1] = the index of the first element that has it (`AscendC::ReduceMax`). The index counts from the start of src and has the bits of an unsigned integer as wide as an element. shared_tmp_size tells how large shared_tmp_buffer is."""
@overload
def reduce_max(dst: LocalTensor, src: LocalTensor, shared_tmp_buffer: LocalTensor, mask: int, repeat_time: int, src_rep_stride: int, cal_index: bool = ...) -> None: ...
@overload
def reduce_max(dst: LocalTensor, src: LocalTensor, shared_tmp_buffer: LocalTensor, mask: list[int], repeat_time: int, src_rep_stride: int, cal_index: bool = ...) -> None: ...
@overload
def reduce_min(dst: LocalTensor, src: LocalTensor, shared_tmp_buffer: LocalTensor, count: int, cal_index: bool = ...) -> None:
    """dst[0] = the minimum of src, and with cal_index dst[1] = the index of the first element that has it (`AscendC::ReduceMin`). The index counts from the start of src and has the bits of an unsigned integer as wide as an element. shared_tmp_size tells how large shared_tmp_buffer is."""
@overload
def reduce_min(dst: LocalTensor, src: LocalTensor, shared_tmp_buffer: LocalTensor, mask: int, repeat_time: int, src_rep_stride: int, cal_index: bool = ...) -> None: ...
@overload
def reduce_min(dst: LocalTensor, src: LocalTensor, shared_tmp_buffer: LocalTensor, mask: list[int], repeat_time: int, src_rep_stride: int, cal_index: bool = ...) -> None: ...
@overload
def reduce_sum(dst: LocalTensor, src: LocalTensor, shared_tmp_buffer: LocalTensor, count: int) -> None:
    """dst[0] = the sum of src, rounded to the dtype after each addition (`AscendC::ReduceSum`). Each repeat is added as a tree; on 2201 the repeats follow one another by count and are a tree with a mask. shared_tmp_size tells how large shared_tmp_buffer is."""
@overload
def reduce_sum(dst: LocalTensor, src: LocalTensor, shared_tmp_buffer: LocalTensor, mask: int, repeat_time: int, src_rep_stride: int) -> None: ...
@overload
def reduce_sum(dst: LocalTensor, src: LocalTensor, shared_tmp_buffer: LocalTensor, mask: list[int], repeat_time: int, src_rep_stride: int) -> None: ...
@overload
def relu(dst: LocalTensor, src: LocalTensor, count: int) -> None:
    """dst = max(src, 0) (`AscendC::Relu`). Only the selected elements of `dst` change."""
@overload
def relu(dst: LocalTensor, src: LocalTensor, mask: int, repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def relu(dst: LocalTensor, src: LocalTensor, mask: list[int], repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
def repeat_reduce_sum(dst: LocalTensor, src: LocalTensor, repeat_time: int, mask: int, dst_blk_stride: int, src_blk_stride: int, dst_rep_stride: int, src_rep_stride: int, is_set_mask: bool = ...) -> None:
    """dst = the sum of each repeat of src, added as a tree; dst_blk_stride has no effect (`AscendC::RepeatReduceSum`). An element that the mask leaves out takes no part."""
def reset_mask() -> None:
    """Let the mask select all elements of a repeat (`AscendC::ResetMask`). The mode stays."""
def rp_sort16(dst: LocalTensor, src: LocalTensor, repeat_time: int) -> None:
    """dst = the region proposals of src by score, from high to low, in groups of 16, one in each repeat (`AscendC::RpSort16`). Works in place."""
@overload
def rsqrt(dst: LocalTensor, src: LocalTensor, count: int) -> None:
    """dst = 1 / the square root of src, approximately (`AscendC::Rsqrt`). Only the selected elements of `dst` change."""
@overload
def rsqrt(dst: LocalTensor, src: LocalTensor, mask: int, repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def rsqrt(dst: LocalTensor, src: LocalTensor, mask: list[int], repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
def scalar_cast(value_in: float, dtype: DataType, round_mode: RoundMode) -> int:
    """A float32 in another dtype (`ScalarCast<float, U, roundMode>`): float16 with CAST_ODD, int32 with CAST_ROUND, CAST_CEIL, CAST_FLOOR or CAST_RINT; integers saturate, NaN is 0."""
def scalar_count_leading_zero(value_in: int) -> int:
    """Number of zeros above the highest bit that is set, 64 for 0 (`ScalarCountLeadingZero`); int64. Negative numbers count as their 64 bits."""
def scalar_get_count_of_value(value_in: int, count_value: int) -> int:
    """Number of bits that are `count_value` (`ScalarGetCountOfValue<countValue>`); int64. Negative numbers count as their 64 bits."""
def scalar_get_sff_value(value_in: int, count_value: int) -> int:
    """Place of the lowest bit that is `count_value`, -1 for none (`ScalarGetSFFValue<countValue>`); int64. Negative numbers count as their 64 bits."""
@overload
def scatter(dst: LocalTensor, src: LocalTensor, dst_offset: LocalTensor, dst_base: int, mask: int, repeat_times: int, src_rep_stride: int) -> None:
    """The element of dst that lies `dst_base + dst_offset[i]` bytes behind its start = src[i] (`AscendC::Scatter`). Offsets are uint32, all different; architecture 2201 has no such instruction."""
@overload
def scatter(dst: LocalTensor, src: LocalTensor, dst_offset: LocalTensor, dst_base: int, mask: list[int], repeat_times: int, src_rep_stride: int) -> None: ...
@overload
def scatter(dst: LocalTensor, src: LocalTensor, dst_offset: LocalTensor, dst_base: int, count: int) -> None: ...
@overload
def select(dst: LocalTensor, sel_mask: LocalTensor, src0: LocalTensor, src1: LocalTensor, sel_mode: SelMode, count: int) -> None:
    """dst = src0 where the bit of sel_mask is 1, else src1 (`AscendC::Select`). `VSEL_CMPMASK_SPR` uses the bits of the first repeat in all repeats, the other modes go on reading. The modes with a mask that goes on need 8 KB of UB for themselves on 2201 and 2002. Without a mask, the elements are those of `set_vector_mask`: two sources and the bits of the register (`compare`, `set_cmp_mask`), or sel_mask and the number in the register. With `VSEL_TENSOR_TENSOR_MODE` the register holds the address of the bits (`get_phy_addr`): the first four bytes of it count, on 3510 eight."""
@overload
def select(dst: LocalTensor, sel_mask: LocalTensor, src0: LocalTensor, src1: LocalTensor, sel_mode: SelMode, mask: int, repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def select(dst: LocalTensor, sel_mask: LocalTensor, src0: LocalTensor, src1: LocalTensor, sel_mode: SelMode, mask: list[int], repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def select(dst: LocalTensor, sel_mask: LocalTensor, src0: LocalTensor, src1: float, sel_mode: SelMode, count: int) -> None: ...
@overload
def select(dst: LocalTensor, sel_mask: LocalTensor, src0: LocalTensor, src1: float, sel_mode: SelMode, mask: int, repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def select(dst: LocalTensor, sel_mask: LocalTensor, src0: LocalTensor, src1: float, sel_mode: SelMode, mask: list[int], repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def select(dst: LocalTensor, sel_mask: LocalTensor, src0: LocalTensor, repeat_times: int, repeat_params: BinaryRepeatParams) -> None: ...
@overload
def select(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, repeat_times: int, repeat_params: BinaryRepeatParams, sel_mode: SelMode) -> None: ...
def set_atomic_add(dtype: DataType) -> None:
    """Add (`SetAtomicAdd<T>`): what a copy to global memory finds there and what it brings are combined in the tensor's dtype, which has to be this one. Holds for the copies issued behind it, until `set_atomic_none`; no event is needed in between."""
def set_atomic_max(dtype: DataType) -> None:
    """Keep the larger (`SetAtomicMax<T>`): what a copy to global memory finds there and what it brings are combined in the tensor's dtype, which has to be this one. Holds for the copies issued behind it, until `set_atomic_none`; no event is needed in between."""
def set_atomic_min(dtype: DataType) -> None:
    """Keep the smaller (`SetAtomicMin<T>`): what a copy to global memory finds there and what it brings are combined in the tensor's dtype, which has to be this one. Holds for the copies issued behind it, until `set_atomic_none`; no event is needed in between."""
def set_atomic_none() -> None:
    """Copies to global memory replace what is there again (`SetAtomicNone`)."""
def set_atomic_type(dtype: DataType) -> None:
    """Change the dtype of atomic writes (`SetAtomicType<T>`); `set_atomic_add` and its like do so by themselves. What it does while no such mode is on is not documented: refused."""
def set_cmp_mask(src: LocalTensor) -> None:
    """The register that `select` without a mask reads = the first 16 bytes of src (`AscendC::SetCmpMask`): bits, or a number of the dtype of the elements."""
@overload
def set_deq_scale(scale: float) -> None:
    """Set the scale of the calls behind it (`AscendC::SetDeqScale`): a float16 for int32 to float16; a float32 with an offset of 9 bits and whether the result has a sign, for int16 to 8 bits; or sixteen of these, which go to the 128 bytes of `vdeq`."""
@overload
def set_deq_scale(scale: float, offset: int, sign_mode: bool) -> None: ...
@overload
def set_deq_scale(vdeq: LocalTensor, vdeq_info: VdeqInfo) -> None: ...
def set_flag(event: HardEvent, event_id: int = ...) -> None:
    """Set an event when the first pipe of the pair has come this far (`SetFlag<HardEvent>(id)`)."""
def set_hccl_context(index: int, context: GlobalAddress) -> None:
    """Set the message area of a communication group, 0 or 1 (`SetHcclContext<index>`)."""
def set_hf32_mode(hf32_mode: bool) -> None:
    """Round float32 operands to HF32 in front of the multiplication, or not (`SetHF32Mode`). A mode of the matrix multiplication, which no call of a vector core depends on."""
def set_hf32_trans_mode(trans_mode: bool) -> None:
    """How HF32 rounds: to the nearest, ties towards zero (True) or to even (False) (`SetHF32TransMode`). A mode of the matrix multiplication, which no call of a vector core depends on."""
def set_mask_count() -> None:
    """The mask counts the elements of a whole call from now on (`AscendC::SetMaskCount`). Calls with a mask take as many repeats as they need and ignore `repeat_times`; a mask of their own is `[count, 0]`. Go back by `set_mask_norm`."""
def set_mask_norm() -> None:
    """The mask selects elements of each repeat from now on (`AscendC::SetMaskNorm`). A kernel begins like this."""
def set_mm_layout_transform(mm_layout_mode: bool) -> None:
    """Make results along N first (True), or along M first (False) (`SetMMLayoutTransform`). A mode of the matrix multiplication, which no call of a vector core depends on."""
def set_pad_value(padding_value: float, pos: TPosition = ...) -> None:
    """Set the number that later calls of `data_copy_pad` without `is_pad` pad with (`SetPadValue`). It has the dtype of their tensors: NumPy scalars and runtime scalars have their own, a Python integer is int32 and a Python float float32; 0 fits all. A call with `is_pad` ends its effect."""
def set_store_atomic_config(atomic_type: AtomicDtype, atomic_op: AtomicOp) -> None:
    """Atomic addition in a dtype, or none (`SetStoreAtomicConfig<AtomicDtype, AtomicOp>`): the same mode as that of `set_atomic_add`."""
def set_sys_workspace(workspace: GlobalAddress) -> None:
    """Set the system workspace, which some functions of the library need (`SetSysWorkspace`)."""
@overload
def set_vector_mask(length: int, dtype: DataType, mode: MaskMode = ...) -> None:
    """Set the mask that calls with `is_set_mask=False` go by (`AscendC::SetVectorMask`). In normal mode: the first `length` elements of a repeat of `dtype`, or the bits of two words; in counter mode: how many elements. The mode is set before, by `set_mask_norm` or `set_mask_count`."""
@overload
def set_vector_mask(mask_high: int, mask_low: int, dtype: DataType, mode: MaskMode = ...) -> None: ...
@overload
def shift_left(dst: LocalTensor, src: LocalTensor, scalar: float, count: int, is_set_mask: bool = ...) -> None:
    """dst = src << scalar (`AscendC::ShiftLeft`). Only the selected elements of `dst` change."""
@overload
def shift_left(dst: LocalTensor, src: LocalTensor, scalar: float, mask: int, repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def shift_left(dst: LocalTensor, src: LocalTensor, scalar: float, mask: list[int], repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def shift_right(dst: LocalTensor, src: LocalTensor, scalar: float, count: int, is_set_mask: bool = ...) -> None:
    """dst = src >> scalar, with copies of the sign (`AscendC::ShiftRight`). Only the selected elements of `dst` change."""
@overload
def shift_right(dst: LocalTensor, src: LocalTensor, scalar: float, mask: int, repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def shift_right(dst: LocalTensor, src: LocalTensor, scalar: float, mask: list[int], repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
def sort(dst: LocalTensor, concat: LocalTensor, index: LocalTensor, tmp: LocalTensor, repeat_time: int, is_full_sort: bool = ...) -> None:
    """dst = scores (concat) with their index (uint32) by score, from high to low: in groups of one repeat, or all of them with `is_full_sort` (`AscendC::Sort`). A repeat has 32 scores and gives pairs of 8 bytes; on architecture 2002 it has 16 region proposals, into which the index goes. `tmp` is as large as dst and holds garbage after a full sort."""
def sort32(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, repeat_time: int) -> None:
    """dst = pairs of score (src0) and index (src1, uint32) by score, from high to low, in groups of 32, one in each repeat (`AscendC::Sort32`). Pairs have 8 bytes."""
@overload
def sqrt(dst: LocalTensor, src: LocalTensor, count: int) -> None:
    """dst = the square root of src (`AscendC::Sqrt`). Only the selected elements of `dst` change."""
@overload
def sqrt(dst: LocalTensor, src: LocalTensor, mask: int, repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def sqrt(dst: LocalTensor, src: LocalTensor, mask: list[int], repeat_times: int, repeat_params: UnaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def sub(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, count: int, is_set_mask: bool = ...) -> None:
    """dst = src0 - src1 (`AscendC::Sub`). Only the selected elements of `dst` change."""
@overload
def sub(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: int, repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def sub(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: list[int], repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def sub_relu(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, count: int, is_set_mask: bool = ...) -> None:
    """dst = max(src0 - src1, 0) (`AscendC::SubRelu`). Only the selected elements of `dst` change."""
@overload
def sub_relu(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: int, repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def sub_relu(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: list[int], repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def sub_relu_cast(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, count: int) -> None:
    """dst = max(src0 - src1, 0) in the dtype of dst, ties to even, saturated (`AscendC::SubReluCast`). Only the selected elements of `dst` change."""
@overload
def sub_relu_cast(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: int, repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def sub_relu_cast(dst: LocalTensor, src0: LocalTensor, src1: LocalTensor, mask: list[int], repeat_times: int, repeat_params: BinaryRepeatParams, is_set_mask: bool = ...) -> None: ...
@overload
def sync_all(is_aiv_only: bool = ...) -> None:
    """Wait until every block has come here, with everything before it over (`SyncAll<isAIVOnly>`). A kernel that calls it has at most as many blocks as the chip has vector cores. With workspaces only the first `used_cores` blocks take part (0: all): `gm_workspace` is int32 and all zero at first, both have 32 bytes for each block. Without `is_aiv_only` the cube cores take part too."""
@overload
def sync_all(gm_workspace: GlobalTensor, ub_workspace: LocalTensor, used_cores: int = ..., is_aiv_only: bool = ...) -> None: ...
@overload
def trans_data_to_5hd(dst_list: list[LocalTensor], src_list: list[LocalTensor], params: TransDataTo5HDParams) -> None:
    """Elements of the 16 blocks at the places of src_list go to those of dst_list with rows and columns exchanged, in each repeat (`AscendC::TransDataTo5HD`). Places are tensors, addresses in UB, or tensors of uint64 with the addresses, which the call spoils. `dtype` is that of the elements where addresses do not tell it."""
@overload
def trans_data_to_5hd(dst_list: list[int], src_list: list[int], params: TransDataTo5HDParams, dtype: DataType | None = ...) -> None: ...
@overload
def trans_data_to_5hd(dst: LocalTensor, src: LocalTensor, params: TransDataTo5HDParams, dtype: DataType | None = ...) -> None: ...
@overload
def transpose(dst: LocalTensor, src: LocalTensor) -> None:
    """dst = the 16 x 16 elements of src with rows and columns exchanged (`AscendC::Transpose`), in place if they begin at one address; with params [N, C, H, W] from or to [N, H, W, C]. `shared_tmp_buffer` (uint8) has (C + 2) * 512 bytes for TRANSPOSE_NCHW2NHWC and (2 * C + 1) * 512 for TRANSPOSE_NHWC2NCHW, twice that for dtypes of one byte, and holds garbage afterwards."""
@overload
def transpose(dst: LocalTensor, src: LocalTensor, shared_tmp_buffer: LocalTensor, params: TransposeParamsExt) -> None: ...
def trap() -> None:
    """Stop the core here (`Trap`). The run ends with AT0205 in the simulator."""
def wait_flag(event: HardEvent, event_id: int = ...) -> None:
    """Hold the second pipe of the pair until the event is set, and clear it (`WaitFlag<HardEvent>(id)`)."""
def wait_pre_block(gm_workspace: GlobalTensor, ub_workspace: LocalTensor) -> None:
    """Wait until all blocks before this one have called `notify_next_block` as often as this one is about to, so that blocks take turns in the order of their indices (`WaitPreBlock`). `gm_workspace` and `ub_workspace` are int32, with 32 bytes for each block, and 32 more in UB."""
@overload
def whole_reduce_max(dst: LocalTensor, src: LocalTensor, mask: int, repeat_time: int, dst_rep_stride: int, src_blk_stride: int, src_rep_stride: int, order: ReduceOrder = ..., is_set_mask: bool = ...) -> None:
    """dst = the maximum of each repeat of src and the first index that has it, as order says (`AscendC::WholeReduceMax`). The index counts within the repeat; it has the bits of an unsigned integer as wide as the value, of 32 bits on its own. An element that the mask leaves out takes no part."""
@overload
def whole_reduce_max(dst: LocalTensor, src: LocalTensor, mask: list[int], repeat_time: int, dst_rep_stride: int, src_blk_stride: int, src_rep_stride: int, order: ReduceOrder = ..., is_set_mask: bool = ...) -> None: ...
@overload
def whole_reduce_min(dst: LocalTensor, src: LocalTensor, mask: int, repeat_time: int, dst_rep_stride: int, src_blk_stride: int, src_rep_stride: int, order: ReduceOrder = ..., is_set_mask: bool = ...) -> None:
    """dst = the minimum of each repeat of src and the first index that has it, as order says (`AscendC::WholeReduceMin`). The index counts within the repeat; it has the bits of an unsigned integer as wide as the value, of 32 bits on its own. An element that the mask leaves out takes no part."""
@overload
def whole_reduce_min(dst: LocalTensor, src: LocalTensor, mask: list[int], repeat_time: int, dst_rep_stride: int, src_blk_stride: int, src_rep_stride: int, order: ReduceOrder = ..., is_set_mask: bool = ...) -> None: ...
@overload
def whole_reduce_sum(dst: LocalTensor, src: LocalTensor, mask: int, repeat_time: int, dst_rep_stride: int, src_blk_stride: int, src_rep_stride: int, is_set_mask: bool = ...) -> None:
    """dst = the sum of each repeat of src, added as a tree (`AscendC::WholeReduceSum`). An element that the mask leaves out takes no part."""
@overload
def whole_reduce_sum(dst: LocalTensor, src: LocalTensor, mask: list[int], repeat_time: int, dst_rep_stride: int, src_blk_stride: int, src_rep_stride: int, is_set_mask: bool = ...) -> None: ...
