/* edgesalike — made-up profiles of kernels alike and of start-up, with one number in them that a
 * threshold is about. For test_edges; times in microseconds. See edges.h. */
#ifndef EDGESALIKE_H
#define EDGESALIKE_H

#include "edgescpu.h"

/* ---- Kernels alike ---- */

/* `count` of one kernel of 100 µs, `far` of them at the end of `length`, in `steps`
 * steps, then another kernel. */
static inline void edge_alike(struct gputrace *make, int64_t count, int64_t far, int64_t length,
                              int64_t steps)
{
    int64_t at = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t dur = i < count - far ? 100 : length;
        edge_late(make, "softmax", at, dur);
        at += dur;
    }
    edge_late(make, "h16816gemm", at, LONG - at);
    for (int64_t i = 0; i < steps; i++)
        gputrace_step(make, AT + i * LONG / steps, LONG / steps);
}
static inline void edge_far_time(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_alike(make, 100, 1, x + 100, 10);
}
static inline void edge_far_count(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_alike(make, x, 1, 10100, 10);
}
static inline void edge_far_steps(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_alike(make, 100, 1, 10100, x);
}
/* 15 of 200 take x. */
static inline void edge_far_length(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_alike(make, 200, 15, x, 10);
}

/* 100 kernels, one of them of 10 ms; from the 90th on they take x. */
static inline void edge_far_siblings(struct gputrace *make, int64_t x, const char *arg)
{
    int64_t at = 0;
    (void)arg;
    for (int64_t i = 0; i < 100; i++) {
        int64_t dur = i == 50 ? 10000 : i >= 90 ? x : 100;
        edge_late(make, "softmax", at, dur);
        at += dur;
    }
    edge_late(make, "h16816gemm", at, LONG - at);
    for (int64_t i = 0; i < 10; i++)
        gputrace_step(make, AT + i * LONG / 10, LONG / 10);
}

/* ---- Start-up ---- */

/* `start` µs until the first of the steps, which take LONG in all. */
static inline void edge_start(struct gputrace *make, int64_t start, int64_t work)
{
    gputrace_call(make, "cudaFree", 0, start - 10);
    for (int64_t i = 0; i < 40; i++) {
        gputrace_step(make, start + i * work / 40, work / 40);
        gputrace_kernel(make, 7, "h16816gemm", start + i * work / 40, 1, start + i * work / 40,
                        work / 40);
    }
}
static inline void edge_start_share(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_start(make, x, 200000);
}
static inline void edge_start_time(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_start(make, x, 40000);
}
/* Of one step of `step` µs the CPU works for x before it launches anything. */
static inline void edge_before(struct gputrace *make, int64_t x, int64_t step)
{
    gputrace_step(make, AT, step);
    gputrace_op(make, "processor::decode_images", AT, x);
    edge_late(make, "h16816gemm", x, step - x);
}
static inline void edge_before_share(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_before(make, x, LONG);
}
static inline void edge_before_time(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_before(make, x, 10000);
}

#endif
