/*
 * Kernel names as profilers write them, and what they tell. Names are from the samples (Kineto,
 * nsys) and, for libraries no sample has, from the libraries' sources; long ones are cut where
 * nothing more follows that matters.
 */
#define _GNU_SOURCE
#include "check.h"

#include <ctype.h>
#include <string.h>

#include "derive/kernelcategory.h"
#include "derive/kernelclass.h"

struct expectation {
    const char *name;
    enum nl_category category;
    const char *tensor_core, *dtype; /* NULL: the name does not tell */
};

#define CATEGORY(name) NL_CATEGORY_##name

static const struct expectation matrix_products[] = {
    {"volta_sgemm_128x64_nn", CATEGORY(GEMM), "no", "fp32"},
    {"ampere_sgemm_32x32_sliced1x4_tn", CATEGORY(GEMM), "no", "fp32"},
    {"ampere_fp16_sgemm_fp16_128x32_tn", CATEGORY(GEMM), "no", "fp16"},
    {"ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_64x4_tn", CATEGORY(GEMM), "yes", "fp16"},
    {"ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_tn", CATEGORY(GEMM), "yes", "bf16"},
    {"volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn", CATEGORY(GEMM), "yes", "fp16"},
    {"volta_h884gemm_64x128_ldg8_nn", CATEGORY(GEMM), "yes", "fp16"},
    {"ampere_gcgemm_32x32_nt", CATEGORY(GEMM), "no", "complex64"},
    {"volta_dgemm_64x64_nn", CATEGORY(GEMM), "no", "fp64"},
    {"nvjet_tst_192x192_64x4_2x1_v_bz_coopB_bias_TNN", CATEGORY(GEMM), "yes", "bf16"},
    {"nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_TNT", CATEGORY(GEMM), "yes", "fp16"},
    {"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x256x8_stage3_warpsize1x4x1_ffma_aligna4_"
     "alignc4_execute_kernel__5x_cublas",
     CATEGORY(GEMM), "no", "fp32"},
    {"sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x64_stage3_warpsize2x2x1_tensor16x8x16_"
     "execute_kernel_cublas",
     CATEGORY(GEMM), "yes", "fp16"},
    {"sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_warpgroupsize1x1x1_execute_segment_"
     "k_off_kernel__5x_cublas",
     CATEGORY(GEMM), "yes", "tf32"},
    {"sm80_xmma_gemm_f32f32_f32f32_f32_tn_n", CATEGORY(GEMM), NULL, "fp32"},
    {"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x64_32x6_nt_align1>(Params)",
     CATEGORY(GEMM), "yes", "tf32"},
    {"void cutlass::Kernel<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>(Params)", CATEGORY(GEMM),
     "no", "fp32"},
    {"void cutlass::Kernel2<cutlass_80_wmma_tensorop_f16_s161616gemm_f16_32x32_128x1_tn_align2>",
     CATEGORY(GEMM), "yes", "fp16"},
    {"Cijk_Ailk_Bljk_HHS_BH_MT128x128x16_MI32x32x8x1_SN_1LDSB0", CATEGORY(GEMM), "yes", "fp16"},
    {"Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT64x16x32_MI16x16x1_SN", CATEGORY(GEMM), "yes",
     "bf16"},
    {"Cijk_Ailk_Bljk_SB_MT64x64x8_SN_APM1", CATEGORY(GEMM), "no", "fp32"},
    {"void gemv2T_kernel_val<int, int, double, double, double, double, 128, 16, 4, 4, false>",
     CATEGORY(GEMM), "no", "fp64"},
    {"std::enable_if<true, void>::type internal::gemvx::kernel<int, int, __half, __half, __half, "
     "float>",
     CATEGORY(GEMM), "no", "fp16"},
    {"void cublasLt::splitKreduce_kernel<32, 16, int, float, float, float, float, true>",
     CATEGORY(GEMM), NULL, "fp32"},
    {"triton_tem_fused_addmm_relu_3", CATEGORY(GEMM), NULL, NULL},
    {"void marlin::Marlin<__half, 256, 1, 8, 8, 4, 8>", CATEGORY(GEMM), "yes", "fp16"},
    {"void mul_mat_vec_q<(ggml_type)8, 1>(void const*, float*)", CATEGORY(GEMM), "no", "fp32"},
    {"fc-dtype_Float", CATEGORY(GEMM), NULL, "fp32"},
    {"magma_sgemmEx_kernel<float, float, float, true>", CATEGORY(GEMM), "no", "fp32"},
    {"void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<(int)128, cutlass::bfloat16_t>>",
     CATEGORY(ATTENTION), "yes", "bf16"},
    {"fmha_cutlassF_f16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel)",
     CATEGORY(ATTENTION), "yes", "fp16"},
    {"fmha_cutlassF_f32_aligned_64x64_rf_sm75(PyTorchMemEffAttention)", CATEGORY(ATTENTION), "no",
     "fp32"},
    {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x1x1_kernel0",
     CATEGORY(ATTENTION), "yes", "fp16"},
    {"attn_fwd", CATEGORY(ATTENTION), NULL, NULL},
    {"sage_fwd", CATEGORY(ATTENTION), NULL, NULL},
    {"sage_fwd_1", CATEGORY(ATTENTION), NULL, NULL},
    {"kernel_unified_attention_2d", CATEGORY(ATTENTION), NULL, NULL},
    {"void vllm::paged_attention_v2_kernel<unsigned short, unsigned short, 128, 16>",
     CATEGORY(ATTENTION), NULL, NULL},
    {"volta_scudnn_128x64_stridedB_splitK_xregs_large_nn_v1", CATEGORY(CONVOLUTION), "no", "fp32"},
    {"_5x_cudnn_ampere_fp16_scudnn_fp16_128x32_relu_small_nn_v1", CATEGORY(CONVOLUTION), "no",
     "fp16"},
    {"volta_fp16_s884cudnn_fp16_256x64_ldg8_relu_exp_interior_nhwc_tn_v1", CATEGORY(CONVOLUTION),
     "yes", "fp16"},
    {"void implicit_convolve_sgemm<float, float, 1024, 6, 7>", CATEGORY(CONVOLUTION), "no", "fp32"},
    {"void cudnn::detail::dgrad_engine<float, 512, 6, 5, 3, 3, 3, false>", CATEGORY(CONVOLUTION),
     "no", "fp32"},
    {"sm80_xmma_wgrad_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x16_"
     "stage4_warpsize2x2x1_g1_tensor16x8x8_kernel_cudnn",
     CATEGORY(CONVOLUTION), "yes", "tf32"},
    {"miopenSp3AsmConv_v30_3_1_gfx9_fp16_dot2_edc_f2x3_stride1", CATEGORY(CONVOLUTION), "no",
     "fp16"},
    {"igemm_wrw_gtcx2_nhwc_fp16_bx0_ex0_bt128x128x32", CATEGORY(CONVOLUTION), "yes", "fp16"},
    {"void cask_cudnn::computeOffsetsKernel(cask_cudnn::ComputeOffsetsParams)",
     CATEGORY(CONVOLUTION), NULL, NULL},
    {"void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>", CATEGORY(CONVOLUTION),
     "no", "fp32"},
    {"_matmul_ogs_NNT_bf16xbf16xmxfp4_16x256x128x1_swiglu", CATEGORY(MOE), NULL, "bf16"},
    {"fused_moe_kernel", CATEGORY(MOE), NULL, NULL},
    {"void RNN_blockPersist_fp_LSTM<__half, 128, 4>", CATEGORY(RNN), NULL, "fp16"},
};

#define ELEMENTWISE_ATEN(functor)                                                                  \
    "void at::native::vectorized_elementwise_kernel<4, at::native::" functor                       \
    ", at::detail::Array<char*, 2> >(int, at::native::" functor ", at::detail::Array<char*, 2>)"

static const struct expectation others[] = {
    {"ncclDevKernel_Generic(ncclDevComm*, channelMasks, ncclWork*)", CATEGORY(COMMUNICATION), "no",
     NULL},
    {"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>", CATEGORY(COMMUNICATION), "no",
     "bf16"},
    {"__amd_rocclr_fillBufferAligned.kd", CATEGORY(FILL), "no", NULL},
    {"__amd_rocclr_copyBuffer.kd", CATEGORY(COPY_LIKE), "no", NULL},
    {ELEMENTWISE_ATEN("CUDAFunctor_add<float>"), CATEGORY(ELEMENTWISE), "no", "fp32"},
    {ELEMENTWISE_ATEN("FillFunctor<c10::BFloat16>"), CATEGORY(FILL), "no", "bf16"},
    {ELEMENTWISE_ATEN("nan_to_num_kernel_cuda(double)::{lambda()#1}::operator()() "
                      "const::{lambda(float)#1}"),
     CATEGORY(ELEMENTWISE), "no", "fp32"},
    {ELEMENTWISE_ATEN("direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(c10::Half)#1}"),
     CATEGORY(COPY_LIKE), "no", "fp16"},
    {ELEMENTWISE_ATEN("mse_kernel_cuda(at::TensorIteratorBase&)::{lambda(float, float)#1}"),
     CATEGORY(LOSS), "no", "fp32"},
    {ELEMENTWISE_ATEN("fbgemm_gpu::_float_to_hfp8_gpu(at::Tensor&)::{lambda(float)#1}"),
     CATEGORY(QUANTISATION), "no", NULL},
    {"void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda()::"
     "{lambda(float)#1}, at::native::memory::LoadWithCast<1>>",
     CATEGORY(COPY_LIKE), "no", NULL},
    {"void at::native::elementwise_kernel_manual_unroll<128, 4, "
     "at::native::(anonymous namespace)::GroupNormKernelImplInternal<float>(at::Tensor const&)>",
     CATEGORY(NORMALISATION), "no", "fp32"},
    {"void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float, "
     "4>",
     CATEGORY(RANDOM), "no", "fp32"},
    {"void at::native::(anonymous namespace)::fused_dropout_kernel_vec<c10::Half, float, unsigned "
     "int, 1, 4, bool>(at::PhiloxCudaState)",
     CATEGORY(ELEMENTWISE), "no", "fp16"},
    {"void at::native::index_elementwise_kernel<128, 4, "
     "at::native::gpu_index_kernel<at::native::OpaqueType<4> >::{lambda(long)#1}>",
     CATEGORY(COPY_LIKE), "no", NULL},
    {"void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 1, 128, 1>",
     CATEGORY(COPY_LIKE), "no", "fp32"},
    {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<c10::Half, "
     "at::native::MeanOps<c10::Half, float, float, c10::Half>, unsigned int, c10::Half, 4> >",
     CATEGORY(REDUCTION), "no", "fp16"},
    {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
     "at::native::NormTwoOps<float, float, float>, unsigned int, float, 4> >",
     CATEGORY(REDUCTION), "no", "fp32"},
    {"void (anonymous namespace)::softmax_warp_forward<c10::Half, float, float, 7, false, false>",
     CATEGORY(SOFTMAX), "no", "fp16"},
    {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>",
     CATEGORY(NORMALISATION), "no", "fp32"},
    {"void cudnn::bn_fw_tr_1C11_kernel_NCHW<__half, float, int, 512, true, 1, true>",
     CATEGORY(NORMALISATION), "no", "fp16"},
    {"_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineDF16bDF16b",
     CATEGORY(NORMALISATION), "no", "bf16"},
    {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::TensorListMeta"
     "data<4>, at::native::FusedAdamMathFunctor<float, 4>, float>",
     CATEGORY(OPTIMIZER), "no", "fp32"},
    {"void split_embedding_backward_codegen_rowwise_adagrad_unweighted_kernel_cta_per_row_1<c10::"
     "Half, float, c10::Half, 2ul, 32>",
     CATEGORY(EMBEDDING), "no", "fp16"},
    {"void vllm::rotary_embedding_kernel<c10::BFloat16, true>", CATEGORY(ELEMENTWISE), "no",
     "bf16"},
    {"void vllm::reshape_and_cache_flash_kernel<__hip_bfloat16, __hip_bfloat16>",
     CATEGORY(COPY_LIKE), "no", "bf16"},
    {"void at::native::sbtopk::gatherTopK<float, unsigned int, 2, false>", CATEGORY(SORT_SCAN),
     "no", "fp32"},
    {"void cub::DeviceRadixSortOnesweepKernel<cub::DeviceRadixSortPolicy<long, float, int>>",
     CATEGORY(SORT_SCAN), "no", NULL},
    {"void at_cuda_detail::cub::DeviceScanKernel<at_cuda_detail::cub::AgentScanPolicy<128, 15>>",
     CATEGORY(SORT_SCAN), "no", NULL},
    {"void at::native::(anonymous namespace)::max_pool_forward_nchw<float, float>",
     CATEGORY(POOLING), "no", "fp32"},
    {"void at::native::(anonymous namespace)::upsample_bilinear2d_out_frame<float, float>",
     CATEGORY(RESAMPLE), "no", "fp32"},
    {"void at::native::(anonymous namespace)::nll_loss_forward_reduce_cuda_kernel_2d<float, float>",
     CATEGORY(LOSS), "no", "fp32"},
    {"void fft2d_r2c_32x32<float, false, 0u, false>", CATEGORY(FFT), "no", "fp32"},
    {"void cudnn::ops::nchwToNhwcKernel<__half, __half, float, false, true>", CATEGORY(COPY_LIKE),
     "no", "fp16"},
    {"transpose_CNHW2NCHW_V1_1D_WG_off64", CATEGORY(COPY_LIKE), "no", NULL},
    {"batched_transpose_16x16_half", CATEGORY(COPY_LIKE), "no", "fp16"},
    {"triton_poi_fused__to_copy_0", CATEGORY(COPY_LIKE), "no", NULL},
    {"triton_poi_fused__to_copy_add_0", CATEGORY(ELEMENTWISE), "no", NULL},
    {"triton_poi_fused_constant_pad_nd_moe_forward_5", CATEGORY(ELEMENTWISE), "no", NULL},
    {"triton_red_fused_add_mean_mul_pow_rsqrt_2", CATEGORY(NORMALISATION), "no", NULL},
    {"triton_per_fused__softmax_1", CATEGORY(SOFTMAX), "no", NULL},
    {"triton_red_fused_sum_4", CATEGORY(REDUCTION), "no", NULL},
    {"void cusparse::csrmv_v3_kernel<int, int, float>", CATEGORY(SPARSE), "no", "fp32"},
    {"void getrf_kernel_device<double>", CATEGORY(LINEAR_ALGEBRA), "no", "fp64"},
    {"at::cuda::(anonymous namespace)::spin_kernel(long)", CATEGORY(OTHER), "no", NULL},
    {"void dynamic_per_token_scaled_fp8_quant_kernel<c10::Half>", CATEGORY(QUANTISATION), "no",
     NULL},
    {"rms_norm_f32<1024>(float const*, float*, int, float)", CATEGORY(NORMALISATION), "no", "fp32"},
    {"soft_max_f32<true, 0, 0>(float const*)", CATEGORY(SOFTMAX), "no", "fp32"},
    {"cpy_f32_f16<&cpy_1_f32_f16>", CATEGORY(COPY_LIKE), "no", "fp16"},
    {"input_reduce_fusion_3", CATEGORY(REDUCTION), "no", NULL},
    {"loop_add_fusion", CATEGORY(ELEMENTWISE), "no", NULL},
    {"add_one(const float *, float *, int)", CATEGORY(ELEMENTWISE), "no", "fp32"},
    {"Kernel", CATEGORY(UNKNOWN), NULL, NULL},
    /* What it is given, and where its memory lies, is not what it does. */
    {"render(float3 *, int, int, curandStateXORWOW *)", CATEGORY(UNKNOWN), NULL, "fp32"},
    {"setup_curand(curandStateXORWOW *)", CATEGORY(RANDOM), "no", NULL},
    {"(anonymous namespace)::render(curandState *)", CATEGORY(UNKNOWN), NULL, NULL},
    {"sumArraysZeroCopy(float *, float *, float *, int)", CATEGORY(UNKNOWN), NULL, "fp32"},
    {"my_kernel<int>(int*)", CATEGORY(UNKNOWN), NULL, "int32"},
    {"", CATEGORY(UNKNOWN), NULL, NULL},
};

static void expect(const struct expectation *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct nl_str name = nl_str(rows[i].name);
        struct nl_kernel_facts facts = nl_kernel_facts(name, nl_kernel_class(name));
        check_case(rows[i].name);
        CHECK_TEXT(nl_enum_text(NL_ENUM_category, facts.category),
                   nl_enum_text(NL_ENUM_category, rows[i].category));
        CHECK_TEXT(nl_enum_text(NL_ENUM_tensorcore, facts.tensor_core), rows[i].tensor_core);
        CHECK_TEXT(facts.dtype, rows[i].dtype);
    }
}

static void knows_matrix_products(void)
{
    expect(matrix_products, CHECK_LENGTH(matrix_products));
}

static void knows_the_rest(void)
{
    expect(others, CHECK_LENGTH(others));
}

/* Names longer than what is looked at, and bytes that are no letters. */
static void takes_any_bytes(void)
{
    static char name[10000];
    memset(name, 'x', sizeof name);
    memcpy(name, "volta_sgemm", 11);
    struct nl_kernel_facts facts =
        nl_kernel_facts((struct nl_str){name, sizeof name}, NL_CLASS_COMPUTE);
    CHECK_INT(facts.category, NL_CATEGORY_GEMM);
    for (size_t i = 0; i < 256; i++)
        name[i] = (char)i;
    facts = nl_kernel_facts((struct nl_str){name, 256}, NL_CLASS_COMPUTE);
    CHECK_INT(facts.category, NL_CATEGORY_UNKNOWN);
}

enum how { PREFIX, CONTAINS, NOCASE };

static const struct {
    enum how how;
    const char *text;
    enum nl_class class;
} rules[] = {
#define NL_KERNEL_RULE(how, text, class) {how, text, NL_CLASS_##class},
#define NL_COLLECTIVE_RULE(text, operation)
#include "derive/kernelclass.def"
};

/* The class of the first rule that a name meets, by libc's searches. */
static enum nl_class class_by_hand(const char *name)
{
    for (size_t i = 0; i < CHECK_LENGTH(rules); i++) {
        const char *text = rules[i].text;
        bool meets = rules[i].how == PREFIX     ? strncmp(name, text, strlen(text)) == 0
                     : rules[i].how == CONTAINS ? strstr(name, text) != NULL
                                                : strcasestr(name, text) != NULL;
        if (meets)
            return rules[i].class;
    }
    return NL_CLASS_COMPUTE;
}

/* Each rule's text alone, behind a letter, before one, without its last, and
 * all that in other cases. */
static void classes_by_every_rule(void)
{
    static const struct {
        const char *before, *behind;
    } forms[] = {{"", ""}, {"x", ""}, {"", "x"}, {"void my::", "<float>(int)"}, {"", NULL}};
    char name[256];
    for (size_t i = 0; i < CHECK_LENGTH(rules); i++)
        for (size_t f = 0; f < CHECK_LENGTH(forms) * 3; f++) {
            const char *before = forms[f % CHECK_LENGTH(forms)].before;
            const char *behind = forms[f % CHECK_LENGTH(forms)].behind;
            int len = (int)strlen(rules[i].text) - (behind ? 0 : 1);
            snprintf(name, sizeof name, "%s%.*s%s", before, len, rules[i].text,
                     behind ? behind : "");
            for (char *c = name; *c && f >= CHECK_LENGTH(forms); c++)
                *c = (char)(f < CHECK_LENGTH(forms) * 2 ? toupper((unsigned char)*c)
                                                        : tolower((unsigned char)*c));
            check_case(name);
            CHECK_INT(nl_kernel_class(nl_str(name)), class_by_hand(name));
        }
    check_case(NULL);
}

CHECK_MAIN("kernelcategory", {"classes by every rule", classes_by_every_rule},
           {"knows matrix products", knows_matrix_products}, {"knows the rest", knows_the_rest},
           {"takes any bytes", takes_any_bytes})
