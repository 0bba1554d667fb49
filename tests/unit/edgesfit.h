/*
 * edgesfit — made-up profiles of kernels that fit a device badly, of experts on several ranks and
 * of steps of language models, with one number that a threshold is about; times in µs. See edges.h.
 */
#ifndef EDGESFIT_H
#define EDGESFIT_H

#include "edgeschains.h"
#include "gpuranks.h"

/* ---- Blocks and registers on an A100: 108 multiprocessors of 65536 registers and 64 warps ---- */

static inline void edge_fit(struct gputrace *make, const char *name, int64_t dur, uint32_t blocks,
                            uint32_t threads, uint32_t registers)
{
    struct nl_kernel_row row = nl_kernel_row();
    edge_a100(make);
    row.correlation = ++make->correlation;
    gputrace_call_as(make, "cudaLaunchKernel", 1, 1, row.correlation);
    row.slice =
        gputrace_slice(make, NL_KIND_KERNEL, gputrace_lane(make, NL_LANE_STREAM, 7), name, AT, dur);
    row.grid_x = blocks;
    row.grid_y = row.grid_z = row.block_y = row.block_z = 1;
    row.block_x = threads;
    row.registers = registers;
    row.static_shared_bytes = row.dynamic_shared_bytes = 0;
    nl_stage_kernel(make->stage, &row);
    if (dur < LONG)
        gputrace_kernel(make, 7, "other_kernel", 5, 1, AT + dur, LONG - dur);
}
/* 255 registers of 256 threads: one block, 8 of 64 warps; two waves. */
static inline void edge_warps_time(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_fit(make, "my_kernel", x, 216, 256, 255);
}
/* x registers of 64 threads: 65536 / (64 x) blocks of two warps. */
static inline void edge_warps(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_fit(make, "my_kernel", LONG, 10000, 64, (uint32_t)x);
}
/* One block a multiprocessor: x blocks are x / 108 waves. */
static inline void edge_waves(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_fit(make, "h16816gemm", LONG, (uint32_t)x, 256, 255);
}
/* 162 blocks in two waves: a quarter is lost. */
static inline void edge_waves_time(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_fit(make, "h16816gemm", x, 162, 256, 255);
}

/* ---- Clocks ---- */

/* 100 products of 4096³ of 1 ms each, which need 0.44 ms; for the last x µs the clock is at half of
 * 1410 MHz, for that reason. */
static inline void edge_clocked_products(struct gputrace *make, int64_t x, const char *reason)
{
    const struct edge_work product = {"aten::mm", "[[4096, 4096], [4096, 4096]]", HALVES,
                                      "h16816gemm"};
    double bits = !strcmp(reason, "heat") ? HEAT : !strcmp(reason, "power") ? POWER : SET;
    edge_a100(make);
    for (int64_t i = 0; i < 100; i++)
        edge_work(make, product, i, i * 1000, 1000);
    for (int64_t us = 0; us <= LONG; us += us < LONG - x ? edge_part(LONG - x, 50, 0) : 1000) {
        us = us > LONG - x && us < LONG - x + 1000 ? LONG - x : us;
        read_counter(make, "GPU throttle reasons", AT + us, us >= LONG - x ? bits : 0);
        read_counter(make, "GPU clock", AT + us, us >= LONG - x ? 705 : 1410);
    }
}

/* ---- Experts on three ranks ---- */

struct edge_experts {
    int64_t moe, dense, comm; /* µs */
    int64_t count;            /* kernels of experts */
};

static inline void edge_rank(struct gputrace *make, int64_t rank, struct edge_experts it)
{
    int64_t at = 0;
    if (rank)
        gputrace_rank(make, rank);
    for (int64_t i = 0; i < it.count; i++) {
        edge_kernel(make, 7, "fused_moe_kernel", at, edge_part(it.moe, it.count, i));
        at += edge_part(it.moe, it.count, i);
    }
    edge_kernel(make, 7, "h16816gemm", at, it.dense);
    at += it.dense;
    edge_kernel(make, 7, "ncclDevKernel_AllReduce_Sum", at, it.comm);
    at += it.comm;
    edge_kernel(make, 7, "softmax", at, LONG - at);
}
/* Two ranks alike, the third as told. */
static inline void edge_experts(struct gputrace *make, struct edge_experts usual,
                                struct edge_experts it)
{
    edge_rank(make, 0, usual);
    edge_rank(make, 1, usual);
    edge_rank(make, 2, it);
}
static inline void edge_experts_times(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_experts(make, (struct edge_experts){30000, 10000, 20000, 10},
                 (struct edge_experts){x, 10000, 5000, 10});
}
static inline void edge_experts_dense(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_experts(make, (struct edge_experts){20000, 10000, 20000, 10},
                 (struct edge_experts){40000, x, 5000, 10});
}
static inline void edge_experts_count(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_experts(make, (struct edge_experts){20000, 10000, 20000, 100},
                 (struct edge_experts){40000, 10000, 5000, x});
}
/* Its communication is x shorter than that of the others. */
static inline void edge_experts_waits(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_experts(make, (struct edge_experts){20000, 10000, 25000, 10},
                 (struct edge_experts){45000, 10000, 25000 - x, 10});
}
/* A rank has x of experts and the others nearly none. */
static inline void edge_experts_wall(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_experts(make, (struct edge_experts){1, 10000, 25000, 1},
                 (struct edge_experts){x, 10000, 5000, 1});
}

/* ---- Steps of language models ---- */

/* A step: `work` takes `product` µs, another product of unknown sizes `other`; `span` in all. */
static inline void edge_llm(struct gputrace *make, const char *name, struct edge_work work,
                            int64_t product, int64_t other, int64_t span)
{
    int64_t end = product + other;
    edge_a100(make);
    cpu_range(make, name, 0, 100);
    edge_work(make, work, 1, 0, product);
    if (other)
        gputrace_kernel(make, 7, "h16816gemm", 50, 1, AT + product, other);
    gputrace_kernel(make, 7, "other_kernel", 200, 1, AT + end, span - end);
}
/* A vector with 4978 × 5118: at 2039 GB/s 25 µs, exactly. */
static inline void edge_decode(struct gputrace *make, int64_t product, int64_t other, int64_t span)
{
    edge_llm(make, "execute_context_0(0)_generation_1(1)",
             (struct edge_work){"aten::mm", "[[1, 4978], [4978, 5118]]", HALVES, "h16816gemm"},
             product, other, span);
}
static inline void edge_decode_length(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_decode(make, x, 0, 200);
}
static inline void edge_decode_span(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_decode(make, 50, 0, x);
}
static inline void edge_decode_known(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_decode(make, 24, x, 200);
}
/* `tokens` of the 1000 rows that are multiplied with 4096 × 4096. */
static inline void edge_padding(struct gputrace *make, int64_t tokens, int64_t dur)
{
    char name[64];
    snprintf(name, sizeof name, "step[EXTEND bs=1 toks=%lld]", (long long)tokens);
    edge_llm(make, name,
             (struct edge_work){"aten::mm", "[[1000, 4096], [4096, 4096]]", HALVES, "h16816gemm"},
             dur, 0, LONG);
}
static inline void edge_padding_tokens(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_padding(make, x, 50000);
}
static inline void edge_padding_time(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_padding(make, 600, x);
}

#endif
