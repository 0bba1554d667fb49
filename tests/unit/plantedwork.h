/*
 * plantedwork — made-up profiles with something wrong with the device's own time: idle,
 * or in the wrong kernels; or with something that only looks like it. For
 * test_findings; times in microseconds.
 */
#ifndef PLANTEDWORK_H
#define PLANTEDWORK_H

#include "planted.h"

/* ---- Idle ---- */

static inline void idle_for_long(struct gputrace *make)
{
    add_busy(make, "h16816gemm", 3000, 4000);
}

/* Of every kernel, or of every third, a counter was read in this run. */
static inline void count_kernels(struct gputrace *make, int64_t every)
{
    for (int64_t i = 0; i < ROUNDS; i++) {
        struct nl_metric_row metric = nl_metric_row();
        metric.slice = gputrace_kernel(make, 7, "softmax", i * 7000, 4, i * 7000 + 10, 3000);
        metric.name = nl_stage_name(make->stage, nl_str("SQ_WAVES"));
        metric.value = 64;
        if (i % every == 0)
            nl_stage_metric(make->stage, &metric);
    }
}

static inline void idle_while_counted(struct gputrace *make)
{
    count_kernels(make, 1);
}

static inline void idle_and_some_counted(struct gputrace *make)
{
    count_kernels(make, 3);
}

/* Launched 10 us after the work before had ended, begun 3990 us later:
 * little of that is the CPU's. */
static inline void idle_though_launched(struct gputrace *make)
{
    for (int64_t i = 0; i < ROUNDS; i++)
        gputrace_kernel(make, 7, i % 2 ? "softmax" : "layer_norm", i * 7000 + 10, 4,
                        i * 7000 + 4000, 3000);
}

static inline void idle_short(struct gputrace *make)
{
    add_busy(make, "h16816gemm", 3000, 100);
}

/* Three kernels with pauses: too little to be a pattern. */
static inline void idle_in_little(struct gputrace *make)
{
    for (int64_t i = 0; i < 3; i++)
        gputrace_kernel(make, 7, "add", i * 100, 4, i * 100 + 10, 2);
}

/* One long gap, in which a graph is captured. */
static inline void idle_once(struct gputrace *make)
{
    gputrace_kernel(make, 7, "h16816gemm", 0, 4, 10, 1000);
    gputrace_call(make, "cudaStreamEndCapture", 50000, 10);
    gputrace_kernel(make, 7, "h16816gemm", 90000, 4, 90010, 1000);
}

/* ---- Kernels ---- */

static inline void sgemm(struct gputrace *make)
{
    for (int64_t i = 0; i < ROUNDS; i++)
        gputrace_kernel(make, 7, i % 2 ? "ampere_sgemm_128x64_nn" : "softmax_warp_forward", i * 5,
                        4, 100 + i * 1000, 1000);
}

/* The GPU of a laptop: capability 7.5, but no tensor cores. */
static inline void sgemm_without(struct gputrace *make)
{
    struct nl_device_row *device = nl_builder_device_row(make->builder, make->device);
    device->name = nl_builder_name(make->builder, nl_str("NVIDIA GeForce GTX 1650"));
    device->compute_major = 7;
    device->compute_minor = 5;
    sgemm(make);
}

/* Matrix products without tensor cores, and others. */
static inline void mixed(struct gputrace *make, const char *without, const char *with)
{
    for (int64_t i = 0; i < ROUNDS; i++)
        gputrace_kernel(make, 7, i % 2 ? without : with, i * 5, 4, 100 + i * 1000, 1000);
}

static inline void some_on_ampere(struct gputrace *make)
{
    mixed(make, "ampere_sgemm_128x64_nn", "softmax_warp_forward");
}

static inline void some_on_volta(struct gputrace *make)
{
    mixed(make, "volta_sgemm_128x64_nn", "volta_h884gemm_128x64_ldg8_nn");
}

static inline void none_on_turing(struct gputrace *make)
{
    mixed(make, "turing_sgemm_128x64_nn", "softmax_warp_forward");
}

static inline void some_on_v100(struct gputrace *make)
{
    struct nl_device_row *device = nl_builder_device_row(make->builder, make->device);
    device->name = nl_builder_name(make->builder, nl_str("Tesla V100-SXM2-16GB"));
    some_on_volta(make);
}

static const struct {
    void (*fill)(struct gputrace *make);
    bool known;
    const char *remedies;
} shown[] = {{some_on_ampere, true, "tensor_core_unused:tf32"},
             {some_on_volta, true, "tensor_core_unused:unknown"},
             {none_on_turing, false, "tensor_core_unused:unknown"},
             {some_on_v100, true, ""}};

static inline void xmma(struct gputrace *make)
{
    for (int64_t i = 0; i < ROUNDS; i++)
        gputrace_kernel(make, 7,
                        "sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x32_stage4_"
                        "warpsize2x2x1_tensor16x8x16_kernel",
                        i * 5, 4, 100 + i * 1000, 1000);
}

static inline void dgemv(struct gputrace *make)
{
    for (int64_t i = 0; i < ROUNDS; i++)
        gputrace_kernel(make, 7, "void gemv2T_kernel_val<int, int, double, double, double>(int)",
                        i * 5, 4, 100 + i * 1000, 1000);
}

static inline void quantised_vectors(struct gputrace *make)
{
    for (int64_t i = 0; i < ROUNDS; i++)
        gputrace_kernel(make, 7, "void mul_mat_vec_dq_q6_K<32, 1>(void const*, float*)", i * 5, 4,
                        100 + i * 1000, 1000);
}

/* Most of what stands among the kernels waits for an event: no kernel has most of the work. */
static inline void event_waits(struct gputrace *make)
{
    static const char *const names[] = {"merge", "remote", "dense"};
    for (int64_t i = 0; i < ROUNDS; i++) {
        gputrace_kernel(make, 7, names[i % 3], i * 5, 4, 100 + i * 1000, 1000);
        gputrace_kernel(make, 8, "event_wait", i * 5 + 2, 2, 100 + i * 1000, 990);
    }
}

static inline void hotspot(struct gputrace *make)
{
    for (int64_t i = 0; i < ROUNDS; i++)
        gputrace_kernel(make, 7, i % 5 ? "softmax" : "layer_norm", i * 5, 4, 100 + i * 1000, 1000);
}

#endif
