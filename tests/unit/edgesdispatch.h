/* edgesdispatch — made-up profiles of a CPU that launches late, and of PyTorch without its
 * allocator, with one number in them that a threshold is about. For test_edges; times in
 * microseconds. See edges.h. */
#ifndef EDGESDISPATCH_H
#define EDGESDISPATCH_H

#include "edgesgaps.h"

/* ---- Allocations of PyTorch without its allocator ---- */

/* After the first fifth: `mallocs` calls in gaps of `cost` in all, `frees` beside
 * the work, `kernels` in all. */
static inline void edge_caching(struct gputrace *make, int64_t mallocs, int64_t frees,
                                int64_t kernels, int64_t cost)
{
    gputrace_op(make, "aten::add", AT, 5);
    edge_late(make, "h16816gemm", 0, 20000);
    for (int64_t i = 0; i < mallocs; i++) {
        int64_t at = 20000 + i * 500, gap = edge_part(cost, mallocs, i);
        edge_late(make, "h16816gemm", at, 500 - gap);
        if (i < frees)
            gputrace_call(make, "cudaFree", AT + at + 10, 1);
        gputrace_call(make, "cudaMalloc", AT + at + 500 - gap, gap);
    }
    int64_t end = 20000 + mallocs * 500;
    edge_late(make, "h16816gemm", end, LONG - end);
    for (int64_t i = 0; i < kernels - mallocs - 1; i++)
        edge_kernel(make, 8, "softmax", end + i * 10, 10);
}
static inline void edge_caching_time(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_caching(make, 100, 100, 200, x);
}
static inline void edge_caching_mallocs(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_caching(make, x, x, 200, 5000);
}
static inline void edge_caching_frees(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_caching(make, 100, x, 200, 5000);
}
static inline void edge_caching_kernels(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_caching(make, 100, 100, x, 5000);
}

/* ---- Launching ---- */

static inline void edge_dispatch(struct gputrace *make, int64_t x, const char *arg)
{
    edge_gaps(make, (struct edge_frame){.doing = edge_op, .name = arg}, 60, x);
}
static inline void edge_dispatch_gaps(struct gputrace *make, int64_t x, const char *arg)
{
    edge_gaps(make, (struct edge_frame){.kernel = 10, .doing = edge_op, .name = arg}, x, 15000);
}
/* 40 gaps of x. */
static inline void edge_dispatch_length(struct gputrace *make, int64_t x, const char *arg)
{
    edge_gaps(make,
              (struct edge_frame){.period = 2000, .kernel = 10, .doing = edge_op, .name = arg}, 40,
              40 * x);
}
/* 15 ms in operators, x in 20 gaps in which nothing is recorded. */
static inline void edge_dispatch_part(struct gputrace *make, int64_t x, const char *arg)
{
    for (int64_t i = 0; i < 100; i++) {
        int64_t gap = i < 20 ? 750 : edge_part(x, 20, i - 40 < 0 ? 20 : i - 40);
        edge_late(make, "h16816gemm", i * 1000, 1000 - gap);
        if (i < 20)
            gputrace_op(make, arg, AT + i * 1000 + 1000 - gap, gap);
    }
}
/* 100 launches find the queue empty, x do not. */
static inline void edge_prompt(struct gputrace *make, int64_t x, const char *arg)
{
    edge_gaps(make, (struct edge_frame){.doing = edge_op, .name = arg}, 60, 20000);
    for (int64_t i = 0; i < x; i++)
        edge_kernel(make, 8, "elementwise_kernel", 99000 + i, 1);
}
static inline void edge_delay(struct gputrace *make, int64_t x, const char *arg)
{
    edge_gaps(make, (struct edge_frame){.delay = x, .doing = edge_op, .name = arg}, 60, 20000);
}
static inline void edge_short_kernels(struct gputrace *make, int64_t x, const char *arg)
{
    edge_gaps(make, (struct edge_frame){.period = 100, .kernel = 10, .doing = edge_op, .name = arg},
              60, x);
}
static inline void edge_kernel_length(struct gputrace *make, int64_t x, const char *arg)
{
    edge_gaps(make, (struct edge_frame){.kernel = x, .doing = edge_op, .name = arg}, 60, 20000);
}

#endif
