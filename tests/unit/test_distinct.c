/* Names that differ in the middle stay different when they are cut. */
#include "base/str.h"
#include "check.h"
#include "view/celltext.h"
#include "view/distinct.h"

static const char *const kernels[] = {
    "sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_aligna4_"
    "alignc4_execute_kernel__5x_cublas",
    "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_"
    "alignc4_execute_kernel__5x_cublas",
    "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x128x8_stage3_warpsize2x2x1_ffma_aligna4_"
    "alignc4_execute_split_k_kernel__5x_cublas",
    "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x32x8_stage3_warpsize2x2x1_ffma_aligna4_"
    "alignc4_execute_kernel__5x_cublas",
    "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize32x32x8_stage3_warpsize1x2x1_ffma_aligna4_"
    "alignc4_execute_kernel__5x_cublas",
    "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x256x8_stage3_warpsize1x4x1_ffma_aligna4_"
    "alignc4_execute_kernel__5x_cublas",
    "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x256x8_stage3_warpsize1x4x1_ffma_aligna4_"
    "alignc4_execute_split_k_kernel__5x_cublas",
    "short_kernel"};
#define COUNT CHECK_LENGTH(kernels)

static struct nl_str shown(struct nl_arena *arena, struct nl_str text, size_t width)
{
    struct nl_buf out;
    nl_buf_init(&out, 4096);
    nl_celltext_elide(&out, text, width);
    struct nl_str made = {nl_arena_text(arena, out.ptr, out.len), out.len};
    nl_buf_release(&out);
    return made;
}

static void keeps_kernels_apart(void)
{
    for (size_t width = 24; width <= 140; width++) {
        struct nl_arena arena;
        struct nl_str texts[COUNT + 1], seen[COUNT + 1];
        nl_arena_init(&arena);
        for (size_t i = 0; i < COUNT; i++)
            texts[i] = nl_str(kernels[i]);
        texts[COUNT] = nl_str(kernels[1]); /* the same in two rows */
        nl_distinct(texts, COUNT + 1, width, &arena);
        for (size_t i = 0; i <= COUNT; i++) {
            seen[i] = shown(&arena, texts[i], width);
            CHECK(nl_celltext_width(seen[i]) <= width);
            for (size_t j = 0; j < i; j++)
                CHECK(nl_str_eq(seen[i], seen[j]) == (i == COUNT && j == 1));
        }
        CHECK_TEXT(texts[COUNT - 1].ptr, "short_kernel");
        nl_arena_free(&arena);
    }
}

static void leaves_the_rest_alone(void)
{
    struct nl_arena arena;
    nl_arena_init(&arena);
    const char *first = kernels[0];
    struct nl_str texts[] = {nl_str(first),
                             nl_str("another name that is longer than the column is wide")};
    nl_distinct(texts, 2, 24, &arena);
    CHECK(texts[0].ptr == first);
    /* Characters of several bytes and of two columns are never cut. */
    struct nl_str wide[] = {nl_str("名前名前名前名前名前甲名前名前名前名前名前"),
                            nl_str("名前名前名前名前名前乙名前名前名前名前名前")};
    nl_distinct(wide, 2, 15, &arena);
    for (size_t i = 0; i < 2; i++) {
        CHECK(nl_celltext_width(wide[i]) <= 15);
        CHECK(nl_str_contains(wide[i], i ? "乙" : "甲"));
    }
    nl_arena_free(&arena);
}

CHECK_MAIN("distinct", {"keeps kernels apart", keeps_kernels_apart},
           {"leaves the rest alone", leaves_the_rest_alone})
