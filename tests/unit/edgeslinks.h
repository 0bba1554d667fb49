/*
 * edgeslinks — made-up profiles of collectives that hide or share streams, of FP8, of measured
 * kernels, of memory's level and of recordings that lack copies, with one number in them that a
 * threshold is about. For test_edges; times in microseconds. See edges.h.
 */
#ifndef EDGESLINKS_H
#define EDGESLINKS_H

#include "edgesfit.h"

/* ---- Allocations from x on: 100 of them, which are a fifth of the time behind the start when x is 20000 ---- */

static inline void edge_caching_from(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    gputrace_op(make, "aten::add", AT, 5);
    edge_late(make, "h16816gemm", 0, x);
    gputrace_call(make, "cudaMalloc", AT + x, 50);
    edge_late(make, "h16816gemm", x + 50, 30000 - x - 50);
    for (int64_t i = 0; i < 99; i++) {
        gputrace_call(make, "cudaFree", AT + 30000 + i * 500 + 10, 1);
        gputrace_call(make, "cudaMalloc", AT + 30000 + i * 500 + 450, 50);
        edge_late(make, "h16816gemm", 30000 + i * 500, 450);
    }
    edge_late(make, "h16816gemm", 79500, LONG - 79500);
}

/* ---- Communication ---- */

/* 3.6 ms of it on each of two streams, one after the other, each before x of
 * other work: exposed 7.2 ms. */
static inline void edge_comm_both(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    for (int64_t i = 0; i < 2; i++) {
        edge_kernel(make, 7 + i, "ncclDevKernel_AllReduce_Sum", i * 3600, 3600);
        edge_kernel(make, 7 + i, "h16816gemm", 7200, x);
    }
}
/* Eleven of 5 ms at 2 % of the link, of which x is not hidden by kernels. */
static inline void edge_link_exposed(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    dev_named(make, "NVIDIA A100-SXM4-80GB", 108, 8, 0);
    for (int64_t i = 0; i < 11; i++)
        edge_collective(make, i * 5000, 5000, 1 << 24);
    edge_kernel(make, 7, "h16816gemm", x, LONG - x);
}

/* ---- FP8 on Hopper: 4096³ take 69 µs at best ---- */

static inline void edge_fp8(struct gputrace *make, int64_t number, const char *fast, int64_t at,
                            int64_t dur)
{
    struct nl_op_row row = nl_op_row();
    if (dur <= 0)
        return;
    row.slice = gputrace_slice(make, NL_KIND_OP, make->calls, "aten::_scaled_mm", number * 3, 3);
    row.shapes =
        nl_stage_name(make->stage, nl_str("[[4096, 4096], [4096, 4096], [], [], [], [], [], []]"));
    row.dtypes = nl_stage_name(make->stage,
                               nl_str("[\"c10::Float8_e4m3fn\", \"c10::Float8_e4m3fn\", \"float\", "
                                      "\"float\", \"\", \"\", \"Scalar\", \"Scalar\"]"));
    row.concrete_inputs = nl_stage_name(make->stage, nl_str(fast));
    nl_stage_op(make->stage, &row);
    gputrace_kernel(make, 7, "h16816gemm", number * 3 + 1, 1, AT + at, dur);
}
/* One that adds up in full, another that does so fast. */
static inline void edge_full(struct gputrace *make, int64_t full, int64_t fast)
{
    dev_named(make, "NVIDIA H100 80GB HBM3", 132, 9, 0);
    edge_fp8(make, 0, "[\"\", \"\", \"\", \"\", \"\", \"\", \"15\", \"False\"]", 0, full);
    edge_fp8(make, 1, "[\"\", \"\", \"\", \"\", \"\", \"\", \"15\", \"True\"]", full, fast);
    gputrace_kernel(make, 7, "other_kernel", 7, 1, AT + full + fast, LONG - full - fast);
}
static inline void edge_full_time(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_full(make, x, 0);
}
static inline void edge_fast_time(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_full(make, 50000, x);
}

/* ---- A kernel of few warps whose memory was measured to be busy for x per mille ---- */

static inline void edge_busy_memory(struct gputrace *make, int64_t x, const char *arg)
{
    struct nl_kernel_row row = nl_kernel_row();
    struct nl_measurement_row measured = nl_measurement_row();
    (void)arg;
    edge_a100(make);
    row.correlation = ++make->correlation;
    gputrace_call_as(make, "cudaLaunchKernel", 1, 1, row.correlation);
    row.slice = gputrace_slice(make, NL_KIND_KERNEL, gputrace_lane(make, NL_LANE_STREAM, 7),
                               "my_kernel", AT, LONG);
    row.grid_x = 216;
    row.grid_y = row.grid_z = row.block_y = row.block_z = 1;
    row.block_x = 256;
    row.registers = 255;
    row.static_shared_bytes = row.dynamic_shared_bytes = 0;
    measured.slice = row.slice;
    measured.memory_throughput = (double)x / 1000;
    row.measurement = nl_stage_measurement(make->stage, &measured);
    nl_stage_kernel(make->stage, &row);
}

/* ---- Memory whose level rises in each eighth of 48 ms but for one thing ---- */

/* 80 readings, 600 µs from one to the next; the eighths begin at every tenth.
 * `odd` has `level` instead. */
static inline void edge_level(struct gputrace *make, int64_t odd, int64_t level)
{
    cpu_even(make);
    for (int64_t i = 0; i < 10; i++)
        gputrace_step(make, i * 6000, 6000);
    for (int64_t i = 0; i <= 80; i++)
        memory_at(make, i * 600, (uint64_t)(i == odd ? level : 200 + 40 * (i / 10)), 1000);
}
/* The x-th reading is as low as the first of all. Up to the third eighth
 * nothing was lower before. */
static inline void edge_level_falls(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_level(make, x, 200);
}

/* ---- Kernels alone, as a tool of ROCm records them, with a gap of x ---- */

static inline void edge_only_kernels(struct gputrace *make, int64_t x, const char *format)
{
    nl_builder_source(make->builder, "kernels.csv", format);
    gputrace_kernel(make, 7, "h16816gemm", -1, 0, AT, 50000);
    gputrace_kernel(make, 7, "h16816gemm", -1, 0, AT + 50000 + x, 50000 - x);
}

#endif
