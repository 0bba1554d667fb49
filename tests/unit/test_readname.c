/* Readable names of kernels, and names of functions that only wait. */
#include "tables/readname.h"
#include "check.h"

static void reads_kernels(void)
{
    static const struct {
        const char *name, *want;
    } cases[] = {
        {"gemm", "gemm"},
        {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
         "at::detail::Array<char*, 3> >(int, at::native::CUDAFunctor_add<float>, "
         "at::detail::Array<char*, 3>)",
         "vectorized_elementwise_kernel<add>"},
        {"void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, "
         "float, "
         "float, at::native::MulFunctor<float> > >(int)",
         "vectorized_elementwise_kernel<Mul>"},
        {"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, "
         "at::native::MeanOps<float, float>, unsigned int, float, 4> >(int)",
         "reduce_kernel<Mean>"},
        {"void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x64_32x6_nn_align4>(Params)",
         "cutlass_80_tensorop_s1688gemm_128x64_32x6_nn_align4"},
        {"Cijk_Ailk_Bljk_SB_MT128x64x16_MI32x32x2x1_SE_K1", "Cijk…MT128x64x16"},
        {"_ZN2at6native29vectorized_elementwise_kernelILi4EEEvi", "vectorized_elementwise_kernel"},
        {"_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2dFwdPipelineOnePassINS_"
         "27Rmsnorm2dFwdPipelineProblemIDF16bDF16bfNS_19Generic2dBlockShapeINS_"
         "8sequenceIJLi1ELi3072EEEENS5_IJLi1ELi128EEEEEEEEEEEEEvT0_",
         "Rmsnorm2dFwd<1x3072>"},
        {"_ZN7ck_tile6kentryILi64ELi2ENS_22FmhaBwdOGradDotOKernelIN3foo3barEEEEEvT1_",
         "FmhaBwdOGradDotOKernel"},
        {"_ZN7ck_tile6kentryILi256Ev25ProductionTransposeKernelIDF16_Lb1EEJPKDF16_EEEvDpT1_",
         "ProductionTransposeKernel"},
        {"_ZN7ck_tile6kentryILi256ELi2EN3foo10GemmKernelINS_8sequenceIJLi256ELi128EEEEEEEEvT1_",
         "GemmKernel<256x128>"},
        {"_ZN7ck_tile6kentryILi256EN3foo10GemmKernelINS_8sequenceIJLi12345678ELi128EEEEEEEEvT1_",
         "GemmKernel<1234567x8x128>"}, /* no tile is so long: seven digits are a number */
        {"_ZN7ck_tile6kentryILi256ELi2EN3foo3bar10GemmKernelEJPKDF16_EEEvDpT1_", "GemmKernel"},
        {"_ZN7ck_tile6kentryILi256ELi2EN3foo", "foo"},
        {"_ZN7ck_tile6kentryILi256ENS_3foo10GemmKernelIfEEEEvT1_", "GemmKernel"},
        {"_ZN7ck_tile6kentryILi256E4GemmS1_4RestEEvT1_", "Gemm"},
        {"void ck_tile::kentry<ck_tile::gfx950_t, 1, "
         "ck_tile::GroupedGemmKernel<ck_tile::GemmSpatiallyLocalTilePartitioner<"
         "ck_tile::TileGemmShape<ck_tile::sequence<256, 128, 64>, ck_tile::sequence<2, 2, 1> > > > "
         ">(ck_tile::Args)",
         "GroupedGemmKernel<256x128x64>"},
        {"void ck_tile::kentry<256, 1>(int)", "kentry"},
        {"_ZN7ck_tile6kentryILi9999999999999999999999E99999999999999999999NS_12Cut", "kentry"},
        {"gemm_fusion_dot.kd", "gemm_fusion_dot"},
        {"void f<>(int)", "f"},
        {"", ""},
        {">", ">"},
        {"<", "<"},
    };
    for (size_t i = 0; i < CHECK_LENGTH(cases); i++) {
        struct nl_buf out;
        nl_buf_init(&out, 1000);
        nl_read_kernel(&out, nl_str(cases[i].name));
        CHECK_STR(((struct nl_str){out.len ? out.ptr : "", out.len}), cases[i].want);
        nl_buf_release(&out);
    }
}

CHECK_MAIN("readname", {"reads kernels", reads_kernels})
