/* edgeslaunch — made-up profiles of calls that launch slowly and of full queues, with one number in
 * them that a threshold is about. For test_edges; times in microseconds. See edges.h. */
#ifndef EDGESLAUNCH_H
#define EDGESLAUNCH_H

#include "edgesdispatch.h"

/* A call of that length launches the kernel that begins when it returns. */
static inline void edge_slow(struct gputrace *make, int64_t at, int64_t call, int64_t dur)
{
    gputrace_kernel(make, 7, "elementwise_kernel", AT + at - call, call, AT + at, dur);
}
/* `count` of `rounds` are launched by calls of `total` in all, for which the device waits. */
static inline void edge_slow_calls(struct gputrace *make, int64_t rounds, int64_t period,
                                   int64_t count, int64_t total)
{
    edge_late(make, "elementwise_kernel", 0, period - edge_part(total, count, 0));
    for (int64_t i = 0; i < rounds - 1; i++) {
        int64_t call = edge_part(total, count, i), next = edge_part(total, count, i + 1);
        edge_slow(make, (i + 1) * period, call ? call : 1, period - next);
    }
}
static inline void edge_slow_time(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_slow_calls(make, 100, 1000, 30, x);
}
static inline void edge_slow_gaps(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_slow_calls(make, 100, 1000, x, 150 * x);
}
static inline void edge_slow_longest(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_slow_calls(make, 100, 2000, 20, 20 * x);
}
static inline void edge_slow_median(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_slow_calls(make, 100, 100, 99, 99 * x);
}
/* 40 calls of 50 µs and `count` of `length` in 100. */
static inline void edge_some_slow(struct gputrace *make, int64_t count, int64_t length)
{
    edge_late(make, "elementwise_kernel", 0, 950);
    for (int64_t i = 1; i < 100; i++) {
        int64_t call = i <= 40 ? 50 : i <= 40 + count ? length : 1;
        int64_t next = i < 40 ? 50 : i < 40 + count ? length : 1;
        edge_slow(make, i * 1000, call, 1000 - next);
    }
}
static inline void edge_slow_part(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_some_slow(make, x, 60);
}
static inline void edge_slow_length(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_some_slow(make, 6, x);
}

/* Calls of 1 ms and more in which code is loaded. */
static inline void edge_cold_time(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_slow_calls(make, 10, 10000, 4, x);
}
static inline void edge_cold_times(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_slow_calls(make, 10, 10000, x, 9000);
}
static inline void edge_cold_length(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_slow_calls(make, 10, 2000, 3, 3 * x);
}

/* Two kernels launched early, x apart, in 500 µs. */
static inline void edge_latency(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_kernel(make, 7, "softmax", 0, 200);
    edge_kernel(make, 7, "softmax", 200 + x, 300 - x);
}
static inline void edge_latency_span(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_kernel(make, 7, "softmax", 0, 50);
    edge_kernel(make, 7, "softmax", 80, x - 80);
}

/* 60 launches that take `call`, each returns `delay` before its kernel begins; idle for
 * that long in the middle. */
static inline void edge_queue(struct gputrace *make, int64_t count, int64_t call, int64_t delay,
                              int64_t idle)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t at = i * (LONG / count), gap = i == count / 2 ? idle : 0;
        gputrace_kernel(make, 7, "softmax", AT + at - delay - call, call, AT + at,
                        LONG / count - gap);
    }
    edge_kernel(make, 7, "softmax", LONG / count * count, LONG - LONG / count * count);
}
static inline void edge_queue_call(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_queue(make, 60, x, 150, 0);
}
static inline void edge_queue_delay(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_queue(make, 60, 150, x, 0);
}
static inline void edge_queue_idle(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_queue(make, 5, 2000, 150, x);
}
/* One call of x. */
static inline void edge_queue_time(struct gputrace *make, int64_t x, const char *arg)
{
    (void)arg;
    edge_kernel(make, 7, "softmax", 0, 50000);
    gputrace_kernel(make, 7, "softmax", AT + 49000 - x, x, AT + 50000, 50000);
}

#endif
