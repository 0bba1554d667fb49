/* edgesrates — made-up profiles of collectives with sizes, memory and clocks, with one number in
 * them that a threshold is about. For test_edges; times in microseconds. See edges.h. */
#ifndef EDGESRATES_H
#define EDGESRATES_H

#include "edgesalike.h"

/* ---- Collectives with sizes ---- */

static inline void edge_collective(struct gputrace *make, int64_t at, int64_t dur, uint64_t bytes)
{
    struct nl_collective_row row = nl_collective_row();
    row.slice = gputrace_kernel(make, 20, "ncclDevKernel_AllReduce_Sum", 1, 1, AT + at, dur);
    row.operation = nl_stage_name(make->stage, nl_str("allreduce"));
    row.bytes = bytes;
    row.ranks = 8;
    nl_stage_collective(make->stage, &row);
}
/* `count` after the first, which does not count: of `usual` µs, and one of `excess` more. */
static inline void edge_skewed(struct gputrace *make, int64_t count, int64_t usual, int64_t excess)
{
    int64_t at = 0;
    for (int64_t i = 0; i <= count; i++) {
        int64_t dur = usual + (i == count ? excess : 0);
        edge_collective(make, at, dur, 1 << 10);
        at += dur;
    }
    edge_late(make, "h16816gemm", at, LONG - at);
}
static inline void edge_skew_time(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_skewed(make, 20, 100, x);
}
static inline void edge_skew_count(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_skewed(make, x, 100, 10000);
}
/* Twice the shortest is beyond it in all. */
static inline void edge_skew_shortest(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_skewed(make, 10, 4000, x);
}

/* ---- Memory ---- */

/* Steps, and eight parts of time with `values` readings each: `first` MiB up to the third part,
 * then on to `last` in `rises`. */
static inline void edge_memory(struct gputrace *make, int64_t steps, int64_t first, int64_t last,
                               int64_t rises, int64_t values, int64_t reserved)
{
    cpu_even(make);
    for (int64_t i = 0; i < steps; i++)
        gputrace_step(make, i * 6000, 6000);
    for (int64_t i = 0; i <= 8 * values; i++) {
        int64_t part = i / values < 8 ? i / values : 7, risen = part < 2 ? 0 : part - 2;
        risen = risen < rises ? risen : rises;
        memory_at(make, i * 60000 / (8 * values),
                  (uint64_t)(first + (last - first) * risen / rises), (uint64_t)reserved);
    }
}
static inline void edge_leak_share(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_memory(make, 10, 200, 200 + x, 5, 15, 1000);
}
static inline void edge_leak_bytes(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_memory(make, 10, 50, 50 + x, 5, 15, 1000);
}
static inline void edge_leak_steps(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_memory(make, x, 200, 400, 5, 15, 1000);
}
static inline void edge_leak_rises(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_memory(make, 10, 200, 400, x, 15, 1000);
}
static inline void edge_leak_values(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_memory(make, 10, 200, 400, 5, x, 1000);
}
static inline void edge_spare(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_memory(make, 10, 800, 800, 5, 15, 800 + x);
}
static inline void edge_spare_bytes(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_memory(make, 10, 10, 10, 5, 15, 10 + x);
}

/* On GPUs whose links do 300 GB/s: `count` after the first of `bytes` in
 * `dur` µs by eight ranks. */
static inline void edge_slow_link(struct gputrace *make, int64_t count, int64_t bytes, int64_t dur)
{
    int64_t at = 0;
    dev_named(make, "NVIDIA A100-SXM4-80GB", 108, 8, 0);
    for (int64_t i = 0; i <= count; i++) {
        edge_collective(make, at, dur, (uint64_t)bytes);
        at += dur;
    }
    edge_late(make, "h16816gemm", at, 50000);
}
static inline void edge_link_bytes(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_slow_link(make, 10, x, 5000);
}
static inline void edge_link_count(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_slow_link(make, x, 1 << 24, 5000);
}

/* ---- Errors of clocks ---- */

static inline void edge_clock_error(struct gputrace *make, int64_t x, const char *arg)
{
    char text[32];
    (void)arg;
    busy(make); /* kernels of 1 ms */
    snprintf(text, sizeof text, "%lld", (long long)x);
    nl_builder_meta(make->builder, make->source, "clock error (ns)", nl_str(text));
}

#endif
