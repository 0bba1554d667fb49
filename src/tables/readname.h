/*
 * readname — a kernel's name as people say it: the function, and the one template argument that
 * distinguishes it from its siblings.
 *
 *     void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, …>(int, …)
 *         → vectorized_elementwise_kernel<add>
 *     void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_128x64_32x6_nn_align4>(…)
 *         → cutlass_80_tensorop_s1688gemm_128x64_32x6_nn_align4
 *     void ck_tile::kentry<1, ck_tile::Rmsnorm2dFwd<… ck_tile::sequence<1, 3072> …> >(…)  → Rmsnorm2dFwd<1x3072>
 *     Cijk_Ailk_Bljk_SB_MT128x64x16_MI32x32x2x1_SE_…  → Cijk…MT128x64x16
 *
 * For eyes only: two kernels may read alike. Numbers are grouped by the whole name.
 */
#ifndef NL_READNAME_H
#define NL_READNAME_H

#include "base/str.h"

void nl_read_kernel(struct nl_buf *out, struct nl_str name);

#endif
